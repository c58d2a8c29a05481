//! The view of one agent: its tools, their names and how they are listed.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use brigade::gateway::{AgentConfig, AgentTools, SchemaText, refusing_policy};
use brigade::policy::{ApprovalNeed, PolicyValidity, RiskLevel};
use brigade::profile::{
    Annotations, CORE_MEMORY, ControlTool, GATEWAY_FAMILY, Listing, LiveSession, NameStyle, Offer,
    SessionProfiles, ShownTools, ToolDescription, ToolRow, ToolTraits, control_tools, instructions,
    is_of_object, is_reserved, listed_description, listed_name, listed_text, need_in_words, of_object,
};
use brigade::redact::Redactor;
use brigade::schema::Schema;
use brigade::store::memory::StoredCore;
use brigade::tools::Reads;
use brigade::{Error, Family, Tool as Entry, Workspace};
use rmcp::model::Tool;
use serde_json::{Map, Value, json};

use crate::control::Control;
use crate::gateway::Terms;
use crate::results;

/// How many similar names are proposed for an unknown one.
const PROPOSED: usize = 3;

/// The view of one agent.
pub(crate) struct View {
    /// In order of the id, with the tools of the gateway.
    pub(crate) tools: Vec<AgentTool>,
    /// The skills, slash commands and superpowers.
    pub(crate) prompts: Vec<Text>,
    /// How the instructions for the client begin, in all sessions.
    preamble: String,
    /// Fingerprints that change with the lists.
    pub(crate) lists: Lists,
    /// The positions of tools, by listed name and by id.
    places: HashMap<String, usize>,
    /// The rights that the view was made from, unless they could not be read.
    pub(crate) shown: Option<Arc<AgentTools>>,
    /// Masks bound values in texts of entries.
    mask: Option<Arc<Redactor>>,
    /// Why nothing can be called, if so.
    refusal: Option<Error>,
}

/// Fingerprints of the lists of a client, without the lists of servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lists {
    pub(crate) tools: u64,
    pub(crate) resources: u64,
    pub(crate) prompts: u64,
}

impl Lists {
    fn from_view(view: &View) -> Lists {
        let hashed = |texts: &mut dyn Iterator<Item = String>| {
            let mut hasher = DefaultHasher::new();
            texts.for_each(|text| text.hash(&mut hasher));
            hasher.finish()
        };
        let offer = |offer: &Offer| format!("{} {:?}", offer.server, offer.patterns().collect::<Vec<_>>());
        let offers = |reads| view.offers(reads).map(offer);
        let own =
            crate::workspace_offers::listed_tools(view).map(|tool| format!("{} {}", tool.id, tool.title()));
        let core = view.has_identity().then(|| CORE_MEMORY.to_owned());
        let texts = view.prompts.iter().map(|text| format!("{text:?}"));
        let mut tools = DefaultHasher::new();
        view.tools.iter().for_each(|tool| tool.hash_listed(&mut tools));
        Lists {
            tools: tools.finish(),
            resources: hashed(&mut own.chain(core).chain(offers(Reads::Resource))),
            prompts: hashed(&mut texts.chain(offers(Reads::Prompt))),
        }
    }
}

/// The kind of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A tool of the gateway.
    Control(Control),
    /// An entry of the catalog.
    Catalog,
}

/// A tool in the view of an agent.
#[derive(Clone)]
pub(crate) struct AgentTool {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) family: String,
    pub(crate) effects: Vec<String>,
    pub(crate) risk: RiskLevel,
    pub(crate) need: ApprovalNeed,
    is_direct: bool,
    title: Option<String>,
    text: Option<String>,
    /// The largest description in a list, in bytes.
    max_text_bytes: u64,
    icons: Vec<String>,
    input: Arc<ReviewedSchema>,
    output: Option<Arc<ReviewedSchema>>,
    /// The listed form, made at first use.
    listed: OnceLock<Tool>,
    category: Option<String>,
    tags: Vec<String>,
    /// The names of its sources.
    sources: Vec<String>,
}

/// A reviewed schema, parsed at first use.
struct ReviewedSchema {
    text: SchemaText,
    /// Changes with the schema.
    mark: u64,
    object: OnceLock<Arc<Map<String, Value>>>,
    compiled: OnceLock<Option<Schema>>,
}

impl ReviewedSchema {
    /// Creates a schema whose bound values are masked.
    fn masked(text: &SchemaText, mask: Option<&Redactor>) -> ReviewedSchema {
        if let (SchemaText::File(bytes), Some(mask)) = (text, mask)
            && let Ok(original) = std::str::from_utf8(bytes)
        {
            let shown = mask.redact_str(original);
            if shown != original {
                return ReviewedSchema::new(SchemaText::File(Arc::from(shown.as_bytes())));
            }
        }
        ReviewedSchema::new(text.clone())
    }

    fn new(text: SchemaText) -> ReviewedSchema {
        let mut hasher = DefaultHasher::new();
        match &text {
            SchemaText::File(bytes) => bytes.hash(&mut hasher),
            // A static text is identified by its address.
            SchemaText::Own(json) => std::ptr::from_ref(*json).addr().hash(&mut hasher),
        }
        ReviewedSchema { text, mark: hasher.finish(), object: OnceLock::new(), compiled: OnceLock::new() }
    }

    /// Returns the schema as one of arguments.
    fn object(&self) -> Arc<Map<String, Value>> {
        let object = self.object.get_or_init(|| match of_object(self.text.json()).to_serde() {
            Value::Object(members) => Arc::new(members),
            _ => Arc::default(),
        });
        object.clone()
    }

    /// Returns the schema as one of a result, if it describes an object.
    fn result(&self) -> Option<Arc<Map<String, Value>>> {
        is_of_object(&self.text.json()).then(|| self.object())
    }

    fn compiled(&self) -> Option<&Schema> {
        let compile = || Schema::compile_root(&self.text.json().to_serde()).ok();
        self.compiled.get_or_init(compile).as_ref()
    }
}

/// A catalog text that is listed as a prompt.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) description: String,
}

impl AgentTool {
    /// Returns a note if the arguments of calls are not checked, with the reason.
    pub(crate) fn arguments_not_checked(&self) -> Option<String> {
        self.input.compiled()?.arguments_not_checked()
    }

    /// Hashes everything in its listed form.
    fn hash_listed(&self, hasher: &mut DefaultHasher) {
        let listed = (&self.id, &self.name, &self.title, &self.text, &self.family, &self.effects);
        let output = self.output.as_ref().map(|output| output.mark);
        (self.max_text_bytes, &self.icons).hash(hasher);
        (listed, self.risk.as_str(), self.need.gate().as_str(), self.input.mark, output).hash(hasher);
    }

    /// Returns the listed form.
    pub(crate) fn listed(&self) -> &Tool {
        self.listed.get_or_init(|| {
            let traits = || control_tools().iter().find(|own| own.id == self.id);
            let reads = traits().filter(|_| matches!(self.kind, Kind::Control(_))).map(|own| own.reads);
            let annotations = match reads {
                Some(reads) => ControlTool::hints(reads),
                None => Annotations::from_effects(&self.effects),
            };
            let mark = json!({
                "family": if reads.is_some() { "builtin" } else { &self.family },
                "effects": self.effects,
                "risk": self.risk.as_str(),
                "gate": self.need.gate().as_str(),
            });
            let mut tool = Tool::new(self.name.clone(), "", self.input.object());
            tool.title.clone_from(&self.title);
            let text = self.text.as_deref().and_then(|text| listed_description(text, self.max_text_bytes));
            tool.description = text.map(Into::into);
            let icons: Vec<Value> = self.icons.iter().map(|src| json!({ "src": src })).collect();
            tool.icons =
                (!icons.is_empty()).then(|| serde_json::from_value(Value::Array(icons)).ok()).flatten();
            tool.output_schema = self.output.as_ref().and_then(|output| output.result());
            tool.annotations = serde_json::to_value(annotations).and_then(serde_json::from_value).ok();
            tool.meta = serde_json::from_value(json!({"brigade/tool": mark})).ok();
            tool
        })
    }

    /// Returns whether the tool has a schema of its results.
    pub(crate) fn has_output_schema(&self) -> bool {
        self.output.as_ref().is_some_and(|output| output.compiled().is_some())
    }

    /// Returns whether its calls are answered directly, without the queue and receipts.
    pub(crate) fn is_direct(&self) -> bool {
        self.is_direct
    }

    /// Returns whether calls of the tool write in the workspace.
    pub(crate) fn writes(&self) -> bool {
        self.effects.iter().any(|effect| effect == "local-write")
    }

    pub(crate) fn title(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Returns the faults of an output.
    pub(crate) fn output_faults(&self, value: &Value) -> Vec<String> {
        let Some(schema) = self.output.as_ref().and_then(|output| output.compiled()) else {
            return Vec::new();
        };
        schema.violations(value).iter().map(ToString::to_string).collect()
    }

    pub(crate) fn is_of(&self, source: Option<&str>, category: Option<&str>) -> bool {
        source.is_none_or(|source| self.sources.iter().any(|known| known == source))
            && category.is_none_or(|category| self.category.as_deref() == Some(category))
    }

    /// Returns the row of the tool in a list.
    pub(crate) fn row(&self) -> ToolRow {
        ToolRow::new(&self.id, &self.name, self.text(), self.sources.first().map(String::as_str), self.need)
    }

    /// Returns everything about the tool.
    pub(crate) fn description(&self) -> Value {
        results::value(&ToolDescription {
            name: &self.name,
            id: &self.id,
            title: self.title(),
            description: self.text(),
            input_schema: &*self.listed().input_schema,
            output_schema: self.listed().output_schema.as_deref(),
            family: &self.family,
            effects: &self.effects,
            risk: self.risk,
            gate: self.need.gate(),
            reason: need_in_words(&self.id, self.need),
        })
    }

    /// Returns the page of the tool as Markdown.
    pub(crate) fn page(&self) -> String {
        let schema = serde_json::to_string_pretty(&*self.listed().input_schema).unwrap_or_default();
        format!(
            "# {}\n\n{}\n\n- id: `{}`\n- effects: {}\n- risk: {}\n- gate: {} ({})\n\n## Arguments\n\n```json\n{schema}\n```\n",
            self.title(),
            self.text(),
            self.id,
            if self.effects.is_empty() { "none declared".to_owned() } else { self.effects.join(", ") },
            self.risk.as_str(),
            self.need.gate().as_str(),
            need_in_words(&self.id, self.need),
        )
    }
}

impl View {
    /// Reads the view of an agent. If that fails, the view is empty and its instructions say why.
    pub(crate) fn read(
        workspace: &Workspace,
        agents: Arc<AgentConfig>,
        agent: &str,
        session: &SessionProfiles,
        terms: &Terms,
    ) -> View {
        match workspace.agents().tools_with(agents, agent, session, &terms.overlays, terms.names) {
            Ok(shown) => View::new(shown, workspace.agent_calls().mask()),
            Err(error) => View::empty(error),
        }
    }

    fn empty(reason: Error) -> View {
        View {
            tools: Vec::new(),
            prompts: Vec::new(),
            preamble: format!("nothing can be called: {reason}"),
            lists: Lists::default(),
            places: HashMap::new(),
            shown: None,
            mask: None,
            refusal: Some(reason),
        }
    }

    /// Returns why nothing can be called, if so.
    pub(crate) fn refusal(&self) -> Option<&Error> {
        self.refusal.as_ref()
    }

    pub(crate) fn new(shown: AgentTools, mask: Option<Arc<Redactor>>) -> View {
        let preamble = preamble(&shown);
        let names = shown.names;
        let mut schemas = HashMap::new();
        let mut tools: Vec<AgentTool> = shown
            .tools()
            .iter()
            .map(|tool| catalog_tool(&shown, tool, &mut schemas, mask.as_deref()))
            .collect();
        if shown.config.policy.validity() == PolicyValidity::Valid {
            for own in control_tools() {
                let Some(control) = Control::from_name(&own.id) else { continue };
                let traits = own.traits();
                tools.push(AgentTool {
                    id: own.id.clone(),
                    name: listed_name(&own.id, names),
                    kind: Kind::Control(control),
                    family: GATEWAY_FAMILY.to_owned(),
                    effects: vec!["session".to_owned()],
                    risk: traits.risk,
                    need: ApprovalNeed::None,
                    is_direct: false,
                    title: listed_text(&own.title),
                    text: listed_text(&own.description),
                    max_text_bytes: u64::MAX,
                    icons: Vec::new(),
                    input: Arc::new(ReviewedSchema::new(SchemaText::Own(&own.input))),
                    output: own
                        .output
                        .as_ref()
                        .map(|own| Arc::new(ReviewedSchema::new(SchemaText::Own(own)))),
                    listed: OnceLock::new(),
                    category: own.id.split('.').next().map(str::to_owned),
                    tags: Vec::new(),
                    sources: traits.sources().map(str::to_owned).collect(),
                });
            }
        }
        tools.sort_by(|left, right| left.id.cmp(&right.id));
        let mut places = HashMap::new();
        for (place, tool) in tools.iter().enumerate() {
            places.insert(tool.id.clone(), place);
        }
        for (place, tool) in tools.iter().enumerate() {
            places.insert(tool.name.clone(), place);
        }
        let prompts = match shown.config.policy.validity() {
            PolicyValidity::Valid => prompts(&shown, mask.as_deref()),
            PolicyValidity::Missing | PolicyValidity::Invalid => Vec::new(),
        };
        let refusal = refusing_policy(&shown.config);
        let shown = Some(Arc::new(shown));
        let lists = Lists::default();
        let mut view = View { tools, prompts, preamble, lists, places, shown, mask, refusal };
        view.lists = Lists::from_view(&view);
        view
    }

    /// Returns the instructions for the client in a session with this core memory.
    pub(crate) fn instructions_in(&self, session: &LiveSession, core: Option<&StoredCore>) -> String {
        let lane = session.root().map(|root| {
            format!(" Paths of files and commands of this session are those of the lane in {root}.")
        });
        let preamble = format!("{}{}", self.preamble, lane.unwrap_or_default());
        let catalog = self.tools.iter().filter(|tool| !is_reserved(&tool.id)).count();
        let names = self.shown.as_ref().map_or(NameStyle::Dotted, |shown| shown.names);
        let shown = ShownTools { is_shown: &|id| self.by_id(id).is_some(), catalog, names };
        instructions(&preamble, &shown, core.map(StoredCore::to_markdown).as_deref())
    }

    /// Returns whether the agent has a core memory.
    pub(crate) fn has_identity(&self) -> bool {
        self.shown.as_ref().is_some_and(|shown| shown.agent.has_identity)
    }

    /// Returns the schema files of enabled catalog tools, and the files that tools start from.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        let entries = self.shown.iter().flat_map(|shown| shown.config.catalog.tools());
        let schemas = entries.filter(|tool| tool.enabled).flat_map(|tool| {
            [tool.input_schema_path.as_deref(), tool.output_schema_path.as_deref()].into_iter().flatten()
        });
        let starts = self.shown.iter().flat_map(|shown| shown.started_from()).map(|(path, _)| path);
        schemas.map(Path::new).chain(starts)
    }

    /// Returns the compact listed form of a tool.
    pub(crate) fn compact(&self, tool: &AgentTool) -> Tool {
        let control = || control_tools().iter().find(|own| own.id == tool.id);
        let listed = match (&tool.kind, &self.shown) {
            (Kind::Control(_), Some(shown)) => control().map(|own| own.listed_compact(shown.names)),
            (Kind::Catalog, Some(shown)) => shown.find(&tool.name).map(|found| shown.listed_compact(found)),
            (_, None) => None,
        };
        let listed = listed.and_then(|listed| {
            let listed = serde_json::to_string(&listed).ok()?;
            serde_json::from_str(&mask_text(self.mask.as_deref(), listed)).ok()
        });
        listed.unwrap_or_else(|| tool.listed().clone())
    }

    /// Returns the fingerprints of the lists in this mode.
    pub(crate) fn lists_as(&self, mode: Listing) -> Lists {
        let mut tools = DefaultHasher::new();
        (mode as u8).hash(&mut tools);
        match mode {
            Listing::Search => self.listed_as(mode).for_each(|tool| tool.hash_listed(&mut tools)),
            Listing::Full | Listing::Compact => self.lists.tools.hash(&mut tools),
        }
        Lists { tools: tools.finish(), ..self.lists }
    }

    /// Returns the tools that are listed in this mode.
    pub(crate) fn listed_as(&self, mode: Listing) -> impl Iterator<Item = &AgentTool> {
        self.tools.iter().filter(move |tool| mode != Listing::Search || matches!(tool.kind, Kind::Control(_)))
    }

    /// Returns the tool with this listed name or id.
    pub(crate) fn by_name(&self, name: &str) -> Option<&AgentTool> {
        self.tools.get(*self.places.get(name)?)
    }

    /// Returns the tool with this id.
    pub(crate) fn by_id(&self, id: &str) -> Option<&AgentTool> {
        self.by_name(id).filter(|tool| tool.id == id)
    }

    /// Returns the resources or prompts of servers that the agent may read.
    pub(crate) fn offers(&self, reads: Reads) -> impl Iterator<Item = &Offer> {
        let offers = self.shown.iter().flat_map(|shown| shown.offers());
        offers.map(|found| &found.offer).filter(move |offer| offer.reads == reads)
    }

    /// Returns the tool that reads resources or prompts, if it may read from this server.
    pub(crate) fn reader(&self, reads: Reads, server: &str) -> Option<AgentTool> {
        let tool = self.by_id(reads.tool_id())?;
        let shown = self.shown.as_ref()?;
        let is_its = |found: &&brigade::gateway::AgentOffer| {
            found.offer.reads == reads && found.offer.server == server
        };
        let found = shown.offers().iter().find(is_its)?;
        let effects = found.offer.entry.effects.clone();
        Some(AgentTool { effects, risk: found.risk, need: found.need, ..tool.clone() })
    }

    /// Returns whether a text of the catalog has this name.
    pub(crate) fn has_prompt(&self, name: &str) -> bool {
        self.prompts.iter().any(|prompt| prompt.name == name)
    }

    /// Returns names that are similar to an unknown one.
    pub(crate) fn near(&self, name: &str) -> Vec<&str> {
        let mut left: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
        let mut near = Vec::new();
        while near.len() < PROPOSED
            && let Some(found) = brigade::core::closest(name, left.iter().copied())
        {
            left.retain(|name| *name != found);
            near.push(found);
        }
        near
    }

    /// Finds tools by words in their names, titles and descriptions, best first.
    pub(crate) fn search(
        &self,
        query: &str,
        pattern: Option<&str>,
        source: Option<&str>,
        category: Option<&str>,
        tags: &[String],
    ) -> Vec<&AgentTool> {
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let pattern = pattern.map(brigade::core::Glob::new);
        let mut found: Vec<(usize, &AgentTool)> = self
            .tools
            .iter()
            .filter(|tool| tool.is_of(source, category))
            .filter(|tool| pattern.as_ref().is_none_or(|pattern| pattern.matches(&tool.id)))
            .filter(|tool| tags.iter().all(|tag| tool.tags.contains(tag)))
            .filter_map(|tool| {
                let (name, title, text) =
                    (tool.id.to_lowercase(), tool.title().to_lowercase(), tool.text().to_lowercase());
                let score = |word: &String| {
                    usize::from(name.contains(word)) * 4
                        + usize::from(title.contains(word)) * 2
                        + usize::from(text.contains(word))
                };
                let scores: Vec<usize> = words.iter().map(score).collect();
                scores.iter().all(|score| 0 < *score).then(|| (scores.iter().sum(), tool))
            })
            .collect();
        found.sort_by(|(left, a), (right, b)| right.cmp(left).then_with(|| a.id.cmp(&b.id)));
        found.into_iter().map(|(_, tool)| tool).collect()
    }
}

/// Creates a tool of the catalog. Tools with the same schema share it.
fn catalog_tool(
    shown: &AgentTools,
    tool: &brigade::gateway::AgentTool,
    schemas: &mut HashMap<usize, Arc<ReviewedSchema>>,
    mask: Option<&Redactor>,
) -> AgentTool {
    let entry = shown.entry(tool);
    let mut reviewed = |text: &SchemaText| {
        let known = schemas.entry(text.address());
        known.or_insert_with(|| Arc::new(ReviewedSchema::masked(text, mask))).clone()
    };
    AgentTool {
        id: entry.id.as_str().to_owned(),
        name: tool.name.clone(),
        kind: Kind::Catalog,
        family: entry.family.map(|family| family.as_str().to_owned()).unwrap_or_default(),
        effects: entry.effects.clone(),
        risk: tool.risk,
        need: tool.need,
        is_direct: shown.target(tool).is_direct(),
        title: listed_text(&entry.name).map(|text| mask_text(mask, text)),
        text: entry.description.as_deref().and_then(listed_text).map(|text| mask_text(mask, text)),
        max_text_bytes: shown.agents.gateway.max_description_bytes,
        icons: entry.icons.iter().map(|link| mask_text(mask, link.clone())).collect(),
        input: reviewed(tool.input_schema()),
        output: tool.output_schema().map(reviewed),
        listed: OnceLock::new(),
        category: entry.domain.clone(),
        tags: entry.capability.clone(),
        sources: ToolTraits::from_tool(entry).sources().map(str::to_owned).collect(),
    }
}

fn mask_text(mask: Option<&Redactor>, text: String) -> String {
    match mask {
        Some(mask) => mask.redact_str(&text),
        None => text,
    }
}

/// Lists the enabled skills, slash commands and superpowers that the agent's profiles show.
fn prompts(shown: &AgentTools, mask: Option<&Redactor>) -> Vec<Text> {
    let is_text = |family| matches!(family, Some(Family::Skill | Family::SlashCommand | Family::Superpower));
    let is_shown = |tool: &&Entry| {
        tool.enabled
            && !tool.is_broken
            && is_text(tool.family)
            && shown.rights.shows(&ToolTraits::from_tool(tool))
    };
    let texts = shown.config.catalog.tools().iter().filter(is_shown);
    let text = |tool: &Entry| Text {
        name: tool.id.as_str().to_owned(),
        title: mask_text(mask, tool.name.clone()),
        description: mask_text(mask, tool.description.clone().unwrap_or_default()),
    };
    texts.map(text).collect()
}

/// Returns how the instructions for a client begin.
fn preamble(shown: &AgentTools) -> String {
    let file = brigade::paths::POLICY;
    match shown.config.policy.validity() {
        PolicyValidity::Missing => {
            return format!(
                "Nothing can be called: {file} does not exist. `brigade tools policy init` writes one."
            );
        }
        PolicyValidity::Invalid => {
            return match shown.config.policy.issues().iter().any(brigade::core::ConfigIssue::is_tracked) {
                true => {
                    format!("Nothing can be called: git tracks {file}, so it does not count on this machine.")
                }
                false => {
                    format!(
                        "Nothing can be called: {file} is invalid. `brigade tools policy doctor` says why."
                    )
                }
            };
        }
        PolicyValidity::Valid => {}
    }
    let mut text = format!(
        "These are the tools of a workspace, for the agent `{}`. Each call is decided by the policy of this machine. A \
         call that needs a person's approval answers with `approval_pending` and a call id; `call.wait` with that id, or \
         the same call again, runs it once a person has approved it.",
        shown.agent.name.as_str()
    );
    if shown.config.catalog.readable().is_err() {
        text.push_str(" The catalog of tools cannot be read: `brigade tools doctor` says why.");
    }
    text
}
