//! The regular expressions of `pattern`: translates JSON Schema's dialect (ECMA-262) to the syntax of the `regex`
//! crate.
//!
//! The two dialects share most of their syntax, but differ in details that would silently change what matches: `\d` and
//! `\w` are ASCII in one and Unicode in the other, `.` excludes other line ends, `[a&&b]` is three characters or an
//! intersection. The expression is therefore parsed and written again. Syntax without a counterpart (look-around,
//! backreferences) is a fault. Matching takes linear time.

use std::iter::Peekable;
use std::str::Chars;

use regex::{Error, Regex, RegexBuilder};

use crate::limits::MAX_PATTERN_BYTES;
use crate::problem::PatternFault;

const DIGIT: &str = "0-9";
const WORD: &str = "0-9A-Za-z_";
/// Whitespace and line ends of ECMA-262.
const SPACE: &str = "\\x09-\\x0D\\x20\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}\\x{FEFF}";
const NOT_LINE_END: &str = "[^\\n\\r\\x{2028}\\x{2029}]";
const ANYTHING: &str = "[\\x{0}-\\x{10FFFF}]";
const NOTHING: &str = "[^\\x{0}-\\x{10FFFF}]";

/// Compiles a `pattern`.
pub(crate) fn compile(pattern: &str) -> Result<Regex, PatternFault> {
    let translated = translate(pattern)?;
    RegexBuilder::new(&translated)
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES)
        .build()
        .map_err(|error| match error {
            Error::CompiledTooBig(_) => PatternFault::TooLarge,
            _ => PatternFault::Syntax,
        })
}

/// One escape or character.
enum Atom {
    /// Matches itself.
    Literal(char),
    /// The inside of a class, such as `0-9`.
    Class(&'static str),
    /// The complement of the inside of a class.
    NotClass(&'static str),
    /// `\p{…}` or `\P{…}`, as written.
    Property(String),
    /// `\b`, which is a backspace inside a class.
    WordBoundary,
    /// `\B`.
    NotWordBoundary,
}

/// What precedes the next character. It decides whether a quantifier may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// The start of an expression, or an assertion.
    Nothing,
    /// Something that matches text.
    Atom,
    /// A quantifier, which a `?` may make lazy.
    Quantifier,
}

/// Translates the ECMA-262 expression `pattern` to the syntax of the `regex` crate.
fn translate(pattern: &str) -> Result<String, PatternFault> {
    let mut text = pattern.chars().peekable();
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut before = Before::Nothing;
    while let Some(c) = text.next() {
        before = match c {
            '\\' => match escape(&mut text)? {
                Atom::WordBoundary => {
                    out.push_str("(?-u:\\b)");
                    Before::Nothing
                }
                Atom::NotWordBoundary => {
                    out.push_str("(?-u:\\B)");
                    Before::Nothing
                }
                atom => {
                    push_atom(&mut out, &atom, Place::Outside);
                    Before::Atom
                }
            },
            '[' => {
                class(&mut text, &mut out)?;
                Before::Atom
            }
            '.' => {
                out.push_str(NOT_LINE_END);
                Before::Atom
            }
            '(' => {
                out.push('(');
                if text.next_if_eq(&'?').is_some() {
                    group(&mut text, &mut out)?;
                }
                Before::Nothing
            }
            '^' | '$' | '|' => {
                out.push(c);
                Before::Nothing
            }
            ')' => {
                out.push(c);
                Before::Atom
            }
            '*' | '+' | '?' => {
                out.push(c);
                repeat(before, c)?
            }
            '{' if is_quantifier(&text) => {
                out.push('{');
                out.extend(text.by_ref().take_while(|c| *c != '}'));
                out.push('}');
                repeat(before, c)?
            }
            other => {
                push_literal(&mut out, other);
                Before::Atom
            }
        };
    }
    Ok(out)
}

/// Returns the new state after the quantifier that starts with `c`.
fn repeat(before: Before, c: char) -> Result<Before, PatternFault> {
    match before {
        Before::Atom => Ok(Before::Quantifier),
        Before::Quantifier if c == '?' => Ok(Before::Nothing),
        Before::Quantifier | Before::Nothing => Err(PatternFault::Syntax),
    }
}

/// Reads what follows `(?`.
fn group(text: &mut Peekable<Chars<'_>>, out: &mut String) -> Result<(), PatternFault> {
    match text.next() {
        Some(':') => out.push_str("?:"),
        Some('=' | '!') => return Err(PatternFault::LookAround),
        Some('<') => match text.peek() {
            Some('=' | '!') => return Err(PatternFault::LookAround),
            _ => {
                out.push_str("?<");
                for c in text.by_ref().take_while(|c| *c != '>') {
                    out.push(c);
                }
                out.push('>');
            }
        },
        Some(_) => return Err(PatternFault::Group),
        None => return Err(PatternFault::Syntax),
    }
    Ok(())
}

/// Returns whether the text after `{` makes it a quantifier: `3}`, `3,}` or `3,5}`.
fn is_quantifier(rest: &Peekable<Chars<'_>>) -> bool {
    let mut rest = rest.clone();
    let mut digits = 0;
    let mut commas = 0;
    loop {
        match rest.next() {
            Some('0'..='9') => digits += 1,
            Some(',') if commas == 0 && digits != 0 => commas += 1,
            Some('}') => return digits != 0,
            _ => return false,
        }
    }
}

/// Reads a class after its `[`.
fn class(text: &mut Peekable<Chars<'_>>, out: &mut String) -> Result<(), PatternFault> {
    let negated = text.next_if_eq(&'^').is_some();
    if text.next_if_eq(&']').is_some() {
        out.push_str(if negated { ANYTHING } else { NOTHING });
        return Ok(());
    }
    out.push_str(if negated { "[^" } else { "[" });
    loop {
        let first = match class_atom(text)? {
            None => break,
            Some(atom) => atom,
        };
        push_atom(out, &first, Place::Inside);
        if text.peek() != Some(&'-') {
            continue;
        }
        text.next();
        if text.peek() == Some(&']') {
            push_literal(out, '-');
            continue;
        }
        let last = class_atom(text)?.ok_or(PatternFault::Syntax)?;
        match (&first, &last) {
            (Atom::Literal(_), Atom::Literal(_)) => out.push('-'),
            // `[\w-.]`: one end is a whole class, so the minus is literal.
            _ => push_literal(out, '-'),
        }
        push_atom(out, &last, Place::Inside);
    }
    out.push(']');
    Ok(())
}

/// Reads one atom of a class, or `None` at its end.
fn class_atom(text: &mut Peekable<Chars<'_>>) -> Result<Option<Atom>, PatternFault> {
    match text.next() {
        None => Err(PatternFault::Syntax),
        Some(']') => Ok(None),
        Some('\\') => match escape(text)? {
            Atom::WordBoundary => Ok(Some(Atom::Literal('\u{8}'))),
            Atom::NotWordBoundary => Err(PatternFault::Escape),
            atom => Ok(Some(atom)),
        },
        Some(c) => Ok(Some(Atom::Literal(c))),
    }
}

/// Reads an escape after its `\`.
fn escape(text: &mut Peekable<Chars<'_>>) -> Result<Atom, PatternFault> {
    let c = text.next().ok_or(PatternFault::Syntax)?;
    Ok(match c {
        'd' => Atom::Class(DIGIT),
        'D' => Atom::NotClass(DIGIT),
        'w' => Atom::Class(WORD),
        'W' => Atom::NotClass(WORD),
        's' => Atom::Class(SPACE),
        'S' => Atom::NotClass(SPACE),
        'b' => Atom::WordBoundary,
        'B' => Atom::NotWordBoundary,
        't' => Atom::Literal('\t'),
        'n' => Atom::Literal('\n'),
        'v' => Atom::Literal('\u{B}'),
        'f' => Atom::Literal('\u{C}'),
        'r' => Atom::Literal('\r'),
        '0' if !matches!(text.peek(), Some('0'..='9')) => Atom::Literal('\0'),
        '0'..='9' | 'k' => return Err(PatternFault::Backreference),
        'c' => match text.next() {
            Some(letter @ ('a'..='z' | 'A'..='Z')) => Atom::Literal(char::from(letter as u8 % 32)),
            _ => return Err(PatternFault::Escape),
        },
        'x' => Atom::Literal(char::from_u32(hex(text, 2)?).ok_or(PatternFault::Escape)?),
        'u' => Atom::Literal(unicode(text)?),
        'p' | 'P' => Atom::Property(property(c, text)?),
        other if other.is_alphanumeric() => return Err(PatternFault::Escape),
        other => Atom::Literal(other),
    })
}

/// Reads what follows `\u`: four digits, two such halves of a pair, or digits in braces.
fn unicode(text: &mut Peekable<Chars<'_>>) -> Result<char, PatternFault> {
    if text.next_if_eq(&'{').is_some() {
        let digits: String = text.by_ref().take_while(|c| *c != '}').collect();
        let code = u32::from_str_radix(&digits, 16).map_err(|_| PatternFault::Escape)?;
        return char::from_u32(code).ok_or(PatternFault::Escape);
    }
    let mut units = vec![hex(text, 4)?];
    if matches!(units[0], 0xD800..=0xDBFF) {
        if text.next() != Some('\\') || text.next() != Some('u') {
            return Err(PatternFault::Escape);
        }
        units.push(hex(text, 4)?);
    }
    let units = units.into_iter().filter_map(|unit| u16::try_from(unit).ok());
    match char::decode_utf16(units).next() {
        Some(Ok(c)) => Ok(c),
        _ => Err(PatternFault::Escape),
    }
}

fn hex(text: &mut Peekable<Chars<'_>>, digits: usize) -> Result<u32, PatternFault> {
    (0..digits).try_fold(0, |code, _| {
        let digit = text.next().and_then(|c| c.to_digit(16)).ok_or(PatternFault::Escape)?;
        Ok(code * 16 + digit)
    })
}

/// Reads what follows `\p`: a name in braces, which the `regex` crate checks.
fn property(letter: char, text: &mut Peekable<Chars<'_>>) -> Result<String, PatternFault> {
    if text.next() != Some('{') {
        return Err(PatternFault::Escape);
    }
    let name: String = text.by_ref().take_while(|c| *c != '}').collect();
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '=';
    if name.is_empty() || !name.chars().all(legal) {
        return Err(PatternFault::Escape);
    }
    Ok(format!("\\{letter}{{{name}}}"))
}

/// Where an atom is written. A class needs brackets only outside another class.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Inside,
    Outside,
}

fn push_atom(out: &mut String, atom: &Atom, place: Place) {
    match atom {
        Atom::Literal(c) => push_literal(out, *c),
        Atom::Class(inside) if place == Place::Inside => out.push_str(inside),
        Atom::Class(inside) => out.extend(["[", inside, "]"]),
        Atom::NotClass(inside) => out.extend(["[^", inside, "]"]),
        Atom::Property(text) => out.push_str(text),
        // Callers translate these two themselves. On their own they match nothing.
        Atom::WordBoundary | Atom::NotWordBoundary => {}
    }
}

/// Writes a character that matches itself, inside and outside classes.
fn push_literal(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() || !c.is_ascii() {
        out.push(c);
    } else {
        out.push_str(&format!("\\x{{{:X}}}", u32::from(c)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, text: &str, expect: bool) {
        let regex = compile(pattern).unwrap_or_else(|fault| panic!("{pattern}: {fault}"));
        assert_eq!(regex.is_match(text), expect, "{pattern} on {text:?}");
    }

    #[track_caller]
    fn check_fault(pattern: &str, expect: PatternFault) {
        assert_eq!(compile(pattern).map(|regex| regex.to_string()), Err(expect), "{pattern}");
    }

    #[test]
    fn patterns_search_unless_anchored() {
        check("b", "abc", true);
        check("^b", "abc", false);
        check("^abc$", "abc", true);
        check("^abc$", "abc\n", false);
        check("", "anything", true);
        check("^(?:a|b)+$", "abba", true);
        check("^(?<year>\\d{4})-\\d{2}$", "2024-05", true);
    }

    #[test]
    fn classes_are_ascii_except_white_space() {
        check("^\\d$", "7", true);
        check("^\\d$", "\u{7c1}", false);
        check("^\\D$", "\u{7c1}", true);
        check("^\\w$", "é", false);
        check("^\\W$", "é", true);
        check("^\\s$", "\u{feff}", true);
        check("^\\s$", "\u{2029}", true);
        check("^\\s$", "\u{85}", false);
        check("^\\S$", "\u{3000}", false);
        check("^[\\d\\s]+$", "1 2", true);
        check("^[^\\D]$", "5", true);
        check("^[\\W_]$", "é", true);
        check("\\bb", "éb", true);
        check("a\\Bb", "ab", true);
    }

    #[test]
    fn the_dot_stops_at_every_line_end() {
        check("^.$", "a", true);
        check("^.$", "😀", true);
        for end in ["\n", "\r", "\u{2028}", "\u{2029}"] {
            check("^.$", end, false);
        }
        check("^[^]$", "\n", true);
        check("[]", "a", false);
    }

    #[test]
    fn classes_know_no_set_operators() {
        check("^[a&&b]+$", "a&b", true);
        check("^[[a]+$", "[a", true);
        check("^[a~~b]$", "~", true);
        check("^[+--]+$", "+,-", true);
        check("^[--a]$", "A", true);
        check("^[a-]+$", "a-", true);
        check("^[-a]+$", "a-", true);
        check("^[\\w-.]+$", "a-.b", true);
        check("^[\\w-.]+$", ",", false);
        check("^[\\]^]+$", "]^", true);
        check("^[[:alpha:]]$", "a]", true);
        check("^[ \\-#]$", "#", true);
    }

    #[test]
    fn escapes_name_characters() {
        check("^\\u0041\\x42\\u{43}\\0$", "ABC\0", true);
        check("^\\uD83D\\uDE00$", "😀", true);
        check("^\\cA\\t\\v\\f\\r\\n$", "\u{1}\t\u{b}\u{c}\r\n", true);
        check("^[\\b]$", "\u{8}", true);
        check("^\\/\\.\\-\\_ \\#&$", "/.-_ #&", true);
        check("^\\p{L}\\P{L}\\p{Letter}\\p{Lu}$", "é1ñÉ", true);
    }

    #[test]
    fn braces_are_literal_unless_they_are_a_quantifier() {
        check("^a{2}b{1,}c{0,1}$", "aab", true);
        check("^{a}$", "{a}", true);
        check("^a{2}?b+?c*?d??$", "aab", true);
        check("^a{,2}$", "a{,2}", true);
        check("^\\{\\}]$", "{}]", true);
        check("^\\$\\{[A-Z_]+}$", "${HOME}", true);
    }

    #[test]
    fn syntax_without_a_counterpart_is_a_fault() {
        for pattern in ["(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "^(?!.*\\.\\.).*$"] {
            check_fault(pattern, PatternFault::LookAround);
        }
        check_fault("(a)\\1", PatternFault::Backreference);
        check_fault("(?<n>a)\\k<n>", PatternFault::Backreference);
        check_fault("\\00", PatternFault::Backreference);
        for pattern in ["(?i)a", "(?P<n>a)", "(?>a)", "(?#a)"] {
            check_fault(pattern, PatternFault::Group);
        }
        for pattern in [
            "\\A", "\\Z", "\\a", "\\e", "\\Q", "\\c1", "\\u12", "\\uD83D", "\\x1", "\\p{a-b}", "\\pL",
            "[\\B]",
        ] {
            check_fault(pattern, PatternFault::Escape);
        }
        for pattern in [
            "(",
            ")",
            "[",
            "[a",
            "[z-a]",
            "*",
            "a**b\\",
            "(?",
            "(?<1>a)",
            "(?<n",
            "a++",
            "^*",
            "\\b?",
            "a???",
            "(|*)",
            "\\p{Nonsense}",
            "a{2,1}",
        ] {
            check_fault(pattern, PatternFault::Syntax);
        }
    }

    #[test]
    fn large_repetitions_are_refused() {
        check_fault("(?:a{1000}){1000}", PatternFault::TooLarge);
        check_fault("a{4294967295}", PatternFault::TooLarge);
        check_fault("a{99999999999999999999}", PatternFault::Syntax);
    }
}
