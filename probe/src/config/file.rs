//! The configuration file as written. Field names are the keys; an unknown key is refused.

use std::path::PathBuf;

use serde::Deserialize;
use serde::de::Deserializer;
use toolkit::config::text;

use super::address::Address;
use super::duration::Span;
use super::encryption::Section;
use super::{ChannelBinding, Scheduling, Timeout};
use crate::workload::{Param, Protocol};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) targets: Vec<TargetEntry>,
    #[serde(default)]
    pub(super) workloads: Vec<WorkloadEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TargetEntry {
    pub(super) name: Name,
    pub(super) engine: Engine,
    pub(super) address: Option<Address>,
    pub(super) path: Option<PathBuf>,
    pub(super) database: Option<String>,
    pub(super) user: Option<String>,
    pub(super) password_file: Option<PathBuf>,
    pub(super) password_env: Option<String>,
    pub(super) password_credential: Option<String>,
    pub(super) tls: Option<Section>,
    pub(super) channel_binding: Option<ChannelBinding>,
    pub(super) get_server_public_key: Option<bool>,
    pub(super) node: Option<Name>,
    pub(super) profile_from: Option<String>,
    #[serde(default)]
    pub(super) timeout: TimeoutEntry,
    pub(super) cpu: Option<usize>,
    #[serde(default)]
    pub(super) scheduling: Scheduling,
    pub(super) workloads: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Engine {
    Postgres,
    Mysql,
    Sqlite,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TimeoutEntry {
    connect: Option<Span>,
    query: Option<Span>,
}

impl TimeoutEntry {
    /// With `default` where nothing is written.
    pub(super) fn or(&self, default: Timeout) -> Timeout {
        Timeout {
            connect: self.connect.map_or(default.connect, |span| span.0),
            query: self.query.map_or(default.query, |span| span.0),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkloadEntry {
    pub(super) name: Name,
    pub(super) query: String,
    #[serde(default)]
    pub(super) params: Vec<Param>,
    #[serde(default)]
    pub(super) protocol: Protocol,
    pub(super) pattern: PatternEntry,
    #[serde(default = "one")]
    pub(super) lanes: u16,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PatternEntry {
    pub(super) every: Span,
    #[serde(default = "one")]
    pub(super) queries: u16,
}

fn one() -> u16 {
    1
}

/// A name that becomes a label value and may stand in a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name(pub(super) String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        text::read(from, "a name", name).map(Name)
    }
}

fn name(text: &str) -> Result<String, String> {
    let starts_well = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if starts_well && text.len() <= 63 && text.chars().all(allowed) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "`{text}` is not a name; use up to 63 letters, digits, `.`, `-` and `_`, a letter or digit first"
    ))
}

impl<'de> Deserialize<'de> for Scheduling {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        text::read(from, "a scheduling policy", scheduling)
    }
}

fn scheduling(text: &str) -> Result<Scheduling, String> {
    let fifo = || -> Option<u8> { text.strip_prefix("fifo:")?.parse().ok() };
    match text {
        "other" => Ok(Scheduling::Other),
        "batch" => Ok(Scheduling::Batch),
        _ => match fifo() {
            Some(priority @ 1..=99) => Ok(Scheduling::Fifo(priority)),
            _ => Err(format!(
                "`{text}` is not a scheduling policy; write other, batch or fifo:1 to fifo:99"
            )),
        },
    }
}
