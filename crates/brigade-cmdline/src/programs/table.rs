//! The rows of the table.

use super::logins::LOGINS;
use super::options::{GO_VALUED, NPM_VALUED, PARALLEL_VALUED, SQLITE_VALUED};
use super::password::{AFTER_LOGIN, short};
use super::row::{
    container, hook, interpreter, launcher, other, row, shell, subcommands, wrapper, wrapper_after,
};
use super::{ContainerOptions, Finds, Hook, PYTHON, Role, Row, Script, Starts, Value, Writes};

const SHELL_FLAGS: &str = "abefhklmnpruvxBCEHPT";

/// The files that Python imports.
pub(crate) const PYTHON_ENDS: &[&str] = &[".py", ".pyc", ".so"];

/// The files that JavaScript interpreters load, except `.json`.
pub(crate) const JAVASCRIPT_ENDS: &[&str] =
    &[".js", ".node", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", ".mts", ".cts"];

const NPM_FILES: &[&str] = &["package.json", ".npmrc"];

/// The names of justfiles, in the cases that are in use.
const JUSTFILES: &[&str] = &["justfile", "Justfile", "JUSTFILE", ".justfile", ".Justfile", ".JUSTFILE"];

const BUN_FILES: &[&str] = &["package.json", "bunfig.toml"];

pub(super) const READS_FILE: Hook = hook(Value::File, "f", &["--file"]);

const TAR_HOOKS: &[Hook] = &[
    hook(Value::Command, "IF", &["--use-compress-program", "--info-script", "--new-volume-script"]),
    hook(Value::ShellText, "", &["--to-command", "--rsh-command", "--rmt-command"]),
];

/// Every row: programs that run or change something, and programs that only matter because of their passwords.
pub(super) static ROWS: [Row; PROGRAMS.len() + LOGINS.len()] = {
    let mut rows = [PROGRAMS[0]; PROGRAMS.len() + LOGINS.len()];
    let mut at = 0;
    while at < rows.len() {
        rows[at] = if at < PROGRAMS.len() { PROGRAMS[at] } else { LOGINS[at - PROGRAMS.len()] };
        at += 1;
    }
    rows
};

const PROGRAMS: &[Row] = &[
    // Shells.
    shell(&["ash", "bash", "dash", "ksh", "sh", "zsh"])
        .script(Script::OnPath, SHELL_FLAGS)
        .valued("oO", &["--rcfile", "--init-file"])
        .ends_of_code(&[".bash", ".ksh", ".sh", ".zsh"]),
    shell(&["csh", "fish", "mksh", "oksh", "pdksh", "posh", "rbash", "tcsh", "yash"])
        .script(Script::OnPath, "")
        .ends_of_code(&[".csh", ".fish"]),
    shell(&["cmd", "elvish", "nu", "powershell", "pwsh", "rc", "xonsh"])
        .ends_of_code(&[".bat", ".cmd", ".nu", ".ps1", ".psm1", ".xsh"]),
    row(&[".", "eval", "source"], Role::Eval),
    // Interpreters.
    interpreter(PYTHON)
        .script(Script::File, "bBdEiIOPqRsSuvVx")
        .code("c", &[])
        .valued("WXQ", &["--check-hash-based-pycs"])
        .ends("m")
        .finds(Finds::Python)
        .ends_of_code(super::PYTHON_CODE),
    interpreter(&["ipython", "micropython"])
        .script(Script::File, "bBdEiIOPqRsSuvVx")
        .code("c", &[])
        .valued("WXQ", &["--check-hash-based-pycs"])
        .ends("m")
        .finds(Finds::Python)
        .ends_of_code(super::PYTHON_CODE),
    interpreter(&["perl"])
        .script(Script::File, "wWT")
        .code("eE", &[])
        .valued("I", &[])
        .attached("MmFxCDidV")
        .ends_of_code(&[".pl", ".pm", ".t"]),
    interpreter(&["raku"]).code("eE", &[]).valued("I", &[]).attached("MmFxCDidV"),
    interpreter(&["ruby", "jruby"])
        .script(Script::File, "wWT")
        .code("e", &[])
        .valued("IrCEX", &[])
        .attached("xFKTWi0")
        .ends_of_code(&[".gemspec", ".rb", ".ru"]),
    interpreter(&["irb"]).code("e", &[]).valued("IrCE", &[]).attached("xFKTWi0"),
    interpreter(&["node", "nodejs", "ts-node", "tsx"])
        .script(Script::ByName, "")
        .code("ep", &["--eval", "--print"])
        .valued(
            "rCP",
            &[
                "--require",
                "--import",
                "--loader",
                "--experimental-loader",
                "--conditions",
                "--input-type",
                "--env-file",
                "--title",
                "--project",
                "--test-concurrency",
                "--test-name-pattern",
                "--test-reporter",
                "--test-reporter-destination",
                "--test-shard",
                "--test-skip-pattern",
                "--test-timeout",
                "--watch-path",
            ],
        )
        .long_flags(&["--test", "--watch"])
        .finds(Finds::JavaScript)
        .ends_of_code(JAVASCRIPT_ENDS),
    interpreter(&["bun"])
        .script(Script::ByName, "")
        .code("ep", &["--eval", "--print"])
        .valued("rc", &["--config", "--cwd", "--define", "--env-file", "--preload", "--require"])
        .finds(Finds::JavaScript)
        .files(BUN_FILES)
        .starts(Starts::BehindWords(&["exec", "run", "x"])),
    interpreter(&["deno"]).files(&["deno.json", "deno.jsonc"]),
    interpreter(&["php"])
        .script(Script::File, "f")
        .code("rBRE", &["--run", "--process-begin", "--process-code", "--process-end"])
        .valued("cdzSt", &["--php-ini", "--define"])
        .ends("fF")
        .ends_of_code(&[".inc", ".phar", ".php", ".phtml"]),
    interpreter(&["lua"]).script(Script::File, "").code("e", &[]).valued("lj", &[]).ends_of_code(&[".lua"]),
    interpreter(&["luajit"]).code("e", &[]).valued("lj", &[]),
    interpreter(&["rscript"])
        .script(Script::File, "")
        .code("e", &[])
        .valued("l", &[])
        .ends_of_code(&[".R", ".r"]),
    interpreter(&["ghc", "groovy", "osascript", "r"])
        .code("e", &[])
        .valued("l", &[])
        .ends_of_code(&[".groovy", ".hs"]),
    interpreter(&["julia"])
        .code("eE", &["--eval", "--print"])
        .valued("LJCtpH", &["--load"])
        .ends_of_code(&[".jl"]),
    interpreter(&["elixir", "scala", "swift"])
        .code("e", &["--eval"])
        .valued("rS", &[])
        .ends_of_code(&[".beam", ".ex", ".exs", ".scala", ".swift"]),
    interpreter(&["expect"]).code("c", &[]).attached("d"),
    interpreter(&["ghci", "gnuplot", "kotlin", "ocaml", "qjs", "runghc"]).code("e", &[]),
    interpreter(&["hy"]).code("c", &[]),
    interpreter(&["nim", "octave"]).code("", &["--eval"]),
    interpreter(&["guile", "racket"])
        .code("ec", &["--eval"])
        .valued("ltL", &[])
        .ends_of_code(&[".rkt", ".scm"]),
    interpreter(&["clj", "clojure", "sbcl"])
        .code("e", &["--eval", "-e"])
        .ends_of_code(&[".clj", ".cljs", ".lisp"]),
    interpreter(&["awk", "gawk", "mawk"])
        .valued("Ffivl", &["--assign", "--field-separator", "--file", "--include", "--load"])
        .hooks(&[READS_FILE, hook(Value::File, "il", &["--include", "--load"])])
        .ends_of_code(&[".awk"]),
    interpreter(&["jrunscript"]).code("e", &[]).valued("fl", &["-classpath", "-cp", "--class-path"]),
    interpreter(&["jshell"]).valued("cefl", &["-classpath", "-cp", "--class-path"]),
    interpreter(&["crystal", "erl", "nawk", "tclsh", "wish"]).ends_of_code(&[".cr", ".erl", ".tcl"]),
    // Programs that give rights of other users.
    row(&["sudo"], Role::Privilege)
        .valued("ugpCDhrtTRU", &["--user", "--group", "--prompt", "--chdir", "--host"]),
    row(
        &[
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
            "sudo-rs",
            "sudoedit",
            "sux",
        ],
        Role::Privilege,
    ),
    // Programs that run the command after their options.
    wrapper(&["builtin", "command", "coproc", "gnohup", "noglob", "nohup", "setsid"]),
    // The applet is the command.
    wrapper(&["busybox", "toybox"]),
    wrapper(&["caffeinate"]).valued("tw", &[]),
    wrapper_after(1, &["chroot", "gchroot"]).valued("", &["--userspec", "--groups"]),
    wrapper_after(1, &["chrt"]).valued("TPD", &["--sched-runtime", "--sched-deadline", "--sched-period"]),
    wrapper(&["env", "genv"])
        .valued("uCSP", &["--unset", "--chdir", "--split-string"])
        .changes_directory('C', "--chdir")
        .sets_variables(),
    wrapper(&["cross-env", "cross-env-shell"]).sets_variables(),
    wrapper(&["exec"]).valued("a", &[]),
    wrapper(&["fakeroot", "fakeroot-sysv", "fakeroot-tcp"]).valued("lsib", &["--lib", "--faked"]),
    wrapper_after(1, &["flock"]).valued("wEc", &["--wait", "--timeout", "--conflict-exit-code", "--command"]),
    wrapper(&["ionice"]).valued("cnpPu", &["--class", "--classdata", "--pid"]),
    wrapper(&["gnice", "nice"]).valued("n", &["--adjustment"]),
    wrapper(&["nocache"]).valued("n", &[]),
    wrapper(&["numactl"]).valued("NmCipPx", &["--cpunodebind", "--membind", "--interleave", "--physcpubind"]),
    wrapper(&["prlimit"]).valued("po", &["--pid", "--output"]),
    // The architecture after the first name is optional, and also a name of this program.
    wrapper(&[
        "aarch64",
        "alpha",
        "arm",
        "armh",
        "armv6l",
        "armv7l",
        "armv8b",
        "armv8l",
        "i386",
        "i486",
        "i586",
        "i686",
        "ia64",
        "linux32",
        "linux64",
        "loongarch64",
        "mips",
        "mips64",
        "parisc",
        "parisc64",
        "ppc",
        "ppc32",
        "ppc64",
        "ppc64le",
        "ppcle",
        "riscv32",
        "riscv64",
        "s390",
        "s390x",
        "setarch",
        "sparc",
        "sparc64",
        "uname26",
        "x86_64",
    ]),
    wrapper(&["setpgid"]),
    wrapper(&["pipesz"]).valued("snf", &["--set", "--fd", "--file"]),
    wrapper(&["chronic", "ifne"]),
    wrapper(&["ssh-agent"]).valued("aEtPO", &[]),
    wrapper(&["choom"]).valued("np", &["--adjust", "--pid"]),
    wrapper(&["uclampset"]).valued("mMp", &["--util-min", "--util-max", "--pid"]),
    wrapper(&["setpriv"]).valued(
        "",
        &[
            "--reuid",
            "--ruid",
            "--euid",
            "--regid",
            "--rgid",
            "--egid",
            "--groups",
            "--inh-caps",
            "--ambient-caps",
            "--bounding-set",
            "--securebits",
            "--pdeathsig",
            "--selinux-label",
            "--apparmor-profile",
        ],
    ),
    wrapper(&["gstdbuf", "stdbuf"]).valued("ioe", &["--input", "--output", "--error"]),
    wrapper_after(1, &["taskset"]),
    wrapper(&["time"]).valued("fo", &["--format", "--output"]),
    wrapper_after(1, &["gtimeout", "timeout"]).valued("sk", &["--signal", "--kill-after"]),
    wrapper(&["tini"]).valued("pe", &[]),
    wrapper(&["unshare"])
        .valued(
            "SGRw",
            &[
                "--setuid",
                "--setgid",
                "--root",
                "--wd",
                "--propagation",
                "--setgroups",
                "--map-user",
                "--map-group",
                "--monotonic",
                "--boottime",
            ],
        )
        .changes_directory('w', "--wd"),
    wrapper(&["watch"]).valued("nq", &["--interval", "--equexit"]),
    wrapper(&["gxargs", "xargs"]).attached("eil").valued(
        "InPLsdaEJRS",
        &["--max-args", "--max-procs", "--max-chars", "--delimiter", "--arg-file", "--process-slot-var"],
    ),
    // Programs that run a command somewhere in their words.
    launcher(&["ld.so"]),
    other(&["java", "javaw"]).ends_of_code(&[".class", ".jar", ".java"]).valued(
        "p",
        &[
            "-cp",
            "-classpath",
            "--add-exports",
            "--add-modules",
            "--add-opens",
            "--add-reads",
            "--class-path",
            "--limit-modules",
            "--module-path",
            "--source",
            "--upgrade-module-path",
        ],
    ),
    launcher(&["c8", "concurrently", "dotenvx", "env-cmd", "nyc"]),
    launcher(&[
        "authbind", "bear", "bwrap", "ccache", "cgexec", "chamber", "chpst", "conda", "cpulimit", "devbox",
        "direnv", "distcc", "doppler", "dotenv", "enosys", "envchain", "envdir", "faketime", "firejail",
        "fnm", "guix", "icecc", "lckdo", "lldb", "ltrace", "mise", "mispipe", "mold", "niceload", "nix",
        "nsjail", "op", "pee", "pipenv", "proot", "rlwrap", "rr", "runcon", "sccache", "schroot", "screen",
        "sem", "setlock", "sops", "teller", "tmux", "toolbox", "torify", "torsocks", "trickle", "unbuffer",
        "uvx", "volta", "xterm", "xvfb-run", "zrun",
    ]),
    launcher(&[
        "apptainer",
        "aws-vault",
        "catatonit",
        "catchsegv",
        "coresched",
        "daemonize",
        "dbus-launch",
        "dbus-run-session",
        "dpkg-architecture",
        "dumb-init",
        "eatmydata",
        "fakechroot",
        "flatpak-spawn",
        "gdbserver",
        "heaptrack",
        "hyperfine",
        "nix-shell",
        "proxychains",
        "proxychains4",
        "s6-envdir",
        "scan-build",
        "singularity",
        "softlimit",
        "switch_root",
        "systemd-cat",
        "systemd-inhibit",
        "systemd-run",
        "watchexec",
    ]),
    launcher(&["poetry", "uv"]),
    launcher(&["start-stop-daemon"])
        .valued(
            "xpunagcskRrNPImd",
            &[
                "--exec",
                "--pidfile",
                "--user",
                "--name",
                "--startas",
                "--group",
                "--chuid",
                "--chdir",
                "--chroot",
                "--iosched",
                "--nicelevel",
                "--notify-timeout",
                "--output",
                "--pid",
                "--ppid",
                "--procsched",
                "--retry",
                "--signal",
                "--umask",
            ],
        )
        .long_flags(&["--start"])
        .changes_directory('d', "--chdir"),
    // Names of gdb's options have one dash or two.
    launcher(&["gdb"]).hooks(&[hook(
        Value::File,
        "x",
        &[
            "--command",
            "-command",
            "--init-command",
            "-init-command",
            "-ix",
            "--early-init-command",
            "-early-init-command",
            "-eix",
        ],
    )]),
    wrapper(&["parallel"]).valued("CEIJLNPSUadjnst", PARALLEL_VALUED).hooks(&[hook(
        Value::File,
        "a",
        &["--arg-file"],
    )]),
    launcher(&["valgrind"]).script(Script::Unknown, "dhqv"),
    launcher(&["strace"]).valued("aEeIoOpPSsUuXb", &["--output"]).hooks(&[hook(
        Value::Output,
        "o",
        &["--output"],
    )]),
    launcher(&["capsh"]).hooks(&[hook(Value::ShellText, "c", &[])]),
    launcher(&["entr"]).hooks(&[hook(Value::ShellText, "s", &[])]),
    launcher(&["script", "scriptlive"]).hooks(&[hook(Value::ShellText, "c", &["--command"])]),
    launcher(&["npx"])
        .valued("cpw", NPM_VALUED)
        .hooks(&[hook(Value::ShellText, "c", &["--call"])])
        .finds(Finds::Packages)
        .files(NPM_FILES),
    launcher(&["pnpx"]).finds(Finds::Packages),
    launcher(&["bunx"]).finds(Finds::Packages).files(BUN_FILES),
    container(&["adb", "crictl", "distrobox", "incus", "kubectl", "lxc", "lxc-attach", "machinectl"]),
    container(&["wsl"]).starts(Starts::Anywhere),
    container(&["docker", "nerdctl", "podman"])
        .passwords(&[AFTER_LOGIN])
        .stores_secrets()
        .container_options(ContainerOptions::DOCKER),
    other(&["buildah"]).stores_secrets(),
    other(&["docker-compose"]).stores_secrets().starts(Starts::BehindWords(&["exec", "run"])),
    other(&["gcloud"]).stores_secrets(),
    // Programs that run a command only in some subcommands.
    subcommands(&["asdf", "bundle", "pyenv", "rbenv"], &["exec"]),
    subcommands(&["flatpak", "hatch", "pdm", "pixi", "rustup", "rye"], &["run"]),
    subcommands(&["npm"], &["exec", "x"]).valued("wCcp", NPM_VALUED).finds(Finds::Packages).files(NPM_FILES),
    subcommands(&["perf"], &["c2c", "kmem", "kvm", "lock", "mem", "record", "sched", "stat", "trace"]),
    subcommands(&["pnpm"], &["dlx", "exec"]).finds(Finds::Packages).files(&[
        "package.json",
        ".npmrc",
        ".pnpmfile.cjs",
    ]),
    subcommands(&["yarn"], &["dlx", "exec"]).finds(Finds::Packages).files(&[
        "package.json",
        ".yarnrc",
        ".yarnrc.yml",
    ]),
    // Programs that run what they find, or what a file names.
    row(&["fd", "fdfind", "find", "gfind"], Role::Find),
    row(&["git"], Role::Git),
    other(&["gmake", "make"])
        .valued("CEfIoW", &["--directory", "--eval", "--file", "--makefile", "--include-dir"])
        .hooks(&[hook(Value::ShellText, "E", &["--eval"]), hook(Value::File, "f", &["--file", "--makefile"])])
        .ends_of_code(&[".mk", "GNUmakefile", "Makefile", "makefile"])
        .versioned(),
    // The words after `-c` are a command.
    launcher(&["just"])
        .valued("df", &["--working-directory", "--justfile"])
        .files(JUSTFILES)
        .ends_of_code(&[".just"]),
    other(&["rake"])
        .valued("fIrR", &["--libdir", "--rakefile", "--rakelibdir", "--require"])
        .hooks(&[hook(Value::File, "f", &["--rakefile"])])
        .files(&["Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb"])
        .ends_of_code(&[".rake"]),
    other(&[
        "ant", "bazel", "buck2", "cabal", "gradle", "gradlew", "lein", "mix", "mvn", "mvnw", "ninja", "sbt",
        "scons", "stack", "zig",
    ])
    .ends_of_code(super::BUILD_ENDS),
    other(&["dotnet"]).ends_of_code(super::BUILD_ENDS),
    other(&["cargo"]).ends_of_code(&[".rs", "Cargo.toml"]),
    other(&["cmake"]).ends_of_code(&[".cmake", "CMakeLists.txt"]),
    other(&["meson"]).ends_of_code(&["meson.build"]),
    other(&["py.test", "pytest"]).script(Script::Unknown, "hlqsvx").versioned(),
    other(&["coverage"]).versioned(),
    other(&["pip", "pipx"]).versioned().starts(Starts::BehindWords(&["run"])),
    other(&["run-parts"]).valued("ua", &["--arg", "--regex", "--umask"]),
    // Names of go's options have one dash or two.
    other(&["go"])
        .valued("", GO_VALUED)
        .hooks(&[hook(
            Value::Command,
            "",
            &["-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool"],
        )])
        .ends_of_code(&[".go", "go.mod", "go.work"])
        .versioned(),
    other(&[
        "c++",
        "c89",
        "c99",
        "cc",
        "clang",
        "clang++",
        "cpp",
        "g++",
        "gcc",
        "gcc-ar",
        "gcc-nm",
        "gcc-ranlib",
        "gfortran",
    ])
    .valued("BILDUolx", &[])
    .finds(Finds::Compiler)
    .ends_of_code(&[".a", ".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".o"])
    .versioned(),
    other(&["ar", "as", "javac", "ld", "ld.bfd", "ld.gold", "ld.lld", "lld", "nm", "objdump"]),
    // Programs with options that run something.
    other(&["bsdtar"]).hooks(&[hook(Value::Command, "", &["--use-compress-program"])]),
    other(&["emacs"]).hooks(&[
        hook(Value::Code, "", &["--eval", "-eval", "--execute", "-execute"]),
        hook(Value::File, "l", &["--load", "-load", "--script", "-script"]),
    ]),
    other(&["ex", "gvim", "nvim", "vi", "view", "vim", "vimdiff"]).hooks(&[hook(Value::File, "SUsu", &[])]),
    other(&["psql"]).hooks(&[hook(Value::File, "f", &["--file"])]),
    other(&["sqlite3"])
        .valued("", SQLITE_VALUED)
        .hooks(&[hook(Value::File, "", &["--init", "-init"])])
        .ends_of_code(&[".sql"]),
    other(&["gtar", "tar"]).hooks(TAR_HOOKS),
    other(&["nc", "netcat"]).hooks(&[hook(Value::ShellText, "e", &[])]),
    other(&["ncat"]).hooks(&[hook(Value::ShellText, "ec", &["--exec", "--sh-exec"])]),
    other(&["rsync"]).hooks(&[hook(Value::Command, "e", &["--rsh", "--rsync-path"])]),
    other(&["scp", "sftp"]).hooks(&[hook(Value::Command, "S", &[])]),
    other(&["gsed", "sed"]).hooks(&[READS_FILE]).ends_of_code(&[".sed"]),
    other(&["gsplit", "split"]).hooks(&[hook(Value::ShellText, "", &["--filter"])]),
    other(&["gsort", "sort"]).valued("kotST", &["--output"]).hooks(&[hook(
        Value::Command,
        "",
        &["--compress-program"],
    )]),
    other(&["ginstall", "install"]).valued("gmoSt", &[]).writes(Writes::Last).hooks(&[hook(
        Value::Command,
        "",
        &["--strip-program"],
    )]),
    other(&["cp", "mv"]).valued("St", &["--suffix", "--target-directory"]).writes(Writes::Last),
    other(&["mkdir", "rmdir", "shred", "tee", "touch", "truncate"])
        .valued("dmrst", &[])
        .writes(Writes::Operands),
    other(&["zip"])
        .valued("bnOstxi", &[])
        .hooks(&[hook(Value::ShellText, "", &["--unzip-command"])])
        .passwords(&[short("P")]),
    row(&["grm", "rm"], Role::Remove).writes(Writes::Operands),
];
