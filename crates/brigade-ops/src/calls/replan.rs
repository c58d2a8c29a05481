//! Plans past calls again, reading the facts of each tool once.

use std::collections::HashMap;

use brigade_call::{
    Call, CallSession, Caller, Change, Plan, PlanFacts, Purpose, RuntimeFact, install_command, plan, verify,
};
use brigade_catalog::Reads;
use brigade_core::{ErrorCode, Json, Timestamp};
use brigade_fs::FsError;
use brigade_policy::{Blocker, CallKind, PolicyValidity};
use brigade_workspace::{Config, FactReader, ToolFacts, WorkspaceContext};

/// Why an approved call cannot run as approved.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    /// The reasons, as sentences.
    pub reasons: Vec<String>,
    /// Whether the only reason is that `PATH` finds another program.
    pub is_only_moved: bool,
}

/// Plans calls again. The first call of a tool reads its facts.
pub(crate) struct Replanner<'a, 'c> {
    reader: FactReader<'a, 'c>,
    config: &'c Config,
    caller: &'a Caller,
    read: HashMap<&'a str, &'a ToolFacts<'c>>,
    /// The facts of tools, for agents and for others.
    facts: HashMap<(String, bool), PlanFacts<'c>>,
    now: Timestamp,
}

impl<'a, 'c> Replanner<'a, 'c> {
    /// Starts with the facts in `read`. Facts of other tools are read on first use.
    pub(crate) fn new(
        context: &'a WorkspaceContext,
        config: &'c Config,
        read: &'a [ToolFacts<'c>],
    ) -> Replanner<'a, 'c> {
        Replanner {
            reader: FactReader::new(context.host(), config),
            config,
            caller: &context.caller,
            read: read.iter().map(|facts| (facts.tool.id.as_str(), facts)).collect(),
            facts: HashMap::new(),
            now: context.now(),
        }
    }

    /// Lists why an approved call cannot run as approved; empty if it can.
    pub(crate) fn changes(&mut self, call: &Call) -> Result<Changes, FsError> {
        let only = |why: String| Changes { reasons: vec![why], is_only_moved: false };
        let plan = match self.plan_call(call) {
            Ok(plan) => plan,
            Err(ReplanError::NoTool(why)) => return Ok(only(why)),
            Err(ReplanError::Files(error)) => return Err(error),
        };
        let Err(refusal) = verify(call.clone(), plan, RuntimeFact::NotNeeded, Purpose::Run, self.now) else {
            return Ok(Changes::default());
        };
        let moved = refusal.moved.as_ref();
        let is_explained = |change: &&Change| moved.is_some_and(|moved| moved.explains.contains(change));
        // An invalid policy is reported once, not with each call.
        let is_invalid = self.config.policy.validity() == PolicyValidity::Invalid;
        let is_of_policy = |change: &&Change| is_invalid && **change == Change::Policy;
        let changed = refusal.changes.iter();
        let changed = changed.filter(|change| !is_explained(change) && !is_of_policy(change));
        let changed = changed.map(|change| match change {
            Change::NothingBound | Change::Rule => change.to_string(),
            Change::Server => format!("{change} changed"),
            change => format!("the {change} changed"),
        });
        let is_other =
            |blocker: &&Blocker| !blocker.is(ErrorCode::Status) && !blocker.code.starts_with("changed_");
        let others = refusal.blockers.iter();
        let others = others.filter(|blocker| is_other(blocker) && !blocker.is_of_invalid_policy());
        let others: Vec<String> = changed.chain(others.map(ToString::to_string)).collect();
        let is_only_moved = moved.is_some() && others.is_empty();
        let moved = moved.map(|moved| moved.blocker.to_string());
        Ok(Changes { reasons: moved.into_iter().chain(others).collect(), is_only_moved })
    }

    /// Lists why a pending call cannot be approved; empty if it can.
    pub(crate) fn objections(&mut self, call: &Call) -> Result<Vec<String>, FsError> {
        match self.plan_call(call) {
            Ok(plan) => {
                let objections = plan.approvable(call).err().unwrap_or_default();
                Ok(objections.iter().map(ToString::to_string).collect())
            }
            Err(ReplanError::NoTool(why)) => Ok(vec![why]),
            Err(ReplanError::Files(error)) => Err(error),
        }
    }

    /// Lists why these arguments cannot be queued again; empty if they can.
    pub(crate) fn replay_blockers(&mut self, tool_id: &str, args: &Json) -> Result<Vec<String>, FsError> {
        let plan = match self.plan(tool_id, args, self.caller.clone(), None, None, None) {
            Ok(plan) => plan,
            Err(ReplanError::NoTool(why)) => return Ok(vec![why]),
            Err(ReplanError::Files(error)) => return Err(error),
        };
        Ok(plan.blockers().iter().map(ToString::to_string).collect())
    }

    fn plan_call(&mut self, call: &Call) -> Result<Plan, ReplanError> {
        match call.kind() {
            CallKind::Run | CallKind::Read => {
                let (caller, session) = (call.caller.clone(), call.session.clone());
                let learned = call.approval.as_ref().map(|approval| &approval.binding.learned[..]);
                self.plan(&call.tool_id, &call.args, caller, Some(&call.contract.effects), session, learned)
            }
            CallKind::Install => self.plan_installation(call),
        }
    }

    /// Plans an installation with current facts. Installations are few, so their facts are not cached.
    fn plan_installation(&self, call: &Call) -> Result<Plan, ReplanError> {
        let Some(entry) = self.config.catalog.tool(&call.tool_id) else {
            let error = self.config.catalog.find(&call.tool_id).err();
            return Err(ReplanError::NoTool(error.map_or_else(String::new, |error| error.to_string())));
        };
        let shown = call.command.as_deref().unwrap_or_default();
        let installation =
            entry.installation(install_command(entry, shown, call.contract_fingerprint.as_deref()));
        let reader = FactReader::new(self.reader.host(), self.config);
        let facts = reader.plan_installation(&installation, entry, call.caller.clone())?.facts;
        Ok(plan(PlanFacts { args: Ok(call.args.clone()), ..facts }))
    }

    /// Plans a call with current facts.
    fn plan(
        &mut self,
        tool_id: &str,
        args: &Json,
        caller: Caller,
        within: Option<&[String]>,
        session: Option<CallSession>,
        learned: Option<&[String]>,
    ) -> Result<Plan, ReplanError> {
        let root = session.as_ref().and_then(|session| session.root_of(tool_id)).map(str::to_owned);
        let (config, host) = (self.config, self.reader.host());
        let complete = |facts| plan(config.with_args(&host, facts, Ok(args.clone()), session, learned));
        if let Some(made) = self.config.command(&host, tool_id, args, &caller, within, root.as_deref()) {
            let facts = FactReader::new(self.reader.host(), self.config).plan(&made, caller)?.facts;
            return Ok(complete(facts));
        }
        // The arguments of such a call decide which server it reads from.
        if Reads::of_tool_id(tool_id).is_some() {
            let tool = self.config.entry(&self.reader.host(), tool_id, args);
            let tool = tool.map_err(|error| ReplanError::NoTool(error.to_string()))?;
            let facts = self.reader.plan(tool, caller)?.facts;
            return Ok(complete(facts));
        }
        let key = (tool_id.to_owned(), caller.agent().is_some());
        if !self.facts.contains_key(&key) {
            let facts = match self.read.get(tool_id) {
                Some(read) => self.reader.deepen(read, caller.clone())?,
                None => match self.config.entry(&self.reader.host(), tool_id, args) {
                    Ok(tool) => self.reader.plan(tool, caller.clone())?.facts,
                    Err(error) => return Err(ReplanError::NoTool(error.to_string())),
                },
            };
            self.facts.insert(key.clone(), facts);
        }
        let facts = self.facts.get(&key).expect("the facts were put there above").clone();
        let facts = PlanFacts { caller, ..facts };
        Ok(complete(facts))
    }
}

/// Why the call cannot be planned.
enum ReplanError {
    /// The tool is not in the catalog.
    NoTool(String),
    /// File access failed.
    Files(FsError),
}

impl From<FsError> for ReplanError {
    fn from(error: FsError) -> ReplanError {
        ReplanError::Files(error)
    }
}

#[cfg(test)]
mod tests {
    use brigade_workspace::{CATALOG, POLICY, gather};

    use super::*;
    use crate::testing::CallBench;

    /// Plans calls of a workspace again.
    fn with<T>(bench: &CallBench, look: impl FnOnce(&mut Replanner<'_, '_>) -> T) -> T {
        let config = gather::config(&bench.context).unwrap();
        look(&mut Replanner::new(&bench.context, &config, &[]))
    }

    #[test]
    fn an_approved_call_says_why_it_cannot_run() {
        for (path, text, expect) in [
            ("lib/other.sh", "true\n", &[][..]),
            ("bin/tool.sh", "echo other\n", &["the file bin/tool.sh changed"]),
            ("docs/tool.md", "# Other\n", &["the source changed"]),
            (CATALOG, "", &["no tool has the id `tool`"]),
            // An invalid policy is reported once, not with each call.
            (POLICY, "= =", &[]),
        ] {
            let bench = CallBench::new("");
            let call = bench.call(&bench.approved("{}"));
            bench.write(path, text);
            let changes = with(&bench, |replanner| replanner.changes(&call)).unwrap();
            assert_eq!(
                (changes.reasons.as_slice(), changes.is_only_moved),
                (expect.iter().map(ToString::to_string).collect::<Vec<_>>().as_slice(), false),
                "{path}"
            );
        }
    }

    #[test]
    fn a_pending_call_says_why_it_cannot_be_approved() {
        let bench = CallBench::new("");
        let call = bench.call(&bench.queue("{}"));
        assert_eq!(with(&bench, |replanner| replanner.objections(&call)).unwrap(), [""; 0]);
        bench.replace(POLICY, r#"["secret-read"]"#, r#"["local-read"]"#);
        let objections = with(&bench, |replanner| replanner.objections(&call)).unwrap();
        assert!(objections.concat().contains("local-read"), "{objections:?}");
        bench.write(CATALOG, "");
        let objections = with(&bench, |replanner| replanner.objections(&call)).unwrap();
        assert_eq!(objections, ["no tool has the id `tool`"]);
    }

    #[test]
    fn arguments_say_why_they_cannot_be_queued_again() {
        let bench = CallBench::new("");
        bench.write("schemas/tool.json", r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#);
        let blockers = |tool: &str, args: &str| {
            with(&bench, |replanner| replanner.replay_blockers(tool, &Json::parse(args).unwrap())).unwrap()
        };
        assert_eq!(blockers("tool", r#"{"a":1}"#), [""; 0]);
        assert_eq!(blockers("tool", r#"{"a":"x"}"#).len(), 1);
        assert_eq!(blockers("tolo", "{}").len(), 1);
    }

    #[test]
    fn the_facts_of_a_tool_are_read_once() {
        let bench = CallBench::new("");
        let calls = [r#"{"a":1}"#, r#"{"a":2}"#].map(|args| bench.call(&bench.approved(args)));
        with(&bench, |replanner| {
            assert!(replanner.changes(&calls[0]).unwrap().reasons.is_empty());
            // A file that changes meanwhile is not read again.
            bench.write("bin/tool.sh", "echo other\n");
            assert!(replanner.changes(&calls[1]).unwrap().reasons.is_empty());
        });
        assert_eq!(with(&bench, |replanner| replanner.changes(&calls[1])).unwrap().reasons.len(), 1);
    }
}
