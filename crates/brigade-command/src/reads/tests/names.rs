//! Names in words: of files, databases and programs, and what many of them cost.

use super::*;
use crate::reads::words::escaped_strings;

/// Issue 12: what sqlite3 writes and reads is named by a word as code is. It is only data where SQLite was told to run
/// nothing of it, and nobody else can run it.
#[test]
fn the_database_of_sqlite_is_told_from_its_scripts() {
    let mut files = Fake::new(&["db/x.db"], &[]);
    for (program, head) in
        [("/bin/sqlite3", ""), ("/work/bin/sqlite3", "#!/bin/sh\n"), ("/work/db/run", "#!/bin/sh\n")]
    {
        files.heads.insert(program.into(), head);
    }
    for command in [
        "sqlite3 -safe db/x.db 'select 1'",
        "sqlite3 -batch --safe -cmd .tables db/x.db",
        "timeout 5 sqlite3 -safe -separator , db/x.db",
    ] {
        let found = reads(command, &files);
        assert_eq!(found.databases, BTreeSet::from(["/work/db/x.db".into()]), "{command}");
    }
    for command in [
        "sqlite3 db/x.db 'select 1'",
        "sqlite3 db/x.db -safe",
        "sqlite3 -cmd -safe db/x.db",
        "sqlite3 -threadsafe -safe db/x.db",
        "sqlite3 -pagecache -safe 9 db/x.db",
        "sqlite3 -cmd 'select * from v' -safe db/x.db",
        "sqlite3 -safe -init f.sql db/x.db",
        "sqlite3 -safe -nonce 1 db/x.db '.nonce 1'",
        "sqlite3 -safe db/run",
        "sqlite3 -safe db/x.sql",
        "bin/sqlite3 -safe db/x.db",
        "env ./bin/sqlite3 -safe db/x.db",
        "/bin/sqlite3 -safe db/x.db",
        "sh sqlite3.sh -safe db/x.db",
    ] {
        assert_eq!(reads(command, &files).databases, BTreeSet::new(), "{command}");
    }
    // A program that was put before that of the system on `PATH`.
    files.heads.remove(Path::new("/bin/sqlite3"));
    files.links.insert("/bin/sqlite3".into(), "/work/bin/sqlite3".into());
    assert_eq!(reads("sqlite3 -safe db/x.db", &files).databases, BTreeSet::new());
    assert_eq!(reads("python3 db/x.db", &files).databases, BTreeSet::new());
}

/// Issue 12: a setting that a word quotes names a file, also one that does not look like code; code names what it
/// writes, too.
#[test]
fn what_settings_name_between_quotes_is_found() {
    let files = Fake::new(&["my dir/x.toml", "m.py"], &[]);
    let settings = |command: &str| reads(command, &files).settings;
    for command in [
        "cargo --config 'include=\"my dir/x.toml\"' build",
        "cargo '--config=include = \"my dir/x.toml\"' build",
        "python3 m.py --config '{\"file\":\"my dir/x.toml\"}'",
        "timeout 5 python3 m.py \"{'files': ['my dir/x.toml']}\"",
        "new-tool '{\"a\":[\"my dir\\/x.toml\"]}'",
        "new-tool '{\"a \":\"my dir\\u002fx.toml\"}'",
        "new-tool '{\"a\": \"@my dir/x.toml\"}'",
    ] {
        assert_eq!(settings(command), BTreeSet::from(["/work/my dir/x.toml".into()]), "{command}");
    }
    for command in [
        "python3 -c 'open(\"my dir/x.toml\", \"w\")'",
        "node -e 'x = [\"my dir/x.toml\"]'",
        "awk '{print > \"my dir/x.toml\"}' a",
        "sqlite3 x.db '.output \"my dir/x.toml\"'",
        "git commit -m 'see \"my dir/x.toml\"'",
        "grep 'a=\"my dir/x.toml\"' a",
        // It is bound, whatever the entry says.
        "python3 m.py '{\"file\":\"my dir/x.toml\"}' 'my dir/x.toml'",
    ] {
        assert_eq!(settings(command), BTreeSet::new(), "{command}");
    }
    assert_eq!(escaped_strings(r#"a "b" "c\td" "e\"f" "g"#), ["c\td", "e\"f"]);
}

/// Issue 12: other spellings of the same names.
#[test]
fn code_is_found_in_other_spellings() {
    let mut files = Fake::new(&["p/setup.py", "p/package.json", "f", "Main.class", "lib.jar", "x.db"], &[])
        .with("pyvenv.cfg", "")
        .with("main.go", "")
        .with("go.mod", "// x\nmodule m/x\n\ngo 1.22\n");
    files.heads.insert("/work/first.rb".into(), "#!/usr/bin/ruby -rhook\n");
    files.heads.insert("/work/git-hello".into(), "");
    files.heads.insert("/work/y.db".into(), "SQLite format 3\0");
    files.files.insert("/work/git-hello".into());
    files.files.insert("/work/y.db".into());
    for (command, path) in [
        ("sqlite3 x.db \".read\nf\"", "f"),
        ("sqlite3 x.db \".read\u{b}f\"", "f"),
        ("sqlite3 x.db '.open y.db' 'select 1'", "y.db"),
        ("sqlite3 x.db \"attach 'y.db' as y\"", "y.db"),
        ("find . -exec sqlite3 -safe x.db .tables ; -exec sqlite3 x.db .tables ;", "x.db"),
        ("pip install 'x @ file:///work/p'", "p/setup.py"),
        ("pip install 'x[e]@file:./p'", "p/setup.py"),
        ("pip install -e 'file:./p#egg=x'", "p/setup.py"),
        ("pip install .[dev]", "setup.py"),
        ("npm install x@file:./p", "p/package.json"),
        ("npm install '@s/x@file:p'", "p/package.json"),
        ("npx ./p", "p"),
        ("npx @s/x@1.2 ./q", "q"),
        ("perl -I. -MFoo -e 1", "./Foo.pmc"),
        ("ruby -r ./x -e 1", "./x.so"),
        ("java -cp 'l/*:.' Main", "./Main.class"),
        ("git --exec-path=. hello", "./git-hello"),
        ("go run .", "./main.go"),
        ("go run ./", "./main.go"),
        ("go run m/x", "main.go"),
        ("go run m/x/cmd/y -v", "cmd/y"),
        ("go -C p run .", "p/."),
        ("go run -C p -race ./c", "p/./c"),
        ("ruby first.rb", "hook.rb"),
        ("rake -r./foo go", "./foo.rb"),
        ("rake -R rl go", "rl"),
        ("rake go", "rakelib"),
        ("php -c conf x.php", "conf/php.ini"),
        ("gcc -B. -c x.c", "./git-hello"),
        ("java Main", "Main.class"),
    ] {
        let code = reads(command, &files).code;
        assert!(code.contains(&Path::new("/work").join(path)), "{command}: {code:?}");
    }
    let found = reads("node --import './p\\setup.py' main.js", &files);
    assert!(found.scripts.contains(Path::new("/work/./p/setup.py")), "{found:?}");
    for plain in ["pip install requests", "npm install @s/x@1.2", "npm install x@npm:y@2", "npx prettier@3 a"]
    {
        let code = reads(plain, &files).code;
        assert!(!code.iter().any(|path| path.starts_with("/work/p")), "{plain}: {code:?}");
    }
    // A program of the workspace is not what its name says.
    let link = |name: &str| (PathBuf::from("/bin").join(name), PathBuf::from("/work/own").join(name));
    let mut files = Fake::new(&["a.sh"], &[]);
    files.links.extend(["git", "cat"].map(link));
    for path in ["/work/own/git", "/work/own/cat", "/bin/git", "/bin/cat"] {
        files.heads.insert(path.into(), "");
    }
    for command in ["git commit -m a.sh", "cat x,a.sh"] {
        let found = reads(command, &files);
        let is_bound = found.scripts.union(&found.named).any(|path| path == Path::new("/work/a.sh"));
        assert!(is_bound, "{command}: {found:?}");
    }
}

/// Issue 12: a variable that chooses a profile by its name moves nothing.
#[test]
fn a_name_is_no_place_of_settings() {
    let files = Fake::new(&["prof"], &[]);
    for (command, is_refused) in [
        ("env AWS_PROFILE=x aws s3 ls", false),
        ("env BUILD_PROFILE=release make", false),
        ("env NPM_CONFIG_LOGLEVEL=error npm test", false),
        ("env SHELL=/bin/bash make test", false),
        ("env AWS_PROFILE=prof aws s3 ls", true),
        ("env X_PROFILE=./x aws s3 ls", true),
        ("env NPM_CONFIG_SCRIPT_SHELL=x npm test", true),
        ("env X_CONFIG=conf.toml x", true),
    ] {
        let unbound = reads(command, &files).unbound;
        assert_eq!(!unbound.is_empty(), is_refused, "{command}: {unbound:?}");
    }
}

#[test]
fn names_are_found_behind_options() {
    for (word, expect) in [
        ("bin/tool.sh", &["bin/tool.sh"][..]),
        ("--config=conf.json", &["--config=conf.json", "conf.json"]),
        ("-c1.json", &["-c1.json", ".json", "1.json"]),
        ("-nf1.sed", &["-nf1.sed", ".sed", "1.sed", "f1.sed"]),
        ("@args.txt", &["@args.txt", "args.txt"]),
        ("--data=@args.txt", &["--data=@args.txt", "@args.txt", "args.txt"]),
        ("-d@args.txt", &["-d@args.txt", "@args.txt", "args.txt"]),
        ("-", &["-"]),
        ("--", &["--"]),
        ("-é.json", &["-é.json", ".json"]),
    ] {
        assert_eq!(names_in(word).into_iter().collect::<Vec<_>>(), expect, "{word}");
    }
    for (word, path) in [
        ("file:///lib/a.js", "/lib/a.js"),
        ("--import=FILE://localhost/lib/a%20b%2Fc.js?x#y", "/lib/a b/c.js"),
        ("file:lib/a%2", "lib/a%2"),
        ("file:%C3%A9.js", "é.js"),
    ] {
        assert!(names_in(word).contains(path), "{word}: {:?}", names_in(word));
    }
}

/// Issue 12: names of recipes, scripts and subcommands are no programs, whatever lies on `PATH`.
#[test]
fn a_name_that_a_program_takes_for_itself_is_no_program() {
    let mut files = Fake::new(&[], &[]);
    for name in ["cargo", "env", "hello", "ps", "test"] {
        files.heads.insert(Path::new("/bin").join(name), "");
    }
    let programs = |command: &str| {
        let found = reads(command, &files).programs.into_iter();
        let names = found.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
        names.filter(|name| name != "python3").collect::<Vec<_>>()
    };
    for command in [
        "just hello",
        "just --quiet hello",
        "just -f j cargo",
        "env -i just hello",
        "npm test",
        "npm run -s hello",
        "pnpm run cargo",
        "yarn hello",
        "docker ps",
        "podman --remote ps",
        "docker compose ps",
        "docker compose -f hello.yml exec app ps",
        "docker run --rm -v ./x:/x alpine:3 ps",
        "kubectl exec pod -- ps aux",
        "timeout 5 nice docker compose ps",
        "env A=b kubectl -n ps get pods",
        "adb shell ps",
        "incus exec c -- ps",
        "rustup test",
        "bundle hello",
        "timeout 5 npm run test",
    ] {
        let is_first = |name: &String| !command.starts_with(name.as_str());
        let found: Vec<String> = programs(command).into_iter().filter(is_first).collect();
        assert_eq!(found, [""; 0], "{command}");
    }
    for (command, expect) in [
        ("just --command hello x", "hello"),
        ("just -c hello", "hello"),
        ("just --shell hello x", "hello"),
        ("npm exec hello", "hello"),
        ("npm run env hello", "hello"),
        ("bundle exec hello", "hello"),
        ("npx hello", "hello"),
        ("timeout 5 hello", "hello"),
        ("rustup run stable cargo", "cargo"),
        ("env -u just hello", "hello"),
        // The name of a container program as the value of an option.
        ("poetry -C docker run hello", "hello"),
        ("strace -E docker hello", "hello"),
        ("chroot docker hello", "hello"),
    ] {
        assert!(programs(command).iter().any(|name| name == expect), "{command}");
    }
}

/// A workspace that counts what is asked of it.
struct Counting {
    files: Fake,
    asked: std::cell::Cell<usize>,
}

impl Counting {
    fn files(&self) -> &Fake {
        self.asked.set(self.asked.get() + 1);
        &self.files
    }
}

impl Files for Counting {
    fn root(&self) -> &Path {
        self.files.root()
    }

    fn path_variable(&self) -> Option<&OsStr> {
        self.files.path_variable()
    }

    fn look(&self, path: &Path) -> Seen {
        self.files().look(path)
    }

    fn is_program(&self, path: &Path) -> bool {
        self.files().is_program(path)
    }

    fn list(&self, folder: &Path) -> Vec<Entry> {
        self.files().list(folder)
    }

    fn read(&self, path: &Path, limit: u64) -> Option<Vec<u8>> {
        self.files().read(path, limit)
    }

    fn head(&self, path: &Path, length: usize) -> Vec<u8> {
        self.files().head(path, length)
    }
}

/// Issue 12: each word costs the same, however many there are: look-ups of files and in the table of programs.
#[test]
fn many_words_cost_no_more_for_each() {
    for (program, word) in [
        ("python3 main.py", "word#"),
        ("python3 main.py", "a#/b"),
        ("python3 main.py", "k#=a/b#,c/d#:'e#'"),
        ("new-tool", "k#=a/b#,c/d#"),
        ("git commit -m x", "a#.sh"),
        ("npm run x", "word#"),
        ("just x", "word#"),
        ("node main.js", "word#"),
        ("node", "--import=./a#%20b.js"),
        ("make -f Mk", "word#"),
        ("perl x.pl", "word#"),
        ("sqlite3 x.db", "'.read \"d# e\"'"),
        ("timeout 5 sh x.sh", "word#"),
        ("env -u X uv run", "word#"),
        ("docker run", "word#"),
        ("cat", "word#"),
    ] {
        let cost = |count: usize| {
            let files = Counting { files: Fake::new(&["main.py"], &[]), asked: 0.into() };
            let words: Vec<String> = (0..count).map(|at| word.replace('#', &at.to_string())).collect();
            let argv = Argv::parse(&format!("{program} {}", words.join(" "))).unwrap();
            let before = crate::programs::ASKED.get();
            let found = what_it_reads(&argv, Path::new("/work"), &files);
            assert!(found.missing.is_none_or(|script| !script.is_empty()));
            crate::programs::ASKED.get() - before + files.asked.get()
        };
        let (once, twice) = (cost(300), cost(600));
        assert!(10 * twice < 22 * once, "{program} {word}: {once}, then {twice}");
    }
}
