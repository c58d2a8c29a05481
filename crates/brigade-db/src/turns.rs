//! Turns of agents, and which of them require a memory search first.

use brigade_core::{Timestamp, words};
use rusqlite::{OptionalExtension as _, params};

use crate::error::StoreError;
use crate::store::{Store, time};

words! {
    /// Whether a turn needs a search of the memory.
    TurnClass {
        /// No search is needed.
        None = "none",
        /// A search may help.
        Soft = "soft",
        /// A search is required before anything is changed.
        Required = "required",
    }
}

/// The current turn of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Turn {
    /// Its number, from 1.
    pub number: i64,
    /// Whether it needs a search.
    pub class: TurnClass,
    /// Whether the memory was searched in this turn.
    pub searched: bool,
    /// When it began.
    pub begun_at: Timestamp,
}

impl Turn {
    /// Returns whether changes are refused until the memory is searched.
    pub fn needs_search(&self) -> bool {
        self.class == TurnClass::Required && !self.searched
    }
}

/// Words that mean "without what follows".
const EXCLUDING_WORDS: &[&str] = &["without", "ignore", "ignoring", "skip", "skipping"];

/// Verbs for using the memory. `not` and `never` forbid them.
const USES: &[&str] = &[
    "ask",
    "asking",
    "call",
    "calling",
    "check",
    "checking",
    "consult",
    "consulting",
    "look",
    "looking",
    "query",
    "querying",
    "read",
    "reading",
    "search",
    "searching",
    "touch",
    "use",
    "using",
];

/// Words that may precede the word for the memory.
const WORDS_BEFORE: &[&str] =
    &["the", "any", "your", "its", "project", "stored", "in", "into", "at", "through"];

/// Words that may follow it. Any other word means a different memory: `without memory leaks`.
const WORDS_AFTER: &[&str] = &[
    "and", "at", "because", "before", "but", "first", "for", "here", "in", "just", "now", "or", "please",
    "search", "searches", "since", "then", "this", "today", "tool", "tools", "when",
];

/// Phrases that refer to earlier decisions or lessons.
const EARLIER_WORK_WORDS: &[&str] = &[
    "remember",
    "as before",
    "last time",
    "previously",
    "as we decided",
    "we decided",
    "we agreed",
    "as usual",
    "our usual",
    "like we did",
    "the way we",
    "convention",
    "our rules",
];

/// Words that ask for a change.
const CHANGES: &[&str] = &[
    "add",
    "adapt",
    "build",
    "change",
    "clean",
    "convert",
    "create",
    "debug",
    "delete",
    "deploy",
    "edit",
    "extend",
    "extract",
    "fix",
    "generate",
    "implement",
    "improve",
    "install",
    "integrate",
    "introduce",
    "make",
    "merge",
    "migrate",
    "move",
    "optimise",
    "optimize",
    "port",
    "refactor",
    "release",
    "remove",
    "rename",
    "replace",
    "restructure",
    "rewrite",
    "set",
    "solve",
    "split",
    "update",
    "upgrade",
    "wire",
    "write",
];

/// Words that ask for an explanation.
const QUESTIONS: &[&str] = &[
    "analyse",
    "analyze",
    "check",
    "compare",
    "describe",
    "explain",
    "find",
    "how",
    "investigate",
    "list",
    "look",
    "plan",
    "read",
    "review",
    "search",
    "show",
    "summarise",
    "summarize",
    "what",
    "when",
    "where",
    "which",
    "who",
    "why",
];

/// Turns with so few words are too short to need a search, unless they ask for a change.
const SHORT_TURN_WORDS: usize = 2;

/// Decides from the text of a turn whether it needs a memory search. The first matching rule decides:
///
/// | class | the text |
/// | --- | --- |
/// | none | is empty, a command of the harness (`/…`), or says to ignore the memory |
/// | required | refers to earlier decisions |
/// | required | asks for a change in its first sentence, or begins another sentence with a verb of change |
/// | soft | asks a question or for an explanation |
/// | none | has at most two words |
/// | soft | is anything else |
pub fn classify(text: &str) -> TurnClass {
    let text = text.trim().to_lowercase();
    let words: Vec<&str> = split(&text).collect();
    if words.is_empty() || text.starts_with('/') || goes_without_memory(&text) {
        return TurnClass::None;
    }
    if EARLIER_WORK_WORDS.iter().any(|earlier| text.contains(earlier)) {
        return TurnClass::Required;
    }
    let sentences: Vec<&str> = text.split(['.', '!', '?', '\n', ';', ':']).collect();
    let asks = |sentence: &str, most: usize| {
        let polite = [
            "please", "can", "could", "would", "you", "now", "then", "and", "also", "next", "i", "want",
            "to", "let", "us",
        ];
        split(sentence).filter(|word| !polite.contains(word)).take(most).any(|word| CHANGES.contains(&word))
    };
    let begins_as_question = QUESTIONS.contains(&words[0]);
    let first = sentences.iter().find(|sentence| split(sentence).next().is_some());
    let in_first = !begins_as_question && first.is_some_and(|sentence| asks(sentence, 6));
    if in_first || sentences.iter().any(|sentence| asks(sentence, 1)) {
        return TurnClass::Required;
    }
    if words.iter().any(|word| QUESTIONS.contains(word)) || text.contains('?') {
        return TurnClass::Soft;
    }
    if words.len() <= SHORT_TURN_WORDS { TurnClass::None } else { TurnClass::Soft }
}

/// Returns whether a clause of a lower-case text says to ignore the memory.
fn goes_without_memory(text: &str) -> bool {
    let text = text.replace("n't", " not").replace("n’t", " not").replace("dont ", "do not ");
    text.split(|c: char| c.is_ascii_punctuation() && !matches!(c, '\'' | '-' | '_') || c == '\n' || c == '—')
        .any(|clause| {
            let words: Vec<&str> = split(clause).collect();
            let frees = |at: usize| {
                let before =
                    words[..at].iter().rposition(|word| !WORDS_BEFORE.contains(word) && !USES.contains(word));
                let is_used =
                    words[before.map_or(0, |before| before + 1)..at].iter().any(|word| USES.contains(word));
                let is_memory = words.get(at + 1).is_none_or(|behind| WORDS_AFTER.contains(behind));
                is_memory
                    && match before {
                        Some(0) if words[0] == "no" => true,
                        Some(before) if matches!(words[before], "not" | "never") => is_used,
                        Some(before) => EXCLUDING_WORDS.contains(&words[before]),
                        None => false,
                    }
            };
            (0..words.len()).any(|at| matches!(words[at], "memory" | "memories") && frees(at))
        })
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

impl Store {
    /// Begins a turn of an agent and ends the previous one. Does not store the text.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn begin_turn(&self, agent: &str, text: &str, now: Timestamp) -> Result<Turn, StoreError> {
        let class = classify(text);
        self.change(|transaction| {
            transaction.execute(
                "INSERT INTO turn (agent, number, class, searched, begun_at) VALUES (?1, 1, ?2, 0, ?3) \
                 ON CONFLICT (agent) DO UPDATE SET number = number + 1, class = ?2, searched = 0, begun_at = ?3",
                params![agent, class.as_str(), now.unix_micros()],
            )?;
            let number =
                transaction.query_row("SELECT number FROM turn WHERE agent = ?1", [agent], |row| row.get(0))?;
            Ok(Turn { number, class, searched: false, begun_at: now })
        })
    }

    /// Returns the current turn of an agent; `None` if its harness never reported one.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn turn(&self, agent: &str) -> Result<Option<Turn>, StoreError> {
        self.look(|transaction| {
            let found = transaction
                .query_row(
                    "SELECT number, class, searched, begun_at FROM turn WHERE agent = ?1",
                    [agent],
                    |row| {
                        let class: String = row.get("class")?;
                        Ok(Turn {
                            number: row.get("number")?,
                            class: TurnClass::from_word(&class).unwrap_or(TurnClass::Required),
                            searched: row.get("searched")?,
                            begun_at: time(row, "begun_at")?,
                        })
                    },
                )
                .optional()?;
            Ok(found)
        })
    }

    /// Records that the memory was searched in the turn of an agent.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn note_search(&self, agent: &str) -> Result<(), StoreError> {
        let needs = self.turn(agent)?.is_some_and(|turn| !turn.searched);
        if !needs {
            return Ok(());
        }
        self.change(|transaction| {
            transaction.execute("UPDATE turn SET searched = 1 WHERE agent = ?1", [agent])?;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(class: TurnClass, texts: &[&str]) {
        for text in texts {
            assert_eq!(classify(text), class, "{text}");
        }
    }

    #[test]
    fn the_text_of_a_turn_decides_its_class() {
        check(
            TurnClass::None,
            &[
                "",
                " \n",
                "thanks",
                "ok, great",
                "/compact",
                "Go on",
                "Fix it without memory",
                "Fix the bug without the memory",
                "Do not use the memory. Fix the bug.",
                "Fix it without using memory",
                "no memory: fix it",
                "don't search memory, just fix it",
                "Don’t look into the memory and fix the bug as before",
                "Ignore the memory for this, add a test",
                "Never call memory.search. Rename the crate",
                "Skip memory. Fix it as we decided",
            ],
        );
        check(
            TurnClass::Required,
            &[
                "Fix the login",
                "Please add a test for the parser.",
                "can you refactor this module?",
                "I want to rename the crate",
                "How did we do it last time?",
                "What is our convention for errors?",
                "The build is red. Fix it",
                "rename",
                "Fix the parser without memory leaks",
                "Fix the crash when there is no memory",
                "Fix the memory leak",
                "Do not delete the memory, fix it",
                "Do not use memory mapped files. Fix the reader",
                "Fix the disk, not the memory",
                "Fix it, and use the memory",
                "Add a limit so that it runs without more memory",
            ],
        );
        check(
            TurnClass::Soft,
            &[
                "How does the update of the index work?",
                "Explain the parser",
                "The tests are slow on my machine",
                "why is the set of tools empty?",
            ],
        );
    }
}
