//! Checks an example PRD: prints its faults, the tiers that start its tasks, and the waves.
#![allow(clippy::print_stdout, reason = "an example")]

use brigade_kitchen::prd::{Lints, read, waves};
use brigade_kitchen::{PrdName, route};

const PRD: &str = r#"{
  "featureName": "Login",
  "tasks": [
    {"id": "US-001", "title": "Store users", "acceptanceCriteria": ["Table `users` exists"], "complexity": "senior"},
    {"id": "US-002", "title": "Document the table", "acceptanceCriteria": ["It works"], "dependsOn": ["US-001"]}
  ]
}"#;

fn main() {
    let path = "brigade/tasks/prd-login.json";
    let name = PrdName::of_path(path).expect("a plain file name");
    let reading = read(path, PRD.as_bytes(), Lints::ALL);
    for fault in reading.errors.iter().chain(&reading.warnings) {
        println!("{fault}");
    }
    for task in &reading.prd.tasks {
        let route = route(task);
        println!("{}: {} ({})", name.shown(&task.id), route.tier.title(), route.reason);
    }
    if let Ok(prd) = reading.valid() {
        for (number, wave) in waves(prd.graph(), |_| true).iter().enumerate() {
            let ids: Vec<&str> = wave.iter().map(|at| prd.tasks[*at].id.as_str()).collect();
            println!("wave {}: {}", number + 1, ids.join(" "));
        }
    }
}
