//! Writes projections, and finds and removes orphaned ones.
//!
//! Owns: the exclusive right to write ([`ApplyLock`]), the planned writes ([`Work`]) and how they reach the disk, the
//! search for orphans ([`find_orphans`]) and their removal ([`prune`]), and the list of files written outside of the
//! searched directories. Does not know: what a projection contains, calls.
//!
//! ```
//! use brigade_ops::{ApplyLock, Purpose, Work, find_orphans};
//! use brigade_core::SystemClock;
//! use brigade_exec::HostEnvironment;
//! use brigade_workspace::{Config, Digests, Host, Places, Sources, TrustStore, read_catalog, read_policy};
//! use brigade_fs::{FileMode, Fs, MemoryFs};
//! use brigade_projection::Overwrite;
//!
//! let fs = MemoryFs::new();
//! fs.create_dir_all(&".brigade".parse()?)?;
//! let entry = b"[[tool]]\nid = 'greet'\nname = 'Greet'\nfamily = 'skill'\nsource_path = 'greet.md'\n\
//!     supported_harnesses = ['claude']\nprojections = { claude = '.claude/skills/greet/SKILL.md' }\n";
//! fs.write_atomic(&".brigade/tools.toml".parse()?, entry, FileMode::Private)?;
//! fs.write_atomic(&"greet.md".parse()?, b"Say hello.\n", FileMode::KeepOr(0o644))?;
//!
//! let (environment, digests) = (HostEnvironment::default(), Digests::default());
//! let trust = TrustStore::default();
//! let host = Host {
//!     fs: &fs, environment: &environment, digests: &digests, trust: &trust, clock: &SystemClock, names: None,
//! };
//! let lock = ApplyLock::acquire(host, std::time::Duration::from_secs(1))?;
//! let config = Config::new(&host, read_catalog(&fs)?, read_policy(&fs, &trust));
//! let places = Places::new(&fs, host.root());
//! let tools: Vec<_> = config.catalog.tools().iter().collect();
//! let sources = Sources::new(host, &config, &tools);
//! let now = brigade_core::Clock::now(&SystemClock);
//! let mut work = Work::plan(&sources, &tools, &config, &places, Overwrite::Never, Purpose::Write, now);
//! lock.write(&mut work, &config)?;
//! assert!(fs.exists(&".claude/skills/greet/SKILL.md".parse()?)?);
//! assert!(find_orphans(host, &config, &places).orphans.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod apply_lock;
mod projected;
mod remove;
mod search;
mod staging;
mod work;

pub use apply_lock::ApplyLock;
pub use remove::{Prune, PruneResult, prune};
pub use search::{OrphanSearch, find_orphans};
pub use work::{Change, Purpose, Work};
