//! Files of the workspace that count only on this host. What git tracks does not count, because a cloned repository may
//! have brought it. Of the configuration, a person may accept the bytes as they are.

use brigade_call::{CALLS, SeenPart, TEAM};
use brigade_core::{ConfigIssue, Fingerprint};
use brigade_fs::{Fs, FsError, RelPath};
use brigade_policy::approval::ReviewState;

use crate::agent_tools::{GATEWAY, PROFILES};
use crate::config::{POLICY, read_config};
use crate::context::WorkspaceContext;
use crate::trust::{TrustKind, TrustStore, TrustTarget};

/// The configuration that gives rights. A person may accept the bytes of such a file if git tracks it.
const CONFIGURATION: [&str; 3] = [POLICY, GATEWAY, PROFILES];

/// Files that hold approvals and answers. One that git tracks is never accepted.
const STATE: [&str; 4] = [CALLS, ".brigade/tools/state.db", ".brigade/tools/state.db-wal", TEAM];

/// The directory of pins, which git must not track, either.
const PINS: &str = ".brigade/tools/pins";

/// A configuration file that git tracks and whose bytes no person accepted on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackedConfig {
    /// The file.
    pub file: &'static str,
    /// The sha256 of its bytes.
    pub sha256: Fingerprint,
}

impl TrustStore {
    /// Refuses the bytes of a configuration file if git tracks it and no person of this host accepted them.
    #[allow(clippy::result_large_err, reason = "an issue is made once for a file")]
    pub(crate) fn require_counting(&self, fs: &dyn Fs, file: &str, bytes: &[u8]) -> Result<(), ConfigIssue> {
        let accepted = || self.reviewed(fs, &target(file), &[part(bytes)]) == ReviewState::Yes;
        match brigade_fs::is_tracked(fs, file) && !accepted() {
            true => Err(ConfigIssue::tracked(file)),
            false => Ok(()),
        }
    }

    /// Lists the configuration that does not count, because git tracks it.
    pub fn tracked_config(&self, fs: &dyn Fs) -> Vec<TrackedConfig> {
        let found = CONFIGURATION.into_iter().filter_map(|file| {
            let bytes = read_config(fs, file).ok()?;
            self.require_counting(fs, file, &bytes).err()?;
            Some(TrackedConfig { file, sha256: Fingerprint::of_bytes(&bytes) })
        });
        found.collect()
    }
}

impl WorkspaceContext {
    /// Accepts the bytes of a configuration file that a person was shown.
    ///
    /// # Errors
    /// Fails on a disk error, and if there is no key to sign with.
    pub fn accept_config(&self, shown: &TrackedConfig) -> Result<(), FsError> {
        let part = SeenPart { name: CONTENT.to_owned(), path: None, fingerprint: shown.sha256 };
        self.trust.record(&*self.fs, self.now(), target(shown.file), &[part], "state adopt")
    }
}

/// The name of the only part of a configuration file.
const CONTENT: &str = "content";

fn target(file: &str) -> TrustTarget {
    TrustTarget::new(TrustKind::File, file)
}

fn part(bytes: &[u8]) -> SeenPart {
    SeenPart { name: CONTENT.to_owned(), path: None, fingerprint: Fingerprint::of_bytes(bytes) }
}

/// Lists the existing files of the state that git tracks.
pub fn tracked_state(fs: &dyn Fs) -> Vec<String> {
    let pins = fs.list_dir(&RelPath::from_static(PINS)).unwrap_or_default();
    let pins = pins.into_iter().map(|entry| format!("{PINS}/{}", entry.name));
    let is_there = |file: &String| fs.exists(&RelPath::composed(file)).unwrap_or(true);
    let files = STATE.map(str::to_owned).into_iter().chain(pins).filter(is_there);
    files.filter(|file| brigade_fs::is_tracked(fs, file)).collect()
}
