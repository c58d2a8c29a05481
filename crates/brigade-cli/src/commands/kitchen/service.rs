//! `brigade kitchen service`

use std::path::{Path, PathBuf};

use brigade::kitchen::{ApproveStep, Flags, PhaseGate, ServiceOptions};
use brigade::{Error, ErrorKind, Exit, Kitchen};
use clap::Args;

use crate::arguments::word;
use crate::output::Output;
use crate::session::Session;

/// Work through a PRD until all tasks are done or none can continue
///
/// Needs an approval of what is executed, and leaves a branch. Exits with 30 if a decision is needed, and with 31 if
/// another service runs the PRD.
#[derive(Args, Debug)]
pub(crate) struct ServiceArgs {
    /// PRDs, by file or name, in order; by default the PRD in progress. Of several, state files are skipped
    prds: Vec<PathBuf>,

    #[command(flatten)]
    begin: BeginFlags,

    #[command(flatten)]
    run: RunFlags,
}

/// Options for the time before work begins.
#[derive(Args, Debug)]
pub(crate) struct BeginFlags {
    /// Show what would run, without an approval and without running it
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Approve this fingerprint, as printed by validate, and continue
    #[arg(long, value_name = "FINGERPRINT", conflicts_with = "dry_run")]
    fingerprint: Option<String>,
}

impl BeginFlags {
    /// Approves the given fingerprint, if there is one.
    pub(crate) fn approve(&self, kitchen: &Kitchen, prds: &[&Path]) -> Result<(), Error> {
        let Some(fingerprint) = &self.fingerprint else { return Ok(()) };
        if 1 < prds.len() {
            let message = "a fingerprint approves one PRD, and several are named";
            return Err(Error::new(ErrorKind::Usage, message));
        }
        kitchen.approve(prds.first().copied(), &ApproveStep::Approve(fingerprint.clone()))?;
        Ok(())
    }
}

/// Which tasks a service works on, and how.
#[derive(Args, Debug)]
pub(crate) struct RunFlags {
    /// Let the executive decide about failures without asking
    #[arg(long)]
    walkaway: bool,

    /// Start the next PRD automatically
    #[arg(long)]
    auto_continue: bool,

    /// Run one attempt at a time
    #[arg(long, conflicts_with = "max_parallel")]
    sequential: bool,

    /// Only these tasks
    #[arg(long, value_name = "ID,…", value_delimiter = ',', allow_hyphen_values = true)]
    only: Vec<String>,

    /// Without these tasks
    #[arg(long, value_name = "ID,…", value_delimiter = ',', allow_hyphen_values = true)]
    skip: Vec<String>,

    /// Start at this task, in the order of the file
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    from: Option<String>,

    /// Stop after this task, in the order of the file
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    until: Option<String>,

    /// Maximum number of parallel attempts
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=64))]
    max_parallel: Option<u64>,

    /// Maximum number of attempts per task
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=1000))]
    max_iterations: Option<u64>,

    /// Maximum cost in dollars
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<f64>,

    /// Maximum working time, such as 90m or 2h30m
    #[arg(long, value_name = "DURATION", value_parser = minutes)]
    max_time: Option<f64>,

    /// Maximum number of worker starts
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    max_attempts: Option<u64>,

    /// What to do between two PRDs
    #[arg(long, value_name = "continue|pause|review", value_parser = word::<PhaseGate>(), hide_possible_values = true)]
    phase_gate: Option<PhaseGate>,

    /// Merge the branch when all is done, if the policy allows it
    #[arg(long)]
    merge: bool,

    /// Push the branch when all is done, if the policy allows it
    #[arg(long)]
    push: bool,
}

fn dollars(text: &str) -> Result<f64, &'static str> {
    let amount: f64 = text.trim_start_matches('$').parse().map_err(|_| "expected an amount in dollars")?;
    if amount.is_finite() && 0.0 <= amount { Ok(amount) } else { Err("expected an amount in dollars") }
}

/// Parses `90m`, `2h30m` or `45s` as minutes.
fn minutes(text: &str) -> Result<f64, &'static str> {
    const EXPECTED: &str = "expected a duration such as 90m, 2h30m or 45s";
    let (mut total, mut number) = (0.0, String::new());
    for c in text.chars() {
        let unit = match c {
            's' => 1.0 / 60.0,
            'm' => 1.0,
            'h' => 60.0,
            'd' => 1440.0,
            c if c.is_ascii_digit() || c == '.' => {
                number.push(c);
                continue;
            }
            _ => return Err(EXPECTED),
        };
        total += number.parse::<f64>().map_err(|_| EXPECTED)? * unit;
        number.clear();
    }
    if number.is_empty() && 0.0 < total { Ok(total) } else { Err(EXPECTED) }
}

impl RunFlags {
    fn flags(&self) -> Flags {
        Flags {
            walkaway: self.walkaway,
            auto_continue: self.auto_continue,
            phase_gate: self.phase_gate,
            sequential: self.sequential,
            max_parallel: self.max_parallel,
            max_iterations: self.max_iterations,
            max_cost_usd: self.max_cost,
            max_minutes: self.max_time,
            max_attempts: self.max_attempts,
            merge: self.merge,
            push: self.push,
        }
    }

    /// Converts the flags to options of a service.
    pub(crate) fn options(&self, session: &Session<'_>) -> ServiceOptions {
        ServiceOptions {
            flags: self.flags(),
            only: self.only.clone(),
            skip: self.skip.clone(),
            from: self.from.clone(),
            until: self.until.clone(),
            local_offset_minutes: session.surroundings.local_offset_minutes,
            ..ServiceOptions::default()
        }
    }
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &ServiceArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    // A pattern such as `prd-*.json` also matches state files.
    let is_state = |prd: &&Path| 1 < arguments.prds.len() && prd.to_string_lossy().ends_with(".state.json");
    let prds: Vec<&Path> = arguments.prds.iter().map(PathBuf::as_path).filter(|prd| !is_state(prd)).collect();
    let options = arguments.run.options(session);
    if arguments.begin.dry_run {
        return Ok(output.finish(session.workspace()?.kitchen().rehearse(&prds, &options)?));
    }
    let kitchen = session.workspace_to_run()?.kitchen();
    arguments.begin.approve(&kitchen, &prds)?;
    let served = kitchen.serve(&prds, &options, &output.live(session.surroundings))?;
    Ok(output.finish(served))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn durations_and_amounts_are_read() {
        assert_eq!(minutes("90m"), Ok(90.0));
        assert_eq!(minutes("2h30m"), Ok(150.0));
        assert_eq!(minutes("45s"), Ok(0.75));
        for text in ["", "90", "m", "1h5", "-1h", "1w", "0m"] {
            assert!(minutes(text).is_err(), "{text}");
        }
        assert_eq!((dollars("2.5"), dollars("$3")), (Ok(2.5), Ok(3.0)));
        for text in ["", "x", "-1", "inf", "nan"] {
            assert!(dollars(text).is_err(), "{text}");
        }
    }

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        flags: RunFlags,
    }

    #[test]
    fn every_flag_reaches_its_setting() {
        let flags = |line: &str| Line::parse_from(line.split(' ')).flags.flags();
        let line = "x --walkaway --auto-continue --phase-gate review --sequential --max-iterations 2 --max-cost $0.5 \
            --max-time 1h30m --max-attempts 5 --merge --push";
        let expect = Flags {
            walkaway: true,
            auto_continue: true,
            phase_gate: Some(PhaseGate::Review),
            sequential: true,
            max_parallel: None,
            max_iterations: Some(2),
            max_cost_usd: Some(0.5),
            max_minutes: Some(90.0),
            max_attempts: Some(5),
            merge: true,
            push: true,
        };
        assert_eq!(flags(line), expect);
        let expect = Flags { max_parallel: Some(3), max_minutes: Some(0.75), ..Flags::default() };
        assert_eq!(flags("x --max-parallel 3 --max-time 45s"), expect);
        for wrong in [
            "--max-cost much",
            "--max-cost -1",
            "--max-time 5",
            "--max-time 0s",
            "--max-attempts 0",
            "--phase-gate open",
            "--sequential --max-parallel 2",
        ] {
            assert!(Line::try_parse_from(format!("x {wrong}").split(' ')).is_err(), "{wrong}");
        }
    }
}
