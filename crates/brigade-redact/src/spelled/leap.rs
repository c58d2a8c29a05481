//! Matches the rest of a value, and leaps over what was matched from an earlier beginning.
//!
//! The text is divided into blocks of 16 bytes, of 64, of 256, and so on. How a block is crossed depends only on where
//! it is entered, and on as many characters of the value as the block has bytes. So it is remembered for these, and the
//! next beginning that comes to the same place with the same characters crosses the block at once. Whether characters
//! are the same is known from numbers, one for each position of the value and each size.
//!
//! A name in the text stands for any character that is not ASCII. A block that is crossed without telling these apart
//! is remembered for all of them.

use std::collections::HashMap;

use super::Value;

/// The number of bytes in a block of the first level, and how many blocks of a level are one of the next.
const SMALLEST: usize = 16;
const FACTOR: usize = 4;

/// The number of the characters behind the end of a value.
const BEHIND: u32 = u32::MAX;

/// What one search knows about one value.
pub(super) type Known = HashMap<Key, Leap>;

/// A block that is entered at a place with these characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    level: usize,
    at: usize,
    characters: u32,
    /// Whether characters that are not ASCII are told apart.
    is_exact: bool,
}

/// How far the text has the characters of the value.
#[derive(Clone, Copy)]
pub(super) struct Leap {
    at: usize,
    /// The position in the value. In what is known: the number of characters.
    position: usize,
    /// Whether the text has them up to the end of the block or of the value.
    fits: bool,
    /// Whether it might not fit other characters that are not ASCII.
    is_exact: bool,
}

/// Numbers of the characters from each position on, for each size of blocks. Equal numbers are equal characters.
pub(super) struct Alike {
    exact: Vec<Vec<u32>>,
    /// With all characters that are not ASCII taken as one. Empty if there are not two of them.
    any: Vec<Vec<u32>>,
}

impl Alike {
    fn new(value: &Value) -> Alike {
        let exact = value.kinds(false);
        let any = value.kinds(true);
        let any = if any == exact { Vec::new() } else { levels(any) };
        Alike { exact: levels(exact), any }
    }
}

/// Numbers the sequences of each size, from numbers of single characters.
fn levels(mut numbers: Vec<u32>) -> Vec<Vec<u32>> {
    let mut levels = Vec::new();
    let mut size = 1;
    while size < numbers.len() {
        let part = |at: usize| numbers.get(at).copied().unwrap_or(BEHIND);
        let parts = (0..numbers.len()).map(|at| [0, 1, 2, 3].map(|index| part(at + index * size)));
        numbers = numbered(parts);
        size *= FACTOR;
        if SMALLEST <= size {
            levels.push(numbers.clone());
        }
    }
    levels
}

/// Gives equal things equal numbers.
fn numbered<T: Eq + std::hash::Hash>(things: impl Iterator<Item = T>) -> Vec<u32> {
    let mut known = HashMap::new();
    things
        .map(|thing| {
            let next = known.len() as u32;
            *known.entry(thing).or_insert(next)
        })
        .collect()
}

fn size(level: usize) -> usize {
    SMALLEST * FACTOR.pow(level as u32)
}

impl Value {
    /// Numbers the characters. For equal ones, [`Value::step`] does the same.
    fn kinds(&self, any: bool) -> Vec<u32> {
        let kind = |position: usize| {
            let character = self.characters.get(position)?;
            let is_any = any && 1 < character.at.len();
            Some(if is_any { (u32::MAX, 0) } else { (character.code, character.at.len()) })
        };
        let kinds = self.own_slashes.iter().enumerate().map(|(position, own)| {
            let next = position + own;
            (kind(position), *own, (0 < *own).then(|| (self.is_number(next), kind(next))))
        });
        numbered(kinds)
    }

    /// Matches the rest of the value from a character on, and returns the end, or the position that does not match.
    pub(super) fn rest(
        &self,
        text: &[u8],
        from: usize,
        position: usize,
        known: &mut Known,
    ) -> Result<usize, usize> {
        let mut here = Leap { at: from, position, fits: true, is_exact: false };
        // The level of the block that begins here.
        let mut level = None;
        while here.position < self.characters.len() {
            let before = here.at;
            here = match level {
                Some(level) => self.leap(text, level, here.at, here.position, known),
                None => self.step_as_leap(text, here.at, here.position),
            };
            if !here.fits {
                return Err(here.position);
            }
            if before / SMALLEST != here.at / SMALLEST && SMALLEST < self.characters.len() {
                let most = self.alike().exact.len();
                level = (1..most).take_while(|level| before / size(*level) != here.at / size(*level)).last();
                level = level.or(Some(0));
            }
        }
        Ok(here.at)
    }

    fn alike(&self) -> &Alike {
        self.alike.get_or_init(|| Alike::new(self))
    }

    /// Crosses the block of a level that contains a place.
    fn leap(&self, text: &[u8], level: usize, at: usize, position: usize, known: &mut Known) -> Leap {
        let alike = self.alike();
        let key = |numbers: &Vec<u32>, is_exact| Key { level, at, characters: numbers[position], is_exact };
        let exact = key(&alike.exact[level], true);
        let any = alike.any.get(level).map_or(exact, |any| key(any, false));
        // Where the value ends, another beginning has other characters.
        let is_inside = position + size(level) <= self.characters.len();
        let is_other = any != exact;
        let find = || known.get(&any).or_else(|| is_other.then(|| known.get(&exact)).flatten());
        if let Some(found) = is_inside.then(find).flatten() {
            return Leap { position: position + found.position, ..*found };
        }
        let end = (at / size(level) + 1) * size(level);
        let mut here = Leap { at, position, fits: true, is_exact: false };
        while here.fits && here.at < end && here.position < self.characters.len() {
            let next = match level.checked_sub(1) {
                Some(lower) => self.leap(text, lower, here.at, here.position, known),
                None => self.step_as_leap(text, here.at, here.position),
            };
            here = Leap { is_exact: here.is_exact || next.is_exact, ..next };
        }
        if is_inside {
            let key = if here.is_exact { exact } else { any };
            known.insert(key, Leap { position: here.position - position, ..here });
        }
        here
    }

    fn step_as_leap(&self, text: &[u8], at: usize, position: usize) -> Leap {
        match self.step(text, at, position) {
            Some((end, next)) => {
                let is_exact = 1 < self.characters[next - 1].at.len() && !ends_with_name(&text[at..end]);
                Leap { at: end, position: next, fits: true, is_exact }
            }
            None => Leap { at, position, fits: false, is_exact: true },
        }
    }
}

/// Returns whether a spelled character that is not ASCII is spelled by its name. Backslashes may come before it.
fn ends_with_name(spelled: &[u8]) -> bool {
    let Some(name) = memchr::memmem::rfind(spelled, b"\\N{").map(|start| &spelled[start + 3..]) else {
        return false;
    };
    !name.starts_with(b"U+") && memchr::memchr(b'}', name) == name.len().checked_sub(1)
}
