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
use super::plugins::PluginState;
use super::{HarnessSearch, source};

/// The maximum depth of a directory of commands.
const DEPTH: usize = 5;

/// The maximum number of directories below one directory of commands, or of skills.
const MAX_FOLDERS: usize = 2_000;

/// The state of walking one directory of the table.
pub(super) struct FolderScan<'w> {
    harness: &'static Harness,
    shelf: SkillDirectory,
    plugin: Option<&'w PluginState>,
    count: usize,
    /// The directories that were listed, other than the first one.
    listed: HashSet<FileId>,
    folders: usize,
    left_out: u64,
    unnamed: u64,
}

/// A directory to walk: the names above it joined with `:`, its path and its names.
type Level = Vec<(String, MachinePath, DirectoryNames)>;

impl<'w> FolderScan<'w> {
    pub(super) fn new(
        harness: &'static Harness,
        shelf: SkillDirectory,
        plugin: Option<&'w PluginState>,
    ) -> FolderScan<'w> {
        FolderScan {
            harness,
            shelf,
            plugin,
            count: 0,
            listed: HashSet::new(),
            folders: 1,
            left_out: 0,
            unnamed: 0,
        }
    }
}

impl HarnessSearch<'_> {
    /// Reads the skills and commands of a harness.
    pub(super) fn folders(&mut self, harness: &'static Harness) {
        let mut paths: HashSet<(PathBuf, FolderContent)> = HashSet::new();
        for shelf in &harness.shelves {
            if !self.is_wanted(EntrySource::Skill, shelf.extent) {
                continue;
            }
            let path = shelf.path(|name| self.machine.variable(name));
            let Some(location) = path.and_then(|path| self.machine.location(&path, shelf.extent)) else {
                continue;
            };
            if paths.insert((location.path.clone(), shelf.holds)) {
                self.shelf(harness, *shelf, &location, None);
            }
        }
    }

    pub(super) fn shelf(
        &mut self,
        harness: &'static Harness,
        shelf: SkillDirectory,
        location: &MachinePath,
        plugin: Option<&PluginState>,
    ) {
        let row = self.rows.len();
        let listed = match self.machine.list(location) {
            Ok(Some(listed)) => listed,
            Ok(None) => {
                return self.row(
                    &location.path,
                    shelf.extent,
                    EntrySource::Skill,
                    FileStatus::Absent,
                    0,
                    None,
                );
            }
            Err(why) => {
                let workspace = self.machine.workspace.clone();
                let source = source(harness, shelf.extent, &location.shown, &workspace);
                return self.unreadable(&source, &location.path, EntrySource::Skill, why);
            }
        };
        self.row(&location.path, shelf.extent, EntrySource::Skill, FileStatus::Read, 0, None);
        let mut scan = FolderScan::new(harness, shelf, plugin);
        (scan.left_out, scan.unnamed) = (listed.others, listed.unnamed);
        match shelf.holds {
            FolderContent::Skills => self.skills(&mut scan, location.clone(), listed),
            FolderContent::Commands | FolderContent::TomlCommands => {
                self.commands(&mut scan, location.clone(), listed)
            }
        }
        let FolderScan { count, left_out, unnamed, .. } = scan;
        self.rows[row].entry_count = count;
        let workspace = self.machine.workspace.clone();
        let source = source(harness, shelf.extent, &location.shown, &workspace);
        self.report_left_out(&source, unnamed, left_out);
    }

    /// Reports how many names of a directory were not read.
    pub(super) fn report_left_out(&mut self, source: &Source<'_>, unnamed: u64, left_out: u64) {
        if 0 < unnamed {
            let what = if unnamed == 1 { "1 name is".to_owned() } else { format!("{unnamed} names are") };
            let message = format!("{what} not UTF-8 text, so nothing of it is read");
            self.add_issue(source.issue(IssueType::NameUnusual, message, None));
        }
        if 0 < left_out {
            self.add_issue(source.issue(
                IssueType::TooManyEntries,
                format!("{left_out} more are not read"),
                None,
            ));
        }
    }

    /// Reads the skills of a directory, to the depth of its program. Nearest first, so a skill that links reach several
    /// times has its shortest path.
    fn skills(&mut self, scan: &mut FolderScan<'_>, root: MachinePath, listed: DirectoryNames) {
        if scan.shelf.has_own
            && let Some(name) = root.path.file_name().and_then(|name| name.to_str())
        {
            self.skill(scan, name, &root);
        }
        let mut level: Level = vec![(String::new(), root, listed)];
        for depth in 1.. {
            let mut below = Vec::new();
            for (_, folder, listed) in level {
                for name in &listed.names {
                    let Some(location) = folder.inner(name) else { continue };
                    self.skill(scan, name, &location);
                    let is_content = name.starts_with('.') || name == "node_modules";
                    if depth < scan.shelf.depth && !is_content && self.machine.is_folder(&location.path) {
                        below.push((String::new(), location));
                    }
                }
            }
            if below.is_empty() {
                return;
            }
            level = self.list_all(scan, below);
        }
    }

    /// Reads the skill of a directory, if it is one.
    pub(super) fn skill(&mut self, scan: &mut FolderScan<'_>, name: &str, folder: &MachinePath) {
        if let Some(file) = folder.inner("SKILL.md") {
            self.read(scan, &file, |source, bytes| read_skill(&SkillFile { source, name }, bytes));
        }
    }

    /// Reads a command.
    pub(super) fn command(&mut self, scan: &mut FolderScan<'_>, name: &str, file: &MachinePath) {
        let is_toml = scan.shelf.holds == FolderContent::TomlCommands;
        self.read(scan, file, |source, bytes| read_command(&SkillFile { source, name }, is_toml, bytes));
    }

    /// Reads the commands of a directory and its subdirectories, nearest first. A file that links reach several times
    /// gets its shortest name.
    fn commands(&mut self, scan: &mut FolderScan<'_>, root: MachinePath, listed: DirectoryNames) {
        let ending = if scan.shelf.holds == FolderContent::TomlCommands { ".toml" } else { ".md" };
        let mut level: Level = vec![(String::new(), root, listed)];
        for depth in 1.. {
            let mut below = Vec::new();
            for (way, folder, listed) in level {
                for name in &listed.names {
                    let Some(location) = folder.inner(name) else { continue };
                    if let Some(name) = name.strip_suffix(ending) {
                        self.command(scan, &format!("{way}{name}"), &location);
                    } else if !name.contains('.') && self.machine.is_folder(&location.path) {
                        below.push((format!("{way}{name}:"), location));
                    }
                }
            }
            if DEPTH < depth {
                scan.left_out += below.len() as u64;
                return;
            }
            if below.is_empty() {
                return;
            }
            level = self.list_all(scan, below);
        }
    }

    /// Lists directories that were not listed before.
    fn list_all(&mut self, scan: &mut FolderScan<'_>, below: Vec<(String, MachinePath)>) -> Level {
        let mut level = Vec::new();
        for (way, location) in below {
            // Links may lead back to a directory above.
            if self.machine.folder_id(&location).is_some_and(|id| !scan.listed.insert(id)) {
                continue;
            }
            if MAX_FOLDERS <= scan.folders {
                scan.left_out += 1;
                continue;
            }
            scan.folders += 1;
            match self.machine.list(&location) {
                Ok(Some(listed)) => {
                    scan.left_out += listed.others;
                    scan.unnamed += listed.unnamed;
                    level.push((way, location, listed));
                }
                Ok(None) => {}
                Err(why) => {
                    let workspace = self.machine.workspace.clone();
                    let source = source(scan.harness, scan.shelf.extent, &location.shown, &workspace);
                    self.unreadable(&source, &location.path, EntrySource::Skill, why);
                }
            }
        }
        level
    }

    fn read(
        &mut self,
        scan: &mut FolderScan<'_>,
        file: &MachinePath,
        read: impl FnOnce(Source<'_>, &[u8]) -> brigade_harness::Reading,
    ) {
        if MAX_ENTRIES <= scan.count {
            scan.left_out += 1;
            return;
        }
        let workspace = self.machine.workspace.clone();
        let source = source(scan.harness, scan.shelf.extent, &file.shown, &workspace);
        match self.look_at(file, source.extent, COMMAND_LIMIT) {
            FileContent::Absent | FileContent::Full => {}
            FileContent::Unreadable(why) => self.unreadable(&source, &file.path, EntrySource::Skill, why),
            FileContent::Read { bytes, id } => {
                // A directory that links reach twice counts once.
                if id.is_some_and(|id| !self.files_seen.insert(id)) {
                    return;
                }
                let mut reading = read(source, &bytes);
                if let Some(plugin) = scan.plugin {
                    reading.of_plugin(&plugin.id, plugin.is_enabled);
                }
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
                scan.count += reading.entries.len();
                self.take(source.extent, reading);
            }
        }
    }
}
