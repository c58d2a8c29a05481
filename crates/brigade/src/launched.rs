//! The programs that a command leads to besides the one it names: behind `env` and its like, and behind `#!`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use brigade_command::Argv;

use crate::files::ToolReader;

/// Programs whose words name another program to run.
const LAUNCHERS: &[&str] = &[
    "busybox",
    "bwrap",
    "catchsegv",
    "chroot",
    "chrt",
    "command",
    "dumb-init",
    "entr",
    "env",
    "exec",
    "fakeroot",
    "faketime",
    "fd",
    "fdfind",
    "find",
    "firejail",
    "flock",
    "gfind",
    "gtimeout",
    "hatch",
    "hyperfine",
    "ionice",
    "ltrace",
    "nice",
    "nohup",
    "npm",
    "npx",
    "parallel",
    "pdm",
    "perf",
    "pipenv",
    "pnpm",
    "poetry",
    "rlwrap",
    "script",
    "setpriv",
    "setsid",
    "stdbuf",
    "strace",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "tini",
    "unbuffer",
    "unshare",
    "uv",
    "valgrind",
    "watch",
    "xargs",
    "xvfb-run",
];

/// Tells whether a word names a program whose words name another one.
pub(crate) fn is_launcher(word: &str) -> bool {
    let name = Path::new(word).file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| LAUNCHERS.contains(&name) || is_loader(name))
}

/// Tells whether a name is that of the loader of programs: `ld-linux-x86-64.so.2`, `ld-musl-x86_64.so.1`.
fn is_loader(name: &str) -> bool {
    name.starts_with("ld-") && name.contains(".so")
}

/// How many programs that lead to each other are followed.
const DEPTH: usize = 4;

/// The longest first line of a script that the system reads.
const FIRST_LINE: usize = 256;

/// Lists the programs, besides the command's own, that the command leads to as `PATH` is now: words behind a launcher, words that
/// `PATH` leads into the workspace, and the interpreters of those that are scripts.
pub(crate) fn launched_programs(reader: &ToolReader<'_>, argv: &Argv, directory: &Path) -> BTreeSet<PathBuf> {
    let root = reader.workspace.fs.root();
    let mut found = BTreeSet::new();
    let mut behind_launcher = is_launcher(argv.program());
    for word in argv.args() {
        let may_be_program = !word.is_empty() && !word.starts_with('-') && !word.contains(['/', '=']);
        if let Some(path) =
            Some(word).filter(|_| may_be_program).and_then(|word| reader.find_program(word, directory))
            && (behind_launcher || path.starts_with(root))
        {
            found.insert(path);
        }
        behind_launcher |= behind_launcher && is_launcher(word);
    }
    let mut scripts: Vec<PathBuf> = reader.find_program(argv.program(), directory).into_iter().collect();
    scripts.extend(found.iter().cloned());
    for _ in 0..DEPTH {
        let interpreters: Vec<PathBuf> =
            scripts.iter().flat_map(|script| interpreters(reader, script, directory)).collect();
        scripts = interpreters.into_iter().filter(|path| found.insert(path.clone())).collect();
    }
    found
}

/// Reads the first line of a script: its interpreter, and the program behind it when that is `env`.
fn interpreters(reader: &ToolReader<'_>, script: &Path, directory: &Path) -> Vec<PathBuf> {
    let fs = &reader.workspace.fs;
    let head = fs.open_outside(script).and_then(|file| file.read_range(0, FIRST_LINE)).unwrap_or_default();
    let Some(line) = head.strip_prefix(b"#!") else {
        return Vec::new();
    };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let Some(interpreter) = words.next() else {
        return Vec::new();
    };
    let mut found = vec![directory.join(interpreter)];
    if Path::new(interpreter).file_name().is_some_and(|name| name == "env") {
        let named = words.find(|word| !word.starts_with('-') && !word.contains('='));
        found.extend(named.and_then(|word| reader.find_program(word, directory)));
    }
    found
}
