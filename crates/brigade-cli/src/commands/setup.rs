//! `brigade setup`

use brigade::daily::{SetupChoice, SetupGrant};
use brigade::report::{SetupLevel, SetupState};
use brigade::{Error, ErrorKind, Exit, Onboarding};
use clap::{Args, ValueEnum};

use crate::output::Output;
use crate::render::setup_steps::{show_changes, show_found, show_tools};
use crate::session::Session;

/// Put the agent programs and servers of this machine behind the gateway
///
/// Looks which programs and servers are here, and asks which to govern. Starts the chosen servers in the sandbox to
/// list their tools. Then shows every change of a file: catalog, policy with a rule for reads, one agent per program,
/// and the entries in the files of the programs. Nothing is written before the last yes. Running it again starts only
/// new servers, and adds all that is missing. Without a terminal, it needs --yes or --dry-run.
#[derive(Args, Debug)]
pub(crate) struct SetupArgs {
    /// Agent programs to connect, such as claude,codex; all or none [default: all]
    #[arg(long, value_name = "PROGRAM,…", value_delimiter = ',')]
    agents: Option<Vec<String>>,

    /// Servers to put behind the gateway, such as git,time; all or none [default: all]
    #[arg(long, value_name = "SERVER,…", value_delimiter = ',')]
    servers: Option<Vec<String>>,

    #[command(flatten)]
    step: StepArgs,

    /// Set up one gateway for all projects of the user, in the directory brigade/gateway of the user's configuration
    #[arg(long)]
    user: bool,

    /// Set up this project, without asking
    #[arg(long, conflicts_with = "user")]
    project: bool,

    /// Take back what was written
    #[arg(long, conflicts_with_all = ["agents", "servers", "enable", "reads"])]
    undo: bool,
}

/// Options of commands that add servers.
#[derive(Args, Debug)]
pub(super) struct StepArgs {
    /// Which tools to enable: all whose effects their server states, those that only read, or none
    #[arg(long, value_name = "all|reads|none", value_enum, hide_possible_values = true)]
    enable: Option<GrantWord>,

    /// Let servers read this directory, too; may be repeated
    #[arg(long, value_name = "DIR")]
    reads: Vec<String>,

    /// Do not ask
    #[arg(long)]
    yes: bool,

    /// Show what would be written, without writing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum GrantWord {
    All,
    Reads,
    None,
}

impl GrantWord {
    const fn meaning(self) -> SetupGrant {
        match self {
            GrantWord::All => SetupGrant::All,
            GrantWord::Reads => SetupGrant::Reads,
            GrantWord::None => SetupGrant::None,
        }
    }
}

/// Whether a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asking {
    Person,
    Agreed,
    Proposal,
}

impl StepArgs {
    /// Returns whether a person is asked. Fails without a person, unless the options say what to do.
    pub(super) fn asking(&self, session: &Session<'_>, output: &Output<'_, '_>) -> Result<Asking, Error> {
        match (self.dry_run, self.yes) {
            (true, _) => Ok(Asking::Proposal),
            (false, true) => Ok(Asking::Agreed),
            (false, false) if output.may_ask(session.surroundings) => Ok(Asking::Person),
            (false, false) => Err(Output::no_person_error()),
        }
    }

    pub(super) fn reads(&self) -> Vec<String> {
        self.reads.clone()
    }
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &SetupArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let asking = arguments.step.asking(session, output)?;
    let level = level(session, arguments, asking, output)?;
    let workspace = match level {
        SetupLevel::Project => session.workspace_to_run()?,
        SetupLevel::User => session.workspace_of_user()?,
    };
    let onboarding = workspace.onboarding(level);
    let exit = match arguments.undo {
        true => undo(&onboarding, asking, output),
        false => add_all(&onboarding, arguments, asking, output),
    };
    if level == SetupLevel::User {
        workspace.remove_if_empty();
    }
    exit
}

/// Returns what is set up, and asks if nothing says it.
fn level(
    session: &Session<'_>,
    arguments: &SetupArgs,
    asking: Asking,
    output: &mut Output<'_, '_>,
) -> Result<SetupLevel, Error> {
    let is_said = arguments.project || arguments.undo || session.has_target();
    match (arguments.user, asking) {
        (true, _) => return Ok(SetupLevel::User),
        (false, Asking::Person) if !is_said => {}
        (false, _) => return Ok(SetupLevel::Project),
    }
    let workspace = session.workspace()?;
    let place = workspace.root().display();
    let question = format!("Set up the project {place}, or the user for all projects?");
    ask_until(&question, "project", output, |answer| match answer {
        "project" | "p" => Ok(SetupLevel::Project),
        "user" | "u" => Ok(SetupLevel::User),
        _ => Err(not_understood(answer, "project or user")),
    })
}

fn add_all(
    onboarding: &Onboarding,
    arguments: &SetupArgs,
    asking: Asking,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let found = onboarding.look()?;
    if asking == Asking::Person {
        output.show(|page| show_found(&found, page));
    }
    let programs: Vec<&str> = found.programs.iter().map(|row| row.program.as_str()).collect();
    let programs =
        chosen("agent programs", &programs, &[], &programs, arguments.agents.as_deref(), asking, output)?;
    // The catalog alone has the others.
    let of_programs = || found.servers.iter().filter(|row| !row.programs.is_empty());
    let sources: Vec<&str> = of_programs().map(|row| row.source.as_str()).collect();
    let names: Vec<&str> = of_programs().map(|row| row.name.as_str()).collect();
    let is_usual =
        |row: &&brigade::report::SetupServer| row.state == SetupState::Known || row.detail.is_none();
    let usual: Vec<&str> = of_programs().filter(is_usual).map(|row| row.source.as_str()).collect();
    let option = arguments.servers.as_deref();
    let servers = chosen("servers", &sources, &names, &usual, option, asking, output)?;
    if asking != Asking::Person && option.is_none() {
        let is_left = |row: &&brigade::report::SetupServer| {
            row.state != SetupState::Known
                && !servers.iter().any(|name| *name == row.source || *name == row.name)
        };
        for (row, why) in of_programs().filter(is_left).filter_map(|row| Some((row, row.detail.as_ref()?))) {
            output.note(&format!("`{}` is left out: {why}", row.source));
        }
    }
    let is_new = |name: &String| {
        let known = found.servers.iter().find(|row| row.source == *name || row.name == *name);
        known.is_none_or(|row| row.state != SetupState::Known)
    };
    let count = servers.iter().filter(|name| is_new(name)).count();
    if asking == Asking::Person && 0 < count {
        let noun = if count == 1 { "this server" } else { "these servers" };
        let place = if onboarding.is_confined() { " in the sandbox" } else { "" };
        let downloads = |row: &brigade::report::SetupServer| {
            row.downloads && servers.iter().any(|name| *name == row.source || *name == row.name)
        };
        let network = if found.servers.iter().any(downloads) {
            " Those of npx, uvx and similar programs download their package, and get the network for it."
        } else {
            ""
        };
        let question = format!("Start {noun}{place}, to list the tools?{network}");
        if !matches!(output.ask(&question, "yes")?.to_lowercase().as_str(), "y" | "yes") {
            output.note("nothing was written");
            return Ok(Exit::Refused);
        }
    }
    let reads = arguments.step.reads();
    let choice = SetupChoice { programs, servers, reads, ..SetupChoice::default() };
    propose(onboarding, &choice, &arguments.step, asking, output)
}

/// Prepares the changes, shows them, asks, and writes them.
pub(super) fn propose(
    onboarding: &Onboarding,
    choice: &SetupChoice,
    step: &StepArgs,
    asking: Asking,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let mut show_name = |name: &str| {
        if asking == Asking::Person {
            output.note(&format!("starting {name}"));
        }
        output.show_progress(&format!("starting {name}"));
    };
    let mut staged = onboarding.begin(choice, &mut show_name)?;
    let has_tools = staged.report().servers.iter().any(|server| !server.tools.is_empty());
    if asking == Asking::Person {
        output.show(|page| show_tools(staged.report(), page));
    }
    let grant = match (step.enable, asking) {
        (Some(word), _) => word.meaning(),
        (None, Asking::Person) if has_tools => {
            let question = "Enable all of them, only those that read, or none?";
            ask_until(question, "all", output, |answer| {
                let word = GrantWord::from_str(answer, true);
                Ok(word.map_err(|_| not_understood(answer, "all, reads or none"))?.meaning())
            })?
        }
        (None, _) => SetupGrant::All,
    };
    staged.grant(grant)?;
    if asking == Asking::Proposal {
        return Ok(output.finish(staged.propose()));
    }
    if staged.report().change_count == 0 {
        return Ok(output.finish(staged.report().clone()));
    }
    if asking == Asking::Person {
        output.show(|page| show_changes(staged.report(), page));
        if !output.agree("Write these changes?") {
            output.note("nothing was written");
            return Ok(Exit::Refused);
        }
    }
    let mut report = staged.write()?;
    if asking == Asking::Person {
        // The notes were above the question.
        report.notes.clear();
    }
    Ok(output.finish(report))
}

fn undo(onboarding: &Onboarding, asking: Asking, output: &mut Output<'_, '_>) -> Result<Exit, Error> {
    let undo = onboarding.undo()?;
    if asking == Asking::Proposal || undo.report().change_count == 0 {
        return Ok(output.finish(undo.propose()));
    }
    if asking == Asking::Person {
        output.show(|page| show_changes(undo.report(), page));
        if !output.agree("Take these changes back?") {
            output.note("nothing was changed");
            return Ok(Exit::Refused);
        }
    }
    Ok(output.finish(undo.write()?))
}

/// Returns the chosen names: those of an option, those that a person types by name or number, or the usual ones.
///
/// `names` are other names of what is in `all`.
fn chosen(
    what: &str,
    all: &[&str],
    names: &[&str],
    usual: &[&str],
    option: Option<&[String]>,
    asking: Asking,
    output: &mut Output<'_, '_>,
) -> Result<Vec<String>, Error> {
    match (option, asking) {
        (Some(words), _) => picked(words.iter().map(String::as_str), all, usual),
        (None, Asking::Person) if !all.is_empty() => {
            let question = format!("Which {what}? Names or numbers, all, or none");
            ask_until(&question, "all", output, |answer| {
                let words = picked(answer.split([',', ' ']), all, usual)?;
                match words.iter().find(|word| !all.iter().chain(names).any(|known| known == word)) {
                    Some(word) => Err(not_understood(word, "names or numbers of the table")),
                    None => Ok(words),
                }
            })
        }
        (None, _) => picked(["all"], all, usual),
    }
}

/// Returns the names that words stand for.
fn picked<'w>(
    words: impl IntoIterator<Item = &'w str>,
    all: &[&str],
    usual: &[&str],
) -> Result<Vec<String>, Error> {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let words: Vec<&str> = words.into_iter().map(str::trim).filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        ["all"] => return Ok(owned(usual)),
        [] | ["none"] => return Ok(Vec::new()),
        _ => {}
    }
    let named = |word: &&str| match word.parse::<usize>() {
        Ok(number) if !all.contains(word) => {
            let at = number.checked_sub(1).and_then(|at| all.get(at));
            at.map(|name| (*name).to_owned()).ok_or_else(|| not_understood(word, "a number of the table"))
        }
        _ => Ok((*word).to_owned()),
    };
    words.iter().map(named).collect()
}

/// Asks until the answer is understood.
fn ask_until<T>(
    question: &str,
    usual: &str,
    output: &mut Output<'_, '_>,
    read: impl Fn(&str) -> Result<T, Error>,
) -> Result<T, Error> {
    loop {
        match read(&output.ask(question, usual)?) {
            Ok(value) => return Ok(value),
            Err(error) => {
                let hints = error.hints().iter().map(|hint| format!("; {hint}"));
                output.note(&format!("{error}{}", hints.collect::<String>()));
            }
        }
    }
}

fn not_understood(answer: &str, expected: &str) -> Error {
    let message = format!("`{}` is not an answer", brigade::core::text::escape_terminal(answer));
    Error::new(ErrorKind::Usage, message).hint(format!("type {expected}"))
}
