//! Any history of changes, compactions and lost caches leaves what a list in memory would hold.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use brigade_core::IdPrefix;
use brigade_fs::{Fs, MemoryFs};
use brigade_queue::{Calls, Enqueued, Match, OnDuplicate, Queue, Review, Runs};
use common::*;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Change {
    Enqueue { subject: u8 },
    EnqueueMany { count: u8 },
    Approve(u8),
    Hold(u8),
    Reject(u8),
    Run(u8),
    Compact,
    LoseCaches,
    Crash,
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (0u8..6).prop_map(|subject| Change::Enqueue { subject }),
        1 => (0u8..120).prop_map(|count| Change::EnqueueMany { count }),
        4 => any::<u8>().prop_map(Change::Approve),
        1 => any::<u8>().prop_map(Change::Hold),
        2 => any::<u8>().prop_map(Change::Reject),
        4 => any::<u8>().prop_map(Change::Run),
        2 => Just(Change::Compact),
        1 => Just(Change::LoseCaches),
        1 => Just(Change::Crash),
    ]
}

#[derive(Default)]
struct Model {
    /// Id, subject and status of each call.
    calls: Vec<(String, String, &'static str)>,
    runs: usize,
}

impl Model {
    /// Picks a call that stands at one of some statuses.
    fn pick(&self, number: u8, statuses: &[&str]) -> Option<usize> {
        let fitting: Vec<usize> =
            (0..self.calls.len()).filter(|place| statuses.contains(&self.calls[*place].2)).collect();
        (!fitting.is_empty()).then(|| fitting[usize::from(number) % fitting.len()])
    }
}

fn apply(change: Change, fs: &mut MemoryFs, model: &mut Model) {
    let queue = queue(fs.clone(), true);
    let mut locked = queue.lock(at(1)).unwrap();
    match change {
        Change::Enqueue { subject } => {
            let (id, subject) = (format!("call-{}", model.calls.len()), format!("subject {subject}"));
            let blocking = |call: &&(String, String, &str)| {
                call.1 == subject && ["pending", "approved", "rejected"].contains(&call.2)
            };
            let expect = model.calls.iter().find(blocking).cloned();
            match (enqueue_locked(&mut *locked, &id, &subject, 1).unwrap(), expect) {
                (Enqueued::Queued(_), None) => model.calls.push((id, subject, "pending")),
                (Enqueued::Duplicate(found), Some((id, _, "pending" | "approved"))) => {
                    assert_eq!(found.call.id.as_str(), id);
                }
                (Enqueued::Rejected(found), Some((id, _, "rejected"))) => {
                    assert_eq!(found.call.id.as_str(), id)
                }
                (outcome, expect) => panic!("{outcome:?}, expected {expect:?}"),
            }
        }
        Change::EnqueueMany { count } => {
            let first = model.calls.len();
            let id = |number: usize| format!("call-{}", first + number);
            let mut make =
                |number, _: &dyn Fn(&brigade_core::CallId) -> bool| call(&id(number), &id(number), 1);
            locked.enqueue_all(usize::from(count), OnDuplicate::Skip, &mut make, at(1)).unwrap();
            model.calls.extend((0..usize::from(count)).map(|number| (id(number), id(number), "pending")));
        }
        Change::Approve(number) | Change::Hold(number) | Change::Reject(number) => {
            let (from, to): (&[&str], &str) = match change {
                Change::Approve(_) => (&["pending", "held"], "approved"),
                Change::Hold(_) => (&["pending", "held", "approved"], "held"),
                _ => (&["pending", "held", "approved"], "rejected"),
            };
            let Some(place) = model.pick(number, from) else { return };
            let id = call_id(&model.calls[place].0);
            let revision = locked.view().call(&id).unwrap().unwrap().revision;
            let review = match change {
                Change::Approve(_) => Review::Approve(Box::new(binding())),
                Change::Hold(_) => Review::Hold("later".into()),
                _ => Review::Reject("no".into()),
            };
            locked.review(&id, revision, review, at(1)).unwrap();
            model.calls[place].2 = to;
        }
        Change::Run(number) => {
            drop(locked);
            let Some(place) = model.pick(number, &["approved"]) else { return };
            let (id, run) = (model.calls[place].0.clone(), format!("run-{}", model.runs));
            start(&queue, &id, &run, 1).unwrap();
            finish(&queue, &id, &run, "completed", 1, Vec::new()).unwrap();
            model.calls[place].2 = "completed";
            model.runs += 1;
        }
        Change::Compact => drop(locked.compact(at(1)).unwrap()),
        Change::LoseCaches => {
            let folder = path(".brigade/tools/calls");
            for entry in fs.list_dir(&folder).into_iter().flatten() {
                if entry.name.ends_with(".index") {
                    fs.remove(&folder.join(&entry.name).unwrap()).unwrap();
                }
            }
        }
        Change::Crash => {
            drop(locked);
            *fs = fs.after_crash(|_| 0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn any_history_is_remembered(changes in prop::collection::vec(any_change(), 0..40)) {
        let mut fs = MemoryFs::new();
        let mut model = Model::default();
        for change in changes {
            apply(change, &mut fs, &mut model);
        }
        let queue = queue(fs, true);
        let view = queue.read().unwrap();
        let expect: Vec<String> = model.calls.iter().map(|(id, _, status)| format!("{id} {status}")).collect();
        prop_assert_eq!(listed(&*view, &Calls::All), expect.clone());
        let mut newest_first = Vec::new();
        view.for_each_newest(&Calls::All, &mut |stored| {
            newest_first.push(format!("{} {}", stored.call.id, stored.call.status));
            ControlFlow::Continue(())
        })
        .unwrap();
        prop_assert!(newest_first.iter().rev().eq(&expect));
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for (id, _, status) in &model.calls {
            *counts.entry((*status).to_owned()).or_default() += 1;
            let Match::One(found) = view.find_call(&IdPrefix::new(id)).unwrap() else { panic!("{id}") };
            prop_assert_eq!(found.call.status.as_str(), *status);
        }
        prop_assert_eq!(view.call_counts().unwrap(), counts);
        prop_assert_eq!(view.runs(Runs::All).unwrap().receipts.len(), model.runs);
        prop_assert!(view.verify(1).unwrap().findings.is_empty());
        prop_assert!(view.damage().unwrap().is_empty());
    }
}
