//! How long a lane waits after something failed.

use std::time::Duration;

use crate::workload::Draws;

/// The longest pause between attempts to connect: a server that is back is seen within that, and a thousand probes
/// cost a recovering server a hundred attempts a second.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// How long a closed loop waits after a query that failed on a session that goes on: it would fail as fast as the
/// server can say so, and each time leave a line in the server's log. Ten a second is what the presets' patterns leave.
pub(super) const PAUSE_AFTER_REFUSAL: Duration = Duration::from_millis(100);

/// No pause after the first break, then 250 ms doubled up to [`MAX_PAUSE`], of which a random half is taken off, so
/// that the lanes of many probes do not come back in step.
pub(super) fn pause(breaks: u32, draws: &mut Draws) -> Duration {
    let Some(doublings) = breaks.checked_sub(2) else {
        return Duration::ZERO;
    };
    let full = (Duration::from_millis(250) * 2u32.pow(doublings.min(10))).min(MAX_PAUSE);
    let per_mille = u32::try_from(draws.number() % 501).unwrap_or(0);
    full - full * per_mille / 1000
}
