//! Further calls of a caller: asked for, looked up and ended by a tool.

use brigade_core::{Json, Timestamp, reasons};

use crate::context::{Context, Failure};

/// Asks for, lists and ends further calls of the caller. Each is planned, approved and receipted by itself.
pub trait Calls {
    /// Asks for a call of a tool, as the caller would.
    ///
    /// # Errors
    /// Returns why it is refused: the caller is not shown the tool, the plan is blocked, or a limit is reached.
    fn ask(&self, tool: &str, args: Json) -> Result<FurtherCall, Failure>;

    /// Returns the calls of a tool that the caller asked for, the newest first.
    ///
    /// # Errors
    /// Fails if the queue cannot be read.
    fn of_tool(&self, tool: &str) -> Result<Vec<FurtherCall>, Failure>;

    /// Returns whether the caller is shown a tool.
    fn shows(&self, tool: &str) -> bool;

    /// Looks how a call of any caller stands. `None` if there is none.
    ///
    /// # Errors
    /// Fails if the queue cannot be read.
    fn standing(&self, id: &str) -> Result<Option<FurtherCall>, Failure>;

    /// Returns whether a call of anybody runs in a lane, which has this directory.
    ///
    /// # Errors
    /// Fails if the queue cannot be read.
    fn runs_in(&self, root: &str) -> Result<bool, Failure>;

    /// Returns whether the schema of a tool of the catalog has an argument.
    fn takes(&self, tool: &str, argument: &str) -> bool;

    /// Ends a call of the caller: one that runs in this process is cut off, one that waits is withdrawn. Returns
    /// whether it did.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails if the queue cannot be read.
    fn end(&self, id: &str) -> Result<bool, Failure>;
}

/// A call that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FurtherCall {
    /// Its id.
    pub id: String,
    /// How it stands, as a word.
    pub status: String,
    /// Whether it runs now.
    pub is_running: bool,
    /// Whether it goes on when a person decides.
    pub waits_for_a_person: bool,
    /// The id of its last run.
    pub run: Option<String>,
    /// When it was asked for.
    pub created_at: Option<Timestamp>,
}

impl<'a> Context<'a> {
    /// Returns who asks for further calls.
    pub(crate) fn further(&self) -> Result<&'a dyn Calls, Failure> {
        self.calls
            .ok_or_else(|| Failure::new(reasons::NOT_AVAILABLE_HERE, "this tool cannot make calls here"))
    }
}
