//! Hooks that v0.30 installed in agent programs. They start commands that only v0.30 has.

use brigade_core::{Dialect, Json};

use crate::client::{Files, Grade, Scope};

/// A file in which an agent program keeps hooks.
#[derive(Clone, Copy, Debug)]
pub struct HookFile {
    /// The agent program.
    pub client: &'static str,
    /// The scope of the file.
    pub scope: Scope,
    /// Where it is.
    pub files: Files,
}

/// The files that v0.30 added hooks to.
pub const HOOK_FILES: &[HookFile] = &[
    row("claude", Scope::Project, Files::same(&[".claude/settings.json"], Grade::Vendor)),
    row("claude", Scope::Project, Files::same(&[".claude/settings.local.json"], Grade::Vendor)),
    row(
        "claude",
        Scope::User,
        Files::same(&["~/.claude/settings.json"], Grade::Vendor).moved_by("CLAUDE_CONFIG_DIR", "~/.claude"),
    ),
    row("cursor", Scope::User, Files::same(&["~/.cursor/hooks.json"], Grade::Vendor)),
];

const fn row(client: &'static str, scope: Scope, files: Files) -> HookFile {
    HookFile { client, scope, files }
}

/// Texts that identify commands of these hooks, one per line: the two commands, and the user's script that runs the
/// first one.
const MARKS: &str = include_str!("hooks.txt");

/// The v0.30 hooks of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OldHooks {
    /// The number of hooks.
    pub count: usize,
    /// The line of the first hook, from 1.
    pub line: usize,
}

/// Finds the v0.30 hooks. Returns `None` if the file has no such hooks or cannot be read.
pub fn old_hooks(bytes: &[u8]) -> Option<OldHooks> {
    let json = Json::parse_bytes(bytes, Dialect::WithComments).ok()?;
    let mut commands = Vec::new();
    gather(json.get("hooks")?, &mut commands);
    let mut marks = commands.iter().filter_map(|command| MARKS.lines().find(|mark| command.contains(*mark)));
    let first = marks.next()?;
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().position(|line| line.contains(first)).map_or(1, |before| before + 1);
    Some(OldHooks { count: 1 + marks.count(), line })
}

/// Collects the commands below a value.
fn gather<'j>(value: &'j Json, commands: &mut Vec<&'j str>) {
    match value {
        Json::Array(elements) => elements.iter().for_each(|element| gather(element, commands)),
        Json::Object(members) => {
            commands.extend(members.get("command").and_then(Json::as_str));
            members.values().for_each(|member| gather(member, commands));
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_of_v030_are_counted_and_others_are_not() {
        let check = |text: &str, expect: Option<(usize, usize)>| {
            let expect = expect.map(|(count, line)| OldHooks { count, line });
            assert_eq!(old_hooks(text.as_bytes()), expect, "{text}");
        };
        let hook = |command: &str| format!("{{\"type\": \"command\", \"command\": \"{command}\"}}");
        let file = |commands: &[&str]| {
            let hooks: Vec<String> = commands.iter().map(|command| hook(command)).collect();
            format!("{{\"hooks\": {{\n\"Stop\": [{{\"hooks\": [\n{}\n]}}]}}}}", hooks.join(",\n"))
        };
        let run = "brigade work hook-run --event Stop --package brigade-claude-work-loop@1.3.1";
        check(&file(&["mine", run, run]), Some((2, 4)));
        check(&file(&["/home/me/.claude/hooks/brigade-claude-work-loop.sh --event Stop"]), Some((1, 3)));
        check(&file(&["mine", "brigade work inbox list"]), None);
        let cursor = "exec brigade work presence-hook --harness cursor --stdin --context cursor-work-loop";
        let text = format!("{{\"version\": 1, \"hooks\": {{\"sessionEnd\": [{}]}}}}", hook(cursor));
        check(&text, Some((1, 1)));
        // A permission is not a hook.
        check("{\"permissions\": {\"allow\": [\"Bash(brigade work hook-run:*)\"]}}", None);
        check("{\"hooks\": ", None);
    }
}
