//! Advises what the entry of a tool should declare, based on what its last runs used.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use brigade_catalog::Tool;
use brigade_cmdline::is_code_name;
use brigade_core::Glob;
use brigade_policy::{NETWORK_EFFECTS, READ_EFFECT, WRITE_EFFECT};
use brigade_redact::MARK;
use serde::{Deserialize, Serialize};

use crate::inputs::{RunInputs, data_folder, group_inputs, is_bound};
use crate::receipt::{DeniedUse, Receipt, RunObserved, RunStatus};

/// Directories that no pattern may name: the state of Brigade and of git.
const EXCLUDED_FOLDERS: [&str; 2] = [".brigade", ".git"];

/// The directory into which Python writes compiled modules if it can. Python works the same if it cannot.
pub const PYTHON_CACHE: &str = "__pycache__";

/// From this number of files in one directory on, a pattern for the directory replaces them.
///
/// For code the number is small, because then a file that is added counts as a change. For data it is large, because
/// the pattern opens the whole directory.
const CODE_IN_FOLDER: usize = 2;
const DATA_IN_FOLDER: usize = 4;

/// What the last observed runs of a tool used without a declaration in its entry, and the reverse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolUse {
    /// The files that nothing covers: neither the approval, arguments, nor `code` and `data` of the entry. By path.
    pub unbound: Vec<UnboundFile>,
    /// Effects that were used, or that failed runs tried and were denied, and that are not declared.
    pub effects_undeclared: Vec<EffectUse>,
    /// Declared effects that were not used. Empty unless everything was seen and every run completed, because a failed
    /// run may not have reached them.
    pub effects_unused: Vec<String>,
    /// Whether everything was seen in each run.
    pub is_complete: bool,
    /// Whether the observation is of the process of a kept server, so of calls of all entries that it serves.
    pub is_of_server: bool,
    /// The files that the runs wrote. By path.
    pub written: BTreeSet<String>,
    /// Directories of files that the runs created and could not read.
    pub folders: BTreeSet<String>,
    /// Files that `code` of the entry names, that runs tried to write, and that may not be code. By path. Only a person
    /// can decide whether they are state, because a shell reads a file that it sources like any other file.
    pub state: BTreeSet<String>,
    /// The files that approvals of the runs bind. By path; a directory ends with `/`.
    pub bound: BTreeSet<String>,
}

/// A workspace file that a run used and that nothing covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct UnboundFile {
    /// Its path in the workspace.
    pub path: String,
    /// `code` or `data`, by whether it was executed and by its name.
    #[cfg_attr(feature = "schemas", schemars(with = "String"))]
    pub kind: FileUse,
    /// Whether it was executed.
    pub executed: bool,
    /// Whether the sandbox prevented the run from reading it.
    pub denied: bool,
    /// Whether a run wrote it, too.
    pub written: bool,
}

/// How a run uses a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileUse {
    /// It was executed, its name is that of code or has no ending, or it is a program or a script.
    Code,
    /// Anything else.
    Data,
}

/// An effect that runs had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct EffectUse {
    /// The effect.
    pub effect: String,
    /// A file or an address that shows it.
    pub example: String,
    /// Whether the sandbox denied it every time.
    pub denied: bool,
}

/// Patterns for the files that nothing covers yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patterns {
    /// For `code`.
    pub code: Vec<String>,
    /// For `data`.
    pub data: Vec<String>,
}

/// A run, and the observation that applies to it.
#[derive(Clone, Debug)]
pub struct SeenRun {
    /// The observed run, or the start of the server whose process was observed.
    pub id: String,
    /// The run.
    pub receipt: Receipt,
    /// What was observed.
    pub observed: RunObserved,
    /// Effects of entries that share its process.
    pub effects: Vec<String>,
    /// Data patterns of entries that share its process.
    pub data: Vec<String>,
}

impl SeenRun {
    /// Creates a run that was observed itself.
    pub fn new(receipt: Receipt, observed: RunObserved) -> SeenRun {
        let id = receipt.id.to_string();
        SeenRun { id, receipt, observed, effects: Vec::new(), data: Vec::new() }
    }
}

impl ToolUse {
    /// Summarizes observed runs. `root` is the workspace. `is_program` returns whether a file is code regardless of its
    /// name, because scripts often have the names of commands.
    pub fn new<'r>(
        tool: &Tool,
        runs: impl IntoIterator<Item = &'r SeenRun>,
        root: &Path,
        is_program: &dyn Fn(&str) -> bool,
    ) -> ToolUse {
        let globs = |patterns: &[String]| patterns.iter().map(|text| Glob::beneath(text)).collect::<Vec<_>>();
        let (code, mut data) = (globs(&tool.code), globs(&tool.data));
        let mut declared: BTreeSet<&str> = tool.effects.iter().map(String::as_str).collect();
        let is_in = |globs: &[Glob], path: &str| globs.iter().any(|glob| glob.matches(path));
        let mut runs = runs.into_iter().peekable();
        // Without a run, nothing was seen.
        let mut used = ObservedUses { is_complete: runs.peek().is_some(), ..ObservedUses::default() };
        let mut came_to_all = true;
        let mut is_of_server = false;
        for SeenRun { receipt, observed, effects, data: shared, .. } in runs {
            is_of_server |= receipt.mcp_start_id.is_some();
            data.extend(globs(shared));
            declared.extend(effects.iter().map(String::as_str));
            used.is_complete &= observed.complete;
            let denied = observed.denied.iter().flatten();
            let lacked = denied
                .filter(|denied| denied.what != DeniedUse::Write && !denied.path.starts_with('/'))
                .count();
            came_to_all &= receipt.status == RunStatus::Completed && lacked == 0;
            let inputs = group_inputs(receipt, observed, root, |path| is_in(&data, path));
            used.add(inputs, receipt, observed);
        }
        used.files.retain(|path, _| {
            let is_left_out = path.split('/').any(|part| EXCLUDED_FOLDERS.contains(&part));
            !is_left_out && !path.contains(MARK) && !is_in(&code, path) && !is_in(&data, path)
        });
        // A declared directory is opened if it exists when a run starts.
        let is_declared = |folder: &String| tool.data.contains(&format!("{}/**", pattern_of(folder)));
        used.folders.retain(|folder| !is_declared(folder));
        let written = used.written;
        // A file is often written under a longer name and then renamed.
        let is_written = |path: &str| {
            let mut names = written.range(path.to_owned()..).map_while(|name| name.strip_prefix(path));
            names.any(|rest| rest.is_empty() || rest.starts_with(['.', '~']))
        };
        // A missing ending proves nothing: a file that a run writes and does not execute is data.
        let shows_code = |path: &str| is_code_name(path) || is_program(path);
        let executed = used.executed;
        let names = |path: &String| tool.code.contains(&pattern_of(path)) && !executed.contains(path);
        let state = used.refused.into_iter().filter(|path| names(path) && !shows_code(path)).collect();
        let unbound = used.files.into_iter().map(|(path, file)| {
            let is_code = file.executed || shows_code(&path) || (has_no_ending(&path) && !is_written(&path));
            UnboundFile {
                kind: if is_code { FileUse::Code } else { FileUse::Data },
                executed: file.executed,
                denied: file.denied,
                written: is_written(&path),
                path,
            }
        });
        let declares = |effect: &str| declared.contains(effect);
        let tells = |effect: &str| used.effects.contains_key(kind_of(effect));
        let undeclared = used.effects.iter().filter(|(effect, _)| match **effect {
            READ_EFFECT => !declares(READ_EFFECT) && !declares(WRITE_EFFECT),
            NETWORK => !NETWORK_EFFECTS.iter().any(|effect| declares(effect)),
            effect => !declares(effect),
        });
        // Every run reads, and the kernel cannot see other effects.
        let is_seen = |effect: &str| effect == WRITE_EFFECT || NETWORK_EFFECTS.contains(&effect);
        let unused = tool.effects.iter().filter(|effect| is_seen(effect) && !tells(effect));
        ToolUse {
            state,
            bound: used.bound,
            unbound: unbound.collect(),
            effects_undeclared: undeclared.map(|(_, found)| found.clone()).collect(),
            effects_unused: if used.is_complete && came_to_all {
                unused.cloned().collect()
            } else {
                Vec::new()
            },
            is_complete: used.is_complete,
            is_of_server,
            written,
            folders: used.folders,
        }
    }

    /// Lists the files of one kind that the entry should declare. Excludes code that a run writes itself, because every
    /// run would invalidate its approval.
    pub fn to_declare(&self, kind: FileUse) -> impl Iterator<Item = &UnboundFile> {
        let is_meant =
            move |file: &&UnboundFile| file.kind == kind && !(file.kind == FileUse::Code && file.written);
        self.unbound.iter().filter(is_meant)
    }

    /// Creates patterns for the files to declare: their names, or a directory with several files of one kind and no
    /// other used files. `fits` returns whether an approval could bind the files that a code pattern matches.
    pub fn patterns(&self, fits: &dyn Fn(&str) -> bool) -> Patterns {
        let patterns = |kind, least, fits: &dyn Fn(&str) -> bool| {
            let files: Vec<&str> = self.to_declare(kind).map(|file| file.path.as_str()).collect();
            let declared: HashSet<&str> = files.iter().copied().collect();
            let others = self.unbound.iter().filter(|file| !declared.contains(file.path.as_str()));
            let others = others.map(|file| file.path.as_str());
            // A file that a run writes would invalidate the approval of a code directory. A file that is added to a
            // data directory could be loaded by code in it.
            let apart = if kind == FileUse::Code { &self.written } else { &self.bound };
            let mut others: Vec<&str> = others.chain(apart.iter().map(String::as_str)).collect();
            others.sort_unstable();
            let mut found = Vec::new();
            name_files("", &files, &others, least, fits, &mut found);
            found
        };
        let code = patterns(FileUse::Code, CODE_IN_FOLDER, fits);
        let mut data = patterns(FileUse::Data, DATA_IN_FOLDER, &|_| true);
        let has_code = |folder: &str| self.to_declare(FileUse::Code).any(|file| is_below(&file.path, folder));
        for folder in self.folders.iter().filter(|folder| !has_code(folder)) {
            data.retain(|pattern| !is_below(pattern, &pattern_of(folder)));
            data.push(format!("{}/**", pattern_of(folder)));
        }
        data.sort();
        Patterns { code, data }
    }

    /// Returns the lists of the entry with these declarations. The given files change from code to data.
    pub fn lists(
        &self,
        tool: &Tool,
        patterns: &Patterns,
        moved: &[String],
    ) -> [(&'static str, Vec<String>); 3] {
        let moved: Vec<String> = moved.iter().map(|path| pattern_of(path)).collect();
        let kept: Vec<String> =
            tool.code.iter().filter(|pattern| !moved.contains(pattern)).cloned().collect();
        [
            ("code", [kept.as_slice(), &patterns.code].concat()),
            ("data", [tool.data.as_slice(), &patterns.data, &moved].concat()),
            ("effects", self.effects(&tool.effects)),
        ]
    }

    /// Returns the effects that the entry should declare, given those that it declares. Never empty, because every run
    /// reads.
    pub fn effects(&self, declared: &[String]) -> Vec<String> {
        let kept = declared.iter().filter(|effect| !self.effects_unused.contains(effect)).cloned();
        let mut effects: Vec<String> = kept.collect();
        effects.extend(self.effects_undeclared.iter().map(|found| found.effect.clone()));
        if effects.is_empty() && !declared.is_empty() {
            effects.push(READ_EFFECT.to_owned());
        }
        effects
    }
}

/// The name under which network effects are recorded: the first one is used for all of them.
const NETWORK: &str = NETWORK_EFFECTS[0];

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

fn kind_of(effect: &str) -> &str {
    if NETWORK_EFFECTS.contains(&effect) { NETWORK } else { effect }
}

/// The observed uses, before they are compared with the declarations.
#[derive(Default)]
struct ObservedUses {
    files: BTreeMap<String, SeenFile>,
    written: BTreeSet<String>,
    folders: BTreeSet<String>,
    executed: BTreeSet<String>,
    /// Bound files that runs tried to write.
    refused: BTreeSet<String>,
    bound: BTreeSet<String>,
    effects: BTreeMap<&'static str, EffectUse>,
    is_complete: bool,
}

#[derive(Default)]
struct SeenFile {
    executed: bool,
    denied: bool,
}

impl ObservedUses {
    fn add(&mut self, inputs: RunInputs, receipt: &Receipt, observed: &RunObserved) {
        for input in inputs.arguments.iter().chain(&inputs.data).chain(&inputs.uncovered) {
            self.effect(READ_EFFECT, &input.path, false);
        }
        self.executed.extend(observed.executed.iter().flatten().map(|file| file.path.clone()));
        if let Some(binding) = &receipt.binding {
            self.bound.extend(binding.files.keys().cloned());
            self.bound.extend(binding.program.iter().map(|program| program.path.clone()));
        }
        for input in inputs.uncovered {
            self.files.entry(input.path).or_default().executed |= input.executed;
        }
        for file in observed.written.iter().flatten() {
            // A run may always write its own checkpoints. It may write the repository only with a separate effect.
            if !EXCLUDED_FOLDERS.iter().any(|folder| Path::new(&file.path).starts_with(folder)) {
                self.effect(WRITE_EFFECT, &file.path, false);
            }
            self.written.insert(file.path.clone());
        }
        for peer in observed.connected.iter().flatten() {
            if let Some(port) = peer.port {
                self.effect(NETWORK, &format!("{} port {port}", peer.address), false);
            }
        }
        let wrote: BTreeSet<&str> =
            observed.written.iter().flatten().map(|file| file.path.as_str()).collect();
        for denied in observed.denied.iter().flatten().filter(|denied| !denied.path.starts_with('/')) {
            let is_its_own = denied.what == DeniedUse::Read && wrote.contains(denied.path.as_str());
            if denied.what == DeniedUse::Create || is_its_own && !is_bound(receipt, &denied.path) {
                self.effect(WRITE_EFFECT, &denied.path, false);
                let bound = receipt.binding.as_ref().map(|binding| &binding.files);
                let folder = data_folder(bound.unwrap_or(&BTreeMap::new()), &denied.path).map(str::to_owned);
                if is_its_own {
                    self.files.entry(denied.path.clone()).or_default().denied = true;
                }
                self.folders.extend(folder);
            } else if denied.what != DeniedUse::Write {
                // A bound file is covered, although something else denied it to the run.
                if is_bound(receipt, &denied.path) {
                    continue;
                }
                let file = self.files.entry(denied.path.clone()).or_default();
                file.denied = true;
                file.executed |= denied.what == DeniedUse::Execute;
            } else if !denied
                .path
                .split('/')
                .any(|part| part == PYTHON_CACHE || EXCLUDED_FOLDERS.contains(&part))
            {
                // A run that completed did not need it: SQLite, for example, first tries to open for writing.
                if receipt.status != RunStatus::Completed {
                    self.effect(WRITE_EFFECT, &denied.path, true);
                }
                self.refused.extend(is_bound(receipt, &denied.path).then(|| denied.path.clone()));
            }
        }
    }

    fn effect(&mut self, effect: &'static str, example: &str, denied: bool) {
        let found = self.effects.entry(effect).or_insert_with(|| EffectUse {
            effect: effect.to_owned(),
            example: example.to_owned(),
            denied,
        });
        if found.denied && !denied {
            example.clone_into(&mut found.example);
            found.denied = false;
        }
    }
}

/// Returns whether a name has no ending that shows the content of the file. Scripts that other scripts load have such
/// names, and so have settings of programs, which often name code.
fn has_no_ending(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    !name.strip_prefix('.').unwrap_or(name).contains('.')
}

/// Returns patterns for files below a directory: one by one, or one for a directory. `others` are sorted.
fn name_files(
    folder: &str,
    files: &[&str],
    others: &[&str],
    least: usize,
    fits: &dyn Fn(&str) -> bool,
    found: &mut Vec<String>,
) {
    let mut below: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in files {
        match file[folder.len()..].split_once('/') {
            // The catalog trims patterns, so a name with outer blanks cannot be declared.
            None => found.extend(Some(pattern_of(file)).filter(|pattern| pattern.trim() == pattern)),
            Some((name, _)) => below.entry(&file[..folder.len() + name.len() + 1]).or_default().push(file),
        }
    }
    for (folder, files) in below {
        let pattern = format!("{}**", pattern_of(folder));
        let next = others.get(others.partition_point(|other| *other < folder));
        let is_alone = !next.is_some_and(|other| other.starts_with(folder));
        if least <= files.len() && is_alone && fits(&pattern) && pattern.trim() == pattern {
            found.push(pattern);
        } else {
            name_files(folder, &files, others, least, fits, found);
        }
    }
    found.sort();
}

/// Creates a pattern that matches exactly this path. A pattern that begins with `~` would lead out of the workspace.
pub fn pattern_of(path: &str) -> String {
    let escape = |c: char| matches!(c, '*' | '?' | '\\').then_some('\\').into_iter().chain([c]);
    let start = if path.starts_with('~') { "./" } else { "" };
    start.chars().chain(path.chars().flat_map(escape)).collect()
}

#[cfg(test)]
mod tests {
    use brigade_catalog::Family;

    use super::*;
    use crate::cases::receipt;
    use crate::receipt::{ObservedAddress, ObservedDenial, ObservedFile};

    fn files(paths: &[&str]) -> Option<Vec<ObservedFile>> {
        let file = |path: &&str| ObservedFile { path: (*path).to_owned(), ..ObservedFile::default() };
        Some(paths.iter().map(file).collect())
    }

    fn denials(list: &[(&str, &str)]) -> Option<Vec<ObservedDenial>> {
        let denial = |(what, path): &(&str, &str)| ObservedDenial {
            path: (*path).to_owned(),
            what: DeniedUse::from_word(what),
            ..ObservedDenial::default()
        };
        Some(list.iter().map(denial).collect())
    }

    fn tool(effects: &[&str], code: &[&str], data: &[&str]) -> Tool {
        let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let tool = Tool::new("t", Family::Script).unwrap();
        Tool { effects: list(effects), code: list(code), data: list(data), ..tool }
    }

    fn used(tool: &Tool, observed: &RunObserved) -> ToolUse {
        used_by(RunStatus::Completed, tool, observed)
    }

    fn used_by(status: RunStatus, tool: &Tool, observed: &RunObserved) -> ToolUse {
        let receipt = Receipt { status, argv: vec!["run".into(), "in.txt".into()], ..receipt() };
        ToolUse::new(tool, [&SeenRun::new(receipt, observed.clone())], Path::new("/work"), &|path| {
            path == "ops/check.1"
        })
    }

    /// A run whose approval binds these files.
    fn seen_with(bound: &[&str], observed: RunObserved) -> SeenRun {
        let mut case = crate::cases::Case::new();
        case.files.extend(bound.iter().map(|path| ((*path).to_owned(), crate::cases::mark("a"))));
        SeenRun::new(Receipt { binding: Some(case.plan().binding().clone()), ..receipt() }, observed)
    }

    fn seen() -> RunObserved {
        RunObserved { complete: true, ..RunObserved::default() }
    }

    /// Issue 12: a directory with the name `~` gave a pattern that leads out of the workspace.
    #[test]
    fn special_names_become_patterns_for_themselves() {
        let read = ["~/a.txt", "~/b.txt", "~/c.txt", "~/d.txt", "odd[1]*?/x.py", "~y.py"];
        let observed = RunObserved { read: files(&read), ..seen() };
        let patterns = used(&tool(&[], &[], &[]), &observed).patterns(&|_| true);
        assert_eq!(patterns.data, ["./~/**"]);
        assert_eq!(patterns.code, ["./~y.py", "odd[1]\\*\\?/x.py"]);
        let code: Vec<&str> = patterns.code.iter().map(String::as_str).collect();
        let data: Vec<&str> = patterns.data.iter().map(String::as_str).collect();
        assert_eq!(used(&tool(&[], &code, &data), &observed).unbound, []);
    }

    #[test]
    fn uncovered_files_become_patterns() {
        let read = [
            "lib/a.py",
            "lib/deep/b.py",
            "src/main.js",
            "src/words.txt",
            "Makefile",
            "in.txt",
            "old/x.py",
            "set/1.csv",
            "set/2.csv",
            "set/3.csv",
            "set/4.csv",
            ".git/HEAD",
            "odd*name.md",
            " .env",
            "key ",
            " set/x.py",
            "gen/__pycache__/m.pyc",
            "gen/m.py",
            "gen/n.py",
            "ops/check.1",
            "ops/common",
            "ops/.rc",
        ];
        let observed = RunObserved {
            read: files(&read),
            executed: files(&["bin/tool"]),
            written: files(&["gen/__pycache__/m.pyc.1234", ".brigade/tools/checkpoints/incoming/r/c.json"]),
            denied: denials(&[("read", "lib/new.py"), ("read", "/etc/shadow")]),
            ..seen()
        };
        let used = used(&tool(&["local-read"], &["old/**"], &[]), &observed);
        let patterns = used.patterns(&|_| true);
        assert_eq!(
            patterns.code,
            ["Makefile", "bin/tool", "gen/m.py", "gen/n.py", "lib/**", "ops/**", "src/main.js"],
            "what a run writes itself is not bound"
        );
        assert_eq!(patterns.data, ["odd\\*name.md", "set/**", "src/words.txt"]);
        let new = used.unbound.iter().find(|file| file.path == "lib/new.py").unwrap();
        assert!(new.denied && new.kind == FileUse::Code);
        let one_by_one = used.patterns(&|pattern| pattern != "lib/**");
        assert!(one_by_one.code.contains(&"lib/deep/b.py".to_owned()), "{one_by_one:?}");
        assert_eq!(
            used.effects_undeclared.iter().map(|found| &found.effect).collect::<Vec<_>>(),
            ["local-write"]
        );
    }

    /// Issue 12: a file that a run creates and reads can only be opened with its directory.
    #[test]
    fn created_files_that_are_read_open_their_directory() {
        let made = [("read", "db/x.db"), ("create", "db/x.db-journal"), ("create", "top")];
        let observed = RunObserved { denied: denials(&made), ..seen() };
        let patterns = used(&tool(&["local-write"], &[], &[]), &observed).patterns(&|_| true);
        assert_eq!((patterns.data, patterns.code), (vec!["db/**".to_owned()], vec![]));
        let made = [("read", "db/x.sh"), ("create", "db/x.db-journal")];
        let observed = RunObserved { denied: denials(&made), ..seen() };
        let patterns = used(&tool(&["local-write"], &[], &[]), &observed).patterns(&|_| true);
        assert_eq!((patterns.data, patterns.code), (vec![], vec!["db/x.sh".to_owned()]));
    }

    #[track_caller]
    fn check_effects(declared: &[&str], observed: &RunObserved, undeclared: &[&str], unused: &[&str]) {
        let used = used(&tool(declared, &[], &[]), observed);
        let names: Vec<&str> = used.effects_undeclared.iter().map(|found| found.effect.as_str()).collect();
        assert_eq!(
            (names.as_slice(), used.effects_unused.as_slice()),
            (undeclared, &unused.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()[..])
        );
    }

    #[test]
    fn effects_are_compared_with_observations() {
        let address =
            |port| ObservedAddress { address: "10.0.0.1".into(), port, ..ObservedAddress::default() };
        let connected = |port| RunObserved { connected: Some(vec![address(port)]), ..seen() };
        check_effects(&["network", "local-write", "odd"], &seen(), &[], &["network", "local-write"]);
        let failed = used_by(RunStatus::Failed, &tool(&["local-write"], &[], &[]), &seen());
        assert_eq!(failed.effects_unused, Vec::<String>::new(), "it may not have come to that");
        let partly = RunObserved { complete: false, ..seen() };
        check_effects(&["network", "local-write"], &partly, &[], &[]);
        check_effects(&["remote-read"], &connected(Some(443)), &[], &[]);
        check_effects(&["odd"], &connected(Some(443)), &["network"], &[]);
        check_effects(&["network"], &connected(None), &[], &["network"]);
        let written = RunObserved { written: files(&["out.txt"]), ..seen() };
        check_effects(&["local-write"], &written, &[], &[]);
        check_effects(&["local-read"], &written, &["local-write"], &[]);
        let cache = denials(&[("write", "lib/__pycache__/a.pyc.1")]);
        check_effects(&["local-read"], &RunObserved { denied: cache, ..seen() }, &[], &[]);
        let denied = RunObserved { denied: denials(&[("write", "out.txt")]), ..seen() };
        check_effects(&["local-read"], &denied, &[], &[]);
        let failed = used_by(RunStatus::Failed, &tool(&["local-read"], &[], &[]), &denied);
        let names: Vec<&str> = failed.effects_undeclared.iter().map(|found| found.effect.as_str()).collect();
        assert_eq!(names, ["local-write"], "a run that completed did without it");
        check_effects(
            &["network"],
            &RunObserved { read: files(&["in.txt"]), ..seen() },
            &["local-read"],
            &["network"],
        );
    }

    /// Issue 12: a file without an ending that a run writes was declared as code, which no run can write.
    #[test]
    fn a_written_file_that_is_not_executed_is_data() {
        let paths = ["state/counter", "ops/check.1", "gen.py", "run"];
        let observed =
            RunObserved { read: files(&paths), written: files(&paths), executed: files(&["run"]), ..seen() };
        let patterns = used(&tool(&[], &[], &[]), &observed).patterns(&|_| true);
        assert_eq!((patterns.data, patterns.code), (vec!["state/counter".to_owned()], vec![]));
        // A file that was declared as code stays code, whatever a run tries, because a shell may source it.
        let tool = tool(&["local-write"], &["state/counter", "gen.py", "lib/**"], &["a"]);
        let denied = denials(&[("write", "state/counter"), ("write", "gen.py"), ("write", "lib/x")]);
        let observed = RunObserved { denied, ..seen() };
        let used = ToolUse::new(
            &tool,
            [&seen_with(&["state/counter", "gen.py", "lib/x"], observed)],
            Path::new("/work"),
            &|_| false,
        );
        assert_eq!(used.state, BTreeSet::from(["state/counter".to_owned()]));
        let patterns = used.patterns(&|_| true);
        assert_eq!(patterns, Patterns::default());
        let lists = |moved: &[String]| {
            let [(_, code), (_, data), _] = used.lists(&tool, &patterns, moved);
            (code, data)
        };
        assert_eq!(lists(&[]), (tool.code.clone(), tool.data.clone()));
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let moved = (texts(&["gen.py", "lib/**"]), texts(&["a", "state/counter"]));
        assert_eq!(lists(&["state/counter".to_owned()]), moved);
    }

    /// Issue 12: a file that a run writes and reads back was declared by its name, which opens only an existing file.
    #[test]
    fn files_written_and_not_read_back_need_a_directory() {
        let denied = denials(&[("read", "out/log"), ("read", "out/other.csv"), ("read", "top.csv")]);
        let observed = RunObserved { denied, written: files(&["out/log", "top.csv"]), ..seen() };
        let patterns =
            |data: &[&str]| used(&tool(&["local-write"], &[], data), &observed).patterns(&|_| true).data;
        assert_eq!(patterns(&[]), ["out/**", "top.csv"]);
        assert_eq!(patterns(&["out/log", "top.csv"]), ["out/**"], "its name alone did not open it");
        assert_eq!(patterns(&["out/**", "top.csv"]), [""; 0], "it was not there");
    }

    /// Issue 12: `DIRECTORY/**` of data opened files that others put next to code that loads modules from there.
    #[test]
    fn a_directory_with_bound_code_is_not_data() {
        let read =
            ["lib/1.csv", "lib/2.csv", "lib/3.csv", "lib/sub/4.csv", "set/1", "set/2", "set/3", "set/4"];
        let observed = RunObserved { read: files(&read), written: files(&read[4..]), ..seen() };
        let tool = tool(&["local-read"], &[], &[]);
        let used =
            ToolUse::new(&tool, [&seen_with(&["lib/main.py"], observed)], Path::new("/work"), &|_| false);
        let data = used.patterns(&|_| true).data;
        assert_eq!(data, ["lib/1.csv", "lib/2.csv", "lib/3.csv", "lib/sub/4.csv", "set/**"]);
    }

    #[test]
    fn effects_to_declare_are_never_empty() {
        let use_of = |undeclared: &[&str], unused: &[&str]| ToolUse {
            effects_undeclared: undeclared
                .iter()
                .map(|effect| EffectUse {
                    effect: (*effect).to_owned(),
                    example: String::new(),
                    denied: false,
                })
                .collect(),
            effects_unused: unused.iter().map(|effect| (*effect).to_owned()).collect(),
            ..ToolUse::default()
        };
        let declared = ["network".to_owned()];
        assert_eq!(use_of(&[], &["network"]).effects(&declared), ["local-read"]);
        assert_eq!(use_of(&["local-write"], &[]).effects(&declared), ["network", "local-write"]);
        assert_eq!(use_of(&[], &[]).effects(&[]), Vec::<String>::new());
    }

    #[test]
    fn bound_files_that_were_denied_are_covered() {
        let tool = tool(&["local-read"], &[], &[]);
        let denied = denials(&[("read", "lib/a.py"), ("read", "lib/b.py")]);
        let seen = seen_with(&["lib/a.py"], RunObserved { denied, ..seen() });
        let used = ToolUse::new(&tool, [&seen], Path::new("/work"), &|path| path == "ops/check.1");
        let paths: Vec<&str> = used.unbound.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["lib/b.py"]);
    }

    #[test]
    fn declarations_of_a_shared_process_count() {
        let tool = tool(&["local-read"], &[], &[]);
        let read = files(&["data/x", "other"]);
        let observed = RunObserved { read, written: files(&["out"]), ..seen() };
        let seen = SeenRun {
            effects: vec!["local-write".to_owned()],
            data: vec!["data/**".to_owned()],
            ..SeenRun::new(receipt(), observed)
        };
        let used = ToolUse::new(&tool, [&seen], Path::new("/work"), &|path| path == "ops/check.1");
        let paths: Vec<&str> = used.unbound.iter().map(|file| file.path.as_str()).collect();
        assert_eq!((paths, used.effects_undeclared), (vec!["other"], vec![]));
    }
}
