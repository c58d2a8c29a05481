//! Adds, changes and removes the entry in the bytes of a file.

use brigade_core::yaml::Position;
use brigade_core::{ErrorCode, ErrorKind, Json, JsonErrorKind, OperationError};
use brigade_macros::part;
use std::ops::Range;
use thiserror::Error;

use crate::client::{Client, Format};
use crate::entry::{Entry, NAME, has_additions, is_ours};
use crate::{json, toml};

/// What was created around an entry, so that removing the entry can undo it.
#[part(Copy, Default, PartialEq, Eq)]
pub struct Traces {
    /// Whether the file was created.
    pub file: bool,
    /// How many directories were created for it. The caller counts them.
    #[serde(default)]
    pub folders: usize,
    /// Whether the file was blank and got its outermost object.
    pub document: bool,
    /// Whether the object of the servers was created.
    pub container: bool,
    /// Whether an empty object on one line was split into lines.
    pub opened: bool,
}

/// The result of inserting the entry.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryInsertion {
    /// The new text.
    pub text: String,
    /// The bytes of the entry in the new text.
    pub entry_at: Range<usize>,
    /// Whether the file already had the entry. The text is unchanged then.
    pub is_unchanged: bool,
    /// Whether the entry is new. Only then are the traces those of this edit.
    pub is_new: bool,
    /// Whether the entry has members that Brigade does not write.
    pub has_additions: bool,
    /// What was created around the entry.
    pub traces: Traces,
    /// What the file contains that its format does not allow, in words.
    pub loose: Option<&'static str>,
}

/// The result of removing the entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryRemoval {
    /// The new text; `None` if nothing is left of a file that Brigade created.
    pub text: Option<String>,
    /// The bytes of the entry in the old text.
    pub entry_at: Range<usize>,
}

/// Why a file is not edited. Messages never quote the file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EditRefusal {
    /// The file is UTF-16.
    #[error("the file is UTF-16; save it as UTF-8")]
    Utf16,
    /// The file is not JSON.
    #[error("{kind}")]
    NotJson {
        /// The position of the error.
        at: Position,
        /// The error.
        kind: JsonErrorKind,
    },
    /// The file is not TOML.
    #[error("not valid TOML: {why}")]
    NotToml {
        /// The position of the error.
        at: Position,
        /// The error.
        why: &'static str,
    },
    /// The servers are not in an object or table.
    #[error("`{key}` is not {expected}")]
    WrongContainer {
        /// The position of the value.
        at: Position,
        /// The key.
        key: &'static str,
        /// The expected type.
        expected: &'static str,
    },
    /// A key is duplicated among the servers, or on the path to them.
    #[error("the key appears twice in its object")]
    Duplicate {
        /// The position of the second occurrence.
        at: Position,
    },
    /// Brigade did not write the entry.
    #[error("Brigade did not write the existing entry `{NAME}`")]
    Foreign {
        /// The position of the entry.
        at: Position,
    },
    /// The entry has a form that cannot be edited in place.
    #[error("the entry `{NAME}` is written with dotted keys, which cannot be edited")]
    Form {
        /// The position of the entry.
        at: Position,
    },
    /// The entry has an added key that the client rejects with the new transport.
    #[error(
        "{client} does not read a file whose entry `{NAME}` has `{key}` with this transport; remove the key first"
    )]
    OtherTransport {
        /// The added key.
        key: &'static str,
        /// The name of the client.
        client: &'static str,
    },
    /// The edit would break the file.
    #[error("the entry cannot be added to the servers as they are written")]
    Unfit,
}

impl EditRefusal {
    /// Returns the position in the file.
    pub fn at(&self) -> Option<Position> {
        match self {
            EditRefusal::Utf16 | EditRefusal::Unfit | EditRefusal::OtherTransport { .. } => None,
            EditRefusal::NotJson { at, .. }
            | EditRefusal::NotToml { at, .. }
            | EditRefusal::WrongContainer { at, .. }
            | EditRefusal::Duplicate { at }
            | EditRefusal::Foreign { at }
            | EditRefusal::Form { at } => Some(*at),
        }
    }
}

impl OperationError for EditRefusal {
    fn kind(&self) -> ErrorKind {
        match self {
            EditRefusal::Foreign { .. }
            | EditRefusal::Form { .. }
            | EditRefusal::OtherTransport { .. }
            | EditRefusal::Unfit => ErrorKind::Refused,
            _ => ErrorKind::InvalidConfig,
        }
    }

    fn code(&self) -> Option<ErrorCode> {
        Some(match self {
            EditRefusal::Foreign { .. } => ErrorCode::ClientEntryForeign,
            _ => ErrorCode::ClientFileInvalid,
        })
    }

    fn is_about_request(&self) -> bool {
        true
    }
}

/// Converts a byte offset to a position.
pub(crate) fn at(text: &str, byte: usize) -> Position {
    let before = &text[..text.floor_char_boundary(byte)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before[line_start..].trim_start_matches('\u{feff}').chars().count() + 1;
    Position { line: before.matches('\n').count() + 1, column }
}

/// Returns the line ending of the first line.
pub(crate) fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Decodes UTF-8.
pub(crate) fn decode(bytes: &[u8]) -> Result<&str, EditRefusal> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(EditRefusal::Utf16);
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        EditRefusal::NotJson { at: at(&before, before.len()), kind: JsonErrorKind::NotUtf8 }
    })
}

/// Returns whether a text is only white space, with or without a byte order mark.
pub(crate) fn is_blank(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim().is_empty()
}

/// Inserts the entry into a file. `file` is `None` if the file is missing. `noted` is the entry that was recorded for
/// it.
///
/// An entry that already has all members is left unchanged, including added members. A different one is replaced and
/// keeps the added members.
///
/// # Errors
/// Fails if the file cannot be read or edited, or if its entry is not ours.
pub fn put(
    client: &Client,
    file: Option<&[u8]>,
    entry: &Entry,
    noted: Option<&Json>,
) -> Result<EntryInsertion, EditRefusal> {
    let text = decode(file.unwrap_or_default())?;
    let mut put = match client.format {
        Format::Json | Format::JsonWithComments | Format::JsonWithCommas => {
            json::put(client, text, entry, noted)
        }
        Format::Toml => toml::put(client, text, entry, noted),
    }?;
    put.traces.file = file.is_none();
    // Check the result with an independent parser.
    let stored = crate::servers(client, put.text.as_bytes())?.into_iter().find(|server| server.name == NAME);
    match stored {
        Some(stored) if entry.is_in(&stored.value) => {
            if let Some(key) = entry.misplaced(client, &stored.value).filter(|_| !put.is_unchanged) {
                return Err(EditRefusal::OtherTransport { key, client: client.title });
            }
            put.has_additions = has_additions(&stored.value);
            Ok(put)
        }
        _ => Err(EditRefusal::Unfit),
    }
}

/// Removes the entry from a file. Returns `None` if there is no entry. `traces` and `noted` were recorded when it was
/// written.
///
/// # Errors
/// Fails if the file cannot be read or edited, or if its entry is not ours.
pub fn take(
    client: &Client,
    file: &[u8],
    traces: &Traces,
    noted: Option<&Json>,
) -> Result<Option<EntryRemoval>, EditRefusal> {
    let text = decode(file)?;
    let taken = match client.format {
        Format::Json | Format::JsonWithComments | Format::JsonWithCommas => {
            json::take(client, text, traces, noted)
        }
        Format::Toml => toml::take(client, text, noted),
    }?;
    let Some((text, entry_at)) = taken else { return Ok(None) };
    let is_gone = traces.file && is_blank(&text);
    if !is_gone && crate::servers(client, text.as_bytes())?.iter().any(|server| server.name == NAME) {
        return Err(EditRefusal::Unfit);
    }
    Ok(Some(EntryRemoval { text: (!is_gone).then_some(text), entry_at }))
}

/// Returns whether an entry is ours: by its form, or because it was recorded.
pub(crate) fn is_own(value: &Json, noted: Option<&Json>) -> bool {
    is_ours(value) || noted.is_some_and(|noted| noted == value)
}

#[cfg(test)]
mod tests;
