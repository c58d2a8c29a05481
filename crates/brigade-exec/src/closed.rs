//! What a run may read of a workspace that is closed to reading, as an approval, the entry and the arguments say it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use brigade_call::{VerifiedCall, paths_of_words};
use brigade_core::Fingerprint;
use brigade_fs::{FileKind, Fs, Location, RelPath};
use brigade_policy::{Decision, Reads, SandboxMode};
use brigade_process::{Closed, Code};

use crate::folder::{FolderFiles, Matching, folder_files, folder_fingerprint, matching_files, state_below};

/// The largest file of code.
const LARGEST: u64 = 256 << 20;

/// Never opened by an argument, at any depth.
const KEPT: [&str; 2] = [".brigade", ".git"];

/// What a run may read of its closed workspace, and what opens nothing of it, as sentences for the receipt.
pub(crate) struct ClosedReads {
    pub(crate) closed: Closed,
    pub(crate) notes: Vec<String>,
}

/// What decides about the reads of a program.
pub(crate) struct Opening<'a> {
    /// What the policy decided.
    pub(crate) decision: &'a Decision,
    /// The bound files.
    pub(crate) files: &'a BTreeMap<String, Fingerprint>,
    /// The program, if it lies in the workspace.
    pub(crate) program: Option<(&'a str, Fingerprint)>,
    /// Patterns of the entry's data.
    pub(crate) data: &'a [String],
    /// Arguments that may name files.
    pub(crate) words: Vec<&'a str>,
}

impl<'a> Opening<'a> {
    /// Returns what decides about the reads of a call.
    pub(crate) fn of(call: &'a VerifiedCall) -> Opening<'a> {
        let binding = call.binding();
        let program = binding.program.as_ref().filter(|program| !program.path.starts_with('/'));
        let words = call.plan().arguments().values().map(String::as_str);
        Opening {
            decision: call.decision(),
            files: &binding.files,
            program: program.map(|program| (program.path.as_str(), program.sha256)),
            data: call.plan().data(),
            words: words.filter(|_| call.plan().family() != crate::execute::MCP).collect(),
        }
    }
}

/// Reads the code that the approval binds, and finds the data; none when the workspace is open.
///
/// # Errors
/// When a bound file has other bytes by now, or an argument would open code.
pub(crate) fn closed(
    fs: &dyn Fs,
    opening: &Opening<'_>,
    directory: &Path,
) -> Result<Option<ClosedReads>, String> {
    let sandbox = &opening.decision.sandbox;
    if sandbox.mode == SandboxMode::Off || sandbox.reads != Reads::Closed {
        return Ok(None);
    }
    let mut code = BTreeMap::new();
    for (name, approved) in opening.files {
        let now = match name.strip_suffix('/') {
            Some(folder) => {
                let folder: RelPath = folder.parse().map_err(|_| format!("not started: odd path {name}"))?;
                let files = folder_files(fs, &folder).map_err(|error| format!("not started: {error}"))?;
                let FolderFiles::All(files) = files else { return Err(changed(name)) };
                let mut table = Vec::with_capacity(files.len());
                for file in files {
                    let fingerprint = read_code(fs, &file, &mut code)?;
                    table.push((file, fingerprint));
                }
                folder_fingerprint(table)
            }
            None => read_code(fs, name, &mut code)?,
        };
        if now != *approved {
            return Err(changed(name));
        }
    }
    if let Some((path, sha256)) = opening.program
        && read_code(fs, path, &mut code)? != sha256
    {
        return Err(changed(path));
    }
    let mut opened = Vec::new();
    for pattern in opening.data {
        match matching_files(fs, pattern).map_err(|error| format!("not started: {error}"))? {
            Matching::All(files) => opened.extend(files.iter().map(|file| fs.root().join(file))),
            Matching::TooMuch { files, .. } => {
                return Err(format!("not started: `{pattern}` in data matches more than {files} files"));
            }
            // Links open nothing elsewhere.
            Matching::LeadsOut(_) => {}
        }
    }
    let mut notes = Vec::new();
    let mut kept = Vec::new();
    for path in paths_of_words(opening.words.iter().copied(), directory, fs.root()) {
        let real = match fs.resolve(&fs.root().join(&path).to_string_lossy(), None) {
            Ok(Location::Inside(real)) => Some(real),
            Ok(Location::Outside(_)) => None,
            // Nothing can be there.
            Err(_) => continue,
        };
        // A word that names nothing is no path.
        let is_there = real.as_ref().is_none_or(|real| fs.metadata(real).is_ok());
        let real = real.as_ref();
        match argument(fs.root(), &path, real.map(RelPath::as_path), code.keys().map(PathBuf::as_path)) {
            Argument::Opens(path) => {
                if let Some(folder) = real.filter(|folder| is_folder(fs, folder)) {
                    match state_below(fs, folder).map_err(|error| format!("not started: {error}"))? {
                        Some(found) => kept.extend(found.iter().map(|state| fs.root().join(state.as_path()))),
                        None => notes.push(format!(
                            "`{folder}` in an argument has too many folders to find every repository in it: state of \
                             git in it may be readable"
                        )),
                    }
                }
                opened.push(path);
            }
            Argument::OpensCode => {
                let why = "not started: an argument names a directory with code (argument_opens_code)";
                return Err(why.to_owned());
            }
            Argument::Closed(why) if is_there => {
                notes.push(format!("`{}` in an argument {why}, so it opens nothing", path.display()));
            }
            Argument::Closed(_) | Argument::Code => {}
        }
    }
    let closed = Closed { code: code.into_values().collect(), data: opened, kept, write_only: Vec::new() };
    Ok(Some(ClosedReads { closed, notes }))
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

/// Reads one file of code; those that links lead out of the workspace are compared and not opened.
fn read_code(fs: &dyn Fs, name: &str, code: &mut BTreeMap<PathBuf, Code>) -> Result<Fingerprint, String> {
    let failed = |error: brigade_fs::FsError| format!("not started: {error}");
    let path = fs.root().join(name);
    let real = match fs.resolve(&path.to_string_lossy(), None).map_err(failed)? {
        Location::Inside(real) => real,
        Location::Outside(_) => return crate::folder::file_fingerprint(fs, name).map_err(failed),
    };
    let bytes = fs.read(&real, LARGEST).map_err(failed)?;
    let metadata = fs.metadata(&real).map_err(failed)?;
    let fingerprint = Fingerprint::of_bytes(&bytes);
    let path = fs.root().join(real.as_path());
    let is_executable = metadata.kind == FileKind::File && metadata.mode & 0o111 != 0;
    code.insert(path.clone(), Code { path, bytes: bytes.into(), is_executable });
    Ok(fingerprint)
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
