//! Starts the executive without a PRD: for a plan, and for its part of the map.

use std::path::PathBuf;
use std::time::Duration;

use brigade_core::{ErrorCode, ErrorKind, Fingerprint, NextStep, RunId};
use brigade_fs::RelPath;
use brigade_kitchen::Tier;
use brigade_kitchen::approval::{MissingProgramReason, changes};
use brigade_kitchen::config::Settings;
use brigade_kitchen::prompt::{PlanningPromptInput, role_file};
use brigade_kitchen::signal::Role;
use brigade_policy::{Failure, KitchenGrants, PolicyState};
use brigade_process::CancelToken;

use crate::approve::crew_refusal;
use crate::attempt::{Attempt, AttemptOutcome, TierWorker, attempt, capped_timeout};
use crate::kitchen::Kitchen;
use crate::paths::RUNS;
use crate::receipts::Receipts;
use crate::run::{Host, StartError, Watch};
use crate::service::{MissingProgram, ServeError};

/// The executive, approved together with the other tiers.
pub(crate) struct Executive {
    pub(crate) host: Host,
    pub(crate) settings: Settings,
    policy: PolicyState,
    grants: KitchenGrants,
    fingerprint: Fingerprint,
    worker: TierWorker,
    role_text: Option<String>,
}

/// A request to the executive.
pub(crate) struct ExecutiveRequest<'a> {
    pub(crate) role: Role,
    /// The number of this request for the same plan, from 1.
    pub(crate) number: u64,
    /// Files that the executive must not write.
    pub(crate) closed: &'a [PathBuf],
    pub(crate) cancel: Option<&'a CancelToken>,
    pub(crate) map: Option<&'a str>,
    pub(crate) related: &'a [String],
}

/// The reply of the executive.
pub(crate) struct ExecutiveReply {
    pub(crate) run: RunId,
    pub(crate) attempted: AttemptOutcome,
}

impl ExecutiveReply {
    /// Returns the path for a PRD with errors, next to the logs.
    pub(crate) fn draft_file(&self) -> RelPath {
        RelPath::composed(&format!("{RUNS}/{}.draft.txt", self.run))
    }

    /// Returns the cost: reported by the worker, or computed from the time.
    pub(crate) fn cost_usd(&self, settings: &Settings) -> f64 {
        let by_time = self.attempted.seconds / 60.0 * settings.cost_rate(Tier::Executive);
        self.attempted.cost_usd.unwrap_or(by_time)
    }
}

impl Kitchen<'_> {
    /// Returns the executive, if the current tiers are approved.
    pub(crate) fn executive(&self) -> Result<Executive, Failure> {
        let configuration = self.configuration()?;
        let crew = self.crew(&configuration, None);
        let (fingerprint, items) = {
            let ready = crew.ready().ok_or_else(|| crew_refusal(&crew))?;
            let tiers = ready.tiers();
            (tiers.fingerprint(), tiers.items())
        };
        let life = self.life_of_workers()?;
        let before = life.approval.as_ref();
        if before.map(|before| before.fingerprint) != Some(fingerprint) {
            let failure = match before {
                Some(before) => ServeError::NotApproved { changes: changes(&before.items, &items) }.into(),
                None => Failure::new(ErrorKind::Refused, "the commands of the tiers are not approved")
                    .coded(ErrorCode::ApprovalNeeded),
            };
            return Err(failure.hint(NextStep::ApproveWorkersAs(fingerprint.to_string())));
        }
        let workspace = self.fs.root();
        let grants = crew.grants.clone().ok_or_else(|| crew_refusal(&crew))?;
        let worker = crew.tier_worker(Tier::Executive, workspace).ok_or_else(|| {
            let program = crew.settings.command(Tier::Executive).argv().program().to_owned();
            let tier = Tier::Executive;
            let worker = crew.workers.iter().find(|worker| worker.tier == tier);
            let why = worker.and_then(|worker| worker.missing).unwrap_or(MissingProgramReason::NotFound);
            ServeError::Missing(vec![MissingProgram { tier, program, why }])
        })?;
        let secrets = self.secrets(&configuration);
        let file = role_file(Tier::Executive);
        let role_text = crew.role_texts.iter().find(|(name, _)| *name == file).map(|(_, text)| text.clone());
        Ok(Executive {
            host: Host::new(self.fs.clone(), self.clock.clone(), self.environment.clone(), secrets),
            settings: crew.settings,
            policy: configuration.policy,
            grants,
            fingerprint,
            worker,
            role_text,
        })
    }
}

impl Executive {
    /// Starts the executive in the workspace, and waits for its answer. The run has a receipt.
    pub(crate) fn ask(
        &self,
        ask: &ExecutiveRequest<'_>,
        prompt: &dyn Fn(&PlanningPromptInput<'_>) -> String,
    ) -> Result<ExecutiveReply, Failure> {
        let unable = |error: StartError| match error {
            StartError::Fs(error) => error.into(),
            StartError::Io(_) | StartError::Log(_) => Failure::new(ErrorKind::Environment, error.to_string()),
            StartError::Refused(_) | StartError::Command(_) | StartError::UnknownFlag { .. } => {
                Failure::new(ErrorKind::Refused, error.to_string()).coded(ErrorCode::KitchenRefused)
            }
        };
        let run = self.host.new_run().map_err(|error| unable(error.into()))?;
        let watch = Watch::until(ask.cancel.cloned()).map_err(|error| unable(error.into()))?;
        let order = Attempt {
            host: &self.host,
            policy: &self.policy,
            approved: Some(self.fingerprint),
            run: &run,
            worker: &self.worker,
            role: ask.role,
            prd: None,
            task: None,
            number: ask.number,
            timeout: capped_timeout(
                self.settings.timeout(Tier::Executive).map(Duration::from_secs),
                &self.grants,
            ),
            directory: self.host.fs.root(),
            own: None,
            reviewed: None,
            closed: ask.closed,
            max_log_bytes: self.settings.max_log_bytes.0,
            named_log: None,
            local_offset_minutes: 0,
            gateway: None,
            watch: &watch,
        };
        let prompt_for_nonce = |nonce: &str| {
            let role_text = self.role_text.as_deref();
            prompt(&PlanningPromptInput { role_text, nonce, map: ask.map, related: ask.related })
        };
        let attempted = attempt(&order, &prompt_for_nonce).map_err(unable)?;
        Ok(ExecutiveReply { run, attempted })
    }

    /// Returns the error for a run without a usable result, with the path of its output.
    pub(crate) fn failed(&self, run: &RunId, message: impl Into<String>) -> Failure {
        let (stdout, _) = Receipts::new(&*self.host.fs).logs(run);
        let message = self.host.redactor().redact_str(&message.into());
        let failure = Failure::new(ErrorKind::Refused, message).coded(ErrorCode::ChefFailed);
        failure.hint(NextStep::ReadFile(stdout.to_string()))
    }
}
