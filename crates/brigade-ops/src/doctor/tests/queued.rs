//! Issues of calls, checkpoints and the state that need no run.

use brigade_call::OnBlocked;
use brigade_core::CallId;
use brigade_doctor::IssueReport;

use super::*;
use crate::error::Error;
use crate::{Attempt, Calls, ReadyCall, Request, Runner};

/// A runner that no test needs.
struct NoRunner;

impl Runner for NoRunner {
    fn attempt(&self, _: ReadyCall) -> Result<Attempt, Error> {
        unreachable!("nothing runs")
    }
}

impl DoctorBench {
    fn calls(&self) -> Calls {
        Calls::new(self.context.clone(), Arc::new(NoRunner))
    }

    /// Queues a call of the tool.
    #[track_caller]
    fn queue(&self, blocked: OnBlocked) -> CallId {
        let report = self.calls().queue(Request::new("tool").blocked(blocked)).unwrap();
        assert_eq!(report.created, 1);
        report.call.id
    }

    /// Makes the stored calls older.
    fn age(&self) {
        let text = self.read(CALLS);
        let at = text.find("\"created_at\"").unwrap();
        let year = at + text[at..].find("20").unwrap();
        self.write(CALLS, &text.replace(&text[year..year + 4], "2021"));
    }
}

/// Makes a fault of a call. Expects one issue of the type that names the call.
#[track_caller]
fn check_call(kind: &str, severity: &str, make: impl FnOnce(&DoctorBench)) {
    let bench = DoctorBench::healthy();
    make(&bench);
    let all = bench.issues();
    let found: Vec<&IssueReport> = all.iter().filter(|issue| issue.issue_type == kind).collect();
    let [issue] = found.as_slice() else { panic!("{} issues {kind}: {all:#?}", found.len()) };
    assert_eq!((issue.severity.as_str(), issue.tool_id.as_deref()), (severity, Some("tool")), "{kind}");
    assert!(issue.call_id.is_some() && !issue.fix.is_empty(), "{issue:?}");
}

#[test]
fn calls_that_need_someone_are_found() {
    check_call("call_stale_pending", "warning", |bench| {
        bench.queue(OnBlocked::Refuse);
        bench.age();
    });
    check_call("call_blocked", "warning", |bench| {
        bench.write("schemas/tool.json", "{\"type\":\"object\",\"required\":[\"a\"]}");
        bench.queue(OnBlocked::Include);
    });
    check_call("call_stale_approved", "warning", |bench| {
        bench.calls().approve(&bench.queue(OnBlocked::Refuse)).unwrap();
        bench.write("bin/tool.sh", "echo something else\n");
    });
    check_call("call_held", "info", |bench| {
        bench.calls().hold(&bench.queue(OnBlocked::Refuse), "later").unwrap();
    });
    check_call("call_rejected", "info", |bench| {
        bench.calls().reject(&bench.queue(OnBlocked::Refuse), "no").unwrap();
    });
}

#[test]
fn a_call_that_just_waits_is_no_issue() {
    let bench = DoctorBench::healthy();
    let id = bench.queue(OnBlocked::Refuse);
    assert_eq!(bench.kinds(), [""; 0]);
    bench.calls().approve(&id).unwrap();
    assert_eq!(bench.kinds(), [""; 0]);
}

#[test]
fn a_line_that_is_set_aside_stays_an_issue() {
    let bench = DoctorBench::healthy();
    bench.queue(OnBlocked::Refuse);
    bench.write(CALLS, &(bench.read(CALLS) + "garbage\n"));
    assert_eq!(bench.kinds(), ["unreadable_lines"]);
    crate::state::compact(&bench.context).unwrap();
    let issues = bench.issues();
    let reported: Vec<(&str, &str)> =
        issues.iter().map(|issue| (&*issue.issue_type, &*issue.detail)).collect();
    assert_eq!(reported, [("quarantined_lines", "1 line could not be read and was set aside")]);
}

#[test]
fn calls_that_were_queued_together_are_there_together() {
    let bench = DoctorBench::healthy();
    bench.queue(OnBlocked::Refuse);
    let lines: String = (1..4).map(|n| format!("{{\"tool\":\"tool\",\"args\":{{\"n\":{n}}}}}\n")).collect();
    let queued = bench.calls().queue_lines(&mut lines.as_bytes(), OnBlocked::Refuse, &mut |_| ()).unwrap();
    assert_eq!(queued.created, 3);
    let whole = bench.read(CALLS);
    let ends: Vec<usize> = whole.match_indices('\n').map(|(at, _)| at + 1).collect();
    // The power fails after the second of three lines.
    bench.write(CALLS, &whole[..ends[ends.len() - 2]]);
    let count = || bench.calls().list(Default::default()).unwrap().into_iter().count();
    assert_eq!(count(), 1);
    let checked = crate::state::check(&bench.context).unwrap();
    assert!(checked.damage[0].problem.contains("kept from being queued"), "{checked:?}");
    bench.calls().queue(Request::new("tool").arg("n", 1)).unwrap();
    assert_eq!(count(), 2);
    assert_eq!(crate::state::check(&bench.context).unwrap().quarantined[0].lines, 2);
}

#[test]
fn invalid_lines_do_not_stop_other_calls_and_are_kept() {
    let bench = DoctorBench::healthy();
    let first = bench.queue(OnBlocked::Refuse);
    let mut bytes = bench.read(CALLS).into_bytes();
    bytes.extend(b"{\"id\":\"cut off\n[1,2]\n\"text\"\nnull\n\xff\xfe\n\n");
    bytes.extend("[".repeat(200_000).as_bytes());
    bytes.extend(b"\n{\"status\":\"odd\",\"n\":NaN}\n");
    bench.context.fs.write_atomic(&CALLS.parse().unwrap(), &bytes, FileMode::Private).unwrap();
    let second = bench.calls().queue(Request::new("tool").arg("n", 2)).unwrap().call.id;
    for id in [&first, &second] {
        bench.calls().approve(id).unwrap();
    }
    let mut all: Vec<u8> = Vec::new();
    for entry in bench.context.fs.list_dir(&".brigade/tools".parse().unwrap()).unwrap() {
        let path = format!(".brigade/tools/{}", entry.name).parse().unwrap();
        all.extend(bench.context.fs.read(&path, 8 << 20).unwrap_or_default());
    }
    for part in [&b"cut off"[..], b"[1,2]", b"\xff\xfe", b"[[[[[[["] {
        assert!(
            all.windows(part.len()).any(|found| found == part),
            "{} is lost",
            String::from_utf8_lossy(part)
        );
    }
}

#[test]
fn a_receipt_that_was_unreadable_at_adoption_is_reported_once() {
    let bench = DoctorBench::healthy();
    bench.write(CALLS, "{\"id\":\"call-1\",\"status\":\"completed\",\"tool_id\":\"tool\",\"args\":{}}\n");
    bench.write(".brigade/tools/runs/run-1.json", "{\"id\": \"run-1\", \"ca\n");
    let check = || crate::state::check(&bench.context).unwrap();
    assert!(!check().valid && !check().adopted);
    assert!(crate::state::compact(&bench.context).unwrap().adopted);
    let after = check();
    assert_eq!((after.valid, after.unreadable_when_adopted.len()), (true, 1), "{after:?}");
    // From now on it is checked normally.
    bench.write(".brigade/tools/runs/run-1.json", "{\n");
    assert!(!check().valid);
}

#[test]
fn only_a_state_of_v030_is_adopted() {
    let bench = DoctorBench::healthy();
    bench.queue(OnBlocked::Refuse);
    assert!(!crate::state::compact(&bench.context).unwrap().adopted);
    bench.write(CALLS, "{\"id\":\"call-1\",\"status\":\"pending\",\"tool_id\":\"tool\"}\n");
    assert!(crate::state::compact(&bench.context).unwrap().adopted);
}

#[test]
fn leftovers_of_killed_commands_are_removed() {
    let bench = DoctorBench::healthy();
    bench.queue(OnBlocked::Refuse);
    // No process has this id.
    let gone = i32::MAX;
    let left = [
        format!(".brigade/tools/parity-closeouts/x/.closeout.json.{gone}-0.tmp"),
        format!(".brigade/tools/.projected.json.{gone}-0.tmp"),
        format!(".brigade/tools/.policy.toml.{gone}-1.tmp"),
        format!(".brigade/work/imports/.inbox.jsonl.{gone}-0.tmp"),
        format!(".brigade/.tools.toml.{gone}-0.tmp"),
        format!("docs/.tool.md.{gone}-0.tmp"),
        format!("..gitignore.{gone}-0.tmp"),
    ];
    let kept = [format!(".brigade/.tools.toml.{}-0.tmp", std::process::id()), ".notes.tmp".to_owned()];
    left.iter().chain(&kept).for_each(|file| bench.write(file, "half"));
    let named = crate::state::check(&bench.context).unwrap().temporary;
    for file in &left {
        assert!(named.iter().any(|path| path.ends_with(file)), "{file}: {named:?}");
    }
    assert_eq!(named.len(), left.len());
    let exists = |file: &String| bench.context.fs.exists(&file.parse().unwrap()).unwrap();
    let config = brigade_workspace::gather::own_config(&bench.context).unwrap();
    assert!(fix::fix(&bench.context, &config, false).unwrap().failed.is_empty());
    assert!(!left.iter().any(exists) && kept.iter().all(exists));
}

#[test]
fn an_export_ends_when_its_reader_does() {
    let bench = DoctorBench::healthy();
    bench.calls().queue(Request::new("tool").arg("n", 1)).unwrap();
    bench.calls().queue(Request::new("tool").arg("n", 2)).unwrap();
    let read = |most: usize| {
        let mut lines = 0;
        crate::state::export(&bench.context, &mut |line| {
            assert!(matches!(line, crate::state::ExportLine::Call(_)));
            lines += 1;
            if lines < most { std::ops::ControlFlow::Continue(()) } else { std::ops::ControlFlow::Break(()) }
        })
        .unwrap();
        lines
    };
    assert_eq!((read(9), read(1)), (2, 1));
}

#[test]
fn differences_from_v030_are_told_where_it_was_used() {
    let bench = DoctorBench::healthy();
    let split =
        entry("split", "argument_template = { path = \"--path {path}\" }").replace("timeout = 30\n", "");
    let flag = entry(
        "flag",
        "timeout = 5\nargument_template = { all = \"{all}\", path = \"{path}\" }\ninput_schema_path = \"schemas/flag.json\"",
    );
    bench.write("schemas/flag.json", "{\"type\":\"object\",\"properties\":{\"all\":{\"type\":\"boolean\"},\"path\":{\"type\":\"string\"}}}");
    bench.write(CATALOG, &format!("{}{split}{flag}", entry("tool", "")));
    let differences = || -> Vec<String> {
        let issues = bench.issues().into_iter().filter(|issue| issue.issue_type.starts_with("switch_"));
        let reported = |issue: IssueReport| {
            assert_eq!(issue.severity.as_str(), "info");
            format!("{} {}", issue.issue_type, issue.tool_id.as_deref().unwrap_or("-"))
        };
        issues.map(reported).collect()
    };
    assert_eq!(differences(), [""; 0]);
    bench.write(CALLS, "{\"id\": \"call-1\", \"status\": \"approved\", \"tool_id\": \"tool\", \"created_at\": \"2026-01-01T00:00:00+00:00\"}\n");
    let all = [
        "switch_approvals -",
        "switch_timeout split",
        "switch_arguments split",
        // Values that contain blanks or begin with `-`.
        "switch_arguments split",
        "switch_arguments flag",
        "switch_arguments flag",
        // The streams and variables of a run.
        "switch_environment -",
        "switch_environment -",
    ];
    assert_eq!(differences(), all);
    // After the calls are adopted, the copy of the journal shows the origin of the workspace.
    crate::state::compact(&bench.context).unwrap();
    assert_eq!(differences(), all);
    bench.remove(".brigade/tools/calls.jsonl.0.30.0");
    assert_eq!(differences(), ["switch_approvals -"]);
}

#[test]
fn what_keeps_agents_from_tools_is_told() {
    let bench = DoctorBench::healthy();
    bench.write(CATALOG, &["docs.count", "docs_count", "fs.read"].map(|id| entry(id, "")).concat());
    bench.write(brigade_workspace::GATEWAY, "[[agent]]\nname = \"a\"\nprofile = [\"x\"]\n");
    let policy = bench.read(POLICY)
        + "[[auto_approve]]\nname = \"reads\"\ntools = [\"docs.*\"]\neffects = [\"local-read\"]\n";
    bench.write(POLICY, &policy);
    let reported = || -> Vec<String> {
        let kinds = ["gateway_config_invalid", "tool_name_clash", "reserved_tool_id", "policy_tracked"];
        let rows = bench.issues().into_iter().filter(|issue| kinds.contains(&&*issue.issue_type));
        let row = |issue: IssueReport| {
            format!(
                "{} {} {}",
                issue.issue_type,
                issue.tool_id.as_deref().unwrap_or("-"),
                issue.severity.as_str()
            )
        };
        let mut rows: Vec<String> = rows.map(row).collect();
        rows.sort();
        rows
    };
    let names = [
        "reserved_tool_id fs.read warning",
        "tool_name_clash docs.count warning",
        "tool_name_clash docs_count warning",
    ];
    let mut all = vec!["gateway_config_invalid - error".to_owned()];
    all.extend(names.map(str::to_owned));
    assert_eq!(reported(), all);
    bench.write(brigade_workspace::GATEWAY, "[[agent]]\nname = \"a\"\n");
    assert_eq!(reported(), names);
    bench.write(".git/index", "DIRC\0\0\0\x05");
    assert!(reported().contains(&"policy_tracked policy error".to_owned()), "{:?}", reported());
}

#[test]
fn issues_become_rows_of_the_inbox_once() {
    let bench = DoctorBench::healthy();
    bench.lines("manifest_path = \"gone.json\"");
    bench.remove(POLICY);
    let import = || {
        let report = crate::work::import(&bench.context).unwrap();
        (report.created, report.skipped, report.dismissed)
    };
    assert_eq!(import(), (2, 0, 0));
    let before = bench.read(crate::inbox::INBOX);
    for _ in 0..3 {
        assert_eq!(import(), (0, 2, 0));
    }
    assert_eq!(bench.read(crate::inbox::INBOX), before);
}

#[test]
fn a_missing_catalog_becomes_a_row_of_the_inbox() {
    let bench = Bench::new(&[]);
    let report = crate::work::import(&bench.context).unwrap();
    let json = brigade_core::json::to_json(&report).unwrap();
    let first = json.get("imports").and_then(|rows| rows.as_array()?.first());
    let kind = first.and_then(|row| row.get("metadata")?.get("tool_issue_type")?.as_str());
    assert_eq!(kind, Some("config"), "{json:?}");
}
