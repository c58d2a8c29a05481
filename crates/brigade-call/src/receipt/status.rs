//! How a run ended.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::status::CallStatus;

/// How a run ended, as its receipt says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RunStatus {
    /// It succeeded.
    Completed,
    /// It succeeded after a checkpoint; v0.30 wrote this.
    Resumed,
    /// It failed.
    Failed,
    /// It was ended at its timeout.
    TimedOut,
    /// Its runner is gone, or a person ended it.
    Interrupted,
    /// It paused at a checkpoint.
    Waiting,
    /// A status that this version does not know.
    Other(String),
}

impl RunStatus {
    /// Every status that this version writes.
    pub const ALL: [RunStatus; 5] = [
        RunStatus::Completed,
        RunStatus::Failed,
        RunStatus::TimedOut,
        RunStatus::Interrupted,
        RunStatus::Waiting,
    ];

    /// Returns the word in files and output.
    pub fn as_str(&self) -> &str {
        match self {
            RunStatus::Completed => "completed",
            RunStatus::Resumed => "resumed",
            RunStatus::Failed => "failed",
            RunStatus::TimedOut => "timed-out",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Waiting => "waiting",
            RunStatus::Other(word) => word,
        }
    }

    /// Parses the word; an unknown word is kept.
    pub fn from_word(word: &str) -> RunStatus {
        let mut known = RunStatus::ALL.into_iter().chain([RunStatus::Resumed]);
        let known = known.find(|status| status.as_str() == word);
        known.unwrap_or_else(|| RunStatus::Other(word.to_owned()))
    }

    /// Returns whether the run succeeded.
    pub fn is_success(&self) -> bool {
        matches!(self, RunStatus::Completed | RunStatus::Resumed)
    }

    /// Returns the status that a call has after such a run; `None` if no run ends like this.
    pub fn of_its_call(&self) -> Option<CallStatus> {
        match self {
            RunStatus::Completed | RunStatus::Resumed => Some(CallStatus::Completed),
            RunStatus::Failed => Some(CallStatus::Failed),
            RunStatus::TimedOut => Some(CallStatus::TimedOut),
            RunStatus::Interrupted => Some(CallStatus::Interrupted),
            RunStatus::Waiting => Some(CallStatus::Waiting),
            RunStatus::Other(_) => None,
        }
    }
}

/// The empty word, which a receipt without a status has.
impl Default for RunStatus {
    fn default() -> RunStatus {
        RunStatus::Other(String::new())
    }
}

impl Serialize for RunStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for RunStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RunStatus, D::Error> {
        Ok(RunStatus::from_word(&String::deserialize(deserializer)?))
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&brigade_core::text::escape_terminal(self.as_str()))
    }
}

#[cfg(feature = "schemas")]
impl schemars::JsonSchema for RunStatus {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RunStatus".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back_and_others_are_kept() {
        for status in RunStatus::ALL.into_iter().chain([RunStatus::Resumed]) {
            assert_eq!(RunStatus::from_word(status.as_str()), status);
            let call = status.of_its_call().unwrap();
            assert!(call.is_finished() || call == CallStatus::Waiting, "{status}");
        }
        assert_eq!(RunStatus::from_word("later"), RunStatus::Other("later".to_owned()));
        assert_eq!(RunStatus::from_word("later").of_its_call(), None);
    }
}
