//! Tests that a run reads and executes only the approved files of a closed workspace, with their approved content.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests set up and look at the real system"
)]

mod common;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use brigade_process::{Control, Exit, Program};
use brigade_sandbox::{
    Attempt, ClosedWorkspace, Code, Mode, Observation, ObservedUse, SandboxProfile, installation_of,
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
        let real = root.path().canonicalize().unwrap();
        let (workspace, temporary) = (real.join("workspace"), real.join("temporary"));
        for folder in ["lib", "data/deep", "other"] {
            fs::create_dir_all(workspace.join(folder)).unwrap();
        }
        fs::create_dir(&temporary).unwrap();
        let ground = Ground { _root: root, workspace, temporary };
        ground.write("lib/helper.py", "word = 'approved'\n");
        ground.write("lib/new.py", "word = 'nobody approved this'\n");
        ground.write("lib/run.sh", "#!/bin/sh\necho ran\n");
        ground.write("data/deep/d.txt", "data\n");
        ground.write("other/secret.txt", "secret\n");
        ground
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.workspace.join(path), text).unwrap();
        fs::set_permissions(self.workspace.join(path), PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// Closes all but two files of code, with these bytes, and a directory of data.
    fn profile(&self) -> SandboxProfile {
        let mut installed = system_read_paths();
        installed.extend(installation_of(&python()));
        let code = |path: &str, text: &str| Code {
            path: self.workspace.join(path),
            bytes: text.as_bytes().into(),
            is_executable: true,
        };
        SandboxProfile {
            workspace: Some(self.workspace.clone()),
            installed,
            write: vec![self.temporary.clone()],
            closed: Some(ClosedWorkspace {
                code: vec![
                    code("lib/helper.py", "word = 'approved'\n"),
                    code("lib/run.sh", "#!/bin/sh\necho ran\n"),
                ],
                data: vec![self.workspace.join("data")],
                closed_data: vec![self.workspace.join("data/kept")],
                ..ClosedWorkspace::default()
            }),
            ..SandboxProfile::nothing(Mode::Enforce)
        }
    }

    fn writing(&self) -> SandboxProfile {
        let mut profile = self.profile();
        profile.write.push(self.workspace.clone());
        profile.closed.as_mut().unwrap().write_only.push(self.workspace.clone());
        profile
    }

    #[track_caller]
    fn run(&self, mut trial: Trial, profile: SandboxProfile) -> (ObservedUse, String) {
        trial.spec.directory = self.workspace.clone();
        let has_view = !profile.write.contains(&self.workspace);
        trial.spec.sandbox = Some(profile);
        trial.spec.observe = Some(self.workspace.clone());
        let (outcome, output) = trial.output(&Control::default());
        assert_eq!(outcome.exit, Exit::Code(0), "{output}");
        let enforced = outcome.enforcement.unwrap().enforced;
        assert!(enforced.contains(&"closed-reads"), "{enforced:?}");
        // A run that writes to other paths than code does not get its own view.
        assert_eq!(enforced.contains(&"sealed-code"), has_view, "{enforced:?}");
        match outcome.observation {
            Some(Observation::Done(observed)) => (*observed, output),
            other => panic!("{other:?}"),
        }
    }
}

const ATTEMPTS: &str = "
import os, subprocess, sys
def attempt(what, do):
    try: print(what, do())
    except OSError as error: print(what, type(error).__name__)
def read(path): return lambda: open(path).read().strip()
";

#[test]
fn only_given_files_are_read_and_executed() {
    let ground = Ground::new();
    symlink("../other/secret.txt", ground.workspace.join("data/link")).unwrap();
    fs::create_dir(ground.workspace.join("data/kept")).unwrap();
    ground.write("data/kept/state", "state\n");
    symlink("../lib/helper.py", ground.workspace.join("other/way")).unwrap();
    let script = format!(
        "{ATTEMPTS}
for path in ['lib/helper.py', 'other/way', 'data/deep/d.txt', 'lib/new.py', 'other/secret.txt', 'data/link', 'data/kept/state']:
    attempt(path, read(path))
attempt('run', lambda: subprocess.check_output(['lib/run.sh']).decode().strip())
attempt('data is not a program', lambda: subprocess.check_output(['data/deep/d.txt']))
attempt('write', lambda: open('lib/helper.py', 'w'))
sys.path.insert(0, 'lib'); import helper; print('import', helper.word)
"
    );
    let (observed, output) = ground.run(Trial::python(&script), ground.profile());
    let expect = "lib/helper.py word = 'approved'\nother/way PermissionError\ndata/deep/d.txt data\n\
        lib/new.py PermissionError\nother/secret.txt PermissionError\ndata/link PermissionError\ndata/kept/state PermissionError\nrun ran\n\
        data is not a program PermissionError\nwrite PermissionError\nimport approved\n";
    assert_eq!(output.replace("write OSError", "write PermissionError"), expect);
    let denied: Vec<_> = observed.denied.iter().map(|denied| (denied.path.as_path(), denied.what)).collect();
    for path in ["lib/new.py", "other/secret.txt"] {
        assert!(denied.contains(&(Path::new(path), Attempt::Read)), "{denied:?}");
    }
    assert!(denied.contains(&(Path::new("data/deep/d.txt"), Attempt::Execute)), "{denied:?}");
    assert!(denied.contains(&(Path::new("lib/helper.py"), Attempt::Write)), "{denied:?}");
}

#[test]
fn installations_are_opened_except_for_the_workspace() {
    let ground = Ground::new();
    let around = ground.workspace.parent().unwrap().to_owned();
    fs::create_dir_all(around.join("lib/deep")).unwrap();
    fs::write(around.join("lib/deep/installed.txt"), "installed\n").unwrap();
    symlink("workspace", around.join("link")).unwrap();
    symlink(&ground.workspace, around.join("lib/link")).unwrap();
    let script = format!(
        "{ATTEMPTS}
for path in ['lib/helper.py', 'data/deep/d.txt', 'lib/new.py', '../lib/deep/installed.txt', \
        '../link/other/secret.txt', '../lib/link/other/secret.txt', '../workspace/other/secret.txt']:
    attempt(path, read(path))
print(sorted(os.listdir('..')))
"
    );
    let expect = "lib/helper.py word = 'approved'\ndata/deep/d.txt data\nlib/new.py PermissionError\n\
        ../lib/deep/installed.txt installed\n../link/other/secret.txt PermissionError\n\
        ../lib/link/other/secret.txt PermissionError\n../workspace/other/secret.txt PermissionError\n\
        ['lib', 'link', 'temporary', 'workspace']\n";
    for installed in [around.clone(), around.join("link/.."), around.join("lib/link/../workspace/..")] {
        let mut profile = ground.profile();
        // A link to the workspace, and a directory in it, are not installations either.
        profile.installed.extend([installed, around.join("link"), ground.workspace.join("other")]);
        let (_, output) = ground.run(Trial::python(&script), profile);
        assert_eq!(output, expect);
    }
    // The policy may open it. Then `closed-reads` is not reported.
    let mut profile = ground.profile();
    profile.read.push(around);
    let enforcement = profile.check().unwrap();
    assert!(!enforcement.enforced.contains(&"closed-reads"), "{enforcement:?}");
    assert!(enforcement.missing.iter().any(|why| why.contains("contains the workspace")), "{enforcement:?}");
}

#[test]
fn changes_after_approval_have_no_effect() {
    let ground = Ground::new();
    let profile = ground.profile();
    // After the bytes were read, and before the start.
    ground.write("lib/helper.py", "word = 'changed'\n");
    ground.write("lib/other.sh", "#!/bin/sh\necho replaced\n");
    fs::rename(ground.workspace.join("lib/other.sh"), ground.workspace.join("lib/run.sh")).unwrap();
    let script = format!(
        "{ATTEMPTS}
attempt('read', read('lib/helper.py'))
attempt('run', lambda: subprocess.check_output(['lib/run.sh']).decode().strip())
print('ready', flush=True); sys.stdin.read()
"
    );
    let (_, output) = ground.run(Trial::python(&script), profile.clone());
    assert_eq!(output, "read word = 'approved'\nrun ran\nready\n");
    // The program itself, by its path.
    let mut trial = Trial::shell("");
    trial.spec.program = Program::at(ground.workspace.join("lib/run.sh"));
    let (_, output) = ground.run(trial, profile);
    assert_eq!(output, "ran\n");
}

#[test]
fn replacing_a_file_during_a_run_opens_nothing() {
    let ground = Ground::new();
    let helper = ground.workspace.join("lib/helper.py");
    let other = ground.workspace.join("lib/other");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let script = "
import time
seen = set()
end = time.monotonic() + 0.5
while time.monotonic() < end:
    try: seen.add(open('lib/helper.py').read())
    except OSError as error: seen.add(type(error).__name__)
print(sorted(seen))
";
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                fs::write(&other, "word = 'changed'\n").unwrap();
                fs::rename(&other, &helper).unwrap();
            }
        });
        let (_, output) = ground.run(Trial::python(script), ground.profile());
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(output, "[\"word = 'approved'\\n\"]\n");
    });
}

#[test]
fn data_moved_over_code_is_not_read_as_code() {
    let script = "
import os, sys
open(sys.argv[1], 'w').close()
while not os.path.exists(sys.argv[2]): pass
for path in ['lib/helper.py', 'data/deep/d.txt', 'lib/deep/d.txt']:
    try: print(path, open(path).read().strip())
    except OSError as error: print(path, type(error).__name__)
";
    let moves: [fn(&Path); 3] = [
        |at| fs::rename(at.join("data/deep/d.txt"), at.join("lib/helper.py")).unwrap(),
        |at| {
            symlink("../data/deep/d.txt", at.join("lib/link")).unwrap();
            fs::rename(at.join("lib/link"), at.join("lib/helper.py")).unwrap();
        },
        |at| {
            fs::rename(at.join("lib"), at.join("gone")).unwrap();
            fs::rename(at.join("data"), at.join("lib")).unwrap();
            fs::write(at.join("lib/helper.py"), "word = 'changed'").unwrap();
        },
    ];
    for (number, change) in moves.into_iter().enumerate() {
        let ground = Ground::new();
        let (ready, done) = (ground.temporary.join("ready"), ground.temporary.join("done"));
        let mut trial = Trial::python(script);
        trial.spec.argv.extend([ready.clone().into(), done.clone().into()]);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ready.exists() {
                    std::thread::yield_now();
                }
                change(&ground.workspace);
                fs::write(&done, "").unwrap();
            });
            let (_, output) = ground.run(trial, ground.profile());
            let lines: Vec<&str> = output.lines().collect();
            assert_eq!(lines[0], "lib/helper.py word = 'approved'", "{number}");
            assert_eq!(lines[2], "lib/deep/d.txt FileNotFoundError", "{number}");
        });
    }
}

#[test]
fn only_bound_links_are_followed() {
    let ground = Ground::new();
    ground.write("data/evil.py", "word = 'linked'\n");
    symlink("../data/evil.py", ground.workspace.join("lib/json.py")).unwrap();
    symlink("lib/run.sh", ground.workspace.join("run")).unwrap();
    let shell = Path::new("/bin/sh").canonicalize().unwrap();
    symlink("/bin/sh", ground.workspace.join("shell")).unwrap();
    let script = format!(
        "{ATTEMPTS}
attempt('link', read('lib/json.py'))
attempt('run', lambda: subprocess.check_output(['./run']).decode().strip())
attempt('shell', lambda: subprocess.check_output(['./shell', '-c', 'echo shell']).decode().strip())
attempt('data', read('data/evil.py'))
"
    );
    for mut profile in [ground.profile(), ground.writing()] {
        let closed = profile.closed.as_mut().unwrap();
        closed.named = vec![ground.workspace.join("run"), ground.workspace.join("shell")];
        closed.outside = vec![shell.clone()];
        closed.links = [("run", ground.workspace.join("lib/run.sh")), ("shell", shell.clone())]
            .map(|(link, real)| (PathBuf::from(link), real))
            .into();
        let (_, output) = ground.run(Trial::python(&script), profile);
        let lines: Vec<&str> = output.lines().collect();
        assert!(["link PermissionError", "link OSError"].contains(&lines[0]), "{output}");
        assert_eq!(lines[1..], ["run ran", "shell shell", "data word = 'linked'"]);
    }
    // In the run's own view, a bound link leads to its approved target.
    fs::remove_file(ground.workspace.join("run")).unwrap();
    symlink("data/evil.py", ground.workspace.join("run")).unwrap();
    let mut profile = ground.profile();
    let closed = profile.closed.as_mut().unwrap();
    closed.named = vec![ground.workspace.join("run")];
    closed.links = [(PathBuf::from("run"), ground.workspace.join("lib/run.sh"))].into();
    let script =
        format!("{ATTEMPTS}\nattempt('run', lambda: subprocess.check_output(['./run']).decode().strip())\n");
    assert_eq!(ground.run(Trial::python(&script), profile).1.trim(), "run ran");
}

#[test]
fn a_run_cannot_read_what_it_writes() {
    let ground = Ground::new();
    let script = format!(
        "{ATTEMPTS}
attempt('make', lambda: open('lib/made.py', 'w').write('x'))
attempt('made', read('lib/made.py'))
attempt('over', lambda: open('lib/helper.py', 'w'))
attempt('rename', lambda: os.rename('lib/made.py', 'lib/helper.py'))
attempt('link', lambda: os.symlink('../other/secret.txt', 'data/new'))
attempt('linked', read('data/new'))
attempt('hard', lambda: os.link('other/secret.txt', 'data/hard'))
attempt('hard', read('data/hard'))
attempt('still', read('lib/helper.py'))
"
    );
    let (_, output) = ground.run(Trial::python(&script), ground.writing());
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[..2], ["make 1", "made PermissionError"], "{output}");
    assert!(lines[2].starts_with("over ") && !lines[2].contains("TextIOWrapper"), "{output}");
    assert!(lines[3].starts_with("rename ") && lines[3].contains("Error"), "{output}");
    assert!(
        !output.contains("secret\n") && !output.contains("linked secret") && !output.contains("hard secret"),
        "{output}"
    );
    assert!(output.ends_with("still word = 'approved'\n"), "{output}");
}

#[test]
fn moved_files_keep_their_rights() {
    let ground = Ground::new();
    let script = format!(
        "{ATTEMPTS}
os.rename('lib', 'lib2'); os.rename('data', 'data2')
for path in ['lib2/helper.py', 'data2/deep/d.txt', 'lib2/new.py']: attempt(path, read(path))
attempt('run', lambda: subprocess.check_output(['lib2/run.sh']).decode().strip())
attempt('over', lambda: open('lib2/helper.py', 'w'))
os.mkdir('lib')
attempt('new', lambda: open('lib/helper.py', 'w').write('x'))
attempt('lib/helper.py', read('lib/helper.py'))
"
    );
    let (observed, output) = ground.run(Trial::python(&script), ground.writing());
    let expect = "lib2/helper.py word = 'approved'\ndata2/deep/d.txt data\nlib2/new.py PermissionError\nrun ran\n\
        over PermissionError\nnew 1\nlib/helper.py PermissionError\n";
    assert_eq!(output.replace("over OSError", "over PermissionError"), expect);
    let has = |files: &[brigade_sandbox::ObservedFile], path: &str| {
        files.iter().any(|file| file.path == Path::new(path))
    };
    assert!(has(&observed.read, "lib2/helper.py") && has(&observed.read, "data2/deep/d.txt"), "{observed:?}");
    assert!(
        has(&observed.executed, "lib2/run.sh") && has(&observed.written, "lib/helper.py"),
        "{observed:?}"
    );
    assert!(!has(&observed.written, "lib2/helper.py") && observed.unseen.is_empty(), "{observed:?}");
    let denied: Vec<_> = observed.denied.iter().map(|denied| (denied.path.as_path(), denied.what)).collect();
    let expect = [
        (Path::new("lib2/new.py"), Attempt::Read),
        (Path::new("lib2/helper.py"), Attempt::Write),
        (Path::new("lib/helper.py"), Attempt::Read),
    ];
    assert_eq!(denied, expect);
}
