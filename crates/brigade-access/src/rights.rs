//! The rights of an agent: its profiles, and what they say about tools and calls.

use std::collections::BTreeSet;
use std::sync::Arc;

use brigade_core::{Json, Place};
use brigade_policy::approval::{
    self, Action, Approval, ArgumentCheck, CallFacts, Request, ReviewState, ToolApproval, ToolFacts,
};

use crate::builtin::{COMMAND, definition};
use crate::gateway::Agent;
use crate::limits::{self, CallLimits, LimitViolation, SameWords};
use crate::profiles::{Profile, ProfileVerdict, Profiles, Rule, UnknownProfile};
use crate::session::{SessionProfiles, TaskLimits};
use crate::slot::{ProfileName, Slot};
use crate::traits::{Source, ToolTraits};

/// The permission profile with which rules decide about calls that need a person otherwise.
const FULL_AUTO: &str = "permission.full-auto";

/// The mode of tasks and workflows.
const INNER_MODE: &str = "mode.agent-loop";

/// The profiles of an agent: one in each slot, guards, and overlays.
///
/// A tool is visible if all show it, and the strictest decides about its calls. So adding a profile only narrows.
#[derive(Clone, Debug)]
pub struct Rights {
    /// The agent's profiles or those that a person gave the session instead, by slot; then the overlays.
    profiles: Vec<Arc<Profile>>,
    /// How many of the first profiles are not overlays.
    own: usize,
    /// How many of the last profiles cannot be changed in a session.
    fixed: usize,
    /// Tools that the access profiles do not hide, because a person approves each call.
    asked: BTreeSet<String>,
}

/// The opinion of one profile about a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opinion {
    /// The profile.
    pub profile: ProfileName,
    /// Whether it shows the tool.
    pub shows: bool,
    /// What it says about calls.
    pub action: Action,
    /// The place of the deciding rule or list. `None` if the profile has no opinion.
    pub place: Option<Place>,
    /// The reason in words.
    pub reason: &'static str,
    /// Limits of the deciding rule that do not apply to the tool. Catalog entries do not say which arguments are paths,
    /// URLs or contents, and their command is not an argument.
    pub not_held: Vec<&'static str>,
}

impl Rights {
    /// Returns the rights of an agent with these overlays.
    ///
    /// # Errors
    /// Fails if a profile does not exist.
    pub fn new(profiles: &Profiles, agent: &Agent, overlays: &[String]) -> Result<Rights, UnknownProfile> {
        Rights::of_session(profiles, agent, &SessionProfiles::default(), overlays)
    }

    /// Returns the rights of one session of an agent, with these overlays.
    ///
    /// # Errors
    /// Fails if a profile does not exist.
    pub fn of_session(
        profiles: &Profiles,
        agent: &Agent,
        session: &SessionProfiles,
        overlays: &[String],
    ) -> Result<Rights, UnknownProfile> {
        let mut own = own_profiles(profiles, agent)?;
        if session.is_inner() {
            own.retain(|profile| profile.name.slot() != Slot::Mode);
            own.push(profiles.find(INNER_MODE)?);
        }
        for slot in Slot::ALL {
            let names: Vec<&ProfileName> = names_of(&own, *slot).collect();
            let Some(granted) = session.granted(*slot, &names) else { continue };
            let granted = profiles.find(granted.as_str())?;
            own.retain(|profile| profile.name.slot() != *slot);
            own.push(granted);
        }
        own.sort_by_key(|profile| profile.name.slot());
        let asked = session.tasks().iter().flat_map(|limits| limits.asks.iter().cloned()).collect();
        let mut rights = Rights { own: own.len(), profiles: own, fixed: 0, asked };
        for name in session.laid() {
            rights = rights.with(profiles.find(name.as_str())?);
        }
        let before = rights.profiles.len();
        // If a task starts a task of the same agent, the limits of both apply.
        rights.profiles.extend(session.tasks().iter().map(TaskLimits::profile));
        // Records also list the profiles of task limits, which were added above. They exist only in that session.
        for name in overlays.iter().filter(|name| !session.is_of_task(name)) {
            let profile = profiles.find(name.trim())?;
            // They also list the mode of the session that began a task or workflow.
            if !(session.is_inner() && profile.name.slot() == Slot::Mode) {
                rights = rights.with(profile);
            }
        }
        rights.fixed = rights.profiles.len() - before;
        Ok(rights)
    }

    /// Returns the names of an agent's own profiles in a slot.
    ///
    /// # Errors
    /// Fails if a profile does not exist.
    pub fn own_names(
        profiles: &Profiles,
        agent: &Agent,
        slot: Slot,
    ) -> Result<Vec<ProfileName>, UnknownProfile> {
        Ok(names_of(&own_profiles(profiles, agent)?, slot).cloned().collect())
    }

    /// Returns the rights with this profile instead of all profiles of its slot that a person may replace.
    #[must_use]
    pub fn instead(&self, profile: Arc<Profile>) -> Rights {
        let (own, laid) = self.profiles.split_at(self.own);
        let (laid, fixed) = laid.split_at(laid.len() - self.fixed);
        let is_other = |known: &&Arc<Profile>| known.name.slot() != profile.name.slot();
        let mut profiles: Vec<Arc<Profile>> = own.iter().filter(is_other).cloned().collect();
        let laid: Vec<Arc<Profile>> = laid.iter().filter(is_other).cloned().collect();
        profiles.push(profile);
        let own = profiles.len();
        profiles.extend(laid);
        profiles.extend(fixed.iter().cloned());
        Rights { profiles, own, fixed: self.fixed, asked: self.asked.clone() }
    }

    /// Returns the name of the last profile in a slot, which is the narrowest.
    pub fn last_of(&self, slot: Slot) -> Option<&ProfileName> {
        names_of(&self.profiles, slot).last()
    }

    /// Returns the profile of a slot that cannot be changed in a session and hides one of the tools that `profile`
    /// shows.
    pub fn fixed_against<'t>(
        &self,
        profile: &Profile,
        tools: impl IntoIterator<Item = ToolTraits<'t>>,
    ) -> Option<&ProfileName> {
        let fixed = &self.profiles[self.profiles.len() - self.fixed..];
        let fixed: Vec<_> = fixed.iter().filter(|known| known.name.slot() == profile.name.slot()).collect();
        tools.into_iter().filter(|tool| profile.verdict(tool).shows()).find_map(|tool| {
            let hiding = fixed.iter().find(|known| !known.verdict(&tool).shows())?;
            Some(&hiding.name)
        })
    }

    /// Returns whether these rights show no tool that the others hide, and are at least as strict about calls.
    pub fn is_within<'t>(&self, others: &Rights, tools: impl IntoIterator<Item = ToolTraits<'t>>) -> bool {
        tools
            .into_iter()
            .filter(|tool| self.shows(tool))
            .all(|tool| others.shows(&tool) && others.strictest(&tool) <= self.strictest(&tool))
    }

    /// Adds an overlay. An overlay never shows more or needs fewer approvals.
    #[must_use]
    pub fn with(mut self, profile: Arc<Profile>) -> Rights {
        if !self.profiles.iter().any(|known| known.name == profile.name) {
            self.profiles.push(profile);
        }
        self
    }

    /// Returns the profiles: those of the agent by slot, then the overlays.
    pub fn profiles(&self) -> &[Arc<Profile>] {
        &self.profiles
    }

    /// Returns the opinion of every profile about a tool, by slot, then in the order in which profiles were added.
    pub fn opinions(&self, tool: &ToolTraits<'_>) -> Vec<Opinion> {
        self.verdicts(tool).map(|(profile, verdict)| opinion(profile, verdict, tool)).collect()
    }

    /// Returns whether every profile shows the tool and none denies it. No profile hides a control tool.
    pub fn shows(&self, tool: &ToolTraits<'_>) -> bool {
        tool.source == Source::Control || self.verdicts(tool).all(|(_, stand)| stand.shows())
    }

    /// Returns the first profile that hides a tool.
    pub fn hidden_by<'s>(&'s self, tool: &'s ToolTraits<'_>) -> Option<&'s ProfileName> {
        self.verdicts(tool).find(|(_, verdict)| !verdict.shows()).map(|(profile, _)| &profile.name)
    }

    /// Returns the strictest action of the profiles for calls of the tool. Profiles do not decide about control tools.
    pub fn strictest(&self, tool: &ToolTraits<'_>) -> Action {
        let actions = self.verdicts(tool).filter(|_| tool.source != Source::Control);
        actions.map(|(_, verdict)| verdict.action()).max().unwrap_or(Action::Allow)
    }

    /// Decides which approval a call of a tool needs; without a call, what calls of it need at least.
    pub fn approval<'a>(
        &self,
        tool: &ToolTraits<'a>,
        check: ArgumentCheck,
        reviewed: &'a ReviewState,
        call: Option<CallFacts<'a>>,
    ) -> Approval<'a> {
        approval::decide(&self.approval_request(tool, check, reviewed, call))
    }

    /// Returns the input of the decision in [`Rights::approval`].
    pub fn approval_request<'a>(
        &self,
        tool: &ToolTraits<'a>,
        check: ArgumentCheck,
        reviewed: &'a ReviewState,
        call: Option<CallFacts<'a>>,
    ) -> Request<'a> {
        let own = match tool.source {
            Source::Control => Some(ToolApproval::None),
            Source::Builtin => definition(tool.id).map(|row| row.approval),
            Source::Catalog { .. } | Source::Offer { .. } => None,
        };
        let is_limited = |profile: &Arc<Profile>| {
            profile.name.slot() == Slot::Permission && profile.name.as_str() != FULL_AUTO
        };
        let tool = ToolFacts {
            id: tool.id,
            effects: tool.effects,
            risk: tool.risk,
            approval_mode: tool.approval_mode,
            own,
            profiles: self.strictest(tool),
            is_full_auto: !self.profiles.iter().any(is_limited),
            runs_any_command: tool.source == Source::Builtin
                && tool.id == COMMAND
                && !self.limits_commands(tool),
            check,
            reviewed,
        };
        Request { tool, call }
    }

    /// Checks the arguments of a call against the limits of the rule that decides in each profile.
    ///
    /// Paths are compared as text, relative to `root`; the caller resolves links first.
    ///
    /// # Errors
    /// Returns the first limit that the call exceeds.
    pub fn check_call(
        &self,
        tool: &ToolTraits<'_>,
        args: &Json,
        root: &str,
    ) -> Result<(), Box<LimitViolation>> {
        for (profile, stand) in self.verdicts(tool) {
            if let ProfileVerdict::Rule(rule) = stand
                && let Some(constrain) = &rule.constrain
            {
                limits::check(constrain, tool, args, root).map_err(|(argument, limit)| {
                    Box::new(LimitViolation {
                        profile: profile.name.clone(),
                        place: rule.place.clone(),
                        argument,
                        limit,
                    })
                })?;
            }
        }
        Ok(())
    }

    /// Returns the limits of the profiles for calls of a tool, for values that are not arguments.
    pub fn limits(&self, tool: &ToolTraits<'_>) -> CallLimits {
        let mut limits = CallLimits::default();
        for (profile, stand) in self.verdicts(tool) {
            if let ProfileVerdict::Rule(Rule { constrain: Some(constrain), place, .. }) = stand {
                limits.add(&profile.name, place, constrain);
            }
        }
        limits
    }

    /// Returns whether one of the agent's own profiles limits the commands of a tool. Overlays do not count, because
    /// limited commands need fewer approvals.
    pub fn limits_commands(&self, tool: &ToolTraits<'_>) -> bool {
        let own = self.profiles[..self.own].iter();
        own.filter_map(|profile| constrain(profile, tool)).any(|constrain| constrain.commands.is_some())
    }

    /// Checks the commands that a call of a tool starts, each as its words, against the profiles. `same` compares typed
    /// words with allowed words.
    ///
    /// # Errors
    /// Returns the first profile that does not allow one of them.
    pub fn check_commands(
        &self,
        tool: &ToolTraits<'_>,
        argument: &str,
        commands: &[Vec<String>],
        same: SameWords<'_>,
    ) -> Result<(), Box<LimitViolation>> {
        for (profile, stand) in self.verdicts(tool) {
            if let ProfileVerdict::Rule(rule) = stand
                && let Some(allowed) = rule.constrain.as_ref().and_then(|limits| limits.commands.as_ref())
                && (commands.is_empty() || !commands.iter().all(|words| limits::begins(words, allowed, same)))
            {
                return Err(Box::new(LimitViolation {
                    profile: profile.name.clone(),
                    place: rule.place.clone(),
                    argument: argument.to_owned(),
                    limit: "constrain.commands",
                }));
            }
        }
        Ok(())
    }

    /// Returns the effects that commands of a tool may have in addition to reading the workspace. Every profile of the
    /// slot `context` must grant them, and every profile must show a tool with them.
    pub fn granted_effects(&self, tool: &ToolTraits<'_>) -> Vec<String> {
        let mut granted: Option<Vec<String>> = None;
        for profile in self.profiles.iter().filter(|profile| profile.name.slot() == Slot::Context) {
            let effects = constrain(profile, tool).and_then(|limits| limits.effects.clone());
            // Limits of a task without effects narrow only tools and commands.
            if profile.name.is_of_task() && effects.is_none() {
                continue;
            }
            let effects = effects.unwrap_or_default();
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

    /// Returns the limits of calls per minute, each with its profile.
    pub fn rates<'s>(&'s self, tool: &'s ToolTraits<'_>) -> impl Iterator<Item = (&'s ProfileName, u64)> {
        self.verdicts(tool).filter_map(|(profile, stand)| match stand {
            ProfileVerdict::Rule(rule) => Some((&profile.name, rule.constrain.as_ref()?.calls_per_minute?)),
            ProfileVerdict::NotShown(_) | ProfileVerdict::Hidden(_) | ProfileVerdict::NoOpinion => None,
        })
    }

    fn verdicts<'s>(
        &'s self,
        tool: &'s ToolTraits<'_>,
    ) -> impl Iterator<Item = (&'s Profile, ProfileVerdict<'s>)> {
        let is_lifted = |profile: &Profile, verdict: &ProfileVerdict<'_>| {
            profile.name.slot() == Slot::Access && !verdict.shows() && self.asked.contains(tool.id)
        };
        self.profiles.iter().map(move |profile| match profile.verdict(tool) {
            verdict if is_lifted(profile, &verdict) => (&**profile, ProfileVerdict::NoOpinion),
            verdict => (&**profile, verdict),
        })
    }
}

/// Returns the limits that a profile sets for calls of a tool.
fn constrain<'p>(profile: &'p Profile, tool: &ToolTraits<'_>) -> Option<&'p crate::profiles::RuleLimits> {
    profile.rule(tool)?.constrain.as_ref()
}

/// Returns the profiles of an agent, at least one in each slot.
fn own_profiles(profiles: &Profiles, agent: &Agent) -> Result<Vec<Arc<Profile>>, UnknownProfile> {
    let mut own: Vec<Arc<Profile>> = Vec::new();
    for name in &agent.profiles {
        own.push(profiles.find(name.value.as_str())?);
    }
    for slot in Slot::ALL {
        if own.iter().all(|profile| profile.name.slot() != *slot) {
            own.push(profiles.default_of(*slot).clone());
        }
    }
    Ok(own)
}

fn names_of(profiles: &[Arc<Profile>], slot: Slot) -> impl Iterator<Item = &ProfileName> {
    profiles.iter().map(|profile| &profile.name).filter(move |name| name.slot() == slot)
}

fn opinion(profile: &Profile, stand: ProfileVerdict<'_>, tool: &ToolTraits<'_>) -> Opinion {
    let not_held = match stand {
        ProfileVerdict::Rule(Rule { constrain: Some(constrain), .. }) => limits::not_held(constrain, tool),
        _ => Vec::new(),
    };
    let reason = match stand {
        ProfileVerdict::NotShown(_) => "`show` does not include it",
        ProfileVerdict::Hidden(_) => "`hide` names it",
        ProfileVerdict::Rule(_) => "a rule matches it",
        ProfileVerdict::NoOpinion => "it has no opinion",
    };
    Opinion {
        profile: profile.name.clone(),
        shows: stand.shows(),
        action: stand.action(),
        place: stand.place().cloned(),
        reason,
        not_held,
    }
}

#[cfg(test)]
mod tests;
