//! How a target is reached, and which keys belong to which engine.

use std::path::Path;

use toolkit::config::locate::Step;

use super::check::Refusal;
use super::encryption;
use super::file::TargetEntry;
use super::{Access, ChannelBinding, Password, Server};

fn at(key: &'static str, message: impl Into<String>) -> Refusal {
    (vec![Step::Key(key)], message.into())
}

/// A PostgreSQL server.
pub(super) fn postgres(entry: &TargetEntry, directory: &Path) -> Result<Server, Refusal> {
    if entry.get_server_public_key.is_some() {
        let message = "`get_server_public_key` is for mysql";
        return Err(at("get_server_public_key", message));
    }
    server(entry, directory)
}

/// A MySQL or MariaDB server.
pub(super) fn mysql(entry: &TargetEntry, directory: &Path) -> Result<Server, Refusal> {
    if entry.channel_binding.is_some() {
        return Err(at("channel_binding", "`channel_binding` is for postgres"));
    }
    let server = server(entry, directory)?;
    if server.get_server_public_key && server.tls.is_some() {
        let message = "under TLS there is no use for the server's own key";
        return Err(at("get_server_public_key", message));
    }
    Ok(server)
}

/// A server, with where its password is.
fn server(entry: &TargetEntry, directory: &Path) -> Result<Server, Refusal> {
    if entry.path.is_some() {
        return Err(at("path", "`path` is for sqlite; use `address`"));
    }
    let Some(address) = entry.address.clone() else {
        let message = "`address` is missing; write host:port or unix:/path";
        return Err(at("name", message));
    };
    let Some(user) = entry.user.clone() else {
        return Err(at("name", "`user` is missing"));
    };
    for (key, text) in [("user", Some(&user)), ("database", entry.database.as_ref())] {
        if text.is_some_and(|text| text.is_empty() || text.contains('\0')) {
            let message = format!("`{key}` is empty or contains a NUL character");
            return Err(at(key, message));
        }
    }
    let tls = encryption::tls(entry.tls.as_ref(), &address, directory)?;
    let channel_binding = entry.channel_binding.unwrap_or_default();
    if channel_binding == ChannelBinding::Require && tls.is_none() {
        let message = "there is no TLS to bind the authentication to";
        return Err(at("channel_binding", message));
    }
    Ok(Server {
        address,
        database: entry.database.clone(),
        user,
        password: password(entry, directory)?,
        tls,
        channel_binding,
        get_server_public_key: entry.get_server_public_key.unwrap_or_default(),
    })
}

fn password(entry: &TargetEntry, directory: &Path) -> Result<Option<Password>, Refusal> {
    let file = entry.password_file.as_ref();
    let file = file.map(|file| ("password_file", Password::File(directory.join(file))));
    let env = entry.password_env.clone();
    let env = env.map(|name| ("password_env", Password::Env(name)));
    let credential = entry.password_credential.clone();
    let credential = credential.map(|name| ("password_credential", Password::Credential(name)));
    let mut given = [file, env, credential].into_iter().flatten();
    let Some((key, password)) = given.next() else {
        return Ok(None);
    };
    if let Some((second, _)) = given.next() {
        return Err(at(second, format!("give `{key}` or `{second}`, not both")));
    }
    if let Password::Credential(name) = &password
        && (name.is_empty() || name.contains('/') || name.starts_with('.'))
    {
        return Err(at(key, "a credential has a name, and no path"));
    }
    // Read here only to refuse early; each connect reads it anew.
    password.read().map_err(|message| at(key, message))?;
    Ok(Some(password))
}

/// A SQLite file.
pub(super) fn sqlite(entry: &TargetEntry, directory: &Path) -> Result<Access, Refusal> {
    let only_for_servers = [
        ("address", entry.address.is_some()),
        ("database", entry.database.is_some()),
        ("user", entry.user.is_some()),
        ("password_file", entry.password_file.is_some()),
        ("password_env", entry.password_env.is_some()),
        ("password_credential", entry.password_credential.is_some()),
        ("tls", entry.tls.is_some()),
        ("channel_binding", entry.channel_binding.is_some()),
        (
            "get_server_public_key",
            entry.get_server_public_key.is_some(),
        ),
    ];
    if let Some((key, _)) = only_for_servers.iter().find(|(_, given)| *given) {
        let message = format!("`{key}` is for servers; sqlite takes only `path`");
        return Err(at(key, message));
    }
    match &entry.path {
        Some(path) => Ok(Access::Sqlite {
            path: directory.join(path),
            create: false,
        }),
        None => Err(at("name", "`path` is missing")),
    }
}
