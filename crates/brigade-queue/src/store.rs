//! The interface of a store for calls, receipts and checkpoints.
//!
//! A store keeps and finds records. It decides nothing: [`crate::Queue`] has the rules for calls, duplicates and
//! interrupted runs. Its three traits have thirteen methods: two of [`Store`] open it, seven of [`Snapshot`] read, four
//! of [`Transaction`] write. A table or two in a database can answer each. The other methods have defaults.
//! [`crate::JournalStore`] keeps records in files, and `brigade-team` keeps them in PostgreSQL.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use brigade_call::{
    CHECKPOINTS, Call, CallStatus, Checkpoint, HostOffer, LedgerLink, Paths, RUNS, Receipt, RecordVersion,
    RunSummary,
};
use brigade_core::{CallId, CheckpointId, Fingerprint, Json, Object, RunId, Timestamp, words};
use brigade_fs::ReadFile;

use crate::error::QueueError;
use crate::recent::RecentCalls;

/// A stored call, with what the queue records about it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredCall {
    /// The call.
    pub call: Call,
    /// The kind of program that wrote it last. A record of a newer version can be read but not changed.
    pub version: RecordVersion,
    /// The position in queue order.
    pub sequence: u64,
    /// The number of changes. A change names the revision that it is based on.
    pub revision: u64,
    /// The documents of the checkpoints of its runs, by id. They are authoritative, even if copies are kept elsewhere.
    pub checkpoints: Object,
}

/// A stored receipt.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredReceipt {
    /// The receipt.
    pub receipt: Receipt,
    /// The id that it is stored under, which may differ from the id in the receipt.
    pub stored_id: String,
    /// The sha256 in the chain of receipts.
    pub sha256: Fingerprint,
}

/// A file with the name of a receipt that is not a valid one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadReceipt {
    /// The place, as reports name it.
    pub place: String,
    /// The problem and its position, without quoting the content.
    pub problem: String,
}

/// The file of a receipt, valid or not.
#[derive(Clone, Debug, PartialEq)]
pub enum FoundReceipt {
    /// A receipt.
    Good(Box<StoredReceipt>),
    /// Not a valid receipt.
    Bad(BadReceipt),
}

impl FoundReceipt {
    /// Returns the receipt, if it is valid.
    pub fn good(self) -> Option<StoredReceipt> {
        match self {
            FoundReceipt::Good(stored) => Some(*stored),
            FoundReceipt::Bad(_) => None,
        }
    }
}

/// A receipt of which only some members were read.
#[derive(Clone, Debug, PartialEq)]
pub struct ExaminedReceipt {
    /// The receipt with the requested members and the required ones.
    pub receipt: Receipt,
    /// The id that it is stored under.
    pub stored_id: String,
}

/// Receipts, newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunList {
    /// The readable receipts.
    pub receipts: Vec<StoredReceipt>,
    /// The unreadable ones.
    pub errors: Vec<BadReceipt>,
}

impl RunList {
    /// Returns the only receipt of the list, such as that of one run.
    pub(crate) fn only(mut self) -> Option<FoundReceipt> {
        let good = self.receipts.pop().map(|stored| FoundReceipt::Good(Box::new(stored)));
        good.or_else(|| self.errors.pop().map(FoundReceipt::Bad))
    }
}

impl From<FoundReceipt> for RunList {
    fn from(found: FoundReceipt) -> RunList {
        match found {
            FoundReceipt::Good(stored) => RunList { receipts: vec![*stored], errors: Vec::new() },
            FoundReceipt::Bad(bad) => RunList { receipts: Vec::new(), errors: vec![bad] },
        }
    }
}

/// A stored checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredCheckpoint {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The id that it is stored under.
    pub stored_id: String,
    /// The members in which its copy differs from the record of its call. If there are any, the call cannot be resumed.
    /// Empty if the store has no copies.
    pub differs: Vec<String>,
}

/// Returns the name of the receipt with this stored id in reports. It is the same for every store.
pub fn receipt_name(stored_id: &str) -> String {
    format!("{RUNS}/{stored_id}.json")
}

impl StoredReceipt {
    /// Returns its name in reports, relative to the workspace.
    pub fn name(&self) -> String {
        receipt_name(&self.stored_id)
    }

    /// Sums up the run for lists.
    pub fn summary(&self, paths: &impl Paths) -> RunSummary {
        let mut receipt = self.receipt.clone();
        receipt.receipt_path = Some(self.name());
        RunSummary::from_receipt(receipt.shown(paths))
    }
}

impl StoredCheckpoint {
    /// Returns a checkpoint that is stored under its own id, as its call's record has it.
    pub fn recorded(checkpoint: Checkpoint) -> StoredCheckpoint {
        StoredCheckpoint { stored_id: checkpoint.id.to_string(), checkpoint, differs: Vec::new() }
    }

    /// Returns the checkpoint as reports show it.
    pub fn shown(&self, paths: &impl Paths) -> Checkpoint {
        let path = paths.absolute(&format!("{CHECKPOINTS}/{}.json", self.stored_id));
        let mut checkpoint = self.checkpoint.clone();
        checkpoint.checkpoint_path = Some(path);
        checkpoint
    }

    /// Appends a number to an id that is taken.
    pub fn numbered(wanted_id: &str, number: u64) -> CheckpointId {
        // A very long id is shortened to make room for the suffix.
        let suffix = format!("-{number}");
        let room = 200 - suffix.len();
        let stem = &wanted_id[..wanted_id.len().min(room)];
        format!("{stem}{suffix}").parse().expect("an id with a suffix is an id")
    }
}

/// A copy of a checkpoint that is not valid, or differs from the record of its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadCheckpoint {
    /// The place, as reports name it.
    pub place: String,
    /// The problem and its position, without quoting the content.
    pub problem: String,
    /// Whether the record of its call has the checkpoint, so that the copy can be rewritten.
    pub is_recorded: bool,
}

/// Checkpoints, newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckpointList {
    /// The readable checkpoints.
    pub checkpoints: Vec<StoredCheckpoint>,
    /// The unreadable ones.
    pub errors: Vec<BadCheckpoint>,
}

/// A kind of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// Calls.
    Calls,
    /// Finished runs.
    Runs,
}

/// The order of a list of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In queue order.
    Queued,
    /// The latest queued first.
    Newest,
    /// By creation time, oldest first.
    Oldest,
}

/// Which calls to read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CallQuery<'a> {
    /// The call with this id.
    Id(&'a CallId),
    /// All calls, or those that are stored with a status.
    List {
        /// The status.
        status: Option<&'a CallStatus>,
        /// The order.
        order: Order,
        /// Calls from this sequence on may be left out, so that older ones are found at once.
        before: Option<u64>,
    },
    /// At least the running calls whose runner may be gone, by creation time.
    Abandoned,
    /// All calls in queue order, for a list as long as the history that only shows them.
    Shown,
    /// At least the pending, approved and rejected calls that may be equivalent to a new one, in queue order. May
    /// include other calls.
    Similar(&'a Call),
    /// The calls of a tool that a person approved last, newest first. The store returns as many as it can find at a
    /// cost that does not grow with the history.
    LastApproved(&'a str),
}

/// Which receipts to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiptQuery<'a> {
    /// The receipt of a run by its full id, valid or not.
    Run(&'a str),
    /// At most this many, newest first; `usize::MAX` for all. Reads about as many as it returns.
    Newest(usize),
    /// At most `limit`, newest first, after the `skip` newest ones. For a history that is read in parts.
    Part {
        /// How many newer ones to skip.
        skip: usize,
        /// The size of the part.
        limit: usize,
    },
    /// Entries that have the name of a receipt but cannot be one. Empty for a store without files.
    Misplaced,
}

/// Which members of each receipt are read, in addition to its run, call and status. A store may pass on more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// None.
    Status,
    /// The members for a list: the tool, the times and who asked.
    Listed,
    /// The members for a diagnosis: how the run failed, its arguments, and where its logs are.
    Diagnosed,
}

impl Detail {
    /// Returns a receipt with only the members of this detail.
    pub fn examined(self, receipt: &Receipt) -> Receipt {
        let is_wanted =
            |key: &str| ["id", "call_id", "status"].contains(&key) || self.members().contains(&key);
        let mut document = receipt.to_members();
        document.retain(|key, _| is_wanted(key));
        Receipt::from_json(Json::Object(document)).expect("it has the members that make it a receipt")
    }

    /// Lists the members of receipts that are read.
    pub(crate) fn members(self) -> &'static [&'static str] {
        match self {
            Detail::Status => &[],
            Detail::Listed => &["tool_id", "started_at", "completed_at", "caller"],
            Detail::Diagnosed => &[
                "tool_id",
                "family",
                "started_at",
                "completed_at",
                "timed_out",
                "failure",
                "mcp_error_kind",
                "args",
                "caller",
                "stdout_log_path",
                "stderr_log_path",
            ],
        }
    }
}

/// Which checkpoints to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpoints<'a> {
    /// Those that the records of their calls know.
    Known,
    /// Those that were added for this run, even if no record knows them yet.
    AddedFor(&'a RunId),
}

/// A call that a store found. It is created from a [`StoredCall`].
///
/// The journal does not parse the records of [`CallQuery::Shown`], because they are shown as stored.
pub struct CallRecord<'a>(pub(crate) Form<'a>);

/// The form of a record.
#[expect(clippy::large_enum_variant, reason = "it is handed on once, and the large one is the usual one")]
pub(crate) enum Form<'a> {
    Parsed(StoredCall),
    /// A line of the journal with a record of this version, of a call that does not run.
    Line(&'a [u8]),
}

impl From<StoredCall> for CallRecord<'_> {
    fn from(stored: StoredCall) -> Self {
        CallRecord(Form::Parsed(stored))
    }
}

impl CallRecord<'_> {
    /// Returns the call. `None` if its record cannot be read.
    pub fn into_stored(self) -> Option<StoredCall> {
        match self.0 {
            Form::Parsed(stored) => Some(stored),
            Form::Line(line) => StoredCall::from_line(line, 0, None),
        }
    }
}

/// Called with each call that a store found. Breaks to stop.
pub type FoundRecord<'a> = dyn FnMut(CallRecord<'_>) -> ControlFlow<()> + 'a;

/// Called with each call. Breaks to stop.
pub type FoundCall<'a> = dyn FnMut(StoredCall) -> ControlFlow<()> + 'a;

/// Called with each examined receipt, or with an unreadable one.
pub type ExaminedRun<'a> = dyn Fn(Result<ExaminedReceipt, BadReceipt>) + Sync + 'a;

/// Whether the chain of receipts is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chain {
    /// Verify it from this ledger entry on (1 for all of it).
    From(u64),
    /// Do not verify it, and report no findings.
    Trust,
}

/// When the records of a transaction are durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Once they are written.
    AtOnce,
    /// Soon. The records are written at once and may be synced a little later, in the order of writing. They survive a
    /// killed process, but a power loss within that time may lose them. A store may treat this like
    /// [`Durability::AtOnce`].
    Soon,
}

/// Stores calls, receipts and checkpoints.
pub trait Store: Send + Sync {
    /// Reads everything as it is now. Never waits for a writer and never writes.
    ///
    /// # Errors
    /// Fails if the store cannot be reached.
    fn read(&self) -> Result<Arc<dyn Snapshot>, QueueError>;

    /// Waits to become the only writer, until the result is dropped. A shared store may let others write before
    /// [`Transaction::lock_queue`], and refuses to change a call of another revision than the one that was read.
    ///
    /// # Errors
    /// Fails if another writer does not finish in time, or the store cannot be reached.
    fn begin(&self, now: Timestamp, durability: Durability) -> Result<Box<dyn Transaction + '_>, QueueError>;

    /// Returns the name of a store that several hosts share, for reports. Its runners may be on other hosts, so it
    /// decides itself which of them are gone.
    fn shared_name(&self) -> Option<String> {
        None
    }

    /// Keeps the log of a run of this host for the other hosts, if the store does that.
    ///
    /// # Errors
    /// Fails if the log cannot be read or stored.
    fn keep_log(
        &self,
        _call: &CallId,
        _run: &RunId,
        _stream: &str,
        _log: &dyn ReadFile,
    ) -> Result<(), QueueError> {
        Ok(())
    }

    /// Returns the log of a run that another host kept here, if there is one.
    ///
    /// # Errors
    /// Fails if the store cannot be reached.
    fn kept_log(&self, _run: &str, _stream: &str) -> Result<Option<KeptLog>, QueueError> {
        Ok(None)
    }
}

/// The end of a log that another host kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptLog {
    /// How many bytes of the log came before.
    pub start: u64,
    /// The rest of it.
    pub bytes: Vec<u8>,
}

/// The stored records at one moment. Methods fail if the store cannot be read.
#[expect(clippy::missing_errors_doc, reason = "all fail for the same reason")]
pub trait Snapshot: Send + Sync {
    /// Calls `found` for each call until it breaks, without holding many in memory.
    fn calls(&self, query: &CallQuery<'_>, found: &mut FoundRecord<'_>) -> Result<(), QueueError>;

    /// Lists receipts, newest first, and invalid files.
    fn receipts(&self, query: &ReceiptQuery<'_>) -> Result<RunList, QueueError>;

    /// Verifies the chain of receipts, and calls `found` with every receipt in the requested detail, on several threads
    /// and in any order. Together, both read each receipt once.
    fn examine(
        &self,
        chain: Chain,
        found: Option<(Detail, &ExaminedRun<'_>)>,
    ) -> Result<Verification, QueueError>;

    /// Lists checkpoints, newest first.
    fn checkpoints(&self, which: Checkpoints<'_>) -> Result<CheckpointList, QueueError>;

    /// Lists at most `limit` ids that start with a prefix, sorted.
    fn ids(&self, of: Records, prefix: &str, limit: usize) -> Result<Vec<String>, QueueError>;

    /// Passes on the counters of the calls since a moment, in microseconds since 1970, and of those that wait for a
    /// person. A store that can should count at a cost that does not grow with the history.
    fn recent(&self, since: i64, question: &mut dyn FnMut(&mut RecentCalls)) -> Result<(), QueueError>;

    /// Lists what the hosts of a team would run for a call, by host. A store of one host need not implement it.
    fn offers(&self, _id: &CallId) -> Result<Vec<HostOffer>, QueueError> {
        Ok(Vec::new())
    }

    /// Returns the host that made a run, if it is another one. A store of one host need not implement it.
    fn other_host(&self, _run: &str) -> Result<Option<String>, QueueError> {
        Ok(None)
    }

    /// Lists the hosts of a team that have a runner now, sorted. A store of one host need not implement it.
    fn runner_hosts(&self) -> Result<Vec<String>, QueueError> {
        Ok(Vec::new())
    }

    /// Counts records by stored status. Statuses without records are omitted.
    fn counts(&self, of: Records) -> Result<BTreeMap<String, u64>, QueueError>;
}

impl dyn Snapshot + '_ {
    /// Calls `found` for each call of a query until it breaks.
    pub(crate) fn each_call(
        &self,
        query: &CallQuery<'_>,
        found: &mut FoundCall<'_>,
    ) -> Result<(), QueueError> {
        self.calls(query, &mut |record| record.into_stored().map_or(ControlFlow::Continue(()), &mut *found))
    }

    /// Returns a call by its full id.
    pub(crate) fn call(&self, id: &CallId) -> Result<Option<StoredCall>, QueueError> {
        let mut call = None;
        self.each_call(&CallQuery::Id(id), &mut |stored| {
            call = Some(stored);
            ControlFlow::Break(())
        })?;
        Ok(call)
    }

    /// Returns the receipt of a run by its full id, valid or not.
    pub(crate) fn receipt(&self, run: &str) -> Result<Option<FoundReceipt>, QueueError> {
        Ok(self.receipts(&ReceiptQuery::Run(run))?.only())
    }
}

/// The store while one writer holds it. Everything that a method returns is durable, or [soon is](Durability::Soon),
/// and each method takes effect completely or not at all. Methods fail if the store cannot be written.
#[expect(clippy::missing_errors_doc, reason = "all fail for the same reason")]
pub trait Transaction {
    /// Returns the content as seen in this transaction.
    fn snapshot(&self) -> &dyn Snapshot;

    /// Prepares the store for writing. Called before reading anything that a change is based on. A store that is always
    /// ready need not implement it.
    fn prepare(&mut self) -> Result<(), QueueError> {
        Ok(())
    }

    /// Waits to become the only writer of the queue, if the store let others write until now. Called before a change
    /// that depends on other calls than the changed one.
    fn lock_queue(&mut self) -> Result<(), QueueError> {
        self.prepare()
    }

    /// Writes calls, all or none. A call with sequence 0 is new and gets the next sequence.
    fn put(&mut self, calls: &mut [StoredCall]) -> Result<(), QueueError>;

    /// Stores new checkpoints. A checkpoint whose id is taken gets another one.
    fn add_checkpoints(&mut self, checkpoints: Vec<Checkpoint>) -> Result<Vec<StoredCheckpoint>, QueueError>;

    /// Stores the receipt of a run, and then adds it to the ledger. Skips a step that was already done.
    fn record(&mut self, receipt: NewReceipt<'_>) -> Result<RecordedReceipt, QueueError>;

    /// Keeps the receipt of a run that others have already ended, because its claim expired. A store whose claims do
    /// not expire need not implement it.
    fn report_late(&mut self, _receipt: &Receipt) -> Result<(), QueueError> {
        Ok(())
    }
}

/// A receipt to record.
#[derive(Clone, Debug, PartialEq)]
pub enum NewReceipt<'a> {
    /// A receipt that is not stored yet. Storing the same receipt again succeeds.
    Unstored(&'a Receipt, OnRunTaken),
    /// A stored receipt that may be missing from the ledger.
    Stored(Box<StoredReceipt>),
}

/// What to do if the run already has another receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRunTaken {
    /// Return [`QueueError::RunTaken`].
    Refuse,
    /// Set the other receipt aside, because it is unusable.
    SetAside,
}

/// A receipt that is stored and in the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedReceipt {
    /// The receipt.
    pub receipt: StoredReceipt,
    /// Its entry in the ledger.
    pub link: LedgerLink,
    /// Whether the ledger was complete before the entry was appended.
    pub chain: ChainEnd,
}

/// The end of the ledger before an entry was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainEnd {
    /// The expected entry.
    Whole,
    /// Something else, because the end or all of the ledger was lost. The gap stays visible.
    Lost,
}

words! {
    /// What happened to a receipt.
    Tampering {
        /// The file or its ledger entry was changed.
        Changed = "changed",
        /// The file or its ledger entry is missing.
        Removed = "removed",
        /// Its ledger entry is in another position.
        Reordered = "reordered",
        /// The file has no ledger entry.
        Added = "added",
        /// A call names it, but the ledger ends before its entry.
        CutOff = "cut-off",
        /// The ledger names it, but its call is missing or does not know the run, because the journal is older than the
        /// ledger.
        Forgotten = "forgotten",
    }
}

/// An inconsistency in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The ledger sequence, if there is one.
    pub sequence: Option<u64>,
    /// The line of the ledger, from 1, if the line is damaged.
    pub line: Option<u64>,
    /// The run, if it is known.
    pub run_id: String,
    /// What happened.
    pub tampering: Tampering,
    /// How it was detected.
    pub detail: &'static str,
}

/// The result of verifying the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// The number of ledger entries that were checked.
    pub checked: u64,
    /// The inconsistencies in chain order. Files without an entry come last.
    pub findings: Vec<Finding>,
    /// The sequence of the last entry, or 0 for an empty ledger.
    pub last: u64,
    /// Whether there is no ledger yet, because nothing was written since v0.30.
    pub is_unadopted: bool,
}

impl Verification {
    /// Returns the finding for a run.
    pub fn of_run(&self, run_id: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.run_id == run_id)
    }

    /// Returns the first finding about a receipt.
    pub fn first(&self) -> Option<&Finding> {
        self.findings.first()
    }
}
