//! Receipts that were removed from the end of the chain.

use super::*;

#[test]
fn a_receipt_of_any_kind_that_was_cut_off_is_missed() {
    let script = "case $BRIGADE_ROLE in\n\
        review) result '\"review\":\"pass\"';;\n\
        decide) result '\"decision\":\"retry\"';;\n\
        *) [ $n = 1 ] || { echo x > a.txt; done_; };;\nesac";
    let config = "review_enabled = true\ntest_cmd = \"true\"\nmax_iterations = 1\nwalkaway_mode = true";
    let world = World::with_branch(&tasks(&[("a", "test -f a.txt", &[])]), config, script);
    let toml = world.folder.join("work/.brigade/kitchen.toml");
    let text = fs::read_to_string(&toml).unwrap();
    fs::write(&toml, format!("worktree.setup = \"true\"\n{text}")).unwrap();
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Complete);
    assert!(world.kitchen().verify_receipts().unwrap().valid);
    let disk = world.fs();
    let receipts = Receipts::new(&*disk);
    let kinds: Vec<(String, RunKind)> = receipts
        .entries()
        .unwrap()
        .into_iter()
        .map(|entry| {
            (entry.run_id.clone(), receipts.read(&entry.run_id.parse().unwrap()).unwrap().unwrap().kind)
        })
        .collect();
    for kind in [
        RunKind::Setup,
        RunKind::Attempt,
        RunKind::Decision,
        RunKind::Verification,
        RunKind::Test,
        RunKind::Review,
    ] {
        assert!(kinds.iter().any(|(_, found)| *found == kind), "{kind:?}");
    }
    let runs = world.folder.join("work/.brigade/kitchen/runs");
    let ledger = runs.join("ledger.jsonl");
    for kept in (0..kinds.len()).rev() {
        let lines = fs::read_to_string(&ledger).unwrap();
        let lines: String = lines.split_inclusive('\n').take(kept).collect();
        fs::write(&ledger, lines).unwrap();
        fs::remove_file(runs.join(format!("{}.json", kinds[kept].0))).unwrap();
        let found = world.kitchen().verify_receipts().unwrap();
        let missed: Vec<&str> = found.findings.iter().map(|finding| finding.run.as_str()).collect();
        for (run, kind) in &kinds[kept..] {
            assert!(missed.contains(&run.as_str()), "{kind:?}: {:?}", found.findings);
        }
        assert_eq!(missed.len(), kinds.len() - kept, "{:?}", found.findings);
    }
}
