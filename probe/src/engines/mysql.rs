//! MySQL and MariaDB, driven by hand over a blocking socket, as PostgreSQL is: one query is one write and, for a reply
//! of up to 16 kB, one read.
//!
//! Source: MySQL's documentation, "Client/Server Protocol", version 10, and MariaDB's of the same name. The scrambles
//! of passwords come from the crate mysql_common; what a server says is parsed here, since that crate's parsers of the
//! greeting and of the server's key panic on some of what is not one.
//!
//! Nothing is asked that the workload does not ask: the version is the greeting's, the character set goes with the
//! answer to it, and no setting is changed. So no limit can be set on the server either, which knows those of a session
//! only by statements: a query that is given up here ends there when the server finds the connection closed, or by the
//! limits of its own, such as `max_statement_time` of the account (MariaDB) or `max_execution_time` (MySQL).

mod auth;
mod conversation;
mod errors;
mod greeting;
mod packet;
mod placeholders;
mod public_key;
mod reply;
mod session;

use std::time::Instant;

use self::conversation::Conversation;
use self::session::MysqlSession;
use super::dial::{Dialer, Opened};
use crate::config::{Server, Timeout};
use crate::engine::{Engine, Failure, Phases, Session};
use crate::workload::Workload;

/// A way to a MySQL or MariaDB server.
#[derive(Debug)]
pub struct Mysql {
    server: Server,
    timeout: Timeout,
    dialer: Dialer,
}

impl Mysql {
    /// The server `server`.
    pub fn new(server: Server, timeout: Timeout) -> Self {
        Mysql {
            server,
            timeout,
            dialer: Dialer::default(),
        }
    }
}

impl Engine for Mysql {
    fn connect(
        &mut self,
        workload: &Workload,
        phases: &mut Phases,
    ) -> Result<Box<dyn Session>, Failure> {
        let opened = self
            .dialer
            .open(&self.server, self.timeout.connect, phases)?;
        let Opened {
            wire,
            tls,
            password,
            begun,
        } = opened;
        let mut server = Conversation::new(wire);
        let greeting = greeting::read(&mut server)?;
        if let Some(client) = &tls {
            let asked = Instant::now();
            greeting::encrypt(&mut server, &greeting, client)?;
            phases.tls = Some(asked.elapsed());
        }
        auth::authenticate(&mut server, &greeting, &self.server, password.as_ref())?;
        // The greeting, which comes before TLS, is part of it.
        phases.auth = Some(begun.elapsed() - phases.tls.unwrap_or_default());
        let session = MysqlSession::prepare(
            server,
            greeting,
            &self.server.user,
            workload,
            self.timeout.query,
        )?;
        Ok(Box::new(session))
    }
}
