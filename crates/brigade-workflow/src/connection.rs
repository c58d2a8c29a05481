//! The gateway session through which the worker of a task calls tools.
//!
//! The session runs outside of the worker's sandbox. The worker reaches it through two pipes in the folder of the task;
//! `BRIGADE_GATEWAY` holds their directory. The session acts for the caller that began the task, with the limits of the
//! manifest.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brigade_access::builtin::{BuiltinName, COMMAND, own_name};
use brigade_access::{LiveSession, ProfileName, Slot, TaskLimits};
use brigade_call::CallSession;
use brigade_fs::{Fs, RelPath};
use brigade_process::{NamedPipes, OpenPipes};

use crate::context::TaskContext;
use crate::manifest::Agent;

/// The name of the directory of the pipes.
const DIRECTORY: &str = ".gateway";

/// An open session. Dropping it ends the session.
pub(crate) struct TaskConnection {
    open: Option<OpenPipes>,
    fs: Arc<dyn Fs>,
    path: RelPath,
    directory: PathBuf,
}

impl TaskConnection {
    /// Opens the session of a task. Returns `None` if this process serves no workers, or if the caller is not an agent.
    ///
    /// The session has every profile but the mode of the session that asked, even if that one ended or another one
    /// continues the call. `root` is the directory of the lane that the task works in.
    pub(crate) fn open(
        context: &TaskContext,
        execution: &str,
        folder: &RelPath,
        agent: &Agent,
        asked_in: Option<&CallSession>,
        root: Option<&str>,
    ) -> std::io::Result<Option<TaskConnection>> {
        let (Some(sessions), Some(caller)) = (&context.sessions, context.workspace.caller.agent()) else {
            return Ok(None);
        };
        let live = context.session.as_deref();
        let live = live.filter(|live| asked_in.is_some_and(|asked_in| asked_in.id == live.id()));
        let mut profiles = live.map(LiveSession::profiles).unwrap_or_default().inside();
        for name in asked_in.into_iter().flat_map(|asked_in| &asked_in.profiles) {
            if profiles.is_of_task(name) {
                continue;
            }
            // The limits of a task whose session has ended are lost, so no session is opened.
            let Ok(name) = name.parse::<ProfileName>() else { return Ok(None) };
            if name.slot() != Slot::Mode {
                profiles.narrow(name);
            }
        }
        if let Some(name) = &agent.spec.security_context {
            // An unknown profile cannot be applied, so no session is opened.
            let Some(profile) = security_context(name) else { return Ok(None) };
            profiles.narrow(profile);
        }
        profiles.within(limits(agent));
        let path = folder.join(DIRECTORY).expect("a constant name");
        let fs = context.workspace.fs.clone();
        fs.create_dir_all(&path).map_err(std::io::Error::other)?;
        let directory = fs.root().join(path.as_path());
        let NamedPipes { input, output, open } = NamedPipes::create(&directory)?;
        let connection = TaskConnection { open: Some(open), fs, path, directory };
        sessions.open(
            caller,
            LiveSession::like(execution, profiles, root.map(str::to_owned)),
            input,
            output,
        )?;
        Ok(Some(connection))
    }

    /// Returns the directory of the pipes.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }
}

impl Drop for TaskConnection {
    fn drop(&mut self) {
        drop(self.open.take());
        // The worker may have put a link here, so the removal stays in the workspace and follows no links.
        drop(self.fs.remove_tree(&self.path));
    }
}

/// Returns the profile that a manifest names. The slot in the name is optional.
fn security_context(name: &str) -> Option<ProfileName> {
    name.parse().or_else(|_| format!("{}.{name}", Slot::Context).parse()).ok()
}

/// Returns the limits of a manifest.
fn limits(agent: &Agent) -> TaskLimits {
    let mut limits = TaskLimits { agent: agent.metadata.name.as_str().to_owned(), ..TaskLimits::default() };
    let is_command =
        |name: &str| matches!(own_name(name), Some(BuiltinName::Tool(row, _)) if row.id == COMMAND);
    let dispatchers = || agent.spec.builtin_dispatchers.iter().flatten();
    // An entry with the command executor names a program. If it names the dispatcher, it allows every program.
    let is_any = |name: &str| name == "cmd" || is_command(name) || dispatchers().any(|own| own.name == name);
    let mut programs = BTreeSet::new();
    let mut any = false;
    if let Some(tools) = &agent.spec.tools {
        limits.tools = Some(Default::default());
        for tool in tools {
            let runs = tool.is_command() || is_command(tool.name());
            limits.add_tool(if runs { COMMAND } else { tool.name() });
            if runs && is_any(tool.name()) {
                any = true;
            } else if runs {
                programs.insert(tool.name().to_owned());
            }
        }
    }
    let capabilities = dispatchers().flat_map(|dispatcher| dispatcher.capabilities.iter().flatten());
    let lists = capabilities
        .filter(|capability| is_command(&capability.name))
        .filter_map(|capability| capability.subcommand_allowlist.as_ref());
    let listed: Option<BTreeSet<String>> =
        lists.fold(None, |all, words| Some(all.into_iter().flatten().chain(words.iter().cloned()).collect()));
    limits.commands = match (Some(programs).filter(|programs| !any && !programs.is_empty()), listed) {
        (Some(programs), Some(listed)) => Some(common_prefixes(&programs, &listed)),
        (programs, listed) => programs.or(listed),
    };
    limits
}

/// Returns the command prefixes that both lists allow. If one prefix extends the other, the longer one counts.
fn common_prefixes(one: &BTreeSet<String>, other: &BTreeSet<String>) -> BTreeSet<String> {
    let begins = |long: &str, short: &str| {
        let mut long = long.split_whitespace();
        short.split_whitespace().all(|word| long.next() == Some(word))
    };
    let pairs = one.iter().flat_map(|one| other.iter().map(move |other| (one, other)));
    let common = pairs.filter_map(|(one, other)| match (begins(one, other), begins(other, one)) {
        (true, _) => Some(one.clone()),
        (false, true) => Some(other.clone()),
        (false, false) => None,
    });
    common.collect()
}

#[cfg(test)]
mod tests {
    use crate::manifest::read;

    use super::*;

    fn check(spec: &str, tools: Option<&[&str]>, commands: Option<&[&str]>) {
        let text = format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{name: a}}\nspec: {{runtime: {{image: a/b}}{spec}}}\n"
        );
        let read = read::<Agent>(&text);
        let limits = limits(&read.manifest.unwrap_or_else(|| panic!("{:?}", read.faults)));
        let owned =
            |list: Option<&[&str]>| list.map(|list| list.iter().map(|&text| text.to_owned()).collect());
        assert_eq!((limits.tools, limits.commands), (owned(tools), owned(commands)), "{spec}");
    }

    #[test]
    fn a_manifest_limits_the_calls_of_its_tasks() {
        check("", None, None);
        check(", tools: []", Some(&[]), None);
        check(", tools: [readFile, {name: weather}]", Some(&["fs.read", "weather"]), None);
        check(", tools: [{name: git, executor: 'builtin:cmd'}]", Some(&["cmd.run"]), Some(&["git"]));
        check(", tools: [{name: cmd, executor: 'builtin:cmd'}]", Some(&["cmd.run"]), None);
        check(", tools: [{name: git, executor: 'builtin:cmd'}, cmd.run]", Some(&["cmd.run"]), None);
        let listed = "[{name: cmd, capabilities: [{name: cmd.run, subcommand_allowlist: [git status, ls]}]}]";
        check(
            &format!(", tools: [{{name: git, executor: 'builtin:cmd'}}], builtin_dispatchers: {listed}"),
            Some(&["cmd.run"]),
            Some(&["git status"]),
        );
        let words = ", builtin_dispatchers: [{name: cmd, capabilities: [{name: cmd.run, subcommand_allowlist: [git, ls]}]}]";
        check(words, None, Some(&["git", "ls"]));
        check(", builtin_dispatchers: [{name: cmd, capabilities: [{name: cmd.run}]}]", None, None);
    }

    #[test]
    fn a_context_has_its_slot_or_gets_it() {
        assert_eq!(security_context("reader").unwrap().as_str(), "context.reader");
        assert_eq!(security_context("mode.chat").unwrap().as_str(), "mode.chat");
        assert_eq!(security_context("two words"), None);
    }
}
