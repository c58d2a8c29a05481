//! What hosts would run for calls, as their runners say.

use std::collections::BTreeMap;

use brigade_call::HostOffer;
use brigade_core::json::{compact_text, from_json};
use brigade_core::{CallId, Dialect, Json};

use crate::error::TeamError;
use crate::snapshot::TeamSnapshot;
use crate::store::TeamStore;

/// An offer to store.
pub struct NewOffer {
    /// The call.
    pub call: CallId,
    /// The revision of the call that was seen.
    pub revision: u64,
    /// What this host would run.
    pub offer: HostOffer,
}

/// The columns of an offer, of a host whose member still has the role.
const OFFERS: &str = "SELECT o.call_id, o.host, o.document, \
    to_char(o.offered_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'), o.host = session_user || '@' || $3 \
    FROM @schema@.offers o \
    JOIN @schema@.members m ON m.name = split_part(o.host, '@', 1) AND m.removed_at IS NULL \
        AND 'runner' = ANY (m.roles) \
    WHERE o.workspace = $1 AND o.call_id = ANY ($2) ORDER BY o.host";

impl TeamSnapshot {
    /// Reads the offers for calls, by call and then by host. One that cannot be read is left out.
    pub(crate) fn offers_for(&self, ids: &[&str]) -> Result<BTreeMap<String, Vec<HostOffer>>, TeamError> {
        let mut offers: BTreeMap<String, Vec<HostOffer>> = BTreeMap::new();
        for row in &self.rows(OFFERS, &[&self.core.options.workspace, &ids, &self.core.options.host])? {
            let (text, at): (&str, &str) = (row.try_get(2)?, row.try_get(3)?);
            let document = Json::parse_bytes(text.as_bytes(), Dialect::Lenient).ok();
            let Some(offer) = document.and_then(|document| from_json::<HostOffer>(&document).ok()) else {
                continue;
            };
            let (host, is_own) = (row.try_get(1)?, row.try_get(4)?);
            let offer = HostOffer { host, is_own, offered_at: at.parse().ok(), ..offer };
            offers.entry(row.try_get(0)?).or_default().push(offer);
        }
        Ok(offers)
    }
}

impl TeamStore {
    /// Stores what this host would run for calls, in one statement.
    ///
    /// # Errors
    /// Fails if the member is not a runner, or the database cannot be reached.
    pub fn offer(&self, offers: &[NewOffer]) -> Result<(), TeamError> {
        let ids: Vec<&str> = offers.iter().map(|new| new.call.as_str()).collect();
        let revisions: Vec<i64> =
            offers.iter().map(|new| i64::try_from(new.revision).unwrap_or(i64::MAX)).collect();
        let passed_over: Vec<bool> = offers.iter().map(|new| new.offer.passed_over.is_some()).collect();
        let documents: Vec<String> =
            offers.iter().map(|new| compact_text(&new.offer).expect("an offer is JSON")).collect();
        let core = self.core();
        let sql = "SELECT @schema@.offer_calls($1, $2, $3, $4, $5, $6)";
        let values: [&(dyn postgres::types::ToSql + Sync); 6] =
            [&core.options.workspace, &core.options.host, &ids, &revisions, &passed_over, &documents];
        core.options.connection.rows(sql, &values).map(|_| ())
    }
}
