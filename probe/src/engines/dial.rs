//! From a configured address to a connected socket, with the time each step took.

use std::time::Instant;

use super::resolve::Resolver;
use super::wire::Wire;
use crate::config::Address;
use crate::engine::{Failure, Phases};

/// Connects to one server, again and again.
#[derive(Debug, Default)]
pub(super) struct Dialer {
    resolver: Resolver,
}

impl Dialer {
    /// A connection to `address`, by that transport and no other: `localhost` is TCP.
    ///
    /// # Errors
    /// The name is not known, or nobody took the connection before `deadline`.
    pub(super) fn dial(
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
