//! Searching memories: full text, then how new they are and how long they are meant to last.

use brigade_core::Timestamp;
use rusqlite::{Transaction, params};

use super::{COLUMNS, MAX_FOUND, MemoryMatch, Owners, Scope, read};
use crate::error::StoreError;

/// What is searched for.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The words. Each memory that has one of them fits.
    pub text: &'a str,
    /// The scope; every one without it.
    pub scope: Option<Scope>,
    /// The mission, if the scope is one.
    pub mission: Option<&'a str>,
    /// Whose memories are seen.
    pub owners: Owners<'a>,
    /// How many are wanted, at most [`MAX_FOUND`].
    pub limit: usize,
}

/// How many memories the full-text search gives before they are ranked.
const MAX_CANDIDATES: i64 = 200;

/// The words of a query that are searched for.
const MAX_WORDS: usize = 64;

/// After so many days, being new counts half.
const HALF_LIFE_DAYS: f64 = 30.0;

/// How much of the score depends on being new.
const NEWNESS: f64 = 0.2;

/// Words that nearly every text has. They are searched for only if there are no others.
const COMMON: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "do", "does", "for", "from", "how", "i", "in", "is",
    "it", "of", "on", "or", "that", "the", "this", "to", "was", "we", "what", "when", "where", "which",
    "who", "why", "with",
];

/// Returns whether a text has nothing to search for.
pub fn blank(text: &str) -> bool {
    !text.chars().any(char::is_alphanumeric)
}

/// Returns the words of a query, each as a string of the full-text search, so that none is an operator.
pub fn search_words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let word = word.to_lowercase();
        if words.len() < MAX_WORDS && !words.contains(&word) {
            words.push(word);
        }
    }
    if words.iter().any(|word| !COMMON.contains(&word.as_str())) {
        words.retain(|word| !COMMON.contains(&word.as_str()));
    }
    words.iter().map(|word| format!("\"{word}\"")).collect()
}

/// Writes the words for the full-text search, which finds what has one of them.
fn pattern(text: &str) -> String {
    search_words(text).join(" OR ")
}

pub(super) fn search(
    transaction: &Transaction<'_>,
    query: &Query<'_>,
    now: Timestamp,
) -> Result<Vec<MemoryMatch>, StoreError> {
    if blank(query.text) {
        return Ok(Vec::new());
    }
    // What somebody else owns must not push out what is seen, so it is left out before it is ranked.
    let (whose, agent) = match query.owners {
        Owners::Everybody => (0, ""),
        Owners::Seen(agent) => (1, agent),
    };
    let mission = query.mission.map(|mission| super::owner(Scope::Mission, agent, Some(mission)));
    let mut statement = transaction.prepare_cached(
        "SELECT m.row, bm25(memory_text) AS rank, m.tier, m.updated_at, m.id FROM memory_text JOIN memory m ON m.row = memory_text.rowid \
         WHERE memory_text MATCH ?1 \
         AND (?2 = 0 OR m.scope = 'project' OR (m.scope = 'agent' AND m.owner = ?3) \
              OR (m.scope = 'mission' AND m.owner = ?4)) \
         AND (?5 = '' OR m.scope = ?5) \
         ORDER BY rank LIMIT ?6",
    )?;
    let rows = statement.query_map(
        params![
            pattern(query.text),
            whose,
            agent,
            mission.unwrap_or_default(),
            query.scope.map_or("", Scope::as_str),
            MAX_CANDIDATES
        ],
        |row| {
            let updated_at = Timestamp::from_unix_micros(row.get(3)?);
            let score = score(row.get(1)?, row.get(2)?, updated_at, now);
            Ok(RankedMemory { row: row.get(0)?, score, updated_at, id: row.get(4)? })
        },
    )?;
    let mut ranked: Vec<RankedMemory> = rows.collect::<Result<_, _>>()?;
    ranked.sort_by(|left, right| {
        let newest = right.updated_at.cmp(&left.updated_at);
        right.score.total_cmp(&left.score).then(newest).then(left.id.cmp(&right.id))
    });
    // Only what is returned is read whole.
    let sql = format!("SELECT {COLUMNS} FROM memory WHERE row = ?1");
    let mut by_row = transaction.prepare_cached(&sql)?;
    let best = ranked.into_iter().take(query.limit.min(MAX_FOUND));
    best.map(|RankedMemory { row, score, .. }| {
        Ok(MemoryMatch { memory: by_row.query_row([row], read)?, score })
    })
    .collect()
}

/// What decides the order of memories that fit.
struct RankedMemory {
    row: i64,
    score: f64,
    updated_at: Timestamp,
    id: String,
}

/// Returns a score from 0 to 1. A better rank of the full-text search is further below zero.
fn score(rank: f64, tier: i64, updated_at: Timestamp, now: Timestamp) -> f64 {
    let fits = (-rank).max(0.0);
    let fits = fits / (fits + 1.0);
    let days = now.since(updated_at).as_secs_f64() / 86_400.0;
    let newness = 0.5_f64.powf(days / HALF_LIFE_DAYS);
    let lasting = match tier {
        1 => 1.0,
        2 => 0.95,
        _ => 0.9,
    };
    fits * (1.0 - NEWNESS + NEWNESS * newness) * lasting
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(pattern(text), expect);
        assert_eq!(blank(text), expect.is_empty());
    }

    #[test]
    fn words_of_a_query_are_no_operators() {
        check("deploy OR NOT x*", "\"deploy\" OR \"not\" OR \"x\"");
        check("content:\"a b\" NEAR(c)", "\"content\" OR \"b\" OR \"near\" OR \"c\"");
        check("Größe größe", "\"größe\"");
        check(" \"*-^ ", "");
        check("what is the port", "\"port\"");
        check("to be or", "\"to\" OR \"be\" OR \"or\"");
    }
}
