//! Packages that are installed in a virtual environment of the workspace.

use super::*;

const SCRIPT: &str = "#!/work/.venv/bin/python3\nimport re\nfrom server.cli import main\n";

fn environment() -> Fake {
    let site = ".venv/lib/python3.12/site-packages";
    let mut files = Fake::new(&["lib/server/__init__.py"], &[(".venv/lib64", ".venv/lib")])
        .with(".venv/pyvenv.cfg", "home = /usr/bin\n")
        .with(&format!("{site}/start.pth"), "# Comment\nimport hook; hook.install()\n")
        .with(&format!("{site}/sources.pth"), "/work/src\n../../../../more\n/elsewhere\n");
    for name in ["server/__init__.py", "server/cli.py", "hook.py", "sitecustomize.py", "other/__init__.py"] {
        files = files.with(&format!("{site}/{name}"), "");
    }
    files = files
        .with(
            &format!("{site}/__editable__.ed.pth"),
            "import __editable___ed_finder; __editable___ed_finder.install()\n",
        )
        .with(
            &format!("{site}/__editable___ed_finder.py"),
            "import sys\nMAPPING: dict[str, str] = {'mapped': '/work/src/mapped'}\n",
        )
        .with("src/mapped/__init__.py", "");
    files = files.with("src/edited/__init__.py", "").with("more/found.py", "");
    let heads = [
        ("python3", "\x7fELF"),
        ("python", "\x7fELF"),
        ("server", SCRIPT),
        (
            "long",
            "#!/bin/sh\n'''exec' \"/work/.venv/bin/python\" \"$0\" \"$@\"\n' '''\nfrom server import cli\n",
        ),
    ];
    for (name, head) in heads {
        files.heads.insert(Path::new("/work/.venv/bin").join(name), head);
    }
    files.heads.insert("/work/bin/own".into(), "#!/work/.venv/bin/python\nfrom other import x\n");
    files
}

#[track_caller]
fn check(command: &str, packages: &[&str]) {
    let files = environment();
    let reads = reads(command, &files);
    let site = Path::new("/work/.venv/lib/python3.12/site-packages");
    let finder = ["__editable__.ed.pth", "__editable___ed_finder.py"];
    let always = ["hook.py", "sitecustomize.py", "sources.pth", "start.pth"].into_iter().chain(finder);
    let expect: BTreeSet<PathBuf> =
        always.map(|name| site.join(name)).chain(packages.iter().map(|path| site.join(path))).collect();
    let is_installed = |path: &&PathBuf| {
        path.starts_with("/work/.venv/lib") || path.starts_with("/work/src") || path.starts_with("/work/more")
    };
    let found: BTreeSet<PathBuf> =
        reads.code.iter().map(|path| files.real(path)).filter(|path| is_installed(&path)).collect();
    assert_eq!(found, expect, "{command}");
    assert_eq!(reads.environments, BTreeSet::from([site.to_owned()]), "{command}");
    assert!(reads.code.contains(Path::new("/work/.venv/pyvenv.cfg")), "{command}: {:?}", reads.code);
}

/// Issue 12: a package that `-m` names was bound in the working directory alone.
#[test]
fn a_module_is_bound_where_it_is_installed() {
    check(".venv/bin/python3 -m server", &["server"]);
    check("env -S '.venv/bin/python -m server.cli'", &["server"]);
    check("timeout 5 /work/.venv/bin/python3 -m cProfile -m other", &["other"]);
    check(".venv/bin/python3 -m edited", &["/work/src/edited"]);
    check(".venv/bin/python3 -m found", &["/work/more/found.py"]);
    check(".venv/bin/python3 -m mapped", &["/work/src/mapped"]);
    check(".venv/bin/python3 -m json.tool", &[]);
    check(".venv/bin/python3 bin/x.py", &[]);
}

/// Issue 12: scripts that an installation makes import the package that they are for.
#[test]
fn an_installed_script_binds_what_it_imports() {
    check(".venv/bin/server", &["server"]);
    check("./.venv/bin/server --port 80", &["server"]);
    check("nice .venv/bin/server", &["server"]);
    check(".venv/bin/python3 .venv/bin/server", &["server"]);
    // A shell starts this one, because its first line would be too long.
    check(".venv/bin/long", &["server"]);
    // What a script of the workspace imports is not read out of it.
    check("bin/own", &[]);
}

#[test]
fn other_programs_have_no_environment() {
    for command in ["python3 -m server", "node .venv/bin/server", "sh .venv/bin/long"] {
        let found = reads(command, &environment());
        assert_eq!(found.environments, BTreeSet::new(), "{command}");
        assert!(!found.code.iter().any(|path| path.starts_with("/work/.venv/lib")), "{command}: {found:?}");
    }
}
