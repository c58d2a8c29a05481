//! Whether an agent sees a tool, explained.

use brigade_access::{
    Action, ControlTool, Facts, HiddenReason, NameClashes, Opinion, Rights, ToolTraits, gate, visible,
};
use brigade_catalog::ApprovalMode;
use brigade_policy::{Gate, RiskLevel};

use crate::config::Config;

/// Whether an agent sees a tool, with every reason.
pub struct ToolVisibility {
    /// Whether a person approves each call, if the agent may call the tool at all.
    pub gate: Gate,
    /// The risk.
    pub risk: RiskLevel,
    /// Why the tool is not visible.
    pub visible: Result<Gate, Vec<HiddenReason>>,
    /// What each profile says. None says anything about tools of the gateway.
    pub opinions: Vec<Opinion>,
}

impl ToolVisibility {
    pub(crate) fn new(
        rights: &Rights,
        tool: &ToolTraits<'_>,
        approval_mode: Option<ApprovalMode>,
        visible: Result<Gate, Vec<HiddenReason>>,
    ) -> ToolVisibility {
        let opinions = rights.judge(tool).opinions;
        ToolVisibility { gate: gate(rights, tool, approval_mode), risk: tool.risk, visible, opinions }
    }

    /// Makes a person approve each call.
    pub(crate) fn asking(self) -> ToolVisibility {
        ToolVisibility { gate: Gate::Ask, visible: self.visible.map(|_| Gate::Ask), ..self }
    }

    /// Looks whether agents see a tool of the gateway: whenever there is a valid policy.
    pub fn of_control(config: &Config, rights: &Rights, own: &ControlTool) -> ToolVisibility {
        let facts = Facts {
            policy: config.policy.standing(),
            tool: own.traits(),
            is_enabled: true,
            approval_mode: None,
            against: &[],
            clashes: &NameClashes::default(),
        };
        let visible = visible(rights, &facts);
        ToolVisibility { opinions: Vec::new(), ..ToolVisibility::new(rights, &facts.tool, None, visible) }
    }

    /// Returns what the profiles and the entry say about calls in the end: [`Action::Deny`] if a profile hides or
    /// denies the tool.
    pub fn action(&self) -> Action {
        let is_denied = |hidden: &HiddenReason| matches!(hidden, HiddenReason::Profile(_));
        match (&self.visible, self.gate) {
            (Err(reasons), _) if reasons.iter().any(is_denied) => Action::Deny,
            (_, Gate::Ask) => Action::Ask,
            (_, Gate::Allow) => Action::Allow,
        }
    }
}
