//! Approvals: the execution fingerprint, what it covers, and what changed since.
//!
//! | enters | does not enter |
//! | --- | --- |
//! | every field of the tasks, unknown ones too, and their order | `passes` |
//! | `branchName`, `walkaway`, `testCommand`, constraints and decisions of the PRD | its name, description and date |
//! | every key of the configuration that is marked as bound | intervals, limits, display, comments |
//! | per tier: words, resolved program, permissions, labels, write paths; its bytes with `bind_workers` | versions |
//! | the bytes of files of the workspace that commands of tiers and the notification name | other files |
//! | the rows of the adapters that are used | other rows |
//! | role texts of the workspace | role texts of ours |
//! | what the policy gives the kitchen, and its sandbox | its comments and rules about tools |

mod report;

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use brigade_core::Fingerprint;
use brigade_core::json::write_strings;
use brigade_macros::part;
use brigade_policy::KitchenGrants;
use serde::{Deserialize, Serialize};

pub use report::{
    ApprovalReport, CommandKind, CommandRow, MissingProgramReason, PrdOrigin, ShownCommand, TierRow,
    ValidatedTask, ValidatedVerification, ValidationReport, WorkersReport, commands, validation,
    worker_commands,
};

use crate::adapter::{Adapter, Permissions};
use crate::command::Command;
use crate::config::{KEYS, Key, Settings};
use crate::names::Tier;
use crate::prd::{Complexity, Task, ValidPrd};

/// The domains of the fingerprints of a PRD and of the tiers. They change when a fingerprint covers something else.
const DOMAIN: &str = "brigade.kitchen.execution.v1";
const TIERS_DOMAIN: &str = "brigade.kitchen.workers.v1";

/// The domain of the fingerprint of the whole configuration. That fingerprint is compared, but never approved.
const SETTINGS_DOMAIN: &str = "brigade.kitchen.settings.v1";

/// The keys that decide how tiers are started. Keys of one tier begin with `tier.`.
const TIER_KEYS: &[&str] =
    &["use_opencode", "opencode_model", "opencode_server", "skip_permissions", "bind_workers"];

/// The worker of a tier, as it would be started.
#[derive(Clone, Debug)]
pub struct WorkerPlan<'a> {
    /// The tier.
    pub tier: Tier,
    /// The command line, including the adapter's arguments. Paths of attempt files are placeholders.
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

/// The tiers. `plan` and `map` start them without a PRD.
#[derive(Clone, Copy, Debug)]
pub struct Tiers<'a> {
    /// The settings of the files and the PRD, without flags.
    pub settings: &'a Settings,
    /// The worker of each tier.
    pub workers: &'a [WorkerPlan<'a>],
    /// The rights that the policy grants to the kitchen.
    pub grants: &'a KitchenGrants,
    /// The mode of the sandbox.
    pub sandbox: &'a str,
    /// The role texts of the workspace, by file name.
    pub role_texts: &'a [(&'a str, &'a str)],
    /// The bytes of files of the workspace that commands name.
    pub files: &'a BTreeMap<String, Fingerprint>,
}

/// Everything that is executed for a PRD.
#[derive(Clone, Copy, Debug)]
pub struct Execution<'a> {
    /// The PRD.
    pub prd: &'a ValidPrd,
    /// The tiers that work on it, and the settings.
    pub tiers: Tiers<'a>,
}

/// A difference between the approved state and the current one.
#[part(PartialEq, Eq)]
pub struct Change {
    /// What differs, such as `task.US-003.verification`.
    pub field: String,
    /// The kind of difference.
    pub what: ChangeKind,
}

/// A kind of difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// It was not there.
    Added,
    /// It is no longer there.
    Removed,
    /// It has another value.
    Changed,
}

/// Passes on named texts that are not empty.
struct Fields<'s> {
    each: &'s mut dyn FnMut(&str, &str),
    name: String,
    text: String,
}

impl<'s> Fields<'s> {
    fn new(each: &'s mut dyn FnMut(&str, &str)) -> Fields<'s> {
        Fields { each, name: String::new(), text: String::new() }
    }

    fn put(&mut self, name: fmt::Arguments<'_>, text: &str) {
        if !text.is_empty() {
            self.name.clear();
            let _ = self.name.write_fmt(name);
            (self.each)(&self.name, text);
        }
    }

    fn list<T: AsRef<str>>(&mut self, name: fmt::Arguments<'_>, texts: impl IntoIterator<Item = T>) {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        write_strings(texts, &mut text);
        self.put(name, &text);
        self.text = text;
    }

    /// Passes on a list unless it is empty.
    fn some(&mut self, name: fmt::Arguments<'_>, texts: &[String]) {
        if !texts.is_empty() {
            self.list(name, texts);
        }
    }
}

/// Returns the fingerprint of fields.
fn fingerprint(domain: &'static str, fields: impl FnOnce(&mut Fields<'_>)) -> Fingerprint {
    Fingerprint::builder(domain).table_of("fields", |each| fields(&mut Fields::new(each))).finish()
}

/// Returns the start of a hash for each field.
fn items(fields: impl FnOnce(&mut Fields<'_>)) -> BTreeMap<String, String> {
    let mut items = BTreeMap::new();
    fields(&mut Fields::new(&mut |name, text| {
        items.insert(name.to_owned(), Fingerprint::of_bytes(text.as_bytes()).short());
    }));
    items
}

impl Tiers<'_> {
    fn config(&self, fields: &mut Fields<'_>, enters: impl Fn(&Key) -> bool) {
        for key in KEYS.iter().filter(|key| key.bound && enters(key)) {
            fields.put(format_args!("config.{}", key.toml), &self.settings.shown(key).unwrap_or_default());
        }
    }

    fn fields(&self, fields: &mut Fields<'_>) {
        for worker in self.workers {
            let tier = worker.tier;
            fields.list(format_args!("worker.{tier}.argv"), &worker.argv);
            fields.put(format_args!("worker.{tier}.program"), worker.program.as_deref().unwrap_or_default());
            let bytes = worker.bytes.map(|bytes| bytes.to_string());
            fields.put(format_args!("worker.{tier}.bytes"), &bytes.unwrap_or_default());
            fields.put(format_args!("worker.{tier}.permissions"), worker.permissions.as_str());
            fields.some(format_args!("worker.{tier}.env_labels"), &worker.env_labels);
            for (name, words) in worker.adapter.bound() {
                fields.some(format_args!("worker.{tier}.adapter.{name}"), &words);
            }
        }
        for (file, text) in self.role_texts {
            fields.put(format_args!("chef.{file}"), text);
        }
        for (path, bytes) in self.files {
            fields.put(format_args!("file.{path}"), &bytes.to_hex());
        }
        let grants = self.grants;
        let mut policy = |name: &str, text: &str| fields.put(format_args!("policy.{name}"), text);
        let number = |number: Option<f64>| number.map(|number| format!("{number:?}")).unwrap_or_default();
        policy("sandbox", self.sandbox);
        policy("workers", &grants.workers.as_ref().map(|workers| list(workers)).unwrap_or_default());
        policy("shell", grants.shell.as_str());
        policy("skip_permissions", &grants.skip_permissions.to_string());
        policy("merge", &grants.merge.to_string());
        policy("push", &grants.push.to_string());
        policy("worker_effects", &list(&grants.worker_effects));
        if !grants.worker_write_paths.is_empty() {
            policy("worker_write_paths", &list(&grants.worker_write_paths));
        }
        policy("verification_effects", &list(&grants.verification_effects));
        policy("max_minutes", &number(grants.max_minutes));
        policy("max_cost_usd", &number(grants.max_cost_usd));
        policy("max_parallel", &grants.max_parallel.map(|most| most.to_string()).unwrap_or_default());
    }

    /// Lists what the fingerprint of the tiers covers.
    fn own_fields(&self, fields: &mut Fields<'_>) {
        self.config(fields, |key| key.toml.starts_with("tier.") || TIER_KEYS.contains(&key.toml));
        self.fields(fields);
    }

    /// Returns the fingerprint of the tiers, which a person approves for `plan` and `map`.
    pub fn fingerprint(&self) -> Fingerprint {
        fingerprint(TIERS_DOMAIN, |fields| self.own_fields(fields))
    }

    /// Returns the fingerprint of the tiers and of all settings, including those that no approval covers. If it is
    /// unchanged, the configuration still has the same effect.
    pub fn settings_fingerprint(&self) -> Fingerprint {
        fingerprint(SETTINGS_DOMAIN, |fields| {
            for key in KEYS {
                fields
                    .put(format_args!("config.{}", key.toml), &self.settings.shown(key).unwrap_or_default());
            }
            self.fields(fields);
        })
    }

    /// Returns the hashes stored with an approval of the tiers, like [`Execution::items`].
    pub fn items(&self) -> BTreeMap<String, String> {
        items(|fields| self.own_fields(fields))
    }
}

impl Execution<'_> {
    /// Lists what the execution fingerprint covers: names and whole texts, in a fixed order.
    fn fields(&self, fields: &mut Fields<'_>) {
        let prd = self.prd;
        let mut of_prd = |name: &str, text: &str| fields.put(format_args!("prd.{name}"), text);
        of_prd("branchName", prd.branch_name.as_deref().unwrap_or_default());
        of_prd("walkaway", if prd.walkaway { "true" } else { "false" });
        for (name, texts) in [("constraints", &prd.constraints), ("decisions", &prd.decisions)] {
            if !texts.is_empty() {
                of_prd(name, &list(texts));
            }
        }
        of_prd("testCommand", prd.test_command.as_ref().map(Command::text).unwrap_or_default());
        fields.list(format_args!("prd.tasks"), prd.tasks.iter().map(|task| task.id.as_str()));
        for task in &prd.tasks {
            task_fields(task, fields);
        }
        self.tiers.config(fields, |_| true);
        self.tiers.fields(fields);
    }

    /// Returns the execution fingerprint.
    pub fn fingerprint(&self) -> Fingerprint {
        fingerprint(DOMAIN, |fields| self.fields(fields))
    }

    /// Returns a shortened hash of each field. They are stored with an approval to show later what changed.
    pub fn items(&self) -> BTreeMap<String, String> {
        items(|fields| self.fields(fields))
    }
}

fn list(texts: &[String]) -> String {
    let mut text = String::new();
    write_strings(texts, &mut text);
    text
}

fn task_fields(task: &Task, fields: &mut Fields<'_>) {
    let id = &task.id;
    fields.put(format_args!("task.{id}.title"), &task.title);
    fields.put(format_args!("task.{id}.description"), task.description.as_deref().unwrap_or_default());
    fields.some(format_args!("task.{id}.acceptanceCriteria"), &task.acceptance_criteria);
    if !task.verification.is_empty() {
        let entry =
            |entry: &crate::prd::Verification| format!("{}:{}", entry.kind.as_str(), entry.command.text());
        fields.list(format_args!("task.{id}.verification"), task.verification.iter().map(entry));
    }
    if !task.depends_on.is_empty() {
        let needs = task.depends_on.iter().map(|need| need.as_str());
        fields.list(format_args!("task.{id}.dependsOn"), needs);
    }
    let complexity = task.complexity.map(Complexity::as_str).unwrap_or_default();
    fields.put(format_args!("task.{id}.complexity"), complexity);
    fields.put(format_args!("task.{id}.exclusive"), task.exclusive.as_deref().unwrap_or_default());
    fields.some(format_args!("task.{id}.manualVerification"), &task.manual_verification);
    for (other, value) in &task.other {
        fields.put(format_args!("task.{id}.{other}"), &value.to_compact());
    }
}

/// Lists the differences between two sets of items: two approvals, or an approval and the current state.
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
