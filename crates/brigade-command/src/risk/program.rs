//! Which programs are of interest, by name.

use super::wrapper::Wrapper;

/// What a program is to the judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Reads commands from a text or a file.
    Shell(&'static str),
    /// Reads a program from a text or a file.
    Interpreter(&'static str),
    /// Runs a command with other rights.
    Privilege(&'static str),
    /// Removes files.
    Remove,
    /// Reads its arguments as commands: `eval`, `source`, `.`.
    Eval,
    /// Runs a command given somewhere among its arguments, with options too many to know.
    Launcher,
    /// `find`, which runs commands given after `-exec`.
    Find,
    /// `git`, which runs what settings and options name.
    Git,
    /// Runs the command that follows its options.
    Wrapper(Wrapper),
    /// Anything else.
    Other,
}

impl Kind {
    /// Gives the name of a shell or interpreter.
    pub(super) fn interpreter(self) -> Option<&'static str> {
        match self {
            Kind::Shell(name) | Kind::Interpreter(name) => Some(name),
            Kind::Privilege(_) | Kind::Remove | Kind::Eval | Kind::Launcher => None,
            Kind::Find | Kind::Git | Kind::Wrapper(_) | Kind::Other => None,
        }
    }
}

const SHELLS: &[&str] = &[
    "ash",
    "bash",
    "cmd",
    "csh",
    "dash",
    "elvish",
    "fish",
    "ksh",
    "mksh",
    "nu",
    "oksh",
    "pdksh",
    "posh",
    "powershell",
    "pwsh",
    "rbash",
    "rc",
    "sh",
    "tcsh",
    "xonsh",
    "yash",
    "zsh",
];

const INTERPRETERS: &[&str] = &[
    "awk",
    "bun",
    "clj",
    "clojure",
    "crystal",
    "deno",
    "elixir",
    "erl",
    "expect",
    "gawk",
    "ghc",
    "ghci",
    "gnuplot",
    "groovy",
    "guile",
    "hy",
    "ipython",
    "irb",
    "jruby",
    "julia",
    "kotlin",
    "lua",
    "luajit",
    "mawk",
    "micropython",
    "nawk",
    "nim",
    "node",
    "nodejs",
    "ocaml",
    "octave",
    "osascript",
    "perl",
    "php",
    "py",
    "pypy",
    "python",
    "pythonw",
    "qjs",
    "r",
    "racket",
    "raku",
    "rscript",
    "ruby",
    "runghc",
    "sbcl",
    "scala",
    "swift",
    "tclsh",
    "ts-node",
    "tsx",
];

const PRIVILEGE: &[&str] = &[
    "calife",
    "doas",
    "dzdo",
    "gksu",
    "gksudo",
    "gosu",
    "kdesu",
    "kdesudo",
    "ksu",
    "newgrp",
    "nsenter",
    "pfexec",
    "pkexec",
    "please",
    "run0",
    "runas",
    "runuser",
    "s6-setuidgid",
    "setuidgid",
    "sg",
    "su",
    "su-exec",
    "su-rs",
    "sudo",
    "sudo-rs",
    "sudoedit",
    "sux",
];

const DOWNLOADERS: &[&str] = &[
    "aria2c", "axel", "curl", "fetch", "ftp", "http", "https", "lynx", "nc", "ncat", "netcat", "wget", "xh",
];

const LAUNCHERS: &[&str] = &[
    "aws-vault",
    "bunx",
    "bwrap",
    "capsh",
    "catatonit",
    "catchsegv",
    "cgexec",
    "chpst",
    "conda",
    "crictl",
    "dbus-run-session",
    "direnv",
    "distrobox",
    "docker",
    "doppler",
    "dotenv",
    "dumb-init",
    "eatmydata",
    "entr",
    "envdir",
    "faketime",
    "firejail",
    "gdb",
    "hyperfine",
    "kubectl",
    "ltrace",
    "lxc-attach",
    "machinectl",
    "mise",
    "nerdctl",
    "nix",
    "nix-shell",
    "npx",
    "op",
    "parallel",
    "pipenv",
    "pnpx",
    "podman",
    "poetry",
    "proot",
    "proxychains",
    "proxychains4",
    "rlwrap",
    "s6-envdir",
    "screen",
    "script",
    "softlimit",
    "start-stop-daemon",
    "strace",
    "systemd-inhibit",
    "systemd-run",
    "tmux",
    "torify",
    "torsocks",
    "unbuffer",
    "uv",
    "valgrind",
    "wsl",
    "xterm",
    "xvfb-run",
];

/// Programs of which only some subcommands run a command.
const LAUNCHING_SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("adb", &["shell"]),
    ("asdf", &["exec"]),
    ("bundle", &["exec"]),
    ("flatpak", &["run"]),
    ("hatch", &["run"]),
    ("incus", &["exec"]),
    ("lxc", &["exec"]),
    ("npm", &["exec", "x"]),
    ("pdm", &["run"]),
    ("perf", &["c2c", "kmem", "kvm", "lock", "mem", "record", "sched", "stat", "trace"]),
    ("pixi", &["run"]),
    ("pnpm", &["dlx", "exec"]),
    ("pyenv", &["exec"]),
    ("rbenv", &["exec"]),
    ("rustup", &["run"]),
    ("rye", &["run"]),
    ("yarn", &["dlx", "exec"]),
];

/// Tells whether a subcommand of a program runs a command.
pub(super) fn launches(program: &str, subcommand: &str) -> bool {
    let name = base_name(program);
    LAUNCHING_SUBCOMMANDS.iter().any(|(of, names)| *of == name && names.contains(&subcommand))
}

/// Tells whether the first argument of `sg` is one of ast-grep.
pub(super) fn is_ast_grep(argument: &str) -> bool {
    let subcommands = ["completions", "help", "lsp", "new", "run", "scan", "test"];
    argument.starts_with('-') || subcommands.contains(&argument)
}

/// Gives the last part of a program's path, in lower case and without `.exe`.
pub(super) fn base_name(program: &str) -> String {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program).to_ascii_lowercase();
    name.strip_suffix(".exe").map(str::to_owned).unwrap_or(name)
}

/// Finds a name in a list, also when it carries a version: `python3.11`, `bash-5.2`, `lua5.4`.
fn listed(name: &str, list: &[&'static str]) -> Option<&'static str> {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-');
    list.iter().copied().find(|entry| *entry == name || (!plain.is_empty() && *entry == plain))
}

/// Tells whether a name is that of the loader of programs: `ld-linux-x86-64.so.2`, `ld-musl-x86_64.so.1`.
fn is_loader(name: &str) -> bool {
    (name.starts_with("ld-") && name.contains(".so")) || name == "ld.so"
}

/// Tells what a program is, given its name or path.
pub(super) fn kind_of(program: &str) -> Kind {
    let name = base_name(program);
    // `. file` must not be read as a name with its version taken off.
    if program == "." || matches!(name.as_str(), "eval" | "source") {
        return Kind::Eval;
    }
    if let Some(shell) = listed(&name, SHELLS) {
        Kind::Shell(shell)
    } else if let Some(interpreter) = listed(&name, INTERPRETERS) {
        Kind::Interpreter(interpreter)
    } else if let Some(tool) = PRIVILEGE.iter().find(|tool| **tool == name) {
        Kind::Privilege(tool)
    } else if matches!(name.as_str(), "rm" | "grm") {
        Kind::Remove
    } else if matches!(name.as_str(), "find" | "gfind" | "fd" | "fdfind") {
        Kind::Find
    } else if name == "git" {
        Kind::Git
    } else if let Some(wrapper) = Wrapper::named(&name) {
        Kind::Wrapper(wrapper)
    } else if LAUNCHERS.contains(&name.as_str()) || is_loader(&name) {
        Kind::Launcher
    } else {
        Kind::Other
    }
}

/// Gives the fixed name of a program that downloads.
pub(super) fn downloader(name: &str) -> Option<&'static str> {
    DOWNLOADERS.iter().copied().find(|entry| *entry == name)
}
