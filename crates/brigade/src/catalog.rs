//! Operations on the catalog.

use std::sync::Arc;

use brigade_catalog::starter::StarterTools;
use brigade_catalog::{Family, FindQuery, Level};
use brigade_ops::{
    Confirm, ConfirmUpdate, Declare, EnableReport, EnableRequest, Error, Ignore, ImportMcpReport,
    ImportMcpRequest, LoginReport, LoginRequest, LogoutReport, ObserveReport, OnExisting, Refusal,
    UpdateReport, UpdateRequest,
};

use crate::report::{
    CheckReport, ContractsReport, DescribeReport, FindReport, InitReport, RegisterReport, RegistriesReport,
    RegistryInfoReport, RegistrySearchReport, SearchReport, ShowReport, StatsReport, ToolLinesReport,
};
use crate::workspace_inner::WorkspaceInner;

pub use brigade_ops::{
    CheckSelection, InstallRequest, InstallSelection, ListFilter, RegisterRequest, RegisterSource, RunChecks,
};

/// Operations on the catalog.
#[derive(Clone)]
pub struct Tools {
    pub(crate) inner: Arc<WorkspaceInner>,
}

impl Tools {
    /// Lists the enabled tools from the catalog, without reading other files.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn lines(&self) -> Result<ToolLinesReport, Error> {
        Ok(brigade_ops::lines(&self.inner)?)
    }

    /// Lists the enabled tools that fit. Reads other files only to see whether tools are there.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn lines_of(&self, filter: &ListFilter) -> Result<ToolLinesReport, Error> {
        Ok(brigade_ops::lines_of(&self.inner, filter)?)
    }

    /// Describes the contract of a tool. The tool may be disabled, because review comes before enabling.
    ///
    /// # Errors
    /// Returns [`Refusal::Contract`] if no tool has this id, and file errors.
    pub fn describe(&self, id: &str) -> Result<DescribeReport, Error> {
        let described = brigade_ops::describe(&self.inner, id);
        described.map_err(|error| Error::not_done(&self.inner, error, |errors| Refusal::Contract { errors }))
    }

    /// Lists the contracts of the enabled tools, and the issues that prevent planning or running calls. Other issues,
    /// such as missing projections, are left to the doctor.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn contracts(&self) -> Result<ContractsReport, Error> {
        Ok(brigade_ops::contracts(&self.inner)?)
    }

    /// Shows one tool, its projections, and whether it is there. The tool may be disabled.
    ///
    /// # Errors
    /// Returns [`Refusal::Tool`] if no tool has this id, and file errors.
    pub fn show(&self, id: &str) -> Result<ShowReport, Error> {
        let shown = brigade_ops::show(&self.inner, id);
        shown.map_err(|error| Error::from(error).missing(&self.inner, Refusal::Tool))
    }

    /// Finds enabled tools by a text: in id, name, family, description, aliases, categories and capabilities. Words may
    /// be apart and in any order. With `families`, only tools of these.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn search(&self, query: &str, families: &[Family]) -> Result<SearchReport, Error> {
        Ok(brigade_ops::search(&self.inner, query, families)?)
    }

    /// Finds enabled tools by what they are good for, and says which of them can be called, and why not. Starts
    /// nothing.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`](crate::ErrorKind::Usage) if the query asks for no capability, category or source,
    /// and file errors.
    pub fn find(&self, query: &FindQuery) -> Result<FindReport, Error> {
        Ok(brigade_ops::find(&self.inner, query)?)
    }

    /// Counts the runs of each tool, or of one, from the receipts.
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if no tool has this id and no receipt names it, and
    /// file errors.
    pub fn stats(&self, id: Option<&str>) -> Result<StatsReport, Error> {
        Ok(brigade_ops::stats(&self.inner, id)?)
    }

    /// Looks whether tools are there.
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if no tool has one of the ids, and file errors.
    pub fn check(&self, what: &CheckSelection, checks: RunChecks) -> Result<CheckReport, Error> {
        Ok(brigade_ops::check(&self.inner, what, checks)?)
    }

    /// Registers tools of files and of agent programs. Starts nothing.
    ///
    /// # Errors
    /// Returns [`Refusal::Register`] with every reason of the sources and of the catalog; then nothing is written. Also
    /// fails if an id is given for several tools, inside a run, and on file errors.
    pub fn register(&self, request: &RegisterRequest) -> Result<RegisterReport, Error> {
        if !request.dry_run {
            self.inner.require_outside_run()?;
            if request.level == Level::User {
                self.inner.require_outside_run_at(&self.inner.config_folder()?)?;
            }
        }
        let registered = brigade_ops::register(&self.inner, request);
        registered.map_err(|error| Error::not_done(&self.inner, error, Refusal::Register))
    }

    /// Lists the registries of tools that this workspace knows.
    ///
    /// # Errors
    /// As [`brigade_ops::registries`].
    pub fn registries(&self) -> Result<RegistriesReport, Error> {
        brigade_ops::registries(&self.inner)
    }

    /// Adds a registry of tools: a URL whose origin the policy names, or a file.
    ///
    /// # Errors
    /// As [`brigade_ops::add_registry`].
    pub fn add_registry(&self, source: &str, name: Option<&str>) -> Result<RegistriesReport, Error> {
        brigade_ops::add_registry(&self.inner, source, name)
    }

    /// Forgets a registry of tools.
    ///
    /// # Errors
    /// As [`brigade_ops::remove_registry`].
    pub fn remove_registry(&self, name: &str) -> Result<RegistriesReport, Error> {
        brigade_ops::remove_registry(&self.inner, name)
    }

    /// Searches the registries of tools.
    ///
    /// # Errors
    /// As [`brigade_ops::search_registries`].
    pub fn search_registries(&self, words: &str) -> Result<RegistrySearchReport, Error> {
        brigade_ops::search_registries(&self.inner, words)
    }

    /// Shows a server of a registry of tools, pins it and caches it. `accept` pins changed content.
    ///
    /// # Errors
    /// As [`brigade_ops::registry_info`].
    pub fn registry_info(&self, name: &str, accept: bool) -> Result<RegistryInfoReport, Error> {
        brigade_ops::registry_info(&self.inner, name, accept)
    }

    /// Sums up what the last runs of a tool used, and says what its entry should declare. Starts nothing.
    ///
    /// # Errors
    /// Returns [`Refusal::Tool`] if no tool has this id, [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig)
    /// if its entry cannot be edited, and file errors.
    pub fn observe(&self, id: &str, runs: usize, declare: Declare) -> Result<ObserveReport, Error> {
        brigade_ops::observe(&self.inner, id, runs, declare)
    }

    /// Lists the tools of a runtime's server and adds them to the catalog, disabled, with their input schemas.
    ///
    /// # Errors
    /// Fails if the runtime cannot be used, the server does not answer or does not list a requested tool, or the
    /// catalog is not UTF-8. Also returns file errors.
    pub fn import_mcp(
        &self,
        request: &ImportMcpRequest,
        confirm: &mut Confirm<'_>,
    ) -> Result<ImportMcpReport, Error> {
        brigade_ops::import_mcp(&self.inner, request, confirm)
    }

    /// Enables or disables the tools of the project's catalog that match, if `confirm` says yes.
    ///
    /// # Errors
    /// Fails if a pattern matches nothing, an effect is misspelt, or the catalog changed meanwhile. Also returns file
    /// errors.
    pub fn enable(&self, request: &EnableRequest, confirm: &mut Confirm<'_>) -> Result<EnableReport, Error> {
        brigade_ops::enable_tools(&self.inner, request, confirm)
    }

    /// Lists the tools of servers again, and renews pins and entries together if `confirm` says yes.
    ///
    /// # Errors
    /// Fails if no imported tool is of the server, or the catalog changed meanwhile. Also returns file errors.
    pub fn update(
        &self,
        request: &UpdateRequest,
        confirm: &mut ConfirmUpdate<'_>,
    ) -> Result<UpdateReport, Error> {
        brigade_ops::update_tools(&self.inner, request, confirm)
    }

    /// Logs in to a remote MCP server; `tell` gets the URL that the person opens.
    ///
    /// # Errors
    /// As [`brigade_ops::login`].
    pub fn login(
        &self,
        request: &LoginRequest,
        show_url: &mut dyn FnMut(&str),
    ) -> Result<LoginReport, Error> {
        brigade_ops::login(&self.inner, request, show_url)
    }

    /// Removes the tokens for a remote MCP server.
    ///
    /// # Errors
    /// As [`brigade_ops::logout`].
    pub fn logout(&self, server: &str) -> Result<LogoutReport, Error> {
        brigade_ops::logout(&self.inner, server)
    }

    /// Describes the contract of a tool, and compares it with the current list of its server.
    ///
    /// # Errors
    /// Fails if the tool is not an MCP tool, or on a file error.
    pub fn describe_live(&self, id: &str) -> Result<DescribeReport, Error> {
        let mut report = self.describe(id)?;
        report.live = Some(brigade_ops::tool_live(&self.inner, id)?);
        Ok(report)
    }

    /// Lists the contracts of the enabled tools, and compares those of MCP tools with the current lists of their
    /// servers.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn contracts_live(&self) -> Result<ContractsReport, Error> {
        let mut report = self.contracts()?;
        report.live = Some(brigade_ops::contracts_live(&self.inner)?);
        Ok(report)
    }

    /// Writes a new catalog, its sources and the ignore lines. Existing sources are kept.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`](crate::ErrorKind::Usage) if a catalog exists and may not be replaced, or a harness
    /// is not known. Replaces nothing inside a run.
    pub fn init(
        &self,
        tools: &StarterTools,
        existing: OnExisting,
        ignore: Ignore,
    ) -> Result<InitReport, Error> {
        self.inner.replaces(existing)?;
        Ok(brigade_ops::init_tools(&self.inner, tools, existing, ignore)?)
    }
}
