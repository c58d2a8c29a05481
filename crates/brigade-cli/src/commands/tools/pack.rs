//! `brigade tools pack`

use std::path::PathBuf;

use brigade::core::IdPrefix;
use brigade::daily::OnExisting;
use brigade::{Error, Exit};
use clap::Subcommand;

use crate::arguments::count;
use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Pack {
    /// Build a pack of the catalog and the sources of its entries
    ///
    /// The pack is a directory below .brigade/tools/packs. It contains no secrets, and nothing from outside the
    /// workspace.
    Build,
    /// List the packs, newest first
    List {
        /// List at most this many of the newest packs
        #[arg(long, value_name = "COUNT", default_value = "20", value_parser = count, allow_hyphen_values = true)]
        limit: usize,
    },
    /// Show a pack
    Show {
        /// Id of the pack, a unique prefix, or latest
        pack: IdPrefix,
    },
    /// Move a pack to the archive
    Archive {
        /// Id of the pack, a unique prefix, or latest
        pack: IdPrefix,
    },
    /// Add the entries and sources of a pack to this workspace
    ///
    /// Nothing is run. If an entry or a source of the pack differs from one that exists, nothing is written.
    Import {
        /// Directory of the pack
        #[arg(value_name = "DIRECTORY")]
        pack: PathBuf,

        /// Replace entries and sources that differ
        #[arg(long)]
        force: bool,
    },
}

pub(crate) fn run(command: &Pack, session: &Session<'_>, output: &mut Output<'_, '_>) -> Result<Exit, Error> {
    Ok(match command {
        Pack::Build => output.finish(session.workspace()?.packs().build()?),
        Pack::List { limit } => output.finish(session.workspace()?.packs().list(*limit)?),
        Pack::Show { pack } => output.finish(session.workspace()?.packs().show(pack)?),
        Pack::Archive { pack } => output.finish(session.workspace()?.packs().archive(pack)?),
        Pack::Import { pack, force } => {
            let existing = if *force { OnExisting::Overwrite } else { OnExisting::Keep };
            output.finish(session.workspace()?.packs().import(pack, existing)?)
        }
    })
}
