//! `cargo xtask pictures`: draws real output of the binary as SVG.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use regex::{Captures, Regex};

use crate::cargo::{cargo, output};
use crate::generated::{self, OutdatedAction};
use crate::repository::{Failure, Repository};

/// Draw the pictures of the documentation, or check that they are up to date
#[derive(Debug, clap::Args)]
pub struct PicturesArguments {
    /// Change nothing; list the pictures that are out of date, and fail if there are any
    #[arg(long)]
    pub check: bool,
}

/// What is drawn: the file, and the command with its arguments.
const PICTURES: &[(&str, &str)] = &[("docs/pictures/demo.svg", "demo --color=always")];

/// Width of a letter and height of a line, in pixels.
const LETTER: (f64, usize) = (8.4, 20);
const MARGIN: usize = 20;

const STYLE: &str = "\
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328;white-space:pre}\
.bg{fill:#f6f8fa;stroke:#d1d9e0}.b{font-weight:700}.d{opacity:.65}.i{font-style:italic}.u{text-decoration:underline}\
.c1{fill:#b3261e}.c2{fill:#1a7f37}.c3{fill:#8a5a00}.c4{fill:#0550ae}.c5{fill:#8250df}.c6{fill:#0b6e75}.c8{fill:#59636e}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bg{fill:#0d1117;stroke:#3d444d}\
.c1{fill:#ff7b72}.c2{fill:#56d364}.c3{fill:#e3b341}.c4{fill:#79c0ff}.c5{fill:#d2a8ff}.c6{fill:#76e3ea}.c8{fill:#9198a1}}";

pub fn run(repository: &Repository, arguments: &PicturesArguments) -> Result<(), Failure> {
    let settle = OutdatedAction::from_check(arguments.check);
    let mut differing = 0;
    for (path, command) in PICTURES {
        let words = "run --quiet --locked --package brigade-cli --".split(' ').chain(command.split(' '));
        let text = without_chance(&output(&mut cargo(repository, words))?);
        differing += generated::settle_file(repository, path, &draw(&text), settle)?;
    }
    generated::verdict(differing, settle, "pictures")
}

/// Replaces what differs in each run: temporary directories, times, durations and random ids.
fn without_chance(text: &str) -> String {
    let replace = |text: &str, pattern: &str, by: &str| {
        Regex::new(pattern).expect("the pattern is valid").replace_all(text, by).into_owned()
    };
    let text = replace(text, r"/[^\s'\x1b]*/brigade-[A-Za-z]+-?[A-Za-z0-9]{6,}", "/work");
    let text = replace(&text, r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "2026-01-05 09:30:12");
    let text = replace(&text, r"\b\d\d:\d\d:\d\d\b", "09:30:12");
    let text = replace(&text, r"\b\d+(\.\d+)? (ms|s)\b", "42 ms");
    let ids = Regex::new(r"\brun-[0-9a-f]{4,16}").expect("the pattern is valid");
    let mut known = BTreeMap::new();
    ids.replace_all(&text, |found: &Captures<'_>| {
        let count = known.len();
        let number = *known.entry(found[0].to_owned()).or_insert(count);
        let digits = found[0].len() - "run-".len();
        format!(
            "run-{:.digits$}",
            format!("{:x}", 0x7c1e_42a9_06d3_5b80_u64 + number as u64 * 0x0301_0000_0000_0000)
        )
    })
    .into_owned()
}

/// Draws text with colours of the terminal.
fn draw(text: &str) -> String {
    let lines: Vec<Vec<Span>> = text.lines().map(spans).collect();
    let letters = |line: &Vec<Span>| line.iter().map(|span| span.text.chars().count()).sum::<usize>();
    let columns = lines.iter().map(letters).max().unwrap_or_default();
    let width = (columns as f64 * LETTER.0).ceil() as usize + 2 * MARGIN;
    let height = lines.len() * LETTER.1 + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\">\n\
         <style>{STYLE}</style>\n\
         <rect class=\"bg\" x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"8\"/>\n",
        width - 1,
        height - 1,
    );
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let y = MARGIN + (number + 1) * LETTER.1 - 5;
        let _ = write!(svg, "<text x=\"{MARGIN}\" y=\"{y}\">");
        for span in line {
            let text = span.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let _ = match span.class.as_str() {
                "" => write!(svg, "{text}"),
                class => write!(svg, "<tspan class=\"{class}\">{text}</tspan>"),
            };
        }
        svg.push_str("</text>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

/// Text in one style.
#[derive(Debug, PartialEq, Eq)]
struct Span {
    text: String,
    class: String,
}

/// Splits a line at its escape sequences. A line ends in the default style.
fn spans(line: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let mut style: Vec<&'static str> = Vec::new();
    for (index, part) in line.split("\u{1b}[").enumerate() {
        let text = match part.split_once('m').filter(|_| index != 0) {
            Some((codes, text)) => {
                codes.split(';').for_each(|code| change(&mut style, code));
                text
            }
            None => part,
        };
        if !text.is_empty() {
            found.push(Span { text: text.to_owned(), class: style.join(" ") });
        }
    }
    found
}

fn change(style: &mut Vec<&'static str>, code: &str) {
    const COLOURS: [&str; 9] = ["c8", "c1", "c2", "c3", "c4", "c5", "c6", "", "c8"];
    let number: usize = code.parse().unwrap_or_default();
    let is_colour = |class: &&str| class.starts_with('c');
    match number {
        0 => style.clear(),
        1 => style.push("b"),
        2 => style.push("d"),
        3 => style.push("i"),
        4 => style.push("u"),
        22 => style.retain(|class| !matches!(*class, "b" | "d")),
        23 => style.retain(|class| *class != "i"),
        24 => style.retain(|class| *class != "u"),
        30..=39 | 90..=97 => {
            style.retain(|class| !is_colour(class));
            let colour = if number == 90 { 8 } else { number % 10 };
            style.extend(COLOURS.get(colour).copied().filter(|class| !class.is_empty()));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_become_classes() {
        let span = |text: &str, class: &str| Span { text: text.to_owned(), class: class.to_owned() };
        let line = "a \u{1b}[1;31merror\u{1b}[0m: \u{1b}[36mb\u{1b}[39mc";
        let expected =
            [span("a ", ""), span("error", "b c1"), span(": ", ""), span("b", "c6"), span("c", "")];
        assert_eq!(spans(line), expected);
    }

    #[test]
    fn pictures_do_not_differ_by_chance() {
        let text = "run-0123456789abcdef 2025-03-04 05:06:07 133 ms run-0123456789abcdef run-1111";
        let other = "run-fedcba9876543210 2026-03-04 05:06:08 1.5 s run-fedcba9876543210 run-2222";
        assert_eq!(without_chance(text), without_chance(other));
    }
}
