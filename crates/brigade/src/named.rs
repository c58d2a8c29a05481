//! The files that an approval binds because the command names them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use brigade_catalog::Tool;
use brigade_core::Fingerprint;
use brigade_core::text::escape_terminal;
use brigade_exec::{FolderFiles, file_fingerprint, folder_files};
use brigade_fs::{FileKind, Fs, Location, RelPath};
use brigade_policy::Blocker;
use brigade_redact::Redactor;

use crate::code::{NotBound, code_of, missing_script, script_of};
use crate::error::Error;
use crate::files::ToolReader;
use crate::launched::launched_programs;

/// More files than these are bound by one fingerprint of their folder.
const MOST_BY_NAME: usize = 256;

/// The files that a command names.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamedFiles {
    /// Their sha256, by their path in the workspace, or an absolute one when a link leads out. A name that ends with `/` is
    /// a folder with everything below it.
    pub(crate) files: BTreeMap<String, Fingerprint>,
    /// Code that cannot be bound.
    pub(crate) too_much: BTreeSet<NotBound>,
    /// The script that the command runs, when it is not there.
    pub(crate) missing: Option<String>,
}

impl NamedFiles {
    /// Lists why the call may not run: code that no approval can bind, and a script that is not there.
    pub(crate) fn blockers(&self, tool: &Tool) -> Vec<Blocker> {
        let blocker = |what: &NotBound| {
            let (message, hint) = match what {
                NotBound::Folder(folder) => (
                    format!(
                        "the command runs code from the folder `{}`, which holds more than an approval binds",
                        escape_terminal(folder)
                    ),
                    "name the file to run in `command`, or a folder of less than 10000 files and 256 MiB",
                ),
                NotBound::Variable(name) => (
                    format!(
                        "the command sets `{}`, which says where code is found, and an approval does not bind that code",
                        escape_terminal(name)
                    ),
                    "name the code in `command` itself, or set the variable in a script of the workspace that the command runs",
                ),
                NotBound::FoundFiles => (
                    "the command runs files that `find` finds, and an approval does not bind them".to_owned(),
                    "name the file to run in `command`",
                ),
                NotBound::Option(option) => (
                    format!("the option `{option}` runs code that an approval does not bind"),
                    "name the file to run in `command`",
                ),
            };
            Blocker::new("code_not_bound", message).at(tool.place_of("command")).field("command").hint(hint)
        };
        let missing = self.missing.iter().map(|script| {
            let shown = Redactor::new(&[]).redact_str(script);
            let message =
                format!("the script `{}`, which the command runs, does not exist", escape_terminal(&shown));
            Blocker::new("script_not_found", message)
                .at(tool.place_of("command"))
                .field("command")
                .hint("create it, or name another one in `command`")
        });
        missing.chain(self.too_much.iter().map(blocker)).collect()
    }
}

/// Reads every file of the workspace that a word of the command names: by itself, behind a `=`, an `@` or a letter of an
/// option; the script of an interpreter, wherever it lies; of a link that leads out, the file behind it; the code that an interpreter finds by a folder, a module or a
/// part of a name; and the programs that the command leads to besides its own.
pub(crate) fn named_files(reader: &ToolReader<'_>, directory: &Path) -> Result<NamedFiles, Error> {
    let mut named = NamedFiles::default();
    let fs = &*reader.workspace.fs;
    let Some(argv) = reader.argv() else {
        return Ok(named);
    };
    let code = code_of(reader, &argv, directory);
    let folders = BTreeSet::from([directory, code.directory.as_path()]);
    for word in argv.words() {
        for name in names_in(word) {
            for folder in &folders {
                named.bind_file(fs, &folder.join(name), Outside::ThroughLinks)?;
            }
        }
    }
    if let Some(script) = script_of(&argv) {
        named.bind_file(fs, &code.directory.join(script.word), Outside::Anywhere)?;
        named.missing = missing_script(reader, &argv, &code.directory);
    }
    for path in &code.paths {
        named.bind_file(fs, path, Outside::ThroughLinks)?;
        named.bind_folder(fs, path)?;
    }
    named.too_much.extend(code.unbound);
    for path in launched_programs(reader, &argv, directory) {
        let name = path.strip_prefix(fs.root()).unwrap_or(&path).to_string_lossy().into_owned();
        // One that cannot be read cannot be run, or is read by nobody but the system.
        if let Ok(fingerprint) = file_fingerprint(fs, &name) {
            named.files.insert(name, fingerprint);
        }
    }
    Ok(named)
}

impl NamedFiles {
    /// Binds what a path leads to, if that is a file, and inside of the workspace or where it may be.
    fn bind_file(&mut self, fs: &dyn Fs, path: &Path, outside: Outside) -> Result<(), Error> {
        let Some(path) = path.to_str() else { return Ok(()) };
        let (name, metadata) = match fs.resolve(path, None) {
            Ok(Location::Inside(inside)) => (inside.as_str().to_owned(), fs.metadata(&inside)),
            Ok(Location::Outside(found))
                if outside == Outside::Anywhere || is_written_inside(path, fs.root()) =>
            {
                (found.to_string_lossy().into_owned(), fs.metadata_outside(&found))
            }
            Ok(Location::Outside(_)) | Err(_) => return Ok(()),
        };
        if metadata.is_ok_and(|metadata| metadata.kind == FileKind::File) && !self.files.contains_key(&name) {
            let fingerprint = file_fingerprint(fs, &name)?;
            self.files.insert(name, fingerprint);
        }
        Ok(())
    }

    /// Binds everything below the folder that a path leads to. The workspace itself holds what every run changes, so of
    /// it only the files that are found there are bound.
    fn bind_folder(&mut self, fs: &dyn Fs, path: &Path) -> Result<(), Error> {
        let Some(path) = path.to_str() else { return Ok(()) };
        let folder: RelPath = match fs.resolve(path, None) {
            Ok(Location::Inside(folder)) if !folder.is_root() => folder,
            Ok(Location::Outside(folder)) if is_written_inside(path, fs.root()) => {
                if fs.metadata_outside(&folder).is_ok_and(|metadata| metadata.kind == FileKind::Directory) {
                    self.too_much.insert(NotBound::Folder(folder.to_string_lossy().into_owned()));
                }
                return Ok(());
            }
            Ok(Location::Inside(_) | Location::Outside(_)) | Err(_) => return Ok(()),
        };
        if !fs.metadata(&folder).is_ok_and(|metadata| metadata.kind == FileKind::Directory) {
            return Ok(());
        }
        match folder_files(fs, &folder)? {
            FolderFiles::TooMuch => {
                self.too_much.insert(NotBound::Folder(folder.as_str().to_owned()));
            }
            FolderFiles::All(files) if files.len() <= MOST_BY_NAME => {
                for file in files {
                    let fingerprint = file_fingerprint(fs, &file)?;
                    self.files.insert(file, fingerprint);
                }
            }
            FolderFiles::All(_) => {
                let name = format!("{folder}/");
                let fingerprint = file_fingerprint(fs, &name)?;
                self.files.insert(name, fingerprint);
            }
        }
        Ok(())
    }
}

/// Which files outside of the workspace are bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outside {
    /// Those that a path inside of it leads to.
    ThroughLinks,
    /// All.
    Anywhere,
}

/// How many letters of options may stand before the name of a file in one word.
const BUNDLE: usize = 8;

/// Lists what may be the name of a file in a word: `file`, `--option=file`, `-ofile`, `-nofile`, `@file`.
fn names_in(word: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::from([word]);
    names.extend(word.split_once('=').map(|(_, value)| value));
    if let Some(bundle) = word.strip_prefix('-').filter(|bundle| !bundle.starts_with('-')) {
        let mut letters = bundle.chars();
        for _ in 0..BUNDLE {
            let is_letter = letters.next().is_some_and(|letter| letter.is_ascii_alphabetic());
            names.insert(letters.as_str());
            if !is_letter {
                break;
            }
        }
    }
    let behind: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix('@')).collect();
    names.extend(behind);
    names.retain(|name| !name.is_empty());
    names
}

/// Tells whether a path names something in the workspace, wherever links there may lead.
fn is_written_inside(path: &str, root: &Path) -> bool {
    let path = Path::new(path);
    path.starts_with(root) && !path.components().any(|part| part == std::path::Component::ParentDir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_behind_options() {
        for (word, expect) in [
            ("bin/tool.sh", &["bin/tool.sh"][..]),
            ("--config=conf.json", &["--config=conf.json", "conf.json"]),
            ("-c1.json", &["-c1.json", ".json", "1.json"]),
            ("-nf1.sed", &["-nf1.sed", ".sed", "1.sed", "f1.sed"]),
            ("@args.txt", &["@args.txt", "args.txt"]),
            ("--data=@args.txt", &["--data=@args.txt", "@args.txt", "args.txt"]),
            ("-d@args.txt", &["-d@args.txt", "@args.txt", "args.txt"]),
            ("-", &["-"]),
            ("--", &["--"]),
            ("-é.json", &["-é.json", ".json"]),
        ] {
            assert_eq!(names_in(word).into_iter().collect::<Vec<_>>(), expect, "{word}");
        }
    }
}
