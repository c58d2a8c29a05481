//! Worker programs: how each gets its prompt, which flags it needs, and where its answer stands.
//!
//! An [`Adapter`] is a row of data. Ours are in a table; users add rows in `kitchen.toml`, which stand before ours. The
//! first word of a command chooses the adapter, unless the configuration names one.

mod argv;
mod limit;
mod output;
mod rows;
mod skip;
mod table;

pub use argv::{ArgvFault, PermissionMode, Permissions, WorkerInvocation};
pub use limit::{Limit, reset_time};
pub use output::{Answer, Output, Tokens};
pub(crate) use rows::rows;
pub use skip::{FlagMatch, SkipFlag};
pub use table::{LimitPatterns, TABLE};

use brigade_cmdline::Argv;

/// A worker program.
#[derive(Clone, Debug)]
pub struct Adapter {
    /// The name of the row.
    pub id: String,
    /// The first word of commands that it is chosen for.
    pub program: String,
    /// How the prompt reaches the program.
    pub prompt: PromptWay,
    /// Arguments that are added unless they are there. `{prompt_file}` and `{answer_file}` stand for files.
    pub args: Vec<String>,
    /// Flags for narrow permissions.
    pub narrow: Vec<String>,
    /// Flags that skip permissions.
    pub skip: Vec<String>,
    /// Every way in which a command may skip permissions; for rows of users those of `skip` alone.
    pub skip_flags: &'static [SkipFlag],
    /// The short flags that take a value, for programs that read several short flags in one word.
    pub shorts: Option<&'static str>,
    /// The option that names a server to attach to.
    pub server: Option<String>,
    /// Where the last message of the program stands. Signals are searched there and nowhere else.
    pub answer: Source,
    /// Where it says that it failed, for programs that exit with 0 then.
    pub failed: Option<Source>,
    /// Where it reports its cost in dollars.
    pub cost: Option<Source>,
    /// Where it reports tokens: input and output.
    pub tokens: Option<(Source, Source)>,
    /// How its output says that a limit is reached.
    pub limit: LimitPatterns,
    /// Files and directories that the program writes for itself.
    pub write_paths: Vec<String>,
    /// Names of variables that it needs.
    pub env_labels: Vec<String>,
    /// The version whose output the row was written for; `None` for rows of users.
    pub checked: Option<&'static str>,
}

impl PartialEq for Adapter {
    fn eq(&self, other: &Adapter) -> bool {
        self.bound() == other.bound()
    }
}

/// How a prompt reaches a program. Never as an argument, where every process can see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptWay {
    /// On standard input.
    Stdin,
    /// In a file that an argument names.
    File,
}

/// Where a value stands in what a program printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The whole standard output.
    Text,
    /// A value of the JSON document on standard output. `*` stands for every member.
    Json(Vec<String>),
    /// A value in lines of JSON whose `type` is this; texts are joined, numbers are added.
    Lines {
        /// The type of the lines.
        kind: String,
        /// The path to the value.
        path: Vec<String>,
    },
    /// The file that an argument names.
    File,
}

impl Source {
    /// Reads `text`, `json:PATH`, `jsonl:TYPE:PATH` or `file`. A path has dots between its names.
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

/// Chooses the adapter of a command: the one that the configuration names, else by the first word, else `plain`.
///
/// # Errors
/// Fails with the name if there is no such adapter.
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
    /// Returns what a person approves of the row, as words in a fixed order.
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
