//! Links in the path of code. A link that changes makes the approval void.

use std::os::unix::fs::symlink;

use super::*;

fn link(bench: &Bench, to: &str, at: &str) {
    if bench.path(at).symlink_metadata().is_ok() {
        std::fs::remove_file(bench.path(at)).unwrap();
    }
    symlink(to, bench.path(at)).unwrap();
}

#[track_caller]
fn check(command: &str, at: &str, [first, second]: [&str; 2]) {
    for reads in ["workspace", "closed"] {
        let policy = format!(
            "{EFFECTS}allowed_families = ['script']\n[sandbox]\nmode = 'enforce'\nreads = '{reads}'\n"
        );
        let bench = Bench::on_disk(&[(POLICY, &*policy)]);
        let root = bench.path("");
        let root = root.to_str().unwrap().trim_end_matches('/');
        let command = command.replace("ROOT", root).replace("NAME", root.rsplit('/').next().unwrap());
        bench.write(CATALOG, &entry("tool", &format!("command = {command:?}\ncode = ['rel/**']")));
        for release in ["1", "2"] {
            for file in ["x.py", "y.py", "test_x.py", "x.js", "pkg/__main__.py"] {
                bench.write(&format!("rel/{release}/{file}"), release);
            }
            bench.program(&format!("rel/{release}/x"), "#!/bin/sh\n");
        }
        let bench = bench.with_variables(&[("PATH", "/usr/local/bin:/usr/bin:/bin")]);
        link(&bench, first, at);
        let approved = bench.plan("tool", "{}");
        link(&bench, second, at);
        let changes = approved.binding().changes(bench.plan("tool", "{}").binding());
        assert!(format!("{changes:?}").contains(at), "{command}, {reads}: {changes:?}");
        link(&bench, first, at);
        let changes = approved.binding().changes(bench.plan("tool", "{}").binding());
        assert!(changes.is_empty(), "{command}, {reads}: {changes:?}");
    }
}

#[test]
fn a_link_on_the_way_to_code_is_bound() {
    let releases = ["rel/1", "rel/2"];
    for command in [
        "/usr/bin/python3 -B current/x.py",
        "/usr/bin/python3 -B ./rel/../current/x.py",
        "node current/x.js",
        "./current/x",
        "env ./current/x",
        "/usr/bin/python3 -B ROOT/current/x.py",
        "/usr/bin/python3 -B ../NAME/current/x.py",
        "/usr/bin/python3 -B -m unittest discover -s current",
    ] {
        check(command, "current", releases);
    }
    check("/usr/bin/python3 -B -m pkg", "pkg", ["rel/1/pkg", "rel/2/pkg"]);
}
