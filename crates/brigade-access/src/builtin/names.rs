//! Names that call built-in tools, and known names that cannot be called.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use brigade_core::{Json, Object};
use thiserror::Error;

use super::{Definition, definition, definitions};
use crate::names::CONTROL_TOOLS;
use crate::traits::Tier;

/// Another name of a built-in tool. Aliases are not listed.
#[derive(Debug)]
pub struct Alias {
    /// The name.
    pub name: &'static str,
    /// Its names of arguments, each with ours. `a/1000` divides a number; `a.b` is the member `b` of the object `a`.
    pub arguments: &'static [(&'static str, &'static str)],
    /// Texts of arguments that a call by this name may leave out.
    pub fill: &'static [(&'static str, &'static str)],
    /// The tier of roles that can use this name. `None`: every role that sees the tool.
    pub tier: Option<Tier>,
}

/// A known name that cannot be called.
#[derive(Clone, Copy, Debug)]
pub struct UncallableName {
    /// The name. A final `*` matches any ending.
    pub name: &'static str,
    /// The tier of roles that gets this explanation.
    pub tier: Tier,
    /// The effects that it would have. Only agents that see tools with these effects get the explanation.
    pub effects: &'static [&'static str],
    /// Why, and what to use instead.
    pub why: &'static str,
}

/// The prefix of names from one of the two sources.
const AEGIS: &str = "aegis.";

/// Aliases of the gateway's control tools. All agents have them.
const CONTROL_NAMES: &[(&str, &str)] = &[("get_budget_status", "budget.get")];

/// Names of tools in other programs that cannot be called here.
pub const NEVER: &[UncallableName] = &[
    UncallableName {
        name: "createTerminal",
        tier: Tier::Control,
        effects: &["process-exec"],
        why: "a terminal leaves no receipts; `cmd.run` runs one command",
    },
    UncallableName {
        name: "updatePipelineSettings",
        tier: Tier::Control,
        effects: &["state-write"],
        why: "an agent never writes settings; a person edits them",
    },
    UncallableName {
        name: "update_tool_profiles",
        tier: Tier::Coordinator,
        effects: &["state-write"],
        why: "an agent never changes profiles; a person edits them",
    },
];

/// What a called name means.
#[derive(Clone, Copy, Debug)]
pub enum BuiltinName {
    /// A built-in tool, by an alias if there is one.
    Tool(&'static Definition, Option<&'static Alias>),
    /// A control tool of the gateway.
    Control(&'static str),
    /// A known name that cannot be called.
    Never(&'static UncallableName),
}

/// Why the arguments of an alias are invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AliasProblem {
    /// An argument was given under both names.
    #[error("{0} was given under two names")]
    GivenTwice(&'static str),
}

/// Returns each alias by its name, with its tool.
fn aliases() -> &'static BTreeMap<&'static str, (&'static Definition, &'static Alias)> {
    static BY_NAME: OnceLock<BTreeMap<&'static str, (&'static Definition, &'static Alias)>> = OnceLock::new();
    BY_NAME.get_or_init(|| {
        let tools = definitions().iter();
        tools.flat_map(|tool| tool.aliases.iter().map(move |alias| (alias.name, (tool, alias)))).collect()
    })
}

/// Returns whether a name is an alias of a built-in tool: a listed alias, or `aegis.` before an alias or an id.
pub fn is_alias(name: &str) -> bool {
    let short = name.strip_prefix(AEGIS).unwrap_or(name);
    // A name with a server prefix may be a tool of that server.
    let is_plain = without_prefixes(name) == short;
    is_plain
        && own_name(name).is_some_and(|meant| match meant {
            BuiltinName::Tool(definition, _) => definition.id != name,
            BuiltinName::Control(id) => id != name,
            BuiltinName::Never(_) => false,
        })
}

/// Lists the aliases of built-in tools, in order.
pub(crate) fn alias_names() -> impl Iterator<Item = &'static str> {
    aliases().keys().copied()
}

/// Removes the prefixes of harnesses from a name, each once: `mcp__SERVER__`, `ade.SERVER__`, `aegis.`.
fn without_prefixes(name: &str) -> &str {
    let after_server = |name, start| -> Option<&str> {
        let (server, rest) = str::strip_prefix(name, start)?.split_once("__")?;
        (!server.is_empty()).then_some(rest)
    };
    let name = after_server(name, "mcp__").unwrap_or(name);
    let name = after_server(name, "ade.").unwrap_or(name);
    name.strip_prefix(AEGIS).unwrap_or(name)
}

/// Resolves a called name that is not listed. Without its prefixes, it must be exactly an id or an alias.
pub fn own_name(name: &str) -> Option<BuiltinName> {
    let name = without_prefixes(name);
    let other = CONTROL_NAMES.iter().find(|(other, _)| *other == name);
    let control = other.map_or(name, |(_, id)| id);
    if let Ok(place) = CONTROL_TOOLS.binary_search(&control) {
        return Some(BuiltinName::Control(CONTROL_TOOLS[place]));
    }
    if let Some(definition) = definition(name) {
        return Some(BuiltinName::Tool(definition, None));
    }
    if let Some((tool, alias)) = aliases().get(name) {
        return Some(BuiltinName::Tool(tool, Some(alias)));
    }
    let is_meant = |never: &&UncallableName| match never.name.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => never.name == name,
    };
    NEVER.iter().find(is_meant).map(BuiltinName::Never)
}

impl Alias {
    /// The members that an alias need not have.
    pub(super) const DEFAULT: Alias = Alias { name: "", arguments: &[], fill: &[], tier: None };

    /// Renames arguments from the alias's names to the tool's names.
    ///
    /// # Errors
    /// Fails if an argument was given under both names.
    pub fn arguments_of(&self, mut given: Object) -> Result<Object, AliasProblem> {
        for (theirs, ours) in self.arguments {
            let Some(value) = given.remove(*theirs) else { continue };
            let (ours, value) = match ours.split_once('/') {
                Some((ours, divisor)) => (ours, divided(value, divisor)),
                None => (*ours, value),
            };
            let taken = match ours.split_once('.') {
                None => given.insert(ours.to_owned(), value),
                Some((object, member)) => {
                    let members =
                        given.entry(object.to_owned()).or_insert_with(|| Json::Object(Object::new()));
                    match members {
                        Json::Object(members) => members.insert(member.to_owned(), value),
                        _ => return Err(AliasProblem::GivenTwice(theirs)),
                    }
                }
            };
            if taken.is_some() {
                return Err(AliasProblem::GivenTwice(theirs));
            }
        }
        for (name, value) in self.fill {
            given.entry((*name).to_owned()).or_insert_with(|| Json::from(*value));
        }
        Ok(given)
    }
}

/// Divides a whole number and rounds up. Other values stay, so that the schema refuses them.
fn divided(value: Json, divisor: &str) -> Json {
    let divisor: u64 = divisor.parse().unwrap_or(1);
    let whole = value.to_compact().parse::<u64>().ok();
    whole.map_or(value, |whole| Json::from(whole.div_ceil(divisor)))
}
