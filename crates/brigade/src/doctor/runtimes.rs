//! The runtimes, as a diagnosis sees them.

use std::collections::BTreeMap;

use brigade_call::DirectoryFact;
use brigade_catalog::{Level, Runtimes};
use brigade_doctor::{ConfigFile, Health, IssueType, ProcessState, RuntimeState};
use brigade_runtime::{Checks, RuntimeFacts};

use crate::error::Error;
use crate::gather::Config;
use crate::room::{RUNTIMES, Room};

/// The folder of the runtimes' state.
pub(crate) const STATE: &str = ".brigade/tools/runtime";

/// The file of the runtimes, as it was found.
pub(crate) enum RuntimesFile {
    Missing,
    Unreadable(String),
    Read(Runtimes),
}

/// The runtimes and how they stand.
pub(crate) struct FoundRuntimes {
    pub(crate) file: RuntimesFile,
    pub(crate) facts: Vec<RuntimeFacts>,
    /// The ids of those that run and have no entry any more.
    pub(crate) left: Vec<String>,
}

impl Room {
    /// Reads the runtimes and asks the system for their processes. Never starts or ends one.
    pub(crate) fn find_runtimes(&self, config: &Config, checks: Checks) -> Result<FoundRuntimes, Error> {
        let file = match self.read_config(RUNTIMES) {
            Ok(bytes) => RuntimesFile::Read(Runtimes::parse(RUNTIMES, Level::Project, &bytes)),
            Err(error) if error.is_not_found() => RuntimesFile::Missing,
            Err(error) => RuntimesFile::Unreadable(error.kind.to_string()),
        };
        let host = self.host_of_runtimes(&config.policy)?;
        let supervisor = self.supervisor(&host);
        let (facts, left) = match &file {
            RuntimesFile::Read(read) => (
                supervisor.facts(read.runtimes(), checks, self.env.cancel.as_ref()),
                supervisor.left(read.runtimes())?,
            ),
            RuntimesFile::Missing => (Vec::new(), supervisor.left(&[])?),
            // Nothing says what belongs to an entry.
            RuntimesFile::Unreadable(_) => (Vec::new(), Vec::new()),
        };
        let left = left.into_iter().map(|runtime| runtime.id.as_str().to_owned()).collect();
        Ok(FoundRuntimes { file, facts, left })
    }
}

/// Says how the runtimes stand in the words of a diagnosis.
pub(crate) fn doctor_facts(found: &FoundRuntimes) -> brigade_doctor::RuntimeFacts<'_> {
    let config = match &found.file {
        RuntimesFile::Missing => ConfigFile::Missing { file: RUNTIMES },
        RuntimesFile::Unreadable(why) => ConfigFile::Unreadable { file: RUNTIMES, why: why.clone() },
        RuntimesFile::Read(read) => ConfigFile::Read(read),
    };
    let states: BTreeMap<&str, RuntimeState> =
        found.facts.iter().map(|facts| (facts.id.as_str(), state(facts))).collect();
    brigade_doctor::RuntimeFacts { config, states, left: found.left.clone() }
}

fn state(facts: &RuntimeFacts) -> RuntimeState {
    let has = |kind: IssueType, field: Option<&str>| {
        let is_of = |of: Option<&str>| field.is_none_or(|field| of == Some(field));
        facts.issues.iter().any(|issue| issue.issue_type == kind && is_of(issue.field))
    };
    let details = |kind: IssueType| {
        let of_kind = facts.issues.iter().filter(move |issue| issue.issue_type == kind);
        of_kind.map(|issue| issue.detail.clone())
    };
    RuntimeState {
        process: match facts.state {
            brigade_runtime::RuntimeState::Running => ProcessState::Running,
            brigade_runtime::RuntimeState::Stopped => ProcessState::Stopped,
            brigade_runtime::RuntimeState::Stale => ProcessState::Stale,
        },
        is_managed: facts.managed,
        port_taken: has(IssueType::RuntimePortConflict, None),
        directory: if has(IssueType::RuntimeMissingCwd, None) {
            DirectoryFact::Missing
        } else if has(IssueType::RuntimeOutsidePath, Some("cwd")) {
            DirectoryFact::Outside
        } else {
            DirectoryFact::Present
        },
        outside: facts
            .issues
            .iter()
            .filter(|issue| issue.issue_type == IssueType::RuntimeOutsidePath)
            .filter_map(|issue| issue.field)
            .filter(|field| *field != "cwd")
            .collect(),
        long_logs: details(IssueType::RuntimeLogTooLong).collect(),
        log_writer_gone: details(IssueType::RuntimeLogWriterGone).next(),
        outdated: details(IssueType::RuntimeOutdated).next(),
        program_found: !has(IssueType::RuntimeBadCommand, Some("command")),
        health: match &facts.health {
            None => Health::NotChecked,
            Some(health) if health.ok => Health::Good,
            Some(health) => Health::Bad(health.detail.clone()),
        },
    }
}
