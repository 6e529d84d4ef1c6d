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

pub(super) fn late_starts() -> Panel {
    let buckets = probe("wakelag_probe_timer_lag_seconds_bucket", "");
    let quantile = |q: &str| {
        format!(
            "histogram_quantile({q}, sum by (le, target) (rate({buckets}[$__rate_interval]))) > 0"
        )
    };
    Panel::series("How late the probe starts", Unit::Seconds)
        .query(quantile("0.5"), "{{target}} median")
        .query(quantile("0.99"), "{{target}} 0.99")
        .guide(Guide {
            shows: "Time from the intended to the actual start of a query: what the timer and the wake-up of the probe's \
                    own host cost.",
            read: "It is in the response time, which counts from the intended start, and not in the service time. But \
                   a host that wakes the probe late for a timer wakes it as late for a reply, and that is in both.",
            bad: "As much as the median service time: you are measuring the client's host, not the database's.",
            act: "Set the profile of the client's host as well, or let the probe wait by spinning (`wait: spin`).",
            empty: NO_PROBE,
        })
}
