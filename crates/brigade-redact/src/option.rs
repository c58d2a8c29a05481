//! Secrets that a word of a command line shows: by the option before it or in it, or by its form.
//!
//! A name decides how much a value must say of itself. Behind a name that only secrets have (`--pass`, `--jwt`), every
//! value is one that is no [harmless word](HARMLESS_WORDS), reference or file. Behind a name that other things have,
//! too (`--key`, `--session`, `--pin`), only a value is that does not [read like words](reads_like_words). Behind a
//! name that a maker of keys gave it (`--stripe-key`), only one is that has [letters and digits in a row](is_random).

use crate::argv::is_switch;
use crate::name::spaced_words;
use crate::rules::{is_placeholder, is_reference};
use crate::words::{
    ABOUT_USE, ALGORITHMS, FILES, HARMLESS_WORDS, KEPT_IN, LOGIN_OPTIONS, METHODS, OTHER_KEYS, PACKAGES,
    PASSES, SECRET_OPTIONS, SYSTEM_GROUPS, SYSTEM_USERS, TAGS, UNSURE_OPTIONS, WAYS,
};
use crate::{MARK, is_secret_field, is_secret_name};

/// How surely a name is that of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sureness {
    /// Nothing else has the name.
    Sure,
    /// Other things have it, too.
    Unsure,
    /// Many other things have it.
    Doubtful,
}

/// Returns where a secret begins in a word, by the name of the option before it or in it: behind `--pass`, in
/// `--pat=q1`, `/pass:q1` and `sid=q1`.
///
/// Names of which [`is_secret_name`] knows are left to a [`Redactor`](crate::Redactor).
pub(crate) fn secret_of_option(before: &str, word: &str) -> Option<usize> {
    let behind = || {
        let is_behind = before.starts_with('-') && !word.starts_with('-');
        let is_value = is_behind && !before.contains(['=', ':']);
        Some((0, is_value.then(|| sureness_of(before, " "))??))
    };
    let attached = || {
        let at = word.find(['=', ':'])?;
        Some((at + 1, sureness_of(&word[..at], &word[at..=at])?))
    };
    let is_secret = |(from, sureness): &(usize, Sureness)| is_secret_of(*sureness, &word[*from..]);
    behind().filter(is_secret).or_else(|| attached().filter(is_secret)).map(|(from, _)| from)
}

/// Returns whether the value of a variable or a header is a secret by a name of which `secret_of_option` knows.
///
/// ```
/// use brigade_redact::is_secret_by_option;
///
/// assert!(is_secret_by_option("GITHUB_PAT", "q1") && is_secret_by_option("SID", "q1"));
/// assert!(!is_secret_by_option("SID", "ORCL") && !is_secret_by_option("COMPASS", "q1"));
/// ```
pub fn is_secret_by_option(name: &str, value: &str) -> bool {
    sureness_of(name, "=").is_some_and(|sureness| is_secret_of(sureness, value))
}

/// Returns whether a value behind the name of a variable or a header is a secret, by the name.
pub(crate) fn is_secret_beside(name: &str, value: &str) -> bool {
    let is_header =
        ["authorization", "proxy-authorization", "cookie"].contains(&name.to_ascii_lowercase().as_str());
    let is_named = is_header || is_secret_field(name, value);
    (is_named && is_secret_of(Sureness::Sure, value)) || is_secret_by_option(name, value)
}

/// Returns whether a value whose name says nothing is one that nobody would write as a setting.
pub(crate) fn is_odd(value: &str) -> bool {
    let is_setting =
        value.contains('/') || value.contains(char::is_whitespace) || (is_number(value) && value.len() < 6);
    !is_setting && is_secret_of(Sureness::Unsure, value)
}

fn is_secret_of(sureness: Sureness, value: &str) -> bool {
    // `ffmpeg -pass 1`, `sort --key=2,3n`.
    let is_digit = value.len() == 1 && value.bytes().all(|byte| byte.is_ascii_digit());
    let says_enough = match sureness {
        Sureness::Sure => !is_digit,
        Sureness::Doubtful if !is_random(value) => false,
        Sureness::Unsure | Sureness::Doubtful => {
            let is_of_other = is_label(value) || is_column(value) || is_tag(value) || is_data(value);
            !reads_like_words(value) && !is_of_other
        }
    };
    says_enough
        && may_be_secret(value)
        && !names_a_file(value)
        && !is_known_word(value)
        && !names_a_way(value)
}

/// Returns whether a value behind an option for a secret says where it comes from, or which algorithm makes it.
pub(crate) fn names_a_way(value: &str) -> bool {
    let is_algorithm = |part: &str| {
        let name = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_number = name.is_empty() && part.len() <= LONGEST_NUMBER;
        is_number || (ALGORITHMS.contains(&name) && part.len() - name.len() <= LONGEST_NUMBER)
    };
    let has = |kind: fn(&u8) -> bool| value.as_bytes().iter().any(kind);
    let has_both = has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit);
    let mut numbers = value.split(['-', '_', '/']).filter(|part| is_number(part));
    let has_one_number = numbers.next().is_none() || numbers.next().is_none();
    WAYS.contains(&value) || (has_both && has_one_number && value.split(['-', '_', '/']).all(is_algorithm))
}

/// Returns whether a value is a label with numbers, as columns, keys of a keyboard and caches have: `col2`, `F5`,
/// `dist-v2`.
fn is_label(value: &str) -> bool {
    let is_function_key =
        || value.strip_prefix('F').is_some_and(|number| matches!(number.len(), 1..=2) && is_number(number));
    let is_numbered = |part: &str| {
        let name = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_short = part.len() - name.len() <= 2;
        let is_name = (3..=4).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_lowercase());
        is_short && (name == "v" || (is_name && reads_like_a_word(name)))
    };
    let is_part = |part: &str| {
        is_numbered(part) || (is_number(part) && part.len() <= LONGEST_NUMBER) || reads_like_a_word(part)
    };
    is_function_key() || (1 < value.len() && value.split(['-', '_', '.', '/']).all(is_part))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a value is the rest of a label of a resource whose name is no secret's: `Name,Value=web`.
fn is_tag(value: &str) -> bool {
    let parts = value.split_once(",Value=").or_else(|| value.split_once(",Values="));
    parts.is_some_and(|(name, _)| !is_secret_name(name) && sureness_of(name, "=").is_none())
}

/// Returns whether a value is the address of something, or the name of a file with data.
fn is_data(value: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./@+ ".contains(&byte);
    value.contains("://")
        || (value.bytes().all(is_name)
            && FILES.iter().any(|end| value.len() > end.len() && value.ends_with(end)))
}

/// Returns whether a value has letters and digits in a row that say nothing, as only secrets and digests have.
pub(crate) fn is_random(value: &str) -> bool {
    let is_row = |part: &str| {
        8 <= part.len()
            && part.bytes().any(|byte| byte.is_ascii_digit())
            && part.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    let is_place = value.contains("://") || value.contains('/');
    !is_place
        && may_be_secret(value)
        && !names_a_file(value)
        && value.split(|c: char| !c.is_ascii_alphanumeric()).any(is_row)
}

/// The shortest name of a secret, `pw`.
const SHORTEST_NAME: usize = 2;

/// Returns how surely a word names a secret: an option, or a variable before `=`.
fn sureness_of(word: &str, separator: &str) -> Option<Sureness> {
    let name = match (word.strip_prefix(['-', '/']), separator) {
        (Some(name), "=" | " ") if word.starts_with('-') => name.trim_start_matches('-'),
        (Some(name), ":") => name.trim_start_matches('-'),
        (None, "=") => word,
        _ => return None,
    };
    if !(SHORTEST_NAME..=64).contains(&name.len()) || is_switch(name) {
        return None;
    }
    let spaced = spaced_words(name);
    let words: Vec<&str> = spaced.split(' ').filter(|word| !word.is_empty()).collect();
    let (last, before) = words.split_last()?;
    if before.first().is_some_and(|first| ABOUT_USE.contains(first)) {
        return None;
    }
    if SECRET_OPTIONS.contains(last) || (before.is_empty() && is_glued_pass(last)) {
        // Of a longer name that ends in `pass`, `is_secret_name` knows.
        return (*last != "pass" || before.is_empty()).then_some(Sureness::Sure);
    }
    let is_id = *last == "id" && before.last() == Some(&"session");
    // `--key`, `--header.X-Key`.
    let is_key = *last == "key" && before.first().is_none_or(|first| matches!(*first, "header" | "headers"));
    let is_unsure = UNSURE_OPTIONS.contains(last) || is_id || is_key;
    // `--stripe-key`, `STRIPE_KEY`.
    let is_told = word.starts_with('-') || !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_of_maker = || is_told && *last == "key" && !before.iter().any(|word| OTHER_KEYS.contains(word));
    match is_unsure {
        true => Some(Sureness::Unsure),
        false => is_of_maker().then_some(Sureness::Doubtful),
    }
}

/// Returns whether a word ends in `pass`, and is no other word: `dbpass`.
fn is_glued_pass(name: &str) -> bool {
    let is_word = name.len() <= 32 && name.bytes().all(|byte| byte.is_ascii_lowercase());
    is_word && name.len() > 4 && name.ends_with("pass") && !PASSES.contains(&name)
}

/// Returns whether a value is a column of a line, as `sort` takes it: `2n`, `1.2,3nr`.
fn is_column(value: &str) -> bool {
    value.split([',', '.']).all(|part| {
        let letters = part.trim_start_matches(|c: char| c.is_ascii_digit());
        (1..=2).contains(&(part.len() - letters.len()))
            && letters.len() <= 2
            && letters.bytes().all(|byte| b"bdfghiMnrRV".contains(&byte))
    })
}

fn may_be_secret(value: &str) -> bool {
    !value.is_empty()
        && value != MARK
        && !is_placeholder(value)
        && !is_reference(value)
        && !is_harmless_word(value)
}

/// Returns whether a word says in any case that there is no secret.
pub(crate) fn is_harmless_word(word: &str) -> bool {
    HARMLESS_WORDS.iter().any(|harmless| harmless.eq_ignore_ascii_case(word))
}

fn is_known_word(value: &str) -> bool {
    METHODS.binary_search(&value.to_ascii_lowercase().as_str()).is_ok()
}

/// Returns whether a value names a file in which a secret is kept.
fn names_a_file(value: &str) -> bool {
    value == "stdin"
        || ["./", "../", "~/"].iter().any(|start| value.starts_with(start))
        || KEPT_IN.iter().any(|end| value.ends_with(end))
}

/// The longest word that a person writes in one piece, and the longest number that says how many.
const LONGEST_WORD: usize = 16;
const LONGEST_NUMBER: usize = 3;

/// Returns whether a value consists of words and short numbers, as labels, paths and versions do, and not of letters
/// and digits in a row that says nothing.
///
/// ```
/// use brigade_redact::reads_like_words;
///
/// assert!(reads_like_words("primary") && reads_like_words("us-east-1") && reads_like_words("displayName"));
/// assert!(!reads_like_words("hunter2") && !reads_like_words("9f3c") && !reads_like_words("xkqzrtwp"));
/// ```
pub fn reads_like_words(value: &str) -> bool {
    1 < value.len()
        && value.split(|c: char| "-_./:,+~* ".contains(c)).all(|part| {
            let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
            if is_number { part.len() <= LONGEST_NUMBER } else { reads_like_a_word(part) }
        })
}

/// Returns whether a part of a value can be said: `primary`, `Primary`, `displayName`, `ORCL`, `prod`.
fn reads_like_a_word(part: &str) -> bool {
    if !part.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return false;
    }
    if part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return true;
    }
    let spaced = spaced_words(part);
    let words = spaced.split(' ').filter(|word| !word.is_empty());
    let is_word = |word: &str| {
        let is_vowel = |byte: u8| b"aeiouy".contains(&byte);
        let longest = word.as_bytes().split(|byte| is_vowel(*byte)).map(<[u8]>::len).max();
        word.len() <= LONGEST_WORD && (word.len() <= 4 || word.bytes().any(is_vowel)) && longest < Some(6)
    };
    // An upper-case letter begins a word of at least three letters.
    let is_plain = part.as_bytes().windows(2).all(|pair| !pair.iter().all(u8::is_ascii_uppercase));
    is_plain
        && words.clone().all(is_word)
        && (words.clone().count() == 1 || words.clone().all(|word| 3 <= word.len()))
}

/// Returns where the password begins in a word behind an option that takes a name and a password, or in the word of
/// one: `--user me:q1`, `--proxy-user=me:q1`, `-ume:q1`. A user and its group are no password.
pub(crate) fn password_of_user(before: &str, word: &str) -> Option<usize> {
    if !word.contains(':') {
        return None;
    }
    let takes_login = |option: &str| {
        let long = option.strip_prefix("--").or_else(|| option.strip_prefix('-')).unwrap_or_default();
        let last = long.rsplit('-').next().unwrap_or_default();
        matches!(option, "-u" | "-U") || LOGIN_OPTIONS.contains(&last.to_ascii_lowercase().as_str())
    };
    let short =
        || word.strip_prefix("-u").or_else(|| word.strip_prefix("-U")).filter(|pair| !pair.is_empty());
    let pair = match word.split_once('=') {
        Some((option, pair)) if takes_login(option) => pair,
        _ if takes_login(before) && !word.starts_with('-') => word,
        _ => short()?,
    };
    let (user, password) = pair.split_once(':')?;
    let is_id = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    // `localhost:8080`, `db.example:5432`.
    let is_host = is_id(password) && password.len() <= 5 && (user == "localhost" || user.contains('.'));
    let is_group =
        is_host || user == password || (is_id(user) && (is_id(password) || reads_like_words(password)));
    // `root:wheel`; `date -u +%H:%M:%S`, `C:\x`.
    let is_system = SYSTEM_USERS.contains(&user) && SYSTEM_GROUPS.contains(&password);
    let is_group = is_group || is_system;
    let is_format = user.is_empty() || user.starts_with('+');
    let is_password = !is_format && !password.is_empty() && !password.starts_with('\\');
    (is_password && !is_group && may_be_secret(password)).then(|| word.len() - password.len())
}

/// Returns whether a word is the password behind an option and a name: `--basic me q1`. Some programs take no value
/// there, so a path, an address or another option is none.
pub(crate) fn is_password_behind_user(option: &str, user: &str, word: &str) -> bool {
    let name = option.trim_start_matches('-');
    let is_plain = |text: &str| !text.is_empty() && !text.starts_with('-') && !text.contains(['/', '=']);
    name.len() < option.len()
        && name.rsplit('-').next().is_some_and(|last| last.eq_ignore_ascii_case("basic"))
        && is_plain(user)
        && !user.contains(':')
        && is_plain(word)
        && may_be_secret(word)
}

/// Returns whether a word is a token behind the name of its scheme: `Bearer q1`, and `Authorization: Bearer q1` in any
/// number of words.
pub(crate) fn is_token_of_scheme(before: &str, word: &str) -> bool {
    let names = |scheme: &str| {
        let Some(start) = before.len().checked_sub(scheme.len()) else { return false };
        let (head, end) = before.as_bytes().split_at(start);
        end.eq_ignore_ascii_case(scheme.as_bytes())
            && head.last().is_none_or(|byte| matches!(byte, b' ' | b':' | b'='))
    };
    (names("bearer") || names("basic"))
        && !word.starts_with('-')
        && may_be_secret(word)
        && (before.to_ascii_lowercase().contains("authorization") || !reads_like_words(word))
}

/// Returns whether a word behind a scheme is no token, because the scheme is the value of an option: `--scheme Basic
/// https://h`. What no setting says, as behind `--auth Bearer`, is one.
pub(crate) fn is_value_of_scheme(option: &str, word: &str) -> bool {
    let last = option.trim_start_matches('-').rsplit('-').next().unwrap_or_default();
    let is_kind = option == "-A" || ["method", "mode", "scheme", "type"].contains(&last);
    1 < option.len() && option.starts_with('-') && !option.contains(['=', ':']) && (is_kind || !is_odd(word))
}

/// Returns where the value begins in a word that defines a property with a secret name, such as `-DAPI_KEY=q1`.
pub(crate) fn secret_property(word: &str) -> Option<usize> {
    let (name, value) = word.strip_prefix('-')?.split_once('=')?;
    let is_letter = |c: char| c.is_ascii_alphabetic();
    let name = name.strip_prefix(is_letter)?;
    (is_secret_name(name) && may_be_secret(value)).then(|| word.len() - value.len())
}

/// Returns where the password begins in a word of the form `user:password@host` that has no scheme, alone or attached
/// to an option. Names of packages and images are none.
pub(crate) fn password_before_host(word: &str) -> Option<usize> {
    let text = if word.starts_with('-') { word.split_once('=')?.1 } else { word };
    let (user, rest) = text.split_once(':')?;
    let (password, host) = rest.rsplit_once('@')?;
    // `DOMAIN\user`, `user@server`.
    let of_domain = user.split_once('\\').map_or(user, |(_, name)| name);
    let (name, server) = of_domain.split_once('@').unwrap_or((of_domain, ""));
    let is_user = user.len() <= 128
        && [name, server]
            .iter()
            .all(|part| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.%+-".contains(&byte)))
        && (!name.is_empty() || user.is_empty())
        && !PACKAGES.contains(&user.to_ascii_lowercase().as_str());
    // `pkg:npm/x@next`, `git@github.com:me/x@next`: a path, and the version of what it names.
    let is_version_of_path = || {
        !host.contains(['.', ':', '/', '(', '['])
            && (password.contains('/') || !server.is_empty())
            && reads_like_words(password)
    };
    // `mcp:files@gemini/project`: what discovery calls a server.
    let is_found = || {
        let place = host.split_once('/').filter(|(program, _)| !program.contains('.'));
        let level = place.map(|(_, level)| level.split('#').next().unwrap_or_default());
        user == "mcp" && level.is_some_and(|level| matches!(level, "local" | "project" | "user"))
    };
    let is_password = !password.is_empty()
        && !is_found()
        && !password.starts_with(['/', '\\'])
        && !password.contains(char::is_whitespace)
        && !is_port_and_path(password)
        && password != MARK
        && !is_placeholder(password);
    (is_user && is_password && is_host(host) && !is_version_of_path()).then(|| word.len() - rest.len())
}

/// Returns whether a text is the rest of an address of a registry: `5000/image`.
fn is_port_and_path(text: &str) -> bool {
    text.split_once('/').is_some_and(|(port, _)| port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_host(text: &str) -> bool {
    let end = text.find([':', '/', '?', '(', ',', '#']).unwrap_or(text.len());
    let name = &text[..end];
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
    let is_version = || {
        let number = name.strip_prefix('v').unwrap_or(name);
        number.starts_with(|c: char| c.is_ascii_digit()) && name.parse::<std::net::Ipv4Addr>().is_err()
    };
    // `user:password@/database`, `user:password@(host)/database`.
    text.starts_with(['[', '/', '(']) || (is_name && !is_version() && !TAGS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_before_a_host_are_found() {
        for (word, at) in [
            ("me:pw1@db", Some(3)),
            ("me:p@w@db.example:5432/app", Some(3)),
            ("root:q1@tcp(127.0.0.1:3306)/app", Some(5)),
            ("root:q1@unix(/run/db.sock)/app", Some(5)),
            ("root:q1@/app", Some(5)),
            ("root:q1@(db)/app", Some(5)),
            (":q1@db:6379", Some(1)),
            ("-dsn=me:q1@10.0.0.1/app", Some(8)),
            ("me:${PW}@db", None),
            ("me:[redacted]@db", None),
            ("git@github.com:a/b", None),
            ("npm:@scope/x@1.2", None),
            ("image:1.0@sha256:0123", None),
            ("localhost:5000/image@v1", None),
            ("left:pad@latest", None),
            ("C:\\a@b", None),
            ("a:b c@d", None),
            ("me@srv:q1@tcp(db:3306)/app", Some(7)),
            ("DOMAIN\\me:q1@db", Some(10)),
            ("--dsn=DOMAIN\\me:open@db.example", Some(16)),
            ("me:pass/word@db.example/app", Some(3)),
            ("me:pa/ss1@db", Some(3)),
            ("pkg:npm/x@next", None),
            ("gh:owner/repo@feature", None),
            ("git@github.com:me/tool@feature", None),
            ("git@github.com:tool@feature", None),
            ("@scope/x:y@next", None),
            ("mcp:z@gemini/project", None),
            ("mcp:a.b-1@claude-desktop/user#2", None),
            ("mcp:q1@db", Some(4)),
            ("mcp:q1@db/app", Some(4)),
            ("mcp:q1@db.example/app", Some(4)),
        ] {
            assert_eq!(password_before_host(word), at, "{word}");
        }
    }

    /// Both columns of the rule: what is a secret, and what is an ordinary word.
    #[test]
    fn a_name_decides_how_much_a_value_must_say() {
        for (before, word, at) in [
            // Only secrets have the name.
            ("--pass", "open", Some(0)),
            ("-dbpass", "open", Some(0)),
            ("x", "--PAT=open", Some(6)),
            ("x", "--github-pat=q1", Some(13)),
            ("x", "--pass:q1", Some(7)),
            ("x", "/pass:q1", Some(6)),
            ("--otp", "123456", Some(0)),
            ("--cookie", "sid=q1", Some(0)),
            ("--jwt", "q1", Some(0)),
            ("--jwt", "none", None),
            ("x", "--jwt=none", None),
            ("x", "--jwt=required", None),
            ("--pass", "${PASS}", None),
            ("--pass", "./pass", None),
            ("--pass", "pass.txt", None),
            ("--pass", "--verbose", None),
            // Other things have it, too.
            ("--key", "9f3c", Some(0)),
            ("--key", "CANARYone", Some(0)),
            ("x", "--key=xkqzrtwp", Some(6)),
            ("--key", "correcthorsebatterystaple", Some(0)),
            ("--key", "AbCdEfGh", Some(0)),
            ("--session", "d41d8cd9", Some(0)),
            ("x", "--session-id=d41d8cd9", Some(13)),
            ("--sid", "q1", Some(0)),
            ("--pin", "4711", Some(0)),
            ("-b", "sid=q1", Some(4)),
            ("x", "--key=primary", None),
            ("--key", "displayName", None),
            ("--key", "/etc/ssl/server", None),
            ("--key", "server.pem", None),
            ("--hmac", "hunter2x", Some(0)),
            ("--header.X-Key", "hunter2x", Some(0)),
            ("--mnemonic", "open words", Some(0)),
            ("--header.X-Key", "primary", None),
            ("--signature", "required", None),
            ("--session", "main", None),
            ("--session", "us-east-1", None),
            ("--sid", "ORCL", None),
            ("--pin", "13", None),
            ("--pin", "1.2.3", None),
            // A maker of keys has it, and many others.
            ("--stripe-key", "S3cr3tV4lue99", Some(0)),
            ("--google-maps-key", "S3cr3tV4lue99", Some(0)),
            ("x", "--openai-key=S3cr3tV4lue99", Some(13)),
            ("x", "NOTION_KEY=S3cr3tV4lue99", Some(11)),
            ("--stripe-key", "live", None),
            ("--stripe-key", "$STRIPE_KEY", None),
            ("--stripe-key", "stripe.key", None),
            ("--cache-key", "linux-9f3c77aa10", None),
            ("--partition-key", "a1b2c3d4e5", None),
            ("--api-public-key", "a1b2c3d4e5", None),
            ("x", "stripe_key=a1b2c3d4e5", None),
            ("--monkey", "a1b2c3d4e5", None),
            // It is no name of a secret.
            ("pass", "q1", None),
            ("--compass", "q1", None),
            ("--cookie-jar", "q1", None),
            ("--no-pass", "q1", None),
            ("--enable-jwt", "q1", None),
            ("--sort-key", "q1", None),
            ("--password-file", "q1", None),
            ("pass", "through:x1", None),
            ("x", "key:x1", None),
        ] {
            assert_eq!(secret_of_option(before, word), at, "{before} {word}");
        }
        assert_eq!((secret_property("-Dtoken=q1"), secret_property("-Ptoken=$TOKEN")), (Some(8), None));
        assert_eq!((secret_property("-Dmode=q1"), secret_property("--token=q1")), (None, None));
    }

    #[test]
    fn a_user_with_a_password_is_told_from_one_with_a_group() {
        for (before, word, at) in [
            ("--user", "me:q1:z", Some(3)),
            ("-u", "me:open", Some(3)),
            ("--login", "me:q1", Some(3)),
            ("--basic", "me:q1", Some(3)),
            ("-basic", "me:q1", Some(3)),
            ("-proxy-user", "me:q1", Some(3)),
            ("x", "-basic=me:q1", Some(10)),
            ("-user", "1000:staff", None),
            ("-users", "me:q1", None),
            ("--basic", "https://h:80", None),
            ("--proxy-user", "me:q1", Some(3)),
            ("x", "--proxy-user=me:q1", Some(16)),
            ("x", "-ubob:q1", Some(6)),
            ("x", "-Ubob:q1", Some(6)),
            ("--user", "node:node", None),
            ("--user", "1000:1000", None),
            ("--user", "1000:staff", None),
            ("--user", "me:${PASS}", None),
            ("--user", "me", None),
            ("-u", "https://h", None),
            ("-u", "-x:y", None),
            ("--users", "me:q1", None),
            ("x", "-url:x", None),
        ] {
            assert_eq!(password_of_user(before, word), at, "{before} {word}");
        }
    }

    #[test]
    fn a_password_stands_behind_a_user() {
        for (option, user, word, is_password) in [
            ("--basic", "me", "q1", true),
            ("-basic", "me", "open", true),
            ("--auth-basic", "me@h.example", "p", true),
            ("--basic", "me", "-v", false),
            ("--basic", "-u", "me", false),
            ("--basic", "https://h", "out", false),
            ("--basic", "me:q1", "run", false),
            ("--basic", "me", "${PASS}", false),
            ("--basic", "me", "./file", false),
            ("basic", "me", "q1", false),
            ("--basics", "me", "q1", false),
            ("--user", "me", "run", false),
        ] {
            assert_eq!(is_password_behind_user(option, user, word), is_password, "{option} {user} {word}");
        }
    }

    #[test]
    fn tokens_stand_behind_their_scheme() {
        for (before, word, is_token) in [
            ("Bearer", "q1", true),
            ("bearer", "q1", true),
            ("Authorization: Bearer", "open", true),
            ("Authorization=Basic", "open", true),
            ("Bearer", "tokens", false),
            ("basic", "start", false),
            ("Bearer", "$TOKEN", false),
            ("Bearer", "--x1", false),
            ("bear", "q1", false),
        ] {
            assert_eq!(is_token_of_scheme(before, word), is_token, "{before} {word}");
        }
    }
}
