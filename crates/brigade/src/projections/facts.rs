//! Reading what projections depend on: each source once, each target once, on all processors.

use std::collections::HashMap;
use std::sync::OnceLock;

use brigade_catalog::Tool;
use brigade_core::parallel::in_parallel;
use brigade_projection::{
    Claims, ProjectionAction, ProjectionItem, ProjectionStatus, SourceFacts, ToolFacts,
};

use super::places::Places;
use crate::files::ToolReader;
use crate::gather::Config;
use crate::workspace::Workspace;

/// The sources of some tools; each is read when it is first asked for.
pub(super) struct Sources<'c> {
    workspace: &'c Workspace,
    outside: Vec<String>,
    known: HashMap<&'c str, OnceLock<SourceFacts>>,
}

impl<'c> Sources<'c> {
    pub(super) fn of(workspace: &'c Workspace, config: &Config, tools: &[&'c Tool]) -> Sources<'c> {
        let policy = config.policy.policy();
        let outside = policy.map(|policy| policy.outside_paths.values().cloned().collect());
        let paths = tools.iter().filter_map(|tool| tool.source_path.as_deref());
        Sources {
            workspace,
            outside: outside.unwrap_or_default(),
            known: paths.map(|path| (path, OnceLock::new())).collect(),
        }
    }

    fn of_tool(&self, tool: &Tool) -> &SourceFacts {
        const NONE: &SourceFacts = &SourceFacts::NotConfigured;
        let Some(source) = tool.source_path.as_deref().and_then(|path| self.known.get(path)) else {
            return NONE;
        };
        source.get_or_init(|| {
            let reader = ToolReader { workspace: self.workspace, tool, outside: &self.outside };
            reader.source().into_source()
        })
    }
}

impl Workspace {
    /// Reads the source and the targets of a tool.
    pub(super) fn projection_facts<'c>(
        &self,
        tool: &'c Tool,
        sources: &Sources<'_>,
        places: &Places<'_>,
    ) -> ToolFacts<'c> {
        ToolFacts::gather(&self.target(), tool, sources.of_tool(tool), |path| places.look(path))
    }

    /// Reads the sources and the targets of tools.
    pub(super) fn all_projection_facts<'c>(
        &self,
        config: &Config,
        tools: &[&'c Tool],
        places: &Places<'_>,
    ) -> Vec<ToolFacts<'c>> {
        let sources = Sources::of(self, config, tools);
        in_parallel(tools.len(), |index| self.projection_facts(tools[index], &sources, places))
    }
}

/// Refuses a projection whose path leads through links to a file that another tool projects to.
pub(super) fn refuse_shared(item: &mut ProjectionItem, places: &Places<'_>, claims: &Claims) {
    let Some(real) = item.projection_path.as_deref().and_then(|path| places.moved(path)) else { return };
    let Some(holder) = claims.holder(real.as_str()).filter(|holder| *holder != item.tool_id.as_str()) else {
        return;
    };
    item.status = ProjectionStatus::Invalid;
    item.action = ProjectionAction::Skip;
    item.reason = Some("path-taken");
    item.detail = format!("through a link this is `{real}`, which belongs to the tool {holder}").into();
}
