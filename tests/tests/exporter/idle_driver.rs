//! Idle drivers that are not there, come later, or take the place of another.

use exporter::collector::State;

use crate::series::{Host, starting};

const CPU: &str = "sys/devices/system/cpu";

#[test]
fn a_machine_without_an_idle_driver_is_absent_and_not_an_error() {
    let host = Host::new("guest-empty", |_| {});
    for _ in 0..3 {
        let series = host.scrape();
        assert_eq!(host.state("cpuidle"), State::Absent);
        assert_eq!(starting(&series, "wakelag_cpuidle"), []);
        assert!(series["wakelag_setting_ratio{setting=\"cpuidle_driver\",value=\"none\"}"] == 1.0);
    }
}

#[test]
fn an_idle_driver_that_comes_later_is_found() {
    let host = Host::new("intel-2s-icelake", |machine| {
        machine.write(&format!("{CPU}/cpuidle/current_driver"), "none\n");
        for cpu in 0..8 {
            std::fs::rename(
                machine.path(&format!("{CPU}/cpu{cpu}/cpuidle")),
                machine.path(&format!("sys/{cpu}")),
            )
            .unwrap();
        }
    });
    host.scrape();
    host.scrape();
    assert_eq!(host.state("cpuidle"), State::Absent);
    // The driver is there before its states are.
    host.machine
        .write(&format!("{CPU}/cpuidle/current_driver"), "intel_idle\n");
    host.scrape();
    for cpu in 0..8 {
        let machine = &host.machine;
        std::fs::rename(
            machine.path(&format!("sys/{cpu}")),
            machine.path(&format!("{CPU}/cpu{cpu}/cpuidle")),
        )
        .unwrap();
    }
    let series = host.scrape();
    assert_eq!(host.state("cpuidle"), State::Ok);
    assert_eq!(
        starting(&series, "wakelag_cpuidle_state_seconds_total").len(),
        32
    );
}

/// An old descriptor of a plain file goes on reading what is no longer there; the new driver's states have to show.
#[test]
fn a_change_of_the_idle_driver_replaces_states_and_closes_what_was_open() {
    let host = Host::new("intel-2s-icelake", |_| {});
    host.scrape();
    host.scrape();
    let open = open_files(&host);
    for cpu in 0..8 {
        for state in 0..4 {
            host.machine
                .remove(&format!("{CPU}/cpu{cpu}/cpuidle/state{state}"));
        }
        for (state, name) in [(0, "POLL"), (1, "C1"), (2, "C2")] {
            for (file, text) in [
                ("name", name),
                ("latency", "3"),
                ("residency", "6"),
                ("time", "8000000000000000"),
                ("usage", "5"),
                ("disable", "0"),
            ] {
                host.machine.write(
                    &format!("{CPU}/cpu{cpu}/cpuidle/state{state}/{file}"),
                    &format!("{text}\n"),
                );
            }
        }
    }
    host.machine
        .write(&format!("{CPU}/cpuidle/current_driver"), "acpi_idle\n");
    let series = host.scrape();
    let seconds = starting(&series, "wakelag_cpuidle_state_seconds_total");
    assert_eq!(seconds.len(), 24);
    assert!(
        seconds.iter().all(|(_, seconds)| *seconds == 8e9),
        "{seconds:?}"
    );
    // Each state lost `above`, `below` and `rejected`, and each CPU a state of five counters and a switch.
    assert_eq!(open - open_files(&host), 8 * (3 * 3 + 6));
    for cpu in 0..8 {
        host.machine.remove(&format!("{CPU}/cpu{cpu}/cpuidle"));
    }
    host.machine
        .write(&format!("{CPU}/cpuidle/current_driver"), "none\n");
    host.scrape();
    assert_eq!(host.state("cpuidle"), State::Absent);
    assert_eq!(open_files_below(&host, "cpuidle/state"), 0);
}

fn open_files(host: &Host) -> usize {
    open_files_below(host, "")
}

/// Descriptors of this process on files of `host` with `part` in their path.
fn open_files_below(host: &Host, part: &str) -> usize {
    let root = host.machine.root().to_string_lossy().into_owned();
    let links = std::fs::read_dir("/proc/self/fd").unwrap();
    let targets = links.filter_map(|link| std::fs::read_link(link.ok()?.path()).ok());
    targets
        .map(|target| target.to_string_lossy().into_owned())
        .filter(|target| target.starts_with(&root) && target.contains(part))
        .count()
}
