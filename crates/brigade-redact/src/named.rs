//! Finds values after a secret name: `NAME=value` and `name: value` within a line.

use std::ops::Range;

use super::name::{is_method, is_secret_field, is_secret_name};
use super::text::{is_file, is_placeholder, is_variable_name, looks_random};

/// The kind of text in which names are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    /// Output of a program: the value must look like a secret itself.
    Output,
    /// A file of settings or a definition: a literal value is enough.
    Settings,
}

/// The maximum length of a name.
const LONGEST_NAME: usize = 64;

/// Lists the secret values of a line.
pub(crate) fn named_values(line: &[u8], context: Context) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for sign in memchr::memchr2_iter(b'=', b':', line) {
        if found.last().is_some_and(|last| sign < last.end) {
            continue;
        }
        found.extend(name_before(line, sign).and_then(|name| value_after(line, sign, &name, context)));
    }
    found
}

struct Name<'l> {
    text: &'l str,
    is_quoted: bool,
    /// Whether only white space, `export` or a list dash comes before it.
    is_first: bool,
}

/// Returns the name before a sign, if it is that of a secret.
fn name_before(line: &[u8], sign: usize) -> Option<Name<'_>> {
    let trimmed = line[..sign].trim_ascii_end();
    let unquoted = match trimmed {
        [rest @ .., b'"' | b'\'' | b'`'] => rest.strip_suffix(b"\\").unwrap_or(rest),
        rest => rest,
    };
    let is_of_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    let length = unquoted.iter().rev().take(LONGEST_NAME + 1).take_while(is_of_name).count();
    if !(2..=LONGEST_NAME).contains(&length) {
        return None;
    }
    let (before, text) = unquoted.split_at(unquoted.len() - length);
    let text = std::str::from_utf8(text).ok()?;
    let before = before.trim_ascii();
    let is_first = matches!(before, b"" | b"export" | b"-" | b"set");
    let is_quoted = unquoted.len() < trimmed.len();
    is_secret_name(text.trim_start_matches(['-', '.'])).then_some(Name { text, is_quoted, is_first })
}

/// Returns the range of the value after a sign, if it is a secret.
fn value_after(line: &[u8], sign: usize, name: &Name<'_>, context: Context) -> Option<Range<usize>> {
    let mut at = sign + 1;
    let is_colon = line[sign] == b':';
    match (is_colon, line.get(at)) {
        (_, None | Some(b'=')) | (true, Some(b':' | b'/')) => return None,
        (false, Some(b'>')) => at += 1,
        // `name:value` is a label.
        (true, Some(next)) if !name.is_quoted && !b" \t\"'\\".contains(next) => return None,
        _ => {}
    }
    if sign.checked_sub(1).is_some_and(|before| b"=!<>+|".contains(&line[before])) {
        return None;
    }
    at += line[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let prefix = matches!(line.get(at..at + 2), Some([b'b' | b'f' | b'r' | b'u', b'"' | b'\'']));
    at += usize::from(prefix);
    let slash = usize::from(line.get(at) == Some(&b'\\'));
    let quote = line.get(at + slash).filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let (range, is_quoted) = match quote {
        Some(quote) => {
            let start = at + slash + 1;
            // An invalid line of settings is shown in an error, so mask its whole end.
            let to_end = || (context == Context::Settings).then_some(line.len() - start);
            let length = quoted_length(&line[start..], *quote, slash).or_else(to_end)?;
            (start..start + length, true)
        }
        None => {
            let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`,;&".contains(byte);
            let length = line[at..].iter().position(ends).unwrap_or(line.len() - at);
            let value = &line[at..at + length];
            let closing = value.iter().rev().take_while(|byte| b")]}>.\\".contains(byte)).count();
            (at..at + length - closing, false)
        }
    };
    let value = std::str::from_utf8(&line[range.clone()]).ok()?;
    is_secret(name, value, is_quoted, !is_colon, context).then_some(range)
}

/// Returns the length of a text up to its closing quote.
fn quoted_length(text: &[u8], quote: u8, slash: usize) -> Option<usize> {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'\\' if slash == 1 && text.get(at + 1) == Some(&quote) => return Some(at),
            b'\\' => at += 1,
            byte if byte == quote && slash == 0 => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

fn is_secret(name: &Name<'_>, value: &str, is_quoted: bool, is_equals: bool, context: Context) -> bool {
    if !is_secret_field(name.text.trim_start_matches(['-', '.']), value) {
        return false;
    }
    let is_variable = name.is_first && is_equals && !name.text.bytes().any(|byte| byte.is_ascii_lowercase());
    match context {
        Context::Settings if is_quoted || is_variable => is_literal(value),
        Context::Settings => looks_random(value, true),
        Context::Output => looks_random(value, is_quoted),
    }
}

/// Returns whether a value is a secret because of its name: it is neither a reference to a secret nor a word for
/// "none".
pub(crate) fn is_literal(value: &str) -> bool {
    !is_placeholder(value) && !is_file(value) && !is_variable_name(value) && !is_method(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, output: &[&str], settings: &[&str]) {
        let found = |context| -> Vec<&str> {
            named_values(line.as_bytes(), context).into_iter().map(|range| &line[range]).collect()
        };
        assert_eq!(
            (found(Context::Output), found(Context::Settings)),
            (output.to_vec(), settings.to_vec()),
            "{line}"
        );
    }

    #[test]
    fn values_of_names_are_found() {
        for line in [
            "DB_PASSWORD=hunter2EXAMPLE",
            "export API_KEY=hunter2EXAMPLE",
            "password: hunter2EXAMPLE",
            "{\"token\":\"hunter2EXAMPLE\",\"a\":1}",
            "{\\\"token\\\": \\\"hunter2EXAMPLE\\\"}",
            "connecting with password=hunter2EXAMPLE to the database",
            "client_secret = 'hunter2EXAMPLE'",
            "Server=db;Password=hunter2EXAMPLE;Database=shop",
            "{'api_key': b'hunter2EXAMPLE'}",
            ":password => \"hunter2EXAMPLE\",",
        ] {
            check(line, &["hunter2EXAMPLE"], &["hunter2EXAMPLE"]);
        }
        check(
            "password=a1b2c3d4e5&token=e5d4c3b2a1",
            &["a1b2c3d4e5", "e5d4c3b2a1"],
            &["a1b2c3d4e5", "e5d4c3b2a1"],
        );
    }

    #[test]
    fn a_literal_is_enough_in_settings() {
        check("password = \"swordfish\"", &[], &["swordfish"]);
        check("DB_PASSWORD=swordfish", &[], &["swordfish"]);
        check("\"password\": \"correct horse\"", &[], &["correct horse"]);
    }

    #[test]
    fn code_and_words_are_not_values() {
        for line in [
            "this.token = reply.accessToken;",
            "self.token = session.access_token",
            "let token = self.next_token2();",
            "password: string",
            "token: Option<String>,",
            "src/token.rs:12: pub struct Token2x;",
            "if password == \"hunter2EXAMPLE\" {",
            "GITHUB_TOKEN = \"GH_TOKEN_OF_MINE\"",
            "env_bindings = { GITHUB_TOKEN = \"MY_TOKEN\" }",
            "auth: \"basic\"",
            "token_count=12345678a",
            "the token: see below",
            "token::Kind2Name3",
            "password=${DB_PASSWORD_2}",
            "secret: name-of-a-secret",
        ] {
            check(line, &[], &[]);
        }
    }
}
