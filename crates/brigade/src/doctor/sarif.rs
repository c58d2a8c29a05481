//! Issues as SARIF 2.1.0, which editors and code hosts show beside the lines.

use brigade_core::{Json, Severity};
use brigade_doctor::IssueType;

use crate::report::CatalogReport;

impl CatalogReport {
    /// Returns the issues as the log of one run.
    ///
    /// Paths are relative to the workspace. The fingerprints are those of reports, so that others can tell what is new.
    pub fn sarif(&self) -> Json {
        let results: Vec<Json> = self.issues.iter().map(result).collect();
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

fn result(issue: &Json) -> Json {
    let member = |key: &str| issue.get(key).and_then(Json::as_str);
    let code = member("issue_type").unwrap_or_default();
    let detail = member("detail").unwrap_or_default();
    let message = match member("tool_id") {
        Some(tool) => format!("{tool}: {detail}"),
        None => detail.to_owned(),
    };
    let level = match member("severity") {
        Some("error") => level(Severity::Error),
        Some("info") => level(Severity::Info),
        _ => level(Severity::Warning),
    };
    let index = IssueType::all().iter().position(|kind| kind.code() == code);
    let fingerprints = [("brigadeIssue/v1", issue.get("fingerprint").cloned().unwrap_or_default())];
    let mut members = vec![
        ("ruleId", Json::from(code)),
        ("ruleIndex", Json::from(index)),
        ("level", Json::from(level)),
        ("message", text(message)),
        ("partialFingerprints", Json::object(fingerprints)),
        ("properties", Json::object([("fix", issue.get("fix").cloned().unwrap_or_default())])),
    ];
    if let Some(file) = member("file") {
        let mut physical = vec![("artifactLocation", Json::object([("uri", Json::from(uri(file)))]))];
        if let Some(line) = issue.get("line").filter(|line| !line.is_null()) {
            let mut region = vec![("startLine", line.clone())];
            let column = issue.get("column").filter(|column| !column.is_null());
            region.extend(column.map(|column| ("startColumn", column.clone())));
            physical.push(("region", Json::object(region)));
        }
        let location = Json::object([("physicalLocation", Json::object(physical))]);
        members.push(("locations", Json::from(vec![location])));
    }
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
