//! Surveys a workspace: reads what a diagnosis needs, and fixes what needs no decision.
//!
//! Owns: the [`Survey`] of a workspace, read once from facts, runtimes, pins, calls, runs and checkpoints; planning
//! past calls again; modes, locks and temporary files of the state; the files of the inbox, of closeouts and of
//! packs. Does not know: which facts are issues (`brigade-doctor` decides), the command line.
//!
//! ```
//! use brigade_call::Caller;
//! use brigade_core::SystemClock;
//! use brigade_crew::Kitchen;
//! use brigade_exec::HostEnvironment;
//! use brigade_facts::{Config, Digests, Host, read_catalog, read_policy};
//! use brigade_fs::{FileMode, Fs, MemoryFs};
//! use brigade_queue::{MemoryStore, Queue, ThisHost};
//! use brigade_upkeep::{Parts, Site, Survey};
//! use std::sync::Arc;
//!
//! let fs: Arc<dyn Fs> = Arc::new(MemoryFs::new());
//! fs.create_dir_all(&".brigade".parse()?)?;
//! let entry = b"[[tool]]\nid = 'greet'\nname = 'Greet'\nfamily = 'script'\nmanifest_path = 'gone.json'\n";
//! fs.write_atomic(&".brigade/tools.toml".parse()?, entry, FileMode::Private)?;
//!
//! let (environment, digests) = (HostEnvironment::default(), Digests::default());
//! let host = Host { fs: &*fs, environment: &environment, digests: &digests, clock: &SystemClock, names: None };
//! let config = Config::new(&host, read_catalog(&*fs)?, read_policy(&*fs));
//! let queue = Queue::new(Arc::new(MemoryStore::new()), Arc::new(ThisHost::new(fs.clone())));
//! let caller = Caller::CommandLine;
//! let timeout = std::time::Duration::from_secs(1);
//! let clock = Arc::new(SystemClock);
//! let kitchen = Kitchen { fs: fs.clone(), clock, environment: &environment, lock_timeout: timeout };
//! let site =
//!     Site { host, config: &config, queue, journal: None, caller: &caller, cancel: None, timeout, kitchen };
//! let issues = Survey::read(&site, &Parts { tools: true, ..Parts::none() })?.diagnose(&site);
//! assert!(issues.iter().any(|issue| issue.kind.code() == "missing_manifest"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod agents;
mod brief;
mod check;
mod clients;
mod closeouts;
mod compact;
mod defaults;
mod discover;
mod error;
mod examine;
mod fix;
pub mod gather;
mod history;
mod import;
mod inbox;
mod incoming;
mod init;
pub mod load;
mod locks;
mod modes;
mod observed;
mod packs;
pub mod parity;
mod pins;
pub mod projections;
mod remember;
mod replan;
mod report;
mod runtimes;
mod sandbox;
mod seams;
mod sections;
mod setup;
mod shown;
mod site;
mod starters;
pub mod state;
mod survey;
mod temporary;
pub mod upstreams;
mod waiting;
mod words;
pub mod work;

pub use brief::brief;
pub use brigade_facts::RUNTIMES;
pub use check::{StateCheck, StateDamage, check_state};
pub use clients::{Clients, ConnectOutcome, ConnectStatus, ConnectStep, Wanted};
pub use closeouts::{BrokenCloseout, CLOSEOUTS, Closeouts, closeouts, projection_issues, store_closeout};
pub use compact::{Compacted, compact};
pub use defaults::{DefaultConflict, DefaultSource, Defaults, DefaultsRequest, SourceAction};
pub use discover::{Discovered, Look, Machine, discover};
pub use error::UpkeepError;
pub use examine::{Examined, Keep, examine};
pub use fix::{Fix, FixKind, Fixes, fix};
pub use history::{FoundCall, FoundCheckpoint, HistoryFacts};
pub use import::{Imported, Listed};
pub use inbox::{INBOX, InboxFile, InboxStore, SetAside};
pub use incoming::left_incoming;
pub use init::{MARKER, init_tools, marked, write_starter};
pub use observed::{Seen, SeenRuns, seen_run, seen_runs};
pub use packs::{
    FoundPacks, NewPack, NotOpened, OpenPack, PACKS, PACKS_ARCHIVE, archive_pack, find_pack, packs,
    store_pack,
};
pub use pins::pin_states;
pub use remember::{
    DISCOVERED, Memory, REGISTERED, RegisteredFrom, fit_to_remember, registered_from, remember, remembered,
};
pub use report::*;
pub use runtimes::{RuntimeHost, STATE, find_runtime, machine_of};
pub use seams::{Seams, TaskSessions};
pub use sections::{
    CallSection, CheckpointSection, ParitySection, PolicySection, RunSection, RuntimeSection, Sections,
};
pub use setup::{CATALOG_LOCK, Existing, Ignore, NewIgnore, Setup};
pub use shown::{counts, latest_closeout, shown_issue, shown_issues, top_issue_of};
pub use site::Site;
pub use starters::add_default_tools;
pub use survey::{Ledger, Parts, Survey};
pub use temporary::left_temporary;
pub use waiting::waiting;
pub use words::ShownWords;
