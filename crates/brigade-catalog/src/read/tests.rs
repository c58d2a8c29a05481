use proptest::prelude::*;
use toml::de::DeTable;

use super::*;
use crate::{ApprovalMode, Family, RiskClass};

mod registry;

fn parse(text: &str) -> Catalog {
    Catalog::parse("t.toml", Level::Project, text.as_bytes())
}

/// The complete example, with every field.
const COMPLETE_EXAMPLE: &str = r#"# tools
[[tool]]
id = "simplify"
name = "Simplify"
family = "slash-command"
enabled = true
description = "s3cr3tvalue"
source_path = "tools/simplify.md"
manifest_path = 's3cr3tvalue'
schema_path = "tools/simplify.schema.json"
command = "brigade s3cr3tvalue show simplify" # why
auth_label = "local-user"
timeout = 30
input_schema_path = "tools/simplify.input.schema.json"
output_schema_path = "tools/simplify.output.schema.json"
examples_path = "tools/simplify.examples.json"
permissions = ["read-files", "s3cr3tvalue"]
effects = [
  "local-read", # the first
  "s3cr3tvalue",
]
approval_mode = "on-request"
risk_class = "read"
cwd = "."
env_labels = ["SAFE_ENV"]
argument_template = { path = "{path}", mode = "--mode=s3cr3tvalue" }
runtime_id = "local-helper"
requires_runtime = false
runtime_health_path = ".brigade/tools/runtime/local-helper.json"
supported_harnesses = ["claude", "codex", "opencode"]
projections = { claude = ".claude/commands/simplify.md", codex = ".codex/skills/simplify/SKILL.md" }
health_path = ".brigade/tools/simplify-health.json"
fingerprint = "s3cr3tvalue"
"#;

const SECOND: &str = "[[tool]]\nid = 'second'\nname = 'Second'\nfamily = 'skill'\n";

/// Compares all issues of a file, as they are displayed.
#[track_caller]
fn check(text: &str, expect: &[&str]) -> Catalog {
    let catalog = parse(text);
    let issues: Vec<_> =
        catalog.issues().iter().map(|issue| format!("{} {issue}", issue.severity.as_str())).collect();
    assert_eq!(issues, expect, "{text}");
    catalog
}

/// Compares the issues of one entry with the additional lines `fields`, which start on line 5.
#[track_caller]
fn check_fields(fields: &str, expect: &[&str]) -> Tool {
    let text = format!("[[tool]]\nid = 'a'\nname = 'A'\nfamily = 'script'\n{fields}\n{SECOND}");
    let catalog = check(&text, expect);
    let [tool, second] = catalog.tools() else { panic!("two entries") };
    assert!(!second.is_broken);
    assert_eq!(tool.is_broken, expect.iter().any(|issue| issue.starts_with("error")));
    assert_eq!(catalog.is_valid(), !tool.is_broken);
    tool.clone()
}

#[test]
fn every_field_is_read() {
    let catalog = check(COMPLETE_EXAMPLE, &[]);
    let tool = catalog.tool("simplify").unwrap();
    assert_eq!(tool.family, Some(Family::SlashCommand));
    assert_eq!(tool.approval_mode, Some(ApprovalMode::OnRequest));
    assert_eq!(tool.risk_class, Some(RiskClass::Read));
    assert_eq!(tool.timeout.map(|timeout| timeout.get()), Some(30.0));
    assert_eq!(tool.effects, ["local-read", "s3cr3tvalue"]);
    assert_eq!(tool.argument_template["path"], "{path}");
    assert_eq!(tool.projections.len(), 2);
    assert!(tool.has_contract() && !tool.is_executable() && !tool.is_broken && tool.unsafe_fields.is_empty());
}

#[test]
fn every_field_has_its_place() {
    let catalog = parse(COMPLETE_EXAMPLE);
    let tool = catalog.tool("simplify").unwrap();
    let at = |field: &str| tool.place_of(field).to_string();
    assert_eq!(tool.origin.place.to_string(), "t.toml:2:1");
    assert_eq!(at("id"), "t.toml:3:1");
    assert_eq!(at("timeout"), "t.toml:13:1");
    assert_eq!(at("effects"), "t.toml:18:1");
    assert_eq!(at("effects[2]"), "t.toml:20:3");
    assert_eq!(at("effects[9]"), "t.toml:18:1");
    assert_eq!(at("projections.codex"), "t.toml:31:58");
    assert_eq!(at("projections.cursor"), "t.toml:31:1");
    assert_eq!(at("domain"), "t.toml:2:1");
    assert_eq!(at("nothing"), "t.toml:2:1");
}

#[test]
fn an_empty_file_is_an_empty_catalog() {
    for text in ["", "\n", "# only a comment", "\u{feff}", "tool = []"] {
        assert!(check(text, &[]).tools().is_empty());
    }
}

#[test]
fn byte_order_mark_and_windows_lines_are_accepted() {
    let text = format!("\u{feff}{}", SECOND.replace('\n', "\r\n"));
    let catalog = check(&text, &[]);
    assert_eq!(catalog.tools()[0].name, "Second");
    assert_eq!(catalog.tools()[0].place_of("family").to_string(), "t.toml:4:1");
}

#[test]
fn any_way_of_writing_toml_is_read() {
    let ways = [
        "[[tool]]\nid = 'a'\nname = 'A'\nfamily = 'script'\n[tool.projections]\nclaude = 'x'\n",
        "[[tool]]\nid = 'a'\nname = 'A'\nfamily = 'script'\nprojections.claude = 'x'\n",
        "[['tool']]\nid = 'a'\n\"name\" = \"\"\"\nA\"\"\"\nfamily = \"scr\\u0069pt\"\nprojections = {\"claude\" = 'x'}\n",
        "tool = [{id = 'a', name = 'A', family = 'script', projections = {\n claude = 'x',\n}}]\n",
        " [[ tool ]] # x\n id = ' a '\nname=\"A\"\nfamily=\"script\"\nprojections={claude=\"x\"}",
    ];
    for text in ways {
        let catalog = check(text, &[]);
        let tool = catalog.tool("a").unwrap();
        assert_eq!((tool.name.as_str(), tool.family), ("A", Some(Family::Script)), "{text}");
        assert_eq!(tool.projections.get("claude").map(String::as_str), Some("x"), "{text}");
    }
}

#[test]
fn wrong_types_name_the_field_and_not_the_value() {
    check_fields("enabled = 'yes'", &["error t.toml:5:11: a: enabled: expected true or false"]);
    check_fields("description = 5", &["error t.toml:5:15: a: description: expected text"]);
    check_fields(
        "timeout = true",
        &["error t.toml:5:11: a: timeout: expected a number of seconds greater than 0"],
    );
    check_fields(
        "timeout = 0",
        &["error t.toml:5:11: a: timeout: expected a number of seconds greater than 0"],
    );
    check_fields(
        "timeout = nan",
        &["error t.toml:5:11: a: timeout: expected a number of seconds greater than 0"],
    );
    check_fields(
        "timeout = 2020-01-01",
        &["error t.toml:5:11: a: timeout: expected a number of seconds greater than 0"],
    );
    check_fields("effects = 'x'", &["error t.toml:5:11: a: effects: expected a list of non-empty strings"]);
    check_fields("projections = ['x']", &["error t.toml:5:15: a: projections: expected a table of strings"]);
    check_fields(
        "approval_mode = 'sometimes'",
        &["error t.toml:5:17: a: approval_mode: expected one of never, on-request, always"],
    );
    check_fields(
        "risk_class = 'x'",
        &["error t.toml:5:14: a: risk_class: expected one of read, local-write, network, privileged"],
    );
}

#[test]
fn numbers_are_read_in_any_notation() {
    for (text, value) in
        [("30", 30.0), ("0.5", 0.5), ("1_000", 1000.0), ("0x10", 16.0), ("+2", 2.0), ("1e3", 1000.0)]
    {
        let tool = check_fields(&format!("timeout = {text}"), &[]);
        assert_eq!(tool.timeout.map(|timeout| timeout.get()), Some(value), "{text}");
    }
}

#[test]
fn a_bad_element_is_an_error_and_empties_its_list() {
    let tool = check_fields(
        "effects = ['a', ' ', 3]\npermissions = ['b']",
        &[
            "error t.toml:5:17: a: effects[2]: expected non-empty text",
            "error t.toml:5:22: a: effects[3]: expected non-empty text",
        ],
    );
    assert!(tool.effects.is_empty());
    assert_eq!(tool.permissions, ["b"]);
    let tool = check_fields(
        "argument_template = { a = 'x', b = 1 }",
        &["error t.toml:5:36: a: argument_template.b: expected text"],
    );
    assert!(tool.argument_template.is_empty());
}

#[test]
fn required_fields_are_required() {
    check(
        "[[tool]]\nid = 'a'\nname = ' '\n",
        &[
            "error t.toml:1:1: a: family: this required field is missing",
            "error t.toml:3:8: a: name: expected non-empty text",
        ],
    );
    let catalog = check(
        "[[tool]]\nname = 'A'\nfamily = 'tool'\n[[tool]]\nid = \"a\\u001b\"\nname = 'A'\nfamily = 'mcp'\n",
        &[
            "error t.toml:1:1: id: this required field is missing",
            "error t.toml:3:10: family: expected one of skill, slash-command, superpower, mcp, openapi, graphql, script, custom",
            "error t.toml:5:6: id: expected text without control characters",
        ],
    );
    assert!(catalog.tools().is_empty());
}

#[test]
fn a_misspelt_required_field_is_one_error() {
    let catalog = check(
        "[[tool]]\nid = 'a'\nname = 'A'\nfamly = 'script'\nfamilly = 'script'\n",
        &[
            "error t.toml:4:1: a: famly: unknown key (did you mean `family`?)",
            "warning t.toml:5:1: a: familly: unknown key (did you mean `family`?)",
        ],
    );
    assert!(catalog.tools()[0].is_broken);
    check(
        "[[tool]]\nid = 'a'\nnmae = 'A'\nname = 'A'\nfamily = 'script'\n",
        &["warning t.toml:3:1: a: nmae: unknown key (did you mean `name`?)"],
    );
}

#[test]
fn of_two_entries_with_one_id_the_second_is_broken() {
    let text = format!("{SECOND}{SECOND}{SECOND}");
    let catalog = check(
        &text,
        &[
            "error t.toml:6:1: second: id: the id is taken by the entry at t.toml:1:1 (ids are unique in a file)",
            "error t.toml:10:1: second: id: the id is taken by the entry at t.toml:1:1 (ids are unique in a file)",
        ],
    );
    assert_eq!(catalog.tools().iter().map(|tool| tool.is_broken).collect::<Vec<_>>(), [false, true, true]);
    assert!(!catalog.tool("second").unwrap().is_broken);
}

#[test]
fn unknown_keys_are_warnings_with_a_suggestion() {
    check_fields(
        "timout = 3\n[tool.projektions]\nx = 1\n[tool.zzzzzzzz.y]",
        &[
            "warning t.toml:5:1: a: timout: unknown key (did you mean `timeout`?)",
            "warning t.toml:6:7: a: projektions: unknown key (did you mean `projections`?)",
            "warning t.toml:8:7: a: zzzzzzzz: unknown key",
        ],
    );
    check(
        &format!("version = 1\n[[tools]]\nid = 'x'\n{SECOND}[other]\na = 1"),
        &[
            "warning t.toml:1:1: version: unknown key at the top level",
            "warning t.toml:2:3: tools: unknown key at the top level (did you mean `tool`?)",
            "warning t.toml:8:2: other: unknown key at the top level",
        ],
    );
    // Issue 14: a secret that became a key is not shown.
    const TOKEN: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    check_fields(
        &format!("{TOKEN} = 3\n[tool.install]\n{TOKEN} = 1\n"),
        &[
            "warning t.toml:5:1: a: [redacted]: unknown key",
            "warning t.toml:7:1: a: install.[redacted]: unknown key",
        ],
    );
    check(
        &format!("{TOKEN} = 1\n{SECOND}"),
        &["warning t.toml:1:1: [redacted]: unknown key at the top level"],
    );
}

#[test]
fn unknown_harnesses_are_warnings_with_a_suggestion() {
    let tool = check_fields(
        "supported_harnesses = ['claude', 'claud', 'my-own']\nprojections = { codx = 'x' }",
        &[
            "warning t.toml:5:34: a: supported_harnesses[2]: not a harness that Brigade knows (did you mean `claude`?)",
            "warning t.toml:5:43: a: supported_harnesses[3]: not a harness that Brigade knows",
            "warning t.toml:6:17: a: projections.codx: not a harness that Brigade knows (did you mean `codex`?)",
        ],
    );
    assert_eq!(tool.supported_harnesses, ["claude", "claud", "my-own"]);
}

#[test]
fn keys_that_look_like_they_hold_a_secret_are_named() {
    let tool = check_fields(
        "auth_label = 'x'\nenv_labels = ['TOKEN']\nargument_template = { api_key = 'v', max_tokens = 'v' }\n\
         password = 'v'\nlimits = [{ x = [{ client_secret = 'v', token = 3 }] }]",
        &["warning t.toml:8:1: a: password: unknown key", "warning t.toml:9:1: a: limits: unknown key"],
    );
    assert_eq!(tool.unsafe_fields, ["argument_template.api_key", "password", "limits[1].x[1].client_secret"]);
}

#[test]
fn broken_syntax_breaks_one_entry_only() {
    let text = format!(
        "{SECOND}[[tool]]\nid = 'a'\nname = \"A\nfamily = 'mcp'\n[[tool]]\nid = 'b'\nname = 'B'\nfamily = 'mcp'\n"
    );
    let catalog = parse(&text);
    assert!(!catalog.is_valid());
    assert_eq!(catalog.ids().collect::<Vec<_>>(), ["second", "a", "b"]);
    assert_eq!(catalog.tools().iter().map(|tool| tool.is_broken).collect::<Vec<_>>(), [false, true, false]);
    assert_eq!(catalog.issues()[0].place.line, Some(7));
    assert_eq!(catalog.issues()[0].entry.as_deref(), Some("a"));
}

#[test]
fn misspelt_headers_do_not_affect_other_entries() {
    for header in ["[tool]", "[[tool]", "[tool]]", "[[tool"] {
        let catalog = parse(&format!("{SECOND}{header}\nid = 'a'\nname = 'A'\nfamily = 'mcp'\n"));
        assert_eq!(catalog.issues()[0].place.line, Some(5), "{header}");
        assert!(!catalog.tool("second").unwrap().is_broken, "{header}");
        assert!(catalog.tool("a").is_none_or(|tool| tool.is_broken), "{header}");
    }
    check(
        "tool = 3\n",
        &[
            "error t.toml:1:1: tool: expected a list of tables (write every entry under its own [[tool]] header)",
        ],
    );
    check(
        "tool = [3]\n",
        &["error t.toml:1:9: tool: expected a table (write every entry under its own [[tool]] header)"],
    );
}

#[test]
fn a_list_and_headers_do_not_mix() {
    let catalog = check(
        &format!("tool = [{{ id = 'a', name = 'A', family = 'mcp' }}]\n{SECOND}[[tool]]"),
        &[
            "error t.toml:2:1: tool: entries are given both as a list and under headers (write every entry under its own [[tool]] header)",
            "error t.toml:6:1: id: this required field is missing",
            "error t.toml:6:1: name: this required field is missing",
            "error t.toml:6:1: family: this required field is missing",
        ],
    );
    assert!(catalog.tools().iter().all(|tool| !tool.is_broken));
    // Headers may have any spacing and quoting.
    check(
        &format!(
            "[[ \"tool\" ]]\nid = 'a'\nname = 'A'\nfamily = 'mcp'\n{SECOND}[['tool']]\nid = 'b'\nname = 'A'\nfamily = 'mcp'\n"
        ),
        &[],
    );
    // A sub-table of a tool above the first header does not break a tool.
    let catalog = check(
        &format!("[tool.projections]\nclaude = 'x'\n{SECOND}"),
        &[
            "error t.toml:1:2: tool: expected a list of tables (write every entry under its own [[tool]] header)",
        ],
    );
    assert!(!catalog.tools()[0].is_broken);
}

#[test]
fn entries_after_an_unclosed_string_are_broken() {
    let catalog =
        parse(&format!("[[tool]]\nid = 'a'\nname = 'A'\nfamily = 'mcp'\ndescription = '''x\n{SECOND}"));
    assert!(!catalog.is_valid());
    assert!(catalog.tools().iter().all(|tool| tool.is_broken));
    let last = catalog.issues().last().unwrap().to_string();
    assert_eq!(last, "t.toml:6:1: second: this follows a multi-line string that is not closed");
}

#[test]
fn invalid_utf_8_breaks_its_entry_only() {
    let mut bytes = b"[[tool]]\nid = 'a'\nname = '\xc3\xa4\xff'\nfamily = 'mcp'\n".to_vec();
    bytes.extend_from_slice(SECOND.as_bytes());
    let catalog = Catalog::parse("t.toml", Level::User, &bytes);
    assert_eq!(catalog.issues().len(), 1);
    assert_eq!(catalog.issues()[0].to_string(), "t.toml:3:10: a: not UTF-8 text (save the file as UTF-8)");
    assert!(catalog.tool("a").unwrap().is_broken);
    assert!(!catalog.tool("second").unwrap().is_broken);
}

#[test]
fn runtimes_are_read_by_the_same_rules() {
    let text = "[[runtime]]\nid = 'local-helper'\nname = 'Local Helper'\nenabled = true\n\
        command = 'python3 -m http.server 8765'\ncwd = '.'\nport = 8765\nhealth_command = 'python3 --version'\n\
        health_path = '.brigade/tools/runtime/local-helper.json'\ntimeout = 10\n";
    let runtimes = Runtimes::parse("r.toml", Level::Project, text.as_bytes());
    assert!(runtimes.is_valid());
    let runtime = runtimes.runtime("local-helper").unwrap();
    assert_eq!((runtime.port, runtime.health_timeout().get()), (Some(8765), 10.0));
    assert_eq!(runtime.place_of("port").to_string(), "r.toml:7:1");

    for port in ["0", "65536", "80.0", "'80'", "-1"] {
        let text = text.replace("8765\nhealth", &format!("{port}\nhealth"));
        let runtimes = Runtimes::parse("r.toml", Level::Project, text.as_bytes());
        assert_eq!(
            runtimes.issues()[0].to_string(),
            "r.toml:7:8: local-helper: port: expected a port from 1 to 65535"
        );
    }
    let empty = Runtimes::parse("r.toml", Level::Project, b"");
    assert_eq!(
        empty.issues()[0].to_string(),
        "r.toml: runtime: no runtime is configured (add a [[runtime]] entry)"
    );
    // A misspelt header does not give a runtime either.
    let misspelt = Runtimes::parse("r.toml", Level::Project, b"[[runtim]]\nid = 'a'\n");
    assert!(!misspelt.is_valid(), "{:?}", misspelt.issues());
    let said: Vec<String> = misspelt.issues().iter().map(ToString::to_string).collect();
    assert_eq!(said, ["r.toml:1:3: runtim: unknown key at the top level (did you mean `runtime`?)"]);
    let misspelt =
        Runtimes::parse("r.toml", Level::Project, b"[[runtime]]\nid = 'a'\nnmae = 'A'\ncommand = 'x'\n");
    let said: Vec<String> = misspelt.issues().iter().map(ToString::to_string).collect();
    assert_eq!(said, ["r.toml:3:1: a: nmae: unknown key (did you mean `name`?)"]);
}

/// Checks that our reader returns the same values as the toml crate.
fn check_values(text: &[u8]) -> Result<(), TestCaseError> {
    let text = String::from_utf8_lossy(text);
    if let Some(found) = value::read(&text, &mut Buffers::default()) {
        let expect = DeTable::parse(&text).map(|root| Table::from(root.into_inner()));
        // NaN is not equal to itself, so the debug forms are compared.
        prop_assert_eq!(format!("{found:?}"), format!("{:?}", expect.unwrap()));
    }
    Catalog::parse("t.toml", Level::Project, text.as_bytes());
    Ok(())
}

#[test]
fn everyday_entries_are_read_without_the_toml_crate() {
    for text in [COMPLETE_EXAMPLE, SECOND, registry::REGISTERED] {
        assert!(value::read(text, &mut Buffers::default()).is_some());
        check_values(text.as_bytes()).unwrap();
    }
}

#[test]
fn many_entries_keep_their_order() {
    let text = |entries: usize| {
        let mut text = b"# many\n".to_vec();
        for number in 0..entries {
            let entry = match number % 97 {
                13 => format!("[[tool]]\nid = \"broken-{number}\nname = 1\n"),
                14 => format!("[tool]\nid = 'slip-{number}'\n"),
                15 => {
                    "[[tool]]\nid = 'twice'\nname = 'Twice'\nfamily = 'script'\ncommand = 'true'\n".to_owned()
                }
                16 => format!("[[tool]]\nid = \"\\u0061-{number}\"\nname = 'Escaped'\n"),
                _ => format!(
                    "[[tool]]\nid = 'tool-{number}'\nname = 'N'\nfamily = 'script'\ncommand = 'true'\n"
                ),
            };
            text.extend(entry.bytes());
            if number % 97 == 17 {
                text.extend(b"# \xff\n");
            }
        }
        read::<Tool>("t.toml", Level::Project, &text)
    };
    let (all, part) = (text(2 * MIN_PARALLEL_PIECES), text(MIN_PARALLEL_PIECES / 2));
    assert_eq!(all.0[..part.0.len()], part.0);
    assert_eq!(all.1[..part.1.len()], part.1);
    assert_eq!(
        (all.0.len(), all.1.is_sorted_by_key(|issue| issue.place.line)),
        (2 * MIN_PARALLEL_PIECES, true)
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0..COMPLETE_EXAMPLE.len()) {
        let mut text = COMPLETE_EXAMPLE.as_bytes().to_vec();
        text.splice(at..at, bytes.clone());
        check_values(&text)?;
        check_values(&bytes)?;
        Runtimes::parse("r.toml", Level::Project, &bytes);
    }

    #[test]
    fn no_syntax_makes_it_panic(text in "(\\[|\\]|\\{|\\}|tool|a|\\.|=|,|\"|'|\n| |1|#|\\\\|é|\r){0,60}") {
        check_values(text.as_bytes())?;
    }

    #[test]
    fn mutations_never_quote_values_or_break_the_next(
        at in 0..COMPLETE_EXAMPLE.len(),
        byte in prop::sample::select(b"\"'[]{}=,.#\n\\ a1\xff\x00".to_vec()),
        remove in any::<bool>(),
    ) {
        let mut text = COMPLETE_EXAMPLE.as_bytes().to_vec();
        if remove {
            text.remove(at);
        } else {
            text.insert(at, byte);
        }
        let split = text.len();
        text.extend_from_slice(b"\n[[tool]]\nid = 'second'\nname = 'Second'\nfamily = 'skill'\n");
        let catalog = Catalog::parse("t.toml", Level::Project, &text);
        for issue in catalog.issues() {
            let shown = format!("{issue} {issue:?}");
            prop_assert!(!shown.contains("s3cr3tvalue") && !shown.contains("cr3tval"), "{}", shown);
        }
        let second = catalog.tool("second").expect("the second entry is read");
        prop_assert!(!second.is_broken);
        prop_assert_eq!(&second.name, "Second");
        // Every invalid TOML document has an error.
        let is_toml = std::str::from_utf8(&text[..split]).is_ok_and(|text| DeTable::parse(text).is_ok());
        prop_assert!(is_toml || !catalog.is_valid());
    }
}
