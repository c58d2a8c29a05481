//! Explains whether an agent sees a tool.

use brigade_access::{
    Action, ControlTool, Facts, HiddenReason, NameClashes, Opinion, Rights, ToolTraits, visible,
};
use brigade_policy::approval::{ApprovalNeed, ArgumentCheck, ReviewState};
use brigade_policy::{Gate, RiskLevel};

use crate::config::Config;

/// Whether an agent sees a tool, with every reason.
pub struct ToolVisibility {
    /// The minimum approval of its calls, if the agent may call the tool.
    pub need: ApprovalNeed,
    /// The risk.
    pub risk: RiskLevel,
    /// Whether arguments are compared with the schema.
    pub check: ArgumentCheck,
    /// Whether a person reviewed what its calls would run.
    pub reviewed: ReviewState,
    /// Why the tool is not visible.
    pub visible: Result<ApprovalNeed, Vec<HiddenReason>>,
    /// The opinion of each profile. Profiles have no opinion about control tools.
    pub opinions: Vec<Opinion>,
}

impl ToolVisibility {
    pub(crate) fn new(
        rights: &Rights,
        tool: &ToolTraits<'_>,
        check: ArgumentCheck,
        reviewed: ReviewState,
        visible: Result<ApprovalNeed, Vec<HiddenReason>>,
    ) -> ToolVisibility {
        let need = rights.approval(tool, check, &reviewed, None).need();
        ToolVisibility { need, risk: tool.risk, check, reviewed, visible, opinions: rights.opinions(tool) }
    }

    /// Explains whether agents see a control tool. They do if the policy is valid.
    pub fn of_control(config: &Config, rights: &Rights, own: &ControlTool) -> ToolVisibility {
        let facts = Facts {
            policy: config.policy.validity(),
            tool: own.traits(),
            is_enabled: true,
            check: ArgumentCheck::Checked,
            reviewed: &ReviewState::Yes,
            against: &[],
            clashes: &NameClashes::default(),
        };
        let visible = visible(rights, &facts);
        ToolVisibility {
            opinions: Vec::new(),
            ..ToolVisibility::new(rights, &facts.tool, facts.check, ReviewState::Yes, visible)
        }
    }

    /// Returns the combined action of profiles and entry: [`Action::Deny`] if a profile hides or denies the tool.
    pub fn action(&self) -> Action {
        let is_denied = |hidden: &HiddenReason| matches!(hidden, HiddenReason::Profile(_));
        match (&self.visible, self.need.gate()) {
            (Err(reasons), _) if reasons.iter().any(is_denied) => Action::Deny,
            (_, Gate::Ask) => Action::Ask,
            (_, Gate::Allow) => Action::Allow,
        }
    }
}
