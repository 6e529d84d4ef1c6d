//! The exposition as a whole, what a query selects, and who shares a collection.

use std::collections::BTreeMap;
use std::task::Poll;

use exporter::collector::State;
use exporter::collectors::COLLECTORS;
use tests::fixture;
use toolkit::web::{Query, Refusal};

use crate::series::{Host, series, starting};
use crate::support;

fn query(pairs: &[(&str, &str)]) -> Query {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn ask(host: &Host, pairs: &[(&str, &str)]) -> Result<crate::series::Series, Refusal> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let families = runtime.block_on(host.exporter.families(&query(pairs)))?;
    Ok(series(&families))
}

#[test]
fn every_machine_has_one_head_a_family_and_no_timestamps() {
    for machine in fixture::machines() {
        let host = Host::new(&machine, |_| {});
        for _ in 0..2 {
            let families = support::scrape(&host.exporter);
            let text = toolkit::exposition::text(&families);
            let mut types = BTreeMap::new();
            for line in text.lines() {
                if let Some(head) = line.strip_prefix("# TYPE ") {
                    let (name, kind) = head.split_once(' ').unwrap();
                    assert!(
                        types.insert(name, kind).is_none(),
                        "{machine}: {name} twice"
                    );
                    assert_eq!(
                        kind == "counter",
                        name.ends_with("_total"),
                        "{name} is a {kind}"
                    );
                } else if !line.starts_with('#') {
                    let name = line.split(['{', ' ']).next().unwrap();
                    assert_eq!(
                        types.keys().last().copied().max(Some(name)),
                        types.keys().last().copied(),
                        "{line}"
                    );
                    assert!(types.contains_key(name), "{line}");
                    let behind = line
                        .rsplit_once('}')
                        .map_or_else(|| line.split_once(' ').unwrap().1, |(_, rest)| rest.trim());
                    assert!(behind.parse::<f64>().unwrap().is_finite(), "{line}");
                }
            }
            // Panics on a sample that is there twice.
            series(&families);
        }
    }
}

#[test]
fn a_query_gets_what_it_names_and_what_the_exporter_says_of_itself() {
    let host = Host::new("intel-2s-icelake", |_| {});
    host.scrape();
    let only = ask(&host, &[("collect[]", "cpuidle")]).unwrap();
    for name in only.keys() {
        let own = name.starts_with("wakelag_scrape_") && name.contains("collector=\"cpuidle\"");
        assert!(
            own || name.starts_with("wakelag_node_info") || name.starts_with("wakelag_cpuidle_"),
            "{name}"
        );
    }
    assert!(
        starting(&only, "wakelag_cpuidle_state_disabled").is_empty(),
        "that is of settings"
    );
    let two = ask(
        &host,
        &[
            ("collect[]", "settings"),
            ("collect[]", "rapl"),
            ("collect[]", "rapl"),
        ],
    )
    .unwrap();
    assert!(!starting(&two, "wakelag_profile_energy_joules_total").is_empty());
    let without = ask(
        &host,
        &[("exclude[]", "cpuidle"), ("exclude[]", "settings")],
    )
    .unwrap();
    assert!(starting(&without, "wakelag_cpuidle_").is_empty());
    assert!(starting(&without, "wakelag_profile_").is_empty());
    assert!(!starting(&without, "wakelag_cpu_seconds_total").is_empty());
    let names = COLLECTORS.iter().filter(|entry| entry.info.default_on);
    let names: Vec<_> = names.map(|entry| ("exclude[]", entry.info.name)).collect();
    let none = ask(&host, &names).unwrap();
    assert_eq!(none.len(), 1, "{none:?}");
}

#[test]
fn a_query_for_what_there_is_not_is_refused_with_the_reason() {
    let host = Host::new("guest-empty", |_| {});
    for (pairs, want) in [
        (
            &[("collect[]", "cpuidle"), ("exclude[]", "rapl")][..],
            "cannot be used together",
        ),
        (&[("collect[]", "cpu")], "cpu: no such collector"),
        (&[("collect[]", "")], "no such collector"),
        (&[("exclude[]", "cpu")], "settings, rapl, cpuidle"),
        (&[("collect", "cpuidle")], "collect: unknown parameter"),
    ] {
        match ask(&host, pairs) {
            Err(Refusal::BadRequest(why)) => assert!(why.contains(want), "{why}"),
            other => panic!("{pairs:?}: {other:?}"),
        }
    }
}

#[test]
fn many_scrapes_at_the_same_time_share_a_collection() {
    let host = Host::new("intel-2s-icelake", |machine| {
        machine.write("sys/devices/system/cpu/smt/control", "??\n");
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let all = runtime.block_on(async {
        let none = Query::new();
        let mut waiting: Vec<_> = (0..50)
            .map(|_| Box::pin(host.exporter.families(&none)))
            .collect();
        // Each is asked for before any is waited for.
        let mut answers = Vec::new();
        std::future::poll_fn(|context| {
            waiting.retain_mut(|scrape| match scrape.as_mut().poll(context) {
                Poll::Ready(families) => {
                    answers.push(families.unwrap());
                    false
                }
                Poll::Pending => true,
            });
            if waiting.is_empty() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
        answers
    });
    assert_eq!(all.len(), 50);
    let errors = all.iter().map(|families| series(families)["wakelag_scrape_errors_total{collector=\"settings\",reason=\"parse\"}"]);
    let collections = errors.fold(0.0, f64::max);
    assert!(
        collections <= 2.0,
        "{collections} collections for 50 scrapes"
    );
    assert_eq!(host.state("settings"), State::Failed);
}
