//! Exports issues as SARIF 2.1.0, which editors and code hosts show next to the lines.

use brigade_core::{IssueType, Json, Object, Severity};

use crate::report::IssueReport;

/// Returns issues as a log with one run.
///
/// Paths are relative to the workspace. An issue without a file is placed in `catalog`. The fingerprints are those of
/// reports, so that other programs can recognize new issues.
pub fn sarif(issues: impl IntoIterator<Item = IssueReport>, catalog: &str) -> Json {
    let rules: Vec<Json> = IssueType::all().iter().map(|kind| rule(*kind)).collect();
    let results: Vec<Json> = issues.into_iter().map(|issue| result(issue, catalog)).collect();
    let driver = Json::object([
        ("name", Json::from("brigade")),
        ("semanticVersion", env!("CARGO_PKG_VERSION").into()),
        ("rules", rules.into()),
    ]);
    let run = Json::object([
        ("tool", Json::object([("driver", driver)])),
        ("columnKind", "unicodeCodePoints".into()),
        ("results", results.into()),
    ]);
    Json::object([
        ("$schema", Json::from("https://json.schemastore.org/sarif-2.1.0.json")),
        ("version", "2.1.0".into()),
        ("runs", vec![run].into()),
    ])
}

fn level(severity: Severity) -> Json {
    Json::from(match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    })
}

fn text(text: &str) -> Json {
    Json::object([("text", Json::from(text))])
}

fn rule(kind: IssueType) -> Json {
    Json::object([
        ("id", Json::from(kind.code())),
        ("shortDescription", text(kind.title())),
        ("fullDescription", text(kind.explanation())),
        ("defaultConfiguration", Json::object([("level", level(kind.severity()))])),
        ("properties", Json::object([("tags", vec![kind.area().as_str()].into())])),
    ])
}

fn result(issue: IssueReport, catalog: &str) -> Json {
    let message = match &issue.tool_id {
        Some(tool) => format!("{tool}: {}", issue.detail),
        None => issue.detail,
    };
    // Code hosts ignore results without a place.
    let file = issue.file.as_deref().unwrap_or(catalog);
    let mut place =
        Object::from([("artifactLocation".to_owned(), Json::object([("uri", uri(file).into())]))]);
    if let Some(line) = issue.line {
        let column = issue.column.map(|column| ("startColumn", Json::from(column)));
        let region = [("startLine", Json::from(line))].into_iter().chain(column);
        place.insert("region".to_owned(), Json::object(region));
    }
    let location = Json::object([("physicalLocation", Json::Object(place))]);
    let index = IssueType::all().iter().position(|kind| kind.code() == issue.issue_type);
    Json::object([
        ("ruleIndex", Json::from(index)),
        ("ruleId", Json::from(&*issue.issue_type)),
        ("level", level(issue.severity)),
        ("message", text(&message)),
        ("partialFingerprints", Json::object([("brigadeIssue/v1", issue.fingerprint.into())])),
        ("properties", Json::object([("fix", issue.fix.as_str().into())])),
        ("locations", vec![location].into()),
    ])
}

/// Converts a path to a relative URI.
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
