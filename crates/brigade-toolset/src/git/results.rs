//! The results of `git.*`.

use brigade_core::Timestamp;
use serde::Serialize;

/// A binding. With a name, the result of `git.clone`.
#[derive(Serialize)]
pub(super) struct BindingRow {
    pub(super) binding_id: String,
    pub(super) label: String,
    pub(super) repo_url: Option<String>,
    pub(super) volume_id: Option<String>,
    #[serde(rename = "ref")]
    pub(super) reference: RefRow,
    pub(super) status: &'static str,
    pub(super) last_commit_sha: Option<String>,
    pub(super) last_cloned_at: Option<Timestamp>,
    pub(super) auto_refresh: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) credential_binding_id: Option<String>,
}

#[derive(Serialize)]
pub(super) struct RefRow {
    pub(super) kind: String,
    pub(super) value: Option<String>,
}

#[derive(Serialize)]
pub(super) struct CloneResult {
    pub(super) binding: BindingRow,
}

#[derive(Serialize)]
pub(super) struct StatusResult {
    pub(super) binding: BindingRow,
    pub(super) dirty: bool,
    pub(super) ahead: u64,
    pub(super) behind: u64,
}

#[derive(Serialize)]
pub(super) struct Differences {
    pub(super) binding_id: String,
    pub(super) staged: bool,
    pub(super) truncated: bool,
}

#[derive(Serialize)]
pub(super) struct Log {
    pub(super) commits: Vec<CommitRow>,
}

#[derive(Serialize)]
pub(super) struct CommitRow {
    pub(super) sha: String,
    pub(super) author: String,
    pub(super) date: String,
    pub(super) subject: String,
}

#[derive(Serialize)]
pub(super) struct Bindings {
    pub(super) bindings: Vec<BindingRow>,
    pub(super) total: usize,
    pub(super) page: u64,
    pub(super) limit: u64,
}

#[derive(Serialize)]
pub(super) struct CommitResult {
    pub(super) binding_id: String,
    pub(super) commit_sha: String,
}

#[derive(Serialize)]
pub(super) struct RefreshResult {
    pub(super) binding: BindingRow,
    pub(super) changed: bool,
}

#[derive(Serialize)]
pub(super) struct DeleteResult {
    pub(super) binding_id: String,
    pub(super) deleted: bool,
}

#[derive(Serialize)]
pub(super) struct PushResult {
    pub(super) binding_id: String,
    pub(super) remote: String,
    #[serde(rename = "ref")]
    pub(super) reference: String,
    pub(super) commit_sha: String,
}
