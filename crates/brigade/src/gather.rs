//! Gathering for an operation: the configuration, and the facts of tools.

use std::path::PathBuf;

use brigade_call::{ArgsProblem, Plan, PlanFacts};
use brigade_catalog::Tool;
use brigade_core::Json;
use brigade_exec::OpenedProgram;
use brigade_facts::{FactReader, Host, PlanInput, bound_values};
use brigade_policy::PolicyState;
use brigade_projection::ProjectionItem;
use brigade_redact::SecretValue;

use crate::error::Error;
use crate::room::Room;

pub(crate) use brigade_facts::Config;

/// A plan, and what was opened for it.
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    pub(crate) projections: Vec<ProjectionItem>,
    /// The program, when the family is executed and it was found.
    pub(crate) program: Option<OpenedProgram>,
    /// The folder that the program starts in.
    pub(crate) directory: PathBuf,
}

impl Room {
    /// Returns what reading facts needs.
    pub(crate) fn host(&self) -> Host<'_> {
        Host {
            fs: &*self.fs,
            environment: &self.env.environment,
            digests: &self.digests,
            clock: &*self.env.clock,
        }
    }

    /// Reads catalog and policy.
    pub(crate) fn config(&self) -> Result<Config, Error> {
        Ok(Config::new(&self.host(), self.catalog()?, self.policy()))
    }

    /// Plans a call of a tool with arguments.
    pub(crate) fn plan_tool(
        &self,
        config: &Config,
        tool: &Tool,
        args: Result<Json, ArgsProblem>,
    ) -> Result<Planned, Error> {
        let input = FactReader::new(self.host(), config).plan(tool, self.env.caller.clone())?;
        let PlanInput { facts, projections, program, directory } = input;
        let plan = brigade_call::plan(PlanFacts { args, ..facts }).spelled(&*self.env.speller);
        tracing::debug!(
            tool = plan.tool_id(),
            directory = %directory.display(),
            program = plan.binding().program.as_ref().map(|program| program.path.as_str()),
            files = plan.binding().files.len(),
            blockers = plan.blockers().len(),
            "planned a call"
        );
        Ok(Planned { plan, projections, program, directory })
    }

    /// Returns the values that the policy binds labels of any tool to, which no argument and no text of a person may
    /// carry.
    pub(crate) fn bound_values(&self, policy: &PolicyState) -> Vec<SecretValue> {
        bound_values(&self.env.environment, policy)
    }

    /// Returns the values that are neither stored nor shown, as the policy binds them now.
    pub(crate) fn secrets(&self) -> Vec<SecretValue> {
        self.bound_values(&self.policy())
    }
}
