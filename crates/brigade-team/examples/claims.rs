//! Compares the claims a second of runners with those of `pgbench` with the same statement, in one run.
//!
//! `cargo xtask bench --team` prints the rows.

#![allow(clippy::print_stdout, reason = "printing is all that this program does")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot continue fails")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures, and starts pgbench")]

#[path = "../../brigade-queue/tests/common/mod.rs"]
mod common;
#[path = "../tests/world/mod.rs"]
mod world;

use std::process::Command;
use std::thread;
use std::time::Instant;

use brigade_core::CallId;
use brigade_queue::{Durability, OnDuplicate};
use brigade_team::Role;
use brigade_testkit::Postgres;
use common::{approve, at, call, call_id, claim};
use world::{World, queue_on};

/// How many calls are claimed with each number of runners.
const CALLS: usize = 480;

/// The part of the claims of `pgbench` that is reached.
const TARGET: f64 = 0.5;

fn main() {
    let members = [("all", &[Role::Queuer, Role::Reviewer, Role::Runner][..])];
    let Some(world) = World::new("claims", &members) else { return };
    let programs = Postgres::programs("pgbench").unwrap();
    for runners in [1, 4, 16] {
        let ours = claim_all(&world, runners);
        let theirs = pgbench(&world, &programs.join("pgbench"), runners);
        let ratio = ours / theirs;
        let verdict = if TARGET <= ratio { "met" } else { "MISSED" };
        println!(
            "| claims a second of {runners} runners, beside `pgbench` with the same statement | \
             {ratio:.2} × ({ours:.0}) | {TARGET}: {verdict} |"
        );
    }
}

/// Queues and approves calls in a workspace.
fn queue_all(world: &World, workspace: &str) {
    let queue = queue_on(world.store("all", workspace));
    let id = |number: usize| format!("call-{number}");
    let mut make = |number: usize, _: &dyn Fn(&CallId) -> bool| call(&id(number), &id(number), 1);
    queue.lock(at(1)).unwrap().enqueue_all(CALLS, OnDuplicate::Queue, &mut make).unwrap();
    for number in 0..CALLS {
        approve(&queue, &id(number), 2).unwrap();
    }
}

/// Returns the claims a second of as many runners, each with its own connection.
fn claim_all(world: &World, runners: usize) -> f64 {
    let workspace = format!("ours-{runners}");
    queue_all(world, &workspace);
    let workers = (0..runners).map(|place| (place, queue_on(world.store("all", &workspace))));
    let workers: Vec<_> = workers.collect();
    for (_, queue) in &workers {
        drop(queue.lock(at(3)).unwrap());
    }
    let started = Instant::now();
    thread::scope(|scope| {
        for (place, queue) in &workers {
            scope.spawn(move || {
                for number in (*place..CALLS).step_by(runners) {
                    let (id, claim) = (call_id(&format!("call-{number}")), claim(&format!("run-{number}")));
                    let mut locked = queue.lock_for_run(at(3), Durability::AtOnce).unwrap();
                    locked.claim(&id, 2, claim, at(3)).unwrap();
                }
            });
        }
    });
    CALLS as f64 / started.elapsed().as_secs_f64()
}

/// Returns the claims a second of `pgbench` with as many clients.
fn pgbench(world: &World, program: &std::path::Path, clients: usize) -> f64 {
    let workspace = format!("pgbench-{clients}");
    queue_all(world, &workspace);
    let mut owner = world.psql("owner");
    let records = format!(
        "DROP TABLE IF EXISTS claims.bench; DROP SEQUENCE IF EXISTS claims.turn;
         CREATE SEQUENCE claims.turn;
         CREATE TABLE claims.bench AS
             SELECT row_number() OVER () AS n, c.id, o.run_id AS run, o.record
             FROM claims.calls c JOIN claims.calls o ON o.workspace = 'ours-{clients}' AND o.id = c.id
             WHERE c.workspace = '{workspace}';
         ALTER TABLE claims.bench ADD PRIMARY KEY (n); ANALYZE claims.bench;
         GRANT SELECT ON claims.bench TO PUBLIC; GRANT USAGE ON claims.turn TO PUBLIC"
    );
    owner.batch_execute(&records).unwrap();
    let script = std::env::temp_dir().join(format!("brigade-claims-{}.sql", std::process::id()));
    let statement = format!(
        "SELECT c.* FROM claims.bench b, claims.claim_call('{workspace}', b.id, 2, b.record, b.run, 'pgbench', \
         'host', 60, NULL) c WHERE b.n = (SELECT nextval('claims.turn'));\n"
    );
    std::fs::write(&script, statement).unwrap();
    let (clients_text, turns) = (clients.to_string(), (CALLS / clients).to_string());
    let words = ["-n", "-M", "prepared", "-c", &clients_text, "-j", "2", "-t", &turns, "-f"];
    let mut command = Command::new(program);
    let output = command.args(words).arg(&script).arg(world.url(&world.login("all"))).output().unwrap();
    std::fs::remove_file(&script).unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let rate = text.lines().find_map(|line| line.strip_prefix("tps = "));
    rate.unwrap().split(' ').next().unwrap().parse().unwrap()
}
