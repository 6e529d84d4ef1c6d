//! `--web.config.file`: TLS, users and headers, in the format of Prometheus' exporter-toolkit.
//!
//! A file that is wrong is refused whole: at the start the program ends, later the settings in force stay. Files it
//! names are read with it and kept in memory, so a certificate that was renewed is used from the next reload on
//! (SIGHUP, or a POST to /-/reload). `http2` is read and changes nothing: HTTP/1.1 is spoken here.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use hyper::header::{HeaderName, HeaderValue};
use rustls::ServerConfig;
use serde::de::{Deserialize, Deserializer};

use super::auth::{Hash, Users};
use super::tls;
use crate::config::locate::{self, Step};
use crate::config::{self, Error, text};

/// The file as it is written.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    tls_server_config: Option<tls::Section>,
    http_server_config: Http,
    basic_auth_users: std::collections::BTreeMap<String, Hash>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Http {
    #[serde(rename = "http2")]
    _http2: Option<bool>,
    headers: Headers,
}

/// The headers that the exporter-toolkit lets a file set.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Headers {
    #[serde(rename = "Content-Security-Policy")]
    content_security_policy: Option<Value>,
    #[serde(rename = "Strict-Transport-Security")]
    strict_transport_security: Option<Value>,
    #[serde(rename = "X-Content-Type-Options")]
    x_content_type_options: Option<Value>,
    #[serde(rename = "X-Frame-Options")]
    x_frame_options: Option<Value>,
    #[serde(rename = "X-XSS-Protection")]
    x_xss_protection: Option<Value>,
}

#[derive(Debug)]
struct Value(HeaderValue);

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        text::read(from, "the text of a header", |text| {
            HeaderValue::from_str(text)
                .map(Value)
                .map_err(|_| "a header cannot hold this text".to_owned())
        })
    }
}

impl Headers {
    fn into_list(self) -> Vec<(HeaderName, HeaderValue)> {
        use hyper::header as name;
        let all = [
            (name::CONTENT_SECURITY_POLICY, self.content_security_policy),
            (
                name::STRICT_TRANSPORT_SECURITY,
                self.strict_transport_security,
            ),
            (name::X_CONTENT_TYPE_OPTIONS, self.x_content_type_options),
            (name::X_FRAME_OPTIONS, self.x_frame_options),
            (name::X_XSS_PROTECTION, self.x_xss_protection),
        ];
        let set = all
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?.0)));
        set.collect()
    }
}

/// What a file says, ready for use.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// How connections are secured; plain where there is none.
    pub(super) tls: Option<Arc<ServerConfig>>,
    /// Who is let in.
    pub(super) users: Users,
    /// Headers of every answer.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    /// The files it was made from.
    files: Vec<PathBuf>,
}

impl Settings {
    fn load(path: &Path) -> Result<Self, Error> {
        let text = config::read(path)?;
        let file: File = match text.trim().is_empty() {
            true => File::default(),
            false => config::parse(path, &text)?,
        };
        let directory = path.parent().unwrap_or(Path::new(""));
        let mut files = vec![path.to_owned()];
        let mut tls = None;
        if let Some(section) = &file.tls_server_config {
            files.extend(section.files(directory));
            let made = section.server_config(directory).map_err(|(key, message)| {
                let steps = [Step::Key("tls_server_config"), Step::Key(key)];
                locate::error(path, &text, &steps, message)
            })?;
            tls = Some(Arc::new(made));
        }
        Ok(Settings {
            tls,
            users: Users::new(file.basic_auth_users),
            headers: file.http_server_config.headers.into_list(),
            files,
        })
    }
}

/// The settings in force, and where they came from.
#[derive(Debug, Default)]
pub(super) struct WebConfig {
    path: Option<PathBuf>,
    current: RwLock<Arc<Settings>>,
}

impl WebConfig {
    /// Reads `path`; without one, everything is plain and everyone let in.
    ///
    /// # Errors
    /// The file, or one that it names, cannot be read or is wrong.
    pub(super) fn load(path: Option<&Path>) -> Result<Self, Error> {
        let settings = path.map(Settings::load).transpose()?.unwrap_or_default();
        Ok(WebConfig {
            path: path.map(Path::to_owned),
            current: RwLock::new(Arc::new(settings)),
        })
    }

    /// Reads the file again. What is under way goes on as it began; the next handshake and the next request meet the
    /// new settings.
    ///
    /// # Errors
    /// As [`WebConfig::load`]; the settings in force stay.
    pub(super) fn reload(&self) -> Result<(), Error> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let settings = Arc::new(Settings::load(path)?);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = settings;
        Ok(())
    }

    /// [`WebConfig::reload`], and what came of it in the log.
    ///
    /// # Errors
    /// As [`WebConfig::reload`].
    pub(super) fn reload_and_log(&self) -> Result<(), Error> {
        let reloaded = self.reload();
        match &reloaded {
            Ok(()) if self.path.is_none() => {
                tracing::info!("asked to reload: there is no web configuration file");
            }
            Ok(()) => tracing::info!("web configuration reloaded"),
            Err(error) => {
                tracing::error!(%error, "web configuration refused: the one in force stays")
            }
        }
        reloaded
    }

    /// The file and the files it names: what a reload reads.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.current().files.clone()
    }

    pub(super) fn current(&self) -> Arc<Settings> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests;
