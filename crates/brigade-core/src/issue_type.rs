//! The table of all issue types. docs/reference/issues.md is generated from it.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{CallId, CheckpointId, Code, NextStep, RunId, Severity};

/// The step that fixes an issue or shows more about it.
///
/// The enum is closed, because interfaces have words for each variant.
#[derive(Clone, Debug)]
pub enum Remedy {
    /// Edit the file at the place of the issue.
    Edit,
    /// Read the file that the issue names.
    ReadFile,
    /// A step for the file at the place of the issue.
    File(fn(String) -> NextStep),
    /// A step for the tool.
    Tool(fn(String) -> NextStep),
    /// A step for the runtime or pin; for the tool if there is neither.
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

crate::words! {
    /// What an issue is about.
    #[non_exhaustive]
    Area {
        /// The catalog as a file.
        Catalog = "catalog",
        /// One tool.
        Tool = "tool",
        /// Projections: files that harnesses read.
        Projection = "projection",
        /// Runtimes, and tools that need them.
        Runtime = "runtime",
        /// The policy, and tools that it does not allow.
        Policy = "policy",
        /// Calls in the queue.
        Call = "call",
        /// Runs and their receipts.
        Run = "run",
        /// Checkpoints.
        Checkpoint = "checkpoint",
        /// The kitchen: its configuration, PRDs, journals and receipts.
        Kitchen = "kitchen",
        /// The files of agent programs that discovery reads.
        Discovery = "discovery",
        /// The state as a whole.
        State = "state",
    }
}

impl Area {
    /// Returns whether checks for its issues need a catalog.
    pub const fn needs_catalog(self) -> bool {
        matches!(self, Area::Catalog | Area::Tool | Area::Projection)
    }
}

/// Defines the enum and its table, so that every type has all texts.
macro_rules! issue_types {
    ($($area:ident { $(
        $variant:ident = $code:literal, $severity:ident, $title:literal, $explanation:literal, $fix:expr;
    )+ })+) => {
        /// A kind of issue.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum IssueType {
            $($(#[doc = $title] $variant,)+)+
        }

        impl IssueType {
            /// Returns all types, by area.
            pub const fn all() -> &'static [IssueType] {
                &[$($(IssueType::$variant,)+)+]
            }

            /// Returns the code in reports and records. Its meaning never changes.
            pub const fn code(self) -> &'static str {
                match self { $($(IssueType::$variant => $code,)+)+ }
            }

            /// Returns the default severity.
            pub const fn severity(self) -> Severity {
                match self { $($(IssueType::$variant => Severity::$severity,)+)+ }
            }

            /// Returns the default area.
            pub const fn area(self) -> Area {
                match self { $($(IssueType::$variant => Area::$area,)+)+ }
            }

            /// Returns the title.
            pub const fn title(self) -> &'static str {
                match self { $($(IssueType::$variant => $title,)+)+ }
            }

            /// Returns the explanation: why it matters and what to do.
            pub const fn explanation(self) -> &'static str {
                match self { $($(IssueType::$variant => $explanation,)+)+ }
            }

            /// Returns the step that fixes it or shows more.
            pub const fn fix(self) -> Remedy {
                match self { $($(IssueType::$variant => $fix,)+)+ }
            }
        }
    };
}

issue_types! {
    Catalog {
        Config = "config", Error, "The catalog or one of its entries is invalid",
            "An entry with an error cannot be projected or called until it is fixed; calls of other tools run. Until the file has no error, commands that read all of it (`list`, `plan`, `apply`, `doctor`) exit with 1.", Remedy::Edit;
        UnknownKey = "unknown_key", Warning, "Unknown key",
            "The key has no effect. It may be misspelled or in the wrong table.", Remedy::Edit;
        ConfigWarning = "config_warning", Warning, "A valid value that is probably a mistake",
            "The file is used, but this value may not have the intended effect.", Remedy::Edit;
        UserCatalogUnsafe = "user_catalog_unsafe", Error, "A file of the user could be changed by others",
            "Its tools and runtimes are ignored. Read what it says first; then make yourself its owner, and remove write permission for others.",
            Remedy::File(NextStep::CloseFile);
        EntryShadowed = "entry_shadowed", Info, "An entry of the user that an entry of the project replaces",
            "The nearest entry of an id is the tool, also if it is disabled or broken.", Remedy::Tool(NextStep::ShowTool);
        AliasTaken = "alias_taken", Warning, "An alias that another tool has, too",
            "The alias leads to no tool. Ids are not affected.", Remedy::Edit;
    }

    Tool {
        ReservedToolId = "reserved_tool_id", Warning, "An id that is a name of a tool of Brigade",
            "Agents are not shown the entry, because it would stand in for a tool of Brigade. Give it another id.", Remedy::Edit;
        ToolNameClash = "tool_name_clash", Warning, "Tools that agents would be shown under one name",
            "None of them is listed with this spelling of names. Give one another id.", Remedy::Edit;
        OfferClash = "offer_clash", Warning, "A resource or prompt that several MCP servers have",
            "Agents are shown none of them, and read them only with `resource.read` or `prompt.get`, which take the server. Narrow the patterns of one `[[upstream]]` in gateway.toml.",
            Remedy::Edit;
        UpstreamUnknown = "upstream_unknown", Warning, "An `[[upstream]]` of gateway.toml without tools",
            "It sets nothing and offers nothing: a server is started as one of its enabled tools says. `id` is the `mcp_server_id` of tools in tools.toml.", Remedy::Edit;
        AmbiguousLabel = "ambiguous_label", Warning, "A capability with the name of a permission or effect",
            "Capabilities say what a tool is good for; permissions and effects say what it needs and does. Use different words.", Remedy::Edit;
        UnsafeAuthFields = "unsafe_auth_fields", Warning, "A field seems to hold a secret",
            "The catalog must hold labels, not secrets. Bind the secret through env_labels and the policy's env_bindings.",
            Remedy::Edit;
        SecretInCatalog = "secret_in_catalog", Error, "A field of the contract seems to hold a secret",
            "The contract is stored with every call and shown to everyone, so all calls are refused. Remove the secret, bind it through env_labels and the policy's env_bindings, and revoke the old one.",
            Remedy::Edit;
        SecretInDescription = "secret_in_description", Warning, "A description seems to hold a secret",
            "It is masked in output and projections. Remove it from the catalog and revoke it.",
            Remedy::Edit;
        MissingRuntime = "missing_runtime", Error, "An MCP tool without a runtime",
            "Calls of MCP tools need a local runtime. Set runtime_id.", Remedy::Edit;
        MissingMcpToolName = "missing_mcp_tool_name", Error, "An MCP tool without a tool name",
            "The name selects the tool at the server. Set mcp_tool_name.", Remedy::Edit;
        MissingCommand = "missing_command", Error, "The command is missing, or its program or script is not found",
            "The tool cannot run on this host until its command names an installed program.", Remedy::Edit;
        ToolMissing = "tool_missing", Warning, "A tool that is not there",
            "What its entry says to look at is not on this host. `availability = \"conditional\"` says that it need not be.",
            Remedy::Tool(NextStep::ShowTool);
        ToolOutdated = "tool_outdated", Warning, "A tool in a version that does not suit",
            "The installed version does not satisfy `version` of the entry. Running the checks asks again.",
            Remedy::Tool(NextStep::ShowTool);
        MissingContract = "missing_contract", Warning, "A callable tool without a contract",
            "Calls need a contract. Add an input schema, effects and an approval mode.", Remedy::Edit;
        MissingInputSchema = "missing_input_schema", Error, "A tool without an input schema",
            "Arguments cannot be checked, so all calls are refused.", Remedy::Edit;
        MissingOutputSchema = "missing_output_schema", Warning, "The output schema is missing",
            "The file that output_schema_path names does not exist or cannot be read.", Remedy::Edit;
        InvalidInputSchema = "invalid_input_schema", Error, "The input schema is not JSON",
            "The file cannot be read as JSON, so all calls are refused.", Remedy::Edit;
        InvalidOutputSchema = "invalid_output_schema", Warning, "The output schema is not JSON",
            "The file cannot be read as JSON.", Remedy::Edit;
        UnsupportedInputSchema = "unsupported_input_schema", Error, "The input schema cannot be used",
            "It is not a valid JSON Schema of objects, so all calls are refused.", Remedy::Edit;
        UncheckedInputSchema = "unchecked_input_schema", Warning, "The input schema cannot be judged here",
            "It refers to another document, or uses `$dynamicRef`, another dialect or a pattern that takes unbounded time. Arguments are not checked, so a person approves each call.", Remedy::Edit;
        IgnoredSchemaKeywords = "ignored_schema_keywords", Info, "A schema with keywords that have no effect",
            "JSON Schema ignores keywords that it does not know. A misspelt one checks nothing.", Remedy::Edit;
        ImpossibleInputSchema = "impossible_input_schema", Warning, "The input schema accepts no arguments",
            "It requires a property that it does not describe, and refuses properties that it does not describe. Every call is refused.", Remedy::Edit;
        UnsupportedOutputSchema = "unsupported_output_schema", Warning, "The output schema cannot be used or judged",
            "Programs that rely on the schema may expect more of the output than Brigade can check.", Remedy::Edit;
        MissingExamples = "missing_examples", Warning, "The examples file is missing",
            "The file that examples_path names does not exist or cannot be read.", Remedy::Edit;
        UnsafeEnvLabels = "unsafe_env_labels", Error, "An env label that is not allowed",
            "A label must be a name, not a value, and must not affect how programs are found or loaded.", Remedy::Edit;
        BadArgumentTemplate = "bad_argument_template", Error, "An invalid argument template",
            "Names in templates consist of letters, digits and `_`, and must be arguments of the input schema.", Remedy::Edit;
        PathOutside = "path_outside", Error, "A path that leads out of the workspace",
            "The path blocks calls and projections until the policy lists its directory in `outside` under `[paths]`.", Remedy::Edit;
        MissingCwd = "missing_cwd", Error, "The working directory is missing",
            "The tool cannot start until cwd names a directory.", Remedy::Edit;
        MissingSource = "missing_source", Warning, "The source file is missing",
            "Without its source the tool cannot be projected.", Remedy::Edit;
        MissingManifest = "missing_manifest", Warning, "The manifest is missing",
            "The file that manifest_path names does not exist or cannot be read.", Remedy::Edit;
        MissingSchema = "missing_schema", Warning, "The tool's schema file is missing",
            "The file that schema_path names does not exist or cannot be read.", Remedy::Edit;
        InvalidSchema = "invalid_schema", Warning, "The tool's schema is not JSON",
            "The file that schema_path names cannot be read as JSON.", Remedy::Edit;
        MissingHealth = "missing_health", Warning, "The health summary is missing",
            "The file that health_path names does not exist. The program that writes it may not have run.", Remedy::Edit;
        StaleHealth = "stale_health", Warning, "The health summary is old",
            "It was last written more than 48 hours ago. The program that writes it may have stopped.", Remedy::Tool(NextStep::ShowTool);
        HighRiskCommand = "high_risk_command", Error, "A command that hides what runs",
            "Calls are refused. Put the steps into a reviewed script and use that as the command.", Remedy::Edit;
        InlineCode = "inline_code", Info, "A command with code for an interpreter",
            "The code is reviewed and approved with the command. `inline_code = \"refuse\"` under `[commands]` in policy.toml refuses such commands.", Remedy::Edit;
        CodeNotBound = "code_not_bound", Error, "A command with a path that an approval cannot bind",
            "Calls are refused. Name the file to run in the command by a path that means the same in each process.", Remedy::Edit;
        UndeclaredCode = "undeclared_code", Warning, "A command that chooses its code itself, without `code`",
            "An approval does not bind what `make`, `npm run` or `python3 -m` load. Declare `code`, or write `reads = \"closed\"` under `[sandbox]`. `undeclared_code = \"refuse\"` under `[commands]` in policy.toml refuses such calls.", Remedy::Edit;
        ShellWords = "shell_words", Info, "A command with words that only a shell reads",
            "No shell reads a command: `|`, `>` or `&&` is an argument of the program. Put the steps into a script and use that as the command.", Remedy::Edit;
        InvalidMcpServer = "invalid_mcp_server", Warning, "An invalid MCP server entry",
            "Each entry of mcpServers must be an object with a command.", Remedy::Edit;
        MissingTimeout = "missing_timeout", Warning, "An MCP server without a timeout",
            "Harnesses that read this file may wait forever for a server that hangs.", Remedy::Edit;
        McpToolChanged = "mcp_tool_changed", Error, "The listing of an MCP tool differs from its pin",
            "Calls are refused until the change is accepted. Approving a call that was queued after the change accepts it.",
            Remedy::Object(NextStep::ShowPin);
        ServerUpdated = "server_updated", Warning, "An MCP server lists its tools differently than the catalog",
            "A new release of the server changed, added or removed tools. An update shows what changed, and accepts pins and entries together.",
            Remedy::Object(NextStep::UpdateServer);
        McpToolVanished = "mcp_tool_vanished", Warning, "The server no longer lists an MCP tool",
            "Calls are refused until the server lists the tool again. For tools that are not pinned, `pins accept` accepts the new list.",
            Remedy::Object(NextStep::ShowPin);
        McpToolAppeared = "mcp_tool_appeared", Warning, "The server lists a new MCP tool",
            "It cannot be called until it is in the catalog. Accept the new list with `pins accept`, or add the tool with `import mcp`.",
            Remedy::Object(NextStep::ShowPin);
        McpPinUnreadable = "mcp_pin_unreadable", Error, "The pin of an MCP tool cannot be read",
            "Calls are refused while the file is unreadable. If you remove it, the next call pins the tool again.", Remedy::ReadFile;
        McpServerFailed = "mcp_server_failed", Warning, "Cannot list the tools of an MCP server",
            "The server was not started, did not answer, or gave an invalid answer. If the policy refused it, `policy explain` shows why.",
            Remedy::Tool(NextStep::DescribeTool);
        McpToolDuplicate = "mcp_tool_duplicate", Warning, "The server lists an MCP tool more than once",
            "The tool cannot be called.", Remedy::Tool(NextStep::DescribeToolLive);
        McpToolNew = "mcp_tool_new", Info, "An MCP tool that is in neither the catalog nor a pin",
            "It cannot be called until it is in the catalog.", Remedy::Object(NextStep::TryImportMcp);
        McpContractDiffers = "mcp_contract_differs", Warning, "The input schema differs from the server's",
            "Calls are checked against the stored schema, and the server may refuse them. Review the schema and queue calls again.",
            Remedy::Edit;
        ToolReadsUnbound = "tool_reads_unbound", Warning, "The last run loaded code that no approval binds",
            "The code can change between approval and run. Declare it as `code` of the entry, which ends approvals of the tool's calls.",
            Remedy::Tool(NextStep::DeclareUsed);
        EffectsUndeclared = "effects_undeclared", Warning, "The last run had effects that the entry does not declare",
            "Policy and approvals decide by the declared effects. Effects that the sandbox denied count, too.",
            Remedy::Tool(NextStep::DeclareUsed);
        EffectsUnused = "effects_unused", Info, "The last run had none of a declared effect",
            "The sandbox opens what the entry declares. Other calls may need it; `observe` sums up more runs.",
            Remedy::Tool(NextStep::ObserveTool);
        McpNoServer = "mcp_no_server", Info, "A pin without a server",
            "No enabled tool in the catalog defines how to start the server.", Remedy::Object(NextStep::ShowPin);
    }

    Projection {
        ParityGap = "parity_gap", Warning, "A harness without a projection target",
            "The tool supports the harness, but has no projection configured for it.", Remedy::Edit;
        MissingProjection = "missing_projection", Warning, "A projection that has not been written",
            "The harness cannot see the tool until the projection is applied.", Remedy::Tool(NextStep::Apply);
        StaleProjection = "stale_projection", Warning, "A projection that is out of date",
            "The source or the rendering has changed since the file was written.", Remedy::Tool(NextStep::Apply);
        ConflictedProjection = "conflicted_projection", Warning, "A projection with local edits",
            "Applying would overwrite the edits. Move them to the source, or apply without a dry run to overwrite them.",
            Remedy::Tool(NextStep::TryApplyForced);
        UnmanagedProjection = "unmanaged_projection", Warning, "A file that Brigade did not write is at the projection's path",
            "Move the file, or apply without a dry run to overwrite it.", Remedy::Tool(NextStep::TryApplyForced);
        SkillUnreadable = "skill_unreadable", Warning, "A skill that the harness may reject",
            "Its name, directory or front matter does not follow the Agent Skills format and cannot be fixed automatically.", Remedy::Edit;
        ProjectionNotRead = "projection_not_read", Info, "A projection at a path that the harness does not read",
            "The file is written, but the harness does not load it automatically. `harness show` lists what it reads.",
            Remedy::Tool(NextStep::PlanProjections);
        ProjectionRefused = "projection_refused", Error, "A projection target that is not allowed",
            "A target must not be a directory, inside .git or .brigade, or outside the workspace.", Remedy::Edit;
        OrphanedProjection = "orphaned_projection", Warning, "An orphaned projection",
            "Its tool or target was removed from the catalog, but the harness still sees the file. Files with local edits are kept.",
            Remedy::Step(NextStep::ApplyAllAndPrune);
    }

    Runtime {
        RuntimeConfig = "runtime_config", Error, "runtimes.toml or one of its entries is invalid",
            "The runtime cannot be started until its entry is fixed.", Remedy::Edit;
        RuntimeHighRiskCommand = "runtime_high_risk_command", Error, "A runtime command that hides what runs",
            "The runtime cannot be started. Put the steps into a reviewed script.", Remedy::Edit;
        RuntimeEnvMissing = "runtime_env_missing", Error, "A label of a runtime has no value",
            "The runtime cannot be started. Bind the label to a variable under `env_bindings` of the policy, and set that variable.", Remedy::Edit;
        RuntimeSecretInCommand = "runtime_secret_in_command", Error, "A runtime command seems to hold a secret",
            "The runtime cannot be started, because commands are stored and shown. Let the program read the secret from a file that only you can read.", Remedy::Edit;
        RuntimeBadCommand = "runtime_bad_command", Error, "A runtime command cannot be parsed or its program is not found",
            "The runtime cannot be started.", Remedy::Edit;
        RuntimeMissingCwd = "runtime_missing_cwd", Error, "The runtime's working directory is missing",
            "The runtime cannot be started.", Remedy::Edit;
        RuntimeStalePid = "runtime_stale_pid", Warning, "A runtime exited without being stopped",
            "Its metadata names a process that no longer exists. Stop the runtime to clear the metadata.",
            Remedy::Object(NextStep::StopRuntime);
        RuntimePortConflict = "runtime_port_conflict", Warning, "Another program uses the runtime's port",
            "The runtime cannot listen until the other program exits or you configure another port.",
            Remedy::Object(NextStep::ShowRuntime);
        RuntimeHealthFailed = "runtime_health_failed", Warning, "A running runtime is not healthy",
            "Calls that require it are refused.", Remedy::Object(NextStep::RestartRuntime);
        RuntimeLogTooLong = "runtime_log_too_long", Warning, "A runtime log is too long",
            "The runtime was started by an older version and writes its log itself, so the log is not rotated. Restart it.",
            Remedy::Object(NextStep::RestartRuntime);
        RuntimeLogWriterGone = "runtime_log_writer_gone", Warning, "A runtime's log writer was killed",
            "Its output is lost, and it may exit with a broken pipe. Restart it.", Remedy::Object(NextStep::RestartRuntime);
        RuntimeOutdated = "runtime_outdated", Warning, "A runtime runs with an outdated configuration",
            "Its command or working directory has changed since it was started. Restart it to use the new configuration.",
            Remedy::Object(NextStep::RestartRuntime);
        RuntimeLeft = "runtime_left", Warning, "A runtime runs without an entry",
            "Its entry was removed or renamed while it ran. It keeps running until you stop it by its old id.",
            Remedy::Object(NextStep::StopRuntime);
        RuntimeMissing = "runtime_missing", Error, "A tool whose runtime is not configured",
            "Calls of the tool are refused until the runtime is configured.", Remedy::Edit;
        RuntimeStopped = "runtime_stopped", Warning, "A tool whose runtime is not running",
            "Calls of the tool are refused until the runtime is started.", Remedy::Object(NextStep::StartRuntime);
        RuntimeUnhealthy = "runtime_unhealthy", Warning, "A tool whose runtime is stale, unmanaged or not healthy",
            "Calls of the tool are refused until the runtime is healthy.", Remedy::Object(NextStep::RestartRuntime);
        RuntimeUnmanaged = "runtime_unmanaged", Warning, "A process may be the runtime, but cannot be verified",
            "The runtime is neither stopped nor started again. If the process is the runtime, end it; otherwise remove the pid file.",
            Remedy::Object(NextStep::ShowRuntime);
        RuntimeOutsidePath = "runtime_outside_path", Error, "A runtime path that leads out of the workspace",
            "Brigade writes nothing there. Only `cwd` may be outside, if policy.toml lists its directory in `outside` under `[paths]`. `doctor` reports it as `path_outside`.",
            Remedy::Edit;
        RuntimeDisabled = "runtime_disabled", Error, "A disabled runtime",
            "It cannot be started until its entry has `enabled = true`.", Remedy::Edit;
    }

    Policy {
        PolicyMissing = "policy_missing", Warning, "No policy",
            "Without a policy, every approved call may run, without a sandbox.", Remedy::Step(NextStep::InitPolicy);
        PolicyConfig = "policy_config", Error, "The policy is invalid",
            "An invalid policy blocks every plan and every run.", Remedy::Edit;
        PolicyTracked = "policy_tracked", Error, "Git tracks a policy with rules that approve calls",
            "A cloned repository must not approve anything by itself. `tracked_state` reports the file, too.",
            Remedy::Step(NextStep::AdoptState);
        TrackedState = "tracked_state", Error, "Git tracks state, the policy or gateway configuration",
            "A cloned repository must not bring approvals or settings. Take the file out of the repository (`git rm --cached`). A person may accept configuration as it is.",
            Remedy::Step(NextStep::AdoptState);
        GatewayConfigInvalid = "gateway_config_invalid", Error, "gateway.toml or profiles.toml is invalid",
            "The gateway does not start, and one that runs keeps what it read last.", Remedy::Edit;
        PolicyBlocker = "policy_blocker", Warning, "The policy does not allow the tool",
            "A rule of the policy refuses calls of the tool.", Remedy::Tool(NextStep::ExplainPolicy);
        PolicyMissingEnv = "policy_missing_env", Warning, "An env label without a variable",
            "The policy does not bind the label, or its variable is not set.",
            Remedy::Tool(NextStep::ExplainPolicy);
        PolicyDeniedEffect = "policy_denied_effect", Warning, "An effect that the policy denies",
            "Calls of the tool are refused.", Remedy::Tool(NextStep::ExplainPolicy);
        PolicyTimeout = "policy_timeout", Warning, "A timeout above the policy's maximum",
            "Calls of the tool are refused.", Remedy::Tool(NextStep::ExplainPolicy);
        PolicyRuntime = "policy_runtime", Warning, "A runtime that the policy does not allow",
            "Calls of the tool are refused.", Remedy::Tool(NextStep::ExplainPolicy);
        PolicyApproval = "policy_approval", Warning, "An approval mode that the policy does not allow",
            "Calls of the tool are refused.", Remedy::Tool(NextStep::ExplainPolicy);
        PolicyPathClosed = "policy_path_closed", Warning, "A key that opens nothing, because the place stays closed",
            "`.brigade` and `.git` stay closed whatever `write_paths` says: a write there fails. Remove the path. To let a tool commit, give it the effect `git-write` and write `git = \"write\"` under `[sandbox.tool.ID]`, or use the tool `git.commit`.", Remedy::Edit;
        SandboxUnavailable = "sandbox_unavailable", Error, "The sandbox cannot be enforced here",
            "The policy requires a sandbox that this system cannot fully enforce.", Remedy::Step(NextStep::ShowPolicy);
    }

    Call {
        CallStalePending = "call_stale_pending", Warning, "A call has been pending for days",
            "Approve, hold or reject it.", Remedy::Call(NextStep::ShowCall);
        NotApprovedHere = "not_approved_here", Warning, "An approval does not count on this host",
            "It has no valid MAC of this host's key, so what it approves counts as pending. Approve again, or accept what another host approved.",
            Remedy::Step(NextStep::AdoptState);
        CallBlocked = "call_blocked", Warning, "A queued call cannot be approved",
            "Its plan had blockers. Fix them and queue the call again, or reject it.", Remedy::Call(NextStep::ShowCall);
        CallStaleApproved = "call_stale_approved", Warning, "An approved call is out of date",
            "The call would not run what was approved, so it is refused. Queue and approve it again.",
            Remedy::Call(NextStep::ShowCall);
        CallRunningStale = "call_running_stale", Warning, "A call has been running for hours",
            "Its runner is alive. The call ends at its timeout, or when the runner is interrupted.",
            Remedy::Call(NextStep::ShowCall);
        CallInterrupted = "call_interrupted", Warning, "A call was interrupted",
            "It was ended before it was done. If its runner is gone, it is unknown what the call did. It is never run again automatically. A replay queues a new call.",
            Remedy::Call(NextStep::ShowCall);
        CallFailed = "call_failed", Warning, "A call failed",
            "Its receipt and logs show why. A later successful call with the same arguments clears this issue.", Remedy::Call(NextStep::ShowCall);
        CallHeld = "call_held", Info, "A call is on hold",
            "Approve or reject it.", Remedy::Call(NextStep::ShowCall);
        CallRejected = "call_rejected", Info, "A call was rejected",
            "It can be queued again only with other arguments or another contract.", Remedy::Call(NextStep::ShowCall);
        UnreadableLines = "unreadable_lines", Warning, "Unreadable lines in the queue or the inbox",
            "The next write moves them to a quarantine file. Nothing is lost.", Remedy::Step(NextStep::Fix);
        QuarantinedLines = "quarantined_lines", Warning, "Unreadable lines were quarantined",
            "The lines are kept in the quarantine file. Inspect them, then move the file away.", Remedy::ReadFile;
    }

    Run {
        RunReceiptInvalid = "run_receipt_invalid", Warning, "A receipt cannot be read",
            "The file is not a receipt, or is damaged.", Remedy::Step(NextStep::CheckState);
        RunLedgerBroken = "run_ledger_broken", Error, "The chain of receipts is broken",
            "A receipt or its ledger entry was changed, removed, reordered, added or cut off.", Remedy::Step(NextStep::VerifyRuns);
        RunFailed = "run_failed", Warning, "A run failed",
            "Its receipt and logs show why. Its call is reported as well. A later successful run with the same arguments clears both issues.",
            Remedy::Run(NextStep::ShowRun);
        McpExecutionFailed = "mcp_execution_failed", Warning, "A run of an MCP tool failed",
            "Its receipt holds the server's answer. A later successful run with the same arguments clears this issue.",
            Remedy::Run(NextStep::ShowRun);
        McpMalformedResponse = "mcp_malformed_response", Warning, "An MCP server violated the protocol during a run",
            "Its receipt names the answer. The raw log holds the messages.", Remedy::Run(NextStep::ShowRun);
        McpToolMismatch = "mcp_tool_mismatch", Warning, "The tool of a run does not match its server's list",
            "The tool is not listed, is listed twice, differs from its pin, or the list could not be read. It was not called.",
            Remedy::Run(NextStep::ShowRun);
        RunTimedOut = "run_timed_out", Warning, "A run timed out",
            "Raise the timeout, or find out what it waited for. A later successful run with the same arguments clears this issue.",
            Remedy::Run(NextStep::ShowRun);
        RunMissingLog = "run_missing_log", Warning, "A log of a run is missing",
            "The receipt names a log that does not exist.", Remedy::Run(NextStep::ShowRun);
        RunReplayBlocked = "run_replay_blocked", Info, "A run cannot be replayed",
            "The tool, a runtime or the policy has changed since the run.", Remedy::Run(NextStep::ShowRun);
    }

    Checkpoint {
        CheckpointInvalid = "checkpoint_invalid", Warning, "A checkpoint cannot be read or was changed",
            "The file is not a checkpoint, is damaged or missing, or differs from the record of its call. The call cannot continue until the file matches the record.",
            Remedy::ReadFile;
        CheckpointExpired = "checkpoint_expired", Warning, "A checkpoint has expired",
            "It can no longer be resumed. Reject the checkpoint and replay the run.",
            Remedy::Run(NextStep::Replay);
        CheckpointStale = "checkpoint_stale", Warning, "A checkpoint has been open for days",
            "Approve it, reject it or resume it.", Remedy::Checkpoint(NextStep::ShowCheckpoint);
        CheckpointBlocked = "checkpoint_blocked", Warning, "A checkpoint cannot be resumed",
            "The call, its contract, its source, a runtime or the policy has changed. Undo the change, or reject the checkpoint and replay the run.",
            Remedy::Checkpoint(NextStep::ShowCheckpoint);
        CheckpointRejected = "checkpoint_rejected", Info, "A checkpoint was rejected",
            "Its call stays paused until it is rejected, too.", Remedy::Checkpoint(NextStep::ShowCheckpoint);
        CheckpointFailed = "checkpoint_failed", Warning, "The resume of a checkpoint failed",
            "The receipt of the resumed run shows why.", Remedy::Checkpoint(NextStep::ShowCheckpoint);
    }

    Kitchen {
        KitchenConfig = "kitchen_config", Error, "The configuration of the kitchen is invalid",
            "`brigade.config`, kitchen.toml or a role text has an error. Nothing of the kitchen starts until it is fixed.", Remedy::Edit;
        KitchenConfigWarning = "kitchen_config_warning", Warning, "A value in the configuration of the kitchen has no effect",
            "The value is out of range, unknown or unused. The default applies.", Remedy::Edit;
        KitchenRefused = "kitchen_refused", Error, "Workers cannot be started",
            "The command, the adapter or the policy of a tier do not match.", Remedy::Step(NextStep::ListWorkers);
        KitchenWorkerMissing = "kitchen_worker_missing", Warning, "The program of a tier is not there",
            "A service that needs the tier does not start. Install the program, or set another command for the tier.",
            Remedy::Step(NextStep::ListWorkers);
        KitchenPrdInvalid = "kitchen_prd_invalid", Error, "A PRD has errors",
            "It can be neither approved nor served until they are fixed.", Remedy::Object(NextStep::ValidatePrd);
        KitchenApprovalStale = "kitchen_approval_stale", Warning, "A PRD changed after it was approved",
            "Tasks, commands, workers or the policy changed. Review the changes and approve it again; until then no task starts.",
            Remedy::Object(NextStep::ApprovePrd);
        KitchenInterrupted = "kitchen_interrupted", Warning, "A service was killed",
            "Its workers ended too. Finished work is recorded; resume to continue.", Remedy::Object(NextStep::ResumePrd);
        KitchenTaskFailed = "kitchen_task_failed", Warning, "A task failed or is blocked",
            "Nothing that depends on it begins. Try it again or leave it out.", Remedy::Object(NextStep::RetryPrd);
        KitchenBranchLostWork = "kitchen_branch_lost_work", Warning, "The branch of a PRD does not hold work that is done",
            "Somebody deleted the branch or put it elsewhere. Nothing is built on it until it holds the commits of the tasks that are done.",
            Remedy::Object(NextStep::KitchenStatus);
        KitchenDecisionStale = "kitchen_decision_stale", Warning, "A decision of the kitchen has waited for days",
            "Answer it; until then its task and what depends on it stand still.", Remedy::Object(NextStep::AnswerDecision);
        KitchenMarked = "kitchen_marked", Warning, "Somebody else marked a task as done",
            "`passes` is true in the file, but the journal does not know that the task is done. It counts after the PRD is approved again.",
            Remedy::Object(NextStep::ApprovePrd);
        KitchenJournalDamaged = "kitchen_journal_damaged", Warning, "A journal of the kitchen has lines that are no records",
            "The next service or answer moves them to a quarantine file. Nothing is lost.", Remedy::ReadFile;
        KitchenLinesSetAside = "kitchen_lines_set_aside", Warning, "Lines of a journal of the kitchen were set aside",
            "They were no records, and are kept in the quarantine file. Inspect them, then move the file away.", Remedy::ReadFile;
        KitchenJournalLost = "kitchen_journal_lost", Error, "Records of a journal of the kitchen are missing",
            "Lines were removed from the journal. Compare the file with a backup, and the branch with what `status` shows.",
            Remedy::ReadFile;
        KitchenJournalNewer = "kitchen_journal_newer", Warning, "A journal of the kitchen was written by a newer version",
            "This version reads it and changes nothing in it. Use the newer version for this PRD.", Remedy::ReadFile;
        KitchenReceiptsBroken = "kitchen_receipts_broken", Error, "The chain of the kitchen's receipts is broken",
            "A receipt or its entry was changed, removed, reordered, added or cut off.", Remedy::Step(NextStep::VerifyKitchenReceipts);
        KitchenWorktreeLeft = "kitchen_worktree_left", Info, "The worktree of a task that is done is still there",
            "Its work is in the branch. Cleaning removes it.", Remedy::Object(NextStep::CleanKitchen);
    }

    Discovery {
        ClientFileInvalid = "client_file_invalid", Error, "A file of an agent program cannot be read as what it is",
            "Its entries are unknown. What it said at an earlier `tools sync` is kept.", Remedy::Edit;
        ClientFileUnreadable = "client_file_unreadable", Error, "A file of an agent program cannot be opened",
            "It is not a plain file, may not be read, is too large, or is a link out of the workspace. Its entries are unknown.", Remedy::Edit;
        ClientFileLoose = "client_file_loose", Warning, "A file of an agent program has what its program may not read",
            "Comments and trailing commas are read here. The program of the file may refuse them.", Remedy::Edit;
        ProgramNotRead = "program_not_read", Info, "An agent program is installed whose files are not read",
            "Its MCP servers and skills are not part of this view. Look at them in the program itself.", Remedy::Edit;
        TooManyEntries = "too_many_entries", Warning, "There are more entries than are read",
            "The others are unknown. Remove entries that are not needed.", Remedy::Edit;
        ServerInvalid = "server_invalid", Warning, "An MCP server is not an object",
            "It is left out. Write its command or URL as keys of an object.", Remedy::Edit;
        ServerWithoutCommand = "server_without_command", Warning, "An MCP server has neither a command nor a URL",
            "Nothing can start or reach it. Give it `command` or `url`.", Remedy::Edit;
        ServerAmbiguous = "server_ambiguous", Warning, "An MCP server has both a command and a URL",
            "Programs differ in which of them they use. Remove one.", Remedy::Edit;
        ServerTypeUnclear = "server_type_unclear", Info, "The type of an MCP server is missing or unknown",
            "Its other keys decide how it is read. Its program may ask for `type`.", Remedy::Edit;
        CommandInOneText = "command_in_one_text", Warning, "The command of an MCP server has all its words in one text",
            "A program that starts it without a shell finds no such file. Move the arguments to `args`.", Remedy::Edit;
        FieldInvalid = "field_invalid", Warning, "A field has another form than it should",
            "The value is left out or read as the nearest form.", Remedy::Edit;
        DuplicateKey = "duplicate_key", Warning, "A key is there twice",
            "Programs differ in which of the values they use. Remove one.", Remedy::Edit;
        NameUnusual = "name_unusual", Info, "A name is not as its format has it",
            "The format does not allow the name, or the name differs from its directory. The program may not show the entry.", Remedy::Edit;
        FrontMatterInvalid = "front_matter_invalid", Warning, "A skill has no readable front matter",
            "Its name and description are taken from its directory and text.", Remedy::Edit;
        LiteralSecret = "literal_secret", Warning, "A secret is written in the file of an agent program",
            "It is not stored or shown here. Remove it there, and bind it through `env_bindings` of the policy for the tool that needs it.", Remedy::Edit;
    }

    State {
        StateUnreadable = "state_unreadable", Error, "A part of the state cannot be read",
            "Something else has its name, or it cannot be opened. Commands that need it fail until it is moved away.",
            Remedy::File(NextStep::LookAt);
        WideModes = "wide_modes", Warning, "State files that other users can read or write",
            "Calls, receipts and logs should be accessible to their owner only.", Remedy::Step(NextStep::Fix);
        DiscoveredCacheDamaged = "discovered_cache_damaged", Warning, "The cache of discovered tools cannot be used",
            "The tools of agent programs are unknown until the next sync. The next `tools sync` replaces a damaged cache; delete one that a newer version wrote.",
            Remedy::Step(NextStep::SyncRegistry);
        ClientEntryStale = "client_entry_stale", Warning, "A client's entry is not as it was written",
            "The client does not reach this workspace's gateway. Connect it again, or remove the entry.",
            Remedy::Object(NextStep::Connect);
        ClientBypassesGateway = "client_bypasses_gateway", Warning, "A client also starts a server of the catalog itself",
            "Such calls are not planned, approved or receipted. Remove the server from the client's file; the gateway offers its tools.",
            Remedy::Edit;
        DefinitionsDiffer = "definitions_differ", Warning, "A name has several definitions in the files of agent programs",
            "The same MCP server, skill or command is not the same in each program. Make the definitions alike, or rename one; `tools discover` shows them. Found at the last `tools sync`.",
            Remedy::Edit;
        RegisteredSourceChanged = "registered_source_changed", Warning, "The source of a registered tool changed",
            "The tool keeps its registered definition. Register it again in its place to take the new one; it is then disabled until reviewed. Found at the last `tools sync`.",
            Remedy::Edit;
        RegisteredSourceGone = "registered_source_gone", Warning, "The source of a registered tool is gone",
            "The tool stays; remove it if you no longer need it. Found at the last `tools sync`.",
            Remedy::Edit;
        ClientLiteralSecret = "client_literal_secret", Warning, "An agent program's file contains a secret",
            "Remove it there, and bind it through `env_bindings` of the policy for the tool that needs it. Found at the last `tools sync`.",
            Remedy::Edit;
        SwitchApprovals = "switch_approvals", Info, "Calls that v0.30 approved",
            "An approval of v0.30 does not cover the program and its files. Approve the calls again. A call whose arguments v0.30 wrote in another way, or without a secret, cannot be approved: queue it again.", Remedy::Step(NextStep::ListCalls);
        SwitchArguments = "switch_arguments", Info, "A template that v0.30 splits into words",
            "The value of a template is one word of the command line, whatever it contains. Write one template per word. An argument with the name of a secret is refused: take it from a label.", Remedy::Edit;
        SwitchEnvironment = "switch_environment", Info, "Tools and runtimes that had the whole environment in v0.30",
            "Tools and runtimes get PATH, HOME, the locale and the like, and the labels of their entry. List other variables in `pass` under `[environment]` in policy.toml.", Remedy::Edit;
        SwitchHooks = "switch_hooks", Warning, "An agent program has hooks that v0.30 installed",
            "They start the command `work hook-run` or `work presence-hook`, which has no effect in this version. Remove them from the file, or with v0.30: `work hooks uninstall`.", Remedy::Edit;
        SwitchMcp = "switch_mcp", Info, "An MCP tool without what a call of it needs here",
            "v0.30 calls an MCP tool without `timeout`, `permissions`, `effects` and `approval_mode`. Here its calls are blocked until the entry has them all.", Remedy::Edit;
        SwitchTimeout = "switch_timeout", Info, "A tool without a timeout, which had no limit in v0.30",
            "Its calls end after the policy's max_timeout, or after 300 s. Set timeout.", Remedy::Edit;
        LeftLock = "left_lock", Warning, "A process left a lock behind",
            "v0.30 never removes the lock and may wait for it.", Remedy::Step(NextStep::Fix);
    }
}

impl Code for IssueType {
    fn as_code(&self) -> &'static str {
        self.code()
    }
}

impl Serialize for IssueType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for IssueType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<IssueType, D::Error> {
        let code = String::deserialize(deserializer)?;
        let named = IssueType::all().iter().find(|kind| kind.code() == code);
        named.copied().ok_or_else(|| serde::de::Error::custom("not the code of an issue"))
    }
}

impl IssueType {
    /// Returns whether the issue is about something that a call needs: the entry, command, schemas, template, labels or
    /// pin.
    ///
    /// Sources, health summaries and other files that harnesses read are not needed for a call.
    pub fn is_of_contract(self) -> bool {
        let beside_calls = matches!(
            self,
            IssueType::UnsafeAuthFields
                | IssueType::MissingSource
                | IssueType::MissingManifest
                | IssueType::MissingSchema
                | IssueType::InvalidSchema
                | IssueType::UncheckedInputSchema
                | IssueType::IgnoredSchemaKeywords
                | IssueType::MissingHealth
                | IssueType::StaleHealth
                | IssueType::InvalidMcpServer
                | IssueType::MissingTimeout
                | IssueType::ToolReadsUnbound
                | IssueType::EffectsUndeclared
                | IssueType::EffectsUnused
        );
        self == IssueType::Config || (self.area() == Area::Tool && !beside_calls)
    }

    /// Returns the step that fixes it or shows more, for a tool, runtime or pin of this name. `None` if the step needs
    /// a file, a call, a run or a checkpoint.
    pub fn step_for(self, name: &str) -> Option<NextStep> {
        match self.fix() {
            Remedy::Tool(step) | Remedy::Object(step) => Some(step(name.to_owned())),
            Remedy::Step(step) => Some(step),
            Remedy::Edit
            | Remedy::ReadFile
            | Remedy::File(_)
            | Remedy::Call(_)
            | Remedy::Run(_)
            | Remedy::Checkpoint(_) => None,
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
            assert!(kind.code().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{kind:?}");
            assert!(!kind.title().ends_with('.') && kind.explanation().ends_with('.'), "{kind:?}");
            let written = serde_json::to_string(kind).unwrap();
            assert_eq!(written, format!("\"{}\"", kind.code()));
            assert_eq!(serde_json::from_str::<IssueType>(&written).unwrap(), *kind);
        }
        assert!(serde_json::from_str::<IssueType>("\"of_tomorrow\"").is_err());
        assert_eq!(IssueType::Config.name(), "tool_config");
        assert_eq!(IssueType::RuntimeConfig.name(), "runtime_config");
    }
}
