//! Next steps: values that describe what to do next. A frontend turns them into text.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{CallId, CheckpointId, Fingerprint, Place, RunId};

/// Names what a variant of this type holds.
macro_rules! held {
    ($name:ident: $type:ty) => {
        $name
    };
}

macro_rules! next_steps {
    ($(
        $(#[$doc:meta])* $name:ident $(($subject:ty))?
            $({ $first:ident: $first_type:ty $(, $field:ident: $type:ty)* })? = $word:literal;
    )+) => {
        /// Something that a user or a program can do next.
        ///
        /// Only a frontend knows how to do it there: the command line [spells](StepFormatter) it as a command, a web
        /// page could show a button.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum NextStep {
            $($(#[$doc])* $name $(($subject))? $({
                #[doc = concat!("The ", stringify!($first), ".")] $first: $first_type,
                $(#[doc = concat!("The ", stringify!($field), ".")] $field: $type),*
            })?,)+
        }

        impl NextStep {
            /// Returns the name of the kind of step, in `kebab-case`. Its meaning never changes.
            pub const fn name(&self) -> &'static str {
                match self { $(NextStep::$name { .. } => $word,)+ }
            }

            /// Returns the id, name or path that the step applies to.
            pub fn subject(&self) -> Option<String> {
                match self {
                    $(NextStep::$name $((held!(subject: $subject)))? $({ $first, .. })? => {
                        None $(.or_else(|| Some(held!(subject: $subject).to_string())))?
                            $(.or_else(|| Some($first.to_string())))?
                    })+
                }
            }
        }
    };
}

next_steps! {
    /// Create a catalog.
    Init = "init";
    /// Create a catalog for a harness.
    InitFor(String) = "init-for";
    /// Put agent programs and servers of this machine behind the gateway.
    Setup = "setup";
    /// Take back what the setup wrote.
    UndoSetup = "undo-setup";
    /// Add the built-in tools to the catalog.
    AddDefaults = "add-defaults";
    /// Queue the installation of a tool.
    InstallTool(String) = "install-tool";
    /// Check whether a tool is installed, by running its check commands.
    RunChecks(String) = "run-checks";
    /// List the tools.
    ListTools = "list-tools";
    /// Show a tool.
    ShowTool(String) = "show-tool";
    /// Show how a tool is called.
    DescribeTool(String) = "describe-tool";
    /// Show how the server of an MCP tool describes it.
    DescribeToolLive(String) = "describe-tool-live";
    /// Show what the last runs of a tool used, and what its entry should declare.
    ObserveTool(String) = "observe-tool";
    /// Declare in the entry of a tool what its last runs used.
    DeclareUsed(String) = "declare-used";
    /// Show which tools are ready to be called.
    ListContracts = "list-contracts";
    /// Edit a file at a place.
    Edit(Place) = "edit";
    /// Read a file of the workspace.
    ReadFile(String) = "read-file";
    /// See what a name of the workspace is.
    LookAt(String) = "look-at";
    /// Remove the permission of other users to write a file.
    CloseFile(String) = "close-file";
    /// Become the owner of a file.
    OwnFile(String) = "own-file";
    /// Do it again, and replace what is there.
    Replace = "replace";
    /// Do it again, for another file.
    NameFile = "name-file";
    /// Do it again, with a reason.
    GiveReason = "give-reason";
    /// Do it again, with the arguments in this file.
    ArgumentsFrom(String) = "arguments-from";
    /// Do it again, for the file of the user.
    UseFileOfUser = "use-file-of-user";

    /// Check for issues.
    Diagnose = "diagnose";
    /// Check for issues of one area or type.
    DiagnoseOnly(&'static str) = "diagnose-only";
    /// Fix the issues that need no decision.
    Fix = "fix";

    /// Show which projections of a tool would be written.
    PlanProjections(String) = "plan-projections";
    /// Write the projections of a tool.
    Apply(String) = "apply";
    /// Write the projections of a tool, replacing edited files.
    ApplyForced(String) = "apply-forced";
    /// Show what writing the projections of a tool over edited files would change.
    TryApplyForced(String) = "try-apply-forced";
    /// Write all projections.
    ApplyAll = "apply-all";
    /// Write all projections, and remove those that no tool declares.
    ApplyAllAndPrune = "apply-all-and-prune";
    /// Write all projections, replacing edited files.
    SyncForced = "sync-forced";
    /// Read the files of agent programs again.
    SyncRegistry = "sync-registry";
    /// Show how support differs between harnesses.
    ShowParity = "show-parity";
    /// List the harnesses.
    ListHarnesses = "list-harnesses";
    /// List the profiles of agents.
    ListProfiles = "list-profiles";
    /// List the agents.
    ListAgents = "list-agents";
    /// Add an agent to the gateway.
    AddAgent(String) = "add-agent";
    /// Give an agent a new token.
    RotateToken(String) = "rotate-token";

    /// Queue a call of a tool.
    QueueCall(String) = "queue-call";
    /// List the calls.
    ListCalls = "list-calls";
    /// List the approved calls.
    ListApprovedCalls = "list-approved-calls";
    /// Show a call.
    ShowCall(CallId) = "show-call";
    /// Approve a call.
    Approve(CallId) = "approve";
    /// Reject a call, with a reason.
    Reject(CallId) = "reject";
    /// Nothing: the agent of the call continues with it.
    AgentGoesOn(String) = "agent-goes-on";
    /// Run a call.
    RunCall(CallId) = "run-call";
    /// Run the next approved call.
    RunNext = "run-next";

    /// List the runs.
    ListRuns = "list-runs";
    /// Show which files a run used.
    ShowInputs(RunId) = "show-inputs";
    /// Show a run.
    ShowRun(RunId) = "show-run";
    /// Show the standard output of a run.
    ReadOutput(RunId) = "read-output";
    /// Follow the standard output of a run until it ends.
    FollowOutput(RunId) = "follow-output";
    /// Queue the call of a run again.
    Replay(RunId) = "replay";
    /// Verify the chain of receipts.
    VerifyRuns = "verify-runs";
    /// Create a new key for exported receipts.
    ReplaceKey = "replace-key";

    /// List the checkpoints.
    ListCheckpoints = "list-checkpoints";
    /// Show a checkpoint.
    ShowCheckpoint(CheckpointId) = "show-checkpoint";
    /// Answer a checkpoint with a choice.
    AnswerCheckpoint(CheckpointId) = "answer-checkpoint";
    /// Resume the run of a checkpoint.
    Resume(CheckpointId) = "resume";

    /// Create a policy.
    InitPolicy = "init-policy";
    /// Show the policy.
    ShowPolicy = "show-policy";
    /// Show what the policy blocks.
    CheckPolicy = "check-policy";
    /// Explain what the policy decides about a tool.
    ExplainPolicy(String) = "explain-policy";

    /// Create the file that declares runtimes.
    InitRuntimes = "init-runtimes";
    /// List the runtimes.
    ListRuntimes = "list-runtimes";
    /// Check the runtimes for issues.
    CheckRuntimes = "check-runtimes";
    /// Show a runtime.
    ShowRuntime(String) = "show-runtime";
    /// Show which runtimes are running and healthy.
    RuntimeStatus = "runtime-status";
    /// Start a runtime.
    StartRuntime(String) = "start-runtime";
    /// Stop a runtime.
    StopRuntime(String) = "stop-runtime";
    /// Restart a runtime.
    RestartRuntime(String) = "restart-runtime";
    /// Show what a runtime writes.
    ReadRuntimeLogs(String) = "read-runtime-logs";

    /// List the tools that a runtime's MCP server offers, for a runtime still to be chosen.
    ImportMcp = "import-mcp";
    /// List the tools that the MCP server of a runtime offers.
    TryImportMcp(String) = "try-import-mcp";
    /// Log in to a remote MCP server.
    Login(String) = "login";
    /// List the tools of a server again, and accept what changed.
    UpdateServer(String) = "update-server";
    /// Enable tools of the catalog.
    EnableTools(String) = "enable-tools";
    /// Register what a reference names: a discovered definition, or an entry such as `registry:jq`.
    Register(String) = "register";
    /// Register a discovered definition over the tool that was made from it.
    RegisterAgain { reference: String, id: String, level: String } = "register-again";
    /// List the tool packs.
    ListPacks = "list-packs";
    /// List the pins.
    ListPins = "list-pins";
    /// Compare the pins with what the servers offer now.
    ComparePins = "compare-pins";
    /// Show a pin.
    ShowPin(String) = "show-pin";
    /// Accept the current definition of a pinned tool.
    AcceptPin(String) = "accept-pin";
    /// Accept exactly this change of a pinned tool.
    AcceptPinChange { pin: String, fingerprint: Fingerprint } = "accept-pin-change";

    /// Review a tool, or a program that Brigade starts by itself.
    Trust(String) = "trust";

    /// Show what would connect a client.
    Connect(String) = "connect";
    /// Write the entry of a client again.
    ConnectAgain { client: String, scope: String, transport: String, agent: String } = "connect-again";

    /// Check the stored state.
    CheckState = "check-state";
    /// Compact the stored state.
    CompactState = "compact-state";
    /// Accept approvals of another host.
    AdoptState = "adopt-state";
    /// Make the tables of a team.
    InitTeam = "init-team";
    /// Update the tables of a team.
    MigrateTeam = "migrate-team";
    /// Accept the reviewers of a team and their keys.
    AcceptRoster = "accept-roster";
    /// Check the database of a team.
    CheckTeam = "check-team";
    /// Create the configuration of the kitchen.
    InitKitchen = "init-kitchen";
    /// Show the tiers of the kitchen and their workers.
    ListWorkers = "list-workers";
    /// Check a PRD.
    ValidatePrd(String) = "validate-prd";
    /// Show and approve what a PRD would execute.
    ApprovePrd(String) = "approve-prd";
    /// Approve exactly this for a PRD.
    ApprovePrdAs { path: String, fingerprint: Fingerprint } = "approve-prd-as";
    /// Approve exactly these commands of the tiers.
    ApproveWorkersAs(String) = "approve-workers-as";
    /// Show the status of a PRD.
    KitchenStatus(String) = "kitchen-status";
    /// Resume a PRD.
    ResumePrd(String) = "resume-prd";
    /// Retry the failed tasks of a PRD.
    RetryPrd(String) = "retry-prd";
    /// Answer the questions of a plan.
    ContinuePlan(String) = "continue-plan";
    /// List the decisions of the kitchen that wait.
    ListDecisions = "list-decisions";
    /// Answer a decision of the kitchen.
    AnswerDecision(String) = "answer-decision";
    /// Show what waits for a person.
    ShowBrief = "show-brief";
    /// List what waits for a person, with numbers.
    ListPending = "list-pending";
    /// Show what ran.
    ShowHistory = "show-history";
    /// Show the life of a call.
    TellLife(CallId) = "tell-life";
    /// Answer what waits for a person with one of its choices.
    AnswerByChoice(String) = "answer-by-choice";
    /// Answer what waits for a person with a text.
    AnswerByText(String) = "answer-by-text";
    /// List the memories of agents.
    ListMemories = "list-memories";
    /// List the pull requests of lanes.
    ListPullRequests = "list-pull-requests";
    /// Check the receipts of the kitchen.
    VerifyKitchenReceipts = "verify-kitchen-receipts";
    /// Remove the worktrees of a PRD whose work is in the branch.
    CleanKitchen(String) = "clean-kitchen";
    /// Keep the work of a task under a ref, and remove its worktree.
    AbandonWork { prd: String, task: String } = "abandon-work";
    /// List the inbox.
    ListInbox = "list-inbox";
    /// List the pending rows of the inbox.
    ListPendingRows = "list-pending-rows";
}

impl fmt::Display for NextStep {
    /// Writes the name and the subject, such as `approve:call-1f0c`. Programs without a frontend show this form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self.subject() {
            Some(subject) => write!(f, ":{subject}"),
            None => Ok(()),
        }
    }
}

/// Turns next steps into the words of a frontend.
pub trait StepFormatter: Send + Sync {
    /// Returns the text of a step.
    ///
    /// `workspace` is the absolute path of the workspace if the text must work from any directory. `None` means that
    /// the text is used in the workspace directory, for example because it is stored there.
    fn spell(&self, step: &NextStep, workspace: Option<&str>) -> String;
}

/// Spells next steps in a neutral form, such as `approve:call-1f0c`.
#[derive(Clone, Copy, Debug, Default)]
pub struct NeutralWords;

impl StepFormatter for NeutralWords {
    fn spell(&self, step: &NextStep, _: Option<&str>) -> String {
        step.to_string()
    }
}

/// What to do about something: a step, a sentence, or a sentence that contains steps.
///
/// Displays and serializes as text. Steps that are not [spelled](Hint::spelled) appear in their neutral form.
///
/// ```
/// use brigade_core::{Hint, NextStep};
///
/// let hint = Hint::to("see what changed", NextStep::ComparePins);
/// assert_eq!(hint.to_string(), "to see what changed: compare-pins");
/// assert_eq!(hint.steps().collect::<Vec<_>>(), [&NextStep::ComparePins]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Cow<'static, str>),
    Step { step: NextStep, words: Option<String> },
}

impl Hint {
    /// Creates a hint with a similar name.
    pub fn did_you_mean(name: &str) -> Hint {
        Hint::from(format!("did you mean `{}`?", crate::text::escape_terminal(name)))
    }

    /// Creates a hint with the purpose of a step. The step comes last, so that it is easy to copy.
    pub fn to(purpose: &str, step: NextStep) -> Hint {
        Hint::from(format!("to {purpose}: ")).then(step)
    }

    /// Adds another hint on a new line.
    #[must_use]
    pub fn or_else(self, next: impl Into<Hint>) -> Hint {
        self.then("\n").then(next)
    }

    /// Appends a text or a step. Separate words after a step from it, for example with a backquote: see [`Hint::to`].
    #[must_use]
    pub fn then(mut self, next: impl Into<Hint>) -> Hint {
        self.parts.extend(next.into().parts);
        self
    }

    /// Returns the steps that the hint contains.
    pub fn steps(&self) -> impl Iterator<Item = &NextStep> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Step { step, .. } => Some(step),
        })
    }

    /// Returns the step if the hint consists of exactly one step.
    pub fn step(&self) -> Option<&NextStep> {
        match self.parts.as_slice() {
            [Part::Step { step, .. }] => Some(step),
            _ => None,
        }
    }

    /// Spells the contained steps; see [`StepFormatter::spell`]. Steps that are already spelled do not change.
    #[must_use]
    pub fn spelled(mut self, speller: &dyn StepFormatter, workspace: Option<&str>) -> Hint {
        for part in &mut self.parts {
            if let Part::Step { step, words: words @ None } = part {
                *words = Some(speller.spell(step, workspace));
            }
        }
        self
    }

    /// Changes the text between the steps.
    #[must_use]
    pub fn map_texts(mut self, change: impl Fn(&str) -> String) -> Hint {
        for part in &mut self.parts {
            if let Part::Text(text) = part {
                *text = Cow::Owned(change(text));
            }
        }
        self
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Step { words: Some(words), .. } => f.write_str(words),
            Part::Step { step, words: None } => step.fmt(f),
        })
    }
}

impl Serialize for Hint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hint {
    /// Reads the text. The steps in it are lost.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hint, D::Error> {
        String::deserialize(deserializer).map(Hint::from)
    }
}

impl From<NextStep> for Hint {
    fn from(step: NextStep) -> Hint {
        Hint { parts: vec![Part::Step { step, words: None }] }
    }
}

impl From<&'static str> for Hint {
    fn from(text: &'static str) -> Hint {
        Hint { parts: vec![Part::Text(Cow::Borrowed(text))] }
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Hint {
        Hint { parts: vec![Part::Text(Cow::Owned(text))] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct UppercaseSteps;

    impl StepFormatter for UppercaseSteps {
        fn spell(&self, step: &NextStep, workspace: Option<&str>) -> String {
            format!("{}{}", workspace.unwrap_or_default(), step.name().to_uppercase())
        }
    }

    #[test]
    fn a_hint_is_text_with_steps_that_a_frontend_spells() {
        let id: CallId = "call-1".parse().unwrap();
        let hint = Hint::from("`").then(NextStep::Approve(id.clone())).then("` lets it run");
        assert_eq!(hint.to_string(), "`approve:call-1` lets it run");
        assert_eq!(serde_json::to_string(&hint).unwrap(), r#""`approve:call-1` lets it run""#);
        assert_eq!(
            hint.clone().spelled(&UppercaseSteps, Some("/w ")).to_string(),
            "`/w APPROVE` lets it run"
        );
        assert_eq!(hint.steps().collect::<Vec<_>>(), [&NextStep::Approve(id)]);
        assert_eq!((hint.step(), Hint::from(NextStep::Fix).step()), (None, Some(&NextStep::Fix)));
    }

    #[test]
    fn a_step_with_a_purpose_ends_its_line() {
        let id: CallId = "call-1".parse().unwrap();
        let hint =
            Hint::from(NextStep::ListCheckpoints).or_else(Hint::to("end the call", NextStep::Reject(id)));
        assert_eq!(hint.to_string(), "list-checkpoints\nto end the call: reject:call-1");
    }

    #[test]
    fn steps_are_spelled_once() {
        let hint = Hint::from(NextStep::Fix).spelled(&UppercaseSteps, None);
        assert_eq!(hint.spelled(&NeutralWords, None).to_string(), "FIX");
    }

    #[test]
    fn places_and_files_are_subjects() {
        assert_eq!(NextStep::Edit(Place::at("a.toml", 3, 1)).to_string(), "edit:a.toml:3:1");
        assert_eq!(NextStep::DiagnoseOnly("config").to_string(), "diagnose-only:config");
    }
}
