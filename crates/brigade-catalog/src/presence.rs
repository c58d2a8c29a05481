//! Decides whether a tool is installed, from facts that were found without starting anything.
//!
//! [`needs`] lists the needs of a tool. A caller with access to the host answers each need, and [`presence`] evaluates
//! the answers. The result is an observation, so it is never stored in tools.toml.

use brigade_cmdline::Argv;
use brigade_core::{ErrorCode, Hint, NextStep, Timestamp, words};
use brigade_redact::Redactor;

use crate::model::{Family, Masks, ServerTransport, Tool, ToolSource, Version};

words! {
    /// Whether a tool is installed.
    ToolState {
        /// All needs are met.
        Available = "available",
        /// A need is not met.
        Missing = "missing",
        /// It is installed, but its version does not meet the requirement.
        Outdated = "outdated",
        /// It is not known without starting a program.
        Unknown = "unknown",
    }
}

/// Something that a tool needs on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// The program of the tool's command.
    Program(String),
    /// The files that its command runs.
    Script,
    /// A file that the entry names in this field.
    File {
        /// The field.
        field: &'static str,
        /// The path, as written.
        path: String,
    },
    /// A runtime and its program.
    Runtime(String),
    /// The harness that provides the tool.
    Provider(String),
    /// A program on `PATH`, according to `install.check`.
    OnPath(String),
    /// A path with this property, according to `install.check`.
    Test(PathTest, String),
    /// A condition that only a run of `install.check` can answer.
    Check,
}

/// A condition of `test` about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathTest {
    /// It may be executed: `-x`.
    Executable,
    /// It is a file: `-f`.
    File,
    /// It is a directory: `-d`.
    Directory,
}

/// The answer to a need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It exists. A program has its path.
    There(Option<String>),
    /// It is missing, with its name.
    Missing(String),
    /// A runtime is configured, but its program is missing.
    NoProgram {
        /// The program.
        program: String,
        /// The runtime.
        runtime: String,
    },
    /// The working directory of the program is missing.
    NoDirectory,
    /// A named file is outside of the directories that the entry may use.
    Outside,
    /// It exists but is disabled.
    Disabled,
    /// It is not known.
    Unknown,
}

/// The reason for a state.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// The code. Its meaning never changes.
    pub code: &'static str,
    /// The sentence.
    pub message: String,
    /// What to do.
    pub hint: Option<Hint>,
}

/// Results of a tool's check and version commands that are still valid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedPresence {
    /// Whether `install.check` succeeded.
    pub check: Option<bool>,
    /// Why a run of `install.check` gave no result.
    pub check_problem: Option<String>,
    /// The version that the tool printed.
    pub version: Option<Version>,
    /// When the version command ran.
    pub version_at: Option<Timestamp>,
    /// Why the version command gave no version.
    pub version_problem: Option<String>,
}

/// Whether a tool is installed, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Presence {
    /// The state.
    pub state: ToolState,
    /// The reasons, for a tool that is not available.
    pub reasons: Vec<Reason>,
    /// The program that was found.
    pub program: Option<String>,
    /// The version that was observed.
    pub version: Option<Version>,
    /// When it was observed.
    pub observed_at: Option<Timestamp>,
    /// Whether it meets the requirement, if that is known.
    pub satisfied: Option<bool>,
}

impl Presence {
    /// Returns it without bound values in its texts.
    #[must_use]
    pub fn masked_by(mut self, masks: &Masks) -> Presence {
        for reason in &mut self.reasons {
            masks.hide(&mut reason.message);
            reason.hint = reason.hint.take().map(|hint| hint.map_texts(|text| masks.shown(text)));
        }
        self.program.iter_mut().for_each(|program| masks.hide(program));
        self
    }

    /// Returns the presence with another reason why the tool is missing.
    #[must_use]
    pub fn without(mut self, reason: Reason) -> Presence {
        self.state = ToolState::Missing;
        self.reasons.push(reason);
        self
    }

    /// Creates the presence of a tool without any facts.
    pub fn unknown() -> Presence {
        Presence {
            state: ToolState::Unknown,
            reasons: Vec::new(),
            program: None,
            version: None,
            observed_at: None,
            satisfied: None,
        }
    }
}

impl Tool {
    /// Returns `install.check` if it must run to tell whether the tool is installed.
    pub fn check_to_run(&self) -> Option<&str> {
        let check = self.install.as_ref()?.check.as_deref().filter(|check| !check.is_empty())?;
        check_needs(check).contains(&Need::Check).then_some(check)
    }

    /// Returns whether the entry has conditions other than its files: a check, a version or a harness.
    pub fn claims_presence(&self) -> bool {
        let is_named = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        let source = self.source.as_deref();
        self.version.is_some()
            || self.install.as_ref().is_some_and(|install| is_named(&install.check))
            || match self.source() {
                Some(ToolSource::Harness) => source.is_some_and(|source| is_named(&source.provider)),
                Some(ToolSource::Skill) => {
                    !is_named(&self.source_path) && source.is_some_and(|source| is_named(&source.path))
                }
                _ => false,
            }
    }

    /// Returns the command that prints the version.
    pub fn version_to_run(&self) -> Option<&str> {
        self.version_command.as_deref().filter(|command| !command.is_empty())
    }
}

/// Lists the needs of a tool.
pub fn needs(tool: &Tool) -> Vec<Need> {
    let mut found = Vec::new();
    let named = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let detail = tool.source.as_deref();
    let program = named(&tool.command).map(|command| {
        // An invalid command line has no program.
        Need::Program(
            Argv::parse(&command).map_or_else(|_| command.clone(), |argv| argv.program().to_owned()),
        )
    });
    match tool.source() {
        Some(ToolSource::Cli) | None => found.extend(program),
        Some(ToolSource::Script) => {
            let has_program = program.is_some();
            found.extend(program);
            found.extend(has_program.then_some(Need::Script));
        }
        Some(ToolSource::Mcp) => {
            found.extend(named(&tool.runtime_id).map(Need::Runtime));
            found.extend(program);
        }
        Some(ToolSource::Skill) => {
            found.extend(program);
            let path = detail.and_then(|source| named(&source.path));
            let source = named(&tool.source_path).map(|path| Need::File { field: "source_path", path });
            found.extend(source.or(path.map(|path| Need::File { field: "source.path", path })));
        }
        Some(ToolSource::Harness) => {
            found.extend(detail.and_then(|source| named(&source.provider)).map(Need::Provider));
        }
    }
    if let Some(check) = tool.install.as_ref().and_then(|install| named(&install.check)) {
        found.extend(check_needs(&check));
    }
    found
}

/// Characters with a meaning for a shell.
const SHELL: &[char] = &['|', '&', ';', '<', '>', '(', ')', '$', '`', '*', '?', '['];

/// Translates an `install.check` of a known shape: `which X`, `command -v X`, `test -x|-f|-d P`.
fn check_needs(check: &str) -> Vec<Need> {
    let Ok(argv) = Argv::parse(check) else { return vec![Need::Check] };
    let words: Vec<&str> = argv.words().iter().map(String::as_str).collect();
    // There is no shell here, so words with shell syntax are not evaluated.
    let is_plain = |word: &&str| !word.starts_with('~') && !word.contains(SHELL);
    if !words.iter().all(is_plain) {
        return vec![Need::Check];
    }
    let is_name = |word: &&str| !word.starts_with('-');
    match words.as_slice() {
        ["which", names @ ..] | ["command", "-v", names @ ..]
            if !names.is_empty() && names.iter().all(is_name) =>
        {
            names.iter().map(|name| Need::OnPath((*name).to_owned())).collect()
        }
        ["test", test, path] => match *test {
            "-x" => vec![Need::Test(PathTest::Executable, (*path).to_owned())],
            "-f" => vec![Need::Test(PathTest::File, (*path).to_owned())],
            "-d" => vec![Need::Test(PathTest::Directory, (*path).to_owned())],
            _ => vec![Need::Check],
        },
        _ => vec![Need::Check],
    }
}

/// Decides whether a tool is installed, from the answers to all its [`needs`].
///
/// A missing need has precedence over an unsuitable version, and that over unknown needs.
pub fn presence(tool: &Tool, answers: Vec<(Need, Answer)>, observed: &ObservedPresence) -> Presence {
    let mut missing = Vec::new();
    let mut unknown = Vec::new();
    let mut program = None;
    let mut is_program_missing = false;
    let is_empty = answers.is_empty();
    for (need, answer) in answers {
        match (answer, &need) {
            (
                Answer::There(path),
                Need::Program(_) | Need::OnPath(_) | Need::Runtime(_) | Need::Provider(_),
            ) => {
                program = program.or(path);
            }
            (Answer::There(_), _) => {}
            (Answer::Missing(what), need) => {
                is_program_missing |= matches!(need, Need::Program(_));
                let reason = missing_reason(tool, need, &what);
                // A check often looks for the command's program, so the reason may be a duplicate.
                if !missing.contains(&reason) {
                    missing.push(reason);
                }
            }
            (Answer::NoProgram { program, runtime }, _) => {
                let program = Redactor::new(&[]).for_settings().redact_str(&program);
                let message =
                    format!("the program `{program}` of the runtime `{runtime}` is not found on this host");
                missing.push(Reason { hint: how_to_get(tool), ..reason("program_missing", message) });
            }
            (Answer::NoDirectory, _) => {
                is_program_missing = true;
                let message = "`cwd` is not a directory in the workspace".to_owned();
                missing.push(reason(ErrorCode::MissingCwd.as_str(), message));
            }
            (Answer::Outside, need) => {
                let field = match need {
                    Need::File { field, .. } => field,
                    Need::Program(_) => "cwd",
                    _ => "a path",
                };
                let message =
                    format!("{field} leads out of the directory in which files of the entry may be");
                missing.push(reason("path_outside", message));
            }
            (Answer::Disabled, _) => {
                missing.push(reason("runtime_disabled", "the runtime is disabled".to_owned()));
            }
            (Answer::Unknown, Need::Check) => match observed.check {
                Some(true) => {}
                Some(false) => missing.push(missing_reason(tool, &need, "")),
                None => {
                    let why = observed.check_problem.as_ref();
                    let message = why.map_or("only running its check tells it".to_owned(), |why| {
                        format!("its check tells nothing: {why}")
                    });
                    let hint = why.is_none().then(|| NextStep::RunChecks(tool.id.to_string()).into());
                    unknown.push(Reason { hint, ..reason("check_not_run", message) });
                }
            },
            (Answer::Unknown, _) => unknown.push(reason("not_seen", "it cannot be looked at".to_owned())),
        }
    }
    if is_program_missing {
        // The program of a check is not the tool's program.
        program = None;
    }
    if is_empty && !tool.is_broken && !tool.is_built_in() {
        unknown.push(reason("nothing_to_check", "the entry names nothing to look at".to_owned()));
    }
    if tool.is_broken {
        unknown.push(reason("invalid_entry", "the entry has an error".to_owned()));
    }
    let mut outdated = Vec::new();
    // A missing program has no version.
    let version = observed.version.as_ref().filter(|_| !is_program_missing);
    let satisfied = match (&tool.version, version) {
        (None, _) => None,
        (Some(_), None) if is_program_missing => None,
        (Some(required), None) => {
            let message = match &observed.version_problem {
                None => format!("its version was never observed, and {required} is required"),
                Some(why) => format!("its version is not known ({why}), and {required} is required"),
            };
            let is_askable = observed.version_problem.is_none() && tool.version_to_run().is_some();
            let hint = is_askable.then(|| NextStep::RunChecks(tool.id.to_string()).into());
            unknown.push(Reason { hint, ..reason("version_unobserved", message) });
            None
        }
        (Some(required), Some(version)) => {
            let met = required.is_met_by(version);
            match met {
                Some(true) => {}
                Some(false) => outdated.push(reason(
                    "version_outdated",
                    format!("its version is {version}, and {required} is required"),
                )),
                None => unknown.push(reason(
                    "version_not_comparable",
                    format!("its version is {version}, which cannot be compared with {required}"),
                )),
            }
            met
        }
    };
    let state = match (missing.is_empty(), outdated.is_empty(), unknown.is_empty()) {
        (false, _, _) => ToolState::Missing,
        (true, false, _) => ToolState::Outdated,
        (true, true, false) => ToolState::Unknown,
        (true, true, true) => ToolState::Available,
    };
    let mut reasons: Vec<Reason> = missing.into_iter().chain(outdated).chain(unknown).collect();
    // Messages are only shown, and may contain words of commands.
    reasons.iter_mut().for_each(|reason| tool.masks.hide(&mut reason.message));
    program.iter_mut().for_each(|program| tool.masks.hide(program));
    let observed_at = observed.version_at.filter(|_| version.is_some());
    Presence { state, reasons, program, version: version.cloned(), observed_at, satisfied }
}

fn reason(code: &'static str, message: String) -> Reason {
    Reason { code, message, hint: None }
}

fn missing_reason(tool: &Tool, need: &Need, what: &str) -> Reason {
    // The name may be a word of a command.
    let what = Redactor::new(&[]).for_settings().redact_str(what);
    let (code, message) = match need {
        Need::Program(_) | Need::OnPath(_) => {
            ("program_missing", format!("the program `{what}` is not found on this host"))
        }
        Need::Script => {
            ("script_missing", format!("the script `{what}`, which its command runs, does not exist"))
        }
        Need::File { field, .. } => ("file_missing", format!("{field} names a file that does not exist")),
        Need::Runtime(_) => ("runtime_missing", format!("the runtime `{what}` is not there")),
        Need::Provider(_) => ("provider_missing", format!("the harness `{what}` is not found on this host")),
        Need::Test(PathTest::Executable, _) => ("check_failed", format!("`{what}` is not a program")),
        Need::Test(PathTest::File, _) => ("check_failed", format!("`{what}` is not a file")),
        Need::Test(PathTest::Directory, _) => ("check_failed", format!("`{what}` is not a directory")),
        Need::Check => ("check_failed", "its check failed".to_owned()),
    };
    Reason { hint: how_to_get(tool), ..reason(code, message) }
}

/// Returns the documentation of a tool, or else the command that would install it.
fn how_to_get(tool: &Tool) -> Option<Hint> {
    let is_installable = tool.install.as_ref().is_some_and(|install| !install.command.is_empty());
    docs(tool).or_else(|| is_installable.then(|| NextStep::InstallTool(tool.id.to_string()).into()))
}

/// Returns the documentation of a tool, without secrets.
pub fn docs(tool: &Tool) -> Option<Hint> {
    let docs = tool.install.as_ref()?.docs.as_deref().filter(|docs| !docs.is_empty())?;
    Some(format!("see {}", Redactor::new(&[]).redact_str(docs)).into())
}

words! {
    /// What runs a tool.
    RunsIn {
        /// Brigade, through the queue.
        Brigade = "brigade",
        /// Only an agent's program.
        Harness = "harness",
    }
}

impl Tool {
    /// Returns whether the entry is a server on the network. It is only listed, and never runs.
    pub fn is_remote(&self) -> bool {
        let transport = self.source.as_deref().and_then(|source| source.transport);
        let has_runtime = self.runtime_id.as_ref().is_some_and(|id| !id.is_empty());
        matches!(transport, Some(ServerTransport::Http | ServerTransport::Sse)) && !has_runtime
    }

    /// Returns what runs the tool, if anything does.
    pub fn runs_in(&self) -> Option<RunsIn> {
        match (self.family?, self.source()) {
            (Family::Mcp, _) if self.is_remote() => None,
            (Family::Script | Family::Mcp, _) => Some(RunsIn::Brigade),
            (_, Some(ToolSource::Skill | ToolSource::Harness)) => Some(RunsIn::Harness),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalog, Level};

    fn tool(fields: &str) -> Tool {
        let text = format!("[[tool]]\nid = 't'\nname = 'T'\n{fields}\n");
        let catalog = Catalog::parse("tools.toml", Level::Project, text.as_bytes());
        assert!(catalog.is_valid(), "{:?}", catalog.issues());
        catalog.tools()[0].clone()
    }

    const CLI: &str = "family = 'script'\ncommand = 'yq -P'\nsource = { kind = 'cli' }";

    #[track_caller]
    fn check_needs_of(fields: &str, expect: &[Need]) {
        assert_eq!(needs(&tool(fields)), expect, "{fields}");
    }

    #[test]
    fn what_a_tool_needs_follows_from_its_source() {
        let program = |word: &str| Need::Program(word.to_owned());
        check_needs_of(CLI, &[program("yq")]);
        check_needs_of("family = 'script'\ncommand = './run.sh'", &[program("./run.sh"), Need::Script]);
        check_needs_of("family = 'script'", &[]);
        check_needs_of(
            "family = 'mcp'\nruntime_id = 'voice'\ncommand = 'npx x'",
            &[Need::Runtime("voice".to_owned()), program("npx")],
        );
        let file = |field, path: &str| Need::File { field, path: path.to_owned() };
        check_needs_of("family = 'skill'\nsource_path = 'a.md'", &[file("source_path", "a.md")]);
        check_needs_of("family = 'skill'\nsource = { path = 'b.md' }", &[file("source.path", "b.md")]);
        check_needs_of(
            "family = 'custom'\nsource = { kind = 'harness', provider = 'claude' }",
            &[Need::Provider("claude".to_owned())],
        );
    }

    #[test]
    fn known_checks_are_answered_without_a_run() {
        let all = |check: &str| {
            let mut needs = needs(&tool(&format!("{CLI}\ninstall = {{ check = \"{check}\" }}")));
            needs.remove(0);
            needs
        };
        let on_path = |name: &str| Need::OnPath(name.to_owned());
        assert_eq!(all("which yq"), [on_path("yq")]);
        assert_eq!(all("command -v yq"), [on_path("yq")]);
        assert_eq!(all("which yq jq"), [on_path("yq"), on_path("jq")]);
        assert_eq!(all("test -x bin/yq"), [Need::Test(PathTest::Executable, "bin/yq".to_owned())]);
        assert_eq!(all("test -d '/opt/a b'"), [Need::Test(PathTest::Directory, "/opt/a b".to_owned())]);
        let for_a_shell = ["which yq >/dev/null", "which yq || which jq", "test -d ~/x", "test -f $HOME/x"];
        for other in for_a_shell {
            assert_eq!(all(other), [Need::Check], "{other}");
        }
        for other in ["which -s yq", "which", "test -e x", "yq --version", "test -f a b"] {
            assert_eq!(all(other), [Need::Check], "{other}");
        }
    }

    #[track_caller]
    fn check(fields: &str, answer: Answer, version: Option<&str>, state: ToolState, codes: &[&str]) {
        let tool = tool(fields);
        let answers = needs(&tool).into_iter().map(|need| (need, answer.clone())).collect();
        let version = version.map(|version| version.parse().unwrap());
        let found = presence(&tool, answers, &ObservedPresence { version, ..ObservedPresence::default() });
        let reasons: Vec<_> = found.reasons.iter().map(|reason| reason.code).collect();
        assert_eq!((found.state, reasons.as_slice()), (state, codes), "{fields}");
    }

    #[test]
    fn the_state_follows_from_the_answers() {
        let there = || Answer::There(Some("/bin/yq".to_owned()));
        let missing = || Answer::Missing("yq".to_owned());
        check(CLI, there(), None, ToolState::Available, &[]);
        check(CLI, missing(), None, ToolState::Missing, &["program_missing"]);
        check(CLI, Answer::NoDirectory, Some("4"), ToolState::Missing, &["missing_cwd"]);
        let no_program = Answer::NoProgram { program: "yq".to_owned(), runtime: "r".to_owned() };
        let server = "family = 'mcp'\nruntime_id = 'r'";
        check(server, no_program, None, ToolState::Missing, &["program_missing"]);
        check(server, Answer::Missing("r".to_owned()), None, ToolState::Missing, &["runtime_missing"]);
        check("family = 'openapi'", there(), None, ToolState::Unknown, &["nothing_to_check"]);
        let version = format!("{CLI}\nversion = '>=4, <5'");
        check(&version, there(), None, ToolState::Unknown, &["version_unobserved"]);
        check(&version, there(), Some("4.1"), ToolState::Available, &[]);
        check(&version, there(), Some("3.9"), ToolState::Outdated, &["version_outdated"]);
        check(&version, there(), Some("5-rc1"), ToolState::Unknown, &["version_not_comparable"]);
        check(&version, missing(), Some("3.9"), ToolState::Missing, &["program_missing"]);
        check(&version, missing(), None, ToolState::Missing, &["program_missing"]);
        let twice = format!("{CLI}\ninstall = {{ check = 'which yq' }}");
        check(&twice, missing(), None, ToolState::Missing, &["program_missing"]);
        let checked = format!("{CLI}\ninstall = {{ check = 'yq --version' }}");
        check(&checked, Answer::Unknown, None, ToolState::Unknown, &["not_seen", "check_not_run"]);
    }

    #[test]
    fn no_reason_shows_a_secret() {
        let secret = "hunter2CANARY";
        let fields = format!(
            "family = 'script'\ncommand = 'TOKEN={secret} npx'\n\
             install = {{ check = 'test -d https://u:{secret}@h/x', docs = 'https://u:{secret}@h/d' }}"
        );
        let tool = tool(&fields);
        let missing = |need: Need| {
            let what = match &need {
                Need::Program(word) | Need::Test(_, word) => word.clone(),
                _ => String::new(),
            };
            (need, Answer::Missing(what))
        };
        let found =
            presence(&tool, needs(&tool).into_iter().map(missing).collect(), &ObservedPresence::default());
        assert!(2 <= found.reasons.len(), "{found:?}");
        for reason in &found.reasons {
            let hint = reason.hint.as_ref().map(ToString::to_string).unwrap_or_default();
            assert!(!reason.message.contains(secret) && !hint.contains(secret), "{reason:?}");
        }
    }

    #[test]
    fn what_was_started_and_told_nothing_says_why() {
        let tool = tool(&format!("{CLI}\nversion = '4'\ninstall = {{ check = 'yq --version' }}"));
        let why = |text: &str| Some(text.to_owned());
        let observed = ObservedPresence {
            check_problem: why("no time"),
            version_problem: why("exit code 3"),
            ..ObservedPresence::default()
        };
        let answers = vec![(Need::Check, Answer::Unknown)];
        let found = presence(&tool, answers, &observed);
        let said: Vec<_> = found.reasons.iter().map(|reason| reason.message.as_str()).collect();
        assert_eq!(
            said,
            ["its check tells nothing: no time", "its version is not known (exit code 3), and 4 is required"]
        );
        assert_eq!((tool.check_to_run(), tool.version_to_run()), (Some("yq --version"), None));
    }

    #[test]
    fn a_check_that_was_run_is_believed() {
        let tool = tool(&format!("{CLI}\ninstall = {{ check = 'yq --version', docs = 'https://x' }}"));
        let state = |check| {
            let answers = vec![
                (Need::Program("yq".to_owned()), Answer::There(Some("/bin/yq".to_owned()))),
                (Need::Check, Answer::Unknown),
            ];
            presence(&tool, answers, &ObservedPresence { check, ..ObservedPresence::default() })
        };
        assert_eq!(state(None).state, ToolState::Unknown);
        assert_eq!(state(Some(true)).state, ToolState::Available);
        assert_eq!(state(Some(true)).program.as_deref(), Some("/bin/yq"));
        assert_eq!(state(Some(false)).state, ToolState::Missing);
        assert_eq!(state(Some(false)).reasons[0].hint, Some("see https://x".into()));
    }

    #[test]
    fn a_reason_says_what_to_do() {
        let hints = |fields: &str, answer: Answer| {
            let tool = tool(fields);
            let answers = needs(&tool).into_iter().map(|need| (need, answer.clone())).collect();
            let found = presence(&tool, answers, &ObservedPresence::default());
            let hint = |reason: Reason| (reason.code, reason.hint.map(|hint| hint.to_string()));
            found.reasons.into_iter().map(hint).collect::<Vec<_>>()
        };
        let told = |code, hint: &str| (code, Some(hint.to_owned()));
        let missing = || Answer::Missing("yq".to_owned());
        assert_eq!(hints(CLI, missing()), [("program_missing", None)]);
        let install = format!("{CLI}\ninstall = {{ command = 'pip install yq' }}");
        assert_eq!(hints(&install, missing()), [told("program_missing", "install-tool:t")]);
        let documented = format!("{CLI}\ninstall = {{ command = 'pip install yq', docs = 'https://x' }}");
        assert_eq!(hints(&documented, missing()), [told("program_missing", "see https://x")]);
        let there = || Answer::There(None);
        let version = format!("{CLI}\nversion = '4'\nversion_command = 'yq --version'");
        assert_eq!(hints(&version, there()), [told("version_unobserved", "run-checks:t")]);
        let checked = "family = 'openapi'\ninstall = { check = 'yq --version' }";
        assert_eq!(hints(checked, Answer::Unknown), [told("check_not_run", "run-checks:t")]);
        let skill = "family = 'skill'\nsource_path = '../x.md'";
        assert_eq!(hints(skill, Answer::Outside), [("path_outside", None)]);
    }

    #[test]
    fn only_scripts_and_mcp_tools_run_in_brigade() {
        assert_eq!(tool(CLI).runs_in(), Some(RunsIn::Brigade));
        assert_eq!(tool("family = 'mcp'").runs_in(), Some(RunsIn::Brigade));
        assert_eq!(tool("family = 'mcp'\nsource = { transport = 'http' }").runs_in(), None);
        assert_eq!(tool("family = 'slash-command'").runs_in(), Some(RunsIn::Harness));
        assert_eq!(tool("family = 'custom'\nsource = { kind = 'harness' }").runs_in(), Some(RunsIn::Harness));
        assert_eq!(tool("family = 'custom'").runs_in(), None);
        assert_eq!(tool("family = 'graphql'").runs_in(), None);
    }
}
