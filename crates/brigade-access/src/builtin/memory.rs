//! What agents remember.

use brigade_core::json::{from_json, to_json};
use serde::{Deserialize, Serialize};

use super::*;

/// The structured result of `memory.add`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryAdded {
    /// Whether the memory was saved.
    pub saved: bool,
    /// `candidate`, `promoted` or `rejected`.
    pub durability: String,
    /// Its id.
    pub id: Option<String>,
    /// Its tier.
    pub tier: Option<i64>,
    /// Whether an equal memory existed.
    pub deduped: bool,
    /// The id of the memory that it was merged into.
    pub merged_into_id: Option<String>,
    /// Why it was not saved, or saved otherwise than it was asked for.
    pub reason: Option<String>,
}

impl MemoryAdded {
    /// Returns the result of a memory that was not saved.
    pub fn rejected(reason: &str) -> MemoryAdded {
        MemoryAdded {
            saved: false,
            durability: "rejected".to_owned(),
            id: None,
            tier: None,
            deduped: false,
            merged_into_id: None,
            reason: Some(reason.to_owned()),
        }
    }

    /// Reads the text of a result. `None` if the text is cut or of another tool.
    pub fn read(text: &str) -> Option<MemoryAdded> {
        from_json(&Json::parse(text).ok()?).ok()
    }

    /// Writes the result as a document.
    pub fn to_json(&self) -> Json {
        to_json(self).expect("a result is JSON")
    }
}

/// What agents remember.
pub(super) const ROWS: &[Definition] = &[
    Definition {
        id: "memory.add",
        is_built: true,
        title: "Remember",
        description: "Remembers a fact, convention, pattern, decision, gotcha or preference. Secrets are \
            never kept.",
        input: "content!:string category!:string(fact,convention,pattern,decision,gotcha,preference) \
            scope:string(project,agent,mission)=\"project\" scopeOwnerId?:string \
            importance:string(low,medium,high)=\"medium\" pin:boolean=false \
            writeMode:string(default,strict)=\"default\"",
        output: "saved:boolean durability:string(candidate,promoted,rejected) id:?string tier:?integer \
            deduped:boolean merged_into_id:?string reason:?string",
        effects: &["memory-write"],
        stage: 1,
        aliases: &[Alias { name: "memoryAdd", ..ALIAS }],
        ..ROW
    },
    Definition {
        id: "memory.pin",
        is_built: true,
        title: "Pin a memory",
        description: "Keeps a memory among the first, or lets it go again.",
        input: "id!:string pinned:boolean=true",
        output: "ok:boolean id:string pinned:boolean tier:integer",
        effects: &["memory-write"],
        stage: 1,
        aliases: &[Alias { name: "memoryPin", ..ALIAS }],
        ..ROW
    },
    Definition {
        id: "memory.search",
        is_built: true,
        title: "Search the memory",
        description: "Finds what was remembered, by words.",
        input: "query!:string scope?:string(project,agent,mission) scopeOwnerId?:string \
            limit:integer(1..50)=5",
        output: "memories:[id:string scope:string tier:integer pinned:boolean category:string \
            content:string importance:string confidence:number score:number created_at:string \
            author?:string is_foreign?:boolean] count:integer",
        effects: &["local-read"],
        stage: 1,
        aliases: &[Alias { name: "memorySearch", ..ALIAS }],
        ..ROW
    },
    Definition {
        id: "memory.update_core",
        is_built: true,
        title: "Update the core memory",
        description: "Replaces parts of what this agent always knows of the project.",
        input: "projectSummary?:string criticalConventions?:[string] userPreferences?:[string] \
            activeFocus?:[string] notes?:[string]",
        output: "updated:[string] version:integer updated_at:string",
        effects: &["memory-write"],
        stage: 1,
        needs: &[Fact::Identity],
        aliases: &[Alias { name: "memoryUpdateCore", ..ALIAS }],
        ..ROW
    },
];
