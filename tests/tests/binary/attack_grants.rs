//! Grants of the sandbox: only the approval and the policy open it, never files in the workspace.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests set up files and look at what the binary left")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use brigade_tests::Site;
use serde_json::Value;

/// Returns a site with a sandbox. Its home has a secret and an installation of Python.
fn site(lines: &str) -> Site {
    let site = Site::script_with("true\n", lines);
    site.add_to_policy("[sandbox]\nmode = \"enforce\"\n");
    let home = home(&site);
    fs::create_dir_all(home.join(".ssh")).unwrap();
    fs::write(home.join(".ssh/id"), "the key\n").unwrap();
    site
}

fn home(site: &Site) -> PathBuf {
    site.workspace.home().to_owned()
}

/// Runs an approved call. Returns its receipt and its output.
fn run(site: &Site, id: &str) -> (Value, String) {
    let answer = site.run_call(id);
    let receipt = answer.json["receipt"].clone();
    let printed = if receipt.is_object() { site.log_text(&receipt, "stdout") } else { String::new() };
    (receipt, printed)
}

const READS: &str = "import os, sys\nfor way in sys.argv[1:] or [os.environ['HOME'] + '/.ssh/id']:\n    try: print(open(way).read())\n    except OSError as error: print(error.errno)\n";

#[test]
fn a_first_line_opens_nothing() {
    for command in ["python3 bin/x.py", "env python3 bin/x.py", "bin/y", "env bin/y", "timeout 5 bin/y"] {
        let site = site("");
        let ssh = home(&site).join(".ssh");
        site.write_program("bin/x.py", format!("#!{}\n{READS}", ssh.display()));
        site.write_program("bin/y", format!("#!/usr/bin/env -S python3 {0}/id {0}\n", ssh.display()));
        site.workspace.write(".brigade/tools.toml", Site::entry("tool", command, ""));
        let (receipt, printed) = run(&site, &site.approved("tool", "{}"));
        assert!(!printed.contains("the key"), "{command}: {receipt:#}");
        let opened = receipt["sandbox"]["read"].to_string();
        assert!(!opened.contains(".ssh"), "{command}: {opened}");
    }
}

#[test]
fn a_first_line_opens_only_the_program_that_it_names() {
    for (line, command) in [
        ("#!PROGRAM\n", "./x.sh"),
        ("#!PROGRAM\n", "env ./x.sh"),
        ("#!/usr/bin/env PROGRAM\n", "./x.sh"),
        ("#!/usr/bin/env -S nice PROGRAM\n", "./x.sh"),
        ("#!./link\n", "./x.sh"),
    ] {
        let site = site("");
        let tools = home(&site).join("dev/tools");
        fs::create_dir_all(tools.join("lib")).unwrap();
        fs::create_dir_all(tools.join("bin")).unwrap();
        fs::write(tools.join("secret.key"), "the key\n").unwrap();
        let program = tools.join("bin/runner");
        fs::write(&program, "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        symlink(&program, site.workspace.join("link")).unwrap();
        let line = line.replace("PROGRAM", program.to_str().unwrap());
        let key = tools.join("secret.key").display().to_string();
        let script =
            format!("{line}try: print(open({key:?}).read())\nexcept OSError as error: print(error.errno)\n");
        site.write_program("x.sh", script);
        site.workspace.write(".brigade/tools.toml", Site::entry("tool", command, ""));
        let plan = site.json(["call", "plan", "tool"]).expect(0);
        let opened = plan["policy"]["sandbox"]["program_paths"].to_string();
        assert_eq!(opened, format!("[\"{}\"]", program.display()), "{line} {command}");
        let (receipt, printed) = run(&site, &site.approved("tool", "{}"));
        assert_eq!(printed, "13\n", "{line} {command}: {receipt:#}");
        // The reviewed command itself may name the program.
        let command = format!("{} x.sh", program.display());
        site.workspace.write(".brigade/tools.toml", Site::entry("tool", &command, ""));
        let (receipt, printed) = run(&site, &site.approved("tool", r#"{"n": 2}"#));
        assert_eq!(printed, "the key\n\n", "{command}: {receipt:#}");
    }
}

/// Installs a Python in the home of a site, which runs the system's Python.
fn installation(site: &Site) -> PathBuf {
    let version = home(site).join("versions/3.99");
    fs::create_dir_all(version.join("bin")).unwrap();
    fs::create_dir_all(version.join("lib/python3.99")).unwrap();
    fs::write(version.join("lib/python3.99/os.py"), "").unwrap();
    let python = version.join("bin/python3");
    fs::write(&python, "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n").unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    version
}

#[test]
fn virtual_environment_access_is_shown_and_bound() {
    let site = site("");
    let version = installation(&site);
    let base = version.join("bin").display().to_string();
    site.workspace.write(".venv/pyvenv.cfg", format!("home = {base}\n"));
    fs::create_dir_all(site.workspace.join(".venv/bin")).unwrap();
    symlink(version.join("bin/python3"), site.workspace.join(".venv/bin/python")).unwrap();
    site.workspace.write("bin/x.py", READS);
    site.workspace.write(".brigade/tools.toml", Site::entry("tool", ".venv/bin/python bin/x.py", ""));
    let shown = version.join("lib").display().to_string();
    let plan = site.json(["call", "plan", "tool"]).expect(0);
    assert!(plan["policy"]["sandbox"]["program_paths"].to_string().contains(&shown), "{plan:#}");
    assert!(site.tools(["call", "plan", "tool"]).stdout_text().contains(&shown));
    let explained = site.json(["policy", "explain", "tool"]).expect(0);
    let rulings = explained["rulings"].as_array().unwrap();
    assert!(
        rulings.iter().any(|ruling| ruling["topic"] == "read" && ruling["subject"] == *shown),
        "{explained:#}"
    );
    let id = site.approved("tool", "{}");
    let (receipt, printed) = run(&site, &id);
    assert_eq!((receipt["status"].as_str(), printed.as_str()), (Some("completed"), "13\n"), "{receipt:#}");
    assert!(receipt["sandbox"]["read"].to_string().contains(&shown), "{receipt:#}");

    // Declarations that are written afterwards grant nothing.
    let id = site.approved("tool", r#"{"n": 2}"#);
    fs::create_dir_all(site.workspace.join("fake/bin")).unwrap();
    symlink(home(&site).join(".ssh"), site.workspace.join("fake/bin/python3")).unwrap();
    let fake = site.workspace.join("fake/bin").display().to_string();
    site.workspace.write(".venv/pyvenv.cfg", format!("home = {fake}\n"));
    let (receipt, printed) = run(&site, &id);
    assert!(!printed.contains("the key"), "{receipt:#}");
    // Even after an approval, they grant nothing.
    let (receipt, printed) = run(&site, &site.approved("tool", r#"{"n": 3}"#));
    assert!(!printed.contains("the key"), "{receipt:#}");
}

#[test]
fn another_target_of_a_link_is_another_grant() {
    let site = site("");
    let version = installation(&site);
    let other = home(&site).join("versions/4.00");
    fs::create_dir_all(other.join("lib/python4")).unwrap();
    fs::create_dir_all(other.join("bin")).unwrap();
    fs::copy(version.join("bin/python3"), other.join("bin/python3")).unwrap();
    let link = site.workspace.join("python");
    symlink(version.join("bin/python3"), &link).unwrap();
    site.workspace.write("bin/x.py", READS);
    site.workspace.write(".brigade/tools.toml", Site::entry("tool", "./python bin/x.py", ""));
    let id = site.approved("tool", "{}");
    fs::remove_file(&link).unwrap();
    symlink(other.join("bin/python3"), &link).unwrap();
    // The bytes are unchanged.
    let refused = site.run_call(&id).expect(1);
    assert!(refused["changed"].to_string().contains("policy"), "{refused:#}");
}

#[test]
fn policy_paths_in_the_workspace_follow_no_link() {
    let home_of = |site: &Site| home(site).display().to_string();
    for (key, path) in [
        ("write_paths", "cache"),
        ("write_paths", "./x/../cache"),
        ("write_paths", "a/cache"),
        ("write_paths", "WORKSPACE/cache"),
        ("write_paths", "WORKSPACE/../WORKSPACE_NAME/a/../cache"),
        ("read_paths", "cache"),
        ("read_paths", "cache/.ssh"),
        ("read_paths", "a/cache"),
    ] {
        let lines = "effects = [\"local-read\", \"local-write\"]";
        let site = site(lines);
        let workspace = site.workspace.join(".").canonicalize().unwrap();
        let name = workspace.file_name().unwrap().to_str().unwrap().to_owned();
        let path = path.replace("WORKSPACE_NAME", &name).replace("WORKSPACE", workspace.to_str().unwrap());
        let policy = site.workspace.read_text(".brigade/tools/policy.toml");
        let policy =
            policy.replace("mode = \"enforce\"\n", &format!("mode = \"enforce\"\n{key} = [\"{path}\"]\n"));
        site.workspace.write(".brigade/tools/policy.toml", policy);
        for folder in ["cache", "x", "a/cache"] {
            fs::create_dir_all(workspace.join(folder)).unwrap();
        }
        let script = format!(
            "{READS}try:\n    open('{0}/new', 'w').write('x')\nexcept OSError: pass\n",
            home_of(&site)
        );
        site.workspace.write("bin/x.py", script);
        site.workspace.write(".brigade/tools.toml", Site::entry("tool", "/usr/bin/python3 bin/x.py", lines));
        let first = site.approved("tool", "{}");
        let second = site.approved("tool", r#"{"n": 2}"#);
        let (receipt, _) = run(&site, &first);
        assert_eq!(receipt["status"], "completed", "{path}: {receipt:#}");
        assert!(!receipt["sandbox"]["missing"].to_string().contains("link"), "{receipt:#}");
        for folder in ["cache", "a"] {
            fs::remove_dir_all(workspace.join(folder)).unwrap();
        }
        symlink(home(&site), workspace.join("cache")).unwrap();
        fs::create_dir(workspace.join("b")).unwrap();
        symlink(home(&site), workspace.join("b/cache")).unwrap();
        symlink("b", workspace.join("a")).unwrap();
        let (receipt, printed) = run(&site, &second);
        assert!(!printed.contains("the key"), "{key} {path}: {receipt:#}");
        assert!(!home(&site).join("new").exists(), "{key} {path}");
        assert!(receipt["sandbox"]["missing"].to_string().contains("link"), "{key} {path}: {receipt:#}");
    }
}

#[test]
fn a_link_closes_more_and_never_less() {
    let lines = "effects = [\"local-read\", \"local-write\"]";
    let modules = |site: &Site, target: &str, path: &str| {
        let workspace = site.workspace.join(".");
        let link = workspace.join(path);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(target, link).unwrap();
        site.workspace.write(".gitmodules", format!("[submodule \"x\"]\n\tpath = {path}\n"));
    };
    for (target, path) in [(".", "linked"), ("..", "sub/linked")] {
        let site = site(lines);
        fs::create_dir_all(site.workspace.join(".git/hooks")).unwrap();
        fs::create_dir_all(site.workspace.join("sub/.git")).unwrap();
        site.workspace.write("plain/data.txt", "data\n");
        modules(&site, target, path);
        let policy = site.workspace.join(".brigade/tools/policy.toml");
        let script = format!(
            "import os\nfor path in ['{}', '{}', '.git']:\n    try: os.chmod(path, 0o777); print('changed')\n    except OSError: pass\nopen('plain/data.txt', 'w').write('new')\n",
            policy.display(),
            home(&site).display()
        );
        site.workspace.write("bin/x.py", script);
        site.workspace.write(".brigade/tools.toml", Site::entry("tool", "/usr/bin/python3 bin/x.py", lines));
        let (receipt, printed) = run(&site, &site.approved("tool", "{}"));
        assert_eq!(
            (receipt["status"].as_str(), printed.as_str()),
            (Some("completed"), ""),
            "{path}: {receipt:#}"
        );
        let sandbox = &receipt["sandbox"];
        assert!(sandbox["enforced"].to_string().contains("attributes"), "{path}: {sandbox:#}");
        assert!(!sandbox["missing"].to_string().contains("not permitted"), "{path}: {sandbox:#}");
        assert_eq!(site.workspace.read_text("plain/data.txt"), "new");
    }
}

/// Issue 12: files that decide grants are read before a run, and a pipe in their place must not block it.
#[test]
fn a_pipe_in_the_place_of_settings_holds_no_run_up() {
    let lines = "effects = [\"local-read\", \"local-write\"]";
    for (command, pipe, ends) in [
        ("sh bin/tool.sh", ".gitmodules", Some("completed")),
        ("sh bin/tool.sh", "sub/.git", Some("completed")),
    ] {
        let mut site = site(lines);
        site.brigade = site.brigade.timeout(std::time::Duration::from_secs(60));
        site.workspace.write(".brigade/tools.toml", Site::entry("tool", command, lines));
        site.workspace.write("bin/x.py", "print('ran')\n");
        site.workspace.write("venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.2\n");
        site.workspace.write("venv/bin/activate", "");
        site.workspace.write("sub/file", "");
        symlink("/usr/bin/python3", site.workspace.join("venv/bin/python")).unwrap();
        let id = site.approved("tool", "{}");
        if site.workspace.exists(pipe) {
            site.workspace.remove(pipe);
        }
        let path = site.workspace.join(pipe);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let (receipt, _) = run(&site, &id);
        assert_eq!(receipt["status"].as_str(), ends, "{command}, {pipe}: {receipt:#}");
    }
}
