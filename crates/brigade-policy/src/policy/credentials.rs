//! `[git.credentials]`: how git logs in to the hosts of repositories.

use brigade_core::{Glob, Label, Place};

use toml::de::DeValue;

use super::Policy;
use super::read::{TOP_LEVEL_KEYS, texts};
use crate::document::{Reader, Value};

/// How git logs in to some hosts: a table under `[git.credentials]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitCredential {
    /// Its name, which `credential_binding_id` names.
    pub name: String,
    /// Its place.
    pub place: Place,
    /// Patterns of the hosts that it is for.
    pub hosts: Vec<String>,
    /// What git logs in with.
    pub login: GitLogin,
}

/// What git logs in with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitLogin {
    /// A token for `https`.
    Token {
        /// The name of the user.
        user: String,
        /// The label in `env_bindings` whose variable holds the token.
        label: Label,
    },
    /// A file with a key for `ssh`: absolute, or below `~`.
    Key(String),
    /// The keys of the user's ssh agent.
    Agent,
}

/// The user of a token for which none is named. Forges take any name with a token.
const TOKEN_USER: &str = "x-access-token";

impl GitCredential {
    /// Returns whether it is for a host.
    pub fn is_for(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.hosts.iter().any(|pattern| Glob::new(&pattern.to_ascii_lowercase()).matches(&host))
    }
}

/// Reads `[git.credentials]`. A table with an error gives no credential.
pub(super) fn read(reader: &mut Reader<'_>, value: &Value<'_>, policy: &mut Policy) {
    for (key, value) in reader.table("git.credentials", value).into_iter().flatten() {
        let name = key.get_ref().as_ref();
        let field = format!("git.credentials.{name}");
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if name.is_empty() || 64 < name.len() || !name.chars().all(is_name) {
            let message = "a name has 1 to 64 letters, digits, `-` and `_`";
            reader.error(key.span(), Some("git.credentials"), message, None);
            continue;
        }
        let place = reader.place(&key.span());
        let (mut hosts, mut user, mut logins) = (Vec::new(), None, Vec::new());
        for (key, value) in reader.table(&field, value).into_iter().flatten() {
            let member = format!("{field}.{}", key.get_ref());
            match key.get_ref().as_ref() {
                "hosts" => {
                    let place = reader.place(&key.span());
                    hosts = texts(reader, &member, place, value).values().cloned().collect();
                }
                "user" => user = reader.string(&member, value).map(|user| user.value),
                "token" => {
                    let label = reader.string(&member, value).map(|text| text.value.parse::<Label>());
                    match label {
                        Some(Ok(label)) => {
                            logins.push(GitLogin::Token { user: TOKEN_USER.to_owned(), label });
                        }
                        Some(Err(_)) => {
                            let message = "expected a label of `env_bindings`, never the token itself";
                            reader.error(value.span(), Some(&member), message, None);
                        }
                        None => {}
                    }
                }
                "key" => {
                    let path = reader.string(&member, value).map(|path| path.value);
                    match path.filter(|path| path.starts_with('/') || path.starts_with("~/")) {
                        Some(path) => logins.push(GitLogin::Key(path)),
                        None => {
                            let message = "expected the absolute path of a key file, or one below `~/`";
                            reader.error(value.span(), Some(&member), message, None);
                        }
                    }
                }
                "agent" => match value.get_ref() {
                    DeValue::Boolean(true) => logins.push(GitLogin::Agent),
                    _ => reader.error(value.span(), Some(&member), "expected true", None),
                },
                _ => reader.unknown_member(
                    key,
                    &format!("{field}."),
                    &["agent", "hosts", "key", "token", "user"],
                    TOP_LEVEL_KEYS,
                ),
            }
        }
        match (logins.pop(), logins.is_empty(), hosts.is_empty()) {
            (Some(login), true, false) => {
                let login = match (login, user) {
                    (GitLogin::Token { label, .. }, Some(user)) => GitLogin::Token { user, label },
                    (login, _) => login,
                };
                policy.git_credentials.push(GitCredential { name: name.to_owned(), place, hosts, login });
            }
            _ => {
                let message = "expected `hosts`, and one of `token`, `key` and `agent`";
                reader.error_at(place, &field, message, None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::PolicyState;

    #[track_caller]
    fn check(text: &str, expect: Option<(&str, GitLogin)>) {
        let text = format!("[git.credentials.one]\n{text}\n");
        let state = PolicyState::parse("policy.toml", Some(text.as_bytes()));
        let found = state.policy().and_then(|policy| policy.git_credentials.first().cloned());
        let found = found.map(|found| (found.hosts.join(" "), found.login));
        assert_eq!(found, expect.map(|(hosts, login)| (hosts.to_owned(), login)), "{text}");
    }

    #[test]
    fn a_credential_has_hosts_and_one_login() {
        let token = |user: &str| GitLogin::Token { user: user.to_owned(), label: "FORGE".parse().unwrap() };
        check("hosts = ['forge.example']\ntoken = 'FORGE'", Some(("forge.example", token(TOKEN_USER))));
        check("hosts = ['a', '*.b']\nuser = 'me'\ntoken = 'FORGE'", Some(("a *.b", token("me"))));
        check("hosts = ['a']\nkey = '~/.ssh/id'", Some(("a", GitLogin::Key("~/.ssh/id".to_owned()))));
        check("hosts = ['a']\nagent = true", Some(("a", GitLogin::Agent)));
        for broken in [
            "token = 'FORGE'",
            "hosts = ['a']",
            "hosts = ['a']\nkey = 'keys/id'",
            "hosts = ['a']\nagent = false",
            "hosts = ['a']\nagent = true\nkey = '/id'",
            "hosts = ['a']\ntoken = 'gho_not a label'",
            "hosts = ['a']\nagent = true\nother = 1",
        ] {
            check(broken, None);
        }
        let one = GitCredential {
            name: "one".to_owned(),
            place: Place::file("policy.toml"),
            hosts: vec!["*.Forge.example".to_owned()],
            login: GitLogin::Agent,
        };
        assert!(one.is_for("git.FORGE.example") && !one.is_for("forge.example"));
    }
}
