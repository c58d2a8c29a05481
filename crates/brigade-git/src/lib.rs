//! Owns starting git: found once, through the gate, hardened the same way each time ([`Git`], [`Order`]), and reading
//! settings of a repository as data ([`Settings`], [`Identity`]). Does not know what becomes of a repository: worktrees
//! of tasks are in `brigade-crew`, and tools of agents in `brigade-builtin`.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod error;
mod program;
mod settings;

pub use error::GitError;
pub use program::{Answer, Git, Order, Sight};
pub use settings::{Identity, Settings, one_line};
