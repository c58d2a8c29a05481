//! Source files that a command loads by directory, module, option or package name. Each file changes after the
//! approval, and the run is refused.

#![allow(clippy::disallowed_methods, reason = "tests change the files that an approval binds")]

use std::fs;
use std::os::unix::fs::symlink;

use brigade_tests::{PATH, Site};
use serde_json::json;

use crate::mutation_common::{ARGS, CATALOG, refused, site};

/// Has a call of this command approved, writes a file, and expects that the run is refused because of it alone; then
/// that the call runs again once the file is as it was.
#[track_caller]
fn code(command: &str, files: &[(&str, &str)], path: &str, text: &str) {
    let site = site();
    site.workspace.replace(CATALOG, "sh bin/tool.sh", command);
    for (path, text) in files {
        site.workspace.write(path, text);
    }
    let id = site.approved("tool", ARGS);
    let before = site.workspace.exists(path).then(|| site.workspace.read(path));
    site.workspace.write(path, text);
    refused(&site, &id, &[&format!("file {path}")]);
    match before {
        Some(bytes) => site.workspace.write(path, bytes),
        None => site.workspace.remove(path),
    }
    site.run_call(&id).expect(0);
}

/// Has a call of this command approved, changes a file or adds it, and expects that the run is refused because of it.
#[track_caller]
fn bound(command: &str, files: &[(&str, &str)], path: &str) {
    let site = with_programs(command);
    for (path, text) in files {
        site.workspace.write(path, text);
    }
    let id = site.approved("tool", ARGS);
    site.workspace.write(path, "changed\n");
    let document = site.run_call(&id).expect(1);
    let name = json!(format!("file {path}"));
    assert!(document["changed"].as_array().is_some_and(|changed| changed.contains(&name)), "{document:#}");
    assert_eq!(document["receipt"], json!(null));
}

/// Makes a workspace with a tool of this command, whose program is there whatever is installed.
fn with_programs(command: &str) -> Site {
    let site = site();
    site.workspace.replace(CATALOG, "\"sh bin/tool.sh\"", &format!("{command:?}"));
    let programs = site.beside("programs");
    fs::create_dir_all(&programs).expect("the folder can be made");
    let program = programs.join(command.split(' ').next().expect("a command has a program"));
    fs::write(&program, "#!/bin/sh\n").expect("the program can be written");
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("the program can be made one");
    site.env("PATH", format!("{PATH}:{}", programs.display()))
}

const TEST: &str =
    "import unittest\nclass T(unittest.TestCase):\n  def test(self): open('ran.txt', 'a').write('ran')\n";
const MAKEFILE: &str = "1:\n\techo ran >> ran.txt\n";
const PYTHON: &str = "open('ran.txt', 'a').write('ran')\n";
const SCRIPT: &str = "require('fs').appendFileSync('ran.txt', 'ran');\n";

#[test]
fn code_that_python_finds_by_a_directory_or_a_module() {
    let folder = [("app/__main__.py", "import helper\n"), ("app/helper.py", PYTHON)];
    code("python3 app", &folder, "app/__main__.py", "print('evil')\n");
    code("python3 app", &folder, "app/helper.py", "print('evil')\n");
    code("env X=1 python3 -u app/", &folder, "app/deep/added.py", "print('evil')\n");
    let package = [("pkg/__init__.py", ""), ("pkg/tool.py", PYTHON), ("pkg/deep/data.txt", "1\n")];
    code("python3 -m pkg.tool", &package, "pkg/tool.py", "print('evil')\n");
    code("timeout 20 python3 -Bm pkg.tool", &package, "pkg/__init__.py", "print('evil')\n");
    code("python3 -m pkg.tool", &package, "pkg/deep/data.txt", "2\n");
    code("python3 -Bm pkg.tool", &package, "pkg/__pycache__/tool.cpython-311.pyc", "evil");
    let module = [("single.py", PYTHON)];
    code("python3 -m single", &module, "single.py", "print('evil')\n");
    code("python3 -m single", &module, "single/__init__.py", "print('evil')\n");
    code("python3 .", &[("__main__.py", PYTHON)], "__main__.py", "print('evil')\n");
}

#[test]
fn code_that_node_finds_by_a_part_of_its_name() {
    code("node bin/t", &[("bin/t.js", SCRIPT)], "bin/t.js", "evil()\n");
    code("node bin/t", &[("bin/t.js", SCRIPT)], "bin/t", "evil()\n");
    let folder = [("bin/t/index.js", "require('./helper');\n"), ("bin/t/helper.js", SCRIPT)];
    code("node bin/t", &folder, "bin/t/index.js", "evil()\n");
    code("node bin/t", &folder, "bin/t/helper.js", "evil()\n");
    let package = [("bin/t/package.json", r#"{"main": "../../lib/begin"}"#), ("lib/begin.js", SCRIPT)];
    code(
        "node bin/t",
        &package,
        "bin/t/package.json",
        "{\"main\": \"../../lib/begin\", \"type\": \"module\"}",
    );
    code("node bin/t", &package, "lib/begin.js", "evil()\n");
    let preloaded = [("bin/t.js", SCRIPT), ("lib/hook.js", "")];
    code("node --require ./lib/hook bin/t.js", &preloaded, "lib/hook.js", "evil()\n");
    code("node --require=./lib/hook bin/t.js", &preloaded, "lib/hook.js", "evil()\n");
}

/// Issue 12: names that `package.json` maps to files were not followed.
#[test]
fn code_that_a_package_maps() {
    let package = r##"{"name": "me", "imports": {"#h": {"default": "./lib/h.mjs"}}, "exports": {"./*": "./lib/*.cjs"}}"##;
    let files = [("package.json", package), ("lib/h.mjs", ""), ("lib/r.cjs", ""), ("bin/t.js", SCRIPT)];
    code("node --import #h bin/t.js", &files, "lib/h.mjs", "evil()\n");
    code("node -r me/r bin/t.js", &files, "lib/r.cjs", "evil()\n");
    code("node -r me/r bin/t.js", &files, "package.json", &format!("{package}\n"));
    let options = [&files[..], &[("vars", "NODE_OPTIONS='--import=#h'\n")]].concat();
    code("node --env-file=vars bin/t.js", &options, "lib/h.mjs", "evil()\n");
}

/// Issue 12: the program of a recipe may stand in a variable.
#[test]
fn code_behind_a_variable_of_a_recipe() {
    let makefile = "PY ?= python3\n1:\n\t@$(PY) -Bm pkg\n";
    let files = [("Makefile", makefile), ("pkg/__init__.py", ""), ("pkg/__main__.py", PYTHON)];
    code("make -s", &files, "pkg/__main__.py", "print('evil')\n");
}

/// A file of recipes that is too long to be followed is bound, and what it leads to is said to be open.
#[test]
fn a_makefile_that_is_too_long_to_be_followed() {
    let long = format!("#{}\n{MAKEFILE}", "x".repeat(1 << 20));
    code("make -s", &[("Makefile", &long)], "Makefile", &long.replace("ran", "evil"));
    let site = site();
    site.workspace.replace(CATALOG, "sh bin/tool.sh", "make -s");
    site.workspace.write("Makefile", &long);
    let plan = site.json(["call", "plan", "tool", "--args", ARGS]).expect(0);
    assert!(plan["bound_code"]["notes"].to_string().contains("`Makefile` loads code"), "{plan:#}");
}

#[test]
fn files_that_are_glued_to_options_or_read_by_default() {
    let config = [("conf.json", "{}\n")];
    for command in
        ["sh bin/tool.sh -cconf.json", "sh bin/tool.sh --config=conf.json", "sh bin/tool.sh @conf.json"]
    {
        code(command, &config, "conf.json", "{ }\n");
    }
    code("make -s", &[("Makefile", "1:\n\techo ran >> ran.txt\n")], "Makefile", "1:\n\techo evil\n");
}

#[test]
fn compiled_modules_beside_a_module() {
    let module = [("single.py", PYTHON)];
    code("python3 -Bm single", &module, "__pycache__/single.cpython-311.pyc", "evil");
    code("python3 -B -m cProfile -m single", &module, "__pycache__/single.cpython-311.pyc", "evil");
}

#[test]
fn code_that_modules_of_python_run() {
    let module = [("single.py", PYTHON)];
    for command in [
        "python3 -m cProfile -m single",
        "python3 -m trace -t --module single",
        "python3 -m runpy single",
        "python3 -m profile single.py",
    ] {
        code(command, &module, "single.py", "print('evil')\n");
    }
    let passes = [("test_a.py", TEST), ("tests/test_b.py", TEST), ("tests/__init__.py", "")];
    bound("python3 -m unittest test_a", &passes, "test_a.py");
    bound("python3 -m unittest tests.test_b", &passes, "tests/test_b.py");
    bound("python3 -m unittest discover -s tests", &passes, "tests/test_b.py");
    bound("python3 -m unittest discover", &passes, "test_new.py");
    bound("python3 -m pytest tests", &passes, "tests/test_b.py");
    bound("python3 -m pytest tests/test_b.py::T::test", &passes, "conftest.py");
    bound("pytest", &passes, "tests/test_b.py");
}

#[test]
fn code_that_make_is_led_to() {
    let files = [("s/Makefile", MAKEFILE), ("s/x.mk", MAKEFILE), ("x.mk", MAKEFILE), ("inc/y.mk", "")];
    for command in ["make -C s 1", "make -Cs", "make --directory=s", "make --directory s -k"] {
        bound(command, &files, "s/Makefile");
    }
    bound("make -C s -f x.mk", &files, "s/x.mk");
    bound("make -sfx.mk", &files, "x.mk");
    bound("make -I inc -f x.mk", &files, "inc/y.mk");
    bound("make -s --include-dir=inc -f x.mk", &files, "inc/y.mk");
}

#[test]
fn code_that_managers_of_packages_run() {
    let files = [("p/package.json", "{}"), ("node_modules/.bin/foo", "1"), ("package.json", "{}")];
    bound("npm --prefix p run x", &files, "p/package.json");
    bound("npm -C p test", &files, "p/package.json");
    bound("npm exec foo", &files, "node_modules/.bin/foo");
    bound("npx foo", &files, "node_modules/.bin/foo");
    bound("npx --yes foo@1.0", &files, "node_modules/.bin/foo");
}

#[test]
fn code_that_options_name() {
    let perl = [("a.pl", "1;"), ("l/Foo.pm", "1;")];
    for command in ["perl -Il -MFoo a.pl", "perl -I l a.pl", "perl -Mlib=l a.pl"] {
        bound(command, &perl, "l/Foo.pm");
    }
    let sed = [("a.sed", "p\n")];
    bound("sed -nfa.sed bin/tool.sh", &sed, "a.sed");
    bound("sed -sfa.sed bin/tool.sh", &sed, "a.sed");
    let wrapper = [("x.sh", ""), ("cmd/main.go", "package main\n")];
    for command in [
        "cargo --config build.rustc-wrapper=./x.sh build",
        "cargo --config 'build.rustc=\"./x.sh\"' build",
        "cargo --config 'target.\"cfg(unix)\".runner=[\"nice\", \"./x.sh\"]' run",
        "cargo --config ./x.sh build",
        "go run -exec 'env ./x.sh' ./cmd",
        "go test -exec='nice ./x.sh' ./cmd",
        "go build -toolexec 'timeout 5 ./x.sh' ./cmd",
        "unheard-of --hook 'sh ./x.sh'",
    ] {
        bound(command, &wrapper, "x.sh");
    }
    bound("run-parts .", &[("one", "")], "two");
    bound("run-parts parts", &[("parts/one", "")], "parts/two");
    bound("git --exec-path=ep foo", &[("ep/git-bar", "")], "ep/git-foo");
    bound("gcc -Btools/ a.c", &[("tools/x", "")], "tools/as");
    bound("env -C sub python3 a.py", &[("sub/a.py", "")], "sub/a.py");
    bound("find . -exec sh ./a.sh {} ;", &[("a.sh", "")], "a.sh");
}

#[test]
fn code_of_node_beside_the_script() {
    let script = [("bin/t.js", SCRIPT), ("node_modules/foo/index.js", "")];
    code("node bin/t.js", &script, "package.json", "{\"type\": \"module\"}");
    code("node bin/t.js", &script, "bin/package.json", "{\"type\": \"module\"}");
    code("node -r foo bin/t.js", &script, "node_modules/foo/index.js", "evil()\n");
    bound("node --test", &[("a.test.js", SCRIPT)], "a.test.js");
}

#[test]
fn code_behind_programs_that_start_others() {
    let package = [("pkg/__init__.py", ""), ("pkg/__main__.py", PYTHON)];
    for before in [
        "prlimit --nofile=100",
        "setarch x86_64",
        "numactl -N0",
        "numactl --cpunodebind 0",
        "chrt -f 10",
        "mise exec --",
        "direnv exec .",
        "dotenv -f .env run --",
        "aws-vault exec profile --",
        "chpst -e env",
        "softlimit -m 1000000",
        "eatmydata",
        "nocache -n 2",
        "caffeinate -t 5",
        "conda run -n base",
        "toybox",
        "bundle exec",
        "git bisect run",
        "timeout 5 prlimit --nofile=100 setarch x86_64",
    ] {
        bound(&format!("{before} python3 -m pkg"), &package, "pkg/__main__.py");
    }
    for command in [
        "env -S 'python3 -m pkg'",
        "env -S 'X=1 python3 -m pkg'",
        "env -vS 'python3 -m pkg'",
        "env -i '--split-string=python3 -m pkg'",
        "nice env -S 'timeout 5 python3 -m pkg'",
        "env -S 'prlimit --nofile=100 python3 -m pkg'",
        "tar --use-compress-program='python3 -m pkg' -cf a.tar pkg",
    ] {
        bound(command, &package, "pkg/__main__.py");
    }
    bound("env -S 'python3 bin/x.py'", &[("bin/x.py", PYTHON)], "bin/x.py");
    bound("env -S '-C sub python3 a.py'", &[("sub/a.py", "")], "sub/a.py");
    bound("env --chdir=sub prlimit --nofile=9 make", &[("sub/Makefile", "")], "sub/Makefile");
}

#[test]
fn code_that_cannot_be_bound_is_a_reason() {
    for command in [
        "env PYTHONPATH=lib python3 a.py",
        "env PERL5LIB=l perl a.pl",
        "env -i PERL5OPT=-MFoo perl a.pl",
        "timeout 5 env NODE_OPTIONS=--require=./x.js node a.js",
        "env RUBYLIB=l ruby a.rb",
        "env LD_PRELOAD=./x.so ls",
        "env PATH=bin:/usr/bin ls",
        "env GIT_EXEC_PATH=ep git foo",
        "env BASH_ENV=x.sh bash bin/tool.sh",
        "env -S 'ENV=x.sh sh bin/tool.sh'",
        "find bin -name *.sh -exec {} ;",
        "find bin -name *.sh -exec sh {} ;",
        "find bin -execdir ./a.sh ;",
        "gcc -wrapper ./x a.c",
    ] {
        let site = with_programs(command);
        let plan = site.json(["call", "plan", "tool", "--args", ARGS]);
        assert!(
            plan.json["blocker_details"].to_string().contains("code_not_bound"),
            "{command}\n{}",
            plan.run
        );
    }
}

#[test]
fn variables_that_name_no_code_are_no_reason() {
    for command in ["env X=1 PYTHONUNBUFFERED=1 sh bin/tool.sh", "env PAGER=cat TMPDIR=/tmp sh bin/tool.sh"] {
        let site = site();
        site.workspace.replace(CATALOG, "sh bin/tool.sh", command);
        site.approved("tool", ARGS);
    }
}

#[test]
fn a_directory_that_is_only_an_argument_is_not_code() {
    let site = site();
    site.workspace.replace(CATALOG, "sh bin/tool.sh", "sh bin/tool.sh src");
    site.workspace.write("src/data.txt", "1\n");
    let id = site.approved("tool", ARGS);
    site.workspace.write("src/data.txt", "2\n");
    site.run_call(&id).expect(0);
}

#[test]
fn many_files_are_bound_by_their_directory_and_too_many_are_a_reason() {
    let site = site();
    site.workspace.replace(CATALOG, "sh bin/tool.sh", "python3 app");
    site.workspace.write("app/__main__.py", PYTHON);
    for number in 0..300 {
        site.workspace.write(format!("app/part{number}.py"), "");
    }
    let id = site.approved("tool", ARGS);
    site.workspace.write("app/part7.py", "print('evil')\n");
    refused(&site, &id, &["file app/"]);
    site.workspace.write("app/part7.py", "");
    site.run_call(&id).expect(0);
    site.workspace.write("elsewhere/more.py", "");
    let outside = site.beside("outside");
    fs::create_dir_all(&outside).unwrap();
    symlink(&outside, site.workspace.path().join("app/link")).unwrap();
    let plan = site
        .json(["call", "plan", "tool", "--args", ARGS])
        .refused("`app/link`, a link to a directory outside");
    assert_eq!(plan["blocker_details"][0]["code"], "code_not_bound", "{plan:#}");
}

#[test]
fn a_link_inside_of_the_workspace_is_followed_to_the_tests() {
    for (command, test, text) in
        [("node --test", "src/a.test.js", SCRIPT), ("python3 -m pytest", "src/test_a.py", TEST)]
    {
        let site = with_programs(command);
        site.workspace.write(test, text);
        symlink("src", site.workspace.path().join("linked")).unwrap();
        symlink("..", site.workspace.path().join("src/cycle")).unwrap();
        let id = site.approved("tool", ARGS);
        site.workspace.write(test, "changed");
        refused(&site, &id, &[&format!("file {test}")]);
    }
}
