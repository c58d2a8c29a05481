//! Short ids for people: the shortest unique prefix of at least four digits.
//!
//! A call that repeats an earlier one has the id of that call, and `-queued-` with more digits. Its short id is a
//! prefix of the first id, `~`, and a prefix of these digits: `call-8303~ce55`. The first one is `call-8303~`.

use brigade_core::IdPrefix;

use crate::{QueueError, Records, View};

/// Separates the two prefixes in the short id of a repeated call.
const REPEAT: char = '~';

/// What precedes the digits of a repeated call.
const QUEUED: &str = "-queued-";

/// The number of digits of the shortest ids.
const MIN_DIGITS: usize = 4;

/// The number of other ids that a short id is compared with. With more, it is the whole id.
const MAX_COMPARED: usize = 200;

/// Splits a typed id at the mark of repeated calls.
pub(crate) fn parts(typed: &str) -> (&str, Option<&str>) {
    typed.split_once(REPEAT).map_or((typed, None), |(start, end)| (start, Some(end)))
}

/// Returns the own digits of a repeated call.
pub(crate) fn repeat_of(id: &str) -> Option<&str> {
    id.rsplit_once(QUEUED).map(|(_, own)| own)
}

/// Returns how many bytes of `text` no other text starts with, at least `least`.
fn unique_length<'a>(text: &str, others: impl Iterator<Item = &'a str>, least: usize) -> usize {
    let shared =
        |other: &str| text.bytes().zip(other.bytes()).take_while(|(own, other)| own == other).count();
    let longest = others.map(shared).max().map_or(0, |shared| shared + 1);
    let length = longest.max(least).min(text.len());
    text.ceil_char_boundary(length)
}

/// Shortens an id to the shortest prefix, of at least four digits, that no other id has. `others` may contain the id.
pub fn shortened(id: &str, others: &[String]) -> String {
    let base = |id: &'_ str| id.len() - repeat_of(id).map_or(0, |own| own.len() + QUEUED.len());
    let least = |text: &str| text.find('-').map_or(MIN_DIGITS, |dash| dash + 1 + MIN_DIGITS);
    let start = &id[..base(id)];
    let is_same = |other: &&String| &other[..base(other)] == start;
    let strangers = others.iter().filter(|other| !is_same(other)).map(String::as_str);
    let short = &start[..unique_length(start, strangers, least(start))];
    let relatives: Vec<&String> = others.iter().filter(is_same).filter(|other| *other != id).collect();
    match repeat_of(id) {
        // Its prefixes are prefixes of the repeated calls, too.
        None if !relatives.is_empty() => format!("{short}{REPEAT}"),
        None => short.to_owned(),
        Some(own) => {
            let relatives = relatives.iter().filter_map(|other| repeat_of(other));
            format!("{short}{REPEAT}{}", &own[..unique_length(own, relatives, MIN_DIGITS)])
        }
    }
}

impl View<'_> {
    /// Returns the shortest unique form of a call's id that commands accept, such as `call-8303`.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub fn short_call_id(&self, id: &str) -> Result<String, QueueError> {
        self.short_id(Records::Calls, id)
    }

    /// Returns the shortest unique prefix of a run's id, such as `run-19af`.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub fn short_run_id(&self, id: &str) -> Result<String, QueueError> {
        self.short_id(Records::Runs, id)
    }

    fn short_id(&self, of: Records, id: &str) -> Result<String, QueueError> {
        let Some(dash) = id.find('-') else { return Ok(id.to_owned()) };
        let Some(start) = id.get(..dash + 1 + MIN_DIGITS) else { return Ok(id.to_owned()) };
        let others = self.candidates(of, &IdPrefix::new(start), MAX_COMPARED)?;
        // With so many, comparing the first ones proves nothing.
        Ok(if others.len() < MAX_COMPARED { shortened(id, &others) } else { id.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(id: &str, others: &[&str], expect: &str) {
        let others: Vec<String> = others.iter().map(|other| (*other).to_owned()).collect();
        assert_eq!(shortened(id, &others), expect);
    }

    #[test]
    fn short_ids_are_unique_and_keep_four_digits() {
        check("call-8303aaaa", &["call-8303aaaa"], "call-8303");
        check("call-8303aaaa", &["call-8303aaaa", "call-8303abbb"], "call-8303aa");
        check("run-12", &[], "run-12");
        check("d-41c2aaaa", &["d-41c2aaaa", "d-41c2bbbb", "d-5"], "d-41c2a");
    }

    #[test]
    fn repeated_calls_have_no_long_suffix() {
        let all = ["call-8303aaaa", "call-8303aaaa-queued-ce551111", "call-8303aaaa-queued-ce5f2222"];
        check(all[0], &all, "call-8303~");
        check(all[1], &all, "call-8303~ce55");
        check(all[2], &all, "call-8303~ce5f");
    }
}
