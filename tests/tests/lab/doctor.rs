//! What `wakelag-exporter doctor` says to root, and to a user whom the kernel refuses a file.

use serde_json::Value;

use crate::lab;

pub(crate) const STEPS: &str = r#"
mkdir -p /etc
echo nobody:x:65534:65534::/:/bin/sh >/etc/passwd
section doctor.root
wakelag-exporter doctor --collector.timeout 60 --format json 2>/dev/null
section doctor.nobody
su -s /bin/sh nobody -c "/bin/wakelag-exporter doctor --collector.timeout 60 --format json" 2>/dev/null
"#;

/// Collectors that are not well: name, state and reason.
fn unwell(section: &str) -> Vec<(String, String, String)> {
    let report: Value = serde_json::from_str(lab().text(section))
        .unwrap_or_else(|error| panic!("{error}: {}", lab().text(section)));
    let collectors = report["collectors"].as_array().unwrap();
    let texts = collectors.iter().map(|collector| {
        ["collector", "state", "reason"].map(|key| collector[key].as_str().unwrap().to_owned())
    });
    let unwell = texts.filter(|[_, state, _]| state != "ok" && state != "absent");
    unwell
        .map(|[name, state, reason]| (name, state, reason))
        .collect()
}

#[test]
fn root_may_read_all_that_there_is() {
    assert_eq!(unwell("doctor.root"), []);
}

#[test]
fn a_user_is_denied_energy_and_nothing_else() {
    let unwell = unwell("doctor.nobody");
    let [(name, state, reason)] = &unwell[..] else {
        panic!("{unwell:#?}");
    };
    assert_eq!((&**name, &**state), ("rapl", "denied"));
    assert!(
        reason.contains("/sys/class/powercap/intel-rapl:0/energy_uj"),
        "{reason}"
    );
}
