//! The results of runs of programs that answer for built-in tools, as MCP has them: a command that an agent named, and
//! a program that the configuration names.

use brigade_access::builtin::{
    COMMAND, CommandArgs, CommandOutput, OmittedText, cut_note, definition, issue_request,
    may_start_a_program,
};
use brigade_call::{Call, Receipt, VerifiedCall};
use brigade_exec::{EndedRun, Postcondition, PostconditionResult, log_text, refused_writes};
use brigade_mcp::ToolResult;
use brigade_process::Input;
use brigade_redact::Redactor;
use brigade_workspace::Config;
#[cfg(feature = "builtin")]
use {
    brigade_access::builtin::SCREENSHOT,
    brigade_call::{RunStatus, TouchedFile},
    brigade_core::ErrorCode,
    brigade_fs::RelPath,
    brigade_toolset::{Context, Failure},
};

use crate::workspace_inner::WorkspaceInner;

/// What the lines about a cut and the end of a command take of a result, in bytes.
const RESERVED_BYTES: usize = 256;

/// Returns the result of a run, with its text masked: what the command printed and how it ended, or what the program
/// answered. `None` for a run of another tool, for one that did not start, and for a program that failed by itself.
pub(crate) fn result_of(
    inner: &WorkspaceInner,
    config: &Config,
    receipt: &Receipt,
    redactor: &Redactor,
) -> Option<ToolResult> {
    receipt.process.as_ref()?;
    if receipt.tool_id != COMMAND {
        return provided(inner, receipt, redactor);
    }
    let read = |path: &Option<String>| {
        let file = inner.fs.open(&path.as_deref()?.parse().ok()?).ok()?;
        log_text(&*file, redactor).ok()
    };
    let stdout = read(&receipt.stdout_log_path)?;
    let stderr = read(&receipt.stderr_log_path)?;
    let arguments = definition(COMMAND).map(|row| CommandArgs::read(&row.with_defaults(&receipt.args)));
    let max_bytes = arguments.and_then(|arguments| arguments.max_output_bytes).unwrap_or(u64::MAX);
    let most = config.gateway(&inner.host()).map_or(32 << 10, |gateway| gateway.max_result_bytes);
    let most = usize::try_from(most).unwrap_or(usize::MAX).saturating_sub(RESERVED_BYTES);
    let (out, err) = parts(&stdout, &stderr, usize::try_from(max_bytes).unwrap_or(usize::MAX), most);
    let dropped = receipt.output.as_ref().map_or(0, |output| output.stdout.dropped + output.stderr.dropped);
    let is_cut = out.len() < stdout.len() || err.len() < stderr.len() || 0 < dropped;
    let ended = match (receipt.timed_out, receipt.exit_code) {
        (true, _) => format!(
            "[ended after {} s]",
            receipt.timeout.as_ref().map(ToString::to_string).unwrap_or_default()
        ),
        (false, Some(0)) => String::new(),
        (false, Some(code)) if code < 0 => format!("[ended by signal {}]", -code),
        (false, Some(code)) => format!("[exit code {code}]"),
        (false, None) => "[ended]".to_owned(),
    };
    let (shown, kept) = (out.len() + err.len(), stdout.len() + stderr.len());
    let total = kept.saturating_add(usize::try_from(dropped).unwrap_or(usize::MAX));
    let rest = if shown < kept { OmittedText::Kept(receipt.id.as_str()) } else { OmittedText::Dropped };
    let cut = if is_cut { cut_note(shown, total, rest) } else { String::new() };
    let refused = match (receipt.exit_code, &receipt.observed, &receipt.sandbox) {
        (Some(0), _, _) | (_, None, _) | (_, _, None) => None,
        (_, Some(observed), Some(sandbox)) => refused_writes(observed, sandbox, COMMAND).into_iter().next(),
    };
    let refused = refused.map(|message| format!("[{}]", redactor.redact_str(&message))).unwrap_or_default();
    let text: Vec<&str> =
        [out, err, &cut, &ended, &refused].into_iter().filter(|part| !part.is_empty()).collect();
    let structured = CommandOutput {
        stdout: Some(out.to_owned()),
        stderr: Some(err.to_owned()),
        exit_code: receipt.exit_code,
        timed_out: receipt.timed_out,
        truncated: Some(is_cut),
    };
    Some(ToolResult::of_text(&text.join("\n"), Some(structured.to_json())).counted(0))
}

/// Returns what a program answered that the configuration names for a tool.
#[cfg(feature = "builtin")]
fn provided(inner: &WorkspaceInner, receipt: &Receipt, redactor: &Redactor) -> Option<ToolResult> {
    if let Some(code) = receipt.error_code.as_deref() {
        let message = receipt.failure.as_deref().unwrap_or_default();
        return Some(ToolResult::failed(message, code, None));
    }
    if receipt.exit_code != Some(0) || receipt.timed_out {
        return None;
    }
    let output = match receipt.tool_id.as_str() {
        SCREENSHOT => {
            let copy = receipt.touched.as_ref()?.first()?;
            brigade_toolset::kept_image(&copy.path, copy.after?)
        }
        tool if may_start_a_program(tool) => {
            let printed = inner.fs.open(&RelPath::composed(receipt.stdout_log_path.as_deref()?)).ok()?;
            let printed = log_text(&*printed, redactor).ok()?;
            brigade_toolset::provider_answer(tool, &receipt.args, &printed).ok()?
        }
        _ => return None,
    };
    Some(ToolResult::of_text(&output.structured.to_compact(), Some(output.structured)).counted(0))
}

#[cfg(not(feature = "builtin"))]
fn provided(_: &WorkspaceInner, _: &Receipt, _: &Redactor) -> Option<ToolResult> {
    None
}

/// Returns what the program of a call reads on its standard input.
pub(crate) fn request_of(call: &VerifiedCall) -> Input {
    let request = issue_request(&call.call().tool_id, call.plan().args());
    request.map_or(Input::Null, |request| Input::Bytes(request.to_compact().into_bytes()))
}

/// Checks after the run of a program that answers for a built-in tool whether its answer can be used.
pub(crate) struct ProviderAnswerCheck<'a> {
    inner: &'a WorkspaceInner,
}

impl<'a> ProviderAnswerCheck<'a> {
    /// Returns the check of a call of such a tool. `None` for other calls.
    pub(crate) fn for_call(inner: &'a WorkspaceInner, call: &Call) -> Option<ProviderAnswerCheck<'a>> {
        let tool = call.tool_id.as_str();
        (tool != COMMAND && may_start_a_program(tool)).then_some(ProviderAnswerCheck { inner })
    }
}

impl Postcondition for ProviderAnswerCheck<'_> {
    /// Keeps the image that the program printed. A run whose answer cannot be used has failed.
    #[cfg(feature = "builtin")]
    fn check(&self, run: &EndedRun<'_>) -> PostconditionResult {
        if *run.status != RunStatus::Completed || run.outcome.is_none() {
            return PostconditionResult::default();
        }
        match self.use_answer(run) {
            Ok(touched) => PostconditionResult {
                touched: Some(touched).filter(|touched| !touched.is_empty()),
                ..PostconditionResult::default()
            },
            Err(failure) => PostconditionResult {
                failure: Some(run.redactor.redact_str(&format!("{} ({})", failure.message, failure.code))),
                error_code: Some(failure.code.into()),
                ..PostconditionResult::default()
            },
        }
    }

    #[cfg(not(feature = "builtin"))]
    fn check(&self, _: &EndedRun<'_>) -> PostconditionResult {
        // No program answers for a tool in such a build.
        let _ = self.inner;
        PostconditionResult::default()
    }
}

#[cfg(feature = "builtin")]
impl ProviderAnswerCheck<'_> {
    /// Reads the answer, and returns the files that were written from it.
    fn use_answer(&self, run: &EndedRun<'_>) -> Result<Vec<TouchedFile>, Failure> {
        let disk = |error: brigade_fs::FsError| Failure::new(ErrorCode::FileError, error.to_string());
        let (inner, call, redactor) = (self.inner, run.call.call(), run.redactor);
        let log = inner.fs.open(&RelPath::composed(&run.paths.stdout_log)).map_err(disk)?;
        if call.tool_id != SCREENSHOT {
            let (args, printed) = (run.call.plan().args(), log_text(&*log, redactor).map_err(disk)?);
            return brigade_toolset::provider_answer(&call.tool_id, args, &printed).map(|_| Vec::new());
        }
        if run.outcome.is_some_and(|outcome| 0 < outcome.stdout.dropped) {
            let message = "the image is larger than `max_output_bytes` of the policy";
            return Err(Failure::new(ErrorCode::FileTooLarge, message));
        }
        let length = usize::try_from(log.len().map_err(disk)?).unwrap_or(usize::MAX);
        let printed = log.read_range(0, length).map_err(disk)?;
        let caller = call.caller.as_record();
        let mut context = Context::new(&*inner.fs, &caller, &*inner.env.clock, redactor, &inner.stores);
        brigade_toolset::keep_image(&printed, &mut context)?;
        let touched = context.touched.iter().map(|touched| TouchedFile {
            path: touched.path.clone(),
            before: touched.before,
            after: touched.after,
        });
        Ok(touched.collect())
    }
}

/// Cuts both streams, each to `each` bytes and together to `most`. At least a quarter is for standard
/// error, where programs say why they failed.
fn parts<'t>(stdout: &'t str, stderr: &'t str, each: usize, most: usize) -> (&'t str, &'t str) {
    let (out, err) = (stdout.len().min(each), stderr.len().min(each));
    let err = err.min((most / 4).max(most.saturating_sub(out)));
    let cut = |text: &'t str, most: usize| &text[..text.floor_char_boundary(most)];
    (cut(stdout, out.min(most - err)), cut(stderr, err))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_streams_have_room() {
        assert_eq!(parts("abc", "def", 10, 100), ("abc", "def"));
        assert_eq!(parts("abcdef", "def", 2, 100), ("ab", "de"));
        let (out, err) = ("o".repeat(100), "e".repeat(100));
        let lengths = |each, most| {
            let (out, err) = parts(&out, &err, each, most);
            (out.len(), err.len())
        };
        assert_eq!(lengths(100, 100), (75, 25));
        assert_eq!(lengths(10, 100), (10, 10));
        assert_eq!(parts("a", &err, 100, 40).1.len(), 39);
        assert_eq!(parts("é", "", 1, 100), ("", ""));
        assert_eq!(parts("a", "b", 5, 0), ("", ""));
    }
}
