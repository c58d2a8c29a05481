//! Reads which tools agents see: the configuration of the gateway, and the facts for the decision.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use brigade_access::builtin::{Alias, BuiltinName};
use brigade_access::{
    AccessLevel, Agent, AgentToolRow, ArgumentKinds, CostedTool, GatewayConfig, ListedTool, ListingCosts,
    NameStyle, Offer, PlanMemoryWrite, Profile, Profiles, Rights, Slot, Source, ToolListing, ToolRow,
    ToolTraits, builtin, control_tools, listed_name, listing_costs,
};
use brigade_call::Caller;
use brigade_catalog::{Family, Reads, Tool};
use brigade_core::parallel::in_parts;
use brigade_core::{ConfigIssue, ErrorCode, Json, Place, Severity};
use brigade_fs::{Fs, FsError};
use brigade_policy::approval::{ApprovalNeed, ArgumentCheck};
use brigade_policy::{Blocker, PolicyValidity, RiskLevel};

use crate::config::{Config, read_config};
use crate::host::Host;
use crate::schemas::SchemaText;
use crate::trust::TrustStore;
use crate::visibility_check::{Visibility, VisibilityCheck, offers_built_in};

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

/// Reads profiles.toml. Without the file, there are only the shipped profiles.
///
/// # Errors
/// Returns all issues of the file.
pub fn read_profiles(fs: &dyn Fs, trust: &TrustStore) -> Result<Profiles, Vec<ConfigIssue>> {
    Profiles::parse(PROFILES, bytes_of(fs, trust, PROFILES)?.as_deref())
}

/// Reads profiles.toml and gateway.toml. A file with an error is not used, and neither is one that git tracks, unless a
/// person of this host accepted its bytes.
///
/// # Errors
/// Returns all issues of both files.
pub fn read_agents(fs: &dyn Fs, trust: &TrustStore) -> Result<AgentConfig, Vec<ConfigIssue>> {
    let profiles = read_profiles(fs, trust);
    let known = profiles.as_ref().unwrap_or(Profiles::shipped());
    let gateway =
        bytes_of(fs, trust, GATEWAY).and_then(|bytes| GatewayConfig::parse(GATEWAY, bytes.as_deref(), known));
    match (profiles, gateway) {
        (Ok(profiles), Ok(gateway)) => {
            let profiles = match gateway.builtin.plan_memory_write {
                PlanMemoryWrite::Allow => profiles.with_memory_in_plans(),
                PlanMemoryWrite::Deny => profiles,
            };
            Ok(AgentConfig { profiles, gateway })
        }
        // gateway.toml cannot be checked without the profiles.
        (Err(issues), _) | (Ok(_), Err(issues)) => Err(issues),
    }
}

fn bytes_of(fs: &dyn Fs, trust: &TrustStore, file: &str) -> Result<Option<Vec<u8>>, Vec<ConfigIssue>> {
    match read_config(fs, file) {
        Ok(bytes) => match trust.require_counting(fs, file, &bytes) {
            Ok(()) => Ok(Some(bytes)),
            Err(tracked) => Err(vec![tracked]),
        },
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => {
            let message = format!("cannot be read: {}", error.kind);
            let (severity, place) = (Severity::Error, Place::file(file));
            Err(vec![ConfigIssue { severity, place, entry: None, field: None, message, hint: None }])
        }
    }
}

/// Returns the code of an error because of these issues of gateway.toml and profiles.toml.
pub fn agents_error_code(issues: &[ConfigIssue]) -> ErrorCode {
    match issues.iter().any(ConfigIssue::is_tracked) {
        true => ErrorCode::TrackedState,
        false => ErrorCode::GatewayConfigInvalid,
    }
}

/// The tools that an agent sees.
pub struct AgentTools {
    /// The agent.
    pub agent: Agent,
    /// Its rights.
    pub rights: Rights,
    /// How names are spelled.
    pub names: NameStyle,
    /// The catalog and the policy that the decision used.
    pub config: Arc<Config>,
    /// The profiles and the gateway's settings.
    pub agents: Arc<AgentConfig>,
    tools: Vec<AgentTool>,
    by_name: HashMap<String, usize>,
    offers: Vec<AgentOffer>,
    /// Built-in tools that are hidden only because of missing needs, with the reasons.
    absent: Vec<(&'static str, Vec<Blocker>)>,
    /// The entries of `resource.read` and `prompt.get`, each for all its offers.
    readers: Vec<Tool>,
    started_from: BTreeMap<PathBuf, bool>,
}

/// Resources or prompts of an MCP server that an agent may read.
#[derive(Clone, Debug)]
pub struct AgentOffer {
    /// What is offered.
    pub offer: Offer,
    /// The minimum approval of its calls.
    pub need: ApprovalNeed,
    /// The risk.
    pub risk: RiskLevel,
}

/// The meaning of a name that is not listed.
#[derive(Clone, Debug)]
pub enum OwnName<'n> {
    /// A visible tool, or one of the gateway.
    Listed {
        /// Its id.
        id: &'static str,
        /// The name that was used, if it has other arguments.
        alias: Option<&'static Alias>,
    },
    /// A tool with missing needs.
    Absent {
        /// Its id.
        id: &'n str,
        /// The missing needs, and how to provide them.
        why: String,
    },
}

/// Returns a text with a missing need and how to provide it.
fn reason_in_words(reason: &Blocker) -> String {
    match &reason.hint {
        Some(hint) => format!("{}: {hint}", reason.message),
        None => reason.message.clone(),
    }
}

/// The target of an agent's call.
#[derive(Clone, Copy, Debug)]
pub struct CallTarget<'a> {
    /// The entry.
    pub entry: &'a Tool,
    /// The minimum approval of its calls.
    pub need: ApprovalNeed,
    /// The risk.
    pub risk: RiskLevel,
    /// Whether arguments are compared with the schema.
    pub check: ArgumentCheck,
}

impl CallTarget<'_> {
    /// Returns whether a call is answered directly: without approval, queue and record.
    pub fn is_direct(&self) -> bool {
        let row = builtin::definition(self.entry.id.as_str()).filter(|_| self.entry.is_built_in());
        self.need == ApprovalNeed::None && row.is_some_and(|row| !row.is_queued())
    }
}

/// A tool that an agent sees.
#[derive(Clone, Debug)]
pub struct AgentTool {
    /// The name in listings.
    pub name: String,
    /// The minimum approval of its calls.
    pub need: ApprovalNeed,
    /// The risk.
    pub risk: RiskLevel,
    /// Whether arguments are compared with the schema.
    pub check: ArgumentCheck,
    /// The index in the catalog, the built-in tools and the readers, counted in this order.
    pub(crate) at: usize,
    pub(crate) input_schema: SchemaText,
    pub(crate) output_schema: Option<SchemaText>,
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

    /// Returns the target of a call with these arguments. `None` if the agent cannot see the tool.
    pub fn callable(&self, id: &str, args: &Json) -> Option<CallTarget<'_>> {
        if let Some(reads) = Reads::of_tool_id(id) {
            let found =
                self.offers.iter().find(|found| found.offer.reads == reads && found.offer.covers(args))?;
            let check = ArgumentCheck::Checked;
            return Some(CallTarget { entry: &found.offer.entry, need: found.need, risk: found.risk, check });
        }
        let tool = self.find(id).filter(|tool| self.entry(tool).id.as_str() == id)?;
        Some(self.target(tool))
    }

    /// Returns the target of calls of a visible tool.
    pub fn target(&self, tool: &AgentTool) -> CallTarget<'_> {
        CallTarget { entry: self.entry(tool), need: tool.need, risk: tool.risk, check: tool.check }
    }

    /// Returns a visible tool as a client sees it.
    pub fn listed(&self, tool: &AgentTool) -> ListedTool {
        ListedTool::full(self.shown(tool))
    }

    /// Returns a visible tool as a client sees it in a compact listing.
    pub fn listed_compact(&self, tool: &AgentTool) -> ListedTool {
        ListedTool::compact(self.shown(tool))
    }

    fn shown<'t>(&'t self, tool: &'t AgentTool) -> ToolListing<'t> {
        let entry = self.entry(tool);
        ToolListing {
            name: &tool.name,
            title: &entry.name,
            description: entry.description.as_deref(),
            max_description_bytes: self.agents.gateway.max_description_bytes,
            icons: &entry.icons,
            input_schema: tool.input_schema.json(),
            output_schema: tool.output_schema.as_ref().map(SchemaText::json),
            family: entry.family.map_or("", Family::as_str),
            effects: &entry.effects,
            risk: tool.risk,
            gate: tool.need.gate(),
        }
    }

    /// Describes the visible tools for a report.
    pub fn rows(&self) -> Vec<AgentToolRow> {
        let row = |tool: &AgentTool| {
            AgentToolRow::new(tool.name.clone(), self.entry(tool), tool.risk, tool.need.gate())
        };
        let mut rows: Vec<AgentToolRow> = self.tools.iter().map(row).collect();
        // Every agent sees the control tools.
        if self.config.policy.validity() == PolicyValidity::Valid {
            rows.extend(control_tools().iter().map(|own| AgentToolRow::of_gateway(own, self.names)));
            rows.sort_by(|a, b| a.id.cmp(&b.id));
        }
        rows
    }

    /// Computes the cost of each way of listing the tools.
    pub fn costs(&self) -> ListingCosts {
        let costed = |tool: &AgentTool| {
            let (full, entry) = (self.listed(tool), self.entry(tool));
            let source = ToolTraits::from_tool(entry).sources().next();
            let description = full.description.as_deref().unwrap_or_default();
            let row = ToolRow::new(entry.id.as_str(), &tool.name, description, source, tool.need);
            CostedTool { id: entry.id.to_string(), full, compact: self.listed_compact(tool), row }
        };
        listing_costs(&self.tools.iter().map(costed).collect::<Vec<_>>(), self.names)
    }

    /// Finds a visible tool by its listed name or id.
    pub fn find(&self, name: &str) -> Option<&AgentTool> {
        let by_name = self.by_name.get(name).map(|at| &self.tools[*at]);
        by_name.or_else(|| {
            let at = self.tools.binary_search_by(|tool| self.entry(tool).id.as_str().cmp(name)).ok()?;
            Some(&self.tools[at])
        })
    }

    /// Resolves a name that is not listed: an alias of a visible tool, or of a tool with missing needs. Nothing is
    /// guessed.
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
                    // Some names are only for certain roles.
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

    /// Returns the traits of a known name that cannot be called.
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
            approval_mode: None,
            arguments: ArgumentKinds::default(),
        }
    }

    /// Returns the built-in tools that are hidden only because of missing needs.
    pub fn absent(&self) -> impl Iterator<Item = (&'static str, &[Blocker])> {
        self.absent.iter().map(|(id, reasons)| (*id, &reasons[..]))
    }

    /// Returns the programs, scripts and directories that tools start from, and whether each exists. A tool is hidden
    /// without them.
    pub fn started_from(&self) -> impl Iterator<Item = (&std::path::Path, bool)> {
        self.started_from.iter().map(|(path, is_there)| (path.as_path(), *is_there))
    }

    /// Returns the profile of a mode by its name, with or without its slot.
    pub fn mode(&self, name: &str) -> Option<&Arc<Profile>> {
        let profiles = &self.agents.profiles;
        let found = profiles.get(name).or_else(|| profiles.get(&format!("{}.{name}", Slot::Mode)));
        found.filter(|profile| profile.name.slot() == Slot::Mode)
    }

    /// Returns the traits of all tools, visible or not.
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

    /// Returns the visible name most similar to an unknown one.
    pub fn near(&self, name: &str) -> Option<&str> {
        brigade_core::closest(name, self.tools.iter().map(|tool| tool.name.as_str()))
    }
}

/// Reads which tools an agent sees with the profiles in `rights`.
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
        // If the policy enables no built-in tools, they are not inspected.
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

/// Makes one tool for all offers of a kind, with the effects of all and the strictest gate.
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
        need: offers.iter().map(|found| found.need).max().unwrap_or(first.need),
        risk: offers.iter().map(|found| found.risk).max().unwrap_or(first.risk),
        check: ArgumentCheck::Checked,
        at,
        input_schema: SchemaText::File(Arc::from(schema.to_compact().into_bytes())),
        output_schema: None,
    };
    let reader = Tool { effects, ..first.offer.entry.clone() };
    Some((reader, tool))
}

#[cfg(test)]
mod tests;
