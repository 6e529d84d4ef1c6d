//! How a workload's statement is sent: `prepared`, `simple` or `{pipeline: 100}`.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use crate::workload::Protocol;

impl<'de> Deserialize<'de> for Protocol {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Form)
    }
}

struct Form;

impl<'de> Visitor<'de> for Form {
    type Value = Protocol;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("prepared, simple or {pipeline: 100}")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Protocol, E> {
        match text {
            "prepared" => Ok(Protocol::Prepared),
            "simple" => Ok(Protocol::Simple),
            _ => Err(E::custom(format!(
                "`{text}` is no protocol; write prepared, simple or {{pipeline: 100}}"
            ))),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Protocol, A::Error> {
        let unknown = |key: String| A::Error::unknown_field(&key, &["pipeline"]);
        match map.next_key::<String>()? {
            Some(key) if key == "pipeline" => {}
            Some(key) => return Err(unknown(key)),
            None => return Err(A::Error::missing_field("pipeline")),
        }
        let statements = map.next_value()?;
        match map.next_key::<String>()? {
            None => Ok(Protocol::Pipeline(statements)),
            Some(key) => Err(unknown(key)),
        }
    }
}
