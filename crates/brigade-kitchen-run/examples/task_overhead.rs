//! Measures the cost of a task beyond its worker, in a repository of 1,000 files:
//! `cargo run --release -p brigade-kitchen-run --example task_overhead [FILES]`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement makes a repository and prints"
)]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use brigade_exec::HostEnvironment;
use brigade_fs::DiskFs;
use brigade_kitchen_run::git::{Commits, GitOptions, GitPlace};
use brigade_kitchen_run::in_place::InPlaceWorkplace;
use brigade_kitchen_run::workplace::{Integration, TaskName, Workplace};

const ROUNDS: usize = 20;

fn git(folder: &Path, words: &[&str]) {
    assert!(Command::new("git").args(words).current_dir(folder).status().unwrap().success());
}

/// Runs a task in each round, and returns the shortest and median time of each step.
fn measure(place: &dyn Workplace) -> Vec<(&'static str, Duration, Duration)> {
    let mut times: Vec<(&'static str, Vec<Duration>)> = Vec::new();
    let mut note = |step: &'static str, began: Instant| {
        let took = began.elapsed();
        match times.iter_mut().find(|(name, _)| *name == step) {
            Some((_, all)) => all.push(took),
            None => times.push((step, vec![took])),
        }
    };
    for round in 0..ROUNDS {
        let name = TaskName {
            prd: "prd-x".parse().unwrap(),
            task: format!("US-{round}").parse().unwrap(),
            title: "Measure".to_owned(),
        };
        let whole = Instant::now();
        let began = Instant::now();
        let (at, _) = place.begin(&name).unwrap();
        note("begin", began);
        let began = Instant::now();
        let guard = place.guard(&at).unwrap();
        note("guard", began);
        std::fs::write(at.folder.join(format!("new-{round}.txt")), "new\n").unwrap();
        std::fs::write(at.folder.join("d1/f1"), format!("{round}\n")).unwrap();
        let began = Instant::now();
        let changes = place.look(&at, &guard).unwrap();
        note("look", began);
        assert_eq!(changes.files.len(), 2);
        let began = Instant::now();
        let made = place.commit(&at, &changes, &"run-1".parse().unwrap()).unwrap();
        note("commit", began);
        let began = Instant::now();
        assert!(matches!(place.integrate(&at, &made).unwrap(), Integration::Done(_)));
        note("integrate", began);
        let began = Instant::now();
        place.finish(&at).unwrap();
        note("finish", began);
        note("whole task", whole);
    }
    times
        .into_iter()
        .map(|(step, mut all)| {
            all.sort();
            (step, all[0], all[all.len() / 2])
        })
        .collect()
}

fn show(what: &str, place: &dyn Workplace) {
    println!("{what}");
    for (step, least, middle) in measure(place) {
        let shown = |time: Duration| time.as_secs_f64() * 1_000.0;
        println!("  {step:12} {:7.1} ms at least, {:7.1} ms in the middle", shown(least), shown(middle));
    }
}

fn main() {
    let files: usize = std::env::args().nth(1).map_or(1_000, |count| count.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    git(root, &["init", "-q", "-b", "main", "."]);
    for index in 0..files {
        let path = root.join(format!("d{}", index % 20)).join(format!("f{index}"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("file {index}\n").repeat(100)).unwrap();
    }
    std::fs::write(root.join(".gitignore"), ".brigade/\n").unwrap();
    git(root, &["add", "-A"]);
    git(root, &["-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "-m", "first"]);
    git(root, &["gc", "-q"]);
    let host = HostEnvironment::new(std::env::vars_os().filter(|(name, _)| name == "PATH"));
    let options = GitOptions {
        done: Vec::new(),
        agent_files: brigade_core::AgentFiles::Closed,
        redactor: brigade_redact::Redactor::new(&[]),
        branch: "work".to_owned(),
        worktrees: ".brigade/kitchen/worktrees".to_owned(),
        copy: Vec::new(),
        link: Vec::new(),
        commits: Commits::Squash,
        default_branch: None,
        own_files: Vec::new(),
    };
    let place = GitPlace::open(root, &host, options).unwrap();
    let before = place.starts();
    show(&format!("with a worktree, {files} files"), &place);
    println!("  git was started {} times for each task", (place.starts() - before) as usize / ROUNDS);
    let place = InPlaceWorkplace::new(Arc::new(DiskFs::open(root).unwrap()), Vec::new());
    show(&format!("in place, {files} files"), &place);
}
