//! Local runtimes and remote servers.

use std::collections::BTreeMap;

use brigade_core::{ConfigIssue, Fingerprint, Place, Severity, words};

use super::{InvalidToolId, Level, Origin, RemoteServer, Seconds, ServerTransport, ToolId};
use crate::fields::{self, FieldPath, REMOTE_EFFECTS};

words! {
    /// The home directory of a runtime's process.
    RuntimeHome {
        /// A separate directory in the workspace's state, which stays between starts.
        Private = "private",
        /// The home directory of the person. The sandbox opens nothing in it.
        User = "user",
    }
}

/// A `[[runtime]]` entry with a valid id: a local process that calls may depend on, or a remote MCP server.
///
/// Strings are trimmed; an optional string may be empty. A broken runtime can be listed but not started.
#[derive(Clone, Debug, PartialEq)]
pub struct Runtime {
    /// The id in commands and records. It follows the rules for tool ids.
    pub id: ToolId,
    /// The display name.
    pub name: String,
    /// Whether the runtime may be used.
    pub enabled: bool,
    /// The command that starts it, not split into words. For a remote server, the command that connects to it.
    pub command: String,
    /// The URL of a remote server, which has no command in the file.
    pub url: Option<String>,
    /// How the remote server is reached; by default `http`.
    pub transport: Option<ServerTransport>,
    /// Headers for the remote server, with labels in braces. The policy binds each label to a variable.
    pub headers: BTreeMap<String, String>,
    /// The directory that it runs in.
    pub cwd: Option<String>,
    /// The TCP port that it listens on.
    pub port: Option<u16>,
    /// The command that checks whether it is healthy.
    pub health_command: Option<String>,
    /// The file that its health is written to.
    pub health_path: Option<String>,
    /// The file that its process metadata is written to.
    pub pid_path: Option<String>,
    /// The path prefix of its log files.
    pub log_path: Option<String>,
    /// Whether calls start it. Then it is ready if it is enabled and its program exists.
    pub on_demand: bool,
    /// Names of environment variables that the policy binds, never values.
    pub env_labels: Vec<String>,
    /// The timeout of the health command.
    pub timeout: Option<Seconds>,
    /// Its home directory. Absent means that of the person.
    pub home: Option<RuntimeHome>,
    /// Whether its command starts a container. Then network and mounts follow from the effects of each tool.
    pub container: bool,
    /// Paths that its process may write, in addition to those of the policy.
    pub write_paths: Vec<String>,
    /// Environment variables with literal values, which are not secret.
    pub env: BTreeMap<String, String>,
    /// The place of the entry.
    pub origin: Origin,
    /// Dotted names of keys, at any depth, that look secret. List indexes count from 1. Never contains values.
    pub unsafe_fields: Vec<String>,
    /// Whether an issue with severity error concerns this entry.
    pub is_broken: bool,
}

/// The option that closes the network of a container.
const NO_NETWORK: &str = "--network none";

/// The options that show a container the workspace. It is never writable: the daemon that starts the container knows
/// nothing of the places that stay closed.
const WORKSPACE_MOUNT: &str = "-v ./:/workspace:ro -w /workspace";

impl Runtime {
    /// The default timeout of a health command, in seconds.
    pub const DEFAULT_TIMEOUT: f64 = 5.0;

    /// Creates a runtime with an id, which is also its name, and a command.
    pub fn new(id: &str, command: &str) -> Result<Runtime, InvalidToolId> {
        let id: ToolId = id.parse()?;
        let name = id.as_str().to_owned();
        let origin = Origin::new(Level::Project, Place::file(".brigade/tools/runtimes.toml"));
        Ok(Runtime { name, command: command.to_owned(), ..Runtime::bare(id, origin) })
    }

    /// Creates a runtime of which only the id is known.
    pub(crate) fn bare(id: ToolId, origin: Origin) -> Runtime {
        Runtime {
            id,
            name: String::new(),
            enabled: true,
            command: String::new(),
            url: None,
            transport: None,
            headers: BTreeMap::new(),
            cwd: None,
            port: None,
            health_command: None,
            health_path: None,
            pid_path: None,
            log_path: None,
            on_demand: false,
            env_labels: Vec::new(),
            timeout: None,
            home: None,
            container: false,
            write_paths: Vec::new(),
            env: BTreeMap::new(),
            origin,
            unsafe_fields: Vec::new(),
            is_broken: false,
        }
    }

    /// Creates a runtime for a remote server.
    pub fn connecting(id: &str, remote: RemoteServer) -> Result<Runtime, InvalidToolId> {
        let runtime = Runtime::new(id, "")?;
        let transport = Some(remote.transport).filter(|transport| *transport != ServerTransport::Http);
        let mut runtime = Runtime { url: Some(remote.url), transport, headers: remote.headers, ..runtime };
        runtime.settle();
        Ok(runtime)
    }

    /// Returns the remote server, if the runtime is one.
    pub fn remote(&self) -> Option<RemoteServer> {
        let url = self.url.clone()?;
        let transport = self.transport.unwrap_or(ServerTransport::Http);
        Some(RemoteServer { url, transport, headers: self.headers.clone() })
    }

    /// Completes the entry of a remote server: calls connect to it, and its headers need their labels.
    pub(crate) fn settle(&mut self) {
        let Some(remote) = self.remote() else { return };
        self.on_demand = true;
        if self.command.is_empty() {
            self.command = remote.command();
        }
        for label in remote.labels() {
            if !self.env_labels.contains(&label) {
                self.env_labels.push(label);
            }
        }
    }

    /// Returns the command of a container with what effects open: the network, and the workspace for reading. `None` if
    /// the command does not close the network, or was opened before.
    pub(crate) fn opened_container(command: &str, effects: &[String]) -> Option<String> {
        let has = |names: &[&str]| effects.iter().any(|effect| names.contains(&effect.as_str()));
        if command.contains(WORKSPACE_MOUNT) {
            return None;
        }
        let mut options = Vec::new();
        if !has(&REMOTE_EFFECTS) {
            options.push(NO_NETWORK);
        }
        if has(&["local-read", "local-write"]) {
            options.push(WORKSPACE_MOUNT);
        }
        let (before, after) = command.split_once(NO_NETWORK)?;
        let options = options.join(" ");
        let gap = if options.is_empty() { "" } else { " " };
        Some(format!("{before}{options}{gap}{}", after.trim_start()))
    }

    /// Returns the path of the process metadata, relative to the workspace.
    pub fn pid_path(&self) -> String {
        self.or_default(&self.pid_path, "pid")
    }

    /// Returns the path prefix of the log files. Their names end in `.stdout` and `.stderr`.
    pub fn log_path(&self) -> String {
        self.or_default(&self.log_path, "log")
    }

    /// Returns its private home directory, relative to the workspace, if it has one. A remote server has none: the
    /// connection needs the tokens of the person.
    pub fn home_path(&self) -> Option<String> {
        let id = self.id.as_str();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let folder = match id.chars().all(is_plain) && !id.starts_with('.') {
            true => id.to_owned(),
            // Two ids never share a directory, and no id leads out of it.
            false => format!("id-{:.16}", Fingerprint::of_bytes(id.as_bytes()).to_hex()),
        };
        let has_one = self.home == Some(RuntimeHome::Private) && self.url.is_none();
        has_one.then(|| format!(".brigade/tools/runtime/{folder}/home"))
    }

    /// Returns the directory that it runs in, relative to the workspace.
    pub fn cwd(&self) -> &str {
        self.cwd.as_deref().filter(|path| !path.is_empty()).unwrap_or(".")
    }

    /// Returns the timeout of the health command.
    pub fn health_timeout(&self) -> Seconds {
        self.timeout
            .unwrap_or_else(|| Seconds::new(Runtime::DEFAULT_TIMEOUT).expect("the default is positive"))
    }

    /// Returns the place of a field, or of the entry's header if the field is absent.
    pub fn place_of(&self, field: &str) -> Place {
        match fields::RUNTIME.position(FieldPath::parse(field).name) {
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

/// The runtimes of a file, and its issues.
#[derive(Clone, Debug, Default)]
pub struct Runtimes {
    runtimes: Vec<Runtime>,
    issues: Vec<ConfigIssue>,
    user_issues: Vec<ConfigIssue>,
}

impl Runtimes {
    /// Creates a list of runtimes.
    pub fn new(runtimes: Vec<Runtime>, issues: Vec<ConfigIssue>) -> Runtimes {
        Runtimes { runtimes, issues, user_issues: Vec::new() }
    }

    pub(crate) fn with_user_issues(self, user_issues: Vec<ConfigIssue>) -> Runtimes {
        Runtimes { user_issues, ..self }
    }

    pub(crate) fn into_parts(self) -> (Vec<Runtime>, Vec<ConfigIssue>) {
        (self.runtimes, self.issues)
    }

    /// Returns all runtimes in file order, including disabled and broken ones.
    pub fn runtimes(&self) -> &[Runtime] {
        &self.runtimes
    }

    /// Returns the issues of the user's file. They do not affect the project.
    pub fn user_issues(&self) -> &[ConfigIssue] {
        &self.user_issues
    }

    /// Returns the issues in file order.
    pub fn issues(&self) -> &[ConfigIssue] {
        &self.issues
    }

    /// Returns the runtime with exactly this id, or the first one if there are several.
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
    fn effects_open_a_container() {
        let check = |effects: &[&str], expect: &str| {
            let effects: Vec<String> = effects.iter().map(|effect| (*effect).to_owned()).collect();
            let opened = Runtime::opened_container("docker run --rm --network none -e 'A  B' img", &effects);
            assert_eq!(opened.unwrap(), format!("docker run --rm {expect}-e 'A  B' img"));
        };
        check(&[], "--network none ");
        check(&["remote-read"], "");
        check(&["local-read"], "--network none -v ./:/workspace:ro -w /workspace ");
        check(&["local-write", "network"], "-v ./:/workspace:ro -w /workspace ");
        let opened = format!("docker run {NO_NETWORK} {WORKSPACE_MOUNT} img");
        for other in ["docker run img", opened.as_str()] {
            assert_eq!(Runtime::opened_container(other, &[]), None);
        }
    }

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

    #[test]
    fn a_private_home_stays_below_the_state() {
        let home = |id: &str, home| Runtime { home, ..Runtime::new(id, "sleep 9").unwrap() }.home_path();
        assert_eq!(home("a", None), None);
        assert_eq!(home("a", Some(RuntimeHome::User)), None);
        let private = |id| home(id, Some(RuntimeHome::Private)).unwrap();
        assert_eq!(private("io.acme_a-1"), ".brigade/tools/runtime/io.acme_a-1/home");
        for id in ["..", "a/../../b", ".x"] {
            assert!(private(id).starts_with(".brigade/tools/runtime/id-"), "{id}");
        }
        let url = Some("https://mcp.example.com/mcp".to_owned());
        let home = Some(RuntimeHome::Private);
        assert_eq!(Runtime { url, home, ..Runtime::new("a", "x").unwrap() }.home_path(), None);
    }
}
