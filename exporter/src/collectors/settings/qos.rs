//! What PM QoS allows: the slowest wake-up somebody has asked for.

use crate::parse::{self, ParseError};
use crate::root::{Kept, Root};

/// What `cpu_dma_latency` says while nobody limits anything (PM_QOS_CPU_LATENCY_DEFAULT_VALUE).
const NO_LIMIT_US: i32 = 2_000_000_000;

/// The limit of the whole host.
#[derive(Debug)]
pub(super) struct HostLimit(Kept);

impl HostLimit {
    pub(super) fn new(root: &Root) -> Self {
        HostLimit(root.dev("cpu_dma_latency"))
    }

    /// The limit in microseconds, if there is one and this user may see it.
    ///
    /// Opening the device asks for the default, which changes nothing and wakes nobody; it is closed at once, since an
    /// open one is an entry in the kernel's list. It is for root only, and an exporter without rights is well without it.
    pub(super) fn read(&mut self, root: &Root) -> Option<u64> {
        root.permitted(root.parse_bytes(&mut self.0, cpu_dma_latency))
            .flatten()
    }
}

/// The tighter of two limits.
pub(super) fn tighter(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.into_iter().chain(b).min()
}

/// `/dev/cpu_dma_latency`: four bytes, a signed number of microseconds in the byte order of the machine.
fn cpu_dma_latency(bytes: &[u8]) -> Result<Option<u64>, ParseError> {
    let bad = |problem: String| ParseError::new(1, problem);
    let four =
        <[u8; 4]>::try_from(bytes).map_err(|_| bad(format!("{} bytes and not 4", bytes.len())))?;
    match i32::from_ne_bytes(four) {
        NO_LIMIT_US => Ok(None),
        us => u64::try_from(us)
            .map(Some)
            .map_err(|_| bad(format!("{us} us is no latency"))),
    }
}

/// `cpuN/power/pm_qos_resume_latency_us`: 0 is no limit, and `n/a` is no latency at all.
pub(super) fn resume_latency(text: &str) -> Result<Option<u64>, ParseError> {
    if text.trim() == "n/a" {
        return Ok(Some(0));
    }
    Ok(Some(parse::number(text)?).filter(|us| *us > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_answers_four_bytes() {
        assert_eq!(cpu_dma_latency(&10_i32.to_ne_bytes()), Ok(Some(10)));
        assert_eq!(cpu_dma_latency(&0_i32.to_ne_bytes()), Ok(Some(0)));
        assert_eq!(cpu_dma_latency(&NO_LIMIT_US.to_ne_bytes()), Ok(None));
        for bad in [&b""[..], b"\n\0\0", b"0x0000000a\n", &[255; 4]] {
            assert!(cpu_dma_latency(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn no_limit_and_no_latency_are_told_apart() {
        assert_eq!(resume_latency("0\n"), Ok(None));
        assert_eq!(resume_latency("n/a\n"), Ok(Some(0)));
        assert_eq!(resume_latency("20\n"), Ok(Some(20)));
        for bad in ["", "-1\n", "n\n", "99999999999999999999\n"] {
            assert!(resume_latency(bad).is_err(), "{bad:?}");
        }
        assert_eq!(tighter(Some(20), None), Some(20));
        assert_eq!(tighter(Some(20), Some(10)), Some(10));
        assert_eq!(tighter(None, None), None);
    }
}
