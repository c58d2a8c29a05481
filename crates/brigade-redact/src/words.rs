//! The words that distinguish names of secrets from other names.

/// Names of authentication methods, and words for whether one is used, sorted.
#[rustfmt::skip]
pub(crate) const METHODS: &[&str] = &[
    "", "anonymous", "any", "auto", "basic", "bearer", "cert", "certificate", "cookie", "cram-md5", "default",
    "digest", "disabled", "enabled", "external", "false", "form", "gssapi", "header", "iam", "include", "inherit", "jwt",
    "kerberos", "key", "login", "manual", "md5", "mtls", "negotiate", "never", "no", "none", "ntlm",
    "null", "off", "oidc", "omit", "on", "optional", "pam", "passkey", "password", "peer", "plain", "prompt", "public",
    "required", "same-origin", "saml", "session", "sigv4", "ssh", "sso", "tls", "token", "true", "trust", "undefined",
    "userpass", "webauthn", "yes",
];

/// Last words of names that are about a secret, sorted.
#[rustfmt::skip]
pub(crate) const ABOUT: &[&str] = &[
    "age", "arn", "at", "backend", "budget", "class", "column", "cost", "count", "counter", "counts", "created", "dir",
    "directory", "enabled", "endpoint", "env", "error", "errors", "exists", "expiration", "expires", "expiry",
    "fd", "field", "file", "filename", "files", "folder", "format", "helper", "hint", "id", "ids", "in", "index",
    "iteration", "kind", "label", "labels", "len", "length", "lifetime", "limit", "limits", "line", "manager",
    "max", "min", "mode", "name", "names", "offset", "on", "path", "paths", "pattern", "policy", "pos",
    "position", "prefix", "prompt", "provider", "rate", "read", "ref", "required", "requirements", "reset",
    "rotation", "rules", "scan", "scanner", "scanning", "scope", "scopes", "size", "source", "span", "status", "stdin", "store", "strategy", "stream",
    "strength", "suffix", "timeout", "total", "ttl", "type", "types", "uri", "url", "usage", "used", "valid",
    "validator", "var", "variable", "variables", "vars", "version", "write",
];

/// Words that make a following `token` harmless: counters, cursors and special tokens of tokenizers.
#[rustfmt::skip]
pub(crate) const HARMLESS_TOKEN: &[&str] = &[
    "bos", "cls", "continuation", "cursor", "end", "eos", "mask", "max", "min", "next", "num", "pad", "page",
    "pagination", "per", "sep", "special", "start", "stop", "total", "unk", "unexpected",
];

/// Words that make a plural `tokens` secret.
#[rustfmt::skip]
pub(crate) const SECRET_TOKENS: &[&str] = &[
    "access", "api", "auth", "bearer", "bot", "csrf", "id", "oauth", "refresh", "secret", "session", "user",
];

/// Words that make a following `key` secret.
#[rustfmt::skip]
pub(crate) const SECRET_KEY: &[&str] = &[
    "access", "account", "admin", "aes", "anon", "api", "app", "application", "auth", "client", "consumer", "crypt",
    "decryption", "deploy", "encryption", "hmac", "jwt", "license", "master", "private", "role", "rsa", "service",
    "session", "shared", "signing", "ssh", "storage", "subscription", "webhook",
];

/// Words that make a following `pass` a result rather than a password.
#[rustfmt::skip]
pub(crate) const HARMLESS_PASS: &[&str] = &[
    "all", "build", "by", "first", "multi", "one", "render", "second", "single", "test", "tests", "third",
    "two", "check", "did",
];

/// Words before `auth` that make it a question of whether or how authentication is used.
#[rustfmt::skip]
pub(crate) const ABOUT_USE: &[&str] = &[
    "default", "disable", "enable", "force", "has", "is", "need", "needs", "no", "preferred", "require",
    "requires", "skip", "use", "uses", "with", "without",
];

/// Words that always name a secret, regardless of other words.
#[rustfmt::skip]
pub(crate) const CERTAIN: &[&str] = &[
    "password", "passwords", "passwd", "passphrase", "passphrases", "passcode", "passwort", "pwd", "secret",
    "secrets", "credential", "credentials", "cred", "creds", "authtoken", "accesstoken", "refreshtoken",
    "apitoken", "bearertoken", "sessiontoken", "idtoken", "apikey", "apikeys", "privatekey", "accesskey",
    "secretkey", "authkey", "encryptionkey", "signingkey", "masterkey", "sharedkey", "accountkey",
    "clientsecret", "apisecret",
];
