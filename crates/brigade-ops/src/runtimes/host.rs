//! The runtimes, prepared for a diagnosis.

use brigade_call::{SeenPart, VerifiedStart};
use brigade_catalog::{Runtime, Runtimes};
use brigade_cmdline::Argv;
use brigade_core::text::escape_terminal;
use brigade_core::{ErrorCode, ErrorKind, NextStep, closest};
use brigade_doctor::ConfigFile;
use brigade_exec::confine_start;
use brigade_fs::{FsError, Location};
use brigade_policy::approval::ReviewState;
use brigade_policy::{Blocker, Decision, Failure, Fault, PolicyState, SandboxMode, decide_health};
use brigade_process::{PrivateFolder, Spec};
use brigade_runtime::{Checks, HealthSandbox, RuntimeFacts, Supervisor};
use brigade_workspace::{
    Config, Host, RUNTIMES, TrustKind, TrustTarget, WorkspaceContext, bound_values, masks, read_runtimes,
    writable_directories,
};

use crate::doctor::error::UpkeepError;

/// The directory of the state of runtimes, relative to the workspace.
pub const STATE: &str = ".brigade/tools/runtime";

/// The state of the configuration file.
pub(crate) enum RuntimesFile {
    Missing,
    Unreadable(String),
    Read(Runtimes),
}

/// The runtimes and their state.
pub(crate) struct FoundRuntimes {
    pub(crate) file: RuntimesFile,
    pub(crate) facts: Vec<RuntimeFacts>,
    /// Ids of running runtimes without an entry.
    pub(crate) left: Vec<String>,
}

/// Reads the runtimes and looks up their processes. Never starts or stops a runtime.
pub(crate) fn find_runtimes(
    context: &WorkspaceContext,
    config: &Config,
    checks: Checks,
) -> Result<FoundRuntimes, UpkeepError> {
    let file = match read_runtimes(&context.host()) {
        Ok(read) => RuntimesFile::Read(read),
        Err(error) if error.is_not_found() => RuntimesFile::Missing,
        Err(error) => RuntimesFile::Unreadable(error.kind.to_string()),
    };
    let machine = machine_of(context.host(), &config.policy)?;
    let supervisor = machine.supervisor();
    let (facts, left) = match &file {
        RuntimesFile::Read(read) => (
            supervisor.facts(read.runtimes(), checks, context.cancel.as_ref()),
            supervisor.left(read.runtimes())?,
        ),
        RuntimesFile::Missing => (Vec::new(), supervisor.left(&[])?),
        // Without the file it is unknown which runtimes have an entry.
        RuntimesFile::Unreadable(_) => (Vec::new(), Vec::new()),
    };
    let left = left.into_iter().map(|runtime| runtime.id.as_str().to_owned()).collect();
    Ok(FoundRuntimes { file, facts, left })
}

impl FoundRuntimes {
    /// Returns the entries, if the file could be read.
    pub(crate) fn read(&self) -> Option<&Runtimes> {
        match &self.file {
            RuntimesFile::Read(read) => Some(read),
            RuntimesFile::Missing | RuntimesFile::Unreadable(_) => None,
        }
    }

    /// Returns the form that `brigade-doctor` takes.
    pub(crate) fn snapshot(&self) -> brigade_doctor::FoundRuntimes<'_> {
        let config = match &self.file {
            RuntimesFile::Missing => ConfigFile::Missing { file: RUNTIMES },
            RuntimesFile::Unreadable(why) => ConfigFile::Unreadable { file: RUNTIMES, why: why.clone() },
            RuntimesFile::Read(read) => ConfigFile::Read(read),
        };
        brigade_doctor::FoundRuntimes { config, facts: &self.facts, left: &self.left }
    }
}

/// The resources of the host that runtimes may use, and the sandbox of their health commands.
pub struct RuntimeHost<'a> {
    host: Host<'a>,
    runtimes: brigade_runtime::Host,
    health: Decision,
    policy: PolicyState,
}

impl RuntimeHost<'_> {
    /// Returns the supervisor of the runtimes of the workspace.
    pub fn supervisor(&self) -> Supervisor<'_> {
        Supervisor::new(self.host.fs, self.host.clock, &self.runtimes, self)
    }

    /// Returns what a person reviews of a runtime: its command, and its health command.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn parts(&self, runtime: &Runtime) -> Result<[(TrustTarget, Vec<SeenPart>); 2], FsError> {
        let of_kind = |kind| TrustTarget::new(kind, runtime.id.as_str());
        let served = self.host.runtime_parts(runtime, &self.outside())?;
        Ok([(of_kind(TrustKind::Runtime), served), self.health_parts(runtime)?])
    }

    fn health_parts(&self, runtime: &Runtime) -> Result<(TrustTarget, Vec<SeenPart>), FsError> {
        let files = self.host.health_files(runtime, &self.outside())?;
        let target = TrustTarget::new(TrustKind::Health, runtime.id.as_str());
        Ok((target, SeenPart::of_health(&files).collect()))
    }

    fn reviewed_health(&self, runtime: &Runtime) -> Result<ReviewState, FsError> {
        let (target, parts) = self.health_parts(runtime)?;
        Ok(self.host.reviewed(&self.policy, &target, parts))
    }

    /// Records what a person starts at the command line. A runtime that changed since a person saw it must be
    /// reviewed first.
    ///
    /// # Errors
    /// Returns the objection, and file errors.
    pub fn review_start(&self, runtime: &Runtime) -> Result<(), Failure> {
        for (target, parts) in self.parts(runtime)? {
            match self.host.reviewed(&self.policy, &target, parts.clone()) {
                ReviewState::Yes => {}
                ReviewState::Never => {
                    self.host.record_review(&self.policy, target, parts, "runtime start")?
                }
                changed @ ReviewState::Changed(_) => {
                    let id = escape_terminal(runtime.id.as_str());
                    let problem = changed.problem().unwrap_or_default();
                    let failure = Failure::new(ErrorKind::Refused, format!("runtime {id}: {problem}"));
                    let failure = failure.coded(ErrorCode::NotReviewed);
                    return Err(failure.hint(NextStep::Trust(format!("runtime:{id}"))));
                }
            }
        }
        Ok(())
    }

    fn outside(&self) -> Vec<String> {
        let policy = self.policy.policy();
        policy.map(|policy| policy.outside_paths.values().cloned().collect()).unwrap_or_default()
    }
}

impl HealthSandbox for RuntimeHost<'_> {
    fn confine(
        &self,
        runtime: &Runtime,
        start: &VerifiedStart,
        spec: &mut Spec,
    ) -> Result<Option<PrivateFolder>, String> {
        let problem = self.reviewed_health(runtime).map_err(|error| error.to_string())?.problem();
        if let Some(problem) = problem {
            let id = escape_terminal(runtime.id.as_str());
            return Err(format!("{problem}; `brigade tools trust runtime:{id}` shows it and asks"));
        }
        if self.health.sandbox.mode == SandboxMode::Off {
            return Ok(None);
        }
        let mut decision = self.health.clone();
        let grants = &mut decision.sandbox.grants;
        // The program may be another one than the first of its name on PATH.
        let program = start.program().to_string_lossy().into_owned();
        let words = std::iter::once(program).chain(start.argv().words().iter().skip(1).cloned());
        let argv = Argv::new(words.collect()).map_err(|error| error.to_string())?;
        let installed = self.host.installed_in(&argv, start.directory());
        grants.program_paths = installed.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        // The working directory, which `[paths] outside` may permit.
        grants.read_paths.push(start.directory().to_string_lossy().into_owned());
        let made = confine_start(&decision, self.host.fs.root(), self.host.environment, None);
        let (temporary, sandbox) = made.map_err(|error| format!("no private temporary folder: {error}"))?;
        spec.sandbox = sandbox;
        spec.private = Some(temporary.disposal());
        spec.environment.retain(|(name, _)| name != "TMPDIR");
        spec.environment.push(("TMPDIR".into(), temporary.path().into()));
        Ok(Some(temporary))
    }
}

/// Returns the environment, outside directories and bound values for runtimes.
pub fn machine_of<'a>(host: Host<'a>, policy: &PolicyState) -> Result<RuntimeHost<'a>, FsError> {
    let mut outside = Vec::new();
    let allowed = policy.policy().map(|policy| policy.outside_paths.values()).into_iter().flatten();
    for folder in allowed {
        if let Location::Outside(folder) = host.fs.resolve(folder, host.home())? {
            outside.push(folder);
        }
    }
    let variables = host.environment.variables();
    let environment = variables.map(|(name, value)| (name.clone(), value.clone())).collect();
    let secrets = bound_values(host.environment, policy);
    let masks = masks(host.environment, policy);
    let refuses_inline_code = policy.refuses_inline_code();
    let bindings = policy.policy().map(|policy| &policy.env_bindings).into_iter().flatten();
    let bindings =
        bindings.map(|(label, variable)| (label.to_string(), variable.value.to_string())).collect();
    let pass = policy.policy().map(|policy| policy.pass.values()).into_iter().flatten();
    let pass = pass.map(ToString::to_string).collect();
    let writable = writable_directories(host.fs.root(), host.home(), policy);
    let runtimes = brigade_runtime::Host {
        environment,
        outside,
        refuses_inline_code,
        secrets,
        masks,
        pass,
        bindings,
        writable,
    };
    Ok(RuntimeHost { host, runtimes, health: decide_health(policy), policy: policy.clone() })
}

/// Finds a runtime of the configuration. It may be disabled or broken.
///
/// # Errors
/// Fails if no runtime has this id, or the file cannot be read.
pub fn find_runtime<'r>(runtimes: &'r Runtimes, id: &str) -> Result<&'r Runtime, Failure> {
    if let Some(runtime) = runtimes.runtime(id.trim()) {
        return Ok(runtime);
    }
    if runtimes.runtimes().is_empty()
        && let Some(issue) =
            runtimes.issues().iter().chain(runtimes.user_issues()).max_by_key(|issue| issue.severity)
    {
        let message = format!("no runtime is known: {}", Fault::from(issue).message);
        let mut reason = Blocker::new(ErrorCode::ConfigInvalid, &message).at(issue.place.clone());
        reason.hint.clone_from(&issue.hint);
        return Err(Failure::new(ErrorKind::InvalidConfig, message).because([reason]));
    }
    let message = format!("no runtime has the id `{}`", escape_terminal(id));
    let failure = Failure::new(ErrorKind::NotFound, message).coded(ErrorCode::RuntimeMissing);
    Err(match closest(id, runtimes.runtimes().iter().map(|runtime| runtime.id.as_str())) {
        Some(near) => failure.hint(format!("did you mean `{}`?", escape_terminal(near))),
        None => failure.hint(NextStep::ListRuntimes),
    })
}
