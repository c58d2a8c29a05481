//! Checks that only the command line knows the names of its commands.
//!
//! All other crates use a `NextStep`. Texts of files and records whose bytes must not change are separate files,
//! included with `include_str!`.

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

/// Options that no other program has.
const OPTIONS: &[&str] = &["--include-blocked", "--lock-timeout", "--run-checks"];

/// The crates of the faces: the command line, and the gateway, whose answers tell a person what to type.
const FACES: [&str; 2] = ["crates/brigade-cli/", "crates/brigade-gateway/"];

/// Lists every use of a command's name in a crate below the command line.
pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in tree.texts(".rs").filter(|(path, _)| is_below(path)) {
        for (index, line) in split(text).iter().enumerate() {
            if line.is_test {
                continue;
            }
            // A comment may name a command; `split` removes comments and strings from the code.
            let raw = text.lines().nth(index).unwrap_or_default();
            let is_said = |command: &&&str| raw.contains(**command) && !line.comment.contains(**command);
            if let Some(command) = COMMANDS.iter().chain(OPTIONS).find(is_said) {
                let message =
                    format!("`{command}` belongs to the command line: use a `NextStep`, or an included file");
                found.push(Finding::new(path, index + 1, message));
            }
        }
    }
    found
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
        let found = findings(&Tree::of(&[(path, text)]));
        assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), lines, "{found:#?}");
    }

    #[test]
    fn only_the_command_line_names_a_command() {
        let source =
            "//! `brigade tools list` lists.\nfn f() -> &'static str {\n    \"brigade tools list\"\n}\n";
        check("crates/brigade-doctor/src/a.rs", source, &[3]);
        check("crates/brigade/src/a.rs", "const A: &str = \"try `brigade work brief`\";\n", &[1]);
        check("crates/brigade-crew/src/a.rs", "const A: &str = \"brigade kitchen\";\n", &[1]);
        check("crates/brigade-doctor/src/a.rs", "const A: &str = \"raise --lock-timeout\";\n", &[1]);
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
