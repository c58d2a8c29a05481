//! `validate` and `workers`: checks that change and start nothing.

use brigade_cmdline::Argv;
use brigade_core::Fingerprint;
use brigade_kitchen::approval::{TierRow, ValidationReport, WorkersReport, validation};
use brigade_kitchen::life::Approval;
use brigade_policy::Failure;

use crate::gather::{Crew, PrdSearch};
use crate::kitchen::{Kitchen, mask_words};

/// What makes a validation fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailOn {
    /// Errors.
    Errors,
    /// Errors and warnings.
    Warnings,
}

/// Returns whether the last approval is for this fingerprint.
pub(crate) fn is_approved(approval: Option<&Approval>, fingerprint: Option<Fingerprint>) -> bool {
    approval.is_some_and(|approval| Some(approval.fingerprint) == fingerprint)
}

impl Kitchen<'_> {
    /// Checks a PRD: errors, warnings, routes, waves, and the fingerprint to approve.
    ///
    /// # Errors
    /// Fails if the PRD does not exist, or on a disk error. Errors of the PRD are in the report.
    pub fn validate(&self, search: &PrdSearch, fail_on: FailOn) -> Result<ValidationReport, Failure> {
        let configuration = self.configuration()?;
        let (found, recorded) = self.prd_and_journal(search, configuration.config.settings.lints())?;
        let mut report = validation(found.path.as_str(), found.taken, &found.reading);
        let redactor = self.redactor(&configuration);
        for task in &mut report.tasks {
            for entry in &mut task.verification {
                entry.cmd = redactor.redact_str(&entry.cmd);
            }
        }
        if configuration.config.settings.walkaway_mode && !found.reading.prd.walkaway {
            // An unattended service would refuse them.
            report.errors.extend(found.reading.prd.walkaway_faults());
            report.valid = report.errors.is_empty();
        }
        report.target = self.target();
        report.strict = fail_on == FailOn::Warnings;
        report.config_issues = configuration.issues();
        let life = recorded.life;
        let prd = found.reading.valid().ok();
        let crew = self.crew(&configuration, prd.as_ref());
        report.refusals = crew.refusal_lines();
        if let Some(prd) = &prd {
            report.notes.extend(self.in_place_note(&crew, prd));
            report.fingerprint = crew.ready().map(|ready| ready.execution(prd).fingerprint());
            report.approved = is_approved(life.approval.as_ref(), report.fingerprint);
        }
        Ok(report)
    }

    /// Reports the tiers: their commands, adapters and programs, and the effects of workers.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn workers(&self) -> Result<WorkersReport, Failure> {
        let configuration = self.configuration()?;
        let crew = self.crew(&configuration, None);
        let redactor = self.redactor(&configuration);
        let mut report = WorkersReport::new(self.target());
        report.tiers = tier_rows(&crew, &|words| mask_words(&redactor, words));
        report.effects = crew.grants.as_ref().map(|grants| grants.worker_effects.clone()).unwrap_or_default();
        report.fingerprint = crew.ready().map(|ready| ready.tiers().fingerprint());
        report.approved = is_approved(self.life_of_workers()?.approval.as_ref(), report.fingerprint);
        report.config_issues = configuration.issues();
        report.refusals = crew.refusal_lines();
        report.notes.extend(crew.sandbox_note());
        Ok(report)
    }
}

fn tier_rows(crew: &Crew, shown: &dyn Fn(&[String]) -> Vec<String>) -> Vec<TierRow> {
    let grants = crew.grants.as_ref();
    let row = |worker: &crate::gather::Worker| {
        let command = Argv::new(shown(worker.command.argv().words()));
        let command = command.map(|words| words.to_string()).unwrap_or_default();
        let own = worker.adapter.iter().flat_map(|adapter| &adapter.write_paths);
        let granted = grants.iter().flat_map(|grants| &grants.worker_write_paths);
        let mut row = TierRow::new(worker.tier, command);
        row.adapter = worker.adapter.as_ref().map(|adapter| adapter.id.clone());
        row.program = worker.program.clone();
        row.found = worker.program.is_some();
        row.missing = worker.missing;
        row.argv = worker.argv.as_deref().map(shown);
        row.permissions = worker.permissions;
        row.write_paths = own.chain(granted).cloned().collect();
        row.env_labels = worker.env_labels.clone();
        row
    };
    crew.workers.iter().map(row).collect()
}
