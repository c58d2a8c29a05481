//! The receipt has the files that a run used, and `run show --inputs` shows how reliable that is.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "a test makes a link")]

use std::collections::BTreeMap;

use brigade_tests::Site;
use serde_json::Value;

/// Returns a workspace with one sandboxed tool.
fn site(command: &str, lines: &str, policy: &str) -> Site {
    let site = Site::script("");
    site.add_to_policy(&format!("[sandbox]\nmode = \"enforce\"\n{policy}"));
    site.workspace.write(".brigade/tools.toml", Site::entry("tool", command, lines));
    site.workspace.write("lib/a.txt", "a");
    site.workspace.write("lib/b.txt", "b");
    site
}

/// Returns the paths of a list, each with its sha256.
fn files(list: &Value) -> BTreeMap<String, Option<String>> {
    let entry = |file: &Value| {
        (file["path"].as_str().unwrap().to_owned(), file["sha256"].as_str().map(str::to_owned))
    };
    list.as_array().unwrap().iter().map(entry).collect()
}

fn names(list: &Value) -> Vec<String> {
    files(list).into_keys().collect()
}

#[test]
fn the_receipt_lists_inputs_of_every_process() {
    let site = site("sh bin/first.sh", "effects = [\"local-read\", \"local-write\"]", "");
    site.workspace.write(
        "bin/first.sh",
        "cat lib/a.txt\n(cd lib && ../bin/second) &\nwait\necho new > out.txt\ncat .git/config || true\n\
         echo no > .brigade/x || true\n",
    );
    site.write_program(
        "bin/second",
        "#!/usr/bin/python3 -B\nimport threading\nread = lambda: open('b.txt').read()\n\
         threads = [threading.Thread(target=read) for _ in range(5)]\n[t.start() for t in threads]\n",
    );
    let receipt = site.receipt_of("tool", "{}");
    let observed = &receipt["observed"];
    assert_eq!(
        (&receipt["status"], &observed["state"]),
        (&"completed".into(), &"observed".into()),
        "{receipt:#}"
    );
    assert_eq!(observed["complete"], true, "{observed:#}");
    assert_eq!(observed["truncated"], false);
    assert_eq!(names(&observed["executed"]), ["bin/second"]);
    let read = files(&observed["read"]);
    // sha256 of `a` and of `b`.
    let (a, b) = (
        "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
        "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d",
    );
    assert_eq!(read["lib/a.txt"].as_deref(), Some(a), "{observed:#}");
    assert_eq!(read["lib/b.txt"].as_deref(), Some(b), "{observed:#}");
    assert_eq!(names(&observed["written"]), ["out.txt"]);
    let denied = observed["denied"].as_array().unwrap();
    assert!(
        denied.iter().any(|denied| denied["path"] == ".brigade/x" && denied["what"] == "write"),
        "{observed:#}"
    );
    assert!(
        observed["counts"]["read"].as_u64().unwrap() >= 7
            && observed["outside"]["/usr"].as_u64().unwrap() > 0
    );
}

#[test]
fn only_first_of_equal_runs_is_observed_by_default() {
    let state = |site: &Site| site.receipt_of("tool", "{}")["observed"]["state"].clone();
    let changed = site("sh bin/first.sh", "", "");
    changed.workspace.write("bin/first.sh", "cat lib/a.txt\n");
    let first = changed.receipt_of("tool", "{}");
    assert_eq!(first["observed"]["state"], "observed");
    let second = changed.receipt_of("tool", "{}");
    assert_eq!(
        (&second["observed"]["state"], &second["observed"]["run_id"]),
        (&"unchanged".into(), &first["id"])
    );
    assert_eq!(second["observed"]["read"], Value::Null);
    assert_eq!(changed.receipt_of("tool", "{\"a\": 1}")["observed"]["state"], "observed", "another call");
    changed.workspace.write("bin/first.sh", "cat lib/b.txt\n");
    assert_eq!(state(&changed), "observed");
    // The inputs of the unobserved run come from the observed one.
    let inputs = changed.json(["run", "show", second["id"].as_str().unwrap(), "--inputs"]).expect(0);
    assert_eq!(inputs["observed_run_id"], first["id"]);
    assert_eq!(names(&inputs["nobody"]), ["lib/a.txt"]);

    for (policy, expect) in
        [("observe = \"always\"\n", Value::from("observed")), ("observe = \"never\"\n", Value::Null)]
    {
        let site = site("sh bin/first.sh", "", policy);
        site.workspace.write("bin/first.sh", "cat lib/a.txt\n");
        assert_eq!((state(&site), state(&site)), (expect.clone(), expect), "{policy}");
    }
    let odd = site("sh bin/first.sh", "", "observe = \"allways\"\n");
    let text = odd.tools(["call", "plan", "tool", "--json"]).stdout_text();
    assert!(text.contains("observe") && text.contains("did you mean `always`?"), "{text}");
}

#[test]
fn inputs_are_grouped_by_their_evidence() {
    let lines = "argument_template = { file = \"{file}\", folder = \"--folder={folder}\" }";
    let site = site("sh bin/first.sh", lines, "");
    site.workspace.write("bin/first.sh", "cat \"$1\" lib/b.txt data/x.txt\n");
    site.workspace.write("data/x.txt", "x");
    let receipt = site.receipt_of("tool", "{\"file\": \"lib/a.txt\", \"folder\": \"data\"}");
    assert_eq!(receipt["status"], "completed", "{receipt:#}");
    let id = receipt["id"].as_str().unwrap();
    let inputs = site.json(["run", "show", id, "--inputs"]).expect(0);
    assert_eq!(names(&inputs["bound"]), ["bin/first.sh"], "{inputs:#}");
    assert_eq!(inputs["bound"][0]["differs"], false);
    assert_eq!(names(&inputs["arguments"]), ["data/x.txt", "lib/a.txt"], "{inputs:#}");
    assert_eq!(names(&inputs["nobody"]), ["lib/b.txt"], "{inputs:#}");
    let text = site.tools(["run", "show", id, "--inputs"]).stdout_text();
    for part in ["bound by the approval: 1", "named by arguments: 2", "not covered: 1", "lib/b.txt"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    site.json(["run", "show", "run-gone", "--inputs"]).expect(1);
}

#[test]
fn many_files_are_counted_and_names_are_masked() {
    let site = site("/usr/bin/python3 bin/many.py", "env_labels = [\"GITHUB_TOKEN\"]", "")
        .env("CANARY", "hunter2-hunter2");
    site.workspace.write("bin/many.py", "for n in range(2500): open(f'many/{n}').close()\n");
    for number in 0..2_500 {
        site.workspace.write(format!("many/{number}"), "");
    }
    site.workspace.write("hunter2-hunter2", "");
    let receipt = site.receipt_of("tool", "{}");
    let observed = &receipt["observed"];
    assert_eq!((observed["read"].as_array().unwrap().len(), &observed["truncated"]), (2_000, &true.into()));
    assert!(observed["complete"] == false && observed["counts"]["read"].as_u64().unwrap() >= 2_500);
    site.workspace.write("bin/many.py", "open('hunter2-hunter2')\n");
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(receipt["status"], "completed", "{receipt:#}");
    assert_eq!(receipt["observed"]["read"].as_array().unwrap().len(), 2, "{receipt:#}");
    assert!(!receipt.to_string().contains("hunter2"), "{receipt:#}");
}

#[test]
fn addresses_of_a_tool_with_the_network_are_listed() {
    let site = site("/usr/bin/python3 bin/net.py", "effects = [\"local-read\", \"network\"]", "");
    site.workspace.write(
        "bin/net.py",
        "import socket\nserver = socket.socket(); server.bind(('127.0.0.1', 0)); server.listen()\n\
         socket.create_connection(server.getsockname()); print(server.getsockname()[1])\n",
    );
    let receipt = site.receipt_of("tool", "{}");
    let port: u64 = receipt["stdout_summary"].as_str().unwrap().trim().parse().unwrap();
    let expect = serde_json::json!([
        {"address": "127.0.0.1", "port": 0, "what": "bind"},
        {"address": "127.0.0.1", "port": port, "what": "connect"},
    ]);
    assert_eq!(receipt["observed"]["connected"], expect, "{receipt:#}");
}

#[test]
fn no_way_of_writing_a_path_hides_a_read() {
    let site = site("python3 -B bin/x.py", "", "observe = \"always\"\n");
    for name in ["n1", "n2", "n3", "n4", "n5"] {
        site.workspace.write(name, name);
    }
    std::os::unix::fs::symlink("/proc/self/cwd/n2", site.workspace.join("L")).unwrap();
    site.workspace.write(
        "bin/x.py",
        "for path in ('/proc/self/../self/cwd/n1', 'L', '.' + '/' * 4085 + 'n3', 'n4', '/proc/self/root/proc/self/cwd/n5'):\n\
         \x20   print(open(path).read())\n",
    );
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(site.log_text(&receipt, "stdout"), "n1\nn2\nn3\nn4\nn5\n", "{receipt:#}");
    let observed = &receipt["observed"];
    let read = names(&observed["read"]);
    for name in ["n1", "n2", "n3", "n4", "n5"] {
        assert!(read.iter().any(|path| path == name), "{name}: {observed:#}");
    }
    assert_eq!(observed["complete"], true, "{observed:#}");
}

#[test]
fn code_that_a_closed_run_moves_is_listed_as_read() {
    let lines = "effects = [\"local-read\", \"local-write\"]";
    let site = site("/usr/bin/python3 -B bin/x.py", lines, "reads = \"closed\"\n");
    site.workspace
        .write("bin/x.py", "import os\nos.rename('bin', 'b2')\nprint(open('b2/x.py').read()[:6])\n");
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(site.log_text(&receipt, "stdout"), "import\n", "{receipt:#}");
    let observed = &receipt["observed"];
    assert!(names(&observed["read"]).iter().any(|path| path == "b2/x.py"), "{observed:#}");
    assert!(!observed["denied"].to_string().contains("b2/x.py"), "{observed:#}");
}

/// Issue 12: operations that change files without opening them.
#[test]
fn removed_moved_and_truncated_files_are_written() {
    let site = site("python3 -B -S x.py", "effects = [\"local-write\"]", "");
    site.workspace.write(
        "x.py",
        "import os\n\
         os.truncate('long', 1)\n\
         os.rename('old', 'moved')\n\
         os.unlink('gone')\n\
         os.mkdir('folder/')\n\
         os.link('long', 'folder/hard')\n\
         os.symlink('long', 'soft')\n\
         for way in [os.mkdir, os.rmdir, os.unlink]:\n    \
             try: way('.git/x')\n    \
             except OSError as error: pass\n",
    );
    for name in ["long", "old", "gone", ".git/x"] {
        site.workspace.write(name, "text\n");
    }
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(receipt["status"], "completed", "{receipt:#}");
    let observed = &receipt["observed"];
    assert_eq!(
        names(&observed["written"]),
        ["folder/", "folder/hard", "gone", "long", "moved", "old", "soft"],
        "{observed:#}"
    );
    assert!(names(&observed["denied"]).contains(&".git/x".to_owned()), "{observed:#}");
}
