//! What profiles know about a tool.

use brigade_catalog::{ApprovalMode, Family, Level, Tool};
use brigade_core::words;
use brigade_policy::{RiskLevel, risk_of};

use crate::builtin::{Judge, definition};

words! {
    /// Whose tool it is. Each level includes those before it.
    AccessLevel {
        /// Every user's.
        User = "user",
        /// For changes of the system.
        System = "system",
        /// For operators.
        Operator = "operator",
    }
}

words! {
    /// The tier of roles that a tool belongs to.
    Tier {
        /// Every role.
        Universal = "universal",
        /// Roles that work on their own branch.
        Workflow = "workflow",
        /// Roles that direct others.
        Control = "control",
        /// Roles that coordinate a mission.
        Coordinator = "coordinator",
        /// Tools of the platform.
        Platform = "platform",
    }
}

words! {
    /// A way of working that shows a selection of tools.
    Mode {
        /// Conversation.
        Chat = "chat",
        /// Working with agents.
        Agentic = "agentic",
        /// Executing an intent.
        Execute = "execute",
        /// Designing workflows.
        Architect = "architect",
        /// Everything.
        Operator = "operator",
    }
}

/// Where a tool comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// An entry of the catalog.
    Catalog {
        /// Its family. Absent if the entry is broken.
        family: Option<Family>,
        /// Its layer.
        level: Level,
        /// The id of its MCP server.
        server: Option<&'a str>,
    },
    /// Built into Brigade.
    Builtin,
    /// Built into Brigade for resources and prompts of an MCP server.
    Offer {
        /// The id of the server.
        server: Option<&'a str>,
    },
    /// A control tool of the gateway, which lists tools and follows calls.
    Control,
}

/// The arguments of a tool that a context limits. Empty for a tool that does not declare them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArgumentKinds<'a> {
    /// Arguments that are paths, or lists of paths.
    pub paths: &'a [&'a str],
    /// Arguments that are URLs.
    pub urls: &'a [&'a str],
    /// Arguments whose bytes are written.
    pub contents: &'a [&'a str],
}

/// What profiles know about a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolTraits<'a> {
    /// The id.
    pub id: &'a str,
    /// Where it comes from.
    pub source: Source<'a>,
    /// Its effects.
    pub effects: &'a [String],
    /// Its risk.
    pub risk: RiskLevel,
    /// Whose tool it is.
    pub access: AccessLevel,
    /// The tiers that it belongs to.
    pub tiers: &'a [Tier],
    /// The modes that select it. `mode.any` and `mode.operator` select all tools.
    pub modes: &'a [Mode],
    /// Whether a judge, if configured, is asked about its calls first.
    pub is_judged: bool,
    /// The approval mode of its entry.
    pub approval_mode: Option<ApprovalMode>,
    /// Which of its arguments a context limits.
    pub arguments: ArgumentKinds<'a>,
}

impl<'a> ToolTraits<'a> {
    /// Returns the traits of an entry. Built-in entries have the traits of their row. Catalog entries have the access
    /// level of users and every role, and no mode selects them.
    pub fn from_tool(tool: &'a Tool) -> ToolTraits<'a> {
        let row = if tool.is_built_in() { definition(tool.id.as_str()) } else { None };
        if let Some(row) = row {
            return ToolTraits {
                id: row.id,
                source: Source::Builtin,
                effects: &tool.effects,
                risk: risk_of(None, &tool.effects),
                access: row.access,
                tiers: row.tiers,
                modes: row.modes,
                is_judged: row.judge == Judge::Run,
                approval_mode: tool.approval_mode,
                arguments: row.arguments(),
            };
        }
        ToolTraits {
            id: tool.id.as_str(),
            source: match tool.reads {
                Some(_) => Source::Offer { server: tool.mcp_server() },
                None => Source::Catalog {
                    family: tool.family,
                    level: tool.origin.level,
                    server: tool.mcp_server_id.as_deref(),
                },
            },
            effects: &tool.effects,
            risk: risk_of(tool.risk_class, &tool.effects),
            access: AccessLevel::User,
            tiers: &[Tier::Universal],
            modes: &[],
            is_judged: false,
            approval_mode: tool.approval_mode,
            arguments: ArgumentKinds::default(),
        }
    }

    /// Returns the group: the part of the id before its first dot. An id without a dot has none.
    pub fn group(&self) -> Option<&'a str> {
        self.id.split_once('.').map(|(group, _)| group)
    }

    /// Returns the names of its source: `builtin`, `gateway`, or `catalog` with its family, layer and server.
    pub fn sources(&self) -> impl Iterator<Item = &'a str> {
        let (first, family, level, server) = match self.source {
            Source::Builtin => ("builtin", None, None, None),
            Source::Offer { server } => ("builtin", Some(Family::Mcp), None, server),
            Source::Control => ("gateway", None, None, None),
            Source::Catalog { family, level, server } => ("catalog", family, Some(level), server),
        };
        let others = [family.map(Family::as_str), level.map(Level::as_str), server];
        std::iter::once(first).chain(others.into_iter().flatten())
    }
}
