//! An open session with one workload ready on it.

use std::time::{Duration, Instant};

use bytes::{BufMut as _, BytesMut};
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;

use super::conversation::{Conversation, protocol};
use super::placeholders::Template;
use crate::engine::{Failure, Outcome, Peer, Session, Timings};
use crate::workload::{Fixture, Protocol, Workload};

/// The name of the prepared statement on the server, as `pg_prepared_statements` shows it.
const STATEMENT: &str = "wakelag";

/// What is sent for one query.
enum Request {
    /// Bind and Execute of the prepared statement, so many times, and one Sync, all in one write.
    Prepared(u16),
    /// The text with the parameters written into it.
    Simple(Template),
}

pub(super) struct PostgresSession {
    server: Conversation,
    request: Request,
    limit: Duration,
    peer: Peer,
}

impl PostgresSession {
    /// Makes the workload's rows where they are missing, and parses its statement.
    pub(super) fn prepare(
        server: Conversation,
        version: String,
        workload: &Workload,
        limit: Duration,
    ) -> Result<Self, Failure> {
        let mut session = PostgresSession {
            peer: Peer {
                engine: "postgres",
                version,
                transport: server.wire().transport(),
                tls: server.wire().tls(),
            },
            server,
            request: Request::Prepared(workload.statement.protocol.statements()),
            limit,
        };
        if let Some(fixture) = &workload.fixture {
            session.make(fixture)?;
        }
        let text = &workload.statement.text;
        match workload.statement.protocol {
            Protocol::Simple => session.request = Request::Simple(Template::new(text)),
            Protocol::Prepared | Protocol::Pipeline(_) => session.parse(text)?,
        }
        Ok(session)
    }

    fn make(&mut self, fixture: &Fixture) -> Result<(), Failure> {
        match self.ask(fixture.check) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(failure) if failure.outcome == Outcome::ServerError => {}
            Err(failure) => return Err(failure),
        }
        self.ask(fixture.create).map(|_| ()).map_err(|failure| {
            let message = format!(
                "cannot create the probe's own rows: {}; let somebody who may run:\n{}\n{}",
                failure.message, fixture.create, fixture.grant
            );
            Failure::fatal(failure.outcome, message)
        })
    }

    /// Runs a text outside of any measurement; whether its first column of its first row is not NULL.
    fn ask(&mut self, text: &str) -> Result<bool, Failure> {
        self.server.begin(self.limit)?;
        self.server.build(|out| frontend::query(text, out))?;
        self.server.send()?;
        Ok(self.server.reply()?.found)
    }

    fn parse(&mut self, text: &str) -> Result<(), Failure> {
        self.server.begin(self.limit)?;
        self.server.build(|out| {
            frontend::parse(STATEMENT, text, [], out)?;
            frontend::sync(out);
            Ok::<_, std::io::Error>(())
        })?;
        self.server.send()?;
        self.server.reply().map(|_| ())
    }
}

impl Session for PostgresSession {
    fn peer(&self) -> &Peer {
        &self.peer
    }

    fn execute(&mut self, params: &[i64]) -> Result<Timings, Failure> {
        self.server.catch_up()?;
        let statements = match &self.request {
            Request::Prepared(statements) => {
                let each = params.len() / usize::from(*statements);
                for number in 0..usize::from(*statements) {
                    let own = &params[number * each..][..each];
                    self.server.build(|out| bind_and_execute(own, out))?;
                }
                self.server.build(|out| {
                    frontend::sync(out);
                    Ok::<_, String>(())
                })?;
                Some(u32::from(*statements))
            }
            Request::Simple(template) => {
                let text = template.with(params);
                self.server.build(|out| frontend::query(&text, out))?;
                // As many as the text has, which is the server's to say.
                None
            }
        };
        self.server.begin(self.limit)?;
        let started = Instant::now();
        self.server.send()?;
        let reply = self.server.reply()?;
        if statements.is_some_and(|statements| statements != reply.completed) {
            let completed = reply.completed;
            return Err(protocol(format!(
                "{completed} answers to another number of statements"
            )));
        }
        Ok(Timings {
            started,
            first_row: reply.first_row,
            last_row: reply.last_row,
            done: self.server.arrived(),
        })
    }
}

fn bind_and_execute(params: &[i64], out: &mut BytesMut) -> Result<(), String> {
    let as_text = |value: &i64, out: &mut BytesMut| {
        out.put_slice(value.to_string().as_bytes());
        Ok(IsNull::No)
    };
    frontend::bind("", STATEMENT, [], params, as_text, [], out).map_err(|error| match error {
        frontend::BindError::Conversion(error) => error.to_string(),
        frontend::BindError::Serialization(error) => error.to_string(),
    })?;
    frontend::execute("", 0, out).map_err(|error| error.to_string())
}
