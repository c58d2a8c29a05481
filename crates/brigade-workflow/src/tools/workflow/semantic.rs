//! The semantic validation of `workflow.create`: judges read the manifest and say whether it makes sense.

use brigade_call::Judgement;
use brigade_core::json::to_json;
use brigade_core::{ErrorCode, Json};
use brigade_toolset::{Context, Failure, arguments};
use serde::{Deserialize, Serialize};

use crate::runner::TaskRunner;

/// What the judges are asked.
const QUESTION: &str = "May this workflow be deployed? Judge whether its states, in their order and with their \
conditions, reach the goal that its name, its description and the context say, and whether it does no harm.";

#[derive(Deserialize)]
struct JudgeArgs {
    task_context: Option<String>,
    judge_agents: Option<Vec<String>>,
    min_score: Option<f64>,
    min_confidence: Option<f64>,
}

/// What the judges read.
#[derive(Serialize)]
struct JudgedWorkflow<'a> {
    manifest: &'a str,
    context: Option<String>,
}

/// The semantic part of the result of `workflow.create`.
#[derive(Serialize)]
pub(crate) struct Semantic {
    semantic: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    /// What the judges say, or why none was asked.
    reasoning: String,
}

fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Asks the judges about a manifest: the workers of `judge_agents`, otherwise the configured one.
///
/// # Errors
/// Returns `validation_failed` if the mean of their scores or confidences is too low or one gave none, and
/// `not_available_here` if judges are demanded and no judge is configured.
pub(super) fn judged(
    input: &Json,
    manifest: &str,
    context: &Context<'_>,
    runner: &TaskRunner<'_>,
) -> Result<Semantic, Failure> {
    let args: JudgeArgs = arguments(input)?;
    let demands = args.judge_agents.is_some() || args.min_score.is_some() || args.min_confidence.is_some();
    let redacted = context.redactor.redact_str(manifest);
    let about = JudgedWorkflow {
        manifest: &redacted,
        context: args.task_context.map(|text| context.redactor.redact_str(&text)),
    };
    let about = to_json(&about).expect("a text is JSON");
    let named = args.judge_agents.unwrap_or_default();
    let verdicts = runner.judge(QUESTION, about, &named)?;
    if verdicts.is_empty() {
        let reasoning = "not judged: gateway.toml names no judge (`[judge]`)".to_owned();
        return match demands {
            true => Err(Failure::new(ErrorCode::NotAvailableHere, reasoning)),
            false => Ok(Semantic { semantic: "skipped", score: None, confidence: None, reasoning }),
        };
    }
    let failed = |message: String| Failure::new(ErrorCode::ValidationFailed, message);
    if let Some(Judgement { worker, problem, .. }) = verdicts.iter().find(|one| one.score.is_none()) {
        let problem = problem.as_deref().unwrap_or("it gave no score");
        return Err(failed(format!("the judge {worker} did not judge: {problem}")));
    }
    let count = f64::from(u32::try_from(verdicts.len()).unwrap_or(u32::MAX));
    let mean = |value: &dyn Fn(&Judgement) -> f64| round(verdicts.iter().map(value).sum::<f64>() / count);
    let score = mean(&|one| one.score.as_ref().map_or(0.0, brigade_core::Number::as_f64));
    let confidence = mean(&|one| one.confidence.as_ref().map_or(0.0, brigade_core::Number::as_f64));
    let lines =
        verdicts.iter().filter_map(|one| Some(format!("{}: {}", one.worker, one.reasoning.as_ref()?)));
    let reasoning = lines.collect::<Vec<_>>().join("\n");
    let least = args.min_score.unwrap_or_else(|| mean(&|one| one.threshold.as_f64()));
    let is_sure = args.min_confidence.is_none_or(|least| least <= confidence);
    if score < least || !is_sure {
        let bound = args.min_confidence.map(|least| format!(" (minimum {least})")).unwrap_or_default();
        return Err(failed(format!(
            "the judges scored it {score} (minimum {least}) with confidence {confidence}{bound}: {reasoning}"
        )));
    }
    Ok(Semantic { semantic: "passed", score: Some(score), confidence: Some(confidence), reasoning })
}
