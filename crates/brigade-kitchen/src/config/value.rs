//! The types of configuration values.

use std::fmt;

use brigade_cmdline::Argv;
use brigade_core::{text, words};
use brigade_policy::EFFECTS;

use super::keys::Rule;
use crate::command::{self, Command};

/// A value as a file contains it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RawValue {
    /// A word of `brigade.config`, where all values are texts.
    Word(String),
    /// A string of `kitchen.toml`.
    Text(String),
    /// A boolean.
    Truth(bool),
    /// A number as written.
    Number(String),
    /// A list of strings.
    Texts(Vec<String>),
    /// Something else, such as a table.
    Other,
}

impl RawValue {
    fn text(&self) -> Option<&str> {
        if let RawValue::Word(text) | RawValue::Text(text) = self { Some(text) } else { None }
    }

    fn number(&self) -> Option<&str> {
        if let RawValue::Word(text) | RawValue::Number(text) = self { Some(text) } else { None }
    }
}

/// A type that a setting can have.
pub(super) trait Setting: Sized {
    /// Whether the value names a command.
    const IS_COMMAND: bool = false;

    /// Parses a value. The error says what was expected.
    fn read(raw: &RawValue, rule: &Rule) -> Result<Self, String>;

    /// Formats the value as TOML; `None` if it is not set.
    fn toml(&self) -> Option<String>;
}

/// Quotes a text for TOML.
pub(super) fn quote(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

impl Setting for bool {
    fn read(raw: &RawValue, _: &Rule) -> Result<bool, String> {
        match raw {
            RawValue::Truth(truth) => Ok(*truth),
            RawValue::Word(word) if word == "true" => Ok(true),
            RawValue::Word(word) if word == "false" => Ok(false),
            _ => Err("true or false".to_owned()),
        }
    }

    fn toml(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Setting for u64 {
    fn read(raw: &RawValue, rule: &Rule) -> Result<u64, String> {
        let (least, most) = match rule {
            Rule::Range(least, most) => (*least, *most),
            Rule::Any | Rule::Inside | Rule::Words(_) | Rule::Effects => (0, u64::MAX),
        };
        let number = raw.number().and_then(|digits| digits.replace('_', "").parse::<u64>().ok());
        number.filter(|number| (least..=most).contains(number)).ok_or_else(|| rule.expected("a whole number"))
    }

    fn toml(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Setting for f64 {
    fn read(raw: &RawValue, rule: &Rule) -> Result<f64, String> {
        let number = raw.number().and_then(|digits| digits.replace('_', "").parse::<f64>().ok());
        let number = number.filter(|number| number.is_finite() && 0.0 <= *number);
        number.ok_or_else(|| rule.expected("a number that is not negative"))
    }

    fn toml(&self) -> Option<String> {
        Some(format!("{self:?}"))
    }
}

impl Setting for String {
    fn read(raw: &RawValue, rule: &Rule) -> Result<String, String> {
        let text = raw.text().ok_or("a text")?.trim();
        if text.chars().any(char::is_control) {
            return Err("a text without control characters".to_owned());
        }
        let is_inside = !text.starts_with(['/', '~']) && text.split('/').all(|name| name != "..");
        if matches!(rule, Rule::Inside) && (text.is_empty() || !is_inside) {
            return Err("a relative path without `..`".to_owned());
        }
        let words: Vec<&str> = match rule {
            Rule::Words(words) => words.to_vec(),
            Rule::Effects => EFFECTS.iter().map(|effect| effect.name).collect(),
            Rule::Any | Rule::Inside | Rule::Range(..) => return Ok(text.to_owned()),
        };
        if !words.contains(&text) {
            return Err(format!("one of {}", words.join(", ")));
        }
        Ok(text.to_owned())
    }

    fn toml(&self) -> Option<String> {
        Some(quote(self))
    }
}

impl<T: Setting> Setting for Option<T> {
    const IS_COMMAND: bool = T::IS_COMMAND;

    fn read(raw: &RawValue, rule: &Rule) -> Result<Option<T>, String> {
        if raw.text().is_some_and(|text| text.trim().is_empty()) {
            return Ok(None);
        }
        T::read(raw, rule).map(Some)
    }

    fn toml(&self) -> Option<String> {
        self.as_ref().and_then(T::toml)
    }
}

impl Setting for Vec<String> {
    fn read(raw: &RawValue, rule: &Rule) -> Result<Vec<String>, String> {
        let RawValue::Texts(texts) = raw else { return Err("a list of texts".to_owned()) };
        texts.iter().map(|text| String::read(&RawValue::Text(text.clone()), rule)).collect()
    }

    fn toml(&self) -> Option<String> {
        let texts: Vec<String> = self.iter().map(|text| quote(text)).collect();
        Some(format!("[{}]", texts.join(", ")))
    }
}

impl Setting for Command {
    const IS_COMMAND: bool = true;

    fn read(raw: &RawValue, _: &Rule) -> Result<Command, String> {
        let text = raw.text().ok_or("a command")?;
        Command::parse(text).map_err(|fault| format!("a command that may run: {fault}"))
    }

    fn toml(&self) -> Option<String> {
        Some(quote(self.text()))
    }
}

/// The command of a tier: a program and its arguments, split by the rules of POSIX and never read by a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerCommand {
    text: String,
    argv: Argv,
}

impl WorkerCommand {
    /// Parses a command.
    ///
    /// # Errors
    /// Returns what was expected if the text cannot be split into words or is dangerous.
    pub fn parse(text: &str) -> Result<WorkerCommand, String> {
        let argv = Argv::parse(text).map_err(|error| format!("a command: {error}"))?;
        match command::dangers(&argv).into_iter().next() {
            Some(danger) => Err(format!("a command that may run: {danger}")),
            None => Ok(WorkerCommand { text: text.trim().to_owned(), argv }),
        }
    }

    /// Makes a default from a known valid command.
    pub(super) fn known(text: &str) -> WorkerCommand {
        WorkerCommand::parse(text).expect("a command of ours can be split")
    }

    pub(super) fn opencode(model: &str) -> WorkerCommand {
        let mut argv = Argv::parse("opencode --model").expect("two words");
        // A setting cannot contain a NUL, so this cannot fail.
        let _ = argv.push(model);
        WorkerCommand { text: argv.to_string(), argv }
    }

    /// Returns the words.
    pub fn argv(&self) -> &Argv {
        &self.argv
    }

    /// Returns the text as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for WorkerCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::escape_terminal(&self.text))
    }
}

impl Setting for WorkerCommand {
    const IS_COMMAND: bool = true;

    fn read(raw: &RawValue, _: &Rule) -> Result<WorkerCommand, String> {
        WorkerCommand::parse(raw.text().ok_or("a command")?)
    }

    fn toml(&self) -> Option<String> {
        Some(quote(&self.text))
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl Setting for Bytes {
    fn read(raw: &RawValue, rule: &Rule) -> Result<Bytes, String> {
        u64::read(raw, rule).map(Bytes)
    }

    fn toml(&self) -> Option<String> {
        self.0.toml()
    }
}

/// Defines enums whose values are keywords of settings.
macro_rules! settings {
    ($($name:ident),+ $(,)?) => {$(
        impl Setting for $name {
            fn read(raw: &RawValue, _: &Rule) -> Result<$name, String> {
                raw.text().and_then($name::from_word).ok_or_else(|| format!("one of {}", $name::EXPECTED))
            }

            fn toml(&self) -> Option<String> {
                Some(quote(self.as_str()))
            }
        }
    )+};
}

settings!(PhaseAction, PhaseGate, Stall, Keep, Integrate, Switch);

words! {
    /// What follows a phase review that needs attention.
    PhaseAction {
        /// The service continues.
        Continue = "continue",
        /// A person decides.
        Pause = "pause",
        /// Tasks are added, and a person approves them.
        Remediate = "remediate",
    }
}

words! {
    /// What to do between two PRDs.
    PhaseGate {
        /// The next PRD begins.
        Continue = "continue",
        /// A person decides.
        Pause = "pause",
        /// The executive decides.
        Review = "review",
    }
}

words! {
    /// What happens to a stalled attempt.
    Stall {
        /// An event is written.
        Warn = "warn",
        /// The attempt is ended.
        Kill = "kill",
    }
}

words! {
    /// Which worktrees are kept.
    Keep {
        /// All.
        Always = "always",
        /// Those whose work is not in the branch.
        Unfinished = "unfinished",
    }
}

words! {
    /// How the commits of a task reach the branch.
    Integrate {
        /// As one commit.
        Squash = "squash",
        /// As the worker made them, with a commit of Brigade on top.
        Keep = "keep",
    }
}

words! {
    /// Whether a feature is used.
    Switch {
        /// It is used.
        On = "on",
        /// It is not used.
        Off = "off",
    }
}
