//! Checks Rust files: length, open notes, silenced lints and tests.

use super::rust_text::{Line, has_word, split};
use super::{Finding, width};
use crate::repository::Tree;

/// The maximum number of lines of a Rust file.
const MAX_FILE_LINES: usize = 700;

/// Code that may call what `clippy.toml` bans: the interfaces to disk, clock, environment and processes, and code that
/// is not shipped.
const SEAMS: &[&str] = &[
    "crates/brigade-access/build.rs",
    "crates/brigade-cli/build.rs",
    "crates/brigade-redact/build.rs",
    "crates/brigade-process/",
    "crates/brigade-sandbox/",
    "crates/brigade-fs/",
    "crates/brigade-core/src/time.rs",
    "crates/brigade-cli/src/main.rs",
    "crates/brigade-testkit/",
    "tests/",
    "xtask/",
];

/// The code of the façade.
const FACADE: &str = "crates/brigade/src/";

/// The maximum number of lines of code of the façade, without comments, empty lines and tests. Further code belongs in
/// the crates below it. Lower this number with each move.
const FACADE_CODE: usize = 4_810;

/// The only file with an `impl Workspace`. It only returns handles.
const WORKSPACE: &str = "crates/brigade/src/workspace.rs";

/// The maximum number of lines of an attribute before its reason.
const ATTRIBUTE: usize = 6;

/// The message about a comment that is too wide.
const WIDE: &str = "a comment has at most 120 columns: `cargo xtask tidy --fix` wraps it";

/// Words that mark open work.
const NOTES: &[&str] = &["TODO", "FIXME", "XXX"];

/// Code that is not allowed, and what to do instead.
const BANNED: &[(&str, &str)] = &[
    ("#[ignore", "an ignored test tests nothing: run it or remove it"),
    ("allow(dead_code", "dead code is removed, not silenced"),
    ("expect(dead_code", "dead code is removed, not silenced"),
    ("Result<Result<", ONE_WAY),
    ("Result<Option<Result<", ONE_WAY),
    ("Result<Match<Result<", ONE_WAY),
    ("Result<io::Result<", ONE_WAY),
    ("Result<std::io::Result<", ONE_WAY),
];

/// The alternative to a result in a result.
const ONE_WAY: &str = "one way to fail: use a separate error type, or an enum of the outcomes";

/// Returns whether a file is a module shared by the tests of a crate. Each test is a separate program and uses only a
/// part of it.
fn is_shared_by_tests(path: &str) -> bool {
    path.contains("/tests/") && path.ends_with("/mod.rs")
}

/// Lists every violation of the rules for Rust files.
pub fn findings(tree: &Tree) -> Vec<Finding> {
    let sources: Vec<_> = tree.texts(".rs").filter(|(path, _)| !path.starts_with("fixtures/")).collect();
    let mut found = Vec::new();
    for (path, text) in &sources {
        check_length(path, text, &mut found);
        let wide = width::too_wide(text).into_iter();
        found.extend(wide.map(|line| Finding::new(path, line, WIDE)));
        let lines = split(text);
        for (index, line) in lines.iter().enumerate() {
            found.extend(
                breaches(path, line).into_iter().map(|message| Finding::new(path, index + 1, message)),
            );
        }
        check_seams(path, &lines, &mut found);
    }
    check_facade(&sources, FACADE_CODE, &mut found);
    found
}

fn check_length(path: &str, text: &str, found: &mut Vec<Finding>) {
    let length = text.lines().count();
    if MAX_FILE_LINES < length {
        let message =
            format!("{length} lines, {MAX_FILE_LINES} are allowed: a module has one idea, so split it");
        found.push(Finding::new(path, MAX_FILE_LINES + 1, message));
    }
}

fn check_facade(sources: &[(&str, &str)], most: usize, found: &mut Vec<Finding>) {
    let is_test = |path: &str| path.contains("/tests/") || path.ends_with("/tests.rs");
    let of_facade = |(path, _): &&(&str, &str)| path.starts_with(FACADE) && !is_test(path);
    let code: usize = sources.iter().filter(of_facade).map(|(_, text)| lines_of_code(text)).sum();
    if most < code {
        let message = format!(
            "the façade has {code} lines of code, {most} are allowed: move all but handles into the crates that own it"
        );
        found.push(Finding::new("crates/brigade/src/lib.rs", 1, message));
    }
}

/// Counts lines of code, without tests.
fn lines_of_code(text: &str) -> usize {
    split(text).iter().filter(|line| !line.is_test && !line.code.trim().is_empty()).count()
}

/// Finds permissions to call banned functions that lack a reason, or that are in neither `SEAMS` nor tests.
fn check_seams(path: &str, lines: &[Line], found: &mut Vec<Finding>) {
    let is_seam = SEAMS.iter().any(|seam| path.starts_with(seam))
        || ["/tests/", "/benches/", "/examples/"].iter().any(|folder| path.contains(folder))
        // A file of unit tests, declared under `#[cfg(test)]` in another file.
        || path.ends_with("/tests.rs");
    for (index, line) in lines.iter().enumerate() {
        if !has_word(&line.code, "disallowed_methods") {
            continue;
        }
        let has_reason = lines[index..].iter().take(ATTRIBUTE).any(|line| has_word(&line.code, "reason"));
        if !has_reason {
            found.push(Finding::new(
                path,
                index + 1,
                "a permission to call what `clippy.toml` bans needs a `reason`",
            ));
        }
        if !is_seam && !line.is_test {
            let message = "only the context may call what `clippy.toml` bans: take a value, or go through the crate for it";
            found.push(Finding::new(path, index + 1, message));
        }
    }
}

fn breaches(path: &str, line: &Line) -> Vec<String> {
    let mut found = Vec::new();
    for note in NOTES {
        if has_word(&line.comment, note) && !has_issue_number(&line.comment) {
            found.push(format!("{note} without the number of an issue (`#12`)"));
        }
    }
    // Attributes may contain any whitespace.
    let dense: String = line.code.chars().filter(|c| !c.is_whitespace()).collect();
    for (text, reason) in BANNED {
        let is_shared = is_shared_by_tests(path) && text.contains("dead_code");
        if dense.contains(text) && !is_shared {
            found.push(format!("`{text}`: {reason}"));
        }
    }
    if path.starts_with(FACADE) && path != WORKSPACE && line.code.starts_with("impl Workspace ") {
        found.push(format!("`impl Workspace` is allowed only in {WORKSPACE}: write a handle"));
    }
    found
}

fn has_issue_number(text: &str) -> bool {
    text.match_indices('#').any(|(at, _)| text[at + 1..].starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expect: &[(usize, &str)]) {
        let found = findings(&Tree::from_texts(&[(path, text)]));
        assert_eq!(found.len(), expect.len(), "{found:#?}");
        for (finding, (line, part)) in found.iter().zip(expect) {
            assert!(finding.line == *line && finding.message.contains(part), "{found:#?}");
        }
    }

    #[test]
    fn a_note_needs_an_issue() {
        check("crates/a/src/lib.rs", "fn a() {}\n// TODO later\n", &[(2, "TODO without")]);
        check("crates/a/src/lib.rs", "// FIXME(#12) later\n", &[]);
        check("crates/a/src/lib.rs", "let notes = \"TODO\"; // looks for open notes\n", &[]);
    }

    #[test]
    fn ignored_tests_and_silenced_code_are_found() {
        check("tests/tests/a.rs", "#[ignore]\n#[ignore = \"slow\"]\n", &[(1, "ignored"), (2, "ignored")]);
        check("crates/a/src/lib.rs", "#![allow( dead_code )]\n", &[(1, "dead code")]);
        check("crates/a/src/lib.rs", "fn f() -> Result<Result<A, B>, C> {}\n", &[(1, "one way to fail")]);
        check("crates/a/src/lib.rs", "fn f() -> Result<Option<Result<A, B>>, C> {}\n", &[(1, "one way")]);
        check("crates/a/src/lib.rs", "fn f() -> Option<Result<A, B>> {}\n", &[]);
        check("crates/a/src/lib.rs", "fn f() -> Result<io::Result<()>, C> {}\n", &[(1, "one way to fail")]);
        check("crates/a/src/lib.rs", "fn f() -> Result<ControlFlow<E>, C> {}\n", &[]);
    }

    #[test]
    fn banned_calls_are_permitted_at_the_seams_with_a_reason() {
        let with = "#![allow(clippy::disallowed_methods, reason = \"the seam\")]\n";
        let without = "#![allow(clippy::disallowed_methods)]\n";
        check("crates/brigade-fs/src/lib.rs", with, &[]);
        check("crates/brigade-fs/src/lib.rs", without, &[(1, "needs a `reason`")]);
        check("crates/brigade-call/src/lib.rs", with, &[(1, "only the context")]);
        check("crates/brigade-call/src/lib.rs", &format!("#[cfg(test)]\nmod tests {{\n{with}}}"), &[]);
        check(
            "crates/brigade-call/src/lib.rs",
            &format!("#[cfg(test)]\nmod tests;\n{with}"),
            &[(3, "only the context")],
        );
        check("crates/brigade-call/benches/plan.rs", with, &[]);
    }

    #[test]
    fn a_workspace_has_one_room() {
        check("crates/brigade/src/workspace.rs", "impl Workspace {\n}\n", &[]);
        check("crates/brigade/src/calls.rs", "\nimpl Workspace {\n}\n", &[(2, "write a handle")]);
        check("crates/brigade/src/calls.rs", "impl Calls {\n}\nimpl WorkspaceError {\n}\n", &[]);
    }

    #[test]
    fn the_facade_is_thin() {
        let text = "//! Docs.\n\nfn a() {\n    // A comment.\n    b()\n}\n#[cfg(test)]\nmod tests {}\n";
        let files =
            ["crates/brigade/src/a.rs", "crates/brigade/src/a/tests.rs", "crates/brigade-call/src/a.rs"];
        let files = files.map(|path| (path, text));
        let mut found = Vec::new();
        check_facade(&files, 3, &mut found);
        assert_eq!(found, []);
        check_facade(&files, 2, &mut found);
        assert!(found[0].message.contains("3 lines of code, 2 are allowed"), "{found:#?}");
    }

    #[test]
    fn a_file_has_an_end() {
        check("crates/a/src/lib.rs", &"\n".repeat(MAX_FILE_LINES), &[]);
        check("crates/a/src/lib.rs", &"\n".repeat(MAX_FILE_LINES + 1), &[(MAX_FILE_LINES + 1, "701 lines")]);
    }

    #[test]
    fn fixtures_are_not_our_code() {
        check("fixtures/workspaces/a/b.rs", "// TODO later", &[]);
    }
}
