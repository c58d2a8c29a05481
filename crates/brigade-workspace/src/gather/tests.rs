#![allow(clippy::disallowed_methods, reason = "links and files beside the workspace are made on a real disk")]

mod closed;
mod links;

use brigade_policy::PolicyValidity;

use super::*;
use crate::testing::{Bench, codes, entry, json};
use crate::{CATALOG, POLICY};

const EFFECTS: &str = "allowed_effects = ['local-read']\n";

#[test]
fn a_reason_is_needed_and_holds_no_secret() {
    let bench = Bench::new(&[(POLICY, "env_bindings = { TOKEN = 'V' }\n")])
        .with_variables(&[("V", "hunter2-hunter2")]);
    for empty in ["", "  \n", "\u{200b}", "\u{1b}"] {
        let refused = clean_reason(&bench.context, empty).unwrap_err();
        let found = (refused.kind(), refused.code(), refused.hints().len());
        assert_eq!(found, (ErrorKind::Usage, ErrorCode::ReasonNeeded, 1), "{empty:?}");
    }
    assert_eq!(clean_reason(&bench.context, " too wide ").unwrap(), "too wide");
    let said = clean_reason(&bench.context, "it has hunter2-hunter2").unwrap();
    assert!(!said.contains("hunter2"), "{said}");
}

#[test]
fn a_value_too_short_to_be_recognized_is_bound_but_not_telling() {
    let bench = Bench::new(&[(POLICY, "env_bindings = { A = 'SHORT', B = 'LONG' }\n")])
        .with_variables(&[("SHORT", "no"), ("LONG", "hunter2-hunter2")]);
    assert_eq!((secrets(&bench.context).len(), telling_values(&bench.context).len()), (2, 1));
}

#[test]
fn a_plan_of_an_unknown_tool_says_what_is_near() {
    let bench = Bench::new(&[(CATALOG, &entry("deploy", "command = 'x'"))]);
    let planned = plan_of(&bench.context, &bench.config(), "deplyo", Ok(json("{}")), None, None).unwrap();
    let (PlannedCall { plan, program, .. }, error) = planned;
    assert!(plan.is_missing() && program.is_none());
    let missing = plan.blockers().iter().find(|reason| reason.is(ErrorCode::ToolMissing)).unwrap();
    assert_eq!(missing.message, error.unwrap().to_string());
    assert!(missing.hint.as_ref().unwrap().to_string().contains("deploy"), "{missing:?}");
}

#[test]
fn people_may_use_an_alias_and_agents_only_the_id() {
    let bench = Bench::new(&[(CATALOG, &entry("deploy", "command = 'x'\naliases = ['ship']"))]);
    let config = bench.config();
    let typed = plan_request(&bench.context, &config, "ship", Ok(json("{}"))).unwrap();
    assert_eq!((typed.0.plan.tool_id(), typed.1.is_none()), ("deploy", true));
    let exact = plan_of(&bench.context, &config, "ship", Ok(json("{}")), None, None).unwrap();
    assert!(exact.0.plan.is_missing() && exact.1.is_some());
}

#[test]
fn every_reason_against_a_call_is_listed() {
    let bench = Bench::new(&[
        (
            CATALOG,
            &entry(
                "deploy",
                "command = 'gone x'\ninput_schema_path = 's.json'\neffects = ['network']\ncwd = 'no'",
            ),
        ),
        (POLICY, EFFECTS),
    ]);
    let plan = bench.plan("deploy", "{}");
    let found = codes(plan.blockers());
    for code in [ErrorCode::MissingInputSchema, ErrorCode::PolicyEffectNotAllowed] {
        assert!(found.contains(&code.as_str()), "{code:?}: {found:?}");
    }
    assert!(3 <= found.len(), "{found:?}");
}

#[test]
fn arguments_that_do_not_fit_the_schema_block_a_call() {
    let schema = r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}"#;
    let bench = Bench::new(&[
        (CATALOG, &entry("count", "command = 'x'\ninput_schema_path = 's.json'")),
        ("s.json", schema),
    ]);
    let of_args = |args: &str| {
        let fits = |reason: &&Blocker| reason.field.as_deref().is_some_and(|field| field.starts_with('$'));
        bench.plan("count", args).blockers().iter().filter(fits).count()
    };
    assert_eq!((of_args(r#"{"n": 1}"#), of_args("{}"), of_args(r#"{"n": "x"}"#)), (0, 1, 1));
}

#[test]
fn a_bound_value_in_the_arguments_is_noticed() {
    let bench = Bench::new(&[
        (CATALOG, &entry("say", "command = 'x'\ninput_schema_path = 's.json'")),
        ("s.json", r#"{"type": "object"}"#),
        (POLICY, "env_bindings = { TOKEN = 'V' }\n"),
    ])
    .with_variables(&[("V", "hunter2-hunter2")]);
    assert!(!bench.plan("say", r#"{"text": "hello"}"#).holds_secret());
    assert!(bench.plan("say", r#"{"text": "hunter2-hunter2"}"#).holds_secret());
}

#[test]
fn configuration_is_cached_until_a_file_changes() {
    let mut bench = Bench::on_disk(&[(CATALOG, &entry("a", "command = 'x'")), (POLICY, "")]).much_later();
    let read = |bench: &Bench| config(&bench.context).unwrap();
    assert!(!Arc::ptr_eq(&read(&bench), &read(&bench)), "without a memory");
    bench.context.memory = Some(Arc::default());
    let first = read(&bench);
    assert!(Arc::ptr_eq(&first, &read(&bench)));
    bench.write(POLICY, "max_timeout = 'x'\n");
    let second = read(&bench);
    assert_eq!(second.policy.validity(), PolicyValidity::Invalid);
    assert!(Arc::ptr_eq(&second, &read(&bench)));
    bench.write(CATALOG, &entry("b", "command = 'x'"));
    assert!(read(&bench).catalog.tool("b").is_some());
    let own = own_config(&bench.context).unwrap();
    assert!(!std::ptr::eq(&own, &*read(&bench)));
}

#[test]
fn configuration_that_changed_just_now_is_not_cached() {
    let mut bench = Bench::on_disk(&[(CATALOG, "")]);
    bench.context.memory = Some(Arc::default());
    // Seen from then, every file changes later.
    let (long_ago, step) = (brigade_core::Timestamp::from_unix_micros(0), std::time::Duration::ZERO);
    bench.context.clock = Arc::new(brigade_core::testing::TickingClock::starting(long_ago, step));
    let read = || config(&bench.context).unwrap();
    assert!(!Arc::ptr_eq(&read(), &read()));
}

#[test]
fn the_policy_of_a_project_is_read_at_each_call() {
    let mut bench = Bench::on_disk(&[
        (CATALOG, &entry("a", "command = 'cat x'\neffects = ['local-read']")),
        (POLICY, EFFECTS),
    ])
    .much_later();
    let project = Bench::new(&[]);
    let trust = project.context.trust.clone();
    let over = WorkspaceContext { trust, ..WorkspaceContext::new(project.context.fs.clone()) };
    bench.context.memory = Some(Arc::default());
    bench.context.project = Some(Arc::new(over));
    let is_refused =
        || codes(bench.plan("a", "{}").blockers()).contains(&ErrorCode::PolicyEffectNotAllowed.as_str());
    assert!(!is_refused());
    project.write(POLICY, "denied_effects = ['local-read']\n");
    let codes_now = bench.plan("a", "{}");
    assert!(
        codes(codes_now.blockers()).iter().any(|code| code.starts_with("policy_")),
        "{:?}",
        codes_now.blockers()
    );
}

#[test]
fn a_plan_binds_the_files_that_the_command_names() {
    let bench = Bench::on_disk(&[
        (CATALOG, &entry("go", "command = 'sh bin/go.sh data.txt gone.txt'\ncode = ['lib/*.sh']")),
        ("bin/go.sh", "1"),
        ("data.txt", "1"),
        ("lib/a.sh", "1"),
        ("lib/a.txt", "1"),
    ])
    .with_variables(&[("PATH", "/bin:/usr/bin")]);
    let files =
        |bench: &Bench| -> Vec<String> { bench.plan("go", "{}").binding().files.keys().cloned().collect() };
    assert_eq!(files(&bench), ["bin/go.sh", "data.txt", "lib/a.sh"]);
    let before = bench.plan("go", "{}");
    bench.write("lib/a.txt", "2");
    assert!(before.binding().changes(bench.plan("go", "{}").binding()).is_empty());
    bench.write("lib/b.sh", "1");
    assert_eq!(before.binding().changes(bench.plan("go", "{}").binding()).len(), 1);
    let before = bench.plan("go", "{}");
    bench.write("data.txt", "2");
    assert_eq!(before.binding().changes(bench.plan("go", "{}").binding()).len(), 1);
}

#[test]
fn a_missing_script_is_a_blocker_with_the_nearest_name() {
    let bench = Bench::on_disk(&[(CATALOG, &entry("go", "command = 'sh bin/og.sh'")), ("bin/go.sh", "")])
        .with_variables(&[("PATH", "/bin:/usr/bin")]);
    let plan = bench.plan("go", "{}");
    let reason = plan.blockers().iter().find(|reason| reason.is(ErrorCode::ScriptNotFound)).unwrap();
    assert_eq!(reason.hint.as_ref().unwrap().to_string(), "did you mean `bin/go.sh`?");
    bench.write("bin/og.sh", "");
    assert!(!codes(bench.plan("go", "{}").blockers()).contains(&ErrorCode::ScriptNotFound.as_str()));
}

#[test]
fn an_earlier_request_is_planned_with_its_own_arguments() {
    let bench = Bench::new(&[(CATALOG, &entry("go", "command = 'x'"))]);
    let asked = |tool_id| RepeatRequest {
        tool_id,
        args: json(r#"{"n": 1}"#),
        installs_with: None,
        effects: None,
        session: None,
        learned: None,
    };
    let again = |id| plan_again(&bench.context, &bench.config(), &asked(id), Caller::CommandLine);
    assert_eq!(again("go").unwrap().plan.args(), &json(r#"{"n": 1}"#));
    assert_eq!(again("gone").err().map(|error| error.kind()), Some(ErrorKind::NotFound));
}

#[test]
fn a_disabled_entry_can_be_installed_and_not_called() {
    let lines = "command = 'x'\nenabled = false\n[tool.install]\ncommand = 'sh setup.sh'\n";
    let bench = Bench::new(&[(CATALOG, &entry("go", lines)), ("setup.sh", "")]);
    let asked = |installs_with| RepeatRequest {
        tool_id: "go",
        args: json("{}"),
        installs_with,
        effects: None,
        session: None,
        learned: None,
    };
    let plan = |installs_with| {
        let caller = Caller::CommandLine;
        plan_again(&bench.context, &bench.config(), &asked(installs_with), caller)
            .map(|planned| planned.plan.kind())
    };
    assert_eq!(plan(Some(("sh setup.sh", None))).ok(), Some(CallKind::Install));
    assert!(plan(None).is_err());
}

#[test]
fn a_path_that_leads_out_blocks_calls_until_the_policy_allows_it() {
    for (field, file) in [
        ("source_path", "secret.md"),
        ("input_schema_path", "secret.json"),
        ("output_schema_path", "secret.json"),
        ("examples_path", "secret.json"),
        ("manifest_path", "secret.json"),
        ("schema_path", "secret.json"),
        ("health_path", "secret.json"),
        ("cwd", "."),
    ] {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().canonicalize().unwrap();
        std::fs::write(folder.join("secret.json"), "{\"type\":\"object\",\"title\":\"canary-4711\"}")
            .unwrap();
        std::fs::write(folder.join("secret.md"), "canary-4711\n").unwrap();
        let bench = Bench::on_disk(&[("bin/tool.sh", "")]).with_variables(&[("PATH", "/bin:/usr/bin")]);
        std::os::unix::fs::symlink(&folder, bench.path("link")).unwrap();
        std::os::unix::fs::symlink(folder.join(file), bench.path("file-link")).unwrap();
        let leads_out = |path: &str| {
            let lines = format!("command = 'sh bin/tool.sh'\n{field} = '{path}'");
            bench.write(CATALOG, &entry("tool", &lines));
            let said = bench.plan("tool", "{}").reasons().join("\n");
            assert!(!said.contains("canary-4711"), "{said}");
            said.contains("leads out of the workspace")
        };
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let mut paths = vec![folder.join(file).display().to_string(), format!("link/{file}")];
        paths.extend(
            (folder.parent() == bench.context.fs.root().parent()).then(|| format!("../{name}/{file}")),
        );
        paths.extend((field != "cwd").then(|| "file-link".to_owned()));
        for path in paths {
            bench.write(POLICY, "");
            assert!(leads_out(&path), "{field} = {path}");
            bench.write(POLICY, &format!("[paths]\noutside = ['{}']\n", folder.display()));
            assert!(!leads_out(&path), "{field} = {path} is allowed");
        }
    }
}
