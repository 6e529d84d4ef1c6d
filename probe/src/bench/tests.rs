use super::*;
use crate::args::Format;
use std::time::Duration;

fn bench(target: &str, workload: &str) -> Bench {
    Bench {
        target: target.to_owned(),
        workload: workload.to_owned(),
        seconds: 1,
        lanes: 2,
        format: Format::Json,
    }
}

#[test]
fn a_benchmark_of_the_embedded_default_says_what_it_measured() {
    let dir = tempfile::tempdir().unwrap();
    let config = crate::config::embedded(dir.path());
    let report = run(&bench("embedded", "point-select"), &config).unwrap();
    let service = report.service_seconds;
    assert!(0.0 < service.min && service.min <= service.p50);
    assert!(service.p50 <= service.p99 && service.p99 <= service.max);
    assert!(service.min <= service.mean && service.mean <= service.max);
    assert_eq!((report.lanes, report.errors, report.seconds), (2, 0, 1.0));
    // Two lanes cannot be in queries for longer than two seconds.
    assert!(report.queries as f64 * service.mean <= 2.0);
    let json = serde_json::to_value(&report).unwrap();
    for key in [
        "target", "workload", "lanes", "queries", "seconds", "errors",
    ] {
        assert!(json.get(key).is_some(), "{key}");
    }
    for key in ["mean", "stddev", "min", "p50", "p90", "p99", "p999", "max"] {
        assert!(json["service_seconds"][key].is_number(), "{key}");
    }
    assert!(json["connect_seconds"]["connect"].is_number());
    let text = report.to_string();
    for row in ["mean", "p99.9", "per second", "connect/connect"] {
        assert!(text.contains(row), "{text}");
    }
}

#[test]
fn unknown_names_are_refused_with_the_known_ones() {
    let config = crate::config::embedded(std::path::Path::new("/nonexistent"));
    let refused = |target, workload| {
        run(&bench(target, workload), &config)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused("orders", "select1"),
        "no target is named `orders`; known: embedded"
    );
    assert_eq!(
        refused("embedded", "selct1"),
        "target `embedded` has no workload `selct1`, and no preset is named so; \
         known: point-select, select1, select1-idle"
    );
}

#[test]
fn a_target_that_cannot_be_reached_ends_the_benchmark_with_its_reason() {
    let config = crate::config::embedded(std::path::Path::new("/nonexistent"));
    let error = run(&bench("embedded", "select1"), &config).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("target `embedded`: refused: /nonexistent/probe.sqlite: "),
        "{error}"
    );
}

#[test]
fn mean_and_deviation_are_exact() {
    let mut state = State::default();
    for micros in [10, 20, 30, 40] {
        state.add(Duration::from_micros(micros));
    }
    let report = {
        state.peer = Some(crate::engine::Peer {
            engine: "sqlite",
            version: String::new(),
            transport: "file",
            tls: "none",
        });
        let config = crate::config::embedded(std::path::Path::new("/"));
        let target = &config.targets[0];
        Report::new(
            target,
            &target.workloads[0],
            1,
            Duration::from_secs(1),
            &state,
        )
        .unwrap()
    };
    let service = report.service_seconds;
    assert_eq!(service.mean, 25e-6);
    assert!((service.stddev - 12.909_944e-6).abs() < 1e-11);
    assert_eq!((service.min, service.max), (10e-6, 40e-6));
    assert!(!report.to_string().contains("statement"), "{report}");
    let pipeline = Report {
        statements: 100,
        tls: "TLSv1.3",
        ..report
    };
    let table = pipeline.to_string();
    assert!(table.contains("over file with TLSv1.3\n"), "{table}");
    assert!(table.contains("mean/statement        0.25 us"), "{table}");
}
