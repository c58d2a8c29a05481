//! Documents about finding tools.

use brigade_access::builtin::{ToolApproval, definition};
use brigade_catalog::{
    Availability, Family, FindQuery, Install, Level, Masks, MatchKind, OrBuiltin, Presence, Quantity, RunsIn,
    ServerTransport, Tool, ToolSource, ToolState,
};
use brigade_core::{Hint, Timestamp};
use brigade_harness::{DiscoveredEntry, EntrySource};
use brigade_macros::{document, part};
use brigade_policy::Blocker;
use brigade_workspace::ToolSummary;

/// Why a tool is in its state, or cannot be called.
#[part(PartialEq)]
pub struct StateReason {
    /// The code. Its meaning never changes.
    pub code: String,
    /// The sentence.
    pub message: String,
    /// What to do.
    pub hint: Option<Hint>,
}

impl StateReason {
    /// Creates a reason without a hint.
    pub fn new(code: &str, message: &str) -> StateReason {
        StateReason { code: code.to_owned(), message: message.to_owned(), hint: None }
    }

    /// Masks bound values in its texts.
    #[must_use]
    pub fn masked_by(self, masks: &Masks) -> StateReason {
        StateReason {
            code: self.code,
            message: masks.shown(&self.message),
            hint: self.hint.map(|hint| hint.map_texts(|text| masks.shown(text))),
        }
    }

    /// Returns the reasons for the state of a tool.
    pub fn all_of(presence: &Presence) -> Vec<StateReason> {
        let row = |reason: &brigade_catalog::Reason| StateReason {
            hint: reason.hint.clone(),
            ..StateReason::new(reason.code, &reason.message)
        };
        presence.reasons.iter().map(row).collect()
    }

    /// Appends the reasons against every call to the reasons for the state, without duplicates.
    fn together(state: Vec<StateReason>, refusals: Vec<StateReason>) -> Vec<StateReason> {
        let says_it = |known: &StateReason, other: &StateReason| {
            let of_plan = match known.code.as_str() {
                "program_missing" => "program_not_found",
                "script_missing" => "script_not_found",
                "missing_cwd" => "missing_cwd",
                _ => return known.message == other.message,
            };
            other.code == of_plan
        };
        let (mut reasons, mut others) = (state, Vec::new());
        for refusal in refusals {
            match reasons.iter_mut().find(|known| says_it(known, &refusal)) {
                Some(known) => known.hint = known.hint.take().or(refusal.hint),
                None => others.push(refusal),
            }
        }
        reasons.append(&mut others);
        reasons
    }
}

/// Spells the steps of hints as the user would type them.
pub(crate) fn spell_hints(reasons: &mut [StateReason], spell: impl Fn(Hint) -> Hint) {
    for reason in reasons {
        reason.hint = reason.hint.take().map(&spell);
    }
}

impl From<&Blocker> for StateReason {
    fn from(blocker: &Blocker) -> StateReason {
        StateReason { hint: blocker.hint.clone(), ..StateReason::new(&blocker.code, &blocker.message) }
    }
}

/// The origin of a tool, from `[tool.source]`.
#[part(PartialEq)]
pub struct SourceDetailRow {
    /// The kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolSource>,
    /// The harness that provides the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The MCP server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// How the MCP server is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<ServerTransport>,
    /// The id of the skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill_id: Option<String>,
    /// The file or function that the tool starts with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The file or directory of the definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The discovered definition that the entry was made from.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The fingerprint of that definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

/// How a tool is recognized and installed.
#[part(PartialEq)]
pub struct InstallRow {
    /// The command that succeeds if the tool is present.
    pub check: Option<String>,
    /// Alternative commands that install it.
    pub command: Vec<String>,
    /// The page of its documentation.
    pub docs: Option<String>,
}

impl InstallRow {
    /// Describes a `[tool.install]` table.
    pub fn from_install(install: &Install) -> InstallRow {
        InstallRow {
            check: install.check.clone(),
            command: install.command.clone(),
            docs: install.docs.clone(),
        }
    }
}

/// The declared cost of a call.
#[part(PartialEq)]
pub struct CostRow {
    /// The amount for one call.
    pub per_call: Option<f64>,
    /// The unit of the amount.
    pub unit: Option<String>,
}

/// An entry that is hidden by another entry with its id.
#[part(PartialEq, Eq)]
pub struct ShadowedRow {
    /// The level.
    pub level: OrBuiltin<Level>,
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: Option<usize>,
}

/// A tool with its registry fields and its state.
#[part]
pub struct ShownTool {
    /// The row in lists.
    #[serde(flatten)]
    pub summary: ToolSummary,
    /// The level of its file: `project` or `user`.
    pub level: OrBuiltin<Level>,
    /// Where it comes from: `script`, `cli`, `mcp`, `skill` or `harness`; `null` for other families.
    pub source: Option<OrBuiltin<ToolSource>>,
    /// Where it comes from, in detail.
    pub source_detail: Option<SourceDetailRow>,
    /// Other names.
    pub aliases: Vec<String>,
    /// Its subjects.
    pub categories: Vec<String>,
    /// Its capabilities.
    pub capabilities: Vec<String>,
    /// Whether it is expected to be present.
    pub availability: Option<Availability>,
    /// The default approval of a built-in tool; absent for other tools. Profiles and the policy can only make it
    /// stricter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ToolApproval>,
    /// Whether it is present.
    pub state: ToolState,
    /// Why it is not available.
    pub reasons: Vec<StateReason>,
    /// The accepted versions.
    pub version: Option<String>,
    /// How it is installed.
    pub install: Option<InstallRow>,
    /// The cost of a call.
    pub cost: Option<CostRow>,
    /// Names of the imported tools of its server.
    pub suggested_capabilities: Vec<String>,
    /// Entries that this one hides.
    pub shadowed: Vec<ShadowedRow>,
}

impl ShownTool {
    /// Describes a tool.
    pub fn new(
        tool: &Tool,
        summary: ToolSummary,
        presence: &Presence,
        suggested_capabilities: Vec<String>,
        shadowed: Vec<ShadowedRow>,
    ) -> ShownTool {
        let tool = &*tool.shown();
        ShownTool {
            summary,
            level: tool.reported_level(),
            source: tool.reported_source(),
            source_detail: tool.source.as_deref().map(|source| SourceDetailRow {
                kind: source.kind,
                provider: source.provider.clone(),
                server: source.server.clone(),
                transport: source.transport,
                skill_id: source.skill_id.clone(),
                entry: source.entry.clone(),
                path: source.path.clone(),
                reference: source.reference.clone(),
                fingerprint: source.fingerprint.clone(),
            }),
            aliases: tool.aliases.clone(),
            categories: texts(tool.all_categories()),
            capabilities: texts(tool.all_capabilities()),
            availability: tool.availability,
            approval: definition(tool.id.as_str()).filter(|_| tool.is_built_in()).map(|row| row.approval),
            state: presence.state,
            reasons: StateReason::all_of(presence),
            version: tool.version.as_ref().map(|version| tool.masks.shown(version.as_str())),
            install: tool.install.as_deref().map(InstallRow::from_install),
            cost: tool
                .cost
                .as_deref()
                .map(|cost| CostRow { per_call: cost.per_call, unit: cost.unit.clone() }),
            suggested_capabilities,
            shadowed,
        }
    }
}

fn texts(labels: Vec<&str>) -> Vec<String> {
    labels.into_iter().map(str::to_owned).collect()
}

/// A discovered entry that matches. It can be registered, but not called.
#[part(PartialEq)]
pub struct Suggestion {
    /// The id: `mcp:NAME`, `skill:NAME` or `harness:HARNESS.TOOL`.
    pub id: String,
    /// The name.
    pub name: String,
    /// Where it comes from.
    pub source: EntrySource,
    /// The description.
    pub description: String,
    /// The harnesses that have it.
    pub harnesses: Vec<String>,
}

impl Suggestion {
    /// Suggests a discovered entry.
    pub fn from_entry(entry: &DiscoveredEntry) -> Suggestion {
        let mut harnesses: Vec<String> = entry.origins.iter().map(|origin| origin.harness.clone()).collect();
        harnesses.dedup();
        Suggestion {
            id: entry.id.clone(),
            name: entry.name.clone(),
            source: entry.source,
            description: entry.description.clone().unwrap_or_default(),
            harnesses,
        }
    }
}

impl ShadowedRow {
    /// Describes a hidden entry.
    pub fn from_tool(tool: &Tool) -> ShadowedRow {
        ShadowedRow {
            level: tool.reported_level(),
            file: tool.origin.place.file.clone(),
            line: tool.origin.place.line,
        }
    }
}

/// The query.
#[part(PartialEq, Eq)]
pub struct FindQueryRow {
    /// The words, if some were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// The capabilities.
    pub capabilities: Vec<String>,
    /// The categories.
    pub categories: Vec<String>,
    /// The sources.
    pub sources: Vec<ToolSource>,
    /// The families, if some were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub families: Vec<Family>,
    /// Whether a tool needs one of the capabilities or all.
    pub r#match: Quantity,
    /// Whether only present tools were requested.
    pub available: bool,
    /// The source that is listed first.
    pub prefer_source: Option<ToolSource>,
    /// The maximum number of matches.
    pub limit: Option<usize>,
}

impl From<&FindQuery> for FindQueryRow {
    fn from(query: &FindQuery) -> FindQueryRow {
        FindQueryRow {
            words: Some(query.words.clone()).filter(|words| !words.is_empty()),
            capabilities: query.capabilities.clone(),
            categories: query.categories.clone(),
            sources: query.sources.clone(),
            families: query.families.clone(),
            r#match: query.quantity,
            available: query.available,
            prefer_source: query.prefer_source,
            limit: query.limit,
        }
    }
}

/// A tool that matches.
#[part(PartialEq)]
pub struct FindMatch {
    /// The id.
    pub id: String,
    /// The display name.
    pub name: String,
    /// The family.
    pub family: Option<Family>,
    /// Where it comes from.
    pub source: Option<OrBuiltin<ToolSource>>,
    /// The level of its file.
    pub level: OrBuiltin<Level>,
    /// The description.
    pub description: String,
    /// Its subjects.
    pub categories: Vec<String>,
    /// Its capabilities.
    pub capabilities: Vec<String>,
    /// The capabilities of the query that it has.
    pub matched: Vec<String>,
    /// The capabilities of the query that it does not state, and that words of its name, description and successful
    /// runs suggest.
    #[serde(default)]
    pub inferred: Vec<String>,
    /// The capabilities of the query that it lacks.
    pub unmatched: Vec<String>,
    /// Whether no blocker applies to every call, whatever its arguments. A call still needs approval.
    pub callable: bool,
    /// The program that runs it, if any.
    pub runs_in: Option<RunsIn>,
    /// Whether it is present.
    pub state: ToolState,
    /// Why it is not available, or not callable.
    pub reasons: Vec<StateReason>,
}

impl FindMatch {
    /// Describes a tool that matches. `refusals` are the reasons against every call of it.
    pub fn new(
        candidate: brigade_catalog::Candidate<'_>,
        presence: &Presence,
        refusals: Vec<StateReason>,
    ) -> FindMatch {
        let tool = &*candidate.tool.shown();
        let callable = refusals.is_empty();
        let reasons = StateReason::together(StateReason::all_of(presence), refusals);
        FindMatch {
            id: tool.id.to_string(),
            name: tool.name.clone(),
            family: tool.family,
            source: tool.reported_source(),
            level: tool.reported_level(),
            description: tool.description.clone().unwrap_or_default(),
            categories: texts(tool.all_categories()),
            capabilities: texts(tool.all_capabilities()),
            matched: candidate.matched,
            inferred: candidate.inferred,
            unmatched: candidate.unmatched,
            callable,
            runs_in: tool.runs_in(),
            state: presence.state,
            reasons,
        }
    }
}

/// `tools find`.
#[document("brigade.tool-find.v1", if !self.matches.is_empty())]
pub struct FindReport {
    /// The workspace root.
    pub target: String,
    /// The query.
    pub query: FindQueryRow,
    /// The matching tools, best first.
    pub matches: Vec<FindMatch>,
    /// Number of entries.
    pub match_count: usize,
    /// Discovered entries whose name or description matches.
    pub suggestions: Vec<Suggestion>,
    /// Number of entries.
    pub suggestion_count: usize,
    /// When they were discovered; `null` without a cache.
    pub discovered_at: Option<Timestamp>,
    /// Capabilities of the query that no tool has.
    pub gaps: Vec<String>,
    /// Notes on parts that could not be read or understood.
    pub notes: Vec<String>,
}

/// A tool that matches a text.
#[part]
pub struct SearchMatch {
    /// The tool.
    #[serde(flatten)]
    pub tool: ToolSummary,
    /// How it matches.
    pub r#match: MatchKind,
    /// The score, from 0 to 1.
    pub score: f64,
}

impl SearchMatch {
    /// Describes how a tool matches.
    pub fn new(tool: ToolSummary, kind: MatchKind, score: f64) -> SearchMatch {
        SearchMatch { tool, r#match: kind, score }
    }
}

/// `tools search`.
#[document("brigade.tool-search.v1")]
pub struct SearchReport {
    /// The workspace root.
    pub target: String,
    /// The searched text.
    pub query: String,
    /// Enabled tools that match, best first.
    pub matches: Vec<SearchMatch>,
    /// Number of entries.
    pub match_count: usize,
    /// Discovered entries that match.
    pub suggestions: Vec<Suggestion>,
    /// Number of entries.
    pub suggestion_count: usize,
    /// When they were discovered; `null` without a cache.
    pub discovered_at: Option<Timestamp>,
    /// Notes on parts that could not be read or understood.
    pub notes: Vec<String>,
}

/// The runs of a tool, counted from its receipts.
#[part(PartialEq)]
pub struct ToolStats {
    /// The tool.
    pub id: String,
    /// Number of receipts, without those of installations.
    pub runs: u64,
    /// Runs that completed.
    pub completed: u64,
    /// Runs that failed.
    pub failed: u64,
    /// Runs that were ended at their timeout.
    pub timed_out: u64,
    /// When the first run started.
    pub first_used: Option<Timestamp>,
    /// When the last run started.
    pub last_used: Option<Timestamp>,
    /// The median of their durations, in milliseconds.
    pub median_ms: Option<u64>,
    /// The longest duration, in milliseconds.
    pub max_ms: Option<u64>,
    /// Runs that failed, timed out or were interrupted.
    pub failures: u64,
    /// The cost of the runs by the amount that the entry declares now; `null` without one.
    pub cost: Option<f64>,
    /// The unit of the cost.
    pub cost_unit: Option<String>,
    /// Installations of the tool that completed. They do not count as runs.
    #[serde(default)]
    pub installations: u64,
    /// Installations of the tool that did not complete, or left it missing.
    #[serde(default)]
    pub failed_installations: u64,
}

/// `tools stats`.
#[document("brigade.tool-stats.v1")]
pub struct StatsReport {
    /// The workspace root.
    pub target: String,
    /// The tools that have run or were installed, by id.
    pub tools: Vec<ToolStats>,
    /// Number of entries.
    pub tool_count: usize,
    /// Unreadable receipts, which are not counted.
    pub unreadable_count: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(code: &str, message: &str, hint: Option<&str>) -> StateReason {
        StateReason { hint: hint.map(|hint| Hint::from(hint.to_owned())), ..StateReason::new(code, message) }
    }

    /// Puts one reason for the state and one against every call together.
    #[track_caller]
    fn check(state: &StateReason, refusal: &StateReason, expect: &[&StateReason]) {
        let together = StateReason::together(vec![state.clone()], vec![refusal.clone()]);
        assert_eq!(together.iter().collect::<Vec<_>>(), expect);
    }

    #[test]
    fn one_cause_is_said_once_by_plan_and_state() {
        let missing = reason("program_missing", "jq is missing", None);
        let not_found = reason("program_not_found", "`jq` is not on PATH", Some("install jq"));
        check(&missing, &not_found, &[&reason("program_missing", "jq is missing", Some("install jq"))]);
        let other = reason("policy_family", "not allowed", None);
        check(&missing, &other, &[&missing, &other]);
        // The same sentence is the same reason, whatever its code is.
        let same = reason("x", "not allowed", Some("h"));
        check(&same, &other, &[&same]);
        let cwd = reason("missing_cwd", "a", None);
        check(&cwd, &reason("missing_cwd", "b", None), &[&cwd]);
        let script = reason("script_missing", "a", None);
        check(&script, &reason("script_not_found", "b", None), &[&script]);
        check(&script, &not_found, &[&script, &not_found]);
    }

    #[test]
    fn a_query_without_words_has_none() {
        let row = FindQueryRow::from(&FindQuery::default());
        assert_eq!((row.words, row.limit), (None, FindQuery::default().limit));
        let words = FindQuery { words: "json".to_owned(), ..FindQuery::default() };
        assert_eq!(FindQueryRow::from(&words).words.as_deref(), Some("json"));
    }
}
