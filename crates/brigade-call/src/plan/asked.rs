//! Computes the fingerprints of a request.

use std::collections::BTreeMap;

use brigade_core::{Fingerprint, Json};

/// Returns the fingerprint of arguments, as given and as rendered.
pub(super) fn args_fingerprint(args: &Json, arguments: &BTreeMap<String, String>) -> Fingerprint {
    Fingerprint::builder("brigade.args.v1").json("args", args).table("arguments", arguments).finish()
}

/// Returns the fingerprint of a request.
pub(super) fn call_fingerprint(
    tool_id: &str,
    family: &str,
    args: Fingerprint,
    contract: Fingerprint,
    source: &str,
    session: Option<Fingerprint>,
) -> Fingerprint {
    let fingerprint = Fingerprint::builder("brigade.call.v1")
        .text("tool_id", tool_id)
        .text("family", family)
        .fingerprint("args", args)
        .fingerprint("contract", contract)
        .text("source", source);
    match session {
        Some(session) => fingerprint.fingerprint("session", session).finish(),
        None => fingerprint.finish(),
    }
}
