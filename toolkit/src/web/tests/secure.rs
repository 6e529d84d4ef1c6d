//! TLS, users and headers, met by real clients over real sockets, with certificates made for the purpose.

use std::path::Path;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tokio_rustls::TlsConnector;

use super::*;

const PROBE: &str = "GET /-/healthy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Writes `name`.pem and `name`.key, signed by `authority`, into `dir`.
fn issue(authority: &Authority, dir: &Path, name: &str) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    std::fs::write(dir.join(format!("{name}.pem")), certificate.pem()).unwrap();
    std::fs::write(dir.join(format!("{name}.key")), key.serialize_pem()).unwrap();
}

/// A directory with an authority, and with certificates of a server and a client.
fn certificates() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let authority = authority();
    std::fs::write(dir.path().join("ca.pem"), authority.pem()).unwrap();
    issue(&authority, dir.path(), "server");
    issue(&authority, dir.path(), "client");
    issue(&self::authority(), dir.path(), "stranger");
    dir
}

async fn start_secure(dir: &Path, configuration: &str) -> Running {
    let file = dir.join("web.yaml");
    std::fs::write(&file, configuration).unwrap();
    let flags = flags::Web {
        config_file: Some(file),
        ..flags(40)
    };
    start_with(&flags).await
}

/// What a client that trusts ca.pem of `dir` and may show the certificate `name` is answered.
async fn ask_secure(
    server: &Running,
    dir: &Path,
    name: Option<&str>,
    versions: &[&'static SupportedProtocolVersion],
) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(dir.join("ca.pem")).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots);
    let config = match name {
        None => builder.with_no_client_auth(),
        Some(name) => {
            let certificate =
                CertificateDer::from_pem_file(dir.join(format!("{name}.pem"))).unwrap();
            let key = PrivateKeyDer::from_pem_file(dir.join(format!("{name}.key"))).unwrap();
            builder
                .with_client_auth_cert(vec![certificate], key)
                .unwrap()
        }
    };
    let stream = TcpStream::connect(server.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await?;
    stream.write_all(format!("{PROBE}\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

const TLS: &str = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n";

#[tokio::test]
async fn tls_is_spoken_and_plain_text_is_not_answered() {
    let dir = certificates();
    let server = start_secure(dir.path(), TLS).await;
    for version in [&TLS12, &TLS13] {
        let answer = ask_secure(&server, dir.path(), None, &[version])
            .await
            .unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    let plain = get(server.address, "/-/healthy").await;
    assert!(!plain.contains("HTTP/1.1"), "{plain}");
}

#[tokio::test]
async fn only_the_versions_of_the_file_are_spoken() {
    let dir = certificates();
    let server = start_secure(dir.path(), &format!("{TLS}  min_version: TLS13\n")).await;
    assert!(
        ask_secure(&server, dir.path(), None, &[&TLS13])
            .await
            .is_ok()
    );
    assert!(
        ask_secure(&server, dir.path(), None, &[&TLS12])
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_client_certificate_is_required_or_verified_where_given() {
    let dir = certificates();
    let verify = |policy| format!("{TLS}  client_auth_type: {policy}\n  client_ca_file: ca.pem\n");
    for (policy, client, admitted) in [
        ("RequireAndVerifyClientCert", Some("client"), true),
        ("RequireAndVerifyClientCert", Some("stranger"), false),
        ("RequireAndVerifyClientCert", None, false),
        ("VerifyClientCertIfGiven", Some("client"), true),
        ("VerifyClientCertIfGiven", Some("stranger"), false),
        ("VerifyClientCertIfGiven", None, true),
    ] {
        let server = start_secure(dir.path(), &verify(policy)).await;
        let answer = ask_secure(&server, dir.path(), client, &[&TLS13]).await;
        assert_eq!(answer.is_ok(), admitted, "{policy} {client:?} {answer:?}");
    }
}

/// A client that connects and says nothing holds a place for ten seconds, not for the life of a connection.
#[tokio::test(start_paused = true)]
async fn a_slow_handshake_is_ended() {
    let dir = certificates();
    let server = start_secure(dir.path(), TLS).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let mut answer = Vec::new();
    let ended = stream.read_to_end(&mut answer);
    assert!(
        tokio::time::timeout(Duration::from_secs(11), ended)
            .await
            .is_ok()
    );
}

const USERS: &str =
    "http_server_config:\n  headers:\n    X-Frame-Options: DENY\nbasic_auth_users:\n  anna: ";

fn users(password: &str) -> String {
    format!("{USERS}{}\n", bcrypt::hash(password, 4).unwrap())
}

async fn ask_as(address: SocketAddr, user: &str, password: &str) -> String {
    use base64::Engine as _;
    let pair = base64::prelude::BASE64_STANDARD.encode(format!("{user}:{password}"));
    ask(
        address,
        &format!("{PROBE}Authorization: Basic {pair}\r\n\r\n"),
    )
    .await
}

#[tokio::test]
async fn a_wrong_password_is_answered_with_401_and_the_right_one_with_200() {
    let dir = tempfile::tempdir().unwrap();
    let server = start_secure(dir.path(), &users("right")).await;
    for (user, password, status) in [
        ("anna", "right", 200),
        ("anna", "right", 200),
        ("anna", "wrong", 401),
        ("bert", "right", 401),
        ("anna", "", 401),
    ] {
        let answer = ask_as(server.address, user, password).await;
        let expected = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&expected), "{user}:{password} {answer}");
        assert!(answer.contains("x-frame-options: DENY"), "{answer}");
        assert_eq!(
            answer.contains("www-authenticate: Basic "),
            status == 401,
            "{answer}"
        );
    }
    let nobody = get(server.address, "/-/healthy").await;
    assert!(nobody.starts_with("HTTP/1.1 401 "), "{nobody}");
}

#[tokio::test]
async fn a_reload_takes_a_good_file_and_refuses_a_bad_one() {
    let dir = tempfile::tempdir().unwrap();
    let server = start_secure(dir.path(), &users("first")).await;
    let reload = async |password: &str| {
        use base64::Engine as _;
        let pair = base64::prelude::BASE64_STANDARD.encode(format!("anna:{password}"));
        let head =
            "POST /-/reload HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n";
        ask(
            server.address,
            &format!("{head}Authorization: Basic {pair}\r\n\r\n"),
        )
        .await
    };
    let file = dir.path().join("web.yaml");

    std::fs::write(&file, "basic_auth_user: {}\n").unwrap();
    let refused = reload("first").await;
    assert!(refused.starts_with("HTTP/1.1 500 "), "{refused}");
    assert!(
        refused.contains("web.yaml:1:1: unknown field `basic_auth_user`"),
        "{refused}"
    );
    assert!(
        ask_as(server.address, "anna", "first")
            .await
            .contains(" 200 ")
    );

    std::fs::write(&file, users("second")).unwrap();
    assert!(reload("wrong").await.starts_with("HTTP/1.1 401 "));
    assert!(reload("first").await.starts_with("HTTP/1.1 200 "));
    assert!(
        ask_as(server.address, "anna", "first")
            .await
            .contains(" 401 ")
    );
    assert!(
        ask_as(server.address, "anna", "second")
            .await
            .contains(" 200 ")
    );
    assert!(get(server.address, "/-/reload").await.contains(" 401 "));
}
