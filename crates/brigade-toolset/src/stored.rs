//! Helpers for the families that use the store.

use std::sync::Arc;

use brigade_db::{Store, StoreError};

use crate::context::{Context, Failure};

/// The owner of a person's rows. No agent can have this name.
pub(crate) const PERSON: &str = "a person";

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure { code: error.answered_code(), message: error.to_string(), data: None }
    }
}

impl Context<'_> {
    /// Opens the store for writing.
    ///
    /// # Errors
    /// Fails if it cannot be opened.
    pub fn store(&self) -> Result<Arc<Store>, Failure> {
        Ok(self.stores.writing(self.fs)?)
    }

    /// Opens the store for reading. Returns `None` if nothing was stored yet.
    ///
    /// # Errors
    /// Fails if it cannot be opened.
    pub fn stored(&self) -> Result<Option<Arc<Store>>, Failure> {
        Ok(self.stores.reading(self.fs)?)
    }

    /// Returns the store for reading a thing, which is missing if there is no store yet.
    ///
    /// # Errors
    /// Returns `not_found` with this name of the thing. Also fails on a disk error.
    pub fn stored_or_missing(&self, name: &str) -> Result<Arc<Store>, Failure> {
        self.stored()?.ok_or_else(|| Failure::missing(name))
    }

    /// Returns the owner of rows that the caller creates.
    pub fn owner(&self) -> String {
        self.agent().unwrap_or(PERSON).to_owned()
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! A workspace in a temporary directory, and a caller.

    use std::sync::Arc;
    use std::time::Duration;

    use brigade_access::LiveSession;
    use brigade_access::builtin::definition;
    use brigade_core::{Clock, ErrorCode, Json, Timestamp};
    use brigade_db::Stores;
    use brigade_db::volumes::Limits;
    use brigade_fs::DiskFs;
    use brigade_redact::Redactor;

    use crate::context::{Context, Failure, Output};
    use crate::run::run;

    pub(crate) struct StillClock;

    impl Clock for StillClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_unix_micros(1_700_000_000_000_000)
        }
    }

    pub(crate) struct Bench {
        pub(crate) _folder: tempfile::TempDir,
        pub(crate) fs: DiskFs,
        pub(crate) stores: Stores,
        pub(crate) redactor: Redactor,
        pub(crate) limits: Limits,
        pub(crate) session: LiveSession,
    }

    impl Bench {
        pub(crate) fn new() -> Bench {
            let folder = tempfile::tempdir().unwrap();
            let fs = DiskFs::open(folder.path()).unwrap();
            let stores = Stores::new(Duration::from_secs(5), Arc::new(brigade_fs::WorkspaceKey::temporary()));
            Bench {
                _folder: folder,
                fs,
                stores,
                redactor: Redactor::new(&[]),
                limits: Limits::default(),
                session: LiveSession::new("session-1"),
            }
        }

        pub(crate) fn fs_root(&self) -> &std::path::Path {
            self._folder.path()
        }

        pub(crate) fn with<T>(&self, caller: &str, act: impl FnOnce(&mut Context<'_>) -> T) -> T {
            let mut context = Context {
                session: Some(&self.session),
                volumes: self.limits,
                ..Context::new(&self.fs, caller, &StillClock, &self.redactor, &self.stores)
            };
            act(&mut context)
        }

        /// Calls a tool as this caller.
        #[track_caller]
        pub(crate) fn call_as(&self, caller: &str, tool: &str, args: &str) -> Result<Output, Failure> {
            let args = Json::parse(args).unwrap();
            self.with(caller, |context| run(definition(tool).unwrap(), &args, context))
        }

        #[track_caller]
        pub(crate) fn call(&self, tool: &str, args: &str) -> Json {
            self.call_as("agent:ada", tool, args).unwrap().structured
        }

        #[track_caller]
        pub(crate) fn code(&self, caller: &str, tool: &str, args: &str) -> ErrorCode {
            self.call_as(caller, tool, args).unwrap_err().code
        }
    }

    /// Returns a member as text.
    #[track_caller]
    pub(crate) fn text<'a>(json: &'a Json, name: &str) -> &'a str {
        json.get(name).and_then(Json::as_str).unwrap()
    }
}
