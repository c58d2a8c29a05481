//! Reads the facts of plans and starts: the policy's decision, and the files of the command.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use brigade_access::builtin::{COMMAND, is_for_shell};
use brigade_call::{
    Caller, DirectoryFact, FileFact, MissingTool, PinFact, PlanFacts, ProgramFact, ProjectionFacts,
    ServerFact, StartFacts, StartProgram, StartPurpose, declare_code, is_open, undeclared_code,
};
use brigade_catalog::{Catalog, FIELDS_FOR_CALLS, SCHEMA, Tool};
use brigade_cmdline::{ChosenCode, chooses_code};
use brigade_core::text::escape_terminal;
use brigade_core::{ConfigIssue, ErrorCode, Hint, Json, NextStep, Severity};
use brigade_exec::OpenedProgram;
use brigade_fs::FsError;
use brigade_policy::{
    Blocker, CallFacts, CallKind, Decision, Policy, PolicyState, SandboxMode, ShellUse, decide,
    refuse_inline_code, refuse_undeclared_code,
};
use brigade_projection::{ProjectionItem, blocking, summarise};
use brigade_remote::tokens;
use brigade_sandbox::{Mode, SandboxProfile};

use crate::command::{behind_links, leaves_its_lane, program_outside_its_lane};
use crate::files::{ToolReader, compile_schema};
use crate::host::bound_values;
use crate::named::{NamedFiles, named_files};
use crate::tool::{Depth, FactReader, ToolFacts};

/// The facts of plans of a tool, without arguments, and the opened program.
#[derive(Clone)]
pub struct PlanInput<'c> {
    /// The facts.
    pub facts: PlanFacts<'c>,
    /// The state of the projections.
    pub projections: Vec<ProjectionItem>,
    /// The program, if the family is executable and the program was found.
    pub program: Option<OpenedProgram>,
    /// The directory that the program starts in.
    pub directory: PathBuf,
}

/// The facts of a start that is not a call, and the opened program.
pub struct StartInput<'c> {
    /// The facts.
    pub facts: StartFacts<'c>,
    /// The program, if it was found.
    pub program: Option<OpenedProgram>,
}

/// The schema of the arguments of an installation, which takes none.
const NO_ARGUMENTS: &[u8] = br#"{"type":"object","properties":{},"additionalProperties":false}"#;

/// What a command starts.
struct Command {
    opened: Option<OpenedProgram>,
    program: ProgramFact,
    files: NamedFiles,
}

impl<'c> FactReader<'_, 'c> {
    /// Reads the facts of plans of a tool that do not depend on arguments.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn plan(&self, tool: &'c Tool, caller: Caller) -> Result<PlanInput<'c>, FsError> {
        self.plan_as(tool, &CallFacts::from_tool(tool), caller)
    }

    fn plan_as(
        &self,
        tool: &'c Tool,
        request: &CallFacts<'_>,
        caller: Caller,
    ) -> Result<PlanInput<'c>, FsError> {
        let read = self.read(tool, Depth::Plan);
        let reader = self.reader(tool);
        let (directory, fact) = (read.directory.clone(), read.files.directory);
        let Command { opened, program, files } = match (tool.is_executable(), fact) {
            _ if tool.acts_inside() => {
                Command { opened: None, program: ProgramFact::NotExecuted, files: NamedFiles::default() }
            }
            (true, DirectoryFact::Present) => {
                let (opened, program) = reader.program(&directory);
                Command { opened, program, files: named_files(&reader, &directory)? }
            }
            (true, _) => {
                Command { opened: None, program: ProgramFact::NotFound, files: NamedFiles::default() }
            }
            (false, _) => {
                Command { opened: None, program: ProgramFact::NotExecuted, files: NamedFiles::default() }
            }
        };
        let output = output_fact(&read);
        let facts = self.plan_facts(&reader, &read, request, output, (program, files), caller)?;
        Ok(PlanInput { facts, projections: read.projections, program: opened, directory })
    }

    /// Reads the facts of an installation of `entry` by [the script that installs it](Tool::installation).
    ///
    /// # Errors
    /// When the disk fails.
    pub fn plan_installation(
        &self,
        installation: &'c Tool,
        entry: &'c Tool,
        caller: Caller,
    ) -> Result<PlanInput<'c>, FsError> {
        let input = self.plan_as(installation, &CallFacts::of_installation(installation, entry), caller)?;
        let input_schema = compile_schema(NO_ARGUMENTS);
        Ok(PlanInput { facts: PlanFacts { installs: Some(entry), input_schema, ..input.facts }, ..input })
    }

    /// Reads the facts of a plan that are not in a summary that was read before.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn deepen(&self, read: &ToolFacts<'c>, caller: Caller) -> Result<PlanFacts<'c>, FsError> {
        let tool = read.tool;
        let reader = self.reader(tool);
        let (program, files) = match (tool.is_executable(), read.files.directory) {
            _ if tool.acts_inside() => (ProgramFact::NotExecuted, NamedFiles::default()),
            (true, DirectoryFact::Present) => {
                (read.files.program.clone(), named_files(&reader, &read.directory)?)
            }
            (true, _) => (ProgramFact::NotFound, NamedFiles::default()),
            (false, _) => (ProgramFact::NotExecuted, NamedFiles::default()),
        };
        // The summary has the compiled schema; a plan also binds the bytes of the file.
        let output = reader.output_schema().fact();
        self.plan_facts(&reader, read, &CallFacts::from_tool(tool), output, (program, files), caller)
    }

    fn plan_facts(
        &self,
        reader: &ToolReader<'_>,
        read: &ToolFacts<'c>,
        request: &CallFacts<'_>,
        output_schema: FileFact,
        (program, mut files): (ProgramFact, NamedFiles),
        caller: Caller,
    ) -> Result<PlanFacts<'c>, FsError> {
        let (config, tool) = (self.config, read.tool);
        let mut decision = self.decide(tool, request);
        if tool.id == COMMAND {
            // An agent wrote the command, and it was not reviewed. So it is confined as far as the system can, even if
            // the policy confines no calls.
            decision.sandbox.mode = decision.sandbox.mode.max(SandboxMode::BestEffort);
        }
        // A person approves the text that the shell reads.
        let shell = config.policy.policy().map_or(ShellUse::Never, Policy::shell_use);
        let is_text = shell == ShellUse::Approved && is_for_shell(tool);
        if is_text {
            decision.blockers.retain(|blocker| blocker.code != ErrorCode::PolicyInlineCode);
        }
        let behind_links = behind_links(&self.host, tool);
        // Calls of agents use kept servers.
        let server = match caller.agent() {
            Some(_) => self.share(tool, &mut decision, &mut files)?,
            None => None,
        };
        files.open_in(&mut decision);
        if !is_open(&decision, self.host.fs.root(), self.host.home()) {
            files.code.is_closed = closes(decision.sandbox.mode);
        } else if tool.code.is_empty() && !tool.is_built_in() && request.kind == CallKind::Run {
            let directory = Path::new(tool.cwd.as_deref().unwrap_or_default());
            let linked = || behind_links.iter().find_map(|argv| chooses_code(argv, directory));
            files.code.chosen = files.chosen.take().or_else(linked);
        }
        config.narrow(&self.host, &mut decision, request);
        // The interpreter is a link with another name, and gets code as a word.
        let is_refused = decision.blockers.iter().any(|blocker| blocker.code == ErrorCode::PolicyInlineCode);
        let rule = config.policies().find_map(PolicyState::refuses_inline_code);
        if let Some(rule) = rule.filter(|_| !is_refused && !is_text) {
            let linked = behind_links.iter().find_map(|argv| refuse_inline_code(argv, &rule));
            decision.blockers.extend(linked);
        }
        let policy = decision.to_document(&config.policy, &tool.env_labels);
        let (pin, untrusted) = self.host.pins().fact(&config.catalog, tool)?;
        decision.blockers.extend(untrusted);
        decision.blockers.extend(newer_schema(&config.catalog, tool));
        decision.blockers.extend(files.blockers(tool, self.host.home()));
        if let Some(chosen) = &files.code.chosen
            && let Some(refusal) = config.policies().find_map(|policy| {
                refuse_undeclared_code(policy, &undeclared_code(chosen), &declare_code(chosen))
            })
        {
            decision.blockers.push(refusal);
            files.code.chosen = None;
        }
        decision.blockers.extend(program_outside_its_lane(&self.host, tool));
        decision.blockers.extend(config.command_outside(&self.host, tool, &caller));
        let real_directory = reader.real_directory();
        decision.blockers.extend(leaves_its_lane(tool, real_directory.as_deref()));
        Ok(PlanFacts {
            tool,
            installs: None,
            root: self.host.fs.root().to_owned(),
            entry_errors: errors_of_tool(&config.catalog, tool),
            misspelt: misspelt_of(&config.catalog, tool),
            args: Ok(Json::Null),
            input_schema: (*read.files.input_schema).clone(),
            near_schema: read.files.near_schema.clone(),
            output_schema,
            examples: read.files.examples.clone(),
            source: read.files.source.clone(),
            directory: read.files.directory,
            real_directory,
            outside: read.files.outside.iter().map(|field| (*field).to_owned()).collect(),
            program,
            home: self.host.home().map(Path::to_owned),
            files: files.files,
            code: files.code,
            health: self.health_files(tool)?,
            projections: projection_facts(&read.projections),
            decision,
            policy,
            bound_values: bound_values(self.host.environment, &config.policy),
            pin,
            server,
            behind_links,
            ways: BTreeSet::new(),
            absent: BTreeSet::new(),
            modules: BTreeSet::new(),
            builtin: config.builtin(&self.host, tool, &caller),
            caller,
            session: None,
        })
    }

    /// Returns whether the server's listing of an MCP tool differs from its pin.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn pin_changed(&self, tool: &Tool) -> Result<bool, FsError> {
        let (pin, _) = self.host.pins().fact(&self.config.catalog, tool)?;
        Ok(matches!(pin, PinFact::Changed(_)))
    }

    /// Reads the facts of a plan for a tool that does not exist, without arguments.
    pub fn missing(&self, tool_id: String, reason: Blocker, caller: Caller) -> MissingTool {
        let state = &self.config.policy;
        let decision = decide(state, &CallFacts::missing(&tool_id), &|name: &str| self.host.is_set(name));
        MissingTool {
            reason,
            args: Ok(Json::Null),
            policy: decision.to_document(state, &[]),
            decision,
            bound_values: bound_values(self.host.environment, state),
            caller,
            tool_id,
        }
    }

    /// Returns how a tool's command chooses its code itself, if it does and the entry declares no `code`.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn chosen_code(&self, tool: &Tool) -> Result<Option<ChosenCode>, FsError> {
        if !tool.is_executable() || tool.is_built_in() || !tool.code.is_empty() {
            return Ok(None);
        }
        let reader = self.reader(tool);
        Ok(match reader.directory() {
            (directory, DirectoryFact::Present) => named_files(&reader, &directory)?.chosen,
            _ => None,
        })
    }

    /// Returns the installation directories of a command's programs, outside of the system and the workspace.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn program_paths(&self, tool: &Tool) -> Result<Vec<String>, FsError> {
        let reader = self.reader(tool);
        Ok(match reader.directory() {
            (directory, DirectoryFact::Present) => named_files(&reader, &directory)?.program_paths,
            _ => Vec::new(),
        })
    }

    /// Reads the facts that decide whether a tool's server may be started for its list. The tool need not be in the
    /// catalog.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn start<'t>(&self, tool: &'t Tool) -> Result<StartInput<'t>, FsError> {
        self.start_for(tool, StartPurpose::List)
    }

    /// Reads the facts that decide whether a tool's server may be started and kept. They include the bound files of all
    /// entries that it serves.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn upstream<'t>(&self, tool: &'t Tool) -> Result<StartInput<'t>, FsError> {
        self.start_for(tool, StartPurpose::Upstream)
    }

    /// Reads the facts that decide whether a command may be started that checks whether the tool is installed.
    /// `checked` is this command [as an entry](Tool::look_with).
    ///
    /// It has no approval, so it is confined as far as the system can, even if the policy confines no calls.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn check<'t>(&self, tool: &Tool, checked: &'t Tool) -> Result<StartInput<'t>, FsError> {
        let command = checked.command.as_deref().unwrap_or_default();
        let request = CallFacts::of_check(tool, command, &checked.effects);
        let mut decision = self.decide(checked, &request);
        decision.sandbox.mode = decision.sandbox.mode.max(SandboxMode::BestEffort);
        self.start_as(checked, StartPurpose::Check, decision)
    }

    fn decide(&self, tool: &Tool, request: &CallFacts<'_>) -> Decision {
        let mut decision = self.config.decision_as(&self.host, tool, request);
        if let Some(remote) = &decision.remote {
            let grants = &mut decision.sandbox.grants;
            grants.read_paths.extend(self.host.certificates());
            // The connection refreshes the tokens of a login.
            let has_credentials =
                remote.server.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
            grants.write_paths.extend((!has_credentials).then(|| format!("~/{}", tokens::FOLDER)));
        }
        decision
    }

    fn start_for<'t>(&self, tool: &'t Tool, purpose: StartPurpose) -> Result<StartInput<'t>, FsError> {
        let decision = self.decide(tool, &CallFacts::from_tool(tool));
        self.start_as(tool, purpose, decision)
    }

    fn start_as<'t>(
        &self,
        tool: &'t Tool,
        purpose: StartPurpose,
        mut decision: Decision,
    ) -> Result<StartInput<'t>, FsError> {
        let reader = self.reader(tool);
        let (directory, directory_fact) = reader.directory();
        let (opened, fact, mut files) = if directory_fact == DirectoryFact::Present {
            let (opened, fact) = reader.program(&directory);
            (opened, fact, named_files(&reader, &directory)?)
        } else {
            (None, ProgramFact::NotFound, NamedFiles::default())
        };
        let shared = match purpose {
            StartPurpose::Upstream => self.share(tool, &mut decision, &mut files)?,
            _ => None,
        };
        files.open_in(&mut decision);
        let program = match (&opened, fact) {
            (Some(opened), _) => {
                let (path, sha256) = (opened.path().to_owned(), Some(opened.fingerprint()));
                StartProgram::Found { path, sha256 }
            }
            (None, ProgramFact::Unreadable(why)) => StartProgram::Unreadable(why),
            (None, _) => StartProgram::NotFound,
        };
        let facts = StartFacts {
            purpose,
            is_broken: tool.is_broken || self.config.catalog.newer_schema(tool).is_some(),
            command: tool.command.as_deref(),
            directory,
            directory_fact,
            program,
            home: self.host.home().map(Path::to_owned),
            decision: Some(decision),
            refuses_inline_code: None,
            unbound: files.blockers(tool, self.host.home()),
            files: files.files,
            data: ServerFact::all_data(shared.as_ref(), &tool.data),
            // The decision has the bindings.
            bindings: BTreeMap::new(),
        };
        Ok(StartInput { facts, program: opened })
    }
}

/// Returns whether the sandbox closes the workspace to runs. If it is enforced, runs do not start without it.
fn closes(mode: SandboxMode) -> bool {
    static CLOSES_HERE: OnceLock<bool> = OnceLock::new();
    let closes_here = || SandboxProfile::nothing(Mode::Enforce).check().is_ok();
    match mode {
        SandboxMode::Off => false,
        SandboxMode::BestEffort => *CLOSES_HERE.get_or_init(closes_here),
        SandboxMode::Enforce => true,
    }
}

/// Returns the output schema's file, as a plan reads it.
fn output_fact(read: &ToolFacts<'_>) -> FileFact {
    match &*read.files.output_schema {
        brigade_call::SchemaFact::File(fact) => fact.clone(),
        _ => FileFact::NotNamed,
    }
}

/// Returns the errors that make a tool unusable.
pub fn errors_of_tool<'c>(catalog: &'c Catalog, tool: &Tool) -> Vec<&'c ConfigIssue> {
    if !tool.is_broken {
        return Vec::new();
    }
    let concerns = |issue: &&ConfigIssue| {
        // An issue of an entry without an id has only a field; an issue of the file has neither.
        let is_its = issue.entry.as_deref().map_or(issue.field.is_none(), |entry| tool.id == entry);
        issue.severity == Severity::Error && is_its
    };
    catalog.issues_of(tool).filter(concerns).collect()
}

/// Returns unknown keys of an entry that are probably misspelt fields that a call needs.
pub(crate) fn misspelt_of<'c>(catalog: &'c Catalog, tool: &Tool) -> BTreeMap<&'static str, &'c ConfigIssue> {
    let lacking = FIELDS_FOR_CALLS.iter().filter(|field| tool.lacks(field));
    lacking.filter_map(|field| Some((*field, catalog.misspelt(tool, field)?))).collect()
}

/// Returns the blocker for tools in a file of a newer version.
pub(crate) fn newer_schema(catalog: &Catalog, tool: &Tool) -> Option<Blocker> {
    let place = catalog.newer_schema(tool)?;
    let message = format!("{} uses a newer schema than {SCHEMA}; its tools cannot run", place.file);
    let blocker = Blocker::new(ErrorCode::CatalogSchemaNewer, message).at(place.clone()).field("schema");
    Some(blocker.hint("use a newer version of Brigade for this file"))
}

/// Returns the facts about projections for a plan.
fn projection_facts(items: &[ProjectionItem]) -> ProjectionFacts {
    let (summary, fingerprint) = summarise(items);
    let blockers = blocking(items).into_iter().map(|item| {
        let path = item.projection_path.as_deref().unwrap_or_default();
        let message = format!(
            "projection for {} is {}: `{}`",
            escape_terminal(&item.harness),
            item.status.as_str(),
            escape_terminal(path)
        );
        Blocker::new(ErrorCode::Projection, message)
            .field(format!("projections.{}", item.harness))
            .hint(Hint::to("replace it", NextStep::ApplyForced(item.tool_id.to_string())))
    });
    ProjectionFacts { blockers: blockers.collect(), summary, fingerprint }
}
