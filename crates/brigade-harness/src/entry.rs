//! The entry for Brigade's server, and how each client spells it.

use brigade_core::{Json, Object};
use serde::Deserialize;

use crate::client::{Client, Transport};
use crate::spelling::MAX_TEXT_BYTES;

/// The name of our server in all files.
pub const NAME: &str = "brigade";

/// The prefix of variables that hold tokens.
pub const TOKEN_VARIABLE: &str = "BRIGADE_TOKEN_";

/// Keys that Brigade writes in some form of an entry. Other keys were added by the user and are kept.
const OWN_KEYS: &[&str] =
    &["type", "command", "args", "url", "httpUrl", "serverUrl", "headers", "bearer_token_env_var"];

/// A value of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Part {
    /// A fixed text.
    Text(&'static str),
    /// The program.
    Program,
    /// The arguments.
    Arguments,
    /// The program and its arguments in one list.
    Words,
    /// The URL.
    Url,
    /// An object with the header `Authorization`. The name of the variable is placed between these texts.
    Bearer(&'static str, &'static str),
    /// The name of the variable.
    Variable,
}

/// How a client spells an HTTP server.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HttpForm {
    /// With these keys.
    Keys(Vec<(&'static str, Part)>),
    /// It is not supported, for this reason.
    Refused(&'static str),
}

impl Default for HttpForm {
    fn default() -> HttpForm {
        HttpForm::Refused("it cannot read the token from a variable")
    }
}

/// How a client reaches the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connection {
    /// The client starts a process.
    Stdio {
        /// The program.
        program: String,
        /// The arguments.
        arguments: Vec<String>,
    },
    /// The client connects to a URL and reads its token from a variable.
    Http {
        /// The URL.
        url: String,
        /// The variable that holds the token.
        variable: String,
    },
}

impl Connection {
    /// Creates a connection that starts the gateway of a workspace for an agent. Without a target, the gateway uses the
    /// workspace that it is started in.
    pub fn stdio(program: &str, agent: &str, target: Option<&str>) -> Connection {
        let target = target.map(|target| ["--target", target]);
        let arguments = ["serve", "--stdio", "--as", agent].into_iter().chain(target.into_iter().flatten());
        Connection::Stdio { program: program.to_owned(), arguments: arguments.map(str::to_owned).collect() }
    }

    /// Creates a connection to a running gateway, with the token of an agent.
    pub fn http(url: &str, agent: &str) -> Connection {
        Connection::Http { url: url.to_owned(), variable: token_variable(agent) }
    }

    /// Returns the transport.
    pub fn transport(&self) -> Transport {
        match self {
            Connection::Stdio { .. } => Transport::Stdio,
            Connection::Http { .. } => Transport::Http,
        }
    }
}

/// Returns the variable for the token of an agent.
pub fn token_variable(agent: &str) -> String {
    format!("{TOKEN_VARIABLE}{}", agent.to_ascii_uppercase().replace('-', "_"))
}

/// The value of an entry, with its keys in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry(pub(crate) Vec<(String, Json)>);

impl Entry {
    /// Returns the entry as JSON.
    pub fn to_json(&self) -> Json {
        Json::object(self.0.iter().cloned())
    }

    /// Returns whether a value has all members of this entry. It may have more.
    pub fn is_in(&self, value: &Json) -> bool {
        is_in(&self.to_json(), value)
    }

    /// Returns a key of a stored entry that the client rejects with the transport of this one.
    pub(crate) fn misplaced(&self, client: &Client, stored: &Json) -> Option<&'static str> {
        let is_stdio =
            self.0.iter().map(|(key, _)| key.as_str()).eq(client.stdio.iter().map(|(key, _)| *key));
        let transport = if is_stdio { Transport::Stdio } else { Transport::Http };
        let others = client.only.iter().filter(|(only, _)| *only != transport);
        others.flat_map(|(_, keys)| keys).copied().find(|key| stored.get(key).is_some())
    }

    /// Returns this entry, extended by the members that were added to an earlier one.
    pub(crate) fn over(&self, earlier: &Json) -> Entry {
        let mut members: Vec<(String, Json)> = self
            .0
            .iter()
            .map(|(key, value)| match (value, earlier.get(key)) {
                (Json::Object(own), Some(Json::Object(others))) => {
                    let mut both = others.clone();
                    both.extend(own.clone());
                    (key.clone(), Json::Object(both))
                }
                _ => (key.clone(), value.clone()),
            })
            .collect();
        members.extend(additions(earlier).map(|(key, value)| (key.clone(), value.clone())));
        Entry(members)
    }
}

/// Returns whether an entry still has everything that was written.
pub fn holds(written: &Json, entry: &Json) -> bool {
    is_in(written, entry)
}

/// Returns whether `whole` has everything that `part` has.
fn is_in(part: &Json, whole: &Json) -> bool {
    match (part, whole) {
        (Json::Object(part), Json::Object(whole)) => {
            part.iter().all(|(key, value)| whole.get(key).is_some_and(|whole| is_in(value, whole)))
        }
        _ => part == whole,
    }
}

/// Returns the members of an entry that Brigade never writes.
fn additions(entry: &Json) -> impl Iterator<Item = (&String, &Json)> {
    let members = entry.as_object().into_iter().flatten();
    members.filter(|(key, _)| !OWN_KEYS.contains(&key.as_str()))
}

/// Returns whether an entry has members that Brigade does not write.
pub(crate) fn has_additions(entry: &Json) -> bool {
    additions(entry).next().is_some()
}

impl Client {
    /// Spells a connection for this client.
    ///
    /// # Errors
    /// Returns the reason why the client does not support this connection.
    pub fn entry(&self, connection: &Connection) -> Result<Entry, &'static str> {
        let form = match (connection, &self.http) {
            (Connection::Stdio { .. }, _) => &self.stdio,
            (Connection::Http { .. }, HttpForm::Keys(form)) => form,
            (Connection::Http { .. }, HttpForm::Refused(reason)) => return Err(reason),
        };
        let value = |part: Part| match connection {
            Connection::Stdio { program, arguments } => match part {
                Part::Program => Json::from(program.as_str()),
                Part::Arguments => Json::from(arguments.clone()),
                Part::Words => Json::Array(
                    [program].into_iter().chain(arguments).map(|word| Json::from(word.as_str())).collect(),
                ),
                part => fixed(part),
            },
            Connection::Http { url, variable } => match part {
                Part::Url => Json::from(url.as_str()),
                Part::Variable => Json::from(variable.as_str()),
                Part::Bearer(before, after) => {
                    let bearer = format!("Bearer {before}{variable}{after}");
                    Json::Object(Object::from([("Authorization".to_owned(), Json::from(bearer))]))
                }
                part => fixed(part),
            },
        };
        Ok(Entry(form.iter().map(|(key, part)| ((*key).to_owned(), value(*part))).collect()))
    }
}

fn fixed(part: Part) -> Json {
    match part {
        Part::Text(text) => Json::from(text),
        // A form has only the parts of its transport. A test covers every form.
        _ => Json::Null,
    }
}

/// Returns whether an entry has our form: it starts our gateway, or names one of our token variables.
pub(crate) fn is_ours(entry: &Json) -> bool {
    let words = words(entry);
    let starts_us = words.split_first().is_some_and(|(program, arguments)| {
        let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
        name.starts_with(NAME) && arguments.starts_with(&["serve".to_owned(), "--stdio".to_owned()])
    });
    let header = entry.get("headers").and_then(|headers| headers.get("Authorization"));
    let variable = header.or_else(|| entry.get("bearer_token_env_var")).and_then(Json::as_str);
    starts_us || variable.is_some_and(|text| text.contains(TOKEN_VARIABLE))
}

/// Returns the command line of an entry: program and arguments. Returns an empty list if the entry starts nothing.
///
/// A command in one string is split at spaces if there are no arguments, because some programs accept this form.
pub(crate) fn words(entry: &Json) -> Vec<String> {
    let texts = |value: &Json| -> Vec<String> {
        match value {
            Json::String(text) => vec![text.clone()],
            Json::Array(items) => items.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
            Json::Object(inner) => {
                inner.get("path").and_then(Json::as_str).map(str::to_owned).into_iter().collect()
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => Vec::new(),
        }
    };
    let command = entry.get("command");
    let mut words = command.map(texts).unwrap_or_default();
    let inner = command.and_then(|command| command.get("args"));
    words.extend(entry.get("args").or(inner).map(texts).unwrap_or_default());
    match words.as_slice() {
        [line] if line.len() <= MAX_TEXT_BYTES && line.contains(' ') => {
            line.split_whitespace().map(str::to_owned).collect()
        }
        _ => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{client, clients};

    #[track_caller]
    fn check(label: &str, connection: &Connection, expect: &str) {
        let entry = client(label).unwrap().entry(connection).unwrap();
        let text: Vec<String> =
            entry.0.iter().map(|(key, value)| format!("{key}={}", value.to_compact())).collect();
        assert_eq!(text.join(" "), expect);
    }

    #[test]
    fn each_client_has_its_own_spelling() {
        let stdio = Connection::stdio("/bin/brigade", "local", Some("/w"));
        let args = r#"["serve","--stdio","--as","local","--target","/w"]"#;
        check("cursor", &stdio, &format!("command=\"/bin/brigade\" args={args}"));
        check("vscode", &stdio, &format!("type=\"stdio\" command=\"/bin/brigade\" args={args}"));
        let words = r#"["/bin/brigade","serve","--stdio","--as","local","--target","/w"]"#;
        check("opencode", &stdio, &format!("type=\"local\" command={words}"));
        let http = Connection::http("http://h/mcp", "codex-ci");
        let bearer = |variable: &str| format!("headers={{\"Authorization\":\"Bearer {variable}\"}}");
        check(
            "claude",
            &http,
            &format!("type=\"http\" url=\"http://h/mcp\" {}", bearer("${BRIGADE_TOKEN_CODEX_CI}")),
        );
        check("codex", &http, "url=\"http://h/mcp\" bearer_token_env_var=\"BRIGADE_TOKEN_CODEX_CI\"");
        check("gemini", &http, &format!("httpUrl=\"http://h/mcp\" {}", bearer("${BRIGADE_TOKEN_CODEX_CI}")));
        check(
            "windsurf",
            &http,
            &format!("serverUrl=\"http://h/mcp\" {}", bearer("${env:BRIGADE_TOKEN_CODEX_CI}")),
        );
        assert!(client("zed").unwrap().entry(&http).is_err());
    }

    #[test]
    fn written_entries_are_ours_and_have_only_our_keys() {
        for client in clients() {
            for connection in
                [Connection::stdio("brigade", "a", Some("/w")), Connection::http("http://h/mcp", "a")]
            {
                let Ok(entry) = client.entry(&connection) else { continue };
                let json = entry.to_json();
                assert!(is_ours(&json) && entry.is_in(&json) && !has_additions(&json), "{}", client.label);
                assert!(entry.0.iter().all(|(_, value)| *value != Json::Null), "{}", client.label);
            }
        }
    }

    #[test]
    fn other_servers_are_not_ours() {
        for text in [
            "null",
            "[]",
            r#"{"command": "brigade"}"#,
            r#"{"command": "brigade", "args": ["tools", "list"]}"#,
            r#"{"command": "npx", "args": ["serve", "--stdio"]}"#,
            r#"{"url": "http://127.0.0.1:8766/mcp"}"#,
            r#"{"command": ["npx"], "args": "serve"}"#,
        ] {
            assert!(!is_ours(&Json::parse(text).unwrap()), "{text}");
        }
        assert!(is_ours(&Json::parse(r#"{"command": "/opt/x/brigade serve --stdio --as a"}"#).unwrap()));
    }

    #[test]
    fn additions_stay_when_an_entry_changes() {
        let earlier = r#"{"command": "old", "env": {"A": "1"}, "timeout": 5, "headers": {"X": "y"}}"#;
        let client = client("cursor").unwrap();
        let entry = client.entry(&Connection::http("http://h/mcp", "a")).unwrap();
        let both = entry.over(&Json::parse(earlier).unwrap()).to_json();
        assert_eq!(both.get("command"), None);
        assert_eq!(both.get("env").unwrap().to_compact(), r#"{"A":"1"}"#);
        assert_eq!(both.get("headers").unwrap().as_object().unwrap().len(), 2);
        assert!(entry.is_in(&both));
    }
}
