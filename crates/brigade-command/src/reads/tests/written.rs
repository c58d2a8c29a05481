//! Issue 12: what commands write is no code, unless something else names it as code.

use super::*;

/// Returns whether a file is bound when make runs these lines as one recipe.
fn is_bound(lines: &str, file: &str) -> bool {
    let files = Fake::new(&["x.sh", "x.c", "out/x", "out/y.sh"], &[("bin/tee", "x.sh")]);
    let mut files = files.with("Makefile", format!("go:\n\t{}\n", lines.replace('\n', "\n\t")));
    files.heads.insert("/work/tee".into(), "#!/bin/sh\n");
    reads("make", &files).chain.files.contains(&Path::new("/work").join(file))
}

#[test]
fn what_is_only_written_is_not_bound() {
    for lines in [
        "sh x.sh > out/x",
        "sh x.sh >> out/x 2>&1",
        "sh x.sh >out/x",
        "sh x.sh 2> out/x",
        "sh x.sh &> \"out/x\"",
        "sh x.sh >| out/x",
        "sh x.sh | tee -a out/x",
        "> out/x sh x.sh",
        "mkdir -p out && gcc -o out/x x.c",
        "timeout 5 gcc x.c -oout/x",
        "sort -o out/x x.c",
        "curl --output=out/x https://x.example",
        "cp x.c out/x",
        "rm -f out/x; touch out/x",
        // What a command only looks at is none, either.
        "test -f out/x || sh x.sh > out/x",
        "[ -f out/x ] || sh x.sh > out/x",
        "sh x.sh > out/x\ncat out/x\nls out",
        "gcc -o out/x x.c && wc -c ./out/x",
        "sh x.sh > out/y.sh && cat out/y.sh; test -f out/y.sh && rm ./out/y.sh",
    ] {
        assert!(!is_bound(lines, "out/x") && !is_bound(lines, "out/y.sh"), "{lines}");
        assert!(
            is_bound(lines, "x.sh") || is_bound(lines, "x.c") || lines.starts_with(['r', 'c']),
            "{lines}"
        );
    }
}

/// The same words with something that runs what is written, before or behind.
#[test]
fn what_is_written_and_run_is_bound() {
    for lines in [
        "sh x.sh > x.sh",
        "sh < x.sh > x.sh",
        "sh <> x.sh",
        "sh x.sh 2>&1 x.sh",
        ". ./x.sh; date > x.sh",
        "date > x.sh; ./x.sh",
        "tee x.sh; sh x.sh",
        "cat x.sh | sh; date > x.sh",
        "sh -c \"$(cat x.sh)\"; date > x.sh",
        "{ cat x.sh; } | sh; date > x.sh",
        "cat x.sh > out/y.sh; sh out/y.sh; date > x.sh",
        "exec > out/y.sh; cat x.sh; date > x.sh",
        // What a program reads that writes it elsewhere.
        "tee out/y.sh < x.sh; sh out/y.sh",
        "tee -a out/y.sh out/x 0< ./x.sh; sh out/y.sh",
        "tee -- out/y.sh <x.sh >/dev/null; sh out/y.sh",
        "<x.sh tee out/y.sh; sh out/y.sh",
        "tee x.sh < out/x; sh x.sh",
        "ln -sf ../x.sh out/y.sh; sh out/y.sh",
        "ln -sft out ../x.sh; sh out/x.sh",
        "ln -s ../x.sh out; sh out/x.sh",
        "cd out && ln -s ../x.sh y.sh; sh out/y.sh",
        "cp x.sh out/y.sh; sh out/y.sh; date > x.sh",
        "cat x.sh; eval 'sh x.sh'; date > x.sh",
        "echo '>' x.sh",
        "echo a \\> x.sh",
        "gcc -o out/x x.c -specs=x.sh",
        "gcc -o out/x -fprofile-use=x.sh x.c",
        "go build -overlay=x.sh",
        "./tee x.sh",
        "uv run tee x.sh",
        "cp -t out x.sh",
        "strace -o '|sh x.sh' ls",
    ] {
        assert!(is_bound(lines, "x.sh"), "{lines}");
    }
    assert!(is_bound("gcc -o out/x x.c\n./out/x", "out/x"));
    // What a file of recipes makes, where these cannot be told apart.
    let text = "SHELL = /bin/sh\nall: out/x run.sh\nout/x: x.c\n\tgcc -o $@ $<\nrun.sh:\n\tdate > run.sh\nuse:\n\t./run.sh\n";
    let mut files = Fake::new(&["x.c", "out/x", "run.sh"], &[]).with("Makefile", text);
    files.heads.insert("/work/out/x".into(), "\x7fELF");
    let found = reads("make", &files).chain.files;
    let has = |file: &str| found.contains(&Path::new("/work").join(file));
    assert_eq!((has("out/x"), has("run.sh"), has("x.c")), (false, true, true), "{found:?}");
    // A pattern may run what another recipe makes.
    let text = "all: a.done\n%.done: %.sh\n\tsh $<\na.sh: a.in\n\tdate > a.sh\n";
    let found = reads("make", &Fake::new(&["a.sh"], &[]).with("Makefile", text)).chain.files;
    assert!(found.contains(Path::new("/work/a.sh")), "{found:?}");
}

#[test]
fn what_a_command_of_an_entry_writes_is_not_bound() {
    let files = Fake::new(&["x.c", "out/x"], &[]);
    let found = reads("nice gcc -o out/x x.c", &files);
    let names = |file: &str| {
        let path = Path::new("/work").join(file);
        [&found.named, &found.scripts, &found.code].iter().any(|paths| paths.contains(&path))
    };
    assert_eq!((names("out/x"), names("x.c")), (false, true), "{found:?}");
    // No shell reads these words.
    assert!(reads("python3 x.py > out/x", &files).scripts.contains(Path::new("/work/out/x")));
}

/// Issue 12: what is behind a link to a directory has another name than what is bound.
#[test]
fn links_to_directories_are_noted() {
    let finders = |line: &str| {
        let files = Fake::new(&["x.sh", "out/x"], &[]).with("Makefile", format!("go:\n\t{line}\n"));
        reads("make", &files).chain.finders
    };
    assert!(finders("ln -sfn .. out/l; sh out/l/x.sh").contains("ln"));
    assert!(!finders("ln -sf ../x.sh out/l; sh out/l").contains("ln"));
    let input = is_bound("tee out/y.sh < out/x; sh out/y.sh", "out/x");
    assert!(input);
}
