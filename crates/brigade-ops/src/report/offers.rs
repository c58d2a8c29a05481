//! What the hosts of a team would run, in the documents about a call.

use std::collections::BTreeMap;

use brigade_call::ProgramBinding;
use brigade_core::Fingerprint;
use brigade_macros::part;
use brigade_policy::Access;

/// What some hosts of a team would run for a call, all the same.
#[part(PartialEq)]
pub struct OfferGroup {
    /// The hosts.
    pub hosts: Vec<String>,
    /// Whether an approval on this host covers them: their checkouts have the same shared part, without blockers.
    pub covered: bool,
    /// The fingerprint of what is the same on every host that an approval covers; absent if the tool does not exist.
    pub shared_part: Option<Fingerprint>,
    /// The fingerprint of what may differ from host to host.
    pub host_part: Option<Fingerprint>,
    /// The program.
    pub program: Option<ProgramBinding>,
    /// Interpreters and other code outside of the workspace, by path.
    pub files: BTreeMap<String, Fingerprint>,
    /// The listing of an MCP tool by its server.
    pub pin: Option<Fingerprint>,
    /// The decision of the hosts' policies.
    pub policy: Option<Fingerprint>,
    /// The accesses that it allows.
    pub access: Access,
    /// What differs from the plan of this host.
    pub differs: Vec<String>,
    /// Why the call cannot be approved for these hosts, as sentences.
    pub blockers: Vec<String>,
    /// Why their runners passed the approved call over.
    pub passed_over: Option<String>,
}
