//! Who decides in a workspace.

/// A person who looks at a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reviewer {
    /// The member of the joined team, or the account at this machine.
    pub name: String,
    /// Whether this person may decide. In a team, only members with the role `reviewer` may.
    pub decides: bool,
}
