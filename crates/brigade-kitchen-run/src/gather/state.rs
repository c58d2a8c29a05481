//! The complete state of a PRD: its file, its crew, its journal, and the service that works on it.

use brigade_core::Fingerprint;
use brigade_fs::RelPath;
use brigade_kitchen::PrdName;
use brigade_kitchen::approval::PrdOrigin;
use brigade_kitchen::config::Switch;
use brigade_kitchen::life::{ForeignState, Life, Limits, Workplace};
use brigade_kitchen::prd::{Lints, ValidPrd};
use brigade_kitchen::show::View;
use brigade_policy::Failure;

use super::{Configuration, Crew, PrdSearch};
use crate::git::InPlaceReason;
use crate::journal::seen::Source;
use crate::journal::{JournalFault, JournalState};
use crate::kitchen::Kitchen;
use crate::lock::{Holder, ServiceLock};
use crate::projections::{self, ForeignStateFile, UnusableState};

/// What is known about a PRD apart from its file.
pub(crate) struct PrdFacts {
    pub(crate) life: Life,
    exists: bool,
    faults: Vec<JournalFault>,
    foreign_state: Option<ForeignState>,
    state_problem: Option<UnusableState>,
}

/// The complete state of a PRD.
pub struct PrdState {
    /// The configuration.
    pub configuration: Configuration,
    /// The path of the PRD.
    pub path: RelPath,
    /// Its name.
    pub name: PrdName,
    /// How it was found.
    pub taken: PrdOrigin,
    /// The PRD.
    pub prd: ValidPrd,
    /// The crew that would work on it.
    pub crew: Crew,
    /// The life from its journal. Without a journal, the life from the files.
    pub life: Life,
    /// Whether it has a journal.
    pub has_journal: bool,
    /// Damage of the journal.
    pub faults: Vec<JournalFault>,
    /// The problem of the state file, if there is no journal.
    pub(crate) state_problem: Option<UnusableState>,
    /// The state file of another program, if there is one and no journal.
    pub foreign_state: Option<ForeignState>,
    /// The process that serves it now.
    pub holder: Option<Holder>,
    /// Where its tasks are worked on.
    pub workplace: Workplace,
    /// The current execution fingerprint, unless something refuses to start.
    pub fingerprint: Option<Fingerprint>,
    /// The source of a cached status, if there is a journal.
    pub(crate) source: Option<Source>,
}

impl PrdState {
    /// Returns the limits of the settings and the policy.
    pub fn limits(&self) -> Limits {
        let ceiling = self.crew.grants.as_ref().map(|grants| Limits {
            cost_usd: grants.max_cost_usd,
            minutes: grants.max_minutes,
            attempts: None,
        });
        Limits::from_settings(&self.crew.settings, ceiling.unwrap_or_default())
    }

    /// Returns the input of a status.
    pub fn view(&self, now: brigade_core::Timestamp) -> View<'_> {
        View {
            prd: &self.prd,
            name: &self.name,
            path: self.path.as_str(),
            life: &self.life,
            settings: &self.crew.settings,
            workplace: self.workplace,
            fingerprint: self.fingerprint,
            running: self.holder.is_some(),
            limits: self.limits(),
            now,
        }
    }
}

impl Kitchen<'_> {
    /// Reads the state of a PRD.
    ///
    /// # Errors
    /// Fails if the PRD does not exist or has errors, or on a disk error.
    pub fn prd_state(&self, search: &PrdSearch) -> Result<PrdState, Failure> {
        self.prd_state_under(self.configuration()?, search)
    }

    pub(crate) fn prd_state_under(
        &self,
        configuration: Configuration,
        search: &PrdSearch,
    ) -> Result<PrdState, Failure> {
        let (found, recorded) = self.prd_and_journal(search, Lints::NONE)?;
        let (path, name, taken) = (found.path.clone(), found.name.clone(), found.taken);
        let source = recorded.covered.map(|covered| Source::new(&found.bytes, covered));
        let prd = found.valid()?;
        let crew = self.crew(&configuration, Some(&prd));
        let PrdFacts { life, exists, faults, foreign_state, state_problem } =
            self.life_of(&path, &name, &prd, recorded)?;
        let workplace = self.workplace_of(&crew, &prd)?;
        let fingerprint = crew.ready().map(|ready| ready.execution(&prd).fingerprint());
        let holder = ServiceLock::holder(&*self.fs, &name)?;
        Ok(PrdState {
            configuration,
            path,
            name,
            taken,
            prd,
            crew,
            life,
            has_journal: exists,
            faults,
            state_problem,
            foreign_state,
            holder,
            workplace,
            fingerprint,
            source,
        })
    }

    /// Returns the life from the journal, or from the files without a journal.
    pub(crate) fn life_of(
        &self,
        path: &RelPath,
        name: &PrdName,
        prd: &ValidPrd,
        recorded: JournalState,
    ) -> Result<PrdFacts, Failure> {
        let JournalState { mut life, faults, exists, .. } = recorded;
        let (mut foreign_state, mut state_problem) = (None, None);
        if !exists {
            match projections::foreign_state(&*self.fs, path, name)? {
                ForeignStateFile::None => {}
                ForeignStateFile::State(state) => foreign_state = Some(state),
                ForeignStateFile::Unusable(problem) => state_problem = Some(problem),
            }
            life = Life::before_approval(prd, foreign_state.clone(), self.now());
        }
        Ok(PrdFacts { life, exists, faults, foreign_state, state_problem })
    }

    /// Returns a note if the tasks of a PRD with a branch are worked on in place.
    pub(crate) fn in_place_note(&self, crew: &Crew, prd: &ValidPrd) -> Option<String> {
        let has_branch = prd.branch_name.is_some() && crew.settings.worktrees == Switch::On;
        has_branch.then(|| InPlaceReason::from_files(&*self.fs)).flatten().map(InPlaceReason::note)
    }

    /// Returns the kind of workplace for the tasks of a PRD.
    fn workplace_of(&self, crew: &Crew, prd: &ValidPrd) -> Result<Workplace, Failure> {
        let has_branch = prd.branch_name.is_some() && crew.settings.worktrees == Switch::On;
        let can_branch = || InPlaceReason::from_files(&*self.fs) != Some(InPlaceReason::NoCommit);
        Ok(if has_branch && self.fs.exists(&RelPath::from_static(".git"))? && can_branch() {
            Workplace::Worktrees
        } else {
            Workplace::InPlace
        })
    }
}
