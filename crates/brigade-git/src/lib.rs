//! Runs git safely for the other crates.
//!
//! This crate owns:
//!
//! * starting the git program through the gate, always with the same hardening ([`Git`], [`GitCommand`]);
//! * parsing diffs while git prints them, and refusing commits with closed places or secrets ([`CommitCheck`]);
//! * reading git settings and .gitignore files as data ([`Settings`], [`Identity`], [`gitignore`]).
//!
//! It does not know what a repository is used for. Worktrees of tasks are in `brigade-kitchen-run`, and git tools of
//! agents are in `brigade-toolset`.
//!
//! ```
//! use brigade_git::Git;
//! use brigade_process::OwnPrograms;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let directory = std::env::temp_dir();
//! let programs = OwnPrograms::new(std::env::var_os("PATH").as_deref(), [directory.clone()]);
//! if let Some(git) = Git::find(&programs, &directory)? {
//!     let answer = git.order("version").run()?;
//!     assert!(answer.stdout.starts_with(b"git version"));
//! }
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod commit_check;
mod error;
mod ignored;
mod patch;
mod program;
mod settings;
mod special;
mod untracked;

pub use commit_check::{CommitCheck, CommitRefusal};
pub use error::GitError;
pub use ignore::gitignore::Gitignore;
pub use ignored::gitignore;
pub use patch::{AddedText, PATCH_ARGUMENTS, PatchFile, PatchReader, PatchSink};
pub use program::{Answer, Git, GitCommand, GitDirectories};
pub use settings::{Identity, Settings, one_line};
pub use special::special_files;
pub use untracked::untracked_in_the_way;
