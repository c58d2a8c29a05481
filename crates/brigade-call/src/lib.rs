//! Plans, reviews and verifies calls of tools.

mod binding;
mod call;
mod checkpoint;
mod receipt;
mod record;
mod status;

pub use binding::{Binding, Caller, Change, ProgramBinding};
pub use call::{
    Approval, Call, Claim, Duplicate, LedgerLink, ReceiptLink, ReplayOf, RunEnd, Runner, find_duplicate,
};
pub use checkpoint::{Checkpoint, CheckpointRefusal, CheckpointStatus, NotACheckpoint};
pub use receipt::{NotAReceipt, Receipt};
pub use record::{NotACall, RECORD_VERSION, RecordVersion, STORED_BLOCKER, blocker_to_json};
pub use status::{CallStatus, Step, WrongStep};
