//! Code that an approval cannot bind, as sentences, and what of it the words of a command alone show.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use brigade_core::text::escape_terminal;

use super::words::plain_path;
use super::{Entry, Files, NotBound, Reads, Seen, follow};
use crate::argv::Argv;

impl NotBound {
    /// Names a link to a directory elsewhere. However its path is spelled, it is one reason.
    ///
    /// ```
    /// use brigade_command::NotBound;
    ///
    /// assert_eq!(NotBound::link("./tests/out".as_ref()), NotBound::link("tests/out".as_ref()));
    /// ```
    pub fn link(path: &Path) -> NotBound {
        NotBound::Link(plain_path(path).to_string_lossy().into_owned())
    }
}

impl fmt::Display for NotBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotBound::Folder(folder) => write!(
                f,
                "the command runs code from the directory `{}`, which holds more than an approval binds",
                escape_terminal(folder)
            ),
            NotBound::Packages(folder, files, bytes) => write!(
                f,
                "the packages installed in `{}` are more than an approval binds: {files} files and {} MiB so far",
                escape_terminal(folder),
                bytes >> 20
            ),
            NotBound::Link(link) => write!(
                f,
                "the command runs code from `{}`, a link to a directory outside of the workspace, which an approval \
                 does not bind",
                escape_terminal(link)
            ),
            NotBound::OddName(folder) => write!(
                f,
                "the command runs code from `{}`, where a name is not UTF-8, and an approval cannot bind such a file",
                escape_terminal(folder)
            ),
            NotBound::Unreadable(path) => write!(
                f,
                "the command runs code from `{}`, which may not be read, so an approval cannot bind it",
                escape_terminal(path)
            ),
            NotBound::Variable(name) => write!(
                f,
                "the command sets `{}`, which says where code is found, and an approval does not bind that code",
                escape_terminal(name)
            ),
            NotBound::FoundFiles => {
                f.write_str("the command runs files that `find` finds, and an approval does not bind them")
            }
            NotBound::OfProcess => f.write_str(
                "the command runs code by a path of /proc or /dev that means something else in each process, and an \
                 approval does not bind it",
            ),
            NotBound::Option(option) => {
                write!(f, "the option `{option}` runs code that an approval does not bind")
            }
        }
    }
}

/// Lists the code of a command that no approval can bind, whatever files there are.
///
/// ```
/// use brigade_command::{Argv, NotBound, never_bound};
///
/// let of = |command| never_bound(&Argv::parse(command).unwrap());
/// assert_eq!(of("env PYTHONPATH=lib python3 bin/x.py"), [NotBound::Variable("PYTHONPATH".to_owned())]);
/// assert_eq!(of("python3 bin/x.py"), []);
/// ```
pub fn never_bound(argv: &Argv) -> Vec<NotBound> {
    let mut reads = Reads::default();
    follow(argv.words(), Path::new("/"), &NoFiles, &mut reads);
    reads.unbound.into_iter().collect()
}

/// An empty workspace at the root.
struct NoFiles;

impl Files for NoFiles {
    fn root(&self) -> &Path {
        Path::new("/")
    }

    fn path_variable(&self) -> Option<&OsStr> {
        None
    }

    fn look(&self, path: &Path) -> Seen {
        let real = path.strip_prefix("/").map_or_else(|_| PathBuf::from(path), Path::to_path_buf);
        Seen::Inside { real, kind: None }
    }

    fn is_program(&self, _: &Path) -> bool {
        false
    }

    fn list(&self, _: &Path) -> Vec<Entry> {
        Vec::new()
    }

    fn read(&self, _: &Path, _: u64) -> Option<Vec<u8>> {
        None
    }

    fn head(&self, _: &Path, _: usize) -> Vec<u8> {
        Vec::new()
    }
}
