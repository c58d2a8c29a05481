//! Agent programs: labels, names and commands.

/// An agent program: it connects a language model with tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// The name in tools.toml and on the command line.
    pub label: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// The names of its executable.
    pub commands: &'static [&'static str],
}

macro_rules! programs {
    ($($name:ident = $label:literal, $title:literal, [$($command:literal),*];)+) => {
        impl Program {
            $(#[doc = $title] pub const $name: Program =
                Program { label: $label, title: $title, commands: &[$($command),*] };)+
        }

        const PROGRAMS: &[Program] = &[$(Program::$name),+];
    };
}

programs! {
    CLAUDE = "claude", "Claude Code", ["claude"];
    CODEX = "codex", "Codex", ["codex"];
    OPENCODE = "opencode", "OpenCode", ["opencode"];
    ANTIGRAVITY = "antigravity", "Antigravity", ["antigravity"];
    PI = "pi", "Pi", ["pi"];
    CURSOR = "cursor", "Cursor", ["cursor", "cursor-agent"];
    HERMES = "hermes", "Hermes Agent", ["hermes"];
    OPENCLAW = "openclaw", "OpenClaw", ["openclaw"];
    GEMINI = "gemini", "Gemini CLI", ["gemini"];
    COPILOT = "copilot", "GitHub Copilot", ["copilot"];
    QWEN = "qwen", "Qwen Code", ["qwen"];
    GOOSE = "goose", "Goose", ["goose"];
    CONTINUE = "continue", "Continue", ["cn"];
    AMP = "amp", "Amp", ["amp"];
    CRUSH = "crush", "Crush", ["crush"];
    VSCODE = "vscode", "Visual Studio Code", ["code"];
    WINDSURF = "windsurf", "Windsurf", ["windsurf"];
    ZED = "zed", "Zed", ["zed", "zeditor"];
    CLAUDE_DESKTOP = "claude-desktop", "Claude Desktop", ["claude-desktop"];
    CLINE = "cline", "Cline", ["cline"];
    FACTORY = "factory", "Factory", ["droid"];
    KIRO = "kiro", "Kiro", ["kiro", "kiro-cli"];
    ROO = "roo", "Roo Code", [];
    AIDER = "aider", "Aider", ["aider"];
    AUGMENT = "augment", "Augment", ["auggie"];
    CODEBUDDY = "codebuddy", "CodeBuddy", ["codebuddy"];
    GROK = "grok", "Grok CLI", ["grok"];
    IFLOW = "iflow", "iFlow", ["iflow"];
    JUNIE = "junie", "Junie", ["junie"];
    KILO = "kilo", "Kilo Code", ["kilo"];
    KIMI = "kimi", "Kimi CLI", ["kimi"];
    LM_STUDIO = "lm-studio", "LM Studio", ["lms"];
    OPENHANDS = "openhands", "OpenHands", ["openhands"];
    ROVODEV = "rovodev", "Rovo Dev", ["rovodev"];
    TRAE = "trae", "Trae", ["trae"];
    WARP = "warp", "Warp", ["warp-terminal"];
    CLAWDBOT = "clawdbot", "Clawdbot", ["clawdbot"];
}

/// Returns every program of the table.
pub fn programs() -> &'static [Program] {
    PROGRAMS
}

/// Returns a program by its label.
pub fn program(label: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.label == label)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn labels_are_unique_words() {
        let labels: BTreeSet<&str> = PROGRAMS.iter().map(|program| program.label).collect();
        assert_eq!(labels.len(), PROGRAMS.len());
        assert!(
            labels.iter().all(|label| label.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'))
        );
    }
}
