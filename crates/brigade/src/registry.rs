//! Tools of other agent programs: found, and remembered.

use std::collections::HashMap;
use std::sync::Arc;

use brigade_catalog::register::{SourceChange, source_changes};
use brigade_catalog::{Catalog, Runtimes, Tool};
use brigade_command::Argv;
use brigade_core::text::escape_terminal;
use brigade_core::{closest, codes};
pub use brigade_discovery::{
    ChangedEntry, DiscoveredEntry, DiscoveryIssue, EntryOrigin, FileState, HarnessFiles,
};
use brigade_discovery::{IssueCode, NotRemembered, Remembered, harness, harnesses, shows_words};
use brigade_upkeep::{DISCOVERED, Discovered, Machine, Memory, discover, remember, remembered};
pub use brigade_upkeep::{Look as DiscoverRequest, LookFor as DiscoverSource};

use crate::error::{Error, ErrorKind};
use crate::load;
use crate::report::{DiscoveryReport, RegistrySyncReport, Report as _};
use crate::room::Room;
use crate::runtimes;

/// Operations on the tools of other agent programs. None of them starts a program or opens a connection.
#[derive(Clone)]
pub struct Registry {
    pub(crate) room: Arc<Room>,
}

impl Registry {
    /// Reads the files of agent programs. Writes nothing.
    ///
    /// Without harnesses in the request, those of `[registry] harnesses` in the catalog are meant, or all.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`] for an unknown harness. A file that cannot be read is an issue of the report.
    pub fn discover(&self, request: &DiscoverRequest) -> Result<DiscoveryReport, Error> {
        if let Some(unknown) = request.harnesses.iter().flatten().find(|label| harness(label).is_none()) {
            return Err(unknown_harness(unknown));
        }
        let Discovered { harnesses, entries, issues, .. } = self.look(request)?;
        Ok(DiscoveryReport {
            schema: DiscoveryReport::SCHEMA,
            target: self.room.target(),
            harnesses,
            entry_count: entries.len(),
            entries,
            issue_count: issues.len(),
            issues,
        })
    }

    /// Compares what the files of agent programs say with the cache, and writes the cache if something changed.
    ///
    /// A damaged cache is replaced.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Refused`] if a newer version wrote the cache, and file errors.
    pub fn sync(&self, dry_run: bool) -> Result<RegistrySyncReport, Error> {
        let room = &self.room;
        let Discovered { entries, mut issues, .. } = self.look(&DiscoverRequest::default())?;
        let nothing = || Remembered::new(room.now(), Vec::new(), Vec::new());
        let memory = remembered(&*room.fs)?;
        let is_damaged = memory == Memory::Unfit(NotRemembered::Damaged);
        let (before, is_new) = match memory {
            Memory::Found(found) => (*found, false),
            Memory::Nothing | Memory::Unfit(NotRemembered::Damaged) => (nothing(), true),
            Memory::Unfit(NotRemembered::Newer) => {
                let message = format!("`{DISCOVERED}`: {}", NotRemembered::Newer);
                let error = Error::new(ErrorKind::Refused, message).coded(codes::NEWER_VERSION);
                return Err(error.hint("delete the file; it is only a cache"));
            }
        };
        let catalog = load::catalog(room)?;
        let told: Vec<DiscoveryIssue> =
            source_changes(&catalog, Some(&runtimes::runtimes(room)?), &entries, &issues)
                .iter()
                .map(source_issue)
                .collect();
        let difference = before.compare(&entries);
        let is_changed = is_new || before.entries != entries || before.issues != issues;
        let written = is_changed && !dry_run;
        let entry_count = entries.len();
        let mut made_at = (!is_new).then_some(before.made_at);
        if written {
            let now = room.now();
            remember(&*room.fs, &Remembered::new(now, entries, issues.clone()))?;
            made_at = Some(now);
        }
        if is_damaged {
            let what = if written { "was damaged, and is replaced" } else { "is damaged" };
            let issue = DiscoveryIssue::new(IssueCode::CacheDamaged, format!("the cache {what}"));
            issues.insert(0, DiscoveryIssue { path: Some(room.absolute(DISCOVERED)), ..issue });
        }
        issues.extend(told);
        Ok(RegistrySyncReport {
            schema: RegistrySyncReport::SCHEMA,
            target: room.target(),
            cache_path: room.absolute(DISCOVERED),
            made_at,
            dry_run,
            written,
            added: difference.added,
            changed: difference.changed,
            removed: difference.removed,
            unchanged_count: difference.unchanged,
            entry_count,
            issues,
        })
    }

    fn look(&self, request: &DiscoverRequest) -> Result<Discovered, Error> {
        let room = &self.room;
        let catalog = load::catalog(room)?;
        let harnesses = request.harnesses.clone().or_else(|| catalog.settings().harnesses.clone());
        let request = DiscoverRequest { harnesses, ..request.clone() };
        let mut found = discover(&Machine::new(&*room.fs, &room.env.environment), &request);
        note_registered(&catalog, &runtimes::runtimes(room)?, &mut found.entries);
        Ok(found)
    }
}

fn source_issue(change: &SourceChange<'_>) -> DiscoveryIssue {
    let code = match change.differences {
        Some(_) => IssueCode::SourceChanged,
        None => IssueCode::SourceGone,
    };
    DiscoveryIssue {
        path: change.path.clone(),
        line: change.line,
        refs: vec![change.reference.to_owned()],
        ..DiscoveryIssue::new(code, change.message())
    }
}

/// Notes which tools of the catalog were made from entries, and which runtimes start the same servers.
fn note_registered(catalog: &Catalog, runtimes: &Runtimes, entries: &mut [DiscoveredEntry]) {
    let of_tool = |tool: &Tool| {
        let reference = tool.source.as_ref()?.reference.clone()?;
        Some((reference, tool.id.as_str().to_owned()))
    };
    let registered: HashMap<String, String> = catalog.tools().iter().filter_map(of_tool).collect();
    let commands: Vec<(Vec<String>, &str)> = runtimes
        .runtimes()
        .iter()
        .filter_map(|runtime| {
            Some((Argv::parse(&runtime.command).ok()?.words().to_vec(), runtime.id.as_str()))
        })
        .collect();
    if registered.is_empty() && commands.is_empty() {
        return;
    }
    for entry in entries.iter_mut().filter(|entry| entry.registered_as.is_none()) {
        let references = entry.origins.iter().map(|origin| &origin.reference);
        let of_tool = references.chain([&entry.id]).find_map(|reference| registered.get(reference)).cloned();
        let of_runtime = || {
            let starts = commands.iter().find(|(words, _)| shows_words(&entry.command, words));
            starts.map(|(_, id)| (*id).to_owned())
        };
        entry.registered_as = of_tool.or_else(of_runtime);
    }
}

/// Returns the labels of all harnesses that can be looked at.
pub fn harness_labels() -> impl Iterator<Item = &'static str> {
    harnesses().iter().map(|harness| harness.label())
}

fn unknown_harness(name: &str) -> Error {
    let error = Error::new(ErrorKind::Usage, format!("no harness `{}` is known", escape_terminal(name)));
    let error = error.coded(codes::HARNESS_MISSING);
    match closest(name, harness_labels()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("known are {}", harness_labels().collect::<Vec<_>>().join(", "))),
    }
}
