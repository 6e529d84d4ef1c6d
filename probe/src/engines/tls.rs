//! TLS for every engine: rustls with ring, between a protocol that knows nothing of it and the one socket.
//!
//! A [`Session`] only turns bytes into bytes. Who moves them, under which deadline and when a protocol begins it is the
//! business of the wire and of the engine.
//!
//! Roots are `ca_file`, or those of this host (rustls-native-certs: `SSL_CERT_FILE`, `SSL_CERT_DIR`, then where
//! distributions keep them). None are compiled in: whom a host trusts is its administrator's to say and to update.
//! Files are read at each connect, so that a renewed one is used without a restart; and each handshake is a whole one,
//! since a resumed session would make the phase `tls` of a reconnect another thing than that of a connect.

mod certificate;
mod verifier;

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use bytes::BytesMut;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, ProtocolVersion, RootCertStore, version,
};
use toolkit::pem;

use self::verifier::Verifier;
use crate::config::{Tls, Verify};
use crate::engine::{Failure, Outcome};

/// What is wrong, and under which key of the section `tls`.
pub(crate) type Refusal = (&'static str, String);

/// How to begin TLS with one server.
#[derive(Debug)]
pub(crate) struct Client {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Client {
    /// Reads the files of `tls` and this host's roots.
    ///
    /// # Errors
    /// A file cannot be read or holds something else, key and certificate do not fit, this host has no roots, or the
    /// server's name is no name.
    pub(crate) fn read(tls: &Tls) -> Result<Self, Refusal> {
        let name = ServerName::try_from(tls.server_name.clone()).map_err(|_| {
            let message = format!(
                "`{}` is no name that a certificate can carry; give `server_name`",
                tls.server_name
            );
            ("server_name", message)
        })?;
        let provider = Arc::new(ring::default_provider());
        let verifier = verifier(tls, &provider)?;
        // The provider has suites of both versions.
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&version::TLS13, &version::TLS12])
            .map_err(|error| ("mode", error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match &tls.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let chain =
                    pem::certificates(&identity.cert_file).map_err(|error| ("cert_file", error))?;
                let key = pem::key(&identity.key_file).map_err(|error| ("key_file", error))?;
                builder.with_client_auth_cert(chain, key).map_err(|error| {
                    let message = format!("key and certificate do not fit: {error}");
                    ("key_file", message)
                })?
            }
        };
        config.resumption = Resumption::disabled();
        Ok(Client {
            config: Arc::new(config),
            name,
        })
    }

    /// A session that has yet to shake hands.
    pub(crate) fn session(&self) -> Result<Session, Failure> {
        let begun = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
        let mut connection = begun.map_err(|error| failure(&error))?;
        // What is written is sent at once; a limit would cut a long request in two.
        connection.set_buffer_limit(None);
        Ok(Session { connection })
    }
}

fn verifier(tls: &Tls, provider: &CryptoProvider) -> Result<Verifier, Refusal> {
    let algorithms = provider.signature_verification_algorithms;
    if tls.verify == Verify::Nothing {
        return Ok(Verifier::of_nothing(algorithms));
    }
    let mut roots = RootCertStore::empty();
    match &tls.ca_file {
        Some(file) => {
            let refused = |message| ("ca_file", message);
            let given = pem::certificates(file).map_err(refused)?;
            for certificate in &given {
                let added = roots.add(certificate.clone());
                added.map_err(|error| refused(unusable(file, &error)))?;
            }
            Ok(Verifier::new(tls.verify, roots, given, algorithms))
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
            if roots.is_empty() {
                let reason = found
                    .errors
                    .first()
                    .map_or_else(String::new, |error| format!(" ({error})"));
                let message = format!(
                    "this host has no root certificates{reason}; give `ca_file`, or install the package ca-certificates"
                );
                return Err(("mode", message));
            }
            Ok(Verifier::new(tls.verify, roots, Vec::new(), algorithms))
        }
    }
}

fn unusable(file: &Path, error: &rustls::Error) -> String {
    format!("{}: {error}{}", file.display(), advice(error))
}

/// One connection's state: what is sent and what came go through it.
#[derive(Debug)]
pub(crate) struct Session {
    connection: ClientConnection,
}

impl Session {
    /// Whether both sides have yet to agree.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Appends to `sealed` what the session itself has to say: its part of the handshake, or an alert.
    pub(crate) fn speak(&mut self, sealed: &mut Vec<u8>) {
        while self.connection.wants_write() {
            // A Vec takes everything.
            if self.connection.write_tls(sealed).is_err() {
                return;
            }
        }
    }

    /// Appends `plain` to `sealed`, encrypted: as one record up to 16 kB.
    pub(crate) fn seal(&mut self, plain: &[u8], sealed: &mut Vec<u8>) -> Result<(), Failure> {
        let taken = self.connection.writer().write_all(plain);
        taken.map_err(|error| Failure::fatal(Outcome::Tls, error.to_string()))?;
        self.speak(sealed);
        Ok(())
    }

    /// Appends to `plain` what the records that `sealed` completes say.
    pub(crate) fn open(&mut self, mut sealed: &[u8], plain: &mut BytesMut) -> Result<(), Failure> {
        while !sealed.is_empty() {
            let taken = self.connection.read_tls(&mut sealed);
            if taken.map_err(|error| Failure::fatal(Outcome::Tls, error.to_string()))? == 0 {
                return Err(Failure::fatal(
                    Outcome::Disconnected,
                    "the server ended the encrypted connection",
                ));
            }
            let state = self
                .connection
                .process_new_packets()
                .map_err(|error| failure(&error))?;
            let ready = state.plaintext_bytes_to_read();
            let begin = plain.len();
            plain.resize(begin + ready, 0);
            let opened = self.connection.reader().read_exact(&mut plain[begin..]);
            opened.map_err(|error| Failure::fatal(Outcome::Tls, error.to_string()))?;
        }
        Ok(())
    }

    /// The version spoken, as OpenSSL writes it.
    pub(crate) fn version(&self) -> &'static str {
        match self.connection.protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => "TLSv1.2",
            Some(ProtocolVersion::TLSv1_3) => "TLSv1.3",
            _ => "unknown",
        }
    }

    /// What ties an authentication to this very server: RFC 5929's `tls-server-end-point`, a hash of its certificate.
    /// `None` where the certificate's signature has no hash of its own, such as Ed25519.
    pub(crate) fn end_point(&self) -> Option<Vec<u8>> {
        let chain: &[CertificateDer<'_>] = self.connection.peer_certificates()?;
        certificate::end_point(chain.first()?)
    }
}

fn failure(error: &rustls::Error) -> Failure {
    Failure::fatal(Outcome::Tls, format!("{error}{}", advice(error)))
}

/// What to do about an error that has a usual cause.
fn advice(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "; give the certificate of its authority as `ca_file`"
        }
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => {
            "; the name has to be among its subject alternative names, and may be given as `server_name`"
        }
        rustls::Error::InvalidCertificate(CertificateError::Other(other))
            if other.to_string().contains("UnsupportedCertVersion") =>
        {
            "; it is of X.509 version 1, and has to be issued anew with extensions such as subjectAltName"
        }
        rustls::Error::InvalidCertificate(CertificateError::Other(other))
            if other.to_string().contains("CaUsedAsEndEntity") =>
        {
            "; it is an authority's own: give this very certificate as `ca_file`"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests;
