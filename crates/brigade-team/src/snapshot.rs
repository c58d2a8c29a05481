//! Reads calls, receipts and checkpoints from the database.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use brigade_call::{Approvals, ApprovedBy, Binding, CallStatus, Checkpoint, HostOffer};
use brigade_core::{CallId, Dialect, Json, Timestamp};
use brigade_queue::{
    CallQuery, Chain, CheckpointList, Checkpoints, Detail, ExaminedReceipt, ExaminedRun, FoundReceipt,
    FoundRecord, Order, QueueError, ReceiptQuery, RecentCalls, Records, RunList, Snapshot, StoredCall,
    StoredCheckpoint, StoredReceipt, Verification,
};
use postgres::Row;
use postgres::types::ToSql;
use postgres_protocol::escape::escape_literal;

use crate::connection::Lease;
use crate::error::TeamError;
use crate::signature::{Approval, Subject};
use crate::store::Core;
use crate::verify::check_chains;

/// The number of calls that are read at once.
pub(crate) const PAGE: i64 = 256;

/// How many calls are read first.
const FIRST_PAGE: i64 = 16;

/// The most approved calls of a tool among which the one is looked for that a person approved last.
const MAX_LAST_APPROVED: usize = 64;

/// The columns of a call. The database's clock decides whether a claim has expired.
const COLUMNS: &str = "c.record, c.sequence, c.revision, c.approved_revision, \
    coalesce(c.status = 'running' AND c.lease_until <= clock_timestamp(), false), c.queued_by, c.created, \
    CASE WHEN c.status IN ('pending', 'held', 'approved', 'resume-pending', 'waiting') \
    THEN @schema@.needed_approvals(c.tool_id, c.family, c.effects) ELSE 0 END";

/// How many calls or ended runs have each status.
pub(crate) const COUNTS: &str = "SELECT status, sum(number)::bigint FROM @schema@.counts \
    WHERE workspace = $1 AND kind = $2 GROUP BY 1 HAVING sum(number) <> 0";

/// The receipts that end runs.
const ENDS: &str = "workspace = $1 AND NOT is_late AND NOT is_aside";

/// The connection of a snapshot.
pub(crate) enum Source {
    /// Any that is free.
    Any,
    /// That of a transaction.
    Own(Arc<Mutex<Lease>>),
}

/// The stored records. Each method reads them as they are then.
pub(crate) struct TeamSnapshot {
    pub(crate) core: Arc<Core>,
    pub(crate) source: Source,
}

impl TeamSnapshot {
    pub(crate) fn rows(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, TeamError> {
        match &self.source {
            Source::Any => self.core.options.connection.rows(sql, values),
            Source::Own(lease) => {
                lease.lock().unwrap_or_else(PoisonError::into_inner).rows_again(sql, values)
            }
        }
    }

    /// Reads the calls that fulfil a condition, page by page. `$1` is the workspace, `$2` the value.
    fn each(
        &self,
        condition: &str,
        value: &str,
        order: Order,
        found: &mut dyn FnMut(StoredCall) -> ControlFlow<()>,
    ) -> Result<(), TeamError> {
        self.each_since(i64::MIN, condition, value, order, found)
    }

    /// Like [`TeamSnapshot::each`], for calls that were created then or later.
    fn each_since(
        &self,
        since: i64,
        condition: &str,
        value: &str,
        order: Order,
        found: &mut dyn FnMut(StoredCall) -> ControlFlow<()>,
    ) -> Result<(), TeamError> {
        let (after, sorted) = match order {
            Order::Queued => ("$3 < c.sequence AND $4 <= c.created", "c.sequence"),
            Order::Newest => ("c.sequence < $3 AND $4 <= c.created", "c.sequence DESC"),
            Order::Oldest => ("($4, $3) < (c.created, c.sequence)", "c.created, c.sequence"),
        };
        let sql = format!(
            "SELECT {COLUMNS} FROM @schema@.calls c WHERE c.workspace = $1 AND {condition} AND {after} \
             ORDER BY {sorted} LIMIT $5"
        );
        // Often the first call is enough.
        let mut page = FIRST_PAGE;
        let mut last = (if order == Order::Newest { i64::MAX } else { -1 }, since);
        loop {
            let rows = self.rows(&sql, &[&self.core.options.workspace, &value, &last.0, &last.1, &page])?;
            for stored in self.calls_of(&rows)? {
                if found(stored).is_break() {
                    return Ok(());
                }
            }
            let Some(row) = rows.last().filter(|_| rows.len() == page as usize) else { return Ok(()) };
            page = PAGE.min(page * 4);
            last = (row.try_get(1)?, if order == Order::Oldest { row.try_get(6)? } else { since });
        }
    }

    /// Reads the calls of rows. Approvals that do not count are left out.
    fn calls_of(&self, rows: &[Row]) -> Result<Vec<StoredCall>, TeamError> {
        let mut calls = Vec::with_capacity(rows.len());
        let mut undecided = Vec::new();
        for row in rows {
            let text: &str = row.try_get(0)?;
            let Some(mut stored) = StoredCall::from_text(text) else { continue };
            let (sequence, revision): (i64, i64) = (row.try_get(1)?, row.try_get(2)?);
            stored.sequence = u64::try_from(sequence).unwrap_or(0);
            stored.revision = u64::try_from(revision).unwrap_or(0);
            let (is_expired, need): (bool, i32) = (row.try_get(4)?, row.try_get(7)?);
            if is_expired && let Some(claim) = &mut stored.call.claim {
                claim.runner = None;
            }
            if need != 0 {
                let need = need.max(self.core.accepted_need(&stored.call, None));
                let is_pending = matches!(stored.call.status, CallStatus::Pending | CallStatus::Held);
                let approved: Option<i64> = row.try_get(3)?;
                let of_revision = if is_pending { revision } else { approved.unwrap_or(0) };
                undecided.push(OpenCall { place: calls.len(), of_revision, need, by: row.try_get(5)? });
            }
            calls.push(stored);
        }
        if undecided.iter().any(|one| 1 < one.need || calls[one.place].call.approval.is_some()) {
            self.count_approvals(&mut calls, &undecided)?;
        }
        Ok(calls)
    }

    /// Reads the approvals of calls, by call and revision, in the order in which they were given.
    pub(crate) fn approvals(
        &self,
        ids: &[&str],
        join: &str,
    ) -> Result<BTreeMap<(String, i64), Vec<Approval>>, TeamError> {
        let sql = format!(
            "SELECT a.call_id, a.revision, a.member, a.public_key, a.shared, a.hosts, a.signed_at, a.signature \
             FROM @schema@.approvals a {join} WHERE a.workspace = $1 AND a.call_id = ANY ($2) \
             ORDER BY a.signed_at, a.member"
        );
        let mut approvals: BTreeMap<(String, i64), Vec<Approval>> = BTreeMap::new();
        for row in &self.rows(&sql, &[&self.core.options.workspace, &ids])? {
            let approval = Approval {
                member: row.try_get(2)?,
                public_key: row.try_get(3)?,
                shared: row.try_get(4)?,
                hosts: row.try_get(5)?,
                signed_at: row.try_get(6)?,
                signature: row.try_get(7)?,
            };
            approvals.entry((row.try_get(0)?, row.try_get(1)?)).or_default().push(approval);
        }
        Ok(approvals)
    }

    fn count_approvals(&self, calls: &mut [StoredCall], undecided: &[OpenCall]) -> Result<(), TeamError> {
        let ids: Vec<&str> = undecided.iter().map(|one| calls[one.place].call.id.as_str()).collect();
        let of_roster = "JOIN @schema@.members m ON m.name = a.member AND m.public_key = a.public_key
                         AND m.removed_at IS NULL AND 'reviewer' = ANY (m.roles)";
        let approvals = self.approvals(&ids, of_roster)?;
        let approved = |one: &&OpenCall| calls[one.place].call.approval.is_some();
        let ids: Vec<String> =
            undecided.iter().filter(approved).map(|one| calls[one.place].call.id.to_string()).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let offers = if ids.is_empty() { BTreeMap::new() } else { self.offers_for(&ids)? };
        for one in undecided {
            let stored = &mut calls[one.place];
            let id = stored.call.id.as_str().to_owned();
            let subject = Subject {
                team: &self.core.options.team_id,
                workspace: &self.core.options.workspace,
                call: &id,
                revision: one.of_revision,
            };
            let given = approvals.get(&(id.clone(), one.of_revision)).map_or(&[][..], Vec::as_slice);
            let counts = |approval: &&Approval| one.need == 1 || approval.member != one.by;
            let by: Vec<&Approval> = given.iter().filter(counts).collect();
            if 1 < one.need {
                let together = together(&by);
                stored.call.approvals = Some(Approvals {
                    have: together.len() as u64,
                    need: u64::try_from(one.need).unwrap_or(0),
                    by: together,
                });
            }
            let Some(approval) = &stored.call.approval else { continue };
            let is_trusted =
                |given: &&&Approval| self.core.options.keys.get(&given.member) == Some(&given.public_key);
            let valid: Vec<&&Approval> =
                by.iter().filter(is_trusted).filter(|given| given.is_signed(subject)).collect();
            let is_covered = |binding: &&Binding| {
                let names = valid.iter().filter(|given| given.names(binding)).count();
                usize::try_from(one.need).is_ok_and(|need| need <= names)
            };
            let (own, others): (Vec<&HostOffer>, Vec<&HostOffer>) =
                offers.get(&id).into_iter().flatten().partition(|offer| offer.is_own);
            let bindings = own.iter().filter_map(|offer| offer.binding.as_ref());
            let bindings = bindings.chain(std::iter::once(&approval.binding));
            let mut bindings = bindings.chain(others.iter().filter_map(|offer| offer.binding.as_ref()));
            let binding = bindings.find(is_covered).cloned();
            let call = stored.call.clone();
            stored.call = match binding {
                Some(binding) if binding == approval.binding => call,
                Some(binding) => call.for_host(&binding),
                None => call.not_approved_here(),
            };
        }
        Ok(())
    }

    fn list(&self, rest: &str, values: &[&(dyn ToSql + Sync)]) -> Result<RunList, TeamError> {
        let sql = format!("SELECT run_id, body, sha256 FROM @schema@.receipts WHERE {ENDS} {rest}");
        let mut list = RunList::default();
        for row in self.rows(&sql, values)? {
            match receipt_of(&row)? {
                FoundReceipt::Good(receipt) => list.receipts.push(*receipt),
                FoundReceipt::Bad(bad) => list.errors.push(bad),
            }
        }
        Ok(list)
    }

    fn known_checkpoints(&self) -> Result<Vec<Checkpoint>, TeamError> {
        let mut found = Vec::new();
        self.each("c.has_checkpoints AND $2 = ''", "", Order::Queued, &mut |stored| {
            let documents = stored.checkpoints.values().cloned();
            found.extend(documents.filter_map(|document| Checkpoint::from_document(document).ok()));
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }
}

/// Returns the members of the most approvals that cover the same host.
fn together(given: &[&Approval]) -> Vec<String> {
    let parts: BTreeSet<(&String, &String)> = given
        .iter()
        .flat_map(|approval| approval.hosts.iter().map(|host| (&approval.shared, host)))
        .collect();
    let members = |(shared, host): (&String, &String)| {
        let covers = given.iter().filter(|given| given.shared == *shared && given.hosts.contains(host));
        covers.map(|given| given.member.clone()).collect::<Vec<_>>()
    };
    parts.into_iter().map(members).max_by_key(Vec::len).unwrap_or_default()
}

/// A call whose approvals count.
struct OpenCall {
    place: usize,
    of_revision: i64,
    need: i32,
    /// Who queued it.
    by: String,
}

/// Reads the receipt of a row with run, bytes and sha256.
fn receipt_of(row: &Row) -> Result<FoundReceipt, TeamError> {
    let (run, body): (&str, &[u8]) = (row.try_get(0)?, row.try_get(1)?);
    Ok(match StoredReceipt::from_bytes(run, body) {
        Ok(stored) => FoundReceipt::Good(Box::new(stored)),
        Err(bad) => FoundReceipt::Bad(bad),
    })
}

/// Returns a number that a limit of the database can be.
fn limit_of(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

impl Snapshot for TeamSnapshot {
    fn calls(&self, query: &CallQuery<'_>, found: &mut FoundRecord<'_>) -> Result<(), QueueError> {
        let mut found = |stored: StoredCall| found(stored.into());
        match *query {
            CallQuery::Id(id) => self.each("c.id = $2", id.as_str(), Order::Queued, &mut found)?,
            CallQuery::Shown => self.each("$2 = ''", "", Order::Queued, &mut found)?,
            CallQuery::List { status: None, order, .. } => self.each("$2 = ''", "", order, &mut found)?,
            CallQuery::List { status: Some(status), order, .. } => {
                // A call that is stored as approved may be pending here, because its approvals do not count.
                let stored_as = match status {
                    CallStatus::Pending => {
                        "IN ('pending', 'approved', 'waiting', 'resume-pending')".to_owned()
                    }
                    status => format!("= {}", escape_literal(status.as_str())),
                };
                self.each(&format!("c.status {stored_as} AND $2 = ''"), "", order, &mut |stored| {
                    if stored.call.status == *status { found(stored) } else { ControlFlow::Continue(()) }
                })?;
            }
            CallQuery::Abandoned => {
                let condition = "c.status = 'running' AND c.lease_until <= clock_timestamp() AND $2 = ''";
                self.each(condition, "", Order::Oldest, &mut found)?;
            }
            CallQuery::Similar(call) => {
                // Calls of v0.30 are kept by their tool.
                let condition = r"c.request IS NOT NULL AND c.request = ANY (string_to_array($2, E'\n'))";
                let requests = format!(
                    "{}\ntool {}",
                    call.call_fingerprint.as_deref().unwrap_or_default(),
                    call.tool_id
                );
                self.each(condition, &requests, Order::Queued, &mut found)?;
            }
            CallQuery::LastApproved(tool) => {
                let condition = "c.tool_id = $2 AND c.approved_revision IS NOT NULL";
                let mut looked_at = 0;
                self.each(condition, tool, Order::Newest, &mut |stored| {
                    looked_at += 1;
                    let by = stored.call.approval.as_ref().map(|approval| &approval.by);
                    if by.is_some_and(ApprovedBy::is_person) {
                        found(stored)?;
                    }
                    if looked_at < MAX_LAST_APPROVED {
                        ControlFlow::Continue(())
                    } else {
                        ControlFlow::Break(())
                    }
                })?;
            }
        }
        Ok(())
    }

    fn receipts(&self, query: &ReceiptQuery<'_>) -> Result<RunList, QueueError> {
        let newest = "ORDER BY sort_key DESC, run_id LIMIT $2 OFFSET $3";
        let workspace = &self.core.options.workspace;
        Ok(match *query {
            ReceiptQuery::Run(run) => self.list("AND run_id = $2", &[workspace, &run])?,
            ReceiptQuery::Newest(limit) => self.list(newest, &[workspace, &limit_of(limit), &0i64])?,
            ReceiptQuery::Part { skip, limit } => {
                self.list(newest, &[workspace, &limit_of(limit), &limit_of(skip)])?
            }
            ReceiptQuery::Misplaced => RunList::default(),
        })
    }

    fn examine(
        &self,
        chain: Chain,
        found: Option<(Detail, &ExaminedRun<'_>)>,
    ) -> Result<Verification, QueueError> {
        if let Some((detail, found)) = found {
            let mut after = String::new();
            loop {
                let rest = format!("AND $2 < run_id ORDER BY run_id LIMIT {PAGE}");
                let sql = format!("SELECT run_id, body, sha256 FROM @schema@.receipts WHERE {ENDS} {rest}");
                let rows = self.rows(&sql, &[&self.core.options.workspace, &after])?;
                for row in &rows {
                    found(match receipt_of(row)? {
                        FoundReceipt::Good(stored) => Ok(ExaminedReceipt {
                            receipt: detail.examined(&stored.receipt),
                            stored_id: stored.stored_id,
                        }),
                        FoundReceipt::Bad(bad) => Err(bad),
                    });
                }
                let Some(row) = rows.last().filter(|_| rows.len() == PAGE as usize) else { break };
                after = row.try_get(0).map_err(TeamError::from)?;
            }
        }
        Ok(match chain {
            Chain::From(first) => check_chains(self, first)?.into_verification(),
            Chain::Trust => Verification::default(),
        })
    }

    fn checkpoints(&self, which: Checkpoints<'_>) -> Result<CheckpointList, QueueError> {
        let mut found = match which {
            Checkpoints::Known => self.known_checkpoints()?,
            Checkpoints::AddedFor(run) => {
                let sql = "SELECT document FROM @schema@.checkpoints
                           WHERE workspace = $1 AND run_id = $2 ORDER BY added_at, id";
                let mut found = Vec::new();
                for row in self.rows(sql, &[&self.core.options.workspace, &run.as_str()])? {
                    let text: &str = row.try_get(0).map_err(TeamError::from)?;
                    let document = Json::parse_bytes(text.as_bytes(), Dialect::Lenient).ok();
                    found.extend(document.and_then(|document| Checkpoint::from_document(document).ok()));
                }
                found
            }
        };
        found.sort_by_key(|checkpoint| std::cmp::Reverse(checkpoint.created_at));
        let checkpoints = found.into_iter().map(StoredCheckpoint::recorded).collect();
        Ok(CheckpointList { checkpoints, errors: Vec::new() })
    }

    fn ids(&self, of: Records, prefix: &str, limit: usize) -> Result<Vec<String>, QueueError> {
        let sql = match of {
            Records::Calls => {
                "SELECT id FROM @schema@.calls
                 WHERE workspace = $1 AND $2 <= id AND starts_with(id, $2) ORDER BY id LIMIT $3"
            }
            Records::Runs => {
                "SELECT run_id FROM @schema@.receipts WHERE workspace = $1 AND $2 <= run_id
                     AND starts_with(run_id, $2) AND NOT is_late AND NOT is_aside ORDER BY run_id LIMIT $3"
            }
        };
        let rows = self.rows(sql, &[&self.core.options.workspace, &prefix, &limit_of(limit)])?;
        Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>().map_err(TeamError::from)?)
    }

    fn recent(&self, since: i64, question: &mut dyn FnMut(&mut RecentCalls)) -> Result<(), QueueError> {
        let mut recent = RecentCalls::since(since);
        // Each status is one range of an index. In the order of the lifecycle, so that no call is missed meanwhile.
        for status in CallStatus::ALL {
            let waits = matches!(status, CallStatus::Pending | CallStatus::Held);
            let condition = format!("c.status = '{status}' AND $2 = ''");
            let since = if waits { i64::MIN } else { since };
            self.each_since(since, &condition, "", Order::Oldest, &mut |stored| {
                recent.note_stored(&stored);
                ControlFlow::Continue(())
            })?;
        }
        question(&mut recent);
        Ok(())
    }

    fn offers(&self, id: &CallId) -> Result<Vec<HostOffer>, QueueError> {
        Ok(self.offers_for(&[id.as_str()])?.remove(id.as_str()).unwrap_or_default())
    }

    fn other_host(&self, run: &str) -> Result<Option<String>, QueueError> {
        let sql = format!(
            "SELECT host FROM @schema@.receipts \
             WHERE {ENDS} AND run_id = $2 AND host <> session_user || '@' || $3"
        );
        let rows = self.rows(&sql, &[&self.core.options.workspace, &run, &self.core.options.host])?;
        Ok(rows.first().map(|row| row.try_get(0)).transpose().map_err(TeamError::from)?)
    }

    fn runner_hosts(&self) -> Result<Vec<String>, QueueError> {
        let sql = "SELECT h.name FROM @schema@.hosts h JOIN @schema@.members m
                ON m.name = split_part(h.name, '@', 1) AND m.removed_at IS NULL AND 'runner' = ANY (m.roles)
            WHERE h.workspace = $1 AND h.runner_state = 'ready'
                AND clock_timestamp() - interval '60 s' < h.last_seen_at ORDER BY h.name";
        let rows = self.rows(sql, &[&self.core.options.workspace])?;
        Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>().map_err(TeamError::from)?)
    }

    fn counts(&self, of: Records) -> Result<BTreeMap<String, u64>, QueueError> {
        let kind = match of {
            Records::Calls => "calls",
            Records::Runs => "runs",
        };
        let mut counts = BTreeMap::new();
        for row in self.rows(COUNTS, &[&self.core.options.workspace, &kind])? {
            let (status, count): (String, i64) =
                (row.try_get(0).map_err(TeamError::from)?, row.try_get(1).map_err(TeamError::from)?);
            counts.insert(status, u64::try_from(count).unwrap_or(0));
        }
        Ok(counts)
    }
}

/// Returns when a call was created, as the database sorts by it.
pub(crate) fn created(at: Option<Timestamp>) -> i64 {
    at.map_or(i64::MAX, Timestamp::unix_micros)
}
