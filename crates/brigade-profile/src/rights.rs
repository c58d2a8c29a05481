//! The rights of an agent: its profiles, and what they say about tools and calls.

use std::sync::Arc;

use brigade_core::codes::{self, ErrorCode};
use brigade_core::{ErrorKind, Explained, Hint, Json, NextStep, Place};
use brigade_policy::Gate;
use thiserror::Error;

use crate::gateway::Agent;
use crate::limits::{self, Outside};
use crate::profiles::{Action, Profile, Profiles, Stand};
use crate::slot::{ProfileName, Slot};
use crate::traits::{Source, ToolTraits};

/// The profiles of an agent: one in each slot, guards, and what is laid over them.
///
/// All must show a tool, and the strictest opinion about its calls wins. So another profile only narrows.
#[derive(Clone, Debug)]
pub struct Rights {
    profiles: Vec<Arc<Profile>>,
    /// How many of them are the agent's own. The others were laid over these.
    own: usize,
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

impl Explained for UnknownProfile {
    fn kind(&self) -> ErrorKind {
        ErrorKind::NotFound
    }

    fn code(&self) -> Option<ErrorCode> {
        Some(codes::PROFILE_MISSING)
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

/// What the profiles of an agent say about a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether every profile shows the tool and none denies it.
    pub is_shown: bool,
    /// Whether a person approves each call.
    pub gate: Gate,
    /// What each profile says, by slot, in the order in which the profiles were laid.
    pub opinions: Vec<Opinion>,
}

/// What one profile says about a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opinion {
    /// The profile.
    pub profile: ProfileName,
    /// Whether it shows the tool.
    pub shows: bool,
    /// What it says about calls.
    pub action: Action,
    /// The place of what decides. Absent if it has no opinion.
    pub place: Option<Place>,
    /// The reason in words.
    pub reason: &'static str,
}

impl Rights {
    /// Returns the rights of an agent with profiles laid over its own.
    ///
    /// # Errors
    /// Fails if a profile does not exist.
    pub fn of(profiles: &Profiles, agent: &Agent, overlays: &[String]) -> Result<Rights, UnknownProfile> {
        let mut own: Vec<Arc<Profile>> = Vec::new();
        for name in &agent.profiles {
            own.push(profiles.find(name.value.as_str())?);
        }
        for slot in Slot::ALL {
            if own.iter().all(|profile| profile.name.slot() != *slot) {
                own.push(profiles.default_of(*slot).clone());
            }
        }
        own.sort_by_key(|profile| profile.name.slot());
        let rights = Rights { own: own.len(), profiles: own };
        overlays.iter().try_fold(rights, |rights, name| Ok(rights.with(profiles.find(name.trim())?)))
    }

    /// Lays a profile over the others. It never shows more or asks less.
    #[must_use]
    pub fn with(mut self, profile: Arc<Profile>) -> Rights {
        if !self.profiles.iter().any(|known| known.name == profile.name) {
            self.profiles.push(profile);
        }
        self
    }

    /// Returns the profiles: those of the agent by slot, and those laid over them.
    pub fn profiles(&self) -> &[Arc<Profile>] {
        &self.profiles
    }

    /// Returns what every profile says about a tool.
    pub fn judge(&self, tool: &ToolTraits<'_>) -> Verdict {
        let opinions: Vec<Opinion> =
            self.stands(tool).map(|(profile, stand)| opinion(profile, stand)).collect();
        Verdict { is_shown: self.shows(tool), gate: self.gate(tool), opinions }
    }

    /// Returns whether every profile shows the tool and none denies it. No profile hides a control tool.
    pub fn shows(&self, tool: &ToolTraits<'_>) -> bool {
        tool.source == Source::Control || self.stands(tool).all(|(_, stand)| stand.shows())
    }

    /// Returns whether a person approves each call of the tool. A judge that is not there is a person.
    pub fn gate(&self, tool: &ToolTraits<'_>) -> Gate {
        let strictest = self.stands(tool).map(|(_, stand)| stand.action()).max().unwrap_or(Action::Allow);
        match strictest {
            Action::Allow => Gate::Allow,
            Action::Judge | Action::Ask | Action::Deny if tool.source != Source::Control => Gate::Ask,
            Action::Judge | Action::Ask | Action::Deny => Gate::Allow,
        }
    }

    /// Checks the arguments of a call against the limits of the rule that decides in each profile, and returns the
    /// gate.
    ///
    /// Paths are compared beneath `root`, as they are written; the caller resolves links before.
    ///
    /// # Errors
    /// Returns the first limit that the call is outside of.
    pub fn check_call(&self, tool: &ToolTraits<'_>, args: &Json, root: &str) -> Result<Gate, Box<Outside>> {
        for (profile, stand) in self.stands(tool) {
            if let Stand::Rule(rule) = stand
                && let Some(constrain) = &rule.constrain
            {
                limits::check(constrain, tool, args, root).map_err(|(argument, limit)| {
                    Box::new(Outside {
                        profile: profile.name.clone(),
                        place: rule.place.clone(),
                        argument,
                        limit,
                    })
                })?;
            }
        }
        Ok(self.gate(tool))
    }

    /// Returns whether one of the agent's own profiles limits the commands of a tool. What is laid over these does not
    /// count, because a person is asked about fewer calls where commands are limited.
    pub fn limits_commands(&self, tool: &ToolTraits<'_>) -> bool {
        let own = self.profiles[..self.own].iter();
        own.filter_map(|profile| constrain(profile, tool)).any(|constrain| constrain.commands.is_some())
    }

    /// Checks the commands that a call of a tool starts, each as its words, against what the profiles allow. `is_same`
    /// says whether the word that was typed for a program stands for the one that a profile allows.
    ///
    /// # Errors
    /// Returns the first profile that does not allow one of them.
    pub fn check_commands(
        &self,
        tool: &ToolTraits<'_>,
        argument: &str,
        commands: &[Vec<String>],
        is_same: &dyn Fn(&str, &str) -> bool,
    ) -> Result<(), Box<Outside>> {
        for (profile, stand) in self.stands(tool) {
            if let Stand::Rule(rule) = stand
                && let Some(allowed) = rule.constrain.as_ref().and_then(|limits| limits.commands.as_ref())
                && (commands.is_empty()
                    || !commands.iter().all(|words| limits::begins(words, allowed, is_same)))
            {
                return Err(Box::new(Outside {
                    profile: profile.name.clone(),
                    place: rule.place.clone(),
                    argument: argument.to_owned(),
                    limit: "constrain.commands",
                }));
            }
        }
        Ok(())
    }

    /// Returns the effects that commands of a tool have besides reading the workspace: those that every profile of the
    /// slot `context` grants, and with which every profile would show the tool.
    pub fn granted_effects(&self, tool: &ToolTraits<'_>) -> Vec<String> {
        let mut granted: Option<Vec<String>> = None;
        for profile in self.profiles.iter().filter(|profile| profile.name.slot() == Slot::Context) {
            let effects =
                constrain(profile, tool).and_then(|limits| limits.effects.clone()).unwrap_or_default();
            granted = Some(match granted {
                None => effects,
                Some(before) => before.into_iter().filter(|effect| effects.contains(effect)).collect(),
            });
        }
        let mut granted = granted.unwrap_or_default();
        granted.sort();
        granted.dedup();
        granted.retain(|effect| {
            let mut effects = tool.effects.to_vec();
            effects.push(effect.clone());
            self.shows(&ToolTraits { effects: &effects, ..*tool })
        });
        granted
    }

    /// Returns how often a minute the profiles let the tool be called, each with the profile that says so.
    pub fn rates(&self, tool: &ToolTraits<'_>) -> impl Iterator<Item = (&ProfileName, u64)> {
        self.stands(tool).filter_map(|(profile, stand)| match stand {
            Stand::Rule(rule) => Some((&profile.name, rule.constrain.as_ref()?.calls_per_minute?)),
            Stand::NotShown(_) | Stand::Hidden(_) | Stand::NoOpinion => None,
        })
    }

    fn stands(&self, tool: &ToolTraits<'_>) -> impl Iterator<Item = (&Profile, Stand<'_>)> {
        self.profiles.iter().map(|profile| (&**profile, profile.stand(tool)))
    }
}

/// Returns the limits that a profile sets for calls of a tool.
fn constrain<'p>(profile: &'p Profile, tool: &ToolTraits<'_>) -> Option<&'p crate::profiles::Constrain> {
    profile.rule(tool)?.constrain.as_ref()
}

fn opinion(profile: &Profile, stand: Stand<'_>) -> Opinion {
    let reason = match stand {
        Stand::NotShown(_) => "`show` does not include it",
        Stand::Hidden(_) => "`hide` names it",
        Stand::Rule(_) => "a rule matches it",
        Stand::NoOpinion => "it has no opinion",
    };
    Opinion {
        profile: profile.name.clone(),
        shows: stand.shows(),
        action: stand.action(),
        place: stand.place().cloned(),
        reason,
    }
}

#[cfg(test)]
mod tests;
