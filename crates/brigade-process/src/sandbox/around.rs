//! Opens a directory around what lies in it and must stay closed.
//!
//! A Landlock rule covers everything below a directory, and nothing can be taken out of it again. So every other entry
//! on the way down gets its own rule.

use std::ffi::OsString;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// What of a directory can be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Around {
    /// All of it: nothing closed is in it.
    Whole,
    /// These entries, some of them further down. No links.
    Entries(Vec<PathBuf>),
    /// Nothing: it is closed itself.
    Nothing,
}

/// Returns what of a path can be opened without opening anything that is closed. No path has links.
pub(super) fn around(path: &Path, closed: &[PathBuf]) -> Around {
    if closed.iter().any(|closed| path.starts_with(closed)) {
        return Around::Nothing;
    }
    let mut folders = vec![path.to_owned()];
    let mut entries = Vec::new();
    while let Some(folder) = folders.pop() {
        if !closed.iter().any(|closed| closed.starts_with(&folder)) {
            entries.push(folder);
            continue;
        }
        // A link would be followed, possibly to what is closed.
        let found = folder.read_dir().into_iter().flatten().flatten();
        let found = found.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
        folders.extend(found.map(|entry| entry.path()).filter(|entry| !closed.contains(entry)));
    }
    if entries == [path] { Around::Whole } else { Around::Entries(entries) }
}

/// Returns the path without links of what is open.
pub(super) fn path_of(opened: &OwnedFd) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd())).ok()
}

/// Lists every path of a directory: its own, and where mounts show it, or something around it or in it, once more.
pub(super) fn paths_of(folder: &Path) -> Vec<PathBuf> {
    let own = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut paths = vec![own.clone()];
    let mount = std::fs::File::open(&own).ok().and_then(|opened| mount_of(&opened.into()));
    if let Some(mount) = mount
        && let Ok(table) = std::fs::read("/proc/self/mountinfo")
    {
        paths.extend(shown_by(&table, mount, &own));
    }
    paths
}

/// Returns the number of the mount that an open file is on.
fn mount_of(opened: &OwnedFd) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", opened.as_raw_fd())).ok()?;
    text.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()
}

/// A line of `/proc/self/mountinfo`.
struct Mount {
    number: u64,
    device: Vec<u8>,
    /// The directory of the file system that it shows.
    root: PathBuf,
    /// Where it shows it.
    point: PathBuf,
}

/// Lists where the mounts of a table show a directory on one of them, or something around it or in it, once more.
fn shown_by(table: &[u8], mount: u64, folder: &Path) -> Vec<PathBuf> {
    let mounts: Vec<Mount> = table.split(|byte| *byte == b'\n').filter_map(Mount::parse).collect();
    let Some(own) = mounts.iter().find(|found| found.number == mount) else { return Vec::new() };
    let Ok(below) = folder.strip_prefix(&own.point) else { return Vec::new() };
    let inner = own.root.join(below);
    let others = mounts.iter().filter(|other| other.number != mount && other.device == own.device);
    let shown = others.filter_map(|other| match inner.strip_prefix(&other.root) {
        Ok(below) => Some(other.point.join(below)),
        Err(_) => other.root.starts_with(&inner).then(|| other.point.clone()),
    });
    // A path that ends with a slash is another one to nobody.
    shown.map(|path| path.components().collect()).collect()
}

impl Mount {
    fn parse(line: &[u8]) -> Option<Mount> {
        let mut words = line.split(|byte| *byte == b' ');
        let number = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
        let device = words.nth(1)?.to_owned();
        let (root, point) = (plain(words.next()?), plain(words.next()?));
        Some(Mount { number, device, root, point })
    }
}

/// Returns a path of the table as it is: there, blanks, line ends and backslashes are octal numbers.
fn plain(word: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, behind)) = rest.split_first() {
        let digits =
            behind.get(..3).filter(|digits| *first == b'\\' && digits.iter().all(u8::is_ascii_digit));
        let number = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(number.unwrap_or(*first));
        rest = if number.is_some() { &behind[3..] } else { behind };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_is_opened_around_what_is_closed() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for folder in ["bin", "lib/deep", "work/one/in", "work/two"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("readme"), "x").unwrap();
        symlink("work", root.join("link")).unwrap();
        symlink("one", root.join("work/current")).unwrap();
        let check = |path: &str, closed: &[&str], expect: Option<&[&str]>| {
            let closed: Vec<PathBuf> = closed.iter().map(|path| root.join(path)).collect();
            let found = match around(&root.join(path), &closed) {
                Around::Entries(mut entries) => {
                    entries.sort();
                    Some(entries)
                }
                Around::Whole => Some(vec![root.join(path)]),
                Around::Nothing => None,
            };
            let expect = expect.map(|paths| paths.iter().map(|path| root.join(path)).collect::<Vec<_>>());
            assert_eq!(found, expect, "{path}");
        };
        check("lib", &["work/one"], Some(&["lib"]));
        check("", &["work/one"], Some(&["bin", "lib", "readme", "work/two"]));
        check("work", &["work/one", "work/two"], Some(&[]));
        check("", &["work/one/in", "lib"], Some(&["bin", "readme", "work/two"]));
        check("work/one", &["work/one"], None);
        check("work/one/in", &["work/one"], None);
        check("work", &["work/one", "work/one/in"], Some(&["work/two"]));
        // The name of one is the beginning of another's.
        check("work/one", &["work/o"], Some(&["work/one"]));
    }

    #[test]
    fn mounts_show_a_folder_elsewhere() {
        let table = b"25 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
            30 25 8:1 /home/u/ws /opt/same rw - ext4 /dev/sda1 rw\n\
            31 25 8:1 /home /opt/a\\040b rw - ext4 /dev/sda1 rw\n\
            32 25 8:1 /home/u/ws/lib /opt/part rw - ext4 /dev/sda1 rw\n\
            33 25 8:1 /home/other /opt/other rw - ext4 /dev/sda1 rw\n\
            34 25 8:2 /home/u/ws /opt/disk rw - ext4 /dev/sdb1 rw\n\
            not a line\n";
        let check = |mount: u64, folder: &str, expect: &[&str]| {
            let expect: Vec<PathBuf> = expect.iter().map(PathBuf::from).collect();
            assert_eq!(shown_by(table, mount, Path::new(folder)), expect, "{folder}");
        };
        check(25, "/home/u/ws", &["/opt/same", "/opt/a b/u/ws", "/opt/part"]);
        check(30, "/opt/same", &["/home/u/ws", "/opt/a b/u/ws", "/opt/part"]);
        check(33, "/opt/other/x", &["/home/other/x", "/opt/a b/other/x"]);
        check(34, "/opt/disk", &[]);
        check(99, "/home/u/ws", &[]);
    }
}
