//! Tests that a run's files, programs and connections are observed, and that observing changes nothing.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests set up and look at the real system"
)]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use brigade_process::{Control, Exit};
use brigade_sandbox::{
    Attempt, Mode, Network, Observation, ObservedFile, ObservedUse, SandboxProfile, installation_of,
    system_read_paths,
};
use common::{Trial, python};

struct Ground {
    _root: tempfile::TempDir,
    workspace: PathBuf,
    temporary: PathBuf,
}

impl Ground {
    fn new() -> Ground {
        let root = tempfile::tempdir().unwrap();
        let (workspace, temporary) = (root.path().join("workspace"), root.path().join("temporary"));
        fs::create_dir_all(workspace.join("lib/deep")).unwrap();
        fs::create_dir(&temporary).unwrap();
        fs::write(workspace.join("lib/a.txt"), "a").unwrap();
        fs::write(workspace.join("lib/deep/b.txt"), "b").unwrap();
        fs::write(workspace.join("run.sh"), "#!/bin/sh\ncat lib/a.txt\n").unwrap();
        fs::set_permissions(workspace.join("run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
        fs::write(root.path().join("secret"), "do not read").unwrap();
        Ground { _root: root, workspace, temporary }
    }

    fn profile(&self) -> SandboxProfile {
        let mut read = system_read_paths();
        read.extend(installation_of(&python()));
        read.push(self.workspace.clone());
        SandboxProfile { read, write: vec![self.temporary.clone()], ..SandboxProfile::nothing(Mode::Enforce) }
    }

    fn writing(&self) -> SandboxProfile {
        let mut profile = self.profile();
        profile.write.push(self.workspace.clone());
        profile
    }

    /// Runs it with these rules. It must succeed.
    #[track_caller]
    fn observe(&self, mut trial: Trial, profile: SandboxProfile) -> (ObservedUse, String) {
        trial.spec.directory = self.workspace.clone();
        trial.spec.sandbox = Some(profile);
        trial.spec.observe = Some(self.workspace.clone());
        let (outcome, output) = trial.output(&Control::default());
        assert_eq!(outcome.exit, Exit::Code(0), "{output}");
        trial.check_nothing_left();
        match outcome.observation {
            Some(Observation::Done(observed)) => (*observed, output),
            other => panic!("{other:?}"),
        }
    }
}

use std::os::unix::fs::PermissionsExt;

fn names(files: &[ObservedFile]) -> BTreeSet<&Path> {
    files.iter().map(|file| file.path.as_path()).collect()
}

fn set<'a>(names: &[&'a str]) -> BTreeSet<&'a Path> {
    names.iter().map(|name| Path::new(*name)).collect()
}

fn sha256(text: &str) -> Option<[u8; 32]> {
    use std::io::Write;
    let mut child = std::process::Command::new("sha256sum")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let digest = child.wait_with_output().unwrap().stdout;
    let hex = std::str::from_utf8(&digest[..64]).unwrap();
    let byte = |place: usize| u8::from_str_radix(&hex[2 * place..2 * place + 2], 16).unwrap();
    Some(std::array::from_fn(byte))
}

#[test]
fn a_chain_of_programs_is_seen_with_its_bytes() {
    let ground = Ground::new();
    let trial =
        Trial::shell("cd lib && ../run.sh; cd deep && (cat b.txt; cat ../../lib/a.txt) & cd ..; ./run.sh");
    let (observed, output) = ground.observe(trial, ground.profile());
    assert!(output.contains('a') && output.contains('b'), "{output}");
    assert_eq!(names(&observed.executed), set(&["run.sh"]));
    assert_eq!(names(&observed.read), set(&["run.sh", "lib/a.txt", "lib/deep/b.txt"]));
    let bytes = observed.read.iter().map(|file| (file.path.to_str().unwrap(), file.sha256));
    let bytes: std::collections::BTreeMap<_, _> = bytes.collect();
    assert_eq!((bytes["lib/a.txt"], bytes["lib/deep/b.txt"]), (sha256("a"), sha256("b")));
    assert_eq!(observed.executed[0].sha256, sha256("#!/bin/sh\ncat lib/a.txt\n"));
    assert!(observed.outside[Path::new("/usr")] > 0 && observed.counts.read >= 3, "{observed:?}");
    assert!(observed.unseen.is_empty() && !observed.is_truncated, "{observed:?}");
}

#[test]
fn python_threads_and_links_are_seen() {
    let ground = Ground::new();
    std::os::unix::fs::symlink("lib/a.txt", ground.workspace.join("link")).unwrap();
    let script = "
import os, threading
def read(number):
    for _ in range(20):
        open(['link', 'lib/deep/../deep/b.txt', '/proc/self/cwd/lib/a.txt'][number % 3]).read()
threads = [threading.Thread(target=read, args=(n,)) for n in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
os.chdir('lib'); folder = os.open('deep', os.O_RDONLY)
os.close(os.open('b.txt', os.O_RDONLY, dir_fd=folder)); os.listdir('.')
";
    let (observed, _) = ground.observe(Trial::python(script), ground.profile());
    let mut read = names(&observed.read);
    // Some versions of Python search for their modules there.
    read.remove(Path::new(""));
    assert_eq!(read, set(&["lib/a.txt", "lib/deep/b.txt", "lib/deep", "lib"]));
    let folders: Vec<_> = observed.read.iter().filter(|file| file.is_folder).collect();
    assert!(folders.iter().all(|folder| folder.sha256.is_none()) && 2 <= folders.len(), "{folders:?}");
    assert!(160 + 3 <= observed.counts.read, "{:?}", observed.counts);
}

#[test]
fn a_read_is_seen_however_its_path_is_written() {
    let ground = Ground::new();
    for (link, target) in
        [("link", "/proc/self/cwd/lib/two"), ("chain", "/proc/thread-self/root/proc/self/cwd/link")]
    {
        std::os::unix::fs::symlink(target, ground.workspace.join(link)).unwrap();
    }
    let mut paths = vec![
        "/proc/self/../self/cwd/lib/0".to_owned(),
        format!(".{}lib/1", "/".repeat(4080)),
        "/proc/self/root/proc/self/cwd/lib/2".to_owned(),
        "/proc/self/task/../../thread-self/cwd/lib/3".to_owned(),
        "/proc/mounts/../self/cwd/lib/gone".to_owned(),
        "/dev/fd/../cwd/lib/4".to_owned(),
    ];
    let mut expect: BTreeSet<String> = (0..5).map(|number| format!("lib/{number}")).collect();
    for (path, real) in [("link", "lib/two"), ("chain", "lib/two")] {
        paths.push(path.to_owned());
        expect.insert(real.to_owned());
    }
    for real in &expect {
        fs::write(ground.workspace.join(real), real).unwrap();
    }
    let script = format!(
        "
import os
for path in {paths:?}:
    try: open(path).read()
    except OSError as error: print(path, error)
os.close(os.open('lib/0', os.O_RDONLY, dir_fd=os.open('/proc/self/cwd', os.O_RDONLY)))
"
    );
    let (observed, output) = ground.observe(Trial::python(&script), ground.profile());
    assert_eq!(output.lines().count(), 1, "one file is missing: {output}");
    let read: BTreeSet<String> =
        names(&observed.read).iter().map(|path| path.display().to_string()).collect();
    assert!(read.is_superset(&expect), "{read:?}");
    assert!(observed.unseen.is_empty() && observed.denied.is_empty(), "{observed:?}");
}

#[test]
fn hidden_paths_are_read_or_reported_as_unseen() {
    let ground = Ground::new();
    // A path in a page that may only be executed, and one in a process that denies others access to its memory.
    let hidden = "
import ctypes, mmap, os
library = ctypes.CDLL(None, use_errno=True)
page = mmap.mmap(-1, 4096); page.write(b'lib/a.txt\\0')
place = ctypes.addressof(ctypes.c_char.from_buffer(page))
library.mprotect(ctypes.c_void_p(place), 4096, mmap.PROT_EXEC)
print('opened' if 0 <= library.open(ctypes.c_void_p(place), 0) else 'not opened')
";
    let closed = "
import ctypes
ctypes.CDLL(None).prctl(4, 0)
open('lib/a.txt').read(); print('opened')
";
    for script in [hidden, closed] {
        let (observed, output) = ground.observe(Trial::python(script), ground.profile());
        let is_listed = names(&observed.read).contains(Path::new("lib/a.txt"));
        let is_told = is_listed || !observed.unseen.is_empty();
        assert!(is_told || output == "not opened\n", "{output}{observed:?}");
    }
}

#[test]
fn writes_and_denials_are_observed() {
    let ground = Ground::new();
    let mut profile = ground.writing();
    fs::create_dir(ground.workspace.join(".git")).unwrap();
    profile.deny_write.push(ground.workspace.join(".git"));
    let script = "
import os
def attempt(path, mode):
    try: open(path, mode).close(); print('done', path, mode)
    except OSError as error: print(type(error).__name__, path, mode)
attempt('new.txt', 'w'); attempt('lib/a.txt', 'r+'); attempt('lib/a.txt', 'a'); attempt('gone', 'r')
attempt('.git/new', 'w'); attempt('../secret', 'r'); attempt('/etc/hostname', 'w'); attempt('/dev/null', 'w')
attempt('/dev/shm/x', 'w'); attempt('/dev/shm/x', 'r'); attempt(os.environ['TMPDIR'] + '/x', 'w')
";
    let mut trial = Trial::python(script);
    trial.spec.environment.push(("TMPDIR".into(), ground.temporary.clone().into()));
    let (observed, output) = ground.observe(trial, profile);
    assert_eq!(names(&observed.written), set(&["new.txt", "lib/a.txt"]), "{output}");
    let denied: Vec<_> = observed.denied.iter().map(|denied| (denied.path.as_path(), denied.what)).collect();
    let secret = ground.workspace.canonicalize().unwrap().with_file_name("secret");
    let expect = [
        (Path::new(".git/new"), Attempt::Write),
        (&secret, Attempt::Read),
        (Path::new("/etc/hostname"), Attempt::Write),
    ];
    assert_eq!(denied, expect, "{output}");
    for line in ["done new.txt w", "PermissionError ../secret r", "done /dev/shm/x r", "done /dev/null w"] {
        assert!(output.contains(line), "{line}: {output}");
    }
    assert!(names(&observed.read).contains(Path::new("lib/a.txt")));
}

#[test]
fn the_bytes_of_each_reading_are_noted() {
    let ground = Ground::new();
    let script = "
for text in ['one', 'two', 'two', 'one']:
    open('lib/a.txt', 'w').write(text)
    open('lib/a.txt').read()
";
    let (observed, _) = ground.observe(Trial::python(script), ground.writing());
    let read: Vec<_> = observed.read.iter().filter(|file| file.path == Path::new("lib/a.txt")).collect();
    let bytes: Vec<_> = read.iter().map(|file| file.sha256).collect();
    assert_eq!(bytes, [sha256("one"), sha256("two")]);
}

#[test]
fn many_files_truncate_the_list_and_are_counted() {
    let ground = Ground::new();
    for number in 0..2_100 {
        fs::write(ground.workspace.join(format!("lib/{number}")), "").unwrap();
    }
    let script = "for number in range(2100): open(f'lib/{number}').close()\nopen('run.sh')";
    let (observed, _) = ground.observe(Trial::python(script), ground.profile());
    assert_eq!((observed.read.len(), observed.is_truncated), (2_000, true));
    assert!(2_101 <= observed.counts.read, "{:?}", observed.counts);
}

#[test]
fn addresses_are_seen() {
    let ground = Ground::new();
    let script = "
import socket
server = socket.socket(); server.bind(('127.0.0.1', 0)); server.listen()
client = socket.socket(); client.connect(server.getsockname()); print(server.getsockname()[1])
six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
try: six.connect(('::1', 53))
except OSError: pass
";
    let profile = SandboxProfile { network: Network::Allowed, ..ground.profile() };
    let (observed, output) = ground.observe(Trial::python(script), profile);
    let port: u16 = output.trim().parse().unwrap();
    let seen = |address: &str, port: u16, is_bound: bool| {
        observed
            .connected
            .iter()
            .any(|seen| (seen.address.as_str(), seen.port, seen.is_bound) == (address, Some(port), is_bound))
    };
    assert!(seen("127.0.0.1", 0, true) && seen("127.0.0.1", port, false) && seen("::1", 53, false));
}

#[test]
fn signals_timeouts_and_kills_go_on_as_ever() {
    let ground = Ground::new();
    let signals = "
import signal
count = 0
def handle(*_):
    global count
    count += 1
signal.signal(signal.SIGALRM, handle); signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
for _ in range(3000): open('lib/a.txt').close()
signal.setitimer(signal.ITIMER_REAL, 0); print(count > 0)
";
    let (observed, output) = ground.observe(Trial::python(signals), ground.profile());
    assert!(output.contains("True") && 3_000 <= observed.counts.read, "{output}");

    let mut trial = Trial::python("while True: open('lib/a.txt').close()");
    trial.spec.directory = ground.workspace.clone();
    trial.spec.sandbox = Some(ground.profile());
    trial.spec.observe = Some(ground.workspace.clone());
    let control = Control { timeout: Some(Duration::from_millis(500)), ..Control::default() };
    let (outcome, _) = trial.output(&control);
    assert!(outcome.timed_out());
    trial.check_nothing_left();
    let Some(Observation::Done(observed)) = outcome.observation else { panic!() };
    assert!(0 < observed.counts.read && observed.unseen.is_empty());
}

#[test]
fn a_killed_keeper_is_reported() {
    let ground = Ground::new();
    let mut trial =
        Trial::python("import os, time\nopen('lib/a.txt').close()\nos.kill(os.getppid(), 9)\ntime.sleep(60)");
    trial.spec.directory = ground.workspace.clone();
    // With later versions, its sandbox would prevent the signal.
    let profile = SandboxProfile { landlock_at_most: Some(5), mode: Mode::BestEffort, ..ground.profile() };
    trial.spec.sandbox = Some(profile);
    trial.spec.observe = Some(ground.workspace.clone());
    let (outcome, _) = trial.output(&Control::default());
    trial.check_nothing_left();
    let Some(Observation::Done(observed)) = outcome.observation else { panic!() };
    assert_eq!(observed.unseen.len(), 1, "{observed:?}");
    assert!(names(&observed.read).contains(Path::new("lib/a.txt")));
}

#[test]
fn without_a_sandbox_nothing_is_observed() {
    let ground = Ground::new();
    let mut trial = Trial::shell("cat lib/a.txt");
    trial.spec.directory = ground.workspace.clone();
    trial.spec.observe = Some(ground.workspace.clone());
    let (outcome, output) = trial.output(&Control::default());
    assert_eq!((outcome.observation, output.as_str()), (None, "a"));
}
