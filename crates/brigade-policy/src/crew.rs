//! The decision on a program of the kitchen: a worker, or a command that a person approved by its text.

use std::collections::BTreeMap;

use brigade_catalog::Seconds;
use brigade_core::{ErrorCode, Label, Place};

use crate::decision::terms;
use crate::{Blocker, CallFacts, Decision, Environment, KitchenGrants, PolicyState, ShellUse, WRITE_EFFECT};

/// A worker to start.
#[derive(Clone, Copy, Debug)]
pub struct CrewWorker<'a> {
    /// The first word of its command.
    pub program: &'a str,
    /// Its adapter.
    pub adapter: &'a str,
    /// Whether it skips its own permissions.
    pub skips_permissions: bool,
    /// Paths that its adapter writes.
    pub write_paths: &'a [String],
    /// The variables that it gets.
    pub env_labels: &'a [String],
    /// Whether it may change files of a task. Workers that only decide may change only their own files.
    pub may_change: bool,
}

/// The program to start.
#[derive(Clone, Copy, Debug)]
pub enum CrewWork<'a> {
    /// A worker.
    Worker(CrewWorker<'a>),
    /// A verification, test, setup or notification command.
    Command {
        /// Whether a shell reads it.
        needs_shell: bool,
        /// The effects that the configuration gives it; `None` for those of the policy.
        effects: Option<&'a [String]>,
    },
}

/// A start of the kitchen.
#[derive(Clone, Copy, Debug)]
pub struct CrewFacts<'a> {
    /// The program to start.
    pub work: CrewWork<'a>,
    /// How long it may take.
    pub timeout: Option<Seconds>,
    /// Whether it works in the workspace itself instead of a separate folder.
    pub in_workspace: bool,
}

/// Decides whether a program of the kitchen may be started, and under which terms. An invalid policy refuses
/// everything. Denied effects are removed, so the sandbox does not open them.
pub fn decide_crew(state: &PolicyState, facts: &CrewFacts<'_>, environment: &dyn Environment) -> Decision {
    let nothing = KitchenGrants {
        workers: Some(Vec::new()),
        shell: ShellUse::Never,
        skip_permissions: false,
        merge: false,
        push: false,
        worker_effects: Vec::new(),
        worker_write_paths: Vec::new(),
        verification_effects: Vec::new(),
        max_minutes: None,
        max_cost_usd: None,
        max_parallel: None,
    };
    let grants = state.kitchen().unwrap_or(nothing);
    let effects: Vec<String> = match facts.work {
        CrewWork::Worker(worker) => {
            let is_kept = |effect: &&String| worker.may_change || *effect != WRITE_EFFECT;
            grants.worker_effects.iter().filter(is_kept).cloned().collect()
        }
        CrewWork::Command { effects, .. } => {
            let is_asked = |effect: &&String| effects.is_none_or(|requested| requested.contains(effect));
            grants.verification_effects.iter().filter(is_asked).cloned().collect()
        }
    };
    let labels: &[String] = match facts.work {
        CrewWork::Worker(worker) => worker.env_labels,
        CrewWork::Command { .. } => &[],
    };
    let call =
        CallFacts { effects: &effects, timeout: facts.timeout, env_labels: labels, ..CallFacts::missing("") };
    let mut decision = terms(state, &call);
    if !decision.blockers.is_empty() {
        return decision;
    }
    let rules = state.policy().map(|policy| &policy.kitchen);
    let place = |rule: Option<Place>| rule.unwrap_or_else(|| Place::file(state.file()));
    match facts.work {
        CrewWork::Worker(CrewWorker { program, adapter, skips_permissions, write_paths, .. }) => {
            if !grants.allows_worker(program, adapter) {
                let message =
                    "the policy does not list this program or its adapter under `workers` of [kitchen]";
                let at = place(rules.and_then(|rules| rules.workers.place.clone()));
                decision
                    .blockers
                    .push(Blocker::new(ErrorCode::PolicyWorker, message).at(at).field("kitchen.workers"));
            }
            if skips_permissions && !grants.skip_permissions {
                let message = "the worker skips its own permissions, and the policy does not allow it";
                let at = place(rules.and_then(|rules| Some(rules.skip_permissions.as_ref()?.place.clone())));
                let blocker = Blocker::new(ErrorCode::PolicySkipPermissions, message).at(at);
                decision.blockers.push(blocker.field("kitchen.skip_permissions"));
            }
            // A program may write its own state even if it may not change the task's files.
            let own = grants.worker_write_paths.iter().chain(write_paths).cloned();
            decision.sandbox.grants.write_paths.extend(own);
            decision.sandbox.grants.write_paths.sort();
            decision.sandbox.grants.write_paths.dedup();
        }
        CrewWork::Command { needs_shell, .. } => {
            if needs_shell && grants.shell == ShellUse::Never {
                let message = "a shell would read the command, and the policy says `shell = \"never\"`";
                let at = place(rules.and_then(|rules| Some(rules.shell.as_ref()?.place.clone())));
                decision
                    .blockers
                    .push(Blocker::new(ErrorCode::PolicyShell, message).at(at).field("kitchen.shell"));
            }
        }
    }
    // Without a binding, a worker gets the variable with the label's name.
    let mut bindings: BTreeMap<Label, Label> = decision.env_bindings.clone();
    for text in labels {
        if brigade_cmdline::is_dangerous_variable(text) {
            let message = "a label names a variable that changes what other programs do";
            decision.blockers.push(Blocker::new(ErrorCode::PolicyEnvUnsafe, message).field("env_labels"));
        } else if let Ok(label) = text.parse::<Label>() {
            bindings.entry(label.clone()).or_insert(label);
        }
    }
    bindings.retain(|_, variable| environment.is_set(variable.as_str()));
    decision.env_bindings = bindings;
    // A program in a separate folder may not change the workspace.
    decision.sandbox.grants.workspace_write &= facts.in_workspace;
    decision
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(policy: &str, work: CrewWork<'_>, in_workspace: bool) -> Decision {
        let state = PolicyState::parse("policy.toml", Some(policy.as_bytes()));
        decide_crew(&state, &CrewFacts { work, timeout: None, in_workspace }, &|name: &str| name != "UNSET")
    }

    fn codes(decision: &Decision) -> Vec<&str> {
        decision.blockers.iter().map(|blocker| blocker.code.as_ref()).collect()
    }

    const COMMAND: CrewWork<'static> = CrewWork::Command { needs_shell: true, effects: None };

    fn worker(skips_permissions: bool) -> CrewWork<'static> {
        const LABELS: &[String] = &[];
        CrewWork::Worker(CrewWorker {
            program: "/opt/agent",
            adapter: "plain",
            skips_permissions,
            write_paths: &[],
            env_labels: LABELS,
            may_change: true,
        })
    }

    #[test]
    fn workers_shell_and_skipping_are_the_policys() {
        assert_eq!(codes(&decide("", worker(false), false)), [""; 0]);
        assert_eq!(codes(&decide("", worker(true), false)), ["policy_skip_permissions"]);
        assert_eq!(
            codes(&decide("[kitchen]\nworkers = ['claude']", worker(false), false)),
            ["policy_worker"]
        );
        assert_eq!(codes(&decide("[kitchen]\nworkers = ['agent']", worker(false), false)), [""; 0]);
        assert_eq!(codes(&decide("", COMMAND, false)), [""; 0]);
        assert_eq!(codes(&decide("[kitchen]\nshell = 'never'", COMMAND, false)), ["policy_shell"]);
        assert_eq!(codes(&decide("[kitchn]", COMMAND, false)), ["policy_invalid"]);
    }

    #[test]
    fn effects_are_at_most_those_of_the_policy() {
        let grants = |policy: &str, work: CrewWork<'_>, in_workspace| {
            let grants = decide(policy, work, in_workspace).sandbox.grants;
            (grants.workspace_write, grants.network)
        };
        assert_eq!(grants("", worker(false), true), (true, true));
        assert_eq!(grants("", worker(false), false), (false, true));
        assert_eq!(grants("denied_effects = ['network']", worker(false), true), (true, false));
        assert_eq!(grants("", COMMAND, true), (true, false));
        let requested = ["network".to_owned()];
        let work = CrewWork::Command { needs_shell: false, effects: Some(&requested) };
        assert_eq!(grants("", work, true), (false, false));
    }

    #[test]
    fn unbound_labels_are_variables_of_their_names() {
        let labels = ["KEY", "OTHER", "UNSET", "LD_PRELOAD"].map(str::to_owned);
        let work = CrewWork::Worker(CrewWorker {
            program: "x",
            adapter: "plain",
            skips_permissions: false,
            write_paths: &["~/.x".to_owned()],
            env_labels: &labels,
            may_change: false,
        });
        let decision = decide("[env_bindings]\nKEY = 'HOST_KEY'", work, true);
        let bound: Vec<_> =
            decision.env_bindings.iter().map(|(label, name)| (label.as_str(), name.as_str())).collect();
        assert_eq!(bound, [("KEY", "HOST_KEY"), ("OTHER", "OTHER")]);
        assert_eq!(codes(&decision), ["policy_env_unsafe"]);
        let grants = &decision.sandbox.grants;
        assert_eq!(
            (grants.workspace_write, grants.write_paths.as_slice()),
            (false, &["~/.x".to_owned()][..])
        );
    }
}
