//! Every kind of issue, in one table, from which the documentation is made.

use brigade_core::{CallId, CheckpointId, NextStep, RunId, Severity};

/// What mends an issue of some type or shows more of it: the step for the thing that an issue names.
#[derive(Clone, Debug)]
pub enum Remedy {
    /// Edit the file at the line of the issue.
    Edit,
    /// Read the file that the issue names.
    ReadFile,
    /// A step for the tool.
    Tool(fn(String) -> NextStep),
    /// A step for the runtime or the pin, else the tool.
    Object(fn(String) -> NextStep),
    /// A step for the call.
    Call(fn(CallId) -> NextStep),
    /// A step for the run.
    Run(fn(RunId) -> NextStep),
    /// A step for the checkpoint.
    Checkpoint(fn(CheckpointId) -> NextStep),
    /// A step for the workspace.
    Step(NextStep),
}

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
        $variant:ident = $code:literal, $severity:ident, $title:literal, $explanation:literal, $fix:expr;
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

            /// Returns what mends it or shows more.
            pub const fn fix(self) -> Remedy {
                match self { $($(IssueType::$variant => $fix,)+)+ }
            }
        }
    };
}

issue_types! {
    Catalog {
        Config = "config", Error, "The catalog cannot be read, or an entry of it is broken",
            "The entry named cannot be projected or called until it is mended. The others are not affected.", Remedy::Edit;
        UnknownKey = "unknown_key", Warning, "A key that means nothing",
            "The key has no effect. It is probably misspelt, or stands in the wrong table.", Remedy::Edit;
        ConfigWarning = "config_warning", Warning, "A value that is understood and probably not meant",
            "The file is used as it is, but this part of it may not do what its author expects.", Remedy::Edit;
    }

    Tool {
        UnsafeAuthFields = "unsafe_auth_fields", Warning, "A field that looks like it holds a secret",
            "The catalog holds labels, never secrets. Bind the secret through env_labels and the policy's env_bindings.",
            Remedy::Edit;
        SecretInCatalog = "secret_in_catalog", Error, "A field of the contract that holds what looks like a secret",
            "It would be stored with every call and shown to everybody, so no call is planned. Take it out, bind it through env_labels and the policy's env_bindings, and change it where it was issued.",
            Remedy::Edit;
        SecretInDescription = "secret_in_description", Warning, "A description that holds what looks like a secret",
            "It is masked wherever it is shown or projected. Take it out of the catalog, and change it where it was issued.",
            Remedy::Edit;
        MissingRuntime = "missing_runtime", Error, "An MCP tool without a runtime",
            "Calls of MCP tools need a configured local runtime: set runtime_id.", Remedy::Edit;
        MissingMcpToolName = "missing_mcp_tool_name", Error, "An MCP tool without the name of its tool",
            "The server is asked for a tool by name: set mcp_tool_name.", Remedy::Edit;
        MissingCommand = "missing_command", Error, "No command, or one whose program or script is not found here",
            "The tool cannot run on this host until its command names a program that is installed.", Remedy::Edit;
        MissingContract = "missing_contract", Warning, "A tool that can be called and says nothing of how",
            "Without a contract no call can be planned: add an input schema, effects and an approval mode.", Remedy::Edit;
        MissingInputSchema = "missing_input_schema", Error, "No schema of the arguments",
            "Arguments cannot be checked, so no call can be planned.", Remedy::Edit;
        MissingOutputSchema = "missing_output_schema", Warning, "The output schema is not there",
            "The file that output_schema_path names does not exist or cannot be read.", Remedy::Edit;
        InvalidInputSchema = "invalid_input_schema", Error, "The input schema is not JSON",
            "The file cannot be read as JSON, so no call can be planned.", Remedy::Edit;
        InvalidOutputSchema = "invalid_output_schema", Warning, "The output schema is not JSON",
            "The file cannot be read as JSON.", Remedy::Edit;
        UnsupportedInputSchema = "unsupported_input_schema", Error, "The input schema uses what is not supported",
            "Nothing in a schema is ever ignored, so a keyword that is not supported blocks every call.", Remedy::Edit;
        UnsupportedOutputSchema = "unsupported_output_schema", Warning, "The output schema uses what is not supported",
            "Wrappers may expect more of the output than can be checked.", Remedy::Edit;
        MissingExamples = "missing_examples", Warning, "The examples are not there",
            "The file that examples_path names does not exist or cannot be read.", Remedy::Edit;
        UnsafeEnvLabels = "unsafe_env_labels", Error, "A label of the environment that must not be used",
            "A label is a name, never a value, and must not change how programs are found or loaded.", Remedy::Edit;
        BadArgumentTemplate = "bad_argument_template", Error, "An argument template that cannot work",
            "Names in templates are letters, digits and `_`, and the input schema describes each argument.", Remedy::Edit;
        PathOutside = "path_outside", Error, "A path that leads out of the workspace",
            "Such a path blocks calls and projections until [paths] outside in the policy lists its folder.", Remedy::Edit;
        MissingCwd = "missing_cwd", Error, "The working folder is not there",
            "The tool cannot start until cwd names a folder.", Remedy::Edit;
        MissingSource = "missing_source", Warning, "The source is not there",
            "Without its source the tool cannot be projected.", Remedy::Edit;
        MissingManifest = "missing_manifest", Warning, "The manifest is not there",
            "The file that manifest_path names does not exist or cannot be read.", Remedy::Edit;
        MissingSchema = "missing_schema", Warning, "The tool's schema is not there",
            "The file that schema_path names does not exist or cannot be read.", Remedy::Edit;
        InvalidSchema = "invalid_schema", Warning, "The tool's schema is not JSON",
            "The file that schema_path names cannot be read as JSON.", Remedy::Edit;
        MissingHealth = "missing_health", Warning, "The health summary is not there",
            "The file that health_path names does not exist; whatever writes it has not run.", Remedy::Edit;
        StaleHealth = "stale_health", Warning, "The health summary is old",
            "It was last written more than 48 hours ago; whatever writes it may have stopped.", Remedy::Tool(NextStep::ShowTool);
        HighRiskCommand = "high_risk_command", Error, "A command that hides what runs",
            "Calls are refused. Put the steps into a reviewed script and let the command name that.", Remedy::Edit;
        InvalidMcpServer = "invalid_mcp_server", Warning, "An MCP server entry that cannot be understood",
            "Each entry of mcpServers is an object with a command.", Remedy::Edit;
        MissingTimeout = "missing_timeout", Warning, "An MCP server without a timeout",
            "A server that hangs would be waited for without end by harnesses that read this file.", Remedy::Edit;
        McpToolChanged = "mcp_tool_changed", Error, "An MCP tool that its server lists differently than it is pinned",
            "Calls are refused until one is approved that was not before: the approval shows the change and takes it.",
            Remedy::Object(NextStep::ShowPin);
        McpToolVanished = "mcp_tool_vanished", Warning, "An MCP tool that its server does not list any more",
            "Calls are refused until the server lists the tool again. `pins accept` takes a list without tools that are not pinned.",
            Remedy::Object(NextStep::ShowPin);
        McpToolAppeared = "mcp_tool_appeared", Warning, "An MCP tool that its server did not list before",
            "Nobody calls it before the catalog has it. Take the new list with `pins accept`, or the tool with `import mcp`.",
            Remedy::Object(NextStep::ShowPin);
        McpPinUnreadable = "mcp_pin_unreadable", Error, "The pin of an MCP tool cannot be read",
            "Calls are refused as long as the file is there. Without it, the next call pins the tool anew.", Remedy::ReadFile;
        McpServerFailed = "mcp_server_failed", Warning, "An MCP server that listed no tools",
            "It was not started, did not answer, or answered with something else. Where the policy refused it, `policy explain` says why.",
            Remedy::Tool(NextStep::DescribeTool);
        McpToolDuplicate = "mcp_tool_duplicate", Warning, "An MCP tool that its server lists more than once",
            "It is never called.", Remedy::Tool(NextStep::DescribeToolLive);
        McpToolNew = "mcp_tool_new", Info, "A tool of an MCP server that neither the catalog nor a pin names",
            "Nobody calls it before the catalog has it.", Remedy::Object(NextStep::TryImportMcp);
        McpContractDiffers = "mcp_contract_differs", Warning, "An input schema that is not what the server lists",
            "Calls are checked against the stored schema, and the server may refuse them. Review the schema, and queue calls anew.",
            Remedy::Tool(NextStep::DescribeToolLive);
        McpNoServer = "mcp_no_server", Info, "A pin whose server nobody can ask",
            "No enabled tool of the catalog says how the server is started.", Remedy::Object(NextStep::ShowPin);
    }

    Projection {
        ParityGap = "parity_gap", Warning, "A harness without a projection target",
            "The tool supports the harness, and no file is configured for it.", Remedy::Edit;
        MissingProjection = "missing_projection", Warning, "A projection that was not written yet",
            "The harness does not see the tool until the projection is applied.", Remedy::Tool(NextStep::Apply);
        StaleProjection = "stale_projection", Warning, "A projection that is out of date",
            "The source or its rendering changed since the file was written.", Remedy::Tool(NextStep::Apply);
        ConflictedProjection = "conflicted_projection", Warning, "A projection with local edits",
            "Applying would lose the edits: move them into the source, or overwrite them by leaving out --dry-run.",
            Remedy::Tool(NextStep::TryApplyForced);
        UnmanagedProjection = "unmanaged_projection", Warning, "A file that Brigade did not write stands in the way",
            "Move the file, or overwrite it by leaving out --dry-run.", Remedy::Tool(NextStep::TryApplyForced);
        SkillUnreadable = "skill_unreadable", Warning, "A skill that its harness may refuse",
            "Name, folder or front matter are not what the Agent Skills format wants, and cannot be mended on the way.", Remedy::Edit;
        ProjectionNotRead = "projection_not_read", Info, "A projection where its harness does not look",
            "The file is written, and the harness does not read it by itself. `harness show` says what it reads.",
            Remedy::Tool(NextStep::PlanProjections);
        ProjectionRefused = "projection_refused", Error, "A projection target that is never written",
            "Targets inside .git or .brigade or outside the workspace, and ones that are folders, are refused.", Remedy::Edit;
        OrphanedProjection = "orphaned_projection", Warning, "A projection that no tool asks for any more",
            "Its tool or its target is gone from the catalog, and the harness still sees the file. One that was edited is kept.",
            Remedy::Step(NextStep::ApplyAllAndPrune);
    }

    Runtime {
        RuntimeConfig = "runtime_config", Error, "The runtimes cannot be read, or an entry of them is broken",
            "The runtime named cannot be started until its entry is mended.", Remedy::Edit;
        RuntimeHighRiskCommand = "runtime_high_risk_command", Error, "A runtime command that hides what runs",
            "The runtime is not started. Put the steps into a reviewed script.", Remedy::Edit;
        RuntimeSecretInCommand = "runtime_secret_in_command", Error, "A runtime command that holds what looks like a secret",
            "The runtime is not started, because its command is stored and shown. Let the program read the secret from a file that only you can read.", Remedy::Edit;
        RuntimeBadCommand = "runtime_bad_command", Error, "A runtime command that cannot be split or is not found",
            "The runtime cannot be started.", Remedy::Edit;
        RuntimeMissingCwd = "runtime_missing_cwd", Error, "The runtime's folder is not there",
            "The runtime cannot be started.", Remedy::Edit;
        RuntimeStalePid = "runtime_stale_pid", Warning, "A runtime that ended without being stopped",
            "Its metadata names a process that is gone. Stopping it clears the metadata.",
            Remedy::Object(NextStep::StopRuntime);
        RuntimePortConflict = "runtime_port_conflict", Warning, "The runtime's port is taken by something else",
            "The runtime cannot listen until the other program ends, or another port is configured.",
            Remedy::Object(NextStep::ShowRuntime);
        RuntimeHealthFailed = "runtime_health_failed", Warning, "A runtime that runs and is not healthy",
            "Calls that require it are refused.", Remedy::Object(NextStep::RestartRuntime);
        RuntimeLogTooLong = "runtime_log_too_long", Warning, "A runtime that writes more into a log than is kept",
            "It writes its log itself, because an older version started it, and only the end is kept. Restarted, its log stays short.",
            Remedy::Object(NextStep::RestartRuntime);
        RuntimeLogWriterGone = "runtime_log_writer_gone", Warning, "A runtime whose log writer was killed",
            "What it prints is lost, and ends it if it does not expect that.", Remedy::Object(NextStep::RestartRuntime);
        RuntimeOutdated = "runtime_outdated", Warning, "A runtime that runs as an older entry said",
            "Its command or folder was changed since it was started. Restarted, it is what the entry says.",
            Remedy::Object(NextStep::RestartRuntime);
        RuntimeLeft = "runtime_left", Warning, "A runtime that runs and has no entry any more",
            "Its entry was removed or renamed while it ran. It goes on until it is stopped by its old name.",
            Remedy::Object(NextStep::StopRuntime);
        RuntimeMissing = "runtime_missing", Error, "A tool whose runtime is not configured",
            "Calls of the tool are refused until the runtime is configured.", Remedy::Edit;
        RuntimeStopped = "runtime_stopped", Warning, "A tool whose runtime does not run",
            "Calls of the tool are refused until the runtime is started.", Remedy::Object(NextStep::StartRuntime);
        RuntimeUnhealthy = "runtime_unhealthy", Warning, "A tool whose runtime is stale, unmanaged or not healthy",
            "Calls of the tool are refused until the runtime is healthy.", Remedy::Object(NextStep::RestartRuntime);
        RuntimeUnmanaged = "runtime_unmanaged", Warning, "A process that may be the runtime, without a proof",
            "It is neither stopped nor started a second time. If it is the runtime, end it yourself; else remove the pid file.",
            Remedy::Object(NextStep::ShowRuntime);
        RuntimeOutsidePath = "runtime_outside_path", Error, "A path of a runtime that leads out of the workspace",
            "Nothing is written there. `cwd` may lie in a folder that policy.toml lists in `outside` under `[paths]`. The doctor calls it `path_outside`.",
            Remedy::Edit;
        RuntimeDisabled = "runtime_disabled", Error, "A runtime that is switched off",
            "It is not started until its entry says `enabled = true`.", Remedy::Edit;
    }

    Policy {
        PolicyMissing = "policy_missing", Warning, "Tools can run and there is no policy",
            "Without a policy every approved call may run, without a sandbox.", Remedy::Step(NextStep::InitPolicy);
        PolicyConfig = "policy_config", Error, "The policy is invalid",
            "A policy that is not understood blocks every plan and every run.", Remedy::Edit;
        PolicyBlocker = "policy_blocker", Warning, "The policy does not allow the tool",
            "Calls of the tool are refused by a rule of the policy.", Remedy::Tool(NextStep::ExplainPolicy);
        PolicyMissingEnv = "policy_missing_env", Warning, "A label without a variable",
            "The label is not bound by the policy, or the variable that it is bound to is not set.",
            Remedy::Tool(NextStep::ExplainPolicy);
        PolicyDeniedEffect = "policy_denied_effect", Warning, "An effect that the policy denies",
            "Calls of the tool are refused.", Remedy::Tool(NextStep::ExplainPolicy);
        PolicyTimeout = "policy_timeout", Warning, "A timeout over the policy's maximum",
            "Calls of the tool are refused.", Remedy::Tool(NextStep::ExplainPolicy);
        PolicyRuntime = "policy_runtime", Warning, "A runtime that the policy does not allow",
            "Calls of the tool are refused.", Remedy::Tool(NextStep::ExplainPolicy);
        PolicyApproval = "policy_approval", Warning, "An approval mode that the policy does not allow",
            "Calls of the tool are refused.", Remedy::Tool(NextStep::ExplainPolicy);
        SandboxUnavailable = "sandbox_unavailable", Error, "The sandbox cannot be enforced here",
            "The policy asks for a sandbox that this system cannot enforce in full.", Remedy::Step(NextStep::ShowPolicy);
    }

    Call {
        CallStalePending = "call_stale_pending", Warning, "A call that waits for a decision for days",
            "Approve, hold or reject it.", Remedy::Call(NextStep::ShowCall);
        CallBlocked = "call_blocked", Warning, "A queued call that cannot be approved",
            "Its plan had blockers. Remove the reasons and queue it again, or reject it.", Remedy::Call(NextStep::ShowCall);
        CallStaleApproved = "call_stale_approved", Warning, "An approved call that no longer matches",
            "What was approved is not what would run, so it is refused. Queue and approve it again.",
            Remedy::Call(NextStep::ShowCall);
        CallRunningStale = "call_running_stale", Warning, "A call that runs for hours",
            "Its runner is alive. It ends at its timeout, or when its runner is interrupted.",
            Remedy::Call(NextStep::ShowCall);
        CallInterrupted = "call_interrupted", Warning, "A call whose runner went away",
            "What it did is not known, so it is never run again by itself. A replay makes a new call.",
            Remedy::Call(NextStep::ShowCall);
        CallFailed = "call_failed", Warning, "A call that failed",
            "Its receipt and its logs say why. Asking again and succeeding clears this.", Remedy::Call(NextStep::ShowCall);
        CallHeld = "call_held", Info, "A call that was put aside",
            "It waits until it is approved or rejected.", Remedy::Call(NextStep::ShowCall);
        CallRejected = "call_rejected", Info, "A call that was rejected",
            "It can be asked for again only with other arguments or another contract.", Remedy::Call(NextStep::ShowCall);
        UnreadableLines = "unreadable_lines", Warning, "Lines of the queue or the inbox that cannot be read",
            "The next change moves them to a quarantine file. Nothing is dropped.", Remedy::Step(NextStep::Fix);
        QuarantinedLines = "quarantined_lines", Warning, "Lines that could not be read were set aside",
            "Nothing was dropped: they are in the quarantine file. Look at them, then move the file away.", Remedy::ReadFile;
    }

    Run {
        RunReceiptInvalid = "run_receipt_invalid", Warning, "A receipt that cannot be read",
            "The file is no receipt, or is damaged.", Remedy::Step(NextStep::CheckState);
        RunLedgerBroken = "run_ledger_broken", Error, "The chain of receipts does not hold",
            "A receipt was changed, removed, reordered, added or cut off since it was written.", Remedy::Step(NextStep::VerifyRuns);
        RunFailed = "run_failed", Warning, "A run that failed",
            "Its receipt and its logs say why. Its call is an issue beside it; asking again and succeeding clears both.",
            Remedy::Run(NextStep::ShowRun);
        McpExecutionFailed = "mcp_execution_failed", Warning, "A run of an MCP tool that failed",
            "Its receipt says what the server answered. Asking again and succeeding clears this.",
            Remedy::Run(NextStep::ShowRun);
        McpMalformedResponse = "mcp_malformed_response", Warning, "A run whose MCP server answered with something else than the protocol wants",
            "Its receipt says which answer it was; the raw log holds what was sent.", Remedy::Run(NextStep::ShowRun);
        McpToolMismatch = "mcp_tool_mismatch", Warning, "A run of an MCP tool that does not fit what its server lists",
            "The tool is not listed, is listed twice or differently than it is pinned, or the list cannot be had. It was not called.",
            Remedy::Run(NextStep::ShowRun);
        RunTimedOut = "run_timed_out", Warning, "A run that was ended at its timeout",
            "Raise the timeout, or find out what it waited for. Asking again and succeeding clears this.",
            Remedy::Run(NextStep::ShowRun);
        RunMissingLog = "run_missing_log", Warning, "A run whose log is gone",
            "The receipt names a log that does not exist.", Remedy::Run(NextStep::ShowRun);
        RunReplayBlocked = "run_replay_blocked", Info, "A run that cannot be replayed as things are",
            "The tool, a runtime or the policy changed since.", Remedy::Run(NextStep::ShowRun);
    }

    Checkpoint {
        CheckpointInvalid = "checkpoint_invalid", Warning, "A checkpoint that cannot be read, or was changed",
            "The file is no checkpoint, is damaged or gone, or says something else than the record of its call, which is the truth: \
             while it does, nobody can go on behind it.",
            Remedy::ReadFile;
        CheckpointExpired = "checkpoint_expired", Warning, "A checkpoint whose time is over",
            "It cannot be resumed any more. Replay the run to start over, and reject the checkpoint.",
            Remedy::Run(NextStep::Replay);
        CheckpointStale = "checkpoint_stale", Warning, "A checkpoint that waits for days",
            "Approve it, reject it or resume it.", Remedy::Checkpoint(NextStep::ShowCheckpoint);
        CheckpointBlocked = "checkpoint_blocked", Warning, "A checkpoint that cannot be resumed as things are",
            "The call, its contract, its source, a runtime or the policy changed since. Bring that back, or replay the run and \
             reject the checkpoint.",
            Remedy::Run(NextStep::Replay);
        CheckpointRejected = "checkpoint_rejected", Info, "A checkpoint that was rejected",
            "Its call stays where it paused until it is rejected, too.", Remedy::Checkpoint(NextStep::ShowCheckpoint);
        CheckpointFailed = "checkpoint_failed", Warning, "A checkpoint whose resume failed",
            "The receipt of the resumed run says why.", Remedy::Checkpoint(NextStep::ShowCheckpoint);
    }

    State {
        WideModes = "wide_modes", Warning, "Files of the state that others can read or write",
            "Calls, receipts and logs are for their owner alone.", Remedy::Step(NextStep::Fix);
        LeftLock = "left_lock", Warning, "A lock that a process left behind when it ended",
            "The Python program never removes it, and may wait for it.", Remedy::Step(NextStep::Fix);
    }
}

impl IssueType {
    /// Returns the type with this code.
    pub fn from_code(code: &str) -> Option<IssueType> {
        IssueType::all().iter().copied().find(|kind| kind.code() == code)
    }

    /// Tells whether it is about what a call of a tool needs: a broken entry, its command, schemas, template, labels,
    /// or pin.
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

    /// Returns what mends it or shows more, for a tool, a runtime or a pin of this name; none where a file is to be
    /// edited or read, or something else is to be named.
    pub fn step_for(self, name: &str) -> Option<NextStep> {
        match self.fix() {
            Remedy::Tool(step) | Remedy::Object(step) => Some(step(name.to_owned())),
            Remedy::Step(step) => Some(step),
            Remedy::Edit | Remedy::ReadFile | Remedy::Call(_) | Remedy::Run(_) | Remedy::Checkpoint(_) => {
                None
            }
        }
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
        }
        assert_eq!(IssueType::Config.name(), "tool_config");
        assert_eq!(IssueType::RuntimeConfig.name(), "runtime_config");
    }
}
