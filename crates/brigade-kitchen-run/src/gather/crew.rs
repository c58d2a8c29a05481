//! The worker of each tier, and reasons that keep it from starting.

use std::path::Path;

use brigade_cmdline::find_program;
use brigade_core::{ErrorCode, Fingerprint, Place, Severity};
use brigade_exec::OpenedProgram;
use brigade_fs::FileKind;
use brigade_kitchen::adapter::{self, Adapter, PermissionMode, Permissions};
use brigade_kitchen::approval::{Execution, MissingProgramReason, Tiers, WorkerPlan};
use brigade_kitchen::config::{Flags, Settings, WorkerCommand};
use brigade_kitchen::prd::ValidPrd;
use brigade_kitchen::{Command, Tier};
use brigade_policy::{
    Blocker, CrewFacts, CrewWork, CrewWorker, ErrorLine, KitchenGrants, Policy, SandboxMode, decide_crew,
};
use brigade_workspace::is_program;

use super::Configuration;
use crate::attempt::TierWorker;
use crate::kitchen::Kitchen;
use crate::named_files::{BoundFiles, bind, words_of};

/// Placeholders for the files of an attempt in an approved command line.
const PROMPT_FILE: &str = "{prompt_file}";
const ANSWER_FILE: &str = "{answer_file}";

/// The worker of a tier.
#[derive(Clone, Debug)]
pub struct Worker {
    /// The tier.
    pub tier: Tier,
    /// Its command.
    pub command: WorkerCommand,
    /// Its adapter; `None` if the configured name is unknown.
    pub adapter: Option<Adapter>,
    /// The command line; `None` if command, adapter and policy do not fit together.
    pub argv: Option<Vec<String>>,
    /// The resolved program, relative to the workspace if it is inside.
    pub program: Option<String>,
    /// The sha256 of the program, if programs are bound.
    pub bytes: Option<Fingerprint>,
    /// How it handles its permission checks.
    pub permissions: Option<Permissions>,
    /// The environment variables that it gets.
    pub env_labels: Vec<String>,
    /// Why its program cannot be started, if it cannot.
    pub missing: Option<MissingProgramReason>,
}

/// The crew of a workspace: workers, settings and policy.
pub struct Crew {
    /// The settings of the files, and of the PRD if there is one.
    pub settings: Settings,
    /// The rights that the policy grants; `None` if the policy is invalid.
    pub grants: Option<KitchenGrants>,
    /// The mode of the sandbox.
    pub sandbox: &'static str,
    /// The worker of each tier, the lowest first.
    pub workers: Vec<Worker>,
    /// The role texts of the workspace, by file name.
    pub role_texts: Vec<(&'static str, String)>,
    /// The bytes of files of the workspace that the commands of tiers and the notification name.
    pub files: BoundFiles,
    /// Why nothing may be started.
    pub refusals: Vec<Blocker>,
}

/// The parts of a crew that can be started, as an approval covers them.
pub struct ReadyCrew<'a> {
    workers: Vec<WorkerPlan<'a>>,
    role_texts: Vec<(&'a str, &'a str)>,
    crew: &'a Crew,
    grants: &'a KitchenGrants,
}

impl ReadyCrew<'_> {
    /// Returns the tiers.
    pub fn tiers(&self) -> Tiers<'_> {
        Tiers {
            settings: &self.crew.settings,
            workers: &self.workers,
            grants: self.grants,
            sandbox: self.crew.sandbox,
            role_texts: &self.role_texts,
            files: &self.crew.files,
        }
    }

    /// Returns everything that is executed for a PRD.
    pub fn execution<'a>(&'a self, prd: &'a ValidPrd) -> Execution<'a> {
        Execution { prd, tiers: self.tiers() }
    }
}

impl Crew {
    /// Returns the settings with the flags of the command, and the concurrency that the policy allows.
    pub(crate) fn settings_with(&self, flags: &Flags) -> Settings {
        let most = self.grants.as_ref().and_then(|grants| grants.max_parallel);
        self.settings.with_flags(flags).within(most)
    }

    /// Returns the parts that would be started; `None` if something refuses the start.
    pub fn ready(&self) -> Option<ReadyCrew<'_>> {
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
        Some(ReadyCrew { workers, role_texts, crew: self, grants })
    }

    /// Returns the worker of a tier, ready to start; `None` if its program is missing.
    pub(crate) fn tier_worker(&self, tier: Tier, workspace: &Path) -> Option<TierWorker> {
        let worker = self.workers.iter().find(|worker| worker.tier == tier)?;
        let settings = &self.settings;
        Some(TierWorker {
            tier,
            command: worker.command.argv().clone(),
            adapter: worker.adapter.clone()?,
            permissions: if settings.skip_permissions {
                PermissionMode::Skip
            } else {
                PermissionMode::Narrow
            },
            may_skip: self.grants.as_ref().is_some_and(|grants| grants.skip_permissions),
            server: Some(settings.opencode_server.clone()).filter(|server| !server.is_empty()),
            env_labels: worker.env_labels.clone(),
            program: Some(workspace.join(worker.program.as_ref()?)),
            bytes: worker.bytes,
            files: self.files.clone(),
        })
    }

    /// Returns the refusals, for reports.
    pub fn refusal_lines(&self) -> Vec<ErrorLine> {
        let line = |blocker: &Blocker| {
            let place = blocker.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
            ErrorLine::with(format!("{place}{}", blocker.message), blocker.into())
        };
        self.refusals.iter().map(line).collect()
    }

    /// Returns a note if no sandbox limits what is started.
    pub(crate) fn sandbox_note(&self) -> Option<String> {
        let note = "no sandbox is on, so workers and verification can do whatever you can: set `mode` in [sandbox] of \
                    policy.toml";
        (self.sandbox == SandboxMode::Off.as_str()).then(|| note.to_owned())
    }

    /// Returns notes about permissions for a person who approves.
    pub fn notes(&self) -> Vec<String> {
        let wants_skip = self.settings.skip_permissions;
        let mut notes: Vec<String> = self.sandbox_note().into_iter().collect();
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
            let (tier, program) = (worker.tier, worker.command.argv().program());
            let why = worker.missing.unwrap_or(MissingProgramReason::NotFound);
            notes.push(format!("the program of the {tier} tier, `{program}`: {why}"));
        }
        notes
    }
}

impl Kitchen<'_> {
    /// Determines the workers for these settings, and what refuses their start.
    pub fn crew(&self, configuration: &Configuration, prd: Option<&ValidPrd>) -> Crew {
        let config = &configuration.config;
        let settings = prd.map_or_else(|| config.settings.clone(), |prd| config.for_prd(prd));
        let grants = configuration.policy.kitchen();
        let mut refusals: Vec<Blocker> = Vec::new();
        for issue in config.issues.iter().filter(|issue| issue.severity == Severity::Error) {
            let field = issue.field.as_ref().map(|field| format!("{field}: ")).unwrap_or_default();
            let blocker = Blocker::new(ErrorCode::KitchenConfigInvalid, format!("{field}{}", issue.message));
            refusals.push(blocker.at(issue.place.clone()));
        }
        if grants.is_none() {
            let invalid = configuration.policy.issues().iter();
            let invalid = invalid.filter(|issue| issue.severity == Severity::Error);
            refusals.extend(invalid.map(|issue| {
                let field = issue.field.as_ref().map(|field| format!("{field}: ")).unwrap_or_default();
                let blocker = match issue.is_tracked() {
                    true => Blocker::new(ErrorCode::TrackedState, issue.message.clone()),
                    false => Blocker::new(ErrorCode::PolicyInvalid, format!("{field}{}", issue.message)),
                };
                blocker.at(issue.place.clone())
            }));
        }
        let workers: Vec<Worker> = Tier::ALL
            .iter()
            .map(|tier| self.worker(*tier, configuration, &settings, grants.as_ref(), &mut refusals))
            .collect();
        if let Some(grants) = &grants {
            self.refuse_commands(configuration, &settings, prd, grants, &mut refusals);
        }
        let mode = |policy: &Policy| policy.sandbox.mode.as_ref().map(|mode| mode.value);
        let sandbox = configuration.policy.policy().and_then(mode);
        let files = self.named_files(&settings, &workers);
        Crew {
            settings,
            grants,
            sandbox: sandbox.unwrap_or(SandboxMode::Off).as_str(),
            workers,
            role_texts: configuration.role_texts.clone(),
            files,
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
        let mut refuse = |code: ErrorCode, message: String, place: Option<Place>| {
            refusals.push(Blocker::new(code, message).at(place));
        };
        let program = self.find_worker(command.argv().program());
        let adapter = match adapter::choose(&config.adapters, settings.adapter_name(tier), command.argv()) {
            Ok(adapter) => Some(adapter.clone()),
            Err(name) => {
                let message = format!("unknown adapter `{name}` in the {tier} tier");
                refuse(ErrorCode::AdapterUnknown, message, place("adapter"));
                None
            }
        };
        let bytes = program.as_deref().filter(|_| settings.bind_workers).and_then(|path| {
            let opened = OpenedProgram::open(self.fs.root().join(path));
            opened.ok().map(|program| program.fingerprint())
        });
        let missing = program.is_none().then(|| self.missing_reason(command.argv().program()));
        let mut worker = Worker {
            missing,
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
        worker.env_labels = settings.env_labels(tier).unwrap_or(&adapter.env_labels).to_vec();
        let Some(grants) = grants else { return worker };
        let mode = if settings.skip_permissions { PermissionMode::Skip } else { PermissionMode::Narrow };
        let server = Some(settings.opencode_server.as_str());
        let may_skip = grants.skip_permissions;
        match adapter.start(worker.command.argv(), mode, may_skip, PROMPT_FILE, ANSWER_FILE, server) {
            Ok(started) => {
                worker.argv = Some(started.argv.words().to_vec());
                worker.permissions = Some(started.permissions);
            }
            Err(fault) => {
                refuse(ErrorCode::WorkerCommandInvalid, format!("{tier} tier: {fault}"), place("command"))
            }
        }
        let work = CrewWork::Worker(CrewWorker {
            program: worker.command.argv().program(),
            adapter: &adapter.id,
            skips_permissions: worker.permissions == Some(Permissions::Skipped),
            write_paths: &adapter.write_paths,
            env_labels: &worker.env_labels,
            may_change: true,
        });
        refusals.extend(self.objections(configuration, work).into_iter().map(|blocker| {
            let message = format!("{tier} tier: {}", blocker.message);
            Blocker { message, ..blocker }
        }));
        worker
    }

    /// Reads the files of the workspace that a person approves with the commands of tiers and the notification.
    fn named_files(&self, settings: &Settings, workers: &[Worker]) -> BoundFiles {
        let mut files = BoundFiles::new();
        for worker in workers {
            let words = worker.command.argv().words().iter().chain(&worker.program).map(String::as_str);
            bind(&*self.fs, words, &mut files);
        }
        if let Some(command) = &settings.notify_command {
            let program = command.argv().first().and_then(|word| self.find_worker(word));
            let words = words_of(command);
            bind(&*self.fs, words.iter().chain(&program).map(String::as_str), &mut files);
        }
        files
    }

    /// Returns the policy's objections to a start.
    fn objections(&self, configuration: &Configuration, work: CrewWork<'_>) -> Vec<Blocker> {
        let facts = CrewFacts { work, timeout: None, in_workspace: false };
        let is_set = |name: &str| self.environment.is_set(name);
        decide_crew(&configuration.policy, &facts, &is_set).blockers
    }

    /// Returns the policy's objections to commands without a shell, and to commands with one. The policy judges the
    /// shell and the effects, not the words, so one check covers all commands of a kind.
    pub(crate) fn command_objections(
        &self,
        configuration: &Configuration,
        settings: &Settings,
    ) -> [Vec<Blocker>; 2] {
        let effects = settings.verification_effects.as_deref();
        [false, true]
            .map(|needs_shell| self.objections(configuration, CrewWork::Command { needs_shell, effects }))
    }

    /// Finds the program of a worker. A program in the workspace has a relative path.
    fn find_worker(&self, word: &str) -> Option<String> {
        let path_variable = self.environment.get("PATH");
        let found =
            find_program(word, self.fs.root(), path_variable, |path: &Path| is_program(&*self.fs, path))?;
        Some(self.shown_path(&found))
    }

    fn missing_reason(&self, word: &str) -> MissingProgramReason {
        let is_file =
            |path: &Path| self.fs.metadata_outside(path).is_ok_and(|found| found.kind == FileKind::File);
        match find_program(word, self.fs.root(), self.environment.get("PATH"), is_file) {
            Some(_) => MissingProgramReason::NotExecutable,
            None => MissingProgramReason::NotFound,
        }
    }

    /// Lists what the settings and the PRD request but the policy does not grant.
    fn refuse_commands(
        &self,
        configuration: &Configuration,
        settings: &Settings,
        prd: Option<&ValidPrd>,
        grants: &KitchenGrants,
        refusals: &mut Vec<Blocker>,
    ) {
        let place = |key: &str| configuration.config.places.get(key).cloned();
        let refused = self.command_objections(configuration, settings);
        let mut judge = |what: String, command: &Command, at: Option<Place>| {
            refusals.extend(refused[usize::from(command.needs_shell())].iter().map(|blocker| {
                let message = format!("{what}: {}", blocker.message);
                let place = at.clone().or_else(|| blocker.place.clone());
                Blocker { message, place, ..blocker.clone() }
            }));
        };
        let is_of_prd = prd.is_some_and(|prd| prd.test_command.is_some());
        let test_place = if is_of_prd { None } else { place("test_cmd") };
        let keys = [
            ("setup of worktrees", &settings.worktree_setup, place("worktree.setup")),
            ("test command", &settings.test_cmd, test_place),
            ("notification", &settings.notify_command, place("notify.command")),
        ];
        for (what, command, at) in keys {
            if let Some(command) = command {
                judge(what.to_owned(), command, at);
            }
        }
        let tasks = prd.into_iter().filter(|_| settings.verification_enabled).flat_map(|prd| &prd.tasks);
        for task in tasks {
            for entry in &task.verification {
                judge(task.id.to_string(), &entry.command, Some(entry.place.clone()));
            }
        }
        for (requested, allowed, key) in
            [(settings.merge, grants.merge, "merge"), (settings.push, grants.push, "push")]
        {
            if requested && !allowed {
                let message = format!("`{key}` is on, and the policy does not allow it");
                let blocker = Blocker::new(ErrorCode::KitchenRefused, message).at(place(key));
                refusals.push(if key == "push" { blocker.hint(KitchenGrants::PUSH_NEEDS) } else { blocker });
            }
        }
    }
}
