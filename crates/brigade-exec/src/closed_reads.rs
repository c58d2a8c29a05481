//! What a run may read of a workspace that is closed to reading, as an approval, the entry and the arguments say it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use brigade_call::{VerifiedCall, absent_name, paths_of_words, spelled};
use brigade_catalog::Family;
use brigade_core::Fingerprint;
use brigade_fs::{FileKind, Fs, Location, RelPath};
use brigade_policy::{Decision, Reads, SandboxMode};
use brigade_sandbox::{ClosedWorkspace, Code};

use crate::program::OpenedProgram;
use crate::workspace_files::{
    FolderFiles, PatternMatches, PatternUse, file_fingerprint, folder_files, folder_fingerprint, is_link,
    link_to, links_on, matching_files, plain_folder, plain_part, reached, state_below, ways_to_root,
};

/// The largest file of code.
const MAX_CODE_FILE_BYTES: u64 = 256 << 20;

/// The most links of a pattern that are named.
const MAX_NOTES: usize = 5;

/// Never opened by an argument, at any depth.
pub(crate) const KEPT: [&str; 2] = [".brigade", ".git"];

/// What a run may read of its closed workspace, and what opens nothing of it, as sentences for the receipt.
pub(crate) struct ClosedReads {
    pub(crate) closed: ClosedWorkspace,
    pub(crate) notes: Vec<String>,
    /// What can change during the run, because nothing keeps others from it, as sentences for the receipt.
    pub(crate) loose: Vec<String>,
}

/// What decides about the reads of a program.
pub(crate) struct ReadRules<'a> {
    /// What the policy decided.
    pub(crate) decision: &'a Decision,
    /// The bound files.
    pub(crate) files: &'a BTreeMap<String, Fingerprint>,
    /// The program, wherever it is.
    pub(crate) program: Option<(&'a Path, Fingerprint)>,
    /// Patterns of the entry's data.
    pub(crate) data: &'a [String],
    /// Arguments that may name files.
    pub(crate) words: Vec<&'a str>,
    /// What the approval says is not there.
    pub(crate) absent: Vec<&'a str>,
    /// The program, if its interpreter opens it once more.
    pub(crate) script: Option<&'a Path>,
}

impl<'a> ReadRules<'a> {
    /// Returns what decides about the reads of a call.
    pub(crate) fn new(call: &'a VerifiedCall, opened: &'a OpenedProgram) -> ReadRules<'a> {
        let binding = call.binding();
        let words = call.plan().argument_words();
        ReadRules {
            decision: call.decision(),
            files: &binding.files,
            program: binding.program.as_ref().map(|program| (opened.path(), program.sha256)),
            data: call.plan().data(),
            words: words.filter(|_| *call.plan().family() != Family::Mcp).collect(),
            absent: binding.named.keys().map(String::as_str).collect(),
            script: opened.is_script().then(|| opened.path()),
        }
    }
}

/// Reads the code that the approval binds, and finds the data; none when the workspace is open.
///
/// # Errors
/// When a bound file has other bytes by now, or an argument would open code.
pub(crate) fn closed(
    fs: &dyn Fs,
    rules: &ReadRules<'_>,
    directory: &Path,
) -> Result<Option<ClosedReads>, String> {
    let sandbox = &rules.decision.sandbox;
    if sandbox.mode == SandboxMode::Off || sandbox.reads != Reads::Closed {
        return Ok(None);
    }
    let mut read = LoadedCode::default();
    read_bound_files(fs, rules, &mut read)?;
    for link in links_on(fs, directory) {
        if let Location::Inside(real) = read.resolve(fs, link.as_str())? {
            read.links.insert(link.as_path().to_owned(), fs.root().join(real.as_path()));
        }
    }
    let mut named: Vec<PathBuf> = read.links.keys().map(|link| fs.root().join(link)).collect();
    named.extend(read_program(fs, rules, &mut read)?);
    let mut opened = OpenedReads::default();
    opened.add_data(fs, rules.data, &read)?;
    opened.add_arguments(fs, rules, directory, &read)?;
    let script = rules.script.and_then(|path| match fs.resolve(&path.to_string_lossy(), None) {
        Ok(Location::Outside(real)) => Some(real),
        Ok(Location::Inside(_)) | Err(_) => None,
    });
    read.outside.extend(script);
    let loose = loose_files(&read.outside, &opened.packages);
    let folder = match fs.resolve(&directory.to_string_lossy(), None) {
        Ok(Location::Inside(real)) => fs.root().join(real.as_path()),
        Ok(Location::Outside(_)) | Err(_) => directory.to_owned(),
    };
    let OpenedReads { data, closed_data, notes, .. } = opened;
    let closed = ClosedWorkspace {
        code: read.code.into_values().collect(),
        links: read.links,
        data,
        closed_data,
        write_only: Vec::new(),
        named,
        outside: read.outside,
        folders: vec![folder],
    };
    Ok(Some(ClosedReads { closed, notes, loose }))
}

fn not_started(error: impl std::fmt::Display) -> String {
    format!("not started: {error}")
}

/// Reads the bound files, and compares them with the approval.
fn read_bound_files(fs: &dyn Fs, rules: &ReadRules<'_>, read: &mut LoadedCode) -> Result<(), String> {
    for (name, approved) in rules.files {
        let now = match name.strip_suffix('/') {
            Some(folder) => {
                let folder: RelPath = folder.parse().map_err(|_| format!("not started: odd path {name}"))?;
                let FolderFiles::All(files) = folder_files(fs, &folder).map_err(not_started)? else {
                    return Err(changed(name));
                };
                let mut table = Vec::with_capacity(files.len());
                for file in files {
                    let fingerprint = read.code(fs, &file)?;
                    table.push((file, fingerprint));
                }
                folder_fingerprint(table)
            }
            None => read.code(fs, name)?,
        };
        if now != *approved {
            return Err(changed(name));
        }
    }
    Ok(())
}

/// Reads the program if it is in the workspace, and compares it with the approval. Returns the path that names it
/// there.
fn read_program(
    fs: &dyn Fs,
    rules: &ReadRules<'_>,
    read: &mut LoadedCode,
) -> Result<Option<PathBuf>, String> {
    let Some((path, sha256)) = rules.program else { return Ok(None) };
    // One that a link leads to outside is executed by its open descriptor.
    if let Location::Inside(real) = fs.resolve(&path.to_string_lossy(), None).map_err(failed)?
        && read.file(fs, &real)? != sha256
    {
        return Err(changed(real.as_str()));
    }
    let is_written_inside = path.starts_with(fs.root());
    Ok(program_inside(fs, path).or_else(|| is_written_inside.then(|| path.to_owned())))
}

/// Says which files can change during the run, because nothing keeps others from it.
fn loose_files(outside: &[PathBuf], packages: &[String]) -> Vec<String> {
    let is_loose = |path: &&PathBuf| !is_of_the_system(path);
    let outside = outside.iter().filter(is_loose).map(|path| {
        let path = path.display();
        format!(
            "`{path}` is bound and outside of the workspace: its bytes can change after they were compared"
        )
    });
    let packages = packages.iter().map(|path| {
        format!("`{path}` in an argument is beside code, which would find a package that appears there during the run")
    });
    outside.chain(packages).collect()
}

/// What data and arguments open.
#[derive(Default)]
struct OpenedReads {
    data: Vec<PathBuf>,
    /// State of git and Brigade in it, which stays closed.
    closed_data: Vec<PathBuf>,
    notes: Vec<String>,
    /// Directories beside code that could become packages of it during the run.
    packages: Vec<String>,
}

impl OpenedReads {
    /// Opens what the entry names as data.
    fn add_data(&mut self, fs: &dyn Fs, patterns: &[String], read: &LoadedCode) -> Result<(), String> {
        for pattern in patterns {
            let links = links_on(fs, &fs.root().join(plain_part(pattern)));
            let link = links.first();
            self.notes.extend(link.map(|link| format!("`{link}` in data is a link, so it opens nothing")));
            let folder = whole_folder(fs, pattern, read.code.keys().map(PathBuf::as_path));
            if let Some(folder) = folder
                && let Some(found) = state_below(fs, &folder).map_err(not_started)?
            {
                self.closed_data.extend(found.iter().map(|state| fs.root().join(state.as_path())));
                self.data.push(fs.root().join(folder.as_path()));
                continue;
            }
            match matching_files(fs, pattern, PatternUse::Data).map_err(not_started)? {
                // Links open nothing elsewhere.
                PatternMatches::All(files) | PatternMatches::LeadsOut { files, .. } => {
                    let below = files.iter().filter(|file| links.is_empty() && is_link(fs, file));
                    let note = |link| format!("`{link}` in data is a link, so it opens nothing");
                    self.notes.extend(below.take(MAX_NOTES).map(note));
                    self.data.extend(files.iter().map(|file| fs.root().join(file)));
                }
                // Only of code.
                PatternMatches::OddName { .. } => {}
                PatternMatches::TooMuch { files, .. } => {
                    return Err(format!("not started: `{pattern}` in data matches more than {files} files"));
                }
            }
        }
        Ok(())
    }

    /// Opens what the arguments name.
    fn add_arguments(
        &mut self,
        fs: &dyn Fs,
        rules: &ReadRules<'_>,
        directory: &Path,
        read: &LoadedCode,
    ) -> Result<(), String> {
        let ways = ways_to_root(fs, spelled(rules.words.iter().copied(), directory));
        for path in paths_of_words(rules.words.iter().copied(), directory, fs.root(), &ways) {
            if path.to_str().is_some_and(|path| rules.absent.contains(&absent_name(path).as_str())) {
                continue;
            }
            let real = match fs.resolve(&fs.root().join(&path).to_string_lossy(), None) {
                Ok(Location::Inside(real)) => Some(real),
                Ok(Location::Outside(_)) => None,
                // Nothing can be there.
                Err(_) => continue,
            };
            // A word that names nothing is not a path.
            let is_there = real.as_ref().is_none_or(|real| fs.metadata(real).is_ok());
            let real = real.as_ref();
            let code = read.code.keys().map(PathBuf::as_path);
            match argument(fs.root(), &path, real.map(RelPath::as_path), code) {
                Argument::Opens(path) => self.open_argument(fs, rules, path, real)?,
                Argument::OpensCode => {
                    let why = "not started: an argument names a directory with code (argument_opens_code)";
                    return Err(why.to_owned());
                }
                Argument::Closed(why) if is_there => {
                    let path = path.display();
                    self.notes.push(format!("`{path}` in an argument {why}, so it opens nothing"));
                }
                Argument::Closed(_) | Argument::Code => {}
            }
        }
        Ok(())
    }

    fn open_argument(
        &mut self,
        fs: &dyn Fs,
        rules: &ReadRules<'_>,
        path: PathBuf,
        real: Option<&RelPath>,
    ) -> Result<(), String> {
        if let Some(folder) = real.filter(|folder| is_folder(fs, folder)) {
            match state_below(fs, folder).map_err(not_started)? {
                Some(found) => self.closed_data.extend(found.iter().map(|state| fs.root().join(state.as_path()))),
                None => self.notes.push(format!(
                    "`{folder}` in an argument has too many folders to find every repository in it: state of git in it \
                     may be readable"
                )),
            }
        }
        let inside = path.strip_prefix(fs.root()).ok().and_then(Path::to_str);
        let module = inside.map(|path| format!("{}/", absent_name(path)));
        if module.is_some_and(|module| rules.absent.iter().any(|name| name.starts_with(&module))) {
            self.packages.extend(inside.map(str::to_owned));
        }
        self.data.push(path);
        Ok(())
    }
}

/// Returns the path below the workspace by which a run finds a program there: its own, or, if that leads
/// around the workspace, the one without links. None if it is outside.
pub(crate) fn program_inside(fs: &dyn Fs, path: &Path) -> Option<PathBuf> {
    match fs.resolve(&path.to_string_lossy(), None) {
        Ok(Location::Inside(_)) if path.starts_with(fs.root()) => Some(path.to_owned()),
        Ok(Location::Inside(real)) => Some(fs.root().join(real.as_path())),
        Ok(Location::Outside(_)) | Err(_) => None,
    }
}

/// Tells whether a file belongs to the system, which is trusted as it is: an administrator's, in a directory for that.
fn is_of_the_system(path: &Path) -> bool {
    const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store"];
    let is_there = SYSTEM.iter().any(|system| path.starts_with(system)) && !path.starts_with("/usr/local");
    is_there && brigade_sandbox::is_only_of_root(path)
}

/// Returns the directory that a pattern of data opens as a whole (`fixtures/**`), if it has no link on its way and no
/// code in it. What is moved out of it is closed, and what is added to it matches the pattern.
fn whole_folder<'c>(fs: &dyn Fs, pattern: &str, mut code: impl Iterator<Item = &'c Path>) -> Option<RelPath> {
    let folder = plain_folder(pattern)?;
    let path = fs.root().join(folder.as_path());
    let is_itself =
        |real: &RelPath| real.as_path() == folder.as_path() && !real.as_path().as_os_str().is_empty();
    match fs.resolve(&path.to_string_lossy(), None) {
        Ok(Location::Inside(real)) if is_itself(&real) && is_folder(fs, &real) => {
            code.all(|code| !code.starts_with(&path)).then_some(folder)
        }
        Ok(_) | Err(_) => None,
    }
}

fn is_folder(fs: &dyn Fs, path: &RelPath) -> bool {
    fs.metadata(path).is_ok_and(|metadata| metadata.kind == FileKind::Directory)
}

/// What a path in an argument opens.
#[derive(Debug, PartialEq, Eq)]
enum Argument {
    /// What is there by exactly this path.
    Opens(PathBuf),
    /// Nothing, for this reason.
    Closed(&'static str),
    /// A file that is open as code.
    Code,
    /// The workspace, or a directory with code.
    OpensCode,
}

/// Decides what a path below the workspace opens if an argument names it. `real` is that path without links, if it
/// stays in the workspace.
///
/// The approval shows the name and not where links lead, so a link opens nothing. The sandbox opens the path without
/// following links, so this also holds for links that are made later.
fn argument<'c>(
    root: &Path,
    path: &Path,
    real: Option<&Path>,
    mut code: impl Iterator<Item = &'c Path>,
) -> Argument {
    if path.as_os_str().is_empty() {
        return Argument::OpensCode;
    }
    if path.components().any(|part| KEPT.iter().any(|kept| part.as_os_str() == *kept)) {
        return Argument::Closed("is state of git or Brigade");
    }
    if real != Some(path) {
        return Argument::Closed("leads through a link in the workspace");
    }
    let opened = root.join(path);
    match code.find(|file| file.starts_with(&opened)) {
        None => Argument::Opens(opened),
        Some(file) if file == opened => Argument::Code,
        Some(_) => Argument::OpensCode,
    }
}

fn changed(name: &str) -> String {
    format!("not started: file {name} changed since the call was approved")
}

/// The code that was read.
#[derive(Default)]
struct LoadedCode {
    code: BTreeMap<PathBuf, Code>,
    /// The links that are bound, and where they lead.
    links: BTreeMap<PathBuf, PathBuf>,
    /// Files that links out of the workspace lead to. They are compared and not opened.
    outside: Vec<PathBuf>,
}

impl LoadedCode {
    fn resolve(&self, fs: &dyn Fs, name: &str) -> Result<Location, String> {
        fs.resolve(&fs.root().join(name).to_string_lossy(), None).map_err(failed)
    }

    /// Reads what a bound name leads to, and returns its fingerprint as [`file_fingerprint`] does.
    fn code(&mut self, fs: &dyn Fs, name: &str) -> Result<Fingerprint, String> {
        let real = match self.resolve(fs, name)? {
            Location::Inside(real) => real,
            Location::Outside(real) => {
                if is_link(fs, name) {
                    self.links.insert(PathBuf::from(name), real.clone());
                }
                self.outside.push(real);
                return file_fingerprint(fs, name).map_err(failed);
            }
        };
        let link: RelPath = name.parse().map_err(|_| format!("not started: odd path {name}"))?;
        if name != real.as_str() && is_link(fs, name) {
            self.links.insert(link.as_path().to_owned(), fs.root().join(real.as_path()));
        }
        if is_folder(fs, &real) {
            return Ok(link_to(real.as_str()));
        }
        Ok(reached(&link, real.as_str(), self.file(fs, &real)?))
    }

    /// Reads a file of code, and returns the fingerprint of its bytes.
    fn file(&mut self, fs: &dyn Fs, real: &RelPath) -> Result<Fingerprint, String> {
        let bytes = fs.read(real, MAX_CODE_FILE_BYTES).map_err(failed)?;
        let metadata = fs.metadata(real).map_err(failed)?;
        let fingerprint = Fingerprint::of_bytes(&bytes);
        let path = fs.root().join(real.as_path());
        let is_executable = metadata.kind == FileKind::File && metadata.mode & 0o111 != 0;
        self.code.insert(path.clone(), Code { path, bytes: bytes.into(), is_executable });
        Ok(fingerprint)
    }
}

fn failed(error: brigade_fs::FsError) -> String {
    format!("not started: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_opens_what_it_names_and_follows_no_link() {
        let check = |path: &str, real: Option<&str>, expect: Argument| {
            let code = Path::new("/work/lib/code.py");
            let real = real.map(Path::new);
            let found = argument(Path::new("/work"), Path::new(path), real, std::iter::once(code));
            assert_eq!(found, expect, "{path}");
        };
        for path in ["in", "data", "deep/.gitignore", "gone"] {
            check(path, Some(path), Argument::Opens(Path::new("/work").join(path)));
        }
        let linked = || Argument::Closed("leads through a link in the workspace");
        check("link", Some("secret"), linked());
        check("folder/a", Some("data/a"), linked());
        check("code", Some("lib/code.py"), linked());
        check("repository", Some("deep/.git"), linked());
        check("out", None, linked());
        check("up", Some(""), linked());
        for path in [".git", "deep/.git", "deep/.git/config", "deep/.brigade/tools"] {
            check(path, Some(path), Argument::Closed("is state of git or Brigade"));
        }
        check("lib/code.py", Some("lib/code.py"), Argument::Code);
        check("lib", Some("lib"), Argument::OpensCode);
        check("", Some(""), Argument::OpensCode);
    }
}
