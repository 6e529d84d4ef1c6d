//! `tls_server_config`: certificate, versions, ciphers, and whose clients are let in. rustls with ring.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{NamedGroup, RootCertStore, ServerConfig, SupportedProtocolVersion, version};
use serde::Deserialize;

use crate::pem::{certificates, key};

/// What is wrong, and under which key.
type Refusal = (&'static str, String);

/// The section as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Section {
    cert_file: PathBuf,
    key_file: PathBuf,
    #[serde(default)]
    client_auth_type: ClientAuth,
    client_ca_file: Option<PathBuf>,
    #[serde(default = "oldest")]
    min_version: Version,
    #[serde(default = "newest")]
    max_version: Version,
    #[serde(default)]
    cipher_suites: Vec<String>,
    #[serde(default)]
    curve_preferences: Vec<Curve>,
    #[serde(default = "yes")]
    prefer_server_cipher_suites: bool,
}

/// Which clients are let in. Go's `RequestClientCert` and `RequireAnyClientCert` are refused: they look at nothing in a
/// certificate, which is no protection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
enum ClientAuth {
    #[default]
    NoClientCert,
    VerifyClientCertIfGiven,
    RequireAndVerifyClientCert,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Deserialize)]
#[allow(clippy::upper_case_acronyms)] // as the file spells them
enum Version {
    TLS12,
    TLS13,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum Curve {
    CurveP256,
    CurveP384,
    X25519,
}

const fn oldest() -> Version {
    Version::TLS12
}

const fn newest() -> Version {
    Version::TLS13
}

const fn yes() -> bool {
    true
}

impl Section {
    /// The files it names, relative ones beside the file in `directory`.
    pub(super) fn files(&self, directory: &Path) -> Vec<PathBuf> {
        let named = [
            Some(&self.cert_file),
            Some(&self.key_file),
            self.client_ca_file.as_ref(),
        ];
        named
            .into_iter()
            .flatten()
            .map(|file| directory.join(file))
            .collect()
    }

    /// The server that the section describes.
    pub(super) fn server_config(&self, directory: &Path) -> Result<ServerConfig, Refusal> {
        let provider = Arc::new(self.provider()?);
        let versions = self.versions()?;
        let verifier = self.verifier(directory, &provider)?;
        let certificates =
            certificates(&directory.join(&self.cert_file)).map_err(|e| ("cert_file", e))?;
        let key = key(&directory.join(&self.key_file)).map_err(|e| ("key_file", e))?;
        let builder = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .map_err(|error| {
                (
                    "cipher_suites",
                    format!("nothing is left to speak: {error}"),
                )
            })?;
        let builder = match verifier {
            Some(verifier) => builder.with_client_cert_verifier(verifier),
            None => builder.with_no_client_auth(),
        };
        let mut server = builder
            .with_single_cert(certificates, key)
            .map_err(|error| {
                (
                    "key_file",
                    format!("key and certificate do not fit: {error}"),
                )
            })?;
        server.ignore_client_order = self.prefer_server_cipher_suites;
        server.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(server)
    }

    fn versions(&self) -> Result<Vec<&'static SupportedProtocolVersion>, Refusal> {
        if self.min_version > self.max_version {
            let message = "max_version is older than min_version".to_owned();
            return Err(("max_version", message));
        }
        let all = [
            (Version::TLS12, &version::TLS12),
            (Version::TLS13, &version::TLS13),
        ];
        let chosen = all
            .into_iter()
            .filter(|(version, _)| (self.min_version..=self.max_version).contains(version));
        Ok(chosen.map(|(_, version)| version).collect())
    }

    /// Ring with the ciphers and curves of the section, or with all of its own.
    fn provider(&self) -> Result<CryptoProvider, Refusal> {
        let mut provider = ring::default_provider();
        if !self.cipher_suites.is_empty() {
            let known: Vec<String> = provider.cipher_suites.iter().map(suite_name).collect();
            if let Some(name) = self.cipher_suites.iter().find(|name| !known.contains(name)) {
                let message = format!(
                    "unknown cipher suite `{name}`, expected one of {}",
                    known.join(", ")
                );
                return Err(("cipher_suites", message));
            }
            let chosen = |suite: &_| self.cipher_suites.contains(&suite_name(suite));
            provider.cipher_suites.retain(chosen);
        }
        if !self.curve_preferences.is_empty() {
            provider.kx_groups = preferred(&self.curve_preferences, &provider);
        }
        Ok(provider)
    }

    fn verifier(
        &self,
        directory: &Path,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Option<Arc<dyn ClientCertVerifier>>, Refusal> {
        let file = match (self.client_auth_type, &self.client_ca_file) {
            (ClientAuth::NoClientCert, None) => return Ok(None),
            (ClientAuth::NoClientCert, Some(_)) => {
                let message =
                    "no client is asked for a certificate: set client_auth_type, or leave this out";
                return Err(("client_ca_file", message.to_owned()));
            }
            (_, None) => {
                let message = "client_ca_file is needed to verify with";
                return Err(("client_auth_type", message.to_owned()));
            }
            (_, Some(file)) => file,
        };
        let refused = |message: String| ("client_ca_file", message);
        let path = directory.join(file);
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&path).map_err(refused)? {
            let added = roots.add(certificate);
            added.map_err(|error| refused(format!("{}: {error}", path.display())))?;
        }
        let builder =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
        let builder = match self.client_auth_type {
            ClientAuth::VerifyClientCertIfGiven => builder.allow_unauthenticated(),
            _ => builder,
        };
        let built = builder.build();
        built
            .map(Some)
            .map_err(|error| refused(format!("{}: {error}", path.display())))
    }
}

/// A suite as Go and the IANA call it; rustls marks those of TLS 1.3.
fn suite_name(suite: &rustls::SupportedCipherSuite) -> String {
    format!("{:?}", suite.suite()).replace("TLS13_", "TLS_")
}

/// The key exchange groups of `curves`, in their order.
fn preferred(
    curves: &[Curve],
    provider: &CryptoProvider,
) -> Vec<&'static dyn rustls::crypto::SupportedKxGroup> {
    let group = |curve: &Curve| match curve {
        Curve::CurveP256 => NamedGroup::secp256r1,
        Curve::CurveP384 => NamedGroup::secp384r1,
        Curve::X25519 => NamedGroup::X25519,
    };
    let supported = |name| provider.kx_groups.iter().find(|known| known.name() == name);
    curves
        .iter()
        .map(group)
        .filter_map(supported)
        .copied()
        .collect()
}
