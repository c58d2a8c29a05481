//! What `permission.full-auto` leaves for later: a row of the inbox for each call that wrote or executed something.

use brigade_call::Call;
use brigade_doctor::{InboxItem, InboxMetadata, InboxStatus};
use brigade_ops::InboxStore;

use crate::workspace_inner::WorkspaceInner;

/// The permission under which calls are looked at later.
const FULL_AUTO: &str = "permission.full-auto";

/// Effects that need no later review.
const READS: &[&str] = &["local-read", "remote-read", "session"];

/// The source of these rows.
const SOURCE: &str = "brigade-gateway";

/// Puts a row into the inbox for a call that ran without a person under the permission, unless it only reads. A row
/// that cannot be written changes nothing but is logged.
pub(crate) fn note(inner: &WorkspaceInner, call: &Call) {
    let is_full_auto = call
        .session
        .as_ref()
        .is_some_and(|session| session.profiles.iter().any(|profile| profile == FULL_AUTO));
    let without_person = call.approved_without_person().is_some();
    let only_reads = call.contract.effects.iter().all(|effect| READS.contains(&effect.as_str()));
    if !is_full_auto || !without_person || only_reads {
        return;
    }
    let now = inner.now().to_string();
    let row = InboxItem {
        id: Some(format!("review-{}", call.id)),
        kind: Some("task".to_owned()),
        source: Some(SOURCE.to_owned()),
        text: Some(format!("Review {} by {}: {}", call.tool_id, call.caller, call.status.as_str())),
        status: Some(InboxStatus::Pending),
        created_at: Some(now.clone()),
        updated_at: Some(now),
        r#type: Some("review".to_owned()),
        metadata: Some(InboxMetadata {
            tool_id: Some(call.tool_id.clone()),
            tool_family: Some(call.family.as_str().to_owned()),
            tool_call_id: Some(call.id.to_string()),
            tool_run_id: call.claim.as_ref().map(|claim| claim.run_id.to_string()),
            ..InboxMetadata::default()
        }),
        ..InboxItem::default()
    };
    if let Err(error) = InboxStore::new(inner).change(|inbox| inbox.append(&row)) {
        tracing::warn!(%error, call = %call.id, "the inbox has no row for the call");
    }
}
