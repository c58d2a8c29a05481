//! Tests what a program inherits and how a failed start is reported.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests set up and look at the real system"
)]

mod common;

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use brigade_process::{Control, Discard, Exit, Limits, Program, RunError, SpawnError, Spec, Step, run};
use common::Trial;

fn output(trial: &Trial) -> String {
    let control = Control { timeout: Some(Duration::from_secs(20)), ..Control::default() };
    let (outcome, output) = trial.output(&control);
    assert!(outcome.exit.success(), "{output}");
    output
}

#[track_caller]
fn check_failure(spec: &Spec, expect: Step, errno: i32) {
    match run(spec, &mut Discard, &Control::default()) {
        Err(RunError::Spawn(SpawnError::Failed { step, source })) => {
            assert_eq!((step, source.raw_os_error()), (expect, Some(errno)));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_environment_is_exactly_the_one_given() {
    let mut trial = Trial::new("/usr/bin/env".into());
    trial.spec.environment = vec![("B".into(), "two words".into()), ("A".into(), "".into())];
    assert_eq!(output(&trial), "B=two words\nA=\n");
}

#[test]
fn the_folder_is_the_one_given() {
    let folder = tempfile::tempdir().unwrap();
    let mut trial = Trial::shell("pwd -P");
    trial.spec.directory = folder.path().to_owned();
    assert_eq!(output(&trial).trim(), folder.path().canonicalize().unwrap().to_str().unwrap());
}

#[test]
fn arguments_arrive_as_single_words() {
    let mut trial = Trial::new("/usr/bin/printf".into());
    trial.spec.argv = ["printf", "%s|", "a b", "", "$(id)", "'\"", "é\n"].map(Into::into).to_vec();
    assert_eq!(output(&trial), "a b||$(id)|'\"|é\n|");
}

#[test]
fn nothing_else_is_inherited() {
    let file = fs::File::open("/etc/passwd").unwrap();
    // Without close-on-exec, as a careless library would leave it.
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    let script = "import os, signal\n\
        print(sorted(os.listdir('/proc/self/fd'))[:-1])\n\
        print(signal.pthread_sigmask(signal.SIG_BLOCK, []), os.getsid(0) == os.getpid())\n\
        print([l.split()[1] for l in open('/proc/self/status') if l.startswith('SigBlk')])";
    let text = output(&Trial::python(script));
    assert_eq!(text, "['0', '1', '2']\nset() True\n['0000000000000000']\n");
    let text = output(&Trial::shell("grep SigIgn /proc/self/status"));
    // Rust programs ignore SIGPIPE; 32 and 33 belong to the C library.
    let ignored = u64::from_str_radix(text.trim_start_matches("SigIgn:").trim(), 16).unwrap();
    assert_eq!(ignored & !(3 << 31), 0);
}

#[test]
fn limits_hold() {
    let mut trial = Trial::shell("ulimit -n; ulimit -f; ulimit -v; ulimit -c");
    trial.spec.limits = Limits {
        processes: Some(1000),
        memory: Some(512 << 20),
        file_size: Some(1 << 20),
        open_files: Some(50),
    };
    assert_eq!(output(&trial), "50\n2048\n524288\n0\n");
}

#[test]
fn the_failing_step_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("not executable");
    fs::write(&file, "text").unwrap();
    check_failure(&Spec::new(Program::at("/does/not/exist"), "/"), Step::Execute, ENOENT);
    check_failure(&Spec::new(Program::at(&file), "/"), Step::Execute, 13);
    check_failure(&Spec::new(Program::at("/bin/true"), "/does/not/exist"), Step::Directory, ENOENT);
    check_failure(&Spec::new(Program::at("/bin/true"), &file), Step::Directory, 20);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    check_failure(&Spec::new(Program::at(&file), "/"), Step::Execute, 8);
}

const ENOENT: i32 = 2;

#[test]
fn nul_bytes_and_bad_names_are_refused() {
    let nul = Spec::new(Program::at("/bin/tr\0ue"), "/");
    assert!(matches!(run(&nul, &mut Discard, &Control::default()), Err(RunError::Spawn(SpawnError::Nul(_)))));
    for name in ["", "A=B"] {
        let mut spec = Spec::new(Program::at("/bin/true"), "/");
        spec.environment = vec![(name.into(), "x".into())];
        let result = run(&spec, &mut Discard, &Control::default());
        assert!(matches!(result, Err(RunError::Spawn(SpawnError::VariableName))));
    }
}

fn copy_program(from: &str, to: &Path) {
    fs::copy(from, to).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_checked_binary_runs_after_its_path_was_swapped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    copy_program("/bin/true", &path);
    let program = Program::open(&path).unwrap();
    copy_program("/bin/false", &folder.path().join("other"));
    fs::rename(folder.path().join("other"), &path).unwrap();
    let exit = |program| run(&Spec::new(program, "/"), &mut Discard, &Control::default()).unwrap().exit;
    assert_eq!(exit(program), Exit::Code(0));
    assert_eq!(exit(Program::at(&path)), Exit::Code(1));
}

#[test]
fn a_checked_script_with_a_swapped_path_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    let script = |path: &Path, code: i32| {
        fs::write(path, format!("#!/bin/sh\nexit {code}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    script(&path, 4);
    let program = Program::open(&path).unwrap();
    let spec = Spec::new(program, "/");
    assert_eq!(run(&spec, &mut Discard, &Control::default()).unwrap().exit, Exit::Code(4));
    script(&folder.path().join("other"), 5);
    fs::rename(folder.path().join("other"), &path).unwrap();
    let stale = rustix::io::Errno::STALE.raw_os_error();
    check_failure(&spec, Step::Program, stale);
}

#[test]
fn the_sink_learns_who_runs() {
    struct IdentitySink(Option<brigade_process::ProcessIdentity>);
    impl brigade_process::Sink for IdentitySink {
        fn write(&mut self, _: brigade_process::Stream, _: &[u8]) -> io::Result<()> {
            Ok(())
        }
        fn started(&mut self, identity: &brigade_process::ProcessIdentity) -> io::Result<()> {
            self.0 = Some(identity.clone());
            Ok(())
        }
    }
    let mut who = IdentitySink(None);
    let outcome = run(&Trial::shell("exit 0").spec, &mut who, &Control::default()).unwrap();
    assert_eq!(who.0, Some(outcome.identity.clone()));
    assert!(!outcome.identity.is_alive());
    assert!(0 < outcome.usage.peak_memory);
}

#[test]
fn programs_get_the_default_signal_action() {
    brigade_process::survive_file_size_limit();
    let mut trial = Trial::shell("kill -s XFSZ $$; echo survived");
    trial.spec.limits = Limits { file_size: Some(512), ..Limits::default() };
    let (outcome, output) = trial.output(&Control::default());
    assert_eq!((outcome.exit, output.as_str()), (Exit::Signal(25), ""));
}
