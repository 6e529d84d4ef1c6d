//! The whole path on real programs: PostgreSQL is asked by the probe, the exporter reads a fixture machine, Prometheus
//! scrapes both, and the machine's governor is changed while everything runs.

mod dashboards;
mod machine;
mod programs;
mod served;

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use tests::postgres::Postgres;
use tests::prometheus::Prometheus;

use self::machine::{StopOnDrop, set_governor, spend_energy};
use self::served::Served;

const NODE: &str = "db1";
const OLD: &str = "powersave/boost=on/idle<=C6@170us/smt=on";
const NEW: &str = "performance/boost=on/idle<=C6@170us/smt=on";
/// Prometheus scrapes and the probe asks every second; a busy machine is late at times.
const ONE_SCRAPE_S: f64 = 2.5;

#[test]
fn a_governor_change_moves_latency_time_and_energy_to_a_new_profile() {
    let machine = machine::machine();
    let server = Postgres::start("host all all 127.0.0.1/32 trust");
    let (stop, spent) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        scope.spawn(|| spend_energy(&machine, &stop, &spent));
        let ended = StopOnDrop(&stop);
        let mut exporter = programs::exporter(&machine);
        let exporter_address = exporter.address();
        let mut probe = programs::probe(&server, &exporter_address);
        let probe_address = probe.1.address();
        let prometheus =
            Prometheus::start(&programs::scrape_both(&exporter_address, &probe_address));
        let served = Served(prometheus, &probe.1, &exporter);

        served.wait_for_value(&samples(OLD), |count| count >= 100.0);
        let changed_at = now_s();
        set_governor(&machine, "performance");
        let new = served.wait_for_value(&samples(NEW), |count| count >= 100.0);
        let old = served.value(&samples(OLD));
        served.wait_for_value(&samples(NEW), |count| count >= new + 500.0);
        assert_eq!(
            served.value(&samples(OLD)),
            old,
            "the old profile's histogram still moves"
        );

        let seen_at = served.value("wakelag_profile_last_change_timestamp_seconds");
        let late_s = seen_at - changed_at;
        assert!(
            (0.0..ONE_SCRAPE_S).contains(&late_s),
            "seen {late_s} s after the change"
        );
        check_seconds(&served, seen_at);
        check_joules(&served, changed_at, &spent);
        dashboards::check_dashboards(&served);
        drop(ended);
    });
}

/// The samples of the service time under `profile`, first and next queries of all workloads.
fn samples(profile: &str) -> String {
    format!("sum(wakelag_probe_service_seconds_count{{profile=\"{profile}\"}})")
}

/// All time since the start of the exporter is accounted for, and the new profile has all since the change was seen.
fn check_seconds(served: &Served<'_>, seen_at: f64) {
    let seconds = |profile| format!("wakelag_profile_seconds_total{{profile=\"{profile}\"}}");
    // One query, so that all figures are of one scrape.
    let since = format!("timestamp({}) - {seen_at} - {0}", seconds(NEW));
    let missing_s = served.value(&since);
    assert!(
        missing_s.abs() < 0.5,
        "{missing_s} s are missing under the new profile"
    );
    let changing_s = served.value(&seconds("changing"));
    assert!(
        (0.0..ONE_SCRAPE_S).contains(&changing_s),
        "{changing_s} s of change"
    );
    let old_s = served.value(&seconds(OLD));
    served.wait_for_value(&seconds(NEW), |new_s| new_s > 10.0);
    assert_eq!(
        served.value(&seconds(OLD)),
        old_s,
        "the old profile still spends time"
    );
}

/// All energy is accounted for, and the new profile has what the machine has spent since the change.
fn check_joules(served: &Served<'_>, changed_at: f64, spent: &Mutex<Vec<(f64, f64)>>) {
    let joules = |profile: &str| {
        format!("wakelag_profile_energy_joules_total{{profile=~\"{profile}\",name=\"package-0\"}}")
    };
    let all = "wakelag_rapl_energy_joules_total{name=\"package-0\"}";
    let unaccounted = format!("sum({}) - sum({all})", joules(".*"));
    let unaccounted_j = served.value(&unaccounted);
    assert!(
        unaccounted_j.abs() < 1e-6,
        "{unaccounted_j} J belong to no profile"
    );
    let under_new = joules(&regex_escape(NEW));
    let read_at = served.value(&format!("timestamp({under_new})"));
    // The same sample again: Prometheus answers with the last one it has.
    let new_j = served.value(&format!("{under_new} @ {read_at}"));
    let spent = spent.lock().unwrap();
    let between = |from: f64, to: f64| -> f64 {
        let steps = spent.iter().filter(|(at, _)| (from..to).contains(at));
        steps.map(|(_, joules)| joules).sum()
    };
    let (most, least) = (
        between(changed_at, read_at + 0.5),
        between(changed_at + 2.0 * ONE_SCRAPE_S, read_at - 0.5),
    );
    assert!(least > 10.0, "too little was spent to judge: {least} J");
    assert!(
        (least..=most).contains(&new_j),
        "{new_j} J under the new profile, of {least}..{most} J"
    );
}

fn regex_escape(profile: &str) -> String {
    profile.replace('.', "\\\\.")
}

fn now_s() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs_f64()
}
