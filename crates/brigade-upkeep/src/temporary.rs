//! Files that killed commands left: half written, under the names that they have before they are renamed.
//!
//! The queue looks after its own folders. Here are the others in which Brigade writes: the rest of `.brigade`, the
//! workspace itself and the folders of sources, where `init` puts starters. A file whose process is still there may be
//! written right now, and stays.

use std::collections::BTreeSet;

use brigade_catalog::Catalog;
use brigade_fs::{FileKind, Fs, RelPath, is_temporary};
use brigade_process::ProcessIdentity;

use crate::rel;

/// Where the state lies.
const STATE: &str = ".brigade";

/// How deep below that files are looked for.
const DEPTH: usize = 4;

/// Folders of the queue, of programs that run, and of projections that wait for their place: others look after them.
const OF_OTHERS: &[&str] = &[
    ".brigade/tools/calls",
    ".brigade/tools/checkpoints",
    ".brigade/tools/runs",
    ".brigade/tools/runtime",
    ".brigade/tools/staging",
];

/// Lists the files that commands left which are gone. What cannot be looked at is left out.
pub fn left_temporary(fs: &dyn Fs, catalog: &Catalog) -> Vec<RelPath> {
    let mut folders: BTreeSet<RelPath> = BTreeSet::from([RelPath::root()]);
    for tool in catalog.tools() {
        let source = tool.source_path.as_deref().and_then(|path| path.parse::<RelPath>().ok());
        folders.extend(source.map(|source| source.parent()));
    }
    let mut found = Vec::new();
    for folder in folders {
        temporary_in(fs, &folder, 0, &mut found);
    }
    temporary_in(fs, &rel(STATE), DEPTH, &mut found);
    found.sort();
    found.dedup();
    found
}

fn temporary_in(fs: &dyn Fs, folder: &RelPath, depth: usize, found: &mut Vec<RelPath>) {
    for entry in fs.list_dir(folder).unwrap_or_default() {
        let Ok(path) = folder.join(&entry.name) else { continue };
        match entry.kind {
            // The queue names its own.
            FileKind::File if folder.as_str() == ".brigade/tools" && entry.name.starts_with(".calls.") => {}
            FileKind::File if is_left(&entry.name) => found.push(path),
            FileKind::Directory if 0 < depth && !OF_OTHERS.contains(&path.as_str()) => {
                temporary_in(fs, &path, depth - 1, found);
            }
            FileKind::File | FileKind::Directory | FileKind::Link | FileKind::Other => {}
        }
    }
}

/// Tells whether a name is one that a command gave which is gone: `.NAME.PROCESS-NUMBER.tmp`.
fn is_left(name: &str) -> bool {
    process_of(name).is_some_and(|process| ProcessIdentity::of(process).is_err())
}

fn process_of(name: &str) -> Option<u32> {
    let (_, numbers) = name.strip_suffix(".tmp").filter(|_| is_temporary(name))?.rsplit_once('.')?;
    let (process, number) = numbers.split_once('-')?;
    number.parse::<u64>().ok()?;
    process.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_of_half_written_files_name_a_process() {
        for (name, expect) in [
            (".inbox.jsonl.12-0.tmp", Some(12)),
            ("..gitignore.7-31.tmp", Some(7)),
            (".tmp", None),
            (".mine.tmp", None),
            (".mine.12.tmp", None),
            ("inbox.jsonl.12-0.tmp", None),
            (".inbox.jsonl.12-0", None),
            (".x.-1-0.tmp", None),
        ] {
            assert_eq!(process_of(name), expect, "{name}");
        }
    }

    #[test]
    fn what_is_being_written_stays() {
        assert!(!is_left(&format!(".x.{}-0.tmp", std::process::id())));
        assert!(is_left(&format!(".x.{}-0.tmp", u32::MAX / 2)));
    }
}
