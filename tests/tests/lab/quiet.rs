//! A scrape wakes up no CPU that sleeps.
//!
//! CPU 3 is isolated and has nothing to do, so how often it entered an idle state is how often something woke it up. What
//! reads is on CPU 0. The control reads a register and is no read of ours: what the exporter can be asked for that wakes up
//! a CPU, energy by perf and the residency of packages, needs PMUs that this machine does not have. Interrupts are not what is
//! counted: a CPU that polls is woken up without one.

use crate::room::{Room, test};
use crate::transcript::Transcript;

pub(crate) const ROOM: Room = Room {
    name: "quiet",
    steps: STEPS,
    tests: &[
        test!(a_hundred_scrapes_do_not_wake_up_a_cpu_that_sleeps),
        test!(a_read_that_does_wake_it_up_is_counted),
        test!(the_scrapes_had_what_to_read_of_the_cpu_that_sleeps),
    ],
};

const STEPS: &str = r#"
entries() { cat $cpu/cpu3/cpuidle/state*/usage | awk '{ sum += $1 } END { print sum }'; }
count() {
  section "$1"; shift
  before=$(entries); read from _ </proc/uptime
  repeat 100 "$@"
  after=$(entries); read to _ </proc/uptime
  echo "entries $((after - before))"
  echo "seconds $(echo "$to - $from" | bc)"
}
of_cpu_3() { dd if=/dev/cpu/3/msr bs=8 skip=2 count=1; }
# The control takes as long as what it is compared with.
nothing() { cat /proc/uptime; usleep $pause; }

scrape before.scrapes
count scrapes wget -q -O - $url/metrics
pause=$(($(echo "($to - $from) * 10000" | bc | cut -d. -f1)))
scrape after.scrapes
count nothing nothing
count registers of_cpu_3 2>/dev/null
"#;

/// What else may wake up the CPU within the time of a hundred scrapes: the kernel's own rare work.
const NOISE: f64 = 5.0;

fn entries(lab: &Transcript, section: &str) -> f64 {
    lab.number(section, "entries")
}

fn a_hundred_scrapes_do_not_wake_up_a_cpu_that_sleeps(lab: &Transcript) {
    let (scrapes, nothing) = (entries(lab, "scrapes"), entries(lab, "nothing"));
    println!(
        "CPU 3 entered an idle state {scrapes} times in 100 scrapes, {nothing} times in 100 times nothing"
    );
    assert!(
        nothing <= NOISE,
        "CPU 3 does not sleep: woken up {nothing} times by nothing"
    );
    assert!(
        scrapes <= nothing + NOISE,
        "100 scrapes woke CPU 3 up {scrapes} times, nothing {nothing} times"
    );
    let seconds = |section| lab.number(section, "seconds");
    let (scrapes_s, nothing_s) = (seconds("scrapes"), seconds("nothing"));
    assert!(
        nothing_s > scrapes_s / 2.0,
        "{nothing_s} s of nothing are no control for {scrapes_s} s of scrapes"
    );
}

fn a_read_that_does_wake_it_up_is_counted(lab: &Transcript) {
    let registers = entries(lab, "registers");
    println!("CPU 3 entered an idle state {registers} times in 100 reads of its registers");
    assert!(
        (90.0..=100.0 + 2.0 * NOISE).contains(&registers),
        "100 reads of its registers: {registers} entries"
    );
}

fn the_scrapes_had_what_to_read_of_the_cpu_that_sleeps(lab: &Transcript) {
    let (before, after) = (lab.scrape("before.scrapes"), lab.scrape("after.scrapes"));
    let of_cpu_3 = |family: &str| before.series(family, "cpu=\"3\"").len();
    assert_eq!(of_cpu_3("wakelag_cpuidle_state_entries_total"), 4);
    assert_eq!(of_cpu_3("wakelag_schedstat_running_seconds_total"), 1);
    assert!(
        !before
            .series("wakelag_interrupts_kind_total", "")
            .is_empty()
    );
    assert_eq!(
        before.value("wakelag_tasks_processes{group=\"sleeps\"}"),
        1.0
    );
    // All of the exporter's own work is in between, and none of it was on that CPU.
    let ran_s = |cpu: u32| {
        let series = format!("wakelag_schedstat_running_seconds_total{{cpu=\"{cpu}\"}}");
        after.value(&series) - before.value(&series)
    };
    assert!(
        ran_s(3) < ran_s(0) / 100.0,
        "{} s on CPU 3, {} s on CPU 0",
        ran_s(3),
        ran_s(0)
    );
    assert_eq!(after.troubles(), []);
}
