//! Finds what a typed word means: an id or prefix of any kind, a name, or a number of the last list.

use std::path::PathBuf;

use brigade_core::{CallId, CheckpointId, IdPrefix, RunId};
use brigade_ops::Error;
use brigade_queue::Match;
use brigade_workspace::{gather, load};

use crate::workspace::Workspace;

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

impl Workspace {
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
            let ids = self.work().ids_of_number(number);
            return ids.first().map_or(Ok(Vec::new()), |id| self.look_up(id));
        }
        let mut found = self.records(word)?;
        let config = gather::config(&self.room)?;
        found.extend(load::named(&config.catalog, word).map(|tool| NamedThing::Tool(tool.id.to_string())));
        let runtimes = load::runtimes(&self.room)?;
        let of_server =
            config.catalog.tools().iter().filter(|tool| tool.mcp_server_id.as_deref() == Some(word));
        let mut names = std::iter::once(word).chain(of_server.filter_map(|tool| tool.runtime_id.as_deref()));
        let runtime =
            names.find_map(|id| runtimes.runtimes().iter().find(|runtime| runtime.id.as_str() == id));
        found.extend(runtime.map(|runtime| NamedThing::Runtime(runtime.id.to_string())));
        if let Ok(gateway) = self.agents().config() {
            let agent = gateway.agents.iter().find(|agent| agent.name.as_str() == word);
            found.extend(agent.map(|agent| NamedThing::Agent(agent.name.to_string())));
        }
        let waiting = self.work().groups()?;
        let ids = waiting.iter().filter(|group| group.row.args.is_null()).flat_map(|group| &group.row.ids);
        let waits = |id: &&String| id.starts_with(word) && id.parse::<CheckpointId>().is_err();
        found.extend(ids.filter(waits).map(|id| NamedThing::Waiting(id.clone())));
        found.extend(self.tasks(word));
        if found.is_empty() && self.inbox().show(&IdPrefix::new(word)).is_ok() {
            found.push(NamedThing::InboxRow(word.to_owned()));
        }
        Ok(found)
    }

    /// Finds calls, runs and checkpoints, whose ids begin with their kind.
    fn records(&self, word: &str) -> Result<Vec<NamedThing>, Error> {
        let view = self.room.queue().read()?;
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
                Ok(run) => vec![run.id().to_owned()],
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
            let usual = PathBuf::from(format!("brigade/tasks/prd-{name}.json"));
            let paths = [PathBuf::from(name), usual];
            paths.into_iter().find(|path| {
                path.extension().is_some_and(|kind| kind == "json")
                    && self.kitchen().status(Some(&self.root().join(path))).is_ok()
            })
        };
        if let Some(path) = prd(word) {
            return Some(NamedThing::Prd(path));
        }
        let (name, task) = word.rsplit_once('/')?;
        prd(name).map(|path| NamedThing::Task(path, task.to_owned()))
    }
}
