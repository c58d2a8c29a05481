//! Finds scripts of JavaScript interpreters and package managers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use brigade_core::Json;

use super::chain::TEXT_LIMIT;
use super::package_json::PackageJson;
use super::script::PACKAGE_VERBS;
use super::{Finder, NotBound, Reads};
use crate::argv::Argv;
use crate::programs::{JAVASCRIPT_ENDS, Program, is_long, long_values};

/// Options that name code to run before the script.
const PRELOADING: &[&str] =
    &["--require", "--import", "--loader", "--experimental-loader", "--preload", "--test-reporter", "-r"];

/// Options that name a file of variables, one of which may hold more options.
const ENVIRONMENTS: &[&str] = &["--env-file", "--env-file-if-exists"];

/// Extensions that JavaScript interpreters try, unordered.
fn script_ends() -> impl Iterator<Item = &'static str> {
    JAVASCRIPT_ENDS.iter().copied().chain([".json"])
}

/// Returns whether a word behind a package manager is a directory, and not the name of a package.
pub(super) fn is_directory(word: &str) -> bool {
    directory_of(word).is_some()
}

/// Returns the directory that a word behind a package manager names: `./p`, `file:p`, `name@file:./p`,
/// `name @ file:///dir/p`, `file:./p#egg=name`.
pub(super) fn directory_of(word: &str) -> Option<&str> {
    let starts = |word: &&str| {
        word.starts_with(['/', '~'])
            || word.starts_with("./")
            || word.starts_with("../")
            || word.starts_with("file:")
    };
    let behind_name = || word.match_indices('@').map(|(at, _)| word[at + 1..].trim_start()).find(starts);
    let is_plain = starts(&word) || word == "." || word == ".." || word.ends_with('/');
    let path = if is_plain { word } else { behind_name()? };
    let Some(url) = path.strip_prefix("file:") else { return Some(path) };
    let url = url.split('#').next().unwrap_or(url);
    Some(url.strip_prefix("//localhost").or_else(|| url.strip_prefix("//")).unwrap_or(url))
}

/// Returns the whole name of an option of a package manager, of which any prefix matches.
fn full_name(name: &str) -> &str {
    const NAMES: [&str; 5] = ["--node-options", "--script-shell", "--prefix", "--workspace", "--workspaces"];
    NAMES.into_iter().find(|full| is_long(name, full) && 5 < name.len()).unwrap_or(name)
}

/// Lists a path with each of these extensions.
pub(super) fn with_ends(path: &Path) -> impl Iterator<Item = PathBuf> {
    script_ends().map(|end| {
        let mut path = path.to_owned().into_os_string();
        path.push(end);
        path.into()
    })
}

impl Finder<'_> {
    /// Finds scripts by names without extension and by directories.
    pub(super) fn javascript(&self, known: Program, args: &[String], reads: &mut Reads) {
        // Node takes `_` for `-` in the name of an option.
        let plain = |word: &String| match word.split_once('=') {
            _ if !word.starts_with("--") => word.clone(),
            Some((name, value)) => format!("{}={value}", name.replace('_', "-")),
            None => word.replace('_', "-"),
        };
        let args: Vec<String> = args.iter().map(plain).collect();
        self.options_of_environment(known, &args, reads);
        self.scripts(known, &args, reads);
    }

    fn scripts(&self, known: Program, args: &[String], reads: &mut Reads) {
        let verbs = match known.name {
            "node" | "nodejs" => &["inspect"][..],
            _ => &["run", "x", "test", "watch", "inspect"],
        };
        let mut operands = 0;
        let mut preloads_next = false;
        let mut tests = false;
        for word in args {
            let preloaded = PRELOADING.iter().find_map(|option| {
                let rest = word.strip_prefix(option)?;
                if option.starts_with("--") {
                    rest.strip_prefix('=')
                } else {
                    Some(rest).filter(|rest| !rest.is_empty())
                }
            });
            if word == "--run" || word.starts_with("--run=") {
                let folders = self.upwards(&self.directory);
                reads.code.extend(folders.map(|folder| folder.join("package.json")));
            }
            tests |= operands == 0 && word == "--test";
            let preloads = std::mem::replace(&mut preloads_next, PRELOADING.contains(&word.as_str()));
            let name = match preloaded {
                Some(name) => name,
                None if word.starts_with('-') => continue,
                None => word.as_str(),
            };
            let preloads = preloads || preloaded.is_some();
            let path = self.directory.join(name);
            reads.code.extend(with_ends(&path));
            if !preloads && verbs.contains(&name) {
                continue;
            }
            if preloads && !name.starts_with(['.', '/']) {
                self.specifier(name, &self.directory, reads);
            }
            // Words after the script are its arguments.
            if preloads || operands == 0 {
                self.package(&path, reads);
                if self.is_script(&path) {
                    self.nearest_package(&path, reads);
                }
            }
            operands += usize::from(!preloads && self.is_script(&path));
        }
        // Code in the command belongs to the package of the working directory.
        if operands == 0 {
            self.nearest_package(&self.directory.join("any"), reads);
        }
        if tests && operands == 0 {
            self.tree(&self.directory, &script_ends().collect::<Vec<_>>(), reads);
        }
    }

    /// Reads the options that files of variables set.
    fn options_of_environment(&self, known: Program, args: &[String], reads: &mut Reads) {
        for file in ENVIRONMENTS.iter().flat_map(|option| long_values(args, option)) {
            let file = self.directory.join(file);
            let text = self.files.read(&file, TEXT_LIMIT);
            if text.is_none() && self.is_any(&file) {
                reads.chain.finders.insert(self.shown(&file));
            }
            for line in String::from_utf8_lossy(&text.unwrap_or_default()).lines() {
                let line = line.trim_start().trim_start_matches("export ");
                let Some((name, value)) = line.split_once('=') else { continue };
                let value = value.trim().trim_matches(['"', '\'', '`']);
                if name.trim() == "NODE_OPTIONS"
                    && let Ok(options) = Argv::parse(&format!("node {value}"))
                {
                    // Further files of variables are not among them.
                    self.scripts(known, options.args(), reads);
                }
            }
            reads.code.insert(file);
        }
    }

    /// Finds the `package.json` of a script, and nearer places where one may appear. Returns its directory.
    pub(super) fn nearest_package<'p>(&self, script: &'p Path, reads: &mut Reads) -> Option<&'p Path> {
        for folder in self.upwards(script).skip(1) {
            let package = folder.join("package.json");
            let is_there = self.is_there(&package);
            reads.code.insert(package);
            if is_there {
                return Some(folder);
            }
        }
        None
    }

    /// Reads the words of a package manager: other directories, and programs of installed packages.
    pub(super) fn packages(&self, manager: &str, args: &[String], reads: &mut Reads) {
        let mut folders = vec![self.directory.clone()];
        let mut operands = Vec::new();
        let mut words = args.iter();
        while let Some(word) = words.next() {
            let (name, attached) = match word.split_once('=').filter(|_| word.starts_with('-')) {
                Some((name, value)) => (name, Some(value)),
                None => (word.as_str(), None),
            };
            match full_name(name) {
                "--node-options" => drop(reads.unbound.insert(NotBound::Option("--node-options"))),
                "--script-shell" => drop(reads.unbound.insert(NotBound::Option("--script-shell"))),
                "-w" | "--workspace" => {
                    let folder = attached.or_else(|| words.next().map(String::as_str));
                    folders.extend(folder.map(|folder| self.directory.join(folder)));
                }
                "--prefix" | "-C" | "--dir" | "--cwd" => {
                    if let Some(folder) = attached.or_else(|| words.next().map(String::as_str)) {
                        folders.push(self.directory.join(folder));
                    }
                }
                name if name.starts_with('-') => {}
                name => operands.push(name),
            }
        }
        if operands.first().is_some_and(|verb| PACKAGE_VERBS.contains(verb)) {
            let packages = operands[1..].iter().filter_map(|name| directory_of(name));
            folders.extend(packages.map(|folder| self.directory.join(folder)));
        }
        for folder in &folders[1..] {
            reads.code.extend(["package.json", ".npmrc"].map(|name| folder.join(name)));
        }
        folders.extend(self.chosen_packages(manager, args, false, reads));
        let runs_program = match manager {
            "npx" | "pnpx" | "bunx" => true,
            _ => operands.first().is_some_and(|word| matches!(*word, "ex" | "exe" | "exec" | "x" | "dlx")),
        };
        if !runs_program && manager != "yarn" {
            return;
        }
        // `npx ./p` runs a program of this package.
        let packages = operands.iter().filter_map(|name| directory_of(name));
        reads.code.extend(packages.map(|folder| self.directory.join(folder)));
        // A package also has the programs that it names itself.
        let own = self.upwards(&self.directory).find(|folder| self.is_file(&folder.join("package.json")));
        if let Some(folder) = own
            && let Some(bin) = self.package_at(folder, reads).and_then(|package| package.get("bin").cloned())
        {
            let names = bin.as_object().into_iter().flatten().filter_map(|(_, file)| file.as_str());
            for file in names.chain(bin.as_str()).map(|file| folder.join(file)) {
                reads.chain.finders.insert(self.shown(&file));
                reads.code.insert(file);
            }
        }
        // Programs of packages come before the shell, and before what runs them, too.
        operands.truncate(4);
        operands.extend(["sh", "node"]);
        for folder in folders.iter().flat_map(|folder| self.upwards(folder)) {
            // These have too many options to list, so any of the first words may be the program.
            for name in &operands {
                let name = name
                    .rsplit_once('@')
                    .filter(|(name, _)| !name.is_empty())
                    .map_or(*name, |(name, _)| name);
                let last = name.rsplit('/').next().unwrap_or(name);
                self.note_bin(folder.join("node_modules/.bin").join(last), reads);
            }
        }
    }

    /// Lists the directories of the packages below that options choose for a package manager to run in.
    pub(super) fn chosen_packages(
        &self,
        manager: &str,
        args: &[String],
        installs: bool,
        reads: &mut Reads,
    ) -> BTreeSet<PathBuf> {
        let mut names = Vec::new();
        // All are installed together.
        let own = if installs { self.package_at(&self.directory, reads) } else { None };
        let mut chooses_all = own.is_some_and(|package| package.get("workspaces").is_some())
            || (installs && self.is_any(&self.directory.join("pnpm-workspace.yaml")));
        let mut words = args.iter().map(String::as_str);
        while let Some(word) = words.next() {
            let (name, attached) = match word.split_once('=').filter(|_| word.starts_with('-')) {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            match (manager, full_name(name)) {
                ("node" | "nodejs", _) => return BTreeSet::new(),
                (_, "--workspaces" | "--ws" | "-ws" | "--recursive" | "-r") | ("yarn", "workspaces") => {
                    chooses_all = true;
                }
                // It means the directory that holds all packages.
                ("pnpm", "-w") => {}
                (_, "-w" | "--workspace" | "--filter" | "-F") | ("yarn", "workspace") => {
                    names.extend(attached.or_else(|| words.next()));
                }
                _ => {}
            }
        }
        if !chooses_all && names.is_empty() {
            return BTreeSet::new();
        }
        let mut found = Reads::default();
        self.tree(&self.directory, &["package.json"], &mut found);
        self.hidden_packages(&mut found, reads);
        let packages = found.code.iter().filter_map(|package| package.parent());
        let is_chosen = |folder: &&Path| {
            // Besides names and directories there are patterns, which choose any of them.
            let is_pattern = |name: &&str| name.contains(['*', '!', '[', '^', '{']) || name.contains("...");
            chooses_all
                || names.iter().any(|name| is_pattern(name) || folder.starts_with(self.directory.join(name)))
                || self.package_at(folder, reads).is_some_and(|package| {
                    package.get("name").and_then(Json::as_str).is_some_and(|name| names.contains(&name))
                })
        };
        let chosen = packages.filter(is_chosen).map(Path::to_owned).collect();
        reads.code.append(&mut found.code);
        reads.unbound.append(&mut found.unbound);
        chosen
    }

    /// Finds the packages in hidden directories that a `package.json` names: `"workspaces": [".p/*"]`.
    fn hidden_packages(&self, found: &mut Reads, reads: &mut Reads) {
        let Some(package) = self.package_at(&self.directory, reads) else { return };
        let Some(listed) = package.get("workspaces") else { return };
        let listed = listed.get("packages").unwrap_or(listed).as_array().into_iter().flatten();
        for pattern in listed.filter_map(Json::as_str) {
            let is_hidden =
                |part: &str| (part.starts_with('.') && !matches!(part, "." | "..")) || part == "node_modules";
            let fixed: Vec<&str> = pattern
                .split('/')
                .take_while(|part| !part.contains(['*', '?', '[', '{', '(', '!']))
                .collect();
            if fixed.iter().any(|part| is_hidden(part)) {
                self.tree(&self.directory.join(fixed.join("/")), &["package.json"], found);
            } else if pattern.split('/').any(is_hidden) {
                reads.chain.finders.insert(self.shown(&self.directory.join("package.json")));
            }
        }
    }

    /// Binds a program of an installed package. What it loads is not known.
    pub(super) fn note_bin(&self, bin: PathBuf, reads: &mut Reads) {
        if self.is_any(&bin) {
            reads.chain.finders.insert(self.shown(&bin));
        }
        reads.code.insert(bin);
    }

    /// Reads the `package.json` of a directory as node does: the last one of equal keys counts, and what is not UTF-8
    /// is replaced. One that is there and cannot be read is named.
    pub(super) fn package_at(&self, folder: &Path, reads: &mut Reads) -> Option<PackageJson> {
        let path = folder.join("package.json");
        let package = self.files.read(&path, TEXT_LIMIT).and_then(|bytes| PackageJson::parse(&bytes));
        if package.is_none() && self.is_any(&path) {
            reads.chain.finders.insert(self.shown(&path));
        }
        package
    }

    /// Tells whether a path leads to a script, with or without extension, or by its directory.
    fn is_script(&self, path: &Path) -> bool {
        self.is_there(path) || with_ends(path).any(|path| self.is_there(&path))
    }

    /// Records a directory as a script, and the entry point in its `package.json`.
    pub(super) fn package(&self, folder: &Path, reads: &mut Reads) {
        reads.code.insert(folder.to_owned());
        reads.code.insert(folder.join("package.json"));
        let package = self.package_at(folder, reads);
        let main = package.and_then(|package| package.get("main")?.as_str().map(str::to_owned));
        for name in main.iter().map(String::as_str).chain(["index"]) {
            let path = folder.join(name);
            reads.code.extend(with_ends(&path));
            reads.code.extend(with_ends(&path.join("index")));
            if name != "index" {
                reads.code.insert(path);
            }
        }
    }
}
