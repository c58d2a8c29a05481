//! The tools that are built into Brigade. Each has one row, from which its listing, schemas, rights and pages are made.
//!
//! `brigade-toolset` implements them. The rows are here because profiles, plans and listings need them without a disk.

mod argued;
mod cmd;
mod described;
mod fact;
mod forge;
mod framework;
mod issue;
mod memory;
mod names;
mod path;
mod provided;
mod shape;
mod url;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use brigade_catalog::{ApprovalMode, Tool};
use brigade_core::{Json, words};

use crate::traits::{AccessLevel, ArgumentKinds, Mode, Tier};

pub use argued::{
    ArgumentRefusal, ignored_arguments, is_object_id, is_plain_name, refused_arguments, workflow_scope,
};
pub use brigade_policy::approval::ToolApproval;
pub use cmd::{
    COMMAND, CommandArgs, CommandOutput, OmittedText, command_argument, command_entry, cut_note, is_for_shell,
};
pub use fact::Fact;
pub use forge::{FORGE_LABELS, LaneWork, forge_entry, is_forge, is_of_forge};
pub use framework::web_frameworks;
pub use issue::{is_of_issues, issue_request};
pub use memory::MemoryAdded;
pub(crate) use names::alias_names;
pub use names::{Alias, AliasProblem, BuiltinName, NEVER, UncallableName, is_alias, own_name};
pub use path::{Guards, PathProblem, PathUse, WORKSPACE, relative};
pub use provided::{SCREENSHOT, SEARCH, may_start_a_program, provided_entry};
pub use url::{UrlProblem, allowed_url, remote_host};

/// One built-in tool.
///
/// `input` and `output` are written in a short form: `name!:type` is required, `name?:type` is not, `name:type=value`
/// has a default, and a name without a mark is always there in results. Types are `string`, `integer`, `number`,
/// `boolean`, `object`, `array` and `any`, `string(a,b)`, `integer(1..50)`, `?string` for what may be null, `[type]`
/// for lists, `{name:type …}` for objects, and `[name:type …]` for lists of objects. Defaults are JSON, with `'` for
/// the quotes.
#[derive(Debug)]
pub struct Definition {
    /// The id, under which it is listed.
    pub id: &'static str,
    /// Other names that call it.
    pub aliases: &'static [Alias],
    /// The display name.
    pub title: &'static str,
    /// What it does.
    pub description: &'static str,
    /// Its arguments, in the short form.
    pub input: &'static str,
    /// The members of its structured result, in the short form. `*` is any object.
    pub output: &'static str,
    /// Its effects.
    pub effects: &'static [&'static str],
    /// Whose tool it is.
    pub access: AccessLevel,
    /// The tiers that it belongs to.
    pub tiers: &'static [Tier],
    /// The modes that select it.
    pub modes: &'static [Mode],
    /// The approval that its calls need. Profiles and the policy can only make it stricter.
    pub approval: ToolApproval,
    /// Whether a judge is asked about its calls first.
    pub judge: Judge,
    /// What must be there.
    pub needs: &'static [Fact],
    /// Whether its calls are queued and leave receipts although they need no approval.
    pub is_recorded: bool,
    /// Whether it is a control tool of the gateway, whose schema is that of the [control tool](crate::ControlTool).
    pub is_control: bool,
    /// Arguments that are paths, or lists of paths.
    pub paths: &'static [&'static str],
    /// Arguments that are URLs.
    pub urls: &'static [&'static str],
    /// Arguments whose bytes are written.
    pub contents: &'static [&'static str],
}

words! {
    /// Whether a judge is asked about calls first, where there is one.
    Judge {
        /// A judge is asked.
        Run = "run",
        /// A judge is not asked.
        Skip = "skip",
        /// A judge is never asked.
        NotAsked = "n/a",
    }
}

include!(concat!(env!("OUT_DIR"), "/definitions.rs"));

/// Returns all built-in tools, by id.
pub fn definitions() -> &'static [Definition] {
    &DEFINITIONS
}

/// Returns the built-in tool of an id.
pub fn definition(id: &str) -> Option<&'static Definition> {
    let at = DEFINITIONS.binary_search_by(|definition| definition.id.cmp(id)).ok()?;
    Some(&DEFINITIONS[at])
}

/// Who answers calls of `pr.*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forge {
    /// The rows of this workspace about lanes.
    Rows,
    /// A program that the policy names.
    Program,
}

/// Returns the entries of all built-in tools, by id, where the forge is that of the workspace.
pub fn entries() -> &'static [Tool] {
    entries_with(Forge::Rows)
}

/// Returns the entries of all built-in tools, by id, as plans, lists, profiles and records use them.
pub fn entries_with(forge: Forge) -> &'static [Tool] {
    static ROWS: OnceLock<Vec<Tool>> = OnceLock::new();
    static PROGRAM: OnceLock<Vec<Tool>> = OnceLock::new();
    let entries = match forge {
        Forge::Rows => &ROWS,
        Forge::Program => &PROGRAM,
    };
    entries.get_or_init(|| {
        let entry_for = |row: &Definition| {
            let approval = match row.approval {
                ToolApproval::Always | ToolApproval::ToWiden => ApprovalMode::Always,
                ToolApproval::None | ToolApproval::Rule | ToolApproval::Ask | ToolApproval::OfNamedTool => {
                    ApprovalMode::OnRequest
                }
            };
            // The forge of this workspace needs no network; only a program reaches another forge.
            let is_remote = forge == Forge::Program && is_of_forge(row.id);
            let has = |effect: &&str| {
                !row.needs.contains(&Fact::Forge) || effect.starts_with("remote-") == is_remote
            };
            let effects: Vec<&str> = row.effects.iter().copied().filter(has).collect();
            let aliases = row.aliases.iter().map(|alias| alias.name.to_owned()).collect();
            Tool { aliases, ..Tool::built_in(row.id, row.title, row.description, &effects, approval) }
        };
        definitions().iter().filter(|row| !row.is_control).map(entry_for).collect()
    })
}

/// Returns the entry of a built-in tool, with the forge of this workspace. `None` for control tools, which the gateway
/// answers.
pub fn entry(id: &str) -> Option<&'static Tool> {
    entry_with(id, Forge::Rows)
}

/// Like [`entry`], with this forge.
pub fn entry_with(id: &str, forge: Forge) -> Option<&'static Tool> {
    definition(id)?;
    let all = entries_with(forge);
    all.binary_search_by(|tool| tool.id.as_str().cmp(id)).ok().map(|at| &all[at])
}

/// The schemas of a tool.
struct Schemas {
    input: Json,
    output: Json,
}

fn schemas(id: &str) -> &'static Schemas {
    static COMPILED: OnceLock<BTreeMap<&'static str, Schemas>> = OnceLock::new();
    let all = COMPILED.get_or_init(|| {
        let compile = |definition: &'static Definition| {
            let control = || crate::control::control_tools().iter().find(|own| own.id == definition.id);
            let input = match control().filter(|_| definition.is_control) {
                Some(own) => own.input.clone(),
                None => shape::input(definition.id, definition.input),
            };
            (definition.id, Schemas { input, output: shape::output(definition.output) })
        };
        definitions().iter().map(compile).collect()
    });
    &all[id]
}

impl Definition {
    /// The members that a row may leave out. The build script requires the others.
    const DEFAULT: Definition = Definition {
        id: "",
        aliases: &[],
        title: "",
        description: "",
        input: "",
        output: "",
        effects: &[],
        access: AccessLevel::User,
        tiers: &[],
        modes: &[],
        approval: ToolApproval::Always,
        judge: Judge::Run,
        needs: &[],
        is_recorded: false,
        is_control: false,
        paths: &[],
        urls: &[],
        contents: &[],
    };

    /// Adds the defaults of the schema for missing arguments.
    pub fn with_defaults(&self, input: &Json) -> Json {
        let mut given = input.as_object().cloned().unwrap_or_default();
        let properties = self.input_schema().get("properties").and_then(Json::as_object);
        for (name, property) in properties.into_iter().flatten() {
            if let Some(default) = property.get("default").filter(|_| !given.contains_key(name)) {
                given.insert(name.clone(), default.clone());
            }
        }
        Json::Object(given)
    }

    /// Returns the default of an argument.
    pub fn default_of(&self, argument: &str) -> Option<&'static Json> {
        self.input_schema().get("properties")?.get(argument)?.get("default")
    }

    /// Returns the JSON Schema of its arguments.
    pub fn input_schema(&self) -> &'static Json {
        &schemas(self.id).input
    }

    /// Returns the JSON Schema of its structured result.
    pub fn output_schema(&self) -> &'static Json {
        &schemas(self.id).output
    }

    /// Returns whether its structured result can be any object, so that no member is certain.
    pub fn gives_any_document(&self) -> bool {
        self.output == "*"
    }

    /// Returns whether its structured result has the member `tool`, with its id.
    pub fn names_itself(&self) -> bool {
        self.output.starts_with("tool:")
    }

    /// Returns which of its arguments a context limits.
    pub fn arguments(&self) -> ArgumentKinds<'_> {
        ArgumentKinds { paths: self.paths, urls: self.urls, contents: self.contents }
    }

    /// Returns its family: the id up to its last dot.
    pub fn family(&self) -> &'static str {
        self.id.rsplit_once('.').map_or(self.id, |(family, _)| family)
    }

    /// Returns whether it works on files of the workspace or of the session's lane.
    pub fn uses_files(&self) -> bool {
        !self.paths.is_empty() || self.id.starts_with("git.") || self.id == "report.completion"
    }

    /// Returns whether its calls are planned, queued and recorded. The gateway answers calls of the others.
    pub fn is_queued(&self) -> bool {
        // A tool that requests calls of other tools needs no approval; those calls do.
        self.is_recorded || !self.approval.is_not_needed()
    }
}

#[cfg(test)]
mod tests;
