//! `cargo xtask pictures`: draws real output of the binary as SVG.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};

use regex::{Captures, Regex};

use crate::cargo::{build, output};
use crate::generated::{self, OutdatedAction};
use crate::repository::{Failure, Repository};
use crate::web;

/// Draw the pictures of the documentation, or check that they are up to date
///
/// The page is drawn if Chromium is there, and is not checked
#[derive(Debug, clap::Args)]
pub struct PicturesArguments {
    /// Change nothing; list the pictures that are out of date, and fail if there are any
    #[arg(long)]
    pub check: bool,
}

/// Where the text of a picture comes from.
enum Source {
    /// What a command prints; its arguments.
    Command(&'static str),
    /// A file with the escape sequences of a terminal, which a test of the program writes.
    File(&'static str),
}

/// A picture of what the program shows.
struct Picture {
    path: &'static str,
    source: Source,
    /// The beginnings of the first line that is not drawn and of the next one that is, if a part is left out.
    left_out: Option<(&'static str, &'static str)>,
    /// The beginnings of lines that are not drawn, because they are long or differ between machines.
    hidden: &'static [&'static str],
}

const PICTURES: &[Picture] = &[
    Picture {
        path: "docs/pictures/demo.svg",
        source: Source::Command("demo --color=always"),
        left_out: Some(("# Demo workspace", "# One command")),
        hidden: &[
            "note",
            "call: ",
            "runs: ",
            "may",
            "stays closed",
            "binds",
            "contract",
            "last approved",
            "help: wait",
        ],
    },
    Picture {
        path: "docs/pictures/review.svg",
        source: Source::File("tests/tests/binary/snapshots/review/picture.txt"),
        left_out: None,
        hidden: &[],
    },
];

/// The picture of the page, which a browser draws.
const PAGE: &str = "docs/pictures/page.png";

/// Width of a letter and height of a line, in pixels.
const LETTER: (f64, usize) = (8.4, 20);
const MARGIN: usize = 20;

const STYLE: &str = "\
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328;white-space:pre}\
.bg{fill:#f6f8fa;stroke:#d1d9e0}.f{fill:#1f2328}\
.b{font-weight:700}.d{opacity:.65}.i{font-style:italic}.u{text-decoration:underline}\
.c1{fill:#b3261e}.c2{fill:#1a7f37}.c3{fill:#8a5a00}.c4{fill:#0550ae}.c5{fill:#8250df}.c6{fill:#0b6e75}.c8{fill:#59636e}\
.r{fill:#f6f8fa}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bg{fill:#0d1117;stroke:#3d444d}.f{fill:#e6edf3}\
.c1{fill:#ff7b72}.c2{fill:#56d364}.c3{fill:#e3b341}.c4{fill:#79c0ff}.c5{fill:#d2a8ff}.c6{fill:#76e3ea}.c8{fill:#9198a1}\
.r{fill:#0d1117}}";

pub fn run(repository: &Repository, arguments: &PicturesArguments) -> Result<(), Failure> {
    let settle = OutdatedAction::from_check(arguments.check);
    let mut differing = 0;
    for picture in PICTURES {
        let lines = match picture.source {
            Source::Command(command) => {
                let mut program = Command::new(build(repository)?);
                program.args(command.split(' ')).current_dir(repository.root()).stdin(Stdio::null());
                let text = output(&mut program)?;
                align(picture.lines(&without_chance(&text)))
            }
            Source::File(path) => {
                let path = repository.root().join(path);
                picture.lines(&fs::read_to_string(&path).map_err(Failure::at(&path))?)
            }
        };
        differing += generated::settle_file(repository, picture.path, &draw(&lines), settle)?;
    }
    if !arguments.check {
        web::draw(repository, PAGE)?;
    }
    generated::verdict(differing, settle, "pictures")
}

impl Picture {
    /// Returns the lines that are drawn.
    fn lines(&self, text: &str) -> Vec<String> {
        let mut is_left_out = false;
        let is_drawn = |line: &&str| {
            let bare = bare(line);
            if let Some((first, next)) = self.left_out {
                is_left_out = (is_left_out || bare.starts_with(first)) && !bare.starts_with(next);
            }
            !is_left_out && !self.hidden.iter().any(|start| bare.starts_with(start))
        };
        text.lines().filter(is_drawn).map(str::to_owned).collect()
    }
}

/// Returns a line without escape sequences.
fn bare(line: &str) -> String {
    spans(line).into_iter().map(|span| span.text).collect()
}

/// Pads the columns of tables again, because what was replaced may have another width.
fn align(mut lines: Vec<String>) -> Vec<String> {
    let gap = Regex::new("(?:\u{1b}\\[[0-9;]*m)* {2,}").expect("the pattern is valid");
    let is_table = |line: &String| gap.is_match(line) && !line.starts_with(' ');
    for block in
        lines.chunk_by_mut(|one, other| is_table(one) && is_table(other)).filter(|block| is_table(&block[0]))
    {
        let rows: Vec<Vec<String>> = block.iter().map(|line| cells(line.trim_end(), &gap)).collect();
        let wide = |cell: &String| bare(cell).chars().count();
        for (line, row) in block.iter_mut().zip(&rows) {
            line.clear();
            for (column, cell) in row.iter().enumerate() {
                let width = rows.iter().filter_map(|row| row.get(column)).map(wide).max();
                let blanks =
                    width.filter(|_| column + 1 < row.len()).map_or(0, |width| width + 2 - wide(cell));
                line.push_str(cell);
                line.push_str(&" ".repeat(blanks));
            }
        }
    }
    lines
}

/// Splits a line at its gaps. Escape sequences before a gap stay with its cell.
fn cells(line: &str, gap: &Regex) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 0;
    for gap in gap.find_iter(line) {
        let cell = line[at..gap.end()].trim_end_matches(' ');
        found.push(cell.to_owned());
        at = gap.end();
    }
    found.push(line[at..].to_owned());
    found
}

/// Replaces what differs in each run: temporary directories, times, durations and random ids.
fn without_chance(text: &str) -> String {
    // A word may follow an escape sequence, which ends with a letter.
    let pattern = |pattern: &str| {
        Regex::new(&format!("(\u{1b}\\[[0-9;]*m|\\b){pattern}")).expect("the pattern is valid")
    };
    let directory =
        Regex::new(r"/[^\s'\x1b]*/brigade-[A-Za-z]+[-A-Za-z0-9]{6,}").expect("the pattern is valid");
    let mut text = directory.replace_all(text, "/work").into_owned();
    for (found, by) in [
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b", "2026-01-05 09:30:12"),
        (r"\d\d:\d\d:\d\d\b", "09:30:12"),
        (r"\d+(\.\d+)? (ms|s)\b", "42 ms"),
        (r"\d+s\b", "2s"),
    ] {
        text = pattern(found).replace_all(&text, format!("${{1}}{by}")).into_owned();
    }
    let mut known = BTreeMap::new();
    let ids = pattern("(run|call)-([0-9a-f]{4})[0-9a-f]*");
    ids.replace_all(&text, |found: &Captures<'_>| {
        let count = known.len() as u64;
        let number = *known.entry(found[3].to_owned()).or_insert(count);
        let digits = found[0].len() - found[1].len() - found[2].len() - 1;
        let id = format!("{:x}", 0x7c1e_42a9_06d3_5b80_u64 + number * 0x0301_0000_0000_0000);
        format!("{}{}-{id:.digits$}", &found[1], &found[2])
    })
    .into_owned()
}

/// Draws text with colours of the terminal.
fn draw(lines: &[String]) -> String {
    let lines: Vec<Vec<Span>> = lines.iter().map(|line| spans(line)).collect();
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
        let mut column = 0;
        for part in line.chunk_by(|left, right| left.is_reversed() == right.is_reversed()) {
            let letters: usize = part.iter().map(|span| span.text.chars().count()).sum();
            if part[0].is_reversed() {
                let (x, width) = (column as f64 * LETTER.0 + MARGIN as f64, letters as f64 * LETTER.0);
                let (top, height) = (y + 5 - LETTER.1, LETTER.1);
                let _ = writeln!(
                    svg,
                    "<rect class=\"f\" x=\"{x:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{height}\"/>"
                );
            }
            column += letters;
        }
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

impl Span {
    fn is_reversed(&self) -> bool {
        self.class.split(' ').any(|class| class == "r")
    }
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
        7 => style.push("r"),
        22 => style.retain(|class| !matches!(*class, "b" | "d")),
        27 => style.retain(|class| *class != "r"),
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
        let text = "run-0123456789abcdef 2025-03-04 05:06:07 133 ms \u{1b}[1mrun-0123\u{1b}[0m call-1111";
        let other = "run-fedcba9876543210 2026-03-04 05:06:08 1.5 s \u{1b}[1mrun-fedc\u{1b}[0m call-2222";
        assert_eq!(without_chance(text), without_chance(other));
    }

    #[test]
    fn columns_are_padded_again() {
        let lines = ["a  b   c", "\u{1b}[1mlong\u{1b}[0m   x  y", "alone"].map(str::to_owned).to_vec();
        assert_eq!(align(lines), ["a     b  c", "\u{1b}[1mlong\u{1b}[0m  x  y", "alone"]);
    }
}
