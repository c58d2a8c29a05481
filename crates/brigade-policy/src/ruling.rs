//! Applies the rules one by one. Each gives a ruling on a call, with its place.

use std::collections::BTreeSet;
use std::fmt;

use brigade_catalog::{ApprovalMode, Family, misspelt_effect, same_label};
use brigade_cmdline::Argv;
use brigade_cmdline::risk::{self, Risk};
use brigade_core::{ErrorCode, Hint, NextStep, Place, words};
use brigade_redact::{MARK, looks_secret_value};

use crate::document::LocatedValue;
use crate::label::{LabelProblem, check_label};
use crate::{
    Blocker, CallFacts, CallKind, Environment, INSTALL_EFFECT, InlineCode, Policy, PolicyState,
    PolicyValidity, Rule, UndeclaredCode,
};

/// The effect of changes that stay in a session.
const SESSION_EFFECT: &str = "session";

words! {
    /// The subject of a ruling.
    Topic {
        /// The kind of tool.
        Family = "family",
        /// The level of the entry.
        Level = "level",
        /// Where the tool comes from.
        Source = "source",
        /// One capability.
        Capability = "capability",
        /// One effect.
        Effect = "effect",
        /// Code in the command.
        Command = "command",
        /// The approval mode.
        Approval = "approval",
        /// The timeout.
        Timeout = "timeout",
        /// The runtime.
        Runtime = "runtime",
        /// The origin of a remote MCP server.
        Remote = "remote",
        /// One environment label.
        EnvLabel = "env_label",
        /// Variables that every run gets.
        Environment = "environment",
        /// Whether the kernel confines the run.
        Sandbox = "sandbox",
        /// Files that the run can read.
        Read = "read",
        /// Files that the run can write.
        Write = "write",
        /// Network access.
        Network = "network",
        /// Resource limits of the processes.
        Limits = "limits",
        /// How much output is kept.
        Output = "output",
    }
}

/// The ruling of one rule on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// The subject.
    pub topic: Topic,
    /// The effect, label or other item that it concerns.
    pub subject: String,
    /// The reason, in one sentence without a final stop.
    pub reason: String,
    /// The policy key that decided. Absent if no rule applies.
    pub field: Option<&'static str>,
    /// The place of that rule.
    pub place: Option<Place>,
    /// The blocker, if the rule refuses the call.
    pub blocker: Option<Blocker>,
}

/// Applies the rules to a call in a fixed order, so that the reasons are always in the same order.
pub(crate) struct Judge<'a> {
    pub(crate) file: &'a str,
    pub(crate) policy: Option<&'a Policy>,
    pub(crate) validity: PolicyValidity,
    pub(crate) facts: &'a CallFacts<'a>,
    pub(crate) environment: &'a dyn Environment,
    pub(crate) keep: KeptRulings,
    pub(crate) rulings: Vec<Ruling>,
}

/// Which rulings are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeptRulings {
    All,
    Refusals,
}

impl<'a> Judge<'a> {
    /// Creates a judge without rulings.
    pub(crate) fn new(
        state: &'a PolicyState,
        facts: &'a CallFacts<'a>,
        environment: &'a dyn Environment,
        keep: KeptRulings,
    ) -> Judge<'a> {
        let (policy, validity) = (state.policy(), state.validity());
        Judge { file: state.file(), policy, validity, facts, environment, keep, rulings: Vec::new() }
    }
}

impl Judge<'_> {
    /// Applies every rule.
    pub(crate) fn judge(&mut self) {
        if let Some(policy) = self.policy {
            self.family(policy);
            self.registry(policy);
            self.effects(policy);
            self.installation();
            self.command(policy);
            self.approval(policy);
            self.timeout(policy);
            self.runtime(policy);
            self.remote(policy);
            self.bindings(policy);
        } else if self.validity == PolicyValidity::Missing {
            self.installation();
            self.remote(&Policy::default());
            if self.facts.family == Some(Family::Builtin) {
                // Without a policy, the family is not in any list.
                self.family(&Policy::default());
            }
        }
        self.labels();
    }

    pub(crate) fn allow(
        &mut self,
        topic: Topic,
        subject: &str,
        reason: impl fmt::Display,
        rule: Option<(&'static str, &Place)>,
    ) {
        if self.keep == KeptRulings::Refusals {
            return;
        }
        let (field, place) = rule.map(|(field, place)| (field, place.clone())).unzip();
        let (subject, reason) = (subject.to_owned(), reason.to_string());
        self.rulings.push(Ruling { topic, subject, reason, field, place, blocker: None });
    }

    fn deny(&mut self, topic: Topic, subject: &str, field: &'static str, blocker: Blocker) {
        let blocker = blocker.field(field);
        self.rulings.push(Ruling {
            topic,
            subject: subject.to_owned(),
            reason: blocker.message.clone(),
            field: Some(field),
            place: blocker.place.clone(),
            blocker: Some(blocker),
        });
    }

    /// Compares one value with a list of allowed ones. An empty list allows everything.
    fn allow_list<T: PartialEq>(
        &mut self,
        topic: Topic,
        subject: &str,
        list: (&'static str, &Rule<T>),
        value: Option<&T>,
        refusal: Refusal<'_>,
    ) {
        let (key, rule) = list;
        if rule.items.is_empty() {
            self.allow(topic, subject, format_args!("no {key} restricts it"), None);
        } else if let Some(item) = value.and_then(|value| rule.find(value)) {
            self.allow(topic, subject, format_args!("it is in {key}"), Some((key, &item.place)));
        } else {
            let at = rule.place.clone().unwrap_or_else(|| Place::file(self.file));
            let add =
                || format!("add \"{subject}\" to {key} in {at}{}", self.or_change(refusal.field)).into();
            let hint = refusal.meant.unwrap_or_else(add);
            let blocker = Blocker::new(refusal.code, refusal.message.to_string());
            self.deny(topic, subject, key, blocker.at(at).hint(hint));
        }
    }

    fn or_change(&self, field: &str) -> String {
        self.facts.place_of(field).map_or_else(String::new, |place| format!(", or change {field} in {place}"))
    }

    fn family(&mut self, policy: &Policy) {
        let Some(family) = self.facts.family else {
            let message = "the tool has none of the known families".to_owned();
            let place = self.facts.place_of("family");
            let hint = place.as_ref().map(|place| format!("change family in {place}").into());
            let mut blocker = Blocker::new(ErrorCode::PolicyFamily, message);
            (blocker.place, blocker.hint) = (place, hint);
            return self.deny(Topic::Family, "unknown", "family", blocker);
        };
        let name = family.as_str();
        let file = self.file;
        let message = format_args!("family `{name}` is not in allowed_families of {file}");
        let refusal = Refusal::new(ErrorCode::PolicyFamily, "family", message);
        let list = ("allowed_families", &policy.allowed_families);
        if family == Family::Builtin {
            // Built-in tools need a policy that names them.
            let what = (ErrorCode::PolicyFamily, "family");
            return self.closed_list(Topic::Family, name, list, self.facts.family.as_ref(), what);
        }
        self.allow_list(Topic::Family, name, list, self.facts.family.as_ref(), refusal);
    }

    /// Applies the rules about sources and capabilities. Absent rules have no effect.
    fn registry(&mut self, policy: &Policy) {
        // Built-in tools have no level and no source.
        let Some(tool) = self.facts.registered.filter(|tool| !tool.is_built_in()) else { return };
        if policy.allowed_levels.place.is_some() {
            let level = tool.origin.level;
            let list = ("allowed_levels", &policy.allowed_levels);
            self.closed_list(
                Topic::Level,
                level.as_str(),
                list,
                Some(&level),
                (ErrorCode::PolicyLevel, "level"),
            );
        }
        if policy.allowed_sources.place.is_some() {
            let source = tool.source();
            let name = source.map_or("none", |source| source.as_str());
            let list = ("allowed_sources", &policy.allowed_sources);
            self.closed_list(Topic::Source, name, list, source.as_ref(), (ErrorCode::PolicySource, "source"));
        }
        for denied in &policy.denied_capabilities.items {
            let own = tool.all_capabilities();
            let Some(label) = own.into_iter().find(|label| same_label(label, &denied.value)) else {
                continue;
            };
            let name = shown(label);
            let message = format!("capability `{name}` is in denied_capabilities of {}", self.file);
            let hint =
                format!("remove \"{}\" from denied_capabilities in {}", shown(&denied.value), denied.place);
            let blocker =
                Blocker::new(ErrorCode::PolicyCapability, message).at(denied.place.clone()).hint(hint);
            self.deny(Topic::Capability, name, "denied_capabilities", blocker);
        }
    }

    /// Compares one value with a list of allowed ones. An empty list allows nothing.
    fn closed_list<T: PartialEq>(
        &mut self,
        topic: Topic,
        subject: &str,
        (key, rule): (&'static str, &Rule<T>),
        value: Option<&T>,
        (code, what): (ErrorCode, &str),
    ) {
        if let Some(item) = value.and_then(|value| rule.find(value)) {
            return self.allow(topic, subject, format_args!("it is in {key}"), Some((key, &item.place)));
        }
        let at = rule.place.clone().unwrap_or_else(|| Place::file(self.file));
        let message = format!("{what} `{subject}` is not in {key} of {}", self.file);
        let hint = match value {
            Some(_) => format!("add \"{subject}\" to {key} in {at}"),
            None => format!("remove {key} in {at} to allow tools of other families"),
        };
        self.deny(topic, subject, key, Blocker::new(code, message).at(at).hint(hint));
    }

    fn effects(&mut self, policy: &Policy) {
        let effects: Vec<&String> = unique(self.facts.effects);
        for effect in &effects {
            let name = shown(effect);
            if let Some(rule) = policy.denied_effects.find(effect) {
                let hint = format!(
                    "remove \"{name}\" from denied_effects in {}{}",
                    rule.place,
                    self.or_change("effects")
                );
                let message = format!("effect `{name}` is in denied_effects of {}", self.file);
                let blocker =
                    Blocker::new(ErrorCode::PolicyDeniedEffect, message).at(rule.place.clone()).hint(hint);
                self.deny(Topic::Effect, name, "denied_effects", blocker);
            }
        }
        // Installations have a separate rule.
        let installs = self.facts.kind == CallKind::Install;
        for effect in effects.into_iter().filter(|effect| !installs || *effect != INSTALL_EFFECT) {
            let denied = policy.denied_effects.find(effect).is_some();
            let listed =
                policy.allowed_effects.items.is_empty() || policy.allowed_effects.find(effect).is_some();
            if denied && listed {
                continue;
            }
            let name = shown(effect);
            if effect == SESSION_EFFECT && self.facts.family == Some(Family::Builtin) {
                self.allow(Topic::Effect, name, "it stays in the session", None);
                continue;
            }
            let file = self.file;
            let message = format_args!("effect `{name}` is not in allowed_effects of {file}");
            let refusal = Refusal {
                meant: self.meant_effect(effect, &policy.allowed_effects),
                ..Refusal::new(ErrorCode::PolicyEffectNotAllowed, "effects", message)
            };
            let list = ("allowed_effects", &policy.allowed_effects);
            self.allow_list(Topic::Effect, name, list, Some(effect), refusal);
        }
    }

    /// Returns a hint if the effect is probably misspelt in the entry or the policy.
    fn meant_effect(&self, effect: &str, allowed: &Rule<String>) -> Option<Hint> {
        if let Some(meant) = misspelt_effect(effect) {
            let place = self.facts.place_of("effects").map(|place| format!(" (effects in {place})"));
            return Some(Hint::did_you_mean(meant).then(place.unwrap_or_default()));
        }
        let slip = allowed.items.iter().find(|item| misspelt_effect(&item.value) == Some(effect))?;
        let written =
            format!("`{}` in {} is not an effect that Brigade knows; ", shown(&slip.value), slip.place);
        Some(Hint::from(written).then(Hint::did_you_mean(effect)))
    }

    /// Refuses an installation unless the policy names its effect. A missing policy or an empty list does not allow it.
    fn installation(&mut self) {
        if self.facts.kind != CallKind::Install {
            return;
        }
        const LIST: &str = "allowed_effects";
        let rule = self.policy.map(|policy| &policy.allowed_effects);
        let listed = rule.and_then(|rule| rule.items.iter().find(|item| item.value == INSTALL_EFFECT));
        if let Some(item) = listed {
            let rule = Some((LIST, &item.place));
            return self.allow(Topic::Effect, INSTALL_EFFECT, format_args!("it is in {LIST}"), rule);
        }
        // A missing list must be added above the first table.
        let at = rule.and_then(|rule| rule.place.clone()).unwrap_or_else(|| Place::at(self.file, 1, 1));
        let hint = match rule {
            None => Hint::from(NextStep::InitPolicy).or_else(format!(
                "then write `{LIST} = [\"local-read\", \"local-write\", \"network\", \"install\"]` there"
            )),
            Some(Rule { place: None, .. }) => {
                format!("write `{LIST} = [\"local-read\", \"local-write\", \"network\", \"install\"]` there")
                    .into()
            }
            Some(_) => format!("add \"{INSTALL_EFFECT}\" to {LIST} in {at}").into(),
        };
        let message = format!("nothing is installed unless {LIST} of {} names `{INSTALL_EFFECT}`", self.file);
        let blocker = Blocker::new(ErrorCode::PolicyInstallNotAllowed, message).at(at).hint(hint);
        self.deny(Topic::Effect, INSTALL_EFFECT, LIST, blocker);
    }

    fn command(&mut self, policy: &Policy) {
        let Some(LocatedValue { value, place }) = &policy.inline_code else { return };
        let Some(argv) = self.facts.command.and_then(|command| Argv::parse(command).ok()) else { return };
        let Some(risk) = inline_code_of(&argv) else { return };
        match value {
            InlineCode::Allow => {
                let rule = Some(("commands.inline_code", place));
                self.allow(Topic::Command, "inline_code", format_args!("it may: {risk}"), rule);
            }
            InlineCode::Refuse => {
                self.deny(Topic::Command, "inline_code", "commands.inline_code", refusal(&risk, place));
            }
        }
    }

    fn approval(&mut self, policy: &Policy) {
        let mode = self.facts.approval_mode.unwrap_or(ApprovalMode::Never);
        let default = if self.facts.approval_mode.is_none() { " (the default)" } else { "" };
        let file = self.file;
        let message =
            format_args!("approval mode `{mode}`{default} is not in required_approval_modes of {file}");
        let refusal = Refusal::new(ErrorCode::PolicyApprovalMode, "approval_mode", message);
        let list = ("required_approval_modes", &policy.required_approval_modes);
        self.allow_list(Topic::Approval, mode.as_str(), list, Some(&mode), refusal);
    }

    fn timeout(&mut self, policy: &Policy) {
        let subject = self.facts.timeout.map_or_else(|| "none".to_owned(), |seconds| format!("{seconds} s"));
        match (&policy.max_timeout, self.facts.timeout) {
            (Some(LocatedValue { value: maximum, place }), Some(asked)) if *maximum < asked => {
                let hint = format!("raise max_timeout in {place}{}", self.or_change("timeout"));
                let message = format!("timeout {asked} s is over max_timeout {maximum} s of {}", self.file);
                let blocker = Blocker::new(ErrorCode::PolicyTimeout, message).at(place.clone()).hint(hint);
                self.deny(Topic::Timeout, &subject, "max_timeout", blocker);
            }
            (Some(maximum), Some(_)) => {
                let rule = Some(("max_timeout", &maximum.place));
                self.allow(Topic::Timeout, &subject, format_args!("it is within {} s", maximum.value), rule);
            }
            (Some(maximum), None) => {
                let rule = Some(("max_timeout", &maximum.place));
                self.allow(
                    Topic::Timeout,
                    &subject,
                    format_args!("max_timeout {} s is used", maximum.value),
                    rule,
                );
            }
            (None, Some(_)) => self.allow(Topic::Timeout, &subject, "no max_timeout restricts it", None),
            (None, None) => self.allow(Topic::Timeout, &subject, "300 s is used", None),
        }
    }

    fn runtime(&mut self, policy: &Policy) {
        let Some(runtime) = self.facts.runtime_id else { return };
        let name = shown(runtime);
        let file = self.file;
        let message = format_args!("runtime `{name}` is not in allowed_runtimes of {file}");
        let refusal = Refusal::new(ErrorCode::PolicyRuntime, "runtime_id", message);
        let list = ("allowed_runtimes", &policy.allowed_runtimes);
        self.allow_list(Topic::Runtime, name, list, Some(&runtime.to_owned()), refusal);
    }

    /// Refuses a remote server whose origin the policy does not name. Without a policy, none is named.
    fn remote(&mut self, policy: &Policy) {
        let Some(remote) = self.facts.entry.and_then(|tool| tool.remote.as_ref()) else { return };
        let (origin, key) = (remote.origin(), "mcp.remote");
        if let Some(item) = policy.mcp_remote.find(&origin) {
            return self.allow(Topic::Remote, &origin, "it is in remote of [mcp]", Some((key, &item.place)));
        }
        let at = policy.mcp_remote.place.clone().unwrap_or_else(|| Place::file(self.file));
        let message = format!("`{origin}` is not in remote of [mcp] of {}", self.file);
        let hint = format!("if you trust this server, add \"{origin}\" to remote of [mcp] in {at}");
        let blocker = Blocker::new(ErrorCode::PolicyMcpRemote, message).at(at).hint(hint);
        self.deny(Topic::Remote, &origin, key, blocker);
    }

    /// Rules on the labels that are valid names. [`Judge::labels`] refuses the others.
    fn bindings(&mut self, policy: &Policy) {
        let fit: Vec<_> =
            unique(self.facts.env_labels).into_iter().filter_map(|text| check_label(text).ok()).collect();
        for label in &fit {
            if policy.env_bindings.contains_key(label) {
                continue;
            }
            let at = policy.env_bindings_place.clone().unwrap_or_else(|| Place::file(self.file));
            let message = format!("env label `{label}` has no binding in env_bindings of {}", self.file);
            let hint = format!("add {label} = \"<NAME_OF_A_VARIABLE>\" to env_bindings in {at}");
            let blocker = Blocker::new(ErrorCode::PolicyEnvUnbound, message).at(at).hint(hint);
            self.deny(Topic::EnvLabel, label.as_str(), "env_bindings", blocker);
        }
        for label in &fit {
            let Some(LocatedValue { value: variable, place }) = policy.env_bindings.get(label) else {
                continue;
            };
            if self.environment.is_set(variable.as_str()) {
                let rule = Some(("env_bindings", place));
                self.allow(
                    Topic::EnvLabel,
                    label.as_str(),
                    format_args!("it is bound to the variable {variable}"),
                    rule,
                );
                continue;
            }
            let message =
                format!("env label `{label}` is bound to the variable {variable}, which is not set");
            let hint =
                format!("set {variable} in the environment, or bind {label} to another variable in {place}");
            let blocker = Blocker::new(ErrorCode::PolicyEnvMissing, message).at(place.clone()).hint(hint);
            self.deny(Topic::EnvLabel, label.as_str(), "env_bindings", blocker);
        }
    }

    /// Refuses invalid labels, with or without a policy.
    fn labels(&mut self) {
        for (index, text) in self.facts.env_labels.iter().enumerate() {
            let Err(problem) = check_label(text) else { continue };
            let number = index + 1;
            // Only a valid name may be repeated: anything else may be a misplaced secret.
            let subject = match problem {
                LabelProblem::Dangerous => format!("`{text}`"),
                LabelProblem::LooksLikeValue | LabelProblem::NotAName => format!("number {number}"),
            };
            let message = format!("env label {subject} {problem}");
            let place = self.facts.place_of(&format!("env_labels[{number}]"));
            let hint = match problem {
                LabelProblem::Dangerous => "use another name and let the tool read that one",
                LabelProblem::LooksLikeValue | LabelProblem::NotAName => {
                    "write the name of a label and bind it to a variable in env_bindings of the policy"
                }
            };
            let blocker = Blocker::new(ErrorCode::UnsafeEnvLabel, message).at(place).hint(hint);
            self.deny(Topic::EnvLabel, subject.trim_matches('`'), "env_labels", blocker);
        }
    }
}

/// Returns why a command is refused by a rule against code for an interpreter, given the place of the rule.
pub fn refuse_inline_code(argv: &Argv, rule: &Place) -> Option<Blocker> {
    Some(refusal(&inline_code_of(argv)?, rule).field("commands.inline_code"))
}

/// Returns the refusal of a command that chooses its code itself, in an entry without `code`, if the policy refuses
/// that. `reason` says how it chooses, and `declare` what to declare.
pub fn refuse_undeclared_code(state: &PolicyState, reason: &str, declare: &str) -> Option<Blocker> {
    let rule = state.policy()?.undeclared_code.as_ref()?;
    (rule.value == UndeclaredCode::Refuse).then(|| {
        Blocker::new(ErrorCode::UndeclaredCode, reason)
            .at(rule.place.clone())
            .field("command")
            .hint(declare.to_owned())
    })
}

fn inline_code_of(argv: &Argv) -> Option<Risk> {
    risk::inline_code(&risk::judge(argv), argv.words().len()).next().cloned()
}

fn refusal(risk: &Risk, place: &Place) -> Blocker {
    let hint = format!("put the code into a script and call that, or set inline_code = \"allow\" in {place}");
    Blocker::new(ErrorCode::PolicyInlineCode, risk.to_string()).at(place.clone()).hint(hint)
}

/// The refusal of an allow-list, and the field of the tool that it concerns.
struct Refusal<'a> {
    code: ErrorCode,
    field: &'a str,
    message: fmt::Arguments<'a>,
    /// The hint, if a word was probably misspelt.
    meant: Option<Hint>,
}

impl<'a> Refusal<'a> {
    fn new(code: ErrorCode, field: &'a str, message: fmt::Arguments<'a>) -> Refusal<'a> {
        Refusal { code, field, message, meant: None }
    }
}

/// Returns a label of a tool, masked if it looks like a secret.
fn shown(label: &str) -> &str {
    if looks_secret_value(label).is_some() { MARK } else { label }
}

fn unique(texts: &[String]) -> Vec<&String> {
    let mut seen = BTreeSet::new();
    texts.iter().filter(|text| seen.insert(text.as_str())).collect()
}
