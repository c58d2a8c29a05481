//! Builds the sandbox profile of a policy decision on this machine.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use brigade_call::{Race, SandboxUsed};
use brigade_core::{AgentFiles, STATE_FOLDER};
use brigade_fs::{DiskFs, Fs as _, RelPath};
use brigade_policy::{Decision, Reads, SandboxMode};
use brigade_process::{Limits, OpenedRepository, PrivateFolder};
use brigade_sandbox::{
    ClosedPaths, Enforcement, Extent, LocalSockets, Mode, Network, ProtectedEntries, SandboxProfile,
    WritableScope, folders_in, json_files_in, system_read_paths, without_links, without_links_below,
};

use crate::closed_places::search_closed;
use crate::closed_reads::ClosedReads;
use crate::environment::HostEnvironment;

/// Paths that no run may write, including the targets of links on them.
const OWN_STATE: [&str; 6] = [
    STATE_FOLDER,
    ".brigade/tools.toml",
    ".brigade/tools/policy.toml",
    ".brigade/tools/runtimes.toml",
    ".brigade/tools/calls.jsonl",
    ".brigade/tools/runs/ledger.jsonl",
];

/// The note in a receipt if the search did not cover every directory.
const PART: &str = "the workspace has too many or unreadable directories, repositories or links to find every closed place in it, so what was not searched is closed to writing";

/// The directories of a run.
pub(crate) struct RunFolders<'a> {
    /// The workspace, or the worktree in its place.
    pub(crate) workspace: &'a Path,
    /// What git in such a worktree reads: the directory that it shares with the workspace.
    pub(crate) repository: Option<&'a Path>,
    pub(crate) temporary: &'a Path,
    pub(crate) checkpoints: &'a Path,
    pub(crate) host: &'a HostEnvironment,
    /// The private home directory, from [`private_home`].
    pub(crate) private_home: Option<&'a Path>,
    /// A directory that is open although it may lie in a closed one.
    pub(crate) work: Option<WorkFolder<'a>>,
    /// Files of the workspace that stay closed to writing.
    pub(crate) closed: &'a [PathBuf],
    /// The repository of the workspace for a run that may write to it, or why it stays closed.
    pub(crate) opened: Option<&'a Result<OpenedRepository, String>>,
}

/// A separate directory in which a program works.
#[derive(Clone, Copy, Debug)]
pub struct WorkFolder<'a> {
    /// Where it is, without links.
    pub path: &'a Path,
    /// Whether the program may write there.
    pub is_writable: bool,
    /// What else git reads there: objects of the repository that only Brigade writes.
    pub objects: Option<&'a Path>,
    /// The directory of the pipes by which it calls tools, if it has some.
    pub pipes: Option<&'a Path>,
}

/// The sandbox of a run.
pub(crate) struct Confinement {
    pub(crate) profile: SandboxProfile,
    /// Differences from the requested sandbox, as sentences.
    notes: Vec<String>,
    /// Bound files that can change during the run.
    loose: Vec<String>,
    /// What of the repository is open.
    opened: Vec<PathBuf>,
}

/// Returns the sandbox of a run; `None` if the policy requests none.
///
/// Only the system, the run's own directories and the paths in the decision are open; the approval binds
/// those.
///
/// With `closed` nothing else of the workspace can be read.
pub(crate) fn confine(
    decision: &Decision,
    folders: &RunFolders<'_>,
    closed: Option<ClosedReads>,
) -> Option<Confinement> {
    let mode = match decision.sandbox.mode {
        SandboxMode::Off => return None,
        SandboxMode::Enforce => Mode::Enforce,
        SandboxMode::BestEffort => Mode::BestEffort,
    };
    let grants = &decision.sandbox.grants;
    let (closed, mut notes, loose) =
        closed.map_or((None, Vec::new(), Vec::new()), |reads| (Some(reads.closed), reads.notes, reads.loose));
    notes.extend(loose.iter().cloned());
    let mut installed = system_read_paths();
    installed.extend(grants.program_paths.iter().map(PathBuf::from));
    let mut read = Vec::new();
    if closed.is_none() {
        read.push(folders.workspace.to_owned());
    }
    read.extend(folders.repository.map(Path::to_owned));
    read.extend(named_paths(&grants.read_paths, "read_paths", folders, &mut notes));
    read.extend(shown_of_runtimes(folders.workspace));
    read.extend(folders.work.filter(|work| !work.is_writable).map(|work| work.path.to_owned()));
    read.extend(folders.work.and_then(|work| work.objects).map(Path::to_owned));
    let mut requested = named_paths(&grants.write_paths, "write_paths", folders, &mut notes);
    requested.extend(grants.workspace_write.then(|| folders.workspace.to_owned()));
    let agent_files = decision.sandbox.agent_files;
    let WriteRules { write, deny_write, deny_new, write_only, extent } =
        write_rules(folders, requested, agent_files);
    let closed = closed.map(|mut closed| {
        closed.write_only.extend(write_only);
        closed
    });
    let opened = match folders.opened {
        Some(Ok(opened)) if closed.is_none() => Some(opened),
        Some(Err(why)) => {
            notes.push(why.clone());
            None
        }
        Some(Ok(_)) | None => {
            let is_asked = grants.git_write;
            notes.extend(is_asked.then(|| {
                "`.git` is opened only for programs that end with the call, so it stays closed".to_owned()
            }));
            None
        }
    };
    let profile = SandboxProfile {
        workspace: Some(folders.workspace.to_owned()),
        hidden: hidden(folders.workspace),
        installed,
        read,
        write,
        deny_write,
        deny_new,
        replaced: opened.map(OpenedRepository::replaced),
        closed,
        network: if grants.network { Network::Allowed } else { Network::Denied },
        local_sockets: if grants.local_sockets { LocalSockets::Allowed } else { LocalSockets::Denied },
        mode,
        landlock_at_most: None,
    };
    if extent == Extent::Part {
        notes.push(PART.to_owned());
    }
    Some(Confinement {
        profile,
        notes,
        loose,
        opened: opened.map(OpenedRepository::writable).unwrap_or_default(),
    })
}

/// Resolves paths of the policy. One that leads through a link in the workspace opens nothing, which is noted.
fn named_paths(
    paths: &[String],
    key: &str,
    folders: &RunFolders<'_>,
    notes: &mut Vec<String>,
) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in paths {
        match without_links_below(&expand(path, folders), folders.workspace) {
            Some(resolved) => found.push(resolved),
            None => notes.push(format!(
                "`{path}` in {key} leads through a link in the workspace, so it opens nothing"
            )),
        }
    }
    found
}

/// What a run may write.
struct WriteRules {
    write: Vec<PathBuf>,
    /// What stays closed in it.
    deny_write: Vec<PathBuf>,
    /// What stays missing in it.
    deny_new: Vec<PathBuf>,
    /// What a closed workspace opens only for writing.
    write_only: Vec<PathBuf>,
    /// How much of the workspace was searched for repositories.
    extent: Extent,
}

/// Opens the own directories of a run and the paths that were asked for, without state of git and Brigade.
fn write_rules(folders: &RunFolders<'_>, mut requested: Vec<PathBuf>, agent_files: AgentFiles) -> WriteRules {
    let work_path = folders.work.map_or(folders.temporary, |work| work.path);
    let pipes = folders.work.and_then(|work| work.pipes);
    let mut write = vec![folders.temporary.to_owned()];
    // A program outside of calls has no other directory.
    write.extend(Some(folders.checkpoints.to_owned()).filter(|path| path != folders.temporary));
    write.extend(folders.work.filter(|work| work.is_writable).map(|work| work.path.to_owned()));
    write.extend(pipes.map(Path::to_owned));
    write.extend(folders.private_home.map(Path::to_owned));
    let mut kept = ProtectedEntries::find(folders.workspace, &OWN_STATE);
    requested.retain(|path| !kept.protects(path));
    let touches = |path: &PathBuf| kept.enclosing(path, folders.workspace).is_some() || kept.is_inside(path);
    let repositories = if requested.iter().any(touches) {
        search_closed(folders.workspace, folders.host, agent_files)
    } else {
        ClosedPaths::default()
    };
    if repositories.closes_the_top(folders.workspace) {
        kept.scope = kept.scope.max(WritableScope::Entries);
    }
    let mut is_open = false;
    let mut write_only = Vec::new();
    for path in requested {
        let around = kept.enclosing(&path, folders.workspace);
        is_open |= around.is_some();
        match (kept.scope, around) {
            (WritableScope::Folder, Some(folder)) => write_only.push(folder.to_owned()),
            (WritableScope::Entries, Some(_)) => write_only.extend(kept.other_entries(folders.workspace)),
            (WritableScope::Nothing, Some(_)) => {}
            (WritableScope::Nothing, None) if kept.is_inside(&path) => {}
            (WritableScope::Folder | WritableScope::Entries | WritableScope::Nothing, None) => {
                write.push(path)
            }
        }
    }
    write.extend(write_only.iter().cloned());
    let private_home = folders.private_home.unwrap_or(work_path);
    let own = [folders.temporary, folders.checkpoints, work_path, pipes.unwrap_or(work_path), private_home];
    let opened: Vec<PathBuf> = write.iter().filter(|path| !own.contains(&path.as_path())).cloned().collect();
    let is_opened = |path: &PathBuf| !kept.covers(path) && opened.iter().any(|open| path.starts_with(open));
    // The policy cannot open a repository's own directory.
    write.retain(|path| {
        own.contains(&path.as_path()) || !repositories.closed.iter().any(|closed| path.starts_with(closed))
    });
    let pinned: Vec<PathBuf> = repositories.pinned.iter().filter(|path| is_opened(path)).cloned().collect();
    write_only.extend(pinned.iter().cloned());
    write.extend(pinned);
    let mut deny_write: Vec<PathBuf> =
        repositories.closed.into_iter().filter(|path| is_opened(path)).collect();
    if is_open {
        deny_write.extend(kept.entries);
    }
    let may_write = |path: &&PathBuf| is_open || write.iter().any(|open| path.starts_with(open));
    deny_write.extend(folders.closed.iter().filter(may_write).cloned());
    let deny_new = repositories.missing.into_iter().collect();
    WriteRules { write, deny_write, deny_new, write_only, extent: repositories.extent }
}

/// Makes the private home directory that a decision gives to a process, if it gives one. It stays between starts.
///
/// # Errors
/// If the directory cannot be made.
pub(crate) fn private_home(decision: &Decision, workspace: &Path) -> Result<Option<PathBuf>, String> {
    let Some(home) = &decision.sandbox.grants.home else { return Ok(None) };
    let made = DiskFs::open(workspace).and_then(|fs| fs.create_dir_all(&RelPath::composed(home)));
    made.map_err(|error| format!("no private home directory: {error}"))?;
    // `.brigade` itself may be a link, and no mount can be put through one.
    let home = workspace.join(home);
    Ok(Some(without_links(&home).unwrap_or(home)))
}

/// Makes a private directory for temporary files, and the sandbox of a program outside of calls.
///
/// # Errors
/// If the directory cannot be made.
pub fn confine_start(
    decision: &Decision,
    workspace: &Path,
    host: &HostEnvironment,
    private_home: Option<&Path>,
) -> io::Result<(PrivateFolder, Option<SandboxProfile>)> {
    let temporary = PrivateFolder::create()?;
    let folders = RunFolders {
        workspace,
        repository: None,
        temporary: temporary.path(),
        checkpoints: temporary.path(),
        host,
        private_home,
        work: None,
        closed: &[],
        opened: None,
    };
    let profile = confine(decision, &folders, None).map(|confinement| confinement.profile);
    Ok((temporary, profile))
}

/// Lists the directories of Brigade's state of which a run sees nothing. A link within the state hides where it leads,
/// too.
fn hidden(workspace: &Path) -> Vec<PathBuf> {
    let state = workspace.join(STATE_FOLDER);
    let queue = without_links(&state.join("tools"));
    let state = without_links(&state).unwrap_or(state);
    let queue = queue.filter(|queue| !queue.starts_with(&state));
    // Of two of which one is beneath the other, the outer one hides both.
    match queue {
        Some(queue) if state.starts_with(&queue) => vec![queue],
        queue => std::iter::once(state).chain(queue).collect(),
    }
}

/// Lists what a run sees of the state of the runtimes: the files by which it can tell how they are, and the programs of
/// bundles.
fn shown_of_runtimes(workspace: &Path) -> Vec<PathBuf> {
    let runtimes = workspace.join(STATE_FOLDER).join("tools/runtime");
    let bundles = folders_in(&runtimes).into_iter().flat_map(|folder| folders_in(&folder));
    let bundles = bundles.filter(|folder| folder.ends_with("bundle"));
    json_files_in(&runtimes).into_iter().chain(bundles).collect()
}

/// Returns the limits of each process of a run.
pub(crate) fn limits(decision: &Decision) -> Limits {
    let limits = decision.limits;
    Limits {
        processes: limits.processes,
        memory: limits.memory,
        file_size: limits.file_size,
        open_files: limits.open_files,
    }
}

fn expand(path: &String, folders: &RunFolders<'_>) -> PathBuf {
    match (path.strip_prefix("~/"), folders.host.home()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => folders.workspace.join(path),
    }
}

/// Returns the profile and how the kernel enforced it, for the receipt.
pub(crate) fn used(
    confinement: Option<&Confinement>,
    enforcement: Option<&Enforcement>,
    workspace: &Path,
) -> SandboxUsed {
    let Some(Confinement { profile, notes, loose, opened }) = confinement else {
        return SandboxUsed { mode: SandboxMode::Off.into(), ..SandboxUsed::default() };
    };
    // Several links may be one, and what is said of each is said once.
    let missing = |enforcement: &Enforcement| {
        let mut listed = BTreeSet::new();
        let all = enforcement.missing.iter().chain(notes);
        all.filter(|sentence| listed.insert(sentence.as_str())).cloned().collect()
    };
    let paths = |paths: &[PathBuf]| {
        let shown = paths.iter().map(|path| match path.strip_prefix(workspace) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
            Ok(inside) => inside.display().to_string(),
            Err(_) => path.display().to_string(),
        });
        Some(shown.collect())
    };
    let labels = |labels: &[&str]| labels.iter().map(|label| (*label).to_owned()).collect();
    let is_enforced = |label| enforcement.is_some_and(|enforcement| enforcement.enforced.contains(&label));
    let is_sealed = loose.is_empty() && is_enforced("closed-reads") && is_enforced("sealed-code");
    let race = if is_sealed { Race::None } else { Race::Possible };
    let mut used = SandboxUsed {
        reads: profile.closed.as_ref().map(|_| Reads::Closed.into()),
        race: profile.closed.as_ref().map(|_| race),
        mode: match profile.mode {
            Mode::Enforce => SandboxMode::Enforce.into(),
            Mode::BestEffort => SandboxMode::BestEffort.into(),
        },
        read: paths(&[profile.installed.as_slice(), &profile.read].concat()),
        write: paths(&[profile.write.as_slice(), opened].concat()),
        deny_write: paths(&profile.deny_write),
        network: Some(profile.network == Network::Allowed),
        local_sockets: Some(profile.local_sockets == LocalSockets::Allowed),
        landlock_abi: enforcement.map(|enforcement| enforcement.landlock.into()),
        enforced: enforcement.map(|enforcement| labels(&enforcement.enforced)),
        missing: enforcement.map(missing),
        ..SandboxUsed::default()
    };
    used.extra.show(&["landlock_abi", "enforced", "missing"]);
    used
}
