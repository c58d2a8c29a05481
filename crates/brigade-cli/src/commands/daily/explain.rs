//! `brigade explain`

use brigade::core::text::escape_terminal;
use brigade::core::{NextStep, StepFormatter as _, closest};
use brigade::health::{IssueType, Remedy};
use brigade::kitchen::FaultCode;
use brigade::report::SchemaId;
use brigade::{Error, ErrorCode, ErrorKind, Report};
use clap::Args;
use serde::{Deserialize, Serialize};

use super::advice;
use crate::output::Output;
use crate::render::View;
use crate::render::page::Page;
use crate::render::text::{Text, Tone};

/// Explain a code: what it means, its causes, and what to do
///
/// Takes every code of errors, of reasons why a call is refused, of issues of doctor, of faults in PRDs, of notes about
/// registrations, and exit codes.
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// A code such as policy_denied_effect, or an exit code: 1 or exit-1
    code: String,
}

/// `explain`: the meanings of a code.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct CodeReport {
    #[serde(deserialize_with = "CodeReport::read_schema")]
    schema: SchemaId,
    /// The code.
    code: String,
    /// Its meanings; several if it is used for more than one kind.
    meanings: Vec<CodeMeaning>,
    /// The usual causes.
    causes: Vec<String>,
    /// What to do.
    advice: Vec<String>,
    /// An example; `null` without one.
    example: Option<String>,
}

/// One meaning of a code.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct CodeMeaning {
    /// The kind: `error`, `reason`, `issue`, `fault` (of a PRD), `registration` or `exit`.
    kind: String,
    /// The meaning.
    meaning: String,
    /// Why it matters and what to do, for issues.
    explanation: Option<String>,
}

impl Report for CodeReport {
    const SCHEMA: SchemaId = "brigade.code.v1";
}

/// The exit codes.
const EXITS: [(&str, &str); 11] = [
    ("0", "Done."),
    ("1", "Refused, blocked or not found, or the run failed, or a check found issues."),
    ("2", "The command line, or the target, cannot be used."),
    ("3", "The disk or the environment failed."),
    ("30", "A service of the kitchen is paused, because a person must decide."),
    ("31", "Another service of the kitchen has the list of tasks."),
    ("32", "The task is blocked."),
    ("33", "The task was done already."),
    ("34", "Another task did the work of the task."),
    ("70", "A bug in Brigade. Report it with the text that it printed."),
    ("130", "Ctrl-C interrupted a service of the kitchen."),
];

/// The kinds of errors.
const KINDS: [ErrorKind; 6] = [
    ErrorKind::NotFound,
    ErrorKind::Ambiguous,
    ErrorKind::Refused,
    ErrorKind::InvalidConfig,
    ErrorKind::Usage,
    ErrorKind::Environment,
];

/// What a code is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodeKind {
    /// An error.
    Error,
    /// A blocker: a reason why a call is refused.
    Reason,
    /// A note about a registration.
    Registration,
    /// An issue of doctor.
    Issue,
    /// A fault in a PRD.
    Fault,
    /// An exit code.
    Exit,
}

impl CodeKind {
    const fn as_str(self) -> &'static str {
        match self {
            CodeKind::Error => "error",
            CodeKind::Reason => "reason",
            CodeKind::Registration => "registration",
            CodeKind::Issue => "issue",
            CodeKind::Fault => "fault",
            CodeKind::Exit => "exit",
        }
    }
}

/// Lists every code with its kind and meaning.
pub(crate) fn all_codes() -> impl Iterator<Item = (CodeKind, &'static str, &'static str)> {
    let rows = |kind: CodeKind, table: &'static [ErrorCode]| {
        table.iter().map(move |code| (kind, code.as_str(), code.meaning()))
    };
    let issues = IssueType::all().iter().map(|issue| (CodeKind::Issue, issue.code(), issue.title()));
    let faults = FaultCode::ALL.iter().map(|fault| (CodeKind::Fault, fault.as_str(), fault.meaning()));
    let exits = EXITS.iter().map(|(exit, meaning)| (CodeKind::Exit, *exit, *meaning));
    rows(CodeKind::Error, ErrorCode::ERRORS)
        .chain(rows(CodeKind::Reason, ErrorCode::REASONS))
        .chain(rows(CodeKind::Registration, ErrorCode::REGISTERING))
        .chain(issues)
        .chain(faults)
        .chain(exits)
}

pub(crate) fn run(arguments: &ExplainArgs, output: &Output<'_, '_>) -> Result<CodeReport, Error> {
    let code = arguments.code.trim();
    explanation(code, output).ok_or_else(|| {
        let error = Error::new(ErrorKind::NotFound, format!("no code is `{}`", escape_terminal(code)));
        match near_code(code) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("docs/reference has lists of all"),
        }
    })
}

/// Returns the code that was probably meant: the one without the first word, or the most similar one, or the only one
/// that has another first word.
fn near_code(typed: &str) -> Option<&'static str> {
    let codes = || all_codes().map(|(_, code, _)| code);
    let typed = typed.to_ascii_lowercase();
    let (_, rest) = typed.split_once(['_', '-']).unwrap_or(("", &typed));
    let with_other_word = || {
        let ends = |code: &&str| code.strip_suffix(rest).is_some_and(|first| first.ends_with('_'));
        let mut found: Vec<&str> = codes().filter(ends).collect();
        found.dedup();
        if let [only] = found.as_slice() { Some(*only) } else { None }
    };
    codes().find(|code| *code == rest).or_else(|| closest(&typed, codes())).or_else(with_other_word)
}

/// Explains a code, whatever its case. `None` if there is no such code.
pub(super) fn explanation(typed: &str, output: &Output<'_, '_>) -> Option<CodeReport> {
    let typed = &*typed.to_ascii_lowercase();
    let code = typed.strip_prefix("exit-").unwrap_or(typed);
    let issue = IssueType::all().iter().find(|issue| issue.code() == code);
    let meanings = all_codes().filter(|(_, known, _)| *known == code).map(|(kind, _, meaning)| {
        let issue = issue.filter(|_| kind == CodeKind::Issue);
        CodeMeaning {
            kind: kind.as_str().to_owned(),
            meaning: meaning.to_owned(),
            explanation: issue.map(|issue| issue.explanation().to_owned()),
        }
    });
    let meanings: Vec<CodeMeaning> = meanings.collect();
    if meanings.is_empty() {
        return None;
    }
    let known = advice::for_code(code);
    let step = issue.and_then(|issue| step(issue.fix()));
    let step = step.map(|step| format!("`{}`", output.words().spell(&step, None)));
    let edit = issue.filter(|_| step.is_none() && known.advice.is_empty());
    let edit = edit.map(|_| "Edit the file at the line that `brigade tools doctor` shows".to_owned());
    let texts = |texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect::<Vec<_>>();
    Some(CodeReport {
        schema: CodeReport::SCHEMA,
        code: typed.to_owned(),
        meanings,
        causes: texts(known.causes).into_iter().chain(causes_of_exit(code)).collect(),
        advice: texts(known.advice).into_iter().chain(step).chain(edit).collect(),
        example: Some(known.example.join("\n")).filter(|example| !example.is_empty()),
    })
}

/// Returns the kinds of errors that end with an exit code.
fn causes_of_exit(exit: &str) -> impl Iterator<Item = String> {
    let kinds = KINDS.iter().filter(move |kind| Error::new(**kind, "").exit().code().to_string() == exit);
    kinds.map(|kind| format!("{}: {}", kind.code(), kind.code().meaning()))
}

/// Returns the step that fixes a type of issue, for any object.
fn step(remedy: Remedy) -> Option<NextStep> {
    match remedy {
        Remedy::Edit | Remedy::ReadFile => None,
        Remedy::File(step) => Some(step("FILE".to_owned())),
        Remedy::Tool(step) => Some(step("TOOL".to_owned())),
        Remedy::Object(step) => Some(step("ID".to_owned())),
        Remedy::Call(_) => Some(NextStep::ListCalls),
        Remedy::Run(_) => Some(NextStep::ShowHistory),
        Remedy::Checkpoint(_) => Some(NextStep::ListCheckpoints),
        Remedy::Step(step) => Some(step),
    }
}

impl View for CodeReport {
    fn show(&self, page: &mut Page) {
        page.data.line(Text::new(Tone::Strong, &self.code));
        for meaning in &self.meanings {
            page.data.field(&meaning.kind, meaning.meaning.as_str());
            if let Some(explanation) = &meaning.explanation {
                page.data.indented(2, explanation.as_str());
            }
        }
        for (title, lines) in [("causes", &self.causes), ("what to do", &self.advice)] {
            if !lines.is_empty() {
                page.data.line(Text::new(Tone::Faint, &format!("{title}:")));
                lines.iter().for_each(|line| page.data.indented(2, format!("- {line}")));
            }
        }
        if let Some(example) = &self.example {
            page.data.line(Text::new(Tone::Faint, "example:"));
            example.lines().for_each(|line| page.data.indented(2, Text::new(Tone::Accent, line)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::near_code;

    #[test]
    fn a_code_with_another_first_word_is_suggested() {
        for (typed, expect) in [
            ("tool_not_found", Some("not_found")),
            ("TOOL_POLICY_INVALID", Some("policy_invalid")),
            ("tool_disabledd", Some("tool_disabled")),
            ("nonsense", None),
        ] {
            assert_eq!(near_code(typed), expect, "{typed}");
        }
    }
}
