//! A closed run reports what it was denied, and `tools observe` declares it.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests set up files, links and a database")]

use std::fs;
use std::os::unix::fs::symlink;

use brigade_tests::Site;
use serde_json::{Value, json};

/// A workspace with one tool that is closed to reading.
fn site(command: &str, lines: &str) -> Site {
    let site = Site::script("");
    site.add_to_policy("[sandbox]\nmode = \"enforce\"\nreads = \"closed\"\n");
    site.workspace.write(".brigade/tools.toml", Site::entry("tool", command, lines));
    site
}

fn warnings(receipt: &Value) -> String {
    receipt["warnings"].to_string()
}

/// Issue 12: files that the kernel refused were listed as written, without a note.
#[test]
fn closed_run_names_refused_paths_and_fix() {
    let site = site(
        "/usr/bin/python3 bin/x.py",
        "effects = [\"local-read\", \"local-write\"]\ncode = [\"lib/a.py\"]\ndata = [\"data/**\"]",
    );
    site.workspace.write("lib/a.py", "");
    site.workspace.write("out/old", "");
    site.workspace.write("top/__pycache__/a", "");
    site.write_program("data/x.so", fs::read("/bin/true").unwrap());
    site.workspace.write(
        "bin/x.py",
        "import os\n\
         for path, mode in [('out/new', os.O_RDWR), ('out/blind', os.O_WRONLY), ('lib/a.py', os.O_WRONLY),\n             \
         ('top/__pycache__/b', os.O_RDWR), ('gone', os.O_RDWR)]:\n    \
         try: os.open(path, mode | os.O_CREAT)\n    \
         except OSError as error: print(path, error.errno)\n\
         os.open('data/x.so', os.O_RDONLY)\n",
    );
    let receipt = site.receipt_of("tool", "{}");
    let observed = &receipt["observed"];
    let names = |list: &Value| -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        list.as_array().unwrap().iter().map(|file| (text(&file["path"]), text(&file["what"]))).collect()
    };
    let pair = |path: &str, what: &str| (path.to_owned(), what.to_owned());
    assert_eq!(names(&observed["written"]), [pair("out/blind", "")], "{observed:#}");
    let denied = names(&observed["denied"]);
    for (path, what) in [("out/new", "create"), ("lib/a.py", "write"), ("gone", "create")] {
        assert!(denied.contains(&pair(path, what)), "{path}: {observed:#}");
    }
    let warned = warnings(&receipt);
    for part in [
        "denied: reading out/new, which the run made itself; add `out/**` to data of the tool",
        "denied: reading gone, which the run made itself: let the tool use a directory without code",
        "denied: writing lib/a.py: what an approval binds is not written",
        "data/x.so is a library, and was read as data",
    ] {
        assert!(warned.contains(part), "{part}: {warned}");
    }
    assert!(!warned.contains("__pycache__"), "{warned}");
    let report = site.json(["observe", "tool", "--write"]).expect(0);
    assert!(report["data"].as_array().unwrap().contains(&"out/**".into()), "{report:#}");
    let receipt = site.receipt_of("tool", "{}");
    assert!(!warnings(&receipt).contains("out/new"), "{receipt:#}");
}

/// Issue 12: JavaScript packages are links, and no proposed declaration opened them.
#[test]
fn linked_packages_are_declared_as_code() {
    for (link, target) in [("node_modules/d", ".pnpm/d/node_modules/d"), ("node_modules/d", "../packages/d")]
    {
        let site = site("node run.js", "");
        let package = format!("node_modules/{target}/index.js");
        let package = package.replace("node_modules/../", "");
        site.workspace.write(&package, "module.exports = 'found'\n");
        site.workspace.write("node_modules/other.txt", "");
        symlink(target, site.workspace.path().join(link)).unwrap();
        site.workspace.write("run.js", "console.log(require('d'))\n");
        let receipt = site.receipt_of("tool", "{}");
        assert_eq!(receipt["status"], "failed", "{receipt:#}");
        let warned = warnings(&receipt);
        assert!(
            warned.contains("through the link node_modules/d; add the directory of the packages"),
            "{warned}"
        );
        let report = site.json(["observe", "tool", "--write"]).expect(0);
        assert!(report["code"].as_array().unwrap().contains(&"node_modules/**".into()), "{report:#}");
        let receipt = site.receipt_of("tool", "{}");
        assert_eq!(receipt["stdout_summary"], "found", "{receipt:#}");
    }
}

/// Issue 12: packages of a pnpm workspace link to others, and each needed another round.
#[test]
fn transitive_packages_are_declared_in_one_round() {
    let site = site("node packages/a/run.js", "");
    let store = "node_modules/.pnpm";
    for (file, text) in [
        ("packages/a/run.js", "console.log(require('b'))"),
        ("packages/b/index.js", "module.exports = require('@s/c') + require('ext')"),
        ("packages/c/index.js", "module.exports = 'found '"),
        (&format!("{store}/ext@1/node_modules/ext/index.js"), "module.exports = require('dep')"),
        (&format!("{store}/dep@1/node_modules/dep/index.js"), "module.exports = 'all'"),
    ] {
        site.workspace.write(file, text);
    }
    for (link, target) in [
        ("packages/a/node_modules/b", "../../b"),
        ("packages/b/node_modules/@s/c", "../../../c"),
        ("packages/b/node_modules/ext", "../../../node_modules/.pnpm/ext@1/node_modules/ext"),
        (&format!("{store}/ext@1/node_modules/dep"), "../../dep@1/node_modules/dep"),
    ] {
        let link = site.workspace.path().join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(target, link).unwrap();
    }
    assert_eq!(site.receipt_of("tool", "{}")["status"], "failed");
    let report = site.json(["observe", "tool", "--write"]).expect(0);
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(receipt["stdout_summary"], "found all", "{report:#} {receipt:#}");
}

/// Issue 12: a file without an extension that a tool reads and writes was declared as code, which a run cannot write.
/// Code becomes data only if a person says so.
#[test]
fn state_file_is_declared_as_data() {
    const COUNTS: &str =
        "f = 'state/counter'\nn = int(open(f).read()) + 1\nopen(f, 'w').write(str(n))\nprint(n)\n";
    for reads in ["workspace", "closed"] {
        let site = site("python3 run.py", "effects = [\"local-read\", \"local-write\"]");
        let policy = site.workspace.read_text(".brigade/tools/policy.toml");
        let closed = "reads = \"closed\"";
        assert!(policy.contains(closed), "{policy}");
        site.workspace
            .write(".brigade/tools/policy.toml", policy.replace(closed, &format!("reads = \"{reads}\"")));
        site.workspace.write("run.py", COUNTS);
        site.workspace.write("state/counter", "1");
        let mut rounds = 0;
        while site.receipt_of("tool", "{}")["status"] != "completed" || rounds == 0 {
            let before = site.workspace.read_text(".brigade/tools.toml");
            let seen = site.json(["observe", "tool", "--write"]).expect(0);
            if seen["code_written"] == json!(["state/counter"]) {
                assert_eq!(
                    site.workspace.read_text(".brigade/tools.toml"),
                    before,
                    "it stays code: {seen:#}"
                );
                let moved = site.json(["observe", "tool", "--write", "--as-data", "state/counter"]).expect(0);
                assert_eq!(
                    (&moved["code_removed"], &moved["code_written"]),
                    (&json!(["state/counter"]), &json!([]))
                );
            }
            rounds += 1;
            assert!(rounds < 4, "{}", site.workspace.read_text(".brigade/tools.toml"));
        }
        site.workspace.write(".brigade/tools/policy.toml", &policy);
        for _ in 0..2 {
            let receipt = site.receipt_of("tool", "{}");
            assert_eq!(receipt["status"], "completed", "{reads}: {receipt:#}");
        }
        let entry = site.workspace.read_text(".brigade/tools.toml");
        assert!(entry.contains("data = [\"state/counter\"]"), "{reads}: {entry}");
    }
}

/// Issue 12: a run that tried to write its own code turned it into data, which is not bound.
#[test]
fn code_that_a_run_tries_to_write_stays_code() {
    let site = site(
        "sh run.sh",
        "effects = [\"local-read\", \"local-write\"]\ncode = [\"lib/common\", \"lib/other\"]",
    );
    site.workspace.write("run.sh", ". lib/common\necho x > made.txt\n(echo evil >> lib/common)\ntrue\n");
    site.workspace.write("lib/common", "echo sourced\n");
    site.workspace.write("lib/other", "");
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(receipt["stdout_summary"], "sourced", "{receipt:#}");
    let before = site.workspace.read_text(".brigade/tools.toml");
    let seen = site.json(["observe", "tool", "--write"]).expect(0);
    assert_eq!(
        (&seen["code_written"], &seen["written"]),
        (&json!(["lib/common"]), &json!(false)),
        "{seen:#}"
    );
    let text = site.tools(["observe", "tool"]).stdout_text();
    assert!(text.contains("code that a run tried to write: 1"), "{text}");
    site.json(["observe", "tool", "--write", "--as-data", "lib/other"]).expect(2);
    assert_eq!(site.tools(["observe", "tool", "--as-data", "lib/common"]).code(), Some(2));
    assert_eq!(site.workspace.read_text(".brigade/tools.toml"), before);
    assert!(site.receipt_of("tool", "{}")["binding"]["files"]["lib/common"].is_string());
}

/// Issue 12: `observe --write` turned a directory with bound code into data, and new files in it were imported.
#[test]
fn observed_declarations_do_not_open_new_files() {
    let site = site("python3 lib/main.py", "");
    let policy = site.workspace.read_text(".brigade/tools/policy.toml");
    site.workspace.write(".brigade/tools/policy.toml", policy.replace("\"closed\"", "\"workspace\""));
    site.workspace.write(
        "lib/main.py",
        "import json\nfor n in range(4): open(f'lib/{n}.csv').read()\nprint('reached')\n",
    );
    (0..4).for_each(|number| site.workspace.write(format!("lib/{number}.csv"), "1"));
    site.receipt_of("tool", "{}");
    site.json(["observe", "tool", "--write"]).expect(0);
    site.workspace.write(".brigade/tools/policy.toml", policy);
    site.workspace.write("lib/json.py", "print('planted')\n");
    let receipt = site.receipt_of("tool", "{}");
    assert!(!receipt["stdout_summary"].to_string().contains("planted"), "{receipt:#}");
}

/// Issue 12: SQLite first opens a database for writing, so a read-only tool was given the effect to write.
#[test]
fn a_tool_that_only_reads_a_database_needs_nothing() {
    if !std::path::Path::new("/usr/bin/sqlite3").exists() {
        return;
    }
    let site = site("sqlite3 db/x.db 'select a from t'", "effects = [\"local-read\"]");
    fs::create_dir(site.workspace.path().join("db")).unwrap();
    let made = std::process::Command::new("sqlite3")
        .arg(site.workspace.path().join("db/x.db"))
        .arg("create table t (a); insert into t values ('found')")
        .status();
    assert!(made.unwrap().success());
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(
        (&receipt["stdout_summary"], &receipt["warnings"]),
        (&"found".into(), &Value::Null),
        "{receipt:#}"
    );
    let report = site.json(["observe", "tool", "--write"]).expect(0);
    assert_eq!((&report["written"], &report["effects_undeclared"]), (&false.into(), &json!([])));
}

/// Issue 12: SQLite's files next to a database in the workspace root or next to code match no pattern.
#[test]
fn a_database_beside_code_needs_its_directory() {
    let site = site(
        "python3 run.py",
        "effects = [\"local-read\", \"local-write\"]\ndata = [\"app.db\", \"app.db-journal\"]",
    );
    let made = "import sqlite3\nc = sqlite3.connect('app.db')\nc.execute('create table t (a)')\nc.commit()\n";
    site.workspace.write("made.py", made);
    let done =
        std::process::Command::new("python3").arg("made.py").current_dir(site.workspace.path()).status();
    assert!(done.unwrap().success());
    site.workspace.write("run.py", made.replace("create table t (a)", "insert into t values (1)"));
    let receipt = site.receipt_of("tool", "{}");
    let warned = warnings(&receipt);
    assert!(
        warned.contains(
            "app.db-journal, which SQLite makes beside its database: let the tool use a separate directory"
        ),
        "{receipt:#}"
    );
    assert!(!warned.contains("observe"), "{warned}");
}

/// Issue 12: a file that a run creates and reads was declared by name, which opens only an existing file.
#[test]
fn files_written_and_read_are_declared_in_one_round() {
    let site = site("sh run.sh", "effects = [\"local-read\", \"local-write\"]");
    fs::create_dir(site.workspace.path().join("out")).unwrap();
    site.workspace.write("run.sh", "rm -f out/log\necho 1 >out/log\ncat out/log\n");
    let receipt = site.receipt_of("tool", "{}");
    let warned = warnings(&receipt);
    let said = "denied: reading out/log, which the run wrote itself; add `out/**` to data of the tool";
    assert!(warned.contains(said), "{warned}");
    let report = site.json(["observe", "tool", "--write"]).expect(0);
    assert_eq!(report["data"], json!(["out/**"]), "{report:#}");
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(
        (&receipt["stdout_summary"], &receipt["warnings"]),
        (&"1".into(), &Value::Null),
        "{receipt:#}"
    );
}
