//! Finds tools by capabilities, categories and sources.
//!
//! [`candidates`] compares entries with a query. The caller checks whether the candidates are installed, and [`rank`]
//! orders them.

use brigade_core::words;
use std::cmp::{Ordering, Reverse};

use crate::infer::UsedWords;
use crate::model::{Family, Tool, ToolSource, label_key};
use crate::presence::{Presence, RunsIn, ToolState};
use crate::search::SearchText;

/// A query for tools. An empty list is not a condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindQuery {
    /// Words that a tool has in its texts, as in a search.
    pub words: String,
    /// Capabilities, of which a tool has any or all.
    pub capabilities: Vec<String>,
    /// Categories, of which a tool has any.
    pub categories: Vec<String>,
    /// Sources, of which a tool has one.
    pub sources: Vec<ToolSource>,
    /// Families, of which a tool has one.
    pub families: Vec<Family>,
    /// Whether a tool needs one of the capabilities or all of them.
    pub quantity: Quantity,
    /// Whether only available tools are returned.
    pub available: bool,
    /// The source that is ranked first. Tools of other sources stay.
    pub prefer_source: Option<ToolSource>,
    /// The maximum number of matches.
    pub limit: Option<usize>,
}

words! {
    /// How many of the capabilities a tool needs.
    #[derive(Default)]
    Quantity {
        /// At least one.
        #[default]
        Any = "any",
        /// All of them.
        All = "all",
    }
}

/// Whether tools are included that only a harness can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HarnessTools {
    /// They are included.
    Offered,
    /// They are left out.
    LeftOut,
}

/// A tool that matches, with the capabilities of the query that it has and lacks.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate<'c> {
    /// The tool.
    pub tool: &'c Tool,
    /// The capabilities that it has, as in the query.
    pub matched: Vec<String>,
    /// The capabilities that it does not state and that words about it suggest, as in the query.
    pub inferred: Vec<String>,
    /// The capabilities that it lacks, as in the query.
    pub unmatched: Vec<String>,
}

/// Returns the matching enabled tools without errors, in the given order. A capability that a tool does not state
/// counts as inferred if words about the tool suggest it.
pub fn candidates<'c>(
    tools: impl IntoIterator<Item = &'c Tool>,
    query: &FindQuery,
    harness_tools: HarnessTools,
    used: &UsedWords,
) -> Vec<Candidate<'c>> {
    let keys = |labels: &[String]| labels.iter().map(|label| label_key(label)).collect::<Vec<_>>();
    let (capabilities, categories) = (keys(&query.capabilities), keys(&query.categories));
    let words = SearchText::new(&query.words);
    let fits = |tool: &'c Tool| -> Option<Candidate<'c>> {
        if !is_usable(tool) {
            return None;
        }
        if !query.words.trim().is_empty() && words.matches(tool).is_none() {
            return None;
        }
        let source = tool.source();
        if !query.sources.is_empty() && !source.is_some_and(|source| query.sources.contains(&source)) {
            return None;
        }
        let has_family = || tool.family.is_some_and(|family| query.families.contains(&family));
        if !query.families.is_empty() && !has_family() {
            return None;
        }
        if harness_tools == HarnessTools::LeftOut && tool.runs_in() == Some(RunsIn::Harness) {
            return None;
        }
        if !categories.is_empty() && !has_any(&tool.all_categories(), &categories) {
            return None;
        }
        let (mut matched, mut inferred, mut unmatched) = (Vec::new(), Vec::new(), Vec::new());
        if !capabilities.is_empty() {
            let own: Vec<String> = tool.all_capabilities().into_iter().map(label_key).collect();
            for (asked, key) in query.capabilities.iter().zip(&capabilities) {
                let found = match own.contains(key) {
                    true => &mut matched,
                    false if used.suggest(tool, asked) => &mut inferred,
                    false => &mut unmatched,
                };
                found.push(asked.clone());
            }
            let is_enough = match query.quantity {
                Quantity::Any => !matched.is_empty() || !inferred.is_empty(),
                Quantity::All => unmatched.is_empty(),
            };
            if !is_enough {
                return None;
            }
        }
        Some(Candidate { tool, matched, inferred, unmatched })
    };
    tools.into_iter().filter_map(fits).collect()
}

/// Returns the capabilities of the query that no enabled tool without errors has, as in the query.
pub fn gaps<'c>(tools: impl IntoIterator<Item = &'c Tool>, query: &FindQuery) -> Vec<String> {
    let mut missing: Vec<(&String, String)> =
        query.capabilities.iter().map(|label| (label, label_key(label))).collect();
    for tool in tools.into_iter().filter(|tool| is_usable(tool)) {
        if missing.is_empty() {
            break;
        }
        for label in tool.capabilities.iter().chain(&tool.capability) {
            let key = label_key(label);
            missing.retain(|(_, asked)| *asked != key);
        }
    }
    missing.into_iter().map(|(label, _)| label.clone()).collect()
}

/// Orders candidates: the preferred source first, then by number of stated and of inferred capabilities, tools that
/// Brigade runs before tools of a harness, available tools first, the project before the user, and by id. Leaves out
/// unavailable tools if the query says so.
pub fn rank<'c>(found: Vec<(Candidate<'c>, Presence)>, query: &FindQuery) -> Vec<(Candidate<'c>, Presence)> {
    let mut found = found;
    found.retain(|(_, presence)| !query.available || presence.state == ToolState::Available);
    found.sort_by(|(a, of_a), (b, of_b)| {
        let key = |candidate: &Candidate<'_>, presence: &Presence| {
            let tool = candidate.tool;
            let preferred = query.prefer_source.is_some() && tool.source() == query.prefer_source;
            let runs_in = match tool.runs_in() {
                Some(RunsIn::Brigade) => 0,
                Some(RunsIn::Harness) => 1,
                None => 2,
            };
            let is_there = presence.state == ToolState::Available;
            (
                Reverse(preferred),
                Reverse(candidate.matched.len()),
                Reverse(candidate.inferred.len()),
                runs_in,
                Reverse(is_there),
                tool.origin.level,
            )
        };
        let by_rank: Ordering = key(a, of_a).cmp(&key(b, of_b));
        by_rank.then_with(|| a.tool.id.cmp(&b.tool.id))
    });
    found.truncate(query.limit.unwrap_or(usize::MAX));
    found
}

/// Returns whether a tool has one of these labels. `keys` are in the form of [`label_key`].
pub(crate) fn has_any(labels: &[&str], keys: &[String]) -> bool {
    labels.iter().any(|label| keys.contains(&label_key(label)))
}

fn is_usable(tool: &Tool) -> bool {
    tool.enabled && !tool.is_broken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalog, Level};

    const TOOLS: &str = "
        [[tool]]
        id = 'z'
        name = 'Z'
        family = 'script'
        capabilities = ['parse_yaml', 'convert yaml']
        categories = ['data']
        [[tool]]
        id = 'a'
        name = 'A'
        family = 'skill'
        capability = ['Parse YAML']
        [[tool]]
        id = 'h'
        name = 'H'
        family = 'custom'
        capabilities = ['parse-yaml', 'web']
        source = { kind = 'harness' }
        [[tool]]
        id = 'c'
        name = 'C'
        family = 'script'
        capabilities = ['parse yaml']
        domain = 'Data'
        source = { kind = 'cli' }
        [[tool]]
        id = 'off'
        name = 'Off'
        family = 'script'
        enabled = false
        capabilities = ['parse yaml', 'secret']
        [[tool]]
        id = 'broken'
        name = 'Broken'
        family = 'script'
        timeout = 0
        capabilities = ['parse yaml']
    ";

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// Finds ids; tools in `there` are available.
    #[track_caller]
    fn check(query: FindQuery, there: &[&str], expect: &[&str]) {
        let catalog = Catalog::parse("t", Level::Project, TOOLS.as_bytes());
        let found = candidates(catalog.tools(), &query, HarnessTools::Offered, &UsedWords::default());
        let found = found
            .into_iter()
            .map(|candidate| {
                let is_there = there.contains(&candidate.tool.id.as_str());
                let state = if is_there { ToolState::Available } else { ToolState::Missing };
                (candidate, Presence { state, ..Presence::unknown() })
            })
            .collect();
        let ids: Vec<String> =
            rank(found, &query).into_iter().map(|(found, _)| found.tool.id.to_string()).collect();
        assert_eq!(ids, expect, "{query:?}");
    }

    fn asked(capabilities: &[&str]) -> FindQuery {
        FindQuery { capabilities: words(capabilities), ..FindQuery::default() }
    }

    #[test]
    fn capabilities_are_compared_as_labels() {
        check(asked(&["PARSE_yaml"]), &[], &["c", "z", "a", "h"]);
        check(asked(&["parse yaml", "convert-yaml"]), &[], &["z", "c", "a", "h"]);
        check(FindQuery { quantity: Quantity::All, ..asked(&["parse yaml", "convert-yaml"]) }, &[], &["z"]);
        check(asked(&["nothing"]), &[], &[]);
    }

    #[test]
    fn categories_and_sources_must_hold_too() {
        check(FindQuery { categories: words(&["data", "x"]), ..FindQuery::default() }, &[], &["c", "z"]);
        check(FindQuery { categories: words(&["data"]), ..asked(&["convert yaml"]) }, &[], &["z"]);
        let sources = vec![ToolSource::Cli, ToolSource::Skill];
        check(FindQuery { sources, ..asked(&["parse yaml"]) }, &[], &["c", "a"]);
    }

    #[test]
    fn a_preference_sorts_and_leaves_nothing_out() {
        let prefer_source = Some(ToolSource::Harness);
        check(FindQuery { prefer_source, ..asked(&["parse yaml"]) }, &[], &["h", "c", "z", "a"]);
        check(FindQuery { limit: Some(2), ..asked(&["parse yaml"]) }, &["a", "z"], &["z", "c"]);
        check(FindQuery { available: true, ..asked(&["parse yaml"]) }, &["a", "z"], &["z", "a"]);
    }

    #[test]
    fn tools_of_harnesses_may_be_left_out() {
        let catalog = Catalog::parse("t", Level::Project, TOOLS.as_bytes());
        let found =
            candidates(catalog.tools(), &asked(&["web"]), HarnessTools::LeftOut, &UsedWords::default());
        assert!(found.is_empty());
        // Harnesses run skills, too.
        let found = candidates(
            catalog.tools(),
            &asked(&["parse yaml"]),
            HarnessTools::LeftOut,
            &UsedWords::default(),
        );
        let ids: Vec<&str> = found.iter().map(|found| found.tool.id.as_str()).collect();
        assert_eq!(ids, ["z", "c"]);
    }

    #[test]
    fn a_gap_is_what_no_usable_tool_has() {
        let catalog = Catalog::parse("t", Level::Project, TOOLS.as_bytes());
        assert_eq!(gaps(catalog.tools(), &asked(&["WEB", "fly", "secret"])), ["fly", "secret"]);
    }
}
