//! From a configured address to a connected socket, with the time each step took.

use std::time::{Duration, Instant};

use toolkit::config::Secret;

use super::resolve::Resolver;
use super::tls;
use super::wire::Wire;
use crate::config::{Address, Server};
use crate::engine::{Failure, Outcome, Phases};

/// A connection that nothing has been said on yet, with what is needed to say it.
pub(super) struct Opened {
    pub(super) wire: Wire,
    /// The client's side of TLS, where the target asks for it.
    pub(super) tls: Option<tls::Client>,
    pub(super) password: Option<Secret>,
    /// When the connection stood.
    pub(super) begun: Instant,
}

/// Connects to one server, again and again.
#[derive(Debug, Default)]
pub(super) struct Dialer {
    resolver: Resolver,
}

impl Dialer {
    /// A connection to `server`, whose reads and writes end `connect` after the call. Password and certificates are read at
    /// each connect, so that new ones are used from the next on.
    ///
    /// # Errors
    /// One of these files cannot be read, or as [`Dialer::dial`].
    pub(super) fn open(
        &mut self,
        server: &Server,
        connect: Duration,
        phases: &mut Phases,
    ) -> Result<Opened, Failure> {
        let password = server.read_password()?;
        let tls = server.tls.as_ref().map(tls::Client::read).transpose();
        let tls = tls.map_err(|(key, message)| {
            Failure::fatal(Outcome::Tls, format!("tls: {key}: {message}"))
        })?;
        let deadline = Instant::now() + connect;
        let mut wire = self.dial(&server.address, deadline, phases)?;
        let begun = Instant::now();
        wire.begin(deadline.saturating_duration_since(begun))?;
        Ok(Opened {
            wire,
            tls,
            password,
            begun,
        })
    }

    /// A connection to `address`, by that transport and no other: `localhost` is TCP.
    ///
    /// # Errors
    /// The name is not known, or nobody took the connection before `deadline`.
    fn dial(
        &mut self,
        address: &Address,
        deadline: Instant,
        phases: &mut Phases,
    ) -> Result<Wire, Failure> {
        let begun = Instant::now();
        match address {
            Address::Unix(path) => {
                let wire = Wire::unix(path, deadline)?;
                phases.connect = Some(begun.elapsed());
                Ok(wire)
            }
            Address::Tcp { host, port } => {
                let addresses = self.resolver.resolve(host, *port, deadline)?;
                let resolved = Instant::now();
                phases.resolve = Some(resolved - begun);
                let wire = Wire::tcp(&addresses, deadline)?;
                phases.connect = Some(resolved.elapsed());
                Ok(wire)
            }
        }
    }
}
