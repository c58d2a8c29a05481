//! Measures whole processes: wall-clock time and peak memory.
//!
//! A process inherits the peak memory of its parent. A small program, which is this one started as `xtask measure`,
//! therefore starts the measured processes. The memory of that program, 3 to 4 MB, is a lower bound.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};

use crate::repository::Failure;

/// A process to measure. Its output is discarded.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Process {
    /// The path of the program.
    pub program: PathBuf,
    /// The arguments.
    pub arguments: Vec<String>,
    /// The current directory.
    pub folder: PathBuf,
    /// The file used as standard input, or none.
    pub input: Option<PathBuf>,
    /// All environment variables; without them, those of this process.
    pub variables: Option<Vec<(String, String)>>,
}

impl Process {
    /// A process without arguments and input, in the environment of this one.
    pub fn new(program: &Path, folder: &Path) -> Process {
        Process {
            program: program.to_owned(),
            arguments: Vec::new(),
            folder: folder.to_owned(),
            input: None,
            variables: None,
        }
    }
}

/// The measurements of several consecutive processes.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Measurements {
    seconds: Vec<f64>,
    codes: Vec<Option<i32>>,
    peak_kib: u64,
}

/// The measurements of a process that ran several times, in turns with its reference.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The median time.
    pub median: Duration,
    /// The median time of the reference.
    pub reference: Duration,
    /// The peak memory in bytes.
    pub peak: u64,
    /// The exit code of the last run.
    pub code: Option<i32>,
}

/// Starts processes through the small program.
#[derive(Clone, Debug)]
pub struct Measurer {
    program: PathBuf,
}

impl Measurer {
    /// Creates a measurer that uses this program, which should be a release build.
    pub fn new(program: PathBuf) -> Measurer {
        Measurer { program }
    }

    /// Returns the measuring program, which also contains the reference commands.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Measures `subject` in turns with `reference`, `times` times each. Both get the number of the turn.
    pub fn compare(
        &self,
        times: usize,
        reference: &dyn Fn(usize) -> Process,
        subject: &dyn Fn(usize) -> Process,
    ) -> Result<Figures, Failure> {
        let alternating = (0..times).flat_map(|turn| [reference(turn), subject(turn)]).collect();
        let measured = self.measure(alternating)?;
        let every_second = |first: usize| measured.seconds.iter().skip(first).step_by(2).copied().collect();
        let alone = self.measure(vec![subject(times)])?;
        Ok(Figures {
            median: median(every_second(1)),
            reference: median(every_second(0)),
            peak: alone.peak_kib * 1024,
            code: measured.codes.last().copied().flatten(),
        })
    }

    /// Measures a process that can run only once.
    pub fn once(&self, process: Process) -> Result<Figures, Failure> {
        let measured = self.measure(vec![process])?;
        let time = median(measured.seconds);
        let code = measured.codes.last().copied().flatten();
        Ok(Figures { median: time, reference: time, peak: measured.peak_kib * 1024, code })
    }

    fn measure(&self, processes: Vec<Process>) -> Result<Measurements, Failure> {
        let failed = |what: String| Failure::new(format!("cannot measure: {what}"));
        let mut child = Command::new(&self.program)
            .arg("measure")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let text = serde_json::to_vec(&processes).expect("processes are plain values");
        child.stdin.take().expect("was piped").write_all(&text).map_err(|error| failed(error.to_string()))?;
        let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
        serde_json::from_slice(&output.stdout).map_err(|_| failed(format!("ended with {}", output.status)))
    }
}

/// Runs the small program: reads processes from standard input and writes the measurements.
pub fn measure_children() -> Result<(), Failure> {
    let mut text = String::new();
    let failed = |error: std::io::Error| Failure::new(error.to_string());
    std::io::stdin().read_to_string(&mut text).map_err(failed)?;
    let processes: Vec<Process> =
        serde_json::from_str(&text).map_err(|error| Failure::new(error.to_string()))?;
    let mut measured = Measurements { seconds: Vec::new(), codes: Vec::new(), peak_kib: 0 };
    for process in processes {
        let mut command = Command::new(&process.program);
        command.args(&process.arguments).current_dir(&process.folder);
        command.stdout(Stdio::null()).stderr(Stdio::null()).stdin(match &process.input {
            Some(path) => File::open(path).map_err(Failure::at(path))?.into(),
            None => Stdio::null(),
        });
        if let Some(variables) = &process.variables {
            command.env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
        }
        let started = Instant::now();
        let status = command.status().map_err(Failure::at(&process.program))?;
        measured.seconds.push(started.elapsed().as_secs_f64());
        measured.codes.push(status.code());
    }
    let usage =
        getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| Failure::new(format!("no usage: {error}")))?;
    measured.peak_kib = u64::try_from(usage.max_rss()).unwrap_or_default();
    println!("{}", serde_json::to_string(&measured).expect("figures are plain values"));
    Ok(())
}

fn median(mut seconds: Vec<f64>) -> Duration {
    seconds.sort_by(f64::total_cmp);
    Duration::from_secs_f64(seconds.get(seconds.len() / 2).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_run_does_not_move_the_median() {
        assert_eq!(median(vec![0.25, 9.0, 0.5]), Duration::from_millis(500));
        assert_eq!(median(Vec::new()), Duration::ZERO);
    }
}
