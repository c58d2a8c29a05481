use brigade_catalog::Catalog;
use brigade_workspace::{CATALOG, GATEWAY, POLICY};

use super::*;
use crate::testing::Bench;
use crate::{Attempt, RUNTIMES, ReadyCall, Runner};

/// A host that runs no call.
struct NoRunner;

impl Runner for NoRunner {
    fn attempt(&self, ready: ReadyCall) -> Result<Attempt, Error> {
        let error = Error::new(ErrorKind::Refused, "nothing runs here");
        Ok(Attempt::Taken(Box::new(ready.call.call().clone()), error))
    }
}

const TOOL: &str = "[[tool]]\nid = \"sum\"\nname = \"Sum\"\nfamily = \"script\"\ncommand = \"sh bin/sum.sh\"\neffects = [\"local-read\"]\n";

/// Makes a workspace on the disk, whose tool runs a script of the workspace.
fn site() -> Bench {
    let bench = Bench::on_disk(&[
        (CATALOG, TOOL),
        (POLICY, "allowed_families = [\"script\"]\nallowed_effects = [\"local-read\"]\n"),
        ("bin/sum.sh", "echo 1\n"),
    ])
    .with_user()
    .with_user();
    bench.program("bin/sh", "#!/bin/sh\n");
    bench
}

fn calls(bench: &Bench) -> Calls {
    Calls::new(bench.shared(), Arc::new(NoRunner))
}

#[track_caller]
fn shown(bench: &Bench, name: &str) -> TrustReport {
    let report = calls(bench).show_trust(&[name.to_owned()]).unwrap();
    assert_eq!((report.thing_count, report.trusted), (report.things.len(), false));
    report
}

#[track_caller]
fn state(bench: &Bench, name: &str) -> TrustState {
    shown(bench, name).things[0].state
}

#[test]
fn what_a_person_reviewed_is_what_was_shown() {
    let bench = site();
    let report = shown(&bench, "sum");
    let row = &report.things[0];
    assert_eq!((row.kind.as_str(), row.id.as_str(), row.state), ("tool", "sum", TrustState::Never));
    assert_eq!(row.command.as_deref(), Some("sh bin/sum.sh"));
    assert!(
        row.parts.iter().any(|part| part.path.as_deref().is_some_and(|path| path.ends_with("bin/sum.sh")))
    );
    assert_eq!(state(&bench, "sum"), TrustState::Never, "a look is no review");
    let trusted = calls(&bench).trust(&["sum".to_owned()], &report).unwrap();
    assert_eq!((trusted.trusted, trusted.things[0].state), (true, TrustState::Reviewed));
    assert_eq!(state(&bench, "sum"), TrustState::Reviewed);
}

#[test]
fn a_changed_file_makes_the_review_void() {
    let bench = site();
    let report = shown(&bench, "sum");
    calls(&bench).trust(&["sum".to_owned()], &report).unwrap();
    bench.write("bin/sum.sh", "echo 2\n");
    let row = shown(&bench, "sum").things.remove(0);
    assert_eq!(row.state, TrustState::Changed);
    assert!(row.changed.iter().any(|what| what.contains("bin/sum.sh")), "{:?}", row.changed);
    bench.write("bin/sum.sh", "echo 1\n");
    assert_eq!(state(&bench, "sum"), TrustState::Reviewed);
}

#[test]
fn what_changed_after_it_was_shown_is_not_recorded() {
    let bench = site();
    let report = shown(&bench, "sum");
    bench.write("bin/sum.sh", "echo 2\n");
    let error = calls(&bench).trust(&["sum".to_owned()], &report).unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Refused, ErrorCode::NotReviewed));
    assert_eq!(state(&bench, "sum"), TrustState::Never);
    // Nor is another list of things.
    assert!(calls(&bench).trust(&[], &shown(&bench, "sum")).is_err());
}

#[test]
fn each_kind_of_thing_has_its_name() {
    let bench = site();
    let unknown = |name: &str| calls(&bench).show_trust(&[name.to_owned()]).map(drop).unwrap_err();
    for name in ["gone", "worker:gone", "judge", "notify", "notify:x"] {
        assert_eq!(unknown(name).kind(), ErrorKind::NotFound, "{name}");
    }
    bench.write(RUNTIMES, "[[runtime]]\nid = \"r\"\nname = \"R\"\ncommand = \"sh bin/sum.sh\"\nhealth_command = \"sh bin/sum.sh\"\n");
    let things = shown(&bench, "runtime:r").things;
    let kinds: Vec<&str> = things.iter().map(|row| row.kind.as_str()).collect();
    assert_eq!(kinds, ["runtime", "health"]);
    assert_eq!(unknown("runtime:gone").kind(), ErrorKind::NotFound);
    bench.write(GATEWAY, "[[agent]]\nname = \"a\"\n[notify]\ncommand = \"sh bin/sum.sh\"\n");
    assert_eq!(shown(&bench, "notify").things[0].kind, "notify");
}

#[test]
fn a_command_of_a_person_reviews_what_it_showed_and_nothing_else() {
    let bench = site();
    let second = TOOL.replace("\"sum\"", "\"two\"");
    bench.write(CATALOG, &format!("{TOOL}{second}"));
    note_shown(&bench.context, "tools enable", |tool| tool.id == "sum");
    assert_eq!((state(&bench, "sum"), state(&bench, "two")), (TrustState::Reviewed, TrustState::Never));
    assert_eq!(reviewed_tools(&bench.context, |_| true).unwrap(), ["sum"]);
}

#[test]
fn a_file_that_changed_since_it_was_seen_is_not_reviewed() {
    let bench = site();
    let seen = files_of_tools(&bench.context, |tool| tool.id == "sum").unwrap();
    assert!(seen.keys().any(|path| path.ends_with("bin/sum.sh")), "{seen:?}");
    bench.write("bin/sum.sh", "echo 2\n");
    note_seen(&bench.context, "setup", |_| true, &seen);
    assert_eq!(state(&bench, "sum"), TrustState::Never);
    bench.write("bin/sum.sh", "echo 1\n");
    note_seen(&bench.context, "setup", |_| true, &seen);
    assert_eq!(state(&bench, "sum"), TrustState::Reviewed);
}

#[test]
fn entries_of_the_user_are_not_of_the_project() {
    let bench = site();
    bench.write(CATALOG, "");
    bench.write("home/.config/brigade/tools.toml", &TOOL.replace("sh bin/sum.sh", "sh"));
    let catalog: Catalog = load::catalog(&bench.context).unwrap();
    assert_eq!(catalog.tool("sum").unwrap().origin.level, Level::User);
    note_shown(&bench.context, "tools enable", |_| true);
    assert!(bench.read(TRUSTED).is_none_or(|text| !text.contains("\"sum\"")));
}
