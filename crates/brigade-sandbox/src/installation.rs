//! Finds the installations of programs: the parts of the system and of the home that a program must read to start.
//!
//! Only programs that the kernel would execute are considered: regular executable files, also through links. A
//! directory or plain file is never granted only because a link, a `#!` line or a settings file names it. Files in the
//! workspace can be read anyway, and are not granted.
//!
//! Some programs are named only by text or by a link in the workspace. Such a program opens its own file, and a
//! directory only if that is a known kind of installation. Shims of version managers must be on `PATH`.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use brigade_cmdline::find_program;

use crate::system::first_bytes;

/// Programs, libraries and configuration of the machine; `/proc` without the entries of other processes.
///
/// Not here: homes, `/var` (data of services), `/run` (their sockets) except for name resolution, `/tmp`, and `/dev` (a
/// few harmless devices are always allowed).
const SYSTEM: [&str; 20] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/gnu/store",
    "/snap",
    "/proc",
    "/sys",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager/resolv.conf",
    "/run/current-system",
    "/var/lib/ca-certificates",
    "/var/cache/fontconfig",
];

/// Directories and files beside the shims of a version manager.
const SHIM_FOLDERS: &[&str] = &[
    // pyenv, rbenv, nodenv, goenv …
    "bin",
    "libexec",
    "plugins",
    "shims",
    "version",
    "versions",
    "pyenv.d",
    "rbenv.d",
    "nodenv.d",
    "goenv.d",
    "completions",
    // asdf, mise
    "lib",
    "installs",
    "asdf.sh",
    "internal",
];

/// The maximum length of a chain of programs.
const MAX_DEPTH: usize = 8;

/// Files in the root of a project.
const PROJECT_FILES: [&str; 3] = ["package.json", "pyproject.toml", "setup.py"];

/// How many directories above a script are searched for the root of its project.
const PROJECT_DEPTH: usize = 6;

/// The largest settings file of a virtual environment that is read.
const MAX_SETTINGS_BYTES: u64 = 64 * 1024;

/// Returns the parts of the system that every program may read: programs, libraries, configuration, but no home.
///
/// Only existing paths are returned.
pub fn system_read_paths() -> Vec<PathBuf> {
    SYSTEM.iter().map(PathBuf::from).filter(|path| path.exists()).collect()
}

/// The inputs of the search that do not depend on the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The home of the user, which is never granted itself.
    pub home: Option<PathBuf>,
    /// The `PATH` for interpreters of scripts.
    pub path: OsString,
    /// The directory of rustup toolchains (`RUSTUP_HOME`), if not `~/.rustup`.
    pub rustup_home: Option<PathBuf>,
    /// The directory that tools may write to. Its content is not trusted.
    pub workspace: Option<PathBuf>,
}

/// The files and directories that a program needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Installation {
    /// Paths outside of the system and the workspace that must be readable.
    pub paths: BTreeSet<PathBuf>,
    /// The settings files that these paths depend on.
    pub decided_by: BTreeSet<PathBuf>,
}

impl Surroundings {
    /// Returns the values of the calling process.
    pub fn of_this_process() -> Surroundings {
        let path = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        Surroundings {
            home: path("HOME").map(PathBuf::from),
            path: path("PATH").unwrap_or_default(),
            rustup_home: path("RUSTUP_HOME").map(PathBuf::from),
            workspace: None,
        }
    }
}

/// Returns all paths outside the system that a program needs, in the surroundings of the calling process.
///
/// See [`installation_in`].
pub fn installation_of(program: &Path) -> Vec<PathBuf> {
    installation_in([(program, ProgramOrigin::Command)], &Surroundings::of_this_process())
        .paths
        .into_iter()
        .collect()
}

/// Returns all paths outside the system that programs need.
///
/// These are the prefix in which each is installed, the targets of its links, the interpreter of a script, the version
/// manager of a shim with the versions it may pick, and the base of a virtual environment. They never include a home or
/// a directory that holds one. A program in the workspace counts as named by the workspace.
pub fn installation_in<'p>(
    programs: impl IntoIterator<Item = (&'p Path, ProgramOrigin)>,
    around: &Surroundings,
) -> Installation {
    let mut finder = Finder::new(around);
    for (program, origin) in programs {
        finder.follow(program, origin, 0);
    }
    finder.found
}

/// Returns what a script outside of the workspace needs in addition to its interpreter: the directory of its project,
/// or the file alone. Never includes a home or a directory that holds one.
pub fn project_of(script: &Path, around: &Surroundings) -> BTreeSet<PathBuf> {
    let mut finder = Finder::new(around);
    for script in Names::new(Some(script)).0 {
        finder.prefix(&script, ProgramOrigin::Command, 0);
        let is_root = |folder: &&Path| PROJECT_FILES.iter().any(|name| folder.join(name).is_file());
        if let Some(root) = script.ancestors().skip(1).take(PROJECT_DEPTH).find(is_root) {
            finder.grant(root);
        }
        if !finder.found.paths.iter().any(|path| script.starts_with(path)) {
            finder.grant(&script);
        }
    }
    finder.found.paths
}

/// What names a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProgramOrigin {
    /// The reviewed command, `PATH`, or a file outside of the workspace.
    Command,
    /// Text or a link in the workspace, which any run may have written.
    Workspace,
}

/// A directory by its name and by its path without links.
struct Names(Vec<PathBuf>);

impl Names {
    fn new(path: Option<&Path>) -> Names {
        let real = path.and_then(|path| path.canonicalize().ok());
        Names(path.map(Path::to_owned).into_iter().chain(real).collect())
    }

    fn any(&self, fits: impl Fn(&Path) -> bool) -> bool {
        self.0.iter().any(|name| fits(name))
    }
}

struct Finder<'a> {
    around: &'a Surroundings,
    homes: Names,
    workspaces: Names,
    found: Installation,
    visited: BTreeSet<(PathBuf, ProgramOrigin)>,
}

impl<'a> Finder<'a> {
    fn new(around: &'a Surroundings) -> Finder<'a> {
        let homes = Names::new(around.home.as_deref());
        let workspaces = Names::new(around.workspace.as_deref());
        Finder { around, homes, workspaces, found: Installation::default(), visited: BTreeSet::new() }
    }

    fn follow(&mut self, program: &Path, origin: ProgramOrigin, depth: usize) {
        let visit = (program.to_owned(), origin);
        if MAX_DEPTH < depth
            || !program.is_absolute()
            || !is_executable(program)
            || !self.visited.insert(visit)
        {
            return;
        }
        let is_inside = self.is_inside(program);
        let origin = if is_inside { ProgramOrigin::Workspace } else { origin };
        self.grant(program);
        self.prefix(program, origin, depth);
        // Any directory can have the name of a version manager's directory.
        if !is_inside && self.is_chosen_by_owner(program, origin) {
            self.version_manager(program, origin, depth);
        }
        if let Ok(target) = program.read_link() {
            let beside = program.parent().unwrap_or(Path::new("/"));
            self.follow(&clean(&beside.join(target)), origin, depth + 1);
        } else if let Ok(real) = program.canonicalize()
            && real != program
        {
            // A directory further up is a link.
            self.follow(&real, origin, depth + 1);
        } else {
            for interpreter in self.interpreters(program, origin) {
                self.follow(&interpreter, origin, depth + 1);
            }
        }
    }

    /// Returns whether a path is in the workspace, under any of its names. The target of a link there is not.
    fn is_inside(&self, path: &Path) -> bool {
        let is_below = |path: &Path| self.workspaces.any(|workspace| path.starts_with(workspace));
        let real = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
        is_below(path) || real().is_some_and(|path| is_below(&path))
    }

    /// Returns whether a directory is a home, contains one, or contains the data of all programs of a user.
    fn opens_home(&self, path: &Path) -> bool {
        const BROAD_FOLDERS: [&str; 7] =
            [".local", ".local/share", ".local/state", ".config", ".cache", ".cargo", ".volta"];
        Names::new(Some(path)).any(|path| {
            let is_broad = |home: &Path| BROAD_FOLDERS.iter().any(|name| home.join(name) == path);
            let is_of_another = is_home(path)
                || BROAD_FOLDERS.iter().any(|name| path.ends_with(name) && path.ancestors().any(is_home));
            is_of_another || self.homes.any(|home| home.starts_with(path) || is_broad(home))
        })
    }

    /// Grants a path if it exists and does not open the home.
    fn grant(&mut self, path: &Path) {
        let in_system = SYSTEM.iter().any(|system| path.starts_with(system));
        let at_root = path.components().count() < 2;
        if at_root || in_system || !path.exists() || self.is_inside(path) || self.opens_home(path) {
            return;
        }
        self.found.paths.insert(path.to_owned());
    }

    /// Grants what is installed with a program: node's packages around it, and the parent of its `bin` directory, if it
    /// is the parent of an installation.
    ///
    /// If only the workspace names the program, any directory of the user could be that parent. Then only the usual
    /// directories are granted, and the program itself must belong to the installation.
    fn prefix(&mut self, program: &Path, origin: ProgramOrigin, depth: usize) {
        let is_chosen = self.is_chosen_by_owner(program, origin);
        self.node_packages(program, is_chosen);
        let is_programs =
            |folder: &Path| ["bin", "sbin", "libexec"].iter().any(|name| folder.ends_with(name));
        let Some(root) = program.parent().filter(|folder| is_programs(folder)).and_then(Path::parent) else {
            return;
        };
        let configuration = root.join("pyvenv.cfg");
        let base = python_home(&configuration);
        if configuration.is_file() && (is_chosen || (is_python(program) && base.is_some())) {
            if is_chosen {
                self.grant(root);
            } else {
                self.grant_environment(root);
            }
            if let Some(base) = base {
                for name in ["python3", "python"] {
                    self.follow(&base.join(name), origin, depth + 1);
                }
            }
            self.found.decided_by.insert(configuration);
        } else if !is_chosen {
            self.grant_usual(root, usual_folders(program, root));
        } else if self.is_installation(root) {
            self.grant(root);
            // `~/.local` is never granted, only the packages that pip installed there for the user.
            if Names::new(Some(root)).any(|root| self.homes.any(|home| home.join(".local") == root)) {
                self.grant(&root.join("lib"));
            }
        }
    }

    /// Grants the outermost `node_modules` on the path of a program.
    fn node_packages(&mut self, program: &Path, is_chosen: bool) {
        let packages = program.ancestors().filter(|folder| folder.ends_with("node_modules")).last();
        let Some(packages) = packages else { return };
        let root = packages.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
        // `PREFIX/lib/node_modules` next to `PREFIX/bin/node`.
        let is_global = || packages.ends_with("lib/node_modules") && is_node(&root.join("bin/node"), root);
        if is_chosen || is_global() {
            self.grant(packages);
        }
    }

    /// Returns whether a directory looks like the root of an installation.
    fn is_installation(&self, root: &Path) -> bool {
        let known = ["conda-meta", "lib/node_modules", "lib/rustlib", "Cellar", "install_receipt.json"];
        let is_deep = |below: &Path| 2 <= below.components().count();
        let is_deep = Names::new(Some(root))
            .0
            .iter()
            .all(|root| self.homes.0.iter().all(|home| root.strip_prefix(home).map_or(true, is_deep)));
        let has_libraries = || ["lib", "lib64", "libexec"].iter().any(|name| root.join(name).is_dir());
        known.iter().any(|name| root.join(name).exists())
            || python_libraries(root).next().is_some()
            || is_deep && has_libraries()
    }

    /// Grants directories of an installation. A home directory is never one.
    fn grant_usual(&mut self, root: &Path, names: &[&str]) {
        if !self.opens_home(root) {
            self.grant_parts(root, names);
        }
    }

    /// Grants the parts of a Python virtual environment, which may be in the root of any project.
    fn grant_environment(&mut self, root: &Path) {
        self.grant_usual(root, &["bin", "include", "pyvenv.cfg"]);
        if !self.opens_home(root) {
            python_libraries(root).for_each(|library| self.grant(&library));
        }
    }

    /// Grants the files of a version manager, if the program is one of its shims.
    fn version_manager(&mut self, program: &Path, origin: ProgramOrigin, depth: usize) {
        let Some(folder) = program.parent() else {
            return;
        };
        if folder.file_name().is_some_and(|name| name == "shims")
            && let Some(root) = folder.parent()
        {
            self.shims(program, root, origin, depth);
        }
        let leads_to = |name: &str| {
            program.file_name().is_some_and(|own| own == name)
                || program.canonicalize().is_ok_and(|real| real.file_name().is_some_and(|own| own == name))
        };
        if leads_to("rustup") || is_beside(program, "rustup") {
            let rustup = self.around.rustup_home.clone().unwrap_or_else(|| self.home().join(".rustup"));
            self.grant(folder);
            self.grant_parts(&rustup, &["toolchains", "settings.toml", "update-hashes"]);
        }
        if leads_to("volta-shim")
            && let Some(root) = folder.parent()
        {
            self.grant(folder);
            self.grant(&root.join("tools"));
        }
    }

    /// Grants the files of a manager whose shims are in a directory of `root`, and the manager.
    fn shims(&mut self, shim: &Path, root: &Path, origin: ProgramOrigin, depth: usize) {
        // A plugin of the manager may have its own shims.
        let plugins = root.parent().filter(|above| above.ends_with("plugins"));
        let root = plugins.and_then(Path::parent).unwrap_or(root);
        self.grant_parts(root, SHIM_FOLDERS);
        if root.join("installs").is_dir() {
            self.grant_parts(
                &self.home(),
                &[".tool-versions", ".asdfrc", ".config/mise", ".local/state/mise"],
            );
        }
        // Shims of newer managers call the manager by its name, wherever it is.
        if let Some(manager) = self.manager_of(shim) {
            self.follow(&manager, origin, depth + 1);
        }
        // Rye's shims are Rye itself, next to the toolchains that it installed.
        if root.file_name().is_some_and(|name| name == ".rye") {
            self.grant_parts(root, &["config.toml", "py", "self"]);
        }
    }

    fn home(&self) -> PathBuf {
        self.around.home.clone().unwrap_or_default()
    }

    fn grant_parts(&mut self, root: &Path, parts: &[&str]) {
        parts.iter().for_each(|part| self.grant(&root.join(part)));
    }

    /// Returns the manager that a shim executes by name: `exec asdf exec "node" "$@"`.
    fn manager_of(&self, shim: &Path) -> Option<PathBuf> {
        let text = String::from_utf8(first_bytes(shim, 4096).ok()?).ok()?;
        let name =
            text.lines().find_map(|line| line.trim().strip_prefix("exec ")?.split_whitespace().next())?;
        let name = name.trim_matches('"');
        let is_manager = ["asdf", "mise", "rtx", "pyenv", "rbenv", "nodenv", "goenv"].contains(&name);
        is_manager.then(|| self.on_path(name)).flatten()
    }

    fn on_path(&self, name: &str) -> Option<PathBuf> {
        let is_name = !name.contains('/') && !name.is_empty();
        let found = || find_program(name, Path::new("/"), Some(&self.around.path), is_executable);
        is_name.then(found).flatten()
    }

    /// Returns whether the owner of the machine chose this program, and not only text in the workspace.
    fn is_chosen_by_owner(&self, program: &Path, origin: ProgramOrigin) -> bool {
        origin == ProgramOrigin::Command || self.is_on_path(program)
    }

    /// Returns whether `PATH` has the directory of this program.
    fn is_on_path(&self, program: &Path) -> bool {
        let folder = program.parent();
        std::env::split_paths(&self.around.path).any(|on_path| folder == Some(on_path.as_path()))
    }

    /// Returns the programs in the first line of a script that can be found.
    fn interpreters(&self, program: &Path, origin: ProgramOrigin) -> Vec<PathBuf> {
        let start = first_bytes(program, 512).unwrap_or_default();
        if !start.starts_with(b"#!") {
            return Vec::new();
        }
        let line = start[2..].split(|&b| b == b'\n').next().unwrap_or_default();
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let Some(interpreter) = words.next() else {
            return Vec::new();
        };
        let interpreter = PathBuf::from(OsStr::from_bytes(interpreter));
        let mut found = Vec::new();
        if interpreter.file_name().is_some_and(|name| name == "env") {
            // `env -S name -flag`, `env NAME=value name`.
            let name = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='));
            found.extend(name.and_then(|name| self.on_path(std::str::from_utf8(name).ok()?)));
        }
        if self.is_inside(&interpreter) || self.is_chosen_by_owner(&interpreter, origin) {
            found.push(interpreter);
        }
        found
    }
}

/// Returns whether a directory is a usual place of a home, or contains homes.
fn is_home(path: &Path) -> bool {
    let holds_homes = |path: &Path| path == Path::new("/home") || path == Path::new("/Users");
    path == Path::new("/root") || holds_homes(path) || path.parent().is_some_and(holds_homes)
}

/// Returns whether a program or library has a name of Python's: `python`, `python3`, `python3.11`, `python3.13t`.
fn is_python(program: &Path) -> bool {
    let name = program.file_name().and_then(OsStr::to_str);
    let version = name.and_then(|name| name.strip_prefix("python").or_else(|| name.strip_prefix("pypy")));
    let Some(version) = version else { return false };
    // Builds without a global lock end in `t`.
    let version = version.strip_suffix('t').filter(|version| version.contains('.')).unwrap_or(version);
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    version.is_empty() || (version.split('.').count() <= 2 && version.split('.').all(is_number))
}

/// Lists the directories of Python's libraries.
fn python_libraries(root: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = root.join("lib").read_dir().into_iter().flatten().flatten();
    entries.into_iter().map(|entry| entry.path()).filter(|path| is_python(path) && path.is_dir())
}

/// Returns the directories of an installation, if the program has the right name and the directory has a file that only
/// such installations have. Known are Python, node, Rust toolchains, conda and Homebrew.
///
/// The table of programs describes command lines, so it does not have these directories.
fn usual_folders(program: &Path, root: &Path) -> &'static [&'static str] {
    let name = program.file_name().unwrap_or_default();
    let is_one_of = |names: &[&str]| names.iter().any(|known| name == *known);
    let has_library = |library: PathBuf| {
        // `python` and `python3` may be any version.
        let is_its = library.file_name() == Some(name) || is_one_of(&["python", "python3"]);
        is_its && library.join("os.py").is_file()
    };
    let is_brewed = root.parent().and_then(Path::parent).is_some_and(|above| above.ends_with("Cellar"));
    if is_brewed && root.join("INSTALL_RECEIPT.json").is_file() {
        return &["bin", "sbin", "lib", "libexec", "include", "share", "etc"];
    }
    if is_conda(root) && is_binary(program) {
        return &[
            "bin",
            "sbin",
            "lib",
            "lib32",
            "lib64",
            "libexec",
            "include",
            "share",
            "etc",
            "ssl",
            "conda-meta",
        ];
    }
    if (is_python(program) && python_libraries(root).any(has_library)) || is_node(program, root) {
        return &["bin", "lib", "lib64", "include"];
    }
    if is_one_of(&["cargo", "rustc", "rustdoc", "rustfmt"]) && root.join("lib/rustlib/components").is_file() {
        return &["bin", "lib", "lib64", "libexec"];
    }
    &[]
}

/// Returns whether a program is node with npm.
fn is_node(program: &Path, root: &Path) -> bool {
    program.file_name().is_some_and(|name| name == "node")
        && is_executable(program)
        && root.join("lib/node_modules/npm/package.json").is_file()
}

/// Returns whether a directory is a conda environment. Conda records each installed package in it.
fn is_conda(root: &Path) -> bool {
    let notes = root.join("conda-meta");
    let is_note = |entry: fs::DirEntry| entry.path().extension().is_some_and(|end| end == "json");
    notes.join("history").is_file() && notes.read_dir().into_iter().flatten().flatten().any(is_note)
}

/// Returns whether a program is not a script.
fn is_binary(program: &Path) -> bool {
    first_bytes(program, 4).is_ok_and(|start| start == b"\x7fELF")
}

fn is_beside(program: &Path, name: &str) -> bool {
    // Hard links: rustup's proxies are the same file under many names.
    let identity = |path: &Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
    let own = identity(program);
    own.is_some() && own == identity(&program.with_file_name(name))
}

/// Returns the `home` of a virtual environment: the directory of its base Python.
fn python_home(configuration: &Path) -> Option<PathBuf> {
    let text = String::from_utf8(first_bytes(configuration, MAX_SETTINGS_BYTES).ok()?).ok()?;
    let value = text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "home").then(|| PathBuf::from(value.trim()))
    })?;
    value.is_absolute().then_some(value)
}

/// Returns whether the kernel would execute the target of a path: a regular file that any user may execute.
fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0)
}

/// Removes `.` and `..` from a path by name only.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => clean.push(part),
        }
    }
    clean
}
