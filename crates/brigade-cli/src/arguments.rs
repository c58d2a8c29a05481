//! The global options.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use brigade::Word;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

/// Options of every command.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Use the workspace at this path instead of the nearest directory with .brigade
    #[arg(long, short, global = true, value_name = "PATH")]
    pub(crate) target: Option<PathBuf>,

    /// Print one JSON document instead of text, also on failure
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// When to use colour; auto colours terminals unless NO_COLOR is set
    #[arg(long, global = true, value_name = "auto|always|never", value_enum, hide_possible_values = true)]
    #[arg(default_value_t = ColorWhen::Auto, hide_default_value = true)]
    pub(crate) color: ColorWhen,

    /// Do not show long output in a pager (BRIGADE_PAGER, PAGER or less)
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,

    /// Do not print notes and next steps
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    /// Print log messages to standard error
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,

    /// Wait at most this long for another brigade process to release its lock
    #[arg(long, global = true, value_name = "SECONDS")]
    pub(crate) lock_timeout: Option<Seconds>,
}

/// When text is coloured. The values have no help texts, because clap would then print the long form of every page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    Auto,
    Always,
    Never,
}

/// A duration in seconds: zero or more, optionally with a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seconds(pub(crate) Duration);

impl FromStr for Seconds {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Seconds, Self::Err> {
        let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds")?;
        Duration::try_from_secs_f64(seconds)
            .map(Seconds)
            .map_err(|_| "expected a number of seconds, zero or more")
    }
}

/// Parses one of the words of a table.
pub(crate) fn word<W: Word + Clone + Send + Sync + 'static>() -> impl TypedValueParser<Value = W> {
    let words = PossibleValuesParser::new(W::ALL.iter().map(|word| word.as_str()));
    words.map(|word| W::from_word(&word).expect("the word is one of these"))
}

/// Parses a count of at least one.
pub(crate) fn count(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|count| 0 < *count).ok_or("expected a whole number, 1 or more")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_zero_or_more() {
        assert_eq!("1.5".parse(), Ok(Seconds(Duration::from_millis(1_500))));
        for text in ["", "-1", "nan", "inf", "1e300", "ten"] {
            assert!(text.parse::<Seconds>().is_err(), "{text}");
        }
    }
}
