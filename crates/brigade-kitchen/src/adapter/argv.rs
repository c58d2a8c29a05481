//! The command line of an attempt.

use brigade_cmdline::Argv;
use brigade_core::explained_words;
use thiserror::Error;

use super::skip::flag_in;
use super::{Adapter, PromptWay};

/// The permissions that a worker program should get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionMode {
    /// The program asks for permissions as its narrow flags say.
    Narrow,
    /// The program does not check permissions. Configuration and policy must both allow it.
    Skip,
}

explained_words! {
    /// The permissions that a command line gives a worker program.
    Permissions {
        /// The narrow flags of the row were added.
        Narrow = "narrow",
        /// The program skips its permission checks.
        Skipped = "skipped",
        /// The program decides: the command sets the flags, or the adapter has none.
        OwnChoice = "own_choice",
    }
}

/// What is started for an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerInvocation {
    /// The words.
    pub argv: Argv,
    /// How the prompt reaches the program.
    pub prompt: PromptWay,
    /// Whether the program writes its answer to the answer file.
    pub answers_in_file: bool,
    /// Which permissions it has.
    pub permissions: Permissions,
}

/// Why a command cannot be started with an adapter.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ArgvFault {
    /// The command sets a flag to a value other than the one that the adapter needs.
    #[error("the command sets `{flag}`, which the adapter `{adapter}` has to set")]
    Taken {
        /// The flag.
        flag: String,
        /// The adapter.
        adapter: String,
    },
    /// The command skips permissions, and the policy does not allow it.
    #[error("the command has `{flag}`, and the policy does not allow a worker to skip its permissions")]
    SkipRefused {
        /// The flag.
        flag: String,
    },
    /// A word contains a NUL byte.
    #[error("a path holds a NUL character")]
    Nul,
}

/// Why a worker cannot be given a model or an effort.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ModelFault {
    /// The adapter has no option for it.
    #[error("the adapter `{adapter}` of the worker has no option for the {what}")]
    NoOption {
        /// The adapter.
        adapter: String,
        /// `model` or `effort`.
        what: &'static str,
    },
    /// The name could be something else than a name.
    #[error("the {what} must be a name of letters, digits and `._:/@+-`, and begin with a letter or digit")]
    NotAName {
        /// `model` or `effort`.
        what: &'static str,
    },
}

/// The maximum length of the name of a model.
const MAX_MODEL_NAME: usize = 128;

/// Spellings of the same flag.
const FLAG_ALIASES: &[(&str, &str)] = &[
    ("-m", "--model"),
    ("-p", "--print"),
    ("-o", "--output-last-message"),
    ("-o", "--output-file"),
    ("-s", "--sandbox"),
    ("--approval-mode", "--approvalMode"),
];

/// A flag with its values, or a single argument.
struct FlagGroup {
    words: Vec<String>,
    /// Where to insert it: after the program, after all words, or at the very end.
    place: GroupPlace,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupPlace {
    Subcommand,
    Flag,
    Last,
}

/// Groups words into flags with their values.
fn groups(words: &[String]) -> Vec<FlagGroup> {
    let mut groups: Vec<FlagGroup> = Vec::new();
    for word in words {
        let place = match word.as_str() {
            "-" => GroupPlace::Last,
            text if text.starts_with('-') => GroupPlace::Flag,
            _ => match groups.last_mut().filter(|group| group.place == GroupPlace::Flag) {
                Some(group) => {
                    group.words.push(word.clone());
                    continue;
                }
                None => GroupPlace::Subcommand,
            },
        };
        groups.push(FlagGroup { words: vec![word.clone()], place });
    }
    groups
}

impl Adapter {
    /// Finds a flag in a command, in any of its spellings. Returns its position and a value attached to it.
    fn find<'a>(&self, words: &'a [String], flag: &str) -> Option<(usize, Option<&'a str>)> {
        let pairs = FLAG_ALIASES.iter().filter(|(one, other)| *one == flag || *other == flag);
        let spellings: Vec<&str> = pairs.flat_map(|(one, other)| [*one, *other]).chain([flag]).collect();
        words.iter().enumerate().find_map(|(at, word)| {
            spellings
                .iter()
                .find_map(|name| flag_in(word, name, self.shorts.as_deref()))
                .map(|value| (at, value))
        })
    }

    /// Returns a command with the options for a model and an effort, instead of those that it has.
    ///
    /// # Errors
    /// Fails if the adapter has no such option, or a name could be read as something else.
    pub fn with_model(
        &self,
        command: &Argv,
        model: Option<&str>,
        effort: Option<&str>,
    ) -> Result<Argv, ModelFault> {
        let mut words = command.words().to_vec();
        for (what, name, option) in [("model", model, &self.model), ("effort", effort, &self.effort)] {
            let Some(name) = name else { continue };
            let [flag, value] = option.as_slice() else {
                return Err(ModelFault::NoOption { adapter: self.id.clone(), what });
            };
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "._:/@+-".contains(c);
            let is_name = (1..=MAX_MODEL_NAME).contains(&name.len())
                && name.chars().all(is_plain)
                && name.starts_with(|c: char| c.is_ascii_alphanumeric());
            if !is_name {
                return Err(ModelFault::NotAName { what });
            }
            // Of several settings, the last one holds.
            let is_setting = value.contains('=');
            while let Some((at, is_attached)) =
                self.find(&words, flag).map(|(at, attached)| (at, attached.is_some())).filter(|_| !is_setting)
            {
                let end = (at + if is_attached { 1 } else { 2 }).min(words.len());
                words.drain(at..end);
            }
            let end = words.len() - usize::from(words.last().is_some_and(|word| word == "-"));
            let value = value.replace(&format!("{{{what}}}"), name);
            words.splice(end..end, [flag.clone(), value]);
        }
        Argv::new(words).map_err(|_| ModelFault::NotAName { what: "model" })
    }

    /// Returns the skip flags of the row if a command has all of them.
    pub(super) fn skip_words(&self, words: &[String]) -> Option<String> {
        let groups = groups(&self.skip);
        let is_there = |group: &FlagGroup| match self.find(words, &group.words[0]) {
            None => false,
            Some((at, attached)) => {
                let next = words.get(at + 1).map(String::as_str);
                group.words.get(1).is_none_or(|value| attached.or(next) == Some(value))
            }
        };
        (!groups.is_empty() && groups.iter().all(is_there)).then(|| self.skip.join(" "))
    }

    /// Returns what to start for an attempt: the command, and the adapter's arguments that it lacks.
    ///
    /// `may_skip` says whether the policy allows workers to skip permission checks. The two files belong to the
    /// attempt. `server` is the server to attach to.
    ///
    /// # Errors
    /// Fails if the command contradicts the adapter or the policy.
    pub fn start(
        &self,
        command: &Argv,
        mode: PermissionMode,
        may_skip: bool,
        prompt_file: &str,
        answer_file: &str,
        server: Option<&str>,
    ) -> Result<WorkerInvocation, ArgvFault> {
        let filled = |words: &[String]| -> Vec<String> {
            let fill = |word: &String| {
                word.replace("{prompt_file}", prompt_file).replace("{answer_file}", answer_file)
            };
            words.iter().map(fill).collect()
        };
        let mut words = command.words().to_vec();
        // The final `-` must stay last, after all added words.
        if words.last().is_some_and(|word| word == "-") && self.args.iter().any(|word| word == "-") {
            words.pop();
        }
        let mut added = filled(&self.args);
        if let (Some(option), Some(server)) = (&self.server, server.filter(|server| !server.is_empty())) {
            added.extend([option.clone(), server.to_owned()]);
        }
        // Words from a user's adapter are checked like those of the command.
        let mut whole = words.clone();
        whole.extend(added.iter().cloned());
        let whole = Argv::new(whole).map_err(|_| ArgvFault::Nul)?;
        let permissions = match self.skipping(&whole) {
            Some(flag) if !may_skip => return Err(ArgvFault::SkipRefused { flag }),
            Some(_) => Permissions::Skipped,
            None => self.permissions(&mut words, mode, may_skip)?,
        };
        self.add(&mut words, &added)?;
        let argv = Argv::new(words).map_err(|_| ArgvFault::Nul)?;
        let answers_in_file = self.args.iter().any(|word| word.contains("{answer_file}"));
        Ok(WorkerInvocation { argv, prompt: self.prompt, answers_in_file, permissions })
    }

    fn permissions(
        &self,
        words: &mut Vec<String>,
        mode: PermissionMode,
        may_skip: bool,
    ) -> Result<Permissions, ArgvFault> {
        let is_set = |flags: &[String]| flags.first().is_some_and(|flag| self.find(words, flag).is_some());
        if is_set(&self.narrow) || is_set(&self.skip) {
            return Ok(Permissions::OwnChoice);
        }
        match mode {
            PermissionMode::Skip if may_skip && !self.skip.is_empty() => {
                self.add(words, &self.skip)?;
                Ok(Permissions::Skipped)
            }
            PermissionMode::Skip | PermissionMode::Narrow if self.narrow.is_empty() => {
                Ok(Permissions::OwnChoice)
            }
            PermissionMode::Skip | PermissionMode::Narrow => {
                self.add(words, &self.narrow)?;
                Ok(Permissions::Narrow)
            }
        }
    }

    /// Adds words that a command lacks.
    fn add(&self, words: &mut Vec<String>, added: &[String]) -> Result<(), ArgvFault> {
        let mut last = Vec::new();
        for (index, group) in groups(added).into_iter().enumerate() {
            match group.place {
                GroupPlace::Subcommand if words.get(1 + index) == Some(&group.words[0]) => {}
                GroupPlace::Subcommand => words.insert((1 + index).min(words.len()), group.words[0].clone()),
                GroupPlace::Last => last.extend(group.words),
                GroupPlace::Flag => match self.find(words, &group.words[0]) {
                    None => words.extend(group.words),
                    Some((at, attached)) => {
                        let found = attached.or_else(|| words.get(at + 1).map(String::as_str));
                        if group.words.get(1).is_some_and(|value| found != Some(value)) {
                            let (flag, adapter) = (group.words[0].clone(), self.id.clone());
                            return Err(ArgvFault::Taken { flag, adapter });
                        }
                    }
                },
            }
        }
        words.extend(last);
        Ok(())
    }
}
