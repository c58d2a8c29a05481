//! Caches results of commands that check whether a tool is installed, until a file changes that they were started from.
//!
//! `tools check --run-checks` and installations start `install.check` and `version_command`. Everything else reads
//! their results from `.brigade/tools/checks.json`. The file is a cache: it can be deleted at any time, and a damaged
//! file is ignored and replaced. It names commands and programs by fingerprints, because a command line may hold a
//! bound value.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use brigade_call::VerifiedStart;
use brigade_catalog::{Catalog, Version};
use brigade_core::json::{from_json, pretty_text};
use brigade_core::{Dialect, Fingerprint, Json, Timestamp};
use brigade_fs::{FileKind, Fs, FsError, RelPath};
use serde::{Deserialize, Serialize};

/// The cache file.
pub const CHECKS: &str = ".brigade/tools/checks.json";

/// The schema id of that file, and the prefix of the ids of all versions.
const SCHEMA: &str = "brigade.checks.v1";
const SCHEMA_OF_ANY_VERSION: &str = "brigade.checks.v";

/// The largest such file that is read.
const LIMIT: u64 = 16 << 20;

/// The maximum number of files that a command is started from; others are not cached.
const MAX_FILES: usize = 256;

/// Results of commands, by the fingerprint of the command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeptChecks {
    commands: BTreeMap<String, KeptCheck>,
    state: State,
}

/// Whether the file can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Sound,
    Damaged,
    /// A directory, which is not replaced.
    Directory,
    Newer,
}

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptCheck {
    /// When it was started.
    pub observed_at: Timestamp,
    /// Whether it succeeded.
    pub succeeded: bool,
    /// The version that it printed.
    pub version: Option<String>,
    /// The files that it was started from, its program first.
    files: Vec<Stamp>,
    /// The programs of the checked tools, by the fingerprints of their words in commands; `None` if they were missing.
    /// If a program changed since, the result is not about it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    programs: BTreeMap<String, Option<Stamp>>,
}

/// The current program of a tool's command.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolProgram {
    /// The fingerprint of its word in the command.
    word: String,
    stamp: Option<Stamp>,
}

/// The state of a file at one time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Stamp {
    path: String,
    size: u64,
    modified: Timestamp,
}

/// The file.
#[derive(Serialize, Deserialize)]
struct Document {
    schema: String,
    commands: BTreeMap<String, KeptCheck>,
}

impl KeptChecks {
    /// Reads the cache.
    pub fn read(fs: &dyn Fs) -> KeptChecks {
        match fs.read(&path(), LIMIT) {
            Ok(bytes) => KeptChecks::parse(&bytes),
            Err(error) if error.is_not_found() => KeptChecks::default(),
            Err(_) => {
                let kind = fs.link_metadata(&path()).map(|metadata| metadata.kind);
                let state = if kind == Ok(FileKind::Directory) { State::Directory } else { State::Damaged };
                KeptChecks { state, ..KeptChecks::default() }
            }
        }
    }

    fn parse(bytes: &[u8]) -> KeptChecks {
        let json = Json::parse_bytes(bytes, Dialect::Strict).unwrap_or(Json::Null);
        match from_json::<Document>(&json) {
            Ok(Document { schema, commands }) if schema == SCHEMA => {
                KeptChecks { commands, state: State::Sound }
            }
            _ => {
                let id = json.get("schema").and_then(Json::as_str).unwrap_or_default();
                let is_newer = id != SCHEMA && id.starts_with(SCHEMA_OF_ANY_VERSION);
                let state = if is_newer { State::Newer } else { State::Damaged };
                KeptChecks { state, ..KeptChecks::default() }
            }
        }
    }

    /// Returns what is wrong with the file, for people. `replaced` says whether the current checks replace it.
    pub fn problem(&self, replaced: bool) -> Option<String> {
        match self.state {
            State::Sound => None,
            State::Damaged if replaced => Some(format!("{CHECKS} was damaged, and is replaced")),
            State::Damaged => {
                Some(format!("{CHECKS} is damaged and is not used; the next check that is run replaces it"))
            }
            State::Directory => Some(format!("{CHECKS} is a directory and is not used; remove it")),
            State::Newer => Some(format!("{CHECKS} is of a newer version of Brigade and is left alone")),
        }
    }

    /// Returns the result of a command, unless a file that it was started from changed. `program` is where its program
    /// is found now.
    pub fn result(&self, fs: &dyn Fs, command: &str, program: &Path) -> Option<&KeptCheck> {
        let kept = self.commands.get(&named(command))?;
        let (first, _) = kept.files.split_first()?;
        let is_same = |was: &Stamp| Stamp::read(fs, &was.path).as_ref() == Some(was);
        (Path::new(&first.path) == program && kept.files.iter().all(is_same)).then_some(kept)
    }

    /// Adds the result of a command. Its files were inspected before the start, so a change during the run is noticed
    /// later.
    pub fn keep(&mut self, command: &str, check: KeptCheck) {
        self.commands.insert(named(command), check);
    }

    /// Notes the program of a tool that a command checked, as it was before the start. Does nothing if the command is
    /// not cached.
    pub fn asked_about(&mut self, command: &str, program: ToolProgram) {
        if let Some(kept) = self.commands.get_mut(&named(command)) {
            kept.programs.insert(program.word, program.stamp);
        }
    }

    /// Writes the cache. Leaves out commands that are no longer in the catalog, and commands with a bound value in the
    /// path of a file. Does not replace a file of a newer version.
    ///
    /// # Errors
    /// Fails on a disk error. The earlier cache is then as it was.
    pub fn write(mut self, fs: &dyn Fs, catalog: &Catalog) -> Result<(), FsError> {
        if self.state == State::Newer {
            return Ok(());
        }
        let tools = || catalog.tools().iter().chain(catalog.shadowed().iter().map(|hidden| &hidden.tool));
        let commands = tools().flat_map(|tool| [tool.check_to_run(), tool.version_to_run()]).flatten();
        let known: BTreeSet<String> = commands.map(named).collect();
        let masks = tools().next().map(|tool| tool.masks.clone()).unwrap_or_default();
        self.commands
            .retain(|command, kept| known.contains(command) && kept.paths().all(|path| masks.shows(path)));
        let document = Document { schema: SCHEMA.to_owned(), commands: self.commands };
        let text = pretty_text(&document).expect("what commands told is JSON");
        fs.create_dir_all(&path().parent())?;
        fs.write_cache(&path(), text.as_bytes())
    }
}

impl KeptCheck {
    /// Inspects the files of a start before it. `None` if there are too many or one cannot be inspected.
    pub fn before(fs: &dyn Fs, start: &VerifiedStart, now: Timestamp) -> Option<KeptCheck> {
        let program = start.program().to_str()?;
        let named = start.files().keys().map(String::as_str).filter(|path| *path != program);
        let files: Vec<Stamp> =
            std::iter::once(program).chain(named).map(|path| Stamp::read(fs, path)).collect::<Option<_>>()?;
        (files.len() <= MAX_FILES).then_some(KeptCheck {
            observed_at: now,
            succeeded: false,
            version: None,
            files,
            programs: BTreeMap::new(),
        })
    }

    fn paths(&self) -> impl Iterator<Item = &str> {
        let files = self.files.iter().chain(self.programs.values().flatten());
        files.map(|stamp| stamp.path.as_str())
    }

    /// Adds the result.
    #[must_use]
    pub fn with_result(self, succeeded: bool, version: Option<&Version>) -> KeptCheck {
        KeptCheck { succeeded, version: version.map(ToString::to_string), ..self }
    }

    /// Returns whether the program of a tool is unchanged since the check, or was not noted.
    pub fn is_about(&self, program: &ToolProgram) -> bool {
        self.programs.get(&program.word).is_none_or(|was| *was == program.stamp)
    }

    /// Returns the version that it printed.
    pub fn version(&self) -> Option<Version> {
        self.version.as_deref()?.parse().ok()
    }
}

impl ToolProgram {
    /// Inspects the program that a word of a command leads to.
    pub(crate) fn new(fs: &dyn Fs, word: &str, found: Option<&Path>) -> ToolProgram {
        let stamp = found.and_then(Path::to_str).and_then(|path| Stamp::read(fs, path));
        ToolProgram { word: named(word), stamp }
    }
}

impl Stamp {
    /// Inspects a file: absolute, or relative to the workspace.
    fn read(fs: &dyn Fs, path: &str) -> Option<Stamp> {
        let metadata = fs.metadata_outside(&fs.root().join(path)).ok()?;
        Some(Stamp { path: path.to_owned(), size: metadata.len, modified: metadata.modified })
    }
}

/// Returns the key in the file for a text of a command.
fn named(text: &str) -> String {
    Fingerprint::builder("brigade.kept-check.v1").text("text", text).finish().to_hex()
}

fn path() -> RelPath {
    RelPath::from_static(CHECKS)
}

#[cfg(test)]
mod tests {
    use brigade_catalog::Level;
    use brigade_fs::{DiskFs, FileMode};

    use super::*;

    /// The result of `tool --version`, started from the program at this path.
    fn noted(fs: &dyn Fs, program: &Path) -> KeptCheck {
        let stamp = Stamp::read(fs, program.to_str().unwrap()).unwrap();
        let observed_at = Timestamp::from_unix_micros(5_000_000);
        KeptCheck {
            observed_at,
            succeeded: true,
            version: Some("1.2".to_owned()),
            files: vec![stamp],
            programs: BTreeMap::new(),
        }
    }

    fn rel(path: &str) -> RelPath {
        path.parse().unwrap()
    }

    #[test]
    fn results_are_dropped_when_the_program_changes() {
        let folder = tempfile::tempdir().unwrap();
        let fs = DiskFs::open(folder.path()).unwrap();
        for name in ["one", "two"] {
            fs.write_atomic(&rel(name), b"#!/bin/sh\n", FileMode::Exactly(0o755)).unwrap();
        }
        let (one, two) = (fs.root().join("one"), fs.root().join("two"));
        let mut kept = KeptChecks::read(&fs);
        kept.keep("one --version", noted(&fs, &one));
        kept.keep("gone --version", noted(&fs, &two));
        let text =
            "[[tool]]\nid = 'one'\nname = 'One'\nfamily = 'script'\nversion_command = 'one --version'\n";
        let catalog = Catalog::parse("tools.toml", Level::Project, text.as_bytes());
        kept.write(&fs, &catalog).unwrap();
        let kept = KeptChecks::read(&fs);
        assert_eq!(kept.commands.len(), 1, "a command that no entry has is not kept");
        assert_eq!(kept.result(&fs, "one --version", &one), Some(&noted(&fs, &one)));
        assert_eq!(kept.result(&fs, "one --version", &two), None);
        assert_eq!(kept.result(&fs, "one -v", &one), None);
        fs.write_atomic(&rel("one"), b"#!/bin/bash\n", FileMode::Exactly(0o755)).unwrap();
        assert_eq!(kept.result(&fs, "one --version", &one), None);
        fs.remove(&rel("one")).unwrap();
        assert_eq!(kept.result(&fs, "one --version", &one), None);
    }

    #[test]
    fn nothing_of_a_command_is_kept_as_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let fs = DiskFs::open(folder.path()).unwrap();
        let text = "[[tool]]\nid = 'one'\nname = 'One'\nfamily = 'script'\nversion_command = 'asks Zq7tail'\n\
                    [tool.install]\ncheck = 'Zq7tail asks'\n";
        let catalog = Catalog::parse("tools.toml", Level::Project, text.as_bytes());
        let catalog = catalog.masked_by(&brigade_catalog::Masks::new(&["Zq7tail".into()]));
        let mut kept = KeptChecks::default();
        for (name, command) in [("asks", "asks Zq7tail"), ("Zq7tail", "Zq7tail asks")] {
            fs.write_atomic(&rel(name), b"#!/bin/sh\n", FileMode::Exactly(0o755)).unwrap();
            kept.keep(command, noted(&fs, &fs.root().join(name)));
            kept.asked_about(command, ToolProgram::new(&fs, "Zq7tail", None));
        }
        kept.write(&fs, &catalog).unwrap();
        let written = String::from_utf8(fs.read(&path(), LIMIT).unwrap()).unwrap();
        assert!(!written.contains("Zq7tail"), "{written}");
        let kept = KeptChecks::read(&fs);
        assert!(kept.result(&fs, "asks Zq7tail", &fs.root().join("asks")).is_some());
        assert_eq!(kept.commands.len(), 1, "the path of the other program holds the value");
    }

    #[test]
    fn result_for_a_missing_program_ends_with_its_install() {
        let folder = tempfile::tempdir().unwrap();
        let fs = DiskFs::open(folder.path()).unwrap();
        fs.write_atomic(&rel("asks"), b"#!/bin/sh\n", FileMode::Exactly(0o755)).unwrap();
        let mut kept = KeptChecks::default();
        kept.keep("asks", noted(&fs, &fs.root().join("asks")));
        let absent = ToolProgram::new(&fs, "tool", None);
        kept.asked_about("asks", absent.clone());
        kept.asked_about("nothing", absent.clone());
        let text = "[[tool]]\nid = 'one'\nname = 'One'\nfamily = 'script'\nversion_command = 'asks'\n";
        let catalog = Catalog::parse("tools.toml", Level::Project, text.as_bytes());
        kept.write(&fs, &catalog).unwrap();
        let kept = KeptChecks::read(&fs);
        let one = kept.result(&fs, "asks", &fs.root().join("asks")).unwrap();
        assert!(one.is_about(&absent) && one.is_about(&ToolProgram::new(&fs, "other", None)));
        fs.write_atomic(&rel("tool"), b"#!/bin/sh\n", FileMode::Exactly(0o755)).unwrap();
        let came = ToolProgram::new(&fs, "tool", Some(&fs.root().join("tool")));
        assert!(!one.is_about(&came), "it was installed since");
    }

    #[test]
    fn a_file_that_is_something_else_tells_nothing() {
        let good = format!(r#"{{"schema": "{SCHEMA}", "commands": {{}}}}"#);
        assert_eq!(KeptChecks::parse(good.as_bytes()), KeptChecks::default());
        for (bad, state) in [
            ("", State::Damaged),
            ("[]", State::Damaged),
            (&good[..20], State::Damaged),
            (&good.replace("{}}", "{\"x\": 1}}"), State::Damaged),
            (&good.replace(".v1", ".v2"), State::Newer),
        ] {
            let read = KeptChecks::parse(bad.as_bytes());
            assert_eq!((read.state, read.problem(false).is_some()), (state, true), "{bad}");
        }
    }

    #[test]
    fn what_is_wrong_with_the_file_is_said_with_what_happens_next() {
        let problem =
            |state: State, replaced: bool| KeptChecks { state, ..KeptChecks::default() }.problem(replaced);
        assert_eq!(problem(State::Sound, true), None);
        for (state, replaced, end) in [
            (State::Damaged, true, "and is replaced"),
            (State::Damaged, false, "replaces it"),
            (State::Directory, true, "remove it"),
            (State::Newer, false, "is left alone"),
        ] {
            let said = problem(state, replaced).unwrap();
            assert!(said.starts_with(CHECKS) && said.ends_with(end), "{said}");
        }
    }

    #[test]
    fn a_file_of_a_newer_version_is_not_replaced() {
        let text = format!(r#"{{"schema": "{SCHEMA_OF_ANY_VERSION}9", "commands": {{}}}}"#);
        let bench = crate::testing::Bench::new(&[(CHECKS, &text)]);
        let catalog = Catalog::parse("tools.toml", Level::Project, b"");
        KeptChecks::read(&*bench.context.fs).write(&*bench.context.fs, &catalog).unwrap();
        assert_eq!(bench.read(CHECKS), Some(text));
        bench.write(CHECKS, "{");
        KeptChecks::read(&*bench.context.fs).write(&*bench.context.fs, &catalog).unwrap();
        assert_eq!(KeptChecks::read(&*bench.context.fs).problem(false), None);
    }

    #[test]
    fn a_directory_in_place_of_the_file_is_said() {
        let bench = crate::testing::Bench::new(&[]);
        bench.folder(CHECKS);
        assert_eq!(KeptChecks::read(&*bench.context.fs).state, State::Directory);
    }

    #[test]
    fn a_version_that_is_none_is_dropped() {
        let bench = crate::testing::Bench::new(&[("one", "")]);
        let kept = noted(&*bench.context.fs, Path::new("one"));
        assert_eq!(kept.version().map(|version| version.to_string()).as_deref(), Some("1.2"));
        let kept = kept.with_result(false, None);
        assert_eq!((kept.succeeded, kept.version()), (false, None));
    }
}
