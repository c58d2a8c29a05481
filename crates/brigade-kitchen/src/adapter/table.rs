//! The built-in adapters.
//!
//! `checked` is the version whose documentation or output the row was written from. The tests do not run these
//! programs. They use recorded outputs in `fixtures/kitchen/answers`.

use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use super::{Adapter, FlagMatch, PromptWay, SkipFlag, Source};

/// The built-in adapters. The last one is `plain`, for all unknown programs.
pub static TABLE: LazyLock<Vec<Adapter>> = LazyLock::new(rows);

/// The adapter for unknown programs.
pub(super) fn plain() -> &'static Adapter {
    TABLE.last().expect("`plain` is the last row")
}

/// The messages of providers about a reached limit.
const LIMITS: &str = include_str!("limits.toml");

/// The known limits of providers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KnownLimits {
    limit: Vec<KnownLimit>,
}

/// A message about a reached limit. Only the tests read its examples.
#[derive(Deserialize)]
#[cfg_attr(test, serde(deny_unknown_fields))]
pub(super) struct KnownLimit {
    pattern: String,
    /// Texts, each with the end of the limit; empty if it is not known.
    #[cfg(test)]
    pub(super) examples: Vec<(String, String)>,
}

impl KnownLimits {
    /// Reads the data file.
    pub(super) fn read() -> Vec<KnownLimit> {
        toml::from_str::<KnownLimits>(LIMITS).expect("the data file is valid").limit
    }
}

/// Compiled on first use, because most commands search no output.
static COMPILED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let compile = |limit: KnownLimit| pattern(&limit.pattern).expect("a pattern of ours compiles");
    KnownLimits::read().into_iter().map(compile).collect()
});

const CLAUDE_SKIPS: &[SkipFlag] = &[
    is_there(&["--dangerously-skip-permissions"]),
    is_there(&["--allow-dangerously-skip-permissions"]),
    SkipFlag { names: &["--permission-mode"], says: FlagMatch::Value("bypassPermissions") },
];

const CODEX_SKIPS: &[SkipFlag] = &[
    is_there(&["--dangerously-bypass-approvals-and-sandbox", "--yolo"]),
    SkipFlag { names: &["--sandbox", "-s"], says: FlagMatch::Value("danger-full-access") },
    SkipFlag { names: &["--config", "-c"], says: FlagMatch::Setting("danger-full-access") },
];

const OPENCODE_SKIPS: &[SkipFlag] = &[is_there(&["--auto", "--dangerously-skip-permissions", "--yolo"])];

const GEMINI_SKIPS: &[SkipFlag] = &[
    is_there(&["--yolo", "-y"]),
    SkipFlag { names: &["--approval-mode", "--approvalMode"], says: FlagMatch::Value("yolo") },
];

const CURSOR_SKIPS: &[SkipFlag] = &[
    is_there(&["--force", "-f", "--yolo"]),
    SkipFlag { names: &["--sandbox"], says: FlagMatch::Value("disabled") },
];

const fn is_there(names: &'static [&'static str]) -> SkipFlag {
    SkipFlag { names, says: FlagMatch::Anything }
}

/// Patterns that say "limit reached", perhaps with a group `reset`.
#[derive(Clone, Debug)]
pub enum LimitPatterns {
    /// The built-in patterns.
    Ours,
    /// The patterns of a user's adapter.
    Of(Vec<Regex>),
}

impl LimitPatterns {
    /// Returns the patterns.
    pub fn patterns(&self) -> &[Regex] {
        match self {
            LimitPatterns::Ours => &COMPILED,
            LimitPatterns::Of(patterns) => patterns,
        }
    }

    /// Returns the patterns of a user's adapter as text, which an approval covers.
    pub fn texts(&self) -> Vec<String> {
        match self {
            LimitPatterns::Ours => Vec::new(),
            LimitPatterns::Of(patterns) => {
                patterns.iter().map(|pattern| pattern.as_str().to_owned()).collect()
            }
        }
    }
}

pub(super) fn pattern(text: &str) -> Option<Regex> {
    RegexBuilder::new(text).case_insensitive(true).size_limit(1 << 20).build().ok()
}

fn words(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn source(text: &str) -> Source {
    Source::parse(text).expect("a source of ours is one")
}

fn adapter(id: &str) -> Adapter {
    Adapter {
        id: id.to_owned(),
        program: id.to_owned(),
        prompt: PromptWay::Stdin,
        args: Vec::new(),
        narrow: Vec::new(),
        skip: Vec::new(),
        skip_flags: &[],
        shorts: None,
        server: None,
        model: Vec::new(),
        effort: Vec::new(),
        answer: Source::Text,
        failed: None,
        cost: None,
        tokens: None,
        limit: LimitPatterns::Ours,
        write_paths: Vec::new(),
        env_labels: Vec::new(),
        checked: None,
    }
}

fn rows() -> Vec<Adapter> {
    vec![
        Adapter {
            args: words(&["-p", "--output-format", "json"]),
            narrow: words(&["--permission-mode", "acceptEdits"]),
            skip: words(&["--dangerously-skip-permissions"]),
            skip_flags: CLAUDE_SKIPS,
            model: words(&["--model", "{model}"]),
            effort: words(&["--effort", "{effort}"]),
            answer: source("json:result"),
            failed: Some(source("json:is_error")),
            cost: Some(source("json:total_cost_usd")),
            tokens: Some((source("json:usage.input_tokens"), source("json:usage.output_tokens"))),
            write_paths: words(&["~/.claude", "~/.claude.json"]),
            env_labels: words(&["ANTHROPIC_API_KEY"]),
            checked: Some("2.1.330"),
            ..adapter("claude")
        },
        Adapter {
            // With work in place, the directory may not be a repository.
            args: words(&["exec", "--json", "--skip-git-repo-check", "-o", "{answer_file}", "-"]),
            narrow: words(&["--sandbox", "workspace-write"]),
            skip: words(&["--dangerously-bypass-approvals-and-sandbox"]),
            skip_flags: CODEX_SKIPS,
            shorts: Some("acimopsC"),
            model: words(&["--model", "{model}"]),
            effort: words(&["--config", "model_reasoning_effort={effort}"]),
            answer: Source::File,
            tokens: Some((
                source("jsonl:turn.completed:usage.input_tokens"),
                source("jsonl:turn.completed:usage.output_tokens"),
            )),
            write_paths: words(&["~/.codex"]),
            env_labels: words(&["OPENAI_API_KEY", "CODEX_API_KEY"]),
            checked: Some("0.169.0"),
            ..adapter("codex")
        },
        Adapter {
            args: words(&["run", "--format", "json"]),
            skip: words(&["--auto"]),
            skip_flags: OPENCODE_SKIPS,
            server: Some("--attach".to_owned()),
            model: words(&["--model", "{model}"]),
            effort: words(&["--variant", "{effort}"]),
            answer: source("jsonl:text:part.text"),
            cost: Some(source("jsonl:step_finish:part.cost")),
            tokens: Some((
                source("jsonl:step_finish:part.tokens.input"),
                source("jsonl:step_finish:part.tokens.output"),
            )),
            write_paths: words(&["~/.config/opencode", "~/.local/share/opencode", "~/.cache/opencode"]),
            checked: Some("1.18.33"),
            ..adapter("opencode")
        },
        Adapter {
            args: words(&["--output-format", "json"]),
            narrow: words(&["--approval-mode", "auto_edit"]),
            skip: words(&["--approval-mode", "yolo"]),
            skip_flags: GEMINI_SKIPS,
            shorts: Some("eimopr"),
            model: words(&["--model", "{model}"]),
            answer: source("json:response"),
            tokens: Some((
                source("json:stats.models.*.tokens.prompt"),
                source("json:stats.models.*.tokens.candidates"),
            )),
            write_paths: words(&["~/.gemini"]),
            env_labels: words(&["GEMINI_API_KEY"]),
            checked: Some("0.61.0"),
            ..adapter("gemini")
        },
        Adapter {
            prompt: PromptWay::File,
            args: words(&[
                "--message-file",
                "{prompt_file}",
                "--yes-always",
                "--no-auto-commits",
                "--no-stream",
                "--no-pretty",
                "--no-check-update",
            ]),
            model: words(&["--model", "{model}"]),
            effort: words(&["--reasoning-effort", "{effort}"]),
            write_paths: words(&["~/.aider"]),
            env_labels: words(&["OPENAI_API_KEY", "ANTHROPIC_API_KEY"]),
            checked: Some("0.86.2"),
            ..adapter("aider")
        },
        Adapter {
            args: words(&["-p", "--output-format", "json"]),
            skip: words(&["--force"]),
            skip_flags: CURSOR_SKIPS,
            shorts: Some("aHm"),
            model: words(&["--model", "{model}"]),
            answer: source("json:result"),
            failed: Some(source("json:is_error")),
            write_paths: words(&["~/.cursor"]),
            env_labels: words(&["CURSOR_API_KEY"]),
            checked: Some("2025.09"),
            ..adapter("cursor-agent")
        },
        Adapter { args: words(&["run"]), checked: Some("0.12"), ..adapter("ollama") },
        Adapter { program: String::new(), ..adapter("plain") },
    ]
}
