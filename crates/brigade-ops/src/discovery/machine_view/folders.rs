//! Reads directories of skills and commands.

use brigade_core::IssueType;
use std::collections::HashSet;
use std::path::PathBuf;

use brigade_fs::FileId;
use brigade_harness::{
    COMMAND_LIMIT, EntrySource, FileStatus, FolderContent, Harness, MAX_ENTRIES, SkillDirectory, SkillFile,
    Source, read_command, read_skill,
};

use super::machine::{DirectoryNames, FileContent, MachinePath};
use super::{HarnessSearch, source};

/// The maximum depth of a directory of commands.
const DEPTH: usize = 5;

/// The maximum number of directories of commands below one directory.
const MAX_FOLDERS: usize = 200;

/// The state of walking one directory of the table.
struct Walk<'w> {
    harness: &'static Harness,
    shelf: &'static SkillDirectory,
    /// Files of this harness that were read, by any path.
    seen: &'w mut HashSet<FileId>,
    count: usize,
    folders: usize,
    left_out: u64,
    unnamed: u64,
}

impl HarnessSearch<'_> {
    /// Reads the skills and commands of a harness.
    pub(super) fn folders(&mut self, harness: &'static Harness) {
        let mut seen = HashSet::new();
        let mut paths: HashSet<PathBuf> = HashSet::new();
        for shelf in harness.shelves {
            if !self.is_wanted(EntrySource::Skill, shelf.extent) {
                continue;
            }
            let path = shelf.path(|name| self.machine.variable(name));
            let Some(spot) = path.and_then(|path| self.machine.spot(&path, shelf.extent)) else { continue };
            if paths.insert(spot.path.clone()) {
                self.shelf(harness, shelf, &spot, &mut seen);
            }
        }
    }

    fn shelf(
        &mut self,
        harness: &'static Harness,
        shelf: &'static SkillDirectory,
        spot: &MachinePath,
        seen: &mut HashSet<FileId>,
    ) {
        let row = self.rows.len();
        let listed = match self.machine.list(spot) {
            Ok(Some(listed)) => listed,
            Ok(None) => {
                return self.row(&spot.path, shelf.extent, EntrySource::Skill, FileStatus::Absent, 0, None);
            }
            Err(why) => {
                let workspace = self.machine.workspace.clone();
                let source = source(harness, shelf.extent, &spot.shown, &workspace);
                return self.unreadable(&source, &spot.path, EntrySource::Skill, why);
            }
        };
        self.row(&spot.path, shelf.extent, EntrySource::Skill, FileStatus::Read, 0, None);
        let mut walk = Walk {
            harness,
            shelf,
            seen,
            count: 0,
            folders: 1,
            left_out: listed.others,
            unnamed: listed.unnamed,
        };
        match shelf.holds {
            FolderContent::Skills => {
                for name in &listed.names {
                    let file = spot.inner(name).and_then(|folder| folder.inner("SKILL.md"));
                    if let Some(file) = file {
                        self.skill(&mut walk, name, &file);
                    }
                }
            }
            FolderContent::Commands | FolderContent::TomlCommands => {
                self.commands(&mut walk, spot.clone(), listed)
            }
        }
        let Walk { count, left_out, unnamed, .. } = walk;
        self.rows[row].entry_count = count;
        let workspace = self.machine.workspace.clone();
        let source = source(harness, shelf.extent, &spot.shown, &workspace);
        self.report_left_out(&source, unnamed, left_out);
    }

    /// Reports how many names of a directory were not read.
    pub(super) fn report_left_out(&mut self, source: &Source<'_>, unnamed: u64, left_out: u64) {
        if 0 < unnamed {
            let what = if unnamed == 1 { "1 name is".to_owned() } else { format!("{unnamed} names are") };
            let message = format!("{what} not UTF-8 text, so nothing of it is read");
            self.tell(source.issue(IssueType::NameUnusual, message, None));
        }
        if 0 < left_out {
            self.tell(source.issue(IssueType::TooManyEntries, format!("{left_out} more are not read"), None));
        }
    }

    fn skill(&mut self, walk: &mut Walk<'_>, name: &str, file: &MachinePath) {
        self.read(walk, file, |source, bytes| read_skill(&SkillFile { source, name }, bytes));
    }

    /// Reads the commands of a directory and its subdirectories, nearest first. A file that links reach several times
    /// gets its shortest name.
    fn commands(&mut self, walk: &mut Walk<'_>, root: MachinePath, listed: DirectoryNames) {
        let is_toml = walk.shelf.holds == FolderContent::TomlCommands;
        let ending = if is_toml { ".toml" } else { ".md" };
        let mut level = vec![(String::new(), root, listed)];
        let mut depth = 0;
        while !level.is_empty() {
            let mut below = Vec::new();
            for (way, folder, listed) in level {
                for name in &listed.names {
                    let Some(spot) = folder.inner(name) else { continue };
                    if let Some(name) = name.strip_suffix(ending) {
                        let name = format!("{way}{name}");
                        self.read(walk, &spot, |source, bytes| {
                            read_command(&SkillFile { source, name: &name }, is_toml, bytes)
                        });
                    } else if !name.contains('.') && self.machine.is_folder(&spot.path) {
                        below.push((format!("{way}{name}:"), spot));
                    }
                }
            }
            depth += 1;
            level = Vec::new();
            for (way, spot) in below {
                if DEPTH < depth || MAX_FOLDERS <= walk.folders {
                    walk.left_out += 1;
                    continue;
                }
                walk.folders += 1;
                match self.machine.list(&spot) {
                    Ok(Some(listed)) => {
                        walk.left_out += listed.others;
                        walk.unnamed += listed.unnamed;
                        level.push((way, spot, listed));
                    }
                    Ok(None) => {}
                    Err(why) => {
                        let workspace = self.machine.workspace.clone();
                        let source = source(walk.harness, walk.shelf.extent, &spot.shown, &workspace);
                        self.unreadable(&source, &spot.path, EntrySource::Skill, why);
                    }
                }
            }
        }
    }

    fn read(
        &mut self,
        walk: &mut Walk<'_>,
        file: &MachinePath,
        read: impl FnOnce(Source<'_>, &[u8]) -> brigade_harness::Reading,
    ) {
        if MAX_ENTRIES <= walk.count {
            walk.left_out += 1;
            return;
        }
        let workspace = self.machine.workspace.clone();
        let source = source(walk.harness, walk.shelf.extent, &file.shown, &workspace);
        match self.look_at(file, source.extent, COMMAND_LIMIT) {
            FileContent::Absent | FileContent::Full => {}
            FileContent::Unreadable(why) => self.unreadable(&source, &file.path, EntrySource::Skill, why),
            FileContent::Read { bytes, id } => {
                // A directory that links reach twice counts once.
                if id.is_some_and(|id| !walk.seen.insert(id)) {
                    return;
                }
                let reading = read(source, &bytes);
                if let Some(at) = reading.broken {
                    let count = reading.entries.len();
                    self.row(
                        &file.path,
                        source.extent,
                        EntrySource::Skill,
                        FileStatus::Broken,
                        count,
                        Some(at),
                    );
                }
                walk.count += reading.entries.len();
                self.take(source.extent, reading);
            }
        }
    }
}
