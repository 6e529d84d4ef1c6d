//! Panels about the host: idle states, frequency, watts, and the profile in force.

use crate::model::{Guide, Panel, Unit};
use crate::query::{host, package_watts, probe, service_quantile_of_range};

const NO_RAPL: &str = "No energy counter is readable: a virtual machine, or an exporter that is not root (see README)";
const NO_PROFILE: &str = "No exporter is scraped with the label node (see dashboards/README.md)";

pub(super) fn packages_now() -> Panel {
    Panel::stat("CPU packages", Unit::Watts)
        .query(package_watts(), "{{node}}")
        .guide(Guide {
            shows: "Watts of all CPU packages of a node now, by RAPL.",
            read: "Package zones only. Not in it: memory on most servers, fans, disks, the power supply's loss.",
            bad: "Nothing is bad by itself: set it against the latency it buys, in the table below.",
            act: "Change one setting, wait, and compare the two profiles.",
            empty: NO_RAPL,
        })
}

pub(super) fn profile_now() -> Panel {
    let active = host("wakelag_profile_active", "");
    Panel::names("Profile in force")
        .query(
            format!("max by (node, profile) ({active} == 1)"),
            "{{node}}: {{profile}}",
        )
        .guide(Guide {
            shows: "The profile: the settings of the host that move latency, in one name.",
            read: "Governor, energy preference (epp), boost, deepest idle state allowed and its exit latency, SMT. \
                   `mixed`: the CPUs differ.",
            bad: "Not the one you set, or `mixed` where you set all CPUs alike.",
            act: "Look for what sets it: tuned, power-profiles-daemon, the platform's firmware.",
            empty: NO_PROFILE,
        })
}

pub(super) fn idle_states() -> Panel {
    let seconds = host("wakelag_cpuidle_state_seconds_total", "");
    Panel::shares("Time in each idle state")
        // Averaged over the CPUs that have the state. Clamped: a sleep is booked when it ends, and may be longer than
        // the window it is booked in.
        .query(
            format!(
                "clamp_max(avg by (node, state, name) (rate({seconds}[$__rate_interval])), 1)"
            ),
            "{{node}} {{state}} {{name}}",
        )
        .guide(Guide {
            shows: "Share of time the CPUs of a node spent in each idle state, averaged over its CPUs.",
            read: "State 0 is the shallowest. What is missing to 100 % is work. With several nodes chosen the stack \
                   passes 100 %: choose one.",
            bad: "Deep states fill up at the moment the first queries get slower.",
            act: "The exit latency of that state is the price of each wake-up: disable it and compare the watts.",
            empty: "This host has no idle states to report: most virtual machines have none",
        })
}

pub(super) fn frequency() -> Panel {
    // Where the hardware counts its average, that; else what the driver says.
    let average = host("wakelag_cpu_frequency_avg_hertz", "");
    let scaling = host("wakelag_cpu_scaling_frequency_hertz", "");
    let limit = host("wakelag_cpu_scaling_frequency_max_hertz", "");
    let over_cpus = |how: &str| format!("{how} by (node) ({average} or {scaling})");
    Panel::series("CPU frequency", Unit::Hertz)
        .query(over_cpus("max"), "{{node}} fastest CPU")
        .query(over_cpus("avg"), "{{node}} average")
        .query(over_cpus("min"), "{{node}} slowest CPU")
        .query(format!("max by (node) ({limit})"), "{{node}} limit")
        .guide(Guide {
            shows: "Frequency of the CPUs of a node, and the highest one the settings allow.",
            read: "An idle CPU has no frequency worth the name: read it under load, or beside the idle states.",
            bad: "Busy CPUs far below the limit, or a limit below what was bought.",
            act: "Governor and energy preference; then heat and power limits.",
            empty: "No frequency is readable: most virtual machines have none",
        })
}

pub(super) fn zones() -> Panel {
    let joules = host("wakelag_rapl_energy_joules_total", "");
    Panel::series("Watts by RAPL zone", Unit::Watts)
        .query(
            format!("max by (node, package, die, name) (rate({joules}[$__rate_interval]))"),
            "{{node}} {{package}} {{name}}",
        )
        .guide(Guide {
            shows: "Watts of each RAPL zone.",
            read: "Do not add the lines up: `core` and `uncore` are inside `package-*`, and `psys` is the whole \
                   platform with the packages in it. The total of a host is the sum of `package-*`, shown on top.",
            bad: "Idle watts that do not fall while the host is quiet: the CPUs are kept from sleeping.",
            act: "Look at the idle states; if latency did not gain from it, give the deep states back.",
            empty: NO_RAPL,
        })
}

pub(super) fn profile_over_time() -> Panel {
    let active = host("wakelag_profile_active", "");
    Panel::timeline("Profile in force over time")
        .query(
            format!("max by (node, profile) ({active})"),
            "{{node}}: {{profile}}",
        )
        .guide(Guide {
            shows: "Which profile was in force when: one lane for each profile seen since the exporter started.",
            read: "Coloured is in force. A change here is a mark in every panel above.",
            bad: "Many changes: something keeps switching, and no comparison settles.",
            act: "Find what switches (tuned, a cron job, the desktop's power daemon) before you compare anything.",
            empty: NO_PROFILE,
        })
}

/// Queries over the whole range, joined on the name of the profile. `changing` is left out: queries during which the
/// settings changed belong to no profile.
pub(super) fn profiles() -> Panel {
    const SETTLED: &str = r#",profile!="changing""#;
    const FIRST: &str = r#",position="first",profile!="changing""#;
    let samples = probe("wakelag_probe_service_seconds_count", FIRST);
    let seconds = host("wakelag_profile_seconds_total", SETTLED);
    let joules = host(
        "wakelag_profile_energy_joules_total",
        r#",name=~"package-.*",profile!="changing""#,
    );
    let sum = |series: &str| format!("(sum by (profile) (increase({series}[$__range])) > 0)");
    Panel::table("Latency and watts by profile", "profile")
        .column("Median", Unit::Seconds, service_quantile_of_range("0.5", "profile", FIRST))
        .column("p99", Unit::Seconds, service_quantile_of_range("0.99", "profile", FIRST))
        .column("Samples", Unit::Count, sum(&samples))
        .column("In force for", Unit::Seconds, sum(&seconds))
        .column("CPU packages", Unit::Watts, format!("{} / {}", sum(&joules), sum(&seconds)))
        .guide(Guide {
            shows: "Each profile that was in force in the chosen time: latency of the first query of each burst, how \
                    many were timed, how long it was in force, and the mean watts of a node's CPU packages meanwhile.",
            read: "Choose one node and one workload, or the figures mix several. Each query, second and joule is \
                   booked under the profile in force at that moment, so nothing is joined over time.",
            bad: "A profile with fewer than 400 samples (median) or 3,000 (p99): its figures are not settled. A \
                  profile that ran only at night is compared with other work, not with other settings.",
            act: "Choose the row whose latency you need, at the fewest watts; alternate the two settings in blocks \
                  before you believe a difference below 10 %.",
            empty: "Nothing was timed or in force in the chosen time",
        })
}
