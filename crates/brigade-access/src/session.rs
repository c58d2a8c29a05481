//! What belongs to one session of an agent: profiles that narrow it, and profiles that a person gave it.

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

/// What ids of executions begin with: of a task, and of a workflow. The session of an execution has its id.
const EXECUTIONS: [&str; 2] = ["task-", "flow-"];

/// The directory of lanes in the workspace: worktrees, each in a directory that has the id of its lane.
pub const LANES: &str = ".brigade/lanes";

/// Returns the directory of the lane of a path of the workspace. `None` outside of lanes.
pub fn lane_of(path: &str) -> Option<&str> {
    let rest = path.strip_prefix(LANES)?.strip_prefix('/')?;
    let id = rest.split('/').next().filter(|id| !id.is_empty())?;
    Some(&path[..path.len() - rest.len() + id.len()])
}

/// Returns the lock of those who change files of a lane, which has this directory.
pub fn lane_lock(root: &str) -> String {
    format!("{root}.lock")
}

/// Returns the lock of a lane, which has this directory, for who begins to work in it and who takes it away. It is
/// never held for as long as a call takes, so the start of a session waits for no call.
pub fn lane_entry_lock(root: &str) -> String {
    format!("{root}.entry.lock")
}

/// Returns the directory that paths are relative to in a session with this directory of the workspace.
pub fn files_root(workspace: &Path, root: Option<&str>) -> PathBuf {
    root.map_or_else(|| workspace.to_owned(), |root| workspace.join(root))
}

/// Returns whether a session is that of one execution. Its calls belong to it alone: an equal call of another session
/// is another call, and it sees no other calls of its agent.
pub fn is_of_execution(session: &str) -> bool {
    EXECUTIONS.iter().any(|kind| session.starts_with(kind))
}

/// The profiles of one session, in addition to those of its agent.
///
/// Narrowing lays a profile over the others, so it never shows more, whatever changes later. Only a person replaces
/// one. A record of them is read whole or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionProfiles {
    #[serde(with = "granted")]
    granted: BTreeMap<Slot, GrantedProfile>,
    laid: Vec<ProfileName>,
    tasks: Vec<TaskLimits>,
}

/// What the calls of an execution of a workflow may do: what those of the session may that asked for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowRights {
    /// The names of the profiles that the call had which began it.
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
    /// Whether commands only read, whatever contexts grant.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_reads: bool,
    /// Tools whose calls a person is asked about each time.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub asks: BTreeSet<String>,
}

impl TaskLimits {
    /// Adds a tool by a name that a manifest has for it.
    pub fn add_tool(&mut self, name: &str) {
        let id = match own_name(name) {
            Some(BuiltinName::Tool(definition, _)) => definition.id,
            Some(BuiltinName::Control(_) | BuiltinName::Never(_)) | None => name,
        };
        self.tools.get_or_insert_default().insert(id.to_owned());
    }

    /// Returns the name of the profile that these limits are. Other limits of the same agent have another name.
    fn name(&self) -> ProfileName {
        let limits =
            Fingerprint::builder("brigade.task-limits.v1").json("limits", &to_json(self).unwrap_or_default());
        ProfileName::of_task(&self.agent, limits.finish())
    }

    /// Returns the limits as a profile that is laid over others. No file can have one of its name.
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

/// A profile that a person gave a session in place of its agent's own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrantedProfile {
    /// The agent's own when the person agreed.
    pub(crate) instead_of: Vec<ProfileName>,
    /// What the session has now.
    pub(crate) profile: ProfileName,
}

/// A record lists them; the slot of each is that of its profile.
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
    /// Lays a profile over the others.
    pub fn narrow(&mut self, profile: ProfileName) {
        self.laid.retain(|laid| *laid != profile);
        self.laid.push(profile);
    }

    /// Puts a profile in the place of the agent's `own` of the same slot, and of what was laid over them, because a
    /// person agreed. It holds as long as the agent's own stay the same.
    pub fn grant(&mut self, own: Vec<ProfileName>, profile: ProfileName) {
        self.laid.retain(|laid| laid.slot() != profile.slot());
        self.granted.insert(profile.slot(), GrantedProfile { instead_of: own, profile });
    }

    /// Narrows to what the manifest of an agent allows a task. No later step takes it away.
    pub fn within(&mut self, limits: TaskLimits) {
        self.tasks.push(limits);
    }

    /// Returns whether a name means what one of these tasks narrows to.
    pub fn is_of_task(&self, name: &str) -> bool {
        self.tasks.iter().any(|limits| limits.name().as_str() == name)
    }

    /// Returns what tasks narrow to.
    pub(crate) fn tasks(&self) -> &[TaskLimits] {
        &self.tasks
    }

    /// Returns the profile that a person put in the place of these.
    pub(crate) fn granted(&self, slot: Slot, own: &[&ProfileName]) -> Option<&ProfileName> {
        let granted = self.granted.get(&slot)?;
        granted.instead_of.iter().eq(own.iter().copied()).then_some(&granted.profile)
    }

    /// Returns the profiles that are laid over the others.
    pub(crate) fn laid(&self) -> &[ProfileName] {
        &self.laid
    }
}

/// One session of an agent at a gateway, which all its requests share: a process over standard input and output, a
/// client that shook hands, or all others of the agent.
#[derive(Debug)]
pub struct LiveSession {
    id: String,
    profiles: Mutex<SessionProfiles>,
    root: Option<String>,
}

impl LiveSession {
    /// Begins a session. No other one ever has the same id.
    pub fn new(id: impl Into<String>) -> LiveSession {
        LiveSession { id: id.into(), profiles: Mutex::default(), root: None }
    }

    /// Begins a session with the profiles of another one, in a directory of the workspace. The session stays there.
    pub fn like(id: impl Into<String>, profiles: SessionProfiles, root: Option<String>) -> LiveSession {
        LiveSession { id: id.into(), profiles: Mutex::new(profiles), root }
    }

    /// Returns its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the profiles that it has now.
    pub fn profiles(&self) -> SessionProfiles {
        self.lock().clone()
    }

    /// Lays a profile over the others.
    pub fn narrow(&self, profile: ProfileName) {
        self.lock().narrow(profile);
    }

    /// Puts a profile in the place of the agent's own, because a person agreed.
    pub fn grant(&self, own: Vec<ProfileName>, profile: ProfileName) {
        self.lock().grant(own, profile);
    }

    /// Returns the directory in the workspace that paths of its calls are relative to. `None`: the workspace itself.
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
        // Another name, another type, a member that is missing or unknown.
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
