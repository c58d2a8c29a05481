//! The worker of each tier, as it would be started, and why one would not be.

use std::path::Path;

use brigade_command::{find_program, is_dangerous_variable};
use brigade_core::{Fingerprint, Place, Severity};
use brigade_exec::OpenedProgram;
use brigade_facts::is_program;
use brigade_kitchen::adapter::{self, Adapter, Permissions, Wanted};
use brigade_kitchen::approval::{Execution, Tiers, WorkerPlan};
use brigade_kitchen::config::{Settings, WorkerCommand};
use brigade_kitchen::prd::ValidPrd;
use brigade_kitchen::{Command, Tier};
use brigade_policy::{Blocker, ErrorLine, KitchenGrants, Policy, PolicyState, SandboxMode};

use super::Configuration;
use crate::kitchen::Kitchen;

/// Stand for the files of an attempt in what is approved.
const PROMPT_FILE: &str = "{prompt_file}";
const ANSWER_FILE: &str = "{answer_file}";

/// The worker of a tier.
#[derive(Clone, Debug)]
pub struct Worker {
    /// The tier.
    pub tier: Tier,
    /// Its command.
    pub command: WorkerCommand,
    /// Its adapter; `None` if there is none of the configured name.
    pub adapter: Option<Adapter>,
    /// The words that are started; `None` if command, adapter and policy do not fit.
    pub argv: Option<Vec<String>>,
    /// The resolved program, relative to the workspace if it is inside.
    pub program: Option<String>,
    /// The sha256 of the program, if programs are bound.
    pub bytes: Option<Fingerprint>,
    /// Which permissions of its own it has.
    pub permissions: Option<Permissions>,
    /// The variables that it gets.
    pub env_labels: Vec<String>,
}

/// The crew of a workspace: who works, with which settings, under which policy.
pub struct Crew {
    /// The settings of the files, and of the PRD if there is one.
    pub settings: Settings,
    /// What the policy gives; `None` if it is invalid.
    pub grants: Option<KitchenGrants>,
    /// The mode of the sandbox.
    pub sandbox: &'static str,
    /// The worker of each tier, the lowest first.
    pub workers: Vec<Worker>,
    /// The role texts of the workspace, by file name.
    pub role_texts: Vec<(&'static str, String)>,
    /// Why nothing may be started.
    pub refusals: Vec<Blocker>,
}

/// Everything of a crew that can be started, as the approval takes it.
pub struct Ready<'a> {
    workers: Vec<WorkerPlan<'a>>,
    role_texts: Vec<(&'a str, &'a str)>,
    crew: &'a Crew,
    grants: &'a KitchenGrants,
}

impl Ready<'_> {
    /// Returns the tiers.
    pub fn tiers(&self) -> Tiers<'_> {
        Tiers {
            settings: &self.crew.settings,
            workers: &self.workers,
            grants: self.grants,
            sandbox: self.crew.sandbox,
            role_texts: &self.role_texts,
        }
    }

    /// Returns everything that is executed for a PRD.
    pub fn execution<'a>(&'a self, prd: &'a ValidPrd) -> Execution<'a> {
        Execution { prd, tiers: self.tiers() }
    }
}

impl Crew {
    /// Returns what would be started, unless something refuses to.
    pub fn ready(&self) -> Option<Ready<'_>> {
        let grants = self.grants.as_ref().filter(|_| self.refusals.is_empty())?;
        let plan = |worker: &'_ Worker| {
            Some(WorkerPlan {
                tier: worker.tier,
                argv: worker.argv.clone()?,
                adapter: self.workers.iter().find(|own| own.tier == worker.tier)?.adapter.as_ref()?,
                program: worker.program.clone(),
                bytes: worker.bytes,
                permissions: worker.permissions?,
                env_labels: worker.env_labels.clone(),
            })
        };
        let workers = self.workers.iter().map(plan).collect::<Option<Vec<_>>>()?;
        let role_texts = self.role_texts.iter().map(|(file, text)| (*file, text.as_str())).collect();
        Some(Ready { workers, role_texts, crew: self, grants })
    }

    /// Returns why nothing would be started, for reports.
    pub fn refusal_lines(&self) -> Vec<ErrorLine> {
        let line = |blocker: &Blocker| {
            let place = blocker.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
            ErrorLine::with(format!("{place}{}", blocker.message), blocker.into())
        };
        self.refusals.iter().map(line).collect()
    }

    /// Says what a person should know about permissions before approving.
    pub fn notes(&self) -> Vec<String> {
        let wants_skip = self.settings.skip_permissions;
        let mut notes = Vec::new();
        for worker in self.workers.iter().filter(|_| wants_skip) {
            let Some(adapter) = worker.adapter.as_ref().filter(|adapter| !adapter.skip.is_empty()) else {
                continue;
            };
            if worker.permissions == Some(Permissions::Narrow) {
                notes.push(format!(
                    "the {} tier asks to skip the permissions of `{}`, and the policy does not allow it, so `{}` \
                     is used instead",
                    worker.tier,
                    adapter.id,
                    adapter.narrow.join(" ")
                ));
            } else if worker.permissions == Some(Permissions::Skipped) {
                notes.push(format!("the {} tier skips the permissions of `{}`", worker.tier, adapter.id));
            }
        }
        for worker in self.workers.iter().filter(|worker| worker.program.is_none()) {
            notes.push(format!(
                "the program of the {} tier, `{}`, is not there",
                worker.tier,
                worker.command.argv().program()
            ));
        }
        notes
    }
}

impl Kitchen<'_> {
    /// Finds out who would work with these settings, and what refuses it.
    pub fn crew(&self, configuration: &Configuration, prd: Option<&ValidPrd>) -> Crew {
        let config = &configuration.config;
        let settings = prd.map_or_else(|| config.settings.clone(), |prd| config.for_prd(prd));
        let grants = configuration.policy.kitchen();
        let mut refusals: Vec<Blocker> = Vec::new();
        for issue in config.issues.iter().filter(|issue| issue.severity == Severity::Error) {
            let field = issue.field.as_ref().map(|field| format!("{field}: ")).unwrap_or_default();
            let blocker = Blocker::new("kitchen_config_invalid", format!("{field}{}", issue.message));
            refusals.push(blocker.at(issue.place.clone()));
        }
        if grants.is_none() {
            let invalid = configuration.policy.issues().iter();
            let invalid = invalid.filter(|issue| issue.severity == Severity::Error);
            refusals.extend(invalid.map(|issue| {
                let field = issue.field.as_ref().map(|field| format!("{field}: ")).unwrap_or_default();
                Blocker::new("policy_invalid", format!("{field}{}", issue.message)).at(issue.place.clone())
            }));
        }
        let workers = Tier::ALL
            .iter()
            .map(|tier| self.worker(*tier, configuration, &settings, grants.as_ref(), &mut refusals))
            .collect();
        if let Some(grants) = &grants {
            limits(configuration, &settings, prd, grants, &mut refusals);
        }
        let mode = |policy: &Policy| policy.sandbox.mode.as_ref().map(|mode| mode.value);
        let sandbox = configuration.policy.policy().and_then(mode);
        Crew {
            settings,
            grants,
            sandbox: sandbox.unwrap_or(SandboxMode::Off).as_str(),
            workers,
            role_texts: configuration.role_texts.clone(),
            refusals,
        }
    }

    fn worker(
        &self,
        tier: Tier,
        configuration: &Configuration,
        settings: &Settings,
        grants: Option<&KitchenGrants>,
        refusals: &mut Vec<Blocker>,
    ) -> Worker {
        let config = &configuration.config;
        let command = settings.command(tier);
        let place = |key: &str| config.places.get(format!("tier.{tier}.{key}").as_str()).cloned();
        let mut refuse = |code: &'static str, message: String, place: Option<Place>| {
            refusals.push(Blocker::new(code, message).at(place));
        };
        let program = self.find_worker(command.argv().program());
        let adapter = match adapter::choose(&config.adapters, settings.adapter_name(tier), command.argv()) {
            Ok(adapter) => Some(adapter.clone()),
            Err(name) => {
                let message =
                    format!("the {tier} tier names the adapter `{name}`, and there is none of this name");
                refuse("adapter_unknown", message, place("adapter"));
                None
            }
        };
        let bytes = program.as_deref().filter(|_| settings.bind_workers).and_then(|path| {
            let opened = OpenedProgram::open(self.fs.root().join(path));
            opened.ok().map(|program| program.fingerprint())
        });
        let mut worker = Worker {
            tier,
            argv: None,
            program,
            bytes,
            permissions: None,
            env_labels: Vec::new(),
            adapter,
            command,
        };
        let Some(adapter) = &worker.adapter else { return worker };
        let labels = settings.env_labels(tier).unwrap_or(&adapter.env_labels);
        for label in labels {
            if is_dangerous_variable(label) || label.parse::<brigade_core::Label>().is_err() {
                let message = format!("the {tier} tier asks for a variable that no worker gets");
                refuse("unsafe_env_label", message, place("env_labels"));
            }
        }
        worker.env_labels = labels.to_vec();
        let Some(grants) = grants else { return worker };
        let first = worker.command.argv().program();
        if !grants.allows_worker(first, &adapter.id) {
            let message = format!(
                "`{}` may not be a worker: `workers` of `[kitchen]` names neither it nor its adapter `{}`",
                first.rsplit('/').next().unwrap_or(first),
                adapter.id
            );
            refuse("worker_not_allowed", message, kitchen_place(&configuration.policy));
        }
        let wanted = if settings.skip_permissions { Wanted::Skip } else { Wanted::Narrow };
        let server = Some(settings.opencode_server.as_str());
        let may_skip = grants.skip_permissions;
        match adapter.start(worker.command.argv(), wanted, may_skip, PROMPT_FILE, ANSWER_FILE, server) {
            Ok(started) => {
                worker.argv = Some(started.argv.words().to_vec());
                worker.permissions = Some(started.permissions);
            }
            Err(fault) => refuse("worker_command_invalid", format!("{tier} tier: {fault}"), place("command")),
        }
        worker
    }

    /// Finds the program of a worker. One of the workspace is relative to it.
    fn find_worker(&self, word: &str) -> Option<String> {
        let path_variable = self.environment.get("PATH");
        let found =
            find_program(word, self.fs.root(), path_variable, |path: &Path| is_program(&*self.fs, path))?;
        Some(self.shown_path(&found))
    }
}

/// Lists what the settings and the PRD ask for and the policy does not give.
fn limits(
    configuration: &Configuration,
    settings: &Settings,
    prd: Option<&ValidPrd>,
    grants: &KitchenGrants,
    refusals: &mut Vec<Blocker>,
) {
    let place = |key: &str| configuration.config.places.get(key).cloned();
    if !grants.shell {
        let refused = |what: String, place: Option<Place>| {
            let message = format!("{what} needs a shell, and `shell` of `[kitchen]` is \"never\"");
            Blocker::new("shell_refused", message).at(place)
        };
        let needs_shell = |command: &Option<Command>| command.as_ref().is_some_and(Command::needs_shell);
        let prd_test = prd.and_then(|prd| prd.test_command.as_ref());
        let keys = [
            ("the setup of worktrees", &settings.worktree_setup, "worktree.setup"),
            ("the test command", &settings.test_cmd, "test_cmd"),
            ("the notification", &settings.notify_command, "notify.command"),
        ];
        for (what, command, key) in keys {
            if needs_shell(command) {
                let own = if key == "test_cmd" && prd_test.is_some() { None } else { place(key) };
                refusals.push(refused(what.to_owned(), own));
            }
        }
        for task in prd.into_iter().flat_map(|prd| &prd.tasks) {
            for entry in task.verification.iter().filter(|entry| entry.command.needs_shell()) {
                refusals.push(refused(format!("{}: a verification", task.id), Some(entry.place.clone())));
            }
        }
    }
    for (asked, allowed, key) in
        [(settings.merge, grants.merge, "merge"), (settings.push, grants.push, "push")]
    {
        if asked && !allowed {
            let message = format!("`{key}` is on, and the policy does not allow it");
            refusals.push(Blocker::new("kitchen_refused", message).at(place(key)));
        }
    }
}

/// Returns the place of `[kitchen]` in the policy.
fn kitchen_place(policy: &PolicyState) -> Option<Place> {
    policy.policy().and_then(|policy| policy.kitchen.place.clone())
}
