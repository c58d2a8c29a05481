//! Requests to end a run that another process runs.
//!
//! A request is a file in `.brigade/tools/runtime/ending` with the name of the run, which says who asks. Only the
//! process that runs the call can end it in order: it looks for requests while it runs calls, takes the file, and ends
//! the run.

use brigade_core::RunId;
use brigade_fs::{FileKind, FileMode, Fs, FsError, RelPath};

/// Where the requests are.
const ENDING: &str = ".brigade/tools/runtime/ending";

/// The length of the longest name of who asks.
const WHO: u64 = 4096;

/// Asks the process of a run to end it, in the name of a caller.
///
/// # Errors
/// Fails on a disk error.
pub(super) fn request_end(fs: &dyn Fs, run: &RunId, who: &str) -> Result<(), FsError> {
    fs.create_dir_all(&folder())?;
    fs.write_atomic(&path(run), who.as_bytes(), FileMode::Private)
}

/// Lists the runs that are to end.
pub(super) fn requested_ends(fs: &dyn Fs) -> Vec<RunId> {
    let entries = fs.list_dir(&folder()).unwrap_or_default().into_iter();
    entries.filter(|entry| entry.kind == FileKind::File).filter_map(|entry| entry.name.parse().ok()).collect()
}

/// Takes the request to end a run, and returns who asks. `None` without a request, or if another process took it.
pub(super) fn take_requested_end(fs: &dyn Fs, run: &RunId) -> Option<String> {
    let path = path(run);
    let who = fs.read(&path, WHO).ok()?;
    fs.remove(&path).ok()?;
    String::from_utf8(who).ok()
}

fn folder() -> RelPath {
    RelPath::from_static(ENDING)
}

fn path(run: &RunId) -> RelPath {
    folder().join(run.as_str()).expect("a run id is a file name")
}

#[cfg(test)]
mod tests {
    use brigade_fs::MemoryFs;

    use super::*;

    #[test]
    fn a_request_is_taken_once() {
        let (fs, run) = (MemoryFs::new(), "run-1".parse().unwrap());
        assert_eq!((requested_ends(&fs), take_requested_end(&fs, &run)), (Vec::new(), None));
        request_end(&fs, &run, "agent:ann").unwrap();
        assert_eq!(requested_ends(&fs), std::slice::from_ref(&run));
        assert_eq!(take_requested_end(&fs, &run).as_deref(), Some("agent:ann"));
        assert_eq!((requested_ends(&fs), take_requested_end(&fs, &run)), (Vec::new(), None));
    }
}
