//! Issues, and the results of fixes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};

use brigade::core::{Hint, NextStep, Place, Severity, json};
use brigade::policy::{ErrorLine, Fault};
use brigade::records::RuntimeIssueRecord;
use brigade::report::{
    CatalogReport, Fix, FixReport, ImportReport, IssueReport, MissingBuiltin, MissingFact,
    PolicyHealthReport, Rows,
};

use super::catalog::config_errors;
use crate::render::page::Page;
use crate::render::text::{Text, Tone};
use crate::render::{View, words};

impl View for CatalogReport {
    fn show(&self, page: &mut Page) {
        let issues: Vec<IssueReport> = self.issues.iter().collect();
        // Errors of the configuration are also issues, unless a filter excludes them.
        let is_unlisted = |error: &&ErrorLine| {
            let place = error.fault().place.as_ref();
            let is_there = |issue: &IssueReport| {
                place.is_some_and(|place| {
                    issue.file.as_ref() == Some(&place.file)
                        && (issue.line, issue.column) == (place.line, place.column)
                })
            };
            !issues.iter().any(is_there)
        };
        let others: Vec<ErrorLine> = self.errors.iter().filter(is_unlisted).cloned().collect();
        config_errors(&others, page);
        let sheet = &mut page.data;
        sheet.field("workspace", &self.target);
        sheet.field("tools", self.tool_count.to_string());
        sheet.field_if("calls", words::counts(&self.call_queue.counts));
        sheet.field_if("runs", words::counts(&self.run_history.counts));
        sheet.field_if("checkpoints", words::counts(&self.checkpoints.counts));
        sheet.field_if("runtimes", words::counts(&self.runtimes.counts));
        let policy = match (self.policy.enabled, self.policy.valid) {
            (false, _) => Text::new(Tone::Warning, "none"),
            (true, false) => Text::new(Tone::Bad, "broken"),
            (true, true) => Text::new(Tone::Good, "ok"),
        };
        sheet.field("policy", policy);
        let count = match (self.issue_count, self.raw_issue_count.saturating_sub(self.issue_count)) {
            (0, 0) => Text::new(Tone::Good, "none"),
            (count, 0) => Text::from(count.to_string()),
            (count, quiet) => Text::from(format!("{count} ({quiet} more accepted by the last closeout)")),
        };
        sheet.field("issues", count);
        show_issues(&issues, page);
        show_missing(self.missing_tools.as_deref().unwrap_or_default(), page);
    }

    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut bare: CatalogReport = self.clone();
        bare.tools = Rows::none();
        (bare.raw_issues, bare.issues) = (Rows::none(), Rows::none());
        // Without a closeout both lists are the same, so they are formatted once.
        let are_all = self.issues.is(&self.raw_issues);
        let mut written = Vec::new();
        json::write_with_lists(out, &bare, &["tools", "raw_issues", "issues"], |key, out| match key {
            "tools" => json::write_rows(out, &self.tools, drop),
            "raw_issues" if are_all => json::write_rows(out, &self.issues, |piece| written.push(piece)),
            "raw_issues" => json::write_rows(out, &self.raw_issues, drop),
            _ if are_all => written.iter().try_for_each(|piece| out.write_all(piece)),
            _ => json::write_rows(out, &self.issues, drop),
        })
    }
}

/// The severities, worst first, with their plural and tone.
const SEVERITIES: [(Severity, &str, Tone); 3] = [
    (Severity::Error, "errors", Tone::Bad),
    (Severity::Warning, "warnings", Tone::Warning),
    (Severity::Info, "notes", Tone::Faint),
];

/// The parts of an issue that are shown.
pub(super) struct IssueLine<'a> {
    severity: Option<Severity>,
    issue_type: &'a str,
    tool_id: &'a str,
    harness: &'a str,
    detail: &'a str,
    fix: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<usize>,
    column: Option<usize>,
}

impl<'a> From<&'a IssueReport> for IssueLine<'a> {
    fn from(issue: &'a IssueReport) -> IssueLine<'a> {
        IssueLine {
            severity: Some(issue.severity),
            issue_type: &issue.issue_type,
            tool_id: issue.tool_id.as_deref().unwrap_or_default(),
            harness: issue.harness.as_deref().unwrap_or_default(),
            detail: &issue.detail,
            fix: Some(issue.fix.as_str()).filter(|fix| !fix.is_empty()),
            file: issue.file.as_deref(),
            line: issue.line,
            column: issue.column,
        }
    }
}

impl<'a> From<&'a RuntimeIssueRecord> for IssueLine<'a> {
    fn from(issue: &'a RuntimeIssueRecord) -> IssueLine<'a> {
        IssueLine {
            severity: issue.severity,
            issue_type: &issue.issue_type,
            tool_id: issue.tool_id.as_deref().unwrap_or_default(),
            harness: "",
            detail: &issue.detail,
            fix: issue.fix.as_deref(),
            file: issue.file.as_deref(),
            line: issue.line,
            column: None,
        }
    }
}

/// Lists the missing requirements of built-in tools, with the affected tools.
fn show_missing(tools: &[MissingBuiltin], page: &mut Page) {
    let mut by_fact: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for tool in tools {
        for MissingFact { fact, help, .. } in &tool.facts {
            by_fact.entry((fact, help)).or_default().push(&tool.tool_id);
        }
    }
    for ((fact, help), tools) in by_fact {
        page.data.gap();
        page.data.line(Text::new(Tone::Strong, fact).then(Tone::Plain, &format!(": {help}")));
        page.data.indented(2, Text::new(Tone::Faint, &tools.join(", ")));
    }
}

/// The type of issue of a projection that was never written.
pub(super) const UNWRITTEN: &str = "missing_projection";

/// The maximum number of such issues that are shown one by one.
pub(super) const FOLDED: usize = 3;

/// Lists issues with place and help, worst first and grouped by type. If many projections were never written, they
/// share one line.
pub(super) fn show_issues<'i, I>(issues: &'i [I], page: &mut Page)
where
    IssueLine<'i>: From<&'i I>,
{
    let issues: Vec<IssueLine<'_>> = issues.iter().map(IssueLine::from).collect();
    let (unwritten, mut issues): (Vec<_>, Vec<_>) =
        issues.into_iter().partition(|issue| issue.issue_type == UNWRITTEN);
    if unwritten.len() <= FOLDED {
        issues.extend(unwritten);
    } else {
        let tools: BTreeSet<&str> = unwritten.iter().map(|issue| issue.tool_id).collect();
        let line = format!("{} projections of {} tools were never written", unwritten.len(), tools.len());
        page.data.gap();
        page.data.line(line);
        page.next("brigade tools plan");
    }
    for (severity, many, tone) in SEVERITIES {
        let of_severity = issues.iter().filter(|issue| issue.severity == Some(severity));
        let mut types: Vec<(&str, Vec<&IssueLine<'_>>)> = Vec::new();
        for issue in of_severity {
            match types.iter_mut().find(|(known, _)| *known == issue.issue_type) {
                Some((_, list)) => list.push(issue),
                None => types.push((issue.issue_type, vec![issue])),
            }
        }
        let count: usize = types.iter().map(|(_, list)| list.len()).sum();
        if count == 0 {
            continue;
        }
        page.data.gap();
        page.data.line(Text::new(tone, many).then(Tone::Faint, &format!(" ({count})")));
        for alike in types.into_iter().flat_map(|(_, list)| group_equal(&list)) {
            page.data.fault(fault(&alike, severity));
        }
    }
}

/// Groups issues that differ only in the harness, because all projections of a tool often have the same issue.
fn group_equal<'i, 'l>(issues: &[&'l IssueLine<'i>]) -> Vec<Vec<&'l IssueLine<'i>>> {
    let mut found: Vec<Vec<&IssueLine<'_>>> = Vec::new();
    let mut known: HashMap<[&str; 3], usize> = HashMap::new();
    for issue in issues {
        let is_new = issue.harness.is_empty();
        let key = [issue.tool_id, issue.fix.unwrap_or_default(), issue.common_detail()];
        match known.get(&key).filter(|_| !is_new) {
            Some(place) => found[*place].push(issue),
            None => {
                known.insert(key, found.len());
                found.push(vec![issue]);
            }
        }
    }
    found
}

impl<'a> IssueLine<'a> {
    /// Returns the detail without the prefix that names the harness.
    fn common_detail(&self) -> &'a str {
        let rest = self.detail.strip_prefix(self.harness).and_then(|rest| rest.strip_prefix(": "));
        rest.filter(|_| !self.harness.is_empty()).unwrap_or(self.detail)
    }

    /// Returns the tool and harness after a space; empty for issues of the workspace.
    fn about(&self) -> String {
        let about = [self.tool_id, self.harness];
        let about = about.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
        if about.is_empty() { about } else { format!(" {about}") }
    }
}

/// Converts a group of issues to one fault, at the place of the first.
fn fault(issues: &[&IssueLine<'_>], severity: Severity) -> Fault {
    let issue = issues[0];
    let message = match issues {
        [_] => format!("{}: {}", issue.about(), issue.common_detail()),
        _ => {
            let harnesses: Vec<&str> = issues.iter().map(|issue| issue.harness).collect();
            let (tool, detail) = (issue.tool_id, issue.common_detail());
            format!("{tool}: {detail} (for {} harnesses: {})", harnesses.len(), harnesses.join(", "))
        }
    };
    let place = issue.file.map(|file| Place { line: issue.line, column: issue.column, ..Place::file(file) });
    Fault::new(issue.issue_type.to_owned(), message.trim_start_matches([':', ' ']))
        .severity(severity)
        .at(place)
        .help(issue.fix.map(|fix| Hint::from(fix.to_owned())))
}

/// Formats an issue for a row of a table.
pub(super) fn issue_line(issue: &IssueLine<'_>) -> [Text; 2] {
    let severity = issue.severity;
    let tone = SEVERITIES
        .iter()
        .find(|(known, ..)| Some(*known) == severity)
        .map_or(Tone::Plain, |(.., tone)| *tone);
    let text = format!("{}{}: {}", issue.issue_type, issue.about(), issue.common_detail());
    [Text::new(tone, severity.map_or("", Severity::as_str)), Text::from(text)]
}

/// Formats a file and a line.
pub(super) fn place(file: &str, line: Option<usize>) -> Text {
    let place = line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"));
    Text::new(Tone::Accent, &place)
}

impl View for PolicyHealthReport {
    fn show(&self, page: &mut Page) {
        config_errors(&self.tool_errors, page);
        // There are neither tools nor a policy, so there is nothing to check.
        if self.policy.is_none() && self.issues.is_empty() && !self.tool_errors.is_empty() {
            return;
        }
        page.data.field("policy", Text::new(Tone::Accent, &self.policy_path));
        page.data.field("valid", words::yes_no(self.valid));
        page.data.field("issues", self.issue_count.to_string());
        show_issues(&self.issues, page);
        if !self.enabled {
            page.next_step(&NextStep::InitPolicy);
        }
    }
}

impl View for FixReport {
    fn show(&self, page: &mut Page) {
        if self.fixed.is_empty() && self.failed.is_empty() {
            page.data.line("nothing to fix");
        }
        let done = if self.dry_run { "would fix" } else { "fixed" };
        for fix in &self.fixed {
            page.data.line(fix_line(Tone::Good, done, fix));
        }
        for fix in &self.failed {
            page.trouble.line(fix_line(Tone::Bad, "error: cannot fix", fix));
        }
        page.next(&self.next_command.to_string());
    }
}

fn fix_line(tone: Tone, word: &str, fix: &Fix) -> Text {
    Text::new(tone, word)
        .then(Tone::Plain, " ")
        .then(Tone::Accent, &fix.path)
        .then(Tone::Plain, &format!(": {}", fix.detail))
}

impl View for ImportReport {
    fn show(&self, page: &mut Page) {
        let sheet = &mut page.data;
        sheet.field("inbox", Text::new(Tone::Accent, &self.imports_path));
        sheet.field("issues", self.issues.to_string());
        sheet.field("created", self.created.to_string());
        sheet.field("skipped", self.skipped.to_string());
        sheet.field("dismissed", self.dismissed.to_string());
        if 0 < self.quarantined {
            let to = self.quarantine_path.as_deref().unwrap_or("a quarantine");
            page.note(&format!("moved {} unreadable lines of the inbox to {to}", self.quarantined));
        }
        page.next_step(&NextStep::ListInbox);
    }
}
