//! Diagnoses the pins of MCP tools.

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
        PinProblem::Appeared(which) => (IssueType::McpToolAppeared, which.clone(), which.clone()),
        PinProblem::Gone(which) => (IssueType::McpToolVanished, which.clone(), which.clone()),
        PinProblem::Updated(what) => (IssueType::ServerUpdated, what.clone(), what.clone()),
        PinProblem::Unreadable(why) => {
            (IssueType::McpPinUnreadable, format!("the pin cannot be trusted: {why}"), why.clone())
        }
    };
    let object = if kind == IssueType::McpPinUnreadable { &pin.file } else { &pin.id };
    let is_of_server =
        matches!(pin.problem, PinProblem::Appeared(_) | PinProblem::Gone(_) | PinProblem::Updated(_));
    let issue = Issue {
        tool_id: pin.tool_id.clone(),
        family: (pin.tool_id.is_some() || is_of_server).then(|| "mcp".to_owned()),
        ..Issue::new(kind, detail)
    };
    issue.subject(pin.id.as_str()).evidence(evidence).at(Place::file(&pin.file)).object(object.as_str())
}

#[cfg(test)]
mod tests {
    use brigade_core::{Fingerprint, NextStep, Timestamp};

    use super::*;
    use crate::diagnose;

    fn issues(pin: PinState) -> Vec<Issue> {
        diagnose(Snapshot { pins: vec![pin], ..Snapshot::new(Timestamp::from_unix_micros(0)) })
    }

    fn marks(issues: &[Issue]) -> Vec<String> {
        let tool = |issue: &Issue| issue.tool_id.clone().unwrap_or("-".to_owned());
        issues
            .iter()
            .map(|issue| format!("{} {} {}", issue.kind.code(), tool(issue), issue.subject))
            .collect()
    }

    #[test]
    fn each_change_of_a_pinned_listing_is_an_issue() {
        let state = |problem: PinProblem| PinState {
            id: "voice--echo".to_owned(),
            file: ".brigade/tools/pins/voice--echo.json".to_owned(),
            tool_id: Some("say".to_owned()),
            problem,
        };
        let changed = |offered: &[u8]| {
            let changes = vec!["the description changed".to_owned()];
            state(PinProblem::Changed { changes, offered: Fingerprint::of_bytes(offered) })
        };
        let found = issues(changed(b"one"));
        assert_eq!(marks(&found), ["mcp_tool_changed say voice--echo"]);
        assert_eq!(found[0].next_step(), NextStep::ShowPin("voice--echo".to_owned()));
        assert_ne!(found[0].fingerprint(), issues(changed(b"two"))[0].fingerprint());
        assert_eq!(marks(&issues(state(PinProblem::Vanished))), ["mcp_tool_vanished say voice--echo"]);
        let of_server = |problem: PinProblem| {
            let (id, file) =
                ("servers/voice".to_owned(), ".brigade/tools/pins/servers/voice.json".to_owned());
            issues(PinState { id, file, tool_id: None, problem })
        };
        let appeared = |names: &str| of_server(PinProblem::Appeared(names.to_owned()));
        assert_eq!(marks(&appeared("a")), ["mcp_tool_appeared - servers/voice"]);
        assert_eq!(appeared("a")[0].next_step(), NextStep::ShowPin("servers/voice".to_owned()));
        assert_ne!(appeared("a")[0].fingerprint(), appeared("a, b")[0].fingerprint());
        assert_eq!(
            marks(&of_server(PinProblem::Gone("b".to_owned()))),
            ["mcp_tool_vanished - servers/voice"]
        );
        let broken = issues(state(PinProblem::Unreadable("it is not JSON".to_owned())));
        assert_eq!(marks(&broken), ["mcp_pin_unreadable say voice--echo"]);
        let file = ".brigade/tools/pins/voice--echo.json".to_owned();
        assert_eq!(broken[0].next_step(), NextStep::ReadFile(file));
    }
}
