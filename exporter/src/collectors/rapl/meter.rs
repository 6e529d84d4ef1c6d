//! Energy counters made into ones that neither wrap nor begin anew.

use std::collections::BTreeMap;

use super::Labels;
use crate::parse::ParseError;

/// A machine of 16 packages with all domains has half of it. Beyond, meters of zones that are gone are forgotten.
const MAX_METERS: usize = 256;

/// The meters of all zones seen since the start. A zone goes with its package's last CPU or with its driver; what it
/// had counted by then is kept until it comes back.
#[derive(Debug, Default)]
pub(super) struct Meters(BTreeMap<Labels, Meter>);

impl Meters {
    /// The meter of the zone `labels`.
    pub(super) fn of(&mut self, labels: &Labels) -> &mut Meter {
        self.0.entry(labels.clone()).or_default()
    }

    /// Forgets meters of zones that are not among `present`, once there are too many to keep.
    pub(super) fn bound<'l>(&mut self, present: impl Iterator<Item = &'l Labels>) {
        if self.0.len() > MAX_METERS {
            let present: Vec<_> = present.collect();
            self.0.retain(|labels, _| present.contains(&labels));
        }
    }
}

/// Energy of one zone since the start.
#[derive(Debug, Default)]
pub(super) struct Meter {
    last_uj: Option<u64>,
    pub(super) total_uj: u64,
    pub(super) wraps: u64,
}

impl Meter {
    /// Adds what was spent since the last reading. At most one wrap can lie between two readings: of a zone that was gone
    /// for longer, whole ranges are not seen.
    ///
    /// # Errors
    /// The counter went back and its range is not known.
    pub(super) fn advance(&mut self, now_uj: u64, range_uj: Option<u64>) -> Result<(), ParseError> {
        let spent_uj = match (self.last_uj.replace(now_uj), range_uj) {
            (None, _) => 0,
            (Some(last), _) if now_uj >= last => now_uj - last,
            (Some(last), Some(range)) if range >= last => {
                self.wraps += 1;
                range - last + now_uj
            }
            (Some(last), _) => {
                let problem =
                    format!("went back from {last} to {now_uj} and the range is not known");
                return Err(ParseError::new(1, problem));
            }
        };
        self.total_uj += spent_uj;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE_UJ: u64 = 262_143_328_850;

    #[test]
    fn energy_counts_from_the_first_reading() {
        let mut meter = Meter::default();
        meter.advance(83_214_456_712, Some(RANGE_UJ)).unwrap();
        assert_eq!(meter.total_uj, 0);
        meter.advance(83_214_456_713, Some(RANGE_UJ)).unwrap();
        assert_eq!((meter.total_uj, meter.wraps), (1, 0));
    }

    #[test]
    fn a_wrap_is_corrected_by_the_range() {
        let mut meter = Meter::default();
        meter.advance(262_143_000_000, Some(RANGE_UJ)).unwrap();
        meter.advance(1_000_000, Some(RANGE_UJ)).unwrap();
        assert_eq!((meter.total_uj, meter.wraps), (1_328_850, 1));
    }

    #[test]
    fn a_wrap_of_an_unknown_range_is_an_error_and_counting_goes_on_behind_it() {
        let mut meter = Meter::default();
        meter.advance(1000, None).unwrap();
        assert!(meter.advance(10, None).is_err());
        meter.advance(15, None).unwrap();
        assert_eq!(meter.total_uj, 5);
    }

    #[test]
    fn meters_of_zones_that_are_gone_are_kept_up_to_a_limit() {
        let labels = |zone: usize| [&*zone.to_string(), "", "", "", ""].map(str::to_owned);
        let mut meters = Meters::default();
        for zone in 0..MAX_METERS {
            meters.of(&labels(zone)).wraps = 7;
        }
        meters.bound([].into_iter());
        assert_eq!(meters.of(&labels(3)).wraps, 7);
        meters.of(&labels(MAX_METERS));
        meters.bound([labels(3)].iter());
        assert_eq!(meters.0.len(), 1);
        assert_eq!(meters.of(&labels(3)).wraps, 7);
    }
}
