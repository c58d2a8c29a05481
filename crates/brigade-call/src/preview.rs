//! Shows what a call would run and access, for a person who reviews it.

use std::collections::BTreeSet;

use brigade_core::{CallId, Json, Object, Timestamp};
use brigade_macros::part;
use brigade_policy::Access;
use serde::{Deserialize, Serialize};

use crate::binding::Binding;
use crate::call::Call;
use crate::code::BoundCode;
use crate::plan::Plan;

/// What a call would run and access, what its approval binds, and how it differs from the last approved call.
#[part(PartialEq)]
pub struct Preview {
    /// The words of the command line, without secrets; empty if it cannot be built.
    pub argv: Vec<String>,
    /// Why the arguments were not checked; absent if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<String>,
    /// The accesses that it may make.
    pub access: Access,
    /// The inputs that an approval binds.
    pub binding: Binding,
    /// The effects for which the process of its server is opened, if the server serves other calls, too; otherwise
    /// empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_effects: Vec<String>,
    /// The tools that this process serves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_tools: Vec<String>,
    /// The program that `PATH` led to when the call was queued, if it leads to another one now; otherwise `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_program: Option<String>,
    /// Which files it binds and by what, and which files it does not bind.
    pub bound_code: BoundCode,
    /// How it differs from the last approved call of the tool; `null` without such a call.
    pub last_approved: Option<Difference>,
}

/// How a call differs from an earlier one that was approved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Difference {
    /// The earlier call.
    #[cfg_attr(feature = "schemas", schemars(with = "String"))]
    pub call_id: CallId,
    /// When it was approved.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<String>"))]
    pub reviewed_at: Option<Timestamp>,
    /// The arguments that differ, by name.
    pub arguments: Vec<ArgumentChange>,
    /// The labels of the contract that differ, such as effects, by name.
    #[serde(default)]
    pub contract: Vec<ArgumentChange>,
    /// Names of other bound inputs that differ.
    pub changed: Vec<String>,
    /// Whether Brigade v0.30 approved the earlier call. It bound nothing, so only arguments and labels are compared.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unbound: bool,
}

/// One argument, or one label of the contract, of two calls.
#[part(PartialEq)]
pub struct ArgumentChange {
    /// The argument or label.
    pub name: String,
    /// Its value in the earlier call; `null` if it was not given.
    pub before: Json,
    /// Its value now; `null` if it is not given.
    pub value: Json,
}

impl Preview {
    /// Shows the plan of a call with the last approved call of its tool, and the files that nothing covers.
    pub fn new(plan: &Plan, call: &Call, last_approved: Option<&Call>, unbound: Vec<String>) -> Preview {
        let server = plan.server().cloned().unwrap_or_default();
        Preview {
            server_effects: server.effects.iter().cloned().collect(),
            server_tools: server.tools.iter().cloned().collect(),
            argv: plan.shown_argv(),
            unchecked: plan.unchecked().map(str::to_owned),
            queued_program: plan.program_when_queued(call).map(str::to_owned),
            access: plan.decision().sandbox.access(),
            binding: plan.binding().clone(),
            bound_code: BoundCode { unbound, ..plan.code().clone() },
            last_approved: last_approved.and_then(|earlier| Difference::from(earlier, plan)),
        }
    }
}

impl Difference {
    /// Compares a plan with an approved call. `None` if that call was not approved.
    fn from(earlier: &Call, plan: &Plan) -> Option<Difference> {
        if !earlier.was_approved() {
            return None;
        }
        let empty = Object::new();
        let before = earlier.args.as_object().unwrap_or(&empty);
        let now = plan.args().as_object().unwrap_or(&empty);
        let approval = earlier.approval.as_ref();
        let changes = approval.map(|approval| approval.binding.changes(plan.binding())).unwrap_or_default();
        // The arguments are compared one by one.
        let changed = changes.iter().filter(|change| **change != crate::Change::Args);
        Some(Difference {
            call_id: earlier.id.clone(),
            reviewed_at: earlier.reviewed_at,
            arguments: differing(before, now),
            contract: differing(&earlier.contract.to_members(), &plan.shown_contract().to_members()),
            changed: changed.map(ToString::to_string).collect(),
            is_unbound: approval.is_none(),
        })
    }

    /// Returns whether nothing differs.
    pub fn is_none(&self) -> bool {
        self.arguments.is_empty() && self.contract.is_empty() && self.changed.is_empty()
    }
}

/// Lists the members that differ.
fn differing(before: &Object, now: &Object) -> Vec<ArgumentChange> {
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let value = |of: &Object, name: &str| of.get(name).cloned().unwrap_or(Json::Null);
    let differ = names.into_iter().filter(|name| value(before, name) != value(now, name));
    differ
        .map(|name| ArgumentChange {
            name: name.clone(),
            before: value(before, name),
            value: value(now, name),
        })
        .collect()
}
