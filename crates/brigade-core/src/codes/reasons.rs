//! The stable codes of blockers: reasons why a call or another start is refused.
//!
//! A blocker may also have the code of an error ([`codes`](super)), of an issue of `doctor`, or of a fault in a PRD.

use super::{ErrorCode, table};

table! {
    // The state of the call.
    STATUS = "status": "The call is not in a status in which it can run.";
    BLOCKED = "blocked": "The call cannot be queued or run, and no other code says why.";
    CHANGED = "changed": "The call changed since it was shown.";
    CHECKPOINT = "checkpoint": "The checkpoint of the call cannot be resumed.";
    STORED = "stored": "The record of the call holds a reason that has no code.";
    RATE_LIMITED = "rate_limited": "The agent reached a limit of calls. It may call again later.";
    BUDGET_EXHAUSTED = "budget_exhausted": "The agent used up its budget of run time or output. It may call again later.";
    TOO_MANY_PENDING = "too_many_pending": "As many calls of the agent as its limits allow wait for a person already.";
    OUTSIDE_CONTEXT = "outside_context": "The profiles of the agent do not allow the call.";
    NOT_AVAILABLE_HERE = "not_available_here": "The tool needs something that is missing here.";
    MEMORY_SEARCH_FIRST = "memory_search_first": "The session must search the memories before such a call.";

    // What differs from what was approved.
    CHANGED_ARGS = "changed_args": "The arguments are not those that were approved.";
    CHANGED_CONTRACT = "changed_contract": "The contract of the tool changed.";
    CHANGED_SOURCE = "changed_source": "The source of the tool changed.";
    CHANGED_PROJECTIONS = "changed_projections": "The projections of the tool changed.";
    CHANGED_POLICY = "changed_policy": "The policy decides in another way.";
    CHANGED_PROGRAM = "changed_program": "The program, its path or the code that it loads changed.";
    CHANGED_FILE = "changed_file": "A file that the approval binds changed.";
    CHANGED_NAMED = "changed_named": "A file that the arguments name changed.";
    CHANGED_DIRECTORY = "changed_directory": "The working directory changed.";
    CHANGED_PIN = "changed_pin": "The pin of the MCP tool changed.";
    CHANGED_SERVER = "changed_server": "The start of the MCP server changed.";
    CHANGED_CALLER = "changed_caller": "The call has another caller.";
    CHANGED_SESSION = "changed_session": "The session of the call changed.";
    CHANGED_APPROVAL = "changed_approval": "The approval does not bind what would run.";

    // The entry of the tool.
    INVALID_ENTRY = "invalid_entry": "The entry of the tool has an error.";
    CATALOG_SCHEMA_NEWER = "catalog_schema_newer": "A newer version of Brigade wrote the file of the tool.";
    FAMILY_NOT_EXECUTABLE = "family_not_executable": "Tools of this family are not executed.";
    UNSAFE_AUTH_LABEL = "unsafe_auth_label": "`auth_label` looks like a value and not like a name.";
    UNSAFE_ENV_LABEL = "unsafe_env_label": "A label of the tool looks like a value and not like a name.";
    SECRET_IN_CATALOG = "secret_in_catalog": "The entry of the tool contains what looks like a secret.";
    MISSING_COMMAND = "missing_command": "The entry names no command.";
    INVALID_COMMAND = "invalid_command": "The command cannot be split into words.";
    HIGH_RISK_COMMAND = "high_risk_command": "The command is of a kind that Brigade does not start.";
    PROGRAM_NOT_FOUND = "program_not_found": "The program of the command is missing or cannot be read.";
    SCRIPT_NOT_FOUND = "script_not_found": "A script of the command does not exist.";
    CODE_NOT_BOUND = "code_not_bound": "An approval cannot bind code that the command leads to.";
    UNDECLARED_CODE = "undeclared_code": "The command chooses its code itself, and the entry declares none.";
    MISSING_CWD = "missing_cwd": "`cwd` is not a directory in the workspace.";
    PROTECTED_PATH = "protected_path": "The path is closed to agents: it belongs to git or Brigade, starts programs, or looks like it holds keys.";
    PROJECTION = "projection": "A projection of the tool is not up to date.";

    // The arguments.
    INVALID_ARGS = "invalid_args": "The arguments are not JSON, or do not match the input schema.";
    MISSING_INPUT_SCHEMA = "missing_input_schema": "The input schema is not named or does not exist.";
    INVALID_INPUT_SCHEMA = "invalid_input_schema": "The input schema cannot be read.";
    INVALID_OUTPUT_SCHEMA = "invalid_output_schema": "The output schema is not JSON, so agents are not shown the tool.";
    UNSUPPORTED_INPUT_SCHEMA = "unsupported_input_schema": "The input schema is not a valid JSON Schema of objects.";
    SECRET_ARGUMENT = "secret_argument": "An argument looks like a secret. Bind a label to a variable instead.";
    REDACTED_ARGUMENT = "redacted_argument": "The value of an argument was masked, so it is not known any more.";
    MISSING_TEMPLATE_ARGUMENT = "missing_template_argument": "An argument that the command needs is not given.";
    ARGUMENT_REFUSED = "argument_refused": "The caller may not use this argument, or not with this value.";
    ARGUMENT_NOT_ALLOWED = "argument_not_allowed": "The argument has no effect here, so it is refused.";
    INVALID_ARGUMENTS = "invalid_arguments": "A value of an argument is not one that the tool takes.";
    ARGUMENT_LOOKS_LIKE_OPTION = "argument_looks_like_option": "The value of an argument begins like an option.";
    ARGUMENT_IS_CODE = "argument_is_code": "An argument chooses the code to run, and an approval cannot cover that.";
    ARGUMENT_OPENS_CODE = "argument_opens_code": "An argument names a file whose code the program would run.";
    ARGUMENTS_TOO_LONG = "arguments_too_long": "The command line is longer than the system allows.";
    SHELL_SYNTAX = "shell_syntax": "Only a shell would understand the command, and no shell reads it.";
    ENV_BY_POLICY = "env_by_policy": "A call gives a value to a variable. Only the policy binds variables.";
    URL_NOT_PLAIN = "url_not_plain": "Programs read the URL in different ways.";
    CREDENTIALS_IN_URL = "credentials_in_url": "The URL contains credentials.";
    URL_NOT_ALLOWED = "url_not_allowed": "No pattern of the policy allows the URL.";
    DOMAIN_NOT_ALLOWED = "domain_not_allowed": "The policy does not name the host of the URL.";
    ADDRESS_PRIVATE = "address_private": "The host has an address of this machine or of a private network.";

    // The policy.
    POLICY_INVALID = "policy_invalid": "policy.toml has an error.";
    POLICY_TEST_FAILED = "policy_test_failed": "A test in policy.toml (`[[test]]`) does not get what it expects.";
    POLICY_FAMILY = "policy_family": "The policy does not allow tools of this family.";
    POLICY_LEVEL = "policy_level": "The policy does not allow tools of this level.";
    POLICY_SOURCE = "policy_source": "The policy does not allow tools from this source.";
    POLICY_CAPABILITY = "policy_capability": "The policy denies a capability of the tool.";
    POLICY_EFFECT_NOT_ALLOWED = "policy_effect_not_allowed": "The policy does not allow an effect of the tool.";
    POLICY_DENIED_EFFECT = "policy_denied_effect": "The policy denies an effect of the tool.";
    POLICY_APPROVAL_MODE = "policy_approval_mode": "The policy does not allow the approval mode of the tool.";
    POLICY_RUNTIME = "policy_runtime": "The policy does not allow the runtime.";
    POLICY_MCP_REMOTE = "policy_mcp_remote": "The policy does not name the origin of the remote MCP server.";
    POLICY_TIMEOUT = "policy_timeout": "The timeout is over the maximum of the policy.";
    POLICY_INLINE_CODE = "policy_inline_code": "The policy does not allow code in a command line.";
    POLICY_INSTALL_NOT_ALLOWED = "policy_install_not_allowed": "The policy does not allow installations.";
    POLICY_ENV_UNBOUND = "policy_env_unbound": "The policy binds no variable to a label of the tool.";
    POLICY_ENV_MISSING = "policy_env_missing": "The variable that is bound to a label is not set.";
    POLICY_ENV_UNSAFE = "policy_env_unsafe": "A label of a worker looks like a value and not like a name.";
    POLICY_WORKER = "policy_worker": "The policy does not list the program of the worker.";
    POLICY_SKIP_PERMISSIONS = "policy_skip_permissions": "The policy does not let workers skip permissions.";
    POLICY_SHELL = "policy_shell": "The policy does not allow commands that need a shell.";

    // Servers, runtimes and installations.
    MCP_NOT_IN_BUILD = "mcp_not_in_build": "This build does not speak to MCP servers.";
    MCP_MISSING_RUNTIME = "mcp_missing_runtime": "The MCP tool names no runtime.";
    MCP_MISSING_TOOL_NAME = "mcp_missing_tool_name": "`mcp_tool_name` is not set.";
    MCP_MISSING_TIMEOUT = "mcp_missing_timeout": "The MCP tool has no timeout.";
    MCP_MISSING_EFFECTS = "mcp_missing_effects": "The MCP tool lists no effects.";
    MCP_MISSING_APPROVAL_MODE = "mcp_missing_approval_mode": "The MCP tool has no approval mode.";
    MCP_PIN_UNREADABLE = "mcp_pin_unreadable": "The pin of the MCP tool cannot be read.";
    SERVER_NOT_STARTED = "server_not_started": "The MCP server could not be started.";
    RUNTIME_CONFIG = "runtime_config": "The entry of a runtime has an error.";
    RUNTIME_DISABLED = "runtime_disabled": "The runtime is disabled.";
    RUNTIME_STOPPED = "runtime_stopped": "The runtime is not running.";
    RUNTIME_UNMANAGED = "runtime_unmanaged": "Nothing proves that Brigade started the runtime.";
    RUNTIME_UNHEALTHY = "runtime_unhealthy": "The runtime is not healthy.";
    NO_INSTALL_COMMAND = "no_install_command": "The entry names no command that installs the tool.";
    NO_INSTALLER = "no_installer": "No program of the install commands is on PATH.";
    INSTALL_COMMAND_GONE = "install_command_gone": "The entry does not name this install command any more.";

    // The kitchen.
    KITCHEN_CONFIG_INVALID = "kitchen_config_invalid": "The configuration of the kitchen has an error.";
    KITCHEN_NOT_APPROVED = "kitchen_not_approved": "The PRD is not approved.";
    KITCHEN_PROGRAM_CHANGED = "kitchen_program_changed": "The program is not the one that was approved.";
    ADAPTER_UNKNOWN = "adapter_unknown": "A tier names an adapter that does not exist.";
    WORKER_COMMAND_INVALID = "worker_command_invalid": "The command of a tier does not suit its adapter.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_code_is_one_word_and_stands_in_one_table() {
        let errors = super::super::ALL.iter();
        let codes: BTreeSet<&str> = errors.chain(ALL).map(|code| code.as_str()).collect();
        assert_eq!(codes.len(), super::super::ALL.len() + ALL.len());
        let is_word = |code: &str| code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        assert!(ALL.iter().all(|code| is_word(code.as_str()) && code.meaning().ends_with('.')));
    }
}
