use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(id: &str, dotted: &str, plain: &str) {
    assert_eq!(listed_name(id, NameStyle::Dotted), dotted);
    assert_eq!(listed_name(id, NameStyle::Plain), plain);
}

#[test]
fn an_id_that_fits_is_its_own_name() {
    check("count-words", "count-words", "count-words");
    check("fs.read_2", "fs.read_2", "fs_read_2");
    let longest = "a".repeat(64);
    check(&longest, &longest, &longest);
}

#[test]
fn other_ids_end_in_digits_of_their_sha256() {
    let digits = &Fingerprint::of_bytes("a b.c".as_bytes()).to_hex()[..8];
    check("a b.c", &format!("a_b.c-{digits}"), &format!("a_b_c-{digits}"));
    let long = "é".repeat(70);
    let name = listed_name(&long, NameStyle::Dotted);
    assert!(name.len() == 64 && name.starts_with(&"_".repeat(55)) && name.as_bytes()[55] == b'-');
}

#[test]
fn clashing_entries_are_not_listed() {
    let ids = ["a.b", "a_b", "c", "tools_call", "fs.read", "x"];
    let dotted = NameClashes::find(ids, NameStyle::Dotted);
    assert!(dotted.groups.is_empty() && !dotted.is_unlisted("a.b"));
    let plain = NameClashes::find(ids, NameStyle::Plain);
    assert!(plain.is_unlisted("a.b") && plain.is_unlisted("a_b") && plain.is_unlisted("tools_call"));
    assert!(!plain.is_unlisted("c") && !plain.is_unlisted("x"));
    assert_eq!(plain.groups["tools_call"], ["tools.call", "tools_call"]);
    assert!(NameClashes::find(["c", "c"], NameStyle::Dotted).is_unlisted("c"));
    // Issue 17: nor is a name taken that calls a built-in tool without being listed.
    assert!(!NameClashes::find(["read.file"], NameStyle::Dotted).is_unlisted("read.file"));
    let plain = NameClashes::find(["read.file"], NameStyle::Plain);
    assert_eq!(plain.groups["read_file"], ["read.file", "read_file"]);
}

#[test]
fn a_name_that_calls_a_tool_of_brigade_is_taken() {
    for name in
        ["fs.read", "tools.call", "readFile", "TodoWrite", "bash", "get_budget_status", "aegis.agent.list"]
    {
        assert!(is_taken(name), "{name}");
    }
    for name in ["aegis.readFile", "aegis.tools.list"] {
        assert!(is_taken(name), "{name}");
    }
    // Other letters, a tool of a server, and what calls nothing.
    for name in
        ["READFILE", "fs_read", "read", "aegis.mine", "mcp__files__read_file", "createTerminal", "issue.vote"]
    {
        assert!(!is_taken(name), "{name}");
    }
}

#[test]
fn own_ids_are_sorted_and_reserved() {
    assert!(CONTROL_TOOLS.is_sorted() && builtin_ids().is_sorted());
    assert!(is_reserved("tools.call") && is_reserved("fs.read") && !is_reserved("count-words"));
    for id in CONTROL_TOOLS.iter().chain(builtin_ids()) {
        assert_eq!(listed_name(id, NameStyle::Dotted), *id);
    }
    let own = CONTROL_TOOLS.iter().chain(builtin_ids()).copied();
    assert_eq!(NameClashes::find(own, NameStyle::Plain), NameClashes::default());
}

proptest! {
    #[test]
    fn every_name_is_one_that_clients_take(id in any::<String>()) {
        prop_assume!(!id.is_empty());
        for style in NameStyle::ALL {
            let name = listed_name(&id, *style);
            prop_assert!((1..=64).contains(&name.len()));
            prop_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)));
            prop_assert!(*style == NameStyle::Dotted || !name.contains('.'));
        }
    }
}
