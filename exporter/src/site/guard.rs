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
        tokio::join!(self.guard_energy(), self.check_settings());
    }

    async fn guard_energy(&self) {
        let selection = self.only(&GUARDED);
        loop {
            if self.last_scrape.is_over(GUARD_EVERY).await {
                // A failure is logged where it happens.
                let _ = self.scrape(selection.clone()).await;
                tokio::time::sleep(GUARD_EVERY).await;
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
    use super::*;

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
