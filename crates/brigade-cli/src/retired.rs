//! Commands of v0.30 that agent programs still start as hooks.

use std::ffi::OsString;
use std::io;

use brigade::Exit;

use crate::arguments::ColorWhen;
use crate::output::{Output, Shape};
use crate::surroundings::{Streams, Surroundings};

/// The subcommands of `work` that v0.30 wrote into the hooks of agent programs.
const HOOKS: [&str; 2] = ["hook-run", "presence-hook"];

/// Returns the command, if the command line is that of such a hook.
pub(crate) fn hook(words: &[OsString]) -> Option<&'static str> {
    match words {
        [_, work, name, ..] if work == "work" => HOOKS.into_iter().find(|hook| name == hook),
        _ => None,
    }
}

/// Answers a hook without an objection, whatever its options are.
///
/// Unknown commands exit with 2. Agent programs would read that as a refusal of the action.
pub(crate) fn answer(hook: &str, surroundings: &Surroundings, streams: &mut Streams<'_>) -> Exit {
    if !surroundings.typed {
        // A caller that cannot write its message may count this as a failure, so the input is read. Read errors do not
        // matter.
        let _ = io::copy(streams.input, &mut io::sink());
    }
    let shape = Shape { json: false, color: ColorWhen::Auto, quiet: false, no_pager: true };
    let mut output = Output::new(shape, surroundings, streams);
    output.note(&format!(
        "`brigade work {hook}` is a hook of v0.30 and has no effect; `brigade tools doctor` shows its file"
    ));
    output.text("{}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_v030_hook_is_answered_with_any_options() {
        for (line, is_hook) in [
            ("brigade work hook-run --event Stop --package brigade-claude-work-loop@1.3.1", true),
            ("brigade work hook-run --target /gone --event Other -x", true),
            ("brigade work presence-hook --harness cursor --stdin --context cursor-work-loop", true),
            ("brigade work hook-run", true),
            ("brigade work inbox list", false),
            ("brigade tools hook-run", false),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(hook(&words).is_some(), is_hook, "{line}");
            if !is_hook {
                continue;
            }
            let (mut output, mut error) = (Vec::new(), Vec::new());
            let mut input: &[u8] = b"{\"hook_event_name\": \"Stop\"}";
            let streams = Streams { input: &mut input, output: &mut output, error: &mut error };
            assert_eq!(crate::run(words, &Surroundings::for_test("/"), streams), Exit::Done, "{line}");
            assert_eq!((output.as_slice(), input), (&b"{}\n"[..], &b""[..]), "{line}");
            let said = String::from_utf8(error).unwrap();
            assert!(said.starts_with("note: `brigade work ") && said.lines().count() == 1, "{line}: {said}");
        }
    }
}
