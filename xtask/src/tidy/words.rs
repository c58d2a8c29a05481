//! The words of the command line: only the face that has one knows them.
//!
//! What is below says a `NextStep`. Texts of files and records whose bytes must stay are files of their own, which
//! `include_str!` takes in.

use super::Finding;
use super::rust_text::split;
use crate::repository::Tree;

/// How the commands begin.
const COMMANDS: &[&str] = &["brigade tools", "brigade work"];

/// The crate of the command line.
const FACE: &str = "crates/brigade-cli/";

/// Lists every command that a crate below the faces knows the words of.
pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in tree.texts(".rs").filter(|(path, _)| is_below(path)) {
        for (index, line) in split(text).iter().enumerate() {
            if line.code.contains("#[cfg(test)]") {
                break;
            }
            // A comment may name a command; `split` takes comments and strings out of the code.
            let raw = text.lines().nth(index).unwrap_or_default();
            let is_said = |command: &&&str| raw.contains(**command) && !line.comment.contains(**command);
            if let Some(command) = COMMANDS.iter().find(is_said) {
                let message = format!(
                    "`{command}` is for the command line to say: use a `NextStep`, or an included file"
                );
                found.push(Finding::new(path, index + 1, message));
            }
        }
    }
    found
}

fn is_below(path: &str) -> bool {
    path.starts_with("crates/")
        && !path.starts_with(FACE)
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
    fn only_the_face_says_a_command() {
        let source =
            "//! `brigade tools list` lists.\nfn f() -> &'static str {\n    \"brigade tools list\"\n}\n";
        check("crates/brigade-doctor/src/a.rs", source, &[3]);
        check("crates/brigade/src/a.rs", "const A: &str = \"try `brigade work brief`\";\n", &[1]);
        check("crates/brigade-cli/src/a.rs", source, &[]);
        check("crates/brigade-doctor/tests/a.rs", source, &[]);
        check("tests/src/a.rs", source, &[]);
        check(
            "crates/brigade/src/a.rs",
            "#[cfg(test)]\nmod tests {\n    const A: &str = \"brigade tools list\";\n}\n",
            &[],
        );
    }
}
