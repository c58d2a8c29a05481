//! Rows of runs in documents.

use std::borrow::Cow;

use brigade_macros::part;

use crate::store::{BadReceipt, Finding, Tampering};

/// An unreadable receipt.
#[part(PartialEq)]
pub struct BrokenReceipt {
    /// The problem.
    pub error: String,
    /// The file.
    pub receipt_path: String,
}

/// One fault in the chain.
#[part]
pub struct LedgerFinding {
    /// The number of the entry in the ledger, from 1.
    pub sequence: Option<u64>,
    /// The damaged line of the ledger, from 1.
    pub line: Option<u64>,
    /// The run; empty if the fault has no run.
    pub run_id: String,
    /// The kind of fault.
    pub problem: Tampering,
    /// The fault, as a sentence.
    pub detail: Cow<'static, str>,
}

impl BrokenReceipt {
    /// Creates the row of an unreadable receipt; `absolute` converts a path to its form in reports.
    pub fn new(bad: &BadReceipt, absolute: impl Fn(&str) -> String) -> BrokenReceipt {
        BrokenReceipt { error: bad.problem.clone(), receipt_path: absolute(&bad.place) }
    }
}

impl From<&Finding> for LedgerFinding {
    fn from(finding: &Finding) -> LedgerFinding {
        LedgerFinding {
            sequence: finding.sequence,
            line: finding.line,
            run_id: finding.run_id.clone(),
            problem: finding.tampering,
            detail: finding.detail.into(),
        }
    }
}

/// A user's answer to a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Continue with this choice.
    Approve(String),
    /// Do not continue, with a reason.
    Reject(String),
}
