//! Snapshots of the files of a workspace.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use brigade_core::Fingerprint;
use brigade_fs::{Fs, FsError, FsErrorKind, RelPath};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};

use super::ignore::Rules;
use crate::git::changes::marker;
use crate::workplace::{ChangeKind, PlaceError};

/// The maximum size of a file that is searched for markers, and of a `.gitignore`.
const MAX_TEXT_BYTES: u64 = 8 << 20;

/// How much older than a snapshot a change must be to be reliably included, in nanoseconds.
const CERTAIN: i128 = 50_000_000;

/// All files of a workspace that count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    /// When it was taken, by the clock of the file system.
    taken: i128,
    files: BTreeMap<Vec<u8>, Entry>,
    repositories: Vec<Vec<u8>>,
}

/// A file or link.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// `f` for a file, `x` for an executable file, `l` for a link.
    kind: char,
    /// The length, the inode, and the times of the last change of the content and of the inode.
    stamp: [i128; 4],
    digest: Fingerprint,
    /// The lines with markers, shortened.
    markers: Vec<String>,
}

impl Snapshot {
    /// Lists the differences to a later snapshot, by path.
    pub(super) fn differences<'s>(&'s self, now: &'s Snapshot) -> Vec<(&'s [u8], ChangeKind)> {
        let mut found = Vec::new();
        for (path, entry) in &now.files {
            match self.files.get(path) {
                None => found.push((path.as_slice(), ChangeKind::Added)),
                Some(then) if (then.kind, then.digest) != (entry.kind, entry.digest) => {
                    found.push((path.as_slice(), ChangeKind::Modified));
                }
                Some(_) => {}
            }
        }
        let gone = self.files.keys().filter(|path| !now.files.contains_key(*path));
        found.extend(gone.map(|path| (path.as_slice(), ChangeKind::Deleted)));
        found.sort();
        found
    }

    /// Returns a fingerprint of the files.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        let mut all = brigade_core::FingerprintStream::new();
        for (path, entry) in &self.files {
            all.update(format!("{} {} {} ", path.len(), entry.kind, entry.digest).as_bytes());
            all.update(path);
        }
        all.finish()
    }

    /// Lists the lines of a file that already had markers. For a renamed file, looks under its old name.
    pub(super) fn markers_of(&self, path: &[u8], now: &Snapshot) -> &[String] {
        let renamed = || {
            let digest = &now.files.get(path)?.digest;
            let is_it = |(old, entry): &(&Vec<u8>, &Entry)| {
                entry.digest == *digest && !now.files.contains_key(old.as_slice())
            };
            self.files.iter().find(is_it).map(|(_, entry)| entry)
        };
        self.files.get(path).or_else(renamed).map_or(&[], |entry| &entry.markers)
    }

    /// Lists nested repositories that are new.
    pub(super) fn nested<'s>(&'s self, before: &'s Snapshot) -> impl Iterator<Item = &'s [u8]> {
        self.repositories.iter().filter(|path| !before.repositories.contains(path)).map(Vec::as_slice)
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = format!("1 {}", self.taken).into_bytes();
        bytes.push(0);
        for (path, Entry { kind, stamp: [len, inode, modified, changed], digest, markers }) in &self.files {
            let markers = markers.join(",");
            let head = format!("{kind} {len} {inode} {modified} {changed} {digest} {markers}\t");
            bytes.extend_from_slice(head.as_bytes());
            bytes.extend_from_slice(path);
            bytes.push(0);
        }
        for path in &self.repositories {
            bytes.extend_from_slice(b"r\t");
            bytes.extend_from_slice(path);
            bytes.push(0);
        }
        bytes
    }

    /// Decodes a snapshot; `None` if it is damaged.
    pub(super) fn read(bytes: &[u8]) -> Option<Snapshot> {
        let mut parts = bytes.strip_suffix(b"\0")?.split(|byte| *byte == 0);
        let head = std::str::from_utf8(parts.next()?).ok()?;
        let mut snapshot = Snapshot { taken: head.strip_prefix("1 ")?.parse().ok()?, ..Snapshot::default() };
        for part in parts {
            let tab = part.iter().position(|byte| *byte == b'\t')?;
            let (head, path) = (std::str::from_utf8(&part[..tab]).ok()?, part[tab + 1..].to_vec());
            if head == "r" {
                snapshot.repositories.push(path);
                continue;
            }
            let mut words = head.split(' ');
            let kind = words.next()?.chars().next()?;
            let mut number = || words.next()?.parse::<i128>().ok();
            let stamp = [number()?, number()?, number()?, number()?];
            let digest = words.next()?.parse().ok()?;
            let markers =
                words.next()?.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect();
            snapshot.files.insert(path, Entry { kind, stamp, digest, markers });
        }
        Some(snapshot)
    }
}

/// Takes a snapshot of a workspace. Contents of unchanged files are copied from the `last` snapshot.
pub(super) fn walk(fs: &dyn Fs, own_files: &[String], last: &Snapshot) -> Result<Snapshot, PlaceError> {
    let mut rules = Rules::default();
    if let Ok(exclude) = fs.read(&path(".git/info/exclude")?, MAX_TEXT_BYTES) {
        rules.add(b"", &exclude);
    }
    let mut scan =
        SnapshotScan { fs, own_files, last, found: Snapshot { taken: now(fs)?, ..Snapshot::default() } };
    scan.folder(&mut Vec::new(), &rules)?;
    Ok(scan.found)
}

/// Returns the current time by the clock of the file system.
fn now(fs: &dyn Fs) -> Result<i128, FsError> {
    let mark = path(".brigade/kitchen/+clock")?;
    crate::git::task_dir::make_dirs(fs, &mark.parent())?;
    fs.write_cache(&mark, b"")?;
    let stat = rustix::fs::lstat(fs.root().join(mark.as_path())).map_err(|error| failed(b"+clock", error))?;
    Ok(times(&stat).1)
}

fn path(text: &str) -> Result<RelPath, FsError> {
    text.parse().map_err(|_| FsError::new("name", text, FsErrorKind::Outside))
}

struct SnapshotScan<'w> {
    fs: &'w dyn Fs,
    own_files: &'w [String],
    last: &'w Snapshot,
    found: Snapshot,
}

impl SnapshotScan<'_> {
    fn absolute(&self, path: &[u8]) -> PathBuf {
        self.fs.root().join(OsStr::from_bytes(path))
    }

    /// Visits a directory. Its path is empty or ends with `/`.
    fn folder(&mut self, folder: &mut Vec<u8>, rules: &Rules) -> Result<(), PlaceError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(CWD, self.absolute(folder), flags, Mode::empty());
        let opened = match opened {
            Ok(opened) => opened,
            // It was removed meanwhile, or this user cannot read it.
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::ACCESS) => return Ok(()),
            Err(error) => return Err(failed(folder, error).into()),
        };
        let mut entries = Vec::new();
        for entry in Dir::read_from(&opened).map_err(|error| failed(folder, error))? {
            let entry = entry.map_err(|error| failed(folder, error))?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                entries.push(name.to_owned());
            }
        }
        entries.sort();
        let mut inner = None;
        if entries.iter().any(|name| name == b".gitignore")
            && let Ok(text) =
                self.fs.read_outside(&self.absolute(&[folder, &b".gitignore"[..]].concat()), MAX_TEXT_BYTES)
        {
            inner = Some(rules.with(folder, &text));
        }
        let rules = inner.as_ref().unwrap_or(rules);
        let length = folder.len();
        for name in entries {
            folder.extend_from_slice(&name);
            let stat = rustix::fs::statat(&opened, OsStr::from_bytes(&name), AtFlags::SYMLINK_NOFOLLOW);
            if let Ok(stat) = stat
                && !self.is_left_out(folder, &name, length == 0)
            {
                self.entry(folder, &stat, rules)?;
            }
            folder.truncate(length);
        }
        Ok(())
    }

    fn is_left_out(&mut self, path: &[u8], name: &[u8], is_top: bool) -> bool {
        if name == b".git" {
            if !is_top {
                let folder = path.strip_suffix(b"/.git").unwrap_or(path);
                self.found.repositories.push(folder.to_owned());
            }
            return true;
        }
        let is_own = |own: &String| own.trim_end_matches('/').as_bytes() == path;
        is_top && name == b".brigade" || self.own_files.iter().any(is_own)
    }

    fn entry(&mut self, path: &mut Vec<u8>, stat: &Stat, rules: &Rules) -> Result<(), PlaceError> {
        let kind = FileType::from_raw_mode(stat.st_mode);
        if rules.ignore(path, kind == FileType::Directory) {
            return Ok(());
        }
        let kind = match kind {
            FileType::Directory => {
                let length = path.len();
                path.push(b'/');
                let walked = self.folder(path, rules);
                path.truncate(length);
                return walked;
            }
            FileType::RegularFile if stat.st_mode & 0o100 != 0 => 'x',
            FileType::RegularFile => 'f',
            FileType::Symlink => 'l',
            _ => return Ok(()),
        };
        let (modified, changed) = times(stat);
        let stamp = [i128::from(stat.st_size), i128::from(stat.st_ino), modified, changed];
        if let Some(known) = self.last.files.get(path.as_slice())
            && (known.kind, known.stamp) == (kind, stamp)
            && changed + CERTAIN < self.last.taken
        {
            self.found.files.insert(path.clone(), known.clone());
            return Ok(());
        }
        let (digest, markers) = if kind == 'l' {
            let target = rustix::fs::readlink(self.absolute(path), Vec::new());
            let target = target.map_err(|error| failed(path, error))?;
            (Fingerprint::of_bytes(target.to_bytes()), Vec::new())
        } else {
            match self.content(path, stat)? {
                Some(content) => content,
                None => return Ok(()),
            }
        };
        self.found.files.insert(path.clone(), Entry { kind, stamp, digest, markers });
        Ok(())
    }

    fn content(&self, path: &[u8], stat: &Stat) -> Result<Option<(Fingerprint, Vec<String>)>, PlaceError> {
        let file = match self.fs.open_outside(&self.absolute(path)) {
            Ok(file) => file,
            Err(error) if error.is_not_found() => return Ok(None),
            // This user cannot read it, so its times show whether it changed.
            Err(error) if error.kind == FsErrorKind::Permission => return Ok(Some(by_times(stat))),
            Err(error) => return Err(error.into()),
        };
        if self.fs.bound_file_limit().get() < file.len()? {
            return Ok(Some(by_times(stat)));
        }
        let mut all = brigade_core::FingerprintStream::new();
        let mut text = Vec::new();
        let (mut offset, mut buffer) = (0u64, vec![0; 256 << 10]);
        loop {
            let read = file.read_at(offset, &mut buffer)?;
            if read == 0 {
                break;
            }
            all.update(&buffer[..read]);
            offset += read as u64;
            if offset <= MAX_TEXT_BYTES {
                text.extend_from_slice(&buffer[..read]);
            }
        }
        let is_text = offset <= MAX_TEXT_BYTES && !text.contains(&0);
        let markers =
            if is_text { marked_lines(&text).map(|(_, line, _)| short(line)).collect() } else { Vec::new() };
        Ok(Some((all.finish(), markers)))
    }
}

/// Returns a digest of the times of a file that is not read.
fn by_times(stat: &Stat) -> (Fingerprint, Vec<String>) {
    let (modified, changed) = times(stat);
    let stamp = format!("not read {} {modified} {changed}", stat.st_size);
    (Fingerprint::of_bytes(stamp.as_bytes()), Vec::new())
}

/// Lists the lines with markers: line number, line, marker.
fn marked_lines(text: &[u8]) -> impl Iterator<Item = (u64, &[u8], &'static str)> {
    let lines = text.split(|byte| *byte == b'\n').zip(1u64..);
    lines.filter_map(|(line, number)| Some((number, line, marker(line)?)))
}

fn short(line: &[u8]) -> String {
    Fingerprint::of_bytes(line.trim_ascii()).short()
}

/// Lists the added lines with markers: line number and marker.
pub(super) fn added_markers(
    fs: &dyn Fs,
    path: &[u8],
    known: &[String],
) -> Result<Vec<(u64, &'static str)>, PlaceError> {
    let Some(text) = text_of(fs, path)? else { return Ok(Vec::new()) };
    let mut known = known.to_vec();
    let mut found = Vec::new();
    for (number, line, word) in marked_lines(text.as_bytes()) {
        let line = short(line);
        match known.iter().position(|known| *known == line) {
            Some(at) => drop(known.swap_remove(at)),
            None => found.push((number, word)),
        }
    }
    Ok(found)
}

/// Returns the text of a file; `None` if it is not text or too large.
pub(super) fn text_of(fs: &dyn Fs, path: &[u8]) -> Result<Option<String>, PlaceError> {
    let absolute = fs.root().join(OsStr::from_bytes(path));
    let is_file = |stat: Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if !rustix::fs::lstat(&absolute).is_ok_and(is_file) {
        return Ok(None);
    }
    match fs.read_outside(&absolute, MAX_TEXT_BYTES) {
        Ok(bytes) if bytes.contains(&0) => Ok(None),
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if matches!(error.kind, FsErrorKind::Permission | FsErrorKind::TooLarge { .. }) => {
            Ok(None)
        }
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns when the content and the inode of a file last changed, in nanoseconds.
fn times(stat: &Stat) -> (i128, i128) {
    let time = |seconds: i128, part: i128| seconds * 1_000_000_000 + part;
    (
        time(i128::from(stat.st_mtime), i128::from(stat.st_mtime_nsec)),
        time(i128::from(stat.st_ctime), i128::from(stat.st_ctime_nsec)),
    )
}

fn failed(path: &[u8], error: rustix::io::Errno) -> FsError {
    let error = std::io::Error::from(error);
    let kind = FsErrorKind::Other { kind: error.kind(), text: error.to_string() };
    FsError::new("read", String::from_utf8_lossy(path), kind)
}
