//! Checks that the programs of the fixture `repo-tools` work as documented when started as in its catalog.

use brigade_testkit::{Brigade, Run, TempWorkspace};
use serde_json::json;

fn python(workspace: &TempWorkspace, args: &[&str]) -> Run {
    Brigade::for_program("python3", workspace).run(args)
}

#[test]
fn git_log_counts_by_author_and_day() {
    let workspace = TempWorkspace::fixture("repo-tools");
    workspace.git_init();
    let day = |commits| json!([{"day": "2026-01-02", "commits": commits}]);
    let run = python(&workspace, &["bin/git_log.py", "--limit=5"]);
    let expect = json!({
        "commits": 1,
        "authors": [{"name": "Ada Example", "commits": 1}],
        "days": day(1),
        "first_day": "2026-01-02",
        "last_day": "2026-01-02",
    });
    assert_eq!(run.assert_code(0).json(), expect);

    workspace.write("bin/new.py", "");
    workspace.git(["add", "--all"]);
    workspace.git(["commit", "--quiet", "--message=More\n\nSecond line"]);
    assert_eq!(python(&workspace, &["bin/git_log.py"]).json()["days"], day(2));
    assert_eq!(python(&workspace, &["bin/git_log.py", "--path=bin/new.py"]).json()["commits"], 1);
    let run = python(&workspace, &["bin/git_log.py", "--since=2026-02-01"]);
    assert_eq!(run.assert_code(0).json()["first_day"], json!(null));
}

#[test]
fn git_log_outside_a_repository_fails() {
    let run = python(&TempWorkspace::fixture("repo-tools"), &["bin/git_log.py"]);
    assert!(run.assert_code(1).stderr_text().contains("not a git repository"), "{run}");
}

#[test]
fn find_todos_lists_lines_in_order() {
    let workspace = TempWorkspace::empty();
    workspace.write("find-todos.sh", TempWorkspace::fixture("repo-tools").read("bin/find-todos.sh"));
    let find = |args: &[&str]| {
        let run = Brigade::for_program("sh", &workspace).run(["find-todos.sh"].iter().chain(args));
        (run.code(), run.stdout_text(), run.stderr_text())
    };
    workspace.write("src/b b.txt", "x\nFIXME b\n");
    workspace.write("src/a.txt", "TODO 1\n\n\n\n\n\n\n\n\nTODO 10\nTODO 11\n");
    workspace.write("src/.git/c.txt", "TODO hidden\n");
    workspace.write("src/d.bin", b"TODO\0binary");
    let listed = "src/a.txt:1:TODO 1\nsrc/a.txt:10:TODO 10\nsrc/a.txt:11:TODO 11\nsrc/b b.txt:2:FIXME b\n";
    assert_eq!(find(&["--path=src"]), (Some(0), listed.into(), "find-todos: 4 lines\n".into()));
    assert_eq!(
        find(&["--path=src", "--pattern=z+"]),
        (Some(0), String::new(), "find-todos: 0 lines\n".into())
    );
    let missing = "find-todos: no such file or folder: ./-x\n";
    assert_eq!(find(&["--path=-x"]), (Some(1), String::new(), missing.into()));
    assert_eq!(find(&["--path=src", "--pattern=("]).0, Some(2));
    assert_eq!(find(&[]).0, Some(2));
}

#[test]
fn format_json_never_quotes_invalid_input() {
    let workspace = TempWorkspace::fixture("repo-tools");
    workspace.write("a.json", "{\"b\": [1,2], \"a\": \"ü\"}");
    let run = python(&workspace, &["bin/format_json.py", "--path=a.json", "--indent=1", "--sort-keys=true"]);
    assert_eq!(run.assert_code(0).stdout_text(), "{\n \"a\": \"ü\",\n \"b\": [\n  1,\n  2\n ]\n}\n");
    for broken in [&b"{\"a\": hunter2}"[..], b"{\"a\": 1, \"a\": \"hunter2\"}", b"\xff hunter2", b""] {
        workspace.write("a.json", broken);
        let run = python(&workspace, &["bin/format_json.py", "--path=a.json"]);
        assert!(!run.assert_code(1).stderr_text().contains("hunter2"), "{run}");
    }
}

#[test]
fn count_words_takes_an_argument_of_every_type() {
    let workspace = TempWorkspace::empty();
    workspace.write("count.py", TempWorkspace::fixture("repo-tools").read("bin/count_words.py"));
    workspace.write("a.txt", "The cat and the dog, and the naïve mouse.");
    workspace.write("b.txt", "the end");
    let run = python(
        &workspace,
        &[
            "count.py",
            r#"--paths=["a.txt","b.txt"]"#,
            "--title=two \"files\"",
            "--label=",
            "--min-length=3",
            "--threshold=0.15",
            "--ignore-case=true",
            "--mode=by-word",
            r#"--replacements={"cat":"dog"}"#,
        ],
    );
    let expect = json!({
        "title": "two \"files\"", "label": null, "mode": "by-word", "total": 11,
        "counts": {"and": 2, "dog": 2, "the": 4},
    });
    assert_eq!(run.assert_code(0).json(), expect);

    let run = python(&workspace, &["count.py", r#"--paths=["a.txt","b.txt"]"#, "--mode=by-file"]);
    assert_eq!(run.assert_code(0).json()["counts"], json!({"a.txt": 9, "b.txt": 2}));
    for wrong in ["--paths=a.txt", "--paths=[1]", "--min-length=true", "--ignore-case=True", "--mode=other"] {
        python(&workspace, &["count.py", r#"--paths=["a.txt"]"#, wrong]).assert_code(2);
    }
}

#[test]
fn always_fails_writes_to_both_streams() {
    let run = python(&TempWorkspace::fixture("repo-tools"), &["bin/always_fails.py", "--message=a  b"]);
    let seen = (run.code(), run.stdout_text(), run.stderr_text());
    assert_eq!(seen, (Some(3), "always-fails: work began\n".into(), "always-fails: a  b\n".into()));
}

#[test]
fn needs_token_accepts_but_hides_the_token() {
    let workspace = TempWorkspace::fixture("repo-tools");
    let run =
        Brigade::for_program("python3", &workspace).env("GITHUB_TOKEN", "abc").run(["bin/needs_token.py"]);
    assert_eq!(run.assert_code(0).json(), json!({"length": 3, "sha256_prefix": "ba7816bf"}));
    python(&workspace, &["bin/needs_token.py"]).assert_code(1);
}
