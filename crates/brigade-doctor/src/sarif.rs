//! Exports issues as SARIF 2.1.0, which editors and code hosts show next to the lines.

use std::borrow::Cow;
use std::collections::BTreeMap;

use brigade_core::{IssueType, Severity, words};
use serde::{Deserialize, Serialize};

use crate::report::IssueReport;

/// A SARIF log with the parts that issues need. Members are in alphabetical order, as they are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SarifLog {
    /// The address of the schema.
    #[serde(rename = "$schema")]
    pub schema: Cow<'static, str>,
    /// The runs; always one.
    pub runs: Vec<SarifRun>,
    /// The version of the format.
    pub version: Cow<'static, str>,
}

/// A run of the diagnosis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SarifRun {
    /// The unit of columns.
    pub column_kind: Cow<'static, str>,
    /// The issues.
    pub results: Vec<SarifResult>,
    /// The program that found the issues.
    pub tool: SarifTool,
}

/// The program that found the issues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SarifTool {
    /// The program itself, without extensions.
    pub driver: SarifDriver,
}

/// The name of the program and the types of its issues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SarifDriver {
    /// The name.
    pub name: Cow<'static, str>,
    /// Every type of issue.
    pub rules: Vec<SarifRule>,
    /// The version.
    pub semantic_version: Cow<'static, str>,
}

/// A type of issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SarifRule {
    /// Its usual level.
    pub default_configuration: SarifLevel,
    /// Its explanation.
    pub full_description: SarifText,
    /// Its code.
    pub id: Cow<'static, str>,
    /// Its area.
    pub properties: SarifTags,
    /// Its title.
    pub short_description: SarifText,
}

/// A text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SarifText {
    /// The text.
    pub text: Cow<'static, str>,
}

/// The usual level of a type of issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SarifLevel {
    /// The level.
    pub level: ResultLevel,
}

words! {
    /// A level of SARIF.
    ResultLevel {
        /// An error.
        Error = "error",
        /// A warning.
        Warning = "warning",
        /// Information only.
        Note = "note",
    }
}

/// The area of a type of issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SarifTags {
    /// The name of the area.
    pub tags: Vec<Cow<'static, str>>,
}

/// An issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SarifResult {
    /// The level.
    pub level: ResultLevel,
    /// The place; always one.
    pub locations: Vec<SarifLocation>,
    /// The tool and the problem.
    pub message: SarifText,
    /// The fingerprint of reports, under `brigadeIssue/v1`.
    pub partial_fingerprints: BTreeMap<String, String>,
    /// The fix.
    pub properties: SarifFix,
    /// Its type.
    pub rule_id: Cow<'static, str>,
    /// The index of its type in the list of rules.
    pub rule_index: Option<usize>,
}

/// How an issue is fixed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SarifFix {
    /// The command or advice.
    pub fix: String,
}

/// A place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SarifLocation {
    /// The file and the line.
    pub physical_location: SarifPhysicalLocation,
}

/// A file and a line in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SarifPhysicalLocation {
    /// The file.
    pub artifact_location: SarifArtifact,
    /// The line, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<SarifRegion>,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SarifArtifact {
    /// Its path in the workspace, as a relative URI.
    pub uri: String,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SarifRegion {
    /// The column, from 1, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_column: Option<usize>,
    /// Its number, from 1.
    pub start_line: usize,
}

/// Returns issues as a log with one run.
///
/// Paths are relative to the workspace. An issue without a file is placed in `catalog`. The fingerprints are those of
/// reports, so that other programs can recognize new issues.
pub fn sarif(issues: impl IntoIterator<Item = IssueReport>, catalog: &str) -> SarifLog {
    let driver = SarifDriver {
        name: "brigade".into(),
        semantic_version: env!("CARGO_PKG_VERSION").into(),
        rules: IssueType::all().iter().map(|kind| rule(*kind)).collect(),
    };
    let results = issues.into_iter().map(|issue| result(issue, catalog)).collect();
    SarifLog {
        schema: "https://json.schemastore.org/sarif-2.1.0.json".into(),
        version: "2.1.0".into(),
        runs: vec![SarifRun { tool: SarifTool { driver }, column_kind: "unicodeCodePoints".into(), results }],
    }
}

fn level(severity: Severity) -> ResultLevel {
    match severity {
        Severity::Error => ResultLevel::Error,
        Severity::Warning => ResultLevel::Warning,
        Severity::Info => ResultLevel::Note,
    }
}

fn text(text: impl Into<Cow<'static, str>>) -> SarifText {
    SarifText { text: text.into() }
}

fn rule(kind: IssueType) -> SarifRule {
    SarifRule {
        id: kind.code().into(),
        short_description: text(kind.title()),
        full_description: text(kind.explanation()),
        default_configuration: SarifLevel { level: level(kind.severity()) },
        properties: SarifTags { tags: vec![kind.area().as_str().into()] },
    }
}

fn result(issue: IssueReport, catalog: &str) -> SarifResult {
    let message = match &issue.tool_id {
        Some(tool) => format!("{tool}: {}", issue.detail),
        None => issue.detail,
    };
    // Code hosts ignore results without a place.
    let file = issue.file.as_deref().unwrap_or(catalog);
    let region = issue.line.map(|line| SarifRegion { start_line: line, start_column: issue.column });
    SarifResult {
        rule_index: IssueType::all().iter().position(|kind| kind.code() == issue.issue_type),
        rule_id: issue.issue_type,
        level: level(issue.severity),
        message: text(message),
        partial_fingerprints: BTreeMap::from([("brigadeIssue/v1".to_owned(), issue.fingerprint)]),
        properties: SarifFix { fix: issue.fix.as_str().to_owned() },
        locations: vec![SarifLocation {
            physical_location: SarifPhysicalLocation {
                artifact_location: SarifArtifact { uri: uri(file) },
                region,
            },
        }],
    }
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
