//! Finds what a typed word means: an id or prefix of any kind, a name, or a number of the last list.

use std::path::PathBuf;

use brigade_catalog::Tool;
use brigade_core::{CallId, CheckpointId, IdPrefix, RunId};
use brigade_fs::RelPath;
use brigade_queue::Match;
use brigade_workspace::{gather, load};

use super::daily::Daily;
use crate::error::Error;
use crate::inbox::InboxStore;
use crate::report::WaitingKind;

/// The directory in which PRDs usually are.
const PRDS: &str = "brigade/tasks";

/// What a word means.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NamedThing {
    /// A call.
    Call(CallId),
    /// A run, finished or not.
    Run(RunId),
    /// A checkpoint.
    Checkpoint(CheckpointId),
    /// A tool of the catalog.
    Tool(String),
    /// A runtime, by its id or that of its server.
    Runtime(String),
    /// An agent of the gateway.
    Agent(String),
    /// A question or decision that waits.
    Waiting(String),
    /// A row of the inbox.
    InboxRow(String),
    /// A PRD of the kitchen, by its path from the workspace.
    Prd(PathBuf),
    /// A task of a PRD.
    Task(PathBuf, String),
}

impl NamedThing {
    /// Returns the kind and the id, for lists of candidates.
    pub fn describe(&self) -> String {
        match self {
            NamedThing::Call(id) => id.to_string(),
            NamedThing::Run(id) => id.to_string(),
            NamedThing::Checkpoint(id) => id.to_string(),
            NamedThing::Tool(id) => format!("tool {id}"),
            NamedThing::Runtime(id) => format!("runtime {id}"),
            NamedThing::Agent(name) => format!("agent {name}"),
            NamedThing::Waiting(id) | NamedThing::InboxRow(id) => id.clone(),
            NamedThing::Prd(path) => format!("PRD {}", path.display()),
            NamedThing::Task(path, task) => format!("task {task} of {}", path.display()),
        }
    }
}

impl Daily {
    /// Lists everything that a word means, at most a few. An exact id means only itself.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn look_up(&self, word: &str) -> Result<Vec<NamedThing>, Error> {
        let word = word.trim();
        if word.is_empty() {
            return Ok(Vec::new());
        }
        if let Ok(number) = word.parse::<u64>() {
            let ids = self.ids_of_number(number);
            return ids.first().map_or(Ok(Vec::new()), |id| self.look_up(id));
        }
        let mut found = self.records(word)?;
        let config = gather::config(&self.context)?;
        let runtimes = load::runtimes(&self.context)?;
        let of_server =
            config.catalog.tools().iter().filter(|tool| tool.mcp_server_id.as_deref() == Some(word));
        let mut names = std::iter::once(word).chain(of_server.filter_map(|tool| tool.runtime_id.as_deref()));
        let runtime =
            names.find_map(|id| runtimes.runtimes().iter().find(|runtime| runtime.id.as_str() == id));
        // The entry of a whole server has nothing that its server does not show.
        let is_server = |tool: &&Tool| {
            tool.mcp_tool_name.is_none()
                && runtime.is_some_and(|runtime| tool.runtime_id.as_deref() == Some(runtime.id.as_str()))
        };
        let tool = load::named(&config.catalog, word).filter(|tool| !is_server(tool));
        found.extend(tool.map(|tool| NamedThing::Tool(tool.id.to_string())));
        found.extend(runtime.map(|runtime| NamedThing::Runtime(runtime.id.to_string())));
        if let Some(agents) = config.agents(&self.context.host()) {
            let agent = agents.gateway.agents.iter().find(|agent| agent.name.as_str() == word);
            found.extend(agent.map(|agent| NamedThing::Agent(agent.name.to_string())));
        }
        let waiting = self.groups()?;
        for row in waiting.iter().map(|group| &group.row) {
            for id in row.ids.iter().filter(|id| id.starts_with(word)) {
                let thing = match row.kind {
                    WaitingKind::Approval | WaitingKind::Plan => continue,
                    WaitingKind::Checkpoint => id.parse().ok().map(NamedThing::Checkpoint),
                    WaitingKind::Decision | WaitingKind::Question => Some(NamedThing::Waiting(id.clone())),
                };
                found.extend(thing.filter(|thing| !found.contains(thing)));
            }
        }
        found.extend(self.tasks(word));
        if found.is_empty() && InboxStore::new(&self.context).read()?.find(&IdPrefix::new(word)).is_ok() {
            found.push(NamedThing::InboxRow(word.to_owned()));
        }
        Ok(found)
    }

    /// Finds calls, runs and checkpoints, whose ids begin with their kind.
    fn records(&self, word: &str) -> Result<Vec<NamedThing>, Error> {
        let view = self.context.queue().read()?;
        let prefix = IdPrefix::new(word);
        let mut found = Vec::new();
        if word.starts_with("call-") {
            let ids = match view.find_call(&prefix, &|_| true)? {
                Match::One(stored) => vec![stored.call.id],
                Match::None => Vec::new(),
                Match::Ambiguous(ids) => ids.iter().filter_map(|id| id.parse().ok()).collect(),
            };
            found.extend(ids.into_iter().map(NamedThing::Call));
        }
        if word.starts_with("run-") {
            let ids = match view.the_run(&prefix) {
                Ok(run) => vec![run.id().to_string()],
                Err(failure) => failure.could_be().to_vec(),
            };
            found.extend(ids.iter().filter_map(|id| id.parse().ok()).map(NamedThing::Run));
        }
        if word.starts_with("checkpoint-") {
            let ids = match view.find_checkpoint(&prefix)? {
                Match::One(stored) => vec![stored.checkpoint.id],
                Match::None => Vec::new(),
                Match::Ambiguous(ids) => ids.iter().filter_map(|id| id.parse().ok()).collect(),
            };
            found.extend(ids.into_iter().map(NamedThing::Checkpoint));
        }
        Ok(found)
    }

    /// Finds a PRD by its name or path, and a task as `PRD/TASK`.
    fn tasks(&self, word: &str) -> Option<NamedThing> {
        let prd = |name: &str| {
            let paths = [name.to_owned(), format!("{PRDS}/prd-{name}.json")];
            let is_file = |path: &String| {
                let path = path.ends_with(".json").then(|| path.parse::<RelPath>().ok()).flatten();
                path.is_some_and(|path| self.context.fs.exists(&path).unwrap_or_default())
            };
            paths.into_iter().find(is_file).map(PathBuf::from)
        };
        if let Some(path) = prd(word) {
            return Some(NamedThing::Prd(path));
        }
        let (name, task) = word.rsplit_once('/')?;
        prd(name).map(|path| NamedThing::Task(path, task.to_owned()))
    }
}

#[cfg(test)]
mod tests;
