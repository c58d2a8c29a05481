//! Decides which tools an agent sees, reading only the facts that each decision needs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Mutex;

use brigade_access::{
    Agent, Facts, HiddenReason, NameClashes, NameStyle, Offer, Rights, ToolTraits, listed_name, visible,
};
use brigade_call::{
    Caller, CodeFacts, DirectoryFact, FileFact, PinFact, PlanFacts, ProgramFact, ProjectionFacts, SchemaFact,
    plan, standing_blockers,
};
use brigade_catalog::{Family, Tool};
use brigade_core::{ErrorCode, Json, JsonError, Place};
use brigade_policy::approval::{ApprovalNeed, ArgumentCheck, ReviewState};
use brigade_policy::{Blocker, CallFacts, PolicyDecision, decide};
use brigade_projection::summarise;

use crate::agent_tools::{AgentOffer, AgentTool};
use crate::approval::is_named;
use crate::command::behind_links;
use crate::config::{Config, KnownFacts};
use crate::digests::Digests;
use crate::host::Host;
use crate::named::missing_script;
use crate::plan::{errors_of_tool, misspelt_of, newer_schema};
use crate::schemas::{SchemaFound, SchemaText, Schemas};
use crate::tool::FactReader;
use crate::tool_visibility::ToolVisibility;

/// Explains whether an agent sees tools. The facts that they share are read once.
pub struct AgentLook<'h, 'c>(VisibilityCheck<'h, 'c>);

impl<'h, 'c> AgentLook<'h, 'c> {
    /// Creates a look with nothing read.
    pub fn new(host: Host<'h>, config: &'c Config, agent: &Agent, rights: &'c Rights) -> AgentLook<'h, 'c> {
        let caller = Caller::Agent(agent.name.to_string());
        AgentLook(VisibilityCheck::new(host, config, rights, NameStyle::Dotted, caller))
    }

    /// Explains whether the agent sees one tool.
    pub fn look(&self, tool: &Tool) -> ToolVisibility {
        let (against, texts) = self.0.against(tool);
        let reviewed = self.0.reviewed(tool);
        let visible = self.0.visible(tool, &against, texts.check, &reviewed);
        ToolVisibility::new(self.0.rights, &ToolTraits::from_tool(tool), texts.check, reviewed, visible)
    }
}

/// Decides on tools, reading only the facts that each decision needs.
pub(crate) struct VisibilityCheck<'h, 'c> {
    facts: FactReader<'h, 'c>,
    config: &'c Config,
    rights: &'c Rights,
    names: NameStyle,
    caller: Caller,
    clashes: NameClashes,
    programs: Mutex<HashMap<(String, PathBuf), Option<PathBuf>>>,
    schemas: Schemas,
    known: KnownFacts,
    digests: Digests,
    /// The programs, scripts and directories that commands start from, and whether each exists.
    pub(crate) started_from: Mutex<BTreeMap<PathBuf, bool>>,
}

/// The visibility of a tool.
pub(crate) enum Visibility {
    /// The agent sees it.
    Shown(Box<AgentTool>),
    /// It is hidden only because of missing needs, for these reasons.
    Absent(Vec<Blocker>),
    Hidden,
}

/// Returns the blocker for an invalid output schema.
fn broken_output_schema(tool: &Tool, error: &JsonError) -> Blocker {
    let path = tool.output_schema_path.as_deref().unwrap_or_default();
    Blocker::new(ErrorCode::InvalidOutputSchema, format!("the output schema `{path}` is not JSON: {error}"))
        .at(Place::at(path, error.line, error.column))
        .field("output_schema_path")
}

/// Returns whether the policy enables built-in tools.
pub(crate) fn offers_built_in(config: &Config) -> bool {
    let policy = config.policy.policy();
    policy.is_some_and(|policy| policy.allowed_families.find(&Family::Builtin).is_some())
}

/// The schemas of a tool.
struct Texts {
    input: Option<SchemaText>,
    output: Option<SchemaText>,
    /// Whether arguments are compared with the schema.
    check: ArgumentCheck,
}

impl<'h, 'c> VisibilityCheck<'h, 'c> {
    pub(crate) fn new(
        host: Host<'h>,
        config: &'c Config,
        rights: &'c Rights,
        names: NameStyle,
        caller: Caller,
    ) -> VisibilityCheck<'h, 'c> {
        let enabled = config.catalog.tools().iter().filter(|tool| tool.enabled);
        let clashes = NameClashes::find(enabled.map(|tool| tool.id.as_str()), names);
        let facts = FactReader::new(host, config);
        let (programs, schemas, known) = (Mutex::default(), Schemas::default(), KnownFacts::default());
        let (digests, started_from) = (Digests::for_one_look(), Mutex::default());
        VisibilityCheck {
            facts,
            config,
            rights,
            names,
            caller,
            clashes,
            programs,
            schemas,
            known,
            digests,
            started_from,
        }
    }

    /// Decides whether the agent sees a tool. A built-in tool that is hidden only because of missing needs is `Absent`.
    pub(crate) fn looked(&self, at: usize, tool: &Tool) -> Visibility {
        // Decides first without reading files.
        if self.visible(tool, &[], ArgumentCheck::Checked, &ReviewState::Yes).is_err() {
            return Visibility::Hidden;
        }
        let (against, texts) = self.against(tool);
        let Ok(need) = self.visible(tool, &against, texts.check, &self.reviewed(tool)) else {
            let is_absence = |blocker: &Blocker| blocker.is(ErrorCode::NotAvailableHere);
            let is_absent = tool.is_built_in() && against.iter().all(is_absence);
            return if is_absent { Visibility::Absent(against) } else { Visibility::Hidden };
        };
        // A tool without a readable schema has a blocker.
        let Some(input_schema) = texts.input else { return Visibility::Hidden };
        Visibility::Shown(Box::new(AgentTool {
            name: listed_name(tool.id.as_str(), self.names),
            need,
            risk: ToolTraits::from_tool(tool).risk,
            check: texts.check,
            at,
            input_schema,
            output_schema: texts.output,
        }))
    }

    /// Returns an offer if the agent sees it.
    pub(crate) fn offered(&self, offer: &Offer) -> Option<AgentOffer> {
        let (against, _) = self.against(&offer.entry);
        let reviewed = self.reviewed(&offer.entry);
        let need = self.visible(&offer.entry, &against, ArgumentCheck::Checked, &reviewed).ok()?;
        Some(AgentOffer { offer: offer.clone(), need, risk: ToolTraits::from_tool(&offer.entry).risk })
    }

    fn visible(
        &self,
        tool: &Tool,
        against: &[Blocker],
        check: ArgumentCheck,
        reviewed: &ReviewState,
    ) -> Result<ApprovalNeed, Vec<HiddenReason>> {
        let facts = Facts {
            policy: self.config.policy.validity(),
            tool: ToolTraits::from_tool(tool),
            is_enabled: tool.enabled,
            check,
            reviewed,
            against,
            clashes: &self.clashes,
        };
        visible(self.rights, &facts)
    }

    /// Returns whether a person reviewed what calls of the tool would run. Without a rule that names the tool, this
    /// does not matter, and nothing is read.
    fn reviewed(&self, tool: &Tool) -> ReviewState {
        let policy = &self.config.policy;
        if tool.acts_inside() || !is_named(policy.auto_approve(), tool.id.as_str()) {
            return ReviewState::Yes;
        }
        let host = Host { digests: &self.digests, ..self.facts.host };
        let Ok(input) = FactReader::new(host, self.config).plan(tool, self.caller.clone()) else {
            return ReviewState::Never;
        };
        let no_arguments = Ok(Json::Object(Default::default()));
        let plan = plan(self.config.with_args(&host, input.facts, no_arguments, None, None));
        // A change of one of these files changes what is listed.
        for path in plan.seen_parts().into_iter().filter_map(|part| part.path) {
            self.note(host.fs.root().join(path), true);
        }
        host.reviewed_plan(policy, &plan)
    }

    /// Returns the blockers of all calls of a tool, and its schemas.
    fn against(&self, tool: &Tool) -> (Vec<Blocker>, Texts) {
        let host = &self.facts.host;
        let reader = self.facts.reader(tool);
        let (directory, directory_fact) = reader.directory();
        let input = self.schemas.input(&reader);
        let output = self.schemas.output(&reader);
        let place = |path: &Option<String>| {
            if reader.leads_out(path.as_deref()) { FileFact::Outside } else { FileFact::NotNamed }
        };
        let is_there = directory_fact == DirectoryFact::Present;
        let starts = tool.is_executable() && !tool.is_built_in() && is_there;
        if let Some(cwd) = tool.cwd.as_deref().filter(|_| tool.is_executable()) {
            match directory_fact {
                DirectoryFact::Present if directory != host.fs.root() => self.note(directory.clone(), true),
                DirectoryFact::Missing => self.note(host.fs.root().join(cwd), false),
                DirectoryFact::Present | DirectoryFact::Outside => {}
            }
        }
        let program = match starts && !self.finds_program(tool, &directory) {
            true => ProgramFact::NotFound,
            false => ProgramFact::NotExecuted,
        };
        let mut decision =
            decide(&self.config.policy, &CallFacts::from_tool(tool), &|name: &str| host.is_set(name));
        self.config.narrow(host, &mut decision, &CallFacts::from_tool(tool));
        decision.blockers.extend(newer_schema(&self.config.catalog, tool));
        if starts {
            let scripts = self.facts.scripts(&reader, &directory);
            let count = scripts.paths.len();
            for (at, path) in scripts.paths.into_iter().enumerate() {
                self.note(path, scripts.missing.is_none() || at + 1 < count);
            }
            if let Some(script) = scripts.missing {
                decision.blockers.push(missing_script(tool, &script, None, host.home()));
            }
        }
        if let SchemaFact::NotJson(error) = &output.1 {
            decision.blockers.push(broken_output_schema(tool, error));
        }
        let (summary, fingerprint) = summarise(&[]);
        let facts = PlanFacts {
            tool,
            installs: None,
            root: host.fs.root().to_owned(),
            near_schema: None,
            entry_errors: errors_of_tool(&self.config.catalog, tool),
            misspelt: misspelt_of(&self.config.catalog, tool),
            args: Ok(Json::Null),
            input_schema: input.1.clone(),
            output_schema: match &*output {
                (SchemaFound::None(FileFact::Outside), _) => FileFact::Outside,
                (SchemaFound::None(_) | SchemaFound::Text(_), _) => FileFact::NotNamed,
            },
            examples: place(&tool.examples_path),
            source: place(&tool.source_path),
            directory: directory_fact,
            real_directory: None,
            outside: crate::tool::other_paths_outside(&reader).into_iter().map(str::to_owned).collect(),
            program,
            home: host.home().map(std::path::Path::to_owned),
            files: BTreeMap::new(),
            code: CodeFacts::default(),
            health: Default::default(),
            pin: PinFact::None,
            server: None,
            projections: ProjectionFacts { summary, blockers: Vec::new(), fingerprint },
            decision,
            policy: PolicyDecision::default(),
            bound_values: Vec::new(),
            behind_links: behind_links(host, tool),
            ways: BTreeSet::new(),
            absent: BTreeSet::new(),
            modules: BTreeSet::new(),
            builtin: self.config.builtin_known(host, tool, &self.caller, &self.known),
            caller: Caller::CommandLine,
            session: None,
        };
        let check = match input.1.unchecked() {
            Some(_) => ArgumentCheck::Unchecked,
            None => ArgumentCheck::Checked,
        };
        (standing_blockers(&facts), Texts { input: input.0.text(), output: output.0.text(), check })
    }

    /// Returns whether the program of a tool exists. Shared programs are looked up once.
    fn finds_program(&self, tool: &Tool, directory: &std::path::Path) -> bool {
        let reader = self.facts.reader(tool);
        let Some(argv) = reader.argv() else { return false };
        // Only paths depend on the directory.
        let folder = if argv.program().contains('/') { directory.to_owned() } else { PathBuf::new() };
        let key = (argv.program().to_owned(), folder);
        let mut known = self.programs.lock().expect("no thread panics while it holds this");
        let found = known.entry(key).or_insert_with(|| reader.program_path(&argv, directory)).clone();
        drop(known);
        let is_there = found.is_some();
        let at_its_path = || argv.program().contains('/').then(|| directory.join(argv.program()));
        if let Some(path) = found.or_else(at_its_path) {
            self.note(path, is_there);
        }
        is_there
    }

    fn note(&self, path: PathBuf, is_there: bool) {
        self.started_from.lock().expect("no thread panics while it holds this").insert(path, is_there);
    }
}
