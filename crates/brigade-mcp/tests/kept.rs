//! Tests many requests to one kept server.

#![cfg(feature = "client")]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test looks at processes and files itself, and fails when it cannot continue"
)]

mod common;

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use brigade_catalog::Reads;
use brigade_core::Json;
use brigade_mcp::{
    Exchange, Farewell, Listener, LiveOffers, McpErrorKind, McpLog, McpRequest, Pin, PinRule, Question,
    Reply, RequestTerms, Requester, Server, ServerEnd, ServerStart, ServerWatcher,
};
use brigade_process::{CancelToken, ProcessIdentity, Program, Sink, Spec, Stream};
use brigade_redact::Redactor;
use brigade_sandbox::Enforcement;
use common::python;

/// Passes on how a kept server ended.
struct Watcher(Sender<ServerEnd>);

impl ServerWatcher for Watcher {
    fn started(&mut self, identity: &ProcessIdentity, _: Option<&Enforcement>) {
        assert!(identity.is_alive());
    }

    fn ended(self: Box<Self>, end: ServerEnd) {
        let _ = self.0.send(end);
    }
}

struct RunningServer {
    server: Arc<Server>,
    ended: Receiver<ServerEnd>,
    folder: tempfile::TempDir,
}

fn start(features: &[&str]) -> RunningServer {
    start_script("kept.py", features)
}

fn start_script(script: &str, features: &[&str]) -> RunningServer {
    let folder = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/mcp").join(script);
    let mut spec = Spec::new(Program::at(python()), folder.path());
    spec.argv = vec![python().into(), "-S".into(), "-E".into(), script.into()];
    spec.argv.extend(features.iter().map(Into::into));
    spec.environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
    let (tell, ended) = channel();
    let server = Server::start(ServerStart {
        spec,
        sink: Box::new(|_: Stream, _: &[u8]| Ok(())),
        output_cap: 1 << 20,
        patience: Duration::from_secs(30),
        capabilities: Json::parse(r#"{"elicitation":{}}"#).unwrap(),
        redactor: Redactor::new(&[]),
        watcher: Box::new(Watcher(tell)),
    });
    RunningServer { server: Arc::new(server.unwrap()), ended, folder }
}

fn terms() -> RequestTerms {
    RequestTerms { timeout: Some(Duration::from_secs(60)), output_cap: 1 << 20, ..RequestTerms::default() }
}

fn call_with(
    server: &Server,
    tool: &str,
    arguments: &str,
    pin: PinRule<'_>,
    terms: &RequestTerms,
) -> (Exchange, String) {
    call_until_idle(server, tool, arguments, pin, terms, None)
}

fn call_until_idle(
    server: &Server,
    tool: &str,
    arguments: &str,
    pin: PinRule<'_>,
    terms: &RequestTerms,
    idle_timeout: Option<Duration>,
) -> (Exchange, String) {
    let mut log = Vec::new();
    let mut sink = |_: Stream, bytes: &[u8]| -> io::Result<()> {
        log.extend_from_slice(bytes);
        Ok(())
    };
    let arguments = Json::parse(arguments).unwrap();
    let request = McpRequest {
        server_id: "kept",
        tool_name: tool,
        arguments: &arguments,
        reads: None,
        pin,
        listener: None,
        idle_timeout,
    };
    let exchange = server.call_tool(&request, terms, &mut sink, &Redactor::new(&[]));
    (exchange, String::from_utf8(log).unwrap())
}

#[track_caller]
fn said(server: &Server, tool: &str) -> String {
    let (exchange, _) = call_with(server, tool, "{}", PinRule::None, &terms());
    assert_eq!(exchange.fault, None);
    exchange.answer.unwrap().summary
}

fn kind(exchange: &Exchange) -> Option<McpErrorKind> {
    exchange.fault.as_ref().map(|fault| fault.kind)
}

impl RunningServer {
    fn noted(&self, line: &str) -> usize {
        let notes = std::fs::read_to_string(self.folder.path().join("kept.log")).unwrap_or_default();
        notes.lines().filter(|noted| noted.starts_with(line)).count()
    }

    #[track_caller]
    fn wait_for(&self, line: &str) {
        let until = Instant::now() + Duration::from_secs(30);
        while self.noted(line) == 0 {
            assert!(Instant::now() < until, "no `{line}`");
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }

    #[track_caller]
    fn end(&self) -> ServerEnd {
        self.server.end(Farewell::BRIEF);
        self.ended.recv_timeout(Duration::from_secs(30)).unwrap()
    }
}

#[test]
fn many_calls_share_a_process_and_get_their_answers() {
    for features in [&[][..], &["stateless"]] {
        let kept = start(features);
        let pid = said(&kept.server, "pid");
        let process = kept.server.process().unwrap();
        assert_eq!(pid, process.pid().to_string());
        std::thread::scope(|scope| {
            for index in 0..8 {
                let server = &kept.server;
                scope.spawn(move || {
                    let arguments = format!(r#"{{"n":{index}.000000000000000000001}}"#);
                    let (exchange, log) = call_with(server, "echo", &arguments, PinRule::None, &terms());
                    assert_eq!(exchange.fault, None);
                    // Every digit arrives, and the log has only the answer to this call.
                    assert!(exchange.request.as_ref().unwrap().to_compact().contains(&arguments), "{log}");
                    assert_eq!(log.lines().count(), 1, "{log}");
                    let id = Json::parse(log.trim()).unwrap().get("id").unwrap().as_i64();
                    assert_eq!(id, exchange.request_id);
                });
            }
        });
        assert_eq!(said(&kept.server, "pid"), pid);
        assert_eq!((kept.noted("started"), kept.noted("lists")), (1, 1), "{features:?}");
        let end = kept.end();
        assert_eq!(end.fault, None);
        assert!(!process.is_alive());
    }
}

#[test]
fn the_server_learns_of_a_cancelled_call() {
    let kept = start(&[]);
    let cancel = CancelToken::new().unwrap();
    let terms = RequestTerms { cancel: Some(cancel.clone()), ..terms() };
    std::thread::scope(|scope| {
        let server = &kept.server;
        let call = scope.spawn(move || call_with(server, "sleep", "{}", PinRule::None, &terms).0);
        kept.wait_for("sleeps");
        cancel.cancel_by("a test");
        let exchange = call.join().unwrap();
        assert_eq!(kind(&exchange), Some(McpErrorKind::Cancelled));
        assert!(exchange.outcome.unwrap().cancelled());
    });
    kept.wait_for("cancelled");
    said(&kept.server, "pid");
    assert_eq!(kept.noted("started"), 1);
}

#[test]
fn a_call_that_takes_too_long_fails_alone() {
    let kept = start(&[]);
    said(&kept.server, "pid");
    let short = RequestTerms { timeout: Some(Duration::from_millis(300)), ..terms() };
    let (exchange, _) = call_with(&kept.server, "sleep", "{}", PinRule::None, &short);
    assert_eq!(kind(&exchange), Some(McpErrorKind::TimedOut));
    assert!(exchange.fault.unwrap().message.contains("tools/call"));
    kept.wait_for("cancelled");
    said(&kept.server, "pid");
    assert!(kept.server.is_kept());
}

#[test]
fn progress_starts_the_idle_timeout_again() {
    let kept = start(&[]);
    said(&kept.server, "pid");
    let idle = Some(Duration::from_millis(600));
    let call =
        |arguments: &str| call_until_idle(&kept.server, "sleep", arguments, PinRule::None, &terms(), idle).0;
    assert_eq!(kind(&call(r#"{"text": "1.5", "progress": true}"#)), None);
    let silent = call("{}");
    assert_eq!(kind(&silent), Some(McpErrorKind::TimedOut));
    assert!(silent.fault.unwrap().message.ends_with("nor progress for 0.6 s"));
    kept.wait_for("cancelled");
}

#[test]
fn the_death_of_a_server_fails_the_calls_in_it() {
    let kept = start(&[]);
    std::thread::scope(|scope| {
        let server = &kept.server;
        let waits = scope.spawn(move || call_with(server, "sleep", "{}", PinRule::None, &terms()).0);
        kept.wait_for("sleeps");
        let (dies, _) = call_with(&kept.server, "die", "{}", PinRule::None, &terms());
        assert_eq!(kind(&dies), Some(McpErrorKind::ServerEnded));
        assert_eq!(kind(&waits.join().unwrap()), Some(McpErrorKind::ServerEnded));
    });
    let end = kept.ended.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(end.fault.unwrap().kind, McpErrorKind::ServerEnded);
    assert!(!kept.server.is_kept());
    let (after, _) = call_with(&kept.server, "pid", "{}", PinRule::None, &terms());
    assert_eq!(kind(&after), Some(McpErrorKind::ServerEnded));
}

#[test]
fn a_changed_list_is_compared_with_the_pin() {
    let kept = start(&[]);
    let (first, _) = call_with(&kept.server, "pid", "{}", PinRule::None, &terms());
    let pin = Pin::new(first.tool.as_ref().unwrap(), brigade_core::Timestamp::from_unix_micros(0));
    said(&kept.server, "relist");
    let (again, _) = call_with(&kept.server, "pid", "{}", PinRule::Holds(&pin), &terms());
    assert_eq!(again.fault, None);
    assert_eq!(again.tools.len(), first.tools.len() + 1);
    assert_eq!(kept.noted("lists"), 2);
    said(&kept.server, "change");
    let (changed, _) = call_with(&kept.server, "pid", "{}", PinRule::Holds(&pin), &terms());
    assert_eq!(kind(&changed), Some(McpErrorKind::PinChanged));
    assert_eq!(changed.request, None);
}

/// Answers every question with a name, and records the messages.
#[derive(Default)]
struct Person {
    asked: Mutex<Vec<Question>>,
    logs: Mutex<Vec<McpLog>>,
}

impl Requester for Person {
    fn capabilities(&self) -> Json {
        Json::parse(r#"{"elicitation":{"form":{}}}"#).unwrap()
    }

    fn hear(&self, log: McpLog) {
        self.logs.lock().unwrap().push(log);
    }

    fn log_level(&self) -> Option<String> {
        None
    }

    fn ask(&self, questions: Vec<(Question, Reply)>) {
        for (question, reply) in questions {
            self.asked.lock().unwrap().push(question);
            reply.answer(Ok(Json::parse(r#"{"action":"accept","content":{"name":"Ada"}}"#).unwrap()));
        }
    }
}

#[test]
fn questions_and_logs_reach_the_caller() {
    let kept = start(&[]);
    let person = Arc::new(Person::default());
    let heard = Arc::new(Mutex::new(0));
    let count = heard.clone();
    let terms = RequestTerms {
        requester: Some(person.clone()),
        listener: Some(Listener::new(move |_| *count.lock().unwrap() += 1)),
        ..terms()
    };
    let (exchange, _) = call_with(&kept.server, "elicit", "{}", PinRule::None, &terms);
    assert!(exchange.answer.unwrap().summary.contains("Ada"));
    assert_eq!(person.asked.lock().unwrap().len(), 1);
    let (_, _) = call_with(&kept.server, "log", r#"{"text":"now"}"#, PinRule::None, &terms);
    let levels: Vec<String> = person.logs.lock().unwrap().iter().map(|log| log.level.clone()).collect();
    assert_eq!(levels, ["debug", "info", "error"]);
    let (_, _) = call_with(&kept.server, "sleep", r#"{"text":"0"}"#, PinRule::None, &terms);
    assert_eq!(*heard.lock().unwrap(), 1);
    // The client supports no questions.
    assert!(said(&kept.server, "sample").contains("32601"));
    assert!(said(&kept.server, "elicit").contains("decline"));
}

/// Keeps the reply, so that the question stays open.
#[derive(Default)]
struct PendingRequester(Mutex<Vec<(Question, Reply)>>);

impl Requester for PendingRequester {
    fn capabilities(&self) -> Json {
        Json::parse(r#"{"elicitation":{"form":{}}}"#).unwrap()
    }

    fn hear(&self, log: McpLog) {
        panic!("{log:?}");
    }

    fn log_level(&self) -> Option<String> {
        None
    }

    fn ask(&self, questions: Vec<(Question, Reply)>) {
        self.0.lock().unwrap().extend(questions);
    }
}

/// Issue 14: the question was sent to the client with the latest call, and its answer to the other client's call.
#[test]
fn an_ambiguous_question_reaches_no_client() {
    let kept = start(&[]);
    let (first, other) = (Arc::new(PendingRequester::default()), Arc::new(PendingRequester::default()));
    let of =
        |requester: &Arc<PendingRequester>| RequestTerms { requester: Some(requester.clone()), ..terms() };
    let cancel = CancelToken::new().unwrap();
    std::thread::scope(|scope| {
        let asks =
            scope.spawn(|| call_with(&kept.server, "elicit-twice", "{}", PinRule::None, &of(&first)).0);
        let until = Instant::now() + Duration::from_secs(30);
        let reply = loop {
            if let Some((_, reply)) = first.0.lock().unwrap().pop() {
                break reply;
            }
            assert!(Instant::now() < until, "the only call is asked");
            std::thread::park_timeout(Duration::from_millis(1));
        };
        let terms = RequestTerms { cancel: Some(cancel.clone()), ..of(&other) };
        let server = &kept.server;
        let sleeps = scope.spawn(move || call_with(server, "sleep", "{}", PinRule::None, &terms).0);
        kept.wait_for("sleeps");
        reply.answer(Ok(Json::parse(r#"{"action":"accept","content":{"name":"Ada"}}"#).unwrap()));
        let said = asks.join().unwrap().answer.unwrap().summary;
        cancel.cancel();
        assert_eq!(kind(&sleeps.join().unwrap()), Some(McpErrorKind::Cancelled));
        assert!(said.contains("cancel"), "{said}");
    });
    assert!(first.0.lock().unwrap().is_empty() && other.0.lock().unwrap().is_empty());
}

#[test]
fn required_input_is_asked_for_without_a_handshake() {
    let kept = start(&["stateless"]);
    let person = Arc::new(Person::default());
    let terms = RequestTerms { requester: Some(person.clone()), ..terms() };
    let (exchange, log) = call_with(&kept.server, "elicit-twice", "{}", PinRule::None, &terms);
    assert!(exchange.answer.unwrap().summary.contains("both"), "{log}");
    let keys: Vec<String> = person.asked.lock().unwrap().iter().map(|asked| asked.key.clone()).collect();
    assert_eq!(keys, ["first", "second"]);
}

#[test]
fn a_server_that_cannot_start_is_reported() {
    let mut spec = Spec::new(Program::at("/does/not/exist"), "/");
    spec.argv = vec!["x".into()];
    let (tell, ended) = channel();
    let server = Server::start(ServerStart {
        spec,
        sink: Box::new(RefusingSink),
        output_cap: 1,
        patience: Duration::from_secs(5),
        capabilities: Json::Null,
        redactor: Redactor::new(&[]),
        watcher: Box::new(Watcher(tell)),
    });
    let (exchange, _) = call_with(&server.unwrap(), "pid", "{}", PinRule::None, &terms());
    assert_eq!(kind(&exchange), Some(McpErrorKind::NotStarted));
    assert_eq!(exchange.outcome, None);
    assert!(ended.recv().unwrap().outcome.is_none());
}

struct RefusingSink;

impl Sink for RefusingSink {
    fn write(&mut self, _: Stream, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn about_to_start(&mut self) -> io::Result<()> {
        Err(io::Error::other("not started: it changed"))
    }
}

#[test]
fn resources_and_prompts_share_one_process() {
    let kept = start_script("offers.py", &["file:///a=alpha", "file:///b=beta", "@review"]);
    let masks = Redactor::new(&[]);
    let listed = |reads| kept.server.offered(reads, &terms(), &masks).unwrap();
    let resources = listed(Reads::Resource);
    let uris = |now: &LiveOffers| -> Vec<String> {
        now.offered.resources.iter().map(|resource| resource.uri.clone()).collect()
    };
    assert_eq!(uris(&resources), ["file:///a", "file:///b"]);
    assert_eq!(listed(Reads::Prompt).offered.prompts[0].name, "review");
    assert!(!resources.has_changed());
    let read = |uri: &str| {
        let arguments = Json::parse(&format!(r#"{{"server": "offers", "uri": "{uri}"}}"#)).unwrap();
        let request = McpRequest {
            server_id: "offers",
            tool_name: "resources/read",
            arguments: &arguments,
            reads: Some(Reads::Resource),
            pin: PinRule::None,
            listener: None,
            idle_timeout: None,
        };
        kept.server.call_tool(&request, &terms(), &mut |_: Stream, _: &[u8]| Ok(()), &masks)
    };
    let exchange = read("file:///a");
    assert_eq!(exchange.fault, None);
    assert!(exchange.answer.unwrap().summary.ends_with("alpha"));
    assert!(!exchange.request.unwrap().to_compact().contains("offers"), "the server id is not sent");
    assert_eq!(kind(&read("file:///gone")), Some(McpErrorKind::JsonRpcError));
    // Its list changes, and it announces that.
    assert_eq!(read("file:///add").fault, None);
    assert!(resources.has_changed());
    assert_eq!(uris(&listed(Reads::Resource)).len(), 3);
    kept.end();
    assert!(kept.server.offered(Reads::Prompt, &terms(), &masks).is_err());
}
