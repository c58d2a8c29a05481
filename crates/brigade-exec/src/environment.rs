//! The environment of a child: a short list of inherited variables, and what the policy adds.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use brigade_call::VerifiedCall;
use brigade_catalog::ServerTransport;
use brigade_core::{Json, RunId};
use brigade_policy::{Decision, SandboxMode};
use brigade_redact::SecretValue;
use brigade_remote::VARIABLE;
use brigade_remote::tokens::TokenStore;

/// A snapshot of the environment variables of this process.
#[derive(Clone, Debug, Default)]
pub struct HostEnvironment(BTreeMap<OsString, OsString>);

/// Variables by which package runners take what is in the private home, and do not try to reach a closed network.
const OFFLINE: [(&str, &str); 2] = [("npm_config_offline", "true"), ("UV_OFFLINE", "1")];

/// Variables that every child inherits, in addition to those that start with `LC_`.
const INHERITED: &[&str] = &["PATH", "HOME", "LANG", "TZ", "USER", "SHELL", "TERM"];

/// Variables that name the certificates which a connection trusts.
pub const CERTIFICATE_VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

impl HostEnvironment {
    /// Takes a snapshot of variables.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> HostEnvironment {
        HostEnvironment(variables.into_iter().collect())
    }

    /// Returns the value of a variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// Returns the home directory, if the variable has an absolute path.
    pub fn home(&self) -> Option<&Path> {
        self.get("HOME").map(Path::new).filter(|home| home.is_absolute())
    }

    /// Returns the directory of the user's configuration files: `XDG_CONFIG_HOME`, or `~/.config`.
    pub fn config_folder(&self) -> Option<PathBuf> {
        let configured = self.get("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        configured.or_else(|| self.home().map(|home| home.join(".config")))
    }

    /// Returns the directory of the user's state files: `XDG_STATE_HOME`, or `~/.local/state`.
    pub fn state_folder(&self) -> Option<PathBuf> {
        let configured = self.get("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        configured.or_else(|| self.home().map(|home| home.join(".local/state")))
    }

    /// Lists the files where git looks for settings of the user, whether they exist or not.
    pub fn git_settings(&self) -> Vec<PathBuf> {
        if let Some(file) = self.get("GIT_CONFIG_GLOBAL") {
            return vec![PathBuf::from(file)];
        }
        let home = self.home().map(|home| home.join(".gitconfig"));
        home.into_iter().chain(self.config_folder().map(|folder| folder.join("git/config"))).collect()
    }

    /// Expands `~/` at the start of a typed path.
    pub fn expand(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), self.home()) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.to_owned(),
        }
    }

    /// Tells whether a variable is set.
    pub fn is_set(&self, name: &str) -> bool {
        self.0.contains_key(OsStr::new(name))
    }

    /// Returns only the variables that every child inherits.
    #[must_use]
    pub fn usual(&self) -> HostEnvironment {
        HostEnvironment::new(self.inherited().map(|(name, value)| (name.clone(), value.clone())))
    }

    /// Returns only these variables.
    #[must_use]
    pub fn only(&self, names: &[&str]) -> HostEnvironment {
        let named = names.iter().filter_map(|name| Some(((*name).into(), self.get(name)?.to_owned())));
        HostEnvironment::new(named)
    }

    /// Returns all variables, sorted by name. Their values may be secret.
    pub fn variables(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.0.iter()
    }

    fn inherited(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        let is_inherited = |name: &OsStr| {
            name.to_str().is_some_and(|name| INHERITED.contains(&name) || name.starts_with("LC_"))
        };
        self.0.iter().filter(move |(name, _)| is_inherited(name))
    }

    /// Returns the values to mask: `others`, and the values that a decision binds to labels.
    pub(crate) fn secrets(&self, others: &[SecretValue], decision: &Decision) -> Vec<SecretValue> {
        let bound = self.bound_by(decision);
        let bound = bound.values().map(|value| SecretValue::new(value.as_encoded_bytes()));
        let mut secrets = others.to_vec();
        secrets.extend(bound.chain(self.tokens(decision)).filter(|value| !others.contains(value)));
        secrets
    }

    /// Returns the tokens of this user for the remote server of a decision.
    fn tokens(&self, decision: &Decision) -> Vec<SecretValue> {
        let Some((remote, home)) = decision.remote.as_ref().zip(self.home()) else { return Vec::new() };
        let tokens = TokenStore::of_home(home).secrets(&remote.server.url);
        tokens.iter().map(|token| SecretValue::new(token.as_bytes())).collect()
    }

    /// Returns the bound values of the call's labels.
    pub(crate) fn bound(&self, call: &VerifiedCall) -> BTreeMap<String, OsString> {
        self.bound_by(call.decision())
    }

    /// Returns the values that a decision binds, by label.
    pub(crate) fn bound_by(&self, decision: &Decision) -> BTreeMap<String, OsString> {
        let bindings = &decision.env_bindings;
        let value = |(label, variable): (&brigade_core::Label, &brigade_core::Label)| {
            Some((label.as_str().to_owned(), self.get(variable.as_str())?.to_owned()))
        };
        bindings.iter().filter_map(value).collect()
    }
}

/// Returns the variables that a decision gives to any program, without those that describe a call. `home` is its
/// private home directory, if it has one.
pub(crate) fn decided_environment(
    host: &HostEnvironment,
    decision: &Decision,
    temporary: &Path,
    home: Option<&Path>,
) -> BTreeMap<OsString, OsString> {
    let mut variables: BTreeMap<OsString, OsString> =
        host.inherited().map(|(name, value)| (name.clone(), value.clone())).collect();
    for name in &decision.pass {
        if let Some(value) = host.get(name.as_str()) {
            variables.insert(name.as_str().into(), value.to_owned());
        }
    }
    variables.extend(decision.variables.iter().map(|(name, value)| (name.into(), value.into())));
    variables.insert("TMPDIR".into(), temporary.into());
    if let Some(remote) = &decision.remote {
        let terms = brigade_remote::Environment {
            server: remote.runtime_id.clone(),
            is_sse: remote.server.transport == ServerTransport::Sse,
            headers: remote.server.headers.clone(),
            origins: remote.origins.clone(),
        };
        variables.insert(VARIABLE.into(), terms.to_text().into());
        // The certificates that this host trusts in addition, or instead.
        let trusted = CERTIFICATE_VARIABLES.iter().filter_map(|name| Some((*name, host.get(name)?)));
        variables.extend(trusted.map(|(name, value)| (name.into(), value.to_owned())));
    }
    if let Some(home) = home {
        variables.insert("HOME".into(), home.into());
        let is_offline = decision.sandbox.mode != SandboxMode::Off && !decision.sandbox.grants.network;
        for (name, value) in OFFLINE.iter().filter(|_| is_offline) {
            variables.entry(name.into()).or_insert_with(|| value.into());
        }
    }
    for (label, value) in host.bound_by(decision) {
        variables.insert(label.into(), value);
    }
    variables
}

/// Returns the complete environment of a call's child, sorted by name.
pub(crate) fn child_environment(
    host: &HostEnvironment,
    call: &VerifiedCall,
    run_id: &RunId,
    (temporary, home): (&Path, Option<&Path>),
    checkpoint_dir: &Path,
) -> Vec<(OsString, OsString)> {
    let mut variables = decided_environment(host, call.decision(), temporary, home);
    variables.insert("BRIGADE_TOOL_CHECKPOINT_DIR".into(), checkpoint_dir.into());
    variables.insert("BRIGADE_TOOL_CALL_ID".into(), call.id().as_str().into());
    variables.insert("BRIGADE_TOOL_RUN_ID".into(), run_id.as_str().into());
    if let Some(resume) = call.resume() {
        let checkpoint = &resume.checkpoint;
        variables.insert("BRIGADE_TOOL_RESUME_CHECKPOINT_ID".into(), checkpoint.id.as_str().into());
        let choice = checkpoint.selected_choice.clone().unwrap_or_default();
        variables.insert("BRIGADE_TOOL_RESUME_CHOICE".into(), choice.into());
        let choices = resume.checkpoints().map(|checkpoint| {
            (checkpoint.id.as_str().to_owned(), Json::from(checkpoint.selected_choice.clone()))
        });
        variables.insert("BRIGADE_TOOL_RESUME_CHOICES".into(), Json::object(choices).to_compact().into());
    }
    variables.into_iter().collect()
}
