//! `brigade` alone on a terminal.

use std::ffi::OsString;

use brigade::Exit;

use crate::output::{Output, Shape};
use crate::session::Session;
use crate::surroundings::{Streams, Surroundings};
use crate::{commands, usage};

/// What to type without a workspace, and why.
const BEGINNINGS: [(&str, &str); 3] = [
    ("setup", "Put the agents and servers of this machine under rules, in a few questions"),
    ("discover", "See the agent programs, servers and tools of this machine"),
    ("demo", "See the whole story on made-up servers, in a minute"),
];

/// Returns whether a command line is only the name of the program, on a terminal.
pub(crate) fn is_meant(words: &[OsString], surroundings: &Surroundings) -> bool {
    words.len() == 1 && surroundings.output.is_some()
}

/// Shows what waits here; without a workspace, how to begin.
pub(crate) fn run(words: &[OsString], surroundings: &Surroundings, streams: &mut Streams<'_>) -> Exit {
    let words: Vec<OsString> = words.iter().cloned().chain(["work", "brief"].map(OsString::from)).collect();
    let arguments = match usage::parse(&words) {
        Ok(arguments) => arguments,
        Err(trouble) => return usage::explain(&trouble, &words, surroundings, streams),
    };
    let session = Session::new(&arguments.globals, surroundings);
    let is_here = session.workspace().and_then(|workspace| workspace.exists()).unwrap_or(false);
    if is_here || session.use_gateway_of_user().is_some() {
        return commands::run(&arguments.globals, &arguments.command, surroundings, streams);
    }
    Output::new(Shape::from(&arguments.globals), surroundings, streams).text(&beginning())
}

/// Returns three lines on how to begin.
fn beginning() -> String {
    let lines = BEGINNINGS.map(|(words, purpose)| format!("  brigade {words:16} {purpose}\n"));
    format!("There is no workspace here. To begin:\n{}", lines.concat())
}
