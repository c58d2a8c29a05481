//! The files that the `init` commands write into a new workspace.

mod ignore;

use std::collections::BTreeMap;

use crate::fields::KNOWN_HARNESSES;
use crate::model::{Family, Tool};

pub use ignore::{IGNORED, IgnoreChange, merge_ignore};

/// The starter runtimes.toml.
pub const RUNTIMES_TOML: &str = include_str!("starter/runtimes.toml");

/// The starter policy.toml.
pub const POLICY_TOML: &str = include_str!("starter/policy.toml");

/// The source file of a built-in tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The id of the tool.
    pub tool_id: &'static str,
    /// The path, relative to the workspace.
    pub path: &'static str,
    /// The content of the file.
    pub text: &'static str,
}

/// The sources of the built-in tools, in the order of [`tools`].
pub const SOURCES: &[Source] = &[
    Source {
        tool_id: "simplify",
        path: "tools/simplify.md",
        text: include_str!("starter/sources/simplify.md"),
    },
    Source {
        tool_id: "superpowers",
        path: "tools/superpowers.md",
        text: include_str!("starter/sources/superpowers.md"),
    },
    Source {
        tool_id: "frontend",
        path: "tools/frontend.md",
        text: include_str!("starter/sources/frontend.md"),
    },
    Source {
        tool_id: "antislop",
        path: "tools/antislop.md",
        text: include_str!("starter/sources/antislop.md"),
    },
];

/// Returns the built-in tools, with a projection for every harness.
pub fn tools() -> Vec<Tool> {
    let about = [
        ("Simplify", Family::SlashCommand, "Make code that was just written simpler and keep what it does."),
        (
            "Superpowers",
            Family::Superpower,
            "Habits for work that can be relied on: plan, test first, find causes, verify.",
        ),
        ("Frontend", Family::Skill, "Build interfaces that are clear, accessible and light."),
        ("Antislop", Family::Skill, "Take padding out of prose and code."),
    ];
    SOURCES
        .iter()
        .zip(about)
        .map(|(source, (name, family, description))| Tool {
            name: name.to_owned(),
            description: Some(description.to_owned()),
            source_path: Some(source.path.to_owned()),
            supported_harnesses: harnesses().map(str::to_owned).collect(),
            projections: projections(source.tool_id, family),
            ..Tool::new(source.tool_id, family).expect("the built-in ids are usable")
        })
        .collect()
}

/// Returns the starter tools.toml.
pub fn tools_toml() -> String {
    let mut text = String::from(include_str!("starter/head.toml"));
    for tool in tools() {
        text.push('\n');
        text.push_str(&tool.to_toml());
    }
    text
}

/// The harnesses that the built-in tools are projected to.
fn harnesses() -> impl Iterator<Item = &'static str> {
    KNOWN_HARNESSES.iter().copied().filter(|harness| *harness != "gemini")
}

/// Returns the paths of a built-in tool's projections.
fn projections(id: &str, family: Family) -> BTreeMap<String, String> {
    let folder = if family == Family::Superpower { "superpowers" } else { "commands" };
    let path = |harness: &str| match harness {
        "codex" => format!(".codex/skills/{id}/SKILL.md"),
        "opencode" | "antigravity" | "pi" | "hermes" | "openclaw" => format!(".{harness}/{folder}/{id}.md"),
        "cursor" | "continue" => format!(".{harness}/rules/{id}.md"),
        "copilot" | "openhands" | "grok" | "amp" | "crush" => format!(".{harness}/instructions/{id}.md"),
        "mcp" => format!(".mcp/{id}.md"),
        "scripts" => format!("scripts/{id}.md"),
        _ => format!(".{harness}/commands/{id}.md"),
    };
    harnesses().map(|harness| (harness.to_owned(), path(harness))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::{Existing, merge};
    use crate::{Catalog, Level, Runtimes};

    #[test]
    fn the_starter_catalog_is_valid_and_has_the_built_in_tools() {
        let text = tools_toml();
        let catalog = Catalog::parse("tools.toml", Level::Project, text.as_bytes());
        assert_eq!(catalog.issues(), []);
        assert_eq!(catalog.ids().collect::<Vec<_>>(), ["simplify", "superpowers", "frontend", "antislop"]);
        for tool in catalog.tools() {
            assert_eq!(tool.supported_harnesses.len(), 21);
            assert_eq!(tool.projections.len(), 21);
            assert!(SOURCES.iter().any(|source| Some(source.path) == tool.source_path.as_deref()));
        }
        let path = |id, harness| catalog.tool(id).unwrap().projections.get(harness).map(String::as_str);
        assert_eq!(path("superpowers", "pi"), Some(".pi/superpowers/superpowers.md"));
        assert_eq!(path("superpowers", "claude"), Some(".claude/commands/superpowers.md"));
        assert_eq!(path("frontend", "codex"), Some(".codex/skills/frontend/SKILL.md"));
    }

    #[test]
    fn merging_the_built_in_tools_into_the_starter_changes_nothing() {
        let text = tools_toml();
        for existing in [Existing::Keep, Existing::Replace] {
            let merged = merge(&text, &tools(), existing).unwrap();
            assert_eq!((merged.text.as_str(), merged.skipped.len()), (text.as_str(), 4));
        }
    }

    #[test]
    fn the_starter_runtimes_are_valid() {
        let runtimes = Runtimes::parse("runtimes.toml", Level::Project, RUNTIMES_TOML.as_bytes());
        assert_eq!(runtimes.issues(), []);
        assert_eq!(runtimes.runtime("local-helper").map(|runtime| runtime.port), Some(Some(8765)));
    }

    #[test]
    fn the_starter_policy_is_the_documented_example_with_a_sandbox() {
        let policy = toml::de::DeTable::parse(POLICY_TOML).unwrap();
        let keys: Vec<_> = policy.get_ref().keys().map(|key| key.get_ref().as_ref()).collect();
        assert_eq!(
            keys,
            [
                "allowed_effects",
                "allowed_families",
                "allowed_runtimes",
                "commands",
                "denied_effects",
                "env_bindings",
                "max_timeout",
                "required_approval_modes",
                "sandbox",
            ]
        );
    }
}
