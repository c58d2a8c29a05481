//! Damaged, missing and older files of calls and runs.

use brigade_call::CallStatus;
use brigade_core::{CallId, IdPrefix};
use brigade_fs::FileKind;

use super::*;
use crate::testing::{CallBench, RunEnding};

const LEDGER: &str = ".brigade/tools/runs/ledger.jsonl";

/// Runs a call. Returns the path of its receipt.
fn ran(bench: &CallBench, number: u32) -> String {
    let report = bench.ran(&format!("{{\"n\":{number}}}"), RunEnding::completed());
    format!(".brigade/tools/runs/{}.json", report.receipt.id)
}

fn folder(bench: &CallBench, path: &str) {
    bench.remove(path);
    bench.write(&format!("{path}/x"), "precious");
}

#[test]
fn a_receipt_that_cannot_be_read_is_damage() {
    const GONE: &str = "the ledger names it, and it does not exist";
    let check = |damage: &dyn Fn(&CallBench, &str), problem: Option<&str>| {
        let bench = CallBench::new("");
        let path = ran(&bench, 1);
        assert_eq!(check(&bench.context).unwrap().damage.len(), 0);
        damage(&bench, &path);
        let report = check(&bench.context).unwrap();
        let [found] = report.damage.as_slice() else { panic!("{report:?}") };
        assert!(!report.valid && found.file.ends_with(&path), "{report:?}");
        assert!(problem.is_none_or(|problem| found.problem == problem), "{report:?}");
    };
    check(&|bench, path| bench.remove(path), Some(GONE));
    check(&folder, Some(GONE));
    for garbage in ["", "{", "[]", "{\"id\": 7}", "\u{1}\u{2}"] {
        check(&|bench, path| bench.write(path, garbage), None);
    }
}

/// Runs a call, and restores the journal from before the run.
fn put_back_after_a_run(between: impl Fn(&CallBench)) -> (CallBench, CallId) {
    let bench = CallBench::new("");
    ran(&bench, 0);
    let id = bench.approved("{\"n\":1}");
    let approved = bench.read(CALLS);
    bench.calls.run(&id).unwrap();
    between(&bench);
    bench.write(CALLS, approved);
    (bench, id)
}

fn compacted(bench: &CallBench) {
    compact(&bench.context).unwrap();
}

#[test]
fn a_restored_journal_does_not_rerun_a_call() {
    let without_indexes = |bench: &CallBench| {
        compacted(bench);
        let files = bench.files_with(".index");
        files.iter().filter(|path| path.ends_with(".index")).for_each(|path| bench.remove(path));
    };
    let between: [&dyn Fn(&CallBench); 3] = [&|_| {}, &compacted, &without_indexes];
    for between in between {
        let (bench, id) = put_back_after_a_run(between);
        let verified = bench.runs().verify(1).unwrap();
        assert!(!verified.valid && format!("{:?}", verified.findings).contains("Forgotten"), "{verified:?}");
        let damage = check(&bench.context).unwrap().damage;
        assert!(damage[0].problem.contains("calls.jsonl is older than the ledger"), "{damage:?}");
        let refused = format!("{:?}", bench.calls.run(&id).unwrap_err());
        assert!(refused.contains("nothing runs twice"), "{refused}");
        assert_eq!((bench.status(&id), bench.run_count()), (CallStatus::Completed, 2), "nothing ran");
        assert!(bench.runs().verify(1).unwrap().valid);
    }
}

#[test]
fn a_run_known_only_by_its_log_is_not_repeated() {
    let bench = CallBench::new("");
    let id = bench.approved("{}");
    let approved = bench.read(CALLS);
    let run = bench.calls.run(&id).unwrap().receipt.id;
    bench.write(CALLS, approved);
    bench.remove(LEDGER);
    bench.remove(&format!(".brigade/tools/runs/{run}.json"));
    let refused = format!("{:?}", bench.calls.run(&id).unwrap_err());
    assert!(refused.contains("has been started already"), "{refused}");
}

#[test]
fn runs_are_served_whatever_became_of_the_ledger() {
    let damages: [&dyn Fn(&CallBench); 4] = [
        &|bench| bench.write(LEDGER, ""),
        &|bench| bench.write(LEDGER, "garbage\n{}\n"),
        &|bench| bench.remove(LEDGER),
        &|bench| folder(bench, LEDGER),
    ];
    for damage in damages {
        let bench = CallBench::new("");
        let run = |number: u32| bench.ran(&format!("{{\"n\":{number}}}"), RunEnding::completed());
        let ids = [1, 2].map(|number| run(number).receipt.id);
        damage(&bench);
        let newest: Vec<_> = bench.runs().newest(9).unwrap().into_iter().map(|(id, _)| id).collect();
        assert_eq!(newest, [ids[1].clone(), ids[0].clone()]);
        let prefix = IdPrefix::new(&ids[0].as_str()[..ids[0].as_str().len() - 4]);
        assert_eq!(bench.runs().show(&prefix).unwrap().run.id, ids[0]);
        assert!(!bench.runs().verify(1).unwrap().valid && !check(&bench.context).unwrap().valid);
        // No number is given twice. The loss stays visible.
        let call = format!("{:?}", run(3).call);
        assert!(call.contains("sequence: 3"), "{call}");
        assert!(!bench.runs().verify(1).unwrap().valid);
        assert_eq!(bench.run_count(), 3);
    }
}

/// Returns the first segment of finished calls.
fn segment(bench: &CallBench) -> String {
    bench.files_with("calls/segment-").into_iter().find(|path| path.ends_with(".jsonl")).unwrap()
}

type Damage<'a> = &'a dyn Fn(&CallBench);

#[test]
fn damaged_files_are_named_and_set_aside_by_a_compaction() {
    let cases: [(&str, Damage<'_>); 6] = [
        ("calls/segment-", &|bench| {
            bench.write(&segment(bench), format!("garbage\n{}", bench.read(&segment(bench))))
        }),
        ("calls/segment-", &|bench| {
            let text = bench.read(&segment(bench));
            bench.write(&segment(bench), &text[..text.len() - 50]);
        }),
        ("calls/segment-", &|bench| bench.remove(&segment(bench))),
        ("ledger.jsonl", &|bench| bench.write(LEDGER, format!("{}garbage\n", bench.read(LEDGER)))),
        ("ledger.jsonl", &|bench| bench.write(LEDGER, format!("garbage\n{}", bench.read(LEDGER)))),
        ("calls.jsonl", &|bench| folder(bench, CALLS)),
    ];
    for (number, (file, damage)) in cases.into_iter().enumerate() {
        let bench = CallBench::new("");
        (1..=2).for_each(|number| drop(ran(&bench, number)));
        compacted(&bench);
        damage(&bench);
        let found = check(&bench.context).unwrap();
        let named = found.damage.iter().find(|damage| damage.file.contains(file));
        let next = format!("{:?}", named.map(|damage| &damage.next));
        assert!(next.contains("CompactState"), "{number}: {found:?}");
        compacted(&bench);
        let after = check(&bench.context).unwrap();
        assert_eq!((after.valid, after.quarantined.len()), (true, 1), "{number}: {after:?}");
        assert!(bench.runs().verify(1).unwrap().valid, "{number}");
        assert_eq!(after.calls.get("completed"), Some(&2), "{number}: {after:?}");
        ran(&bench, 3);
        assert!(bench.runs().verify(1).unwrap().valid, "{number}");
    }
}

#[test]
fn leftovers_of_checkpoints_are_removed_by_a_compaction() {
    let bench = CallBench::new("");
    ran(&bench, 1);
    let run = ran(&bench, 2);
    let name = run.rsplit('/').next().unwrap().trim_end_matches(".json");
    let left = format!(".brigade/tools/checkpoints/incoming/{name}");
    bench.write(&format!("{left}/k1.json"), "{}");
    bench.write(".brigade/tools/checkpoints/k2.json", "{");
    let found = check(&bench.context).unwrap();
    assert!(found.damage[0].file.ends_with("checkpoints/k2.json"), "{found:?}");
    assert!(found.temporary.iter().any(|path| path.ends_with(&left)), "{found:?}");
    assert_eq!(compact(&bench.context).unwrap().removed, 1);
    assert!(!bench.exists(&left));
    assert_eq!(check(&bench.context).unwrap().temporary, [] as [String; 0]);
}

#[test]
fn a_file_in_the_place_of_the_runs_is_reported() {
    let bench = CallBench::new("");
    bench.write(".brigade/tools/runs", "x");
    let found = check(&bench.context).unwrap();
    assert!(found.damage.iter().any(|damage| damage.problem.contains("it is not a directory")), "{found:?}");
    assert_eq!(bench.runs().list(&crate::RunFilter::default()).unwrap().error_count, 1);
    compacted(&bench);
    assert!(check(&bench.context).unwrap().valid);
    let kind = bench.context.fs.metadata(&".brigade/tools/runs.quarantine-1".parse().unwrap()).unwrap().kind;
    assert_eq!(kind, FileKind::File);
}
