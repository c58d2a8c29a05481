//! What a person has reviewed: tools, and programs that Brigade starts by itself.
//!
//! A record in `.brigade/tools/trusted.json` has the fingerprint of each part that was shown, and a MAC of this host.
//! So no file of a cloned repository counts. Tools and programs need no record if no agent can write any of their
//! files. The digests of programs that no agent can write are left out, because they change with updates of the system.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use brigade_access::{NotifyCommand, Worker};
use brigade_call::{Plan, SeenPart};
use brigade_catalog::Reads;
use brigade_core::json::{from_json, pretty_text};
use brigade_core::{Dialect, Fingerprint, Json, Timestamp, words};
use brigade_fs::{FileMode, Fs, FsError, Location, Metadata, RelPath, WorkspaceKey};
use brigade_policy::PolicyState;
use brigade_policy::approval::ReviewState;
use brigade_redact::SecretValue;
use serde::{Deserialize, Serialize};

use crate::host::{Host, bound_values};
use crate::own_programs::writable_directories;
use crate::workers::{named_health, named_workers};

/// The file.
pub const TRUSTED: &str = ".brigade/tools/trusted.json";

/// The lock of the file.
const LOCK: &str = ".brigade/tools/trusted.lock";

/// The schema id of the file.
const SCHEMA: &str = "brigade.trusted.v1";

/// The domain of the MACs.
const DOMAIN: &str = "brigade.trusted.v1";

/// The maximum size of the file.
const MAX_BYTES: u64 = 16 << 20;

/// How long a writer waits for the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The name of the program of `[notify]` in what a person reviews.
const NOTIFY: &str = "[notify]";

/// The id of the only program of `[notify]`.
const NOTIFY_ID: &str = "command";

/// Directories below `.brigade/tools` that hold files which people reviewed, and that no agent can write.
const REVIEWED_FOLDERS: [&str; 2] = ["schemas", "packs"];

words! {
    /// The kind of what a person reviews.
    TrustKind {
        /// A tool that agents call.
        Tool = "tool",
        /// The command of a runtime.
        Runtime = "runtime",
        /// The health command of a runtime.
        Health = "health",
        /// A worker of tasks, which may also be the judge.
        Worker = "worker",
        /// The program of `[notify]`.
        Notify = "notify",
        /// A configuration file that git tracks.
        File = "file",
    }
}

/// What a person reviews, such as `deploy` or `runtime:db`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrustTarget {
    /// The kind.
    pub kind: TrustKind,
    /// The id in its configuration.
    pub id: String,
}

impl TrustTarget {
    /// Names a thing by its kind and id.
    pub fn new(kind: TrustKind, id: impl Into<String>) -> TrustTarget {
        TrustTarget { kind, id: id.into() }
    }

    /// Names the program of `[notify]`.
    pub fn notify() -> TrustTarget {
        TrustTarget::new(TrustKind::Notify, NOTIFY_ID)
    }

    /// Names the tool of a plan. Each server has its own reader of resources.
    pub fn for_plan(plan: &Plan) -> TrustTarget {
        let server = plan.contract().mcp_server_id.as_deref();
        let id = match Reads::of_tool_id(plan.tool_id()).and(server) {
            Some(server) => format!("{}@{server}", plan.tool_id()),
            None => plan.tool_id().to_owned(),
        };
        TrustTarget::new(TrustKind::Tool, id)
    }
}

impl fmt::Display for TrustTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            TrustKind::Tool => f.write_str(&self.id),
            kind => write!(f, "{kind}:{}", self.id),
        }
    }
}

impl FromStr for TrustTarget {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<TrustTarget, Self::Err> {
        let named = text.split_once(':').and_then(|(kind, id)| Some((kind.parse().ok()?, id)));
        let (kind, id) = named.unwrap_or((TrustKind::Tool, text));
        Ok(TrustTarget::new(kind, id))
    }
}

/// What a person reviewed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrustRecord {
    /// The kind.
    pub kind: TrustKind,
    /// The id in its configuration.
    pub id: String,
    /// What was shown, by its name, with its fingerprint.
    pub parts: BTreeMap<String, Fingerprint>,
    /// What the person did: `tools trust`, or the approved call.
    pub by: String,
    /// When.
    pub at: Timestamp,
    mac: String,
}

/// The file.
#[derive(Serialize, Deserialize)]
struct Document {
    schema: String,
    trusted: Vec<TrustRecord>,
}

type Records = BTreeMap<TrustTarget, TrustRecord>;

/// The records of a workspace, read again only if the file changed.
#[derive(Debug)]
pub struct TrustStore {
    key: Arc<WorkspaceKey>,
    known: Mutex<Option<(Metadata, Arc<Records>)>>,
}

impl Default for TrustStore {
    /// Creates a store whose records nothing else can read.
    fn default() -> TrustStore {
        TrustStore::new(Arc::new(WorkspaceKey::temporary()))
    }
}

impl TrustStore {
    /// Creates the store. Reads nothing.
    pub fn new(key: Arc<WorkspaceKey>) -> TrustStore {
        TrustStore { key, known: Mutex::default() }
    }

    /// Returns the key of this host, which signs the records.
    pub fn key(&self) -> &WorkspaceKey {
        &self.key
    }

    /// Returns whether a person reviewed these parts.
    pub fn reviewed(&self, fs: &dyn Fs, target: &TrustTarget, parts: &[SeenPart]) -> ReviewState {
        if parts.is_empty() {
            return ReviewState::Yes;
        }
        let records = self.records(fs);
        let Some(record) = records.get(target) else { return ReviewState::Never };
        let now: BTreeMap<&str, Fingerprint> =
            parts.iter().map(|part| (part.name.as_str(), part.fingerprint)).collect();
        let names: BTreeSet<&str> =
            now.keys().copied().chain(record.parts.keys().map(String::as_str)).collect();
        let is_changed = |name: &&str| now.get(name) != record.parts.get(*name);
        let changed: Vec<String> = names.into_iter().filter(is_changed).map(str::to_owned).collect();
        if changed.is_empty() { ReviewState::Yes } else { ReviewState::Changed(changed) }
    }

    /// Records that a person reviewed these parts, unless nothing changed. Without parts, no record is needed.
    ///
    /// # Errors
    /// Fails on a disk error, and if there is no key to sign with.
    pub fn record(
        &self,
        fs: &dyn Fs,
        now: Timestamp,
        target: TrustTarget,
        parts: &[SeenPart],
        by: &str,
    ) -> Result<(), FsError> {
        if self.reviewed(fs, &target, parts) == ReviewState::Yes {
            return Ok(());
        }
        let holder = format!("process {} (trust)", std::process::id());
        let _lock = fs.lock(&RelPath::from_static(LOCK), &holder, LOCK_TIMEOUT)?;
        let parts = parts.iter().map(|part| (part.name.clone(), part.fingerprint)).collect();
        let TrustTarget { kind, id } = target.clone();
        let mut record = TrustRecord { kind, id, parts, by: by.to_owned(), at: now, mac: String::new() };
        record.mac = self.key.sign(DOMAIN, &record.content())?;
        let mut records = (*self.records(fs)).clone();
        records.insert(target, record);
        let document = Document { schema: SCHEMA.to_owned(), trusted: records.into_values().collect() };
        let text = pretty_text(&document).expect("names and fingerprints are JSON");
        fs.write_atomic(&RelPath::from_static(TRUSTED), text.as_bytes(), FileMode::Private)
    }

    /// Returns the records that this host made. An unreadable file has none.
    fn records(&self, fs: &dyn Fs) -> Arc<Records> {
        let path = RelPath::from_static(TRUSTED);
        let Ok(metadata) = fs.metadata(&path) else { return Arc::default() };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((stamp, records)) = &*known
            && *stamp == metadata
        {
            return records.clone();
        }
        let document = fs.read(&path, MAX_BYTES).ok().and_then(|bytes| {
            let json = Json::parse_bytes(&bytes, Dialect::Strict).ok()?;
            from_json::<Document>(&json).ok().filter(|document| document.schema == SCHEMA)
        });
        let of_host = |record: &TrustRecord| self.key.verify(DOMAIN, &record.content(), Some(&record.mac));
        let records = document.map(|document| document.trusted).unwrap_or_default().into_iter();
        let records = records.filter(of_host).map(|record| (record.target(), record));
        let records = Arc::new(records.collect::<Records>());
        // A file without an identity is not on a disk, and its times may be those of a test.
        *known = metadata.id.is_some().then(|| (metadata, records.clone()));
        records
    }
}

impl TrustRecord {
    fn target(&self) -> TrustTarget {
        TrustTarget::new(self.kind, self.id.clone())
    }

    /// Returns what the MAC covers.
    fn content(&self) -> Vec<u8> {
        let parts = self.parts.iter().map(|(name, fingerprint)| (name, fingerprint.to_hex()));
        let fingerprint = Fingerprint::builder(SCHEMA)
            .text("kind", self.kind.as_str())
            .text("id", self.id.as_str())
            .table("parts", parts)
            .text("by", self.by.as_str())
            .text("at", self.at.to_string().as_str())
            .finish();
        fingerprint.to_hex().into_bytes()
    }
}

/// The places that agents and their runs may write under a policy.
#[derive(Clone, Debug, Default)]
pub struct WritablePlaces {
    /// Directories with everything below them, and where their links lead.
    directories: Vec<PathBuf>,
    secrets: Vec<SecretValue>,
}

impl WritablePlaces {
    /// Reads what a policy opens for writing, and the values that it binds, which no record may name.
    pub fn new(host: &Host<'_>, policy: &PolicyState) -> WritablePlaces {
        let mut directories = writable_directories(host.fs.root(), host.home(), policy);
        let real: Vec<PathBuf> =
            directories.iter().filter_map(|path| real_path(host, path.to_str()?)).collect();
        directories.extend(real);
        WritablePlaces { directories, secrets: bound_values(host.environment, policy) }
    }

    /// Returns whether agents may write a path: relative to the workspace, or absolute.
    fn contains(&self, host: &Host<'_>, path: &str) -> bool {
        let root = host.fs.root();
        let written = root.join(path);
        // Configuration is closed, unless a link on the way leads elsewhere.
        let inside = written.strip_prefix(root).ok().and_then(Path::to_str);
        if let Some(path) = inside.filter(|path| is_configuration(path)) {
            return !matches!(host.fs.resolve(path, None), Ok(Location::Inside(real)) if real.as_str() == path);
        }
        let real = real_path(host, path);
        let is_below = |path: &Path| self.directories.iter().any(|directory| path.starts_with(directory));
        is_below(&written) || real.is_some_and(|real| is_below(&real))
    }

    /// Returns the parts that a person has to review: none if agents can write none of the files, otherwise the
    /// configuration and those that they can write.
    pub fn to_review(&self, host: &Host<'_>, mut parts: Vec<SeenPart>) -> Vec<SeenPart> {
        parts.retain(|part| part.path.as_deref().is_none_or(|path| self.contains(host, path)));
        if parts.iter().all(|part| part.path.is_none()) {
            parts.clear();
        }
        for part in &mut parts {
            let secrets = self.secrets.iter().filter(|secret| secret.is_telling());
            let secrets = secrets.filter_map(|secret| std::str::from_utf8(secret.expose()).ok());
            for secret in secrets.filter(|secret| part.name.contains(secret)).collect::<Vec<_>>() {
                // Names that look alike stay different.
                let digest = Fingerprint::of_bytes(part.name.as_bytes()).to_hex();
                part.name = format!("{} ({})", part.name.replace(secret, "[redacted]"), &digest[..8]);
            }
        }
        parts
    }
}

/// Returns where the links of a path lead.
fn real_path(host: &Host<'_>, path: &str) -> Option<PathBuf> {
    match host.fs.resolve(path, None).ok()? {
        Location::Outside(real) => Some(real),
        Location::Inside(real) => Some(host.fs.root().join(real.as_path())),
    }
}

/// Returns whether a path of the workspace is one of Brigade's own files, which no agent can write.
fn is_configuration(path: &str) -> bool {
    match *path.split('/').collect::<Vec<_>>() {
        [".brigade", _] | [".brigade", "tools", _] => true,
        [".brigade", "tools", folder, _, ..] => REVIEWED_FOLDERS.contains(&folder),
        _ => false,
    }
}

impl Host<'_> {
    /// Returns whether a person reviewed everything that calls of a planned tool would run.
    pub fn reviewed_plan(&self, policy: &PolicyState, plan: &Plan) -> ReviewState {
        self.reviewed(policy, &TrustTarget::for_plan(plan), plan.seen_parts())
    }

    /// Records that a person reviewed everything that a planned call runs: its tool, and the health commands and
    /// workers that it starts.
    ///
    /// # Errors
    /// Fails on a disk error, and if there is no key to sign with.
    pub fn record_plan(&self, policy: &PolicyState, plan: &Plan, by: &str) -> Result<(), FsError> {
        let named = &plan.binding().named;
        let mut all = named_workers(named);
        all.extend(named_health(named));
        all.insert(TrustTarget::for_plan(plan), plan.seen_parts());
        for (target, parts) in all {
            self.record_review(policy, target, parts, by)?;
        }
        Ok(())
    }

    /// Records that a person reviewed these parts of a thing.
    ///
    /// # Errors
    /// As [`Host::record_plan`].
    pub fn record_review(
        &self,
        policy: &PolicyState,
        target: TrustTarget,
        parts: Vec<SeenPart>,
        by: &str,
    ) -> Result<(), FsError> {
        let parts = WritablePlaces::new(self, policy).to_review(self, parts);
        self.trust.record(self.fs, self.clock.now(), target, &parts, by)
    }

    /// Returns whether a person reviewed a worker of tasks.
    pub fn reviewed_worker(&self, policy: &PolicyState, worker: &Worker) -> ReviewState {
        let target = TrustTarget::new(TrustKind::Worker, worker.id.as_str());
        self.reviewed(policy, &target, self.worker_parts(worker))
    }

    /// Returns what a person reviews of a worker.
    pub fn worker_parts(&self, worker: &Worker) -> Vec<SeenPart> {
        named_workers(&self.worker_files(worker)).into_values().flatten().collect()
    }

    /// Returns whether a person reviewed the program of `[notify]`.
    pub fn reviewed_notify(&self, policy: &PolicyState, notify: &NotifyCommand) -> ReviewState {
        self.reviewed(policy, &TrustTarget::notify(), self.notify_parts(notify))
    }

    /// Returns what a person reviews of the program of `[notify]`.
    pub fn notify_parts(&self, notify: &NotifyCommand) -> Vec<SeenPart> {
        named_workers(&self.command_files(NOTIFY, &notify.command)).into_values().flatten().collect()
    }

    /// Returns whether a person reviewed the parts of a thing that agents can write.
    pub fn reviewed(&self, policy: &PolicyState, target: &TrustTarget, parts: Vec<SeenPart>) -> ReviewState {
        self.trust.reviewed(self.fs, target, &WritablePlaces::new(self, policy).to_review(self, parts))
    }
}

#[cfg(test)]
mod tests;
