//! Reads the plugins and extensions of a program.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use brigade_core::IssueType;
use brigade_harness::{
    EntrySource, Extent, FileStatus, FolderContent, Harness, InstalledPlugin, PLUGIN_FILE_LIMIT, Platform,
    PluginLayout, PluginManifest, PluginStore, PluginSwitches, Reading, SkillDirectory, Source, SwitchForm,
    installed_plugins, linked_plugin, newest_version, read_manifest, read_plugin_switches,
};

use super::folders::FolderScan;
use super::machine::{FileContent, MachinePath};
use super::{HarnessSearch, source};

/// The maximum number of plugins of a program.
const MAX_PLUGINS: usize = 500;

/// A plugin, and whether its program uses it.
pub(super) struct PluginState {
    pub(super) id: String,
    pub(super) is_enabled: bool,
}

impl HarnessSearch<'_> {
    /// Reads the plugins of a store: servers, skills and commands.
    pub(super) fn plugins(&mut self, harness: &'static Harness, store: &PluginStore) {
        let mut installed = self.installed(harness, store);
        if installed.is_empty() {
            return;
        }
        if MAX_PLUGINS < installed.len() {
            let message =
                format!("{} plugins are not read; {MAX_PLUGINS} are", installed.len() - MAX_PLUGINS);
            let workspace = self.machine.workspace.clone();
            let source = source(harness, Extent::User, &installed[0].path, &workspace);
            self.add_issue(source.issue(IssueType::TooManyEntries, message, None));
            installed.truncate(MAX_PLUGINS);
        }
        let mut states = BTreeMap::new();
        store.switches.iter().for_each(|file| self.plugin_switches(harness, file, &mut states));
        let mut seen = HashSet::new();
        for plugin in installed {
            if seen.insert((plugin.path.clone(), plugin.extent)) {
                self.plugin(harness, store, &plugin, &states);
            }
        }
    }

    /// Returns the installed plugins of a store.
    fn installed(&mut self, harness: &'static Harness, store: &PluginStore) -> Vec<InstalledPlugin> {
        let mut found = Vec::new();
        for path in store.files.paths(Platform::of_this_build(), |name| self.machine.variable(name)) {
            let Some(root) = self.machine.location(&path, Extent::User) else { continue };
            let mut push = |id: String, location: &MachinePath| {
                found.push(InstalledPlugin { id, path: location.shown.clone(), extent: Extent::User });
            };
            match store.layout {
                PluginLayout::Index => found.extend(
                    self.plugin_file(harness, Extent::User, &root, installed_plugins).unwrap_or_default(),
                ),
                PluginLayout::Directories => {
                    self.directories(harness, &root)
                        .iter()
                        .for_each(|(name, location)| push(name.clone(), location));
                }
                PluginLayout::Versions => {
                    for (marketplace, location) in self.directories(harness, &root) {
                        for (plugin, location) in self.directories(harness, &location) {
                            let versions = self.directories(harness, &location);
                            let names: Vec<String> = versions.into_iter().map(|(name, _)| name).collect();
                            if let Some(location) =
                                newest_version(&names).and_then(|name| location.inner(name))
                            {
                                push(format!("{plugin}@{marketplace}"), &location);
                            }
                        }
                    }
                }
            }
        }
        found
    }

    /// Lists the directories of a directory.
    fn directories(
        &mut self,
        harness: &'static Harness,
        location: &MachinePath,
    ) -> Vec<(String, MachinePath)> {
        match self.machine.list(location) {
            Ok(listed) => {
                let names = listed.map(|listed| listed.names).unwrap_or_default();
                let names = names.into_iter().filter(|name| !name.starts_with('.'));
                let inner = names.filter_map(|name| location.inner(&name).map(|inner| (name, inner)));
                inner.filter(|(_, inner)| self.machine.is_folder(&inner.path)).collect()
            }
            Err(why) => {
                let workspace = self.machine.workspace.clone();
                let source = source(harness, Extent::User, &location.shown, &workspace);
                self.unreadable(&source, &location.path, EntrySource::Mcp, why);
                Vec::new()
            }
        }
    }

    /// Reads which plugins a file enables and disables. A later file is stronger.
    fn plugin_switches(
        &mut self,
        harness: &'static Harness,
        file: &PluginSwitches,
        states: &mut BTreeMap<String, bool>,
    ) {
        let extent = file.files.extent();
        for path in file.files.paths(Platform::of_this_build(), |name| self.machine.variable(name)) {
            let Some(location) = self.machine.location(&path, extent) else { continue };
            if !matches!(file.form, SwitchForm::Each(_)) {
                let read = |source: &Source<'_>, bytes: &[u8]| read_plugin_switches(source, file.form, bytes);
                states.extend(self.plugin_file(harness, extent, &location, read).unwrap_or_default());
                continue;
            }
            let listed = self.machine.list(&location).ok().flatten().map(|listed| listed.names);
            for name in listed.unwrap_or_default().iter().take(MAX_PLUGINS) {
                let (Some(plugin), Some(location)) = (name.strip_suffix(".json"), location.inner(name))
                else {
                    continue;
                };
                let read = |source: &Source<'_>, bytes: &[u8]| read_plugin_switches(source, file.form, bytes);
                let found = self.plugin_file(harness, extent, &location, read).unwrap_or_default();
                states.extend(found.into_values().map(|state| (plugin.to_owned(), state)));
            }
        }
    }

    /// Reads a file about plugins; `None` if it is absent, or an issue says what is wrong with it.
    fn plugin_file<T>(
        &mut self,
        harness: &'static Harness,
        extent: Extent,
        location: &MachinePath,
        read: impl FnOnce(&Source<'_>, &[u8]) -> Result<T, Reading>,
    ) -> Option<T> {
        let workspace = self.machine.workspace.clone();
        let source = source(harness, extent, &location.shown, &workspace);
        match self.look_at(location, extent, PLUGIN_FILE_LIMIT) {
            FileContent::Absent | FileContent::Full => None,
            FileContent::Unreadable(why) => {
                self.unreadable(&source, &location.path, EntrySource::Mcp, why);
                None
            }
            FileContent::Read { bytes, .. } => match read(&source, &bytes) {
                Ok(found) => Some(found),
                Err(reading) => {
                    self.row(&location.path, extent, EntrySource::Mcp, FileStatus::Broken, 0, reading.broken);
                    self.take(extent, reading);
                    None
                }
            },
        }
    }

    fn plugin(
        &mut self,
        harness: &'static Harness,
        store: &PluginStore,
        plugin: &InstalledPlugin,
        states: &BTreeMap<String, bool>,
    ) {
        let extent = plugin.extent;
        let wants = |source| self.is_wanted(source, extent);
        let (wants_servers, wants_skills) = (wants(EntrySource::Mcp), wants(EntrySource::Skill));
        let Some(mut root) = self.machine.location(Path::new(&plugin.path), Extent::User) else { return };
        if let Some(file) = store.link_file.and_then(|name| root.inner(name))
            && let FileContent::Read { bytes, .. } = self.look_at(&file, extent, PLUGIN_FILE_LIMIT)
            && let Some(target) = linked_plugin(&bytes)
            && let Some(target) = self.machine.location(Path::new(&target), Extent::User)
        {
            root = target;
        }
        let manifests = store.manifests.iter().filter_map(|name| root.inner(name));
        let file = manifests.into_iter().find(|file| self.machine.exists(&file.path));
        // Without a manifest only the list says that the directory is a plugin.
        if file.is_none() && store.layout != PluginLayout::Index || !(wants_servers || wants_skills) {
            return;
        }
        if !self.machine.is_folder(&root.path) {
            let workspace = self.machine.workspace.clone();
            let source = source(harness, extent, &root.shown, &workspace);
            let message = format!("the directory of the plugin `{}` is missing", plugin.id);
            return self.add_issue(source.issue(IssueType::ClientFileUnreadable, message, None));
        }
        let read = |source: &Source<'_>, bytes: &[u8]| read_manifest(source, store, bytes);
        let read = file.as_ref().and_then(|file| self.plugin_file(harness, extent, file, read));
        let is_read = read.is_some();
        let manifest = read.unwrap_or_default();
        let name = manifest.name.as_ref().filter(|_| store.layout == PluginLayout::Directories);
        let of_file = name.and_then(|name| states.get(name)).or_else(|| states.get(&plugin.id)).copied();
        let is_enabled = of_file.or(manifest.is_enabled_by_default).unwrap_or(store.is_enabled_by_default);
        let state = PluginState { id: name.unwrap_or(&plugin.id).clone(), is_enabled };
        if wants_servers {
            if let Some(file) = file.filter(|_| is_read && manifest.has_servers) {
                self.file(harness, &store.manifest_config(harness, extent), &file, Some(&state));
            }
            let mut files: Vec<MachinePath> =
                store.server_file.and_then(|name| root.inner(name)).into_iter().collect();
            files.retain(|file| self.machine.exists(&file.path));
            files.extend(manifest.server_files.iter().filter_map(|name| root.inner(name)));
            let mut seen: HashSet<PathBuf> = HashSet::new();
            for file in files.into_iter().filter(|file| seen.insert(file.path.clone())) {
                self.file(harness, &store.server_config(harness, extent), &file, Some(&state));
            }
        }
        if wants_skills {
            self.plugin_folders(harness, store, extent, &root, &manifest, &state);
        }
        manifest.issues.into_iter().for_each(|issue| self.add_issue(issue));
    }

    /// Reads the skills and commands of a plugin.
    fn plugin_folders(
        &mut self,
        harness: &'static Harness,
        store: &PluginStore,
        extent: Extent,
        root: &MachinePath,
        manifest: &PluginManifest,
        state: &PluginState,
    ) {
        let mut all: Vec<(SkillDirectory, &str)> =
            store.folders.iter().map(|folder| (*folder, folder.path)).collect();
        for (holds, names) in
            [(FolderContent::Skills, &manifest.skills), (FolderContent::Commands, &manifest.commands)]
        {
            if let Some(folder) = store.named_folder(holds) {
                all.extend(names.iter().map(|name| (folder, name.as_str())));
            }
        }
        let mut seen: HashSet<(PathBuf, FolderContent)> = HashSet::new();
        for (folder, name) in all {
            let Some(location) = root.inner(name) else { continue };
            let folder = SkillDirectory { extent, ..folder };
            if !seen.insert((location.path.clone(), folder.holds)) {
                continue;
            }
            if self.machine.is_folder(&location.path) {
                self.shelf(harness, folder, &location, Some(state));
            } else if let Some(command) = name.strip_suffix(".md").and_then(|name| name.rsplit('/').next()) {
                self.command(&mut FolderScan::new(harness, folder, Some(state)), command, &location);
            }
        }
        // A plugin without the directory can be a single skill.
        let skills = store.named_folder(FolderContent::Skills);
        if let Some(folder) = skills.filter(|_| manifest.skills.is_empty())
            && root.inner(folder.path).is_some_and(|location| !self.machine.exists(&location.path))
        {
            let name = state.id.split('@').next().unwrap_or_default();
            let folder = SkillDirectory { extent, ..folder };
            self.skill(&mut FolderScan::new(harness, folder, Some(state)), name, root);
        }
    }
}
