//! Calls of `memory.add` that remember nothing.

use brigade_access::builtin::MemoryAdded;
use brigade_call::Receipt;
use brigade_ops::Error;

use crate::builtin_call::{self, DirectCallResult};

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
pub(crate) fn rejection() -> DirectCallResult {
    builtin_call::direct_result(MemoryAdded::rejected(REASON).to_json())
}

/// Returns whether calls of a tool may end without having done anything, as their results say.
pub(crate) fn may_be_rejected(tool: &str) -> bool {
    tool == ADD
}

/// Returns whether a run did nothing: it failed, or its result is a rejection.
pub(crate) fn is_rejected(receipt: &Receipt) -> bool {
    let added = || MemoryAdded::read(&receipt.stdout_summary);
    receipt.error_code.is_some() || added().is_some_and(|added| !added.saved)
}
