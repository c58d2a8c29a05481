//! Where things are on the screen, and how long lines wrap.

use ratatui::layout::Rect;
use unicode_width::UnicodeWidthChar;

use crate::render::text::{Text, Tone};

/// The smallest window, in columns and rows.
pub(crate) const MIN_SIZE: (u16, u16) = (60, 16);

/// From this width on, the list is beside the details.
const WIDE: u16 = 100;

/// The widest list.
const MAX_LIST: u16 = 76;

/// The areas of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Areas {
    pub(crate) title: Rect,
    /// Everything between the title and the status.
    pub(crate) body: Rect,
    pub(crate) list: Rect,
    /// The line between list and details.
    pub(crate) divider: Rect,
    pub(crate) detail: Rect,
    pub(crate) status: Rect,
}

impl Areas {
    /// Divides a window. With `is_full`, the details take the whole body.
    pub(crate) fn new((width, height): (u16, u16), is_full: bool) -> Areas {
        let rows = height.saturating_sub(2);
        let title = Rect::new(0, 0, width, height.min(1));
        let body = Rect::new(0, 1, width, rows);
        let status = Rect::new(0, height.saturating_sub(1), width, height.min(1));
        let nothing = Rect::new(0, 1, 0, 0);
        if is_full {
            return Areas { title, body, list: nothing, divider: nothing, detail: body, status };
        }
        if WIDE <= width {
            let list = (width * 2 / 5).min(MAX_LIST);
            return Areas {
                title,
                body,
                list: Rect::new(0, 1, list, rows),
                divider: Rect::new(list, 1, 1, rows),
                detail: Rect::new(list + 2, 1, width - list - 2, rows),
                status,
            };
        }
        let list = (rows / 3).max(3).min(rows);
        let detail = rows.saturating_sub(list + 1);
        Areas {
            title,
            body,
            list: Rect::new(0, 1, width, list),
            divider: Rect::new(0, 1 + list, width, rows.saturating_sub(list).min(1)),
            detail: Rect::new(0, 2 + list, width, detail),
            status,
        }
    }

    /// Returns the first row of the list that is visible, so that the selected one is.
    pub(crate) fn first_row(self, selected: usize, count: usize) -> usize {
        let rows = usize::from(self.list.height).max(1);
        let last = count.saturating_sub(rows);
        selected.saturating_sub(rows / 2).min(last)
    }
}

/// Returns whether a window is large enough to decide in.
pub(crate) fn is_large_enough((width, height): (u16, u16)) -> bool {
    MIN_SIZE.0 <= width && MIN_SIZE.1 <= height
}

/// Wraps lines to a width. Every character is kept; continued lines are indented.
pub(crate) fn wrapped(lines: &[Text], width: u16) -> Vec<Text> {
    lines.iter().flat_map(|line| wrap(line, usize::from(width).max(8))).collect()
}

/// The indent of a continued line.
const INDENT: &str = "      ";

fn wrap(line: &Text, width: usize) -> Vec<Text> {
    if line.width() <= width {
        return vec![line.clone()];
    }
    let pieces = line.spans().iter().flat_map(|(tone, text)| text.chars().map(move |c| (*tone, c)));
    let pieces: Vec<(Tone, char)> = pieces.collect();
    let (mut found, mut rest, mut room) = (Vec::new(), pieces.as_slice(), width);
    while !rest.is_empty() {
        let (fitting, next) = rest.split_at(break_at(rest, room));
        let indent = if found.is_empty() { "" } else { INDENT };
        found.push(joined(indent, fitting));
        (rest, room) = (next, width - INDENT.len());
    }
    found
}

/// Returns how many characters fit. Breaks after a space, except in commands, where every blank matters.
fn break_at(pieces: &[(Tone, char)], room: usize) -> usize {
    let mut used = 0;
    let is_over = |(_, c): &(Tone, char)| {
        used += c.width().unwrap_or(0);
        room < used
    };
    let Some(fitting) = pieces.iter().position(is_over) else { return pieces.len() };
    let is_space = |(tone, c): &(Tone, char)| *c == ' ' && *tone != Tone::Accent;
    match pieces[..fitting].iter().rposition(is_space) {
        Some(space) if fitting / 2 < space => space + 1,
        _ => fitting.max(1),
    }
}

fn joined(indent: &str, pieces: &[(Tone, char)]) -> Text {
    let mut text = Text::from(indent);
    for part in pieces.chunk_by(|left, right| left.0 == right.0) {
        let characters: String = part.iter().map(|(_, c)| c).collect();
        text = text.then(part[0].0, &characters);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(line: &Text) -> String {
        line.spans().iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn wrapping_keeps_every_character() {
        let line = Text::new(Tone::Strong, "0123456789").then(Tone::Accent, "日本語日本語 end");
        let lines: Vec<String> = wrap(&line, 12).iter().map(plain).collect();
        assert_eq!(lines, ["0123456789日", "      本語日", "      本語 e", "      nd"]);
        assert!(wrapped(&[line], 0).iter().all(|line| line.width() <= 8));
        let prose = wrap(&Text::from("what a person reads, word by word"), 16);
        assert_eq!(
            prose.iter().map(plain).collect::<Vec<_>>(),
            ["what a person ", "      reads, ", "      word by ", "      word"]
        );
    }

    #[test]
    fn areas_fit_into_every_window() {
        for width in 0..130 {
            for height in 0..40 {
                let areas = Areas::new((width, height), false);
                for area in [areas.title, areas.body, areas.list, areas.divider, areas.detail, areas.status] {
                    let is_inside = area.right() <= width && area.bottom() <= height.max(1);
                    assert!(area.is_empty() || is_inside, "{width}x{height}: {areas:?}");
                }
            }
        }
    }
}
