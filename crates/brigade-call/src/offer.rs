//! What the hosts of a team would run for a call.

use brigade_core::{Fingerprint, Timestamp};
use brigade_policy::Access;
use serde::{Deserialize, Serialize};

use crate::binding::Binding;

/// What one host would run for a call, as its runner said.
///
/// A host says this about itself, so an approval covers it only after a person was shown it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostOffer {
    /// The host. It is kept beside the document.
    #[serde(skip)]
    pub host: String,
    /// Whether it is this host.
    #[serde(skip)]
    pub is_own: bool,
    /// When it was offered last. It is kept beside the document.
    #[serde(skip)]
    pub offered_at: Option<Timestamp>,
    /// What an approval binds there; absent if the tool does not exist.
    pub binding: Option<Binding>,
    /// The accesses that the host's policy allows.
    pub access: Access,
    /// Why the call could not be approved there, as sentences.
    pub blockers: Vec<String>,
    /// Why the runner passed the approved call over.
    pub passed_over: Option<String>,
}

impl HostOffer {
    /// Returns what would be bound there, if an approval for these shared inputs can cover it.
    pub fn covered_by(&self, shared: Fingerprint) -> Option<&Binding> {
        let is_free = self.blockers.is_empty();
        self.binding.as_ref().filter(|binding| is_free && binding.shared_part() == shared)
    }
}
