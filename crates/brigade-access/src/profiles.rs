//! Profiles: the tools that each shows and hides, and its rules for calls.

mod read;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use brigade_core::{ConfigIssue, ErrorCode, ErrorKind, Hint, NextStep, OperationError, Place, closest};
use brigade_policy::LocatedValue;
use brigade_policy::document::text_of;
use thiserror::Error;

use crate::matcher::{Matcher, first_match, shows};
use crate::slot::{ProfileName, Slot};
use crate::traits::ToolTraits;

pub use brigade_policy::approval::Action;

/// The file name in places of the shipped profiles.
pub const SHIPPED: &str = "shipped profiles";

const SHIPPED_TEXT: &str = include_str!("profiles/shipped.toml");

/// Limits of the calls that a rule decides about. They only narrow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleLimits {
    /// Directories or patterns, relative to the workspace, that path arguments must be in.
    pub paths: Option<Vec<String>>,
    /// First words of commands.
    pub commands: Option<Vec<String>>,
    /// Effects that commands may have in addition to reading the workspace. Profiles of the slot `context` grant them.
    pub effects: Option<Vec<String>>,
    /// Patterns of host names in URLs.
    pub domains: Option<Vec<String>>,
    /// The largest text that is written, in bytes.
    pub max_bytes: Option<u64>,
    /// The number of calls in a minute.
    pub calls_per_minute: Option<u64>,
}

/// A rule of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its place.
    pub place: Place,
    /// The tools that it decides about: those that any element matches.
    pub matches: Vec<LocatedValue<Matcher>>,
    /// What it says.
    pub action: Action,
    /// The limits of calls.
    pub constrain: Option<RuleLimits>,
}

/// One profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: ProfileName,
    /// The place of its entry.
    pub place: Place,
    /// Whether it is part of Brigade.
    pub is_shipped: bool,
    /// What it shows. Absent: everything.
    pub show: Option<Vec<LocatedValue<Matcher>>>,
    /// The place of `show`.
    pub show_place: Option<Place>,
    /// What it hides.
    pub hide: Vec<LocatedValue<Matcher>>,
    /// Its rules for calls. The first rule that matches decides.
    pub rules: Vec<Rule>,
}

/// What a profile says about a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileVerdict<'p> {
    /// It does not show the tool, because `show` does not include it.
    NotShown(&'p Profile),
    /// An element of `hide` matches.
    Hidden(&'p LocatedValue<Matcher>),
    /// A rule decides about calls.
    Rule(&'p Rule),
    /// It shows the tool, and no rule decides about calls.
    NoOpinion,
}

impl ProfileVerdict<'_> {
    /// Returns whether the profile shows the tool. A rule that denies its calls also hides it.
    pub fn shows(&self) -> bool {
        match self {
            ProfileVerdict::NotShown(_) | ProfileVerdict::Hidden(_) => false,
            ProfileVerdict::Rule(rule) => rule.action != Action::Deny,
            ProfileVerdict::NoOpinion => true,
        }
    }

    /// Returns what it says about calls.
    pub fn action(&self) -> Action {
        match self {
            ProfileVerdict::NotShown(_) | ProfileVerdict::Hidden(_) => Action::Deny,
            ProfileVerdict::Rule(rule) => rule.action,
            ProfileVerdict::NoOpinion => Action::Allow,
        }
    }

    /// Returns the place of what decides.
    pub fn place(&self) -> Option<&Place> {
        match self {
            ProfileVerdict::NotShown(profile) => Some(profile.show_place.as_ref().unwrap_or(&profile.place)),
            ProfileVerdict::Hidden(matcher) => Some(&matcher.place),
            ProfileVerdict::Rule(rule) => Some(&rule.place),
            ProfileVerdict::NoOpinion => None,
        }
    }
}

impl Profile {
    /// Returns what the profile says about a tool.
    pub fn verdict(&self, tool: &ToolTraits<'_>) -> ProfileVerdict<'_> {
        if let Some(at) = first_match(&self.hide, tool) {
            return ProfileVerdict::Hidden(&self.hide[at]);
        }
        if self.show.as_ref().is_some_and(|show| !shows(show, tool)) {
            return ProfileVerdict::NotShown(self);
        }
        self.rule(tool).map_or(ProfileVerdict::NoOpinion, ProfileVerdict::Rule)
    }

    /// Returns the rule that decides about calls of a tool.
    pub(crate) fn rule(&self, tool: &ToolTraits<'_>) -> Option<&Rule> {
        self.rules.iter().find(|rule| first_match(&rule.matches, tool).is_some())
    }
}

/// The shipped profiles and those of profiles.toml.
#[derive(Clone, Debug, Default)]
pub struct Profiles {
    by_name: BTreeMap<ProfileName, Arc<Profile>>,
}

impl Profiles {
    /// Returns the shipped profiles.
    pub fn shipped() -> &'static Profiles {
        static SHIPPED_PROFILES: OnceLock<Profiles> = OnceLock::new();
        SHIPPED_PROFILES.get_or_init(|| {
            let (profiles, issues) = read::profiles(SHIPPED, SHIPPED_TEXT, None);
            debug_assert!(issues.is_empty(), "{issues:?}");
            profiles
        })
    }

    /// Parses a profiles.toml and adds its profiles to the shipped ones. `None` means that the file does not exist.
    ///
    /// # Errors
    /// Returns all issues of the file, in file order. A file with an error gives no profiles, because a rule would be
    /// missing.
    pub fn parse(file: &str, bytes: Option<&[u8]>) -> Result<Profiles, Vec<ConfigIssue>> {
        let Some(bytes) = bytes else { return Ok(Profiles::shipped().clone()) };
        let text = text_of(file, bytes).map_err(|issue| vec![*issue])?;
        let (profiles, issues) = read::profiles(file, text, Some(Profiles::shipped()));
        if issues.is_empty() { Ok(profiles) } else { Err(issues) }
    }

    /// Lets agents that only plan write memories.
    #[must_use]
    pub fn with_memory_in_plans(mut self) -> Profiles {
        const PLAN: &str = "permission.plan";
        if let Some(profile) = PLAN.parse().ok().and_then(|name: ProfileName| self.by_name.get_mut(&name)) {
            let text = "effect:<=local-read,remote-read,session,memory-write";
            let matcher = Matcher::parse(text).expect("matchers in the program are valid");
            let place = profile.place.clone();
            Arc::make_mut(profile).show = Some(vec![LocatedValue { value: matcher, place }]);
        }
        self
    }

    /// Returns all profiles, by slot and name.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Profile>> {
        self.by_name.values()
    }

    /// Returns the profile of a name.
    pub fn get(&self, name: &str) -> Option<&Arc<Profile>> {
        self.by_name.get(&name.parse().ok()?)
    }

    /// Finds the profile of a name.
    ///
    /// # Errors
    /// Fails if the profile does not exist, with the most similar name.
    pub fn find(&self, name: &str) -> Result<Arc<Profile>, UnknownProfile> {
        self.get(name).cloned().ok_or_else(|| UnknownProfile {
            name: brigade_core::text::escape_terminal(name).into_owned(),
            near: self.near(name).map(str::to_owned),
        })
    }

    /// Returns the default profile of a slot.
    pub fn default_of(&self, slot: Slot) -> &Arc<Profile> {
        self.get(slot.default_profile()).expect("every default is shipped")
    }

    /// Returns the most similar name.
    pub fn near(&self, name: &str) -> Option<&str> {
        closest(name, self.by_name.keys().map(ProfileName::as_str))
    }
}

/// A profile that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no profile `{name}`")]
pub struct UnknownProfile {
    /// The name, safe to show.
    pub name: String,
    /// The most similar name.
    pub near: Option<String>,
}

impl OperationError for UnknownProfile {
    fn kind(&self) -> ErrorKind {
        ErrorKind::NotFound
    }

    fn code(&self) -> Option<ErrorCode> {
        Some(ErrorCode::ProfileMissing)
    }

    fn hints(&self) -> Vec<Hint> {
        match &self.near {
            Some(near) => vec![format!("did you mean `{near}`?").into()],
            None => vec![NextStep::ListProfiles.into()],
        }
    }

    fn is_about_request(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
