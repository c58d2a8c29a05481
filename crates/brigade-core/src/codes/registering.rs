//! The stable codes of registrations: errors, and notes about what an entry does not contain.
//!
//! An error of a registration may also have the code of an issue of `doctor`.

use super::{ErrorCode, table};

table! {
    // Why nothing is registered.
    FIELD_INVALID = "field_invalid": "A field of the source has another type, or a value that no entry can have.";
    DEFINITION_UNCLEAR = "definition_unclear": "The source does not say what is started, or says it in two ways.";
    PACKAGE_UNSUPPORTED = "package_unsupported": "No package of the server can be started from here.";
    VERSION_NOT_PINNED = "version_not_pinned": "A package of the server has no exact version.";
    SECRET_IN_ENTRY = "secret_in_entry": "The entry would hold what looks like a secret, or a value that the policy binds.";
    FILE_INVALID = "file_invalid": "The file is not one that tools can be read from.";
    FILE_UNREADABLE = "file_unreadable": "The file cannot be read.";
    SCHEMA_NEWER = "schema_newer": "The file has a version or a schema that this version of Brigade does not know.";
    NOTHING_TO_REGISTER = "nothing_to_register": "The file has no tool.";
    TOO_MANY_TOOLS = "too_many_tools": "There are more tools than are registered at once.";
    REF_AMBIGUOUS = "ref_ambiguous": "Several definitions have this name, and they differ.";
    REF_UNKNOWN = "ref_unknown": "No definition in the files of agent programs has this name.";
    REGISTRY_CHANGED = "registry_changed": "A registry serves other content for a version than before.";
    REGISTRY_FAILED = "registry_failed": "A registry did not answer as expected.";
    OWN_GATEWAY = "own_gateway": "The definition is the entry of Brigade's own gateway, and no tool.";
    TARGET_INVALID = "target_invalid": "The catalog that would be written to cannot be edited.";
    ID_TAKEN = "id_taken": "A tool or a runtime has this id already.";
    ALIAS_TAKEN = "alias_taken": "Another tool has this name.";

    // What is not taken over.
    PACKAGE_IGNORED = "package_ignored": "The package is not taken: another one is, or it is not of a kind that is started.";
    URL_NOT_KEPT = "url_not_kept": "The address of a remote server may hold a secret, so it is not in the entry.";
    VALUE_NOT_KEPT = "value_not_kept": "The value of a variable or a header is not taken over.";
    VERSION_OF_SERVER = "version_of_server": "The package has no version, so it gets the version of the server.";
    ARGUMENT_MISSING = "argument_missing": "The value of an argument is not known, so the command lacks it.";
    RUNTIME_ARGUMENTS_IGNORED = "runtime_arguments_ignored": "Options of the launcher are not taken over.";
    FAMILY_IGNORED = "family_ignored": "The source names a family that does not suit its definition.";
    ORIGIN_IGNORED = "origin_ignored": "A field of the origin is not taken over.";
    RUNTIME_ID_IGNORED = "runtime_id_ignored": "The name of a runtime is not taken over.";
    COMMAND_IGNORED = "command_ignored": "The command is not taken over.";
    CWD_NOT_KEPT = "cwd_not_kept": "The working directory is not taken over.";
    UNRESOLVED = "unresolved": "A variable of the definition is not expanded.";
    TOOLS_NOT_LIMITED = "tools_not_limited": "The list of allowed or denied tools is not taken over.";
    SWITCHED_OFF = "switched_off": "The file of the agent program has the definition switched off.";
    ENABLED_IGNORED = "enabled_ignored": "The tool is registered disabled; a person enables it after a review.";
    APPROVAL_MODE_IGNORED = "approval_mode_ignored": "A registered tool always asks for approval.";
    AUTO_INSTALL_IGNORED = "auto_install_ignored": "Nothing is installed without an approval, whatever the file says.";
    PREFER_LOCAL_IGNORED = "prefer_local_ignored": "Entries of the project always come first, whatever the file says.";
    INHERIT_IGNORED = "inherit_ignored": "Which agent programs are looked at is a setting of the catalog, and not of the file.";
    RUNTIME_SHARED = "runtime_shared": "The replaced runtime is used by other tools, too.";
    RUNTIME_LEFT = "runtime_left": "The runtime of the replaced entry stays.";
    FALLBACK_HARNESS_IGNORED = "fallback_harness_ignored": "The catalog says already whether tools of a harness are offered.";
    HARNESS_TOOLS_SET = "harness_tools_set": "The catalog now says whether tools of a harness are offered.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_code_is_one_word_and_stands_in_one_table() {
        let others = super::super::ALL.iter().chain(super::super::reasons::ALL);
        let codes: BTreeSet<&str> = others.clone().chain(ALL).map(|code| code.as_str()).collect();
        assert_eq!(codes.len(), others.count() + ALL.len());
        let is_word = |code: &str| code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        assert!(ALL.iter().all(|code| is_word(code.as_str()) && code.meaning().ends_with('.')));
    }
}
