//! Tables with aligned columns, cut to the width of a terminal.

use super::text::{Colour, Text, Tone};

/// How a column is treated if the terminal is too narrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// Cut last: ids, states, numbers.
    Whole,
    /// Cut first: descriptions, paths.
    Cut,
}

/// Rows under a header.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<(&'static str, Fit)>,
    rows: Vec<Vec<Text>>,
    /// The column widths of earlier parts.
    widths_before: Vec<usize>,
}

/// Spaces between two columns.
const GAP: usize = 2;

/// The minimum width of a column that is cut.
const NARROWEST: usize = 8;

impl Table {
    /// Creates a table without rows. A title that ends in `…` is of a column that is cut first.
    pub(crate) fn new<const N: usize>(titles: [&'static str; N]) -> Table {
        let columns = titles.map(|title| match title.strip_suffix('…') {
            Some(title) => (title, Fit::Cut),
            None => (title, Fit::Whole),
        });
        Table { columns: columns.to_vec(), rows: Vec::new(), widths_before: Vec::new() }
    }

    /// Adds a row, with one cell for each column.
    pub(crate) fn row<const N: usize>(&mut self, cells: [Text; N]) {
        debug_assert_eq!(N, self.columns.len(), "one cell for each column");
        self.rows.push(cells.into());
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the rows so far. Later rows are aligned with them and have no header.
    pub(crate) fn part(&mut self) -> Table {
        let widths = self.natural_widths();
        let columns = self.columns.clone();
        let rest = Table { columns, rows: Vec::new(), widths_before: widths };
        std::mem::replace(self, rest)
    }

    /// Appends the table to `out`.
    pub(crate) fn write(&self, colour: Colour, room: Option<usize>, out: &mut String) {
        let widths = self.widths(room);
        let header: Vec<Text> =
            self.columns.iter().map(|(title, _)| Text::new(Tone::Faint, &title.to_uppercase())).collect();
        let header = Some(&header).filter(|_| self.widths_before.is_empty());
        for row in header.into_iter().chain(&self.rows) {
            let mut line = String::new();
            let mut owed = 0;
            for (cell, width) in row.iter().zip(&widths) {
                let cell = cell.clone().cut(*width);
                // Padding is written before the next cell, so lines do not end in spaces.
                if !cell.is_empty() {
                    line.extend(std::iter::repeat_n(' ', owed));
                    owed = 0;
                    cell.write(colour, &mut line);
                }
                owed += width - cell.width() + GAP;
            }
            out.push_str(&line);
            out.push('\n');
        }
    }

    /// Returns the width of each column without a limit.
    fn natural_widths(&self) -> Vec<usize> {
        let titles = self.columns.iter().map(|(title, _)| title.len());
        let mut widths: Vec<usize> =
            if self.widths_before.is_empty() { titles.collect() } else { self.widths_before.clone() };
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        widths
    }

    /// Returns the width of each column within the limit.
    fn widths(&self, room: Option<usize>) -> Vec<usize> {
        let mut widths = self.natural_widths();
        let Some(room) = room else { return widths };
        for fit in [Fit::Cut, Fit::Whole] {
            loop {
                let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
                let Some(excess) = total.checked_sub(room).filter(|excess| 0 < *excess) else {
                    return widths;
                };
                let candidates = widths.iter_mut().zip(&self.columns).filter(|(_, (_, has))| *has == fit);
                let widest = candidates.map(|(width, _)| width).max_by_key(|width| **width);
                match widest {
                    Some(width) if NARROWEST < *width => {
                        *width -= excess.min(*width - NARROWEST);
                    }
                    Some(_) | None => break,
                }
            }
        }
        widths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["id", "state", "description…"]);
        table.row(["git-log".into(), "ready".into(), "Counts the commits of a repository".into()]);
        table.row(["日本".into(), "".into(), "".into()]);
        table
    }

    #[track_caller]
    fn check(room: Option<usize>, expect: &str) {
        let mut out = String::new();
        table().write(Colour::Off, room, &mut out);
        assert_eq!(out, expect);
        if let Some(room) = room.filter(|room| 28 <= *room) {
            assert!(out.lines().all(|line| Text::from(line).width() <= room), "{out}");
        }
    }

    #[test]
    fn columns_line_up_and_lines_end_without_blanks() {
        check(
            None,
            "ID       STATE  DESCRIPTION\n\
             git-log  ready  Counts the commits of a repository\n\
             日本\n",
        );
    }

    #[test]
    fn parts_of_a_table_line_up_under_one_header() {
        let mut table = table();
        let first = table.part();
        assert_eq!(table.len(), 0);
        table.row(["a".into(), "b".into(), "c".into()]);
        let mut out = String::new();
        first.write(Colour::Off, None, &mut out);
        table.write(Colour::Off, None, &mut out);
        assert!(out.ends_with("日本\na        b      c\n"), "{out}");
    }

    #[test]
    fn a_narrow_terminal_costs_descriptions_and_not_ids() {
        check(
            Some(30),
            "ID       STATE  DESCRIPTION\n\
             git-log  ready  Counts the co…\n\
             日本\n",
        );
        check(
            Some(5),
            "ID       STATE  DESCRIP…\n\
             git-log  ready  Counts …\n\
             日本\n",
        );
    }
}
