//! Values that are read from a text, and refused where the text stands.

use std::fmt;

use serde::de::{Deserializer, Error, Visitor};

/// Reads a value by `parse`. Its refusal gets the position of the text, which `#[serde(try_from)]` would lose to that
/// of the mapping around it. `what` says what is expected, where something else than a text is found.
///
/// # Errors
/// What `parse` says, or that it is no text.
pub fn read<'de, D: Deserializer<'de>, T>(
    from: D,
    what: &'static str,
    parse: fn(&str) -> Result<T, String>,
) -> Result<T, D::Error> {
    from.deserialize_str(Text { what, parse })
}

struct Text<T> {
    what: &'static str,
    parse: fn(&str) -> Result<T, String>,
}

impl<T> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.what)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(E::custom)
    }
}
