//! Connects clients: writes and removes our entry in their files, and records the file of each entry.

pub(crate) mod agents;
pub(crate) mod connect;
mod file;
mod states;

use std::path::{Path, PathBuf};

use brigade_cmdline::find_program;
use brigade_core::text::escape_terminal;
use brigade_core::{ErrorCode, ErrorKind, Json, NextStep, Object, OperationError as _, Place, words};
use brigade_fs::{DiskFs, FileMode, Fs, FsError, Lock, RelPath};
use brigade_harness::{
    Client, ConnectedEntries, ConnectedEntry, ConnectedFileError, Connection, EditRefusal, Entry,
    EntryInsertion, NAME, Scope, put, servers, take,
};
use brigade_policy::Failure;
use brigade_projection::unified;
use brigade_redact::Redactor;
use brigade_workspace::{WorkspaceContext, is_program, no_home};

use file::ClientFile;

pub use connect::{Clients, ConnectRequest};
pub(crate) use states::client_states;

/// The list of written entries.
pub(crate) const CONNECTED: &str = ".brigade/tools/connected.json";

/// The lock for changing it.
const LOCK: &str = ".brigade/tools/connected.lock";

/// The lock for changing files of the user, in the directory of this host.
const HOST_LOCK: &str = "connect.lock";

/// The largest list that is read.
const LIMIT: u64 = 16 << 20;

/// How often a file that changes during an edit is read again.
const MAX_ATTEMPTS: usize = 5;

/// The files of clients, seen from a workspace.
#[derive(Clone, Copy)]
pub(crate) struct ClientFiles<'a> {
    context: &'a WorkspaceContext,
}

/// What to do with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectStep {
    /// Show the entry that would be written.
    Show,
    /// Write it.
    Write,
    /// Remove it.
    Remove,
}

/// An entry for a client.
pub(crate) struct ClientEntry<'w> {
    /// The client.
    pub client: &'static Client,
    /// Whether the file belongs to the project or the user.
    pub scope: Scope,
    /// The agent that the client acts as.
    pub agent: &'w str,
    /// How the client reaches the gateway.
    pub connection: Connection,
}

words! {
    /// The result for an entry; in a dry run, the expected one.
    ConnectStatus {
        /// It would be written.
        WouldWrite = "would-write",
        /// It was written.
        Written = "written",
        /// The file already had it.
        Unchanged = "unchanged",
        /// It was removed.
        Removed = "removed",
        /// There was nothing to remove.
        Absent = "absent",
    }
}

/// The result for an entry; in a dry run, the expected one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ConnectOutcome {
    /// The file, absolute.
    pub path: String,
    /// The entry; for a removal, the one that was there.
    pub entry: Option<Object>,
    /// The result for the entry.
    pub status: ConnectStatus,
    /// The change of the file, without secrets.
    pub diff: String,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl<'a> ClientFiles<'a> {
    /// Finds the files from a workspace.
    pub(crate) fn new(context: &'a WorkspaceContext) -> ClientFiles<'a> {
        ClientFiles { context }
    }
}

impl ClientFiles<'_> {
    /// Shows, writes or removes an entry.
    ///
    /// # Errors
    /// Fails if the client cannot be connected this way, its file cannot be edited or has another entry of our name, or
    /// on a disk error. The file is then as it was.
    pub(crate) fn connect(
        &self,
        request: &ClientEntry<'_>,
        step: ConnectStep,
        redactor: &Redactor,
    ) -> Result<ConnectOutcome, Failure> {
        let client = request.client;
        let entry = client.entry(&request.connection).map_err(|reason| {
            unsupported(format!("{} cannot be connected over HTTP: {reason}", client.title))
        })?;
        let Some(files) = client.files(request.scope) else {
            let message = format!("{} has no {} file", client.title, request.scope.as_str());
            return Err(unsupported(message));
        };
        if step != ConnectStep::Show && !files.are_confirmed() {
            let message = format!(
                "whether {} reads its {} file is not confirmed",
                client.title,
                request.scope.as_str()
            );
            return Err(unsupported(message).hint(NextStep::UseFileOfUser));
        }
        let _locks = if step == ConnectStep::Show { None } else { Some(self.lock(request.scope)?) };
        let file = self.file(client, request.scope)?;
        let connected = match (self.connected(), step) {
            (Err(_), ConnectStep::Show) => ConnectedEntries::default(),
            (connected, _) => connected?,
        };
        let task = Task { clients: self, request, entry, file, connected, redactor };
        let mut outcome = match step {
            ConnectStep::Show => task.show(),
            ConnectStep::Write => task.write(),
            ConnectStep::Remove => task.remove(),
        }?;
        if !files.are_confirmed() {
            let note =
                format!("it is not confirmed that {} reads this file, so it is never written", client.title);
            outcome.notes.push(note);
        }
        Ok(outcome)
    }

    /// Returns the command that starts this program: its name if `PATH` finds this program under it, else its path.
    pub(crate) fn own_program(&self) -> String {
        let Ok(own) = brigade_process::current_program() else { return NAME.to_owned() };
        let is_program = |path: &Path| is_program(&*self.context.fs, path);
        let named =
            find_program(NAME, self.context.fs.root(), self.context.environment.get("PATH"), is_program);
        let id = |path: &Path| self.context.fs.open_outside(path).and_then(|file| file.id()).ok();
        match named {
            Some(named) if id(&named).is_some() && id(&named) == id(&own) => NAME.to_owned(),
            Some(_) | None => own.display().to_string(),
        }
    }

    fn home(&self) -> Option<&Path> {
        self.context.environment.home()
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.context.environment.get(name)?.to_str().map(str::to_owned)
    }

    /// Makes a recorded path absolute.
    fn absolute(&self, noted: &str) -> PathBuf {
        match noted.strip_prefix("~/").zip(self.home()) {
            Some((rest, home)) => home.join(rest),
            None => self.context.fs.root().join(noted),
        }
    }

    /// Takes the locks of the list, and of the user's files.
    fn lock(&self, scope: Scope) -> Result<(Lock, Option<Lock>), Failure> {
        let path = RelPath::from_static(LOCK);
        self.context.fs.create_dir_all(&path.parent())?;
        let holder = format!("process {} (connect), since {}", std::process::id(), self.context.clock.now());
        let own = self.context.fs.lock(&path, &holder, self.context.timeout)?;
        if scope == Scope::Project {
            return Ok((own, None));
        }
        let folder = self
            .context
            .environment
            .config_folder()
            .ok_or_else(|| no_home(&self.context.environment))?
            .join("brigade");
        let host =
            DiskFs::make(&folder)?.lock(&RelPath::from_static(HOST_LOCK), &holder, self.context.timeout);
        let host = host.map_err(|error| error.below(&folder))?;
        Ok((own, Some(host)))
    }

    /// Reads the list of written entries.
    fn connected(&self) -> Result<ConnectedEntries, Failure> {
        let bytes = match self.context.fs.read(&RelPath::from_static(CONNECTED), LIMIT) {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return Ok(ConnectedEntries::default()),
            Err(error) => return Err(error.into()),
        };
        ConnectedEntries::parse(&bytes).map_err(|why| {
            let (kind, code) = match why {
                ConnectedFileError::Newer => (ErrorKind::Refused, ErrorCode::NewerVersion),
                ConnectedFileError::Broken => (ErrorKind::Environment, ErrorCode::RecordInvalid),
            };
            Failure::new(kind, format!("`{CONNECTED}`: {why}")).coded(code).hint("move the file away")
        })
    }

    /// Stores the list. An empty one needs no file.
    fn store(&self, connected: &ConnectedEntries) -> Result<(), FsError> {
        if connected.entries.is_empty() {
            return match self.context.fs.remove(&RelPath::from_static(CONNECTED)) {
                Err(error) if !error.is_not_found() => Err(error),
                _ => Ok(()),
            };
        }
        self.context.fs.write_atomic(
            &RelPath::from_static(CONNECTED),
            &connected.to_text(),
            FileMode::Private,
        )
    }

    /// Chooses the file of a client: the one with our entry, else the first that exists, else the first.
    fn file(&self, client: &Client, scope: Scope) -> Result<ClientFile, Failure> {
        let files = client.files(scope).into_iter();
        let paths = files.flat_map(|files| {
            files.paths(brigade_harness::Platform::of_this_build(), |name| self.variable(name))
        });
        let mut chosen: Option<(u8, ClientFile)> = None;
        for path in paths {
            let file = ClientFile::find(self, &path, scope)?;
            let rank = match file.read(self)? {
                Some(bytes) => match servers(client, &bytes) {
                    Ok(servers) if servers.iter().any(|server| server.name == NAME) => 2,
                    _ => 1,
                },
                None => 0,
            };
            if chosen.as_ref().is_none_or(|(best, _)| *best < rank) {
                chosen = Some((rank, file));
            }
        }
        chosen.map(|(_, file)| file).ok_or_else(|| unsupported(format!("{} has no file here", client.title)))
    }
}

/// The work of adding or removing one entry.
struct Task<'t> {
    clients: &'t ClientFiles<'t>,
    request: &'t ClientEntry<'t>,
    entry: Entry,
    file: ClientFile,
    connected: ConnectedEntries,
    redactor: &'t Redactor,
}

impl Task<'_> {
    fn noted(&self) -> Option<&ConnectedEntry> {
        self.connected.entry(self.request.client.label, &self.file.noted)
    }

    fn show(&self) -> Result<ConnectOutcome, Failure> {
        let before = self.file.read(self.clients)?;
        let put = self.put(before.as_deref())?;
        let status = if put.is_unchanged { ConnectStatus::Unchanged } else { ConnectStatus::WouldWrite };
        Ok(self.put_outcome(before.as_deref(), &put, status))
    }

    fn write(mut self) -> Result<ConnectOutcome, Failure> {
        for _ in 0..MAX_ATTEMPTS {
            let before = self.file.read(self.clients)?;
            let mut put = self.put(before.as_deref())?;
            put.traces.folders = self.file.missing_folders(self.clients);
            if !put.is_unchanged && !self.file.replace(self.clients, before.as_deref(), Some(&put.text))? {
                continue;
            }
            let status = if put.is_unchanged { ConnectStatus::Unchanged } else { ConnectStatus::Written };
            let outcome = self.put_outcome(before.as_deref(), &put, status);
            self.note(&put)?;
            return Ok(outcome);
        }
        Err(self.changes())
    }

    fn remove(mut self) -> Result<ConnectOutcome, Failure> {
        let client = self.request.client;
        for _ in 0..MAX_ATTEMPTS {
            let before = self.file.read(self.clients)?;
            let (traces, noted) = self.noted().map(|noted| (noted.traces, noted.entry.clone())).unzip();
            let taken =
                before.as_deref().map(|file| take(client, file, &traces.unwrap_or_default(), noted.as_ref()));
            let taken = taken.transpose().map_err(|why| self.refused(&why))?.flatten();
            let (Some(before), Some(taken)) = (before, taken) else {
                if self.connected.forget(client.label, &self.file.noted) {
                    self.clients.store(&self.connected)?;
                }
                return Ok(self.outcome(ConnectStatus::Absent, None, String::new()));
            };
            if !self.file.replace(self.clients, Some(&before), taken.text.as_deref())? {
                continue;
            }
            if taken.text.is_none() {
                self.file.remove_folders(self.clients, traces.unwrap_or_default().folders);
            }
            if self.connected.forget(client.label, &self.file.noted) {
                self.clients.store(&self.connected)?;
            }
            let server =
                servers(client, &before).ok().into_iter().flatten().find(|server| server.name == NAME);
            let is_plain = server.as_ref().is_some_and(|server| !server.has_additions());
            let old = self.masked(&String::from_utf8_lossy(&before), taken.entry_at, is_plain);
            let new = taken.text.map(|text| self.redactor.redact_str(&text));
            let diff = unified(&self.file.noted, Some(old.as_bytes()), new.as_deref().map(str::as_bytes));
            let entry =
                server.map(
                    |server| if is_plain { server.value } else { self.redactor.redact_fields(&server.value) },
                );
            return Ok(self.outcome(ConnectStatus::Removed, entry, diff));
        }
        Err(self.changes())
    }

    fn put(&self, before: Option<&[u8]>) -> Result<EntryInsertion, Failure> {
        let noted = self.noted().map(|noted| &noted.entry);
        put(self.request.client, before, &self.entry, noted).map_err(|why| self.refused(&why))
    }

    /// Records a written entry. What the first write added around it is kept from the first record.
    fn note(&mut self, put: &EntryInsertion) -> Result<(), Failure> {
        let request = self.request;
        let noted = self.noted();
        let entry = ConnectedEntry {
            client: request.client.label.to_owned(),
            scope: request.scope.as_str().to_owned(),
            transport: request.connection.transport().as_str().to_owned(),
            agent: request.agent.to_owned(),
            path: self.file.noted.clone(),
            entry: self.entry.to_json(),
            traces: match noted {
                Some(noted) if !put.is_new => noted.traces,
                Some(_) | None => put.traces,
            },
            written_at: match noted {
                Some(noted) if put.is_unchanged => noted.written_at,
                Some(_) | None => self.clients.context.clock.now(),
            },
        };
        if noted == Some(&entry) {
            return Ok(());
        }
        self.connected.note(entry);
        self.clients
            .store(&self.connected)
            .map_err(|error| Failure::from(error).hint("the entry is written, not recorded; connect again"))
    }

    fn put_outcome(
        &self,
        before: Option<&[u8]>,
        put: &EntryInsertion,
        status: ConnectStatus,
    ) -> ConnectOutcome {
        let client = self.request.client;
        let noted = self.noted().map(|noted| &noted.entry);
        let old = before.map(|before| {
            let text = String::from_utf8_lossy(before);
            let taken =
                take(client, before, &self.noted().map(|noted| noted.traces).unwrap_or_default(), noted);
            match taken {
                Ok(Some(taken)) => self.masked(&text, taken.entry_at, !put.has_additions),
                _ => self.redactor.redact_str(&text),
            }
        });
        let new = self.masked(&put.text, put.entry_at.clone(), !put.has_additions);
        let diff = if put.is_unchanged {
            String::new()
        } else {
            unified(&self.file.noted, old.as_deref().map(str::as_bytes), Some(new.as_bytes()))
        };
        let mut outcome = self.outcome(status, Some(self.entry.to_json()), diff);
        if let Some(what) = put.loose {
            outcome.notes.push(format!("the file has {what}, which {} may not read", client.title));
        }
        if let Connection::Http { variable, .. } = &self.request.connection {
            outcome.notes.push(format!("{} takes the token from the variable {variable}", client.title));
        }
        outcome
    }

    fn outcome(&self, status: ConnectStatus, entry: Option<Json>, diff: String) -> ConnectOutcome {
        let path = self.clients.absolute(&self.file.noted).display().to_string();
        let entry = entry.and_then(|entry| entry.as_object().cloned());
        ConnectOutcome { path, entry, status, diff, notes: Vec::new() }
    }

    /// Masks secrets of a file. Our entry has none, so it is not masked.
    fn masked(&self, text: &str, entry_at: std::ops::Range<usize>, is_plain: bool) -> String {
        if !is_plain {
            return self.redactor.redact_str(text);
        }
        let (before, rest) = text.split_at(entry_at.start);
        let (entry, behind) = rest.split_at(entry_at.end - entry_at.start);
        format!("{}{entry}{}", self.redactor.redact_str(before), self.redactor.redact_str(behind))
    }

    fn refused(&self, why: &EditRefusal) -> Failure {
        let path = match self.request.scope {
            Scope::Project => self.file.noted.clone(),
            Scope::User => self.clients.absolute(&self.file.noted).display().to_string(),
        };
        let shown = escape_terminal(&path);
        let (message, place) = match why.at() {
            Some(at) => {
                (format!("{shown}:{}:{}: {why}", at.line, at.column), Place::at(&path, at.line, at.column))
            }
            None => (format!("{shown}: {why}"), Place::file(&path)),
        };
        let failure = Failure::new(why.kind(), message);
        let failure = why.code().into_iter().fold(failure, Failure::coded);
        failure.hint(NextStep::Edit(place))
    }

    fn changes(&self) -> Failure {
        let message = format!("`{}` keeps changing", escape_terminal(&self.file.noted));
        Failure::new(ErrorKind::Refused, message).coded(ErrorCode::ChangedMeanwhile).hint("try again")
    }
}

fn unsupported(message: String) -> Failure {
    Failure::new(ErrorKind::Refused, message).coded(ErrorCode::ClientUnsupported)
}

#[cfg(test)]
mod tests;
