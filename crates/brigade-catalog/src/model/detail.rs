//! The tables of an entry about its source, its installation and its cost.

use super::{Family, Level, OrBuiltin, ServerTransport, Tool, ToolSource};

/// Where a tool comes from: `[tool.source]`.
///
/// Strings are trimmed; an optional string may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceDetail {
    /// The kind of source, if it does not follow from the family.
    pub kind: Option<ToolSource>,
    /// The harness that provides the tool.
    pub provider: Option<String>,
    /// The MCP server.
    pub server: Option<String>,
    /// How the MCP server is reached.
    pub transport: Option<ServerTransport>,
    /// The id of the skill.
    pub skill_id: Option<String>,
    /// The file or function that the tool starts with.
    pub entry: Option<String>,
    /// The file or directory of the definition.
    pub path: Option<String>,
    /// The discovered definition that the entry was made from: `ref`.
    pub reference: Option<String>,
    /// The fingerprint of that definition.
    pub fingerprint: Option<String>,
}

/// How a tool is checked and installed: `[tool.install]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Install {
    /// The command that succeeds if the tool is installed.
    pub check: Option<String>,
    /// The command that installs it, or alternatives, not split into words.
    pub command: Vec<String>,
    /// The page that describes the installation.
    pub docs: Option<String>,
}

/// The cost of a call, as declared by its author: `[tool.cost]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    /// The amount for one call, at least 0.
    pub per_call: Option<f64>,
    /// The unit of the amount, such as `USD`.
    pub unit: Option<String>,
}

impl Tool {
    /// Returns where the tool comes from: `kind` of `[tool.source]`, or what follows from its family.
    pub fn source(&self) -> Option<ToolSource> {
        let stated = self.source.as_ref().and_then(|source| source.kind);
        stated.or(match self.family? {
            Family::Skill | Family::SlashCommand | Family::Superpower => Some(ToolSource::Skill),
            Family::Mcp => Some(ToolSource::Mcp),
            Family::Script => Some(ToolSource::Script),
            Family::Openapi | Family::Graphql | Family::Custom | Family::Builtin => None,
        })
    }

    /// Returns where the tool comes from, for reports.
    pub fn reported_source(&self) -> Option<OrBuiltin<ToolSource>> {
        if self.is_built_in() { Some(OrBuiltin::Builtin) } else { self.source().map(OrBuiltin::Entry) }
    }

    /// Returns the level of the entry, for reports.
    pub fn reported_level(&self) -> OrBuiltin<Level> {
        if self.is_built_in() { OrBuiltin::Builtin } else { OrBuiltin::Entry(self.origin.level) }
    }

    /// Returns the name of the MCP server, from the entry or from `[tool.source]`.
    pub fn server(&self) -> Option<&str> {
        let detail = self.source.as_ref().and_then(|source| source.server.as_deref());
        let server = self.mcp_server_id.as_deref().or(detail);
        server.filter(|server| !server.is_empty())
    }

    /// Returns the capabilities of the tool: `capabilities`, and `capability` of v0.30. Each occurs once, as written.
    pub fn all_capabilities(&self) -> Vec<&str> {
        once(self.capabilities.iter().chain(&self.capability))
    }

    /// Returns the categories of the tool: `categories` and `domain`. Each occurs once, as written.
    pub fn all_categories(&self) -> Vec<&str> {
        once(self.categories.iter().chain(self.domain.as_ref().filter(|domain| !domain.is_empty())))
    }

    /// Returns whether `[tool.source] kind` contradicts the family.
    pub(crate) fn has_unsuited_kind(&self) -> bool {
        let kind = self.source.as_ref().and_then(|source| source.kind);
        let (Some(kind), Some(family)) = (kind, self.family) else {
            return false;
        };
        let suited = match family {
            Family::Skill | Family::SlashCommand | Family::Superpower => kind == ToolSource::Skill,
            Family::Mcp => kind == ToolSource::Mcp,
            // The program of a skill is a script that the skill brings.
            Family::Script => matches!(kind, ToolSource::Script | ToolSource::Cli | ToolSource::Skill),
            Family::Custom => kind == ToolSource::Harness,
            Family::Openapi | Family::Graphql | Family::Builtin => false,
        };
        !suited
    }
}

/// Returns the labels without those that equal an earlier one.
fn once<'t>(labels: impl Iterator<Item = &'t String>) -> Vec<&'t str> {
    let mut found: Vec<&str> = Vec::new();
    for label in labels {
        if !found.iter().any(|known| same_label(known, label)) {
            found.push(label);
        }
    }
    found
}

/// Returns whether two labels are equal, ignoring case and the difference between `_`, `-` and spaces.
pub fn same_label(a: &str, b: &str) -> bool {
    a == b || label_key(a) == label_key(b)
}

/// Returns a label in the form in which labels are compared.
pub fn label_key(label: &str) -> String {
    super::catalog::fold(label.trim()).replace(['_', '-'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(family: Family, kind: Option<ToolSource>, expect: Option<ToolSource>, unsuited: bool) {
        let source = SourceDetail { kind, ..SourceDetail::default() };
        let tool = Tool { source: Some(Box::new(source)), ..Tool::new("t", family).unwrap() };
        assert_eq!((tool.source(), tool.has_unsuited_kind()), (expect, unsuited), "{family}");
    }

    #[test]
    fn the_source_defaults_to_that_of_the_family() {
        use ToolSource::{Cli, Harness, Mcp, Script, Skill};
        for family in [Family::Skill, Family::SlashCommand, Family::Superpower] {
            check(family, None, Some(Skill), false);
            check(family, Some(Skill), Some(Skill), false);
            check(family, Some(Cli), Some(Cli), true);
        }
        check(Family::Mcp, None, Some(Mcp), false);
        check(Family::Script, None, Some(Script), false);
        check(Family::Script, Some(Cli), Some(Cli), false);
        check(Family::Script, Some(Skill), Some(Skill), false);
        check(Family::Script, Some(Harness), Some(Harness), true);
        check(Family::Custom, None, None, false);
        check(Family::Custom, Some(Harness), Some(Harness), false);
        check(Family::Custom, Some(Script), Some(Script), true);
        check(Family::Openapi, Some(Harness), Some(Harness), true);
    }

    #[test]
    fn labels_are_compared_without_case_and_separators() {
        for (a, b) in [("parse_yaml", "Parse YAML"), ("parse-yaml", "parse yaml "), ("STRASSE", "straße")] {
            assert!(same_label(a, b), "{a} {b}");
        }
        assert!(!same_label("parse yaml", "parseyaml"));
    }

    #[test]
    fn labels_of_both_names_are_joined() {
        let list = |labels: &[&str]| labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>();
        let tool = Tool {
            capabilities: list(&["parse_yaml", "convert yaml"]),
            capability: list(&["Parse-YAML", "lint"]),
            categories: list(&["data"]),
            domain: Some("yaml".to_owned()),
            ..Tool::new("t", Family::Script).unwrap()
        };
        assert_eq!(tool.all_capabilities(), ["parse_yaml", "convert yaml", "lint"]);
        assert_eq!(tool.all_categories(), ["data", "yaml"]);
    }
}
