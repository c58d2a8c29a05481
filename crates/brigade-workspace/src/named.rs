//! Finds the files that an approval binds: files and programs that the command names, `code` of the entry, and code
//! that earlier runs used.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use brigade_call::{BoundBy, CodeFacts, PlanFacts, no_home};
use brigade_catalog::{Family, Tool};
use brigade_cmdline::{ChosenCode, what_it_reads};
use brigade_core::text::escape_terminal;
use brigade_core::{ErrorCode, Fingerprint};
use brigade_exec::{
    PatternMatches, PatternUse, check_pattern, file_fingerprint, links_on, matching_files, plain_folder,
};
use brigade_fs::{FileKind, Fs, FsError, FsErrorKind, Location, RelPath};
use brigade_policy::{Blocker, Decision, SandboxMode};
use brigade_redact::Redactor;

use crate::files::ToolReader;
use crate::learned_code::LearnedTool;
use crate::similar_paths::{did_you_mean, near_path};

/// Directories whose files the kernel generates, so that binding their bytes makes no sense.
const OF_THE_KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// A path that an approval cannot bind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NotBound {
    /// It leads to a name that is not UTF-8.
    OddName(String),
    /// A file without permission to read it.
    Unreadable(String),
    /// A path with another meaning in each process, such as `/proc/self/cwd/x.py`.
    OfProcess(String),
    /// A script that is a pipe, socket or device, which gives other bytes each time.
    Special(String),
    /// A file that is too large, and why.
    TooLarge(String, String),
}

impl NotBound {
    fn too_large(path: String, error: &FsError) -> NotBound {
        NotBound::TooLarge(path, error.kind.to_string())
    }
}

/// The files that a command names.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamedFiles {
    /// Their sha256, by their path in the workspace, or their absolute path.
    pub(crate) files: BTreeMap<String, Fingerprint>,
    /// The facts about code, for the plan.
    pub(crate) code: CodeFacts,
    /// How the command chooses its code itself, if it does.
    pub(crate) chosen: Option<ChosenCode>,
    /// Paths that cannot be bound.
    pub(crate) not_bound: BTreeSet<NotBound>,
    /// The script that the command runs, if it is missing.
    pub(crate) missing: Option<String>,
    /// The file with the path most similar to the missing script.
    pub(crate) near: Option<String>,
    /// Patterns of the entry that cannot be used: the field with the position from 1, and why.
    pub(crate) refused: Vec<(String, String)>,
    /// The installation directories of the programs, outside of the system and the workspace.
    pub(crate) program_paths: Vec<String>,
}

impl NamedFiles {
    /// Opens the installation directories in the sandbox, if there is one.
    pub(crate) fn open_in(&self, decision: &mut Decision) {
        if decision.sandbox.mode != SandboxMode::Off {
            decision.sandbox.grants.program_paths.clone_from(&self.program_paths);
        }
    }

    /// Lists blockers of the call: paths that cannot be bound, and a missing script.
    pub(crate) fn blockers(&self, tool: &Tool, home: Option<&Path>) -> Vec<Blocker> {
        let blocker = |what: &NotBound| {
            let (message, hint) = match what {
                NotBound::OddName(link) => (
                    format!(
                        "`{}` leads to a name that is not UTF-8, which nothing can bind",
                        escape_terminal(link)
                    ),
                    "rename the file",
                ),
                NotBound::Unreadable(path) => (
                    format!("`{}` may not be read, so an approval cannot bind it", escape_terminal(path)),
                    "check the owner and mode of the file and its directory",
                ),
                NotBound::TooLarge(path, why) => (
                    format!("`{}` is not bound: {why}", escape_terminal(path)),
                    "name a smaller file, or raise `max_bound_file` in the policy",
                ),
                NotBound::Special(path) => (
                    format!(
                        "`{}` is not a regular file, so an approval cannot bind it",
                        escape_terminal(path)
                    ),
                    "name the file to run in `command`",
                ),
                NotBound::OfProcess(word) => (
                    format!("`{}` names another file in each process", escape_terminal(word)),
                    "name the file to run in `command`",
                ),
            };
            let blocker = Blocker::new(ErrorCode::CodeNotBound, message).at(tool.place_of("command"));
            blocker.field("command").hint(hint)
        };
        let missing =
            self.missing.iter().map(|script| missing_script(tool, script, self.near.as_deref(), home));
        let refused = self.refused.iter().map(|(field, why)| {
            Blocker::new(ErrorCode::CodeNotBound, why.clone())
                .at(tool.place_of(field))
                .field(field.as_str())
                .hint("name fewer files, below the workspace")
        });
        missing.chain(self.not_bound.iter().map(blocker)).chain(refused).collect()
    }
}

/// Returns whether a file may be bound, but not at its size or within the time.
fn is_too_large(error: &FsError) -> bool {
    match &error.kind {
        FsErrorKind::TooLarge { .. } => true,
        FsErrorKind::Other { kind, .. } => *kind == std::io::ErrorKind::TimedOut,
        _ => false,
    }
}

/// Returns the blocker for a missing script. `near` is the file with the most similar path.
pub(crate) fn missing_script(tool: &Tool, script: &str, near: Option<&str>, home: Option<&Path>) -> Blocker {
    let shown = Redactor::new(&[]).redact_str(script);
    let message = format!("the script `{}`, which the command runs, does not exist", escape_terminal(&shown));
    let near = near.map(|near| did_you_mean(&Redactor::new(&[]).redact_str(near)));
    let hint = no_home(&shown, home)
        .or(near)
        .unwrap_or_else(|| "create it, or name another one in `command`".to_owned());
    Blocker::new(ErrorCode::ScriptNotFound, message).at(tool.place_of("command")).field("command").hint(hint)
}

/// Reads the files that an approval of a command binds: files that its words name, its programs, targets of links of
/// the workspace on the way to them, and files that `code` of the entry matches.
pub(crate) fn named_files(reader: &ToolReader<'_>, directory: &Path) -> Result<NamedFiles, FsError> {
    let mut named = NamedFiles::default();
    let fs = reader.host.fs;
    named.bind_patterns(fs, reader.tool)?;
    for file in named.files.keys() {
        named.code.by.insert(file.clone(), BoundBy::Code);
    }
    let Some(argv) = reader.argv() else {
        return Ok(named);
    };
    let reads = what_it_reads(&argv, directory, &reader.seen());
    for path in &reads.named {
        named.bind_file(fs, path)?;
    }
    for path in &reads.programs {
        // A path around the workspace leads back to one of its files.
        let is_around = || matches!(fs.resolve(&path.to_string_lossy(), None), Ok(Location::Inside(_)));
        if !path.starts_with(fs.root()) && is_around() {
            named.bind_file(fs, path)?;
            continue;
        }
        let name = path.strip_prefix(fs.root()).unwrap_or(path).to_string_lossy().into_owned();
        match file_fingerprint(fs, &name) {
            Ok(fingerprint) => drop(named.files.insert(name, fingerprint)),
            Err(error) if is_too_large(&error) => {
                let _ = named.not_bound.insert(NotBound::too_large(name, &error));
            }
            Err(error) if error.is_cancelled() => return Err(error),
            // An unreadable file cannot be run, or only the system reads it.
            Err(_) => {}
        }
    }
    for path in &reads.executed {
        named.bind_links(fs, path)?;
    }
    let installation = reader.host.installation(&reads);
    named.program_paths = installation.paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    // A server that a person put behind the gateway often runs a script of theirs.
    if reader.tool.family == Some(Family::Mcp) && reader.tool.remote.is_none() {
        let projects = reader.host.projects(&argv, directory);
        named.program_paths.extend(projects.iter().map(|path| path.to_string_lossy().into_owned()));
        named.program_paths.sort();
        named.program_paths.dedup();
    }
    // The bridge is this program, which need not be installed where programs are.
    if reader.tool.remote.is_some() {
        let bridge = reader.program_path(&argv, directory);
        named.program_paths.extend(bridge.map(|path| path.to_string_lossy().into_owned()));
    }
    named.not_bound.extend(reads.of_process.map(NotBound::OfProcess));
    named.not_bound.extend(reads.special.map(NotBound::Special));
    named.near =
        reads.missing.as_deref().and_then(|script| near_path(script.as_ref(), &directory.join(script)));
    named.missing = reads.missing;
    named.chosen = reads.chosen;
    Ok(named)
}

/// Binds the files of an entry that earlier runs used as code.
///
/// # Errors
/// Fails on a disk error.
pub(crate) fn bind_learned(
    fs: &dyn Fs,
    facts: &mut PlanFacts<'_>,
    learned: LearnedTool,
) -> Result<(), FsError> {
    for file in learned.files {
        let Entry::Vacant(place) = facts.files.entry(file) else { continue };
        // The run used it without a link, so a link is a change.
        if !is_named_itself(fs, place.key()) {
            // Binding its absence makes its return a change.
            if place.key().parse().is_ok_and(|path: RelPath| fs.metadata(&path).is_err()) {
                facts.code.by.insert(place.key().clone(), BoundBy::Learned);
            }
            continue;
        }
        match file_fingerprint(fs, place.key()) {
            Ok(fingerprint) => {
                facts.code.by.insert(place.key().clone(), BoundBy::Learned);
                place.insert(fingerprint);
            }
            Err(error) if error.is_not_found() || error.kind == FsErrorKind::Permission => {}
            // A file that is bound as missing is a change.
            Err(error) if is_too_large(&error) => {
                facts.code.by.insert(place.key().clone(), BoundBy::Learned);
            }
            Err(error) => return Err(error),
        }
    }
    facts.code.learned_from = Some(learned.run_id);
    Ok(())
}

impl NamedFiles {
    /// Binds every file that `code` of the entry matches, by its name, so that a new file is a change, too.
    pub(crate) fn bind_patterns(&mut self, fs: &dyn Fs, tool: &Tool) -> Result<(), FsError> {
        let lists = [("code", &tool.code, PatternUse::Code), ("data", &tool.data, PatternUse::Data)];
        for (field, patterns, of) in lists {
            for (index, pattern) in patterns.iter().enumerate() {
                let field_name = format!("{field}[{}]", index + 1);
                let shown = escape_terminal(pattern);
                if let Err(why) = check_pattern(pattern) {
                    self.refused.push((field_name, format!("the pattern `{shown}` {why}")));
                    continue;
                }
                // A directory in `data` is opened as a whole, whatever its size.
                let whole = plain_folder(pattern).filter(|_| field == "data");
                if let Some(folder) = whole {
                    if !is_itself(fs, &folder, FileKind::Directory) {
                        self.code.empty_data.insert(pattern.clone());
                    }
                    continue;
                }
                match matching_files(fs, pattern, of)? {
                    PatternMatches::All(files) | PatternMatches::LeadsOut { files, .. } if field == "data" => {
                        if !files.iter().any(|file| is_named_itself(fs, file)) {
                            self.code.empty_data.insert(pattern.clone());
                        }
                    }
                    PatternMatches::TooMuch { files, bytes } if field == "data" => self.refused.push((
                        field_name,
                        format!(
                            "the pattern `{shown}` matches more than is opened file by file: {files} files and {} MiB \
                             so far; `DIRECTORY/**` opens a directory as a whole",
                            bytes >> 20
                        ),
                    )),
                    PatternMatches::All(files) => {
                        if files.is_empty() {
                            self.code.empty.insert(pattern.clone());
                        }
                        for file in files {
                            self.bind(fs, file)?;
                        }
                    }
                    PatternMatches::TooMuch { files, bytes } => self.refused.push((
                        field_name,
                        format!(
                            "the pattern `{shown}` matches more than an approval binds: {files} files and {} MiB so far",
                            bytes >> 20
                        ),
                    )),
                    PatternMatches::OddName { folder } => self.refused.push((
                        field_name,
                        format!(
                            "the pattern `{shown}` matches names in `{}` that are not UTF-8, which nothing can bind",
                            escape_terminal(folder.as_str())
                        ),
                    )),
                    PatternMatches::LeadsOut { link, .. } => self.refused.push((
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

    /// Binds the targets of all links of the workspace on a path.
    fn bind_links(&mut self, fs: &dyn Fs, path: &Path) -> Result<(), FsError> {
        for link in links_on(fs, path) {
            // Many paths may use the same link.
            let Entry::Vacant(place) = self.files.entry(link.as_str().to_owned()) else { continue };
            match file_fingerprint(fs, link.as_str()) {
                Ok(fingerprint) => drop(place.insert(fingerprint)),
                Err(error) if error.is_cancelled() => return Err(error),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Binds the links of the workspace on a path, and its target if that is a file.
    fn bind_file(&mut self, fs: &dyn Fs, path: &Path) -> Result<(), FsError> {
        let spelled = path;
        let Some(path) = path.to_str() else { return Ok(()) };
        let (name, metadata) = match fs.resolve(path, None) {
            Ok(Location::Inside(inside)) => (inside.as_str().to_owned(), fs.metadata(&inside)),
            Ok(Location::Outside(found)) if OF_THE_KERNEL.iter().any(|start| found.starts_with(start)) => {
                return Ok(());
            }
            Ok(Location::Outside(found)) => {
                (found.to_string_lossy().into_owned(), fs.metadata_outside(&found))
            }
            Err(_) => {
                let is_there = fs.metadata_outside(spelled).is_ok();
                let links = links_on(fs, spelled);
                let odd = links.last().filter(|_| is_there).map(|link| link.as_str().to_owned());
                self.not_bound.extend(odd.map(NotBound::OddName));
                return Ok(());
            }
        };
        let Ok(metadata) = metadata else { return Ok(()) };
        self.bind_links(fs, spelled)?;
        if metadata.kind != FileKind::File { Ok(()) } else { self.bind(fs, name) }
    }

    /// Binds a file. Notes files of the workspace that may not be read.
    fn bind(&mut self, fs: &dyn Fs, name: String) -> Result<(), FsError> {
        let Entry::Vacant(place) = self.files.entry(name) else { return Ok(()) };
        match file_fingerprint(fs, place.key()) {
            Ok(fingerprint) => drop(place.insert(fingerprint)),
            Err(error) if is_too_large(&error) => {
                let _ = self.not_bound.insert(NotBound::too_large(place.into_key(), &error));
            }
            Err(error) if error.is_cancelled() => return Err(error),
            // Interpreters cannot run files that may not be read.
            Err(_) if place.key().starts_with('/') => {}
            Err(error) if error.kind == FsErrorKind::Permission => {
                let _ = self.not_bound.insert(NotBound::Unreadable(place.into_key()));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Returns whether a name leads to exactly that file, without links. Data that links lead to is not opened.
fn is_named_itself(fs: &dyn Fs, file: &str) -> bool {
    file.parse().is_ok_and(|file| is_itself(fs, &file, FileKind::File))
}

/// Returns whether exactly this path exists with this kind and without links.
fn is_itself(fs: &dyn Fs, path: &RelPath, kind: FileKind) -> bool {
    let real = fs.resolve(&fs.root().join(path.as_path()).to_string_lossy(), None);
    real.is_ok_and(|real| matches!(real, Location::Inside(real) if real == *path))
        && fs.metadata(path).is_ok_and(|metadata| metadata.kind == kind)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]
    #![allow(clippy::disallowed_methods, reason = "a link is made on a real disk")]

    use brigade_fs::DiskFs;

    use super::*;

    /// Issue 12: a link that many words use is read once.
    #[test]
    fn a_link_of_many_paths_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let fs = DiskFs::open(folder.path()).unwrap();
        std::fs::write(fs.root().join("code.py"), "first").unwrap();
        std::os::unix::fs::symlink("code.py", fs.root().join("link.py")).unwrap();
        let mut named = NamedFiles::default();
        let link = fs.root().join("link.py");
        named.bind_links(&fs, &link).unwrap();
        let first = named.files.clone();
        std::fs::write(fs.root().join("code.py"), "second").unwrap();
        named.bind_links(&fs, &link).unwrap();
        assert_eq!((named.files == first, first.contains_key("link.py")), (true, true));
    }

    /// The bytes of a small generator of numbers, so that a failure names its seed.
    struct Dice(u64);

    impl Dice {
        fn pick<'t>(&mut self, all: &[&'t str]) -> &'t str {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            all[(self.0 >> 33) as usize % all.len()]
        }
    }

    /// Lists the paths that a word may name, following the documentation.
    fn candidates(word: &str) -> Vec<String> {
        let mut all = vec![word.to_owned()];
        all.extend(word.match_indices('=').map(|(at, _)| word[at + 1..].to_owned()));
        if word.starts_with('-') && !word.starts_with("--") {
            all.extend((2..word.len()).map(|at| word[at..].to_owned()));
        }
        let more: Vec<String> =
            all.iter().filter_map(|name| Some(name.strip_prefix('@')?.to_owned())).collect();
        all.extend(more);
        let urls: Vec<String> =
            all.iter().filter_map(|name| Some(name.strip_prefix("file://")?.to_owned())).collect();
        all.extend(urls);
        all
    }

    #[test]
    fn what_is_bound_is_what_the_rule_says() {
        for seed in 0..200 {
            let mut dice = Dice(seed);
            let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let root = inside.path().canonicalize().unwrap();
            let other = outside.path().canonicalize().unwrap();
            let write = |path: &Path, text: &str| {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            };
            for file in ["a.txt", "b.py", "sub/c.json", "lib/x.py", "lib/deep/y.txt", "d/e/f"] {
                if dice.pick(&["there", "there", "gone"]) == "there" {
                    write(&root.join(file), file);
                }
            }
            write(&root.join(".brigade/tools.toml"), "");
            write(&other.join("o.txt"), "outside");
            let program = other.join("prog");
            write(&program, "#!/bin/sh\n");
            std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            std::os::unix::fs::symlink(dice.pick(&["a.txt", "b.py", "gone"]), root.join("link")).unwrap();
            std::os::unix::fs::symlink(dice.pick(&["sub", "d"]), root.join("way")).unwrap();
            let far = other.join("o.txt").display().to_string();
            let mut words: Vec<String> = Vec::new();
            let wrapped = dice.pick(&["yes", "no"]) == "yes";
            if wrapped {
                words.push("/usr/bin/env".to_owned());
            }
            words.push(program.display().to_string());
            for _ in 0..5 {
                let file = dice.pick(&[
                    "a.txt",
                    "./b.py",
                    "sub/c.json",
                    "link",
                    "way/c.json",
                    "d/e",
                    "nope",
                    &far,
                    ".",
                ]);
                let form = dice.pick(&[
                    "{}",
                    "--in={}",
                    "-o{}",
                    "-xyo{}",
                    "@{}",
                    "k=v={}",
                    "-d@{}",
                    "text",
                    "file://ROOT/{}",
                ]);
                let file = form.replace("ROOT", &root.display().to_string()).replace("{}", file);
                words.push(file.replace("//tmp", "/tmp"));
            }
            let code: &[&str] = if dice.pick(&["yes", "no"]) == "yes" { &["lib/**"] } else { &[] };
            let entry = format!(
                "[[tool]]\nid = 't'\nname = 'T'\nfamily = 'script'\ncommand = \"{}\"\ncode = {code:?}\n",
                words.join(" ")
            );
            write(&root.join(".brigade/tools.toml"), &entry);

            let mut expect = BTreeSet::new();
            let mut names = |word: &str| {
                for name in candidates(word) {
                    let path = root.join(&name);
                    let Ok(real) = path.canonicalize() else {
                        continue;
                    };
                    for above in path.ancestors().filter(|above| above.starts_with(&root) && **above != root)
                    {
                        if above.is_symlink() {
                            let link = above
                                .strip_prefix(&root)
                                .unwrap()
                                .components()
                                .collect::<std::path::PathBuf>();
                            expect.insert(link.display().to_string());
                        }
                    }
                    if real.is_file() {
                        expect.insert(real.strip_prefix(&root).unwrap_or(&real).display().to_string());
                    }
                }
            };
            // Programs outside of the workspace keep the names that they are started by. The first one is not among the
            // files.
            words.iter().skip(1 + usize::from(wrapped)).for_each(|word| names(word));
            if wrapped {
                expect.insert(program.display().to_string());
            }
            // The `#!` line of the program.
            expect.insert("/bin/sh".to_owned());
            if !code.is_empty() {
                let files = ["lib/x.py", "lib/deep/y.txt"].into_iter();
                expect.extend(files.filter(|file| root.join(file).is_file()).map(str::to_owned));
            }

            let fs = DiskFs::open(&root).unwrap();
            let (environment, digests, trust) = Default::default();
            let clock = &brigade_core::SystemClock;
            let (environment, digests, trust) = (&environment, &digests, &trust);
            let host = crate::Host { fs: &fs, environment, digests, trust, clock, names: None };
            let config =
                crate::Config::new(&host, crate::read_catalog(&fs).unwrap(), crate::read_policy(&fs, trust));
            let tool = config.catalog.tool("t").unwrap();
            let plan = crate::FactReader::new(host, &config).plan(tool, brigade_call::Caller::CommandLine);
            let found: BTreeSet<String> = plan.unwrap().facts.files.into_keys().collect();
            assert_eq!(found, expect, "seed {seed}: {words:?}");
        }
    }
}
