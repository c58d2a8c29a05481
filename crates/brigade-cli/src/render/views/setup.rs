//! The report of `init`.

use brigade::ErrorCode;
use brigade::core::Severity;
use brigade::policy::Fault;
use brigade::report::InitReport;

use crate::render::View;
use crate::render::page::Page;

impl View for InitReport {
    fn show(&self, page: &mut Page) {
        page.data.field("wrote", &self.config_path);
        if 0 < self.tool_count {
            page.data.field("tools", self.tool_count.to_string());
            page.data.field("sources", self.sources.join(", "));
        }
        if 0 < self.tool_count || self.gitignore != "skipped" {
            page.data.field("gitignore", &self.gitignore);
        }
        if let Some(above) = &self.workspace_above {
            let fault = Fault::new(ErrorCode::WorkspaceNested, &above.message).severity(Severity::Warning);
            page.trouble.fault(fault.help(above.help.clone()));
        }
        page.next(&self.next_command.to_string());
    }
}
