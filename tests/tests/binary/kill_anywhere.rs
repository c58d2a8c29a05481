//! Kills the binary at random moments. Nothing may be lost, duplicated or left running.

#![allow(
    clippy::disallowed_methods,
    reason = "the number of trials is a variable, for `cargo xtask torture`"
)]
#![allow(clippy::print_stdout, reason = "says what the trials came to, for those who ask")]

use brigade_tests::kill_anywhere;

/// The number of killed commands, unless the variable `BRIGADE_KILL_TRIALS` sets another one.
const TRIALS: usize = 100;

#[test]
fn killed_commands_lose_and_repeat_nothing() {
    let variable = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let trials =
        variable("BRIGADE_KILL_TRIALS").and_then(|trials| usize::try_from(trials).ok()).unwrap_or(TRIALS);
    let seed: u64 = variable("BRIGADE_KILL_SEED").unwrap_or(0x5eed);
    // One policy after the other, because the moments of the kills depend on undisturbed durations.
    for policy in ["", "[sandbox]\nmode = \"best-effort\"\nobserve = \"always\"\n"] {
        let outcome = kill_anywhere(trials / 2, seed, policy);
        println!("{outcome:?} {policy:?}");
        assert!(0 < outcome.killed && 0 < outcome.acknowledged, "the trials tried nothing: {outcome:?}");
    }
}
