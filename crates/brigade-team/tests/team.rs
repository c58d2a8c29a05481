//! Teams on a PostgreSQL server of this program. One program has all of these tests, so that one server is started.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

#[macro_use]
#[path = "../../brigade-queue/tests/suite/mod.rs"]
mod suite;
mod administration;
mod approvals;
mod claims;
mod roles;
mod runners;
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use brigade_queue::{Queue, Store};
use brigade_team::Role;
use proptest::prelude::*;
use suite::common::TestHost;
use suite::{StoreUnderTest, any_change, remembers};
use world::World;

/// A separate workspace, of a member with every role.
struct PostgresStore(Arc<dyn Store>);

impl PostgresStore {
    fn new() -> Option<PostgresStore> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let world = World::shared("conformance", &[("all", &Role::ALL[..3])])?;
        let workspace = format!("w{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        Some(PostgresStore(Arc::new(world.store("all", &workspace))))
    }
}

impl StoreUnderTest for PostgresStore {
    fn queue(&self, runners_live: bool) -> Queue {
        Queue::new(self.0.clone(), Arc::new(TestHost { runners_live, fs: None }))
    }

    fn store(&self) -> Arc<dyn Store> {
        self.0.clone()
    }
}

mod postgres_store {
    suite!(super::PostgresStore::new());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_is_remembered(changes in prop::collection::vec(any_change(), 0..40)) {
        if let Some(store) = PostgresStore::new() {
            remembers(&store, &changes);
        }
    }
}
