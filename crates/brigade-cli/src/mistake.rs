//! Bugs in Brigade: reported in one line, without a backtrace.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, set_hook};
use std::sync::Mutex;

use brigade::Exit;
use brigade::core::json::write_document;

use crate::render::failure::ErrorReport;
use crate::surroundings::Streams;
use crate::usage;

/// The location of the last panic.
static PLACE: Mutex<Option<String>> = Mutex::new(None);

/// Silences panics of this process. [`run`](crate::run) reports their source location, but not their text, which may
/// contain secrets.
pub fn report_mistakes() {
    set_hook(Box::new(|panic| {
        let place = panic.location().map(place);
        *PLACE.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = place;
    }));
}

/// Runs the program and turns a panic into a report.
pub(crate) fn guard(
    words: &[OsString],
    streams: &mut Streams<'_>,
    program: impl FnOnce(&mut Streams<'_>) -> Exit,
) -> Exit {
    match catch_unwind(AssertUnwindSafe(|| program(streams))) {
        Ok(exit) => exit,
        Err(_) => {
            let place = PLACE.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
            let place = place.unwrap_or_else(|| "unknown location".to_owned());
            let message =
                format!("this is a bug in brigade {}: {place}; please report it", env!("CARGO_PKG_VERSION"));
            if usage::wants_json(words) {
                // The exit code reports the bug even if standard output cannot be written.
                let _ = write_document(streams.output, &ErrorReport::bug(message.clone()));
            }
            let _ = writeln!(streams.error, "error[bug]: {message}");
            Exit::Bug
        }
    }
}

/// Returns a source location without the build directory.
fn place(location: &Location<'_>) -> String {
    let file = location.file();
    let short = ["/crates/", "/registry/src/", "/library/"]
        .iter()
        .find_map(|mark| file.split_once(mark).map(|(_, rest)| rest))
        .unwrap_or(file);
    format!("{short}:{}", location.line())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_one_line_with_a_separate_exit_code() {
        let (mut output, mut error) = (Vec::new(), Vec::new());
        let mut streams = Streams { input: &mut std::io::empty(), output: &mut output, error: &mut error };
        let words = ["brigade", "--json"].map(OsString::from);
        let exit = guard(&words, &mut streams, |_| panic!("a secret"));
        assert_eq!(exit, Exit::Bug);
        let said = String::from_utf8(error).unwrap();
        assert!(said.contains("this is a bug in brigade") && said.lines().count() == 1, "{said}");
        let document: serde_json::Value = serde_json::from_slice(&output).unwrap();
        assert_eq!((&document["exit_code"], &document["kind"]), (&70.into(), &"bug".into()));
        assert!(!said.contains("secret") && !document.to_string().contains("secret"));
    }
}
