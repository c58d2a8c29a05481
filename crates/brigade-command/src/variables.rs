//! Variables that change which code runs.

use crate::programs::{Program, Role};

/// Variables that change how a program is found, loaded or configured, or that a run of Brigade itself sets.
///
/// Names are compared as they are written, because that is how Unix compares them.
const DANGEROUS: &[&str] = &[
    // Where programs and their settings are found.
    "PATH",
    "HOME",
    "SHELL",
    "TMPDIR",
    "CDPATH",
    "IFS",
    // Shells run or read these before the script.
    "ENV",
    "BASH_ENV",
    "BASHOPTS",
    "SHELLOPTS",
    "PS4",
    "PROMPT_COMMAND",
    "ZDOTDIR",
    "FPATH",
    // The C library and what it loads.
    "GCONV_PATH",
    "GETCONF_DIR",
    "HOSTALIASES",
    "LOCPATH",
    "NLSPATH",
    "RESOLV_HOST_CONF",
    "RES_OPTIONS",
    "TERMINFO",
    "TERMINFO_DIRS",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "SSLKEYLOGFILE",
    // Interpreters: options, and code that they load.
    "NODE_OPTIONS",
    "NODE_PATH",
    "ELECTRON_RUN_AS_NODE",
    "AWKLIBPATH",
    "AWKPATH",
    "PERL5LIB",
    "PERL5OPT",
    "PERL5DB",
    "PERLLIB",
    "RUBYOPT",
    "RUBYLIB",
    "GEM_HOME",
    "GEM_PATH",
    "BUNDLE_GEMFILE",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "CLASSPATH",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "DOTNET_STARTUP_HOOKS",
    "R_PROFILE",
    "R_PROFILE_USER",
    "R_ENVIRON",
    "R_ENVIRON_USER",
    "JULIA_LOAD_PATH",
    "TCLLIBPATH",
    "ERL_LIBS",
    "ERL_FLAGS",
    "MAKEFLAGS",
    "GOFLAGS",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    // Programs that others start.
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "GIT_PROXY_COMMAND",
    "GIT_PAGER",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_TEMPLATE_DIR",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
];

/// Beginnings of such names.
const DANGEROUS_PREFIXES: &[&str] =
    &["LD_", "DYLD_", "_RLD", "PYTHON", "BASH_FUNC_", "LUA_", "COR_", "CORECLR_", "GIT_CONFIG", "BRIGADE_"];

/// Variables among them that say nothing about code, although they change how programs behave.
const HARMLESS: &[&str] = &[
    "HOME",
    "HOSTALIASES",
    "IFS",
    "LOCPATH",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONFAULTHANDLER",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONNOUSERSITE",
    "PYTHONOPTIMIZE",
    "PYTHONSAFEPATH",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
    "RES_OPTIONS",
    "SSLKEYLOGFILE",
    "TERMINFO",
    "TERMINFO_DIRS",
    "TMPDIR",
];

/// How options in `GOFLAGS` begin that say neither where code is found nor what is started.
const HARMLESS_OF_GO: &[&str] =
    &["-buildvcs=", "-count=", "-mod=", "-p=", "-race", "-short", "-trimpath", "-v"];

/// How options of rustc begin that say the same, without blanks behind their letters.
const HARMLESS_OF_RUST: &[&str] = &[
    "--cap-lints",
    "--cfg",
    "-A",
    "-Ccodegen-units=",
    "-Cdebug-assertions",
    "-Cdebuginfo=",
    "-Cinstrument-coverage",
    "-Clto",
    "-Copt-level=",
    "-Cpanic=",
    "-Ctarget-cpu=",
    "-D",
    "-F",
    "-O",
    "-W",
    "-g",
];

/// Options of Node that say nothing about code.
const HARMLESS_OF_NODE: &[&str] = &[
    "--enable-source-maps",
    "--experimental-vm-modules",
    "--max-",
    "--no-deprecation",
    "--no-warnings",
    "--openssl-legacy-provider",
    "--stack-",
    "--trace-",
    "--unhandled-rejections",
];

/// Programs that are often named to switch something off.
const HARMLESS_PROGRAMS: &[&str] = &["", ":", "cat", "false", "less", "more", "true"];

/// Tells whether a variable changes how a program is found, loaded or configured.
///
/// ```
/// use brigade_command::is_dangerous_variable;
///
/// assert!(is_dangerous_variable("LD_PRELOAD") && is_dangerous_variable("NODE_OPTIONS"));
/// assert!(!is_dangerous_variable("GITHUB_TOKEN"));
/// ```
pub fn is_dangerous_variable(name: &str) -> bool {
    DANGEROUS.contains(&name) || DANGEROUS_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Ends of names of variables that hold options or commands of a program, or directories of libraries.
const FAMILIES: &[&str] = &[
    "ARGS",
    "ASKPASS",
    "OPT",
    "OPTIONS",
    "OPTS",
    "SHELL",
    "_COMMAND",
    "_DIFF",
    "_EDITOR",
    "_INIT",
    "_LIBRARY_PATH",
    "_LIBS",
    "_LOADABLES_PATH",
    "_LOAD_PATH",
    "_MODULE_PATH",
    "_PAGER",
    "_PLUGIN_PATH",
    "_PROG",
    "_RSH",
    "_RUNNER",
    "_WRAPPER",
    "VIMINIT",
];

/// Variables that belong to no such family and say where programs, settings or libraries are.
const ALSO: &[&str] = &[
    "CARGO_BUILD_RUSTC",
    "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "CARGO_BUILD_RUSTDOC",
    "CARGO_BUILD_RUSTDOCFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CGO_CFLAGS",
    "CGO_CXXFLAGS",
    "CGO_LDFLAGS",
    "CMAKE_PREFIX_PATH",
    "COMPILER_PATH",
    "CPATH",
    "CVS_RSH",
    "DENO_DIR",
    "DJANGO_SETTINGS_MODULE",
    "EMACSLOADPATH",
    "EMACSPATH",
    "EXINIT",
    "GCC_EXEC_PREFIX",
    "GIO_EXTRA_MODULES",
    "GIO_MODULE_DIR",
    "GNUMAKEFLAGS",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "GTK_MODULES",
    "GTK_PATH",
    "LIBRARY_PATH",
    "MFLAGS",
    "NIX_PATH",
    "PYTEST_PLUGINS",
    "RUSTDOCFLAGS",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
    "TCL_LIBRARY",
    "TK_LIBRARY",
    "UV_PYTHON",
    "VIMRUNTIME",
];

/// Tells whether a variable says where programs find their settings, which may name code.
pub(crate) fn moves_settings(name: &str) -> bool {
    const ENDS: &[&str] = &["HOME", "RC", "_CONF", "_PROFILE"];
    // Settings of npm are judged one by one.
    let is_of_npm = name.to_ascii_lowercase().starts_with("npm_config_");
    name.starts_with("XDG_")
        || (name.contains("CONFIG") && !is_of_npm)
        || ENDS.iter().any(|end| name.ends_with(end))
}

/// Variables of git that say where its directories and settings are.
const PLACES_OF_GIT: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_WORK_TREE",
];

/// Settings of npm that say nothing about code.
const HARMLESS_OF_NPM: &[&str] = &[
    "audit",
    "color",
    "engine_strict",
    "fetch_retries",
    "fetch_timeout",
    "fund",
    "ignore_scripts",
    "loglevel",
    "maxsockets",
    "offline",
    "omit",
    "only",
    "prefer_offline",
    "production",
    "progress",
    "save",
    "silent",
    "timing",
    "unicode",
    "update_notifier",
    "yes",
];

/// Tells whether a variable with this value says where code is found, or makes a program start another one.
///
/// ```
/// use brigade_command::names_code;
///
/// assert!(names_code("BASH_ENV", "rc.sh") && names_code("MAKEFLAGS", "-f other.mk"));
/// assert!(!names_code("LANG", "C") && !names_code("PYTHONUNBUFFERED", "1"));
/// ```
pub fn names_code(name: &str, value: &str) -> bool {
    (is_dangerous_variable(name) || is_of_a_family(name)) && !is_harmless(name, value)
}

fn is_of_a_family(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    // npm ignores the case, and takes either sign.
    if let Some(setting) = lower.strip_prefix("npm_config_") {
        return !HARMLESS_OF_NPM.contains(&setting.replace('-', "_").as_str());
    }
    let is_of_cargo = name.starts_with("CARGO_TARGET_") && name != "CARGO_TARGET_DIR";
    let is_of_erlang = name.starts_with("ERL_") && name.ends_with("FLAGS");
    is_of_cargo
        || is_of_erlang
        || ALSO.contains(&name)
        || PLACES_OF_GIT.contains(&name)
        || FAMILIES.iter().any(|end| name.ends_with(end))
}

fn is_harmless(name: &str, value: &str) -> bool {
    if value.is_empty() && name != "PATH" {
        return true;
    }
    match name {
        "NODE_OPTIONS" => value
            .split_whitespace()
            .all(|option| HARMLESS_OF_NODE.iter().any(|beginning| option.starts_with(beginning))),
        "GOFLAGS" => value
            .split_whitespace()
            .all(|option| HARMLESS_OF_GO.iter().any(|beginning| option.starts_with(beginning))),
        "CARGO_BUILD_RUSTDOCFLAGS" | "CARGO_BUILD_RUSTFLAGS" | "RUSTDOCFLAGS" | "RUSTFLAGS" => {
            let apart = ["--cfg ", "-A ", "-C ", "-D ", "-F ", "-W "];
            let joined = apart.iter().fold(value.to_owned(), |text, it| text.replace(it, it.trim_end()));
            let is_known = |option: &str| HARMLESS_OF_RUST.iter().any(|known| option.starts_with(known));
            joined.split_whitespace().all(is_known)
        }
        "SHELL" => is_shell_of_system(value),
        "PYTHONWARNINGS" => value.chars().all(|c| c.is_ascii_alphabetic()),
        "EDITOR" | "GIT_EDITOR" | "GIT_PAGER" | "MANPAGER" | "PAGER" | "VISUAL" => {
            HARMLESS_PROGRAMS.contains(&value)
        }
        "JAVA_OPTS" | "MAVEN_OPTS" | "GRADLE_OPTS" | "SBT_OPTS" => {
            value.split_whitespace().all(|option| option.starts_with("-Xm") || option.starts_with("-Xs"))
        }
        // A switch, and no name of anything.
        name if name.ends_with("_INIT") => value.bytes().all(|byte| byte.is_ascii_digit()),
        name if name.ends_with("_PAGER") || name.ends_with("_EDITOR") => HARMLESS_PROGRAMS.contains(&value),
        name => HARMLESS.contains(&name),
    }
}

fn is_shell_of_system(path: &str) -> bool {
    let name = ["/bin/", "/usr/bin/"].iter().find_map(|folder| path.strip_prefix(folder));
    name.is_some_and(|name| {
        !name.contains('/') && Program::of(name).is_some_and(|known| known.role() == Role::Shell)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_name_code_are_known() {
        for (name, value, expect) in [
            ("PYTHONPATH", "lib", true),
            ("PERL5OPT", "-MFoo", true),
            ("LD_PRELOAD", "./x.so", true),
            ("PATH", "bin:/usr/bin", true),
            ("NODE_OPTIONS", "--require ./x.js", true),
            ("GIT_PAGER", "./x", true),
            ("NODE_OPTIONS", "--max-old-space-size=4096", false),
            ("RUSTFLAGS", "-Clinker=./tc", true),
            ("RUSTFLAGS", "-g -C linker=./tc", true),
            ("RUSTFLAGS", "-C debuginfo=0 -D warnings --cfg x", false),
            ("CARGO_BUILD_RUSTFLAGS", "-Clink-arg=-fuse-ld=./tc", true),
            ("PYTEST_PLUGINS", "o.f", true),
            ("GOFLAGS", "-mod=mod -trimpath", false),
            ("GOFLAGS", "-mod=mod -toolexec=./x", true),
            ("GOFLAGS", "-modfile=other.mod", true),
            ("GOFLAGS", "-overlay=x.json", true),
            ("PYTHONUNBUFFERED", "1", false),
            ("PYTHONWARNINGS", "ignore", false),
            ("PAGER", "cat", false),
            ("X", "1", false),
            // Families.
            ("npm_config_node_options", "--require ./x.js", true),
            ("NPM_CONFIG_SCRIPT_SHELL", "./x", true),
            ("npm_config_script-shell", "./x", true),
            ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", "./x", true),
            ("CARGO_TARGET_AARCH64_APPLE_DARWIN_LINKER", "./x", true),
            ("RUSTC_WORKSPACE_WRAPPER", "./x", true),
            ("ERL_AFLAGS", "-eval x", true),
            ("GNUMAKEFLAGS", "--eval=x", true),
            ("BASH_FUNC_ls%%", "() { x; }", true),
            ("PYTEST_ADDOPTS", "-p x", true),
            ("VIMINIT", ":!x", true),
            ("TAR_OPTIONS", "--checkpoint-action=exec=./e.sh", true),
            ("RSYNC_RSH", "./x", true),
            ("JAVA_OPTS", "-javaagent:x.jar", true),
            ("MAVEN_OPTS", "-Dx", true),
            ("GIT_DIR", "gd", true),
            ("GIT_EXTERNAL_DIFF", "./x", true),
            ("COMPILER_PATH", "l", true),
            ("MYSQL_PAGER", "./x", true),
            ("TCL_LIBRARY", "l", true),
            ("BASH_LOADABLES_PATH", "l", true),
            ("NODE_OPTIONS", "--experimental-vm-modules", false),
            ("SHELL", "/bin/bash", false),
            ("SHELL", "bin/bash", true),
            ("SHELL", "/bin/../work/bash", true),
            ("RUN_INIT", "1", false),
            ("RUN_INIT", "x", true),
            ("npm_config_loglevel", "error", false),
            ("NPM_CONFIG_FUND", "false", false),
            ("CARGO_TARGET_DIR", "out", false),
            ("MAVEN_OPTS", "-Xmx512m", false),
            ("GIT_PAGER", "cat", false),
            ("GIT_AUTHOR_NAME", "x", false),
            ("GIT_TERMINAL_PROMPT", "0", false),
            ("CI", "true", false),
            ("NO_COLOR", "1", false),
            ("NODE_ENV", "production", false),
            ("NODE_OPTIONS", "--max-old-space-size=512", false),
            ("LANG", "C", false),
            ("TZ", "UTC", false),
            ("RUST_LOG", "debug", false),
            ("COLUMNS", "80", false),
            ("CFLAGS", "-O2", false),
        ] {
            assert_eq!(names_code(name, value), expect, "{name}={value}");
        }
    }
}
