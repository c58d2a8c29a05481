//! Draws the state of the screen.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::layout::{MIN_SIZE, is_large_enough, wrapped};
use super::lines;
use super::model::{Focus, Mode, Model, Pane, takes_no, takes_text};
use crate::render::text::{Colour, Text, Tone};

/// A key on the status line, and from which width class on it is there: 0 is always there, 2 only on wide windows.
type Hint = (&'static str, u8);

/// The keys for a call.
const CALL_HINTS: &[Hint] = &[
    ("a approve", 0),
    ("r reject", 0),
    ("h hold", 0),
    ("A always", 2),
    ("x run", 1),
    ("Enter details", 0),
    ("Space mark", 2),
    ("/ filter", 1),
    ("? keys", 0),
    ("q quit", 0),
];

/// The keys after those that answer what is not a call.
const OTHER_HINTS: &[Hint] =
    &[("Enter details", 1), ("l output", 2), ("/ filter", 1), ("? keys", 0), ("q quit", 0)];

/// Returns the keys for the selected thing, as many as fit.
fn hints(model: &Model) -> String {
    let hints: Vec<Hint> = match model.selected_row().map(|row| &row.item).filter(|item| !item.is_call()) {
        None => CALL_HINTS.to_vec(),
        Some(item) => {
            let answers = [
                (!item.row.choices.is_empty()).then_some(("1-9 choose", 0)),
                takes_text(item).then_some(("a answer with a text", 0)),
                takes_no(item).then_some(("r reject", 0)),
            ];
            answers.into_iter().flatten().chain(OTHER_HINTS.iter().copied()).collect()
        }
    };
    let up_to = |most: u8| {
        let words: Vec<&str> = hints.iter().filter(|hint| hint.1 <= most).map(|hint| hint.0).collect();
        words.join("  ")
    };
    let fits = |text: &String| text.len() <= usize::from(model.size.0);
    [2, 1].into_iter().map(up_to).find(fits).unwrap_or_else(|| up_to(0))
}

/// Draws the whole screen.
pub(crate) fn draw(model: &Model, frame: &mut Frame<'_>) {
    let area = frame.area();
    let painter = &mut Painter { colour: model.colour, buffer: frame.buffer_mut() };
    if !is_large_enough(model.size) {
        let text = format!("too small: {} x {} are needed", MIN_SIZE.0, MIN_SIZE.1);
        painter.line(area, 0, &Text::from(text));
        return;
    }
    let areas = model.areas();
    painter.title(areas.title, model);
    match &model.mode {
        Mode::Browse | Mode::Filter(_) => painter.lists(model),
        Mode::Pane(pane) => painter.pane(areas.body, pane),
        Mode::Text(purpose, targets, _) => {
            let mut shown = vec![Text::new(Tone::Warning, purpose.prompt())];
            for target in targets {
                shown.push(Text::default());
                shown.extend(target.lines.iter().cloned());
            }
            painter.lines(areas.body, &wrapped(&shown, areas.body.width));
        }
        Mode::Question(question) => painter.lines(areas.body, &question.page(model.size).0),
    }
    painter.line(areas.status, 0, &status(model));
}

/// Returns the last line.
fn status(model: &Model) -> Text {
    let cursor = "▏";
    match &model.mode {
        Mode::Filter(line) => {
            Text::new(Tone::Accent, "/").then(Tone::Plain, line.as_str()).then(Tone::Faint, cursor)
        }
        Mode::Text(purpose, _, line) => {
            let prompt = Text::new(Tone::Strong, &format!("{}: ", purpose.prompt()));
            let room = usize::from(model.size.0).saturating_sub(prompt.width() + 3);
            let typed = line.as_str();
            // The end of a long text is visible.
            let skipped = typed.chars().count().saturating_sub(room);
            let shown: String = typed.chars().skip(skipped).collect();
            let line = prompt.then(Tone::Plain, &shown).then(Tone::Faint, cursor);
            match &model.note {
                Some(note) => note.clone().then(Tone::Plain, "  ").and(line),
                None => line,
            }
        }
        Mode::Question(question) => {
            let below = question.page(model.size).1;
            let keys = match (below, question.was_read()) {
                (0, _) | (_, true) => Text::new(Tone::Strong, "y yes   Esc leave"),
                (below, false) => Text::new(Tone::Warning, &format!("{below} more lines: PgDn   Esc leave")),
            };
            match &model.note {
                Some(note) => keys.then(Tone::Plain, "   ").and(note.clone()),
                None => keys,
            }
        }
        Mode::Pane(_) | Mode::Browse => match &model.note {
            Some(note) => note.clone(),
            None if matches!(model.mode, Mode::Pane(_)) => {
                Text::new(Tone::Faint, "Esc back  PgUp PgDn scroll  q quit")
            }
            None => Text::new(Tone::Faint, &hints(model)),
        },
    }
}

fn style(tone: Tone, colour: Colour) -> Style {
    let plain = Style::new();
    match (tone, colour) {
        (Tone::Plain, _) => plain,
        (Tone::Strong, _) => plain.add_modifier(Modifier::BOLD),
        (Tone::Faint, _) => plain.add_modifier(Modifier::DIM),
        (Tone::Good | Tone::Accent, Colour::Off) => plain,
        (Tone::Warning | Tone::Bad, Colour::Off) => plain.add_modifier(Modifier::BOLD),
        (Tone::Good, Colour::On) => plain.fg(Color::Green),
        (Tone::Warning, Colour::On) => plain.fg(Color::Yellow),
        (Tone::Bad, Colour::On) => plain.fg(Color::Red),
        (Tone::Accent, Colour::On) => plain.fg(Color::Cyan),
    }
}

struct Painter<'b> {
    colour: Colour,
    buffer: &'b mut Buffer,
}

impl Painter<'_> {
    /// Draws a line in a row of an area, cut to its width.
    fn line(&mut self, area: Rect, row: u16, text: &Text) {
        let area = area.intersection(self.buffer.area);
        if area.height <= row || area.width == 0 {
            return;
        }
        let cut = text.clone().cut(usize::from(area.width));
        let spans =
            cut.spans().iter().map(|(tone, text)| Span::styled(text.as_str(), style(*tone, self.colour)));
        self.buffer.set_line(area.x, area.y + row, &Line::from_iter(spans), area.width);
    }

    fn lines(&mut self, area: Rect, lines: &[Text]) {
        for (row, line) in (0..area.height).zip(lines) {
            self.line(area, row, line);
        }
    }

    fn reverse(&mut self, area: Rect) {
        let area = area.intersection(self.buffer.area);
        self.buffer.set_style(area, Style::new().add_modifier(Modifier::REVERSED));
    }

    fn title(&mut self, area: Rect, model: &Model) {
        let waiting = model.rows.iter().filter(|row| !row.is_approved).count();
        let approved = model.rows.len() - waiting;
        let mut title = Text::new(Tone::Strong, " brigade review");
        title = title.then(Tone::Plain, &format!("  {waiting} waiting"));
        if 0 < approved {
            title = title.then(Tone::Good, &format!("  {approved} approved"));
        }
        if !model.marked.is_empty() {
            title = title.then(Tone::Warning, &format!("  {} marked", model.marked.len()));
        }
        if !model.filter.is_empty() {
            title = title.then(Tone::Accent, &format!("  /{}", model.filter));
        }
        if model.running.is_some() {
            title = title.then(Tone::Good, "  running");
        }
        let title = title.then(Tone::Faint, &format!("  {}", model.target));
        self.line(area, 0, &title);
        self.reverse(area);
    }

    /// Draws what waits, and the chosen thing.
    fn lists(&mut self, model: &Model) {
        let areas = model.areas();
        let visible = model.visible();
        let place = model.place();
        let first = areas.first_row(place.unwrap_or(0), visible.len());
        for (row, (number, item)) in (0..areas.list.height).zip(visible.iter().enumerate().skip(first)) {
            let is_selected = Some(number) == place;
            let mark = Text::from(if is_selected { ">" } else { " " });
            let is_marked = model.marked.contains(item.item.id());
            let line = mark.and(lines::row(&item.item, is_marked, item.is_approved, model.now));
            self.line(areas.list, row, &line);
            if is_selected && model.focus == Focus::List {
                self.reverse(Rect::new(areas.list.x, areas.list.y + row, areas.list.width, 1));
            }
        }
        if visible.is_empty() && 0 < areas.list.height {
            let text = if model.rows.is_empty() { " nothing waits" } else { " nothing fits the filter" };
            self.line(areas.list, 0, &Text::new(Tone::Faint, text));
        }
        self.divider(areas.divider);
        let shown = model.detail_lines();
        let most = shown.len().saturating_sub(usize::from(areas.detail.height));
        let scroll = model.scroll.min(most);
        self.lines(areas.detail, &shown[scroll.min(shown.len())..]);
        let below = most - scroll;
        if 0 < below && areas.divider.height == 1 && 1 < areas.divider.width {
            let text = format!(" {below} more lines: PgDn ");
            let width = u16::try_from(text.len()).unwrap_or(0).min(areas.divider.width);
            let place = Rect::new(areas.divider.right() - width, areas.divider.y, width, 1);
            self.line(place, 0, &Text::new(Tone::Faint, &text));
        }
    }

    fn divider(&mut self, area: Rect) {
        let faint = |text: &str| Text::new(Tone::Faint, text);
        if area.width == 1 {
            (0..area.height).for_each(|row| self.line(area, row, &faint("│")));
        } else if area.height == 1 {
            self.line(area, 0, &faint(&"─".repeat(usize::from(area.width))));
        }
    }

    fn pane(&mut self, area: Rect, pane: &Pane) {
        self.line(area, 0, &Text::new(Tone::Strong, &pane.title));
        let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        let shown = wrapped(&pane.lines, area.width);
        let most = shown.len().saturating_sub(usize::from(body.height));
        self.lines(body, &shown[pane.scroll.min(most)..]);
    }
}
