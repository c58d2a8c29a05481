//! Causes, advice and examples for codes: what `causes.txt` says.

/// What is known about a code, in addition to its meaning.
#[derive(Debug, Default)]
pub(super) struct CodeAdvice {
    /// The usual causes.
    pub causes: Vec<&'static str>,
    /// What to do.
    pub advice: Vec<&'static str>,
    /// The lines of an example.
    pub example: Vec<&'static str>,
}

const TEXT: &str = include_str!("causes.txt");

/// Returns what is known about a code.
pub(super) fn for_code(code: &str) -> CodeAdvice {
    let mut known = CodeAdvice::default();
    let mut is_meant = false;
    for line in TEXT.lines() {
        let (mark, text) = line.split_once(' ').unwrap_or((line, ""));
        match mark {
            "" | "#" => {}
            "?" if is_meant => known.causes.push(text),
            ">" if is_meant => known.advice.push(text),
            "$" if is_meant => known.example.push(text),
            "?" | ">" | "$" => {}
            _ => is_meant = line.split(' ').any(|named| named == code),
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use brigade::command::Argv;
    use clap::Parser as _;

    use brigade::{Env, Workspace};
    use brigade_testkit::TempWorkspace;

    use super::super::explain::{CodeKind, all_codes};
    use super::*;
    use crate::command_line::Arguments;

    #[test]
    fn every_code_has_causes_advice_and_an_example() {
        for (kind, code, _) in all_codes() {
            let known = for_code(code);
            let is_explained = kind == CodeKind::Issue || !known.advice.is_empty();
            // The kinds of errors are the causes of these exit codes.
            let is_of_kinds = kind == CodeKind::Exit && ["1", "2", "3"].contains(&code);
            let has_cause = is_of_kinds || !known.causes.is_empty();
            assert!(has_cause && is_explained && !known.example.is_empty(), "{code}: {known:?}");
        }
    }

    #[test]
    fn each_paragraph_is_about_codes_that_exist() {
        let known: BTreeSet<&str> = all_codes().map(|(_, code, _)| code).collect();
        let heads = TEXT.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '?', '>', '$']));
        let named: Vec<&str> = heads.flat_map(|line| line.split(' ')).collect();
        assert_eq!(named.iter().copied().collect::<BTreeSet<_>>(), known);
        assert_eq!(named.len(), known.len(), "a code is in two paragraphs");
    }

    #[test]
    fn commands_of_examples_exist() {
        for line in TEXT.lines().filter_map(|line| line.strip_prefix("$ ")) {
            let words = Argv::parse(line).map(|argv| argv.words().to_vec()).unwrap_or_default();
            let words = words.split(|word| word == "&&").next().unwrap_or_default();
            if words.first().is_none_or(|program| program != "brigade") {
                continue;
            }
            if let Err(error) = Arguments::try_parse_from(words) {
                // `brigade COMMAND` means any command, and `--help` and `--version` end the reading.
                let is_any = words.last().is_some_and(|word| word == "COMMAND");
                assert!(is_any || error.exit_code() == 0, "{line}: {error}");
            }
        }
    }

    #[test]
    fn policies_of_examples_are_valid() {
        let workspace = TempWorkspace::empty();
        let mut examples: Vec<String> =
            all_codes().map(|(_, code, _)| for_code(code).example.join("\n")).collect();
        examples.retain(|example| example.starts_with("# policy.toml"));
        examples.dedup();
        assert!(!examples.is_empty());
        for example in examples {
            workspace.write(".brigade/tools/policy.toml", &example);
            let env = Env::of_process().home(workspace.home());
            let policy = Workspace::open(workspace.path(), env).unwrap().policy().show().unwrap();
            assert!(policy.valid && policy.warnings.is_empty(), "{example}\n{policy:?}");
        }
    }
}
