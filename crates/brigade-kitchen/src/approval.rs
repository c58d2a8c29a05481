//! What a person approves: the execution fingerprint, what it is of, and what changed since.
//!
//! | enters | does not enter |
//! | --- | --- |
//! | every field of the tasks, unknown ones too, and their order | `passes` |
//! | `branchName`, `walkaway`, `testCommand`, constraints and decisions of the PRD | its name, description and date |
//! | every key of the configuration that is marked as bound | intervals, limits, display, comments |
//! | per tier: words, resolved program, permissions, labels, write paths; its bytes with `bind_workers` | versions |
//! | the rows of the adapters that are used | other rows |
//! | role texts of the workspace | role texts of ours |
//! | what the policy gives the kitchen, and its sandbox | its comments and rules about tools |

mod report;

use std::collections::BTreeMap;

use brigade_core::Fingerprint;
use brigade_policy::KitchenGrants;
use serde::{Deserialize, Serialize};

pub use report::{
    ApprovalReport, CommandKind, CommandRow, TierRow, ValidatedTask, ValidatedVerification, ValidationReport,
    WorkersReport, commands, validation,
};

use crate::adapter::{Adapter, Permissions};
use crate::config::{KEYS, Settings};
use crate::names::Tier;
use crate::prd::{Task, ValidPrd};

/// The domain of the fingerprint. It changes when what enters changes.
const DOMAIN: &str = "brigade.kitchen.execution.v1";

/// The worker of a tier, as it would be started.
#[derive(Clone, Debug)]
pub struct WorkerPlan<'a> {
    /// The tier.
    pub tier: Tier,
    /// The words, with what the adapter adds; the files of an attempt have their placeholders.
    pub argv: Vec<String>,
    /// The adapter.
    pub adapter: &'a Adapter,
    /// The resolved program, if it is there.
    pub program: Option<String>,
    /// The sha256 of the program, with `bind_workers`.
    pub bytes: Option<Fingerprint>,
    /// Which permissions it has.
    pub permissions: Permissions,
    /// The variables that it gets.
    pub env_labels: Vec<String>,
}

/// Everything that is executed for a PRD.
#[derive(Clone, Copy, Debug)]
pub struct Execution<'a> {
    /// The PRD.
    pub prd: &'a ValidPrd,
    /// The settings of the files and the PRD, without flags.
    pub settings: &'a Settings,
    /// The worker of each tier.
    pub workers: &'a [WorkerPlan<'a>],
    /// What the policy gives.
    pub grants: &'a KitchenGrants,
    /// The mode of the sandbox.
    pub sandbox: &'a str,
    /// The role texts of the workspace, by file name.
    pub role_texts: &'a [(&'a str, &'a str)],
}

/// A difference between what was approved and what is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Change {
    /// What differs, such as `task.US-003.verification`.
    pub field: String,
    /// How.
    pub what: ChangeKind,
}

/// How something differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// It was not there.
    Added,
    /// It is no longer there.
    Removed,
    /// It is another.
    Changed,
}

impl Execution<'_> {
    /// Lists what enters the fingerprint: names and whole texts, in a fixed order.
    fn fields(&self) -> Vec<(String, String)> {
        let mut fields = Vec::new();
        let mut put = |name: String, text: String| {
            if !text.is_empty() {
                fields.push((name, text));
            }
        };
        let list = |texts: &[String]| brigade_core::Json::from(texts.to_vec()).to_compact();
        let some = |texts: &[String]| if texts.is_empty() { String::new() } else { list(texts) };
        put("prd.branchName".to_owned(), self.prd.branch_name.clone().unwrap_or_default());
        put("prd.walkaway".to_owned(), self.prd.walkaway.to_string());
        put("prd.constraints".to_owned(), some(&self.prd.constraints));
        put("prd.decisions".to_owned(), some(&self.prd.decisions));
        let test = self.prd.test_command.as_ref().map(|command| command.text().to_owned());
        put("prd.testCommand".to_owned(), test.unwrap_or_default());
        let ids: Vec<String> = self.prd.tasks.iter().map(|task| task.id.to_string()).collect();
        put("prd.tasks".to_owned(), list(&ids));
        for task in &self.prd.tasks {
            task_fields(task, &mut put);
        }
        for key in KEYS.iter().filter(|key| key.bound) {
            put(format!("config.{}", key.toml), self.settings.shown(key).unwrap_or_default());
        }
        for worker in self.workers {
            let tier = worker.tier;
            put(format!("worker.{tier}.argv"), list(&worker.argv));
            put(format!("worker.{tier}.program"), worker.program.clone().unwrap_or_default());
            put(
                format!("worker.{tier}.bytes"),
                worker.bytes.map(|bytes| bytes.to_string()).unwrap_or_default(),
            );
            put(format!("worker.{tier}.permissions"), format!("{:?}", worker.permissions).to_lowercase());
            put(format!("worker.{tier}.env_labels"), some(&worker.env_labels));
            for (name, words) in worker.adapter.bound() {
                put(format!("worker.{tier}.adapter.{name}"), some(&words));
            }
        }
        for (file, text) in self.role_texts {
            put(format!("chef.{file}"), (*text).to_owned());
        }
        let grants = self.grants;
        let number = |number: Option<f64>| number.map(|number| format!("{number:?}")).unwrap_or_default();
        put("policy.sandbox".to_owned(), self.sandbox.to_owned());
        put("policy.workers".to_owned(), grants.workers.as_deref().map(list).unwrap_or_default());
        put("policy.shell".to_owned(), grants.shell.to_string());
        put("policy.skip_permissions".to_owned(), grants.skip_permissions.to_string());
        put("policy.merge".to_owned(), grants.merge.to_string());
        put("policy.push".to_owned(), grants.push.to_string());
        put("policy.worker_effects".to_owned(), list(&grants.worker_effects));
        put("policy.worker_write_paths".to_owned(), some(&grants.worker_write_paths));
        put("policy.verification_effects".to_owned(), list(&grants.verification_effects));
        put("policy.max_minutes".to_owned(), number(grants.max_minutes));
        put("policy.max_cost_usd".to_owned(), number(grants.max_cost_usd));
        put(
            "policy.max_parallel".to_owned(),
            grants.max_parallel.map(|most| most.to_string()).unwrap_or_default(),
        );
        fields
    }

    /// Returns the execution fingerprint.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::builder(DOMAIN).table("fields", self.fields()).finish()
    }

    /// Returns what is stored with an approval, for showing later what changed: the start of a hash for each field.
    pub fn items(&self) -> BTreeMap<String, String> {
        let short = |text: &str| Fingerprint::of_bytes(text.as_bytes()).short();
        self.fields().into_iter().map(|(name, text)| (name, short(&text))).collect()
    }
}

fn task_fields(task: &Task, put: &mut impl FnMut(String, String)) {
    let json = |texts: Vec<String>| {
        if texts.is_empty() { String::new() } else { brigade_core::Json::from(texts).to_compact() }
    };
    let id = &task.id;
    let mut field = |name: &str, text: String| put(format!("task.{id}.{name}"), text);
    field("title", task.title.clone());
    field("description", task.description.clone().unwrap_or_default());
    field("acceptanceCriteria", json(task.acceptance_criteria.clone()));
    let entry =
        |entry: &crate::prd::Verification| format!("{}:{}", entry.kind.as_str(), entry.command.text());
    field("verification", json(task.verification.iter().map(entry).collect()));
    field("dependsOn", json(task.depends_on.iter().map(ToString::to_string).collect()));
    field("complexity", task.complexity.map(|word| word.as_str().to_owned()).unwrap_or_default());
    field("exclusive", task.exclusive.clone().unwrap_or_default());
    field("manualVerification", json(task.manual_verification.clone()));
    for (name, value) in &task.other {
        field(name, value.to_compact());
    }
}

/// Lists what differs between two approvals, or between one and what is now.
///
/// ```
/// use brigade_kitchen::approval::{ChangeKind, changes};
///
/// let before = [("a", "1"), ("b", "2")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
/// let after = [("b", "3"), ("c", "4")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
/// let found: Vec<_> = changes(&before, &after).into_iter().map(|change| (change.field, change.what)).collect();
/// assert_eq!(found[0], ("a".to_owned(), ChangeKind::Removed));
/// assert_eq!(found[1], ("b".to_owned(), ChangeKind::Changed));
/// assert_eq!(found[2], ("c".to_owned(), ChangeKind::Added));
/// ```
pub fn changes(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<Change> {
    let gone =
        before.keys().filter(|field| !after.contains_key(*field)).map(|field| (field, ChangeKind::Removed));
    let now = after.iter().filter_map(|(field, item)| match before.get(field) {
        None => Some((field, ChangeKind::Added)),
        Some(old) if old != item => Some((field, ChangeKind::Changed)),
        Some(_) => None,
    });
    let mut found: Vec<Change> =
        gone.chain(now).map(|(field, what)| Change { field: field.clone(), what }).collect();
    found.sort_by(|a, b| a.field.cmp(&b.field));
    found
}

#[cfg(test)]
mod tests;
