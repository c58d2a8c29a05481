//! A worker that judges calls of agents before a rule approves them, and outputs of tasks.

use std::sync::Arc;
use std::time::Duration;

use brigade_access::{JudgeSettings, Worker};
use brigade_call::{Call, Caller, Judgement};
use brigade_catalog::Tool;
use brigade_core::json::{from_json, to_json};
use brigade_core::text::short;
use brigade_core::{ErrorCode, Fingerprint, Json, Number};
use brigade_kitchen::TaskId;
use brigade_kitchen::prompt::{TaskPromptInput, errand};
use brigade_kitchen::signal::{Exit, Role, missing_verdict_reason, read_tasks};
use brigade_kitchen_run::{Attempt, Host, Watch, attempt};
use brigade_policy::{PolicyState, RiskLevel};
use brigade_process::CancelToken;
use brigade_redact::{Redactor, SecretValue};
use brigade_toolset::{Failure, not_reviewed};
use brigade_workspace::{Config, Host as FactHost, WorkspaceContext, gather};
use serde::{Deserialize, Serialize};

use crate::receipt::{TaskDetails, TaskReceiptStore};
use crate::runner::{ModelChoice, folder, make_folder, prepare_worker};

/// The time limit of a judge. The caller waits for it.
const JUDGE_TIMEOUT: Duration = Duration::from_secs(60);

/// The cap of each log, in bytes.
const MAX_LOG: u64 = 1 << 20;

/// The maximum length of the stored reasoning, in bytes.
const MAX_REASONING: usize = 4 << 10;

/// The instruction of a judge.
const INSTRUCTION: &str = "You judge, and do nothing else. Answer with one JSON object and nothing around it: \
{\"score\": S, \"confidence\": C, \"reasoning\": \"R\"}. S is a number from 0 to 1: 1 if what you judge is right and \
does no harm, 0 if it must not be. C is a number from 0 to 1: how sure you are. R says why in a few sentences.";

/// Asks the judge that gateway.toml names about a call of an agent. `None` without a judge.
pub fn judge_call(
    workspace: &Arc<WorkspaceContext>,
    config: &Config,
    call: &Call,
    tool: &Tool,
    risk: RiskLevel,
) -> Option<Judgement> {
    let judge = Judge::from_config(config, &workspace.host())?;
    let question = JudgeQuestion::call(call, tool, risk);
    Some(judge.ask(workspace, &config.policy, &question, workspace.cancel.clone()))
}

/// The worker that gateway.toml names as judge.
pub(crate) struct Judge {
    worker: Worker,
    threshold: f64,
}

/// A question for the judge.
pub(crate) struct JudgeQuestion<'a> {
    /// The tool whose call or output is judged.
    pub(crate) tool: &'a str,
    /// The caller.
    pub(crate) caller: Caller,
    /// The text of the question.
    pub(crate) question: &'a str,
    /// The call or output, without secrets.
    pub(crate) input: Json,
}

impl<'a> JudgeQuestion<'a> {
    /// Asks about a call of an agent.
    fn call(call: &'a Call, tool: &Tool, risk: RiskLevel) -> JudgeQuestion<'a> {
        JudgeQuestion {
            tool: &call.tool_id,
            caller: call.caller.clone(),
            question: "May this call of an agent run without a person who approves it?",
            input: shown(&JudgedCall {
                tool: &call.tool_id,
                description: tool.description.as_deref(),
                effects: &tool.effects,
                risk,
                agent: call.caller.as_record().as_str(),
                arguments: &call.args,
            }),
        }
    }

    /// Asks about the output of a task.
    pub(crate) fn output(caller: Caller, criteria: &str, output: &str) -> JudgeQuestion<'a> {
        JudgeQuestion {
            tool: "task.execute",
            caller,
            question: "Does this output of a task meet the criteria?",
            input: shown(&JudgedOutput { criteria, output }),
        }
    }
}

/// A call, in the form that a judge sees.
#[derive(Serialize)]
struct JudgedCall<'a> {
    tool: &'a str,
    description: Option<&'a str>,
    effects: &'a [String],
    risk: RiskLevel,
    agent: &'a str,
    arguments: &'a Json,
}

/// The output of a task, in the form that a judge sees.
#[derive(Serialize)]
struct JudgedOutput<'a> {
    criteria: &'a str,
    output: &'a str,
}

fn shown(input: &impl Serialize) -> Json {
    to_json(input).expect("what a judge is shown is JSON")
}

/// The answer of a judge.
#[derive(Deserialize)]
struct JudgeAnswer {
    score: Number,
    confidence: Number,
    reasoning: String,
}

impl Judge {
    /// Returns the judge that gateway.toml names. Returns `None` without a judge.
    pub(crate) fn from_config(config: &Config, host: &FactHost<'_>) -> Option<Judge> {
        let gateway = config.gateway(host)?;
        let settings = gateway.judge.as_ref()?;
        let worker = gateway.workers.iter().find(|worker| worker.id == settings.worker)?.clone();
        Some(Judge { worker, threshold: settings.threshold })
    }

    /// Returns these workers as judges.
    ///
    /// # Errors
    /// Returns `not_found` if gateway.toml has no worker with an id.
    pub(crate) fn from_workers(
        config: &Config,
        host: &FactHost<'_>,
        ids: &[String],
    ) -> Result<Vec<Judge>, Failure> {
        let gateway = config.gateway(host);
        let threshold = gateway.and_then(|gateway| Some(gateway.judge.as_ref()?.threshold));
        let worker = |id: &String| {
            let found = gateway.and_then(|gateway| gateway.workers.iter().find(|worker| worker.id == *id));
            let missing = || {
                let message = format!("`judge_agents`: gateway.toml has no `[[worker]]` with the id `{id}`");
                Failure::new(ErrorCode::NotFound, message)
            };
            let threshold = threshold.unwrap_or(JudgeSettings::DEFAULT_THRESHOLD);
            Ok(Judge { worker: found.ok_or_else(missing)?.clone(), threshold })
        };
        ids.iter().map(worker).collect()
    }

    /// Asks the judge. A missing, late or unclear answer does not pass.
    pub(crate) fn ask(
        &self,
        context: &Arc<WorkspaceContext>,
        policy: &PolicyState,
        question: &JudgeQuestion<'_>,
        cancel: Option<CancelToken>,
    ) -> Judgement {
        let mut judged = Judgement {
            worker: self.worker.id.clone(),
            run_id: None,
            score: None,
            confidence: None,
            reasoning: None,
            threshold: Number::from(self.threshold),
            passed: false,
            problem: None,
        };
        let secrets = gather::bound_secrets(context, policy);
        let redactor = Redactor::new(&secrets);
        match self.say(context, policy, question, secrets, cancel, &mut judged) {
            Ok(answer) => {
                judged.passed = self.threshold <= answer.score.as_f64();
                // Masking comes first: cutting first could leave part of a secret.
                judged.reasoning = Some(short(&redactor.redact_str(&answer.reasoning), MAX_REASONING));
                (judged.score, judged.confidence) = (Some(answer.score), Some(answer.confidence));
            }
            Err(problem) => judged.problem = Some(redactor.redact_str(&problem)),
        }
        judged
    }

    fn say(
        &self,
        context: &Arc<WorkspaceContext>,
        policy: &PolicyState,
        question: &JudgeQuestion<'_>,
        secrets: Vec<SecretValue>,
        cancel: Option<CancelToken>,
        judged: &mut Judgement,
    ) -> Result<JudgeAnswer, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        if let Some(problem) = context.host().reviewed_worker(policy, &self.worker).problem() {
            return Err(not_reviewed(&self.worker, &problem));
        }
        let prepared_worker =
            prepare_worker(&self.worker, &ModelChoice::default()).map_err(|failure| failure.message)?;
        let watch = Watch::until(cancel).map_err(|error| text(&error))?;
        let environment = (*context.environment).clone();
        let host = Host::new(context.fs.clone(), context.clock.clone(), environment, secrets);
        let run = host.new_run().map_err(|error| text(&error))?;
        let id = format!("judge-{run}");
        let about = TaskDetails {
            execution: id.parse().expect("the id of a run follows"),
            tool: question.tool.to_owned(),
            caller: question.caller.clone(),
            args: question.input.clone(),
        };
        let host = host.keeping(Arc::new(TaskReceiptStore { workspace: context.clone(), task: about }));
        let path = folder(&id).map_err(|failure| failure.message)?;
        make_folder(&*context.fs, &path).map_err(|error| text(&error))?;
        let directory = context.fs.root().join(path.as_path());
        judged.run_id = Some(run.clone());
        let task: Option<TaskId> = id.parse().ok();
        let words: Vec<Json> =
            prepared_worker.command.words().iter().map(|word| Json::from(word.as_str())).collect();
        let input = question.input.to_pretty();
        let prompt = |nonce: &str| {
            errand(&TaskPromptInput {
                nonce,
                name: "judge",
                instruction: Some(INSTRUCTION),
                intent: Some(question.question),
                input: &input,
                lacks: None,
                messages: &[],
            })
        };
        let order = Attempt {
            host: &host,
            policy,
            // A person wrote the file that names the judge, which git does not track, and reviewed its bytes.
            approved: Some(
                Fingerprint::builder("brigade.judge.v1").json("command", &Json::from(words)).finish(),
            ),
            run: &run,
            worker: &prepared_worker,
            role: Role::Task,
            prd: None,
            task: task.as_ref(),
            number: 1,
            timeout: Some(JUDGE_TIMEOUT),
            directory: &directory,
            own: Some(&directory),
            reviewed: None,
            closed: &[],
            max_log_bytes: MAX_LOG,
            named_log: None,
            local_offset_minutes: 0,
            gateway: None,
            watch: &watch,
        };
        let attempted = attempt(&order, &prompt);
        drop(context.fs.remove_tree(&path));
        let attempted = attempted.map_err(|error| text(&error))?;
        let evidence = attempted.evidence();
        if attempted.exit != Exit::Code(0) {
            return Err(missing_verdict_reason(&evidence));
        }
        let answer = read_tasks(&evidence).ok_or_else(|| missing_verdict_reason(&evidence))?;
        read(&answer).ok_or_else(|| {
            "its answer is not an object with `score` and `confidence` from 0 to 1 and `reasoning`".to_owned()
        })
    }
}

/// Parses the answer of a judge: one object, optionally in a code fence.
fn read(answer: &str) -> Option<JudgeAnswer> {
    let answer = answer.trim();
    let fenced = answer.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let json =
        Json::parse(fenced.map_or(answer, |inside| inside.strip_prefix("json").unwrap_or(inside)).trim());
    let answer: JudgeAnswer = from_json(&json.ok()?).ok()?;
    let is_share = |number: &Number| (0.0..=1.0).contains(&number.as_f64());
    (is_share(&answer.score) && is_share(&answer.confidence)).then_some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_judge_is_shown_a_call_or_an_output() {
        let arguments = Json::parse(r#"{"path": "a", "n": 1.50}"#).unwrap();
        let effects = ["network".to_owned(), "local-read".to_owned()];
        let call = JudgedCall {
            tool: "fetch",
            description: None,
            effects: &effects,
            risk: RiskLevel::Medium,
            agent: "agent:ada",
            arguments: &arguments,
        };
        assert_eq!(
            shown(&call).to_compact(),
            r#"{"agent":"agent:ada","arguments":{"n":1.50,"path":"a"},"description":null,"effects":["network","local-read"],"risk":"medium","tool":"fetch"}"#
        );
        let question = JudgeQuestion::output(Caller::Agent("ada".to_owned()), "It is short.", "yes");
        assert_eq!(question.input.to_compact(), r#"{"criteria":"It is short.","output":"yes"}"#);
    }

    #[test]
    fn a_verdict_is_one_whole_object() {
        let answer = read(r#"{"score": 0.9, "confidence": 1, "reasoning": "it only reads"}"#).unwrap();
        assert_eq!((answer.score.as_f64(), answer.confidence.as_f64()), (0.9, 1.0));
        assert_eq!(answer.reasoning, "it only reads");
        assert!(read("```json\n{\"score\": 0, \"confidence\": 0.5, \"reasoning\": \"\"}\n```").is_some());
        for broken in [
            "",
            "yes",
            "0.9",
            "[]",
            r#"[0.9, 1, "x"]"#,
            r#"{"score": 0.9, "confidence": 1}"#,
            r#"{"score": "0.9", "confidence": 1, "reasoning": "x"}"#,
            r#"{"score": 1.1, "confidence": 1, "reasoning": "x"}"#,
            r#"{"score": -1, "confidence": 1, "reasoning": "x"}"#,
            r#"{"score": 1e999, "confidence": 1, "reasoning": "x"}"#,
            r#"{"score": 1, "score": 0, "confidence": 1, "reasoning": "x"}"#,
            r#"Sure: {"score": 1, "confidence": 1, "reasoning": "x"}"#,
            r#"{"score": 1, "confidence": 1, "reasoning": "x"} {"score": 0, "confidence": 1, "reasoning": "x"}"#,
        ] {
            assert!(read(broken).is_none(), "{broken}");
        }
    }
}
