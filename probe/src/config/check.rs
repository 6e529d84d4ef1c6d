//! From the file as written to the model: defaults, names resolved, and what the parts must not say together.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper::Uri;
use toolkit::config::Error;
use toolkit::config::locate::{self, Step};

use super::access;
use super::file::{Engine, File, TargetEntry, WorkloadEntry};
use super::{Access, Config, Placement, Target, Timeout};
use crate::workload::{Dialect, Pattern, Protocol, Statement, Workload};
use crate::workloads;

/// A second is far above any query that measures a wake-up, and short enough that a hung server shows at once.
pub(super) const DEFAULT_TIMEOUT: Timeout = Timeout {
    connect: Duration::from_secs(2),
    query: Duration::from_secs(1),
};

/// A limit shorter than this fails on a healthy host, one longer keeps a lane silent for minutes.
const TIMEOUT_LIMITS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(10)..=Duration::from_secs(300);

/// What is wrong and with which value.
pub(super) type Refusal = (Vec<Step>, String);

/// Makes the model of `file`, which is `text` from `path`.
pub(super) fn config(file: File, path: &Path, text: &str) -> Result<Config, Error> {
    resolve(&file, path.parent().unwrap_or(Path::new("")))
        .map_err(|(steps, message)| locate::error(path, text, &steps, message))
}

fn resolve(file: &File, directory: &Path) -> Result<Config, Refusal> {
    let own = own_workloads(&file.workloads)?;
    if file.targets.is_empty() {
        return Err((
            vec![Step::Key("targets")],
            "no targets; name at least one".to_owned(),
        ));
    }
    let mut targets = Vec::<Target>::new();
    for (index, entry) in file.targets.iter().enumerate() {
        let inside = |steps: &[Step]| {
            let target = [Step::Key("targets"), Step::Item(index)];
            [&target, steps].concat()
        };
        let at = |message: String, key| (inside(&[Step::Key(key)]), message);
        if targets.iter().any(|known| known.name == entry.name.0) {
            let message = format!("a second target is named `{}`", entry.name.0);
            return Err(at(message, "name"));
        }
        let target =
            target(entry, directory).map_err(|(steps, message)| (inside(&steps), message))?;
        let other = targets.iter().find(|known| {
            known.node == target.node
                && known.profile_from.is_some()
                && target.profile_from.is_some()
                && known.profile_from != target.profile_from
        });
        if let Some(other) = other {
            let message = format!(
                "target `{}` names another exporter for node `{}`; a node has one profile",
                other.name, target.node
            );
            return Err(at(message, "profile_from"));
        }
        let workloads = chosen(entry, index, &own)?;
        targets.push(Target {
            workloads,
            ..target
        });
    }
    Ok(Config { targets })
}

/// The workloads the file defines, each for any engine, since the query is written in the engine's own words.
fn own_workloads(entries: &[WorkloadEntry]) -> Result<Vec<Arc<Workload>>, Refusal> {
    let mut own = Vec::<Arc<Workload>>::new();
    for (index, entry) in entries.iter().enumerate() {
        refuse_workload(entry, &own).map_err(|(inside, message)| {
            let mut steps = vec![Step::Key("workloads"), Step::Item(index)];
            steps.extend(inside);
            (steps, message)
        })?;
        own.push(Arc::new(Workload {
            name: entry.name.0.clone(),
            statement: Statement {
                text: entry.query.clone(),
                params: entry.params.clone(),
                protocol: entry.protocol,
            },
            pattern: Pattern {
                every: entry.pattern.every.0,
                queries: entry.pattern.queries,
            },
            lanes: entry.lanes,
            fixture: None,
        }));
    }
    Ok(own)
}

/// What is wrong with a workload and where in it, with those before it in `own`.
fn refuse_workload(entry: &WorkloadEntry, own: &[Arc<Workload>]) -> Result<(), Refusal> {
    let at = |key, message: &str| Err((vec![Step::Key(key)], message.to_owned()));
    let name = &entry.name.0;
    if workloads::PRESETS.iter().any(|preset| preset.name == name) {
        let message = format!("`{name}` is a preset; choose another name");
        return at("name", &message);
    }
    if own.iter().any(|known| known.name == *name) {
        return at("name", &format!("a second workload is named `{name}`"));
    }
    if entry.query.trim().is_empty() {
        return at("query", "the query is empty");
    }
    if entry.query.contains('\0') {
        return at("query", "the query contains a NUL character");
    }
    if !(1..=1000).contains(&entry.pattern.queries) {
        let steps = vec![Step::Key("pattern"), Step::Key("queries")];
        return Err((steps, "queries must be 1 to 1000".to_owned()));
    }
    if !(1..=1000).contains(&entry.protocol.statements()) {
        let steps = vec![Step::Key("protocol"), Step::Key("pipeline")];
        return Err((steps, "a pipeline has 1 to 1000 statements".to_owned()));
    }
    if !(1..=64).contains(&entry.lanes) {
        return at("lanes", "lanes must be 1 to 64");
    }
    if let Some(param) = entry.params.iter().position(|param| !param.is_valid()) {
        let message = "uniform: the first bound is above the second".to_owned();
        return Err((vec![Step::Key("params"), Step::Item(param)], message));
    }
    Ok(())
}

/// The workloads a target names, in its order.
fn chosen(
    entry: &TargetEntry,
    index: usize,
    own: &[Arc<Workload>],
) -> Result<Vec<Arc<Workload>>, Refusal> {
    let list = [
        Step::Key("targets"),
        Step::Item(index),
        Step::Key("workloads"),
    ];
    if entry.workloads.is_empty() {
        return Err((
            list.to_vec(),
            "no workloads; name at least one, such as select1".to_owned(),
        ));
    }
    let dialect = match entry.engine {
        Engine::Postgres => Dialect::Postgres,
        Engine::Mysql => Dialect::Mysql,
        Engine::Sqlite => Dialect::Sqlite,
    };
    let mut chosen = Vec::<Arc<Workload>>::new();
    for (item, name) in entry.workloads.iter().enumerate() {
        let at = |message: String| {
            let mut steps = list.to_vec();
            steps.push(Step::Item(item));
            (steps, message)
        };
        if chosen.iter().any(|known| known.name == *name) {
            return Err(at(format!("workload `{name}` is named twice")));
        }
        let found = own.iter().find(|known| known.name == *name).cloned();
        let found = found.or_else(|| workloads::find(name, dialect));
        let found = found.ok_or_else(|| at(unknown_workload(name, own)))?;
        let pipelined = matches!(found.statement.protocol, Protocol::Pipeline(_));
        if pipelined && dialect != Dialect::Postgres {
            let message = format!("workload `{name}` is a pipeline, which only postgres has");
            return Err(at(message));
        }
        chosen.push(found);
    }
    Ok(chosen)
}

fn unknown_workload(name: &str, own: &[Arc<Workload>]) -> String {
    let presets = workloads::PRESETS.iter().map(|preset| preset.name);
    let known: Vec<&str> = presets
        .chain(own.iter().map(|known| known.name.as_str()))
        .collect();
    format!("no workload is named `{name}`; known: {}", known.join(", "))
}

/// A target without its workloads.
fn target(entry: &TargetEntry, directory: &Path) -> Result<Target, Refusal> {
    let at = |key, message: String| (vec![Step::Key(key)], message);
    let access = match entry.engine {
        Engine::Postgres => Access::Postgres(access::postgres(entry, directory)?),
        Engine::Mysql => Access::Mysql(access::mysql(entry, directory)?),
        Engine::Sqlite => access::sqlite(entry, directory)?,
    };
    let timeout = entry.timeout.or(DEFAULT_TIMEOUT);
    if !TIMEOUT_LIMITS.contains(&timeout.connect) || !TIMEOUT_LIMITS.contains(&timeout.query) {
        return Err(at("timeout", "a timeout must be 10ms to 5m".to_owned()));
    }
    let profile_from = entry.profile_from.as_deref().map(exporter).transpose();
    let profile_from = profile_from.map_err(|message| at("profile_from", message))?;
    let local = match &access {
        Access::Postgres(server) | Access::Mysql(server) => server.address.is_local(),
        Access::Sqlite { .. } => true,
    };
    let node = match &entry.node {
        Some(node) => node.0.clone(),
        None if local => this_host(),
        None => {
            let message = "`node` is missing; name the host whose CPUs serve this database, \
                           as its exporter calls it"
                .to_owned();
            return Err(at("address", message));
        }
    };
    Ok(Target {
        name: entry.name.0.clone(),
        node,
        profile_from,
        access,
        timeout,
        placement: Placement {
            cpu: entry.cpu,
            scheduling: entry.scheduling,
        },
        workloads: Vec::new(),
    })
}

/// The address of an exporter. It is not repeated where it is refused, and holds nothing secret where it is not, since
/// every log line about that exporter names it.
fn exporter(text: &str) -> Result<Uri, String> {
    let url: Option<Uri> = text.parse().ok();
    let url = url.filter(|url| url.scheme_str() == Some("http") && url.host() != Some(""));
    let url = url.ok_or("profile_from is the exporter's address, such as http://db1:9973")?;
    let has_user = url.authority().is_some_and(|a| a.as_str().contains('@'));
    if has_user || url.query().is_some() {
        let message =
            "profile_from holds no user, no password and no query; write http://host:port";
        return Err(message.to_owned());
    }
    Ok(url)
}

/// This host's name, as the exporter calls it too.
pub fn this_host() -> String {
    nix::unistd::gethostname()
        .ok()
        .and_then(|name| name.into_string().ok())
        .unwrap_or_else(|| "localhost".to_owned())
}
