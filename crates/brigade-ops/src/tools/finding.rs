//! Finds tools by words, by capabilities, and by usage.

use std::collections::BTreeMap;

use crate::{DISCOVERED, Memory, read_remembered};
use brigade_call::{Caller, Receipt, RunStatus, standing_blockers};
use brigade_catalog::{
    Catalog, Family, FindQuery, HarnessTools, Level, Masks, Presence, Runtimes, SearchText, Tool, ToolSource,
    ToolState, UsedWords, candidates, gaps, label_key, rank,
};
use brigade_core::parallel::in_parallel;
use brigade_core::text::escape_terminal;
use brigade_core::{ConfigIssue, ErrorKind, Json, RefusalMember, Report as _, Severity, Timestamp};
use brigade_harness::{DiscoveredEntry, EntrySource, RememberedFileError};
use brigade_policy::Failure;
use brigade_workspace::{CATALOG, Config, Depth, FactReader, PresenceReader, WorkspaceContext, gather, load};

use crate::report::{
    FindMatch, FindReport, SearchMatch, SearchReport, ShadowedRow, ShowReport, ShownTool, StateReason,
    StatsReport, Suggestion, ToolStats, spell_hints,
};
use crate::tools::catalog::summary_of;

/// The maximum number of runs whose words suggest capabilities.
const MAX_USES: usize = 500;

/// Which tools to list. An empty filter lists all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// Tools of one of these categories.
    pub categories: Vec<String>,
    /// Tools with one of these capabilities.
    pub capabilities: Vec<String>,
    /// Tools of one of these sources.
    pub sources: Vec<ToolSource>,
    /// Tools of one of these families.
    pub families: Vec<Family>,
    /// Tools of one of these levels.
    pub levels: Vec<Level>,
    /// Only tools that are present.
    pub available: bool,
}

/// Returns the built-in tools, if their family is requested.
fn built_in<'t>(config: &Config, families: &[Family]) -> impl Iterator<Item = &'t Tool> + use<'t> {
    // Other lists do not read the rows of built-in tools.
    let is_requested = families.contains(&Family::Builtin);
    is_requested.then(|| config.own_tools()).into_iter().flatten().map(|tool| -> &'t Tool { tool })
}

impl ListFilter {
    /// Returns whether it matches all tools.
    pub fn is_empty(&self) -> bool {
        *self == ListFilter::default()
    }

    /// Returns whether only built-in tools match.
    pub(crate) fn is_of_brigade(&self) -> bool {
        !self.families.is_empty() && self.families.iter().all(|family| *family == Family::Builtin)
    }

    /// Returns whether discovered entries can match.
    pub(crate) fn includes_discovered(&self) -> bool {
        self.levels.contains(&Level::Discovered)
    }

    /// Returns whether the entry of a tool matches. Does not check whether the tool is present.
    fn takes(&self, tool: &Tool) -> bool {
        let has_any = |requested: &[String], own: Vec<&str>| {
            requested.is_empty() || {
                let own: Vec<String> = own.into_iter().map(label_key).collect();
                requested.iter().any(|label| own.contains(&label_key(label)))
            }
        };
        let has_source = || tool.source().is_some_and(|source| self.sources.contains(&source));
        let has_family = || tool.family.is_some_and(|family| self.families.contains(&family));
        (self.levels.is_empty() || self.levels.contains(&tool.origin.level))
            && (self.sources.is_empty() || has_source())
            && (self.families.is_empty() || has_family())
            && has_any(&self.categories, tool.all_categories())
            && has_any(&self.capabilities, tool.all_capabilities())
    }

    /// Returns whether a discovered entry matches. It declares neither categories nor capabilities, and its presence is
    /// unknown.
    fn matches_discovered(&self, entry: &DiscoveredEntry) -> bool {
        let is_one = |words: &[&str], own: &str| words.is_empty() || words.contains(&own);
        let sources: Vec<&str> = self.sources.iter().map(|source| source.as_str()).collect();
        let families: Vec<&str> = self.families.iter().map(|family| family.as_str()).collect();
        is_one(&sources, entry.source.as_str())
            && is_one(&families, entry.family.as_str())
            && self.categories.is_empty()
            && self.capabilities.is_empty()
            && !self.available
    }

    /// Returns the built-in tools that match.
    pub fn built_in(&self, config: &Config) -> impl Iterator<Item = &'static Tool> {
        built_in(config, &self.families).filter(|tool| self.takes(tool))
    }

    /// Returns the positions of the tools that match, also of disabled ones.
    pub fn places(&self, context: &WorkspaceContext, config: &Config) -> Result<Vec<usize>, Failure> {
        let tools = config.catalog.tools();
        let mut places: Vec<usize> = (0..tools.len()).filter(|place| self.takes(&tools[*place])).collect();
        if self.available && !places.is_empty() {
            let found: Vec<&Tool> = places.iter().map(|place| &tools[*place]).collect();
            let mut states = presences(context, config, &found)?.into_iter().map(|presence| presence.state);
            places.retain(|_| states.next() == Some(ToolState::Available));
        }
        Ok(places)
    }
}

/// Shows one tool, its projections, and whether it is present. The tool may be disabled.
///
/// # Errors
/// Returns [`ErrorKind::NotFound`] if no tool has this id, and file errors.
pub fn show(context: &WorkspaceContext, id: &str) -> Result<ShowReport, Failure> {
    let config = gather::config(context)?;
    let tool = config.under_policy(load::any_tool(&config.catalog, id)?);
    let facts = FactReader::new(context.host(), &config);
    let summary = summary_of(context, &facts.read(tool, Depth::Summary));
    let runtimes = runtimes_for(context, &[tool])?;
    let presence = PresenceReader::new(&facts, &runtimes).presence(tool);
    let (suggested, shadowed) =
        (suggested_capabilities(&config.catalog, tool), shadowed_rows(&config.catalog, tool));
    let mut shown = ShownTool::new(tool, summary, &presence, suggested, shadowed);
    spell_hints(&mut shown.reasons, |hint| context.spelled(hint));
    Ok(ShowReport {
        schema: ShowReport::SCHEMA,
        target: context.target(),
        config_path: context.absolute(CATALOG),
        tool: shown,
        notes: notes(&config.catalog),
        error: RefusalMember::default(),
    })
}

/// Finds enabled tools by a text: in id, name, family, description, aliases, categories and capabilities. Its words may
/// occur anywhere, in any order.
pub fn search(context: &WorkspaceContext, query: &str, families: &[Family]) -> Result<SearchReport, Failure> {
    let config = gather::config(context)?;
    let is_of_family =
        |tool: &&Tool| families.is_empty() || tool.family.is_some_and(|family| families.contains(&family));
    let tools = config.catalog.tools().iter().chain(built_in(&config, families)).filter(is_of_family);
    let mut found = brigade_catalog::search(tools, query);
    found.retain(|found| found.tool.enabled);
    let tools: Vec<&Tool> = found.iter().map(|found| found.tool).collect();
    let matches: Vec<SearchMatch> = FactReader::new(context.host(), &config)
        .read_all(&tools)
        .iter()
        .zip(&found)
        .map(|(read, found)| SearchMatch::new(summary_of(context, read), found.kind, found.score))
        .collect();
    let text = SearchText::new(query);
    let (suggestions, discovered_at) = suggestions(context, |entry| {
        let names = [entry.id.as_str(), entry.name.as_str()];
        families.is_empty() && text.compare(names, entry.description.as_deref()).is_some()
    });
    Ok(SearchReport {
        schema: SearchReport::SCHEMA,
        target: context.target(),
        query: query.to_owned(),
        match_count: matches.len(),
        matches,
        suggestion_count: suggestions.len(),
        suggestions,
        discovered_at,
        notes: notes_with_cache(context, &config.catalog),
    })
}

/// Finds enabled tools by capability, category or source, and says which can be called, and why not. Starts nothing.
///
/// # Errors
/// Returns [`ErrorKind::Usage`] if the query asks for no capability, category or source, and file errors.
pub fn find(context: &WorkspaceContext, query: &FindQuery) -> Result<FindReport, Failure> {
    let is_of_a_kind = !query.sources.is_empty() || !query.families.is_empty();
    let has_words = !query.words.trim().is_empty();
    if !has_words && query.capabilities.is_empty() && query.categories.is_empty() && !is_of_a_kind {
        let error = Failure::new(ErrorKind::Usage, "the query is empty");
        return Err(error.hint("give words, a capability, a category, a source or a family"));
    }
    let config = gather::config(context)?;
    let tools: Vec<&Tool> = config.catalog.tools().iter().chain(built_in(&config, &query.families)).collect();
    let harness_tools =
        if config.catalog.offers_harness_tools() { HarnessTools::Offered } else { HarnessTools::LeftOut };
    let used = used_words(context, query)?;
    let fitting = candidates(tools.iter().copied(), query, harness_tools, &used);
    let of_candidates: Vec<&Tool> = fitting.iter().map(|candidate| candidate.tool).collect();
    let states = presences(context, &config, &of_candidates)?;
    let found = rank(fitting.into_iter().zip(states).collect(), query);
    let facts = FactReader::new(context.host(), &config);
    let refusals = in_parallel(found.len(), |place| refusals(&facts, found[place].0.tool));
    let matches = found.into_iter().zip(refusals).map(|((candidate, presence), refusals)| {
        let mut found = FindMatch::new(candidate, &presence, refusals?);
        spell_hints(&mut found.reasons, |hint| context.spelled(hint));
        Ok(found)
    });
    let matches: Vec<FindMatch> = matches.collect::<Result<_, Failure>>()?;
    let requested =
        query.capabilities.iter().chain(&query.categories).chain(has_words.then_some(&query.words));
    let requested: Vec<SearchText> = requested.map(|label| SearchText::new(label)).collect();
    let (suggestions, discovered_at) = suggestions(context, |entry| {
        let fits =
            |text: &SearchText| text.compare([entry.name.as_str()], entry.description.as_deref()).is_some();
        let is_of_source = query.sources.is_empty()
            || query.sources.iter().any(|source| source.as_str() == entry.source.as_str());
        // Tools of a harness, and skills, run only in a harness.
        let is_of_harness = entry.source != EntrySource::Mcp;
        let is_offered = harness_tools == HarnessTools::Offered || !is_of_harness;
        query.families.is_empty()
            && is_of_source
            && is_offered
            && (requested.is_empty() || requested.iter().any(fits))
    });
    let gaps = gaps(tools.iter().copied(), query);
    let mut notes = notes_with_cache(context, &config.catalog);
    for gap in &gaps {
        let has =
            |tool: &&Tool| tool.all_capabilities().iter().any(|label| label_key(label) == label_key(gap));
        let disabled = config.catalog.tools().iter().filter(|tool| !tool.enabled).filter(has);
        let ids: Vec<String> =
            disabled.map(|tool| format!("`{}`", escape_terminal(tool.id.as_str()))).collect();
        if !ids.is_empty() {
            notes.push(format!(
                "{} has the capability {} but is disabled",
                ids.join(", "),
                escape_terminal(gap)
            ));
        }
    }
    Ok(FindReport {
        schema: FindReport::SCHEMA,
        target: context.target(),
        query: query.into(),
        match_count: matches.len(),
        matches,
        suggestion_count: suggestions.len(),
        suggestions,
        discovered_at,
        gaps,
        notes,
    })
}

/// Returns the words of the arguments of the newest runs that succeeded, if the query asks for capabilities.
fn used_words(context: &WorkspaceContext, query: &FindQuery) -> Result<UsedWords, Failure> {
    let mut used = UsedWords::default();
    if query.capabilities.is_empty() {
        return Ok(used);
    }
    let runs = context.queue().read()?.receipts(MAX_USES)?;
    let is_use = |receipt: &&Receipt| receipt.status == RunStatus::Completed && !receipt.is_installation();
    for receipt in runs.receipts.iter().map(|stored| &stored.receipt).filter(is_use) {
        add_words(&receipt.asked_args(), &mut |text| used.add(&receipt.tool_id, text));
    }
    Ok(used)
}

/// Passes on the keys and texts of arguments. Records have them without secrets.
fn add_words(args: &Json, found: &mut impl FnMut(&str)) {
    match args {
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
        Json::String(text) => found(text),
        Json::Array(items) => items.iter().for_each(|item| add_words(item, found)),
        Json::Object(members) => {
            for (key, value) in members {
                found(key);
                add_words(value, found);
            }
        }
    }
}

/// Counts the runs of each tool, or of one, from the receipts.
///
/// # Errors
/// Returns [`ErrorKind::NotFound`] if no tool has this id and no receipt names it, and file errors.
pub fn stats(context: &WorkspaceContext, id: Option<&str>) -> Result<StatsReport, Failure> {
    let catalog = load::catalog(context)?;
    let runs = context.queue().read()?.receipts(usize::MAX)?;
    let mut by_tool: BTreeMap<&str, Vec<&Receipt>> = BTreeMap::new();
    for stored in &runs.receipts {
        by_tool.entry(&stored.receipt.tool_id).or_default().push(&stored.receipt);
    }
    let known = id.and_then(|id| load::any_tool(&catalog, id).ok());
    let tools: Vec<ToolStats> = match id {
        None => by_tool.iter().map(|(id, receipts)| stats_of(id, receipts, catalog.tool(id))).collect(),
        Some(id) => {
            // The receipts of a removed tool still exist.
            let id = known.map_or(id.trim(), |tool| tool.id.as_str());
            match by_tool.get(id) {
                Some(receipts) => vec![stats_of(id, receipts, known)],
                None => vec![stats_of(load::any_tool(&catalog, id)?.id.as_str(), &[], known)],
            }
        }
    };
    Ok(StatsReport {
        schema: StatsReport::SCHEMA,
        target: context.target(),
        tool_count: tools.len(),
        tools,
        unreadable_count: runs.errors.len(),
    })
}

/// Checks whether tools are present.
pub fn presences(
    context: &WorkspaceContext,
    config: &Config,
    tools: &[&Tool],
) -> Result<Vec<Presence>, Failure> {
    let runtimes = runtimes_for(context, tools)?;
    let facts = FactReader::new(context.host(), config);
    let reader = PresenceReader::new(&facts, &runtimes);
    Ok(tools.iter().map(|tool| reader.presence(tool)).collect())
}

/// Returns observations that speak against calling a tool: a failed check, or a version that is not accepted. Starts
/// nothing.
pub fn doubts(context: &WorkspaceContext, config: &Config, tool_id: &str) -> Vec<String> {
    let Some(tool) = config.catalog.tool(tool_id).filter(|tool| tool.claims_presence()) else {
        return Vec::new();
    };
    let (facts, runtimes) = (FactReader::new(context.host(), config), Runtimes::default());
    let presence = PresenceReader::new(&facts, &runtimes).presence(tool);
    let is_observed = |code: &str| matches!(code, "check_failed" | "version_outdated");
    let doubts = presence.reasons.into_iter().filter(|reason| is_observed(reason.code));
    doubts.map(|reason| format!("{}: {}", tool.id, reason.message)).collect()
}

/// Reads the runtimes if one of the tools depends on one.
pub fn runtimes_for(context: &WorkspaceContext, tools: &[&Tool]) -> Result<Runtimes, Failure> {
    let needs_one = tools.iter().any(|tool| tool.source() == Some(ToolSource::Mcp));
    if needs_one { load::runtimes(context) } else { Ok(Runtimes::default()) }
}

/// Returns the blockers that apply to every call of a tool, whatever its arguments. Programs, schemas and scripts that
/// many tools name are checked once.
fn refusals<'c>(facts: &FactReader<'_, 'c>, tool: &'c Tool) -> Result<Vec<StateReason>, Failure> {
    match tool.runs_in() {
        Some(brigade_catalog::RunsIn::Brigade) => {}
        Some(brigade_catalog::RunsIn::Harness) => {
            return Ok(vec![StateReason::new("runs_in_harness", "only an agent program runs it")]);
        }
        None => {
            let why = match tool.is_remote() {
                true => "the remote server has no runtime: register it, or write its `url` in runtimes.toml",
                false => "Brigade does not run tools of this family",
            };
            return Ok(vec![StateReason::new("not_executable", why)]);
        }
    }
    let planned = facts.deepen(&facts.read(tool, Depth::Summary), Caller::CommandLine)?;
    let reason = |blocker| StateReason::from(blocker).masked_by(&tool.masks);
    Ok(standing_blockers(&planned).iter().map(reason).collect())
}

/// Returns the names of the tools imported from a server, for an entry that describes the whole server.
fn suggested_capabilities(catalog: &Catalog, tool: &Tool) -> Vec<String> {
    let is_named = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    if tool.source() != Some(ToolSource::Mcp) || is_named(&tool.mcp_tool_name) {
        return Vec::new();
    }
    let is_of_server = |other: &&Tool| {
        let same_runtime = is_named(&tool.runtime_id) && other.runtime_id == tool.runtime_id;
        other.source() == Some(ToolSource::Mcp)
            && (same_runtime || (tool.server().is_some() && other.server() == tool.server()))
    };
    let names = catalog.tools().iter().filter(is_of_server).filter_map(|other| other.mcp_tool_name.clone());
    names.filter(|name| !name.is_empty()).collect()
}

/// Lists the entries that a tool hides.
fn shadowed_rows(catalog: &Catalog, tool: &Tool) -> Vec<ShadowedRow> {
    let hidden = catalog.shadowed().iter().filter(|hidden| hidden.tool.id == tool.id);
    hidden.map(|hidden| ShadowedRow::from_tool(&hidden.tool)).collect()
}

/// Returns the remembered entries that a function accepts, and when they were discovered. An unreadable cache suggests
/// nothing. The entry that `connect` writes is left out, because it is Brigade itself.
fn suggestions(
    context: &WorkspaceContext,
    fits: impl Fn(&DiscoveredEntry) -> bool,
) -> (Vec<Suggestion>, Option<Timestamp>) {
    let Ok(Memory::Found(found)) = read_remembered(&*context.fs, &load::masks_of(context)) else {
        return (Vec::new(), None);
    };
    let is_own = |entry: &DiscoveredEntry| entry.registered_as.as_deref() == Some("brigade");
    let fitting = found.entries.iter().filter(|entry| !is_own(entry) && fits(entry));
    (fitting.map(Suggestion::from_entry).collect(), Some(found.made_at))
}

/// Returns the remembered entries that match, and when they were discovered.
pub fn discovered_entries(
    context: &WorkspaceContext,
    filter: &ListFilter,
) -> Result<(Vec<DiscoveredEntry>, Option<Timestamp>), Failure> {
    Ok(match read_remembered(&*context.fs, &load::masks_of(context))? {
        Memory::Found(mut found) => {
            found.entries.retain(|entry| filter.matches_discovered(entry));
            (found.entries, Some(found.made_at))
        }
        Memory::Nothing | Memory::Unfit(_) => (Vec::new(), None),
    })
}

/// Returns the problems of the whole catalog and of the cache of discovered entries.
pub(crate) fn notes_with_cache(context: &WorkspaceContext, catalog: &Catalog) -> Vec<String> {
    let mut notes = notes(catalog);
    match read_remembered(&*context.fs, &Masks::default()) {
        Ok(Memory::Unfit(why)) => {
            let then = match why {
                RememberedFileError::Damaged => "the next sync replaces it",
                RememberedFileError::Newer => "sync leaves it alone; use that version, or delete the file",
            };
            notes.push(format!("`{DISCOVERED}` is not used: {why}; {then}"));
        }
        Ok(Memory::Found(found)) => {
            let note = |what: String| format!("`{DISCOVERED}`: {what}; the next sync replaces them");
            notes.extend(found.says_left_out().map(note));
        }
        Ok(Memory::Nothing) | Err(_) => {}
    }
    notes
}

/// Returns the problems of the whole catalog and of entries in the user's file. Errors in the project's file are
/// reported elsewhere.
pub fn notes(catalog: &Catalog) -> Vec<String> {
    let is_of_file = |issue: &&ConfigIssue| {
        let is_unread = issue.severity == Severity::Error && issue.field.is_none();
        let is_newer = issue.field.as_deref() == Some("schema");
        // Entries under a misspelt header do not count as entries.
        let is_misspelt = issue.severity == Severity::Warning && issue.hint.is_some();
        issue.entry.is_none() && (is_unread || is_newer || is_misspelt)
    };
    let is_of_user_entry = |issue: &&ConfigIssue| issue.entry.is_some() && issue.severity == Severity::Error;
    let of_files = catalog.issues().iter().chain(catalog.user_issues()).filter(is_of_file);
    let issues = of_files.chain(catalog.user_issues().iter().filter(is_of_user_entry));
    // The steps for errors are reported elsewhere.
    let note = |issue: &ConfigIssue| {
        let hint = issue.hint.clone().filter(|_| issue.severity == Severity::Warning);
        ConfigIssue { hint, ..issue.clone() }.to_string()
    };
    issues.map(note).chain(notes_on_registries(catalog)).collect()
}

/// Says of each registry that is read in place that a person approves each call of its tools.
fn notes_on_registries(catalog: &Catalog) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for tool in catalog.tools().iter().filter(|tool| tool.origin.level.is_registry()) {
        *counts.entry(&tool.origin.place.file).or_default() += 1;
    }
    let note = |(file, count): (&str, usize)| {
        let file = escape_terminal(file);
        format!("{file} is read in place ({count} tools): a person approves each call of them")
    };
    counts.into_iter().map(note).collect()
}

fn stats_of(id: &str, receipts: &[&Receipt], tool: Option<&Tool>) -> ToolStats {
    // Installations are not runs of the tool, so they are counted separately.
    let (installations, receipts): (Vec<&Receipt>, Vec<&Receipt>) =
        receipts.iter().partition(|receipt| receipt.is_installation());
    let count = |status: RunStatus| receipts.iter().filter(|receipt| receipt.status == status).count() as u64;
    let mut durations: Vec<u64> = receipts.iter().filter_map(|receipt| milliseconds(receipt)).collect();
    durations.sort_unstable();
    let middle = durations.len() / 2;
    let median_ms = match durations.len() {
        0 => None,
        length if length % 2 == 1 => Some(durations[middle]),
        _ => Some(durations[middle - 1].midpoint(durations[middle])),
    };
    let started = || receipts.iter().filter_map(|receipt| receipt.started_at());
    let (failed, timed_out) = (count(RunStatus::Failed), count(RunStatus::TimedOut));
    let cost = tool.and_then(|tool| tool.cost.as_deref());
    let is_completed = |receipt: &&&Receipt| receipt.status == RunStatus::Completed;
    let installed = installations.iter().filter(is_completed).count();
    ToolStats {
        id: id.to_owned(),
        runs: receipts.len() as u64,
        completed: count(RunStatus::Completed),
        failed,
        timed_out,
        first_used: started().min(),
        last_used: started().max(),
        median_ms,
        max_ms: durations.last().copied(),
        failures: failed + timed_out + count(RunStatus::Interrupted),
        cost: cost
            .and_then(|cost| cost.per_call)
            .map(|per_call| round_amount(per_call * receipts.len() as f64)),
        cost_unit: tool.zip(cost).and_then(|(tool, cost)| Some(tool.masks.shown(cost.unit.as_deref()?))),
        installations: installed as u64,
        failed_installations: (installations.len() - installed) as u64,
    }
}

/// Rounds away errors of binary fractions: 3 times 0.002 is 0.006.
fn round_amount(amount: f64) -> f64 {
    let rounded = (amount * 1e9).round() / 1e9;
    if rounded.is_finite() { rounded } else { amount }
}

fn milliseconds(receipt: &Receipt) -> Option<u64> {
    let seconds = receipt.duration_seconds.as_ref()?.as_f64();
    (seconds.is_finite() && 0.0 <= seconds).then(|| (seconds * 1000.0).round() as u64)
}

#[cfg(test)]
mod tests;
