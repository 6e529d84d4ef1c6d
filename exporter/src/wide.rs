//! A 32-bit counter of the kernel made into one that does not wrap.

/// What has been counted, across wraps and resets.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wide {
    last: u64,
    total: u64,
}

const WRAP: u64 = 1 << 32;

impl Wide {
    /// Takes the kernel's counter as it is `now`; the total.
    ///
    /// A counter that went back has wrapped if it was in the last quarter of its range and is in the first one now.
    /// Otherwise it began anew: scheduling domains are built again when CPUs come and go, with counters of 0.
    pub fn advance(&mut self, now: u64) -> u64 {
        let counted = match now.checked_sub(self.last) {
            Some(counted) => counted,
            None if self.last < WRAP && self.last >= WRAP / 4 * 3 && now < WRAP / 4 => {
                now + WRAP - self.last
            }
            None => now,
        };
        self.total = self.total.saturating_add(counted);
        self.last = now;
        self.total
    }

    /// A counter that stands at `now` with nothing counted yet.
    pub fn starting_at(now: u64) -> Self {
        Wide {
            last: now,
            total: 0,
        }
    }

    /// What has been counted so far.
    pub fn total(self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_starts_where_the_kernel_is() {
        let mut wide = Wide::default();
        assert_eq!(wide.advance(17), 17);
        assert_eq!(wide.advance(20), 20);
    }

    #[test]
    fn a_wrap_goes_on_and_a_reset_starts_from_zero() {
        let mut wide = Wide::default();
        wide.advance(WRAP - 10);
        assert_eq!(wide.advance(5), WRAP + 5);
        assert_eq!(wide.advance(2), WRAP + 7);
    }
}
