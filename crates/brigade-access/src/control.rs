//! The gateway's control tools. They list tools and follow calls; using them is not a call.

use std::sync::OnceLock;

use brigade_core::Json;
use brigade_core::json::from_json;
use brigade_policy::{Gate, RiskLevel};
use serde::Deserialize;

use crate::listed::{Annotations, ListedTool, ToolListing};
use crate::names::{NameStyle, listed_name};
use crate::traits::{AccessLevel, ArgumentKinds, Source, Tier, ToolTraits};

const TOOLS: &str = include_str!("control/tools.json");

/// The name shown as the family of control tools.
pub const FAMILY: &str = "gateway";

/// A tool of the gateway.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ControlTool {
    /// The id.
    pub id: String,
    /// The display name.
    pub title: String,
    /// What it does.
    pub description: String,
    /// Whether it only reads.
    pub reads: bool,
    /// The schema of its arguments.
    pub input: Json,
    /// The schema of its result. `None` if it returns the result of another tool.
    #[serde(default)]
    pub output: Option<Json>,
}

/// Returns the tool of the gateway with this id.
pub fn control_tool(id: &str) -> Option<&'static ControlTool> {
    control_tools().iter().find(|own| own.id == id)
}

/// Returns the tools of the gateway, by id.
pub fn control_tools() -> &'static [ControlTool] {
    static CONTROL: OnceLock<Vec<ControlTool>> = OnceLock::new();
    CONTROL.get_or_init(|| {
        let json = Json::parse(TOOLS).expect("the file is JSON");
        from_json(&json).expect("the file is a list of tools")
    })
}

impl ControlTool {
    /// Returns its traits.
    pub fn traits(&self) -> ToolTraits<'_> {
        ToolTraits {
            id: &self.id,
            source: Source::Control,
            effects: &[],
            risk: RiskLevel::Low,
            access: AccessLevel::User,
            tiers: &[Tier::Universal],
            modes: &[],
            is_judged: false,
            approval_mode: None,
            arguments: ArgumentKinds::default(),
        }
    }

    /// Returns it as a client sees it.
    pub fn listed(&self, names: NameStyle) -> ListedTool {
        let name = listed_name(&self.id, names);
        let full = ListedTool::full(self.shown(&name, &self.effects()));
        ListedTool { annotations: Some(self.annotations()), ..full }
    }

    /// Returns it as a client sees it in a compact listing.
    pub fn listed_compact(&self, names: NameStyle) -> ListedTool {
        ListedTool::compact(self.shown(&listed_name(&self.id, names), &self.effects()))
    }

    pub(crate) fn effects(&self) -> [String; 1] {
        ["session".to_owned()]
    }

    fn shown<'a>(&'a self, name: &'a str, effects: &'a [String]) -> ToolListing<'a> {
        ToolListing {
            name,
            title: &self.title,
            description: Some(&self.description),
            max_description_bytes: u64::MAX,
            icons: &[],
            input_schema: self.input.clone(),
            output_schema: self.output.clone(),
            family: FAMILY,
            effects,
            risk: RiskLevel::Low,
            gate: Gate::Allow,
        }
    }

    fn annotations(&self) -> Annotations {
        ControlTool::hints(self.reads)
    }

    /// Returns the hints about a tool of the gateway.
    pub fn hints(reads: bool) -> Annotations {
        if reads { Annotations::from_effects(&["session"]) } else { Annotations::from_effects::<&str>(&[]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::CONTROL_TOOLS;

    #[test]
    fn every_control_tool_is_listed() {
        let ids: Vec<&str> = control_tools().iter().map(|tool| tool.id.as_str()).collect();
        assert_eq!(ids, CONTROL_TOOLS);
        for tool in control_tools() {
            let listed = tool.listed(NameStyle::Plain);
            assert_eq!(listed.name, tool.id.replace('.', "_"));
            assert!(listed.input_schema.get("additionalProperties") == Some(&Json::from(false)));
            assert_eq!(listed.annotations.unwrap().read_only_hint, tool.reads);
            assert_eq!(tool.listed_compact(NameStyle::Dotted).title, None);
        }
    }
}
