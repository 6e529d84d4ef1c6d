use super::*;

/// What is said of a web configuration with `text` in a directory that holds nothing else.
fn refused(text: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("web.yaml");
    std::fs::write(&path, text).unwrap();
    let message = WebConfig::load(Some(&path)).unwrap_err().to_string();
    message.replace(&format!("{}/", dir.path().display()), "")
}

#[test]
fn a_bad_file_is_refused_where_it_is_wrong() {
    let tls = "tls_server_config:\n  cert_file: a.pem\n  key_file: a.key\n";
    for (text, message) in [
        (
            "tls_config: {}\n".to_owned(),
            "web.yaml:1:1: unknown field `tls_config`, expected one of `tls_server_config`, `http_server_config`, \
             `basic_auth_users`",
        ),
        (
            tls.to_owned(),
            "web.yaml:2:14: a.pem: cannot read: No such file or directory (os error 2)",
        ),
        (
            "tls_server_config:\n  cert_file: a.pem\n".to_owned(),
            "web.yaml:2:3: tls_server_config: missing field `key_file`",
        ),
        (
            format!("{tls}  client_auth_type: RequireAnyClientCert\n"),
            "web.yaml:4:21: tls_server_config.client_auth_type: unknown variant `RequireAnyClientCert`, expected one of `NoClientCert`, \
             `VerifyClientCertIfGiven`, `RequireAndVerifyClientCert`",
        ),
        (
            format!("{tls}  client_auth_type: RequireAndVerifyClientCert\n"),
            "web.yaml:4:21: client_ca_file is needed to verify with",
        ),
        (
            format!("{tls}  client_ca_file: ca.pem\n"),
            "web.yaml:4:19: no client is asked for a certificate: set client_auth_type, or leave this out",
        ),
        (
            format!("{tls}  min_version: TLS10\n"),
            "web.yaml:4:16: tls_server_config.min_version: unknown variant `TLS10`, expected `TLS12` or `TLS13`",
        ),
        (
            format!("{tls}  min_version: TLS13\n  max_version: TLS12\n"),
            "web.yaml:5:16: max_version is older than min_version",
        ),
        (
            "http_server_config:\n  headers:\n    X-Frame-Options: \"a\\nb\"\n".to_owned(),
            "web.yaml:3:22: http_server_config.headers.X-Frame-Options: a header cannot hold this text",
        ),
        (
            "http_server_config:\n  headers:\n    X-Powered-By: us\n".to_owned(),
            "web.yaml:3:5: http_server_config.headers: unknown field `X-Powered-By`, expected one of `Content-Security-Policy`, \
             `Strict-Transport-Security`, `X-Content-Type-Options`, `X-Frame-Options`, `X-XSS-Protection`",
        ),
        (
            "basic_auth_users:\n  anna: swordfish\n".to_owned(),
            "web.yaml:2:9: basic_auth_users.anna: no bcrypt hash; `htpasswd -nB USER` makes one",
        ),
    ] {
        assert_eq!(refused(&text), message, "\n{text}");
    }
}

#[test]
fn an_unknown_cipher_is_refused_with_those_there_are() {
    let said = refused(
        "tls_server_config:\n  cert_file: a.pem\n  key_file: a.key\n  cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]\n",
    );
    assert!(
        said.starts_with("web.yaml:4:18: unknown cipher suite `TLS_RSA_WITH_RC4_128_SHA`"),
        "{said}"
    );
    for known in [
        "TLS_AES_128_GCM_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    ] {
        assert!(said.contains(known), "{said}");
    }
}

#[test]
fn files_are_found_beside_the_one_that_names_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("web.yaml");
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
    std::fs::write(
        dir.path().join("a.pem"),
        params.self_signed(&key).unwrap().pem(),
    )
    .unwrap();
    std::fs::write(dir.path().join("a.key"), key.serialize_pem()).unwrap();
    std::fs::write(
        &path,
        "tls_server_config:\n  cert_file: a.pem\n  key_file: a.key\n  cipher_suites: [TLS_AES_128_GCM_SHA256]\n  \
         curve_preferences: [X25519]\nhttp_server_config: {http2: true}\n",
    )
    .unwrap();
    let config = WebConfig::load(Some(&path)).unwrap();
    assert!(config.current().tls.is_some());
    assert_eq!(
        config.files(),
        ["web.yaml", "a.pem", "a.key"].map(|name| dir.path().join(name))
    );

    // A key that belongs to another certificate.
    let other = rcgen::KeyPair::generate().unwrap();
    std::fs::write(dir.path().join("a.key"), other.serialize_pem()).unwrap();
    let said = config.reload().unwrap_err().to_string();
    assert!(
        said.contains("web.yaml:3:13: key and certificate do not fit"),
        "{said}"
    );
    assert!(config.current().tls.is_some());
}

#[test]
fn without_a_file_or_with_an_empty_one_everything_is_plain() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("web.yaml");
    std::fs::write(&path, "").unwrap();
    for path in [None, Some(&*path)] {
        let config = WebConfig::load(path).unwrap();
        assert!(config.current().tls.is_none());
        config.reload().unwrap();
    }
}
