//! Measures what observing costs, by running programs with and without it in turn.
//!
//! `cargo run --release -p brigade-process --example observing -- ROUNDS PROGRAM [ARGUMENT]...` runs the program in the
//! current directory as a sandboxed run would, and prints the medians.

#![allow(clippy::print_stdout, reason = "printing is all that this program does")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a measurement that cannot continue fails"
)]

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() {
    use std::time::{Duration, Instant};

    use brigade_process::{Control, Discard, Program, Spec, run};
    use brigade_sandbox::{Mode, Observation, SandboxProfile, installation_of, system_read_paths};

    let words: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    let rounds: usize = words[0].to_str().unwrap().parse().unwrap();
    let workspace = std::env::current_dir().unwrap().canonicalize().unwrap();
    let temporary = std::env::temp_dir();
    let program = std::path::PathBuf::from(&words[1]);
    let mut read = system_read_paths();
    read.extend(installation_of(&program));
    read.push(workspace.clone());
    let mut spec = Spec::new(Program::at(program), workspace.clone());
    spec.argv = words[1..].to_vec();
    spec.environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
    spec.sandbox = Some(SandboxProfile {
        workspace: Some(workspace.clone()),
        read,
        write: vec![temporary],
        ..SandboxProfile::nothing(Mode::Enforce)
    });
    let mut times: [Vec<Duration>; 2] = Default::default();
    let mut seen = String::new();
    for _ in 0..rounds {
        for (times, observe) in times.iter_mut().zip([None, Some(workspace.clone())]) {
            spec.observe = observe;
            let begun = Instant::now();
            let outcome = run(&spec, &mut Discard, &Control::default()).unwrap();
            times.push(begun.elapsed());
            if let Some(Observation::Done(observed)) = outcome.observation {
                let outside: u64 = observed.outside.values().sum();
                seen = format!("{} in the workspace, {outside} outside", observed.counts.read);
            }
        }
    }
    let [without, with] = times.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    });
    let ratio = with.as_secs_f64() / without.as_secs_f64();
    println!("without {without:?}, observed {with:?}: {ratio:.2} times ({seen})");
}
