//! Owns starting git: found once, through the gate, hardened the same way each time ([`Git`], [`GitCommand`]), and
//! reading settings of a repository and .gitignore files as data ([`Settings`], [`Identity`], [`gitignore`]). Does not
//! know what becomes of a repository: worktrees of tasks are in `brigade-kitchen-run`, and tools of agents in
//! `brigade-toolset`.
//!
//! ```
//! use brigade_exec::HostEnvironment;
//! use brigade_fs::DiskFs;
//! use brigade_git::Git;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let directory = DiskFs::open(&std::env::temp_dir())?;
//! let host = HostEnvironment::new(std::env::vars_os());
//! if let Some(git) = Git::find(&directory, &host)? {
//!     let answer = git.order("version").run()?;
//!     assert!(answer.stdout.starts_with(b"git version"));
//! }
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod error;
mod ignored;
mod program;
mod settings;

pub use error::GitError;
pub use ignore::gitignore::Gitignore;
pub use ignored::gitignore;
pub use program::{Answer, Git, GitCommand, GitDirectories};
pub use settings::{Identity, Settings, one_line};
