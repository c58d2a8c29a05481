//! Tests which parts of a home a program can read: its installation, but not what a file only names.

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

use brigade_sandbox::{ProgramOrigin, Surroundings, installation_in, project_of};

/// Writes an executable file, with the directories above it.
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
        let found = installation_in([(program.as_path(), ProgramOrigin::Command)], &around).paths;
        let expect: BTreeSet<PathBuf> = expect.iter().map(|name| home.join(name)).collect();
        assert_eq!(found, expect, "{}", program.display());
    };
    // The user's own program: only the program itself.
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
    // uv, and SDKMAN through its link to the current version.
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
    // Packages that pip installed for the user.
    make(".local/lib/python3.12/site-packages/x.py", "");
    check(make(".local/bin/x", "#!/bin/sh\n"), &[".local/bin/x", ".local/lib"]);
    // A tool of npm, linked from its bin directory.
    let cli = make("work/node_modules/tool/cli.js", "#!/bin/sh\n");
    let linked = link("work/node_modules/.bin/tool", &cli);
    let modules = ["work/node_modules", "work/node_modules/.bin/tool", "work/node_modules/tool/cli.js"];
    check(linked, &modules);
}

#[test]
fn workspace_files_open_nothing_outside() {
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
        let found = installation_in([(program.as_path(), ProgramOrigin::Command)], &around).paths;
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
    // Links to files that are not programs, and to a program in a directory that is not a known installation.
    check(link("work/bin/h", &ssh), &[]);
    check(link("work/bin/i", &ssh.join("id")), &[]);
    check(link("work/bin/j", &other), &["other/bin/tool"]);
    link("work/linked", &home.join("other"));
    check(work.join("linked/bin/tool"), &["other/bin/tool"]);
    // Names that other tools use.
    check(make("work/bin/rustup", "\x7fELF", 0o755), &[]);
    fs::create_dir_all(work.join("installs")).unwrap();
    check(make("work/shims/node", "#!/bin/sh\nexec asdf exec node\n", 0o755), &[]);
    // A virtual environment whose home is not a Python program.
    make("work/v/pyvenv.cfg", &format!("home = {}\n", work.join("v/fake").display()), 0o644);
    let python = make("work/v/bin/python", "\x7fELF", 0o755);
    link("work/v/fake/python3", &ssh);
    check(python.clone(), &[]);
    make("work/v/pyvenv.cfg", &format!("home = {}\n", ssh.display()), 0o644);
    check(python, &[]);
    // Cases that must work: a virtual environment of an installation, and programs on PATH.
    let version = [".pyenv/versions/3.12", ".pyenv/versions/3.12/bin/python3"];
    make("work/w/pyvenv.cfg", &format!("home = {}\n", real.parent().unwrap().display()), 0o644);
    let python = link("work/w/bin/python3", &real);
    check(python.clone(), &version);
    check(make("work/w/bin/pytest", &line(&python), 0o755), &version);
    check(make("work/bin/k", "#!/usr/bin/env python3\n", 0o755), &version);
    check(make("work/bin/l", &line(&real), 0o755), &version);
    let decided = installation_in([(python.as_path(), ProgramOrigin::Command)], &around).decided_by;
    assert_eq!(decided, BTreeSet::from([work.join("w/pyvenv.cfg")]));
}

#[test]
fn workspace_named_programs_open_known_installations() {
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
    let check = |program: &Path, named_by: ProgramOrigin, expect: &[&str]| {
        let found = installation_in([(program, named_by)], &around).paths;
        let expect: BTreeSet<PathBuf> = expect.iter().map(|name| home.join(name)).collect();
        assert_eq!(found, expect, "{} {named_by:?}", program.display());
    };
    // A directory with programs and libraries that is not on PATH, and one that is.
    make("dev/tools/lib/part.txt", "");
    let tool = make("dev/tools/bin/runner", "#!/bin/sh\n");
    check(&tool, ProgramOrigin::Command, &["dev/tools", "dev/tools/bin/runner"]);
    check(&tool, ProgramOrigin::Workspace, &["dev/tools/bin/runner"]);
    make("dev/known/lib/part.txt", "");
    let tool = make("dev/known/bin/runner", "#!/bin/sh\n");
    check(&tool, ProgramOrigin::Workspace, &["dev/known", "dev/known/bin/runner"]);
    // A target that is not a program.
    let folder = tool.parent().unwrap();
    check(folder, ProgramOrigin::Workspace, &[]);
    // A known kind of installation.
    make("py/lib/python3.12/os.py", "");
    check(
        &make("py/bin/python3", "\x7fELF"),
        ProgramOrigin::Workspace,
        &["py/bin", "py/bin/python3", "py/lib"],
    );
    make("free/lib/python3.13t/os.py", "");
    let free = ["free/bin", "free/bin/python3.13t", "free/lib"];
    check(&make("free/bin/python3.13t", "\x7fELF"), ProgramOrigin::Workspace, &free);
    // Issue 12: a project that is not an installation, whatever is next to its programs.
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
        check(&make(&own, "#!/bin/sh\n"), ProgramOrigin::Workspace, &[&own]);
    }
    let own = "web/node_modules/p/bin/tool";
    check(&make(own, "#!/bin/sh\n"), ProgramOrigin::Workspace, &[own]);
    // Directories with the names of version managers' directories, and the one on PATH.
    make("any/lib/secret", "");
    check(&make("any/shims/node", "#!/bin/sh\n"), ProgramOrigin::Workspace, &["any/shims/node"]);
    make(".rustup/settings.toml", "");
    make("keys/secret", "");
    check(&make("keys/rustup", "\x7fELF"), ProgramOrigin::Workspace, &["keys/rustup"]);
    let shim = make(".pyenv/shims/python3", "#!/bin/sh\n");
    check(&shim, ProgramOrigin::Workspace, &[".pyenv/shims", ".pyenv/shims/python3"]);
}

#[test]
fn only_the_name_of_an_installation_is_not_enough() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().join("home");
    let work = root.path().join("work");
    fs::create_dir_all(&work).unwrap();
    let make = |name: &str, text: &str| program(&home.join(name), text);
    let around = Surroundings {
        home: Some(home.clone()),
        path: "/usr/bin:/bin".into(),
        rustup_home: None,
        workspace: Some(work.clone()),
    };
    let check = |program: &Path, expect: &[&str]| {
        let found = installation_in([(program, ProgramOrigin::Workspace)], &around).paths;
        let expect: BTreeSet<PathBuf> = expect.iter().map(|name| home.join(name)).collect();
        assert_eq!(found, expect, "{}", program.display());
    };
    let script = "#!/usr/bin/python3\n";
    for directory in ["bin", "lib", "share", "etc", "opt", "include"] {
        for place in ["", "mono/"] {
            make(&format!("{place}{directory}/secret"), "secret");
        }
    }
    // Scripts with the names of known programs.
    make("mono/pyvenv.cfg", "");
    check(&make("mono/bin/python", script), &["mono/bin/python"]);
    fs::remove_file(home.join("mono/pyvenv.cfg")).unwrap();
    make("mono/lib/python/os.py", "");
    make("mono/lib/python3.11/os.py", "");
    let own = ["mono/bin", "mono/bin/python3.11", "mono/include", "mono/lib"];
    check(&make("mono/bin/python3.11", script), &own);
    check(&make("mono/bin/python3.12", "\x7fELF"), &["mono/bin/python3.12"]);
    make("mono/lib/python.../os.py", "");
    check(&make("mono/bin/python.t", "\x7fELF"), &["mono/bin/python.t"]);
    check(&make("Cellar/wines/notes/bin/tool", script), &["Cellar/wines/notes/bin/tool"]);
    make("mono/conda-meta/history", "");
    check(&make("mono/bin/tool", "\x7fELF"), &["mono/bin/tool"]);
    make("web/bin/node", script);
    make("web/lib/node_modules/other/package.json", "{}");
    check(&make("web/lib/node_modules/p/tool", script), &["web/lib/node_modules/p/tool"]);
    // The home is never the root of an installation, whatever it contains.
    make("pyvenv.cfg", "");
    make("conda-meta/history", "");
    make("conda-meta/python-3.11.json", "{}");
    check(&make("bin/python", "\x7fELF"), &["bin/python"]);
    // A project with a virtual environment in its root: only the parts of that environment are opened.
    make("mono/pyvenv.cfg", "home = /usr/bin\n");
    let python = make("mono/bin/python3", "\x7fELF");
    let environment = ["bin", "bin/python3", "include", "pyvenv.cfg"];
    let libraries = ["lib/python", "lib/python3.11"];
    let expect: Vec<String> =
        environment.iter().chain(&libraries).map(|name| format!("mono/{name}")).collect();
    let expect: Vec<&str> = expect.iter().map(String::as_str).collect();
    check(&python, &expect);
}

#[test]
fn linked_home_and_workspace_are_recognized() {
    let root = tempfile::tempdir().unwrap();
    let (real, home) = (root.path().join("real"), root.path().join("home"));
    let make = |name: &str, text: &str| program(&real.join(name), text);
    make("secret", "secret");
    make("lib/x", "");
    make("bin/tool", "#!/bin/sh\n");
    make(".local/lib/python3.11/os.py", "");
    make(".local/bin/tool", "#!/bin/sh\n");
    make(".local/share/keyring", "secret");
    make("x/mono/lib/x", "");
    make("x/mono/bin/tool", "#!/bin/sh\n");
    std::os::unix::fs::symlink(&real, &home).unwrap();
    let work = root.path().join("work");
    fs::create_dir_all(work.join("bin")).unwrap();
    let alias = root.path().join("alias");
    std::os::unix::fs::symlink(&work, &alias).unwrap();
    std::os::unix::fs::symlink(home.join("x/mono/bin/tool"), work.join("bin/l")).unwrap();
    let open = |path: &Path| [&real, &home].iter().any(|home| home.starts_with(path));
    for of in [&real, &home] {
        for through in [&real, &home] {
            let path = std::env::join_paths([through.join("bin"), through.join(".local/bin")]).unwrap();
            let around = Surroundings {
                home: Some(of.clone()),
                path,
                rustup_home: None,
                workspace: Some(work.clone()),
            };
            for program in ["bin/tool", ".local/bin/tool"] {
                let program = through.join(program);
                let found = installation_in([(program.as_path(), ProgramOrigin::Command)], &around).paths;
                let is_local = |path: &PathBuf| path.ends_with(".local") || path.ends_with(".local/share");
                assert!(!found.iter().any(|path| open(path) || is_local(path)), "{found:?}");
            }
            // A link in the workspace counts as one, whatever name the workspace has.
            let program = alias.join("bin/l");
            let found = installation_in([(program.as_path(), ProgramOrigin::Command)], &around).paths;
            assert!(!found.iter().any(|path| path.ends_with("mono")), "{found:?}");
        }
    }
}

/// Issue 45: a server may be a script of the person, with the files of its project.
#[test]
fn a_script_opens_its_project_and_no_home() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().canonicalize().unwrap().join("home");
    let make = |name: &str| program(&home.join(name), "");
    for file in ["package.json", "app/package.json", "app/lib/a.js", "secret", "node_modules/x/package.json"]
    {
        make(file);
    }
    let around = Surroundings {
        home: Some(home.clone()),
        path: "".into(),
        rustup_home: None,
        workspace: Some(home.join("work")),
    };
    for (script, expect) in [
        ("app/build/index.js", "app"),
        ("alone.py", "alone.py"),
        ("tools/alone.py", "tools/alone.py"),
        ("node_modules/x/index.js", "node_modules"),
    ] {
        let found = project_of(&make(script), &around);
        assert!(found.contains(&home.join(expect)), "{script}: {found:?}");
        assert!(
            found.iter().all(|path| *path != home && !home.join("secret").starts_with(path)),
            "{found:?}"
        );
    }
    assert!(project_of(&make("work/run.py"), &around).is_empty(), "the workspace can be read anyway");
}
