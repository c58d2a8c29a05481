//! What to type: the examples that the help of each command shows.

use clap::Command;

/// A group of commands, one of its commands, and examples of that: what is typed, and what it is for.
///
/// Words in capitals stand for ids. The others are those of the sample workspace that `brigade demo` makes.
type Examples = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// The name of the group that the program itself is.
pub(crate) const PROGRAM: &str = "brigade";

const TABLE: &[Examples] = &[
    (
        "tools",
        "init",
        &[
            ("brigade tools init", "Begin a catalog in this folder"),
            ("brigade tools init --force --target ../other", "Begin it anew, somewhere else"),
        ],
    ),
    (
        "tools",
        "defaults",
        &[
            ("brigade tools defaults --dry-run", "See which built-in tools would be added"),
            ("brigade tools defaults", "Add them"),
        ],
    ),
    (
        "tools",
        "list",
        &[
            ("brigade tools list", "See the tools"),
            ("brigade tools list --json", "The whole catalog with its health, for scripts"),
        ],
    ),
    ("tools", "show", &[("brigade tools show count-words", "See one tool and where it is projected")]),
    ("tools", "search", &[("brigade tools search json", "Find tools by a word")]),
    (
        "tools",
        "describe",
        &[
            ("brigade tools describe count-words", "See its arguments, examples and effects"),
            ("brigade tools describe TOOL --live", "Ask its MCP server what it says of the tool now"),
        ],
    ),
    (
        "tools",
        "contracts",
        &[
            ("brigade tools contracts", "See which tools are ready to be called"),
            ("brigade tools contracts --live", "Compare those of MCP servers with what they list now"),
        ],
    ),
    (
        "tools",
        "plan",
        &[
            ("brigade tools plan", "See which projections would be written"),
            ("brigade tools plan count-words", "Only those of one tool"),
        ],
    ),
    (
        "tools",
        "apply",
        &[
            ("brigade tools apply --all --dry-run", "See what would be written"),
            ("brigade tools apply count-words", "Write the projections of one tool"),
            ("brigade tools apply --all --prune", "Write all, and remove those that no tool asks for"),
        ],
    ),
    (
        "tools",
        "doctor",
        &[
            ("brigade tools doctor", "See what is wrong, and what mends it"),
            ("brigade tools doctor --strict --only policy,projection", "Fail on issues of two areas"),
            ("brigade tools doctor --fix --dry-run", "See what can be mended by itself"),
        ],
    ),
    (
        "tools",
        "import-issues",
        &[
            ("brigade tools import-issues", "Put every issue into the work inbox, once"),
            ("brigade work inbox list", "See them there"),
        ],
    ),
    (
        "call",
        "plan",
        &[
            (
                r#"brigade tools call plan count-words --args '{"paths": ["README.md"]}'"#,
                "See what it would run",
            ),
            ("brigade tools call plan count-words --args-json args.json --json", "Arguments from a file"),
        ],
    ),
    (
        "call",
        "queue",
        &[
            (r#"brigade tools call queue count-words --args '{"paths": ["README.md"]}'"#, "Ask for a call"),
            ("brigade tools call queue --stdin --json < calls.jsonl", "Ask for many"),
        ],
    ),
    (
        "call",
        "list",
        &[
            ("brigade tools call list --status pending", "See what waits for a decision"),
            ("brigade tools call list --tool count-words --limit 5", "The last calls of one tool"),
        ],
    ),
    ("call", "show", &[("brigade tools call show CALL", "See a call and what speaks against it")]),
    ("call", "approve", &[("brigade tools call approve CALL", "Let exactly this run")]),
    ("call", "reject", &[("brigade tools call reject CALL --reason 'not now'", "Decide against it")]),
    ("call", "hold", &[("brigade tools call hold CALL --reason 'ask Kim first'", "Put it aside")]),
    (
        "call",
        "run",
        &[
            ("brigade tools call run CALL", "Run an approved call"),
            ("brigade tools call run --next", "Run the oldest one that still is what was approved"),
        ],
    ),
    (
        "run",
        "list",
        &[
            ("brigade tools run list", "See the last runs"),
            ("brigade tools run list --status failed --tool count-words", "Only some"),
        ],
    ),
    (
        "run",
        "show",
        &[
            ("brigade tools run show RUN", "See a receipt"),
            ("brigade tools run show RUN --log stderr", "Read what the program printed"),
        ],
    ),
    ("run", "latest", &[("brigade tools run latest", "See the receipt of the last run")]),
    ("run", "replay", &[("brigade tools run replay RUN", "Ask for the same call again")]),
    ("run", "export", &[("brigade tools run export RUN > receipt.json", "Write a signed receipt")]),
    (
        "run",
        "verify",
        &[
            ("brigade tools run verify", "Check every receipt"),
            ("brigade tools run verify --envelope receipt.json --key KEY.pub", "Check an exported one"),
        ],
    ),
    ("checkpoint", "list", &[("brigade tools checkpoint list", "See what programs ask")]),
    ("checkpoint", "show", &[("brigade tools checkpoint show CHECKPOINT", "See one question")]),
    (
        "checkpoint",
        "approve",
        &[("brigade tools checkpoint approve CHECKPOINT --choice publish", "Answer it with a choice")],
    ),
    (
        "checkpoint",
        "reject",
        &[("brigade tools checkpoint reject CHECKPOINT --reason 'wrong branch'", "Say no")],
    ),
    ("checkpoint", "resume", &[("brigade tools checkpoint resume CHECKPOINT", "Let the program go on")]),
    ("policy", "init", &[("brigade tools policy init", "Begin a policy, with the sandbox on")]),
    ("policy", "show", &[("brigade tools policy show", "See what this host allows")]),
    ("policy", "doctor", &[("brigade tools policy doctor", "See what the policy refuses, and to whom")]),
    (
        "policy",
        "explain",
        &[("brigade tools policy explain count-words", "See which line decides what about a tool")],
    ),
    ("runtime", "init", &[("brigade tools runtime init", "Begin the list of runtimes")]),
    ("runtime", "list", &[("brigade tools runtime list", "See the runtimes")]),
    ("runtime", "show", &[("brigade tools runtime show local-helper", "See one, its paths and its process")]),
    ("runtime", "status", &[("brigade tools runtime status", "See which run and are healthy")]),
    (
        "runtime",
        "start",
        &[("brigade tools runtime start local-helper", "Start it and wait until it is ready")],
    ),
    ("runtime", "stop", &[("brigade tools runtime stop local-helper", "End it with all its processes")]),
    ("runtime", "restart", &[("brigade tools runtime restart local-helper", "Stop it and start it again")]),
    (
        "runtime",
        "logs",
        &[
            ("brigade tools runtime logs local-helper -n 20", "See the end of its log"),
            ("brigade tools runtime logs local-helper --stderr --follow", "Watch its errors"),
        ],
    ),
    ("runtime", "doctor", &[("brigade tools runtime doctor --strict", "Fail when anything is wrong")]),
    ("sync", "plan", &[("brigade tools sync plan", "See which projections would be written")]),
    (
        "sync",
        "apply",
        &[
            ("brigade tools sync apply --all", "See what would be written; writes nothing"),
            ("brigade tools sync apply --all --write --force", "Write it"),
        ],
    ),
    ("parity", "status", &[("brigade tools parity status", "See where harnesses differ")]),
    (
        "parity",
        "closeout",
        &[("brigade tools parity closeout --reason 'known gaps'", "Accept the differences of today")],
    ),
    ("harness", "list", &[("brigade tools harness list", "See the known harnesses")]),
    ("harness", "show", &[("brigade tools harness show claude", "See what one reads, and where")]),
    ("state", "check", &[("brigade tools state check", "See whether queue, receipts and ledger are sound")]),
    ("state", "compact", &[("brigade tools state compact", "Move finished calls out of the journal")]),
    ("state", "export", &[("brigade tools state export > state.jsonl", "Take everything elsewhere")]),
    (
        "import",
        "mcp",
        &[
            ("brigade tools import mcp RUNTIME --dry-run", "See what its server offers"),
            ("brigade tools import mcp RUNTIME --tool search", "Add one of its tools, disabled"),
        ],
    ),
    ("pins", "list", &[("brigade tools pins list", "See which MCP tools are pinned, and what changed")]),
    ("pins", "show", &[("brigade tools pins show PIN", "See what changed at the server")]),
    (
        "pins",
        "accept",
        &[("brigade tools pins accept PIN --fingerprint FINGERPRINT", "Take the change that was shown")],
    ),
    ("keys", "init", &[("brigade tools keys init", "Make the key that signs exported receipts")]),
    ("work", "brief", &[("brigade work brief", "See what waits for a person, and what to do next")]),
    (
        "inbox",
        "list",
        &[
            ("brigade work inbox list", "See the work inbox"),
            ("brigade work inbox list --status pending --source tool-catalog", "Only some rows"),
        ],
    ),
    ("inbox", "show", &[("brigade work inbox show ROW", "See one row")]),
    ("inbox", "promote", &[("brigade work inbox promote ROW", "Make it work")]),
    (
        "inbox",
        "dismiss",
        &[("brigade work inbox dismiss ROW --reason 'as it is meant'", "Hear of it only when it changes")],
    ),
    ("inbox", "done", &[("brigade work inbox done ROW", "Say that it is done")]),
    (
        PROGRAM,
        "demo",
        &[
            ("brigade demo", "Watch the whole way of a call"),
            ("brigade demo --in ~/brigade-demo", "In a folder of your choice"),
        ],
    ),
    (
        PROGRAM,
        "completions",
        &[
            ("brigade completions bash > ~/.local/share/bash-completion/completions/brigade", ""),
            ("brigade completions fish > ~/.config/fish/completions/brigade.fish", ""),
        ],
    ),
];

/// Adds their examples to the commands of a group.
pub(crate) fn attach(group: Command) -> Command {
    let name = group.get_name().to_owned();
    group.mut_subcommands(|command| match of(&name, command.get_name()) {
        Some(examples) => command.after_help(examples),
        None => command,
    })
}

/// Returns the section of a command's help that shows its examples.
pub(crate) fn of(group: &str, command: &str) -> Option<String> {
    let listed = TABLE.iter().find(|(of, leaf, _)| *of == group && *leaf == command);
    listed.map(|(_, _, examples)| section(examples))
}

/// Writes the examples of one command, what they are for in a column of its own.
fn section(examples: &[(&str, &str)]) -> String {
    let width = examples.iter().map(|(line, _)| line.len()).max().unwrap_or(0);
    let mut text = String::from("Examples:");
    for (line, purpose) in examples {
        text.push_str(
            match purpose.is_empty() {
                true => format!("\n  {line}"),
                false => format!("\n  {line:width$}   {purpose}"),
            }
            .as_str(),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use brigade::command::Argv;
    use brigade::{Env, Exit, Workspace};
    use clap::CommandFactory as _;
    use clap::Parser as _;

    use super::*;
    use crate::arguments::Arguments;
    use crate::{Streams, Surroundings};

    /// Returns the words of an example, up to where the shell takes over.
    fn words(line: &str) -> Vec<String> {
        let words = Argv::parse(line).unwrap().words().to_vec();
        words.into_iter().take_while(|word| word != "<" && word != ">").collect()
    }

    #[test]
    fn every_command_has_examples_and_each_is_one_of_that_command() {
        fn walk(command: &Command, group: &str, seen: &mut usize) {
            let name = command.get_name();
            if command.has_subcommands() {
                command.get_subcommands().for_each(|inner| walk(inner, name, seen));
                return;
            }
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let listed = TABLE.iter().find(|(of, leaf, _)| *of == group && *leaf == name);
            let Some((_, _, examples)) = listed else { panic!("no examples of {group} {name}") };
            assert_eq!(help, section(examples), "{group} {name}");
            assert!((1..=3).contains(&examples.len()), "{group} {name}");
            assert!(words(examples[0].0).iter().any(|word| word == name), "{group} {name}");
            *seen += 1;
        }
        let mut command = Arguments::command();
        command.build();
        let mut seen = 0;
        walk(&command, "", &mut seen);
        assert_eq!(seen, TABLE.len());
    }

    #[test]
    fn each_example_is_understood_and_fits_on_a_line() {
        for (_, _, examples) in TABLE {
            for (line, _) in *examples {
                if let Err(error) = Arguments::try_parse_from(words(line)) {
                    panic!("{line}\n{error}");
                }
            }
            assert!(section(examples).lines().all(|line| line.len() <= 100), "{}", section(examples));
        }
    }

    #[test]
    fn examples_without_ids_work_in_the_sample_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("sample");
        let mut files = crate::commands::sample_files();
        files.push(brigade::NewFile::new("args.json", r#"{"paths": ["README.md"]}"#));
        Workspace::with_files(&workspace, &files, Env::of_process()).unwrap();
        let surroundings = Surroundings::of_test(workspace);
        let is_id = |word: &str| 2 < word.len() && word.bytes().all(|byte| byte.is_ascii_uppercase());
        // What starts processes, writes outside of the workspace, or goes on until it is stopped.
        let is_kept_out = |line: &str| {
            ["runtime start", "runtime restart", "--follow", "--live", "keys", "demo", "--target", "~", "<"]
                .iter()
                .any(|word| line.contains(word))
        };
        let mut ran = 0;
        for (line, _) in TABLE.iter().flat_map(|(_, _, examples)| *examples) {
            let words = words(line);
            if is_kept_out(line) || words.iter().any(|word| is_id(word.split('.').next().unwrap_or(word))) {
                continue;
            }
            let (mut output, mut error) = (Vec::new(), Vec::new());
            let streams = Streams { input: &mut std::io::empty(), output: &mut output, error: &mut error };
            let exit = crate::run(words.into_iter().map(OsString::from).collect(), &surroundings, streams);
            let exists = line.ends_with(" init") && exit == Exit::Usage;
            assert!(
                exists || matches!(exit, Exit::Done | Exit::Refused),
                "{line}\n{}",
                String::from_utf8_lossy(&error)
            );
            ran += 1;
        }
        assert!(40 < ran, "{ran}");
    }
}
