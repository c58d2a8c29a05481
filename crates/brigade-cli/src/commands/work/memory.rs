//! `brigade work memory`

use brigade::core::json::to_json;
use brigade::store::memory::Scope;
use brigade::{Error, Exit, MemoryFilter};
use clap::Subcommand;

use crate::arguments::word;
use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Memory {
    /// List what agents remember: the pinned first, then the newest
    List {
        /// Only list memories of this scope
        #[arg(long, value_parser = word::<Scope>())]
        scope: Option<Scope>,

        /// Only list memories that this agent sees
        #[arg(long = "as", value_name = "AGENT")]
        agent: Option<String>,
    },
    /// Show a memory
    Show {
        /// Id of the memory, or a unique prefix
        memory: String,
    },
    /// Remove a memory
    Remove {
        /// Id of the memory, or a unique prefix
        memory: String,
    },
    /// Pin a memory, so that it is never evicted
    Pin {
        /// Id of the memory, or a unique prefix
        memory: String,

        /// Unpin it instead
        #[arg(long)]
        off: bool,
    },
    /// Print all memories, one JSON object on each line
    Export,
}

pub(crate) fn run(
    command: &Memory,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    Ok(match command {
        Memory::List { scope, agent } => {
            let filter = MemoryFilter { scope: *scope, agent: agent.clone() };
            output.finish(session.workspace()?.memories().list(&filter)?)
        }
        Memory::Show { memory } => output.finish(session.workspace()?.memories().show(memory)?),
        Memory::Remove { memory } => output.finish(session.workspace()?.memories().remove(memory)?),
        Memory::Pin { memory, off } => output.finish(session.workspace()?.memories().pin(memory, !off)?),
        Memory::Export => {
            let report = session.workspace()?.memories().list(&MemoryFilter::default())?;
            match output.is_json() {
                true => output.document(&report, Exit::Done),
                false => output.write(Exit::Done, |out| {
                    for memory in &report.memories {
                        writeln!(out, "{}", to_json(memory).unwrap_or_default().to_compact())?;
                    }
                    Ok(())
                }),
            }
        }
    })
}
