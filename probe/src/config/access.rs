//! How a target is reached, and which keys belong to which engine.

use std::path::Path;

use super::file::TargetEntry;
use super::{Access, Password, Server};

/// A server, with where its password is.
pub(super) fn server(
    entry: &TargetEntry,
    directory: &Path,
) -> Result<Server, (&'static str, String)> {
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

/// A SQLite file.
pub(super) fn sqlite(
    entry: &TargetEntry,
    directory: &Path,
) -> Result<Access, (&'static str, String)> {
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
