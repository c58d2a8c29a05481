//! The feedback in a prompt about the previous attempt.

use super::Writer;
use crate::life::{CommandResult, Feedback, TaskLife};
use crate::signal::break_tags;

/// Returns the first line of a feedback block. The line for a failed review is prescribed by the specification.
pub fn feedback(feedback: &Feedback) -> String {
    match feedback {
        Feedback::Review(reason) => {
            let first = reason.trim().lines().next().unwrap_or_default();
            format!("⚠️ PREVIOUS ATTEMPT FAILED EXECUTIVE REVIEW: {}", break_tags(first))
        }
        Feedback::Command { is_test: true, result: CommandResult::TimedOut, .. } => {
            "⚠️ PREVIOUS ATTEMPT: the test command hung and was ended at its time limit".to_owned()
        }
        // Other feedback quotes foreign text only in the details below.
        Feedback::Command { .. } | Feedback::Markers(_) => format!("⚠️ PREVIOUS ATTEMPT: {feedback}"),
        Feedback::Attempt(..) => "⚠️ PREVIOUS ATTEMPT: it did not count".to_owned(),
        Feedback::Manual(_) => "⚠️ PREVIOUS ATTEMPT: a person checked it and found it not done".to_owned(),
        Feedback::Conflict(_) => {
            "⚠️ PREVIOUS ATTEMPT: the work conflicts with that of other tasks".to_owned()
        }
        Feedback::CommitRefused(_) => "⚠️ PREVIOUS ATTEMPT: the commit was refused".to_owned(),
    }
}

pub(super) fn write(writer: &mut Writer, life: &TaskLife, names_kind: bool) {
    if let Some(last) = &life.feedback {
        writer.section("Feedback");
        let kind = if names_kind { format!(" (kind of failure: {})", last.class()) } else { String::new() };
        writer.line(&format!("{}{kind}", feedback(last)));
        match last {
            Feedback::Markers(_) => writer.line(
                "Lines that you changed have TODO, FIXME, HACK or XXX. Do what they say, or take them out:",
            ),
            Feedback::Conflict(_) => {
                writer.line("The branch changed. Your work was moved to its new state; adapt it there:");
            }
            _ => {}
        }
        details(writer, last);
    }
    if life.interrupted {
        writer.section("Interruption");
        writer.line("The attempt before was interrupted. What it changed is in the working directory; check it first.");
    }
    if let Some(guidance) = &life.guidance {
        writer.section("Guidance");
        writer.quoted("guidance for this attempt", guidance);
    }
    for (question, answer) in &life.scope {
        writer.section("What belongs to the task");
        writer.quoted("a question and its answer", &format!("{question}\n{answer}"));
    }
}

/// Quotes the details of a failure.
pub(super) fn details(writer: &mut Writer, last: &Feedback) {
    match last {
        Feedback::Attempt(text, _) | Feedback::CommitRefused(text) => writer.quoted("why", text),
        Feedback::Review(text) => writer.quoted("the review", text),
        Feedback::Manual(text) => writer.quoted("a person", text),
        Feedback::Command { command, output, .. } => {
            writer.quoted("the command", command);
            writer.quoted("its last lines", output);
        }
        Feedback::Markers(found) => writer.quoted_list("markers", found),
        Feedback::Conflict(files) => writer.quoted_list("files with conflicts", files),
    }
}
