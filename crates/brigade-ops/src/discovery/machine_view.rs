//! Reads the tools that agent programs can use from their files. Starts nothing, and writes nothing.

mod folders;
mod machine;
mod plugins;

use brigade_core::IssueType;
use brigade_fs::FileId;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use brigade_catalog::Masks;
use brigade_harness::{
    Config, DiscoveredEntry, DiscoveryIssue, EntrySource, Extent, FileState, FileStatus, Harness,
    HarnessFiles, Inventory, Launch, Launches, PathContent, Platform, Position, Reading, Scope, Source,
    SwitchFile, harnesses, natives, read_config, read_switches,
};

pub use machine::Machine;
use machine::{FileContent, MachinePath};
use plugins::PluginState;

/// What to look for. `None` or an empty list selects everything. Of several values, one must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiscoverRequest {
    /// The labels of harnesses.
    pub harnesses: Option<Vec<String>>,
    /// The sources of entries.
    pub sources: Vec<EntrySource>,
    /// The owners of files: the project or the user.
    pub scopes: Vec<Scope>,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Discovery {
    /// The searched harnesses.
    pub harnesses: Vec<HarnessFiles>,
    /// The entries.
    pub entries: Vec<DiscoveredEntry>,
    /// Issues for the user.
    pub issues: Vec<DiscoveryIssue>,
    /// The commands of the servers, by `ref`.
    pub launches: Launches,
    /// Whether files of the user were skipped, because no home directory is known.
    pub lacks_home: bool,
}

/// Reads the files of harnesses in parallel. The result is in the order of the harnesses. Bound values are masked in
/// entries and issues, but not in launch commands.
pub fn look_at_machine(machine: &Machine<'_>, look: &DiscoverRequest) -> Discovery {
    let is_wanted = |harness: &&Harness| {
        look.harnesses.as_ref().is_none_or(|labels| labels.iter().any(|label| label == harness.label()))
    };
    let selected: Vec<&'static Harness> = harnesses().iter().filter(is_wanted).collect();
    let wants_user = look.scopes.is_empty() || look.scopes.contains(&Scope::User);
    let mut found = Discovery { lacks_home: !machine.has_home() && wants_user, ..Discovery::default() };
    if found.lacks_home {
        let message = match machine.variable("HOME").is_some_and(|home| !home.is_empty()) {
            true => "HOME is not an absolute path, so the files of the user are not read; set HOME to one",
            false => "HOME is not set, so the files of the user are not read; set HOME",
        };
        found.issues.push(DiscoveryIssue::new(IssueType::ClientFileUnreadable, message));
    }
    let mut inventory = Inventory::default();
    // Several harnesses may share a file.
    let mut reported: HashSet<DiscoveryIssue> = HashSet::new();
    let searches: Vec<HarnessPart> =
        parallel_map(&selected, |harness| HarnessSearch::for_harness(machine, look, harness))
            .into_iter()
            .flatten()
            .collect();
    inventory
        .reserve(searches.iter().flat_map(|search| &search.read).map(|(entries, _)| entries.len()).sum());
    for search in searches {
        for (entries, launches) in search.read {
            inventory.add_all(entries, launches);
        }
        for issue in search.issues {
            if reported.insert(DiscoveryIssue { harness: None, ..issue.clone() }) {
                found.issues.push(issue);
            }
        }
        found.harnesses.push(search.files);
    }
    found.launches = inventory.take_launches();
    let (entries, differing) = inventory.finish();
    brigade_harness::name_entries(&entries, &mut found.issues);
    found.issues.extend(differing);
    found.entries = entries;
    hide_in(&machine.masks, &mut found.entries, &mut found.issues);
    found
}

/// Masks bound values in entries and issues.
pub(crate) fn hide_in(masks: &Masks, entries: &mut [DiscoveredEntry], issues: &mut [DiscoveryIssue]) {
    if masks.is_empty() {
        return;
    }
    entries.iter_mut().flat_map(DiscoveredEntry::texts_mut).for_each(|text| masks.hide(text));
    issues.iter_mut().for_each(|issue| masks.hide(&mut issue.message));
}

/// Applies a function to each item on a few threads, and returns the results in order.
fn parallel_map<T: Sync, R: Send>(all: &[T], map: impl Fn(&T) -> R + Sync) -> Vec<R> {
    const MAX_THREADS: usize = 4;
    let next = AtomicUsize::new(0);
    let work = || -> Vec<(usize, R)> {
        let one = || Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, map(all.get(at)?))));
        std::iter::from_fn(one).collect()
    };
    let helpers = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS).min(all.len());
    let mut results = std::thread::scope(|scope| {
        // If a thread cannot be started, the others do its work.
        let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let threads: Vec<_> = (1..helpers).filter_map(spawn).collect();
        let mut results = work();
        for thread in threads {
            results.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        results
    });
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The result for one harness.
struct HarnessPart {
    files: HarnessFiles,
    /// Entries, with the launch commands of servers.
    read: Vec<(Vec<DiscoveredEntry>, Vec<Launch>)>,
    issues: Vec<DiscoveryIssue>,
}

/// The search of one harness.
struct HarnessSearch<'h> {
    machine: &'h Machine<'h>,
    look: &'h DiscoverRequest,
    read: Vec<(Vec<DiscoveredEntry>, Vec<Launch>)>,
    issues: Vec<DiscoveryIssue>,
    rows: Vec<FileState>,
    /// The file that was read last: some have parts for two scopes.
    last: Option<(PathBuf, FileContent)>,
    /// Names of the servers that the harness does not start.
    switched_off: HashSet<String>,
    /// Skills and commands that were read, by any path.
    files_seen: HashSet<FileId>,
    /// The remaining budgets for files of the user and of the workspace.
    rooms: [ReadBudget; 2],
}

/// The maximum number of bytes, and of entries, read for one harness. The user and the workspace are counted
/// separately, so that a repository cannot hide entries of the user.
const MAX_BYTES: u64 = 128 << 20;
const MAX_ENTRIES_PER_HARNESS: usize = 5_000;

/// The remaining budget for reading files.
#[derive(Clone, Copy)]
struct ReadBudget {
    bytes: u64,
    entries: usize,
    /// The number of files that were not read.
    left_out: u64,
}

impl ReadBudget {
    const ALL: ReadBudget = ReadBudget { bytes: MAX_BYTES, entries: MAX_ENTRIES_PER_HARNESS, left_out: 0 };

    fn is_used_up(&self) -> bool {
        self.bytes == 0 || self.entries == 0
    }
}

impl<'h> HarnessSearch<'h> {
    /// Searches the files of a harness. `None` for a guest harness that is neither installed nor requested.
    fn for_harness(
        machine: &'h Machine<'h>,
        look: &'h DiscoverRequest,
        harness: &'static Harness,
    ) -> Option<HarnessPart> {
        let mut search = HarnessSearch {
            machine,
            look,
            read: Vec::new(),
            issues: Vec::new(),
            rows: Vec::new(),
            last: None,
            switched_off: HashSet::new(),
            files_seen: HashSet::new(),
            rooms: [ReadBudget::ALL; 2],
        };
        let shown_by = search.shown_by(harness);
        if harness.is_guest && shown_by.is_none() && look.harnesses.is_none() {
            return None;
        }
        search.harness(harness, shown_by.as_deref());
        search.report_full(harness);
        if let Some(path) = shown_by.as_ref().filter(|_| !harness.is_read()) {
            let title = harness.program.title;
            let message = format!("{title} is installed, but its files are not read");
            search.add_issue(DiscoveryIssue {
                harness: Some(harness.label().to_owned()),
                path: Some(path.display().to_string()),
                ..DiscoveryIssue::new(IssueType::ProgramNotRead, message)
            });
        }
        let files = HarnessFiles {
            harness: harness.label().to_owned(),
            title: harness.program.title.to_owned(),
            found: shown_by.is_some(),
            files: search.rows,
        };
        Some(HarnessPart { files, read: search.read, issues: search.issues })
    }
}

impl HarnessSearch<'_> {
    /// Returns the path that proves that a harness is installed: its program, or one of its directories or files.
    fn shown_by(&self, harness: &Harness) -> Option<PathBuf> {
        let variable = |name: &str| self.machine.variable(name);
        let program = harness.program.commands.iter().find_map(|name| self.machine.program(name));
        let folder = || {
            let mut folders =
                harness.folders(variable).into_iter().filter_map(|path| self.machine.absolute(&path));
            folders.find(|folder| self.machine.is_folder(folder))
        };
        let file = || {
            let files = harness.own_files(Platform::of_this_build(), variable);
            let mut files = files.iter().filter_map(|path| self.machine.absolute(path));
            files.find(|file| self.machine.exists(file))
        };
        program.or_else(folder).or_else(file)
    }

    fn is_wanted(&self, source: EntrySource, extent: Extent) -> bool {
        let scopes = &self.look.scopes;
        self.includes_source(source) && (scopes.is_empty() || scopes.iter().any(|scope| extent.is_of(*scope)))
    }

    fn includes_source(&self, source: EntrySource) -> bool {
        self.look.sources.is_empty() || self.look.sources.contains(&source)
    }

    fn harness(&mut self, harness: &'static Harness, shown_by: Option<&Path>) {
        let mut seen: HashSet<(PathBuf, Extent)> = HashSet::new();
        if self.includes_source(EntrySource::Mcp) {
            harness.switches.iter().for_each(|file| self.switches(harness, file));
        }
        for config in harness.configs() {
            if self.is_wanted(EntrySource::Mcp, config.extent) {
                self.config(harness, &config, &mut seen);
            }
        }
        self.folders(harness);
        harness.plugins.iter().for_each(|store| self.plugins(harness, store));
        if let Some(path) = shown_by.filter(|_| self.is_wanted(EntrySource::Harness, Extent::User)) {
            self.read.push((natives(harness, &path.display().to_string()), Vec::new()));
        }
    }

    fn room(&mut self, extent: Extent) -> &mut ReadBudget {
        let [user, workspace] = &mut self.rooms;
        match extent {
            Extent::User | Extent::System => user,
            Extent::Local | Extent::Project => workspace,
        }
    }

    /// Reads a file, if the budget of its harness allows it.
    fn look_at(&mut self, location: &MachinePath, extent: Extent, limit: u64) -> FileContent {
        if self.room(extent).is_used_up() {
            let is_there = self.machine.exists(&location.path);
            self.room(extent).left_out += u64::from(is_there);
            return if is_there { FileContent::Full } else { FileContent::Absent };
        }
        let looked = self.machine.read(location, limit);
        if let FileContent::Read { bytes, .. } = &looked {
            let room = self.room(extent);
            room.bytes = room.bytes.saturating_sub(bytes.len() as u64);
        }
        looked
    }

    /// Reports the number of files that were not read because the budget was used up.
    fn report_full(&mut self, harness: &'static Harness) {
        for (room, whose) in self.rooms.into_iter().zip(["the user", "the workspace"]) {
            if room.left_out == 0 {
                continue;
            }
            let files = match room.left_out {
                1 => format!("1 file of {whose} is"),
                count => format!("{count} files of {whose} are"),
            };
            let message = format!(
                "{files} not read: those before hold {} MiB or {MAX_ENTRIES_PER_HARNESS} entries together",
                MAX_BYTES >> 20
            );
            let issue = DiscoveryIssue::new(IssueType::TooManyEntries, message);
            self.add_issue(DiscoveryIssue { harness: Some(harness.label().to_owned()), ..issue });
        }
    }

    fn config(&mut self, harness: &'static Harness, config: &Config, seen: &mut HashSet<(PathBuf, Extent)>) {
        let paths = config.files.paths(Platform::of_this_build(), |name| self.machine.variable(name));
        for path in paths {
            let Some(location) = self.machine.location(&path, config.extent) else { continue };
            // If the home directory is the workspace, its files count as those of the user.
            let is_of_user = seen.contains(&(location.path.clone(), Extent::User));
            if config.extent == Extent::Project && is_of_user {
                continue;
            }
            match config.place {
                PathContent::File => {
                    if seen.insert((location.path.clone(), config.extent)) {
                        self.file(harness, config, &location, None);
                    }
                }
                PathContent::Program => self.program(config, &location),
                PathContent::Directory(endings) => {
                    let is_new = seen.insert((location.path.clone(), config.extent));
                    self.directory(harness, config, &location, endings, is_new);
                }
            }
        }
    }

    fn directory(
        &mut self,
        harness: &'static Harness,
        config: &Config,
        location: &MachinePath,
        endings: &[&str],
        is_new: bool,
    ) {
        let listed = match self.machine.list(location) {
            Ok(Some(listed)) => listed,
            Ok(None) if is_new => {
                return self.row(
                    &location.path,
                    config.extent,
                    EntrySource::Mcp,
                    FileStatus::Absent,
                    0,
                    None,
                );
            }
            Err(why) if is_new => {
                let source = source(harness, config.extent, &location.shown, &self.machine.workspace);
                return self.unreadable(&source, &location.path, EntrySource::Mcp, why);
            }
            Ok(None) | Err(_) => return,
        };
        for name in listed.names.iter().filter(|name| endings.iter().any(|ending| name.ends_with(ending))) {
            if let Some(file) = location.inner(name) {
                self.file(harness, config, &file, None);
            }
        }
        let workspace = self.machine.workspace.clone();
        let source = source(harness, config.extent, &location.shown, &workspace);
        self.report_left_out(&source, listed.unnamed, listed.others);
    }

    /// Reports a configuration file that is a program, so it cannot be read.
    fn program(&mut self, config: &Config, location: &MachinePath) {
        let status =
            if self.machine.exists(&location.path) { FileStatus::NotEvaluated } else { FileStatus::Absent };
        self.row(&location.path, config.extent, EntrySource::Mcp, status, 0, None);
    }

    fn file(
        &mut self,
        harness: &'static Harness,
        config: &Config,
        location: &MachinePath,
        plugin: Option<&PluginState>,
    ) {
        let workspace = self.machine.workspace.clone();
        let source = source(harness, config.extent, &location.shown, &workspace);
        let looked = match self.last.take() {
            Some((path, looked)) if path == location.path => looked,
            _ => self.look_at(location, config.extent, Config::LIMIT),
        };
        match &looked {
            FileContent::Absent => {
                self.row(&location.path, config.extent, EntrySource::Mcp, FileStatus::Absent, 0, None)
            }
            FileContent::Unreadable(why) => {
                self.unreadable(&source, &location.path, EntrySource::Mcp, why.clone())
            }
            FileContent::Full => {
                self.row(&location.path, config.extent, EntrySource::Mcp, FileStatus::Unreadable, 0, None)
            }
            FileContent::Read { bytes, .. } => {
                let mut reading = read_config(&source, config, bytes);
                reading.switch_off(&self.switched_off);
                if let Some(plugin) = plugin {
                    reading.of_plugin(&plugin.id, plugin.is_enabled);
                }
                let (count, broken) = (reading.entries.len(), reading.broken);
                let status = if broken.is_some() { FileStatus::Broken } else { FileStatus::Read };
                self.row(&location.path, config.extent, EntrySource::Mcp, status, count, broken);
                self.take(config.extent, reading);
            }
        }
        self.last = Some((location.path.clone(), looked));
    }

    /// Reads which servers a harness does not start. A missing file has no row, because it defines nothing.
    fn switches(&mut self, harness: &'static Harness, file: &SwitchFile) {
        let extent = file.files.extent();
        for path in file.files.paths(Platform::of_this_build(), |name| self.machine.variable(name)) {
            let Some(location) = self.machine.location(&path, extent) else { continue };
            let source = source(harness, extent, &location.shown, &self.machine.workspace);
            match self.look_at(&location, extent, SwitchFile::LIMIT) {
                FileContent::Absent | FileContent::Full => {}
                FileContent::Unreadable(why) => {
                    self.unreadable(&source, &location.path, EntrySource::Mcp, why)
                }
                FileContent::Read { bytes, .. } => {
                    let read = read_switches(&source, file, &bytes);
                    let status = if read.broken.is_some() { FileStatus::Broken } else { FileStatus::Read };
                    self.row(&location.path, extent, EntrySource::Mcp, status, 0, read.broken);
                    self.switched_off.extend(read.names);
                    read.issues.into_iter().for_each(|issue| self.add_issue(issue));
                }
            }
        }
    }

    fn take(&mut self, extent: Extent, reading: Reading) {
        let room = self.room(extent);
        room.entries = room.entries.saturating_sub(reading.entries.len());
        self.read.push((reading.entries, reading.launches));
        self.issues.extend(reading.issues);
    }

    fn add_issue(&mut self, issue: DiscoveryIssue) {
        self.issues.push(issue);
    }

    fn unreadable(&mut self, source: &Source<'_>, path: &Path, what: EntrySource, why: String) {
        self.row(path, source.extent, what, FileStatus::Unreadable, 0, None);
        self.add_issue(source.issue(IssueType::ClientFileUnreadable, why, None));
    }

    fn row(
        &mut self,
        path: &Path,
        extent: Extent,
        source: EntrySource,
        status: FileStatus,
        entry_count: usize,
        at: Option<Position>,
    ) {
        self.rows.push(FileState {
            path: path.display().to_string(),
            scope: extent,
            source,
            status,
            entry_count,
            line: at.map(|at| at.line),
            column: at.map(|at| at.column),
        });
    }
}

fn source<'s>(harness: &'static Harness, extent: Extent, path: &'s str, workspace: &'s str) -> Source<'s> {
    Source { harness, extent, path, workspace }
}
