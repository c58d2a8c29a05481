//! Tests the issues of commands of tools and runtimes.

use brigade_catalog::Runtime;

use super::*;

#[test]
fn a_path_for_a_shell_is_explained() {
    let entry = GREET.replace("python3 bin/greet.py", "~/bin/greet");
    let catalog = parse(&entry);
    let files = ToolFiles { program: ProgramFact::NotFound, ..ToolFiles::default() };
    let issues = diagnose(of_tools(&catalog, Some(&files), &[]));
    let missing = issues.iter().find(|issue| issue.kind == IssueType::MissingCommand).unwrap();
    let whole = "no shell expands `~`; write `/home/ann/bin/greet`";
    assert_eq!(missing.detail, format!("the program `~/bin/greet` is not found on this host: {whole}"));
}

#[test]
fn runtime_commands_are_judged_like_tool_commands() {
    let catalog = parse(GREET);
    let of = |text: &str, issues: fn(&Runtime) -> Vec<RuntimeIssue>| {
        let file = format!("[[runtime]]\nid = \"h\"\nname = \"h\"\n{text}");
        let runtimes = Runtimes::parse("runtimes.toml", Level::Project, file.as_bytes());
        let facts = [RuntimeFacts {
            issues: issues(&runtimes.runtimes()[0]),
            ..RuntimeFacts::new(&runtimes.runtimes()[0], &Masks::default())
        }];
        let found = FoundRuntimes { config: ConfigFile::Read(&runtimes), facts: &facts, left: &[] };
        let issues = diagnose(Snapshot {
            runtimes: Some(found),
            home: Some(Path::new("/home/ann")),
            ..of_catalog(&catalog)
        });
        let of_runtime = issues.into_iter().filter(|issue| issue.tool_id.as_deref() == Some("h"));
        of_runtime.map(|issue| format!("{}: {}", issue.kind.code(), issue.detail)).collect::<Vec<_>>()
    };
    let command = "command: word 2 gives `python` its program as text";
    let health = "health_command: word 2 gives `node` its program as text";
    assert_eq!(
        of("command = \"python3 -c 1\"\nhealth_command = \"node -e 1\"\n", |_| Vec::new()),
        [format!("inline_code: {command}"), format!("inline_code: {health}")]
    );
    let refused = |runtime: &Runtime| {
        let detail = "`health_command`: word 2 gives `node` its program as text";
        vec![RuntimeIssue::of_field(runtime, IssueType::RuntimeHighRiskCommand, "health_command", detail)]
    };
    assert_eq!(
        of("command = \"sleep 9\"\nhealth_command = \"node -e 1\"\n", refused),
        ["runtime_high_risk_command: `health_command`: word 2 gives `node` its program as text"]
    );
    let missing = |runtime: &Runtime| {
        let issue = |field| RuntimeIssue::of_field(runtime, IssueType::RuntimeBadCommand, field, "not there");
        vec![issue("command"), issue("health_command")]
    };
    let whole = "no shell expands `~`; write `/home/ann/bin/x`";
    assert_eq!(
        of("command = \"~/bin/x\"\nhealth_command = \"nope\"\n", missing),
        [
            format!("runtime_bad_command: the program `~/bin/x` is not found on this host: {whole}"),
            "runtime_bad_command: the program `nope` is not found on this host".to_owned(),
        ]
    );
}
