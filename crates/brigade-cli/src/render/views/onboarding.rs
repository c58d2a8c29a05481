//! The result of `setup` and `add`.

use brigade::report::{SetupLevel, SetupReport, SetupState};

use crate::render::View;
use crate::render::page::Page;
use crate::render::setup_steps::{show_changes, show_left_out, show_tools};
use crate::render::text::{Text, Tone};

impl View for SetupReport {
    fn show(&self, page: &mut Page) {
        let has_failed = self.servers.iter().any(|server| server.state == SetupState::Failed);
        match (self.change_count, self.undo) {
            (0, true) => page.data.line("nothing to take back"),
            (0, false) if !has_failed => page.data.line("nothing new: everything chosen is set up"),
            _ => {}
        }
        if !self.written {
            show_tools(self, page);
            show_changes(self, page);
            if self.dry_run && 0 < self.change_count {
                page.note("nothing was written");
            }
            return;
        }
        if self.undo {
            page.data.field("taken back", self.change_count.to_string());
            page.notes(&self.notes);
            return;
        }
        page.data.field("set up", Text::new(Tone::Accent, &self.target));
        let added = |server: &&brigade::report::SetupServer| server.state == SetupState::New;
        let servers: Vec<String> = self
            .servers
            .iter()
            .filter(added)
            .map(|server| {
                let on = server.tools.iter().filter(|tool| tool.enabled).count();
                format!("{} ({on} of {} tools)", server.name, server.tools.len())
            })
            .collect();
        page.data.field_if("servers", Some(servers.join(", ")));
        let programs: Vec<String> = self
            .programs
            .iter()
            .filter(|program| program.state != SetupState::Failed)
            .map(|program| {
                format!("{} as agent {}", program.title, program.agent.as_deref().unwrap_or_default())
            })
            .collect();
        page.data.field_if("connected", Some(programs.join(", ")));
        page.data.field_if("rule", self.rule.as_ref().map(|rule| rule.sentence.as_str()));
        for program in self.programs.iter().filter(|program| program.state == SetupState::Failed) {
            let why = program.detail.as_deref().unwrap_or_default();
            page.data.line(Text::new(Tone::Bad, &program.title).then(Tone::Plain, &format!(": {why}")));
        }
        show_left_out(self, page);
        page.notes(&self.notes);
        if !programs.is_empty() {
            page.note(
                "start the programs again, and ask one to use a tool; a call that needs you waits for you",
            );
        }
        if self.level == SetupLevel::User {
            page.next("brigade setup --user --undo");
        }
        for next in &self.next_commands {
            page.next(&next.to_string());
        }
    }
}
