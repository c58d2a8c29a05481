//! The six slots, and the names of profiles.

use std::fmt;
use std::str::FromStr;

use brigade_core::Fingerprint;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The subject of a profile. An agent has one profile in each slot, and any number of guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Slot {
    /// Whose tools: a user's, the system's, an operator's.
    Access,
    /// What the agent is for.
    Role,
    /// How it works at the moment.
    Mode,
    /// What it may change.
    Permission,
    /// Which paths, commands and domains.
    Context,
    /// What watches over its calls.
    Guard,
}

#[cfg(feature = "schemas")]
impl schemars::JsonSchema for Slot {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Slot".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"enum": ["access", "role", "mode", "permission", "context", "guard"]})
    }
}

impl Slot {
    /// All slots, in order.
    pub const ALL: &'static [Slot] =
        &[Slot::Access, Slot::Role, Slot::Mode, Slot::Permission, Slot::Context, Slot::Guard];

    /// Returns the word before the dot of a profile's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Slot::Access => "access",
            Slot::Role => "role",
            Slot::Mode => "mode",
            Slot::Permission => "permission",
            Slot::Context => "context",
            Slot::Guard => "guard",
        }
    }

    /// Returns the profile that an agent has in this slot unless it names another.
    pub const fn default_profile(self) -> &'static str {
        match self {
            Slot::Access => "access.user",
            Slot::Role => "role.any",
            Slot::Mode => "mode.any",
            Slot::Permission => "permission.edit",
            Slot::Context => "context.workspace",
            Slot::Guard => "guard.rate",
        }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The name of a profile, `SLOT.NAME`. The part after the dot has 1 to 64 ASCII letters, digits, `-` and `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ProfileName {
    slot: Slot,
    text: String,
}

/// A text that is not the name of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidProfileName {
    /// Unknown slot.
    #[error("expected SLOT.NAME, where SLOT is one of access, role, mode, permission, context, guard")]
    Slot,
    /// The part after the dot is not a name.
    #[error("expected letters, digits, `-` and `_` after the slot, at most 64")]
    Name,
}

impl ProfileName {
    /// Returns the slot.
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// Returns the name of the limits of a task. Profiles in files cannot have it.
    pub(crate) fn of_task(agent: &str, limits: Fingerprint) -> ProfileName {
        let text = format!("{}.task:{agent}:{}", Slot::Context, limits.short());
        ProfileName { slot: Slot::Context, text }
    }

    /// Returns whether it is the name of the limits of a task, which neither grant nor refuse effects.
    pub(crate) fn is_of_task(&self) -> bool {
        self.text.contains(':')
    }

    /// Returns the whole name.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for ProfileName {
    type Err = InvalidProfileName;

    fn from_str(text: &str) -> Result<ProfileName, InvalidProfileName> {
        let (slot, name) = text.split_once('.').ok_or(InvalidProfileName::Slot)?;
        let slot = Slot::ALL.iter().find(|known| known.as_str() == slot).ok_or(InvalidProfileName::Slot)?;
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if !(1..=64).contains(&name.len()) || !name.bytes().all(legal) {
            return Err(InvalidProfileName::Name);
        }
        Ok(ProfileName { slot: *slot, text: text.to_owned() })
    }
}

impl TryFrom<String> for ProfileName {
    type Error = InvalidProfileName;

    fn try_from(text: String) -> Result<ProfileName, InvalidProfileName> {
        text.parse()
    }
}

impl From<ProfileName> for String {
    fn from(name: ProfileName) -> String {
        name.text
    }
}

impl fmt::Display for ProfileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_slot() {
        let name: ProfileName = "context.docs".parse().unwrap();
        assert_eq!((name.slot(), name.as_str()), (Slot::Context, "context.docs"));
        for text in ["docs", "contexts.docs", ".docs", "context", ""] {
            assert_eq!(text.parse::<ProfileName>(), Err(InvalidProfileName::Slot), "{text}");
        }
        for text in ["context.", "context.a b", "context.a.b", "context.ä"] {
            assert_eq!(text.parse::<ProfileName>(), Err(InvalidProfileName::Name), "{text}");
        }
    }

    #[test]
    fn each_slot_has_a_default_of_its_own() {
        for slot in Slot::ALL {
            let name: ProfileName = slot.default_profile().parse().unwrap();
            assert_eq!(name.slot(), *slot);
        }
    }
}
