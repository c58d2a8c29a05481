//! What is known of a runtime: data alone, which the crate that supervises runtimes fills in.

mod issue;

use brigade_catalog::Runtime;
use brigade_core::{Json, Object, Timestamp};

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
    /// Returns the members `ok`, `detail` and `checked_at`.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("ok", Json::from(self.ok)),
            ("detail", self.detail.as_str().into()),
            ("checked_at", self.checked_at.to_string().into()),
        ])
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

    /// Returns what 0.30.0 says of the health of a runtime that was never checked: one that runs is well, unless its health file
    /// is missing. What nothing proves to be the runtime has no health.
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

    /// Returns the item of lists and receipts, with the keys of 0.30.0 and `started_at`, `health_checked_at` and
    /// `last_health`. As there, `health_detail` is `not configured` when nothing is known of the health.
    pub fn to_json(&self) -> Object {
        // Without a check just now, what was found last of one that runs; its own start checked it.
        let remembered = self.last_health.as_ref().filter(|_| self.running());
        let health = self.health.as_ref().or(remembered);
        let (health_ok, health_detail) = match health {
            Some(health) => (Some(health.ok), health.detail.clone()),
            None => self.unchecked_health(),
        };
        let issues: Vec<Json> = self.issues.iter().map(|issue| Json::Object(issue.to_json())).collect();
        let members = [
            ("id", Json::from(self.id.as_str())),
            ("name", self.name.as_str().into()),
            ("enabled", self.enabled.into()),
            ("command", self.command.as_str().into()),
            ("cwd", self.cwd.as_str().into()),
            ("port", self.port.map(u32::from).into()),
            ("pid", self.pid.into()),
            ("state", self.state.as_str().into()),
            ("running", self.running().into()),
            ("managed", self.managed.into()),
            ("stale_pid", self.stale_pid().into()),
            ("started_at", self.started_at.map(|at| at.to_string()).into()),
            ("pid_path", self.pid_path.as_str().into()),
            ("metadata_path", self.metadata_path.as_str().into()),
            ("stdout_log_path", self.stdout_log_path.as_str().into()),
            ("stderr_log_path", self.stderr_log_path.as_str().into()),
            ("health_path", self.health_path.clone().into()),
            ("health_ok", health_ok.into()),
            ("health_detail", health_detail.into()),
            ("health_checked_at", health.map(|health| health.checked_at.to_string()).into()),
            ("last_health", self.last_health.as_ref().map_or(Json::Null, Health::to_json)),
            ("metadata", self.metadata.clone().into()),
            ("issue_count", issues.len().into()),
            ("issues", Json::Array(issues)),
        ];
        members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
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

    /// Returns the members `running`, `stopped` and `stale`; those that are zero are left out, as 0.30.0 did.
    pub fn to_json(&self) -> Object {
        [("running", self.running), ("stopped", self.stopped), ("stale", self.stale)]
            .into_iter()
            .filter(|(_, count)| *count != 0)
            .map(|(state, count)| (state.to_owned(), count.into()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_have_every_key_of_the_original() {
        let mut runtime = Runtime::new("r", "x").unwrap();
        runtime.port = Some(8765);
        let facts = RuntimeFacts::of(&runtime);
        let json = facts.to_json();
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
        assert_eq!(known.to_json()["health_ok"], Json::Null, "what does not run is not healthy");
        let running = RuntimeFacts { state: RuntimeState::Running, ..known };
        assert_eq!(running.to_json()["health_ok"], Json::from(true));
        assert_eq!(
            StateCounts::of(&[facts]).to_json(),
            Object::from([("stopped".to_owned(), Json::from(1))])
        );
    }
}
