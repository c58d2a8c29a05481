//! Operations on the kitchen: a crew of coding agents that works through PRDs.

use std::path::Path;
use std::sync::Arc;

use brigade_catalog::ToolId;
use brigade_core::NextStep;
use brigade_fs::RelPath;
use brigade_kitchen::approval::{ApprovalReport, ValidationReport, WorkersReport};
use brigade_kitchen::map::KitchenMapReport;
use brigade_kitchen::plan::KitchenPlanReport;
use brigade_kitchen::service::ServiceReport;
use brigade_kitchen::show::{Brief, KitchenCostReport, StatusReport, SummaryReport};
use brigade_kitchen_run::{
    AnswerReport, AnswerRequest, ApproveStep, ApproveWhat, BacklogSink, DecisionFilter, DecisionsReport,
    FailOn, FailureChoice, FollowTarget, Follower, InitRequest, KitchenCleanReport, KitchenInitReport,
    KitchenLogReport, KitchenReceiptsReport, KitchenVerifyReport, LogEnd, LogRequest, LogSink, MapRequest,
    PlanRequest, PlanWish, PrdNames, PrdSearch, ServiceOptions, WatchView,
};
use brigade_ops::{Error, ErrorKind};

use crate::workspace_inner::WorkspaceInner;

/// How far to read the log of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KitchenLogReach {
    /// To its present end.
    Now,
    /// Until the attempt has ended.
    EndOfAttempt,
}

/// How a plan is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanOptions<'a> {
    /// The file of the PRD; without one, it is named after the feature.
    pub out: Option<&'a Path>,
    /// Whether the map of the code base is left out.
    pub without_map: bool,
}

/// Operations on the kitchen. A path of a PRD that is relative is looked up in the current directory, then in the
/// workspace; without a path, the PRD in progress is taken.
#[derive(Clone)]
pub struct Kitchen {
    pub(crate) inner: Arc<WorkspaceInner>,
}

impl Kitchen {
    fn kitchen(&self) -> brigade_kitchen_run::Kitchen<'_> {
        brigade_kitchen_run::Kitchen::new(&self.inner)
    }

    fn search(&self, prd: Option<&Path>) -> Result<PrdSearch, Error> {
        let prd = prd.map(|path| self.inner.environment.expand(path));
        let directory = brigade_process::current_dir().ok();
        Ok(self.kitchen().search(prd.as_deref(), directory.as_deref())?)
    }

    fn search_task<'t>(&self, prd: Option<&Path>, task: &'t str) -> Result<(PrdSearch, &'t str), Error> {
        let prd = prd.map(|path| self.inner.environment.expand(path));
        let directory = brigade_process::current_dir().ok();
        Ok(self.kitchen().search_task(prd.as_deref(), task, directory.as_deref())?)
    }

    /// Writes `kitchen.toml`, the directory of PRDs and the ignore lines.
    ///
    /// # Errors
    /// Fails if there is a `kitchen.toml` that may not be replaced, inside a run, or on a disk error.
    pub fn init(&self, request: InitRequest) -> Result<KitchenInitReport, Error> {
        self.inner.require_outside_run()?;
        let report = self.kitchen().init(request)?;
        Ok(KitchenInitReport::spelled(report, &self.inner.speller()))
    }

    /// Makes a git repository of a new workspace, with one commit of its files.
    ///
    /// # Errors
    /// Fails if the workspace is in a repository, or git fails.
    pub fn new_repository(&self, message: &str) -> Result<(), Error> {
        Ok(self.kitchen().new_repository(message)?)
    }

    /// Lets the executive plan a feature. Its PRD is validated and written; its questions wait. Does not inside of a
    /// run.
    ///
    /// # Errors
    /// Fails if the wish is the id of a tool, the tiers are not approved, the file exists, no such plan waits, or the
    /// executive gives no valid PRD.
    pub fn plan(&self, wish: PlanWish, options: &PlanOptions<'_>) -> Result<KitchenPlanReport, Error> {
        self.inner.require_outside_run()?;
        if let PlanWish::New(text) = &wish
            && let Ok(id) = text.trim().parse::<ToolId>()
            && brigade_workspace::read_catalog(&*self.inner.fs)
                .is_ok_and(|catalog| catalog.tool(id.as_str()).is_some())
        {
            let message = format!("`{id}` is a tool, and a plan is made of what a feature should do");
            return Err(Error::new(ErrorKind::Usage, message).hint(NextStep::PlanProjections(id.to_string())));
        }
        let out = options.out.map(|out| self.file(out)).transpose()?;
        let cancel = self.inner.env.cancel.clone();
        let request = PlanRequest { wish, out, without_map: options.without_map, cancel };
        let report = self.kitchen().plan(&request)?;
        Ok(report.spelled(&self.inner.speller()))
    }

    /// Writes the map of the code base. The executive adds a part only outside of runs.
    ///
    /// # Errors
    /// Fails if the file is not one of our maps, or the tiers are not approved whose executive should add a part.
    pub fn map(&self, file: Option<&Path>, request: MapRequest) -> Result<KitchenMapReport, Error> {
        if request.worker {
            self.inner.require_outside_run()?;
        }
        let file = file.map(|file| self.file(file)).transpose()?.or(request.file);
        let cancel = request.cancel.or_else(|| self.inner.env.cancel.clone());
        Ok(self.kitchen().map(&MapRequest { file, cancel, ..request })?)
    }

    /// Checks a PRD. Its errors are in the report.
    ///
    /// # Errors
    /// Fails if the PRD does not exist, or on a disk error.
    pub fn validate(&self, prd: Option<&Path>, fail_on: FailOn) -> Result<ValidationReport, Error> {
        Ok(self.kitchen().validate(&self.search(prd)?, fail_on)?)
    }

    /// Shows the tiers and their workers.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn workers(&self) -> Result<WorkersReport, Error> {
        Ok(self.kitchen().workers()?)
    }

    /// Shows what would be executed for a PRD, and approves it or takes the approval back. Does not inside of a run.
    ///
    /// # Errors
    /// Fails if the PRD has errors, something refuses to start its workers, or the fingerprint is another one.
    pub fn approve(&self, prd: Option<&Path>, step: &ApproveStep) -> Result<ApprovalReport, Error> {
        self.approve_what(&ApproveWhat::Prd(self.search(prd)?), step)
    }

    /// Does the same for the commands of the tiers alone, which planning starts.
    ///
    /// # Errors
    /// As [`Kitchen::approve`].
    pub fn approve_workers(&self, step: &ApproveStep) -> Result<ApprovalReport, Error> {
        self.approve_what(&ApproveWhat::Workers, step)
    }

    fn approve_what(&self, what: &ApproveWhat, step: &ApproveStep) -> Result<ApprovalReport, Error> {
        self.inner.require_outside_run()?;
        Ok(self.kitchen().approve(what, step)?)
    }

    /// Returns the state of a PRD.
    ///
    /// # Errors
    /// Fails if the PRD does not exist, or it has errors.
    pub fn status(&self, prd: Option<&Path>) -> Result<StatusReport, Error> {
        Ok(self.kitchen().status(&self.search(prd)?)?)
    }

    /// Returns the same in the shortest form.
    ///
    /// # Errors
    /// As [`Kitchen::status`].
    pub fn brief(&self, prd: Option<&Path>) -> Result<Brief, Error> {
        Ok(self.kitchen().brief(&self.search(prd)?)?)
    }

    /// Calls `show` with the state of a PRD, at once and at each change, until no service runs or `show` says so.
    ///
    /// # Errors
    /// As [`Kitchen::status`].
    pub fn watch(
        &self,
        prd: Option<&Path>,
        follow: FollowTarget,
        show: &mut dyn FnMut(&WatchView) -> std::ops::ControlFlow<()>,
    ) -> Result<(), Error> {
        Ok(self.kitchen().watch(&self.search(prd)?, follow, self.inner.env.cancel.as_ref(), show)?)
    }

    /// Returns whether the workspace has a kitchen.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn is_there(&self) -> Result<bool, Error> {
        Ok(self.kitchen().exists()?)
    }

    /// Returns the names of the PRDs and of their tasks.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn names(&self) -> Result<Vec<PrdNames>, Error> {
        Ok(self.kitchen().names()?)
    }

    /// Lists the decisions of a PRD, or of all.
    ///
    /// # Errors
    /// Fails if the PRD does not exist, or on a disk error.
    pub fn decisions(&self, prd: Option<&Path>, which: DecisionFilter) -> Result<DecisionsReport, Error> {
        let search = prd.map(|prd| self.search(Some(prd))).transpose()?;
        Ok(self.kitchen().decisions(search.as_ref(), which)?)
    }

    /// Answers a decision, as a person. Does not inside of a run.
    ///
    /// # Errors
    /// Fails if no such decision waits, or the answer does not fit.
    pub fn answer(&self, request: &AnswerRequest) -> Result<AnswerReport, Error> {
        self.inner.require_outside_run()?;
        let report = self.kitchen().answer(request)?;
        Ok(report.spelled(&self.inner.speller()))
    }

    /// Answers failures of a PRD that wait, as a person: the oldest, or all. Does not inside of a run.
    ///
    /// # Errors
    /// Fails if the PRD does not exist, or no failure waits.
    pub fn answer_failures(
        &self,
        prd: Option<&Path>,
        choice: FailureChoice,
        all: bool,
    ) -> Result<usize, Error> {
        self.inner.require_outside_run()?;
        Ok(self.kitchen().answer_failures(&self.search(prd)?, choice, all)?)
    }

    /// Writes the report of a PRD in Markdown, to a file if one is named.
    ///
    /// # Errors
    /// Fails if the PRD does not exist, it has errors, or the file exists and is not such a report.
    pub fn summary(
        &self,
        prd: Option<&Path>,
        file: Option<&Path>,
        may_replace: bool,
    ) -> Result<SummaryReport, Error> {
        let file = file.map(|file| self.file(file)).transpose()?;
        Ok(self.kitchen().summary(&self.search(prd)?, file.as_ref(), may_replace)?)
    }

    /// Returns what the workers of a PRD cost.
    ///
    /// # Errors
    /// As [`Kitchen::status`].
    pub fn cost(&self, prd: Option<&Path>) -> Result<KitchenCostReport, Error> {
        Ok(self.kitchen().cost(&self.search(prd)?)?)
    }

    /// Returns the state of the PRD of a task, with only this task.
    ///
    /// # Errors
    /// As [`Kitchen::status`], and if there is no such task.
    pub fn task(&self, prd: Option<&Path>, task: &str) -> Result<StatusReport, Error> {
        let (search, task) = self.search_task(prd, task)?;
        Ok(self.kitchen().task_status(&search, task)?)
    }

    /// Returns the log of an attempt.
    ///
    /// # Errors
    /// Fails if the PRD does not exist, task or attempt.
    pub fn log(&self, prd: Option<&Path>, request: LogRequest<'_>) -> Result<KitchenLogReport, Error> {
        let (search, task) = self.search_task(prd, request.task)?;
        Ok(self.kitchen().log(&search, LogRequest { task, ..request })?)
    }

    /// Passes the log of an attempt in pieces. Following ends with the attempt, or when the cancel token is set. An
    /// error of `sink` breaks it off.
    ///
    /// # Errors
    /// Fails if the PRD does not exist, task or attempt. Following also needs a cancel token.
    pub fn pass_log(
        &self,
        prd: Option<&Path>,
        request: LogRequest<'_>,
        reach: KitchenLogReach,
        sink: LogSink<'_>,
    ) -> Result<std::ops::ControlFlow<std::io::Error>, Error> {
        let end = match (reach, &self.inner.env.cancel) {
            (KitchenLogReach::Now, _) => LogEnd::Now,
            (KitchenLogReach::EndOfAttempt, Some(cancel)) => LogEnd::OfAttempt(cancel),
            (KitchenLogReach::EndOfAttempt, None) => {
                return Err(Error::new(ErrorKind::Usage, "following a log needs something that ends it"));
            }
        };
        let (search, task) = self.search_task(prd, request.task)?;
        Ok(self.kitchen().pass_log(&search, LogRequest { task, ..request }, end, sink)?)
    }

    /// Lists the newest receipts, at most this many.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn receipts(&self, limit: usize) -> Result<KitchenReceiptsReport, Error> {
        Ok(self.kitchen().receipts(limit)?)
    }

    /// Shows one receipt, by its id or a unique prefix of it.
    ///
    /// # Errors
    /// Fails if the receipt does not exist, or several fit.
    pub fn receipt(&self, run: &str) -> Result<KitchenReceiptsReport, Error> {
        Ok(self.kitchen().receipt(run)?)
    }

    /// Checks every receipt. What is wrong is in the report.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn verify_receipts(&self) -> Result<KitchenVerifyReport, Error> {
        Ok(self.kitchen().verify_receipts()?)
    }

    /// Removes the worktrees of a PRD whose work is in the branch, or keeps the work of one task under a ref and
    /// removes its worktree. Does neither inside of a run.
    ///
    /// # Errors
    /// Fails if the PRD does not exist, it has errors, the task has no worktree, or a service has it.
    pub fn clean(&self, prd: Option<&Path>, abandon: Option<&str>) -> Result<KitchenCleanReport, Error> {
        self.inner.require_outside_run()?;
        Ok(self.kitchen().clean(&self.search(prd)?, abandon)?.spelled(&self.inner.speller()))
    }

    /// Tells what a service would do. Needs no approval, and starts nothing.
    ///
    /// # Errors
    /// Fails if the PRD or task does not exist, or a PRD has errors.
    pub fn rehearse(&self, prds: &[&Path], options: &ServiceOptions) -> Result<ServiceReport, Error> {
        Ok(self.kitchen().rehearse(&self.searches(prds)?, options)?.spelled(&self.inner.speller()))
    }

    /// Works through PRDs, one after the other, until one is not complete. Does not inside of a run.
    ///
    /// # Errors
    /// Fails if nothing was begun: a PRD has errors or is not approved, or another service has it.
    pub fn serve(
        &self,
        prds: &[&Path],
        options: &ServiceOptions,
        follower: &dyn Follower,
    ) -> Result<ServiceReport, Error> {
        self.inner.require_outside_run()?;
        let options = self.options(options);
        let report = self.kitchen().serve_all(&self.searches(prds)?, &options, follower)?;
        Ok(report.spelled(&self.inner.speller()))
    }

    /// Works on one task of a PRD until it ends, or nothing can continue. Does not inside of a run.
    ///
    /// # Errors
    /// Fails if nothing was begun: there is no such task, it depends on tasks that are not done, it is not approved
    /// what would be executed, or another service has the PRD.
    pub fn ticket(
        &self,
        prd: Option<&Path>,
        task: &str,
        options: &ServiceOptions,
        follower: &dyn Follower,
    ) -> Result<ServiceReport, Error> {
        self.inner.require_outside_run()?;
        let options = self.options(options);
        let (search, task) = self.search_task(prd, task)?;
        let report = self.kitchen().ticket(&search, task, &options, follower)?;
        Ok(report.spelled(&self.inner.speller()))
    }

    /// Tells what [`Kitchen::ticket`] would do. Needs no approval, and starts nothing.
    ///
    /// # Errors
    /// As [`Kitchen::rehearse`]; also if the task depends on tasks that are not done.
    pub fn rehearse_ticket(
        &self,
        prd: Option<&Path>,
        task: &str,
        options: &ServiceOptions,
    ) -> Result<ServiceReport, Error> {
        let (search, task) = self.search_task(prd, task)?;
        Ok(self.kitchen().rehearse_ticket(&search, task, options)?)
    }

    /// Adds what the environment of the workspace has: who cancels, and the work inbox.
    fn options(&self, options: &ServiceOptions) -> ServiceOptions {
        let mut options = options.clone();
        options.cancel = options.cancel.or_else(|| self.inner.env.cancel.clone());
        let inner = self.inner.clone();
        options.backlog.get_or_insert_with(|| {
            BacklogSink(Arc::new(move |task, found| {
                if let Err(error) = brigade_ops::work::add_backlog(&inner, task, found) {
                    tracing::warn!(%error, "what a worker found is in its backlog file, but not in the inbox");
                }
            }))
        });
        options
    }

    fn searches(&self, prds: &[&Path]) -> Result<Vec<PrdSearch>, Error> {
        prds.iter().map(|prd| self.search(Some(prd))).collect()
    }

    /// Returns where a typed path of a file to be written leads.
    fn file(&self, typed: &Path) -> Result<RelPath, Error> {
        let directory = brigade_process::current_dir().ok();
        Ok(self.kitchen().file(&self.inner.environment.expand(typed), directory.as_deref())?)
    }
}
