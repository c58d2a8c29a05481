//! Questions for a person: `ask.user`. The call waits until another process stores the answer.

use std::collections::BTreeMap;
use std::time::Duration;

use brigade_access::{LiveSession, is_of_execution};
use brigade_core::json::{from_json, to_json};
use brigade_core::{ErrorCode, Json};
use brigade_db::StoreError;
use brigade_db::questions::{
    Answer, AnswerInput, AskedOption, AskedQuestion, Asker, Decision, Question, QuestionForm,
};
use serde::{Deserialize, Serialize};

use crate::context::{Context, Failure, Output};
use crate::run::{Function, arguments};

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[("ask.user", user)];

/// How long a call waits for the answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(600);

/// The recorded answerer if the person answered in the client's dialogue.
const BY_FORM: &str = "elicitation";

/// How often to look for an answer.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

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

/// The result of `ask.user`.
#[derive(Serialize)]
struct AskResult<'a> {
    answer: Option<String>,
    answers: &'a BTreeMap<String, Vec<String>>,
    response_text: Option<&'a str>,
    decision: &'static str,
    answered_by: &'a str,
}

/// Parses the questions.
///
/// # Errors
/// Returns `secret_by_question` if a question asks for a secret, and `invalid_arguments` without any question.
fn read_form(input: &Json) -> Result<QuestionForm, Failure> {
    let args: AskArgs = arguments(input)?;
    if args.questions.iter().any(|question| question.is_secret) {
        let message = "never ask for secrets; a tool gets a secret by a label of its entry (`env_bindings`), whose \
                       value a person sets outside of the conversation";
        return Err(Failure::new(ErrorCode::SecretByQuestion, message));
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
            return Err(Failure::new(ErrorCode::InvalidArguments, "set `question` or `questions`, not both"));
        }
        (None, _) => {
            return Err(Failure::new(ErrorCode::InvalidArguments, "`question` or `questions` is missing"));
        }
    }
    let form = QuestionForm { title: args.title, body: args.body, questions };
    form.check()?;
    Ok(form)
}

/// Stores the question and returns it. An equal earlier question is returned instead, possibly with its answer.
///
/// # Errors
/// Returns the errors of [`asked`]. Also fails on a disk error.
fn ask(input: &Json, context: &Context<'_>) -> Result<Question, Failure> {
    let form = read_form(input)?;
    let agent = context.agent().ok_or_else(|| Failure::new(ErrorCode::NoSession, "only an agent can ask"))?;
    let session = context.session.map_or("", LiveSession::id);
    // Executions do not share questions. Another session of the agent continues the questions of an ended one.
    let is_same = |other: &str| match is_of_execution(session) {
        true => other == session,
        false => !is_of_execution(other),
    };
    let a_minute = context.limits()?.calls_per_minute();
    let asker = Asker { agent, session, is_same: &is_same, a_minute };
    Ok(context.store()?.ask(&asker, &form, context.redactor, context.clock.now())?)
}

/// Asks and waits. If the call is cancelled, the question is withdrawn.
fn user(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let mut question = ask(input, context)?;
    let agent = question.agent.clone();
    let started = context.clock.now();
    let mut replies_of_client = None;
    loop {
        question = context.store()?.take_answer(&agent, &question.id)?;
        if let Some(output) = answered(&question) {
            return Ok(output);
        }
        let replies = replies_of_client
            .get_or_insert_with(|| context.form.map(|show| show(elicitation(&question.asked))));
        if let Some(reply) = replies.as_ref().and_then(|replies| replies.try_recv().ok())
            && let Some(answer) = parse_reply(&question.asked, &reply)
        {
            let (redactor, now) = (context.redactor, context.clock.now());
            match context.store()?.answer_question(&question.id, &answer, BY_FORM, redactor, now) {
                // Another answer was stored first, and it counts.
                Ok(_) | Err(StoreError::Refused(_)) => continue,
                Err(error) => return Err(error.into()),
            }
        }
        if ANSWER_TIMEOUT <= context.clock.now().since(started) {
            return Err(unanswered_failure(&question));
        }
        let Some(cancel) = context.cancel else { return Err(unanswered_failure(&question)) };
        if cancel.wait(POLL_INTERVAL) {
            context.store()?.withdraw_question(&question.id)?;
            return Err(Failure::new(
                ErrorCode::Cancelled,
                "the call was cancelled, so the question was withdrawn",
            ));
        }
    }
}

/// A form: the parameters of `elicitation/create`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Form<'a> {
    mode: &'static str,
    message: String,
    requested_schema: FormSchema<'a>,
}

/// The fields of a form, by question id.
#[derive(Serialize)]
struct FormSchema<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    properties: BTreeMap<&'a str, Field<'a>>,
    required: Vec<&'a str>,
}

#[derive(Serialize)]
struct Field<'a> {
    #[serde(flatten)]
    values: FieldValues<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    description: String,
}

impl<'a> Field<'a> {
    fn new(question: &'a AskedQuestion) -> Field<'a> {
        Field {
            values: FieldValues::new(question),
            title: question.header.as_deref(),
            description: question_text(question),
        }
    }
}

/// The values of a field: a text, one of several texts, or a list of them.
#[derive(Serialize)]
struct FieldValues<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    one_of: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Box<FieldValues<'a>>>,
}

impl<'a> FieldValues<'a> {
    fn new(question: &'a AskedQuestion) -> FieldValues<'a> {
        let text = FieldValues { kind: "string", one_of: None, items: None };
        if question.options.is_empty() || question.takes_text() {
            return text;
        }
        let values = question.options.iter().map(AskedOption::value).collect();
        let choice = FieldValues { one_of: Some(values), ..text };
        match question.multi_select {
            true => FieldValues { kind: "array", one_of: None, items: Some(Box::new(choice)) },
            false => choice,
        }
    }
}

/// The reply to a form: the result of `elicitation/create`.
#[derive(Deserialize)]
struct FormReply {
    action: FormAction,
    /// The values of the fields, by question id. Of any type unless the form was accepted.
    #[serde(default)]
    content: Json,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum FormAction {
    Accept,
    Decline,
    Cancel,
}

/// Converts the questions to a form with one field per question.
fn elicitation(form: &QuestionForm) -> Json {
    let heads = [&form.title, &form.body].into_iter().flatten().cloned();
    let message: Vec<String> = match form.questions.as_slice() {
        [one] => heads.chain([one.question.clone()]).collect(),
        several => heads.chain([format!("{} questions", several.len())]).collect(),
    };
    let fields = form.questions.iter().map(|question| (question.id.as_str(), Field::new(question)));
    let requested_schema = FormSchema {
        kind: "object",
        properties: fields.collect(),
        required: form.questions.iter().map(|question| question.id.as_str()).collect(),
    };
    to_json(&Form { mode: "form", message: message.join("\n"), requested_schema }).expect("a form is JSON")
}

/// Describes everything about a question that a form field cannot express.
fn question_text(question: &AskedQuestion) -> String {
    let mut lines = vec![question.question.clone()];
    for option in &question.options {
        let mark = if option.recommended { " (recommended)" } else { "" };
        let about = option.description.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
        lines.push(match option.value() == option.label {
            true => format!("- {}{mark}{about}", option.label),
            false => format!("- {} = {}{mark}{about}", option.value(), option.label),
        });
    }
    lines.extend(question.default_assumption.as_ref().map(|text| format!("Without an answer: {text}")));
    lines.extend(question.impact.as_ref().map(|text| format!("What depends on it: {text}")));
    lines.join("\n")
}

/// Parses the reply to a form. Returns `None` if it does not answer the questions.
fn parse_reply(form: &QuestionForm, reply: &Json) -> Option<Answer> {
    let FormReply { action, content } = from_json(reply).ok()?;
    match action {
        FormAction::Decline => Some(Answer::declined(Decision::Decline)),
        FormAction::Cancel => Some(Answer::declined(Decision::Cancel)),
        FormAction::Accept => {
            let mut choices = Vec::new();
            for (id, value) in content.as_object()? {
                let values = value.as_array().map_or_else(|| vec![value], |values| values.iter().collect());
                for value in values {
                    let text = value.as_str().map_or_else(|| value.to_compact(), str::to_owned);
                    choices.push(format!("{id}={text}"));
                }
            }
            form.answer(&AnswerInput { choices, text: None }).ok()
        }
    }
}

/// Returns the result for an answered question, or `None` if it is not answered.
fn answered(question: &Question) -> Option<Output> {
    let answer = question.answer.as_ref()?;
    let first = match question.asked.questions.as_slice() {
        [one] => answer.answers.get(&one.id).map(|values| values.join(", ")),
        _ => None,
    };
    Some(Output::from_result(&AskResult {
        answer: first,
        answers: &answer.answers,
        response_text: answer.text.as_deref(),
        decision: answer.decision.as_str(),
        answered_by: question.answered_by.as_deref().unwrap_or("person"),
    }))
}

/// Returns the failure for a question without an answer in time. Asking again waits for the same answer.
fn unanswered_failure(question: &Question) -> Failure {
    let message =
        format!("question {} waits for a person; ask the same question again to keep waiting", question.id);
    Failure::new(ErrorCode::AnswerPending, message).data([("question_id", Json::from(question.id.as_str()))])
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use brigade_core::{Clock, Timestamp};
    use brigade_process::CancelToken;

    use super::*;
    use crate::stored::testing::Bench;

    #[track_caller]
    fn check(args: &str, expect: Result<usize, ErrorCode>) {
        let read = read_form(&Json::parse(args).unwrap());
        assert_eq!(read.map(|form| form.questions.len()).map_err(|failure| failure.code), expect, "{args}");
    }

    #[test]
    fn invalid_questions_are_refused() {
        check(r#"{"question": "Which port?"}"#, Ok(1));
        check(
            r#"{"questions": [{"question": "A?"}, {"question": "B?", "options": [{"label": "x"}]}]}"#,
            Ok(2),
        );
        check("{}", Err(ErrorCode::InvalidArguments));
        check(r#"{"questions": []}"#, Err(ErrorCode::InvalidArguments));
        check(r#"{"question": "A?", "questions": [{"question": "B?"}]}"#, Err(ErrorCode::InvalidArguments));
        check(r#"{"question": " "}"#, Err(ErrorCode::InvalidArguments));
        check(
            r#"{"questions": [{"question": "Token?", "isSecret": true}]}"#,
            Err(ErrorCode::SecretByQuestion),
        );
        check(
            r#"{"questions": [{"id": "a", "question": "A?"}, {"id": "a", "question": "B?"}]}"#,
            Err(ErrorCode::InvalidArguments),
        );
    }

    #[test]
    fn an_answer_is_written_as_the_row_says() {
        let bench = Bench::new();
        let args = Json::parse(
            r#"{"questions": [{"id": "colour", "question": "Which?",
            "allowsFreeform": true, "options": [{"label": "Red", "value": "r"}]}]}"#,
        )
        .unwrap();
        let question = bench.with("agent:ada", |context| ask(&args, context)).unwrap();
        assert_eq!(answered(&question), None);
        assert_eq!(unanswered_failure(&question).code, ErrorCode::AnswerPending);
        let store = bench.stores.writing(&bench.fs).unwrap();
        let redactor = brigade_redact::Redactor::new(&[]);
        let given = AnswerInput { choices: vec!["Red".to_owned()], text: Some("as always".to_owned()) };
        let answer = question.asked.answer(&given).unwrap();
        let now = question.created_at;
        let question = store.answer_question(&question.id, &answer, "person", &redactor, now).unwrap();
        let expect = r#"{"answer": "r", "answers": {"colour": ["r"]}, "response_text": "as always",
            "decision": "accept", "answered_by": "person"}"#;
        assert_eq!(answered(&question).unwrap().structured, Json::parse(expect).unwrap());
        let mut declined = question;
        declined.answer = Some(Answer::declined(Decision::Decline));
        assert_eq!(answered(&declined).unwrap().structured.get("decision"), Some(&Json::from("decline")));
        assert_eq!(
            bench.with("command-line", |context| ask(&args, context)).unwrap_err().code,
            ErrorCode::NoSession
        );
    }

    /// A clock that advances by five minutes at each reading.
    struct FastClock(Mutex<i64>);

    impl Clock for FastClock {
        fn now(&self) -> Timestamp {
            let mut now = self.0.lock().unwrap();
            *now += 300_000_000;
            Timestamp::from_unix_micros(*now)
        }
    }

    fn wait(bench: &Bench, args: &str, reply: Option<&str>) -> Result<Output, Failure> {
        let (clock, cancel) = (FastClock(Mutex::new(0)), CancelToken::new().unwrap());
        let show = |form: Json| {
            let (send, replies) = std::sync::mpsc::channel();
            assert!(form.get("message").and_then(Json::as_str).unwrap().contains("Which"), "{form:?}");
            if let Some(reply) = reply {
                send.send(Json::parse(reply).unwrap()).unwrap();
            }
            replies
        };
        bench.with("agent:ada", |context| {
            let mut context = Context {
                session: context.session,
                cancel: Some(&cancel),
                form: Some(&show),
                ..Context::new(&bench.fs, "agent:ada", &clock, &bench.redactor, &bench.stores)
            };
            user(&Json::parse(args).unwrap(), &mut context)
        })
    }

    #[test]
    fn an_unanswered_question_stays_pending() {
        let bench = Bench::new();
        let args = r#"{"question": "Which port?"}"#;
        let failure = wait(&bench, args, None).unwrap_err();
        assert_eq!(failure.code, ErrorCode::AnswerPending);
        let id = failure.data.unwrap().get("question_id").unwrap().as_str().unwrap().to_owned();
        // Asking again returns the same question, and an answer to it counts.
        assert_eq!(
            wait(&bench, args, None).unwrap_err().data.unwrap().get("question_id"),
            Some(&Json::from(id.as_str()))
        );
        let answered = wait(&bench, args, Some(r#"{"action": "accept", "content": {"answer": "8080"}}"#));
        assert_eq!(answered.unwrap().structured.get("answer"), Some(&Json::from("8080")));
    }

    #[test]
    fn a_form_has_a_field_for_each_question() {
        let args = r#"{"title": "T", "questions": [
            {"id": "b", "question": "Which port?", "defaultAssumption": "80"},
            {"id": "a", "header": "Colour", "question": "Which?", "options": [{"label": "Red", "value": "r"}]},
            {"id": "c", "question": "Which ones?", "multiSelect": true, "options": [{"label": "x"}]},
            {"id": "d", "question": "Which else?", "allowsFreeform": true, "options": [{"label": "x"}]}]}"#;
        let form = elicitation(&read_form(&Json::parse(args).unwrap()).unwrap());
        let expect = concat!(
            r#"{"message":"T\n4 questions","mode":"form","requestedSchema":{"properties":{"#,
            r#""a":{"description":"Which?\n- r = Red","enum":["r"],"title":"Colour","type":"string"},"#,
            r#""b":{"description":"Which port?\nWithout an answer: 80","type":"string"},"#,
            r#""c":{"description":"Which ones?\n- x","items":{"enum":["x"],"type":"string"},"type":"array"},"#,
            r#""d":{"description":"Which else?\n- x","type":"string"}},"#,
            r#""required":["b","a","c","d"],"type":"object"}}"#,
        );
        assert_eq!(form.to_compact(), expect);
    }

    #[test]
    fn a_form_is_answered_declined_or_left() {
        let args = r#"{"questions": [{"id": "colours", "question": "Which?", "multiSelect": true,
            "options": [{"label": "Red", "value": "r"}, {"label": "Green"}]}]}"#;
        for (reply, expect) in [
            (
                r#"{"action": "accept", "content": {"colours": ["r", "Green"]}}"#,
                Some(("accept", "elicitation")),
            ),
            (r#"{"action": "decline"}"#, Some(("decline", "elicitation"))),
            (r#"{"action": "cancel"}"#, Some(("cancel", "elicitation"))),
            // This reply does not answer the question, which stays open.
            (r#"{"action": "accept", "content": {"colours": ["blue"]}}"#, None),
            (r#"{"action": "accept"}"#, None),
        ] {
            let found = wait(&Bench::new(), args, Some(reply));
            let word = |output: &Output, name: &str| {
                output.structured.get(name).unwrap().as_str().unwrap().to_owned()
            };
            let found = found.ok().map(|output| (word(&output, "decision"), word(&output, "answered_by")));
            let expect = expect.map(|(decision, by)| (decision.to_owned(), by.to_owned()));
            assert_eq!(found, expect, "{reply}");
        }
    }
}
