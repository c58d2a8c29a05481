//! `approve`: shows what a person approves, and records the approval.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use brigade_core::{ErrorCode, ErrorKind, Fingerprint};
use brigade_fs::{FileMode, RelPath};
use brigade_kitchen::approval::{ApprovalReport, changes, commands, worker_commands};
use brigade_kitchen::life::{Approval, Life, Record};
use brigade_kitchen::prd::ValidPrd;
use brigade_policy::Failure;

use crate::gather::{Crew, PrdSearch, PrdState};
use crate::journal::{PrdJournal, set_aside_notes};
use crate::kitchen::{Kitchen, mask_words};
use crate::paths::{KITCHEN, PrdFiles};
use crate::validate::is_approved;

/// The minimum length of a fingerprint prefix.
const MIN_FINGERPRINT: usize = 12;

/// What to do with an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApproveStep {
    /// Show what would be approved.
    Show,
    /// Approve it, if its fingerprint has this prefix.
    Approve(String),
    /// Revoke the approval.
    Revoke,
}

/// What to approve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApproveWhat {
    /// Everything that is executed for a PRD.
    Prd(PrdSearch),
    /// The commands of the tiers.
    Workers,
}

/// Returns the tasks that the file marks as done.
fn passed_tasks(prd: &ValidPrd) -> Vec<brigade_kitchen::TaskId> {
    prd.tasks.iter().filter(|task| task.passes).map(|task| task.id.clone()).collect()
}

/// Compares a typed prefix with the current fingerprint.
fn compare(typed: &str, now: Fingerprint) -> Result<(), Failure> {
    let typed = typed.trim();
    let now = now.to_string();
    let is_start = MIN_FINGERPRINT <= typed.len() && now.starts_with(&typed.to_ascii_lowercase());
    if is_start {
        return Ok(());
    }
    let is_hex = !typed.is_empty() && typed.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hex || typed.len() < MIN_FINGERPRINT {
        let message = format!("expected a fingerprint, or its first {MIN_FINGERPRINT} digits at least");
        return Err(Failure::new(ErrorKind::Usage, message));
    }
    let message = "this is not the fingerprint of what would be executed now";
    Err(Failure::new(ErrorKind::Refused, message).coded(ErrorCode::ChangedMeanwhile))
}

impl Kitchen<'_> {
    /// Shows what would be executed, and records or revokes the approval.
    ///
    /// # Errors
    /// Fails if the PRD has errors, a refusal keeps its workers from starting, the fingerprint does not match, or on a
    /// disk error.
    pub fn approve(&self, what: &ApproveWhat, step: &ApproveStep) -> Result<ApprovalReport, Failure> {
        match what {
            ApproveWhat::Prd(search) => self.approve_prd(search, step),
            ApproveWhat::Workers => self.approve_workers(step),
        }
    }

    fn approve_prd(&self, search: &PrdSearch, step: &ApproveStep) -> Result<ApprovalReport, Failure> {
        let state = self.prd_state(search)?;
        let mut report = ApprovalReport::new(self.target());
        report.prd_path = Some(state.path.to_string());
        report.taken = Some(state.taken);
        report.config_issues = state.configuration.issues();
        let files = PrdFiles::new(&state.name);
        if *step == ApproveStep::Revoke {
            self.revoke(files, state.life.approval.as_ref())?;
            report.revoked = true;
            return Ok(report);
        }
        if let Some(other) = self.namesake(&state) {
            let message =
                format!("`{}` has the name of `{other}`, whose tasks are recorded under it", state.path);
            let failure = Failure::new(ErrorKind::Refused, message).coded(ErrorCode::PrdNameTaken);
            return Err(failure.hint("give one of the files another name"));
        }
        let ready = state.crew.ready().ok_or_else(|| crew_refusal(&state.crew))?;
        let execution = ready.execution(&state.prd);
        let redactor = self.redactor(&state.configuration);
        report.commands = commands(&execution, &|words| mask_words(&redactor, words));
        let (fingerprint, items) = (execution.fingerprint(), execution.items());
        report.notes = state.crew.notes();
        report.notes.extend(self.in_place_note(&state.crew, &state.prd));
        report.notes.extend(unverified_note(&state));
        let approval = state.life.approval.as_ref();
        compare_with(&mut report, approval, fingerprint, &items);
        let ignored = ignored_passes(&state);
        report.notes.extend(
            ignored
                .iter()
                .map(|id| format!("{id} counts as done, because the file says so, once this is approved")),
        );
        report.approved &= ignored.is_empty();
        if let ApproveStep::Approve(typed) = step {
            compare(typed, fingerprint)?;
            if !report.approved {
                let by = self.person();
                if let Some(problem) = &state.state_problem {
                    // The first service replaces the file.
                    report.notes.extend(problem.set_aside(&*self.fs)?);
                }
                let adopted = state.foreign_state.clone().map(|state| Record::Adopted { state });
                let passed = passed_tasks(&state.prd);
                let path = Some(state.path.to_string());
                let mut journal = self.journal(files)?;
                let settled = journal.life().settled(&passed);
                let approved = Record::Approved { fingerprint, items, passed, by, path };
                let records = adopted.into_iter().chain([approved]).chain(settled);
                let lines = journal.append_all(records.collect())?;
                self.update_derived_files(&state.name, &journal, &lines);
                report.notes.extend(set_aside_notes(&*self.fs, &PrdFiles::new(&state.name)));
                report.approved = true;
            }
        }
        Ok(report)
    }

    /// Returns another existing file that was approved under the name of this PRD.
    pub(crate) fn namesake(&self, state: &PrdState) -> Option<String> {
        let other = state.life.prd_path.clone().filter(|path| path != state.path.as_str())?;
        let is_there = other.parse().is_ok_and(|path| self.fs.exists(&path).unwrap_or(false));
        is_there.then_some(other)
    }

    fn approve_workers(&self, step: &ApproveStep) -> Result<ApprovalReport, Failure> {
        let configuration = self.configuration()?;
        let crew = self.crew(&configuration, None);
        let mut report = ApprovalReport::new(self.target());
        report.config_issues = configuration.issues();
        let life = self.life_of_workers()?;
        if *step == ApproveStep::Revoke {
            self.revoke(PrdFiles::for_workers(), life.approval.as_ref())?;
            report.revoked = true;
            return Ok(report);
        }
        let ready = crew.ready().ok_or_else(|| crew_refusal(&crew))?;
        let tiers = ready.tiers();
        let redactor = self.redactor(&configuration);
        report.commands = worker_commands(&tiers, &|words| mask_words(&redactor, words));
        let (fingerprint, items) = (tiers.fingerprint(), tiers.items());
        report.notes = crew.notes();
        let approval = life.approval.as_ref();
        compare_with(&mut report, approval, fingerprint, &items);
        if let ApproveStep::Approve(typed) = step {
            compare(typed, fingerprint)?;
            if !report.approved {
                let (passed, by) = (Vec::new(), self.person());
                self.journal(PrdFiles::for_workers())?.append(Record::Approved {
                    fingerprint,
                    items,
                    passed,
                    by,
                    path: None,
                })?;
                report.approved = true;
            }
        }
        Ok(report)
    }

    fn revoke(&self, files: PrdFiles, approval: Option<&Approval>) -> Result<(), Failure> {
        if approval.is_none() {
            let message = "there is no approval to revoke";
            return Err(Failure::new(ErrorKind::Refused, message).coded(ErrorCode::WrongState));
        }
        self.journal(files)?.append(Record::Revoked { by: self.person() })?;
        Ok(())
    }

    /// Opens a journal for writing, and adds its directory to the ignored files of git.
    pub(crate) fn journal(&self, files: PrdFiles) -> Result<PrdJournal, Failure> {
        let ignore =
            RelPath::from_static(KITCHEN).join(".gitignore").expect("a file name in a directory is a path");
        if !self.fs.exists(&ignore)? {
            self.fs.create_dir_all(&ignore.parent())?;
            self.fs.write_atomic(&ignore, b"*\n", FileMode::Private)?;
        }
        Ok(PrdJournal::open(self.fs.clone(), &self.key, files, self.clock.clone(), self.lock_timeout)?)
    }

    /// Returns the life with the approval of the tiers.
    pub(crate) fn life_of_workers(&self) -> Result<Life, Failure> {
        Ok(PrdJournal::read(&*self.fs, &self.key, &PrdFiles::for_workers())?.life)
    }

    fn person(&self) -> Option<String> {
        self.environment.get("USER").and_then(OsStr::to_str).map(str::to_owned)
    }
}

/// Notes what would be executed now, and how it differs from what was approved.
fn compare_with(
    report: &mut ApprovalReport,
    before: Option<&Approval>,
    fingerprint: Fingerprint,
    items: &BTreeMap<String, String>,
) {
    report.fingerprint = Some(fingerprint);
    report.approved = is_approved(before, Some(fingerprint));
    if let Some(before) = before.filter(|_| !report.approved) {
        report.changes = changes(&before.items, items);
    }
}

/// Returns a note about tasks that no command verifies.
fn unverified_note(state: &PrdState) -> Option<String> {
    let unverified = state.prd.tasks.iter().filter(|task| task.is_unverified() && !task.passes);
    let ids: Vec<&str> = unverified.map(|task| task.id.as_str()).collect();
    let is_tested = state.crew.settings.test_cmd.is_some();
    let note = || format!("nothing verifies {}: done is what the worker says", ids.join(", "));
    (!ids.is_empty() && !is_tested).then(note)
}

/// Lists the tasks that only the file marks as done.
fn ignored_passes(state: &PrdState) -> Vec<brigade_kitchen::TaskId> {
    if state.life.approval.is_none() {
        return Vec::new();
    }
    passed_tasks(&state.prd).into_iter().filter(|id| state.life.can_be_passed(id)).collect()
}

/// Returns the error that explains why a crew must not be started.
pub(crate) fn crew_refusal(crew: &Crew) -> Failure {
    let failure =
        Failure::new(ErrorKind::Refused, "the configuration or the policy refuses to start workers");
    failure.coded(ErrorCode::KitchenRefused).because(crew.refusals.iter().cloned())
}
