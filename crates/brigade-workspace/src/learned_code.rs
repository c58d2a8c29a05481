//! The code that earlier observed runs of entries used.
//!
//! For each entry, `.brigade/tools/learned.json` lists files that observed runs executed, and files with names of code
//! that they read. The next approval binds them. They count only while `command`, `cwd` and `code` of the entry stay
//! the same. A damaged file blocks plans, because its content is unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use brigade_catalog::Tool;
use brigade_cmdline::is_code_name;
use brigade_core::json::{from_json, matching, pretty_text};
use brigade_core::{Dialect, Fingerprint, Json};
use brigade_fs::{FileMode, Fs, FsError, FsErrorKind, RelPath};
use serde::{Deserialize, Serialize};

use crate::searched_files::is_binary_code;

/// The file.
pub const LEARNED: &str = ".brigade/tools/learned.json";

/// The schema id of the file.
const SCHEMA: &str = "brigade.learned.v1";

/// The maximum size of the file.
const MAX_BYTES: u64 = 16 << 20;

/// The maximum number of files of an entry. Of more files, the first ones are learned.
const MAX_FILES: usize = 1_000;

/// The code that was learned from observed runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LearnedCode {
    schema: String,
    /// The code of each entry, by its id.
    #[serde(default, deserialize_with = "matching")]
    tools: BTreeMap<String, LearnedTool>,
}

/// The code that observed runs of an entry used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedTool {
    /// The fingerprint of the entry's fields at that time.
    entry: Fingerprint,
    /// The last run that was learned from.
    pub run_id: String,
    /// The files, by their path in the workspace.
    pub files: BTreeSet<String>,
}

impl LearnedCode {
    /// Reads the file; empty if it is missing.
    ///
    /// # Errors
    /// When it cannot be read, or does not hold learned code.
    pub fn read(fs: &dyn Fs) -> Result<LearnedCode, FsError> {
        let bytes = match fs.read(&RelPath::from_static(LEARNED), MAX_BYTES) {
            Err(error) if error.is_not_found() => return Ok(LearnedCode::default()),
            read => read?,
        };
        let json = Json::parse_bytes(&bytes, Dialect::Strict).ok();
        let learned = json.and_then(|json| from_json::<LearnedCode>(&json).ok());
        learned.filter(|learned| learned.schema == SCHEMA).ok_or_else(|| {
            let text = "it does not hold learned code; remove it, and observed runs learn again".to_owned();
            FsError::new("read", LEARNED, FsErrorKind::Other { kind: io::ErrorKind::InvalidData, text })
        })
    }

    /// Returns the learned code of an entry, if its fields did not change.
    pub fn of_tool(&self, tool: &Tool) -> Option<&LearnedTool> {
        self.tools.get(tool.id.as_str()).filter(|learned| learned.entry == entry_fingerprint(tool))
    }

    /// Adds files that a run of an entry used, and drops files that no longer exist. Returns whether anything changed.
    pub fn learn(&mut self, fs: &dyn Fs, tool: &Tool, run_id: &str, files: &BTreeSet<String>) -> bool {
        let known = self.of_tool(tool).map(|learned| learned.files.clone()).unwrap_or_default();
        if files.is_subset(&known) {
            return false;
        }
        let is_there = |path: &&String| path.parse().is_ok_and(|path: RelPath| fs.metadata(&path).is_ok());
        let all: BTreeSet<String> = known.union(files).filter(is_there).take(MAX_FILES).cloned().collect();
        let learned = LearnedTool { entry: entry_fingerprint(tool), run_id: run_id.to_owned(), files: all };
        self.tools.insert(tool.id.to_string(), learned);
        true
    }

    /// Drops the code of an entry, and returns the number of its files.
    pub fn forget(&mut self, id: &str) -> Option<usize> {
        self.tools.remove(id).map(|learned| learned.files.len())
    }

    /// Writes the file, readable by its owner only.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn write(&self, fs: &dyn Fs) -> Result<(), FsError> {
        let learned = LearnedCode { schema: SCHEMA.to_owned(), ..self.clone() };
        let text = pretty_text(&learned).expect("paths are JSON");
        fs.write_atomic(&RelPath::from_static(LEARNED), text.as_bytes(), FileMode::Private)
    }
}

impl LearnedTool {
    /// Returns the files of an approval, which keeps them until it ends.
    pub fn approved(files: &[String], run_id: &str) -> LearnedTool {
        LearnedTool {
            entry: Fingerprint::of_bytes(b""),
            run_id: run_id.to_owned(),
            files: files.iter().cloned().collect(),
        }
    }
}

/// Returns whether a file that a run used is code: it was executed, has the name of a file with code, or is a binary
/// program or library.
pub fn is_code_of_run(fs: &dyn Fs, path: &str, executed: bool) -> bool {
    executed || is_code_name(path) || is_binary_code(fs, path)
}

/// Returns the fingerprint of the fields that choose an entry's code.
fn entry_fingerprint(tool: &Tool) -> Fingerprint {
    Fingerprint::builder("brigade.learned.v1")
        .text("command", tool.command.as_deref())
        .text("cwd", tool.cwd.as_deref())
        .list("code", tool.code.iter())
        .finish()
}

#[cfg(test)]
mod tests {
    use brigade_catalog::Family;
    use brigade_fs::MemoryFs;

    use super::*;

    #[test]
    fn code_is_learned_until_the_entry_changes() {
        let fs = MemoryFs::new();
        fs.create_dir_all(&RelPath::from_static(".brigade/tools")).unwrap();
        for path in ["a.py", "b.py"] {
            fs.write_atomic(&path.parse().unwrap(), b"1", FileMode::Private).unwrap();
        }
        let files = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<BTreeSet<_>>();
        let tool = Tool { command: Some("make".to_owned()), ..Tool::new("go", Family::Script).unwrap() };
        let mut learned = LearnedCode::read(&fs).unwrap();
        assert!(learned.learn(&fs, &tool, "run-1", &files(&["a.py", "gone.py"])));
        assert!(learned.learn(&fs, &tool, "run-2", &files(&["b.py"])));
        assert!(!learned.learn(&fs, &tool, "run-3", &files(&["a.py", "b.py"])));
        learned.write(&fs).unwrap();
        let learned = LearnedCode::read(&fs).unwrap();
        let known = learned.of_tool(&tool).unwrap();
        assert_eq!((known.run_id.as_str(), &known.files), ("run-2", &files(&["a.py", "b.py"])));
        for changed in [
            Tool { command: Some("make -s".to_owned()), ..tool.clone() },
            Tool { cwd: Some("sub".to_owned()), ..tool.clone() },
            Tool { code: vec!["lib/**".to_owned()], ..tool.clone() },
        ] {
            assert_eq!(learned.of_tool(&changed), None);
        }
        let mut learned = learned;
        assert_eq!((learned.forget("go"), learned.of_tool(&tool)), (Some(2), None));
    }

    #[test]
    fn a_damaged_file_is_an_error() {
        for text in ["", "[]", r#"{"schema": "brigade.learned.v2", "tools": {}}"#] {
            let fs = MemoryFs::new();
            fs.create_dir_all(&RelPath::from_static(".brigade/tools")).unwrap();
            fs.write_atomic(&RelPath::from_static(LEARNED), text.as_bytes(), FileMode::Private).unwrap();
            assert!(LearnedCode::read(&fs).is_err(), "{text}");
        }
    }

    #[test]
    fn at_most_so_many_files_of_an_entry_are_learned() {
        let fs = MemoryFs::new();
        let files: BTreeSet<String> = (0..MAX_FILES + 5).map(|index| format!("f{index:05}")).collect();
        for path in &files {
            fs.write_atomic(&path.parse().unwrap(), b"", FileMode::Private).unwrap();
        }
        let tool = Tool::new("go", Family::Script).unwrap();
        let mut learned = LearnedCode::default();
        assert!(learned.learn(&fs, &tool, "run-1", &files));
        let known = learned.of_tool(&tool).unwrap();
        assert_eq!((known.files.len(), known.files.contains("f00000")), (MAX_FILES, true));
    }

    #[test]
    fn code_of_a_run_is_what_it_executed_or_what_looks_like_code() {
        let fs = MemoryFs::new();
        let files: [(&str, &[u8]); 4] =
            [("lib.so", b"\x7fELF2"), ("tool", b"MZ.."), ("text", b"#!/bin/sh"), ("data.json", b"{}")];
        for (path, bytes) in files {
            fs.write_atomic(&path.parse().unwrap(), bytes, FileMode::Private).unwrap();
        }
        for (path, executed, expect) in [
            ("data.json", true, true),
            ("data.json", false, false),
            ("gone.py", false, true),
            ("lib.so", false, true),
            ("tool", false, true),
            ("text", false, false),
            ("gone", false, false),
        ] {
            assert_eq!(is_code_of_run(&fs, path, executed), expect, "{path}");
        }
    }

    #[test]
    fn forgetting_an_entry_without_code_says_so() {
        assert_eq!(LearnedCode::default().forget("go"), None);
        let approved = LearnedTool::approved(&["a.py".to_owned(), "a.py".to_owned()], "run-1");
        assert_eq!((approved.run_id.as_str(), approved.files.len()), ("run-1", 1));
    }
}
