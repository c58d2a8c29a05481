//! Issue 12: files of recipes and scripts whose text has more than the plain constructs.

use super::*;

/// A workspace with these texts, and empty files of these names.
fn workspace(texts: &[(&str, &str)], files: &[&str]) -> Fake {
    let empty = Fake::new(files, &[]);
    texts.iter().fold(empty, |fake, (file, text)| fake.with(file, (*text).to_owned()))
}

#[track_caller]
fn check_bound(command: &str, texts: &[(&str, &str)], file: &str) {
    let found = reads(command, &workspace(texts, &[file]));
    let path = Path::new("/work").join(file);
    let is_bound = [&found.chain.files, &found.code, &found.scripts].into_iter().any(|files| {
        files.contains(&path) || files.iter().any(|other| other.components().eq(path.components()))
    });
    assert!(is_bound, "{command}: {texts:?}: {:?}", found.chain);
}

#[test]
fn recipes_of_just_that_cannot_be_told_apart_are_all_followed() {
    const GO: &str = "go:\n  @sh run.sh\n";
    for (command, text, file) in [
        ("just g", "alias g := go\nall:\n  @true\ngo:\n  @sh run.sh\n", "run.sh"),
        ("just go", "set working-directory := 'sub'\ngo:\n  @sh run.sh\n", "sub/run.sh"),
        ("just go", "[working-directory: 'sub']\ngo:\n  @sh run.sh\n", "sub/run.sh"),
        ("env -C sub just go", "[no-cd]\ngo:\n  @sh run.sh\n", "sub/run.sh"),
        ("just", "_x:\n  @true\n[default]\ngo:\n  @sh run.sh\n", "run.sh"),
        ("just", "[group: 'a']\ngo:\n  @sh run.sh\n", "run.sh"),
        ("just", "[doc('x: y')]\ngo:\n  @sh run.sh\n", "run.sh"),
        ("just", "x := \"\"\"\n  a\nb: c\n\"\"\"\ngo:\n  @sh run.sh\n", "run.sh"),
        ("just go", "all:\n  @true\ngo x=\":=\":\n  @sh run.sh\n", "run.sh"),
        ("just go", "all:\n  @true\ngo: (dep \"a:=b\")\ndep x:\n  @sh run.sh\n", "run.sh"),
        ("just go", "set shell := [\"./mysh\", \"-c\"]\ngo:\n  true\n", "mysh"),
        ("just go", "set shell := ['python3', 'lib/sh.py']\ngo:\n  true\n", "lib/sh.py"),
        ("just go", "set unstable\n[script(\"./mysh\")]\ngo:\n  true\n", "mysh"),
        ("just go", "go:\n  #!./mysh\n  true\n", "mysh"),
        ("just go", "x := `sh run.sh`\ngo:\n  true\n", "run.sh"),
        ("just go", "export PATH := \"bin:\" + env(\"PATH\")\ngo:\n  @tool1\n", "bin/tool1"),
        ("just go", "export PATH := justfile_directory() + \"/bin\"\ngo:\n  @tool1\n", "bin/tool1"),
        ("just go", "set dotenv-load\ngo:\n  true\n", ".env"),
        ("just -d sub -f justfile go", GO, "sub/run.sh"),
        ("just --working-directory=sub --justfile=justfile go", GO, "sub/run.sh"),
        ("env JUST_WORKING_DIRECTORY=sub just -f justfile go", GO, "sub/run.sh"),
    ] {
        if command != "just" && text == GO {
            check_bound(command, &[("justfile", text), ("sub/x", "")], file);
            continue;
        }
        check_bound(command, &[("justfile", text)], file);
        let found = reads(command, &workspace(&[("justfile", text)], &[file])).chain;
        let is_told = found.finders.iter().any(|finder| finder.contains("justfile"));
        // A text with a sign of an assignment in quotes is plain.
        assert!(is_told || text.contains(":=\":") || text.contains("a:=b"), "{command}: {text}: {found:?}");
    }
    check_bound("just -f a/j go", &[("a/j", GO)], "a/run.sh");
    check_bound("env JUST_JUSTFILE=a/j just go", &[("a/j", GO)], "a/run.sh");
    check_bound("just --justfile-name j go", &[("j", GO)], "run.sh");
    check_bound("just go", &[("justfile", "import? 'x.just'\nall:\n  @true\n"), ("x.just", GO)], "run.sh");
    // It is a change when it appears.
    check_bound("just go", &[("justfile", "import? 'x.just'\nall:\n  @true\n")], "x.just");
    check_bound("just x go", &[("justfile", "mod? x\nall:\n  @true\n"), ("x.just", GO)], "run.sh");
    let below = [("justfile", GO), ("sub/justfile", "set fallback\nx:\n  true\n")];
    check_bound("env -C sub just go", &below, "run.sh");
}

#[test]
fn recipes_of_make_that_cannot_be_told_apart_are_all_followed() {
    const GO: &str = "all:\n\t@true\ngo:\n\t@sh run.sh\n";
    for (command, text) in [
        ("make -s ./go", GO),
        ("make -s all", "all: ./dep\n\t@true\ndep:\n\t@sh run.sh\n"),
        ("make -s all", "all: dep*\n\t@true\ndep1:\n\t@sh run.sh\n"),
        ("make -s go", "all:\n\t@true\ngo: ; @sh run.sh x:=1\n"),
        ("make -s go", "go: $(X:.c=.o) b\nb:\n\t@sh run.sh\n"),
        ("make -s", "all: x\\ y\nx\\ y:\n\t@sh run.sh\n"),
        ("make -s a:b", "all:\n\t@true\na\\:b:\n\t@sh run.sh\n"),
        ("make -s", "all: a.b\n%.b:\n\t@sh run.sh\n"),
        ("make -s", "Makefile:\n\t@sh run.sh\nall:\n\t@true\n"),
        ("make -s", "define x\nsh run.sh\nendef\nall:\n\t@$(x)\n"),
        ("make -s", ".RECIPEPREFIX = >\nall:\n>sh run.sh\n"),
        ("make -s", "X := $(shell sh run.sh)\nall:\n\t@true\n"),
        ("make -s", "SHELL := ./run.sh\nall:\n\t@true\n"),
        ("make -s", "load ./run.sh\nall:\n\t@true\n"),
    ] {
        check_bound(command, &[("Makefile", text)], "run.sh");
    }
    check_bound(
        "make",
        &[("Makefile", "export PATH := $(CURDIR)/bin:$(PATH)\nall:\n\ttool1\n")],
        "bin/tool1",
    );
    check_bound("make", &[("Makefile", "include x.inc\n"), ("x.inc", GO)], "run.sh");
    check_bound("make go", &[("Makefile", "-include x.inc\nall:\n\ttrue\n")], "x.inc");
    check_bound("make -s -I . go", &[("Makefile", "include x.inc\n"), ("x.inc", GO)], "run.sh");
    check_bound("make -f a.mk -f b.mk go", &[("a.mk", "x:\n\ttrue\n"), ("b.mk", GO)], "run.sh");
    check_bound("env MAKEFILES=b.mk make go", &[("Makefile", "x:\n\ttrue\n"), ("b.mk", GO)], "run.sh");
    // By rules of its own, make makes a file without an ending from one with it, also a makefile.
    for file in ["Makefile.sh", "run.sh", "run.c"] {
        check_bound("make", &[("Makefile", "all: run\n\t./run\n")], file);
    }
    check_bound("make", &[("Makefile", "all:\n\ttrue\ninclude x.inc\n")], "x.inc.sh");
    // Only what a text names as what it makes is left out.
    let built = reads("make", &workspace(&[("Makefile", "O = a.o\napp: $(O)\n\tcc -o $@ $<\n")], &["a.o"]));
    assert!(!built.chain.files.contains(Path::new("/work/a.o")), "{:?}", built.chain);
}

#[test]
fn plain_recipes_are_told_apart() {
    for (command, file, text) in [
        (
            "make go",
            "Makefile",
            "X = a\n.PHONY: go all\nall: ; sh all.sh\ngo: dep | x # y = z\n\t@-sh go.sh\ndep:\n\ttrue\nx:\n",
        ),
        ("make", "Makefile", "go:: dep\n\tsh go.sh\ndep:\n\ttrue\nall: ; sh all.sh\n"),
        (
            "just go",
            "justfile",
            "# a\nx := 'a b'\n\n@go n='a: b' *rest: dep && (after 'x')\n  sh go.sh\ndep:\n  true\nafter y:\n  true\nall:\n  sh all.sh\n",
        ),
        ("just -q --yes", "justfile", "go:\n  sh go.sh\n\nall: go\n  sh all.sh\n"),
        ("just --list", "justfile", "go:\n  sh go.sh\n\nall: go\n  sh all.sh\n"),
    ] {
        let found = reads(command, &workspace(&[(file, text)], &["go.sh", "all.sh"]));
        assert!(found.chain.finders.is_empty(), "{command}: {:?}", found.chain);
        assert!(found.chain.files.contains(Path::new("/work/go.sh")), "{command}: {:?}", found.chain);
        assert!(!found.chain.files.contains(Path::new("/work/all.sh")), "{command}: {:?}", found.chain);
    }
}

#[test]
fn a_text_that_cannot_be_read_whole_is_named() {
    let long = format!("#{}\ngo:\n\tsh run.sh\n", "x".repeat(1 << 20));
    for (command, file) in [("make go", "Makefile"), ("just go", "justfile"), ("npm run go", "package.json")]
    {
        let found = reads(command, &workspace(&[(file, &long)], &[]));
        let path = Path::new("/work").join(file);
        assert!(found.chain.files.contains(&path) || found.code.contains(&path), "{command}: {found:?}");
        assert!(found.chain.finders.contains(file), "{command}: {found:?}");
    }
    let script = "#!/bin/sh\n".repeat(1 << 17);
    let found = reads("sh run.sh", &workspace(&[("run.sh", &script)], &[]));
    assert!(found.chain.finders.contains("run.sh") && found.scripts.contains(Path::new("/work/run.sh")));
    let broken = reads("npm run go", &workspace(&[("package.json", "{")], &[])).chain;
    assert!(broken.finders.contains("package.json"), "{broken:?}");
    let twice = r#"{"scripts": {"go": "true", "go": "sh run.sh"}}"#;
    check_bound("npm run go", &[("package.json", twice)], "run.sh");
    check_bound(
        "npm run go",
        &[("package.json", "\u{feff}{\"scripts\": {\"go\": \"sh run.sh\"}}")],
        "run.sh",
    );
}

#[test]
fn words_behind_a_script_are_words_of_its_command() {
    let package = (
        "package.json",
        r#"{"scripts": {"n": "node", "m": "npm run n --", "test": "make -s", "pretest": "true"}}"#,
    );
    let makefile = ("Makefile", "all:\n\t@true\ngo:\n\t@sh run.sh\n");
    for (command, file) in [
        ("npm run n -- run", "run.js"),
        ("npm run n run", "run.js"),
        ("npm run n --loglevel silent -- run", "run.js"),
        ("npm run m -- run", "run.js"),
        ("npm --prefix . run n -- --no-warnings run", "run.js"),
        ("yarn n run", "run.js"),
        ("yarn run n --no-warnings run", "run.js"),
        ("pnpm run n -- run", "run.js"),
        ("bun run n run", "run.js"),
        ("node --run n -- run", "run.js"),
        ("node --run=n -- run", "run.js"),
        ("npm test -- go", "run.sh"),
        ("npm t -- ./go", "run.sh"),
    ] {
        check_bound(command, &[package, makefile], file);
    }
    let starts = reads("npm test -- go", &workspace(&[package, makefile], &[])).chain.starts;
    let starts: Vec<&str> = starts.iter().map(|link| link.command.as_str()).collect();
    assert_eq!(starts, ["true", "make -s go", "sh run.sh"]);
}

#[test]
fn settings_of_package_managers_say_what_scripts_are_run_with() {
    let package = ("package.json", r#"{"scripts": {"go": "true"}}"#);
    for (settings, file) in [
        ("color = true\nscript-shell = ./mysh\n", "mysh"),
        ("script_shell=\"./mysh\"\n", "mysh"),
        ("node-options = --require ./hook.js\n", "hook.js"),
    ] {
        check_bound("npm run go", &[package, (".npmrc", settings)], file);
        let found = reads("npm run go", &workspace(&[package, (".npmrc", settings)], &[file])).chain;
        assert!(found.finders.contains(".npmrc"), "{settings}: {found:?}");
    }
    check_bound("bun go", &[("package.json", r#"{"scripts": {"go": "node run"}}"#)], "run.js");
    let plain = reads("npm run go", &workspace(&[package, (".npmrc", "loglevel=error\n")], &[])).chain;
    assert!(plain.finders.is_empty(), "{plain:?}");
}

/// A script and the words behind it are one command: what would be an argument that chooses code there is one here.
#[test]
fn an_argument_behind_a_script_may_choose_its_code() {
    let scripts = r#"{"scripts": {"n": "node", "m": "npm run -s n --", "x": "node x.js", "py": "FOO=1 python3 -m pytest",
        "e": "node -e", "sh": "cd sub && sh -c", "run": "npm run", "mk": "make -s", "list": "eslint ."}}"#;
    let makefile = "go:\n\ttrue\n";
    let files = workspace(&[("package.json", scripts), ("Makefile", makefile)], &["x.js", "run.js"]);
    let chosen = |command: &str, argument: &str| {
        let mut argv = Argv::parse(command).unwrap();
        let reviewed = argv.words().len();
        argv.push(argument).unwrap();
        what_arguments_start(&argv, reviewed, Path::new("/work"), &files).chosen
    };
    for (command, argument) in [
        ("npm run -s n --", "run.js"),
        ("npm run -s n --", "run"),
        ("npm run n", "run"),
        ("nice npm run m --", "run.js"),
        ("yarn n", "./run.js"),
        ("node --run n --", "run.js"),
        ("npm run e --", "1"),
        ("npm run sh --", "ls"),
        ("npm run run --", "x"),
        ("npm run mk --", "SHELL=./x"),
        ("npm run py -- tests", "sub/y.py"),
    ] {
        assert_eq!(chosen(command, argument), [argument.to_owned()].into(), "{command} {argument}");
    }
    for (command, argument) in [
        ("npm run x --", "run.js"),
        ("npm run py --", "tests/test_a.py"),
        ("npm run mk --", "go"),
        ("npm run list --", "src/a.js"),
        ("npm run x", "data.csv"),
    ] {
        assert_eq!(chosen(command, argument), BTreeSet::new(), "{command} {argument}");
    }
}

#[test]
fn words_of_the_command_line_are_words_of_the_first_line_of_its_program() {
    for (head, text) in [
        ("#!/usr/bin/make -sf\n", "all:\n\t@true\ngo:\n\t@sh run.sh\n"),
        ("#!/usr/bin/env -S just --justfile\n", "all:\n  @true\ngo:\n  @sh run.sh\n"),
    ] {
        let text = format!("{head}{text}");
        let mut files = workspace(&[("tasks", &text)], &["run.sh"]);
        files.heads.insert("/work/tasks".into(), head);
        for command in ["./tasks go", "nice ./tasks go", "env A=b ./tasks go"] {
            let found = reads(command, &files);
            assert!(found.chain.files.contains(Path::new("/work/run.sh")), "{command}: {found:?}");
        }
        let argv = Argv::parse("./tasks go").unwrap();
        let chain = what_arguments_start(&argv, 1, Path::new("/work"), &files);
        let entry = reads("./tasks", &files).chain;
        assert!(
            chain.files.union(&entry.files).any(|file| file == Path::new("/work/run.sh")),
            "{chain:?}: {entry:?}"
        );
        let argv = Argv::parse("./tasks SHELL=./x").unwrap();
        let chosen = what_arguments_start(&argv, 1, Path::new("/work"), &files).chosen;
        assert_eq!(chosen.len(), usize::from(head.contains("make")), "{head}");
    }
}

#[test]
fn launchers_of_scripts_are_looked_through() {
    for (command, file) in [
        ("cross-env A=1 node run", "run.js"),
        ("cross-env-shell A=1 'true && node run'", "run.js"),
        ("env-cmd -f .env node run", "run.js"),
        ("dotenv -- node run", "run.js"),
        ("concurrently 'node run'", "run.js"),
        ("npm run go", "run.js"),
        ("parallel -j 4 node ::: run x", "run.js"),
        ("parallel ::: 'node run'", "run.js"),
        ("parallel 'node {}' ::: run", "run.js"),
    ] {
        check_bound(command, &[("package.json", r#"{"scripts": {"go": "cross-env A=1 node run"}}"#)], file);
    }
    let variable = reads("cross-env NODE_OPTIONS=--require=./x node run", &workspace(&[], &[]));
    assert_eq!(variable.unbound, [NotBound::Variable("NODE_OPTIONS".to_owned())].into());
}

#[test]
fn parallel_that_runs_what_it_reads_is_a_risk() {
    for (command, is_risk) in [
        ("parallel sh :::: list", true),
        ("parallel -j 4 'sh {}' :::: list", true),
        ("parallel python3", true),
        ("parallel -a jobs.txt", true),
        ("parallel -a list gzip -9", false),
        ("parallel grep node :::: list", false),
        ("parallel sh ::: a.sh", false),
        ("parallel python3 x.py", false),
    ] {
        let risks = risk::judge(&Argv::parse(command).unwrap());
        assert_eq!(risks.iter().any(|risk| risk.code() == "data-as-code"), is_risk, "{command}: {risks:?}");
        assert_eq!(risks.is_empty(), !is_risk, "{command}: {risks:?}");
    }
}

/// A recipe is no program, whatever lies on `PATH`.
#[test]
fn only_the_shell_that_just_is_given_is_a_program() {
    for (command, expect) in [
        ("just --shell ./mysh python3", false),
        ("just --shell python3 go", true),
        ("just --shell=python3 go", true),
        ("just -c python3 x.py", true),
        ("just python3", false),
    ] {
        let found = reads(command, &Fake::new(&["mysh"], &[]));
        assert_eq!(found.programs.contains(Path::new("/bin/python3")), expect, "{command}: {found:?}");
    }
}

/// The value of an argument may become the code of a line that a recipe starts.
#[test]
fn an_argument_may_choose_the_code_of_a_recipe() {
    let just = "v := 'x.js'\nset positional-arguments\ngo x:\n  @node {{x}}\nsay x:\n  echo {{x}}\nquoted x:\n  echo '{{x}}'\n\
        safe x:\n  echo {{quote(x)}}\nfixed x:\n  node {{v}} {{x}}\ntext x:\n  python3 -c \"print('{{x}}')\"\nvar:\n  node {{v}}\n\
        first x:\n  node \"$1\"\n";
    let make = "CMD = node $(X)\nY = a\ngo:\n\t@node $(X)\nfar:\n\t@$(CMD)\nenv:\n\tnode $$X\nsay:\n\techo $(X) $(Y)\n\
        stem:\n\techo $@\nrun-%:\n\tsh $*\n";
    let files = workspace(&[("justfile", just), ("Makefile", make)], &["run.js", "x.js"]);
    let chosen = |command: &str, argument: &str| {
        let mut argv = Argv::parse(command).unwrap();
        let reviewed = argv.words().len();
        argv.push(argument).unwrap();
        !what_arguments_start(&argv, reviewed, Path::new("/work"), &files).chosen.is_empty()
    };
    // The text of just is not plain because of the setting, so each recipe may be meant.
    assert!(chosen("just go", "run.js"));
    for (recipe, argument, is_code) in [
        ("go", "X=run.js", true),
        ("far", "X=run.js", true),
        ("env", "X=run.js", true),
        ("say", "X=run.js", false),
        ("say", "X=a;sh run.sh", true),
        ("say", "X=$(sh run.sh)", true),
        ("say", "X=a b", false),
        ("say", "Z=a;b", false),
        ("say", "stem", false),
    ] {
        // Only plain recipes are told apart.
        let make = make.replace("run-%:\n\tsh $*\n", "");
        let files = workspace(&[("Makefile", &make)], &[]);
        let argv = Argv::new(["make", recipe, argument].map(str::to_owned).to_vec()).unwrap();
        let chosen = what_arguments_start(&argv, 2, Path::new("/work"), &files).chosen;
        assert_eq!(!chosen.is_empty(), is_code, "{recipe} {argument}: {chosen:?}");
    }
    assert!(chosen("make", "run-x"));
    for (recipe, argument, is_code) in [
        ("go", "run.js", true),
        ("say", "Ada", false),
        ("say", "Ada Lovelace", false),
        ("say", "a;sh run.sh", true),
        ("quoted", "a;sh run.sh", false),
        ("quoted", "a';sh run.sh;'", true),
        ("safe", "a';sh run.sh;'", false),
        ("fixed", "run.js", false),
        ("text", "Ada", true),
        ("var", "run.js", false),
        ("var", "v=run.js", true),
    ] {
        let plain = just.replace("set positional-arguments\n", "");
        let files = workspace(&[("justfile", &plain)], &[]);
        let argv = Argv::new(["just", recipe, argument].map(str::to_owned).to_vec()).unwrap();
        let chosen = what_arguments_start(&argv, 2, Path::new("/work"), &files).chosen;
        assert_eq!(!chosen.is_empty(), is_code, "{recipe} {argument}: {chosen:?}");
    }
}

/// What each of many recipes starts is followed once, however many of them start make again.
#[test]
fn many_recipes_that_start_each_other_end() {
    let recipes: String = (1..300)
        .map(|at| format!("t{at}: t{}\n\t@python3 -m pkg{at} a\n\t@npm run s{at}\n\t@make t{at}\n", at - 1))
        .collect();
    let scripts: Vec<String> =
        (0..300).map(|at| format!("\"s{at}\": \"node a{at}.js && make t0\"")).collect();
    let package = format!("{{\"scripts\": {{{}}}}}", scripts.join(", "));
    let makefile = format!("SHELL := /bin/bash\n{recipes}t0:\n\ttrue\n");
    let files = workspace(&[("Makefile", &makefile), ("package.json", &package)], &[]);
    let found = reads("make -s t0", &files).chain;
    assert_eq!(found.starts.len(), 1, "{:?}", found.starts);
    assert!(found.files.contains(Path::new("/work/a100.js")));
}

/// Issue 12: a comment ends at the line break, also where make goes on.
#[test]
fn comments_of_a_shell_end_at_the_line_break() {
    for recipe in [
        "go:\n\t# say what it does \\\n\tsh x.sh\n",
        "go:\n\t@# say what it does \\\n\tsh x.sh\n",
        "go:\n\techo hi # say \\\n\t  what \\\n\tsh x.sh\n",
        "go:\r\n\techo hi # say \\\r\n\tsh x.sh\r\n",
        "go:\n\t# say what it does \\\\\n\tsh x.sh\n",
        "go: ; @# x \\\n sh x.sh\n",
        "define run\n# say \\\nsh x.sh\nendef\ngo:\n\t$(run)\n",
        "go:\n\t\u{a0}#; sh x.sh\n",
        "go:\n\t\u{3000}#; sh x.sh\n",
        "go:\n\t\r#; sh x.sh\n",
        "go:\n\techo a#b \\\n\t; sh x.sh\n",
    ] {
        let files = Fake::new(&["x.sh"], &[]).with("Makefile", recipe);
        let chain = reads("make go", &files).chain;
        assert!(chain.files.contains(Path::new("/work/x.sh")), "{recipe:?}: {chain:?}");
    }
    let files = Fake::new(&["x.sh"], &[]).with("Makefile", "# say \\\n\tsh x.sh\ngo:\n\t# sh x.sh\n");
    let chain = reads("make go", &files).chain;
    assert!(!chain.files.contains(Path::new("/work/x.sh")), "{chain:?}");
}
