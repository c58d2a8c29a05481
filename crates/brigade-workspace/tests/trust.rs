//! What a person has reviewed of a tool, after every kind of change, with and without a record.

#![allow(clippy::disallowed_methods, reason = "the test writes the files of a workspace")]
#![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use brigade_call::{Caller, Plan};
use brigade_core::Json;
use brigade_fs::DiskFs;
use brigade_policy::approval::ReviewState;
use brigade_workspace::{LearnedCode, TRUSTED, TrustKind, TrustStore, TrustTarget, WorkspaceContext, gather};

const ENTRY: &str = "[[tool]]
id = 'deploy'
name = 'Deploy'
family = 'script'
command = '/bin/sh bin/deploy.sh'
source_path = 'docs/deploy.md'
input_schema_path = 'schemas/in.json'
output_schema_path = 'schemas/out.json'
examples_path = 'schemas/examples.json'
effects = ['network']
code = ['lib/**']
runtime_id = 'db'
requires_runtime = true

[[tool]]
id = 'other'
name = 'Other'
family = 'script'
command = '/bin/true'
input_schema_path = '.brigade/tools/schemas/other.json'
effects = ['network']
";

const FILES: &[(&str, &str)] = &[
    (".brigade/tools.toml", ENTRY),
    (
        ".brigade/tools/runtimes.toml",
        "[[runtime]]\nid = 'db'\nname = 'db'\ncommand = 'sleep 9'\nhealth_command = '/bin/sh bin/health.sh'\n",
    ),
    (".brigade/tools/schemas/other.json", "{\"type\": \"object\"}"),
    ("bin/deploy.sh", "echo deploy"),
    ("bin/health.sh", "exit 0"),
    ("docs/deploy.md", "Deploys."),
    ("helper.sh", "echo help"),
    ("lib/a.sh", "echo a"),
    ("schemas/examples.json", "[]"),
    ("schemas/in.json", "{\"type\": \"object\"}"),
    ("schemas/out.json", "{\"type\": \"object\"}"),
];

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn context(root: &Path, trust: Option<Arc<TrustStore>>) -> WorkspaceContext {
    let context = WorkspaceContext::new(Arc::new(DiskFs::open(root).unwrap()));
    WorkspaceContext { trust: trust.unwrap_or_else(|| context.trust.clone()), ..context }
}

fn plan(context: &WorkspaceContext, id: &str) -> Plan {
    let config = gather::config(context).unwrap();
    let args = Json::object::<&str>([]);
    let tool = gather::entry(context, &config, id, &args).unwrap();
    let caller = Caller::Agent("ada".to_owned());
    gather::plan_call(context, &config, tool, Ok(args), caller, None, None).unwrap().plan
}

fn reviewed(context: &WorkspaceContext, id: &str) -> ReviewState {
    let policy = &gather::config(context).unwrap().policy;
    context.host().reviewed_plan(policy, &plan(context, id))
}

/// Learns from an observed run that the tool executes a file.
fn learn(root: &Path) {
    let context = context(root, None);
    let config = gather::config(&context).unwrap();
    let mut learned = LearnedCode::read(&*context.fs).unwrap();
    let files = BTreeSet::from(["helper.sh".to_owned()]);
    assert!(learned.learn(&*context.fs, config.catalog.tool("deploy").unwrap(), "run-1", &files));
    learned.write(&*context.fs).unwrap();
}

/// Changes a workspace, and checks what a person has to review with a record of what was there before.
#[track_caller]
fn check(what: &str, change: impl FnOnce(&Path), expect: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    FILES.iter().for_each(|(path, text)| write(root, path, text));
    let before = context(root, None);
    assert_eq!(reviewed(&before, "deploy"), ReviewState::Never, "{what}");
    let policy = &gather::config(&before).unwrap().policy;
    before.host().record_plan(policy, &plan(&before, "deploy"), "a test").unwrap();
    let trust = Some(before.trust.clone());
    assert_eq!(reviewed(&context(root, trust.clone()), "deploy"), ReviewState::Yes, "{what}");
    change(root);
    let expect = match expect {
        [] => ReviewState::Yes,
        ["never"] => ReviewState::Never,
        parts => ReviewState::Changed(parts.iter().map(|part| (*part).to_owned()).collect()),
    };
    assert_eq!(reviewed(&context(root, trust), "deploy"), expect, "{what}");
    // A store of another host.
    assert_eq!(reviewed(&context(root, None), "deploy"), ReviewState::Never, "{what}");
}

#[test]
fn every_change_is_seen_and_named() {
    let rewrite = |path: &'static str| move |root: &Path| write(root, path, "{\"title\": \"other\"}");
    check("nothing", |_| {}, &[]);
    check("the script", rewrite("bin/deploy.sh"), &["file bin/deploy.sh"]);
    check("the input schema", rewrite("schemas/in.json"), &["input schema schemas/in.json"]);
    check("the output schema", rewrite("schemas/out.json"), &["output schema schemas/out.json"]);
    check("the examples", rewrite("schemas/examples.json"), &["examples schemas/examples.json"]);
    check("the source", rewrite("docs/deploy.md"), &["source docs/deploy.md"]);
    check("a module", rewrite("lib/a.sh"), &["file lib/a.sh"]);
    check("one more module", rewrite("lib/b.sh"), &["file lib/b.sh"]);
    check(
        "a missing module",
        |root| std::fs::remove_file(root.join("lib/a.sh")).unwrap(),
        &["file lib/a.sh"],
    );
    check("learned code", learn, &["file helper.sh"]);
    check("the health command", rewrite("bin/health.sh"), &["health command of db: bin/health.sh"]);
    let edit =
        |root: &Path| write(root, ".brigade/tools.toml", &ENTRY.replace("code = [", "timeout = 9\ncode = ["));
    check("the entry", edit, &["contract"]);
    // A rule names its effects itself.
    let edit = |root: &Path| write(root, ".brigade/tools.toml", &ENTRY.replace("'network'", "'local-write'"));
    check("the effects", edit, &[]);
    check("another file", rewrite("README.md"), &[]);
    let link = |root: &Path| {
        std::fs::remove_file(root.join("bin/deploy.sh")).unwrap();
        std::os::unix::fs::symlink("../helper.sh", root.join("bin/deploy.sh")).unwrap();
    };
    check("a link", link, &["file bin/deploy.sh", "file helper.sh"]);
    // The record.
    let edit_record = |from: &'static str, to: &'static str| {
        move |root: &Path| {
            let text = std::fs::read_to_string(root.join(TRUSTED)).unwrap();
            assert!(text.contains(from), "{text}");
            write(root, TRUSTED, &text.replace(from, to));
        }
    };
    check("a record of another tool", edit_record("\"id\": \"deploy\"", "\"id\": \"delete\""), &["never"]);
    check("a record by another person", edit_record("a test", "a text"), &["never"]);
    check("a record without its MAC", edit_record("\"mac\": \"", "\"mac\": \"00"), &["never"]);
    check("a record with another digest", edit_record("\"contract\": \"", "\"contract\": \"0"), &["never"]);
    check("a broken file", |root| write(root, TRUSTED, "{"), &["never"]);
    check("no file", |root| std::fs::remove_file(root.join(TRUSTED)).unwrap(), &["never"]);
}

#[test]
fn files_of_the_system_need_no_review() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    FILES.iter().for_each(|(path, text)| write(root, path, text));
    assert_eq!(reviewed(&context(root, None), "other"), ReviewState::Yes);
    // The directory of the program is one that agents can write.
    let opened = "[sandbox]\nmode = 'enforce'\nwrite_paths = ['/bin']\n";
    let opened = format!("allowed_effects = ['network']\n{opened}");
    write(root, ".brigade/tools/policy.toml", &opened);
    assert_eq!(reviewed(&context(root, None), "other"), ReviewState::Never);
    std::fs::remove_file(root.join(".brigade/tools/policy.toml")).unwrap();
    // A schema that a link takes out of Brigade's files.
    std::fs::remove_file(root.join(".brigade/tools/schemas/other.json")).unwrap();
    std::os::unix::fs::symlink("../../../schemas/in.json", root.join(".brigade/tools/schemas/other.json"))
        .unwrap();
    assert_eq!(reviewed(&context(root, None), "other"), ReviewState::Never);
}

#[test]
fn names_of_things_read_back() {
    for (text, kind, id) in [
        ("deploy", TrustKind::Tool, "deploy"),
        ("runtime:db", TrustKind::Runtime, "db"),
        ("worker:w-1", TrustKind::Worker, "w-1"),
        ("mcp:x@y", TrustKind::Tool, "mcp:x@y"),
    ] {
        let target: TrustTarget = text.parse().unwrap();
        assert_eq!((target.kind, target.id.as_str(), target.to_string().as_str()), (kind, id, text));
    }
}
