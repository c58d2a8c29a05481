//! Log messages on standard error.

use std::io;

use brigade::core::Clock as _;
use tracing_subscriber::filter::{LevelFilter, Targets, filter_fn};
use tracing_subscriber::fmt::format::{FmtSpan, Writer};
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::arguments::Globals;
use crate::surroundings::Surroundings;

/// Starts logging if `--verbose` or `BRIGADE_LOG` is set.
///
/// `BRIGADE_LOG` is a level or a list such as `brigade_queue=trace,info`; an invalid value counts as `debug`. Only
/// messages of our own crates are shown, because other crates may log values, such as messages to an MCP server.
pub(crate) fn start(globals: &Globals, surroundings: &Surroundings) {
    let filter = surroundings.log.as_deref().map(str::trim).filter(|filter| !filter.is_empty());
    let targets = match (filter, globals.verbose) {
        (Some(filter), _) => filter.parse().unwrap_or_else(|_| debug()),
        (None, true) => debug(),
        (None, false) => return,
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(false).with_timer(Clock);
    // The end of a span shows its duration.
    let lines = lines.with_span_events(FmtSpan::CLOSE);
    // Only the first command of a process can install the subscriber.
    let ours = filter_fn(|metadata| metadata.target().starts_with("brigade"));
    let _ = tracing_subscriber::registry().with(lines).with(targets).with(ours).try_init();
}

fn debug() -> Targets {
    Targets::new().with_default(LevelFilter::DEBUG)
}

/// Formats times like the rest of Brigade.
struct Clock;

impl FormatTime for Clock {
    fn format_time(&self, writer: &mut Writer<'_>) -> std::fmt::Result {
        write!(writer, "{}", brigade::core::SystemClock.now())
    }
}
