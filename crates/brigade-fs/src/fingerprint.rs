//! Computes the sha256 of a file of any size.

use brigade_core::{Fingerprint, FingerprintStream};

use crate::{FsError, ReadFile};

/// The number of bytes read at a time.
const CHUNK: usize = 256 * 1024;

/// Returns the sha256 of a file's bytes, in constant memory.
///
/// # Errors
/// Fails on a disk error.
pub fn fingerprint(file: &dyn ReadFile) -> Result<Fingerprint, FsError> {
    let mut stream = FingerprintStream::new();
    // One byte more, so that the end of a short file is seen in the first read.
    let length = usize::try_from(file.len()?).unwrap_or(CHUNK);
    let mut buffer = vec![0; length.saturating_add(1).min(CHUNK)];
    let mut offset = 0;
    loop {
        match file.read_at(offset, &mut buffer)? {
            0 => return Ok(stream.finish()),
            count => {
                stream.update(&buffer[..count]);
                offset += count as u64;
            }
        }
    }
}
