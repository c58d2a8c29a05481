//! The session of an agent: what it may do, its list, questions, and how it ends.

use super::*;

/// The session of an agent: what it may do, its list, questions, and how it ends.
pub(super) const ROWS: &[Definition] = &[
    Definition {
        id: "session.docs",
        is_built: true,
        title: "Search the documentation",
        description: "Finds sections of the documentation of Brigade by words.",
        input: "query!:string",
        output: "query:string sections:[title:string content:string url:string] total_matches:integer",
        effects: &["session"],
        modes: &[Mode::Chat, Mode::Agentic, Mode::Execute, Mode::Architect, Mode::Operator],
        approval: ToolApproval::None,
        stage: 1,
        aliases: &[Alias { name: "zaru.docs", ..ALIAS }],
        ..ROW
    },
    Definition {
        id: "session.exit_plan",
        is_built: true,
        title: "Finish planning",
        description: "Shows a plan to a person. If the person accepts it, the session may edit.",
        input: "plan!:string",
        output: "decision:string call_id?:string",
        effects: &["session"],
        approval: ToolApproval::Always,
        needs: &[Fact::Session],
        stage: 1,
        aliases: &[Alias { name: "exitPlanMode", ..ALIAS }],
        ..ROW
    },
    Definition {
        id: "session.init",
        is_built: true,
        title: "Begin a session",
        description: "Shows what this session may do: its profiles, tools and gates. `mode` may only narrow \
            them.",
        input: "mode:string=\"chat\"",
        output: "mode:string permission:string access:string role:string system_prompt:string \
            available_tools:[string] gates:object profiles:[string] core_memory?:object version:string",
        effects: &["session"],
        modes: &[Mode::Chat, Mode::Agentic, Mode::Execute, Mode::Architect, Mode::Operator],
        approval: ToolApproval::None,
        needs: &[Fact::Session],
        stage: 1,
        aliases: &[Alias { name: "zaru.init", ..ALIAS }],
        ..ROW
    },
    Definition {
        id: "session.mode",
        is_built: true,
        title: "Change the mode",
        description: "Changes the mode of this session: at once if it shows less, otherwise a person is \
            asked.",
        input: "target_mode!:string reason!:string",
        output: "action:string(mode_switched,mode_switch_requested) target_mode:string reason:string \
            call_id?:string",
        effects: &["session"],
        modes: &[Mode::Chat, Mode::Agentic, Mode::Execute, Mode::Architect, Mode::Operator],
        approval: ToolApproval::ToWiden,
        needs: &[Fact::Session],
        stage: 1,
        aliases: &[Alias { name: "zaru.mode", ..ALIAS }],
        ..ROW
    },
    Definition {
        id: "todo.read",
        is_built: true,
        title: "Read the to-do list",
        description: "Returns the to-do list of this session.",
        output: "count:integer todos:[id:string content:string \
            status:string(pending,in_progress,completed)]",
        effects: &["session"],
        tiers: &[Tier::Universal, Tier::Coordinator],
        approval: ToolApproval::None,
        stage: 1,
        aliases: &[
            Alias { name: "TodoRead", ..ALIAS },
            Alias { name: "list_tasks", tier: Some(Tier::Coordinator), ..ALIAS },
        ],
        ..ROW
    },
    Definition {
        id: "todo.write",
        is_built: true,
        title: "Write the to-do list",
        description: "Replaces the to-do list of this session.",
        input: "todos!:[id?:string content?:string description?:string activeForm?:string text?:string \
            status!:string(pending,in_progress,completed)]",
        output: "updated:boolean count:integer todos:[id:string content:string \
            status:string(pending,in_progress,completed)]",
        effects: &["session"],
        tiers: &[Tier::Universal, Tier::Coordinator],
        approval: ToolApproval::None,
        stage: 1,
        aliases: &[
            Alias { name: "TodoWrite", ..ALIAS },
            Alias { name: "create_task", tier: Some(Tier::Coordinator), ..ALIAS },
            Alias { name: "update_task", tier: Some(Tier::Coordinator), ..ALIAS },
            Alias { name: "assign_task", tier: Some(Tier::Coordinator), ..ALIAS },
        ],
        ..ROW
    },
    Definition {
        id: "ask.user",
        is_built: true,
        title: "Ask the user",
        description: "Asks a person, and waits up to 10 minutes for the answer. Secrets are never asked for.",
        input: "question?:string questions?:[id?:string header?:string question!:string \
            options?:[label!:string value?:string description?:string recommended?:boolean] \
            multiSelect?:boolean allowsFreeform?:boolean isSecret?:boolean \
            defaultAssumption?:string impact?:string] title?:string body?:string",
        output: "answer:?string answers:object response_text:?string \
            decision:string(accept,decline,cancel) answered_by:string",
        effects: &["session"],
        tiers: &[Tier::Universal, Tier::Coordinator],
        approval: ToolApproval::None,
        stage: 1,
        aliases: &[
            Alias { name: "askUser", ..ALIAS },
            Alias { name: "request_user_input", tier: Some(Tier::Coordinator), ..ALIAS },
        ],
        ..ROW
    },
    Definition {
        id: "report.completion",
        is_built: true,
        is_recorded: true,
        title: "Report the end of the work",
        description: "Reports how the work ended, with what it left.",
        input: "status!:string(completed,partial,blocked) summary!:string artifacts?:[type?:string \
            description?:string reference!:string] blockerDescription?:string \
            kind?:string(completion,status,result,validation)",
        output: "report_id:string status:string(completed,partial,blocked) missing_references:[string]",
        effects: &["session"],
        tiers: &[Tier::Workflow, Tier::Coordinator],
        approval: ToolApproval::None,
        stage: 1,
        aliases: &[
            Alias { name: "reportCompletion", ..ALIAS },
            Alias { name: "report_status", tier: Some(Tier::Coordinator), ..ALIAS },
            Alias { name: "report_result", tier: Some(Tier::Coordinator), ..ALIAS },
            Alias { name: "report_validation", tier: Some(Tier::Coordinator), ..ALIAS },
            Alias { name: "complete_mission", tier: Some(Tier::Coordinator), ..ALIAS },
            Alias { name: "fail_mission", tier: Some(Tier::Coordinator), ..ALIAS },
        ],
        ..ROW
    },
    Definition {
        id: "tools.list",
        is_control: true,
        is_built: true,
        title: "List tools",
        description: "Lists the tools of this agent, in pages.",
        effects: &["session"],
        modes: &[Mode::Agentic, Mode::Operator],
        approval: ToolApproval::None,
        judge: Judge::Skip,
        stage: 1,
        ..ROW
    },
    Definition {
        id: "tools.search",
        is_control: true,
        is_built: true,
        title: "Search tools",
        description: "Finds tools of this agent by words.",
        effects: &["session"],
        modes: &[Mode::Agentic, Mode::Operator],
        approval: ToolApproval::None,
        judge: Judge::Skip,
        stage: 1,
        ..ROW
    },
];
