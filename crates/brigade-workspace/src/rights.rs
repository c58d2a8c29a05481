//! What agents are shown: the configuration of the gateway, and the facts that decide which tools are visible.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use brigade_access::builtin::{Alias, BuiltinName};
use brigade_access::{
    AccessLevel, Agent, AgentToolRow, ArgumentKinds, CostedTool, Facts, GatewayConfig, HiddenReason,
    ListedTool, ListingCosts, NameClashes, NameStyle, Offer, PlanMemoryWrite, Profile, Profiles, Rights,
    Slot, Source, ToolListing, ToolRow, ToolTraits, builtin, control_tools, is_judged, listed_name,
    listing_costs, visible,
};
use brigade_call::{
    Caller, CodeFacts, DirectoryFact, FileFact, PinFact, PlanFacts, ProgramFact, ProjectionFacts, SchemaFact,
    standing_blockers,
};
use brigade_catalog::{Family, Reads, Tool};
use brigade_core::parallel::in_parts;
use brigade_core::{ConfigIssue, Json, JsonError, Place, Severity, reasons};
use brigade_fs::{Fs, FsError};
use brigade_policy::{Blocker, CallFacts, Gate, PolicyDecision, RiskLevel, Standing, decide};
use brigade_projection::summarise;

use crate::config::{Config, KnownFacts, read_config};
use crate::host::Host;
use crate::named::missing_script;
use crate::plan::{errors_of_tool, misspelt_of, newer_schema};
use crate::schemas::{SchemaFound, SchemaText, Schemas};
use crate::sight::ToolVisibility;
use crate::tool::FactReader;

/// The gateway's file.
pub const GATEWAY: &str = ".brigade/tools/gateway.toml";

/// The file of profiles.
pub const PROFILES: &str = ".brigade/tools/profiles.toml";

/// The profiles and the agents of a workspace.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// The shipped profiles and those of the workspace.
    pub profiles: Profiles,
    /// The agents, limits and upstream servers.
    pub gateway: GatewayConfig,
}

/// Reads profiles.toml. A missing file leaves the shipped profiles.
///
/// # Errors
/// Returns every issue of the file.
pub fn read_profiles(fs: &dyn Fs) -> Result<Profiles, Vec<ConfigIssue>> {
    Profiles::parse(PROFILES, bytes_of(fs, PROFILES)?.as_deref())
}

/// Reads profiles.toml and gateway.toml. Nothing of a file with an error counts.
///
/// # Errors
/// Returns every issue of both files.
pub fn read_agents(fs: &dyn Fs) -> Result<AgentConfig, Vec<ConfigIssue>> {
    let profiles = read_profiles(fs);
    let known = profiles.as_ref().unwrap_or(Profiles::shipped());
    let gateway =
        bytes_of(fs, GATEWAY).and_then(|bytes| GatewayConfig::parse(GATEWAY, bytes.as_deref(), known));
    match (profiles, gateway) {
        (Ok(profiles), Ok(gateway)) => {
            let profiles = match gateway.builtin.plan_memory_write {
                PlanMemoryWrite::Allow => profiles.with_memory_in_plans(),
                PlanMemoryWrite::Deny => profiles,
            };
            Ok(AgentConfig { profiles, gateway })
        }
        // Without its profiles, the other file cannot be judged.
        (Err(issues), _) | (Ok(_), Err(issues)) => Err(issues),
    }
}

fn bytes_of(fs: &dyn Fs, file: &str) -> Result<Option<Vec<u8>>, Vec<ConfigIssue>> {
    match read_config(fs, file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => {
            let message = format!("cannot be read: {}", error.kind);
            let place = Place::file(file);
            let (entry, field, hint) = (None, None, None);
            Err(vec![ConfigIssue { severity: Severity::Error, place, entry, field, message, hint }])
        }
    }
}

/// The tools that an agent is shown.
pub struct AgentTools {
    /// The agent.
    pub agent: Agent,
    /// Its rights.
    pub rights: Rights,
    /// How names are spelled.
    pub names: NameStyle,
    /// The catalog and the policy that decided.
    pub config: Arc<Config>,
    /// The profiles and the gateway's settings.
    pub agents: Arc<AgentConfig>,
    /// Whether git tracks the policy, so that none of its rules approves anything.
    pub policy_tracked: bool,
    tools: Vec<AgentTool>,
    by_name: HashMap<String, usize>,
    offers: Vec<AgentOffer>,
    /// Built-in tools that the agent would be shown if they did not need what is not here, with the reasons.
    absent: Vec<(&'static str, Vec<Blocker>)>,
    /// The entries of `resource.read` and `prompt.get`, which stand for all offers that they read.
    readers: Vec<Tool>,
    started_from: BTreeMap<PathBuf, bool>,
}

/// Resources or prompts of an MCP server that an agent may read.
#[derive(Clone, Debug)]
pub struct AgentOffer {
    /// What is offered.
    pub offer: Offer,
    /// Whether a person approves each call.
    pub gate: Gate,
    /// The risk.
    pub risk: RiskLevel,
}

/// What a name means that is not listed.
#[derive(Clone, Debug)]
pub enum OwnName<'n> {
    /// A visible tool, or one of the gateway.
    Listed {
        /// Its id.
        id: &'static str,
        /// The name that was used, if it has other arguments.
        alias: Option<&'static Alias>,
    },
    /// A tool that is not here.
    Absent {
        /// Its id.
        id: &'n str,
        /// What it needs, and what would make that hold.
        why: String,
    },
}

/// Says what a tool needs, and what would make it hold.
fn reason_in_words(reason: &Blocker) -> String {
    match &reason.hint {
        Some(hint) => format!("{}: {hint}", reason.message),
        None => reason.message.clone(),
    }
}

/// What an agent would call.
#[derive(Clone, Copy, Debug)]
pub struct CallTarget<'a> {
    /// The entry.
    pub entry: &'a Tool,
    /// Whether a person approves each call.
    pub gate: Gate,
    /// The risk.
    pub risk: RiskLevel,
}

/// A tool that an agent is shown.
#[derive(Clone, Debug)]
pub struct AgentTool {
    /// The name in listings.
    pub name: String,
    /// Whether a person approves each call.
    pub gate: Gate,
    /// The risk.
    pub risk: RiskLevel,
    /// The position in the catalog, behind it in the built-in tools, or behind these in the readers.
    at: usize,
    input_schema: SchemaText,
    output_schema: Option<SchemaText>,
}

impl AgentTool {
    /// Returns the reviewed input schema.
    pub fn input_schema(&self) -> &SchemaText {
        &self.input_schema
    }

    /// Returns the reviewed output schema, if the tool has one.
    pub fn output_schema(&self) -> Option<&SchemaText> {
        self.output_schema.as_ref()
    }
}

impl AgentTools {
    /// Returns the visible tools, by id.
    pub fn tools(&self) -> &[AgentTool] {
        &self.tools
    }

    /// Returns the entry of a visible tool.
    pub fn entry(&self, tool: &AgentTool) -> &Tool {
        let (catalog, own) = (self.config.catalog.tools(), self.config.own_tools());
        let behind = |at: usize| own.get(at).unwrap_or_else(|| &self.readers[at - own.len()]);
        catalog.get(tool.at).unwrap_or_else(|| behind(tool.at - catalog.len()))
    }

    /// Returns the resources and prompts of MCP servers that the agent may read.
    pub fn offers(&self) -> &[AgentOffer] {
        &self.offers
    }

    /// Returns what a call of a visible tool with these arguments would call. `None` if the agent cannot see it.
    pub fn callable(&self, id: &str, args: &Json) -> Option<CallTarget<'_>> {
        if let Some(reads) = Reads::of_tool_id(id) {
            let found =
                self.offers.iter().find(|found| found.offer.reads == reads && found.offer.covers(args))?;
            return Some(CallTarget { entry: &found.offer.entry, gate: found.gate, risk: found.risk });
        }
        let tool = self.find(id).filter(|tool| self.entry(tool).id.as_str() == id)?;
        Some(CallTarget { entry: self.entry(tool), gate: tool.gate, risk: tool.risk })
    }

    /// Returns whether a judge decides if a person approves a call of a tool.
    pub fn is_judged(&self, tool: &Tool) -> bool {
        is_judged(&self.rights, &ToolTraits::from_tool(tool), tool.approval_mode)
    }

    /// Writes a visible tool as a client is shown it.
    pub fn listed(&self, tool: &AgentTool) -> ListedTool {
        ListedTool::full(self.shown(tool))
    }

    /// Writes a visible tool as a client is shown it in a compact listing.
    pub fn listed_compact(&self, tool: &AgentTool) -> ListedTool {
        ListedTool::compact(self.shown(tool))
    }

    fn shown<'t>(&'t self, tool: &'t AgentTool) -> ToolListing<'t> {
        let entry = self.entry(tool);
        ToolListing {
            name: &tool.name,
            title: &entry.name,
            description: entry.description.as_deref(),
            input_schema: tool.input_schema.json(),
            output_schema: tool.output_schema.as_ref().map(SchemaText::json),
            family: entry.family.map_or("", Family::as_str),
            effects: &entry.effects,
            risk: tool.risk,
            gate: tool.gate,
        }
    }

    /// Describes the visible tools for a report.
    pub fn rows(&self) -> Vec<AgentToolRow> {
        let row =
            |tool: &AgentTool| AgentToolRow::new(tool.name.clone(), self.entry(tool), tool.risk, tool.gate);
        let mut rows: Vec<AgentToolRow> = self.tools.iter().map(row).collect();
        // Those of the gateway are shown to every agent.
        if self.config.policy.standing() == Standing::Valid {
            rows.extend(control_tools().iter().map(|own| own.row(self.names)));
            rows.sort_by(|a, b| a.id.cmp(&b.id));
        }
        rows
    }

    /// Computes what listing the tools costs in each way.
    pub fn costs(&self) -> ListingCosts {
        let costed = |tool: &AgentTool| {
            let (full, entry) = (self.listed(tool), self.entry(tool));
            let source = ToolTraits::from_tool(entry).sources().next();
            let said = full.description.as_deref().unwrap_or_default();
            let row = ToolRow::new(entry.id.as_str(), &tool.name, said, source, tool.gate);
            CostedTool { id: entry.id.to_string(), full, compact: self.listed_compact(tool), row }
        };
        listing_costs(&self.tools.iter().map(costed).collect::<Vec<_>>(), self.names)
    }

    /// Finds a visible tool by its listed name, or by its id.
    pub fn find(&self, name: &str) -> Option<&AgentTool> {
        let by_name = self.by_name.get(name).map(|at| &self.tools[*at]);
        by_name.or_else(|| {
            let at = self.tools.binary_search_by(|tool| self.entry(tool).id.as_str().cmp(name)).ok()?;
            Some(&self.tools[at])
        })
    }

    /// Returns what a name means that is not listed: another name of a visible tool, or of one that is not here.
    /// Exactly these names mean something; nothing is guessed.
    pub fn own_name<'n>(&self, name: &'n str) -> Option<OwnName<'n>> {
        match builtin::own_name(name)? {
            BuiltinName::Control(id) => Some(OwnName::Listed { id, alias: None }),
            BuiltinName::Never(never) => {
                let effects: Vec<String> = never.effects.iter().map(|effect| (*effect).to_owned()).collect();
                let tiers = std::slice::from_ref(&never.tier);
                let traits = ToolTraits { tiers, effects: &effects, ..self.own_traits(name) };
                let is_told = offers_built_in(&self.config) && self.rights.shows(&traits);
                is_told.then(|| OwnName::Absent { id: name, why: never.why.to_owned() })
            }
            BuiltinName::Tool(row, alias) => {
                let entry = self.config.own_tool(row.id)?;
                if let Some(tier) = alias.and_then(|alias| alias.tier.as_ref()) {
                    // Not every role knows every name.
                    let traits =
                        ToolTraits { tiers: std::slice::from_ref(tier), ..ToolTraits::from_tool(entry) };
                    self.rights.shows(&traits).then_some(())?;
                }
                if self.find(row.id).is_some_and(|tool| self.entry(tool).id.as_str() == row.id) {
                    return Some(OwnName::Listed { id: row.id, alias });
                }
                let (id, reasons) = self.absent.iter().find(|(id, _)| *id == row.id)?;
                let why: Vec<String> = reasons.iter().map(reason_in_words).collect();
                Some(OwnName::Absent { id, why: why.join("; ") })
            }
        }
    }

    /// Returns the traits of a name that Brigade knows and that calls nothing.
    fn own_traits<'n>(&self, name: &'n str) -> ToolTraits<'n> {
        ToolTraits {
            id: name,
            source: Source::Builtin,
            effects: &[],
            risk: RiskLevel::Low,
            access: AccessLevel::User,
            tiers: &[],
            modes: &[],
            is_judged: false,
            arguments: ArgumentKinds::default(),
        }
    }

    /// Returns the built-in tools that the agent would be shown if they did not need what is not here.
    pub fn absent(&self) -> impl Iterator<Item = (&'static str, &[Blocker])> {
        self.absent.iter().map(|(id, reasons)| (*id, &reasons[..]))
    }

    /// Returns what tools start from, programs, scripts and directories, and whether it was there: without it, a tool
    /// is not shown.
    pub fn started_from(&self) -> impl Iterator<Item = (&std::path::Path, bool)> {
        self.started_from.iter().map(|(path, is_there)| (path.as_path(), *is_there))
    }

    /// Returns the profile of a mode by its name, with or without its slot.
    pub fn mode(&self, name: &str) -> Option<&Arc<Profile>> {
        let profiles = &self.agents.profiles;
        let found = profiles.get(name).or_else(|| profiles.get(&format!("{}.{name}", Slot::Mode)));
        found.filter(|profile| profile.name.slot() == Slot::Mode)
    }

    /// Returns the traits of every tool that there is, shown or not.
    pub fn traits(&self) -> impl Iterator<Item = ToolTraits<'_>> {
        let offers = self.offers.iter().map(|found| &found.offer.entry);
        self.config
            .catalog
            .tools()
            .iter()
            .chain(self.config.own_tools())
            .chain(offers)
            .map(ToolTraits::from_tool)
    }

    /// Returns the visible name that is most like an unknown one.
    pub fn near(&self, name: &str) -> Option<&str> {
        brigade_core::closest(name, self.tools.iter().map(|tool| tool.name.as_str()))
    }
}

/// Reads which tools an agent is shown, with the profiles that `rights` holds.
///
/// # Errors
/// When the disk fails.
pub fn agent_tools(
    host: Host<'_>,
    config: Arc<Config>,
    agents: Arc<AgentConfig>,
    agent: Agent,
    rights: Rights,
    names: NameStyle,
) -> Result<AgentTools, FsError> {
    let policy_tracked = !config.policy.auto_approve().is_empty() && crate::tracked::policy_tracked(&host);
    let mut tools: Vec<AgentTool> = Vec::new();
    let mut absent = Vec::new();
    let offers: Vec<AgentOffer>;
    let started_from: BTreeMap<PathBuf, bool>;
    {
        let caller = Caller::Agent(agent.name.to_string());
        let looker = VisibilityCheck::new(host, &config, &rights, names, caller);
        let entries = config.catalog.tools();
        let part = |range: std::ops::Range<usize>| {
            let shown = |at| match looker.looked(at, &entries[at]) {
                Visibility::Shown(shown) => Some(*shown),
                Visibility::Absent(_) | Visibility::Hidden => None,
            };
            range.filter_map(shown).collect::<Vec<_>>()
        };
        in_parts(entries.len(), part, |mut part| tools.append(&mut part));
        // Where the policy asks for none of them, none needs to be looked at.
        let own = if offers_built_in(&config) { config.own_tools() } else { &[] };
        for (at, tool) in own.iter().enumerate() {
            match looker.looked(entries.len() + at, tool) {
                Visibility::Shown(shown) => tools.push(*shown),
                Visibility::Absent(reasons) => absent.push((tool.id.as_str(), reasons)),
                Visibility::Hidden => {}
            }
        }
        offers = config.offers(&host).iter().filter_map(|offer| looker.offered(offer)).collect();
        started_from = looker.started_from.into_inner().expect("no thread panics while it holds this");
    }
    let mut readers = Vec::new();
    for reads in Reads::ALL {
        if let Some((reader, tool)) = reader_of(
            reads,
            &offers,
            names,
            config.catalog.tools().len() + config.own_tools().len() + readers.len(),
        ) {
            readers.push(reader);
            tools.push(tool);
        }
    }
    let mut shown = AgentTools {
        agent,
        rights,
        names,
        config,
        agents,
        policy_tracked,
        tools: Vec::new(),
        by_name: HashMap::new(),
        offers,
        absent,
        readers,
        started_from,
    };
    tools.sort_by(|a, b| shown.entry(a).id.cmp(&shown.entry(b).id));
    shown.by_name = tools.iter().enumerate().map(|(at, tool)| (tool.name.clone(), at)).collect();
    shown.tools = tools;
    Ok(shown)
}

/// Makes the one tool that reads everything of a kind that an agent is offered: with the effects of all offers, and the
/// strictest gate.
fn reader_of(reads: Reads, offers: &[AgentOffer], names: NameStyle, at: usize) -> Option<(Tool, AgentTool)> {
    let offers: Vec<&AgentOffer> = offers.iter().filter(|found| found.offer.reads == reads).collect();
    let first = offers.first()?;
    let mut effects: Vec<String> =
        offers.iter().flat_map(|found| found.offer.entry.effects.iter().cloned()).collect();
    effects.sort();
    effects.dedup();
    let mut schema = crate::files::parse_json(reads.input_schema().as_bytes()).ok()?;
    let servers: Vec<Json> = offers.iter().map(|found| Json::from(found.offer.server.as_str())).collect();
    if let Json::Object(schema) = &mut schema
        && let Some(Json::Object(properties)) = schema.get_mut("properties")
        && let Some(Json::Object(server)) = properties.get_mut("server")
    {
        server.insert("enum".to_owned(), Json::from(servers));
    }
    let tool = AgentTool {
        name: listed_name(reads.tool_id(), names),
        gate: offers.iter().map(|found| found.gate).max().unwrap_or(first.gate),
        risk: offers.iter().map(|found| found.risk).max().unwrap_or(first.risk),
        at,
        input_schema: SchemaText::File(Arc::from(schema.to_compact().into_bytes())),
        output_schema: None,
    };
    let reader = Tool { effects, ..first.offer.entry.clone() };
    Some((reader, tool))
}

/// Looks whether an agent sees one tool, and says why not.
pub fn look(host: Host<'_>, config: &Config, agent: &Agent, rights: &Rights, tool: &Tool) -> ToolVisibility {
    let caller = Caller::Agent(agent.name.to_string());
    let looker = VisibilityCheck::new(host, config, rights, NameStyle::Dotted, caller);
    let (against, texts) = looker.against(tool);
    let sight = ToolVisibility::new(
        rights,
        &ToolTraits::from_tool(tool),
        tool.approval_mode,
        looker.visible(tool, &against),
    );
    if texts.is_unchecked { sight.asking() } else { sight }
}

/// Decides on tools, and reads of each only what the decision still needs.
struct VisibilityCheck<'h, 'c> {
    facts: FactReader<'h, 'c>,
    config: &'c Config,
    rights: &'c Rights,
    names: NameStyle,
    caller: Caller,
    clashes: NameClashes,
    programs: Mutex<HashMap<(String, PathBuf), Option<PathBuf>>>,
    schemas: Schemas,
    known: KnownFacts,
    /// What commands start from, and whether it is there.
    started_from: Mutex<BTreeMap<PathBuf, bool>>,
}

/// What a look at a tool comes to.
enum Visibility {
    /// The agent sees it.
    Shown(Box<AgentTool>),
    /// It needs what is not here, for these reasons, and nothing else keeps it from the agent.
    Absent(Vec<Blocker>),
    Hidden,
}

/// Says that nothing fits the schema of a tool's results.
fn broken_output_schema(tool: &Tool, error: &JsonError) -> Blocker {
    let path = tool.output_schema_path.as_deref().unwrap_or_default();
    Blocker::new(reasons::INVALID_OUTPUT_SCHEMA, format!("the output schema `{path}` is not JSON: {error}"))
        .at(Place::at(path, error.line, error.column))
        .field("output_schema_path")
}

/// Returns whether the policy asks for built-in tools.
fn offers_built_in(config: &Config) -> bool {
    let policy = config.policy.policy();
    policy.is_some_and(|policy| policy.allowed_families.find(&Family::Builtin).is_some())
}

/// The schemas of a tool that has them.
struct Texts {
    input: Option<SchemaText>,
    output: Option<SchemaText>,
    /// Whether the arguments are not checked.
    is_unchecked: bool,
}

impl<'h, 'c> VisibilityCheck<'h, 'c> {
    fn new(
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
        let started_from = Mutex::default();
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
            started_from,
        }
    }

    /// Looks at a tool: whether the agent sees it, and what a built-in tool needs and does not find here if nothing
    /// else keeps it from the agent.
    fn looked(&self, at: usize, tool: &Tool) -> Visibility {
        // What needs no file decides first.
        if self.visible(tool, &[]).is_err() {
            return Visibility::Hidden;
        }
        let (against, texts) = self.against(tool);
        let Ok(gate) = self.visible(tool, &against) else {
            let is_absence = |blocker: &Blocker| blocker.is(reasons::NOT_AVAILABLE_HERE);
            let is_absent = tool.is_built_in() && against.iter().all(is_absence);
            return if is_absent { Visibility::Absent(against) } else { Visibility::Hidden };
        };
        // A tool without a readable schema has a reason against it.
        let Some(input_schema) = texts.input else { return Visibility::Hidden };
        let gate = if texts.is_unchecked { Gate::Ask } else { gate };
        Visibility::Shown(Box::new(AgentTool {
            name: listed_name(tool.id.as_str(), self.names),
            gate,
            risk: ToolTraits::from_tool(tool).risk,
            at,
            input_schema,
            output_schema: texts.output,
        }))
    }

    /// Returns an offer if the agent sees it.
    fn offered(&self, offer: &Offer) -> Option<AgentOffer> {
        let (against, _) = self.against(&offer.entry);
        let gate = self.visible(&offer.entry, &against).ok()?;
        Some(AgentOffer { offer: offer.clone(), gate, risk: ToolTraits::from_tool(&offer.entry).risk })
    }

    fn visible(&self, tool: &Tool, against: &[Blocker]) -> Result<Gate, Vec<HiddenReason>> {
        let facts = Facts {
            policy: self.config.policy.standing(),
            tool: ToolTraits::from_tool(tool),
            is_enabled: tool.enabled,
            approval_mode: tool.approval_mode,
            against,
            clashes: &self.clashes,
        };
        visible(self.rights, &facts)
    }

    /// Returns the reasons against every call of a tool.
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
            behind_links: crate::command::behind_links(host, tool),
            ways: BTreeSet::new(),
            absent: BTreeSet::new(),
            modules: BTreeSet::new(),
            builtin: self.config.builtin_known(host, tool, &self.caller, &self.known),
            caller: Caller::CommandLine,
            session: None,
        };
        let is_unchecked = input.1.unchecked().is_some();
        (standing_blockers(&facts), Texts { input: input.0.text(), output: output.0.text(), is_unchecked })
    }

    /// Returns whether the program of a tool is there. Many tools name the same one.
    fn finds_program(&self, tool: &Tool, directory: &std::path::Path) -> bool {
        let reader = self.facts.reader(tool);
        let Some(argv) = reader.argv() else { return false };
        // Only a path depends on the directory.
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
