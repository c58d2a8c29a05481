//! The configuration of the kitchen: `brigade.config` and `.brigade/kitchen.toml`.
//!
//! Both files are data and are never executed. An invalid value keeps the default and gives a warning with its place.
//! An invalid command is an error, and nothing is started. Later sources win: defaults, `brigade.config`,
//! `kitchen.toml`, the PRD, flags.

mod import;
mod keys;
mod shell;
mod starter;
mod tables;
mod value;

use std::collections::BTreeMap;

use brigade_core::{ConfigIssue, Fingerprint, Hint, Place, Severity, closest};
use brigade_policy::document::text_of;
use brigade_redact::shown_name;

pub use import::{ImportedConfig, import};
pub use keys::{KEYS, Key, Settings};
pub use shell::{Assignment, NonLiteral};
pub use starter::{StarterKeys, starter};
pub use value::{Integrate, Keep, PhaseAction, PhaseGate, Stall, Switch, WorkerCommand};

use crate::adapter::Adapter;
use crate::names::Tier;
use crate::prd::{Lints, Prd};
use value::RawValue;

/// A file of the configuration.
#[derive(Clone, Copy, Debug)]
pub struct ConfigFile<'a> {
    /// The file name used in messages.
    pub name: &'a str,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// The configuration of a workspace, read from its files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The values.
    pub settings: Settings,
    /// Adapters of the user. They take precedence over the built-in ones.
    pub adapters: Vec<Adapter>,
    /// What is wrong with the files, in their order.
    pub issues: Vec<ConfigIssue>,
    /// The places of values that the files set, by TOML key.
    pub places: BTreeMap<&'static str, Place>,
}

/// Flags of a command. The person typed them, so they need no approval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flags {
    /// Whether failures are decided without a person.
    pub walkaway: bool,
    /// Whether the next PRD begins automatically.
    pub auto_continue: bool,
    /// What to do between two PRDs.
    pub phase_gate: Option<PhaseGate>,
    /// Whether only one attempt runs at a time.
    pub sequential: bool,
    /// The maximum number of concurrent attempts.
    pub max_parallel: Option<u64>,
    /// The maximum number of attempts per task.
    pub max_iterations: Option<u64>,
    /// The budget in dollars.
    pub max_cost_usd: Option<f64>,
    /// The budget in minutes.
    pub max_minutes: Option<f64>,
    /// The budget in attempts.
    pub max_attempts: Option<u64>,
    /// Whether the branch is merged at the end.
    pub merge: bool,
    /// Whether the branch is pushed at the end.
    pub push: bool,
}

impl Config {
    /// Reads the configuration. Never fails: problems become issues.
    ///
    /// ```
    /// use brigade_kitchen::config::{Config, ConfigFile};
    ///
    /// let shell = b"export MAX_PARALLEL=2\nQUIET_WORKERS='true' # no output\n";
    /// let toml = b"max_parallel = 4\n";
    /// let config = Config::read(
    ///     Some(ConfigFile { name: "brigade/brigade.config", bytes: shell }),
    ///     Some(ConfigFile { name: ".brigade/kitchen.toml", bytes: toml }),
    /// );
    /// assert_eq!((config.settings.max_parallel, config.settings.quiet_workers), (4, true));
    /// assert!(config.issues.is_empty());
    /// ```
    pub fn read(shell: Option<ConfigFile<'_>>, toml: Option<ConfigFile<'_>>) -> Config {
        let mut config = Config::default();
        if let Some(file) = shell {
            match text_of(file.name, file.bytes) {
                Ok(text) => config.read_shell(file.name, text),
                Err(issue) => config.issues.push(*issue),
            }
        }
        if let Some(file) = toml {
            match text_of(file.name, file.bytes) {
                Ok(text) => tables::read(file.name, text, &mut config),
                Err(issue) => config.issues.push(*issue),
            }
        }
        config.notes();
        config
    }

    /// Returns whether nothing may be started: a file is unreadable, or a command in it is invalid.
    pub fn refuses(&self) -> bool {
        self.issues.iter().any(|issue| issue.severity == Severity::Error)
    }

    /// Returns the settings for a PRD. Values in the PRD win over the files.
    pub fn for_prd(&self, prd: &Prd) -> Settings {
        let mut settings = self.settings.clone();
        settings.walkaway_mode |= prd.walkaway;
        if let Some(command) = &prd.test_command {
            settings.test_cmd = Some(command.clone());
        }
        settings
    }

    fn read_shell(&mut self, file: &str, text: &str) {
        let (assignments, issues) = shell::read(file, text);
        self.issues.extend(issues);
        for assignment in assignments {
            let Some(key) = Key::from_shell(&assignment.name) else {
                self.unknown_variable(&assignment);
                continue;
            };
            match &assignment.value {
                Ok(value) => self.set(key, &RawValue::Word(value.clone()), assignment.place, key.shell),
                Err(reason) => {
                    let message = format!("{reason}; commands in this file are not executed");
                    let effect =
                        if key.is_command { "; nothing is started" } else { "; the default is used" };
                    self.unusable(key, assignment.place, key.shell, message + effect);
                }
            }
        }
    }

    /// Sets a value, or reports why it is invalid.
    fn set(&mut self, key: &'static Key, raw: &RawValue, place: Place, field: &str) {
        match self.settings.set(key, raw) {
            Ok(()) => drop(self.places.insert(key.toml, place)),
            Err(expected) => self.unusable(key, place, field, format!("expected {expected}")),
        }
    }

    fn unusable(&mut self, key: &Key, place: Place, field: &str, message: String) {
        let severity = if key.is_command { Severity::Error } else { Severity::Warning };
        self.issue(severity, place, field, message, None);
    }

    fn issue(
        &mut self,
        severity: Severity,
        place: Place,
        field: &str,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        let (field, message, hint) = (Some(field.to_owned()), message.into(), hint.map(Hint::from));
        self.issues.push(ConfigIssue { severity, place, entry: None, field, message, hint });
    }

    fn unknown_variable(&mut self, assignment: &Assignment) {
        let place = assignment.place.clone();
        if keys::is_unused(&assignment.name) {
            self.issue(Severity::Info, place, &assignment.name, "not used by Brigade", None);
        } else {
            let known = KEYS.iter().map(|key| key.shell).filter(|name| !name.is_empty());
            let hint = closest(&assignment.name, known).map(|near| format!("did you mean `{near}`?"));
            let message = "unknown key, so it has no effect";
            self.issue(Severity::Warning, place, shown_name(&assignment.name), message, hint);
        }
    }

    /// Notes valid values that have no effect.
    fn notes(&mut self) {
        let settings = &self.settings;
        let mut notes = Vec::new();
        if !settings.context_isolation {
            notes.push(("context_isolation", "has no effect: every attempt is a fresh session"));
        }
        if !settings.state_file.is_empty() {
            notes.push(("state_file", "has no effect: the state file is named after the PRD"));
        }
        if settings.brigade_debug {
            notes.push((
                "brigade_debug",
                "has no effect here: set the variable of this name, or ask for verbose output",
            ));
        }
        for (key, message) in notes {
            if let Some(place) = self.places.get(key).cloned() {
                self.issue(Severity::Info, place, key, message, None);
            }
        }
        if self.settings.use_opencode {
            for key in ["tier.line.command", "tier.line.adapter"] {
                if let Some(place) = self.places.get(key).cloned() {
                    let message = "has no effect: `use_opencode` is true, so the line uses opencode";
                    let hint = Some("set one of the two".to_owned());
                    self.issue(Severity::Warning, place, key, message, hint);
                }
            }
        }
    }
}

impl Settings {
    /// Applies the flags of a command. A service uses the result. The fingerprint covers the settings before.
    #[must_use]
    pub fn with_flags(&self, flags: &Flags) -> Settings {
        let mut settings = self.clone();
        settings.walkaway_mode |= flags.walkaway;
        settings.auto_continue |= flags.auto_continue;
        settings.merge |= flags.merge;
        settings.push |= flags.push;
        settings.phase_gate = flags.phase_gate.unwrap_or(settings.phase_gate);
        settings.max_parallel = flags.max_parallel.unwrap_or(settings.max_parallel);
        if flags.sequential {
            settings.max_parallel = 1;
        }
        settings.max_iterations = flags.max_iterations.unwrap_or(settings.max_iterations);
        settings.max_cost_usd = flags.max_cost_usd.or(settings.max_cost_usd);
        settings.max_minutes = flags.max_minutes.or(settings.max_minutes);
        settings.max_attempts = flags.max_attempts.or(settings.max_attempts);
        settings
    }

    /// Limits the number of concurrent attempts, regardless of files and flags.
    #[must_use]
    pub fn within(self, most_parallel: Option<u64>) -> Settings {
        let max_parallel = most_parallel.map_or(self.max_parallel, |most| self.max_parallel.min(most));
        Settings { max_parallel, ..self }
    }

    /// Returns the command of a tier. With `use_opencode`, the line runs opencode instead.
    pub fn command(&self, tier: Tier) -> WorkerCommand {
        let command = match tier {
            Tier::Line => &self.line_cmd,
            Tier::Sous => &self.sous_cmd,
            Tier::Executive => &self.executive_cmd,
        };
        if tier == Tier::Line && self.use_opencode {
            return WorkerCommand::opencode(&self.opencode_model);
        }
        command.clone()
    }

    /// Returns the adapter that the configuration names for a tier.
    pub fn adapter_name(&self, tier: Tier) -> Option<&str> {
        let name = match tier {
            // With `use_opencode`, the line gets the adapter of opencode.
            Tier::Line if self.use_opencode => return None,
            Tier::Line => &self.line_agent,
            Tier::Sous => &self.sous_agent,
            Tier::Executive => &self.executive_agent,
        };
        Some(name.as_str()).filter(|name| !name.is_empty())
    }

    /// Returns a fingerprint of the command and adapter of a tier.
    pub fn worker_of(&self, tier: Tier) -> Fingerprint {
        let adapter = self.adapter_name(tier).unwrap_or_default();
        Fingerprint::of_bytes(format!("{adapter}\0{}", self.command(tier).text()).as_bytes())
    }

    /// Returns the environment variables that the configuration passes to a tier.
    pub fn env_labels(&self, tier: Tier) -> Option<&[String]> {
        match tier {
            Tier::Line => self.line_labels.as_deref(),
            Tier::Sous => self.sous_labels.as_deref(),
            Tier::Executive => self.executive_labels.as_deref(),
        }
    }

    /// Returns the maximum number of concurrent attempts, at least one.
    pub fn parallel(&self) -> u64 {
        self.max_parallel.max(1)
    }

    /// Returns the maximum number of concurrent attempts of a tier.
    pub fn parallel_of(&self, tier: Tier) -> u64 {
        match tier {
            Tier::Line => self.parallel_line.unwrap_or(self.parallel()),
            Tier::Sous => self.parallel_sous,
            Tier::Executive => self.parallel_executive,
        }
    }

    /// Returns the time limit of an attempt of a tier in seconds; `None` for no limit.
    pub fn timeout(&self, tier: Tier) -> Option<u64> {
        let seconds = match tier {
            Tier::Line => self.task_timeout_junior,
            Tier::Sous => self.task_timeout_senior,
            Tier::Executive => self.task_timeout_executive,
        };
        Some(seconds).filter(|seconds| 0 < *seconds)
    }

    /// Returns the minutes after which an attempt of a tier counts as slow; `None` for never.
    pub fn slow_after(&self, tier: Tier) -> Option<u64> {
        let minutes = match tier {
            Tier::Line => self.task_timeout_warning_junior,
            Tier::Sous | Tier::Executive => self.task_timeout_warning_senior,
        };
        Some(minutes).filter(|minutes| 0 < *minutes)
    }

    /// Returns the cost per minute, in dollars, of a tier whose worker reports no cost.
    pub fn cost_rate(&self, tier: Tier) -> f64 {
        match tier {
            Tier::Line => self.cost_rate_line,
            Tier::Sous => self.cost_rate_sous,
            Tier::Executive => self.cost_rate_executive,
        }
    }

    /// Returns the lints that are enabled for a PRD.
    pub fn lints(&self) -> Lints {
        Lints {
            criteria: self.criteria_lint_enabled,
            pattern_only: self.verification_warn_grep_only,
            end_to_end: self.e2e_detection_enabled,
            tasks: true,
            unverified: self.test_cmd.is_none(),
        }
    }
}

#[cfg(test)]
mod tests;
