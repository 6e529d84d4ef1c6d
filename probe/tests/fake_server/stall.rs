//! A server that stalls or hangs, and what a prober counts of it.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::MS;
use super::fake::{handshake, hold, read_to_sync, server, whole_answer};
use probe::prober::Prober;
use probe::runner::WARM_UP;
use toolkit::metric::{Sample, Sink, family};

/// What a histogram counts above `bound` seconds.
fn above(prober: &Prober, metric: &str, bound: f64) -> u64 {
    let mut sink = Sink::new();
    prober.emit(&mut sink);
    let families = sink.into_families();
    let of = |sample: Sample<'_>| {
        let histogram = sample.histogram().unwrap();
        let mut below = histogram
            .get_bucket()
            .iter()
            .filter(|b| b.upper_bound() <= bound);
        let upto = below.next_back().map_or(0, |b| b.cumulative_count());
        histogram.get_sample_count() - upto
    };
    let series = family(&families, metric).into_iter();
    series.flat_map(|f| f.samples()).map(of).sum()
}

fn total(prober: &Prober, metric: &str, result: Option<&str>) -> f64 {
    let mut sink = Sink::new();
    prober.emit(&mut sink);
    let families = sink.into_families();
    let series = family(&families, metric).unwrap().samples();
    let wanted = series.filter(|s| result.is_none() || s.label("result") == result);
    wanted.map(|s| s.value().unwrap()).sum()
}

/// Coordinated omission, end to end: a stall of 1 s at 100 queries a second.
#[test]
fn a_stall_shows_in_the_response_of_every_start_and_the_service_of_one() {
    // A host that runs this test late makes another attempt.
    let measured = (0..5).find_map(|_| stall());
    let (service, response, dropped) = measured.expect("this host was never on time");
    assert_eq!(service, 1);
    // Of 100 starts in the second those of the first 800 ms wait at least 200 ms.
    assert!((75..=90).contains(&response), "{response}");
    assert_eq!(dropped, 0.0);
}

/// How many services and responses took over 200 ms, and starts dropped; `None` where the host was late.
fn stall() -> Option<(u64, u64, f64)> {
    let asked = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&asked);
    let config = server(move |mut stream| {
        stream.set_nodelay(true).unwrap();
        handshake(&mut stream);
        while read_to_sync(&mut stream) {
            if counted.fetch_add(1, Ordering::SeqCst) == WARM_UP + 20 {
                sleep(1000 * MS);
            }
            stream.write_all(&whole_answer()).unwrap();
        }
    });
    let prober = Prober::start(config).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while asked.load(Ordering::SeqCst) < WARM_UP + 160 {
        assert!(Instant::now() < deadline, "{asked:?}");
        sleep(10 * MS);
    }
    prober.confirm("n", Instant::now(), None);
    let late = total(&prober, "wakelag_probe_queries_total", Some("client_late"));
    let result = (
        above(&prober, "wakelag_probe_service_seconds", 0.2),
        above(&prober, "wakelag_probe_response_seconds", 0.2),
        total(&prober, "wakelag_probe_dropped_total", None),
    );
    prober.stop();
    (late == 0.0).then_some(result)
}

/// A lane that hangs at its target holds up nobody else, and one connection is all it has.
#[test]
fn a_hung_target_leaves_the_others_alone_and_is_not_asked_twice_at_once() {
    let open = Arc::new(AtomicU32::new(0));
    let most = Arc::new(AtomicU32::new(0));
    let (opened, seen) = (Arc::clone(&open), Arc::clone(&most));
    let mut config = server(move |stream| {
        let now = opened.fetch_add(1, Ordering::SeqCst) + 1;
        seen.fetch_max(now, Ordering::SeqCst);
        hold(stream);
        opened.fetch_sub(1, Ordering::SeqCst);
    });
    let healthy = server(|mut stream| {
        handshake(&mut stream);
        while read_to_sync(&mut stream) {
            stream.write_all(&whole_answer()).unwrap();
        }
    });
    // Slow enough for the server to see a connection close before the next one opens.
    let mut slow = (*config.targets[0].workloads[0]).clone();
    slow.pattern.every = 100 * MS;
    config.targets[0].workloads = vec![Arc::new(slow)];
    config.targets.extend(healthy.targets);
    config.targets[1].name = "healthy".to_owned();
    let prober = Prober::start(config).unwrap();
    let result = |result| total(&prober, "wakelag_probe_queries_total", Some(result));
    let deadline = Instant::now() + Duration::from_secs(20);
    while result("timeout") < 2.0 || result("ok") < 50.0 {
        assert!(
            Instant::now() < deadline,
            "{} {}",
            result("timeout"),
            result("ok")
        );
        sleep(10 * MS);
    }
    assert_eq!(most.load(Ordering::SeqCst), 1);
    let stopping = Instant::now();
    prober.stop();
    assert!(stopping.elapsed() < 2000 * MS, "{:?}", stopping.elapsed());
}
