//! Writes the page of all issue types: `cargo run -p brigade-cli --example issues`.
//!
//! `cargo xtask docs` keeps it as `docs/issues.md`.

#![allow(clippy::print_stdout, reason = "printing is all that this program does")]

use std::str::FromStr;

use brigade::core::{NextStep, Spell as _};
use brigade::{Area, IssueType, Remedy};
use brigade_cli::CommandLine;

fn main() {
    print!("{}", page());
}

fn page() -> String {
    let mut page = String::from(
        "# Issues\n\n\
         What `brigade tools doctor` and `brigade tools list` report, and what `brigade tools runtime …`, `describe --live`, \
         `contracts --live` and `pins list` print. Each issue has one of these codes in `issue_type` or `code`; its `fix` or \
         `hint` is the command to run, with the names of what it is about in place of the words in capitals.\n\n\
         This page is written by `cargo xtask docs`.\n",
    );
    let mut area: Option<Area> = None;
    for kind in IssueType::all() {
        if area != Some(kind.area()) {
            area = Some(kind.area());
            page.push_str(&format!("\n## {}\n", heading(kind.area().as_str())));
        }
        page.push_str(&format!("\n### `{}`\n\n", kind.code()));
        page.push_str(&format!("{}: {}. {}\n\n", kind.severity().as_str(), kind.title(), kind.explanation()));
        page.push_str(&format!("Fix: {}\n", fix(kind.fix())));
    }
    page
}

/// Words begin large in headings.
fn heading(area: &str) -> String {
    let mut letters = area.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// A command is code; a sentence is not.
fn fix(remedy: Remedy) -> String {
    let step = match remedy {
        Remedy::Edit => return "edit the file at the line that the issue names.".to_owned(),
        Remedy::ReadFile => NextStep::ReadFile("FILE".to_owned()),
        Remedy::Tool(step) => step("TOOL".to_owned()),
        Remedy::Object(step) => {
            let of_pin = step(String::new()) == NextStep::ShowPin(String::new());
            step(if of_pin { "PIN" } else { "RUNTIME" }.to_owned())
        }
        Remedy::Call(step) => step(id("CALL")),
        Remedy::Run(step) => step(id("RUN")),
        Remedy::Checkpoint(step) => step(id("CHECKPOINT")),
        Remedy::Step(step) => step,
    };
    format!("`{}`", CommandLine::default().spell(&step, None))
}

fn id<Id: FromStr<Err: std::fmt::Debug>>(word: &str) -> Id {
    word.parse().expect("a word in capitals can be an id")
}
