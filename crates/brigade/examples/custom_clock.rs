//! A workspace at a time of one's own, in memory: `cargo run -p brigade --example custom_clock`.

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use brigade::core::{Clock, Timestamp};
use brigade::{Env, MemoryFs, Workspace};

/// A clock that does not move.
struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_micros(1_700_000_000_000_000)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let env = Env::of_process().clock(Arc::new(FixedClock)).files(Arc::new(MemoryFs::new()));
    let workspace = Workspace::open(Path::new("/"), env)?;
    let counts = workspace.inbox().import()?;
    writeln!(std::io::stdout(), "{} issues at {}", counts.issues, FixedClock.now())?;
    Ok(())
}
