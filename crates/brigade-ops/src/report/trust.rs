//! Documents about what a person reviewed.

use brigade_call::ContractLabels;
use brigade_core::{Fingerprint, words};
use brigade_macros::{document, part};

/// `tools trust`.
#[document("brigade.trust.v1")]
pub struct TrustReport {
    /// The workspace root.
    pub target: String,
    /// The file of what a person reviewed.
    pub trusted_path: String,
    /// Whether the person agreed to what is shown.
    pub trusted: bool,
    /// What was named.
    pub things: Vec<TrustRow>,
    /// Number of entries.
    pub thing_count: usize,
}

words! {
    /// Whether a person reviewed a thing as it is now.
    TrustState {
        /// No agent can write any of its files.
        NotNeeded = "not-needed",
        /// A person did.
        Reviewed = "reviewed",
        /// No person did.
        Never = "never",
        /// It changed since a person did.
        Changed = "changed",
    }
}

/// One thing that a person reviews: a tool, or a program that Brigade starts by itself.
#[part(PartialEq)]
pub struct TrustRow {
    /// The kind, such as `tool` or `worker`.
    pub kind: String,
    /// The id in its configuration.
    pub id: String,
    /// Whether a person reviewed it before.
    pub state: TrustState,
    /// What changed since a person saw it.
    pub changed: Vec<String>,
    /// The command, without secrets.
    pub command: Option<String>,
    /// The contract of a tool.
    pub contract: Option<ContractLabels>,
    /// What is reviewed: the configuration, and the files that agents can write.
    pub parts: Vec<TrustPart>,
}

/// A part of what a person reviews.
#[part(PartialEq, Eq)]
pub struct TrustPart {
    /// Its name, such as `file bin/deploy.py`.
    pub name: String,
    /// The file; `null` for configuration.
    pub path: Option<String>,
    /// The fingerprint of its content.
    pub sha256: Fingerprint,
}
