//! Decides which field names indicate a secret value.

use crate::words::{
    ABOUT, ABOUT_USE, CERTAIN, HARMLESS_PASS, HARMLESS_TOKEN, METHODS, SECRET_KEY, SECRET_TOKENS,
};

/// How strongly a name indicates a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameKind {
    /// The value is a secret: `password`, `client_secret`, `api_key`.
    Certain,
    /// `token`, which is often harmless in programs and parsers.
    Token,
    /// `authorization`: a scheme may come before the secret.
    Authorization,
    /// `tokens` alone, which usually is a count, and `token` joined to another word, which often is a variable.
    Tokens,
    /// `auth` or `bearer`, whose value often names a method.
    Method,
    /// `pass` alone, which often is a test result.
    Pass,
}

impl NameKind {
    /// Returns whether everything below a field with this name is secret.
    pub(super) fn covers_all(self) -> bool {
        match self {
            NameKind::Certain | NameKind::Token | NameKind::Authorization => true,
            NameKind::Tokens | NameKind::Method | NameKind::Pass => false,
        }
    }
}

/// Returns whether a field with this name and this string value contains a secret.
///
/// Usually the name decides ([`is_secret_name`]). A count (`tokens: "100"`) and the name of a method (`auth: "basic"`)
/// are not secret.
///
/// ```
/// use brigade_redact::is_secret_field;
///
/// assert!(is_secret_field("password", "x") && is_secret_field("tokens", "abc") && is_secret_field("auth", "abc"));
/// assert!(!is_secret_field("tokens", "4,096") && !is_secret_field("auth", "oauth2"));
/// ```
pub fn is_secret_field(name: &str, value: &str) -> bool {
    match classify(name) {
        None => false,
        Some(_) if value.is_empty() => false,
        Some(NameKind::Certain | NameKind::Token | NameKind::Authorization) => true,
        Some(NameKind::Tokens) => is_one_word(value) && !is_count(value),
        Some(NameKind::Method) => is_one_word(value) && !is_method(value),
        Some(NameKind::Pass) => is_password(value),
    }
}

fn is_one_word(value: &str) -> bool {
    !value.trim().contains(char::is_whitespace)
}

/// Returns whether a word has the form of a password, with letters and other characters, and not of a file or test
/// name.
pub(super) fn is_password(value: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| value.as_bytes().iter().any(kind);
    is_one_word(value)
        && 6 <= value.len()
        && has(u8::is_ascii_alphabetic)
        && has(|b| !b.is_ascii_alphabetic())
        && !value.contains(['/', '_', '(', '[', '.'])
        && !value.bytes().next().is_some_and(|b| b.is_ascii_digit() || b == b'-' || b == b'$')
}

/// Returns whether a text is a number: `100`, `4,096`, `1.5`, `4k`.
pub(super) fn is_count(value: &str) -> bool {
    let number = value.trim().trim_end_matches(['k', 'K', 'M', '%']);
    !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b",._+-".contains(&b))
}

/// Returns whether a text names an authentication method, says whether one is used, or is empty.
pub(super) fn is_method(value: &str) -> bool {
    let lower = value.trim().to_ascii_lowercase();
    let lower = lower.trim_end_matches([',', ';', ')', '}', ']']);
    METHODS.binary_search(&lower).is_ok()
        || ["api", "oauth", "scram", "sha", "hmac", "x509", "aws"]
            .iter()
            .any(|start| lower.starts_with(start))
            && lower.len() < 20
}

/// Returns whether a field with this name contains a secret, if its value is a string.
///
/// The name is split into words at `_ - .`, at spaces and at changes of case. A name is secret if it contains a word
/// such as `password`, `secret`, `credentials`, `token`, or a pair such as `api key` or `private key`. Some names are
/// not secret: names *about* a secret (`token_count`, `password_file`, `secret_name`), counters (`max_tokens`; the
/// plural `tokens` needs a word such as `access` or `refresh` before it), page tokens, special tokens of a tokenizer,
/// and the working directory (`PWD`).
///
/// ```
/// use brigade_redact::is_secret_name;
///
/// assert!(is_secret_name("clientSecret") && is_secret_name("X-API-Key"));
/// assert!(!is_secret_name("max_tokens") && !is_secret_name("tokenizer"));
/// ```
pub fn is_secret_name(name: &str) -> bool {
    classify(name).is_some()
}

/// Returns the kind of secret that a name indicates.
pub(super) fn classify(name: &str) -> Option<NameKind> {
    if matches!(name, "PWD" | "OLDPWD") || 256 < name.len() {
        return None;
    }
    let spaced = spaced_words(name);
    let words: Vec<&str> = spaced.split(' ').filter(|word| !word.is_empty()).map(without_number).collect();
    if words.last().is_some_and(|word| 1 < words.len() && ABOUT.binary_search(word).is_ok()) {
        return None;
    }
    // The name of a rule against secrets: `no-secrets`.
    if matches!(words[..], ["no" | "without", _, ..]) {
        return None;
    }
    // `--api-key-header X-Key` names a header, but the value of `auth-header` is one.
    if let [.., before, "header"] = words[..]
        && !["auth", "authorization", "bearer"].contains(&before)
    {
        return None;
    }
    let mut found = None;
    for (index, word) in words.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| words[before]);
        match *word {
            "authorization" => found = found.or(Some(NameKind::Authorization)),
            "token" if !before.is_some_and(|word| HARMLESS_TOKEN.contains(&word)) => {
                found = found.or(Some(NameKind::Token));
            }
            "tokens" if before.is_some_and(|word| SECRET_TOKENS.contains(&word)) => {
                found = found.or(Some(NameKind::Token));
            }
            "tokens" if words.len() == 1 => found = Some(NameKind::Tokens),
            "pass" if words.len() == 1 && !name.starts_with(['-', 'P']) => found = Some(NameKind::Pass),
            "auth" | "bearer" if is_held(&words[index + 1..]) && !before.is_some_and(is_about_use) => {
                found = found.or(Some(NameKind::Method));
            }
            // An option is not a variable, and some words are only used for secrets.
            word if is_glued_token(word) && (name.starts_with('-') || CERTAIN.contains(&word)) => {
                found = found.or(Some(NameKind::Token));
            }
            word if is_glued_token(word) => found = found.or(Some(NameKind::Tokens)),
            word => {
                if is_certain(word, before, index + 1 == words.len()) {
                    return Some(NameKind::Certain);
                }
            }
        }
    }
    found
}

/// Returns whether `auth` is followed by nothing, or only by a word for the value.
fn is_held(after: &[&str]) -> bool {
    matches!(after, [] | ["header" | "value" | "string" | "data" | "cookie"])
}

/// Returns whether a word before `auth` makes it a question of whether or how it is used.
fn is_about_use(word: &str) -> bool {
    ABOUT_USE.contains(&word)
}

/// Returns whether a longer word ends in `token`: `mytoken`, `csrftoken`.
fn is_glued_token(word: &str) -> bool {
    let Some(before) = word.strip_suffix("token") else { return false };
    let harmless = HARMLESS_TOKEN.iter().any(|harmless| before.ends_with(harmless));
    !before.is_empty() && before != "be" && !harmless
}

fn is_certain(word: &str, before: Option<&str>, last: bool) -> bool {
    match word {
        // The name of an existing secret: `--set existingSecret=x`.
        "secret" | "secrets" if before == Some("existing") => false,
        word if CERTAIN.contains(&word) => true,
        word if word.ends_with("password") || word.ends_with("passwd") => true,
        word if word.ends_with("secret") || word.ends_with("apikey") => word != "nosecret",
        "key" | "keys" => before.is_some_and(|word| SECRET_KEY.contains(&word)),
        "pass" => last && before.is_some_and(|word| !HARMLESS_PASS.contains(&word)),
        // `PassWord`, split at the change of case.
        "phrase" => before.is_some_and(|word| ["pass", "seed", "recovery"].contains(&word)),
        "word" | "wd" | "code" => before == Some("pass"),
        _ => false,
    }
}

/// Writes the words of a name in lower case, separated by spaces.
///
/// A number at the end, as in `API_KEY_1`, is dropped.
pub(crate) fn spaced_words(name: &str) -> String {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '_' | '-' | '.'));
    let mut spaced = String::with_capacity(name.len() + 8);
    let mut chars = name.chars().peekable();
    let mut previous = ' ';
    while let Some(c) = chars.next() {
        if c.is_uppercase() {
            // `apiKey` and `APIKey` are split before the K, `APIs` is not split.
            let next_is_lower = chars.peek().is_some_and(|next| next.is_lowercase());
            if previous.is_lowercase()
                || previous.is_ascii_digit()
                || (previous.is_uppercase() && next_is_lower)
            {
                spaced.push(' ');
            }
            match c.is_ascii() {
                true => spaced.push(c.to_ascii_lowercase()),
                false => spaced.extend(c.to_lowercase()),
            }
        } else if c.is_alphanumeric() {
            spaced.push(c);
        } else {
            spaced.push(' ');
        }
        previous = c;
    }
    spaced
}

/// Removes the number at the end of a word: `token2` becomes `token`.
fn without_number(word: &str) -> &str {
    let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
    if letters.is_empty() { word } else { letters }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_that_are_searched_are_sorted() {
        assert!(ABOUT.is_sorted() && METHODS.is_sorted());
    }

    #[test]
    fn names_of_secrets() {
        for name in [
            "password",
            "Password",
            "PassWord",
            "DB_PASSWORD",
            "passwd",
            "pwd",
            "db_pass",
            "SMTP-PASS",
            "passphrase",
            "secret",
            "secrets",
            "client_secret",
            "clientSecret",
            "my.secret",
            "credential",
            "aws_credentials",
            "token",
            "TOKEN",
            "my_token",
            "access_token",
            "accessToken",
            "auth-token",
            "authToken",
            "_authToken",
            "GITHUB_TOKEN",
            "refresh_tokens",
            "api_key",
            "apiKey",
            "APIKey",
            "api-key",
            "apikey",
            "X-Api-Key",
            "API_KEY_1",
            "private_key",
            "privateKey",
            "access_key",
            "aws_secret_access_key",
            "AccountKey",
            "ssh_key",
            "anon-key",
            "seed-phrase",
            "service_role_key",
            "authorization",
            "Proxy-Authorization",
            "token2",
            "creds",
            "db.password",
            "tokens",
            "mysecret",
            "mytoken",
            "csrftoken",
            "userpassword",
            "myapikey",
            "auth",
            "http_auth",
            "basicAuth",
            "auth_header",
            "bearer",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn values_of_ambiguous_names() {
        for (name, value, secret) in [
            ("tokens", "abc", true),
            ("tokens", "100", false),
            ("tokens", "4,096", false),
            ("tokens", "8k", false),
            ("tokens", "the words of a text", false),
            ("auth", "bob:hunter2", true),
            ("auth", "abcEXAMPLE", true),
            ("auth", "basic", false),
            ("auth", "OAuth2", false),
            ("auth", "scram-sha-256", false),
            ("auth", "", false),
            ("bearer", "abcEXAMPLE", true),
            ("bearer", "required", false),
            ("password", "100", true),
            ("author", "abcEXAMPLE1234", false),
            ("pass", "hunter2", true),
            ("pass", "true", false),
            ("pass", "120ms", false),
            ("pass", "first", false),
            ("pass", "test_parser2", false),
        ] {
            assert_eq!(is_secret_field(name, value), secret, "{name}: {value}");
        }
    }

    #[test]
    fn names_of_other_things() {
        for name in [
            "",
            "max_tokens",
            "maxTokens",
            "total_tokens",
            "tokenizer",
            "tokenize",
            "token_count",
            "tokenCount",
            "token_type",
            "tokens_per_second",
            "next_token",
            "nextPageToken",
            "eos_token",
            "key",
            "keys",
            "public_key",
            "primary_key",
            "keyboard",
            "monkey",
            "secretary",
            "secret_name",
            "password_file",
            "token_url",
            "token_id",
            "access_key_id",
            "PWD",
            "OLDPWD",
            "PASS",
            "passed",
            "test_pass",
            "passenger",
            "bypass",
            "compass",
            "author",
            "authority",
            "authored",
            "oauth",
            "use_auth",
            "auth_method",
            "auth_scheme",
            "auth_type",
            "bearer_format",
            "nexttoken",
            "pagetoken",
            "betoken",
            "KEY_NOSECRET",
            "tokens_used",
            "credential.helper",
            "id",
            "secret-read",
            "passwordless",
            "expires_at",
            "existingSecret",
            "auth.existingSecret",
            "token_source",
            "secret-backend",
            "bearer-token-env-var",
            "apikey-header",
            "api_key_header",
            "no-secrets",
            "passphrase-fd",
            "SECRET_SCAN",
            "mask-token",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
