//! A kitchen whose workers are `fixtures/kitchen/worker.py`.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails when it cannot continue, and scenarios are next to the workspace"
)]

use std::fs;
use std::path::PathBuf;

use brigade_tests::Site;
use serde_json::{Value, json};

pub(crate) const PRD: &str = "brigade/tasks/prd-crew.json";
pub(crate) const JOURNAL: &str = ".brigade/kitchen/prd-crew/journal.jsonl";

/// A workspace with a PRD and three tiers that all use the fake worker with a scenario.
pub(crate) struct Crew {
    pub(crate) site: Site,
}

/// Returns a task whose verification checks that the file `ID.txt` exists.
pub(crate) fn task(id: &str, needs: &[&str]) -> Value {
    json!({"id": id, "title": format!("Write {id}"), "acceptanceCriteria": ["it is there"], "complexity": "junior",
        "dependsOn": needs, "verification": [{"type": "unit", "cmd": format!("test -f {id}.txt")}], "passes": false})
}

/// Returns the steps of a worker that writes its file and reports completion.
pub(crate) fn done() -> Value {
    json!([{"write": "{task}.txt", "text": "by {task}\n"}, {"tag": "COMPLETE"}])
}

impl Crew {
    /// Creates a git repository with these tasks on a branch. `config` precedes the tiers in kitchen.toml.
    pub(crate) fn new(tasks: &[Value], config: &str, scenario: Value) -> Crew {
        let crew = Crew::without_git(tasks, config, scenario);
        crew.site.workspace.git_init();
        crew
    }

    /// Creates a workspace in which tasks are worked on in place.
    pub(crate) fn without_git(tasks: &[Value], config: &str, scenario: Value) -> Crew {
        let site = Site::empty();
        let prd = json!({"featureName": "Crew", "branchName": "brigade/crew", "tasks": tasks});
        site.workspace.write(PRD, serde_json::to_string_pretty(&prd).unwrap() + "\n");
        site.workspace.write(".gitignore", ".brigade/kitchen/\nbrigade/tasks/\n");
        let crew = Crew { site };
        crew.scenario(scenario);
        crew.configure(config);
        crew
    }

    pub(crate) fn configure(&self, config: &str) {
        let worker = brigade_testkit::fixtures().join("kitchen/worker.py");
        let command = format!("python3 -B {} {}", worker.display(), self.beside("scenario.json").display());
        let tiers: String = ["line", "sous", "executive"]
            .iter()
            .map(|tier| format!("[tier.{tier}]\ncommand = {command:?}\n"))
            .collect();
        let review = if config.contains("review_enabled") { "" } else { "review_enabled = false\n" };
        self.site.workspace.write(".brigade/kitchen.toml", format!("{review}{config}\n{tiers}"));
    }

    /// Sets the scenario of the workers, or the steps of every start.
    pub(crate) fn scenario(&self, scenario: Value) {
        let mut scenario = if scenario.is_array() { json!({"default": scenario}) } else { scenario };
        scenario["workspace"] = json!(self.site.workspace.path());
        scenario["brigade"] = json!(brigade_testkit::brigade_binary());
        scenario["record"] = json!(self.beside("calls"));
        fs::write(self.beside("scenario.json"), scenario.to_string()).unwrap();
    }

    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.site.beside(name)
    }

    /// Returns how often workers were started for a role and a task.
    pub(crate) fn starts(&self, role: &str, task: &str) -> usize {
        let start = format!("{role}-{task}.");
        let names = fs::read_dir(self.beside("calls")).into_iter().flatten().flatten();
        names.filter(|entry| entry.file_name().to_string_lossy().starts_with(&start)).count()
    }

    #[track_caller]
    pub(crate) fn approve(&self) {
        let validation = self.site.document(["validate", PRD]).expect(0);
        let fingerprint = validation["fingerprint"].as_str().unwrap_or_else(|| panic!("{validation:#}"));
        self.site.document(["kitchen", "approve", PRD, "--fingerprint", fingerprint]).expect(0);
    }

    /// Approves and serves the PRD. Returns the report.
    #[track_caller]
    pub(crate) fn serve(&self, code: i32) -> Value {
        self.approve();
        self.site.document(["service", PRD]).expect(code)
    }

    #[track_caller]
    pub(crate) fn ticket(&self, id: &str, more: &[&str], code: i32) -> Value {
        let answer = self.site.document([&["ticket", PRD, id], more].concat());
        assert_eq!(answer.run.code(), Some(code), "{}\n{}", answer.run, self.story());
        answer.json
    }

    #[track_caller]
    pub(crate) fn status(&self) -> Value {
        self.site.document(["status", PRD]).expect(0)
    }

    /// Returns the history, for the message of a failed test.
    pub(crate) fn story(&self) -> String {
        let mut text = String::new();
        for (path, bytes) in self.site.workspace.files(".brigade/kitchen") {
            if path.ends_with("journal.jsonl") || path.ends_with(".log") {
                text.push_str(&format!("==> {path} <==\n{}\n", String::from_utf8_lossy(&bytes)));
            }
        }
        text
    }

    /// Returns a file of the branch.
    pub(crate) fn in_branch(&self, path: &str) -> String {
        self.site.workspace.git(["show", &format!("brigade/crew:{path}")])
    }
}
