//! Plans and maps.

use brigade::core::Severity;
use brigade::kitchen::{KitchenMapReport, KitchenPlanReport};

use super::of_prd;
use crate::render::View;
use crate::render::fault;
use crate::render::page::Page;
use crate::render::text::{Text, Tone};

impl View for KitchenPlanReport {
    fn show(&self, page: &mut Page) {
        page.notes(&self.notes);
        if self.interrupted {
            page.note("the executive was interrupted, and nothing was planned");
        }
        let warnings: Vec<_> = self.warnings.iter().map(|fault| of_prd(fault, Severity::Warning)).collect();
        if !warnings.is_empty() {
            fault::list(warnings, &mut page.trouble);
            page.trouble.gap();
        }
        if let Some(path) = &self.prd_path {
            page.data.field("prd", Text::new(Tone::Accent, path));
        }
        page.data.field_if("feature", self.feature_name.clone());
        if self.prd_path.is_some() {
            page.data.field("tasks", self.tasks.len().to_string());
        }
        for question in &self.questions {
            page.data.field(&format!("question {}", question.number), &question.text);
        }
        page.data.field_if("plan", self.continue_id.clone());
        page.data.field("runs", self.runs.join(", "));
        page.data.field("cost", format!("${:.2}", self.cost_usd));
        if let Some(next) = &self.next_command {
            page.next(&next.to_string());
        }
    }
}

impl View for KitchenMapReport {
    fn show(&self, page: &mut Page) {
        page.notes(&self.notes);
        if self.interrupted {
            page.note("the executive was interrupted, and added nothing");
        }
        if !self.complete {
            page.note("there are more files than were read");
        }
        page.data.field("wrote", Text::new(Tone::Accent, &self.path));
        match &self.commit {
            Some(commit) => page.data.field("commit", commit),
            None => page.data.field("commit", Text::new(Tone::Faint, "none")),
        }
        page.data.field("files", self.files.to_string());
        let languages: Vec<String> =
            self.languages.iter().map(|own| format!("{} ({})", own.name, own.files)).collect();
        page.data.field_if("languages", Some(languages.join(", ")));
        let tests: Vec<String> = self.test_commands.iter().map(|own| own.command.clone()).collect();
        page.data.field_if("test commands", Some(tests.join(", ")));
        page.data.field_if("run", self.run.clone());
    }
}
