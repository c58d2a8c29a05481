//! The whole way of a call from another program: `cargo run -p brigade --example one_call -- FOLDER TOOL`.
//!
//! Plans and queues a call of a tool without arguments, approves it in the name of this program, and runs it.

#![allow(clippy::disallowed_methods, reason = "an example is a separate program")]

use std::error::Error;
use std::path::Path;

use brigade::{Caller, Env, Request, Workspace};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("expected a folder")?;
    let tool = arguments.next().ok_or("expected the id of a tool")?;

    let context = Env::of_process().caller(Caller::Program("one-call".to_owned()));
    let workspace = Workspace::discover(Path::new(&folder), context)?;
    let queued = workspace.calls().queue(Request::new(tool))?;
    workspace.calls().approve(&queued.call.id)?;
    let run = workspace.calls().run(&queued.call.id)?;

    let line = format!("{}\n", run.receipt.stdout_summary);
    std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes())?;
    Ok(())
}
