//! What of a home is readable for a program: its installation, and nothing that somebody only names.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests set up and look at the real system"
)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use brigade_process::{NamedBy, Surroundings, installation_in};

/// Writes a file that can be executed, with the directories above it.
fn program(path: &Path, text: &str) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_owned()
}

#[test]
fn an_installation_opens_no_home() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().join("home");
    let make = |name: &str, text: &str| program(&home.join(name), text);
    let link = |name: &str, target: &Path| {
        let path = home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, &path).unwrap();
        path
    };
    for secret in [".ssh/id", ".aws/credentials", ".config/gh/hosts.yml", ".netrc", ".cargo/credentials.toml"]
    {
        make(secret, "secret");
    }
    let path = std::env::join_paths([home.join(".pyenv/shims"), home.join(".local/bin")]).unwrap();
    let around = Surroundings { home: Some(home.clone()), path, rustup_home: None, workspace: None };
    let check = |program: PathBuf, expect: &[&str]| {
        let found = installation_in([(program.as_path(), NamedBy::Command)], &around).paths;
        let expect: BTreeSet<PathBuf> = expect.iter().map(|name| home.join(name)).collect();
        assert_eq!(found, expect, "{}", program.display());
    };
    // A program of one's own: itself only.
    check(make("bin/mine", "#!/bin/sh\n"), &["bin/mine"]);
    fs::create_dir_all(home.join("lib")).unwrap();
    check(home.join("bin/mine"), &["bin/mine"]);
    // nvm.
    make(".nvm/versions/node/v20/lib/node_modules/npm/cli.js", "#!/usr/bin/env node\n");
    check(
        make(".nvm/versions/node/v20/bin/node", "\x7fELF"),
        &[".nvm/versions/node/v20", ".nvm/versions/node/v20/bin/node"],
    );
    // pyenv: the manager's own files and the versions it may pick.
    make(".pyenv/libexec/pyenv", "#!/usr/bin/env bash\n");
    make(".pyenv/versions/3.12/lib/python3.12/os.py", "");
    let real = make(".pyenv/versions/3.12/bin/python3", "\x7fELF");
    let shim = make(".pyenv/shims/python3", "#!/usr/bin/env bash\nexec pyenv\n");
    let pyenv = [".pyenv/libexec", ".pyenv/shims", ".pyenv/shims/python3", ".pyenv/versions"];
    check(shim, &pyenv);
    // A script run by the shim on PATH.
    let script: Vec<&str> = pyenv.iter().copied().chain(["work/tool"]).collect();
    check(make("work/tool", "#!/usr/bin/env python3\n"), &script);
    // A virtual environment and the Python it was made from.
    make("work/venv/pyvenv.cfg", &format!("home = {}\nversion = 3.12\n", real.parent().unwrap().display()));
    let venv = link("work/venv/bin/python3", &real);
    let base =
        [".pyenv/versions/3.12", ".pyenv/versions/3.12/bin/python3", "work/venv", "work/venv/bin/python3"];
    check(venv, &base);
    // rustup.
    make(".rustup/toolchains/stable/bin/cargo", "\x7fELF");
    make(".rustup/settings.toml", "");
    let rustup = make(".cargo/bin/rustup", "\x7fELF");
    let cargo = link(".cargo/bin/cargo", &rustup);
    let toolchains = [
        ".cargo/bin",
        ".cargo/bin/cargo",
        ".cargo/bin/rustup",
        ".rustup/settings.toml",
        ".rustup/toolchains",
    ];
    check(cargo, &toolchains);
    // asdf since 0.16: the shim calls a program that is anywhere on PATH.
    make(".asdf/installs/nodejs/20/bin/node", "\x7fELF");
    make(".tool-versions", "nodejs 20\n");
    make(".local/bin/asdf", "\x7fELF");
    let shim = make(
        ".asdf/shims/node",
        "#!/usr/bin/env bash\n# asdf-plugin: nodejs 20\nexec asdf exec \"node\" \"$@\"\n",
    );
    let asdf = [".asdf/installs", ".asdf/shims", ".asdf/shims/node", ".local/bin/asdf", ".tool-versions"];
    check(shim, &asdf);
    // fnm: a link of the shell's own to the version.
    make(".local/share/fnm/node-versions/v22/installation/lib/node_modules/npm/cli.js", "");
    make(".local/share/fnm/node-versions/v22/installation/bin/node", "\x7fELF");
    let version = home.join(".local/share/fnm/node-versions/v22/installation");
    let shell = link(".local/state/fnm_multishells/7_7", &version);
    check(
        shell.join("bin/node"),
        &[
            ".local/share/fnm/node-versions/v22/installation",
            ".local/share/fnm/node-versions/v22/installation/bin/node",
            ".local/state/fnm_multishells/7_7",
            ".local/state/fnm_multishells/7_7/bin/node",
        ],
    );
    // uv, and SDKMAN behind its link to the current version.
    make(".local/share/uv/python/cpython-3.12/lib/python3.12/os.py", "");
    check(
        make(".local/share/uv/python/cpython-3.12/bin/python3.12", "\x7fELF"),
        &[".local/share/uv/python/cpython-3.12", ".local/share/uv/python/cpython-3.12/bin/python3.12"],
    );
    make(".sdkman/candidates/java/21/lib/modules", "");
    make(".sdkman/candidates/java/21/bin/java", "\x7fELF");
    let current = link(".sdkman/candidates/java/current", &home.join(".sdkman/candidates/java/21"));
    check(
        current.join("bin/java"),
        &[
            ".sdkman/candidates/java/21",
            ".sdkman/candidates/java/21/bin/java",
            ".sdkman/candidates/java/current",
            ".sdkman/candidates/java/current/bin/java",
        ],
    );
    // What pip installed for the user.
    make(".local/lib/python3.12/site-packages/x.py", "");
    check(make(".local/bin/x", "#!/bin/sh\n"), &[".local/bin/x", ".local/lib"]);
    // A tool of npm, linked from its bin directory.
    let cli = make("work/node_modules/tool/cli.js", "#!/bin/sh\n");
    let linked = link("work/node_modules/.bin/tool", &cli);
    let modules = ["work/node_modules", "work/node_modules/.bin/tool", "work/node_modules/tool/cli.js"];
    check(linked, &modules);
}

#[test]
fn what_lies_in_the_workspace_opens_nothing_outside() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().join("home");
    let work = home.join("work");
    let make = |name: &str, text: &str, mode: u32| {
        let path = home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let link = |name: &str, target: &Path| {
        let path = home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, &path).unwrap();
        path
    };
    let ssh = make(".ssh/id", "secret", 0o600).parent().unwrap().to_owned();
    fs::create_dir_all(home.join("other/lib")).unwrap();
    let other = make("other/bin/tool", "\x7fELF", 0o755);
    make(".cargo/credentials.toml", "secret", 0o600);
    make(".rustup/settings.toml", "", 0o644);
    make(".tool-versions", "", 0o644);
    make(".pyenv/versions/3.12/lib/python3.12/os.py", "", 0o644);
    let real = make(".pyenv/versions/3.12/bin/python3", "\x7fELF", 0o755);
    let path = std::env::join_paths([home.join(".pyenv/versions/3.12/bin")]).unwrap();
    let around =
        Surroundings { home: Some(home.clone()), path, rustup_home: None, workspace: Some(work.clone()) };
    let check = |program: PathBuf, expect: &[&str]| {
        let found = installation_in([(program.as_path(), NamedBy::Command)], &around).paths;
        let expect: BTreeSet<PathBuf> = expect.iter().map(|name| home.join(name)).collect();
        assert_eq!(found, expect, "{}", program.display());
    };
    let line = |path: &Path| format!("#!{}\n", path.display());
    // First lines.
    check(make("work/bin/a", &line(&ssh), 0o755), &[]);
    check(make("work/bin/b", &line(&ssh.join("id")), 0o755), &[]);
    check(make("work/bin/c", &line(&other), 0o755), &[]);
    check(make("work/bin/d", &format!("#!/usr/bin/env {}\n", ssh.display()), 0o755), &[]);
    check(make("work/bin/e", &format!("#!/usr/bin/env -S A=b {}\n", other.display()), 0o755), &[]);
    check(make("work/bin/f", &line(&work.join("fake")), 0o755), &[]);
    link("work/fake", &ssh);
    check(work.join("bin/f"), &[]);
    // Not executable, so nothing executes it.
    check(make("work/bin/g", "#!/usr/bin/env python3\n", 0o644), &[]);
    // Links to what is no program, and to a program with a directory that is no known installation.
    check(link("work/bin/h", &ssh), &[]);
    check(link("work/bin/i", &ssh.join("id")), &[]);
    check(link("work/bin/j", &other), &["other/bin/tool"]);
    link("work/linked", &home.join("other"));
    check(work.join("linked/bin/tool"), &["other/bin/tool"]);
    // Names that mean something elsewhere.
    check(make("work/bin/rustup", "\x7fELF", 0o755), &[]);
    fs::create_dir_all(work.join("installs")).unwrap();
    check(make("work/shims/node", "#!/bin/sh\nexec asdf exec node\n", 0o755), &[]);
    // A virtual environment whose home leads to something that is no program.
    make("work/v/pyvenv.cfg", &format!("home = {}\n", work.join("v/fake").display()), 0o644);
    let python = make("work/v/bin/python", "\x7fELF", 0o755);
    link("work/v/fake/python3", &ssh);
    check(python.clone(), &[]);
    make("work/v/pyvenv.cfg", &format!("home = {}\n", ssh.display()), 0o644);
    check(python, &[]);
    // What is to work: a virtual environment of an installation, and programs of PATH.
    let version = [".pyenv/versions/3.12", ".pyenv/versions/3.12/bin/python3"];
    make("work/w/pyvenv.cfg", &format!("home = {}\n", real.parent().unwrap().display()), 0o644);
    let python = link("work/w/bin/python3", &real);
    check(python.clone(), &version);
    check(make("work/w/bin/pytest", &line(&python), 0o755), &version);
    check(make("work/bin/k", "#!/usr/bin/env python3\n", 0o755), &version);
    check(make("work/bin/l", &line(&real), 0o755), &version);
    let decided = installation_in([(python.as_path(), NamedBy::Command)], &around).decided_by;
    assert_eq!(decided, BTreeSet::from([work.join("w/pyvenv.cfg")]));
}

#[test]
fn a_program_that_only_the_workspace_names_opens_itself_or_a_known_installation() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().join("home");
    let make = |name: &str, text: &str| program(&home.join(name), text);
    let path = std::env::join_paths([home.join("dev/known/bin"), home.join(".pyenv/shims")]).unwrap();
    let around = Surroundings {
        home: Some(home.clone()),
        path,
        rustup_home: None,
        workspace: Some(home.join("work")),
    };
    let check = |program: &Path, named_by: NamedBy, expect: &[&str]| {
        let found = installation_in([(program, named_by)], &around).paths;
        let expect: BTreeSet<PathBuf> = expect.iter().map(|name| home.join(name)).collect();
        assert_eq!(found, expect, "{} {named_by:?}", program.display());
    };
    // A directory with programs and libraries, on no PATH, and one that is on it.
    make("dev/tools/lib/part.txt", "");
    let tool = make("dev/tools/bin/runner", "#!/bin/sh\n");
    check(&tool, NamedBy::Command, &["dev/tools", "dev/tools/bin/runner"]);
    check(&tool, NamedBy::Workspace, &["dev/tools/bin/runner"]);
    make("dev/known/lib/part.txt", "");
    let tool = make("dev/known/bin/runner", "#!/bin/sh\n");
    check(&tool, NamedBy::Workspace, &["dev/known", "dev/known/bin/runner"]);
    // What is no program.
    let folder = tool.parent().unwrap();
    check(folder, NamedBy::Workspace, &[]);
    // A known kind of installation.
    make("py/lib/python3.12/os.py", "");
    check(&make("py/bin/python3", "\x7fELF"), NamedBy::Workspace, &["py/bin", "py/bin/python3", "py/lib"]);
    make("free/lib/python3.13t/os.py", "");
    let free = ["free/bin", "free/bin/python3.13t", "free/lib"];
    check(&make("free/bin/python3.13t", "\x7fELF"), NamedBy::Workspace, &free);
    // Issue 12: a project that is no installation, whatever stands beside its programs.
    for (number, neighbour) in [
        "lib/python-notes.txt",
        "lib/python3.12/x.py",
        "pyvenv.cfg",
        "conda-meta/x",
        "Cellar/x",
        "lib/rustlib/x",
        "lib/node_modules/x",
        "install_receipt.json",
    ]
    .into_iter()
    .enumerate()
    {
        make(&format!("mono{number}/{neighbour}"), "");
        let own = format!("mono{number}/bin/tool");
        check(&make(&own, "#!/bin/sh\n"), NamedBy::Workspace, &[&own]);
    }
    let own = "web/node_modules/p/bin/tool";
    check(&make(own, "#!/bin/sh\n"), NamedBy::Workspace, &[own]);
    // Directories called like those of version managers, and the one of PATH.
    make("any/lib/secret", "");
    check(&make("any/shims/node", "#!/bin/sh\n"), NamedBy::Workspace, &["any/shims/node"]);
    make(".rustup/settings.toml", "");
    make("keys/secret", "");
    check(&make("keys/rustup", "\x7fELF"), NamedBy::Workspace, &["keys/rustup"]);
    let shim = make(".pyenv/shims/python3", "#!/bin/sh\n");
    check(&shim, NamedBy::Workspace, &[".pyenv/shims", ".pyenv/shims/python3"]);
}
