//! Passes on all receipts as they are, and writes the files of a workspace from the records of another store.

use std::collections::BTreeMap;

use brigade_call::{LedgerLink, ReceiptLink};
use brigade_core::{Fingerprint, Timestamp};
use brigade_fs::in_directory;
use brigade_journal::{Ledger, NewEntry};

use super::receipts::{OWN_PREFIX, RECEIPT_LIMIT, files, receipt_path};
use super::{JournalStore, JournalTransaction, layout};
use crate::error::QueueError;
use crate::store::{Durability, StoredCall, StoredReceipt, Transaction as _};

/// A receipt with what its ledger entry says. The bytes may be those of an earlier version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainedReceipt {
    /// The run.
    pub run_id: String,
    /// The call; empty if it is unknown.
    pub call_id: String,
    /// How the run ended.
    pub status: String,
    /// The key by which lists are sorted.
    pub sort_key: String,
    /// The sha256 of the bytes.
    pub sha256: Fingerprint,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl JournalStore {
    /// Passes on the receipts of the ledger in its order, those of which the file has the recorded bytes. Others are
    /// findings of a verification. State of v0.30 has no ledger, so its receipts come by name.
    ///
    /// # Errors
    /// Fails on a disk error, and with the first error of `found`.
    pub fn each_receipt<E: From<QueueError>>(
        &self,
        found: &mut dyn FnMut(ChainedReceipt) -> Result<(), E>,
    ) -> Result<(), E> {
        let fs = self.journal.fs();
        let Some(lines) = self.journal.ledger().lines().map_err(QueueError::from)? else {
            for path in files(&**fs).map_err(QueueError::from)? {
                let bytes = fs.read(&path, RECEIPT_LIMIT).map_err(QueueError::from)?;
                let Ok(StoredReceipt { receipt, stored_id, sha256 }) =
                    StoredReceipt::from_bytes(&layout::stored_id(&path), &bytes)
                else {
                    continue;
                };
                found(ChainedReceipt {
                    run_id: stored_id,
                    call_id: receipt.call_id.to_string(),
                    status: receipt.status.as_str().to_owned(),
                    sort_key: receipt.sort_key(),
                    sha256,
                    bytes,
                })?;
            }
            return Ok(());
        };
        for entry in lines.into_iter().filter_map(|line| line.entry) {
            let bytes = receipt_path(&entry.run_id).and_then(|path| fs.read(&path, RECEIPT_LIMIT).ok());
            let Some(bytes) = bytes.filter(|bytes| Fingerprint::of_bytes(bytes) == entry.sha256) else {
                continue;
            };
            found(ChainedReceipt {
                run_id: entry.run_id,
                call_id: entry.record_id.unwrap_or_else(|| call_of(&bytes)),
                status: entry.status,
                sort_key: entry.started_at,
                sha256: entry.sha256,
                bytes,
            })?;
        }
        Ok(())
    }

    /// Writes receipts in this order, and then calls whose links point to them. The store must be empty.
    ///
    /// # Errors
    /// Fails if there is a call or a receipt, on a disk error, and with the first error of the two sources, which
    /// return part after part until one is empty.
    pub fn fill<E: From<QueueError>>(
        &self,
        receipts: &mut dyn FnMut() -> Result<Vec<ChainedReceipt>, E>,
        calls: &mut dyn FnMut() -> Result<Vec<StoredCall>, E>,
        now: Timestamp,
    ) -> Result<(), E> {
        let mut transaction = self.transaction(now, Durability::AtOnce)?;
        let state = transaction.state();
        let is_empty = state.max_sequence().map_err(QueueError::from)? == 0
            && state.place().ledger().last_sequence().map_err(QueueError::from)? == 0;
        if !is_empty {
            return Err(QueueError::Store("the directory has calls or receipts already".to_owned()).into());
        }
        transaction.prepare()?;
        let mut links = BTreeMap::new();
        loop {
            let part = receipts()?;
            if part.is_empty() {
                break;
            }
            write(&mut transaction, &part, &mut links)?;
        }
        loop {
            let mut part = calls()?;
            if part.is_empty() {
                return Ok(());
            }
            for stored in &mut part {
                stored.sequence = 0;
                let run = stored.call.claim.as_ref().map(|claim| claim.run_id.as_str());
                let link = run.and_then(|run| Some((receipt_path(run)?, links.get(run)?)));
                if let Some(receipt) = &mut stored.call.receipt {
                    *receipt = match link {
                        Some((path, ledger)) => {
                            ReceiptLink { path: path.to_string(), ledger: Some(LedgerLink::clone(ledger)) }
                        }
                        None => ReceiptLink { ledger: None, ..receipt.clone() },
                    };
                }
            }
            transaction.put(&mut part)?;
        }
    }
}

/// Returns the call that a receipt of an earlier version names.
fn call_of(bytes: &[u8]) -> String {
    StoredReceipt::from_bytes("", bytes).map(|stored| stored.receipt.call_id.to_string()).unwrap_or_default()
}

/// Writes receipts and their entries.
fn write(
    transaction: &mut JournalTransaction<'_>,
    part: &[ChainedReceipt],
    links: &mut BTreeMap<String, LedgerLink>,
) -> Result<(), QueueError> {
    let fs = transaction.state().place().fs().clone();
    let mut entries = Vec::with_capacity(part.len());
    for receipt in part {
        let path = receipt_path(&receipt.run_id)
            .ok_or_else(|| QueueError::Store("a run's id is not the name of a file".to_owned()))?;
        in_directory(&*fs, &layout::runs(), || fs.create_new_durable(&path, &receipt.bytes))?;
        entries.push(NewEntry {
            run_id: receipt.run_id.clone(),
            record_id: Some(receipt.call_id.clone()).filter(|id| !id.is_empty()),
            sha256: receipt.sha256,
            started_at: receipt.sort_key.clone(),
            status: receipt.status.clone(),
            // Of v0.30, whose calls may not name it.
            is_adopted: memchr::memmem::find(&receipt.bytes, OWN_PREFIX.as_bytes()).is_none(),
        });
    }
    let (mut end, now) = (transaction.ledger.take(), transaction.now);
    let runs = layout::runs();
    let appended = Ledger::new(&*fs, &runs).append_after(&mut end, &entries, 0, now)?;
    transaction.ledger = end;
    for entry in appended.entries {
        links.insert(entry.run_id, LedgerLink { sequence: entry.sequence, sha256: entry.sha256 });
    }
    Ok(())
}
