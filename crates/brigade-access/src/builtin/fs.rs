//! Files of the workspace.

use super::*;

/// Files of the workspace.
pub(super) const ROWS: &[Definition] = &[
    Definition {
        id: "fs.create_dir",
        is_built: true,
        title: "Create a directory",
        description: "Creates a directory of the workspace, with its parents.",
        input: "path!:string",
        output: "status:string path:string",
        effects: &["local-write"],
        modes: &[Mode::Operator],
        judge: Judge::Run,
        stage: 1,
        arguments: ArgumentKinds { paths: &["path"], ..NO_ARGUMENTS },
        ..ROW
    },
    Definition {
        id: "fs.delete",
        is_built: true,
        title: "Delete a file",
        description: "Deletes a file or link of the workspace, or a directory with `recursive`.",
        input: "path!:string recursive:boolean=false expected_sha256?:string",
        output: "status:string path:string",
        effects: &["local-delete"],
        modes: &[Mode::Operator],
        approval: ToolApproval::Ask,
        judge: Judge::Run,
        stage: 1,
        arguments: ArgumentKinds { paths: &["path"], ..NO_ARGUMENTS },
        ..ROW
    },
    Definition {
        id: "fs.edit",
        is_built: true,
        title: "Edit a file",
        description: "Replaces a text that occurs exactly once in a file of the workspace. Both texts are \
            literal.",
        input: "path!:string target_content!:string replacement_content!:string \
            replace_all:boolean=false expected_sha256?:string",
        output: "status:string path:string message:string replacements:integer",
        effects: &["local-write"],
        modes: &[Mode::Operator],
        judge: Judge::Run,
        stage: 1,
        aliases: &[Alias {
            name: "editFile",
            arguments: &[("old_string", "target_content"), ("new_string", "replacement_content")],
            ..ALIAS
        }],
        arguments: ArgumentKinds { paths: &["path"], contents: &["replacement_content"], ..NO_ARGUMENTS },
        ..ROW
    },
    Definition {
        id: "fs.glob",
        is_built: true,
        title: "Find files",
        description: "Finds files of the workspace by a pattern. `*` stops at `/`, `**` does not. What \
            .gitignore names is left out.",
        input: "pattern!:string path!:string limit:integer(1..10000)=1000",
        output: "status:string matches:[string] count:integer truncated:boolean unread?:[path:string \
            reason:string]",
        effects: &["local-read"],
        modes: &[Mode::Operator],
        judge: Judge::Skip,
        stage: 1,
        aliases: &[Alias { name: "glob", fill: &[("path", "\".\"")], ..ALIAS }],
        arguments: ArgumentKinds { paths: &["path"], ..NO_ARGUMENTS },
        ..ROW
    },
    Definition {
        id: "fs.grep",
        is_built: true,
        title: "Search in files",
        description: "Finds lines of files of the workspace that a regular expression matches. What \
            .gitignore names and binary files are left out.",
        input: "pattern!:string path!:string glob?:string context:integer(0..20)=0 \
            limit:integer(1..5000)=500",
        output: "status:string matches:[path:string line:integer content:string before?:[string] \
            after?:[string]] count:integer truncated:boolean unread?:[path:string reason:string]",
        effects: &["local-read"],
        tiers: &[Tier::Universal, Tier::Coordinator],
        modes: &[Mode::Operator],
        judge: Judge::Skip,
        stage: 1,
        aliases: &[
            Alias { name: "grep", fill: &[("path", "\".\"")], ..ALIAS },
            Alias {
                name: "search_files",
                fill: &[("path", "\".\"")],
                tier: Some(Tier::Coordinator),
                ..ALIAS
            },
        ],
        arguments: ArgumentKinds { paths: &["path"], ..NO_ARGUMENTS },
        ..ROW
    },
    Definition {
        id: "fs.list",
        is_built: true,
        title: "List a directory",
        description: "Lists the entries of a directory of the workspace.",
        input: "path!:string offset:integer(0..)=0 limit:integer(1..10000)=1000",
        output: "status:string path:string entries:[name:string \
            file_type:string(file,directory,symlink,other)] total:integer truncated?:boolean \
            next_offset?:integer unread?:[path:string reason:string]",
        effects: &["local-read"],
        modes: &[Mode::Operator],
        judge: Judge::Skip,
        stage: 1,
        aliases: &[Alias { name: "listDir", ..ALIAS }],
        arguments: ArgumentKinds { paths: &["path"], ..NO_ARGUMENTS },
        ..ROW
    },
    Definition {
        id: "fs.multi_edit",
        is_built: true,
        title: "Edit a file in several places",
        description: "Makes several edits of one file, each on the result of the one before: all of them, or \
            none.",
        input: "path!:string edits!:[target_content!:string replacement_content!:string \
            replace_all:boolean=false] expected_sha256?:string",
        output: "status:string path:string applied:integer",
        effects: &["local-write"],
        modes: &[Mode::Operator],
        judge: Judge::Run,
        stage: 1,
        arguments: ArgumentKinds {
            paths: &["path"],
            contents: &["edits[].replacement_content"],
            ..NO_ARGUMENTS
        },
        ..ROW
    },
    Definition {
        id: "fs.read",
        is_built: true,
        title: "Read a file",
        description: "Reads lines of a text file of the workspace. A binary file is only described.",
        input: "path!:string offset:integer(0..)=0 limit:integer(1..)=2000",
        output: "status:string path:string content?:string size_bytes:integer is_binary:boolean \
            truncated:boolean next_offset?:integer sha256:string",
        effects: &["local-read"],
        modes: &[Mode::Operator],
        judge: Judge::Skip,
        stage: 1,
        aliases: &[Alias { name: "readFile", ..ALIAS }, Alias { name: "read_file", ..ALIAS }],
        arguments: ArgumentKinds { paths: &["path"], ..NO_ARGUMENTS },
        ..ROW
    },
    Definition {
        id: "fs.write",
        is_built: true,
        title: "Write a file",
        description: "Writes a whole file of the workspace, and makes its directories.",
        input: "path!:string content!:string expected_sha256?:string",
        output: "status:string path:string bytes_written:integer",
        effects: &["local-write"],
        modes: &[Mode::Operator],
        judge: Judge::Run,
        stage: 1,
        aliases: &[Alias { name: "writeFile", ..ALIAS }],
        arguments: ArgumentKinds { paths: &["path"], contents: &["content"], ..NO_ARGUMENTS },
        ..ROW
    },
];
