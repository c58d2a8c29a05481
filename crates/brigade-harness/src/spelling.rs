//! Reads a server in the spelling of its harness.

mod headers;
mod shown;
mod table;
mod text;

use std::borrow::Cow;

use brigade_catalog::ServerTransport;
use brigade_cmdline::Argv;
use brigade_core::{Fingerprint, IssueType, Json, Number, Object};
use brigade_redact::{MARK, Redactor, is_secret_name, is_secret_value, looks_secret_value, secret_fields};

use crate::beside::{is_variable, named_value};
use crate::entry::{NAME, is_ours};
use crate::found::{DiscoveredEntry, EntryFamily, EntrySource, plain_id};
use crate::launch::Launch;
use crate::urls::{has_literal_user, has_secret_query, host_of, is_address, is_unclear};
use crate::values::{HeldValue, values};
use crate::variables::{References, references};
use shown::shown_key;
use table::{Remote, TypeRequirement, Unit};
use text::{common_form, cut, cut_own, dedup, sorted};

pub(crate) use table::Spelling;

/// Keys that all harnesses read.
const COMMON_KEYS: &[&str] = &["type", "args", "cwd", "enabled", "disabled", "description"];

/// The maximum length of a string or command, in bytes. No hand-written one is longer.
pub(crate) const MAX_TEXT_BYTES: usize = 64 << 10;

/// The maximum length of a list in an entry.
const MAX_LIST_ELEMENTS: usize = 1_000;

/// The maximum number of problems of an entry.
const MAX_TROUBLES: usize = 50;

/// The entry of a server, without id and origins, and its problems.
pub(crate) struct SpelledEntry {
    pub(crate) entry: Option<DiscoveredEntry>,
    pub(crate) launch: Launch,
    pub(crate) troubles: Vec<(IssueType, String)>,
}

struct Reader<'r> {
    spelling: &'static Spelling,
    members: &'r Object,
    redactor: &'r Redactor,
    troubles: Vec<(IssueType, String)>,
    unresolved: Vec<String>,
    literal_secrets: Vec<String>,
    /// The keys in which the timeout is looked up.
    timeouts: Vec<&'static str>,
    /// Parts of the definition that are missing from the entry.
    left_out: Vec<String>,
    launch: Launch,
}

/// Reads a server. The flag next to the name says whether the name replaces a secret.
pub(crate) fn read_server(
    spelling: &'static Spelling,
    (name, is_secret): (&str, bool),
    value: &Json,
    redactor: &Redactor,
) -> SpelledEntry {
    let Json::Object(members) = value else {
        let trouble = (IssueType::ServerInvalid, "the server is not an object".to_owned());
        return SpelledEntry { entry: None, launch: Launch::default(), troubles: vec![trouble] };
    };
    let kind = members.get("type").and_then(Json::as_str);
    if kind.is_some_and(|kind| spelling.skipped.contains(&kind)) {
        return SpelledEntry { entry: None, launch: Launch::default(), troubles: Vec::new() };
    }
    let mut reader = Reader {
        spelling,
        members,
        redactor,
        troubles: Vec::new(),
        unresolved: Vec::new(),
        literal_secrets: Vec::new(),
        timeouts: Vec::new(),
        left_out: Vec::new(),
        launch: Launch::default(),
    };
    if is_secret {
        reader.literal_secrets.push("name".to_owned());
        reader.left_out.push("the name of the server looks like a secret; rename it in that file".to_owned());
    }
    let entry = reader.entry(name, kind, name == NAME && is_ours(value));
    let launch = reader.launch.without(reader.left_out);
    SpelledEntry { entry, launch, troubles: reader.troubles }
}

impl Reader<'_> {
    fn trouble(&mut self, code: IssueType, message: impl Into<String>) {
        let trouble = (code, message.into());
        if self.troubles.len() < MAX_TROUBLES && !self.troubles.contains(&trouble) {
            self.troubles.push(trouble);
        }
    }

    fn entry(&mut self, name: &str, kind: Option<&str>, is_own: bool) -> Option<DiscoveredEntry> {
        let words = self.words();
        let url = self.spelling.urls.iter().find_map(|(key, remote)| {
            let url = self.members.get(*key)?.as_str()?;
            (!url.is_empty()).then_some((*key, url, *remote))
        });
        let transport = self.transport(kind, !words.is_empty(), url.map(|(.., remote)| remote))?;
        let url = match url {
            Some((key, url, _)) if MAX_TEXT_BYTES < url.len() => {
                self.partial(format!("`{key}` is too long"));
                None
            }
            url => url,
        };
        let held = values(&words);
        let (command, is_secret) = self.shown_words(&words, &held);
        self.launch = Launch::new(words, held, self.text("cwd"), &is_secret);
        let url_host = url.and_then(|(key, url, _)| {
            self.note(references(url).found);
            if looks_secret_value(url).is_some()
                || has_secret_query(url)
                || has_literal_user(url)
                || is_unclear(url)
            {
                self.literal_secrets.push(key.to_owned());
            }
            if !is_address(url) {
                self.partial(format!("`{key}` is not a server address (https://HOST/PATH)"));
            }
            host_of(url)
        });
        let plain_url = url.map(|(_, url, _)| url).filter(|url| {
            is_address(url)
                && !url.contains(['?', '#', '$', '{'])
                && looks_secret_value(url).is_none()
                && !has_literal_user(url)
                && !is_unclear(url)
        });
        self.launch = std::mem::take(&mut self.launch).at(plain_url.map(str::to_owned), self.header_texts());
        let env_labels = self.env_labels();
        let header_names = self.header_names();
        let timeout = self.timeout();
        let allows_none = self.allows_none();
        let tools_allowed: Vec<String> = self.names(self.spelling.allowed);
        let tools_allowed = if tools_allowed == ["*"] { Vec::new() } else { tools_allowed };
        let tools_denied = self.names(self.spelling.denied);
        let cwd = self.text("cwd").map(|cwd| {
            let found = references(&cwd);
            self.note(found.found);
            self.redactor.redact_str(&found.shown)
        });
        let description = self.text("description").map(|text| self.redactor.redact_str(&cut(&text)));
        let enabled = self.enabled();
        let unknown_keys = self.unknown_keys();
        for include in &self.spelling.includes {
            if self.members.contains_key(*include) {
                self.unresolved.push((*include).to_owned());
            }
        }
        let fingerprint = Fingerprint::builder("brigade.discovered-server.v1")
            .text("transport", transport.as_str())
            .list("command", command.iter().map(|word| common_form(word)))
            .text("cwd", cwd.as_deref())
            .list("env", sorted(&env_labels))
            .list("headers", sorted(&header_names).iter().map(|name| name.to_ascii_lowercase()))
            .text("host", url_host.as_deref())
            .text("timeout", timeout.as_ref().map(Number::as_str))
            .list("allowed", sorted(&tools_allowed))
            .list("denied", sorted(&tools_denied));
        let fingerprint = match allows_none {
            true => fingerprint.text("allows", "none").finish(),
            false => fingerprint.finish(),
        };
        dedup(&mut self.unresolved);
        dedup(&mut self.literal_secrets);
        if !self.literal_secrets.is_empty() {
            let keys = self.literal_secrets.join(", ");
            self.trouble(
                IssueType::LiteralSecret,
                format!("literal secrets in the file ({keys}); bind them through env_bindings of the policy"),
            );
        }
        Some(DiscoveredEntry {
            id: plain_id(EntrySource::Mcp, name),
            source: EntrySource::Mcp,
            family: EntryFamily::Mcp,
            name: name.to_owned(),
            description,
            transport: Some(transport),
            command,
            cwd,
            env_labels,
            header_names,
            url_host,
            enabled,
            timeout,
            tools_allowed,
            tools_denied,
            unresolved: std::mem::take(&mut self.unresolved),
            unknown_keys,
            literal_secrets: std::mem::take(&mut self.literal_secrets),
            fingerprint,
            registered_as: is_own.then(|| NAME.to_owned()),
            origins: Vec::new(),
        })
    }

    /// Returns how the server is reached; `None` if the file does not say.
    fn transport(
        &mut self,
        kind: Option<&str>,
        has_command: bool,
        url: Option<Remote>,
    ) -> Option<ServerTransport> {
        let of_kind = match kind {
            Some("stdio" | "local") => Some(ServerTransport::Stdio),
            Some("http" | "streamable-http" | "streamable_http" | "streamableHttp" | "remote") => {
                Some(ServerTransport::Http)
            }
            Some("sse") => Some(ServerTransport::Sse),
            Some(_) | None => None,
        };
        if kind.is_some() && of_kind.is_none() && !has_command && url == Some(Remote::ByType) {
            let message = "unknown server `type`, so the transport is unknown; the server is not listed";
            self.trouble(IssueType::ServerTypeUnclear, message);
            return None;
        }
        let of_url = match url {
            // Version 0.61 of Gemini CLI writes a separate `type`.
            Some(Remote::Sse) => {
                of_kind.filter(|kind| *kind == ServerTransport::Http).or(Some(ServerTransport::Sse))
            }
            Some(Remote::Http) => Some(ServerTransport::Http),
            Some(Remote::ByType) => {
                of_kind.filter(|kind| *kind != ServerTransport::Stdio).or(Some(ServerTransport::Http))
            }
            None => None,
        };
        if has_command && url.is_some() {
            let message = "the server has both a command and a URL";
            self.trouble(IssueType::ServerAmbiguous, message);
            self.left_out.push(message.to_owned());
        }
        let transport = match (has_command, of_url) {
            (true, Some(remote)) if of_kind.is_some_and(|kind| kind != ServerTransport::Stdio) => {
                Some(remote)
            }
            (true, _) => Some(ServerTransport::Stdio),
            (false, remote) => remote,
        };
        let Some(transport) = transport else {
            self.trouble(IssueType::ServerWithoutCommand, "the server has neither a command nor a URL");
            return None;
        };
        let is_needed = match self.spelling.typed {
            TypeRequirement::Never => false,
            TypeRequirement::Remote => transport != ServerTransport::Stdio,
            TypeRequirement::Always => true,
        };
        if kind.is_some() && of_kind.is_none() {
            self.trouble(IssueType::ServerTypeUnclear, "unknown server `type`");
        } else if kind.is_none() && is_needed {
            self.trouble(
                IssueType::ServerTypeUnclear,
                "the server has no `type`, which its program requires",
            );
        } else if of_kind
            .is_some_and(|kind| (kind == ServerTransport::Stdio) != (transport == ServerTransport::Stdio))
        {
            self.trouble(
                IssueType::ServerTypeUnclear,
                "the `type` of the server does not match its other keys",
            );
        }
        Some(transport)
    }

    /// Returns the command line as written. Drops words after [`MAX_TEXT_BYTES`].
    fn words(&mut self) -> Vec<String> {
        let mut words = self.all_words();
        let mut length = 0;
        let fits = words.iter().take_while(|word| {
            length += word.len();
            length <= MAX_TEXT_BYTES
        });
        let fits = fits.count();
        if fits < words.len() {
            self.partial("the command is too long");
            words.truncate(fits);
            words.push(MARK.to_owned());
        }
        words
    }

    fn all_words(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        let mut arguments = self.members.get("args");
        match self.members.get(self.spelling.command) {
            Some(Json::String(text)) if text.len() <= MAX_TEXT_BYTES && is_line(text) => {
                self.trouble(IssueType::CommandInOneText, "the command is one string instead of a list");
                self.split(text, &mut words);
            }
            Some(Json::String(text)) => words.extend((!text.trim().is_empty()).then(|| text.clone())),
            Some(Json::Array(items)) => self.take(items, "a word of the command", &mut words),
            Some(Json::Object(inner)) => {
                words.extend(inner.get("path").and_then(Json::as_str).map(str::to_owned));
                arguments = arguments.or(inner.get("args"));
            }
            Some(Json::Null) | None => {}
            Some(Json::Bool(_) | Json::Number(_)) => self.partial("`command` is not a string"),
        }
        if words.is_empty() {
            return words;
        }
        match arguments {
            Some(Json::Array(items)) => self.take(items, "an element of `args`", &mut words),
            Some(Json::String(text)) => {
                self.trouble(IssueType::FieldInvalid, "`args` is a string instead of a list");
                self.split(text, &mut words);
            }
            Some(Json::Null) | None => {}
            Some(_) => self.partial("`args` is not a list"),
        }
        words
    }

    /// Takes the elements of a list that can be words.
    fn take(&mut self, items: &[Json], what: &str, words: &mut Vec<String>) {
        for item in items.iter().take(MAX_LIST_ELEMENTS) {
            // A number is shown, although the program may not accept it as a word.
            words.extend(word(item));
            if item.as_str().is_none() {
                self.partial(format!("{what} is not a string"));
            }
        }
        if MAX_LIST_ELEMENTS < items.len() {
            self.partial(format!("the command has more than {MAX_LIST_ELEMENTS} words"));
        }
    }

    /// Splits a string like a POSIX shell.
    fn split(&mut self, text: &str, words: &mut Vec<String>) {
        if text.trim().is_empty() {
            return;
        }
        if MAX_TEXT_BYTES < text.len() {
            self.partial("a string of the command is too long");
            return words.push(MARK.to_owned());
        }
        match Argv::parse(text) {
            Ok(argv) => words.extend_from_slice(argv.words()),
            Err(_) => {
                self.partial("a string of the command cannot be split into words");
                words.extend(text.split_whitespace().map(str::to_owned));
            }
        }
    }

    /// Records a missing part of the definition, so that the server cannot be registered.
    fn partial(&mut self, message: impl Into<String>) {
        let message = message.into();
        if !self.left_out.contains(&message) {
            self.left_out.push(message.clone());
        }
        self.trouble(IssueType::FieldInvalid, message);
    }

    /// Masks values and secrets in a command line, and records its references. Returns the words and, for each, whether
    /// it contains a secret.
    fn shown_words(&mut self, words: &[String], held: &[Option<HeldValue>]) -> (Vec<String>, Vec<bool>) {
        let found: Vec<References> = words.iter().map(|word| references(word)).collect();
        let is_as_written = found.iter().all(|found| matches!(found.shown, Cow::Borrowed(_)));
        let written: Cow<'_, [String]> = match is_as_written {
            true => Cow::Borrowed(words),
            false => found.iter().map(|found| found.shown.clone().into_owned()).collect(),
        };
        let masked = self.redactor.redact_command(&written);
        let mut is_secret_word = vec![false; words.len()];
        let mut mentioned = Vec::new();
        for (index, found) in found.into_iter().enumerate() {
            let is_masked =
                found.is_literal() && (masked[index].as_str() != written[index] || found.has_secret_default);
            let variable = held[index].as_ref().and_then(|held| held.variable.clone());
            let is_variable = variable.is_some_and(|(name, value)| {
                let value = &words[index][value];
                is_secret(&words[index][name], value, &references(value))
            });
            let is_held = held[index].as_ref().is_some_and(|held| held.is_literal && held.is_secret);
            if is_masked || is_variable || is_held {
                is_secret_word[index] = true;
                self.literal_secrets.push(format!("command[{index}]"));
            }
            self.note(found.found);
            mentioned.extend(found.mentioned.into_iter().map(|name| (index, name)));
        }
        // Values are removed first, so the shown word never depends on them.
        let shown = if held.iter().all(Option::is_none) {
            masked
        } else {
            let without_value = |(held, word): (&Option<HeldValue>, &String)| match held {
                Some(held) => references(&held.shown).shown.into_owned(),
                None => word.clone(),
            };
            let plain: Vec<String> = held.iter().zip(written.iter()).map(without_value).collect();
            self.redactor.redact_command(&plain)
        };
        let is_shown = |(index, name): &(usize, String)| shown[*index].as_str().contains(name.as_str());
        self.note(mentioned.into_iter().filter(is_shown).map(|(_, name)| name).collect());
        (shown.into_iter().map(|word| cut_own(word.into_string())).collect(), is_secret_word)
    }

    fn env_labels(&mut self) -> Vec<String> {
        let mut labels = Vec::new();
        self.value_names(self.members.get(self.spelling.env), self.spelling.env, &mut labels);
        if let Some(Json::Object(command)) = self.members.get(self.spelling.command) {
            self.value_names(command.get("env"), "env", &mut labels);
        }
        for key in &self.spelling.env_names {
            for item in
                self.members.get(*key).and_then(Json::as_array).into_iter().flatten().take(MAX_LIST_ELEMENTS)
            {
                let name = item.as_str().or_else(|| item.get("name").and_then(Json::as_str));
                self.variable_name(name, key, &mut labels);
            }
        }
        labels.extend_from_slice(self.launch.variables());
        if let Some(key) = self.spelling.bearer_variable
            && let Some(value) = self.members.get(key)
        {
            self.variable_name(value.as_str(), key, &mut labels);
        }
        if let Some(key) = self.spelling.header_variables {
            let variables = self.members.get(key).and_then(Json::as_object).into_iter().flatten();
            for (name, value) in variables.take(MAX_LIST_ELEMENTS) {
                self.variable_name(value.as_str(), &format!("{key}.{}", shown_key(name)), &mut labels);
            }
        }
        dedup(&mut labels);
        labels
    }

    /// Takes the name of a variable from a value. Anything else is not shown.
    fn variable_name(&mut self, name: Option<&str>, key: &str, labels: &mut Vec<String>) {
        let name = name.filter(|name| name.len() <= MAX_TEXT_BYTES);
        let is_secret = name.is_some_and(|name| looks_secret_value(name).is_some());
        match name {
            Some(name) if is_variable(name) && !is_secret => return labels.push(name.to_owned()),
            // The value itself is written where the name of its variable is expected.
            _ if is_secret => self.literal_secrets.push(key.to_owned()),
            _ => {}
        }
        self.trouble(IssueType::FieldInvalid, format!("`{key}` has a value that is not a variable name"));
    }

    fn header_names(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        for (key, inner) in &self.spelling.headers {
            let value = self.members.get(*key);
            let value = match inner {
                Some(inner) => value.and_then(|value| value.get(inner)),
                None => value,
            };
            self.value_names(value, inner.unwrap_or(key), &mut names);
        }
        if let Some(key) = self.spelling.header_variables {
            let variables = self.members.get(key).and_then(Json::as_object);
            names.extend(
                variables
                    .into_iter()
                    .flat_map(Object::keys)
                    .take(MAX_LIST_ELEMENTS)
                    .map(|name| shown_key(name)),
            );
        }
        let has_bearer = self.spelling.bearer_variable.is_some_and(|key| self.members.contains_key(key));
        if has_bearer && !names.iter().any(|name| name.eq_ignore_ascii_case("authorization")) {
            names.push("Authorization".to_owned());
        }
        dedup(&mut names);
        names
    }

    /// Takes the keys of a map. Checks the values but does not keep them.
    fn value_names(&mut self, map: Option<&Json>, key: &str, names: &mut Vec<String>) {
        let members = match map {
            Some(Json::Object(members)) => members,
            Some(Json::Null) | None => return,
            Some(other) => {
                self.secrets_of_list(other, key);
                return self.partial(format!("`{key}` is not an object"));
            }
        };
        if MAX_LIST_ELEMENTS < members.len() {
            self.partial(format!("`{key}` has more than {MAX_LIST_ELEMENTS} names"));
        }
        let is_env = key == self.spelling.env;
        let mut secrets = Vec::new();
        for (name, value) in members.iter().take(MAX_LIST_ELEMENTS) {
            let shown = shown_key(name);
            let text = value.as_str();
            if text.is_some_and(|text| MAX_TEXT_BYTES < text.len()) {
                if is_secret_name(name) {
                    self.literal_secrets.push(format!("{key}.{shown}"));
                }
                self.trouble(IssueType::FieldInvalid, format!("`{key}.{shown}` is too long"));
            } else if let Some(text) = text {
                let found = references(text);
                if is_secret(name, text, &found) {
                    secrets.push(text);
                    self.literal_secrets.push(format!("{key}.{shown}"));
                } else if is_env && found.found.is_empty() && found.mentioned.is_empty() {
                    self.launch.keep_variable(name, text);
                }
                self.note(found.found);
            }
            names.push(shown);
        }
        self.launch.leave_out(&secrets);
    }

    /// Reports secrets in a list where a map is expected: `[{"name": "X", "value": "V"}]`, `["X=V"]`.
    fn secrets_of_list(&mut self, value: &Json, key: &str) {
        for (index, item) in value.as_array().into_iter().flatten().take(MAX_LIST_ELEMENTS).enumerate() {
            let pair = match named_value(item) {
                Some((name, value)) => value.as_str().map(|value| (name, value)),
                None => item.as_str().and_then(|item| item.split_once(['=', ':'])),
            };
            let is_short = |text: &str| text.len() <= MAX_TEXT_BYTES;
            let Some((name, value)) = pair.filter(|(name, value)| is_short(name) && is_short(value)) else {
                continue;
            };
            if is_secret(name, value.trim_start(), &references(value)) {
                self.literal_secrets.push(format!("{key}[{index}]"));
            }
        }
    }

    fn timeout(&mut self) -> Option<Number> {
        for (key, unit) in &self.spelling.timeouts {
            let Some(value) = self.members.get(*key) else { continue };
            self.timeouts.push(key);
            let in_unit = value.as_f64().filter(|value| value.is_finite() && 0.0 <= *value);
            let seconds =
                in_unit.map(|value| if matches!(unit, Unit::Seconds) { value } else { value / 1000.0 });
            let Some(seconds) = seconds else {
                self.trouble(IssueType::FieldInvalid, format!("`{key}` is not a number of 0 or more"));
                continue;
            };
            let is_whole = seconds.fract() == 0.0 && seconds < 1e15;
            return Some(if is_whole { Number::from(seconds as i64) } else { Number::from(seconds) });
        }
        None
    }

    fn enabled(&mut self) -> bool {
        let truth = |key: &str| self.members.get(key).map(|value| value.as_bool());
        match (truth("enabled"), truth("disabled")) {
            (Some(None), _) | (_, Some(None)) => {
                self.trouble(IssueType::FieldInvalid, "`enabled` or `disabled` is neither true nor false");
                true
            }
            (Some(Some(enabled)), disabled) => enabled && disabled != Some(Some(true)),
            (None, disabled) => disabled != Some(Some(true)),
        }
    }

    /// Returns whether an empty list allows no tools, and reports it. In the entry, an empty list would mean all tools.
    fn allows_none(&mut self) -> bool {
        let key = self.spelling.allowed.filter(|_| !self.spelling.empty_is_all);
        let list = key.and_then(|key| Some((key, self.members.get(key)?.as_array()?)));
        let Some((key, [])) = list else { return false };
        self.trouble(IssueType::FieldInvalid, format!("`{key}` is an empty list, which allows no tools"));
        true
    }

    fn names(&mut self, key: Option<&'static str>) -> Vec<String> {
        let Some(key) = key else { return Vec::new() };
        match self.members.get(key) {
            Some(Json::Array(items)) => {
                let names = items.iter().take(MAX_LIST_ELEMENTS).filter_map(Json::as_str);
                let (names, long): (Vec<&str>, Vec<&str>) =
                    names.partition(|name| name.len() <= MAX_TEXT_BYTES);
                if !long.is_empty() {
                    self.trouble(IssueType::FieldInvalid, format!("a name of `{key}` is too long"));
                }
                names.iter().map(|name| cut(&self.redactor.redact_str(name))).collect()
            }
            Some(Json::Null) | None => Vec::new(),
            Some(_) => {
                self.trouble(IssueType::FieldInvalid, format!("`{key}` is not a list"));
                Vec::new()
            }
        }
    }

    fn text(&self, key: &str) -> Option<String> {
        self.members.get(key).and_then(Json::as_str).map(cut)
    }

    fn unknown_keys(&mut self) -> Vec<String> {
        let spelling = self.spelling;
        let is_known = |key: &str| {
            COMMON_KEYS.contains(&key)
                || [spelling.command, spelling.env].contains(&key)
                || spelling.env_names.contains(&key)
                || spelling.urls.iter().any(|(url, _)| *url == key)
                || spelling.headers.iter().any(|(header, _)| *header == key)
                || [spelling.header_variables, spelling.bearer_variable, spelling.allowed, spelling.denied]
                    .contains(&Some(key))
                || self.timeouts.contains(&key)
                || spelling.includes.contains(&key)
        };
        let own = self.members.iter().filter(|(key, _)| !is_known(key)).map(|member| (None, member));
        // Sibling keys of nested keys that are read.
        let below = spelling.headers.iter().filter_map(|(key, inner)| Some((*key, vec![(*inner)?])));
        let below = below.chain([(spelling.command, vec!["path", "args", "env"])]);
        let below = below.flat_map(|(key, read)| {
            let members = self.members.get(key).and_then(Json::as_object).into_iter().flatten();
            let beside = members.filter(move |(name, _)| !read.contains(&name.as_str()));
            beside.map(move |member| (Some(key), member))
        });
        let members: Vec<_> = own.chain(below).collect();
        let mut unknown = Vec::new();
        let mut left = MAX_TEXT_BYTES;
        for (above, (key, value)) in members {
            let shown = above.map_or_else(|| shown_key(key), |above| format!("{above}.{}", shown_key(key)));
            match left.checked_sub(key.len() + length(value)) {
                Some(less) => {
                    left = less;
                    let whole = Json::object([(key.clone(), value.clone())]);
                    let secrets = secret_fields(&whole);
                    let above = above.map(|above| format!("{above}.")).unwrap_or_default();
                    self.literal_secrets.extend(secrets.iter().map(|path| path.replacen("$.", &above, 1)));
                }
                None => {
                    let message = "unused keys of the server are too long to check";
                    if left != 0 {
                        self.trouble(IssueType::FieldInvalid, message);
                    }
                    left = 0;
                }
            }
            if !spelling.beside.contains(&key.as_str()) && unknown.len() < MAX_LIST_ELEMENTS {
                unknown.push(shown);
            }
        }
        unknown
    }

    fn note(&mut self, found: Vec<String>) {
        self.unresolved.extend(found);
    }
}

/// Returns whether a value of a variable or header is a literal secret.
pub(crate) fn is_secret(name: &str, value: &str, found: &References) -> bool {
    let is_auth = || {
        ["authorization", "proxy-authorization", "cookie"].iter().any(|auth| auth.eq_ignore_ascii_case(name))
    };
    found.is_literal() && (is_auth() || is_secret_value(name, value) || looks_secret_value(value).is_some())
}

/// Returns whether a text is a command line instead of a program whose path has a space.
fn is_line(text: &str) -> bool {
    let text = text.trim();
    let is_path = text.starts_with(['/', '~', '.', '$', '{', '"', '\'']) || text.get(1..3) == Some(":\\");
    text.contains(char::is_whitespace) && !is_path
}

fn word(item: &Json) -> Option<String> {
    match item {
        Json::String(text) => Some(text.clone()),
        Json::Number(_) | Json::Bool(_) => Some(item.to_compact()),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

/// Returns the total length of all strings in a value.
fn length(value: &Json) -> usize {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => 1,
        Json::String(text) => text.len(),
        Json::Array(items) => items.iter().map(|item| 1 + length(item)).sum(),
        Json::Object(members) => members.iter().map(|(key, value)| 1 + key.len() + length(value)).sum(),
    }
}
