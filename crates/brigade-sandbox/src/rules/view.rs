//! A file system in memory that replaces the workspace of a closed run and has only what the run may see.
//!
//! Bound code has its approved bytes, and data is mounted from the real workspace. All other names are placeholders
//! that cannot be opened. Entries that are added, linked, moved or replaced in the real workspace later do not appear
//! in this view, except below a data directory.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FileType, Mode, OFlags, fstat, mkdirat, openat, symlinkat};
use rustix::io;

use crate::{ClosedWorkspace, SandboxError, SandboxProfile};

use super::mounts::{copy_of, mount_tmpfs, move_to, refuse_code, set_read_only};
use super::openable::{OpenableEntries, openable};
use super::prepared_path::{PreparedPath, c_parts, c_string};
use super::ruleset::Ruleset;
use super::sealed::{ApprovedBytes, PAGE};

/// The maximum number of placeholders of closed files. Deeper files get none, so the run does not see them.
const MAX_NAMES: usize = 8192;

/// The maximum number of links on one path; the same as the kernel's.
const MAX_LINKS: usize = 40;

const HANDLE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// The file system, ready to be created with plain system calls. All paths are relative to the workspace.
#[derive(Debug)]
pub(super) struct View {
    workspace: PreparedPath,
    path: CString,
    options: CString,
    folders: Vec<CString>,
    closed: Vec<CString>,
    code: Vec<(CString, ApprovedBytes)>,
    mounts: Vec<ViewMount>,
    links: Vec<(CString, CString)>,
    /// The device of the file system. Only in the child.
    device: AtomicU64,
}

/// An entry that is mounted from the real workspace.
#[derive(Debug)]
struct ViewMount {
    path: CString,
    parts: Vec<CString>,
    is_folder: bool,
}

/// Returns whether a run can have a view: it must not write to any part of the workspace that has code in it.
pub(super) fn fits(profile: &SandboxProfile, workspace: &Path, closed: &ClosedWorkspace) -> bool {
    let has_code = |path: &PathBuf| {
        workspace.starts_with(path) || closed.code.iter().any(|code| code.path.starts_with(path))
    };
    !profile.write.iter().any(has_code)
}

impl View {
    pub(super) fn new(
        profile: &SandboxProfile,
        workspace: &Path,
        closed: &ClosedWorkspace,
    ) -> Result<View, SandboxError> {
        let below = |path: &Path| path.strip_prefix(workspace).ok().map(Path::to_owned);
        let hidden = profile.hidden.iter().filter(|path| path.is_dir());
        let hidden: Vec<PathBuf> = hidden.filter_map(|path| below(path)).collect();
        let code: BTreeSet<PathBuf> = closed.code.iter().filter_map(|code| below(&code.path)).collect();
        let mut found = Contents { workspace, hidden: &hidden, ..Contents::empty(&code, &closed.links) };
        let mut unopened = closed.closed_data.clone();
        unopened.extend(closed.code.iter().map(|code| code.path.clone()));
        unopened.extend(hidden.iter().map(|hidden| workspace.join(hidden)));
        for path in closed.data.iter().chain(&profile.read).chain(&profile.write) {
            found.show(path, &unopened)?;
        }
        found.visible.extend(hidden.iter().cloned());
        found.leave_out_what_is_beneath();
        for path in code.iter().chain(&found.visible.clone()) {
            found.make_parents_of(path);
        }
        for folder in closed.folders.iter().filter_map(|folder| below(folder)) {
            if !found.is_shown(&folder) {
                found.make_parents_of(&folder);
                found.folders.insert(folder);
            }
        }
        for path in closed.named.iter().filter_map(|path| below(path)) {
            found.follow(&path);
        }
        found.name_the_rest();
        found.finish(closed, below)
    }

    /// Returns the device of the file system, once it was created. Does not allocate.
    pub(super) fn device(&self) -> u64 {
        self.device.load(Ordering::Relaxed)
    }

    /// Mounts the view over the workspace for the calling process, and opens its code by the rules. Makes plain system
    /// calls only.
    pub(super) fn mount(&self, ruleset: &Ruleset) -> io::Result<()> {
        // This descriptor still reaches the real workspace after it is covered.
        let real = self.workspace.open()?;
        mount_tmpfs(&self.path, &self.options, 0)?;
        let view = self.workspace.open()?;
        self.device.store(fstat(&view)?.st_dev, Ordering::Relaxed);
        for folder in &self.folders {
            mkdirat(&view, folder.as_c_str(), Mode::from_raw_mode(0o755))?;
        }
        for name in &self.closed {
            make_file(&view, name, 0)?;
        }
        for (path, code) in &self.code {
            code.write_to(&make_file(&view, path, 0o600)?, ruleset)?;
        }
        for mount in &self.mounts {
            mount.mount(&real, &view)?;
        }
        // Links come last, so that no file is created through one.
        for (path, target) in &self.links {
            symlinkat(target.as_c_str(), &view, path.as_c_str())?;
        }
        ruleset.allow_listing(&view)?;
        set_read_only(libc::AT_FDCWD, &self.path, true, 0)
    }
}

/// Creates a file and returns it open for writing.
fn make_file(folder: &OwnedFd, path: &CStr, mode: u32) -> io::Result<OwnedFd> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    openat(folder, path, flags, Mode::from_raw_mode(mode))
}

impl ViewMount {
    fn mount(&self, real: &OwnedFd, view: &OwnedFd) -> io::Result<()> {
        let folder = Mode::from_raw_mode(0o755);
        match self.is_folder {
            true => mkdirat(view, self.path.as_c_str(), folder)?,
            false => drop(make_file(view, &self.path, 0)?),
        }
        // An entry that was removed or replaced by a link meanwhile stays closed.
        let Some(at) = self.open(real) else { return Ok(()) };
        let tree = copy_of(at.as_raw_fd(), c"", libc::AT_RECURSIVE)?;
        refuse_code(&tree)?;
        let place = openat(view, self.path.as_c_str(), HANDLE, Mode::empty())?;
        move_to(&tree, &place)
    }

    /// Opens the entry in the real workspace without following links.
    fn open(&self, real: &OwnedFd) -> Option<OwnedFd> {
        let mut at = openat(real, c".", HANDLE, Mode::empty()).ok()?;
        for part in &self.parts {
            at = openat(&at, part.as_c_str(), HANDLE, Mode::empty()).ok()?;
        }
        let kind = FileType::from_raw_mode(fstat(&at).ok()?.st_mode);
        let is_link = kind == FileType::Symlink;
        (!is_link && (kind == FileType::Directory) == self.is_folder).then_some(at)
    }
}

/// Returns the text of a link to a file. Targets in the workspace are relative, so that they hold wherever the
/// workspace is.
fn link_text(link: &Path, target: &Path, workspace: &Path) -> PathBuf {
    let Ok(target) = target.strip_prefix(workspace) else { return target.to_owned() };
    let folder = link.parent().unwrap_or(Path::new(""));
    let is_shared = |(a, b): &(Component<'_>, Component<'_>)| a == b;
    let shared = folder.components().zip(target.components()).take_while(is_shared).count();
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    let text: PathBuf = up.chain(target.components().skip(shared)).collect();
    if text.as_os_str().is_empty() { PathBuf::from(".") } else { text }
}

/// The content of the future view, by paths below the workspace.
struct Contents<'a> {
    workspace: &'a Path,
    code: &'a BTreeSet<PathBuf>,
    /// The approved targets of bound links. Their current targets do not count.
    bound: &'a BTreeMap<PathBuf, PathBuf>,
    hidden: &'a [PathBuf],
    visible: BTreeSet<PathBuf>,
    folders: BTreeSet<PathBuf>,
    closed: BTreeSet<PathBuf>,
    /// The texts of links.
    links: BTreeMap<PathBuf, PathBuf>,
}

impl<'a> Contents<'a> {
    fn empty(code: &'a BTreeSet<PathBuf>, bound: &'a BTreeMap<PathBuf, PathBuf>) -> Contents<'a> {
        Contents {
            workspace: Path::new("/"),
            code,
            bound,
            hidden: &[],
            visible: BTreeSet::new(),
            folders: BTreeSet::new(),
            closed: BTreeSet::new(),
            links: BTreeMap::new(),
        }
    }

    /// Shows the entry at a path of the workspace, except for the paths in `closed`.
    fn show(&mut self, path: &Path, closed: &[PathBuf]) -> Result<(), SandboxError> {
        let Ok(below) = path.strip_prefix(self.workspace) else { return Ok(()) };
        let is_hidden = self.hidden.iter().any(|hidden| below.starts_with(hidden));
        let Ok(opened) = PreparedPath::new(path, Some(self.workspace))?.open() else { return Ok(()) };
        if is_hidden || below.as_os_str().is_empty() || self.code.contains(below) {
            return Ok(());
        }
        let is_folder =
            fstat(&opened).is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory);
        let entries = match is_folder.then(|| openable(path, closed)) {
            None | Some(OpenableEntries::Whole) => {
                self.visible.insert(below.to_owned());
                return Ok(());
            }
            Some(OpenableEntries::Entries(entries)) => entries,
            Some(OpenableEntries::Nothing) => return Ok(()),
        };
        for entry in entries {
            let below = entry.strip_prefix(self.workspace).unwrap_or(&entry).to_owned();
            self.make_parents_of(&below);
            self.visible.insert(below);
        }
        self.folders.insert(below.to_owned());
        Ok(())
    }

    /// Keeps only the outermost shown paths. They include the others.
    fn leave_out_what_is_beneath(&mut self) {
        let all = std::mem::take(&mut self.visible);
        // A directory comes before its entries.
        for path in all {
            if !self.is_shown(&path) {
                self.visible.insert(path);
            }
        }
    }

    /// Returns whether a path or a directory above it is shown.
    fn is_shown(&self, path: &Path) -> bool {
        path.ancestors().any(|path| self.visible.contains(path))
    }

    fn make_parents_of(&mut self, path: &Path) {
        let parents = path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
        self.folders.extend(parents.map(Path::to_owned));
    }

    fn has(&self, path: &Path) -> bool {
        self.code.contains(path)
            || self.visible.contains(path)
            || self.folders.contains(path)
            || self.links.contains_key(path)
    }

    /// Creates the bound links that a path leads through.
    fn follow(&mut self, path: &Path) {
        let mut rest: VecDeque<PathBuf> = parts_of(path);
        let mut at = PathBuf::new();
        let mut left = MAX_LINKS;
        while let Some(part) = rest.pop_front() {
            if part.as_os_str() == ".." {
                if !at.pop() {
                    return;
                }
                continue;
            }
            let next = at.join(&part);
            if self.is_shown(&next) {
                return;
            }
            let Some(real) = self.bound.get(&next) else {
                at = next;
                continue;
            };
            let target = link_text(&next, real, self.workspace);
            left -= 1;
            if left == 0 {
                return;
            }
            self.make_parents_of(&next);
            self.links.insert(next, target.clone());
            if target.is_absolute() {
                let Ok(inside) = target.strip_prefix(self.workspace) else { return };
                at = PathBuf::new();
                parts_of(inside).into_iter().rev().for_each(|part| rest.push_front(part));
            } else {
                parts_of(&target).into_iter().rev().for_each(|part| rest.push_front(part));
            }
        }
    }

    /// Adds placeholders for closed files, nearest first, so that directories list all their entries.
    fn name_the_rest(&mut self) {
        let mut left = MAX_NAMES;
        self.folders.insert(PathBuf::new());
        let mut folders: VecDeque<PathBuf> = self.folders.iter().cloned().collect();
        while let Some(folder) = folders.pop_front() {
            let Ok(entries) = self.workspace.join(&folder).read_dir() else { continue };
            for entry in entries.flatten() {
                let path = folder.join(entry.file_name());
                let Ok(kind) = entry.file_type() else { continue };
                if self.has(&path) {
                    continue;
                }
                if left == 0 {
                    return;
                }
                left -= 1;
                if kind.is_dir() {
                    self.folders.insert(path.clone());
                    if entry.file_name() != ".git" {
                        folders.push_back(path);
                    }
                } else {
                    self.closed.insert(path);
                }
            }
        }
    }

    fn finish(
        mut self,
        closed: &ClosedWorkspace,
        below: impl Fn(&Path) -> Option<PathBuf>,
    ) -> Result<View, SandboxError> {
        self.folders.remove(Path::new(""));
        let (visible, links) = (std::mem::take(&mut self.visible), std::mem::take(&mut self.links));
        // A link replaces any other entry of its name.
        let is_free = |path: &&PathBuf| !links.contains_key(*path) && !visible.contains(*path);
        let free = |paths: &BTreeSet<PathBuf>| -> Result<Vec<CString>, SandboxError> {
            paths.iter().filter(is_free).map(|path| c_string(path)).collect()
        };
        let (folders, names) = (free(&self.folders)?, free(&self.closed)?);
        let mut code = Vec::with_capacity(closed.code.len());
        for file in &closed.code {
            let Some(path) = below(&file.path) else { continue };
            code.push((c_string(&path)?, ApprovedBytes::new(file)));
        }
        let workspace = self.workspace;
        let mounted = visible.iter().map(|path| {
            let is_folder = workspace.join(path).is_dir();
            Ok(ViewMount { path: c_string(path)?, parts: c_parts(path)?, is_folder })
        });
        let mounted = mounted.collect::<Result<Vec<_>, SandboxError>>()?;
        let made_links = links.iter().map(|(path, target)| Ok((c_string(path)?, c_string(target)?)));
        let made_links = made_links.collect::<Result<Vec<_>, SandboxError>>()?;
        let pages = code.iter().map(|(_, code)| code.pages()).sum::<usize>() + made_links.len() + 64;
        let inodes = folders.len() + names.len() + code.len() + mounted.len() + made_links.len() + 64;
        let options = format!("mode=0755,size={},nr_inodes={inodes}", pages * PAGE);
        Ok(View {
            workspace: PreparedPath::new(workspace, Some(workspace))?,
            path: c_string(workspace)?,
            options: CString::new(options).unwrap_or_default(),
            folders,
            closed: names,
            code,
            mounts: mounted,
            links: made_links,
            device: AtomicU64::new(0),
        })
    }
}

/// Splits a path into plain names and `..`.
fn parts_of(path: &Path) -> VecDeque<PathBuf> {
    let part = |part: Component<'_>| match part {
        Component::Normal(_) | Component::ParentDir => Some(PathBuf::from(part.as_os_str())),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(part).collect()
}
