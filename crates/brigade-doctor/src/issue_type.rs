//! Every kind of issue, in one table, from which the documentation is made.

use brigade_core::Severity;

/// What an issue is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Area {
    /// The catalog as a file.
    Catalog,
    /// One tool.
    Tool,
    /// Files that harnesses read.
    Projection,
    /// Runtimes, and tools that need one.
    Runtime,
    /// The policy, and tools that it refuses.
    Policy,
    /// Calls in the queue.
    Call,
    /// Runs and their receipts.
    Run,
    /// Checkpoints.
    Checkpoint,
    /// The state as a whole.
    State,
}

impl Area {
    /// All of them, in the order of the documentation.
    pub const ALL: [Area; 9] = [
        Area::Catalog,
        Area::Tool,
        Area::Projection,
        Area::Runtime,
        Area::Policy,
        Area::Call,
        Area::Run,
        Area::Checkpoint,
        Area::State,
    ];

    /// Returns its name in one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Area::Catalog => "catalog",
            Area::Tool => "tool",
            Area::Projection => "projection",
            Area::Runtime => "runtime",
            Area::Policy => "policy",
            Area::Call => "call",
            Area::Run => "run",
            Area::Checkpoint => "checkpoint",
            Area::State => "state",
        }
    }
}

/// Writes the enum and its table, so that no kind can be without its texts.
macro_rules! issue_types {
    ($($area:ident { $(
        $variant:ident = $code:literal, $severity:ident, $title:literal, $explanation:literal, $fix:literal;
    )+ })+) => {
        /// A kind of issue.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum IssueType {
            $($(#[doc = $title] $variant,)+)+
        }

        impl IssueType {
            /// All of them, by area.
            pub const fn all() -> &'static [IssueType] {
                &[$($(IssueType::$variant,)+)+]
            }

            /// Returns the word that reports and records have; it never changes its meaning.
            pub const fn code(self) -> &'static str {
                match self { $($(IssueType::$variant => $code,)+)+ }
            }

            /// Returns how bad it is, unless the issue itself says otherwise.
            pub const fn severity(self) -> Severity {
                match self { $($(IssueType::$variant => Severity::$severity,)+)+ }
            }

            /// Returns what it is about, unless the issue itself says otherwise.
            pub const fn area(self) -> Area {
                match self { $($(IssueType::$variant => Area::$area,)+)+ }
            }

            /// Returns what it is, in a few words.
            pub const fn title(self) -> &'static str {
                match self { $($(IssueType::$variant => $title,)+)+ }
            }

            /// Returns why it matters and what to do, in a sentence or two.
            pub const fn explanation(self) -> &'static str {
                match self { $($(IssueType::$variant => $explanation,)+)+ }
            }

            /// Returns the command that mends it or shows more; words in braces stand for what the issue concerns.
            ///
            /// `{edit}` opens the file at the line; `{tool}`, `{call}`, `{run}`, `{checkpoint}`, `{runtime}`, `{pin}` and
            /// `{file}` are the names of those.
            pub const fn fix(self) -> &'static str {
                match self { $($(IssueType::$variant => $fix,)+)+ }
            }
        }
    };
}

issue_types! {
    Catalog {
        Config = "config", Error, "The catalog cannot be read, or an entry of it is broken",
            "The entry named cannot be projected or called until it is mended. The others are not affected.", "{edit}";
        UnknownKey = "unknown_key", Warning, "A key that means nothing",
            "The key has no effect. It is probably misspelt, or stands in the wrong table.", "{edit}";
        ConfigWarning = "config_warning", Warning, "A value that is understood and probably not meant",
            "The file is used as it is, but this part of it may not do what its author expects.", "{edit}";
    }

    Tool {
        UnsafeAuthFields = "unsafe_auth_fields", Warning, "A field that looks like it holds a secret",
            "The catalog holds labels, never secrets. Bind the secret through env_labels and the policy's env_bindings.",
            "{edit}";
        SecretInCatalog = "secret_in_catalog", Error, "A field of the contract that holds what looks like a secret",
            "It would be stored with every call and shown to everybody, so no call is planned. Take it out, bind it through env_labels and the policy's env_bindings, and change it where it was issued.",
            "{edit}";
        SecretInDescription = "secret_in_description", Warning, "A description that holds what looks like a secret",
            "It is masked wherever it is shown or projected. Take it out of the catalog, and change it where it was issued.",
            "{edit}";
        MissingRuntime = "missing_runtime", Error, "An MCP tool without a runtime",
            "Calls of MCP tools need a configured local runtime: set runtime_id.", "{edit}";
        MissingMcpToolName = "missing_mcp_tool_name", Error, "An MCP tool without the name of its tool",
            "The server is asked for a tool by name: set mcp_tool_name.", "{edit}";
        MissingCommand = "missing_command", Error, "No command, or one whose program or script is not found here",
            "The tool cannot run on this host until its command names a program that is installed.", "{edit}";
        MissingContract = "missing_contract", Warning, "A tool that can be called and says nothing of how",
            "Without a contract no call can be planned: add an input schema, effects and an approval mode.", "{edit}";
        MissingInputSchema = "missing_input_schema", Error, "No schema of the arguments",
            "Arguments cannot be checked, so no call can be planned.", "{edit}";
        MissingOutputSchema = "missing_output_schema", Warning, "The output schema is not there",
            "The file that output_schema_path names does not exist or cannot be read.", "{edit}";
        InvalidInputSchema = "invalid_input_schema", Error, "The input schema is not JSON",
            "The file cannot be read as JSON, so no call can be planned.", "{edit}";
        InvalidOutputSchema = "invalid_output_schema", Warning, "The output schema is not JSON",
            "The file cannot be read as JSON.", "{edit}";
        UnsupportedInputSchema = "unsupported_input_schema", Error, "The input schema uses what is not supported",
            "Nothing in a schema is ever ignored, so a keyword that is not supported blocks every call.", "{edit}";
        UnsupportedOutputSchema = "unsupported_output_schema", Warning, "The output schema uses what is not supported",
            "Wrappers may expect more of the output than can be checked.", "{edit}";
        MissingExamples = "missing_examples", Warning, "The examples are not there",
            "The file that examples_path names does not exist or cannot be read.", "{edit}";
        UnsafeEnvLabels = "unsafe_env_labels", Error, "A label of the environment that must not be used",
            "A label is a name, never a value, and must not change how programs are found or loaded.", "{edit}";
        BadArgumentTemplate = "bad_argument_template", Error, "An argument template that cannot work",
            "Names in templates are letters, digits and `_`, and the input schema describes each argument.", "{edit}";
        PathOutside = "path_outside", Error, "A path that leads out of the workspace",
            "Such a path blocks calls and projections until [paths] outside in the policy lists its folder.", "{edit}";
        MissingCwd = "missing_cwd", Error, "The working folder is not there",
            "The tool cannot start until cwd names a folder.", "{edit}";
        MissingSource = "missing_source", Warning, "The source is not there",
            "Without its source the tool cannot be projected.", "{edit}";
        MissingManifest = "missing_manifest", Warning, "The manifest is not there",
            "The file that manifest_path names does not exist or cannot be read.", "{edit}";
        MissingSchema = "missing_schema", Warning, "The tool's schema is not there",
            "The file that schema_path names does not exist or cannot be read.", "{edit}";
        InvalidSchema = "invalid_schema", Warning, "The tool's schema is not JSON",
            "The file that schema_path names cannot be read as JSON.", "{edit}";
        MissingHealth = "missing_health", Warning, "The health summary is not there",
            "The file that health_path names does not exist; whatever writes it has not run.", "{edit}";
        StaleHealth = "stale_health", Warning, "The health summary is old",
            "It was last written more than 48 hours ago; whatever writes it may have stopped.", "brigade tools show {tool}";
        HighRiskCommand = "high_risk_command", Error, "A command that hides what runs",
            "Calls are refused. Put the steps into a reviewed script and let the command name that.", "{edit}";
        InvalidMcpServer = "invalid_mcp_server", Warning, "An MCP server entry that cannot be understood",
            "Each entry of mcpServers is an object with a command.", "{edit}";
        MissingTimeout = "missing_timeout", Warning, "An MCP server without a timeout",
            "A server that hangs would be waited for without end by harnesses that read this file.", "{edit}";
        McpToolChanged = "mcp_tool_changed", Error, "An MCP tool that its server lists differently than it is pinned",
            "Calls are refused until one is approved that was not before: the approval shows the change and takes it.",
            "brigade tools pins show {pin}";
        McpToolVanished = "mcp_tool_vanished", Warning, "An MCP tool that its server does not list any more",
            "Calls are refused until the server lists the tool again. `pins accept` takes a list without tools that are not pinned.",
            "brigade tools pins show {pin}";
        McpToolAppeared = "mcp_tool_appeared", Warning, "An MCP tool that its server did not list before",
            "Nobody calls it before the catalog has it. Take the new list with `pins accept`, or the tool with `import mcp`.",
            "brigade tools pins show {pin}";
        McpPinUnreadable = "mcp_pin_unreadable", Error, "The pin of an MCP tool cannot be read",
            "Calls are refused as long as the file is there. Without it, the next call pins the tool anew.", "cat {file}";
    }

    Projection {
        ParityGap = "parity_gap", Warning, "A harness without a projection target",
            "The tool supports the harness, and no file is configured for it.", "{edit}";
        MissingProjection = "missing_projection", Warning, "A projection that was not written yet",
            "The harness does not see the tool until the projection is applied.", "brigade tools apply {tool}";
        StaleProjection = "stale_projection", Warning, "A projection that is out of date",
            "The source or its rendering changed since the file was written.", "brigade tools apply {tool}";
        ConflictedProjection = "conflicted_projection", Warning, "A projection with local edits",
            "Applying would lose the edits: move them into the source, or overwrite them by leaving out --dry-run.",
            "brigade tools apply --force --dry-run {tool}";
        UnmanagedProjection = "unmanaged_projection", Warning, "A file that Brigade did not write stands in the way",
            "Move the file, or overwrite it by leaving out --dry-run.", "brigade tools apply --force --dry-run {tool}";
        SkillUnreadable = "skill_unreadable", Warning, "A skill that its harness may refuse",
            "Name, folder or front matter are not what the Agent Skills format wants, and cannot be mended on the way.", "{edit}";
        ProjectionNotRead = "projection_not_read", Info, "A projection where its harness does not look",
            "The file is written, and the harness does not read it by itself. `brigade tools harness show` says what it reads.",
            "brigade tools plan {tool}";
        ProjectionRefused = "projection_refused", Error, "A projection target that is never written",
            "Targets inside .git or .brigade or outside the workspace, and ones that are folders, are refused.", "{edit}";
        OrphanedProjection = "orphaned_projection", Warning, "A projection that no tool asks for any more",
            "Its tool or its target is gone from the catalog, and the harness still sees the file. One that was edited is kept.",
            "brigade tools apply --all --prune";
    }

    Runtime {
        RuntimeConfig = "runtime_config", Error, "The runtimes cannot be read, or an entry of them is broken",
            "The runtime named cannot be started until its entry is mended.", "{edit}";
        RuntimeHighRiskCommand = "runtime_high_risk_command", Error, "A runtime command that hides what runs",
            "The runtime is not started. Put the steps into a reviewed script.", "{edit}";
        RuntimeSecretInCommand = "runtime_secret_in_command", Error, "A runtime command that holds what looks like a secret",
            "The runtime is not started, because its command is stored and shown. Let the program read the secret from a file that only you can read.", "{edit}";
        RuntimeBadCommand = "runtime_bad_command", Error, "A runtime command that cannot be split or is not found",
            "The runtime cannot be started.", "{edit}";
        RuntimeMissingCwd = "runtime_missing_cwd", Error, "The runtime's folder is not there",
            "The runtime cannot be started.", "{edit}";
        RuntimeStalePid = "runtime_stale_pid", Warning, "A runtime that ended without being stopped",
            "Its metadata names a process that is gone. Stopping it clears the metadata.",
            "brigade tools runtime stop {runtime}";
        RuntimePortConflict = "runtime_port_conflict", Warning, "The runtime's port is taken by something else",
            "The runtime cannot listen until the other program ends, or another port is configured.",
            "brigade tools runtime show {runtime}";
        RuntimeHealthFailed = "runtime_health_failed", Warning, "A runtime that runs and is not healthy",
            "Calls that require it are refused.", "brigade tools runtime restart {runtime}";
        RuntimeLogTooLong = "runtime_log_too_long", Warning, "A runtime that writes more into a log than is kept",
            "It writes its log itself, because an older version started it, and only the end is kept. Restarted, its log stays short.",
            "brigade tools runtime restart {runtime}";
        RuntimeLogWriterGone = "runtime_log_writer_gone", Warning, "A runtime whose log writer was killed",
            "What it prints is lost, and ends it if it does not expect that.", "brigade tools runtime restart {runtime}";
        RuntimeOutdated = "runtime_outdated", Warning, "A runtime that runs as an older entry said",
            "Its command or folder was changed since it was started. Restarted, it is what the entry says.",
            "brigade tools runtime restart {runtime}";
        RuntimeLeft = "runtime_left", Warning, "A runtime that runs and has no entry any more",
            "Its entry was removed or renamed while it ran. It goes on until it is stopped by its old name.",
            "brigade tools runtime stop {runtime}";
        RuntimeMissing = "runtime_missing", Error, "A tool whose runtime is not configured",
            "Calls of the tool are refused until the runtime is configured.", "{edit}";
        RuntimeStopped = "runtime_stopped", Warning, "A tool whose runtime does not run",
            "Calls of the tool are refused until the runtime is started.", "brigade tools runtime start {runtime}";
        RuntimeUnhealthy = "runtime_unhealthy", Warning, "A tool whose runtime is stale, unmanaged or not healthy",
            "Calls of the tool are refused until the runtime is healthy.", "brigade tools runtime restart {runtime}";
    }

    Policy {
        PolicyMissing = "policy_missing", Warning, "Tools can run and there is no policy",
            "Without a policy every approved call may run, without a sandbox.", "brigade tools policy init";
        PolicyConfig = "policy_config", Error, "The policy is invalid",
            "A policy that is not understood blocks every plan and every run.", "{edit}";
        PolicyBlocker = "policy_blocker", Warning, "The policy does not allow the tool",
            "Calls of the tool are refused by a rule of the policy.", "brigade tools policy explain {tool}";
        PolicyMissingEnv = "policy_missing_env", Warning, "A label without a variable",
            "The label is not bound by the policy, or the variable that it is bound to is not set.",
            "brigade tools policy explain {tool}";
        PolicyDeniedEffect = "policy_denied_effect", Warning, "An effect that the policy denies",
            "Calls of the tool are refused.", "brigade tools policy explain {tool}";
        PolicyTimeout = "policy_timeout", Warning, "A timeout over the policy's maximum",
            "Calls of the tool are refused.", "brigade tools policy explain {tool}";
        PolicyRuntime = "policy_runtime", Warning, "A runtime that the policy does not allow",
            "Calls of the tool are refused.", "brigade tools policy explain {tool}";
        PolicyApproval = "policy_approval", Warning, "An approval mode that the policy does not allow",
            "Calls of the tool are refused.", "brigade tools policy explain {tool}";
        SandboxUnavailable = "sandbox_unavailable", Error, "The sandbox cannot be enforced here",
            "The policy asks for a sandbox that this system cannot enforce in full.", "brigade tools policy show";
    }

    Call {
        CallStalePending = "call_stale_pending", Warning, "A call that waits for a decision for days",
            "Approve, hold or reject it.", "brigade tools call show {call}";
        CallBlocked = "call_blocked", Warning, "A queued call that cannot be approved",
            "Its plan had blockers. Remove the reasons and queue it again, or reject it.", "brigade tools call show {call}";
        CallStaleApproved = "call_stale_approved", Warning, "An approved call that no longer matches",
            "What was approved is not what would run, so it is refused. Queue and approve it again.",
            "brigade tools call show {call}";
        CallRunningStale = "call_running_stale", Warning, "A call that runs for hours",
            "Its runner is alive. It ends at its timeout, or when its runner is interrupted.",
            "brigade tools call show {call}";
        CallInterrupted = "call_interrupted", Warning, "A call whose runner went away",
            "What it did is not known, so it is never run again by itself. A replay makes a new call.",
            "brigade tools call show {call}";
        CallFailed = "call_failed", Warning, "A call that failed",
            "Its receipt and its logs say why. Asking again and succeeding clears this.", "brigade tools call show {call}";
        CallHeld = "call_held", Info, "A call that was put aside",
            "It waits until it is approved or rejected.", "brigade tools call show {call}";
        CallRejected = "call_rejected", Info, "A call that was rejected",
            "It can be asked for again only with other arguments or another contract.", "brigade tools call show {call}";
        UnreadableLines = "unreadable_lines", Warning, "Lines of the queue or the inbox that cannot be read",
            "The next change moves them to a quarantine file. Nothing is dropped.", "brigade tools doctor --fix";
        QuarantinedLines = "quarantined_lines", Warning, "Lines that could not be read were set aside",
            "Nothing was dropped: they are in the quarantine file. Look at them, then move the file away.", "cat {file}";
    }

    Run {
        RunReceiptInvalid = "run_receipt_invalid", Warning, "A receipt that cannot be read",
            "The file is no receipt, or is damaged.", "brigade tools state check";
        RunLedgerBroken = "run_ledger_broken", Error, "The chain of receipts does not hold",
            "A receipt was changed, removed, reordered, added or cut off since it was written.", "brigade tools run verify";
        RunFailed = "run_failed", Warning, "A run that failed",
            "Its receipt and its logs say why. Its call is an issue beside it; asking again and succeeding clears both.",
            "brigade tools run show {run}";
        McpExecutionFailed = "mcp_execution_failed", Warning, "A run of an MCP tool that failed",
            "Its receipt says what the server answered. Asking again and succeeding clears this.",
            "brigade tools run show {run}";
        McpMalformedResponse = "mcp_malformed_response", Warning, "A run whose MCP server answered with something else than the protocol wants",
            "Its receipt says which answer it was; the raw log holds what was sent.", "brigade tools run show {run}";
        McpToolMismatch = "mcp_tool_mismatch", Warning, "A run of an MCP tool that does not fit what its server lists",
            "The tool is not listed, is listed twice or differently than it is pinned, or the list cannot be had. It was not called.",
            "brigade tools run show {run}";
        RunTimedOut = "run_timed_out", Warning, "A run that was ended at its timeout",
            "Raise the timeout, or find out what it waited for. Asking again and succeeding clears this.",
            "brigade tools run show {run}";
        RunMissingLog = "run_missing_log", Warning, "A run whose log is gone",
            "The receipt names a log that does not exist.", "brigade tools run show {run}";
        RunReplayBlocked = "run_replay_blocked", Info, "A run that cannot be replayed as things are",
            "The tool, a runtime or the policy changed since.", "brigade tools run show {run}";
    }

    Checkpoint {
        CheckpointInvalid = "checkpoint_invalid", Warning, "A checkpoint that cannot be read, or was changed",
            "The file is no checkpoint, is damaged or gone, or says something else than the record of its call, which is the truth: \
             while it does, nobody can go on behind it.",
            "cat {file}";
        CheckpointExpired = "checkpoint_expired", Warning, "A checkpoint whose time is over",
            "It cannot be resumed any more. Replay the run to start over, and reject the checkpoint.",
            "brigade tools run replay {run}";
        CheckpointStale = "checkpoint_stale", Warning, "A checkpoint that waits for days",
            "Approve it, reject it or resume it.", "brigade tools checkpoint show {checkpoint}";
        CheckpointBlocked = "checkpoint_blocked", Warning, "A checkpoint that cannot be resumed as things are",
            "The call, its contract, its source, a runtime or the policy changed since. Bring that back, or replay the run and \
             reject the checkpoint.",
            "brigade tools run replay {run}";
        CheckpointRejected = "checkpoint_rejected", Info, "A checkpoint that was rejected",
            "Its call stays where it paused until it is rejected, too.", "brigade tools checkpoint show {checkpoint}";
        CheckpointFailed = "checkpoint_failed", Warning, "A checkpoint whose resume failed",
            "The receipt of the resumed run says why.", "brigade tools checkpoint show {checkpoint}";
    }

    State {
        WideModes = "wide_modes", Warning, "Files of the state that others can read or write",
            "Calls, receipts and logs are for their owner alone.", "brigade tools doctor --fix";
        LeftLock = "left_lock", Warning, "A lock that a process left behind when it ended",
            "The Python program never removes it, and may wait for it.", "brigade tools doctor --fix";
    }
}

impl IssueType {
    /// Returns the type with this code.
    pub fn from_code(code: &str) -> Option<IssueType> {
        IssueType::all().iter().copied().find(|kind| kind.code() == code)
    }

    /// Tells whether it is about what a call of a tool needs: a broken entry, its command, schemas, template, labels, or pin.
    ///
    /// Sources, health summaries and what else harnesses read are not needed to call it.
    pub fn is_of_contract(self) -> bool {
        let beside_calls = matches!(
            self,
            IssueType::UnsafeAuthFields
                | IssueType::MissingSource
                | IssueType::MissingManifest
                | IssueType::MissingSchema
                | IssueType::InvalidSchema
                | IssueType::MissingHealth
                | IssueType::StaleHealth
                | IssueType::InvalidMcpServer
                | IssueType::MissingTimeout
        );
        self == IssueType::Config || (self.area() == Area::Tool && !beside_calls)
    }

    /// Returns the `name` of its issues in reports: `tool_` and the code.
    pub fn name(self) -> String {
        match self {
            IssueType::RuntimeConfig => self.code().to_owned(),
            _ => format!("tool_{}", self.code()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_type_has_its_own_code_and_all_texts() {
        let codes: BTreeSet<&str> = IssueType::all().iter().map(|kind| kind.code()).collect();
        assert_eq!(codes.len(), IssueType::all().len());
        for kind in IssueType::all() {
            assert_eq!(IssueType::from_code(kind.code()), Some(*kind));
            assert!(kind.code().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{kind:?}");
            assert!(!kind.title().ends_with('.') && kind.explanation().ends_with('.'), "{kind:?}");
            assert!(!kind.fix().is_empty(), "{kind:?}");
        }
        assert_eq!(IssueType::Config.name(), "tool_config");
        assert_eq!(IssueType::RuntimeConfig.name(), "runtime_config");
    }
}
