//! The runtimes, as a diagnosis sees them.

use brigade_catalog::{Level, Runtimes};
use brigade_doctor::ConfigFile;
use brigade_facts::read_config;
use brigade_runtime::{Checks, RuntimeFacts};

use crate::error::Error;
use crate::gather::Config;
use crate::room::{RUNTIMES, Room};
use crate::runtimes;

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

/// Reads the runtimes and asks the system for their processes. Never starts or ends one.
pub(crate) fn find_runtimes(room: &Room, config: &Config, checks: Checks) -> Result<FoundRuntimes, Error> {
    let file = match read_config(&*room.fs, RUNTIMES) {
        Ok(bytes) => RuntimesFile::Read(Runtimes::parse(RUNTIMES, Level::Project, &bytes)),
        Err(error) if error.is_not_found() => RuntimesFile::Missing,
        Err(error) => RuntimesFile::Unreadable(error.kind.to_string()),
    };
    let host = runtimes::host_of_runtimes(room, &config.policy)?;
    let supervisor = runtimes::supervisor(room, &host);
    let (facts, left) = match &file {
        RuntimesFile::Read(read) => (
            supervisor.facts(read.runtimes(), checks, room.env.cancel.as_ref()),
            supervisor.left(read.runtimes())?,
        ),
        RuntimesFile::Missing => (Vec::new(), supervisor.left(&[])?),
        // Nothing says what belongs to an entry.
        RuntimesFile::Unreadable(_) => (Vec::new(), Vec::new()),
    };
    let left = left.into_iter().map(|runtime| runtime.id.as_str().to_owned()).collect();
    Ok(FoundRuntimes { file, facts, left })
}

impl FoundRuntimes {
    /// Hands it to a diagnosis.
    pub(crate) fn snapshot(&self) -> brigade_doctor::FoundRuntimes<'_> {
        let config = match &self.file {
            RuntimesFile::Missing => ConfigFile::Missing { file: RUNTIMES },
            RuntimesFile::Unreadable(why) => ConfigFile::Unreadable { file: RUNTIMES, why: why.clone() },
            RuntimesFile::Read(read) => ConfigFile::Read(read),
        };
        brigade_doctor::FoundRuntimes { config, facts: &self.facts, left: &self.left }
    }
}
