//! Calls of built-in tools that start a program: makes the entry, and checks commands of agents against profiles.

use std::path::{Path, PathBuf};

use brigade_access::builtin::{
    COMMAND, FORGE_LABELS, PathProblem, SCREENSHOT, SEARCH, command_entry, entry, forge_entry, is_of_forge,
    is_of_issues, may_start_a_program, provided_entry, relative,
};
use brigade_access::{LimitViolation, Rights, SameWords, SearchSource, ToolTraits, files_root, lane_of};
use brigade_call::{Caller, shell_blocker};
use brigade_catalog::Tool;
use brigade_cmdline::{Argv, Program, Role, find_program, only_reads, risk};
use brigade_core::Json;
use brigade_fs::{FileKind, Location};
use brigade_policy::Blocker;

use crate::config::Config;
use crate::host::Host;
use crate::searched_files::is_program;

/// The argument that names the command.
const ARGUMENT: &str = "command";

impl Config {
    /// Makes the entry of a call that runs a command or is answered by a configured program. `None` for other calls.
    ///
    /// The command may read, and have the effects that the agent's context grants and `within` contains. It runs in
    /// `root`, the directory that the paths of the session are relative to.
    pub fn command(
        &self,
        host: &Host<'_>,
        id: &str,
        args: &Json,
        caller: &Caller,
        within: Option<&[String]>,
        root: Option<&str>,
    ) -> Option<Tool> {
        let row = entry(id.trim()).filter(|_| may_start_a_program(id))?;
        if is_of_forge(id.trim()) {
            let work = |id| host.names?.lane(host, id);
            let lane = args.get("laneId").and_then(Json::as_str).and_then(work);
            let bound = self.policy.policy().map(|policy| &policy.env_bindings);
            let is_bound = |label: &&&str| {
                bound.is_some_and(|bound| bound.keys().any(|known| known.as_str() == **label))
            };
            let labels = FORGE_LABELS.iter().filter(is_bound).map(|label| (*label).to_owned());
            return forge_entry(id.trim(), args, self.forge()?, lane.as_ref(), labels.collect());
        }
        if id.trim() != COMMAND {
            let (program, env) = self.provider(host, id.trim())?;
            return provided_entry(id, program, env);
        }
        let granted =
            self.rights(host, caller).map(|rights| rights.granted_effects(&ToolTraits::from_tool(row)));
        let mut granted = granted.unwrap_or_default();
        granted.retain(|effect| within.is_none_or(|within| within.contains(effect)));
        let most = self.policy.policy().and_then(|policy| policy.max_timeout.as_ref()).map(|most| most.value);
        let files = files_root(host.fs.root(), root);
        let tool = command_entry(id, args, &files.display().to_string(), &granted, most)?;
        let Some(root) = root else { return Some(tool) };
        let cwd = tool.cwd.as_ref().map_or_else(|| root.to_owned(), |cwd| format!("{root}/{cwd}"));
        Some(Tool { cwd: Some(cwd), ..tool })
    }

    /// Returns the program that reaches the forge of pull requests. `None` for the forge of this workspace.
    pub(crate) fn forge(&self) -> Option<&Argv> {
        Some(&self.policy.policy()?.forge.as_ref()?.value)
    }

    /// Returns the program that the configuration names for a tool, and the names of variables that it needs.
    fn provider<'c>(&'c self, host: &Host<'_>, id: &str) -> Option<(&'c Argv, &'c [String])> {
        match id {
            SEARCH => match &self.gateway(host)?.search.as_ref()?.source {
                SearchSource::Command(program) => Some((program, &[])),
                SearchSource::Folder(_) => None,
            },
            SCREENSHOT => Some((&self.policy.policy()?.capture.as_ref()?.value, &[])),
            id if is_of_issues(id) => {
                let tracker = self.gateway(host)?.issues.as_ref()?;
                Some((&tracker.command, &tracker.env))
            }
            _ => None,
        }
    }

    /// Returns the rights of the calling agent, from the files. `None` for other callers.
    fn rights(&self, host: &Host<'_>, caller: &Caller) -> Option<Rights> {
        let agents = self.agents(host)?;
        let agent = agents.gateway.agent(caller.agent()?)?;
        Rights::new(&agents.profiles, agent, &[]).ok()
    }

    /// Returns why the profiles of the calling agent do not allow the command of an entry made for its call.
    pub(crate) fn command_outside(&self, host: &Host<'_>, tool: &Tool, caller: &Caller) -> Option<Blocker> {
        if tool.id != COMMAND || caller.agent().is_none() {
            return None;
        }
        match self.rights(host, caller) {
            Some(rights) => outside(host, &rights, tool),
            None => Some(Blocker::new(LimitViolation::CODE, "the agent is not in gateway.toml any more")),
        }
    }
}

/// Returns a blocker if the directory of a command leads out of its lane through a link.
pub(crate) fn leaves_its_lane(tool: &Tool, real_directory: Option<&str>) -> Option<Blocker> {
    let lane = tool.cwd.as_deref().filter(|_| tool.id == COMMAND).and_then(lane_of)?;
    let stays = real_directory.is_none_or(|real| lane_of(real) == Some(lane));
    (!stays).then(|| PathProblem::Outside.blocker("cwd"))
}

/// Returns a blocker if a command in a lane starts a program of the workspace outside of the lane by its path.
pub(crate) fn program_outside_its_lane(host: &Host<'_>, tool: &Tool) -> Option<Blocker> {
    let cwd = tool.cwd.as_deref().filter(|_| tool.id == COMMAND)?;
    let (workspace, lane) = (host.fs.root(), host.fs.root().join(lane_of(cwd)?));
    let directory = workspace.join(cwd);
    let beneath = |path: &Path, root: &Path| relative(path.to_str()?, root.to_str()?);
    let leads_out = |word: &str| {
        let path = directory.join(word);
        let file = file_of(host, &directory, word).unwrap_or_else(|| path.clone());
        [path, file].iter().any(|path| beneath(path, workspace).is_some() && beneath(path, &lane).is_none())
    };
    let argv = Argv::parse(tool.command.as_deref()?).ok()?;
    let commands = risk::started_commands(&argv);
    let mut programs = commands.iter().filter_map(|command| command.words.first());
    let is_out = programs.any(|word| word.contains('/') && leads_out(word));
    is_out.then(|| PathProblem::Outside.blocker(ARGUMENT))
}

/// Returns why profiles do not allow the command of an entry made for a call with these arguments. Shell syntax and
/// programs outside of the lane have their own blockers.
pub fn command_outside(host: &Host<'_>, rights: &Rights, tool: &Tool, args: &Json) -> Option<Blocker> {
    outside(host, rights, tool).map(|reason| {
        let own = shell_blocker(tool.id.as_str(), args).or_else(|| program_outside_its_lane(host, tool));
        own.unwrap_or(reason)
    })
}

/// Returns why profiles do not allow the command of an entry made for a call.
///
/// Compares the programs that really run: each program after its launchers, found over `PATH` and links, with the name
/// that a profile allows.
fn outside(host: &Host<'_>, rights: &Rights, tool: &Tool) -> Option<Blocker> {
    let command = tool.command.as_deref().filter(|_| tool.id == COMMAND)?;
    let directory = host.fs.root().join(tool.cwd.as_deref().unwrap_or_default());
    // A script that a profile names is relative to the workspace or lane, wherever the command starts.
    let lane = tool.cwd.as_deref().and_then(lane_of);
    let root = files_root(host.fs.root(), lane);
    let root = root.as_path();
    let is_same = |typed: &str, allowed: &str| is_same(host, (&directory, typed), (root, allowed));
    // Invalid command lines are refused elsewhere.
    let commands = started(&Argv::parse(command).ok()?, &is_same);
    let script = |from: &Path, word: &str| {
        let path = from.join(word);
        let is_file = host.fs.metadata_outside(&path).is_ok_and(|found| found.kind == FileKind::File);
        if is_file { host.fs.resolve(path.to_str()?, None).ok() } else { None }
    };
    let is_same_file = |word: &str| directory == root || script(&directory, word) == script(root, word);
    let same = SameWords { program: &is_same, file: &is_same_file };
    let outside = rights.check_commands(&ToolTraits::from_tool(tool), ARGUMENT, &commands, same).err()?;
    let reason = Blocker::new(LimitViolation::CODE, outside.to_string()).at(outside.place.clone());
    Some(reason.field(format!("$.{ARGUMENT}")))
}

/// Lists the commands that a command line starts, without their launchers.
fn started(argv: &Argv, is_same: &dyn Fn(&str, &str) -> bool) -> Vec<Vec<String>> {
    let commands = risk::started_commands(argv);
    let is_launcher = |at: usize| {
        let (words, rest) = (&commands[at].words, &commands[at + 1..]);
        let Some(known) = words.first().and_then(|word| Program::from_word(word)) else { return false };
        matches!(known.role(), Role::Wrapper { .. } | Role::Launcher)
            // A file of the workspace with the name of a launcher is not the launcher.
            && is_same(&words[0], known.name)
            && rest.iter().any(|inner| words.ends_with(&inner.words))
    };
    let at = (0..commands.len()).filter(|at| !is_launcher(*at));
    // Without an absolute path the name proves nothing, so it is left empty.
    let words = |started: &risk::StartedCommand| match started.is_elsewhere {
        true => vec![String::new()],
        false => started.words.clone(),
    };
    at.map(|at| words(&commands[at])).collect()
}

/// Returns whether a typed word leads to the same file, with the same name, as the word of a profile. Many programs
/// behave differently under another name. Each word comes with the directory that it is relative to.
fn is_same(host: &Host<'_>, (directory, typed): (&Path, &str), (root, allowed): (&Path, &str)) -> bool {
    let name = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    name(typed) == name(allowed)
        && file_of(host, directory, typed).is_some_and(|typed| file_of(host, root, allowed) == Some(typed))
}

/// Returns the file of a program's word, found over `PATH` and links.
fn file_of(host: &Host<'_>, directory: &Path, word: &str) -> Option<PathBuf> {
    let is_there = |path: &Path| is_program(host.fs, path);
    let path = find_program(word, directory, host.environment.get("PATH"), is_there)?;
    match host.fs.resolve(path.to_str()?, None).ok()? {
        Location::Inside(path) => Some(host.fs.root().join(path.as_path())),
        Location::Outside(path) => Some(path),
    }
}

/// Returns whether the command of an entry made for a call provably only reads: it is in a list, and its program is the
/// system's.
pub fn command_only_reads(host: &Host<'_>, tool: &Tool) -> bool {
    let command = tool.command.as_deref().filter(|_| tool.id == COMMAND);
    let Some(argv) = command.and_then(|command| Argv::parse(command).ok()) else { return false };
    let root = host.fs.root();
    only_reads(&argv) && file_of(host, root, argv.program()).is_some_and(|file| !file.starts_with(root))
}

/// Returns the command lines of an agent's command with each program named by the file that its links lead to.
pub(crate) fn behind_links(host: &Host<'_>, tool: &Tool) -> Vec<Argv> {
    let command = tool.command.as_deref().filter(|_| !tool.acts_inside());
    let Some(argv) = command.and_then(|command| Argv::parse(command).ok()) else { return Vec::new() };
    let directory = host.fs.root().join(tool.cwd.as_deref().unwrap_or_default());
    risk::behind_links(&argv, &|moved: &Path, word: &str| {
        let file = file_of(host, &directory.join(moved), word)?;
        Some(file.file_name()?.to_str()?.to_owned())
    })
}

#[cfg(test)]
mod tests;
