use std::ops::ControlFlow;

use brigade_call::{CallStatus, DeniedUse, ObservedDenial};
use brigade_core::{Extra, Hint};
use brigade_runtime::LogStream;
use brigade_workspace::CATALOG;

use super::logs::LogReach;
use super::*;
use crate::OnExisting;
use crate::testing::{CallBench, RunEnding};

const LEDGER: &str = ".brigade/tools/runs/ledger.jsonl";

fn prefix(text: &str) -> IdPrefix {
    IdPrefix::new(text)
}

/// Runs this number of calls. Returns the ids of the runs, newest first.
fn ran(bench: &CallBench, count: usize) -> Vec<String> {
    let run =
        |number| bench.ran(&format!("{{\"n\":{number}}}"), RunEnding::completed()).receipt.id.to_string();
    let mut ids: Vec<String> = (0..count).map(run).collect();
    ids.reverse();
    ids
}

fn ids(report: &RunListReport) -> Vec<String> {
    report.runs.iter().map(|run| run.id.to_string()).collect()
}

#[test]
fn runs_come_page_by_page_newest_first() {
    let bench = CallBench::new("");
    let all = ran(&bench, 5);
    let page = |limit: Option<usize>, before: Option<&str>| {
        let before = before.map(IdPrefix::new);
        let report = bench.runs().list(&RunFilter { limit, before, ..RunFilter::default() }).unwrap();
        assert_eq!((report.run_count, report.counts.get("completed")), (5, Some(&5)));
        assert_eq!(report.latest.as_ref().map(|run| run.id.to_string()).as_ref(), Some(&all[0]));
        (ids(&report), report.next_before)
    };
    assert_eq!(page(None, None), (all.clone(), None));
    assert_eq!(page(Some(2), None), (all[..2].to_vec(), Some(all[1].clone())));
    assert_eq!(page(Some(2), Some(&all[1])), (all[2..4].to_vec(), Some(all[3].clone())));
    assert_eq!(page(Some(2), Some(&all[3])), (all[4..].to_vec(), None));
    assert_eq!(page(Some(5), None), (all.clone(), None));
    let missing = RunFilter { before: Some(prefix("run-none")), ..RunFilter::default() };
    assert_eq!(bench.runs().list(&missing).unwrap_err().code(), ErrorCode::RunMissing);
}

#[test]
fn runs_are_filtered_by_status_tool_and_agent() {
    let bench = CallBench::new("");
    let good = ran(&bench, 2);
    let bad = bench.ran(r#"{"bad":true}"#, RunEnding::failed()).receipt.id.to_string();
    let list = |filter: RunFilter| ids(&bench.runs().list(&filter).unwrap());
    let status = |status| RunFilter { status: Some(status), ..RunFilter::default() };
    assert_eq!(list(status(RunStatus::Failed)), std::slice::from_ref(&bad));
    assert_eq!(list(status(RunStatus::Completed)), good);
    assert_eq!(list(status(RunStatus::TimedOut)), [""; 0]);
    let agent = |agent: &str| RunFilter { agent: Some(agent.to_owned()), ..RunFilter::default() };
    assert_eq!((list(agent("you")).len(), list(agent("ann")).len()), (3, 0));
    let unknown = bench.runs().list(&status(RunStatus::from_word("odd"))).unwrap_err();
    assert_eq!((unknown.kind(), unknown.code()), (ErrorKind::Usage, ErrorCode::StatusUnknown));
    let tool = |tool: &str| RunFilter { tool: Some(tool.to_owned()), ..RunFilter::default() };
    assert_eq!(list(tool("tool")).len(), 3);
    let notes = |name: &str| bench.runs().list(&tool(name)).unwrap().notes;
    assert_eq!(notes("tool"), [""; 0]);
    assert!(notes("tolo")[0].contains("did you mean `tool`?"));
}

#[test]
fn a_receipt_that_cannot_be_read_is_listed_apart() {
    let bench = CallBench::new("");
    ran(&bench, 1);
    bench.write(".brigade/tools/runs/run-x.json/file", "");
    let report = bench.runs().list(&RunFilter::default()).unwrap();
    assert_eq!((report.run_count, report.error_count), (1, 1));
    assert!(report.errors[0].receipt_path.ends_with("runs/run-x.json"), "{:?}", report.errors);
    assert!(bench.runs().verify(1).unwrap().valid, "a directory is not a receipt");
    bench.write(".brigade/tools/runs/run-y.json", "{");
    assert_eq!(bench.runs().list(&RunFilter::default()).unwrap().error_count, 2);
    assert!(!bench.runs().verify(1).unwrap().valid, "the ledger does not know the file");
}

#[test]
fn latest_is_the_newest_run() {
    let bench = CallBench::new("");
    let none = bench.runs().latest().unwrap_err();
    assert_eq!((none.code(), none.hints()), (ErrorCode::RunMissing, &[Hint::from(NextStep::ListCalls)][..]));
    assert!(matches!(none.refusal(), Some(Refusal::RunShow)));
    assert!(bench.runs().show(&prefix("latest")).is_err());
    let all = ran(&bench, 2);
    assert_eq!(bench.runs().latest().unwrap().run.id.as_str(), all[0]);
    // The word is understood wherever a run is named.
    let latest = prefix("latest");
    assert_eq!(bench.runs().show(&latest).unwrap().run.id.as_str(), all[0]);
    assert_eq!(bench.runs().log(&latest, LogStream::Stdout).unwrap().run_id, all[0]);
    assert_eq!(bench.runs().inputs(&latest).unwrap().run_id, all[0]);
    assert_eq!(bench.runs().replay(&latest).unwrap().run.id.as_str(), all[0]);
    bench.runs().export(&latest).unwrap();
    assert_eq!(bench.runs().newest(1).unwrap(), [(all[0].parse().unwrap(), RunStatus::Completed)]);
}

#[test]
fn a_run_is_found_by_a_prefix_that_means_one() {
    let bench = CallBench::new("");
    let all = ran(&bench, 2);
    assert_eq!(bench.runs().show(&prefix(&all[0][..12])).unwrap().run.id.as_str(), all[0]);
    for (text, code) in [("run-", ErrorCode::Ambiguous), ("nothing", ErrorCode::RunMissing)] {
        let error = bench.runs().show(&prefix(text)).unwrap_err();
        assert_eq!(error.code(), code);
        assert!(matches!(error.refusal(), Some(Refusal::RunShow)));
    }
}

#[test]
fn a_shown_run_is_replayed_only_if_that_is_accepted() {
    let bench = CallBench::new("");
    let good = bench.ran("{}", RunEnding::completed()).receipt.id;
    let bad = bench.ran(r#"{"a":1}"#, RunEnding::failed()).receipt.id;
    let asks = bench.ran(r#"{"a":2}"#, RunEnding::waiting(&[("ask", &["yes"])])).receipt.id;
    let next = |id: &RunId| bench.runs().show(&prefix(id.as_str())).unwrap().next;
    assert_eq!(next(&good), None);
    assert_eq!(next(&bad), Some(NextStep::Replay(bad.clone())));
    assert_eq!(next(&asks), Some(NextStep::ShowCheckpoint("ask".parse().unwrap())));
    bench.remove("bin/tool.sh");
    assert_eq!(next(&bad), None);
    bench.write(CATALOG, "");
    assert_eq!(next(&bad), None);
}

#[test]
fn a_killed_run_is_shown_before_it_is_recorded() {
    let bench = CallBench::new("");
    let id = bench.approved("{}");
    bench.ends(RunEnding::killed());
    bench.calls.run(&id).unwrap_err();
    let run = bench.call(&id).claim.unwrap().run_id;
    let shown = bench.runs().show(&prefix(run.as_str())).unwrap();
    assert_eq!((&shown.run.status, shown.run.recorded), (&RunStatus::Interrupted, Some(false)));
    assert_eq!((shown.run.call_id.clone(), bench.run_count()), (id.clone(), 0));
    // Its log exists, and does not grow.
    let log = bench.runs().log(&prefix(run.as_str()), LogStream::Stdout).unwrap();
    assert_eq!((log.text.as_str(), log.running), ("ran\n", false));
    // The replay is a write, which records it.
    let replay = bench.runs().replay(&prefix(run.as_str())).unwrap();
    assert_eq!((replay.call.status, bench.run_count()), (CallStatus::Pending, 1));
    assert_eq!(bench.runs().show(&prefix(run.as_str())).unwrap().run.recorded, None);
}

#[test]
fn a_replay_needs_the_tool() {
    let bench = CallBench::new("");
    let run = bench.ran("{}", RunEnding::failed()).receipt.id;
    bench.write(CATALOG, "");
    let error = bench.runs().replay(&prefix(run.as_str())).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ToolMissing);
    assert!(matches!(error.refusal(), Some(Refusal::Replay { run: Some(_), plan: None })));
}

#[test]
fn only_the_document_of_a_log_masks_secrets() {
    let bench = CallBench::new("");
    let printed = b"a\x1b[31m\xff\r\ntoken=EXAMPLE123 canary/value+4711\n";
    let run = bench.ran("{}", RunEnding { stdout: printed.to_vec(), ..RunEnding::completed() }).receipt.id;
    let log = bench.runs().log(&prefix(run.as_str()), LogStream::Stdout).unwrap();
    assert_eq!(log.text, "a\u{1b}[31m\u{fffd}\r\ntoken=[redacted] [redacted]\n");
    assert_eq!((log.bytes, log.omitted_bytes, log.running), (printed.len() as u64, 0, false));
    assert!(log.path.ends_with(&format!("runs/{run}.stdout.log")));
    for reach in [LogReach::Now, LogReach::EndOfRun] {
        let mut bytes = Vec::new();
        let mut sink = |part: &[u8]| {
            bytes.extend_from_slice(part);
            Ok(())
        };
        let passed =
            bench.runs().log_bytes(&prefix(run.as_str()), LogStream::Stdout, reach, &mut sink).unwrap();
        assert!(matches!(passed, ControlFlow::Continue(())));
        assert_eq!(bytes, printed);
    }
    assert_eq!(bench.runs().log(&prefix(run.as_str()), LogStream::Stderr).unwrap().bytes, 0);
}

#[test]
fn a_document_of_a_log_has_its_end() {
    let bench = CallBench::new("");
    let printed = [vec![b'x'; 3_000_000], b"end\n".to_vec()].concat();
    let run = bench.ran("{}", RunEnding { stdout: printed, ..RunEnding::completed() }).receipt.id;
    let log = bench.runs().log(&prefix(run.as_str()), LogStream::Stdout).unwrap();
    assert!(log.text.len() == 1 << 20 && log.text.ends_with("xend\n"), "{}", log.text.len());
    assert_eq!((log.bytes, log.omitted_bytes), (3_000_004, 3_000_004 - (1 << 20)));
}

#[test]
fn a_sink_that_fails_ends_a_log() {
    let bench = CallBench::new("");
    let run = bench.ran("{}", RunEnding::completed()).receipt.id;
    let mut sink = |_: &[u8]| Err(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
    let ended = bench.runs().log_bytes(&prefix(run.as_str()), LogStream::Stdout, LogReach::Now, &mut sink);
    let ControlFlow::Break(error) = ended.unwrap() else { panic!("it was passed on") };
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
}

#[test]
fn missing_runs_and_logs_are_reported() {
    let bench = CallBench::new("");
    let all = ran(&bench, 2);
    let log = |text: &str| bench.runs().log(&prefix(text), LogStream::Stdout).unwrap_err();
    assert_eq!(log("nothing").kind(), ErrorKind::NotFound);
    assert_eq!(log("run-").kind(), ErrorKind::Ambiguous);
    bench.remove(&format!(".brigade/tools/runs/{}.stdout.log", all[0]));
    let gone = log(&all[0]);
    assert_eq!(
        (gone.kind(), gone.to_string()),
        (ErrorKind::NotFound, format!("the log of run {} no longer exists", all[0]))
    );
}

#[test]
fn a_changed_receipt_breaks_the_chain() {
    let bench = CallBench::new("");
    let receipt = format!(".brigade/tools/runs/{}.json", ran(&bench, 3)[2]);
    let sound = bench.runs().verify(1).unwrap();
    assert_eq!((sound.valid, sound.checked, sound.adopted), (true, 3, true));
    let (ledger, first) = (bench.read(LEDGER), bench.read(&receipt));
    let check = |change: &dyn Fn()| {
        change();
        let broken = bench.runs().verify(1).unwrap();
        assert!(!broken.valid && !broken.findings.is_empty());
        bench.write(LEDGER, &ledger);
        bench.write(&receipt, &first);
        assert!(bench.runs().verify(1).unwrap().valid, "it was taken back");
    };
    let lines = |order: &[usize]| {
        let lines: Vec<&str> = ledger.lines().collect();
        bench.write(LEDGER, order.iter().map(|line| format!("{}\n", lines[*line])).collect::<String>());
    };
    check(&|| bench.replace(&receipt, "completed", "failed"));
    check(&|| bench.remove(&receipt));
    check(&|| lines(&[0, 2]));
    check(&|| lines(&[1, 0, 2]));
    check(&|| lines(&[0]));
    check(&|| bench.remove(LEDGER));
    check(&|| bench.write(LEDGER, format!("garbage\n{ledger}")));
}

#[test]
fn a_chain_is_verified_from_an_entry_that_exists() {
    let bench = CallBench::new("");
    ran(&bench, 3);
    assert_eq!(bench.runs().verify(3).unwrap().checked, 1);
    let error = bench.runs().verify(9).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
}

#[test]
fn a_changed_receipt_is_not_exported() {
    let bench = CallBench::new("");
    let all = ran(&bench, 2);
    // Without a home directory there is no key, and nothing is signed.
    let envelope = bench.runs().export(&prefix(&all[0])).unwrap();
    assert_eq!(
        (envelope.payload_type.as_str(), envelope.signatures.len()),
        ("application/vnd.in-toto+json", 0)
    );
    bench.replace(&format!(".brigade/tools/runs/{}.json", all[1]), "completed", "failed");
    let error = bench.runs().export(&prefix(&all[1])).unwrap_err();
    assert_eq!((error.kind(), error.hints()), (ErrorKind::Refused, &[Hint::from(NextStep::VerifyRuns)][..]));
    // The others are what was recorded.
    bench.runs().export(&prefix(&all[0])).unwrap();
    assert_eq!(bench.runs().export(&prefix("nothing")).unwrap_err().code(), ErrorCode::RunMissing);
}

#[test]
fn a_key_needs_a_home_directory() {
    let bench = CallBench::new("");
    for existing in [OnExisting::Keep, OnExisting::Overwrite] {
        let error = bench.runs().init_keys(existing).unwrap_err();
        assert_eq!(error.to_string(), "there is no home directory");
    }
    assert!(bench.runs().verify_envelope(std::path::Path::new("/memory/envelope.json"), None).is_err());
}

#[test]
fn a_run_without_an_observation_says_why() {
    let bench = CallBench::new("");
    let run = bench.ran("{}", RunEnding::completed()).receipt.id;
    let inputs = bench.runs().inputs(&prefix(run.as_str())).unwrap();
    assert_eq!((inputs.observed_run_id, inputs.complete), (None, false));
    assert!(inputs.reason.is_some());
    assert!(bench.runs().inputs(&prefix("nothing")).is_err());
}

#[test]
fn inputs_are_grouped_by_what_covers_them() {
    let bench = CallBench::new("argument_template = { a = \"{a}\" }\ndata = [\"rows/**\"]");
    for path in ["arg.txt", "rows/1.csv", "other.txt"] {
        bench.write(path, "text\n");
    }
    let read = ["bin/tool.sh", "arg.txt", "rows/1.csv", "other.txt", "lib/"];
    let run = bench.ran(r#"{"a":"arg.txt"}"#, RunEnding::observed(&read, &[], &["out.txt"])).receipt.id;
    let inputs = bench.runs().inputs(&prefix(run.as_str())).unwrap();
    let paths = |list: &[brigade_call::RunInput]| list.iter().map(|one| one.path.clone()).collect::<Vec<_>>();
    assert_eq!(paths(&inputs.bound), ["bin/tool.sh"]);
    assert_eq!(paths(&inputs.arguments), ["arg.txt"]);
    assert_eq!(paths(&inputs.data), ["rows/1.csv"]);
    assert_eq!(paths(&inputs.uncovered), ["other.txt"]);
    assert_eq!((inputs.folders, inputs.written), (vec!["lib".to_owned()], vec!["out.txt".to_owned()]));
    assert_eq!((inputs.observed_run_id, inputs.complete, inputs.reason), (Some(run.to_string()), true, None));
    // Without the catalog, nothing is declared as data.
    bench.write(CATALOG, "= =");
    let inputs = bench.runs().inputs(&prefix(run.as_str())).unwrap();
    assert_eq!(paths(&inputs.uncovered), ["rows/1.csv", "other.txt"]);
}

#[test]
fn declarations_are_proposed_from_observed_runs() {
    let bench = CallBench::new("");
    for path in ["lib/one.sh", "rows/1.csv"] {
        bench.write(path, "#!/bin/sh\n");
    }
    let show = || observe::observe(&bench.context, "tool", 5, observe::Declare::Show).unwrap();
    let nothing = show();
    assert_eq!((nothing.run_count, nothing.written, nothing.complete), (0, false, false));
    assert_eq!(nothing.next_command.step(), Some(&NextStep::QueueCall("tool".to_owned())));
    bench.ran("{}", RunEnding::observed(&["lib/one.sh", "bin/tool.sh"], &[], &["rows/1.csv"]));
    let shown = show();
    assert_eq!((shown.run_count, shown.observed_run_ids.len(), shown.complete), (1, 1, true));
    assert_eq!(shown.unbound.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["lib/one.sh"]);
    assert_eq!(shown.code, ["lib/one.sh"]);
    assert_eq!(shown.next_command.step(), Some(&NextStep::DeclareUsed("tool".to_owned())));
    assert!(!bench.read(CATALOG).contains("code ="), "it is only shown");
    let write = observe::Declare::Write { as_data: Vec::new() };
    let written = observe::observe(&bench.context, "tool", 5, write).unwrap();
    assert!(
        written.written && bench.read(CATALOG).contains("code = [\"lib/one.sh\"]"),
        "{}",
        bench.read(CATALOG)
    );
    assert_eq!(written.next_command.step(), Some(&NextStep::QueueCall("tool".to_owned())));
}

#[test]
fn only_written_code_is_moved_to_data() {
    let bench = CallBench::new("code = [\"counter.txt\"]");
    bench.write("counter.txt", "1\n");
    let mut ending = RunEnding::observed(&["counter.txt"], &[], &[]);
    let denial =
        ObservedDenial { path: "counter.txt".to_owned(), what: DeniedUse::Write, extra: Extra::default() };
    ending.observed.as_mut().unwrap().denied = Some(vec![denial]);
    bench.ran("{}", ending);
    let write = |path: &str| {
        let declare = observe::Declare::Write { as_data: vec![path.to_owned()] };
        observe::observe(&bench.context, "tool", 5, declare)
    };
    for path in ["lib/two.sh", "bin/tool.sh"] {
        let error = write(path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{path}: {error:?}");
    }
    let moved = write("counter.txt").unwrap();
    assert_eq!((moved.code_removed, moved.code_written), (vec!["counter.txt".to_owned()], Vec::new()));
    assert!(bench.read(CATALOG).contains("data = [\"counter.txt\"]"), "{}", bench.read(CATALOG));
}

#[test]
fn learned_code_is_forgotten_on_request() {
    let bench = CallBench::new("");
    bench.write("lib/one.sh", "#!/bin/sh\n");
    bench.ran("{}", RunEnding::observed(&["lib/one.sh"], &[], &[]));
    let observe = |declare| observe::observe(&bench.context, "tool", 5, declare).unwrap();
    assert_eq!(observe(observe::Declare::Show).learned, ["lib/one.sh"]);
    let forgotten = observe(observe::Declare::Forget);
    assert_eq!((forgotten.forgotten, forgotten.learned.len()), (1, 0));
    assert_eq!(observe(observe::Declare::Forget).forgotten, 0);
    let error = observe::observe(&bench.context, "tolo", 5, observe::Declare::Show).unwrap_err();
    assert!(matches!(error.refusal(), Some(Refusal::Tool)), "{error:?}");
}
