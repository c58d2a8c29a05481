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
    let (mut found, mut current, mut used) = (Vec::new(), Text::default(), 0);
    for (tone, text) in line.spans() {
        let mut part = String::new();
        for c in text.chars() {
            let columns = c.width().unwrap_or(0);
            if width < used + columns {
                current = current.then(*tone, &std::mem::take(&mut part));
                found.push(std::mem::replace(&mut current, Text::new(Tone::Plain, INDENT)));
                used = INDENT.len();
            }
            part.push(c);
            used += columns;
        }
        current = current.then(*tone, &part);
    }
    found.push(current);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(line: &Text) -> String {
        line.spans().iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn wrapping_keeps_every_character() {
        let line = Text::new(Tone::Strong, "0123456789").then(Tone::Plain, "日本語日本語 end");
        let lines: Vec<String> = wrap(&line, 12).iter().map(plain).collect();
        assert_eq!(lines, ["0123456789日", "      本語日", "      本語 e", "      nd"]);
        assert!(wrapped(&[line], 0).iter().all(|line| line.width() <= 8));
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
