//! What the exporter reads while nobody scrapes: energy before its counters wrap, settings to date a change of them.
//!
//! These are the only timers there are. Both keep still while somebody scrapes often enough, and the check of settings
//! slows down on a machine where it would cost more than it may.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Exporter;
use crate::collector::Collector as _;
use crate::collectors::settings::Settings;
use crate::scrape::Selection;

/// RAPL counters wrap: with nobody scraping for this long the exporter reads them itself. A 400 W AMD package wraps in
/// 160 s.
const GUARD_EVERY: Duration = Duration::from_secs(60);
/// What is read then. Energy goes to the profile it was spent under, so settings are read with it.
const GUARDED: [&str; 2] = ["settings", "rapl"];
/// A check is followed by a pause of so many times what reading the settings took: with what comes on top of the reading,
/// less than it takes itself, checks stay below 0.1 % of one CPU.
const PAUSE_PER_CHECK: u32 = 2000;

/// When something was read last.
#[derive(Debug)]
pub(super) struct Last(Mutex<Instant>);

impl Last {
    pub(super) fn now() -> Self {
        Last(Mutex::new(Instant::now()))
    }

    pub(super) fn renew(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Sleeps until it is `pause` ago; true if it was already.
    async fn is_over(&self, pause: Duration) -> bool {
        let due = *self.0.lock().unwrap_or_else(PoisonError::into_inner) + pause;
        let over = due <= Instant::now();
        if !over {
            tokio::time::sleep_until(due.into()).await;
        }
        over
    }
}

impl Exporter {
    /// Reads what must not be left unread for long whenever nobody scrapes; never ends.
    pub async fn guard(&self) {
        tokio::join!(self.guard_energy(GUARD_EVERY), self.check_settings());
    }

    async fn guard_energy(&self, every: Duration) {
        let selection = self.only(&GUARDED);
        loop {
            if self.last_scrape.is_over(every).await {
                // A failure is logged where it happens.
                let _ = self.scrape(selection.clone()).await;
                tokio::time::sleep(every).await;
            }
        }
    }

    /// Looks for changed settings every [`Exporter::check_interval`], counted from whoever looked last.
    async fn check_settings(&self) {
        let selection = self.only(&[Settings::INFO.name]);
        let is_on = selection != Selection::Only(Vec::new());
        if self.check_interval.is_zero() || !is_on {
            return;
        }
        loop {
            if self.last_settings.is_over(self.pause()).await {
                let _ = self.scrape(selection.clone()).await;
            }
        }
    }

    fn pause(&self) -> Duration {
        let standings = self.standings().into_iter();
        let took = standings
            .filter(|standing| standing.info.name == Settings::INFO.name)
            .map(|standing| standing.duration);
        pause(self.check_interval, took.max().unwrap_or_default())
    }

    pub(super) fn only(&self, names: &[&str]) -> Selection {
        let on = names.iter().filter(|name| self.names.contains(*name));
        Selection::Only(on.map(|name| (*name).to_owned()).collect())
    }
}

/// The first reading finds and opens all files, and is no measure of those that follow: hence the limit.
fn pause(interval: Duration, took: Duration) -> Duration {
    interval.max((took * PAUSE_PER_CHECK).min(GUARD_EVERY))
}

#[cfg(test)]
mod tests {
    use ::tests::fixture::{self, Fixture};

    use super::*;
    use crate::args::Kernel;
    use crate::collector::State;
    use crate::collectors::{COLLECTORS, Flags};

    fn exporter(machine: &Fixture) -> Exporter {
        let kernel = Kernel {
            procfs: machine.procfs(),
            sysfs: machine.sysfs(),
            devfs: machine.devfs(),
            check_interval: Duration::ZERO,
            node_name: None,
            timeout: Duration::from_secs(10),
            collectors: Flags::default(),
        };
        let guarded = COLLECTORS
            .iter()
            .filter(|entry| GUARDED.contains(&entry.info.name));
        Exporter::new(&kernel, &guarded.collect::<Vec<_>>())
    }

    /// Waits until energy was read and found to be in this state.
    async fn energy_is(exporter: &Exporter, state: State) {
        let is = |standing: &crate::scrape::Standing| {
            let outcome = standing.outcome.as_ref();
            standing.info.name == "rapl" && outcome.is_some_and(|outcome| outcome.state == state)
        };
        while !exporter.standings().iter().any(is) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Two wraps without a scrape between: only who has read meanwhile knows of both.
    #[tokio::test]
    async fn energy_that_wraps_while_nobody_scrapes_is_not_lost() {
        let machine = fixture::unpack("intel-2s-icelake");
        let exporter = exporter(&machine);
        let energy = |zone: &str, text: String| {
            machine.write(&format!("sys/class/powercap/{zone}/energy_uj"), &text);
        };
        let other = machine.read("sys/class/powercap/intel-rapl:1/energy_uj");
        let counts = async {
            energy_is(&exporter, State::Ok).await;
            for uj in [250_000_000_000_u64, 1_000_000, 250_000_000_000, 2_000_000] {
                energy("intel-rapl:0", format!("{uj}\n"));
                // The other package tells when that has been read.
                energy("intel-rapl:1", "x\n".to_owned());
                energy_is(&exporter, State::Failed).await;
                energy("intel-rapl:1", other.clone());
                energy_is(&exporter, State::Ok).await;
            }
        };
        let guard = exporter.guard_energy(Duration::from_millis(5));
        let enough = tokio::time::timeout(Duration::from_secs(60), counts);
        tokio::select! {
            () = guard => unreachable!("it never ends"),
            in_time = enough => in_time.expect("energy is read"),
        }
        let families = exporter.families(&Vec::new()).await.unwrap();
        let text = toolkit::exposition::text(&families);
        let of = |family: &str| {
            let start = format!("{family}{{control_type=\"intel-rapl\",zone=\"intel-rapl:0\",");
            let line = text.lines().find(|line| line.starts_with(&start));
            line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        };
        assert_eq!(of("wakelag_rapl_wraps_total"), Some(2.0), "{text}");
        let range = 262_143.328_850;
        let spent = 2.0 * range + 2.0 - 83_214.456_712;
        let counted = of("wakelag_rapl_energy_joules_total").unwrap();
        assert!((counted - spent).abs() < 1e-6, "{counted} {spent}");
    }

    #[test]
    fn a_check_slows_down_where_it_is_dear() {
        let (second, micros) = (Duration::from_secs(1), Duration::from_micros);
        assert_eq!(pause(second, micros(0)), second);
        assert_eq!(pause(second, micros(500)), second);
        assert_eq!(pause(second, micros(1500)), 3 * second);
        assert_eq!(pause(second, micros(100_000)), GUARD_EVERY);
        assert_eq!(pause(600 * second, micros(100_000)), 600 * second);
    }
}
