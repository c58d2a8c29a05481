//! Tasks of agents, what they leave, and intents.

use super::*;

/// Tasks of agents, what they leave, and intents.
pub(super) const ROWS: &[Definition] = &[
    Definition {
        id: "task.cancel",
        is_built: true,
        title: "Cancel a task",
        description: "Ends a task that runs.",
        input: "execution_id!:string",
        output: "execution_id:string cancelled:boolean",
        effects: &["process-control"],
        tiers: &[Tier::Platform, Tier::Control, Tier::Coordinator],
        modes: &[Mode::Agentic, Mode::Operator],
        judge: Judge::Run,
        stage: 4,
        aliases: &[
            Alias { name: "interruptChat", arguments: &[("sessionId", "execution_id")], ..ALIAS },
            Alias { name: "stop_worker", tier: Some(Tier::Coordinator), ..ALIAS },
        ],
        ..ROW
    },
    Definition {
        id: "task.execute",
        is_built: true,
        title: "Start a task",
        description: "Gives a task to an agent, and returns the id of the execution.",
        input: "agent_id!:string intent?:string input?:object version?:string",
        output: "execution_id:string status:string",
        effects: &["process-exec"],
        tiers: &[Tier::Platform, Tier::Control, Tier::Coordinator],
        modes: &[Mode::Agentic, Mode::Architect, Mode::Operator],
        approval: ToolApproval::Ask,
        judge: Judge::Run,
        stage: 4,
        needs: &[Fact::Worker],
        aliases: &[
            Alias {
                name: "spawnChat",
                arguments: &[
                    ("lane", "input.lane"),
                    ("laneId", "input.lane"),
                    ("model", "input.model"),
                    ("modelId", "input.model"),
                    ("effort", "input.effort"),
                    ("reasoningEffort", "input.effort"),
                    ("prompt", "input.prompt"),
                    ("initialPrompt", "input.prompt"),
                    ("title", "input.title"),
                ],
                fill: &[("agent_id", "\"brigade-chat\"")],
                ..ALIAS
            },
            Alias {
                name: "triggerAgentWakeup",
                arguments: &[("agentId", "agent_id"), ("prompt", "input.prompt"), ("reason", "intent")],
                ..ALIAS
            },
            Alias { name: "spawn_worker", tier: Some(Tier::Coordinator), ..ALIAS },
            Alias { name: "request_specialist", tier: Some(Tier::Coordinator), ..ALIAS },
            Alias { name: "delegate_to_subagent", tier: Some(Tier::Coordinator), ..ALIAS },
            Alias { name: "delegate_parallel", tier: Some(Tier::Coordinator), ..ALIAS },
            Alias { name: "spawn_agent", tier: Some(Tier::Coordinator), ..ALIAS },
        ],
        ..ROW
    },
    Definition {
        id: "task.handoff",
        is_built: true,
        title: "Hand a task over",
        description: "Ends a task, and starts another agent with what it found out.",
        input: "execution_id!:string agent_id!:string note?:string",
        output: "execution_id:string",
        effects: &["process-exec"],
        tiers: &[Tier::Control],
        approval: ToolApproval::Ask,
        stage: 4,
        needs: &[Fact::Worker],
        aliases: &[Alias {
            name: "handoffChat",
            arguments: &[
                ("sessionId", "execution_id"),
                ("targetIdentityKey", "agent_id"),
                ("reason", "note"),
            ],
            fill: &[("agent_id", "\"brigade-chat\"")],
            ..ALIAS
        }],
        ..ROW
    },
    Definition {
        id: "task.list",
        is_built: true,
        title: "List tasks",
        description: "Lists tasks of agents.",
        input: "agent_id?:string limit:integer=20",
        output: "executions:[id:string agent_id:string status:string started_at:?string]",
        effects: &["local-read"],
        tiers: &[Tier::Platform, Tier::Coordinator],
        modes: &[Mode::Agentic, Mode::Operator],
        judge: Judge::Skip,
        stage: 4,
        aliases: &[Alias { name: "list_workers", tier: Some(Tier::Coordinator), ..ALIAS }],
        ..ROW
    },
    Definition {
        id: "task.logs",
        is_built: true,
        title: "Show events of a task",
        description: "Lists what happened in a task.",
        input: "execution_id!:string limit:integer=50 offset:integer=0",
        output: "tool:string execution_id:string status:string events:[sequence:integer event_type:string \
            payload:any recorded_at:string] total:integer limit:integer offset:integer",
        effects: &["local-read"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Agentic, Mode::Operator],
        judge: Judge::Skip,
        stage: 4,
        ..ROW
    },
    Definition {
        id: "task.message",
        is_built: true,
        title: "Send a message to a task",
        description: "Keeps a message that the worker of a task reads at its next turn.",
        input: "execution_id!:string text!:string",
        output: "execution_id:string message_id:string",
        effects: &["state-write"],
        tiers: &[Tier::Coordinator],
        stage: 4,
        aliases: &[
            Alias { name: "send_message", tier: Some(Tier::Coordinator), ..ALIAS },
            Alias { name: "message_worker", tier: Some(Tier::Coordinator), ..ALIAS },
            Alias { name: "broadcast", tier: Some(Tier::Coordinator), ..ALIAS },
        ],
        ..ROW
    },
    Definition {
        id: "task.remove",
        is_built: true,
        title: "Remove a task",
        description: "Removes a task that has ended. Its receipts stay.",
        input: "execution_id!:string",
        output: "execution_id:string removed:boolean",
        effects: &["local-delete"],
        access: AccessLevel::Operator,
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        approval: ToolApproval::Always,
        judge: Judge::Run,
        stage: 4,
        ..ROW
    },
    Definition {
        id: "task.status",
        is_built: true,
        title: "Show a task",
        description: "Shows the state of a task.",
        input: "execution_id!:string",
        output: "execution_id:string agent_id:string \
            status:string(pending,running,completed,failed,cancelled) iteration_count:integer \
            last_output:any last_error:?string started_at:?string ended_at:?string",
        effects: &["local-read"],
        tiers: &[Tier::Platform, Tier::Coordinator],
        modes: &[Mode::Operator],
        judge: Judge::Skip,
        stage: 4,
        aliases: &[
            Alias { name: "get_worker_output", tier: Some(Tier::Coordinator), ..ALIAS },
            Alias { name: "read_step_output", tier: Some(Tier::Coordinator), ..ALIAS },
        ],
        ..ROW
    },
    Definition {
        id: "task.wait",
        is_built: true,
        title: "Wait for a task",
        description: "Waits until a task has ended.",
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
    Definition {
        id: "execution.file",
        is_built: true,
        title: "Read a file of an execution",
        description: "Reads a file that an execution left.",
        input: "execution_id!:string path!:string",
        output: "execution_id:string path:string content?:string resource?:object content_type:string \
            is_binary:boolean size_bytes:integer",
        effects: &["local-read"],
        tiers: &[Tier::Platform, Tier::Coordinator],
        modes: &[Mode::Agentic, Mode::Execute, Mode::Architect, Mode::Operator],
        judge: Judge::Skip,
        stage: 4,
        ..ROW
    },
    Definition {
        id: "execute.intent",
        is_built: true,
        title: "Carry out an intent",
        description: "Lets a worker write a program for an intent, checks it, and runs it without a network.",
        input: "intent!:string inputs?:object volume_id?:string language:string(python,javascript,bash)=\"python\" \
            timeout_seconds?:integer tenant_id?:string",
        output: "pipeline_execution_id:string status:string",
        effects: &["process-exec"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Execute, Mode::Operator],
        approval: ToolApproval::Ask,
        judge: Judge::Run,
        stage: 6,
        needs: &[Fact::Worker],
        ..ROW
    },
    Definition {
        id: "execute.status",
        is_built: true,
        title: "Show an intent",
        description: "Shows the state of the execution of an intent.",
        input: "pipeline_execution_id!:string tenant_id?:string",
        output: "status:string final_result?:any duration_ms?:integer reused_existing_agent?:boolean volume_id?:string \
            reason?:string failed_at_state?:string",
        effects: &["local-read"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Execute, Mode::Operator],
        judge: Judge::Skip,
        stage: 6,
        ..ROW
    },
    Definition {
        id: "execute.wait",
        is_built: true,
        title: "Wait for an intent",
        description: "Waits until the execution of an intent has ended.",
        input: "execution_id!:string poll_interval_seconds:integer=5 timeout_seconds:integer=300",
        output: "execution_id:string workflow_id:?string status:string timed_out:boolean \
            current_state:?string blackboard:object blackboard_truncated?:boolean started_at:?string \
            last_transition_at:?string",
        effects: &["session"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Execute, Mode::Operator],
        approval: ToolApproval::None,
        judge: Judge::Skip,
        stage: 6,
        ..ROW
    },
];
