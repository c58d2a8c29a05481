//! The files that an approval binds because the command names them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use brigade_call::{BoundBy, CodeFacts, PlanFacts, no_home};
use brigade_catalog::Tool;
use brigade_command::{Argv, Chain, NotBound, names_code, what_arguments_start, what_it_reads};
use brigade_core::text::escape_terminal;
use brigade_core::{Fingerprint, Glob, Label, reasons};
use brigade_exec::{
    FolderFiles, Matching, PatternOf, check_pattern, file_fingerprint, folder_files, links_on,
    matching_files, plain_folder, plain_part,
};
use brigade_fs::{FileKind, Fs, FsError, FsErrorKind, Location, RelPath};
use brigade_policy::{Blocker, Decision, Reads, SandboxMode};
use brigade_redact::Redactor;

use crate::files::ToolReader;
use crate::host::Host;
use crate::near::{meant, near_path};
use crate::seen::SeenFiles;

/// More files than these are bound by one fingerprint of their directory.
const MOST_BY_NAME: usize = 256;

/// The files that a command names.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamedFiles {
    /// Their sha256, by their path in the workspace, or an absolute one when a link leads out. A name that ends with
    /// `/` is a directory with everything below it.
    pub(crate) files: BTreeMap<String, Fingerprint>,
    /// What binds these files, and what else the command starts.
    pub(crate) code: CodeFacts,
    /// Code that cannot be bound.
    pub(crate) too_much: BTreeSet<NotBound>,
    /// The script that the command runs, if it is missing.
    pub(crate) missing: Option<String>,
    /// The file whose path is most like that of the missing script.
    pub(crate) near: Option<String>,
    /// Patterns of the entry that cannot be used: the field, its place from 1, and why.
    pub(crate) refused: Vec<(String, String)>,
    /// What the programs of the command are installed in, outside of the system and the workspace.
    pub(crate) program_paths: Vec<String>,
    /// Directories of installed packages in the workspace: whether the reviewed command finds them, or a text that it
    /// starts.
    environments: BTreeMap<RelPath, BoundBy>,
}

impl NamedFiles {
    /// Opens what the programs are installed in, when there is a sandbox. Packages that are installed in a workspace
    /// that is closed to reading are bound, all that a program can load there, unless the entry lists some itself.
    ///
    /// # Errors
    /// When the disk fails.
    pub(crate) fn open_in(
        &mut self,
        fs: &dyn Fs,
        tool: &Tool,
        decision: &mut Decision,
    ) -> Result<(), FsError> {
        if decision.sandbox.mode == SandboxMode::Off {
            return Ok(());
        }
        decision.sandbox.grants.program_paths.clone_from(&self.program_paths);
        if decision.sandbox.reads != Reads::Closed {
            return Ok(());
        }
        for (folder, by) in std::mem::take(&mut self.environments) {
            let lists = |pattern: &String| {
                let part = plain_part(pattern);
                folder.as_path().starts_with(&part) || part.starts_with(folder.as_path())
            };
            if tool.code.iter().chain(&tool.data).any(lists) {
                continue;
            }
            let refused = self.too_much.clone();
            if let Some((files, bytes)) = self.bind_below(fs, &folder)? {
                self.too_much.insert(NotBound::Packages(folder.as_str().to_owned(), files, bytes));
            }
            // One fingerprint stands for all that is below.
            let whole = format!("{folder}/");
            if self.files.contains_key(&whole) {
                let is_apart = |file: &String| !file.starts_with(&whole) || *file == whole;
                self.files.retain(|file, _| is_apart(file));
                self.code.by.retain(|file, _| is_apart(file));
            }
            self.name_by(by);
            if by == BoundBy::Chain {
                self.note_left(refused);
            }
        }
        Ok(())
    }

    /// Notes what the environment of the host adds to the code of a command: variables that the policy passes on and
    /// that name code or a file of the workspace, and a home directory in the workspace, where programs find their
    /// settings.
    pub(crate) fn note_environment(&mut self, host: &Host<'_>, directory: &Path, decision: &Decision) {
        let names_file = |value: &str| {
            let paths = value.split([' ', ':', '=', ',']).filter(|word| !word.is_empty());
            paths.map(|word| directory.join(word)).any(|path| {
                let found = host.fs.resolve(&path.to_string_lossy(), None);
                let Ok(Location::Inside(real)) = found else { return false };
                host.fs.metadata(&real).is_ok_and(|metadata| metadata.kind == FileKind::File)
            })
        };
        let named = decision.pass.iter().map(Label::as_str).filter(|name| {
            let value = host.environment.get(name).map(|value| value.to_string_lossy());
            value.is_some_and(|value| names_code(name, &value) || names_file(&value))
        });
        self.code.finders.extend(named.map(str::to_owned));
        let home = host.home().map(|home| host.fs.resolve(&home.to_string_lossy(), None));
        if let Some(Ok(Location::Inside(real))) = home {
            let shown = if real.is_root() { "." } else { real.as_str() };
            self.code.finders.insert(format!("HOME: {shown}"));
        }
    }

    /// Lists why the call may not run: code that no approval can bind, and a script that is not there.
    pub(crate) fn blockers(&self, tool: &Tool, home: Option<&Path>) -> Vec<Blocker> {
        let blocker = |what: &NotBound| {
            let hint = match what {
                NotBound::Folder(_) => {
                    "name the file to run in `command`, or a directory of less than 10000 files and 256 MiB"
                }
                NotBound::Packages(..) => "list what the tool loads of them in `code` of its entry",
                NotBound::OddName(_) => "rename the file",
                NotBound::Unreadable(_) => "check the owner and mode of the file and its directory",
                NotBound::Link(_) => "remove the link, or name the files to run in `command`",
                NotBound::Variable(_) => {
                    "name the code in `command` itself, or set the variable in a script of the workspace that the command runs"
                }
                NotBound::FoundFiles | NotBound::OfProcess | NotBound::Option(_) => {
                    "name the file to run in `command`"
                }
            };
            Blocker::new(reasons::CODE_NOT_BOUND, what.to_string())
                .at(tool.place_of("command"))
                .field("command")
                .hint(hint)
        };
        let missing =
            self.missing.iter().map(|script| missing_script(tool, script, self.near.as_deref(), home));
        let refused = self.refused.iter().map(|(field, why)| {
            Blocker::new(reasons::CODE_NOT_BOUND, why.clone())
                .at(tool.place_of(field))
                .field(field.as_str())
                .hint("name fewer files, below the workspace")
        });
        missing.chain(self.too_much.iter().map(blocker)).chain(refused).collect()
    }
}

/// Says that the command runs a script that is not there. `near` is the file whose path is most like its.
pub(crate) fn missing_script(tool: &Tool, script: &str, near: Option<&str>, home: Option<&Path>) -> Blocker {
    let shown = Redactor::new(&[]).redact_str(script);
    let message = format!("the script `{}`, which the command runs, does not exist", escape_terminal(&shown));
    let near = near.map(|near| meant(&Redactor::new(&[]).redact_str(near)));
    let hint = no_home(&shown, home)
        .or(near)
        .unwrap_or_else(|| "create it, or name another one in `command`".to_owned());
    Blocker::new(reasons::SCRIPT_NOT_FOUND, message).at(tool.place_of("command")).field("command").hint(hint)
}

/// Reads the files that [the command leads to](what_it_reads): those of the workspace, scripts and programs wherever
/// they lie, and where a link of the workspace leads out, the file behind it.
pub(crate) fn named_files(reader: &ToolReader<'_>, directory: &Path) -> Result<NamedFiles, FsError> {
    files_of(reader, directory, Words::Bound)
}

/// Reads the files that [the command leads to](what_it_reads), without those that it could only look at.
pub(crate) fn code_files(reader: &ToolReader<'_>, directory: &Path) -> Result<NamedFiles, FsError> {
    files_of(reader, directory, Words::Code)
}

/// Which files that words name are bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Words {
    /// All.
    Bound,
    /// Those behind interpreters and launchers.
    Code,
}

fn files_of(reader: &ToolReader<'_>, directory: &Path, words: Words) -> Result<NamedFiles, FsError> {
    let mut named = NamedFiles::default();
    let fs = reader.host.fs;
    named.bind_patterns(fs, reader.tool)?;
    named.name_by(BoundBy::Code);
    let Some(argv) = reader.argv() else {
        return Ok(named);
    };
    let mut reads = what_it_reads(&argv, directory, &reader.seen());
    if words == Words::Code {
        reads.named.clear();
        reads.settings.clear();
    }
    // A database that the entry declares as data is written by the tool; SQLite runs nothing of it.
    let is_data = |path: &PathBuf| is_declared_data(reader.tool, fs, path);
    let is_database =
        |path: &PathBuf| reads.databases.contains(path) && !reads.code.contains(path) && is_data(path);
    reads.named.retain(|path| !is_database(path));
    reads.named.extend(reads.settings.iter().filter(|path| !is_data(path)).cloned());
    reads.scripts.retain(|path| !is_database(path));
    // A link is bound wherever a word names it, and whatever it leads to: also by data it finds code.
    for path in reads.named.iter().chain(&reads.scripts) {
        named.bind_links(fs, path);
    }
    for path in &reads.named {
        named.bind_file(fs, path, Outside::ThroughLinks)?;
    }
    for path in &reads.scripts {
        named.bind_file(fs, path, Outside::Anywhere)?;
    }
    for path in &reads.code {
        named.bind_file(fs, path, Outside::ThroughLinks)?;
        named.bind_folder(fs, path)?;
    }
    named.name_by(BoundBy::Command);
    named.bind_chain(fs, reader.tool, &reads.chain)?;
    for path in &reads.programs {
        let name = path.strip_prefix(fs.root()).unwrap_or(path).to_string_lossy().into_owned();
        // A file that cannot be read cannot be run, or is read only by the system.
        if let Ok(fingerprint) = file_fingerprint(fs, &name) {
            named.files.insert(name, fingerprint);
        }
    }
    for path in &reads.executed {
        named.bind_links(fs, path);
    }
    let installation = reader.host.installation(&reads);
    for path in &installation.decided_by {
        named.bind_file(fs, path, Outside::Anywhere)?;
    }
    named.name_by(BoundBy::Command);
    named.note_environments(fs, &reads.environments, BoundBy::Command);
    named.program_paths = installation.paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    named.too_much.extend(reads.unbound);
    named.near =
        reads.missing.as_deref().and_then(|script| near_path(script.as_ref(), &directory.join(script)));
    named.missing = reads.missing;
    Ok(named)
}

/// Returns whether a pattern of data, and none of code, matches a file of the workspace.
fn is_declared_data(tool: &Tool, fs: &dyn Fs, path: &Path) -> bool {
    let Ok(Location::Inside(real)) = fs.resolve(&path.to_string_lossy(), None) else { return false };
    let is_in = |patterns: &[String]| patterns.iter().any(|text| Glob::beneath(text).matches(real.as_str()));
    is_in(&tool.data) && !is_in(&tool.code)
}

/// Binds what arguments choose to start by a text of the workspace, such as a recipe of make. Returns those that choose
/// the code of a command in such a text, which no approval covers.
///
/// # Errors
/// When the disk fails.
pub(crate) fn bind_chosen(
    host: &Host<'_>,
    facts: &mut PlanFacts<'_>,
    directory: &Path,
    words: &[String],
) -> Result<BTreeSet<String>, FsError> {
    let Some(mut argv) = facts.tool.command.as_deref().and_then(|command| Argv::parse(command).ok()) else {
        return Ok(BTreeSet::new());
    };
    let reviewed = argv.words().len();
    if words.iter().any(|word| argv.push(word.as_str()).is_err()) {
        return Ok(BTreeSet::new());
    }
    let seen = SeenFiles { fs: host.fs, path_variable: host.environment.get("PATH") };
    let chain = what_arguments_start(&argv, reviewed, directory, &seen);
    if chain == Chain::default() {
        return Ok(BTreeSet::new());
    }
    let (files, code) = (std::mem::take(&mut facts.files), std::mem::take(&mut facts.code));
    let mut named = NamedFiles { files, code, ..NamedFiles::default() };
    let bound = named.bind_chain(host.fs, facts.tool, &chain);
    (facts.files, facts.code) = (named.files, named.code);
    bound.map(|()| chain.chosen)
}

impl NamedFiles {
    /// Binds what a text of the workspace starts. It refuses nothing: it is bound as far as it can be.
    fn bind_chain(&mut self, fs: &dyn Fs, tool: &Tool, chain: &Chain) -> Result<(), FsError> {
        let refused = self.too_much.clone();
        let is_data = |path: &PathBuf| chain.may_be_data.contains(path) && is_declared_data(tool, fs, path);
        for path in chain.files.iter().filter(|path| !is_data(path)) {
            self.bind_file(fs, path, Outside::Anywhere)?;
            self.bind_folder(fs, path)?;
        }
        self.name_by(BoundBy::Chain);
        self.note_environments(fs, &chain.environments, BoundBy::Chain);
        self.note_left(refused);
        self.code.finders.extend(chain.finders.iter().cloned());
        self.code.starts.extend(chain.starts.iter().cloned());
        Ok(())
    }

    /// Takes back what could not be bound since, and notes it.
    fn note_left(&mut self, refused: BTreeSet<NotBound>) {
        let left = std::mem::replace(&mut self.too_much, refused);
        self.code.finders.extend(left.difference(&self.too_much).filter_map(|what| match what {
            NotBound::Folder(path)
            | NotBound::Packages(path, ..)
            | NotBound::Link(path)
            | NotBound::OddName(path)
            | NotBound::Unreadable(path) => Some(path.clone()),
            NotBound::Variable(_) | NotBound::FoundFiles | NotBound::OfProcess | NotBound::Option(_) => None,
        }));
    }

    fn note_environments(&mut self, fs: &dyn Fs, folders: &BTreeSet<PathBuf>, by: BoundBy) {
        for folder in folders {
            if let Ok(Location::Inside(real)) = fs.resolve(&folder.to_string_lossy(), None) {
                self.environments.entry(real).or_insert(by);
            }
        }
    }

    /// Says what binds the files that were added.
    fn name_by(&mut self, by: BoundBy) {
        for file in self.files.keys() {
            if !self.code.by.contains_key(file) {
                self.code.by.insert(file.clone(), by);
            }
        }
    }

    /// Binds every file that `code` of the entry matches, by its name, so that one more is a change, too.
    pub(crate) fn bind_patterns(&mut self, fs: &dyn Fs, tool: &Tool) -> Result<(), FsError> {
        let lists = [("code", &tool.code, PatternOf::Code), ("data", &tool.data, PatternOf::Data)];
        for (field, patterns, of) in lists {
            for (index, pattern) in patterns.iter().enumerate() {
                let field_name = format!("{field}[{}]", index + 1);
                let shown = escape_terminal(pattern);
                if let Err(why) = check_pattern(pattern) {
                    self.refused.push((field_name, format!("the pattern `{shown}` {why}")));
                    continue;
                }
                // A directory is opened as a whole, however much is in it.
                let whole = plain_folder(pattern).filter(|_| field == "data");
                if let Some(folder) = whole {
                    if !is_itself(fs, &folder, FileKind::Directory) {
                        self.code.empty_data.insert(pattern.clone());
                    }
                    continue;
                }
                match matching_files(fs, pattern, of)? {
                    Matching::All(files) | Matching::LeadsOut { files, .. } if field == "data" => {
                        if !files.iter().any(|file| is_named_itself(fs, file)) {
                            self.code.empty_data.insert(pattern.clone());
                        }
                    }
                    Matching::TooMuch { files, bytes } if field == "data" => self.refused.push((
                        field_name,
                        format!(
                            "the pattern `{shown}` matches more than is opened file by file: {files} files and {} MiB \
                             so far; `DIRECTORY/**` opens a directory as a whole",
                            bytes >> 20
                        ),
                    )),
                    Matching::All(files) => {
                        if files.is_empty() {
                            self.code.empty.insert(pattern.clone());
                        }
                        for file in files {
                            self.bind(fs, file)?;
                        }
                    }
                    Matching::TooMuch { files, bytes } => self.refused.push((
                        field_name,
                        format!(
                            "the pattern `{shown}` matches more than an approval binds: {files} files and {} MiB so far",
                            bytes >> 20
                        ),
                    )),
                    Matching::OddName { folder } => self.refused.push((
                        field_name,
                        format!(
                            "the pattern `{shown}` matches names in `{}` that are not UTF-8, which nothing can bind",
                            escape_terminal(folder.as_str())
                        ),
                    )),
                    Matching::LeadsOut { link, .. } => self.refused.push((
                        field_name,
                        format!(
                            "the pattern `{shown}` leads through `{}`, a link out of the workspace or of its directory, or into `.git` or `.brigade`",
                            escape_terminal(link.as_str())
                        ),
                    )),
                }
            }
        }
        Ok(())
    }

    /// Binds where the links of the workspace lead that are on a path to something.
    fn bind_links(&mut self, fs: &dyn Fs, path: &Path) {
        for link in links_on(fs, path) {
            // Many paths may lead through one link.
            if let Entry::Vacant(place) = self.files.entry(link.as_str().to_owned())
                && let Ok(fingerprint) = file_fingerprint(fs, link.as_str())
            {
                place.insert(fingerprint);
            }
        }
    }

    /// Notes a path that a link leads to a name that is not UTF-8, which nothing can bind.
    fn refuse_odd_name(&mut self, fs: &dyn Fs, path: &Path) {
        let is_there = fs.metadata_outside(path).is_ok();
        if let Some(link) = links_on(fs, path).last().filter(|_| is_there) {
            self.too_much.insert(NotBound::OddName(link.as_str().to_owned()));
        }
    }

    /// Binds what a path leads to, if that is a file, and inside of the workspace or where it may be.
    fn bind_file(&mut self, fs: &dyn Fs, path: &Path, outside: Outside) -> Result<(), FsError> {
        let spelled = path;
        let Some(path) = path.to_str() else { return Ok(()) };
        let (name, metadata) = match fs.resolve(path, None) {
            Ok(Location::Inside(inside)) => (inside.as_str().to_owned(), fs.metadata(&inside)),
            Ok(Location::Outside(found))
                if outside == Outside::Anywhere || is_written_inside(path, fs.root()) =>
            {
                (found.to_string_lossy().into_owned(), fs.metadata_outside(&found))
            }
            Ok(Location::Outside(_)) => return Ok(()),
            Err(_) => {
                self.refuse_odd_name(fs, spelled);
                return Ok(());
            }
        };
        if !metadata.is_ok_and(|metadata| metadata.kind == FileKind::File) {
            return Ok(());
        }
        self.bind_links(fs, spelled);
        self.bind(fs, name)
    }

    /// Binds a file, or a directory whose name ends with `/`. What of the workspace may not be read is noted.
    fn bind(&mut self, fs: &dyn Fs, name: String) -> Result<(), FsError> {
        let Entry::Vacant(place) = self.files.entry(name) else { return Ok(()) };
        match file_fingerprint(fs, place.key()) {
            Ok(fingerprint) => drop(place.insert(fingerprint)),
            // What may not be read cannot be run by an interpreter, either.
            Err(_) if place.key().starts_with('/') => {}
            Err(error) if error.kind == FsErrorKind::Permission => {
                let _ = self.too_much.insert(NotBound::Unreadable(place.into_key()));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Binds everything below the directory that a path leads to. The workspace itself holds what every run changes, so
    /// of it only the files that are found there are bound.
    fn bind_folder(&mut self, fs: &dyn Fs, path: &Path) -> Result<(), FsError> {
        let spelled = path;
        let Some(path) = path.to_str() else { return Ok(()) };
        let folder: RelPath = match fs.resolve(path, None) {
            Ok(Location::Inside(folder)) if !folder.is_root() => folder,
            Ok(Location::Outside(folder)) if is_written_inside(path, fs.root()) => {
                if fs.metadata_outside(&folder).is_ok_and(|metadata| metadata.kind == FileKind::Directory) {
                    let link = Path::new(path).strip_prefix(fs.root()).unwrap_or(Path::new(path));
                    self.too_much.insert(NotBound::link(link));
                }
                return Ok(());
            }
            Ok(Location::Inside(_) | Location::Outside(_)) => return Ok(()),
            Err(_) => {
                self.refuse_odd_name(fs, spelled);
                return Ok(());
            }
        };
        if !fs.metadata(&folder).is_ok_and(|metadata| metadata.kind == FileKind::Directory) {
            return Ok(());
        }
        self.bind_links(fs, spelled);
        if self.bind_below(fs, &folder)?.is_some() {
            self.too_much.insert(NotBound::Folder(folder.as_str().to_owned()));
        }
        Ok(())
    }

    /// Binds everything below a directory. Returns how many files and bytes were counted if these are too many.
    fn bind_below(&mut self, fs: &dyn Fs, folder: &RelPath) -> Result<Option<(usize, u64)>, FsError> {
        match folder_files(fs, folder)? {
            FolderFiles::LeadsOut(link) => {
                self.too_much.insert(NotBound::Link(link.as_str().to_owned()));
            }
            FolderFiles::TooMuch { files, bytes } => return Ok(Some((files, bytes))),
            FolderFiles::OddName(folder) => {
                self.too_much.insert(NotBound::OddName(folder.as_str().to_owned()));
            }
            FolderFiles::All(files) if files.len() <= MOST_BY_NAME => {
                for file in files {
                    self.bind(fs, file)?;
                }
            }
            FolderFiles::All(_) => {
                self.bind(fs, format!("{folder}/"))?;
            }
        }
        Ok(None)
    }
}

/// Returns whether what a name of a file leads to is exactly that file. Data that a link leads to is not opened.
fn is_named_itself(fs: &dyn Fs, file: &str) -> bool {
    file.parse().is_ok_and(|file| is_itself(fs, &file, FileKind::File))
}

/// Returns whether there is something of this kind with exactly this path, and no link is on it.
fn is_itself(fs: &dyn Fs, path: &RelPath, kind: FileKind) -> bool {
    let real = fs.resolve(&fs.root().join(path.as_path()).to_string_lossy(), None);
    real.is_ok_and(|real| matches!(real, Location::Inside(real) if real == *path))
        && fs.metadata(path).is_ok_and(|metadata| metadata.kind == kind)
}

/// Which files outside of the workspace are bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outside {
    /// Those that a path inside of it leads to.
    ThroughLinks,
    /// All.
    Anywhere,
}

/// Returns whether a path names something in the workspace, wherever links there may lead.
fn is_written_inside(path: &str, root: &Path) -> bool {
    let path = Path::new(path);
    path.starts_with(root) && !path.components().any(|part| part == std::path::Component::ParentDir)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
    #![allow(clippy::disallowed_methods, reason = "a link is made on a real disk")]

    use brigade_fs::DiskFs;

    use super::*;

    /// Issue 11: a directory that a command names twice, in two spellings, is one reason.
    #[test]
    fn a_link_to_a_directory_elsewhere_is_one_reason_however_it_is_spelled() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let fs = DiskFs::open(folder.path()).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), fs.root().join("out")).unwrap();
        let mut named = NamedFiles::default();
        for spelled in ["./out", "out"] {
            named.bind_folder(&fs, &fs.root().join(spelled)).unwrap();
            named.bind_folder(&fs, Path::new(spelled)).unwrap();
        }
        assert_eq!(named.too_much, [NotBound::Link("out".to_owned())].into());
    }

    /// Issue 12: many words lead through one link, which is read once.
    #[test]
    fn a_link_is_read_once_however_many_paths_lead_through_it() {
        let folder = tempfile::tempdir().unwrap();
        let fs = DiskFs::open(folder.path()).unwrap();
        std::fs::write(fs.root().join("code.py"), "first").unwrap();
        std::os::unix::fs::symlink("code.py", fs.root().join("link.py")).unwrap();
        let mut named = NamedFiles::default();
        let link = fs.root().join("link.py");
        named.bind_links(&fs, &link);
        let first = named.files.clone();
        std::fs::write(fs.root().join("code.py"), "second").unwrap();
        named.bind_links(&fs, &link);
        assert_eq!((named.files == first, first.contains_key("link.py")), (true, true));
    }
}
