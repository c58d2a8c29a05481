//! Issue 12: what runs behind `cd` is looked for from where the shell goes.

use super::*;

/// Returns what make binds and notes when it runs a line.
fn of_recipe(line: &str) -> Chain {
    let files = Fake::new(
        &["r.sh", "bin/x", "a/b/x", "out/x", "sub/q.sh", "sub/r.sh", "other/x", "other/sub/r.sh"],
        &[("lnk", "other/x/.."), ("far", "other/sub")],
    );
    let files = files
        .with("bin/Makefile", "all:\n\tsh ../r.sh\n")
        .with("M2", "all:\n\tsh ../r.sh\n")
        .with("Makefile", format!("go:\n\t{line}\n"));
    reads("make go", &files).chain
}

#[test]
fn what_runs_behind_cd_is_bound_from_there() {
    for (line, file) in [
        ("cd bin && sh ../r.sh", "r.sh"),
        ("cd a/b && sh ../../r.sh", "r.sh"),
        ("(cd bin; sh ../r.sh)", "r.sh"),
        ("cd bin && . ../r.sh", "r.sh"),
        ("cd -P ./bin/ >/dev/null && ../r.sh", "r.sh"),
        ("command cd bin; sh ../r.sh", "r.sh"),
        ("sh -c 'cd bin; sh ../r.sh'", "r.sh"),
        ("echo \"$(cd bin; sh ../r.sh)\"", "r.sh"),
        ("cd out && cd ../sub && sh q.sh", "sub/q.sh"),
        ("cd far && cd ../sub && sh r.sh", "sub/r.sh"),
        ("cd far && cd ../sub && sh r.sh", "other/sub/r.sh"),
        ("cd bin && make -s", "r.sh"),
        ("cd out && make -f ../M2", "r.sh"),
        ("pushd bin; popd; sh r.sh", "r.sh"),
    ] {
        let chain = of_recipe(line);
        let is_bound = chain.files.iter().any(|path| {
            let mut real = PathBuf::new();
            for part in path {
                if part == ".." {
                    real.pop();
                } else {
                    real.push(part);
                }
            }
            real == Path::new("/work").join(file)
        });
        assert!(is_bound, "{line}: {file}: {chain:?}");
        assert!(!chain.finders.contains("cd"), "{line}: {chain:?}");
    }
}

#[test]
fn where_cd_leads_nobody_knows_is_noted() {
    for line in [
        "mkdir new && cd new && sh ../r.sh",
        "cd && sh r.sh",
        "cd - && sh r.sh",
        "cd ~/x && sh r.sh",
        "cd b* && sh ../r.sh",
        "for i in 1 2; do cd ..; done; sh r.sh",
        "f() { cd ..; }; f; f; sh r.sh",
    ] {
        assert!(of_recipe(line).finders.contains("cd"), "{line}: {:?}", of_recipe(line));
    }
    assert!(of_recipe("cd new").finders.is_empty());
}
