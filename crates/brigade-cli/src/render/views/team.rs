//! Teams, their members and rules.

use brigade::core::NextStep;
use brigade::report::{
    TeamAcceptFailoverReport, TeamCounts, TeamDoctorReport, TeamExportReport, TeamImportReport,
    TeamInitReport, TeamJoinReport, TeamLeaveReport, TeamMemberReport, TeamMigrateReport, TeamPruneReport,
    TeamReviewer, TeamRosterReport, TeamRule, TeamRuleReport, TeamRunnerReport, TeamStatusReport,
    TeamVerifyReport,
};
use brigade::team::CheckState;

use crate::render::page::Page;
use crate::render::table::Table;
use crate::render::text::{Text, Tone};
use crate::render::{View, words};

impl View for TeamInitReport {
    fn show(&self, page: &mut Page) {
        let made = if self.created { "made" } else { "was made before" };
        page.data.field("team", Text::new(Tone::Accent, &self.team_id));
        page.data.field("state", format!("{made}, version {}", self.version));
        page.data.field("roles", self.roles.join(", "));
        page.next("brigade team member add NAME --role queuer --role reviewer --key FILE");
    }
}

impl View for TeamJoinReport {
    fn show(&self, page: &mut Page) {
        page.data.field("team", Text::new(Tone::Accent, &self.team_id));
        page.data.field("workspace", &self.workspace);
        page.data.field("member", format!("{} ({})", self.member, self.roles.join(", ")));
        show_roster(&self.reviewers, &self.rules, page);
        if !self.joined {
            page.note("the workspace has not joined; --accept-roster accepts these keys");
        }
    }
}

/// Shows the keys whose approvals count, and how many approvals calls need.
fn show_roster(reviewers: &[TeamReviewer], rules: &[TeamRule], page: &mut Page) {
    for reviewer in reviewers {
        let key = reviewer.key_id.as_deref().unwrap_or("no key, so no approval counts");
        page.data.field(
            "reviewer",
            Text::new(Tone::Strong, &reviewer.name).then(Tone::Plain, " ").then(Tone::Faint, key),
        );
    }
    for rule in rules {
        page.data.field("rule", format!("{} approvals for {}", rule.approvals, calls_of(rule)));
    }
}

impl View for TeamRosterReport {
    fn show(&self, page: &mut Page) {
        show_roster(&self.reviewers, &self.rules, page);
        for change in &self.changes {
            page.data.field("changed", Text::new(Tone::Warning, change));
        }
        match self.accepted {
            true => page.note("these keys and rules count here"),
            false => page.next_step(&NextStep::AcceptRoster),
        }
    }
}

impl View for TeamAcceptFailoverReport {
    fn show(&self, page: &mut Page) {
        for host in &self.waits_for {
            page.data.field("not reported", host);
        }
        page.data.line(match self.accepted {
            true => "claims go on; what the hosts above run now may run again",
            false => "there was no failover to accept",
        });
    }
}

impl View for TeamRunnerReport {
    fn show(&self, page: &mut Page) {
        page.data.field("host", Text::new(Tone::Strong, &self.host));
        for (event, count) in &self.events {
            page.data.field(event, count.to_string());
        }
    }
}

impl View for TeamLeaveReport {
    fn show(&self, page: &mut Page) {
        page.data.line(match self.left {
            true => "the workspace uses the queue in its files again",
            false => "the workspace had not joined a team",
        });
    }
}

impl View for TeamMemberReport {
    fn show(&self, page: &mut Page) {
        let mut table = Table::new(["member", "roles", "workspaces…", "key…"]);
        for member in &self.members {
            table.row([
                Text::new(Tone::Strong, &member.name),
                Text::from(member.roles.join(", ")),
                Text::from(member.workspaces.as_ref().map_or("all".to_owned(), |names| names.join(", "))),
                Text::from(member.key_id.as_deref().unwrap_or("")),
            ]);
        }
        page.data.table(table);
    }
}

impl View for TeamRuleReport {
    fn show(&self, page: &mut Page) {
        if self.rules.is_empty() {
            page.data.line("no rules: one approval is enough");
            return;
        }
        let mut table = Table::new(["rule", "calls…", "approvals"]);
        for rule in &self.rules {
            table.row([
                Text::from(rule.id.to_string()),
                Text::from(calls_of(rule)),
                Text::from(rule.approvals.to_string()),
            ]);
        }
        page.data.table(table);
    }
}

/// Returns the calls that a rule is about.
fn calls_of(rule: &TeamRule) -> String {
    let parts = [("effect", &rule.effect), ("tool", &rule.tool), ("family", &rule.family)];
    let parts: Vec<String> =
        parts.iter().filter_map(|(name, part)| Some(format!("{name} {}", part.as_ref()?))).collect();
    if parts.is_empty() { "all".to_owned() } else { parts.join(", ") }
}

impl View for TeamStatusReport {
    fn show(&self, page: &mut Page) {
        if !self.joined {
            page.data.line("the workspace has not joined a team");
            return;
        }
        page.data.field_if("team", self.team_id.as_ref());
        page.data.field_if("workspace", self.workspace.as_ref());
        let roles = self.roles.join(", ");
        page.data.field_if("member", self.member.as_ref().map(|member| format!("{member} ({roles})")));
        if let Some(database) = &self.database {
            let text = format!(
                "PostgreSQL {}, tables {}, {} ms, clock {:+} ms",
                database.version,
                database.schema_version,
                database.round_trip_ms.as_str(),
                database.clock_skew_ms
            );
            page.data.field("database", text);
        }
        for (status, count) in &self.calls {
            page.data.field(status, count.to_string());
        }
        for runner in &self.runners {
            let text = format!("{}, {}, {} running", runner.host, runner.state, runner.running.len());
            page.data.field("runner", text);
        }
        for issue in &self.issues {
            page.data.field("issue", Text::new(Tone::Warning, issue));
        }
    }
}

impl View for TeamVerifyReport {
    fn show(&self, page: &mut Page) {
        let checked = &self.checked;
        let text = format!(
            "{} receipts of {} hosts, {} approvals",
            checked.receipts, checked.hosts, checked.approvals
        );
        page.data.field("checked", text);
        page.data.field("valid", words::good_or_bad(self.valid));
        for finding in &self.findings {
            let host = finding.host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
            let text = format!(" {}{host}: {}", finding.run_id, finding.message);
            page.data.line(Text::new(Tone::Warning, &finding.problem).then(Tone::Plain, &text));
        }
    }
}

fn counted(counts: &TeamCounts) -> String {
    format!("{} calls, {} receipts, {} checkpoints", counts.calls, counts.receipts, counts.checkpoints)
}

impl View for TeamImportReport {
    fn show(&self, page: &mut Page) {
        page.data.field("workspace", &self.workspace);
        page.data.field(if self.dry_run { "would add" } else { "added" }, counted(&self.added));
        page.data.field("present", counted(&self.present));
        for left_out in &self.left_out {
            let text = format!(": {}", left_out.reason);
            page.data.field("left out", Text::new(Tone::Warning, &left_out.id).then(Tone::Plain, &text));
        }
    }
}

impl View for TeamExportReport {
    fn show(&self, page: &mut Page) {
        page.data.field("directory", &self.directory);
        page.data.field("written", counted(&self.written));
        if 0 < self.late {
            page.data.field("not written", format!("{} receipts that end no run", self.late));
        }
    }
}

impl View for TeamMigrateReport {
    fn show(&self, page: &mut Page) {
        page.data.field("team", Text::new(Tone::Accent, &self.team_id));
        page.data.field("tables", format!("version {}, {} applied now", self.version, self.applied));
    }
}

impl View for TeamPruneReport {
    fn show(&self, page: &mut Page) {
        page.data.field("deleted", format!("logs of {} runs, {} bytes", self.runs, self.bytes));
    }
}

impl View for TeamDoctorReport {
    fn show(&self, page: &mut Page) {
        let mut table = Table::new(["check", "state", "found…"]);
        for check in &self.checks {
            let tone = match check.state {
                CheckState::Ok => Tone::Good,
                CheckState::Warning => Tone::Warning,
                CheckState::Failed => Tone::Bad,
                CheckState::Skipped => Tone::Faint,
            };
            table.row([
                Text::from(check.name.as_str()),
                Text::new(tone, check.state.as_str()),
                Text::from(check.message.as_str()),
            ]);
        }
        page.data.table(table);
        for check in self.checks.iter().filter(|check| check.fix.is_some()) {
            page.data.field(&check.name, &check.message);
            page.data.field("fix", check.fix.as_deref().unwrap_or_default());
        }
    }
}
