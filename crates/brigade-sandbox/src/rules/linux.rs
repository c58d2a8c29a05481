//! Combines all parts of the sandbox, and applies them in the child with plain system calls.

use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use landlock::{AccessFs, BitFlags};
use rustix::fs::FileType;
use rustix::io;

use crate::seccomp::Filter;
use crate::system::checked;
use crate::{
    Attempt, ClosedWorkspace, Enforcement, LocalSockets, Mode, Network, PlaceholderCleanup, SandboxError,
    SandboxProfile,
};

use super::filter::{self, Links};
use super::mount_table;
use super::mounts::{self, Mounts, Placeholder};
use super::private_files;
use super::ruleset::{self, NewEntries, Ruleset};
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
    approved_code: Option<ApprovedCode>,
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

impl PreparedSandbox {
    /// Builds the rules of a run. `home` is the home directory of the program.
    ///
    /// # Errors
    /// Fails if the profile cannot be enforced as its mode requires, or if a rule cannot be built.
    pub fn new(
        profile: &SandboxProfile,
        home: Option<&Path>,
        cleanup: PlaceholderCleanup,
    ) -> Result<PreparedSandbox, SandboxError> {
        let mut placeholders = Vec::new();
        match Builder::new(profile, home, cleanup).build(&mut placeholders) {
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

    /// Creates the private mounts, before the working directory is entered, so it is in them. Makes only plain system
    /// calls.
    pub fn enter_namespace(&self) -> io::Result<()> {
        // There are no mounts without a ruleset.
        let (Some(mounts), Some(ruleset)) = (&self.mounts, &self.ruleset) else { return Ok(()) };
        mounts.enter()?;
        match &self.approved_code {
            Some(ApprovedCode::View(view)) => view.mount(ruleset)?,
            Some(ApprovedCode::Sealed(copies)) => copies.mount(ruleset)?,
            None => {}
        }
        // Programs share memory and locks between their processes there. Without it they still start.
        if mounts.has_shared_memory()
            && let Some(folder) = mounts::private_shared_memory()
        {
            ruleset.allow_everything_beneath(&folder);
        }
        Ok(())
    }

    /// Gives up all other rights permanently, as the last step before exec. Makes only plain system calls.
    pub fn restrict(&self) -> io::Result<()> {
        filter::drop_capabilities();
        // SAFETY: no memory is involved.
        checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
        if let Some(ruleset) = &self.ruleset {
            ruleset.restrict()?;
        }
        self.filters.iter().try_for_each(|filter| filter.install(0).map(drop))
    }

    /// Returns the descriptors that the keeper must keep open for [`PreparedSandbox::remove_placeholders`].
    pub fn placeholders(&self) -> &[RawFd] {
        &self.placeholder_descriptors
    }

    /// Removes placeholders for mounts. Makes only plain system calls.
    pub fn remove_placeholders(&self) {
        self.placeholders.iter().for_each(Placeholder::remove);
    }

    /// Returns whether the rules allow an access to a path without links whose file is `identity` (device and inode).
    /// Does not allocate.
    pub(crate) fn allows(&self, path: &[u8], identity: (u64, u64), kind: FileType, attempt: Attempt) -> bool {
        let access = access_of(kind, attempt);
        self.mounts_allow(path, kind, attempt)
            && (self.is_shared_memory(path)
                || self.ruleset.as_ref().is_none_or(|rules| rules.allows(path, Some(identity), access)))
    }

    /// Returns whether the mounts allow an access to a path without links. Does not allocate.
    pub(crate) fn mounts_allow(&self, path: &[u8], kind: FileType, attempt: Attempt) -> bool {
        let is_file = matches!(kind, FileType::RegularFile | FileType::Directory);
        attempt != Attempt::Write || !is_file || self.allows_write(path)
    }

    /// Returns whether the rules allow creating a file at a path without links, and reading it if `reads`. Does not
    /// allocate.
    pub(crate) fn allows_create(&self, path: &[u8], reads: bool) -> bool {
        let own = if reads { AccessFs::ReadFile.into() } else { BitFlags::EMPTY };
        let access = AccessFs::MakeReg | AccessFs::WriteFile | own;
        let is_granted = self.ruleset.as_ref().is_none_or(|rules| rules.allows(path, None, access));
        self.allows_write(path) && (self.is_shared_memory(path) || is_granted)
    }

    fn allows_write(&self, path: &[u8]) -> bool {
        self.mounts.as_ref().is_none_or(|mounts| mounts.allows_write(path))
    }

    /// Returns whether a path is in the private shared memory of the run.
    fn is_shared_memory(&self, path: &[u8]) -> bool {
        self.mounts.as_ref().is_some_and(|mounts| mounts.is_shared_memory(path))
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
        match &self.approved_code {
            Some(ApprovedCode::View(view)) => view.device(),
            Some(ApprovedCode::Sealed(copies)) => copies.device(),
            None => 0,
        }
    }

    /// Returns whether the run has its own view of the workspace, in which files of the real one may be missing.
    pub(crate) fn has_view(&self) -> bool {
        matches!(self.approved_code, Some(ApprovedCode::View(_)))
    }

    /// Returns whether a path without links is in a directory that is hidden from the run. Does not allocate.
    pub(crate) fn hides(&self, path: &[u8]) -> bool {
        self.hidden.iter().any(|hidden| ruleset::is_beneath(path, hidden.as_os_str().as_bytes()))
    }
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

/// Builds the parts of a sandbox, and collects what is enforced.
struct Builder<'p> {
    profile: &'p SandboxProfile,
    home: Option<&'p Path>,
    cleanup: PlaceholderCleanup,
    /// The closed workspace, if the run has one.
    closed: Option<(&'p ClosedWorkspace, &'p Path)>,
    /// The Landlock version in use.
    version: u32,
    /// Whether the run can have its own view of the workspace.
    has_view: bool,
    /// Whether links in the closed workspace are not followed.
    refuses_links: bool,
    /// A protected entry that is a link. A mount covers its target, so the entry cannot be protected.
    linked: Option<&'p Path>,
    /// Why there are no mounts.
    without_mounts: String,
    enforced: Vec<&'static str>,
    missing: Vec<String>,
}

impl<'p> Builder<'p> {
    fn new(profile: &'p SandboxProfile, home: Option<&'p Path>, cleanup: PlaceholderCleanup) -> Builder<'p> {
        Builder {
            profile,
            home,
            cleanup,
            closed: profile.closed.as_ref().zip(profile.workspace.as_deref()),
            version: ruleset::landlock_version().min(profile.landlock_at_most.unwrap_or(u32::MAX)),
            has_view: false,
            refuses_links: false,
            linked: mounts::protected(profile).find(|path| path.is_symlink()),
            without_mounts: "mount namespaces are not permitted".to_owned(),
            enforced: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// Notes a gap that a run must not have if the profile must be enforced.
    fn require(&mut self, sentence: &str) -> Result<(), SandboxError> {
        match self.profile.mode {
            Mode::Enforce => Err(SandboxError::Unsupported(sentence.to_owned())),
            Mode::BestEffort => {
                self.note(sentence);
                Ok(())
            }
        }
    }

    fn note(&mut self, sentence: impl Into<String>) {
        self.missing.push(sentence.into());
    }

    fn build(mut self, placeholders: &mut Vec<Placeholder>) -> Result<PreparedSandbox, SandboxError> {
        let profile = self.profile;
        if self.version == 0 {
            self.require("the kernel has no Landlock: reading and writing are not restricted")?;
        }
        let filters = self.filters()?;
        self.has_view = self.closed.is_some_and(|(closed, workspace)| view::fits(profile, workspace, closed));
        self.refuses_links = self.closed.is_some() && !self.has_view && mounts::refuse_links();
        let mounts = self.mounts(placeholders)?;
        let (ruleset, is_closed) = match self.version {
            0 => (None, false),
            _ => self.ruleset(mounts.is_some()).map(|(ruleset, is_closed)| (Some(ruleset), is_closed))?,
        };
        if profile.replaced.is_some() && mounts.is_none() {
            self.note(format!(
                "{}: the repository stays closed, although the policy opens it",
                self.without_mounts
            ));
        }
        if !filters.is_empty() {
            self.enforced.push("system-calls");
            if profile.network == Network::Denied {
                self.enforced.push("network");
            }
            if profile.local_sockets == LocalSockets::Denied {
                self.enforced.push("local-sockets");
            }
        }
        self.note_attributes(mounts.is_some());
        self.note_scopes();
        let approved_code = match (self.closed, &mounts) {
            (Some((closed, workspace)), Some(_)) if self.has_view && is_closed => {
                Some(ApprovedCode::View(View::new(profile, workspace, closed)?))
            }
            (Some((closed, workspace)), Some(_)) => {
                Some(ApprovedCode::Sealed(SealedCopies::new(closed, workspace)?))
            }
            _ => None,
        };
        let Builder { version, enforced, missing, .. } = self;
        Ok(PreparedSandbox {
            approved_code,
            hidden: profile.hidden.clone(),
            enforcement: Enforcement { mode: profile.mode, landlock: version, enforced, missing },
            ruleset,
            mounts,
            filters,
            placeholders: Vec::new(),
            placeholder_descriptors: Vec::new(),
        })
    }

    fn filters(&mut self) -> Result<Vec<Filter>, SandboxError> {
        if !filter::supported() {
            self.require(
                "the kernel has no system call filter: network, tracing and mounting are not restricted",
            )?;
            return Ok(Vec::new());
        }
        let profile = self.profile;
        // git appends to its logs through links.
        let links = if profile.replaced.is_some() { Links::Refused } else { Links::Allowed };
        filter::filters(profile.network, profile.local_sockets, self.version, links)
    }

    /// Creates placeholders and prepares the mounts, where they are permitted.
    fn mounts(&mut self, placeholders: &mut Vec<Placeholder>) -> Result<Option<Mounts>, SandboxError> {
        let (profile, cleanup) = (self.profile, self.cleanup);
        if self.version == 0 || !mounts::supported() {
            return Ok(None);
        }
        if let Some(link) = self.linked {
            self.require(&format!(
                "`{}` is a link, so a mount cannot protect it from being replaced",
                link.display()
            ))?;
        }
        if cleanup == PlaceholderCleanup::Keeper {
            let kept = mounts::protected(profile).chain(mounts::reserved(profile));
            *placeholders = mounts::make_placeholders(kept);
        }
        let gone = mounts::protected(profile).find(|path| path.symlink_metadata().is_err());
        // If no keeper can remove placeholders later, the top level is closed instead.
        if let Some(gone) = gone.filter(|_| cleanup != PlaceholderCleanup::Query) {
            self.without_mounts =
                format!("`{}` is missing, and no mount could keep it from being created", gone.display());
            if cleanup == PlaceholderCleanup::Keeper {
                self.require(&self.without_mounts.clone())?;
            }
            return Ok(None);
        }
        // Finding them takes time, and a question about enforcement does not depend on them.
        let private = match cleanup {
            PlaceholderCleanup::Query => Vec::new(),
            PlaceholderCleanup::Keeper | PlaceholderCleanup::Impossible => {
                private_files::closed_to_run(profile)
            }
        };
        Mounts::new(profile, self.home, private, self.refuses_links).map(Some)
    }

    /// Builds the Landlock rules, and returns whether they close the reads of the workspace.
    fn ruleset(&mut self, has_mounts: bool) -> Result<(Ruleset, bool), SandboxError> {
        let profile = self.profile;
        let workspace = profile.workspace.as_deref();
        let mut kept_out = workspace.map(|workspace| vec![workspace.to_owned()]).unwrap_or_default();
        let mut is_decided = true;
        match workspace.map(mount_table::paths_of) {
            Some(Ok(paths)) => kept_out = paths,
            // In an open workspace, everything may be read anyway.
            Some(Err(reason)) if profile.closed.is_some() => {
                is_decided = false;
                self.require(&format!("{reason}, so reads of the workspace cannot be closed"))?;
            }
            Some(Err(_)) | None => {}
        }
        if profile.closed.is_some() && kept_out.iter().any(|path| Path::new(SYSTEM).starts_with(path)) {
            is_decided = false;
            self.require(&format!(
                "the workspace contains the system (`{SYSTEM}`), so its reads cannot be closed"
            ))?;
            // Otherwise no program would start.
            kept_out.clear();
        }
        let all_mounted = has_mounts && self.linked.is_none();
        let top = if all_mounted { NewEntries::Open } else { NewEntries::Closed };
        let ruleset = Ruleset::new(profile, self.version, top, has_mounts, &kept_out)?;
        self.enforced.extend(["read", "write", "truncate"]);
        let is_closed = profile.closed.is_some() && is_decided && ruleset.opened_by().is_none();
        if is_closed {
            self.enforced.push("closed-reads");
        }
        if profile.closed.is_some() {
            if let Some(path) = ruleset.opened_by() {
                self.note(format!(
                    "`{}` contains the workspace and can be read, so nothing of the workspace is closed",
                    path.display()
                ));
            }
            self.note_code(has_mounts);
        }
        if mounts::protected(profile).next().is_some() {
            self.enforced.push("protected");
            if !all_mounted {
                self.note("without mount namespaces no new entries can be made at the top of the workspace");
            }
        }
        Ok((ruleset, is_closed))
    }

    /// Notes whether the code of a closed workspace is exactly the approved one.
    fn note_code(&mut self, has_mounts: bool) {
        if !has_mounts {
            self.note(
                "without mount namespaces code of the workspace is opened by its path: its bytes can change after \
                 they were compared",
            );
        } else if self.has_view {
            self.enforced.push("sealed-code");
        } else if !self.refuses_links {
            self.note("before Linux 5.14 links in a workspace that the run writes to are followed");
        } else if let Some(path) = movable(self.profile) {
            self.note(format!(
                "the run writes to the workspace and can read `{}`, so another process that moves this over code \
                 during the run has it read as code",
                path.display()
            ));
        } else if self.closed.is_some_and(|(closed, _)| 1 < closed.code.len()) {
            self.note(
                "the run writes to the workspace and reads several files of code there, so another process that \
                 moves one over another during the run has it read in the place of the other",
            );
        } else {
            self.enforced.push("sealed-code");
        }
    }

    fn note_attributes(&mut self, has_mounts: bool) {
        if has_mounts {
            self.enforced.push("attributes");
            return;
        }
        // If the workspace is closed to reading, the rules open nothing there.
        let is_open = !self.enforced.contains(&"closed-reads");
        let why = self.without_mounts.clone();
        for hidden in self.profile.hidden.iter().filter(|_| is_open) {
            self.note(format!("{why}: what is in `{}` can be read and locked", hidden.display()));
        }
        self.note(format!(
            "{why}: mode, owner and times of files are not protected, nor is shared memory of the System V kind"
        ));
    }

    /// Notes what depends only on the Landlock version.
    fn note_scopes(&mut self) {
        if 5 <= self.version {
            self.enforced.push("devices");
        } else {
            self.note("before Landlock 5 control calls to open devices are not restricted");
        }
        if 6 <= self.version {
            self.enforced.extend(["signals", "abstract-sockets"]);
            return;
        }
        self.note("before Landlock 6 other processes of the user can be signalled");
        if self.profile.local_sockets == LocalSockets::Allowed {
            self.note("before Landlock 6 abstract sockets can be connected to");
        }
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
