//! The state file of a PRD, and the adopted state of another program.

use std::collections::BTreeMap;

use brigade_core::json::{Mismatch, from_json};
use brigade_core::{Dialect, Json, Object};
use serde::{Deserialize, Serialize};

/// The state of a PRD in the format of the state file. It has the newest 1,000 entries of each list.
///
/// The rows are plain objects, because rows of other programs have members that Brigade does not know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct StateFile {
    /// The last service.
    pub session_id: Option<String>,
    /// When the first service began.
    pub started_at: Option<String>,
    /// When the last one began.
    pub last_start_time: Option<String>,
    /// The task that runs or waits.
    pub current_task: Option<String>,
    /// Events of tasks.
    pub task_history: Vec<Object>,
    /// Escalations.
    pub escalations: Vec<Object>,
    /// Reviews.
    pub reviews: Vec<Object>,
    /// Absorptions.
    pub absorptions: Vec<Object>,
    /// Reviews of the PRD.
    pub phase_reviews: Vec<Object>,
    /// Decisions about scope.
    pub scope_decisions: Vec<Object>,
    /// Decisions about failures made without a person.
    pub walkaway_decisions: Vec<Object>,
    /// Members of other programs, as adopted.
    #[serde(flatten)]
    pub others: BTreeMap<String, Json>,
}

/// The state file of another program, with its members unchanged. Only such files are recorded as adopted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Json", into = "Json")]
pub struct ForeignState {
    json: Json,
    file: Box<StateFile>,
}

impl TryFrom<Json> for ForeignState {
    type Error = Mismatch;

    fn try_from(json: Json) -> Result<ForeignState, Mismatch> {
        Ok(ForeignState { file: Box::new(from_json(&json)?), json })
    }
}

impl From<ForeignState> for Json {
    fn from(state: ForeignState) -> Json {
        state.json
    }
}

impl ForeignState {
    /// Parses the state file of another program.
    ///
    /// # Errors
    /// Returns what is wrong, without a final stop, if the bytes are not a state file.
    pub fn read(bytes: &[u8]) -> Result<ForeignState, String> {
        let json = Json::parse_bytes(bytes, Dialect::Lenient)
            .map_err(|error| format!("line {}, column {}: not JSON", error.line, error.column))?;
        if json.as_object().is_none() {
            return Err("it is not an object".to_owned());
        }
        ForeignState::try_from(json).map_err(|error| error.to_string())
    }

    /// Returns it as a state file.
    pub fn file(&self) -> &StateFile {
        &self.file
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::life::Record;

    #[test]
    fn only_a_state_file_is_recorded_as_adopted() {
        let record = |state: &str| {
            let text = format!(r#"{{"kind":"adopted","state":{state}}}"#);
            from_json::<Record>(&Json::parse(&text).unwrap()).map_err(|error| error.to_string())
        };
        let theirs = r#"{"escalations":[{"theirs":1.50}],"unknown":{"a":1}}"#;
        let read = record(theirs).unwrap();
        assert!(brigade_core::json::to_json(&read).unwrap().to_compact().ends_with(&format!("{theirs}}}")));
        // An unreadable state must not become an empty one, which would then replace the file.
        assert!(record(r#"{"escalations":"none"}"#).is_err());
        assert!(record("[]").is_err());
    }
}
