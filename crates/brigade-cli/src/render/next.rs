//! Next steps as commands.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use brigade::core::{Hint, NextStep, Place, StepFormatter};

use super::shell::quote;

/// Formats next steps as commands for the current directory.
#[derive(Clone, Debug, Default)]
pub struct CommandLine {
    directory: Option<PathBuf>,
    names_target: bool,
}

impl CommandLine {
    /// Formats commands for this directory; `names_target` adds `--target`.
    pub fn from_directory(directory: &Path, names_target: bool) -> CommandLine {
        CommandLine { directory: Some(directory.to_owned()), names_target }
    }

    fn location<'w>(&self, workspace: Option<&'w str>) -> WorkspaceLocation<'w> {
        match (workspace, &self.directory) {
            (Some(root), Some(directory)) if directory != Path::new(root) => {
                if self.names_target {
                    WorkspaceLocation::Elsewhere(root)
                } else {
                    WorkspaceLocation::Below(root)
                }
            }
            (Some(_) | None, _) => WorkspaceLocation::Workspace,
        }
    }
}

impl StepFormatter for CommandLine {
    fn spell(&self, step: &NextStep, workspace: Option<&str>) -> String {
        let location = self.location(workspace);
        match step {
            NextStep::Edit(place) => location.edit(place),
            NextStep::ReadFile(path) => format!("cat {}", quote(&location.path(path))),
            NextStep::LookAt(path) => format!("ls -ld {}", quote(&location.path(path))),
            NextStep::CloseFile(path) => format!("chmod o-w {}", quote(&location.path(path))),
            NextStep::OwnFile(path) => format!("sudo chown \"$(id -un)\" {}", quote(&location.path(path))),
            NextStep::Replace => "--force replaces it".to_owned(),
            NextStep::NameFile => "--out FILE names another file".to_owned(),
            NextStep::GiveReason => "--reason \"why\"".to_owned(),
            NextStep::ArgumentsFrom(file) => format!("`--args-json {file}` reads the arguments from a file"),
            NextStep::UseFileOfUser => "--scope user writes the file of the user".to_owned(),
            step => {
                let words = command(step);
                match location {
                    WorkspaceLocation::Elsewhere(root) => format!("brigade --target {} {words}", quote(root)),
                    WorkspaceLocation::Workspace | WorkspaceLocation::Below(_) => format!("brigade {words}"),
                }
            }
        }
    }
}

/// Formats proposed commands for the current directory and the workspace of the command.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommandWords {
    line: CommandLine,
    root: Option<String>,
    is_made_first: bool,
}

impl CommandWords {
    /// Formats commands for the workspace at `root`.
    pub(crate) fn new(line: CommandLine, root: &Path) -> CommandWords {
        CommandWords { line, root: Some(root.display().to_string()), is_made_first: false }
    }

    /// Formats no written-out commands, because they work only if there is a workspace.
    pub(crate) fn before_workspace(self) -> CommandWords {
        CommandWords { is_made_first: true, ..self }
    }

    /// Returns whether written-out commands work, because there is a workspace.
    pub(crate) fn has_workspace(&self) -> bool {
        !self.is_made_first
    }

    /// Formats a hint.
    pub(crate) fn hint(&self, hint: &Hint) -> String {
        self.spelled(hint.clone()).to_string()
    }

    /// Formats the steps of a hint that are not yet commands.
    pub(crate) fn spelled(&self, hint: Hint) -> Hint {
        hint.spelled(self, None)
    }

    /// Formats a step.
    pub(crate) fn step(&self, step: &NextStep) -> String {
        self.spell(step, None)
    }

    /// Adds the workspace to a written-out command. Returns `None` if the command would not work.
    pub(crate) fn command<'c>(&self, command: &'c str) -> Option<Cow<'c, str>> {
        if self.is_made_first {
            return None;
        }
        Some(match (command.strip_prefix("brigade "), self.line.location(self.root.as_deref())) {
            (Some(words), WorkspaceLocation::Elsewhere(root)) if !words.starts_with("--target ") => {
                Cow::Owned(format!("brigade --target {} {words}", quote(root)))
            }
            _ => Cow::Borrowed(command),
        })
    }
}

impl StepFormatter for CommandWords {
    fn spell(&self, step: &NextStep, workspace: Option<&str>) -> String {
        self.line.spell(step, workspace.or(self.root.as_deref()))
    }
}

/// Where a command is run.
#[derive(Clone, Copy)]
enum WorkspaceLocation<'w> {
    /// In the workspace directory.
    Workspace,
    /// Below this workspace, where it is found without `--target`.
    Below(&'w str),
    /// Outside this workspace, where `--target` is needed.
    Elsewhere(&'w str),
}

impl WorkspaceLocation<'_> {
    fn edit(self, place: &Place) -> String {
        let line = place.line.map_or_else(String::new, |line| format!("+{line} "));
        format!("${{EDITOR:-vi}} {line}{}", quote(&self.path(&place.file)))
    }

    /// Formats a path of the workspace. A leading `-` must not look like an option.
    fn path(self, path: &str) -> Cow<'_, str> {
        match self {
            WorkspaceLocation::Below(root) | WorkspaceLocation::Elsewhere(root) if !path.starts_with('/') => {
                Cow::Owned(format!("{}/{path}", root.trim_end_matches('/')))
            }
            WorkspaceLocation::Workspace | WorkspaceLocation::Below(_) | WorkspaceLocation::Elsewhere(_) => {
                Cow::Owned(if path.starts_with(['-', '+']) { format!("./{path}") } else { path.to_owned() })
            }
        }
    }
}

/// Returns a command without the program name.
fn command(step: &NextStep) -> String {
    use NextStep as N;
    match step {
        N::Init => "tools init".to_owned(),
        N::InitFor(harness) => format!("tools init --harness {}", quote(harness)),
        N::Setup => "setup".to_owned(),
        N::UndoSetup => "setup --undo".to_owned(),
        N::AddDefaults => "tools defaults".to_owned(),
        N::ListTools => "tools list".to_owned(),
        N::ShowTool(id) => with_named_option("tools show", id, ""),
        N::DescribeTool(id) => with_named_option("tools describe", id, ""),
        N::DescribeToolLive(id) => with_named_option("tools describe", id, "--live"),
        N::InstallTool(id) => with_named_option("tools install", id, ""),
        N::RunChecks(id) => with_named_option("tools check", id, "--run-checks"),
        N::ObserveTool(id) => with_named_option("tools observe", id, ""),
        N::DeclareUsed(id) => with_named_option("tools observe", id, "--write"),
        N::ListContracts => "tools contracts".to_owned(),
        N::Diagnose => "tools doctor".to_owned(),
        N::DiagnoseOnly(area) => format!("tools doctor --only {area}"),
        N::Fix => "tools doctor --fix".to_owned(),
        N::PlanProjections(id) => with_named_option("tools plan", id, ""),
        N::Apply(id) => with_named_option("tools apply", id, ""),
        N::ApplyForced(id) => with_named_option("tools apply", id, "--force"),
        N::TryApplyForced(id) => with_named_option("tools apply --force --dry-run", id, ""),
        N::ApplyAll => "tools apply --all".to_owned(),
        N::ApplyAllAndPrune => "tools apply --all --prune".to_owned(),
        N::SyncForced => "tools sync apply --all --write --force".to_owned(),
        N::SyncRegistry => "tools sync".to_owned(),
        N::ShowParity => "tools parity status".to_owned(),
        N::ListHarnesses => "tools harness list".to_owned(),
        N::ListProfiles => "tools profile list".to_owned(),
        N::ListAgents => "tools agent list".to_owned(),
        N::AddAgent(name) => with_named_option("tools agent add", name, ""),
        N::RotateToken(name) => with_named_option("tools agent rotate", name, ""),
        N::QueueCall(id) => with_named_option("tools call queue", id, ""),
        N::ListCalls => "tools call list".to_owned(),
        N::ListApprovedCalls => "tools call list --status approved".to_owned(),
        N::ShowCall(id) => format!("show {id}"),
        N::Approve(id) => format!("approve {id}"),
        N::Reject(id) => format!("tools call reject {id} --reason WHY"),
        N::RunCall(id) => format!("tools call run {id}"),
        N::RunNext => "tools call run --next".to_owned(),
        N::ListRuns => "tools run list".to_owned(),
        N::ShowInputs(id) => format!("tools run show {id} --inputs"),
        N::ShowRun(id) => format!("tools run show {id}"),
        N::ReadOutput(id) => format!("tools run show {id} --log stdout"),
        N::FollowOutput(id) => format!("tools run show {id} --log stdout --follow"),
        N::Replay(id) => format!("tools run replay {id}"),
        N::VerifyRuns => "tools run verify".to_owned(),
        N::ReplaceKey => "tools keys init --force".to_owned(),
        N::ListCheckpoints => "tools checkpoint list".to_owned(),
        N::ShowCheckpoint(id) => format!("tools checkpoint show {id}"),
        N::AnswerCheckpoint(id) => format!("tools checkpoint approve {id} --choice CHOICE"),
        N::Resume(id) => format!("tools checkpoint resume {id}"),
        N::InitPolicy => "tools policy init".to_owned(),
        N::ShowPolicy => "tools policy show".to_owned(),
        N::CheckPolicy => "tools policy doctor".to_owned(),
        N::ExplainPolicy(id) => with_named_option("tools policy explain", id, ""),
        N::InitRuntimes => "tools runtime init".to_owned(),
        N::ListRuntimes => "tools runtime list".to_owned(),
        N::CheckRuntimes => "tools runtime doctor".to_owned(),
        N::ShowRuntime(id) => with_named_option("tools runtime show", id, ""),
        N::RuntimeStatus => "tools runtime status".to_owned(),
        N::StartRuntime(id) => with_named_option("tools runtime start", id, ""),
        N::StopRuntime(id) => with_named_option("tools runtime stop", id, ""),
        N::RestartRuntime(id) => with_named_option("tools runtime restart", id, ""),
        N::ReadRuntimeLogs(id) => with_named_option("tools runtime logs", id, ""),
        N::ImportMcp => "tools import mcp RUNTIME".to_owned(),
        N::TryImportMcp(id) => with_named_option("tools import mcp", id, "--dry-run"),
        N::Login(id) => with_named_option("tools login", id, ""),
        N::UpdateServer(id) => with_named_option("tools update", id, ""),
        N::EnableTools(glob) => with_named_option("enable", glob, ""),
        N::ListPacks => "tools pack list".to_owned(),
        N::ListPins => "tools pins list".to_owned(),
        N::ComparePins => "tools pins list --live".to_owned(),
        N::ShowPin(id) => with_named_option("tools pins show", id, ""),
        N::AcceptPin(id) => with_named_option("tools pins accept", id, ""),
        N::Trust(id) => with_named_option("tools trust", id, ""),
        N::AcceptPinChange { pin, fingerprint } => {
            with_named_option("tools pins accept", pin, &format!("--fingerprint {}", fingerprint.short()))
        }
        N::Connect(client) => with_named_option("tools connect", client, ""),
        N::ConnectAgain { client, scope, transport, agent } => {
            let options = format!("--scope {scope} --transport {transport} --as {} --write", quote(agent));
            with_named_option("tools connect", client, &options)
        }
        N::Register(reference) => with_named_option("tools register", reference, ""),
        N::RegisterAgain { reference, id, level } => with_named_option(
            "tools register",
            reference,
            &format!("--id {} --level {level} --replace", quote(id)),
        ),
        N::CheckState => "tools state check".to_owned(),
        N::CompactState => "tools state compact".to_owned(),
        N::AdoptState => "state adopt".to_owned(),
        N::InitTeam => "team init".to_owned(),
        N::MigrateTeam => "team migrate".to_owned(),
        N::AcceptRoster => "team roster accept".to_owned(),
        N::CheckTeam => "team doctor".to_owned(),
        N::InitKitchen => "kitchen init".to_owned(),
        N::ListWorkers => "kitchen workers".to_owned(),
        N::ValidatePrd(path) => with_named_option("kitchen validate", path, ""),
        N::ApprovePrd(path) => with_named_option("kitchen approve", path, ""),
        N::ApprovePrdAs { path, fingerprint } => {
            with_named_option("kitchen approve", path, &format!("--fingerprint {}", fingerprint.short()))
        }
        N::ApproveWorkersAs(fingerprint) => {
            format!("kitchen approve --workers --fingerprint {}", quote(fingerprint))
        }
        N::KitchenStatus(path) => with_named_option("kitchen status", path, ""),
        N::ResumePrd(path) => with_named_option("kitchen resume", path, ""),
        N::RetryPrd(path) => with_named_option("kitchen resume", path, "retry --all"),
        N::ListDecisions => "kitchen decisions".to_owned(),
        N::ContinuePlan(id) => with_named_option("plan --continue", id, "--answer 1=TEXT"),
        N::AnswerDecision(id) => with_named_option("kitchen answer", id, "CHOICE"),
        N::ShowBrief => "work brief".to_owned(),
        N::ListPending => "pending".to_owned(),
        N::ShowHistory => "log".to_owned(),
        N::AgentGoesOn(agent) => format!("log -f --agent {}", quote(agent)),
        N::TellLife(id) => format!("why {id}"),
        N::AnswerByChoice(id) => with_named_option("work answer", id, "--choice CHOICE"),
        N::AnswerByText(id) => with_named_option("work answer", id, "--text TEXT"),
        N::ListMemories => "work memory list".to_owned(),
        N::ListPullRequests => "work pr list".to_owned(),
        N::VerifyKitchenReceipts => "kitchen receipts verify".to_owned(),
        N::CleanKitchen(path) => with_named_option("kitchen clean", path, ""),
        N::AbandonWork { prd, task } => {
            with_named_option("kitchen clean", prd, &format!("--abandon={}", quote(task)))
        }
        N::ListInbox => "work inbox list".to_owned(),
        N::ListPendingRows => "work inbox list --status pending".to_owned(),
        // A kind of step that this crate does not know.
        other => other.to_string(),
    }
}

/// Formats a command with a name and options. A name that looks like an option is put after `--`.
pub(crate) fn with_named_option(words: &str, name: &str, options: &str) -> String {
    let parts = if name.starts_with('-') {
        [words, options, "--", &quote(name)].map(str::to_owned)
    } else {
        [words, &quote(name), options, ""].map(str::to_owned)
    };
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use brigade::command::Argv;
    use brigade::health::{IssueType, Remedy};
    use clap::Parser as _;

    use super::*;
    use crate::command_line::Arguments;

    fn all_sites(step: &NextStep) -> [String; 3] {
        let typed = |names_target| CommandLine::from_directory(Path::new("/else"), names_target);
        let root = Some("/my work");
        [
            CommandLine::default().spell(step, root),
            typed(false).spell(step, root),
            typed(true).spell(step, root),
        ]
    }

    #[test]
    fn commands_outside_name_their_workspace() {
        assert_eq!(
            all_sites(&NextStep::ShowTool("-x".to_owned())),
            [
                "brigade tools show -- -x",
                "brigade tools show -- -x",
                "brigade --target '/my work' tools show -- -x"
            ]
        );
        let edit = NextStep::Edit(Place::at(".brigade/tools.toml", 3, 1));
        let there = "${EDITOR:-vi} +3 '/my work/.brigade/tools.toml'";
        assert_eq!(all_sites(&edit), ["${EDITOR:-vi} +3 .brigade/tools.toml", there, there]);
        let read = NextStep::ReadFile("-n.json".to_owned());
        assert_eq!(all_sites(&read), ["cat ./-n.json", "cat '/my work/-n.json'", "cat '/my work/-n.json'"]);
        let stored = CommandLine::from_directory(Path::new("/else"), true).spell(&NextStep::Fix, None);
        assert_eq!(stored, "brigade tools doctor --fix");
    }

    #[test]
    fn names_are_quoted_as_a_shell_reads_them() {
        let spell = |step: NextStep| CommandLine::default().spell(&step, None);
        assert_eq!(spell(NextStep::ShowTool("it's".to_owned())), "brigade tools show 'it'\\''s'");
        assert_eq!(
            spell(NextStep::StartRuntime("my runtime".to_owned())),
            "brigade tools runtime start 'my runtime'"
        );
        assert_eq!(spell(NextStep::DescribeToolLive("-x".to_owned())), "brigade tools describe --live -- -x");
        assert_eq!(spell(NextStep::Edit(Place::at("a b.toml", 3, 1))), "${EDITOR:-vi} +3 'a b.toml'");
    }

    /// One step of each kind.
    fn steps() -> Vec<NextStep> {
        use NextStep as N;
        let id = || "some-id".to_owned();
        let with_name: [fn(String) -> N; 46] = [
            N::InitFor,
            N::AnswerByChoice,
            N::AnswerByText,
            N::ValidatePrd,
            N::ApprovePrd,
            N::ApproveWorkersAs,
            N::KitchenStatus,
            N::ResumePrd,
            N::RetryPrd,
            N::AnswerDecision,
            N::CleanKitchen,
            |prd| N::AbandonWork { prd, task: "US-001".to_owned() },
            N::ContinuePlan,
            |path| N::ApprovePrdAs { path, fingerprint: "a".repeat(64).parse().unwrap() },
            N::ShowTool,
            N::DescribeTool,
            N::DescribeToolLive,
            N::InstallTool,
            N::RunChecks,
            N::ObserveTool,
            N::DeclareUsed,
            N::PlanProjections,
            N::Apply,
            N::ApplyForced,
            N::TryApplyForced,
            N::QueueCall,
            N::ExplainPolicy,
            N::ShowRuntime,
            N::StartRuntime,
            N::StopRuntime,
            N::RestartRuntime,
            N::ReadRuntimeLogs,
            N::TryImportMcp,
            N::Login,
            N::UpdateServer,
            N::EnableTools,
            N::ShowPin,
            N::AcceptPin,
            N::Trust,
            N::Connect,
            N::AddAgent,
            N::RotateToken,
            N::Register,
            |client| N::ConnectAgain {
                client,
                scope: "user".to_owned(),
                transport: "http".to_owned(),
                agent: "a".to_owned(),
            },
            |reference| N::RegisterAgain { reference, id: "a".to_owned(), level: "user".to_owned() },
            |pin| N::AcceptPinChange { pin, fingerprint: "a".repeat(64).parse().unwrap() },
        ];
        let call = [N::ShowCall, N::Approve, N::Reject, N::RunCall];
        let run = [N::ShowInputs, N::ShowRun, N::ReadOutput, N::FollowOutput, N::Replay];
        let checkpoint = [N::ShowCheckpoint, N::AnswerCheckpoint, N::Resume];
        let mut steps = vec![
            N::Init,
            N::Setup,
            N::UndoSetup,
            N::AddDefaults,
            N::ListTools,
            N::ListContracts,
            N::Diagnose,
            N::DiagnoseOnly("config"),
            N::Fix,
            N::ApplyAll,
            N::ApplyAllAndPrune,
            N::SyncForced,
            N::SyncRegistry,
            N::ShowParity,
            N::ListHarnesses,
            N::ListProfiles,
            N::ListAgents,
            N::ListCalls,
            N::ListApprovedCalls,
            N::RunNext,
            N::ListRuns,
            N::VerifyRuns,
            N::ReplaceKey,
            N::ListCheckpoints,
            N::InitPolicy,
            N::ShowPolicy,
            N::CheckPolicy,
            N::InitRuntimes,
            N::ListRuntimes,
            N::CheckRuntimes,
            N::RuntimeStatus,
            N::ImportMcp,
            N::ListPacks,
            N::ListPins,
            N::ComparePins,
            N::CheckState,
            N::CompactState,
            N::AdoptState,
            N::InitTeam,
            N::MigrateTeam,
            N::AcceptRoster,
            N::CheckTeam,
            N::InitKitchen,
            N::ListWorkers,
            N::ListDecisions,
            N::VerifyKitchenReceipts,
            N::ListInbox,
            N::ListPendingRows,
        ];
        steps.extend(with_name.map(|step| step(id())));
        steps.extend(call.map(|step| step(id().parse().unwrap())));
        steps.extend(run.map(|step| step(id().parse().unwrap())));
        steps.extend(checkpoint.map(|step| step(id().parse().unwrap())));
        steps
    }

    #[test]
    fn repeating_an_action_is_an_option_of_its_command() {
        let spell =
            |step: NextStep| CommandLine::from_directory(Path::new("/else"), true).spell(&step, Some("/w"));
        assert_eq!(spell(NextStep::CloseFile("/a b.toml".to_owned())), "chmod o-w '/a b.toml'");
        assert_eq!(spell(NextStep::OwnFile("/a.toml".to_owned())), "sudo chown \"$(id -un)\" /a.toml");
        assert_eq!(spell(NextStep::Replace), "--force replaces it");
        assert_eq!(spell(NextStep::NameFile), "--out FILE names another file");
        assert_eq!(spell(NextStep::GiveReason), "--reason \"why\"");
        assert_eq!(spell(NextStep::UseFileOfUser), "--scope user writes the file of the user");
        let from = spell(NextStep::ArgumentsFrom("args.json".to_owned()));
        assert_eq!(from, "`--args-json args.json` reads the arguments from a file");
    }

    #[test]
    fn every_step_is_a_command_that_exists() {
        let steps = steps();
        for step in &steps {
            for line in all_sites(step) {
                let words = Argv::parse(&line).unwrap();
                if let Err(error) = Arguments::try_parse_from(words.words()) {
                    panic!("{line}\n{error}");
                }
            }
        }
        for kind in IssueType::all() {
            let step = match kind.fix() {
                Remedy::Edit | Remedy::ReadFile | Remedy::File(_) => continue,
                Remedy::Tool(step) | Remedy::Object(step) => step("some-id".to_owned()),
                Remedy::Call(step) => step("some-id".parse().unwrap()),
                Remedy::Run(step) => step("some-id".parse().unwrap()),
                Remedy::Checkpoint(step) => step("some-id".parse().unwrap()),
                Remedy::Step(step) => step,
            };
            assert!(steps.contains(&step), "{step}");
        }
    }
}
