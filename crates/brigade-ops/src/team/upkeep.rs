//! Updating, pruning and checking the database of a team, and accepting its reviewers.

use std::time::Duration;

use brigade_core::Hint;
use brigade_team::{Check, JoinedTeam};

use super::{Team, TeamPlace};
use crate::error::Error;
use crate::report::{Report as _, TeamCheck, TeamDoctorReport, TeamMigrateReport, TeamPruneReport};

impl Team {
    /// Updates the tables and functions of a team, in the name of the owner.
    ///
    /// # Errors
    /// Fails inside a run, without a team, if its tables are of a newer version, and if the database refuses.
    pub fn migrate(&self, place: TeamPlace<'_>) -> Result<TeamMigrateReport, Error> {
        self.context.require_outside_run()?;
        let made = self.owner(place)?.migrate()?;
        Ok(TeamMigrateReport {
            schema: TeamMigrateReport::SCHEMA,
            team_id: made.team_id,
            version: u64::try_from(made.version).unwrap_or(0),
            applied: made.applied as u64,
        })
    }

    /// Deletes raw logs that are older than this from the database, in the name of the owner. Receipts stay.
    ///
    /// # Errors
    /// As [`Team::migrate`].
    pub fn prune_logs(&self, place: TeamPlace<'_>, age: Duration) -> Result<TeamPruneReport, Error> {
        self.context.require_outside_run()?;
        let pruned = self.owner(place)?.prune_logs(age)?;
        Ok(TeamPruneReport {
            schema: TeamPruneReport::SCHEMA,
            runs: pruned.runs,
            chunks: pruned.parts,
            bytes: pruned.bytes,
        })
    }

    /// Checks the database of the joined team, or else the one that the owner names. A problem is a row.
    ///
    /// # Errors
    /// Fails without a team and an address, and if a certificate cannot be read.
    pub fn doctor(&self, place: TeamPlace<'_>) -> Result<TeamDoctorReport, Error> {
        let context = &self.context;
        let now = || context.now();
        let joined = match place.url {
            None => JoinedTeam::read(&*context.fs, &context.key)?,
            Some(_) => None,
        };
        let checks = match joined {
            Some(joined) => self.open(joined)?.doctor(&now),
            None => self.owner(place)?.doctor(&now),
        };
        let fix = |fix: Hint| context.spelled(fix).to_string();
        let row = |check: Check| TeamCheck {
            name: check.name.to_owned(),
            state: check.state,
            message: check.message,
            fix: check.fix.map(fix),
        };
        Ok(TeamDoctorReport {
            schema: TeamDoctorReport::SCHEMA,
            target: context.target(),
            checks: checks.into_iter().map(row).collect(),
        })
    }
}
