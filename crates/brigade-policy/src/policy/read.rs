//! Reads a policy from bytes.

use brigade_catalog::{Seconds, misspelt_effect};
use brigade_cmdline::{Argv, is_dangerous_variable};
use brigade_core::{AgentFiles, Label, Place, Severity, Word, closest};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::{
    GitAccess, InlineCode, Observe, Policy, PolicyState, Reads, Rule, SandboxMode, SandboxRules, ShellUse,
    UndeclaredCode,
};
use crate::document::{LocatedValue, Reader, Value, near_word, text_of};
use crate::testing::failed_tests;
use brigade_core::web_url::{WebDomain, WebUrl};

/// A key of the policy, and the function that reads its value. The function gets the name of the field.
type Key = (&'static str, fn(&mut Reader<'_>, &str, Place, &Value<'_>, &mut Policy));

/// All keys and tables. Those that v0.30 knows come first.
const KEYS: [Key; 25] = [
    ("allowed_families", |reader, field, place, value, policy| {
        policy.allowed_families = words(reader, field, place, value);
    }),
    ("allowed_levels", |reader, field, place, value, policy| {
        policy.allowed_levels = words(reader, field, place, value);
    }),
    ("allowed_sources", |reader, field, place, value, policy| {
        policy.allowed_sources = words(reader, field, place, value);
    }),
    ("denied_capabilities", |reader, field, place, value, policy| {
        policy.denied_capabilities = texts(reader, field, place, value);
    }),
    ("allowed_effects", |reader, field, place, value, policy| {
        policy.allowed_effects = effects(reader, field, place, value);
    }),
    ("denied_effects", |reader, field, place, value, policy| {
        policy.denied_effects = effects(reader, field, place, value);
    }),
    ("required_approval_modes", |reader, field, place, value, policy| {
        policy.required_approval_modes = words(reader, field, place, value);
    }),
    ("max_timeout", |reader, _, _, value, policy| policy.max_timeout = max_timeout(reader, value)),
    ("allowed_runtimes", |reader, field, place, value, policy| {
        policy.allowed_runtimes = texts(reader, field, place, value);
    }),
    ("env_bindings", |reader, _, place, value, policy| {
        policy.env_bindings_place = Some(place);
        env_bindings(reader, value, policy);
    }),
    ("max_output_bytes", |reader, field, _, value, policy| {
        policy.max_output_bytes = reader.size(field, value)
    }),
    ("max_bound_file", |reader, field, _, value, policy| policy.max_bound_file = reader.size(field, value)),
    ("sandbox", |reader, _, place, value, policy| sandbox(reader, place, value, policy)),
    ("paths", |reader, field, _, value, policy| members(reader, field, value, policy, &PATHS)),
    ("git", |reader, field, _, value, policy| members(reader, field, value, policy, &GIT)),
    ("web", |reader, field, _, value, policy| {
        let domains: Key = ("domains", |reader, _, place, value, policy| {
            policy.web_domains = domains(reader, place, value);
        });
        members(reader, field, value, policy, &[domains]);
    }),
    ("mcp", |reader, field, _, value, policy| {
        let remote: Key = ("remote", |reader, field, place, value, policy| {
            policy.mcp_remote = origins(reader, field, place, value);
        });
        members(reader, field, value, policy, &[remote]);
    }),
    ("registry", |reader, field, _, value, policy| {
        let remote: Key = ("remote", |reader, field, place, value, policy| {
            policy.registry_remote = origins(reader, field, place, value);
        });
        members(reader, field, value, policy, &[remote]);
    }),
    ("programs", |reader, field, _, value, policy| members(reader, field, value, policy, &PROGRAMS)),
    ("environment", |reader, field, _, value, policy| {
        let pass: Key = ("pass", |reader, _, place, value, policy| policy.pass = pass(reader, place, value));
        members(reader, field, value, policy, &[pass]);
    }),
    ("commands", |reader, field, _, value, policy| members(reader, field, value, policy, &COMMANDS)),
    ("limits", |reader, field, place, value, policy| {
        policy.limits_place = Some(place);
        members(reader, field, value, policy, &LIMITS);
    }),
    ("auto_approve", |reader, _, _, value, policy| {
        policy.auto_approve = super::rules::read(reader, value, TOP_LEVEL_KEYS);
    }),
    ("kitchen", |reader, field, place, value, policy| {
        if let Some(table) = reader.table(field, value) {
            policy.kitchen = super::kitchen::read(reader, place, table, TOP_LEVEL_KEYS);
        }
    }),
    ("test", |reader, _, _, value, policy| {
        policy.tests = super::examples::read(reader, value, TOP_LEVEL_KEYS);
    }),
];

/// The names of all keys and tables.
pub(super) static TOP_LEVEL_KEYS: &[&str] = &{
    let mut names = [""; KEYS.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = KEYS[index].0;
        index += 1;
    }
    names
};

const PATHS: [Key; 3] = [
    ("agent_files", |reader, field, _, value, policy| {
        policy.agent_files = reader
            .word(field, value, AgentFiles::ALL, AgentFiles::as_str)
            .map_or_else(AgentFiles::default, |word| word.value);
    }),
    ("outside", |reader, field, place, value, policy| {
        policy.outside_paths = Rule { place: Some(place), items: paths(reader, field, value) };
    }),
    ("readable_secrets", |reader, field, place, value, policy| {
        policy.readable_secrets = texts(reader, field, place, value);
    }),
];
const GIT: [Key; 2] = [
    ("credentials", |reader, _, _, value, policy| super::credentials::read(reader, value, policy)),
    ("urls", |reader, field, place, value, policy| policy.git_urls = texts(reader, field, place, value)),
];
const PROGRAMS: [Key; 2] = [
    ("capture", |reader, field, _, value, policy| policy.capture = command_line(reader, field, value)),
    ("forge", |reader, field, _, value, policy| policy.forge = command_line(reader, field, value)),
];
const COMMANDS: [Key; 3] = [
    ("inline_code", |reader, field, _, value, policy| {
        policy.inline_code = reader.word(field, value, InlineCode::ALL, InlineCode::as_str);
    }),
    ("shell", |reader, field, _, value, policy| {
        policy.shell = reader.word(field, value, ShellUse::ALL, ShellUse::as_str);
    }),
    ("undeclared_code", |reader, field, _, value, policy| {
        policy.undeclared_code = reader.word(field, value, UndeclaredCode::ALL, UndeclaredCode::as_str);
    }),
];
const LIMITS: [Key; 4] = [
    ("processes", |reader, field, _, value, policy| {
        policy.limits.processes = reader.count(field, value).map(|found| found.value);
    }),
    ("memory", |reader, field, _, value, policy| {
        policy.limits.memory = reader.size(field, value).map(|found| found.value);
    }),
    ("file_size", |reader, field, _, value, policy| {
        policy.limits.file_size = reader.size(field, value).map(|found| found.value);
    }),
    ("open_files", |reader, field, _, value, policy| {
        policy.limits.open_files = reader.count(field, value).map(|found| found.value);
    }),
];

/// The first table that v0.30 does not know. Everything in it and in those after it is intended for Brigade.
const FIRST_TABLE: &str = "sandbox";
const SANDBOX: &[&str] =
    &["mode", "observe", "reads", "read_paths", "write_paths", "local_sockets", "tool", "install"];
const INSTALL_SANDBOX: &[&str] = &["mode", "observe", "reads", "read_paths", "write_paths", "local_sockets"];
const TOOL_SANDBOX: &[&str] =
    &["mode", "observe", "reads", "read_paths", "write_paths", "local_sockets", "git"];

/// Reads a policy and evaluates its inline tests. Any error makes it invalid, because a rule would be missing.
pub(super) fn policy(file: &str, bytes: &[u8]) -> PolicyState {
    let state = untested(file, bytes);
    let mut failed = failed_tests(&state);
    if failed.is_empty() {
        return state;
    }
    failed.extend_from_slice(state.issues());
    PolicyState::Invalid { file: file.to_owned(), issues: failed }
}

/// Reads a policy without evaluating its tests.
pub(super) fn untested(file: &str, bytes: &[u8]) -> PolicyState {
    let text = match text_of(file, bytes) {
        Ok(text) => text,
        Err(issue) => {
            return PolicyState::Invalid { file: file.to_owned(), issues: vec![*issue] };
        }
    };
    let mut reader = Reader::new(file, text);
    let table = reader.parse();
    let mut policy = Policy { file: file.to_owned(), ..Policy::default() };
    top(&mut reader, &table, &mut policy);
    let issues = reader.into_issues();
    if issues.iter().any(|issue| issue.severity == Severity::Error) {
        return PolicyState::Invalid { file: file.to_owned(), issues };
    }
    policy.issues = issues;
    PolicyState::Valid(Box::new(policy))
}

fn top(reader: &mut Reader<'_>, table: &DeTable<'_>, policy: &mut Policy) {
    for (key, value) in table {
        let name = key.get_ref().as_ref();
        if let Some((field, read)) = KEYS.iter().find(|(field, _)| *field == name) {
            let place = reader.place(&key.span());
            read(reader, field, place, value, policy);
            continue;
        }
        let is_table = match value.get_ref() {
            DeValue::Array(entries) => {
                entries.iter().any(|entry| matches!(entry.get_ref(), DeValue::Table(_)))
            }
            value => matches!(value, DeValue::Table(_)),
        };
        let tables = TOP_LEVEL_KEYS.iter().copied().skip_while(|known| *known != FIRST_TABLE);
        match closest(name, tables).filter(|_| is_table) {
            Some(meant) => reader.unknown_table(key, meant),
            None => reader.unknown_key(key, TOP_LEVEL_KEYS),
        }
    }
}

/// Reads the table `table`, which has only these keys.
fn members(reader: &mut Reader<'_>, table: &str, value: &Value<'_>, policy: &mut Policy, keys: &[Key]) {
    for (key, value) in reader.table(table, value).into_iter().flatten() {
        if let Some((name, read)) = keys.iter().find(|(name, _)| name == key.get_ref()) {
            let place = reader.place(&key.span());
            read(reader, &format!("{table}.{name}"), place, value, policy);
        } else {
            let names: Vec<&str> = keys.iter().map(|(name, _)| *name).collect();
            reader.unknown_member(key, &format!("{table}."), &names, TOP_LEVEL_KEYS);
        }
    }
}

pub(super) fn texts(reader: &mut Reader<'_>, field: &str, place: Place, value: &Value<'_>) -> Rule<String> {
    Rule { place: Some(place), items: reader.strings(field, value) }
}

/// Reads a list of effects. A probably misspelt effect is only a warning, because entries may define effects.
pub(super) fn effects(reader: &mut Reader<'_>, field: &str, place: Place, value: &Value<'_>) -> Rule<String> {
    let rule = texts(reader, field, place, value);
    for (index, effect) in rule.items.iter().enumerate() {
        if let Some(meant) = misspelt_effect(&effect.value) {
            let field = format!("{field}[{}]", index + 1);
            let hint = Some(format!("did you mean `{meant}`?"));
            reader.warning_at(effect.place.clone(), &field, "not an effect that Brigade knows", hint);
        }
    }
    rule
}

/// Reads a list of keywords.
fn words<T: Word>(reader: &mut Reader<'_>, field: &str, place: Place, value: &Value<'_>) -> Rule<T> {
    let mut items = Vec::new();
    for (index, text) in reader.strings(field, value).into_iter().enumerate() {
        match T::from_word(&text.value) {
            Some(value) => items.push(LocatedValue { value, place: text.place }),
            None => {
                let field = format!("{field}[{}]", index + 1);
                reader.error_at(text.place, &field, T::EXPECTED, near_word::<T>(&text.value));
            }
        }
    }
    Rule { place: Some(place), items }
}

fn max_timeout(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<LocatedValue<Seconds>> {
    let number = reader.positive("max_timeout", value)?;
    match Seconds::new(number.value) {
        Ok(seconds) => Some(LocatedValue { value: seconds, place: number.place }),
        Err(_) => {
            reader.warning(value.span(), "max_timeout", "an endless timeout sets no maximum", None);
            None
        }
    }
}

fn env_bindings(reader: &mut Reader<'_>, value: &Value<'_>, policy: &mut Policy) {
    for (key, value) in reader.table("env_bindings", value).into_iter().flatten() {
        // An invalid label may be a misplaced value, so it is not repeated.
        let label = label_of_key(reader, key);
        let field =
            label.as_ref().map_or_else(|| "env_bindings".to_owned(), |label| format!("env_bindings.{label}"));
        let variable = reader.string(&field, value).and_then(|text| match text.value.parse::<Label>() {
            Ok(variable) => Some(LocatedValue { value: variable, place: text.place }),
            Err(_) => {
                let hint = "write the name of a variable of the environment, never its value".to_owned();
                reader.error(value.span(), Some(&field), "expected the name of a variable", Some(hint));
                None
            }
        });
        if let (Some(label), Some(variable)) = (label, variable) {
            if is_dangerous_variable(label.as_str()) {
                let message =
                    "this label changes how programs are found or loaded, so calls that use it are blocked";
                reader.warning(key.span(), &field, message, None);
            }
            policy.env_bindings.insert(label, variable);
        }
    }
}

fn label_of_key(reader: &mut Reader<'_>, key: &Spanned<DeString<'_>>) -> Option<Label> {
    let label = key.get_ref().parse().ok();
    if label.is_none() {
        let message = "a label is a name of letters, digits and `_` that does not start with a digit";
        reader.error(key.span(), Some("env_bindings"), message, None);
    }
    label
}

fn pass(reader: &mut Reader<'_>, place: Place, value: &Value<'_>) -> Rule<Label> {
    const FIELD: &str = "environment.pass";
    let mut items = Vec::new();
    for (index, text) in reader.strings(FIELD, value).into_iter().enumerate() {
        let field = format!("{FIELD}[{}]", index + 1);
        match text.value.parse::<Label>() {
            Ok(name) => {
                if is_dangerous_variable(name.as_str()) {
                    let message = "this variable changes how programs are found or loaded";
                    reader.warning_at(text.place.clone(), &field, message, None);
                }
                items.push(LocatedValue { value: name, place: text.place });
            }
            Err(_) => {
                let hint = "write the name of a variable of the environment, never its value".to_owned();
                reader.error_at(text.place, &field, "expected the name of a variable", Some(hint));
            }
        }
    }
    Rule { place: Some(place), items }
}

pub(super) fn paths(reader: &mut Reader<'_>, field: &str, value: &Value<'_>) -> Vec<LocatedValue<String>> {
    let mut items = reader.strings(field, value);
    items.retain(|path| {
        let legal = !path.value.chars().any(char::is_control);
        if !legal {
            reader.error_at(path.place.clone(), field, "expected a path without control characters", None);
        }
        legal
    });
    items
}

/// Splits a command line into words, without a shell.
fn command_line(reader: &mut Reader<'_>, field: &str, value: &Value<'_>) -> Option<LocatedValue<Argv>> {
    let text = reader.string(field, value)?;
    match Argv::parse(&text.value) {
        Ok(value) => Some(LocatedValue { value, place: text.place }),
        Err(error) => {
            reader.error_at(text.place, field, &error.to_string(), None);
            None
        }
    }
}

/// Reads hosts. Invalid hosts are errors, because ignoring them could make the rule too wide.
fn domains(reader: &mut Reader<'_>, place: Place, value: &Value<'_>) -> Rule<String> {
    let rule = texts(reader, "web.domains", place, value);
    for (index, domain) in rule.items.iter().enumerate() {
        if WebDomain::read(&domain.value).is_none() {
            let field = format!("web.domains[{}]", index + 1);
            let message =
                "expected `host`, `*.host`, `*`, one of them with `:port`, or an address with a port";
            reader.error_at(domain.place.clone(), &field, message, None);
        }
    }
    rule
}

/// Reads origins of servers in their normal form. Anything else is an error, because it would allow nothing.
fn origins(reader: &mut Reader<'_>, field: &str, place: Place, value: &Value<'_>) -> Rule<String> {
    let mut rule = texts(reader, field, place, value);
    for (index, origin) in rule.items.iter_mut().enumerate() {
        let url = WebUrl::parse(&origin.value).ok().filter(|url| url.target() == "/");
        let message = match url {
            Some(url) if url.is_secure() || url.is_loopback() => {
                origin.value = url.origin();
                continue;
            }
            Some(_) => "`http` is not encrypted, so it is only for this machine; write `https`",
            None => "expected scheme, host and port, such as `https://mcp.example.com`, without a path",
        };
        reader.error_at(origin.place.clone(), &format!("{field}[{}]", index + 1), message, None);
    }
    rule
}

fn sandbox(reader: &mut Reader<'_>, place: Place, value: &Value<'_>, policy: &mut Policy) {
    let Some(table) = reader.table("sandbox", value) else { return };
    policy.sandbox = sandbox_rules(reader, place.clone(), table, "sandbox.", SANDBOX);
    let tools = table.get("tool").and_then(|value| reader.table("sandbox.tool", value));
    for (id, value) in tools.into_iter().flatten() {
        let prefix = format!("sandbox.tool.{}.", id.get_ref());
        let Some(table) = reader.table(prefix.trim_end_matches('.'), value) else { continue };
        let place = reader.place(&id.span());
        let rules = sandbox_rules(reader, place, table, &prefix, TOOL_SANDBOX);
        policy.tool_sandbox.insert(id.get_ref().trim().to_owned(), rules);
    }
    if let Some((key, value)) = table.get_key_value("install")
        && let Some(table) = reader.table("sandbox.install", value)
    {
        let place = reader.place(&key.span());
        let rules = sandbox_rules(reader, place, table, "sandbox.install.", INSTALL_SANDBOX);
        policy.install_sandbox = Some(rules);
    }
    without_effect(reader, policy);
    if reader.is_toml() && !states_a_mode(table) {
        let hint = "add mode = \"enforce\", \"best-effort\" or \"off\"".to_owned();
        let message = "mode is missing: off, enforce or best-effort";
        reader.error_at(place, "sandbox", message, Some(hint));
    }
}

/// Warns about keys that have no effect without a sandbox.
fn without_effect(reader: &mut Reader<'_>, policy: &Policy) {
    let mode = |rules: &SandboxRules| rules.mode.as_ref().map(|mode| mode.value);
    let general = mode(&policy.sandbox);
    let tools = policy.tool_sandbox.iter().map(|(id, rules)| (format!("sandbox.tool.{id}."), rules));
    let install = policy.install_sandbox.iter().map(|rules| ("sandbox.install.".to_owned(), rules));
    let own: Vec<(String, &SandboxRules)> = tools.chain(install).collect();
    // The table of a tool may enable a sandbox, to which the general keys apply.
    let has_sandbox = |rules: &SandboxRules| mode(rules).is_some_and(|mode| mode != SandboxMode::Off);
    let general_rules = (!own.iter().any(|(_, rules)| has_sandbox(rules)))
        .then_some(("sandbox.".to_owned(), &policy.sandbox));
    for (prefix, rules) in general_rules.into_iter().chain(own) {
        if mode(rules).or(general) != Some(SandboxMode::Off) {
            continue;
        }
        let reads = rules.reads.as_ref().filter(|reads| reads.value == Reads::Closed);
        let observe = rules.observe.as_ref().filter(|observe| observe.value == Observe::Always);
        let places =
            [("reads", reads.map(|reads| &reads.place)), ("observe", observe.map(|rule| &rule.place))];
        for (key, place) in places.into_iter().filter_map(|(key, place)| Some((key, place?))) {
            let hint = Some("set mode to \"enforce\" or \"best-effort\", or remove the key".to_owned());
            let message = "mode is off, so this has no effect: nothing is closed or observed";
            reader.warning_at(place.clone(), &format!("{prefix}{key}"), message, hint);
        }
    }
}

/// Returns whether the mode is set for every tool that the table affects.
fn states_a_mode(table: &DeTable<'_>) -> bool {
    if table.contains_key("mode") {
        return true;
    }
    let holds_a_mode = |value: &Value<'_>| match value.get_ref() {
        DeValue::Table(table) => table.contains_key("mode"),
        _ => false,
    };
    let all_of = |value: &Value<'_>| match value.get_ref() {
        DeValue::Table(tools) => !tools.is_empty() && tools.iter().all(|(_, value)| holds_a_mode(value)),
        _ => false,
    };
    !table.is_empty()
        && table.iter().all(|(key, value)| match key.get_ref().as_ref() {
            "tool" => all_of(value),
            "install" => holds_a_mode(value),
            _ => false,
        })
}

fn sandbox_rules(
    reader: &mut Reader<'_>,
    place: Place,
    table: &DeTable<'_>,
    prefix: &str,
    known: &[&str],
) -> SandboxRules {
    let mut rules = SandboxRules { place: Some(place), ..SandboxRules::default() };
    for (key, value) in table {
        let field = format!("{prefix}{}", key.get_ref());
        match key.get_ref().as_ref() {
            "mode" => rules.mode = reader.word(&field, value, SandboxMode::ALL, SandboxMode::as_str),
            "reads" => rules.reads = reader.word(&field, value, Reads::ALL, Reads::as_str),
            "observe" => rules.observe = reader.word(&field, value, Observe::ALL, Observe::as_str),
            "read_paths" => rules.read_paths = paths(reader, &field, value),
            "write_paths" => rules.write_paths = paths(reader, &field, value),
            "local_sockets" => rules.local_sockets = reader.truth(&field, value),
            "git" if known.contains(&"git") => {
                rules.git = reader.word(&field, value, GitAccess::ALL, GitAccess::as_str);
            }
            "tool" | "install" if known.contains(&"tool") => {}
            _ => reader.unknown_member(key, prefix, known, TOP_LEVEL_KEYS),
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_a_forge_is_a_known_key() {
        let issues = |text: &str| PolicyState::parse("policy.toml", Some(text.as_bytes())).issues().len();
        assert_eq!(issues("[programs]\nforge = \"/usr/bin/gh\"\ncapture = \"shot\"\n"), 0);
        assert_eq!(issues("[programs]\nforge = \"gh\"\n"), 0);
        assert_eq!((issues("[programs]\nforges = \"gh\"\n"), issues("[programs]\nforge = 7\n")), (1, 1));
    }

    #[test]
    fn agent_files_are_closed_unless_opened() {
        let read = |text: &str| PolicyState::parse("policy.toml", Some(text.as_bytes()));
        let agent_files = |text: &str| read(text).policy().map(|policy| policy.agent_files);
        assert_eq!(agent_files(""), Some(AgentFiles::Closed));
        assert_eq!(agent_files("[paths]\nagent_files = \"closed\"\n"), Some(AgentFiles::Closed));
        assert_eq!(agent_files("[paths]\nagent_files = \"open\"\n"), Some(AgentFiles::Open));
        assert_eq!(agent_files("[paths]\nagent_files = true\n"), None);
    }

    #[test]
    fn keys_without_effect_are_warnings() {
        let check = |text: &str, expect: &[&str]| {
            let policy = PolicyState::parse("policy.toml", Some(text.as_bytes()));
            let fields: Vec<_> =
                policy.issues().iter().map(|issue| issue.field.clone().unwrap_or_default()).collect();
            assert_eq!(
                (policy.policy().is_some(), fields),
                (true, expect.iter().map(|f| (*f).to_owned()).collect()),
                "{text}"
            );
        };
        let all = "reads = \"closed\"\nobserve = \"always\"\n";
        check(&format!("[sandbox]\nmode = \"off\"\n{all}"), &["sandbox.reads", "sandbox.observe"]);
        check(&format!("[sandbox]\nmode = \"enforce\"\n{all}"), &[]);
        check("[sandbox]\nmode = \"off\"\nreads = \"workspace\"\nobserve = \"never\"\n", &[]);
        let tool =
            |mode: &str| format!("[sandbox]\nmode = \"off\"\n{all}[sandbox.tool.a]\nmode = \"{mode}\"\n");
        check(&tool("enforce"), &[]);
        check(&tool("off"), &["sandbox.reads", "sandbox.observe"]);
        let own = format!("[sandbox]\nmode = \"off\"\n[sandbox.tool.a]\n{all}");
        check(&own, &["sandbox.tool.a.reads", "sandbox.tool.a.observe"]);
    }
}
