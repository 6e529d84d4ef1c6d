//! PostgreSQL, driven by hand over a blocking socket.
//!
//! A client library with its own runtime adds 8 to 20 us of wake-ups to a query of 30 us; here one query is one write
//! and, for a reply of up to 16 kB, one read. Messages are built and parsed by the crate postgres-protocol.
//!
//! Source: PostgreSQL's documentation, "Frontend/Backend Protocol", version 3.0. Parameters go as text, results come
//! as text. The server is told to give a query up a little before the deadline here passes, so that the usual slow
//! query costs the server no connection.

mod auth;
mod conversation;
mod negotiation;
mod placeholders;
mod scram;
mod session;

use std::time::{Duration, Instant};

use postgres_protocol::message::frontend;

use self::conversation::Conversation;
use self::session::PostgresSession;
use super::dial::{Dialer, Opened};
use crate::config::{Server, Timeout};
use crate::engine::{Engine, Failure, Phases, Session};
use crate::workload::Workload;

/// A way to a PostgreSQL server.
#[derive(Debug)]
pub struct Postgres {
    server: Server,
    timeout: Timeout,
    dialer: Dialer,
}

impl Postgres {
    /// The server `server`.
    pub fn new(server: Server, timeout: Timeout) -> Self {
        Postgres {
            server,
            timeout,
            dialer: Dialer::default(),
        }
    }

    /// The first message: who we are, and what the server may spend on us.
    fn startup(&self, server: &mut Conversation) -> Result<(), Failure> {
        let options = server_limits(self.timeout.query);
        let parameters = [
            ("user", self.server.user.as_str()),
            ("application_name", "wakelag-probe"),
            ("client_encoding", "UTF8"),
            ("options", options.as_str()),
        ];
        let database = self.server.database.as_deref();
        let database = database.map(|database| ("database", database));
        let parameters = parameters.into_iter().chain(database);
        server.build(|out| frontend::startup_message(parameters, out))
    }
}

/// A query that waits for a lock says so before it times out, and the server gives up before the lane's own deadline,
/// which would cost the connection: three quarters and nine tenths of it.
fn server_limits(query: Duration) -> String {
    format!(
        "-c lock_timeout={} -c statement_timeout={}",
        (query * 3 / 4).as_millis().max(1),
        (query * 9 / 10).as_millis().max(1)
    )
}

impl Engine for Postgres {
    fn connect(
        &mut self,
        workload: &Workload,
        phases: &mut Phases,
    ) -> Result<Box<dyn Session>, Failure> {
        let opened = self
            .dialer
            .open(&self.server, self.timeout.connect, phases)?;
        let Opened {
            mut wire,
            tls,
            password,
            mut begun,
        } = opened;
        if let Some(client) = &tls {
            negotiation::encrypt(&mut wire, client)?;
            let encrypted = Instant::now();
            phases.tls = Some(encrypted - begun);
            begun = encrypted;
        }
        let mut server = Conversation::new(wire);
        self.startup(&mut server)?;
        let credentials = auth::Credentials {
            user: &self.server.user,
            password: password.as_ref(),
            private: self.server.is_private(),
            channel_binding: self.server.channel_binding,
        };
        auth::authenticate(&mut server, &credentials)?;
        let version = server.until_ready_for_the_first_time()?;
        phases.auth = Some(begun.elapsed());
        let session = PostgresSession::prepare(server, version, workload, self.timeout.query)?;
        Ok(Box::new(session))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_gives_up_before_the_lane_does_and_on_a_lock_first() {
        assert_eq!(
            server_limits(Duration::from_secs(1)),
            "-c lock_timeout=750 -c statement_timeout=900"
        );
        assert_eq!(
            server_limits(Duration::from_micros(1)),
            "-c lock_timeout=1 -c statement_timeout=1"
        );
    }
}
