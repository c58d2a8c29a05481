//! The format of caches that are bound to their source: numbers that identify the source, and a body.

use brigade_fs::{FileId, FsError, ReadFile};
use brigade_journal::{hash, sample};

/// The kind of a cache, and the version of its format.
type Magic = [u8; 8];

/// Encodes a cache.
pub(super) fn sealed<const N: usize>(magic: Magic, numbers: [u64; N], body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 * (N + 2) + body.len());
    bytes.extend_from_slice(&magic);
    for number in numbers.into_iter().chain([hash(&[body])]) {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(body);
    bytes
}

/// Decodes a cache; `None` if it is damaged or of another kind.
pub(super) fn unseal<const N: usize>(magic: Magic, bytes: &[u8]) -> Option<([u64; N], &[u8])> {
    let rest = bytes.strip_prefix(&magic)?;
    let (head, body) = rest.split_at_checked(8 * (N + 1))?;
    let number = |at: usize| u64::from_le_bytes(head[8 * at..8 * (at + 1)].try_into().expect("eight bytes"));
    (number(N) == hash(&[body])).then(|| (std::array::from_fn(number), body))
}

/// Returns numbers for the part of a journal that a cache covers: its file, its length, and samples of its bytes.
pub(super) fn covered_numbers(journal: &dyn ReadFile, id: FileId, length: u64) -> Result<[u64; 4], FsError> {
    Ok([length, id.device, id.inode, sample(journal, length)?])
}
