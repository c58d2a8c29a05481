//! Operations on the kitchen: a crew of coding agents that works through PRDs.

use std::path::Path;
use std::sync::Arc;

use brigade_crew::{FailOn, InitRequest, KitchenInitReport, PrdSearch};
use brigade_kitchen::approval::{ValidationReport, WorkersReport};

use crate::error::Error;
use crate::room::Room;

/// Operations on the kitchen. A path of a PRD that is relative is looked up in the current directory, then in the
/// workspace; without a path, the PRD that somebody works on is taken.
#[derive(Clone)]
pub struct Kitchen {
    pub(crate) room: Arc<Room>,
}

impl Kitchen {
    fn hands(&self) -> brigade_crew::Kitchen<'_> {
        let env = &self.room.env;
        brigade_crew::Kitchen {
            fs: self.room.fs.clone(),
            clock: env.clock.clone(),
            environment: &env.environment,
            lock_timeout: env.lock_timeout,
        }
    }

    fn search(&self, prd: Option<&Path>) -> Result<PrdSearch, Error> {
        let prd = prd.map(|path| self.room.environment.expand(path));
        let directory = brigade_process::current_dir().ok();
        Ok(self.hands().search(prd.as_deref(), directory.as_deref())?)
    }

    /// Writes `kitchen.toml`, the directory of PRDs and the ignore lines.
    ///
    /// # Errors
    /// Fails if there is a `kitchen.toml` that may not be replaced, or on a disk error.
    pub fn init(&self, request: InitRequest) -> Result<KitchenInitReport, Error> {
        let report = self.hands().init(request)?;
        Ok(KitchenInitReport::spelled(report, &self.room.speller()))
    }

    /// Checks a PRD. Its errors are in the report.
    ///
    /// # Errors
    /// Fails if there is no such PRD, or on a disk error.
    pub fn validate(&self, prd: Option<&Path>, fail_on: FailOn) -> Result<ValidationReport, Error> {
        Ok(self.hands().validate(&self.search(prd)?, fail_on)?)
    }

    /// Shows the tiers and their workers.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn workers(&self) -> Result<WorkersReport, Error> {
        Ok(self.hands().workers()?)
    }
}
