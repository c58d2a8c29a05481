//! Runs the contract of every store on the journal.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

#[macro_use]
mod suite;

use std::sync::{Arc, Mutex};

use brigade_fs::{Fs, MemoryFs};
use brigade_queue::{Calls, Queue, Store};
use proptest::prelude::*;
use suite::common::*;
use suite::{StoreUnderTest, any_change, remembers};

struct FileStore(Mutex<MemoryFs>);

impl FileStore {
    fn new() -> FileStore {
        FileStore(Mutex::new(MemoryFs::new()))
    }

    fn test_queue(&self, runners_live: bool) -> TestQueue {
        queue(self.0.lock().unwrap().clone(), runners_live)
    }
}

impl StoreUnderTest for FileStore {
    fn queue(&self, runners_live: bool) -> Queue {
        self.test_queue(runners_live).clone()
    }

    fn store(&self) -> Arc<dyn Store> {
        self.test_queue(true).journal
    }

    fn compact(&self) {
        self.test_queue(true).compact(at(1)).unwrap();
    }

    fn lose_caches(&self) {
        let fs = self.0.lock().unwrap();
        let folder = path(".brigade/tools/calls");
        for entry in fs.list_dir(&folder).into_iter().flatten() {
            if entry.name.ends_with(".index") {
                fs.remove(&folder.join(&entry.name).unwrap()).unwrap();
            }
        }
    }

    fn crash(&self) {
        let mut fs = self.0.lock().unwrap();
        *fs = fs.after_crash(|_| 0);
    }
}

mod journal {
    suite!(Some(super::FileStore::new()), and
        a_new_call_can_be_stored_with_its_claim a_run_without_a_runner_is_interrupted);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn any_history_is_remembered(changes in prop::collection::vec(any_change(), 0..40)) {
        let files = FileStore::new();
        remembers(&files, &changes);
        prop_assert!(files.test_queue(true).damage().unwrap().is_empty());
        let listed = listed(&files.queue(true).read().unwrap(), &Calls::All);
        prop_assert_eq!(files.test_queue(true).listed_as_text(), listed);
    }
}
