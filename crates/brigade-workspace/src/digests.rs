//! A cache for the sha256 of large programs that cannot change.
//!
//! A plan, an approval and a run each need the bytes of the program. Reading an interpreter of 100 MB takes longer than
//! running most scripts. So `.brigade/tools/digests.json` caches the digest of a file that has at least
//! [`MIN_PROGRAM_BYTES`] and is sealed: on a read-only file system, or under fs-verity. The key is its device, inode,
//! length, and modification and change times. Other files are always read, because root can write through a mapping
//! without changing length and times.
//!
//! If the file is missing or invalid, programs are read.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use brigade_core::json::{from_json, matching, pretty_text};
use brigade_core::{Dialect, Fingerprint, Json, Timestamp};
use brigade_exec::{FileStamp, KnownDigests};
use brigade_fs::{Fs, RelPath};
use serde::{Deserialize, Serialize};

use crate::host::Host;

/// The cache file.
const DIGESTS: &str = ".brigade/tools/digests.json";

/// The schema id of that file.
const SCHEMA: &str = "brigade.digests.v1";

/// The maximum size of that file, and the maximum number of digests.
const LIMIT: u64 = 64 << 10;
const MAX_DIGESTS: usize = 64;

/// The minimum size of a cached program, in bytes.
const MIN_PROGRAM_BYTES: u64 = 1 << 20;

/// The minimum age of a file's last change. A second change soon after may have the same time.
const MIN_FILE_AGE_MICROS: i64 = 2_000_000;

/// The cache, read on first use.
#[derive(Debug, Default)]
pub struct Digests {
    stored: OnceLock<BTreeMap<String, Fingerprint>>,
    learned: Mutex<BTreeMap<String, Fingerprint>>,
    /// Whether it holds for one look only, so that it also remembers files that can change.
    is_brief: bool,
}

/// The file.
#[derive(Serialize, Deserialize)]
struct Document {
    schema: String,
    #[serde(deserialize_with = "matching")]
    files: BTreeMap<String, Fingerprint>,
}

/// Parses the file; empty if it is invalid.
fn parse(bytes: &[u8]) -> BTreeMap<String, Fingerprint> {
    let document = Json::parse_bytes(bytes, Dialect::Strict).ok();
    match document.map(|json| from_json::<Document>(&json)) {
        Some(Ok(document)) if document.schema == SCHEMA => document.files,
        _ => BTreeMap::new(),
    }
}

fn path() -> RelPath {
    RelPath::from_static(DIGESTS)
}

fn is_worth_remembering(stamp: &FileStamp, now: Timestamp) -> bool {
    let changed = stamp.changed_micros();
    stamp.is_sealed()
        && MIN_PROGRAM_BYTES <= stamp.length()
        && changed.saturating_add(MIN_FILE_AGE_MICROS) <= now.unix_micros()
}

impl Digests {
    /// Creates a cache for one look at many tools, which start the same programs. It is never stored.
    pub(crate) fn for_one_look() -> Digests {
        Digests { is_brief: true, ..Digests::default() }
    }

    fn remembers(&self, stamp: &FileStamp, now: Timestamp) -> bool {
        self.is_brief || is_worth_remembering(stamp, now)
    }
}

impl KnownDigests for Host<'_> {
    fn limit(&self) -> u64 {
        self.fs.bound_file_limit().get()
    }

    fn recall(&self, stamp: &FileStamp) -> Option<Fingerprint> {
        if !self.digests.remembers(stamp, self.clock.now()) {
            return None;
        }
        let read = || self.fs.read(&path(), LIMIT).map(|bytes| parse(&bytes)).unwrap_or_default();
        let learned = self.digests.learned.lock().unwrap_or_else(PoisonError::into_inner);
        learned.get(&stamp.key()).or_else(|| self.digests.stored.get_or_init(read).get(&stamp.key())).copied()
    }

    fn learn(&self, stamp: &FileStamp, digest: Fingerprint) {
        if self.digests.remembers(stamp, self.clock.now()) {
            let mut learned = self.digests.learned.lock().unwrap_or_else(PoisonError::into_inner);
            learned.insert(stamp.key(), digest);
        }
    }
}

impl Digests {
    /// Stores new digests. Only called by commands that write anyway. Ignores write errors.
    pub fn keep(&self, fs: &dyn Fs) {
        let learned = std::mem::take(&mut *self.learned.lock().unwrap_or_else(PoisonError::into_inner));
        if learned.is_empty() {
            return;
        }
        let mut all = fs.read(&path(), LIMIT).map(|bytes| parse(&bytes)).unwrap_or_default();
        if MAX_DIGESTS < all.len() + learned.len() {
            all.clear();
        }
        all.extend(learned);
        let document = Document { schema: SCHEMA.to_owned(), files: all };
        let text = pretty_text(&document).expect("digests are JSON");
        let _ = fs.write_cache(&path(), text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;

    #[test]
    fn whatever_is_no_such_file_remembers_nothing() {
        let digest = Fingerprint::of_bytes(b"").to_hex();
        let good =
            format!(r#"{{"schema": "{SCHEMA}", "files": {{"1:2": "{digest}", "odd": "x", "none": 7}}}}"#);
        assert_eq!(parse(good.as_bytes()), BTreeMap::from([("1:2".to_owned(), Fingerprint::of_bytes(b""))]));
        for bad in ["", "[]", "{}", &good.replace(".v1", ".v2"), &good[..40]] {
            assert_eq!(parse(bad.as_bytes()), BTreeMap::new(), "{bad}");
        }
    }

    #[test]
    fn only_large_sealed_files_are_cached() {
        let now = Timestamp::from_unix_micros(100_000_000);
        let stamp = |is_sealed: bool, length: u64, seconds: i64| {
            FileStamp::new([1, 2, length], (0, 0), (seconds, 0), is_sealed)
        };
        assert!(is_worth_remembering(&stamp(true, MIN_PROGRAM_BYTES, 98), now));
        for other in [
            stamp(false, MIN_PROGRAM_BYTES, 98),
            stamp(true, MIN_PROGRAM_BYTES - 1, 98),
            stamp(true, MIN_PROGRAM_BYTES, 99),
            stamp(true, MIN_PROGRAM_BYTES, i64::MAX),
        ] {
            assert!(!is_worth_remembering(&other, now), "{other:?}");
        }
    }

    #[test]
    fn a_digest_is_known_at_once_and_stored_on_request() {
        let bench = Bench::new(&[]).much_later();
        bench.folder(".brigade/tools");
        let (sealed, other) = (
            FileStamp::new([1, 2, MIN_PROGRAM_BYTES], (0, 0), (0, 0), true),
            FileStamp::new([1, 3, MIN_PROGRAM_BYTES], (0, 0), (0, 0), false),
        );
        let digest = Fingerprint::of_bytes(b"program");
        let host = bench.host();
        assert_eq!(host.recall(&sealed), None);
        host.learn(&sealed, digest);
        host.learn(&other, digest);
        assert_eq!((host.recall(&sealed), host.recall(&other)), (Some(digest), None));
        assert_eq!(bench.read(DIGESTS), None);
        bench.context.digests.keep(&*bench.context.fs);
        // A later process.
        let digests = Digests::default();
        let later = Host { digests: &digests, ..host };
        assert_eq!((later.recall(&sealed), later.recall(&other)), (Some(digest), None));
    }

    #[test]
    fn one_look_remembers_every_program_and_a_full_file_begins_anew() {
        let bench = Bench::new(&[]);
        bench.folder(".brigade/tools");
        let look = Digests::for_one_look();
        let host = Host { digests: &look, ..bench.host() };
        let small = FileStamp::new([1, 2, 1], (0, 0), (0, 0), false);
        host.learn(&small, Fingerprint::of_bytes(b"x"));
        assert_eq!(host.recall(&small), Some(Fingerprint::of_bytes(b"x")));
        let stored = || parse(bench.read(DIGESTS).unwrap_or_default().as_bytes()).len();
        for inode in 0..MAX_DIGESTS as u64 {
            bench
                .context
                .digests
                .learned
                .lock()
                .unwrap()
                .insert(inode.to_string(), Fingerprint::of_bytes(b"x"));
            bench.context.digests.keep(&*bench.context.fs);
        }
        assert_eq!(stored(), MAX_DIGESTS);
        bench.context.digests.keep(&*bench.context.fs);
        assert_eq!(stored(), MAX_DIGESTS, "nothing was learned");
        bench.context.digests.learned.lock().unwrap().insert("new".to_owned(), Fingerprint::of_bytes(b"x"));
        bench.context.digests.keep(&*bench.context.fs);
        assert_eq!(stored(), 1);
    }
}
