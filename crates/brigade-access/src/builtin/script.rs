//! Saved scripts.

use super::*;

/// Saved scripts.
pub(super) const ROWS: &[Definition] = &[
    Definition {
        id: "script.delete",
        is_built: true,
        title: "Delete a script",
        description: "Deletes a saved script. Its name is free again.",
        input: "id!:string",
        output: "id:string deleted:boolean",
        effects: &["local-delete"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        approval: ToolApproval::Ask,
        judge: Judge::Run,
        stage: 1,
        ..ROW
    },
    Definition {
        id: "script.get",
        is_built: true,
        title: "Show a script",
        description: "Shows a saved script with all its versions.",
        input: "id!:string",
        output: "id:string name:string version:integer language:string description:?string \
            tags:[string] created_at:string updated_at:string versions:[version:integer \
            code:string created_at:string]",
        effects: &["local-read"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        judge: Judge::Skip,
        stage: 1,
        ..ROW
    },
    Definition {
        id: "script.list",
        is_built: true,
        title: "List scripts",
        description: "Lists saved scripts.",
        input: "tag?:string q?:string",
        output: "scripts:[id:string name:string version:integer language:string description:?string \
            tags:[string] created_at:string updated_at:string] total:integer",
        effects: &["local-read"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        judge: Judge::Skip,
        stage: 1,
        ..ROW
    },
    Definition {
        id: "script.save",
        is_built: true,
        title: "Save a script",
        description: "Saves the code of a script. It runs nowhere until a person promotes it.",
        input: "name!:string code!:string description?:string tags?:[string] \
            language:string=\"typescript\"",
        output: "id:string name:string version:integer language:string description:?string \
            tags:[string] created_at:string updated_at:string",
        effects: &["state-write"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        judge: Judge::Run,
        stage: 1,
        arguments: ArgumentKinds { contents: &["code"], ..NO_ARGUMENTS },
        ..ROW
    },
    Definition {
        id: "script.update",
        is_built: true,
        title: "Update a script",
        description: "Saves a new version of a script.",
        input: "id!:string name!:string code!:string description?:string tags?:[string] \
            language?:string",
        output: "id:string name:string version:integer language:string description:?string \
            tags:[string] created_at:string updated_at:string",
        effects: &["state-write"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        judge: Judge::Run,
        stage: 1,
        arguments: ArgumentKinds { contents: &["code"], ..NO_ARGUMENTS },
        ..ROW
    },
];
