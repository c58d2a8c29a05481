//! Operations on the catalog.

use std::sync::Arc;

use brigade_catalog::{Family, FindQuery};
use brigade_registry::NoContract;
pub use brigade_registry::{
    InstallRequest, ListFilter, RegisterRequest, RegisterSource, RunChecks, WhatToCheck, WhatToInstall,
};

use crate::calls::Calls;
use crate::error::Error;
use crate::refusal::Refusal;
use crate::report::{
    CheckReport, ContractsReport, DescribeReport, FindReport, InstallReport, RegisterReport, SearchReport,
    ShowReport, StatsReport, ToolLinesReport,
};
use crate::room::Room;

/// Operations on the catalog.
#[derive(Clone)]
pub struct Tools {
    pub(crate) room: Arc<Room>,
}

impl Tools {
    /// Lists the enabled tools from the catalog, without reading other files.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn lines(&self) -> Result<ToolLinesReport, Error> {
        Ok(brigade_registry::lines(&self.room)?)
    }

    /// Lists the enabled tools that fit. Reads other files only to see whether tools are there.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn lines_of(&self, filter: &ListFilter) -> Result<ToolLinesReport, Error> {
        Ok(brigade_registry::lines_of(&self.room, filter)?)
    }

    /// Describes the contract of a tool. The tool may be disabled, because review comes before enabling.
    ///
    /// # Errors
    /// Returns [`Refusal::Contract`] if no tool has this id, and file errors.
    pub fn describe(&self, id: &str) -> Result<DescribeReport, Error> {
        brigade_registry::describe(&self.room, id).map_err(|NoContract { failure, errors }| match errors {
            Some(errors) => Error::from(failure).refusing(&self.room, Refusal::Contract { errors }),
            None => failure.into(),
        })
    }

    /// Lists the contracts of the enabled tools, and the issues that prevent planning or running calls. Other issues,
    /// such as missing projections, are left to the doctor.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn contracts(&self) -> Result<ContractsReport, Error> {
        Ok(brigade_registry::contracts(&self.room)?)
    }

    /// Shows one tool, its projections, and whether it is there. The tool may be disabled.
    ///
    /// # Errors
    /// Returns [`Refusal::Tool`] if no tool has this id, and file errors.
    pub fn show(&self, id: &str) -> Result<ShowReport, Error> {
        let shown = brigade_registry::show(&self.room, id);
        shown.map_err(|error| Error::from(error).missing(&self.room, Refusal::Tool))
    }

    /// Finds enabled tools by a text: in id, name, family, description, aliases, categories and capabilities. Words may
    /// stand apart and in any order. With `families`, only tools of these.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn search(&self, query: &str, families: &[Family]) -> Result<SearchReport, Error> {
        Ok(brigade_registry::search(&self.room, query, families)?)
    }

    /// Finds enabled tools by what they are good for, and says which of them can be called, and why not. Starts
    /// nothing.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`](crate::ErrorKind::Usage) if the query asks for no capability, category or source,
    /// and file errors.
    pub fn find(&self, query: &FindQuery) -> Result<FindReport, Error> {
        Ok(brigade_registry::find(&self.room, query)?)
    }

    /// Counts the runs of each tool, or of one, from the receipts.
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if no tool has this id and no receipt names it, and
    /// file errors.
    pub fn stats(&self, id: Option<&str>) -> Result<StatsReport, Error> {
        Ok(brigade_registry::stats(&self.room, id)?)
    }

    /// Looks whether tools are there.
    ///
    /// # Errors
    /// Returns [`Refusal::Tool`] if no tool has one of the ids, and file errors.
    pub fn check(&self, what: &WhatToCheck, checks: RunChecks) -> Result<CheckReport, Error> {
        let checked = brigade_registry::check(&self.room, what, checks);
        checked.map_err(|error| match what {
            WhatToCheck::Named(_) => Error::from(error).missing(&self.room, Refusal::Tool),
            WhatToCheck::All => error.into(),
        })
    }

    /// Registers tools of files and of agent programs. Starts nothing.
    ///
    /// # Errors
    /// Fails if an id is given for several tools, inside a run, and on file errors. What a source or the catalog speaks
    /// against is in `errors` of the report, and then nothing is written.
    pub fn register(&self, request: &RegisterRequest) -> Result<RegisterReport, Error> {
        if !request.dry_run {
            self.room.decides()?;
        }
        Ok(brigade_registry::register(&self.room, request)?)
    }
}

impl Calls {
    /// Queues the installations of tools. Runs nothing: neither a check nor a command.
    ///
    /// # Errors
    /// Fails if a named tool does not exist, inside a run, and on file errors. Then nothing is queued.
    pub fn install(&self, request: &InstallRequest) -> Result<InstallReport, Error> {
        if !request.dry_run {
            self.room.decides()?;
        }
        Ok(brigade_registry::install(&self.room, request)?)
    }
}
