//! What systemd is told of the program's state (`Type=notify` or `notify-reload`); without it, nobody is.

use sd_notify::NotifyState;

/// Everything is open and served.
pub fn ready() {
    tell(&[NotifyState::Ready]);
}

/// A configuration is read again; [`ready`] ends it.
pub fn reloading() {
    // systemd wants the time, to tell this reload from one that it asks for later.
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(error) => tracing::debug!(%error, "cannot tell systemd of the reload"),
    }
}

/// The program ends, by its own decision or another's.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "cannot tell systemd of the program's state");
    }
}
