//! Unpacks bundles of MCP servers: `.mcpb` and `.dxt` files.

use std::collections::BTreeMap;
use std::io::{Cursor, Read as _};
use std::path::Path;

use brigade_catalog::Level;
use brigade_catalog::register::{Registrations, bundle_folder};
use brigade_core::text::{escape_terminal, short};
use brigade_fs::{Fs, FsError, RelPath};
use zip::ZipArchive;

/// The maximum length of a bundle, in bytes.
pub(super) const MAX_BUNDLE_BYTES: u64 = 128 << 20;

/// The maximum length of all its files, in bytes.
const MAX_UNPACKED_BYTES: u64 = 512 << 20;

/// The maximum number of files.
const MAX_FILES: usize = 50_000;

/// The file that describes the server.
const MANIFEST: &str = "manifest.json";

/// The types of files in the mode of a Unix system, and that of regular files.
const TYPE_BITS: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;

/// The files of a bundle.
#[derive(Debug)]
pub(super) struct Bundle {
    files: BTreeMap<RelPath, BundleFile>,
}

#[derive(Debug)]
struct BundleFile {
    bytes: Vec<u8>,
    is_executable: bool,
}

/// Returns whether a file has the name of a bundle.
pub(super) fn is_bundle(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|text| ["mcpb", "dxt"].iter().any(|known| text.eq_ignore_ascii_case(known)))
}

/// Reads the manifest of a bundle. Returns its files with the id of their runtime, unless the manifest has errors.
pub(super) fn read(
    bytes: Vec<u8>,
    level: Level,
    id: Option<&str>,
) -> (Registrations, Option<(String, Bundle)>) {
    let bundle = Bundle::read(bytes).and_then(|bundle| Ok((bundle.manifest()?.to_vec(), bundle)));
    match bundle {
        Err(why) => (Registrations::refused(why), None),
        Ok((manifest, bundle)) => {
            let read = Registrations::of_bundle(&manifest, id, level);
            let ids = read.tools.first().map(|found| found.tool.id.to_string());
            (read, ids.map(|id| (id, bundle)))
        }
    }
}

impl Bundle {
    /// Reads all files. Refuses links, special files, paths that lead out, and bundles that are too large.
    fn read(bytes: Vec<u8>) -> Result<Bundle, String> {
        Bundle::read_within(bytes, MAX_UNPACKED_BYTES)
    }

    fn read_within(bytes: Vec<u8>, limit: u64) -> Result<Bundle, String> {
        let unreadable = |_| "the bundle is not a zip archive that can be read".to_owned();
        let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(unreadable)?;
        if MAX_FILES < archive.len() {
            return Err(format!("the bundle has more than {MAX_FILES} files"));
        }
        let (mut files, mut room) = (BTreeMap::new(), limit);
        for index in 0..archive.len() {
            let mut file = archive.by_index(index).map_err(unreadable)?;
            let name = file.name().map_err(unreadable)?.into_owned();
            let shown = escape_terminal(&short(&name, 200)).into_owned();
            let is_regular = file.unix_mode().is_none_or(|mode| [0, REGULAR].contains(&(mode & TYPE_BITS)));
            if file.is_dir() {
                continue;
            }
            if !is_regular {
                return Err(format!("`{shown}` in the bundle is a link or a special file"));
            }
            let path =
                name.parse::<RelPath>().ok().filter(|path| !path.is_root() && !name.contains(['\\', ':']));
            let path = path.ok_or_else(|| format!("`{shown}` in the bundle leads out of its directory"))?;
            let mut bytes = Vec::new();
            let is_executable = file.unix_mode().is_some_and(|mode| mode & 0o111 != 0);
            let mut content = (&mut file).take(room.saturating_add(1));
            content.read_to_end(&mut bytes).map_err(|_| format!("`{shown}` in the bundle is damaged"))?;
            let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            room = room
                .checked_sub(length)
                .ok_or_else(|| format!("the files of the bundle are longer than {} MiB", limit >> 20))?;
            if files.insert(path, BundleFile { bytes, is_executable }).is_some() {
                return Err(format!("`{shown}` is in the bundle twice"));
            }
        }
        let is_file_and_folder = |path: &RelPath| {
            let mut parent = path.parent();
            while !parent.is_root() {
                if files.contains_key(&parent) {
                    return true;
                }
                parent = parent.parent();
            }
            false
        };
        if files.keys().any(is_file_and_folder) {
            return Err("a path in the bundle is a file and a directory".to_owned());
        }
        Ok(Bundle { files })
    }

    /// Returns the file that describes the server.
    fn manifest(&self) -> Result<&[u8], String> {
        let file = self.files.get(&RelPath::from_static(MANIFEST));
        file.map(|file| &*file.bytes).ok_or_else(|| format!("the bundle has no {MANIFEST}"))
    }

    /// Writes the files into the directory of a runtime, in place of those of an earlier bundle.
    pub(super) fn unpack(&self, fs: &dyn Fs, id: &str) -> Result<(), FsError> {
        let at = |text: &str| text.parse::<RelPath>().expect("checked parts make a path in the workspace");
        let folder = at(&bundle_folder(id));
        if fs.exists(&folder)? {
            fs.remove_tree(&folder)?;
        }
        for (path, file) in &self.files {
            let path = at(&format!("{folder}/{path}"));
            fs.create_dir_all(&path.parent())?;
            let mode = if file.is_executable { 0o700 } else { 0o600 };
            fs.create(&path, mode)?.write(&file.bytes)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use brigade_fs::MemoryFs;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    /// Packs files. A `%` in a name becomes a dot, so that the writer cannot clean the name.
    fn packed(files: &[(&str, u32, &[u8])]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, mode, bytes) in files {
            writer.start_file(*name, SimpleFileOptions::default().unix_permissions(*mode)).unwrap();
            writer.write_all(bytes).unwrap();
        }
        let mut bytes = writer.finish().unwrap().into_inner();
        bytes.iter_mut().filter(|byte| **byte == b'%').for_each(|byte| *byte = b'.');
        bytes
    }

    #[test]
    fn files_are_unpacked_in_place_of_earlier_ones() {
        let fs = MemoryFs::new();
        let first =
            Bundle::read(packed(&[("manifest.json", 0o644, b"{}"), ("old.js", 0o644, b"1")])).unwrap();
        first.unpack(&fs, "board").unwrap();
        let second = packed(&[("manifest.json", 0o644, b"{\"a\":1}"), ("bin/run", 0o755, b"#!/bin/sh\n")]);
        let second = Bundle::read(second).unwrap();
        assert_eq!(second.manifest(), Ok(&b"{\"a\":1}"[..]));
        second.unpack(&fs, "board").unwrap();
        let at = |name: &str| format!("{}/{name}", bundle_folder("board")).parse::<RelPath>().unwrap();
        assert_eq!(fs.read(&at("bin/run"), 99).unwrap(), b"#!/bin/sh\n");
        assert!(!fs.exists(&at("old.js")).unwrap());
    }

    #[test]
    fn what_could_write_elsewhere_is_refused() {
        let check = |bytes: Vec<u8>, limit: u64, expect: &str| {
            let refused = Bundle::read_within(bytes, limit).unwrap_err();
            assert!(refused.contains(expect), "{refused}");
        };
        check(b"not a zip".to_vec(), 99, "not a zip archive");
        check(packed(&[("%%/x", 0o644, b"")]), 99, "leads out");
        check(packed(&[("a\\%%\\x", 0o644, b"")]), 99, "leads out");
        check(packed(&[("zeros", 0o644, &[0; 5000])]), 4999, "longer than");
        check(packed(&[("a", 0o644, b""), ("a/b", 0o644, b"")]), 99, "a file and a directory");
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer.add_symlink("link", "/etc/passwd", SimpleFileOptions::default()).unwrap();
        check(writer.finish().unwrap().into_inner(), 99, "a link");
        assert_eq!(
            Bundle::read(packed(&[("a", 0o644, b"")])).unwrap().manifest().unwrap_err(),
            "the bundle has no manifest.json"
        );
    }
}
