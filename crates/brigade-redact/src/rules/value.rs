//! The value of a field with a secret name: where it starts, and whether it is a secret.
//!
//! Values that cannot be a secret are kept: booleans and null, type names, placeholders and variables (`<token>`,
//! `$TOKEN`, `${TOKEN:-postgres}`, `YOUR_TOKEN`), files below the home directory, the field's own name (`token=token`),
//! program text (`let token = lexer.next();`), and a text that says what the value must be (`password: at least 8
//! characters`). `token` is also a word of parsers, so after `token: ` short words of
//! letters and numbers of up to three digits are kept. In doubt, a value is masked.

use super::prose::is_prose;
use super::{Field, Found, Separator, is_blank, is_quote, is_token68};
use crate::name::{NameKind, classify, is_count, is_password};
use crate::shape::SecretKind;
use crate::swallow::{Swallow, beginning};
use crate::window::{More, Window};
use crate::words::{HARMLESS_WORDS, KEPT_IN, RECEIVERS, REFERENCES, SCHEMES, SECRET_WORDS, SHORT_NAMES};

/// How much of a value is read to classify it.
const LOOKED_AT: usize = 96;

/// The maximum length of an XML element's text. A longer text is unlikely to be a password.
const LONGEST_ELEMENT: usize = 1024;

/// Finds the secret in the value of a field.
pub(super) fn find(window: Window<'_>, field: &Field<'_>) -> Result<Option<Found>, More> {
    if field.separator == Separator::Element {
        let end = window.skip(field.value, LONGEST_ELEMENT, |b| !matches!(b, b'<' | b'\n'))?;
        let harmless = is_harmless_word(&window.bytes[field.value..end], field) || !window.has(end, b"</")?;
        return Ok(found_unless(harmless, field.value, Swallow::Fixed(end - field.value)));
    }
    if let Some(found) = quoted(window, field.value, field)? {
        return Ok(found);
    }
    if !matches!(field.kind, NameKind::Tokens | NameKind::Pass)
        && window.at(field.value)? == Some(b'[')
        && !window.has_mark(field.value)?
    {
        let inside = window.skip(field.value + 1, 64, |b| is_blank(b) || b == b'\n' || b == b'\r')?;
        let inside = window.skip(inside, 8, |b| b == b'\\')?;
        let is_list = window.at(inside)?.is_some_and(is_quote);
        let swallow = Swallow::List { open: None, seen: 0 };
        return Ok(found_unless(!is_list, field.value, swallow));
    }
    bare(window, field)
}

fn found_unless(harmless: bool, start: usize, swallow: Swallow) -> Option<Found> {
    (!harmless).then_some(Found { start, swallow, kind: SecretKind::NamedValue })
}

/// Finds a quoted value. `None` means no quotes, `Some(None)` means the quoted text is not secret.
fn quoted(window: Window<'_>, at: usize, field: &Field<'_>) -> Result<Option<Option<Found>>, More> {
    // String prefixes in Python, Rust, C# and shells.
    let mut open = at;
    let letters = window.skip(at, 3, |b| b"bBrRuUfF$@&(".contains(&b))?;
    let slashes = window.skip(letters, 16, |b| b == b'\\')?;
    if window.at(slashes)?.is_some_and(is_quote) {
        open = slashes;
    }
    let Some(quote) = window.at(open)?.filter(|b| is_quote(*b)) else { return Ok(None) };
    let start = open + 1;
    if window.has(start, &[quote, quote])? {
        return Ok(Some(found_unless(false, start + 2, Swallow::Triple { quote, seen: 0 })));
    }
    let swallow = Swallow::Quoted { quote, slashes: open - letters.min(open) };
    let text = beginning(window, start, LOOKED_AT, swallow.clone())?;
    if is_harmless_word(text, field) || (quote == b'`' && text.len() < 2) {
        return Ok(Some(None));
    }
    if field.kind == NameKind::Tokens {
        let one_word = std::str::from_utf8(text).is_ok_and(|text| !text.contains(' ') && !is_count(text));
        let plain = text.iter().all(u8::is_ascii_lowercase);
        return Ok(Some(found_unless(!one_word || plain || text.len() < 8, start, swallow)));
    }
    if field.kind == NameKind::Pass && !std::str::from_utf8(text).is_ok_and(is_password) {
        return Ok(Some(None));
    }
    let scheme = scheme_length(text).unwrap_or(0);
    let refers = 0 < scheme && std::str::from_utf8(&text[scheme..]).is_ok_and(is_placeholder);
    Ok(Some(found_unless(refers, start + scheme, swallow)))
}

/// Returns the length of an authorization scheme at the start of a value, including the space after it.
fn scheme_length(text: &[u8]) -> Option<usize> {
    let blank = text.iter().position(|b| is_blank(*b))?;
    let scheme = &text[..blank];
    let known = SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known.as_bytes()));
    (known && blank + 1 < text.len()).then_some(blank + 1)
}

fn bare(window: Window<'_>, field: &Field<'_>) -> Result<Option<Found>, More> {
    if field.separator == Separator::Comparison && (field.spaced || field.kind == NameKind::Token) {
        return Ok(None);
    }
    let start = field.value;
    // Text that was masked up to the quote before the name ends there.
    if field.kind == NameKind::Authorization && field.open_quote.is_some() && window.has_mark(start)? {
        return Ok(None);
    }
    let word = beginning(window, start, LOOKED_AT, Swallow::Bare)?;
    let is_default = || field.in_expansion && is_plain_default(word);
    if word.is_empty()
        || is_harmless_word(word, field)
        || is_default()
        || is_in_brackets(window, start, word)?
    {
        return Ok(None);
    }
    if field.kind == NameKind::Tokens {
        // Without quotes this is usually a number or a variable name.
        let has = |kind: fn(&u8) -> bool| word.iter().any(kind);
        let plain = word.iter().all(|b| is_token68(*b)) && path_length(word) != word.len();
        let random = 16 <= word.len() && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
        return Ok(found_unless(!random || !plain, start, Swallow::Bare));
    }
    if field.kind == NameKind::Pass {
        // After a colon this is usually the name of a test, unless nothing else is on the line.
        let ends = window.at(start + word.len())?.is_none_or(|b| matches!(b, b'\n' | b'\r' | b'"' | b'\''));
        let told = field.separator == Separator::Equals || (field.first_in_line && ends);
        let password = std::str::from_utf8(word).is_ok_and(is_password);
        return Ok(found_unless(!told || !password, start, Swallow::Bare));
    }
    if let Some(quote) = argument_of_call(word, field) {
        let quote = start + quote;
        let swallow = Swallow::Quoted { quote: window.bytes[quote], slashes: 0 };
        return Ok(found_unless(false, quote + 1, swallow));
    }
    if is_code(word, field) {
        return Ok(None);
    }
    let is_in_text = field.separator == Separator::Colon && field.spaced && field.open_quote.is_none();
    if is_in_text && is_prose(window, start, word)? {
        return Ok(None);
    }
    // `Bearer x`, in a header or elsewhere: the scheme remains readable.
    let end = start + word.len();
    let next = window.skip(end, 8, is_blank)?;
    if end < next && word.len() < LOOKED_AT && window.at(next)?.is_some_and(|b| b' ' < b) {
        if SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme.as_bytes())) {
            let first = window.at(next)?;
            let credentials = beginning(window, next, LOOKED_AT, Swallow::Bare)?;
            let refers = |text: &str| !text.is_empty() && is_placeholder(text);
            if std::str::from_utf8(credentials).is_ok_and(refers)
                || (!credentials.is_empty() && is_in_brackets(window, next, credentials)?)
            {
                return Ok(None);
            }
            let quoted = first.is_some_and(is_quote);
            return Ok(found_unless(quoted, next, Swallow::Bare));
        }
        // A scheme with parameters, such as Digest.
        if field.kind == NameKind::Authorization {
            return Ok(found_unless(false, start, Swallow::Line(field.open_quote)));
        }
    }
    // In YAML, in INI files and in headers a value extends to the end of the line.
    let to_line_end = field.kind == NameKind::Certain
        && field.first_in_line
        && matches!(field.separator, Separator::Colon | Separator::Equals)
        && field.spaced;
    Ok(found_unless(false, start, if to_line_end { Swallow::Line(None) } else { Swallow::Bare }))
}

/// Returns whether a word cannot be a secret.
fn is_harmless_word(word: &[u8], field: &Field<'_>) -> bool {
    let Ok(word) = std::str::from_utf8(word) else { return false };
    if word.starts_with('[') {
        return word == "[]";
    }
    let word = word.trim_end_matches([',', ';', ')', '}', ']']);
    let word = word.strip_suffix('.').filter(|word| !word.ends_with('.')).unwrap_or(word);
    let lower = word.to_ascii_lowercase();
    if word.is_empty() || HARMLESS_WORDS.contains(&lower.as_str()) || is_placeholder(word) {
        return true;
    }
    let own_name = field.name.trim_start_matches('-');
    if own_name.eq_ignore_ascii_case(word) || own_name.replace('-', "_").eq_ignore_ascii_case(word) {
        return true;
    }
    // A short name of a password is no password either.
    if field.kind == NameKind::Certain && SHORT_NAMES.contains(&word) {
        return true;
    }
    if field.kind != NameKind::Token {
        return false;
    }
    let small_number = word.len() < 4 && word.bytes().all(|b| b.is_ascii_digit());
    let short_word = word.len() < 8 && word.bytes().all(|b| b.is_ascii_alphabetic());
    small_number || (short_word && field.spaced && field.separator != Separator::Equals)
}

/// Returns whether a non-empty word stands for a value: a variable, a name in brackets, a file below the home
/// directory, `YOUR_TOKEN`, a row of stars.
pub(crate) fn is_placeholder(word: &str) -> bool {
    let bytes = word.as_bytes();
    match bytes[0] {
        b'$' => word[1..].starts_with(['{', '(']) || is_variable(&word[1..]),
        b'~' if word.starts_with("~/") => {
            word.bytes().all(|b| b.is_ascii_alphanumeric() || b"~/_-.".contains(&b))
        }
        b'y' | b'Y' if is_of_the_reader(word) => true,
        b'<' => word.strip_suffix('>').is_some_and(|text| is_plain_name(&text[1..])),
        b'{' => is_object_or_placeholder(&word[1..]),
        b'%' => word.len() == 2 || (word.starts_with("%(") && word.len() < 32),
        first @ (b'*' | b'.' | b'x' | b'X' | b'-' | b'#' | b'?' | b'_') => bytes.iter().all(|b| *b == first),
        first => word.chars().count() == 1 && !first.is_ascii_alphanumeric(),
    }
}

/// Returns whether a text behind `$` is the name of a variable: `X`, `DB_PASS1`, `api_key`. A password may begin with
/// `$`, too, so other names in lower case are none.
fn is_variable(name: &str) -> bool {
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_constant = !letters.is_empty()
        && name.len() <= letters.len() + 2
        && letters.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    let is_lower = |b: u8| b.is_ascii_lowercase() || b == b'_';
    is_constant || (name.bytes().all(is_lower) && classify(name).is_some())
}

/// Returns whether a word tells the reader what to write there: `YOUR_API_KEY`, `your-secret-here`.
fn is_of_the_reader(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let Some(rest) = lower.strip_prefix("your").filter(|rest| rest.starts_with(['_', '-', ' '])) else {
        return false;
    };
    let mut words = rest[1..].split(['_', '-', ' ']);
    words.clone().all(|part| part.bytes().all(|b| b.is_ascii_lowercase()))
        && words.any(|part| part == "here" || SECRET_WORDS.contains(&part))
}

/// Returns whether the text behind the name in `${NAME:-default}` is a plain word, or a message: `:-postgres`,
/// `:?is not set`.
fn is_plain_default(word: &[u8]) -> bool {
    let Ok(word) = std::str::from_utf8(word) else { return false };
    let Some(default) = word.strip_prefix(['-', '=', '+', '?']) else { return false };
    let default = default.trim_end_matches(['}', '"', '\'']);
    let is_plain = default.len() <= 16 && default.bytes().all(|b| b.is_ascii_lowercase());
    word.starts_with('?') || is_plain || is_placeholder(default)
}

/// Returns whether a command line value only refers to a secret: a file, a variable, a source.
pub(crate) fn is_reference(value: &str) -> bool {
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b"_-./".contains(&b);
    let is_lower = |b: u8| is_name(b) && !b.is_ascii_uppercase();
    REFERENCES.iter().any(|beginning| value.starts_with(beginning))
        || (value.bytes().all(is_name) && KEPT_IN.iter().any(|ending| value.ends_with(ending)))
        || (value.contains('/') && value.bytes().all(is_lower))
}

fn is_plain_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-. ".contains(&b))
}

/// Classifies the text after a `{`: that of `{{ name }}`, of `{name}`, or of an object. The fields of an object are
/// checked separately.
fn is_object_or_placeholder(inner: &str) -> bool {
    matches!(inner, "" | "}")
        || inner.starts_with(['{', '"', '\'', '\\'])
        || inner.strip_suffix('}').is_some_and(is_plain_name)
        || inner.strip_suffix(':').is_some_and(is_plain_name)
}

/// Returns whether an unquoted word is the inside of `<name>` or `{name}`, without the last bracket.
fn is_in_brackets(window: Window<'_>, start: usize, word: &[u8]) -> Result<bool, More> {
    let close = match word[0] {
        b'<' => b'>',
        b'{' => b'}',
        _ => return Ok(false),
    };
    let is_name = std::str::from_utf8(&word[1..]).is_ok_and(is_plain_name);
    Ok(is_name && window.at(start + word.len())? == Some(close))
}

/// Returns the length of a path of identifiers at the start, such as `self.lexer.next` or `Token::new`.
fn path_length(word: &[u8]) -> usize {
    let is_identifier = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let mut at = word.iter().take_while(|b| matches!(b, b'&' | b'*' | b'!')).count();
    loop {
        let length = word[at..].iter().take_while(|b| is_identifier(**b)).count();
        if length == 0 || word[at].is_ascii_digit() {
            return 0;
        }
        at += length;
        let joint = [&b"::"[..], b"->", b"?.", b"."].into_iter().find(|joint| word[at..].starts_with(joint));
        match joint {
            Some(joint)
                if word.get(at + joint.len()).is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_') =>
            {
                at += joint.len();
            }
            _ => return at,
        }
    }
}

/// Returns the position of the quote in `SecretString::from("…`, where a call wraps the secret.
///
/// The argument of a lookup (`getenv("TOKEN")`) is a name, not the secret.
fn argument_of_call(word: &[u8], field: &Field<'_>) -> Option<usize> {
    if !field.spaced {
        return None;
    }
    let path = path_length(word);
    let open = path + usize::from(word.get(path) == Some(&b'!'));
    if path == 0 || word.get(open) != Some(&b'(') || !word.get(open + 1).copied().is_some_and(is_quote) {
        return None;
    }
    let name = String::from_utf8_lossy(&word[..path]).to_ascii_lowercase();
    let looks_up =
        ["env", "get", "var", "read", "load", "input", "config", "lookup", "fetch", "param", "header"];
    (!looks_up.iter().any(|part| name.contains(part))).then_some(open + 1)
}

/// Returns whether an unquoted value is program text.
fn is_code(word: &[u8], field: &Field<'_>) -> bool {
    if !field.spaced {
        // `foo(token=self.token)`, without spaces around the sign.
        return word.starts_with(b"self.") || word.starts_with(b"this.") || word.starts_with(b"os.environ");
    }
    let path = path_length(word);
    if path == 0 {
        return false;
    }
    if matches!(word.get(path), Some(b'(' | b'<')) || word[path..].starts_with(b"!(") {
        return true;
    }
    let text = String::from_utf8_lossy(&word[..path]);
    if matches!(text.as_ref(), "new" | "await" | "async" | "function" | "lambda" | "match" | "if" | "String")
    {
        return true;
    }
    if matches!(field.separator, Separator::Colon) && (word.starts_with(b"&") || word.starts_with(b"*const"))
    {
        return true;
    }
    let receiver =
        text.split(['.', ':', '-', '?']).next().unwrap_or_default().trim_start_matches(['&', '*', '!']);
    text.len() != receiver.len() && RECEIVERS.contains(&receiver)
}
