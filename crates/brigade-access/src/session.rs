//! Profiles that one session of an agent has: overlays that narrow it, and profiles that a person gave it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use brigade_core::json::to_json;
use brigade_core::{Fingerprint, Place};
use brigade_policy::LocatedValue;
use serde::{Deserialize, Serialize};

use crate::builtin::{BuiltinName, COMMAND, own_name};
use crate::matcher::Matcher;
use crate::profiles::{Action, Profile, Rule, RuleLimits};
use crate::slot::{ProfileName, Slot};

/// Prefixes of execution ids: of tasks and of workflows. The session of an execution has the same id.
const EXECUTIONS: [&str; 2] = ["task-", "flow-"];

/// The directory of lanes in the workspace. Each lane is a worktree in a directory named by its id.
pub const LANES: &str = ".brigade/lanes";

/// Returns the directory of the lane that contains a path of the workspace. `None` if the path is outside of all lanes.
pub fn lane_of(path: &str) -> Option<&str> {
    let rest = path.strip_prefix(LANES)?.strip_prefix('/')?;
    let id = rest.split('/').next().filter(|id| !id.is_empty())?;
    Some(&path[..path.len() - rest.len() + id.len()])
}

/// Returns the name of the lock for changing files in a lane with this directory.
pub fn lane_lock(root: &str) -> String {
    format!("{root}.lock")
}

/// Returns the name of the lock for starting to work in a lane, or removing it. It is never held during a call, so
/// starting never waits for a call.
pub fn lane_entry_lock(root: &str) -> String {
    format!("{root}.entry.lock")
}

/// Returns the directory that paths are relative to, in a session with this `root`.
pub fn files_root(workspace: &Path, root: Option<&str>) -> PathBuf {
    root.map_or_else(|| workspace.to_owned(), |root| workspace.join(root))
}

/// Returns whether a session belongs to one execution. Its calls are separate: it does not share equal calls with other
/// sessions, and sees no other calls of its agent.
pub fn is_of_execution(session: &str) -> bool {
    EXECUTIONS.iter().any(|kind| session.starts_with(kind))
}

/// The profiles of one session, in addition to those of its agent.
///
/// Narrowing adds an overlay, so it never shows more, whatever changes later. Only a person can replace a profile.
/// Records with unknown members are not read.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionProfiles {
    #[serde(with = "granted")]
    granted: BTreeMap<Slot, GrantedProfile>,
    laid: Vec<ProfileName>,
    tasks: Vec<TaskLimits>,
    /// Whether it is the inner loop of a task or workflow, where the agent's modes do not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    inner: bool,
}

/// The rights of the calls of a workflow's execution: those of the session that started it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowRights {
    /// The names of the profiles of the call that started it.
    pub profiles: Vec<String>,
    /// The directory in the workspace that paths are relative to.
    pub root: Option<String>,
    /// The profiles of the session.
    pub session: SessionProfiles,
}

/// The part of the caller's rights that an agent's manifest grants to its tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskLimits {
    /// The name in the manifest.
    pub agent: String,
    /// The ids of the tools that it may call. Absent: all.
    pub tools: Option<BTreeSet<String>>,
    /// First words of the commands that it may run. Absent: all.
    pub commands: Option<BTreeSet<String>>,
    /// Whether commands may only read, whatever contexts grant.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_reads: bool,
    /// Tools whose calls always need a person. As a person approves each call, the access of the caller does not count.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub asks: BTreeSet<String>,
}

impl TaskLimits {
    /// Adds a tool by its name in a manifest.
    pub fn add_tool(&mut self, name: &str) {
        let id = match own_name(name) {
            Some(BuiltinName::Tool(definition, _)) => definition.id,
            Some(BuiltinName::Control(_) | BuiltinName::Never(_)) | None => name,
        };
        self.tools.get_or_insert_default().insert(id.to_owned());
    }

    /// Returns the name of the profile for these limits. Other limits of the same agent get another name.
    fn name(&self) -> ProfileName {
        let limits =
            Fingerprint::builder("brigade.task-limits.v1").json("limits", &to_json(self).unwrap_or_default());
        ProfileName::of_task(&self.agent, limits.finish())
    }

    /// Returns the limits as an overlay. Profiles in files cannot have its name.
    pub(crate) fn profile(&self) -> Arc<Profile> {
        let place = Place::file(format!("the manifest of {}", self.agent));
        let matcher = |id: &str| {
            let is_id = id.chars().all(|c| c.is_alphanumeric() || "._-/:@".contains(c));
            let value = Matcher::parse(&format!("id:{id}")).ok().filter(|_| is_id)?;
            Some(LocatedValue { value, place: place.clone() })
        };
        let limits = RuleLimits {
            commands: self.commands.as_ref().map(|words| words.iter().cloned().collect()),
            effects: self.only_reads.then(Vec::new),
            ..RuleLimits::default()
        };
        let commands = (limits != RuleLimits::default()).then(|| Rule {
            place: place.clone(),
            matches: matcher(COMMAND).into_iter().collect(),
            action: Action::Allow,
            constrain: Some(limits),
        });
        let asks = Some(Rule {
            place: place.clone(),
            matches: self.asks.iter().filter_map(|id| matcher(id)).collect(),
            action: Action::Ask,
            constrain: None,
        });
        let asks = asks.filter(|rule| !rule.matches.is_empty());
        Arc::new(Profile {
            name: self.name(),
            is_shipped: false,
            show: self.tools.as_ref().map(|ids| ids.iter().filter_map(|id| matcher(id)).collect()),
            show_place: None,
            hide: Vec::new(),
            rules: commands.into_iter().chain(asks).collect(),
            place,
        })
    }
}

/// A profile that a person gave a session instead of its agent's own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrantedProfile {
    /// The agent's own profiles when the person agreed.
    pub(crate) instead_of: Vec<ProfileName>,
    /// The profile that the session has instead.
    pub(crate) profile: ProfileName,
}

/// Records list them without their slots, which the names of the profiles give.
mod granted {
    use std::collections::BTreeMap;

    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::{GrantedProfile, Slot};

    pub(super) fn serialize<S: Serializer>(
        granted: &BTreeMap<Slot, GrantedProfile>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(granted.values())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<Slot, GrantedProfile>, D::Error> {
        let all = Vec::<GrantedProfile>::deserialize(deserializer)?;
        Ok(all.into_iter().map(|granted| (granted.profile.slot(), granted)).collect())
    }
}

impl SessionProfiles {
    /// Adds an overlay.
    pub fn narrow(&mut self, profile: ProfileName) {
        self.laid.retain(|laid| *laid != profile);
        self.laid.push(profile);
    }

    /// Replaces the agent's `own` profiles of the same slot and their overlays, because a person agreed. Lapses when
    /// the agent's own profiles change.
    pub fn grant(&mut self, own: Vec<ProfileName>, profile: ProfileName) {
        self.laid.retain(|laid| laid.slot() != profile.slot());
        self.granted.insert(profile.slot(), GrantedProfile { instead_of: own, profile });
    }

    /// Returns the profiles of a task or workflow that the session begins. A mode says what a session is shown, so
    /// modes up to here do not count there; those that are added later do.
    #[must_use]
    pub fn inside(mut self) -> SessionProfiles {
        if !self.inner {
            self.granted.remove(&Slot::Mode);
            self.laid.retain(|laid| laid.slot() != Slot::Mode);
            self.inner = true;
        }
        self
    }

    /// Returns whether these are the profiles of a task or workflow.
    pub(crate) fn is_inner(&self) -> bool {
        self.inner
    }

    /// Adds the limits of a task from its agent's manifest. They are never removed.
    pub fn within(&mut self, limits: TaskLimits) {
        self.tasks.push(limits);
    }

    /// Returns whether a name is the profile of one of these tasks' limits.
    pub fn is_of_task(&self, name: &str) -> bool {
        self.tasks.iter().any(|limits| limits.name().as_str() == name)
    }

    /// Returns the limits of the tasks.
    pub(crate) fn tasks(&self) -> &[TaskLimits] {
        &self.tasks
    }

    /// Returns the profile that a person gave instead of these.
    pub(crate) fn granted(&self, slot: Slot, own: &[&ProfileName]) -> Option<&ProfileName> {
        let granted = self.granted.get(&slot)?;
        granted.instead_of.iter().eq(own.iter().copied()).then_some(&granted.profile)
    }

    /// Returns the overlays.
    pub(crate) fn laid(&self) -> &[ProfileName] {
        &self.laid
    }
}

/// One session of an agent at a gateway, shared by its requests. Processes on standard input and clients with a
/// handshake have their own session; all other requests of an agent share one.
#[derive(Debug)]
pub struct LiveSession {
    id: String,
    profiles: Mutex<SessionProfiles>,
    root: Option<String>,
}

impl LiveSession {
    /// Creates a session. The id must be unique.
    pub fn new(id: impl Into<String>) -> LiveSession {
        LiveSession { id: id.into(), profiles: Mutex::default(), root: None }
    }

    /// Creates a session with the profiles of another one and a fixed directory of the workspace.
    pub fn like(id: impl Into<String>, profiles: SessionProfiles, root: Option<String>) -> LiveSession {
        LiveSession { id: id.into(), profiles: Mutex::new(profiles), root }
    }

    /// Returns its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns its current profiles.
    pub fn profiles(&self) -> SessionProfiles {
        self.lock().clone()
    }

    /// Adds an overlay.
    pub fn narrow(&self, profile: ProfileName) {
        self.lock().narrow(profile);
    }

    /// Replaces the agent's own profiles of a slot, because a person agreed.
    pub fn grant(&self, own: Vec<ProfileName>, profile: ProfileName) {
        self.lock().grant(own, profile);
    }

    /// Returns the directory of the workspace that paths of its calls are relative to. `None` means the workspace
    /// itself.
    pub fn root(&self) -> Option<&str> {
        self.root.as_deref()
    }

    fn lock(&self) -> MutexGuard<'_, SessionProfiles> {
        self.profiles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use brigade_core::Json;
    use brigade_core::json::from_json;

    use super::*;

    #[test]
    fn a_path_lies_in_at_most_one_lane() {
        for (path, lane) in [
            (".brigade/lanes/lane-1", Some(".brigade/lanes/lane-1")),
            (".brigade/lanes/lane-1/src/a", Some(".brigade/lanes/lane-1")),
            (".brigade/lanes", None),
            (".brigade/lanes/", None),
            (".brigade/lanesx/a", None),
            ("src/.brigade/lanes/a", None),
            ("", None),
        ] {
            assert_eq!(lane_of(path), lane, "{path}");
        }
    }

    #[test]
    fn a_record_of_profiles_is_read_whole_or_not_at_all() {
        let name = |text: &str| text.parse::<ProfileName>().unwrap();
        let mut profiles = SessionProfiles::default();
        profiles.grant(vec![name("mode.chat")], name("mode.operator"));
        profiles.narrow(name("permission.plan"));
        profiles.within(TaskLimits { agent: "cook".to_owned(), ..TaskLimits::default() });
        let rights = FlowRights { profiles: vec!["mode.chat".to_owned()], root: None, session: profiles };
        let written = concat!(
            r#"{"profiles":["mode.chat"],"root":null,"#,
            r#""session":{"granted":[{"instead_of":["mode.chat"],"profile":"mode.operator"}],"#,
            r#""laid":["permission.plan"],"tasks":[{"agent":"cook","commands":null,"tools":null}]}}"#,
        );
        assert_eq!(to_json(&rights).unwrap().to_compact(), written);
        assert_eq!(from_json::<FlowRights>(&Json::parse(written).unwrap()).unwrap(), rights);
        // A wrong name, a wrong type, a missing member and an unknown member.
        for (old, new) in [
            ("permission.plan", "nothing"),
            (r#"["permission.plan"]"#, "null"),
            (r#""laid""#, r#""held""#),
            (r#""session""#, r#""sessions""#),
            (r#""instead_of""#, r#""instead""#),
        ] {
            let broken = Json::parse(&written.replace(old, new)).unwrap();
            assert!(from_json::<FlowRights>(&broken).is_err(), "{old}");
        }
        assert!(from_json::<FlowRights>(&Json::Null).is_err());
    }
}
