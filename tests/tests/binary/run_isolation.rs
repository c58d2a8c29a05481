//! Isolation of runs: launched programs, Brigade's own limits, and the time after Brigade was killed.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests set up files and look at what the binary left")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use brigade_tests::{PATH, Site, until};

#[test]
fn a_program_of_a_launcher_is_readable() {
    let elsewhere = Site::empty();
    elsewhere.write_program(
        "versions/1/bin/spoken",
        "#!/bin/sh\n. \"${0%/bin/*}/lib/words\"\necho \"$words $1\"\n",
    );
    elsewhere.workspace.write("versions/1/lib/words", "words='from the version'\n");
    // The program that would run if the first one were skipped.
    elsewhere.write_program("other/spoken", "#!/bin/sh\necho wrong\n");
    elsewhere.workspace.write("secret", "do not read\n");
    let folder = |name: &str| elsewhere.workspace.join(name).display().to_string();
    let path = format!("{}:{}:{PATH}", folder("versions/1/bin"), folder("other"));
    for command in ["env spoken hello", "timeout 5 spoken hello", "nice env A=b spoken hello", "spoken hello"]
    {
        let site = Site::script("").env("PATH", path.clone());
        site.add_to_policy("[sandbox]\nmode = \"enforce\"\n");
        site.workspace.write(".brigade/tools.toml", Site::entry("tool", command, ""));
        let receipt = site.receipt_of("tool", "{}");
        assert_eq!(receipt["status"], "completed", "{command}: {receipt:#}");
        assert_eq!(site.log_text(&receipt, "stdout"), "from the version hello\n", "{command}");
    }
    let secret = folder("secret");
    let site = Site::script("").env("PATH", path);
    site.add_to_policy("[sandbox]\nmode = \"enforce\"\n");
    site.workspace.write(".brigade/tools.toml", Site::entry("tool", &format!("env cat {secret}"), ""));
    assert_eq!(site.receipt_of("tool", "{}")["status"], "failed");
}

#[test]
fn a_run_that_lowers_limits_still_has_a_receipt() {
    // Without a sandbox, so that the script can do this.
    let script = "import os, resource, subprocess, sys\n\
        keeper = os.getppid()\n\
        stat = open(f'/proc/{keeper}/stat').read()\n\
        brigade = int(stat.rsplit(') ', 1)[1].split()[1])\n\
        stray = subprocess.Popen(['setsid', 'sh', '-c', 'trap \"\" TERM; exec sleep 600'])\n\
        open('pid', 'w').write(str(stray.pid))\n\
        for which in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE):\n\
        \x20   for process in (keeper, brigade):\n\
        \x20       _, most = resource.prlimit(process, which)\n\
        \x20       resource.prlimit(process, which, (0, most))\n";
    let site = Site::script("");
    site.workspace.write("bin/lower.py", script);
    let lines = "effects = [\"local-read\", \"local-write\"]";
    site.workspace.write(".brigade/tools.toml", Site::entry("tool", "/usr/bin/python3 bin/lower.py", lines));
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(receipt["exit_code"], 0, "{receipt:#}");
    assert_eq!(site.json(["call", "list"]).expect(0)["calls"].as_array().unwrap().len(), 1);
    assert!(!is_alive(&site.workspace.read_text("pid")));
}

/// Returns whether a process is running.
fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

fn kill(signal: &str, pid: &str) {
    assert!(Command::new("kill").args([signal, pid.trim()]).status().unwrap().success(), "{pid}");
}

#[test]
fn orphans_are_ended_when_run_is_recorded() {
    let site = Site::script_with(
        "echo $PPID > keeper\n\
         setsid sh -c 'trap \"\" TERM; echo $$ > stray; exec sleep 600' &\n\
         exec sleep 600\n",
        "effects = [\"local-read\", \"local-write\"]",
    );
    let id = site.approved("tool", "{}");
    let mut running = site.brigade.command(["tools", "call", "run", &id]);
    let mut running = running.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let read =
        |name: &str| fs::read_to_string(site.workspace.join(name)).ok().filter(|text| text.ends_with('\n'));
    let keeper = until("keeper", || read("keeper"));
    let stray = until("stray", || read("stray"));
    // Stopped, so that it cannot do its work in between.
    kill("-STOP", &keeper);
    running.kill().unwrap();
    running.wait().unwrap();
    kill("-KILL", &keeper);
    until("end of the keeper", || (!is_alive(&keeper)).then_some(()));
    assert!(is_alive(&stray), "no process was left to end it");
    site.queue("tool", "{\"b\": 1}");
    assert_eq!(site.status(&id), "interrupted");
    until("end of the stray", || (!is_alive(&stray)).then_some(()));
}

/// Issue 12: the limit has no effect for root, and a note says so.
#[test]
fn a_limit_that_the_kernel_does_not_apply_is_said() {
    let site = Site::script("id -u\n");
    let without = site.receipt_of("tool", "{}");
    assert_eq!(without["warnings"], serde_json::Value::Null, "{without:#}");
    site.add_to_policy("[limits]\nprocesses = 5000\n");
    let receipt = site.receipt_of("tool", "{}");
    let is_root = receipt["stdout_summary"] == "0";
    assert_eq!(receipt["warnings"].to_string().contains("`processes` of [limits]"), is_root, "{receipt:#}");
}

/// Issue 12: a run whose keeper was killed did not say why it failed.
#[test]
fn a_run_whose_keeper_was_killed_says_so() {
    let site = Site::script_with(
        "until [ -e go ]; do [ -e keeper ] || echo $PPID > keeper; sleep 0.02; done\n",
        "effects = [\"local-read\", \"local-write\"]",
    );
    let id = site.approved("tool", "{}");
    let mut command = site.brigade.command(["tools", "call", "run", &id, "--json"]);
    let run = std::thread::spawn(move || command.output().unwrap());
    let read = || fs::read_to_string(site.workspace.join("keeper")).ok().filter(|text| text.ends_with('\n'));
    let keeper = until("keeper", read);
    // When it waits for the end, it has reported the start.
    until("a keeper that waits", || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", keeper.trim())).ok()?;
        stat.rsplit(") ").next()?.starts_with('S').then_some(())
    });
    kill("-KILL", &keeper);
    let output = run.join().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let receipt = &report["receipt"];
    assert_eq!(
        (&receipt["status"], &receipt["exit_code"]),
        (&"failed".into(), &serde_json::Value::Null),
        "{receipt:#}"
    );
    let said = receipt["failure"].as_str().unwrap_or_default();
    assert!(said.contains("the process that supervises the run was killed"), "{receipt:#}");
}
