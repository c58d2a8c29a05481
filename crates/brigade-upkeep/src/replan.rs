//! What calls of the past would be today: planned again, with each tool's facts read once.

use std::collections::HashMap;

use brigade_call::{Call, Caller, Plan, PlanFacts, Purpose, RuntimeFact, plan, verify};
use brigade_core::{Json, Timestamp};
use brigade_facts::{Config, FactReader, ToolFacts};
use brigade_fs::FsError;

use crate::site::Site;

/// Plans calls again. The facts of a tool are read when the first of its calls is planned.
pub(crate) struct Replanner<'a, 'c> {
    reader: FactReader<'a, 'c>,
    config: &'c Config,
    caller: &'a Caller,
    read: HashMap<&'a str, &'a ToolFacts<'c>>,
    facts: HashMap<String, PlanFacts<'c>>,
    now: Timestamp,
}

impl<'a, 'c> Replanner<'a, 'c> {
    /// Uses what was found of tools; the others are looked at when they are needed.
    pub(crate) fn new(site: &Site<'a>, config: &'c Config, read: &'a [ToolFacts<'c>]) -> Replanner<'a, 'c> {
        Replanner {
            reader: FactReader::new(site.host, config),
            config,
            caller: site.caller,
            read: read.iter().map(|facts| (facts.tool.id.as_str(), facts)).collect(),
            facts: HashMap::new(),
            now: site.now(),
        }
    }

    /// Says what keeps an approved call from running as it was approved; empty when nothing does.
    pub(crate) fn changes(&mut self, call: &Call) -> Result<Vec<String>, FsError> {
        let plan = match self.plan(&call.tool_id, &call.args, call.caller.clone()) {
            Ok(plan) => plan,
            Err(NoPlan::NoTool(why)) => return Ok(vec![why]),
            Err(NoPlan::Files(error)) => return Err(error),
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
    pub(crate) fn replay_blockers(&mut self, tool_id: &str, args: &Json) -> Result<Vec<String>, FsError> {
        let plan = match self.plan(tool_id, args, self.caller.clone()) {
            Ok(plan) => plan,
            Err(NoPlan::NoTool(why)) => return Ok(vec![why]),
            Err(NoPlan::Files(error)) => return Err(error),
        };
        Ok(plan.blockers().iter().map(ToString::to_string).collect())
    }

    /// Plans a call.
    fn plan(&mut self, tool_id: &str, args: &Json, caller: Caller) -> Result<Plan, NoPlan> {
        if !self.facts.contains_key(tool_id) {
            let of_workspace = self.caller.clone();
            let facts = match self.read.get(tool_id) {
                Some(read) => self.reader.deepen(read, of_workspace)?,
                None => match self.config.catalog.find(tool_id) {
                    Ok(tool) => self.reader.plan(tool, of_workspace)?.facts,
                    Err(error) => return Err(NoPlan::NoTool(error.to_string())),
                },
            };
            self.facts.insert(tool_id.to_owned(), facts);
        }
        let facts = self.facts.get(tool_id).expect("the facts were put there above").clone();
        Ok(plan(PlanFacts { args: Ok(args.clone()), caller, ..facts }))
    }
}

/// Why there is no plan.
enum NoPlan {
    /// There is no such tool.
    NoTool(String),
    /// The disk failed.
    Files(FsError),
}

impl From<FsError> for NoPlan {
    fn from(error: FsError) -> NoPlan {
        NoPlan::Files(error)
    }
}
