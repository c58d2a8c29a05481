#![allow(clippy::disallowed_methods, reason = "tests make links, and files with another time")]

mod queued;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::Arc;

use brigade_core::{ErrorKind, OperationError as _, SystemClock};
use brigade_doctor::{DoctorRequest, IssueReport};
use brigade_exec::HostEnvironment;
use brigade_fs::{DiskFs, FileMode};
use brigade_policy::PolicyState;
use brigade_workspace::{RUNTIMES, WorkspaceContext};

use super::*;
use crate::doctor::fix::FixKind;
use crate::doctor::modes::ListExtent;
use crate::projections::{ApplyRequest, Selection, apply};
use crate::testing::Bench;

/// The entry of the only tool. Keys in `lines` replace those of the same name.
fn entry(id: &str, lines: &str) -> String {
    let defaults = [
        ("name", "\"Tool\""),
        ("family", "\"script\""),
        ("command", "\"sh bin/tool.sh\""),
        ("source_path", "\"docs/tool.md\""),
        ("input_schema_path", "\"schemas/tool.json\""),
        ("output_schema_path", "\"schemas/tool.output.json\""),
        ("examples_path", "\"examples/tool.json\""),
        ("permissions", "[\"read-files\"]"),
        ("effects", "[\"local-read\"]"),
        ("approval_mode", "\"on-request\""),
        ("timeout", "30"),
    ];
    let is_set =
        |key: &str| lines.lines().any(|line| line.split('=').next().is_some_and(|name| name.trim() == key));
    let defaults = defaults.into_iter().filter(|(key, _)| !is_set(key));
    let defaults: String = defaults.map(|(key, value)| format!("{key} = {value}\n")).collect();
    format!("[[tool]]\nid = \"{id}\"\n{lines}\n{defaults}")
}

/// A workspace without issues.
struct DoctorBench {
    context: Arc<WorkspaceContext>,
    _folder: tempfile::TempDir,
}

impl DoctorBench {
    fn healthy() -> DoctorBench {
        let folder = tempfile::tempdir().unwrap();
        let mut context = WorkspaceContext::new(Arc::new(DiskFs::open(folder.path()).unwrap()));
        context.clock = Arc::new(SystemClock);
        let path = (OsString::from("PATH"), OsString::from("/bin:/usr/bin"));
        context.environment = Arc::new(HostEnvironment::new([path]));
        let bench = DoctorBench { context: Arc::new(context), _folder: folder };
        let policy = "allowed_families = [\"script\"]\nallowed_effects = [\"local-read\", \"local-write\", \"network\"]\n\
                      denied_effects = [\"secret-read\"]\nrequired_approval_modes = [\"on-request\", \"always\"]\n\
                      max_timeout = 60\n";
        for (path, text) in [
            (POLICY, policy),
            (CATALOG, &*entry("tool", "")),
            ("bin/tool.sh", "echo hello\n"),
            ("docs/tool.md", "# Tool\n"),
            ("schemas/tool.json", "{\"type\":\"object\"}"),
            ("schemas/tool.output.json", "{\"type\":\"object\"}"),
            ("examples/tool.json", "[]"),
        ] {
            bench.write(path, text);
        }
        bench
    }

    #[track_caller]
    fn write(&self, path: &str, text: &str) {
        let path: RelPath = path.parse().unwrap();
        self.context.fs.create_dir_all(&path.parent()).unwrap();
        self.context.fs.write_atomic(&path, text.as_bytes(), FileMode::Private).unwrap();
    }

    fn read(&self, path: &str) -> String {
        String::from_utf8(self.context.fs.read(&path.parse().unwrap(), 1 << 20).unwrap()).unwrap()
    }

    fn remove(&self, path: &str) {
        self.context.fs.remove(&path.parse().unwrap()).unwrap();
    }

    /// Replaces the lines of the entry.
    fn lines(&self, lines: &str) {
        self.write(CATALOG, &entry("tool", lines));
    }

    /// Writes all projections.
    #[track_caller]
    fn apply(&self) {
        let request = ApplyRequest { which: Selection::All, dry_run: false, force: false, prune: false };
        apply(&self.context, &request).unwrap();
    }

    /// Makes the tool one with a projection, and writes that.
    fn project(&self) {
        self.lines(PROJECTED);
        self.apply();
    }

    fn issues(&self) -> Vec<IssueReport> {
        let report =
            crate::tools::health::diagnose_catalog(&self.context, &DoctorRequest::default()).unwrap();
        report.issues.iter().collect()
    }

    fn kinds(&self) -> Vec<String> {
        self.issues().into_iter().map(|issue| issue.issue_type.into_owned()).collect()
    }
}

const PROJECTED: &str =
    "supported_harnesses = [\"claude\"]\nprojections = { claude = \".claude/commands/tool.md\" }";

const HELPER: &str = "[[runtime]]\nid = \"helper\"\nname = \"Helper\"\ncommand = \"sleep 600\"\n";

/// Makes a fault in two workspaces. Both report one issue of the type, which is equal wherever the workspace is.
#[track_caller]
fn check(kind: &str, severity: &str, tool: &str, file: &str, make: impl Fn(&DoctorBench)) {
    let fingerprints: BTreeSet<String> = (0..2)
        .map(|_| {
            let bench = DoctorBench::healthy();
            make(&bench);
            let all = bench.issues();
            let kinds: Vec<&str> = all.iter().map(|issue| &*issue.issue_type).collect();
            let found: Vec<&IssueReport> = all.iter().filter(|issue| issue.issue_type == kind).collect();
            let [issue] = found.as_slice() else { panic!("{} issues {kind} of {kinds:?}", found.len()) };
            assert_eq!(issue.severity.as_str(), severity, "{kind}");
            assert_eq!(issue.tool_id.as_deref().unwrap_or_default(), tool, "{kind}");
            assert_eq!(issue.file.as_deref().unwrap_or_default(), file, "{kind}");
            let detail = &issue.detail;
            assert!(
                !detail.is_empty() && !detail.ends_with('.') && !detail.contains('\n'),
                "{kind}: {detail}"
            );
            assert!(!detail.contains(&bench.context.target()), "{kind} names an absolute path: {detail}");
            assert!(!detail.contains("hunter2") && !issue.fix.is_empty(), "{issue:?}");
            issue.fingerprint.clone()
        })
        .collect();
    assert_eq!(fingerprints.len(), 1, "{kind}: the fingerprint depends on the place");
}

/// Checks a fault of the entry with these lines.
#[track_caller]
fn check_entry(kind: &str, severity: &str, lines: &str) {
    check(kind, severity, "tool", CATALOG, |bench| bench.lines(lines));
}

#[test]
fn a_healthy_workspace_has_no_issue() {
    assert_eq!(DoctorBench::healthy().kinds(), [""; 0]);
}

#[test]
fn faults_of_the_catalog_are_found() {
    check_entry("config", "error", "family = \"nonsense\"");
    check_entry("unknown_key", "warning", "descripton = \"x\"");
    check_entry("config_warning", "warning", "supported_harnesses = [\"cluade\"]");
    let bench = DoctorBench::healthy();
    bench.remove(CATALOG);
    let issue = bench.issues().into_iter().find(|issue| issue.issue_type == "config").unwrap();
    assert_eq!((issue.help.as_deref(), issue.labels[0].file.as_str()), (Some(&*issue.fix), CATALOG));
}

#[test]
fn faults_of_contracts_are_found() {
    for (kind, severity, lines) in [
        ("unsafe_auth_fields", "warning", "api_key = \"hunter2hunter2\""),
        ("secret_in_catalog", "error", "permissions = [\"read\", \"password=hunter2hunter2\"]"),
        ("secret_in_description", "warning", "description = \"log in with password=hunter2hunter2\""),
        ("missing_runtime", "error", "family = \"mcp\"\nmcp_tool_name = \"x\""),
        ("missing_mcp_tool_name", "error", "family = \"mcp\"\nruntime_id = \"r\""),
        ("missing_command", "error", "command = \"no-such-program-anywhere\""),
        ("missing_input_schema", "error", "input_schema_path = \"gone.json\""),
        ("missing_output_schema", "warning", "output_schema_path = \"gone.json\""),
        ("missing_examples", "warning", "examples_path = \"gone.json\""),
        ("unsafe_env_labels", "error", "env_labels = [\"LD_PRELOAD\"]"),
        ("bad_argument_template", "error", "argument_template = { a = \"{max-tokens}\" }"),
    ] {
        check_entry(kind, severity, lines);
    }
    check("missing_contract", "warning", "tool", CATALOG, |bench| {
        let bare =
            "[[tool]]\nid = \"tool\"\nname = \"Tool\"\nfamily = \"script\"\ncommand = \"sh bin/tool.sh\"\n";
        bench.write(CATALOG, bare);
    });
}

#[test]
fn faults_of_schemas_are_found() {
    let unsupported = "{\"type\":\"object\",\"if\":1}";
    for (kind, severity, text) in [
        ("invalid_input_schema", "error", "{"),
        ("unsupported_input_schema", "error", unsupported),
        ("unchecked_input_schema", "warning", "{\"type\":\"object\",\"not\":{\"$ref\":\"x.json\"}}"),
        ("ignored_schema_keywords", "info", "{\"type\":\"object\",\"nullable\":true}"),
    ] {
        check(kind, severity, "tool", "schemas/tool.json", |bench| bench.write("schemas/tool.json", text));
    }
    for (kind, text) in [("invalid_output_schema", "{\"a\":}"), ("unsupported_output_schema", unsupported)] {
        let file = "schemas/tool.output.json";
        check(kind, "warning", "tool", file, |bench| bench.write(file, text));
    }
}

#[test]
fn faults_of_servers_are_found() {
    for (kind, servers) in
        [("missing_timeout", "{\"one\":{\"command\":\"sh\"}}"), ("invalid_mcp_server", "{\"one\":7}")]
    {
        check(kind, "warning", "tool", CATALOG, |bench| {
            bench.write("m.json", &format!("{{\"mcpServers\":{servers}}}"));
            bench.lines("family = \"mcp\"\nmanifest_path = \"m.json\"");
        });
    }
}

#[test]
fn all_missing_fields_of_an_mcp_tool_are_reported() {
    let kinds = |more: &str| -> Vec<String> {
        let bench = DoctorBench::healthy();
        bench.write("a.md", "# M1\n");
        let bare = "[[tool]]\nid = \"m1\"\nname = \"m1\"\nfamily = \"mcp\"\nsource_path = \"a.md\"\n";
        bench.write(CATALOG, &format!("{bare}{more}"));
        bench.kinds().into_iter().filter(|kind| !kind.starts_with("policy")).collect()
    };
    let all =
        ["missing_runtime", "missing_mcp_tool_name", "missing_command", "missing_contract", "invalid_schema"];
    assert_eq!(kinds(""), all);
    let with_command = ["missing_runtime", "missing_mcp_tool_name", "missing_contract", "invalid_schema"];
    assert_eq!(kinds("command = \"sh bin/tool.sh\"\n"), with_command);
    // Such a tool needs no server configuration, so its source may be plain text.
    let named = "command = \"sh bin/tool.sh\"\nruntime_id = \"r\"\nmcp_tool_name = \"x\"\n\
                 input_schema_path = \"schemas/tool.json\"\n";
    assert!(!kinds(named).contains(&"invalid_schema".to_owned()));
}

#[test]
fn faults_of_files_and_commands_are_found() {
    for (kind, severity, lines) in [
        ("path_outside", "error", "source_path = \"../elsewhere.md\""),
        ("missing_cwd", "error", "cwd = \"gone\""),
        ("missing_source", "warning", "source_path = \"gone.md\""),
        ("missing_manifest", "warning", "manifest_path = \"gone.json\""),
        ("missing_schema", "warning", "schema_path = \"gone.json\""),
        ("missing_health", "warning", "health_path = \"gone.json\""),
        ("high_risk_command", "error", "command = \"sh -c 'date'\""),
    ] {
        check_entry(kind, severity, lines);
    }
    check("invalid_schema", "warning", "tool", "bad.json", |bench| {
        bench.write("bad.json", "[");
        bench.lines("schema_path = \"bad.json\"");
    });
    check("stale_health", "warning", "tool", CATALOG, |bench| {
        bench.write("health.json", "{}");
        let path = bench.context.fs.root().join("health.json");
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(49 * 60 * 60);
        std::fs::File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
        bench.lines("health_path = \"health.json\"");
    });
}

#[test]
fn faults_of_projections_are_found() {
    let target = ".claude/commands/tool.md";
    check_entry("parity_gap", "warning", "supported_harnesses = [\"claude\"]");
    let git = "supported_harnesses = [\"a\"]\nprojections = { a = \".git/hooks/tool.md\" }";
    check_entry("projection_refused", "error", git);
    let with_target = |kind: &str, change: &dyn Fn(&DoctorBench)| {
        check(kind, "warning", "tool", CATALOG, |bench| {
            bench.project();
            change(bench);
        });
    };
    with_target("missing_projection", &|bench| bench.remove(target));
    with_target("conflicted_projection", &|bench| bench.write(target, &(bench.read(target) + "mine\n")));
    with_target("unmanaged_projection", &|bench| bench.write(target, "mine\n"));
    with_target("stale_projection", &|bench| bench.write("docs/tool.md", "# Changed\n"));
    check("projection_not_read", "info", "tool", CATALOG, |bench| {
        bench.lines("supported_harnesses = [\"claude\"]\nprojections = { claude = \"docs/x.md\" }");
        bench.apply();
    });
    check("skill_unreadable", "warning", "tool", "tools/a.md", |bench| {
        bench.write("tools/a.md", "---\nname: tool\ntools: [a\n---\nText\n");
        bench.lines(
            "source_path = \"tools/a.md\"\nfamily = \"skill\"\nsupported_harnesses = [\"claude\"]\n\
             projections = { claude = \".claude/skills/tool/SKILL.md\" }",
        );
        bench.apply();
    });
    for catalog in [entry("tool", ""), entry("other", "")] {
        check("orphaned_projection", "warning", "tool", target, |bench| {
            bench.project();
            bench.write(CATALOG, &catalog);
        });
    }
}

#[test]
fn applying_again_mends_a_stale_projection() {
    let bench = DoctorBench::healthy();
    bench.project();
    bench.write("docs/tool.md", "# Changed\n");
    assert_eq!(bench.kinds(), ["stale_projection"]);
    bench.apply();
    assert_eq!(bench.kinds(), [""; 0]);
}

#[test]
fn faults_of_runtimes_that_do_not_run_are_found() {
    for (kind, text) in [
        ("runtime_config", format!("{HELPER}port = 0\n")),
        ("runtime_high_risk_command", HELPER.replace("sleep 600", "sh -c 'sleep 600'")),
        ("runtime_secret_in_command", HELPER.replace("sleep 600", "sleep 600 --token hunter2hunter2")),
        ("runtime_bad_command", HELPER.replace("sleep", "no-such-program-anywhere")),
        ("runtime_missing_cwd", format!("{HELPER}cwd = \"gone\"\n")),
    ] {
        check(kind, "error", "helper", RUNTIMES, |bench| bench.write(RUNTIMES, &text));
    }
    check("runtime_missing", "error", "tool", CATALOG, |bench| {
        bench.lines("runtime_id = \"other\"\nrequires_runtime = true");
        bench.write(RUNTIMES, HELPER);
    });
}

#[test]
fn refusals_of_the_policy_are_found() {
    check("policy_missing", "warning", "policy", POLICY, |bench| bench.remove(POLICY));
    check("policy_config", "error", "policy", POLICY, |bench| {
        bench.write(POLICY, "max_timeout = \"long\"\n")
    });
    let tool = |kind: &str, lines: &str| check(kind, "warning", "tool", POLICY, |bench| bench.lines(lines));
    tool("policy_missing_env", "env_labels = [\"NOT_BOUND\"]");
    tool("policy_denied_effect", "effects = [\"secret-read\"]");
    tool("policy_timeout", "timeout = 3600");
    tool("policy_approval", "approval_mode = \"never\"");
    check("policy_blocker", "warning", "tool", POLICY, |bench| {
        bench.write(POLICY, &bench.read(POLICY).replace("[\"script\"]", "[\"mcp\"]"));
    });
    check("policy_runtime", "warning", "tool", POLICY, |bench| {
        bench.write(POLICY, &(bench.read(POLICY) + "allowed_runtimes = [\"other\"]\n"));
        bench.lines("runtime_id = \"helper\"");
        bench.write(RUNTIMES, HELPER);
    });
}

#[test]
fn unreadable_parts_of_the_state_block_nothing() {
    let files = ["tools/pins", "tools/runtime", "tools/outcomes", "tools/checkpoints", "work"];
    let folders = ["tools/queue.lock", "work/imports/inbox.jsonl"];
    for part in files.iter().chain(&folders) {
        let bench = DoctorBench::healthy();
        let path = format!(".brigade/{part}");
        match folders.contains(part) {
            true => bench.context.fs.create_dir_all(&path.parse().unwrap()).unwrap(),
            false => bench.write(&path, "x"),
        }
        let found = bench.issues();
        let found: Vec<_> = found.iter().filter(|issue| issue.issue_type == "state_unreadable").collect();
        assert_eq!(found.len(), 1, "{part}: {found:#?}");
        assert!(found[0].file.as_deref().is_some_and(|file| file.starts_with(&path)), "{part}: {found:#?}");
    }
    // A link that leads in a circle or out of the workspace.
    for (link, target) in [(CALLS, "calls.jsonl"), (".brigade/tools/runs", "/etc")] {
        check("state_unreadable", "error", "", link, |bench| {
            std::os::unix::fs::symlink(target, bench.context.fs.root().join(link)).unwrap();
        });
    }
}

#[test]
fn doctor_writes_nothing() {
    let bench = DoctorBench::healthy();
    bench.lines("source_path = \"gone.md\"");
    let names = || {
        let mut names = bench.context.fs.list_dir(&".brigade/tools".parse().unwrap()).unwrap();
        names.sort_by(|a, b| a.name.cmp(&b.name));
        names.into_iter().map(|entry| entry.name).collect::<Vec<_>>()
    };
    let before = names();
    bench.issues();
    assert_eq!(names(), before);
}

#[test]
fn files_that_others_can_read_are_found_and_closed() {
    let bench = DoctorBench::healthy();
    bench.write(CALLS, "");
    bench.write(".brigade/tools/runs/r.json", "{}");
    let set = |path: &str, mode: u32| bench.context.fs.set_mode(&path.parse().unwrap(), mode).unwrap();
    let fs = &*bench.context.fs;
    let wide = |extent| -> Vec<String> {
        wide_modes(fs, extent).iter().map(|wide| format!("{} {:o}", wide.path, wide.closed)).collect()
    };
    for path in [CALLS, POLICY, ".brigade/tools/runs/r.json"] {
        set(path, 0o644);
    }
    assert_eq!(wide(ListExtent::All), [""; 0], "a closed directory protects everything in it");
    for path in [".brigade", ".brigade/tools"] {
        set(path, 0o755);
    }
    // Configuration may be read by others.
    assert_eq!(wide(ListExtent::All), [".brigade/tools/calls.jsonl 600"]);
    set(".brigade/tools/runs", 0o755);
    let all = [".brigade/tools/runs 700", ".brigade/tools/runs/r.json 600", ".brigade/tools/calls.jsonl 600"];
    assert_eq!(wide(ListExtent::All), all);
    let config = brigade_workspace::gather::own_config(&bench.context).unwrap();
    let planned = fix::fix(&bench.context, &config, true).unwrap();
    let kinds = |fixes: &fix::Fixes| fixes.fixed.iter().map(|fix| fix.kind).collect::<Vec<_>>();
    assert_eq!(kinds(&planned), [FixKind::Mode; 3]);
    assert_eq!(wide(ListExtent::All).len(), 3, "a dry run changes nothing");
    assert_eq!(kinds(&fix::fix(&bench.context, &config, false).unwrap()), [FixKind::Mode; 3]);
    assert_eq!(wide(ListExtent::All), [""; 0]);
    assert_eq!(kinds(&fix::fix(&bench.context, &config, false).unwrap()), []);
}

#[test]
fn only_locks_whose_process_is_gone_are_left() {
    let (held, passing) = (".brigade/tools/calls.jsonl.lock", ".brigade/tools/.calls.jsonl.lock.01.orphaned");
    let left = |files: &[(&str, String)], now: i64| -> Vec<String> {
        let bench = Bench::new(&[]);
        files.iter().for_each(|(path, pid)| bench.write(&format!("{path}/pid"), pid));
        let now = Timestamp::from_unix_micros(now);
        left_locks(&*bench.context.fs, now).iter().map(ToString::to_string).collect()
    };
    let (live, gone) = (std::process::id().to_string(), u32::MAX.to_string());
    let late = 3 * 60 * 60 * 1_000_000;
    assert_eq!(left(&[(held, gone.clone()), (passing, gone.clone())], 0), [passing, held]);
    assert_eq!(left(&[(held, live.clone())], late), [""; 0], "a live process holds it");
    // The number may belong to another process by now.
    assert_eq!(left(&[(passing, live.clone())], late), [passing]);
    assert_eq!(left(&[(passing, live)], 0), [""; 0]);
    assert_eq!(left(&[(held, "odd".to_owned())], 0), [""; 0], "a young one may be in use");
    assert_eq!(left(&[(held, "odd".to_owned())], late), [held]);
    assert_eq!(left(&[(".brigade/tools/other.lock", gone)], late), [""; 0]);
}

#[test]
fn a_fix_removes_locks_and_sets_damaged_lines_aside() {
    let bench = Bench::new(&[(CATALOG, ""), (CALLS, "garbage\n"), (crate::inbox::INBOX, "garbage\n")]);
    bench.write(".brigade/tools/calls.jsonl.lock/pid", &u32::MAX.to_string());
    let config = brigade_workspace::gather::own_config(&bench.context).unwrap();
    let kinds = |dry_run: bool| -> Vec<FixKind> {
        let done = fix::fix(&bench.context, &config, dry_run).unwrap();
        assert!(done.failed.is_empty(), "{:?}", done.failed);
        done.fixed.into_iter().map(|fix| fix.kind).collect()
    };
    let all = [FixKind::Lock, FixKind::Queue, FixKind::Inbox];
    assert_eq!(kinds(true), all);
    assert_eq!(bench.read(CALLS).as_deref(), Some("garbage\n"));
    assert_eq!(kinds(false), all);
    assert!(!bench.read(CALLS).unwrap_or_default().contains("garbage"));
    assert_eq!(kinds(false), []);
}

#[test]
fn a_part_of_another_kind_is_named_once() {
    let bench = Bench::new(&[(".brigade/tools/checkpoints", "x")]);
    bench.write(".brigade/tools/queue.lock/x", "");
    let found: Vec<(String, String)> =
        of_another_kind(&*bench.context.fs).into_iter().map(|part| (part.file, part.problem)).collect();
    let is = |file: &str, problem: &str| (file.to_owned(), problem.to_owned());
    assert_eq!(
        found,
        [
            is(".brigade/tools/checkpoints", "it is not a directory"),
            is(".brigade/tools/queue.lock", "it is not a file")
        ]
    );
    let mut unread = UnreadFiles(Vec::new());
    for path in [".brigade/tools/checkpoints/a/b.json", ".brigade/tools/checkpoints/c.json"] {
        let error = brigade_fs::FsError::new("read", path, brigade_fs::FsErrorKind::NotADirectory);
        let read = unread.ok_or_note::<()>(&*bench.context.fs, Err(UpkeepError::Fs(error)));
        assert!(read.is_ok_and(|read| read.is_none()));
    }
    assert_eq!(unread.0.iter().map(|part| &*part.file).collect::<Vec<_>>(), [".brigade/tools/checkpoints"]);
    let other = unread.ok_or_note::<()>(&*bench.context.fs, Err(UpkeepError::LeftAlone("x".to_owned())));
    assert!(other.is_err(), "other errors end the survey");
    assert_eq!(unread.ok_or_note(&*bench.context.fs, Ok(7)).ok().flatten(), Some(7));
}

#[test]
fn the_longest_existing_part_of_a_path_is_named() {
    let bench = Bench::new(&[("a/b", "")]);
    for (path, expect) in [("a/b/c/d", "a/b"), ("a/x", "a"), ("x/y", "."), ("a/b", "a/b")] {
        let found = existing_ancestor(&*bench.context.fs, path.parse().unwrap());
        assert_eq!(found, expect.parse().unwrap(), "{path}");
    }
}

#[test]
fn a_policy_without_a_sandbox_has_no_gaps() {
    let gaps = |text: &str| sandbox_gaps(Path::new("/"), &PolicyState::parse("p", Some(text.as_bytes())));
    assert_eq!(gaps(""), None);
    assert_eq!(gaps("max_timeout = 'x'\n[sandbox]\nmode = 'enforce'\n"), None);
    assert_eq!(gaps("[sandbox]\nmode = 'off'\n"), None);
    assert!(gaps("[sandbox]\nmode = 'best-effort'\n").is_some());
}

#[test]
fn a_short_history_is_read_in_full() {
    let bench = Bench::new(&[(CATALOG, "")]);
    let queue = bench.context.queue();
    for limit in [0, 10] {
        assert_eq!(HistoryExtent::up_to(limit, &queue.read().unwrap()).unwrap(), HistoryExtent::All);
    }
}

#[test]
fn an_error_of_a_survey_is_the_one_that_happened() {
    let fs = || brigade_fs::FsError::new("read", "x", brigade_fs::FsErrorKind::Permission);
    let refused = brigade_policy::Failure::new(ErrorKind::Refused, "no");
    for (error, expect) in [
        (UpkeepError::Fs(fs()), fs().kind()),
        (UpkeepError::Queue(QueueError::Fs(fs())), QueueError::Fs(fs()).kind()),
        (UpkeepError::LeftAlone("it".to_owned()), ErrorKind::Refused),
        (UpkeepError::NotCleared("r".to_owned()), ErrorKind::Refused),
        (UpkeepError::from(refused), ErrorKind::Refused),
    ] {
        assert_eq!(error.kind(), expect, "{error}");
    }
}

#[test]
fn words_are_counted() {
    let counts = shown::counts(["a", "b", "a"]);
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [("a".to_owned(), 2), ("b".to_owned(), 1)]);
}
