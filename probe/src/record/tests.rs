use super::settled::MAX_PROFILES;
use super::*;
use crate::engine::Timings;
use toolkit::metric::family;

const MS: Duration = Duration::from_millis(1);

fn sample(started: Instant) -> Sample {
    Sample {
        intended: started - MS,
        position: Position::First,
        timings: Timings {
            started,
            first_row: Some(started + MS),
            last_row: Some(started + 2 * MS),
            done: started + 3 * MS,
        },
    }
}

fn recorder() -> Recorder {
    Recorder::new("t", "n", "w")
}

/// The profiles with a service histogram, and how many samples each has.
fn profiles(recorder: &Recorder) -> Vec<(String, u64)> {
    let mut sink = Sink::new();
    recorder.emit(&mut sink);
    let families = sink.into_families();
    let Some(service) = family(&families, "wakelag_probe_service_seconds") else {
        return Vec::new();
    };
    let counts = service.samples().map(|sample| {
        let profile = sample.label("profile").unwrap().to_owned();
        (profile, sample.histogram().unwrap().get_sample_count())
    });
    counts.collect()
}

#[test]
fn every_outcome_and_counter_is_there_from_the_start() {
    let mut sink = Sink::new();
    recorder().emit(&mut sink);
    let families = sink.into_families();
    let queries = family(&families, "wakelag_probe_queries_total").unwrap();
    assert_eq!(queries.samples().len(), Outcome::ALL.len());
    for name in ["dropped", "reconnects", "warm_ups"] {
        let name = format!("wakelag_probe_{name}_total");
        let counter = family(&families, &name).unwrap();
        assert_eq!(
            counter.samples().next().unwrap().value(),
            Some(0.0),
            "{name}"
        );
    }
    // What did not happen has no distribution.
    assert!(families.iter().all(|f| !f.name().ends_with("_seconds")));
}

#[test]
fn samples_wait_for_the_reading_after_them() {
    let recorder = recorder();
    recorder.confirm(Instant::now(), Some("a"));
    let started = Instant::now();
    recorder.answered(&sample(started));
    recorder.answered(&sample(started + 10 * MS));
    assert_eq!(profiles(&recorder), []);
    recorder.confirm(started + 5 * MS, Some("a"));
    assert_eq!(profiles(&recorder), [("a".to_owned(), 1)]);
}

#[test]
fn each_stamp_has_histograms_of_its_own() {
    let recorder = recorder();
    for reading in [Some("a"), Some("a"), Some("b"), None] {
        recorder.answered(&sample(Instant::now()));
        recorder.confirm(Instant::now() + 60 * MS, reading);
    }
    let expected = [("a", 1), ("changing", 1), ("unknown", 2)];
    assert_eq!(
        profiles(&recorder),
        expected.map(|(p, n)| (p.to_owned(), n))
    );
}

#[test]
fn service_and_response_and_rows_are_told_apart() {
    let recorder = recorder();
    recorder.answered(&sample(Instant::now()));
    recorder.confirm(Instant::now() + 60 * MS, None);
    let mut sink = Sink::new();
    recorder.emit(&mut sink);
    let families = sink.into_families();
    let sum_ms = |name: &str, at: usize| {
        let family = family(&families, &format!("wakelag_probe_{name}_seconds")).unwrap();
        (family
            .samples()
            .nth(at)
            .unwrap()
            .histogram()
            .unwrap()
            .get_sample_sum()
            * 1e3)
            .round()
    };
    assert_eq!(sum_ms("service", 0), 3.0);
    assert_eq!(sum_ms("response", 0), 4.0);
    assert_eq!(sum_ms("phase", 0), 1.0);
    assert_eq!(sum_ms("phase", 1), 2.0);
}

#[test]
fn profiles_beyond_the_bound_share_one_histogram() {
    let recorder = recorder();
    for number in 0..MAX_PROFILES + 5 {
        let profile = format!("p{number}");
        for _ in 0..3 {
            recorder.answered(&sample(Instant::now()));
            recorder.confirm(Instant::now() + 60 * MS, Some(&profile));
        }
    }
    let profiles = profiles(&recorder);
    assert!(profiles.iter().any(|(name, _)| name == "other"));
    assert!(profiles.len() <= MAX_PROFILES + 3, "{}", profiles.len());
}

/// A quarter of what a closed loop asked of SQLite was `unknown` on a host whose profile was known all the time.
#[test]
fn a_closed_loop_does_not_outrun_the_readings_of_the_profile() {
    let recorder = recorder();
    recorder.confirm(Instant::now(), Some("a"));
    let started = Instant::now();
    for _ in 0..200_000 {
        recorder.answered(&sample(started));
    }
    recorder.confirm(started + 10 * MS, Some("a"));
    assert_eq!(profiles(&recorder), [("a".to_owned(), 200_000)]);
}

#[test]
fn a_profile_that_is_never_read_does_not_hold_samples_without_bound() {
    let recorder = recorder();
    let started = Instant::now();
    for _ in 0..MAX_PENDING + 7 {
        recorder.answered(&sample(started));
    }
    assert_eq!(profiles(&recorder), [("unknown".to_owned(), 7)]);
}

#[test]
fn a_reconnect_is_a_connect_and_no_query() {
    let recorder = recorder();
    let peer = Peer {
        version: "15".to_owned(),
        transport: "tcp",
        tls: "none",
    };
    let phases = Phases {
        connect: Some(MS),
        ..Phases::default()
    };
    recorder.connected(&peer, &phases, false);
    recorder.connected(&peer, &phases, true);
    recorder.connected(&peer, &phases, true);
    assert_eq!(recorder.peer(), Some(peer));
    assert_eq!(recorder.is_up(), None);
    let mut sink = Sink::new();
    recorder.emit(&mut sink);
    let families = sink.into_families();
    let reconnects = family(&families, "wakelag_probe_reconnects_total").unwrap();
    assert_eq!(reconnects.samples().next().unwrap().value(), Some(2.0));
    let phase = family(&families, "wakelag_probe_phase_seconds").unwrap();
    assert_eq!(
        phase
            .samples()
            .next()
            .unwrap()
            .histogram()
            .unwrap()
            .get_sample_count(),
        3
    );
}

#[test]
fn up_is_what_the_last_query_says() {
    let recorder = recorder();
    recorder.unconnected(&Phases::default(), &Failure::fatal(Outcome::Refused, ""));
    assert_eq!(recorder.is_up(), Some(false));
    assert_eq!(recorder.failing().unwrap().result, "refused");
    recorder.warmed_up();
    assert_eq!(recorder.failing(), None);
    assert_eq!(recorder.is_up(), Some(true));
    recorder.failed(&Failure::fatal(Outcome::Timeout, ""));
    assert_eq!(recorder.is_up(), Some(false));
}

/// A server that closed each connection after a few queries brought 280 lines a second.
#[test]
fn a_database_that_fails_every_other_query_does_not_fill_the_log() {
    let mut seen = Seen::default();
    let begun = Instant::now();
    let outcomes = [Outcome::Ok, Outcome::Disconnected].into_iter().cycle();
    let told = (0..6001).zip(outcomes).filter(|(number, outcome)| {
        let now = begun + *number * 10 * MS;
        seen.end(*outcome, now)
    });
    // A minute.
    assert!((2..=7).contains(&told.count()));
}

#[test]
fn what_lasts_is_logged_once_and_at_once_where_nothing_was_logged_just_before() {
    let mut seen = Seen::default();
    let begun = Instant::now();
    let mut tell = |second, outcome| seen.end(outcome, begun + Duration::from_secs(second));
    assert!(!tell(0, Outcome::Ok));
    assert!(tell(1, Outcome::Refused));
    assert!(!tell(2, Outcome::Refused));
    assert!(!tell(3, Outcome::Timeout));
    assert!(tell(11, Outcome::Timeout));
    assert!(!tell(12, Outcome::ClientLate));
    assert!(tell(30, Outcome::Ok));
    assert!(!tell(50, Outcome::ClientLate));
    assert!(tell(51, Outcome::Refused));
}

#[test]
fn metrics_have_names_of_their_own_and_help_that_is_a_sentence() {
    for (index, desc) in metrics::METRICS.iter().enumerate() {
        assert!(
            metrics::METRICS[..index]
                .iter()
                .all(|other| other.name != desc.name)
        );
        assert!(desc.help.ends_with('.'), "{}", desc.name);
    }
}
