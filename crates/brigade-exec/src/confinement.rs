//! The sandbox profile that a decision means on this machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use brigade_call::SandboxUsed;
use brigade_policy::{Decision, SandboxMode};
use brigade_process::{
    Enforcement, Extent, Kept, Limits, LocalSockets, Mode, Network, Opening, Repositories, SandboxProfile,
    installation_of, system_read_paths,
};

/// Where Brigade keeps its state.
const STATE: &str = ".brigade";

/// The ways to what no run may write: where links on them lead is kept, too.
const OWN_STATE: [&str; 6] = [
    STATE,
    ".brigade/tools.toml",
    ".brigade/tools/policy.toml",
    ".brigade/tools/runtimes.toml",
    ".brigade/tools/calls.jsonl",
    ".brigade/tools/runs/ledger.jsonl",
];

/// What a receipt says when not every folder was looked at.
const PART: &str = "the workspace has too many folders to find every repository in it: some may be writable";

/// The folders that a run is given.
pub(crate) struct RunFolders<'a> {
    pub(crate) workspace: &'a Path,
    pub(crate) temporary: &'a Path,
    pub(crate) checkpoints: &'a Path,
    pub(crate) home: Option<&'a Path>,
}

/// The rules of a run.
pub(crate) struct Confinement {
    pub(crate) profile: SandboxProfile,
    /// How much of the workspace was looked at for repositories.
    extent: Extent,
}

/// Returns the rules of a run, or none when the policy asks for no sandbox. What the programs are installed in can be
/// read.
pub(crate) fn confine(
    decision: &Decision,
    programs: &[PathBuf],
    folders: &RunFolders<'_>,
) -> Option<Confinement> {
    let mode = match decision.sandbox.mode {
        SandboxMode::Off => return None,
        SandboxMode::Enforce => Mode::Enforce,
        SandboxMode::BestEffort => Mode::BestEffort,
    };
    let grants = &decision.sandbox.grants;
    let resolve = |path: &String| expand(path, folders);
    let mut read = system_read_paths();
    read.extend(installations(programs));
    read.push(folders.workspace.to_owned());
    read.extend(grants.read_paths.iter().map(resolve));
    let mut write = vec![folders.temporary.to_owned(), folders.checkpoints.to_owned()];
    let kept = Kept::of(folders.workspace, &OWN_STATE);
    let asked = grants.write_paths.iter().map(resolve);
    let asked = asked.chain(grants.workspace_write.then(|| folders.workspace.to_owned()));
    let mut is_open = false;
    for path in asked.filter(|path| !kept.keeps(path)) {
        let around = kept.around(&path, folders.workspace);
        is_open |= around.is_some();
        match (kept.opening, around) {
            (Opening::Folder, Some(folder)) => write.push(folder.to_owned()),
            (Opening::Entries, Some(_)) => write.extend(kept.others(folders.workspace)),
            (Opening::Nothing, Some(_)) => {}
            (Opening::Nothing, None) if kept.is_inside(&path) => {}
            (Opening::Folder | Opening::Entries | Opening::Nothing, None) => write.push(path),
        }
    }
    let own = [folders.temporary, folders.checkpoints];
    let opened: Vec<PathBuf> = write.iter().filter(|path| !own.contains(&path.as_path())).cloned().collect();
    let mut deny_write = Vec::new();
    let mut extent = Extent::Whole;
    if opened.iter().any(|path| is_open || kept.is_inside(path)) {
        let repositories = Repositories::of(folders.workspace, folders.home, STATE);
        let is_opened =
            |path: &PathBuf| !kept.covers(path) && opened.iter().any(|open| path.starts_with(open));
        // What the policy opens of a repository's own folder stays closed, too.
        write.retain(|path| {
            own.contains(&path.as_path())
                || !repositories.closed.iter().any(|closed| path.starts_with(closed))
        });
        write.extend(repositories.pinned.iter().filter(|path| is_opened(path)).cloned());
        deny_write.extend(repositories.closed.into_iter().filter(is_opened));
        extent = repositories.extent;
    }
    if is_open {
        deny_write.extend(kept.entries);
    }
    let profile = SandboxProfile {
        read,
        write,
        deny_write,
        network: if grants.network { Network::Allowed } else { Network::Denied },
        local_sockets: if grants.local_sockets { LocalSockets::Allowed } else { LocalSockets::Denied },
        mode,
        landlock_at_most: None,
    };
    Some(Confinement { profile, extent })
}

/// Lists what programs are installed in, each once.
fn installations(programs: &[PathBuf]) -> BTreeSet<PathBuf> {
    programs.iter().flat_map(|program| installation_of(program)).collect()
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
    match (path.strip_prefix("~/"), folders.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => folders.workspace.join(path),
    }
}

/// Returns the profile and what the kernel made of it, as the receipt holds it.
pub(crate) fn used(
    confinement: Option<&Confinement>,
    enforcement: Option<&Enforcement>,
    workspace: &Path,
) -> SandboxUsed {
    let Some(Confinement { profile, extent }) = confinement else {
        return SandboxUsed { mode: "off".to_owned(), ..SandboxUsed::default() };
    };
    let missing = |enforcement: &Enforcement| {
        let part = (*extent == Extent::Part).then(|| PART.to_owned());
        enforcement.missing.iter().cloned().chain(part).collect()
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
    let mut used = SandboxUsed {
        mode: profile.mode.name().to_owned(),
        read: paths(&profile.read),
        write: paths(&profile.write),
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
