//! What is known of a runtime: data alone, which the crate that supervises runtimes fills in.

mod issue;

use std::collections::BTreeMap;

use brigade_call::{RuntimeHealth, RuntimeMetadata, RuntimeStatus};
use brigade_catalog::Runtime;
use brigade_core::{Extra, Object, Timestamp};

pub use issue::RuntimeIssue;

/// What a health check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// Whether it is healthy.
    pub ok: bool,
    /// Why, in a sentence without secrets and without a final stop.
    pub detail: String,
    /// When it was checked.
    pub checked_at: Timestamp,
}

impl Health {
    /// Returns what lists and receipts say of it.
    pub fn to_record(&self) -> RuntimeHealth {
        RuntimeHealth {
            ok: self.ok,
            detail: self.detail.clone(),
            checked_at: Some(self.checked_at),
            ..RuntimeHealth::default()
        }
    }
}

/// How a runtime stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuntimeState {
    /// A process of it runs.
    Running,
    /// None does.
    Stopped,
    /// None does, and a pid file says otherwise.
    Stale,
}

impl RuntimeState {
    /// Returns `running`, `stopped` or `stale`.
    pub const fn as_str(self) -> &'static str {
        match self {
            RuntimeState::Running => "running",
            RuntimeState::Stopped => "stopped",
            RuntimeState::Stale => "stale",
        }
    }
}

/// What is known of one runtime, for lists, for doctor and for the calls that need it.
#[derive(Clone, Debug, PartialEq)]
pub struct RuntimeFacts {
    /// Its id.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Whether it is in use.
    pub enabled: bool,
    /// The command that starts it, as configured.
    pub command: String,
    /// The folder that it runs in, relative to the workspace where it is inside.
    pub cwd: String,
    /// The port that it listens on.
    pub port: Option<u16>,
    /// The process that runs, else the one that a stale pid file names.
    pub pid: Option<u32>,
    /// How it stands.
    pub state: RuntimeState,
    /// Whether the process that runs is proved to be the one that Brigade started. No other is ever signalled.
    pub managed: bool,
    /// When the process was started.
    pub started_at: Option<Timestamp>,
    /// The pid file, relative to the workspace; as configured when it cannot be used.
    pub pid_path: String,
    /// The metadata file, relative to the workspace.
    pub metadata_path: String,
    /// The log of standard output, relative to the workspace; as configured when it cannot be used.
    pub stdout_log_path: String,
    /// The log of standard error, likewise.
    pub stderr_log_path: String,
    /// The configured health file, likewise.
    pub health_path: Option<String>,
    /// What the health check found just now; absent when it does not run or was not checked.
    pub health: Option<Health>,
    /// What the last check found, this one included; perhaps long ago and of an earlier process.
    pub last_health: Option<Health>,
    /// Whether there is the configured health file; absent when none is configured.
    pub has_health_file: Option<bool>,
    /// The metadata file's content.
    pub metadata: Option<Object>,
    /// What is wrong.
    pub issues: Vec<RuntimeIssue>,
}

impl RuntimeFacts {
    /// Takes what the entry of a runtime says; nothing was looked at yet.
    pub fn of(runtime: &Runtime) -> RuntimeFacts {
        RuntimeFacts {
            id: runtime.id.to_string(),
            name: runtime.name.clone(),
            enabled: runtime.enabled,
            command: runtime.command.clone(),
            cwd: runtime.cwd().to_owned(),
            port: runtime.port,
            pid: None,
            state: RuntimeState::Stopped,
            managed: false,
            started_at: None,
            pid_path: runtime.pid_path(),
            metadata_path: String::new(),
            stdout_log_path: format!("{}.stdout", runtime.log_path()),
            stderr_log_path: format!("{}.stderr", runtime.log_path()),
            health_path: runtime.health_path.clone(),
            health: None,
            last_health: None,
            has_health_file: None,
            metadata: None,
            issues: Vec::new(),
        }
    }

    /// Tells whether a process of it runs.
    pub fn running(&self) -> bool {
        self.state == RuntimeState::Running
    }

    /// Tells whether a pid file is left of a process that has ended.
    pub fn stale_pid(&self) -> bool {
        self.state == RuntimeState::Stale
    }

    /// Tells whether calls may depend on it: it runs, is managed, and was found healthy just now.
    pub fn is_usable(&self) -> bool {
        self.running() && self.managed && self.health.as_ref().is_some_and(|health| health.ok)
    }

    /// Returns what 0.30.0 says of the health of a runtime that was never checked: one that runs is well, unless its
    /// health file is missing. What nothing proves to be the runtime has no health.
    fn unchecked_health(&self) -> (Option<bool>, String) {
        let ok = |ok: bool| (self.running() && self.managed).then_some(ok);
        match (&self.health_path, self.has_health_file) {
            (Some(path), Some(true)) if self.running() => (ok(true), format!("health path present: {path}")),
            (Some(path), Some(false)) if self.running() => {
                (ok(false), format!("health path missing: {path}"))
            }
            (_, _) => (ok(true), "not configured".to_owned()),
        }
    }

    /// Returns how it stands, for lists and receipts; paths are relative to the workspace. As in 0.30.0,
    /// `health_detail` is `not configured` when nothing is known of the health.
    pub fn status(&self) -> RuntimeStatus {
        // Without a check just now, what was found last of one that runs; its own start checked it.
        let remembered = self.last_health.as_ref().filter(|_| self.running());
        let health = self.health.as_ref().or(remembered);
        let (health_ok, health_detail) = match health {
            Some(health) => (Some(health.ok), health.detail.clone()),
            None => self.unchecked_health(),
        };
        let metadata = |members: &Object| RuntimeMetadata::from_members(members.clone()).ok();
        RuntimeStatus {
            id: self.id.clone(),
            name: self.name.clone(),
            enabled: self.enabled,
            command: self.command.clone(),
            cwd: Some(self.cwd.clone()),
            port: self.port.map(u32::from),
            pid: self.pid,
            state: self.state.as_str().to_owned(),
            running: self.running(),
            managed: self.managed,
            stale_pid: self.stale_pid(),
            started_at: self.started_at,
            pid_path: self.pid_path.clone(),
            metadata_path: self.metadata_path.clone(),
            stdout_log_path: Some(self.stdout_log_path.clone()),
            stderr_log_path: Some(self.stderr_log_path.clone()),
            health_path: self.health_path.clone(),
            health_ok,
            health_detail: Some(health_detail),
            health_checked_at: health.map(|health| health.checked_at),
            last_health: self.last_health.as_ref().map(Health::to_record),
            metadata: self.metadata.as_ref().and_then(metadata),
            issues: self.issues.iter().map(RuntimeIssue::to_record).collect(),
            issue_count: self.issues.len() as u64,
            extra: Extra::default(),
        }
    }
}

/// How many runtimes stand how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCounts {
    /// Runtimes that run.
    pub running: usize,
    /// Runtimes that do not.
    pub stopped: usize,
    /// Runtimes with a stale pid file.
    pub stale: usize,
}

impl StateCounts {
    /// Counts.
    pub fn of(runtimes: &[RuntimeFacts]) -> StateCounts {
        let count = |state| runtimes.iter().filter(|runtime| runtime.state == state).count();
        StateCounts {
            running: count(RuntimeState::Running),
            stopped: count(RuntimeState::Stopped),
            stale: count(RuntimeState::Stale),
        }
    }

    /// Returns how many are `running`, `stopped` and `stale`; those that are zero are left out, as 0.30.0 did.
    pub fn by_state(&self) -> BTreeMap<String, u64> {
        [("running", self.running), ("stopped", self.stopped), ("stale", self.stale)]
            .into_iter()
            .filter(|(_, count)| *count != 0)
            .map(|(state, count)| (state.to_owned(), count as u64))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use brigade_core::Json;

    use super::*;

    #[test]
    fn items_have_every_key_of_the_original() {
        let mut runtime = Runtime::new("r", "x").unwrap();
        runtime.port = Some(8765);
        let facts = RuntimeFacts::of(&runtime);
        let json = facts.status().to_members();
        let keys = "id name enabled command cwd port pid state running managed stale_pid pid_path metadata_path \
            stdout_log_path stderr_log_path health_path health_ok health_detail metadata issues issue_count";
        for key in keys.split_whitespace() {
            assert!(json.contains_key(key), "{key}");
        }
        assert_eq!(json["port"], Json::from(8765));
        assert_eq!(
            (&json["health_ok"], &json["health_detail"]),
            (&Json::Null, &Json::from("not configured"))
        );
        let last = Health { ok: true, detail: "fine".to_owned(), checked_at: Timestamp::from_unix_micros(0) };
        let known = RuntimeFacts { last_health: Some(last), ..facts.clone() };
        assert_eq!(known.status().health_ok, None, "what does not run is not healthy");
        let running = RuntimeFacts { state: RuntimeState::Running, ..known };
        assert_eq!(running.status().health_ok, Some(true));
        assert_eq!(StateCounts::of(&[facts]).by_state(), BTreeMap::from([("stopped".to_owned(), 1)]));
    }
}
