//! Summaries of each area for lists.

use std::collections::BTreeMap;

use brigade_call::{CHECKPOINTS, Checkpoint, Paths, RUNS, RunSummary, StoreKind};
use brigade_core::NextStep;
use brigade_doctor::{Area, Closeout, Issue, IssueReport, top_issue};
use brigade_macros::part;
use brigade_runtime::StateCounts;
use brigade_workspace::{POLICY, RUNTIMES};

use crate::doctor::Survey;
use crate::runtimes::host::STATE;

/// Issues and the last parity closeout.
#[part(PartialEq)]
pub struct ParitySection {
    /// The last closeout, with its `path`.
    pub latest_closeout: Option<Closeout>,
    /// Number of accepted issues.
    pub quieted_issue_count: usize,
    /// These issues.
    pub quieted_issues: Vec<IssueReport>,
    /// Number of new and changed issues since.
    pub changed_issue_count: usize,
    /// These issues.
    pub changed_issues: Vec<IssueReport>,
}

/// Counts of calls.
#[part(PartialEq)]
pub struct CallSection {
    /// The queue file.
    pub calls_path: String,
    /// What calls are stored in.
    pub store: StoreKind,
    /// Number of calls by status.
    pub counts: BTreeMap<String, u64>,
    /// Number of calls that wait for a decision.
    pub pending_count: u64,
    /// Number of issues.
    pub issue_count: usize,
    /// The most important issue.
    pub top_issue: Option<IssueReport>,
}

/// Counts of runs.
#[part(PartialEq)]
pub struct RunSection {
    /// The directory of receipts and logs.
    pub runs_path: String,
    /// Number of runs by status.
    pub counts: BTreeMap<String, u64>,
    /// Number of runs.
    pub run_count: usize,
    /// The newest entry.
    pub latest: Option<RunSummary>,
    /// Number of issues.
    pub issue_count: usize,
    /// The most important issue.
    pub top_issue: Option<IssueReport>,
}

/// Counts of checkpoints.
#[part(PartialEq)]
pub struct CheckpointSection {
    /// The directory of checkpoints.
    pub checkpoints_path: String,
    /// Number of checkpoints by status.
    pub counts: BTreeMap<String, u64>,
    /// Number of checkpoints.
    pub checkpoint_count: usize,
    /// The newest entry.
    pub latest: Option<Box<Checkpoint>>,
    /// Number of issues.
    pub issue_count: usize,
    /// The most important issue.
    pub top_issue: Option<IssueReport>,
}

/// Counts of runtimes.
#[part(PartialEq)]
pub struct RuntimeSection {
    /// The configuration file of runtimes.
    pub config_path: String,
    /// The directory of their state.
    pub state_path: String,
    /// Number of `running`, `stopped` and `stale` runtimes.
    pub counts: BTreeMap<String, u64>,
    /// Number of runtimes.
    pub runtime_count: usize,
    /// Number of issues.
    pub issue_count: usize,
    /// The most important issue.
    pub top_issue: Option<IssueReport>,
}

/// The state of the policy.
#[part(PartialEq)]
pub struct PolicySection {
    /// The policy file.
    pub policy_path: String,
    /// Whether the file exists.
    pub enabled: bool,
    /// Whether the file is valid.
    pub valid: bool,
    /// Number of issues.
    pub issue_count: usize,
    /// The most important issue.
    pub top_issue: Option<IssueReport>,
}

impl ParitySection {
    /// Counts the issues that a closeout accepts, and new and changed issues since.
    pub fn new(
        latest_closeout: Option<Closeout>,
        quieted_issues: Vec<IssueReport>,
        changed_issues: Vec<IssueReport>,
    ) -> ParitySection {
        ParitySection {
            latest_closeout,
            quieted_issue_count: quieted_issues.len(),
            quieted_issues,
            changed_issue_count: changed_issues.len(),
            changed_issues,
        }
    }
}

/// The sections of the areas.
pub struct Sections {
    /// The queue.
    pub call_queue: CallSection,
    /// The runs.
    pub run_history: RunSection,
    /// The checkpoints.
    pub checkpoints: CheckpointSection,
    /// The runtimes.
    pub runtimes: RuntimeSection,
    /// The policy.
    pub policy: PolicySection,
}

impl Sections {
    /// Summarizes each area of a survey. `words` spells steps.
    pub fn new(
        survey: &Survey<'_>,
        issues: &[Issue],
        paths: &impl Paths,
        words: impl Fn(&NextStep) -> String,
    ) -> Sections {
        let count = |area: Area| issues.iter().filter(|issue| issue.area() == area).count();
        let top = |area: Area| {
            let issue = top_issue(issues.iter().filter(|issue| issue.area() == area))?;
            Some(IssueReport::new(issue, |path| paths.absolute(path), &words))
        };
        let (queue, policy) = (&survey.history, &survey.config.policy);
        Sections {
            call_queue: CallSection {
                calls_path: paths.calls_path(),
                store: paths.store(),
                counts: queue.call_counts.clone(),
                pending_count: queue.call_counts.get("pending").copied().unwrap_or(0),
                issue_count: count(Area::Call),
                top_issue: top(Area::Call),
            },
            run_history: RunSection {
                runs_path: paths.absolute(RUNS),
                counts: queue.run_counts.clone(),
                run_count: usize::try_from(queue.run_counts.values().sum::<u64>()).unwrap_or(usize::MAX),
                latest: queue.latest_run.as_ref().map(|run| run.summary(paths)),
                issue_count: count(Area::Run),
                top_issue: top(Area::Run),
            },
            checkpoints: CheckpointSection {
                checkpoints_path: paths.absolute(CHECKPOINTS),
                counts: queue.checkpoint_counts(),
                checkpoint_count: queue.checkpoints.len(),
                latest: queue.checkpoints.first().map(|found| Box::new(found.stored.shown(paths))),
                issue_count: count(Area::Checkpoint),
                top_issue: top(Area::Checkpoint),
            },
            runtimes: RuntimeSection {
                config_path: paths.absolute(RUNTIMES),
                state_path: paths.absolute(STATE),
                counts: StateCounts::new(survey.runtime_facts()).by_state(),
                runtime_count: survey.runtime_facts().len(),
                issue_count: count(Area::Runtime),
                top_issue: top(Area::Runtime),
            },
            policy: PolicySection {
                policy_path: paths.absolute(POLICY),
                enabled: policy.is_enabled(),
                valid: policy.policy().is_some(),
                issue_count: count(Area::Policy),
                top_issue: top(Area::Policy),
            },
        }
    }
}
