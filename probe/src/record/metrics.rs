//! The metrics of the probe's samples: names, help and labels, written once.

use toolkit::metric::{Desc, Metric};

/// Time from request to reply.
pub static SERVICE: Metric<5> = Metric::histogram(
    "wakelag_probe_service_seconds",
    "Time from handing a query to the kernel to the last byte of its reply in user space, successes only.",
    &["target", "node", "workload", "position", "profile"],
);

/// Time from the intended start to the reply.
pub static RESPONSE: Metric<5> = Metric::histogram(
    "wakelag_probe_response_seconds",
    "Time from a query's intended start to the last byte of its reply in user space, successes only.",
    &["target", "node", "workload", "position", "profile"],
);

/// Parts of a connect and of a query.
pub static PHASE: Metric<4> = Metric::histogram(
    "wakelag_probe_phase_seconds",
    "Duration of each phase of a connect (resolve, connect, tls, auth), and time from a query's request to its first and \
     last row.",
    &["target", "node", "workload", "phase"],
);

/// The host's timer wake-up.
pub static TIMER_LAG: Metric<3> = Metric::histogram(
    "wakelag_probe_timer_lag_seconds",
    "Time from an intended start that the probe slept until to when it ran.",
    &["target", "node", "workload"],
);

/// How queries ended.
pub static QUERIES: Metric<4> = Metric::counter(
    "wakelag_probe_queries_total",
    "Queries by how they ended, without those that warm a connection up.",
    &["target", "node", "workload", "result"],
);

/// Successful queries that were not measured.
pub static WARM_UPS: Metric<3> = Metric::counter(
    "wakelag_probe_warm_ups_total",
    "Successful queries right after a connect, which are in no other metric.",
    &["target", "node", "workload"],
);

/// Starts given up.
pub static DROPPED: Metric<3> = Metric::counter(
    "wakelag_probe_dropped_total",
    "Intended starts given up: too far behind schedule, not connected, or slept through by this host.",
    &["target", "node", "workload"],
);

/// Connections opened again.
pub static RECONNECTS: Metric<3> = Metric::counter(
    "wakelag_probe_reconnects_total",
    "Connections opened in the place of one that was lost.",
    &["target", "node", "workload"],
);

/// Whether a target answers.
pub static UP: Metric<2> = Metric::gauge(
    "wakelag_probe_up",
    "Whether the last query of at least one workload was answered.",
    &["target", "node"],
);

/// What a target is.
pub static TARGET_INFO: Metric<6> = Metric::gauge(
    "wakelag_probe_target_info",
    "What the target is, as found at the last connect.",
    &[
        "target",
        "node",
        "engine",
        "server_version",
        "transport",
        "tls",
    ],
);

/// Every metric of this module.
pub static METRICS: &[&Desc] = &[
    SERVICE.desc(),
    RESPONSE.desc(),
    PHASE.desc(),
    TIMER_LAG.desc(),
    QUERIES.desc(),
    WARM_UPS.desc(),
    DROPPED.desc(),
    RECONNECTS.desc(),
    UP.desc(),
    TARGET_INFO.desc(),
];
