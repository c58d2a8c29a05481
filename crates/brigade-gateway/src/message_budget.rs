//! Bounds the messages of a server that its call passes on to the client.

use std::time::Instant;

use brigade::gateway::{McpLog, McpProgress};

use crate::call::PROGRESS_INTERVAL;

/// How many progress and log messages of a call are passed on, and their length. Then there is at most one progress
/// message in an interval, and no log message.
const MAX_MESSAGES: usize = 1_000;
const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// What is left of the messages of a call.
pub(crate) struct MessageBudget {
    messages: usize,
    bytes: usize,
    /// When the last progress was passed on.
    reported_at: Instant,
}

impl MessageBudget {
    pub(crate) fn new() -> MessageBudget {
        MessageBudget { messages: MAX_MESSAGES, bytes: MAX_MESSAGE_BYTES, reported_at: Instant::now() }
    }

    fn takes(&mut self, bytes: usize) -> bool {
        let fits = 0 < self.messages && bytes <= self.bytes;
        if fits {
            self.messages -= 1;
            self.bytes -= bytes;
        }
        fits
    }

    /// Clients wait longer for a call that reports progress, so some of it is always passed on.
    pub(crate) fn takes_progress(&mut self, progress: &McpProgress) -> bool {
        let bytes = progress.message.as_ref().map_or(0, String::len);
        let is_due = PROGRESS_INTERVAL <= self.reported_at.elapsed() && bytes <= MAX_MESSAGE_BYTES;
        let takes = self.takes(bytes) || is_due;
        if takes {
            self.reported_at = Instant::now();
        }
        takes
    }

    pub(crate) fn takes_log(&mut self, log: &McpLog) -> bool {
        self.takes(log.data.to_compact().len())
    }
}

#[cfg(test)]
mod tests {
    use brigade::core::Json;

    use super::*;

    #[test]
    fn a_flood_of_messages_ends_and_progress_goes_on() {
        let log = |length: usize| McpLog {
            level: "info".to_owned(),
            logger: None,
            data: Json::from("x".repeat(length).as_str()),
        };
        let progress = McpProgress { progress: 1.0, total: None, message: None };
        let mut budget = MessageBudget::new();
        let taken = (0..5_000).filter(|_| budget.takes_log(&log(10))).count();
        assert_eq!(taken, MAX_MESSAGES);
        assert!(!budget.takes_progress(&progress));
        budget.reported_at = Instant::now() - PROGRESS_INTERVAL;
        assert!(budget.takes_progress(&progress) && !budget.takes_progress(&progress));
        assert!(!MessageBudget::new().takes_log(&log(MAX_MESSAGE_BYTES)));
    }
}
