use std::collections::BTreeMap;

use brigade_catalog::{Catalog, Level};
use brigade_policy::{CallFacts, PolicyState, decide};

use super::*;

fn facts(command: &str) -> StartFacts<'_> {
    StartFacts {
        purpose: StartPurpose::Serve,
        is_broken: false,
        command: Some(command),
        directory: PathBuf::from("/work"),
        directory_fact: DirectoryFact::Present,
        program: StartProgram::Found { path: PathBuf::from("/bin/serve"), sha256: None },
        home: None,
        decision: None,
        refuses_inline_code: None,
        unbound: Vec::new(),
        files: BTreeMap::new(),
        data: Vec::new(),
        bindings: BTreeMap::new(),
    }
}

/// Checks every reason against a start, by the code of its blocker and its text.
#[track_caller]
fn check(facts: StartFacts<'_>, expect: &[(&str, &str)]) {
    let found = plan_start(facts).err().unwrap_or_default();
    let found: Vec<(String, String)> = found
        .iter()
        .map(|objection| {
            (objection.blocker(|field| Place::file(field)).code.into_owned(), objection.to_string())
        })
        .collect();
    let found: Vec<(&str, &str)> = found.iter().map(|(code, text)| (code.as_str(), text.as_str())).collect();
    assert_eq!(found, expect);
}

#[test]
fn a_start_without_objections_is_verified_unchanged() {
    let start = plan_start(facts("serve --port 80")).unwrap();
    assert_eq!(start.argv().words(), ["serve", "--port", "80"]);
    assert_eq!((start.program(), start.directory()), (Path::new("/bin/serve"), Path::new("/work")));
    assert_eq!((start.purpose(), start.sha256()), (StartPurpose::Serve, None));
    assert!(start.decision().is_none());
}

#[test]
fn an_entry_and_its_command_must_be_sound() {
    check(StartFacts { is_broken: true, ..facts("serve") }, &[("invalid_entry", "the entry has errors")]);
    check(StartFacts { command: None, ..facts("") }, &[("missing_command", "the tool has no command")]);
    check(facts(""), &[("missing_command", "the tool has no command")]);
    check(
        facts("serve 'x"),
        &[(
            "invalid_command",
            "the command cannot be split into words: the quote opened at column 7 of the command is never closed",
        )],
    );
}

#[test]
fn risky_commands_and_secrets_are_refused() {
    check(facts("sh -c true"), &[("high_risk_command", "word 2 gives `sh` its commands as text")]);
    check(
        facts("serve --token hunter2"),
        &[("secret_in_catalog", "the command holds what looks like a secret; it is not shown")],
    );
}

#[test]
fn reviewed_code_starts_unless_the_policy_refuses_it() {
    check(facts("python3 -c 'serve()'"), &[]);
    check(facts("sh -c true"), &[("high_risk_command", "word 2 gives `sh` its commands as text")]);
    let refused = || Some(Place::at("policy.toml", 3, 1));
    let reason = ("policy_inline_code", "word 2 gives `node` its program as text");
    check(StartFacts { refuses_inline_code: refused(), ..facts("node -e 1") }, &[reason]);
    check(StartFacts { refuses_inline_code: refused(), ..facts("node serve.js") }, &[]);
}

#[test]
fn directory_and_program_must_be_there() {
    let missing = ("missing_cwd", "`cwd` is not a directory in the workspace");
    check(StartFacts { directory_fact: DirectoryFact::Missing, ..facts("serve") }, &[missing]);
    let gone = || StartFacts { program: StartProgram::NotFound, ..facts("serve") };
    check(gone(), &[("program_not_found", "the program `serve` is not found on this host")]);
    let unreadable = StartProgram::Unreadable("permission denied".to_owned());
    check(
        StartFacts { program: unreadable, ..facts("./serve") },
        &[("program_not_found", "the program `./serve` cannot be read: permission denied")],
    );
    // Without the directory no program was searched.
    check(
        StartFacts { directory_fact: DirectoryFact::Outside, ..gone() },
        &[("path_outside", "`cwd` leads out of the workspace")],
    );
}

#[test]
fn all_reasons_against_a_start_are_reported() {
    let entry = "[[tool]]\nid = \"say\"\nname = \"Say\"\nfamily = \"mcp\"\neffects = [\"network\"]\n";
    let catalog = Catalog::parse("tools.toml", Level::Project, entry.as_bytes());
    let policy = PolicyState::parse("policy.toml", Some(b"denied_effects = [\"network\"]"));
    let decision = decide(&policy, &CallFacts::from_tool(catalog.tool("say").unwrap()), &|_: &str| true);
    let denied = decision.blockers[0].clone();
    let unbound =
        Blocker::new(ErrorCode::CodeNotBound, "the option `-r` runs code that an approval does not bind");
    check(
        StartFacts {
            purpose: StartPurpose::List,
            is_broken: true,
            decision: Some(decision),
            unbound: vec![unbound.clone()],
            ..facts("serve")
        },
        &[
            ("invalid_entry", "the entry has errors"),
            (&denied.code, &denied.message),
            (&unbound.code, &unbound.message),
        ],
    );
}

#[track_caller]
fn check_length(words: &[usize], expect: Option<&str>) {
    let words = words.iter().map(|length| "x".repeat(*length)).collect();
    let found = too_long(&Argv::new(words).unwrap());
    assert_eq!(found.map(|objection| objection.to_string()), expect.map(str::to_owned));
}

#[test]
fn too_long_command_lines_are_refused() {
    check_length(&[5, MAX_WORD_BYTES], None);
    check_length(
        &[5, 1, MAX_WORD_BYTES + 1],
        Some("word 3 of the command line has 131072 bytes, and no more than 131071 can be passed"),
    );
    check_length(&[100_000; 18], None);
    check_length(
        &[100_000; 19],
        Some("the command line has 1900171 bytes, and no more than 1835008 can be passed"),
    );
}
