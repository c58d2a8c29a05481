//! What a run and Brigade leave on disk is bounded.

#![allow(
    clippy::disallowed_methods,
    reason = "tests look at what the binary left, below limits that a shell sets"
)]
#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Output, Stdio};

use brigade_tests::{Site, until};

/// Runs a call in a shell that first sets limits.
fn run_below(site: &Site, limits: &str, id: &str) -> Output {
    let plain = site.brigade.command(["tools", "call", "run", id, "--json"]);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{limits}; exec \"$0\" \"$@\"")]).arg(plain.get_program());
    command.args(plain.get_args()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(plain.get_current_dir().unwrap_or(site.workspace.path())).output().unwrap()
}

#[test]
fn many_large_checkpoints_are_counted_but_not_read() {
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
    assert_ne!(site.status(&id), "interrupted", "the outcome is recorded");
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

/// Issue 12, finding 10: a read-only tool held the lock of the queue.
#[test]
fn a_run_cannot_open_the_state_or_block_commands() {
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
    // An earlier run creates the ledger.
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
    // While the tool holds these files, other commands can queue, approve and run.
    let other = site.queue("tool", "{\"run\": 3}");
    site.json(["call", "reject", &other, "--reason", "x"]).expect(0);
    site.workspace.write("go.txt", "");
    let output = run.join().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(site.status(&id), "completed");
    site.json(["run", "verify"]).expect(0);
}

/// A process that changes a file when it reads a line, and prints a line before and after.
struct HelperProcess(Child, BufReader<std::process::ChildStdout>);

impl HelperProcess {
    fn start(code: &str, file: &std::path::Path) -> HelperProcess {
        let mut command = Command::new("python3");
        command.args(["-c", code]).arg(file).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        let mut other = HelperProcess(child, said);
        assert_eq!(other.says(), "ready");
        other
    }

    fn says(&mut self) -> String {
        let mut line = String::new();
        self.1.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn go(&mut self) {
        writeln!(self.0.stdin.as_mut().unwrap(), "go").unwrap();
    }
}

impl Drop for HelperProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Issue 12, finding 10: if a link in the state led to a directory of the workspace, a run could read it by that path.
#[test]
fn a_link_within_the_state_hides_where_it_leads_to() {
    const OPEN: &str = "import os\nfor folder in ['st/tools', '.brigade/tools']:\n    \
        for name in ['queue.lock', 'policy.toml', 'calls.jsonl']:\n        \
        try: print('opened', open(folder + '/' + name))\n        except OSError: pass\n\
        open(os.environ['BRIGADE_TOOL_CHECKPOINT_DIR'] + '/x.txt', 'w')\nprint('done')\n";
    for reads in ["workspace", "closed"] {
        let site = Site::script("");
        site.add_to_policy(&format!("[sandbox]\nmode = \"enforce\"\nreads = \"{reads}\"\n"));
        let effects = "effects = [\"local-read\", \"local-write\"]";
        let entry = Site::entry("tool", "/usr/bin/python3 bin/open.py", effects);
        site.workspace.write(".brigade/tools.toml", entry);
        site.workspace.write("bin/open.py", OPEN);
        let at = |path: &str| site.workspace.path().join(path);
        std::fs::create_dir(at("st")).unwrap();
        std::fs::rename(at(".brigade/tools"), at("st/tools")).unwrap();
        std::os::unix::fs::symlink("../st/tools", at(".brigade/tools")).unwrap();
        let receipt = site.receipt_of("tool", "{}");
        assert_eq!(receipt["stdout_summary"], "done", "{receipt:#}");
    }
}

/// Issue 12, finding 10: a file with a lease returns `EAGAIN` until its holder releases the lease.
#[test]
fn a_lease_that_is_given_up_later_is_waited_for() {
    const LEASE: &str = "import fcntl, os, signal, sys, time\n\
        broken = []\nsignal.signal(signal.SIGIO, lambda *_: broken.append(1))\n\
        file = os.open(sys.argv[1], os.O_RDWR)\nfcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)\n\
        print('ready', flush=True)\n\
        while not broken: time.sleep(0.01)\n\
        time.sleep(0.3)\nprint('gives it up', flush=True)\n\
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)\nsys.stdin.readline()\n";
    for file in ["policy.toml", "queue.lock", "calls.jsonl"] {
        let site = Site::script("echo ran\n");
        let id = site.approved("tool", "{}");
        let mut holder = HelperProcess::start(LEASE, &site.workspace.join(".brigade/tools").join(file));
        let receipt = site.run_call(&id).expect(0)["receipt"].clone();
        assert_eq!(receipt["stdout_summary"], "ran", "{file}: {receipt:#}");
        assert_eq!(holder.says(), "gives it up", "{file}: no process waited for the lease");
    }
}

/// Issue 12, finding 12: a write through a memory mapping updates the file time late.
#[test]
fn program_written_through_mapping_is_not_run() {
    const WRITE: &str = "import mmap, sys\n\
        file = open(sys.argv[1], 'r+b')\nmapped = mmap.mmap(file.fileno(), 0)\n\
        mapped[-1] = mapped[-1]\nprint('ready', flush=True)\n\
        sys.stdin.readline()\nmapped[-1] = mapped[-1] ^ 255\nmapped.close()\nfile.close()\n\
        print('written', flush=True)\n";
    let site = Site::script("");
    let program = site.beside("program");
    std::fs::copy("/bin/sh", &program).unwrap();
    let mut file = std::fs::File::options().append(true).open(&program).unwrap();
    file.write_all(&vec![7; 2 << 20]).unwrap();
    // The old time allows the digest to be cached.
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    drop(file);
    let command = format!("{} bin/tool.sh", program.display());
    site.workspace.write(".brigade/tools.toml", Site::entry("tool", &command, ""));
    site.workspace.write("bin/tool.sh", "echo ran\n");
    site.run_call(&site.approved("tool", "{}")).expect(0);
    let mut writer = HelperProcess::start(WRITE, &program);
    site.approved("tool", r#"{"first":1}"#);
    let id = site.approved("tool", r#"{"other":1}"#);
    writer.go();
    assert_eq!(writer.says(), "written");
    site.run_call(&id).refused("changed since it was approved: program bytes");
}

/// Issue 12, finding 14: the private directory of a run is removed, regardless of its depth and modes.
#[test]
fn a_deep_private_directory_is_removed_after_its_run() {
    let site = Site::script("");
    let temporary = site.beside("temporary");
    std::fs::create_dir_all(&temporary).unwrap();
    let site = site.env("TMPDIR", &temporary);
    site.workspace.write(".brigade/tools.toml", Site::entry("tool", "/usr/bin/python3 bin/deep.py", ""));
    site.workspace.write(
        "bin/deep.py",
        "import os\ntop = os.environ['TMPDIR']\nos.chdir(top)\nfor n in range(1500):\n    \
         os.mkdir('deeper'); os.chdir('deeper')\n    if n % 100 == 0: open('file', 'w').close()\n\
         os.chmod('../../deeper', 0); os.chmod(top + '/deeper/deeper', 0)\n\
         os.mkdir(top + '/' + 'n' * 255); os.symlink('..', top + '/up'); os.chmod(top, 0)\nprint('made')\n",
    );
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(
        (&receipt["stdout_summary"], &receipt["warnings"]),
        (&"made".into(), &serde_json::Value::Null),
        "{receipt:#}"
    );
    let left: Vec<_> = std::fs::read_dir(&temporary).unwrap().flatten().map(|left| left.path()).collect();
    assert!(left.is_empty(), "{left:?}");
}
