//! Which field names say that their value is a secret.

/// How much a secret-looking name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameKind {
    /// The value is a secret: `password`, `client_secret`, `api_key`.
    Certain,
    /// `token`, which in programs and parsers often is something harmless.
    Token,
    /// `authorization`: a scheme may stand before the secret.
    Authorization,
}

/// Tells whether a field of this name holds a secret, if its value is a string.
///
/// The name is split into words at `_ - .`, at spaces and where the case changes. Secret are names with a word such
/// as `password`, `secret`, `credentials`, `token`, or a pair such as `api key` or `private key`. Not secret are
/// names that speak *about* a secret (`token_count`, `password_file`, `secret_name`), counters (`max_tokens`; plural
/// `tokens` needs a word such as `access` or `refresh` before it), page tokens and special tokens of a tokenizer,
/// and the working directory (`PWD`).
///
/// ```
/// use brigade_core::redact::is_secret_name;
///
/// assert!(is_secret_name("clientSecret") && is_secret_name("X-API-Key"));
/// assert!(!is_secret_name("max_tokens") && !is_secret_name("tokenizer"));
/// ```
pub fn is_secret_name(name: &str) -> bool {
    classify(name).is_some()
}

/// Last words that turn a name into one about a secret, sorted.
const ABOUT: &[&str] = &[
    "age",
    "arn",
    "at",
    "budget",
    "class",
    "column",
    "cost",
    "count",
    "counter",
    "counts",
    "created",
    "dir",
    "directory",
    "enabled",
    "endpoint",
    "env",
    "error",
    "errors",
    "exists",
    "expiration",
    "expires",
    "expiry",
    "field",
    "file",
    "filename",
    "files",
    "folder",
    "format",
    "hint",
    "id",
    "ids",
    "in",
    "index",
    "iteration",
    "kind",
    "label",
    "labels",
    "len",
    "length",
    "lifetime",
    "limit",
    "limits",
    "line",
    "manager",
    "max",
    "min",
    "mode",
    "name",
    "names",
    "offset",
    "on",
    "path",
    "paths",
    "pattern",
    "policy",
    "pos",
    "position",
    "prefix",
    "prompt",
    "provider",
    "rate",
    "read",
    "ref",
    "required",
    "requirements",
    "reset",
    "rotation",
    "rules",
    "scope",
    "scopes",
    "size",
    "span",
    "status",
    "stdin",
    "store",
    "strategy",
    "stream",
    "strength",
    "suffix",
    "timeout",
    "total",
    "ttl",
    "type",
    "types",
    "uri",
    "url",
    "usage",
    "used",
    "valid",
    "validator",
    "version",
    "write",
];

/// Words that make the `token` after them harmless: counters, cursors and the special tokens of tokenizers.
const HARMLESS_TOKEN: &[&str] = &[
    "bos",
    "cls",
    "continuation",
    "cursor",
    "end",
    "eos",
    "max",
    "min",
    "next",
    "num",
    "pad",
    "page",
    "pagination",
    "per",
    "sep",
    "special",
    "start",
    "stop",
    "total",
    "unk",
    "unexpected",
];

/// Words that make a plural `tokens` secret.
const SECRET_TOKENS: &[&str] = &[
    "access", "api", "auth", "bearer", "bot", "csrf", "id", "oauth", "refresh", "secret", "session", "user",
];

/// Words that make the `key` after them a secret.
const SECRET_KEY: &[&str] = &[
    "access",
    "account",
    "admin",
    "aes",
    "api",
    "app",
    "application",
    "auth",
    "client",
    "consumer",
    "crypt",
    "decryption",
    "deploy",
    "encryption",
    "hmac",
    "jwt",
    "license",
    "master",
    "private",
    "rsa",
    "service",
    "session",
    "shared",
    "signing",
    "ssh",
    "storage",
    "subscription",
    "webhook",
];

/// Words that make the `pass` after them a result rather than a password.
const HARMLESS_PASS: &[&str] = &[
    "all", "build", "by", "first", "multi", "one", "render", "second", "single", "test", "tests", "third",
    "two", "check", "did",
];

/// Tells what kind of secret a name announces, if any.
pub(super) fn classify(name: &str) -> Option<NameKind> {
    if matches!(name, "PWD" | "OLDPWD") || 256 < name.len() {
        return None;
    }
    let spaced = spaced_words(name);
    let words: Vec<&str> = spaced.split(' ').filter(|word| !word.is_empty()).map(without_number).collect();
    if words.last().is_some_and(|word| 1 < words.len() && ABOUT.binary_search(word).is_ok()) {
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
            word => {
                if is_certain(word, before, index + 1 == words.len()) {
                    return Some(NameKind::Certain);
                }
            }
        }
    }
    found
}

fn is_certain(word: &str, before: Option<&str>, last: bool) -> bool {
    match word {
        "password" | "passwords" | "passwd" | "passphrase" | "passphrases" | "passcode" | "passwort"
        | "pwd" => true,
        "secret" | "secrets" | "credential" | "credentials" | "cred" | "creds" => true,
        "authtoken" | "accesstoken" | "refreshtoken" | "apitoken" | "bearertoken" | "sessiontoken"
        | "idtoken" => true,
        "apikey" | "apikeys" | "privatekey" | "accesskey" | "secretkey" | "authkey" | "encryptionkey" => true,
        "signingkey" | "masterkey" | "sharedkey" | "accountkey" | "clientsecret" | "apisecret" => true,
        "dbpassword" | "userpassword" | "rootpassword" | "mypassword" | "dbpasswd" | "pgpassword" => true,
        "key" | "keys" => before.is_some_and(|word| SECRET_KEY.contains(&word)),
        "pass" => last && before.is_some_and(|word| !HARMLESS_PASS.contains(&word)),
        // `PassWord`, split by its case.
        "word" | "wd" | "phrase" | "code" => before == Some("pass"),
        _ => false,
    }
}

/// Writes the words of a name in lower case, with spaces between them.
///
/// A number at the end, as in `API_KEY_1`, is no word.
fn spaced_words(name: &str) -> String {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '_' | '-' | '.'));
    let mut spaced = String::with_capacity(name.len() + 8);
    let mut chars = name.chars().peekable();
    let mut previous = ' ';
    while let Some(c) = chars.next() {
        if c.is_uppercase() {
            // `apiKey` breaks before the K, `APIKey` before the K too, `APIs` nowhere.
            let next_is_lower = chars.peek().is_some_and(|next| next.is_lowercase());
            if previous.is_lowercase()
                || previous.is_ascii_digit()
                || (previous.is_uppercase() && next_is_lower)
            {
                spaced.push(' ');
            }
            spaced.extend(c.to_lowercase());
        } else if c.is_alphanumeric() {
            spaced.push(c);
        } else {
            spaced.push(' ');
        }
        previous = c;
    }
    spaced
}

/// Takes the number off a word: `token2` is a token.
fn without_number(word: &str) -> &str {
    let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
    if letters.is_empty() { word } else { letters }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_that_is_searched_is_sorted() {
        assert!(ABOUT.is_sorted());
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
            "authorization",
            "Proxy-Authorization",
            "token2",
            "creds",
            "db.password",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn names_of_other_things() {
        for name in [
            "",
            "max_tokens",
            "maxTokens",
            "tokens",
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
            "pass",
            "passed",
            "test_pass",
            "passenger",
            "bypass",
            "compass",
            "author",
            "authority",
            "auth",
            "id",
            "secret-read",
            "passwordless",
            "expires_at",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
