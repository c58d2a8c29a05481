//! What waits, what ran, the life of a call, and the meaning of a code.

use brigade::report::{
    HistoryReport, HistoryRow, HistoryStatistics, LifeReport, PendingReport, PendingRow, ReviewQuestion,
    StatisticsRow, WaitingKind,
};

use crate::render::page::Page;
use crate::render::table::Table;
use crate::render::text::{Text, Tone};
use crate::render::when::{self, Now};
use crate::render::{View, words};

/// Formats what is asked, with the number of equal requests.
fn subject(row: &PendingRow) -> Text {
    let name = Text::new(Tone::Strong, &row.subject);
    let name =
        if row.ids.len() < 2 { name } else { name.then(Tone::Warning, &format!(" ×{}", row.ids.len())) };
    if row.held { name.then(Tone::Warning, " (held)") } else { name }
}

impl View for PendingReport {
    fn show(&self, page: &mut Page) {
        if self.rows.is_empty() {
            page.data.line("nothing waits");
            return;
        }
        let mut table = Table::new(["no", "age", "who", "what", "arguments…", "effects…", "id"]);
        for row in &self.rows {
            let effects = match row.blocker_count {
                0 => Text::from(row.effects.join(", ")),
                count => Text::new(Tone::Bad, &format!("blocked ({count})")),
            };
            table.row([
                Text::new(Tone::Accent, &row.number.to_string()),
                Text::new(Tone::Faint, &when::age(row.created_at, page.now)),
                Text::from(row.who.as_str()),
                subject(row),
                Text::from(row.text.as_str()),
                effects,
                Text::new(Tone::Faint, &row.short_id),
            ]);
        }
        page.data.table(table);
        let is_call = |row: &&PendingRow| matches!(row.kind, WaitingKind::Approval | WaitingKind::Plan);
        match self.rows.iter().find(is_call) {
            Some(row) => page.next(&format!("brigade approve {}", row.number)),
            None => page.next(&self.rows[0].next.to_string()),
        }
    }
}

impl View for ReviewQuestion {
    fn show(&self, page: &mut Page) {
        page.data.field(self.kind.as_str(), Text::new(Tone::Strong, &self.id));
        page.data.field("asked by", self.who.as_str());
        page.data.field_if("asked", self.created_at.map(|at| when::at(at, page.now)));
        page.data.lines_if("question", &self.text);
        for (place, choice) in self.choices.iter().enumerate() {
            page.data.field(if place == 0 { "choices" } else { "" }, choice.as_str());
        }
        page.next(&self.next.to_string());
    }
}

/// Formats how a run ended and how long it took.
fn result(row: &HistoryRow) -> Text {
    let took = row.duration_seconds.map(|seconds| format!(" {}", when::format_seconds(seconds)));
    words::status(&row.status).then(Tone::Faint, &took.unwrap_or_default())
}

/// Creates the table of runs, whose ids are those of calls or of runs.
pub(crate) fn history_table(id: &'static str) -> Table {
    Table::new(["time", id, "who", "tool", "arguments…", "approved by…", "result", "why…"])
}

/// Adds a run to the table of runs.
pub(crate) fn history_row(row: &HistoryRow, now: Now, table: &mut Table) {
    table.row([
        Text::new(Tone::Faint, &row.started_at.map_or_else(String::new, |at| now.brief(at))),
        Text::new(Tone::Accent, &row.short_id),
        Text::from(row.who.as_str()),
        words::tool_of(&row.tool_id, &row.kind),
        Text::from(row.text.as_str()),
        Text::from(row.approved_by.as_str()),
        result(row),
        Text::new(Tone::Bad, row.failure.as_deref().unwrap_or_default()),
    ]);
}

impl View for HistoryReport {
    fn show(&self, page: &mut Page) {
        page.notes(&self.notes);
        if let Some(statistics) = &self.statistics {
            show_statistics(statistics, page);
            return;
        }
        let Some(newest) = self.runs.last() else {
            page.data.line("nothing ran");
            return;
        };
        let mut table = history_table("call");
        self.runs.iter().for_each(|row| history_row(row, page.now, &mut table));
        page.data.table(table);
        if self.more {
            page.note(&format!("there are older runs; --limit {} shows more", self.runs.len() * 4));
        }
        page.next(&format!("brigade why {}", newest.short_id));
    }
}

/// The characters of a sparkline, from few to many.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws the activity of a row. Periods without runs are blank.
fn sparkline(activity: &[u64]) -> String {
    let most = activity.iter().copied().max().unwrap_or(0).max(1);
    let top = BARS.len() as u64 - 1;
    let bar = |count: &u64| match count {
        0 => ' ',
        count => BARS[usize::try_from(count * top / most).unwrap_or(0)],
    };
    activity.iter().map(bar).collect()
}

fn show_statistics(statistics: &HistoryStatistics, page: &mut Page) {
    page.data.field("runs", format!("{}, {} of them failed", statistics.runs, statistics.failed));
    page.data.field("took", when::format_seconds(statistics.seconds));
    if let Some(since) = statistics.since {
        page.data.field("since", when::at(since, page.now));
    }
    let by = statistics.approved_by.iter().map(|(by, count)| format!("{count} {by}"));
    page.data.field_if("approved by", Some(by.collect::<Vec<_>>().join(", ")).filter(|by| !by.is_empty()));
    for (title, rows) in [("tool", &statistics.tools), ("who", &statistics.agents)] {
        let mut table = Table::new([title, "runs", "failed", "time", "activity…"]);
        for StatisticsRow { name, runs, failed, seconds, activity, .. } in rows {
            let tone = if *failed == 0 { Tone::Faint } else { Tone::Bad };
            table.row([
                Text::from(name.as_str()),
                Text::from(runs.to_string()),
                Text::new(tone, &failed.to_string()),
                Text::from(when::format_seconds(*seconds)),
                Text::new(Tone::Accent, &sparkline(activity)),
            ]);
        }
        if 0 < table.len() {
            page.data.gap();
            page.data.table(table);
        }
    }
}

impl View for LifeReport {
    fn show(&self, page: &mut Page) {
        let now = page.now;
        let heading =
            Text::new(Tone::Strong, &self.tool_id).then(Tone::Faint, &format!("  {}  ", self.call_id));
        page.data.line(heading.and(words::status(&self.status)));
        for event in &self.events {
            let time = event.at.map_or_else(|| " ".repeat(8), |at| now.brief(at));
            let tone = match event.kind.as_str() {
                "approved" => Tone::Good,
                "rejected" | "held" | "reopened" => Tone::Warning,
                _ => Tone::Plain,
            };
            page.data.line(Text::new(Tone::Faint, &format!("{time}  ")).then(tone, &event.text));
            for detail in &event.details {
                page.data.indented(12, Text::new(Tone::Faint, detail));
            }
        }
        let mut sentences = self.now.iter();
        if let Some(first) = sentences.next() {
            page.data.line(Text::new(Tone::Faint, "now       ").then(Tone::Strong, first));
        }
        for sentence in sentences {
            page.data.indented(12, Text::from(sentence.as_str()));
        }
        if let Some(next) = &self.next {
            page.next(&next.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_has_one_character_for_each_period() {
        assert_eq!(sparkline(&[0, 1, 4, 8]), " ▁▄█");
        assert_eq!(sparkline(&[0, 0]), "  ");
    }
}
