//! What an approval binds, and what has changed since.
//!
//! | input | bound by |
//! | --- | --- |
//! | arguments as given and as rendered | `args` |
//! | catalog fields that say how the tool is called, its schemas and examples | `contract` |
//! | the tool's source file | `source` |
//! | targets, statuses and bodies of its projections | `projections` |
//! | whether there is a policy and what it decides for this call | `policy` |
//! | the program's path and bytes | `program` |
//! | files that a word of `command` names, that `code` of the entry matches, and that earlier runs used as code | `files` |
//! | the version of the rule that fills `files`: an approval by an older version is void | `version` |
//! | where links lead on the way to `cwd` | `directory` |
//! | the server's listing of an MCP tool: as pinned, or with the changes that the approval showed | `pin` |
//! | effects and data of all entries that one kept server process serves, for a call of an agent; their code is in `files` | `server` |
//! | the caller | `caller` |
//! | the session that the call acts on, and the directory that its paths are relative to | `session` |
//! | other things that arguments of a built-in tool name: manifests, a question, a worker and its files | `named` |
//! | the workspace files that the health command of the required runtime executes | `named` |

use std::collections::BTreeMap;
use std::fmt;

use brigade_core::{ErrorCode, Fingerprint, FingerprintBuilder};
use brigade_macros::part;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The caller that requests a call: the command line, an agent, or a program that embeds Brigade.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Caller {
    /// A person or program at the command line.
    CommandLine,
    /// A program that embeds the library, by the name it gives itself.
    Program(String),
    /// An agent that uses the gateway, by its name in the configuration. The connection decides which agent it is.
    Agent(String),
    /// A caller that this version does not know, kept as written.
    Unknown(String),
}

impl Caller {
    /// Returns the word in records.
    pub fn as_record(&self) -> String {
        match self {
            Caller::CommandLine => "command-line".to_owned(),
            Caller::Program(name) => format!("program:{name}"),
            Caller::Agent(name) => format!("agent:{name}"),
            Caller::Unknown(word) => word.clone(),
        }
    }

    /// Returns the name for people: the agent, or `you` at the command line.
    pub fn for_people(&self) -> String {
        match self {
            Caller::CommandLine => "you".to_owned(),
            Caller::Agent(name) => name.clone(),
            Caller::Program(_) | Caller::Unknown(_) => self.as_record(),
        }
    }

    /// Parses the word of a record. Older records have none; they came from the command line.
    pub fn from_record(word: Option<&str>) -> Caller {
        match word {
            None | Some("command-line") => Caller::CommandLine,
            Some(word) => match word.split_once(':') {
                Some(("program", name)) => Caller::Program(name.to_owned()),
                Some(("agent", name)) => Caller::Agent(name.to_owned()),
                _ => Caller::Unknown(word.to_owned()),
            },
        }
    }
}

impl Caller {
    /// Returns whether calls of this caller count as duplicates of calls of the other one. Agents see only their own
    /// calls.
    pub fn shares_calls_with(&self, other: &Caller) -> bool {
        self == other || self.agent().is_none() && other.agent().is_none()
    }

    /// Returns the name of the agent, if it is one.
    pub fn agent(&self) -> Option<&str> {
        match self {
            Caller::Agent(name) => Some(name),
            Caller::CommandLine | Caller::Program(_) | Caller::Unknown(_) => None,
        }
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&brigade_core::text::escape_terminal(&self.as_record()))
    }
}

impl Serialize for Caller {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.as_record())
    }
}

impl<'de> Deserialize<'de> for Caller {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Caller, D::Error> {
        Ok(Caller::from_record(Some(&String::deserialize(deserializer)?)))
    }
}

/// The program that a call runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ProgramBinding {
    /// Its resolved path; relative to the workspace when it is inside.
    pub path: String,
    /// The sha256 of its bytes.
    pub sha256: Fingerprint,
}

/// Everything that an approval binds.
#[part(PartialEq, Eq)]
pub struct Binding {
    /// The version of the rule that filled `files`; absent in approvals from before rules had versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The arguments, as given and as rendered.
    pub args: Fingerprint,
    /// The contract in the catalog.
    pub contract: Fingerprint,
    /// The sha256 of the source file, or the catalog's replacement for it; empty without either.
    pub source: String,
    /// The projections.
    pub projections: Fingerprint,
    /// The policy's decision.
    pub policy: Fingerprint,
    /// The program; absent for families that are not executed.
    pub program: Option<ProgramBinding>,
    /// The bound files, by their path in the workspace, or an absolute one.
    pub files: BTreeMap<String, Fingerprint>,
    /// The bound files that are bound only because earlier runs used them as code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learned: Vec<String>,
    /// The working directory, if links resolve it to another directory than the entry names.
    pub directory: Option<String>,
    /// The server's listing of an MCP tool. Absent for other tools, and before the first use pins the tool.
    pub pin: Option<Fingerprint>,
    /// The effects and data for which the process of a kept server is opened. Absent for calls that start their own
    /// process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Fingerprint>,
    /// Who asked.
    #[cfg_attr(feature = "schemas", schemars(with = "String"))]
    pub caller: Caller,
    /// The parts of the caller's session that affect the call. Absent if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Fingerprint>,
    /// Other things that the arguments of a built-in tool name, and the files of the health command of the required
    /// runtime, each with a fingerprint.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub named: BTreeMap<String, Fingerprint>,
}

/// A bound input that has changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The arguments.
    Args,
    /// The contract.
    Contract,
    /// The source file.
    Source,
    /// The projections.
    Projections,
    /// The policy's decision.
    Policy,
    /// The path that the program resolves to.
    ProgramPath,
    /// The bytes of the program.
    ProgramBytes,
    /// A workspace file that the command names: changed, added or gone.
    File(String),
    /// A thing other than a file that an argument of a built-in tool names: changed, added or gone.
    Named(String),
    /// The target of links on the path of the working directory.
    Directory,
    /// The code in the workspace that would be executed. Which part changed is unknown.
    Code,
    /// The server's listing of the MCP tool.
    Pin,
    /// The effects and data for which the process of a kept server is opened.
    Server,
    /// The caller.
    Caller,
    /// The session that the call acts on, or the directory that its paths are relative to.
    Session,
    /// The approval's own record.
    Approval,
    /// Everything, because an approval of v0.30 bound nothing.
    NothingBound,
    /// The rule that fills the bound files, because the approval is from an earlier version.
    Rule,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Change::Args => "args",
            Change::Contract => "contract",
            Change::Source => "source",
            Change::Projections => "projections",
            Change::Policy => "policy",
            Change::ProgramPath => "program path",
            Change::ProgramBytes => "program bytes",
            Change::File(path) => return write!(f, "file {}", brigade_core::text::escape_terminal(path)),
            Change::Named(name) => return f.write_str(&brigade_core::text::escape_terminal(name)),
            Change::Directory => "folder that cwd leads to",
            Change::Code => "program or a file that the command names",
            Change::Pin => "tool as its server lists it",
            Change::Server => "what the server's process may do",
            Change::Caller => "caller",
            Change::Session => "session",
            Change::Approval => "approval record",
            Change::NothingBound => "Brigade v0.30 approved it, which bound nothing",
            Change::Rule => "approved by an earlier version, which bound other files",
        })
    }
}

impl Change {
    /// Returns the stable code of this change, as in `changed_source`.
    pub fn code(&self) -> ErrorCode {
        match self {
            Change::Args => ErrorCode::ChangedArgs,
            Change::Contract => ErrorCode::ChangedContract,
            Change::Source => ErrorCode::ChangedSource,
            Change::Projections => ErrorCode::ChangedProjections,
            Change::Policy => ErrorCode::ChangedPolicy,
            Change::ProgramPath | Change::ProgramBytes => ErrorCode::ChangedProgram,
            Change::File(_) => ErrorCode::ChangedFile,
            Change::Named(_) => ErrorCode::ChangedNamed,
            Change::Directory => ErrorCode::ChangedDirectory,
            Change::Code => ErrorCode::ChangedProgram,
            Change::Pin => ErrorCode::ChangedPin,
            Change::Server => ErrorCode::ChangedServer,
            Change::Caller => ErrorCode::ChangedCaller,
            Change::Session => ErrorCode::ChangedSession,
            Change::Approval | Change::NothingBound | Change::Rule => ErrorCode::ChangedApproval,
        }
    }
}

/// The version of the rule that fills [`Binding::files`]. A rule that binds other files gets the next number.
pub const RULE_VERSION: u64 = 2;

impl Binding {
    /// Creates a binding with the inputs that every call has. Add the others to its members.
    /// ```
    /// use brigade_call::{Binding, Caller};
    /// use brigade_core::Fingerprint;
    ///
    /// let mark = Fingerprint::of_bytes(b"example");
    /// let mut binding = Binding::new(mark, mark, mark, mark, Caller::CommandLine);
    /// binding.files.insert("bin/run".to_owned(), mark);
    /// ```
    pub fn new(
        args: Fingerprint,
        contract: Fingerprint,
        projections: Fingerprint,
        policy: Fingerprint,
        caller: Caller,
    ) -> Binding {
        Binding {
            version: Some(RULE_VERSION),
            args,
            contract,
            source: String::new(),
            projections,
            policy,
            program: None,
            files: BTreeMap::new(),
            learned: Vec::new(),
            directory: None,
            pin: None,
            server: None,
            caller,
            session: None,
            named: BTreeMap::new(),
        }
    }

    /// Lists everything in `now` that differs from what was bound, in a stable order.
    ///
    /// An approval from before the first use of an MCP tool accepts whatever that use pins.
    pub fn changes(&self, now: &Binding) -> Vec<Change> {
        if self.version != now.version {
            return vec![Change::Rule];
        }
        let mut found = Vec::new();
        let mut differs = |differs: bool, change: Change| {
            if differs {
                found.push(change);
            }
        };
        differs(self.args != now.args, Change::Args);
        differs(self.contract != now.contract, Change::Contract);
        differs(self.source != now.source, Change::Source);
        differs(self.projections != now.projections, Change::Projections);
        differs(self.policy != now.policy, Change::Policy);
        let path = |program: &Option<ProgramBinding>| program.as_ref().map(|program| program.path.clone());
        let bytes = |program: &Option<ProgramBinding>| program.as_ref().map(|program| program.sha256);
        differs(path(&self.program) != path(&now.program), Change::ProgramPath);
        differs(bytes(&self.program) != bytes(&now.program), Change::ProgramBytes);
        let names: std::collections::BTreeSet<&String> = self.files.keys().chain(now.files.keys()).collect();
        for name in names {
            differs(self.files.get(name) != now.files.get(name), Change::File(name.clone()));
        }
        let names: std::collections::BTreeSet<&String> = self.named.keys().chain(now.named.keys()).collect();
        for name in names {
            differs(self.named.get(name) != now.named.get(name), Change::Named(name.clone()));
        }
        differs(self.directory != now.directory, Change::Directory);
        differs(self.pin.is_some() && self.pin != now.pin, Change::Pin);
        differs(self.server != now.server, Change::Server);
        differs(self.caller != now.caller, Change::Caller);
        differs(self.session != now.session, Change::Session);
        found
    }

    /// Returns one fingerprint of everything that is bound.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut fingerprint = Fingerprint::builder("brigade.binding.v1")
            .fingerprint("args", self.args)
            .fingerprint("contract", self.contract)
            .text("source", self.source.as_str())
            .fingerprint("projections", self.projections)
            .fingerprint("policy", self.policy)
            .text("program", self.program.as_ref().map(|program| program.path.as_str()))
            .fingerprint("program_sha256", self.program.as_ref().map(|program| program.sha256))
            .table("files", self.files.iter().map(|(path, sha256)| (path, sha256.to_hex())))
            .text("caller", self.caller.as_record().as_str());
        // Approvals of earlier versions keep their fingerprint, so that the reason why they are void can be shown.
        if let Some(version) = self.version {
            fingerprint = fingerprint.text("version", version.to_string().as_str());
        }
        if self.directory.is_some() {
            fingerprint = fingerprint.text("directory", self.directory.as_deref());
        }
        // Approvals from before pins existed stay valid.
        if self.pin.is_some() {
            fingerprint = fingerprint.fingerprint("pin", self.pin);
        }
        if self.server.is_some() {
            fingerprint = fingerprint.fingerprint("server", self.server);
        }
        if self.session.is_some() {
            fingerprint = fingerprint.fingerprint("session", self.session);
        }
        if !self.named.is_empty() {
            fingerprint =
                fingerprint.table("named", self.named.iter().map(|(name, what)| (name, what.to_hex())));
        }
        fingerprint.finish()
    }

    /// Returns the fingerprint of what is the same on every host of a team.
    ///
    /// Together with the [host part](Binding::host_part), it covers everything that is bound.
    pub fn shared_part(&self) -> Fingerprint {
        self.part("brigade.shared-part.v1", false)
            .fingerprint("args", self.args)
            .fingerprint("contract", self.contract)
            .text("source", self.source.as_str())
            .fingerprint("projections", self.projections)
            .text("version", self.version.map(|version| version.to_string()).as_deref())
            .text("directory", self.directory.as_deref())
            .text("caller", self.caller.as_record().as_str())
            .fingerprint("session", self.session)
            .table("named", self.named.iter().map(|(name, what)| (name, what.to_hex())))
            .finish()
    }

    /// Returns the fingerprint of what may differ between the hosts of a team: programs and code outside of the
    /// workspace, the pin, and the decision of the host's policy.
    pub fn host_part(&self) -> Fingerprint {
        self.part("brigade.host-part.v1", true)
            .fingerprint("policy", self.policy)
            .fingerprint("pin", self.pin)
            .fingerprint("server", self.server)
            .finish()
    }

    /// Starts the fingerprint of a part with its programs and files, which are outside of the workspace or in it.
    fn part(&self, domain: &str, is_outside: bool) -> FingerprintBuilder {
        let belongs = |path: &str| path.starts_with('/') == is_outside;
        let program = self.program.as_ref().filter(|program| belongs(&program.path));
        let files = self.files.iter().filter(|(path, _)| belongs(path));
        Fingerprint::builder(domain)
            .text("program", program.map(|program| program.path.as_str()))
            .fingerprint("program_sha256", program.map(|program| program.sha256))
            .table("files", files.map(|(path, sha256)| (path, sha256.to_hex())))
    }

    /// Returns one fingerprint of the workspace code that would be executed and of its working directory.
    ///
    /// Programs on `PATH` are left out, because the caller and the approver may have different ones.
    pub fn code_fingerprint(&self) -> Fingerprint {
        let program = self.program.as_ref().filter(|program| !program.path.starts_with('/'));
        let files = self.files.iter().filter(|(path, _)| !path.starts_with('/'));
        Fingerprint::builder("brigade.code.v1")
            .text("program", program.map(|program| program.path.as_str()))
            .fingerprint("program_sha256", program.map(|program| program.sha256))
            .table("files", files.map(|(path, sha256)| (path, sha256.to_hex())))
            .text("directory", self.directory.as_deref())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use brigade_core::Json;
    use brigade_core::json::{from_json, to_json};

    use super::*;

    fn binding() -> Binding {
        let mark = |text: &str| Fingerprint::of_bytes(text.as_bytes());
        Binding {
            version: Some(RULE_VERSION),
            args: mark("args"),
            contract: mark("contract"),
            source: mark("source").to_hex(),
            projections: mark("projections"),
            policy: mark("policy"),
            program: Some(ProgramBinding { path: "/bin/sh".into(), sha256: mark("sh") }),
            files: BTreeMap::from([("bin/a.sh".to_owned(), mark("a"))]),
            learned: Vec::new(),
            directory: Some("real".to_owned()),
            pin: Some(mark("pin")),
            server: Some(mark("server")),
            caller: Caller::CommandLine,
            session: Some(mark("session")),
            named: BTreeMap::from([("workflow ship 1.0.0".to_owned(), mark("ship"))]),
        }
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut Binding), expect: &[Change]) {
        let before = binding();
        let mut after = binding();
        change(&mut after);
        assert_eq!(before.changes(&after), expect);
        assert_eq!(before.fingerprint() == after.fingerprint(), expect.is_empty());
        let parts = |binding: &Binding| (binding.shared_part(), binding.host_part());
        assert_eq!(parts(&before) == parts(&after), expect.is_empty(), "the parts cover everything");
    }

    #[test]
    fn each_bound_input_is_seen_and_named() {
        let other = Fingerprint::of_bytes(b"other");
        check(|_| (), &[]);
        check(|binding| binding.args = other, &[Change::Args]);
        check(|binding| binding.contract = other, &[Change::Contract]);
        check(|binding| binding.source.clear(), &[Change::Source]);
        check(|binding| binding.projections = other, &[Change::Projections]);
        check(|binding| binding.policy = other, &[Change::Policy]);
        check(|binding| binding.program.as_mut().unwrap().path = "/tmp/sh".into(), &[Change::ProgramPath]);
        check(|binding| binding.program.as_mut().unwrap().sha256 = other, &[Change::ProgramBytes]);
        check(|binding| binding.program = None, &[Change::ProgramPath, Change::ProgramBytes]);
        check(|binding| binding.files.clear(), &[Change::File("bin/a.sh".into())]);
        check(|binding| binding.files.extend([("b".to_owned(), other)]), &[Change::File("b".into())]);
        check(|binding| binding.named.clear(), &[Change::Named("workflow ship 1.0.0".into())]);
        check(|binding| binding.named.extend([("c".to_owned(), other)]), &[Change::Named("c".into())]);
        check(|binding| binding.directory = Some("else".to_owned()), &[Change::Directory]);
        check(|binding| binding.directory = None, &[Change::Directory]);
        check(|binding| binding.pin = Some(other), &[Change::Pin]);
        check(|binding| binding.pin = None, &[Change::Pin]);
        check(|binding| binding.server = Some(other), &[Change::Server]);
        check(|binding| binding.server = None, &[Change::Server]);
        check(|binding| binding.caller = Caller::Program("x".into()), &[Change::Caller]);
        check(|binding| binding.session = Some(other), &[Change::Session]);
        check(|binding| binding.session = None, &[Change::Session]);
        check(|binding| binding.version = None, &[Change::Rule]);
    }

    #[test]
    fn every_caller_reads_back() {
        for word in
            ["command-line", "program:", "program:x", "agent:", "agent:x", "someone-else", "other:x", ""]
        {
            assert_eq!(Caller::from_record(Some(word)).as_record(), word);
        }
        assert_eq!(Caller::from_record(None), Caller::CommandLine);
        assert_ne!(Caller::from_record(Some("someone-else")), Caller::CommandLine);
    }

    #[test]
    fn an_approval_before_the_first_use_accepts_its_pin() {
        let before = Binding { pin: None, ..binding() };
        assert_eq!(before.changes(&binding()), []);
        assert_ne!(before.fingerprint(), binding().fingerprint());
    }

    #[test]
    fn a_binding_reads_back() {
        let older = Binding {
            pin: None,
            directory: None,
            server: None,
            session: None,
            named: BTreeMap::new(),
            ..binding()
        };
        for binding in [binding(), older.clone()] {
            assert_eq!(from_json(&to_json(&binding).unwrap()), Ok(binding));
        }
        let Json::Object(mut record) = to_json(&older).unwrap() else { unreachable!() };
        record.remove("pin");
        record.remove("directory");
        assert_eq!(from_json(&Json::Object(record)), Ok(older));
    }

    #[test]
    fn the_fingerprint_of_the_code_is_of_nothing_else() {
        let elsewhere = Binding { args: Fingerprint::of_bytes(b"other"), pin: None, ..binding() };
        assert_eq!(elsewhere.code_fingerprint(), binding().code_fingerprint());
        let changed = Binding { files: BTreeMap::new(), ..binding() };
        assert_ne!(changed.code_fingerprint(), binding().code_fingerprint());
    }
}
