//! The numbers of the last list of waiting things, so that a person can type `2` for a call.
//!
//! A number belongs to the ids and revisions that were shown with it. While any of them waits, and for an hour after
//! the list, no number is given to anything else. So a list in another terminal never changes what a number means.

use std::collections::BTreeSet;
use std::time::Duration;

use brigade_core::json::{from_json, pretty_text};
use brigade_core::{Dialect, Fingerprint, Json, Timestamp};
use brigade_fs::{FileMode, FsError, RelPath};
use brigade_workspace::WorkspaceContext;
use serde::{Deserialize, Serialize};

/// The file of the numbers.
const NUMBERS: &str = ".brigade/tools/shown.json";

/// Its lock.
const LOCK: &str = ".brigade/tools/shown.lock";

/// Its format, which the MAC covers.
const SCHEMA: &str = "brigade.shown.v1";

/// The domain of its MAC.
const DOMAIN: &str = "brigade.shown";

/// The maximum size of the file.
const MAX_BYTES: u64 = 4 << 20;

/// How long numbers are not used again after nothing with a number waits.
const KEPT_FOR: Duration = Duration::from_secs(3600);

/// How long a writer waits for another.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// A thing as it was shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ShownThing {
    /// Its id.
    pub id: String,
    /// The revision of a call; 0 for other things.
    pub revision: u64,
}

/// The numbers, with what was shown with each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownNumbers {
    schema: String,
    at: Option<Timestamp>,
    /// The highest number so far.
    last: u64,
    numbers: Vec<NumberedThings>,
    mac: String,
}

/// What was shown with a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct NumberedThings {
    number: u64,
    things: Vec<ShownThing>,
}

impl ShownNumbers {
    /// Reads the numbers that this host gave. A damaged or foreign file has no numbers.
    pub fn read(context: &WorkspaceContext) -> ShownNumbers {
        let read = || {
            let bytes = context.fs.read(&RelPath::from_static(NUMBERS), MAX_BYTES).ok()?;
            let json = Json::parse_bytes(&bytes, Dialect::Strict).ok()?;
            let shown: ShownNumbers = from_json(&json).ok()?;
            let is_ours = shown.schema == SCHEMA;
            (is_ours && context.key.verify(DOMAIN, &shown.content(), Some(&shown.mac))).then_some(shown)
        };
        read().unwrap_or_default()
    }

    /// Returns what was shown with a number.
    pub fn things(&self, number: u64) -> &[ShownThing] {
        let shown = self.numbers.iter().find(|shown| shown.number == number);
        shown.map(|shown| shown.things.as_slice()).unwrap_or_default()
    }

    /// Returns the highest number.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Gives each row a number: the one that its things had, or the next one.
    fn give(&mut self, rows: &[Vec<ShownThing>], now: Timestamp) -> Vec<u64> {
        let waiting: BTreeSet<&str> = rows.iter().flatten().map(|thing| thing.id.as_str()).collect();
        let is_recent = self.at.is_some_and(|at| now.since(at) < KEPT_FOR);
        let still_waits =
            |shown: &NumberedThings| shown.things.iter().any(|thing| waiting.contains(&*thing.id));
        if !is_recent && !self.numbers.iter().any(still_waits) {
            (self.last, self.numbers) = (0, Vec::new());
        }
        let known = std::mem::take(&mut self.numbers);
        let mut taken = BTreeSet::new();
        let mut given = Vec::with_capacity(rows.len());
        for row in rows {
            let is_of_row = |shown: &&NumberedThings| {
                let is_shown = |thing: &ShownThing| row.iter().any(|own| own.id == thing.id);
                !taken.contains(&shown.number) && shown.things.iter().any(is_shown)
            };
            let number = known.iter().find(is_of_row).map_or(self.last + 1, |shown| shown.number);
            self.last = self.last.max(number);
            taken.insert(number);
            self.numbers.push(NumberedThings { number, things: row.clone() });
            given.push(number);
        }
        self.at = Some(now);
        given
    }

    fn content(&self) -> Vec<u8> {
        let things = |things: &[ShownThing]| {
            things
                .iter()
                .map(|thing| format!("{}@{}", thing.id, thing.revision))
                .collect::<Vec<_>>()
                .join(",")
        };
        let numbers = self.numbers.iter().map(|shown| (shown.number.to_string(), things(&shown.things)));
        let fingerprint = Fingerprint::builder(SCHEMA)
            .text("at", self.at.map(|at| at.to_string()).as_deref())
            .text("last", self.last.to_string().as_str())
            .table("numbers", numbers)
            .finish();
        fingerprint.to_hex().into_bytes()
    }
}

/// Numbers the rows that are about to be shown, and remembers them. A program of a run changes no numbers.
pub(crate) fn number_rows(context: &WorkspaceContext, rows: &[Vec<ShownThing>]) -> Vec<u64> {
    let now = context.now();
    let number = |is_kept: bool| -> Result<Vec<u64>, FsError> {
        let path = RelPath::from_static(LOCK);
        let holder = format!("process {} (numbers)", std::process::id());
        if is_kept && !rows.is_empty() {
            context.fs.create_dir_all(&path.parent())?;
        }
        let _lock = is_kept.then(|| context.fs.lock(&path, &holder, LOCK_TIMEOUT)).transpose()?;
        let before = ShownNumbers::read(context);
        let mut shown = ShownNumbers { schema: SCHEMA.to_owned(), ..before.clone() };
        let given = shown.give(rows, now);
        // Without a row there is nothing to remember, and a workspace that was never used stays as it is.
        if is_kept && !(rows.is_empty() && before.numbers.is_empty()) {
            shown.mac = context.key.sign(DOMAIN, &shown.content())?;
            let text = pretty_text(&shown).expect("ids and numbers are JSON");
            let path = RelPath::from_static(NUMBERS);
            context.fs.write_atomic(&path, text.as_bytes(), FileMode::Private)?;
        }
        Ok(given)
    };
    let is_used = || context.fs.exists(&RelPath::from_static(NUMBERS)).unwrap_or_default();
    let is_kept = context.require_outside_run().is_ok() && (!rows.is_empty() || is_used());
    number(is_kept)
        .or_else(|error| {
            tracing::warn!(%error, "the numbers of what waits are not remembered");
            number(false)
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_unix_micros(seconds * 1_000_000)
    }

    #[track_caller]
    fn check(shown: &mut ShownNumbers, seconds: i64, rows: &[&[&str]], expect: &[u64]) {
        let thing = |id: &&str| ShownThing { id: (*id).to_owned(), revision: 1 };
        let rows: Vec<Vec<ShownThing>> = rows.iter().map(|row| row.iter().map(thing).collect()).collect();
        assert_eq!(shown.give(&rows, at(seconds)), expect);
    }

    #[test]
    fn stored_numbers_are_read_back() {
        let mut shown = ShownNumbers { schema: SCHEMA.to_owned(), ..ShownNumbers::default() };
        check(&mut shown, 0, &[&["a"], &["b"]], &[1, 2]);
        let stored = Json::parse(&pretty_text(&shown).unwrap()).unwrap();
        assert_eq!(from_json::<ShownNumbers>(&stored).unwrap(), shown);
    }

    #[test]
    fn a_number_means_the_same_while_anything_waits() {
        let mut shown = ShownNumbers::default();
        check(&mut shown, 0, &[&["a"], &["b", "c"], &["d"]], &[1, 2, 3]);
        // The first is decided, and a new one comes.
        check(&mut shown, 10, &[&["b", "c"], &["d"], &["e"]], &[2, 3, 4]);
        // A list much later.
        check(&mut shown, 100_000, &[&["e"], &["f"]], &[4, 5]);
        // Soon after everything was decided.
        check(&mut shown, 100_010, &[&["g"]], &[6]);
        check(&mut shown, 100_020, &[], &[]);
        check(&mut shown, 200_000, &[&["h"]], &[1]);
        // Equal requests of a row that part do not share its number.
        check(&mut shown, 200_001, &[&["h", "i"]], &[1]);
        check(&mut shown, 200_002, &[&["h"], &["i"]], &[1, 2]);
    }
}
