//! Searches tools by words.

use crate::model::{Catalog, Tool, fold, label_key};
use brigade_core::words;

words! {
    /// How a tool matches a text.
    MatchKind {
        /// The text is its id or one of its aliases.
        Exact = "exact",
        /// The text is a part of its id, name, family, description, aliases, categories or capabilities. `_`, `-` and
        /// spaces are equal.
        Phrase = "phrase",
        /// More than half of the words of the text occur there, in any order.
        Words = "words",
    }
}

/// A tool that matches a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match<'c> {
    /// The tool.
    pub tool: &'c Tool,
    /// How it matches.
    pub kind: MatchKind,
    /// The score, from 0 to 1.
    pub score: f64,
}

/// The score of a text that is found as a whole.
const PHRASE: f64 = 0.9;
/// The score of a text whose words are all found separately.
const ALL_WORDS: f64 = 0.8;

/// A text that is searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchText {
    phrase: String,
    /// The text in the form in which labels are compared.
    label: String,
    words: Vec<String>,
}

impl SearchText {
    /// Prepares a text. An empty one matches nothing.
    pub fn new(text: &str) -> SearchText {
        let phrase = fold(text.trim());
        let mut words: Vec<String> = split(&phrase).map(str::to_owned).collect();
        words.sort();
        words.dedup();
        SearchText { label: label_key(&phrase).trim().to_owned(), phrase, words }
    }

    /// Compares one thing with this text: `names` are its names, and `texts` describe it.
    pub fn compare<'t>(
        &self,
        names: impl IntoIterator<Item = &'t str>,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Option<(MatchKind, f64)> {
        if self.phrase.is_empty() {
            return None;
        }
        let mut all = String::new();
        for name in names {
            if fold(name.trim()) == self.phrase {
                return Some((MatchKind::Exact, 1.0));
            }
            all.push_str(name);
            all.push(' ');
        }
        let texts: Vec<&str> = texts.into_iter().collect();
        all.push_str(&texts.join(" "));
        let all = fold(&all);
        let is_label = || !self.label.is_empty() && label_key(&all).contains(&self.label);
        if all.contains(&self.phrase) || is_label() {
            return Some((MatchKind::Phrase, PHRASE));
        }
        let found = self.words.iter().filter(|word| all.contains(word.as_str())).count();
        let is_most = self.words.len() < 2 * found;
        // Rounds to two digits.
        let share = ALL_WORDS * found as f64 / self.words.len().max(1) as f64;
        is_most.then(|| (MatchKind::Words, (share * 100.0).round() / 100.0))
    }

    /// Compares a tool with this text.
    pub fn matches(&self, tool: &Tool) -> Option<(MatchKind, f64)> {
        if self.is(tool.id.as_str()) || tool.aliases.iter().any(|alias| self.is(alias)) {
            return Some((MatchKind::Exact, 1.0));
        }
        let family = tool.family.map_or("", |family| family.as_str());
        let description = tool.description.as_deref().unwrap_or("");
        // The same texts as in v0.30, in the same order and joined by one space.
        let first = [tool.id.as_str(), &tool.name, family, description];
        let lists = [&tool.aliases, &tool.categories, &tool.capabilities, &tool.capability];
        let more = lists.into_iter().flatten().chain(&tool.domain).chain(&tool.mcp_tool_name);
        self.compare([], first.into_iter().chain(more.map(String::as_str)))
    }
}

/// Splits a text into its words: `query_database` has two.
fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || matches!(c, '_' | '-' | ',' | ';'))
        .filter(|word| !word.is_empty())
}

impl Catalog {
    /// Returns the tools that match a text, best first, and in file order among equals.
    ///
    /// Case is ignored. An empty text finds nothing.
    pub fn search(&self, text: &str) -> Vec<Match<'_>> {
        search(self.tools(), text)
    }
}

/// Returns the tools that match a text, as [`Catalog::search`] does.
pub fn search<'c>(tools: impl IntoIterator<Item = &'c Tool>, text: &str) -> Vec<Match<'c>> {
    let text = SearchText::new(text);
    let mut found: Vec<Match<'c>> = tools
        .into_iter()
        .filter_map(|tool| text.matches(tool).map(|(kind, score)| Match { tool, kind, score }))
        .collect();
    // Stable, so equals stay in file order.
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    found
}
impl SearchText {
    /// Returns whether the text is exactly this name, ignoring case.
    fn is(&self, name: &str) -> bool {
        !self.phrase.is_empty() && fold(name) == self.phrase
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Family;

    fn catalog() -> Catalog {
        let tool = |id: &str, name: &str, description: &str| Tool {
            name: name.to_owned(),
            description: Some(description.to_owned()),
            ..Tool::new(id, Family::SlashCommand).unwrap()
        };
        let last = Tool {
            aliases: vec!["pg".to_owned()],
            capabilities: vec!["query_database".to_owned()],
            ..tool("postgres", "Postgres", "Reads rows")
        };
        Catalog::new(
            vec![
                tool("b", "Straße", "Last one"),
                tool("a", "First", "Übung"),
                tool("b", "Again", ""),
                last,
                tool("rows", "Rows", "Counts rows of a database"),
            ],
            vec![],
        )
    }

    #[track_caller]
    fn check(query: &str, expect: &[&str]) {
        let catalog = catalog();
        let names: Vec<_> = catalog.search(query).into_iter().map(|found| found.tool.name.as_str()).collect();
        assert_eq!(names, expect, "{query}");
    }

    #[test]
    fn search_ignores_case_in_all_fields() {
        check("STRASSE", &["Straße"]);
        check("übUNG", &["First"]);
        check("slash-", &["Straße", "First", "Again", "Postgres", "Rows"]);
        check("first slash", &["First"]);
        check("a first", &["First"]);
        check("nothing", &[]);
        check("", &[]);
        check("  ", &[]);
    }

    #[test]
    fn words_may_stand_apart_and_in_any_order() {
        check("query database", &["Postgres"]);
        check("database query", &["Postgres"]);
        check("rows reads fly", &["Postgres"]);
        check("rows fly", &[]);
        check("rows", &["Rows", "Postgres"]);
        let catalog = catalog();
        let best = |text: &str| {
            let found = catalog.search(text)[0];
            (found.kind, found.score)
        };
        assert_eq!(best("PG"), (MatchKind::Exact, 1.0));
        assert_eq!(best("query_data"), (MatchKind::Phrase, 0.9));
        assert_eq!(best("query database"), (MatchKind::Phrase, 0.9));
        assert_eq!(best("Query-Data"), (MatchKind::Phrase, 0.9));
        assert_eq!(best("database query"), (MatchKind::Words, 0.8));
        assert_eq!(catalog.search("-_ ").len(), 0);
        assert_eq!(best("rows reads fly"), (MatchKind::Words, 0.53));
    }
}
