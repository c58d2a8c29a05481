//! The files of workers of tasks, which an approval of a task binds.

use std::collections::BTreeMap;

use brigade_access::Worker;
use brigade_call::SeenPart;
use brigade_cmdline::{Argv, find_program};
use brigade_core::Fingerprint;
use brigade_exec::file_fingerprint;
use brigade_fs::Location;

use crate::host::Host;
use crate::searched_files::is_program;
use crate::trust::{TrustKind, TrustTarget};

/// Joins a file and its worker in a name for people.
const OF_WORKER: &str = " of worker ";

impl Host<'_> {
    /// Returns fingerprints of a worker's command, and of each file of the workspace that it runs or names. Programs
    /// outside of the workspace are not bound, because they update themselves.
    pub fn worker_files(&self, worker: &Worker) -> BTreeMap<String, Fingerprint> {
        self.command_files(&worker.id, &worker.command)
    }

    /// As [`Host::worker_files`], for a command with this name.
    pub(crate) fn command_files(&self, id: &str, command: &Argv) -> BTreeMap<String, Fingerprint> {
        let words = command.words();
        let table = words.iter().enumerate().map(|(at, word)| (format!("{at:04}"), word.clone()));
        let fingerprint = Fingerprint::builder("brigade.worker.v1").table("words", table).finish();
        let mut found = BTreeMap::from([(format!("worker {id}"), fingerprint)]);
        let path = self.environment.get("PATH");
        let program = find_program(command.program(), self.fs.root(), path, |path| is_program(self.fs, path));
        let program = program.map(|path| path.to_string_lossy().into_owned());
        for word in words.iter().chain(&program) {
            let Ok(Location::Inside(path)) = self.fs.resolve(word, None) else { continue };
            if let Ok(bytes) = file_fingerprint(self.fs, path.as_str()) {
                found.insert(format!("file {path}{OF_WORKER}{id}"), bytes);
            }
        }
        found
    }
}

/// Returns the workers among things that a call names, with what a person reviews of each.
pub(crate) fn named_workers(named: &BTreeMap<String, Fingerprint>) -> BTreeMap<TrustTarget, Vec<SeenPart>> {
    let mut found: BTreeMap<TrustTarget, Vec<SeenPart>> = BTreeMap::new();
    for (name, fingerprint) in named {
        let file = name.strip_prefix("file ").and_then(|rest| rest.rsplit_once(OF_WORKER));
        let (path, id) = match (name.strip_prefix("worker "), file) {
            (Some(id), _) => (None, id),
            (None, Some((path, id))) => (Some(path.to_owned()), id),
            (None, None) => continue,
        };
        let part = SeenPart { name: name.clone(), path, fingerprint: *fingerprint };
        found.entry(TrustTarget::new(TrustKind::Worker, id)).or_default().push(part);
    }
    found
}

/// Returns the health commands among things that a call names, with what a person reviews of each.
pub(crate) fn named_health(named: &BTreeMap<String, Fingerprint>) -> BTreeMap<TrustTarget, Vec<SeenPart>> {
    let mut found: BTreeMap<TrustTarget, Vec<SeenPart>> = BTreeMap::new();
    for part in SeenPart::of_health(named) {
        let id = part.name.strip_prefix("health command of ").and_then(|rest| Some(rest.split_once(": ")?.0));
        let Some(id) = id else { continue };
        found.entry(TrustTarget::new(TrustKind::Health, id)).or_default().push(part);
    }
    found
}

#[cfg(test)]
mod tests;
