//! The fields of an entry, in the order in which new entries are written.

/// A field's name and the part after it: `timeout`, `projections.claude`, `effects[2]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FieldPath<'a> {
    pub(crate) name: &'a str,
    pub(crate) rest: Option<&'a str>,
}

impl FieldPath<'_> {
    /// Splits a path at the first dot or bracket.
    pub(crate) fn parse(text: &str) -> FieldPath<'_> {
        match text.find(['.', '[']) {
            None => FieldPath { name: text, rest: None },
            Some(at) => FieldPath { name: &text[..at], rest: Some(text[at + 1..].trim_end_matches(']')) },
        }
    }
}

/// The type of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A non-empty string.
    Required,
    /// A string.
    Text,
    /// `true` or `false`.
    Boolean,
    /// A number of seconds.
    Seconds,
    /// A TCP port.
    Port,
    /// A list of non-empty strings.
    List,
    /// A table of strings.
    Table,
    /// A number of at least 0.
    Amount,
    /// A string, or a list of non-empty strings.
    Lines,
    /// A table of known fields.
    Group(Fields),
}

/// The fields of one kind of entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fields(pub(crate) &'static [(&'static str, Shape)]);

impl Fields {
    /// Returns the index of a field, which represents it in compact structures.
    pub(crate) fn position(&self, name: &str) -> Option<u8> {
        self.0.iter().position(|(known, _)| *known == name).map(|at| at as u8)
    }

    /// Like `position`, but fast if the name is at the expected index or shortly after it.
    pub(crate) fn position_from(&self, expected: u8, name: &str) -> Option<u8> {
        let start = usize::from(expected).min(self.0.len());
        let (before, after) = self.0.split_at(start);
        let found = |part: &[(&str, Shape)]| part.iter().position(|(known, _)| *known == name);
        found(after).map(|at| start + at).or_else(|| found(before)).map(|at| at as u8)
    }

    /// The names, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|(name, _)| *name)
    }
}

/// The fields of a `[[tool]]`.
pub(crate) const TOOL: Fields = Fields(&[
    ("id", Shape::Required),
    ("name", Shape::Required),
    ("family", Shape::Required),
    ("enabled", Shape::Boolean),
    ("description", Shape::Text),
    ("source_path", Shape::Text),
    ("manifest_path", Shape::Text),
    ("schema_path", Shape::Text),
    ("command", Shape::Text),
    ("auth_label", Shape::Text),
    ("health_path", Shape::Text),
    ("fingerprint", Shape::Text),
    ("input_schema_path", Shape::Text),
    ("output_schema_path", Shape::Text),
    ("examples_path", Shape::Text),
    ("approval_mode", Shape::Text),
    ("cwd", Shape::Text),
    ("runtime_id", Shape::Text),
    ("runtime_health_path", Shape::Text),
    ("mcp_server_id", Shape::Text),
    ("mcp_tool_name", Shape::Text),
    ("requires_runtime", Shape::Boolean),
    ("timeout", Shape::Seconds),
    ("domain", Shape::Text),
    ("capability", Shape::List),
    ("risk_class", Shape::Text),
    ("permissions", Shape::List),
    ("effects", Shape::List),
    ("env_labels", Shape::List),
    ("supported_harnesses", Shape::List),
    ("projections", Shape::Table),
    ("projection_fingerprints", Shape::Table),
    ("argument_template", Shape::Table),
    ("allow_option_values", Shape::List),
    ("code", Shape::List),
    ("data", Shape::List),
    ("aliases", Shape::List),
    ("categories", Shape::List),
    ("capabilities", Shape::List),
    ("availability", Shape::Text),
    ("version", Shape::Text),
    ("version_command", Shape::Text),
    ("project_specific", Shape::Boolean),
    ("source", Shape::Group(SOURCE)),
    ("install", Shape::Group(INSTALL)),
    ("cost", Shape::Group(COST)),
]);

/// The fields of `[tool.source]`.
pub(crate) const SOURCE: Fields = Fields(&[
    ("kind", Shape::Text),
    ("provider", Shape::Text),
    ("server", Shape::Text),
    ("transport", Shape::Text),
    ("skill_id", Shape::Text),
    ("entry", Shape::Text),
    ("path", Shape::Text),
    ("ref", Shape::Text),
    ("fingerprint", Shape::Text),
]);

/// The fields of `[tool.install]`.
pub(crate) const INSTALL: Fields =
    Fields(&[("check", Shape::Text), ("command", Shape::Lines), ("docs", Shape::Text)]);

/// The fields of `[tool.cost]`.
pub(crate) const COST: Fields = Fields(&[("per_call", Shape::Amount), ("unit", Shape::Text)]);

/// Returns the fields of a table of known fields.
pub(crate) fn group(field: &str) -> Option<Fields> {
    match TOOL.0.iter().find(|(name, _)| *name == field) {
        Some((_, Shape::Group(fields))) => Some(*fields),
        _ => None,
    }
}

/// The fields of a `[[runtime]]`.
pub(crate) const RUNTIME: Fields = Fields(&[
    ("id", Shape::Required),
    ("name", Shape::Required),
    ("enabled", Shape::Boolean),
    ("command", Shape::Required),
    ("cwd", Shape::Text),
    ("port", Shape::Port),
    ("health_command", Shape::Text),
    ("health_path", Shape::Text),
    ("pid_path", Shape::Text),
    ("log_path", Shape::Text),
    ("timeout", Shape::Seconds),
    ("on_demand", Shape::Boolean),
    ("env_labels", Shape::List),
]);

/// The effects that have a meaning for risk and sandbox. Entries and policies may name others.
pub const KNOWN_EFFECTS: &[&str] = &[
    "local-read",
    "local-write",
    "local-delete",
    "git-write",
    "session",
    "state-write",
    "memory-write",
    "network",
    "remote-read",
    "remote-mutation",
    "process-exec",
    "process-control",
    "install",
    "secret-read",
];

/// Returns the known effect that was probably meant by an unknown one.
pub fn misspelt_effect(effect: &str) -> Option<&'static str> {
    let effect = effect.trim();
    let is_known = effect.len() > MAX_EFFECT_BYTES || KNOWN_EFFECTS.contains(&effect);
    if is_known { None } else { brigade_core::closest(effect, KNOWN_EFFECTS.iter().copied()) }
}

/// The maximum length in bytes of an effect that is compared with the known ones.
const MAX_EFFECT_BYTES: usize = 64;

/// The harness labels that Brigade knows. Others are accepted with a warning.
pub const KNOWN_HARNESSES: &[&str] = &[
    "claude",
    "codex",
    "opencode",
    "antigravity",
    "pi",
    "cursor",
    "aider",
    "goose",
    "continue",
    "copilot",
    "qwen",
    "kimi",
    "adal",
    "openhands",
    "grok",
    "amp",
    "crush",
    "hermes",
    "openclaw",
    "mcp",
    "scripts",
    "gemini",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_split_at_the_field() {
        assert_eq!(FieldPath::parse("timeout"), FieldPath { name: "timeout", rest: None });
        assert_eq!(FieldPath::parse("effects[2]"), FieldPath { name: "effects", rest: Some("2") });
        assert_eq!(FieldPath::parse("projections.a.b"), FieldPath { name: "projections", rest: Some("a.b") });
    }

    #[test]
    fn positions_follow_the_writing_order() {
        assert_eq!(TOOL.position("id"), Some(0));
        assert_eq!(TOOL.position("argument_template"), Some(32));
        assert_eq!(TOOL.position("argument_templates"), None);
        for expected in [0, 5, 32, 33, 200] {
            assert_eq!(TOOL.position_from(expected, "name"), Some(1));
            assert_eq!(TOOL.position_from(expected, "nam"), None);
        }
    }
}
