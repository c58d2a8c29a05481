//! Tests the issues of registry fields.

use super::*;

#[test]
fn a_word_is_either_a_capability_or_an_effect() {
    let entry = format!(
        "{GREET}capabilities = ['greet people', 'Local Read']\npermissions = ['x_y']\ncapability = ['x-y']\n"
    );
    let input_schema = sound(r#"{"type": "object"}"#);
    let files = ToolFiles { input_schema, ..ToolFiles::default() };
    check_tool(
        &entry,
        files,
        &["ambiguous_label greet capabilities[2]", "ambiguous_label greet capability[1]"],
    );
}

#[test]
fn install_commands_are_judged_like_tool_commands() {
    let entry = format!(
        "{GREET}version_command = 'greet --version'\n[tool.install]\ncheck = 'bash -c \"which greet\"'\ncommand = ['sudo apt install greet', 'pip install greet', 'a \"']\n"
    );
    let input_schema = sound(r#"{"type": "object"}"#);
    let files = ToolFiles { input_schema, ..ToolFiles::default() };
    check_tool(
        &entry,
        files,
        &[
            "high_risk_command greet install.check",
            "high_risk_command greet install.command[1]",
            "high_risk_command greet install.command[3]",
        ],
    );
}

/// Issue 13: code for an interpreter is listed in every command of the entry.
#[test]
fn code_in_commands_that_install_is_listed() {
    let entry = format!(
        "{GREET}version_command = 'node -e 1'\n[tool.install]\ncheck = 'python3 -c 1'\ncommand = ['pip install x', 'perl -e 1']\n"
    );
    let input_schema = sound(r#"{"type": "object"}"#);
    let files = ToolFiles { input_schema, ..ToolFiles::default() };
    check_tool(
        &entry,
        files,
        &[
            "inline_code greet version_command",
            "inline_code greet install.check",
            "inline_code greet install.command[2]",
        ],
    );
}

#[test]
fn a_conditional_tool_may_be_missing() {
    let input_schema = sound(r#"{"type": "object"}"#);
    let missing = || ToolFiles {
        input_schema: input_schema.clone(),
        program: ProgramFact::NotFound,
        ..ToolFiles::default()
    };
    check_tool(GREET, missing(), &["missing_command greet"]);
    check_tool(&format!("{GREET}availability = 'installed'\n"), missing(), &["missing_command greet"]);
    check_tool(&format!("{GREET}availability = 'conditional'\n"), missing(), &[]);
}

#[test]
fn a_tool_of_a_harness_needs_no_command() {
    let entry = "[[tool]]\nid = 'greet'\nname = 'G'\nfamily = 'custom'\n";
    check_tool(entry, ToolFiles::default(), &["missing_command greet", "missing_contract greet"]);
    check_tool(&format!("{entry}source = {{ kind = 'harness' }}\n"), ToolFiles::default(), &[]);
}
