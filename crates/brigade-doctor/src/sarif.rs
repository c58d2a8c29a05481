//! Issues as SARIF 2.1.0, which editors and code hosts show beside the lines.

use brigade_core::{Json, Severity};

use crate::issue_type::IssueType;
use crate::report::IssueReport;

/// Returns issues as the log of one run.
///
/// Paths are relative to the workspace; an issue of no file in particular stands at `catalog`. The fingerprints are
/// those of reports, so that others can tell what is new.
pub fn sarif(issues: impl IntoIterator<Item = IssueReport>, catalog: &str) -> Json {
    let results: Vec<Json> = issues.into_iter().map(|issue| result(&issue, catalog)).collect();
    let rules: Vec<Json> = IssueType::all().iter().map(|kind| rule(*kind)).collect();
    let driver = Json::object([
        ("name", Json::from("brigade")),
        ("semanticVersion", Json::from(env!("CARGO_PKG_VERSION"))),
        ("rules", Json::from(rules)),
    ]);
    let run = Json::object([
        ("tool", Json::object([("driver", driver)])),
        ("columnKind", Json::from("unicodeCodePoints")),
        ("results", Json::from(results)),
    ]);
    Json::object([
        ("$schema", Json::from("https://json.schemastore.org/sarif-2.1.0.json")),
        ("version", Json::from("2.1.0")),
        ("runs", Json::from(vec![run])),
    ])
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn text(text: impl Into<String>) -> Json {
    Json::object([("text", Json::from(text.into()))])
}

fn rule(kind: IssueType) -> Json {
    Json::object([
        ("id", Json::from(kind.code())),
        ("shortDescription", text(kind.title())),
        ("fullDescription", text(kind.explanation())),
        ("defaultConfiguration", Json::object([("level", Json::from(level(kind.severity())))])),
        ("properties", Json::object([("tags", Json::from(vec![kind.area().as_str()]))])),
    ])
}

fn result(issue: &IssueReport, catalog: &str) -> Json {
    let message = match &issue.tool_id {
        Some(tool) => format!("{tool}: {}", issue.detail),
        None => issue.detail.clone(),
    };
    let level = match &*issue.severity {
        "error" => level(Severity::Error),
        "info" => level(Severity::Info),
        _ => level(Severity::Warning),
    };
    let index = IssueType::all().iter().position(|kind| kind.code() == issue.issue_type);
    let fingerprints = [("brigadeIssue/v1", Json::from(issue.fingerprint.as_str()))];
    let mut members = vec![
        ("ruleId", Json::from(&*issue.issue_type)),
        ("ruleIndex", Json::from(index)),
        ("level", Json::from(level)),
        ("message", text(message)),
        ("partialFingerprints", Json::object(fingerprints)),
        ("properties", Json::object([("fix", Json::from(issue.fix.as_str()))])),
    ];
    // Code hosts pass over results without a place.
    let file = issue.file.as_deref().unwrap_or(catalog);
    let mut physical = vec![("artifactLocation", Json::object([("uri", Json::from(uri(file)))]))];
    if let Some(line) = issue.line {
        let mut region = vec![("startLine", Json::from(line))];
        region.extend(issue.column.map(|column| ("startColumn", Json::from(column))));
        physical.push(("region", Json::object(region)));
    }
    let location = Json::object([("physicalLocation", Json::object(physical))]);
    members.push(("locations", Json::from(vec![location])));
    Json::object(members)
}

/// Makes a relative URI of a path.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}
