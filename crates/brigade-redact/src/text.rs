//! Classifies values: a secret, a reference, a word, or code.

use super::MARK;

/// Returns whether a text has a digit and a letter.
pub(crate) fn has_digit_and_letter(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_digit) && text.iter().any(u8::is_ascii_alphabetic)
}

/// Returns whether a value only describes what must be inserted, or where it comes from: `$TOKEN`, `${TOKEN}`,
/// `<token>`, `{token}`, `%s`, `****`, `your-token`, or a mark.
pub(crate) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let is_reference = |rest: &str| {
        rest.starts_with(['{', '('])
            || rest.starts_with("env:")
            || is_variable_name(rest)
            || is_plain_name(rest)
    };
    let same = value.chars().next();
    value.is_empty()
        || value.contains(MARK)
        || value.strip_prefix('$').is_some_and(is_reference)
        || value.starts_with(['<', '{'])
        || value.starts_with("%(")
        || value.strip_prefix('%').is_some_and(|rest| rest.len() == 1 || rest.ends_with('%'))
        || ["your_", "your-", "my_", "my-", "replace", "changeme", "change-me", "example"]
            .iter()
            .any(|start| lower.starts_with(start) && !has_digit_and_letter(value.as_bytes()))
        || value
            .chars()
            .all(|c| Some(c) == same && !c.is_ascii_digit() && (3 <= value.len() || !c.is_alphanumeric()))
}

/// Returns whether a value refers to a file or an address: `~/.ssh/id`, `./key.pem`, `file:x`, `account.json`.
pub(crate) fn is_file(value: &str) -> bool {
    const ENDS: &[&str] = &[
        "age", "asc", "cert", "cfg", "conf", "crt", "env", "gpg", "ini", "json", "key", "pem", "pfx", "pub",
        "sh", "toml", "txt", "yaml", "yml",
    ];
    let is_path =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./~+@:".contains(&byte));
    let end = value.rsplit_once('.').map_or("", |(_, end)| end);
    value.starts_with(['/', '~', '@'])
        || ["./", "../", "file:", "env:", "id=", "src=", "secret://", "op://"]
            .iter()
            .any(|start| value.starts_with(start))
        || is_path(value)
            && (ENDS.contains(&end) || value.contains('/') && !has_digit_and_letter(value.as_bytes()))
}

/// Returns whether a text has the form of a variable of the environment: `GITHUB_TOKEN`, `TOKEN`, `PG_2`.
pub(crate) fn is_variable_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        && (text.contains('_') || !text.bytes().any(|byte| byte.is_ascii_digit()))
}

fn is_plain_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// Returns whether the user of a URL, without a password, is a token: alternating letters and digits that people would
/// not choose as a name.
///
/// ```
/// use brigade_redact::is_token_of_user;
///
/// assert!(is_token_of_user("S3cr3tV4lue99") && is_token_of_user("0123456789abcdef"));
/// assert!(!is_token_of_user("git") && !is_token_of_user("jane1985") && !is_token_of_user("deploy-bot-2024"));
/// ```
pub fn is_token_of_user(user: &str) -> bool {
    let is_word = user.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_long = 16 <= user.len() && has_digit_and_letter(user.as_bytes());
    is_word && 8 <= user.len() && (is_long || 3 <= alternations(user))
}

/// Returns how often letters and digits alternate.
fn alternations(text: &str) -> usize {
    let kinds = text.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.is_ascii_digit());
    kinds.clone().zip(kinds.skip(1)).filter(|(one, next)| one != next).count()
}

/// Returns how many kinds of characters a text has: small letters, capitals, digits, others.
fn classes(text: &str) -> usize {
    let has = |kind: fn(&u8) -> bool| usize::from(text.as_bytes().iter().any(kind));
    has(u8::is_ascii_lowercase)
        + has(u8::is_ascii_uppercase)
        + has(u8::is_ascii_digit)
        + usize::from(text.bytes().any(|byte| !byte.is_ascii_alphanumeric() && byte != b'_'))
}

/// Returns whether a value looks chosen or random like a secret, and not like a word, a name, a path, a number or code.
pub(crate) fn looks_random(value: &str, is_quoted: bool) -> bool {
    let least = if is_quoted { 6 } else { 8 };
    if value.len() < least || 512 < value.len() || is_placeholder(value) || is_file(value) {
        return false;
    }
    let is_code = value.contains(['(', ')', '[', ']', '{', '}', '<', '>', '|', '`', ' ', '\\'])
        || value.contains("::")
        || value.contains("->")
        || value.contains("://")
        || value.contains("...")
        || value.contains('…')
        || value.contains("${");
    !is_code && !is_number(value) && !is_path(value) && is_mixed(value)
}

/// Returns whether letters and digits alternate, or there are at least three kinds of characters including a digit.
fn is_mixed(value: &str) -> bool {
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    let is_word = value.bytes().all(|byte| byte.is_ascii_alphanumeric());
    has_digit && has_letter && (is_word || 3 <= alternations(value) || 3 <= classes(value))
        || has_letter
            && 4 == classes(value) + usize::from(!has_digit)
            && !value.contains(['.', '-', '/', ':', ','])
}

/// Returns whether a value is a number, a version, a date or a size: `1.2.3-beta`, `2024-05-01T12:00:00Z`, `8080/tcp`.
fn is_number(value: &str) -> bool {
    let digits = value.bytes().filter(|byte| byte.is_ascii_digit() || b".-:+,/_%#".contains(byte)).count();
    let first = value.trim_start_matches(['v', '^', '~', '=', '-', '+']);
    let is_version = first
        .split(['.', '-', ':'])
        .take(2)
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
        && first.contains(['.', '-', ':']);
    is_version || value.len() <= digits + 2
}

/// Returns whether a value is made of names: `reply.accessToken`, `src/token.rs:12`, `utf8_decode`, `HTTP/1.1`.
fn is_path(value: &str) -> bool {
    let is_name = |part: &str| {
        let letters = part.trim_start_matches(|c: char| c.is_ascii_digit());
        part.is_empty()
            || letters.is_empty()
            || letters.len() == part.len()
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && (alternations(part) <= 1 || is_camel_case(part))
    };
    let parts = || value.split(['.', '/', ':', '-', '_', ',', ';', '&', '?', '#', '\'', '"', '$', '@', '=']);
    let is_joined = value.contains(['.', '/', ':', ',']) || !value.contains(['-', '=', '@', '$']);
    let is_word_with_number = 8 <= value.len()
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && !is_camel_case(value)
        && has_digit_and_letter(value.as_bytes());
    is_joined && parts().all(is_name) && !is_word_with_number
}

/// Returns whether a number is in the middle of a name: `base64Url`, `sha256Digest`.
fn is_camel_case(part: &str) -> bool {
    let last = part
        .trim_start_matches(|c: char| !c.is_ascii_digit())
        .trim_start_matches(|c: char| c.is_ascii_digit());
    alternations(part) == 2
        && part.starts_with(|c: char| c.is_ascii_lowercase())
        && last.starts_with(|c: char| c.is_ascii_uppercase())
        && last[1..].contains(|c: char| c.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_from_words_and_code() {
        for (value, is_secret) in [
            ("hunter2EXAMPLE", true),
            ("EXAMPLE1234", true),
            ("hunter2-4711", true),
            ("9f3c77aa10", true),
            ("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", true),
            ("S3cr3t!Passw0rd", true),
            ("d41d8cd98f00b204e9800998ecf8427e", true),
            ("hunter2", false),
            ("password", false),
            ("reply.accessToken", false),
            ("this.token", false),
            ("getToken(x1)", false),
            ("src/token.rs:12", false),
            ("crates/core2/src/lib.rs", false),
            ("Option<String>", false),
            ("utf8_decode", false),
            ("SecretInput", false),
            ("GITHUB_TOKEN", false),
            ("GITHUB_TOKEN_2", false),
            ("${TOKEN_V2x}", false),
            ("2024-05-01T12:00:00Z", false),
            ("v1.2.3-beta4", false),
            ("https://example.com/a1B2", false),
            ("correct-horse-battery", false),
            ("oauth2.token", false),
            ("node:crypto", false),
            ("example.com:8080", false),
            ("xxxxxxxxxxxx", false),
            ("your-token-here", false),
        ] {
            assert_eq!(looks_random(value, false), is_secret, "{value}");
        }
    }

    #[test]
    fn placeholders_and_files_are_not_values() {
        for value in ["$TOKEN", "${TOKEN}", "<token>", "{token}", "%s", "****", "your_key", "[redacted]", ""]
        {
            assert!(is_placeholder(value), "{value}");
        }
        for value in ["~/.ssh/id", "./x", "server.pem", "keys/deploy_key", "/etc/x", "@file"] {
            assert!(is_file(value), "{value}");
        }
        for value in ["hunter2", "$a1B2", "q1", "pa/ss1"] {
            assert!(!is_placeholder(value) && !is_file(value), "{value}");
        }
    }
}
