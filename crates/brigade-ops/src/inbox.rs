//! The inbox file: one JSON object per line.

use std::collections::BTreeMap;

use brigade_core::json::compact_text;
use brigade_core::text::escape_terminal;
use brigade_core::{Dialect, ErrorKind, IdPrefix, Json, NextStep, Timestamp};
use brigade_doctor::{InboxItem, InboxStatus};
use brigade_fs::{FileMode, Fs, FsError, RelPath};
use brigade_policy::Failure;
use brigade_workspace::{CONFIG_LIMIT, WorkspaceContext};

/// The inbox file.
pub const INBOX: &str = ".brigade/work/imports/inbox.jsonl";

/// The directory of the inbox.
const FOLDER: &str = ".brigade/work/imports";

/// The lock for changes.
const LOCK: &str = ".brigade/work/imports/inbox.lock";

/// The rows of the inbox and their pending changes.
#[derive(Debug, Default, PartialEq)]
pub struct InboxFile {
    /// Readable lines, with the original bytes and the row.
    rows: Vec<(Vec<u8>, InboxItem)>,
    /// Unreadable lines.
    broken: Vec<Vec<u8>>,
    /// Whether the last line has no newline.
    is_torn: bool,
    appended: Vec<u8>,
    is_changed: bool,
}

/// Unreadable lines that were moved to a quarantine file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct QuarantinedLines {
    /// Number of lines.
    pub lines: usize,
    /// The quarantine file, relative to the workspace.
    pub file: Option<String>,
}

/// The maximum number of candidates for an ambiguous prefix.
const CANDIDATES: usize = 20;

impl InboxFile {
    /// Gives a row a status, and returns it.
    ///
    /// # Errors
    /// Fails if no row or several rows match. Also fails if the row already has the status, and then returns it.
    pub fn decide(
        &mut self,
        prefix: &IdPrefix,
        status: InboxStatus,
        reason: Option<String>,
        now: Timestamp,
    ) -> Result<InboxItem, (Failure, Option<Box<InboxItem>>)> {
        let index = self.find(prefix).map_err(|failure| (failure, None))?;
        let mut row = self.row(index).clone();
        if row.status.as_ref() == Some(&status) {
            let failure = Failure::new(ErrorKind::Refused, format!("the row is {status} already"));
            return Err((failure, Some(Box::new(row))));
        }
        row.status = Some(status);
        row.updated_at = Some(now.to_string());
        row.review_reason = reason.or(row.review_reason);
        self.replace(index, row.clone());
        Ok(row)
    }

    /// Finds the index of a row. An equal id wins over ids that start with the prefix. If two rows have the id, the
    /// last one is used.
    ///
    /// # Errors
    /// Fails if no row or several rows match.
    pub fn find(&self, prefix: &IdPrefix) -> Result<usize, Failure> {
        let text = prefix.as_str();
        let mut found: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, row) in self.rows().enumerate() {
            if let Some(id) = row.id.as_deref().filter(|id| !text.is_empty() && id.starts_with(text)) {
                found.insert(id, index);
            }
        }
        if let Some(index) = found.get(text) {
            return Ok(*index);
        }
        match found.len() {
            0 => {
                let message = format!("no row of the inbox matches `{}`", escape_terminal(text));
                Err(Failure::new(ErrorKind::NotFound, message).hint(NextStep::ListInbox))
            }
            1 => Ok(found.into_values().next().unwrap_or_default()),
            _ => {
                let candidates = found.into_keys().take(CANDIDATES).map(str::to_owned).collect();
                Err(Failure::ambiguous("row", text, candidates))
            }
        }
    }

    /// Parses the bytes of the file. Skips blank lines and a byte order mark.
    pub fn parse(bytes: &[u8]) -> InboxFile {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut inbox =
            InboxFile { is_torn: bytes.last().is_some_and(|byte| *byte != b'\n'), ..InboxFile::default() };
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            match Json::parse_bytes(line, Dialect::Lenient) {
                Ok(Json::Object(members)) => {
                    let row = InboxItem::from_members(members).expect("a row needs no member");
                    inbox.rows.push((line.to_vec(), row));
                }
                Ok(_) | Err(_) => inbox.broken.push(line.to_vec()),
            }
        }
        inbox
    }

    /// Returns the rows in file order.
    pub fn rows(&self) -> impl Iterator<Item = &InboxItem> {
        self.rows.iter().map(|(_, row)| row)
    }

    /// Returns one row.
    ///
    /// # Panics
    /// Panics if the index is out of range.
    pub fn row(&self, index: usize) -> &InboxItem {
        &self.rows[index].1
    }

    /// Returns the number of unreadable lines.
    pub fn unreadable(&self) -> usize {
        self.broken.len()
    }

    /// Adds a row at the end.
    pub fn append(&mut self, row: &InboxItem) {
        self.appended.extend_from_slice(&line(row));
        self.appended.push(b'\n');
    }

    /// Replaces a row.
    pub fn replace(&mut self, index: usize, row: InboxItem) {
        self.rows[index] = (line(&row), row);
        self.is_changed = true;
    }

    /// Returns the new bytes of the file, without unreadable lines.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (line, _) in &self.rows {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(&self.appended);
        bytes
    }
}

/// Formats a row as a line, without the newline.
fn line(row: &InboxItem) -> Vec<u8> {
    compact_text(row).expect("a record is JSON").into_bytes()
}

/// Reads and changes the inbox of a workspace.
#[derive(Clone, Copy)]
pub struct InboxStore<'a> {
    context: &'a WorkspaceContext,
}

impl<'a> InboxStore<'a> {
    /// Reads and changes the inbox of a context.
    pub fn new(context: &'a WorkspaceContext) -> InboxStore<'a> {
        InboxStore { context }
    }

    /// Reads the inbox; a missing file is an empty inbox.
    pub fn read(&self) -> Result<InboxFile, FsError> {
        match self.context.fs.read(&RelPath::from_static(INBOX), CONFIG_LIMIT) {
            Ok(bytes) => Ok(InboxFile::parse(&bytes)),
            Err(error) if error.is_not_found() => Ok(InboxFile::default()),
            Err(error) => Err(error),
        }
    }

    /// Changes the inbox under its lock. Changes are durable on return; without a change nothing is written.
    ///
    /// # Errors
    /// Returns file errors, and a timeout if another process keeps the lock.
    pub fn change<T>(
        &self,
        change: impl FnOnce(&mut InboxFile) -> T,
    ) -> Result<(T, QuarantinedLines), FsError> {
        self.context.fs.create_dir_all(&RelPath::from_static(FOLDER))?;
        let holder = format!("process {}, since {}", std::process::id(), self.context.clock.now());
        let _lock = self.context.fs.lock(&RelPath::from_static(LOCK), &holder, self.context.timeout)?;
        let mut inbox = self.read()?;
        let result = change(&mut inbox);
        let set_aside = quarantine(&*self.context.fs, &inbox)?;
        let has_rows = !inbox.appended.is_empty();
        if inbox.is_changed || set_aside.file.is_some() || (has_rows && inbox.is_torn) {
            self.context.fs.write_atomic(
                &RelPath::from_static(INBOX),
                &inbox.to_bytes(),
                FileMode::Private,
            )?;
        } else if has_rows {
            self.context.fs.append_durable(&RelPath::from_static(INBOX), &inbox.appended)?;
        }
        Ok((result, set_aside))
    }
}

/// Copies unreadable lines to a quarantine file, before the inbox is written without them.
fn quarantine(fs: &dyn Fs, inbox: &InboxFile) -> Result<QuarantinedLines, FsError> {
    if inbox.broken.is_empty() {
        return Ok(QuarantinedLines::default());
    }
    let mut bytes = inbox.broken.join(&b'\n');
    bytes.push(b'\n');
    let mut number = 1;
    let path = loop {
        let path: RelPath = RelPath::composed(&format!("{FOLDER}/inbox.quarantine-{number}.jsonl"));
        match fs.read(&path, bytes.len() as u64) {
            // A crash happened after this copy, before the inbox was rewritten.
            Ok(existing) if existing == bytes => break path,
            Err(error) if error.is_not_found() => {
                fs.create_new_durable(&path, &bytes)?;
                break path;
            }
            Ok(_) | Err(_) => number += 1,
        }
    };
    Ok(QuarantinedLines { lines: inbox.broken.len(), file: Some(path.to_string()) })
}

#[cfg(test)]
mod tests;
