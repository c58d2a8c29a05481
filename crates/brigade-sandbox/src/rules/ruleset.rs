//! Landlock rules for reading and writing. What is not granted is denied.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, Scope, make_bitflags,
};
use rustix::fs::FileType;
use rustix::io;

use crate::system::checked;
use crate::{LocalSockets, Network, SandboxError, SandboxProfile};

use super::grants::{GrantedPath, Grants};
use super::openable::{OpenableEntries, openable};
use super::prepared_path::PreparedPath;

/// Harmless devices that programs open.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Whether new entries can be created directly in a directory with protected entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewEntries {
    /// Yes: mounts protect the entries.
    Open,
    /// No: a rule for the directory would include the protected entries, so only its other entries are granted.
    Closed,
}

/// Returns the Landlock version of this kernel; 0 without Landlock.
pub(super) fn landlock_version() -> u32 {
    const ASK_VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the kernel reads no memory.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0usize,
            ASK_VERSION,
        )
    };
    u32::try_from(version).unwrap_or(0)
}

/// The rights on code.
const CODE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | Execute});

/// What a run may do with data of a closed workspace.
const DATA: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | ReadDir});

/// All file rights of a run, as kernel objects.
#[derive(Debug)]
pub(super) struct Ruleset {
    descriptor: OwnedFd,
    /// All rights in a writable directory.
    everything: u64,
    /// All handled rights.
    handled: u64,
    /// The granted paths and rights.
    granted: Grants,
    /// The granted path that opens a closed workspace to reading.
    opened_by: Option<PathBuf>,
}

impl Ruleset {
    /// Builds the ruleset. Every access this version knows is handled, so everything without a rule is denied.
    ///
    /// `is_sealed` means that mounts will cover the code of a closed workspace and the replaced directory. `kept_out`
    /// has all paths of the workspace.
    pub(super) fn new(
        profile: &SandboxProfile,
        version: u32,
        top: NewEntries,
        is_sealed: bool,
        kept_out: &[PathBuf],
    ) -> Result<Ruleset, SandboxError> {
        let abi = ABI::from(i32::try_from(version).unwrap_or(i32::MAX));
        let mut handled = AccessFs::from_all(abi);
        if profile.local_sockets == LocalSockets::Allowed {
            handled &= !BitFlags::from(AccessFs::ResolveUnix);
        }
        let mut ruleset = landlock::Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(handled)
            .map_err(SandboxError::build)?;
        if profile.network == Network::Denied && 4 <= version {
            ruleset = ruleset.handle_access(AccessNet::from_all(abi)).map_err(SandboxError::build)?;
        }
        if 6 <= version {
            ruleset = ruleset.scope(Scope::from_all(abi)).map_err(SandboxError::build)?;
        }
        let created = ruleset.create().map_err(SandboxError::build)?;
        let mut rules = Rules { created, handled, granted: Vec::new(), profile };
        let reading = AccessFs::from_read(abi);
        // No run needs new device files, and with them a privileged user could read any disk.
        let everything = handled & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
        for path in &profile.installed {
            rules.add_around(path, kept_out, reading)?;
        }
        for path in &profile.read {
            rules.add(path, if rules.is_data(path) { DATA } else { reading })?;
        }
        for device in DEVICES {
            rules.add(Path::new(device), AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev)?;
        }
        for path in &profile.write {
            rules.add_writable(path, top, reading, everything)?;
        }
        if let Some(replaced) = profile.replaced.as_ref().filter(|_| is_sealed) {
            for path in replaced.write.iter().chain([&replaced.by]) {
                rules.add(path, everything & !BitFlags::from(AccessFs::MakeSym))?;
            }
        }
        let reads_all = |granted: &&GrantedPath| {
            let rights = BitFlags::<AccessFs>::from_bits_truncate(granted.rights);
            rights.contains(AccessFs::ReadFile) && kept_out.iter().any(|path| path.starts_with(&granted.path))
        };
        let opened_by = rules.granted.iter().find(reads_all).map(|granted| granted.path.clone());
        if let Some(closed) = &profile.closed {
            if let Some(workspace) = &profile.workspace {
                rules.add(workspace, AccessFs::ReadDir.into())?;
            }
            for path in &closed.data {
                rules.add_around(path, &closed.closed_data, DATA)?;
            }
            // The approved copies get their rules when they are created.
            for code in closed.code.iter().filter(|_| !is_sealed) {
                rules.add(&code.path, CODE)?;
            }
        }
        let granted = Grants::new(std::mem::take(&mut rules.granted));
        let descriptor: Option<OwnedFd> = rules.created.into();
        let descriptor = descriptor.ok_or_else(|| SandboxError::build("the kernel gave no ruleset"))?;
        let (everything, handled) = (everything.bits(), handled.bits());
        Ok(Ruleset { descriptor, everything, handled, granted, opened_by })
    }

    /// Returns the granted path that opens the whole workspace to reading.
    pub(super) fn opened_by(&self) -> Option<&Path> {
        self.opened_by.as_deref()
    }

    /// Returns whether the rules allow an access to a path without links whose file is `identity` (device and inode).
    /// Does not allocate.
    pub(super) fn allows(
        &self,
        path: &[u8],
        identity: Option<(u64, u64)>,
        access: BitFlags<AccessFs>,
    ) -> bool {
        self.suffice(self.granted.rights(path, identity), access)
    }

    /// Returns the rights of the rules for exactly this device and inode. Does not allocate.
    pub(super) fn rights_of(&self, identity: (u64, u64)) -> u64 {
        self.granted.rights_of(identity)
    }

    /// Returns whether rights suffice for an access. Does not allocate.
    pub(super) fn suffice(&self, rights: u64, access: BitFlags<AccessFs>) -> bool {
        let needed = access.bits() & self.handled;
        rights & needed == needed
    }

    /// Makes one more directory writable, before the rules are applied. Makes one plain system call. If that fails, the
    /// directory stays closed.
    pub(super) fn allow_everything_beneath(&self, folder: &OwnedFd) {
        let _ = self.allow(folder, self.everything);
    }

    /// Grants one more file as code, before the rules are applied. Makes one plain system call.
    pub(super) fn allow_code(&self, file: &OwnedFd) -> io::Result<()> {
        self.allow(file, CODE.bits())
    }

    /// Makes one more directory listable, with everything below it, before the rules are applied. Makes one plain
    /// system call.
    pub(super) fn allow_listing(&self, folder: &OwnedFd) -> io::Result<()> {
        self.allow(folder, BitFlags::from(AccessFs::ReadDir).bits())
    }

    fn allow(&self, what: &OwnedFd, allowed: u64) -> io::Result<()> {
        /// `struct landlock_path_beneath_attr` of the kernel.
        #[repr(C, packed)]
        struct PathBeneathAttr {
            allowed: u64,
            parent: libc::c_int,
        }
        const PATH_BENEATH: libc::c_int = 1;
        let beneath = PathBeneathAttr { allowed, parent: what.as_raw_fd() };
        // SAFETY: the kernel only reads the structure, which has the kernel's layout; both descriptors are open.
        let done = unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                self.descriptor.as_raw_fd(),
                PATH_BENEATH,
                std::ptr::from_ref(&beneath),
                0,
            )
        };
        checked(done).map(drop)
    }

    /// Applies the rules to the calling thread permanently. Makes one plain system call.
    pub(super) fn restrict(&self) -> io::Result<()> {
        // SAFETY: the descriptor is a ruleset that is open.
        let done = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.descriptor.as_raw_fd(), 0) };
        checked(done).map(drop)
    }
}

/// Returns whether a path is this directory or below it.
pub(super) fn is_beneath(path: &[u8], folder: &[u8]) -> bool {
    let folder = folder.strip_suffix(b"/").unwrap_or(folder);
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// A ruleset that is being built.
struct Rules<'p> {
    created: RulesetCreated,
    handled: BitFlags<AccessFs>,
    granted: Vec<GrantedPath>,
    profile: &'p SandboxProfile,
}

impl Rules<'_> {
    /// Grants rights below a path. Skips it if it does not exist or leads through a link in the workspace.
    fn add(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), SandboxError> {
        let Ok(opened) = PreparedPath::new(path, self.profile.workspace.as_deref())?.open() else {
            return Ok(());
        };
        let real = path_of(&opened).unwrap_or_else(|| path.to_owned());
        self.add_opened(opened, real, access)
    }

    /// Returns whether a path is in a closed workspace. Everything that a policy opens there is data.
    fn is_data(&self, path: &Path) -> bool {
        let workspace = self.profile.workspace.as_deref().filter(|_| self.profile.closed.is_some());
        workspace.is_some_and(|workspace| path != workspace && path.starts_with(workspace))
    }

    /// Grants rights below a writable path, except for protected entries if no mounts protect them.
    fn add_writable(
        &mut self,
        path: &Path,
        top: NewEntries,
        reading: BitFlags<AccessFs>,
        everything: BitFlags<AccessFs>,
    ) -> Result<(), SandboxError> {
        let profile = self.profile;
        let is_write_only =
            profile.closed.as_ref().is_some_and(|closed| closed.write_only.iter().any(|only| only == path));
        let (reading, everything) = if is_write_only {
            (AccessFs::ReadDir.into(), everything & !(AccessFs::ReadFile | AccessFs::Execute))
        } else if self.is_data(path) {
            (DATA, everything & !BitFlags::from(AccessFs::Execute))
        } else {
            (reading, everything)
        };
        let protects = profile.deny_write.iter().any(|denied| denied.starts_with(path));
        if top == NewEntries::Open || !protects {
            return self.add(path, everything);
        }
        self.add(path, reading)?;
        self.add_entries(path, &profile.deny_write, everything)
    }

    /// Grants rights below a path, except for the paths that are kept out.
    fn add_around(
        &mut self,
        path: &Path,
        kept_out: &[PathBuf],
        access: BitFlags<AccessFs>,
    ) -> Result<(), SandboxError> {
        let Ok(opened) = PreparedPath::new(path, self.profile.workspace.as_deref())?.open() else {
            return Ok(());
        };
        // Without the path it is unknown what the directory contains.
        let Some(real) = path_of(&opened) else { return Ok(()) };
        match openable(&real, kept_out) {
            OpenableEntries::Nothing => Ok(()),
            OpenableEntries::Whole => self.add_opened(opened, real, access),
            OpenableEntries::Entries(entries) => {
                for entry in entries {
                    // A link that replaced an entry meanwhile is not followed.
                    if let Ok(opened) = PreparedPath::new(&entry, Some(&real))?.open() {
                        self.add_opened(opened, entry, access)?;
                    }
                }
                self.add_opened(opened, real, AccessFs::ReadDir.into())
            }
        }
    }

    /// Grants rights below an open path without links.
    fn add_opened(
        &mut self,
        opened: OwnedFd,
        real: PathBuf,
        access: BitFlags<AccessFs>,
    ) -> Result<(), SandboxError> {
        let stat = rustix::fs::fstat(&opened).map_err(SandboxError::build)?;
        let mut access = access & self.handled;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            access &= AccessFs::from_file(ABI::V9);
        }
        (&mut self.created).add_rule(PathBeneath::new(opened, access)).map_err(SandboxError::build)?;
        let identity = (stat.st_dev, stat.st_ino);
        self.granted.push(GrantedPath { path: real, identity, rights: access.bits() });
        Ok(())
    }

    /// Grants rights below each entry of a directory that is not denied and not a link.
    fn add_entries(
        &mut self,
        folder: &Path,
        denied: &[PathBuf],
        access: BitFlags<AccessFs>,
    ) -> Result<(), SandboxError> {
        let Ok(entries) = folder.read_dir() else {
            return Ok(());
        };
        for entry in entries.flatten() {
            let path = entry.path();
            // A link would be followed, possibly out of the directory.
            let link = entry.file_type().map_or(true, |kind| kind.is_symlink());
            if !link && !denied.iter().any(|denied| denied.starts_with(&path)) {
                self.add(&path, access)?;
            }
        }
        Ok(())
    }
}

/// Returns the path of an open file, without links.
fn path_of(opened: &OwnedFd) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd())).ok()
}
