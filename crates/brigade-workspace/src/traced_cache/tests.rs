#![allow(clippy::disallowed_methods, reason = "a test changes files as another process would")]

use brigade_core::{Clock, Timestamp};
use brigade_exec::HostEnvironment;
use brigade_fs::{DiskFs, Fs as _, RelPath};

use super::*;
use crate::config::{read_catalog, read_policy};
use crate::digests::Digests;

struct FixedClock(i64);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_micros(self.0)
    }
}

/// Checks whether a value that was cached after reading this file is still valid after a change.
#[track_caller]
fn check(what: &str, now: i64, change: impl FnOnce(&std::path::Path), holds: bool) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("pin.json"), "one").unwrap();
    std::fs::create_dir(folder.path().join(".brigade")).unwrap();
    std::fs::write(folder.path().join(".brigade/tools.toml"), "").unwrap();
    let fs = DiskFs::open(folder.path()).unwrap();
    let (environment, digests, clock) = (HostEnvironment::default(), Digests::default(), FixedClock(now));
    let (environment, digests, trust) = (&environment, &digests, &crate::TrustStore::default());
    let host = Host { fs: &fs, environment, digests, trust, clock: &clock, names: None };
    let config = || Arc::new(Config::new(&host, read_catalog(&fs).unwrap(), read_policy(&fs, trust)));
    let (known, first) = (TracedCache::default(), config());
    let path = |text: &str| text.parse::<RelPath>().unwrap();
    let traced = TracingFs::new(&fs);
    traced.read(&path("pin.json"), 99).unwrap();
    assert!(!traced.exists(&path("other.json")).unwrap());
    known.keep("tool", &host, &first, traced, 7);
    assert!(known.get(&"another", &first).is_none(), "{what}");
    assert!(known.get(&"tool", &config()).is_none(), "{what}: a configuration that was read again");
    change(folder.path());
    assert_eq!(known.get(&"tool", &first).map(|entry| entry.value), holds.then_some(7), "{what}");
}

#[test]
fn what_was_read_holds_until_a_file_moves() {
    let late = i64::MAX / 2;
    let write = |name: &'static str, text: &'static str| {
        move |folder: &std::path::Path| std::fs::write(folder.join(name), text).unwrap()
    };
    check("nothing", late, |_| (), true);
    check("another file", late, write("unseen", "x"), true);
    check("the pin", late, write("pin.json", "two!"), false);
    check("a pin in another place", late, write("other.json", "x"), false);
    check("no pin", late, |folder| std::fs::remove_file(folder.join("pin.json")).unwrap(), false);
    let replace = |folder: &std::path::Path| {
        std::fs::write(folder.join("new"), "one").unwrap();
        std::fs::rename(folder.join("new"), folder.join("pin.json")).unwrap();
    };
    check("a pin with the same bytes in another file", late, replace, false);
}

#[test]
fn what_changed_just_now_is_not_remembered() {
    check("at once", 0, |_| (), false);
}
