//! Tells whether a shell or interpreter reads its commands from standard input.

use super::Word;
use super::hook::is_standard_input;
use super::options::is_redirection;
use crate::programs::{PYTHON, Program, Role, Spelling};

/// Why a program reads its commands from standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FromStdin {
    /// The argument at this position says so: `-s`, `-`, `/dev/stdin`.
    Asked(usize),
    /// There is neither a script nor code.
    Bare,
}

/// Tells whether a shell or interpreter reads its commands from standard input.
///
/// Words are options up to the first operand. A program that only prints its version or help reads nothing, nor does
/// one with a redirection.
pub(super) fn from_stdin(known: Program, args: &[Word]) -> Option<FromStdin> {
    if args.iter().any(|word| is_redirection(&word.text)) {
        return None;
    }
    let program = known.name;
    match program {
        "awk" | "gawk" | "mawk" | "nawk" => None,
        "cmd" => args.is_empty().then_some(FromStdin::Bare),
        "powershell" | "pwsh" => match args {
            [] => Some(FromStdin::Bare),
            [.., file, name] if file.text.to_ascii_lowercase().starts_with("-f") => {
                (name.text == "-").then_some(FromStdin::Asked(args.len() - 1))
            }
            [..] => None,
        },
        "deno" | "bun" => {
            let at = args.iter().position(|word| word.text == "-" || !word.text.starts_with('-'))?;
            let at = if args[at].text == "run" {
                at + 1
                    + args[at + 1..]
                        .iter()
                        .position(|word| word.text == "-" || !word.text.starts_with('-'))?
            } else {
                at
            };
            is_standard_input(&args[at].text).then_some(FromStdin::Asked(at))
        }
        "crystal" | "erl" | "tclsh" => shell_from_stdin(program, args),
        _ if known.role() == Role::Shell => shell_from_stdin(program, args),
        _ => interpreter_from_stdin(program, &known.row().spelling, args),
    }
}

fn shell_from_stdin(program: &str, args: &[Word]) -> Option<FromStdin> {
    let posix = !matches!(program, "fish" | "nu" | "elvish" | "xonsh" | "tcsh" | "csh" | "tclsh");
    let mut at = 0;
    while let Some(word) = args.get(at) {
        let text = word.text.as_str();
        let informs =
            text.starts_with("--version") || text.starts_with("--help") || text.starts_with("--dump");
        if informs || (!posix && matches!(text, "-v" | "-h" | "-V")) {
            return None;
        }
        if matches!(text, "-" | "--") {
            at += 1;
            break;
        }
        let Some(bundle) = text.strip_prefix(['-', '+']) else { break };
        if text.starts_with('-') && !text.starts_with("--") && bundle.contains('s') && program != "fish" {
            return Some(FromStdin::Asked(at));
        }
        let valued = matches!(bundle, "-rcfile" | "-init-file" | "-config" | "-env-config");
        at += 1 + usize::from(valued || bundle.ends_with(['o', 'O']));
    }
    match args.get(at) {
        Some(script) => is_standard_input(&script.text).then_some(FromStdin::Asked(at)),
        None => Some(FromStdin::Bare),
    }
}

fn interpreter_from_stdin(program: &str, spelling: &Spelling, args: &[Word]) -> Option<FromStdin> {
    // Some only print their usage.
    let reads_when_bare = !matches!(
        program,
        "bun" | "ghc" | "groovy" | "nim" | "ocaml" | "qjs" | "rscript" | "runghc" | "scala" | "swift"
    );
    let mut at = 0;
    while let Some(word) = args.get(at) {
        let text = word.text.as_str();
        if text == "--" {
            at += 1;
            break;
        }
        if spelling.long_valued.contains(&text) {
            at += 2;
            continue;
        }
        let Some(bundle) = text.strip_prefix('-').filter(|bundle| !bundle.is_empty()) else { break };
        if bundle.chars().any(|option| spelling.ends.contains(option)) && !bundle.starts_with('-') {
            // Modules that are the interpreter itself.
            let module = match bundle.split_once('m') {
                Some((_, "")) => args.get(at + 1).map(|module| module.text.as_str()),
                Some((_, attached)) => Some(attached),
                None => None,
            };
            let python = PYTHON.contains(&program);
            if python && module.is_some_and(|module| matches!(module, "asyncio" | "code")) {
                return Some(FromStdin::Asked(at));
            }
            let file = matches!(program, "php").then(|| args.get(at + 1)).flatten();
            return file.filter(|file| is_standard_input(&file.text)).map(|_| FromStdin::Asked(at + 1));
        }
        if matches!(program, "node" | "nodejs") && matches!(text, "-i" | "--interactive") {
            return Some(FromStdin::Asked(at));
        }
        let quiet =
            PYTHON.contains(&program) && bundle.chars().all(|option| "bBdEiIOqRsSuvPx".contains(option));
        let valued = !bundle.starts_with('-')
            && bundle.chars().next_back().is_some_and(|option| spelling.valued.contains(option));
        if !quiet && !valued {
            // The option may print information or name what runs, so only an operand decides.
            let rest = args[at + 1..].iter().position(|word| is_standard_input(&word.text));
            let first =
                args[at + 1..].iter().position(|word| !word.text.starts_with('-') || word.text == "-");
            return rest.filter(|rest| first == Some(*rest)).map(|rest| FromStdin::Asked(at + 1 + rest));
        }
        at += 1 + usize::from(valued);
    }
    match args.get(at) {
        Some(script) => is_standard_input(&script.text).then_some(FromStdin::Asked(at)),
        None => reads_when_bare.then_some(FromStdin::Bare),
    }
}
