//! Both programs of ours as an operator starts them, and the configuration of Prometheus that scrapes them.

use tests::fixture::Fixture;
use tests::golden::repository;
use tests::postgres::Postgres;
use tests::program::Program;

use crate::NODE;

pub(crate) fn exporter(machine: &Fixture) -> Program {
    Program::start(
        "wakelag-exporter",
        &[
            &format!("--path.procfs={}", machine.procfs().display()),
            &format!("--path.sysfs={}", machine.sysfs().display()),
            &format!("--path.devfs={}", machine.devfs().display()),
            &format!("--node.name={NODE}"),
            "--web.listen-address=127.0.0.1:0",
        ],
    )
}

pub(crate) fn probe(server: &Postgres, exporter: &str) -> (tempfile::TempDir, Program) {
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

pub(crate) fn scrape_both(exporter: &str, probe: &str) -> String {
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
        rules.display(),
        target(exporter),
        target(probe)
    )
}
