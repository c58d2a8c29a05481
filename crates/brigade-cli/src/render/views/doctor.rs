//! Health: what is wrong, and what was mended.

use std::collections::HashMap;
use std::io::{self, Write};

use brigade::core::{Hint, Json, Place, Severity};
use brigade::{CatalogReport, Fault, Fix, FixReport, ImportReport, PolicyHealthReport, Rows};

use super::catalog::config_errors;
use crate::render::page::Page;
use crate::render::text::{Text, Tone};
use crate::render::{View, json, values};

impl View for CatalogReport {
    fn show(&self, page: &mut Page) {
        config_errors(&self.errors, page);
        let sheet = &mut page.data;
        sheet.field("workspace", &self.target);
        sheet.field("tools", self.tool_count.to_string());
        sheet.field_if("calls", self.call_queue.get("counts").and_then(values::counts));
        sheet.field_if("runs", self.run_history.get("counts").and_then(values::counts));
        sheet.field_if("checkpoints", self.checkpoints.get("counts").and_then(values::counts));
        sheet.field_if("runtimes", self.runtimes.get("counts").and_then(values::counts));
        let policy = match (values::flag(&self.policy, "enabled"), values::flag(&self.policy, "valid")) {
            (false, _) => Text::new(Tone::Warning, "none"),
            (true, false) => Text::new(Tone::Bad, "broken"),
            (true, true) => Text::new(Tone::Good, "ok"),
        };
        sheet.field("policy", policy);
        let count = match (self.issue_count, self.raw_issue_count.saturating_sub(self.issue_count)) {
            (0, 0) => Text::new(Tone::Good, "none"),
            (count, 0) => Text::from(count.to_string()),
            (count, quiet) => Text::from(format!("{count}, and {quiet} quieted by the last closeout")),
        };
        sheet.field("issues", count);
        let issues: Vec<Json> = self.issues.iter().map(|issue| issue.to_json()).collect();
        show_issues(&issues, page);
    }

    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let bare = CatalogReport {
            tools: Rows::none(),
            raw_issues: Rows::none(),
            issues: Rows::none(),
            ..self.clone()
        };
        // Without a closeout all issues count, and are written once.
        let are_all = self.issues.is(&self.raw_issues);
        let mut written = Vec::new();
        json::write_with_lists(out, &bare, &["tools", "raw_issues", "issues"], |key, out| match key {
            "tools" => json::write_list(out, &self.tools, drop),
            "raw_issues" if are_all => json::write_list(out, &self.issues, |piece| written.push(piece)),
            "raw_issues" => json::write_list(out, &self.raw_issues, drop),
            _ if are_all => written.iter().try_for_each(|piece| out.write_all(piece)),
            _ => json::write_list(out, &self.issues, drop),
        })
    }
}

/// How bad issues are, the worst first, and what many of them are called.
const SEVERITIES: [(Severity, &str, Tone); 3] = [
    (Severity::Error, "errors", Tone::Bad),
    (Severity::Warning, "warnings", Tone::Warning),
    (Severity::Info, "notes", Tone::Faint),
];

/// Lists issues with their line and the command that helps: the worst first, those of a type beside each other.
pub(super) fn show_issues(issues: &[Json], page: &mut Page) {
    for (severity, many, tone) in SEVERITIES {
        let of_severity = issues.iter().filter(|issue| values::text(issue, "severity") == severity.as_str());
        let mut types: Vec<(&str, Vec<&Json>)> = Vec::new();
        for issue in of_severity {
            let kind = values::text(issue, "issue_type");
            match types.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, list)) => list.push(issue),
                None => types.push((kind, vec![issue])),
            }
        }
        let count: usize = types.iter().map(|(_, list)| list.len()).sum();
        if count == 0 {
            continue;
        }
        page.data.gap();
        page.data.line(Text::new(tone, many).then(Tone::Faint, &format!(" ({count})")));
        for alike in types.into_iter().flat_map(|(_, list)| alike(&list)) {
            page.data.fault(fault(&alike, severity));
        }
    }
}

/// Puts issues together that differ in nothing but the harness: the projections of a tool often share their fate.
fn alike<'i>(issues: &[&'i Json]) -> Vec<Vec<&'i Json>> {
    let mut found: Vec<Vec<&Json>> = Vec::new();
    let mut known: HashMap<[&str; 3], usize> = HashMap::new();
    for issue in issues {
        let is_new = values::some_text(issue, "harness").is_none();
        let key = [values::text(issue, "tool_id"), values::text(issue, "fix"), common_detail(issue)];
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

/// Returns what is wrong without the harness, with which the sentence of a projection begins.
fn common_detail(issue: &Json) -> &str {
    let (harness, detail) = (values::text(issue, "harness"), values::text(issue, "detail"));
    let rest = detail.strip_prefix(harness).and_then(|rest| rest.strip_prefix(": "));
    rest.filter(|_| !harness.is_empty()).unwrap_or(detail)
}

/// Makes one fault of issues that are alike, at the place of the first.
fn fault(issues: &[&Json], severity: Severity) -> Fault {
    let issue = issues[0];
    let message = match issues {
        [_] => format!("{}: {}", about(issue), values::text(issue, "detail")),
        _ => {
            let harnesses: Vec<&str> = issues.iter().map(|issue| values::text(issue, "harness")).collect();
            let (tool, detail) = (values::text(issue, "tool_id"), common_detail(issue));
            format!("{tool}: {detail} (for {} harnesses: {})", harnesses.len(), harnesses.join(", "))
        }
    };
    let number = |key| values::integer(issue, key).and_then(|number| usize::try_from(number).ok());
    let place = values::some_text(issue, "file").map(|file| Place {
        line: number("line"),
        column: number("column"),
        ..Place::file(file)
    });
    Fault::new(values::text(issue, "issue_type").to_owned(), message.trim_start_matches([':', ' ']))
        .severity(severity)
        .at(place)
        .help(values::some_text(issue, "fix").map(|fix| Hint::from(fix.to_owned())))
}

/// Names what an issue is about, behind a space; empty when that is the workspace.
fn about(issue: &Json) -> String {
    let about = [values::text(issue, "tool_id"), values::text(issue, "harness")];
    let about = about.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
    if about.is_empty() { about } else { format!(" {about}") }
}

/// Says in one line what is wrong, for a row of a table.
pub(super) fn issue_line(issue: &Json) -> [Text; 2] {
    let severity = values::text(issue, "severity");
    let tone = SEVERITIES
        .iter()
        .find(|(word, ..)| word.as_str() == severity)
        .map_or(Tone::Plain, |(.., tone)| *tone);
    let kind = values::text(issue, "issue_type");
    let text = format!("{kind}{}: {}", about(issue), values::text(issue, "detail"));
    [Text::new(tone, severity), Text::from(text)]
}

/// Shows where something stands.
pub(super) fn place(file: &str, line: Option<usize>) -> Text {
    let place = line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"));
    Text::new(Tone::Accent, &place)
}

impl View for PolicyHealthReport {
    fn show(&self, page: &mut Page) {
        config_errors(&self.errors, page);
        config_errors(&self.tool_errors, page);
        page.data.field("policy", Text::new(Tone::Accent, &self.policy_path));
        page.data.field("valid", values::yes_no(self.valid));
        page.data.field("issues", self.issue_count.to_string());
        show_issues(&self.issues, page);
        if !self.enabled {
            page.next("brigade tools policy init");
        }
    }
}

impl View for FixReport {
    fn show(&self, page: &mut Page) {
        if self.fixed.is_empty() && self.failed.is_empty() {
            page.data.line("nothing to mend");
        }
        let done = if self.dry_run { "would mend" } else { "mended" };
        for fix in &self.fixed {
            page.data.line(fix_line(Tone::Good, done, fix));
        }
        for fix in &self.failed {
            page.trouble.line(fix_line(Tone::Bad, "error: not mended", fix));
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
            page.note(&format!("{} unreadable lines of the inbox were moved to {to}", self.quarantined));
        }
        page.next("brigade work inbox list");
    }
}
