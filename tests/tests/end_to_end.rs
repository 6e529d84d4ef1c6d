//! The whole path on real programs: PostgreSQL is asked by the probe, the exporter reads a fixture machine, Prometheus
//! scrapes both, and the machine's governor is changed while everything runs.
#![allow(clippy::unwrap_used)] // helpers beside the tests are tests too

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tests::fixture::{self, Fixture};
use tests::golden::repository;
use tests::postgres::Postgres;
use tests::program::Program;
use tests::prometheus::{Prometheus, Series};

const NODE: &str = "db1";
const OLD: &str = "powersave/boost=on/idle<=C6@170us/smt=on";
const NEW: &str = "performance/boost=on/idle<=C6@170us/smt=on";
const ENERGY: &str = "sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj";
const POLICIES: u32 = 8;
/// Everything asked for has to be there within this; a slow machine needs some of it, a good one 10 s.
const PATIENCE: Duration = Duration::from_secs(90);
/// Prometheus scrapes and the probe asks every second; a busy machine is late at times.
const ONE_SCRAPE_S: f64 = 2.5;

#[test]
fn a_governor_change_moves_latency_time_and_energy_to_a_new_profile() {
    let machine = machine();
    let server = Postgres::start("host all all 127.0.0.1/32 trust");
    let (stop, spent) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        scope.spawn(|| spend_energy(&machine, &stop, &spent));
        let ended = StopOnDrop(&stop);
        let mut exporter = exporter(&machine);
        let exporter_address = exporter.address();
        let mut probe = probe(&server, &exporter_address);
        let probe_address = probe.1.address();
        let prometheus = Prometheus::start(&scrape_both(&exporter_address, &probe_address));
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
        check_dashboards(&served);
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
    served.wait_for_value(&seconds(NEW), |new_s| new_s > 5.0);
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

/// Every query of every dashboard returns data, with its variables set to everything.
fn check_dashboards(served: &Served<'_>) {
    let mut asked = 0;
    for (title, query) in dashboard_queries() {
        let query = [
            ("$__rate_interval", "10s"),
            ("$__range", "1m"),
            ("$quantile", "0.99"),
            ("$node", ".+"),
            ("$target", ".+"),
            ("$workload", ".+"),
        ]
        .iter()
        .fold(query, |query, (variable, value)| {
            query.replace(variable, value)
        });
        served.wait_for(&query, &title, |series| {
            !series.is_empty() && series.iter().all(|series| series.value.is_finite())
        });
        asked += 1;
    }
    assert!(
        asked > 10,
        "only {asked} queries were found in the dashboards"
    );
}

/// Title and expression of each target of each panel.
fn dashboard_queries() -> Vec<(String, String)> {
    let mut queries = Vec::new();
    for entry in std::fs::read_dir(repository().join("dashboards")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let dashboard: serde_json::Value = serde_json::from_str(&text).unwrap();
        for panel in dashboard["panels"].as_array().into_iter().flatten() {
            for target in panel["targets"].as_array().into_iter().flatten() {
                let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
                queries.push((text(&panel["title"]), text(&target["expr"])));
            }
        }
    }
    queries
}

fn regex_escape(profile: &str) -> String {
    profile.replace('.', "\\\\.")
}

/// The two-socket server, all of its CPUs with the same settings.
fn machine() -> Fixture {
    let machine = fixture::unpack("intel-2s-icelake");
    machine.write("sys/devices/system/cpu/cpu3/cpuidle/state3/disable", "0\n");
    for policy in 0..POLICIES {
        machine.reserve(&governor_file(policy), 16);
    }
    machine
}

fn governor_file(policy: u32) -> String {
    format!("sys/devices/system/cpu/cpufreq/policy{policy}/scaling_governor")
}

fn set_governor(machine: &Fixture, governor: &str) {
    for policy in 0..POLICIES {
        machine.write(&governor_file(policy), &format!("{governor}\n"));
    }
}

/// Package 0 draws 50 W, in steps that are written down with their time.
fn spend_energy(machine: &Fixture, stop: &AtomicBool, spent: &Mutex<Vec<(f64, f64)>>) {
    const STEP: Duration = Duration::from_millis(50);
    let mut energy_uj: u64 = machine.read(ENERGY).trim().parse().unwrap();
    let mut last = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(STEP);
        let step_uj = 50 * u64::try_from(last.elapsed().as_micros()).unwrap();
        last = Instant::now();
        energy_uj += step_uj;
        spent.lock().unwrap().push((now_s(), step_uj as f64 / 1e6));
        machine.write(ENERGY, &format!("{energy_uj}\n"));
    }
}

/// Ends the machine's own thread also when an assertion fails.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn exporter(machine: &Fixture) -> Program {
    Program::start(
        "wakelag-exporter",
        &[
            &format!("--path.procfs={}", machine.procfs().display()),
            &format!("--path.sysfs={}", machine.sysfs().display()),
            &format!("--node.name={NODE}"),
            "--web.listen-address=127.0.0.1:0",
        ],
    )
}

fn probe(server: &Postgres, exporter: &str) -> (tempfile::TempDir, Program) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("probe.yaml");
    let configuration = format!(
        "targets:\n\
         \x20 - name: orders\n\
         \x20   engine: postgres\n\
         \x20   address: 127.0.0.1:{}\n\
         \x20   database: postgres\n\
         \x20   user: postgres\n\
         \x20   node: {NODE}\n\
         \x20   profile_from: {exporter}\n\
         \x20   workloads: [select1, select1-idle, point-select]\n",
        server.port
    );
    std::fs::write(&file, configuration).unwrap();
    let program = Program::start(
        "wakelag-probe",
        &[
            &format!("--config.file={}", file.display()),
            "--web.listen-address=127.0.0.1:0",
        ],
    );
    (dir, program)
}

fn scrape_both(exporter: &str, probe: &str) -> String {
    let rules = repository()
        .join("dashboards/rules")
        .canonicalize()
        .unwrap();
    let target = |url: &str| url.trim_start_matches("http://").to_owned();
    format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
         rule_files: ['{}/*.yaml']\n\
         scrape_configs:\n\
         - job_name: wakelag-exporter\n\
         \x20 static_configs: [{{targets: ['{}'], labels: {{node: {NODE}}}}}]\n\
         - job_name: wakelag-probe\n\
         \x20 static_configs: [{{targets: ['{}']}}]\n",
        Path::display(&rules),
        target(exporter),
        target(probe)
    )
}

/// What Prometheus knows of both programs.
struct Served<'a>(Prometheus, &'a Program, &'a Program);

impl Served<'_> {
    /// The value of a query that has one.
    fn value(&self, query: &str) -> f64 {
        self.wait_for_value(query, |_| true)
    }

    fn wait_for_value(&self, query: &str, wanted: impl Fn(f64) -> bool) -> f64 {
        let one = |series: &[Series]| matches!(series, [one] if wanted(one.value));
        self.wait_for(query, "a value", one)[0].value
    }

    /// Asks again and again until the answer is as `wanted`.
    fn wait_for(&self, query: &str, what: &str, wanted: impl Fn(&[Series]) -> bool) -> Vec<Series> {
        let started = Instant::now();
        loop {
            let answer = self.0.query(query);
            if let Ok(series) = &answer
                && wanted(series)
            {
                return series.clone();
            }
            assert!(
                started.elapsed() < PATIENCE,
                "{what}: {query}\ngives nothing of the kind: {answer:?}\nprobe:\n{}\nexporter:\n{}",
                self.1.log(),
                self.2.log()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn now_s() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs_f64()
}
