//! Native histograms as a real Prometheus takes them from the real probe, against what another one makes of the
//! classic buckets of the same probe.

use std::process::Command;
use std::time::{Duration, Instant};

use tests::program::{Program, binary};
use tests::prometheus::Prometheus;

/// The queries of one lane that asks again at once, so that the distribution has one mode.
const LANE: &str = "{workload=\"select1\",position=\"next\"}";
const PATIENCE: Duration = Duration::from_secs(60);
/// Two classic bounds are 12 % apart, and the two servers do not scrape at the same instant.
const ONE_BUCKET: f64 = 1.13;

fn scrape(probe: &str) -> String {
    let target = probe.trim_start_matches("http://");
    format!(
        "global: {{scrape_interval: 1s}}\n\
         scrape_configs: [{{job_name: probe, static_configs: [{{targets: ['{target}']}}]}}]\n"
    )
}

/// The value of `query` once it has one.
fn value(prometheus: &Prometheus, query: &str, wanted: impl Fn(f64) -> bool) -> f64 {
    let started = Instant::now();
    loop {
        let answer = prometheus.query(query);
        if let Ok([series]) = answer.as_deref()
            && wanted(series.value)
        {
            return series.value;
        }
        assert!(
            started.elapsed() < PATIENCE,
            "{query} gives {answer:?}\n{}",
            prometheus.log()
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn prometheus_takes_native_buckets_that_agree_with_the_classic_ones() {
    let state = tempfile::tempdir().unwrap();
    let mut command = Command::new(binary("wakelag-probe"));
    command
        .env("STATE_DIRECTORY", state.path())
        .arg("--web.listen-address=127.0.0.1:0");
    let mut probe = Program::spawn("wakelag-probe", command);
    let configuration = scrape(&probe.address());
    let native = Prometheus::with_flags(&configuration, &["--enable-feature=native-histograms"]);
    let classic = Prometheus::start(&configuration);

    let series = format!("wakelag_probe_service_seconds{LANE}");
    let of_native = format!("sum(rate({series}[1m]))");
    let of_classic = format!("sum by (le) (rate(wakelag_probe_service_seconds_bucket{LANE}[1m]))");
    let count = format!("histogram_count(sum({series}))");
    value(&native, &count, |count| count >= 500.0);
    for quantile in [0.5, 0.9] {
        let [native_s, classic_s] =
            [(&native, &of_native), (&classic, &of_classic)].map(|(server, rate)| {
                let query = format!("histogram_quantile({quantile}, {rate})");
                value(server, &query, |seconds| seconds > 0.0)
            });
        let ratio = native_s / classic_s;
        assert!(
            (1.0 / ONE_BUCKET..ONE_BUCKET).contains(&ratio),
            "the {quantile} quantile is {native_s} s by native and {classic_s} s by classic buckets"
        );
    }
    // With the feature on, this is what Prometheus stores instead of the classic buckets; dashboards/README.md says so.
    let buckets = native.query("count(wakelag_probe_service_seconds_bucket)");
    assert_eq!(buckets, Ok(Vec::new()));
    assert!(
        !native.log().contains("level=warn component=\"scrape"),
        "{}",
        native.log()
    );
}
