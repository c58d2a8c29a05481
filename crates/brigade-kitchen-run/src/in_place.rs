//! Works on tasks in the workspace itself, one at a time: without git, a commit or a branch, or if worktrees are off.
//!
//! Changes are found by comparing files with their state when the task began. Ignored files, and files of git and
//! Brigade, do not count. Nothing is committed, and git is not run.

mod files;
pub(crate) mod ignore;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use brigade_core::RunId;
use brigade_fs::{DiskFs, FileKind, Fs, FsError, FsErrorKind, OrAbsent, RelPath};

use crate::git::settings::Seal;
use crate::git::task_dir::{make_dirs, remove_any};
use crate::workplace::{
    ChangeKind, ChangedFile, Changes, FolderOrigin, Guard, Integration, Marker, Place, PlaceError,
    RestoreOutcome, TaskCommit, TaskName, Workplace, shown_path,
};
use brigade_kitchen::life::Workplace as Mode;
use files::{Snapshot, added_markers, text_of, walk};

/// The workspace itself as the workplace of tasks. See the [module](self).
pub struct InPlaceWorkplace {
    workspace: Arc<dyn Fs>,
    /// Files that Brigade writes.
    own_files: Mutex<Vec<String>>,
    /// Notes for people about why the tasks are worked on here.
    notes: Vec<String>,
    /// The last snapshot, so that unchanged files are not read again.
    last: Mutex<Snapshot>,
}

impl InPlaceWorkplace {
    /// Works in a workspace. `own_files` are files and directories that Brigade writes. They never count as changes.
    pub fn new(workspace: Arc<dyn Fs>, own_files: Vec<String>) -> InPlaceWorkplace {
        InPlaceWorkplace {
            workspace,
            own_files: Mutex::new(own_files),
            notes: Vec::new(),
            last: Mutex::default(),
        }
    }

    /// Adds a note for people about why the tasks are worked on here.
    #[must_use]
    pub fn noting(mut self, note: String) -> InPlaceWorkplace {
        self.notes.push(note);
        self
    }

    fn before(&self, name: &TaskName) -> Result<RelPath, FsError> {
        let text = format!(".brigade/kitchen/{}/place/{}", name.prd, name.task);
        text.parse().map_err(|_| FsError::new("name", text, FsErrorKind::Outside))
    }

    fn place(&self, name: &TaskName) -> Place {
        let folder = self.workspace.root().to_owned();
        Place { name: name.clone(), folder, worktree: None, root: None, base: None }
    }

    /// Takes a snapshot of all files. Files that are unchanged since the last snapshot are not read.
    fn files(&self) -> Result<Snapshot, PlaceError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let own_files = self.own_files.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let now = walk(&*self.workspace, &own_files, &last)?;
        last.clone_from(&now);
        Ok(now)
    }

    fn last_look(&self) -> Snapshot {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn known(&self, place: &Place) -> Result<Option<Snapshot>, PlaceError> {
        let bytes = self.workspace.read(&self.before(&place.name)?, 1 << 30).or_absent()?;
        Ok(bytes.and_then(|bytes| Snapshot::read(&bytes)))
    }

    /// Records the git settings and hooks, if the workspace is a repository.
    fn seal(&self) -> Result<Seal, FsError> {
        let mut seal = Seal::default();
        let git = RelPath::from_static(".git");
        match self.workspace.link_metadata(&git).or_absent()? {
            Some(found) if found.kind == FileKind::Directory => {
                seal.git_dir(&DiskFs::open(&self.workspace.root().join(".git"))?, ".git")?;
            }
            Some(_) => seal.file(&*self.workspace, ".git", &git)?,
            None => {}
        }
        Ok(seal)
    }
}

impl Workplace for InPlaceWorkplace {
    fn mode(&self) -> Mode {
        Mode::InPlace
    }

    fn own(&self, files: Vec<String>) {
        self.own_files.lock().unwrap_or_else(PoisonError::into_inner).extend(files);
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn begin(&self, name: &TaskName) -> Result<(Place, FolderOrigin), PlaceError> {
        let place = self.place(name);
        if self.known(&place)?.is_some() {
            return Ok((place, FolderOrigin::Found));
        }
        let path = self.before(name)?;
        let origin = if self.workspace.exists(&path)? { FolderOrigin::Remade } else { FolderOrigin::New };
        make_dirs(&*self.workspace, &path.parent())?;
        let snapshot = self.files()?;
        self.workspace.write_cache(&path, &snapshot.to_bytes())?;
        Ok((place, origin))
    }

    fn guard(&self, _: &Place) -> Result<Guard, PlaceError> {
        Ok(Guard(self.seal()?))
    }

    fn look(&self, place: &Place, guard: &Guard) -> Result<Changes, PlaceError> {
        let what = guard.0.differences(&self.seal()?);
        if !what.is_empty() {
            return Err(PlaceError::Tampered { what });
        }
        let gone = || PlaceError::Gone(place.name.task.to_string());
        let before = self.known(place)?.ok_or_else(gone)?;
        let now = self.files()?;
        let mut changes = Changes { tree: now.fingerprint().to_hex(), ..Changes::default() };
        for (path, kind) in before.differences(&now) {
            let shown = shown_path(path);
            if kind != ChangeKind::Deleted {
                let known = before.markers_of(path, &now);
                let new = added_markers(&*self.workspace, path, known)?;
                changes.markers.extend(new.into_iter().map(|(line, word)| Marker {
                    path: shown.clone(),
                    line,
                    word,
                }));
            }
            changes.files.push(ChangedFile { path: shown, kind });
        }
        changes.nested = now.nested(&before).map(shown_path).collect();
        Ok(changes)
    }

    /// Earlier contents are not kept, so changed files can only be named.
    fn put_back(
        &self,
        place: &Place,
        guard: &Guard,
        _: &Changes,
        seen: &Changes,
    ) -> Result<RestoreOutcome, PlaceError> {
        let then = self.last_look();
        let now = self.look(place, guard)?;
        if now.tree == seen.tree && now.nested == seen.nested {
            return Ok(RestoreOutcome::Unchanged);
        }
        let files = self.last_look();
        let changed = then.differences(&files).into_iter().map(|(path, _)| shown_path(path));
        Ok(RestoreOutcome::Stays(changed.chain(files.nested(&then).map(shown_path)).collect()))
    }

    /// Earlier contents are not kept, so only the current state can be recalled.
    fn recall(&self, place: &Place, tree: &str) -> Result<Option<Changes>, PlaceError> {
        let seen = self.look(place, &self.guard(place)?)?;
        Ok((seen.tree == tree).then_some(seen))
    }

    /// Returns the changed files with their new contents. Old contents are not kept.
    fn patch(&self, place: &Place, _: &Changes, limit: usize) -> Result<String, PlaceError> {
        let gone = || PlaceError::Gone(place.name.task.to_string());
        let before = self.known(place)?.ok_or_else(gone)?;
        let now = self.files()?;
        let mut text =
            String::from("The tasks are worked on in place, so earlier content of files is not known.\n");
        for (path, kind) in before.differences(&now) {
            let _ = writeln!(text, "\n{kind:?}: {}", shown_path(path));
            let room = limit.saturating_sub(text.len());
            if kind == ChangeKind::Deleted || room == 0 {
                continue;
            }
            let Some(content) = text_of(&*self.workspace, path)? else {
                text.push_str("(no text)\n");
                continue;
            };
            let mut left = room;
            for line in content.lines() {
                let Some(rest) = left.checked_sub(line.len() + 2) else {
                    text.push_str("[the rest is left out]\n");
                    break;
                };
                left = rest;
                let _ = writeln!(text, "+{line}");
            }
        }
        Ok(text)
    }

    fn commit(&self, _: &Place, changes: &Changes, _: &RunId) -> Result<TaskCommit, PlaceError> {
        if changes.nested.is_empty() {
            Ok(TaskCommit { commit: None, squashed: None })
        } else {
            Err(PlaceError::Nested(changes.nested.clone()))
        }
    }

    fn integrate(&self, _: &Place, _: &TaskCommit) -> Result<Integration, PlaceError> {
        Ok(Integration::Done(None))
    }

    fn finish(&self, place: &Place) -> Result<(), PlaceError> {
        Ok(remove_any(&*self.workspace, &self.before(&place.name)?)?)
    }
}
