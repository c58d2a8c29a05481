//! The formats of files that people and workers write, as `docs/schemas` describes them.
//!
//! These types only describe: [`crate::prd::read`] and [`crate::signal`] read the files, and report every fault with
//! its place. A PRD may also have members of its author's own, which begin with `x-` or `_`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::adapter::Tokens;
use crate::names::TaskId;
use crate::prd::{Complexity, VerificationKind};

/// A PRD: the list of tasks that a crew works through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schemas", schemars(extend("patternProperties" = {"^(x-|_|\\$schema$)": {}})))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PrdFormat {
    /// The name of the feature.
    pub feature_name: String,
    /// The branch that receives the work. Without it, workers work in the workspace itself, without commits.
    #[serde(default)]
    pub branch_name: Option<String>,
    /// The description of the feature.
    #[serde(default)]
    pub description: Option<String>,
    /// The date of planning.
    #[serde(default)]
    pub created_at: Option<String>,
    /// Whether the executive decides about failures without a person.
    #[serde(default)]
    pub walkaway: bool,
    /// Constraints for all tasks.
    #[serde(default)]
    pub constraints: Texts,
    /// Decisions made while planning.
    #[serde(default)]
    pub decisions: Vec<DecisionFormat>,
    /// A command that runs after the verification of each task.
    #[serde(default)]
    pub test_command: Option<String>,
    /// The tasks.
    pub tasks: Vec<TaskFormat>,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schemas", schemars(extend("patternProperties" = {"^(x-|_)": {}})))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskFormat {
    /// Its id, unique in the PRD.
    pub id: TaskId,
    /// Its title.
    pub title: String,
    /// The details, beyond the title.
    #[serde(default)]
    pub description: Option<String>,
    /// The criteria for being done.
    #[serde(default)]
    pub acceptance_criteria: Texts,
    /// The commands that must succeed before it is done.
    #[serde(default)]
    pub verification: Vec<VerificationFormat>,
    /// The ids of the tasks that must be done before it.
    #[serde(default)]
    pub depends_on: Vec<TaskId>,
    /// How hard it is, which chooses the tier that begins: `junior` (or `line`), `senior` (or `sous`), or `auto`.
    #[serde(default)]
    pub complexity: Option<Complexity>,
    /// Whether it is done. Brigade sets it.
    #[serde(default)]
    pub passes: bool,
    /// Tasks with the same text here never run at the same time.
    #[serde(default)]
    pub exclusive: Option<String>,
    /// What a person has to check by hand; `true` for the acceptance criteria.
    #[serde(default)]
    pub manual_verification: Manual,
}

/// A text, or a list of texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Texts {
    /// One text.
    One(String),
    /// A list.
    Many(Vec<String>),
}

impl Default for Texts {
    fn default() -> Texts {
        Texts::Many(Vec::new())
    }
}

/// A decision made while planning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum DecisionFormat {
    /// A text.
    Text(String),
    /// An object whose texts are joined.
    Parts(BTreeMap<String, String>),
}

/// What a person has to check by hand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Manual {
    /// The acceptance criteria, or nothing.
    Criteria(bool),
    /// These texts.
    Texts(Texts),
}

impl Default for Manual {
    fn default() -> Manual {
        Manual::Criteria(false)
    }
}

/// A command that must succeed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum VerificationFormat {
    /// The command. Its type is inferred.
    Command(String),
    /// The command and its type.
    Typed(TypedVerification),
}

/// A command with its type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TypedVerification {
    /// What it verifies: that a file or text exists, isolated logic, parts together, or that the feature runs at all.
    #[serde(default, rename = "type")]
    pub kind: Option<VerificationKind>,
    /// The command, as a shell would read it.
    pub cmd: String,
}

/// The result file of a worker that did a task: JSON at the path in `BRIGADE_RESULT_FILE`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ResultFormat {
    /// The text in `BRIGADE_NONCE`. Without it, the file does not count.
    pub nonce: String,
    /// How the attempt ended.
    pub signal: SignalWord,
    /// The id of the task that did the work, for `absorbed`.
    #[serde(default)]
    pub absorbed_by: Option<TaskId>,
    /// Why the worker cannot continue, for `blocked`.
    #[serde(default)]
    pub reason: Option<String>,
    /// The question about the scope of the task, for `question`.
    #[serde(default)]
    pub question: Option<String>,
    /// How the worker went about it.
    #[serde(default)]
    pub approach: Option<String>,
    /// What later workers should know about the code base.
    #[serde(default)]
    pub learnings: Vec<String>,
    /// What the worker found beyond the task.
    #[serde(default)]
    pub backlog: Vec<String>,
    /// What the worker did, in one sentence.
    #[serde(default)]
    pub summary: Option<String>,
    /// The cost in dollars.
    #[serde(default)]
    pub cost_usd: Option<f64>,
    /// The tokens that were used.
    #[serde(default)]
    pub tokens: Option<Tokens>,
}

/// A word for how an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SignalWord {
    /// The task is done.
    Complete,
    /// Earlier work already did it.
    AlreadyDone,
    /// Another task did it.
    Absorbed,
    /// The worker cannot continue.
    Blocked,
    /// Another attempt has to continue.
    Continue,
    /// The worker asks about the scope of the task.
    Question,
}

#[cfg(test)]
mod tests {
    use brigade_core::Json;
    use brigade_core::json::from_json;

    use super::*;
    use crate::prd::{Lints, keys, read};
    use crate::signal::TABLE;

    #[test]
    fn the_formats_are_those_that_are_read() {
        let text = r#"{"featureName": "x", "branchName": "b", "description": "d", "createdAt": "c", "walkaway": false,
            "constraints": "c", "decisions": ["d", {"a": "b"}], "testCommand": "make test", "tasks": [{"id": "a",
            "title": "t", "description": "d", "acceptanceCriteria": ["1"], "verification": ["make", {"type": "unit",
            "cmd": "make"}], "dependsOn": [], "complexity": "line", "passes": false, "exclusive": "e",
            "manualVerification": true}]}"#;
        assert!(read("prd.json", text.as_bytes(), Lints::NONE).errors.is_empty());
        let json = Json::parse(text).unwrap();
        let format: PrdFormat = from_json(&json).unwrap();
        let written: serde_json::Value = serde_json::to_value(&format).unwrap();
        let names =
            |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let sorted = |names: &[&str]| {
            let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            names.sort();
            names
        };
        let (mut prd, mut task) = (names(&written), names(&written["tasks"][0]));
        prd.sort();
        task.sort();
        assert_eq!((prd, task), (sorted(&keys::PRD), sorted(&keys::TASK)));
        for spelling in TABLE {
            let word = serde_json::Value::from(spelling.word);
            assert!(serde_json::from_value::<SignalWord>(word).is_ok(), "{}", spelling.word);
        }
    }
}
