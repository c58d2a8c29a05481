//! What a run may read of a workspace that is closed to reading, as an approval, the entry and the arguments say it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use brigade_call::{VerifiedCall, paths_of_words};
use brigade_core::Fingerprint;
use brigade_fs::{FileKind, Fs, Location, RelPath};
use brigade_policy::{Reads, SandboxMode};
use brigade_process::{Closed, Code};

use crate::folder::{FolderFiles, Matching, folder_files, folder_fingerprint, matching_files};

/// The largest file of code.
const LARGEST: u64 = 256 << 20;

/// Never opened by an argument or as data.
const KEPT: [&str; 2] = [".brigade", ".git"];

/// Reads the code that the approval binds, and finds the data; none when the workspace is open.
///
/// # Errors
/// When a bound file has other bytes by now, or an argument would open code.
pub(crate) fn closed(
    fs: &dyn Fs,
    call: &VerifiedCall,
    directory: &Path,
    data: &[String],
) -> Result<Option<Closed>, String> {
    let sandbox = &call.decision().sandbox;
    if sandbox.mode == SandboxMode::Off || sandbox.reads != Reads::Closed {
        return Ok(None);
    }
    let binding = call.binding();
    let mut code = BTreeMap::new();
    for (name, approved) in &binding.files {
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
    if let Some(program) = &binding.program
        && !program.path.starts_with('/')
        && read_code(fs, &program.path, &mut code)? != program.sha256
    {
        return Err(changed(&program.path));
    }
    let mut opened = Vec::new();
    for pattern in data {
        match matching_files(fs, pattern).map_err(|error| format!("not started: {error}"))? {
            Matching::All(files) => opened.extend(files.iter().map(|file| fs.root().join(file))),
            Matching::TooMuch { files, .. } => {
                return Err(format!("not started: `{pattern}` in data matches more than {files} files"));
            }
            // Links open nothing elsewhere.
            Matching::LeadsOut(_) => {}
        }
    }
    let words = call.plan().arguments().values().map(String::as_str);
    let words = words.filter(|_| call.plan().family() != crate::execute::MCP);
    for path in paths_of_words(words, directory, fs.root()) {
        let Ok(Location::Inside(real)) = fs.resolve(&fs.root().join(path).to_string_lossy(), None) else {
            continue;
        };
        let is_kept = KEPT.iter().any(|kept| real.as_path().starts_with(kept));
        let real = fs.root().join(real.as_path());
        let holds_code = |file: &PathBuf| file.starts_with(&real) && *file != real;
        if real == fs.root() || code.keys().any(holds_code) {
            return Err(
                "not started: an argument names a directory with code (argument_opens_code)".to_owned()
            );
        }
        if !is_kept && !code.contains_key(&real) {
            opened.push(real);
        }
    }
    Ok(Some(Closed { code: code.into_values().collect(), data: opened, write_only: Vec::new() }))
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
