//! Tables of figures with their targets.

use std::fmt;
use std::time::Duration;

use super::measure::Figures;

/// The target of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// At most this multiple of the reference.
    Times(f64),
    /// At most this much longer than the reference.
    More(Duration),
    /// Less than this time.
    Within(Duration),
    /// Less than this many bytes of memory.
    Memory(u64),
    /// At least this output rate.
    Throughput {
        /// The length of the output.
        bytes: u64,
        /// The minimum rate.
        megabytes_a_second: f64,
    },
}

impl Target {
    fn is_met(self, figures: &Figures) -> bool {
        match self {
            Target::Times(times) => figures.ratio() <= times,
            Target::More(more) => figures.median <= figures.reference + more,
            Target::Within(limit) => figures.median < limit,
            Target::Memory(limit) => figures.peak < limit,
            Target::Throughput { bytes, megabytes_a_second } => {
                megabytes_a_second <= bytes as f64 / 1e6 / figures.median.as_secs_f64()
            }
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Times(times) => write!(f, "≤ {times} x"),
            Target::More(more) => write!(f, "≤ {} ms more", more.as_secs_f64() * 1e3),
            Target::Within(limit) if limit.as_millis() < 1_000 => write!(f, "< {} ms", limit.as_millis()),
            Target::Within(limit) => write!(f, "< {} s", limit.as_secs()),
            Target::Memory(limit) => write!(f, "< {} MB", limit >> 20),
            Target::Throughput { megabytes_a_second, .. } => write!(f, "≥ {megabytes_a_second} MB/s"),
        }
    }
}

impl Figures {
    fn ratio(&self) -> f64 {
        self.median.as_secs_f64() / self.reference.as_secs_f64().max(f64::EPSILON)
    }
}

/// The figures of one command.
#[derive(Debug)]
pub struct Row {
    name: String,
    figures: Figures,
    targets: Vec<Target>,
}

impl Row {
    pub fn new(name: &str, figures: Figures) -> Row {
        Row { name: name.to_owned(), figures, targets: Vec::new() }
    }

    pub fn targets(mut self, targets: impl IntoIterator<Item = Target>) -> Row {
        self.targets.extend(targets);
        self
    }

    fn verdicts(&self) -> String {
        let verdict = |target: &Target| {
            let word = if target.is_met(&self.figures) { "met" } else { "MISSED" };
            format!("{target}: {word}")
        };
        self.targets.iter().map(verdict).collect::<Vec<_>>().join("; ")
    }
}

/// Commands on one workspace, displayed as Markdown.
#[derive(Debug)]
pub struct Table {
    title: String,
    /// The commands, in the order of measurement.
    pub rows: Vec<Row>,
}

impl Table {
    pub fn new(title: String) -> Table {
        Table { title, rows: Vec::new() }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "### {}\n", self.title)?;
        writeln!(f, "| command | median, ms | reference, ms | ratio | peak, MB | targets |")?;
        writeln!(f, "| :--- | ---: | ---: | ---: | ---: | :--- |")?;
        for row in &self.rows {
            let Figures { median, reference, peak, code } = &row.figures;
            let (ratio, peak) = (row.figures.ratio(), *peak as f64 / f64::from(1 << 20));
            let failed = match code {
                Some(0) => String::new(),
                Some(code) => format!(" (exit {code})"),
                None => " (ended by a signal)".to_owned(),
            };
            write!(f, "| {}{failed} | {} | {} ", row.name, milliseconds(*median), milliseconds(*reference))?;
            writeln!(f, "| {ratio:.2} | {peak:.1} | {} |", row.verdicts())?;
        }
        Ok(())
    }
}

fn milliseconds(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1e3;
    if milliseconds < 100.0 { format!("{milliseconds:.2}") } else { format!("{milliseconds:.0}") }
}

/// Formats a count with commas between thousands.
pub fn thousands(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if 0 < index && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(median: u64, reference: u64) -> Figures {
        let of = Duration::from_millis;
        Figures { median: of(median), reference: of(reference), peak: 8 << 20, code: Some(0) }
    }

    #[test]
    fn targets_say_whether_they_are_met() {
        let row = Row::new("list", figures(30, 20)).targets([Target::Times(1.5), Target::Memory(8 << 20)]);
        assert_eq!(row.verdicts(), "≤ 1.5 x: met; < 8 MB: MISSED");
        let fast = Target::Throughput { bytes: 3_000_000, megabytes_a_second: 100.0 };
        assert!(fast.is_met(&figures(30, 1)) && !fast.is_met(&figures(31, 1)));
        let more = Target::More(Duration::from_millis(15));
        assert!(more.is_met(&figures(30, 15)) && !more.is_met(&figures(31, 15)));
        assert!(!Target::Within(Duration::from_millis(30)).is_met(&figures(30, 1)));
    }

    #[test]
    fn thousands_are_set_apart() {
        for (count, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(count), text);
        }
    }
}
