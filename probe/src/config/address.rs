//! Where a server listens: `host:port`, `[v6]:port` or `unix:/path/.s.PGSQL.5432`.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use serde::de::{Deserialize, Deserializer};

use toolkit::config::text;

/// A server's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// TCP.
    Tcp {
        /// A name or an IP address, an IPv6 one without its brackets.
        host: String,
        /// The port.
        port: u16,
    },
    /// A UNIX stream socket, by its absolute path.
    Unix(PathBuf),
}

impl Address {
    /// Whether what is sent there never leaves this host.
    pub fn is_local(&self) -> bool {
        match self {
            Address::Unix(_) => true,
            Address::Tcp { host, .. } => {
                host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
            }
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp { host, port } if host.contains(':') => write!(out, "[{host}]:{port}"),
            Address::Tcp { host, port } => write!(out, "{host}:{port}"),
            Address::Unix(path) => write!(out, "unix:{}", path.display()),
        }
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        text::read(from, "an address such as db1:5432", parse)
    }
}

fn parse(text: &str) -> Result<Address, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        return if path.starts_with('/') {
            Ok(Address::Unix(PathBuf::from(path)))
        } else {
            Err(format!(
                "`{text}` is not an address; a UNIX socket is written unix:/absolute/path"
            ))
        };
    }
    let parts = match text.strip_prefix('[') {
        Some(rest) => rest
            .split_once("]:")
            .filter(|(host, _)| host.parse::<std::net::Ipv6Addr>().is_ok()),
        None => text.split_once(':').filter(|(host, _)| is_host(host)),
    };
    match parts.map(|(host, port)| (host, port.parse())) {
            Some((host, Ok(port))) if port > 0 => Ok(Address::Tcp {
                host: host.to_owned(),
                port,
            }),
            // The text itself may hold a password somebody put there: it is not repeated.
            _ if text.contains('@') => Err(
                "an address holds no user and no password; write host:port and use `user` and `password_file`".to_owned(),
            ),
            _ => Err(format!(
                "`{text}` is not an address; write host:port, [v6]:port or unix:/path"
            )),
        }
}

fn is_host(host: &str) -> bool {
    !host.is_empty()
        && host
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_written_back() {
        for (text, local) in [
            ("127.0.0.1:5432", true),
            ("localhost:5432", true),
            ("db-1.example.org:5432", false),
            ("[::1]:5432", true),
            ("[2001:db8::1]:5432", false),
            ("unix:/run/postgresql/.s.PGSQL.5432", true),
        ] {
            let address = parse(text).unwrap();
            assert_eq!(address.to_string(), text);
            assert_eq!(address.is_local(), local, "{text}");
        }
    }

    #[test]
    fn what_is_not_an_address_is_refused() {
        for text in [
            "",
            "db1",
            "db1:",
            ":5432",
            "db1:0",
            "db1:70000",
            "::1:5432",
            "[::1]",
            "[db1]:5432",
            "unix:run/x",
            "postgres://db1:5432/x",
            "db 1:5432",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_password_in_an_address_is_refused_without_repeating_it() {
        let message = parse("probe:canary@db1:5432").unwrap_err();
        assert!(!message.contains("canary"), "{message}");
    }
}
