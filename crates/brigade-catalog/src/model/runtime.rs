//! Local runtimes.

use brigade_core::{ConfigIssue, Place, Severity};

use super::{InvalidToolId, Level, Origin, Seconds, ToolId};
use crate::fields::{self, FieldPath};

/// One `[[runtime]]` entry that has a usable id: a local process that calls may depend on.
///
/// Texts are trimmed; an optional text may be empty. A broken runtime may be listed but never started.
#[derive(Clone, Debug, PartialEq)]
pub struct Runtime {
    /// The name in commands and records; the rules are those of a tool's id.
    pub id: ToolId,
    /// The name for people.
    pub name: String,
    /// Whether the runtime is in use.
    pub enabled: bool,
    /// The command that starts it, before it is split.
    pub command: String,
    /// The folder that it runs in.
    pub cwd: Option<String>,
    /// The TCP port that it listens on.
    pub port: Option<u16>,
    /// The command that says whether it is healthy.
    pub health_command: Option<String>,
    /// Where its health is written.
    pub health_path: Option<String>,
    /// Where its process metadata is written.
    pub pid_path: Option<String>,
    /// The name that its log files start with.
    pub log_path: Option<String>,
    /// How long the health command may take.
    pub timeout: Option<Seconds>,
    /// Where the entry is written.
    pub origin: Origin,
    /// Dotted names of keys, at any depth, that look like they hold a secret; list positions count from 1. Never
    /// values.
    pub unsafe_fields: Vec<String>,
    /// Whether an issue of error severity concerns this entry.
    pub is_broken: bool,
}

impl Runtime {
    /// How many seconds a health command may take when the entry does not say.
    pub const DEFAULT_TIMEOUT: f64 = 5.0;

    /// A runtime with nothing but an id, which is also its name, and a command.
    pub fn new(id: &str, command: &str) -> Result<Runtime, InvalidToolId> {
        let id: ToolId = id.parse()?;
        let name = id.as_str().to_owned();
        let origin = Origin::new(Level::Project, Place::file(".brigade/tools/runtimes.toml"));
        Ok(Runtime { name, command: command.to_owned(), ..Runtime::bare(id, origin) })
    }

    /// A runtime of which only the id is known.
    pub(crate) fn bare(id: ToolId, origin: Origin) -> Runtime {
        Runtime {
            id,
            name: String::new(),
            enabled: true,
            command: String::new(),
            cwd: None,
            port: None,
            health_command: None,
            health_path: None,
            pid_path: None,
            log_path: None,
            timeout: None,
            origin,
            unsafe_fields: Vec::new(),
            is_broken: false,
        }
    }

    /// Returns where the process metadata is, relative to the workspace.
    pub fn pid_path(&self) -> String {
        self.or_default(&self.pid_path, "pid")
    }

    /// Returns the name that the log files start with; `.stdout` and `.stderr` follow.
    pub fn log_path(&self) -> String {
        self.or_default(&self.log_path, "log")
    }

    /// Returns the folder that it runs in, relative to the workspace.
    pub fn cwd(&self) -> &str {
        self.cwd.as_deref().filter(|path| !path.is_empty()).unwrap_or(".")
    }

    /// Returns how long the health command may take.
    pub fn health_timeout(&self) -> Seconds {
        self.timeout
            .unwrap_or_else(|| Seconds::new(Runtime::DEFAULT_TIMEOUT).expect("the default is positive"))
    }

    /// Returns the place of a field, or of the entry's header when the field is not written.
    pub fn place_of(&self, field: &str) -> Place {
        match fields::RUNTIME.position(FieldPath::of(field).name) {
            Some(index) => self.origin.find(index, 0),
            None => self.origin.place.clone(),
        }
    }

    fn or_default(&self, path: &Option<String>, extension: &str) -> String {
        match path {
            Some(path) if !path.is_empty() => path.clone(),
            _ => format!(".brigade/tools/runtime/{}.{extension}", self.id),
        }
    }
}

/// The runtimes of a file, and what is wrong in it.
#[derive(Clone, Debug, Default)]
pub struct Runtimes {
    runtimes: Vec<Runtime>,
    issues: Vec<ConfigIssue>,
}

impl Runtimes {
    /// Puts the runtimes together.
    pub fn new(runtimes: Vec<Runtime>, issues: Vec<ConfigIssue>) -> Runtimes {
        Runtimes { runtimes, issues }
    }

    /// Returns the runtimes in file order, disabled and broken ones too.
    pub fn runtimes(&self) -> &[Runtime] {
        &self.runtimes
    }

    /// Returns what is wrong in the file, in file order.
    pub fn issues(&self) -> &[ConfigIssue] {
        &self.issues
    }

    /// Returns the runtime with exactly this id; the first one when there are several.
    pub fn runtime(&self, id: &str) -> Option<&Runtime> {
        self.runtimes.iter().find(|runtime| runtime.id == id)
    }

    /// Returns whether no issue is an error.
    pub fn is_valid(&self) -> bool {
        self.issues.iter().all(|issue| issue.severity != Severity::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_defaults_made_of_the_id() {
        let runtime = Runtime::new("helper", "sleep 9").unwrap();
        assert_eq!(runtime.pid_path(), ".brigade/tools/runtime/helper.pid");
        assert_eq!(runtime.log_path(), ".brigade/tools/runtime/helper.log");
        assert_eq!(runtime.cwd(), ".");
        assert_eq!(runtime.health_timeout().get(), 5.0);
        let runtime = Runtime { pid_path: Some("x.pid".into()), log_path: Some(String::new()), ..runtime };
        assert_eq!(runtime.pid_path(), "x.pid");
        assert_eq!(runtime.log_path(), ".brigade/tools/runtime/helper.log");
    }
}
