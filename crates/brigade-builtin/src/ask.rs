//! Questions for a person: `ask.user`. The call waits for the answer, which comes by another process.

use std::time::Duration;

use brigade_core::{Json, Object};
use brigade_profile::LiveSession;
use brigade_store::questions::{Asked, AskedOption, AskedQuestion, Question};
use serde::Deserialize;

use crate::context::{Context, Failure, Output};
use crate::run::{Function, arguments};
use crate::stored::{or_null, texts};

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[("ask.user", user)];

/// How long a call waits for the answer.
const LONGEST: Duration = Duration::from_secs(600);

/// How often it looks for one.
const LOOK: Duration = Duration::from_millis(200);

#[derive(Deserialize)]
struct AskArgs {
    question: Option<String>,
    #[serde(default)]
    questions: Vec<GivenQuestion>,
    title: Option<String>,
    body: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GivenQuestion {
    id: Option<String>,
    header: Option<String>,
    question: String,
    #[serde(default)]
    options: Vec<AskedOption>,
    #[serde(default)]
    multi_select: bool,
    #[serde(default)]
    allows_freeform: bool,
    #[serde(default)]
    is_secret: bool,
    default_assumption: Option<String>,
    impact: Option<String>,
}

/// Reads what is asked.
///
/// # Errors
/// Returns `secret_by_question` if a secret is asked for, and `invalid_arguments` if nothing is asked.
fn asked(input: &Json) -> Result<Asked, Failure> {
    let args: AskArgs = arguments(input)?;
    if args.questions.iter().any(|question| question.is_secret) {
        let message = "secrets are never asked for; a tool gets a secret by a label of its entry (`env_bindings`), whose \
                       value a person sets outside of any conversation";
        return Err(Failure::new("secret_by_question", message));
    }
    let mut questions: Vec<AskedQuestion> = Vec::new();
    match (args.question, args.questions) {
        (Some(question), rest) if rest.is_empty() => {
            questions.push(AskedQuestion { id: "answer".to_owned(), question, ..AskedQuestion::default() });
        }
        (None, given) if !given.is_empty() => {
            for (index, one) in given.into_iter().enumerate() {
                questions.push(AskedQuestion {
                    id: one.id.filter(|id| !id.is_empty()).unwrap_or_else(|| format!("q{}", index + 1)),
                    header: one.header,
                    question: one.question,
                    options: one.options,
                    multi_select: one.multi_select,
                    allows_freeform: one.allows_freeform,
                    default_assumption: one.default_assumption,
                    impact: one.impact,
                });
            }
        }
        (Some(_), _) => {
            return Err(Failure::new("invalid_arguments", "give `question` or `questions`, not both"));
        }
        (None, _) => return Err(Failure::new("invalid_arguments", "`question` or `questions` is missing")),
    }
    let asked = Asked { title: args.title, body: args.body, questions };
    asked.check()?;
    Ok(asked)
}

/// Asks. Returns the question, which may have an answer already if the same one was asked before.
///
/// # Errors
/// As [`asked`]. Also fails on a disk error.
fn ask(input: &Json, context: &Context<'_>) -> Result<Question, Failure> {
    let asked = asked(input)?;
    let agent = context.agent().ok_or_else(|| Failure::new("no_session", "only an agent asks"))?;
    let session = context.session.map_or("", LiveSession::id);
    Ok(context.store()?.ask(agent, session, &asked, context.redactor, context.clock.now())?)
}

/// Asks, and waits. A call that is cancelled takes its question back, because nobody waits for the answer any more.
fn user(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let mut question = ask(input, context)?;
    let agent = question.agent.clone();
    let started = context.clock.now();
    loop {
        question = context.store()?.take_answer(&agent, &question.id)?;
        if let Some(output) = answered(&question) {
            return Ok(output);
        }
        if LONGEST <= context.clock.now().since(started) {
            return Err(unanswered(&question));
        }
        let Some(cancel) = context.cancel else { return Err(unanswered(&question)) };
        if cancel.wait(LOOK) {
            context.store()?.withdraw_question(&question.id)?;
            return Err(Failure::new("cancelled", "the call was cancelled, so the question was taken back"));
        }
    }
}

/// Writes the answer of a person; `None` while there is none.
fn answered(question: &Question) -> Option<Output> {
    let answer = question.answer.as_ref()?;
    let first = match question.asked.questions.as_slice() {
        [one] => answer.answers.get(&one.id).map(|values| values.join(", ")),
        _ => None,
    };
    let answers: Object = answer.answers.iter().map(|(id, values)| (id.clone(), texts(values))).collect();
    let by = question.answered_by.as_deref().unwrap_or("person");
    Some(Output::new([
        ("answer", or_null(first.as_deref())),
        ("answers", Json::Object(answers)),
        ("response_text", or_null(answer.text.as_deref())),
        ("decision", Json::from(answer.decision.as_str())),
        ("answered_by", Json::from(by)),
    ]))
}

/// Says that a person has not answered in time. The same question asked again waits for the same answer.
fn unanswered(question: &Question) -> Failure {
    let message = format!("question {} waits for a person; ask the same again to wait on", question.id);
    Failure::new("answer_pending", message).data([("question_id", Json::from(question.id.as_str()))])
}

#[cfg(test)]
mod tests {
    use brigade_store::questions::{Answer, Decision, Given};

    use super::*;
    use crate::stored::testing::Bench;

    #[track_caller]
    fn check(args: &str, expect: Result<usize, &'static str>) {
        let read = asked(&Json::parse(args).unwrap());
        assert_eq!(read.map(|asked| asked.questions.len()).map_err(|failure| failure.code), expect, "{args}");
    }

    #[test]
    fn what_cannot_be_asked_is_refused() {
        check(r#"{"question": "Which port?"}"#, Ok(1));
        check(
            r#"{"questions": [{"question": "A?"}, {"question": "B?", "options": [{"label": "x"}]}]}"#,
            Ok(2),
        );
        check("{}", Err("invalid_arguments"));
        check(r#"{"questions": []}"#, Err("invalid_arguments"));
        check(r#"{"question": "A?", "questions": [{"question": "B?"}]}"#, Err("invalid_arguments"));
        check(r#"{"question": " "}"#, Err("invalid_arguments"));
        check(r#"{"questions": [{"question": "Token?", "isSecret": true}]}"#, Err("secret_by_question"));
        check(
            r#"{"questions": [{"id": "a", "question": "A?"}, {"id": "a", "question": "B?"}]}"#,
            Err("invalid_arguments"),
        );
    }

    #[test]
    fn an_answer_is_written_as_the_row_says() {
        let bench = Bench::new();
        let args = Json::parse(r#"{"questions": [{"id": "colour", "question": "Which?", "options": [{"label": "Red", "value": "r"}]}]}"#).unwrap();
        let question = bench.with("agent:ada", |context| ask(&args, context)).unwrap();
        assert_eq!(answered(&question), None);
        assert_eq!(unanswered(&question).code, "answer_pending");
        let store = bench.stores.writing(&bench.fs).unwrap();
        let redactor = brigade_redact::Redactor::new(&[]);
        let given = Given { choices: vec!["Red".to_owned()], text: Some("as always".to_owned()) };
        let answer = question.asked.answer(&given).unwrap();
        let now = question.created_at;
        let question = store.answer_question(&question.id, &answer, "person", &redactor, now).unwrap();
        let expect = r#"{"answer": "r", "answers": {"colour": ["r"]}, "response_text": "as always",
            "decision": "accept", "answered_by": "person"}"#;
        assert_eq!(answered(&question).unwrap().structured, Json::parse(expect).unwrap());
        let mut declined = question;
        declined.answer = Some(Answer::declined(Decision::Decline));
        assert_eq!(answered(&declined).unwrap().structured.get("decision"), Some(&Json::from("decline")));
        assert_eq!(bench.with("command-line", |context| ask(&args, context)).unwrap_err().code, "no_session");
    }
}
