//! `status`, `summary` and `cost`: where a PRD stands. Changes and starts nothing.

use std::ops::ControlFlow;
use std::time::Duration;

use brigade_core::{ErrorKind, codes};
use brigade_fs::{FileMode, Location, Metadata, RelPath};
use brigade_kitchen::show::{
    Brief, KitchenCostReport, SUMMARY_HEAD, StatusReport, SummaryReport, brief, cost, status, summary,
};
use brigade_policy::Failure;
use brigade_process::CancelToken;

use crate::gather::{PrdSearch, Standing};
use crate::kitchen::Kitchen;
use crate::paths::PrdFiles;

/// How often a watcher looks for a change. Nothing here looks more often.
const POLL: Duration = Duration::from_secs(1);

/// The largest file that is looked at before a summary replaces it.
const SUMMARY_LIMIT: u64 = 16 << 20;

impl Kitchen<'_> {
    /// Returns where a PRD stands.
    ///
    /// # Errors
    /// Fails if there is no such PRD, it has errors, or on a disk error.
    pub fn status(&self, search: &PrdSearch) -> Result<StatusReport, Failure> {
        Ok(self.status_of(&self.standing(&search.to_show())?))
    }

    fn status_of(&self, standing: &Standing) -> StatusReport {
        let mut report = status(&standing.view(self.now()));
        report.target = self.target();
        report.taken = standing.taken;
        report.config_issues = standing.configuration.issues();
        report.config_issues.extend(standing.crew.refusal_lines().into_iter().filter(|line| {
            // An error of the configuration is a refusal, too.
            line.fault().code != "kitchen_config_invalid"
        }));
        report.issues.extend(standing.state_problem.clone());
        report.issues.extend(standing.faults.iter().map(|fault| match fault.line {
            Some(line) => format!("journal line {line}: {}", fault.problem),
            None => format!("journal: {}", fault.problem),
        }));
        report
    }

    /// Returns where a PRD stands, in the shortest form.
    ///
    /// # Errors
    /// Fails if there is no such PRD, it has errors, or on a disk error.
    pub fn brief(&self, search: &PrdSearch) -> Result<Brief, Failure> {
        Ok(brief(&self.standing(&search.to_show())?.view(self.now())))
    }

    /// Calls `show` with where a PRD stands, at once, whenever it changed, and at least every
    /// `STATUS_WATCH_INTERVAL`; until no service runs, `show` breaks, or somebody cancels.
    ///
    /// # Errors
    /// As [`Kitchen::status`].
    pub fn watch(
        &self,
        search: &PrdSearch,
        cancel: Option<&CancelToken>,
        show: &mut dyn FnMut(StatusReport) -> ControlFlow<()>,
    ) -> Result<(), Failure> {
        let mut standing = self.standing(&search.to_show())?;
        // What was found once stays the one, whatever else begins.
        let search = PrdSearch::At(standing.path.clone());
        let taken = standing.taken;
        loop {
            standing.taken = taken;
            let (signs, interval) = (self.signs(&standing), standing.crew.settings.status_watch_interval);
            let is_over = standing.holder.is_none();
            if show(self.status_of(&standing)).is_break() || is_over {
                return Ok(());
            }
            let Some(cancel) = cancel else { return Ok(()) };
            for _ in 0..interval.max(1) {
                // `true`: somebody cancelled.
                if cancel.wait(POLL) {
                    return Ok(());
                }
                if self.signs(&standing) != signs {
                    break;
                }
            }
            standing = self.standing(&search)?;
        }
    }

    /// Returns what changes whenever the status does: lengths and times of the journal, the lock and the PRD.
    fn signs(&self, standing: &Standing) -> Vec<Option<Metadata>> {
        let files = PrdFiles::of(&standing.name);
        let paths = [files.journal(), files.service_lock(), standing.path.clone()];
        paths.iter().map(|path| self.fs.metadata(path).ok()).collect()
    }

    /// Writes the report of a PRD, to a file if one is named.
    ///
    /// # Errors
    /// Fails if there is no such PRD, it has errors, the file exists and is no such report, or on a disk error.
    pub fn summary(
        &self,
        search: &PrdSearch,
        file: Option<&RelPath>,
        may_replace: bool,
    ) -> Result<SummaryReport, Failure> {
        let standing = self.standing(&search.to_show())?;
        let redactor = self.redactor(&standing.configuration.policy);
        let report = self.status_of(&standing);
        let text = summary(&report, &standing.life, &standing.crew.settings);
        let text = redactor.redact_str(&text);
        let mut made = SummaryReport::new(self.target(), &report, text);
        if let Some(file) = file {
            let file = match self.fs.resolve(file.as_str(), None)? {
                Location::Inside(file) => file,
                Location::Outside(_) => {
                    let message = format!("`{file}` leads out of the workspace");
                    return Err(Failure::new(ErrorKind::Refused, message).coded(codes::PATH_OUTSIDE));
                }
            };
            if self.fs.exists(&file)? && !may_replace {
                let bytes = self.fs.read(&file, SUMMARY_LIMIT)?;
                if !bytes.starts_with(SUMMARY_HEAD.as_bytes()) {
                    let failure =
                        Failure::new(ErrorKind::Usage, format!("`{file}` exists and is no summary"));
                    return Err(failure.coded(codes::FILE_EXISTS).hint("--force replaces it"));
                }
            }
            self.fs.write_atomic(&file, made.text.as_bytes(), FileMode::KeepOr(0o644))?;
            made.path = Some(file.to_string());
        }
        Ok(made)
    }

    /// Returns what the workers of a PRD cost.
    ///
    /// # Errors
    /// Fails if there is no such PRD, it has errors, or on a disk error.
    pub fn cost(&self, search: &PrdSearch) -> Result<KitchenCostReport, Failure> {
        let standing = self.standing(&search.to_show())?;
        let report = self.status_of(&standing);
        Ok(cost(self.target(), &report, &standing.life, &standing.crew.settings))
    }
}
