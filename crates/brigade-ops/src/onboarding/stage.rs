//! Prepares the changes of a setup in memory, and writes them after a yes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use brigade_access::gateway::{NewAgent, add_agent};
use brigade_catalog::Tool;
use brigade_catalog::starter::{self, StarterTools};
use brigade_core::{AgentName, ErrorCode, Fingerprint, NextStep};
use brigade_fs::{RelPath, StagedChange, StagedFs};
use brigade_harness::{Transport, client};
use brigade_policy::{NETWORK_EFFECTS, PolicyAdditions, READ_EFFECT, RiskLevel, RuleText};
use brigade_redact::Redactor;
use brigade_workspace::{CATALOG, POLICY, TRUSTED, WorkspaceContext, gather, load};

use super::record::SetupRecord;
use super::rows::{connected, notes, row, sentence};
use super::{Onboarding, SetupChoice, SetupGrant, choose, new_server};
use crate::clients::agents::agent_config;
use crate::clients::{Clients, ConnectRequest, ConnectStep};
use crate::discovery::sync;
use crate::error::{Error, ErrorKind};
use crate::report::{
    ConnectReport, EnableReport, EnabledTool, ImportMcpReport, SetupChange, SetupLevel, SetupProgram,
    SetupReport, SetupRule, SetupServer, SetupState,
};
use crate::setup::init::{init_tools, write_starter};
use crate::setup::{Ignore, OnExisting, Setup};
use crate::tools::add::{AddedTools, add_policy_rule, add_tools, allow, needs_of_server};
use crate::tools::enable::{EnableChange, EnableRequest, enable_tools};
use crate::tools::register::RegisterSource;
use crate::trust::{files_of_tools, note_seen};

/// The name of the rule that approves reads.
const RULE: &str = "setup-reads";

/// Effects of tools that change nothing.
const READS: [&str; 3] = [READ_EFFECT, "remote-read", NETWORK_EFFECTS[0]];

/// The changes of a setup, in memory. Dropping it removes what the started servers left.
pub struct StagedSetup {
    onboarding: Onboarding,
    staged: Arc<StagedFs>,
    /// The workspace over the changes.
    context: Arc<WorkspaceContext>,
    report: SetupReport,
    /// The notes about what was found.
    found: Vec<String>,
    added: Vec<AddedTools>,
    enabled: Vec<String>,
    changes: Vec<StagedChange>,
    /// Home directories that servers got now, each with the server.
    homes: Vec<(String, RelPath)>,
    /// The files that the added tools run or load, as they were when their servers listed them.
    files: BTreeMap<String, Fingerprint>,
}

impl Onboarding {
    /// Prepares a workspace with these servers, and lists their tools. The servers start, in the sandbox of the policy;
    /// `tell` hears which. A server that does not list its tools is reported and left out.
    ///
    /// # Errors
    /// Fails if something that was chosen is not there, inside a run, and on file errors.
    pub fn begin(&self, choice: &SetupChoice, show_name: &mut dyn FnMut(&str)) -> Result<StagedSetup, Error> {
        self.context.require_outside_run()?;
        let mut report = self.look()?;
        for name in &choice.programs {
            let row = choose("agent program", name, &mut report.programs, |row| vec![row.program.clone()])?;
            row.agent = Some(row.program.clone());
        }
        report.programs.retain(|row| row.agent.is_some());
        let mut chosen: Vec<(SetupServer, RegisterSource)> = Vec::new();
        for name in &choice.servers {
            let names = |row: &SetupServer| vec![row.name.clone(), row.source.clone()];
            let row = choose("server", name, &mut report.servers, names)?.clone();
            let source = RegisterSource::Reference(row.source.clone());
            chosen.push((row, source));
        }
        chosen.extend(choice.sources.iter().map(|(name, source)| (new_server(name), source.clone())));
        report.servers.clear();
        let staged = Arc::new(StagedFs::new(self.context.fs.clone()));
        let context = Arc::new(self.context.over(staged.clone()));
        let mut setup = StagedSetup {
            onboarding: self.clone(),
            staged,
            context,
            found: std::mem::take(&mut report.notes),
            report,
            added: Vec::new(),
            enabled: Vec::new(),
            changes: Vec::new(),
            homes: Vec::new(),
            files: BTreeMap::new(),
        };
        setup.create(choice)?;
        for (row, source) in chosen {
            let row = setup.add(row, &source, choice.id.as_deref(), show_name);
            setup.report.servers.push(row);
        }
        setup.list()?;
        Ok(setup)
    }
}

impl StagedSetup {
    /// Returns what was found and would be written.
    pub fn report(&self) -> &SetupReport {
        &self.report
    }

    /// Adds catalog, policy and the ignore lines if they are missing.
    fn create(&self, choice: &SetupChoice) -> Result<(), Error> {
        let exists = |path: &'static str| self.context.fs.exists(&RelPath::from_static(path));
        let ignore = match self.onboarding.level {
            SetupLevel::Project => Ignore::Write,
            SetupLevel::User => Ignore::Skip,
        };
        if !exists(CATALOG)? {
            init_tools(&self.context, &StarterTools::Empty, OnExisting::Keep, ignore)?;
        } else if !choice.programs.is_empty() {
            let setup = Setup::new(&self.context);
            setup.write_ignore(setup.ignore_change(ignore)?)?;
        }
        if !exists(POLICY)? {
            let starter = (POLICY, starter::POLICY_TOML);
            write_starter(&self.context, starter, OnExisting::Keep, NextStep::CheckPolicy)?;
        }
        let read_paths = choice.reads.iter().cloned().collect();
        allow(&self.context, &PolicyAdditions { read_paths, ..PolicyAdditions::default() })?;
        Ok(())
    }

    /// Adds one server in a separate stage, which is joined only if all went well.
    fn add(
        &mut self,
        row: SetupServer,
        source: &RegisterSource,
        id: Option<&str>,
        show_name: &mut dyn FnMut(&str),
    ) -> SetupServer {
        if row.state == SetupState::Known {
            return row;
        }
        show_name(&row.name);
        let inner = Arc::new(StagedFs::new(self.staged.clone()));
        let context = Arc::new(self.context.over(inner.clone()));
        let added = add_tools(&context, source, id, row.runtime_id.as_deref());
        self.note_homes(&row.name, &context);
        let joined = added.and_then(|added| {
            inner.write(&inner.changes()?)?;
            Ok(added)
        });
        match joined {
            Ok(added) => {
                let of_server = added.servers.first();
                let runtime_id = of_server.map(|server| server.runtime_id.clone()).or(row.runtime_id);
                self.added.push(added);
                SetupServer { state: SetupState::New, runtime_id, ..row }
            }
            Err(error) => {
                let reasons: Vec<&str> =
                    error.blockers().iter().map(|reason| reason.message.as_str()).collect();
                let why = if reasons.is_empty() { error.to_string() } else { reasons.join("; ") };
                let of_reasons = error.blockers().iter().filter_map(|reason| reason.hint.as_ref());
                let hint = error.hints().iter().chain(of_reasons).next().cloned();
                let hint = hint.map(|hint| self.context.spelled(hint));
                SetupServer { state: SetupState::Failed, detail: Some(why), hint, ..row }
            }
        }
    }

    /// Remembers the home directories that a server got now. A server of this workspace had its home before.
    fn note_homes(&mut self, server: &str, context: &WorkspaceContext) {
        let homes = |context: &WorkspaceContext| -> BTreeSet<String> {
            let runtimes = load::runtimes(context).unwrap_or_default();
            runtimes.runtimes().iter().filter_map(brigade_catalog::Runtime::home_path).collect()
        };
        let (before, now) = (homes(&self.context), homes(context));
        let new = now.difference(&before).filter_map(|home| home.parse().ok());
        self.homes.extend(new.map(|home| (server.to_owned(), home)));
    }

    fn files_of_added(&self) -> Result<BTreeMap<String, Fingerprint>, Error> {
        let imported = self.imports().flat_map(|import| &import.tools).map(|tool| &tool.tool_id);
        let ids: BTreeSet<&String> =
            imported.chain(self.added.iter().flat_map(|added| &added.others)).collect();
        files_of_tools(&self.context, |tool| ids.iter().any(|id| tool.id == id.as_str()))
    }

    fn imports(&self) -> impl Iterator<Item = &ImportMcpReport> {
        self.added.iter().flat_map(|added| &added.servers)
    }

    /// Fills the rows of the tools, as they would be if all proposals were granted.
    fn list(&mut self) -> Result<(), Error> {
        self.files = self.files_of_added()?;
        let rows = self.rows(&|_| true)?;
        let mut servers = std::mem::take(&mut self.report.servers);
        for server in &mut servers {
            let own = self.imports().filter(|import| Some(&import.runtime_id) == server.runtime_id.as_ref());
            let ids: Vec<&str> =
                own.flat_map(|import| &import.tools).map(|tool| tool.tool_id.as_str()).collect();
            server.tools = rows.iter().filter(|row| ids.contains(&row.tool_id.as_str())).cloned().collect();
        }
        self.report.servers = servers;
        let others: Vec<&String> = self.added.iter().flat_map(|added| &added.others).collect();
        self.report.tools = rows.iter().filter(|row| others.contains(&&row.tool_id)).cloned().collect();
        Ok(())
    }

    /// Describes all added tools. Those that `is_granted` picks are described as enabled.
    fn rows(&self, is_granted: &dyn Fn(&EnabledTool) -> bool) -> Result<Vec<EnabledTool>, Error> {
        let of_servers = self.imports().flat_map(|import| &import.tools).map(|tool| tool.tool_id.clone());
        let others = self.added.iter().flat_map(|added| added.others.iter().cloned());
        let ids: Vec<String> = of_servers.chain(others).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let enabled = self.change(&ids, true, true)?.tools;
        let (mut rows, rest): (Vec<_>, Vec<_>) =
            enabled.into_iter().partition(|row| is_granted(row) && self.refused(row).is_none());
        if !rest.is_empty() {
            let rest: Vec<String> = rest.into_iter().map(|row| row.tool_id).collect();
            rows.extend(self.change(&rest, false, true)?.tools);
        }
        for row in rows.iter_mut().filter(|row| !row.enabled) {
            row.detail = self.refused(row);
        }
        rows.sort_by_key(|row| ids.iter().position(|id| *id == row.tool_id));
        Ok(rows)
    }

    /// Returns why a tool cannot be enabled.
    fn refused(&self, row: &EnabledTool) -> Option<String> {
        self.denied(if row.effects.is_empty() { &row.proposed_effects } else { &row.effects })
    }

    /// Returns why a tool with these effects cannot be enabled.
    fn denied(&self, effects: &[String]) -> Option<String> {
        if effects.is_empty() {
            return Some("its server does not say what it does, so it needs effects".to_owned());
        }
        let state = load::policy(&self.context);
        let denied = &state.policy()?.denied_effects;
        let effect = effects.iter().find(|effect| denied.find(effect).is_some())?;
        Some(format!("the policy denies {effect}"))
    }

    fn change(&self, ids: &[String], enabled: bool, dry_run: bool) -> Result<EnableReport, Error> {
        let change = EnableChange { enabled, effects: None, approval: None, accept_hints: enabled, dry_run };
        enable_tools(&self.context, &EnableRequest { globs: ids.to_vec(), change }, &mut |_| Ok(true))
    }

    /// Enables tools, adds the agents and the rule for reads, and lists all changes.
    ///
    /// # Errors
    /// Fails if a file cannot be edited, and on file errors.
    pub fn grant(&mut self, grant: SetupGrant) -> Result<(), Error> {
        let is_granted = |row: &EnabledTool| match grant {
            SetupGrant::All => true,
            SetupGrant::Reads => row.effects.iter().all(|effect| READS.contains(&effect.as_str())),
            SetupGrant::None => false,
        };
        let granted: Vec<EnabledTool> =
            self.rows(&is_granted)?.into_iter().filter(|row| row.enabled).collect();
        let mut tools = self.known_tools()?;
        tools.extend(granted.iter().map(|row| (row.tool_id.clone(), row.effects.clone())));
        let effects = tools.iter().flat_map(|(_, effects)| effects.iter().cloned()).collect();
        allow(&self.context, &PolicyAdditions { effects, ..PolicyAdditions::default() })?;
        self.add_agents()?;
        tools.retain(|(_, effects)| effects.iter().all(|effect| effect == READ_EFFECT));
        self.add_rule(tools.into_iter().map(|(id, _)| id).collect())?;
        let enabled: Vec<String> = granted.into_iter().map(|row| row.tool_id).collect();
        if !enabled.is_empty() {
            self.change(&enabled, true, false)?;
        }
        let rows = self.rows(&|row| enabled.contains(&row.tool_id))?;
        let of_servers = self.report.servers.iter_mut().flat_map(|server| &mut server.tools);
        for row in of_servers.chain(&mut self.report.tools) {
            if let Some(now) = rows.iter().find(|now| now.tool_id == row.tool_id) {
                row.clone_from(now);
            }
        }
        self.enabled = enabled;
        self.list_changes()
    }

    /// Allows what chosen servers that were added before need. Returns their enabled tools, each with its effects.
    fn known_tools(&self) -> Result<Vec<(String, Vec<String>)>, Error> {
        let (catalog, runtimes) = (load::catalog(&self.context)?, load::runtimes(&self.context)?);
        let known = self.report.servers.iter().filter(|server| server.state == SetupState::Known);
        let mut all = Vec::new();
        for runtime in known.filter_map(|server| runtimes.runtime(server.runtime_id.as_deref()?)) {
            let own = catalog
                .tools()
                .iter()
                .filter(|tool| tool.enabled && !tool.is_broken && tool.is_imported_from(runtime.id.as_str()));
            let own: Vec<_> = own.filter(|tool| self.denied(&tool.effects).is_none()).collect();
            if !own.is_empty() {
                allow(&self.context, &needs_of_server(runtime))?;
            }
            all.extend(own.into_iter().map(|tool| (tool.id.to_string(), tool.effects.clone())));
        }
        Ok(all)
    }

    fn agents(&self) -> impl Iterator<Item = AgentName> {
        self.report.programs.iter().filter_map(|program| program.agent.as_deref()?.parse().ok())
    }

    fn add_agents(&self) -> Result<(), Error> {
        let known = agent_config(&self.context)?.gateway;
        for name in self.agents().filter(|name| known.agent(name.as_str()).is_none()) {
            // The client's dialogue asks for calls that no rule approves. Without one, they wait.
            let agent = NewAgent { confirm: Some(RiskLevel::Medium), ..NewAgent::new(name) };
            Setup::new(&self.context).change_agents(|text| add_agent(text, &agent))?;
        }
        Ok(())
    }

    /// Adds the rule for reads, or extends it.
    fn add_rule(&mut self, tools: BTreeSet<String>) -> Result<(), Error> {
        let agents: BTreeSet<String> = self.agents().map(|name| name.to_string()).collect();
        let state = load::policy(&self.context);
        let rules = state.policy().map(|policy| policy.auto_approve.as_slice()).unwrap_or_default();
        let rule = rules.iter().find(|rule| rule.name == RULE);
        let is_covered = rule.is_some_and(|rule| {
            let has_tool = |id: &String| rule.tools.iter().any(|glob| glob.value.matches(id));
            let has_agent = |name: &String| {
                let all = rule.agents.as_ref();
                all.is_none_or(|all| all.iter().any(|own| own.value.as_str() == name))
            };
            tools.iter().all(has_tool) && agents.iter().all(has_agent)
        });
        // A new rule needs tools and agents.
        if is_covered || rule.is_none() && (tools.is_empty() || agents.is_empty()) {
            return Ok(());
        }
        self.report.rule = Some(SetupRule { name: RULE.to_owned(), sentence: sentence(&tools, &agents) });
        let comment = "Written by the setup: what only reads here runs without asking.".to_owned();
        let effects = vec![READ_EFFECT.to_owned()];
        add_policy_rule(
            &self.context,
            &RuleText { name: RULE.to_owned(), comment, tools, effects, agents, ..RuleText::default() },
        )?;
        Ok(())
    }

    fn connect(
        &self,
        context: &Arc<WorkspaceContext>,
        program: &str,
        step: ConnectStep,
    ) -> Result<ConnectReport, Error> {
        let scope = client(program).map(|client| self.onboarding.scope(client));
        let (client, agent) = (program.to_owned(), program.to_owned());
        let request = ConnectRequest { client, scope, transport: Transport::Stdio, agent, step };
        Clients::new(context.clone()).connect(&request)
    }

    fn list_changes(&mut self) -> Result<(), Error> {
        let changes = self.staged.changes()?;
        self.changes = changes.into_iter().filter(|change| change.path.as_str() != TRUSTED).collect();
        let redactor = Redactor::new(&gather::secrets(&self.context)).for_settings();
        let root = self.context.target();
        let mut rows: Vec<SetupChange> =
            self.changes.iter().map(|change| row(change, &redactor, &root)).collect();
        let mut programs = std::mem::take(&mut self.report.programs);
        for program in &mut programs {
            match self.connect(&self.context, &program.program, ConnectStep::Show) {
                Ok(shown) => rows.extend(connected(program, &shown)),
                Err(error) => program.fail(&error),
            }
        }
        self.report.programs = programs;
        rows.sort_by(|one, other| one.path.cmp(&other.path));
        self.report.change_count = rows.len();
        self.report.changes = rows;
        self.report.notes = self.found.iter().cloned().chain(notes(&self.report)).collect();
        let is_here = self.onboarding.level == SetupLevel::Project;
        self.report.next_commands =
            is_here.then(|| self.context.spelled(NextStep::UndoSetup)).into_iter().collect();
        Ok(())
    }

    /// Fails if the file of a program, as it is now, would not change as it was shown.
    fn check_programs(&self) -> Result<(), Error> {
        let now = Arc::new(StagedFs::new(self.onboarding.context.fs.clone()));
        if let Some(path) = StagedFs::new(now.clone()).write(&self.changes)? {
            return Err(changed_since_shown(path.as_str()));
        }
        let context = Arc::new(self.onboarding.context.over(now));
        let connected = self.report.programs.iter().filter(|row| row.state != SetupState::Failed);
        for program in connected {
            let shown = self.connect(&context, &program.program, ConnectStep::Show)?;
            self.check_shown(program, &shown)?;
        }
        Ok(())
    }

    /// Fails if this change of a program's file is not the one that was shown.
    fn check_shown(&self, program: &SetupProgram, now: &ConnectReport) -> Result<(), Error> {
        match connected(&mut program.clone(), now) {
            Some(change) if !self.report.changes.contains(&change) => Err(changed_since_shown(&change.path)),
            _ => Ok(()),
        }
    }

    /// Returns the report as a proposal only.
    pub fn propose(mut self) -> SetupReport {
        self.report.dry_run = true;
        self.report.clone()
    }

    /// Writes the changes, and records what a person saw as reviewed.
    ///
    /// # Errors
    /// Fails if a file changed since it was shown, and on a disk error. Then nothing was written.
    pub fn write(mut self) -> Result<SetupReport, Error> {
        let real = self.onboarding.context.clone();
        let _lock = Setup::new(&real).lock_catalog()?;
        self.check_programs()?;
        // The record comes first, so that whatever a crash leaves can be taken back.
        let known = SetupRecord::read(&real)?;
        let mut record = known.clone();
        record.add_files(self.changes.iter());
        record.store(&real)?;
        let changed = self.staged.write(&self.changes);
        if !matches!(changed, Ok(None)) {
            known.clone().store(&real)?;
        }
        if let Some(path) = changed? {
            return Err(changed_since_shown(path.as_str()));
        }
        let is_added = |name: &str| {
            self.report.servers.iter().any(|server| server.name == name && server.state == SetupState::New)
        };
        self.homes.retain(|(server, _)| !is_added(server));
        let is_enabled = |tool: &Tool| self.enabled.iter().any(|id| tool.id == id.as_str());
        note_seen(&real, "setup", is_enabled, &self.files);
        let mut programs = std::mem::take(&mut self.report.programs);
        for program in programs.iter_mut().filter(|program| program.state != SetupState::Failed) {
            let written = self.connect(&real, &program.program, ConnectStep::Show).and_then(|shown| {
                self.check_shown(program, &shown)?;
                record.add_entry(&shown);
                record.store(&real)?;
                self.connect(&real, &program.program, ConnectStep::Write)
            });
            if let Err(error) = written {
                program.fail(&error);
            }
        }
        self.report.programs = programs;
        // The brief compares the machine with this. It is a cache, so a setup without it is whole.
        let synced = Arc::new(StagedFs::new(real.fs.clone()));
        if sync(&real.over(synced.clone()), false).is_ok() {
            let changes = synced.changes()?;
            synced.write(&changes)?;
            record.add_files(changes.iter());
            record.store(&real)?;
        }
        self.report.written = true;
        Ok(self.report.clone())
    }
}

/// Returns the error of a write that came after another one.
pub(super) fn changed_since_shown(path: &str) -> Error {
    let message = format!("`{path}` changed after it was shown, so nothing was written");
    let error = Error::new(ErrorKind::Refused, message).coded(ErrorCode::ChangedMeanwhile);
    error.hint("run the command again")
}

impl Drop for StagedSetup {
    /// Removes home directories of servers that were not added, and directories that are empty then.
    fn drop(&mut self) {
        let fs = &*self.onboarding.context.fs;
        for (_, home) in &self.homes {
            if fs.remove_tree(home).is_ok() {
                remove_empty(fs, home.parent());
            }
        }
    }
}

/// Removes a directory and those above it, as long as they are empty.
pub(super) fn remove_empty(fs: &dyn brigade_fs::Fs, mut folder: RelPath) {
    while !folder.is_root() && fs.remove_dir(&folder).is_ok() {
        folder = folder.parent();
    }
}
