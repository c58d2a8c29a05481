//! The workspace of a command, opened on demand.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use brigade::process::CancelSignal;
use brigade::{CancelToken, Env, Error, ErrorKind, Workspace};

use crate::arguments::Globals;
use crate::progress::TerminalProgress;
use crate::render::{CommandLine, CommandWords};
use crate::surroundings::{Surroundings, Variables};

/// The target directory and the environment of a command.
pub(crate) struct Session<'a> {
    pub(crate) surroundings: &'a Surroundings,
    target: Option<PathBuf>,
    lock_timeout: Option<Duration>,
    /// Whether the command is about the gateway of the user.
    is_of_user: Cell<bool>,
    /// The progress line, if there is a terminal for it.
    progress: Option<Arc<TerminalProgress>>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(globals: &Globals, surroundings: &'a Surroundings) -> Session<'a> {
        let terminal = surroundings.error.filter(|_| !surroundings.dumb && !globals.quiet && !globals.json);
        Session {
            surroundings,
            target: globals.target.clone(),
            is_of_user: Cell::new(false),
            progress: terminal.map(|terminal| Arc::new(TerminalProgress::new(terminal.width))),
            lock_timeout: globals.lock_timeout.map(|seconds| seconds.0),
        }
    }

    /// Returns whether the command line names the workspace.
    pub(crate) fn has_target(&self) -> bool {
        self.target.is_some()
    }

    /// Takes the gateway of the user as the workspace, if it was set up and the command line names no other.
    pub(crate) fn use_gateway_of_user(&self) -> Option<Workspace> {
        let found = if self.has_target() { None } else { Workspace::of_user(self.context()) };
        self.is_of_user.set(found.is_some());
        found
    }

    /// Opens the target, or the nearest workspace at or above the current directory.
    pub(crate) fn workspace(&self) -> Result<Workspace, Error> {
        self.open(self.context())
    }

    /// Opens the workspace of a gateway for a client that works in the current directory. That of the user is narrowed
    /// by the project there.
    #[cfg(feature = "serve")]
    pub(crate) fn workspace_for_client(&self) -> Result<Workspace, Error> {
        let workspace = self.workspace()?;
        if !workspace.is_for_user() {
            return Ok(workspace);
        }
        let project = Workspace::discover(self.current_directory()?, self.context())?;
        Ok(if project.is_for_user() { workspace } else { workspace.narrowed_by(&project) })
    }

    /// Returns the token that Ctrl-C and termination requests cancel.
    pub(crate) fn cancel(&self) -> Result<CancelToken, Error> {
        let signals = [CancelSignal::Interrupt, CancelSignal::Terminate, CancelSignal::Hangup];
        CancelToken::on_signals(&signals).map_err(|error| {
            Error::new(ErrorKind::Environment, format!("cannot install signal handlers: {}", error.kind()))
        })
    }

    /// Opens the workspace like [`Session::workspace`], for an operation that Ctrl-C cancels cleanly.
    pub(crate) fn workspace_to_run(&self) -> Result<Workspace, Error> {
        self.open(self.context_to_run()?)
    }

    fn context_to_run(&self) -> Result<Env, Error> {
        let context = self.context().cancel(self.cancel()?);
        Ok(match &self.progress {
            Some(progress) => context.progress(progress.clone()),
            None => context,
        })
    }

    /// Returns the progress line, if there is a terminal for it.
    pub(crate) fn progress(&self) -> Option<&TerminalProgress> {
        self.progress.as_deref()
    }

    /// Opens the target, or the current directory itself.
    pub(crate) fn workspace_to_make(&self) -> Result<Workspace, Error> {
        match &self.target {
            Some(target) => Workspace::open(target, self.context()),
            None => Workspace::open(self.current_directory()?, self.context()),
        }
    }

    /// Opens the workspace of the user's gateway, for an operation that Ctrl-C cancels cleanly. Its directory is made.
    pub(crate) fn workspace_of_user(&self) -> Result<Workspace, Error> {
        Workspace::for_user(self.context_to_run()?)
    }

    /// Returns a path for temporary files. The directory is not created.
    pub(crate) fn temporary_folder(&self, name: &str) -> PathBuf {
        let now = self.surroundings.clock.now();
        let name = format!("{name}-{}-{:06}", now.compact(), now.unix_micros() % 1_000_000);
        self.surroundings.temporary_directory.join(name)
    }

    /// Makes a path from the command line absolute.
    pub(crate) fn absolute(&self, path: &Path) -> Result<PathBuf, Error> {
        if path.is_absolute() || path.starts_with("~") {
            return Ok(path.to_owned());
        }
        Ok(self.current_directory()?.join(path))
    }

    fn open(&self, context: Env) -> Result<Workspace, Error> {
        match &self.target {
            Some(target) => Workspace::open(target, context),
            None if self.is_of_user.get() => Workspace::for_user(context),
            None => Workspace::discover(self.current_directory()?, context),
        }
    }

    fn context(&self) -> Env {
        let context = match &self.surroundings.variables {
            Variables::All => Env::of_process(),
            Variables::Usual => Env::of_process().usual_environment(),
            Variables::Home(home) => Env::of_process().home(home),
        };
        let context = context.speller(Arc::new(self.command_line())).clock(self.surroundings.clock.clone());
        match self.lock_timeout {
            Some(timeout) => context.lock_timeout(timeout),
            None => context,
        }
    }

    /// Returns how to format commands for the workspace.
    pub(crate) fn words(&self) -> CommandWords {
        let root = match (self.workspace(), &self.target) {
            (Ok(workspace), _) => Ok(workspace.root().to_owned()),
            (Err(_), Some(target)) => self.absolute(target),
            (Err(error), None) => Err(error),
        };
        root.map(|root| CommandWords::new(self.command_line(), &root)).unwrap_or_default()
    }

    fn command_line(&self) -> CommandLine {
        match &self.surroundings.current_directory {
            Ok(folder) => CommandLine::from_directory(folder, self.target.is_some()),
            Err(_) => CommandLine::default(),
        }
    }

    fn current_directory(&self) -> Result<&Path, Error> {
        match &self.surroundings.current_directory {
            Ok(path) => Ok(path),
            Err(kind) => {
                let message = format!("cannot find the current directory: {kind}");
                Err(Error::new(ErrorKind::Usage, message).hint("pass a directory with --target"))
            }
        }
    }
}
