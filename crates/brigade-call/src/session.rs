//! The session of an agent in which a call was requested.

use brigade_access::builtin::{Definition, definition};
use brigade_access::is_of_execution;
use brigade_core::Fingerprint;
use serde::{Deserialize, Serialize};

/// Prefixes of the tools that act on the session in which their calls were requested.
const SESSION_TOOL_PREFIXES: &[&str] = &["session.", "todo."];

/// The session of an agent in which a call was requested, as records have it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CallSession {
    /// Its id.
    pub id: String,
    /// The profiles that showed the tool to the agent, in the order in which they apply.
    #[serde(default)]
    pub profiles: Vec<String>,
    /// The directory in the workspace that paths of the call are relative to; absent for the workspace itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
}

impl CallSession {
    /// Returns the directory in the workspace that paths of a call of this tool are relative to. `None` for the
    /// workspace itself, as for every tool that is not built in.
    pub fn root_of(&self, tool_id: &str) -> Option<&str> {
        let uses_files = definition(tool_id).is_some_and(Definition::uses_files);
        self.root.as_deref().filter(|_| uses_files)
    }

    /// Returns what an approval binds of the session: the parts that affect the call. `None` if no part does. Then the
    /// agent may continue the call in another session.
    pub(crate) fn bound(&self, tool_id: &str) -> Option<Fingerprint> {
        let is_of_session =
            SESSION_TOOL_PREFIXES.iter().any(|group| tool_id.starts_with(group)) || is_of_execution(&self.id);
        let id = is_of_session.then_some(self.id.as_str());
        (id.is_some() || self.root.is_some()).then(|| {
            Fingerprint::builder("brigade.session.v1")
                .text("id", id)
                .text("root", self.root.as_deref())
                .finish()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::Change;
    use crate::cases::Case;

    #[test]
    fn session_facts_that_affect_the_call_are_bound() {
        let session = |id: &str, root: Option<&str>| CallSession {
            id: id.to_owned(),
            profiles: vec!["mode.any".to_owned()],
            root: root.map(str::to_owned),
        };
        assert_eq!(session("a", None).bound("fs.read"), None);
        assert_ne!(session("flow-a", None).bound("fs.read"), session("flow-b", None).bound("fs.read"));
        assert_ne!(session("task-a", None).bound("fs.read"), session("a", None).bound("fs.read"));
        assert_ne!(session("a", None).bound("session.mode"), session("b", None).bound("session.mode"));
        assert_eq!(session("a", Some("x")).bound("fs.read"), session("b", Some("x")).bound("fs.read"));
        assert_ne!(session("a", Some("x")).bound("fs.read"), session("a", Some("y")).bound("fs.read"));
    }

    #[test]
    fn a_call_on_another_session_or_directory_differs() {
        let asked = |root: &str| {
            let session = CallSession { root: Some(root.to_owned()), ..CallSession::default() };
            Case { session: Some(session), ..Case::new() }
        };
        let (here, there) = (asked("lanes/a"), asked("lanes/b"));
        assert!(!here.queued().asks_the_same_as(&there.queued()));
        assert_eq!(here.plan().binding().changes(there.plan().binding()), [Change::Session]);
        assert_eq!(here.queued().session, here.session);
    }
}
