//! Decides which runs to observe, and remembers observed runs.
//!
//! Observing costs a few microseconds per opened file. By default, a call is observed once after each change of what
//! its approval binds. `.brigade/tools/observed.json` maps the fingerprint of the binding to the observed run. The file
//! is a cache: if it is missing or invalid, runs are observed.

use std::collections::BTreeMap;

use brigade_call::{Binding, Receipt, RunObserved, VerifiedCall};
use brigade_core::{Dialect, Fingerprint, Json, RunId};
use brigade_exec::Watch;
use brigade_policy::{Observe, Reads, SandboxMode};

use crate::room::{Room, rel};

/// The file of observed runs.
const OBSERVED: &str = ".brigade/tools/observed.json";

/// The schema id of the file.
const SCHEMA: &str = "brigade.observed.v1";

/// The largest file that is read, and the maximum number of runs in it.
const LIMIT: u64 = 256 << 10;
const KEPT: usize = 1_000;

/// Decides whether to observe a run of a call.
pub(crate) fn watch(room: &Room, call: &VerifiedCall) -> Watch {
    let request = &call.decision().sandbox;
    match (request.mode, request.observe) {
        (SandboxMode::Off, _) | (_, Observe::Never) => Watch::Nothing,
        (_, Observe::Always) => Watch::Observe,
        // What a closed workspace keeps from a run is seen by observing.
        (_, Observe::Changed) if request.reads == Reads::Closed => Watch::Observe,
        (_, Observe::Changed) => {
            let before = read(room).remove(&key(&call.call().tool_id, call.binding()).to_hex());
            before.map_or(Watch::Observe, Watch::Unchanged)
        }
    }
}

/// Remembers an observed run. A write error is ignored: the next run is observed again.
pub(crate) fn remember(room: &Room, call: &VerifiedCall, receipt: &Receipt) {
    let is_observed = receipt.observed.as_ref().is_some_and(RunObserved::is_observed);
    let Ok(run_id) = receipt.id.parse::<RunId>() else { return };
    if !is_observed || call.decision().sandbox.observe != Observe::Changed {
        return;
    }
    let mut runs = read(room);
    if KEPT <= runs.len() {
        runs.clear();
    }
    runs.insert(key(&call.call().tool_id, call.binding()).to_hex(), run_id);
    let runs = runs.into_iter().map(|(key, run)| (key, Json::from(run.to_string())));
    let json = Json::object([("schema", Json::from(SCHEMA)), ("runs", Json::object(runs))]);
    let _ = room.fs.write_cache(&rel(OBSERVED), json.to_pretty().as_bytes());
}

/// Returns the fingerprint of a binding, without caller and pin.
fn key(tool_id: &str, binding: &Binding) -> Fingerprint {
    let bound = Binding { caller: brigade_call::Caller::CommandLine, pin: None, ..binding.clone() };
    Fingerprint::builder("brigade.observed.v1")
        .text("tool", tool_id)
        .fingerprint("bound", bound.fingerprint())
        .finish()
}

fn read(room: &Room) -> BTreeMap<String, RunId> {
    room.fs.read(&rel(OBSERVED), LIMIT).map(|bytes| parse(&bytes)).unwrap_or_default()
}

/// Parses the file; empty if it is invalid.
fn parse(bytes: &[u8]) -> BTreeMap<String, RunId> {
    let Ok(json) = Json::parse_bytes(bytes, Dialect::Strict) else { return BTreeMap::new() };
    if json.get("schema").and_then(Json::as_str) != Some(SCHEMA) {
        return BTreeMap::new();
    }
    let runs = json.get("runs").and_then(Json::as_object).into_iter().flatten();
    runs.filter_map(|(key, run)| Some((key.clone(), run.as_str()?.parse().ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_no_such_file_remembers_nothing() {
        let good = format!(r#"{{"schema": "{SCHEMA}", "runs": {{"ab": "run-1", "odd": 7}}}}"#);
        let expect = BTreeMap::from([("ab".to_owned(), "run-1".parse().unwrap())]);
        assert_eq!(parse(good.as_bytes()), expect);
        for bad in ["", "[]", "{}", &good.replace(".v1", ".v2"), &good[..40]] {
            assert_eq!(parse(bad.as_bytes()), BTreeMap::new(), "{bad}");
        }
    }
}
