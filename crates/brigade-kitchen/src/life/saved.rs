//! A life as bytes, for caches: whoever reads a long journal again begins where it was read to the last time.

use super::Life;

/// The layout of the bytes and the rules of the fold. A change of either takes the next number, so that no cache of an
/// older program is read as if it were of this one.
const LAYOUT: u32 = 4;

impl Life {
    /// Writes the life as bytes that only a program of the same layout reads.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        postcard::to_allocvec(&(LAYOUT, self)).ok()
    }

    /// Reads what [`Life::to_bytes`] wrote; `None` for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Life> {
        let (layout, rest) = postcard::take_from_bytes::<u32>(bytes).ok()?;
        let (life, rest) = (layout == LAYOUT).then(|| postcard::take_from_bytes(rest).ok()).flatten()?;
        rest.is_empty().then_some(life)
    }
}

/// Values whose own form has no fixed layout are written as JSON text.
pub(super) mod text {
    use brigade_core::Json;
    use brigade_core::json::{from_json, to_json};
    use serde::de::{DeserializeOwned, Error as _};
    use serde::ser::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize, Serializer};

    pub(in crate::life) fn serialize<T: Serialize, S: Serializer>(
        value: &T,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to_json(value).map_err(S::Error::custom)?.to_compact().serialize(to)
    }

    pub(in crate::life) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
        from: D,
    ) -> Result<T, D::Error> {
        let json = Json::parse(&String::deserialize(from)?).map_err(D::Error::custom)?;
        from_json(&json).map_err(D::Error::custom)
    }
}
