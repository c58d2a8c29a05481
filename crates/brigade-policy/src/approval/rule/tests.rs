use proptest::prelude::*;

use super::*;

const RULE: &str = r#"
[[auto_approve]]
name = "reads"
tools = ["count-words", "docs.*"]
effects = ["local-read", "session"]
agents = ["codex-ci"]
arguments = { path = "docs/**" }
max_calls_per_hour = 2
expires = "2027-01-31"
"#;

fn policy(text: &str) -> PolicyState {
    PolicyState::parse("policy.toml", Some(text.as_bytes()))
}

fn path(value: impl Into<Json>) -> Json {
    Json::object([("path", value.into())])
}

#[track_caller]
fn check_path(args: Json, expect: &[CoverageGap]) {
    let policy = policy(RULE);
    assert_eq!(gaps_of_arguments(&policy.auto_approve()[0], &args, None), expect, "{args:?}");
}

#[test]
fn arguments_are_compared_after_their_dots_are_gone() {
    let other = || [CoverageGap::Argument("`path`".to_owned())];
    for inside in ["docs/a", "./docs/a/b", "docs/./a", "docs/x/../a", "docs/a/../b", "docs//a"] {
        check_path(path(inside), &[]);
    }
    for outside in [
        "docs/../secret",
        "x/../docs/a",
        "DROP; /../docs/a",
        "http://h/../docs/a",
        "docs/../../docs/a",
        "docs//../../etc/passwd",
        "docs/..",
        "..",
        "/docs/a",
        "docsx/a",
        "",
    ] {
        check_path(path(outside), &other());
    }
    check_path(
        Json::object([("Path", Json::from("docs/a"))]),
        &[CoverageGap::ArgumentMissing("`path`".into())],
    );
    check_path(path(vec![Json::from("docs/a")]), &[CoverageGap::ArgumentNotText("`path`".into())]);
    check_path(path(Json::Null), &[CoverageGap::ArgumentNotText("`path`".into())]);
}

#[track_caller]
fn check_invalid(text: &str, line: usize, field: &str, part: &str) {
    let PolicyState::Invalid { issues, .. } = policy(text) else { panic!("valid: {text}") };
    let found = issues.iter().any(|issue| {
        issue.place.line == Some(line)
            && issue.field.as_deref() == Some(field)
            && format!("{} {:?}", issue.message, issue.hint).contains(part)
    });
    assert!(found, "{issues:#?}");
    assert!(policy(text).auto_approve().is_empty());
}

#[test]
fn an_unknown_or_missing_key_makes_the_policy_invalid() {
    const HEAD: &str = "[[auto_approve]]\nname = \"a\"\ntools = [\"t\"]\neffects = [\"local-read\"]\n";
    assert_eq!(policy(HEAD).auto_approve().len(), 1);
    let with = |rest: &str| format!("{HEAD}{rest}\n");
    check_invalid(&with("agent = [\"x\"]"), 5, "auto_approve[1].agent", "agents");
    check_invalid(&with("agents = []"), 5, "auto_approve[1].agents", "empty");
    check_invalid(&with("agents = [\"a b\"]"), 5, "auto_approve[1].agents[1]", "letters");
    check_invalid(&with("agents = \"a\""), 5, "auto_approve[1].agents", "list");
    check_invalid(&with("arguments = { path = 3 }"), 5, "auto_approve[1].arguments.path", "string");
    check_invalid(&with("arguments = [\"x\"]"), 5, "auto_approve[1].arguments", "table");
    check_invalid(&with("max_calls_per_hour = \"3\""), 5, "auto_approve[1].max_calls_per_hour", "number");
    check_invalid(&with("max_calls_per_hour = 0"), 5, "auto_approve[1].max_calls_per_hour", "number");
    check_invalid(&with("max_calls_per_hour = 1.5"), 5, "auto_approve[1].max_calls_per_hour", "number");
    check_invalid(&with("expires = \"soon\""), 5, "auto_approve[1].expires", "2027-01-31");
    check_invalid(&with("expires = \"2027-02-30\""), 5, "auto_approve[1].expires", "2027-01-31");
    check_invalid(&with("expires = 2027-01-31"), 5, "auto_approve[1].expires", "string");
    check_invalid(
        "[[auto_approve]]\ntools = [\"t\"]\neffects = [\"e\"]\n",
        1,
        "auto_approve[1].name",
        "missing",
    );
    check_invalid(
        "[[auto_approve]]\nname = \"a\"\neffects = [\"e\"]\n",
        1,
        "auto_approve[1].tools",
        "missing",
    );
    check_invalid(
        "[[auto_approve]]\nname = \"a\"\ntools = [\"t\"]\n",
        1,
        "auto_approve[1].effects",
        "missing",
    );
    check_invalid(
        "[[auto_approve]]\nname = \"a\"\ntools = []\neffects = [\"e\"]\n",
        3,
        "auto_approve[1].tools",
        "empty",
    );
    check_invalid(&format!("{HEAD}{HEAD}"), 6, "auto_approve[2].name", "line 2");
    check_invalid("[auto_approve]\nname = \"a\"\n", 1, "auto_approve", "[[auto_approve]]");
    check_invalid("[[auto_aprove]]\nname = \"a\"\n", 1, "auto_aprove", "auto_approve");
}

proptest! {
    /// A normalized path never leads up, and normalizing it again does not change it.
    #[test]
    fn nothing_leads_up_from_a_normal_path(text in "[a./]{0,14}") {
        if let Some(once) = normal(&text) {
            prop_assert!(once.split('/').all(|name| name != ".." && name != "."));
            prop_assert_eq!(normal(&once), Some(once));
        }
    }

    /// A path that a rule covers stays below the directory of its pattern, as the file system resolves it.
    #[test]
    fn a_covered_path_is_below_the_pattern(text in "(docs|[a./]|\\.\\./){0,8}") {
        let is_covered = normal(&text).is_some_and(|text| Glob::new("docs/**").matches(&text));
        if is_covered {
            let mut names = vec!["work"];
            for name in text.split('/') {
                match name {
                    "" | "." => {}
                    ".." => { names.pop(); }
                    name => names.push(name),
                }
            }
            prop_assert!(names.starts_with(&["work", "docs"]), "{} -> {:?}", text, names);
        }
    }
}

/// Issue 17: a pattern with `./` at its start never matched, and one without matched a file for a program.
#[test]
fn a_workspace_file_is_not_a_program_on_path() {
    for (pattern, text, as_path, as_command) in [
        ("./run.sh", "./run.sh", true, true),
        ("./run.sh", "././run.sh", true, true),
        ("./run.sh", "run.sh", true, false),
        ("./run.sh", "sub/../run.sh", false, false),
        ("./run.sh", "/run.sh", false, false),
        ("./run.sh *", "./run.sh -v", true, true),
        ("./tools/x", "tools/x", true, true),
        ("tools/x", "./tools/x", true, true),
        ("./tools/*", "./tools/../ls", false, false),
        ("./**", "./ls -l", true, true),
        ("./**", "ls -l", true, false),
        ("./**", "/bin/ls", false, false),
        ("**", "./ls", true, true),
        ("ls", "./ls", true, false),
        ("ls *", "./ls x/y", false, false),
        ("ls **", "./ls x/y", true, false),
        ("ls **", "ls x/./y", true, true),
        ("cargo test", "./cargo test", true, false),
        ("/usr/bin/ls", "/usr/bin/./ls", true, true),
    ] {
        let glob = Glob::new(pattern);
        let found = [false, true].map(|is_command| is_matched(&glob, text, is_command));
        assert_eq!(found, [as_path, as_command], "{pattern} {text}");
    }
}

#[test]
fn a_url_that_climbs_matches_nothing() {
    let glob = Glob::new("http://h/docs/**");
    assert!(is_matched(&glob, "http://h/docs/a?b=c", false));
    for climbs in
        ["http://h/docs/..?x", "http://h/docs/..#x", "http://h/docs/%2E%2e/x", "http://h/docs/..\\x"]
    {
        assert!(!is_matched(&glob, climbs, false), "{climbs}");
    }
}
