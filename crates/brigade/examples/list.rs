//! The calls that wait for a person: `cargo run -p brigade --example list -- FOLDER`.

#![allow(clippy::disallowed_methods, reason = "an example is a separate program")]

use std::error::Error;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

use brigade::{CallFilter, CallStatus, Env, Workspace};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("expected a directory")?;
    let workspace = Workspace::discover(Path::new(&folder), Env::of_process())?;

    let waiting = CallFilter { status: Some(CallStatus::Pending), ..CallFilter::default() };
    let mut written = Ok(());
    workspace.calls().list(waiting)?.for_each(&mut |call| {
        written = writeln!(std::io::stdout(), "{} {}", call.id, call.tool_id);
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(written?)
}
