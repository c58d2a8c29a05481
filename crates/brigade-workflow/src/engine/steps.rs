//! The calls that a state makes, on behalf of the caller of its execution.

use std::time::Duration;

use brigade_access::builtin::{COMMAND, CommandArgs, CommandOutput};
use brigade_cmdline::Argv;
use brigade_core::json::to_json;
use brigade_core::{ErrorCode, Json};
use brigade_process::CancelToken;
use brigade_toolset::Failure;
use serde::Serialize;

use crate::manifest::{
    Outcome, Scope, State, StateCommand, StateKind, Template, TemplateTooLong, words_with_options,
};

/// The state of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallState {
    /// It waits for a person, for its turn, or for the process that runs it.
    Waits,
    /// It may run.
    Ready,
    /// It has ended.
    Ended(CallResult),
    /// Its run was cut off, so its outcome is unknown.
    Unknown,
}

/// The result of requesting a call.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestedCall {
    /// It is queued under this id.
    Queued(String),
    /// It needed no queue or was refused. This is its result.
    Done(CallResult),
    /// A limit of the caller is reached. Request the call again later.
    Later,
}

/// The result of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallResult {
    /// Whether it succeeded.
    pub is_success: bool,
    /// Its result, or the output of its program.
    pub output: Json,
    /// The exit code of its program.
    pub exit_code: Option<i64>,
    /// The code and message of its failure.
    pub error: Option<(String, String)>,
}

impl CallResult {
    /// Returns the result of a refused or failed call.
    pub fn failed(code: impl Into<String>, message: impl Into<String>) -> CallResult {
        CallResult { error: Some((code.into(), message.into())), ..CallResult::default() }
    }
}

/// Makes calls as the caller of an execution, with at most the rights with which the execution began. Each call has a
/// separate plan, approval and receipt.
pub trait Steps {
    /// Requests a call. A refusal is a result, not an error.
    ///
    /// # Errors
    /// Fails if the call can be neither made nor refused, for example on a full disk.
    fn ask(&self, tool: &str, args: &Json) -> Result<RequestedCall, Failure>;

    /// Returns the state of a call.
    ///
    /// # Errors
    /// Fails if there is no such call, and on a disk error.
    fn look(&self, call: &str) -> Result<CallState, Failure>;

    /// Runs a call that is ready, and returns its new state.
    ///
    /// # Errors
    /// Fails on a disk error.
    fn go_on(&self, call: &str, cancel: &CancelToken) -> Result<CallState, Failure>;

    /// Withdraws a call that has not run.
    fn withdraw(&self, call: &str);

    /// Notifies others that the execution changed.
    fn changed(&self);
}

/// What a state waits for after its call has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallTarget {
    /// Nothing. The result of the call counts.
    Result,
    /// The task that it began.
    Task,
    /// The execution that it began.
    Flow,
}

/// A call that a state asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CallOrder {
    pub(super) tool: String,
    pub(super) args: Json,
    pub(super) then: CallTarget,
    pub(super) timeout: Option<Duration>,
    pub(super) weight: f64,
}

/// Returns the calls of a state. Returns none if the state asks a person.
///
/// # Errors
/// Returns the outcome that the state gets instead.
pub(super) fn orders(
    state: &State,
    scope: &Scope,
    intent: Option<&str>,
    input: &Json,
    feedback: Option<&str>,
) -> Result<Vec<CallOrder>, Box<Outcome>> {
    let filled = IntentInputs { scope, intent, input, feedback };
    let order = match state.kind {
        StateKind::Human => return Ok(Vec::new()),
        StateKind::System | StateKind::ContainerRun => filled.command(state)?,
        StateKind::Agent => filled.task(state.agent.as_deref(), state.input.as_ref(), state)?,
        StateKind::Subworkflow => {
            let workflow = IntentExecutor::Workflow(state.workflow.clone().unwrap_or_default());
            let args = filled.arguments_with_context(workflow, state.input.as_ref())?;
            CallOrder { then: CallTarget::Flow, ..filled.order("workflow.run", args, state) }
        }
        StateKind::ParallelAgents => {
            let each = state.agents.iter().flatten().map(|agent| {
                let input = agent.input.as_deref().map(Json::from);
                let order =
                    filled.task(Some(&agent.agent), input.as_ref().or(state.input.as_ref()), state)?;
                let own = agent.timeout_seconds.and_then(|seconds| u64::try_from(seconds).ok());
                let timeout = own.map(Duration::from_secs).or(order.timeout);
                Ok(CallOrder { timeout, weight: agent.weight.unwrap_or(1.0), ..order })
            });
            return each.collect();
        }
    };
    Ok(vec![order])
}

/// The arguments of a call that begins a task or an execution.
#[derive(Serialize)]
struct BeginArgs {
    #[serde(flatten)]
    what: IntentExecutor,
    #[serde(skip_serializing_if = "Option::is_none")]
    intent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Json>,
}

/// What works on the intent: an agent or a workflow.
#[derive(Serialize)]
enum IntentExecutor {
    #[serde(rename = "agent_id")]
    Agent(String),
    #[serde(rename = "name")]
    Workflow(String),
}

struct IntentInputs<'a> {
    scope: &'a Scope,
    intent: Option<&'a str>,
    input: &'a Json,
    feedback: Option<&'a str>,
}

fn long(error: TemplateTooLong) -> Box<Outcome> {
    Box::new(Outcome::failed(ErrorCode::TooLong, error.to_string()))
}

fn no_command(error: impl Into<String>) -> Box<Outcome> {
    Box::new(Outcome::failed(ErrorCode::InvalidCommand, error))
}

impl IntentInputs<'_> {
    fn order(&self, tool: &str, args: Json, state: &State) -> CallOrder {
        CallOrder {
            tool: tool.to_owned(),
            args,
            then: CallTarget::Result,
            timeout: state.timeout.as_ref().map(crate::manifest::Span::duration),
            weight: 1.0,
        }
    }

    /// Returns the arguments for an intent and an input. A string becomes the intent, anything else the input.
    fn arguments_with_context(
        &self,
        what: IntentExecutor,
        input: Option<&Json>,
    ) -> Result<Json, Box<Outcome>> {
        let filled = input.map(|input| self.scope.fill(input)).transpose().map_err(long)?;
        let (intent, input) = match filled {
            Some(Json::String(text)) => (Some(text), None),
            Some(input @ Json::Object(_)) => (self.intent.map(str::to_owned), Some(input)),
            Some(other) => (Some(other.to_compact()), None),
            None => {
                let given = Some(self.input.clone())
                    .filter(|input| input.as_object().is_some_and(|all| !all.is_empty()));
                (self.intent.map(str::to_owned), given)
            }
        };
        let intent = match (intent, self.feedback) {
            (Some(intent), Some(feedback)) if !intent.contains(feedback) => {
                Some(format!("{intent}\n\n{feedback}"))
            }
            (intent, feedback) => intent.or(feedback.map(str::to_owned)),
        };
        Ok(to_json(&BeginArgs { what, intent, input }).expect("arguments are JSON"))
    }

    fn task(
        &self,
        agent: Option<&str>,
        input: Option<&Json>,
        state: &State,
    ) -> Result<CallOrder, Box<Outcome>> {
        let agent = self.scope.render(&Template::from_valid(agent.unwrap_or_default())).map_err(long)?;
        let args = self.arguments_with_context(IntentExecutor::Agent(agent), input)?;
        Ok(CallOrder { then: CallTarget::Task, ..self.order("task.execute", args, state) })
    }

    fn command(&self, state: &State) -> Result<CallOrder, Box<Outcome>> {
        let command = state.command.clone().unwrap_or_default();
        let command = StateCommand::parse(&command).map_err(no_command)?;
        let (program, words) = match command {
            StateCommand::Words { program, words } => (program, words),
            StateCommand::Tool { tool, arguments } => {
                let args = self.scope.fill(&arguments).map_err(long)?;
                if tool == COMMAND {
                    check_args(&arguments, &args)?;
                }
                return Ok(self.order(&tool, args, state));
            }
        };
        let argv = Argv::new(vec![program.clone()]).map_err(|error| no_command(error.to_string()))?;
        let rendered = words.iter().map(|word| self.scope.render(word));
        let rendered = rendered.collect::<Result<Vec<_>, _>>().map_err(long)?;
        let program_word = Template::from_valid(&program);
        let free = words_with_options(&[&[program_word], &*words].concat());
        check_options(&words, &rendered, free.saturating_sub(1))?;
        let args = CommandArgs {
            command: argv.to_string(),
            args: rendered,
            cwd: state.workdir.clone(),
            timeout_seconds: state.timeout.as_ref().map(|span| span.duration().as_secs().clamp(1, 600)),
            max_output_bytes: None,
            shell: false,
            env: state.env.iter().flat_map(|names| names.keys()).map(|name| (name.clone(), true)).collect(),
        };
        let args = to_json(&args).expect("arguments are JSON");
        Ok(self.order(COMMAND, args, state))
    }
}

/// Checks the arguments of the command tool in the same way. Compares the written and the rendered form.
fn check_args(written: &Json, filled: &Json) -> Result<(), Box<Outcome>> {
    let texts = |args: &Json| -> Option<Vec<String>> {
        let words = args.get("args")?.as_array()?.iter();
        Some(words.map(|word| word.as_str().unwrap_or_default().to_owned()).collect())
    };
    let Some(rendered) = texts(filled) else { return Ok(()) };
    let command = written.get("command").and_then(Json::as_str).and_then(|text| Argv::parse(text).ok());
    let command = command.iter().flat_map(|argv| argv.words()).map(|word| Template::from_valid(word));
    let mut words: Vec<Template> = command.collect();
    let before = words.len();
    match texts(written) {
        Some(args) => words.extend(args.iter().map(|word| Template::from_valid(word))),
        // The whole list is a value, so each of its words begins with a value.
        None => words.resize(before + rendered.len(), Template::default()),
    }
    let free = words_with_options(&words).saturating_sub(before);
    check_options(&words[before..], &rendered, free)
}

/// Refuses a rendered word that begins with `-` because of a value, among the first `count` words of a command.
fn check_options(templates: &[Template], words: &[String], count: usize) -> Result<(), Box<Outcome>> {
    let all = templates.iter().zip(words).enumerate().take(count);
    let mut made = all.filter(|(_, (template, word))| !template.begins_with_text() && word.starts_with('-'));
    match made.next() {
        Some((at, _)) => {
            let message = format!(
                "word {} of the command begins with a value and with `-`, so the program would read an option; \
                 write `--` before it",
                at + 1
            );
            Err(Box::new(Outcome::failed(ErrorCode::ArgumentLooksLikeOption, message)))
        }
        None => Ok(()),
    }
}

/// Returns the outcome of a state whose call has ended. JSON that the program printed becomes `output.json`.
pub(super) fn outcome_of(result: CallResult) -> Outcome {
    let CallResult { is_success, mut output, exit_code, error } = result;
    let ended = CommandOutput::read(&output);
    let code = ended.exit_code.or(exit_code);
    let printed = ended.stdout.and_then(|text| Json::parse(text.trim()).ok());
    let printed = printed.filter(|json| json.as_object().is_some());
    let (mut score, mut confidence) = (None, None);
    if let (Some(printed), Json::Object(members)) = (printed, &mut output) {
        let read = Outcome::default().with_output(printed.clone());
        (score, confidence) = (read.score, read.confidence);
        members.extend(printed.get("blackboard").map(|writes| ("blackboard".to_owned(), writes.clone())));
        members.insert("json".to_owned(), printed);
    }
    let (code_word, message) = match (error, ended.timed_out, code) {
        (Some((code, message)), ..) => (Some(code), Some(message)),
        (None, true, _) => {
            (Some("timed_out".to_owned()), Some("the command was ended at its time limit".to_owned()))
        }
        (None, false, Some(code)) if code != 0 => {
            (Some("exit_code".to_owned()), Some(format!("the command ended with {code}")))
        }
        (None, false, _) if !is_success => (Some("failed".to_owned()), Some("the call failed".to_owned())),
        (None, false, _) => (None, None),
    };
    let outcome = Outcome { is_success: code_word.is_none(), code: code_word, message, ..Outcome::default() };
    let outcome = outcome.with_output(output);
    Outcome {
        exit_code: code,
        score: outcome.score.or(score),
        confidence: outcome.confidence.or(confidence),
        ..outcome
    }
}

#[cfg(test)]
mod tests {
    use crate::manifest::{Workflow, read};

    use super::*;

    /// Returns the code of a command in which all values are `--output=a`, except `{{input.d}}`, which is `--`.
    fn code(command: &str) -> Option<String> {
        let manifest = format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{name: a}}\nspec:\n  initial_state: A\n  \
             states:\n    A: {{kind: System, command: {command}, transitions: []}}\n"
        );
        let Some(workflow) = read::<Workflow>(&manifest).manifest else { return Some("a fault".to_owned()) };
        let state = &workflow.spec.states["A"];
        let input = r#"{"x": "--output=a", "l": ["--output=a"], "d": "--", "n": "5"}"#;
        let input = Json::parse(input).unwrap();
        let names = Json::object([("input", input.clone())]).as_object().cloned().unwrap();
        let orders = orders(state, &Scope { names }, None, &input, None);
        orders.err().and_then(|outcome| outcome.code)
    }

    #[test]
    fn a_value_is_an_option_of_no_program() {
        for command in [
            r#"["sort", "{{input.x}}"]"#,
            r#"{"tool": "cmd.run", "arguments": {"command": "sort", "args": "{{input.l}}"}}"#,
            r#"{"tool": "cmd.run", "arguments": {"command": "sort", "args": ["{{input.x}}"]}}"#,
            r#"["env", "{{input.d}}", "sort", "{{input.x}}"]"#,
            r#"["sort", "-T", "{{input.d}}", "{{input.x}}", "a.txt"]"#,
            r#"["timeout", "--", "5", "sort", "{{input.x}}"]"#,
            r#"["sort", "{{input.d}}"]"#,
        ] {
            let found = code(command);
            let expect = ["argument_looks_like_option", "a fault"];
            assert!(found.as_deref().is_some_and(|code| expect.contains(&code)), "{command}: {found:?}");
        }
        for command in [
            r#"["sort", "--", "{{input.x}}"]"#,
            r#"["sort", "--key={{input.n}}", "{{input.n}}"]"#,
            r#"["timeout", "{{input.n}}", "sort", "--", "{{input.x}}"]"#,
            r#"{"tool": "cmd.run", "arguments": {"command": "sort --", "args": "{{input.l}}"}}"#,
            r#"{"tool": "cmd.run", "arguments": {"command": "sort", "args": ["--", "{{input.x}}"]}}"#,
            r#"{"tool": "fs.read", "arguments": {"path": "{{input.x}}"}}"#,
        ] {
            assert_eq!(code(command), None, "{command}");
        }
    }
}
