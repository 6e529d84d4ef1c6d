//! Certificates made for a test.

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SignatureAlgorithm,
};

/// A certificate and its key, in PEM.
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

impl Pair {
    /// Writes `name`.crt and `name`.key into `dir`; both paths.
    pub fn write(&self, dir: &Path, name: &str) -> (PathBuf, PathBuf) {
        let certificate = dir.join(format!("{name}.crt"));
        let key = dir.join(format!("{name}.key"));
        std::fs::write(&certificate, &self.certificate).unwrap();
        std::fs::write(&key, &self.key).unwrap();
        (certificate, key)
    }
}

/// An authority that nobody trusts unless told to.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    /// A new one, called `name`, with a key of the usual kind.
    pub fn new(name: &str) -> Self {
        Authority::with(name, &rcgen::PKCS_ECDSA_P256_SHA256)
    }

    /// A new one that signs by `algorithm`.
    pub fn with(name: &str, algorithm: &'static SignatureAlgorithm) -> Self {
        let key = KeyPair::generate_for(algorithm).unwrap();
        Authority(CertifiedIssuer::self_signed(authority(name, &[]), key).unwrap())
    }

    /// Its own certificate, in PEM.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for what has these names or addresses, the first of which is the common name too.
    pub fn issue(&self, names: &[&str]) -> Pair {
        self.sign(&named(names))
    }

    /// A certificate with these contents.
    pub fn sign(&self, contents: &CertificateParams) -> Pair {
        let key = KeyPair::generate().unwrap();
        Pair {
            certificate: contents.signed_by(&key, &self.0).unwrap().pem(),
            key: key.serialize_pem(),
        }
    }
}

/// A certificate signed by itself, an authority's and a server's in one, as servers make it for a start.
pub fn self_signed(contents: &CertificateParams) -> Pair {
    let key = KeyPair::generate().unwrap();
    Pair {
        certificate: contents.self_signed(&key).unwrap().pem(),
        key: key.serialize_pem(),
    }
}

/// Contents of a certificate for these names or addresses, the first of which is the common name too.
pub fn named(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut contents = CertificateParams::new(names.clone()).unwrap();
    contents
        .distinguished_name
        .push(DnType::CommonName, names[0].as_str());
    contents
}

/// Contents of an authority's certificate, which may have names of a server.
pub fn authority(name: &str, names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut contents = CertificateParams::new(names).unwrap();
    contents.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    contents.distinguished_name.push(DnType::CommonName, name);
    contents
}

/// The same contents, valid until the end of 1999.
pub fn expired(mut contents: CertificateParams) -> CertificateParams {
    contents.not_before = rcgen::date_time_ymd(1999, 1, 1);
    contents.not_after = rcgen::date_time_ymd(1999, 12, 31);
    contents
}
