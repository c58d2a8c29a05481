//! What a run leaves behind, and what Brigade leaves of itself, is bounded.

#![allow(
    clippy::disallowed_methods,
    reason = "tests look at what the binary left, below limits that a shell sets"
)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![cfg(target_os = "linux")]

use std::process::{Command, Output};

use brigade_tests::{Site, until};

/// Runs a call below a shell that first sets limits.
fn run_below(site: &Site, limits: &str, id: &str) -> Output {
    let plain = site.brigade.command(["tools", "call", "run", id, "--json"]);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{limits}; exec \"$0\" \"$@\"")]).arg(plain.get_program());
    command.args(plain.get_args()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(plain.get_current_dir().unwrap_or(site.workspace.path())).output().unwrap()
}

#[test]
fn thousands_of_large_checkpoints_are_counted_and_not_read() {
    let site = Site::script("");
    site.workspace.write(".brigade/tools.toml", Site::entry("tool", "/usr/bin/python3 bin/drop.py", ""));
    site.workspace.write(
        "bin/drop.py",
        "import os\nfolder = os.environ['BRIGADE_TOOL_CHECKPOINT_DIR']\n\
         for n in range(3000):\n    with open(f'{folder}/{n}.json', 'w') as file: file.truncate(1 << 20)\n",
    );
    let id = site.approved("tool", "{}");
    let output = run_below(&site, "ulimit -v 1048576", &id);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("checkpoint files were not read"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_ne!(site.status(&id), "interrupted", "the outcome stands");
    let left = std::fs::read_dir(site.workspace.path().join(".brigade/tools/checkpoints/incoming"));
    assert_eq!(left.map_or(0, Iterator::count), 0, "the drop folder is removed");
}

#[test]
fn neither_brigade_nor_its_keeper_makes_a_core_file() {
    let site = Site::script("");
    site.workspace.write(".brigade/tools.toml", Site::entry("tool", "sh bin/look.sh", ""));
    site.workspace.write(
        "bin/look.sh",
        "keeper=$PPID\nbrigade=$(awk '/^PPid/ { print $2 }' /proc/$keeper/status)\n\
         for id in $keeper $brigade; do awk '/core file/ { print \"core\", $5 }' /proc/$id/limits; done > seen.txt\n\
         kill -QUIT $brigade\n",
    );
    let id = site.approved("tool", "{}");
    run_below(&site, "ulimit -S -c $(ulimit -H -c)", &id);
    assert_eq!(site.workspace.read_text("seen.txt"), "core 0\ncore 0\n");
    let names = std::fs::read_dir(site.workspace.path()).unwrap();
    let names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    assert!(!names.iter().any(|name| name.starts_with("core")), "{names:?}");
}

/// Issue 12, finding 10: a tool that may only read held the lock of the queue.
#[test]
fn a_run_opens_nothing_of_the_state_and_keeps_nobody_waiting() {
    let site = Site::script("");
    site.add_to_policy("[sandbox]\nmode = \"enforce\"\n");
    site.workspace.write(".brigade/tools.toml", Site::entry("tool", "/usr/bin/python3 bin/hold.py", ""));
    site.workspace.write(
        "bin/hold.py",
        "import fcntl, os, time\nheld = []\nfor folder, _, names in os.walk('.brigade'):\n    \
         for name in names:\n        path = os.path.join(folder, name)\n        \
         try: held.append(open(path)); fcntl.flock(held[-1], fcntl.LOCK_EX); print('opened', path)\n        \
         except OSError: pass\n\
         for path in ['queue.lock', 'calls.jsonl', 'runs/ledger.jsonl', 'policy.toml']:\n    \
         try: print('opened', open('.brigade/tools/' + path))\n    except OSError: pass\n\
         try: fcntl.fcntl(open('bin/hold.py'), fcntl.F_SETLEASE, fcntl.F_RDLCK); print('leased')\n\
         except OSError: pass\n\
         print('ready', flush=True)\nwhile not os.path.exists('go.txt'): time.sleep(0.01)\n",
    );
    // A run before it, so that there is a ledger.
    site.workspace.write("go.txt", "");
    let first = site.receipt_of("tool", "{\"run\": 1}");
    assert_eq!(
        (&first["status"], &first["stdout_summary"]),
        (&"completed".into(), &"ready".into()),
        "{first:#}"
    );
    site.workspace.remove("go.txt");
    let id = site.approved("tool", "{\"run\": 2}");
    let mut command = site.brigade.command(["tools", "call", "run", &id, "--json"]);
    let run = std::thread::spawn(move || command.output().unwrap());
    until("run that is ready", || {
        let call = site.json(["call", "show", &id]).expect(0)["call"].clone();
        let log = format!(".brigade/tools/runs/{}.stdout.log", call["run_id"].as_str()?);
        let is_ready = site.workspace.exists(&log) && site.workspace.read_text(&log).contains("ready");
        is_ready.then_some(())
    });
    // While it holds what it can, others queue, approve and run.
    let began = std::time::Instant::now();
    let other = site.queue("tool", "{\"run\": 3}");
    site.json(["call", "reject", &other, "--reason", "x"]).expect(0);
    assert!(began.elapsed() < std::time::Duration::from_secs(9), "a held lock is waited for 10 s");
    site.workspace.write("go.txt", "");
    let output = run.join().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(site.status(&id), "completed");
    site.json(["run", "verify"]).expect(0);
}
