//! The facts of a plan, read once by the caller of [`plan`](crate::plan()).

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use brigade_access::builtin::{Fact, Guards};
use brigade_catalog::Tool;
use brigade_cmdline::Argv;
use brigade_core::{ConfigIssue, Fingerprint, Json, JsonError};
use brigade_policy::{Blocker, Decision, PolicyDecision, ShellUse};
use brigade_projection::ProjectionSummary;
use brigade_redact::SecretValue;
use brigade_schema::{Schema, SchemaProblem};

use crate::binding::{Caller, ProgramBinding};
use crate::code::CodeFacts;
use crate::receipt::RuntimeStatus;
use crate::session::CallSession;

/// Everything that determines a call and whether it may run.
#[derive(Clone, Debug)]
pub struct PlanFacts<'f> {
    /// The tool.
    pub tool: &'f Tool,
    /// The entry that is installed, if the call is an installation. Then `tool` is the [script that installs
    /// it](Tool::installation).
    pub installs: Option<&'f Tool>,
    /// The workspace.
    pub root: PathBuf,
    /// The errors in the tool's entry; one makes the tool unusable.
    pub entry_errors: Vec<&'f ConfigIssue>,
    /// The unknown keys of the entry that probably mean a field that it lacks, by that field.
    pub misspelt: BTreeMap<&'static str, &'f ConfigIssue>,
    /// The arguments, or why they could not be read.
    pub args: Result<Json, ArgsProblem>,
    /// The input schema.
    pub input_schema: SchemaFact,
    /// The file whose path is most like that of a missing input schema.
    pub near_schema: Option<String>,
    /// The output schema's file.
    pub output_schema: FileFact,
    /// The file of examples.
    pub examples: FileFact,
    /// The source file.
    pub source: FileFact,
    /// The directory that the program starts in.
    pub directory: DirectoryFact,
    /// The working directory, if links resolve it to another directory than the entry names.
    pub real_directory: Option<String>,
    /// Other paths of the entry, by their field, that lead out of the workspace.
    pub outside: Vec<String>,
    /// The program.
    pub program: ProgramFact,
    /// The home directory of the person, for messages about a path that begins with `~`.
    pub home: Option<PathBuf>,
    /// The workspace files that a word of the command names, by their path in the workspace.
    pub files: BTreeMap<String, Fingerprint>,
    /// What binds these files, and how the command chooses its code.
    pub code: CodeFacts,
    /// The command lines with each program replaced by the name of the file that its links lead to.
    pub behind_links: Vec<Argv>,
    /// The files that the health command of the required runtime executes, by a name for people.
    pub health: BTreeMap<String, Fingerprint>,
    /// The server's listing of an MCP tool, as far as it is known.
    pub pin: PinFact,
    /// The process that makes the call, if it is kept for many calls. `decision` is then the one about this process.
    pub server: Option<ServerFact>,
    /// The tool's projections.
    pub projections: ProjectionFacts,
    /// The policy's decision.
    pub decision: Decision,
    /// The decision as reports and records show it.
    pub policy: PolicyDecision,
    /// The bound values of the tool's labels, which no argument may contain.
    pub bound_values: Vec<SecretValue>,
    /// Other paths to the workspace that arguments may use, through links.
    pub ways: BTreeSet<PathBuf>,
    /// Paths in a workspace closed to reading that arguments name, that are next to bound code, and that do not exist.
    pub absent: BTreeSet<String>,
    /// The modules that bound code would load from directories that arguments name in a closed workspace.
    pub modules: BTreeSet<String>,
    /// The facts for a built-in tool. Absent for every other tool.
    pub builtin: Option<BuiltinFacts>,
    /// The caller.
    pub caller: Caller,
    /// The agent's session in which the call is requested.
    pub session: Option<CallSession>,
}

/// Facts for calls of a built-in tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuiltinFacts {
    /// Facts that the tool needs and that do not hold here.
    pub missing: Vec<Fact>,
    /// Which paths stay closed.
    pub guards: Guards,
    /// Patterns of the repositories that may be reached.
    pub git_urls: Vec<String>,
    /// Hosts whose pages may be fetched.
    pub web_domains: Vec<String>,
    /// Whether a shell may read commands.
    pub shell: ShellUse,
    /// The things other than files that the arguments name.
    pub named: NamedThings,
}

/// The things other than files that the arguments of a built-in tool name, in their current state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedThings {
    /// Each thing, with a fingerprint of its content. An approval binds it.
    pub things: BTreeMap<String, Fingerprint>,
    /// Reasons against the call because of the state of these things.
    pub against: Vec<Blocker>,
    /// Why no rule approves the call, because of the state of these things.
    pub for_person: Option<String>,
}

/// Why the arguments could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgsProblem {
    /// They were given both inline and in a file.
    GivenTwice,
    /// The file cannot be read.
    Unreadable {
        /// The file and the reason.
        why: String,
        /// The file that was probably intended, if there is one.
        meant: Option<String>,
    },
    /// They are not JSON.
    NotJson {
        /// The file, if they come from one. Without file and text, they come from standard input.
        file: Option<String>,
        /// The problem and its position.
        error: JsonError,
        /// The text, if it was typed.
        text: Option<String>,
    },
}

/// A file that the tool's entry names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileFact {
    /// The entry names no file.
    NotNamed,
    /// The file does not exist.
    Missing,
    /// It cannot be read; the text says why.
    Unreadable(String),
    /// The path leads out of the workspace and the policy does not list it.
    Outside,
    /// The sha256 of its bytes.
    Present(Fingerprint),
}

impl FileFact {
    /// Returns the sha256 of an existing file.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        match self {
            FileFact::Present(fingerprint) => Some(*fingerprint),
            FileFact::NotNamed | FileFact::Missing | FileFact::Unreadable(_) | FileFact::Outside => None,
        }
    }
}

/// The input schema that the tool's entry names.
#[derive(Clone, Debug)]
pub enum SchemaFact {
    /// The file is missing or cannot be read.
    File(FileFact),
    /// It is not JSON.
    NotJson(JsonError),
    /// It is not a schema of objects.
    Unsound(Vec<SchemaProblem>),
    /// It can be used.
    Sound {
        /// The compiled schema.
        schema: Arc<Schema>,
        /// The sha256 of its bytes.
        fingerprint: Fingerprint,
    },
}

impl SchemaFact {
    /// Returns the sha256 of a schema that can be used.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        if let SchemaFact::Sound { fingerprint, .. } = self { Some(*fingerprint) } else { None }
    }

    /// Returns the message that no arguments are checked, and why, if the schema cannot be judged on this machine.
    pub fn unchecked(&self) -> Option<String> {
        self.schema().and_then(Schema::arguments_not_checked)
    }

    /// Returns the schema, when it can be used.
    pub fn schema(&self) -> Option<&Schema> {
        if let SchemaFact::Sound { schema, .. } = self { Some(schema) } else { None }
    }
}

/// The directory that a program starts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryFact {
    /// It exists.
    Present,
    /// It does not exist, or is not a directory.
    Missing,
    /// It is outside of the workspace and the policy does not list it.
    Outside,
}

/// The program that the tool's command names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramFact {
    /// The family is not executed, so no program was searched.
    NotExecuted,
    /// There is no such program on PATH or at that path.
    NotFound,
    /// It cannot be read; the text says why.
    Unreadable(String),
    /// Its path and bytes.
    Found(ProgramBinding),
}

/// The server's listing of an MCP tool, as the fingerprint of name, description and input schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PinFact {
    /// The tool is not an MCP tool, or was never used.
    #[default]
    None,
    /// It is pinned and unchanged.
    Pinned(Fingerprint),
    /// The last listing of its server differs from the pin. An approval accepts the change.
    Changed(Fingerprint),
}

impl PinFact {
    /// Returns what an approval binds.
    pub fn fingerprint(self) -> Option<Fingerprint> {
        match self {
            PinFact::None => None,
            PinFact::Pinned(fingerprint) | PinFact::Changed(fingerprint) => Some(fingerprint),
        }
    }
}

/// The effects and data for which a kept server process is opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerFact {
    /// The entries that it serves. Shared, because they may be many and every plan has them.
    pub tools: Arc<BTreeSet<String>>,
    /// Their effects.
    pub effects: Arc<BTreeSet<String>>,
    /// Patterns of the data that the other entries declare and the called one does not.
    pub data: Arc<BTreeSet<String>>,
}

impl ServerFact {
    /// Returns what an approval binds.
    pub fn fingerprint(&self) -> Fingerprint {
        let fingerprint = Fingerprint::builder("brigade.server.v1").list("effects", self.effects.iter());
        // Approvals from before data was bound stay valid if only the called entry has data.
        match self.data.is_empty() {
            true => fingerprint.finish(),
            false => fingerprint.list("data", self.data.iter()).finish(),
        }
    }

    /// Returns the patterns of the data that a process may read: those of the called entry, and of all others that it
    /// serves. The order does not depend on which of them is called.
    pub fn all_data(server: Option<&ServerFact>, own: &[String]) -> Vec<String> {
        match server {
            None => own.to_vec(),
            Some(server) => {
                server.data.iter().chain(own).cloned().collect::<BTreeSet<_>>().into_iter().collect()
            }
        }
    }
}

/// The projections of the tool, as far as a call needs them.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectionFacts {
    /// Counts and places, as records hold them.
    pub summary: ProjectionSummary,
    /// Why the projections block the call.
    pub blockers: Vec<Blocker>,
    /// The part that an approval binds.
    pub fingerprint: Fingerprint,
}

/// The required runtime of a call, checked right before a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RuntimeFact {
    /// The call needs no runtime.
    NotNeeded,
    /// It is running, managed and healthy; as shown in receipts.
    Ready(Box<RuntimeStatus>),
    /// It cannot serve the call.
    NotReady(Vec<Blocker>),
}
