//! The built-in tools for agents, tasks and workflows.

pub(crate) mod agent;
mod runtime;
mod schema;
pub(crate) mod shipped;
pub(crate) mod task;
mod wait;
pub(crate) mod workflow;

use brigade_access::builtin::Definition;
use brigade_core::Json;
use brigade_toolset::{Context, Failure, Output};
use serde::{Deserialize, Serialize};

use crate::runner::TaskRunner;

/// The function of a tool.
type Function = fn(&Json, &mut Context<'_>, &TaskRunner<'_>) -> Result<Output, Failure>;

/// The functions, by family.
const FAMILIES: &[&[(&str, Function)]] =
    &[agent::TOOLS, runtime::TOOLS, schema::TOOLS, shipped::TOOLS, task::TOOLS, wait::TOOLS, workflow::TOOLS];

fn function(id: &str) -> Option<Function> {
    let all = FAMILIES.iter().copied().flatten();
    all.copied().find(|(known, _)| *known == id).map(|(_, function)| function)
}

/// Returns whether something answers the calls of a built-in tool.
pub fn is_built(definition: &Definition) -> bool {
    function(definition.id).is_some() || brigade_toolset::is_built(definition)
}

/// Runs a built-in tool. The arguments must match the input schema; missing ones get their defaults.
///
/// # Errors
/// Returns why the tool failed. Does not panic.
pub fn run(
    definition: &Definition,
    input: &Json,
    context: &mut Context<'_>,
    runner: &TaskRunner<'_>,
) -> Result<Output, Failure> {
    match function(definition.id) {
        Some(function) => brigade_toolset::run_function(definition, input, context, |input, context| {
            function(input, context, runner)
        }),
        None => brigade_toolset::run(definition, input, context),
    }
}

/// The result of a tool that started a task or a workflow. The driver of a workflow waits for its end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StartResult {
    /// Its id.
    pub(crate) execution_id: String,
    status: String,
}

impl StartResult {
    fn new(execution_id: String) -> StartResult {
        StartResult { execution_id, status: "started".to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use brigade_access::builtin::{definition, definitions};

    use super::*;

    #[test]
    fn every_tool_is_answered() {
        for definition in definitions() {
            assert!(is_built(definition), "{}", definition.id);
        }
        for (id, _) in FAMILIES.iter().copied().flatten() {
            assert!(definition(id).is_some_and(|row| !brigade_toolset::is_built(row)), "{id}");
        }
    }
}
