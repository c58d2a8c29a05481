//! Renders the map as Markdown, and keeps parts of an earlier map.

use std::fmt::Write as _;

use super::{CodeMap, MAX_ROWS};

/// How the sentence about the origin of the file begins. Every map of Brigade has it.
const MADE_BY: &str = include_str!("made_by.txt");

const HEAD: &str = "# Codebase map ";

/// The words before the commit in the first line.
const AT: &str = "at commit ";

/// The headings of the executive's part and of people's notes.
const WORKER: &str = "## From the executive chef";
const NOTES: &str = "## Notes";

/// The maximum length of the executive's part, in lines.
const MAX_LINES: usize = 120;

/// The parts of an earlier map that a new one keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EarlierMap {
    /// The commit of the earlier map.
    pub commit: Option<String>,
    /// The executive's part, with its heading.
    pub worker: Option<String>,
    /// People's notes, with their heading.
    pub notes: Option<String>,
}

impl EarlierMap {
    /// Reads a map; `None` if another program made it.
    ///
    /// ```
    /// use brigade_kitchen::map::{CodeMap, EarlierMap};
    ///
    /// let map = CodeMap { commit: Some("0123abcd".to_owned()), ..CodeMap::default() };
    /// let known = EarlierMap::read(&map.text(&EarlierMap::default())).unwrap();
    /// assert_eq!(known.commit.as_deref(), Some("0123abcd"));
    /// assert_eq!(EarlierMap::read("# Our map\n"), None);
    /// ```
    pub fn read(text: &str) -> Option<EarlierMap> {
        let first = text.lines().next()?.strip_prefix(HEAD)?;
        let commit = first.strip_prefix(AT).map(str::trim);
        let is_commit =
            |commit: &&str| !commit.is_empty() && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        let start = |heading: &str| {
            let mut at = 0;
            text.split_inclusive('\n').find_map(|line| {
                let here = at;
                at += line.len();
                let rest = line.strip_prefix(heading)?;
                (rest.is_empty() || rest.starts_with(['\n', '\r', ','])).then_some(here)
            })
        };
        let notes = start(NOTES);
        let worker = start(WORKER).filter(|at| notes.is_none_or(|notes| *at < notes));
        let part = |from: usize, to: usize| text.get(from..to).map(|part| part.trim_end().to_owned());
        Some(EarlierMap {
            commit: commit.filter(is_commit).map(str::to_owned),
            worker: worker.and_then(|from| part(from, notes.unwrap_or(text.len()))),
            notes: notes.and_then(|from| part(from, text.len())),
        })
    }

    /// Replaces the executive's part with new text. Headings in the text are demoted, so that none of them ends the
    /// part.
    pub fn set_worker(&mut self, commit: Option<&str>, written: &str) {
        let mut part = match commit {
            Some(commit) => format!("{WORKER}, {AT}{commit}\n"),
            None => format!("{WORKER}\n"),
        };
        let lines: Vec<&str> = written.trim().lines().collect();
        for line in &lines[..lines.len().min(MAX_LINES)] {
            part.push('\n');
            if line.starts_with('#') {
                part.push_str("##");
            }
            part.push_str(line.trim_end());
        }
        if MAX_LINES < lines.len() {
            let _ = write!(part, "\n\n{} more lines are left out.", lines.len() - MAX_LINES);
        }
        self.worker = Some(part);
    }
}

/// Formats a foreign name as code on one line.
fn code(text: &str) -> String {
    let plain: String =
        text.chars().map(|c| if c.is_control() || c == '`' { '\u{fffd}' } else { c }).collect();
    format!("`{plain}`")
}

/// Formats a foreign text on one line.
fn plain(text: &str) -> String {
    let is_mark = |c: char| c.is_control() || matches!(c, '`' | '<' | '>' | '|');
    text.chars().map(|c| if is_mark(c) { ' ' } else { c }).collect::<String>().trim().to_owned()
}

fn part(out: &mut String, heading: &str, rows: Vec<String>) {
    if rows.is_empty() {
        return;
    }
    let _ = write!(out, "\n## {heading}\n\n");
    let shown = rows.len().min(MAX_ROWS);
    for row in &rows[..shown] {
        let _ = writeln!(out, "- {row}");
    }
    if shown < rows.len() {
        let _ = writeln!(out, "- and {} more", rows.len() - shown);
    }
}

fn files(count: u64) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}

impl CodeMap {
    /// Renders the map, with the parts kept from an earlier one.
    pub fn text(&self, known: &EarlierMap) -> String {
        let mut out = match &self.commit {
            Some(commit) => format!("{HEAD}{AT}{commit}\n"),
            None => format!("{HEAD}without a commit\n"),
        };
        let cut = if self.is_cut { ", and there are more" } else { "" };
        let _ = write!(
            out,
            "\n{MADE_BY}{}{cut}. Text below a heading `Notes` at the end is kept.\n",
            files(self.files)
        );
        let language = |own: &super::Language| format!("{}: {}", own.name, files(own.files));
        part(&mut out, "Languages", self.languages.iter().map(language).collect());
        let test = |own: &super::TestCommand| {
            let place =
                if own.folder.is_empty() { String::new() } else { format!(" in {}", code(&own.folder)) };
            format!("{}{place}, as {} says", code(&own.command), code(&own.from))
        };
        part(&mut out, "Test commands", self.test_commands.iter().map(test).collect());
        let manifest = |own: &super::Manifest| format!("{}: {}", code(&own.path), plain(&own.what));
        part(&mut out, "Manifests", self.manifests.iter().map(manifest).collect());
        part(&mut out, "Entry points", self.entry_points.iter().map(|path| code(path)).collect());
        let convention = |own: &super::Convention| format!("{}: {}", code(&own.path), own.what);
        part(&mut out, "Conventions", self.conventions.iter().map(convention).collect());
        let folder = |own: &super::Folder| {
            let language = own.language.as_ref().map(|name| format!(", mostly {name}")).unwrap_or_default();
            format!("{}: {}{language}", code(&format!("{}/", own.path)), files(own.files))
        };
        part(&mut out, "Layout", self.layout.iter().map(folder).collect());
        for kept in [&known.worker, &known.notes].into_iter().flatten() {
            let _ = write!(out, "\n{kept}\n");
        }
        out
    }
}

/// Returns the start of a map for a prompt, in whole lines, with the executive's part before the layout.
pub fn excerpt(text: &str, limit: usize) -> String {
    let parts = split_parts(text);
    let is_written = |part: &&&str| part.starts_with(WORKER) || part.starts_with(NOTES);
    let first: Vec<&&str> = parts.iter().take(1).chain(parts.iter().skip(1).filter(is_written)).collect();
    let rest = parts.iter().skip(1).filter(|part| !is_written(part));
    let mut out = String::new();
    for line in first.into_iter().chain(rest).flat_map(|part| part.split_inclusive('\n')) {
        if limit < out.len() + line.len() {
            out.push_str("The rest of the map is left out.\n");
            break;
        }
        out.push_str(line);
    }
    out
}

/// Splits a text before each heading of the second level.
fn split_parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices("\n## ") {
        parts.push(&text[start..=at]);
        start = at + 1;
    }
    parts.push(&text[start..]);
    parts
}
