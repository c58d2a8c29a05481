//! Reads the input of the kitchen: configuration, policy, role texts, and PRDs.

mod crew;
mod find;
mod state;

use std::path::Path;

use brigade_core::{ConfigIssue, Place, Severity};
use brigade_fs::{FsError, FsErrorKind, Location, RelPath};
use brigade_kitchen::config::{Config, ConfigFile, Settings, Switch};
use brigade_kitchen::{Tier, adapter};
use brigade_policy::{ErrorLine, Failure, PolicyState};
use brigade_workspace::read_policy;

pub use crew::{Crew, Worker};
pub(crate) use find::{LATEST, PRD_LIMIT, leads_out, taken_alone};
pub use find::{PrdFile, PrdNames, PrdSearch};
pub use state::PrdState;

use crate::kitchen::Kitchen;
use crate::paths::KITCHEN;
use crate::projections::unusable_paths;

/// The configuration file in TOML.
pub const KITCHEN_TOML: &str = ".brigade/kitchen.toml";

/// Paths of the shell program's configuration, in order of precedence.
pub const SHELL_CONFIGS: [&str; 2] = ["brigade/brigade.config", "brigade.config"];

/// The default directory of worktrees.
const WORKTREES: &str = ".brigade/kitchen/worktrees";

/// The directory of role texts, and their names.
const CHEF: &str = "brigade/chef";
const ROLE_TEXTS: [&str; 3] = ["executive.md", "sous.md", "line.md"];

/// The maximum size of a configuration file or role text.
const CONFIG_LIMIT: u64 = 4 << 20;

/// The configuration of a workspace.
pub struct Configuration {
    /// The keys, and issues of their files.
    pub config: Config,
    /// The policy.
    pub policy: PolicyState,
    /// The role texts of the workspace, by file name.
    pub role_texts: Vec<(&'static str, String)>,
}

impl Configuration {
    /// Lists the issues of the configuration, in the order of its files.
    pub fn issues(&self) -> Vec<ErrorLine> {
        self.config.issues.iter().map(ErrorLine::from).collect()
    }

    /// Lists settings that have no effect as written, with their places.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let issues = self.config.issues.iter();
        issues.filter(|issue| issue.severity == Severity::Warning).map(ToString::to_string).collect()
    }

    /// Lists the environment variables that the worker of a tier gets: the configured ones, or those of its adapter.
    pub(crate) fn env_labels(&self, tier: Tier) -> &[String] {
        let settings = &self.config.settings;
        let command = settings.command(tier);
        let adapter =
            || adapter::choose(&self.config.adapters, settings.adapter_name(tier), command.argv()).ok();
        let labels = settings.env_labels(tier);
        labels.or_else(|| adapter().map(|adapter| adapter.env_labels.as_slice())).unwrap_or_default()
    }
}

impl Kitchen<'_> {
    /// Reads the configuration. Problems of a file become issues.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn configuration(&self) -> Result<Configuration, Failure> {
        let mut unreadable = Vec::new();
        let mut shell = None;
        for name in SHELL_CONFIGS {
            if shell.is_none() {
                shell = self.config_file(name, &mut unreadable)?.map(|bytes| (name, bytes));
            }
        }
        let toml = self.config_file(KITCHEN_TOML, &mut unreadable)?;
        let shell = shell.as_ref().map(|(name, bytes)| ConfigFile { name, bytes });
        let toml = toml.as_ref().map(|bytes| ConfigFile { name: KITCHEN_TOML, bytes });
        let mut config = Config::read(shell, toml);
        let mut role_texts = Vec::new();
        for file in ROLE_TEXTS {
            let path = format!("{CHEF}/{file}");
            let Some(bytes) = self.config_file(&path, &mut unreadable)? else { continue };
            match String::from_utf8(bytes) {
                Ok(text) => role_texts.push((file, text)),
                Err(_) => unreadable.push(issue(
                    Severity::Error,
                    Place::file(&path),
                    "the file is not UTF-8 text".to_owned(),
                )),
            }
        }
        config.issues.splice(0..0, unreadable);
        for (key, message) in unusable_paths(&*self.fs, &config.settings) {
            let place = config.places.get(key).cloned().unwrap_or_else(|| Place::file(KITCHEN_TOML));
            let found = issue(Severity::Warning, place, message.to_owned());
            config.issues.push(ConfigIssue { field: Some(key.to_owned()), ..found });
        }
        let policy = read_policy(&*self.fs, &self.trust);
        if let Some(message) = self.no_place_for_worktrees(&config.settings, &policy) {
            let key = "worktree.path";
            let place = config.places.get(key).cloned().unwrap_or_else(|| Place::file(KITCHEN_TOML));
            let found = issue(Severity::Error, place, message);
            config.issues.push(ConfigIssue { field: Some(key.to_owned()), ..found });
        }
        Ok(Configuration { config, policy, role_texts })
    }

    /// Returns why the configured directory for worktrees cannot be used: it is outside of the workspace and not
    /// allowed by the policy, or git or Brigade use it for something else.
    fn no_place_for_worktrees(&self, settings: &Settings, policy: &PolicyState) -> Option<String> {
        if settings.worktrees == Switch::Off {
            return None;
        }
        let is_of_git = |path: &Path| path.iter().any(|name| name.eq_ignore_ascii_case(".git"));
        let why = match self.fs.resolve(&settings.worktree_path, None) {
            Err(error) => return Some(format!("it cannot be used: {error}")),
            Ok(Location::Inside(path)) => {
                let path = path.as_path();
                if path.iter().all(|name| name == ".") {
                    "it is the workspace itself"
                } else if is_of_git(path) {
                    "git keeps its own files there"
                } else if self.is_reserved(path) {
                    "Brigade keeps other files there"
                } else {
                    return None;
                }
            }
            Ok(Location::Outside(path)) => {
                let home = self.environment.home();
                let is_listed = |listed: &String| match self.fs.resolve(listed, home) {
                    Ok(Location::Outside(listed)) => path.starts_with(listed),
                    _ => false,
                };
                let outside = policy.policy().map(|policy| &policy.outside_paths);
                if is_of_git(&path) {
                    "git keeps its own files there"
                } else if outside.is_some_and(|outside| outside.values().any(is_listed)) {
                    return None;
                } else {
                    "it is outside of the workspace, and `outside` in [paths] of the policy does not list it"
                }
            }
        };
        Some(format!("{why}; the default is `{WORKTREES}`"))
    }

    /// Returns whether Brigade stores other files there: files of people, tools, receipts or PRDs.
    fn is_reserved(&self, path: &Path) -> bool {
        if path == Path::new("brigade") {
            return true;
        }
        if ["brigade/tasks", "brigade/chef", "tasks"].iter().any(|folder| path.starts_with(folder)) {
            return true;
        }
        let Ok(inside) = path.strip_prefix(".brigade") else { return false };
        let mut names = inside.iter().map(|name| name.to_string_lossy());
        let (Some("kitchen"), Some(name)) = (names.next().as_deref(), names.next()) else { return true };
        let journal = RelPath::from_static(KITCHEN).join(&format!("{name}/journal.jsonl"));
        let is_of_prd = journal.is_ok_and(|path| self.fs.exists(&path).unwrap_or(false));
        name == "runs" || name.starts_with('+') || name.starts_with("prd-") || is_of_prd
    }

    /// Reads an optional file. It is an issue if the path is not a file.
    fn config_file(&self, name: &str, issues: &mut Vec<ConfigIssue>) -> Result<Option<Vec<u8>>, FsError> {
        match self.fs.read(&RelPath::composed(name), CONFIG_LIMIT) {
            Ok(bytes) => Ok(Some(bytes)),
            // `brigade` may be a file, such as the program of that name.
            Err(error) if matches!(error.kind, FsErrorKind::NotFound | FsErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(error) => match error.kind {
                FsErrorKind::NotAFile
                | FsErrorKind::Outside
                | FsErrorKind::DanglingLink
                | FsErrorKind::TooLarge { .. } => {
                    issues.push(issue(Severity::Error, Place::file(name), error.kind.to_string()));
                    Ok(None)
                }
                _ => Err(error),
            },
        }
    }
}

/// Makes the issue for a whole file. Nothing is started while the file cannot be read.
fn issue(severity: Severity, place: Place, message: String) -> ConfigIssue {
    ConfigIssue { severity, place, entry: None, field: None, message, hint: None }
}
