//! Measures the queue of a team: an idle runner, the time from an approval to its run, claims, and a long history.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use brigade_testkit::Postgres;
use postgres::Client;
use postgres::fallible_iterator::FallibleIterator as _;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::cargo::{cargo, run_command};
use crate::postgres::{Server, broken, connect};
use crate::repository::{Failure, Repository};
use crate::torture::world::{Checkout, DEADLINE, Runner, until};
use crate::torture::{Homes, make_team};

/// How many calls are measured.
const TURNS: u32 = 21;

/// As many finished calls as a list shows: more should cost nothing.
const FEW: u32 = 50;

/// How long an idle runner is watched.
const IDLE: Duration = Duration::from_secs(30);

/// Prints the measurements, if PostgreSQL is installed. The claims are those of a library with this profile.
pub fn measure(repository: &Repository, binary: &Path, profile: &str, calls: u32) -> Result<(), Failure> {
    let Some(programs) = Postgres::programs("the bench of a team") else { return Ok(()) };
    let holder = tempfile::tempdir().map_err(|error| Failure::new(error.to_string()))?;
    let root = holder.path().canonicalize().map_err(Failure::at(holder.path()))?;
    let server = Server::start(&programs)?;
    let homes = make_team(server.directory(), binary, &root)?;
    let bench = Bench { binary, root: &root, server: &server, homes: &homes };
    println!("### A team\n\n| what | measured | target |\n| :--- | ---: | :--- |");
    bench.idle()?;
    bench.start()?;
    let words =
        ["run", "--locked", "--quiet", "--package", "brigade-team", "--example", "claims", "--profile"];
    run_command(cargo(repository, words).arg(profile))?;
    bench.history(calls)
}

struct Bench<'a> {
    binary: &'a Path,
    root: &'a Path,
    server: &'a Server,
    homes: &'a Homes,
}

fn row(what: &str, measured: &str, target: &str, is_met: bool) {
    println!("| {what} | {measured} | {target}: {} |", if is_met { "met" } else { "MISSED" });
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Returns a time as microseconds since 1970.
fn micros(time: SystemTime) -> f64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64() * 1e6)
}

impl Bench<'_> {
    fn checkout(&self, workspace: &str, member: &str) -> Result<Checkout, Failure> {
        let root = self.root.join(format!("{workspace}-{member}"));
        let made = Checkout::new(self.binary, root, self.homes[member].clone(), member)?;
        let url = format!("postgresql:///postgres?host={}&user={member}", self.server.directory().display());
        made.join(&url, workspace)?;
        Ok(made)
    }

    fn client(&self) -> Result<Client, Failure> {
        connect(self.server.directory(), "owner").map_err(broken)
    }

    /// Counts the statements of a runner that has nothing to do.
    fn idle(&self) -> Result<(), Failure> {
        let runner = Runner::start(&self.checkout("idle", "box-1")?)?;
        let statements = || {
            let log = std::fs::read_to_string(self.server.directory().join("log")).unwrap_or_default();
            log.lines()
                .filter(|line| line.contains("LOG:  execute ") || line.contains("LOG:  statement: "))
                .count()
        };
        let mut client = self.client()?;
        let mut log = |what: &str| {
            client.batch_execute(&format!("ALTER SYSTEM SET log_statement = '{what}'")).map_err(broken)?;
            client.batch_execute("SELECT pg_reload_conf()").map_err(broken)
        };
        log("all")?;
        thread::sleep(Duration::from_secs(1));
        let before = statements();
        thread::sleep(IDLE);
        let count = statements() - before;
        log("none")?;
        runner.stop()?;
        let rate = count as f64 / IDLE.as_secs_f64();
        row("statements a second of an idle runner", &format!("{rate:.2}"), "1", rate <= 1.0);
        Ok(())
    }

    /// Measures how long after the notification about an approval its program starts, less the start of a process.
    fn start(&self) -> Result<(), Failure> {
        let (asker, judge) = (self.checkout("start", "asker")?, self.checkout("start", "judge")?);
        let runner = Runner::start(&self.checkout("start", "box-1")?)?;
        let mut client = self.client()?;
        let sql = "SELECT substring(query from 'brigade_[0-9a-f]{32}') FROM pg_stat_activity WHERE query LIKE 'LISTEN%'
            AND usename = 'box-1'";
        let channel =
            until(DEADLINE, || client.query(sql, &[]).ok()?.first().map(|row| row.get::<_, String>(0)));
        let channel = channel.ok_or_else(|| Failure::new("the runner does not listen"))?;
        client.batch_execute(&format!("LISTEN {channel}")).map_err(broken)?;
        let (mut waits, mut spawns) = (Vec::new(), Vec::new());
        for turn in 0..TURNS {
            let id = queue(&asker, turn)?;
            while client
                .notifications()
                .timeout_iter(Duration::from_millis(300))
                .next()
                .map_err(broken)?
                .is_some()
            {}
            let notified = thread::scope(|scope| {
                let client = &mut client;
                let notified = scope.spawn(move || {
                    let found = client.notifications().timeout_iter(DEADLINE).next();
                    found.map(|found| found.map(|_| micros(SystemTime::now())))
                });
                judge.run(&["tools", "call", "approve", &id], "")?.expect("approve")?;
                let found = notified.join().expect("it does not panic").map_err(broken)?;
                found.ok_or_else(|| Failure::new("no notification came"))
            })?;
            let started = until(DEADLINE, || started_at(&runner.events(), &id));
            let started = started.ok_or_else(|| Failure::new("the call does not start"))?;
            waits.push((started - notified) / 1e3);
            let spawning = Instant::now();
            let _ = Command::new("/bin/true").status();
            spawns.push(spawning.elapsed().as_secs_f64() * 1e3);
            until(DEADLINE, || {
                runner.events().contains(&format!("\"{id}\",\"event\":\"finished\"")).then_some(())
            });
        }
        runner.stop()?;
        let more = median(waits) - median(spawns);
        let measured = format!("{more:.1} ms");
        row(
            "approval to started program, more than `NOTIFY` and a process",
            &measured,
            "20 ms",
            more <= 20.0,
        );
        Ok(())
    }

    /// Compares commands on a workspace with finished calls with the same on one with few.
    fn history(&self, calls: u32) -> Result<(), Failure> {
        let full = [
            self.checkout("full", "asker")?,
            self.checkout("full", "judge")?,
            self.checkout("full", "box-1")?,
        ];
        let few =
            [self.checkout("few", "asker")?, self.checkout("few", "judge")?, self.checkout("few", "box-1")?];
        let sql = "INSERT INTO brigade.calls (workspace, id, sequence, revision, status, tool_id, family, effects, created,
                queued_by, approved_revision, run_id, claimed_by, host, fence, record, request)
            SELECT c.workspace, n.id, 2 + n.number, c.revision, c.status, c.tool_id, c.family, c.effects, c.created + n.number,
                c.queued_by, c.approved_revision, c.run_id || '-' || n.number, c.claimed_by, c.host, c.fence,
                coalesce(replace(replace(c.record, c.id, n.id), c.run_id, c.run_id || '-' || n.number),
                    replace(c.record, c.id, n.id)),
                CASE WHEN c.request IS NOT NULL THEN encode(sha256(n.id::bytea), 'hex') END
            FROM (SELECT number, 'call-' || lpad(to_hex(number), 16, '0') AS id
                FROM generate_series(1, $1::bigint) AS number) n
            JOIN brigade.calls c ON c.workspace = $2 AND c.sequence = 1 + n.number % 2";
        let mut client = self.client()?;
        for ([asker, judge, host], name, calls) in [(&full, "full", calls), (&few, "few", FEW)] {
            let first = queue(asker, 0)?;
            judge.run(&["tools", "call", "approve", &first], "")?.expect("approve")?;
            host.run(&["team", "runner", "--once"], "")?.expect("team runner")?;
            let second = queue(asker, TURNS + 1)?;
            judge.run(&["tools", "call", "reject", &second, "--reason", "no"], "")?.expect("reject")?;
            client.execute(sql, &[&i64::from(calls), &name]).map_err(broken)?;
        }
        client.batch_execute("ANALYZE brigade.calls").map_err(broken)?;
        let mut times = [(); 4].map(|()| [Vec::new(), Vec::new()]);
        for turn in 1..=TURNS {
            for (place, checkouts) in [&full, &few].into_iter().enumerate() {
                let [asker, judge, host] = checkouts;
                let mut timed = |what: usize, run: &dyn Fn() -> Result<(), Failure>| {
                    let started = Instant::now();
                    run()?;
                    times[what][place].push(started.elapsed().as_secs_f64() * 1e3);
                    Ok::<(), Failure>(())
                };
                let id = std::cell::RefCell::new(String::new());
                timed(0, &|| queue(asker, turn).map(|queued| *id.borrow_mut() = queued))?;
                let id = id.into_inner();
                let approve = ["tools", "call", "approve", &id];
                timed(1, &|| judge.run(&approve, "")?.expect("approve").map(|_| ()))?;
                timed(2, &|| host.run(&["team", "runner", "--once"], "")?.expect("team runner").map(|_| ()))?;
                let list = ["tools", "call", "list", "--limit", "50"];
                timed(3, &|| asker.run(&list, "")?.expect("list").map(|_| ()))?;
            }
        }
        for (what, [full, few]) in
            ["`call queue`", "`approve`", "claim and run", "`list --limit 50`"].iter().zip(times)
        {
            let (full, few) = (median(full), median(few));
            let ratio = full / few;
            let what = format!("{what} after {calls} finished and rejected calls, beside {FEW}");
            row(&what, &format!("{ratio:.2} × ({full:.0} ms)"), "1.2", ratio <= 1.2);
        }
        Ok(())
    }
}

/// Queues a call and returns its id.
fn queue(asker: &Checkout, number: u32) -> Result<String, Failure> {
    let args = format!("{{\"n\": {number}}}");
    let queued = asker.run(&["tools", "call", "queue", "tool", "--args", &args], "")?.expect("queue")?;
    Ok(queued["call"]["id"].as_str().unwrap_or_default().to_owned())
}

/// Returns when a call started, in microseconds since 1970.
fn started_at(events: &str, id: &str) -> Option<f64> {
    let events = events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut started = events.filter(|event| event["event"] == "started" && event["call_id"] == id);
    let at = OffsetDateTime::parse(started.next()?["at"].as_str()?, &Rfc3339).ok()?;
    Some(at.unix_timestamp_nanos() as f64 / 1e3)
}
