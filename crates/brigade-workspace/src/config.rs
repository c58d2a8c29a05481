//! Reads the configuration.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use brigade_access::builtin::{Fact, Forge, Guards, is_forge, is_of_forge};
use brigade_access::{
    CallLimits, GatewayConfig, LANES, Offer, Rights, SearchSource, SessionProfiles, ToolTraits, Worker,
    builtin,
};
use brigade_call::{
    ArgsProblem, BuiltinFacts, CallSession, Caller, NamedThings, PlanFacts, paths_of_words, spelled,
    words_of_arguments,
};
use brigade_catalog::{Catalog, Family, Level, Reads, Runtimes, Tool, ToolLookupError};
use brigade_cmdline::{Argv, PACKAGE_FILES, find_program, is_found_beside, is_loaded_from};
use brigade_core::{ConfigIssue, Dialect, ErrorCode, Hint, Json, Place, Severity};
use brigade_exec::ways_to_root;
use brigade_fs::{FileKind, Fs, FsError, FsErrorKind, RelPath};
use brigade_policy::{
    AutoApprove, Blocker, CallFacts, Decision, ErrorLine, Policy, PolicyState, PolicyValidity,
    Reads as ReadMode, SandboxMode, ShellUse,
};
use brigade_projection::Claims;

use crate::agent_tools::{AgentConfig, read_agents};
use crate::host::{Host, masks};
use crate::learned_code::{LearnedCode, LearnedTool};
use crate::named::bind_learned;
use crate::searched_files::is_program;
use crate::trust::TrustStore;
use crate::user::read_runtimes;

/// The catalog's file.
pub const CATALOG: &str = ".brigade/tools.toml";

/// The policy's file.
pub const POLICY: &str = ".brigade/tools/policy.toml";

/// The file that names the packages of a web application.
pub const PACKAGE: &str = "package.json";

/// The directories of lanes and of volumes.
pub const TARGETS: [&str; 2] = [LANES, ".brigade/volumes"];

/// The git directories of clones.
const CLONES: &str = ".brigade/tools/git";

/// The maximum size of package.json.
const PACKAGE_LIMIT: u64 = 1 << 20;

/// The maximum size of a configuration file.
pub const CONFIG_LIMIT: u64 = 256 << 20;

/// The configuration for decisions. It is read once for many of them.
pub struct Config {
    /// The tools.
    pub catalog: Catalog,
    /// What may run.
    pub policy: PolicyState,
    /// The policy of the project that the gateway of the user serves, if it has one. It only narrows `policy`.
    project: Option<PolicyState>,
    /// Which tool projects to which path.
    pub claims: Claims,
    /// The profiles and the gateway's settings, read on first use.
    agents: OnceLock<Result<AgentConfig, Vec<ConfigIssue>>>,
    /// The offers of gateway.toml, read on first use.
    offers: OnceLock<Vec<Offer>>,
    /// The runtimes, read on first use.
    runtimes: OnceLock<Runtimes>,
    /// Whether package.json names a web framework, read on first use.
    web_framework: OnceLock<bool>,
}

/// Facts that were checked for one caller, because many tools need the same ones.
#[derive(Default)]
pub(crate) struct KnownFacts(Mutex<Vec<(Fact, bool)>>);

impl KnownFacts {
    fn holds(&self, fact: Fact, look: impl FnOnce() -> bool) -> bool {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, holds)) = known().iter().find(|(cached, _)| *cached == fact) {
            return *holds;
        }
        let holds = look();
        known().push((fact, holds));
        holds
    }
}

/// Finds the files that arguments of a script name, if the sandbox closes the workspace.
fn follow_arguments(host: &Host<'_>, facts: &mut PlanFacts<'_>) {
    (facts.ways, facts.absent, facts.modules) = Default::default();
    let is_script = facts.tool.family == Some(Family::Script) && !facts.tool.acts_inside();
    let args = facts.args.as_ref().ok().and_then(Json::as_object).filter(|_| is_script);
    let Some(args) = args else { return };
    let rendered = words_of_arguments(facts.tool, args);
    let words: Vec<String> = rendered.values().cloned().collect();
    let directory = facts.real_directory.as_deref().or(facts.tool.cwd.as_deref()).unwrap_or_default();
    let directory = facts.root.join(directory);
    let sandbox = &facts.decision.sandbox;
    if sandbox.mode != SandboxMode::Off && sandbox.reads == ReadMode::Closed {
        names_of_arguments(host.fs, facts, &directory, &words);
    }
}

/// Binds the code that earlier runs of the entry used. Kept servers serve many entries, so nothing is learned from
/// them.
fn learn(host: &Host<'_>, facts: &mut PlanFacts<'_>, approved: Option<&[String]>) {
    let tool = facts.tool;
    if tool.acts_inside() || tool.is_built_in() || facts.installs.is_some() || facts.server.is_some() {
        return;
    }
    let known = || Ok(LearnedCode::read(host.fs)?.of_tool(tool).cloned());
    let learned = match approved {
        Some([]) => Ok(None),
        Some(files) => {
            let run_id = known().ok().flatten().map(|known| known.run_id).unwrap_or_default();
            Ok(Some(LearnedTool::approved(files, &run_id)))
        }
        None => known(),
    };
    let bound = learned.and_then(|learned| match learned {
        Some(learned) => bind_learned(host.fs, facts, learned),
        None => Ok(()),
    });
    if let Err(error) = bound {
        let message = format!("code that earlier runs used cannot be read: {error}");
        facts.decision.blockers.push(Blocker::new(ErrorCode::CodeNotBound, message).field("command"));
    }
}

/// Lists code that arguments of a script name and bound code would load: existing files, missing ones, and files in
/// named directories. Also lists arguments that are paths around the workspace.
fn names_of_arguments(fs: &dyn Fs, facts: &mut PlanFacts<'_>, directory: &Path, words: &[String]) {
    let words = || words.iter().map(String::as_str);
    let ways = ways_to_root(fs, spelled(words(), directory));
    let paths = paths_of_words(words(), directory, &facts.root, &ways);
    // An interpreter without a script loads code from its working directory.
    let command = facts.tool.command.as_deref().and_then(|command| Argv::parse(command).ok());
    let place = directory.strip_prefix(&facts.root).unwrap_or(Path::new("")).to_owned();
    let is_loaded =
        |path: &Path| command.as_ref().is_some_and(|argv| is_loaded_from(argv.words(), &place, path));
    let is_found = |path: &Path| {
        is_loaded(path) || facts.files.keys().any(|file| is_found_beside(Path::new(file), path))
    };
    let (mut absent, mut there) = (BTreeSet::new(), BTreeSet::new());
    for path in paths.iter().filter(|path| !path.as_os_str().is_empty()) {
        let look = |path: &Path| path.to_str().and_then(|path| fs.link_metadata(&path.parse().ok()?).err());
        let is_absent = look(path).is_some_and(|error| error.is_not_found());
        if look(path).is_none() && is_loaded(path) {
            there.extend(path.to_str().map(str::to_owned));
        }
        // A module may be a directory, so it needs no ending.
        let named = [
            PathBuf::from(format!("{}.py", path.display())),
            PathBuf::from(format!("{}.js", path.display())),
        ];
        if is_absent && (is_found(path) || named.iter().any(|path| is_found(path))) {
            absent.extend(path.to_str().map(str::to_owned));
        }
        for module in PACKAGE_FILES.map(|file| path.join(file)).iter() {
            // package.json names the file that is loaded.
            let names_index = module.ends_with("package.json") && is_found(&path.join("index.js"));
            if !names_index && !is_found(module) {
                continue;
            }
            let Some(name) = module.to_str() else { continue };
            match look(module) {
                Some(error) if error.is_not_found() && !is_absent => drop(absent.insert(name.to_owned())),
                Some(_) => {}
                None => drop(there.insert(name.to_owned())),
            }
        }
    }
    (facts.ways, facts.absent, facts.modules) = (ways, absent, there);
}

impl Config {
    /// Combines a catalog and a policy that were read.
    pub fn new(host: &Host<'_>, catalog: Catalog, policy: PolicyState) -> Config {
        let catalog = catalog.masked_by(&masks(host.environment, &policy));
        let claims = Claims::new(&host.root(), catalog.tools());
        let (agents, offers, runtimes) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let (project, web_framework) = (None, OnceLock::new());
        Config { catalog, policy, project, claims, agents, offers, runtimes, web_framework }
    }

    /// Narrows every decision on a call by the policy of a project.
    #[must_use]
    pub fn narrowed_by(self, project: Option<PolicyState>) -> Config {
        Config { project, ..self }
    }

    /// Narrows a decision on a call by the policy of the project.
    pub(crate) fn narrow(&self, host: &Host<'_>, decision: &mut Decision, facts: &CallFacts<'_>) {
        if let Some(project) = &self.project {
            decision.narrow(project, facts, &|name: &str| host.is_set(name));
        }
    }

    /// Returns the rules of the project, one of which must also cover what a rule approves. `None` without a project.
    pub(crate) fn rules_of_project(&self) -> Option<&[AutoApprove]> {
        self.project.as_ref().map(PolicyState::auto_approve)
    }

    /// Returns the policies that decide on calls: first that of the workspace, then that of the project.
    pub(crate) fn policies(&self) -> impl Iterator<Item = &PolicyState> {
        std::iter::once(&self.policy).chain(&self.project)
    }

    /// Replaces the runtimes that the files have.
    #[must_use]
    pub fn with_runtimes(self, runtimes: Runtimes) -> Config {
        Config { runtimes: OnceLock::from(runtimes), ..self }
    }

    /// Returns the offers of gateway.toml. Reads the file on first use. A file with an error offers nothing, and
    /// neither does one that git tracks: a clone brings it.
    pub fn offers(&self, host: &Host<'_>) -> &[Offer] {
        let all = |gateway: &GatewayConfig| Offer::all(&self.catalog, gateway);
        self.offers.get_or_init(|| self.gateway(host).map(all).unwrap_or_default())
    }

    /// Returns the runtimes. Reads their files on first use. Empty if they cannot be read.
    pub fn runtimes(&self, host: &Host<'_>) -> &Runtimes {
        self.runtimes.get_or_init(|| read_runtimes(host).unwrap_or_default())
    }

    /// Returns the gateway's settings. Reads the file on first use. `None` if it has an error.
    pub fn gateway(&self, host: &Host<'_>) -> Option<&GatewayConfig> {
        self.agents(host).map(|agents| &agents.gateway)
    }

    /// Returns the workers of gateway.toml.
    pub fn workers(&self, host: &Host<'_>) -> &[Worker] {
        self.gateway(host).map(|gateway| gateway.workers.as_slice()).unwrap_or_default()
    }

    /// Returns the profiles and the gateway's settings. `None` if one of their files has an error.
    pub fn agents(&self, host: &Host<'_>) -> Option<&AgentConfig> {
        self.checked_agents(host).ok()
    }

    /// Returns the profiles and the gateway's settings. Reads their files on first use.
    ///
    /// # Errors
    /// Returns all issues of the files.
    pub fn checked_agents(&self, host: &Host<'_>) -> Result<&AgentConfig, &[ConfigIssue]> {
        let agents = self.agents.get_or_init(|| read_agents(host.fs, host.trust));
        agents.as_ref().map_err(Vec::as_slice)
    }

    /// Returns the paths that built-in tools may not open.
    pub fn guards(&self, host: &Host<'_>) -> Guards {
        let protected = self.gateway(host).map(|gateway| gateway.builtin.protected.clone());
        let policy = self.policy.policy();
        Guards {
            protected: protected.unwrap_or_default(),
            readable: policy
                .map(|policy| policy.readable_secrets.values().cloned().collect())
                .unwrap_or_default(),
            agent_files: policy.map(|policy| policy.agent_files).unwrap_or_default(),
        }
    }

    /// Returns the test suites: scripts of the catalog with the category `test`. Those of a registry that is read in
    /// place do not count.
    pub fn suites(&self) -> impl Iterator<Item = &Tool> {
        let is_suite = |tool: &&Tool| {
            let is_test = tool.categories.iter().any(|category| category == "test");
            let is_own = !tool.origin.level.is_registry();
            tool.enabled && !tool.is_broken && tool.family == Some(Family::Script) && is_test && is_own
        };
        self.catalog.tools().iter().filter(is_suite)
    }

    /// Returns URL patterns of the repositories that built-in tools may reach.
    pub fn git_urls(&self) -> Vec<String> {
        let policy = self.policy.policy();
        policy.map(|policy| policy.git_urls.values().cloned().collect()).unwrap_or_default()
    }

    /// Returns the hosts that built-in tools may fetch pages from.
    pub fn web_domains(&self) -> Vec<String> {
        let policy = self.policy.policy();
        policy.map(|policy| policy.web_domains.values().cloned().collect()).unwrap_or_default()
    }

    /// Returns the directory whose documents `web.search` searches, relative to the workspace.
    pub fn search_folder(&self, host: &Host<'_>) -> Option<String> {
        match &self.gateway(host)?.search.as_ref()?.source {
            SearchSource::Folder(folder) => Some(folder.clone()),
            SearchSource::Command(_) => None,
        }
    }

    /// Reads the facts for calls of a built-in tool. `None` for other tools.
    pub(crate) fn builtin(&self, host: &Host<'_>, tool: &Tool, caller: &Caller) -> Option<BuiltinFacts> {
        self.builtin_known(host, tool, caller, &KnownFacts::default())
    }

    /// Like [`Config::builtin`], sharing facts between tools.
    pub(crate) fn builtin_known(
        &self,
        host: &Host<'_>,
        tool: &Tool,
        caller: &Caller,
        known: &KnownFacts,
    ) -> Option<BuiltinFacts> {
        if !tool.is_built_in() {
            return None;
        }
        let row = builtin::definition(tool.id.as_str())?;
        Some(BuiltinFacts {
            missing: self.missing(host, row, caller, known),
            guards: self.guards(host),
            git_urls: self.git_urls(),
            web_domains: self.web_domains(),
            shell: self.policy.policy().map_or(ShellUse::Never, Policy::shell_use),
            named: NamedThings::default(),
        })
    }

    /// Completes the facts of a tool with the arguments of one call. `approved` is the learned code that its approval
    /// binds, if it has one. Code that was learned later counts from the next approval on.
    pub fn with_args<'f>(
        &self,
        host: &Host<'_>,
        facts: PlanFacts<'f>,
        args: Result<Json, ArgsProblem>,
        session: Option<CallSession>,
        approved: Option<&[String]>,
    ) -> PlanFacts<'f> {
        let mut facts = PlanFacts { args, session, ..facts };
        let id = facts.tool.id.as_str();
        let root = facts.session.as_ref().and_then(|session| session.root_of(id));
        if let Err(none) = host.files(root) {
            facts.decision.blockers.push(Blocker::new(none.code(), none.to_string()));
        } else if let (Some(names), Some(known), Ok(args)) = (host.names, &mut facts.builtin, &facts.args) {
            known.named = names.named(host, self, &facts.caller, root, id, args);
        }
        if let Some(known) = facts.builtin.as_mut().filter(|_| builtin::is_for_shell(facts.tool)) {
            known.named.for_person = Some("a shell reads the command".to_owned());
        }
        learn(host, &mut facts, approved);
        follow_arguments(host, &mut facts);
        facts
    }

    /// Returns the built-in tools with missing needs, and those needs. Needs that depend on a session are left out.
    pub fn missing_facts(&self, host: &Host<'_>) -> Vec<(&'static builtin::Definition, Vec<Fact>)> {
        let known = KnownFacts::default();
        let missing_of = |row: &'static builtin::Definition| {
            let missing = self.missing_here(host, row, &known);
            (!missing.is_empty()).then_some((row, missing))
        };
        builtin::definitions().iter().filter_map(missing_of).collect()
    }

    /// Returns the missing needs of a built-in tool. Needs that depend on a session are left out.
    pub(crate) fn missing_here(
        &self,
        host: &Host<'_>,
        row: &builtin::Definition,
        known: &KnownFacts,
    ) -> Vec<Fact> {
        let mut missing = self.missing(host, row, &Caller::CommandLine, known);
        missing.retain(|fact| *fact != Fact::Session);
        missing
    }

    /// Returns the missing needs of a built-in tool for this caller.
    fn missing(
        &self,
        host: &Host<'_>,
        row: &builtin::Definition,
        caller: &Caller,
        known: &KnownFacts,
    ) -> Vec<Fact> {
        let look = |fact: Fact| self.holds(host, row, fact, caller);
        let holds = |fact: Fact| match fact {
            // It depends on the tool, so it is not shared.
            Fact::Forge => look(fact),
            fact => known.holds(fact, || look(fact)) || (fact == Fact::Repository && look(fact)),
        };
        let missing = row.needs.iter().copied().filter(|fact| !holds(*fact));
        (!is_built(host, row)).then_some(Fact::Built).into_iter().chain(missing).collect()
    }

    fn holds(&self, host: &Host<'_>, row: &builtin::Definition, fact: Fact, caller: &Caller) -> bool {
        match fact {
            Fact::Built => is_built(host, row),
            Fact::Repository => {
                let git = RelPath::from_static(".git");
                // Tools of the family may use a clone in a volume instead.
                host.fs.exists(&git).unwrap_or(false)
                    || (row.id.starts_with("git.") && holds_a_folder(host.fs, CLONES))
            }
            Fact::Git => {
                let path = host.environment.get("PATH");
                find_program("git", host.fs.root(), path, |path| is_program(host.fs, path)).is_some()
            }
            Fact::Identity => {
                let agent = caller.agent().and_then(|name| self.gateway(host)?.agent(name));
                agent.is_some_and(|agent| agent.has_identity)
            }
            Fact::TestSuites => self.suites().next().is_some(),
            Fact::WebDomains => !self.web_domains().is_empty(),
            Fact::Session => caller.agent().is_some(),
            Fact::Worker => !self.workers(host).is_empty(),
            Fact::SearchProvider => self.gateway(host).is_some_and(|gateway| gateway.search.is_some()),
            Fact::Issues => self.gateway(host).is_some_and(|gateway| gateway.issues.is_some()),
            Fact::Screenshot => {
                let program = self.policy.policy().and_then(|policy| policy.capture.as_ref());
                program.is_some_and(|line| host.has_program(line.value.program()))
            }
            Fact::Forge => {
                // Another forge runs its checks itself.
                let reaches = |program: &Argv| {
                    is_of_forge(row.id) && is_forge(program) && host.has_program(program.program())
                };
                self.holds(host, row, Fact::Repository, caller) && self.forge().is_none_or(reaches)
            }
            Fact::WebFramework => *self.web_framework.get_or_init(|| names_web_framework(host.fs)),
            Fact::Fleet => TARGETS.iter().any(|folder| holds_a_folder(host.fs, folder)),
        }
    }

    fn forge_kind(&self) -> Forge {
        if self.forge().is_some() { Forge::Program } else { Forge::Rows }
    }

    /// Returns the entries of the tools of Brigade, by id, with the effects that they have under this policy.
    pub fn own_tools(&self) -> &'static [Tool] {
        builtin::entries_with(self.forge_kind())
    }

    /// Returns the entry of a tool of Brigade, with the effects that it has under this policy.
    pub fn own_tool(&self, id: &str) -> Option<&'static Tool> {
        builtin::entry_with(id, self.forge_kind())
    }

    /// Returns the entry of a tool with the effects that it has under this policy.
    pub fn under_policy<'t>(&self, tool: &'t Tool) -> &'t Tool {
        if tool.is_built_in() { self.own_tool(tool.id.as_str()).unwrap_or(tool) } else { tool }
    }

    /// Finds the entry for a call with these arguments: a built-in tool, an enabled tool of the catalog, or an offer of
    /// gateway.toml for `resource.read` and `prompt.get`. Catalog entries never replace these two.
    ///
    /// # Errors
    /// Fails if there is no such tool or offer.
    pub fn entry(&self, host: &Host<'_>, id: &str, args: &Json) -> Result<&Tool, ToolLookupError> {
        if let Some(entry) = self.own_tool(id.trim()) {
            return Ok(entry);
        }
        let Some(reads) = Reads::of_tool_id(id.trim()) else { return self.catalog.find(id) };
        let offer = self.offers(host).iter().find(|offer| offer.reads == reads && offer.covers(args));
        offer.map(|offer| &offer.entry).ok_or(ToolLookupError::NotOffered { reads })
    }

    /// Makes one entry for all offers of a kind: the entry of the first offer, with the effects of all.
    ///
    /// # Errors
    /// Fails if nothing of the kind is offered.
    pub fn reader(&self, host: &Host<'_>, reads: Reads) -> Result<Tool, ToolLookupError> {
        let mut entries =
            self.offers(host).iter().filter(|offer| offer.reads == reads).map(|offer| &offer.entry);
        let mut entry = entries.next().ok_or(ToolLookupError::NotOffered { reads })?.clone();
        entry.effects.extend(entries.flat_map(|other| other.effects.iter().cloned()));
        entry.effects.sort();
        entry.effects.dedup();
        Ok(entry)
    }

    /// Returns the limits of a caller's profiles for calls of a built-in tool: those of its session, and these
    /// `profiles`. A person has no limits. `None` if the profiles cannot be read.
    pub fn call_limits(
        &self,
        host: &Host<'_>,
        tool: &str,
        agent: Option<&str>,
        session: &SessionProfiles,
        profiles: &[String],
    ) -> Option<CallLimits> {
        let Some(agent) = agent else { return Some(CallLimits::default()) };
        let agents = self.agents(host)?;
        let agent = agents.gateway.agent(agent)?;
        let rights = Rights::of_session(&agents.profiles, agent, session, profiles).ok()?;
        Some(rights.limits(&ToolTraits::from_tool(self.own_tool(tool)?)))
    }

    /// Returns the directories outside of the workspace that may contain files of tools.
    pub(crate) fn outside(&self) -> Vec<String> {
        let policy = self.policy.policy();
        policy.map(|policy| policy.outside_paths.values().cloned().collect()).unwrap_or_default()
    }
}

/// Returns whether a built-in tool is in this build.
fn is_built(host: &Host<'_>, row: &builtin::Definition) -> bool {
    host.names.is_none_or(|names| names.is_built(row))
}

/// Returns whether package.json names a web framework.
fn names_web_framework(fs: &dyn Fs) -> bool {
    let path = RelPath::from_static(PACKAGE);
    let bytes = fs.read(&path, PACKAGE_LIMIT).ok();
    let package = bytes.and_then(|bytes| Json::parse_bytes(&bytes, Dialect::Strict).ok());
    package.is_some_and(|package| !builtin::web_frameworks(&package).is_empty())
}

/// Returns whether a directory exists and contains another directory.
fn holds_a_folder(fs: &dyn Fs, folder: &str) -> bool {
    let path = RelPath::composed(folder);
    fs.list_dir(&path).is_ok_and(|entries| entries.iter().any(|entry| entry.kind == FileKind::Directory))
}

/// Reads the catalog.
///
/// # Errors
/// Fails if the file is missing or cannot be read.
pub fn read_catalog(fs: &dyn Fs) -> Result<Catalog, FsError> {
    let bytes = read_config(fs, CATALOG)?;
    let catalog = Catalog::parse(CATALOG, Level::Project, &bytes);
    let (tools, issues) = (catalog.tools().len(), catalog.issues().len());
    tracing::debug!(root = %fs.root().display(), bytes = bytes.len(), tools, issues, "read {CATALOG}");
    Ok(catalog)
}

/// Reads the policy. An unreadable policy blocks all calls, and so does one that git tracks, unless a person of this
/// host accepted its bytes.
pub fn read_policy(fs: &dyn Fs, trust: &TrustStore) -> PolicyState {
    policy_of(fs, POLICY, |bytes| trust.require_counting(fs, POLICY, bytes).is_ok())
}

/// Like [`read_policy`], for the policy of a project that narrows another one: its places are absolute paths. `None` if
/// the file does not exist.
pub fn read_project_policy(fs: &dyn Fs, trust: &TrustStore) -> Option<PolicyState> {
    let file = fs.root().join(POLICY).display().to_string();
    let policy = policy_of(fs, &file, |bytes| trust.require_counting(fs, POLICY, bytes).is_ok());
    (policy.validity() != PolicyValidity::Missing).then_some(policy)
}

/// Reads the policy as it is on the disk, for what it can only restrict.
pub fn policy_on_disk(fs: &dyn Fs) -> PolicyState {
    policy_of(fs, POLICY, |_| true)
}

fn policy_of(fs: &dyn Fs, file: &str, counts: impl FnOnce(&[u8]) -> bool) -> PolicyState {
    match read_config(fs, POLICY) {
        Ok(bytes) if !counts(&bytes) => {
            fs.bound_file_limit().set(None);
            PolicyState::tracked(file)
        }
        Ok(bytes) => {
            let policy = PolicyState::parse(file, Some(&bytes));
            tracing::debug!(bytes = bytes.len(), valid = policy.policy().is_some(), "read {file}");
            let most = policy.policy().and_then(|policy| policy.max_bound_file.as_ref());
            fs.bound_file_limit().set(most.map(|most| most.value));
            policy
        }
        Err(error) if error.is_not_found() => {
            tracing::debug!("{file} does not exist");
            fs.bound_file_limit().set(None);
            PolicyState::parse(file, None)
        }
        Err(error) => PolicyState::unreadable(file, &error.kind.to_string()),
    }
}

/// Reads a configuration file. A broken link counts as unreadable, not as missing.
///
/// # Errors
/// Fails if it is missing or cannot be read.
pub fn read_config(fs: &dyn Fs, file: &str) -> Result<Vec<u8>, FsError> {
    let path = RelPath::composed(file);
    fs.read(&path, CONFIG_LIMIT).map_err(|error| {
        let is_link = || fs.link_metadata(&path).is_ok_and(|metadata| metadata.kind == FileKind::Link);
        if error.is_not_found() && is_link() {
            FsError { kind: FsErrorKind::DanglingLink, ..error }
        } else {
            error
        }
    })
}

/// Returns the errors of a catalog.
pub fn errors_of(catalog: &Catalog) -> Vec<ErrorLine> {
    let errors = catalog.issues().iter().filter(|issue| issue.severity == Severity::Error);
    errors.map(ErrorLine::from).collect()
}

/// Converts an unreadable configuration file into an issue. For a missing file, `next` is the hint.
///
/// # Errors
/// Returns other disk errors.
pub fn unreadable(file: &str, error: FsError, next: Hint) -> Result<ConfigIssue, FsError> {
    let (message, hint) = match &error.kind {
        FsErrorKind::NotFound => ("the file does not exist".to_owned(), Some(next)),
        FsErrorKind::NotAFile
        | FsErrorKind::NotADirectory
        | FsErrorKind::Outside
        | FsErrorKind::DanglingLink
        | FsErrorKind::TooLarge { .. } => (error.kind.to_string(), None),
        _ => return Err(error),
    };
    Ok(ConfigIssue {
        severity: Severity::Error,
        place: Place::file(file),
        entry: None,
        field: None,
        message,
        hint,
    })
}

#[cfg(test)]
mod tests;
