use super::*;

#[track_caller]
fn check(command: &str, expect: Option<(&str, bool)>) {
    let argv = Argv::parse(command).unwrap();
    let chain = wrapped(numbered(argv.words()));
    let script = script_of(&chain.last().unwrap().0);
    let found = script.map(|script| (script.word.text.as_str(), script.is_exact));
    assert_eq!(found, expect, "{command}");
}

#[test]
fn the_first_operand_of_an_interpreter_is_its_script() {
    check("python3 bin/x.py --flag", Some(("bin/x.py", true)));
    check("/usr/bin/python3.11 -u -W ignore x.py", Some(("x.py", true)));
    check("python3 -Wignore -X dev x.py", Some(("x.py", true)));
    check("sh /opt/x/x.sh", Some(("/opt/x/x.sh", true)));
    check("bash -eu -o pipefail ./x.sh", Some(("./x.sh", true)));
    check("bash -euo pipefail ./x.sh", Some(("./x.sh", true)));
    check("bash x.sh", Some(("x.sh", false)));
    check("node --no-warnings bin/x.js", Some(("bin/x.js", true)));
    check("node --title x -r ./hook bin/x.js", Some(("bin/x.js", true)));
    check("node bin/x", Some(("bin/x", false)));
    check("perl -w x.pl", Some(("x.pl", true)));
    check("perl -I lib -MFoo x.pl", Some(("x.pl", true)));
    check("env A=b python3 x.py", Some(("x.py", true)));
    check("timeout 5 nice -n 5 sh ./x.sh", Some(("./x.sh", true)));
    check("timeout -s KILL 5 env -u X python3 x.py", Some(("x.py", true)));
    check("env -C other python3 x.py", Some(("x.py", true)));
    check("env -S 'python3 x.py'", Some(("x.py", true)));
}

#[test]
fn an_argument_that_chooses_code_is_found() {
    let mut wrong = Vec::new();
    for (command, argument, is_code) in [
        ("make", "-fsub/Makefile", true),
        ("make", "--file=sub/Makefile", true),
        ("make", "-Csub", true),
        ("make", "--directory=sub", true),
        ("make -f Mk", "CC=bin/cc", true),
        ("make -f Mk", "CC:=nice bin/cc", true),
        ("make -f Mk", "VERSION=1.2", false),
        ("make -f Mk", "test", false),
        ("env", "-Sbin/cc", true),
        ("awk", "-fx.awk", true),
        ("awk -F ;", "-fx.awk", true),
        ("awk -f a.awk", "x=;", false),
        ("env -u && python3", "x.py", true),
        ("xargs -d ; -a bin/list python3", "x.py", true),
        ("tar cf x.tar", "-Ibin/cc", true),
        ("tar cf x.tar", "--use-compress-program=bin/cc", true),
        ("tar cf x.tar", "bin/cc", false),
        ("gcc -c a.c", "-Bl/", true),
        ("gcc -c a.c -B", "l/", true),
        ("gcc -c a.c", "-fplugin=l/p.so", true),
        ("gcc -c a.c", "-Wl,-plugin,l/p.so", true),
        ("gcc -c", "a.c", false),
        ("gcc -c a.c", "-O2", false),
        ("npm test", "--prefix=sub", true),
        ("npm test", "--watch", false),
        ("node", "--require=./x.js", true),
        ("node bin/x.js", "--require=./x.js", false),
        ("perl -MFoo", "-Il", true),
        ("perl x.pl", "-Il", false),
        ("pytest", "tests/test_a.py", false),
        ("pytest -q", ".h/y.py", true),
        ("python3 -m unittest", "tests.a", false),
        ("python3 -m unittest -v", "node_modules/y.py", true),
        ("python3 -m json.tool", "a.json", false),
        ("npm run --prefix ./sub", "build", true),
        ("npm exec -w ./w", "y", true),
        ("npx --cache ./c", "y", true),
        ("npm rum", "x", true),
        ("npm --prefix p run x", "1", false),
        ("node --test", "1", false),
        ("python3 -m unittest test_a", "1", false),
        ("python3 -m pytest tests", "1", false),
        ("find . -exec sh ./a.sh {} ;", "1", false),
        ("strace -o ./o ls", "1", false),
        ("npm run build", "y", false),
        ("npm run --prefix ./sub build", "y", false),
        ("go test", "./cmd", true),
        ("go vet", "./cmd", false),
        ("go test -run", "a.b", false),
        ("go test", "-run=a.b", false),
        ("go test -count 1 -run", "a.b", false),
        ("go test -run a.b", "./cmd", true),
        ("go test", "-exec=./y", true),
        ("go test -exec", "./y", true),
        ("cargo --config", "build.rustc=\"./y\"", true),
        ("cargo build", "--config=./y.toml", true),
        ("cargo build --features", "y", false),
        ("go run -tags a.b", "./cmd", true),
        ("node --test", "t/y", true),
        ("node --test", "t/*", true),
        ("node --test t/a.test.js", "t/y", true),
        ("node --test", "/opt/y.js", true),
        ("node --test", "../y.js", true),
        ("node --test", "t/y.js", true),
        ("node --test", "--test-only", false),
        ("node --watch", "t/y.js", true),
        ("node --run", "build", true),
        ("node --watch bin/x.js", "t/y.js", false),
        ("node bin/x.js --test", "t/y", false),
        ("bun run", "build", true),
        ("bun run build", "x", false),
        ("env -S", "'bash\\_a.sh'", true),
        ("env -S", "'ba\"sh\" \"a\".sh'", true),
        ("env -S", "'b${X}ash a.sh'", true),
        ("python3 bin/x.py", "'a \"b\" c'", false),
        ("git -C", "sub", true),
        ("git -C sub status", "1", false),
        ("uv run --frozen black --check", "1", false),
        ("env LC_ALL=C grep -n node", "tests/a.py", false),
        ("docker run --rm img grep java", "src/a.csv", false),
        ("npm run node", "src/a.csv", false),
        ("pytest --color yes", "tests/test_a.py", false),
        ("uv run pytest --cov src", "tests/test_a.py", false),
        ("python3 -m pytest -k name", "tests/test_a.py", false),
        ("run-parts -v lib", "1", false),
        ("git --exec-path", "1", false),
        ("npm install", "lodash.debounce", false),
        ("npm pack --pack-destination", "d.txt", false),
        ("env -S", "'bash a.sh'", true),
        ("nice env -i -S", "'/usr/bin/python3 x.py'", true),
        ("watch -g", "'bash a.sh'", true),
        ("python3 bin/x.py", "'bash a.sh'", false),
        ("run-parts", "lib", true),
        ("run-parts --regex ^a", "lib", true),
        ("run-parts --arg x -u 022", "lib", true),
        ("run-parts --regex", "^a", false),
        ("run-parts --regex=^a lib", "x", false),
        ("run-parts lib", "x", false),
        ("make -s go -I", "lib", true),
        ("make -s go", "-Ilib", true),
        ("make -s go", "--include-dir=lib", true),
        ("git --git-dir", "gd", true),
        ("git status", "gd", false),
        ("java --source 17", "A.java", true),
        ("java --source 17 A.java", "b.txt", false),
        ("node --test-reporter spec --test", "t/y.js", true),
        ("node --test-reporter spec --test", "1", false),
        ("npx node --test", "t/y.js", true),
        ("npx node --test", "1", false),
        ("npx node", "t/y.js", true),
        ("npx node t/x.js", "t/y.js", false),
        ("npx eslint", "src/a.js", false),
        ("uv run pytest -q", "tests/y.py", false),
        ("pytest -k name", "tests/y.py", false),
        ("sqlite3 x.db", ".read", true),
        ("sqlite3 x.db", "SELECT", false),
        ("npm pack", "1", false),
        ("pip install", "requests", false),
        ("pip install", "requests==2.1", false),
        ("pip install -r", "requirements.txt", false),
        ("pip install", "./p-1-py3-none-any.whl", false),
        ("python3 -m pip show", "./p", false),
        ("python3 -m pip install", "requests", false),
    ] {
        let reviewed = Argv::parse(command).unwrap().words().len();
        let argv = Argv::parse(&format!("{command} {argument}")).unwrap();
        if code_of_arguments(&argv, reviewed).is_some() != is_code {
            wrong.push(format!("{command} {argument}: not {is_code}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn commands_without_a_script_are_recognized() {
    for command in [
        "python3",
        "python3 -m pkg.tool",
        "python3 -c pass",
        "python3 -",
        "bash -c ls",
        "sh -s x",
        "node -e 1 x.js",
        "node --test tests/a.js",
        "grep python bin/x.py",
        "cat bin/x.py",
        "deno run https://example.org/x.ts",
        "perl -ne print x.txt",
    ] {
        check(command, None);
    }
}
