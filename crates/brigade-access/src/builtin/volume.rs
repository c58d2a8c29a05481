//! Volumes and the files in them.

use super::*;

/// Volumes and the files in them.
pub(super) const ROWS: &[Definition] = &[
    Definition {
        id: "volume.create",
        is_built: true,
        title: "Create a volume",
        description: "Creates a folder of this agent with a limit of bytes.",
        input: "label!:string size_limit_bytes!:integer(1..)",
        output: "volume_id:string label:string size_limit_bytes:integer used_bytes:integer \
            created_at:string",
        effects: &["state-write"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        judge: Judge::Run,
        stage: 1,
        ..ROW
    },
    Definition {
        id: "volume.delete",
        is_built: true,
        title: "Delete a volume",
        description: "Deletes a volume with everything in it.",
        input: "volume_id!:string",
        output: "volume_id:string deleted:boolean",
        effects: &["local-delete"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        approval: ToolApproval::Ask,
        judge: Judge::Run,
        stage: 1,
        ..ROW
    },
    Definition {
        id: "volume.list",
        is_built: true,
        title: "List volumes",
        description: "Lists the volumes of this agent.",
        output: "volumes:[volume_id:string label:string size_limit_bytes:integer used_bytes:integer \
            created_at:string] total:integer",
        effects: &["local-read"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        judge: Judge::Skip,
        stage: 1,
        ..ROW
    },
    Definition {
        id: "volume.quota",
        is_built: true,
        title: "Show the limits of volumes",
        description: "Shows how much volumes may hold, and how much they do.",
        output: "total_bytes_allowed:integer total_bytes_used:integer volume_count:integer \
            max_volumes:integer max_file_size_bytes:integer",
        effects: &["local-read"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        judge: Judge::Skip,
        stage: 1,
        ..ROW
    },
    Definition {
        id: "file.delete",
        is_built: true,
        title: "Delete a file of a volume",
        description: "Deletes a file of a volume, or a directory with `recursive`.",
        input: "volume_id!:string path!:string recursive:boolean=false",
        output: "volume_id:string path:string deleted:boolean",
        effects: &["local-delete"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        approval: ToolApproval::Ask,
        judge: Judge::Run,
        stage: 1,
        ..ROW
    },
    Definition {
        id: "file.list",
        is_built: true,
        title: "List files of a volume",
        description: "Lists the entries of a directory of a volume.",
        input: "volume_id!:string path!:string",
        output: "volume_id:string path:string entries:[name:string file_type:string size_bytes:integer]",
        effects: &["local-read"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        judge: Judge::Skip,
        stage: 1,
        ..ROW
    },
    Definition {
        id: "file.mkdir",
        is_built: true,
        title: "Create a directory of a volume",
        description: "Creates a directory of a volume.",
        input: "volume_id!:string path!:string",
        output: "volume_id:string path:string",
        effects: &["local-write"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        judge: Judge::Run,
        stage: 1,
        ..ROW
    },
    Definition {
        id: "file.read",
        is_built: true,
        title: "Read a file of a volume",
        description: "Reads a file of a volume.",
        input: "volume_id!:string path!:string encoding:string(auto,utf8,base64)=\"auto\"",
        output: "volume_id:string path:string content:string encoding:string(utf8,base64) \
            size_bytes:integer",
        effects: &["local-read"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        judge: Judge::Skip,
        stage: 1,
        ..ROW
    },
    Definition {
        id: "file.write",
        is_built: true,
        title: "Write a file of a volume",
        description: "Writes a whole file of a volume, within its limit.",
        input: "volume_id!:string path!:string content!:string encoding:string(utf8,base64)=\"utf8\"",
        output: "volume_id:string path:string bytes_written:integer",
        effects: &["local-write"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        judge: Judge::Run,
        stage: 1,
        arguments: ArgumentKinds { contents: &["content"], ..NO_ARGUMENTS },
        ..ROW
    },
];
