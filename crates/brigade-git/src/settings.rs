//! Git settings, read as data.
//!
//! Git never runs with settings of the user, the system or a repository that name programs. Brigade only takes a few
//! settings about the format of files and commits, and the author.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use brigade_exec::HostEnvironment;

use crate::error::GitError;
use crate::program::{Git, GitDirectories};

/// Settings about the format of files, which are passed on.
const CARRIED_SETTINGS: &[&str] = &[
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

/// Arguments that list settings with their files, including those of included files.
const LIST_ARGUMENTS: [&str; 4] = ["--list", "--includes", "--show-origin", "-z"];

/// Prefixes of further settings that a push needs.
const PUSH_SETTINGS: &[&str] =
    &["credential.", "url.", "http.", "ssh.", "core.sshcommand", "core.gitproxy", "remote."];

/// The settings of a repository, its user and the system.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    values: BTreeMap<String, Vec<OsString>>,
    /// The files that contain these settings.
    pub files: Vec<PathBuf>,
    /// The files that they include, whether they exist or not.
    included: Vec<PathBuf>,
}

impl Settings {
    /// Reads all settings that apply to a directory. This git command only reads, so it may see the settings of the
    /// user.
    ///
    /// # Errors
    /// Fails if git fails.
    pub fn read(git: &Git, directory: &Path, host: &HostEnvironment) -> Result<Settings, GitError> {
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
        Ok(Settings::parse(directory, &order.words(LIST_ARGUMENTS).reading().run()?.stdout))
    }

    /// Reads the settings of one repository, without those of its user or the system.
    ///
    /// # Errors
    /// Fails if git fails.
    pub fn of_repository(git: &Git, git_dirs: &GitDirectories) -> Result<Settings, GitError> {
        let directory = git_dirs.git_dir.clone().unwrap_or_default();
        let answer = git.order("config").in_dirs(git_dirs).words(LIST_ARGUMENTS).reading().run()?;
        Ok(Settings::parse(&directory, &answer.stdout))
    }

    fn parse(directory: &Path, printed: &[u8]) -> Settings {
        let mut settings = Settings::default();
        let mut parts = printed.split(|byte| *byte == 0);
        while let (Some(origin), Some(pair)) = (parts.next(), parts.next()) {
            let Some(file) = origin.strip_prefix(b"file:") else { continue };
            let file = directory.join(OsString::from_vec(file.to_vec()));
            if !settings.files.contains(&file) {
                settings.files.push(file.clone());
            }
            let end = pair.iter().position(|byte| *byte == b'\n');
            let (name, value) = match end {
                Some(end) => (&pair[..end], pair[end + 1..].to_vec()),
                // A name without a value means true.
                None => (pair, b"true".to_vec()),
            };
            let name = String::from_utf8_lossy(name).into_owned();
            if name == "include.path" || (name.starts_with("includeif.") && name.ends_with(".path")) {
                let beside = file.parent().unwrap_or(directory);
                settings.included.push(beside.join(OsString::from_vec(value.clone())));
            }
            settings.values.entry(name).or_default().push(OsString::from_vec(value));
        }
        settings
    }

    /// Lists the files that settings include, whether they exist or not.
    pub fn included(&self, host: &HostEnvironment) -> impl Iterator<Item = PathBuf> {
        let home = host.home().map(Path::to_owned);
        self.included.iter().map(move |path| {
            let of_home = path.iter().position(|part| part == "~");
            match (of_home, &home) {
                (Some(at), Some(home)) => home.join(path.iter().skip(at + 1).collect::<PathBuf>()),
                _ => path.clone(),
            }
        })
    }

    /// Returns the names of all settings, with section and key in lower case.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// Returns a setting, by its name with section and key in lower case.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.values.get(name).and_then(|values| values.last()).map(OsString::as_os_str)
    }

    /// Returns a setting that is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(OsStr::to_str)
    }

    /// Lists the settings that a push needs, with all values.
    pub fn of_push(&self) -> impl Iterator<Item = (&str, &OsStr)> {
        let is_needed = |name: &str| PUSH_SETTINGS.iter().any(|start| name.starts_with(start));
        let needed = self.values.iter().filter(move |(name, _)| is_needed(name));
        needed.flat_map(|(name, values)| values.iter().map(|value| (name.as_str(), value.as_os_str())))
    }

    /// Lists the names of configured filters.
    pub fn filters(&self) -> impl Iterator<Item = &str> {
        let mut names: Vec<&str> =
            self.values.keys().filter_map(|name| of_section(name, "filter.")).collect();
        names.dedup();
        names.into_iter()
    }

    /// Returns the default remote of git.
    pub fn remote(&self) -> Option<String> {
        let mut names: Vec<&str> =
            self.values.keys().filter_map(|name| of_section(name, "remote.")).collect();
        names.dedup();
        match names[..] {
            [only] => Some(only.to_owned()),
            _ => names.into_iter().find(|name| *name == "origin").map(str::to_owned),
        }
    }

    /// Formats the settings for the git directory of a task.
    pub fn of_task(&self, identity: Option<&Identity>) -> String {
        let format = self.text("extensions.objectformat").filter(|format| *format != "sha1");
        let version = if format.is_some() { 1 } else { 0 };
        let mut text = format!("[core]\n\trepositoryformatversion = {version}\n\tbare = false\n");
        if let Some(format) = format {
            text.push_str(&format!("[extensions]\n\tobjectFormat = {}\n", in_quotes(format)));
        }
        for name in CARRIED_SETTINGS {
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

/// The author of commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The name of the author.
    pub name: String,
    /// The email address of the author.
    pub email: String,
}

impl Identity {
    /// Returns the author that git would use, or Brigade if none is configured.
    pub fn from_settings(settings: &Settings, host: &HostEnvironment) -> Identity {
        let find = |variable: &str, names: [&str; 2], default: &str| {
            let value = host.get(variable).and_then(OsStr::to_str);
            let value = value.or_else(|| names.iter().find_map(|name| settings.text(name)));
            value.map(one_line).filter(|value| !value.is_empty()).unwrap_or_else(|| default.to_owned())
        };
        Identity {
            name: find("GIT_AUTHOR_NAME", ["author.name", "user.name"], "Brigade"),
            email: find("GIT_AUTHOR_EMAIL", ["author.email", "user.email"], "brigade@localhost"),
        }
    }
}

/// Puts a text on one line, without invisible characters.
pub fn one_line(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted() {
        assert_eq!(in_quotes("a \"b\" \\ c"), "\"a \\\"b\\\" \\\\ c\"");
    }
}
