//! Health: everything is read once and diagnosed once. Only [`Doctor::fix`] changes files.

use std::sync::Arc;

use brigade_core::{Exit, NextStep};
use brigade_doctor::Area;
use brigade_ops::{
    Error, ErrorKind, Fix, ListFilter, Parts, Survey, UpkeepError, fix, shown_issues, top_issue_of,
};
use brigade_policy::Policy;
use brigade_workspace::{gather, load};

use crate::catalog::Tools;
use crate::policies::{self, Policies, errors};
use crate::report::{CatalogReport, FixReport, PolicyHealthReport, Report as _};
use crate::workspace_inner::{POLICY, WorkspaceInner};

pub use brigade_doctor::DoctorRequest;

impl Tools {
    /// Lists the catalog with its health, and counts of calls, runs, checkpoints and runtimes. Runs no health
    /// command, and checks neither the chain of receipts nor the files of clients; [`Doctor::check`] does.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn list(&self) -> Result<CatalogReport, Error> {
        Ok(brigade_ops::list(&self.inner)?)
    }

    /// Lists the tools that fit, and otherwise what [`Tools::list`] does.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn list_of(&self, filter: &ListFilter) -> Result<CatalogReport, Error> {
        Ok(brigade_ops::list_of(&self.inner, filter)?)
    }
}

/// Diagnoses the workspace, and fixes what needs no decision.
#[derive(Clone)]
pub struct Doctor {
    pub(crate) inner: Arc<WorkspaceInner>,
}

impl Doctor {
    /// Checks everything: catalog, files, projections, runtimes, policy, calls, runs, checkpoints and the state.
    ///
    /// Runs the health commands of running runtimes and no other program.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`] for an unknown area, type, tool or runtime, and file errors.
    pub fn check(&self, request: &DoctorRequest) -> Result<CatalogReport, Error> {
        Ok(brigade_ops::diagnose_catalog(&self.inner, request)?)
    }

    /// Checks what [`Doctor::check`] does, but runs no health command, and of more calls or runs than `limit` looks
    /// only at the newest and not at the chain of receipts, so that the time does not grow with them. A note says so.
    ///
    /// # Errors
    /// As [`Doctor::check`].
    pub fn check_recent(&self, request: &DoctorRequest, limit: usize) -> Result<CatalogReport, Error> {
        Ok(brigade_ops::diagnose_recent(&self.inner, request, limit)?)
    }

    /// Fixes what needs no decision. Narrows file modes that are too open, removes pid files of ended processes and
    /// locks that v0.30 left, and moves unreadable lines of the queue and the inbox to a quarantine file.
    ///
    /// With `dry_run` it changes nothing and lists the same fixes. A failed fix does not stop the others.
    ///
    /// # Errors
    /// Returns file errors while looking for things to fix.
    pub fn fix(&self, dry_run: bool) -> Result<FixReport, Error> {
        let config = gather::config(&self.inner)?;
        let fixes = fix(&self.inner, &config, dry_run)?;
        let mut worst = Vec::new();
        let failed: Vec<Fix> = fixes
            .failed
            .into_iter()
            .map(|(mut fix, error)| {
                let error = match error {
                    UpkeepError::Runtime(error) => Error::new(ErrorKind::Environment, error.to_string()),
                    error => error.into(),
                };
                worst.push(error.exit());
                fix.detail = error.to_string();
                fix
            })
            .collect();
        let fixed = fixes.fixed;
        let next = if dry_run && !fixed.is_empty() { NextStep::Fix } else { NextStep::Diagnose };
        Ok(FixReport {
            schema: FixReport::SCHEMA,
            target: self.inner.target(),
            dry_run,
            fixed_count: fixed.len(),
            failed_count: failed.len(),
            next_command: self.inner.spelled(next),
            fixed,
            failed,
            worst: worst_of(worst),
        })
    }
}

impl Policies {
    /// Checks the policy, and what it refuses to executable tools.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn doctor(&self) -> Result<PolicyHealthReport, Error> {
        let config = gather::config(&self.inner)?;
        let parts = Parts { sandbox: true, ..Parts::none() };
        let mut found = Survey::read(&self.inner, &config, &parts)?.diagnose(&self.inner);
        found.retain(|issue| issue.area() == Area::Policy);
        let issues = shown_issues(&self.inner, &found);
        let state = &config.policy;
        Ok(PolicyHealthReport {
            schema: PolicyHealthReport::SCHEMA,
            target: self.inner.target(),
            policy_path: self.inner.absolute(POLICY),
            enabled: state.is_enabled(),
            valid: state.policy().is_some(),
            errors: errors(state),
            policy: state.policy().map(Policy::rules),
            diagnosis: policies::diagnosis(&self.inner, state),
            issue_count: issues.len(),
            issues,
            top_issue: top_issue_of(&self.inner, &found),
            tool_errors: load::errors_of(&config.catalog),
        })
    }
}

/// Returns the exit of a command with several failures.
fn worst_of(exits: impl IntoIterator<Item = Exit>) -> Exit {
    exits.into_iter().max().unwrap_or(Exit::Done)
}

#[cfg(test)]
mod tests;
