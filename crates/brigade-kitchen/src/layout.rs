//! Encodes values for caches that only a program with the same layout reads.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Encodes a value after its layout number; `None` if it cannot be encoded.
pub(crate) fn to_bytes<T: Serialize + ?Sized>(layout: u32, value: &T) -> Option<Vec<u8>> {
    postcard::to_allocvec(&(layout, value)).ok()
}

/// Decodes bytes of [`to_bytes`] with the same layout; `None` for other bytes.
pub(crate) fn from_bytes<T: DeserializeOwned>(layout: u32, bytes: &[u8]) -> Option<T> {
    let (number, rest) = postcard::take_from_bytes::<u32>(bytes).ok()?;
    let (value, rest) = (number == layout).then(|| postcard::take_from_bytes(rest).ok()).flatten()?;
    rest.is_empty().then_some(value)
}

/// Encodes values without a fixed layout as JSON text.
pub(crate) mod text {
    use brigade_core::Json;
    use brigade_core::json::{from_json, to_json};
    use serde::de::{DeserializeOwned, Error as _};
    use serde::ser::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<T: Serialize, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        to_json(value).map_err(S::Error::custom)?.to_compact().serialize(to)
    }

    pub(crate) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
        from: D,
    ) -> Result<T, D::Error> {
        let json = Json::parse(&String::deserialize(from)?).map_err(D::Error::custom)?;
        from_json(&json).map_err(D::Error::custom)
    }
}
