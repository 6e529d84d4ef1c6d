//! How deep CPUs may sleep, by idle states and PM QoS together.

use super::chosen::Values;
use super::layout::CpuIdle;

/// The value of [`QOS`] where PM QoS limits nothing.
pub(super) const NO_LIMIT: &str = "none";

/// How deep CPUs may sleep.
#[derive(Debug, Default)]
pub(super) struct Limits {
    pub(super) idle: Values,
    pub(super) idle_with_latency: Values,
    pub(super) qos: Values,
}

impl Limits {
    pub(super) fn of(idle: &[CpuIdle]) -> Self {
        let mut limits = Limits::default();
        for cpu in idle {
            let qos = cpu.limit_us.map(|us| format!("{us}us"));
            limits
                .qos
                .add(qos.as_deref().unwrap_or(NO_LIMIT), &cpu.cpus);
            let Some(deepest) = cpu.deepest_allowed() else {
                continue;
            };
            let name = &deepest.name;
            limits.idle.add(name, &cpu.cpus);
            let with_latency = deepest.exit_latency_us.map(|us| format!("{name}@{us}us"));
            let with_latency = with_latency.as_ref().unwrap_or(name);
            limits.idle_with_latency.add(with_latency, &cpu.cpus);
        }
        limits
    }
}
