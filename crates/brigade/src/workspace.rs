//! A workspace: the directory that holds `.brigade`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use brigade_access::LANES;
use brigade_call::StoreKind;
use brigade_core::ErrorCode;
use brigade_core::text::escape_terminal;
#[cfg(feature = "builtin")]
use brigade_db::records::Lane;
use brigade_fs::{DiskFs, Fs, RelPath};
#[cfg(feature = "team")]
use brigade_ops::{RunnerEvent, TeamRunnerReport};

use brigade_ops::{
    Calls, Checkpoints, Clients, Daily, Error, ErrorKind, Inbox, MARKER, Onboarding, Packs, Parity, Pins,
    Projections, Registry, Runs, Runtimes, SetupLevel, WebLogins, marked_workspace,
};
#[cfg(feature = "team")]
use brigade_process::CancelToken;
use brigade_workspace::{SourceFiles, did_you_mean, near_path, no_home, own_programs};

use crate::agent_calls::AgentCalls;
use crate::agents::Agents;
use crate::catalog::Tools;
use crate::doctor::Doctor;
use crate::env::Env;
use crate::kitchens::Kitchen;
#[cfg(feature = "builtin")]
use crate::memories::Memories;
use crate::policies::Policies;
#[cfg(feature = "builtin")]
use crate::pull_requests::PullRequests;
use crate::reviewer::Reviewer;
use crate::sample::{NewFile, make_folder, write_files};
use crate::state::State;
use crate::work::Work;
use crate::workflow;
use crate::workspace_inner::WorkspaceInner;

/// The directory of the user's gateway, in the directory of configurations.
const USER_GATEWAY: &str = "brigade/gateway";

/// An open workspace, with one handle of operations per subject. Clones share caches.
///
/// Opening reads no files. Each operation reads the files it needs, once.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let catalog = "[[tool]]\nid = 'greet'\nname = 'Greet'\nfamily = 'script'\ncommand = 'echo hello'\n\
/// #     input_schema_path = 'greet.json'\n[tool.argument_template]\nname = '{name}'\n";
/// # let schema = r#"{"type": "object", "properties": {"name": {"type": "string"}}}"#;
/// # let files = [brigade::NewFile::new(".brigade/tools.toml", catalog), brigade::NewFile::new("greet.json", schema)];
/// # let path = directory.path();
/// # Workspace::with_files(path, &files, Env::of_process())?;
/// use brigade::{Env, Request, Workspace};
///
/// let workspace = Workspace::open(path, Env::of_process())?;
/// let queued = workspace.calls().queue(Request::new("greet").arg("name", "world"))?;
/// workspace.calls().approve(&queued.call.id)?;
/// let run = workspace.calls().run(&queued.call.id)?;
/// assert_eq!(run.receipt.stdout_summary, "hello world");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Workspace {
    pub(crate) inner: Arc<WorkspaceInner>,
}

impl Workspace {
    /// Opens a directory as a workspace, with or without `.brigade`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`] if the directory cannot be opened.
    pub fn open(target: &Path, env: Env) -> Result<Workspace, Error> {
        let fs: Arc<dyn Fs> = match &env.files {
            Some(files) => files.clone(),
            None => Arc::new(DiskFs::open(&env.environment.expand(target)).map_err(|error| {
                let unusable = Error::new(ErrorKind::Usage, format!("the target cannot be used: {error}"))
                    .coded(ErrorCode::TargetUnusable);
                match near_path(target, &env.environment.expand(target)) {
                    Some(near) => unusable.hint(did_you_mean(&near)),
                    None => unusable,
                }
            })?),
        };
        Ok(Workspace::over(fs, env))
    }

    /// Opens the nearest directory with `.brigade`, from `start` upwards, or `start` without one.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`] if `start` cannot be opened.
    pub fn discover(start: &Path, env: Env) -> Result<Workspace, Error> {
        let workspace = Workspace::open(start, env.clone())?;
        let start = workspace.root().to_owned();
        if env.files.is_some() {
            return Ok(workspace);
        }
        for folder in start.ancestors() {
            if folder == start && workspace.inner.fs.exists(&RelPath::from_static(MARKER))? {
                break;
            }
            if let Some(fs) = marked_workspace(folder) {
                return Ok(Workspace::over(Arc::new(fs), env));
            }
        }
        Ok(workspace)
    }

    /// Opens the workspace of the gateway that serves all projects of the user, and makes its directory.
    ///
    /// # Errors
    /// Fails without a home directory, and if the directory cannot be made.
    pub fn for_user(env: Env) -> Result<Workspace, Error> {
        let folder = env.environment.config_folder().ok_or_else(|| no_home(&env.environment))?;
        let folder = folder.join(USER_GATEWAY);
        make_folder(&folder)?;
        Workspace::open(&folder, env)
    }

    /// Opens the workspace of [`Workspace::for_user`], if it was set up.
    pub fn of_user(env: Env) -> Option<Workspace> {
        let folder = env.environment.config_folder()?.join(USER_GATEWAY);
        let fs = marked_workspace(&folder)?;
        Some(Workspace::over(Arc::new(fs), env))
    }

    /// Returns whether this is the workspace of [`Workspace::for_user`].
    pub fn is_for_user(&self) -> bool {
        let folder = self.inner.environment.config_folder().map(|folder| folder.join(USER_GATEWAY));
        folder.and_then(|folder| DiskFs::open(&folder).ok()).is_some_and(|fs| fs.root() == self.root())
    }

    /// Narrows the decisions on calls by the policy of a project, which is read for each call. What it blocks is
    /// blocked, and a rule approves only what one of its rules covers, too. A project without a policy narrows nothing.
    #[must_use]
    pub fn narrowed_by(&self, project: &Workspace) -> Workspace {
        self.with_env(|env| Env { project: Some(project.inner.context.clone()), ..env })
    }

    /// Returns the root of the project that narrows this workspace.
    pub fn project_root(&self) -> Option<&Path> {
        self.inner.context.project.as_ref().map(|project| project.fs.root())
    }

    /// Removes the directory of a workspace, and those above it, as long as they are empty.
    pub fn remove_if_empty(&self) {
        let mut folder = self.root();
        while let (Some(above), Some(name)) =
            (folder.parent(), folder.file_name().and_then(|name| name.to_str()))
        {
            let removed = || DiskFs::open(above).ok()?.remove_dir(&name.parse().ok()?).ok();
            if removed().is_none() {
                return;
            }
            folder = above;
        }
    }

    /// Opens the workspace of the current directory with the environment of this process.
    ///
    /// # Errors
    /// Fails if the directory cannot be opened.
    pub fn here() -> Result<Workspace, Error> {
        let start = brigade_process::current_dir().map_err(|error| {
            Error::new(
                ErrorKind::Environment,
                format!("the current directory cannot be found: {}", error.kind()),
            )
        })?;
        Workspace::discover(&start, Env::of_process())
    }

    /// Finds a program for Brigade's own use on `PATH`, never in a directory that agents can write.
    pub fn own_program(&self, name: &str) -> Option<PathBuf> {
        own_programs(&*self.inner.fs, &self.inner.environment).find(name).found()
    }

    /// Ends the tasks of agents that run in this process, and waits for their workers. Nothing begins after that.
    pub fn end_tasks(&self, timeout: std::time::Duration) {
        self.inner.running.end(timeout);
    }

    /// Continues workflows whose processes are gone. They run in this process, as those who began them.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn take_over(&self) -> Result<(), Error> {
        Ok(workflow::take_over(&self.inner)?)
    }

    /// Creates a workspace with these files in an empty or new directory.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`] if the directory is not empty or its path leads through a file, and file errors.
    pub fn with_files(folder: &Path, files: &[NewFile], env: Env) -> Result<Workspace, Error> {
        if env.files.is_none() {
            make_folder(&env.environment.expand(folder))?;
        }
        let workspace = Workspace::open(folder, env)?;
        if !workspace.inner.fs.list_dir(&RelPath::root())?.is_empty() {
            let error =
                Error::new(ErrorKind::Usage, "the directory is not empty").coded(ErrorCode::FileExists);
            return Err(error.hint("name another one, or remove what is in it"));
        }
        workspace.write_files(files)?;
        Ok(workspace)
    }

    /// Writes files, replacing existing ones.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn write_files(&self, files: &[NewFile]) -> Result<(), Error> {
        write_files(&*self.inner.fs, files)
    }

    /// Removes the directory of a workspace that [`Workspace::with_files`] made, with everything in it.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn remove_directory(&self) -> Result<(), Error> {
        let root = self.inner.fs.root();
        let name = root.file_name().and_then(|name| name.to_str()?.parse::<RelPath>().ok());
        let (Some(parent), Some(name)) = (root.parent(), name) else {
            return Err(Error::new(ErrorKind::Usage, "this directory cannot be removed"));
        };
        Ok(DiskFs::open(parent)?.remove_tree(&name)?)
    }

    fn over(fs: Arc<dyn Fs>, env: Env) -> Workspace {
        Workspace { inner: Arc::new(WorkspaceInner::new(fs, env)) }
    }

    /// Returns the same workspace with another environment, such as another caller. Files and caches are shared.
    #[must_use]
    pub fn with_env(&self, change: impl FnOnce(Env) -> Env) -> Workspace {
        Workspace { inner: Arc::new(self.inner.with_env(change)) }
    }

    /// Syncs records that were [written late](Env::syncs_late).
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn sync(&self) -> Result<(), Error> {
        Ok(self.inner.late.now()?)
    }

    /// Checks that no program of a run asks for what decides or widens, such as serving.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Refused`] inside a run, unless the workspace is in the run's own directory.
    pub fn require_outside_run(&self) -> Result<(), Error> {
        Ok(self.inner.require_outside_run()?)
    }

    /// Returns what an agent may do with its own calls. The environment's caller says which agent it is.
    pub fn agent_calls(&self) -> AgentCalls {
        AgentCalls { inner: self.inner.clone() }
    }

    /// Returns whether the directory has `.brigade`.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn exists(&self) -> Result<bool, Error> {
        Ok(self.inner.fs.exists(&RelPath::from_static(MARKER))?)
    }

    /// Returns the absolute path of the workspace.
    pub fn root(&self) -> &Path {
        self.inner.fs.root()
    }

    /// Returns the directory of a lane in the workspace, for sessions that work in it.
    ///
    /// # Errors
    /// Returns `not_found` if there never was such a lane. Also fails if its directory is not a worktree.
    pub fn lane_root(&self, lane: &str) -> Result<String, Error> {
        let root = format!("{LANES}/{lane}");
        let found = match self.knows_lane(lane)? {
            true => {
                self.inner.host().files(Some(&root)).map(drop).map_err(|none| (none.to_string(), none.code()))
            }
            false => Err(("there is no such lane".to_owned(), ErrorCode::NotFound)),
        };
        found.map(|()| root).map_err(|(why, code)| {
            let what = format!("lane `{}` cannot be worked in: {why}", escape_terminal(lane));
            let error = Error::new(ErrorKind::NotFound, what).coded(code);
            error.hint("`lane.list` lists the lanes of the workspace with their ids")
        })
    }

    /// Returns whether there is or was a lane with this id.
    #[cfg(feature = "builtin")]
    fn knows_lane(&self, lane: &str) -> Result<bool, Error> {
        let Some(store) = self.inner.stores.reading(&*self.inner.fs)? else { return Ok(false) };
        match store.record::<Lane>(None, lane) {
            Ok(_) => Ok(true),
            Err(error) if error.answered_code() == ErrorCode::NotFound => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// A build without the tools that make lanes has none.
    #[cfg(not(feature = "builtin"))]
    fn knows_lane(&self, _lane: &str) -> Result<bool, Error> {
        Ok(false)
    }

    /// Returns the operations on calls.
    pub fn calls(&self) -> Calls {
        self.inner.calls()
    }

    /// Returns where calls are stored, and in what: the file of the queue, or the address of the team's database.
    pub fn calls_path(&self) -> (String, StoreKind) {
        (self.inner.calls_path(), self.inner.store_kind())
    }

    /// Returns the operations on the team of the workspace.
    #[cfg(feature = "team")]
    pub fn team(&self) -> brigade_ops::team::Team {
        brigade_ops::team::Team::new(self.inner.context.clone())
    }

    /// Returns who decides here. Asks the database of a joined team.
    ///
    /// # Errors
    /// Fails if the team cannot be asked.
    pub fn reviewer(&self) -> Result<Reviewer, Error> {
        #[cfg(feature = "team")]
        {
            let team = self.team().status()?;
            if let Some(name) = team.member {
                let decides = team.roles.iter().any(|role| role == "reviewer");
                return Ok(Reviewer { name, decides });
            }
        }
        Ok(Reviewer { name: brigade_process::account_name().unwrap_or_default(), decides: true })
    }

    /// Runs approved calls of the team on this host. The first request of `signals` lets the runs end, and the second
    /// one ends them.
    ///
    /// # Errors
    /// Fails if the workspace has not joined, if the member is not a runner, and if the database cannot be reached at
    /// first.
    #[cfg(feature = "team")]
    pub fn run_team_calls(
        &self,
        request: &brigade_ops::team::RunnerRequest,
        signals: &CancelToken,
        found: &mut dyn FnMut(&RunnerEvent),
    ) -> Result<TeamRunnerReport, Error> {
        let make = |hooks: brigade_ops::team::RunnerHooks| {
            let env = |env: Env| env.store(hooks.store).cancel(hooks.cancel).progress(hooks.progress);
            Arc::new(self.inner.with_env(env)).calls()
        };
        self.team().run_calls(request, signals, &make, found)
    }

    /// Returns the operations on runs.
    pub fn runs(&self) -> Runs {
        Runs::new(self.inner.context.clone())
    }

    /// Returns what agents are shown, and the agents of the gateway.
    pub fn agents(&self) -> Agents {
        Agents { inner: self.inner.clone() }
    }

    /// Returns the operations on checkpoints.
    pub fn checkpoints(&self) -> Checkpoints {
        self.inner.checkpoints()
    }

    /// Returns the operations on agent programs that use the workspace.
    pub fn clients(&self) -> Clients {
        Clients::new(self.inner.context.clone())
    }

    /// Returns the operations that put programs and servers behind the gateway of this workspace.
    pub fn onboarding(&self, level: SetupLevel) -> Onboarding {
        Onboarding::new(self.inner.context.clone(), level)
    }

    /// Returns the operations on the tools of other agent programs.
    pub fn registry(&self) -> Registry {
        Registry::new(self.inner.context.clone())
    }

    /// Returns the operations on runtimes.
    pub fn runtimes(&self) -> Runtimes {
        Runtimes::new(self.inner.context.clone())
    }

    /// Returns the operations on projections.
    pub fn projections(&self) -> Projections {
        Projections::new(self.inner.context.clone())
    }

    /// Returns the operations on the policy.
    pub fn policy(&self) -> Policies {
        Policies { inner: self.inner.clone() }
    }

    /// Returns the operations on the catalog.
    pub fn catalog(&self) -> Tools {
        Tools { inner: self.inner.clone() }
    }

    /// Returns the operations on tool packs.
    pub fn packs(&self) -> Packs {
        Packs::new(self.inner.context.clone())
    }

    /// Returns the operations on pins.
    pub fn pins(&self) -> Pins {
        Pins::new(self.inner.context.clone())
    }

    /// Returns the operations on what waits for a person.
    pub fn work(&self) -> Work {
        Work { inner: self.inner.clone() }
    }

    /// Returns the operations of every day, on what waits and what ran.
    pub fn daily(&self) -> Daily {
        Daily::new(self.inner.context.clone(), self.inner.calls(), Arc::new(self.work()))
    }

    /// Returns the operations on the memories of agents.
    #[cfg(feature = "builtin")]
    pub fn memories(&self) -> Memories {
        Memories { inner: self.inner.clone() }
    }

    /// Returns the operations on the pull requests of lanes.
    #[cfg(feature = "builtin")]
    pub fn pull_requests(&self) -> PullRequests {
        PullRequests { inner: self.inner.clone() }
    }

    /// Returns the operations on the inbox.
    pub fn inbox(&self) -> Inbox {
        Inbox::new(self.inner.context.clone())
    }

    /// Returns the one-time tokens of the page.
    pub fn web_logins(&self) -> WebLogins {
        WebLogins::new(self.inner.context.clone())
    }

    /// Returns the operations on the kitchen.
    pub fn kitchen(&self) -> Kitchen {
        Kitchen { inner: self.inner.clone() }
    }

    /// Returns the operations on parity.
    pub fn parity(&self) -> Parity {
        Parity::new(self.inner.context.clone())
    }

    /// Returns the operations on the state.
    pub fn state(&self) -> State {
        State { inner: self.inner.clone() }
    }

    /// Returns the reader of source lines for messages.
    pub fn sources(&self) -> SourceFiles {
        self.inner.sources()
    }

    /// Returns the diagnosis of the workspace.
    pub fn doctor(&self) -> Doctor {
        Doctor { inner: self.inner.clone() }
    }
}
