//! A kernel that counts what it is told, and a machine that describes its PMUs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use nix::errno::Errno;
use tests::fixture::Fixture;

use super::{Counters, DEVICES, Perf};
use crate::root::{Paths, Root};

/// What the kernel is told.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The counts of each CPU's events since the start, by their numbers; or what it answers instead.
    pub(crate) counts: BTreeMap<(u32, u64), u64>,
    /// What opening is answered.
    pub(crate) refuses: Option<Errno>,
    /// What reading is answered.
    pub(crate) fails: Option<Errno>,
    /// Groups opened so far: type, events and CPU.
    pub(crate) opened: Vec<(u32, Vec<u64>, u32)>,
    /// Groups open now.
    pub(crate) open: usize,
    /// Group reads so far.
    pub(crate) reads: usize,
}

/// The kernel.
#[derive(Debug, Default, Clone)]
pub(crate) struct Fake(Arc<Mutex<State>>);

#[derive(Debug)]
struct Group {
    kernel: Fake,
    configs: Vec<u64>,
    cpu: u32,
    /// The counts when it was opened.
    start: Vec<u64>,
}

impl Fake {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Counts `more` of an event on a CPU.
    pub(crate) fn count(&self, cpu: u32, config: u64, more: u64) {
        *self.state().counts.entry((cpu, config)).or_default() += more;
    }

    fn counts(&self, configs: &[u64], cpu: u32) -> Vec<u64> {
        let state = self.state();
        let of = |config: &u64| state.counts.get(&(cpu, *config)).copied();
        configs.iter().map(|c| of(c).unwrap_or_default()).collect()
    }
}

impl Perf for Fake {
    fn open(&self, kind: u32, configs: &[u64], cpu: u32) -> Result<Box<dyn Counters>, Errno> {
        let start = self.counts(configs, cpu);
        let mut state = self.state();
        if let Some(errno) = state.refuses {
            return Err(errno);
        }
        state.opened.push((kind, configs.to_vec(), cpu));
        state.open += 1;
        Ok(Box::new(Group {
            kernel: self.clone(),
            configs: configs.to_vec(),
            cpu,
            start,
        }))
    }

    /// A clock of 2 GHz.
    fn count_here(&self, _: u32, _: u64) -> Result<(u64, u64), Errno> {
        match self.state().refuses {
            Some(errno) => Err(errno),
            None => Ok((4_000_000, 2_000_000)),
        }
    }
}

impl Counters for Group {
    fn read(&mut self) -> Result<Vec<u64>, Errno> {
        let now = self.kernel.counts(&self.configs, self.cpu);
        let mut state = self.kernel.state();
        state.reads += 1;
        match state.fails {
            Some(errno) => Err(errno),
            None => Ok(now
                .iter()
                .zip(&self.start)
                .map(|(now, start)| now - start)
                .collect()),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kernel.state().open -= 1;
    }
}

/// Describes the PMU `name` on `machine`: its type, the CPUs that count, and its events by name and number.
pub(crate) fn describe(
    machine: &Fixture,
    name: &str,
    kind: u32,
    cpus: &str,
    events: &[(&str, u64)],
) {
    let write = |file: &str, text: &str| {
        machine.write(
            &format!("sys/{DEVICES}/{name}/{file}"),
            &format!("{text}\n"),
        );
    };
    write("type", &kind.to_string());
    write("cpumask", cpus);
    write("format/event", "config:0-63");
    for (event, number) in events {
        write(&format!("events/{event}"), &format!("event={number:#04x}"));
    }
}

/// The way to the files of `machine`.
pub(crate) fn root(machine: &Fixture) -> Root {
    Root::new(Paths::new(
        machine.procfs(),
        machine.sysfs(),
        machine.devfs(),
    ))
}
