//! The code that earlier observed runs of entries used.
//!
//! `.brigade/tools/learned.json` holds for each entry the files that its observed runs executed, or read by the name of
//! a file with code. The next approval binds them. They count only while `command`, `cwd` and `code` of the entry are
//! those of the run. A damaged file teaches nothing and is replaced.

use std::collections::{BTreeMap, BTreeSet};

use brigade_catalog::Tool;
use brigade_cmdline::is_code_name;
use brigade_core::json::{from_json, matching, pretty_text};
use brigade_core::{Dialect, Fingerprint, Json};
use brigade_fs::{FileMode, Fs, FsError, RelPath};
use serde::{Deserialize, Serialize};

/// The file.
pub const LEARNED: &str = ".brigade/tools/learned.json";

/// The schema id of the file.
const SCHEMA: &str = "brigade.learned.v1";

/// The largest file that is read.
const MAX_BYTES: u64 = 16 << 20;

/// The maximum number of files of an entry. A run that used more teaches the first ones.
const MAX_FILES: usize = 1_000;

/// What observed runs taught.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    schema: String,
    /// The code of each entry, by its id.
    #[serde(default, deserialize_with = "matching")]
    tools: BTreeMap<String, LearnedTool>,
}

/// The code that observed runs of an entry used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedTool {
    /// The fingerprint of what the entry said then.
    entry: Fingerprint,
    /// The last run that was learned from.
    pub run_id: String,
    /// The files, by their path in the workspace.
    pub files: BTreeSet<String>,
}

impl Learned {
    /// Reads the file; empty if it is missing or damaged.
    pub fn read(fs: &dyn Fs) -> Learned {
        let bytes = fs.read(&RelPath::from_static(LEARNED), MAX_BYTES).ok();
        let json = bytes.and_then(|bytes| Json::parse_bytes(&bytes, Dialect::Strict).ok());
        let learned = json.and_then(|json| from_json::<Learned>(&json).ok());
        learned.filter(|learned| learned.schema == SCHEMA).unwrap_or_default()
    }

    /// Returns the code of an entry, while it says the same as then.
    pub fn of_tool(&self, tool: &Tool) -> Option<&LearnedTool> {
        self.tools.get(tool.id.as_str()).filter(|learned| learned.entry == entry_fingerprint(tool))
    }

    /// Adds files that a run of an entry used. Returns whether that changes anything. Files that are not there any more
    /// are dropped.
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

    /// Drops the code of an entry, and returns how many files that were.
    pub fn forget(&mut self, id: &str) -> Option<usize> {
        self.tools.remove(id).map(|learned| learned.files.len())
    }

    /// Writes the file, readable by its owner only.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn write(&self, fs: &dyn Fs) -> Result<(), FsError> {
        let learned = Learned { schema: SCHEMA.to_owned(), ..self.clone() };
        let text = pretty_text(&learned).expect("paths are JSON");
        fs.write_atomic(&RelPath::from_static(LEARNED), text.as_bytes(), FileMode::Private)
    }
}

impl LearnedTool {
    /// Returns the files that an approval bound, which it binds until it ends.
    pub fn approved(files: &[String], run_id: &str) -> LearnedTool {
        LearnedTool {
            entry: Fingerprint::of_bytes(b""),
            run_id: run_id.to_owned(),
            files: files.iter().cloned().collect(),
        }
    }
}

/// Tells whether a file that a run used is code: it was executed, or read by the name of a file with code.
pub fn is_code_of_run(path: &str, executed: bool) -> bool {
    executed || is_code_name(path)
}

/// Returns the fingerprint of what an entry says about its code.
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
        let mut learned = Learned::read(&fs);
        assert!(learned.learn(&fs, &tool, "run-1", &files(&["a.py", "gone.py"])));
        assert!(learned.learn(&fs, &tool, "run-2", &files(&["b.py"])));
        assert!(!learned.learn(&fs, &tool, "run-3", &files(&["a.py", "b.py"])));
        learned.write(&fs).unwrap();
        let learned = Learned::read(&fs);
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
    fn a_damaged_file_teaches_nothing() {
        for text in ["", "[]", r#"{"schema": "brigade.learned.v2", "tools": {}}"#] {
            let fs = MemoryFs::new();
            fs.create_dir_all(&RelPath::from_static(".brigade/tools")).unwrap();
            fs.write_atomic(&RelPath::from_static(LEARNED), text.as_bytes(), FileMode::Private).unwrap();
            assert_eq!(Learned::read(&fs), Learned::default(), "{text}");
        }
    }
}
