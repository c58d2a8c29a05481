//! Writes the page of all issue types: `cargo run -p brigade-doctor --example issues`.
//!
//! `cargo xtask docs` keeps it as `docs/issues.md`.

#![allow(clippy::print_stdout, reason = "printing is all that this program does")]

use brigade_doctor::{Area, IssueType, PRINTED_CODES};

fn main() {
    print!("{}", page());
}

fn page() -> String {
    let mut page = String::from(
        "# Issues\n\n\
         What `brigade tools doctor` and `brigade tools list` report. Each issue has one of these codes in `issue_type`; \
         its `fix` is the command to run, with the names of what it is about in place of the words in braces.\n\n\
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
    page.push_str(
        "\n## Codes of commands\n\nWhat `brigade tools runtime …`, `describe --live`, `contracts --live` and `pins list` print besides: in \
         `issue_type` or `code`, with the command that helps in `fix` or `hint`.\n",
    );
    for printed in PRINTED_CODES {
        page.push_str(&format!("\n### `{}`\n\n", printed.code));
        page.push_str(&format!(
            "{}: {}. {}\n\n",
            printed.severity.as_str(),
            printed.title,
            printed.explanation
        ));
        page.push_str(&format!("Fix: {}\n", fix(printed.fix)));
    }
    page
}

/// Words begin large in headings.
fn heading(area: &str) -> String {
    let mut letters = area.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// A command is code; a sentence is not.
fn fix(text: &str) -> String {
    match text {
        "{edit}" => "edit the file at the line that the issue names.".to_owned(),
        command => format!("`{command}`"),
    }
}
