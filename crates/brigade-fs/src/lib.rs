//! File access beneath a root directory, atomic replacement, durable appends and locks.
//!
//! It owns the interface to the disk: the [`Fs`] trait and its three implementations. [`DiskFs`] is a directory that no
//! path or link can leave. [`MemoryFs`] behaves the same without a disk. [`FaultyFs`] fails or loses power at a chosen
//! operation, and returns what would survive. [`StagedFs`] keeps changes in memory until all are written. It does not
//! know the content of the files. [`WorkspaceKey`] keeps the key of this host, in a file outside of every root.
//!
//! ```
//! use brigade_fs::{FileMode, Fs, MemoryFs, RelPath};
//!
//! let fs = MemoryFs::new();
//! let path: RelPath = "notes/today.txt".parse()?;
//! fs.create_dir_all(&path.parent())?;
//! fs.write_atomic(&path, b"hello\n", FileMode::Private)?;
//! assert_eq!(fs.read(&path, 1_000)?, b"hello\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Acknowledged writes are durable: [`Fs::write_atomic`], [`Fs::create_new_durable`] and [`Fs::append_durable`] return
//! once the file is synced, and its directory too if the name is new.

#![allow(clippy::disallowed_methods, reason = "this crate is the seam to the disk")]

/// Implements methods of [`Fs`] that a file system over another one, its field, passes on as they are.
macro_rules! forward {
    ($field:ident: $(fn $method:ident(&$this:ident $(, $name:ident: $type:ty)*) -> $result:ty;)+) => {
        $(fn $method(&$this $(, $name: $type)*) -> $result {
            $this.$field.$method($($name),*)
        })+
    };
}

mod beneath;
mod disk;
mod error;
mod faulty;
mod fingerprint;
mod fs;
mod late;
mod lines;
mod lock;
mod many;
mod memory;
mod path;
mod replacement;
mod root;
mod seen;
mod staged;
mod together;
mod traced;
mod tracked;
mod tree;
mod workspace_key;

pub use beneath::{EntryMetadata, Folder, OpenFile};
pub use disk::{DiskFs, by_words};
pub use error::{FsError, FsErrorKind, OrAbsent};
pub use faulty::{Crash, Fault, FaultyFs};
pub use fingerprint::{BoundFileLimit, CancelReading, ReadTimer, bound_fingerprint, fingerprint};
pub use fs::{DirEntry, FileId, FileKind, FileMode, Fs, Location, Metadata, Owner, ReadFile, WriteFile};
pub use late::DeferredFs;
pub use lines::{Line, Lines};
pub use lock::Lock;
pub use many::read_many;
pub use memory::MemoryFs;
pub use path::{InvalidPath, RelPath};
pub use replacement::{Replacement, is_left, is_temporary, remove_if_left};
pub use seen::{FileVersion, Mark};
pub use staged::{StagedChange, StagedFs};
pub use together::{NewFile, in_directory, write_together};
pub use traced::{Trace, TracingFs};
pub use tracked::{is_tracked, require_untracked};
pub use workspace_key::WorkspaceKey;
