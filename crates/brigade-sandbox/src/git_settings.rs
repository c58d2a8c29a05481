//! Reads the settings files of git, to find the other files and hooks that they name.

use std::path::{Path, PathBuf};

use crate::system::first_bytes;

/// The maximum depth of includes; the same as git's.
const MAX_INCLUDES: usize = 10;

/// The largest settings file that is read.
pub(super) const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// The settings files that git reads for every repository.
pub(super) struct Settings<'a> {
    home: Option<&'a Path>,
    files: Vec<PathBuf>,
}

/// The paths of other files in settings.
#[derive(Default)]
pub(super) struct NamedPaths {
    /// The values of `core.hooksPath`, absolute or relative to the files of the repository.
    pub(super) hooks: Vec<PathBuf>,
    /// The settings files that they include, under any condition.
    pub(super) included: Vec<PathBuf>,
    /// Words of all other values, which may name programs and files: those of filters, aliases, monitors and the like.
    pub(super) words: Vec<String>,
}

impl<'a> Settings<'a> {
    /// `own` are the settings files of the user.
    pub(super) fn new(home: Option<&'a Path>, own: &[PathBuf]) -> Settings<'a> {
        Settings { home, files: [PathBuf::from("/etc/gitconfig")].iter().chain(own).cloned().collect() }
    }

    /// Reads these files and those of a repository.
    pub(super) fn with(&self, files: Vec<PathBuf>) -> NamedPaths {
        let mut read = NamedPaths::default();
        for file in files.iter().chain(&self.files) {
            self.read(file, MAX_INCLUDES, &mut read);
        }
        read
    }

    /// Reads a file and the files that it includes.
    fn read(&self, file: &Path, depth: usize, read: &mut NamedPaths) {
        let text = first_bytes(file, MAX_SETTINGS_BYTES).unwrap_or_default();
        for (section, value) in paths_in(&String::from_utf8_lossy(&text)) {
            if section == Section::Other {
                let words = value.split(|c: char| c.is_whitespace() || "!'\"=;&|()<>".contains(c));
                read.words.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
                continue;
            }
            let path = match (value.strip_prefix("~/"), self.home) {
                (Some(rest), Some(home)) => home.join(rest),
                (Some(_), None) => continue,
                (None, _) => PathBuf::from(value),
            };
            match section {
                Section::Core => read.hooks.push(path),
                Section::Other => {}
                Section::Include => {
                    let path = file.parent().map_or(path.clone(), |folder| folder.join(path));
                    if 0 < depth && !read.included.contains(&path) {
                        read.included.push(path.clone());
                        self.read(&path, depth - 1, read);
                    }
                }
            }
        }
    }
}

/// A section of git's settings that names files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// `core`, with `hooksPath`.
    Core,
    /// `include` and `includeIf`, with `path`.
    Include,
    /// Any other value.
    Other,
}

/// Lists the values in a git settings file: those of `core.hooksPath`, of `include.path` and `includeIf.*.path`, and
/// all others.
fn paths_in(text: &str) -> Vec<(Section, String)> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let mut rest = text.as_str();
    let mut section = None;
    let mut found = Vec::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            break;
        }
        if let Some(header) = rest.strip_prefix('[') {
            let (name, behind) = header_of(header);
            section = match name.as_str() {
                "core" => Some(Section::Core),
                "include" => Some(Section::Include),
                name if name.starts_with("includeif") => Some(Section::Include),
                _ => Some(Section::Other),
            };
            rest = behind;
            continue;
        }
        let end = rest.find(['=', '\n', '#', ';']).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        let Some(value) = behind.strip_prefix('=') else {
            // A comment, or a name without a value.
            rest = behind.find('\n').map_or("", |end| &behind[end..]);
            continue;
        };
        let (value, behind) = value_of(value);
        rest = behind;
        let key = match section {
            Some(Section::Core) => "hookspath",
            Some(Section::Include) => "path",
            Some(Section::Other) | None => "",
        };
        if value.is_empty() {
            continue;
        }
        let is_key = name.trim().eq_ignore_ascii_case(key);
        found.extend(section.map(|section| (if is_key { section } else { Section::Other }, value)));
    }
    found
}

/// Reads the header of a section after its `[`: returns the name in lower case, and the rest. A quoted name may contain
/// `]`.
fn header_of(text: &str) -> (String, &str) {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return (text[..at].trim().to_ascii_lowercase(), &text[at + 1..]),
            '\n' => return (String::new(), &text[at..]),
            _ => {}
        }
    }
    (String::new(), "")
}

/// Reads a value: removes quotes and comments, resolves escapes, and joins continued lines. Also returns the rest.
pub(super) fn value_of(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut quoted = false;
    let mut chars = text.char_indices();
    let end = loop {
        match chars.next() {
            Some((_, '\\')) => match chars.next() {
                Some((_, '\n')) => {}
                Some((_, 't')) => value.push('\t'),
                Some((_, 'n')) => value.push('\n'),
                Some((_, c)) => value.push(c),
                None => break text.len(),
            },
            Some((_, '"')) => quoted = !quoted,
            Some((at, '\n')) => break at,
            Some((at, '#' | ';')) if !quoted => {
                break text[at..].find('\n').map_or(text.len(), |end| at + end);
            }
            Some((_, c)) => value.push(c),
            None => break text.len(),
        }
    };
    (value.trim().to_owned(), &text[end..])
}
