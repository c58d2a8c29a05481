//! Tests of the registry fields of entries and files.

use super::*;
use crate::{Availability, ServerTransport, ToolSource};

/// An entry with all registry fields, and with tables under headers.
pub(super) const REGISTERED: &str = r#"[[tool]]
id = "yq"
name = "yq"
family = "script"
command = "yq"
aliases = ["yaml-query"]
categories = ["data", "yaml"]
capabilities = ["parse_yaml", "convert yaml"]
availability = "conditional"
version = ">=4.30, <5"
version_command = "yq --version"
project_specific = true

[tool.source]
kind = "cli"
provider = "claude"
transport = "stdio"
ref = "mcp:yq@cursor/user"
[tool.install] # how
check = "which yq"
command = [
  "brew install yq", # first
  "pip install yq",
]
docs = "https://example.org/yq"
[tool.cost]
per_call = 0.002
unit = "USD"
"#;

#[test]
fn fields_about_the_registry_are_read() {
    let catalog = check(REGISTERED, &[]);
    let tool = catalog.tool("yq").unwrap();
    assert_eq!(tool.aliases, ["yaml-query"]);
    assert_eq!(tool.all_capabilities(), ["parse_yaml", "convert yaml"]);
    assert_eq!(tool.availability, Some(Availability::Conditional));
    assert_eq!(tool.version.as_ref().map(|version| version.as_str()), Some(">=4.30, <5"));
    assert_eq!((tool.source(), tool.project_specific), (Some(ToolSource::Cli), true));
    let source = tool.source.as_deref().unwrap();
    assert_eq!(source.transport, Some(ServerTransport::Stdio));
    assert_eq!(source.reference.as_deref(), Some("mcp:yq@cursor/user"));
    let install = tool.install.as_deref().unwrap();
    assert_eq!(install.check.as_deref(), Some("which yq"));
    assert_eq!(install.command, ["brew install yq", "pip install yq"]);
    assert_eq!(tool.cost.as_deref().and_then(|cost| cost.per_call), Some(0.002));
    let at = |field: &str| tool.place_of(field).to_string();
    assert_eq!(at("install"), "t.toml:19:7");
    assert_eq!(at("install.command"), "t.toml:21:1");
    assert_eq!(at("install.command[2]"), "t.toml:21:1");
    assert_eq!(at("source.kind"), "t.toml:15:1");
    assert_eq!(at("source.server"), "t.toml:14:7");
    assert_eq!(at("cost.unit"), "t.toml:28:1");
    let one = check_fields("install = { command = 'pip install x' }", &[]);
    assert_eq!(one.install.unwrap().command, ["pip install x"]);
}

#[test]
fn wrong_values_about_the_registry_are_errors() {
    check_fields(
        "availability = 'allways'",
        &[
            "error t.toml:5:16: a: availability: expected one of always, installed, conditional (did you mean `always`?)",
        ],
    );
    check_fields(
        "version = 'newest'",
        &[
            "error t.toml:5:11: a: version: expected a version such as `1.7`, or conditions such as `>=1.2, <2`",
        ],
    );
    check_fields(
        "[tool.source]\nkind = 'mcp'\nprovidr = 'x'",
        &[
            "error t.toml:6:1: a: source.kind: this kind does not suit the family of the tool",
            "warning t.toml:7:1: a: source.providr: unknown key (did you mean `provider`?)",
        ],
    );
    check_fields("install = 'x'", &["error t.toml:5:11: a: install: expected a table"]);
    check_fields(
        "[tool.install]\ncommand = ['a', 3]\n[tool.cost]\nper_call = -1",
        &[
            "error t.toml:6:17: a: install.command[2]: expected non-empty text",
            "error t.toml:8:12: a: cost.per_call: expected a number of at least 0",
        ],
    );
}

#[test]
fn an_entry_of_the_user_belongs_to_no_project() {
    let text = format!("{SECOND}project_specific = true\n");
    let catalog = Catalog::parse("t.toml", Level::User, text.as_bytes());
    let issues: Vec<_> = catalog.issues().iter().map(ToString::to_string).collect();
    assert_eq!(
        issues,
        ["t.toml:5:1: second: project_specific: the tools of a user file belong to no project"]
    );
    assert!(catalog.is_valid());
}

#[test]
fn a_file_says_what_it_is() {
    let catalog = check(
        &format!("schema = 1\n[registry]\nharnesses = ['claude', 'cursor']\nharness_tools = false\n{SECOND}"),
        &[],
    );
    let settings = catalog.settings();
    assert_eq!(settings.schema, Some(1));
    assert!(settings.newer_schema().is_none());
    assert_eq!(settings.harnesses.as_deref(), Some(&["claude".to_owned(), "cursor".to_owned()][..]));
    assert_eq!(settings.harness_tools, Some(false));
    assert_eq!(check(SECOND, &[]).settings(), &Settings::default());
    // After the entries, too.
    let after = check(&format!("{SECOND}[registry]\nharness_tools = true\n"), &[]);
    assert_eq!(after.settings().harness_tools, Some(true));
    check(
        &format!("schema = 'x'\n[registry]\nharnesses = ['claud', 3]\nharness_tool = true\n{SECOND}"),
        &[
            "error t.toml:1:10: schema: expected a whole number from 1 on",
            "warning t.toml:3:14: registry.harnesses[1]: not a harness that Brigade knows (did you mean `claude`?)",
            "error t.toml:3:23: registry.harnesses[2]: expected non-empty text",
            "warning t.toml:4:1: registry.harness_tool: unknown key (did you mean `harness_tools`?)",
        ],
    );
}

#[test]
fn a_file_of_a_newer_schema_is_read() {
    let catalog = parse(&format!("schema = 2\n{SECOND}"));
    assert_eq!(catalog.settings().newer_schema().map(ToString::to_string).as_deref(), Some("t.toml:1:1"));
    assert!(catalog.is_valid() && catalog.tool("second").is_some());
    assert_eq!(catalog.issues()[0].severity, Severity::Warning);
}

#[test]
fn invalid_schemas_count_as_newer() {
    for schema in
        ["99999999999999999999", "0xffffffffffffffffffff", "1.5", "\"2\"", "\"1\"", "0", "-1", "[1]", "true"]
    {
        let catalog = parse(&format!("schema = {schema}\n{SECOND}"));
        assert!(catalog.settings().newer_schema().is_some(), "{schema}");
        assert!(catalog.newer_schema(catalog.tool("second").unwrap()).is_some(), "{schema}");
        assert_eq!(catalog.issues().len(), 1, "{schema}");
    }
    for schema in ["1", "0x1", "0b1"] {
        assert!(
            parse(&format!("schema = {schema}\n{SECOND}")).settings().newer_schema().is_none(),
            "{schema}"
        );
    }
}

proptest! {
    #[test]
    fn any_text_has_the_values_of_the_toml_crate(
        at in 0..REGISTERED.len(),
        bytes in "[\\[\\]{}'\"=.,#\na1é ]{0,4}",
        remove in 0..4usize,
    ) {
        let mut text = REGISTERED.as_bytes().to_vec();
        text.splice(at..(at + remove).min(REGISTERED.len()), bytes.into_bytes());
        check_values(&text)?;
    }
}
