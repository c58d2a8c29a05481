use brigade_catalog::{Catalog, Level};
use brigade_core::{ErrorCode, ErrorKind, Json};
use brigade_doctor::PinProblem;
use brigade_mcp::{ListedTool, Pin};
use brigade_workspace::CATALOG;

use super::states::pin_states;
use super::*;
use crate::testing::Bench;

const TOOLS: &str = "[[tool]]\nid = \"notes-find\"\nname = \"Find\"\nfamily = \"mcp\"\nmcp_server_id = \"notes\"\n\
mcp_tool_name = \"find\"\ncommand = \"server\"\ndescription = \"Finds\"\n";

fn listed(name: &str, description: &str) -> ListedTool {
    let schema = Json::object([("type", Json::from("object"))]);
    let json = Json::object([
        ("name", Json::from(name)),
        ("description", Json::from(description)),
        ("inputSchema", schema),
    ]);
    ListedTool::from_json(&json).unwrap()
}

/// Makes a workspace with the pin of the tool `find`, and another of a server that no entry names.
fn site() -> Bench {
    let bench = Bench::new(&[(CATALOG, TOOLS)]);
    for (server, tool) in [("notes", "find"), ("clock", "now")] {
        let entry =
            TOOLS.replace("\"notes\"", &format!("\"{server}\"")).replace("\"find\"", &format!("\"{tool}\""));
        let catalog = Catalog::parse(CATALOG, Level::Project, entry.as_bytes());
        let key = McpTool::of_tool(&catalog.tools()[0]).unwrap();
        let pin = Pin::new(&listed(tool, "Finds"), bench.context.now());
        pin_store(&bench.context).write(&PinRecord::new(key, pin, None)).unwrap();
    }
    bench
}

fn record(bench: &Bench, server: &str) -> PinRecord {
    let (pins, broken) = pin_store(&bench.context).all().unwrap();
    assert!(broken.is_empty(), "{}", broken.len());
    pins.into_iter().find(|pin| pin.tool.server == server).expect("its pin")
}

/// The server lists the tool with another description.
fn offer(bench: &Bench, description: &str) -> Fingerprint {
    let now = bench.context.now();
    let offered = listed("find", description);
    pin_store(&bench.context).note_listing(&record(bench, "notes"), &offered, None, now).unwrap();
    offered.fingerprint()
}

fn pins(bench: &Bench) -> Pins {
    Pins::new(bench.shared())
}

#[track_caller]
fn list(bench: &Bench) -> PinListReport {
    let report = pins(bench).list().unwrap();
    assert_eq!((report.pin_count, report.server_count), (report.pins.len(), report.servers.len()));
    assert_eq!((report.error_count, report.issue_count), (report.errors.len(), report.issues.len()));
    report
}

#[test]
fn pins_are_listed_by_server_and_tool() {
    let bench = site();
    let report = list(&bench);
    let names: Vec<(&str, &str)> = report.pins.iter().map(|pin| (&*pin.server, &*pin.tool)).collect();
    assert_eq!((names, report.changed_count), (vec![("clock", "now"), ("notes", "find")], 0));
    offer(&bench, "Finds more");
    assert_eq!(list(&bench).changed_count, 1);
    assert_eq!(list(&Bench::new(&[])).pin_count, 0);
}

#[test]
fn a_damaged_pin_is_an_error_of_the_list_and_hides_no_other() {
    let bench = site();
    let file = format!("{PINS}/{}", record(&bench, "clock").tool.file_name());
    bench.write(&file, "{");
    let report = list(&bench);
    assert_eq!((report.pin_count, report.errors[0].pin_path.clone()), (1, format!("/memory/{file}")));
    let catalog = load::catalog(&bench.context).unwrap();
    let states = pin_states(pin_store(&bench.context), &catalog).unwrap();
    assert!(matches!(states[0].problem, PinProblem::Unreadable(_)), "{states:?}");
}

#[test]
fn a_pin_is_shown_by_its_id_and_by_the_tool_that_it_pins() {
    let bench = site();
    let id = record(&bench, "notes").id();
    for name in [id.as_str(), "notes-find"] {
        let report = pins(&bench).show(name).unwrap();
        assert_eq!(report.pin.map(|pin| pin.tool).as_deref(), Some("find"), "{name}");
        assert_eq!((report.description.as_deref(), report.accepted), (Some("Finds"), false));
        assert!(report.offered.is_none() && report.changes.is_empty());
    }
    let error = pins(&bench).show("gone").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(matches!(error.refusal(), Some(Refusal::Pin(None))));
}

#[test]
fn a_change_is_shown_and_accepted_with_the_entry() {
    let bench = site();
    let offered = offer(&bench, "Finds more");
    let shown = pins(&bench).show("notes-find").unwrap();
    assert!(shown.changes.join("; ").contains("Finds more"), "{:?}", shown.changes);
    let accepted = pins(&bench).accept("notes-find", Some(&offered.to_hex()[..12])).unwrap();
    assert!(accepted.accepted && accepted.changes == shown.changes);
    assert_eq!(record(&bench, "notes").pin.fingerprint(), offered);
    let catalog = load::catalog(&bench.context).unwrap();
    assert_eq!(catalog.tool("notes-find").unwrap().description.as_deref(), Some("Finds more"));
    assert_eq!(list(&bench).changed_count, 0);
}

#[test]
fn only_the_change_that_a_person_saw_is_accepted() {
    let bench = site();
    let seen = offer(&bench, "Finds more").to_hex();
    offer(&bench, "Deletes everything");
    let error = pins(&bench).accept("notes-find", Some(&seen)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    let Some(Refusal::Pin(Some(report))) = error.refusal() else { panic!("{error:?}") };
    assert!(report.changes.join("; ").contains("Deletes everything") && !report.accepted);
    assert_eq!(record(&bench, "notes").pin.tool().description.as_deref(), Some("Finds"));
}

#[test]
fn a_pin_without_a_change_has_nothing_to_accept() {
    let bench = site();
    let error = pins(&bench).accept("notes-find", None).unwrap_err();
    assert!(matches!(error.refusal(), Some(Refusal::Pin(Some(_)))), "{error:?}");
    offer(&bench, "Finds more");
    // The server lists the pinned tool again.
    offer(&bench, "Finds");
    assert!(pins(&bench).accept("notes-find", None).is_err());
}

#[test]
fn a_diagnosis_tells_each_change_and_each_server_once() {
    let bench = site();
    let states = |bench: &Bench| {
        let catalog = load::catalog(&bench.context).unwrap();
        pin_states(pin_store(&bench.context), &catalog).unwrap()
    };
    assert!(states(&bench).is_empty());
    offer(&bench, "Finds more");
    let [changed, updated] = &states(&bench)[..] else { panic!("two problems") };
    assert_eq!(
        (changed.id.clone(), changed.tool_id.as_deref()),
        (record(&bench, "notes").id(), Some("notes-find"))
    );
    assert!(matches!(changed.problem, PinProblem::Changed { .. }));
    assert_eq!(
        (updated.id.as_str(), &updated.problem),
        ("notes", &PinProblem::Updated("`find` changed".to_owned()))
    );
    let now = bench.context.now();
    pin_store(&bench.context).note_vanished(&record(&bench, "clock"), now).unwrap();
    let vanished = states(&bench).into_iter().find(|state| matches!(state.problem, PinProblem::Vanished));
    assert_eq!(vanished.expect("a tool that is gone").tool_id, None, "no entry asks for it");
}

#[test]
fn the_id_of_a_server_has_a_slash() {
    let bench = site();
    assert!(find_server(&bench.context, "notes").unwrap().is_none());
    let error = pins(&bench).show("servers/nothing").unwrap_err();
    assert!(matches!(error.code(), ErrorCode::PinMissing | ErrorCode::NotFound), "{:?}", error.code());
}

#[test]
fn only_damaged_pins_fail_a_list_that_asks_no_server() {
    let bench = site();
    offer(&bench, "Finds more");
    let mut report = list(&bench);
    assert_eq!(report.exit(), brigade_core::Exit::Done, "a remembered difference is only shown");
    report.errors.push(BrokenPin { pin_path: "x".to_owned(), error: "y".to_owned() });
    assert_eq!(report.exit(), brigade_core::Exit::Refused);
}
