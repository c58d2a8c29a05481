//! What is wrong with the pins of MCP tools.

use brigade_core::Place;

use crate::snapshot::{PinProblem, PinState};
use crate::{Issue, IssueType, Snapshot};

pub(super) fn pins(snapshot: &Snapshot<'_>, found: &mut Vec<Issue>) {
    found.extend(snapshot.pins.iter().map(issue));
}

fn issue(pin: &PinState) -> Issue {
    let (kind, detail, evidence) = match &pin.problem {
        PinProblem::Changed { changes, offered } => (
            IssueType::McpToolChanged,
            format!("the server lists it differently: {}", changes.join("; ")),
            offered.to_hex(),
        ),
        PinProblem::Vanished => {
            (IssueType::McpToolVanished, "the server does not list it any more".to_owned(), String::new())
        }
        PinProblem::Unreadable(why) => {
            (IssueType::McpPinUnreadable, format!("the pin cannot be trusted: {why}"), why.clone())
        }
    };
    let object = if kind == IssueType::McpPinUnreadable { &pin.file } else { &pin.id };
    let issue = Issue {
        tool_id: pin.tool_id.clone(),
        family: pin.tool_id.as_ref().map(|_| "mcp".to_owned()),
        ..Issue::new(kind, detail)
    };
    issue.subject(pin.id.as_str()).evidence(evidence).at(Place::file(&pin.file)).object(object.as_str())
}
