//! Commands and test suites.

use std::time::Duration;

use brigade_catalog::Seconds;
use brigade_cmdline::Argv;
use brigade_core::json::{from_json, to_json};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use super::*;

/// The id of the tool that runs a command.
pub const COMMAND: &str = "cmd.run";

/// The maximum time limit of a command, in seconds.
pub const MAX_SECONDS: f64 = 600.0;

/// The arguments of [`COMMAND`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandArgs {
    /// Words in POSIX quotes.
    #[serde(deserialize_with = "or_default")]
    pub command: String,
    /// More words, which are not split.
    #[serde(deserialize_with = "texts")]
    pub args: Vec<String>,
    /// The directory that it runs in.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "or_default")]
    pub cwd: Option<String>,
    /// Its time limit.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "or_default")]
    pub timeout_seconds: Option<u64>,
    /// How much of its output is returned.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "or_default")]
    pub max_output_bytes: Option<u64>,
    /// Whether `/bin/sh -c` reads the command.
    #[serde(skip_serializing_if = "std::ops::Not::not", deserialize_with = "or_default")]
    pub shell: bool,
    /// Variables that the policy binds, each with `true`. Everything else is read as `false`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "flags")]
    pub env: BTreeMap<String, bool>,
}

impl CommandArgs {
    /// Reads the arguments of a call. Members of a wrong type are left out, so that all other blockers are found, too;
    /// the schema refuses the call.
    pub fn read(json: &Json) -> CommandArgs {
        from_json(json).unwrap_or_default()
    }
}

/// Reads a member, or leaves it out if it has another type.
fn or_default<'de, T: DeserializeOwned + Default, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    Ok(from_json(&Json::deserialize(from)?).unwrap_or_default())
}

/// Reads the texts of a list.
fn texts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let list = Json::deserialize(from)?;
    let texts = list.as_array().into_iter().flatten().filter_map(Json::as_str);
    Ok(texts.map(str::to_owned).collect())
}

/// Reads which members of an object are `true`.
fn flags<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, bool>, D::Error> {
    let object = Json::deserialize(from)?;
    let members = object.as_object().into_iter().flatten();
    Ok(members.map(|(name, value)| (name.clone(), *value == Json::Bool(true))).collect())
}

/// What a command printed and how it ended: the structured result of [`COMMAND`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutput {
    /// What it printed.
    pub stdout: Option<String>,
    /// What it printed to standard error.
    pub stderr: Option<String>,
    /// How it ended; negative if a signal ended it.
    pub exit_code: Option<i64>,
    /// Whether it was ended at its time limit.
    #[serde(default)]
    pub timed_out: bool,
    /// Whether the output was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
}

impl CommandOutput {
    /// Reads the result of any tool as the result of a command. Empty if these members have other types.
    pub fn read(json: &Json) -> CommandOutput {
        from_json(json).unwrap_or_default()
    }

    /// Writes the result as a document.
    pub fn to_json(&self) -> Json {
        to_json(self).expect("a result is JSON")
    }
}

/// Makes the entry of a call of [`COMMAND`], whose command is in the arguments. `None` for every other tool.
///
/// So the command is checked like the command of any tool: words, risks, program, files, sandbox and limits. `granted`
/// are more effects than the row has, and `most` is the longest time that the policy allows.
pub fn command_entry(
    id: &str,
    args: &Json,
    root: &str,
    granted: &[String],
    most: Option<Seconds>,
) -> Option<Tool> {
    let entry = entry(id.trim()).filter(|_| id.trim() == COMMAND)?;
    let CommandArgs { command, args, cwd, timeout_seconds, env, shell, .. } = CommandArgs::read(args);
    let command = if shell { shell_line(&command) } else { command };
    // A text that is not a command line stays as it is, even with a NUL; parsing it later refuses the call.
    let whole = match Argv::parse(&command) {
        Ok(mut argv) => match args.iter().try_for_each(|word| argv.push(word)) {
            Ok(()) => argv.to_string(),
            Err(_) => format!("{argv} \0"),
        },
        Err(_) => command,
    };
    let mut effects = entry.effects.clone();
    effects.extend(granted.iter().cloned());
    effects.sort();
    effects.dedup();
    let most = most.map_or(MAX_SECONDS, |most| most.get().min(MAX_SECONDS));
    let asked = timeout_seconds.map(|seconds| Duration::from_secs(seconds).as_secs_f64());
    let timeout = asked.unwrap_or(most).clamp(1.0, MAX_SECONDS);
    let cwd = cwd.and_then(|path| relative(&path, root));
    Some(Tool {
        command: Some(whole),
        cwd: cwd.filter(|path| !path.is_empty()),
        timeout: Seconds::new(timeout).ok(),
        env_labels: env.into_keys().collect(),
        effects,
        ..entry.clone()
    })
}

/// The words before a text that a shell reads. The word after the text is the name that the shell has in it.
const SHELL: [&str; 2] = ["/bin/sh", "-c"];

/// Returns the command line with which a shell reads a text.
fn shell_line(text: &str) -> String {
    let words = SHELL.into_iter().chain([text, "sh"]);
    let mut line = Argv::parse(SHELL[0]).ok();
    for word in words.skip(1) {
        line = line.and_then(|mut line| line.push(word).ok().map(|()| line));
    }
    // A text with a NUL stays as it is; parsing it later refuses the call.
    line.map_or_else(|| text.to_owned(), |line| line.to_string())
}

/// Returns whether a shell reads the command of an entry made for a call of [`COMMAND`].
pub fn is_for_shell(tool: &Tool) -> bool {
    let command = tool.command.as_deref().filter(|_| tool.id == COMMAND);
    let argv = command.and_then(|command| Argv::parse(command).ok());
    argv.is_some_and(|argv| argv.words().iter().map(String::as_str).take(2).eq(SHELL))
}

/// Returns the argument of a tool that is a command line.
pub fn command_argument(tool: &str) -> Option<&'static str> {
    (tool == COMMAND).then_some("command")
}

/// Where the rest of a cut text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OmittedText<'r> {
    /// In the output of the run of this id.
    Kept(&'r str),
    /// Nowhere: the policy keeps no more of an output.
    Dropped,
    /// Nowhere: it is not the output of a run.
    Unkept,
}

/// Returns the note after a cut text: how much is shown, and how to read the rest.
pub fn cut_note(shown: usize, total: usize, rest: OmittedText<'_>) -> String {
    let rest = match rest {
        OmittedText::Kept(run) => format!("; `output.read` with run_id `{run}` reads on"),
        OmittedText::Dropped => "; the policy keeps no more (`max_output_bytes`)".to_owned(),
        OmittedText::Unkept => String::new(),
    };
    format!("[cut after {shown} of {total} bytes{rest}]")
}
