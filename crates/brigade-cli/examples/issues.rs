//! Prints docs/reference/issues.md: `cargo run -p brigade-cli --example issues`.
//!
//! `cargo xtask docs` writes it to `docs/reference/issues.md`.

#![allow(clippy::print_stdout, reason = "printing is all that this program does")]

use std::str::FromStr;

use brigade::core::{NextStep, StepFormatter as _};
use brigade::health::{Area, IssueType, Remedy};
use brigade_cli::CommandLine;

mod page;

fn main() {
    print!("{}", page());
}

fn page() -> String {
    let mut page = String::from(
        "# Issues\n\n\
         The issues that `brigade tools doctor`, `list`, `runtime …`, `describe --live`, `contracts --live`, `pins list`,\n\
         `discover` and `sync` report. The code is in `issue_type` or `code`, the command to run in `fix` or `hint`. Words in\n\
         capitals below are names. Where no fix is given, edit the file at the line of the issue. `brigade explain CODE` says\n\
         what follows from an issue.\n\n\
         `cargo xtask docs` generates this page.\n",
    );
    let mut area: Option<Area> = None;
    for kind in IssueType::all() {
        if area != Some(kind.area()) {
            area = Some(kind.area());
            page.push_str(&format!("\n## {}\n\n", heading(kind.area().as_str())));
        }
        let mut text = format!("- `{}` ({}): {}.", kind.code(), kind.severity().as_str(), kind.title());
        if let Some(fix) = fix(kind.fix()) {
            text.push_str(&format!(" Fix: {fix}"));
        }
        page.push_str(&page::wrap(&text, "  "));
    }
    page
}

/// Capitalizes a heading.
fn heading(area: &str) -> String {
    let mut letters = area.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Formats the command to run as code. Returns `None` where the file has to be edited.
fn fix(remedy: Remedy) -> Option<String> {
    let step = match remedy {
        Remedy::Edit => return None,
        Remedy::ReadFile => NextStep::ReadFile("FILE".to_owned()),
        Remedy::File(step) => step("FILE".to_owned()),
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
    Some(format!("`{}`", CommandLine::default().spell(&step, None)))
}

fn id<Id: FromStr<Err: std::fmt::Debug>>(word: &str) -> Id {
    word.parse().expect("a word in capitals can be an id")
}
