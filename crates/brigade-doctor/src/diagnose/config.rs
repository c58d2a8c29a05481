//! Diagnoses configuration files.

use brigade_catalog::{Catalog, UnsafeUserFile};
use brigade_core::{ConfigIssue, NextStep, Place, Severity};

use crate::{ConfigFile, Issue, IssueType, Snapshot};

pub(super) fn catalog(snapshot: &Snapshot<'_>, found: &mut Vec<Issue>) {
    match &snapshot.catalog {
        None => {}
        // A kitchen needs no tools.
        Some(ConfigFile::Missing { .. }) if snapshot.kitchen.is_some() => {}
        Some(ConfigFile::Missing { file }) => {
            found.push(missing(IssueType::Config, file, NextStep::Init));
        }
        Some(ConfigFile::Unreadable { file, why }) => found.push(unreadable(IssueType::Config, file, why)),
        Some(ConfigFile::Read(catalog)) => {
            found.extend(catalog.issues().iter().map(|issue| tool_entry(catalog, issue)));
            found.extend(catalog.user_issues().iter().map(|issue| tool_entry(catalog, issue)));
            levels(catalog, found);
        }
    }
}

/// Reports entries that others hide, and aliases without effect.
fn levels(catalog: &Catalog, found: &mut Vec<Issue>) {
    for hidden in catalog.shadowed() {
        let place = &hidden.tool.origin.place;
        let nearer = catalog.tool(hidden.tool.id.as_str()).unwrap_or(&hidden.tool);
        let detail = format!("it replaces the entry in {place}");
        found.push(Issue::of_tool(IssueType::EntryShadowed, nearer, "id", detail).evidence("user"));
    }
    for taken in catalog.taken_aliases() {
        let field = format!("aliases[{}]", taken.number);
        let detail =
            format!("the alias `{}` leads nowhere, because `{}` has it, too", taken.alias, taken.other);
        found.push(
            Issue::of_tool(IssueType::AliasTaken, taken.tool, &field, detail)
                .subject(taken.tool.masks.shown(taken.alias)),
        );
    }
}

fn tool_entry(catalog: &Catalog, issue: &ConfigIssue) -> Issue {
    let tool = issue.entry.as_deref().and_then(|id| catalog.tool(id));
    Issue {
        family: tool.and_then(|tool| tool.family).map(|family| family.as_str().to_owned()),
        description: tool.and_then(|tool| tool.shown_description()),
        ..entry(IssueType::Config, issue)
    }
}

/// Converts an issue of a file's parser; `kind` is used for errors.
pub(super) fn entry(kind: IssueType, issue: &ConfigIssue) -> Issue {
    let why = UnsafeUserFile::said_by(issue);
    let kind = match issue.severity {
        Severity::Error if why.is_some() => IssueType::UserCatalogUnsafe,
        Severity::Error => kind,
        Severity::Warning | Severity::Info if issue.message.starts_with("unknown key") => {
            IssueType::UnknownKey
        }
        Severity::Warning | Severity::Info => IssueType::ConfigWarning,
    };
    let field = issue.field.clone().unwrap_or_default();
    let mut detail =
        if field.is_empty() { issue.message.clone() } else { format!("{field}: {}", issue.message) };
    if let Some(hint) = &issue.hint {
        detail.push_str(&format!(" ({hint})"));
    }
    Issue {
        severity: issue.severity,
        tool_id: issue.entry.clone(),
        other_fix: why.map(|why| why.fix(&issue.place.file)),
        ..Issue::new(kind, detail).subject(field).evidence(issue.message.as_str()).at(issue.place.clone())
    }
}

pub(super) fn missing(kind: IssueType, file: &str, fix: NextStep) -> Issue {
    let issue = Issue::new(kind, format!("{file} does not exist")).evidence("missing").at(Place::file(file));
    Issue { other_fix: Some(fix), ..issue }
}

pub(super) fn unreadable(kind: IssueType, file: &str, why: &str) -> Issue {
    Issue::new(kind, format!("{file} cannot be read: {why}")).evidence("unreadable").at(Place::file(file))
}
