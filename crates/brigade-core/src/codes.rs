//! The stable codes of errors, of [`reasons`] why calls are refused, and of [`registering`] tools.
//!
//! Issues have another table, `IssueType`.

pub mod reasons;
pub mod registering;

use std::borrow::Cow;

/// Something with a code from a table, which is also documented.
pub trait Code {
    /// Returns the code, in `snake_case`.
    fn as_code(&self) -> &'static str;
}

/// The code of an error, or of a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode {
    code: &'static str,
    meaning: &'static str,
}

impl ErrorCode {
    /// Returns the stable code, in `snake_case`.
    pub const fn as_str(self) -> &'static str {
        self.code
    }

    /// Returns the meaning, in one sentence.
    pub const fn meaning(self) -> &'static str {
        self.meaning
    }
}

impl From<ErrorCode> for Cow<'static, str> {
    fn from(code: ErrorCode) -> Cow<'static, str> {
        Cow::Borrowed(code.code)
    }
}

impl From<ErrorCode> for String {
    fn from(code: ErrorCode) -> String {
        code.code.to_owned()
    }
}

impl<T: Code> Code for &T {
    fn as_code(&self) -> &'static str {
        (**self).as_code()
    }
}

impl Code for ErrorCode {
    fn as_code(&self) -> &'static str {
        self.code
    }
}

macro_rules! table {
    ($($name:ident = $code:literal: $meaning:literal;)+) => {
        $(
            #[doc = $meaning]
            pub const $name: ErrorCode = ErrorCode { code: $code, meaning: $meaning };
        )+

        /// Every code.
        pub const ALL: &[ErrorCode] = &[$($name),+];
    };
}
use table;

table! {
    NOT_FOUND = "not_found": "Nothing has this name.";
    TOOL_MISSING = "tool_missing": "No enabled tool has this id.";
    TOOL_DISABLED = "tool_disabled": "The tool is disabled in the catalog (`enabled = false`).";
    CALL_MISSING = "call_missing": "No call has this id or prefix.";
    RUN_MISSING = "run_missing": "No run has this id or prefix, or nothing has run yet.";
    CHECKPOINT_MISSING = "checkpoint_missing": "No checkpoint has this id or prefix.";
    RUNTIME_MISSING = "runtime_missing": "No runtime has this id.";
    PACK_MISSING = "pack_missing": "No tool pack has this id or prefix, or no pack was built yet.";
    PIN_MISSING = "pin_missing": "No pin has this id.";
    HARNESS_MISSING = "harness_missing": "No harness has this name.";
    CLIENT_MISSING = "client_missing": "No client has this name.";
    AGENT_MISSING = "agent_missing": "gateway.toml names no agent of this name.";
    PROFILE_MISSING = "profile_missing": "No profile has this name.";
    PRD_MISSING = "prd_missing": "There is no PRD at this path, or none that has pending tasks.";
    TASK_MISSING = "task_missing": "The PRD has no task with this id.";
    TASK_UNREADY = "task_unready": "The task depends on tasks that are not done.";
    DECISION_MISSING = "decision_missing": "No decision with this id waits for an answer.";
    WAITING_MISSING = "waiting_missing": "Nothing with this id waits for a person.";
    MEMORY_MISSING = "memory_missing": "No memory has this id or prefix.";
    PULL_REQUEST_MISSING = "pull_request_missing": "No pull request or thread has this id or number.";
    SCRIPT_MISSING = "script_missing": "No script has this id.";
    PLAN_MISSING = "plan_missing": "No plan with this id waits for answers.";
    LOGIN_REQUIRED = "login_required": "The remote MCP server needs a login of a person.";
    LOGIN_FAILED = "login_failed": "The login to the remote MCP server was not made.";
    SERVER_TOOL_MISSING = "server_tool_missing": "The MCP server lists no tool of this name.";
    NOTHING_APPROVED = "nothing_approved": "No approved call is ready to run.";
    WORKSPACE_MISSING = "workspace_missing": "Neither the directory nor one above it has `.brigade`.";
    AMBIGUOUS = "ambiguous": "The prefix of an id matches several ids; `candidates` lists them.";

    REFUSED = "refused": "The state, the policy or a person's decision does not allow the operation.";
    WRONG_STATE = "wrong_state": "The status of the call or checkpoint does not allow this step.";
    NOT_APPROVED_HERE = "not_approved_here": "The record is not approved on this host: it has no valid MAC of the host's key. `brigade state adopt` shows such records and asks.";
    TRACKED_STATE = "tracked_state": "Git tracks a file that counts only on this host, so a cloned repository may have brought it. It does not count.";
    CHANGED_MEANWHILE = "changed_meanwhile": "The record changed since it was read; look at it again.";
    INSIDE_A_RUN = "inside_a_run": "A program of a run asked for it. Nothing that decides or widens rights is done from inside a run.";
    ADDRESS_TAKEN = "address_taken": "The address or socket cannot be listened on: another process has it.";
    CALL_OF_AGENT = "call_of_agent": "The call belongs to an agent, and only that agent can run it. A person can approve, hold or reject it.";
    NOT_ITS_TURN = "not_its_turn": "Other calls of the agent run, in this gateway or another one. The call runs when one of them has ended.";
    ALREADY_RUN = "already_run": "The call was run or is running. A call runs only once.";
    NEWER_VERSION = "newer_version": "A newer version of Brigade wrote the record. Use that version to change it.";
    CALL_BLOCKED = "call_blocked": "The call cannot be queued, approved or run. Each blocker has its own code.";
    NOT_REVIEWED = "not_reviewed": "A person must review it first: it changed since a person did, or since it was shown.";
    RUNTIME_NOT_READY = "runtime_not_ready": "The runtime is running, but was not ready within the time that was waited.";
    RUNTIME_BLOCKED = "runtime_blocked": "The runtime cannot be started. Each blocker has its own code.";
    PROCESSES_ALIVE = "processes_alive": "Some processes could not be ended.";
    RUN_FAILED = "run_failed": "The program ran and failed.";
    PACK_CONFLICT = "pack_conflict": "An entry or a source of the pack differs from one that exists, or is not valid.";
    ENTRY_EXISTS = "entry_exists": "The catalog has a different entry with this id.";
    CLIENT_UNSUPPORTED = "client_unsupported": "The client cannot be connected this way.";
    CLIENT_ENTRY_FOREIGN = "client_entry_foreign": "The client's file has an entry of our name that Brigade did not write.";

    AGENT_EXISTS = "agent_exists": "gateway.toml has an agent of this name.";

    SERVICE_BUSY = "service_busy": "Another service works through the PRD, or workers of one that was killed still run.";
    APPROVAL_NEEDED = "approval_needed": "The PRD is not approved, or it changed after the approval.";
    JOURNAL_LOST = "journal_lost": "Records of a running service are no longer in its journal. The service stops, because it can no longer tell what was approved and done.";
    BRANCH_LOST_WORK = "branch_lost_work": "The branch of a PRD does not hold the commits of tasks that are done. Nothing is built on it until it does.";
    KITCHEN_REFUSED = "kitchen_refused": "The configuration or the policy refuses to start workers. Each reason has its own code.";
    CHEF_FAILED = "chef_failed": "The executive returned no usable plan or map.";
    PRD_NAME_TAKEN = "prd_name_taken": "Another PRD of the same file name was approved, and its tasks are recorded under it.";
    PRD_INVALID = "prd_invalid": "The PRD has errors, or its file name is not one that Brigade can use.";
    CONFIG_INVALID = "config_invalid": "A configuration file has an error.";
    GATEWAY_CONFIG_INVALID = "gateway_config_invalid": "gateway.toml or profiles.toml has an error, so no agent is served.";
    TOML_SYNTAX = "toml_syntax": "A configuration file is not valid TOML.";
    POLICY_MISSING = "policy_missing": "policy.toml does not exist.";
    CLOSEOUT_INVALID = "closeout_invalid": "A closeout cannot be read.";
    PIN_INVALID = "pin_invalid": "A pin cannot be read.";
    PACK_INVALID = "pack_invalid": "The directory is not a tool pack that can be read.";
    CLIENT_FILE_INVALID = "client_file_invalid": "A client's file cannot be read or edited.";
    ENVELOPE_INVALID = "envelope_invalid": "An exported receipt is not valid.";

    TEAM_ROLE = "team_role": "The member's role in the team does not allow it.";
    TEAM_OWN_CALL = "team_own_call": "The call needs the approvals of other people than the one who queued it.";
    TEAM_UNTRUSTED_KEY = "team_untrusted_key": "An approval of a team is signed with a key that the team knows, and this one is not.";
    TEAM_FAILOVER = "team_failover": "The team's database was replaced and may have forgotten claims, so nothing is claimed before all hosts have reported theirs.";
    TEAM_NOT_JOINED = "team_not_joined": "The workspace has not joined a team, or its file `team.toml` was not written on this host.";

    USAGE = "usage": "The request is not valid.";
    NO_TERMINAL = "no_terminal": "The command needs a terminal to draw on; its hints name commands that do the same without one.";
    TARGET_UNUSABLE = "target_unusable": "The target is not a directory that can be opened.";
    FILE_EXISTS = "file_exists": "The file to be created exists already.";
    WORKSPACE_NESTED = "workspace_nested": "The new workspace is within another one. This is a warning.";
    STATUS_UNKNOWN = "status_unknown": "There is no such status.";
    FILTER_UNKNOWN = "filter_unknown": "No area, issue type, tool or runtime has this name.";
    REASON_NEEDED = "reason_needed": "The decision needs a reason.";

    TEAM_URL = "team_url": "The address of the team's database is not valid, or has a password.";

    TEAM_UNREACHABLE = "team_unreachable": "The team's database cannot be reached.";
    TEAM_TLS = "team_tls": "The connection to the team's database cannot be encrypted, or its certificate is not valid.";
    TEAM_AUTH = "team_auth": "The team's database does not accept the member's password or certificate.";
    TEAM_SCHEMA_NEWER = "team_schema_newer": "A newer version of Brigade made the team's tables. Use that version.";
    TEAM_SCHEMA_OLDER = "team_schema_older": "The database has no tables of a team, or older ones.";
    ENVIRONMENT = "environment": "The disk or the environment failed.";
    FILE_MISSING = "file_missing": "A required file does not exist.";
    PERMISSION_DENIED = "permission_denied": "The user may not read or write the file.";
    DISK_FULL = "disk_full": "The disk or the quota is full.";
    DISK_READ_ONLY = "disk_read_only": "The disk is read-only.";
    NOT_A_FILE = "not_a_file": "The path is not a file, or a part of it is not a directory.";
    PATH_OUTSIDE = "path_outside": "The path leads out of the workspace.";
    FILE_TOO_LARGE = "file_too_large": "The file is too large.";
    LOCKED = "locked": "Another process holds the lock.";
    JOURNAL_BLOCKED = "journal_blocked": "The journal is not a file.";
    STORE_BROKEN = "store_broken": "The store of the built-in tools is not a readable database, or belongs to another program.";
    RECORD_INVALID = "record_invalid": "A stored record cannot be read.";

    // What built-in tools and the gateway answer agents.
    ALREADY_ANSWERED = "already_answered": "The question was answered already.";
    ALREADY_ENDED = "already_ended": "The task, command or execution has ended already.";
    ALREADY_OPEN = "already_open": "A pull request of this lane is open already.";
    ANSWER_PENDING = "answer_pending": "The question waits for a person. The same call again asks for the answer.";
    APPROVAL_HELD = "approval_held": "A person put the call on hold.";
    APPROVAL_PENDING = "approval_pending": "The call waits for a person's approval.";
    APPROVAL_REJECTED = "approval_rejected": "A person rejected the call.";
    ARCHIVED = "archived": "The lane was archived.";
    BLANK_QUERY = "blank_query": "The query has no words to search for.";
    BLOCKER_NEEDED = "blocker_needed": "A report of status `blocked` does not say what blocks.";
    BROKE_OFF = "broke_off": "Brigade failed in the middle of a task or an execution. Its log says where.";
    BUSY = "busy": "Too much is under way, or another call has what this one needs. Try again later.";
    CANCELLED = "cancelled": "The call was cancelled.";
    CHANGED_SINCE_READ = "changed_since_read": "The file changed since it was read. Read it again.";
    CHECKPOINT_PENDING = "checkpoint_pending": "The run waits for a person's answer.";
    DIRTY_TREE = "dirty_tree": "Files have changes that are not committed.";
    DUPLICATE_ID = "duplicate_id": "Two entries of the list have one id.";
    EMPTY_TARGET = "empty_target": "The text to replace is empty.";
    FAILED = "failed": "The run failed.";
    FETCH_FAILED = "fetch_failed": "The page could not be fetched.";
    FILE_ERROR = "file_error": "The file could not be read or written.";
    GIT_FAILED = "git_failed": "Git refused the operation or failed.";
    GONE = "gone": "The agent no longer waits for an answer.";
    HOST_NOT_FOUND = "host_not_found": "The host has no address.";
    IN_USE = "in_use": "Something else uses it, so it is not removed.";
    IN_WIDER_SCOPE = "in_wider_scope": "A workflow of a wider scope has the name.";
    INSECURE_REDIRECT = "insecure_redirect": "The page leads from https to http.";
    INTERRUPTED = "interrupted": "The run or task was interrupted.";
    INVALID_ANSWER = "invalid_answer": "The answer does not fit the question.";
    INVALID_INPUT = "invalid_input": "The input does not fit the schema of the agent.";
    INVALID_LANGUAGE = "invalid_language": "The language of the script is not a name.";
    INVALID_MANIFEST = "invalid_manifest": "The manifest has faults; the answer lists them.";
    INVALID_NAME = "invalid_name": "The name has characters that a name cannot have, or is too long.";
    INVALID_OUTPUT = "invalid_output": "The output of the tool does not fit its schema.";
    INVALID_PATTERN = "invalid_pattern": "The pattern cannot be read.";
    INVALID_RIGHTS = "invalid_rights": "The record of what an execution may do cannot be read.";
    INVALID_STEP = "invalid_step": "The record of what a state of an execution began cannot be read.";
    INVALID_TAGS = "invalid_tags": "There are too many tags, or one is not a word.";
    IS_A_DIRECTORY = "is_a_directory": "The path is a directory.";
    IS_A_LINK = "is_a_link": "The path is a link.";
    MOVED = "moved": "The branch moved during the call. Ask again.";
    NAME_TAKEN = "name_taken": "Something else has this name.";
    NEEDS_FILTER = "needs_filter": "A changed file needs a filter of git, and none runs here.";
    NO_CHECKS = "no_checks": "The pull request has no checks to run.";
    NO_COMMIT = "no_commit": "The repository or the branch has no commit.";
    NO_IMAGE = "no_image": "The capture program printed no image.";
    NO_OUTPUT = "no_output": "The state of the workflow has nothing to do.";
    NO_SESSION = "no_session": "The tool needs the session of an agent.";
    NO_STATE = "no_state": "The workflow has no such state.";
    NO_UPSTREAM = "no_upstream": "The branch follows no branch of a remote.";
    NOT_A_DIRECTORY = "not_a_directory": "The path, or a part of it, is not a directory.";
    NOT_ENDED = "not_ended": "The task or execution has not ended.";
    NOT_FAST_FORWARD = "not_fast_forward": "The branch and its remote have diverged.";
    NOT_NARROWER = "not_narrower": "The workflow is not offered in a wider scope than that.";
    NOT_RUNNING = "not_running": "Nothing that the caller asked for runs.";
    NOT_TEXT = "not_text": "The content is not text.";
    NOT_UTF8 = "not_utf8": "The file is not UTF-8.";
    NOT_WAITING = "not_waiting": "The execution waits for no answer.";
    NOT_WIDER = "not_wider": "The workflow is offered in this scope or a wider one already.";
    NOTHING_TO_COMMIT = "nothing_to_commit": "Nothing differs from the last commit.";
    NOTHING_TO_REVIEW = "nothing_to_review": "The lane has no changes to review.";
    OUTCOME_UNKNOWN = "outcome_unknown": "The run was cut off, and it is not known what it did.";
    PROVIDER_FAILED = "provider_failed": "The program that the configuration names for the tool failed.";
    QUOTA_EXCEEDED = "quota_exceeded": "The limit of what the caller may keep is reached.";
    REF_NOT_FOUND = "ref_not_found": "The repository has no such ref.";
    REFERS_TO_NARROWER = "refers_to_narrower": "The workflow uses one of a narrower scope.";
    REDIRECT_NOT_COVERED = "redirect_not_covered": "The page leads to a URL that the rule which approved the call does not cover.";
    REJECTED = "rejected": "The remote refuses the push.";
    RUNS_ELSEWHERE = "runs_elsewhere": "Another process runs the call, and did not end it.";
    SECRET = "secret": "The text has a secret, and secrets are never stored.";
    SECRET_BY_QUESTION = "secret_by_question": "The question asks for a secret.";
    SECRET_IN_COMMIT = "secret_in_commit": "A commit would add a bound value or a token.";
    SESSION_GONE = "session_gone": "The session that asked is over.";
    TARGET_NOT_FOUND = "target_not_found": "The text to replace does not occur.";
    TARGET_NOT_UNIQUE = "target_not_unique": "The text to replace occurs more than once.";
    TIMED_OUT = "timed_out": "The time limit is over.";
    TOOL_ERROR = "tool_error": "The tool of an MCP server says that it failed.";
    TOO_DEEP = "too_deep": "Executions begin one another too deeply.";
    TOO_LARGE = "too_large": "The value is larger than is kept.";
    TOO_LONG = "too_long": "The text or list is longer than is kept.";
    TOO_MANY = "too_many": "There are more of them than may be.";
    TOO_MANY_FILES = "too_many_files": "The directory holds too many entries, or others within each other too deep.";
    TOO_MANY_REDIRECTS = "too_many_redirects": "The page leads on too often.";
    UNKNOWN_CALL = "unknown_call": "The agent has no such call.";
    UNKNOWN_KEY = "unknown_key": "There is no such key.";
    UNKNOWN_KIND = "unknown_kind": "There is no such kind.";
    UNKNOWN_MODE = "unknown_mode": "There is no such mode.";
    UNKNOWN_RUN = "unknown_run": "The agent has no such run.";
    UNKNOWN_TOOL = "unknown_tool": "There is no such tool.";
    UPSTREAM_FAILED = "upstream_failed": "The MCP server failed.";
    UPSTREAM_TIMEOUT = "upstream_timeout": "The MCP server did not answer in time.";
    UNMERGED_WORK = "unmerged_work": "The lane has commits that are not merged.";
    UNREADABLE = "unreadable": "The file cannot be read.";
    UNSAFE_REPOSITORY = "unsafe_repository": "The repository is set up in a way that git tools do not work with.";
    VALIDATION_FAILED = "validation_failed": "A judge or validator does not accept the manifest or output.";
    VERSION_TAKEN = "version_taken": "The manifest has this version already.";
    WRONG_SESSION = "wrong_session": "The call continues only in the session that asked for it.";

    BUG = "bug": "A bug in Brigade; please report it.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_code_is_one_word_and_stands_once() {
        let codes: BTreeSet<&str> = ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(codes.len(), ALL.len());
        let is_word = |code: &str| {
            code.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        };
        assert!(codes.iter().all(|code| is_word(code)));
        assert!(ALL.iter().all(|code| code.meaning().ends_with('.')));
    }
}
