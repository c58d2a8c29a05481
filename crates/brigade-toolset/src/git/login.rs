//! How git logs in to the host of a repository, by `[git.credentials]` of the policy.
//!
//! A token reaches git through a variable of its process, and a helper that answers for the scheme, host and port of
//! this URL alone. A key file or the user's ssh agent is given to ssh by fixed options; no file of the user configures
//! ssh.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use brigade_access::builtin::remote_host;
use brigade_cmdline::Argv;
use brigade_core::{ErrorCode, Label};
use brigade_fs::Location;
use brigade_git::GitCommand;
use brigade_policy::{GitCredential, GitLogin};
use brigade_process::OwnProgram;
use brigade_sandbox::{LocalSockets, SandboxProfile};
use brigade_workspace::own_programs;

use super::invalid;
use super::repository::{Reach, Repository};
use crate::context::{Context, Failure};

/// The variables of git's process for a token.
const USER: &str = "BRIGADE_GIT_USER";
const TOKEN: &str = "BRIGADE_GIT_TOKEN";

/// Prints the variables, when git asks for a login.
const HELPER: &str = r#"!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$BRIGADE_GIT_USER" "$BRIGADE_GIT_TOKEN"; }; f"#;

/// The options of every ssh that git starts.
const SSH_OPTIONS: [&str; 8] = [
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "ProxyCommand=none",
    "ControlMaster=no",
    "ControlPath=none",
    "UpdateHostKeys=no",
];

/// How one git command logs in.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Login {
    /// The name of the credential, if one is used.
    pub(super) name: Option<String>,
    settings: Vec<(String, String)>,
    variables: Vec<(&'static str, OsString)>,
    /// Files that ssh reads.
    read: Vec<PathBuf>,
    /// The directory of ssh.
    program: Option<PathBuf>,
    uses_agent: bool,
}

impl Login {
    /// Returns the login for a URL: the named credential, or the first one for its host. An ssh URL without a
    /// credential uses the user's ssh agent.
    ///
    /// # Errors
    /// Fails if there is no such credential, if it is not for this host, or if its token or key cannot be used.
    pub(super) fn for_url(context: &Context<'_>, url: &str, named: Option<&str>) -> Result<Login, Failure> {
        let remote = remote_host(url);
        let fits = |one: &&GitCredential| {
            let (scheme, host) = remote.unwrap_or_default();
            let is_of_scheme = match one.login {
                GitLogin::Token { .. } => scheme == "https",
                GitLogin::Key(_) | GitLogin::Agent => scheme == "ssh",
            };
            is_of_scheme && one.is_for(host.split(':').next().unwrap_or_default())
        };
        let all = &context.git_credentials;
        let credential = match named {
            None => all.iter().find(fits),
            Some(name) => {
                let found = all.iter().find(|one| one.name == name);
                let missing = || {
                    let message = format!("`[git.credentials]` of policy.toml has no `{name}`");
                    Failure::new(ErrorCode::NotFound, message)
                };
                let found = found.ok_or_else(missing)?;
                let other =
                    || invalid(format!("the credential `{name}` is not for the scheme and host of the URL"));
                Some(Some(found).filter(fits).ok_or_else(other)?)
            }
        };
        let name = credential.map(|one| one.name.clone());
        let login = match (credential.map(|one| &one.login), remote) {
            (Some(GitLogin::Token { user, label }), Some((scheme, authority))) => {
                let token = context.bound_value(label).ok_or_else(|| {
                    let message = format!("no variable that `env_bindings` names for `{label}` is set");
                    Failure::new(ErrorCode::NotAvailableHere, message)
                })?;
                Login {
                    settings: vec![(format!("credential.{scheme}://{authority}.helper"), HELPER.to_owned())],
                    variables: vec![(USER, user.into()), (TOKEN, token.to_owned())],
                    ..Login::default()
                }
            }
            (Some(GitLogin::Key(path)), _) => Login::for_ssh(context, Some(&key_file(context, path)?))?,
            (Some(GitLogin::Agent), _) | (None, Some(("ssh", _))) => Login::for_ssh(context, None)?,
            (None | Some(GitLogin::Token { .. }), _) => Login::default(),
        };
        Ok(Login { name, ..login })
    }

    /// Returns the login with a key file, or with the user's ssh agent.
    fn for_ssh(context: &Context<'_>, key: Option<&Path>) -> Result<Login, Failure> {
        let home = context.environment.and_then(|variables| variables.home());
        let known = home.map(|home| home.join(".ssh/known_hosts"));
        let text = |path: &Path| {
            path.to_str().map(str::to_owned).ok_or_else(|| invalid("a path of ssh is not UTF-8"))
        };
        let mut options: Vec<String> = SSH_OPTIONS.map(str::to_owned).to_vec();
        let mut login = Login::default();
        if let Some(known) = &known {
            options.push(format!("UserKnownHostsFile={}", text(known)?));
            login.read.extend(context.fs.metadata_outside(known).is_ok().then(|| known.clone()));
        }
        match key {
            Some(key) => {
                options.extend(["IdentitiesOnly=yes".to_owned(), "IdentityAgent=none".to_owned()]);
                options.push(format!("IdentityFile={}", text(key)?));
                login.read.push(key.to_owned());
            }
            None => {
                let socket = context.environment.and_then(|variables| variables.get("SSH_AUTH_SOCK"));
                login.uses_agent = socket.is_some();
                login.variables.extend(socket.map(|socket| ("SSH_AUTH_SOCK", socket.to_owned())));
            }
        }
        let program = ssh(context)?;
        let path = text(&program)?;
        login.program = program.parent().map(Path::to_owned);
        let options = options.iter().flat_map(|option| ["-o", option.as_str()]);
        let words = [path.as_str(), "-F", "/dev/null"].into_iter().chain(options);
        let mut command = Argv::parse("ssh").map_err(|error| invalid(error.to_string()))?;
        for word in words {
            command.push(word).map_err(|error| invalid(error.to_string()))?;
        }
        let command = command.to_string();
        // The first word only makes the list of words.
        let command = command.strip_prefix("ssh ").unwrap_or(&command);
        login.variables.push(("GIT_SSH_COMMAND", command.into()));
        Ok(login)
    }

    /// Lets a git command with this sandbox log in.
    pub(super) fn apply<'g>(&self, order: GitCommand<'g>, mut profile: SandboxProfile) -> GitCommand<'g> {
        profile.read.extend(self.read.iter().cloned());
        profile.installed.extend(self.program.clone());
        if self.uses_agent {
            profile.local_sockets = LocalSockets::Allowed;
        }
        let order = self.settings.iter().fold(order, |order, (name, value)| order.setting(name, value));
        let order = self.variables.iter().fold(order, |order, (name, value)| order.variable(name, value));
        order.confined(Some(profile))
    }
}

/// Finds ssh, which never comes from where agents can write.
fn ssh(context: &Context<'_>) -> Result<PathBuf, Failure> {
    let absent = || Failure::new(ErrorCode::NotAvailableHere, "no program `ssh` is on PATH");
    let variables = context.environment.ok_or_else(absent)?;
    match own_programs(context.fs, variables).find("ssh") {
        OwnProgram::Found(path) => Ok(path),
        OwnProgram::Writable(_) | OwnProgram::Missing => Err(absent()),
    }
}

/// Returns the local directory that a URL names. Git must be able to read it.
pub(super) fn local_of(url: &str) -> Vec<PathBuf> {
    let path = url.strip_prefix("file://").or_else(|| url.starts_with('/').then_some(url));
    path.map(PathBuf::from).into_iter().collect()
}

/// Fetches one ref of a URL.
pub(super) fn fetch(
    repository: &Repository,
    (url, login): (&str, &Login),
    spec: &str,
    depth: Option<&str>,
    largest: Option<u64>,
) -> Result<(), Failure> {
    let order = repository.order("fetch", Reach::Remote);
    let order = login.apply(order, repository.profile(Reach::Remote, &local_of(url)));
    let order = order.words(["--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance"]);
    let order = order.words(["--no-write-fetch-head", "--no-auto-gc"]).words(depth);
    let order = match largest {
        Some(largest) => order.largest_file(largest),
        None => order,
    };
    let answer = order.words(["--end-of-options", url, spec]).ask()?;
    match answer.code {
        Some(0) => Ok(()),
        _ if answer.message().contains("couldn't find remote ref") => {
            Err(Failure::new(ErrorCode::RefNotFound, "the remote has no such ref"))
        }
        _ => Err(answer.failure().into()),
    }
}

/// Returns the path of a key file, which must be outside of the workspace.
fn key_file(context: &Context<'_>, path: &str) -> Result<PathBuf, Failure> {
    let home = context.environment.and_then(|variables| variables.home());
    let refused = |what: &str| {
        Failure::new(ErrorCode::NotAvailableHere, format!("the key file of the credential {what}"))
    };
    match context.fs.resolve(path, home) {
        Ok(Location::Outside(path)) if context.fs.metadata_outside(&path).is_ok() => Ok(path),
        Ok(Location::Inside(_)) => Err(refused("is in the workspace")),
        Ok(Location::Outside(_)) | Err(_) => Err(refused("cannot be found")),
    }
}

impl Context<'_> {
    /// Returns the value of a label that the policy binds.
    fn bound_value(&self, label: &Label) -> Option<&OsStr> {
        self.environment?.get(self.env_bindings.get(label)?.as_str()).filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test starts the git of this machine")]
mod tests {
    use brigade_core::Place;
    use brigade_exec::HostEnvironment;
    use brigade_sandbox::{Mode, SandboxProfile};

    use super::*;
    use crate::git::find_git;
    use crate::stored::testing::Bench;

    fn credential(name: &str, host: &str, login: GitLogin) -> GitCredential {
        GitCredential {
            name: name.to_owned(),
            place: Place::file("policy.toml"),
            hosts: vec![host.to_owned()],
            login,
        }
    }

    #[test]
    fn a_token_is_given_to_its_host_alone() {
        let bench = Bench::new();
        let variables = [("PATH", std::env::var_os("PATH").unwrap()), ("FORGE_TOKEN", "tok-4711".into())];
        let host = HostEnvironment::new(variables.map(|(name, value)| (name.into(), value)));
        let host: &'static HostEnvironment = Box::leak(Box::new(host));
        bench.with("agent:ada", |context| {
            context.environment = Some(host);
            context.env_bindings.insert("FORGE".parse().unwrap(), "FORGE_TOKEN".parse().unwrap());
            let token = GitLogin::Token { user: "me".to_owned(), label: "FORGE".parse().unwrap() };
            context.git_credentials = vec![
                credential("key", "forge.example", GitLogin::Key("/nowhere/key".to_owned())),
                credential("team", "forge.example", token),
            ];
            let login = Login::for_url(context, "https://forge.example/a", None).unwrap();
            assert_eq!(login.name.as_deref(), Some("team"));
            let git = find_git(context).unwrap();
            let fill = |host: &str| {
                let profile =
                    SandboxProfile { read: vec!["/".into()], ..SandboxProfile::nothing(Mode::BestEffort) };
                let order = git.order("credential").word("fill");
                let order = order.input(format!("protocol=https\nhost={host}\n\n"));
                let answer = login.apply(order, profile).ask().unwrap();
                String::from_utf8(answer.stdout).unwrap()
            };
            let answer = fill("forge.example");
            assert!(answer.contains("username=me\n") && answer.contains("password=tok-4711\n"), "{answer}");
            for other in ["forge.example.evil.test", "forge.example:8443", "other.example"] {
                assert!(!fill(other).contains("tok-4711"), "{other}");
            }
            // A token is for https alone, a key for ssh, and each for its host.
            for (url, name) in [
                ("http://forge.example/a", "team"),
                ("git@forge.example:a", "team"),
                ("https://forge.example/a", "key"),
                ("https://other.example/a", "team"),
            ] {
                let refused = Login::for_url(context, url, Some(name)).unwrap_err();
                assert_eq!(refused.code, ErrorCode::InvalidArguments, "{url}");
            }
            let missing = Login::for_url(context, "git@forge.example:a", Some("key")).unwrap_err();
            assert_eq!(missing.code, ErrorCode::NotAvailableHere);
            assert_eq!(Login::for_url(context, "/srv/a", None).unwrap(), Login::default());
        });
    }
}
