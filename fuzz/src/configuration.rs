//! The probe's configuration file: what is refused is refused at a place in the text, and what is taken is sound.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use probe::config::{self, Access, Config};

use super::web::in_text;

/// A directory that is not there: a password file beside it cannot be read, whatever it is called.
const PATH: &str = "/nonexistent/probe.yaml";

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    // A path from the root is read before anything is said of it, and this host's files are none of the input's.
    if (text.contains("_file") || text.contains("credential")) && text.contains('/') {
        return;
    }
    match config::parse(Path::new(PATH), text) {
        Ok(config) => sound(&config),
        Err(error) => in_text(&error.to_string(), PATH, text),
    }
}

fn sound(config: &Config) {
    assert!(!config.targets.is_empty());
    let names: BTreeSet<&str> = config.targets.iter().map(|t| &*t.name).collect();
    assert_eq!(names.len(), config.targets.len());
    for target in &config.targets {
        assert!(is_name(&target.name) && !target.node.is_empty());
        let limits = Duration::from_millis(10)..=Duration::from_secs(300);
        assert!(limits.contains(&target.timeout.connect));
        assert!(limits.contains(&target.timeout.query));
        if let Some(uri) = &target.profile_from {
            assert_eq!(uri.scheme_str(), Some("http"));
            assert!(uri.host().is_some_and(|host| !host.is_empty()), "{uri}");
        }
        if let Access::Postgres(server) = &target.access {
            assert!(!server.user.is_empty() && !server.user.contains('\0'));
        }
        assert!(!target.workloads.is_empty());
        let workloads: BTreeSet<&str> = target.workloads.iter().map(|w| &*w.name).collect();
        assert_eq!(workloads.len(), target.workloads.len());
        for workload in &target.workloads {
            assert!(is_name(&workload.name));
            assert!((1..=64).contains(&workload.lanes));
            assert!((1..=1000).contains(&workload.pattern.queries));
            assert!(workload.statement.params.iter().all(|p| p.is_valid()));
            assert!(!workload.statement.text.trim().is_empty());
        }
    }
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    (1..=63).contains(&name.len()) && name.chars().all(fits)
}
