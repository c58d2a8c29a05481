//! Memories in a store.

#![allow(clippy::disallowed_methods, reason = "a test looks at the bytes of the file")]

use std::time::Duration;

use brigade_fs::DiskFs;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_unix_micros(1_700_000_000_000_000 + second * 1_000_000)
}

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&DiskFs::open(folder.path()).unwrap(), Duration::from_secs(1)).unwrap();
    (folder, store)
}

fn new(content: &str) -> NewMemory {
    NewMemory {
        content: content.to_owned(),
        category: Category::Convention,
        scope: Scope::Project,
        owner: String::new(),
        author: "ada".to_owned(),
        importance: Importance::Medium,
        pin: false,
        mode: WriteMode::Default,
    }
}

#[track_caller]
fn add(store: &Store, new: &NewMemory, second: i64) -> AddOutcome {
    store.add_memory(new, &Redactor::new(&[]), at(second)).unwrap()
}

#[track_caller]
fn id(added: &AddOutcome) -> String {
    match added {
        AddOutcome::Stored { id, .. } => id.clone(),
        other => panic!("{other:?}"),
    }
}

fn search<'a>(text: &'a str, agent: &'a str) -> Query<'a> {
    Query { text, scope: None, mission: None, owners: Owners::Seen(agent), limit: 5 }
}

fn contents(found: &[MemoryMatch]) -> Vec<&str> {
    found.iter().map(|found| found.memory.content.as_str()).collect()
}

#[test]
fn a_memory_gets_the_tier_that_it_asks_for() {
    let (_folder, store) = store();
    let tier = |added: AddOutcome| (added.durability(), matches!(added, AddOutcome::Stored { .. }));
    assert_eq!(tier(add(&store, &new("Candidates go first"), 1)), (Durability::Candidate, true));
    let pinned = NewMemory { pin: true, ..new("Pinned ones never go") };
    assert_eq!(tier(add(&store, &pinned, 2)), (Durability::Promoted, true));
    let strict =
        NewMemory { mode: WriteMode::Strict, importance: Importance::High, ..new("Tabs, never spaces") };
    assert_eq!(tier(add(&store, &strict, 3)), (Durability::Promoted, true));
    let tiers: Vec<i64> =
        store.memories(None, &Owners::Everybody).unwrap().iter().map(|memory| memory.tier).collect();
    assert_eq!(tiers, [1, 2, 3]);
}

#[test]
fn a_near_copy_is_merged_in_any_tier() {
    let (_folder, store) = store();
    let first = id(&add(&store, &NewMemory { pin: true, ..new("The port of the server is 8080") }, 1));
    let again = NewMemory {
        importance: Importance::High,
        author: "bob".to_owned(),
        ..new("the PORT of the server is 8080!")
    };
    assert_eq!(add(&store, &again, 2), AddOutcome::Merged { into: first.clone(), tier: 1 });
    let memory = store.memory(&first, &Owners::Everybody).unwrap();
    assert_eq!((memory.importance.as_str(), memory.author.as_str(), memory.pinned), ("high", "ada", true));
    assert_eq!((memory.created_at, memory.updated_at), (at(1), at(2)));
    // Another scope stores the same text separately.
    let own =
        NewMemory { scope: Scope::Agent, owner: "ada".to_owned(), ..new("The port of the server is 8080") };
    assert!(matches!(add(&store, &own, 3), AddOutcome::Stored { tier: 3, .. }));
    // A candidate that is repeated with a pin becomes pinned.
    let candidate = id(&add(&store, &new("Backups run at night on the small machine"), 4));
    let pin = NewMemory { pin: true, ..new("Backups run at night on the small machine") };
    assert_eq!(add(&store, &pin, 5), AddOutcome::Merged { into: candidate, tier: 1 });
}

#[test]
fn the_oldest_candidate_goes_when_there_is_no_room() {
    let (_folder, store) = store();
    let mission = |text: &str, pin| NewMemory {
        scope: Scope::Mission,
        owner: owner(Scope::Mission, "ada", Some("m1")),
        pin,
        ..new(text)
    };
    let name = |number: i64| format!("memory number{number} about topic{number} of part{number}");
    for number in 0..Scope::Mission.max_memories() {
        add(&store, &mission(&name(number), number < 2), number);
    }
    add(&store, &mission("One more than there is room for", false), 1_000);
    let all = store.memories(Some(Scope::Mission), &Owners::Everybody).unwrap();
    assert_eq!(all.len() as i64, Scope::Mission.max_memories());
    let has = |number: i64| all.iter().any(|memory| memory.content == name(number));
    assert!(has(0) && has(1) && !has(2) && has(3));
    assert!(
        store
            .search_memories(&Query { mission: Some("m1"), ..search("topic2", "ada") }, at(0))
            .unwrap()
            .is_empty()
    );
}

#[test]
fn nothing_is_stored_when_everything_is_pinned() {
    let (_folder, store) = store();
    for number in 0..Scope::Mission.max_memories() {
        let text = format!("memory number{number} about topic{number} of part{number}");
        let new = NewMemory { scope: Scope::Mission, owner: "ada/m".to_owned(), pin: true, ..new(&text) };
        add(&store, &new, number);
    }
    let more = NewMemory {
        scope: Scope::Mission,
        owner: "ada/m".to_owned(),
        pin: true,
        ..new("No room is left here")
    };
    assert_eq!(add(&store, &more, 1), AddOutcome::Rejected(Objection::NoRoom));
}

#[test]
fn a_secret_is_never_in_the_file() {
    let (folder, store) = store();
    let secret = "The token is ghp_0123456789abcdefghijABCDEFGHIJ012345";
    assert_eq!(add(&store, &new(secret), 1), AddOutcome::Rejected(Objection::Secret));
    let bound = Redactor::new(&["hunter2EXAMPLE".into()]);
    let added = store.add_memory(&new("Log in with hunter2EXAMPLE"), &bound, at(1)).unwrap();
    assert_eq!(added, AddOutcome::Rejected(Objection::Secret));
    drop(store);
    let tools = folder.path().join(".brigade/tools");
    for entry in std::fs::read_dir(tools).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        for secret in ["ghp_0123456789abcdefghij", "hunter2EXAMPLE"] {
            assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()));
        }
    }
}

#[test]
fn a_search_sees_the_project_and_the_agent() {
    let (_folder, store) = store();
    add(&store, &new("Deploy with the blue button"), 1);
    let memory_of =
        |agent: &str, text: &str| NewMemory { scope: Scope::Agent, owner: agent.to_owned(), ..new(text) };
    add(&store, &memory_of("ada", "Deploy only after lunch, says Ada"), 2);
    add(&store, &memory_of("bob", "Deploy whenever you like, says Bob"), 3);
    let mission = owner(Scope::Mission, "ada", Some("m"));
    add(
        &store,
        &NewMemory { scope: Scope::Mission, owner: mission, ..new("Deploy the mission to the moon") },
        4,
    );
    let texts = |query: &Query<'_>| {
        let found = store.search_memories(query, at(5)).unwrap();
        let mut texts: Vec<String> = contents(&found).into_iter().map(str::to_owned).collect();
        texts.sort();
        texts
    };
    assert_eq!(
        texts(&search("deploying", "ada")),
        ["Deploy only after lunch, says Ada", "Deploy with the blue button"]
    );
    assert_eq!(texts(&search("deploy", "eve")), ["Deploy with the blue button"]);
    let mission = Query { scope: Some(Scope::Mission), mission: Some("m"), ..search("deploy", "ada") };
    assert_eq!(texts(&mission), ["Deploy the mission to the moon"]);
    assert!(
        texts(&Query { mission: Some("m"), scope: Some(Scope::Mission), ..search("deploy", "bob") })
            .is_empty()
    );
    assert_eq!(texts(&Query { owners: Owners::Everybody, ..search("deploy", "") }).len(), 4);
    for hostile in ["\" OR 1", "memory_text MATCH 'x'", "NEAR(", "*", "a\0b", "' ; DROP TABLE memory"] {
        let _ = store.search_memories(&search(hostile, "ada"), at(5)).unwrap();
    }
    assert_eq!(store.memories(None, &Owners::Everybody).unwrap().len(), 4);
}

#[test]
fn newer_and_pinned_memories_come_first_among_equals() {
    let (_folder, store) = store();
    let day = 86_400;
    add(&store, &new("apple one two three"), 0);
    add(&store, &new("apple four five six"), 60 * day);
    let found = store.search_memories(&search("apple", "ada"), at(61 * day)).unwrap();
    assert_eq!(contents(&found), ["apple four five six", "apple one two three"]);
    assert!(found.iter().all(|found| (0.0..=1.0).contains(&found.score)));
    let id = &found[1].memory.id;
    store.pin_memory(id, true, &Owners::Seen("ada"), at(61 * day)).unwrap();
    let found = store.search_memories(&search("apple", "ada"), at(61 * day)).unwrap();
    assert_eq!(contents(&found), ["apple one two three", "apple four five six"]);
    assert_eq!(found[0].memory.uses, 1);
}

#[test]
fn only_an_owner_pins_and_removes() {
    let (_folder, store) = store();
    let own = NewMemory { scope: Scope::Agent, owner: "ada".to_owned(), ..new("Ada likes short names") };
    let id = id(&add(&store, &own, 1));
    let code = |result: Result<Memory, StoreError>| result.unwrap_err().answered_code();
    assert_eq!(code(store.pin_memory(&id, true, &Owners::Seen("bob"), at(2))), ErrorCode::NotFound);
    assert_eq!(code(store.memory(&id, &Owners::Seen("ad"))), ErrorCode::NotFound);
    let pinned = store.pin_memory(&id, true, &Owners::Seen("ada"), at(2)).unwrap();
    assert_eq!((pinned.tier, pinned.pinned, pinned.status.as_str()), (1, true, "promoted"));
    let loose = store.pin_memory(&id, false, &Owners::Seen("ada"), at(3)).unwrap();
    assert_eq!((loose.tier, loose.pinned), (2, false));
    assert_eq!(store.memory(&id[..8], &Owners::Everybody).unwrap().id, id);
    store.remove_memory(&id, &Owners::Everybody).unwrap();
    assert_eq!(code(store.memory(&id, &Owners::Everybody)), ErrorCode::NotFound);
    assert!(store.search_memories(&search("names", "ada"), at(3)).unwrap().is_empty());
}

#[test]
fn the_core_memory_is_rewritten_part_by_part() {
    let (_folder, store) = store();
    let redactor = Redactor::new(&[]);
    let change: CoreChange =
        serde_json::from_str(r#"{"projectSummary": "A kitchen", "notes": ["a"]}"#).unwrap();
    assert_eq!(change.updated(), ["projectSummary", "notes"]);
    assert_eq!(store.update_core("ada", &change, &redactor, at(1)).unwrap(), 1);
    let change = CoreChange { notes: Some(vec!["b".to_owned()]), ..CoreChange::default() };
    assert_eq!(store.update_core("ada", &change, &redactor, at(2)).unwrap(), 2);
    let core = store.core("ada").unwrap().unwrap();
    assert_eq!((core.version, core.updated_at), (2, at(2)));
    assert_eq!(core.to_markdown(), "Project:\n- A kitchen\nNotes:\n- b\n");
    assert_eq!(store.core("bob").unwrap(), None);
    let secret = CoreChange {
        notes: Some(vec!["ghp_0123456789abcdefghijABCDEFGHIJ012345".to_owned()]),
        ..CoreChange::default()
    };
    assert_eq!(
        store.update_core("ada", &secret, &redactor, at(3)).unwrap_err().answered_code(),
        ErrorCode::Secret
    );
    let nothing = store.update_core("ada", &CoreChange::default(), &redactor, at(3));
    assert_eq!(nothing.unwrap_err().answered_code(), ErrorCode::InvalidArguments);
}
