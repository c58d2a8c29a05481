//! What texts of the workspace start.

use super::*;

#[track_caller]
fn check_chain(command: &str, files: &Fake, starts: &[(&str, &str)], bound: &[&str], finders: &[&str]) {
    let reads = reads(command, files);
    let links = reads.chain.starts.iter().map(|link| (link.by.as_str(), link.command.as_str()));
    assert_eq!(links.collect::<Vec<_>>(), starts, "{command}");
    for file in bound {
        assert!(reads.chain.files.contains(&Path::new("/work").join(file)), "{command}: {file}: {reads:?}");
    }
    assert_eq!(reads.chain.finders.iter().map(String::as_str).collect::<Vec<_>>(), finders, "{command}");
    assert_eq!(reads.unbound, BTreeSet::new(), "{command}");
}

#[test]
fn what_texts_of_the_workspace_start_is_followed() {
    let package = r#"{"scripts": {"go": "node run.js && npm run more", "pretest": "sh pre.sh", "test": "env PYTHONPATH=x python3 t.py",
        "more": "npm run go"}}"#;
    let make = "include common.mk\nCC = gcc\n\nall: build other\n\t@sh all.sh\nbuild: ; sh build.sh\n\
        other:\n\t$(CC) x.c\n\t./bin/tool \\\n  --flag\n# end\n";
    let just = "set shell := ['sh']\ngo name='x': (prepare name) && after\n    python3 run.py\n    echo {{name}}\n\n\
        prepare n:\n  sh prepare.sh\nafter:\n  true\n";
    let files = Fake::new(&["run.js", "pre.sh", "t.py", "sub/x"], &[])
        .with("package.json", package)
        .with("Makefile", make)
        .with("justfile", just);
    let go = [("package.json: go", "node run.js && npm run more"), ("package.json: more", "npm run go")];
    for command in ["npm run go", "yarn go", "pnpm run go", "bun run go", "env A=b npm --silent run go"] {
        check_chain(
            command,
            &files,
            &go,
            &["run.js"],
            if command.contains("bun") { &["bun", "node"] } else { &["node"] },
        );
    }
    check_chain(
        "npm test",
        &files,
        &[("package.json: pretest", "sh pre.sh"), ("package.json: test", "env PYTHONPATH=x python3 t.py")],
        &["pre.sh", "t.py"],
        &["package.json: test", "python3"],
    );
    check_chain("npm install", &files, &[], &[], &[]);
    // Issue 12: an interpreter behind a program whose options are not known was not named.
    for launcher in ["valgrind", "nice valgrind -q", "systemd-cat", "uv run"] {
        check_chain(&format!("{launcher} python3 t.py"), &files, &[], &[], &["python3"]);
    }
    let packed = Fake::new(&["p/gen.js"], &[])
        .with("p/package.json", r#"{"scripts": {"prepack": "node gen.js", "postinstall": "node gen.js"}}"#);
    let packs = [("p/package.json: prepack", "node gen.js")];
    check_chain("npm pack ./p", &packed, &packs, &["p/package.json", "p/gen.js"], &["node"]);
    let installs = [("p/package.json: postinstall", "node gen.js")];
    check_chain("npm install ./p", &packed, &installs, &["p/gen.js"], &["node"]);
    let below = Fake::new(&["sub/run.js", "sub/server.js"], &[])
        .with("sub/package.json", r#"{"scripts": {"go": "node run.js"}}"#);
    let go = [("sub/package.json: go", "node run.js")];
    for command in [
        "npm --prefix sub run go",
        "npm run --prefix=sub go",
        "npm -C sub run go",
        "npm -w sub run go",
        "pnpm --dir sub run go",
        "yarn --cwd sub go",
        "yarn --cwd sub run go",
    ] {
        check_chain(command, &below, &go, &["sub/run.js"], &["node"]);
    }
    let packages = Fake::new(&["a/run.js", "b/run.js", "a/node_modules/.bin/t"], &[])
        .with("package.json", r#"{"workspaces": ["a", "b"]}"#)
        .with("a/package.json", r#"{"name": "@x/one", "scripts": {"go": "node run.js", "bin": "t"}}"#)
        .with("b/package.json", r#"{"name": "two", "scripts": {"go": "node run.js"}}"#);
    let one = ("a/package.json: go", "node run.js");
    let two = ("b/package.json: go", "node run.js");
    for command in [
        "npm -w @x/one run go",
        "npm run go --workspace=a",
        "pnpm --filter @x/one run go",
        "yarn workspace @x/one go",
    ] {
        check_chain(command, &packages, &[one], &["a/run.js"], &["node"]);
        let named = reads(command, &packages);
        assert!(!named.chain.files.contains(Path::new("/work/b/run.js")), "{command}: {named:?}");
    }
    for command in
        ["npm run go --workspaces", "npm run go -ws", "pnpm -r run go", "pnpm --filter 't*' run go"]
    {
        check_chain(command, &packages, &[one, two], &["a/run.js", "b/run.js"], &["node"]);
    }
    for command in ["npm exec -w @x/one t", "npm exec --workspaces t", "npm run bin --workspaces"] {
        let bins = reads(command, &packages).code;
        let all = ["a/node_modules/.bin/t", "node_modules/.bin/t"];
        assert!(all.iter().all(|bin| bins.contains(&Path::new("/work").join(bin))), "{command}: {bins:?}");
    }
    let server = [("sub/package.json: start", "node server.js")];
    check_chain("npm --prefix sub start", &below, &server, &["sub/server.js"], &["node"]);
    check_chain("make -s build", &files, &[("Makefile: build", "sh build.sh")], &["build.sh"], &["Makefile"]);
    check_chain(
        "make",
        &files,
        &[
            ("Makefile: all", "sh all.sh"),
            ("Makefile: other", "$(CC) x.c"),
            ("Makefile: other", "./bin/tool    --flag"),
            ("Makefile: build", "sh build.sh"),
        ],
        &["all.sh", "build.sh", "bin/tool"],
        &["./bin/tool", "Makefile", "Makefile: other"],
    );
    check_chain(
        "just go",
        &files,
        &[
            ("justfile: go", "python3 run.py"),
            ("justfile: go", "echo {{name}}"),
            ("justfile: after", "true"),
            ("justfile: prepare", "sh prepare.sh"),
        ],
        &["run.py", "prepare.sh"],
        &["justfile", "justfile: go", "python3"],
    );
    // A variable of one target is no rule to begin with.
    let private = Fake::new(&[], &[])
        .with("Makefile", "go: CC = gcc\ngo: private X = 1\nall: ; sh all.sh\ngo:\n\tsh go.sh\n");
    check_chain("make", &private, &[("Makefile: all", "sh all.sh")], &["all.sh"], &[]);
    check_chain("make go", &private, &[("Makefile: go", "sh go.sh")], &["go.sh"], &[]);
    check_chain("python3 -m pkg", &files, &[], &[], &["python3"]);
    check_chain("wc run.js", &files, &[], &[], &[]);
    for command in ["/usr/bin/cargo run", "cmake --build out", "rake go", "./gradlew test", "go vet"] {
        let program = command.split(' ').next().unwrap_or_default();
        check_chain(command, &files, &[], &[], &[program]);
    }
    check_chain("./bin/wrap run.js", &files, &[], &[], &["./bin/wrap"]);
    // What a file of commands starts is not read.
    for (command, finders) in [
        ("vim -es -S v.vim", &["vim"][..]),
        ("sed -n -f x.sed d.txt", &["sed"]),
        ("sed -n --file=x.sed", &["sed"]),
        ("emacs --script x.el", &["emacs"]),
        ("sed p d.txt", &[]),
        ("parallel -a list gzip", &[]),
    ] {
        check_chain(command, &files, &[], &[], finders);
    }
}

#[test]
fn a_chain_ends_however_long_the_texts_are() {
    let loops = Fake::new(&[], &[])
        .with("package.json", r#"{"scripts": {"a": "npm run b", "b": "npm run a; npm run b"}}"#);
    assert_eq!(reads("npm run a", &loops).chain.starts.len(), 2);
    let deep = r#"{"scripts": {"a": "npm run b", "b": "npm run c", "c": "npm run d", "d": "npm run e", "e": "npm run f", "f": "sh x"}}"#;
    let deep = reads("npm run a", &Fake::new(&[], &[]).with("package.json", deep)).chain;
    assert_eq!((deep.starts.len(), deep.finders.contains("package.json: e")), (4, true), "{deep:?}");
}

#[test]
fn what_a_text_starts_is_bound_or_the_text_is_named() {
    let files = |makefile: &str| Fake::new(&["run.sh"], &[]).with("Makefile", makefile.to_owned());
    for recipe in [
        "sh run.sh&>log",
        "sh run.sh>log",
        "sh run.sh>/dev/stderr",
        "sh<run.sh",
        "sh 0<run.sh",
        "sh run.sh 2>&1|cat",
    ] {
        let found = reads("make", &files(&format!("go:\n\t{recipe}\n")));
        assert!(found.chain.files.contains(Path::new("/work/run.sh")), "{recipe}: {found:?}");
    }
    let named = |text: &str, finder: &str| {
        let found = reads("make", &files(text));
        assert!(found.chain.finders.contains(finder), "{text}: {found:?}");
    };
    for recipe in
        ["sh *.sh", "./*.sh", "eval \"sh run.sh\"", "trap \"sh run.sh\" EXIT", "echo x|sh", "xargs -a l sh"]
    {
        named(&format!("go:\n\t{recipe}\n"), "Makefile: go");
    }
    for line in [
        "S = SHELL\n$(S) := ./sub/sh",
        ".EXTRA_PREREQS = b",
        ".DEFAULT_GOAL = $(G)",
        "ifeq (1,1)\n\tSHELL=./sub/sh\nendif",
        "\tinclude inc.mk",
        "export PATH := bin:$(PATH)",
        "PATH=bin:/usr/bin",
        "go: SHELL=./sub/sh",
        "go: private SHELL := ./sub/sh",
        "override SHELL = ./sub/sh",
        "$(eval include inc.mk)",
        "$(info $(shell sh run.sh))",
        "X != sh run.sh",
        "go: $(X)",
        ".a.b:",
    ] {
        named(&format!("{line}\ngo:\n\ttrue\n"), "Makefile");
    }
    let plain = "X = a\nOTHER := b\n.PHONY: go\ngo: x\n\tsh run.sh\nx:\n\ttrue\n";
    let chain = reads("make", &files(plain)).chain;
    assert_eq!((chain.finders.len(), chain.starts.len()), (0, 2), "{chain:?}");
    let branch = reads("make", &files("go:\n\ttrue\nifeq (1,1)\n\tsh run.sh\nendif\n")).chain;
    assert!(branch.files.contains(Path::new("/work/run.sh")), "{branch:?}");
    let goal = reads("make", &files(".DEFAULT_GOAL := two # it\none:\n\ttrue\ntwo:\n\tsh run.sh\n"));
    assert_eq!(goal.chain.starts[0].by, "Makefile: two");
    let tested = Fake::new(&["t.js"], &[]).with("package.json", r#"{"scripts": {"test": "node t.js"}}"#);
    assert!(reads("npm it", &tested).chain.files.contains(Path::new("/work/t.js")));
}

#[test]
fn a_script_of_a_shell_that_loads_code_is_named() {
    let finders = |command: &str, text: &'static str| {
        let files = Fake::new(&[], &[]).with("run.sh", text);
        reads(command, &files).chain.finders.into_iter().collect::<Vec<_>>()
    };
    for text in [
        "\"$(dirname \"$0\")/bin/x\"",
        "x=$(cat l); $x",
        "$(cat lib.sh)",
        "run() { \"$@\"; }; run sh lib.sh",
        "function run { sh lib.sh; }",
        "PATH=bin:$PATH\nx",
        "trap \"sh x\" EXIT",
        "find . -exec {} ;",
        "<list bin/x",
        "hash -p bin/x zz",
    ] {
        assert_eq!(finders("bash run.sh", text), ["run.sh"], "{text}");
    }
    for text in [". ./lib.sh", "source lib.sh", "if true; then ./bin/x; fi", "cd a && python3 -m pkg", "make"]
    {
        assert_eq!(finders("sh run.sh", text), ["run.sh"], "{text}");
        // Whether it is the script or the value of an option, only the shell knows.
        assert_eq!(finders("bash --rcfile rc -i run.sh", text), ["run.sh"], "{text}");
    }
    for text in ["echo ran >> ran.txt", "cat data.csv | sort", ""] {
        assert!(finders("bash run.sh", text).is_empty(), "{text}");
    }
}

/// Issue 12: a database that only a script of a shell names was not bound, although it can start commands.
#[test]
fn a_database_that_a_script_opens_is_bound() {
    let files = |script: &str| {
        let mut files = Fake::new(&["app.db", "x.sql", "e.so"], &[]).with("run.sh", script.to_owned());
        files.heads.insert("/bin/sqlite3".into(), "");
        files.with("Makefile", "go:\n\tsh run.sh\n")
    };
    let simple = files("set -e\n# opens it\ncd .\nsqlite3 app.db < x.sql\n");
    let opens = ("run.sh", "sqlite3 app.db < x.sql");
    check_chain("sh run.sh", &simple, &[opens], &["app.db", "x.sql"], &["run.sh", "sqlite3"]);
    check_chain(
        "make",
        &simple,
        &[("Makefile: go", "sh run.sh"), opens],
        &["run.sh", "app.db", "x.sql"],
        &["run.sh", "sqlite3"],
    );
    for (script, bound) in [
        ("timeout 5 sqlite3 -batch app.db 'select 1'", &["app.db"][..]),
        ("if true; then sqlite3 app.db; fi", &["app.db"]),
        ("sqlite3 app.db <<E\n.read x.sql\n.load ./e\nE\n", &["app.db", "x.sql", "e.so"]),
        ("echo '.read x.sql' | sqlite3 app.db", &["app.db", "x.sql"]),
        ("sqlite3 app.db '.loa ./e'", &["app.db", "e.so"]),
    ] {
        let reads = reads("sh run.sh", &files(script));
        for file in bound {
            assert!(
                reads.chain.files.contains(&Path::new("/work").join(file)),
                "{script}: {file}: {reads:?}"
            );
        }
        assert_eq!(reads.chain.may_be_data, BTreeSet::new(), "{script}");
    }
    // SQLite runs nothing of it.
    let safe = reads("sh run.sh", &files("sqlite3 -safe app.db 'select 1'\n"));
    assert_eq!(safe.chain.may_be_data, BTreeSet::from(["/work/app.db".into()]), "{safe:?}");
    let both = reads("sh run.sh", &files("sqlite3 -safe app.db 'select 1'\nsqlite3 app.db\n"));
    assert_eq!(both.chain.may_be_data, BTreeSet::new(), "{both:?}");
    let other = reads("sh run.sh", &files("echo sqlite3 app.db\n.venv/bin/x app.db\n"));
    assert!(!other.chain.files.contains(Path::new("/work/app.db")), "{other:?}");
}

/// Issue 12: an argument may be the name of a recipe or a script.
#[test]
fn what_arguments_choose_to_start_is_followed() {
    let files = Fake::new(&["all.sh", "go.sh", "run.js"], &[])
        .with("Makefile", "all: ; sh all.sh\ngo: ; sh go.sh\n")
        .with("package.json", r#"{"scripts": {"go": "node run.js"}}"#);
    let chosen = |command: &str, argument: &str| {
        let mut argv = Argv::parse(command).unwrap();
        let reviewed = argv.words().len();
        argv.push(argument).unwrap();
        what_arguments_start(&argv, reviewed, Path::new("/work"), &files)
    };
    for (command, argument, by, file) in [
        ("make", "go", "Makefile: go", "go.sh"),
        ("nice make -s", "go", "Makefile: go", "go.sh"),
        ("npm run", "go", "package.json: go", "run.js"),
    ] {
        let chain = chosen(command, argument);
        assert_eq!(chain.starts.iter().map(|link| link.by.as_str()).collect::<Vec<_>>(), [by], "{command}");
        assert!(chain.files.contains(&Path::new("/work").join(file)), "{command}: {chain:?}");
        assert!(!chain.files.contains(Path::new("/work/all.sh")), "{command}: {chain:?}");
    }
    for (command, argument) in [("make", "all"), ("python3 x.py", "go"), ("npm test", "go")] {
        assert_eq!(chosen(command, argument), Chain::default(), "{command} {argument}");
    }
}

/// Issue 12: npm runs scripts by verbs, settings and packages that were not looked for.
#[test]
fn npm_is_read_as_npm_reads_it() {
    let of = |command: &str, package: &'static str, others: &[(&str, &'static str)]| {
        let files = Fake::new(&["x.sh", "sub/x.sh", ".p/a/x.sh", "sh.sh"], &[]).with("package.json", package);
        let files = others.iter().fold(files, |files, (file, text)| files.with(file, *text));
        reads(command, &files).chain
    };
    let check = |command: &str, package: &'static str, others: &[(&str, &'static str)], file: &str| {
        let chain = of(command, package, others);
        assert!(chain.files.contains(&Path::new("/work").join(file)), "{command} {package}: {chain:?}");
    };
    for (command, script) in [
        ("npm restart", r#"{"scripts": {"start": "sh x.sh"}}"#),
        ("npm restart", r#"{"scripts": {"poststop": "sh x.sh"}}"#),
        ("npm runScript go", r#"{"scripts": {"go": "sh x.sh"}}"#),
        ("npm run-scri go", r#"{"scripts": {"go": "sh x.sh"}}"#),
        ("npm run-scri install", r#"{"scripts": {"install": "sh x.sh"}}"#),
        ("npm te", r#"{"scripts": {"test": "sh x.sh"}}"#),
        ("npm install", r#"{"scripts": {"prepublish": "sh x.sh"}}"#),
        ("npm inst", r#"{"scripts": {"preprepare": "sh x.sh"}}"#),
    ] {
        check(command, script, &[], "x.sh");
    }
    let restarts = of("npm restart", r#"{"scripts": {"start": "sh x.sh", "restart": "true"}}"#, &[]);
    assert!(!restarts.files.contains(Path::new("/work/x.sh")), "{restarts:?}");
    let root = r#"{"workspaces": ["sub"], "scripts": {"go": "true"}}"#;
    let sub = ("sub/package.json", r#"{"name": "s", "scripts": {"go": "sh x.sh", "prepare": "sh x.sh"}}"#);
    for settings in [
        "workspaces=true",
        "ws",
        "workspace=sub",
        "x\rworkspace = s\r",
        "'workspace[]'=sub",
        "workspace[]=sub",
    ] {
        check("npm run go", root, &[sub, (".npmrc", settings)], "sub/x.sh");
    }
    check("npm install", root, &[sub], "sub/x.sh");
    let plain = of("npm run go", root, &[sub, (".npmrc", "workspaces=false")]);
    assert!(!plain.files.contains(Path::new("/work/sub/x.sh")), "{plain:?}");
    let hidden = (".p/a/package.json", r#"{"name": "s", "scripts": {"go": "sh x.sh"}}"#);
    for command in ["npm run go --workspaces", "npm run go -w s"] {
        check(command, r#"{"workspaces": [".p/*"]}"#, &[hidden], ".p/a/x.sh");
    }
    assert!(of("npm run go -ws", r#"{"workspaces": ["*/.p"]}"#, &[]).finders.contains("package.json"));
    for settings in [r#""script-shell"=./sh.sh"#, ";x\rscript-shell=./sh.sh", "script-shell\t=\t./sh.sh"] {
        check("npm run go", root, &[(".npmrc", settings)], "sh.sh");
        check("npm --prefix sub run go", root, &[sub, (".npmrc", settings)], "sh.sh");
    }
    let large: &'static str = Box::leak("x".repeat(2 << 20).into_boxed_str());
    for settings in [large, "userconfig=x", r#""script\u002dshell"=./sh.sh"#] {
        assert!(of("npm run go", root, &[(".npmrc", settings)]).finders.contains(".npmrc"));
    }
    let tool = ("node_modules/.bin/tool", "#!/bin/sh\n. ./x.sh\n");
    for command in ["npm run go", "npx tool", "npm exec tool"] {
        let finders = of(command, r#"{"scripts": {"go": "tool"}}"#, &[tool]).finders;
        assert!(finders.contains("node_modules/.bin/tool"), "{command}: {finders:?}");
    }
    let own = of("npx tool", r#"{"bin": {"tool": "sh.sh"}}"#, &[]).finders;
    assert!(own.contains("sh.sh"), "{own:?}");
}

/// Issue 12: what scripts and recipes find by paths and variables that were not known is noted.
#[test]
fn what_a_shell_finds_by_other_paths_and_variables_is_noted() {
    let of_script = |text: &'static str| {
        let files = Fake::new(&["p", "e.sed", "bin/tool"], &[]).with("run.sh", text);
        reads("bash run.sh", &files).chain.finders
    };
    for text in [
        "/work/p\n",
        "exec /work/p\n",
        "timeout 5 /work/p\n",
        "if true; then /work/p; fi\n",
        "/proc/self/cwd/p\n",
        "PATH+=:bin\ntool\n",
        "read PATH < p\ntool\n",
        "for PATH in bin; do tool; done\n",
        "sed -n -f e.sed x\n",
        "TAR_OPTIONS=--to-command=./p tar xf a.tar\n",
        "mapfile -C '. ./p;' -c 1 < x\n",
        "tee() { true; }\n",
        "echo ( ) { true; }\n",
    ] {
        assert!(of_script(text).contains("run.sh"), "{text}");
    }
    for text in ["/bin/true\n", "sed -n 1p x\n", "read line < x\n", "main() { true; }\nmain\n"] {
        assert!(of_script(text).is_empty(), "{text}: {:?}", of_script(text));
    }
    let of_make = |text: &'static str, command: &str| {
        let files = Fake::new(&["p"], &[]).with("Makefile", text);
        reads(command, &files).chain.finders
    };
    for (text, command) in [
        ("TAR_OPTIONS = --to-command=./p\nexport TAR_OPTIONS\ngo:\n\ttar xf a.tar\n", "make go"),
        ("export # all\nTAR_OPTIONS = --to-command=./p\ngo:\n\ttar xf a.tar\n", "make go"),
        ("go:\n\ttar xf a.tar\n", "make go TAR_OPTIONS=--to-command=./p"),
        ("go:\n\t/work/p\n", "make go"),
    ] {
        assert!(!of_make(text, command).is_empty(), "{text}");
    }
    for text in
        ["TAR_OPTIONS = --to-command=./p\ngo:\n\ttar xf a.tar\n", "X = 1\nexport X\nexport\ngo:\n\ttrue\n"]
    {
        assert!(of_make(text, "make go").is_empty(), "{text}");
    }
}

/// Issue 12: node takes `_` for `-`, and what is too large to read is named.
#[test]
fn options_of_node_and_large_files_are_read_or_noted() {
    let package = r##"{"imports": {"#h": "./hook.js"}}"##;
    let files = Fake::new(&["hook.js", "x.js"], &[]).with("package.json", package);
    for option in ["--experimental_loader=#h", "--test_reporter=#h", "--experimental-loader=#h"] {
        let found = reads(&format!("node {option} x.js"), &files);
        assert!(found.code.contains(Path::new("/work/hook.js")), "{option}: {found:?}");
    }
    let files = Fake::new(&["x.js"], &[]).with(".env", "x".repeat(2 << 20));
    assert!(reads("node --env_file=.env x.js", &files).chain.finders.contains(".env"));
}

/// Issue 12: a program that appeared in the workspace, on `PATH`, ran in the place of one that a script names.
#[test]
fn directories_of_the_workspace_on_the_search_path_are_noted() {
    let check = |search_path: &'static str, command: &str, expect: &[&str]| {
        let files = Fake::new(&["bin/x"], &[]).with("run.sh", "cat x\n").with("Makefile", "go:\n\t@cat x\n");
        let found = reads(command, &Fake { search_path, ..files }).chain.finders;
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expect, "{command} {search_path}");
    };
    for command in ["sh run.sh", "make go", "timeout 5 cat x", "bin/x"] {
        check("/bin:/usr/bin", command, if command == "bin/x" { &["bin/x"] } else { &[] });
    }
    for command in ["sh run.sh", "make go", "timeout 5 cat x"] {
        check("/work/bin:/bin", command, &["PATH: bin"]);
        check("tools:/bin::", command, &["PATH: .", "PATH: tools"]);
    }
    // Nothing is started by these.
    check("/work/bin:/bin", "cat x", &[]);
}
