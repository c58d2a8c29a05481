//! Planning: the PRD file that the executive produced, questions and answers, and related PRDs.

use std::collections::BTreeSet;

use brigade_core::{Exit, Hint, Json, Object, Report, SchemaId, StepFormatter, Timestamp};
use brigade_macros::part;
use serde::{Deserialize, Serialize};

use crate::names::{PrdName, TaskId};
use crate::prd::{Fault, Prd, keys};

/// The maximum length of a slug made from a feature name.
const MAX_SLUG: usize = 40;

/// Returns the slug of a feature name, as used in `prd-SLUG.json`.
///
/// ```
/// use brigade_kitchen::plan::slug;
///
/// assert_eq!(slug("Add user authentication (JWT)"), "add-user-authentication-jwt");
/// assert_eq!(slug("日本"), "feature");
/// ```
pub fn slug(feature_name: &str) -> String {
    let mut slug = String::new();
    for c in feature_name.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() == MAX_SLUG {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "feature".to_owned() } else { slug.to_owned() }
}

/// Makes the file of a PRD that the executive wrote. No task in it is done, it has a branch and a date, and its members
/// are in the order of the tables.
pub fn document(planned: &Json, now: Timestamp) -> String {
    let mut prd = planned.clone();
    if let Json::Object(members) = &mut prd {
        let name = members.get("featureName").and_then(Json::as_str).unwrap_or_default();
        let branch = format!("feature/{}", slug(name));
        members.entry("branchName".into()).or_insert_with(|| Json::from(branch));
        members.entry("createdAt".into()).or_insert_with(|| Json::from(now.to_string()));
        if let Some(Json::Array(tasks)) = members.get_mut("tasks") {
            for task in tasks {
                if let Json::Object(task) = task {
                    // Only Brigade marks a task as done.
                    task.insert("passes".into(), Json::Bool(false));
                }
            }
        }
    }
    let mut out = String::new();
    ordered(&prd, 0, &[&keys::PRD, &keys::TASK, &keys::VERIFICATION], &mut out);
    out.push('\n');
    out
}

/// Writes a value. The tables order the members of each level of objects.
fn ordered(json: &Json, indent: usize, tables: &[&[&str]], out: &mut String) {
    let (Some((table, deeper)), Json::Object(members)) = (tables.split_first(), json) else {
        let is_list_of_objects =
            |elements: &Vec<Json>| elements.iter().any(|element| element.as_object().is_some());
        match json {
            Json::Array(elements) if !tables.is_empty() && is_list_of_objects(elements) => {
                out.push('[');
                for (index, element) in elements.iter().enumerate() {
                    out.push_str(if index == 0 { "\n" } else { ",\n" });
                    out.push_str(&" ".repeat(indent + 2));
                    ordered(element, indent + 2, tables, out);
                }
                out.push('\n');
                out.push_str(&" ".repeat(indent));
                out.push(']');
            }
            other => {
                let margin = format!("\n{}", " ".repeat(indent));
                out.push_str(&other.to_pretty().trim_end().replace('\n', &margin));
            }
        }
        return;
    };
    let known = table.iter().filter_map(|name| members.get_key_value(*name));
    let (last, first): (Vec<_>, Vec<_>) = known.partition(|(name, _)| table.last() == Some(&name.as_str()));
    let others = members.iter().filter(|(name, _)| !table.contains(&name.as_str()));
    let all: Vec<_> = first.into_iter().chain(others).chain(last).collect();
    out.push('{');
    for (index, (name, value)) in all.iter().enumerate() {
        out.push_str(if index == 0 { "\n" } else { ",\n" });
        out.push_str(&" ".repeat(indent + 2));
        out.push_str(&Json::from(name.as_str()).to_compact());
        out.push_str(": ");
        ordered(value, indent + 2, deeper, out);
    }
    if !all.is_empty() {
        out.push('\n');
        out.push_str(&" ".repeat(indent));
    }
    out.push('}');
}

/// Questions of the executive that wait for answers, stored in the state of the kitchen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    /// The version of the format.
    pub version: u32,
    /// The id of the plan.
    pub id: String,
    /// When the plan was started.
    pub created_at: Timestamp,
    /// The request of the person.
    pub wish: String,
    /// Where the PRD will be written, if the person named a path.
    pub out: Option<String>,
    /// Whether the prompt includes the map.
    pub with_map: bool,
    /// Answered questions, with their answers.
    pub answered: Vec<(String, String)>,
    /// Open questions.
    pub questions: Vec<String>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub other: Object,
}

/// The text used for a question without an answer.
const NO_ANSWER: &str = "(no answer: decide it yourself, and write the decision down)";

/// Why answers do not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerFault {
    /// No question has this number.
    #[error("question {number} does not exist; expected a number from 1 to {count}")]
    NoQuestion {
        /// The number.
        number: usize,
        /// The number of questions.
        count: usize,
    },
    /// A question has two answers.
    #[error("question {0} has two answers")]
    Twice(usize),
}

impl Conversation {
    /// Adds answers by question number. The executive decides questions without an answer.
    ///
    /// # Errors
    /// Fails if a number is not one of a question, or occurs twice.
    pub fn answer(&mut self, answers: &[(usize, String)]) -> Result<(), AnswerFault> {
        let count = self.questions.len();
        let mut given: Vec<Option<&str>> = vec![None; count];
        for (number, answer) in answers {
            let number = *number;
            let slot = number.checked_sub(1).and_then(|at| given.get_mut(at));
            match slot {
                None => return Err(AnswerFault::NoQuestion { number, count }),
                Some(Some(_)) => return Err(AnswerFault::Twice(number)),
                Some(slot) => *slot = Some(answer),
            }
        }
        let given: Vec<String> =
            given.into_iter().map(|answer| answer.unwrap_or(NO_ANSWER).to_owned()).collect();
        self.answered.extend(std::mem::take(&mut self.questions).into_iter().zip(given));
        Ok(())
    }
}

/// A question of the executive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PlanQuestion {
    /// The number, used to answer it.
    pub number: u64,
    /// The question.
    pub text: String,
}

/// What `plan` reports.
#[part(Default, PartialEq)]
pub struct KitchenPlanReport {
    /// The schema id.
    #[serde(deserialize_with = "KitchenPlanReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The PRD that was written, relative to the workspace; absent while questions are open.
    pub prd_path: Option<String>,
    /// The name of the feature.
    pub feature_name: Option<String>,
    /// The tasks.
    pub tasks: Vec<TaskId>,
    /// The warnings, for the author of the PRD.
    pub warnings: Vec<Fault>,
    /// The id with which to continue once the questions are answered.
    pub continue_id: Option<String>,
    /// The open questions.
    pub questions: Vec<PlanQuestion>,
    /// How often the executive was started.
    pub attempts: u64,
    /// The runs, each with a receipt.
    pub runs: Vec<String>,
    /// Whether a person interrupted the executive.
    pub interrupted: bool,
    /// The cost of the runs, as the worker reports it or computed from their time.
    pub cost_usd: f64,
    /// The map used in the prompt, relative to the workspace.
    pub map_path: Option<String>,
    /// Whether `latest.json` points to the PRD.
    pub latest: bool,
    /// Steps after the plan that failed.
    pub notes: Vec<String>,
    /// The next command to try.
    pub next_command: Option<Hint>,
}

impl Report for KitchenPlanReport {
    const SCHEMA: SchemaId = "brigade.kitchen-plan.v1";

    fn exit(&self) -> Exit {
        match (self.interrupted, self.questions.is_empty()) {
            (true, _) => Exit::Interrupted,
            (false, true) => Exit::Done,
            (false, false) => Exit::Paused,
        }
    }
}

impl KitchenPlanReport {
    /// Makes a report of a plan that was not started.
    pub fn new(target: String) -> KitchenPlanReport {
        KitchenPlanReport { schema: KitchenPlanReport::SCHEMA, target, ..KitchenPlanReport::default() }
    }

    /// Writes the next command in the words of one interface.
    #[must_use]
    pub fn spelled(self, speller: &dyn StepFormatter) -> KitchenPlanReport {
        KitchenPlanReport { next_command: self.next_command.map(|hint| hint.spelled(speller, None)), ..self }
    }
}

/// Another PRD, with what related PRDs need.
#[derive(Clone, Debug)]
pub struct OtherPrd<'a> {
    /// Its name.
    pub name: &'a PrdName,
    /// What it says.
    pub prd: &'a Prd,
    /// How many of its tasks are done.
    pub done: usize,
}

/// Words that are too common to relate PRDs.
const COMMON: &str = include_str!("plan/common_words.txt");

fn words(prd: &Prd) -> BTreeSet<String> {
    let titles = prd.tasks.iter().map(|task| task.title.as_str());
    let texts = [prd.feature_name.as_str(), prd.description.as_deref().unwrap_or_default()];
    let all = texts.into_iter().chain(titles).flat_map(|text| text.split(|c: char| !c.is_alphanumeric()));
    all.map(str::to_lowercase)
        .filter(|word| 3 <= word.chars().count() && !COMMON.lines().any(|common| common == word))
        .collect()
}

/// Summarizes a PRD and its progress on one line.
pub fn line(other: &OtherPrd<'_>) -> String {
    let (name, tasks) = (other.name, other.prd.tasks.len());
    let prefix = name.prefix();
    format!("{prefix}: {} ({} of {tasks} tasks done)", other.prd.feature_name, other.done)
}

/// Lists related PRDs, nearest first: those that share words in the feature name and titles.
pub fn related(prd: &Prd, others: &[OtherPrd<'_>], most: usize) -> Vec<String> {
    let own = words(prd);
    let mut found: Vec<(usize, &OtherPrd<'_>)> = others
        .iter()
        .map(|other| (words(other.prd).intersection(&own).count(), other))
        .filter(|(shared, _)| 0 < *shared)
        .collect();
    found.sort_by(|(a, left), (b, right)| b.cmp(a).then_with(|| left.name.as_str().cmp(right.name.as_str())));
    found.into_iter().take(most).map(|(_, other)| line(other)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prd::{Lints, read};

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    fn now() -> Timestamp {
        "2026-01-19T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_slug_is_a_file_name() {
        for (name, expect) in [
            ("Add auth", "add-auth"),
            ("../../etc/passwd", "etc-passwd"),
            ("  --x--  ", "x"),
            ("", "feature"),
            ("Überprüfung der Größe", "berpr-fung-der-gr-e"),
        ] {
            assert_eq!(slug(name), expect, "{name}");
            assert!(format!("prd-{}", slug(name)).parse::<PrdName>().is_ok());
        }
        let long = slug(&"word ".repeat(40));
        assert!(long.len() <= MAX_SLUG && !long.ends_with('-'), "{long}");
    }

    #[test]
    fn a_planned_prd_is_readable_and_nothing_is_done() {
        let planned = json(
            r#"{"tasks": [{"passes": true, "id": "US-1", "x-y": {"b": 1, "a": []}, "title": "A \"b\"\n",
                "verification": [{"cmd": "npm test", "type": "unit"}, "npm run e2e"], "acceptanceCriteria": ["c"]}],
                "x-later": 5, "featureName": "Add auth", "constraints": []}"#,
        );
        let text = document(&planned, now());
        assert_eq!(
            text,
            r#"{
  "featureName": "Add auth",
  "branchName": "feature/add-auth",
  "createdAt": "2026-01-19T12:00:00+00:00",
  "constraints": [],
  "x-later": 5,
  "tasks": [
    {
      "id": "US-1",
      "title": "A \"b\"\n",
      "acceptanceCriteria": [
        "c"
      ],
      "verification": [
        {
          "type": "unit",
          "cmd": "npm test"
        },
        "npm run e2e"
      ],
      "x-y": {
        "a": [],
        "b": 1
      },
      "passes": false
    }
  ]
}
"#
        );
        assert!(read("prd-x.json", text.as_bytes(), Lints::ALL).errors.is_empty());
        // Text that is not a PRD is returned unchanged, so that validation can report it.
        for odd in ["{}", "[]", r#"{"tasks": {"a": 1}}"#, r#"{"tasks": [5], "featureName": 5}"#] {
            let text = document(&json(odd), now());
            assert!(!read("prd-x.json", text.as_bytes(), Lints::ALL).errors.is_empty(), "{text}");
        }
    }

    #[test]
    fn answers_go_to_their_questions() {
        let conversation = Conversation {
            version: 1,
            id: "p".to_owned(),
            created_at: now(),
            wish: "w".to_owned(),
            out: None,
            with_map: true,
            answered: vec![("old".to_owned(), "yes".to_owned())],
            questions: vec!["Which?".to_owned(), "When?".to_owned()],
            other: Object::new(),
        };
        let mut answered = conversation.clone();
        answered.answer(&[(2, "now".to_owned())]).unwrap();
        let expect = [("old", "yes"), ("Which?", NO_ANSWER), ("When?", "now")];
        assert_eq!(answered.answered, expect.map(|(a, b)| (a.to_owned(), b.to_owned())));
        assert!(answered.questions.is_empty());
        let fault = |answers: &[(usize, &str)]| {
            let answers: Vec<_> =
                answers.iter().map(|(number, text)| (*number, (*text).to_owned())).collect();
            let mut own = conversation.clone();
            let fault = own.answer(&answers).unwrap_err();
            assert_eq!(own, conversation);
            fault
        };
        assert_eq!(fault(&[(3, "x")]), AnswerFault::NoQuestion { number: 3, count: 2 });
        assert_eq!(fault(&[(0, "x")]), AnswerFault::NoQuestion { number: 0, count: 2 });
        assert_eq!(fault(&[(1, "x"), (1, "y")]), AnswerFault::Twice(1));
    }

    #[test]
    fn related_prds_share_words_of_the_feature() {
        let prd = |name: &str, title: &str| {
            let text =
                format!(r#"{{"featureName": "{name}", "tasks": [{{"id": "a", "title": "{title}"}}]}}"#);
            read("prd-x.json", text.as_bytes(), Lints::ALL).prd
        };
        let own = prd("Login with tokens", "Add the token store");
        let others = [
            ("prd-export", prd("Export", "Write the file")),
            ("prd-session", prd("Sessions", "End the session at logout")),
            ("prd-roles", prd("Roles", "Check the role of a login")),
            ("prd-api", prd("API tokens", "Store tokens of a login")),
        ];
        let names: Vec<PrdName> = others.iter().map(|(name, _)| name.parse().unwrap()).collect();
        let others: Vec<OtherPrd<'_>> =
            others.iter().zip(&names).map(|((_, prd), name)| OtherPrd { name, prd, done: 0 }).collect();
        assert_eq!(
            related(&own, &others, 3),
            ["api: API tokens (0 of 1 tasks done)", "roles: Roles (0 of 1 tasks done)"]
        );
        assert_eq!(related(&own, &others, 1).len(), 1);
        assert!(related(&own, &others, 0).is_empty());
    }
}
