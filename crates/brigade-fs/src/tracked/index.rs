//! Looks up paths in the index of a git repository, versions 2 to 4.
//!
//! Checks every entry and the order of entries. So a format of a later git is not misread.

/// What an index says about a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tracks {
    /// It holds the path, a link on the way to it, or a directory of a sparse index that does.
    Yes,
    /// It does not.
    No,
    /// It does not, but it is part of a split index. The rest is in the shared index with this id.
    Shared(String),
}

/// Bytes that are not an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InvalidIndex;

/// The bytes before the id of an entry's content.
const BEFORE_ID: usize = 40;

/// The bit of an entry's flags that says that more flags follow.
const EXTENDED: u16 = 0x4000;

/// The bits of an entry's flags that hold the length of its path, if it is short enough.
const LENGTH: u16 = 0x0fff;

/// The place of an entry's mode.
const MODE: usize = 24;

/// The mode of a symbolic link.
const LINK: u32 = 0o120_000;

/// Looks a path up.
pub(super) fn tracks(bytes: &[u8], path: &[u8]) -> Result<Tracks, InvalidIndex> {
    // The index does not say how long ids are. With the wrong length, no index passes the checks.
    [20, 32].into_iter().find_map(|id| lookup(bytes, path, id)).ok_or(InvalidIndex)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn lookup(bytes: &[u8], path: &[u8], id_length: usize) -> Option<Tracks> {
    let version = number(bytes, 4)?;
    if !bytes.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let count = number(bytes, 8)?;
    let end = bytes.len().checked_sub(id_length)?;
    let mut at = 12;
    let mut found = false;
    let mut before: Vec<u8> = Vec::new();
    let mut name: Vec<u8> = Vec::new();
    let mut last_stage = 0;
    let is_link = |start: usize| number(bytes, start + MODE).is_some_and(|mode| mode == LINK);
    for index in 0..count {
        let start = at;
        let flags_at = at + BEFORE_ID + id_length;
        let flags = u16::from_be_bytes(bytes.get(flags_at..flags_at + 2)?.try_into().ok()?);
        at = flags_at + 2;
        if flags & EXTENDED != 0 {
            if version < 3 {
                return None;
            }
            at += 2;
        }
        name.clear();
        if version == 4 {
            let (strip, length) = varint(bytes.get(at..end)?)?;
            at += length;
            name.extend_from_slice(&before[..before.len().checked_sub(strip)?]);
        }
        let rest = bytes.get(at..end)?;
        let length = memchr::memchr(0, rest)?;
        name.extend_from_slice(&rest[..length]);
        at += length + 1;
        if version < 4 {
            // Entries are padded with 1 to 8 NULs to a multiple of 8 bytes.
            let padded = start + (at - start).next_multiple_of(8);
            if bytes.get(at..padded)?.iter().any(|byte| *byte != 0) {
                return None;
            }
            at = padded;
        }
        let stage = flags >> 12 & 3;
        let told = usize::from(flags & LENGTH);
        let has_told_length = told == name.len() || (told == usize::from(LENGTH) && told < name.len());
        let is_in_order = index == 0 || before < name || (before == name && last_stage < stage);
        if name.is_empty() || !has_told_length || !is_in_order {
            return None;
        }
        // In a sparse index, a directory means all files in it. A link chooses what is below its path.
        let is_above = |rest: &[u8]| name.ends_with(b"/") || (rest.starts_with(b"/") && is_link(start));
        found |= path.strip_prefix(&name[..]).is_some_and(|rest| rest.is_empty() || is_above(rest));
        std::mem::swap(&mut before, &mut name);
        last_stage = stage;
    }
    let shared = extensions(bytes.get(at..end)?, id_length)?;
    Some(match (found, shared) {
        (true, _) => Tracks::Yes,
        (false, Some(id)) => Tracks::Shared(id),
        (false, None) => Tracks::No,
    })
}

/// Reads a variable-length number. Version 4 uses it for the bytes to cut off the previous path.
fn varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = usize::from(bytes.first()? & 127);
    let mut at = 0;
    while bytes[at] & 128 != 0 {
        at += 1;
        value = value.checked_add(1)?.checked_mul(128)? | usize::from(bytes.get(at)? & 127);
    }
    Some((value, at + 1))
}

/// Skips the extensions. Returns the id of the shared index, if there is one.
fn extensions(mut bytes: &[u8], id_length: usize) -> Option<Option<String>> {
    let mut shared = None;
    while !bytes.is_empty() {
        let signature = bytes.get(..4)?;
        let length = usize::try_from(number(bytes, 4)?).ok()?;
        let content = bytes.get(8..8usize.checked_add(length)?)?;
        // Unknown extensions may be skipped only if they begin with a capital.
        match signature {
            b"link" => {
                let id = content.get(..id_length)?;
                if id.iter().any(|byte| *byte != 0) {
                    shared = Some(id.iter().map(|byte| format!("{byte:02x}")).collect());
                }
            }
            b"sdir" => {}
            [b'A'..=b'Z', ..] => {}
            _ => return None,
        }
        bytes = &bytes[8 + length..];
    }
    Some(shared)
}
