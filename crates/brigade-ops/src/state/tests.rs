mod damage;

use brigade_call::CALLS;
use brigade_core::Exit;
use brigade_workspace::{CATALOG, GATEWAY, POLICY};

use super::*;
use crate::testing::Bench;

fn bench(files: &[(&str, &str)]) -> Bench {
    let bench = Bench::new(&[(CATALOG, "")]);
    files.iter().for_each(|(path, text)| bench.write(path, text));
    bench
}

#[test]
fn an_empty_state_is_valid() {
    let report = check(&bench(&[]).context).unwrap();
    assert_eq!((report.valid, report.exit(), report.damage.len()), (true, Exit::Done, 0));
    assert_eq!((report.calls.values().sum::<u64>(), report.runs.values().sum::<u64>()), (0, 0));
}

#[test]
fn damaged_lines_are_named_and_set_aside() {
    let bench = bench(&[(CALLS, "garbage\n{\"id\": \"cut off\n")]);
    let report = check(&bench.context).unwrap();
    let lines: Vec<Option<u64>> = report.damage.iter().map(|damage| damage.line).collect();
    assert_eq!(
        (report.valid, report.exit(), lines.contains(&Some(1))),
        (false, Exit::Refused, true),
        "{:?}",
        report.damage
    );
    assert!(
        report
            .damage
            .iter()
            .all(|damage| !damage.problem.contains("garbage") && damage.file.starts_with("/memory/"))
    );
    assert!(report.damage[0].next.is_some());
    let compacted = compact(&bench.context).unwrap();
    assert!(0 < compacted.quarantined, "{compacted:?}");
    let after = check(&bench.context).unwrap();
    assert!(after.valid && !after.quarantined.is_empty(), "{after:?}");
    assert_eq!(compact(&bench.context).unwrap().quarantined, 0);
}

#[test]
fn checking_changes_nothing() {
    let bench = bench(&[(CALLS, "garbage\n")]);
    check(&bench.context).unwrap();
    assert_eq!(bench.read(CALLS).as_deref(), Some("garbage\n"));
}

#[test]
fn an_unreadable_checkpoint_is_damage_and_blocks_nothing() {
    let bench = bench(&[(".brigade/tools/checkpoints/odd name.json", "{")]);
    let report = check(&bench.context).unwrap();
    assert_eq!(report.damage.len(), 1, "{:?}", report.damage);
    assert!(report.damage[0].file.ends_with("odd name.json") && report.damage[0].next.is_some());
}

#[test]
fn an_export_of_nothing_has_no_line() {
    let mut lines = 0;
    export(&bench(&[]).context, &mut |_| {
        lines += 1;
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(lines, 0);
}

#[test]
fn configuration_that_git_tracks_is_shown_before_it_is_accepted() {
    let bench = bench(&[(POLICY, "max_timeout = 9\n"), (GATEWAY, "list = 'full'\n")]);
    let files = |step| -> Vec<String> {
        let report = adopt(&bench.context, step).unwrap();
        assert_eq!(report.adopted, step == AdoptStep::Adopt);
        report.records.iter().map(|row| format!("{} {} {}", row.kind, row.id, row.status)).collect()
    };
    assert_eq!(files(AdoptStep::Show), [""; 0]);
    bench.write(".git/index", "DIRC\0\0\0\x05");
    let tracked = [format!("file {POLICY} counts"), format!("file {GATEWAY} counts")];
    assert_eq!(files(AdoptStep::Show), tracked);
    assert_eq!(files(AdoptStep::Show), tracked, "showing accepts nothing");
    assert_eq!(files(AdoptStep::Adopt), tracked);
    assert_eq!(files(AdoptStep::Show), [""; 0]);
    bench.write(POLICY, "max_timeout = 10\n");
    assert_eq!(files(AdoptStep::Show), [format!("file {POLICY} counts")], "other bytes are another file");
}

#[test]
fn a_journal_that_git_tracks_is_never_accepted() {
    let bench = bench(&[(CALLS, ""), (".git/index", "DIRC\0\0\0\x05")]);
    let report = adopt(&bench.context, AdoptStep::Adopt).unwrap();
    assert!(report.tracked.iter().any(|file| file == CALLS), "{:?}", report.tracked);
    let again = adopt(&bench.context, AdoptStep::Show).unwrap();
    assert_eq!(again.tracked, report.tracked);
}

#[test]
fn a_directory_in_place_of_the_journal_is_moved_only_on_request() {
    let bench = bench(&[(".brigade/tools/calls.jsonl/x", "precious")]);
    let report = check(&bench.context);
    assert!(report.as_ref().is_ok_and(|report| !report.valid), "{report:?}");
    assert_eq!(bench.read(".brigade/tools/calls.jsonl/x").as_deref(), Some("precious"));
    compact(&bench.context).unwrap();
    assert!(bench.context.queue().lock(bench.context.now()).is_ok());
    let names = bench.context.fs.list_dir(&".brigade/tools".parse().unwrap()).unwrap();
    let kept = |name: &str| bench.read(&format!(".brigade/tools/{name}/x")).as_deref() == Some("precious");
    let folders = names.iter().filter(|entry| entry.kind == brigade_fs::FileKind::Directory);
    assert!(folders.clone().any(|entry| kept(&entry.name)), "{names:?}");
}
