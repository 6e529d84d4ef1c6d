//! From the file as written to the model: defaults, names resolved, and what the parts must not say together.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use toolkit::config::Error;
use toolkit::config::locate::{self, Step};

use super::file::{Engine, File, TargetEntry, WorkloadEntry};
use super::{Access, Config, Password, Placement, Server, Target, Timeout};
use crate::workload::{Dialect, Pattern, Statement, Workload};
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
type Refusal = (Vec<Step>, String);

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
        let at = |message: String, key: &'static str| {
            let steps = vec![Step::Key("targets"), Step::Item(index), Step::Key(key)];
            (steps, message)
        };
        if targets.iter().any(|known| known.name == entry.name.0) {
            let message = format!("a second target is named `{}`", entry.name.0);
            return Err(at(message, "name"));
        }
        let target = target(entry, directory).map_err(|(key, message)| at(message, key))?;
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
        chosen.push(found.ok_or_else(|| at(unknown_workload(name, own)))?);
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
fn target(entry: &TargetEntry, directory: &Path) -> Result<Target, (&'static str, String)> {
    let access = match entry.engine {
        Engine::Postgres => Access::Postgres(server(entry, directory)?),
        Engine::Sqlite => sqlite(entry, directory)?,
    };
    let timeout = entry.timeout.or(DEFAULT_TIMEOUT);
    if !TIMEOUT_LIMITS.contains(&timeout.connect) || !TIMEOUT_LIMITS.contains(&timeout.query) {
        return Err(("timeout", "a timeout must be 10ms to 5m".to_owned()));
    }
    if let Some(url) = &entry.profile_from
        && !url.starts_with("http://")
    {
        let message = "profile_from is the exporter's address, such as http://db1:9973".to_owned();
        return Err(("profile_from", message));
    }
    let local = match &access {
        Access::Postgres(server) => server.address.is_local(),
        Access::Sqlite { .. } => true,
    };
    let node = match &entry.node {
        Some(node) => node.0.clone(),
        None if local => this_host(),
        None => {
            let message = "`node` is missing; name the host whose CPUs serve this database, \
                           as its exporter calls it"
                .to_owned();
            return Err(("address", message));
        }
    };
    Ok(Target {
        name: entry.name.0.clone(),
        node,
        profile_from: entry.profile_from.clone(),
        access,
        timeout,
        placement: Placement {
            cpu: entry.cpu,
            scheduling: entry.scheduling,
        },
        workloads: Vec::new(),
    })
}

fn server(entry: &TargetEntry, directory: &Path) -> Result<Server, (&'static str, String)> {
    if entry.path.is_some() {
        return Err(("path", "`path` is for sqlite; use `address`".to_owned()));
    }
    let Some(address) = entry.address.clone() else {
        return Err((
            "name",
            "`address` is missing; write host:port or unix:/path".to_owned(),
        ));
    };
    if !address.is_local() && entry.tls.is_none() {
        let message = "a remote server is asked over TLS, which comes with a later version; \
                       to send queries and results in plaintext say `tls: {mode: disable}`"
            .to_owned();
        return Err(("address", message));
    }
    let Some(user) = entry.user.clone() else {
        return Err(("name", "`user` is missing".to_owned()));
    };
    for (key, text) in [("user", Some(&user)), ("database", entry.database.as_ref())] {
        if text.is_some_and(|text| text.is_empty() || text.contains('\0')) {
            return Err((key, format!("`{key}` is empty or contains a NUL character")));
        }
    }
    Ok(Server {
        address,
        database: entry.database.clone().unwrap_or_else(|| user.clone()),
        user,
        password: password(entry, directory)?,
    })
}

fn password(
    entry: &TargetEntry,
    directory: &Path,
) -> Result<Option<Password>, (&'static str, String)> {
    let (key, password) = match (&entry.password_file, &entry.password_env) {
        (Some(_), Some(_)) => {
            let message = "give `password_file` or `password_env`, not both".to_owned();
            return Err(("password_env", message));
        }
        (Some(file), None) => ("password_file", Password::File(directory.join(file))),
        (None, Some(name)) => ("password_env", Password::Env(name.clone())),
        (None, None) => return Ok(None),
    };
    // Read here only to refuse early; each connect reads it anew.
    password.read().map_err(|message| (key, message))?;
    Ok(Some(password))
}

fn sqlite(entry: &TargetEntry, directory: &Path) -> Result<Access, (&'static str, String)> {
    let only_for_servers = [
        ("address", entry.address.is_some()),
        ("database", entry.database.is_some()),
        ("user", entry.user.is_some()),
        ("password_file", entry.password_file.is_some()),
        ("password_env", entry.password_env.is_some()),
        ("tls", entry.tls.is_some()),
    ];
    if let Some((key, _)) = only_for_servers.iter().find(|(_, given)| *given) {
        return Err((
            key,
            format!("`{key}` is for servers; sqlite takes only `path`"),
        ));
    }
    match &entry.path {
        Some(path) => Ok(Access::Sqlite {
            path: directory.join(path),
            create: false,
        }),
        None => Err(("name", "`path` is missing".to_owned())),
    }
}

/// This host's name, as the exporter calls it too.
pub fn this_host() -> String {
    nix::unistd::gethostname()
        .ok()
        .and_then(|name| name.into_string().ok())
        .unwrap_or_else(|| "localhost".to_owned())
}
