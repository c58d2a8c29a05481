//! Updates the user's checkouts of the branch. They must be clean.
//!
//! First a note is written, then the ref moves, then the files are updated. After a crash, the next start finds the
//! note and completes the update, unless the user changed something since.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::PoisonError;

use brigade_fs::{FileMode, Fs as _, FsError, RelPath};

use super::GitPlace;
use super::repository::{Checkout, unsafe_name};
use crate::workplace::{CommitId, PlaceError};
use brigade_git::{GitDirectories, untracked_in_the_way};

/// The maximum number of files that a message names.
const MAX_NAMED: usize = 5;

/// The note about an update of a checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Note {
    branch: String,
    old: CommitId,
    new: CommitId,
    checkouts: Vec<Checkout>,
}

impl GitPlace {
    /// Fails if a checkout has uncommitted changes to files that Brigade does not write.
    pub(super) fn require_clean(&self, checkout: &Checkout, branch: &str) -> Result<(), PlaceError> {
        let order = self.in_checkout("status", checkout);
        let order = order.words(["--porcelain=v1", "-z", "--untracked-files=no", "--no-renames"]);
        let answer = order.word("--ignore-submodules=all").run()?;
        let changed = answer.parts().filter_map(|part| part.get(3..)).filter(|path| !self.is_own(path));
        let files: Vec<String> = changed.map(crate::workplace::shown_path).take(MAX_NAMED).collect();
        if files.is_empty() {
            return Ok(());
        }
        Err(self.dirty(checkout, branch, files))
    }

    fn dirty(&self, checkout: &Checkout, branch: &str, files: Vec<String>) -> PlaceError {
        let folder = checkout.top.to_string_lossy().into_owned();
        PlaceError::Dirty { branch: branch.to_owned(), folder, files }
    }

    /// Returns whether Brigade writes a file.
    fn is_own(&self, path: &[u8]) -> bool {
        let Some(path) = path.strip_prefix(self.repository.prefix.as_bytes()) else { return false };
        let later = self.later_files.lock().unwrap_or_else(PoisonError::into_inner);
        self.options.own_files.iter().chain(&*later).any(|own| {
            let own = own.trim_end_matches('/').as_bytes();
            path.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        })
    }

    /// Creates a git command for a checkout of the user, without the configured filters.
    fn in_checkout(&self, operation: &'static str, checkout: &Checkout) -> brigade_git::GitCommand<'_> {
        let git_dirs = GitDirectories {
            git_dir: Some(checkout.git_dir.clone()),
            work_tree: Some(checkout.top.clone()),
            is_durable: true,
            ..GitDirectories::default()
        };
        let order = self.repository.git.order(operation).in_dirs(&git_dirs);
        self.repository.settings.filters().fold(order, |order, name| {
            let order = order.setting(&format!("filter.{name}.clean"), "");
            let order = order.setting(&format!("filter.{name}.smudge"), "");
            let order = order.setting(&format!("filter.{name}.process"), "");
            order.setting(&format!("filter.{name}.required"), "false")
        })
    }

    /// Moves a branch and updates its checkouts. Returns false if the branch is no longer at `old`.
    pub(super) fn move_checked_out(
        &self,
        branch: &str,
        checkouts: &[Checkout],
        new: &CommitId,
        old: &CommitId,
        reason: &str,
    ) -> Result<bool, PlaceError> {
        if self.repository.tip(branch)? != *old {
            return Ok(false);
        }
        for checkout in checkouts {
            self.require_clean(checkout, branch)?;
            self.require_no_filter(checkout, branch, old, new)?;
            self.require_free(checkout, branch, old, new)?;
            // Checks whether git would refuse.
            let order = self.in_checkout("read-tree", checkout);
            order.words(["-n", "-m", "-u", old.as_str(), new.as_str()]).run()?;
        }
        let note = Note {
            branch: branch.to_owned(),
            old: old.clone(),
            new: new.clone(),
            checkouts: checkouts.to_vec(),
        };
        let path = note_path()?;
        self.folders.kitchen.write_atomic(&path, &note.to_bytes(), FileMode::Private)?;
        let name = format!("refs/heads/{branch}");
        if !self.repository.update_refs(reason, &[(name, new, Some(old))])? {
            self.folders.kitchen.remove(&path)?;
            return Ok(false);
        }
        for checkout in checkouts {
            let order = self.in_checkout("read-tree", checkout);
            order.words(["-m", "-u", old.as_str(), new.as_str()]).run()?;
        }
        self.folders.kitchen.remove(&path)?;
        Ok(true)
    }

    /// Fails if a file that git does not track, ignored or not, is where a new file would be.
    fn require_free(
        &self,
        checkout: &Checkout,
        branch: &str,
        old: &CommitId,
        new: &CommitId,
    ) -> Result<(), PlaceError> {
        let order = self.repository.git.order("diff-tree").in_dirs(&self.repository.git_dirs());
        let order = order.words(["-r", "-z", "--name-status", "--no-renames"]);
        let answer = order.words([old.as_str(), new.as_str(), "--"]).run()?;
        let parts: Vec<&[u8]> = answer.parts().collect();
        let changes: Vec<(&[u8], &[u8])> = parts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        let mut holds_untracked = |path: &[u8]| {
            let order = self.in_checkout("ls-files", checkout).words(["--others", "-z", "--"]);
            Ok(order.word(OsStr::from_bytes(path)).run()?.parts().next().is_some())
        };
        let Some(path) = untracked_in_the_way(&checkout.top, &changes, &mut holds_untracked)? else {
            return Ok(());
        };
        Err(PlaceError::InTheWay {
            branch: branch.to_owned(),
            folder: checkout.top.to_string_lossy().into_owned(),
            file: crate::workplace::shown_path(path),
        })
    }

    /// Fails if a changed file needs a filter of the user.
    fn require_no_filter(
        &self,
        checkout: &Checkout,
        branch: &str,
        old: &CommitId,
        new: &CommitId,
    ) -> Result<(), PlaceError> {
        if self.repository.settings.filters().next().is_none() {
            return Ok(());
        }
        let paths = self.changed_paths(old, new)?;
        let order = self.in_checkout("check-attr", checkout).words(["-z", "--stdin", "filter"]);
        let mut input = Vec::new();
        for path in &paths {
            input.extend_from_slice(path);
            input.push(0);
        }
        let answer = order.input(input).run()?;
        let fields: Vec<&[u8]> = answer.parts().collect();
        let filtered = fields.chunks_exact(3).filter(|row| {
            let value = String::from_utf8_lossy(row[2]).into_owned();
            self.repository.settings.filters().any(|name| name == value)
        });
        let files: Vec<String> =
            filtered.map(|row| crate::workplace::shown_path(row[0])).take(MAX_NAMED).collect();
        if files.is_empty() {
            return Ok(());
        }
        let message = format!(
            "`{branch}` is checked out, and git filters write {}; check out another branch",
            files.join(", ")
        );
        Err(PlaceError::Nowhere(message))
    }

    fn changed_paths(&self, old: &CommitId, new: &CommitId) -> Result<BTreeSet<Vec<u8>>, PlaceError> {
        let order = self.repository.git.order("diff-tree").in_dirs(&self.repository.git_dirs());
        let order = order.words(["-r", "-z", "--name-only", "--no-renames"]);
        let answer = order.words([old.as_str(), new.as_str(), "--"]).run()?;
        Ok(answer.parts().map(<[u8]>::to_vec).collect())
    }

    /// Completes an update that a crash interrupted.
    pub(super) fn finish_checkout(&self) -> Result<(), PlaceError> {
        let path = note_path()?;
        if !self.folders.kitchen.exists(&path)? {
            return Ok(());
        }
        let note = Note::read(&self.folders.kitchen.read(&path, 1 << 20)?);
        let Some(note) = note else { return Ok(self.folders.kitchen.remove(&path)?) };
        self.repository.check()?;
        if self.repository.tip(&note.branch)? == note.new {
            let changed = self.changed_paths(&note.old, &note.new)?;
            let holding = self.repository.checkouts_of(&note.branch)?;
            for checkout in note.checkouts.iter().filter(|checkout| holding.contains(checkout)) {
                self.follow(checkout, &note, &changed)?;
            }
        }
        Ok(self.folders.kitchen.remove(&path)?)
    }

    /// Updates a checkout to its branch, if the user changed nothing in it.
    fn follow(
        &self,
        checkout: &Checkout,
        note: &Note,
        changed: &BTreeSet<Vec<u8>>,
    ) -> Result<(), PlaceError> {
        if self.require_clean(checkout, &note.branch).is_ok() {
            return Ok(());
        }
        // A file that matches neither the old nor the new commit was changed by the user.
        let was = self.differing(checkout, &note.old, "was.index")?;
        let becomes = self.differing(checkout, &note.new, "becomes.index")?;
        let foreign = was.iter().filter(|path| !self.is_own(path));
        let foreign: Vec<&Vec<u8>> =
            foreign.filter(|path| !changed.contains(*path) || becomes.contains(*path)).collect();
        if !foreign.is_empty() {
            let files =
                foreign.iter().map(|path| crate::workplace::shown_path(path)).take(MAX_NAMED).collect();
            return Err(self.dirty(checkout, &note.branch, files));
        }
        // Only files that differ between the two commits are written. Other files may have changes of Brigade.
        let mut order = self.in_checkout("checkout-index", checkout);
        let index = self.index_for(checkout, &note.new, "becomes.index")?;
        let (mut written, mut removed) = (Vec::new(), Vec::new());
        let listed = self.repository.git.order("ls-tree").in_dirs(&self.repository.git_dirs());
        let listed = listed.words(["-r", "-z", "--name-only", "--full-tree", note.new.as_str()]).run()?;
        let existing: BTreeSet<&[u8]> = listed.parts().collect();
        for path in changed {
            if existing.contains(path.as_slice()) {
                written.extend_from_slice(path);
                written.push(0);
            } else {
                removed.push(path);
            }
        }
        order = order.variable("GIT_INDEX_FILE", &index).words(["-f", "-q", "-z", "--stdin"]);
        order.input(written).run()?;
        let files = brigade_fs::DiskFs::open(&checkout.top)?;
        for path in removed {
            let path = std::str::from_utf8(path).ok().and_then(|path| path.parse::<RelPath>().ok());
            if let Some(path) = path
                && files.link_metadata(&path).is_ok_and(|found| found.kind != brigade_fs::FileKind::Directory)
            {
                files.remove(&path)?;
            }
        }
        let order = self.in_checkout("read-tree", checkout);
        order.words(["--reset", note.new.as_str()]).run()?;
        self.in_checkout("update-index", checkout).words(["-q", "--refresh"]).ask()?;
        for name in ["was.index", "becomes.index"] {
            super::task_dir::remove_any(&self.folders.kitchen, &scratch(name)?)?;
        }
        Ok(())
    }

    /// Lists the files of a checkout that differ from a commit.
    fn differing(
        &self,
        checkout: &Checkout,
        commit: &CommitId,
        name: &str,
    ) -> Result<BTreeSet<Vec<u8>>, PlaceError> {
        let index = self.index_for(checkout, commit, name)?;
        let order = self.in_checkout("diff-files", checkout).variable("GIT_INDEX_FILE", index);
        let answer = order.words(["-z", "--name-only", "--ignore-submodules=all"]).run()?;
        Ok(answer.parts().map(<[u8]>::to_vec).collect())
    }

    /// Makes a temporary index for a commit, with the state of the files of a checkout.
    fn index_for(&self, checkout: &Checkout, commit: &CommitId, name: &str) -> Result<PathBuf, PlaceError> {
        let path = self.folders.kitchen.root().join(scratch(name)?.as_path());
        let order = self.in_checkout("read-tree", checkout).variable("GIT_INDEX_FILE", &path);
        order.word(commit.as_str()).run()?;
        let order = self.in_checkout("update-index", checkout).variable("GIT_INDEX_FILE", &path);
        order.words(["-q", "--refresh"]).ask()?;
        Ok(path)
    }
}

fn note_path() -> Result<RelPath, FsError> {
    scratch("checkout.note")
}

/// Returns a path for a temporary file. No PRD has this name.
fn scratch(name: &str) -> Result<RelPath, FsError> {
    let path = format!("+{name}");
    path.parse().map_err(|_| unsafe_name(&path))
}

impl Note {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let head = [self.branch.as_bytes(), self.old.as_str().as_bytes(), self.new.as_str().as_bytes()];
        let paths = self.checkouts.iter().flat_map(|checkout| [&checkout.top, &checkout.git_dir]);
        for part in head.into_iter().chain(paths.map(|path| path.as_os_str().as_bytes())) {
            bytes.extend_from_slice(part);
            bytes.push(0);
        }
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Note> {
        let parts: Vec<&[u8]> = bytes.strip_suffix(b"\0")?.split(|byte| *byte == 0).collect();
        let [branch, old, new, paths @ ..] = &parts[..] else { return None };
        let text = |part: &[u8]| std::str::from_utf8(part).ok().map(str::to_owned);
        let path = |part: &[u8]| PathBuf::from(OsStr::from_bytes(part));
        Some(Note {
            branch: text(branch)?,
            old: CommitId::new(&text(old)?)?,
            new: CommitId::new(&text(new)?)?,
            checkouts: paths
                .chunks_exact(2)
                .map(|pair| Checkout { top: path(pair[0]), git_dir: path(pair[1]) })
                .collect(),
        })
    }
}
