//! Lanes against an engine made of a list of what happens next.

mod scripted;

use super::*;
use scripted::{MS, Step, begin, fails, quick, run};

#[test]
fn the_warm_up_is_counted_apart_after_each_connect() {
    let mut steps = quick(WARM_UP + 5);
    steps.push(fails(Outcome::Disconnected, false));
    steps.extend(quick(WARM_UP + 3));
    let seen = run(Duration::ZERO, 1, Vec::new(), steps);
    assert_eq!(seen.connects, [false, true]);
    assert_eq!(seen.warmed_up, 2 * WARM_UP);
    assert_eq!(seen.samples.len(), 8);
    assert_eq!(seen.failures, [Outcome::Disconnected]);
}

#[test]
fn a_usable_session_is_kept_after_a_failure() {
    let mut steps = quick(WARM_UP);
    steps.push(fails(Outcome::LockTimeout, true));
    steps.extend(quick(2));
    let seen = run(Duration::ZERO, 1, Vec::new(), steps);
    assert_eq!(seen.connects, [false]);
    assert_eq!(seen.samples.len(), 2);
}

/// Each refusal is a line in the server's log: tens of thousands a second where it refuses what it is asked.
#[test]
fn a_closed_loop_does_not_fill_the_log_of_a_server_that_refuses_its_statement() {
    let mut steps = quick(WARM_UP);
    steps.extend((0..3).map(|_| fails(Outcome::ServerError, true)));
    steps.extend(quick(1));
    let begun = Instant::now();
    let seen = run(Duration::ZERO, 1, Vec::new(), steps);
    assert_eq!((seen.failures.len(), seen.samples.len()), (3, 1));
    assert!(begun.elapsed() >= 300 * MS, "{:?}", begun.elapsed());
}

#[test]
fn a_connect_that_fails_is_tried_again_and_is_no_query() {
    let refused = Failure::fatal(Outcome::Refused, "");
    let seen = run(
        5 * MS,
        1,
        vec![refused.clone(), refused],
        quick(WARM_UP + 1),
    );
    assert_eq!(
        (seen.unconnected, seen.connects.as_slice()),
        (2, &[false][..])
    );
    assert!(seen.failures.is_empty());
    // The second pause is at least 125 ms of a 5 ms pattern, and nobody asked meanwhile.
    assert!(seen.dropped >= 20, "{}", seen.dropped);
}

/// A server that takes connections and breaks each at its first query is not asked at full rate either.
#[test]
fn pauses_grow_as_long_as_no_query_succeeds() {
    let mut steps: Vec<Step> = (0..3)
        .map(|_| fails(Outcome::Disconnected, false))
        .collect();
    steps.extend(quick(1));
    let seen = run(MS, 1, Vec::new(), steps);
    assert_eq!(seen.connects, [false, true, true, true]);
    // No pause, then at least 125 ms, then at least 250 ms.
    assert!(seen.dropped >= 350, "{}", seen.dropped);
}

#[test]
fn only_the_first_of_a_run_pays_for_the_pause() {
    // 12 runs of 4; the warm-up takes the first two and a half.
    let seen = run(30 * MS, 4, Vec::new(), quick(48));
    let first = |s: &&Sample| s.position == Position::First;
    let firsts = seen.samples.iter().filter(first).count();
    let late = seen.failures.len();
    assert_eq!(firsts + late, 9, "{:?}", seen.failures);
    assert!(seen.lags.len() <= 12 && seen.lags.len() >= 9);
    for sample in seen.samples.iter().filter(|s| s.position == Position::Next) {
        assert_eq!(sample.intended, sample.timings.started);
    }
}

/// Coordinated omission: a stall must show in the response time of every start it delayed, and in the service time of
/// one query.
#[test]
fn a_stall_delays_every_start_it_covers_once() {
    // A host that runs this test late makes another attempt.
    let stalled = || {
        let mut steps = quick(WARM_UP + 5);
        steps.push((300 * MS, Ok(())));
        steps.extend(quick(40));
        run(10 * MS, 1, Vec::new(), steps)
    };
    let seen = (0..10)
        .map(|_| stalled())
        .find(|seen| seen.failures.is_empty())
        .expect("this host was never on time");
    let slow =
        |time: fn(&Sample) -> Duration| seen.samples.iter().filter(|s| time(s) >= 100 * MS).count();
    assert_eq!(slow(Sample::service), 1);
    // Of the 30 starts in 300 ms those of the first 200 ms wait at least 100 ms.
    let waited = slow(Sample::response);
    assert!((19..=24).contains(&waited), "{waited}");
    assert_eq!(seen.samples.len(), 46);
    // What is caught up had no pause before it.
    let paused = |s: &&Sample| s.position == Position::First && s.response() >= 100 * MS;
    assert_eq!(seen.samples.iter().filter(paused).count(), 1);
    assert!(seen.dropped <= 1, "{}", seen.dropped);
}

#[test]
fn a_rate_above_capacity_drops_starts_and_bounds_the_response_time() {
    // 1 ms of work every 100 us, with a backlog of 2 s: 3 s are more than it may hold.
    let steps = (0..3000).map(|_| (MS, Ok(()))).collect();
    let seen = run(MS / 10, 1, Vec::new(), steps);
    assert!(seen.dropped > 1000, "{}", seen.dropped);
    let worst = seen.samples.iter().map(Sample::response).max().unwrap();
    assert!(worst < Duration::from_millis(2500), "{worst:?}");
}

#[test]
fn pauses_grow_to_their_bound() {
    let mut draws = Draws::new(3);
    assert_eq!(pause(1, &mut draws), Duration::ZERO);
    for (breaks, full) in [
        (2, 250),
        (3, 500),
        (5, 2000),
        (8, 10_000),
        (u32::MAX, 10_000),
    ] {
        let pause = pause(breaks, &mut draws);
        let full = Duration::from_millis(full);
        assert!(pause <= full && pause >= full / 2, "{breaks}: {pause:?}");
    }
}

#[test]
fn a_host_that_runs_the_lane_late_is_not_charged_to_the_database() {
    let (lane, seen, stop) = begin(40 * MS, 1, Vec::new(), quick(WARM_UP + 30));
    let deadline = Instant::now() + Duration::from_secs(20);
    while seen.0.lock().unwrap().samples.is_empty() {
        assert!(Instant::now() < deadline);
        std::thread::sleep(MS);
    }
    let held = stop.hold();
    std::thread::sleep(130 * MS);
    drop(held);
    lane.join().unwrap();
    let seen = seen.0.lock().unwrap();
    assert!(!seen.failures.is_empty());
    assert!(
        seen.failures
            .iter()
            .all(|outcome| *outcome == Outcome::ClientLate)
    );
    // The starts slept through are given up and not caught up.
    assert!(seen.dropped >= 2, "{}", seen.dropped);
    assert!(
        seen.samples
            .iter()
            .all(|sample| sample.position == Position::First)
    );
}
