//! Checks what a commit adds: no closed place, and no secret.

use brigade_core::ClosedPlace;
use brigade_core::text::escape_terminal;
use brigade_exec::ClosedPlaces;
use brigade_redact::{FirstSecret, Redactor};
use thiserror::Error;

use crate::error::GitError;
use crate::patch::{AddedText, PATCH_ARGUMENTS, PatchFile, PatchReader, PatchSink};
use crate::program::GitCommand;

/// The arguments that show every change of every file as text.
const WHOLE: [&str; 4] = ["--text", "--no-renames", "--ignore-submodules=none", "--root"];

/// The mode of a link.
const LINK: &str = "120000";

/// The longest target of a link that is read.
const MAX_TARGET_BYTES: usize = 4096;

/// Why a commit is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CommitRefusal {
    /// It changes a closed place.
    #[error("the commit changes `{}`, which {}; {}", escape_terminal(.path), .place.reason(), .place.hint())]
    Closed {
        /// The path.
        path: String,
        /// Why it is closed.
        place: ClosedPlace,
    },
    /// It adds a secret.
    #[error("the commit adds a bound value or a token in `{}` line {line}; take it out", escape_terminal(.path))]
    Secret {
        /// The file.
        path: String,
        /// The line.
        line: u64,
    },
    /// It adds a file whose name holds a secret.
    #[error("the name of `{}`, which the commit adds, holds a bound value or a token; rename it", escape_terminal(.path))]
    SecretName {
        /// The file, masked.
        path: String,
    },
}

/// Checks commits.
#[derive(Clone, Copy, Debug)]
pub struct CommitCheck<'c> {
    /// The closed places of the directories of files that the commit is made from and goes to.
    pub places: &'c [ClosedPlaces],
    /// Finds secrets in what is added; if `None`, only paths are checked.
    pub redactor: Option<&'c Redactor>,
}

impl CommitCheck<'_> {
    /// Returns why a path is closed.
    pub fn closes(&self, path: &str) -> Option<CommitRefusal> {
        let place = self.places.iter().find_map(|places| places.closes(path))?;
        Some(CommitRefusal::Closed { path: self.shown(path), place })
    }

    /// Checks what a tree or commit adds to another one; `None` for the first commit. `order` is `git diff-tree`.
    ///
    /// # Errors
    /// Fails if git fails.
    pub fn trees(
        &self,
        order: GitCommand<'_>,
        from: Option<&str>,
        to: &str,
    ) -> Result<Option<CommitRefusal>, GitError> {
        // Git knows these trees without an object.
        let empty = match to.len() {
            40 => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            _ => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        };
        self.stream(order.words(PATCH_ARGUMENTS).words(WHOLE).words([from.unwrap_or(empty), to, "--"]))
    }

    /// Checks each of these commits. `order` is `git diff-tree`.
    ///
    /// # Errors
    /// Fails if git fails.
    pub fn commits(
        &self,
        order: GitCommand<'_>,
        commits: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Option<CommitRefusal>, GitError> {
        let lines: String = commits.into_iter().map(|commit| format!("{}\n", commit.as_ref())).collect();
        if lines.is_empty() {
            return Ok(None);
        }
        self.stream(order.words(PATCH_ARGUMENTS).words(WHOLE).word("--stdin").input(lines))
    }

    fn stream(&self, order: GitCommand<'_>) -> Result<Option<CommitRefusal>, GitError> {
        let mut reader = PatchReader::new(Search {
            check: self,
            refusal: None,
            secret: self.redactor.map(|redactor| FirstSecret::new(redactor, 1)),
            names: self.redactor.map(Redactor::for_refusals),
            file: None,
            next: 0,
            target: Vec::new(),
        });
        order
            .stream(&mut |bytes| {
                reader.take(bytes);
                Ok(())
            })?
            .succeeded()?;
        reader.sink.end_text();
        Ok(reader.sink.refusal)
    }

    fn shown(&self, path: &str) -> String {
        self.redactor.map_or_else(|| path.to_owned(), |redactor| redactor.redact_str(path))
    }
}

/// Collects the first refusal from a diff.
struct Search<'c> {
    check: &'c CommitCheck<'c>,
    refusal: Option<CommitRefusal>,
    secret: Option<FirstSecret>,
    /// Finds secrets in names of files.
    names: Option<Redactor>,
    /// The file whose text is searched.
    file: Option<Vec<u8>>,
    /// The number of the line that would continue the text.
    next: u64,
    /// The target of a link so far.
    target: Vec<u8>,
}

impl Search<'_> {
    fn end_text(&mut self) {
        let line = self.secret.as_mut().and_then(FirstSecret::finish);
        if let (None, Some(line), Some(file)) = (&self.refusal, line, self.file.take()) {
            let path = self.check.shown(&String::from_utf8_lossy(&file));
            self.refusal = Some(CommitRefusal::Secret { path, line });
        }
    }
}

impl PatchSink for Search<'_> {
    fn file(&mut self, file: &PatchFile) {
        if self.refusal.is_none() {
            let path = String::from_utf8_lossy(&file.path);
            self.refusal = self.check.closes(&path);
            let names = self.names.as_ref().filter(|_| self.refusal.is_none() && file.status != b'D');
            if names.is_some_and(|names| names.redact_str(&path) != path) {
                self.refusal = Some(CommitRefusal::SecretName { path: self.check.shown(&path) });
            }
        }
    }

    fn added(&mut self, text: AddedText<'_>) {
        if self.refusal.is_some() {
            return;
        }
        let AddedText { file, line, bytes, is_end } = text;
        if file.mode == LINK {
            let room = MAX_TARGET_BYTES.saturating_sub(self.target.len());
            self.target.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if is_end {
                let target = std::mem::take(&mut self.target);
                let (path, target) = (String::from_utf8_lossy(&file.path), String::from_utf8_lossy(&target));
                let place = self.check.places.iter().find_map(|places| places.closes_link(&path, &target));
                let path = self.check.shown(&path);
                self.refusal = place.map(|place| CommitRefusal::Closed { path, place });
            }
        }
        if self.file.as_ref() != Some(&file.path) || self.next != line {
            self.end_text();
            self.file = Some(file.path.clone());
            if let Some(secret) = &mut self.secret {
                secret.restart(line);
            }
        }
        if let Some(secret) = &mut self.secret {
            secret.push(bytes);
            if is_end {
                secret.push(b"\n");
            }
        }
        self.next = line + u64::from(is_end);
    }
}
