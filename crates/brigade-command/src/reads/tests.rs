mod chain;
mod environment;
mod mapped;
mod moved;
mod names;
mod recipes;
mod written;

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::*;
use crate::programs::all;

/// A workspace of files without content, `/work`; a path of `links` leads to another one.
struct Fake {
    files: BTreeSet<PathBuf>,
    links: BTreeMap<PathBuf, PathBuf>,
    /// Programs that are scripts, and how they begin.
    heads: BTreeMap<PathBuf, &'static str>,
    /// What files say.
    texts: BTreeMap<PathBuf, Cow<'static, str>>,
    search_path: &'static str,
}

impl Fake {
    fn new(files: &[&str], links: &[(&str, &str)]) -> Fake {
        let root = Path::new("/work");
        Fake {
            files: files.iter().map(|file| root.join(file)).collect(),
            links: links.iter().map(|(link, target)| (root.join(link), root.join(target))).collect(),
            heads: BTreeMap::new(),
            texts: BTreeMap::new(),
            search_path: "/bin",
        }
    }

    fn with(mut self, file: &str, text: impl Into<Cow<'static, str>>) -> Fake {
        let path = Path::new("/work").join(file);
        self.files.insert(path.clone());
        self.texts.insert(path, text.into());
        self
    }

    /// Follows links, and takes `.` and `..` out.
    fn real(&self, path: &Path) -> PathBuf {
        let mut real = PathBuf::new();
        for part in path.components() {
            match part {
                std::path::Component::ParentDir => drop(real.pop()),
                part => real.push(part),
            }
            if let Some(target) = self.links.get(&real) {
                real.clone_from(target);
            }
        }
        real
    }

    fn kind(&self, real: &Path) -> Option<Kind> {
        let is_folder = || self.files.iter().chain(self.links.keys()).any(|file| file.starts_with(real));
        let is_elsewhere = !real.starts_with("/work");
        if self.files.contains(real) {
            Some(Kind::File)
        } else {
            (is_folder() || is_elsewhere).then_some(Kind::Folder)
        }
    }
}

impl Files for Fake {
    fn root(&self) -> &Path {
        Path::new("/work")
    }

    fn path_variable(&self) -> Option<&OsStr> {
        Some(OsStr::new(self.search_path))
    }

    fn look(&self, path: &Path) -> Seen {
        let real = self.real(path);
        let kind = self.kind(&real);
        match real.strip_prefix("/work") {
            Ok(inside) => Seen::Inside { real: inside.to_owned(), kind },
            Err(_) => Seen::Outside(kind),
        }
    }

    fn is_program(&self, path: &Path) -> bool {
        path == Path::new("/bin/python3") || path == Path::new("/bin/env") || self.heads.contains_key(path)
    }

    fn list(&self, folder: &Path) -> Vec<Entry> {
        let folder = self.real(folder);
        let mut names = BTreeMap::new();
        for path in self.files.iter().chain(self.links.keys()) {
            let Ok(below) = path.strip_prefix(&folder) else { continue };
            let Some(name) = below.components().next() else { continue };
            let child = folder.join(name);
            let kind = if self.links.contains_key(&child) { Some(Kind::Link) } else { self.kind(&child) };
            names.extend(kind.map(|kind| (name.as_os_str().to_string_lossy().into_owned(), kind)));
        }
        names.into_iter().map(|(name, kind)| Entry { name, kind }).collect()
    }

    fn read(&self, path: &Path, limit: u64) -> Option<Vec<u8>> {
        let path = self.real(path);
        let text = self.texts.get(&path).map(AsRef::as_ref).or_else(|| self.heads.get(&path).copied());
        text.map(|text| text.as_bytes().to_owned()).filter(|bytes| bytes.len() as u64 <= limit)
    }

    fn head(&self, path: &Path, length: usize) -> Vec<u8> {
        let text = self.heads.get(path).copied().or_else(|| self.texts.get(path).map(AsRef::as_ref));
        text.map(|text| text.bytes().take(length).collect()).unwrap_or_default()
    }
}

fn reads(command: &str, files: &Fake) -> Reads {
    what_it_reads(&Argv::parse(command).unwrap(), Path::new("/work"), files)
}

const PACKAGE: &[&str] = &["pkg/__init__.py", "pkg/__main__.py"];

/// Each spelling in which a program of the table may stand before a command.
fn spellings(known: Program) -> Vec<String> {
    let name = known.name;
    let spelling = &known.row().spelling;
    let operands = match known.role() {
        Role::Wrapper { operands } => " x".repeat(operands),
        Role::Subcommands(names) => format!(" {}", names[0]),
        _ => String::new(),
    };
    let mut found = vec![format!("{name}{operands}"), format!("/usr/bin/{name}{operands}")];
    let is_free = |c: &char| Some(*c) != spelling.directory.map(|(short, _)| short) && *c != 'S';
    for short in spelling.valued.chars().filter(is_free) {
        found.push(format!("{name} -{short} v{operands}"));
        found.push(format!("{name} -{short}v{operands}"));
    }
    let is_free = |name: &&&str| !matches!(**name, "--chdir" | "--wd" | "--split-string" | "--command");
    for long in spelling.long_valued.iter().filter(is_free) {
        let short = &long[..long.len() - 1];
        for long in [long, short].into_iter().filter(|long| 3 < long.len()) {
            found.push(format!("{name} {long} v{operands}"));
            found.push(format!("{name} {long}=v{operands}"));
        }
    }
    found
}

#[test]
fn what_a_program_starts_reads_the_same_files() {
    let files = Fake::new(PACKAGE, &[]);
    let bare = reads("python3 -m pkg", &files);
    assert!(bare.code.contains(Path::new("/work/pkg")), "{bare:?}");
    let mut rows = 0;
    for known in all().filter(|known| known.starts_others() && known.role() != Role::Find) {
        for before in spellings(known) {
            let behind = reads(&format!("{before} python3 -m pkg"), &files);
            assert!(bare.code.is_subset(&behind.code), "{before}: {behind:?}");
            // The first word behind a container or just is a name of its own.
            let is_named = known.role() == Role::Container || known.row().finds == Finds::Just;
            let is_program = behind.programs.contains(Path::new("/bin/python3"));
            assert!(is_program || is_named, "{before}: {behind:?}");
            assert!(behind.unbound.is_empty(), "{before}: {behind:?}");
            let outside = format!("{before} python3 --unheard-of x --other=/opt/x/o.py");
            assert!(reads(&outside, &files).scripts.contains(Path::new("/opt/x/o.py")), "{before}");
            let risks = risk::judge(&Argv::parse(&format!("{before} sh -c ls")).unwrap());
            assert!(risks.iter().any(|risk| risk.code() == "shell-text"), "{before}: {risks:?}");
            rows += 1;
        }
    }
    assert!(100 < rows, "{rows}");
}

#[test]
fn what_risk_looks_through_reads_the_same_files() {
    let files = Fake::new(PACKAGE, &[]);
    let bare = reads("python3 -m pkg", &files);
    for command in [
        "env -S 'python3 -m pkg'",
        "env -vS 'X=1 python3 -m pkg'",
        "env --split-string='python3 -m pkg'",
        "env --split 'nice python3 -m pkg'",
        "env -S 'env -S \"python3 -m pkg\"'",
        "watch -n 5 python3 -m pkg",
        "git bisect run python3 -m pkg",
        "find . -exec python3 -m pkg ;",
        "tar -I 'python3 -m pkg' -cf a.tar b",
        "rsync -e 'python3 -m pkg' a b",
        "go run -exec 'nice python3 -m pkg' ./cmd",
        "go test --exec='python3 -m pkg' ./cmd",
        "go build -toolexec 'env A=1 python3 -m pkg' ./cmd",
        "uv run env -S 'python3 -m pkg'",
        "prlimit --nofile=100 setarch x86_64 numactl -N0 python3 -m pkg",
    ] {
        let found = reads(command, &files);
        assert!(bare.code.is_subset(&found.code), "{command}: {found:?}");
    }
    let remote = reads("ssh host python3 -m pkg", &files);
    assert!(!remote.code.contains(Path::new("/work/pkg")), "{remote:?}");
}

#[test]
fn what_a_word_names_is_code_wherever_it_lies() {
    let files = Fake::new(&[], &[]);
    for command in [
        "bash -eo pipefail /opt/x/o",
        "timeout -s KILL 5 python3 /opt/x/o",
        "env -u X python3 /opt/x/o",
        "taskset 1 python3 /opt/x/o",
        "perl -l /opt/x/o",
        "awk -f /opt/x/o",
        "awk -f/opt/x/o",
        "make -f /opt/x/o",
        "make --fil=/opt/x/o",
        "node --title x /opt/x/o",
        "node --env-file=/opt/x/o x.js",
        "python3 -m trace --trace /opt/x/o",
        "bash --init-file /opt/x/o",
        "sed -nf/opt/x/o",
        "parallel -a /opt/x/o",
        "parallel --arg-file=/opt/x/o gzip",
        "gdb -x /opt/x/o",
        "gdb --command=/opt/x/o",
        "gdb -batch -command /opt/x/o",
        "vim -es -S /opt/x/o",
        "vim -S/opt/x/o",
        "sqlite3 -init /opt/x/o x.db",
        "psql --file=/opt/x/o",
        "emacs --batch -l /opt/x/o",
        "env X=/opt/x/o python3 x.py",
        "uv run --with y python3 /opt/x/o",
        "env -S 'bash -x /opt/x/o'",
        "watch -g 'python3 /opt/x/o'",
    ] {
        let found = reads(command, &files);
        assert!(found.scripts.contains(Path::new("/opt/x/o")), "{command}: {found:?}");
    }
    // Issue 12: also as a part of what another program reads.
    let mut files = Fake::new(&[], &[]);
    files.heads.insert("/work/x".into(), "#!/bin/sh\n");
    for command in [
        "cargo --config build.rustc-wrapper=./x build",
        "cargo --config 'build.rustc=\"./x\"' build",
        "cargo '--config=build.rustc = \"./x\"' build",
        "cargo --config 'target.x86_64-unknown-linux-gnu.runner=[\"nice\", \"./x\"]' run",
        "cargo --config 'target.\"cfg(unix)\".linker=\"./x\"' build",
        "cargo --config ./x build",
        "env RUSTFLAGS=-Clinker=./x cargo build",
        "go build -ldflags '-extld ./x' ./cmd",
        "go test -exec 'env ./x' ./cmd",
        "java -javaagent:./x=a -jar a.jar",
        "uv run --anything 'a,b;./x'",
        "python3 -c 'exec(open(\"./x\").read())'",
        "git -c 'alias.y=!./x' y",
        "ssh -o 'ProxyCommand=./x %h' host",
        "nox -s 'a(./x)'",
        "new-tool --hook 'sh ./x'",
        "terraform plan -var=a=./x",
    ] {
        let found = reads(command, &files);
        let is_bound = found.scripts.union(&found.named).any(|path| path == Path::new("/work/./x"));
        assert!(is_bound, "{command}: {found:?}");
    }
    // A text also says what is read and written, and a message says anything.
    let files = Fake::new(&["a.csv", "b.sh"], &[]);
    for (command, name) in [
        ("python3 -c 'open(\"a.csv\")'", "a.csv"),
        ("awk '{print > \"a.csv\"}' b", "a.csv"),
        ("git commit -m 'mend b.sh'", "b.sh"),
        ("git commit -am 'mend b.sh'", "b.sh"),
        ("grep 'from b.sh' c", "b.sh"),
        ("new-tool --note 'see a.csv'", "a.csv"),
        ("git commit --message='mend b.sh'", "b.sh"),
        ("git commit -m b.sh", "b.sh"),
        ("git -C . commit -am b.sh", "b.sh"),
        ("git commit -sm b.sh", "b.sh"),
        ("git tag -amb.sh", "b.sh"),
        ("timeout 5 git commit --message=b.sh", "b.sh"),
    ] {
        let found = reads(command, &files);
        let path = Path::new("/work").join(name);
        assert!(!found.scripts.contains(&path) && !found.named.contains(&path), "{command}: {found:?}");
    }
    // Elsewhere, such an option is no message.
    for command in [
        "git bisect run -m b.sh",
        "flock git tag -m b.sh",
        "sh git commit -m b.sh",
        "git commit -Fm b.sh",
        "git commit -m a b.sh",
        "./git commit -m b.sh",
        "./run git commit -m b.sh",
    ] {
        let found = reads(command, &files);
        assert!(found.scripts.contains(Path::new("/work/b.sh")), "{command}: {found:?}");
    }
    // Issue 12: a name in quotes may hold blanks, and a URL spells it in another way.
    let mut files = Fake::new(&[], &[]);
    files.heads.insert("/work/q/x y".into(), "#!/bin/sh\n");
    for command in [
        "cargo --config 'target.x.runner=[\"sh\",\"q/x y\"]' run",
        "sqlite3 d/x.db '.read \"q/x y\"'",
        "sqlite3 d/x.db \"select 1;\n.rea 'q/x y'\"",
        "python3 m.py '{\"hook\":\"q/x y\"}'",
        "python3 m.py '{\"a\":\"[\\\"q/x y\\\"]\"}'",
        "python3 -c 'exec(open(\"q/x y\").read())'",
        "node -e 'require(`q/x y`)'",
        "node --import=q/x%20y main.js",
        "node -e 'import(\"q/x%20y?1\")'",
    ] {
        let found = reads(command, &files);
        let all = [&found.scripts, &found.named, &found.code];
        assert!(all.iter().any(|all| all.contains(Path::new("/work/q/x y"))), "{command}: {found:?}");
    }
    // What only prints or copies runs nothing of it.
    assert!(!reads("cat /opt/x/o", &files).scripts.contains(Path::new("/opt/x/o")));
}

#[test]
fn every_file_of_a_directory_of_parts_is_code() {
    // Of the workspace itself, every file.
    let found = reads("run-parts .", &Fake::new(&["x", "d/y"], &[]));
    let is_bound = |path: &str| found.code.iter().any(|code| *code == Path::new("/work/.").join(path));
    assert_eq!((is_bound("x"), is_bound("d/y"), is_bound("d")), (true, false, false), "{found:?}");
}

#[test]
fn code_is_found_in_each_spelling_of_an_option() {
    let mut files = Fake::new(&["pkg/sub.pyc", "lib/pkg/package.json", "gd/config", "gd/options"], &[]);
    files.heads.insert("/work/own".into(), "#!/usr/bin/perl -w -Iownl\n");
    files.heads.insert("/work/gd/options".into(), "-O2 '-Bgd/l'\n@gd/none");
    for (name, text) in [
        ("gf", "gitdir: gd\n"),
        ("wt/commondir", "../gd\n"),
        ("gd/linked", "-plugin gd/p.so"),
        ("gd/X.class", ""),
    ] {
        files = files.with(name, text);
    }
    for (command, expect) in [
        ("make --dir=gd", "gd/Makefile"),
        ("make -sC gd", "gd/Makefile"),
        ("make --include-d gd", "gd"),
        ("env --chd gd make", "gd/Makefile"),
        ("env -iC gd sh run.sh", "gd/run.sh"),
        ("perl -wI l -MFoo x.pl", "l/Foo.pm"),
        ("perl -wMlib=l -MFoo x.pl", "l/Foo.pm"),
        ("perl '-Mlib qw(l)' -MFoo x.pl", "l/Foo.pm"),
        ("perl '-Mlib (\"l\")' -MFoo x.pl", "l/Foo.pm"),
        ("perl -Mif=1,lib,l -MFoo x.pl", "l/Foo.pm"),
        ("perl -Mparent=Foo -Il x.pl", "l/Foo.pm"),
        ("perl -d:Foo -Il x.pl", "l/Devel/Foo.pm"),
        ("gcc @gd/options x.c", "gd/l"),
        ("/lib64/ld-linux-x86-64.so.2 --preload ./y.so:./x.so true", "./x.so"),
        ("/lib64/ld-linux-x86-64.so.2 --library-path=/usr/lib:l true", "l"),
        ("python3 -m pydoc pkg.sub", "pkg"),
        ("python3 -m inspect pkg.sub", "pkg"),
        ("python3 -m inspect pkg.sub:name", "pkg"),
        ("python3 --check-hash-based-pycs always -m pkg", "pkg"),
        ("python3 -m IPython pkg", "pkg"),
        ("ipython x.py", "x.py"),
        ("perl '-Il -w' -MFoo x.pl", "l/Foo.pm"),
        ("perl '-I l' -MFoo x.pl", "l/Foo.pm"),
        ("perl '-wT -I l -w' -MFoo x.pl", "l/Foo.pm"),
        ("perl own", "ownl"),
        ("sqlite3 x.db '.cd gd' '.read g.sql'", "gd/g.sql"),
        ("npx x", "node_modules/.bin/sh"),
        ("npm exec x", "node_modules/.bin/node"),
        ("ruby -wI l -rfoo x.rb", "l/foo.rb"),
        ("gcc --prefix=l/ x.c", "l"),
        ("gcc -fplugin=p -iplugindir=l x.c", "l"),
        ("java -cp a.jar:l X", "l"),
        ("env -C gd java --class-path=l X", "gd/l"),
        ("java -classpath 'l/*' X", "l"),
        ("java -Xbootclasspath/a:a.jar X", "a.jar"),
        ("java -agentpath:./ag.so=x -jar a.jar", "ag.so"),
        ("git clone --templ l src dst", "l"),
        ("gcc -Wl,-plugin,gd/config x.c", "gd/config"),
        ("gcc -Wl,-plugin=gd/none x.c", "gd/none"),
        ("env 'CC=timeout 5 gd/config' make", "gd/config"),
        ("make 'CC:=gd/config -x'", "gd/config"),
        ("env 'MAKEFILES=gd/options gd/config' make", "gd/config"),
        ("make 'CC=@gd/config x'", "gd/config"),
        ("make 'CC=true;gd/config x'", "gd/config"),
        ("make 'CC=python3 -m pkg'", "pkg"),
        ("env 'CC=true;gd/config x' make", "gd/config"),
        ("unshare -w gd sh run.sh", "gd/run.sh"),
        ("setarch -R unshare --wd=gd sh run.sh", "gd/run.sh"),
        ("gcc --pref gd x.c", "gd"),
        ("c99 -B l/ x.c", "l"),
        ("aarch64-linux-gnu-gcc-12 -Bl/ x.c", "l"),
        ("python3 -X pycache_prefix=pc -m pkg", "pc"),
        ("python3 -Xpycache_prefix=pc -m pkg", "pc"),
        ("python3 -m pkg.sub", "pkg"),
        ("npm run x --workspaces", "lib/pkg/package.json"),
        ("pip3.11 install -e ./lib[dev]", "lib/setup.py"),
        ("python3 -m pip install file:lib", "lib"),
        ("run-parts --regex ^a lib", "lib"),
        ("go run -tags x ./lib", "./lib"),
        ("go run -exec ./tc ./lib", "./lib"),
        ("go run -overlay o.json ./lib", "./lib"),
        ("git --git-dir=gd status", "gd/config"),
        ("git --git-dir gd status", "gd/hooks"),
        ("git -C lib --git-dir=../gd status", "lib/../gd/config"),
        ("git -C lib -C .. --git-dir=gd status", "lib/../gd/config"),
        ("git --git-dir=gf status", "gf"),
        ("git --git-dir=gf status", "gd/config"),
        ("git --git-dir=wt status", "wt/../gd/config"),
        ("git -C lib clone --template=../l . ../dst", "lib/../l"),
        ("start-stop-daemon --start -d gd --exec /bin/sh -- run.sh", "gd/run.sh"),
        ("start-stop-daemon -S --umask 0 -d gd --exec /bin/sh -- run.sh", "gd/run.sh"),
        ("unshare --monotonic 1 -T -w gd sh run.sh", "gd/run.sh"),
        ("gcc @gd/linked x.c", "gd/p.so"),
        ("java -Djava.class.path=l X", "l"),
        ("env -C gd java X", "gd/X.class"),
        ("env -C gd java -cp '' X", "gd/X.class"),
        ("xargs -d ';' -a list python3 -m pkg", "pkg"),
        ("find gd -exec true ';' -exec python3 -m pkg ';'", "pkg"),
        ("ruby -C gd x.rb", "gd/x.rb"),
        ("lua5.4 -l l.m x", "l/m.lua"),
        ("lua -ll.m x", "l/m/init.lua"),
        ("lua -l g=l.m x", "l/m.so"),
        ("luajit -jl=o x.lua", "jit/l.lua"),
        ("lua -l ./x", "x.lua"),
        ("lua -l./x", "x.lua"),
        ("lua -l ./lib/x", "lib/x.lua"),
        ("lua -l g=a.b.c", "./a.so"),
        ("sqlite3 x.db '.load ./d/e'", "./d/e.so"),
        ("sqlite3 x.db '.load \"d/e f\" start'", "d/e f.so"),
        ("ruby -wCgd x.rb", "gd/x.rb"),
        ("ruby -X gd x.rb", "gd/x.rb"),
        ("gawk -f x", "x.awk"),
        ("gawk -i inplace -f x.awk", "inplace.awk"),
        ("awk --include=x -f y", "x.awk"),
        ("just gd/build", "gd/justfile"),
        ("just -d gd -f gd/other build", "gd/other"),
        ("just --command python3 -m pkg", "pkg"),
    ] {
        let found = reads(command, &files);
        let path = Path::new("/work").join(expect);
        assert!(found.code.contains(&path) || found.scripts.contains(&path), "{command}: {found:?}");
    }
    let argv = Argv::parse("npm test").unwrap();
    let found = what_it_reads(&argv, Path::new("/work/lib/pkg"), &files);
    for path in ["/work/lib/pkg/package.json", "/work/lib/package.json", "/work/package.json"] {
        assert!(found.code.contains(Path::new(path)), "{found:?}");
    }
}

#[test]
fn first_lines_are_words_of_the_command() {
    for (head, expect) in [
        ("#!/usr/bin/env -S python3 bin/x.py\n", Some("bin/x.py")),
        ("#!/bin/python3 bin/x.py\n", Some("bin/x.py")),
        ("#! /bin/env  -S X=1 python3 -u bin/x.py \nmore", Some("bin/x.py")),
        ("#!/bin/python3\n# bin/x.py\n", None),
        ("# bin/x.py\n", None),
    ] {
        let mut files = Fake::new(&["bin/x.py"], &[]);
        files.heads.insert(PathBuf::from("/work/run"), head);
        for command in ["./run", "env ./run", "timeout 5 ./run"] {
            let found = reads(command, &files);
            let has = found.scripts.contains(Path::new("/work/bin/x.py"));
            assert_eq!(has, expect.is_some(), "{command} {head}: {found:?}");
        }
    }
    // What a first line in the workspace names is named by the workspace, with what follows from it.
    for (command, head, outside, expect) in [
        ("./run", "#!/home/u/bin/tool\n", "", &["/home/u/bin/tool"][..]),
        ("./run", "#!/bin/env -S nice /home/u/bin/tool\n", "", &["/bin/env", "/home/u/bin/tool"]),
        ("./run", "#!/home/u/bin/tool\n", "#!/home/u/bin/next\n", &["/home/u/bin/tool", "/home/u/bin/next"]),
        // The reviewed command names it, too.
        ("/home/u/bin/tool run", "", "#!/home/u/bin/next\n", &[]),
        ("nice /home/u/bin/tool ./run", "#!/home/u/bin/tool\n", "", &[]),
    ] {
        let mut files = Fake::new(&["run"], &[]);
        files.heads.insert(PathBuf::from("/work/run"), head);
        files.heads.insert(PathBuf::from("/home/u/bin/tool"), outside);
        files.heads.insert(PathBuf::from("/home/u/bin/next"), "");
        let found = reads(command, &files);
        let expect: BTreeSet<PathBuf> = expect.iter().map(PathBuf::from).collect();
        assert_eq!(found.named_by_workspace, expect, "{command} {head}");
        assert!(found.executed.is_superset(&expect), "{found:?}");
    }
    // The script of an interpreter is not executed by the system.
    let mut files = Fake::new(&["run", "bin/x.py"], &[]);
    files.heads.insert(PathBuf::from("/work/run"), "#!/usr/bin/env -S python3 bin/x.py\n");
    let found = reads("python3 ./run", &files);
    assert!(!found.executed.contains(Path::new("/work/run")), "{found:?}");
}

#[test]
fn what_only_env_can_tell_is_a_reason() {
    let files = Fake::new(&[], &[]);
    for command in ["env -S 'python3 ${X}'", "nice env -vS 'python3 $X'", "env --split='a \"b'"] {
        let unread = BTreeSet::from([NotBound::Option("--split-string")]);
        assert_eq!(reads(command, &files).unbound, unread, "{command}");
    }
}

#[test]
fn options_in_files_and_other_directories_of_gdb_are_a_reason() {
    let files = Fake::new(&["l/args", "gd/run.gdb"], &[]);
    for (command, option) in [
        ("gcc -Wl,@l/args x.c", "@file"),
        ("ld @l/args", "@file"),
        ("javac @l/args", "@file"),
        ("gdb -cd gd -x run.gdb -batch", "-cd"),
        ("gdb --cd=gd -x run.gdb", "-cd"),
        ("gdb -batch -dir gd -x run.gdb", "-cd"),
        ("gdb -batch -ex 'cd gd' -x run.gdb", "-cd"),
        ("java --patch-module m=l X", "--patch-module"),
    ] {
        assert_eq!(reads(command, &files).unbound, BTreeSet::from([NotBound::Option(option)]), "{command}");
    }
    for command in [
        "python3 /proc/self/cwd/x.py",
        "env /proc/thread-self/cwd/s",
        "/proc/1/root/bin/x",
        "/proc/self/task/1/cwd/x",
        "make -f /proc/self/cwd/Mk",
        "sh /dev/fd/3",
    ] {
        assert!(reads(command, &files).unbound.contains(&NotBound::OfProcess), "{command}");
    }
    for command in ["grep x /proc/self/status", "python3 x.py /proc/self/cwd/y", "cat /proc/self/cwd/x"] {
        assert!(!reads(command, &files).unbound.contains(&NotBound::OfProcess), "{command}");
    }
    for command in ["ld -Bstatic a.o", "gdb -batch -x gd/run.gdb ./prog", "java -version", "ar rcs a.a a.o"] {
        assert_eq!(reads(command, &files).unbound, BTreeSet::new(), "{command}");
    }
}

#[test]
fn variables_that_move_settings_into_the_workspace_cannot_be_bound() {
    let files = Fake::new(&["hh/.gitconfig"], &[]);
    let variable = |name: &str| BTreeSet::from([NotBound::Variable(name.to_owned())]);
    for (command, expect) in [
        ("env HOME=. git status", "HOME"),
        ("env HOME=hh python3 x.py", "HOME"),
        ("env a.b=1 HOME=/work/hh npm run x", "HOME"),
        ("nice env XDG_CONFIG_HOME=xx git status", "XDG_CONFIG_HOME"),
        ("env XDG_DATA_DIRS=/usr/share:hh x", "XDG_DATA_DIRS"),
        ("env CARGO_HOME=. cargo build", "CARGO_HOME"),
        ("env RIPGREP_CONFIG_PATH=rc rg x", "RIPGREP_CONFIG_PATH"),
        ("env a.b=1 PATH=bin:/usr/bin x", "PATH"),
        ("env 'BASH_FUNC_ls%%=() { :; }' bash x.sh", "BASH_FUNC_ls%%"),
    ] {
        assert_eq!(reads(command, &files).unbound, variable(expect), "{command}");
    }
    for command in ["env HOME=/root git status", "env HOME= x", "env JAVA_HOME=/usr/lib/jvm/a java -version"]
    {
        assert_eq!(reads(command, &files).unbound, BTreeSet::new(), "{command}");
    }
}

#[test]
fn a_wrapper_may_change_the_directory() {
    let files = Fake::new(&["sub/x.py"], &[]);
    for before in
        ["env -C sub", "env -iC sub", "env --chdir=sub", "env --chd sub", "nice env -Csub timeout 5"]
    {
        let found = reads(&format!("{before} python3 x.py"), &files);
        assert!(found.scripts.contains(Path::new("/work/sub/x.py")), "{before}: {found:?}");
        assert_eq!(found.missing, None, "{before}");
    }
    let missing = reads("python3 x.py", &files).missing;
    assert_eq!(missing.as_deref(), Some("x.py"));
    assert_eq!(reads("chroot /elsewhere python3 x.py", &files).missing, None);
    assert_eq!(reads("docker run image python3 x.py", &files).missing, None);
}

#[test]
fn variables_of_a_container_say_nothing_about_this_machine() {
    let files = Fake::new(&[], &[]);
    let unbound = |command: &str| reads(command, &files).unbound;
    assert_eq!(unbound("docker run image env PYTHONPATH=/app python3"), BTreeSet::new());
    let named = BTreeSet::from([NotBound::Variable("PYTHONPATH".to_owned())]);
    assert_eq!(unbound("prlimit env PYTHONPATH=lib python3"), named);
    assert_eq!(unbound("env -S 'PYTHONPATH=lib python3'"), named);
}

#[test]
fn a_link_to_a_directory_of_the_workspace_is_followed_once() {
    let files = Fake::new(
        &["src/test_a.py", "src/deep/test_b.py", ".git/test_c.py"],
        &[("tests", "src"), ("src/deep/again", "src"), ("self", ""), ("src/state", ".git")],
    );
    let found = reads("pytest", &files);
    assert_eq!(found.unbound, BTreeSet::new());
    let tests = |reads: &Reads| {
        let is_test = |path: &&PathBuf| path.to_string_lossy().contains("test_");
        reads.code.iter().filter(is_test).cloned().collect::<Vec<_>>()
    };
    assert_eq!(tests(&found), ["/work/src/deep/test_b.py", "/work/src/test_a.py"].map(PathBuf::from));
    let found = reads("pytest tests", &files);
    assert_eq!(tests(&found), ["/work/src/deep/test_b.py", "/work/src/test_a.py"].map(PathBuf::from));
    assert_eq!(reads("node --test", &files).unbound, BTreeSet::new());
}

/// Issue 17: each of many nested directories was looked for from the root, in minutes.
#[test]
fn directories_are_searched_to_a_depth() {
    let nested = |depth: usize| format!("src/{}test_a.py", "d/".repeat(depth));
    for (depth, is_bound) in [(200, true), (300, false)] {
        let test = nested(depth);
        let files = Fake::new(&[test.as_str()], &[]);
        let found = reads("pytest src", &files);
        assert_eq!(found.code.contains(&PathBuf::from("/work").join(&test)), is_bound, "{depth}");
        let unbound: Vec<_> = found.unbound.into_iter().collect();
        let expect = if is_bound { vec![] } else { vec![NotBound::Folder("src".to_owned())] };
        assert_eq!(unbound, expect, "{depth}");
    }
}

#[test]
fn a_link_to_a_directory_elsewhere_is_a_reason() {
    let files = Fake::new(&["src/test_a.py"], &[("src/out", "/elsewhere")]);
    for command in ["pytest", "pytest src", "pytest ./src src", "node --test"] {
        let link = BTreeSet::from([NotBound::Link("src/out".to_owned())]);
        assert_eq!(reads(command, &files).unbound, link, "{command}");
    }
}

#[test]
fn programs_are_known_under_all_their_names() {
    for (word, name) in [
        ("/usr/bin/python3.11", "python"),
        ("Bash-5.2.EXE", "bash"),
        ("x86_64-linux-gnu-gcc-12", "gcc"),
        ("/lib64/ld-linux-x86-64.so.2", "ld.so"),
        ("proxychains4", "proxychains4"),
        (".", "."),
    ] {
        assert_eq!(Program::of(word).map(|known| known.name), Some(name), "{word}");
    }
    for word in ["", "rm2", "env5", "./", "my-python-tool"] {
        assert!(Program::of(word).is_none(), "{word}");
    }
    let mut names: Vec<&str> = all().map(|known| known.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "a name stands twice");
}
