//! The section `tls` as a user writes it, good and bad.

use ::tests::certificates::Authority;

use super::super::{Access, Server, parse};
use super::*;

/// The server of a target at `address` with these lines, from the sixth on; its files are in `directory`.
fn server(directory: &Path, address: &str, rest: &str) -> Result<Server, String> {
    let text = format!(
        "targets:\n  - name: a\n    engine: postgres\n    address: {address}\n    user: u\n{rest}    node: n\n    \
         workloads: [select1]\n"
    );
    let path = directory.join("probe.yaml");
    let config = parse(&path, &text).map_err(|error| {
        let message = error.to_string();
        message.replace(&format!("{}/", directory.display()), "")
    })?;
    match &config.targets[0].access {
        Access::Postgres(server) => Ok(server.clone()),
        other => panic!("{other:?}"),
    }
}

/// A directory with `ca.crt`, `client.crt` and `client.key`.
fn directory() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let authority = Authority::new("ours");
    std::fs::write(dir.path().join("ca.crt"), authority.pem()).unwrap();
    authority.issue(&["client"]).write(dir.path(), "client");
    dir
}

#[test]
fn nothing_is_encrypted_on_this_host_unless_asked_for() {
    let dir = directory();
    for address in [
        "127.0.0.1:5432",
        "'[::1]:5432'",
        "localhost:5432",
        "unix:/s",
    ] {
        for rest in ["", "    tls: {mode: disable}\n"] {
            let server = server(dir.path(), address, rest).unwrap();
            assert_eq!(server.tls, None, "{address} {rest}");
            assert_eq!(server.channel_binding, ChannelBinding::Prefer);
        }
    }
}

#[test]
fn every_mode_with_what_it_takes() {
    let dir = directory();
    let tls = |rest: &str| server(dir.path(), "db1:5432", rest).unwrap().tls.unwrap();
    let require = tls("    tls: {mode: require}\n");
    assert_eq!(require.verify, Verify::Nothing);
    assert_eq!(require.server_name, "db1");
    assert_eq!(require.identity, None);
    let chain = tls("    tls: {mode: verify-ca, ca_file: ca.crt}\n");
    assert_eq!(chain.verify, Verify::Chain);
    assert_eq!(chain.ca_file, Some(dir.path().join("ca.crt")));
    // The strictest is what a section means that says nothing else.
    for mode in ["", "mode: verify-full, "] {
        let full = tls(&format!(
            "    tls: {{{mode}ca_file: ca.crt, server_name: db, cert_file: client.crt, key_file: client.key}}\n    \
             channel_binding: require\n"
        ));
        assert_eq!(full.verify, Verify::Name);
        assert_eq!(full.server_name, "db");
        let identity = full.identity.unwrap();
        assert_eq!(identity.key_file, dir.path().join("client.key"));
    }
    let here = server(dir.path(), "127.0.0.1:5432", "    tls: {ca_file: ca.crt}\n");
    assert_eq!(here.unwrap().tls.unwrap().verify, Verify::Name);
}

/// With the authorities of this host, or refused where it has none; never in plaintext.
#[test]
fn another_host_without_a_word_on_tls_is_verified() {
    let dir = directory();
    match server(dir.path(), "db1:5432", "") {
        Ok(server) => {
            let tls = server.tls.unwrap();
            assert_eq!((tls.verify, tls.ca_file), (Verify::Name, None));
            assert_eq!(tls.server_name, "db1");
        }
        Err(message) => assert!(
            message.starts_with(
                "probe.yaml:4:14: a server on another host is asked over TLS: this host has no root"
            ),
            "{message}"
        ),
    }
}

#[test]
fn a_section_that_cannot_be_meant_is_refused_where_it_is_wrong() {
    let dir = directory();
    for (address, rest, expected) in [
        (
            "unix:/s",
            "    tls: {mode: require}\n",
            "6:10: a UNIX socket carries no TLS; leave `tls` out",
        ),
        (
            "db1:5432",
            "    tls: {mode: disable, ca_file: ca.crt}\n",
            "6:35: with `mode: disable` there is no use for `ca_file`",
        ),
        (
            "db1:5432",
            "    tls: {mode: require, ca_file: ca.crt}\n",
            "6:35: with `mode: require` nothing is verified; write verify-ca or verify-full",
        ),
        (
            "db1:5432",
            "    tls: {mode: require, cert_file: client.crt}\n",
            "6:37: `key_file` is missing",
        ),
        (
            "db1:5432",
            "    tls:\n      mode: require\n      key_file: client.key\n",
            "8:17: `cert_file` is missing",
        ),
        (
            "db1:5432",
            "    tls:\n      ca_file: nowhere.crt\n",
            "7:16: nowhere.crt: cannot read: No such file or directory (os error 2)",
        ),
        (
            "db1:5432",
            "    tls:\n      ca_file: client.key\n",
            "7:16: client.key: no certificate in it",
        ),
        (
            "db1:5432",
            "    tls: {ca_file: ca.crt, server_name: 'd b'}\n",
            "6:41: `d b` is no name that a certificate can carry; give `server_name`",
        ),
        (
            "db1:5432",
            "    tls: {mode: require, verify: no}\n",
            "6:26: targets[0].tls: unknown field `verify`, expected one of `mode`, `ca_file`, `server_name`, \
             `cert_file`, `key_file`",
        ),
        (
            "db1:5432",
            "    tls: {mode: disable}\n    channel_binding: require\n",
            "7:22: there is no TLS to bind the authentication to",
        ),
        (
            "unix:/s",
            "    channel_binding: always\n",
            "6:22: targets[0].channel_binding: unknown variant `always`, expected one of `disable`, `prefer`, `require`",
        ),
    ] {
        let message = server(dir.path(), address, rest).unwrap_err();
        assert_eq!(message, format!("probe.yaml:{expected}"));
    }
}

#[test]
fn private_is_what_stays_here_or_is_encrypted_for_somebody_known() {
    let dir = directory();
    for (address, rest, expected) in [
        ("localhost:5432", "", true),
        ("unix:/s", "", true),
        ("127.0.0.1:5432", "    tls: {mode: require}\n", true),
        ("db1:5432", "    tls: {mode: disable}\n", false),
        ("db1:5432", "    tls: {mode: require}\n", false),
        (
            "db1:5432",
            "    tls: {mode: verify-ca, ca_file: ca.crt}\n",
            true,
        ),
        ("db1:5432", "    tls: {ca_file: ca.crt}\n", true),
    ] {
        let server = server(dir.path(), address, rest).unwrap();
        assert_eq!(server.is_private(), expected, "{address} {rest}");
    }
}
