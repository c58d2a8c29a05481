//! Finds the programs that Brigade starts for its own use, such as git.
//!
//! `PATH` may have directories that agents write: `.venv/bin` of the workspace, `node_modules/.bin`, a directory that
//! the policy opens. A program there may be anything, and Brigade would start it without a sandbox. So these
//! directories are left out, and a link from another directory to a file in them is not followed.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use brigade_cmdline::find_program;

/// Where Brigade finds programs for its own use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnPrograms {
    path: OsString,
    left_out: OsString,
    writable: Vec<PathBuf>,
}

/// The result of [`OwnPrograms::find`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnProgram {
    /// Agents cannot write it.
    Found(PathBuf),
    /// The only programs of this name are in directories that agents can write. This is the first one.
    Writable(PathBuf),
    /// No program has this name.
    Missing,
}

impl OwnProgram {
    /// Returns the program, if one was found that agents cannot write.
    pub fn found(self) -> Option<PathBuf> {
        match self {
            OwnProgram::Found(path) => Some(path),
            OwnProgram::Writable(_) | OwnProgram::Missing => None,
        }
    }
}

impl OwnPrograms {
    /// Removes the directories that agents can write from `PATH`. `writable` has those directories; each includes
    /// everything below it.
    pub fn new(path_variable: Option<&OsStr>, writable: impl IntoIterator<Item = PathBuf>) -> OwnPrograms {
        let mut both = Vec::new();
        for directory in writable {
            both.extend(directory.canonicalize());
            both.push(directory);
        }
        let mut programs = OwnPrograms { writable: both, ..OwnPrograms::default() };
        let directories = std::env::split_paths(path_variable.unwrap_or_default());
        let (left_out, path): (Vec<PathBuf>, Vec<PathBuf>) =
            directories.filter(|directory| directory.is_absolute()).partition(|it| programs.is_writable(it));
        // The parts came from a `PATH`, so none has a colon.
        programs.path = std::env::join_paths(path).unwrap_or_default();
        programs.left_out = std::env::join_paths(left_out).unwrap_or_default();
        programs
    }

    /// Returns the `PATH` for such programs, which may start others by name.
    pub fn path_variable(&self) -> &OsStr {
        &self.path
    }

    /// Finds a program by its name.
    pub fn find(&self, name: &str) -> OwnProgram {
        let on = |path: &OsStr, is_wanted: &dyn Fn(&Path) -> bool| {
            find_program(name, Path::new("/"), Some(path), is_wanted).filter(|_| !name.contains('/'))
        };
        let is_safe = |path: &Path| is_executable(path) && !self.is_writable(path);
        let other = || on(&self.path, &is_executable).or_else(|| on(&self.left_out, &is_executable));
        match on(&self.path, &is_safe) {
            Some(path) => OwnProgram::Found(path),
            None => other().map_or(OwnProgram::Missing, OwnProgram::Writable),
        }
    }

    /// Returns whether agents can write a file or directory, or what its links lead to.
    fn is_writable(&self, path: &Path) -> bool {
        let is_below = |path: &Path| self.writable.iter().any(|directory| path.starts_with(directory));
        is_below(path) || path.canonicalize().is_ok_and(|real| is_below(&real))
    }
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    path.metadata().is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    const NAMES: [&str; 6] = ["git", "gh", "docker", "podman", "python3", "notify-send"];

    fn place(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Every kind of program that Brigade starts, against every kind of directory that an agent can write.
    #[test]
    fn programs_never_come_from_writable_places() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let at = |path: &str| root.join(path);
        let writable = ["ws", "granted", "outside/lane"].map(at);
        let directories = [
            "ws/.venv/bin",
            "ws/node_modules/.bin",
            "ws/.brigade/lanes/l1/bin",
            "ws/.brigade/volumes/v1",
            "granted",
            "granted/deep/bin",
            "outside/lane/bin",
        ];
        symlink(at("ws"), at("linked")).unwrap();
        for name in NAMES {
            place(&at(&format!("safe/{name}")));
            for directory in directories {
                place(&at(&format!("{directory}/{name}")));
                let path = std::env::join_paths([at(directory), at("safe")]).unwrap();
                let programs = OwnPrograms::new(Some(&path), writable.clone());
                let safe = at(&format!("safe/{name}"));
                assert_eq!(programs.find(name), OwnProgram::Found(safe), "{directory} {name}");
                assert_eq!(programs.path_variable(), at("safe"), "{directory}");
                let only = OwnPrograms::new(Some(at(directory).as_os_str()), writable.clone());
                let there = at(&format!("{directory}/{name}"));
                assert_eq!(only.find(name), OwnProgram::Writable(there), "{directory} {name}");
            }
            // By a link to the directory, and by a link to the program.
            let linked = OwnPrograms::new(Some(at("linked/.venv/bin").as_os_str()), writable.clone());
            assert!(matches!(linked.find(name), OwnProgram::Writable(_)), "{name}");
            std::fs::create_dir_all(at("links")).unwrap();
            symlink(at(&format!("ws/.venv/bin/{name}")), at(&format!("links/{name}"))).unwrap();
            let linked = OwnPrograms::new(Some(at("links").as_os_str()), writable.clone());
            assert!(matches!(linked.find(name), OwnProgram::Writable(_)), "{name}");
            assert_eq!(linked.find("other"), OwnProgram::Missing);
        }
        let relative = OwnPrograms::new(Some(OsStr::new("bin::ws")), [at("ws")]);
        assert_eq!((relative.path_variable(), relative.find("git")), (OsStr::new(""), OwnProgram::Missing));
    }
}
