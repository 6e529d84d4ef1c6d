//! Names to addresses, with a deadline.
//!
//! `getaddrinfo(3)` has no deadline of its own (resolv.conf's default is 5 s for each server and attempt), so a name
//! is looked up on a thread that may be left waiting. There is never a second one: while a look-up hangs, the next
//! connect waits for that one.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Instant;

use crate::engine::{Failure, Outcome};

type Answer = std::io::Result<Vec<SocketAddr>>;

/// Looks up one name, again at each connect, so that a failover by DNS is followed.
#[derive(Debug, Default)]
pub(super) struct Resolver {
    pending: Option<Receiver<Answer>>,
}

impl Resolver {
    /// The addresses of `host`, at least one.
    ///
    /// # Errors
    /// The name is not known, or nobody answered before `deadline`.
    pub(super) fn resolve(
        &mut self,
        host: &str,
        port: u16,
        deadline: Instant,
    ) -> Result<Vec<SocketAddr>, Failure> {
        if let Ok(ip) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(ip, port)]);
        }
        let pending = match self.pending.take() {
            Some(pending) => pending,
            None => look_up(host.to_owned(), port)
                .map_err(|error| Failure::fatal(Outcome::Refused, format!("{host}: {error}")))?,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        match pending.recv_timeout(left) {
            Ok(Ok(addresses)) if !addresses.is_empty() => Ok(addresses),
            Ok(Ok(_)) => Err(Failure::fatal(
                Outcome::Refused,
                format!("{host} has no address"),
            )),
            Ok(Err(error)) => Err(Failure::fatal(Outcome::Refused, format!("{host}: {error}"))),
            Err(RecvTimeoutError::Timeout) => {
                self.pending = Some(pending);
                Err(Failure::fatal(
                    Outcome::Timeout,
                    format!("{host}: no answer from the resolver"),
                ))
            }
            Err(RecvTimeoutError::Disconnected) => Err(Failure::fatal(
                Outcome::Refused,
                format!("{host}: the look-up ended without an answer"),
            )),
        }
    }
}

fn look_up(host: String, port: u16) -> std::io::Result<Receiver<Answer>> {
    let (answer, pending) = sync_channel(1);
    std::thread::Builder::new()
        .name("resolve".to_owned())
        .spawn(move || {
            let found = (host.as_str(), port).to_socket_addrs();
            // Nobody waits any more where the lane has ended.
            let _ = answer.send(found.map(Iterator::collect));
        })?;
    Ok(pending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(5)
    }

    #[test]
    fn an_address_is_not_looked_up() {
        let found = Resolver::default().resolve("::1", 5432, Instant::now());
        assert_eq!(found.unwrap(), ["[::1]:5432".parse().unwrap()]);
    }

    #[test]
    fn localhost_is_this_host() {
        let found = Resolver::default().resolve("localhost", 5432, soon());
        assert!(
            found
                .unwrap()
                .iter()
                .all(|address| address.ip().is_loopback())
        );
    }

    #[test]
    fn a_hanging_look_up_times_out_and_is_not_asked_beside_itself() {
        let (answer, pending) = sync_channel(1);
        let mut resolver = Resolver {
            pending: Some(pending),
        };
        let failure = resolver.resolve("db1", 5432, Instant::now()).unwrap_err();
        assert_eq!(failure.outcome, Outcome::Timeout);
        answer
            .send(Ok(vec!["10.0.0.1:5432".parse().unwrap()]))
            .unwrap();
        let found = resolver.resolve("db1", 5432, soon()).unwrap();
        assert_eq!(found, ["10.0.0.1:5432".parse().unwrap()]);
    }
}
