//! Calls of `memory.add` that remember nothing.

use brigade_call::Receipt;
use brigade_calls::Error;
use brigade_core::{Dialect, Json};

use crate::acting::{self, AtOnce};

/// The tool.
const ADD: &str = "memory.add";

/// The code of an argument that looks like a secret.
const SECRET: &str = "secret_argument";

/// Why what holds a secret is not remembered.
const REASON: &str = "the content has a secret, and secrets are never stored; name where it is kept instead";

/// Returns whether a call was refused because what is to be remembered holds a secret. Such a call is never stored.
pub(crate) fn is_secret(tool: &str, error: &Error) -> bool {
    let reasons = error.blockers();
    tool == ADD && !reasons.is_empty() && reasons.iter().all(|reason| reason.code == SECRET)
}

/// Answers a call whose content holds a secret.
pub(crate) fn rejected() -> AtOnce {
    acting::answered([
        ("saved", Json::from(false)),
        ("durability", Json::from("rejected")),
        ("id", Json::Null),
        ("tier", Json::Null),
        ("deduped", Json::from(false)),
        ("merged_into_id", Json::Null),
        ("reason", Json::from(REASON)),
    ])
}

/// Returns whether calls of a tool may end without having done anything, as their results say.
pub(crate) fn may_be_rejected(tool: &str) -> bool {
    tool == ADD
}

/// Returns whether a run did nothing: it failed, or its result is a rejection.
pub(crate) fn is_rejected(receipt: &Receipt) -> bool {
    let result = Json::parse_bytes(receipt.stdout_summary.as_bytes(), Dialect::Strict).ok();
    let durability = result.as_ref().and_then(|result| result.get("durability")?.as_str());
    receipt.error_code.is_some() || durability == Some("rejected")
}
