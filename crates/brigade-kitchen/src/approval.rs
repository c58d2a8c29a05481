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
    ApprovalReport, CommandKind, CommandRow, ShownCommand, Taken, TierRow, ValidatedTask,
    ValidatedVerification, ValidationReport, WorkersReport, commands, validation, worker_commands,
};

use crate::adapter::{Adapter, Permissions};
use crate::config::{KEYS, Key, Settings};
use crate::names::Tier;
use crate::prd::{Complexity, Task, ValidPrd};

/// The domains of the fingerprints: of a PRD, and of the tiers alone. They change when what enters changes.
const DOMAIN: &str = "brigade.kitchen.execution.v1";
const TIERS_DOMAIN: &str = "brigade.kitchen.workers.v1";

/// The keys that say how tiers are started; those of each tier begin with `tier.`.
const TIER_KEYS: &[&str] =
    &["use_opencode", "opencode_model", "opencode_server", "skip_permissions", "bind_workers"];

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

/// The tiers: what `plan` and `map` start without a PRD.
#[derive(Clone, Copy, Debug)]
pub struct Tiers<'a> {
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

/// Everything that is executed for a PRD.
#[derive(Clone, Copy, Debug)]
pub struct Execution<'a> {
    /// The PRD.
    pub prd: &'a ValidPrd,
    /// Who works on it, and with which settings.
    pub tiers: Tiers<'a>,
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

/// Collects named texts, without empty ones.
#[derive(Default)]
struct Fields(Vec<(String, String)>);

impl Fields {
    fn put(&mut self, name: impl Into<String>, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.0.push((name.into(), text));
        }
    }

    fn list(&mut self, name: impl Into<String>, texts: &[String]) {
        self.put(name, list(texts));
    }

    /// Puts a list that is left out when it is empty.
    fn some(&mut self, name: impl Into<String>, texts: &[String]) {
        if !texts.is_empty() {
            self.list(name, texts);
        }
    }

    fn fingerprint(self, domain: &'static str) -> Fingerprint {
        Fingerprint::builder(domain).table("fields", self.0).finish()
    }

    fn items(self) -> BTreeMap<String, String> {
        let short = |text: &str| Fingerprint::of_bytes(text.as_bytes()).short();
        self.0.into_iter().map(|(name, text)| (name, short(&text))).collect()
    }
}

fn list(texts: &[String]) -> String {
    brigade_core::Json::from(texts.to_vec()).to_compact()
}

impl Tiers<'_> {
    fn config(&self, fields: &mut Fields, enters: impl Fn(&Key) -> bool) {
        for key in KEYS.iter().filter(|key| key.bound && enters(key)) {
            fields.put(format!("config.{}", key.toml), self.settings.shown(key).unwrap_or_default());
        }
    }

    fn fields(&self, fields: &mut Fields) {
        for worker in self.workers {
            let tier = worker.tier;
            fields.list(format!("worker.{tier}.argv"), &worker.argv);
            fields.put(format!("worker.{tier}.program"), worker.program.clone().unwrap_or_default());
            let bytes = worker.bytes.map(|bytes| bytes.to_string());
            fields.put(format!("worker.{tier}.bytes"), bytes.unwrap_or_default());
            fields.put(format!("worker.{tier}.permissions"), worker.permissions.as_str());
            fields.some(format!("worker.{tier}.env_labels"), &worker.env_labels);
            for (name, words) in worker.adapter.bound() {
                fields.some(format!("worker.{tier}.adapter.{name}"), &words);
            }
        }
        for (file, text) in self.role_texts {
            fields.put(format!("chef.{file}"), *text);
        }
        let grants = self.grants;
        let number = |number: Option<f64>| number.map(|number| format!("{number:?}")).unwrap_or_default();
        fields.put("policy.sandbox", self.sandbox);
        if let Some(workers) = &grants.workers {
            fields.list("policy.workers", workers);
        }
        fields.put("policy.shell", grants.shell.as_str().to_owned());
        fields.put("policy.skip_permissions", grants.skip_permissions.to_string());
        fields.put("policy.merge", grants.merge.to_string());
        fields.put("policy.push", grants.push.to_string());
        fields.list("policy.worker_effects", &grants.worker_effects);
        fields.some("policy.worker_write_paths", &grants.worker_write_paths);
        fields.list("policy.verification_effects", &grants.verification_effects);
        fields.put("policy.max_minutes", number(grants.max_minutes));
        fields.put("policy.max_cost_usd", number(grants.max_cost_usd));
        fields
            .put("policy.max_parallel", grants.max_parallel.map(|most| most.to_string()).unwrap_or_default());
    }

    /// Lists what enters the fingerprint of the tiers alone.
    fn own_fields(&self) -> Fields {
        let mut fields = Fields::default();
        self.config(&mut fields, |key| key.toml.starts_with("tier.") || TIER_KEYS.contains(&key.toml));
        self.fields(&mut fields);
        fields
    }

    /// Returns the fingerprint of the tiers alone, which a person approves for `plan` and `map`.
    pub fn fingerprint(&self) -> Fingerprint {
        self.own_fields().fingerprint(TIERS_DOMAIN)
    }

    /// Returns what is stored with an approval, as [`Execution::items`] does.
    pub fn items(&self) -> BTreeMap<String, String> {
        self.own_fields().items()
    }
}

impl Execution<'_> {
    /// Lists what enters the fingerprint: names and whole texts, in a fixed order.
    fn fields(&self) -> Fields {
        let mut fields = Fields::default();
        let prd = self.prd;
        fields.put("prd.branchName", prd.branch_name.clone().unwrap_or_default());
        fields.put("prd.walkaway", prd.walkaway.to_string());
        fields.some("prd.constraints", &prd.constraints);
        fields.some("prd.decisions", &prd.decisions);
        let test = prd.test_command.as_ref().map(|command| command.text().to_owned());
        fields.put("prd.testCommand", test.unwrap_or_default());
        let ids: Vec<String> = prd.tasks.iter().map(|task| task.id.to_string()).collect();
        fields.list("prd.tasks", &ids);
        for task in &prd.tasks {
            task_fields(task, &mut fields);
        }
        self.tiers.config(&mut fields, |_| true);
        self.tiers.fields(&mut fields);
        fields
    }

    /// Returns the execution fingerprint.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fields().fingerprint(DOMAIN)
    }

    /// Returns what is stored with an approval, for showing later what changed: the start of a hash for each field.
    pub fn items(&self) -> BTreeMap<String, String> {
        self.fields().items()
    }
}

fn task_fields(task: &Task, fields: &mut Fields) {
    let id = &task.id;
    let name = |field: &str| format!("task.{id}.{field}");
    fields.put(name("title"), task.title.clone());
    fields.put(name("description"), task.description.clone().unwrap_or_default());
    fields.some(name("acceptanceCriteria"), &task.acceptance_criteria);
    let entry =
        |entry: &crate::prd::Verification| format!("{}:{}", entry.kind.as_str(), entry.command.text());
    fields.some(name("verification"), &task.verification.iter().map(entry).collect::<Vec<_>>());
    let needs: Vec<String> = task.depends_on.iter().map(ToString::to_string).collect();
    fields.some(name("dependsOn"), &needs);
    fields.put(name("complexity"), task.complexity.map(Complexity::as_str).unwrap_or_default());
    fields.put(name("exclusive"), task.exclusive.clone().unwrap_or_default());
    fields.some(name("manualVerification"), &task.manual_verification);
    for (other, value) in &task.other {
        fields.put(name(other), value.to_compact());
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
