//! Operations on calls, on a workspace in memory.

mod deciding;
mod planning;
mod queueing;
mod secrets;
mod showing;

use brigade_core::ErrorCode;
use brigade_policy::BlockerDetail;

use crate::Error;

/// Returns the codes of reasons.
fn codes(details: &[BlockerDetail]) -> Vec<&str> {
    details.iter().filter_map(|detail| detail.code.as_deref()).collect()
}

/// Returns the codes of the reasons of an error.
fn reasons(error: &Error) -> Vec<&str> {
    error.blockers().iter().map(|blocker| &*blocker.code).collect()
}

/// Expects a reason with this code that says this.
#[track_caller]
fn says(details: &[BlockerDetail], code: ErrorCode, text: &str) {
    let fits = |detail: &BlockerDetail| {
        detail.code.as_deref() == Some(code.as_str()) && detail.message.contains(text)
    };
    assert!(details.iter().any(fits), "no {code} with `{text}`: {details:#?}");
}
