//! Runs one program in the sandbox, to see what it can do there.
//!
//! `cargo run -p brigade-process --example confine -- [--write] [--network] PROGRAM [ARGUMENT…]` lets it read the
//! system, its own installation and the current directory; `--write` lets it change the current directory except for
//! `.git` and `.brigade`. What was enforced goes to stderr.

#![allow(clippy::print_stderr, reason = "a program for people")]
#![allow(clippy::disallowed_methods, reason = "takes arguments and environment from the person who tries it")]

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use brigade_process::{CancelSignal, CancelToken, Control, Exit, Program, Spec, Stream, run};
use brigade_sandbox::{Mode, Network, SandboxProfile, installation_of, system_read_paths};

fn main() -> ExitCode {
    let mut words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let mut take = |flag: &str| {
        let given = words.first().is_some_and(|word| word == flag);
        if given {
            words.remove(0);
        }
        given
    };
    let (write, network) = (take("--write"), take("--network"));
    let Some(program) = words.first().and_then(|word| find(Path::new(word))) else {
        eprintln!("usage: confine [--write] [--network] PROGRAM [ARGUMENT…]");
        return ExitCode::from(2);
    };
    match confine(program, words, write, network) {
        Ok(Exit::Code(code)) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Ok(other) => {
            eprintln!("{other}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(3)
        }
    }
}

fn find(name: &Path) -> Option<PathBuf> {
    if name.components().count() != 1 {
        return std::path::absolute(name).ok();
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

fn confine(
    program: PathBuf,
    words: Vec<OsString>,
    write: bool,
    network: bool,
) -> Result<Exit, Box<dyn std::error::Error>> {
    let workspace = std::env::current_dir()?;
    let temporary = std::env::temp_dir().join(format!("brigade-confine-{}", std::process::id()));
    std::fs::create_dir(&temporary)?;
    let mut profile = SandboxProfile {
        installed: system_read_paths(),
        write: vec![temporary.clone()],
        deny_write: vec![workspace.join(".git"), workspace.join(".brigade")],
        network: if network { Network::Allowed } else { Network::Denied },
        ..SandboxProfile::nothing(Mode::Enforce)
    };
    profile.installed.extend(installation_of(&program));
    eprintln!("installation: {:?}", installation_of(&program));
    if write {
        profile.write.push(workspace.clone());
    } else {
        profile.read.push(workspace.clone());
    }
    let mut spec = Spec::new(Program::open(&program)?, workspace);
    spec.argv = words;
    spec.environment = ["PATH", "HOME", "LANG", "TERM", "USER"]
        .into_iter()
        .filter_map(|name| Some((name.into(), std::env::var_os(name)?)))
        .collect();
    spec.environment.push(("TMPDIR".into(), temporary.clone().into()));
    spec.sandbox = Some(profile);
    let cancel = CancelToken::on_signals(&[CancelSignal::Interrupt, CancelSignal::Terminate])?;
    let control = Control { cancel: Some(cancel), output_cap: u64::MAX, ..Control::default() };
    let mut sink = |stream: Stream, bytes: &[u8]| match stream {
        Stream::Stdout => io::stdout().write_all(bytes),
        Stream::Stderr => io::stderr().write_all(bytes),
    };
    let result = run(&spec, &mut sink, &control);
    std::fs::remove_dir_all(&temporary)?;
    let outcome = result?;
    if let Some(enforcement) = &outcome.enforcement {
        eprintln!("enforced: {}", enforcement.enforced.join(", "));
        enforcement.missing.iter().for_each(|sentence| eprintln!("missing: {sentence}"));
    }
    eprintln!("{}, {:?}, {} outlived it", outcome.exit, outcome.duration, outcome.outlived);
    Ok(outcome.exit)
}
