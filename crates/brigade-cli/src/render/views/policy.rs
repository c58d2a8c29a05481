//! The policy and its decisions.

use brigade::core::json::to_json;
use brigade::core::{Json, NextStep};
use brigade::policy::Diagnosis;
use brigade::report::{ExplainReport, PolicyReport, PolicyTestReport};

use super::catalog::config_errors;
use crate::render::page::Page;
use crate::render::table::Table;
use crate::render::text::{Text, Tone};
use crate::render::{View, words};

impl View for PolicyReport {
    fn show(&self, page: &mut Page) {
        config_errors(&self.errors, page);
        config_errors(&self.warnings, page);
        if self.valid {
            page.data.field("policy", Text::new(Tone::Accent, &self.policy_path));
        }
        if let Some(policy) = &self.policy {
            show_rules(&to_json(policy).unwrap_or_default(), "", page);
        }
        if self.valid {
            page.next("brigade tools policy explain ID");
        } else {
            next_step(self.diagnosis.as_ref(), page);
        }
    }
}

impl View for PolicyTestReport {
    fn show(&self, page: &mut Page) {
        config_errors(&self.errors, page);
        page.data.field("policy", Text::new(Tone::Accent, &self.policy_path));
        page.data.field("passed", format!("{} of {}", self.passed, self.tests.len()));
        if !self.tests.is_empty() {
            page.data.gap();
            let mut table = Table::new(["line", "", "tool…", "expect", "got", "codes…"]);
            for test in &self.tests {
                let because = test.because.as_ref().map(|code| format!(" ({code})")).unwrap_or_default();
                table.row([
                    test.line.map(|line| line.to_string()).unwrap_or_default().into(),
                    if test.passed { Text::new(Tone::Good, "ok") } else { Text::new(Tone::Bad, "failed") },
                    Text::new(Tone::Strong, &test.tool),
                    format!("{}{because}", test.expect).into(),
                    test.got.clone().unwrap_or_else(|| "none".to_owned()).into(),
                    Text::new(Tone::Faint, &test.codes.join(", ")),
                ]);
            }
            page.data.table(table);
        } else if self.valid {
            page.note("the policy has no [[test]] tables");
        }
    }
}

/// Shows the next step for an invalid policy, unless an error already has it.
fn next_step(diagnosis: Option<&Diagnosis>, page: &mut Page) {
    let help = diagnosis.and_then(|diagnosis| diagnosis.help.as_ref());
    if let Some(help) = help.filter(|_| !page.trouble.helps()) {
        page.next(help);
    }
}

/// Shows the keys that the policy sets.
fn show_rules(rules: &Json, above: &str, page: &mut Page) {
    for (key, value) in rules.as_object().into_iter().flatten() {
        let name = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
        match value {
            Json::Null => {}
            Json::Array(elements) if elements.is_empty() => {}
            Json::Array(elements) => {
                page.data.field(&name, elements.iter().map(short).collect::<Vec<_>>().join(", "));
            }
            Json::Object(_) => show_rules(value, &name, page),
            Json::Bool(_) | Json::Number(_) | Json::String(_) => page.data.field(&name, short(value)),
        }
    }
}

/// Formats a value on one line: strings unquoted, everything else as JSON.
fn short(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_compact(), str::to_owned)
}

impl View for ExplainReport {
    fn show(&self, page: &mut Page) {
        if !self.errors.is_empty() {
            config_errors(&self.errors, page);
            return next_step(self.diagnosis.as_ref(), page);
        }
        config_errors(&self.warnings, page);
        page.data.field("tool", Text::new(Tone::Strong, &self.tool_id));
        let policy =
            if self.policy.enabled { Text::new(Tone::Accent, &self.policy_path) } else { "none".into() };
        page.data.field("policy", policy);
        page.data.field("allowed", words::good_or_bad(self.allowed));
        page.data.gap();
        for ruling in &self.rulings {
            let (tone, mark) = if ruling.allowed { (Tone::Good, "yes") } else { (Tone::Bad, "no ") };
            let subject = ruling.subject.as_ref().map(|subject| format!(" {subject}")).unwrap_or_default();
            let about = format!("{}{subject}", ruling.topic.replace('_', " "));
            page.data.line(
                Text::new(tone, mark)
                    .then(Tone::Plain, "  ")
                    .then(Tone::Strong, &about)
                    .then(Tone::Plain, &format!(": {}", ruling.message)),
            );
            if let Some(file) = &ruling.file {
                let place = ruling.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}"));
                page.data.indented(7, Text::new(Tone::Faint, "at ").then(Tone::Accent, &place));
            }
            if let Some(hint) = &ruling.hint {
                page.data.indented(7, Text::new(Tone::Good, "help: ").then(Tone::Plain, hint));
            }
        }
        if let Some(agent) = &self.agent {
            super::agents::approval(agent, page);
        }
        if !self.policy.enabled {
            page.next_step(&NextStep::InitPolicy);
        }
    }
}
