//! With `reads = "closed"`, a run can only read and execute approved code, declared data, and files named by its
//! arguments.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests set up files and look at what the binary left")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use brigade_testkit::Brigade;
use brigade_tests::{Site, until};
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

#[test]
fn unapproved_file_is_not_read_and_named() {
    let site = site("sh bin/tool.sh", "");
    site.workspace.write("bin/tool.sh", "cat lib/new.txt || echo closed\n. ./bin/more.sh || true\n");
    site.workspace.write("lib/new.txt", "not for it\n");
    site.workspace.write("bin/more.sh", "echo not approved\n");
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(receipt["stdout_summary"], "closed", "{receipt:#}");
    assert_eq!(
        (&receipt["sandbox"]["reads"], &receipt["sandbox"]["race"]),
        (&"closed".into(), &"none".into())
    );
    let said = "denied: lib/new.txt; add it to code or data of the tool: brigade tools observe tool --write";
    assert!(warnings(&receipt).contains(said), "{receipt:#}");
    let shown = site.tools(["run", "show", receipt["id"].as_str().unwrap()]);
    assert!(shown.stderr_text().contains(said), "{}", shown.stderr_text());
}

#[test]
fn declared_code_is_bound_and_runs_as_approved() {
    for (command, main, helper, file) in [
        (
            "/usr/bin/python3 bin/main.py",
            "import sys; sys.path.insert(0, 'lib'); import helper\n",
            "print('approved')\n",
            "lib/helper.py",
        ),
        ("node bin/main.py", "require('../lib/helper.py')\n", "console.log('approved')\n", "lib/helper.py"),
        ("perl bin/main.py", "require './lib/helper.py';\n", "print \"approved\\n\"; 1;\n", "lib/helper.py"),
        ("sh bin/main.py", ". ./lib/helper.py\n", "echo approved\n", "lib/helper.py"),
    ] {
        let site = site(command, "code = [\"lib/**\"]");
        site.workspace.write("bin/main.py", main);
        site.workspace.write(file, helper);
        let receipt = site.receipt_of("tool", "{}");
        assert_eq!(receipt["stdout_summary"], "approved", "{command}: {receipt:#}");
        // A changed or an added file is refused.
        for (path, bytes) in [(file, "changed"), ("lib/added.txt", "added")] {
            let id = site.approved("tool", &format!("{{\"path\": {path:?}}}"));
            let before = site.workspace.exists(path).then(|| site.workspace.read_text(path));
            site.workspace.write(path, bytes);
            let refused = site.run_call(&id).refused(path);
            assert_eq!(refused["receipt"], Value::Null);
            match before {
                Some(text) => site.workspace.write(path, text),
                None => site.workspace.remove(path),
            }
        }
    }
}

#[test]
fn arguments_and_data_open_what_they_name_and_no_code() {
    let lines = "code = [\"lib/**\"]\ndata = [\"fixtures/**/*.txt\"]\n\
        argument_template = { file = \"{file}\", folder = \"--folder={folder}\" }";
    let site = site("sh bin/tool.sh", lines);
    site.workspace.write(
        "bin/tool.sh",
        "cat \"$1\" \"${2#--folder=}/a.txt\" fixtures/deep/d.txt\ncat fixtures/x.csv || true\n",
    );
    for (path, text) in [
        ("in/one.txt", "one\n"),
        ("folder/a.txt", "a\n"),
        ("fixtures/deep/d.txt", "d\n"),
        ("fixtures/x.csv", "not declared\n"),
        ("lib/code.sh", "true\n"),
    ] {
        site.workspace.write(path, text);
    }
    let receipt = site.receipt_of("tool", "{\"file\": \"in/one.txt\", \"folder\": \"folder\"}");
    assert_eq!(receipt["stdout_summary"], "one a d", "{receipt:#}");
    assert!(warnings(&receipt).contains("denied: fixtures/x.csv"), "{receipt:#}");
    let id = receipt["id"].as_str().unwrap();
    let inputs = site.json(["run", "show", id, "--inputs"]).expect(0);
    assert_eq!(inputs["data"][0]["path"], "fixtures/deep/d.txt", "{inputs:#}");
}

#[test]
fn a_tool_that_writes_does_not_read_the_rest() {
    let site = site("/usr/bin/python3 bin/tool.py", "effects = [\"local-read\", \"local-write\"]");
    site.workspace.write(
        "bin/tool.py",
        "open('out.txt', 'w').write('x')\n\
         try: print(open('secret.txt').read())\nexcept PermissionError: print('closed')\n\
         try: open('bin/tool.py', 'a').write('#'); print('written')\nexcept OSError: print('read-only')\n",
    );
    site.workspace.write("secret.txt", "secret\n");
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(receipt["stdout_summary"], "closed read-only", "{receipt:#}");
    assert!(site.workspace.exists("out.txt"));
}

#[test]
fn an_open_workspace_is_what_it_was() {
    let site = Site::script("cat other.txt\n");
    site.add_to_policy("[sandbox]\nmode = \"enforce\"\n");
    site.workspace.write("other.txt", "open\n");
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!((&receipt["stdout_summary"], &receipt["sandbox"]["reads"]), (&"open".into(), &Value::Null));
}

/// Creates a program next to the workspace whose installation contains the workspace.
fn installed_around(site: &Site) -> String {
    fs::create_dir_all(site.beside("lib")).unwrap();
    fs::create_dir_all(site.beside("bin")).unwrap();
    fs::write(site.beside("lib/part.txt"), "installed\n").unwrap();
    let program = site.beside("bin/runner");
    fs::write(&program, "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program.display().to_string()
}

const READS: &str = "import sys\nfor path in ['lib.py', '../lib/part.txt', '.brigade/tools.toml']:\n    \
    try: print(open(path).read().split()[0])\n    except OSError as error: print(type(error).__name__)\n";

/// Takes the home away. The key of the host stays beside the workspace.
fn without_home(site: Site) -> Site {
    let state = site.workspace.home().to_owned();
    site.env("HOME", "/nonexistent").env("XDG_STATE_HOME", state)
}

#[test]
fn installation_around_workspace_opens_nothing() {
    for (mode, expect) in [
        ("closed", "PermissionError\ninstalled\nFileNotFoundError\n"),
        ("workspace", "unbound\ninstalled\nFileNotFoundError\n"),
    ] {
        // A directory that contains a home is not an installation.
        let site = without_home(Site::script(""));
        let program = installed_around(&site);
        site.add_to_policy(&format!("[sandbox]\nmode = \"enforce\"\nreads = \"{mode}\"\n"));
        site.workspace.write(".brigade/tools.toml", Site::entry("tool", &format!("{program} x.py"), ""));
        site.workspace.write("x.py", READS);
        site.workspace.write("lib.py", "approved\n");
        let id = site.approved("tool", "{}");
        site.workspace.write("lib.py", "unbound\n");
        let receipt = site.run_call(&id).json["receipt"].clone();
        assert_eq!(site.log_text(&receipt, "stdout"), expect, "{mode}: {receipt:#}");
        let around = site.beside("").display().to_string();
        let granted = receipt["sandbox"]["read"].to_string();
        assert!(granted.contains(around.trim_end_matches('/')), "{mode}: {receipt:#}");
        let is_closed = receipt["sandbox"]["enforced"].to_string().contains("closed-reads");
        assert_eq!(is_closed, mode == "closed", "{receipt:#}");
    }
}

#[test]
fn policy_path_above_workspace_closes_nothing() {
    let site = Site::script("cat lib.py\n");
    site.add_to_policy("[sandbox]\nmode = \"enforce\"\nreads = \"closed\"\nread_paths = [\"..\"]\n");
    site.workspace.write("lib.py", "open\n");
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(receipt["stdout_summary"], "open", "{receipt:#}");
    let sandbox = &receipt["sandbox"];
    assert_eq!(sandbox["race"], "possible", "{sandbox:#}");
    assert!(!sandbox["enforced"].to_string().contains("closed-reads"), "{sandbox:#}");
    assert!(sandbox["missing"].to_string().contains("nothing of the workspace is closed"), "{sandbox:#}");
}

#[test]
fn link_made_after_approval_opens_nothing() {
    let outside = |site: &Site| site.workspace.join("secret").display().to_string();
    for (name, link, target) in [
        ("in", "in", "secret"),
        ("in", "in", "ABSOLUTE"),
        ("in", "in", "chain"),
        ("folder/a.txt", "folder", "other"),
        ("folder/a.txt", "folder", "other/.git"),
        ("folder", "folder", "other/.git"),
        ("gone", "gone", "secret"),
    ] {
        let site = site("sh bin/tool.sh", "argument_template = { p = \"--in={p}\" }");
        site.workspace.write("bin/tool.sh", "cat \"${1#--in=}\" || cat \"${1#--in=}/a.txt\" || true\n");
        for file in ["in", "folder/a.txt"] {
            site.workspace.write(file, "named\n");
        }
        for file in ["secret", "other/a.txt", "other/.git/a.txt"] {
            site.workspace.write(file, "not named\n");
        }
        symlink("secret", site.workspace.join("chain")).unwrap();
        let args = |n: i32| format!("{{\"p\": {name:?}, \"n\": {n}}}");
        let id = site.approved("tool", &args(1));
        let path = site.workspace.join(link);
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => fs::remove_dir_all(&path).unwrap(),
            Ok(_) => fs::remove_file(&path).unwrap(),
            Err(_) => {}
        }
        symlink(target.replace("ABSOLUTE", &outside(&site)), &path).unwrap();
        let receipt = site.run_call(&id).json["receipt"].clone();
        assert_eq!(site.log_text(&receipt, "stdout"), "", "{name} -> {target}: {receipt:#}");
        let missing = receipt["sandbox"]["missing"].to_string();
        assert!(missing.contains("leads through a link"), "{name} -> {target}: {missing}");
    }
}

#[test]
fn new_file_beside_code_is_not_executed() {
    for (appears, argument) in [("bin/json/__init__.py", "bin/json"), ("bin/json.txt", "bin/json.txt")] {
        let site = site("/usr/bin/python3 -B bin/main.py", "argument_template = { p = \"{p}\" }");
        site.workspace.write("bin/main.py", "import json; print('approved')\n");
        let args = format!("{{\"p\": {argument:?}}}");
        assert_eq!(site.receipt_of("tool", &args)["stdout_summary"], "approved");
        let id = site.approved("tool", &format!("{{\"p\": {argument:?}, \"n\": 2}}"));
        site.workspace.write(appears, "print('not approved')\n");
        site.run_call(&id).refused(&format!("nothing at {argument}"));
        // In other cases, an argument opens what exists when the call runs.
        site.workspace.remove(appears);
        let _ = fs::remove_dir(site.workspace.join(argument));
        let id = site.approved("tool", "{\"p\": \"out/later.txt\"}");
        site.workspace.write("out/later.txt", "later\n");
        assert_eq!(site.run_call(&id).json["receipt"]["stdout_summary"], "approved");
    }
}

#[test]
fn an_argument_never_opens_git_or_brigade_files() {
    let site = site("sh bin/tool.sh", "argument_template = { p = \"{p}\" }");
    site.workspace.write("bin/tool.sh", "cat \"$1\" || true\n");
    for path in ["deep/.git/config", "deep/.brigade/tools.toml"] {
        site.workspace.write(path, "state\n");
        let receipt = site.receipt_of("tool", &format!("{{\"p\": {path:?}}}"));
        assert_eq!(site.log_text(&receipt, "stdout"), "", "{path}: {receipt:#}");
    }
    // Nor a nested directory below a named one.
    site.workspace.write("deep/er/.git/config", "state\n");
    site.workspace.write("deep/er/file", "file\n");
    site.workspace.write("deep/other/file", "other\n");
    let script = "cd \"$1\"\nfor path in .git/config er/.git/config .brigade/tools.toml er/file other/file; do\n\
        \x20   cat $path || true\ndone\n";
    site.workspace.write("bin/tool.sh", script);
    let receipt = site.receipt_of("tool", "{\"p\": \"deep\"}");
    assert_eq!(site.log_text(&receipt, "stdout"), "file\nother\n", "{receipt:#}");
}

/// Runs `brigade` with these mounts. Returns `None` with a note if mounts are not permitted.
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
fn with_mounts(site: &Site, mounts: &str) -> Option<Brigade> {
    let outside = site.beside("").display().to_string();
    let mounts = mounts.replace("OUTSIDE", outside.trim_end_matches('/'));
    let mounts = mounts.replace("WORKSPACE", &site.workspace.path().display().to_string());
    let wrapped =
        |command: &str| format!("#!/bin/sh\nexec unshare -m sh -c '{mounts} && {command}' sh \"$@\"\n");
    let program = site.beside("mounted");
    fs::write(&program, wrapped("true")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let tried = std::process::Command::new(&program).output().unwrap();
    if !tried.status.success() {
        eprintln!("skipped: mounts are not permitted here: {}", String::from_utf8_lossy(&tried.stderr));
        return None;
    }
    let binary = brigade_testkit::brigade_binary().display();
    fs::write(&program, wrapped(&format!("exec {binary} \"$@\""))).unwrap();
    Some(Brigade::for_program(program, &site.workspace).env("PATH", brigade_tests::PATH))
}

/// Issue 12: mounts that show a closed workspace a second time, below the installation of a program.
#[test]
fn a_mount_shows_nothing_of_a_closed_workspace() {
    for mounts in [
        "mount --bind WORKSPACE OUTSIDE/over",
        "mount --bind OUTSIDE OUTSIDE/other && mount --bind OUTSIDE/other/ws/sub OUTSIDE/over",
        "mount -t overlay x -o lowerdir=WORKSPACE:OUTSIDE/empty OUTSIDE/over",
        "mount -t overlay x -o lowerdir=OUTSIDE/empty:WORKSPACE/sub OUTSIDE/over",
        "mount -t overlay x -o lowerdir=OUTSIDE/empty,upperdir=WORKSPACE,workdir=OUTSIDE/other OUTSIDE/over",
        "mount --bind WORKSPACE OUTSIDE/other && mount -t overlay x -o lowerdir=OUTSIDE/other:OUTSIDE/empty OUTSIDE/over",
    ] {
        let mut site = without_home(Site::script(""));
        for folder in ["over", "other", "empty"] {
            fs::create_dir_all(site.beside(folder)).unwrap();
        }
        let name = site.workspace.path().file_name().unwrap().to_str().unwrap().to_owned();
        let mounts = mounts.replace("/ws/", &format!("/{name}/"));
        let program = installed_around(&site);
        site.add_to_policy("[sandbox]\nmode = \"enforce\"\nreads = \"closed\"\n");
        site.workspace.write(".brigade/tools.toml", Site::entry("tool", &format!("{program} x.py"), ""));
        let reads = READS.replace("'lib.py',", "'../over/lib.py', '../over/sub/lib.py', '../other/lib.py',");
        site.workspace.write("x.py", reads);
        site.workspace.write("lib.py", "unbound\n");
        site.workspace.write("sub/lib.py", "unbound\n");
        let Some(brigade) = with_mounts(&site, &mounts) else { return };
        site.brigade = brigade.env("HOME", "/nonexistent").env("XDG_STATE_HOME", site.workspace.home());
        let receipt = site.receipt_of("tool", "{}");
        let log = site.log_text(&receipt, "stdout");
        assert!(!log.contains("unbound") && log.contains("installed"), "{mounts}: {log}{receipt:#}");
        assert!(log.contains("PermissionError"), "{mounts}: {log}");
        assert!(receipt["sandbox"]["enforced"].to_string().contains("closed-reads"), "{mounts}: {receipt:#}");
        // The program is a script outside of the workspace, and its interpreter opens it again.
        assert_eq!(receipt["sandbox"]["race"], "possible", "{mounts}: {receipt:#}");
    }
}

#[test]
fn a_link_created_after_the_approval_is_not_code() {
    for effects in ["", "effects = [\"local-read\", \"local-write\"]\n"] {
        let lines = format!("{effects}data = [\"data/**\"]");
        let site = site("sh bin/tool.sh", &lines);
        site.workspace.write("bin/tool.sh", "sh ./local.sh || echo closed\ncat data/n.txt\n");
        site.workspace.write("data/n.txt", "echo linked\n");
        let id = site.approved("tool", "{}");
        symlink("data/n.txt", site.workspace.join("local.sh")).unwrap();
        let receipt = site.run_call(&id).json["receipt"].clone();
        assert_eq!(receipt["stdout_summary"], "closed echo linked", "{effects}: {receipt:#}");
        let race = if effects.is_empty() { "none" } else { "possible" };
        assert_eq!(receipt["sandbox"]["race"], race, "{receipt:#}");
    }
}

#[test]
fn a_program_behind_a_workspace_link_starts() {
    for command in ["./shell bin/tool.sh", "env ./shell bin/tool.sh"] {
        let site = site(command, "");
        symlink("/bin/sh", site.workspace.join("shell")).unwrap();
        site.workspace.write("bin/tool.sh", "echo ran\n");
        let receipt = site.receipt_of("tool", "{}");
        assert_eq!(receipt["stdout_summary"], "ran", "{command}: {receipt:#}");
    }
}

/// Issue 12: during a run that writes, another process moves one approved file over another.
#[test]
fn code_replaced_during_a_run_is_reported() {
    let lines = "effects = [\"local-read\", \"local-write\"]\ncode = [\"lib/**\"]";
    let site = site("/usr/bin/python3 -B x.py", lines);
    site.workspace.write(
        "x.py",
        "import os, sys, time\nopen('began.txt', 'w').close()\n\
         while not os.path.exists('go.txt'): time.sleep(0.01)\n\
         sys.path.insert(0, 'lib')\nimport a\n",
    );
    site.workspace.write("lib/a.py", "print('A')\n");
    site.workspace.write("lib/b.py", "print('B')\n");
    let id = site.approved("tool", "{}");
    let mut command = site.brigade.command(["tools", "call", "run", &id, "--json"]);
    let run = std::thread::spawn(move || command.output().unwrap());
    until("a run that waits", || site.workspace.exists("began.txt").then_some(()));
    fs::rename(site.workspace.join("lib/b.py"), site.workspace.join("lib/a.py")).unwrap();
    site.workspace.write("go.txt", "");
    let output = run.join().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let receipt = &report["receipt"];
    assert_eq!(receipt["sandbox"]["race"], "possible", "{receipt:#}");
    let missing = receipt["sandbox"]["missing"].to_string();
    assert!(missing.contains("another process that moves one over another"), "{missing}");
    if receipt["stdout_summary"] != "A" {
        let said = "used with other bytes than those that were approved, because they changed during the run: lib/a.py";
        assert!(warnings(receipt).contains(said), "{receipt:#}");
    }
    // With a single code file, no other file can be moved over it.
    let site = self::site("sh bin/tool.sh", "effects = [\"local-read\", \"local-write\"]");
    site.workspace.write("bin/tool.sh", "echo alone\n");
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(
        (&receipt["sandbox"]["race"], &receipt["warnings"]),
        (&"none".into(), &Value::Null),
        "{receipt:#}"
    );
}

/// Issue 12: a bound file that becomes an absolute link into the workspace counts as changed.
#[test]
fn bound_file_turned_link_is_named_as_changed() {
    let site = site("/usr/bin/python3 -B -m pkg", "code = [\"pkg/**\"]");
    site.workspace.write("pkg/__main__.py", "from pkg import a\n");
    site.workspace.write("pkg/__init__.py", "");
    site.workspace.write("pkg/a.py", "print('approved')\n");
    site.workspace.write("zz/evil.py", "print('other')\n");
    let id = site.approved("tool", "{}");
    site.workspace.remove("pkg/a.py");
    symlink(site.workspace.join("zz/evil.py"), site.workspace.join("pkg/a.py")).unwrap();
    let refusal = site.run_call(&id).refused("changed since it was approved");
    assert!(refusal.to_string().contains("pkg/"), "{refusal:#}");
}

/// Issue 12: a file that bound code would load by itself is not data, wherever it is.
#[test]
fn an_argument_names_no_module_that_bound_code_finds() {
    let lines = "code = [\"bin/*.py\", \"app/*.js\"]\nargument_template = { a = \"{a}\" }";
    let site = site("/usr/bin/python3 bin/x.py", lines);
    site.workspace.write("bin/x.py", "import json\nprint('approved')\n");
    site.workspace.write("app/x.js", "");
    for file in
        ["bin/__pycache__/x.pyc", "bin/pkg/__init__.py", "app/node_modules/a/index.js", "bin/data/a.csv"]
    {
        site.workspace.write(file, "");
    }
    let plan = site.tools(["call", "plan", "tool", "--args", "{\"a\": \"bin/pkg\"}", "--json"]).stdout_text();
    assert!(plan.contains("argument_opens_code"), "{plan}");
    // If it becomes a module later, the approval ends.
    for (path, module, added) in [
        ("bin/json.py", "bin/json.py", "bin/json.py"),
        ("bin/data", "bin/data/__init__.py", "bin/data/__init__.py"),
        ("bin/json", "bin/json/__init__.py", "bin/json"),
    ] {
        let id = site.approved("tool", &format!("{{\"a\": {path:?}}}"));
        site.workspace.write(module, "print('other')\n");
        site.run_call(&id).refused("changed since it was approved");
        site.workspace.remove(added);
        assert_eq!(site.run_call(&id).expect(0)["receipt"]["stdout_summary"], "approved", "{path}");
    }
}

/// Issue 12: the path to a workspace may lead through links, in every name of a file in it.
#[test]
fn a_closed_workspace_is_reached_by_a_path_around_it() {
    let lines = "code = [\"lib/**\"]\nargument_template = { a = \"{a}\" }";
    for (command, target) in
        [("sh bin/tool.sh", true), ("AROUND/bin/tool.sh", false), ("env AROUND/bin/tool.sh", false)]
    {
        let site = site("", "");
        let around = site.beside("around");
        symlink(site.workspace.path(), &around).unwrap();
        let spelled = |text: &str| text.replace("AROUND", around.to_str().unwrap());
        site.workspace.write(".brigade/tools.toml", Site::entry("tool", &spelled(command), lines));
        site.write_program("bin/tool.sh", "#!/bin/sh\n. ./lib/a.sh\ncat \"$1\"\n");
        site.workspace.write("lib/a.sh", "echo lib\n");
        site.workspace.write("data/a.txt", "data\n");
        site.workspace.write("other/a.txt", "other\n");
        let args = spelled("{\"a\": \"AROUND/data/a.txt\"}");
        let receipt = site.receipt_of("tool", &args);
        assert_eq!(receipt["stdout_summary"], "lib data", "{command}: {receipt:#}");
        assert_eq!(receipt["sandbox"]["race"], "none", "{command}: {receipt:#}");
        if target {
            let call = |words: &[&str]| {
                let words =
                    ["call"].iter().chain(words).copied().chain(["--target", around.to_str().unwrap()]);
                site.json(words).expect(0)
            };
            let queued = call(&["queue", "tool", "--args", "{\"a\": \"./data/a.txt\"}"]);
            let id = queued["call"]["id"].as_str().unwrap();
            call(&["approve", id]);
            let receipt = &call(&["run", id])["receipt"];
            assert_eq!(receipt["stdout_summary"], "lib data", "{receipt:#}");
        }
        // Code is also recognized through this path.
        for path in ["AROUND", "AROUND/lib"] {
            let args = spelled(&format!("{{\"a\": \"{path}\"}}"));
            let plan = site.tools(["call", "plan", "tool", "--args", &args, "--json"]).stdout_text();
            assert!(plan.contains("argument_opens_code"), "{path}: {plan}");
        }
        // If the path leads elsewhere, it names nothing in this workspace.
        fs::create_dir_all(site.beside("elsewhere/data")).unwrap();
        fs::write(site.beside("elsewhere/data/a.txt"), "elsewhere\n").unwrap();
        let id = site.approved("tool", &args);
        fs::remove_file(&around).unwrap();
        symlink(site.beside("elsewhere"), &around).unwrap();
        let document = site.run_call(&id).json;
        let receipt = &document["receipt"];
        assert!(receipt.is_null() || receipt["stdout_summary"] == "lib", "{command}: {document:#}");
    }
}

/// Issue 12: paths that the policy opens in a closed workspace are data.
#[test]
fn paths_of_the_policy_are_read_and_not_executed() {
    let lines = "effects = [\"local-read\", \"local-write\"]";
    let site = Site::script("");
    site.add_to_policy(
        "[sandbox]\nmode = \"enforce\"\nreads = \"closed\"\nread_paths = [\"rp\"]\nwrite_paths = [\"wp\"]\n",
    );
    site.workspace.write(".brigade/tools.toml", Site::entry("tool", "sh bin/tool.sh", lines));
    for path in ["rp/x", "wp/x"] {
        site.write_program(path, "#!/bin/sh\necho executed\n");
    }
    site.workspace.write(
        "bin/tool.sh",
        "for d in rp wp; do ./$d/x 2> /dev/null || echo closed; tail -n 1 $d/x; done\necho new > wp/new && cat wp/new\n",
    );
    let receipt = site.receipt_of("tool", "{}");
    let said = "closed echo executed closed echo executed new";
    assert_eq!(receipt["stdout_summary"], said, "{receipt:#}");
    // Without `local-write`, the run has a separate workspace, and the same rules apply.
    site.workspace.write(".brigade/tools.toml", Site::entry("tool", "sh bin/tool.sh", ""));
    site.workspace.write("bin/tool.sh", "./rp/x 2> /dev/null || echo closed\ntail -n 1 rp/x\n");
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(receipt["stdout_summary"], "closed echo executed", "{receipt:#}");
}

/// Issue 12: messages about denied reads say what to do.
#[test]
fn files_that_cannot_be_declared_are_reported() {
    let site = site("sh bin/tool.sh", "data = [\"d/x.txt\", \"gone/**\"]");
    site.workspace.write("real/x.txt", "x\n");
    site.workspace.write("secret.txt", "secret\n");
    let link = |to: &str, name: &str| symlink(to, site.workspace.path().join(name)).unwrap();
    link("real", "d");
    link("secret.txt", "alias.txt");
    site.workspace.write("bin/tool.sh", "cat .git/HEAD alias.txt d/x.txt || true\n");
    site.workspace.write(".git/HEAD", "ref\n");
    let plan = site.json(["call", "plan", "tool", "--args", "{}"]).json;
    let notes = plan["bound_code"]["notes"].to_string();
    for pattern in ["d/x.txt", "gone/**"] {
        assert!(notes.contains(&format!("`{pattern}` in `data` of the entry matches nothing")), "{notes}");
    }
    assert_eq!(plan["bound_code"]["data"], serde_json::json!(["d/x.txt", "gone/**"]));
    let receipt = site.receipt_of("tool", "{}");
    assert!(receipt["sandbox"]["missing"].to_string().contains("`d` in data is a link"), "{receipt:#}");
    let warned = warnings(&receipt);
    assert!(warned.contains("denied: .git/HEAD: what belongs to git or to Brigade stays closed"), "{warned}");
    assert!(!warned.contains("--write"), "{warned}");
    let report = site.json(["observe", "tool", "--write"]).expect(0);
    assert_eq!(
        (&report["data"], &report["code"]),
        (&serde_json::json!([]), &serde_json::json!([])),
        "{report:#}"
    );
}

/// Issue 12: code that the command binds was reported as not bound.
#[test]
fn bound_files_are_not_reported_as_unbound() {
    let site = site("sh bin/tool.sh", "");
    site.workspace.write("bin/tool.sh", "cat lib.sh other.txt || true\n");
    site.workspace.write("lib.sh", "echo\n");
    site.workspace.write("other.txt", "other\n");
    site.receipt_of("tool", "{}");
    let unbound = || {
        let plan = site.json(["call", "plan", "tool", "--args", "{}"]).json["bound_code"]["unbound"].clone();
        let report = site.json(["observe", "tool"]).expect(0);
        let paths = report["unbound"].as_array().unwrap().iter().map(|file| file["path"].clone());
        assert_eq!(plan, paths.collect::<Value>());
        plan
    };
    assert_eq!(unbound(), serde_json::json!(["lib.sh", "other.txt"]));
    site.workspace.write(".brigade/tools.toml", Site::entry("tool", "sh bin/tool.sh lib.sh", ""));
    assert_eq!(unbound(), serde_json::json!(["other.txt"]));
}

/// Issue 12: the loader could execute a data file by mapping it as code.
#[test]
fn data_and_what_arguments_name_is_not_mapped_as_code() {
    const MAPS: &str = "import mmap, sys\nfor path in sys.argv[1:] + ['data/x', 'open/x', 'bin/code']:\n    \
        with open(path, 'rb') as file:\n        \
        for way in [mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_EXEC]:\n            \
        try: mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, way); print('mapped')\n            \
        except PermissionError: print('refused')\n";
    let loader = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
    let loader = loader.into_iter().find(|path| fs::metadata(path).is_ok());
    for effects in ["\"local-read\"", "\"local-read\", \"local-write\""] {
        let lines = format!(
            "effects = [{effects}]\ndata = [\"data/**\"]\ncode = [\"bin/code\"]\nargument_template = {{ file = \"{{file}}\" }}"
        );
        let site = site("/usr/bin/python3 bin/maps.py", &lines);
        site.add_to_policy("read_paths = [\"open\"]\n");
        site.workspace.write("bin/maps.py", MAPS);
        for path in ["data/x", "in/x", "open/x", "bin/code"] {
            site.write_program(path, fs::read("/bin/true").unwrap());
        }
        let receipt = site.receipt_of("tool", "{\"file\": \"in/x\"}");
        let printed = site.log_text(&receipt, "stdout");
        let expect = "mapped\nrefused\n".repeat(3) + "mapped\nmapped\n";
        assert_eq!(printed, expect, "{effects}: {receipt:#}");
        let Some(loader) = loader else { continue };
        site.workspace.write(
            "bin/maps.py",
            format!(
                "import subprocess\nfor path in ['data/x', 'bin/code']:\n    \
             print(subprocess.run([{loader:?}, path], stderr=subprocess.DEVNULL).returncode)\n"
            ),
        );
        let receipt = site.receipt_of("tool", "{\"file\": \"in/x\", \"number\": 2}");
        assert_eq!(site.log_text(&receipt, "stdout"), "127\n0\n", "{effects}: {receipt:#}");
    }
}
