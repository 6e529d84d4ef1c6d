//! How a connection is encrypted and whom it trusts: the section `tls`, and how far an authentication is bound to it.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toolkit::config::locate::Step;

use super::Address;
use super::check::Refusal;
use crate::engines::tls;

/// TLS to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// What of the server's certificate is looked at.
    pub verify: Verify,
    /// Authorities to trust; `None` trusts those of this host.
    pub ca_file: Option<PathBuf>,
    /// The name or IP address the server is called by, and which its certificate has to carry under [`Verify::Name`].
    pub server_name: String,
    /// What the server is shown, where it asks for a certificate.
    pub identity: Option<Identity>,
}

/// A certificate of ours and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The certificate, with those between it and its authority.
    pub cert_file: PathBuf,
    /// Its private key.
    pub key_file: PathBuf,
}

/// What of a server's certificate is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// Nothing: whoever answers is believed, and only listening is kept from others (`require`).
    Nothing,
    /// That a trusted authority issued it, to whomever (`verify-ca`).
    Chain,
    /// That a trusted authority issued it to this name (`verify-full`).
    Name,
}

/// Whether SCRAM is bound to the TLS session it runs in, so that nobody between can pass it on: libpq's
/// `channel_binding`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChannelBinding {
    /// Never.
    Disable,
    /// Where the server offers it.
    #[default]
    Prefer,
    /// Or else there is no session.
    Require,
}

/// The section as it is written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Section {
    #[serde(default)]
    mode: Mode,
    ca_file: Option<PathBuf>,
    server_name: Option<String>,
    cert_file: Option<PathBuf>,
    key_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    Disable,
    Require,
    VerifyCa,
    #[default]
    VerifyFull,
}

/// TLS to the server at `address`, or `None`. Without a section it is `verify-full` with this host's authorities to
/// another host, and none where what is sent stays on this one.
pub(super) fn tls(
    section: Option<&Section>,
    address: &Address,
    directory: &Path,
) -> Result<Option<Tls>, Refusal> {
    let tls = match (section, address) {
        (None, address) if address.is_local() => return Ok(None),
        (Some(section), _) if section.mode == Mode::Disable => {
            section.refuse_what_disable_makes_useless()?;
            return Ok(None);
        }
        (_, Address::Unix(_)) => {
            let message = "a UNIX socket carries no TLS; leave `tls` out".to_owned();
            return Err((vec![Step::Key("tls")], message));
        }
        (None, Address::Tcp { host, .. }) => Tls {
            verify: Verify::Name,
            ca_file: None,
            server_name: host.clone(),
            identity: None,
        },
        (Some(section), Address::Tcp { host, .. }) => section.to(host, directory)?,
    };
    // Read here only to refuse early; each connect reads it anew.
    match tls::Client::read(&tls) {
        Ok(_) => Ok(Some(tls)),
        Err(refusal) if section.is_some() => Err(at(refusal)),
        Err((_, message)) => {
            let message = format!("a server on another host is asked over TLS: {message}");
            Err((vec![Step::Key("address")], message))
        }
    }
}

fn at((key, message): (&'static str, String)) -> Refusal {
    (vec![Step::Key("tls"), Step::Key(key)], message)
}

impl Section {
    fn refuse_what_disable_makes_useless(&self) -> Result<(), Refusal> {
        let given = [
            ("ca_file", self.ca_file.is_some()),
            ("server_name", self.server_name.is_some()),
            ("cert_file", self.cert_file.is_some()),
            ("key_file", self.key_file.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((key, _)) => Err(at((
                key,
                format!("with `mode: disable` there is no use for `{key}`"),
            ))),
        }
    }

    /// What the section says about the server called `host`.
    fn to(&self, host: &str, directory: &Path) -> Result<Tls, Refusal> {
        let verify = match self.mode {
            // Disable is no TLS at all, and was seen to before.
            Mode::Disable | Mode::Require => Verify::Nothing,
            Mode::VerifyCa => Verify::Chain,
            Mode::VerifyFull => Verify::Name,
        };
        if verify == Verify::Nothing && self.ca_file.is_some() {
            let message =
                "with `mode: require` nothing is verified; write verify-ca or verify-full";
            return Err(at(("ca_file", message.to_owned())));
        }
        let identity = match (&self.cert_file, &self.key_file) {
            (None, None) => None,
            (Some(cert_file), Some(key_file)) => Some(Identity {
                cert_file: directory.join(cert_file),
                key_file: directory.join(key_file),
            }),
            (Some(_), None) => {
                return Err(at(("cert_file", "`key_file` is missing".to_owned())));
            }
            (None, Some(_)) => {
                return Err(at(("key_file", "`cert_file` is missing".to_owned())));
            }
        };
        Ok(Tls {
            verify,
            ca_file: self.ca_file.as_ref().map(|file| directory.join(file)),
            server_name: self.server_name.clone().unwrap_or_else(|| host.to_owned()),
            identity,
        })
    }
}

#[cfg(test)]
mod tests;
