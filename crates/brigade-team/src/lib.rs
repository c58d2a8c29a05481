//! Keeps the queue of a team in PostgreSQL, so that several people and hosts share it.
//!
//! Owns: the tables and functions in the database, the connection to it, the members and rules of a team, signed
//! approvals, and the file that says which team a workspace has joined. [`TeamStore`] implements the `Store` of
//! `brigade-queue`. Does not know: plans, policies, running calls, and where this host keeps its keys.
//!
//! Only the owner of the database writes tables. Each step is a function in the database that takes the member from the
//! session and checks role, workspace, status and revision. So a stolen credential of a runner cannot queue or approve.
//! An approval is signed with the reviewer's key, and counts here only if this host trusts that key. So a stolen
//! database cannot run anything.
//!
//! ```
//! use brigade_team::TeamUrl;
//!
//! let url: TeamUrl = "postgresql://rev-1@db.example/brigade".parse()?;
//! assert_eq!(url.without_user(), "postgresql://db.example/brigade");
//! assert!("postgresql://rev-1:secret@db.example/brigade".parse::<TeamUrl>().is_err());
//! # Ok::<(), brigade_team::TeamError>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod connection;
mod doctor;
mod error;
mod joined;
mod logs;
mod migrate;
mod offers;
mod password;
mod renewal;
mod roster;
mod runner;
mod shipped;
mod signature;
mod snapshot;
mod status;
mod store;
mod tls;
mod transaction;
mod transfer;
mod url;
mod verify;
mod wake;

pub use connection::{Connection, Credentials};
pub use doctor::{Check, CheckState};
pub use error::TeamError;
pub use joined::{JoinedRule, JoinedTeam, TEAM_FILE};
pub use logs::{LogPlace, PrunedLogs};
pub use migrate::{MIGRATIONS, Schema, TeamTables};
pub use offers::NewOffer;
pub use password::password_for;
pub use renewal::LeaseLost;
pub use roster::{ApprovalRule, Member, NewMember, Owner, Role};
pub use runner::{RunnerWork, ServerState};
pub use signature::{Approval, Signer, fingerprint_of_key};
pub use status::{RunnerHost, TeamStatus};
pub use store::{ClaimedFn, SeenServer, TeamStore, TeamStoreOptions};
pub use transfer::{FileCall, FileReceipt, Presence, TeamDump};
pub use url::{SslMode, TeamUrl};
pub use verify::{TeamFinding, TeamVerification};
pub use wake::Wakes;
