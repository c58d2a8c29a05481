//! The files that the `init` commands write into a new workspace.

mod ignore;
mod skills;

use std::collections::{BTreeMap, BTreeSet};

use brigade_core::{ErrorKind, Hint, NextStep, OperationError, closest};

use crate::fields::KNOWN_HARNESSES;
use crate::model::{Catalog, Family, Tool};
use crate::programs::program;

pub use ignore::{IGNORED, IgnoreChange, merge_ignore};
pub use skills::{SKILLS, skills};

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

/// The files of the example: one tool that runs a script.
const EXAMPLE: &[File] = &[
    File { path: "bin/count_words.py", text: include_str!("starter/example/count_words.py") },
    File { path: "schemas/count-words.json", text: include_str!("starter/example/count-words.json") },
];

/// The tools of a new catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StarterTools {
    /// The built-in tools, with a projection for every harness.
    BuiltIn,
    /// The built-in tools, with projections for these harnesses. `detected` means the installed harnesses.
    For(Vec<String>),
    /// The built-in tools, with projections for the harnesses whose program is installed.
    Detected,
    /// One tool that runs a script, with the script and its schema.
    Example,
    /// None; comments show how entries look.
    #[default]
    Empty,
}

/// A file that is written with a new catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// The path, relative to the workspace.
    pub path: &'static str,
    /// The content.
    pub text: &'static str,
}

/// A new catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Starter {
    /// The text of tools.toml.
    pub text: String,
    /// The number of tools.
    pub tool_count: usize,
    /// The sources, scripts and schemas of the tools.
    pub files: Vec<File>,
    /// Whether existing files may stay. An existing script is not the script of the example, so it must not stay.
    pub keeps_files: bool,
}

/// Why the catalog cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StarterError {
    /// A harness with this name is not known.
    #[error("no harness has the name `{0}`")]
    UnknownHarness(String),
    /// No program of a harness is installed.
    #[error("no program of a known harness is on PATH")]
    NoneDetected,
}

impl OperationError for StarterError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Usage
    }

    fn hints(&self) -> Vec<Hint> {
        let hint = match self {
            StarterError::UnknownHarness(name) => match closest(name, KNOWN_HARNESSES.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?").into(),
                None => NextStep::ListHarnesses.into(),
            },
            StarterError::NoneDetected => {
                let named = Hint::to("name a harness", NextStep::InitFor("HARNESS".to_owned()));
                named.or_else(Hint::to("begin with an empty catalog", NextStep::Init))
            }
        };
        vec![hint]
    }

    fn is_about_request(&self) -> bool {
        true
    }
}

impl StarterTools {
    /// Builds the new catalog. `is_installed` returns whether a program is on `PATH`.
    ///
    /// # Errors
    /// Fails if a harness is not known, or none is detected.
    pub fn starter(&self, is_installed: &dyn Fn(&str) -> bool) -> Result<Starter, StarterError> {
        let harnesses: Vec<&str> = match self {
            StarterTools::Example => {
                let example = Starter::new(include_str!("starter/example/tools.toml"), 1, EXAMPLE);
                return Ok(Starter { keeps_files: false, ..example });
            }
            StarterTools::Empty => return Ok(Starter::new(include_str!("starter/commented.toml"), 0, &[])),
            StarterTools::BuiltIn => harnesses().collect(),
            StarterTools::For(names) => {
                let is_known = |name: &str| name == DETECTED || KNOWN_HARNESSES.contains(&name);
                if let Some(name) = names.iter().find(|name| !is_known(name)) {
                    return Err(StarterError::UnknownHarness(name.clone()));
                }
                let mut chosen: Vec<&str> = Vec::new();
                for name in names {
                    chosen.extend(if name == DETECTED {
                        detected(is_installed)
                    } else {
                        vec![name.as_str()]
                    });
                }
                let mut seen = BTreeSet::new();
                chosen.retain(|name| seen.insert(*name));
                chosen
            }
            StarterTools::Detected => detected(is_installed),
        };
        if harnesses.is_empty() {
            return Err(StarterError::NoneDetected);
        }
        let tools = tools_for(&harnesses);
        let text: String = tools.iter().map(|tool| format!("\n{}", tool.to_toml())).collect();
        let files: Vec<File> =
            SOURCES.iter().map(|source| File { path: source.path, text: source.text }).collect();
        Ok(Starter::new(&text, tools.len(), &files))
    }
}

impl Starter {
    fn new(entries: &str, tool_count: usize, files: &[File]) -> Starter {
        let text = format!("{}{entries}", include_str!("starter/head.toml"));
        Starter { text, tool_count, files: files.to_vec(), keeps_files: true }
    }
}

/// The word that means the harnesses whose program is installed.
const DETECTED: &str = "detected";

/// Returns the harnesses whose program is installed.
fn detected(is_installed: &dyn Fn(&str) -> bool) -> Vec<&'static str> {
    let is_there = |name: &&&str| programs(name).iter().any(|program| is_installed(program));
    KNOWN_HARNESSES.iter().filter(is_there).copied().collect()
}

/// Returns the names of a harness's program.
fn programs(harness: &str) -> Vec<&str> {
    match (program(harness), harness) {
        (Some(program), _) => program.commands.to_vec(),
        // These have only pages, not programs.
        (None, "mcp" | "scripts") => Vec::new(),
        (None, name) => vec![name],
    }
}

/// Returns the built-in tools, with a projection for every harness.
pub fn tools() -> Vec<Tool> {
    tools_for(&harnesses().collect::<Vec<_>>())
}

/// Returns the built-in tools with the harnesses that a person chose in this catalog: all harnesses, unless every
/// existing entry has fewer.
pub fn tools_beside(catalog: &Catalog) -> Vec<Tool> {
    let present = built_in(catalog);
    if present.is_empty() || present.iter().any(|tool| has_older_harnesses(tool, catalog)) {
        return tools();
    }
    let has = |name: &&str| present.iter().any(|tool| tool.supported_harnesses.iter().any(|own| own == name));
    tools_for(&KNOWN_HARNESSES.iter().copied().filter(has).collect::<Vec<_>>())
}

/// The harnesses that v0.11 added for the built-in tools of v0.9.
const ADDED_HARNESSES: [&str; 3] = ["grok", "amp", "crush"];

/// The lists of harnesses that v0.7 and v0.8 wrote.
const SHORT_LISTS: [(&str, &[&str]); 2] =
    [("simplify", &["claude", "codex"]), ("superpowers", &["claude", "codex", "opencode"])];

/// Returns the built-in entries of a catalog.
fn built_in(catalog: &Catalog) -> Vec<&Tool> {
    let is_built_in = |tool: &&Tool| {
        let source = SOURCES.iter().find(|source| source.tool_id == tool.id.as_str());
        source.is_some_and(|source| tool.source_path.as_deref() == Some(source.path))
    };
    catalog.tools().iter().filter(is_built_in).collect()
}

/// Returns whether a built-in entry has the complete list of harnesses of an older version. Then a person did not
/// choose them.
///
/// The short lists of v0.7 and v0.8 count only if no built-in entry has a list that a person chose. With `init
/// --harness`, a person can choose the list of v0.7, and the description differs.
pub(crate) fn has_older_harnesses(tool: &Tool, catalog: &Catalog) -> bool {
    let is_chosen = |tool: &Tool| !is_short(tool) && !is_long(tool, &[]) && !is_long(tool, &ADDED_HARNESSES);
    is_long(tool, &ADDED_HARNESSES) || is_short(tool) && !built_in(catalog).into_iter().any(is_chosen)
}

fn is_short(tool: &Tool) -> bool {
    let own = &tool.supported_harnesses;
    let is_it = |(id, list): &(&str, &[&str])| {
        *id == tool.id.as_str()
            && list.len() == own.len()
            && list.iter().all(|name| own.iter().any(|own| own == name))
    };
    SHORT_LISTS.iter().any(is_it)
        && tool.description.as_deref().is_none_or(|text| text.ends_with(" placeholder."))
}

/// Returns whether the entry has all harnesses of built-in entries but these.
fn is_long(tool: &Tool, without: &[&str]) -> bool {
    let has = |name: &str| tool.supported_harnesses.iter().any(|own| own == name);
    harnesses().all(|name| has(name) != without.contains(&name))
}

fn tools_for(harnesses: &[&str]) -> Vec<Tool> {
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
            supported_harnesses: harnesses.iter().map(|name| (*name).to_owned()).collect(),
            projections: projections(source.tool_id, family, harnesses),
            ..Tool::new(source.tool_id, family).expect("the built-in ids are usable")
        })
        .collect()
}

/// The harnesses that the built-in tools are projected to.
fn harnesses() -> impl Iterator<Item = &'static str> {
    KNOWN_HARNESSES.iter().copied().filter(|harness| *harness != "gemini")
}

/// Returns the paths of a built-in tool's projections.
fn projections(id: &str, family: Family, harnesses: &[&str]) -> BTreeMap<String, String> {
    let folder = if family == Family::Superpower { "superpowers" } else { "commands" };
    let path = |harness: &str| match harness {
        "codex" | "gemini" => format!(".{harness}/skills/{id}/SKILL.md"),
        "opencode" | "antigravity" | "pi" | "hermes" | "openclaw" => format!(".{harness}/{folder}/{id}.md"),
        "cursor" | "continue" => format!(".{harness}/rules/{id}.md"),
        "copilot" | "openhands" | "grok" | "amp" | "crush" => format!(".{harness}/instructions/{id}.md"),
        "mcp" => format!(".mcp/{id}.md"),
        "scripts" => format!("scripts/{id}.md"),
        _ => format!(".{harness}/commands/{id}.md"),
    };
    harnesses.iter().map(|harness| ((*harness).to_owned(), path(harness))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::{OnExisting, merge};
    use crate::{Catalog, Level, Runtimes};

    /// Returns the new catalog where these programs are installed.
    fn starter(tools: &StarterTools, installed: &[&str]) -> Result<Starter, StarterError> {
        tools.starter(&|program| installed.contains(&program))
    }

    fn tools_toml() -> String {
        starter(&StarterTools::BuiltIn, &[]).unwrap().text
    }

    #[track_caller]
    fn check_harnesses(tools: &StarterTools, installed: &[&str], expect: &[&str]) {
        let text = starter(tools, installed).unwrap().text;
        let catalog = Catalog::parse("tools.toml", Level::Project, text.as_bytes());
        assert_eq!(catalog.issues(), []);
        for tool in catalog.tools() {
            assert_eq!(tool.supported_harnesses, expect);
            assert!(tool.projections.keys().all(|name| expect.contains(&name.as_str())));
        }
    }

    #[test]
    fn harnesses_are_chosen_or_detected() {
        let chosen = StarterTools::For(vec!["claude".to_owned(), "gemini".to_owned()]);
        check_harnesses(&chosen, &[], &["claude", "gemini"]);
        let both = StarterTools::For(vec!["detected".to_owned(), "claude".to_owned(), "codex".to_owned()]);
        check_harnesses(&both, &["codex"], &["codex", "claude"]);
        check_harnesses(&StarterTools::Detected, &["cn", "codex", "scripts"], &["codex", "continue"]);
        assert_eq!(starter(&StarterTools::Detected, &["scripts"]), Err(StarterError::NoneDetected));
        let unknown = StarterTools::For(vec!["claud".to_owned()]);
        assert_eq!(starter(&unknown, &[]), Err(StarterError::UnknownHarness("claud".to_owned())));
    }

    #[test]
    fn the_example_is_valid_and_names_its_files() {
        let example = starter(&StarterTools::Example, &[]).unwrap();
        let catalog = Catalog::parse("tools.toml", Level::Project, example.text.as_bytes());
        assert_eq!(catalog.issues(), []);
        let tool = catalog.tool("count-words").unwrap();
        assert_eq!(tool.command.as_deref(), Some(&*format!("python3 {}", EXAMPLE[0].path)));
        assert_eq!(tool.input_schema_path.as_deref(), Some(EXAMPLE[1].path));
        let empty = starter(&StarterTools::Empty, &[]).unwrap();
        assert_eq!((empty.tool_count, empty.files), (0, Vec::new()));
        // Without the marks of the comments, the examples are entries.
        let bare = include_str!("starter/commented.toml")
            .lines()
            .map(|line| line.strip_prefix("# ").unwrap_or_default());
        let examples = bare
            .skip_while(|line| !line.starts_with("[[tool]]"))
            .map(|line| format!("{line}\n"))
            .collect::<String>();
        let catalog = Catalog::parse("tools.toml", Level::Project, examples.as_bytes());
        assert_eq!((catalog.issues(), catalog.tools().len()), (&[][..], 2), "{examples}");
    }

    #[test]
    fn the_starter_catalog_is_valid() {
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
    fn merging_built_in_tools_changes_nothing() {
        let text = tools_toml();
        for existing in [OnExisting::Keep, OnExisting::Overwrite] {
            let merged = merge(&text, &tools(), existing).unwrap();
            assert_eq!((merged.text.as_str(), merged.skipped.len()), (text.as_str(), 4));
        }
    }

    /// Issue 13: updating the built-in tools must not undo a person's choice.
    #[test]
    fn harnesses_that_a_person_chose_stay() {
        let text = |harnesses: &[&str]| {
            let chosen = StarterTools::For(harnesses.iter().map(|name| (*name).to_owned()).collect());
            starter(&chosen, &[]).unwrap().text
        };
        let parse = |text: &str| Catalog::parse("tools.toml", Level::Project, text.as_bytes());
        let merged = |text: &str| merge(text, &tools_beside(&parse(text)), OnExisting::Keep).unwrap();
        let chosen = text(&["claude", "codex"]);
        assert_eq!(merged(&chosen).text, chosen);
        let fewer = chosen.split("\n[[tool]]\nid = \"antislop\"").next().unwrap();
        let again = parse(&merged(fewer).text);
        assert_eq!(again.tool("antislop").unwrap().supported_harnesses, ["claude", "codex"]);
        // Entries of v0.30 with lists that a person shortened.
        let edited = chosen.replace("description", "domain");
        assert_eq!(merged(&edited).text, edited);
        // Complete lists of v0.9 are not a choice.
        let older: Vec<&str> = harnesses().filter(|name| !ADDED_HARNESSES.contains(name)).collect();
        let again = merged(&text(&older));
        assert_eq!(again.updated.len(), 4);
        assert!(parse(&again.text).tools().iter().all(|tool| tool.projections.len() == 21));
    }

    #[test]
    fn what_v0_7_wrote_was_not_chosen() {
        let entry = |id: &str, family: &str, harnesses: &str| {
            format!(
                "[[tool]]\nid = \"{id}\"\nname = \"{id}\"\nfamily = \"{family}\"\n\
                 description = \"Portable {id} placeholder.\"\nsource_path = \"tools/{id}.md\"\n\
                 supported_harnesses = [{harnesses}]\n\n"
            )
        };
        let text = entry("simplify", "slash-command", "\"claude\", \"codex\"")
            + &entry("superpowers", "superpower", "\"claude\", \"codex\", \"opencode\"");
        let catalog = Catalog::parse("tools.toml", Level::Project, text.as_bytes());
        let merged = merge(&text, &tools_beside(&catalog), OnExisting::Keep).unwrap();
        assert_eq!((merged.updated.len(), merged.added.len()), (2, 2));
        let catalog = Catalog::parse("tools.toml", Level::Project, merged.text.as_bytes());
        assert!(catalog.tools().iter().all(|tool| tool.supported_harnesses.len() == 21));
    }

    #[test]
    fn comments_in_a_list_of_an_older_version_stay() {
        let older: Vec<String> = harnesses()
            .filter(|name| !ADDED_HARNESSES.contains(name))
            .map(|name| format!("  \"{name}\", # {name}\n"))
            .collect();
        let text = format!(
            "[[tool]]\nid = \"simplify\"\nname = \"S\"\nfamily = \"slash-command\"\n\
             source_path = \"tools/simplify.md\"\nsupported_harnesses = [\n{}  # the end\n]\n",
            older.concat()
        );
        let merged = merge(&text, &tools()[..1], OnExisting::Keep).unwrap().text;
        let added = "  \"scripts\", # scripts\n  # the end\n  \"grok\",\n  \"amp\",\n  \"crush\",\n]\n";
        assert!(
            merged.contains(&format!("supported_harnesses = [\n{}", older.concat().trim_end())),
            "{merged}"
        );
        assert!(merged.contains(added), "{merged}");
    }

    #[test]
    fn the_starter_runtimes_are_valid() {
        let runtimes = Runtimes::parse("runtimes.toml", Level::Project, RUNTIMES_TOML.as_bytes());
        assert_eq!(runtimes.issues(), []);
        assert_eq!(runtimes.runtime("local-helper").map(|runtime| runtime.port), Some(Some(8765)));
    }

    #[test]
    fn the_starter_policy_is_the_example_plus_sandbox() {
        let policy = toml::de::DeTable::parse(POLICY_TOML).unwrap();
        let keys: Vec<_> = policy.get_ref().keys().map(|key| key.get_ref().as_ref()).collect();
        assert_eq!(
            keys,
            [
                "allowed_effects",
                "allowed_families",
                "commands",
                "denied_effects",
                "max_timeout",
                "required_approval_modes",
                "sandbox",
            ]
        );
    }
}
