//! Reads and changes the agents in gateway.toml.

use brigade_access::gateway::EditError;
use brigade_access::{Agent, GatewayConfig, Profiles};
use brigade_core::{AgentName, ConfigIssue, ErrorCode, ErrorKind, NextStep};
use brigade_fs::RelPath;
use brigade_policy::Failure;
use brigade_workspace::{
    AgentConfig, CONFIG_LIMIT, GATEWAY, WorkspaceContext, agents_error_code, read_agents, read_profiles,
};

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
        let profiles =
            read_profiles(&*self.context.fs, &self.context.trust).map_err(|issues| invalid(&issues))?;
        self.check_place(GATEWAY)?;
        let lock = RelPath::from_static(GATEWAY_LOCK);
        self.context.fs.create_dir_all(&lock.parent())?;
        let now = self.context.clock.now();
        let holder = format!("process {} (change of the agents), since {now}", std::process::id());
        let _lock = self.context.fs.lock(&lock, &holder, self.context.timeout)?;
        let text = match self.context.fs.read(&RelPath::from_static(GATEWAY), CONFIG_LIMIT) {
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

/// Reads profiles.toml and gateway.toml.
///
/// # Errors
/// Fails with the place of each error of the files.
pub fn agent_config(context: &WorkspaceContext) -> Result<AgentConfig, Failure> {
    read_agents(&*context.fs, &context.trust).map_err(|issues| invalid(&issues))
}

/// Reads profiles.toml.
///
/// # Errors
/// As [`agent_config`].
pub fn agent_profiles(context: &WorkspaceContext) -> Result<Profiles, Failure> {
    read_profiles(&*context.fs, &context.trust).map_err(|issues| invalid(&issues))
}

/// Finds an agent by its name.
///
/// # Errors
/// Fails with [`ErrorCode::AgentMissing`] and a name that is near.
pub fn find_agent<'a>(config: &'a GatewayConfig, name: &str) -> Result<&'a Agent, Failure> {
    config.agent(name).ok_or_else(|| {
        let shown = brigade_core::text::escape_terminal(name).into_owned();
        let names = config.agents.iter().map(|agent| agent.name.as_str());
        Failure::new(ErrorKind::NotFound, format!("there is no agent `{shown}` in {}", config.file))
            .coded(ErrorCode::AgentMissing)
            .near(name, names)
            .hint(match name.parse::<AgentName>() {
                Ok(name) => NextStep::AddAgent(name.to_string()),
                Err(_) => NextStep::ListAgents,
            })
    })
}

fn invalid(issues: &[ConfigIssue]) -> Failure {
    let file = issues.first().map_or(GATEWAY, |issue| issue.place.file.as_str());
    Failure::invalid_config(agents_error_code(issues), file, issues)
}

fn edit_refusal(error: EditError) -> Failure {
    let (kind, code) = match &error {
        EditError::Exists(_) => (ErrorKind::Refused, ErrorCode::AgentExists),
        EditError::Unknown { .. } => (ErrorKind::NotFound, ErrorCode::AgentMissing),
        _ => (ErrorKind::InvalidConfig, ErrorCode::GatewayConfigInvalid),
    };
    let failure = Failure::new(kind, format!("{GATEWAY}: {error}")).coded(code);
    match error {
        EditError::Unknown { near: Some(near), .. } => failure.hint(format!("did you mean `{near}`?")),
        EditError::Unknown { near: None, .. } => failure.hint(NextStep::ListAgents),
        EditError::Exists(name) => failure.hint(NextStep::RotateToken(name.to_string())),
        _ => failure,
    }
}

#[cfg(test)]
mod tests;
