//! Who decides in a workspace.

use crate::{Error, Workspace};

/// A person who looks at a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reviewer {
    /// The member of the joined team, or the account at this machine.
    pub name: String,
    /// Whether this person may decide. In a team, only members with the role `reviewer` may.
    pub decides: bool,
}

impl Workspace {
    /// Returns who decides here. Asks the database of a joined team.
    ///
    /// # Errors
    /// Fails if the team cannot be asked.
    pub fn reviewer(&self) -> Result<Reviewer, Error> {
        #[cfg(feature = "team")]
        {
            let team = self.team().status()?;
            if let Some(name) = team.member {
                let decides = team.roles.iter().any(|role| role.as_str() == "reviewer");
                return Ok(Reviewer { name, decides });
            }
        }
        Ok(Reviewer { name: brigade_process::account_name().unwrap_or_default(), decides: true })
    }
}
