//! Builds without the tools for agents, tasks and workflows. No task runs, no judge is asked, and no program is
//! notified that a call waits.

use std::sync::Arc;
use std::time::Duration;

use brigade_call::{Call, Judgement};
use brigade_catalog::Tool;
use brigade_ops::state::AdoptStep;
use brigade_policy::{Failure, RiskLevel};
use brigade_workspace::{Config, WorkspaceContext, gather};

use crate::report::AdoptRow;
use crate::workspace_inner::WorkspaceInner;

#[cfg(feature = "builtin")]
pub(crate) use tools::{names, run_tool};

/// Stands in for the running tasks of other builds.
#[derive(Default)]
pub(crate) struct RunningTasks;

impl RunningTasks {
    pub(crate) fn end(&self, _: Duration) {}
}

pub(crate) fn take_over(_: &Arc<WorkspaceInner>) -> Result<(), Failure> {
    Ok(())
}

pub(crate) fn adopt(_: &Arc<WorkspaceInner>, _: AdoptStep) -> Result<Vec<AdoptRow>, Failure> {
    Ok(Vec::new())
}

pub(crate) fn notify(context: &Arc<WorkspaceContext>, _: &Call) -> Result<(), String> {
    let config = gather::config(context).map_err(|error| error.to_string())?;
    match config.gateway(&context.host()).and_then(|gateway| gateway.notify.as_ref()) {
        Some(_) => Err("this build lacks the feature `workflow`, which starts it".to_owned()),
        None => Ok(()),
    }
}

pub(crate) fn judge_call(
    _: &Arc<WorkspaceContext>,
    _: &Config,
    _: &Call,
    _: &Tool,
    _: RiskLevel,
) -> Option<Judgement> {
    None
}

#[cfg(feature = "builtin")]
mod tools {
    use std::sync::Arc;

    use brigade_access::builtin::Definition;
    use brigade_call::CallSession;
    use brigade_core::Json;
    use brigade_db::Stores;
    use brigade_toolset::{Context, Failure, NameResolver, Output};
    use brigade_workspace::{Config, Names};

    use crate::workspace_inner::WorkspaceInner;

    pub(crate) fn names(stores: Arc<Stores>) -> Arc<dyn Names> {
        Arc::new(NameResolver::new(stores, brigade_toolset::reference, brigade_toolset::is_built))
    }

    pub(crate) fn run_tool(
        definition: &Definition,
        args: &Json,
        context: &mut Context<'_>,
        _: &Arc<WorkspaceInner>,
        _: &Config,
        _: Option<&CallSession>,
    ) -> Result<Output, Failure> {
        brigade_toolset::run(definition, args, context)
    }
}
