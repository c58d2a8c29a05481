//! Further calls: a tool requests, looks up and ends calls for its caller.

use brigade_core::{ErrorCode, Json, Timestamp};

use crate::context::{Context, Failure};

/// Requests, lists and ends further calls of the caller. Each one is planned, approved and receipted separately.
pub trait Calls {
    /// Requests a call of a tool on behalf of the caller.
    ///
    /// # Errors
    /// Fails if the call is refused: the caller is not shown the tool, the plan is blocked, or a limit is reached.
    fn ask(&self, tool: &str, args: Json) -> Result<FurtherCall, Failure>;

    /// Returns the calls of a tool that the caller requested, newest first.
    ///
    /// # Errors
    /// Fails if the queue cannot be read.
    fn of_tool(&self, tool: &str) -> Result<Vec<FurtherCall>, Failure>;

    /// Returns whether the caller is shown a tool.
    fn shows(&self, tool: &str) -> bool;

    /// Returns the state of a call of any caller; `None` if it does not exist.
    ///
    /// # Errors
    /// Fails if the queue cannot be read.
    fn find_call(&self, id: &str) -> Result<Option<FurtherCall>, Failure>;

    /// Returns whether any call runs in the lane with this directory.
    ///
    /// # Errors
    /// Fails if the queue cannot be read.
    fn runs_in(&self, root: &str) -> Result<bool, Failure>;

    /// Returns whether the schema of a catalog tool has an argument.
    fn takes(&self, tool: &str, argument: &str) -> bool;

    /// Ends a call of the caller: cancels it if it runs in this process, withdraws it if it waits. Returns whether it
    /// ended the call.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails if the queue cannot be read.
    fn end(&self, id: &str) -> Result<bool, Failure>;
}

/// A requested call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FurtherCall {
    /// Its id.
    pub id: String,
    /// Its status, as a word.
    pub status: String,
    /// Whether it is running.
    pub is_running: bool,
    /// Whether it waits for a person's decision.
    pub waits_for_a_person: bool,
    /// The id of its last run.
    pub run: Option<String>,
    /// When it was requested.
    pub created_at: Option<Timestamp>,
}

impl<'a> Context<'a> {
    /// Returns the interface for further calls.
    pub(crate) fn further(&self) -> Result<&'a dyn Calls, Failure> {
        self.calls
            .ok_or_else(|| Failure::new(ErrorCode::NotAvailableHere, "this tool cannot make calls here"))
    }
}
