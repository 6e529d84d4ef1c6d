//! A real server with TLS, and roles that authenticate in every way.

use std::fmt::Write as _;

use probe::engine::{Failure, Phases, Session};
use tests::certificates::{Authority, Pair};
use tests::postgres::Postgres;

use super::{config, connect};

/// Lines of a target that trusts the server and nobody else.
pub(super) const VERIFIED: &str = "tls: {mode: verify-full, ca_file: DIR/ca.crt}";

/// A server with TLS, and what its clients need in a directory of their own: `ca.crt` of the server's authority,
/// `other.crt` of a strange one, `password` and `wrong`.
pub(super) struct Secured {
    pub(super) server: Postgres,
    pub(super) dir: tempfile::TempDir,
    pub(super) authority: Authority,
}

const PASSWORD: &str = "päss canary word";

impl Secured {
    /// Roles are called as they authenticate: trust, md5, scram, clear, and cert by the certificate of that name.
    pub(super) fn start(authority: Authority, pair: &Pair) -> Self {
        let hba = "hostssl all cert 127.0.0.1/32 cert\n\
                   hostssl all trust 127.0.0.1/32 trust\n\
                   hostssl all md5 127.0.0.1/32 md5\n\
                   hostssl all scram 127.0.0.1/32 scram-sha-256\n\
                   hostssl all clear 127.0.0.1/32 password";
        let settings = "ssl = on\nssl_ca_file = 'ca.crt'";
        let files = [
            ("server.crt", pair.certificate.as_str()),
            ("server.key", pair.key.as_str()),
            ("ca.crt", &authority.pem()),
        ];
        let server = Postgres::start_with(hba, settings, &files);
        let mut sql = "CREATE ROLE trust LOGIN; CREATE ROLE cert LOGIN;".to_owned();
        for (role, kept) in [("md5", "md5"), ("scram", "scram-sha-256"), ("clear", "md5")] {
            write!(
                sql,
                "SET password_encryption = '{kept}'; CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}';"
            )
            .unwrap();
        }
        server.sql(&sql);
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("ca.crt", authority.pem()),
            ("other.crt", Authority::new("other").pem()),
            ("password", PASSWORD.to_owned()),
            ("wrong", "canary".to_owned()),
        ] {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        Secured {
            server,
            dir,
            authority,
        }
    }

    /// With an authority and a certificate of the usual kind, for `localhost` alone.
    pub(super) fn usual() -> Self {
        let authority = Authority::new("ours");
        let pair = authority.issue(&["localhost"]);
        Secured::start(authority, &pair)
    }

    /// Lines about a target, with `DIR` in them for the directory.
    pub(super) fn lines(&self, lines: &str) -> String {
        let lines = lines.replace("DIR", &self.dir.path().display().to_string());
        format!("    {}\n", lines.replace('\n', "\n    "))
    }

    /// Connects as `user` to `host`, with further `lines` about the target.
    pub(super) fn connect(
        &self,
        host: &str,
        user: &str,
        lines: &str,
    ) -> (Result<Box<dyn Session>, Failure>, Phases) {
        self.connect_to(&format!("{host}:{}", self.server.port), user, lines)
    }

    pub(super) fn connect_to(
        &self,
        address: &str,
        user: &str,
        lines: &str,
    ) -> (Result<Box<dyn Session>, Failure>, Phases) {
        let config = config(address, user, &self.lines(lines), "SELECT 1", "");
        connect(&config, 0)
    }
}
