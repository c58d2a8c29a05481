//! Inputs that are bound by an approval, on a disk with links and programs, are changed, and the run is refused.
//!
//! `call run` must exit with 1, name the changes also in its text, run nothing, and leave the call approved. After the
//! change is reverted, the call runs.

#![allow(clippy::disallowed_methods, reason = "tests change the files that an approval binds")]

use std::fs;
use std::os::unix::fs::symlink;

use crate::mutation_common::{ARGS, BODY, CATALOG, refused, site};

#[test]
fn projections_that_were_written() {
    let target = ".claude/commands/tool.md";
    let site = site();
    site.json(["apply", "--all"]).expect(0);
    let written = site.workspace.read(target);
    let id = site.approved("tool", ARGS);
    site.workspace.write(target, [&written, &b"one more line\n"[..]].concat());
    let document = refused(&site, &id, &["projections"]);
    assert!(document["blockers"].to_string().contains("conflicted"), "{document:#}");
    site.workspace.remove(target);
    refused(&site, &id, &["projections"]);
    site.workspace.write(target, "mine\n");
    refused(&site, &id, &["projections"]);
    site.workspace.write(target, &written);
    site.run_call(&id).expect(0);
}

#[test]
fn a_program_of_the_workspace() {
    let site = site();
    site.workspace.replace(CATALOG, "sh bin/tool.sh", "./bin/own --flag");
    site.write_program("bin/own", "#!/bin/sh\necho ran >> ran.txt\n");
    let id = site.approved("tool", ARGS);
    site.workspace.write("bin/own", "#!/bin/sh\necho evil >> ran.txt\n");
    refused(&site, &id, &["program bytes", "file bin/own"]);
    site.workspace.write("bin/own", "#!/bin/sh\necho ran >> ran.txt\n");
    site.run_call(&id).expect(0);
}

#[test]
fn a_file_behind_a_link() {
    let site = site();
    site.workspace.write("lib/one.sh", BODY);
    site.workspace.write("lib/two.sh", "echo evil >> ran.txt\n");
    symlink("../lib/one.sh", site.workspace.join("bin/link.sh")).unwrap();
    site.workspace.replace(CATALOG, "sh bin/tool.sh", "sh bin/link.sh --config=lib/helper.sh");
    let id = site.approved("tool", ARGS);

    site.workspace.write("lib/one.sh", "echo evil >> ran.txt\n");
    let document = site.run_call(&id).expect(1);
    assert!(document["changed"].to_string().contains(".sh"), "{document:#}");
    site.workspace.write("lib/one.sh", BODY);

    site.workspace.remove("bin/link.sh");
    symlink("../lib/two.sh", site.workspace.join("bin/link.sh")).unwrap();
    let document = site.run_call(&id).expect(1);
    assert!(document["changed"].to_string().contains(".sh"), "{document:#}");
    site.workspace.remove("bin/link.sh");
    symlink("../lib/one.sh", site.workspace.join("bin/link.sh")).unwrap();

    site.workspace.write("lib/helper.sh", "changed\n");
    refused(&site, &id, &["file lib/helper.sh"]);
    site.workspace.write("lib/helper.sh", "echo help\n");
    assert!(!site.workspace.exists("ran.txt"));
    site.run_call(&id).expect(0);
    assert_eq!(site.workspace.read_text("ran.txt"), "ran\n");
}

#[test]
fn a_file_behind_a_link_that_leads_out() {
    let site = site();
    let (one, two) = (site.beside("one.sh"), site.beside("two.sh"));
    fs::write(&one, BODY).unwrap();
    fs::write(&two, "echo evil >> ran.txt\n").unwrap();
    symlink(&one, site.workspace.join("bin/link.sh")).unwrap();
    site.workspace.replace(CATALOG, "sh bin/tool.sh", "sh bin/link.sh");
    let id = site.approved("tool", ARGS);
    let file = |path: &std::path::Path| format!("file {}", path.display());
    fs::write(&one, "echo evil >> ran.txt\n").unwrap();
    refused(&site, &id, &[&file(&one)]);
    site.workspace.remove("bin/link.sh");
    symlink(&two, site.workspace.join("bin/link.sh")).unwrap();
    refused(&site, &id, &[&file(&one), &file(&two), "file bin/link.sh"]);
    site.workspace.remove("bin/link.sh");
    symlink(&one, site.workspace.join("bin/link.sh")).unwrap();
    fs::write(&one, BODY).unwrap();
    site.run_call(&id).expect(0);
    assert_eq!(site.workspace.read_text("ran.txt"), "ran\n");
}

#[test]
fn a_workspace_may_be_moved() {
    let site = site();
    let id = site.approved("tool", ARGS);
    let moved = site.beside("moved");
    fs::rename(site.workspace.path(), &moved).unwrap();
    fs::create_dir(site.workspace.path()).unwrap();
    let target = ["--target", moved.to_str().unwrap()];
    site.json(["call", "run", &id].into_iter().chain(target)).refused("not approved on this host");
    site.json(["state", "adopt", "--yes"].into_iter().chain(target)).expect(0);
    let run = site.json(["call", "run", &id].into_iter().chain(target)).expect(0);
    assert_eq!(run["target"], moved.to_str().unwrap());
    assert!(run["receipt"]["stdout_log_path"].as_str().unwrap().starts_with(moved.to_str().unwrap()));
    assert!(moved.join("ran.txt").exists());
    assert_eq!(site.json(["run", "verify"].into_iter().chain(target)).expect(0)["valid"], true);
}
