//! The words that distinguish secrets from other text, as data.

/// Names of authentication methods, and words that say whether one is used, sorted.
#[rustfmt::skip]
pub(crate) const METHODS: &[&str] = &[
    "", "anonymous", "any", "auto", "basic", "bearer", "cert", "certificate", "cookie", "cram-md5", "default",
    "digest", "disabled", "enabled", "external", "false", "form", "gssapi", "header", "iam", "inherit", "jwt",
    "kerberos", "key", "login", "manual", "md5", "mtls", "negotiate", "never", "no", "none", "ntlm",
    "null", "off", "oidc", "on", "optional", "pam", "passkey", "password", "peer", "plain", "prompt", "public",
    "required", "saml", "session", "sigv4", "ssh", "sso", "tls", "token", "true", "trust", "undefined",
    "userpass", "webauthn", "yes",
];

/// Last words that make a name one about a secret, sorted.
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

/// Words before `auth` that ask if or how it is used.
#[rustfmt::skip]
pub(crate) const ABOUT_USE: &[&str] = &[
    "default", "disable", "enable", "force", "has", "is", "need", "needs", "no", "preferred", "require",
    "requires", "skip", "use", "uses", "with", "without",
];

/// First words of flags that take no secret: `--no-password`, `--list-secrets`.
#[rustfmt::skip]
pub(crate) const SWITCHES: &[&str] = &[
    "no", "without", "ask", "prompt", "show", "list", "scan", "skip",
];

/// Schemes that may precede a secret in a header.
#[rustfmt::skip]
pub(crate) const SCHEMES: &[&str] = &[
    "bearer", "basic", "token", "apikey", "api-key", "negotiate", "bot", "key",
];

/// Words that are not secret: types, switches and absent values.
#[rustfmt::skip]
pub(crate) const HARMLESS_WORDS: &[&str] = &[
    "0", "1", "any", "bool", "boolean", "byte", "bytes", "char", "disabled", "enabled", "false", "int", "integer", "n/a", "nil",
    "no", "none", "null", "number", "object", "off", "on", "optional", "required", "str", "string", "true", "undefined", "unset",
    "yes",
];

/// Words behind an option for a secret that say where it comes from, or whether it is used.
#[rustfmt::skip]
pub(crate) const WAYS: &[&str] = &[
    "ask", "auto", "ed25519", "env", "environment", "file", "github", "gitlab", "google", "include", "interactive", "keychain",
    "keyring", "manual", "omit", "prompt", "same-origin", "stdin", "vault",
];

/// What the names of algorithms begin with, before a number.
#[rustfmt::skip]
pub(crate) const ALGORITHMS: &[&str] = &[
    "aes", "blake", "ecdsa", "ed", "eddsa", "es", "hmac", "hs", "md", "ps", "ripemd", "rs", "rsa", "sha", "sm", "v",
];

/// Programs behind whose `-u` or `--user` no password stands, but a host or the name of an account.
#[rustfmt::skip]
pub(crate) const WITHOUT_LOGIN: &[&str] = &[
    "dig", "iperf", "iperf3", "kubectl", "nc", "ncat", "netcat", "nmap", "oc", "socat",
];

/// Programs whose words are patterns and replacements.
#[rustfmt::skip]
pub(crate) const SEARCHING: &[&str] = &["ack", "ag", "egrep", "fgrep", "grep", "gsed", "rg", "sed", "zgrep"];

/// Programs that take a program as an operand: `jq '{token: .token}'`.
#[rustfmt::skip]
pub(crate) const QUERYING: &[&str] = &["awk", "gawk", "gojq", "jaq", "jq", "mawk", "yq"];

/// Programs that run tests, and their options that choose tests by name.
#[rustfmt::skip]
pub(crate) const TESTING: &[(&str, &[&str])] = &[
    ("go", &["-bench", "-run", "-skip"]), ("jest", &["-t"]), ("mocha", &["-f", "-g"]), ("phpunit", &["--filter"]),
    ("playwright", &["-g"]), ("pytest", &["-k"]), ("rspec", &["-e"]), ("vitest", &["-t"]),
];

/// Programs whose `-m` takes a message.
#[rustfmt::skip]
pub(crate) const COMMITTING: &[&str] = &["git", "hg", "jj", "svn"];

/// Options whose value is a text for people, or a pattern that finds one.
#[rustfmt::skip]
pub(crate) const TEXT_OPTIONS: &[&str] = &[
    "--body", "--description", "--grep", "--message", "--notes", "--pattern", "--regexp", "--testNamePattern", "--title",
];

/// Suffixes of names of files that are no secrets.
#[rustfmt::skip]
pub(crate) const FILES: &[&str] = &[
    ".avif", ".bin", ".bmp", ".bz2", ".c", ".css", ".csv", ".db", ".doc", ".docx", ".gif", ".go", ".gz", ".htm", ".html",
    ".ico", ".jar", ".java", ".jpeg", ".jpg", ".js", ".log", ".md", ".mjs", ".mov", ".mp3", ".mp4", ".parquet", ".pdf",
    ".php", ".png", ".pptx", ".py", ".rb", ".rs", ".sh", ".sql", ".sqlite", ".svg", ".tar", ".tgz", ".tif", ".ts", ".tsv",
    ".wasm", ".wav", ".webm", ".webp", ".woff2", ".xlsx", ".xml", ".xz", ".zip", ".zst",
];

/// Short names of a password, which are used as its value in tests of programs.
#[rustfmt::skip]
pub(crate) const SHORT_NAMES: &[&str] = &["pass", "passwd", "pw", "pwd"];

/// What is left for the reader to write, in names such as `YOUR_API_KEY`.
#[rustfmt::skip]
pub(crate) const SECRET_WORDS: &[&str] = &["apikey", "key", "passphrase", "password", "secret", "token"];

/// First words of a sentence about a secret: `Password: please enter`.
#[rustfmt::skip]
pub(crate) const PROSE: &[&str] = &[
    "cannot", "can't", "choose", "could", "does", "doesn't", "enter", "entered", "expired", "failed", "has",
    "incorrect", "invalid", "is", "isn't", "missing", "must", "needs", "not", "please", "should", "too", "type",
    "was", "wrong",
];

/// First words of a text about a value that is not there, or is elsewhere, and what may follow each.
#[rustfmt::skip]
pub(crate) const ELSEWHERE: &[(&str, &[&str])] = &[
    ("ask", &["a", "an", "for", "the", "your"]), ("as", &["above", "described", "in"]),
    ("comes", &["from"]), ("given", &["by", "in", "via", "with"]), ("kept", &["at", "by", "in"]),
    ("no", &["default", "value"]), ("none", &["is", "needed", "required", "set", "yet"]),
    ("provided", &["as", "by", "in", "via"]), ("read", &["by", "from"]), ("same", &["as"]),
    ("see", &["above", "also", "below", "in", "our", "readme", "section", "the", "your"]),
    ("set", &["as", "by", "in", "via", "with"]), ("stored", &["as", "at", "by", "in"]), ("taken", &["from"]),
];

/// First words of a text that says whose a value is, or which one.
pub(crate) const DETERMINERS: &[&str] = &["a", "an", "any", "our", "the", "this", "your"];

/// What a text is about that says which value it is.
#[rustfmt::skip]
pub(crate) const ABOUT_VALUES: &[&str] = &[
    "account", "admin", "administrator", "credential", "credentials", "dashboard", "database", "environment", "file",
    "key", "passphrase", "password", "secret", "server", "service", "settings", "string", "token", "user", "value", "vault",
];

/// What may follow such a word.
#[rustfmt::skip]
pub(crate) const BEHIND_VALUES: &[&str] = &[
    "as", "at", "by", "for", "from", "in", "is", "of", "on", "that", "to", "used", "we", "which", "with", "you",
];

/// Words before a number that say how long a value is.
#[rustfmt::skip]
pub(crate) const BOUNDS: &[&str] = &[
    "and", "at", "between", "exactly", "fewer", "least", "length", "less", "longer", "max", "maximum", "min", "minimum",
    "more", "most", "of", "or", "over", "shorter", "than", "to", "under", "up",
];

/// What a number in such a text counts.
#[rustfmt::skip]
pub(crate) const UNITS: &[&str] = &[
    "bits", "bytes", "characters", "chars", "days", "digits", "hours", "letters", "minutes", "seconds", "symbols", "words",
];

/// Prefixes of values that only refer to a secret.
#[rustfmt::skip]
pub(crate) const REFERENCES: &[&str] = &[
    "/", "./", "../", "~/", "@", "file:", "fd:", "env:", "id=", "type=", "src=", "source=",
];

/// Suffixes of file names in which secrets are stored.
#[rustfmt::skip]
pub(crate) const KEPT_IN: &[&str] = &[
    ".json", ".yaml", ".yml", ".toml", ".ini", ".conf", ".cfg", ".env", ".txt", ".pem", ".key", ".pub", ".crt",
    ".cer", ".p12", ".pfx", ".jks", ".kdbx", ".gpg", ".asc", ".age",
];

/// Variables in programs whose members are read, not literal values.
#[rustfmt::skip]
pub(crate) const RECEIVERS: &[&str] = &[
    "args", "cfg", "config", "context", "ctx", "env", "lexer", "opts", "options", "os", "params", "parser",
    "process", "props", "req", "request", "self", "settings", "state", "this", "user",
];

/// Words that always name a secret, whatever the words around them.
#[rustfmt::skip]
pub(crate) const CERTAIN: &[&str] = &[
    "password", "passwords", "passwd", "passphrase", "passphrases", "passcode", "passwort", "pwd", "secret",
    "secrets", "credential", "credentials", "cred", "creds", "authtoken", "accesstoken", "refreshtoken",
    "apitoken", "bearertoken", "sessiontoken", "idtoken", "apikey", "apikeys", "privatekey", "accesskey",
    "secretkey", "authkey", "encryptionkey", "signingkey", "masterkey", "sharedkey", "accountkey",
    "clientsecret", "apisecret",
];

/// Last words of names that only secrets have.
#[rustfmt::skip]
pub(crate) const SECRET_OPTIONS: &[&str] = &["cookie", "cookies", "jwt", "mnemonic", "otp", "pass", "pat", "pw"];

/// Last words of names that secrets have, and other things, too.
#[rustfmt::skip]
pub(crate) const UNSURE_OPTIONS: &[&str] = &["hmac", "pin", "sas", "session", "sessionid", "sid", "sig", "signature"];

/// Words that make a following `key` the key of something that is kept or shown, and no secret.
#[rustfmt::skip]
pub(crate) const OTHER_KEYS: &[&str] = &[
    "alternate", "artifact", "attribute", "bind", "build", "by", "cache", "candidate", "cluster", "cmk", "column",
    "component", "composite", "config", "consul", "context", "data", "dedup", "dedupe", "deduplication", "default",
    "device", "dict", "doc", "document", "domain", "entity", "env", "environment", "etcd", "feature", "fetch", "field",
    "file", "flag", "foreign", "form", "gpg", "group", "hash", "host", "hot", "id", "idempotency", "index", "issue",
    "item", "join", "json", "kms", "kv", "label", "layer", "lock", "lookup", "map", "message", "meta", "metadata",
    "natural", "node", "object", "option", "order", "page", "param", "parameter", "partition", "path", "pgp", "prefix",
    "press", "primary", "project", "property", "public", "query", "range", "record", "recv", "region", "registry",
    "release", "repo", "response", "restore", "routing", "row", "search", "send", "settings", "shard", "sort", "space",
    "state", "surrogate", "table", "tag", "team", "template", "test", "ticket", "toggle", "translation", "trusted",
    "type", "unique", "verification", "verify", "version", "workspace", "yaml",
];

/// Subcommands behind which the name of a setting and its value stand.
#[rustfmt::skip]
pub(crate) const SETTING: &[&str] = &["config", "configure", "set"];

/// What a command line has at least one of if the rules for its words find a secret that no anchor shows.
#[rustfmt::skip]
pub(crate) const LINE_NAMES: &[&str] = &[
    " -e", " -u", "\"value\"", "@", "auth", "basic", "bearer", "compose", "cookie", "docker", "env", "header", "hmac", "jwt", "key", "login",
    "mnemonic", "nerdctl", "otp", "pass", "pat", "phrase", "pin", "podman", "pw", "sas", "session", "sid", "sig", "user",
];

/// Users of a system.
pub(crate) const SYSTEM_USERS: &[&str] = &["nobody", "root", "www-data"];

/// Groups of a system.
#[rustfmt::skip]
pub(crate) const SYSTEM_GROUPS: &[&str] = &[
    "adm", "admin", "daemon", "docker", "nobody", "nogroup", "root", "staff", "sudo", "users", "wheel", "www-data",
];

/// Last words of options that take a name with a password.
#[rustfmt::skip]
pub(crate) const LOGIN_OPTIONS: &[&str] = &["basic", "login", "user"];

/// Words that end in `pass`, and take no password.
#[rustfmt::skip]
pub(crate) const PASSES: &[&str] = &[
    "allpass", "bandpass", "bypass", "compass", "encompass", "highpass", "lowpass", "multipass", "onepass",
    "overpass", "renderpass", "singlepass", "surpass", "trespass", "twopass", "underpass",
];

/// What the names of packages, files and accounts begin with before a colon.
#[rustfmt::skip]
pub(crate) const PACKAGES: &[&str] = &[
    "acct", "asdf", "bitbucket", "brew", "bun", "cargo", "catalog", "conda", "data", "docker", "file", "gem", "gist",
    "git", "github", "gitlab", "go", "http", "https", "jsr", "link", "mailto", "maven", "mise", "node", "npm", "oci",
    "patch", "pip", "plugin", "portal", "pypi", "s3", "sip", "ssh", "workspace", "xmpp",
];

/// What stands behind the `@` of a package or an image, besides a number.
#[rustfmt::skip]
pub(crate) const TAGS: &[&str] = &[
    "HEAD", "alpha", "beta", "canary", "dev", "edge", "latest", "main", "master", "next", "nightly", "rc", "sha256",
    "sha512", "stable",
];
