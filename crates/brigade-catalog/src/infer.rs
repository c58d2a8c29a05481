//! Infers capabilities that a tool does not state, from words about it.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Tool, fold};

/// Words that say nothing about a capability.
const FILLERS: [&str; 12] =
    ["and", "any", "for", "from", "into", "its", "that", "the", "this", "tool", "use", "with"];

/// The shortest word that counts.
const MIN_WORD_CHARS: usize = 3;

/// The longest text of a use that is read.
const MAX_TEXT_CHARS: usize = 200;

/// The words of successful uses of tools, by their ids.
#[derive(Clone, Debug, Default)]
pub struct UsedWords(BTreeMap<String, BTreeSet<String>>);

impl UsedWords {
    /// Adds a text of a successful use of a tool. Long texts are data, and are left out.
    pub fn add(&mut self, tool: &str, text: &str) {
        if text.len() <= MAX_TEXT_CHARS {
            self.0.entry(tool.to_owned()).or_default().extend(words(text));
        }
    }

    /// Returns whether all words of a capability occur in name, id and description of a tool, or in its uses.
    pub(crate) fn suggest(&self, tool: &Tool, capability: &str) -> bool {
        let description = tool.description.as_deref().unwrap_or_default();
        let own: BTreeSet<String> =
            [tool.id.as_str(), &tool.name, description].into_iter().flat_map(words).collect();
        let used = self.0.get(tool.id.as_str());
        let is_known = |word: &String| own.contains(word) || used.is_some_and(|used| used.contains(word));
        let asked: Vec<String> = words(capability).collect();
        !asked.is_empty() && asked.iter().all(is_known)
    }
}

/// Returns the words of a text that may name a capability, in the singular.
fn words(text: &str) -> impl Iterator<Item = String> {
    let text = fold(text);
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| MIN_WORD_CHARS <= word.chars().count() && !FILLERS.contains(word))
        .map(|word| match word.strip_suffix('s') {
            Some(one) if !one.ends_with('s') && MIN_WORD_CHARS <= one.chars().count() => one.to_owned(),
            _ => word.to_owned(),
        })
        .collect();
    words.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Family;

    #[test]
    fn words_of_the_entry_and_of_uses_suggest_capabilities() {
        let tool = Tool {
            description: Some("Parses JSON, and filters it".to_owned()),
            ..Tool::new("jq", Family::Script).unwrap()
        };
        let mut used = UsedWords::default();
        let check = |used: &UsedWords, capability: &str| used.suggest(&tool, capability);
        assert!(check(&used, "filters_json") && check(&used, "filter JSON"));
        assert!(!check(&used, "sort json") && !check(&used, "") && !check(&used, "the"));
        used.add("jq", "sort .keys");
        used.add("jq", &"sum ".repeat(100));
        assert!(check(&used, "sort json") && !check(&used, "sum json"));
    }
}
