//! The files that decide what waits, so that a watcher notices changes without reading them.

use brigade_call::{CALLS, CHECKPOINTS};
use brigade_fs::{Mark, RelPath};
use brigade_kitchen_run::KITCHEN;
use brigade_workspace::{CATALOG, GATEWAY, POLICY};

use super::daily::Daily;

/// The store of questions. Its last changes are in the second file.
const STATE: [&str; 2] = [".brigade/tools/state.db", ".brigade/tools/state.db-wal"];

impl Daily {
    /// Returns the marks of the files that decide what waits, and of other files. While they are equal, nothing
    /// changed.
    pub fn marks<'p>(&self, others: impl IntoIterator<Item = &'p str>) -> Vec<Option<Mark>> {
        let root = self.context.fs.root();
        let folder = RelPath::from_static(KITCHEN);
        let served = self.context.fs.list_dir(&folder).unwrap_or_default();
        let journals = served.iter().map(|entry| format!("{KITCHEN}/{}/journal.jsonl", entry.name));
        let fixed = [CALLS, CHECKPOINTS, CATALOG, POLICY, GATEWAY].into_iter().chain(STATE);
        let others = others.into_iter().map(str::to_owned);
        // An absolute path replaces the root.
        let paths = fixed.map(str::to_owned).chain(journals).chain(others);
        paths.map(|path| Mark::at(&root.join(path))).collect()
    }
}
