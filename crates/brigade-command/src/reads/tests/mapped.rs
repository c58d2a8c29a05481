//! Issue 12: names that another text of the workspace maps to files.

use super::*;

#[track_caller]
fn check_bound(command: &str, files: &Fake, file: &str) {
    let found = reads(command, files);
    let path = Path::new("/work").join(file);
    let is_bound =
        [&found.chain.files, &found.code, &found.scripts].iter().any(|files| files.contains(&path));
    assert!(is_bound, "{command}: {file}: {:?} {:?}", found.code, found.chain);
}

const PACKAGE: &str = r##"{"name": "me",
    "imports": {"#h": "./src/h.mjs", "#c": {"node": ["./src/h.mjs"], "default": "./src/d.js"}, "#p/*.js": "./src/*.mjs",
        "#e": "./src/a%20b.js", "#me": "me/h", "#dep": "dep/x"},
    "exports": {"./h": {"import": "./src/h.mjs", "require": {"default": "./src/h.cjs"}}, "./s/*": "./src/*",
        "./old/": "./src/", ".": "./main.js"}}"##;

#[test]
fn names_that_a_package_maps_are_followed() {
    let names = ["src/h.mjs", "src/h.cjs", "src/d.js", "src/a b.js", "main.js", "run.js"];
    let files = Fake::new(&names, &[])
        .with("package.json", PACKAGE)
        .with(".env", "A=1\nexport NODE_OPTIONS=\"--import #h\"\n");
    let files = files.with("node_modules/dep/package.json", r#"{"exports": {"./x": "./lib/x.js"}}"#);
    for (words, file) in [
        ("--import '#h'", "src/h.mjs"),
        ("--import=#h", "src/h.mjs"),
        ("--import '#c'", "src/h.mjs"),
        ("-r '#c'", "src/d.js"),
        ("--loader '#p/h.js'", "src/h.mjs"),
        ("--experimental-loader=#e", "src/a b.js"),
        ("--require '#me'", "src/h.cjs"),
        ("-r me/h", "src/h.cjs"),
        ("-rme/h", "src/h.cjs"),
        ("--import me/s/d.js", "src/d.js"),
        ("--import me/old/d.js", "src/d.js"),
        ("--import me", "main.js"),
        ("--test-reporter=me/h", "src/h.mjs"),
        ("--import '#dep'", "node_modules/dep"),
        ("-r dep/x", "node_modules/dep"),
        ("--env-file=.env", "src/h.mjs"),
        ("--env-file-if-exists .env.local", ".env.local"),
    ] {
        check_bound(&format!("node {words} run.js"), &files, file);
        check_bound(&format!("timeout 5 node {words} run.js"), &files, "package.json");
    }
    let npm = |settings: &'static str| {
        Fake::new(&names, &[])
            .with("package.json", PACKAGE.replacen('{', r#"{"scripts": {"go": "node -r me/h run.js"}, "#, 1))
            .with(".npmrc", settings)
    };
    check_bound("npm run go", &npm(""), "src/h.cjs");
    check_bound("npm run go", &npm("node-options = \"--import #c\"\n"), "src/d.js");
    // Without `exports`, a package has no name for itself.
    let plain =
        reads("node -r me/run.js x", &Fake::new(&names, &[]).with("package.json", r#"{"name": "me"}"#));
    assert!(!plain.code.contains(Path::new("/work/run.js")), "{plain:?}");
    let many: Vec<String> = (0..300).map(|at| format!("\"c{at}\": \"./src/{at}.js\"")).collect();
    let many = format!("{{\"imports\": {{\"#h\": {{{}}}}}}}", many.join(", "));
    let many = reads("node --import '#h' run.js", &Fake::new(&names, &[]).with("package.json", many));
    assert!(many.chain.finders.contains("package.json"), "{:?}", many.chain);
}

#[test]
fn what_a_script_loads_by_its_text_is_followed() {
    let files = Fake::new(&["c.awk", "run.js"], &[]).with("a.awk", "@include \"b\"\nBEGIN {}\n");
    let files = files.with("b.awk", "  @include \"c.awk\"\n@include \"a.awk\"\n").with("package.json", "{}");
    for command in ["gawk -f a.awk", "gawk -i b -f x.awk", "nice gawk --file=a.awk"] {
        check_bound(command, &files, "c.awk");
    }
    // The first word behind node is no verb, and code in the command has a package, too.
    for command in ["node run", "node -e 1", "node -p 'require(\"#h\")'"] {
        check_bound(command, &files, "package.json");
    }
}

#[test]
fn a_finder_that_somebody_wrote_is_followed() {
    let site = ".venv/lib/python3.12/site-packages";
    let files = |line: &str, finder: &str| {
        let names = ["src/pkg/__init__.py", "lib/other/a.py", "one.py", "data/x.txt"];
        let mut files = Fake::new(&names, &[])
            .with(".venv/pyvenv.cfg", "")
            .with(&format!("{site}/x.pth"), line.to_owned())
            .with(&format!("{site}/x_finder.py"), finder.to_owned());
        files.heads.insert("/work/.venv/bin/python".into(), "\x7fELF");
        files
    };
    let finder = "import sys\nTABLE = {'pkg': '/work/src/pkg', 'o': \"lib/other\", 'one': '/work/one.py', 'no': '/etc'}\n\
        class F: pass\nsys.meta_path.insert(0, F())\n";
    for file in ["src/pkg", "lib/other", "one.py"] {
        check_bound(".venv/bin/python x.py", &files("import x_finder; x_finder.go()\n", finder), file);
    }
    let path = "import os, sys; sys.path.insert(0, os.path.join(os.getcwd(), 'src'))\n";
    check_bound(".venv/bin/python -m pkg", &files(path, ""), "src/pkg");
    // Of the directories around it, none is a directory of modules.
    let above = files("import x_finder\n", "import sys\nsys.path += ['..', '../../..', '.', 'data']\n");
    let above = reads(".venv/bin/python x.py", &above).chain.files;
    let named = ["/work/data"].map(PathBuf::from);
    assert_eq!(above.iter().filter(|path| path.starts_with("/work")).cloned().collect::<Vec<_>>(), named);
    // A module that changes nothing about modules only has texts.
    let other = reads(".venv/bin/python x.py", &files("import x_finder\n", "print('data')\n"));
    assert_eq!(other.chain.files, BTreeSet::new());
}

#[test]
fn a_program_in_a_variable_of_a_recipe_is_followed() {
    let names = ["run.js", "run.py", "run.sh", "pkg/__init__.py", "a.mk", "sub/run.sh"];
    let make = |text: &str| Fake::new(&names, &[]).with("Makefile", text.to_owned());
    for (text, file) in [
        ("PY = python3\ngo:\n\t$(PY) -m pkg\n", "pkg"),
        ("PY := python3\ngo:\n\t@${PY} -m pkg\n", "pkg"),
        ("PY ?= python3 -B\ngo:\n\t$(PY) -m pkg\n", "pkg"),
        ("N = node\ngo:\n\t$N run\n", "run.js"),
        ("A = $(B) run\nB = node\ngo:\n\t$(A)\n", "run.js"),
        ("ifdef X\nP = python3\nelse\nP = node\nendif\ngo:\n\t$(P) run\n", "run.js"),
        ("P = node\nP += run\ngo:\n\t$(P)\n", "run.js"),
        ("go:\n\t$(PYTHON) -m pkg\n", "pkg"),
        ("go:\n\tP=node; $$P run\n", "run.js"),
        ("go:\n\t$${P:-node} run\n", "run.js"),
        ("export P = node\ngo:\n\t$$P run\n", "run.js"),
        ("go:\n\tsh $(CURDIR)/run.sh\n", "run.sh"),
        ("D := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))\ngo:\n\tsh $(D)run.sh\n", "run.sh"),
        ("go:\n\t$(UNKNOWN)/run.sh\n", "run.sh"),
        ("go:\n\t$(UNKNOWN) run.py\n", "run.py"),
        ("go:\n\t$(MAKE) -f a.mk\n", "a.mk"),
        ("go: run.sh\n\tsh $<\n", "run.sh"),
    ] {
        check_bound("make", &make(text), file);
        let noted = reads("make", &make(text)).chain.finders;
        assert!(noted.contains("Makefile: go"), "{text}: {noted:?}");
    }
    for text in [
        "include *.mk\ngo:\n\ttrue\n",
        "F = a\ninclude $(F).mk\ngo:\n\ttrue\n",
        "-include $(wildcard a*.mk)\n",
    ] {
        check_bound("make", &make(text), "a.mk");
    }
    check_bound("make", &make("vpath %.sh sub\ngo: run.sh\n\tsh $<\n"), "sub");
    check_bound("make run", &make(""), "run.sh");
    check_bound("make P=node", &make("go:\n\t$(P) run\n"), "run.js");
    check_bound("env P=node make", &make("go:\n\t$(P) run\n"), "run.js");
    check_bound("make", &make("P = $(P2)\nP2 = $(P)\ngo:\n\t$(P) run.py\n"), "run.py");
    let just = |text: &str| Fake::new(&names, &[]).with("justfile", text.to_owned());
    for (text, file) in [
        ("n := 'node'\ngo:\n  {{n}} run\n", "run.js"),
        ("go n='node':\n  {{ n }} run\n", "run.js"),
        ("export N := 'node'\ngo:\n  $N run\n", "run.js"),
        ("go:\n  {{just_executable()}} more\nmore:\n  sh run.sh\n", "run.sh"),
        ("go:\n  sh {{justfile_directory()}}/run.sh\n", "run.sh"),
    ] {
        check_bound("just go", &just(text), file);
    }
    for (script, file) in [
        ("$npm_node_execpath run", "run.js"),
        ("\\\"$npm_node_execpath\\\" run", "run.js"),
        ("$NODE run", "run.js"),
        ("N=node && ${N} run", "run.js"),
        ("node $npm_package_config_main", "run.js"),
    ] {
        let package = format!(r#"{{"config": {{"main": "run"}}, "scripts": {{"go": "{script}"}}}}"#);
        check_bound("npm run go", &Fake::new(&names, &[]).with("package.json", package), file);
    }
}
