//! The cached status of a long PRD, valid while nothing changes.

use brigade_fs::{Location, RelPath};
use brigade_kitchen::PrdName;
use brigade_kitchen::approval::PrdOrigin;
use brigade_kitchen::life::Workplace;
use brigade_kitchen::show::{KeptStatus, StatusReport};
use brigade_policy::Failure;

use crate::gather::{Configuration, PRD_LIMIT, PrdSearch, PrdState, taken_alone};
use crate::journal::quarantined;
use crate::journal::seen::{Kind, STATUS};
use crate::kitchen::Kitchen;
use crate::lock::ServiceLock;
use crate::paths::PrdFiles;
use crate::service::done_work;

/// A PRD with a cache.
pub(super) struct CachedPrd {
    path: RelPath,
    pub(super) name: PrdName,
    pub(super) files: PrdFiles,
    pub(super) bytes: Vec<u8>,
    /// How it was found; `None` if it is the only one.
    taken: Option<PrdOrigin>,
}

impl Kitchen<'_> {
    /// Returns the requested PRD, if it has a cache of this kind.
    pub(super) fn seen_before(&self, search: &PrdSearch, kind: &Kind) -> Result<Option<CachedPrd>, Failure> {
        let Some((path, taken)) = self.only(search)? else { return Ok(None) };
        let Location::Inside(path) = self.fs.resolve(path.as_str(), None)? else { return Ok(None) };
        let Ok(name) = PrdName::of_path(path.as_str()) else { return Ok(None) };
        let files = PrdFiles::new(&name);
        if !kind.exists(&*self.fs, &files)? {
            return Ok(None);
        }
        let Ok(bytes) = self.fs.read(&path, PRD_LIMIT) else { return Ok(None) };
        Ok(Some(CachedPrd { path, name, files, bytes, taken }))
    }

    /// Returns the requested PRD, if it is known to be valid without reading files.
    fn only(&self, search: &PrdSearch) -> Result<Option<(RelPath, Option<PrdOrigin>)>, Failure> {
        if let PrdSearch::At(path) = search {
            return Ok(Some((path.clone(), Some(PrdOrigin::Named))));
        }
        if let Some(latest) = self.latest().next() {
            return Ok(Some((latest, Some(PrdOrigin::Latest))));
        }
        let mut candidates = self.candidates()?;
        Ok(candidates.pop().filter(|_| candidates.is_empty()).map(|candidate| (candidate.path, None)))
    }

    /// Returns the input of a status other than PRD and journal; `None` if something refuses to start, because then no
    /// status is cached.
    fn others(&self, configuration: &Configuration, path: &RelPath) -> Result<Option<String>, Failure> {
        let crew = self.crew(configuration, None);
        let Some(ready) = crew.ready() else { return Ok(None) };
        let settings = ready.tiers().settings_fingerprint();
        let refused =
            self.command_objections(configuration, &crew.settings).map(|refused| !refused.is_empty());
        let has_git = self.fs.exists(&RelPath::from_static(".git"))?;
        let version = env!("CARGO_PKG_VERSION");
        // A status contains the path of its PRD, and another PRD may have the same name.
        Ok(Some(format!("{version} {settings} {refused:?} {has_git} {path}")))
    }

    /// Returns the cached status, if it is still valid.
    pub(super) fn status_before(
        &self,
        search: &PrdSearch,
        configuration: &Configuration,
    ) -> Result<Option<StatusReport>, Failure> {
        let Some(seen) = self.seen_before(search, &STATUS)? else { return Ok(None) };
        let Some(others) = self.others(configuration, &seen.path)? else { return Ok(None) };
        let read = KeptStatus::from_bytes;
        let Some(kept) = STATUS.recall(&*self.fs, &seen.files, &seen.bytes, Some(&others), read) else {
            return Ok(None);
        };
        let moved = |(branch, commit): &(String, String)| {
            self.tip_in_file(branch).is_none_or(|tip| tip.as_str() != commit)
        };
        if kept.tip.as_ref().is_some_and(moved) || ServiceLock::holder(&*self.fs, &seen.name)?.is_some() {
            return Ok(None);
        }
        let taken = seen.taken.unwrap_or(kept.taken_alone);
        let mut report = kept.into_report(self.now());
        report.taken = taken;
        report.target = self.target();
        report.config_issues = configuration.issues();
        self.mask(&mut report, configuration);
        Ok(Some(report))
    }

    /// Caches a status, unless it depends on the time or on other files.
    pub(super) fn keep_status(&self, state: &PrdState, report: &StatusReport) -> Result<(), Failure> {
        let PrdState { life, prd, .. } = state;
        let has_other_path = life.prd_path.as_ref().is_some_and(|path| path != state.path.as_str());
        let source = state.source.filter(|source| source.is_long() && !has_other_path);
        let Some(source) = source else { return Ok(()) };
        let is_settled = state.holder.is_none()
            && state.faults.is_empty()
            && quarantined(&*self.fs, &PrdFiles::new(&state.name)).is_empty();
        if !is_settled || state.fingerprint.is_none() {
            return Ok(());
        }
        let Some(others) = self.others(&state.configuration, &state.path)? else { return Ok(()) };
        let mut tip = None;
        if state.workplace == Workplace::Worktrees
            && let Some(branch) = &prd.branch_name
            && !done_work(life, &state.name, prd).is_empty()
        {
            // The check of the branch is valid for its current commit.
            let Some(commit) = self.tip_in_file(branch) else { return Ok(()) };
            tip = Some((branch.clone(), commit.to_string()));
        }
        let body = || {
            let taken_alone = taken_alone(prd, life);
            KeptStatus::new(report, prd, life, tip, taken_alone).to_bytes()
        };
        let files = PrdFiles::new(&state.name);
        if let Err(error) = STATUS.keep(&*self.fs, &files, &source.and(&others), body) {
            tracing::debug!(%error, "a cache is not written");
        }
        Ok(())
    }
}
