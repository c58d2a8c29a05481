//! What this host would run for the calls of a team, which its runner offers.

use brigade_call::{Call, HostOffer};
use brigade_policy::Blocker;
use brigade_queue::StoredCall;
use brigade_team::NewOffer;
use brigade_workspace::WorkspaceContext;

use crate::calls;
use crate::error::Error;

/// Plans a call here, and returns what an approval would bind or why there can be none.
///
/// # Errors
/// Fails if the files cannot be read.
pub(super) fn offer_for(
    context: &WorkspaceContext,
    stored: &StoredCall,
    passed_over: Option<String>,
) -> Result<NewOffer, Error> {
    let call = &stored.call;
    let none = |blockers: Vec<String>| HostOffer {
        host: String::new(),
        is_own: true,
        offered_at: None,
        binding: None,
        access: brigade_policy::Access::default(),
        blockers,
        passed_over: None,
    };
    let offer = match calls::plan_again(context, call) {
        Ok((_, planned)) => {
            let plan = &planned.plan;
            let reasons = plan.approvable(call).err().unwrap_or_default();
            HostOffer {
                binding: Some(plan.binding().clone()),
                access: plan.decision().sandbox.access(),
                ..none(sentences(&reasons))
            }
        }
        Err(error) if error.is_about_request() => none(vec![error.to_string()]),
        Err(error) => return Err(error),
    };
    let Call { id, .. } = call;
    Ok(NewOffer { call: id.clone(), revision: stored.revision, offer: HostOffer { passed_over, ..offer } })
}

/// Writes reasons as sentences.
pub(super) fn sentences(reasons: &[Blocker]) -> Vec<String> {
    reasons.iter().map(|reason| reason.message.to_string()).collect()
}
