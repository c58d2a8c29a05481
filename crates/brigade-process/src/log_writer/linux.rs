//! Hides what a forked process reveals about the program it was copied from.

use brigade_sandbox::system::read_full;
use rustix::fs::{Mode, OFlags};

/// The name in process lists.
const TITLE: &[u8] = b"brigade: log writer";

/// Sets another process name, and erases the command line and environment in process lists.
///
/// A marker in the environment of the caller identifies the caller, so the copy must not show it. If the system does
/// not let a process write to its memory through `/proc`, the texts stay. Does not allocate.
pub(super) fn forget() {
    // SAFETY: the name ends with NUL.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"brigade-log".as_ptr()) };
    let Some([arguments, arguments_end, environment, environment_end]) = places() else { return };
    let Ok(memory) = rustix::fs::open(c"/proc/self/mem", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
    else {
        return;
    };
    let wipe = |mut from: u64, to: u64| {
        let nothing = [0u8; 512];
        while from < to {
            let length = usize::try_from(to - from).unwrap_or(usize::MAX).min(nothing.len());
            match rustix::io::pwrite(&memory, &nothing[..length], from) {
                Ok(written) if 0 < written => from += written as u64,
                Ok(_) | Err(_) => return,
            }
        }
    };
    wipe(environment, environment_end);
    wipe(arguments, arguments_end);
    let room = usize::try_from(arguments_end.saturating_sub(arguments)).unwrap_or(usize::MAX);
    // The last byte stays empty, because it ends the text.
    let _ = rustix::io::pwrite(&memory, &TITLE[..TITLE.len().min(room.saturating_sub(1))], arguments);
}

/// Returns the memory ranges of command line and environment, from `/proc/self/stat`.
fn places() -> Option<[u64; 4]> {
    let file = rustix::fs::open(c"/proc/self/stat", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut bytes = [0u8; 2048];
    let length = read_full(&file, &mut bytes);
    parse(&bytes[..length])
}

/// Parses the fields 48 to 51. The name may have spaces and brackets, so fields count from the last `)`.
fn parse(bytes: &[u8]) -> Option<[u64; 4]> {
    let close = bytes.iter().rposition(|byte| *byte == b')')?;
    let mut fields = bytes[close + 1..].split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let mut found = [0u64; 4];
    for (index, place) in found.iter_mut().enumerate() {
        // The first field after the name is the third.
        let field = if index == 0 { fields.nth(45) } else { fields.next() };
        *place = std::str::from_utf8(field?).ok()?.parse().ok()?;
    }
    // Without permission, the fields are zero.
    found.iter().all(|place| *place != 0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_ranges_are_found_after_any_name() {
        let fields: Vec<String> = (4..=52).map(|number| number.to_string()).collect();
        let line = format!("7 (a ) S 1) R {}\n", fields.join(" "));
        assert_eq!(parse(line.as_bytes()), Some([48, 49, 50, 51]));
        assert_eq!(parse(b"7 (a) R 1 2 3"), None);
        assert_eq!(parse(b""), None);
        let [arguments, arguments_end, environment, environment_end] = places().unwrap();
        assert!(arguments < arguments_end && environment <= environment_end);
    }
}
