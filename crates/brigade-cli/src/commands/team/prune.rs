//! `brigade team prune`

use std::time::Duration;

use brigade::Error;
use brigade::report::TeamPruneReport;
use clap::Args;

use super::PlaceArgs;
use crate::session::Session;

/// Delete old raw logs from the database, as its owner
///
/// Receipts stay, and so do the logs on the hosts that ran.
#[derive(Args, Debug)]
pub(crate) struct PruneArgs {
    /// Age of the logs to delete, such as `30d` or `12h`
    #[arg(long, value_name = "AGE", value_parser = age)]
    logs_older_than: Duration,
    #[command(flatten)]
    place: PlaceArgs,
}

/// Reads a number with one of the units `d`, `h`, `m` and `s`.
fn age(text: &str) -> Result<Duration, String> {
    let units = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];
    let read = |(unit, seconds): &(&str, u64)| {
        Some(
            Duration::from_secs(text.strip_suffix(unit)?.parse::<u32>().ok()?.into())
                * u32::try_from(*seconds).ok()?,
        )
    };
    units.iter().find_map(read).ok_or_else(|| "expected a number with `d`, `h`, `m` or `s`".to_owned())
}

pub(crate) fn run(session: &Session<'_>, arguments: &PruneArgs) -> Result<TeamPruneReport, Error> {
    super::team(session)?.prune_logs(arguments.place.place(), arguments.logs_older_than)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_a_unit() {
        assert_eq!(age("30d"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!((age("12h"), age("0s")), (Ok(Duration::from_secs(43_200)), Ok(Duration::ZERO)));
        for text in ["", "30", "d", "-1d", "1.5h", "1w", "99999999999d"] {
            assert!(age(text).is_err(), "{text}");
        }
    }
}
