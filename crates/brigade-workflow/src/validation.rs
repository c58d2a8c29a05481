//! Validates an output by a schema, an expression, a judge or a person.

use std::time::{Duration, Instant};

use brigade_core::text::short;
use brigade_core::{ErrorCode, Json};
use brigade_db::questions::{AskedOption, AskedQuestion, Asker, Decision, QuestionForm};
use brigade_fs::{Fs, RelPath};
use brigade_kitchen_run::Host;

use crate::judge::JudgeQuestion;
use crate::manifest::{Stream, Validator};
use crate::task_run::{TaskFailure, TaskRun};

/// How often to look for an answer, which another process stores.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How long to wait for a person, unless the validator sets a limit.
const DEFAULT_ANSWER_TIMEOUT: Duration = Duration::from_secs(600);

/// How much of an output a person sees.
const MAX_SHOWN_BYTES: usize = 4 << 10;

/// How much of standard error is matched, in bytes.
const MAX_STDERR: u64 = 4 << 20;

/// Returns why the output violates the schema of a validator.
pub(crate) fn check_by_schema(validator: &Validator, output: &str) -> Option<String> {
    let schema = validator.schema.as_ref()?;
    let Ok(json) = Json::parse(output.trim()) else { return Some("the output is not JSON".to_owned()) };
    let found = schema.schema().violations(&json.to_serde());
    let messages: Vec<String> = found.iter().map(ToString::to_string).collect();
    (!messages.is_empty()).then(|| messages.join("; "))
}

/// Returns an error if the expression of a validator does not match.
pub(crate) fn check_by_expression(
    validator: &Validator,
    output: &str,
    fs: &dyn Fs,
    stderr: &RelPath,
) -> Option<String> {
    let expression = validator.expression()?;
    let (text, name) = match validator.target {
        Some(Stream::Stderr) => {
            let bytes = fs.read(stderr, MAX_STDERR).unwrap_or_default();
            (String::from_utf8_lossy(&bytes).into_owned(), "standard error")
        }
        Some(Stream::Stdout) | None => (output.to_owned(), "the output"),
    };
    (!expression.is_match(&text)).then(|| format!("{name} does not match the expression"))
}

impl TaskRun {
    /// Asks the judge. Asks a person if there is no judge or its answer is unclear.
    pub(crate) fn check_by_judge(
        &self,
        host: &Host,
        validator: &Validator,
        output: &str,
    ) -> Result<Option<String>, TaskFailure> {
        let Some(judge) = &self.judge else { return self.check_by_person(host, validator, output) };
        let criteria = validator.criteria.as_deref().unwrap_or_default();
        let caller = self.workspace.caller.clone();
        let about = JudgeQuestion::output(caller, criteria, &short(output, MAX_SHOWN_BYTES));
        let judged = judge.ask(&self.workspace, &self.policy, &about, Some(self.entry.cancel.clone()));
        let (Some(score), Some(confidence)) = (judged.score, judged.confidence) else {
            return self.check_by_person(host, validator, output);
        };
        let least = validator.min_score.unwrap_or_else(|| judged.threshold.as_f64());
        let is_sure = validator.min_confidence.is_none_or(|least| least <= confidence.as_f64());
        let reasoning = judged.reasoning.unwrap_or_default();
        Ok((score.as_f64() < least || !is_sure).then(|| {
            format!("a judge scored it {score} (minimum {least}) with confidence {confidence}: {reasoning}")
        }))
    }

    /// Asks a person to decide in place of a judge.
    pub(crate) fn check_by_person(
        &self,
        host: &Host,
        validator: &Validator,
        output: &str,
    ) -> Result<Option<String>, TaskFailure> {
        let option = |label: &str| AskedOption { label: label.to_owned(), ..AskedOption::default() };
        let criteria = validator.criteria.as_deref().unwrap_or_default();
        let question = AskedQuestion {
            id: "verdict".to_owned(),
            question: format!("Does the output of {} meet this? {}", self.id(), short(criteria, 1 << 10)),
            options: vec![option("yes"), option("no")],
            allows_freeform: true,
            ..AskedQuestion::default()
        };
        let form = QuestionForm {
            title: Some(format!("The output of the agent {}", self.execution.name)),
            body: Some(short(output, MAX_SHOWN_BYTES)),
            questions: vec![question],
        };
        let (owner, redactor) = (self.execution.owner.as_str(), host.redactor());
        let is_same = |other: &str| other == self.id();
        let asker = Asker { agent: owner, session: self.id(), is_same: &is_same, a_minute: None };
        let question = self.store.ask(&asker, &form, &redactor, self.workspace.now())?;
        let seconds = validator.timeout_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let until = Instant::now() + seconds.map_or(DEFAULT_ANSWER_TIMEOUT, Duration::from_secs);
        loop {
            let found = self.store.take_answer(owner, &question.id)?;
            if let Some(answer) = found.answer {
                let is_yes = answer.decision == Decision::Accept
                    && answer
                        .answers
                        .get("verdict")
                        .is_some_and(|values| values.iter().any(|value| value == "yes"));
                let comment = answer
                    .text
                    .unwrap_or_else(|| "a person says that it does not meet the criteria".to_owned());
                return Ok((!is_yes).then_some(comment));
            }
            if until <= Instant::now() {
                self.store.withdraw_question(&question.id)?;
                return Ok(Some("no person answered in time".to_owned()));
            }
            if self.entry.cancel.wait(POLL_INTERVAL) || self.is_ended() {
                self.store.withdraw_question(&question.id)?;
                return Err(TaskFailure::new(
                    ErrorCode::Interrupted,
                    "the task ended while it waited for a person",
                ));
            }
        }
    }
}
