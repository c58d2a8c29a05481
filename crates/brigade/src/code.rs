//! Where interpreters find code that a command names only in part: `python3 bin`, `python3 -m pkg`, `node bin/t`, `make`.
//!
//! What is listed need not be there: a file that appears later is bound then, and so shows as a change.

use std::path::{Path, PathBuf};

use brigade_core::{Argv, Json};
use brigade_fs::{Fs, Location, RelPath};

use crate::files::{ToolReader, parse_json};
use crate::launched::is_launcher;

/// The largest `package.json` that is read.
const PACKAGE_LIMIT: u64 = 1 << 20;

/// What ends of names the interpreters of JavaScript try, in no order.
const SCRIPT_ENDS: &[&str] =
    &[".js", ".json", ".node", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", ".mts", ".cts"];

/// Files that programs read without being told their names.
const DEFAULT_FILES: &[(&str, &[&str])] = &[
    ("bun", &["package.json", "bunfig.toml"]),
    ("bunx", &["package.json", "bunfig.toml"]),
    ("deno", &["deno.json", "deno.jsonc"]),
    ("gmake", &["GNUmakefile", "makefile", "Makefile"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("make", &["GNUmakefile", "makefile", "Makefile"]),
    ("npm", &["package.json", ".npmrc"]),
    ("npx", &["package.json", ".npmrc"]),
    ("pnpm", &["package.json", ".npmrc", ".pnpmfile.cjs"]),
    ("rake", &["Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb"]),
    ("yarn", &["package.json", ".yarnrc", ".yarnrc.yml"]),
];

/// Lists the files and folders in which the programs of a command find their code.
pub(crate) fn code_paths(reader: &ToolReader<'_>, argv: &Argv, directory: &Path) -> Vec<PathBuf> {
    let finder = Finder { fs: &*reader.workspace.fs, directory };
    let mut found = Vec::new();
    let mut behind_launcher = true;
    for (at, word) in argv.words().iter().enumerate() {
        if behind_launcher {
            finder.program(word, &argv.words()[at + 1..], &mut found);
        }
        behind_launcher = (behind_launcher && at != 0) || is_launcher(word);
    }
    found
}

struct Finder<'f> {
    fs: &'f dyn Fs,
    /// The folder that the command starts in.
    directory: &'f Path,
}

impl Finder<'_> {
    /// Finds the code of one program with its arguments.
    fn program(&self, program: &str, args: &[String], found: &mut Vec<PathBuf>) {
        let name = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        for (of, files) in DEFAULT_FILES {
            if *of == name {
                found.extend(files.iter().map(|file| self.directory.join(file)));
            }
        }
        match plain {
            "python" | "pypy" => self.python(args, found),
            "node" | "nodejs" | "bun" | "tsx" | "ts-node" => self.javascript(args, found),
            "ruby" | "jruby" => {
                let required = args.iter().filter_map(|word| word.strip_prefix("-r"));
                found.extend(required.map(|name| self.directory.join(format!("{name}.rb"))));
            }
            "go" if args.first().is_some_and(|word| word == "run") => {
                let operand = args[1..].iter().find(|word| !word.starts_with('-'));
                found.extend(operand.map(|folder| self.directory.join(folder)));
                found.push(self.directory.join("go.mod"));
            }
            _ => {}
        }
    }

    /// Reads the options of Python up to a module, a folder or a file.
    fn python(&self, args: &[String], found: &mut Vec<PathBuf>) {
        let mut at = 0;
        while let Some(word) = args.get(at) {
            at += 1;
            if word == "--" {
                break;
            }
            let Some(bundle) = word.strip_prefix('-').filter(|bundle| !bundle.is_empty()) else {
                at -= 1;
                break;
            };
            if bundle.starts_with('-') {
                continue;
            }
            match bundle.find(['m', 'c', 'W', 'X']) {
                Some(index) if bundle[index..].starts_with('m') => {
                    let attached = &bundle[index + 1..];
                    let module =
                        if attached.is_empty() { args.get(at).map(String::as_str) } else { Some(attached) };
                    if let Some(module) = module {
                        self.python_module(module, found);
                    }
                    return;
                }
                Some(index) if bundle[index..].starts_with('c') => return,
                Some(index) => at += usize::from(index + 1 == bundle.len()),
                None => {}
            }
        }
        if let Some(script) = args.get(at) {
            let script = self.directory.join(script);
            found.extend([script.join("__main__.py"), script.join("__main__.pyc"), script]);
        }
    }

    /// Finds what `python3 -m` imports from the folder that it starts in: a package, or files of the module's name.
    fn python_module(&self, module: &str, found: &mut Vec<PathBuf>) {
        let mut parts = module.split('.');
        let top = parts.next().unwrap_or_default();
        if top.is_empty() || top.contains('/') {
            return;
        }
        let package = self.directory.join(top);
        // A folder without these only counts when no package of this name is installed, and then for what it holds.
        let begins = ["__init__.py", "__init__.pyc", "__main__.py", "__main__.pyc"];
        let inner: PathBuf = parts.collect();
        let mut signs: Vec<PathBuf> = begins.iter().map(|name| package.join(name)).collect();
        if !inner.as_os_str().is_empty() {
            signs.push(package.join(&inner));
            signs.push(package.join(inner.with_extension("py")));
        }
        if signs.iter().any(|sign| self.is_there(sign)) {
            found.push(package.clone());
        }
        let Some(folder) = self.inside(self.directory) else { return };
        let beginning = format!("{top}.");
        for entry in self.fs.list_dir(&folder).unwrap_or_default() {
            let is_module = [".py", ".pyc", ".so"].iter().any(|end| entry.name.ends_with(end));
            if is_module && entry.name.starts_with(&beginning) {
                found.push(self.directory.join(&entry.name));
            }
        }
    }

    /// Finds scripts of JavaScript by their names without an end, and by their folders.
    fn javascript(&self, args: &[String], found: &mut Vec<PathBuf>) {
        let mut operands = 0;
        for word in args {
            let preloaded = ["--require=", "--import=", "--loader=", "--experimental-loader=", "-r"]
                .iter()
                .find_map(|option| word.strip_prefix(option));
            if word == "--run" {
                found.push(self.directory.join("package.json"));
            }
            let name = match preloaded {
                Some(name) => name,
                None if word.starts_with('-') => continue,
                None => word.as_str(),
            };
            let path = self.directory.join(name);
            for end in SCRIPT_ENDS {
                let mut with_end = path.clone().into_os_string();
                with_end.push(end);
                found.push(with_end.into());
            }
            if preloaded.is_none() && matches!(name, "run" | "x" | "test" | "watch" | "inspect") {
                continue;
            }
            // What comes behind the script are its own arguments, where a folder is only a folder.
            if preloaded.is_some() || operands == 0 {
                self.package(&path, found);
            }
            operands += usize::from(preloaded.is_none() && self.is_script(&path));
        }
    }

    /// Tells whether a path leads to a script, with its end, without it, or by its folder.
    fn is_script(&self, path: &Path) -> bool {
        let is_there_with = |end: &&str| {
            let mut path = path.to_owned().into_os_string();
            path.push(end);
            self.is_there(Path::new(&path))
        };
        self.is_there(path) || SCRIPT_ENDS.iter().any(is_there_with)
    }

    /// Finds what a folder stands for as a script: itself, and where its `package.json` says that it begins.
    fn package(&self, folder: &Path, found: &mut Vec<PathBuf>) {
        found.push(folder.to_owned());
        found.push(folder.join("package.json"));
        let main = self.inside(&folder.join("package.json")).and_then(|package| {
            let bytes = self.fs.read(&package, PACKAGE_LIMIT).ok()?;
            parse_json(&bytes).ok()?.get("main").and_then(Json::as_str).map(str::to_owned)
        });
        for name in main.iter().map(String::as_str).chain(["index"]) {
            let path = folder.join(name);
            for end in SCRIPT_ENDS {
                let mut with_end = path.clone().into_os_string();
                with_end.push(end);
                found.push(with_end.into());
                found.push(path.join(format!("index{end}")));
            }
            if name != "index" {
                found.push(path);
            }
        }
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
