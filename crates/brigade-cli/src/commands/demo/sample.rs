//! The workspace of the demo: the fixture `repo-tools`, inside the binary.

use brigade::NewFile;

/// Includes files of the fixture in the binary.
macro_rules! fixture {
    ($($path:literal)*) => {
        &[$(($path, include_str!(concat!("../../../../../fixtures/workspaces/repo-tools/", $path)))),*]
    };
}

const FILES: &[(&str, &str)] = fixture! {
    ".brigade/tools.toml"
    ".gitignore"
    "README.md"
    "bin/always_fails.py"
    "bin/count_words.py"
    "bin/find-todos.sh"
    "bin/format_json.py"
    "bin/git_log.py"
    "bin/needs_token.py"
    "docs/always-fails.md"
    "docs/count-words.md"
    "docs/find-todos.md"
    "docs/format-json.md"
    "docs/git-log.md"
    "docs/needs-token.md"
    "examples/always-fails.json"
    "examples/count-words.json"
    "examples/find-todos.json"
    "examples/format-json.json"
    "examples/git-log.json"
    "examples/needs-token.json"
    "schemas/always-fails.input.json"
    "schemas/always-fails.output.json"
    "schemas/count-words.input.json"
    "schemas/count-words.output.json"
    "schemas/find-todos.input.json"
    "schemas/find-todos.output.json"
    "schemas/format-json.input.json"
    "schemas/format-json.output.json"
    "schemas/git-log.input.json"
    "schemas/git-log.output.json"
    "schemas/needs-token.input.json"
    "schemas/needs-token.output.json"
};

const POLICY: (&str, &str) = (
    ".brigade/tools/policy.toml",
    include_str!("../../../../../fixtures/workspaces/repo-tools/.brigade/tools/policy.toml"),
);

/// The script that the demo runs.
const SCRIPT: &str = "bin/count_words.py";

/// Returns the files of the workspace.
///
/// The sandbox runs in `best-effort` mode, so that the demo also works on kernels without full support.
pub(super) fn files() -> Vec<NewFile> {
    let policy = POLICY.1.replace("mode = \"enforce\"", "mode = \"best-effort\"");
    let files = FILES.iter().map(|(path, text)| NewFile::new(path, *text));
    files.chain([NewFile::new(POLICY.0, policy)]).collect()
}

/// Returns the script with a line added.
pub(super) fn changed_script() -> NewFile {
    let (_, text) = FILES.iter().find(|(path, _)| *path == SCRIPT).expect("the script is one of the files");
    NewFile::new(SCRIPT, format!("{text}# one more line\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_confined_as_far_as_the_kernel_can() {
        let policy = files().pop().unwrap();
        assert!(policy.text.contains("mode = \"best-effort\""));
    }
}
