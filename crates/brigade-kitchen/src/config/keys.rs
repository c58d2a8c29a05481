//! The table of configuration keys: names, default, range and meaning.

use super::value::{
    Bytes, Integrate, Keep, PhaseAction, PhaseGate, RawValue, Setting, Stall, Switch, WorkerCommand,
};
use crate::command::Command;
use crate::show::Event;

/// A constraint on a value, beyond its type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rule {
    /// Nothing.
    Any,
    /// From the first to the second number.
    Range(u64, u64),
    /// A path inside the workspace.
    Inside,
    /// One of these words.
    Words(&'static [&'static str]),
    /// The name of an effect that the policy knows.
    Effects,
}

impl Rule {
    pub(super) fn expected(&self, type_name: &str) -> String {
        match self {
            Rule::Range(least, u64::MAX) => format!("{type_name} from {least} on"),
            Rule::Range(least, most) => format!("{type_name} from {least} to {most}"),
            Rule::Any | Rule::Inside | Rule::Words(_) | Rule::Effects => type_name.to_owned(),
        }
    }
}

/// A key of the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The name in `brigade.config`; empty if it is only in `kitchen.toml`.
    pub shell: &'static str,
    /// The dotted path in `kitchen.toml`.
    pub toml: &'static str,
    /// Whether the value is part of what a person approves.
    pub bound: bool,
    /// Whether the value names a command.
    pub is_command: bool,
    /// What the value does.
    pub meaning: &'static str,
    pub(super) rule: Rule,
}

impl Key {
    /// Finds a key by its name in `brigade.config`.
    pub fn from_shell(name: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| !name.is_empty() && key.shell == name)
    }

    /// Finds a key by its path in `kitchen.toml`.
    pub fn of_toml(path: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| key.toml == path)
    }

    /// Returns the range, if the value is a number with one.
    pub fn range(&self) -> Option<(u64, u64)> {
        if let Rule::Range(least, most) = self.rule { Some((least, most)) } else { None }
    }
}

macro_rules! is_bound {
    (bound) => {
        true
    };
    (free) => {
        false
    };
}

macro_rules! rule_or_any {
    () => {
        Rule::Any
    };
    ($rule:expr) => {
        $rule
    };
}

macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $field:ident: $type:ty = $default:expr, $shell:literal, $toml:literal, $bound:ident
        $(, $rule:expr)?;)+) => {
        /// The values of the configuration.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Settings {
            $($(#[doc = $doc])+ pub $field: $type,)+
        }

        impl Default for Settings {
            fn default() -> Settings {
                Settings { $($field: $default,)+ }
            }
        }

        /// All keys, in the order in which they are explained.
        pub const KEYS: &[Key] = &[$(Key {
            shell: $shell,
            toml: $toml,
            bound: is_bound!($bound),
            is_command: <$type as Setting>::IS_COMMAND,
            meaning: concat!($($doc),+),
            rule: rule_or_any!($($rule)?),
        },)+];

        impl Settings {
            /// Sets a value. The error says what was expected.
            pub(super) fn set(&mut self, key: &Key, raw: &RawValue) -> Result<(), String> {
                match key.toml {
                    $($toml => self.$field = Setting::read(raw, &key.rule)?,)+
                    other => unreachable!("`{other}` is in the table of keys"),
                }
                Ok(())
            }

            /// Formats a value as TOML; `None` if it is not set.
            pub fn shown(&self, key: &Key) -> Option<String> {
                match key.toml {
                    $($toml => self.$field.toml(),)+
                    other => unreachable!("`{other}` is in the table of keys"),
                }
            }
        }
    };
}

const SECONDS: Rule = Rule::Range(1, 604_800);
const SECONDS_OR_NONE: Rule = Rule::Range(0, 604_800);
const COUNT: Rule = Rule::Range(1, 100);

settings! {
    /// Command of the executive tier, which plans and reviews. Split into words, never read by a shell
    executive_cmd: WorkerCommand = WorkerCommand::known("claude --model opus"), "EXECUTIVE_CMD", "tier.executive.command", bound;
    /// Command of the sous tier, for hard tasks
    sous_cmd: WorkerCommand = WorkerCommand::known("claude --model sonnet"), "SOUS_CMD", "tier.sous.command", bound;
    /// Command of the line tier, for routine tasks
    line_cmd: WorkerCommand = WorkerCommand::known("claude --model sonnet"), "LINE_CMD", "tier.line.command", bound;
    /// Adapter of the executive tier, when the first word of its command does not name it
    executive_agent: String = String::new(), "EXECUTIVE_AGENT", "tier.executive.adapter", bound;
    /// Adapter of the sous tier
    sous_agent: String = String::new(), "SOUS_AGENT", "tier.sous.adapter", bound;
    /// Adapter of the line tier
    line_agent: String = String::new(), "LINE_AGENT", "tier.line.adapter", bound;
    /// Names of variables that the executive gets; without it those of its adapter
    executive_labels: Option<Vec<String>> = None, "", "tier.executive.env_labels", bound;
    /// Names of variables that the sous tier gets
    sous_labels: Option<Vec<String>> = None, "", "tier.sous.env_labels", bound;
    /// Names of variables that the line tier gets
    line_labels: Option<Vec<String>> = None, "", "tier.line.env_labels", bound;
    /// The line uses `opencode --model` with the model below, whatever command it has
    use_opencode: bool = false, "USE_OPENCODE", "use_opencode", bound;
    /// Model for `use_opencode`
    opencode_model: String = "zai-coding-plan/glm-4.7".to_owned(), "OPENCODE_MODEL", "opencode_model", bound;
    /// Server that opencode attaches to; empty for none
    opencode_server: String = String::new(), "OPENCODE_SERVER", "opencode_server", bound;
    /// Whether worker programs skip their own permissions. The policy must allow it; else the narrower flag is used
    skip_permissions: bool = true, "CLAUDE_DANGEROUSLY_SKIP_PERMISSIONS", "skip_permissions", bound;
    /// Bind the bytes of worker programs. They update themselves, so it is off
    bind_workers: bool = false, "", "bind_workers", bound;

    /// No worker output on the terminal
    quiet_workers: bool = false, "QUIET_WORKERS", "quiet_workers", free;
    /// File of the activity log; empty for none
    activity_log: String = String::new(), "ACTIVITY_LOG", "activity_log", free;
    /// Seconds between two lines of the activity log
    activity_log_interval: u64 = 30, "ACTIVITY_LOG_INTERVAL", "activity_log_interval", free, Rule::Range(1, 3600);
    /// Minutes after which a task of the line counts as slow; 0 for never
    task_timeout_warning_junior: u64 = 10, "TASK_TIMEOUT_WARNING_JUNIOR", "task_timeout_warning_junior", free, Rule::Range(0, 10_080);
    /// Minutes after which a task of the other tiers counts as slow; 0 for never
    task_timeout_warning_senior: u64 = 20, "TASK_TIMEOUT_WARNING_SENIOR", "task_timeout_warning_senior", free, Rule::Range(0, 10_080);
    /// Directory for one log per attempt; empty for none
    worker_log_dir: String = String::new(), "WORKER_LOG_DIR", "worker_log_dir", free;
    /// Bytes that are kept of each stream: the first half and the last half
    max_log_bytes: Bytes = Bytes(16 << 20), "", "max_log_bytes", free, Rule::Range(4096, 1 << 32);
    /// Longest seconds between two redraws of `status --watch`
    status_watch_interval: u64 = 30, "STATUS_WATCH_INTERVAL", "status_watch_interval", free, Rule::Range(1, 3600);
    /// Accepted, without effect: set the environment variable of this name, or use --verbose
    brigade_debug: bool = false, "BRIGADE_DEBUG", "brigade_debug", free;

    /// Status file for supervisors; empty for none
    supervisor_status_file: String = String::new(), "SUPERVISOR_STATUS_FILE", "supervisor_status_file", free;
    /// Events file for supervisors; empty for none
    supervisor_events_file: String = String::new(), "SUPERVISOR_EVENTS_FILE", "supervisor_events_file", free;
    /// Command file that answers decisions, below `.brigade`; empty for none
    supervisor_cmd_file: String = String::new(), "SUPERVISOR_CMD_FILE", "supervisor_cmd_file", free;
    /// Seconds between two looks at the command file
    supervisor_cmd_poll_interval: u64 = 2, "SUPERVISOR_CMD_POLL_INTERVAL", "supervisor_cmd_poll_interval", free, Rule::Range(1, 3600);
    /// Seconds that a decision waits for the command file; 0 for ever
    supervisor_cmd_timeout: u64 = 300, "SUPERVISOR_CMD_TIMEOUT", "supervisor_cmd_timeout", free, SECONDS_OR_NONE;
    /// Put the prefix of the PRD before the names of the three files
    supervisor_prd_scoped: bool = false, "SUPERVISOR_PRD_SCOPED", "supervisor_prd_scoped", free;
    /// Command that gets events as JSON on standard input
    notify_command: Option<Command> = None, "", "notify.command", bound;
    /// Events for the command
    notify_events: Vec<String> = ["attention", "decision_needed", "budget_warning", "service_complete"].map(str::to_owned).to_vec(), "", "notify.events", bound, Rule::Words(Event::KINDS);
    /// Seconds that the command may take
    notify_timeout: u64 = 5, "", "notify.timeout", bound, Rule::Range(1, 300);

    /// Commits after which `plan` updates the codebase map; 0 for never
    map_stale_commits: u64 = 20, "MAP_STALE_COMMITS", "map_stale_commits", free, Rule::Range(0, 100_000);
    /// Branch that `--merge` merges to; empty for that of origin, `main` or `master`
    default_branch: String = String::new(), "DEFAULT_BRANCH", "default_branch", bound;
    /// Merge the branch at the end. The policy must allow it
    merge: bool = false, "", "merge", bound;
    /// Push the branch at the end. The policy must allow it
    push: bool = false, "", "push", bound;
    /// How the commits of a task reach the branch: `squash` or `keep`
    integrate: Integrate = Integrate::Squash, "", "integrate", bound;
    /// A worktree for each task; `off` works in place, one task at a time
    worktrees: Switch = Switch::On, "", "worktrees", bound;
    /// Directory of the worktrees
    worktree_path: String = ".brigade/kitchen/worktrees".to_owned(), "", "worktree.path", bound;
    /// Ignored files that are copied into each worktree
    worktree_copy: Vec<String> = Vec::new(), "", "worktree.copy", bound, Rule::Inside;
    /// Ignored files that are linked into each worktree
    worktree_link: Vec<String> = Vec::new(), "", "worktree.link", bound, Rule::Inside;
    /// Command that runs in a new worktree until it has succeeded once; what it makes is not committed
    worktree_setup: Option<Command> = None, "", "worktree.setup", bound;
    /// Seconds that the setup may take
    worktree_setup_timeout: u64 = 600, "", "worktree.setup_timeout", bound, SECONDS;
    /// Which worktrees stay: `unfinished` or `always`
    worktree_keep: Keep = Keep::Unfinished, "", "worktree.keep", free;

    /// Command that runs after the verification of each task
    test_cmd: Option<Command> = None, "TEST_CMD", "test_cmd", bound;
    /// Seconds that it may take
    test_timeout: u64 = 120, "TEST_TIMEOUT", "test_timeout", bound, SECONDS;
    /// Run the verification commands of tasks
    verification_enabled: bool = true, "VERIFICATION_ENABLED", "verification_enabled", bound;
    /// Seconds that each of them may take
    verification_timeout: u64 = 60, "VERIFICATION_TIMEOUT", "verification_timeout", bound, SECONDS;
    /// Verify also tasks that a worker says are already done or absorbed
    verify_claims: bool = true, "VERIFY_CLAIMS", "verify_claims", bound;
    /// Effects of verification; without it those of the policy, and never more
    verification_effects: Option<Vec<String>> = None, "", "verification.effects", bound, Rule::Effects;
    /// Search changed lines for marks of open work, such as `HACK`
    todo_scan_enabled: bool = true, "TODO_SCAN_ENABLED", "todo_scan_enabled", bound;
    /// Warn when a PRD has only `pattern` verification
    verification_warn_grep_only: bool = true, "VERIFICATION_WARN_GREP_ONLY", "verification_warn_grep_only", free;
    /// Tasks with `manualVerification` ask a person
    manual_verification_enabled: bool = false, "MANUAL_VERIFICATION_ENABLED", "manual_verification_enabled", bound;
    /// Warn about vague criteria
    criteria_lint_enabled: bool = true, "CRITERIA_LINT_ENABLED", "criteria_lint_enabled", free;
    /// Warn when nothing runs the feature as a whole
    e2e_detection_enabled: bool = true, "E2E_DETECTION_ENABLED", "e2e_detection_enabled", free;

    /// Hand a task over to the sous tier when the line fails
    escalation_enabled: bool = true, "ESCALATION_ENABLED", "escalation_enabled", free;
    /// Failures of the line before that
    escalation_after: u64 = 3, "ESCALATION_AFTER", "escalation_after", free, COUNT;
    /// Hand a task over to the executive when the sous tier fails
    escalation_to_exec: bool = true, "ESCALATION_TO_EXEC", "escalation_to_exec", free;
    /// Failures of the sous tier before that
    escalation_to_exec_after: u64 = 5, "ESCALATION_TO_EXEC_AFTER", "escalation_to_exec_after", free, COUNT;
    /// Seconds of an attempt, and of a task, in the line; 0 for no limit
    task_timeout_junior: u64 = 900, "TASK_TIMEOUT_JUNIOR", "task_timeout_junior", free, SECONDS_OR_NONE;
    /// The same for the sous tier
    task_timeout_senior: u64 = 1800, "TASK_TIMEOUT_SENIOR", "task_timeout_senior", free, SECONDS_OR_NONE;
    /// The same for the executive
    task_timeout_executive: u64 = 3600, "TASK_TIMEOUT_EXECUTIVE", "task_timeout_executive", free, SECONDS_OR_NONE;
    /// Seconds without output before an attempt counts as stalled; 0 for never
    output_stall_threshold: u64 = 300, "OUTPUT_STALL_THRESHOLD", "output_stall_threshold", free, SECONDS_OR_NONE;
    /// What happens then: `warn` or `kill`
    stall: Stall = Stall::Warn, "", "stall", free;
    /// Equal failures, without a change or in the highest tier, before a person is asked; 0 for never
    stuck_after: u64 = 3, "", "stuck_after", free, Rule::Range(0, 100);
    /// Longest seconds of waiting for the limit of a provider
    limit_wait_max: u64 = 21_600, "", "limit_wait_max", free, SECONDS_OR_NONE;
    /// Attempts per task in all tiers
    max_iterations: u64 = 50, "MAX_ITERATIONS", "max_iterations", free, Rule::Range(1, 1000);

    /// The executive reviews finished tasks
    review_enabled: bool = true, "REVIEW_ENABLED", "review_enabled", bound;
    /// Only what the line finished
    review_junior_only: bool = true, "REVIEW_JUNIOR_ONLY", "review_junior_only", bound;
    /// The executive reviews the PRD now and then
    phase_review_enabled: bool = false, "PHASE_REVIEW_ENABLED", "phase_review_enabled", bound;
    /// Finished tasks between two such reviews
    phase_review_after: u64 = 5, "PHASE_REVIEW_AFTER", "phase_review_after", bound, Rule::Range(1, 1000);
    /// What follows: `continue`, `pause` or `remediate`
    phase_review_action: PhaseAction = PhaseAction::Continue, "PHASE_REVIEW_ACTION", "phase_review_action", bound;
    /// Seconds that the review may take
    phase_review_timeout: u64 = 300, "PHASE_REVIEW_TIMEOUT", "phase_review_timeout", free, SECONDS;

    /// Share what workers learned with later ones
    knowledge_sharing: bool = true, "KNOWLEDGE_SHARING", "knowledge_sharing", free;
    /// File of what was learned, beside the PRD
    learnings_file: String = "brigade-learnings.md".to_owned(), "LEARNINGS_FILE", "learnings_file", free, Rule::Inside;
    /// File of what was found beyond the tasks, beside the PRD
    backlog_file: String = "brigade-backlog.md".to_owned(), "BACKLOG_FILE", "backlog_file", free, Rule::Inside;
    /// Most entries of the first; the oldest go
    learnings_max: u64 = 50, "LEARNINGS_MAX", "learnings_max", free, Rule::Range(1, 10_000);
    /// Move it to `archive/` when a PRD is complete
    learnings_archive: bool = true, "LEARNINGS_ARCHIVE", "learnings_archive", free;
    /// A line about each related PRD in prompts
    cross_prd_context_enabled: bool = true, "CROSS_PRD_CONTEXT_ENABLED", "cross_prd_context_enabled", free;
    /// Most related PRDs
    cross_prd_max_related: u64 = 3, "CROSS_PRD_MAX_RELATED", "cross_prd_max_related", free, Rule::Range(0, 20);
    /// Tell the next attempt what kind of failure it was and what was tried
    smart_retry_enabled: bool = true, "SMART_RETRY_ENABLED", "smart_retry_enabled", free;
    /// Maximum number of earlier approaches in the prompt
    smart_retry_approach_history_max: u64 = 3, "SMART_RETRY_APPROACH_HISTORY_MAX", "smart_retry_approach_history_max", free, Rule::Range(0, 50);

    /// Attempts at once; 0 and 1 are one after the other
    max_parallel: u64 = 3, "MAX_PARALLEL", "max_parallel", free, Rule::Range(0, 64);
    /// Of these in the line; without it all
    parallel_line: Option<u64> = None, "", "parallel.line", free, Rule::Range(1, 64);
    /// Of these in the sous tier
    parallel_sous: u64 = 1, "", "parallel.sous", free, Rule::Range(1, 64);
    /// Of these by the executive
    parallel_executive: u64 = 1, "", "parallel.executive", free, Rule::Range(1, 64);
    /// Begin the next PRD when one is complete
    auto_continue: bool = false, "AUTO_CONTINUE", "auto_continue", free;
    /// What to do between two PRDs: `continue`, `pause` or `review`
    phase_gate: PhaseGate = PhaseGate::Continue, "PHASE_GATE", "phase_gate", free;
    /// Decide failures without a person
    walkaway_mode: bool = false, "WALKAWAY_MODE", "walkaway_mode", bound;
    /// Skips in a row before the service pauses
    walkaway_max_skips: u64 = 3, "WALKAWAY_MAX_SKIPS", "walkaway_max_skips", free, COUNT;
    /// Seconds for each such decision
    walkaway_decision_timeout: u64 = 120, "WALKAWAY_DECISION_TIMEOUT", "walkaway_decision_timeout", free, SECONDS;
    /// Retries that may be decided so per task; then it is skipped
    walkaway_max_retries: u64 = 3, "WALKAWAY_MAX_RETRIES", "walkaway_max_retries", free, Rule::Range(0, 100);
    /// The executive answers questions about scope, marked for a person
    walkaway_scope_decisions: bool = true, "WALKAWAY_SCOPE_DECISIONS", "walkaway_scope_decisions", free;

    /// Dollars a minute of the line, where a worker reports no cost
    cost_rate_line: f64 = 0.05, "COST_RATE_LINE", "cost_rate_line", free;
    /// The same for the sous tier
    cost_rate_sous: f64 = 0.15, "COST_RATE_SOUS", "cost_rate_sous", free;
    /// The same for the executive
    cost_rate_executive: f64 = 0.30, "COST_RATE_EXECUTIVE", "cost_rate_executive", free;
    /// Dollars at which a warning event is written
    cost_warn_threshold: Option<f64> = None, "COST_WARN_THRESHOLD", "cost_warn_threshold", free;
    /// Dollars of a PRD
    max_cost_usd: Option<f64> = None, "MAX_COST_USD", "budget.cost_usd", free;
    /// Minutes of workers of a PRD
    max_minutes: Option<f64> = None, "MAX_MINUTES", "budget.minutes", free;
    /// Starts of workers of a PRD
    max_attempts: Option<u64> = None, "MAX_ATTEMPTS", "budget.attempts", free, Rule::Range(1, 1_000_000);

    /// Accepted, without effect: every attempt is a fresh session
    context_isolation: bool = true, "CONTEXT_ISOLATION", "context_isolation", free;
    /// Accepted, without effect: the state file is named after the PRD
    state_file: String = String::new(), "STATE_FILE", "state_file", free;
}

/// Keys of other versions of `brigade.config` that Brigade ignores.
const UNUSED: &[&str] = &[
    "LOCK_HEARTBEAT_INTERVAL",
    "MODULES",
    "VERIFICATION_SCAFFOLD_ENABLED",
    "WORKER_CRASH_EXIT_CODE",
    "WORKER_HEALTH_CHECK_INTERVAL",
];

/// Prefixes of other such keys.
const UNUSED_STARTS: &[&str] =
    &["AIDER_", "CODEX_", "GEMINI_", "MODULE_", "OLLAMA_", "RISK_", "SERVICE_IDLE_", "SMART_RETRY_"];

/// Returns whether Brigade ignores a key of another version.
pub(super) fn is_unused(name: &str) -> bool {
    UNUSED.contains(&name) || UNUSED_STARTS.iter().any(|start| name.starts_with(start))
}
