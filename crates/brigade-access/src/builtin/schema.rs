//! Schemas, the system and its runtimes.

use super::*;

/// Schemas, the system and its runtimes.
pub(super) const ROWS: &[Definition] = &[
    Definition {
        id: "schema.get",
        is_built: true,
        title: "Show a schema",
        description: "Returns the JSON Schema of manifests: `agent/manifest/v1` or `workflow/manifest/v1`.",
        input: "key!:string(agent/manifest/v1,workflow/manifest/v1)",
        output: "*",
        effects: &["local-read"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Architect, Mode::Operator],
        judge: Judge::Skip,
        stage: 1,
        ..ROW
    },
    Definition {
        id: "schema.validate",
        is_built: true,
        title: "Validate a manifest",
        description: "Checks a manifest against the schema of its kind, and names every fault with its line.",
        input: "kind!:string(agent,workflow,Agent,Workflow) manifest_yaml!:string",
        output: "valid:boolean errors:?[string] faults:[line:integer column:integer path:string message:string] \
            warnings:[line:integer column:integer path:string message:string]",
        effects: &["local-read"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Architect, Mode::Operator],
        judge: Judge::Skip,
        stage: 1,
        ..ROW
    },
    Definition {
        id: "system.config",
        is_built: true,
        title: "Show the configuration",
        description: "Shows the settings that hold here and where each comes from, without secrets.",
        output: "config_path:string content_yaml:string content:object origins:object",
        effects: &["local-read"],
        access: AccessLevel::Operator,
        tiers: &[Tier::Platform, Tier::Control],
        modes: &[Mode::Operator],
        approval: ToolApproval::Ask,
        judge: Judge::Skip,
        stage: 1,
        aliases: &[Alias { name: "getPipelineSettings", ..ALIAS }],
        ..ROW
    },
    Definition {
        id: "system.info",
        is_built: true,
        title: "Show the system",
        description: "Shows the version of Brigade, and what this machine can do.",
        output: "version:string status:string(healthy,unhealthy) capabilities:[string] \
            details:[name:string available:boolean detail:?string]",
        effects: &["local-read"],
        access: AccessLevel::Operator,
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        judge: Judge::Skip,
        stage: 1,
        ..ROW
    },
    Definition {
        id: "runtime.list",
        is_built: true,
        title: "List language runtimes",
        description: "Lists the language runtimes that are on PATH, with their versions.",
        input: "language?:string",
        output: "tool:string runtimes:[language:string version:?string path:string image:?string description:string \
            deprecated:boolean] custom_runtime_supported:boolean",
        effects: &["local-read"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        judge: Judge::Skip,
        stage: 1,
        ..ROW
    },
];
