//! Converts calls, receipts and runtimes to their form in reports, with absolute paths.

use brigade_core::words;
use brigade_policy::PolicyDecision;
use brigade_projection::ProjectionSummary;

use crate::CALLS;
use crate::call::{Call, ReceiptLink};
use crate::checkpoint::Checkpoint;
use crate::receipt::{Receipt, RuntimeStatus};

/// Converts paths to their form in reports.
pub trait Paths {
    /// Returns the directory of the workspace.
    fn target(&self) -> String;

    /// Makes a path absolute. Absolute paths stay as they are.
    fn absolute(&self, path: &str) -> String;

    /// Returns where calls are stored: the file of the queue, or the address of the team's database.
    fn calls_path(&self) -> String {
        self.absolute(CALLS)
    }

    /// Returns what calls are stored in.
    fn store(&self) -> StoreKind {
        StoreKind::Files
    }
}

words! {
    /// What calls are stored in.
    StoreKind {
        /// The files of the workspace.
        Files = "files",
        /// The database of a team.
        Team = "team",
    }
}

impl Call {
    /// Returns the call as reports show it.
    #[must_use]
    pub fn shown(self, paths: &impl Paths) -> Call {
        let receipt = |receipt: ReceiptLink| ReceiptLink { path: paths.absolute(&receipt.path), ..receipt };
        Call {
            policy: self.policy.map(|policy| shown_policy(paths, policy)),
            projection_summary: self.projection_summary.map(|summary| shown_projections(paths, summary)),
            receipt: self.receipt.map(receipt),
            ..self
        }
    }
}

impl Receipt {
    /// Returns the receipt as reports show it.
    #[must_use]
    pub fn shown(self, paths: &impl Paths) -> Receipt {
        let absolute = |path: Option<String>| path.map(|path| paths.absolute(&path));
        Receipt {
            receipt_path: absolute(self.receipt_path),
            stdout_log_path: absolute(self.stdout_log_path),
            stderr_log_path: absolute(self.stderr_log_path),
            cwd: absolute(self.cwd).map(|cwd| if cwd.ends_with("/.") { paths.target() } else { cwd }),
            runtime: self.runtime.map(|runtime| runtime.shown(paths)),
            checkpoint: self.checkpoint.map(|checkpoint| {
                let checkpoint_path = absolute(checkpoint.checkpoint_path.clone());
                Box::new(Checkpoint { checkpoint_path, ..*checkpoint })
            }),
            policy: self.policy.map(|policy| shown_policy(paths, policy)),
            projection_summary: self.projection_summary.map(|summary| shown_projections(paths, summary)),
            ..self
        }
    }
}

impl Receipt {
    /// Returns the receipt for the agent that requested the call: without the MCP server's descriptions of its tools,
    /// which only people review.
    #[must_use]
    pub fn for_agent(self) -> Receipt {
        let is_mcp = self.mcp_server_id.is_some();
        Receipt {
            mcp_pin_changes: None,
            // These are messages of the protocol.
            stdout_summary: if is_mcp { String::new() } else { self.stdout_summary },
            ..self
        }
    }
}

impl RuntimeStatus {
    /// Returns the status as reports show it.
    #[must_use]
    pub fn shown(mut self, paths: &impl Paths) -> RuntimeStatus {
        let absolute = |path: &mut String| *path = paths.absolute(path);
        let directory = |path: &mut String| {
            *path = if path == "." { paths.target() } else { paths.absolute(path) };
        };
        self.cwd.iter_mut().for_each(directory);
        [&mut self.pid_path, &mut self.metadata_path].into_iter().for_each(absolute);
        let files = [&mut self.stdout_log_path, &mut self.stderr_log_path, &mut self.health_path];
        files.into_iter().flatten().for_each(absolute);
        if let Some(metadata) = &mut self.metadata {
            metadata.cwd.iter_mut().for_each(directory);
            let files = [
                &mut metadata.pid_path,
                &mut metadata.metadata_path,
                &mut metadata.stdout_log_path,
                &mut metadata.stderr_log_path,
                &mut metadata.health_path,
            ];
            files.into_iter().flatten().for_each(absolute);
        }
        self
    }
}

/// Returns a decision of the policy as reports show it.
pub fn shown_policy(paths: &impl Paths, mut policy: PolicyDecision) -> PolicyDecision {
    if !policy.policy_path.is_empty() {
        policy.policy_path = paths.absolute(&policy.policy_path);
    }
    policy
}

/// Returns the state of projections as reports show it.
pub fn shown_projections(paths: &impl Paths, mut summary: ProjectionSummary) -> ProjectionSummary {
    for path in summary.projections.iter_mut().filter_map(|row| row.projection_path.as_mut()) {
        *path = paths.absolute(path);
    }
    summary
}
