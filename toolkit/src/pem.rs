//! Certificates and keys from PEM files, with errors that name the file.

use std::path::Path;

use rustls::pki_types::pem::{Error, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Every certificate of the file `path`, in its order; at least one.
///
/// # Errors
/// A sentence that begins with the file: it cannot be read, is not PEM or holds no certificate.
pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let refused = |error: Error| format!("{}: {}", path.display(), reason(&error));
    let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .map_err(refused)?
        .collect();
    let certificates = read.map_err(refused)?;
    match certificates.is_empty() {
        true => Err(format!("{}: no certificate in it", path.display())),
        false => Ok(certificates),
    }
}

/// The first private key of the file `path`.
///
/// # Errors
/// A sentence that begins with the file: it cannot be read, is not PEM or holds no key.
pub fn key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_file(path)
        .map_err(|error| format!("{}: {}", path.display(), reason(&error)))
}

fn reason(error: &Error) -> String {
    match error {
        Error::Io(error) => format!("cannot read: {error}"),
        Error::NoItemsFound => "nothing of the kind in it".to_owned(),
        other => other.to_string(),
    }
}
