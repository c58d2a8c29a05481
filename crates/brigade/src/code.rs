//! Where interpreters find code that a command names only in part: `python3 bin`, `python3 -m pkg`, `node bin/t`, `make`.
//!
//! What is listed need not be there: a file that appears later is bound then, and so shows as a change.

mod environment;
mod found_files;
mod javascript;
mod make;
mod python;
mod script;
mod search;

use std::path::{Path, PathBuf};

use brigade_command::Argv;
use brigade_fs::{FileKind, Fs, Location, RelPath};

use crate::files::ToolReader;
use crate::launched::is_launcher;

pub(crate) use script::{missing_script, script_of};

/// More files of tests than these are not bound one by one.
const MOST_TESTS: usize = 1024;

/// More folders than these are not looked through.
const MOST_FOLDERS: usize = 10_000;

/// Files that programs read without being told their names.
const DEFAULT_FILES: &[(&str, &[&str])] = &[
    ("bun", &["package.json", "bunfig.toml"]),
    ("bunx", &["package.json", "bunfig.toml"]),
    ("deno", &["deno.json", "deno.jsonc"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("npm", &["package.json", ".npmrc"]),
    ("npx", &["package.json", ".npmrc"]),
    ("pnpm", &["package.json", ".npmrc", ".pnpmfile.cjs"]),
    ("rake", &["Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb"]),
    ("yarn", &["package.json", ".yarnrc", ".yarnrc.yml"]),
];

/// The code of a command besides the files that its words name.
#[derive(Debug, Default)]
pub(crate) struct Code {
    /// Files and folders, which need not be there.
    pub(crate) paths: Vec<PathBuf>,
    /// Code that no approval can bind.
    pub(crate) unbound: Vec<NotBound>,
    /// The folder that the last program starts in, which `env -C` may change.
    pub(crate) directory: PathBuf,
}

/// Code that a command runs, and that no approval can bind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NotBound {
    /// A folder that holds more than is read.
    Folder(String),
    /// A variable that the command sets, which says where code is found.
    Variable(String),
    /// Files that `find` finds, or that lie where it finds something.
    FoundFiles,
    /// A program that another one is told to start in its own way; the option says so.
    Option(&'static str),
}

/// Finds the files and folders in which the programs of a command find their code.
pub(crate) fn code_of(reader: &ToolReader<'_>, argv: &Argv, directory: &Path) -> Code {
    let mut code = Code::default();
    let mut finder = Finder { fs: &*reader.workspace.fs, directory: directory.to_owned() };
    let mut behind_launcher = true;
    for (at, word) in argv.words().iter().enumerate() {
        if behind_launcher {
            let args = &argv.words()[at + 1..];
            if base_name(word) == "env" {
                finder.environment(args, &mut code);
            }
            finder.program(word, args, &mut code);
        }
        behind_launcher = (behind_launcher && at != 0) || is_launcher(word);
    }
    code.directory = finder.directory;
    code
}

/// Gives the last part of a program's path.
fn base_name(program: &str) -> &str {
    Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Gives the name of a program without its version: `python` of `/usr/bin/python3.11`.
fn plain_name(program: &str) -> &str {
    base_name(program).trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-')
}

struct Finder<'f> {
    fs: &'f dyn Fs,
    /// The folder that the command starts in.
    directory: PathBuf,
}

impl Finder<'_> {
    /// Finds the code of one program with its arguments.
    fn program(&self, program: &str, args: &[String], code: &mut Code) {
        let name = base_name(program);
        for (of, files) in DEFAULT_FILES {
            if *of == name {
                code.paths.extend(files.iter().map(|file| self.directory.join(file)));
            }
        }
        match plain_name(program) {
            "python" | "pypy" => self.python(args, code),
            "pytest" | "py.test" => self.python_tests(args, code),
            "coverage" if args.first().is_some_and(|word| word == "run") => {
                self.python_launched(&args[1..], code);
            }
            "node" | "nodejs" | "bun" | "tsx" | "ts-node" => self.javascript(args, code),
            "npm" | "npx" | "pnpm" | "pnpx" | "yarn" | "bunx" => self.packages(name, args, code),
            "make" | "gmake" => self.make(args, code),
            "perl" => self.perl(args, code),
            "ruby" | "jruby" => self.ruby(args, code),
            "find" | "gfind" | "fd" | "fdfind" => found_files::find_runs(args, code),
            "git" => {
                let folders = args.iter().filter_map(|word| word.strip_prefix("--exec-path="));
                code.paths.extend(folders.map(|folder| self.directory.join(folder)));
            }
            "run-parts" => {
                let folders = args.iter().filter(|word| !word.starts_with('-'));
                code.paths.extend(folders.map(|folder| self.directory.join(folder)));
            }
            "go" if args.first().is_some_and(|word| word == "run") => {
                let operand = args[1..].iter().find(|word| !word.starts_with('-'));
                code.paths.extend(operand.map(|folder| self.directory.join(folder)));
                code.paths.push(self.directory.join("go.mod"));
            }
            plain if search::is_compiler(plain) => self.compiler(args, code),
            _ => {}
        }
    }

    /// Lists the files below a folder whose names end so, without hidden folders, environments and installed packages.
    fn tree(&self, folder: &Path, ends: &[&str], code: &mut Code) {
        let mut too_much = || {
            let name = self.inside(folder).filter(|folder| !folder.is_root());
            let name = name.map_or_else(|| ".".to_owned(), |folder| folder.as_str().to_owned());
            code.unbound.push(NotBound::Folder(name));
        };
        let mut files = Vec::new();
        let mut folders = vec![folder.to_owned()];
        let mut seen = 0;
        while let Some(path) = folders.pop() {
            seen += 1;
            if MOST_FOLDERS < seen || MOST_TESTS < files.len() {
                return too_much();
            }
            let Some(inside) = self.inside(&path) else { continue };
            let entries = self.fs.list_dir(&inside).unwrap_or_default();
            if entries.iter().any(|entry| entry.name == "pyvenv.cfg") {
                continue;
            }
            for entry in entries {
                let path = path.join(&entry.name);
                let is_left_out = entry.name.starts_with('.') || entry.name == "node_modules";
                match entry.kind {
                    FileKind::Directory if !is_left_out => folders.push(path),
                    FileKind::Link if self.is_folder(&path) && !is_left_out => return too_much(),
                    FileKind::File | FileKind::Link if ends.iter().any(|end| entry.name.ends_with(end)) => {
                        files.push(path);
                    }
                    FileKind::Directory | FileKind::File | FileKind::Link | FileKind::Other => {}
                }
            }
        }
        code.paths.extend(files);
    }

    /// Lists a folder and those around it, up to the workspace.
    fn upwards<'p>(&self, folder: &'p Path) -> impl Iterator<Item = &'p Path> {
        folder.ancestors().take_while(|folder| self.inside(folder).is_some())
    }

    fn is_folder(&self, path: &Path) -> bool {
        let metadata = match self.fs.resolve(path.to_str().unwrap_or_default(), None) {
            Ok(Location::Inside(path)) => self.fs.metadata(&path),
            Ok(Location::Outside(path)) => self.fs.metadata_outside(&path),
            Err(_) => return false,
        };
        metadata.is_ok_and(|metadata| metadata.kind == FileKind::Directory)
    }

    fn is_there(&self, path: &Path) -> bool {
        self.inside(path).is_some_and(|path| self.fs.metadata(&path).is_ok())
    }

    fn inside(&self, path: &Path) -> Option<RelPath> {
        match self.fs.resolve(path.to_str()?, None) {
            Ok(Location::Inside(path)) => Some(path),
            Ok(Location::Outside(_)) | Err(_) => None,
        }
    }
}
