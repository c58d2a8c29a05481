//! Finds programs on `PATH`.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use which::WhichConfig;
use which::sys::{Sys, SysMetadata, SysReadDirEntry};

/// Finds the program of a command from its first word: a path, relative to the working directory of the command, or a
/// name on `PATH`.
///
/// Only absolute entries of `PATH` count, because relative and empty ones depend on the current directory. `~` is not
/// expanded, as in `execvp`. `is_program` returns whether a path is an executable regular file.
///
/// ```
/// use std::ffi::OsStr;
/// use std::path::Path;
///
/// let is_program = |path: &Path| path == Path::new("/usr/bin/make");
/// let path = Some(OsStr::new("/bin::lib:/usr/bin"));
/// let found = brigade_cmdline::find_program("make", Path::new("/work"), path, is_program);
/// assert_eq!(found.as_deref(), Some(Path::new("/usr/bin/make")));
/// ```
pub fn find_program(
    word: &str,
    directory: &Path,
    path_variable: Option<&OsStr>,
    is_program: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let name = if word.contains('/') { directory.join(word).into_os_string() } else { OsString::from(word) };
    let path_variable = path_variable.unwrap_or_default().to_owned();
    WhichConfig::new_with_sys(Seam { is_program })
        .system_cwd(false)
        .custom_path_list(path_variable)
        .binary_name(name)
        .first_result()
        .ok()
}

/// The system interface for `which`: it can only ask whether a path is a program.
struct Seam<F> {
    is_program: F,
}

impl<F: Fn(&Path) -> bool> Sys for Seam<F> {
    type ReadDirEntry = Never;
    type Metadata = File;

    fn is_windows(&self) -> bool {
        false
    }

    fn current_dir(&self) -> io::Result<PathBuf> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn home_dir(&self) -> Option<PathBuf> {
        None
    }

    fn env_split_paths(&self, paths: &OsStr) -> Vec<PathBuf> {
        std::env::split_paths(paths).filter(|folder| folder.is_absolute()).collect()
    }

    fn env_path(&self) -> Option<OsString> {
        None
    }

    fn env_path_ext(&self) -> Option<OsString> {
        None
    }

    fn metadata(&self, path: &Path) -> io::Result<File> {
        if (self.is_program)(path) { Ok(File) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn symlink_metadata(&self, path: &Path) -> io::Result<File> {
        self.metadata(path)
    }

    fn read_dir(&self, _: &Path) -> io::Result<Box<dyn Iterator<Item = io::Result<Never>>>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn is_valid_executable(&self, _: &Path) -> io::Result<bool> {
        // `metadata` already checked this.
        Ok(true)
    }
}

/// A program, with links resolved.
struct File;

impl SysMetadata for File {
    fn is_symlink(&self) -> bool {
        false
    }

    fn is_file(&self) -> bool {
        true
    }
}

/// Directories are not listed.
enum Never {}

impl SysReadDirEntry for Never {
    fn file_name(&self) -> OsString {
        match *self {}
    }

    fn path(&self) -> PathBuf {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Programs are `/one/x`, `/two/x`, `/two/y`, `/work/bin/z` and `/work/here`.
    #[track_caller]
    fn check(word: &str, path: Option<&str>, expect: Option<&str>) {
        let programs = ["/one/x", "/two/x", "/two/y", "/work/bin/z", "/work/./bin/z", "/work/here"];
        let is_program = |path: &Path| programs.iter().any(|program| path.as_os_str() == *program);
        let found = find_program(word, Path::new("/work"), path.map(OsStr::new), is_program);
        assert_eq!(found.as_deref().map(Path::as_os_str), expect.map(OsStr::new), "{word} {path:?}");
    }

    #[test]
    fn the_first_entry_of_path_counts() {
        check("x", Some("/one:/two"), Some("/one/x"));
        check("x", Some("/two:/one"), Some("/two/x"));
        check("y", Some("/one:/two"), Some("/two/y"));
        check("none", Some("/one:/two"), None);
        check("", Some("/one:/two"), None);
    }

    #[test]
    fn entries_that_are_not_absolute_do_not_count() {
        check("z", Some("bin"), None);
        check("here", Some(""), None);
        check("here", Some(":/one"), None);
        check("here", Some("."), None);
        check("x", Some("~/one:~"), None);
        check("x", Some("bin::/two"), Some("/two/x"));
        check("x", None, None);
    }

    #[test]
    fn a_path_is_not_searched_on_path() {
        check("bin/z", Some("/one"), Some("/work/bin/z"));
        check("./bin/z", None, Some("/work/./bin/z"));
        check("/two/y", None, Some("/two/y"));
        check("/two/none", Some("/two"), None);
        check("./x", Some("/one"), None);
        check("~/x", Some("/one"), None);
        check(".", Some("/one"), None);
        check("..", Some("/one"), None);
    }
}
