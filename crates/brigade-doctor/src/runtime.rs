//! The facts of a runtime. The crate `brigade-runtime` gathers them.

mod issue;
mod needed;
mod record;

use std::collections::BTreeMap;

use brigade_call::{RuntimeHealth, RuntimeMetadata, RuntimeStatus};
use brigade_catalog::{Masks, Runtime};
use brigade_core::{StepFormatter, Timestamp, words};

pub use issue::RuntimeIssue;
pub use needed::{needed_runtime, not_usable};
pub use record::{config_record, not_to_be_started, start_blockers};

/// The result of a health check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// Whether it is healthy.
    pub ok: bool,
    /// The reason: one sentence without secrets and without a final stop.
    pub detail: String,
    /// When it was checked.
    pub checked_at: Timestamp,
}

impl Health {
    /// Returns the record for lists and receipts.
    pub fn to_record(&self) -> RuntimeHealth {
        RuntimeHealth {
            ok: self.ok,
            detail: self.detail.clone(),
            checked_at: Some(self.checked_at),
            ..RuntimeHealth::default()
        }
    }
}

words! {
    /// The state of a runtime.
    RuntimeState {
        /// Its process is running.
        Running = "running",
        /// No process is running.
        Stopped = "stopped",
        /// No process is running, but there is a pid file.
        Stale = "stale",
    }
}

/// The facts of one runtime, for lists, `doctor` and calls.
#[derive(Clone, Debug, PartialEq)]
pub struct RuntimeFacts {
    /// Its id.
    pub id: String,
    /// Its display name.
    pub name: String,
    /// Whether it is enabled.
    pub enabled: bool,
    /// The command that starts it, for display.
    pub command: String,
    /// Its working directory, relative to the workspace if inside.
    pub cwd: String,
    /// Its port.
    pub port: Option<u16>,
    /// The running process, or the process in a stale pid file.
    pub pid: Option<u32>,
    /// Its state.
    pub state: RuntimeState,
    /// Whether the running process is verified to be the one that Brigade started. No other process is ever signalled.
    pub managed: bool,
    /// When the process was started.
    pub started_at: Option<Timestamp>,
    /// The labels of variables that it gets.
    pub env_labels: Vec<String>,
    /// The pid file, relative to the workspace; as configured if it cannot be used.
    pub pid_path: String,
    /// The metadata file, relative to the workspace.
    pub metadata_path: String,
    /// The log of standard output, relative to the workspace; as configured if it cannot be used.
    pub stdout_log_path: String,
    /// The log of standard error, relative to the workspace; as configured if it cannot be used.
    pub stderr_log_path: String,
    /// The configured health file, relative to the workspace; as configured if it cannot be used.
    pub health_path: Option<String>,
    /// The result of a new check; absent if it is not running or was not checked.
    pub health: Option<Health>,
    /// The result of the last check, including this one. It may be old and from an earlier process.
    pub last_health: Option<Health>,
    /// Whether the health file exists; absent if none is configured.
    pub has_health_file: Option<bool>,
    /// The metadata file's content, with its command for display.
    pub metadata: Option<RuntimeMetadata>,
    /// What is wrong.
    pub issues: Vec<RuntimeIssue>,
    /// Masks bound values in its [status](RuntimeFacts::status). Paths are exact here.
    pub masks: Masks,
}

impl RuntimeFacts {
    /// Creates facts from an entry, without checking anything. `masks` masks bound values for display.
    pub fn new(runtime: &Runtime, masks: &Masks) -> RuntimeFacts {
        let mut name = runtime.name.clone();
        masks.hide(&mut name);
        RuntimeFacts {
            id: runtime.id.to_string(),
            name,
            enabled: runtime.enabled,
            command: masks.shown_command(&runtime.command),
            cwd: runtime.cwd().to_owned(),
            port: runtime.port,
            pid: None,
            state: RuntimeState::Stopped,
            managed: false,
            started_at: None,
            env_labels: runtime.env_labels.clone(),
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
            masks: masks.clone(),
        }
    }

    /// Returns whether its process is running.
    pub fn running(&self) -> bool {
        self.state == RuntimeState::Running
    }

    /// Records a failed health check and its issue.
    pub fn fails(&mut self, runtime: &Runtime, health: Health) {
        self.issues.push(RuntimeIssue::of_health(runtime, &health));
        self.health = Some(health);
    }

    /// Returns whether it has a stale pid file.
    pub fn stale_pid(&self) -> bool {
        self.state == RuntimeState::Stale
    }

    /// Returns whether calls may depend on it: it is running and managed, and a new check found it healthy.
    pub fn is_usable(&self) -> bool {
        self.running() && self.managed && self.health.as_ref().is_some_and(|health| health.ok)
    }

    /// Returns the health of a runtime that was never checked, as v0.30 does: a running one is healthy unless its
    /// health file is missing. A process that is not verified to be the runtime has no health.
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

    /// Returns the record for lists and receipts, with paths relative to the workspace and bound values masked. As in
    /// v0.30, `health_detail` is `not configured` if the health is unknown. `speller` formats next steps.
    pub fn status(&self, speller: &dyn StepFormatter) -> RuntimeStatus {
        // Without a new check, a running runtime shows its last result, at least that of its start.
        let remembered = self.last_health.as_ref().filter(|_| self.running());
        let health = self.health.as_ref().or(remembered);
        let (health_ok, health_detail) = match health {
            Some(health) => (Some(health.ok), health.detail.clone()),
            None => self.unchecked_health(),
        };
        let mut status = RuntimeStatus::default();
        status.id = self.id.clone();
        status.name = self.name.clone();
        status.enabled = self.enabled;
        status.command = self.command.clone();
        status.cwd = Some(self.cwd.clone());
        status.env_labels = self.env_labels.clone();
        status.port = self.port.map(u32::from);
        status.pid = self.pid;
        status.state = self.state.as_str().to_owned();
        status.running = self.running();
        status.managed = self.managed;
        status.stale_pid = self.stale_pid();
        status.started_at = self.started_at;
        status.pid_path = self.pid_path.clone();
        status.metadata_path = self.metadata_path.clone();
        status.stdout_log_path = Some(self.stdout_log_path.clone());
        status.stderr_log_path = Some(self.stderr_log_path.clone());
        status.health_path = self.health_path.clone();
        status.health_ok = health_ok;
        status.health_detail = Some(health_detail);
        status.health_checked_at = health.map(|health| health.checked_at);
        status.last_health = self.last_health.as_ref().map(Health::to_record);
        status.metadata = self.metadata.clone();
        status.issues = self.issues.iter().map(|issue| issue.to_record(speller)).collect();
        status.issue_count = self.issues.len() as u64;
        status.texts_mut().for_each(|text| self.masks.hide(text));
        status
    }
}

/// The number of runtimes by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCounts {
    /// Running runtimes.
    pub running: usize,
    /// Stopped runtimes.
    pub stopped: usize,
    /// Runtimes with a stale pid file.
    pub stale: usize,
}

impl StateCounts {
    /// Counts runtimes by state.
    pub fn new(runtimes: &[RuntimeFacts]) -> StateCounts {
        let count = |state| runtimes.iter().filter(|runtime| runtime.state == state).count();
        StateCounts {
            running: count(RuntimeState::Running),
            stopped: count(RuntimeState::Stopped),
            stale: count(RuntimeState::Stale),
        }
    }

    /// Returns the counts of `running`, `stopped` and `stale`; zeros are left out, as in v0.30.
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
    use brigade_core::{Json, NeutralWords};

    use super::*;

    #[test]
    fn items_have_every_key_of_the_original() {
        let mut runtime = Runtime::new("r", "x").unwrap();
        runtime.port = Some(8765);
        let facts = RuntimeFacts::new(&runtime, &Masks::default());
        let json = facts.status(&NeutralWords).to_members();
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
        assert_eq!(known.status(&NeutralWords).health_ok, None, "what does not run is not healthy");
        let running = RuntimeFacts { state: RuntimeState::Running, ..known };
        assert_eq!(running.status(&NeutralWords).health_ok, Some(true));
        assert_eq!(StateCounts::new(&[facts]).by_state(), BTreeMap::from([("stopped".to_owned(), 1)]));
    }
}
