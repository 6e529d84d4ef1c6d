//! Authentication under TLS against real servers: each way, and what channel binding refuses.

use probe::engine::Outcome;
use tests::certificates::Authority;

use super::between::Between;
use super::secured::{Secured, VERIFIED};
use super::{config, connect, failure};

#[test]
fn every_way_to_authenticate_under_tls_and_what_binding_it_refuses() {
    let secured = Secured::usual();
    for (user, binds) in [
        ("trust", false),
        ("md5", false),
        ("clear", false),
        ("scram", true),
    ] {
        for (binding, goes_on) in [("disable", true), ("prefer", true), ("require", binds)] {
            let lines =
                format!("{VERIFIED}\nchannel_binding: {binding}\npassword_file: DIR/password");
            let case = format!("{user} {binding}");
            match secured.connect("localhost", user, &lines).0 {
                Ok(mut session) => {
                    assert!(goes_on, "{case}");
                    session.execute(&[]).unwrap();
                }
                Err(failure) => {
                    assert!(!goes_on, "{case}: {failure}");
                    assert_eq!(failure.outcome, Outcome::Auth, "{case}: {failure}");
                    assert!(
                        failure.message.contains("channel_binding is required"),
                        "{failure}"
                    );
                }
            }
        }
        if user != "trust" {
            let lines = format!("{VERIFIED}\npassword_file: DIR/wrong");
            let wrong = failure(secured.connect("localhost", user, &lines).0);
            assert_eq!(wrong.outcome, Outcome::Auth, "{user}: {wrong}");
            assert!(wrong.message.contains("28P01"), "{wrong}");
        }
    }
}

/// The hash is the one of the certificate's signature, whatever that is.
#[test]
fn channel_binding_follows_the_signature_of_the_certificate() {
    for (algorithm, can_bind) in [
        (&rcgen::PKCS_ECDSA_P384_SHA384, true),
        (&rcgen::PKCS_ED25519, false),
    ] {
        let authority = Authority::with("ours", algorithm);
        let pair = authority.issue(&["localhost"]);
        let secured = Secured::start(authority, &pair);
        let with = |binding: &str| {
            let lines =
                format!("{VERIFIED}\nchannel_binding: {binding}\npassword_file: DIR/password");
            secured.connect("localhost", "scram", &lines).0
        };
        with("prefer").unwrap().execute(&[]).unwrap();
        match with("require") {
            Ok(mut session) => {
                assert!(can_bind);
                session.execute(&[]).unwrap();
            }
            Err(failure) => {
                assert!(!can_bind, "{failure}");
                assert!(failure.message.contains("no hash to bind to"), "{failure}");
            }
        }
    }
}

/// Somebody between whose certificate is as good as the server's passes everything on, but a bound authentication.
#[test]
fn somebody_between_is_found_by_channel_binding_alone() {
    let secured = Secured::usual();
    let between = Between::start(
        &secured.authority.issue(&["localhost"]),
        secured.server.port,
    );
    let with = |binding: &str| {
        let lines = format!("{VERIFIED}\nchannel_binding: {binding}\npassword_file: DIR/password");
        secured
            .connect_to(&format!("localhost:{}", between.port), "scram", &lines)
            .0
    };
    with("disable").unwrap().execute(&[]).unwrap();
    for binding in ["prefer", "require"] {
        let failure = failure(with(binding));
        assert_eq!(failure.outcome, Outcome::Auth, "{failure}");
        assert!(failure.message.contains("channel binding"), "{failure}");
    }
}

#[test]
fn a_changed_password_and_a_renewed_authority_are_used_at_the_next_connect() {
    let secured = Secured::usual();
    let address = format!("localhost:{}", secured.server.port);
    let lines = secured.lines(&format!("{VERIFIED}\npassword_file: DIR/password"));
    let config = config(&address, "scram", &lines, "SELECT 1", "");
    let connect = || connect(&config, 0).0;
    connect().unwrap();
    secured.server.sql("ALTER ROLE scram PASSWORD 'another'");
    assert_eq!(failure(connect()).outcome, Outcome::Auth);
    let file = |name: &str| secured.dir.path().join(name);
    std::fs::write(file("password"), "another\n").unwrap();
    connect().unwrap();
    std::fs::copy(file("other.crt"), file("ca.crt")).unwrap();
    assert_eq!(failure(connect()).outcome, Outcome::Tls);
    std::fs::remove_file(file("ca.crt")).unwrap();
    let missing = failure(connect());
    assert_eq!(missing.outcome, Outcome::Tls);
    assert!(missing.message.starts_with("tls: ca_file: "), "{missing}");
}
