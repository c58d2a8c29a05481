//! Changes of the agents in gateway.toml.

use brigade_access::GatewayConfig;
use brigade_access::gateway::EditError;
use brigade_core::{ErrorKind, NextStep, codes};
use brigade_fs::RelPath;
use brigade_policy::Failure;
use brigade_workspace::{CONFIG_LIMIT, GATEWAY, read_profiles};

use crate::setup::Setup;

/// The lock for changing gateway.toml.
const GATEWAY_LOCK: &str = ".brigade/tools/gateway.lock";

impl Setup<'_> {
    /// Changes gateway.toml in place, under its lock. `edit` gets the text, or `None` without a file, and returns
    /// the new one.
    ///
    /// # Errors
    /// Fails if the edit does, if the new file would have an error, or on a disk error. Then nothing is written.
    pub fn change_agents(
        &self,
        edit: impl FnOnce(Option<&str>) -> Result<String, EditError>,
    ) -> Result<(), Failure> {
        let profiles = read_profiles(self.fs, self.trust).map_err(|issues| invalid(&issues))?;
        self.check_place(GATEWAY)?;
        let lock = RelPath::from_static(GATEWAY_LOCK);
        self.fs.create_dir_all(&lock.parent())?;
        let now = self.clock.now();
        let holder = format!("process {} (change of the agents), since {now}", std::process::id());
        let _lock = self.fs.lock(&lock, &holder, self.timeout)?;
        let text = match self.fs.read(&RelPath::from_static(GATEWAY), CONFIG_LIMIT) {
            Ok(bytes) => Some(String::from_utf8(bytes).map_err(|_| {
                Failure::new(ErrorKind::InvalidConfig, format!("{GATEWAY}: the file is not UTF-8 text"))
            })?),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error.into()),
        };
        let new = edit(text.as_deref()).map_err(edit_refusal)?;
        GatewayConfig::parse(GATEWAY, Some(new.as_bytes()), &profiles).map_err(|issues| invalid(&issues))?;
        Ok(self.write_config(GATEWAY, &new)?)
    }
}

fn invalid(issues: &[brigade_core::ConfigIssue]) -> Failure {
    let file = issues.first().map_or(GATEWAY, |issue| issue.place.file.as_str());
    Failure::invalid_config(codes::GATEWAY_CONFIG_INVALID, file, issues)
}

fn edit_refusal(error: EditError) -> Failure {
    let (kind, code) = match &error {
        EditError::Exists(_) => (ErrorKind::Refused, codes::AGENT_EXISTS),
        EditError::Unknown { .. } => (ErrorKind::NotFound, codes::AGENT_MISSING),
        _ => (ErrorKind::InvalidConfig, codes::GATEWAY_CONFIG_INVALID),
    };
    let failure = Failure::new(kind, format!("{GATEWAY}: {error}")).coded(code);
    match error {
        EditError::Unknown { near: Some(near), .. } => failure.hint(format!("did you mean `{near}`?")),
        EditError::Unknown { near: None, .. } => failure.hint(NextStep::ListAgents),
        _ => failure,
    }
}
