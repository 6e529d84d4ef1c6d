//! `basic_auth_users`: who is let in, by passwords as bcrypt hashes.
//!
//! A bcrypt comparison is made to be slow, 50 to 100 ms of CPU at the usual cost, which no scrape may cost the host it
//! measures. So who was let in once is remembered, as a keyed hash of name and password under a key that lives as long
//! as the settings. Comparisons run on a thread of their own and one at a time: whoever guesses keeps one CPU busy at
//! most, and no scrape that was let in before waits for him.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bcrypt::HashParts;
use hyper::header::HeaderValue;
use ring::hmac;
use ring::rand::SystemRandom;
use serde::de::{Deserialize, Deserializer};
use tokio::sync::Semaphore;

use crate::config::text;

/// Above this a single comparison takes over five seconds.
const MAX_COST: u32 = 16;
/// bcrypt ignores what follows the 72nd byte, so a user can have many passwords; more than these are not remembered.
const MAX_REMEMBERED: usize = 64;

/// A password's hash. It prints nothing of itself.
#[derive(Clone)]
pub(super) struct Hash {
    text: String,
    cost: u32,
}

impl std::fmt::Debug for Hash {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("<secret>")
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        text::read(from, "a bcrypt hash", |text| {
            let parts: HashParts = text
                .parse()
                .map_err(|_| "no bcrypt hash; `htpasswd -nB USER` makes one".to_owned())?;
            match parts.get_cost() {
                cost @ 4..=MAX_COST => Ok(Hash {
                    text: text.to_owned(),
                    cost,
                }),
                cost => Err(format!(
                    "a bcrypt cost of {cost}; 4 to {MAX_COST} are taken"
                )),
            }
        })
    }
}

/// Who is let in; without any user, everyone.
#[derive(Debug)]
pub(super) struct Users {
    hashes: BTreeMap<String, Hash>,
    /// Without randomness there is no key, and nothing is remembered.
    key: Option<hmac::Key>,
    remembered: Mutex<HashSet<Vec<u8>>>,
    comparing: Semaphore,
}

impl Default for Users {
    fn default() -> Self {
        Users::new(BTreeMap::new())
    }
}

impl Users {
    /// The users of a file.
    pub(super) fn new(hashes: BTreeMap<String, Hash>) -> Self {
        Users {
            hashes,
            key: hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new()).ok(),
            remembered: Mutex::new(HashSet::new()),
            comparing: Semaphore::new(1),
        }
    }

    /// Whether a request with this `Authorization` header is let in. An unknown name costs what a known one does.
    pub(super) async fn admit(&self, authorization: Option<&HeaderValue>) -> bool {
        if self.hashes.is_empty() {
            return true;
        }
        let Some((user, password)) = authorization.and_then(credentials) else {
            return false;
        };
        let tag = self.tag(&user, &password);
        if self.remembers(tag.as_deref()) {
            return true;
        }
        let Ok(_turn) = self.comparing.acquire().await else {
            return false;
        };
        // Whoever waited may have waited for the same comparison.
        if self.remembers(tag.as_deref()) {
            return true;
        }
        let Some((hash, is_known)) = self.hash_for(&user) else {
            return false;
        };
        let hash = hash.text.clone();
        let compared = tokio::task::spawn_blocking(move || bcrypt::verify(password, &hash)).await;
        let admitted = matches!(compared, Ok(Ok(true))) && is_known;
        if admitted && let Some(tag) = tag {
            self.remember(tag);
        }
        admitted
    }

    /// What to compare the password of `user` with, and whether that is the user's own. For an unknown name it is the
    /// costliest hash.
    fn hash_for(&self, user: &str) -> Option<(&Hash, bool)> {
        let own = self.hashes.get(user).map(|hash| (hash, true));
        let costliest = self.hashes.values().max_by_key(|hash| hash.cost);
        own.or(Some((costliest?, false)))
    }

    /// Name and password, of which nothing can be learned from it.
    fn tag(&self, user: &str, password: &[u8]) -> Option<Vec<u8>> {
        let mut context = hmac::Context::with_key(self.key.as_ref()?);
        // No name contains a colon, so the pair is told apart from every other.
        context.update(user.as_bytes());
        context.update(b":");
        context.update(password);
        Some(context.sign().as_ref().to_vec())
    }

    fn remembers(&self, tag: Option<&[u8]>) -> bool {
        let remembered = self
            .remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        tag.is_some_and(|tag| remembered.contains(tag))
    }

    fn remember(&self, tag: Vec<u8>) {
        let mut remembered = self
            .remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= MAX_REMEMBERED {
            remembered.clear();
        }
        remembered.insert(tag);
    }
}

/// Name and password of an `Authorization` header (RFC 7617).
fn credentials(header: &HeaderValue) -> Option<(String, Vec<u8>)> {
    let (scheme, encoded) = header.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = BASE64_STANDARD.decode(encoded.trim()).ok()?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    let user = String::from_utf8(decoded[..colon].to_vec()).ok()?;
    Some((user, decoded[colon + 1..].to_vec()))
}

#[cfg(test)]
mod tests;
