//! Finds where in a YAML text a value stands, so that a check made after parsing can still say line and column.

use std::fmt;
use std::path::Path;

use super::Error;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// One step from a value to a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The value under a key of a mapping.
    Key(&'static str),
    /// An element of a sequence, from 0.
    Item(usize),
}

/// The error `message` about the value at `steps` of `text`; where there is no such value, about the value that
/// should have held it.
pub fn error(path: &Path, text: &str, steps: &[Step], message: String) -> Error {
    let (line, column) = (0..=steps.len())
        .rev()
        .find_map(|depth| position(text, &steps[..depth]))
        .unwrap_or((1, 1));
    Error::Invalid {
        path: path.to_owned(),
        line,
        column,
        message,
    }
}

/// Line and column, from 1, of the value at `steps`.
fn position(text: &str, steps: &[Step]) -> Option<(usize, usize)> {
    let refused = Walk(steps)
        .deserialize(serde_yaml::Deserializer::from_str(text))
        .err()?;
    refused.location().map(|at| (at.line(), at.column()))
}

/// Follows the steps and refuses the value it arrives at, since a refusal carries the position; passes over the rest.
#[derive(Clone, Copy)]
struct Walk<'s>(&'s [Step]);

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("another value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((step, rest)) = self.0.split_first() else {
            return Err(serde::de::Error::custom("arrived"));
        };
        while let Some(key) = map.next_key::<String>()? {
            if matches!(step, Step::Key(wanted) if *wanted == key) {
                map.next_value_seed(Walk(rest))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Some((step, rest)) = self.0.split_first() else {
            return Err(serde::de::Error::custom("arrived"));
        };
        let mut index = 0;
        loop {
            let more = if *step == Step::Item(index) {
                seq.next_element_seed(Walk(rest))?.is_some()
            } else {
                seq.next_element::<IgnoredAny>()?.is_some()
            };
            if !more {
                return Ok(());
            }
            index += 1;
        }
    }
}
