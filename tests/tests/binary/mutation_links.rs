//! Links in the path of code. Each link changes after the approval, and the run is refused.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests make the links that an approval binds")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use brigade_tests::Site;
use serde_json::Value;

/// Returns a workspace with two releases of a program, and one tool with this command.
fn site(command: &str, lines: &str, reads: &str) -> Site {
    let site = Site::script("");
    site.add_to_policy(&format!("[sandbox]\nmode = \"enforce\"\nreads = \"{reads}\"\n"));
    site.workspace.write(".brigade/tools.toml", Site::entry("tool", command, lines));
    for (release, says) in [("1", "first"), ("2", "second")] {
        let file = |name: &str| format!("rel/{release}/{name}");
        site.workspace.write(file("x.py"), "import y\n");
        site.workspace.write(file("y.py"), format!("print('{says}')\n"));
        let case =
            format!("import unittest\nclass T(unittest.TestCase):\n  def test(self): print('{says}')\n");
        site.workspace.write(file("test_x.py"), case);
        site.workspace.write(file("x.js"), format!("console.log('{says}')\n"));
        site.workspace.write(file("pkg/__main__.py"), format!("print('{says}')\n"));
        site.workspace.write(file("x"), format!("#!/bin/sh\necho {says}\n"));
        fs::set_permissions(site.workspace.join(file("x")), fs::Permissions::from_mode(0o755)).unwrap();
    }
    site
}

/// Replaces a link.
fn link(site: &Site, to: &str, at: &str) {
    if site.workspace.exists(at) {
        site.workspace.remove(at);
    }
    symlink(to, site.workspace.join(at)).unwrap();
}

/// Checks that a call runs only while a link points where it pointed at the approval.
#[track_caller]
fn check(command: &str, lines: &str, at: &str, releases: [&str; 2]) {
    check_reading("closed", command, lines, at, releases);
}

#[track_caller]
fn check_reading(reads: &str, command: &str, lines: &str, at: &str, [first, second]: [&str; 2]) {
    let site = site(command, lines, reads);
    link(&site, first, at);
    let id = site.approved("tool", "{}");
    link(&site, second, at);
    let document = site.run_call(&id).refused("changed since it was approved");
    assert!(document["changed"].to_string().contains(at), "{command}, {reads}: {document:#}");
    assert_eq!(document["receipt"], Value::Null);
    link(&site, first, at);
    let receipt = &site.run_call(&id).expect(0)["receipt"];
    assert_eq!(receipt["stdout_summary"], "first", "{command}, {reads}: {receipt:#}");
}

#[test]
fn code_link_is_bound_with_its_target() {
    check("node cur.js rel/1/x.js rel/2/x.js", "", "cur.js", ["rel/1/x.js", "rel/2/x.js"]);
    // Both files have the same bytes, but import different files.
    check("/usr/bin/python3 -B cur.py", "code = [\"rel/**\"]", "cur.py", ["rel/1/x.py", "rel/2/x.py"]);
}

#[test]
fn a_file_replaced_by_a_link_to_code_is_refused() {
    for reads in ["workspace", "closed"] {
        let site = site("/usr/bin/python3 -B rel/1/x.py", "code = [\"rel/**\"]", reads);
        let id = site.approved("tool", "{}");
        link(&site, "../2/x.py", "rel/1/x.py");
        site.run_call(&id).refused("changed since it was approved");
    }
}

/// Issue 12: arguments that are not code can still lead to code through links.
#[test]
fn named_links_are_bound_and_added_ones_hidden() {
    let find = "import sys\nsys.path.insert(0, sys.argv[1])\nimport y\n";
    for reads in ["workspace", "closed"] {
        let site = site("/usr/bin/python3 -B main.py current", "code = [\"rel/**\"]", reads);
        site.workspace.write("main.py", find);
        link(&site, "rel/1", "current");
        let id = site.approved("tool", "{}");
        link(&site, "rel/2", "current");
        site.run_call(&id).refused("changed since it was approved");
        link(&site, "rel/1", "current");
        assert_eq!(site.run_call(&id).expect(0)["receipt"]["stdout_summary"], "first", "{reads}");
    }
    let lines = "code = [\"rel/**\"]\ndata = [\"fixtures/**\"]";
    let site = site("/usr/bin/python3 -B main.py plugins", lines, "closed");
    site.workspace.write("main.py", "try:\n  import plugins.y\nexcept ImportError: print('approved')\n");
    site.workspace.write("fixtures/y.py", "print('other')\n");
    let id = site.approved("tool", "{}");
    link(&site, "fixtures", "plugins");
    let document = site.run_call(&id).json;
    assert!(!document.to_string().contains("\"other\""), "{document:#}");
}

#[test]
fn a_link_in_a_directory_of_code_is_bound() {
    let site = site("/usr/bin/python3 -B -m pkg", "code = [\"pkg/**\"]", "workspace");
    site.workspace.write("pkg/__main__.py", "from pkg.current import y\n");
    for release in ["1", "2"] {
        site.workspace.write(format!("pkg/{release}/y.py"), format!("print({release})\n"));
    }
    link(&site, "1", "pkg/current");
    let id = site.approved("tool", "{}");
    link(&site, "2", "pkg/current");
    site.run_call(&id).refused("changed since it was approved");
}

#[test]
fn code_bound_through_links_runs_closed() {
    let all = "code = [\"rel/**\"]";
    let inside = site("/usr/bin/python3 -B x.py", &format!("cwd = \"current\"\n{all}"), "closed");
    link(&inside, "rel/1", "current");
    assert_eq!(inside.receipt_of("tool", "{}")["stdout_summary"], "first");
}
