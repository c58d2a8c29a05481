//! The gate for programs that are not calls. Only a [`VerifiedStart`] can be started, and only [`plan_start`] and
//! [`plan_crew_start`] create one.
//!
//! An MCP server that lists its tools, a runtime, and a health command have no approval to compare with. The other
//! checks are those of a plan, by the same functions. Calls that need a runtime bind the files that its health command
//! executes, and the supervisor runs it in the sandbox of the policy.
//!
//! | checked | [`List`](StartPurpose::List) | [`Upstream`](StartPurpose::Upstream) | [`Check`](StartPurpose::Check) | [`Serve`](StartPurpose::Serve), [`Health`](StartPurpose::Health) | [`Git`](StartPurpose::Git) |
//! | --- | --- | --- | --- | --- | --- |
//! | the entry has no errors | yes | yes | yes | yes | there is no entry |
//! | the command exists, can be split, is short enough, contains no secret, is not high-risk | yes | yes | yes | yes | yes: it is only the program; its arguments are ours |
//! | its directory and its program exist | yes | yes | yes | yes | yes |
//! | the policy allows code for an interpreter in the command | yes | yes | yes | yes | it has none |
//! | the policy's decision on a call of the tool | yes | yes, with the sandbox of all entries that the process serves | on a script of the same level, source and capabilities that only reads | no: the policy decides which calls may use a runtime | no: merge and push have separate rules |
//! | the code that the command leads to can be bound | yes | yes, and each call compares what its approval binds with what was started | yes: its answer is kept until one of these files changes | no: no approval binds it | no: it stays open, and is the same for a whole service |
//! | a person reviewed its bytes, if agents can write them | no | as far as the approvals of its calls bind them | no | yes: [`SeenPart`](crate::SeenPart)s are compared by the caller, before the start | its program is never in the workspace |
//! | the pin | no: the list is compared with it later | no: each call compares its own pin | no | no | no |
//!
//! Programs of the kitchen are approved with their PRD, as words or, where a shell reads them, as a text:
//!
//! | checked | [`Worker`](StartPurpose::Worker) | [`Verification`](StartPurpose::Verification), [`Test`](StartPurpose::Test), [`Setup`](StartPurpose::Setup), [`Notification`](StartPurpose::Notification) |
//! | --- | --- | --- |
//! | the executed text was approved and has not changed | yes | yes |
//! | the words can be passed, and hold no secret | yes | yes |
//! | they are not high-risk | yes | yes, but a person approved the parts that a shell or an interpreter reads |
//! | the directory and the program exist | yes | yes |
//! | the program is the approved one; with `bind_workers` its bytes, too | yes | no: the words are approved |
//! | the policy's decision: [`decide_crew`](brigade_policy::decide_crew) | yes: workers, permissions, effects, variables | yes: shell, effects |

mod crew;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use brigade_cmdline::argv::InvalidCommand;
use brigade_cmdline::risk::{self, Risk};
use brigade_cmdline::{Argv, possible_interpreters};
use brigade_core::text::escape_terminal;
use brigade_core::{ErrorCode, Fingerprint, Place, closest};
use brigade_policy::{Blocker, Decision, refuse_inline_code};
use brigade_redact::{Redactor, is_secret_command};

use crate::facts::DirectoryFact;

pub use crew::{CrewStart, plan_crew_start};

/// The purpose of a start that is not a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StartPurpose {
    /// An MCP server lists its tools.
    List,
    /// An MCP server is kept for the calls of agents.
    Upstream,
    /// `install.check` or `version_command` of an entry finds out whether the tool is installed, and in which version.
    Check,
    /// A runtime runs until it is stopped.
    Serve,
    /// A health command checks a runtime.
    Health,
    /// A worker of the kitchen makes an attempt, reviews or decides.
    Worker,
    /// A verification command of a task.
    Verification,
    /// The test command.
    Test,
    /// The setup of a new worktree.
    Setup,
    /// A notification to a person.
    Notification,
    /// A program that Brigade starts for its own use: git, or a runtime that prints its version.
    Git,
}

/// The facts of a start, read once by the caller of [`plan_start`].
#[derive(Clone, Debug)]
pub struct StartFacts<'f> {
    /// The purpose of the start.
    pub purpose: StartPurpose,
    /// Whether the entry that names the command has errors.
    pub is_broken: bool,
    /// The command, as the entry has it.
    pub command: Option<&'f str>,
    /// The directory that the program starts in.
    pub directory: PathBuf,
    /// The state of that directory.
    pub directory_fact: DirectoryFact,
    /// The program that the first word of the command names.
    pub program: StartProgram,
    /// The home directory of the person, for messages about a path that begins with `~`.
    pub home: Option<PathBuf>,
    /// The policy's decision; absent if the policy does not apply.
    pub decision: Option<Decision>,
    /// The place of the policy's rule against code for an interpreter, if the policy makes no decision.
    pub refuses_inline_code: Option<Place>,
    /// Why the code of the command cannot be bound; empty if it can be or need not be.
    pub unbound: Vec<Blocker>,
    /// The files that the command leads to, with their sha256; empty if they are not bound.
    pub files: BTreeMap<String, Fingerprint>,
    /// Patterns of files that the entries declare as data, for a workspace that is closed to reading.
    pub data: Vec<String>,
    /// The host variables for the labels of the entry, if the policy makes no decision. Names only.
    pub bindings: BTreeMap<String, String>,
}

/// The program of a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartProgram {
    /// There is no such program on PATH or at that path.
    NotFound,
    /// It cannot be read; the text says why.
    Unreadable(String),
    /// It exists.
    Found {
        /// Its absolute path.
        path: PathBuf,
        /// The sha256 of its bytes, if they were read.
        sha256: Option<Fingerprint>,
    },
}

/// Returns a hint for a path that uses `~` like a shell, and `None` for another path. The hint has the path to write,
/// unless it is below the home of another person or `home` is unknown.
pub fn no_home(path: &str, home: Option<&Path>) -> Option<String> {
    let rest = path.strip_prefix('~')?;
    let below = rest.strip_prefix('/').or_else(|| rest.is_empty().then_some(""));
    let meant = match home.zip(below) {
        Some((home, "")) => format!("write `{}`", escape_terminal(&home.to_string_lossy())),
        Some((home, below)) => format!("write `{}`", escape_terminal(&home.join(below).to_string_lossy())),
        None => format!("write the whole path, which `echo {}` prints", escape_terminal(path)),
    };
    Some(format!("no shell expands `~`; {meant}"))
}

/// One reason why a program is not started.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Objection {
    /// The entry has errors.
    BrokenEntry,
    /// The entry has no command.
    NoCommand,
    /// The command cannot be split into words.
    NotWords(InvalidCommand),
    /// The command line is too long for the system; the text says why.
    TooLong(String),
    /// The command is high-risk.
    Risk(Risk),
    /// The command seems to contain a secret.
    Secret,
    /// The program of the command does not exist.
    ProgramNotFound {
        /// The word that names it, without secrets.
        word: String,
        /// The home directory of the person, if it is known.
        home: Option<PathBuf>,
    },
    /// The program of the command cannot be read.
    ProgramUnreadable {
        /// The word that names it, without secrets.
        word: String,
        /// The reason.
        why: String,
    },
    /// The directory does not exist.
    DirectoryMissing,
    /// The directory is outside of the workspace, and the policy does not list it.
    DirectoryOutside,
    /// The policy refuses it.
    Policy(Blocker),
    /// The code that the command leads to cannot be bound.
    Unbound(Blocker),
    /// A person has not approved the text that would be executed.
    NotApproved,
    /// The program is not the approved one.
    ProgramChanged,
    /// A file of the workspace that the command names is not the approved one.
    FileChanged(String),
}

impl Objection {
    /// Returns whether the only problem is a missing or non-executable program. Nothing was decided against the start.
    pub fn is_missing_program(&self) -> bool {
        matches!(self, Objection::ProgramNotFound { .. } | Objection::ProgramUnreadable { .. })
    }

    /// Returns the objection as the blocker of a plan. `place_of` returns where the entry has a field.
    pub fn blocker(&self, place_of: impl Fn(&str) -> Place) -> Blocker {
        let at = |field: &'static str, code: ErrorCode| {
            Blocker::new(code, self.to_string()).at(place_of(field)).field(field)
        };
        let at_command = |code| at("command", code);
        match self {
            Objection::BrokenEntry => at("id", ErrorCode::InvalidEntry),
            Objection::NoCommand => at_command(ErrorCode::MissingCommand),
            Objection::NotWords(_) => at_command(ErrorCode::InvalidCommand),
            Objection::TooLong(message) => {
                Blocker::new(ErrorCode::ArgumentsTooLong, message.clone()).field("args")
            }
            Objection::Risk(_) => at_command(ErrorCode::HighRiskCommand)
                .hint("put the steps into a reviewed script and call that"),
            Objection::Secret => at_command(ErrorCode::SecretInCatalog),
            Objection::ProgramNotFound { word, home } => {
                let create = "create it and make it executable (`chmod +x`), or name its interpreter first in `command`";
                let install = "install it, add its directory to PATH, or name its path in `command`";
                let other = if word.contains('/') { create } else { install };
                let near = || {
                    closest(word, possible_interpreters(word)).map(|near| format!("did you mean `{near}`?"))
                };
                let hint = no_home(word, home.as_deref()).or_else(near).unwrap_or_else(|| other.to_owned());
                at_command(ErrorCode::ProgramNotFound).hint(hint)
            }
            Objection::ProgramUnreadable { .. } => at_command(ErrorCode::ProgramNotFound)
                .hint("let its user read it, so that an approval can bind its bytes"),
            Objection::DirectoryMissing => at("cwd", ErrorCode::MissingCwd),
            Objection::DirectoryOutside => at("cwd", ErrorCode::PathOutside)
                .hint("list its directory under `outside` in [paths] of .brigade/tools/policy.toml"),
            Objection::Policy(blocker) | Objection::Unbound(blocker) => blocker.clone(),
            Objection::NotApproved => Blocker::new(ErrorCode::KitchenNotApproved, self.to_string()),
            Objection::ProgramChanged | Objection::FileChanged(_) => {
                at_command(ErrorCode::KitchenProgramChanged)
            }
        }
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Objection::BrokenEntry => f.write_str("the entry has errors"),
            Objection::NoCommand => f.write_str("the tool has no command"),
            Objection::NotWords(error) => write!(f, "the command cannot be split into words: {error}"),
            Objection::TooLong(message) => f.write_str(message),
            Objection::Risk(risk) => risk.fmt(f),
            Objection::Secret => f.write_str("the command holds what looks like a secret; it is not shown"),
            Objection::ProgramNotFound { word, .. } if word.contains('/') => {
                let word = escape_terminal(word);
                write!(f, "`{word}` is not an executable file")
            }
            Objection::ProgramNotFound { word, .. } => {
                let word = escape_terminal(word);
                write!(f, "the program `{word}` is not found on this host")
            }
            Objection::ProgramUnreadable { word, why } => {
                let word = escape_terminal(word);
                write!(f, "the program `{word}` cannot be read: {why}")
            }
            Objection::DirectoryMissing => f.write_str("`cwd` is not a directory in the workspace"),
            Objection::DirectoryOutside => f.write_str("`cwd` leads out of the workspace"),
            Objection::Policy(blocker) | Objection::Unbound(blocker) => f.write_str(&blocker.message),
            Objection::NotApproved => f.write_str("the PRD is not approved"),
            Objection::ProgramChanged => f.write_str("the program is not the one that was approved"),
            Objection::FileChanged(path) => {
                write!(f, "`{}` is not the file that was approved", escape_terminal(path))
            }
        }
    }
}

/// A program that may be started without being a call.
#[derive(Clone, Debug)]
pub struct VerifiedStart {
    purpose: StartPurpose,
    argv: Argv,
    program: PathBuf,
    sha256: Option<Fingerprint>,
    directory: PathBuf,
    decision: Option<Decision>,
    files: BTreeMap<String, Fingerprint>,
    data: Vec<String>,
    bindings: BTreeMap<String, String>,
}

/// Decides whether a program that is not a call may be started. Starts nothing.
///
/// # Errors
/// Returns every reason against it, in the order of the table of this module.
pub fn plan_start(facts: StartFacts<'_>) -> Result<VerifiedStart, Vec<Objection>> {
    let mut objections = Vec::new();
    if facts.is_broken {
        objections.push(Objection::BrokenEntry);
    }
    let argv = split(facts.command).map_err(|objection| objections.push(*objection)).ok();
    if let Some(argv) = &argv {
        objections.extend(too_long(argv));
        objections.extend(risks(argv, argv.words().len()));
    }
    if facts.command.is_some_and(is_secret_command) {
        objections.push(Objection::Secret);
    }
    objections.extend(directory(facts.directory_fact));
    // Without the working directory, the program was not searched.
    if let (Some(argv), DirectoryFact::Present) = (&argv, facts.directory_fact) {
        objections.extend(missing_program(argv, &facts.program, facts.home.as_deref()));
    }
    let denied = facts.decision.iter().flat_map(|decision| &decision.blockers);
    objections.extend(denied.cloned().map(Objection::Policy));
    let rule = argv.as_ref().zip(facts.refuses_inline_code.as_ref());
    objections.extend(rule.and_then(|(argv, rule)| refuse_inline_code(argv, rule)).map(Objection::Policy));
    objections.extend(facts.unbound.into_iter().map(Objection::Unbound));
    match (argv, facts.program) {
        (Some(argv), StartProgram::Found { path, sha256 }) if objections.is_empty() => Ok(VerifiedStart {
            purpose: facts.purpose,
            argv,
            program: path,
            sha256,
            directory: facts.directory,
            decision: facts.decision,
            files: facts.files,
            data: facts.data,
            bindings: facts.bindings,
        }),
        _ => Err(objections),
    }
}

impl VerifiedStart {
    /// Returns the purpose of the start.
    pub fn purpose(&self) -> StartPurpose {
        self.purpose
    }

    /// Returns the words of the command line, program first.
    pub fn argv(&self) -> &Argv {
        &self.argv
    }

    /// Returns the absolute path of the program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Returns the sha256 of the program's bytes, if they were read.
    pub fn sha256(&self) -> Option<Fingerprint> {
        self.sha256
    }

    /// Returns the files that the program was started from, with their sha256, if calls compare them.
    pub fn files(&self) -> &BTreeMap<String, Fingerprint> {
        &self.files
    }

    /// Returns the patterns of files that it may read in a workspace that is closed to reading.
    pub fn data(&self) -> &[String] {
        &self.data
    }

    /// Returns the host variables whose values it gets, by label.
    pub fn bindings(&self) -> &BTreeMap<String, String> {
        &self.bindings
    }

    /// Returns the directory that the program starts in.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the policy's decision, if the policy makes one.
    pub fn decision(&self) -> Option<&Decision> {
        self.decision.as_ref()
    }
}

/// Splits the command of an entry into words.
pub(crate) fn split(command: Option<&str>) -> Result<Argv, Box<Objection>> {
    let command = command.filter(|command| !command.is_empty()).ok_or(Objection::NoCommand)?;
    Argv::parse(command).map_err(|error| Box::new(Objection::NotWords(error)))
}

/// Lists the risks of a command line whose first `reviewed` words are in the entry.
///
/// Code for an interpreter in those words is not a risk. It is reviewed with them, and the policy decides on it.
pub(crate) fn risks(argv: &Argv, reviewed: usize) -> impl Iterator<Item = Objection> {
    let found = risk::judge(argv);
    let code: Vec<Risk> = risk::inline_code(&found, reviewed).cloned().collect();
    found.into_iter().filter(move |risk| !code.contains(risk)).map(Objection::Risk)
}

/// Lists the risks of a command line whose text a person approves, with shell syntax and inline code.
pub(crate) fn risks_of_text(argv: &Argv) -> Vec<Objection> {
    let is_text = |risk: &Risk| {
        matches!(risk, Risk::ShellText { .. } | Risk::InlineCode { .. } | Risk::StandardInput { .. })
    };
    risk::judge(argv).into_iter().filter(|risk| !is_text(risk)).map(Objection::Risk).collect()
}

/// Returns why the directory cannot be used.
pub(crate) fn directory(fact: DirectoryFact) -> Option<Objection> {
    match fact {
        DirectoryFact::Present => None,
        DirectoryFact::Missing => Some(Objection::DirectoryMissing),
        DirectoryFact::Outside => Some(Objection::DirectoryOutside),
    }
}

/// Returns why the program cannot be started.
pub(crate) fn missing_program(argv: &Argv, program: &StartProgram, home: Option<&Path>) -> Option<Objection> {
    let word = || Redactor::new(&[]).redact_str(argv.program());
    match program {
        StartProgram::Found { .. } => None,
        StartProgram::NotFound => {
            Some(Objection::ProgramNotFound { word: word(), home: home.map(Path::to_owned) })
        }
        StartProgram::Unreadable(why) => {
            Some(Objection::ProgramUnreadable { word: word(), why: why.clone() })
        }
    }
}

/// The longest word that Linux passes to a program, in bytes, without the terminating NUL.
const MAX_WORD_BYTES: usize = (128 << 10) - 1;

/// The longest command line that Linux accepts with the usual stack limit, in bytes, minus space for the environment.
const MAX_COMMAND_LINE_BYTES: usize = (2 << 20) - (256 << 10);

/// The bytes that each word takes in addition to its text: a NUL and a pointer.
const WORD_OVERHEAD: usize = 9;

/// Returns why a command line is too long: one word, or the whole line.
pub(crate) fn too_long(argv: &Argv) -> Option<Objection> {
    let words = argv.words();
    let whole: usize = words.iter().map(|word| word.len() + WORD_OVERHEAD).sum();
    let message = match words.iter().position(|word| MAX_WORD_BYTES < word.len()) {
        Some(word) => {
            format!(
                "word {} of the command line has {} bytes, and no more than {MAX_WORD_BYTES} can be passed",
                word + 1,
                words[word].len()
            )
        }
        None if MAX_COMMAND_LINE_BYTES < whole => {
            format!(
                "the command line has {whole} bytes, and no more than {MAX_COMMAND_LINE_BYTES} can be passed"
            )
        }
        None => return None,
    };
    Some(Objection::TooLong(message))
}

#[cfg(test)]
mod tests;
