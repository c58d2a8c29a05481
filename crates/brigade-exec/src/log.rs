//! Reads the logs of runs.

use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

use brigade_fs::{FsError, ReadFile};
use brigade_process::CancelToken;
use brigade_redact::Redactor;

/// The maximum part of a log in a document, in bytes.
pub const LOG_SHOWN: u64 = 1 << 20;

/// How many bytes before that part are redacted too, so that no secret is shown from its middle.
const REDACTION_MARGIN: u64 = 64 << 10;

/// The size of one read.
const PIECE: usize = 64 << 10;

/// The polling interval of a followed log.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Passes a growing log to `sink` until the run ends, the token is set, or `sink` fails, whose error breaks it off.
///
/// # Errors
/// Fails if the log cannot be read, and returns the errors of `is_running`.
pub fn follow_log<E: From<FsError>>(
    file: &dyn ReadFile,
    cancel: &CancelToken,
    is_running: &mut dyn FnMut() -> Result<bool, E>,
    sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Result<ControlFlow<io::Error>, E> {
    let mut offset = 0;
    while !cancel.is_cancelled() {
        // Ask before reading, so everything written before the run ended is still passed on.
        let is_running = is_running()?;
        match pass_log(file, offset, file.len()?, Some(cancel), sink)? {
            ControlFlow::Continue(end) => offset = end,
            ControlFlow::Break(error) => return Ok(ControlFlow::Break(error)),
        }
        if !is_running || cancel.wait(POLL_INTERVAL) {
            break;
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Passes the bytes between two offsets to `sink`, and returns the offset that was reached. An error of `sink` breaks
/// it off.
///
/// # Errors
/// Fails if the log cannot be read.
pub fn pass_log(
    file: &dyn ReadFile,
    from: u64,
    to: u64,
    cancel: Option<&CancelToken>,
    sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Result<ControlFlow<io::Error, u64>, FsError> {
    let mut offset = from;
    while offset < to && !cancel.is_some_and(CancelToken::is_cancelled) {
        let left = usize::try_from(to - offset).unwrap_or(usize::MAX);
        let bytes = file.read_range(offset, left.min(PIECE))?;
        if bytes.is_empty() {
            break;
        }
        offset += bytes.len() as u64;
        if let Err(error) = sink(&bytes) {
            return Ok(ControlFlow::Break(error));
        }
    }
    Ok(ControlFlow::Continue(offset))
}

/// Returns a whole log without secrets.
///
/// # Errors
/// Fails if the log cannot be read.
pub fn log_text(file: &dyn ReadFile, redactor: &Redactor) -> Result<String, FsError> {
    let mut bytes = Vec::new();
    let read = pass_log(file, 0, file.len()?, None, &mut |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    debug_assert!(read.is_continue(), "nothing fails in memory");
    Ok(redactor.redact_str(&String::from_utf8_lossy(&bytes)))
}

/// Returns the last [`LOG_SHOWN`] bytes before `end` without secrets.
///
/// # Errors
/// Fails if the log cannot be read.
pub fn log_end(file: &dyn ReadFile, end: u64, mut redactor: Redactor) -> Result<String, FsError> {
    let mut redacted = Vec::new();
    let from = end.saturating_sub(LOG_SHOWN);
    let before = file.read_range(
        from.saturating_sub(REDACTION_MARGIN),
        usize::try_from(from.min(REDACTION_MARGIN)).unwrap_or(0),
    )?;
    redactor.push(&before, &mut redacted);
    // Output so far is before the shown part. Bytes still held back may start in it.
    redacted.clear();
    let shown = file.read_range(from, usize::try_from(end - from).unwrap_or(0))?;
    redactor.push(&shown, &mut redacted);
    redactor.finish(&mut redacted);
    // Everything is redacted, so the cut cannot split a secret.
    let surplus = redacted.len().saturating_sub(usize::try_from(LOG_SHOWN).unwrap_or(usize::MAX));
    let mut start = surplus;
    // Do not split a character.
    while 0 < surplus && start < surplus + 3 && redacted.get(start).is_some_and(|byte| byte & 0xc0 == 0x80) {
        start += 1;
    }
    Ok(String::from_utf8_lossy(&redacted[start..]).into_owned())
}

#[cfg(test)]
mod tests {
    use brigade_fs::{Fs as _, MemoryFs};

    use super::*;

    fn end_of(bytes: &[u8]) -> String {
        let fs = MemoryFs::new();
        let path: brigade_fs::RelPath = "log".parse().unwrap();
        fs.create(&path, 0o600).unwrap().write(bytes).unwrap();
        log_end(&*fs.open(&path).unwrap(), bytes.len() as u64, Redactor::new(&[]).for_output()).unwrap()
    }

    #[test]
    fn a_short_log_is_shown_whole_without_secrets() {
        assert_eq!(end_of(b""), "");
        assert_eq!(end_of(b"a\xff\ntoken=EXAMPLE123\nb"), "a\u{fffd}\ntoken=[redacted]\nb");
    }

    #[test]
    fn of_a_long_log_exactly_the_end_is_shown() {
        let text: Vec<u8> = (0..300_000).flat_map(|line| format!("{line}\n").into_bytes()).collect();
        let expect = &text[text.len() - LOG_SHOWN as usize..];
        assert_eq!(end_of(&text).as_bytes(), expect);
    }

    #[test]
    fn a_secret_across_the_cut_does_not_show() {
        let secret = format!("password={}", "EXAMPLE1secret".repeat(8));
        for shift in 0..secret.len() {
            let mut text = "x\n".repeat(100_000);
            text.push_str(&secret);
            let rest = LOG_SHOWN as usize - shift - 1;
            text.push('\n');
            text.push_str(&"y".repeat(rest));
            assert!(!end_of(text.as_bytes()).contains("secret"), "{shift}");
        }
    }

    #[test]
    fn a_character_across_the_cut_is_left_out() {
        for shift in 0..4 {
            let text = format!("{}{}", "\u{1f600}".repeat(400_000), "z".repeat(shift));
            assert!(!end_of(text.as_bytes()).contains('\u{fffd}'), "{shift}");
        }
    }
}
