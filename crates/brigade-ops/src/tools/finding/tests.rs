use brigade_catalog::{MatchKind, Quantity, RunsIn};
use brigade_core::ErrorCode;
use brigade_workspace::POLICY;

use super::*;
use crate::testing::Bench;
use crate::tools::catalog::{describe, lines, lines_of};
use crate::tools::health::{list, list_of};

/// Tools of every source. `no-such-yq` and `claude` are not on this host.
const TOOLS: &str = r#"
[[tool]]
id = "shout"
name = "Shout"
family = "script"
command = "sh bin/tool.sh"
description = "Prints a text in capitals"
capabilities = ["change_case", "print text"]
categories = ["text"]
[tool.cost]
per_call = 0.002
unit = "USD"

[[tool]]
id = "yq"
name = "yq"
family = "script"
command = "no-such-yq -P"
aliases = ["yaml-query"]
categories = ["data"]
capabilities = ["parse_yaml"]
availability = "conditional"
version = ">=4.30, <5"
version_command = "no-such-yq --version"
[tool.source]
kind = "cli"
[tool.install]
check = "which no-such-yq"
command = ["brew install yq", "pip install yq"]
docs = "https://example.org/yq"

[[tool]]
id = "read-yaml"
name = "Read YAML"
family = "skill"
source_path = "skills/yaml.md"
domain = "Data"
capability = ["Parse YAML"]

[[tool]]
id = "browse"
name = "Browse"
family = "custom"
capabilities = ["query_database"]
[tool.source]
kind = "harness"
provider = "claude"
"#;

fn site() -> Bench {
    let bench =
        Bench::of_user(&[(CATALOG, TOOLS), ("bin/tool.sh", "echo hello\n"), ("skills/yaml.md", "# yaml\n")]);
    bench.program("bin/sh", "#!/bin/sh\n");
    bench
}

fn texts(all: &[&str]) -> Vec<String> {
    all.iter().map(|text| (*text).to_owned()).collect()
}

fn capable(capabilities: &[&str]) -> FindQuery {
    FindQuery { capabilities: texts(capabilities), ..FindQuery::default() }
}

fn of_category(category: &str) -> FindQuery {
    FindQuery { categories: texts(&[category]), ..FindQuery::default() }
}

#[track_caller]
fn found(bench: &Bench, query: &FindQuery) -> FindReport {
    find(&bench.context, query).unwrap()
}

/// Returns the ids of the matches.
#[track_caller]
fn ids(bench: &Bench, query: &FindQuery) -> String {
    let found = found(bench, query).matches;
    found.iter().map(|found| found.id.as_str()).collect::<Vec<_>>().join(" ")
}

fn suggested(report: &[Suggestion]) -> Vec<&str> {
    report.iter().map(|row| row.id.as_str()).collect()
}

#[test]
fn a_tool_is_shown_with_its_fields_and_why_it_is_missing() {
    let bench = site();
    let ShowReport { tool, .. } = show(&bench.context, "yq").unwrap();
    assert_eq!((tool.level.as_str(), tool.source.map(|source| source.as_str())), ("project", Some("cli")));
    assert_eq!((tool.aliases, tool.categories), (texts(&["yaml-query"]), texts(&["data"])));
    assert_eq!(tool.capabilities, ["parse_yaml"]);
    assert_eq!((tool.state, tool.reasons[0].code.as_str()), (ToolState::Missing, "program_missing"));
    assert_eq!(tool.reasons[0].hint.as_ref().unwrap().to_string(), "see https://example.org/yq");
    assert_eq!(tool.version.as_deref(), Some(">=4.30, <5"));
    assert!(tool.shadowed.is_empty());
    let state = |id: &str| {
        let tool = show(&bench.context, id).unwrap().tool;
        (tool.state, tool.reasons.first().map(|reason| reason.code.clone()).unwrap_or_default())
    };
    assert_eq!(state("shout"), (ToolState::Available, String::new()));
    assert_eq!(state("read-yaml"), (ToolState::Available, String::new()));
    assert_eq!(state("browse"), (ToolState::Missing, "provider_missing".to_owned()));
    bench.remove("skills/yaml.md");
    assert_eq!(state("read-yaml").0, ToolState::Missing);
    bench.program("bin/claude", "#!/bin/sh\n");
    assert_eq!(state("browse").0, ToolState::Available);
}

#[test]
fn a_tool_is_shown_by_each_of_its_names_and_by_no_other() {
    let bench = site();
    for name in ["yq", "yaml-query", "cli:yq"] {
        assert_eq!(show(&bench.context, name).unwrap().tool.summary.id, "yq", "{name}");
    }
    for name in ["script:yq", "yk", ""] {
        let error = show(&bench.context, name).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::NotFound, ErrorCode::ToolMissing), "{name}");
    }
}

#[test]
fn labels_are_equal_whatever_their_spelling() {
    let bench = site();
    let report = found(&bench, &capable(&["PARSE-yaml", "fly"]));
    let [yq, skill] = report.matches.as_slice() else { panic!("{report:?}") };
    assert_eq!(
        (yq.id.as_str(), yq.callable, yq.runs_in, yq.state),
        ("yq", false, Some(RunsIn::Brigade), ToolState::Missing)
    );
    assert_eq!(
        (skill.id.as_str(), skill.callable, skill.runs_in),
        ("read-yaml", false, Some(RunsIn::Harness))
    );
    assert_eq!(skill.reasons[0].code, "runs_in_harness");
    assert_eq!(
        (yq.matched.as_slice(), yq.unmatched.as_slice()),
        (&texts(&["PARSE-yaml"])[..], &texts(&["fly"])[..])
    );
    assert_eq!((report.gaps, report.match_count), (texts(&["fly"]), 2));
}

#[test]
fn a_query_selects_by_category_source_and_number() {
    let bench = site();
    let data = || of_category("data");
    let rows: [(FindQuery, &str); 7] = [
        (data(), "yq read-yaml"),
        (FindQuery { prefer_source: Some(ToolSource::Skill), ..data() }, "read-yaml yq"),
        (FindQuery { available: true, ..data() }, "read-yaml"),
        (FindQuery { limit: Some(1), ..data() }, "yq"),
        (
            FindQuery { sources: vec![ToolSource::Harness, ToolSource::Cli], ..FindQuery::default() },
            "yq browse",
        ),
        (FindQuery { categories: texts(&["data"]), ..capable(&["change case"]) }, ""),
        (FindQuery { quantity: Quantity::All, ..capable(&["print_text", "change_case"]) }, "shout"),
    ];
    for (query, expect) in rows {
        assert_eq!(ids(&bench, &query), expect, "{query:?}");
    }
    let limited = found(&bench, &FindQuery { limit: Some(1), ..data() });
    assert_eq!(limited.match_count, 1);
}

#[test]
fn a_query_without_a_subject_is_refused() {
    let bench = site();
    for query in [
        FindQuery::default(),
        FindQuery { words: "  ".to_owned(), ..FindQuery::default() },
        FindQuery { available: true, limit: Some(3), ..FindQuery::default() },
    ] {
        assert_eq!(find(&bench.context, &query).unwrap_err().kind(), ErrorKind::Usage, "{query:?}");
    }
}

#[test]
fn matches_are_ordered_by_usability() {
    let entry = |id: &str, family: &str, more: &str| {
        format!("[[tool]]\nid = \"{id}\"\nname = \"{id}\"\nfamily = \"{family}\"\n{more}\n")
    };
    let does = "capabilities = [\"do it\"]";
    let there = format!("command = \"sh bin/tool.sh\"\n{does}");
    let project = [
        entry("z-there", "script", &there),
        entry("b-there", "script", &there),
        entry("gone", "script", &format!("command = \"no-such-program\"\n{does}")),
        entry("twice", "script", "command = \"no-such-program\"\ncapabilities = [\"do it\", \"and more\"]"),
        entry("read", "skill", &format!("source_path = \"skills/yaml.md\"\n{does}")),
        entry("off", "script", &format!("enabled = false\n{there}")),
        entry("broken", "script", &format!("timeout = 0\n{there}")),
    ];
    let bench = site();
    bench.write(CATALOG, &project.concat());
    bench.write("home/.config/brigade/tools.toml", &entry("a-user", "script", &there));
    let query = || capable(&["do-it", "AND MORE"]);
    assert_eq!(ids(&bench, &query()), "twice b-there z-there a-user gone read");
    let preferred = FindQuery { prefer_source: Some(ToolSource::Skill), ..query() };
    assert_eq!(ids(&bench, &preferred), "read twice b-there z-there a-user gone");
    assert_eq!(ids(&bench, &FindQuery { available: true, ..query() }), "b-there z-there a-user read");
    assert_eq!(ids(&bench, &FindQuery { quantity: Quantity::All, ..query() }), "twice");
}

#[test]
fn a_gap_names_the_disabled_tools_that_would_fill_it() {
    let bench = site();
    bench.replace(CATALOG, "id = \"shout\"", "id = \"shout\"\nenabled = false");
    let report = found(&bench, &capable(&["change case"]));
    assert_eq!((report.match_count, report.gaps), (0, texts(&["change case"])));
    assert_eq!(report.notes, ["`shout` has the capability change case but is disabled"]);
}

#[test]
fn tools_of_a_harness_are_offered_unless_the_settings_say_no() {
    let bench = site();
    let of_harness = FindQuery { sources: vec![ToolSource::Harness], ..FindQuery::default() };
    assert_eq!(ids(&bench, &of_harness), "browse");
    bench.write(CATALOG, &format!("[registry]\nharness_tools = false\n{TOOLS}"));
    assert_eq!(ids(&bench, &of_harness), "");
    assert!(show(&bench.context, "browse").is_ok(), "the entry is still there");
}

#[test]
fn a_tool_that_the_policy_refuses_is_found_and_not_callable() {
    let bench = site();
    bench.write(POLICY, "allowed_families = [\"mcp\"]\n");
    let report = found(&bench, &capable(&["change_case"]));
    let shout = &report.matches[0];
    assert_eq!((shout.callable, shout.state), (false, ToolState::Available));
    assert!(shout.reasons.iter().any(|reason| reason.code == "policy_family"), "{:?}", shout.reasons);
}

#[test]
fn a_tool_is_callable_if_no_call_of_it_is_refused_before_its_arguments() {
    let tool = |id: &str, rest: &str| {
        format!(
            "[[tool]]\nid = \"{id}\"\nname = \"{id}\"\nfamily = \"script\"\ndescription = \"d\"\ncapabilities = [\"x\"]\n{rest}\n"
        )
    };
    let ready = "effects = [\"local-read\"]\npermissions = [\"p\"]\napproval_mode = \"on-request\"\ntimeout = 5\n\
                 input_schema_path = \"any.json\"";
    let tools = [
        tool("good", &format!("command = \"cat\"\n{ready}")),
        tool("shell", &format!("command = \"sh -c 'echo x'\"\n{ready}")),
        tool(
            "secret",
            &format!("command = \"cat --token ghp_abcdefghijklmnopqrstuvwxyz0123456789\"\n{ready}"),
        ),
        tool("bare", "command = \"cat\""),
        tool("gone", &format!("command = \"no-such-program-here\"\n{ready}")),
    ];
    let bench = Bench::on_disk(&[]).with_user();
    ["cat", "sh"].iter().for_each(|name| bench.program(&format!("bin/{name}"), "#!/bin/sh\n"));
    bench.write("any.json", "{\"type\": \"object\"}");
    bench.write(CATALOG, &tools.concat());
    let report = found(&bench, &capable(&["x"]));
    assert_eq!(report.match_count, tools.len());
    for row in &report.matches {
        assert_eq!((row.callable, row.reasons.is_empty()), (row.id == "good", row.id == "good"), "{row:?}");
        let mut messages: Vec<&str> = row.reasons.iter().map(|reason| reason.message.as_str()).collect();
        messages.sort_unstable();
        let before = messages.len();
        messages.dedup();
        assert_eq!(messages.len(), before, "each reason is given once: {row:?}");
    }
}

#[test]
fn a_search_finds_labels_and_words_in_any_order() {
    let bench = site();
    let all = |text: &str| -> Vec<(String, MatchKind, f64)> {
        let found = search(&bench.context, text, &[]).unwrap();
        assert_eq!(found.match_count, found.matches.len());
        found.matches.into_iter().map(|row| (row.tool.id, row.r#match, row.score)).collect()
    };
    let row = |id: &str, kind: MatchKind, score: f64| (id.to_owned(), kind, score);
    // `_`, `-` and spaces are equal.
    assert_eq!(all("query database"), [row("browse", MatchKind::Phrase, 0.9)]);
    assert_eq!(all("database query"), [row("browse", MatchKind::Words, 0.8)]);
    assert_eq!(all("YAML-QUERY"), [row("yq", MatchKind::Exact, 1.0)]);
    assert_eq!(all("yaml"), [row("yq", MatchKind::Phrase, 0.9), row("read-yaml", MatchKind::Phrase, 0.9)]);
    assert_eq!(all("capitals print"), [row("shout", MatchKind::Words, 0.8)]);
    assert_eq!(all("nothing of this"), []);
    assert_eq!(all(""), []);
    let skills = search(&bench.context, "yaml", &[Family::Skill]).unwrap();
    assert_eq!((skills.match_count, skills.matches[0].tool.id.as_str()), (1, "read-yaml"));
}

#[test]
fn a_disabled_tool_is_not_searched() {
    let bench = site();
    bench.replace(CATALOG, "id = \"shout\"", "id = \"shout\"\nenabled = false");
    assert_eq!(search(&bench.context, "shout", &[]).unwrap().match_count, 0);
}

#[test]
fn the_list_is_filtered_by_what_entries_say() {
    let bench = site();
    let all = ListFilter::default;
    let rows: [(ListFilter, &str); 7] = [
        (all(), "shout yq read-yaml browse"),
        (ListFilter { categories: texts(&["data"]), ..all() }, "yq read-yaml"),
        (
            ListFilter { capabilities: texts(&["parse yaml"]), sources: vec![ToolSource::Skill], ..all() },
            "read-yaml",
        ),
        (ListFilter { families: vec![Family::Script], ..all() }, "shout yq"),
        (ListFilter { levels: vec![Level::Project], available: true, ..all() }, "shout read-yaml"),
        (ListFilter { levels: vec![Level::User], ..all() }, ""),
        (ListFilter { levels: vec![Level::User, Level::Project], ..all() }, "shout yq read-yaml browse"),
    ];
    for (filter, expect) in rows {
        let report = lines_of(&bench.context, &filter).unwrap();
        let ids: Vec<&str> = report.tools.iter().map(|tool| tool.id.as_str()).collect();
        assert_eq!((ids.join(" ").as_str(), report.discovered.is_none()), (expect, true), "{filter:?}");
        let report = list_of(&bench.context, &filter).unwrap();
        let ids: Vec<String> = report.tools.iter().map(|tool| tool.id.to_owned()).collect();
        assert_eq!((ids.join(" ").as_str(), report.tool_count), (expect, ids.len()), "{filter:?}");
    }
}

#[test]
fn built_in_tools_are_listed_only_on_request_and_need_no_catalog() {
    let bench = Bench::new(&[]);
    assert!(!lines(&bench.context).unwrap().valid);
    let builtin = ListFilter { families: vec![Family::Builtin], ..ListFilter::default() };
    let report = lines_of(&bench.context, &builtin).unwrap();
    assert!(report.valid && report.errors.is_empty());
    assert!(report.tools.iter().any(|tool| tool.id == "fs.read"), "{:?}", report.tools);
    let both = ListFilter { families: vec![Family::Builtin, Family::Script], ..ListFilter::default() };
    assert!(!lines_of(&bench.context, &both).unwrap().valid, "scripts need a catalog");
    assert!(lines(&site().context).unwrap().tools.iter().all(|tool| tool.id != "fs.read"));
}

/// Remembers the servers of Cursor and a skill of Claude Code.
fn discovered() -> Bench {
    let bench = site();
    let servers = r#"{"mcpServers": {"database-query": {"command": "npx"}, "weather": {"command": "npx"}}}"#;
    bench.write("home/.cursor/mcp.json", servers);
    let skill = "---\nname: charts\ndescription: Draws a chart of any table\n---\n# Charts\n";
    bench.write("home/.claude/skills/charts/SKILL.md", skill);
    bench
}

#[test]
fn remembered_entries_are_suggested_and_never_match() {
    let bench = discovered();
    let query = capable(&["query_database"]);
    let before = found(&bench, &query);
    assert_eq!((before.suggestions.len(), before.discovered_at), (0, None), "only a sync looks");
    crate::discovery::sync(&bench.context, false).unwrap();
    let report = found(&bench, &query);
    assert_eq!(
        (report.matches[0].id.as_str(), suggested(&report.suggestions)),
        ("browse", vec!["mcp:database-query"])
    );
    assert_eq!(report.suggestions[0].harnesses, ["cursor"]);
    assert!(report.discovered_at.is_some() && report.gaps.is_empty());
    let alone = found(&bench, &capable(&["weather"]));
    assert_eq!((suggested(&alone.suggestions), alone.match_count), (vec!["mcp:weather"], 0));
    assert_eq!(alone.gaps, ["weather"], "a suggestion fills no gap");
    let skills = FindQuery { sources: vec![ToolSource::Skill], ..FindQuery::default() };
    assert_eq!(suggested(&found(&bench, &skills).suggestions), ["skill:charts"]);
    let searched = search(&bench.context, "chart table", &[]).unwrap();
    assert_eq!((suggested(&searched.suggestions), searched.match_count), (vec!["skill:charts"], 0));
    assert_eq!(searched.discovered_at, report.discovered_at);
}

#[test]
fn remembered_entries_are_listed_by_their_level() {
    let bench = discovered();
    crate::discovery::sync(&bench.context, false).unwrap();
    let listed = |filter: ListFilter| {
        let filter = ListFilter { levels: vec![Level::Discovered], ..filter };
        lines_of(&bench.context, &filter).unwrap().discovered.expect("a list").len()
    };
    let all = ListFilter::default;
    for (filter, count) in [
        (ListFilter { sources: vec![ToolSource::Mcp, ToolSource::Skill], ..all() }, 3),
        (ListFilter { sources: vec![ToolSource::Mcp], ..all() }, 2),
        (ListFilter { sources: vec![ToolSource::Skill], ..all() }, 1),
        (ListFilter { families: vec![Family::Mcp], ..all() }, 2),
        // An entry declares no category, and whether it is present is not known.
        (ListFilter { categories: texts(&["data"]), ..all() }, 0),
        (ListFilter { capabilities: texts(&["weather"]), ..all() }, 0),
        (ListFilter { available: true, ..all() }, 0),
    ] {
        let shown = format!("{filter:?}");
        assert_eq!(listed(filter), count, "{shown}");
    }
    let empty = ListFilter { levels: vec![Level::Discovered], ..all() };
    assert_eq!(lines_of(&site().context, &empty).unwrap().discovered, Some(Vec::new()));
    assert_eq!(lines_of(&bench.context, &empty).unwrap().tools.len(), 0);
    assert!(lines(&bench.context).unwrap().discovered.is_none());
}

#[test]
fn a_cache_that_cannot_be_used_is_reported_and_suggests_nothing() {
    for (text, what, then) in [
        ("{", "it is damaged", "the next sync replaces it"),
        ("{\"schema\":\"brigade.discovered.v9\"}", "a newer version", "delete the file"),
    ] {
        let bench = discovered();
        bench.write(DISCOVERED, text);
        let report = search(&bench.context, "weather", &[]).unwrap();
        assert!(report.suggestions.is_empty());
        let [note] = report.notes.as_slice() else { panic!("{:?}", report.notes) };
        assert!(note.contains(what) && note.contains(then), "{note}");
        let levels = vec![Level::Discovered];
        let listed = lines_of(&bench.context, &ListFilter { levels, ..ListFilter::default() }).unwrap();
        assert_eq!(listed.notes, report.notes);
    }
}

#[test]
fn an_entry_of_the_project_hides_that_of_the_user() {
    let entry = |id: &str, more: &str| {
        format!(
            "[[tool]]\nid = \"{id}\"\nname = \"{id}\"\nfamily = \"script\"\ncommand = \"sh bin/tool.sh\"\n{more}\n"
        )
    };
    let bench = site();
    bench.write(CATALOG, &(entry("tool", "") + &entry("off", "enabled = false")));
    let user = entry("tool", "description = \"of the user\"") + &entry("off", "") + &entry("mine", "");
    bench.write("home/.config/brigade/tools.toml", &user);
    let report = lines(&bench.context).unwrap();
    let ids: Vec<(&str, bool)> = report.tools.iter().map(|tool| (tool.id.as_str(), tool.enabled)).collect();
    assert_eq!(ids, [("tool", true), ("off", false), ("mine", true)]);
    let shown = show(&bench.context, "tool").unwrap().tool;
    assert_eq!(shown.level.as_str(), "project");
    let [shadowed] = shown.shadowed.as_slice() else { panic!("{:?}", shown.shadowed) };
    let file = "/memory/home/.config/brigade/tools.toml";
    assert_eq!((shadowed.file.as_str(), shadowed.line), (file, Some(1)));
    assert_eq!(show(&bench.context, "mine").unwrap().tool.level.as_str(), "user");
    let issues = list(&bench.context).unwrap().issues;
    let shadowed = issues.iter().filter(|issue| issue.issue_type == "entry_shadowed");
    assert_eq!(shadowed.count(), 2);
}

#[test]
fn an_alias_of_two_tools_leads_nowhere() {
    let entry = |id: &str, aliases: &str| {
        format!(
            "[[tool]]\nid = \"{id}\"\nname = \"{id}\"\nfamily = \"script\"\ncommand = \"sh\"\naliases = {aliases}\n"
        )
    };
    let bench = site();
    bench.write(CATALOG, &(entry("tool", "[]") + &entry("a", "[\"x\", \"tool\"]") + &entry("b", "[\"x\"]")));
    assert_eq!(show(&bench.context, "x").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(show(&bench.context, "tool").unwrap().tool.summary.id, "tool", "an id precedes an alias");
    let issues = list(&bench.context).unwrap().issues;
    let taken = issues.iter().filter(|issue| issue.issue_type == "alias_taken");
    assert_eq!(taken.count(), 3);
}

#[test]
fn a_catalog_of_a_newer_version_is_read_and_reported() {
    let bench = site();
    bench.write(CATALOG, &format!("schema = 99\n{TOOLS}"));
    let is_told = |notes: &[String]| notes.iter().any(|note| note.contains("needs a newer version"));
    assert!(is_told(&show(&bench.context, "shout").unwrap().notes));
    assert!(is_told(&search(&bench.context, "shout", &[]).unwrap().notes));
    let report = found(&bench, &capable(&["change case"]));
    assert!(is_told(&report.notes) && !report.matches[0].callable);
    assert_eq!(lines(&bench.context).unwrap().tools.len(), 4);
}

#[test]
fn a_registry_that_is_read_in_place_is_a_note() {
    let bench = site();
    let registry = "tools:\n  - id: jq\n    source: {type: cli, command: jq}\n  - id: other\n    source: {type: cli, command: sh}\n";
    bench.write(".cub/tools-registry.yaml", registry);
    let [note] = &lines(&bench.context).unwrap().notes[..] else { panic!("one note") };
    assert_eq!(
        note,
        ".cub/tools-registry.yaml is read in place (2 tools): a person approves each call of them"
    );
}

#[test]
fn a_server_entry_lists_the_tools_that_were_imported_from_it() {
    let tool = |id: &str, more: &str| {
        format!(
            "[[tool]]\nid = \"{id}\"\nname = \"{id}\"\nfamily = \"mcp\"\nruntime_id = \"notes\"\n{more}\n"
        )
    };
    let bench = site();
    let tools = [
        tool("notes", ""),
        tool("notes-find", "mcp_tool_name = \"find\""),
        tool("notes-drop", "mcp_tool_name = \"drop\""),
        tool("other", "mcp_tool_name = \"x\"").replace("\"notes\"\nmcp", "\"clock\"\nmcp"),
    ];
    bench.write(CATALOG, &tools.concat());
    let suggested = |id: &str| show(&bench.context, id).unwrap().tool.suggested_capabilities;
    assert_eq!(suggested("notes"), ["find", "drop"]);
    assert_eq!(suggested("notes-find"), [""; 0], "an imported tool is not a server");
}

#[test]
fn a_description_names_arguments_and_the_errors_of_the_catalog() {
    let bench = site();
    bench.write(
        "any.json",
        r#"{"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}"#,
    );
    bench.replace(CATALOG, "id = \"shout\"", "id = \"shout\"\ninput_schema_path = \"any.json\"");
    let report = describe(&bench.context, "shout").unwrap();
    assert_eq!((report.arguments.len(), report.valid), (1, true));
    bench.write(CATALOG, &format!("{TOOLS}\n[[tool]]\nid = \"bad\"\nname = 3\n"));
    let refused = describe(&bench.context, "gone").unwrap_err();
    let errors = refused.report.expect("the errors");
    assert_eq!(refused.failure.kind(), ErrorKind::NotFound);
    assert!(errors.iter().any(|error| error.as_str().contains("bad")), "{errors:?}");
    assert!(errors.iter().any(|error| error.as_str().contains("gone")), "{errors:?}");
}

/// Makes the receipt of a run that took these seconds.
fn receipt(status: RunStatus, second: i64, duration: f64) -> Receipt {
    let mut receipt = Receipt::new("run-1".parse().unwrap(), "call-1".parse().unwrap(), status);
    receipt.started_at = Some(Timestamp::from_unix_micros(second * 1_000_000));
    let Json::Number(duration) = Json::from(duration) else { panic!("a number") };
    receipt.duration_seconds = Some(duration);
    receipt
}

#[test]
fn runs_are_counted_by_their_end() {
    let all = [
        receipt(RunStatus::Completed, 3, 0.3),
        receipt(RunStatus::Failed, 1, 0.1),
        receipt(RunStatus::TimedOut, 2, 9.0),
        receipt(RunStatus::Interrupted, 4, 0.5),
    ];
    let stats = stats_of("tool", &all.iter().collect::<Vec<_>>(), None);
    assert_eq!((stats.runs, stats.completed, stats.failed, stats.timed_out, stats.failures), (4, 1, 1, 1, 3));
    // The middle of 100, 300, 500 and 9,000.
    assert_eq!((stats.median_ms, stats.max_ms), (Some(400), Some(9_000)));
    let at = |second: i64| Some(Timestamp::from_unix_micros(second * 1_000_000));
    assert_eq!((stats.first_used, stats.last_used), (at(1), at(4)));
    let three = stats_of("tool", &all[1..].iter().collect::<Vec<_>>(), None);
    assert_eq!(three.median_ms, Some(500));
}

#[test]
fn an_installation_is_no_run_of_its_tool() {
    let installation = |status: RunStatus| {
        let mut receipt = receipt(status, 1, 60.0);
        receipt.kind = Some("install".to_owned());
        receipt
    };
    let all = [
        installation(RunStatus::Completed),
        installation(RunStatus::Failed),
        receipt(RunStatus::Completed, 2, 0.1),
    ];
    let stats = stats_of("tool", &all.iter().collect::<Vec<_>>(), None);
    assert_eq!((stats.runs, stats.installations, stats.failed_installations), (1, 1, 1));
    assert_eq!((stats.max_ms, stats.failures), (Some(100), 0));
}

#[test]
fn a_duration_that_is_not_a_time_does_not_count() {
    for (seconds, expect) in [(0.25, Some(250)), (0.0, Some(0)), (-1.0, None)] {
        assert_eq!(milliseconds(&receipt(RunStatus::Completed, 1, seconds)), expect, "{seconds}");
    }
    let mut without = receipt(RunStatus::Completed, 1, 1.0);
    without.duration_seconds = None;
    assert_eq!(milliseconds(&without), None);
}

#[test]
fn costs_have_no_errors_of_binary_fractions() {
    for (amount, expect) in [(0.002 * 3.0, 0.006), (0.1 + 0.2, 0.3), (1e300, 1e300), (0.0, 0.0)] {
        assert!(round_amount(amount) == expect, "{amount}");
    }
    let bench = site();
    let catalog = load::catalog(&bench.context).unwrap();
    let all = [receipt(RunStatus::Completed, 1, 1.0), receipt(RunStatus::Failed, 1, 1.0)];
    let stats = stats_of("shout", &all.iter().collect::<Vec<_>>(), catalog.tool("shout"));
    assert_eq!((stats.cost, stats.cost_unit.as_deref()), (Some(0.004), Some("USD")));
    assert_eq!(stats_of("yq", &[], catalog.tool("yq")).cost, None);
}

#[test]
fn a_tool_without_runs_is_counted_and_an_unknown_one_is_not() {
    let bench = site();
    assert_eq!(stats(&bench.context, None).unwrap().tool_count, 0);
    let never = stats(&bench.context, Some("yaml-query")).unwrap();
    assert_eq!((never.tools[0].id.as_str(), never.tools[0].runs, never.tools[0].first_used), ("yq", 0, None));
    assert_eq!(stats(&bench.context, Some("nothing")).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn the_words_of_arguments_are_keys_and_texts() {
    let args = Json::parse(
        r#"{"repo": "issues", "list": ["a", {"deep": "b"}], "count": 3, "ok": true, "no": null}"#,
    );
    let mut words = Vec::new();
    add_words(&args.unwrap(), &mut |word| words.push(word.to_owned()));
    assert_eq!(words, ["count", "list", "a", "deep", "b", "no", "ok", "repo", "issues"]);
}
