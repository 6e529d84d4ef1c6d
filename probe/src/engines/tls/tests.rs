use std::path::PathBuf;

use ::tests::certificates::{Authority, Pair, authority, expired, named, self_signed};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion};

use super::*;
use crate::config::Identity;

/// A server that shows the certificate of `shown` and signs with the key of `signing`.
fn server(
    shown: &Pair,
    signing: &Pair,
    versions: &[&'static SupportedProtocolVersion],
) -> ServerConnection {
    let certificate = CertificateDer::from_pem_slice(shown.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(signing.key.as_bytes()).unwrap();
    let provider = Arc::new(ring::default_provider());
    let key = provider.key_provider.load_private_key(key).unwrap();
    let resolver = SingleCertAndKey::from(CertifiedKey::new(vec![certificate], key));
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(resolver));
    ServerConnection::new(Arc::new(config)).unwrap()
}

/// Lets both sides talk until they agree or the client refuses. What the client hears comes byte by byte.
fn shake(client: &Client, server: &mut ServerConnection) -> Result<Session, Failure> {
    let mut session = client.session()?;
    let mut plain = BytesMut::new();
    while session.is_handshaking() || server.is_handshaking() {
        let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
        session.speak(&mut to_server);
        let mut sent = &to_server[..];
        while !sent.is_empty() {
            server.read_tls(&mut sent).unwrap();
            server.process_new_packets().unwrap();
        }
        while server.wants_write() {
            server.write_tls(&mut to_client).unwrap();
        }
        for byte in to_client {
            session.open(&[byte], &mut plain)?;
        }
    }
    assert!(plain.is_empty());
    Ok(session)
}

fn tls(verify: Verify, ca: Option<&Path>, name: &str) -> Tls {
    Tls {
        verify,
        ca_file: ca.map(Path::to_owned),
        server_name: name.to_owned(),
        identity: None,
    }
}

/// How a handshake with a server that has `pair` ends for a client that trusts `ca` and calls it `name`.
fn outcome(verify: Verify, ca: &str, pair: &Pair, name: &str) -> Result<Session, Failure> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ca.crt");
    std::fs::write(&file, ca).unwrap();
    let ca = (verify != Verify::Nothing).then_some(file.as_path());
    let client = Client::read(&tls(verify, ca, name)).unwrap();
    shake(&client, &mut server(pair, pair, rustls::ALL_VERSIONS))
}

#[test]
fn each_mode_looks_at_what_it_says_and_no_further() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let right = ours.issue(&["localhost", "127.0.0.1"]);
    let foreign = theirs.issue(&["localhost", "127.0.0.1"]);
    let old = ours.sign(&expired(named(&["localhost", "127.0.0.1"])));
    let nameless = ours.sign(&{
        let mut contents = named(&["localhost"]);
        contents.subject_alt_names.clear();
        contents
    });
    let all = [Verify::Nothing, Verify::Chain, Verify::Name];
    // The certificate, the name it is called by, and what each mode says: `None` goes on.
    let (unknown, late) = ("UnknownIssuer; give", "expired");
    let other = "not valid for name \"db1\"";
    let without = "has to be among its subject alternative names";
    for (pair, name, expected) in [
        (&right, "localhost", [None, None, None]),
        (&right, "127.0.0.1", [None, None, None]),
        (&right, "db1", [None, None, Some(other)]),
        (
            &right,
            "127.0.0.2",
            [None, None, Some("not valid for name")],
        ),
        (&foreign, "localhost", [None, Some(unknown), Some(unknown)]),
        (&old, "localhost", [None, Some(late), Some(late)]),
        (&nameless, "localhost", [None, None, Some(without)]),
    ] {
        for (verify, expected) in all.into_iter().zip(expected) {
            let case = format!("{name} {verify:?} {expected:?}");
            match (outcome(verify, &ours.pem(), pair, name), expected) {
                (Ok(session), None) => assert_eq!(session.version(), "TLSv1.3", "{case}"),
                (Err(failure), Some(part)) => {
                    assert_eq!(failure.outcome, Outcome::Tls, "{case}");
                    assert!(failure.message.contains(part), "{case}: {failure}");
                }
                (Ok(_), Some(_)) => panic!("{case}: went on"),
                (Err(failure), None) => panic!("{case}: {failure}"),
            }
        }
    }
}

/// PostgreSQL's and OpenSSL's manuals begin with one.
#[test]
fn a_self_signed_certificate_is_trusted_by_being_given() {
    let pair = self_signed(&authority("db1", &["localhost"]));
    let other = self_signed(&authority("db1", &["localhost"]));
    for verify in [Verify::Chain, Verify::Name] {
        outcome(verify, &pair.certificate, &pair, "localhost").unwrap();
        // Of the same name, but another one.
        let refused = outcome(verify, &other.certificate, &pair, "localhost").unwrap_err();
        assert!(refused.message.contains("give"), "{refused}");
    }
    let refused = outcome(Verify::Name, &pair.certificate, &pair, "db2").unwrap_err();
    assert!(refused.message.contains("not valid for name"), "{refused}");
    let old = self_signed(&expired(authority("db1", &["localhost"])));
    let refused = outcome(Verify::Chain, &old.certificate, &old, "localhost").unwrap_err();
    assert!(refused.message.contains("expired"), "{refused}");
    let mut contents = authority("db1", &["localhost"]);
    contents.not_before = rcgen::date_time_ymd(2999, 1, 1);
    contents.not_after = rcgen::date_time_ymd(2999, 1, 2);
    let early = self_signed(&contents);
    let refused = outcome(Verify::Chain, &early.certificate, &early, "localhost").unwrap_err();
    assert!(refused.message.contains("not valid yet"), "{refused}");
}

/// Else anybody could show a copy of a certificate, in `require` too where channel binding is all there is.
#[test]
fn a_server_without_the_key_of_its_certificate_is_refused_in_every_mode() {
    let dir = tempfile::tempdir().unwrap();
    let ours = Authority::new("ours");
    let ca = dir.path().join("ca.crt");
    std::fs::write(&ca, ours.pem()).unwrap();
    let (shown, other) = (ours.issue(&["localhost"]), ours.issue(&["localhost"]));
    for (verify, ca) in [
        (Verify::Nothing, None),
        (Verify::Chain, Some(&*ca)),
        (Verify::Name, Some(&*ca)),
    ] {
        let client = Client::read(&tls(verify, ca, "localhost")).unwrap();
        for version in [&version::TLS12, &version::TLS13] {
            let refused = shake(&client, &mut server(&shown, &other, &[version])).unwrap_err();
            assert!(refused.message.contains("BadSignature"), "{refused}");
            let session = shake(&client, &mut server(&shown, &shown, &[version])).unwrap();
            let expected = format!("{:?}", version.version).replace('_', ".");
            assert_eq!(session.version(), expected);
        }
    }
}

#[test]
fn what_is_sealed_is_one_record_up_to_16_kb_and_opens_to_the_same() {
    let pair = self_signed(&named(&["localhost"]));
    let client = Client::read(&tls(Verify::Nothing, None, "localhost")).unwrap();
    let mut server = server(&pair, &pair, rustls::ALL_VERSIONS);
    let mut session = shake(&client, &mut server).unwrap();
    for (bytes, records) in [(1, 1), (1 << 14, 1), ((1 << 14) + 1, 2), (100_000, 7)] {
        let plain: Vec<u8> = (0..bytes).map(|byte| byte as u8).collect();
        let mut sealed = Vec::new();
        session.seal(&plain, &mut sealed).unwrap();
        // Header of 5 bytes, one byte of type and 16 of authentication.
        assert_eq!(sealed.len(), bytes + records * 22);
        let mut heard = Vec::new();
        let mut rest = &sealed[..];
        while !rest.is_empty() {
            server.read_tls(&mut rest).unwrap();
            server.process_new_packets().unwrap();
            let _ = server.reader().read_to_end(&mut heard);
        }
        assert!(heard == plain, "{bytes}");
        // And back, in pieces that know nothing of records.
        let mut answer = Vec::new();
        server.set_buffer_limit(None);
        server.writer().write_all(&plain).unwrap();
        while server.wants_write() {
            server.write_tls(&mut answer).unwrap();
        }
        let mut opened = BytesMut::from(&b"before"[..]);
        for piece in answer.chunks(7000) {
            session.open(piece, &mut opened).unwrap();
        }
        assert!(
            opened[..6] == b"before"[..] && opened[6..] == plain[..],
            "{bytes}"
        );
    }
    // The next record is not this one again.
    let mut sealed = Vec::new();
    server.writer().write_all(b"x").unwrap();
    server.write_tls(&mut sealed).unwrap();
    let mut opened = BytesMut::new();
    session.open(&sealed, &mut opened).unwrap();
    let failure = session.open(&sealed, &mut opened).unwrap_err();
    assert_eq!((failure.outcome, &opened[..]), (Outcome::Tls, &b"x"[..]));
}

#[test]
fn an_authentication_is_bound_to_the_certificate_by_the_hash_of_its_signature() {
    use ::ring::digest;
    for (algorithm, hash) in [
        (&rcgen::PKCS_ECDSA_P256_SHA256, Some(&digest::SHA256)),
        (&rcgen::PKCS_ECDSA_P384_SHA384, Some(&digest::SHA384)),
        (&rcgen::PKCS_ED25519, None),
    ] {
        let pair = Authority::with("ours", algorithm).issue(&["localhost"]);
        let client = Client::read(&tls(Verify::Nothing, None, "localhost")).unwrap();
        let session = shake(&client, &mut server(&pair, &pair, rustls::ALL_VERSIONS)).unwrap();
        let certificate = CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap();
        let expected = hash.map(|hash| digest::digest(hash, &certificate).as_ref().to_vec());
        assert_eq!(session.end_point(), expected);
    }
}

#[test]
fn what_cannot_be_used_is_said_under_its_key() {
    let dir = tempfile::tempdir().unwrap();
    let ours = Authority::new("ours");
    let (first, first_key) = ours.issue(&["client"]).write(dir.path(), "first");
    let (_, second_key) = ours.issue(&["client"]).write(dir.path(), "second");
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let refused = |tls: Tls| Client::read(&tls).map(drop).unwrap_err();
    let missing = PathBuf::from("/nonexistent/ca.crt");
    for (ca, expected) in [
        (missing, "cannot read: No such file"),
        (file("empty", ""), "no certificate in it"),
        (first_key.clone(), "no certificate in it"),
        (
            file(
                "bad",
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            ),
            "bad: invalid peer certificate",
        ),
    ] {
        let (key, message) = refused(tls(Verify::Chain, Some(&ca), "db1"));
        assert_eq!(key, "ca_file");
        assert!(message.contains(expected), "{message}");
    }
    let with = |cert_file: &Path, key_file: &Path| Tls {
        identity: Some(Identity {
            cert_file: cert_file.to_owned(),
            key_file: key_file.to_owned(),
        }),
        ..tls(Verify::Nothing, None, "db1")
    };
    assert!(Client::read(&with(&first, &first_key)).is_ok());
    assert_eq!(refused(with(&first_key, &first_key)).0, "cert_file");
    assert_eq!(refused(with(&first, &first)).0, "key_file");
    let (key, message) = refused(with(&first, &second_key));
    assert_eq!(key, "key_file");
    assert!(
        message.starts_with("key and certificate do not fit"),
        "{message}"
    );
    assert_eq!(refused(tls(Verify::Nothing, None, "-")).0, "server_name");
}
