//! Checks that only the command line knows the names of its commands and options.
//!
//! All other crates use a `NextStep`. Texts of files and records whose bytes must not change are separate files,
//! included with `include_str!`.

use std::collections::BTreeSet;

use super::Finding;
use super::rust_text::split;
use crate::repository::Tree;

/// The first words of the commands.
const COMMANDS: &[&str] = &[
    "brigade tools",
    "brigade work",
    "brigade serve",
    "brigade kitchen",
    "brigade map",
    "brigade plan",
    "brigade service",
    "brigade ticket",
    "brigade resume",
    "brigade status",
    "brigade validate",
    "brigade summary",
];

/// The crates of the faces: the command line and the gateway. Their texts may name commands for people to type. So may
/// texts for agents, which no face spells.
const FACES: [&str; 6] = [
    "crates/brigade-cli/",
    "crates/brigade-gateway/",
    "crates/brigade-ops/src/runtimes/host.rs",
    "crates/brigade-policy/src/approval/rule.rs",
    "crates/brigade-remote/src/bridge.rs",
    "crates/brigade-toolset/src/resolver.rs",
];

/// Lists every use of the name of a command or option in a crate below the command line.
pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let options = options(tree);
    for (path, text) in tree.texts(".rs").filter(|(path, _)| is_below(path)) {
        for (index, line) in split(text).iter().enumerate() {
            if line.is_test {
                continue;
            }
            // A comment may name a command; `split` removes comments and strings from the code.
            let raw = text.lines().nth(index).unwrap_or_default();
            let is_said = |command: &&&str| raw.contains(**command) && !line.comment.contains(**command);
            let option = options.iter().find(|option| is_in_a_sentence(raw, option));
            let option = option.map(String::as_str).filter(|option| !line.comment.contains(option));
            if let Some(command) = COMMANDS.iter().find(is_said).copied().or(option) {
                let message =
                    format!("`{command}` belongs to the command line: use a `NextStep`, or an included file");
                found.push(Finding::new(path, index + 1, message));
            }
        }
    }
    found
}

/// Returns the options of the command line: the fields that it parses from `--NAME`.
fn options(tree: &Tree) -> Vec<String> {
    let mut found = BTreeSet::new();
    for (_, text) in tree.texts(".rs").filter(|(path, _)| path.starts_with("crates/brigade-cli/src/")) {
        let mut lines = text.lines().map(str::trim);
        while let Some(line) = lines.next() {
            let Some(rest) = line.strip_prefix("#[arg(").filter(|rest| rest.contains("long")) else {
                continue;
            };
            let named = rest.split_once("long = \"").and_then(|(_, name)| name.split_once('"'));
            let field = || {
                let line = lines.find(|line| !line.starts_with(['#', '/']) && line.contains(": "))?;
                let name = line.trim_start_matches("pub(crate) ").trim_start_matches("pub ");
                name.split_once(':').map(|(name, _)| name.replace('_', "-"))
            };
            found.extend(named.map(|(name, _)| name.to_owned()).or_else(field));
        }
    }
    found.into_iter().map(|name| format!("--{name}")).collect()
}

/// Returns whether a line has a text that mentions an option. A literal that is only the option, with or without a
/// value, is an argument for another program.
fn is_in_a_sentence(line: &str, option: &str) -> bool {
    line.match_indices(option).any(|(at, _)| {
        let (before, after) = (line[..at].chars().next_back(), line[at + option.len()..].chars().next());
        let is_whole = !after.is_some_and(|after| after.is_ascii_alphanumeric() || after == '-');
        let is_alone = before == Some('"') && matches!(after, Some('"' | '='));
        is_whole && matches!(before, Some(' ' | '`' | '(' | '"')) && !is_alone
    })
}

fn is_below(path: &str) -> bool {
    path.starts_with("crates/")
        && !FACES.iter().any(|face| path.starts_with(face))
        && !["/tests/", "/benches/", "/examples/"].iter().any(|folder| path.contains(folder))
        && !path.ends_with("/tests.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, lines: &[usize]) {
        let found = findings(&Tree::from_texts(&[(path, text)]));
        assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), lines, "{found:#?}");
    }

    #[test]
    fn only_the_command_line_names_an_option() {
        let cli = "struct A {\n    /// Waits\n    #[arg(long, value_name = \"SECONDS\")]\n    lock_timeout: u64,\n    \
                   #[arg(short = 'x', long = \"id\")]\n    name: String,\n}\n";
        #[track_caller]
        fn check(cli: &str, text: &str, is_refused: bool) {
            let source = format!("fn f() {{ g({text}) }}\n");
            let tree = [("crates/brigade-cli/src/a.rs", cli), ("crates/brigade-doctor/src/a.rs", &source)];
            assert_eq!(!findings(&Tree::from_texts(&tree)).is_empty(), is_refused, "{text}");
        }
        check(cli, "\"raise --lock-timeout\"", true);
        check(cli, "\"--id is for one tool\"", true);
        check(cli, "\"`--id` is for one tool\"", true);
        check(cli, "\"--id\"", false);
        check(cli, "\"--id=x\"", false);
        check(cli, "\"git rm --cached x\"", false);
        check(cli, "\"x --idle\"", false);
        check(cli, "1) // --id is one\n", false);
    }

    #[test]
    fn only_the_command_line_names_a_command() {
        let source =
            "//! `brigade tools list` lists.\nfn f() -> &'static str {\n    \"brigade tools list\"\n}\n";
        check("crates/brigade-doctor/src/a.rs", source, &[3]);
        check("crates/brigade/src/a.rs", "const A: &str = \"try `brigade work brief`\";\n", &[1]);
        check("crates/brigade-kitchen-run/src/a.rs", "const A: &str = \"brigade kitchen\";\n", &[1]);
        check("crates/brigade-cli/src/a.rs", source, &[]);
        check("crates/brigade-doctor/tests/a.rs", source, &[]);
        check("tests/src/a.rs", source, &[]);
        check(
            "crates/brigade/src/a.rs",
            "#[cfg(test)]\nmod tests {\n    const A: &str = \"brigade tools list\";\n}\n",
            &[],
        );
        check(
            "crates/brigade/src/a.rs",
            "#[cfg(test)]\nmod tests;\nconst A: &str = \"brigade tools list\";\n",
            &[3],
        );
    }
}
