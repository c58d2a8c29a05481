//! Every bound input is changed after the approval, and the run is refused.
//!
//! Each row prepares a workspace, approves a call, changes one input, and lists the names expected in `changed`. Then
//! `call run` must exit with 1, name the changes also in its text, run nothing, and leave the call approved. After the
//! change is reverted, the call runs.

#![allow(clippy::disallowed_methods, reason = "tests change the files that an approval binds")]

use std::fs;
use std::os::unix::fs::symlink;

use brigade_tests::{PATH, Site};
use serde_json::{Value, json};

use crate::mutation_common::{ARGS, BODY, CATALOG, refused, site};

const POLICY: &str = ".brigade/tools/policy.toml";

/// Approves a call, changes an input, and expects these names. After the change is reverted, the call must run.
#[track_caller]
fn check(name: &str, change: impl FnOnce(&Site), changed: &[&str]) {
    let site = site();
    let id = site.approved("tool", ARGS);
    let before = site.workspace.files("");
    change(&site);
    refused(&site, &id, changed);
    for (path, bytes) in before {
        if !site.workspace.exists(&path) || site.workspace.read(&path) != bytes {
            site.workspace.write(&path, bytes);
        }
    }
    let run = site.run_call(&id);
    assert_eq!(run.code, 0, "{name}: taken back, it runs\n{}", run.run);
}

/// Approves a call, changes something that is not bound, and expects that it runs.
#[track_caller]
fn unbound(name: &str, change: impl FnOnce(&Site)) {
    let site = site();
    let id = site.approved("tool", ARGS);
    change(&site);
    let run = site.run_call(&id);
    assert_eq!(run.code, 0, "{name} is not bound\n{}", run.run);
}

#[test]
fn the_contract() {
    check(
        "timeout",
        |site| site.workspace.replace(CATALOG, "timeout = 30", "timeout = 29"),
        &["contract", "policy"],
    );
    check(
        "argument template",
        |site| site.workspace.replace(CATALOG, r#"a = "{a}""#, r#"a = "--a={a}""#),
        &["args", "contract"],
    );
}

#[test]
fn the_schemas_and_examples() {
    for (path, text) in [
        ("schemas/tool.json", r#"{"type":"object","title":"x"}"#),
        ("schemas/tool.output.json", "{}"),
        ("examples/tool.json", "[ ]"),
    ] {
        check(path, |site| site.workspace.write(path, text), &["contract"]);
    }
    check("a removed file", |site| site.workspace.remove("examples/tool.json"), &["contract"]);
}

#[test]
fn the_command_and_the_files_that_it_names() {
    check(
        "another command",
        |site| site.workspace.replace(CATALOG, "sh bin/tool.sh", "sh bin/tool.sh --more"),
        &["contract"],
    );
    check(
        "another file",
        |site| site.workspace.replace(CATALOG, "sh bin/tool.sh", "sh lib/helper.sh"),
        &["contract", "file bin/tool.sh", "file lib/helper.sh"],
    );
    check(
        "the script",
        |site| site.workspace.write("bin/tool.sh", "echo ran > ran.txt\n"),
        &["file bin/tool.sh"],
    );
    check("one byte", |site| site.workspace.write("bin/tool.sh", format!("{BODY}\n")), &["file bin/tool.sh"]);
    check("a script that is gone", |site| site.workspace.remove("bin/tool.sh"), &["file bin/tool.sh"]);
}

#[test]
fn the_source() {
    check("the source", |site| site.workspace.write("docs/tool.md", "# Other\n"), &["source"]);
    check("no source", |site| site.workspace.remove("docs/tool.md"), &["source", "projections"]);
}

#[test]
fn the_projections() {
    check(
        "another target",
        |site| site.workspace.replace(CATALOG, "commands/tool.md", "commands/other.md"),
        &["projections"],
    );
    check(
        "another harness",
        |site| {
            site.workspace.replace(CATALOG, r#"["claude"]"#, r#"["claude", "codex"]"#);
        },
        &["projections"],
    );
    let site = site();
    let id = site.approved("tool", ARGS);
    site.workspace.write(".claude/commands/tool.md", "mine\n");
    refused(&site, &id, &["projections"]);
    site.workspace.remove(".claude/commands/tool.md");
    site.run_call(&id).expect(0);
}

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
fn the_policy_decision() {
    for (old, new) in [("\"CANARY\"", "\"OTHER\""), (r#"["secret-read"]"#, r#"["local-read"]"#)] {
        check(new, |site| site.workspace.replace(POLICY, old, new), &["policy"]);
    }
    check("a policy that is not understood", |site| site.workspace.write(POLICY, "= ="), &["policy"]);
    check("no policy", |site| site.workspace.remove(POLICY), &["policy"]);
}

#[test]
fn the_sandbox() {
    let site = site();
    site.add_to_policy("[sandbox]\nmode = \"enforce\"\nread_paths = [\"/var/tmp\"]\n");
    let id = site.approved("tool", ARGS);
    site.workspace.replace(POLICY, "/var/tmp", "/var/lib");
    refused(&site, &id, &["policy"]);
}

#[test]
fn the_arguments_in_the_queue() {
    let edit = |site: &Site, change: &dyn Fn(&mut Value)| {
        let path = ".brigade/tools/calls.jsonl";
        let text = site.workspace.read_text(path);
        let lines = text.lines().map(|line| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            change(&mut record);
            format!("{record}\n")
        });
        site.workspace.write(path, lines.collect::<String>());
    };
    let check = |change: &dyn Fn(&mut Value), changed: &[&str]| {
        let site = site();
        let id = site.approved("tool", ARGS);
        edit(&site, change);
        refused(&site, &id, changed);
    };
    let set = |pointer: &'static str, value: Value| {
        move |record: &mut Value| {
            if let Some(member) = record.pointer_mut(pointer) {
                *member = value.clone();
            }
        }
    };
    check(&set("/args/a", json!("2")), &["args"]);
    check(&set("/reviewed_at", json!("2020-01-01T00:00:00+00:00")), &["approval record"]);
    check(&set("/approval_binding/files", json!({})), &["file bin/tool.sh", "approval record"]);
}

#[test]
fn the_program_that_the_path_finds() {
    let site = site();
    let path = site.beside("programs");
    fs::create_dir(&path).unwrap();
    let site = site.env("PATH", format!("{}:{PATH}", path.display()));
    let id = site.approved("tool", ARGS);
    fs::copy("/bin/sh", path.join("sh")).unwrap();
    refused(&site, &id, &["program path"]);
    fs::remove_file(path.join("sh")).unwrap();
    site.run_call(&id).expect(0);
}

#[test]
fn the_bytes_of_the_program() {
    // A program outside of the workspace, found by PATH: a copy of a binary, then a script.
    let own = |bytes: Vec<u8>, other: Vec<u8>, gone: &[&str]| {
        let site = site();
        let path = site.beside("programs");
        fs::create_dir(&path).unwrap();
        let site = site.env("PATH", format!("{}:{PATH}", path.display()));
        site.workspace.replace(CATALOG, "sh bin/tool.sh", "own bin/tool.sh");
        let program = path.join("own");
        let write = |bytes: &[u8]| {
            fs::write(&program, bytes).unwrap();
            fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        };
        write(&bytes);
        let id = site.approved("tool", ARGS);
        write(&other);
        refused(&site, &id, &["program bytes"]);
        fs::remove_file(&program).unwrap();
        // The text names the old path of the program, and not its consequences.
        let document = site.run_call(&id).expect(1);
        assert_eq!(document["changed"], json!(gone), "{document:#}");
        let was = format!("the program `own` was {} and is not found now", program.display());
        assert!(
            document["error"].to_string().contains(&was) || document["blockers"].to_string().contains(&was)
        );
        write(&bytes);
        site.run_call(&id).expect(0);
        assert_eq!(site.workspace.read_text("ran.txt"), "ran\n");
    };
    let shell = fs::read("/bin/sh").unwrap();
    let mut longer = shell.clone();
    longer.push(0);
    own(shell, longer, &["program path", "program bytes"]);
    // For a script, the interpreter is bound, too.
    let gone = ["program path", "program bytes", "file /bin/sh"];
    own(b"#!/bin/sh\necho ran >> ran.txt\n".to_vec(), b"#!/bin/sh\necho evil >> ran.txt\n".to_vec(), &gone);
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
fn several_changes_are_all_named() {
    let site = site();
    let id = site.approved("tool", ARGS);
    site.workspace.write("bin/tool.sh", "");
    site.workspace.write("docs/tool.md", "");
    site.workspace.remove(POLICY);
    refused(&site, &id, &["source", "policy", "file bin/tool.sh"]);
}

#[test]
fn the_tool_itself() {
    let site = site();
    let id = site.approved("tool", ARGS);
    let catalog = site.workspace.read_text(CATALOG);
    for text in [
        String::new(),
        catalog.replace("id = \"tool\"", "id = \"tool2\""),
        catalog.replace("id = \"tool\"", "id = \"tool\"\nenabled = false"),
        catalog.replace("family = \"script\"", "family = \"custom\""),
        // Of two entries with one id, the first counts. So an entry before it changes the contract.
        format!("{}\n{catalog}", Site::entry("tool", "sh bin/tool.sh", "")),
        format!("{catalog}\n= ="),
    ] {
        site.workspace.write(CATALOG, text);
        let run = site.run_call(&id);
        assert_eq!(run.code, 1, "{}\n{}", site.workspace.read_text(CATALOG), run.run);
        assert_eq!(site.status(&id), "approved");
    }
    assert!(!site.workspace.exists("ran.txt"));
    site.workspace.write(CATALOG, catalog);
    site.run_call(&id).expect(0);
}

#[test]
fn changes_before_the_approval_are_noticed() {
    let site = site();
    let id = site.queue("tool", ARGS);
    site.workspace.write("docs/tool.md", "# Other\n");
    site.json(["call", "approve", &id]).refused("source");
    assert_eq!(site.status(&id), "pending");
}

#[test]
fn unbound_inputs_may_change() {
    unbound("a comment in the policy", |site| {
        let policy = site.workspace.read_text(POLICY);
        site.workspace.write(POLICY, format!("# a comment\n\n{policy}\n# another\n"));
    });
    unbound("a rule for others", |site| {
        site.workspace.replace(POLICY, r#"["script"]"#, r#"["script", "mcp"]"#);
        site.workspace.replace(POLICY, "\"CANARY\"", "\"CANARY\", SAFE = \"SAFE\"");
        site.workspace.replace(POLICY, r#"["secret-read"]"#, r#"["secret-read", "remote-mutation"]"#);
        site.workspace.replace(POLICY, "max_timeout = 60", "max_timeout = 90");
    });
    unbound("another tool", |site| {
        site.add_to_catalog(&Site::entry("other", "sh bin/other.sh", ""));
    });
    unbound("a broken entry of another tool", |site| {
        site.add_to_catalog("[[tool]]\nid = \"other\"\nfamily = \"nonsense\"\n");
    });
    unbound("comments and order in the catalog", |site| {
        let catalog = site.workspace.read_text(CATALOG);
        let other = Site::entry("other", "sh bin/other.sh", "");
        site.workspace.write(CATALOG, format!("# hello\n{other}\n# hello\n{catalog}"));
    });
    unbound("name and description", |site| {
        site.workspace.replace(CATALOG, "name = \"Tool\"", "name = \"A tool\"\ndescription = \"New\"");
    });
    unbound("a file that nothing names", |site| site.workspace.write("lib/helper.sh", "changed\n"));
    unbound("only the time of the files", |site| {
        for path in ["bin/tool.sh", "docs/tool.md", "schemas/tool.json", CATALOG, POLICY] {
            let file = fs::File::options().append(true).open(site.workspace.join(path)).unwrap();
            file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        }
    });
}

#[test]
fn data_files_that_arguments_name_may_change() {
    let site = Site::script_with("cat \"$1\" > ran.txt\n", r#"argument_template = { path = "{path}" }"#);
    site.workspace.write("data.txt", "before");
    let id = site.approved("tool", r#"{"path":"data.txt"}"#);
    site.workspace.write("data.txt", "after");
    site.run_call(&id).expect(0);
    assert_eq!(site.workspace.read_text("ran.txt"), "after");
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

#[test]
fn a_receipt_that_was_changed_shows() {
    let site = site();
    for args in [r#"{"a":"1"}"#, r#"{"a":"2"}"#, r#"{"a":"3"}"#] {
        site.receipt_of("tool", args);
    }
    assert_eq!(site.json(["run", "verify"]).expect(0)["checked"], 3);
    let files = site.workspace.files(".brigade/tools/runs");
    let ledger = ".brigade/tools/runs/ledger.jsonl";
    let text = site.workspace.read_text(ledger);
    let lines: Vec<&str> = text.lines().collect();
    let first: Value = serde_json::from_str(lines[0]).unwrap();
    let first = format!(".brigade/tools/runs/{}.json", first["run_id"].as_str().unwrap());
    let broken = |what: &str, change: &dyn Fn()| {
        change();
        let document = site.json(["run", "verify"]).expect(1);
        assert_eq!(document["valid"], false, "{what}: {document:#}");
        site.tools(["run", "verify"]).assert_code(1);
        for (path, bytes) in &files {
            site.workspace.write(path, bytes);
        }
        assert_eq!(site.json(["run", "verify"]).expect(0)["valid"], true, "{what} was taken back");
    };
    broken("a receipt", &|| {
        let receipt = site.workspace.read_text(&first).replace("completed", "failed");
        site.workspace.write(&first, receipt);
    });
    broken("a receipt that is gone", &|| site.workspace.remove(&first));
    broken("a line that is gone", &|| site.workspace.write(ledger, format!("{}\n{}\n", lines[0], lines[2])));
    broken("another order", &|| {
        site.workspace.write(ledger, format!("{}\n{}\n{}\n", lines[1], lines[0], lines[2]))
    });
    broken("a tail that is gone", &|| site.workspace.write(ledger, format!("{}\n", lines[0])));
    broken("no ledger", &|| site.workspace.remove(ledger));
}
