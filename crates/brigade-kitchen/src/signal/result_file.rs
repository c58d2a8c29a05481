//! The result file: JSON that a worker may write, with the nonce of its run.

use brigade_core::Json;
use brigade_core::json::{Dialect, from_json};
use serde::Deserialize;
use thiserror::Error;

use super::Signal;
use super::ending::Evidence;
use crate::adapter::Tokens;
use crate::names::TaskId;

/// The maximum size of a result file.
pub const MAX_RESULT_BYTES: usize = 1 << 20;

/// Why a result file does not count. The next prompt says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ResultFault {
    /// It is not a regular file.
    #[error("the result file is not a regular file")]
    NotRegular,
    /// It cannot be read.
    #[error("the result file cannot be read")]
    Unreadable,
    /// It is larger than 1 MiB.
    #[error("the result file is larger than 1 MiB")]
    TooLarge,
    /// It is not a JSON object.
    #[error("the result file is not a JSON object")]
    Broken,
    /// Its nonce is missing or wrong.
    #[error("the result file does not have the nonce of this run")]
    ForeignNonce,
    /// A member that the role needs is missing or unknown.
    #[error("the result file has no valid `{0}`")]
    NoVerdict(&'static str),
}

/// Members that every result file may have.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Common {
    pub(super) summary: Option<String>,
    pub(super) cost_usd: Option<f64>,
    pub(super) tokens: Option<Tokens>,
}

/// The members of the result file of a worker that did a task.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WorkResult {
    signal: Option<String>,
    absorbed_by: Option<TaskId>,
    pub(super) reason: Option<String>,
    question: Option<String>,
    pub(super) approach: Option<String>,
    pub(super) learnings: Vec<String>,
    pub(super) backlog: Vec<String>,
}

impl Evidence<'_> {
    /// Parses the file, if it exists. Its nonce must be that of the run.
    pub(super) fn read_result(&self) -> Option<Result<Json, ResultFault>> {
        self.result.and_then(|bytes| bytes.map(|bytes| read(bytes, self.nonce)).transpose()).transpose()
    }
}

fn read(bytes: &[u8], nonce: &str) -> Result<Json, ResultFault> {
    if MAX_RESULT_BYTES < bytes.len() {
        return Err(ResultFault::TooLarge);
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let Ok(json @ Json::Object(_)) = Json::parse_bytes(bytes, Dialect::Strict) else {
        return Err(ResultFault::Broken);
    };
    let is_ours = !nonce.is_empty() && json.get("nonce").and_then(Json::as_str) == Some(nonce);
    if is_ours { Ok(json) } else { Err(ResultFault::ForeignNonce) }
}

/// Reads the members that every result file may have. Members of a wrong type are left out.
pub(super) fn common(json: &Json) -> Common {
    let member = |name: &str| json.get(name).cloned().unwrap_or_default();
    Common {
        summary: from_json(&member("summary")).unwrap_or_default(),
        cost_usd: from_json::<Option<f64>>(&member("cost_usd"))
            .unwrap_or_default()
            .filter(|cost| 0.0 <= *cost),
        tokens: from_json(&member("tokens")).unwrap_or_default(),
    }
}

/// Reads the result file of the role `work`.
pub(super) fn work(json: &Json) -> Result<(Signal, WorkResult), ResultFault> {
    const NO_SIGNAL: ResultFault = ResultFault::NoVerdict("signal");
    let mut work: WorkResult = from_json(json).map_err(|mismatch| match mismatch.member() {
        Some("absorbed_by") => ResultFault::NoVerdict("absorbed_by"),
        Some("signal") => NO_SIGNAL,
        _ => ResultFault::Broken,
    })?;
    let signal = match work.signal.as_deref() {
        Some("complete") => Signal::Complete,
        Some("already_done") => Signal::AlreadyDone,
        Some("absorbed") => {
            Signal::Absorbed(work.absorbed_by.take().ok_or(ResultFault::NoVerdict("absorbed_by"))?)
        }
        Some("blocked") => Signal::Blocked,
        Some("continue") => Signal::Continue,
        Some("question") => {
            let question = work.question.take().filter(|question| !question.trim().is_empty());
            Signal::Question(question.ok_or(ResultFault::NoVerdict("question"))?)
        }
        _ => return Err(NO_SIGNAL),
    };
    Ok((signal, work))
}
