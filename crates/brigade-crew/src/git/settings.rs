//! Settings of git as they were when the service began, and whether they still are what they were.
//!
//! Git is not run with the settings of the user, the system or a repository that name programs. A few settings say how
//! files and commits look, and these are carried over into the git directories of tasks. Files of settings and hooks
//! are compared before git is run in the repository of the workspace, and around each attempt.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use brigade_core::Fingerprint;
use brigade_exec::HostEnvironment;
use brigade_fs::{FileKind, Fs, FsError, RelPath};

use super::program::Git;
use crate::workplace::PlaceError;

/// Settings that say how files look, and are carried over.
const CARRIED: &[&str] = &[
    "core.autocrlf",
    "core.bigfilethreshold",
    "core.checkstat",
    "core.compression",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.symlinks",
    "core.trustctime",
    "diff.algorithm",
    "diff.renamelimit",
    "merge.conflictstyle",
    "merge.directoryrenames",
    "merge.renamelimit",
    "merge.renames",
];

/// Settings that a push needs besides, by what their names begin with.
const OF_PUSH: &[&str] =
    &["credential.", "url.", "http.", "ssh.", "core.sshcommand", "core.gitproxy", "remote."];

/// The largest file of settings or hook that is compared.
const LARGEST: u64 = 16 << 20;

/// The most entries of a directory of hooks that are compared.
const MOST_HOOKS: usize = 1_000;

/// The value that says that nothing is there.
const ABSENT: &str = "absent";

/// Settings of a repository, its user and the system.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    values: BTreeMap<String, Vec<OsString>>,
    /// The files that they stand in.
    pub(crate) files: Vec<PathBuf>,
}

impl Settings {
    /// Reads all settings that hold in a directory. Git only reads here, so it may see those of the user.
    pub(crate) fn read(git: &Git, directory: &Path, host: &HostEnvironment) -> Result<Settings, PlaceError> {
        let mut order = git.order("config").within(directory);
        for name in ["GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL"] {
            order = order.without(name);
        }
        for name in
            ["HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL"]
        {
            if let Some(value) = host.get(name) {
                order = order.variable(name, value);
            }
        }
        let answer = order.words(["--list", "--includes", "--show-origin", "-z"]).run()?;
        let mut settings = Settings::default();
        let mut parts = answer.stdout.split(|byte| *byte == 0);
        while let (Some(origin), Some(pair)) = (parts.next(), parts.next()) {
            let Some(file) = origin.strip_prefix(b"file:") else { continue };
            let file = directory.join(OsString::from_vec(file.to_vec()));
            if !settings.files.contains(&file) {
                settings.files.push(file);
            }
            let end = pair.iter().position(|byte| *byte == b'\n');
            let (name, value) = match end {
                Some(end) => (&pair[..end], pair[end + 1..].to_vec()),
                // A name alone means yes.
                None => (pair, b"true".to_vec()),
            };
            let name = String::from_utf8_lossy(name).into_owned();
            settings.values.entry(name).or_default().push(OsString::from_vec(value));
        }
        Ok(settings)
    }

    /// Returns a setting, by its name with section and key in lower case.
    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        self.values.get(name).and_then(|values| values.last()).map(OsString::as_os_str)
    }

    /// Returns a setting that is text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(OsStr::to_str)
    }

    /// Lists what a push needs, with all values.
    pub(crate) fn of_push(&self) -> impl Iterator<Item = (&str, &OsStr)> {
        let is_needed = |name: &str| OF_PUSH.iter().any(|start| name.starts_with(start));
        let needed = self.values.iter().filter(move |(name, _)| is_needed(name));
        needed.flat_map(|(name, values)| values.iter().map(|value| (name.as_str(), value.as_os_str())))
    }

    /// Lists the filters that settings name.
    pub(crate) fn filters(&self) -> impl Iterator<Item = &str> {
        let mut names: Vec<&str> =
            self.values.keys().filter_map(|name| of_section(name, "filter.")).collect();
        names.dedup();
        names.into_iter()
    }

    /// Returns the remote that git would take if nothing names one.
    pub(crate) fn remote(&self) -> Option<String> {
        let mut names: Vec<&str> =
            self.values.keys().filter_map(|name| of_section(name, "remote.")).collect();
        names.dedup();
        match names[..] {
            [only] => Some(only.to_owned()),
            _ => names.into_iter().find(|name| *name == "origin").map(str::to_owned),
        }
    }

    /// Writes the settings of the git directory of a task.
    pub(crate) fn of_task(&self, identity: Option<&Identity>) -> String {
        let format = self.text("extensions.objectformat").filter(|format| *format != "sha1");
        let version = if format.is_some() { 1 } else { 0 };
        let mut text = format!("[core]\n\trepositoryformatversion = {version}\n\tbare = false\n");
        if let Some(format) = format {
            text.push_str(&format!("[extensions]\n\tobjectFormat = {}\n", in_quotes(format)));
        }
        for name in CARRIED {
            if let (Some(value), Some((section, key))) = (self.text(name), name.split_once('.')) {
                text.push_str(&format!("[{section}]\n\t{key} = {}\n", in_quotes(value)));
            }
        }
        if let Some(Identity { name, email }) = identity {
            text.push_str(&format!("[user]\n\tname = {}\n\temail = {}\n", in_quotes(name), in_quotes(email)));
        }
        text
    }
}

/// Returns the name of a subsection.
fn of_section<'n>(name: &'n str, section: &str) -> Option<&'n str> {
    name.strip_prefix(section)?.rsplit_once('.').map(|(name, _)| name)
}

/// Who commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The name.
    pub(crate) name: String,
    /// The address.
    pub(crate) email: String,
}

impl Identity {
    /// Takes who the user is, as git would; Brigade itself if nobody said so.
    pub(crate) fn of(settings: &Settings, host: &HostEnvironment) -> Identity {
        let find = |variable: &str, names: [&str; 2], default: &str| {
            let said = host.get(variable).and_then(OsStr::to_str);
            let said = said.or_else(|| names.iter().find_map(|name| settings.text(name)));
            said.map(one_line).filter(|said| !said.is_empty()).unwrap_or_else(|| default.to_owned())
        };
        Identity {
            name: find("GIT_AUTHOR_NAME", ["author.name", "user.name"], "Brigade"),
            email: find("GIT_AUTHOR_EMAIL", ["author.email", "user.email"], "brigade@localhost"),
        }
    }
}

/// Returns a text on one line, without characters that are not shown.
pub(crate) fn one_line(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn in_quotes(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// What files and directories were, by the name under which they are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seal(pub(crate) BTreeMap<String, String>);

impl Seal {
    /// Notes a file.
    pub(crate) fn file(&mut self, fs: &dyn Fs, shown: &str, path: &RelPath) -> Result<(), FsError> {
        let state = match fs.link_metadata(path) {
            Ok(found) => self.state(fs, path, found.kind, found.mode)?,
            Err(error) if error.is_not_found() => ABSENT.to_owned(),
            Err(error) => return Err(error),
        };
        self.0.insert(shown.to_owned(), state);
        Ok(())
    }

    fn state(&self, fs: &dyn Fs, path: &RelPath, kind: FileKind, mode: u32) -> Result<String, FsError> {
        Ok(match kind {
            FileKind::File => {
                let bytes = fs.read(path, LARGEST)?;
                let bytes = if path.name() == "config" { without_branches(bytes) } else { bytes };
                format!("{:o} {}", mode & 0o111, Fingerprint::of_bytes(&bytes))
            }
            FileKind::Directory => "directory".to_owned(),
            FileKind::Link => "link".to_owned(),
            FileKind::Other => "other".to_owned(),
        })
    }

    /// Notes a file anywhere.
    pub(crate) fn outside(&mut self, fs: &dyn Fs, path: &Path) {
        // What cannot be read is not read by git either, so it only must stay unreadable.
        let state = match fs.read_outside(path, LARGEST) {
            Ok(bytes) => Fingerprint::of_bytes(&without_branches(bytes)).to_hex(),
            Err(error) => error.kind.to_string(),
        };
        self.0.insert(path.to_string_lossy().into_owned(), state);
    }

    /// Notes a directory of hooks: each entry of it.
    pub(crate) fn hooks(&mut self, fs: &dyn Fs, shown: &str, path: &RelPath) -> Result<(), FsError> {
        let kind = match fs.link_metadata(path) {
            Ok(found) => found.kind,
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return Err(error),
        };
        if kind != FileKind::Directory {
            return self.file(fs, shown, path);
        }
        let (entries, others) = fs.list_some(path, MOST_HOOKS)?;
        for entry in entries {
            if let Ok(inside) = path.join(&entry.name)
                && !entry.name.ends_with(".sample")
            {
                self.file(fs, &format!("{shown}/{}", entry.name), &inside)?;
            }
        }
        if 0 < others {
            self.0.insert(shown.to_owned(), format!("{others} others"));
        }
        Ok(())
    }

    /// Notes the settings and hooks of a git directory.
    pub(crate) fn git_dir(&mut self, fs: &dyn Fs, shown: &str) -> Result<(), FsError> {
        for name in [
            "config",
            "config.worktree",
            "commondir",
            "info/attributes",
            "info/exclude",
            "info/grafts",
            "info/sparse-checkout",
            "objects/info/alternates",
            "objects/info/http-alternates",
        ] {
            if let Ok(path) = name.parse() {
                self.file(fs, &format!("{shown}/{name}"), &path)?;
            }
        }
        match "hooks".parse() {
            Ok(path) => self.hooks(fs, &format!("{shown}/hooks"), &path),
            Err(_) => Ok(()),
        }
    }

    /// Lists what differs.
    pub(crate) fn differences(&self, other: &Seal) -> Vec<String> {
        let absent = ABSENT.to_owned();
        let names: std::collections::BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let state = |seal: &Seal, name: &String| seal.0.get(name).unwrap_or(&absent).clone();
        let differ: Vec<&String> =
            names.into_iter().filter(|name| state(self, name) != state(other, name)).collect();
        // What is below something that is gone or another thing now is not named, too.
        let is_above = |name: &str, above: &String| {
            name.strip_prefix(above.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        let outer = differ.iter().filter(|name| !differ.iter().any(|above| is_above(name, above)));
        outer.map(|name| (*name).clone()).collect()
    }
}

/// Leaves out what branches follow. A user who makes a branch or pushes one changes it, and it makes git run nothing.
fn without_branches(bytes: Vec<u8>) -> Vec<u8> {
    const INERT: [&str; 5] = ["remote", "merge", "pushremote", "description", "vscode-merge-base"];
    let Ok(text) = std::str::from_utf8(&bytes) else { return bytes };
    let mut kept = String::new();
    let mut is_branch = false;
    let mut goes_on = false;
    for line in text.lines() {
        let trimmed = line.trim();
        let continues = std::mem::replace(&mut goes_on, line.ends_with('\\'));
        if !continues && trimmed.starts_with('[') {
            let name = trimmed.strip_prefix("[branch \"").and_then(|rest| rest.strip_suffix("\"]"));
            is_branch = name.is_some_and(|name| !name.contains(['"', ']', '\\']));
            if is_branch {
                continue;
            }
        }
        let is_inert = trimmed.split_once('=').is_some_and(|(key, value)| {
            let key = key.trim().to_ascii_lowercase();
            INERT.contains(&key.as_str()) && !value.contains(['\\', '"', '['])
        });
        if is_branch && !continues && !goes_on && (is_inert || trimmed.is_empty()) {
            continue;
        }
        if is_branch {
            kept.push_str("branch ");
        }
        kept.push_str(line);
        kept.push('\n');
    }
    kept.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_branch_follows_is_no_setting_that_counts() {
        let kept = |text: &str| String::from_utf8(without_branches(text.as_bytes().to_vec())).unwrap();
        let plain = "[core]\n\tbare = false\n";
        let with = format!("{plain}[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n");
        assert_eq!(kept(&with), kept(plain));
        for evil in [
            "[branch \"x\"]\n\tmergeoptions = --strategy=evil\n",
            "[branch \"x\"]\n[core]\n\tfsmonitor = evil\n",
            "[branch \"x\"] fsmonitor = evil\n",
            "[branch \"x\"]\n\tremote = a \\\n[core]\n\tfsmonitor = evil\n",
        ] {
            assert_ne!(kept(&format!("{plain}{evil}")), kept(plain), "{evil}");
        }
    }

    #[test]
    fn values_are_quoted() {
        assert_eq!(in_quotes("a \"b\" \\ c"), "\"a \\\"b\\\" \\\\ c\"");
    }
}
