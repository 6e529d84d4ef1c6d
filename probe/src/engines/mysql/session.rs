//! An open session with one workload ready on it.

use std::time::{Duration, Instant};

use mysql_common::constants::CapabilityFlags;

use super::conversation::{Conversation, protocol};
use super::errors;
use super::greeting::Greeting;
use super::packet::Reader;
use super::placeholders::Template;
use super::reply::{self, Form, Reply};
use crate::engine::{Failure, Outcome, Peer, Session, Timings};
use crate::workload::{Fixture, Protocol, Workload};

/// The commands.
const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;

/// The type of a parameter: a signed integer of eight bytes.
const LONGLONG: [u8; 2] = [0x08, 0];

/// What is sent for one query.
enum Request {
    /// An execution of the statement that has this number on the server.
    Prepared(u32),
    /// The text with the parameters written into it.
    Simple(Template),
}

pub(super) struct MysqlSession {
    server: Conversation,
    request: Request,
    deprecate_eof: bool,
    limit: Duration,
    peer: Peer,
}

impl MysqlSession {
    /// Makes the workload's rows where they are missing, and prepares its statement.
    pub(super) fn prepare(
        server: Conversation,
        greeting: Greeting,
        user: &str,
        workload: &Workload,
        limit: Duration,
    ) -> Result<Self, Failure> {
        let capabilities = greeting.agreed();
        let text = &workload.statement.text;
        let template = Template::new(text);
        let mut session = MysqlSession {
            peer: Peer {
                engine: greeting.engine,
                version: greeting.version,
                transport: server.transport(),
                tls: server.tls(),
            },
            server,
            request: Request::Simple(template),
            deprecate_eof: capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF),
            limit,
        };
        if let Some(fixture) = &workload.fixture {
            session.make(fixture, user)?;
        }
        let placeholders = match (&session.request, workload.statement.protocol) {
            // A pipeline is refused with the configuration.
            (_, Protocol::Prepared | Protocol::Pipeline(_)) => {
                let (statement, placeholders) = session.parse(text)?;
                session.request = Request::Prepared(statement);
                placeholders
            }
            (Request::Simple(template), Protocol::Simple) => template.placeholders(),
            (Request::Prepared(_), Protocol::Simple) => 0,
        };
        let params = workload.statement.params.len();
        if placeholders != params {
            let message =
                format!("the query has {placeholders} placeholders, and {params} `params`");
            return Err(Failure::fatal(Outcome::ServerError, message));
        }
        Ok(session)
    }

    fn make(&mut self, fixture: &Fixture, user: &str) -> Result<(), Failure> {
        match self.ask(fixture.check) {
            Ok(reply) if reply.found => return Ok(()),
            Ok(_) => {}
            Err(failure) if failure.outcome == Outcome::ServerError => {}
            Err(failure) => return Err(failure),
        }
        // One at a time: several in one text are not allowed to this session.
        for statement in fixture.create.split_inclusive(';') {
            self.ask(statement.trim().trim_end_matches(';')).map_err(|failure| {
                let grant = fixture.grant.replace("{user}", &user.replace('\'', "''"));
                let message = format!(
                    "cannot create the probe's own rows: {}; let somebody who may run:\n{}\n{grant}",
                    failure.message, fixture.create
                );
                Failure::fatal(failure.outcome, message)
            })?;
        }
        Ok(())
    }

    /// Runs a text outside of any measurement.
    fn ask(&mut self, text: &str) -> Result<Reply, Failure> {
        self.server.begin(self.limit)?;
        self.server.command(QUERY, text.as_bytes());
        self.server.send()?;
        reply::read(&mut self.server, Form::Text, self.deprecate_eof)
    }

    /// Prepares `text`: its number on the server, and how many placeholders the server found.
    fn parse(&mut self, text: &str) -> Result<(u32, usize), Failure> {
        self.server.begin(self.limit)?;
        self.server.command(PREPARE, text.as_bytes());
        self.server.send()?;
        let answer = self.server.next()?;
        let mut reader = match &answer[..] {
            [0xff, error @ ..] => return Err(errors::read(error)),
            [0x00, rest @ ..] => Reader(rest),
            _ => return Err(protocol("an unexpected answer to a statement to prepare")),
        };
        let statement = reader.u32()?;
        let (columns, params) = (reader.u16()?, reader.u16()?);
        reply::definitions(&mut self.server, u64::from(params), self.deprecate_eof)?;
        reply::definitions(&mut self.server, u64::from(columns), self.deprecate_eof)?;
        Ok((statement, usize::from(params)))
    }
}

impl Session for MysqlSession {
    fn peer(&self) -> &Peer {
        &self.peer
    }

    fn execute(&mut self, params: &[i64]) -> Result<Timings, Failure> {
        let form = match &self.request {
            Request::Prepared(statement) => {
                self.server.command(EXECUTE, &execution(*statement, params));
                Form::Binary
            }
            Request::Simple(template) => {
                self.server.command(QUERY, template.with(params).as_bytes());
                Form::Text
            }
        };
        self.server.begin(self.limit)?;
        let started = Instant::now();
        self.server.send()?;
        let reply = reply::read(&mut self.server, form, self.deprecate_eof)?;
        Ok(Timings {
            started,
            first_row: reply.first_row,
            last_row: reply.last_row,
            done: self.server.arrived(),
        })
    }
}

/// The body of an execution: the statement, no cursor, one iteration; then a bit for each NULL, the types, the values.
fn execution(statement: u32, params: &[i64]) -> Vec<u8> {
    let mut body = statement.to_le_bytes().to_vec();
    body.push(0);
    body.extend(1u32.to_le_bytes());
    if !params.is_empty() {
        body.resize(body.len() + params.len().div_ceil(8), 0);
        // The types follow.
        body.push(1);
        body.extend(params.iter().flat_map(|_| LONGLONG));
        body.extend(params.iter().flat_map(|value| value.to_le_bytes()));
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_execution_has_a_bit_a_type_and_a_value_for_each_parameter() {
        assert_eq!(execution(7, &[]), [7, 0, 0, 0, 0, 1, 0, 0, 0]);
        let body = execution(7, &[-1; 9]);
        assert_eq!(body.len(), 9 + 2 + 1 + 9 * 2 + 9 * 8);
        assert_eq!(body[9..14], [0, 0, 1, 8, 0]);
        assert_eq!(body[body.len() - 8..], [0xff; 8]);
    }
}
