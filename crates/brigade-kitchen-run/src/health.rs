//! Collects the facts of a kitchen for `doctor`. Changes and starts nothing.

use std::collections::BTreeMap;

use brigade_fs::{FsError, RelPath};
use brigade_kitchen::PrdName;
use brigade_kitchen::approval::changes;
use brigade_kitchen::config::Switch;
use brigade_kitchen::health::{JournalDamage, KitchenHealth, PrdHealth};
use brigade_kitchen::life::Life;
use brigade_kitchen::prd::ValidPrd;
use brigade_policy::{Blocker, Failure};

use crate::branch::SearchDepth;
use crate::gather::{Configuration, PrdSearch};
use crate::journal::{PrdJournal, quarantined};
use crate::kitchen::Kitchen;
use crate::lock::ServiceLock;
use crate::paths::{PrdFiles, RUNS};
use crate::receipts::Receipts;

/// Refusals that are already reported as issues of their files.
const REPORTED_ELSEWHERE: [&str; 3] = ["kitchen_config_invalid", "policy_invalid", "tracked_state"];

/// Whether to check the receipt chain, which reads every receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiptCheck {
    /// Check it.
    All,
    /// Skip it.
    Nothing,
}

impl Kitchen<'_> {
    /// Reads the facts of the kitchen; `None` if the workspace has no kitchen.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn health(&self, receipts: ReceiptCheck) -> Result<Option<KitchenHealth>, Failure> {
        if !self.exists()? {
            return Ok(None);
        }
        let configuration = self.configuration()?;
        let crew = self.crew(&configuration, None);
        let missing = crew.workers.iter().filter(|worker| worker.program.is_none());
        let mut health = KitchenHealth {
            config: configuration.config.issues.clone(),
            refusals: reported_only_here(&crew.refusals),
            missing: missing
                .map(|worker| (worker.tier, worker.command.argv().program().to_owned()))
                .collect(),
            prds: Vec::new(),
            receipts: Vec::new(),
            ledger: format!("{RUNS}/ledger.jsonl"),
        };
        for (name, path) in self.all_prds()? {
            health.prds.push(self.prd_health(&configuration, name, path, &mut health.refusals)?);
        }
        if receipts == ReceiptCheck::All {
            let (_, found) = Receipts::new(&*self.fs).verify()?;
            health.receipts = found.into_iter().map(|finding| (finding.run, finding.what)).collect();
        }
        Ok(Some(health))
    }

    /// Lists the directories of journals and receipts, where lines may have been set aside.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn folders_of_lines(&self) -> Result<Vec<RelPath>, FsError> {
        let journals =
            self.prds_with_journal()?.into_iter().map(|name| PrdFiles::new(&name).folder().clone());
        Ok(journals.chain([PrdFiles::for_workers().folder().clone(), RelPath::from_static(RUNS)]).collect())
    }

    /// Lists the PRDs that have a file or a journal, by name.
    fn all_prds(&self) -> Result<BTreeMap<PrdName, Option<PrdSearch>>, Failure> {
        let mut found: BTreeMap<PrdName, Option<PrdSearch>> =
            self.prds_with_journal()?.into_iter().map(|name| (name, None)).collect();
        for candidate in self.candidates()? {
            if let Ok(name) = PrdName::of_path(candidate.path.as_str()) {
                // The first directory that contains a name counts.
                found.entry(name).or_default().get_or_insert(PrdSearch::At(candidate.path));
            }
        }
        Ok(found)
    }

    fn prd_health(
        &self,
        configuration: &Configuration,
        name: PrdName,
        search: Option<PrdSearch>,
        refusals: &mut Vec<Blocker>,
    ) -> Result<PrdHealth, Failure> {
        let recorded = PrdJournal::read(&*self.fs, &self.key, &PrdFiles::new(&name))?;
        let is_served = ServiceLock::holder(&*self.fs, &name)?.is_some();
        let life = &recorded.life;
        let journal = PrdFiles::new(&name).journal().to_string();
        let mut health = PrdHealth::new(name, journal, life, is_served);
        health.damage = recorded
            .faults
            .iter()
            .map(|fault| JournalDamage {
                line: fault.line,
                problem: fault.problem.to_string(),
                is_loss: !fault.problem.is_set_aside(),
            })
            .collect();
        health.unsigned = recorded.unsigned;
        health.set_aside = quarantined(&*self.fs, &PrdFiles::new(&health.name));
        let Some(search) = search else { return Ok(health) };
        let found = self.prd(&search, configuration.config.settings.lints())?;
        health.path = Some(found.path.to_string());
        match found.reading.valid() {
            Err(faults) => health.faults = faults,
            Ok(prd) => {
                health.with_file(&prd, life);
                self.against_approval(configuration, &prd, life, &mut health, refusals);
                let settings = configuration.config.for_prd(&prd);
                if settings.worktrees == Switch::On {
                    health.branch = self.lost_of_branch(&health.name, &prd, life, SearchDepth::Whole);
                }
                if !is_served {
                    health.left = self.left_worktrees(configuration, &health.name, life)?;
                }
            }
        }
        Ok(health)
    }

    /// Compares a PRD that has unfinished tasks with its approval, and finds what refuses its start.
    fn against_approval(
        &self,
        configuration: &Configuration,
        prd: &ValidPrd,
        life: &Life,
        health: &mut PrdHealth,
        refusals: &mut Vec<Blocker>,
    ) {
        if prd.tasks.iter().all(|task| life.is_done(&task.id)) {
            return;
        }
        let crew = self.crew(configuration, Some(prd));
        for blocker in reported_only_here(&crew.refusals) {
            if !refusals.contains(&blocker) {
                refusals.push(blocker);
            }
        }
        let (Some(approval), Some(ready)) = (&life.approval, crew.ready()) else { return };
        let execution = ready.execution(prd);
        if approval.fingerprint != execution.fingerprint() {
            let found = changes(&approval.items, &execution.items());
            health.changed = found.into_iter().map(|change| change.field).collect();
        }
    }

    /// Lists finished tasks whose worktrees should have been removed.
    fn left_worktrees(
        &self,
        configuration: &Configuration,
        name: &PrdName,
        life: &Life,
    ) -> Result<Vec<brigade_kitchen::TaskId>, Failure> {
        let settings = &configuration.config.settings;
        if settings.worktree_keep == brigade_kitchen::config::Keep::Always {
            return Ok(Vec::new());
        }
        let with_folders = self.tasks_with_folders(name, &settings.worktree_path)?;
        Ok(with_folders.into_iter().filter(|task| life.is_done(task)).collect())
    }
}

fn reported_only_here(refusals: &[Blocker]) -> Vec<Blocker> {
    let is_new = |blocker: &&Blocker| !REPORTED_ELSEWHERE.contains(&blocker.code.as_ref());
    refusals.iter().filter(is_new).cloned().collect()
}
