//! Tests the keys of issues.

use super::*;

proptest! {
    #[test]
    fn time_that_passes_does_not_change_fingerprints(hours in 0i64..1_000) {
        let old = Call { created_at: Some(hours_ago(80)), ..call("a", CallStatus::Pending) };
        let running = Call { started_at: Some(hours_ago(80)), ..call("b", CallStatus::Running) };
        let calls: Vec<CallState<'_>> = [&old, &running]
            .map(|call| CallState { call, changes: Vec::new(), is_only_moved: false, runner: RunnerState::Alive })
            .into();
        let prints = |now| {
            let issues = diagnose(Snapshot { calls: calls.clone(), ..Snapshot::new(now) });
            issues.iter().map(Issue::fingerprint).collect::<Vec<_>>()
        };
        prop_assert_eq!(prints(hours_ago(-hours)), prints(now()));
    }

    #[test]
    fn the_place_of_an_entry_does_not_change_fingerprints(lines in 0usize..50) {
        let prints = |entries: &str| {
            let catalog = parse(&format!("{entries}api_key = \"x\"\nenv_labels = [\"PATH\"]\n"));
            diagnose(of_catalog(&catalog)).iter().map(Issue::fingerprint).collect::<Vec<_>>()
        };
        prop_assert_eq!(prints(&format!("{}{GREET}", "# more\n".repeat(lines))), prints(GREET));
    }

    #[test]
    fn two_issues_never_share_a_key(labels in prop::collection::vec("[A-Z =]{1,4}", 0..6), names in "[a-z-]{1,3}") {
        let template = format!("argument_template = {{ {names} = \"{{a-b}}{{c-d}}\" }}");
        let catalog = parse(&format!("{GREET}env_labels = {labels:?}\n{template}\nsecret = 1\npassword = 1\n[[tool]]\n[[tool]]\n"));
        let issues = diagnose(of_catalog(&catalog));
        let keys: std::collections::BTreeSet<String> = issues.iter().map(source_item_key).collect();
        prop_assert_eq!(keys.len(), issues.len());
    }
}
