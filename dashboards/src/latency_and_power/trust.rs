//! Panels that say whether the others can be believed.

use crate::model::{Guide, Panel, Unit};
use crate::query::probe;

const NO_PROBE: &str = "No probe is scraped, or none has this target and workload";

pub(super) fn results() -> Panel {
    let queries = probe("wakelag_probe_queries_total", "");
    Panel::series("Queries by result", Unit::PerSecond)
        .query(
            format!("sum by (target, result) (rate({queries}[$__rate_interval])) > 0"),
            "{{target}} {{result}}",
        )
        .guide(Guide {
            shows: "Queries a second by how they ended.",
            read: "Only `ok` is in the latency panels. A steady level is what the pattern of the workload asks for.",
            bad: "Anything but `ok`. `client_late`: the probe's own host could not keep the schedule.",
            act: "Read the log of the probe for the first error; move the probe if it is late itself.",
            empty: NO_PROBE,
        })
}

pub(super) fn own_part() -> Panel {
    let median = |family: &str| {
        let buckets = probe(&format!("{family}_bucket"), "");
        format!(
            "histogram_quantile(0.5, sum by (le, target) (rate({buckets}[$__rate_interval]))) > 0"
        )
    };
    Panel::series("The probe's own part", Unit::Seconds)
        .query(
            median("wakelag_probe_client_wakeup_seconds"),
            "{{target}} reply waited for the probe",
        )
        .query(
            median("wakelag_probe_timer_lag_seconds"),
            "{{target}} start was late by",
        )
        .guide(Guide {
            shows: "Medians of two waits on the probe's own host: from the reply in its kernel to the probe running \
                    again, and from the intended to the actual start of a query.",
            read: "The first is part of the service time: a client that sleeps lives it too. It exists on TCP only. \
                   The second is in the response time and not in the service time.",
            bad: "The first is most of the median: you are measuring the client's host, not the database's.",
            act: "Set the profile of the client's host as well, or let the probe wait by spinning (`wait: spin`).",
            empty: NO_PROBE,
        })
}
