//! Combines all parts of the sandbox, and applies them in the child with plain system calls.

use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use landlock::{AccessFs, BitFlags};
use rustix::fs::FileType;

use crate::system::last_errno;
use crate::{
    Attempt, Enforcement, LocalSockets, Mode, Network, PlaceholderCleanup, SandboxError, SandboxProfile,
};

use super::filter::{self, Filter, Links};
use super::mounts::{self, Mounts, Placeholder};
use super::openable;
use super::private_files;
use super::ruleset::{self, Ruleset};
use super::sealed::SealedCopies;
use super::view::{self, View};

/// A directory of programs that every run needs.
const SYSTEM: &str = "/usr";

/// A profile in the form that the child applies.
#[derive(Debug)]
pub struct PreparedSandbox {
    enforcement: Enforcement,
    ruleset: Option<Ruleset>,
    mounts: Option<Mounts>,
    sealed: Option<ApprovedCode>,
    hidden: Vec<PathBuf>,
    filters: Vec<Filter>,
    placeholders: Vec<Placeholder>,
    placeholder_descriptors: Vec<RawFd>,
}

/// How the run gets the approved bytes of code.
#[derive(Debug)]
enum ApprovedCode {
    /// In a view of the workspace that only this run has.
    View(View),
    /// Mounted over the paths of the real workspace.
    Sealed(SealedCopies),
}

impl ApprovedCode {
    /// Returns the device of the copies, once they were created.
    fn device(&self) -> u64 {
        match self {
            ApprovedCode::View(view) => view.device(),
            ApprovedCode::Sealed(sealed) => sealed.device(),
        }
    }
}

fn build(
    profile: &SandboxProfile,
    home: Option<&Path>,
    keeping: PlaceholderCleanup,
    placeholders: &mut Vec<Placeholder>,
) -> Result<PreparedSandbox, SandboxError> {
    let version = ruleset::landlock_version().min(profile.landlock_at_most.unwrap_or(u32::MAX));
    let mut enforced = Vec::new();
    let mut missing = Vec::new();
    let mut vital = |sentence: &str| -> Result<(), SandboxError> {
        match profile.mode {
            Mode::Enforce => Err(SandboxError::Unsupported(sentence.to_owned())),
            Mode::BestEffort => {
                missing.push(sentence.to_owned());
                Ok(())
            }
        }
    };
    if version == 0 {
        vital("the kernel has no Landlock: reading and writing are not restricted")?;
    }
    let filters = match filter::supported() {
        true => {
            // git appends to its logs through links.
            let links = if profile.replaced.is_some() { Links::Refused } else { Links::Allowed };
            filter::filters(profile.network, profile.local_sockets, version, links)?
        }
        false => {
            vital("the kernel has no system call filter: network, tracing and mounting are not restricted")?;
            Vec::new()
        }
    };

    let closed = profile.closed.as_ref().zip(profile.workspace.as_deref());
    let has_view = closed.is_some_and(|(closed, workspace)| view::fits(profile, workspace, closed));
    let refuses_links = closed.is_some() && !has_view && mounts::refuse_links();
    let mut mounts = None;
    // A mount covers the target of a link, so a protected entry that is a link cannot be protected.
    let link = mounts::protected(profile).find(|path| path.is_symlink());
    let mut why_not = "mount namespaces are not permitted".to_owned();
    if version != 0 && mounts::supported() {
        if let Some(link) = link {
            vital(&format!(
                "`{}` is a link, so a mount cannot protect it from being replaced",
                link.display()
            ))?;
        }
        if keeping == PlaceholderCleanup::Keeper {
            let kept = mounts::protected(profile).chain(mounts::reserved(profile));
            *placeholders = mounts::make_placeholders(kept);
        }
        let gone = mounts::protected(profile).find(|path| path.symlink_metadata().is_err());
        match gone.filter(|_| keeping != PlaceholderCleanup::Asking) {
            None => {
                // Finding them takes time, and a question about enforcement does not depend on them.
                let private = match keeping {
                    PlaceholderCleanup::Asking => Vec::new(),
                    _ => private_files::closed_to_run(profile),
                };
                mounts = Some(Mounts::new(profile, home, private, refuses_links)?);
            }
            // If no keeper can remove placeholders later, the top level is closed instead.
            Some(gone) => {
                why_not =
                    format!("`{}` is missing, and no mount could keep it from being created", gone.display());
                if keeping == PlaceholderCleanup::Keeper {
                    vital(&why_not)?;
                }
            }
        }
    }

    let mut ruleset = None;
    let mut is_closed = false;
    if version != 0 {
        let workspace = profile.workspace.as_deref();
        let mut kept_out = workspace.map(|workspace| vec![workspace.to_owned()]).unwrap_or_default();
        let mut is_decided = true;
        match workspace.map(openable::paths_of) {
            Some(Ok(paths)) => kept_out = paths,
            // In an open workspace, everything may be read anyway.
            Some(Err(reason)) if profile.closed.is_some() => {
                is_decided = false;
                vital(&format!("{reason}, so reads of the workspace cannot be closed"))?;
            }
            Some(Err(_)) | None => {}
        }
        if profile.closed.is_some() && kept_out.iter().any(|path| Path::new(SYSTEM).starts_with(path)) {
            is_decided = false;
            vital(&format!("the workspace contains the system (`{SYSTEM}`), so its reads cannot be closed"))?;
            // Otherwise no program would start.
            kept_out.clear();
        }
        let all_mounted = mounts.is_some() && link.is_none();
        let top = if all_mounted { ruleset::NewEntries::Open } else { ruleset::NewEntries::Closed };
        let rules = Ruleset::new(profile, version, top, mounts.is_some(), &kept_out)?;
        enforced.extend(["read", "write", "truncate"]);
        if profile.closed.is_some() {
            match rules.opened_by() {
                None if !is_decided => {}
                None => {
                    is_closed = true;
                    enforced.push("closed-reads");
                }
                Some(path) => missing.push(format!(
                    "`{}` contains the workspace and can be read, so nothing of the workspace is closed",
                    path.display()
                )),
            }
            if mounts.is_some() {
                match movable(profile).filter(|_| !has_view) {
                    _ if !has_view && !refuses_links => missing.push(
                        "before Linux 5.14 links in a workspace that the run writes to are followed".to_owned(),
                    ),
                    Some(path) => missing.push(format!(
                        "the run writes to the workspace and can read `{}`, so another process that moves this over \
                         code during the run has it read as code",
                        path.display()
                    )),
                    None if !has_view && has_several_codes(profile) => missing.push(
                        "the run writes to the workspace and reads several files of code there, so another process \
                         that moves one over another during the run has it read in the place of the other"
                            .to_owned(),
                    ),
                    None => enforced.push("sealed-code"),
                }
            } else {
                missing.push(
                    "without mount namespaces code of the workspace is opened by its path: its bytes can change after \
                     they were compared"
                        .to_owned(),
                );
            }
        }
        ruleset = Some(rules);
        if mounts::protected(profile).next().is_some() {
            enforced.push("protected");
            if !all_mounted {
                missing.push(
                    "without mount namespaces no new entries can be made at the top of the workspace"
                        .to_owned(),
                );
            }
        }
    }
    if profile.replaced.is_some() && mounts.is_none() {
        missing.push(format!("{why_not}: the repository stays closed, although the policy opens it"));
    }
    if !filters.is_empty() {
        enforced.push("system-calls");
        if profile.network == Network::Denied {
            enforced.push("network");
        }
        if profile.local_sockets == LocalSockets::Denied {
            enforced.push("local-sockets");
        }
    }
    if mounts.is_some() {
        enforced.push("attributes");
    } else {
        // If the workspace is closed to reading, the rules open nothing there.
        let is_open = !enforced.contains(&"closed-reads");
        for hidden in profile.hidden.iter().filter(|_| is_open) {
            missing.push(format!("{why_not}: what is in `{}` can be read and locked", hidden.display()));
        }
        missing.push(format!(
            "{why_not}: mode, owner and times of files are not protected, nor is shared memory of the System V kind"
        ));
    }
    if 5 <= version {
        enforced.push("devices");
    } else {
        missing.push("before Landlock 5 control calls to open devices are not restricted".to_owned());
    }
    if 6 <= version {
        enforced.extend(["signals", "abstract-sockets"]);
    } else {
        missing.push("before Landlock 6 other processes of the user can be signalled".to_owned());
        if profile.local_sockets == LocalSockets::Allowed {
            missing.push("before Landlock 6 abstract sockets can be connected to".to_owned());
        }
    }
    let sealed = match (closed, &mounts) {
        (Some((closed, workspace)), Some(_)) if has_view && is_closed => {
            Some(ApprovedCode::View(View::new(profile, workspace, closed)?))
        }
        (Some((closed, workspace)), Some(_)) => {
            Some(ApprovedCode::Sealed(SealedCopies::new(closed, Some(workspace))?))
        }
        _ => None,
    };
    Ok(PreparedSandbox {
        sealed,
        hidden: profile.hidden.clone(),
        enforcement: Enforcement { mode: profile.mode, landlock: version, enforced, missing },
        ruleset,
        mounts,
        filters,
        placeholders: Vec::new(),
        placeholder_descriptors: Vec::new(),
    })
}

impl PreparedSandbox {
    /// Builds the rules of a run. `home` is the home directory of the program.
    ///
    /// # Errors
    /// Fails if the profile cannot be enforced as its mode requires, or if a rule cannot be built.
    pub fn new(
        profile: &SandboxProfile,
        home: Option<&Path>,
        keeping: PlaceholderCleanup,
    ) -> Result<PreparedSandbox, SandboxError> {
        let mut placeholders = Vec::new();
        let prepared = build(profile, home, keeping, &mut placeholders);
        match prepared {
            Ok(mut prepared) => {
                prepared.placeholder_descriptors = placeholders.iter().map(Placeholder::descriptor).collect();
                prepared.placeholders = placeholders;
                Ok(prepared)
            }
            Err(error) => {
                placeholders.iter().for_each(Placeholder::remove);
                Err(error)
            }
        }
    }

    /// Returns what is enforced.
    pub fn enforcement(&self) -> Enforcement {
        self.enforcement.clone()
    }

    /// Creates the private mounts, before the working directory is entered, so it is in them. Makes only
    /// plain system calls. An error is the number of the system.
    pub fn enter_namespace(&self) -> Result<(), i32> {
        let Some(mounts) = &self.mounts else { return Ok(()) };
        mounts.enter()?;
        match &self.sealed {
            Some(ApprovedCode::View(view)) => view.put(self.ruleset.as_ref())?,
            Some(ApprovedCode::Sealed(sealed)) => sealed.place(self.ruleset.as_ref())?,
            None => {}
        }
        // Programs share memory and locks between their processes there. Without it they still start.
        if let Some(ruleset) = self.ruleset.as_ref().filter(|_| mounts.has_shared_memory())
            && let Some(folder) = mounts::private_shared_memory()
        {
            ruleset.allow_everything_beneath(&folder);
        }
        Ok(())
    }

    /// Gives up all other rights permanently. The last step before exec. Makes only plain system calls. An error is the
    /// number of the system.
    pub fn restrict(&self) -> Result<(), i32> {
        filter::drop_capabilities();
        // SAFETY: no memory is involved.
        if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
            return Err(last_errno());
        }
        if let Some(ruleset) = &self.ruleset {
            ruleset.restrict()?;
        }
        self.filters.iter().try_for_each(Filter::install)
    }

    /// Returns whether the rules allow an access to a path without links whose file is `identity` (device and inode).
    /// Does not allocate.
    pub(crate) fn lets(&self, path: &[u8], identity: (u64, u64), kind: FileType, attempt: Attempt) -> bool {
        let access = access_of(kind, attempt);
        self.mounts_let(path, kind, attempt)
            && (self.is_shared_memory(path)
                || self.ruleset.as_ref().is_none_or(|rules| rules.lets(path, Some(identity), access)))
    }

    /// Returns whether the mounts allow an access to a path without links. Does not allocate.
    pub(crate) fn mounts_let(&self, path: &[u8], kind: FileType, attempt: Attempt) -> bool {
        let is_file = matches!(kind, FileType::RegularFile | FileType::Directory);
        attempt != Attempt::Write || !is_file || self.lets_write(path)
    }

    /// Returns the rights that a rule for exactly this file or directory (device and inode) gives. Does not allocate.
    pub(crate) fn rights_of(&self, identity: (u64, u64)) -> u64 {
        self.ruleset.as_ref().map_or(0, |rules| rules.rights_of(identity))
    }

    /// Returns whether rights suffice for an access. Does not allocate.
    pub(crate) fn suffice(&self, rights: u64, kind: FileType, attempt: Attempt) -> bool {
        self.ruleset.as_ref().is_none_or(|rules| rules.suffice(rights, access_of(kind, attempt)))
    }

    /// Returns the device that has the copies of code; 0 for none. Valid in the child, once it is in its namespace.
    pub(crate) fn sealed_device(&self) -> u64 {
        self.sealed.as_ref().map_or(0, ApprovedCode::device)
    }

    /// Returns whether the run has its own view of the workspace, in which files of the real one may be missing.
    pub(crate) fn has_view(&self) -> bool {
        matches!(self.sealed, Some(ApprovedCode::View(_)))
    }

    /// Returns whether a path without links is in a directory that is hidden from the run. Does not allocate.
    pub(crate) fn hides(&self, path: &[u8]) -> bool {
        self.hidden.iter().any(|hidden| ruleset::is_beneath(path, hidden.as_os_str().as_bytes()))
    }

    /// Returns whether the rules allow creating a file at a path without links, and reading it if `reads`. Does not
    /// allocate.
    pub(crate) fn lets_create(&self, path: &[u8], reads: bool) -> bool {
        let own = if reads { AccessFs::ReadFile.into() } else { BitFlags::EMPTY };
        let access = AccessFs::MakeReg | AccessFs::WriteFile | own;
        let is_granted = self.ruleset.as_ref().is_none_or(|rules| rules.lets(path, None, access));
        self.lets_write(path) && (self.is_shared_memory(path) || is_granted)
    }

    fn lets_write(&self, path: &[u8]) -> bool {
        self.mounts.as_ref().is_none_or(|mounts| mounts.lets_write(path))
    }

    /// Returns whether a path is in the private shared memory of the run.
    fn is_shared_memory(&self, path: &[u8]) -> bool {
        self.mounts.as_ref().is_some_and(|mounts| mounts.is_shared_memory(path))
    }

    /// Returns the descriptors that the keeper must keep open for [`PreparedSandbox::remove_placeholders`].
    pub fn placeholders(&self) -> &[RawFd] {
        &self.placeholder_descriptors
    }

    /// Removes placeholders for mounts. Makes only plain system calls.
    pub fn remove_placeholders(&self) {
        self.placeholders.iter().for_each(Placeholder::remove);
    }
}

/// Returns a path of the workspace that the run can read and that is not code. It could be moved over code.
fn movable(profile: &SandboxProfile) -> Option<&Path> {
    let (closed, workspace) = (profile.closed.as_ref()?, profile.workspace.as_deref()?);
    let write = profile.write.iter().filter(|path| !closed.write_only.contains(path));
    let mut readable = closed.data.iter().chain(&profile.read).chain(write).map(PathBuf::as_path);
    let is_hidden = |path: &Path| profile.hidden.iter().any(|hidden| path.starts_with(hidden));
    readable.find(|path| path.starts_with(workspace) && !is_hidden(path))
}

/// Returns whether one code file of the workspace could be moved over another.
fn has_several_codes(profile: &SandboxProfile) -> bool {
    profile.closed.as_ref().is_some_and(|closed| 1 < closed.code.len())
}

/// Returns the right that an access needs.
fn access_of(kind: FileType, attempt: Attempt) -> BitFlags<AccessFs> {
    match (attempt, kind) {
        (Attempt::Read, FileType::Directory) => AccessFs::ReadDir,
        (Attempt::Read, _) => AccessFs::ReadFile,
        (Attempt::Write | Attempt::Create, _) => AccessFs::WriteFile,
        (Attempt::Execute, _) => AccessFs::Execute,
    }
    .into()
}
