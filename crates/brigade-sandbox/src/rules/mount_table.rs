//! Finds the other paths at which mounts show a directory: bind mounts by their file system and root directory, overlay
//! mounts by their layers.

use std::ffi::OsString;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// The maximum number of paths of a directory.
const MAX_PATHS: usize = 1_000;

/// Lists every path of a directory: its own path, and all paths at which mounts show it, a parent of it or a part of
/// it. The error says why they cannot be found.
pub(super) fn paths_of(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let own = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let table = std::fs::read("/proc/self/mountinfo")
        .map_err(|error| format!("the mounts of this system cannot be read: {error}"))?;
    let mut look = |path: &Path| {
        let real = path.canonicalize().ok()?;
        let opened = rustix::fs::open(&real, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let number = rustix::fs::fstat(&opened).ok()?.st_dev;
        let device = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
        let mount = mount_of(&opened)?;
        Some(MountedPath { real, mount, device: device.into_bytes() })
    };
    MountTable::parse(&table).all_paths(&own, &mut look)
}

/// Returns the number of the mount that an open file is on.
fn mount_of(opened: &OwnedFd) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", opened.as_raw_fd())).ok()?;
    text.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()
}

/// A path without links, with the mount and the device that it is on.
struct MountedPath {
    real: PathBuf,
    mount: u64,
    /// Its device, as the mount table writes it.
    device: Vec<u8>,
}

/// The mounts of `/proc/self/mountinfo`.
struct MountTable(Vec<Mount>);

struct Mount {
    number: u64,
    device: Vec<u8>,
    /// The directory of the file system that is mounted.
    root: PathBuf,
    /// The mount point.
    point: PathBuf,
    /// The directories that an overlay merges, as given in the mount options.
    layers: Vec<PathBuf>,
}

impl MountTable {
    fn parse(table: &[u8]) -> MountTable {
        MountTable(table.split(|byte| *byte == b'\n').filter_map(Mount::parse).collect())
    }

    /// Lists every path of a directory. `look` finds the mount of a path; `None` if the path does not exist.
    fn all_paths(
        &self,
        own: &Path,
        look: &mut dyn FnMut(&Path) -> Option<MountedPath>,
    ) -> Result<Vec<PathBuf>, String> {
        let mut found = vec![own.to_owned()];
        // The target of a layer, whose path may have links.
        let overlays: Vec<(&Mount, Vec<PathBuf>)> = self
            .0
            .iter()
            .filter(|mount| !mount.layers.is_empty())
            .map(|mount| {
                let absolute = mount.layers.iter().filter(|layer| layer.is_absolute());
                let real =
                    absolute.map(|layer| look(layer).map_or_else(|| layer.clone(), |place| place.real));
                (mount, real.collect())
            })
            .collect();
        let mut at = 0;
        while let Some(path) = found.get(at).cloned() {
            at += 1;
            let mut shown = Vec::new();
            if let Some(place) = look(&path) {
                shown.extend(self.shown_by(&place));
            }
            for (mount, layers) in &overlays {
                for layer in layers {
                    shown.extend(mount.shows(layer, &path));
                }
                // A relative layer path cannot be resolved. The mount that has the directory shows it anyway.
                let is_unknown = mount.layers.iter().any(|layer| layer.is_relative());
                shown.extend(Some(mount.point.clone()).filter(|point| is_unknown && !own.starts_with(point)));
            }
            // Removes trailing slashes, so that equal paths compare equal.
            for path in shown.iter().map(|path| path.components().collect::<PathBuf>()) {
                // Entries of a found path are closed with it.
                if !found.iter().any(|found| path.starts_with(found)) {
                    found.push(path);
                }
            }
            if MAX_PATHS < found.len() {
                return Err(format!("more than {MAX_PATHS} mounts show the workspace"));
            }
        }
        Ok(found)
    }

    /// Lists where other mounts or overlays show a place, a parent of it or a part of it.
    fn shown_by(&self, place: &MountedPath) -> Vec<PathBuf> {
        let Some(own) = self.0.iter().find(|mount| mount.number == place.mount) else {
            // The mount is out of reach, as after `chroot`. Other mounts of its file system may show any part of it.
            let others = self.0.iter().filter(|mount| mount.device == place.device);
            let others = others.filter(|mount| !place.real.starts_with(&mount.point));
            return others.map(|mount| mount.point.clone()).collect();
        };
        let Ok(below) = place.real.strip_prefix(&own.point) else { return Vec::new() };
        let inner = own.root.join(below);
        let others = self.0.iter().filter(|other| other.number != own.number && other.device == own.device);
        let mut shown: Vec<PathBuf> = others.filter_map(|other| other.shows_inner(&inner)).collect();
        let within: PathBuf = inner.components().filter(|part| *part != Component::RootDir).collect();
        shown.extend(own.layers.iter().filter(|layer| layer.is_absolute()).map(|layer| layer.join(&within)));
        shown
    }
}

impl Mount {
    fn parse(line: &[u8]) -> Option<Mount> {
        let mut words = line.split(|byte| *byte == b' ');
        let number = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
        let device = words.nth(1)?.to_owned();
        let (root, point) = (to_path(decoded(words.next()?)), to_path(decoded(words.next()?)));
        let mut words = words.skip_while(|word| *word != b"-").skip(1);
        let layers = match words.next() {
            Some(b"overlay") => layers(words.nth(1).unwrap_or_default()),
            Some(_) | None => Vec::new(),
        };
        Some(Mount { number, device, root, point, layers })
    }

    /// Returns where this mount shows a directory of its file system, or a part of it.
    fn shows_inner(&self, inner: &Path) -> Option<PathBuf> {
        match inner.strip_prefix(&self.root) {
            Ok(below) => Some(self.point.join(below)),
            Err(_) => self.root.starts_with(inner).then(|| self.point.clone()),
        }
    }

    /// Returns where this overlay shows a path that is in one of its layers or contains the layer.
    fn shows(&self, layer: &Path, path: &Path) -> Option<PathBuf> {
        match path.strip_prefix(layer) {
            Ok(below) => self.shows_inner(&Path::new("/").join(below)),
            Err(_) => layer.starts_with(path).then(|| self.point.clone()),
        }
    }
}

/// Lists the directories in the options of an overlay: `lowerdir=/a:/b,upperdir=/c`.
fn layers(options: &[u8]) -> Vec<PathBuf> {
    const LAYERS: &[&[u8]] = &[b"datadir+", b"lowerdir", b"lowerdir+", b"upperdir"];
    let mut found = Vec::new();
    for option in options.split(|byte| *byte == b',') {
        let Some(end) = option.iter().position(|byte| *byte == b'=') else { continue };
        if !LAYERS.contains(&&option[..end]) {
            continue;
        }
        let mut layer = Vec::new();
        let value = decoded(&option[end + 1..]);
        let mut bytes = value.iter().copied();
        while let Some(byte) = bytes.next() {
            match byte {
                b':' if option[..end] == *b"lowerdir" => found.push(std::mem::take(&mut layer)),
                b'\\' => layer.extend(bytes.next()),
                byte => layer.push(byte),
            }
        }
        found.push(layer);
    }
    // Two colons come only before data layers.
    found.into_iter().filter(|layer| !layer.is_empty()).map(to_path).collect()
}

fn to_path(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}

/// Decodes a word of the table, in which blanks, line ends and backslashes are octal numbers.
fn decoded(word: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, behind)) = rest.split_first() {
        let digits =
            behind.get(..3).filter(|digits| *first == b'\\' && digits.iter().all(u8::is_ascii_digit));
        let number = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(number.unwrap_or(*first));
        rest = if number.is_some() { &behind[3..] } else { behind };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const TABLE: &[u8] = b"25 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
        30 25 8:1 /home/u/ws /opt/same rw - ext4 /dev/sda1 rw\n\
        31 25 8:1 /home /opt/a\\040b rw - ext4 /dev/sda1 rw\n\
        32 25 8:1 /home/u/ws/lib /opt/part rw - ext4 /dev/sda1 rw\n\
        33 25 8:1 /home/other /opt/other rw - ext4 /dev/sda1 rw\n\
        34 25 8:2 /home/u/ws /opt/disk rw - ext4 /dev/sdb1 rw\n\
        35 25 0:40 / /opt/over rw shared:2 - overlay x rw,lowerdir=/srv/a:/srv/b\\134:c,upperdir=/srv/up,workdir=/srv/w\n\
        36 25 0:40 /in /opt/deep rw - overlay x rw,lowerdir=/srv/a:/srv/b\\134:c,upperdir=/srv/up,workdir=/srv/w\n\
        37 25 0:41 / /opt/plus rw - overlay x rw,lowerdir+=/opt/disk/src,datadir+=/srv/d\n\
        38 25 0:42 / /opt/riddle rw - overlay x rw,lowerdir=l/A:l/B\n\
        not a line\n";

    /// Finds the mount of a path by its mount point. The path has no links.
    fn place(mounts: &MountTable, path: &Path) -> Option<MountedPath> {
        let around = mounts.0.iter().filter(|mount| path.starts_with(&mount.point));
        let mount = around.max_by_key(|mount| mount.point.as_os_str().len())?;
        Some(MountedPath { real: path.to_owned(), mount: mount.number, device: mount.device.clone() })
    }

    fn set(paths: &[&str]) -> BTreeSet<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    #[track_caller]
    fn check(folder: &str, expect: &[&str]) {
        let mounts = MountTable::parse(TABLE);
        let found = mounts.all_paths(Path::new(folder), &mut |path| place(&mounts, path)).unwrap();
        let expect = [expect, &[folder, "/opt/riddle"]].concat();
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), set(&expect), "{folder}");
    }

    #[test]
    fn mounts_show_a_folder_elsewhere() {
        check("/home/u/ws", &["/opt/same", "/opt/a b/u/ws", "/opt/part"]);
        check("/opt/same", &["/home/u/ws", "/opt/a b/u/ws", "/opt/part"]);
        check("/opt/other/x", &["/home/other/x", "/opt/a b/other/x"]);
    }

    #[test]
    fn overlays_show_their_layers() {
        check("/srv/a/x", &["/opt/over/x", "/srv/b:c/x", "/srv/up/x"]);
        check("/srv/up/in/x", &["/opt/over/in/x", "/opt/deep/x", "/srv/a/in/x", "/srv/b:c/in/x"]);
        check("/opt/deep/y", &["/opt/over/in/y", "/srv/a/in/y", "/srv/b:c/in/y", "/srv/up/in/y"]);
        // The layer contains the path, or the path contains the layer.
        check("/opt/disk", &["/opt/plus", "/srv/d"]);
        check("/opt/plus/z", &["/opt/disk/src/z", "/srv/d/z"]);
    }

    #[test]
    fn unreachable_mount_adds_all_of_its_file_system() {
        let mounts = MountTable::parse(TABLE);
        let look = |path: &Path| {
            let device = b"8:2".to_vec();
            (path == Path::new("/jail/ws")).then(|| MountedPath { real: path.to_owned(), mount: 99, device })
        };
        let found = mounts.all_paths(Path::new("/jail/ws"), &mut { look }).unwrap();
        assert_eq!(
            found.into_iter().collect::<BTreeSet<_>>(),
            set(&["/jail/ws", "/opt/disk", "/opt/plus", "/opt/riddle"])
        );
    }
}
