//! The names of places that nothing that acts for an agent changes, whatever approved it.
//!
//! The names alone decide here. `brigade_exec::ClosedPlaces` adds what only the disk shows: hook directories, included
//! settings, bare repositories, and where links lead.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::OnceLock;

/// The directory of Brigade's state.
pub const STATE_FOLDER: &str = ".brigade";

/// The directory of git, or the file or link in its place.
pub const GIT_FOLDER: &str = ".git";

/// The list of [`ClosedPlace::AgentFile`].
const AGENT_FILES: &str = include_str!("agent_files.txt");

crate::words! {
    /// Whether agents may change files by which agent programs and editors start programs: `[paths] agent_files`.
    #[derive(Default)]
    AgentFiles {
        /// They may not.
        #[default]
        Closed = "closed",
        /// They may.
        Open = "open",
    }
}

/// Why a place is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClosedPlace {
    /// It belongs to Brigade's state.
    State,
    /// It belongs to git, or git executes it or takes settings from it.
    Git,
    /// Agent programs or editors start programs by it.
    AgentFile,
}

impl ClosedPlace {
    /// Returns why, as the rest of a sentence after the path.
    pub const fn reason(self) -> &'static str {
        match self {
            ClosedPlace::State => "belongs to Brigade",
            ClosedPlace::Git => "belongs to git, or git executes it or takes settings from it",
            ClosedPlace::AgentFile => "starts programs of agents or editors",
        }
    }

    /// Returns what a person can do about it.
    pub const fn hint(self) -> &'static str {
        match self {
            ClosedPlace::State | ClosedPlace::Git => "only a person may change it",
            ClosedPlace::AgentFile => {
                "a person may set `agent_files = \"open\"` in [paths] of .brigade/tools/policy.toml"
            }
        }
    }
}

/// Returns why a path is closed by its names, at any depth and in any spelling that a file system or git could take for
/// the same name.
///
/// ```
/// use brigade_core::{AgentFiles, ClosedPlace, closed_place};
///
/// assert_eq!(closed_place("sub/.GIT/config", AgentFiles::Open), Some(ClosedPlace::Git));
/// assert_eq!(closed_place("a/.vscode/tasks.json", AgentFiles::Closed), Some(ClosedPlace::AgentFile));
/// assert_eq!(closed_place(".github/workflows/ci.yml", AgentFiles::Closed), None);
/// ```
pub fn closed_place(path: &str, agent_files: AgentFiles) -> Option<ClosedPlace> {
    let names: Vec<Cow<'_, str>> = path.split(['/', '\\']).map(plain_name).collect();
    let has = |wanted: &[&str]| names.iter().any(|name| wanted.contains(&&**name));
    if has(&[STATE_FOLDER]) {
        Some(ClosedPlace::State)
    } else if has(&[GIT_FOLDER, "git~1"]) {
        Some(ClosedPlace::Git)
    } else {
        let is_closed = agent_files == AgentFiles::Closed && is_agent_file(&names);
        is_closed.then_some(ClosedPlace::AgentFile)
    }
}

/// Lists the agent files that no run creates at the top of its workspace.
pub fn reserved_agent_files() -> impl Iterator<Item = &'static str> {
    patterns().reserved.iter().copied()
}

/// Returns a path in the spelling in which paths of the list are compared.
pub fn plain_path(path: &str) -> String {
    let names: Vec<Cow<'_, str>> = path.split('/').map(plain_name).collect();
    names.join("/")
}

/// The paths of the list.
struct Patterns {
    all: Vec<&'static str>,
    reserved: Vec<&'static str>,
    /// Their last names, to tell most other paths at once.
    last: HashSet<&'static str>,
}

fn patterns() -> &'static Patterns {
    static PATTERNS: OnceLock<Patterns> = OnceLock::new();
    PATTERNS.get_or_init(|| {
        let lines =
            AGENT_FILES.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let reserved = lines.clone().filter_map(|line| line.strip_prefix('+')).collect();
        let all: Vec<&str> = lines.map(|line| line.trim_start_matches('+')).collect();
        let last = all.iter().filter_map(|path| path.rsplit('/').next()).collect();
        Patterns { all, reserved, last }
    })
}

/// Returns whether an entry of a path is in the list of agent files.
fn is_agent_file(names: &[Cow<'_, str>]) -> bool {
    let Patterns { all, last, .. } = patterns();
    let matches = |pattern: &str, name: &str| match pattern.strip_prefix('*') {
        Some(end) => name.len() > end.len() && name.ends_with(end),
        None => pattern == name,
    };
    let ends_there = |end: usize, pattern: &&str| {
        let mut rest = names[..=end].iter().rev();
        pattern.rsplit('/').all(|part| rest.next().is_some_and(|name| matches(part, name)))
    };
    names.iter().enumerate().any(|(end, name)| {
        let may_match = last.contains(&**name) || name.contains(".code-");
        may_match && all.iter().any(|pattern| ends_there(end, pattern))
    })
}

/// Returns a name without what git and file systems ignore in names: case, invisible characters, dots and spaces at the
/// end, and the name of a stream.
fn plain_name(name: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase() && byte != b':';
    if name.bytes().all(is_plain) && !name.ends_with(['.', ' ']) {
        return Cow::Borrowed(name);
    }
    let is_invisible = |c: char| {
        matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let visible = name.chars().filter(|c| !is_invisible(*c));
    // Both ways, because some letters have one upper case and two lower cases.
    let plain: String = visible.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    let plain = plain.split_once(':').map_or(plain.as_str(), |(name, _)| name);
    Cow::Owned(plain.trim_end_matches(['.', ' ']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_closed_in_every_spelling() {
        use ClosedPlace::{AgentFile, Git, State};
        for (path, expect) in [
            (".brigade", Some(State)),
            ("a/.Brigade/tools/policy.toml", Some(State)),
            (".br\u{200c}igade/x", Some(State)),
            (".git/hooks/pre-commit", Some(Git)),
            ("sub/.GIT", Some(Git)),
            (".g\u{200b}it/config", Some(Git)),
            (".git./config", Some(Git)),
            (".git /config", Some(Git)),
            (".git::$INDEX_ALLOCATION/config", Some(Git)),
            ("GIT~1/config", Some(Git)),
            ("a\\.git\\config", Some(Git)),
            (".mcp.json", Some(AgentFile)),
            ("deep/er/.mcp.json", Some(AgentFile)),
            (".MCP.JSON", Some(AgentFile)),
            (".claude/settings.json", Some(AgentFile)),
            (".\u{17f}ettings/.CLAUDE", Some(AgentFile)),
            (".cod\u{200d}ex/config.toml", Some(AgentFile)),
            (".cursor", Some(AgentFile)),
            (".gemini/x", Some(AgentFile)),
            (".opencode/opencode.json", Some(AgentFile)),
            (".vscode/tasks.json", Some(AgentFile)),
            (".envrc", Some(AgentFile)),
            (".husky/pre-commit", Some(AgentFile)),
            (".devcontainer/devcontainer.json", Some(AgentFile)),
            (".github/hooks/x.json", Some(AgentFile)),
            ("a/.github/copilot/settings.json", Some(AgentFile)),
            ("team.code-workspace", Some(AgentFile)),
            (".github/workflows/ci.yml", None),
            ("hooks/x", None),
            (".gitignore", None),
            (".gitattributes", None),
            ("git/x", None),
            ("real.git/x", None),
            (".mcp.json5", None),
            ("src/main.rs", None),
            ("", None),
        ] {
            assert_eq!(closed_place(path, AgentFiles::Closed), expect, "{path:?}");
            let of_agents = expect == Some(AgentFile);
            let open = closed_place(path, AgentFiles::Open);
            assert_eq!(open, expect.filter(|_| !of_agents), "{path:?}");
        }
    }
}
