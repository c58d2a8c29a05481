//! Facts about files, which the caller reads from disk.

use std::borrow::Cow;

use brigade_catalog::Tool;
use brigade_core::Fingerprint;

use crate::item::ProjectionReason;
use crate::text;

/// Why a path must not be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathRefusal {
    /// It is outside the workspace, or is the workspace itself.
    OutsideWorkspace,
    /// It is in a `.git` directory.
    InGit,
    /// It is in `.brigade`, or a link leads there.
    InBrigade,
    /// One of its parents is a file.
    ParentIsFile,
    /// A symbolic link on the path leads out of the workspace.
    SymlinkOut,
}

impl PathRefusal {
    /// Returns the reason that a projection gets.
    pub fn reason(self) -> ProjectionReason {
        match self {
            PathRefusal::OutsideWorkspace => ProjectionReason::OutsideWorkspace,
            PathRefusal::InGit => ProjectionReason::InGit,
            PathRefusal::InBrigade => ProjectionReason::InBrigade,
            PathRefusal::ParentIsFile => ProjectionReason::ParentIsFile,
            PathRefusal::SymlinkOut => ProjectionReason::SymlinkOut,
        }
    }

    /// Returns a phrase that follows the path in a sentence.
    pub fn phrase(self) -> &'static str {
        match self {
            PathRefusal::OutsideWorkspace => "is outside the workspace",
            PathRefusal::InGit => "is inside .git",
            PathRefusal::InBrigade => "is inside .brigade",
            PathRefusal::ParentIsFile => "has a file where a directory must be",
            PathRefusal::SymlinkOut => "leads out of the workspace through a symbolic link",
        }
    }
}

/// The content at the path of a projection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetFacts {
    /// There is nothing.
    Absent,
    /// A file, with its bytes.
    File(Vec<u8>),
    /// There is a directory.
    Directory,
    /// The content cannot be read.
    Unreadable,
    /// The path must not be written.
    Refused(PathRefusal),
}

/// The content at the path of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceFacts {
    /// The entry names no source.
    NotConfigured,
    /// There is no file at the path.
    Absent,
    /// The content cannot be read.
    Unreadable,
    /// The path must not be read.
    Refused(PathRefusal),
    /// A file, with its bytes.
    File(Vec<u8>),
}

/// Why a source has no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceProblem {
    /// The entry names no source.
    NotConfigured,
    /// There is no such file.
    Absent,
    /// The file cannot be read.
    Unreadable,
    /// The file is not UTF-8.
    NotUtf8,
    /// The path must not be read.
    Refused(PathRefusal),
}

/// The text of a source, decoded and hashed once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    text: String,
    fingerprint: Fingerprint,
}

impl SourceText {
    /// Takes a text. Line endings become line feeds, and a byte order mark is removed.
    pub fn new(text: &str) -> SourceText {
        let text = text::line_feeds(text.strip_prefix('\u{feff}').unwrap_or(text)).into_owned();
        SourceText { fingerprint: Fingerprint::of_bytes(text.as_bytes()), text }
    }

    /// Decodes the content.
    ///
    /// # Errors
    /// Fails if the source has no text.
    pub fn from_facts(facts: &SourceFacts) -> Result<SourceText, SourceProblem> {
        match facts {
            SourceFacts::NotConfigured => Err(SourceProblem::NotConfigured),
            SourceFacts::Absent => Err(SourceProblem::Absent),
            SourceFacts::Unreadable => Err(SourceProblem::Unreadable),
            SourceFacts::Refused(refusal) => Err(SourceProblem::Refused(*refusal)),
            SourceFacts::File(bytes) => {
                let text = text::decode(bytes).ok_or(SourceProblem::NotUtf8)?.into_owned();
                Ok(SourceText { fingerprint: Fingerprint::of_bytes(text.as_bytes()), text })
            }
        }
    }

    /// Returns the text with normalized line endings.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the sha256 of the text.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }
}

/// A harness that an entry supports, with the target path of its projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProjectionTarget<'a> {
    /// The harness, as the entry names it.
    pub harness: &'a str,
    /// The configured path, if any.
    pub path: Option<&'a str>,
}

/// Lists the harnesses that a tool supports, in the order of the entry and without duplicates.
///
/// `supported_harnesses` decides: the path of an unsupported harness is ignored.
pub fn wanted(tool: &Tool) -> Vec<ProjectionTarget<'_>> {
    let mut found: Vec<ProjectionTarget<'_>> = Vec::with_capacity(tool.supported_harnesses.len());
    for harness in &tool.supported_harnesses {
        if found.iter().all(|earlier| earlier.harness != harness) {
            let path = tool.projections.get(harness).map(String::as_str).filter(|path| !path.is_empty());
            found.push(ProjectionTarget { harness, path });
        }
    }
    found
}

/// Normalizes a configured path: relative to the workspace, without `.`, `..` and doubled slashes.
///
/// `root` is the absolute path of the workspace. Checks only the text. The caller follows links.
///
/// # Errors
/// Fails if the text shows that the path must not be used: outside the workspace, the workspace itself, a home
/// directory (`~`), `.git` or `.brigade`.
pub fn relative_path<'p>(root: &str, path: &'p str) -> Result<Cow<'p, str>, PathRefusal> {
    let rest = if path.starts_with('/') {
        let inside = path.strip_prefix(root.trim_end_matches('/')).filter(|rest| rest.starts_with('/'));
        inside.ok_or(PathRefusal::OutsideWorkspace)?
    } else {
        path
    };
    if rest == "~" || rest.starts_with("~/") {
        return Err(PathRefusal::OutsideWorkspace);
    }
    if rest.split('/').all(is_usual_name) {
        return Ok(Cow::Borrowed(rest));
    }
    let relative = if rest.split('/').all(|part| !matches!(part, "" | "." | "..")) {
        Cow::Borrowed(rest)
    } else {
        let mut parts: Vec<&str> = Vec::new();
        for part in rest.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop().ok_or(PathRefusal::OutsideWorkspace)?;
                }
                part => parts.push(part),
            }
        }
        Cow::Owned(parts.join("/"))
    };
    // Some file systems ignore case.
    if relative.split('/').any(|part| part.eq_ignore_ascii_case(".git")) {
        return Err(PathRefusal::InGit);
    }
    if relative.split('/').next().is_some_and(|part| part.eq_ignore_ascii_case(".brigade")) {
        return Err(PathRefusal::InBrigade);
    }
    if relative.is_empty() { Err(PathRefusal::OutsideWorkspace) } else { Ok(relative) }
}

/// Returns whether a name needs no check by [`relative_path`].
fn is_usual_name(name: &str) -> bool {
    match name.as_bytes() {
        [] => false,
        [b'.', second, ..] => !matches!(second.to_ascii_lowercase(), b'.' | b'b' | b'g'),
        [first, ..] => *first != b'.',
    }
}

/// One projection and the content at its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target<'a> {
    pub(crate) harness: &'a str,
    /// Relative to the workspace; as configured if it is refused.
    pub(crate) path: Option<Cow<'a, str>>,
    pub(crate) facts: TargetFacts,
}

/// A tool with the facts about its projections.
#[derive(Clone, Debug)]
pub struct ToolFacts<'a> {
    pub(crate) tool: &'a Tool,
    pub(crate) source: Result<SourceText, SourceProblem>,
    pub(crate) targets: Vec<Target<'a>>,
    /// A field of the entry, other than the source, whose path leads out of the workspace.
    pub(crate) outside: Option<&'static str>,
}

impl<'a> ToolFacts<'a> {
    /// Collects the facts about one tool.
    ///
    /// `look` returns the content at a path relative to the workspace at `root`. It is not called for paths that are
    /// refused by their text.
    pub fn gather(
        root: &str,
        tool: &'a Tool,
        source: &SourceFacts,
        mut look: impl FnMut(&str) -> TargetFacts,
    ) -> ToolFacts<'a> {
        let target = |wanted: ProjectionTarget<'a>| {
            let Some(path) = wanted.path else {
                return Target { harness: wanted.harness, path: None, facts: TargetFacts::Absent };
            };
            let (path, facts) = match relative_path(root, path) {
                Ok(relative) => {
                    let facts = look(&relative);
                    (relative, facts)
                }
                Err(refusal) => (Cow::Borrowed(path), TargetFacts::Refused(refusal)),
            };
            Target { harness: wanted.harness, path: Some(path), facts }
        };
        ToolFacts {
            tool,
            source: SourceText::from_facts(source),
            targets: wanted(tool).into_iter().map(target).collect(),
            outside: None,
        }
    }

    /// Records a field of the entry whose path leads out of the workspace without permission. The tool is then not
    /// projected.
    #[must_use]
    pub fn leading_out(self, field: Option<&'static str>) -> ToolFacts<'a> {
        ToolFacts { outside: field, ..self }
    }

    /// Returns the tool.
    pub fn tool(&self) -> &'a Tool {
        self.tool
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expect: Result<&str, PathRefusal>) {
        assert_eq!(relative_path("/home/me/project", path), expect.map(Cow::from), "{path}");
    }

    #[test]
    fn paths_within_the_workspace_are_normalized() {
        check(".claude/commands/a.md", Ok(".claude/commands/a.md"));
        check("./a//b/../c.md", Ok("a/c.md"));
        check("/home/me/project/a.md", Ok("a.md"));
        check("docs/.brigade/a.md", Ok("docs/.brigade/a.md"));
        check(".github/a.md", Ok(".github/a.md"));
        check("a/.../.bashrc", Ok("a/.../.bashrc"));
    }

    #[test]
    fn unusable_paths_are_refused_by_their_text() {
        check("", Err(PathRefusal::OutsideWorkspace));
        check(".", Err(PathRefusal::OutsideWorkspace));
        check("../a.md", Err(PathRefusal::OutsideWorkspace));
        check("a/../../b", Err(PathRefusal::OutsideWorkspace));
        check("~/a.md", Err(PathRefusal::OutsideWorkspace));
        check("/etc/passwd", Err(PathRefusal::OutsideWorkspace));
        check("/home/me/project", Err(PathRefusal::OutsideWorkspace));
        check("/home/me/project-two/a", Err(PathRefusal::OutsideWorkspace));
        check(".git/hooks/post-commit", Err(PathRefusal::InGit));
        check("vendor/x/.GIT/config", Err(PathRefusal::InGit));
        check("docs/.Git", Err(PathRefusal::InGit));
        check(".brigade/tools.toml", Err(PathRefusal::InBrigade));
        check(".Brigade/tools.toml", Err(PathRefusal::InBrigade));
    }
}
