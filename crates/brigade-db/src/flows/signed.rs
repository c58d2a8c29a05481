//! The MACs of executions: only those that this host has signed continue.

use brigade_core::{ErrorCode, Fingerprint};
use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension as _, Transaction, params};

use super::{COLUMNS, Flow, by_id};
use crate::error::StoreError;
use crate::store::Store;

/// The domain of the MACs of executions.
const MAC_DOMAIN: &str = "brigade.flow.v1";

/// Returns what the MAC of an execution covers, and its MAC. Which process drives it does not matter.
fn signed_content(transaction: &Transaction<'_>, id: &str) -> Result<(Vec<u8>, Option<String>), StoreError> {
    let sql = format!("SELECT {COLUMNS}, host_mac FROM flow WHERE id = ?1");
    let content = transaction.query_row(&sql, [id], |row| {
        let mut content = Fingerprint::builder(MAC_DOMAIN);
        for column in COLUMNS.split(", ").filter(|column| *column != "gateway") {
            content = match row.get_ref(column)? {
                ValueRef::Null => content.text(column, None),
                ValueRef::Integer(number) => content.text(column, number.to_string().as_str()),
                value => content.text(column, value.as_str()?),
            };
        }
        Ok((content.finish().to_hex().into_bytes(), row.get("host_mac")?))
    });
    content.optional()?.ok_or_else(|| StoreError::missing("execution"))
}

impl Store {
    pub(super) fn sign_flow(&self, transaction: &Transaction<'_>, id: &str) -> Result<(), StoreError> {
        let mac = self.key.sign(MAC_DOMAIN, &signed_content(transaction, id)?.0)?;
        transaction.execute("UPDATE flow SET host_mac = ?2 WHERE id = ?1", params![id, mac])?;
        Ok(())
    }

    fn is_signed(&self, transaction: &Transaction<'_>, id: &str) -> Result<bool, StoreError> {
        let (content, mac) = signed_content(transaction, id)?;
        Ok(self.key.verify(MAC_DOMAIN, &content, mac.as_deref()))
    }

    /// Changes an execution. Signs it again if this host had signed it.
    pub(super) fn change_flow<T>(
        &self,
        id: &str,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.change(|transaction| {
            let is_signed = self.is_signed(transaction, id)?;
            let changed = change(transaction)?;
            if is_signed {
                self.sign_flow(transaction, id)?;
            }
            Ok(changed)
        })
    }

    /// Refuses an execution that this host has not signed, such as one of a copied workspace.
    ///
    /// # Errors
    /// Returns `not_approved_here` or `not_found`. Also fails on a disk error.
    pub fn require_signed_flow(&self, id: &str) -> Result<(), StoreError> {
        match self.look(|transaction| self.is_signed(transaction, id))? {
            true => Ok(()),
            false => Err(StoreError::refused(
                ErrorCode::NotApprovedHere,
                format!("{id} is not approved on this host"),
            )),
        }
    }

    /// Lists the executions that have not ended and that this host has not signed.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn unsigned_flows(&self) -> Result<Vec<Flow>, StoreError> {
        let mut flows = self.open_flows(None)?;
        let signed = self.look(|transaction| {
            flows.iter().map(|flow| self.is_signed(transaction, &flow.id)).collect::<Result<Vec<bool>, _>>()
        })?;
        let mut signed = signed.into_iter();
        flows.retain(|_| signed.next() == Some(false));
        Ok(flows)
    }

    /// Signs an execution that a person was shown. Returns false if it has changed since.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn adopt_flow(&self, shown: &Flow) -> Result<bool, StoreError> {
        self.change(|transaction| {
            let is_same = by_id(transaction, None, &shown.id)? == *shown;
            if is_same {
                self.sign_flow(transaction, &shown.id)?;
            }
            Ok(is_same)
        })
    }
}
