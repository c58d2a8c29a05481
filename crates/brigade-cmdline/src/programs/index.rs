//! The names of the table, sorted at compile time, with a quick test that excludes most words.

use super::{Finds, Program, table};

pub(super) fn exactly(name: &str) -> Option<Program> {
    #[cfg(test)]
    ASKED.with(|asked| asked.set(asked.get() + 1));
    // Most words are not programs, and for many of them the first byte is enough to decide that.
    let first = usize::from(*name.as_bytes().first()?);
    let alike = &NAMES[usize::from(FIRST[first])..usize::from(FIRST[first + 1])];
    let (name, row) = alike[alike.binary_search_by(|(known, _)| known.cmp(&name)).ok()?];
    Some(Program { name, row: &table::ROWS[usize::from(row)] })
}

/// The names in the table with their rows, by name. Computed at compile time: most commands look up one or two
/// programs, and sorting would take longer than everything else that they do with them.
static NAMES: [(&str, u16); count_names()] = sort_names();

/// The index of the first name for each first byte.
static FIRST: [u16; 257] = first_bytes();

/// The bits that distinguish letters, in either case.
const LETTER: u8 = 31;

/// By the first letter of programs, a bit for each possible second letter.
static NAMED: [u32; 32] = letters_of(RowSet::All);

/// The same for programs that take passwords.
pub(super) static TAKERS: [u32; 32] = letters_of(RowSet::Takers);

/// The same for compilers.
static COMPILERS: [u32; 32] = letters_of(RowSet::Compilers);

/// Rows of the table.
#[derive(Clone, Copy)]
enum RowSet {
    All,
    Takers,
    Compilers,
}

const fn letters_of(which: RowSet) -> [u32; 32] {
    let mut letters = [0; 32];
    let mut index = 0;
    while index < table::ROWS.len() {
        let row = &table::ROWS[index];
        let is_one = match which {
            RowSet::All => true,
            RowSet::Takers => !row.passwords.is_empty(),
            RowSet::Compilers => matches!(row.finds, Finds::Compiler),
        };
        let mut nth = 0;
        while nth < row.names.len() && is_one {
            let name = row.names[nth].as_bytes();
            if 1 < name.len() {
                letters[(name[0] & LETTER) as usize] |= 1 << (name[1] & LETTER);
            }
            nth += 1;
        }
        index += 1;
    }
    letters
}

const fn count_names() -> usize {
    let (mut count, mut row) = (0, 0);
    while row < table::ROWS.len() {
        count += table::ROWS[row].names.len();
        row += 1;
    }
    count
}

const fn sort_names() -> [(&'static str, u16); count_names()] {
    let mut names = [("", 0); count_names()];
    let (mut count, mut row) = (0, 0);
    while row < table::ROWS.len() {
        let mut nth = 0;
        while nth < table::ROWS[row].names.len() {
            let name = table::ROWS[row].names[nth];
            let mut at = count;
            while 0 < at && is_before(name, names[at - 1].0) {
                names[at] = names[at - 1];
                at -= 1;
            }
            names[at] = (name, row as u16);
            count += 1;
            nth += 1;
        }
        row += 1;
    }
    names
}

const fn first_bytes() -> [u16; 257] {
    let names = sort_names();
    let mut first = [0; 257];
    let (mut byte, mut at) = (0, 0);
    while byte < first.len() {
        while at < names.len() && (names[at].0.as_bytes()[0] as usize) < byte {
            at += 1;
        }
        first[byte] = at as u16;
        byte += 1;
    }
    first
}

const fn is_before(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let mut at = 0;
    while at < left.len() && at < right.len() {
        if left[at] != right[at] {
            return left[at] < right[at];
        }
        at += 1;
    }
    left.len() < right.len()
}

/// Returns the last part of a path in the syntax of any system.
pub(super) fn last_part(word: &str) -> &[u8] {
    let bytes = word.as_bytes();
    let from = bytes.iter().rposition(|byte| matches!(byte, b'/' | b'\\'));
    &bytes[from.map_or(0, |at| at + 1)..]
}

/// Returns whether a name may be in the table, in any case, with a version, or as the end of a compiler's name. For
/// most words, two letters are enough to decide this.
pub(super) fn may_be_name(name: &[u8]) -> bool {
    let is_plain = match name {
        [] => false,
        [_] | [b'.', ..] => true,
        // `c++`, `r4.3`
        [first, second, ..] if first.is_ascii_alphabetic() && !second.is_ascii_alphabetic() => true,
        [..] => begins_one(&NAMED, name),
    };
    is_plain
        || name.iter().enumerate().any(|(at, byte)| *byte == b'-' && begins_one(&COMPILERS, &name[at + 1..]))
}

/// Returns whether the letter table has a bit for the first two letters of a name.
pub(super) fn begins_one(letters: &[u32; 32], name: &[u8]) -> bool {
    let [first, second, ..] = name else { return false };
    letters[usize::from(first & LETTER)] & 1 << (second & LETTER) != 0
}

#[cfg(test)]
thread_local! {
    /// How often a name was looked up.
    pub(crate) static ASKED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
mod tests {
    use super::super::all;
    use super::*;

    #[test]
    fn every_name_of_the_table_is_found_and_no_other_is() {
        for program in all() {
            let found = exactly(program.name).map(|found| (found.name, std::ptr::from_ref(found.row)));
            assert_eq!(found, Some((program.name, std::ptr::from_ref(program.row))));
            assert!(exactly(&format!("{}\u{1}", program.name)).is_none(), "{}", program.name);
        }
        for other in ["", "-", "é", "\u{7f}", "zzzz", "A"] {
            assert!(exactly(other).is_none(), "{other}");
        }
    }

    /// The quick test by two letters must not change any result.
    #[test]
    fn the_quick_test_agrees_with_the_whole_table() {
        let check = |word: &str| {
            let name = |found: Option<Program>| found.map(|program| program.name);
            assert_eq!(name(Program::from_word(word)), name(Program::find(word)), "{word}");
        };
        for program in all() {
            for name in [program.name.to_owned(), program.name.to_uppercase()] {
                for before in ["", "/usr/bin/", "C:\\x\\", "x86_64-linux-gnu-", "@a/", "-", "my"] {
                    for behind in ["", "3", "3.11", "-12", ".exe", ".EXE", "x", "-x", "/"] {
                        check(&format!("{before}{name}{behind}"));
                    }
                }
            }
        }
        for first in ' '..='~' {
            for second in ' '..='~' {
                check(&format!("{first}{second}"));
                check(&format!("{first}{second}-gcc"));
                check(&format!("{first}-{second}"));
            }
        }
        for word in ["", ".", "..", "ü", "üx", "ld-linux-x86-64.so.2", "/lib/LD-musl.so.1", "x-é"] {
            check(word);
        }
    }
}
