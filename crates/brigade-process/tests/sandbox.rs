//! Tests that ways out of the sandbox are closed and that honest programs work in it.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests set up and look at the real system"
)]

mod common;
#[path = "sandbox/repository.rs"]
mod repository;

use std::fs;
use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::Duration;

use brigade_process::{Control, Exit, OpenedRepository, RunError, SpawnError};
use brigade_sandbox::{
    Enforcement, LocalSockets, Mode, Network, SandboxProfile, installation_of, system_read_paths,
};
use common::{Trial, python};

/// A workspace with `.git` and `.brigade`, a private directory for temporary files, and a home with a secret.
struct Ground {
    _root: tempfile::TempDir,
    workspace: PathBuf,
    temporary: PathBuf,
    home: PathBuf,
}

impl Ground {
    fn new() -> Ground {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| {
            let path = root.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let (workspace, temporary, home) = (path("workspace"), path("temporary"), path("home"));
        fs::create_dir_all(workspace.join(".git/hooks")).unwrap();
        fs::create_dir_all(workspace.join(".brigade/checkpoints")).unwrap();
        fs::create_dir(workspace.join("src")).unwrap();
        fs::write(workspace.join("src/main.txt"), "old").unwrap();
        fs::write(workspace.join("top.txt"), "old").unwrap();
        fs::write(workspace.join(".git/config"), "real").unwrap();
        fs::write(home.join("secret"), "do not read").unwrap();
        std::os::unix::fs::symlink(home.join("secret"), workspace.join("link")).unwrap();
        Ground { _root: root, workspace, temporary, home }
    }

    /// Allows the reads that every tool gets, and writing only below `temporary`.
    fn reading(&self) -> SandboxProfile {
        let mut read = system_read_paths();
        read.extend(installation_of(&python()));
        read.push(self.workspace.clone());
        SandboxProfile {
            workspace: Some(self.workspace.clone()),
            read,
            write: vec![self.temporary.clone()],
            deny_write: vec![self.workspace.join(".git"), self.workspace.join(".brigade")],
            ..SandboxProfile::nothing(Mode::Enforce)
        }
    }

    fn writing(&self) -> SandboxProfile {
        let mut profile = self.reading();
        profile.write.push(self.workspace.clone());
        profile
    }

    fn enter(&self, mut trial: Trial, profile: SandboxProfile) -> Trial {
        trial.spec.directory = self.workspace.clone();
        trial.spec.environment.push(("HOME".into(), self.home.clone().into()));
        trial.spec.environment.push(("TMPDIR".into(), self.temporary.clone().into()));
        trial.spec.sandbox = Some(profile);
        trial
    }
}

fn control() -> Control {
    Control { timeout: Some(Duration::from_secs(60)), ..Control::default() }
}

/// Runs Python in the sandbox and returns its output.
#[track_caller]
fn python_says(ground: &Ground, profile: SandboxProfile, script: &str) -> String {
    let trial = ground.enter(Trial::python(script), profile);
    let (outcome, output) = trial.output(&control());
    assert_eq!(outcome.exit, Exit::Code(0), "{output}");
    output.trim().to_owned()
}

/// Makes every attempt. Each must fail with a system error, and must not succeed or end in another way.
#[track_caller]
fn check_blocked(ground: &Ground, profile: SandboxProfile, attempts: &[impl AsRef<str>]) {
    let mut script = "import os, socket, ctypes\n".to_owned();
    for (index, attempt) in attempts.iter().enumerate() {
        let body = attempt.as_ref().replace('\n', "\n    ");
        script += &format!("try:\n    {body}\n    print('escaped:', {index})\nexcept OSError: pass\n");
    }
    let said = python_says(ground, profile, &(script + "print('done')"));
    let escaped = said.lines().filter_map(|line| line.strip_prefix("escaped: ")?.parse::<usize>().ok());
    let escaped: Vec<&str> = escaped.map(|index| attempts[index].as_ref()).collect();
    assert_eq!(escaped, Vec::<&str>::new());
    assert!(said.ends_with("done"), "{said}");
}

/// Returns the profile for several kernel versions. Each must forbid the same.
fn versions(profile: &SandboxProfile) -> Vec<SandboxProfile> {
    [None, Some(4), Some(2), Some(1)]
        .into_iter()
        .map(|landlock_at_most| SandboxProfile { landlock_at_most, ..profile.clone() })
        .collect()
}

#[test]
fn nothing_is_written_without_the_right() {
    let ground = Ground::new();
    for profile in versions(&ground.reading()) {
        let attempts = [
            "open('new', 'w')",
            "open('src/main.txt', 'w')",
            "open('src/main.txt', 'a')",
            "os.truncate('src/main.txt', 0)",
            "os.open('src/main.txt', os.O_RDONLY | os.O_TRUNC)",
            "os.unlink('top.txt')",
            "os.rename('top.txt', 'other.txt')",
            "os.mkdir('folder')",
            "os.symlink('top.txt', 'other')",
            "os.link('top.txt', os.environ['TMPDIR'] + '/other')",
            "os.rename('top.txt', os.environ['TMPDIR'] + '/other')",
            "open(os.environ['HOME'] + '/new', 'w')",
            "open('/tmp/brigade-escape', 'w')",
            "os.mknod(os.environ['TMPDIR'] + '/disk', 0o60600, os.makedev(8, 0))",
        ];
        check_blocked(&ground, profile.clone(), &attempts);
    }
    assert_eq!(fs::read_to_string(ground.workspace.join("src/main.txt")).unwrap(), "old");
}

#[test]
fn the_state_and_the_repository_are_never_written() {
    let ground = Ground::new();
    for profile in versions(&ground.writing()) {
        let attempts = [
            "open('.git/hooks/post-commit', 'w')",
            "open('.git/config', 'a')",
            "os.truncate('.git/config', 0)",
            "os.unlink('.git/config')",
            "os.rename('.git/hooks', 'src/hooks')",
            "os.rename('.git', '.other')",
            "os.rename('src/main.txt', '.git/main.txt')",
            "os.link('src/main.txt', '.git/hooks/post-commit')",
            "os.symlink('/bin/sh', '.git/hooks/post-commit')",
            "os.mkdir('.git/new')",
            "open('.brigade/policy.toml', 'w')",
            "open(os.getcwd() + '/src/../.brigade/policy.toml', 'w')",
            "open('/proc/self/cwd/.git/new', 'w')",
            "open('link', 'w')",
            "open('link')",
        ];
        check_blocked(&ground, profile.clone(), &attempts);
    }
    assert_eq!(fs::read_to_string(ground.workspace.join(".git/config")).unwrap(), "real");
}

#[test]
fn other_workspace_files_can_be_written_if_granted() {
    let ground = Ground::new();
    for profile in versions(&ground.writing()) {
        let script = "import os\n\
            open('src/main.txt', 'w').write('new')\n\
            open('src/other.txt', 'w').close()\n\
            os.mkdir('src/folder')\n\
            os.rename('src/other.txt', 'src/moved.txt')\n\
            os.unlink('src/moved.txt')\n\
            os.rmdir('src/folder')\n\
            open('top.txt', 'w').write('new')\n\
            open(os.environ['TMPDIR'] + '/file', 'w').close()\n\
            os.chmod('src/main.txt', 0o640)\n\
            print(open('.git/config').read())";
        assert_eq!(python_says(&ground, profile, script), "real");
    }
    assert_eq!(fs::read_to_string(ground.workspace.join("src/main.txt")).unwrap(), "new");
}

#[test]
fn new_entries_at_the_top_need_namespaces() {
    let ground = Ground::new();
    let enforcement = ground.writing().check().unwrap();
    if enforcement.enforced.contains(&"attributes") {
        python_says(&ground, ground.writing(), "open('new', 'w').close()");
        assert!(ground.workspace.join("new").exists());
    } else {
        assert!(enforcement.missing.iter().any(|sentence| sentence.contains("top of the workspace")));
        check_blocked(&ground, ground.writing(), &["open('new', 'w')"]);
    }
}

#[test]
fn a_missing_repository_cannot_be_created() {
    let ground = Ground::new();
    fs::remove_dir_all(ground.workspace.join(".git")).unwrap();
    for attempt in [
        "os.makedirs('.git/hooks')",
        "os.rename('src', '.git')",
        "os.symlink('src', '.git')",
        "os.rmdir('.git')\nos.mkdir('.git')",
    ] {
        check_blocked(&ground, ground.writing(), &[attempt]);
        assert!(!ground.workspace.join(".git").exists());
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| check_blocked(&ground, ground.writing(), &["os.makedirs('.git/hooks')"]));
        }
    });
    assert!(!ground.workspace.join(".git").exists());
}

#[test]
fn writable_folder_below_protected_one_is_writable() {
    let ground = Ground::new();
    let mut profile = ground.writing();
    profile.write.push(ground.workspace.join(".brigade/checkpoints"));
    check_blocked(&ground, profile.clone(), &["open('.brigade/new', 'w')"]);
    python_says(&ground, profile, "open('.brigade/checkpoints/one', 'w').close()");
    assert!(ground.workspace.join(".brigade/checkpoints/one").exists());
}

#[test]
fn secrets_are_not_read() {
    let ground = Ground::new();
    for profile in versions(&ground.writing()) {
        let attempts = [
            "open(os.environ['HOME'] + '/secret')",
            "os.listdir(os.environ['HOME'])",
            "open('link')",
            "os.open(os.path.expanduser('~/secret'), os.O_RDONLY)",
            "os.link(os.environ['HOME'] + '/secret', 'src/copy')",
            "os.listdir('/tmp')",
            "os.listdir('/root')",
            "os.listdir('/var/lib')",
            "open(f'/proc/{os.getppid()}/environ').read()",
            "open(f'/proc/{os.getppid()}/mem')",
            "os.listdir(f'/proc/{os.getppid()}/cwd')",
            "os.readlink(f'/proc/{os.getppid()}/exe')",
            "os.listdir('/proc/1/root/root')",
        ];
        check_blocked(&ground, profile.clone(), &attempts);
    }
}

#[test]
fn secrets_of_the_machine_seem_empty_to_root() {
    let ground = Ground::new();
    let namespaces = ground.reading().check().unwrap().enforced.contains(&"attributes");
    if namespaces && rustix::process::geteuid().is_root() {
        assert_eq!(python_says(&ground, ground.reading(), "print(len(open('/etc/shadow').read()))"), "0");
    }
}

#[test]
fn no_file_gets_the_rights_of_its_owner() {
    let ground = Ground::new();
    for profile in versions(&ground.writing()) {
        let capability = "bytes([1, 0, 0, 2]) + bytes(16)";
        let attempts = [
            "os.chmod('src', 0o2777)".to_owned(),
            "os.fchmod(os.open('src/main.txt', os.O_RDONLY), 0o4755)".to_owned(),
            "os.open('src/made', os.O_CREAT | os.O_WRONLY, 0o4755)".to_owned(),
            "os.open('src', os.O_TMPFILE | os.O_RDWR, 0o2755)".to_owned(),
            "os.mknod('src/node', 0o104755)".to_owned(),
            format!("os.setxattr('src/main.txt', 'security.capability', {capability})"),
        ];
        check_blocked(&ground, profile.clone(), &attempts);
        // Without `O_CREAT` the mode is not one, whatever it is.
        python_says(
            &ground,
            profile,
            "import os\nos.open('src/main.txt', os.O_RDONLY, 0o6755); os.chmod('src', 0o755)",
        );
    }
}

#[test]
fn namespaces_protect_attributes_outside() {
    let ground = Ground::new();
    if ground.writing().check().unwrap().enforced.contains(&"attributes") {
        let attempts = [
            "os.chmod(os.environ['HOME'] + '/secret', 0o777)",
            "os.utime(os.environ['HOME'] + '/secret')",
            "os.chmod('.git/config', 0o777)",
            "os.setxattr(os.environ['HOME'] + '/secret', 'user.x', b'y')",
        ];
        check_blocked(&ground, ground.writing(), &attempts);
    }
}

#[test]
fn the_network_is_closed() {
    let ground = Ground::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    let datagram_port = datagrams.local_addr().unwrap().port();
    for profile in versions(&ground.reading()) {
        let attempts = [
            format!("socket.create_connection(('127.0.0.1', {port}), 1)"),
            format!(
                "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {datagram_port}))"
            ),
            "socket.socket(socket.AF_INET6, socket.SOCK_STREAM)".to_owned(),
            "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)".to_owned(),
            "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)".to_owned(),
            "socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)".to_owned(),
            "socket.socket(38, socket.SOCK_SEQPACKET)".to_owned(),
        ];
        check_blocked(&ground, profile.clone(), &attempts);
    }
    let mut profile = ground.reading();
    profile.network = Network::Allowed;
    let script =
        format!("import socket; socket.create_connection(('127.0.0.1', {port}), 5).sendall(b'hello')");
    python_says(&ground, profile.clone(), &script);
    let mut hello = Vec::new();
    listener.accept().unwrap().0.read_to_end(&mut hello).unwrap();
    assert_eq!(hello, b"hello");
    check_blocked(&ground, profile, &["socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"]);
}

#[test]
fn local_sockets_are_closed() {
    let ground = Ground::new();
    let path = ground.home.join("daemon");
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let connect = format!("socket.socket(socket.AF_UNIX).connect({:?})", path.to_str().unwrap());
    for profile in versions(&ground.reading()) {
        let pair = |kind: &str| format!("socket.socketpair(socket.AF_UNIX, {kind})");
        // A raw pair becomes one of datagrams, and flags change nothing.
        let kinds =
            ["socket.SOCK_DGRAM", "socket.SOCK_RAW", "socket.SOCK_RDM", "3 | socket.SOCK_CLOEXEC", "0"];
        let mut attempts: Vec<String> = kinds.into_iter().map(pair).collect();
        attempts.push(connect.clone());
        check_blocked(&ground, profile.clone(), &attempts);
        for kind in ["socket.SOCK_STREAM | socket.SOCK_NONBLOCK", "socket.SOCK_SEQPACKET"] {
            python_says(&ground, profile.clone(), &format!("import socket; {}", pair(kind)));
        }
    }
    python_says(&ground, ground.reading(), "import socket; a, b = socket.socketpair(); a.send(b'x')");
    let mut profile = ground.reading();
    profile.local_sockets = LocalSockets::Allowed;
    python_says(&ground, profile.clone(), &format!("import socket; {connect}"));
    // Abstract sockets stay closed.
    use std::os::linux::net::SocketAddrExt;
    let name = format!("brigade-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let _abstract = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    check_blocked(&ground, profile, &[format!("socket.socket(socket.AF_UNIX).connect('\\0{name}')")]);
}

#[test]
fn other_processes_are_out_of_reach() {
    let ground = Ground::new();
    let call = |name: &str, arguments: &str| {
        format!(
            "lib = ctypes.CDLL(None, use_errno=True)\n\
             if lib.{name}({arguments}) < 0: raise OSError(ctypes.get_errno(), 'x')"
        )
    };
    let attempts = [
        "os.kill(os.getppid(), 0)".to_owned(),
        format!("os.kill({}, 0)", std::process::id()),
        call("ptrace", "16, os.getppid(), 0, 0"),
        call("ptrace", "0, 0, 0, 0"),
        call("unshare", "0x10000000"),
        call("mount", "b'none', b'/tmp', b'tmpfs', 0, None"),
        call("umount2", "b'.git', 2"),
        call("keyctl", "0, -3, 1").replace("lib.keyctl(", "lib.syscall(250, "),
        call("syscall", "425, 8, 0"),
        call("syscall", "321, 0, 0, 0"),
        call("syscall", "0x40000000 + 41, 2, 1, 0"),
        call("syscall", "41, 2, 1, 0"),
        "import fcntl, pty, os\na, b = pty.openpty()\nfcntl.ioctl(b, 0x5412, b'x')".to_owned(),
    ];
    check_blocked(&ground, ground.writing(), &attempts);
}

/// A process of the same user that does not belong to the run. It is killed at the end.
struct Victim(std::process::Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn how_other_processes_run_is_out_of_reach() {
    let ground = Ground::new();
    let victim = Victim(std::process::Command::new("/bin/sleep").arg("600").spawn().unwrap());
    let pid = victim.0.id();
    let call = |number: libc::c_long, arguments: &str| {
        format!(
            "lib = ctypes.CDLL(None, use_errno=True)\nnull = ctypes.c_void_p(0)\n\
             zeros = ctypes.create_string_buffer(64)\nzeros[0] = b'\\1'\n\
             if lib.syscall({number}, {arguments}) < 0: raise OSError(ctypes.get_errno(), 'x')"
        )
    };
    let attempts = [
        format!("import resource\nresource.prlimit({pid}, resource.RLIMIT_CPU, (1, 1))"),
        format!("import resource\nresource.prlimit({pid}, resource.RLIMIT_NOFILE, (0, 0))"),
        format!("import resource\nresource.prlimit({pid}, resource.RLIMIT_FSIZE, (0, 0))"),
        "import resource\nresource.prlimit(os.getppid(), resource.RLIMIT_CORE, (0, 0))".to_owned(),
        call(libc::SYS_prlimit64, &format!("{pid} + (1 << 32), 4, zeros, null")),
        format!("os.setpriority(os.PRIO_PROCESS, {pid}, 19)"),
        format!("os.setpriority(os.PRIO_PGRP, os.getpgid({pid}), 1)"),
        "os.setpriority(os.PRIO_USER, 0, 1)".to_owned(),
        format!("os.sched_setaffinity({pid}, {{0}})"),
        format!("os.sched_setscheduler({pid}, os.SCHED_BATCH, os.sched_param(0))"),
        format!("os.sched_setparam({pid}, os.sched_param(0))"),
        call(libc::SYS_sched_setattr, &format!("{pid}, zeros, 0")),
        call(libc::SYS_ioprio_set, &format!("1, {pid}, 3 << 13")),
        call(libc::SYS_ioprio_set, "3, 0, 3 << 13"),
        call(libc::SYS_migrate_pages, &format!("{pid}, 8, zeros, zeros")),
        call(libc::SYS_move_pages, &format!("{pid}, 0, null, null, null, 0")),
        "import fcntl\nfcntl.fcntl(open('top.txt'), fcntl.F_SETLEASE, fcntl.F_RDLCK)".to_owned(),
        format!("os.pidfd_open({pid})\n{}", call(libc::SYS_process_madvise, "3, null, 0, 4, 0")),
    ];
    check_blocked(&ground, ground.writing(), &attempts);
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    assert_eq!(limits, fs::read_to_string("/proc/self/limits").unwrap());
    // A program may change its own limits and priorities, and read those of others.
    let script = "import os, resource\n\
        resource.setrlimit(resource.RLIMIT_CPU, (100, 100))\n\
        resource.prlimit(0, resource.RLIMIT_NOFILE, (64, 64))\n\
        os.nice(1)\n\
        os.setpriority(os.PRIO_PROCESS, 0, 2)\n\
        os.sched_setaffinity(0, os.sched_getaffinity(0))\n\
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))\n\
        print(resource.getrlimit(resource.RLIMIT_CPU), resource.prlimit(os.getppid(), resource.RLIMIT_CORE)[0])";
    assert!(python_says(&ground, ground.writing(), script).starts_with("(100, 100)"));
}

#[test]
fn enforce_refuses_what_best_effort_reports() {
    let ground = Ground::new();
    let without = SandboxProfile { landlock_at_most: Some(0), ..ground.reading() };
    assert!(without.check().is_err());
    let trial = ground.enter(Trial::shell("touch started"), without.clone());
    let result = brigade_process::run(&trial.spec, &mut brigade_process::Discard, &control());
    assert!(matches!(result, Err(RunError::Spawn(SpawnError::Sandbox(_)))));
    assert!(!ground.workspace.join("started").exists());

    let best = SandboxProfile { mode: Mode::BestEffort, ..without };
    let trial = ground.enter(Trial::shell("touch started"), best.clone());
    let outcome = trial.output(&control()).0;
    assert_eq!(outcome.exit, Exit::Code(0));
    let enforcement = outcome.enforcement.unwrap();
    assert_eq!(enforcement, best.check().unwrap());
    assert_eq!((enforcement.mode, enforcement.landlock), (Mode::BestEffort, 0));
    assert!(enforcement.enforced.contains(&"network") && !enforcement.enforced.contains(&"read"));
    assert!(enforcement.missing.iter().any(|sentence| sentence.contains("Landlock")));
    check_blocked(&ground, best, &["socket.socket()"]);
}

#[test]
fn the_record_lists_what_an_old_kernel_lacks() {
    let ground = Ground::new();
    let labels = |at_most: u32| -> Enforcement {
        SandboxProfile { landlock_at_most: Some(at_most), ..ground.reading() }.check().unwrap()
    };
    assert!(labels(7).enforced.contains(&"signals"));
    let old = labels(3);
    assert!(!old.enforced.contains(&"signals") && old.enforced.contains(&"network"));
    assert!(old.missing.iter().any(|sentence| sentence.contains("signalled")));
}

#[test]
fn the_main_process_still_dies_with_its_keeper() {
    let script =
        "import ctypes\nx = ctypes.c_int()\nctypes.CDLL(None).prctl(2, ctypes.byref(x))\nprint(x.value)";
    let ground = Ground::new();
    assert_eq!(python_says(&ground, ground.writing(), script), "9");
}

#[test]
fn shared_memory_is_private_where_namespaces_are() {
    let ground = Ground::new();
    if ground.reading().check().unwrap().enforced.contains(&"attributes") {
        let script = "import multiprocessing, os\n\
            with multiprocessing.get_context('fork').Pool(2) as pool: print(pool.map(abs, [-1, -2]))\n\
            open('/dev/shm/brigade-private', 'w').close()\n\
            print(os.listdir('/dev/shm'))";
        let said = python_says(&ground, ground.reading(), script);
        assert_eq!(said, "[1, 2]\n['brigade-private']");
        assert!(!Path::new("/dev/shm/brigade-private").exists());
    }
}

/// Issue 17: git, which has no closed workspace, could not see a repository there.
#[test]
fn opened_shared_memory_is_not_covered() {
    let ground = Ground::new();
    let Ok(shared) = tempfile::tempdir_in("/dev/shm") else { return };
    let shared = shared.path().canonicalize().unwrap();
    fs::write(shared.join("in"), "seen").unwrap();
    let profile = ground.reading();
    let read = profile.read.iter().cloned().chain([shared.clone()]).collect();
    let profile = SandboxProfile { workspace: None, deny_write: Vec::new(), read, ..profile };
    let script = format!("print(open('{}').read())", shared.join("in").display());
    assert_eq!(python_says(&ground, profile, &script), "seen");
}

#[test]
fn a_start_that_fails_leaves_no_placeholder() {
    let ground = Ground::new();
    fs::remove_dir_all(ground.workspace.join(".git")).unwrap();
    for argument in ["a\0b", "fine"] {
        let mut trial = ground.enter(Trial::new("/does/not/exist".into()), ground.writing());
        trial.spec.argv = vec![argument.into()];
        assert!(brigade_process::run(&trial.spec, &mut brigade_process::Discard, &control()).is_err());
        // The keeper removes it before it ends, and it ends before the failure is reported.
        assert!(!ground.workspace.join(".git").exists());
    }
}

#[track_caller]
fn check_works(ground: &Ground, program: &str, words: &[&str], mut profile: SandboxProfile) -> String {
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
        .unwrap();
    profile.read.extend(installation_of(&found));
    let mut trial = Trial::new(found);
    trial.spec.argv.extend(words.iter().map(Into::into));
    let path = std::env::var_os("PATH").unwrap();
    trial.spec.environment[0] = ("PATH".into(), path);
    let trial = ground.enter(trial, profile);
    let (outcome, output) = trial.output(&control());
    assert_eq!(outcome.exit, Exit::Code(0), "{program}: {output}");
    trial.check_nothing_left();
    output
}

#[test]
fn honest_programs_work() {
    let ground = Ground::new();
    fs::remove_dir_all(ground.workspace.join(".git")).unwrap();
    let made = std::process::Command::new("git").args(["init", "-q"]).arg(&ground.workspace).status();
    assert!(made.unwrap().success());
    let (reading, writing) = (ground.reading(), ground.writing());
    let script = "import json, ssl, sqlite3, tempfile, subprocess, threading, sys, os, hashlib\n\
        tempfile.TemporaryFile().write(b'x')\n\
        threading.Thread(target=print).start()\n\
        print(subprocess.run(['sh', '-c', 'echo from a child'], capture_output=True).stdout)\n\
        sqlite3.connect(os.environ['TMPDIR'] + '/db').execute('create table t (x)')";
    assert!(check_works(&ground, "python3", &["-c", script], reading.clone()).contains("from a child"));
    assert!(check_works(&ground, "git", &["status", "--short"], reading.clone()).contains("src/"));
    assert_eq!(check_works(&ground, "git", &["config", "core.bare"], reading.clone()), "false\n");
    if reading.check().unwrap().enforced.contains(&"attributes") {
        fs::write(ground.home.join(".gitconfig"), "[user]\n\tname = Somebody\n").unwrap();
        assert_eq!(
            check_works(&ground, "git", &["config", "--get", "core.bare"], reading.clone()),
            "false\n"
        );
        assert_eq!(check_works(&ground, "cat", &[".git/../../home/.gitconfig"], reading.clone()), "");
        let mut granted = reading.clone();
        granted.read.push(ground.home.join(".gitconfig"));
        assert_eq!(check_works(&ground, "git", &["config", "user.name"], granted), "Somebody\n");
    }
    let script = "const fs = require('fs'), os = require('os');\
        fs.writeFileSync(os.tmpdir() + '/x', '1');\
        console.log(require('child_process').execFileSync('/bin/sh', ['-c', 'echo from a child']).toString());\
        new (require('worker_threads').Worker)('1', {eval: true}); crypto.randomUUID()";
    assert!(check_works(&ground, "node", &["-e", script], reading.clone()).contains("from a child"));
    let script = "for f in src/*; do cat \"$f\"; done | sort > src/sorted; ls -l /usr > \"$TMPDIR/list\"; \
        cat < /dev/null; echo x > /dev/null; head -c 8 /dev/urandom | wc -c; printf done; mkdir -p src/deep/er";
    assert_eq!(check_works(&ground, "sh", &["-c", script], writing), "8\ndone");
}

#[test]
fn no_program_raises_its_limits() {
    let ground = Ground::new();
    for sandbox in [Some(ground.writing()), None] {
        let code = "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n\
            try: resource.setrlimit(resource.RLIMIT_NOFILE, (65, 65)); print('raised')\n\
            except (ValueError, OSError): print('kept')";
        let mut trial = Trial::python(code);
        trial.spec.directory = ground.workspace.clone();
        trial.spec.limits.open_files = Some(128);
        trial.spec.sandbox = sandbox;
        assert_eq!(trial.output(&control()).1, "kept\n");
    }
}

/// Issue 12, finding 18: a program of root must not change the machine.
#[test]
fn capabilities_to_change_the_machine_are_dropped() {
    // DAC_READ_SEARCH, SYS_PTRACE, SYS_ADMIN, SYS_RESOURCE, AUDIT_READ.
    let code = "status = dict(line.split(':', 1) for line in open('/proc/self/status'))\n\
        for name in ['CapPrm', 'CapEff', 'CapAmb']:\n\
        \x20   held = int(status[name], 16)\n\
        \x20   print([bit for bit in (2, 19, 21, 24, 37) if held >> bit & 1])";
    let ground = Ground::new();
    for sandbox in [ground.writing(), ground.reading()] {
        let mut trial = Trial::python(code);
        trial.spec.directory = ground.workspace.clone();
        trial.spec.sandbox = Some(sandbox);
        assert_eq!(trial.output(&control()).1, "[]\n[]\n[]\n");
    }
}

#[test]
fn a_hidden_folder_shows_only_what_is_named_in_it() {
    let ground = Ground::new();
    let hidden = ground.workspace.join(".brigade");
    fs::create_dir_all(hidden.join("in/run")).unwrap();
    fs::write(hidden.join("lock"), "x").unwrap();
    fs::write(hidden.join("health.json"), "fine").unwrap();
    fs::write(hidden.join("in/run/.git"), "gitdir: x").unwrap();
    let other = ground.workspace.join("other/state");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("lock"), "x").unwrap();
    for mut profile in [ground.reading(), ground.writing()] {
        profile.hidden = vec![hidden.clone(), other.clone()];
        profile.write.push(hidden.join("in/run"));
        // Closed paths below a shown one stay closed, whether they exist or not.
        profile.deny_write.extend([".git", ".state"].map(|name| hidden.join("in/run").join(name)));
        profile.read.push(hidden.join("health.json"));
        let attempts = [
            "open('.brigade/lock')",
            "open('other/state/lock')",
            "open('other/state/new', 'w')",
            "open('.brigade/new', 'w')",
            "os.mkdir('.brigade/new')",
            "open('.brigade/in/new', 'w')",
            "open('.brigade/health.json', 'w')",
            "os.rename('.brigade', 'moved')",
            "open('.brigade/in/run/.git', 'a')",
            "os.unlink('.brigade/in/run/.git')",
            "os.mkdir('.brigade/in/run/.state')",
        ];
        check_blocked(&ground, profile.clone(), &attempts);
        let script =
            "open('.brigade/in/run/x.json', 'w').write('new'); print(open('.brigade/health.json').read())";
        assert_eq!(python_says(&ground, profile, script), "fine");
        assert_eq!(fs::read_to_string(hidden.join("in/run/x.json")).unwrap(), "new");
    }
}

/// A sink with a last look.
struct LastLookSink(std::io::Result<()>);

impl brigade_process::Sink for LastLookSink {
    fn write(&mut self, _: brigade_process::Stream, _: &[u8]) -> std::io::Result<()> {
        Ok(())
    }

    fn about_to_start(&mut self) -> std::io::Result<()> {
        std::mem::replace(&mut self.0, Ok(()))
    }
}

#[test]
fn the_last_look_comes_after_all_preparation() {
    let ground = Ground::new();
    for profile in [Some(ground.writing()), None] {
        let mut trial = Trial::shell("echo ran > ran");
        trial.spec.directory = ground.workspace.clone();
        trial.spec.sandbox = profile;
        let refused = Err(std::io::Error::other("it changed"));
        let error = brigade_process::run(&trial.spec, &mut LastLookSink(refused), &control()).unwrap_err();
        assert_eq!(error.to_string(), "it changed");
        assert!(!ground.workspace.join("ran").exists());
        let outcome = brigade_process::run(&trial.spec, &mut LastLookSink(Ok(())), &control()).unwrap();
        assert!(outcome.check_gap.is_some_and(|gap| gap < Duration::from_secs(5)), "{:?}", outcome.check_gap);
        fs::remove_file(ground.workspace.join("ran")).unwrap();
    }
}
