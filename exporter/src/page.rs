//! The exporter's parts of the page: the profile in force, and how each collector stands with a hint where it does not.

use maud::{Markup, html};
use prometheus::proto::MetricFamily;
use toolkit::metric::{family, label};

use crate::collector::State;
use crate::scrape::Standing;
use crate::settings::PROFILE_INFO;

/// The profile in force and its parts, out of a scrape of the settings.
pub fn profile(families: Option<&Vec<MetricFamily>>) -> Markup {
    let info = families
        .and_then(|families| family(families, PROFILE_INFO.desc().name))
        .and_then(|family| family.get_metric().first());
    let part = |name| info.and_then(|info| label(info, name)).unwrap_or_default();
    let parts = [
        ("Governor", part("governor")),
        ("Energy preference", part("epp")),
        ("Boost", part("boost")),
        ("Deepest idle state", part("idle_limit")),
        ("SMT", part("smt")),
    ];
    html! {
        h2 { "Profile in force" }
        @if info.is_some() {
            p .profile { code { (part("profile")) } }
        } @else {
            p { "Not known: the settings could not be read." }
        }
        dl .parts {
            @for (name, value) in parts {
                div {
                    dt { (name) }
                    dd { @if value.is_empty() { span .quiet { "not on this host" } } @else { code { (value) } } }
                }
            }
        }
    }
}

/// How each collector stands.
pub fn collectors(standings: &[Standing]) -> Markup {
    html! {
        h2 { "Collectors" }
        div .scroll {
            table {
                thead {
                    tr { th { "Collector" } th { "Outcome" } th .number { "Took" } th { "Reads" } }
                }
                tbody {
                    @for standing in standings { (collector(standing)) }
                }
            }
        }
    }
}

fn collector(standing: &Standing) -> Markup {
    let outcome = standing.outcome.as_ref();
    let state = outcome.map_or("not run yet", |outcome| outcome.state.name());
    html! {
        tr {
            td { (standing.info.name) }
            td {
                span class=(state) { (state) }
                @if let Some(outcome) = outcome {
                    @if !outcome.reason.is_empty() { br; span .quiet { (outcome.reason) } }
                    @if let Some(hint) = hint(standing.info.name, outcome.state) { br; (hint) }
                }
            }
            td .number {
                @if outcome.is_some() { (format!("{:.2} ms", standing.duration.as_secs_f64() * 1e3)) }
            }
            td .quiet { (standing.info.about) }
        }
    }
}

/// What to do about an outcome.
fn hint(collector: &str, state: State) -> Option<&'static str> {
    match (collector, state) {
        (_, State::Ok | State::Failed) => None,
        ("rapl", State::Denied) => Some(
            "Energy is for root only since Linux 5.10. Give the exporter CAP_DAC_READ_SEARCH, or run it as root without \
             any other capability.",
        ),
        (_, State::Denied) => Some("Give the exporter read access to the file."),
        ("cpuidle", State::Absent) => Some(
            "No idle driver: normal in a virtual machine, where the host decides. On hardware, look for idle=poll or \
             cpuidle.off=1 in /proc/cmdline.",
        ),
        ("cpufreq", State::Absent) => Some(
            "No frequency driver: normal in a virtual machine. On hardware, enable power management in the firmware.",
        ),
        ("rapl", State::Absent) => Some(
            "No RAPL: normal in a virtual machine. In a container, mount the host's /sys at /host/sys and use \
             --path.sysfs=/host/sys. On hardware, load intel_rapl_msr.",
        ),
        ("schedstat", State::Absent) => Some(
            "The kernel was built without CONFIG_SCHEDSTATS, or procfs is mounted with subset=pid.",
        ),
        ("pressure", State::Absent) => Some("Boot with psi=1."),
        (_, State::Absent) => Some("This kernel does not have it."),
        (_, State::Timeout) => {
            Some("The file hangs; the collector goes on by itself once the kernel answers.")
        }
    }
}
