//! Finds bound values whose characters are escaped with backslashes, in any style and mixture.
//!
//! Covers JSON, once and twice, with `\/` and with `\u00e9` in either case for any character; strings of Python, C and
//! JavaScript, `\U0001f600` and `\u{1f600}` included; and `printf %q` and `$'…'` of shells. Entities of HTML, by number
//! or by name, are read in the same way. Styles are not listed one by one: each character of a value may
//! appear as itself, after up to four backslashes, or as its number.
//!
//! Every such form contains a backslash, and before the first one the value is unescaped. The search therefore jumps
//! from backslash to backslash, reads what follows, and tries only the positions of the values that have that
//! character.
//!
//! The time is linear in the length of the text and of a value, but for a logarithm. This is true for values that
//! repeat a part, too: what one beginning has matched is not matched again for the next one, see [`leap`]. More time,
//! up to the product of both lengths, is needed only
//!
//! * for thousands of backslashes in a row in a value, if the text has their numbers;
//! * if the text fits many different parts of a value: where the value has runs of different numbers of backslashes
//!   without a pattern, and the text only runs that stand for all of them; or where the value has different characters
//!   that are not ASCII without a pattern, and the text has some as themselves and the others by names.

mod entities;
mod leap;
mod literal;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use entities::{LONGEST_NAME, named_character};
use leap::{Alike, Known};
use literal::{Literal, Standing};

/// The maximum number of backslashes before a character other than a backslash.
const MOST_SLASHES: usize = 4;

/// The maximum number of digits in one escape, leading zeros included.
const MOST_DIGITS: usize = 12;

/// The maximum length of one escaped byte of a value, as in `\\\\u{000041}`.
const LONGEST_BYTE: usize = MOST_SLASHES + MOST_DIGITS + 3;

/// The length of the longest Unicode name of an ASCII character, `LATIN CAPITAL LETTER A`.
const LONGEST_ASCII_NAME: usize = 22;

/// The maximum length of an ASCII character of a value, by its number or its name.
const LONGEST_ASCII: usize = MOST_SLASHES + LONGEST_ASCII_NAME + 3;

/// The length of the longest Unicode name of a character.
const LONGEST_UNICODE_NAME: usize = 88;

/// The maximum length of a character of a value by its name, as in `\\\\N{LATIN …}`.
const LONGEST_NAMED: usize = MOST_SLASHES + LONGEST_UNICODE_NAME + 3;

/// Keys from here on are first bytes of characters, for characters escaped byte by byte.
const BYTES: u32 = 0x11_0000;

/// The key of all characters that Python escapes by their names.
const NAMED: u32 = BYTES + 0x100;

const BACKSLASH: u32 = b'\\' as u32;

/// How many characters of the value after its own backslashes may decide about a step: whether they are a number.
const AHEAD: usize = 24;

/// With so many places in a value of so many bytes, what stands before an escape is compared for each of them.
const FEW: usize = 8;
const SHORT: usize = 256;

/// The values, prepared for searching.
pub(super) struct Spelled {
    values: Vec<Value>,
    /// For each character that may be escaped, and the byte before it: the values that contain both, and the positions
    /// of the character. At the start of a value, there is no byte before it.
    places: HashMap<(u32, Option<u8>), Vec<Places>>,
    longest: usize,
}

/// A value, and positions of characters in it, sorted.
struct Places {
    value: usize,
    positions: Vec<usize>,
}

struct Value {
    bytes: Vec<u8>,
    characters: Vec<Character>,
    /// For each character: how many characters from there on are those that the value starts with.
    repeats: Vec<usize>,
    /// What the value starts with, up to its first backslash.
    literal: Literal,
    /// For each character: how many from there on are backslashes.
    own_slashes: Vec<usize>,
    /// For matching the rest, once it is needed.
    alike: OnceLock<Alike>,
}

/// What is known while one text is searched.
struct Search<'a> {
    text: &'a [u8],
    begins: Range<usize>,
    /// For each value.
    standing: HashMap<usize, Standing>,
    known: HashMap<usize, Known>,
}

/// A character, or a byte that is not part of one.
struct Character {
    /// The code point. For a byte, the one that Python assigns.
    code: u32,
    at: Range<usize>,
}

impl Spelled {
    pub(super) fn new(texts: impl IntoIterator<Item = Vec<u8>>) -> Spelled {
        let values: Vec<Value> = texts.into_iter().map(Value::new).collect();
        let mut places: HashMap<(u32, Option<u8>), Vec<Places>> = HashMap::new();
        for (index, value) in values.iter().enumerate() {
            for (position, character) in value.characters.iter().enumerate() {
                let before = character.at.start.checked_sub(1).map(|before| value.bytes[before]);
                let mut add = |key| {
                    let known = places.entry((key, before)).or_default();
                    match known.last_mut().filter(|places| places.value == index) {
                        Some(places) if places.positions.last() == Some(&position) => {}
                        Some(places) => places.positions.push(position),
                        None => known.push(Places { value: index, positions: vec![position] }),
                    }
                };
                add(character.code);
                if 1 < character.at.len() {
                    add(BYTES + u32::from(value.bytes[character.at.start]));
                    add(NAMED);
                }
                // A backslash in the value is also a backslash in the text.
                if character.code == BACKSLASH {
                    break;
                }
            }
        }
        let longest = values.iter().map(Value::longest).max().unwrap_or(0);
        Spelled { values, places, longest }
    }

    /// The length of the longest form in bytes.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Finds the forms that start within a range of a text.
    pub(super) fn find(&self, text: &[u8], begins: Range<usize>, masks: &mut Vec<Range<usize>>) {
        // The first backslash may come at the end of the value.
        let last = text.len().min(begins.end + self.longest);
        let mut from = begins.start;
        let mut search = Search { text, begins, standing: HashMap::new(), known: HashMap::new() };
        while let Some(slash) = memchr::memchr2(b'\\', b'&', text.get(from..last).unwrap_or_default()) {
            let slash = from + slash;
            if text[slash] == b'&' {
                if let Some((code, _)) = entity(text, slash) {
                    self.find_at(&mut search, slash..slash, code, masks);
                }
                from = slash + 1;
                continue;
            }
            let end = slash + slashes(&text[slash..], usize::MAX);
            self.find_behind(&mut search, slash..end, masks);
            from = end;
        }
    }

    /// Finds the forms whose first backslashes are in `run`.
    fn find_behind(&self, search: &mut Search<'_>, run: Range<usize>, masks: &mut Vec<Range<usize>>) {
        let text = search.text;
        let mut keys = [Some(BACKSLASH), None, None, None, None, None];
        keys[1] = first_character(&text[run.end..]).map(|(code, _)| code);
        match escape(text, run.end) {
            Some((Escape::Code(code), _)) => keys[2] = Some(code),
            Some((Escape::Byte(byte), _)) => {
                keys[2] = Some(u32::from(byte));
                keys[3] = Some(BYTES + u32::from(byte));
            }
            Some((Escape::Named, _)) => keys[2] = Some(NAMED),
            None => {}
        }
        if let Some((byte, _)) = octal_after_zero(text, run.end) {
            keys[4] = Some(u32::from(byte));
            keys[5] = Some(BYTES + u32::from(byte));
        }
        for key in keys.into_iter().flatten() {
            self.find_at(search, run.clone(), key, masks);
        }
    }

    /// Finds the forms in which this character is the first that is escaped, behind these backslashes, or by an entity
    /// that starts there.
    fn find_at(&self, search: &mut Search<'_>, run: Range<usize>, key: u32, masks: &mut Vec<Range<usize>>) {
        for places in self.places.get(&(key, None)).into_iter().flatten() {
            self.try_at(search, run.clone(), places.value, 0, masks);
        }
        let before = run.start.checked_sub(1).map(|before| search.text[before]);
        let inside = before.and_then(|before| self.places.get(&(key, Some(before))));
        for Places { value: index, positions } in inside.into_iter().flatten() {
            let value = &self.values[*index];
            // Earlier beginnings come first, because the later ones use what they matched.
            if positions.len() <= FEW && value.literal.length() <= SHORT {
                for position in positions.iter().rev() {
                    let before = &value.bytes[..value.characters[*position].at.start];
                    if search.text[..run.start].ends_with(before) {
                        self.try_at(search, run.clone(), *index, *position, masks);
                    }
                }
                continue;
            }
            let earliest = search.begins.start;
            let known = search.standing.entry(*index).or_default();
            let mut standing = known.before(&value.literal, search.text, earliest, run.start);
            while 0 < standing && run.start - standing < search.begins.end {
                let position = value.characters.binary_search_by_key(&standing, |found| found.at.start).ok();
                let differs = position.and_then(|position| match positions.binary_search(&position) {
                    Ok(_) => self.try_at(search, run.clone(), *index, position, masks),
                    Err(_) => Some(position),
                });
                standing = match position.zip(differs) {
                    Some((position, differs)) => value.next_different(standing, position, differs),
                    None => value.literal.next_shorter(standing),
                };
            }
        }
    }

    /// Finds a value whose characters before a position stand as themselves before the backslashes. Returns where in
    /// the value the text differs.
    fn try_at(
        &self,
        search: &mut Search<'_>,
        run: Range<usize>,
        index: usize,
        position: usize,
        masks: &mut Vec<Range<usize>>,
    ) -> Option<usize> {
        let value = &self.values[index];
        let before = value.characters[position].at.start;
        // A value that starts here may follow any number of unrelated backslashes.
        let first = match before {
            0 => run.end.saturating_sub(value.most_slashes(position)).max(run.start),
            _ => run.start,
        };
        let start = first - before;
        if !search.begins.contains(&start) {
            return None;
        }
        let known = search.known.entry(index).or_default();
        let end = value.rest(search.text, first, position, known);
        masks.extend(end.ok().map(|end| start..end));
        end.err()
    }
}

impl Value {
    fn new(bytes: Vec<u8>) -> Value {
        let mut characters = Vec::new();
        let mut at = 0;
        while let Some((code, length)) = first_character(&bytes[at..]) {
            characters.push(Character { code, at: at..at + length });
            at += length;
        }
        let is_same =
            |one: &Character, other: &Character| (one.code, one.at.len()) == (other.code, other.at.len());
        let repeats =
            literal::repeats(characters.len(), |one, other| is_same(&characters[one], &characters[other]));
        let literal = Literal::new(bytes.iter().copied().take_while(|byte| *byte != b'\\').collect());
        let mut own_slashes: Vec<usize> = characters
            .iter()
            .rev()
            .scan(0, |own, character| {
                *own = if character.code == BACKSLASH { *own + 1 } else { 0 };
                Some(*own)
            })
            .collect();
        own_slashes.reverse();
        Value { bytes, characters, repeats, literal, own_slashes, alike: OnceLock::new() }
    }

    /// Returns the length of the longest form in bytes.
    fn longest(&self) -> usize {
        let of = |character: &Character| match character.at.len() {
            1 => LONGEST_ASCII,
            length => (length * LONGEST_BYTE).max(LONGEST_NAMED),
        };
        self.characters.iter().map(of).sum()
    }

    /// Returns the maximum number of backslashes in a text for this character of the value.
    fn most_slashes(&self, position: usize) -> usize {
        MOST_SLASHES * (self.own_slashes[position] + 1)
    }

    /// Returns how many bytes of the value may stand before an escape instead of so many, if with these the text
    /// differs at a position.
    fn next_different(&self, standing: usize, position: usize, differs: usize) -> usize {
        let shorter = self.literal.next_shorter(standing);
        let Ok(other) = self.characters.binary_search_by_key(&shorter, |found| found.at.start) else {
            return shorter;
        };
        // What stands there repeats these characters, and so does what follows in the value, up to a position.
        let (bytes, characters) = (standing - shorter, position - other);
        let repeats_to = characters + self.repeats.get(characters).copied().unwrap_or(0);
        let examined = differs + self.own_slashes[differs] + AHEAD;
        if shorter < bytes || repeats_to < examined {
            return shorter;
        }
        // With fewer repetitions, the value goes on with the same characters, from which the text differs.
        self.literal.next_shorter(bytes + standing % bytes)
    }

    fn step(&self, text: &[u8], at: usize, position: usize) -> Option<(usize, usize)> {
        if let Some((code, end)) = entity(text, at)
            && code == self.characters[position].code
        {
            return Some((end, position + 1));
        }
        let most = self.most_slashes(position);
        let run = slashes(&text[at..], most + 1);
        if run == 0 {
            return Some((self.as_itself(text, at, position)?, position + 1));
        }
        if most < run {
            return None;
        }
        let after = at + run;
        let own = self.own_slashes[position];
        if own == 0 {
            let end = self.spelt(text, after, position).or_else(|| {
                let end = self.as_itself(text, after, position)?;
                // Before a letter, a backslash has another meaning.
                (!text[after].is_ascii_alphanumeric()).then_some(end)
            });
            return Some((end?, position + 1));
        }
        self.step_over_slashes(text, at, position, own)
    }

    /// Skips backslashes of the value, which may be written as numbers, and the character after them.
    fn step_over_slashes(
        &self,
        text: &[u8],
        from: usize,
        position: usize,
        own: usize,
    ) -> Option<(usize, usize)> {
        let next = position + own;
        // The value itself may contain such a number.
        let is_literal = self.is_number(next);
        let most = own * LONGEST_ASCII + MOST_SLASHES;
        let (mut at, mut seen, mut spelt) = (from, 0, 0);
        let run = loop {
            let run = slashes(&text[at..], most + 1);
            seen += run;
            match slash_by_number(text, at + run).filter(|_| 0 < run && spelt < own && !is_literal) {
                Some(end) => (at, spelt) = (end, spelt + 1),
                None => break run,
            }
        };
        // Each of them takes at least one backslash.
        if seen < own || most < at + run - from {
            return None;
        }
        if next == self.characters.len() {
            return Some((at + run.min(MOST_SLASHES * (own - spelt)), next));
        }
        let after = at + run;
        let escaped = (0 < run).then(|| self.spelt(text, after, next)).flatten();
        Some((escaped.or_else(|| self.as_itself(text, after, next))?, next + 1))
    }

    /// Returns whether the value has the number of a backslash at a position.
    fn is_number(&self, position: usize) -> bool {
        let after = self.characters.get(position);
        after.is_some_and(|after| slash_by_number(&self.bytes, after.at.start).is_some())
    }

    fn as_itself(&self, text: &[u8], at: usize, position: usize) -> Option<usize> {
        let bytes = &self.bytes[self.characters[position].at.clone()];
        text[at..].starts_with(bytes).then_some(at + bytes.len())
    }

    /// Returns the end if a character is written as its number or as `\n`. `at` is after the backslashes.
    fn spelt(&self, text: &[u8], at: usize, position: usize) -> Option<usize> {
        let character = &self.characters[position];
        let bytes = &self.bytes[character.at.clone()];
        // `echo` takes a zero before three octal digits.
        if let Some((byte, end)) = octal_after_zero(text, at)
            && bytes[0] == byte
        {
            return bytes[1..].iter().try_fold(end, |at, byte| escaped_byte(text, at, *byte));
        }
        match escape(text, at)? {
            (Escape::Code(code), end) => (code == character.code).then_some(end),
            (Escape::Named, end) => (1 < character.at.len()).then_some(end),
            (Escape::Byte(byte), end) if u32::from(byte) == character.code => Some(end),
            (Escape::Byte(byte), end) if byte == bytes[0] => {
                bytes[1..].iter().try_fold(end, |at, byte| escaped_byte(text, at, *byte))
            }
            (Escape::Byte(_), _) => None,
        }
    }
}

/// Returns the end of a number of a backslash. `at` is after the backslashes before it.
fn slash_by_number(text: &[u8], at: usize) -> Option<usize> {
    if let Some((b'\\', end)) = octal_after_zero(text, at) {
        return Some(end);
    }
    match escape(text, at)? {
        (Escape::Code(code), end) => (code == BACKSLASH).then_some(end),
        (Escape::Byte(byte), end) => (byte == b'\\').then_some(end),
        (Escape::Named, _) => None,
    }
}

/// Returns the end of this byte, if it stands escaped at a place, backslashes included.
fn escaped_byte(text: &[u8], at: usize, expect: u8) -> Option<usize> {
    let run = slashes(&text[at..], MOST_SLASHES);
    let at = at + run;
    if run == 0 {
        return None;
    }
    let with_zero = octal_after_zero(text, at).filter(|(byte, _)| *byte == expect);
    with_zero.map(|(_, end)| end).or_else(|| match escape(text, at)? {
        (Escape::Byte(byte), end) => (byte == expect).then_some(end),
        (Escape::Code(_) | Escape::Named, _) => None,
    })
}

/// Reads a zero and three octal digits, and returns the byte with its end.
fn octal_after_zero(text: &[u8], at: usize) -> Option<(u8, usize)> {
    match text.get(at..at + 4)? {
        [b'0', first @ b'0'..=b'3', second @ b'0'..=b'7', third @ b'0'..=b'7'] => {
            Some((((first - b'0') << 6) | ((second - b'0') << 3) | (third - b'0'), at + 4))
        }
        _ => None,
    }
}

/// The text after backslashes.
enum Escape {
    /// The code point of a character: `u00e9`, `n`.
    Code(u32),
    /// The code point of a character, or one of its bytes: `xe9`, `303`.
    Byte(u8),
    /// A character by its Unicode name. Any name stands for any character that is not ASCII: around it, the text must
    /// be the value.
    Named,
}

/// Reads the text after backslashes, and returns it with its end.
fn escape(text: &[u8], at: usize) -> Option<(Escape, usize)> {
    let code = match text.get(at)? {
        // JavaScript and Rust, Perl.
        b'u' | b'x' if text.get(at + 1) == Some(&b'{') => return braced(text, at + 2, 16),
        b'o' if text.get(at + 1) == Some(&b'{') => return braced(text, at + 2, 8),
        b'N' if text.get(at + 1..at + 4) == Some(b"{U+") => return braced(text, at + 4, 16),
        b'N' if text.get(at + 1) == Some(&b'{') => {
            let name = text[at + 2..].iter().take(LONGEST_UNICODE_NAME + 1);
            let length = name.take_while(|byte| byte.is_ascii_alphanumeric() || b" -".contains(byte)).count();
            let end = at + 2 + length;
            let escape = match ascii_named(&text[at + 2..end]) {
                Some(character) => Escape::Code(u32::from(character)),
                None => Escape::Named,
            };
            return (0 < length && text.get(end) == Some(&b'}')).then_some((escape, end + 1));
        }
        // Python and C.
        b'U' => {
            let code = hexadecimal(text.get(at + 1..at + 9)?)?;
            return Some((Escape::Code(code), at + 9));
        }
        b'u' => {
            let first = hexadecimal(text.get(at + 1..at + 5)?)?;
            let end = at + 5;
            if !(0xd800..0xdc00).contains(&first) {
                return Some((Escape::Code(first), end));
            }
            // The second half of a surrogate pair follows. Alone the first half has no meaning.
            let run = slashes(&text[end..], MOST_SLASHES);
            let half = end + run;
            let second = match text.get(half..half + 5) {
                Some([b'u', digits @ ..]) if run != 0 => hexadecimal(digits)?,
                _ => return None,
            };
            let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
            return Some((Escape::Code(0x1_0000 + ((first - 0xd800) << 10) + low), half + 5));
        }
        b'x' => return Some((Escape::Byte(hexadecimal(text.get(at + 1..at + 3)?)? as u8), at + 3)),
        // Up to three digits, which C and JavaScript do not fill up.
        first @ b'0'..=b'7' => {
            let most = if *first <= b'3' { 3 } else { 2 };
            let digits = text[at..].iter().take(most).take_while(|digit| matches!(digit, b'0'..=b'7'));
            let (number, length) = digits
                .fold((0, 0), |(number, length), digit| (number * 8 + u32::from(digit - b'0'), length + 1));
            return Some((Escape::Byte(number as u8), at + length));
        }
        b'n' => 0x0a,
        b'r' => 0x0d,
        b't' => 0x09,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'a' => 0x07,
        b'v' => 0x0b,
        b'e' | b'E' => 0x1b,
        _ => return None,
    };
    Some((Escape::Code(code), at + 1))
}

/// The Unicode names of the ASCII characters that are neither letters nor digits.
const ASCII_NAMES: &[(&str, char)] = &[
    ("SPACE", ' '),
    ("EXCLAMATION MARK", '!'),
    ("QUOTATION MARK", '"'),
    ("NUMBER SIGN", '#'),
    ("DOLLAR SIGN", '$'),
    ("PERCENT SIGN", '%'),
    ("AMPERSAND", '&'),
    ("APOSTROPHE", '\''),
    ("LEFT PARENTHESIS", '('),
    ("RIGHT PARENTHESIS", ')'),
    ("ASTERISK", '*'),
    ("PLUS SIGN", '+'),
    ("COMMA", ','),
    ("HYPHEN-MINUS", '-'),
    ("FULL STOP", '.'),
    ("SOLIDUS", '/'),
    ("COLON", ':'),
    ("SEMICOLON", ';'),
    ("LESS-THAN SIGN", '<'),
    ("EQUALS SIGN", '='),
    ("GREATER-THAN SIGN", '>'),
    ("QUESTION MARK", '?'),
    ("COMMERCIAL AT", '@'),
    ("LEFT SQUARE BRACKET", '['),
    ("REVERSE SOLIDUS", '\\'),
    ("RIGHT SQUARE BRACKET", ']'),
    ("CIRCUMFLEX ACCENT", '^'),
    ("LOW LINE", '_'),
    ("GRAVE ACCENT", '`'),
    ("LEFT CURLY BRACKET", '{'),
    ("VERTICAL LINE", '|'),
    ("RIGHT CURLY BRACKET", '}'),
    ("TILDE", '~'),
];

const DIGITS: &[&str] = &["ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE"];

/// Returns the ASCII character with a Unicode name, in any case.
fn ascii_named(name: &[u8]) -> Option<char> {
    if LONGEST_ASCII_NAME < name.len() {
        return None;
    }
    let name = std::str::from_utf8(name).ok()?.to_ascii_uppercase();
    let one = |rest: &str| rest.chars().next().filter(|c| rest.len() == 1 && c.is_ascii_alphabetic());
    if let Some(letter) = name.strip_prefix("LATIN SMALL LETTER ").and_then(one) {
        return Some(letter.to_ascii_lowercase());
    }
    if let Some(letter) = name.strip_prefix("LATIN CAPITAL LETTER ").and_then(one) {
        return Some(letter);
    }
    if let Some(digit) = name.strip_prefix("DIGIT ") {
        return DIGITS
            .iter()
            .position(|name| *name == digit)
            .and_then(|digit| char::from_digit(digit as u32, 10));
    }
    ASCII_NAMES.iter().find(|(known, _)| *known == name).map(|(_, c)| *c)
}

fn hexadecimal(digits: &[u8]) -> Option<u32> {
    digits
        .iter()
        .try_fold(0u32, |number, digit| number.checked_mul(16)?.checked_add(char::from(*digit).to_digit(16)?))
}

/// Reads the digits up to a `}`.
fn braced(text: &[u8], at: usize, base: u32) -> Option<(Escape, usize)> {
    let (code, end) = number(text, at, base)?;
    (text.get(end) == Some(&b'}')).then_some((Escape::Code(code), end + 1))
}

/// Reads a number, and returns it with its end.
fn number(text: &[u8], at: usize, base: u32) -> Option<(u32, usize)> {
    let digits = || text[at.min(text.len())..].iter().map_while(|digit| char::from(*digit).to_digit(base));
    let length = digits().count();
    let value = digits().try_fold(0u32, |value, digit| value.checked_mul(base)?.checked_add(digit))?;
    (1..=MOST_DIGITS).contains(&length).then_some((value, at + length))
}

/// Reads an entity of HTML, and returns its character with its end.
fn entity(text: &[u8], at: usize) -> Option<(u32, usize)> {
    if text.get(at) != Some(&b'&') {
        return None;
    }
    if text.get(at + 1) == Some(&b'#') {
        let (code, end) = match text.get(at + 2)? {
            b'x' | b'X' => number(text, at + 3, 16)?,
            _ => number(text, at + 2, 10)?,
        };
        // Readers do without the end.
        return Some((code, end + usize::from(text.get(end) == Some(&b';'))));
    }
    let behind = &text[at + 1..text.len().min(at + 2 + LONGEST_NAME)];
    let length = behind.iter().position(|byte| *byte == b';')?;
    let code = named_character(std::str::from_utf8(&behind[..length]).ok()?)?;
    Some((code, at + length + 2))
}

fn slashes(text: &[u8], most: usize) -> usize {
    text.iter().take(most).take_while(|byte| **byte == b'\\').count()
}

/// Returns the code point and length of the first character of a text.
fn first_character(text: &[u8]) -> Option<(u32, usize)> {
    let first = *text.first()?;
    if first.is_ascii() {
        return Some((u32::from(first), 1));
    }
    let piece = &text[..text.len().min(4)];
    let valid = match std::str::from_utf8(piece) {
        Ok(valid) => valid,
        Err(error) => std::str::from_utf8(&piece[..error.valid_up_to()]).unwrap_or_default(),
    };
    match valid.chars().next() {
        Some(character) => Some((u32::from(character), character.len_utf8())),
        None => Some((0xdc00 + u32::from(first), 1)),
    }
}

#[cfg(test)]
mod tests;
