//! Memory search: full-text rank, adjusted by age and tier.

use brigade_core::Timestamp;
use rusqlite::{Transaction, params};

use super::{MAX_FOUND, MemoryMatch, Owners, Scope, read};
use crate::error::StoreError;

/// A search for memories.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The words. A memory matches if it has one of them.
    pub text: &'a str,
    /// The scope, or `None` for all.
    pub scope: Option<Scope>,
    /// The mission, for the mission scope.
    pub mission: Option<&'a str>,
    /// The owners whose memories are visible.
    pub owners: Owners<'a>,
    /// The maximum number of results, up to [`MAX_FOUND`].
    pub limit: usize,
}

/// How many matches of the full-text search are ranked.
const MAX_CANDIDATES: i64 = 200;

/// The maximum number of words of a query.
const MAX_WORDS: usize = 64;

/// The age in days at which the bonus for newness is halved.
const HALF_LIFE_DAYS: f64 = 30.0;

/// The share of the score that depends on newness.
const NEWNESS: f64 = 0.2;

/// Very common words. They are searched for only if a query has no others.
const COMMON: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "do", "does", "for", "from", "how", "i", "in", "is",
    "it", "of", "on", "or", "that", "the", "this", "to", "was", "we", "what", "when", "where", "which",
    "who", "why", "with",
];

/// Returns whether a text has no words to search for.
pub fn blank(text: &str) -> bool {
    !text.chars().any(char::is_alphanumeric)
}

/// Returns the words of a query, each quoted for the full-text search so that none is an operator.
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

/// Builds the full-text query. It matches memories with any of the words.
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
    // Filters by owner before ranking, so that invisible memories do not displace visible ones.
    let (owner_filter, agent) = match query.owners {
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
            owner_filter,
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
    // Only the returned memories are read completely.
    let mut by_row = transaction.prepare_cached("SELECT * FROM memory WHERE row = ?1")?;
    let best = ranked.into_iter().take(query.limit.min(MAX_FOUND));
    best.map(|RankedMemory { row, score, .. }| {
        Ok(MemoryMatch { memory: by_row.query_row([row], read)?, score })
    })
    .collect()
}

/// The values that decide the order of matches.
struct RankedMemory {
    row: i64,
    score: f64,
    updated_at: Timestamp,
    id: String,
}

/// Returns a score from 0 to 1. A better full-text rank is more negative.
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
    fn query_words_are_not_operators() {
        check("deploy OR NOT x*", "\"deploy\" OR \"not\" OR \"x\"");
        check("content:\"a b\" NEAR(c)", "\"content\" OR \"b\" OR \"near\" OR \"c\"");
        check("Größe größe", "\"größe\"");
        check(" \"*-^ ", "");
        check("what is the port", "\"port\"");
        check("to be or", "\"to\" OR \"be\" OR \"or\"");
    }
}
