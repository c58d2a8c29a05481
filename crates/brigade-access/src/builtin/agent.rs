//! Agents.

use super::*;

/// Agents.
pub(super) const ROWS: &[Definition] = &[
    Definition {
        id: "agent.create",
        is_built: true,
        title: "Create an agent",
        description: "Adds an agent from its manifest.",
        input: "manifest_yaml!:string force:boolean=false",
        output: "agent_id:string deployed:boolean name:string version:string \
            runtime?:string(available,unavailable,not_needed) warnings:[line:integer column:integer path:string message:string]",
        effects: &["state-write"],
        access: AccessLevel::System,
        tiers: &[Tier::Platform, Tier::Control],
        modes: &[Mode::Operator],
        approval: ToolApproval::Ask,
        judge: Judge::Skip,
        stage: 4,
        aliases: &[Alias { name: "createAgent", ..ALIAS }],
        ..ROW
    },
    Definition {
        id: "agent.delete",
        is_built: true,
        title: "Delete an agent",
        description: "Deletes an agent. Its records stay.",
        input: "agent_id!:string",
        output: "agent_id:string deleted:boolean",
        effects: &["local-delete"],
        access: AccessLevel::Operator,
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        approval: ToolApproval::Always,
        judge: Judge::Skip,
        stage: 4,
        ..ROW
    },
    Definition {
        id: "agent.export",
        is_built: true,
        title: "Export an agent",
        description: "Returns the manifest of an agent as it was given.",
        input: "name!:string",
        output: "manifest_yaml:string id:string name:string version:string",
        effects: &["local-read"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        judge: Judge::Skip,
        stage: 4,
        ..ROW
    },
    Definition {
        id: "agent.generate",
        is_built: true,
        title: "Generate an agent",
        description: "Lets a worker write the manifest of a new agent. Without system access, a person approves it.",
        input: "input!:string",
        output: "execution_id:string status:string",
        effects: &["process-exec"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Agentic, Mode::Architect, Mode::Operator],
        approval: ToolApproval::Ask,
        judge: Judge::Run,
        stage: 6,
        needs: &[Fact::Worker],
        ..ROW
    },
    Definition {
        id: "agent.list",
        is_built: true,
        title: "List agents",
        description: "Lists the agents of this workspace.",
        output: "agents:[id:string name:string version:string status:string description:?string \
            labels:object]",
        effects: &["local-read"],
        tiers: &[Tier::Platform, Tier::Control],
        modes: &[Mode::Agentic, Mode::Architect, Mode::Operator],
        judge: Judge::Skip,
        stage: 4,
        aliases: &[Alias { name: "listWorkers", ..ALIAS }],
        ..ROW
    },
    Definition {
        id: "agent.logs",
        is_built: true,
        title: "Show events of an agent",
        description: "Lists what happened to an agent and its runs.",
        input: "agent_id!:string limit:integer=50 offset:integer=0",
        output: "tool:string agent_id:string events:[event_type:string payload:any recorded_at:string] \
            total:integer limit:integer offset:integer",
        effects: &["local-read"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Agentic, Mode::Architect, Mode::Operator],
        judge: Judge::Skip,
        stage: 4,
        ..ROW
    },
    Definition {
        id: "agent.search",
        is_built: true,
        title: "Search agents",
        description: "Finds agents by words.",
        input: "query!:string tenant_id?:string limit:integer=10 min_score:number=0.3 labels?:object \
            status?:string(active,paused,failed) include_platform_templates:boolean=true",
        output: "tool:string query:string results:[id:string name:string version:string description:?string \
            labels:object score:number] total:integer",
        effects: &["local-read"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        judge: Judge::Skip,
        stage: 4,
        ..ROW
    },
    Definition {
        id: "agent.update",
        is_built: true,
        title: "Update an agent",
        description: "Replaces the manifest of an agent. Its earlier versions stay.",
        input: "manifest_yaml!:string force:boolean=false",
        output: "agent_id:string deployed:boolean name:string version:string \
            runtime?:string(available,unavailable,not_needed) warnings:[line:integer column:integer path:string message:string]",
        effects: &["state-write"],
        access: AccessLevel::System,
        tiers: &[Tier::Platform, Tier::Control],
        modes: &[Mode::Operator],
        approval: ToolApproval::Ask,
        judge: Judge::Skip,
        stage: 4,
        aliases: &[Alias { name: "updateAgent", ..ALIAS }],
        ..ROW
    },
    Definition {
        id: "agent.wait",
        is_built: true,
        title: "Wait for a run of an agent",
        description: "Waits until a run of an agent has ended.",
        input: "execution_id!:string poll_interval_seconds:integer=10 timeout_seconds:integer=300",
        output: "execution_id:string status:string timed_out:boolean iteration_count:integer \
            last_output:any last_error:?string started_at:?string ended_at:?string",
        effects: &["session"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Agentic, Mode::Architect, Mode::Operator],
        approval: ToolApproval::None,
        judge: Judge::Skip,
        stage: 4,
        ..ROW
    },
];
