//! What a closed run lacks is said, and `tools observe` declares it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::disallowed_methods, reason = "tests set up files, links and a database")]

use std::fs;
use std::os::unix::fs::symlink;

use brigade_tests::Site;
use serde_json::Value;

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

/// Issue 12: what the kernel refused was listed as written, and nothing was said of it.
#[test]
fn what_a_run_may_not_write_or_read_back_is_said_with_the_way_out() {
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

/// Issue 12: a database in a closed workspace needs files that SQLite makes beside it.
#[test]
fn a_database_is_declared_in_one_round() {
    if !std::path::Path::new("/usr/bin/sqlite3").exists() {
        return;
    }
    let site =
        site("sqlite3 db/x.db 'insert into t values (1)'", "effects = [\"local-read\", \"local-write\"]");
    fs::create_dir(site.workspace.path().join("db")).unwrap();
    let made = std::process::Command::new("sqlite3")
        .arg(site.workspace.path().join("db/x.db"))
        .arg("create table t (a)")
        .status();
    assert!(made.unwrap().success());
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(receipt["status"], "failed", "{receipt:#}");
    let warned = warnings(&receipt);
    assert!(warned.contains("denied: writing db/x.db, a database; add `db/**` to data"), "{warned}");
    let report = site.json(["observe", "tool", "--write"]).expect(0);
    assert_eq!(report["data"], serde_json::json!(["db/**"]), "{report:#}");
    for _ in 0..2 {
        let receipt = site.receipt_of("tool", "{}");
        assert_eq!(
            (&receipt["status"], &receipt["warnings"]),
            (&"completed".into(), &Value::Null),
            "{receipt:#}"
        );
    }
}

/// Issue 12: packages of JavaScript are links, and no declaration that was proposed opened them.
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
