//! The stable codes of errors, of reasons why calls are refused, and of registrations.
//!
//! Issues have another table, `IssueType`.

use std::borrow::Cow;

/// Something with a code from a table, which is also documented.
pub trait Code {
    /// Returns the code, in `snake_case`.
    fn as_code(&self) -> &'static str;
}

macro_rules! codes {
    ($($(#[$doc:meta])* $group:ident { $($code:ident = $word:literal: $meaning:literal;)+ })+) => {
        crate::words! {
            /// The code of an error, of a reason or of a registration. In documents it is its word, in `snake_case`.
            ///
            /// Newer versions may have further codes, so documents that are read back keep codes as text.
            #[non_exhaustive]
            ErrorCode { $($(#[doc = $meaning] $code = $word,)+)+ }
        }

        impl ErrorCode {
            $($(#[$doc])* pub const $group: &[ErrorCode] = &[$(ErrorCode::$code),+];)+

            /// Returns the meaning, in one sentence.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $($(ErrorCode::$code => $meaning,)+)+
                }
            }
        }
    };
}

codes! {
    /// The codes of errors, also of those that built-in tools and the gateway answer agents.
    ERRORS {
        NotFound = "not_found": "Nothing has this name.";
        ToolMissing = "tool_missing": "No enabled tool has this id.";
        ToolDisabled = "tool_disabled": "The tool is disabled in the catalog (`enabled = false`).";
        CallMissing = "call_missing": "No call has this id or prefix.";
        RunMissing = "run_missing": "No run has this id or prefix, or nothing has run yet.";
        CheckpointMissing = "checkpoint_missing": "No checkpoint has this id or prefix.";
        RuntimeMissing = "runtime_missing": "No runtime has this id.";
        PackMissing = "pack_missing": "No tool pack has this id or prefix, or no pack was built yet.";
        PinMissing = "pin_missing": "No pin has this id.";
        HarnessMissing = "harness_missing": "No harness has this name.";
        ClientMissing = "client_missing": "No client has this name.";
        AgentMissing = "agent_missing": "gateway.toml names no agent of this name.";
        ProfileMissing = "profile_missing": "No profile has this name.";
        PrdMissing = "prd_missing": "There is no PRD at this path, or none that has pending tasks.";
        TaskMissing = "task_missing": "The PRD has no task with this id.";
        TaskUnready = "task_unready": "The task depends on tasks that are not done.";
        DecisionMissing = "decision_missing": "No decision with this id waits for an answer.";
        WaitingMissing = "waiting_missing": "Nothing with this id waits for a person.";
        MemoryMissing = "memory_missing": "No memory has this id or prefix.";
        PullRequestMissing = "pull_request_missing": "No pull request or thread has this id or number.";
        ScriptMissing = "script_missing": "No script has this id.";
        PlanMissing = "plan_missing": "No plan with this id waits for answers.";
        LoginRequired = "login_required": "The remote MCP server needs a login of a person.";
        LoginFailed = "login_failed": "The login to the remote MCP server was not made.";
        ServerToolMissing = "server_tool_missing": "The MCP server lists no tool of this name.";
        NothingApproved = "nothing_approved": "No approved call is ready to run.";
        WorkspaceMissing = "workspace_missing": "Neither the directory nor one above it has `.brigade`.";
        Ambiguous = "ambiguous": "The prefix of an id matches several ids; `candidates` lists them.";

        Refused = "refused": "The state, the policy or a person's decision does not allow the operation.";
        WrongState = "wrong_state": "The status of the call or checkpoint does not allow this step.";
        NotApprovedHere = "not_approved_here": "The record is not approved on this host: it has no valid MAC of the host's key. `brigade state adopt` shows such records and asks.";
        TrackedState = "tracked_state": "Git tracks a file that counts only on this host, so a cloned repository may have brought it. It does not count.";
        ChangedMeanwhile = "changed_meanwhile": "The record changed since it was read; look at it again.";
        InsideARun = "inside_a_run": "A program of a run asked for it. Nothing that decides or widens rights is done from inside a run.";
        AddressTaken = "address_taken": "The address or socket cannot be listened on: another process has it.";
        CallOfAgent = "call_of_agent": "The call belongs to an agent, and only that agent can run it. A person can approve, hold or reject it.";
        NotItsTurn = "not_its_turn": "Other calls of the agent run, in this gateway or another one. The call runs when one of them has ended.";
        AlreadyRun = "already_run": "The call was run or is running. A call runs only once.";
        NewerVersion = "newer_version": "A newer version of Brigade wrote the record. Use that version to change it.";
        CallBlocked = "call_blocked": "The call cannot be queued, approved or run. Each blocker has its own code.";
        NotReviewed = "not_reviewed": "A person must review it first: it changed since a person did, or since it was shown.";
        RuntimeNotReady = "runtime_not_ready": "The runtime is running, but was not ready within the time that was waited.";
        RuntimeBlocked = "runtime_blocked": "The runtime cannot be started. Each blocker has its own code.";
        ProcessesAlive = "processes_alive": "Some processes could not be ended.";
        RunFailed = "run_failed": "The program ran and failed.";
        PackConflict = "pack_conflict": "An entry or a source of the pack differs from one that exists, or is not valid.";
        EntryExists = "entry_exists": "The catalog has a different entry with this id.";
        ClientUnsupported = "client_unsupported": "The client cannot be connected this way.";
        ClientEntryForeign = "client_entry_foreign": "The client's file has an entry of our name that Brigade did not write.";

        AgentExists = "agent_exists": "gateway.toml has an agent of this name.";

        ServiceBusy = "service_busy": "Another service works through the PRD, or workers of one that was killed still run.";
        ApprovalNeeded = "approval_needed": "The PRD is not approved, or it changed after the approval.";
        JournalLost = "journal_lost": "Records of a running service are no longer in its journal. The service stops, because it can no longer tell what was approved and done.";
        BranchLostWork = "branch_lost_work": "The branch of a PRD does not hold the commits of tasks that are done. Nothing is built on it until it does.";
        KitchenRefused = "kitchen_refused": "The configuration or the policy refuses to start workers. Each reason has its own code.";
        ChefFailed = "chef_failed": "The executive returned no usable plan or map.";
        PrdNameTaken = "prd_name_taken": "Another PRD of the same file name was approved, and its tasks are recorded under it.";
        PrdInvalid = "prd_invalid": "The PRD has errors, or its file name is not one that Brigade can use.";
        ConfigInvalid = "config_invalid": "A configuration file has an error.";
        GatewayConfigInvalid = "gateway_config_invalid": "gateway.toml or profiles.toml has an error, so no agent is served.";
        TomlSyntax = "toml_syntax": "A configuration file is not valid TOML.";
        PolicyMissing = "policy_missing": "policy.toml does not exist.";
        CloseoutInvalid = "closeout_invalid": "A closeout cannot be read.";
        PinInvalid = "pin_invalid": "A pin cannot be read.";
        PackInvalid = "pack_invalid": "The directory is not a tool pack that can be read.";
        ClientFileInvalid = "client_file_invalid": "A client's file cannot be read or edited.";
        EnvelopeInvalid = "envelope_invalid": "An exported receipt is not valid.";

        TeamRole = "team_role": "The member's role in the team does not allow it.";
        TeamOwnCall = "team_own_call": "The call needs the approvals of other people than the one who queued it.";
        TeamUntrustedKey = "team_untrusted_key": "An approval of a team is signed with a key that the team knows, and this one is not.";
        TeamFailover = "team_failover": "The team's database was replaced and may have forgotten claims, so nothing is claimed before all hosts have reported theirs.";
        TeamNotJoined = "team_not_joined": "The workspace has not joined a team, or its file `team.toml` was not written on this host.";

        Usage = "usage": "The request is not valid.";
        NoTerminal = "no_terminal": "The command needs a terminal to draw on; its hints name commands that do the same without one.";
        TargetUnusable = "target_unusable": "The target is not a directory that can be opened.";
        FileExists = "file_exists": "The file to be created exists already.";
        WorkspaceNested = "workspace_nested": "The new workspace is within another one. This is a warning.";
        StatusUnknown = "status_unknown": "There is no such status.";
        FilterUnknown = "filter_unknown": "No area, issue type, tool or runtime has this name.";
        ReasonNeeded = "reason_needed": "The decision needs a reason.";

        TeamUrl = "team_url": "The address of the team's database is not valid, or has a password.";

        TeamUnreachable = "team_unreachable": "The team's database cannot be reached.";
        TeamTls = "team_tls": "The connection to the team's database cannot be encrypted, or its certificate is not valid.";
        TeamAuth = "team_auth": "The team's database does not accept the member's password or certificate.";
        TeamSchemaNewer = "team_schema_newer": "A newer version of Brigade made the team's tables. Use that version.";
        TeamSchemaOlder = "team_schema_older": "The database has no tables of a team, or older ones.";
        Environment = "environment": "The disk or the environment failed.";
        FileMissing = "file_missing": "A required file does not exist.";
        PermissionDenied = "permission_denied": "The user may not read or write the file.";
        DiskFull = "disk_full": "The disk or the quota is full.";
        DiskReadOnly = "disk_read_only": "The disk is read-only.";
        NotAFile = "not_a_file": "The path is not a file, or a part of it is not a directory.";
        PathOutside = "path_outside": "The path leads out of the workspace.";
        FileTooLarge = "file_too_large": "The file is too large.";
        Locked = "locked": "Another process holds the lock.";
        JournalBlocked = "journal_blocked": "The journal is not a file.";
        StoreBroken = "store_broken": "The store of the built-in tools is not a readable database, or belongs to another program.";
        RecordInvalid = "record_invalid": "A stored record cannot be read.";

        // What built-in tools and the gateway answer agents.
        AlreadyAnswered = "already_answered": "The question was answered already.";
        AlreadyEnded = "already_ended": "The task, command or execution has ended already.";
        AlreadyOpen = "already_open": "A pull request of this lane is open already.";
        AnswerPending = "answer_pending": "The question waits for a person. The same call again asks for the answer.";
        ApprovalHeld = "approval_held": "A person put the call on hold.";
        ApprovalPending = "approval_pending": "The call waits for a person's approval.";
        ApprovalRejected = "approval_rejected": "A person rejected the call.";
        Archived = "archived": "The lane was archived.";
        BlankQuery = "blank_query": "The query has no words to search for.";
        BlockerNeeded = "blocker_needed": "A report of status `blocked` does not say what blocks.";
        BrokeOff = "broke_off": "Brigade failed in the middle of a task or an execution. Its log says where.";
        Busy = "busy": "Too much is under way, or another call has what this one needs. Try again later.";
        Cancelled = "cancelled": "The call was cancelled.";
        ChangedSinceRead = "changed_since_read": "The file changed since it was read. Read it again.";
        ChangedSinceApproval = "changed_since_approval": "A file of a worker changed since its task was approved.";
        CheckpointPending = "checkpoint_pending": "The run waits for a person's answer.";
        DirtyTree = "dirty_tree": "Files have changes that are not committed.";
        DuplicateId = "duplicate_id": "Two entries of the list have one id.";
        EmptyTarget = "empty_target": "The text to replace is empty.";
        Failed = "failed": "The run failed.";
        FetchFailed = "fetch_failed": "The page could not be fetched.";
        FileError = "file_error": "The file could not be read or written.";
        GitFailed = "git_failed": "Git refused the operation or failed.";
        Gone = "gone": "The agent no longer waits for an answer.";
        HostNotFound = "host_not_found": "The host has no address.";
        InUse = "in_use": "Something else uses it, so it is not removed.";
        InWiderScope = "in_wider_scope": "A workflow of a wider scope has the name.";
        InsecureRedirect = "insecure_redirect": "The page leads from https to http.";
        Interrupted = "interrupted": "The run or task was interrupted.";
        InvalidAnswer = "invalid_answer": "The answer does not fit the question.";
        InvalidInput = "invalid_input": "The input does not fit the schema of the agent.";
        InvalidLanguage = "invalid_language": "The language of the script is not a name.";
        InvalidManifest = "invalid_manifest": "The manifest has faults; the answer lists them.";
        InvalidName = "invalid_name": "The name has characters that a name cannot have, or is too long.";
        InvalidOutput = "invalid_output": "The output of the tool does not fit its schema.";
        InvalidPattern = "invalid_pattern": "The pattern cannot be read.";
        InvalidRights = "invalid_rights": "The record of what an execution may do cannot be read.";
        InvalidStep = "invalid_step": "The record of what a state of an execution began cannot be read.";
        InvalidTags = "invalid_tags": "There are too many tags, or one is not a word.";
        IsADirectory = "is_a_directory": "The path is a directory.";
        IsALink = "is_a_link": "The path is a link.";
        Moved = "moved": "The branch moved during the call. Ask again.";
        NameTaken = "name_taken": "Something else has this name.";
        NeedsFilter = "needs_filter": "A changed file needs a filter of git, and none runs here.";
        NoChecks = "no_checks": "The pull request has no checks to run.";
        NoCommit = "no_commit": "The repository or the branch has no commit.";
        NoImage = "no_image": "The capture program printed no image.";
        NoOutput = "no_output": "The state of the workflow has nothing to do.";
        NoSession = "no_session": "The tool needs the session of an agent.";
        NoState = "no_state": "The workflow has no such state.";
        NoUpstream = "no_upstream": "The branch follows no branch of a remote.";
        NotADirectory = "not_a_directory": "The path, or a part of it, is not a directory.";
        NotEnded = "not_ended": "The task or execution has not ended.";
        NotFastForward = "not_fast_forward": "The branch and its remote have diverged.";
        NotNarrower = "not_narrower": "The workflow is not offered in a wider scope than that.";
        NotRunning = "not_running": "Nothing that the caller asked for runs.";
        NotStarted = "not_started": "The program of a worker could not be started.";
        NotText = "not_text": "The content is not text.";
        NotUtf8 = "not_utf8": "The file is not UTF-8.";
        NotWaiting = "not_waiting": "The execution waits for no answer.";
        NotWider = "not_wider": "The workflow is offered in this scope or a wider one already.";
        NothingToCommit = "nothing_to_commit": "Nothing differs from the last commit.";
        NothingToReview = "nothing_to_review": "The lane has no changes to review.";
        OutcomeUnknown = "outcome_unknown": "The run was cut off, and it is not known what it did.";
        ProviderFailed = "provider_failed": "The program that the configuration names for the tool failed.";
        QuotaExceeded = "quota_exceeded": "The limit of what the caller may keep is reached.";
        RefNotFound = "ref_not_found": "The repository has no such ref.";
        RefersToNarrower = "refers_to_narrower": "The workflow uses one of a narrower scope.";
        RedirectNotCovered = "redirect_not_covered": "The page leads to a URL that the rule which approved the call does not cover.";
        Rejected = "rejected": "The remote refuses the push.";
        RunsElsewhere = "runs_elsewhere": "Another process runs the call, and did not end it.";
        Secret = "secret": "The text has a secret, and secrets are never stored.";
        SecretByQuestion = "secret_by_question": "The question asks for a secret.";
        SecretInCommit = "secret_in_commit": "A commit would add a bound value or a token.";
        SessionGone = "session_gone": "The session that asked is over.";
        Store = "store": "The store of the built-in tools could not be read or changed.";
        TargetNotFound = "target_not_found": "The text to replace does not occur.";
        TargetNotUnique = "target_not_unique": "The text to replace occurs more than once.";
        TimedOut = "timed_out": "The time limit is over.";
        ToolError = "tool_error": "The tool of an MCP server says that it failed.";
        TooDeep = "too_deep": "Executions begin one another too deeply.";
        TooLarge = "too_large": "The value is larger than is kept.";
        TooLong = "too_long": "The text or list is longer than is kept.";
        TooMany = "too_many": "There are more of them than may be.";
        TooManyFiles = "too_many_files": "The directory holds too many entries, or others within each other too deep.";
        TooManyRedirects = "too_many_redirects": "The page leads on too often.";
        UnknownCall = "unknown_call": "The agent has no such call.";
        UnknownKey = "unknown_key": "There is no such key.";
        UnknownKind = "unknown_kind": "There is no such kind.";
        UnknownMode = "unknown_mode": "There is no such mode.";
        UnknownRun = "unknown_run": "The agent has no such run.";
        UnknownTool = "unknown_tool": "There is no such tool.";
        UpstreamFailed = "upstream_failed": "The MCP server failed.";
        UpstreamTimeout = "upstream_timeout": "The MCP server did not answer in time.";
        UnmergedWork = "unmerged_work": "The lane has commits that are not merged.";
        Unreadable = "unreadable": "The file cannot be read.";
        UnsafeRepository = "unsafe_repository": "The repository is set up in a way that git tools do not work with.";
        ValidationFailed = "validation_failed": "A judge or validator does not accept the manifest or output.";
        VersionTaken = "version_taken": "The manifest has this version already.";
        WorkerFailed = "worker_failed": "A worker ended with another exit code than its task expects.";
        WrongSession = "wrong_session": "The call continues only in the session that asked for it.";

        Bug = "bug": "A bug in Brigade; please report it.";
    }

    /// The codes of blockers: reasons why a call or another start is refused.
    ///
    /// A blocker may also have the code of an error, of an issue of `doctor`, or of a fault in a PRD.
    REASONS {
        // The state of the call.
        Status = "status": "The call is not in a status in which it can run.";
        Blocked = "blocked": "The call cannot be queued or run, and no other code says why.";
        Changed = "changed": "The call changed since it was shown.";
        Checkpoint = "checkpoint": "The checkpoint of the call cannot be resumed.";
        Stored = "stored": "The record of the call holds a reason that has no code.";
        RateLimited = "rate_limited": "The agent reached a limit of calls. It may call again later.";
        BudgetExhausted = "budget_exhausted": "The agent used up its budget of run time or output. It may call again later.";
        TooManyPending = "too_many_pending": "As many calls of the agent as its limits allow wait for a person already.";
        OutsideContext = "outside_context": "The profiles of the agent do not allow the call.";
        NotAvailableHere = "not_available_here": "The tool needs something that is missing here.";
        MemorySearchFirst = "memory_search_first": "The session must search the memories before such a call.";

        // What differs from what was approved.
        ChangedArgs = "changed_args": "The arguments are not those that were approved.";
        ChangedContract = "changed_contract": "The contract of the tool changed.";
        ChangedSource = "changed_source": "The source of the tool changed.";
        ChangedProjections = "changed_projections": "The projections of the tool changed.";
        ChangedPolicy = "changed_policy": "The policy decides in another way.";
        ChangedProgram = "changed_program": "The program, its path or the code that it loads changed.";
        ChangedFile = "changed_file": "A file that the approval binds changed.";
        ChangedNamed = "changed_named": "A file that the arguments name changed.";
        ChangedDirectory = "changed_directory": "The working directory changed.";
        ChangedPin = "changed_pin": "The pin of the MCP tool changed.";
        ChangedServer = "changed_server": "The start of the MCP server changed.";
        ChangedCaller = "changed_caller": "The call has another caller.";
        ChangedSession = "changed_session": "The session of the call changed.";
        ChangedApproval = "changed_approval": "The approval does not bind what would run.";

        // The entry of the tool.
        InvalidEntry = "invalid_entry": "The entry of the tool has an error.";
        CatalogSchemaNewer = "catalog_schema_newer": "A newer version of Brigade wrote the file of the tool.";
        FamilyNotExecutable = "family_not_executable": "Tools of this family are not executed.";
        UnsafeAuthLabel = "unsafe_auth_label": "`auth_label` looks like a value and not like a name.";
        UnsafeEnvLabel = "unsafe_env_label": "A label of the tool looks like a value and not like a name.";
        SecretInCatalog = "secret_in_catalog": "The entry of the tool contains what looks like a secret.";
        MissingCommand = "missing_command": "The entry names no command.";
        InvalidCommand = "invalid_command": "The command cannot be split into words.";
        HighRiskCommand = "high_risk_command": "The command is of a kind that Brigade does not start.";
        ProgramNotFound = "program_not_found": "The program of the command is missing or cannot be read.";
        ScriptNotFound = "script_not_found": "A script of the command does not exist.";
        CodeNotBound = "code_not_bound": "An approval cannot bind code that the command leads to.";
        UndeclaredCode = "undeclared_code": "The command chooses its code itself, and the entry declares none.";
        MissingCwd = "missing_cwd": "`cwd` is not a directory in the workspace.";
        ProtectedPath = "protected_path": "The path is closed to agents: it belongs to git or Brigade, starts programs, or looks like it holds keys.";
        Projection = "projection": "A projection of the tool is not up to date.";

        // The arguments.
        InvalidArgs = "invalid_args": "The arguments are not JSON, or do not match the input schema.";
        MissingInputSchema = "missing_input_schema": "The input schema is not named or does not exist.";
        InvalidInputSchema = "invalid_input_schema": "The input schema cannot be read.";
        InvalidOutputSchema = "invalid_output_schema": "The output schema is not JSON, so agents are not shown the tool.";
        UnsupportedInputSchema = "unsupported_input_schema": "The input schema is not a valid JSON Schema of objects.";
        SecretArgument = "secret_argument": "An argument looks like a secret. Bind a label to a variable instead.";
        RedactedArgument = "redacted_argument": "The value of an argument was masked, so it is not known any more.";
        MissingTemplateArgument = "missing_template_argument": "An argument that the command needs is not given.";
        ArgumentRefused = "argument_refused": "The caller may not use this argument, or not with this value.";
        ArgumentNotAllowed = "argument_not_allowed": "The argument has no effect here, so it is refused.";
        InvalidArguments = "invalid_arguments": "A value of an argument is not one that the tool takes.";
        ArgumentLooksLikeOption = "argument_looks_like_option": "The value of an argument begins like an option.";
        ArgumentIsCode = "argument_is_code": "An argument chooses the code to run, and an approval cannot cover that.";
        ArgumentOpensCode = "argument_opens_code": "An argument names a file whose code the program would run.";
        ArgumentsTooLong = "arguments_too_long": "The command line is longer than the system allows.";
        ShellSyntax = "shell_syntax": "Only a shell would understand the command, and no shell reads it.";
        EnvByPolicy = "env_by_policy": "A call gives a value to a variable. Only the policy binds variables.";
        UrlNotPlain = "url_not_plain": "Programs read the URL in different ways.";
        CredentialsInUrl = "credentials_in_url": "The URL contains credentials.";
        UrlNotAllowed = "url_not_allowed": "No pattern of the policy allows the URL.";
        DomainNotAllowed = "domain_not_allowed": "The policy does not name the host of the URL.";
        AddressPrivate = "address_private": "The host has an address of this machine or of a private network.";

        // The policy.
        PolicyInvalid = "policy_invalid": "policy.toml has an error.";
        PolicyTestFailed = "policy_test_failed": "A test in policy.toml (`[[test]]`) does not get what it expects.";
        PolicyFamily = "policy_family": "The policy does not allow tools of this family.";
        PolicyLevel = "policy_level": "The policy does not allow tools of this level.";
        PolicySource = "policy_source": "The policy does not allow tools from this source.";
        PolicyCapability = "policy_capability": "The policy denies a capability of the tool.";
        PolicyEffectNotAllowed = "policy_effect_not_allowed": "The policy does not allow an effect of the tool.";
        PolicyDeniedEffect = "policy_denied_effect": "The policy denies an effect of the tool.";
        PolicyApprovalMode = "policy_approval_mode": "The policy does not allow the approval mode of the tool.";
        PolicyRuntime = "policy_runtime": "The policy does not allow the runtime.";
        PolicyRegistryRemote = "policy_registry_remote": "The policy does not name the origin of the registry.";
        PolicyMcpRemote = "policy_mcp_remote": "The policy does not name the origin of the remote MCP server.";
        PolicyTimeout = "policy_timeout": "The timeout is over the maximum of the policy.";
        PolicyInlineCode = "policy_inline_code": "The policy does not allow code in a command line.";
        PolicyInstallNotAllowed = "policy_install_not_allowed": "The policy does not allow installations.";
        PolicyEnvUnbound = "policy_env_unbound": "The policy binds no variable to a label of the tool.";
        PolicyEnvMissing = "policy_env_missing": "The variable that is bound to a label is not set.";
        PolicyEnvUnsafe = "policy_env_unsafe": "A label of a worker looks like a value and not like a name.";
        PolicyWorker = "policy_worker": "The policy does not list the program of the worker.";
        PolicySkipPermissions = "policy_skip_permissions": "The policy does not let workers skip permissions.";
        PolicyShell = "policy_shell": "The policy does not allow commands that need a shell.";

        // Servers, runtimes and installations.
        McpNotInBuild = "mcp_not_in_build": "This build does not speak to MCP servers.";
        McpMissingRuntime = "mcp_missing_runtime": "The MCP tool names no runtime.";
        McpMissingToolName = "mcp_missing_tool_name": "`mcp_tool_name` is not set.";
        McpMissingTimeout = "mcp_missing_timeout": "The MCP tool has no timeout.";
        McpMissingEffects = "mcp_missing_effects": "The MCP tool lists no effects.";
        McpMissingApprovalMode = "mcp_missing_approval_mode": "The MCP tool has no approval mode.";
        McpPinUnreadable = "mcp_pin_unreadable": "The pin of the MCP tool cannot be read.";
        ServerNotStarted = "server_not_started": "The MCP server could not be started.";
        RuntimeConfig = "runtime_config": "The entry of a runtime has an error.";
        RuntimeDisabled = "runtime_disabled": "The runtime is disabled.";
        RuntimeStopped = "runtime_stopped": "The runtime is not running.";
        RuntimeUnmanaged = "runtime_unmanaged": "Nothing proves that Brigade started the runtime.";
        RuntimeUnhealthy = "runtime_unhealthy": "The runtime is not healthy.";
        NoInstallCommand = "no_install_command": "The entry names no command that installs the tool.";
        NoInstaller = "no_installer": "No program of the install commands is on PATH.";
        InstallCommandGone = "install_command_gone": "The entry does not name this install command any more.";

        // The kitchen.
        KitchenConfigInvalid = "kitchen_config_invalid": "The configuration of the kitchen has an error.";
        KitchenNotApproved = "kitchen_not_approved": "The PRD is not approved.";
        KitchenProgramChanged = "kitchen_program_changed": "The program is not the one that was approved.";
        AdapterUnknown = "adapter_unknown": "A tier names an adapter that does not exist.";
        WorkerCommandInvalid = "worker_command_invalid": "The command of a tier does not suit its adapter.";
    }

    /// The codes of registrations: errors, and notes about what an entry does not contain.
    ///
    /// An error of a registration may also have the code of an issue of `doctor`.
    REGISTERING {
        // Why nothing is registered.
        FieldInvalid = "field_invalid": "A field of the source has another type, or a value that no entry can have.";
        DefinitionUnclear = "definition_unclear": "The source does not say what is started, or says it in two ways.";
        PackageUnsupported = "package_unsupported": "No package of the server can be started from here.";
        VersionNotPinned = "version_not_pinned": "A package of the server has no exact version.";
        SecretInEntry = "secret_in_entry": "The entry would hold what looks like a secret, or a value that the policy binds.";
        FileInvalid = "file_invalid": "The file is not one that tools can be read from.";
        FileUnreadable = "file_unreadable": "The file cannot be read.";
        SchemaNewer = "schema_newer": "The file has a version or a schema that this version of Brigade does not know.";
        NothingToRegister = "nothing_to_register": "The file has no tool.";
        TooManyTools = "too_many_tools": "There are more tools than are registered at once.";
        RefAmbiguous = "ref_ambiguous": "Several definitions have this name, and they differ.";
        RefUnknown = "ref_unknown": "No definition in the files of agent programs has this name.";
        RegistryChanged = "registry_changed": "A registry serves other content for a version than before.";
        RegistryFailed = "registry_failed": "A registry did not answer as expected.";
        OwnGateway = "own_gateway": "The definition is the entry of Brigade's own gateway, and no tool.";
        TargetInvalid = "target_invalid": "The catalog that would be written to cannot be edited.";
        IdTaken = "id_taken": "A tool or a runtime has this id already.";
        AliasTaken = "alias_taken": "Another tool has this name.";

        // What is not taken over.
        PackageIgnored = "package_ignored": "The package is not taken: another one is, or it is not of a kind that is started.";
        UrlNotKept = "url_not_kept": "The address of a remote server may hold a secret, so it is not in the entry.";
        ValueNotKept = "value_not_kept": "The value of a variable or a header is not taken over.";
        VersionOfServer = "version_of_server": "The package has no version, so it gets the version of the server.";
        ArgumentMissing = "argument_missing": "The value of an argument is not known, so the command lacks it.";
        RuntimeArgumentsIgnored = "runtime_arguments_ignored": "Options of the launcher are not taken over.";
        FamilyIgnored = "family_ignored": "The source names a family that does not suit its definition.";
        OriginIgnored = "origin_ignored": "A field of the origin is not taken over.";
        RuntimeIdIgnored = "runtime_id_ignored": "The name of a runtime is not taken over.";
        CommandIgnored = "command_ignored": "The command is not taken over.";
        CwdNotKept = "cwd_not_kept": "The working directory is not taken over.";
        Unresolved = "unresolved": "A variable of the definition is not expanded.";
        ToolsNotLimited = "tools_not_limited": "The list of allowed or denied tools is not taken over.";
        SwitchedOff = "switched_off": "The file of the agent program has the definition switched off.";
        EnabledIgnored = "enabled_ignored": "The tool is registered disabled; a person enables it after a review.";
        ApprovalModeIgnored = "approval_mode_ignored": "A registered tool always asks for approval.";
        AutoInstallIgnored = "auto_install_ignored": "Nothing is installed without an approval, whatever the file says.";
        PreferLocalIgnored = "prefer_local_ignored": "Entries of the project always come first, whatever the file says.";
        InheritIgnored = "inherit_ignored": "Which agent programs are looked at is a setting of the catalog, and not of the file.";
        RuntimeShared = "runtime_shared": "The replaced runtime is used by other tools, too.";
        RuntimeLeft = "runtime_left": "The runtime of the replaced entry stays.";
        FallbackHarnessIgnored = "fallback_harness_ignored": "The catalog says already whether tools of a harness are offered.";
        HarnessToolsSet = "harness_tools_set": "The catalog now says whether tools of a harness are offered.";
    }
}

impl From<ErrorCode> for Cow<'static, str> {
    fn from(code: ErrorCode) -> Cow<'static, str> {
        Cow::Borrowed(code.as_str())
    }
}

impl From<ErrorCode> for String {
    fn from(code: ErrorCode) -> String {
        code.as_str().to_owned()
    }
}

/// Compares the code of a document, which a newer version may have written.
impl PartialEq<ErrorCode> for str {
    fn eq(&self, code: &ErrorCode) -> bool {
        self == code.as_str()
    }
}

impl PartialEq<ErrorCode> for String {
    fn eq(&self, code: &ErrorCode) -> bool {
        **self == *code
    }
}

impl PartialEq<ErrorCode> for Cow<'_, str> {
    fn eq(&self, code: &ErrorCode) -> bool {
        **self == *code
    }
}

impl Code for ErrorCode {
    fn as_code(&self) -> &'static str {
        self.as_str()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_code_stands_once_as_a_word_with_a_sentence() {
        let words: BTreeSet<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(words.len(), ErrorCode::ALL.len());
        let groups = [ErrorCode::ERRORS, ErrorCode::REASONS, ErrorCode::REGISTERING];
        assert_eq!(groups.concat(), ErrorCode::ALL);
        for code in ErrorCode::ALL {
            assert!(code.meaning().ends_with('.'), "{code}");
            let name = code.as_str().split('_').map(|part| part[..1].to_uppercase() + &part[1..]);
            assert_eq!(format!("{code:?}"), name.collect::<String>());
        }
    }

    #[test]
    fn a_code_is_its_word_in_documents() {
        assert_eq!("call_missing".parse(), Ok(ErrorCode::CallMissing));
        assert_eq!(crate::json::to_json(&ErrorCode::CallMissing), Ok("call_missing".into()));
        assert_eq!(*"call_missing", ErrorCode::CallMissing);
        assert!("CALL_MISSING".parse::<ErrorCode>().is_err());
    }
}
