//! `cargo xtask torture team`: several runners, reviewers and queuers share a queue, while everything fails.
//!
//! One server has several workspaces, and each has its own proxy and two hosts with a runner. A trial queues some
//! calls, approves most of them, disturbs what runs, waits until each call has ended, and compares the database with
//! the file in which the tool notes its runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use brigade_testkit::Postgres;
use postgres::Client;
use rustix::process::Signal;

use super::TortureArguments;
use super::proxy::{Proxy, Weather, locked};
use super::random::Random;
use super::world::{Checkout, DEADLINE, Runner, processes_of_runs, until};
use crate::cargo::{build, cargo, run_command};
use crate::postgres::{Server, broken, connect};
use crate::repository::{Failure, Repository};

/// How many workspaces are disturbed at the same time. Most of a trial is waiting for leases.
const WORLDS: usize = 6;

/// How many trials are run without being asked for more.
const DEFAULT_TRIALS: usize = 100;

/// How many trials `cargo xtask ci` runs: in about a minute, with two failovers.
const CI_TRIALS: usize = 100;

/// The members, each with its roles and home.
const MEMBERS: [(&str, &[&str]); 4] = [
    ("asker", &["queuer"]),
    ("judge", &["queuer", "reviewer"]),
    ("box-1", &["runner"]),
    ("box-2", &["runner"]),
];

/// The homes of the members, by their names.
pub type Homes = BTreeMap<&'static str, PathBuf>;

/// What goes wrong in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Nothing,
    Network(Weather),
    /// Nothing is passed on for about as long as a lease.
    Hold,
    KillRunner,
    KillKeeper,
    KillServer,
    /// A runner is stopped for longer than its lease.
    Stop,
    /// Two runners have the same member and host name.
    Twin,
    /// The clock of the database is 10 minutes before or after that of the hosts.
    Clock,
    /// A standby without the last claims replaces the server.
    Failover,
}

const FAULTS: &[Fault] = &[
    Fault::Nothing,
    Fault::Network(Weather::Delay),
    Fault::Network(Weather::Cut),
    Fault::Network(Weather::Halve),
    Fault::Network(Weather::LoseAnswers),
    Fault::Hold,
    Fault::KillRunner,
    Fault::KillKeeper,
    Fault::KillServer,
    Fault::Stop,
    Fault::Twin,
    Fault::Clock,
];

/// One trial of this many is a failover.
const FAILOVER_EVERY: usize = 50;

/// Runs the trials with the binary of the tests, if PostgreSQL is installed.
pub fn run_if_installed(repository: &Repository) -> Result<(), Failure> {
    let Some(programs) = Postgres::programs("the torture of a team") else { return Ok(()) };
    torture(&programs, &build(repository)?, CI_TRIALS, 47)
}

pub fn run(repository: &Repository, arguments: &TortureArguments) -> Result<(), Failure> {
    let Some(programs) = Postgres::programs("the torture of a team") else { return Ok(()) };
    let binary = match &arguments.binary {
        Some(binary) => std::path::absolute(binary).map_err(Failure::at(binary))?,
        None => {
            let words = "build --release --locked --quiet --package brigade-cli";
            run_command(&mut cargo(repository, words.split(' ')))?;
            repository.root().join("target/release/brigade")
        }
    };
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
    torture(&programs, &binary, arguments.trials.unwrap_or(DEFAULT_TRIALS), arguments.seed.unwrap_or(since))
}

/// What the trials came to.
#[derive(Debug, Default)]
struct Counts {
    faults: BTreeMap<String, usize>,
    calls: BTreeMap<String, usize>,
    receipts: usize,
    late: usize,
}

/// What all workspaces share.
struct Cluster {
    server: Mutex<Server>,
    /// The directory of the socket of the server that clients reach.
    socket: Arc<Mutex<PathBuf>>,
    /// Held by each trial; a failover has all of it.
    quiet: RwLock<()>,
    /// How often the server was away.
    outages: AtomicU64,
    next: AtomicUsize,
    failed: AtomicBool,
    counts: Mutex<Counts>,
}

fn torture(programs: &Path, binary: &Path, trials: usize, seed: u64) -> Result<(), Failure> {
    let began = Instant::now();
    let holder = tempfile::tempdir().map_err(|error| Failure::new(error.to_string()))?;
    let server = Server::start(programs)?;
    let socket = Arc::new(Mutex::new(server.directory().to_owned()));
    let shared = Cluster {
        server: Mutex::new(server),
        socket,
        quiet: RwLock::new(()),
        outages: AtomicU64::new(0),
        next: AtomicUsize::new(0),
        failed: AtomicBool::new(false),
        counts: Mutex::default(),
    };
    // Failures keep their workspaces to look at.
    let root = holder.path().canonicalize().map_err(Failure::at(holder.path()))?;
    let made = make_team(&locked(&shared.socket), binary, &root);
    let result = made.and_then(|homes| {
        let make = |number| World::new(&shared, binary, &root, &homes, number, seed);
        let done = Barrier::new(WORLDS.min(trials));
        let worlds = (0..WORLDS.min(trials)).map(make).collect::<Result<Vec<_>, _>>()?;
        let done = &done;
        thread::scope(|scope| {
            let threads: Vec<_> = worlds
                .into_iter()
                .map(|mut world| scope.spawn(move || world.run_all(trials, seed, done)))
                .collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("no trial panics"))
        })
    });
    if let Err(failure) = result {
        let kept = holder.keep();
        let kept = kept.display();
        return Err(Failure::new(format!(
            "torture team: seed {seed}: {failure}\nthe checkouts are in {kept}"
        )));
    }
    let Counts { faults, calls, receipts, late } = &*locked(&shared.counts);
    let list = |counts: &BTreeMap<String, usize>| {
        counts.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
    };
    println!(
        "torture team: {trials} trials, seed {seed}: {} calls ({}), {receipts} receipts ({late} late), each reported \
         twice; 0 lost, 0 run twice, 0 processes left, chains whole; {} ({:.1} s)",
        calls.values().sum::<usize>(),
        list(calls),
        list(faults),
        began.elapsed().as_secs_f64(),
    );
    Ok(())
}

/// Makes the team and its members. Returns the homes of the members.
pub fn make_team(server: &Path, binary: &Path, root: &Path) -> Result<Homes, Failure> {
    let url = format!("postgresql:///postgres?host={}&user=owner", server.display());
    let owner = Checkout::new(binary, root.join("owner"), root.join("home-owner"), "desk")?;
    owner.run(&["team", "init", "--url", &url], "")?.expect("team init")?;
    let mut homes = BTreeMap::new();
    for (name, roles) in MEMBERS {
        let home = root.join(format!("home-{name}"));
        let checkout = Checkout::new(binary, root.join(format!("keys-{name}")), home.clone(), name)?;
        let made = checkout.run(&["tools", "keys", "init"], "")?.expect("keys init")?;
        let key = made["public_key_path"].as_str().unwrap_or_default().to_owned();
        let mut words = vec!["team", "member", "add", name, "--url", &url, "--key", &key];
        roles.iter().for_each(|role| words.extend(["--role", role]));
        owner.run(&words, "")?.expect("team member add")?;
        homes.insert(name, home);
    }
    Ok(homes)
}

impl Cluster {
    /// Asks the database directly, and again if the server is away.
    fn ask<T>(
        &self,
        user: &str,
        mut ask: impl FnMut(&mut Client) -> Result<T, postgres::Error>,
    ) -> Result<T, Failure> {
        let end = Instant::now() + DEADLINE;
        loop {
            let directory = locked(&self.socket).clone();
            match connect(&directory, user).and_then(|mut client| ask(&mut client)) {
                Err(error)
                    if error.as_db_error().is_none_or(|error| error.code().code().starts_with("57P")) =>
                {
                    if end < Instant::now() {
                        return Err(broken(error));
                    }
                    thread::sleep(Duration::from_millis(50));
                }
                answer => return answer.map_err(broken),
            }
        }
    }

    /// Sets the clock of the database, which is a separate function from then on. Sessions have plans with the old one,
    /// so all end.
    fn set_clock(&self, minutes: i64) -> Result<(), Failure> {
        let sql = format!(
            "CREATE OR REPLACE FUNCTION pg_catalog.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE \
             PARALLEL SAFE AS 'SELECT timeofday()::timestamptz + interval ''{minutes} min'''; \
             SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        );
        self.ask("owner", |client| client.batch_execute(&sql))
    }
}

/// One workspace of the team.
struct World<'s> {
    shared: &'s Cluster,
    name: String,
    root: PathBuf,
    proxy: Proxy,
    asker: Checkout,
    judge: Checkout,
    hosts: [Checkout; 2],
    twin: Checkout,
    runners: Vec<Runner>,
    random: Random,
    /// The last call of the trial before.
    last: i64,
    next_argument: u64,
    runs: usize,
}

/// A call at the end of a trial.
struct Row {
    id: String,
    status: String,
    run: Option<String>,
}

impl<'s> World<'s> {
    fn new(
        shared: &'s Cluster,
        binary: &Path,
        root: &Path,
        homes: &Homes,
        number: usize,
        seed: u64,
    ) -> Result<World<'s>, Failure> {
        let (name, root) = (format!("w{number}"), root.join(format!("w{number}")));
        let proxy = Proxy::start(shared.socket.clone(), Random::new(seed ^ number as u64))?;
        let checkout = |directory: &str, member: &str| {
            let made = Checkout::new(binary, root.join(directory), homes[member].clone(), member)?;
            let url = format!("postgresql://{member}@127.0.0.1:{}/postgres", proxy.port);
            made.join(&url, &name)?;
            Ok::<Checkout, Failure>(made)
        };
        Ok(World {
            shared,
            asker: checkout("asker", "asker")?,
            judge: checkout("judge", "judge")?,
            hosts: [checkout("one", "box-1")?, checkout("two", "box-2")?],
            twin: checkout("twin", "box-1")?,
            name,
            root,
            proxy,
            runners: Vec::new(),
            random: Random::new(seed),
            last: 0,
            next_argument: 0,
            runs: 0,
        })
    }

    /// Runs trials until none is left or one has failed. The runners stay until then: a failover waits for all hosts.
    fn run_all(&mut self, trials: usize, seed: u64, done: &Barrier) -> Result<(), Failure> {
        let result = self.run_trials(trials, seed);
        done.wait();
        result?;
        for runner in std::mem::take(&mut self.runners) {
            runner.stop()?;
        }
        self.verify()
    }

    fn run_trials(&mut self, trials: usize, seed: u64) -> Result<(), Failure> {
        loop {
            let trial = self.shared.next.fetch_add(1, Ordering::SeqCst);
            if trials <= trial || self.shared.failed.load(Ordering::SeqCst) {
                return Ok(());
            }
            self.random = Random::new(seed.wrapping_add(trial as u64 * 7919));
            let fault = match trial % FAILOVER_EVERY == FAILOVER_EVERY - 1 {
                true => Fault::Failover,
                false => self.random.pick(FAULTS),
            };
            if let Err(failure) = self.run_trial(fault) {
                self.shared.failed.store(true, Ordering::SeqCst);
                let events = self.runners.iter().map(Runner::last_events).collect::<Vec<_>>().join("\n--\n");
                let name = &self.name;
                return Err(Failure::new(format!(
                    "trial {trial} ({fault:?}) in {name}: {failure}\n{events}"
                )));
            }
            *locked(&self.shared.counts).faults.entry(format!("{fault:?}")).or_default() += 1;
        }
    }

    fn run_trial(&mut self, fault: Fault) -> Result<(), Failure> {
        if fault == Fault::Clock {
            let _all = self.shared.quiet.write().unwrap_or_else(PoisonError::into_inner);
            self.shared.set_clock(self.random.pick(&[-10, 0, 10]))?;
        }
        let (_all, _some);
        if fault == Fault::Failover {
            _all = self.shared.quiet.write().unwrap_or_else(PoisonError::into_inner);
        } else {
            _some = self.shared.quiet.read().unwrap_or_else(PoisonError::into_inner);
        }
        self.start_runners()?;
        let outages = self.shared.outages.load(Ordering::SeqCst);
        let bad_time = Duration::from_millis(300 + self.random.below(1_200));
        if let Fault::Network(weather) = fault
            && self.random.below(2) == 0
        {
            self.proxy.set(weather, bad_time);
        }
        let ids = self.queue(fault)?;
        let mut rejected = BTreeSet::new();
        if fault == Fault::Failover {
            self.fail_over(&ids)?;
        } else {
            self.approve(&ids)?;
            if self.random.below(2) == 0 {
                let id = &ids[ids.len() - 1];
                let answer = self.judge.run(&["tools", "call", "reject", id, "--reason", "no"], "")?;
                rejected.extend((answer.code == Some(0)).then(|| id.clone()));
            }
            self.disturb(fault)?;
        }
        let rows = self.await_ends(&ids)?;
        self.proxy.set(Weather::Clear, Duration::ZERO);
        let is_calm = matches!(fault, Fault::Nothing | Fault::Clock)
            && outages == self.shared.outages.load(Ordering::SeqCst);
        self.check(&rows, &rejected, is_calm)?;
        self.last = self.newest()?;
        Ok(())
    }

    /// Starts the runners that are not there. None may have ended by itself.
    fn start_runners(&mut self) -> Result<(), Failure> {
        for (place, host) in self.hosts.iter().enumerate() {
            match self.runners.get_mut(place) {
                None => self.runners.push(Runner::start(host)?),
                Some(runner) => {
                    if !runner.is_alive() {
                        let log = std::fs::read_to_string(host.root.join("runner.log")).unwrap_or_default();
                        return Err(Failure::new(format!("a runner has ended by itself: {log}")));
                    }
                }
            }
        }
        Ok(())
    }

    /// Repeats a command until it succeeds or `is_done`. What was not acknowledged may have been done.
    fn insist(
        &self,
        checkout: &Checkout,
        words: &[&str],
        input: &str,
        is_done: impl Fn() -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let end = Instant::now() + DEADLINE;
        loop {
            let answer = checkout.run(words, input)?;
            if answer.code == Some(0) || is_done()? {
                return Ok(());
            }
            if end < Instant::now() {
                return Err(Failure::new(format!("{words:?} ended with {:?}: {}", answer.code, answer.text)));
            }
        }
    }

    /// Queues calls, and returns their ids.
    fn queue(&mut self, fault: Fault) -> Result<Vec<String>, Failure> {
        let count = 3 + self.random.below(5);
        let pace = match fault {
            Fault::Stop | Fault::Hold | Fault::Failover => "long",
            Fault::KillKeeper | Fault::KillRunner | Fault::KillServer => "middle",
            _ => "short",
        };
        let mut lines = String::new();
        for place in 0..count {
            // The newest ones are the last to run, so the first ones take long.
            let pace = if place < 2 { pace } else { "short" };
            self.next_argument += 1;
            let number = self.next_argument;
            lines.push_str(&format!(
                "{{\"tool\": \"tool\", \"args\": {{\"n\": {number}, \"pace\": \"{pace}\"}}}}\n"
            ));
        }
        self.insist(&self.asker, &["tools", "call", "queue", "--stdin"], &lines, || Ok(false))?;
        let sql = "SELECT id FROM brigade.calls WHERE workspace = $1 AND $2 < sequence ORDER BY sequence";
        let rows = self.shared.ask("owner", |client| client.query(sql, &[&self.name, &self.last]))?;
        let ids: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        if ids.len() as u64 == count {
            return Ok(ids);
        }
        Err(Failure::new(format!("{count} calls were queued, and {} are there", ids.len())))
    }

    fn newest(&self) -> Result<i64, Failure> {
        let sql = "SELECT coalesce(max(sequence), 0) FROM brigade.calls WHERE workspace = $1";
        Ok(self.shared.ask("owner", |client| client.query_one(sql, &[&self.name]))?.get(0))
    }

    fn approve(&self, ids: &[String]) -> Result<(), Failure> {
        let mut words = vec!["tools", "call", "approve"];
        words.extend(ids.iter().map(String::as_str));
        self.insist(&self.judge, &words, "", || {
            Ok(self.rows(ids)?.iter().all(|row| !["pending", "held"].contains(&&*row.status)))
        })
    }

    /// Lets something fail while calls run.
    fn disturb(&mut self, fault: Fault) -> Result<(), Failure> {
        let victim = usize::try_from(self.random.below(2)).unwrap_or(0);
        let pause = Duration::from_millis(self.random.below(500));
        match fault {
            Fault::Nothing | Fault::Clock | Fault::Failover => {}
            Fault::Network(weather) => self.proxy.set(weather, pause * 3),
            Fault::Hold => {
                thread::sleep(pause);
                self.proxy.set(Weather::Hold, Duration::from_millis(500 + self.random.below(2_500)));
            }
            Fault::KillRunner => {
                thread::sleep(pause);
                self.runners[victim].kill();
                self.runners[victim] = Runner::start(&self.hosts[victim])?;
            }
            Fault::KillKeeper => {
                until(Duration::from_millis(1_000), || self.runners[victim].kill_keeper().then_some(()));
            }
            Fault::KillServer => {
                thread::sleep(pause);
                let mut server = locked(&self.shared.server);
                self.shared.outages.fetch_add(1, Ordering::SeqCst);
                server.kill();
                thread::sleep(Duration::from_millis(self.random.below(300)));
                server.restart()?;
                self.shared.outages.fetch_add(1, Ordering::SeqCst);
            }
            Fault::Stop => {
                thread::sleep(pause);
                self.runners[victim].signal(Signal::STOP);
                thread::sleep(Duration::from_millis(2_200 + self.random.below(600)));
                self.runners[victim].signal(Signal::CONT);
            }
            Fault::Twin => {
                let twin = Runner::start(&self.twin)?;
                thread::sleep(pause);
                twin.stop()?;
            }
        }
        Ok(())
    }

    /// Replaces the server by a standby that knows the approvals, and not the claims.
    fn fail_over(&mut self, ids: &[String]) -> Result<(), Failure> {
        self.runners.iter().for_each(|runner| runner.signal(Signal::STOP));
        self.approve(ids)?;
        let mut server = locked(&self.shared.server);
        let standby = server.copy()?;
        self.runners.iter().for_each(|runner| runner.signal(Signal::CONT));
        let claimed = || Self::runs_of(&self.hosts).count();
        until(DEADLINE, || (self.runs < claimed()).then_some(()))
            .ok_or_else(|| Failure::new("no call was claimed before the failover"))?;
        thread::sleep(Duration::from_millis(self.random.below(400)));
        self.shared.outages.fetch_add(1, Ordering::SeqCst);
        server.fail_over(standby)?;
        *locked(&self.shared.socket) = server.directory().to_owned();
        self.shared.outages.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// Lists the runs that the tool noted.
    fn runs_of(checkouts: &[Checkout]) -> impl Iterator<Item = String> {
        checkouts.iter().flat_map(Checkout::ran)
    }

    fn rows(&self, ids: &[String]) -> Result<Vec<Row>, Failure> {
        let sql = "SELECT id, status, run_id FROM brigade.calls WHERE workspace = $1 AND id = ANY ($2)";
        let rows = self.shared.ask("owner", |client| client.query(sql, &[&self.name, &ids]))?;
        Ok(rows.iter().map(|row| Row { id: row.get(0), status: row.get(1), run: row.get(2) }).collect())
    }

    /// Waits until all calls have ended.
    fn await_ends(&self, ids: &[String]) -> Result<Vec<Row>, Failure> {
        let end = Instant::now() + DEADLINE;
        loop {
            let rows = self.rows(ids)?;
            let open: Vec<String> = rows
                .iter()
                .filter(|row| ["pending", "held", "approved", "running"].contains(&&*row.status))
                .map(|row| format!("{} is {}", row.id, row.status))
                .collect();
            if open.is_empty() {
                return Ok(rows);
            }
            if end < Instant::now() {
                return Err(Failure::new(format!("calls do not end: {}", open.join(", "))));
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Compares what the database says with what has run.
    fn check(&mut self, rows: &[Row], rejected: &BTreeSet<String>, is_calm: bool) -> Result<(), Failure> {
        let left = || processes_of_runs(&self.root);
        until(Duration::from_secs(10), || left().is_empty().then_some(()))
            .ok_or_else(|| Failure::new(format!("processes are left: {}", left().join(", "))))?;
        let all = [self.hosts[0].clone(), self.hosts[1].clone(), self.twin.clone()];
        let ran: Vec<String> = Self::runs_of(&all).collect();
        self.runs = Self::runs_of(&self.hosts).count();
        let mut once = BTreeSet::new();
        if let Some(twice) = ran.iter().find(|run| !once.insert(run.as_str())) {
            return Err(Failure::new(format!("the run {twice} ran twice")));
        }
        let sql = "SELECT r.id FROM unnest($2::text[]) r (id) WHERE NOT EXISTS (
            SELECT FROM brigade.calls c WHERE c.workspace = $1 AND c.run_id = r.id)";
        let unknown = self.shared.ask("owner", |client| client.query(sql, &[&self.name, &ran]))?;
        if let Some(row) = unknown.first() {
            let run: &str = row.get(0);
            return Err(Failure::new(format!(
                "the run {run} is not that of a call: it ran without a claim, or twice"
            )));
        }
        for Row { id, status, run } in rows {
            let has_run = run.as_deref().is_some_and(|run| once.contains(run));
            let is_allowed = match status.as_str() {
                "completed" => has_run && !rejected.contains(id),
                "interrupted" | "failed" => run.is_some() && !rejected.contains(id) && !is_calm,
                "rejected" => run.is_none(),
                _ => false,
            };
            if !is_allowed {
                let message =
                    format!("{id} is {status}, its run is {run:?}, it has run: {has_run}, calm: {is_calm}");
                return Err(Failure::new(message));
            }
            *locked(&self.shared.counts).calls.entry(status.clone()).or_default() += 1;
        }
        self.report_again(rows)?;
        self.verify()
    }

    /// Reports every receipt of the trial a second time, as its runner: it is the same one.
    fn report_again(&self, rows: &[Row]) -> Result<(), Failure> {
        let runs: Vec<&str> = rows.iter().filter_map(|row| row.run.as_deref()).collect();
        for host in ["box-1", "box-2"] {
            let sql = "SELECT r.sequence, a.place, r.is_late, a.late FROM brigade.receipts r, LATERAL
                brigade.record_receipt(r.workspace, $2, r.run_id, r.call_id, r.status, r.sort_key, r.body, false) a
                WHERE r.workspace = $1 AND r.run_id = ANY ($3) AND r.host = $2 || '@' || $2";
            let again = self.shared.ask(host, |client| client.query(sql, &[&self.name, &host, &runs]))?;
            for row in &again {
                let (place, again, is_late, late): (i64, i64, bool, bool) =
                    (row.get(0), row.get(1), row.get(2), row.get(3));
                if place != again || is_late != late {
                    return Err(Failure::new(format!(
                        "the receipt {place} of {host} was stored again as {again}"
                    )));
                }
                let mut counts = locked(&self.shared.counts);
                counts.receipts += 1;
                counts.late += usize::from(is_late);
            }
        }
        Ok(())
    }

    /// Checks the chains of all hosts with the binary.
    fn verify(&self) -> Result<(), Failure> {
        let end = Instant::now() + DEADLINE;
        loop {
            let answer = self.judge.run(&["team", "verify"], "")?;
            match answer.code {
                Some(0) => return Ok(()),
                // The server is away for another workspace.
                Some(3) if Instant::now() < end => {}
                _ => return Err(Failure::new(format!("team verify: {}", answer.text))),
            }
        }
    }
}
