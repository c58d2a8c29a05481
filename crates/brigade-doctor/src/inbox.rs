//! Converts issues to tasks of the work inbox, without duplicates.

mod provenance;

use std::collections::{HashMap, HashSet};

use brigade_core::{
    Extra, Fingerprint, NextStep, Place, StepFormatter, StoredFingerprint, Timestamp, open_words,
};
use brigade_macros::record;

pub use self::provenance::{
    Provenance, ProvenanceForm, ProvenanceHashes, ProvenanceInjection, ProvenanceLocator,
    ProvenanceRedaction, ProvenanceRepository, ProvenanceSession, ProvenanceSource, ProvenanceTrust,
};
use crate::Issue;

/// The `source` of rows from this crate.
pub const INBOX_SOURCE: &str = "tool-catalog";

/// The `kind` of rows from this crate.
const KIND: &str = "task";

/// The producer in the provenance of the rows.
const PRODUCER: &str = include_str!("inbox/producer.txt");

open_words! {
    /// A person's decision about a row of the inbox.
    InboxStatus {
        /// Nothing yet.
        Pending = "pending",
        /// It became work.
        Promoted = "promoted",
        /// It is hidden until it changes.
        Dismissed = "dismissed",
        /// The work is done.
        Done = "done",
    }
}

/// A row of the inbox. Rows of other parts of Brigade have further members.
#[record(Default, PartialEq)]
pub struct InboxItem {
    /// The id.
    pub id: Option<String>,
    /// The kind of row.
    pub kind: Option<String>,
    /// The part of Brigade that created it.
    pub source: Option<String>,
    /// The task.
    pub text: Option<String>,
    /// The decision: `pending`, `promoted`, `dismissed` or `done`.
    pub status: Option<InboxStatus>,
    /// The reason of a person's decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review_reason: Option<String>,
    /// When it was created.
    pub created_at: Option<String>,
    /// When it was last changed.
    pub updated_at: Option<String>,
    /// The type of work.
    pub r#type: Option<String>,
    /// The priority.
    pub priority: Option<String>,
    /// The template of the work.
    pub template: Option<String>,
    /// The acceptance criteria.
    pub acceptance: Vec<String>,
    /// The issue that it was created from.
    pub metadata: Option<InboxMetadata>,
}

/// The issue of an inbox row.
#[record(Default, PartialEq)]
pub struct InboxMetadata {
    /// The tool or runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<String>,
    /// Its family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_family: Option<String>,
    /// The type of the issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_issue_type: Option<String>,
    /// The harness, for an issue of a projection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_harness: Option<String>,
    /// The call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_run_id: Option<String>,
    /// The checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_checkpoint_id: Option<String>,
    /// The projected file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projection_target: Option<String>,
    /// The problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_issue_detail: Option<String>,
    /// The key of the issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_item_key: Option<String>,
    /// The fingerprint of the issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_fingerprint: Option<String>,
    /// The provenance of the text, in the envelope that other parts of Brigade read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
}

/// The parts of an inbox row that imports compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxRow {
    /// The status.
    pub status: RowStatus,
    /// The text.
    pub text: String,
    /// The key of its issue.
    pub key: Option<String>,
    /// The fingerprint of its issue; 16 digits in rows of v0.30.
    pub fingerprint: Option<String>,
}

/// The status of an inbox row, for imports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowStatus {
    /// Pending or promoted: the issue has a row.
    Open,
    /// Dismissed by a person.
    Dismissed,
    /// Anything else, such as done: the issue is new only when it changes.
    Closed,
}

impl InboxRow {
    /// Reads a row; `None` for rows of other sources.
    pub fn parse(row: &InboxItem) -> Option<InboxRow> {
        if row.source.as_deref() != Some(INBOX_SOURCE) || row.kind.as_deref() != Some(KIND) {
            return None;
        }
        let status = match row.status.as_ref()? {
            InboxStatus::Pending | InboxStatus::Promoted => RowStatus::Open,
            InboxStatus::Dismissed => RowStatus::Dismissed,
            InboxStatus::Done | InboxStatus::Other(_) => RowStatus::Closed,
        };
        let metadata = row.metadata.as_ref();
        Some(InboxRow {
            status,
            text: row.text.clone().unwrap_or_default(),
            key: metadata.and_then(|metadata| metadata.source_item_key.clone()),
            fingerprint: metadata.and_then(|metadata| metadata.source_fingerprint.clone()),
        })
    }
}

/// The `source` of rows that workers of the kitchen found outside of their tasks.
pub const BACKLOG_SOURCE: &str = "kitchen-backlog";

/// Decides which findings of a worker become new rows, given all existing rows: those without a row of the kitchen.
///
/// `task` is the displayed name of the task, such as `add-auth/US-003`.
pub fn backlog<'r>(
    task: &str,
    found: &[String],
    rows: impl Iterator<Item = &'r InboxItem>,
    now: Timestamp,
) -> Vec<InboxItem> {
    let of_kitchen = rows.filter(|row| row.source.as_deref() == Some(BACKLOG_SOURCE));
    let mut known: HashSet<String> = of_kitchen.filter_map(|row| row.text.as_deref().map(normal)).collect();
    let at = now.to_string();
    let mut created = Vec::new();
    for text in found.iter().map(|text| text.trim()).filter(|text| !text.is_empty()) {
        if !known.insert(normal(text)) {
            continue;
        }
        let key = format!("{BACKLOG_SOURCE}:{task}");
        let metadata = InboxMetadata { source_item_key: Some(key.clone()), ..InboxMetadata::default() };
        created.push(InboxItem {
            id: Some(row_id(text, &key, BACKLOG_SOURCE, now)),
            kind: Some(KIND.to_owned()),
            source: Some(BACKLOG_SOURCE.to_owned()),
            text: Some(text.to_owned()),
            status: Some(InboxStatus::Pending),
            review_reason: None,
            created_at: Some(at.clone()),
            updated_at: Some(at.clone()),
            r#type: Some("workflow".to_owned()),
            priority: Some("normal".to_owned()),
            template: None,
            acceptance: Vec::new(),
            metadata: Some(metadata),
            extra: Extra::default(),
        });
    }
    created
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Import {
    /// The rows to append, in the order of the issues.
    pub created: Vec<InboxItem>,
    /// The number of issues that already have a row.
    pub skipped: usize,
    /// The number of issues that were dismissed and have not changed since.
    pub dismissed: usize,
}

/// Decides which issues become new rows, given all existing rows.
///
/// An issue has a row if any row has its key and fingerprint. Otherwise, it has a row if an open row has its text and
/// no key of another issue. An issue stays dismissed while the last row with its key and fingerprint is dismissed. The
/// fingerprints of v0.30 rows cannot be compared. So each such row counts for one issue of its tool and type, or, if it
/// names a missing file, for the issue of this file. Importing twice never adds a row the second time.
///
/// `speller` formats the next steps in the rows.
pub fn import(issues: &[Issue], rows: &[InboxRow], speller: &dyn StepFormatter, now: Timestamp) -> Import {
    let mut known = KnownRows::new(rows);
    let mut import = Import::default();
    // Exact matches go first, so that v0.30 rows remain for issues without an exact match.
    let marked: Vec<(Mark, Option<RowStatus>)> = issues
        .iter()
        .map(|issue| {
            let mark = Mark::new(issue);
            let exact = known.exact(issue, &mark);
            (mark, exact)
        })
        .collect();
    for (issue, (mark, exact)) in issues.iter().zip(marked) {
        match exact.or_else(|| known.exact(issue, &mark)).or_else(|| known.adopted(issue)) {
            Some(RowStatus::Open | RowStatus::Closed) => import.skipped += 1,
            Some(RowStatus::Dismissed) => import.dismissed += 1,
            None => {
                import.created.push(record(issue, &mark, speller, now));
                known.add(issue, mark);
            }
        }
    }
    import
}

/// The key and fingerprint of an issue, computed once.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Mark {
    key: String,
    fingerprint: String,
}

impl Mark {
    fn new(issue: &Issue) -> Mark {
        Mark { key: source_item_key(issue), fingerprint: issue.fingerprint().to_hex() }
    }
}

/// Indexes over the rows.
struct KnownRows {
    by_mark: HashMap<Mark, RowStatus>,
    /// The keys of open rows by text; `None` for a row without a key.
    open_texts: HashMap<String, Vec<Option<String>>>,
    /// The rows of v0.30 by key: status, and the missing file that the row names.
    adopted: HashMap<String, Vec<(RowStatus, Option<String>)>>,
}

impl KnownRows {
    fn new(rows: &[InboxRow]) -> KnownRows {
        let mut known =
            KnownRows { by_mark: HashMap::new(), open_texts: HashMap::new(), adopted: HashMap::new() };
        for row in rows {
            if row.status == RowStatus::Open {
                known.open_texts.entry(normal(&row.text)).or_default().push(row.key.clone());
            }
            let (Some(key), Some(fingerprint)) = (&row.key, &row.fingerprint) else { continue };
            let is_ours = fingerprint.parse::<StoredFingerprint>().is_ok_and(|stored| stored.is_full());
            if !is_ours {
                known.adopted.entry(key.clone()).or_default().push((row.status, missing_file(&row.text)));
            }
            // The last row decides, but an open row counts even if others follow.
            let mark = Mark { key: key.clone(), fingerprint: fingerprint.clone() };
            let status = known.by_mark.entry(mark).or_insert(row.status);
            if *status != RowStatus::Open {
                *status = row.status;
            }
        }
        known
    }

    fn exact(&self, issue: &Issue, mark: &Mark) -> Option<RowStatus> {
        // A row with the key of another issue does not count, even if the text is the same.
        let is_its =
            |key: &Option<String>| key.as_ref().is_none_or(|key| *key == mark.key || *key == base_key(issue));
        let same_text = || {
            let keys = self.open_texts.get(&normal(&task_text(issue)))?;
            keys.iter().any(is_its).then_some(RowStatus::Open)
        };
        self.by_mark.get(mark).copied().or_else(same_text)
    }

    fn adopted(&mut self, issue: &Issue) -> Option<RowStatus> {
        let rows = self.adopted.get_mut(&base_key(issue))?;
        let is_its = |file: &Option<String>| file.as_ref().is_none_or(|file| issue.names_file(file));
        let place = rows.iter().position(|(_, file)| is_its(file))?;
        Some(rows.remove(place).0)
    }

    fn add(&mut self, issue: &Issue, mark: Mark) {
        self.open_texts.entry(normal(&task_text(issue))).or_default().push(Some(mark.key.clone()));
        self.by_mark.insert(mark, RowStatus::Open);
    }
}

/// Returns the missing file that the text of a v0.30 row names.
fn missing_file(text: &str) -> Option<String> {
    let (_, rest) = text.split_once(": missing ")?;
    let (what, file) = rest.split_once(": ")?;
    let is_of_files = matches!(what, "source" | "manifest" | "schema" | "examples" | "health file");
    is_of_files.then(|| file.trim().to_owned())
}

/// Normalizes case and white space.
fn normal(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Returns the key in the format of v0.30: empty parts are kept.
fn base_key(issue: &Issue) -> String {
    let tool = issue.tool_id.as_deref().unwrap_or("catalog");
    let parts = [
        INBOX_SOURCE,
        tool,
        issue.kind.code(),
        issue.harness().unwrap_or_default(),
        issue.call_id.as_deref().unwrap_or_default(),
        issue.run_id.as_deref().unwrap_or_default(),
        issue.checkpoint_id.as_deref().unwrap_or_default(),
    ];
    parts.join(":")
}

/// Returns the key of an issue. It is the same in every import, and no two issues share one.
///
/// The key of v0.30, followed by the subject if there is one.
pub fn source_item_key(issue: &Issue) -> String {
    let mut key = base_key(issue);
    if !issue.subject.is_empty() {
        key.push(':');
        key.push_str(&issue.subject);
    }
    key
}

/// Returns the text of the task. It names the call, run, checkpoint or file, so that the texts of two issues differ.
fn task_text(issue: &Issue) -> String {
    let tool = issue.tool_id.as_deref().unwrap_or("catalog");
    let ids = [("checkpoint", &issue.checkpoint_id), ("run", &issue.run_id), ("call", &issue.call_id)];
    let id = ids.into_iter().find_map(|(word, id)| Some(format!(" ({word} {})", id.as_deref()?)));
    let about = id.or_else(|| {
        let subject = Some(issue.subject.as_str()).filter(|subject| !subject.is_empty());
        subject.filter(|subject| !issue.detail.contains(subject)).map(|subject| format!(" ({subject})"))
    });
    let about = about.unwrap_or_default();
    format!("Repair tool catalog issue {tool}/{}{about}: {}", issue.kind.code(), issue.detail)
}

fn without_line(step: NextStep) -> NextStep {
    match step {
        NextStep::Edit(place) => NextStep::Edit(Place::file(place.file)),
        step => step,
    }
}

/// Returns the row of an issue.
fn record(issue: &Issue, mark: &Mark, speller: &dyn StepFormatter, now: Timestamp) -> InboxItem {
    let tool = issue.tool_id.as_deref().unwrap_or("catalog");
    let Mark { key, fingerprint } = mark;
    let text = task_text(issue);
    // The row is read later, when line numbers have changed, so it has none.
    let words = |step: &NextStep| speller.spell(step, None);
    let acceptance = format!(
        "`{}` no longer reports {tool}/{}; try: {}",
        words(&NextStep::Diagnose),
        issue.kind.code(),
        words(&without_line(issue.next_step()))
    );
    let target = issue.projection.as_ref().and_then(|mark| mark.target.clone());
    let at = now.to_string();
    let id = row_id(&text, key, fingerprint, now);
    // An issue without a harness, call, run or checkpoint has explicit nulls.
    let mut extra = Extra::default();
    extra.show(&[
        "tool_family",
        "tool_harness",
        "tool_call_id",
        "tool_run_id",
        "tool_checkpoint_id",
        "projection_target",
    ]);
    let metadata = InboxMetadata {
        tool_id: Some(tool.to_owned()),
        tool_family: issue.family.clone(),
        tool_issue_type: Some(issue.kind.code().to_owned()),
        tool_harness: issue.harness().map(str::to_owned),
        tool_call_id: issue.call_id.clone(),
        tool_run_id: issue.run_id.clone(),
        tool_checkpoint_id: issue.checkpoint_id.clone(),
        projection_target: target,
        tool_issue_detail: Some(issue.detail.clone()),
        source_item_key: Some(key.clone()),
        source_fingerprint: Some(fingerprint.clone()),
        provenance: Some(Provenance::new(&text, key, &id, &at)),
        extra,
    };
    InboxItem {
        id: Some(id),
        kind: Some(KIND.to_owned()),
        source: Some(INBOX_SOURCE.to_owned()),
        text: Some(text),
        status: Some(InboxStatus::Pending),
        review_reason: None,
        created_at: Some(at.clone()),
        updated_at: Some(at),
        r#type: Some("workflow".to_owned()),
        priority: Some("normal".to_owned()),
        template: Some("bugfix".to_owned()),
        acceptance: vec![acceptance],
        metadata: Some(metadata),
        extra: Extra::default(),
    }
}

/// The maximum length of the part of an id that comes from the text.
const SLUG: usize = 48;

fn row_id(text: &str, key: &str, fingerprint: &str, now: Timestamp) -> String {
    let mut slug = String::new();
    for word in text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        if SLUG < slug.len() + word.len() {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(&word.to_ascii_lowercase());
    }
    let unique = Fingerprint::builder("brigade.inbox-row.v1")
        .text("key", key)
        .text("fingerprint", fingerprint)
        .text("at", now.to_string().as_str())
        .finish();
    format!("{}-{KIND}-{slug}-{}", now.compact(), &unique.to_hex()[..6])
}

#[cfg(test)]
mod tests;
