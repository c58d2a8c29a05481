//! Plans of tools that are closed to reading: what code, data and arguments open.

use super::*;

const CLOSED: &str = "allowed_families = ['script']\nallowed_effects = ['local-read']\n\
    [sandbox]\nmode = 'enforce'\nreads = 'closed'\n";

/// A workspace with a tool that is closed to reading.
fn bench(lines: &str) -> Bench {
    let bench = Bench::on_disk(&[(POLICY, CLOSED), ("bin/tool.sh", "true\n")]);
    set(&bench, lines);
    bench.with_variables(&[("PATH", "/bin:/usr/bin")])
}

fn set(bench: &Bench, lines: &str) {
    bench.write(CATALOG, &entry("tool", &format!("command = 'sh bin/tool.sh'\n{lines}")));
}

/// Returns the fields and messages of what a plan cannot bind.
fn unbound(bench: &Bench) -> Vec<(String, String)> {
    let plan = bench.plan("tool", "{}");
    let of_pattern = |blocker: &&Blocker| blocker.is(ErrorCode::CodeNotBound);
    let found = plan.blockers().iter().filter(of_pattern);
    found.map(|blocker| (blocker.field.clone().unwrap_or_default(), blocker.message.clone())).collect()
}

#[test]
fn patterns_that_lead_elsewhere_block_the_call() {
    for pattern in ["../x/**", "/etc/**", ".git/**", ".brigade/tools/*", "~/x"] {
        for field in ["code", "data"] {
            let found = unbound(&bench(&format!("{field} = [{pattern:?}]")));
            assert!(found.iter().any(|(at, _)| *at == format!("{field}[1]")), "{field} {pattern}: {found:?}");
        }
    }
}

#[test]
fn patterns_with_too_many_matches_block_the_call() {
    let bench = bench("");
    bench.folder("lib");
    bench.write("big/large.bin", "");
    let file = std::fs::File::options().write(true).open(bench.path("big/large.bin")).unwrap();
    file.set_len((256 << 20) + 1).unwrap();
    (0..=10_000).for_each(|n| std::fs::write(bench.path("lib").join(format!("{n}.py")), "").unwrap());
    for (field, pattern) in [("code", "lib/**"), ("data", "lib/*.py")] {
        set(&bench, &format!("{field} = ['nothing/*', '{pattern}']"));
        let found = unbound(&bench);
        assert_eq!((found.len(), &*found[0].0), (1, &*format!("{field}[2]")), "{found:?}");
        assert!(found[0].1.contains("10001 files"), "{found:?}");
    }
    set(&bench, "code = ['big/*']");
    let found = unbound(&bench);
    assert!(found.len() == 1 && found[0].1.contains("256 MiB"), "{found:?}");
    // The maximum number of files, and a directory as one pattern.
    for lines in ["data = ['lib/**']", "code = ['lib/1*.py']"] {
        set(&bench, lines);
        assert_eq!(unbound(&bench), [], "{lines}");
    }
}

#[test]
fn an_argument_opens_no_code() {
    let bench = bench(
        "code = ['bin/*.py', 'app/*.js', 'lib/**']\nargument_template = { a = '{a}', folder = '--folder={folder}' }",
    );
    for file in [
        "bin/x.py",
        "bin/__pycache__/x.pyc",
        "bin/pkg/__init__.py",
        "bin/data/a.csv",
        "app/x.js",
        "app/node_modules/a/index.js",
        "lib/code.sh",
        "in/one.txt",
    ] {
        bench.write(file, "");
    }
    let opens = |args: &str| {
        let plan = bench.plan("tool", args);
        plan.blockers().iter().any(|blocker| blocker.is(ErrorCode::ArgumentOpensCode))
    };
    for path in [
        "bin/__pycache__",
        "bin/__pycache__/x.pyc",
        "x=bin/__pycache__",
        "bin/pkg",
        "bin/pkg/__init__.py",
        "app/node_modules",
        "app/node_modules/a",
        "app/node_modules/a/index.js",
    ] {
        assert!(opens(&format!("{{\"a\": {path:?}}}")), "{path}");
    }
    for folder in ["lib", ".", "./lib/..", "bin"] {
        assert!(opens(&format!("{{\"folder\": {folder:?}}}")), "{folder}");
    }
    for path in ["in/one.txt", "bin/data", "bin/data/a.csv", "bin/later"] {
        assert!(!opens(&format!("{{\"a\": {path:?}}}")), "{path}");
    }
}
