//! Refuses arguments that fit the schema but that this caller may not use. Checked by the plan, and again by the tool.

use brigade_core::json::from_json;
use brigade_core::{ErrorCode, Json, closed_place};
use brigade_policy::Blocker;

use super::{Definition, Guards, PathProblem, PathUse, relative};

/// The longest message of a commit, in bytes.
const MAX_MESSAGE: usize = 64 << 10;

/// An argument that this caller may not use, or that is invalid in every call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentRefusal {
    /// The code of the refusal.
    pub code: ErrorCode,
    /// The argument.
    pub argument: &'static str,
    /// A sentence without a final stop. Never holds the value.
    pub message: String,
}

impl ArgumentRefusal {
    /// Returns the refusal as a blocker of the call.
    pub fn blocker(&self) -> Blocker {
        let field = format!("$.{}", self.argument);
        Blocker::new(self.code, format!("{field}: {}", self.message)).field(field)
    }
}

/// Lists the refused arguments of a call that fits the schema. `agent` is the calling agent, and `root` the workspace.
pub fn refused_arguments(
    row: &Definition,
    args: &Json,
    agent: Option<&str>,
    guards: &Guards,
    root: &str,
) -> Vec<ArgumentRefusal> {
    let mut refusals = Refusals { args, found: Vec::new() };
    refusals.check_numbers(row);
    let text = |name: &str| args.get(name).and_then(Json::as_str);
    match row.id {
        "memory.add" | "memory.search" => {
            let named = text("scopeOwnerId").map(str::trim).filter(|named| !named.is_empty());
            let scope = text("scope").or((row.id == "memory.add").then_some("project"));
            if let Some(message) = wrong_owner(scope, named, agent) {
                refusals.add(ErrorCode::ArgumentRefused, "scopeOwnerId", message);
            }
        }
        "git.clone" => refusals.check_clone(guards),
        "git.commit" => refusals.check_commit(guards, root),
        "pr.comments" | "pr.inventory" | "pr.rerun_checks" => refusals.check_pull_request(),
        "git.push" => {
            if text("remote").is_some_and(|remote| !is_plain_name(remote)) {
                refusals.add(ErrorCode::InvalidArguments, "remote", "it is the name of a remote");
            }
            if text("ref").is_some_and(|name| !is_plain_name(name.trim_start_matches("refs/heads/"))) {
                refusals.add(ErrorCode::InvalidArguments, "ref", "it is the name of a branch");
            }
        }
        "execution.file" | "file.delete" | "file.list" | "file.mkdir" | "file.read" | "file.write" => {
            // The root is the volume, and `~` has no special meaning.
            let leads_out =
                |path: &str| relative(&format!("./{}", path.trim_start_matches('/')), "/").is_none();
            if text("path").is_some_and(leads_out) {
                let owner = if row.id == "execution.file" { "execution" } else { "volume" };
                refusals.add(
                    PathProblem::Outside.code(),
                    "path",
                    format!("the path leads out of the {owner}"),
                );
            }
            let changes = matches!(row.id, "file.delete" | "file.mkdir" | "file.write");
            let closed = text("path").and_then(|path| closed_place(path, guards.agent_files));
            if let Some(place) = closed.filter(|_| changes) {
                let problem = PathProblem::Closed(place);
                refusals.add(problem.code(), "path", problem.to_string());
            }
        }
        _ => {}
    }
    refusals.found
}

/// Returns a sentence for each argument that is ignored: there is one tenant, and the caller alone decides the rights.
pub fn ignored_arguments(args: &Json) -> Vec<String> {
    let is_given = |name: &str| args.get(name).and_then(Json::as_str).is_some_and(|value| value != "local");
    let notes = [
        ("tenant_id", "`tenant_id` is ignored: `local` is the only tenant here."),
        ("user_id", "`user_id` is ignored: it gives no rights, those of the caller count."),
    ];
    notes.into_iter().filter(|(name, _)| is_given(name)).map(|(_, note)| note.to_owned()).collect()
}

/// Reasons against the arguments of a call.
struct Refusals<'a> {
    args: &'a Json,
    found: Vec<ArgumentRefusal>,
}

impl Refusals<'_> {
    fn add(&mut self, code: ErrorCode, argument: &'static str, message: impl Into<String>) {
        self.found.push(ArgumentRefusal { code, argument, message: message.into() });
    }

    /// Refuses integers without an own type: in a schema, an integer has no largest value.
    fn check_numbers(&mut self, row: &Definition) {
        let properties = row.input_schema().get("properties").and_then(Json::as_object);
        for (name, schema) in properties.into_iter().flatten() {
            let is_integer = schema.get("type").and_then(Json::as_str) == Some("integer");
            let given = self.args.get(name).filter(|given| is_integer && matches!(given, Json::Number(_)));
            if given.is_some_and(|given| from_json::<i64>(given).is_err()) {
                self.add(
                    ErrorCode::InvalidArguments,
                    name.as_str(),
                    "it is a whole number of at most 63 bits",
                );
            }
        }
    }

    fn check_clone(&mut self, guards: &Guards) {
        let args = self.args;
        if args.get("auto_refresh").and_then(Json::as_bool) == Some(true) {
            let message = "nothing starts by itself; call `git.refresh`";
            self.add(ErrorCode::ArgumentNotAllowed, "auto_refresh", message);
        }
        let part = |name| args.get("git_ref").and_then(|named| named.get(name)).and_then(Json::as_str);
        let is_named = match (part("kind"), part("value").unwrap_or_default()) {
            (Some("branch" | "tag"), value) => is_plain_name(value),
            (Some("commit"), value) => is_object_id(value),
            _ => args.get("git_ref").is_none(),
        };
        if !is_named {
            let message = "it has a kind (branch, tag or commit) and its name or whole id";
            self.add(ErrorCode::InvalidArguments, "git_ref", message);
        }
        for path in strings(args, "sparse_paths") {
            if let Err(problem) = guards.check(path, "/", PathUse::Search) {
                self.add(problem.code(), "sparse_paths", problem.to_string());
            } else if path.starts_with(['-', '!', '#']) || path.contains('\n') {
                self.add(ErrorCode::InvalidArguments, "sparse_paths", "they are plain paths");
            }
        }
    }

    fn check_commit(&mut self, guards: &Guards, root: &str) {
        let args = self.args;
        let message = args.get("message").and_then(Json::as_str).unwrap_or_default();
        if message.trim().is_empty() || MAX_MESSAGE < message.len() || message.contains('\0') {
            self.add(ErrorCode::InvalidArguments, "message", format!("it has 1 to {MAX_MESSAGE} bytes"));
        }
        // Absolute paths in a clone are beneath the clone, which the tool alone knows.
        let is_workspace = args.get("binding_id").and_then(Json::as_str) == Some("workspace");
        for path in strings(args, "paths").filter(|path| is_workspace || !path.starts_with('/')) {
            if let Err(problem) = guards.check(path, root, PathUse::Change) {
                self.add(problem.code(), "paths", problem.to_string());
            }
        }
    }

    fn check_pull_request(&mut self) {
        match (self.args.get("prNumber"), self.args.get("prId")) {
            (Some(_), Some(_)) | (None, None) => {
                let message = "name the pull request either by `prNumber` or by `prId`";
                self.add(ErrorCode::InvalidArguments, "prNumber", message);
            }
            // A program gets it as a separate word: digits and nothing else.
            (Some(number), None) if !is_number(&number.to_compact()) => {
                self.add(ErrorCode::InvalidArguments, "prNumber", "it is a whole number above 0");
            }
            (None, Some(id)) if !id.as_str().is_some_and(is_plain_id) => {
                self.add(ErrorCode::InvalidArguments, "prId", "it is the id of a pull request");
            }
            (Some(_), None) | (None, Some(_)) => {}
        }
    }
}

/// Aliases of workflow scopes, each with our name.
const SCOPES: &[(&str, &str)] = &[("session", "user"), ("project", "tenant"), ("host", "global")];

/// Returns our name of a workflow scope: `user`, `tenant` or `global`.
pub fn workflow_scope(word: &str) -> Option<&'static str> {
    SCOPES.iter().find(|(other, own)| word == *other || word == *own).map(|(_, own)| *own)
}

/// Returns why this caller cannot use this owner in this scope of memories.
fn wrong_owner(scope: Option<&str>, named: Option<&str>, agent: Option<&str>) -> Option<&'static str> {
    match (scope, named, agent) {
        (None, Some(_), _) => Some("it needs a `scope`"),
        (Some("project"), Some(_), _) => Some("the memories of the project have no owner; leave it out"),
        (Some("agent"), Some(named), Some(agent)) if named != agent => {
            Some("an agent has only its own memories; leave it out")
        }
        (Some("agent"), None, None) => Some("name the agent; this caller is not an agent"),
        (Some("mission"), None, _) => Some("the scope `mission` needs the id of the mission"),
        _ => None,
    }
}

fn strings<'j>(args: &'j Json, name: &str) -> impl Iterator<Item = &'j str> {
    args.get(name).and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str)
}

/// Returns whether a name is valid for branches and remotes, and cannot be read as an option or revision.
pub fn is_plain_name(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && !part.ends_with(".lock")
            && !part.ends_with('.')
            && part.chars().all(|c| c.is_alphanumeric() || "._-#=,".contains(c))
    };
    name.len() <= 200 && !name.contains("..") && name != "HEAD" && name.split('/').all(is_part)
}

/// Returns whether a text is the id of a git object.
pub fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether a text can be the id of a pull request: letters, digits, `-` and `_`.
fn is_plain_id(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(is_plain) && !text.starts_with(['-', '_'])
}

/// Returns whether a text is the number of a pull request.
pub(super) fn is_number(text: &str) -> bool {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits && !text.starts_with('0') && (1..=10).contains(&text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::definition;

    #[track_caller]
    fn check(id: &str, args: &str, expect: &[&str]) {
        let args = Json::parse(args).unwrap();
        let row = definition(id).unwrap();
        let found = refused_arguments(row, &args, Some("ada"), &Guards::default(), "/work/space");
        let found: Vec<String> =
            found.iter().map(|refused| format!("{} {}", refused.code.as_str(), refused.argument)).collect();
        assert_eq!(found, expect, "{id} {args:?}");
    }

    #[test]
    fn what_only_the_arguments_say_is_refused_by_name() {
        let notes = |args: &str| ignored_arguments(&Json::parse(args).unwrap()).len();
        assert_eq!(notes(r#"{"tenant_id": "local"}"#), 0);
        assert_eq!(notes(r#"{"name": "x", "tenant_id": "other", "user_id": "me"}"#), 2);
        check("workflow.demote", r#"{"name": "x", "tenant_id": "other", "user_id": "me"}"#, &[]);
        check("memory.add", r#"{"scope": "agent", "scopeOwnerId": "ada"}"#, &[]);
        check(
            "memory.add",
            r#"{"scope": "agent", "scopeOwnerId": "bob"}"#,
            &["argument_refused scopeOwnerId"],
        );
        check("memory.add", r#"{"scopeOwnerId": "bob"}"#, &["argument_refused scopeOwnerId"]);
        check("memory.search", r#"{"scopeOwnerId": "ada"}"#, &["argument_refused scopeOwnerId"]);
    }

    #[test]
    fn a_number_that_no_count_can_be_is_refused_by_name() {
        check("fs.read", r#"{"path": "a", "limit": 2.0, "offset": 9223372036854775807}"#, &[]);
        for number in ["1e300", "9223372036854775808", "-1e300"] {
            let args = format!(r#"{{"agent_id": "x", "limit": {number}}}"#);
            check("agent.logs", &args, &["invalid_arguments limit"]);
        }
    }

    #[test]
    fn invalid_git_arguments_are_refused() {
        check("git.push", r#"{"remote": "origin", "ref": "refs/heads/main"}"#, &[]);
        for remote in ["-x", "ext::id", "file:///x", ""] {
            let args = format!(r#"{{"remote": "{remote}"}}"#);
            check("git.push", &args, &["invalid_arguments remote"]);
        }
        for name in ["-f", "+main", ":main", "--mirror", "a:b"] {
            check("git.push", &format!(r#"{{"ref": "{name}"}}"#), &["invalid_arguments ref"]);
        }
        check("git.commit", r#"{"message": " "}"#, &["invalid_arguments message"]);
        let paths =
            r#"{"binding_id": "workspace", "message": "m", "paths": ["a", "../b", ".env", "/etc/x"]}"#;
        check("git.commit", paths, &["path_outside paths", "protected_path paths", "path_outside paths"]);
        let in_a_clone = r#"{"binding_id": "git-1", "message": "m", "paths": ["/any/where", ".git/config"]}"#;
        check("git.commit", in_a_clone, &["protected_path paths"]);
        check(
            "git.clone",
            r#"{"git_ref": {"kind": "branch", "value": "-x"}}"#,
            &["invalid_arguments git_ref"],
        );
        check("git.clone", r#"{"auto_refresh": true}"#, &["argument_not_allowed auto_refresh"]);
        check(
            "git.clone",
            r#"{"sparse_paths": ["src", "!x", ".."]}"#,
            &["invalid_arguments sparse_paths", "path_outside sparse_paths"],
        );
    }

    #[test]
    fn a_pull_request_has_one_name() {
        for id in ["pr.comments", "pr.inventory", "pr.rerun_checks"] {
            check(id, r#"{"prNumber": 1}"#, &[]);
            check(id, r#"{"prId": "1"}"#, &[]);
            check(id, "{}", &["invalid_arguments prNumber"]);
            check(id, r#"{"prNumber": 1, "prId": "1"}"#, &["invalid_arguments prNumber"]);
            for number in ["0", "-1", "1.0", "1e3"] {
                check(id, &format!(r#"{{"prNumber": {number}}}"#), &["invalid_arguments prNumber"]);
            }
            for text in ["@.env", "-", "", "-1", " 1", "{owner}", "a/b", "1\\n2"] {
                check(id, &format!(r#"{{"prId": "{text}"}}"#), &["invalid_arguments prId"]);
            }
        }
    }

    #[test]
    fn volume_paths_are_checked() {
        for id in ["file.delete", "file.list", "file.mkdir", "file.read", "file.write", "execution.file"] {
            for path in ["../x", "/../x", "a/../../x", ".."] {
                check(id, &format!(r#"{{"path": "{path}"}}"#), &["path_outside path"]);
            }
            for path in ["x", "/x", "a/../x", "~/x", "", "/", "..x"] {
                check(id, &format!(r#"{{"path": "{path}"}}"#), &[]);
            }
        }
    }

    #[test]
    fn names_are_plain() {
        for name in ["main", "feature/a-b", "v1.0", "origin"] {
            assert!(is_plain_name(name), "{name}");
        }
        for name in
            ["", "-x", "a/-b", "a..b", "a b", "a:b", "+main", ".a", "a.lock", "HEAD", "a/", "a~1", "@{u}"]
        {
            assert!(!is_plain_name(name), "{name}");
        }
    }
}
