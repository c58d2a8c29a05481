//! What calls of the past would be today: planned again, with each tool's facts read once.

use std::collections::HashMap;

use brigade_call::{
    Call, Caller, DirectoryFact, Plan, PlanFacts, ProgramFact, Purpose, RuntimeFact, plan, verify,
};
use brigade_core::{Json, Timestamp};
use brigade_policy::{CallFacts, decide};

use crate::error::Error;
use crate::files::ToolReader;
use crate::gather::{Config, errors_of, projection_facts};
use crate::named::{NamedFiles, named_files};
use crate::policy_json::decision_json;
use crate::room::Room;
use crate::survey::Surveyed;

/// Plans calls again. The facts of a tool are read when the first of its calls is planned.
pub(crate) struct Replanner<'a, 'c> {
    workspace: &'a Room,
    config: &'c Config,
    surveyed: HashMap<&'a str, &'a Surveyed<'c>>,
    facts: HashMap<String, PlanFacts<'c>>,
    now: Timestamp,
}

impl<'a, 'c> Replanner<'a, 'c> {
    /// Uses what was found of tools; the others are looked at when they are needed.
    pub(crate) fn new(
        workspace: &'a Room,
        config: &'c Config,
        surveyed: &'a [Surveyed<'c>],
    ) -> Replanner<'a, 'c> {
        Replanner {
            workspace,
            config,
            surveyed: surveyed.iter().map(|surveyed| (surveyed.tool.id.as_str(), surveyed)).collect(),
            facts: HashMap::new(),
            now: workspace.now(),
        }
    }

    /// Says what keeps an approved call from running as it was approved; empty when nothing does.
    pub(crate) fn changes(&mut self, call: &Call) -> Result<Vec<String>, Error> {
        let plan = match self.plan(&call.tool_id, &call.args, call.caller.clone())? {
            Ok(plan) => plan,
            Err(why) => return Ok(vec![why]),
        };
        let Err(refusal) = verify(call.clone(), plan, RuntimeFact::NotNeeded, Purpose::Run, self.now) else {
            return Ok(Vec::new());
        };
        let changed = refusal.changes.iter().map(|change| format!("the {change} changed"));
        let is_other = |code: &str| code != "status" && !code.starts_with("changed_");
        let others = refusal.blockers.iter().filter(|blocker| is_other(blocker.code.as_ref()));
        Ok(changed.chain(others.map(ToString::to_string)).collect())
    }

    /// Says why a run of these arguments could not be asked for again; empty when it could.
    pub(crate) fn replay_blockers(&mut self, tool_id: &str, args: &Json) -> Result<Vec<String>, Error> {
        let plan = match self.plan(tool_id, args, self.workspace.env.caller.clone())? {
            Ok(plan) => plan,
            Err(why) => return Ok(vec![why]),
        };
        Ok(plan.blockers().iter().map(ToString::to_string).collect())
    }

    /// Plans, or says why there is nothing to plan with.
    fn plan(&mut self, tool_id: &str, args: &Json, caller: Caller) -> Result<Result<Plan, String>, Error> {
        if !self.facts.contains_key(tool_id) {
            let facts = match self.surveyed.get(tool_id) {
                Some(surveyed) => self.facts_of(surveyed)?,
                None => match self.workspace.tool(&self.config.catalog, tool_id) {
                    Ok(tool) => match self.workspace.survey(self.config, &[tool]).pop() {
                        Some(surveyed) => self.facts_of(&surveyed)?,
                        None => return Ok(Err("the tool cannot be looked at".to_owned())),
                    },
                    Err(error) => return Ok(Err(error.to_string())),
                },
            };
            self.facts.insert(tool_id.to_owned(), facts);
        }
        let facts = self.facts.get(tool_id).expect("the facts were put there above").clone();
        Ok(Ok(plan(PlanFacts { args: Ok(args.clone()), caller, ..facts })))
    }

    /// Makes the facts of plans of what was found of a tool, with arguments still to come.
    fn facts_of(&self, surveyed: &Surveyed<'c>) -> Result<PlanFacts<'c>, Error> {
        let (workspace, config, tool) = (self.workspace, self.config, surveyed.tool);
        let is_set = |name: &str| workspace.env.environment.is_set(name);
        let mut decision = decide(&config.policy, &CallFacts::of(tool), &is_set);
        let policy = decision_json(&config.policy, &decision, tool);
        let bound_values = workspace.bound_values(&config.policy);
        let reader = ToolReader { workspace, tool, outside: &decision.outside_paths };
        let (directory, directory_fact) = reader.directory();
        let (program, files) = if !tool.is_executable() {
            (ProgramFact::NotExecuted, NamedFiles::default())
        } else if directory_fact == DirectoryFact::Present {
            (surveyed.files.program.clone(), named_files(&reader, &directory)?)
        } else {
            (ProgramFact::NotFound, NamedFiles::default())
        };
        let (pin, untrusted) = workspace.pin_store().fact(&config.catalog, tool)?;
        decision.blockers.extend(untrusted);
        decision.blockers.extend(files.blockers(tool));
        let found = &surveyed.files;
        Ok(PlanFacts {
            tool,
            entry_errors: errors_of(&config.catalog, tool),
            args: Ok(Json::Null),
            input_schema: (*found.input_schema).clone(),
            output_schema: reader.document(tool.output_schema_path.as_deref()).fact(),
            examples: found.examples.clone(),
            source: found.source.clone(),
            directory: directory_fact,
            real_directory: reader.real_directory(),
            outside: found.outside.iter().map(|field| (*field).to_owned()).collect(),
            program,
            files: files.files,
            pin,
            projections: projection_facts(&surveyed.projections),
            decision,
            policy,
            bound_values,
            caller: workspace.env.caller.clone(),
        })
    }
}
