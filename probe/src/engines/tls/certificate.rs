//! What of a certificate rustls does not tell: the hash of its signature, and when it is valid.

use ring::digest;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::{CertificateError, Error};
use x509_cert::Certificate;
use x509_cert::der::Decode as _;

/// RFC 5929, 4.1: the certificate under the hash of its own signature, or under SHA-256 where that is MD5 or SHA-1.
/// `None` for signatures with another hash (SHA-224), with one in their parameters (RSASSA-PSS) or with none (Ed25519).
pub(super) fn end_point(certificate: &CertificateDer<'_>) -> Option<Vec<u8>> {
    let parsed = Certificate::from_der(certificate).ok()?;
    let algorithm = parsed.signature_algorithm().oid.to_string();
    let hash = match algorithm.as_str() {
        // md5WithRSAEncryption, sha1WithRSAEncryption, sha256WithRSAEncryption; ecdsa-with-SHA1, ecdsa-with-SHA256.
        "1.2.840.113549.1.1.4"
        | "1.2.840.113549.1.1.5"
        | "1.2.840.113549.1.1.11"
        | "1.2.840.10045.4.1"
        | "1.2.840.10045.4.3.2" => &digest::SHA256,
        // The same with SHA-384.
        "1.2.840.113549.1.1.12" | "1.2.840.10045.4.3.3" => &digest::SHA384,
        // The same with SHA-512.
        "1.2.840.113549.1.1.13" | "1.2.840.10045.4.3.4" => &digest::SHA512,
        _ => return None,
    };
    Some(digest::digest(hash, certificate).as_ref().to_vec())
}

/// Refuses a certificate that is not valid yet, or not any more.
pub(super) fn is_valid_at(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), Error> {
    let parsed = Certificate::from_der(certificate).map_err(|_| CertificateError::BadEncoding)?;
    let validity = parsed.tbs_certificate().validity();
    let [not_before, not_after] = [validity.not_before, validity.not_after]
        .map(|time| UnixTime::since_unix_epoch(time.to_unix_duration()));
    if now < not_before {
        return Err(CertificateError::NotValidYetContext {
            time: now,
            not_before,
        }
        .into());
    }
    if now > not_after {
        return Err(CertificateError::ExpiredContext {
            time: now,
            not_after,
        }
        .into());
    }
    Ok(())
}
