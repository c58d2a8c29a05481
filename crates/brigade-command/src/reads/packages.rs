//! Follows the scripts of `package.json` that package managers and node run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use brigade_core::Json;

use super::chain::{Link, TEXT_LIMIT, programs_of};
use super::javascript::directory_of;
use super::package_json::PackageJson;
use super::{Finder, Reads};
use crate::argv::Argv;
use crate::programs::{Program, long_values};

/// The file that `npm start` starts by default.
const SERVER: &str = "server.js";

/// Scripts by name, each with the words that may be appended to it: their positions behind the package manager.
type Asked<'a> = BTreeMap<&'a str, BTreeSet<Vec<usize>>>;

impl Finder<'_> {
    /// Follows the scripts that a package manager runs.
    pub(super) fn package_scripts(&self, known: Program, args: &[String], reads: &mut Reads) {
        let manager = known.name;
        let (asked, packages) = asked_scripts(known, args);
        if asked.is_empty() {
            return;
        }
        let mut folders = BTreeSet::from([self.directory.clone()]);
        folders.extend(packages.iter().map(|folder| self.directory.join(folder)));
        for option in ["--prefix", "--dir", "--cwd", "--workspace"] {
            folders.extend(long_values(args, option).iter().map(|folder| self.directory.join(folder)));
        }
        let installs = asked.contains_key("install");
        if installs && self.is_file(&self.directory.join("binding.gyp")) {
            reads.chain.finders.insert(self.shown(&self.directory.join("binding.gyp")));
        }
        let mut words = args.to_vec();
        words.extend(self.options_of_settings(reads));
        folders.extend(self.chosen_packages(manager, &words, installs, reads));
        for pair in args.windows(2).filter(|pair| matches!(pair[0].as_str(), "-C" | "-w")) {
            folders.insert(self.directory.join(&pair[1]));
        }
        let attached = |word: &'_ String| ["-C=", "-w="].iter().any(|option| word.starts_with(option));
        folders.extend(args.iter().filter(|word| attached(word)).map(|word| self.directory.join(&word[3..])));
        let mut seen = BTreeSet::new();
        for folder in &folders {
            let found = self.upwards(folder).find(|folder| self.is_file(&folder.join("package.json")));
            if let Some(folder) = found
                && seen.insert(folder.to_owned())
                && let Some(package) = self.package_at(folder, reads)
            {
                self.settings(folder, reads);
                let outer = reads.chain.variables.clone();
                reads.chain.variables.extend(variables_of(&package));
                self.scripts_of(folder, &package, &asked, args, reads);
                reads.chain.variables = outer;
            }
        }
    }

    /// Follows scripts of one `package.json`, with what runs before and after them.
    fn scripts_of(
        &self,
        folder: &Path,
        package: &PackageJson,
        asked: &Asked<'_>,
        args: &[String],
        reads: &mut Reads,
    ) {
        let file = self.shown(&folder.join("package.json"));
        // The last words may be arguments of a call.
        let reviewed = args.len() - reads.chain.arguments_of(args).len();
        let nothing = BTreeSet::from([Vec::new()]);
        let has = |name: &str| package.get("scripts").is_some_and(|scripts| scripts.get(name).is_some());
        for (asked, tails) in asked {
            let around = |name: &str, tails| {
                [
                    (format!("pre{name}"), &nothing),
                    (name.to_owned(), tails),
                    (format!("post{name}"), &nothing),
                ]
            };
            let mut names = around(asked, tails).to_vec();
            // Without a script of its own, this stops and starts.
            if *asked == "restart" && !has("restart") {
                names.extend(["stop", "start"].iter().flat_map(|name| around(name, tails)));
            }
            for (name, tails) in names {
                let script = package.get("scripts").and_then(|scripts| scripts.get(&name));
                let script = match script.and_then(Json::as_str) {
                    Some(script) => script.to_owned(),
                    // npm starts this file where no script says what to start.
                    None if name == "start" && self.is_file(&folder.join(SERVER)) => {
                        format!("node {SERVER}")
                    }
                    None => continue,
                };
                for tail in tails {
                    let words: Vec<String> = tail.iter().map(|at| args[*at].clone()).collect();
                    let from = tail.iter().position(|at| reviewed <= *at).unwrap_or(tail.len());
                    let mut command = script.clone();
                    if let Ok(words) = Argv::new(words.clone()) {
                        command = format!("{command} {words}");
                    }
                    self.bind_bins(folder, &command, reads);
                    let link = Link { by: format!("{file}: {name}"), command };
                    reads.chain.follow_with(link, &words[from..], true, folder, self.files);
                }
            }
        }
    }

    /// Follows what settings of a package manager start: the shell of scripts, and what node loads before them.
    fn settings(&self, folder: &Path, reads: &mut Reads) {
        for (file, name, value) in self.settings_at(folder, reads) {
            let command = match name.as_str() {
                "script-shell" | "shell" => value,
                // Node splits it, and no shell reads it.
                "node-options" => match Argv::parse(&format!("node {value}")) {
                    Ok(options) => options.to_string(),
                    Err(_) => continue,
                },
                // Further settings stand elsewhere, or the name is written in another way.
                "globalconfig" | "userconfig" => {
                    reads.chain.finders.insert(file);
                    continue;
                }
                name if name.contains(['\\', '$']) => {
                    reads.chain.finders.insert(file);
                    continue;
                }
                _ => continue,
            };
            reads.chain.finders.insert(file.clone());
            reads.chain.follow_unseen(Link { by: file, command }, folder, self.files);
        }
    }

    /// Reads the settings that count in a directory: the file, the name and the value of each. A file that is there and
    /// cannot be read is named.
    fn settings_at(&self, folder: &Path, reads: &mut Reads) -> Vec<(String, String, String)> {
        // Those of the outermost package count for all packages below.
        let folders: BTreeSet<&Path> = self.upwards(folder).chain(self.upwards(&self.directory)).collect();
        let mut found = Vec::new();
        for file in folders.iter().flat_map(|folder| [".npmrc", ".yarnrc"].map(|name| folder.join(name))) {
            let by = self.shown(&file);
            if !self.is_any(&file) {
                continue;
            }
            reads.code.insert(file.clone());
            let Some(text) = self.files.read(&file, TEXT_LIMIT) else {
                reads.chain.finders.insert(by);
                continue;
            };
            for line in String::from_utf8_lossy(&text).split(['\n', '\r']) {
                let line = line.trim_start_matches('\u{feff}').trim();
                if line.starts_with([';', '#']) {
                    continue;
                }
                // A name alone means that it holds.
                let (name, value) = line.split_once(['=', ' ']).unwrap_or((line, "true"));
                let name = name.trim().trim_matches(['"', '\'']).trim_end_matches("[]").trim();
                let value = value.trim_matches([' ', '=', '"', '\'']);
                let name = name.replace('_', "-").to_ascii_lowercase();
                found.push((by.clone(), name, value.to_owned()));
            }
        }
        found
    }

    /// Returns the settings that choose packages as the options that say the same.
    fn options_of_settings(&self, reads: &mut Reads) -> Vec<String> {
        let option = |(_, name, value): (String, String, String)| match name.as_str() {
            "workspace" | "w" => Some(format!("--workspace={value}")),
            "workspaces" | "ws" if value != "false" => Some("--workspaces".to_owned()),
            _ => None,
        };
        let settings = self.settings_at(&self.directory, reads).into_iter();
        settings.filter_map(option).collect()
    }

    /// Binds the programs of packages that a script finds before all others.
    fn bind_bins(&self, folder: &Path, command: &str, reads: &mut Reads) {
        let bins = self.upwards(folder).map(|folder| folder.join("node_modules/.bin"));
        let bins: Vec<PathBuf> = bins.collect();
        let own = ["sh", "node"].map(str::to_owned);
        for program in programs_of(command).into_iter().chain(own).collect::<BTreeSet<String>>() {
            bins.iter().for_each(|bin| self.note_bin(bin.join(&program), reads));
        }
    }
}

/// Lists the variables that a package manager sets from a `package.json`, as far as they may name code.
fn variables_of(package: &PackageJson) -> BTreeMap<String, String> {
    let config = package.get("config").and_then(Json::as_object).into_iter().flatten();
    let config = config.map(|(name, value)| (format!("npm_package_config_{name}"), value));
    let main = package.get("main").map(|main| ("npm_package_main".to_owned(), main));
    config.chain(main).filter_map(|(name, value)| Some((name, value.as_str()?.to_owned()))).collect()
}

/// Lists the scripts that words of a package manager may name, and the directories of packages among the words.
///
/// Which of the words is the value of an option is not known for each of them, so each word may be the verb.
fn asked_scripts(known: Program, args: &[String]) -> (Asked<'_>, BTreeSet<&str>) {
    let manager = known.name;
    let mut asked = Asked::new();
    let mut packages = BTreeSet::new();
    let mut by_verbs = BTreeSet::new();
    let is_operand = |word: &str| !word.starts_with('-') && !word.contains('=');
    let operands: Vec<(usize, &str)> =
        args.iter().map(String::as_str).enumerate().filter(|(_, word)| is_operand(word)).collect();
    let mut named: Vec<(usize, &str)> = match manager {
        "node" | "nodejs" => {
            args.iter().enumerate().filter_map(|(at, word)| run_by_node(args, at, word)).collect()
        }
        "bun" | "pnpm" | "yarn" => operands.iter().take(4).copied().collect(),
        _ => Vec::new(),
    };
    let mut may_be_short = manager == "npm";
    let verbs = operands.iter().enumerate().flat_map(|(index, (at, word))| {
        let verbs = if may_be_short { verbs_of(word) } else { vec![*word] };
        may_be_short &= !NPM_VERBS.contains(word);
        verbs.into_iter().map(move |verb| (index, at, verb))
    });
    for (index, at, word) in verbs.collect::<Vec<_>>() {
        let rest = &operands[index + 1..];
        match (manager, word) {
            // Values of options may come before the name; a name that is no script leads nowhere.
            ("npm" | "pnpm" | "yarn" | "bun", "run" | "run-script" | "rum" | "urn") => {
                named.extend(rest.iter().take(4));
            }
            ("npm" | "pnpm", "test" | "t" | "tst") => named.push((*at, "test")),
            ("npm" | "pnpm", name @ ("start" | "stop" | "restart" | "version")) => named.push((*at, name)),
            _ => {}
        }
        if matches!(manager, "npm" | "pnpm" | "yarn" | "bun")
            && let Some(scripts) = scripts_of_verb(word)
        {
            by_verbs.extend(scripts);
            by_verbs.extend(TESTS_TOO.contains(&word).then_some(&"test"));
            packages.extend(rest.iter().filter_map(|(_, word)| directory_of(word)));
        }
    }
    for (at, name) in named {
        asked.entry(name).or_default().extend(appended(known, args, at));
    }
    for name in by_verbs {
        asked.entry(name).or_default().insert(Vec::new());
    }
    (asked, packages)
}

/// Returns the script that `--run` of node names with this word, and its position.
fn run_by_node<'a>(args: &'a [String], at: usize, word: &'a str) -> Option<(usize, &'a str)> {
    match word.split_once('=') {
        Some((option, name)) => (option == "--run").then_some((at, name)),
        None if word == "--run" => args.get(at + 1).map(|name| (at + 1, name.as_str())),
        None => None,
    }
}

/// Lists which words behind the name of a script may be appended to its text, by their positions.
fn appended(known: Program, args: &[String], at: usize) -> BTreeSet<Vec<usize>> {
    let behind: Vec<usize> = (at + 1..args.len()).collect();
    let end = behind.iter().position(|at| args[*at] == "--");
    let (before, after) = match end {
        Some(end) => (&behind[..end], &behind[end + 1..]),
        None => (&behind[..], &[][..]),
    };
    match known.name {
        "node" | "nodejs" => BTreeSet::from([after.to_vec()]),
        // It takes options itself up to `--`, and the values of the options that it knows.
        "npm" if !args[..at].iter().any(|word| word == "--") => {
            let spelling = &known.row().spelling;
            let is_option = |word: &str| 1 < word.len() && word.starts_with('-');
            let is_value = |at: usize| {
                let option = &args[at - 1];
                is_option(option) && !option.contains('=') && spelling.takes_next_word(option)
            };
            let words = before.iter().copied().filter(|at| !is_option(&args[*at]));
            let all = words.clone().chain(after.iter().copied()).collect();
            let others = words.filter(|at| !is_value(*at)).chain(after.iter().copied()).collect();
            BTreeSet::from([all, others])
        }
        _ => BTreeSet::from([before.iter().chain(after).copied().collect(), behind]),
    }
}

/// Verbs of npm that run scripts.
const NPM_VERBS: &[&str] = &[
    "add",
    "ci",
    "cit",
    "clean-install",
    "dedupe",
    "i",
    "ic",
    "in",
    "install",
    "install-ci-test",
    "install-clean",
    "install-test",
    "it",
    "link",
    "ln",
    "pack",
    "prune",
    "publish",
    "rb",
    "rebuild",
    "restart",
    "rum",
    "run",
    "run-script",
    "sit",
    "start",
    "stop",
    "t",
    "test",
    "tst",
    "uninstall",
    "update",
    "urn",
    "version",
];

/// Lists the verbs that a word may mean to npm: itself, `runScript` for `run-script`, or any beginning of a verb.
fn verbs_of(word: &str) -> Vec<&str> {
    if NPM_VERBS.contains(&word) {
        return vec![word];
    }
    let mut plain = String::new();
    for c in word.chars() {
        if c.is_ascii_uppercase() {
            plain.push('-');
        }
        plain.push(c.to_ascii_lowercase());
    }
    let may_mean = |verb: &&&str| **verb == plain || (1 < plain.len() && verb.starts_with(&plain));
    std::iter::once(word).chain(NPM_VERBS.iter().filter(may_mean).copied()).collect()
}

/// Verbs that install and then test.
const TESTS_TOO: &[&str] = &["cit", "install-ci-test", "install-test", "it", "sit"];

/// Lists the scripts that a package manager runs by itself for a verb, besides those before and after them.
fn scripts_of_verb(verb: &str) -> Option<&'static [&'static str]> {
    match verb {
        "add" | "ci" | "cit" | "clean-install" | "dedupe" | "i" | "ic" | "in" | "install"
        | "install-clean" | "install-test" | "it" | "install-ci-test" | "link" | "ln" | "prune" | "rb"
        | "rebuild" | "sit" | "uninstall" | "update" => Some(&["install", "prepublish", "prepare"]),
        "pack" => Some(&["pack", "prepare"]),
        "publish" => Some(&["pack", "prepare", "prepublishOnly", "publish"]),
        _ => None,
    }
}
