//! Measures the kitchen: the overhead of a task, the status of a long history, validation, and memory.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::measure::{Measurer, Process};
use super::program::Program;
use super::table::{Row, Table, Target, thousands};
use crate::repository::{Failure, write_file};

/// The number of tasks of a measured service.
const SERVED: usize = 10;

/// The number of tasks, and of attempts, in a long history.
const TASKS: usize = 10_000;
const ATTEMPTS: usize = 30_000;

/// The number of workers that print at once, and the output of each.
const LOUD: usize = 16;
const MEGABYTES: usize = 100;

/// A worker that does a task and signals success.
const WORKER: &str =
    "#!/bin/sh\ncat > /dev/null\necho $$ > \"$BRIGADE_TASK.txt\"\necho '<promise>COMPLETE</promise>'\n";

/// The reference: runs the worker for all tasks of a measured service, without the service.
const REFERENCE: &str =
    "#!/bin/sh\nfor n in $(seq 1 COUNT); do BRIGADE_TASK=r-$n ./worker.sh < /dev/null; done > /dev/null\n";

/// A worker that prints much and then signals success.
const LOUD_WORKER: &str = "#!/bin/sh\ncat > /dev/null\necho $$ > \"$BRIGADE_TASK.txt\"\n\
    yes 'a line of output, as long as such lines are' | head -c MEGABYTESM\necho\necho '<promise>COMPLETE</promise>'\n";

/// Measures everything about the kitchen.
pub fn measure(brigade: &Program, measurer: &Measurer, turns: usize) -> Result<Vec<Table>, Failure> {
    let bench = Bench { brigade, measurer, turns };
    Ok(vec![bench.tasks()?, bench.histories()?, bench.output()?])
}

struct Bench<'a> {
    brigade: &'a Program,
    measurer: &'a Measurer,
    turns: usize,
}

/// A workspace whose tiers all use one program.
struct Place {
    _holder: tempfile::TempDir,
    root: PathBuf,
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::new(error.to_string())
}

impl Place {
    fn new(settings: &str, worker: &str) -> Result<Place, Failure> {
        let holder = tempfile::tempdir().map_err(failed)?;
        let root = holder.path().canonicalize().map_err(failed)?;
        let place = Place { _holder: holder, root };
        let mut config = format!("review_enabled = false\n{settings}\n");
        for tier in ["line", "sous", "executive"] {
            let _ = writeln!(config, "[tier.{tier}]\ncommand = \"./worker.sh\"");
        }
        place.write(".brigade/kitchen.toml", &config)?;
        place.program("worker.sh", worker)?;
        place.program("reference.sh", &REFERENCE.replace("COUNT", &SERVED.to_string()))?;
        Ok(place)
    }

    fn write(&self, path: &str, text: &str) -> Result<(), Failure> {
        write_file(&self.root.join(path), text)
    }

    fn program(&self, path: &str, text: &str) -> Result<(), Failure> {
        use std::os::unix::fs::PermissionsExt as _;
        self.write(path, text)?;
        let path = self.root.join(path);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(Failure::at(&path))
    }

    /// Creates a repository with this number of files.
    fn repository(&self, files: usize) -> Result<(), Failure> {
        for number in 0..files {
            self.write(&format!("src/{}/{number}.txt", number % 20), "a file\n")?;
        }
        self.write(".gitignore", ".brigade/\nbrigade/\n")?;
        let settings = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
        for words in [&["init", "-q", "-b", "main"][..], &["add", "-A"], &["commit", "-qm", "first"]] {
            let status = Command::new("git").args(settings).args(words).current_dir(&self.root).status();
            if !status.map_err(failed)?.success() {
                return Err(Failure::new(format!("git {} failed", words.join(" "))));
            }
        }
        Ok(())
    }

    fn prd(&self, name: &str, branch: Option<&str>, tasks: &[Value]) -> Result<(), Failure> {
        let prd = json!({"featureName": "F", "branchName": branch, "tasks": tasks});
        self.write(&path_of(name), &format!("{prd:#}\n"))
    }

    /// Approves a PRD.
    fn approve(&self, brigade: &Program, name: &str) -> Result<(), Failure> {
        let run = |words: Vec<String>| -> Result<Value, Failure> {
            let mut command = Command::new(brigade.path());
            let output = command.args(words).current_dir(&self.root).output().map_err(failed)?;
            serde_json::from_slice(&output.stdout).map_err(failed)
        };
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let checked = run(words(&format!("validate {} --json", path_of(name))))?;
        let fingerprint = checked["fingerprint"].as_str().ok_or_else(|| failed("the PRD is not valid"))?;
        let line = format!("kitchen approve {} --fingerprint {fingerprint} --json", path_of(name));
        let approved = run(words(&line))?;
        if approved["approved"] == true { Ok(()) } else { Err(failed(approved)) }
    }

    fn process(&self, brigade: &Program, line: &str) -> Process {
        let arguments = line.split(' ').map(str::to_owned).collect();
        Process { arguments, ..Process::new(brigade.path(), &self.root) }
    }

    fn script(&self, name: &str) -> Process {
        Process::new(&self.root.join(name), &self.root)
    }
}

fn path_of(name: &str) -> String {
    format!("brigade/tasks/prd-{name}.json")
}

fn task(number: usize, needs: &[usize]) -> Value {
    let needs: Vec<String> = needs.iter().map(|need| format!("t-{need}")).collect();
    json!({"id": format!("t-{number}"), "title": "Change a file", "acceptanceCriteria": ["it is changed"],
        "dependsOn": needs, "complexity": "junior", "passes": false})
}

impl Bench<'_> {
    /// Measures whole services of a few tasks, compared with their workers alone.
    fn tasks(&self) -> Result<Table, Failure> {
        let title = format!("A service of {SERVED} tasks, one after the other, beside its workers alone");
        let mut table = Table::new(title);
        let tasks: Vec<Value> = (0..SERVED).map(|number| task(number, &[])).collect();
        for (name, settings, files, milliseconds) in [
            ("in place", "worktrees = \"off\"\nmax_parallel = 1", 0, 20),
            ("with worktrees, in a repository of 1,000 files", "max_parallel = 1", 1_000, 100),
        ] {
            let place = Place::new(settings, WORKER)?;
            if 0 < files {
                place.repository(files)?;
            }
            for turn in 0..=self.turns {
                let branch = (0 < files).then(|| format!("feature/{turn}"));
                place.prd(&turn.to_string(), branch.as_deref(), &tasks)?;
                place.approve(self.brigade, &turn.to_string())?;
            }
            let figures = self.measurer.compare(self.turns, &|_| place.script("reference.sh"), &|turn| {
                place.process(self.brigade, &format!("service {} --quiet --json", path_of(&turn.to_string())))
            })?;
            let more = Target::More(Duration::from_millis(milliseconds * SERVED as u64));
            table.rows.push(Row::new(name, figures).targets([more]));
        }
        Ok(table)
    }

    /// Measures status and validation of many tasks.
    fn histories(&self) -> Result<Table, Failure> {
        let title = format!("{} tasks, {} attempts", thousands(TASKS), thousands(ATTEMPTS));
        let mut table = Table::new(title);
        let place = Place::new("", WORKER)?;
        // Each task depends on up to three earlier ones, chosen by a fixed sequence.
        let mut seed = 7_usize;
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below.max(1)
        };
        let needs = |number: usize, next: &mut dyn FnMut(usize) -> usize| -> Vec<usize> {
            let mut needs: Vec<usize> = (0..3.min(number)).map(|_| next(number)).collect();
            needs.sort_unstable();
            needs.dedup();
            needs
        };
        let tasks: Vec<Value> = (0..TASKS).map(|number| task(number, &needs(number, &mut next))).collect();
        place.prd("long", None, &tasks)?;
        place.approve(self.brigade, "long")?;
        let journal = place.root.join(".brigade/kitchen/prd-long/journal.jsonl");
        let before = fs::read_to_string(&journal).map_err(Failure::at(&journal))?;
        let text = before.clone() + &history(before.lines().count());
        fs::write(&journal, text).map_err(Failure::at(&journal))?;
        let mut adopt = Command::new(self.brigade.path());
        adopt.args(["state", "adopt", "--yes"]).current_dir(&place.root).output().map_err(failed)?;
        let prd = place.root.join(path_of("long"));
        let arguments = vec!["parse-json".to_owned(), prd.display().to_string()];
        let parse =
            || Process { arguments: arguments.clone(), ..Process::new(self.measurer.program(), &place.root) };
        let path = path_of("long");
        for (line, targets) in [
            (format!("status {path} --brief"), vec![Target::Times(2.0)]),
            (format!("status {path} --json"), vec![Target::Times(2.0)]),
            (format!("validate {path} --json"), vec![Target::Within(Duration::from_millis(200))]),
        ] {
            let figures =
                self.measurer.compare(self.turns, &|_| parse(), &|_| place.process(self.brigade, &line))?;
            let name = line.replace(&format!(" {path}"), "") + ", beside parsing the PRD";
            table.rows.push(Row::new(&name, figures).targets(targets));
        }
        Ok(table)
    }

    /// Measures workers that print much at once.
    fn output(&self) -> Result<Table, Failure> {
        let title = format!("{LOUD} workers that print {MEGABYTES} MB each at once");
        let mut table = Table::new(title);
        let loud = LOUD_WORKER.replace("MEGABYTES", &MEGABYTES.to_string());
        let place = Place::new(&format!("max_parallel = {LOUD}"), &loud)?;
        place.repository(1)?;
        let tasks: Vec<Value> = (0..LOUD).map(|number| task(number, &[])).collect();
        place.prd("loud", Some("feature/loud"), &tasks)?;
        place.approve(self.brigade, "loud")?;
        let line = format!("service {} --quiet --json", path_of("loud"));
        let figures = self.measurer.once(place.process(self.brigade, &line))?;
        table.rows.push(Row::new("service", figures).targets([Target::Memory(64 << 20)]));
        Ok(table)
    }
}

/// Returns the records of attempts. All attempts of a task fail except the last.
fn history(mut seq: usize) -> String {
    let mut text = String::new();
    let at = "2026-01-19T12:00:00+00:00";
    let mut push = |record: Value| {
        seq += 1;
        let mut line = json!({"v": 1, "seq": seq, "at": at});
        if let (Some(line), Value::Object(record)) = (line.as_object_mut(), record) {
            line.extend(record);
        }
        let _ = writeln!(text, "{line}");
    };
    push(json!({"kind": "service_started", "service": "s1", "process": null, "total": TASKS}));
    for number in 0..TASKS {
        let task = format!("t-{number}");
        push(json!({"kind": "task_started", "task": task, "tier": "line"}));
        for attempt in 1..=ATTEMPTS / TASKS {
            let run = format!("run-20260119-120000-{number:04x}{attempt:04x}");
            let is_last = attempt == ATTEMPTS / TASKS;
            push(
                json!({"kind": "attempt_started", "task": task, "run": run, "tier": "line", "attempt": attempt}),
            );
            push(
                json!({"kind": "attempt_ended", "task": task, "run": run, "how": if is_last { "said" } else { "iteration" },
                "signal": is_last.then_some("complete"), "reason": (!is_last).then_some("the attempt ended without a signal"),
                "seconds": 12.5, "changed": true, "tree": format!("{number:040x}")}),
            );
        }
        push(json!({"kind": "task_ended", "task": task, "outcome": "complete"}));
    }
    push(json!({"kind": "service_ended", "service": "s1", "outcome": "complete"}));
    text
}

/// Parses a file as JSON and does nothing with it.
pub fn parse_json(file: &Path) -> Result<(), Failure> {
    let bytes = fs::read(file).map_err(Failure::at(file))?;
    let value: Value = serde_json::from_slice(&bytes).map_err(failed)?;
    if value.is_null() { Err(Failure::new("the file is empty")) } else { Ok(()) }
}
