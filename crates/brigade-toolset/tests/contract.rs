//! Compares the rows of the built-in tools with the table that they are built from, `fixtures/builtin-tools.md`.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests may panic, and read the table from the disk"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use brigade_access::AccessLevel;
use brigade_access::Mode;
use brigade_access::Tier;
use brigade_access::builtin::{
    BuiltinName, Definition, Judge, ToolApproval, definition, definitions, own_name,
};
use brigade_core::Json;

/// One row of a table.
struct Row {
    section: Section,
    cells: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Section {
    First,
    Second,
    Coordinator,
    Ours,
}

fn table() -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/builtin-tools.md");
    rows_of(&std::fs::read_to_string(path).unwrap())
}

fn rows_of(text: &str) -> Vec<Row> {
    let mut section = None;
    let mut rows = Vec::new();
    for line in text.lines() {
        section = match line {
            _ if line.starts_with("## Seed 001") => Some(Section::First),
            _ if line.starts_with("## Seed 002") => Some(Section::Second),
            _ if line.starts_with("### Coordinator") => Some(Section::Coordinator),
            _ if line.starts_with("## Tools of ours") => Some(Section::Ours),
            _ => section,
        };
        let Some(section) = section.filter(|_| line.starts_with('|')) else { continue };
        let cells = cells(line);
        let is_head = cells.iter().all(|cell| cell.chars().all(|c| "-: ".contains(c)))
            || ["#", "seed name", "name", "our name"].contains(&cells[0].as_str());
        if !is_head {
            rows.push(Row { section, cells });
        }
    }
    assert!(150 < rows.len(), "the table has {} rows", rows.len());
    rows
}

/// Splits a row at `|`, but not within backticks.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut is_code = false;
    for c in line.trim().trim_start_matches('|').trim_end_matches('|').chars() {
        match c {
            '`' => is_code = !is_code,
            '|' if !is_code => {
                cells.push(String::new());
                continue;
            }
            _ => {}
        }
        cells.last_mut().unwrap().push(c);
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// Returns the texts in backticks.
fn codes(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

fn of_section(rows: &[Row], section: Section) -> impl Iterator<Item = &[String]> {
    rows.iter().filter(move |row| row.section == section).map(|row| &row.cells[..])
}

const EFFECTS: &[&str] = &[
    "local-read",
    "local-write",
    "local-delete",
    "remote-read",
    "remote-mutation",
    "process-exec",
    "process-control",
    "state-write",
    "memory-write",
    "session",
];

fn effects(cell: &str) -> Vec<&'static str> {
    let words: Vec<&str> = cell.split(|c: char| !c.is_ascii_lowercase() && c != '-').collect();
    EFFECTS.iter().copied().filter(|effect| words.contains(effect)).collect()
}

fn property<'d>(definition: &'d Definition, name: &str) -> Option<&'d Json> {
    definition.input_schema().get("properties")?.get(name)
}

fn is_required(definition: &Definition, name: &str) -> bool {
    let required = definition.input_schema().get("required").and_then(Json::as_array).unwrap_or_default();
    required.iter().any(|required| required.as_str() == Some(name))
}

fn type_of(property: &Json) -> Option<&str> {
    property.get("type").and_then(Json::as_str)
}

/// Splits at commas and semicolons outside of brackets.
fn parts(cell: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for c in cell.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        match c {
            ',' | ';' | '+' if depth == 0 => parts.push(String::new()),
            c => parts.last_mut().unwrap().push(c),
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// Compares the arguments of a row, written as `name:type:yes`, `name:type=default` and so on. Returns their names.
fn check_arguments(definition: &Definition, cell: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for part in parts(&cell.replace('`', "")) {
        let (name, rest) = part.split_once(':').map_or((part.as_str(), ""), |(name, rest)| (name, rest));
        let is_name =
            |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if rest.is_empty() || !is_name(name) {
            continue;
        }
        let what = format!("{} {name}", definition.id);
        let property = property(definition, name).unwrap_or_else(|| panic!("{what} is not there"));
        names.insert(name.to_owned());
        let kind: String = rest.chars().take_while(char::is_ascii_lowercase).collect();
        assert_eq!(type_of(property), Some(kind.as_str()), "{what}");
        assert_eq!(is_required(definition, name), rest[kind.len()..].starts_with(":yes"), "{what}");
        if let Some((_, default)) = rest.split_once('=') {
            let text = default.split(" (").next().unwrap().trim().trim_matches('"');
            let shown = property.get("default").unwrap_or_else(|| panic!("{what} has no default"));
            let shown = shown.as_str().map_or_else(|| shown.to_compact(), str::to_owned);
            let bare = |text: &str| text.replace(['"', ' '], "");
            assert_eq!(bare(&shown), bare(text), "{what}");
        }
    }
    names
}

/// Members that results always have although the table does not name them.
const ADDED: &[(&str, &[&str])] = &[
    ("agent.create", &["warnings"]),
    ("agent.update", &["warnings"]),
    ("schema.validate", &["faults", "warnings"]),
    ("workflow.create", &["semantic", "reasoning", "warnings"]),
    ("workflow.update", &["warnings"]),
    ("workflow.validate", &["faults", "warnings"]),
];

/// Returns the members of an object, or of the elements of a list of objects.
fn members(schema: &Json) -> BTreeMap<&str, &Json> {
    let of_elements = schema.get("items").unwrap_or(schema);
    let properties = of_elements.get("properties").and_then(Json::as_object);
    properties.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema)).collect()
}

/// Returns the required members.
fn required(schema: &Json) -> Vec<&str> {
    let names = schema.get("required").and_then(Json::as_array).unwrap_or_default();
    names.iter().filter_map(Json::as_str).collect()
}

/// Compares the names in a results cell with the schema: each must exist, lists must have elements with these members,
/// and no other member may be required.
fn check_result(definition: &Definition, cell: &str) {
    let schema = definition.output_schema();
    let found = members(schema);
    let cell = cell.replace("else isError", "isError");
    let cell = cell.split("isError").next().unwrap();
    let cell = cell.rsplit("structured ").next().unwrap();
    let mut named: BTreeSet<&str> = BTreeSet::new();
    let mut is_told = true;
    let all = parts(&cell.replace('`', ""));
    for part in &all {
        let name: String = part.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let rest = &part[name.len()..];
        let is_member = rest.is_empty() || rest.starts_with(['[', '(', '=', '{']);
        let Some((name, member)) = found.get_key_value(name.as_str()).filter(|_| is_member) else {
            // Words of the cell that are not names of members.
            let stands_for_others =
                ["script", "binding", "bindings", "lane", "lanes", "calls", "text"].contains(&name.as_str());
            let is_word = stands_for_others || !is_member || name.is_empty() || name.parse::<u64>().is_ok();
            assert!(is_word, "{}: the result has no `{name}`: {found:?}", definition.id);
            is_told = false;
            continue;
        };
        named.insert(name);
        let what = format!("{} {name}", definition.id);
        if rest.starts_with('[') {
            assert_eq!(type_of(member), Some("array"), "{what}");
        }
        // `{id:[..]}` and `{tool:gate}` are tables whose keys are ids.
        let Some((_, elements)) = rest.split_once("[{") else { continue };
        let inner: BTreeSet<&str> =
            elements.trim_end_matches("}]").split("}]").next().unwrap().split(',').collect();
        let inner: BTreeSet<&str> = inner.iter().map(|name| name.split('=').next().unwrap().trim()).collect();
        let has: BTreeSet<&str> = members(member).into_keys().collect();
        if has.is_empty() {
            continue;
        }
        assert!(inner.is_subset(&has), "{what} has {has:?} instead of {inner:?}");
        let always = member.get("items").map(required).unwrap_or_default();
        assert!(always.iter().all(|name| inner.contains(name)), "{what}: {always:?} instead of {inner:?}");
    }
    let added = ADDED.iter().find(|(id, _)| *id == definition.id).map_or(&[][..], |(_, names)| names);
    let unnamed: Vec<&str> =
        required(schema).into_iter().filter(|name| !named.contains(name) && is_told).collect();
    let unnamed: Vec<&str> =
        unnamed.into_iter().filter(|name| *name != "tool" || !definition.names_itself()).collect();
    assert_eq!(unnamed, added, "{}: the table does not name them", definition.id);
}

fn mode(word: &str) -> Mode {
    match word {
        "C" => Mode::Chat,
        "Ag" => Mode::Agentic,
        "Ex" => Mode::Execute,
        "Ar" => Mode::Architect,
        "Op" => Mode::Operator,
        other => panic!("unknown mode {other}"),
    }
}

fn named<T: Copy>(all: &[T], name: fn(T) -> &'static str, word: &str) -> T {
    *all.iter().find(|known| name(**known) == word).unwrap_or_else(|| panic!("unknown word `{word}`"))
}

#[test]
fn every_tool_of_the_first_table_is_a_row() {
    for cells in of_section(&table(), Section::First) {
        let [_, seed, ours, arguments, result, effect, access, role, modes, plan, approval, judge, _, _] =
            cells
        else {
            panic!("a row with other columns: {cells:?}")
        };
        let id = codes(ours)[0];
        let row = definition(id).unwrap_or_else(|| panic!("there is no row {id}"));
        for seed in codes(seed) {
            let Some(BuiltinName::Tool(found, _)) = own_name(seed) else {
                assert!(row.is_control, "{seed} calls nothing");
                continue;
            };
            assert_eq!(found.id, id, "{seed}");
        }
        let names = check_arguments(row, arguments);
        if !row.is_control {
            for name in row.input_schema().get("properties").and_then(Json::as_object).unwrap().keys() {
                assert!(names.contains(name), "{id}: the table has no argument `{name}`");
            }
            check_result(row, result);
        }
        match id {
            // Each call is planned as a call of the tool that it names.
            "fleet.invoke" => assert!(row.effects.is_empty()),
            // Its secrets are masked.
            "system.config" => assert_eq!(row.effects, ["local-read"]),
            _ => assert_eq!(row.effects.to_vec(), effects(effect), "{id}"),
        }
        assert_eq!(row.access, named(AccessLevel::ALL, AccessLevel::as_str, access), "{id}");
        assert!(row.tiers.contains(&named(Tier::ALL, Tier::as_str, role)), "{id}");
        assert_eq!(row.modes, modes.split_whitespace().map(mode).collect::<Vec<_>>(), "{id}");
        let only_reads = |effect: &&str| ["local-read", "remote-read", "session"].contains(effect);
        let is_in_plan = !row.effects.is_empty() && row.effects.iter().all(only_reads);
        assert_eq!(is_in_plan, plan == "yes", "{id}");
        assert_eq!(row.approval, named(ToolApproval::ALL, ToolApproval::as_str, approval), "{id}");
        assert_eq!(row.judge, named(Judge::ALL, Judge::as_str, judge), "{id}");
    }
}

/// Returns the approval that the permission columns specify.
fn approval_of(cell: &str, effects: &[&str]) -> Option<ToolApproval> {
    let words: Vec<&str> =
        cell.split('/').map(|word| word.trim().split(['+', ' ']).next().unwrap()).collect();
    match words[..] {
        _ if effects == ["session"] => Some(ToolApproval::None),
        [_, "allow", "allow"] => Some(ToolApproval::Rule),
        [_, "ask", "allow"] => Some(ToolApproval::Ask),
        [_, "ask", "ask"] => Some(ToolApproval::Always),
        _ => None,
    }
}

#[test]
fn every_tool_of_the_second_table_is_a_row() {
    let rows = table();
    let first: BTreeSet<String> =
        of_section(&rows, Section::First).map(|cells| codes(&cells[2])[0].to_owned()).collect();
    for cells in of_section(&rows, Section::Second) {
        let [seed, tier, ours, arguments, result, effect, permissions, _, _, _] = cells else {
            panic!("a row with other columns: {cells:?}")
        };
        let seeds: Vec<&str> = codes(seed).into_iter().filter(|name| !name.contains(' ')).collect();
        let ids: Vec<&str> = codes(ours);
        for seed in &seeds {
            let meant = own_name(seed).unwrap_or_else(|| panic!("{seed} is unknown"));
            match meant {
                BuiltinName::Tool(found, _) => assert!(ids.contains(&found.id), "{seed} calls {}", found.id),
                BuiltinName::Control(id) => panic!("{seed} calls {id}"),
                BuiltinName::Never(never) => assert!(ours.contains("(none)"), "{}", never.name),
            }
        }
        let effects_of_each: Vec<&str> = effect.split(',').collect();
        for (at, id) in ids.iter().enumerate() {
            let row = definition(id).unwrap_or_else(|| panic!("there is no row {id}"));
            assert!(row.tiers.contains(&named(Tier::ALL, Tier::as_str, tier)), "{id}");
            if first.contains(*id) {
                // The first table specifies the rest.
                continue;
            }
            assert_eq!((row.access, row.modes), (AccessLevel::User, &[][..]), "{id}");
            let expect = if effects_of_each.len() == ids.len() { effects_of_each[at] } else { effect };
            if !expect.starts_with("as ") {
                assert_eq!(row.effects.to_vec(), effects(expect), "{id}");
            }
            match *id {
                "session.exit_plan" => assert_eq!(row.approval, ToolApproval::Always),
                _ => {
                    // If a row has several tools, those that only read need at most a rule.
                    let only_reads = 1 < ids.len() && row.effects == ["local-read"];
                    let expect = approval_of(permissions, row.effects).filter(|_| !only_reads);
                    assert!(expect.is_none_or(|expect| row.approval == expect), "{id} {permissions}");
                }
            }
            if ids.len() == 1 && seeds.len() <= 1 {
                let text = arguments.replace("scopeOwnerId,", "scopeOwnerId:string:no,");
                check_arguments(row, &text);
                check_result(row, result);
            }
        }
    }
}

#[test]
fn every_name_of_a_coordinator_is_known() {
    for cells in of_section(&table(), Section::Coordinator) {
        let names = cells[0].replace("(ADE CLI)", "");
        for name in names.split(',').map(|name| name.trim().trim_end_matches('*')) {
            match own_name(name) {
                Some(BuiltinName::Tool(found, Some(alias))) => {
                    assert!(found.tiers.contains(&Tier::Coordinator) || alias.tier.is_none(), "{name}");
                }
                Some(BuiltinName::Never(never)) => assert_eq!(never.tier, Tier::Coordinator, "{name}"),
                // A control tool reports the remaining calls.
                Some(BuiltinName::Control("budget.get")) if name == "get_budget_status" => {}
                found => panic!("{name}: {found:?}"),
            }
        }
    }
}

#[test]
fn other_tools_control_or_read_server_offers() {
    for cells in of_section(&table(), Section::Ours) {
        for id in codes(&cells[0]) {
            assert!(brigade_access::is_reserved(id), "{id}");
            assert!(definition(id).is_none_or(|row| row.is_control), "{id}");
        }
    }
}

#[test]
fn no_row_is_missing_in_the_tables() {
    let rows = table();
    let mut named: BTreeSet<String> = BTreeSet::new();
    for row in &rows {
        let cell = match row.section {
            Section::First | Section::Second => &row.cells[2],
            Section::Coordinator => {
                named.extend(row.cells[1].split([' ', ',', ';', ':']).map(str::to_owned));
                continue;
            }
            Section::Ours => continue,
        };
        named.extend(codes(cell).into_iter().map(str::to_owned));
    }
    for row in definitions() {
        assert!(named.contains(row.id), "{} is in no table", row.id);
    }
}

#[test]
fn the_counts_are_those_of_the_table() {
    let rows = table();
    let ids: BTreeSet<&str> = of_section(&rows, Section::First)
        .filter(|cells| cells[0].parse::<u32>().unwrap() <= 83)
        .map(|cells| codes(&cells[2])[0])
        .collect();
    let first: Vec<&Definition> = ids.iter().map(|id| definition(id).unwrap()).collect();
    let modes = |mode: Mode| first.iter().filter(|row| row.modes.contains(&mode)).count();
    assert_eq!(Mode::ALL.iter().copied().map(modes).collect::<Vec<_>>(), [3, 15, 8, 16, 83]);
    let up_to = |level: AccessLevel| first.iter().filter(|row| row.access <= level).count();
    assert_eq!(AccessLevel::ALL.iter().copied().map(up_to).collect::<Vec<_>>(), [71, 77, 83]);
}
