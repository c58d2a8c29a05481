//! What is installed in a virtual environment of the workspace is code of the commands that its Python runs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::disallowed_methods, reason = "tests make an environment and run Python")]

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use brigade_tests::Site;
use serde_json::Value;

const SCRIPT: &str = "#!ROOT/.venv/bin/python\nimport sys\nfrom server.cli import main\nsys.exit(main())\n";

/// A workspace with an environment, whose tool is closed to reading or not, and where its packages are.
fn site(command: &str, lines: &str, reads: &str) -> (Site, String) {
    let site = Site::script("");
    site.add_to_policy(&format!("[sandbox]\nmode = \"enforce\"\nreads = {reads:?}\n"));
    site.workspace.write(".brigade/tools.toml", Site::entry("tool", command, lines));
    let version = Command::new("/usr/bin/python3")
        .args(["-I", "-c", "import sys; print('python%d.%d' % sys.version_info[:2], end='')"])
        .output()
        .unwrap();
    let packages = format!(".venv/lib/{}/site-packages", String::from_utf8(version.stdout).unwrap());
    site.workspace.write(".venv/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = false\n");
    fs::create_dir_all(site.workspace.join(".venv/bin")).unwrap();
    symlink("/usr/bin/python3", site.workspace.join(".venv/bin/python")).unwrap();
    site.write_program(
        ".venv/bin/server",
        SCRIPT.replace("ROOT", &site.workspace.path().display().to_string()),
    );
    for (path, text) in [
        ("server/__init__.py", ""),
        ("server/__main__.py", "from server.cli import main\nmain()\n"),
        ("server/cli.py", "import helper\ndef main(): print(helper.word)\n"),
        ("helper.py", "word = 'approved'\n"),
        ("hook.py", ""),
        ("start.pth", "import hook\n"),
    ] {
        site.workspace.write(format!("{packages}/{path}"), text);
    }
    (site, packages)
}

const COMMANDS: [&str; 3] =
    [".venv/bin/python -B -m server", ".venv/bin/server", "env .venv/bin/python -B -m server"];

#[test]
fn of_a_closed_workspace_all_installed_packages_are_bound() {
    for command in COMMANDS {
        let (site, packages) = site(command, "", "closed");
        let receipt = site.receipt_of("tool", "{}");
        assert_eq!(receipt["stdout_summary"], "approved", "{command}: {receipt:#}");
        assert!(receipt["sandbox"]["enforced"].to_string().contains("closed-reads"), "{receipt:#}");
        for (number, (path, text)) in [
            ("helper.py", Some("word = 'changed'\n")),
            ("hook.py", Some("print('changed')\n")),
            ("added.pth", Some("import os; print('changed')\n")),
            ("sitecustomize.py", Some("print('changed')\n")),
            ("server/other.py", Some("")),
            ("hook.py", None),
        ]
        .into_iter()
        .enumerate()
        {
            let path = format!("{packages}/{path}");
            let id = site.approved("tool", &format!("{{\"number\": {number}}}"));
            let before = site.workspace.exists(&path).then(|| site.workspace.read_text(&path));
            match text {
                Some(text) => site.workspace.write(&path, text),
                None => site.workspace.remove(&path),
            }
            let refused = site.run_call(&id).refused(&path);
            assert_eq!(refused["receipt"], Value::Null, "{command}");
            match before {
                Some(text) => site.workspace.write(&path, text),
                None => site.workspace.remove(&path),
            }
        }
    }
}

#[test]
fn of_an_open_workspace_what_the_command_names_and_what_each_start_executes_is_bound() {
    for command in COMMANDS {
        let (site, packages) = site(command, "", "workspace");
        for (number, (path, is_bound)) in
            [("server/cli.py", true), ("hook.py", true), ("start.pth", true), ("helper.py", false)]
                .into_iter()
                .enumerate()
        {
            let path = format!("{packages}/{path}");
            let id = site.approved("tool", &format!("{{\"number\": {number}}}"));
            let before = site.workspace.read_text(&path);
            site.workspace.write(&path, format!("{before}\n# More\n"));
            let run = site.run_call(&id);
            match is_bound {
                true => drop(run.refused(&path)),
                false => assert_eq!(run.code, 0, "{command}: {path}\n{}", run.run),
            }
            site.workspace.write(&path, before);
        }
    }
}

/// An environment may be larger than what can be read each time. Then the entry says what it loads.
#[test]
fn too_many_packages_block_a_closed_call_with_the_count_unless_the_entry_lists_some() {
    let plan = |lines: &str, reads: &str| {
        let (site, packages) = site(COMMANDS[0], &lines.replace("VERSION", "python3*"), reads);
        fs::create_dir_all(site.workspace.join(&packages).join("large")).unwrap();
        let file = |number| format!("{packages}/large/{number}.py");
        (0..10_000).for_each(|number| fs::write(site.workspace.join(file(number)), "").unwrap());
        let plan = site.tools(["call", "plan", "tool", "--json"]).json();
        (site, plan["blocker_details"].as_array().unwrap().clone())
    };
    let (_, blockers) = plan("", "closed");
    assert_eq!(blockers.len(), 1, "{blockers:#?}");
    let message = blockers[0]["message"].as_str().unwrap();
    assert!(message.contains("site-packages") && message.contains("1000"), "{message}");
    assert_eq!(blockers[0]["code"], "code_not_bound");
    let (site, blockers) = plan("code = [\".venv/lib/VERSION/site-packages/helper.py\"]", "closed");
    assert_eq!(blockers, [] as [Value; 0]);
    assert_eq!(site.receipt_of("tool", "{}")["stdout_summary"], "approved");
    assert_eq!(plan("", "workspace").1, [] as [Value; 0]);
}
