//! Reads gateway.toml.

use std::collections::BTreeMap;

use brigade_cmdline::Argv;
use brigade_core::{AgentName, ConfigIssue, Fingerprint, Glob, Place, Severity};
use brigade_policy::document::{Reader, Value};
use brigade_policy::{LocatedValue, RiskLevel};

use super::{
    Agent, AgentLimits, BuiltinSettings, Confirm, GatewayConfig, Http, IssueTracker, JudgeSettings, Listing,
    NotifyCommand, PlanMemoryWrite, SearchProvider, SearchSource, Share, SyncTime, Upstream, VolumeLimits,
    Worker, WorkerPrompt, WorkerResult,
};
use crate::builtin::relative;
use crate::profiles::Profiles;
use crate::slot::{ProfileName, Slot};

const TOP_LEVEL_KEYS: &[&str] = &[
    "list",
    "page_size",
    "max_result_bytes",
    "max_description_bytes",
    "max_request_bytes",
    "sync",
    "http",
    "agent",
    "upstream",
    "builtin",
    "volumes",
    "web",
    "worker",
    "judge",
    "issues",
    "notify",
];
const VOLUMES: &[&str] = &["max_count", "max_bytes", "max_file_bytes"];
const HTTP: &[&str] = &["allowed_origins", "public"];
const AGENT: &[&str] = &["name", "token_sha256", "profiles", "confirm", "confirm_risk", "identity", "limits"];
const BUILTIN: &[&str] = &["plan_memory_write", "protected"];
const LIMITS: &[&str] = &[
    "calls_per_minute",
    "calls_per_hour",
    "seconds_per_hour",
    "output_per_hour",
    "concurrent",
    "pending",
    "pending_bytes",
];
const WEB: &[&str] = &["search"];
const SEARCH: &[&str] = &["command", "folder"];
const ISSUES: &[&str] = &["command", "env"];
const NOTIFY: &[&str] = &["command", "effects", "timeout"];
const JUDGE: &[&str] = &["worker", "threshold"];
const WORKER: &[&str] = &["id", "command", "adapter", "prompt", "result"];
const UPSTREAM: &[&str] = &["id", "keep", "share", "resources", "prompts", "effects", "sampling"];

/// The longest time limit of a notification, in seconds.
const MAX_NOTIFY_SECONDS: u64 = 300;

/// The largest page.
const MAX_PAGE_SIZE: u64 = 1000;

pub(super) fn config(file: &str, text: &str, profiles: &Profiles) -> Result<GatewayConfig, Vec<ConfigIssue>> {
    let mut reader = Reader::new(file, text);
    let table = reader.parse();
    let mut config = GatewayConfig::empty(file);
    let mut judged = None;
    for (key, value) in &table {
        let name = key.get_ref().as_ref();
        match name {
            "list" => set(&mut config.list, reader.word(name, value, Listing::ALL, Listing::as_str)),
            "page_size" => {
                let size = reader.count(name, value);
                if let Some(too_large) = size.as_ref().filter(|size| MAX_PAGE_SIZE < size.value) {
                    reader.error_at(too_large.place.clone(), name, "expected a number from 1 to 1000", None);
                }
                set(&mut config.page_size, size.map(|size| located(size, |size| size as usize)));
            }
            "max_result_bytes" => set(&mut config.max_result_bytes, reader.size(name, value)),
            "max_description_bytes" => set(&mut config.max_description_bytes, reader.size(name, value)),
            "max_request_bytes" => set(&mut config.max_request_bytes, reader.size(name, value)),
            "sync" => set(&mut config.sync, reader.word(name, value, SyncTime::ALL, SyncTime::as_str)),
            "http" => config.http = http(&mut reader, value),
            "agent" => config.agents = agents(&mut reader, value, profiles),
            "builtin" => config.builtin = builtin(&mut reader, value),
            "volumes" => config.volumes = volumes(&mut reader, value),
            "web" => config.search = web(&mut reader, value),
            "issues" => config.issues = issues(&mut reader, value),
            "notify" => config.notify = notify(&mut reader, value),
            "worker" => config.workers = workers(&mut reader, value),
            "judge" => judged = judge(&mut reader, value),
            "upstream" => config.upstreams = upstreams(&mut reader, value),
            _ => reader.unknown_member(key, "", TOP_LEVEL_KEYS, TOP_LEVEL_KEYS),
        }
    }
    if let Some((worker, settings)) = judged {
        // `[judge]` may come before the workers in the file.
        if !config.workers.iter().any(|known| known.id == settings.worker) {
            reader.error_at(worker, "judge.worker", "no `[[worker]]` has this id", None);
        }
        config.judge = Some(settings);
    }
    let issues = reader.into_issues();
    if issues.iter().any(|issue| issue.severity == Severity::Error) { Err(issues) } else { Ok(config) }
}

fn set<T>(target: &mut T, found: Option<LocatedValue<T>>) {
    if let Some(found) = found {
        *target = found.value;
    }
}

fn located<A, B>(found: LocatedValue<A>, map: impl FnOnce(A) -> B) -> LocatedValue<B> {
    LocatedValue { value: map(found.value), place: found.place }
}

fn http(reader: &mut Reader<'_>, value: &Value<'_>) -> Http {
    let mut http = Http::default();
    for (key, value) in reader.table("http", value).into_iter().flatten() {
        match key.get_ref().as_ref() {
            "allowed_origins" => {
                const FIELD: &str = "http.allowed_origins";
                for (index, origin) in reader.strings(FIELD, value).into_iter().enumerate() {
                    if is_origin(&origin.value) {
                        http.allowed_origins.push(origin.value);
                    } else {
                        let message = "expected an exact origin such as \"http://localhost:5173\"";
                        reader.error_at(origin.place, &format!("{FIELD}[{}]", index + 1), message, None);
                    }
                }
            }
            "public" => set(&mut http.public, reader.truth("http.public", value)),
            _ => reader.unknown_member(key, "http.", HTTP, TOP_LEVEL_KEYS),
        }
    }
    http
}

fn builtin(reader: &mut Reader<'_>, value: &Value<'_>) -> BuiltinSettings {
    let mut settings = BuiltinSettings::default();
    for (key, value) in reader.table("builtin", value).into_iter().flatten() {
        let field = format!("builtin.{}", key.get_ref());
        match key.get_ref().as_ref() {
            "plan_memory_write" => {
                let word = reader.word(&field, value, PlanMemoryWrite::ALL, PlanMemoryWrite::as_str);
                set(&mut settings.plan_memory_write, word);
            }
            "protected" => {
                let patterns = reader.strings(&field, value);
                settings.protected = patterns.into_iter().map(|pattern| pattern.value).collect();
            }
            _ => reader.unknown_member(key, "builtin.", BUILTIN, TOP_LEVEL_KEYS),
        }
    }
    settings
}

fn volumes(reader: &mut Reader<'_>, value: &Value<'_>) -> VolumeLimits {
    let mut limits = VolumeLimits::default();
    for (key, value) in reader.table("volumes", value).into_iter().flatten() {
        let field = format!("volumes.{}", key.get_ref());
        match key.get_ref().as_ref() {
            "max_count" => set(&mut limits.max_count, reader.count(&field, value)),
            "max_bytes" => set(&mut limits.max_bytes, reader.size(&field, value)),
            "max_file_bytes" => set(&mut limits.max_file_bytes, reader.size(&field, value)),
            _ => reader.unknown_member(key, "volumes.", VOLUMES, TOP_LEVEL_KEYS),
        }
    }
    limits
}

fn web(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<SearchProvider> {
    let mut found = None;
    for (key, value) in reader.table("web", value).into_iter().flatten() {
        match key.get_ref().as_ref() {
            "search" => {
                let place = reader.place(&key.span());
                found = search(reader, value, &place).map(|source| SearchProvider { place, source });
            }
            _ => reader.unknown_member(key, "web.", WEB, TOP_LEVEL_KEYS),
        }
    }
    found
}

fn search(reader: &mut Reader<'_>, value: &Value<'_>, place: &Place) -> Option<SearchSource> {
    let (mut command, mut folder) = (None, None);
    let table = reader.table("web.search", value)?;
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "command" => command = argv(reader, "web.search.command", value),
            "folder" => {
                let text = reader.string("web.search.folder", value);
                folder = text.and_then(|text| match relative(&text.value, "") {
                    Some(path) if !text.value.starts_with('/') => Some(path),
                    Some(_) | None => {
                        let message = "expected a directory of the workspace";
                        reader.error_at(text.place, "web.search.folder", message, None);
                        None
                    }
                });
            }
            _ => reader.unknown_member(key, "web.search.", SEARCH, TOP_LEVEL_KEYS),
        }
    }
    if table.contains_key("command") == table.contains_key("folder") {
        let message = "expected either `command` or `folder`";
        reader.error_at(place.clone(), "web.search", message, None);
        return None;
    }
    command.map(SearchSource::Command).or_else(|| folder.map(SearchSource::Folder))
}

fn issues(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<IssueTracker> {
    let place = reader.place(&value.span());
    let table = reader.table("issues", value)?;
    let (mut command, mut env) = (None, Vec::new());
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "command" => command = argv(reader, "issues.command", value),
            "env" => env = reader.strings("issues.env", value).into_iter().map(|name| name.value).collect(),
            _ => reader.unknown_member(key, "issues.", ISSUES, TOP_LEVEL_KEYS),
        }
    }
    reader.needed(table, &place, "issues.", &["command"]);
    Some(IssueTracker { place, command: command?, env })
}

fn notify(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<NotifyCommand> {
    let place = reader.place(&value.span());
    let table = reader.table("notify", value)?;
    let (mut command, mut effects, mut timeout) = (None, None, NotifyCommand::DEFAULT_TIMEOUT);
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "command" => command = words(reader, "notify.command", value),
            "effects" => {
                let found = reader.strings("notify.effects", value);
                effects = Some(found.into_iter().map(|effect| effect.value).collect());
            }
            "timeout" => {
                let seconds = reader.count("notify.timeout", value);
                if let Some(long) = seconds.as_ref().filter(|seconds| MAX_NOTIFY_SECONDS < seconds.value) {
                    let message = "expected a number from 1 to 300";
                    reader.error_at(long.place.clone(), "notify.timeout", message, None);
                }
                set(&mut timeout, seconds);
            }
            _ => reader.unknown_member(key, "notify.", NOTIFY, TOP_LEVEL_KEYS),
        }
    }
    reader.needed(table, &place, "notify.", &["command"]);
    Some(NotifyCommand { place, command: command?, effects, timeout })
}

/// Returns whether a text is a scheme, a host and an optional port, as browsers write origins.
fn is_origin(text: &str) -> bool {
    let Some((scheme, host)) = text.split_once("://") else { return false };
    let is_scheme =
        !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    let legal = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'/' | b'*' | b'@' | b'?' | b'#');
    is_scheme && !host.is_empty() && host.bytes().all(|byte| legal(byte) && !byte.is_ascii_uppercase())
}

fn agents(reader: &mut Reader<'_>, value: &Value<'_>, profiles: &Profiles) -> Vec<Agent> {
    let mut agents = Vec::new();
    let mut names: BTreeMap<AgentName, Place> = BTreeMap::new();
    let mut tokens: BTreeMap<Fingerprint, Place> = BTreeMap::new();
    for (index, (place, table)) in reader.tables("agent", value).into_iter().enumerate() {
        let prefix = format!("agent[{}].", index + 1);
        let mut name = None;
        let mut agent = Agent::new(AgentName::local(), place.clone());
        for (key, value) in table {
            let field = format!("{prefix}{}", key.get_ref());
            match key.get_ref().as_ref() {
                "name" => name = agent_name(reader, &field, value),
                "token_sha256" => {
                    let token = token(reader, &field, value);
                    if let Some(token) = &token {
                        let message = "another agent has this token";
                        unique(reader, &mut tokens, token, &field, message);
                    }
                    agent.token_sha256 = token.map(|token| token.value);
                }
                "token" => {
                    let hint = "write its sha256 as `token_sha256`, and never the token".to_owned();
                    reader.error(key.span(), Some(&field), "unknown key", Some(hint));
                }
                "profiles" => agent.profiles = profile_names(reader, &field, value, profiles),
                "confirm" => {
                    set(&mut agent.confirm, reader.word(&field, value, Confirm::ALL, Confirm::as_str));
                }
                "confirm_risk" => {
                    let risk = reader.word(&field, value, RiskLevel::ALL, RiskLevel::as_str);
                    set(&mut agent.confirm_risk, risk);
                }
                "identity" => set(&mut agent.has_identity, reader.truth(&field, value)),
                "limits" => agent.limits = limits(reader, &field, value),
                _ => reader.unknown_member(key, &prefix, AGENT, TOP_LEVEL_KEYS),
            }
        }
        reader.needed(table, &place, &prefix, &["name"]);
        if let Some(name) = name {
            unique(reader, &mut names, &name, &format!("{prefix}name"), "another agent has this name");
            agents.push(Agent { name: name.value, ..agent });
        }
    }
    agents
}

/// Reports a value that occurs earlier in the file.
fn unique<T: Ord + Clone>(
    reader: &mut Reader<'_>,
    earlier: &mut BTreeMap<T, Place>,
    found: &LocatedValue<T>,
    field: &str,
    message: &str,
) {
    if let Some(first) = earlier.get(&found.value) {
        let line = first.line.unwrap_or_default();
        reader.error_at(found.place.clone(), field, &format!("{message}, in line {line}"), None);
    } else {
        earlier.insert(found.value.clone(), found.place.clone());
    }
}

fn agent_name(reader: &mut Reader<'_>, field: &str, value: &Value<'_>) -> Option<LocatedValue<AgentName>> {
    let text = reader.string(field, value)?;
    match text.value.parse() {
        Ok(name) => Some(LocatedValue { value: name, place: text.place }),
        Err(_) => {
            reader.error_at(text.place, field, "expected letters, digits, `-` and `_`, at most 64", None);
            None
        }
    }
}

fn token(reader: &mut Reader<'_>, field: &str, value: &Value<'_>) -> Option<LocatedValue<Fingerprint>> {
    let text = reader.string(field, value)?;
    match text.value.to_ascii_lowercase().parse() {
        Ok(hash) => Some(LocatedValue { value: hash, place: text.place }),
        Err(_) => {
            let hint = "write the sha256 of the token, never the token".to_owned();
            reader.error_at(text.place, field, "64 hex digits are expected", Some(hint));
            None
        }
    }
}

fn profile_names(
    reader: &mut Reader<'_>,
    field: &str,
    value: &Value<'_>,
    profiles: &Profiles,
) -> Vec<LocatedValue<ProfileName>> {
    let mut names: Vec<LocatedValue<ProfileName>> = Vec::new();
    for (index, text) in reader.strings(field, value).into_iter().enumerate() {
        let field = format!("{field}[{}]", index + 1);
        let Some(profile) = profiles.get(&text.value) else {
            let hint = profiles.near(&text.value).map(|near| format!("did you mean `{near}`?"));
            reader.error_at(text.place, &field, "there is no such profile", hint);
            continue;
        };
        let slot = profile.name.slot();
        let taken = names.iter().any(|other| match slot {
            Slot::Guard => other.value == profile.name,
            _ => other.value.slot() == slot,
        });
        if taken {
            let message = match slot {
                Slot::Guard => "the guard is there already".to_owned(),
                slot => format!("an agent has one profile in the slot {slot}"),
            };
            reader.error_at(text.place, &field, &message, None);
            continue;
        }
        names.push(LocatedValue { value: profile.name.clone(), place: text.place });
    }
    names
}

fn limits(reader: &mut Reader<'_>, field: &str, value: &Value<'_>) -> AgentLimits {
    let mut limits = AgentLimits::default();
    let prefix = format!("{field}.");
    for (key, value) in reader.table(field, value).into_iter().flatten() {
        let field = format!("{prefix}{}", key.get_ref());
        let count = |reader: &mut Reader<'_>| reader.count(&field, value).map(|count| count.value);
        match key.get_ref().as_ref() {
            "calls_per_minute" => limits.calls_per_minute = count(reader),
            "calls_per_hour" => limits.calls_per_hour = count(reader),
            "seconds_per_hour" => limits.seconds_per_hour = count(reader),
            "output_per_hour" => limits.output_per_hour = reader.size(&field, value).map(|size| size.value),
            "concurrent" => set(&mut limits.concurrent, reader.count(&field, value)),
            "pending" => set(&mut limits.pending, reader.count(&field, value)),
            "pending_bytes" => set(&mut limits.pending_bytes, reader.size(&field, value)),
            _ => reader.unknown_member(key, &prefix, LIMITS, TOP_LEVEL_KEYS),
        }
    }
    limits
}

fn workers(reader: &mut Reader<'_>, value: &Value<'_>) -> Vec<Worker> {
    let mut workers = Vec::new();
    let mut ids: BTreeMap<String, Place> = BTreeMap::new();
    for (index, (place, table)) in reader.tables("worker", value).into_iter().enumerate() {
        let prefix = format!("worker[{}].", index + 1);
        let (mut id, mut command, mut adapter, mut prompt, mut result) = (None, None, None, None, None);
        for (key, value) in table {
            let field = format!("{prefix}{}", key.get_ref());
            match key.get_ref().as_ref() {
                "id" => id = reader.string(&field, value),
                "command" => command = argv(reader, &field, value),
                "adapter" => adapter = reader.string(&field, value).map(|name| name.value),
                "prompt" => {
                    prompt = reader.word(&field, value, WorkerPrompt::ALL, WorkerPrompt::as_str);
                }
                "result" => {
                    result = reader.word(&field, value, WorkerResult::ALL, WorkerResult::as_str);
                }
                _ => reader.unknown_member(key, &prefix, WORKER, TOP_LEVEL_KEYS),
            }
        }
        reader.needed(table, &place, &prefix, &["id", "command"]);
        if let (Some(id), Some(command)) = (id, command) {
            unique(reader, &mut ids, &id, &format!("{prefix}id"), "another worker has this id");
            let (prompt, result) = (prompt.map(|word| word.value), result.map(|word| word.value));
            workers.push(Worker { id: id.value, place, command, adapter, prompt, result });
        }
    }
    workers
}

/// Returns the settings of the judge, and the place of the worker's id.
fn judge(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<(Place, JudgeSettings)> {
    let place = reader.place(&value.span());
    let (mut worker, mut threshold) = (None, JudgeSettings::DEFAULT_THRESHOLD);
    let table = reader.table("judge", value)?;
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "worker" => worker = reader.string("judge.worker", value),
            "threshold" => {
                let least = reader.positive("judge.threshold", value);
                if let Some(high) = least.as_ref().filter(|least| 1.0 < least.value) {
                    let message = "expected a number greater than 0 and at most 1";
                    reader.error_at(high.place.clone(), "judge.threshold", message, None);
                }
                set(&mut threshold, least);
            }
            _ => reader.unknown_member(key, "judge.", JUDGE, TOP_LEVEL_KEYS),
        }
    }
    reader.needed(table, &place, "judge.", &["worker"]);
    let worker = worker?;
    Some((worker.place, JudgeSettings { place, worker: worker.value, threshold }))
}

/// Reads a command: an array of words, or a text that is split into words without a shell.
fn words(reader: &mut Reader<'_>, field: &str, value: &Value<'_>) -> Option<Argv> {
    if value.get_ref().is_str() {
        return argv(reader, field, value);
    }
    if !value.get_ref().is_array() {
        reader.wrong_type(field, value, "a string or a list of strings");
        return None;
    }
    let place = reader.place(&value.span());
    let words = reader.some_strings(field, value).into_iter().map(|word| word.value).collect();
    match Argv::new(words) {
        Ok(command) => Some(command),
        Err(error) => {
            reader.error_at(place, field, &error.to_string(), None);
            None
        }
    }
}

/// Splits a command line into words, without a shell.
fn argv(reader: &mut Reader<'_>, field: &str, value: &Value<'_>) -> Option<Argv> {
    let text = reader.string(field, value)?;
    match Argv::parse(&text.value) {
        Ok(command) => Some(command),
        Err(error) => {
            reader.error_at(text.place, field, &error.to_string(), None);
            None
        }
    }
}

fn upstreams(reader: &mut Reader<'_>, value: &Value<'_>) -> Vec<Upstream> {
    let mut upstreams = Vec::new();
    let mut ids: BTreeMap<String, Place> = BTreeMap::new();
    for (index, (place, table)) in reader.tables("upstream", value).into_iter().enumerate() {
        let prefix = format!("upstream[{}].", index + 1);
        let mut id = None;
        let mut upstream = Upstream::new("", place.clone());
        for (key, value) in table {
            let field = format!("{prefix}{}", key.get_ref());
            let globs = |reader: &mut Reader<'_>| {
                let texts = reader.strings(&field, value);
                texts.iter().map(|text| Glob::new(&text.value)).collect::<Vec<_>>()
            };
            match key.get_ref().as_ref() {
                "id" => id = reader.string(&field, value),
                "keep" => set(&mut upstream.keep, reader.number(&field, value)),
                "share" => set(&mut upstream.share, reader.word(&field, value, Share::ALL, Share::as_str)),
                "resources" => upstream.resources = globs(reader),
                "prompts" => upstream.prompts = globs(reader),
                "effects" => {
                    let effects = reader.some_strings(&field, value);
                    upstream.effects = effects.into_iter().map(|effect| effect.value).collect();
                }
                "sampling" => set(&mut upstream.sampling, reader.truth(&field, value)),
                _ => reader.unknown_member(key, &prefix, UPSTREAM, TOP_LEVEL_KEYS),
            }
        }
        reader.needed(table, &place, &prefix, &["id"]);
        if ["resources", "prompts"].iter().any(|key| table.contains_key(*key)) {
            reader.needed(table, &place, &prefix, &["effects"]);
        }
        if let Some(id) = id {
            let message = "another entry is about this server";
            unique(reader, &mut ids, &id, &format!("{prefix}id"), message);
            upstreams.push(Upstream { id: id.value, ..upstream });
        }
    }
    upstreams
}
