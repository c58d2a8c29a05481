//! Rows of calls in documents.

use brigade_policy::{Blocker, BlockerDetail};
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::plan::Plan;

/// An approved call that could not run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PassedOver {
    /// The call.
    pub call_id: String,
    /// The reasons.
    pub reasons: Vec<String>,
}

/// One line of `call queue --stdin`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BatchRow {
    /// The line of the input, from 1.
    pub line: usize,
    /// Whether the call was stored. It is not stored if an equal call exists.
    pub created: bool,
    /// The stored or existing call.
    pub call_id: Option<String>,
    /// The status of that call.
    pub status: Option<String>,
    /// Why nothing was stored.
    pub error: Option<String>,
    /// All reasons against the call, as sentences.
    pub blockers: Vec<String>,
    /// The same reasons with code, place and fix.
    pub blocker_details: Vec<BlockerDetail>,
}

impl PassedOver {
    /// Says why a call could not run.
    pub fn of(call: &Call, blockers: &[Blocker]) -> PassedOver {
        PassedOver {
            call_id: call.id.as_str().to_owned(),
            reasons: blockers.iter().map(ToString::to_string).collect(),
        }
    }
}

impl BatchRow {
    /// Says why nothing was stored; with the reasons of the plan, when the line has one.
    pub fn refused(line: usize, error: String, plan: Option<&Plan>) -> BatchRow {
        let blockers = plan.map_or(&[][..], Plan::blockers);
        BatchRow {
            line,
            created: false,
            call_id: None,
            status: None,
            error: Some(error),
            blockers: blockers.iter().map(ToString::to_string).collect(),
            blocker_details: blockers.iter().map(BlockerDetail::from).collect(),
        }
    }

    /// Names the stored call, or the one that was there.
    pub fn stored(line: usize, created: bool, call: &Call, plan: &Plan) -> BatchRow {
        BatchRow {
            line,
            created,
            call_id: Some(call.id.as_str().to_owned()),
            status: Some(call.status.as_str().to_owned()),
            error: None,
            blockers: plan.blockers().iter().map(ToString::to_string).collect(),
            blocker_details: plan.blockers().iter().map(BlockerDetail::from).collect(),
        }
    }
}
