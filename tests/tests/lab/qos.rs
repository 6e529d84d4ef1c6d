//! Somebody asks for fast wake-ups: of the whole host, as `/dev/cpu_dma_latency` is held open, and of one CPU.

use crate::PROFILE;
use crate::acpi::CPUS;
use crate::room::{Room, test};
use crate::transcript::{Scrape, Transcript};

pub(crate) const ROOM: Room = Room {
    name: "qos",
    steps: STEPS,
    tests: &[
        test!(a_request_limits_the_host_while_it_is_held),
        test!(states_that_are_ruled_out_are_not_entered),
        test!(a_request_for_one_cpu_limits_that_one),
    ],
};

/// Text that is written to the device is hexadecimal: 0x32 is 50 us.
const STEPS: &str = r#"
scrape qos.before
exec 3<>/dev/cpu_dma_latency
echo 32 >&3
scrape qos.held
sleep 1
scrape qos.held.later
exec 3>&-
scrape qos.released
sleep 1
scrape qos.released.later
echo 10 >$cpu/cpu1/power/pm_qos_resume_latency_us
scrape qos.one
echo 0 >$cpu/cpu1/power/pm_qos_resume_latency_us
scrape qos.none
"#;

const LIMIT: &str = "wakelag_pm_qos_cpu_latency_limit_seconds";
const LIMIT_OF_CPU_1: &str = "wakelag_pm_qos_cpu_resume_latency_limit_seconds{cpu=\"1\"}";

fn deepest_us(scrape: &Scrape) -> Vec<f64> {
    let name = "wakelag_cpuidle_max_enabled_exit_latency_seconds";
    let of = |cpu| scrape.value(&format!("{name}{{cpu=\"{cpu}\"}}"));
    (0..CPUS).map(|cpu| (of(cpu) * 1e6).round()).collect()
}

fn share(scrape: &Scrape, value: &str) -> f64 {
    let series = format!("wakelag_setting_ratio{{setting=\"qos\",value=\"{value}\"}}");
    scrape.get(&series).unwrap_or_default()
}

fn a_request_limits_the_host_while_it_is_held(lab: &Transcript) {
    let [before, held, released] =
        ["qos.before", "qos.held", "qos.released"].map(|name| lab.scrape(name));
    assert_eq!(before.get(LIMIT), None);
    assert_eq!(held.value(LIMIT), 50e-6);
    assert_eq!(deepest_us(&held), [40.0; CPUS]);
    assert_eq!(held.profile(), "schedutil/idle<=C2@40us/qos<=50us/smt=on");
    assert_eq!((share(&held, "50us"), share(&held, "none")), (1.0, 0.0));
    assert_eq!(held.settings_changed_since(&before), ["idle_limit", "qos"]);
    assert_eq!(held.profile_changes_since(&before), 1.0);

    assert_eq!(released.get(LIMIT), None);
    assert_eq!(deepest_us(&released), [250.0; CPUS]);
    assert_eq!(released.profile(), PROFILE);
    assert_eq!(
        released.settings_changed_since(&held),
        ["idle_limit", "qos"]
    );
    assert_eq!(released.profile_changes_since(&held), 1.0);
}

/// The kernel does what the exporter concludes: with 50 us allowed nobody enters the state of 250 us.
fn states_that_are_ruled_out_are_not_entered(lab: &Transcript) {
    let entered = |from: &str, to: &str| {
        let (from, to) = (lab.scrape(from), lab.scrape(to));
        let before = from.series("wakelag_cpuidle_state_entries_total", "name=\"C3\"");
        let entered = before
            .iter()
            .map(|(series, count)| to.value(series) - count);
        entered.fold(0.0, f64::max)
    };
    // The period in which the request came is counted when it ends.
    assert!(entered("qos.held", "qos.held.later") <= 1.0);
    assert!(entered("qos.released", "qos.released.later") > 1.0);
}

fn a_request_for_one_cpu_limits_that_one(lab: &Transcript) {
    let [before, one, none] =
        ["qos.released.later", "qos.one", "qos.none"].map(|name| lab.scrape(name));
    assert_eq!(before.get(LIMIT_OF_CPU_1), None);
    assert_eq!(one.value(LIMIT_OF_CPU_1), 10e-6);
    assert_eq!(one.get(LIMIT), None);
    assert_eq!(deepest_us(&one), [250.0, 2.0, 250.0, 250.0]);
    assert_eq!(one.profile(), "schedutil/idle<=mixed/qos<=mixed/smt=on");
    assert_eq!((share(&one, "10us"), share(&one, "none")), (0.25, 0.75));
    assert_eq!(one.settings_changed_since(&before), ["idle_limit", "qos"]);
    assert_eq!(none.get(LIMIT_OF_CPU_1), None);
    assert_eq!(none.profile(), PROFILE);
}
