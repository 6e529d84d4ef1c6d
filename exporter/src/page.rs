//! The exporter's parts of the page: the profile in force, and how each collector stands with a hint where it does not.

use maud::{Markup, html};
use toolkit::metric::{Family, family};

use crate::advice::{self, Host};
use crate::scrape::Standing;
use crate::settings::PROFILE_INFO;

/// The profile in force and its parts, out of a scrape of the settings.
pub fn profile(families: Option<&Vec<Family>>) -> Markup {
    let info = families
        .and_then(|families| family(families, PROFILE_INFO.desc().name))
        .and_then(|family| family.samples().next());
    let part = |name| info.and_then(|info| info.label(name)).unwrap_or_default();
    let parts = [
        ("Governor", part("governor")),
        ("Energy preference", part("epp")),
        ("Boost", part("boost")),
        ("Deepest idle state", part("idle_limit")),
        ("Latency limit (PM QoS)", part("qos")),
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
pub fn collectors(standings: &[Standing], host: &Host) -> Markup {
    html! {
        h2 { "Collectors" }
        div .scroll {
            table {
                thead {
                    tr { th { "Collector" } th { "Outcome" } th .number { "Took" } th { "Reads" } }
                }
                tbody {
                    @for standing in standings { (collector(standing, host)) }
                }
            }
        }
    }
}

fn collector(standing: &Standing, host: &Host) -> Markup {
    let outcome = standing.outcome.as_ref();
    let state = outcome.map_or("not run yet", |outcome| outcome.state.name());
    html! {
        tr {
            td { (standing.info.name) }
            td {
                span class=(state) { (state) }
                @if let Some(outcome) = outcome {
                    @if !outcome.reason.is_empty() { br; span .quiet { (outcome.reason) } }
                    @if let Some(advice) = advice::on(standing, host) {
                        br; (advice.why) " " (advice.next)
                    }
                }
            }
            td .number {
                @if outcome.is_some() { (format!("{:.2} ms", standing.duration.as_secs_f64() * 1e3)) }
            }
            td .quiet { (standing.info.about) }
        }
    }
}
