//! Adapters for worker programs: how a program gets its prompt, which flags it needs, and where it puts its answer.
//!
//! An [`Adapter`] is a row of data. Brigade has a built-in table. Rows in `kitchen.toml` take precedence over it. The
//! first word of a command chooses the adapter, unless the configuration names one.

mod argv;
mod limit;
mod output;
mod rows;
mod skip;
mod table;

pub use argv::{ArgvFault, ModelFault, PermissionMode, Permissions, WorkerInvocation};
pub use limit::{Limit, reset_time};
pub use output::{Answer, Output, Tokens};
pub(crate) use rows::rows;
pub use skip::{FlagMatch, SkipFlag};
pub use table::{LimitPatterns, TABLE};

use brigade_cmdline::Argv;
use serde::Deserialize;

/// A worker program.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Adapter {
    /// The name of the adapter.
    pub id: String,
    /// The first word of the commands that use this adapter.
    pub program: String,
    /// How the prompt reaches the program.
    pub prompt: PromptWay,
    /// Arguments that are added if the command lacks them. `{prompt_file}` and `{answer_file}` are replaced by paths.
    pub args: Vec<String>,
    /// Flags for narrow permissions.
    pub narrow: Vec<String>,
    /// Flags that skip permissions.
    pub skip: Vec<String>,
    /// All flags that skip permissions. A row of the user has only those in `skip`.
    pub skip_flags: Vec<SkipFlag>,
    /// The short flags that take a value. Set for programs that accept several short flags in one word.
    pub shorts: Option<String>,
    /// The option that names a server to attach to.
    pub server: Option<String>,
    /// The words that choose a model. `{model}` is replaced. Empty if the program has no option for it.
    pub model: Vec<String>,
    /// The words that choose how much the model reasons. `{effort}` is replaced.
    pub effort: Vec<String>,
    /// Where the output contains the last message. Only this message is searched for signals.
    pub answer: Source,
    /// Where the output reports a failure. Set for programs that exit with 0 although they failed.
    pub failed: Option<Source>,
    /// Where it reports its cost in dollars.
    pub cost: Option<Source>,
    /// Where it reports tokens: input and output.
    pub tokens: Option<(Source, Source)>,
    /// Patterns that recognize a reached limit in the output.
    #[serde(skip)]
    pub limit: LimitPatterns,
    /// Files and directories that the program writes for its own use, such as its cache.
    pub write_paths: Vec<String>,
    /// Names of environment variables that the program needs.
    pub env_labels: Vec<String>,
    /// The version whose output the row was written for; `None` for rows of users.
    pub checked: Option<String>,
}

impl PartialEq for Adapter {
    fn eq(&self, other: &Adapter) -> bool {
        self.bound() == other.bound()
    }
}

/// How a prompt reaches a program. It is never an argument, because every process can see arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptWay {
    /// On standard input.
    #[default]
    Stdin,
    /// In a file that an argument names.
    File,
}

/// Where a value is in the output of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Source {
    /// The whole standard output.
    #[default]
    Text,
    /// A value of the JSON document on standard output. `*` matches every member.
    Json(Vec<String>),
    /// A value in the JSON lines of one `type`. Texts are joined and numbers are added.
    Lines {
        /// The type of the lines.
        kind: String,
        /// The path to the value.
        path: Vec<String>,
    },
    /// A file that an argument names.
    File,
}

impl Source {
    /// Parses `text`, `json:PATH`, `jsonl:TYPE:PATH` or `file`. Dots separate the names of a path.
    pub fn parse(text: &str) -> Option<Source> {
        let path = |text: &str| {
            let names: Vec<String> = text.trim_start_matches('.').split('.').map(str::to_owned).collect();
            names.iter().all(|name| !name.is_empty()).then_some(names)
        };
        match text.split_once(':') {
            None if text == "text" => Some(Source::Text),
            None if text == "file" => Some(Source::File),
            Some(("json", rest)) => Some(Source::Json(path(rest)?)),
            Some(("jsonl", rest)) => {
                let (kind, rest) = rest.split_once(':')?;
                (!kind.is_empty()).then_some(Source::Lines { kind: kind.to_owned(), path: path(rest)? })
            }
            _ => None,
        }
    }
}

impl TryFrom<String> for Source {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Source, &'static str> {
        Source::parse(&text).ok_or("not a place in the output")
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::Text => f.write_str("text"),
            Source::Json(path) => write!(f, "json:{}", path.join(".")),
            Source::Lines { kind, path } => write!(f, "jsonl:{kind}:{}", path.join(".")),
            Source::File => f.write_str("file"),
        }
    }
}

/// Chooses the adapter of a command: the configured one, else the one for its first word, else `plain`.
///
/// # Errors
/// Returns the configured name if no adapter has it.
pub fn choose<'a>(rows: &'a [Adapter], named: Option<&str>, command: &Argv) -> Result<&'a Adapter, String> {
    let all = || rows.iter().chain(TABLE.iter());
    if let Some(name) = named {
        return all().find(|adapter| adapter.id == name).ok_or_else(|| name.to_owned());
    }
    let program = command.program().rsplit('/').next().unwrap_or_default();
    let found = all().find(|adapter| adapter.program == program);
    Ok(found.unwrap_or_else(|| table::plain()))
}

impl Adapter {
    /// Returns the parts of the adapter that an approval covers, as words in a fixed order.
    pub fn bound(&self) -> Vec<(&'static str, Vec<String>)> {
        let source = |source: &Option<Source>| source.iter().map(Source::to_string).collect::<Vec<_>>();
        let prompt = match self.prompt {
            PromptWay::Stdin => "stdin",
            PromptWay::File => "file",
        };
        vec![
            ("id", vec![self.id.clone(), self.program.clone()]),
            ("prompt", vec![prompt.to_owned()]),
            ("args", self.args.clone()),
            ("narrow", self.narrow.clone()),
            ("skip", self.skip.clone()),
            ("server", self.server.iter().cloned().collect()),
            ("answer", vec![self.answer.to_string()]),
            ("failed", source(&self.failed)),
            ("cost", source(&self.cost)),
            ("tokens", self.tokens.iter().flat_map(|(a, b)| [a.to_string(), b.to_string()]).collect()),
            ("limit", self.limit.texts()),
            ("write_paths", self.write_paths.clone()),
            ("env_labels", self.env_labels.clone()),
        ]
    }
}

#[cfg(test)]
mod tests;
