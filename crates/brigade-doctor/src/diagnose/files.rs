//! Diagnoses the files and the program of a tool.

use std::path::Path;
use std::time::Duration;

use brigade_call::{DirectoryFact, ProgramFact, no_home, undeclared_code};
use brigade_catalog::{Availability, Tool, ToolSource};
use brigade_cmdline::argv::Argv;
use brigade_cmdline::risk::{self, Risk};
use brigade_cmdline::{ChosenCode, chooses_code, path_of_process, possible_interpreters};
use brigade_core::text::short;
use brigade_core::{NextStep, Place, Timestamp, closest};
use brigade_policy::Blocker;
use brigade_redact::{MARK, looks_secret_value};

use super::contract::{file, meaning, of_path};
use crate::{Issue, IssueType, McpProblem, ToolFiles, ToolState};

/// Words that a shell reads as operators. Other programs rarely have them as arguments.
const SHELL_WORDS: [&str; 8] = ["|", "||", "&", "&&", ";", ">", ">>", "<"];

/// How old a health summary may be.
const HEALTH_MAX_AGE: Duration = Duration::from_secs(48 * 60 * 60);

pub(super) fn files(tool: &Tool, files: &ToolFiles, now: Timestamp, found: &mut Vec<Issue>) {
    outside(tool, files, found);
    if files.directory == DirectoryFact::Missing {
        let issue = Issue::of_tool(IssueType::MissingCwd, tool, "cwd", "cwd is not a directory");
        found.push(issue.evidence(of_path("missing", tool.cwd.as_deref())));
    }
    // The source file of a skill is the skill itself, so it must exist.
    if !may_be_missing(tool) || tool.source() != Some(ToolSource::Skill) {
        let issue = file(IssueType::MissingSource, tool, "source_path", &tool.source_path, &files.source);
        found.extend(issue.map(|issue| match tool.source() {
            Some(ToolSource::Skill) => by_installing(tool, issue),
            _ => issue,
        }));
    }
    found.extend(file(
        IssueType::MissingManifest,
        tool,
        "manifest_path",
        &tool.manifest_path,
        &files.manifest,
    ));
    found.extend(file(IssueType::MissingSchema, tool, "schema_path", &tool.schema_path, &files.schema));
    if let Some(error) = &files.schema_error {
        let path = tool.schema_path.as_deref().unwrap_or_default();
        let detail = format!("schema_path is not JSON: {error}");
        let issue = Issue::of_tool(IssueType::InvalidSchema, tool, "schema_path", detail);
        let evidence = of_path(&error.to_string(), Some(path));
        found.push(issue.evidence(evidence).at(Place::at(path, error.line, error.column)));
    }
    if let Some(error) = &files.mcp_error {
        let (field, path) = mcp_document(tool);
        let detail = format!("{field} describes an MCP server and is not JSON: {error}");
        let issue = Issue::of_tool(IssueType::InvalidSchema, tool, field, detail);
        let evidence = of_path(&error.to_string(), Some(path));
        found.push(issue.evidence(evidence).at(Place::at(path, error.line, error.column)));
    }
    found.extend(file(IssueType::MissingHealth, tool, "health_path", &tool.health_path, &files.health));
    if let Some(modified) = files.health_modified.filter(|modified| HEALTH_MAX_AGE < now.since(*modified)) {
        let detail = format!("health_path was last written at {modified}");
        found.push(Issue::of_tool(IssueType::StaleHealth, tool, "health_path", detail));
    }
}

fn outside(tool: &Tool, files: &ToolFiles, found: &mut Vec<Issue>) {
    for field in files.leading_out() {
        let detail = format!("{field} leads out of the workspace");
        found.push(Issue::of_tool(IssueType::PathOutside, tool, field, detail).subject(field));
    }
}

/// Lists the problems of the command. `is_code_refused` means that the policy reports code for an interpreter.
/// `is_open` means that runs may read the workspace.
pub(super) fn command(
    state: &ToolState<'_>,
    files: &ToolFiles,
    is_code_refused: bool,
    is_open: &dyn Fn() -> bool,
    read: &mut Option<CommandRead>,
    found: &mut Vec<Issue>,
) {
    let tool = state.tool;
    let check = tool.install.as_ref().and_then(|install| install.check.as_deref());
    for (field, line) in [("install.check", check), ("version_command", tool.version_command.as_deref())] {
        let Some(argv) = line.and_then(|line| Argv::parse(line).ok()) else { continue };
        let of_shell = shell_words_in(&argv, &Risks::new(&argv, Ending::from_tool(tool)), None, state.home);
        let issue = |detail| Issue::of_tool(IssueType::ShellWords, tool, field, detail).subject(field);
        found.extend(of_shell.map(issue));
    }
    let Some(command) = tool.command.as_deref().filter(|command| !command.is_empty()) else { return };
    let argv = match Argv::parse(command) {
        Ok(argv) => argv,
        Err(error) => {
            let detail = format!("command cannot be split into words: {error}");
            found.push(
                Issue::of_tool(IssueType::MissingCommand, tool, "command", detail).evidence("unparsable"),
            );
            return;
        }
    };
    match &files.program {
        ProgramFact::NotFound if may_be_missing(tool) => {}
        ProgramFact::NotFound => {
            let detail = not_found(argv.program(), state.home);
            let issue = Issue::of_tool(IssueType::MissingCommand, tool, "command", detail)
                .evidence(of_path("not found", Some(argv.program())));
            found.push(by_installing(tool, issue));
        }
        ProgramFact::Unreadable(why) => {
            let detail = format!("the program `{}` cannot be read: {why}", shown(argv.program()));
            found.push(
                Issue::of_tool(IssueType::MissingCommand, tool, "command", detail).evidence("unreadable"),
            );
        }
        ProgramFact::NotExecuted | ProgramFact::Found(_) => {}
    }
    if let Some(script) = files.missing_script.as_ref().filter(|_| !may_be_missing(tool)) {
        let detail = format!(
            "the script `{}`, which the command runs, does not exist{}",
            shown(script),
            for_a_shell(script, state.home)
        );
        let detail = meaning(detail, files.near_script.as_deref());
        let issue = Issue::of_tool(IssueType::MissingCommand, tool, "command", detail);
        let issue = issue.subject("script").evidence(of_path("not found", Some(script)));
        found.push(by_installing(tool, issue));
    }
    let CommandRead { of_process, chosen, risks, .. } =
        CommandRead::again(read, command, tool.cwd.as_deref(), Ending::from_tool(tool), &argv);
    if let Some(word) = of_process {
        let detail = format!("command: `{}` names another file in each process", shown(word));
        found.push(Issue::of_tool(IssueType::CodeNotBound, tool, "command", detail).subject("code"));
    }
    if let Some(chosen) =
        chosen.as_ref().filter(|_| tool.is_executable() && tool.code.is_empty() && is_open())
    {
        let detail = undeclared_code(chosen);
        found.push(Issue::of_tool(IssueType::UndeclaredCode, tool, "command", detail).subject("code"));
    }
    let of_shell = shell_words_in(&argv, risks, files.missing_script.as_deref(), state.home);
    found.extend(of_shell.map(|detail| Issue::of_tool(IssueType::ShellWords, tool, "command", detail)));
    found.extend(risks.high.as_ref().map(|(detail, evidence)| {
        Issue::of_tool(IssueType::HighRiskCommand, tool, "command", format!("command: {detail}"))
            .evidence(evidence.clone())
    }));
    found.extend(
        risks.code.as_ref().filter(|_| !is_code_refused).map(|detail| {
            Issue::of_tool(IssueType::InlineCode, tool, "command", format!("command: {detail}"))
        }),
    );
}

/// Returns the message that a word of a tool's command has a meaning only for a shell, which never reads it.
///
/// `None` if there is no such word, if a blocker already says so, or if the command is refused because it hides what it
/// runs.
pub fn shell_words(tool: &Tool, said: &[Blocker], home: Option<&Path>) -> Option<String> {
    let argv = Argv::parse(tool.command.as_deref()?).ok()?;
    let detail = shell_words_in(&argv, &Risks::new(&argv, Ending::from_tool(tool)), None, home)?;
    let hints = said.iter().filter_map(|blocker| blocker.hint.as_ref());
    let is_said = hints.map(ToString::to_string).any(|hint| detail.ends_with(&hint));
    (!is_said).then(|| format!("{}: {detail}", tool.id))
}

/// `said` is a word that another issue names.
fn shell_words_in(argv: &Argv, risks: &Risks, said: Option<&str>, home: Option<&Path>) -> Option<String> {
    let is_path_of_home = |word: &str| word.starts_with("~/") || word.contains("=~/");
    let is_for_a_shell = |word: &&String| SHELL_WORDS.contains(&word.as_str()) || is_path_of_home(word);
    let word = argv.args().iter().filter(|word| said != Some(word.as_str())).find(is_for_a_shell)?;
    let [program, shown_word] = [argv.program(), word].map(shown);
    let detail = || {
        let what = format!("no shell reads the command, so `{shown_word}` is an argument of `{program}`");
        match word.split('=').find_map(|path| no_home(&shown(path), home)) {
            Some(hint) if is_path_of_home(word) => format!("{what}: {hint}"),
            _ => what,
        }
    };
    risks.high.is_none().then(detail)
}

/// Returns the message that a program was not found, with a hint if its path is for a shell.
pub(super) fn not_found(program: &str, home: Option<&Path>) -> String {
    let detail =
        format!("the program `{}` is not found on this host{}", shown(program), for_a_shell(program, home));
    meaning(detail, closest(program, possible_interpreters(program)))
}

/// Returns the hint for a path that only a shell resolves; empty for other paths.
fn for_a_shell(path: &str, home: Option<&Path>) -> String {
    no_home(path, home).map(|hint| format!(": {hint}")).unwrap_or_default()
}

/// Makes the installation of a tool the fix for its absence, if its entry has one.
pub(super) fn by_installing(tool: &Tool, issue: Issue) -> Issue {
    match tool.installable() {
        Some(_) => Issue { other_fix: Some(NextStep::InstallTool(tool.id.to_string())), ..issue },
        None => issue,
    }
}

/// Returns whether the author expects that the tool is missing on some hosts.
pub(super) fn may_be_missing(tool: &Tool) -> bool {
    tool.availability == Some(Availability::Conditional)
}

/// Returns a name from a command or a file for display: short, and without what looks like a secret.
pub(super) fn shown(name: &str) -> String {
    if looks_secret_value(name).is_some() { MARK.to_owned() } else { short(name, 60) }
}

/// Whether the arguments of a call will follow the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Complete,
    ArgumentsFollow,
}

impl Ending {
    fn from_tool(tool: &Tool) -> Ending {
        if tool.argument_template.is_empty() { Ending::Complete } else { Ending::ArgumentsFollow }
    }
}

/// The findings about the words of a tool's command. Tools of one server are adjacent and have the same command, so the
/// last findings are kept.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CommandRead {
    command: String,
    directory: String,
    ending: Ending,
    of_process: Option<String>,
    chosen: Option<ChosenCode>,
    risks: Risks,
}

impl CommandRead {
    /// Judges a command, or returns the last findings if the command is the same.
    fn again<'r>(
        last: &'r mut Option<CommandRead>,
        command: &str,
        directory: Option<&str>,
        ending: Ending,
        argv: &Argv,
    ) -> &'r CommandRead {
        let directory = directory.filter(|directory| *directory != ".").unwrap_or_default();
        let is_same = |last: &CommandRead| {
            last.command == command && last.ending == ending && last.directory == directory
        };
        if last.as_ref().is_some_and(|last| !is_same(last)) {
            *last = None;
        }
        last.get_or_insert_with(|| {
            let of_process = path_of_process(argv).map(str::to_owned);
            let (chosen, risks) = (chooses_code(argv, directory.as_ref()), Risks::new(argv, ending));
            let (command, directory) = (command.to_owned(), directory.to_owned());
            CommandRead { command, directory, ending, of_process, chosen, risks }
        })
    }
}

/// What a command line hides or contains.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Risks {
    /// Hidden parts: for people, and as codes.
    pub(super) high: Option<(String, String)>,
    /// The inline code for an interpreter, for people.
    pub(super) code: Option<String>,
}

impl Risks {
    /// Judges a complete command line.
    pub(super) fn of_complete(argv: &Argv) -> Risks {
        Risks::new(argv, Ending::Complete)
    }

    /// A shell without a script is allowed if the script may be an argument.
    fn new(argv: &Argv, ending: Ending) -> Risks {
        let risks = risk::judge(argv);
        let mut code: Vec<&Risk> = risk::inline_code(&risks, argv.words().len()).collect();
        let is_hidden = |risk: &&Risk| {
            !code.contains(risk)
                && (ending == Ending::Complete || !matches!(risk, Risk::StandardInput { .. }))
        };
        let hidden: Vec<&Risk> = risks.iter().filter(is_hidden).collect();
        code.truncate(1);
        let codes = || hidden.iter().map(|risk| risk.code()).collect::<Vec<_>>().join(" ");
        Risks {
            high: (!hidden.is_empty()).then(|| (sentences(&hidden), codes())),
            code: (!code.is_empty()).then(|| sentences(&code)),
        }
    }
}

fn sentences(risks: &[&Risk]) -> String {
    risks.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

pub(super) fn mcp_servers(tool: &Tool, files: &ToolFiles, found: &mut Vec<Issue>) {
    let (field, _) = mcp_document(tool);
    for server in &files.mcp_servers {
        for problem in &server.problems {
            let id = shown(&server.id);
            let (kind, detail) = match problem {
                McpProblem::Invalid => {
                    (IssueType::InvalidMcpServer, format!("server {id} is not a valid entry"))
                }
                McpProblem::MissingCommand => {
                    (IssueType::MissingCommand, format!("server {id} has no command"))
                }
                McpProblem::HighRisk(risks) => {
                    (IssueType::HighRiskCommand, format!("server {id}: {}", risks.join("; ")))
                }
                McpProblem::MissingTimeout => {
                    (IssueType::MissingTimeout, format!("server {id} has no timeout"))
                }
            };
            found.push(Issue::of_tool(kind, tool, field, detail).subject(format!("server {id}")));
        }
    }
}

/// Returns the field that names the MCP configuration of an MCP tool, and its value.
fn mcp_document(tool: &Tool) -> (&'static str, &str) {
    let fields = [("manifest_path", &tool.manifest_path), ("schema_path", &tool.schema_path)];
    let mut named = fields.into_iter().filter_map(|(field, path)| Some((field, path.as_deref()?)));
    named
        .find(|(_, path)| !path.is_empty())
        .unwrap_or(("source_path", tool.source_path.as_deref().unwrap_or_default()))
}
