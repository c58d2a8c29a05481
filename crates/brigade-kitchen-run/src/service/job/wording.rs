//! Sentences about the ends of commands and reviewers.

use crate::check::CheckOutcome;
use brigade_kitchen::life::CommandResult;

pub(super) fn changed_by_reviewer(files: &[String]) -> String {
    const MAX_NAMED: usize = 20;
    let more = files.len().saturating_sub(MAX_NAMED);
    let more = if 0 < more { format!(" and {more} more") } else { String::new() };
    let files = files[..files.len().min(MAX_NAMED)].join(", ");
    format!("the reviewer changed files: {files}{more}")
}

pub(super) fn result_text(checked: &CheckOutcome) -> String {
    format!("it {}\n{}", command_ending(checked), checked.output)
}

pub(super) fn command_ending(checked: &CheckOutcome) -> String {
    match (checked.result, checked.exit_code) {
        (CommandResult::Passed, _) => "exited with 0".to_owned(),
        (CommandResult::TimedOut, _) => "was ended at its time limit".to_owned(),
        (CommandResult::NotStarted, _) => "could not be started".to_owned(),
        (CommandResult::Failed, Some(code)) => format!("exited with {code}"),
        (CommandResult::Failed, None) => "was ended by a signal".to_owned(),
    }
}

/// Returns why a worktree has no working setup. The log has the whole output.
pub(super) fn setup_failed(checked: &CheckOutcome) -> String {
    let last = checked.output.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let detail = last.map(|line| format!(": {line}")).unwrap_or_default();
    format!("the setup command of the worktree {}{detail}", command_ending(checked))
}
