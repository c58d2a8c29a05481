use brigade_catalog::Family;
use brigade_fs::RelPath;
use brigade_workspace::TrustStore;

use super::*;
use crate::testing::Bench;

fn tool(change: impl FnOnce(&mut Tool)) -> Tool {
    let mut tool = Tool::new("one", Family::Mcp).unwrap();
    tool.command = Some("serve".to_owned());
    tool.mcp_server_id = Some("files".to_owned());
    change(&mut tool);
    tool
}

/// Returns the upstreams with these settings.
fn upstreams(settings: &str) -> Upstreams {
    let bench = Bench::new(&[(GATEWAY, settings)]);
    let agents = brigade_workspace::read_agents(&*bench.context.fs, &TrustStore::default()).unwrap();
    let upstreams = Upstreams::new();
    upstreams.configure(&agents.gateway);
    upstreams
}

#[test]
fn calls_share_a_process_if_it_is_started_alike_for_the_same_agent() {
    let upstreams = upstreams("");
    let context = Bench::new(&[]).context;
    let key = |tool: &Tool, agent: &str| upstreams.key(&context, tool, Some(agent), None, BTreeMap::new());
    let labels = |labels: &[&str]| {
        tool(|tool| tool.env_labels = labels.iter().map(|label| (*label).to_owned()).collect())
    };
    let one = key(&tool(|_| ()), "ada");
    assert_eq!(one, key(&tool(|tool| tool.cwd = Some(".".to_owned())), "ada"));
    assert_eq!(key(&labels(&["A", "B"]), "ada"), key(&labels(&["B", "A"]), "ada"));
    for other in [
        key(&tool(|_| ()), "bob"),
        key(&tool(|tool| tool.cwd = Some("sub".to_owned())), "ada"),
        key(&tool(|tool| tool.command = Some("serve -v".to_owned())), "ada"),
        key(&labels(&["A"]), "ada"),
        upstreams.key(&context, &tool(|_| ()), Some("ada"), Some("home".to_owned()), BTreeMap::new()),
    ] {
        assert_ne!(one, other);
    }
}

#[test]
fn agents_share_a_server_only_if_its_settings_say_so() {
    let same = |settings: &str| {
        let upstreams = upstreams(settings);
        let context = Bench::new(&[]).context;
        let key = |agent| upstreams.key(&context, &tool(|_| ()), Some(agent), None, BTreeMap::new());
        key("ada") == key("bob")
    };
    assert!(!same(""));
    assert!(!same("[[upstream]]\nid = 'files'\nshare = 'agent'\n"));
    assert!(same("[[upstream]]\nid = 'files'\nshare = 'workspace'\n"));
    assert!(!same("[[upstream]]\nid = 'other'\nshare = 'workspace'\n"));
}

#[test]
fn a_server_without_settings_has_the_usual_ones() {
    let upstreams = upstreams("[[upstream]]\nid = 'files'\nsampling = true\n");
    assert_eq!((upstreams.settings("files").sampling, upstreams.settings("more").sampling), (true, false));
    assert_eq!(upstreams.settings("more").id, "more");
    assert_eq!((upstreams.count(), upstreams.serves("files", "ada")), (0, false));
    let context = Bench::new(&[]).context;
    assert!(upstreams.running(&context, &tool(|_| ())).is_none());
}

#[test]
fn names_of_starts_sort_by_time_and_lead_nowhere_else() {
    use brigade_core::Timestamp;
    let id = |micros: i64| record::new_id(Timestamp::from_unix_micros(micros)).unwrap();
    let (first, second, before) = (id(5), id(1_000_000), id(-7));
    assert!(first < second && before < second, "{first} {second}");
    assert_ne!(id(5), first);
    let bench = Bench::new(&[(".brigade/tools/secret.json", "{}")]);
    for odd in ["../../secret", "a/b", "", "start.json"] {
        assert!(start_of(&*bench.context.fs, odd).is_none(), "{odd}");
    }
}

#[test]
fn the_oldest_logs_of_ended_servers_are_removed() {
    let bench = Bench::new(&[]);
    for index in 0..45 {
        bench.write(&format!("{}/start-{index:03}.stdout.log", record::STARTS), "x");
    }
    let made = record::logs(&bench.context, "start-900");
    assert!(made.is_ok());
    let names = bench.context.fs.list_dir(&RelPath::composed(record::STARTS)).unwrap();
    let kept = names.iter().filter(|entry| entry.name.ends_with(".stdout.log")).count();
    assert_eq!(kept, 41, "40 of before, and the new one");
    assert!(bench.read(&format!("{}/start-044.stdout.log", record::STARTS)).is_some());
    assert!(bench.read(&format!("{}/start-000.stdout.log", record::STARTS)).is_none());
}
