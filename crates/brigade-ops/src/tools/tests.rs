//! Entries of the project and of the user, from a plan to an approval.

use std::sync::Arc;

use brigade_core::CallId;
use brigade_workspace::{CATALOG, POLICY};

use crate::report::PlanReport;
use crate::testing::Bench;
use crate::{Attempt, Calls, Error, ErrorKind, ReadyCall, Request, RunTarget, Runner};

const OF_USER: &str = "home/.config/brigade/tools.toml";

const POLICY_TEXT: &str = "allowed_families = [\"script\"]\nallowed_effects = [\"local-read\"]\n";

/// A host that runs no call, and says so for one that may run.
struct NoRunner;

impl Runner for NoRunner {
    fn attempt(&self, ready: ReadyCall) -> Result<Attempt, Error> {
        let error = Error::new(ErrorKind::Refused, "it would run");
        Ok(Attempt::Taken(Box::new(ready.call.call().clone()), error))
    }
}

fn entry(id: &str, more: &str) -> String {
    format!(
        "[[tool]]\nid = \"{id}\"\nname = \"{id}\"\nfamily = \"script\"\ncommand = \"greet\"\ninput_schema_path = \"schemas/any.json\"\n\
         permissions = [\"read-files\"]\neffects = [\"local-read\"]\napproval_mode = \"on-request\"\ntimeout = 30\n{more}\n"
    )
}

/// Makes a workspace with the tool `tool`, and a file of the user with these entries.
fn site(of_user: &str) -> Bench {
    let bench = Bench::on_disk(&[(CATALOG, &entry("tool", "")), (POLICY, POLICY_TEXT), (OF_USER, of_user)])
        .with_user();
    for folder in ["", "home/.config/brigade/"] {
        bench.write(&format!("{folder}schemas/any.json"), "{\"type\": \"object\"}");
    }
    bench.program("bin/greet", "#!/bin/sh\n");
    bench
}

fn calls(bench: &Bench) -> Calls {
    Calls::new(bench.shared(), Arc::new(NoRunner))
}

fn plan(bench: &Bench, tool: &str) -> PlanReport {
    calls(bench).plan(Request::new(tool)).unwrap()
}

fn codes(report: &PlanReport) -> Vec<&str> {
    report.blocker_details.iter().filter_map(|detail| detail.code.as_deref()).collect()
}

/// Queues a call and approves it.
#[track_caller]
fn approved(bench: &Bench, tool: &str) -> CallId {
    let queued = calls(bench).queue(Request::new(tool)).unwrap();
    let id = queued.call.id.clone();
    calls(bench).approve(&id).unwrap();
    id
}

/// Returns the codes that keep an approved call from running; empty if it would run.
fn kept_by(bench: &Bench, id: &CallId) -> Vec<String> {
    let error = calls(bench).run(RunTarget::Call(id.clone())).unwrap_err();
    assert_eq!(error.blockers().is_empty(), error.to_string().contains("it would run"), "{error}");
    error.blockers().iter().map(|blocker| blocker.code.to_string()).collect()
}

#[test]
fn a_tool_of_the_user_is_planned_by_each_of_its_names() {
    let bench = site(&entry("mine", "aliases = [\"m\"]\nsource = { kind = \"cli\" }"));
    for name in ["mine", "m", "cli:mine"] {
        let report = plan(&bench, name);
        assert_eq!((report.plan.tool_id.as_str(), codes(&report)), ("mine", vec![]), "{name}");
    }
    assert!(calls(&bench).plan(Request::new("script:mine")).is_err());
    let id = approved(&bench, "cli:mine");
    assert_eq!(kept_by(&bench, &id), [""; 0]);
}

#[test]
fn an_approval_binds_the_level_of_the_entry() {
    let bench = site(&entry("mine", ""));
    let id = approved(&bench, "mine");
    // The same entry, with the same schema, in the project.
    bench.write(CATALOG, &(entry("tool", "") + &entry("mine", "")));
    assert!(kept_by(&bench, &id).contains(&"changed_contract".to_owned()));
}

#[test]
fn an_approval_binds_the_version_of_the_entry() {
    let bench = site("");
    bench.write(CATALOG, &entry("tool", "version = \">=1\""));
    let id = approved(&bench, "tool");
    assert_eq!(kept_by(&bench, &id), [""; 0]);
    bench.replace(CATALOG, ">=1", ">=2");
    assert!(kept_by(&bench, &id).contains(&"changed_contract".to_owned()));
}

#[test]
fn paths_of_an_entry_of_the_user_stay_below_its_file() {
    let bench = site(&entry("mine", "").replace("schemas/any.json", "../any.json"));
    bench.write("home/.config/any.json", "{\"type\": \"object\"}");
    let report = plan(&bench, "mine");
    let fields: Vec<_> = report.blocker_details.iter().filter_map(|detail| detail.field.as_deref()).collect();
    assert!(fields.contains(&"input_schema_path"), "{:?}", report.blocker_details);
}

#[test]
fn the_policy_limits_levels_sources_and_capabilities() {
    let bench = site(&entry("mine", "capabilities = [\"send_mail\"]\nsource = { kind = \"cli\" }"));
    let id = approved(&bench, "mine");
    for (line, code) in [
        ("allowed_levels = [\"project\"]", "policy_level"),
        ("allowed_levels = []", "policy_level"),
        ("allowed_sources = [\"script\", \"mcp\"]", "policy_source"),
        ("denied_capabilities = [\"Send-Mail\"]", "policy_capability"),
        ("allowed_levels = [\"nonsense\"]", "policy_invalid"),
        ("allowed_sources = [\"nonsense\"]", "policy_invalid"),
    ] {
        bench.write(POLICY, &format!("{line}\n{POLICY_TEXT}"));
        let report = plan(&bench, "mine");
        let detail = report.blocker_details.iter().find(|detail| detail.code.as_deref() == Some(code));
        let detail = detail.unwrap_or_else(|| panic!("{line}: {:?}", report.blocker_details));
        assert_eq!((detail.file.as_deref(), detail.line), (Some(POLICY), Some(1)), "{line}");
        assert!(detail.hint.is_some(), "{line}");
        assert!(!kept_by(&bench, &id).is_empty(), "{line}");
    }
    bench.write(POLICY, POLICY_TEXT);
    assert_eq!(kept_by(&bench, &id), [""; 0], "the approval holds under the policy that it was given under");
}

#[test]
fn a_catalog_of_a_newer_version_plans_no_call() {
    let bench = site("");
    bench.write(CATALOG, &format!("schema = 99\n{}", entry("tool", "")));
    assert!(codes(&plan(&bench, "tool")).contains(&"catalog_schema_newer"));
    let error = calls(&bench).queue(Request::new("tool")).unwrap_err();
    assert!(error.blockers().iter().any(|blocker| blocker.code == "catalog_schema_newer"), "{error:?}");
}
