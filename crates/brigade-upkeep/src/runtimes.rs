//! The runtimes, as a diagnosis sees them.

use brigade_catalog::{Level, Runtimes};
use brigade_doctor::ConfigFile;
use brigade_facts::{Host, bound_values, read_config};
use brigade_fs::{FsError, Location};
use brigade_policy::PolicyState;
use brigade_runtime::{Checks, RuntimeFacts, Supervisor};

use crate::error::UpkeepError;
use crate::site::Site;

/// The file of the runtimes.
pub const RUNTIMES: &str = ".brigade/tools/runtimes.toml";

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
pub(crate) fn find_runtimes(site: &Site<'_>, checks: Checks) -> Result<FoundRuntimes, UpkeepError> {
    let file = match read_config(site.fs(), RUNTIMES) {
        Ok(bytes) => RuntimesFile::Read(Runtimes::parse(RUNTIMES, Level::Project, &bytes)),
        Err(error) if error.is_not_found() => RuntimesFile::Missing,
        Err(error) => RuntimesFile::Unreadable(error.kind.to_string()),
    };
    let machine = machine_of(site.host, &site.config.policy)?;
    let supervisor = Supervisor::new(site.fs(), site.host.clock, &machine);
    let (facts, left) = match &file {
        RuntimesFile::Read(read) => {
            (supervisor.facts(read.runtimes(), checks, site.cancel), supervisor.left(read.runtimes())?)
        }
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

/// Returns what runtimes may get from the machine.
///
/// # Errors
/// When the disk fails.
pub fn machine_of(host: Host<'_>, policy: &PolicyState) -> Result<brigade_runtime::Host, FsError> {
    let mut outside = Vec::new();
    let allowed = policy.policy().map(|policy| policy.outside_paths.values()).into_iter().flatten();
    for folder in allowed {
        if let Location::Outside(folder) = host.fs.resolve(folder, host.home())? {
            outside.push(folder);
        }
    }
    let variables = host.environment.variables();
    let environment = variables.map(|(name, value)| (name.clone(), value.clone())).collect();
    Ok(brigade_runtime::Host { environment, outside, secrets: bound_values(host.environment, policy) })
}
