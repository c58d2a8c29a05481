use std::ops::ControlFlow;

use brigade_core::ErrorKind;
use brigade_queue::StoredCall;
use brigade_workspace::CATALOG;

use super::*;
use crate::testing::Bench;

const POLICY_TEXT: &str = "allowed_families = [\"script\"]\n\
    allowed_effects = [\"local-read\", \"local-write\", \"network\", \"install\"]\n[sandbox]\nmode = \"enforce\"\n";

const ONE: &str = "command = [\"nowhere-installer vendor/yq\", \"fetcher vendor/yq\", \"lazy vendor/yq\"]\ncheck = \"test -x vendor/yq\"";

/// Makes a workspace whose tool `yq` is missing, with two installers on `PATH`.
fn site(install: &str) -> Bench {
    let entry = format!(
        "[[tool]]\nid = \"yq\"\nname = \"yq\"\nfamily = \"script\"\ncommand = \"vendor/yq\"\n\
         source = {{ kind = \"cli\" }}\n[tool.install]\n{install}\n"
    );
    let bench = Bench::on_disk(&[(CATALOG, &entry), (POLICY, POLICY_TEXT)]).with_user();
    ["fetcher", "lazy", "sh", "sudo"]
        .iter()
        .for_each(|name| bench.program(&format!("bin/{name}"), "#!/bin/sh\n"));
    bench
}

fn named(id: &str) -> InstallRequest {
    InstallRequest::from(InstallSelection::Named(vec![id.to_owned()]))
}

#[track_caller]
fn done(bench: &Bench, request: &InstallRequest) -> InstallReport {
    let report = install(&bench.context, request).unwrap();
    assert_eq!(report.queued_count, report.queued.len());
    assert_eq!((report.skipped_count, report.blocked_count), (report.skipped.len(), report.blocked.len()));
    report
}

/// Expects that an installation is blocked for one reason, and returns it. Nothing is stored.
#[track_caller]
fn blocked_for(bench: &Bench, request: &InstallRequest) -> (NotInstalled, BlockerDetail) {
    let mut report = done(bench, request);
    assert_eq!((report.queued_count, report.blocked_count), (0, 1), "{report:?}");
    assert!(calls(bench).is_empty());
    let row = report.blocked.remove(0);
    assert_eq!(row.blockers.len(), row.blocker_details.len());
    (row.reason, row.blocker_details[0].clone())
}

fn calls(bench: &Bench) -> Vec<Call> {
    let queue = bench.context.queue();
    let mut all = Vec::new();
    let mut found = |stored: StoredCall| {
        all.push(stored.call);
        ControlFlow::Continue(())
    };
    queue.read().unwrap().for_each_call(&brigade_queue::Calls::All, &mut found).unwrap();
    all
}

#[test]
fn an_installation_is_queued_once_as_a_call_that_a_person_approves() {
    let bench = site(ONE);
    let report = done(&bench, &named("yq"));
    let row = &report.queued[0];
    assert_eq!((row.tool_id.as_str(), row.status.as_str(), row.created), ("yq", "pending", true));
    assert_eq!((row.command.as_deref(), row.program.as_str()), (Some("fetcher vendor/yq"), "fetcher"));
    let [call] = &calls(&bench)[..] else { panic!("one call") };
    assert_eq!((Some(call.id.to_string()), call.kind()), (row.call_id.clone(), CallKind::Install));
    assert_eq!(report.next, Some(NextStep::Approve(call.id.clone())));
    assert_eq!(call.contract.approval_mode.as_ref().map(ToString::to_string).as_deref(), Some("always"));
    let again = done(&bench, &named("yq"));
    assert_eq!((&again.queued[0].call_id, again.queued[0].created), (&row.call_id, false));
    assert_eq!(calls(&bench).len(), 1);
}

#[test]
fn a_dry_run_stores_nothing_and_shows_the_call_that_is_there() {
    let bench = site(ONE);
    let dry = InstallRequest { dry_run: true, ..named("yq") };
    let report = done(&bench, &dry);
    assert_eq!(
        (report.queued[0].status.as_str(), report.queued[0].call_id.as_deref()),
        ("would-queue", None)
    );
    assert!(calls(&bench).is_empty());
    let real = done(&bench, &named("yq"));
    let report = done(&bench, &dry);
    assert_eq!(
        (report.queued[0].status.as_str(), &report.queued[0].call_id),
        ("pending", &real.queued[0].call_id)
    );
}

#[test]
fn a_tool_that_is_there_is_skipped() {
    let bench = site(ONE);
    bench.program("vendor/yq", "#!/bin/sh\n");
    let report = done(&bench, &named("yq"));
    assert_eq!((report.skipped[0].tool_id.as_str(), report.skipped[0].reason), ("yq", ToolState::Available));
    assert_eq!((report.queued_count, report.blocked_count), (0, 0));
}

#[test]
fn only_a_policy_that_names_it_allows_an_installation() {
    for (policy, code, line) in [
        (None, "policy_install_not_allowed", 1),
        (Some(""), "policy_install_not_allowed", 1),
        (Some("max_timeout = 5\nallowed_effects = []\n"), "policy_install_not_allowed", 2),
        (Some("allowed_effects = [\"local-write\", \"network\"]\n"), "policy_install_not_allowed", 1),
        (
            Some(
                "allowed_effects = [\"install\", \"network\", \"local-write\"]\ndenied_effects = [\"install\"]\n",
            ),
            "policy_denied_effect",
            2,
        ),
    ] {
        let bench = site(ONE);
        match policy {
            Some(policy) => bench.write(POLICY, policy),
            None => bench.remove(POLICY),
        }
        let (reason, detail) = blocked_for(&bench, &named("yq"));
        assert_eq!(
            (reason, detail.code.as_deref(), detail.line),
            (NotInstalled::Blocked, Some(code), Some(line))
        );
        assert!(detail.file.is_some_and(|file| file.ends_with(POLICY)));
    }
}

#[test]
fn the_policy_of_a_tool_applies_to_its_installation() {
    for (rule, code) in [
        ("allowed_levels = [\"user\"]", "policy_level"),
        ("allowed_sources = [\"script\"]", "policy_source"),
        ("denied_capabilities = [\"parse-yaml\"]", "policy_capability"),
    ] {
        let bench = site(ONE);
        bench.replace(CATALOG, "[tool.install]", "capabilities = [\"Parse YAML\"]\n[tool.install]");
        bench.write(POLICY, &format!("{rule}\n{POLICY_TEXT}"));
        assert_eq!(blocked_for(&bench, &named("yq")).1.code.as_deref(), Some(code));
    }
}

#[test]
fn an_installation_needs_a_command_whose_program_is_there() {
    for (lines, with, reason) in [
        ("check = \"test -x vendor/yq\"", None, NotInstalled::NoInstallCommand),
        ("command = [\"nowhere-installer yq\"]", None, NotInstalled::NoInstaller),
        (ONE, Some("pip"), NotInstalled::NoInstaller),
        (ONE, Some("nowhere-installer"), NotInstalled::NoInstaller),
        ("command = \"sh -c 'curl x | sh'\"", None, NotInstalled::Blocked),
        ("command = \"sudo -n fetcher vendor/yq\"", None, NotInstalled::Blocked),
    ] {
        let request = InstallRequest { with: with.map(str::to_owned), ..named("yq") };
        assert_eq!(blocked_for(&site(lines), &request).0, reason, "{lines} {with:?}");
    }
}

#[test]
fn a_person_may_choose_another_installer() {
    let request = |with: &str| InstallRequest { with: Some(with.to_owned()), ..named("yq") };
    let report = done(&site(ONE), &request("lazy"));
    assert_eq!(report.queued[0].command.as_deref(), Some("lazy vendor/yq"));
    let (_, detail) = blocked_for(&site(ONE), &request("pip"));
    assert_eq!(detail.hint.as_deref(), Some("the entry names `nowhere-installer`, `fetcher`, `lazy`"));
}

#[test]
fn an_entry_without_a_command_names_its_documentation() {
    let bench = site("docs = \"https://example.org/yq\"");
    let (_, detail) = blocked_for(&bench, &named("yq"));
    assert!(detail.hint.is_some_and(|hint| hint.contains("https://example.org/yq")));
}

#[test]
fn a_blocked_installation_is_queued_on_request() {
    let bench = site(ONE);
    bench.write(POLICY, "");
    let request = InstallRequest { blocked: OnBlocked::Include, ..named("yq") };
    let report = done(&bench, &request);
    assert_eq!((report.queued_count, report.next), (1, None), "it cannot be approved yet");
}

#[test]
fn of_all_tools_enabled_and_missing_ones_are_queued() {
    let bench = site(ONE);
    let more = "[[tool]]\nid = \"here\"\nname = \"Here\"\nfamily = \"script\"\ncommand = \"sh\"\n\
         [tool.install]\ncommand = \"fetcher x\"\n\
         [[tool]]\nid = \"off\"\nname = \"Off\"\nfamily = \"script\"\nenabled = false\ncommand = \"vendor/off\"\n\
         [tool.install]\ncommand = \"fetcher vendor/off\"\n";
    bench.write(CATALOG, &(bench.read(CATALOG).unwrap() + more));
    let all = InstallRequest::from(InstallSelection::AllMissing);
    let report = done(&bench, &all);
    let ids: Vec<&str> = report.queued.iter().map(|row| row.tool_id.as_str()).collect();
    assert_eq!((ids, report.skipped_count, report.blocked_count), (vec!["yq"], 0, 0));
    // A disabled tool is installed by its name.
    assert_eq!(done(&bench, &named("off")).queued[0].command.as_deref(), Some("fetcher vendor/off"));
}

#[test]
fn an_unreadable_catalog_is_not_an_empty_one() {
    let bench = Bench::new(&[(CATALOG, "[[tool]\nid = \"a\"\n")]);
    let all = InstallRequest::from(InstallSelection::AllMissing);
    assert_eq!(install(&bench.context, &all).unwrap_err().kind(), ErrorKind::InvalidConfig);
}

#[test]
fn an_unknown_tool_stops_the_others() {
    let bench = site(ONE);
    let both = InstallSelection::Named(vec!["yq".to_owned(), "nope".to_owned()]);
    let error = install(&bench.context, &InstallRequest::from(both)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(calls(&bench).is_empty());
}

#[test]
fn a_broken_entry_is_the_reason_and_not_what_it_lacks() {
    let bench = site(ONE);
    bench.write(CATALOG, "[[tool]]\nid = \"z\"\neffects = [\"local-read\"\n");
    let (_, detail) = blocked_for(&bench, &named("z"));
    assert_eq!((detail.code.as_deref(), detail.line), (Some("invalid_entry"), Some(3)));
}

#[test]
fn a_value_that_the_policy_binds_is_not_shown() {
    let bench = site("command = \"fetcher vendor/yq Zq7tail-EXAMPLE\"").variable("ONE", "Zq7tail-EXAMPLE");
    bench.write(POLICY, &format!("env_bindings = {{ A = \"ONE\" }}\n{POLICY_TEXT}"));
    let report = done(&bench, &named("yq"));
    assert_eq!(report.queued[0].command.as_deref(), Some("fetcher vendor/yq [redacted]"));
    bench.assert_nowhere("Zq7tail-EXAMPLE", &[CATALOG]);
}

#[test]
fn only_a_registry_that_asks_for_it_installs_by_itself() {
    let registry = |truth: bool| {
        format!(
            "settings: {{auto_install: {truth}}}\ntools:\n  - id: jq\n    source: {{type: cli, command: no-jq}}\n    install: {{check: which no-jq, command: fetcher jq}}\n"
        )
    };
    let queued = |text: &str, tool: &str, is_agent: bool| {
        let mut bench = site(ONE);
        bench.write(".cub/tools-registry.yaml", text);
        if is_agent {
            bench.context.caller = brigade_call::Caller::Agent("claude".to_owned());
        }
        let config = gather::config(&bench.context).unwrap();
        let id = auto_install(&bench.context, &config, tool);
        assert_eq!(id.is_some(), !calls(&bench).is_empty());
        id.is_some()
    };
    assert!(queued(&registry(true), "jq", false));
    assert!(!queued(&registry(false), "jq", false));
    assert!(!queued(&registry(true), "yq", false), "an entry of the catalog");
    assert!(!queued(&registry(true), "jq", true), "agents cannot ask for installations");
}

#[test]
fn the_program_of_a_command_is_the_last_part_of_its_path() {
    for (path, name) in [("pip", "pip"), ("/usr/bin/pip", "pip"), ("./x/y", "y"), ("", "")] {
        assert_eq!(program_name(path), name);
    }
}

/// A host that runs no call.
struct NoRunner;

impl crate::Runner for NoRunner {
    fn attempt(&self, ready: crate::ReadyCall) -> Result<crate::Attempt, crate::Error> {
        panic!("{} would run", ready.call.id());
    }
}

fn operations(bench: &Bench) -> crate::Calls {
    crate::Calls::new(bench.shared(), std::sync::Arc::new(NoRunner))
}

#[test]
fn a_rejected_installation_is_not_queued_again() {
    let bench = site(ONE);
    done(&bench, &named("yq"));
    let id = calls(&bench)[0].id.clone();
    operations(&bench).reject(&id, "no").unwrap();
    let mut report = done(&bench, &named("yq"));
    assert_eq!((report.queued_count, report.blocked_count), (0, 1));
    let detail = report.blocked.remove(0).blocker_details.remove(0);
    assert!(detail.message.contains(id.as_str()), "{detail:?}");
    assert!(detail.hint.is_some_and(|hint| hint.contains(id.as_str())));
    assert_eq!(calls(&bench).len(), 1);
}

#[test]
fn an_approval_binds_the_entry_the_command_and_the_installer() {
    /// A change of the workspace.
    type Edit = fn(&Bench);
    let edits: [(&str, Edit); 5] = [
        ("changed_contract", |bench| bench.replace(CATALOG, "family = ", "enabled = false\nfamily = ")),
        ("changed_program", |bench| bench.program("bin/fetcher", "#!/bin/sh\ntrue\n")),
        ("changed_contract", |bench| bench.replace(CATALOG, "test -x", "test -f")),
        ("changed_contract", |bench| bench.replace(CATALOG, "\"vendor/yq\"\n", "\"vendor/zq\"\n")),
        ("install_command_gone", |bench| bench.replace(CATALOG, "\"fetcher vendor/yq\", ", "")),
    ];
    for (code, edit) in edits {
        let bench = site(ONE);
        done(&bench, &named("yq"));
        let id = calls(&bench)[0].id.clone();
        operations(&bench).approve(&id).unwrap();
        edit(&bench);
        let error = operations(&bench).run(crate::RunTarget::Call(id)).unwrap_err();
        let codes: Vec<&str> = error.blockers().iter().map(|blocker| blocker.code.as_ref()).collect();
        assert!(codes.contains(&code), "{code}: {codes:?} {error}");
    }
}

#[test]
fn a_plan_of_a_missing_tool_suggests_its_installation() {
    let bench = site(ONE);
    let plan = operations(&bench).plan(crate::Request::new("yq")).unwrap();
    let json = brigade_core::json::to_json(&plan).unwrap().to_compact();
    assert!(json.contains("program_not_found") && json.contains("install"), "{json}");
    assert!(calls(&bench).is_empty());
}
