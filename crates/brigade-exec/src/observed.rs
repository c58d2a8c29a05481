//! What a run used, for its receipt.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use brigade_call::{
    DeniedUse, ObservedAddress, ObservedCounts, ObservedDenial, ObservedFile, ObservedState, PYTHON_CACHE,
    RunObserved, SandboxUsed, SocketUse, binds_file, data_folder, pattern_of,
};
use brigade_core::text::escape_terminal;
use brigade_core::{Fingerprint, Hint, NextStep, RunId, StepFormatter};
use brigade_fs::{Fs, Location, RelPath};
use brigade_policy::{RefusedWrite, Writable, always_closed, refused_write};
use brigade_redact::Redactor;
use brigade_sandbox::{Attempt, Observation, ObservedUse};

use crate::closed_reads::KEPT;
use crate::workspace_files::links_on;

/// Whether to observe a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Observe it.
    Observe,
    /// Do not observe it, because this earlier equal run was observed.
    Unchanged(RunId),
    /// Do not observe it, and do not mention it in the receipt.
    Nothing,
}

/// The directory of installed packages of JavaScript, where links name packages.
const PACKAGES: &str = "node_modules";

/// What is said of full lists.
const FULL_LIST_NOTE: &str = "a list was full: each has at most 2,000 entries, and what is outside of the workspace at most 64 first folders";

/// Returns the observation for the receipt.
pub(crate) fn observed(
    watch: &Watch,
    observation: Option<&Observation>,
    redactor: &Redactor,
) -> Option<RunObserved> {
    match (watch, observation) {
        (Watch::Unchanged(run), _) => Some(RunObserved {
            state: ObservedState::Unchanged,
            run_id: Some(run.to_string()),
            ..RunObserved::default()
        }),
        (_, Some(Observation::Done(observed))) => Some(to_record(observed, redactor)),
        (_, Some(Observation::Unavailable(reason))) => Some(RunObserved {
            state: ObservedState::Unavailable,
            reason: Some(redactor.redact_str(reason)),
            ..RunObserved::default()
        }),
        (Watch::Observe | Watch::Nothing, None) => None,
    }
}

fn to_record(observed: &ObservedUse, redactor: &Redactor) -> RunObserved {
    // Names come from the program and may have any content.
    let text = |path: &Path| redactor.redact_str(&path.to_string_lossy());
    let files = |files: &[brigade_sandbox::ObservedFile]| {
        let file = |file: &brigade_sandbox::ObservedFile| {
            let name = text(&file.path);
            let path = match (file.is_folder, name.is_empty()) {
                (true, true) => "./".to_owned(),
                (true, false) => format!("{name}/"),
                (false, _) => name,
            };
            let sha256 = file.sha256.map(Fingerprint::from_sha256);
            ObservedFile { path, sha256, ..ObservedFile::default() }
        };
        Some(files.iter().map(file).collect())
    };
    let address = |seen: &brigade_sandbox::ObservedAddress| ObservedAddress {
        address: redactor.redact_str(&seen.address),
        port: seen.port,
        what: if seen.is_bound { SocketUse::Bind } else { SocketUse::Connect },
        ..ObservedAddress::default()
    };
    let denial = |denied: &brigade_sandbox::ObservedDenial| ObservedDenial {
        path: text(&denied.path),
        what: match denied.what {
            Attempt::Read => DeniedUse::Read,
            Attempt::Write => DeniedUse::Write,
            Attempt::Execute => DeniedUse::Execute,
            Attempt::Create => DeniedUse::Create,
        },
        ..ObservedDenial::default()
    };
    let full = observed.is_truncated.then_some(FULL_LIST_NOTE);
    let unseen: Vec<String> = observed.unseen.iter().copied().chain(full).map(str::to_owned).collect();
    let counts = observed.counts;
    RunObserved {
        state: ObservedState::Observed,
        complete: unseen.is_empty(),
        unseen: Some(unseen).filter(|unseen| !unseen.is_empty()),
        truncated: observed.is_truncated,
        counts: Some(ObservedCounts {
            read: counts.read,
            executed: counts.executed,
            written: counts.written,
            connected: counts.connected,
            denied: counts.denied,
            ..ObservedCounts::default()
        }),
        read: files(&observed.read),
        executed: files(&observed.executed),
        written: files(&observed.written),
        connected: Some(observed.connected.iter().map(address).collect()),
        denied: Some(observed.denied.iter().map(denial).collect()),
        outside: Some(observed.outside.iter().map(|(path, count)| (text(path), *count)).collect()),
        ..RunObserved::default()
    }
}

/// Says which bound files were used with other bytes than those that were approved.
pub fn other_bytes(
    files: &BTreeMap<String, Fingerprint>,
    program: Option<(&str, Fingerprint)>,
    observed: &RunObserved,
) -> Option<String> {
    const MAX_NAMED: usize = 5;
    let approved = |path: &str| {
        let of_program = program.filter(|(bound, _)| *bound == path).map(|(_, sha256)| sha256);
        files.get(path).copied().or(of_program)
    };
    let used = observed.executed.iter().chain(&observed.read).flatten();
    let differs = used.filter(|file| {
        file.sha256.zip(approved(&file.path)).is_some_and(|(sha256, approved)| sha256 != approved)
    });
    let paths: BTreeSet<&str> = differs.map(|file| file.path.as_str()).collect();
    let shown: Vec<_> = paths.iter().take(MAX_NAMED).map(|path| escape_terminal(path)).collect();
    let more = if MAX_NAMED < paths.len() {
        format!(" and {} more", paths.len() - MAX_NAMED)
    } else {
        String::new()
    };
    (!paths.is_empty()).then(|| {
        let shown = shown.join(", ");
        format!("used with other bytes than those that were approved, because they changed during the run: {shown}{more}")
    })
}

/// A run that was observed.
#[derive(Clone, Copy, Debug)]
pub struct ObservedRun<'r> {
    /// The tool.
    pub tool: &'r str,
    /// What the approval binds.
    pub files: &'r BTreeMap<String, Fingerprint>,
    /// Patterns of what it may read as data.
    pub data: &'r [String],
    /// Whether it completed.
    pub completed: bool,
}

/// Suffixes of the files that SQLite makes beside a database.
pub const BESIDE_DATABASE: [&str; 3] = ["-journal", "-shm", "-wal"];

/// Says what a closed workspace kept from a run of a tool, and how it is declared.
pub fn denials(
    fs: &dyn Fs,
    observed: &RunObserved,
    sandbox: Option<&SandboxUsed>,
    ran: ObservedRun<'_>,
    speller: &dyn StepFormatter,
) -> Vec<String> {
    const MAX_NAMED: usize = 20;
    let Some(sandbox) = sandbox.filter(|sandbox| sandbox.reads.is_some()) else { return Vec::new() };
    let context = DenialContext {
        fs,
        ran,
        writes: sandbox.write.iter().flatten().any(|path| path == "."),
        wrote: observed.written.iter().flatten().map(|file| file.path.as_str()).collect(),
        speller,
    };
    let mut seen = BTreeSet::new();
    let mut messages = Vec::new();
    for denied in observed.denied.iter().flatten().filter(|denied| !denied.path.starts_with('/')) {
        let is_kept = denied.path.split('/').any(|part| KEPT.contains(&part));
        let is_write = denied.what == DeniedUse::Write;
        // Python works the same without its cache, and git without a fresh index.
        let is_noise = denied.path.split('/').any(|part| part == PYTHON_CACHE) || (is_kept && is_write);
        if is_noise || !seen.insert((denied.path.as_str(), is_write)) {
            continue;
        }
        messages.extend(context.message(&denied.path, &denied.what, is_kept));
    }
    // The kernel does not tell what is mapped into memory.
    let read = observed.read.iter().flatten().filter(|file| !binds_file(ran.files, &file.path));
    let libraries = read.filter(|file| is_library(fs, &file.path)).map(|file| {
        format!(
            "{} is a library, and was read as data, which is not loaded as code: if the tool loads it, add it to code of the \
             tool",
            escape_terminal(&file.path)
        )
    });
    messages.extend(libraries);
    let more = messages.len().saturating_sub(MAX_NAMED);
    messages.truncate(MAX_NAMED);
    messages.extend((0 < more).then(|| format!("denied: {more} more files, which the receipt lists")));
    messages
}

/// What explains a denied use of a file.
struct DenialContext<'a> {
    fs: &'a dyn Fs,
    ran: ObservedRun<'a>,
    /// Whether the run may write in the workspace.
    writes: bool,
    /// What it wrote.
    wrote: BTreeSet<&'a str>,
    speller: &'a dyn StepFormatter,
}

impl DenialContext<'_> {
    /// Says why the use of a file was denied, and how it is declared. `None` if the run does not need it.
    fn message(&self, path: &str, what: &DeniedUse, is_kept: bool) -> Option<String> {
        let DenialContext { fs, ran, writes, .. } = *self;
        let ObservedRun { tool, files, data, completed } = ran;
        let declared = |message: String| {
            Hint::from(message + ": ")
                .then(NextStep::DeclareUsed(tool.to_owned()))
                .spelled(self.speller, None)
                .to_string()
        };
        let shown = escape_terminal(path);
        let link = links_on(fs, &fs.root().join(path)).into_iter().next();
        let is_its_own = *what == DeniedUse::Read && self.wrote.contains(path);
        let (what, done) = if is_its_own { (&DeniedUse::Create, "wrote") } else { (what, "made") };
        Some(match (what, link) {
            _ if is_kept => format!("denied: {shown}: what belongs to git or to Brigade stays closed"),
            // SQLite opens for writing first, and reads where it may not write.
            (DeniedUse::Write, _)
                if !writes && completed && is_database(fs, path) && binds_file(files, path) =>
            {
                return None;
            }
            (DeniedUse::Write, _) if binds_file(files, path) => format!(
                "denied: writing {shown}: what an approval binds is not written; let the tool write another file, or name \
                 this one in an argument instead of `command` and `code`"
            ),
            (DeniedUse::Write, _) if !writes && completed => format!(
                "denied: writing {shown}, and the run completed without it; if it is needed, add local-write to effects of the \
                 tool"
            ),
            (DeniedUse::Write, _) if !writes => {
                declared(format!("denied: writing {shown}; add local-write to effects of the tool"))
            }
            (DeniedUse::Write, _) => {
                format!("denied: writing {shown}: the policy, git or the modes of the file keep it as it is")
            }
            (DeniedUse::Create | DeniedUse::Read, None) if is_beside_database(fs, path) => {
                match data_folder(files, path) {
                    Some(folder) => declared(format!(
                        "denied: reading {shown}, which SQLite makes beside its database; add `{}/**` to data of the tool",
                        escape_terminal(folder)
                    )),
                    None => format!(
                        "denied: reading {shown}, which SQLite makes beside its database: let the tool use a separate directory for \
                     it, and add `DIRECTORY/**` to data of the tool"
                    ),
                }
            }
            (DeniedUse::Create, _) => match data_folder(files, path) {
                Some(folder) if data.contains(&format!("{}/**", pattern_of(folder))) => format!(
                    "denied: reading {shown}, which the run {done} itself: `{folder}/**` in data of the tool opens the \
                     directory if it is there when the run starts, so make it before",
                    folder = escape_terminal(folder)
                ),
                Some(folder) => declared(format!(
                    "denied: reading {shown}, which the run {done} itself; add `{}/**` to data of the tool",
                    escape_terminal(folder)
                )),
                None => format!(
                    "denied: reading {shown}, which the run {done} itself: let the tool use a directory without code for such \
                     files, and add `DIRECTORY/**` to its data"
                ),
            },
            (_, Some(link)) if link.as_str().split('/').any(|part| part == PACKAGES) => declared(format!(
                "denied: {shown}, through the link {}; add the directory of the packages, and what links there lead to, \
                 to code of the tool",
                escape_terminal(link.as_str())
            )),
            (_, Some(link)) if leads_out(fs, link.as_str()) => format!(
                "denied: {shown}, a link out of the workspace, which no pattern opens: let `command` of the tool start it"
            ),
            (_, Some(_)) => format!(
                "denied: {shown}, a link, and a closed workspace follows none: let the tool name its target"
            ),
            (DeniedUse::Execute, None) => {
                declared(format!("denied: executing {shown}; add it to code of the tool"))
            }
            (_, None) => declared(format!("denied: {shown}; add it to code or data of the tool")),
        })
    }
}

/// Says which writes the sandbox refused to a run of a tool, and what would allow them. A refused write may be what the
/// run failed by.
pub fn refused_writes(observed: &RunObserved, sandbox: &SandboxUsed, tool: &str) -> Vec<String> {
    let (open, closed) =
        (sandbox.write.as_deref().unwrap_or_default(), sandbox.deny_write.as_deref().unwrap_or_default());
    let writable = Writable {
        workspace: open.iter().any(|path| path == "."),
        git: open.iter().any(|path| path == HISTORY),
    };
    let mut refused: Vec<&str> = observed
        .denied
        .iter()
        .flatten()
        .filter(|denied| denied.what == DeniedUse::Write)
        .map(|denied| denied.path.as_str())
        // The mode of the file may have refused it.
        .filter(|path| depth(closed, path) >= depth(open, path))
        .filter(|path| !path.split('/').any(|part| part == PYTHON_CACHE))
        // No key opens devices and files of the kernel, and programs try terminals without need.
        .filter(|path| !["/dev/", "/proc/", "/sys/"].iter().any(|kernel| path.starts_with(kernel)))
        .collect();
    refused.sort_by_key(|path| always_closed(path).is_none());
    refused.dedup();
    let messages = refused.into_iter().map(|path| {
        let why = refused_write(RefusedWrite { path, tool, writable });
        format!("the sandbox refused writing {}: {why}", escape_terminal(path))
    });
    messages.collect()
}

/// Where git keeps objects, which a run writes if the repository is open.
const HISTORY: &str = ".git/objects";

/// Returns how deep the deepest of some paths is that a path is in; 0 if it is in none. `.` is the workspace.
fn depth(paths: &[String], path: &str) -> usize {
    let around = paths.iter().filter(|around| match around.as_str() {
        "." => !path.starts_with('/'),
        around => Path::new(path).starts_with(around),
    });
    around.map(|around| 1 + Path::new(around).components().count()).max().unwrap_or(0)
}

fn leads_out(fs: &dyn Fs, link: &str) -> bool {
    matches!(fs.resolve(&fs.root().join(link).to_string_lossy(), None), Ok(Location::Outside(_)))
}

/// Tells whether a file of the workspace is a database of SQLite.
pub fn is_database(fs: &dyn Fs, path: &str) -> bool {
    begins(fs, path, b"SQLite format 3\0")
}

/// Tells whether SQLite makes a file of this name beside a database that is there.
pub fn is_beside_database(fs: &dyn Fs, path: &str) -> bool {
    BESIDE_DATABASE.iter().filter_map(|end| path.strip_suffix(end)).any(|database| is_database(fs, database))
}

fn begins(fs: &dyn Fs, path: &str, with: &[u8]) -> bool {
    let file = path.parse().ok().and_then(|path: RelPath| fs.open(&path).ok());
    file.and_then(|file| file.read_range(0, with.len()).ok()).is_some_and(|head| head == with)
}

/// Tells whether a file of the workspace has the name and the first bytes of a library.
fn is_library(fs: &dyn Fs, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_named = [".so", ".node", ".pyd"].iter().any(|end| name.ends_with(end)) || name.contains(".so.");
    is_named && begins(fs, path, b"\x7fELF")
}

#[cfg(test)]
mod tests {
    use brigade_redact::SecretValue;

    use super::*;

    #[test]
    fn what_was_seen_is_masked_and_complete() {
        let file = |path: &str, is_folder, sha256| brigade_sandbox::ObservedFile {
            path: path.into(),
            is_folder,
            sha256,
        };
        let observed = ObservedUse {
            read: vec![file("lib/a", false, Some([7; 32])), file("", true, None), file("lib", true, None)],
            written: vec![file("out-hunter2hunter2.txt", false, None)],
            denied: vec![brigade_sandbox::ObservedDenial { path: "/etc/x".into(), what: Attempt::Read }],
            outside: BTreeMap::from([("/usr".into(), 3)]),
            ..ObservedUse::default()
        };
        let redactor = Redactor::new(&[SecretValue::new(b"hunter2hunter2")]);
        let observation = Observation::Done(Box::new(observed.clone()));
        let shown = super::observed(&Watch::Observe, Some(&observation), &redactor).unwrap();
        let paths = |files: Option<Vec<ObservedFile>>| {
            files.unwrap().into_iter().map(|file| file.path).collect::<Vec<_>>()
        };
        assert_eq!(paths(shown.read.clone()), ["lib/a", "./", "lib/"]);
        assert_eq!(shown.read.unwrap()[0].sha256, Some(Fingerprint::from_sha256([7; 32])));
        assert!(!paths(shown.written)[0].contains("hunter2"));
        assert_eq!((shown.complete, shown.truncated, shown.unseen), (true, false, None));
        for other in [
            ObservedUse { unseen: vec!["a file could not be looked at"], ..observed.clone() },
            ObservedUse { is_truncated: true, ..observed },
        ] {
            let observation = Observation::Done(Box::new(other));
            let shown = super::observed(&Watch::Observe, Some(&observation), &redactor).unwrap();
            assert!(!shown.complete && shown.unseen.is_some_and(|unseen| !unseen.is_empty()));
        }
    }

    #[test]
    fn only_writes_that_the_sandbox_refused_are_told() {
        let check = |write: &[&str], deny: &[&str], denied: &[(&str, DeniedUse)], expect: &[&str]| {
            let texts = |texts: &[&str]| Some(texts.iter().map(|text| (*text).to_owned()).collect());
            let sandbox =
                SandboxUsed { write: texts(write), deny_write: texts(deny), ..SandboxUsed::default() };
            let denied = denied.iter().map(|(path, what)| ObservedDenial {
                path: (*path).to_owned(),
                what: what.clone(),
                ..ObservedDenial::default()
            });
            let observed = RunObserved { denied: Some(denied.collect()), ..RunObserved::default() };
            let messages = refused_writes(&observed, &sandbox, "ship");
            let paths: Vec<&str> = messages
                .iter()
                .map(|message| {
                    message.strip_prefix("the sandbox refused writing ").unwrap().split(": ").next().unwrap()
                })
                .collect();
            assert_eq!(paths, expect);
        };
        let write = |path| (path, DeniedUse::Write);
        let own = &["/tmp/run"][..];
        check(own, &[], &[write("out"), write(".git/index.lock")], &[".git/index.lock", "out"]);
        check(own, &[], &[("out", DeniedUse::Read), write("/tmp/run/x"), write("/etc/x")], &["/etc/x"]);
        check(own, &[], &[write("src/__pycache__/x.pyc")], &[]);
        let (open, closed) = (&[".", "/tmp/run"][..], &[".brigade", ".git"][..]);
        check(open, closed, &[write("read-only-by-mode"), write(".git/HEAD")], &[".git/HEAD"]);
        let with_git = &[".", ".git/objects", ".git/refs"][..];
        check(with_git, closed, &[write(".git/objects/ab"), write(".git/config")], &[".git/config"]);
    }

    #[test]
    fn a_run_that_was_not_observed_says_so() {
        let redactor = Redactor::new(&[]);
        let unavailable = Observation::Unavailable("no such thing".to_owned());
        let shown = observed(&Watch::Observe, Some(&unavailable), &redactor).unwrap();
        assert_eq!((shown.state.as_str(), shown.reason.as_deref()), ("unavailable", Some("no such thing")));
        let shown = observed(&Watch::Unchanged("run-1".parse().unwrap()), None, &redactor).unwrap();
        assert_eq!((shown.state.as_str(), shown.run_id.as_deref()), ("unchanged", Some("run-1")));
        assert_eq!((shown.read, shown.complete), (None, false));
        assert_eq!(observed(&Watch::Nothing, None, &redactor), None);
    }
}
