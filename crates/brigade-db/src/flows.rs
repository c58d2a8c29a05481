//! Executions of workflows: their current state, the outputs of their states, and their pending questions.
//!
//! A transition is one transaction. The driver of an execution names its process in each write. Writes are refused once
//! the execution has ended or another process has taken it over.

mod signed;

use std::collections::BTreeMap;

use brigade_core::json::{compact_text, from_json, to_json};
use brigade_core::{ErrorCode, Json, Object, Timestamp, words};
use brigade_redact::Redactor;
use rusqlite::{Row, Transaction, params};

use crate::error::{StoreError, damaged};
use crate::events::{Event, EventSubject, StateVisit, StoredEvent, add_parts, page};
use crate::executions::{Parent, check_open};
use crate::manifests::{DeployedManifest, Revision};
use crate::questions::{self, Answer, QuestionForm};
use crate::store::{self, Store, find, json, list, new_id, time};

words! {
    /// The status of a workflow execution.
    FlowStatus {
        /// It runs.
        Running = "running",
        /// It succeeded.
        Completed = "completed",
        /// It failed.
        Failed = "failed",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}

impl FlowStatus {
    /// Returns whether the execution has ended.
    pub fn is_over(self) -> bool {
        match self {
            FlowStatus::Running => false,
            FlowStatus::Completed | FlowStatus::Failed | FlowStatus::Cancelled => true,
        }
    }
}

/// The maximum size of a blackboard, in bytes of JSON.
pub const MAX_BLACKBOARD: usize = 1 << 20;

/// An execution of a workflow.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Flow {
    /// Its id.
    pub id: String,
    /// The owner, who began it.
    pub owner: String,
    /// The caller that began it, in the form of records.
    pub caller: String,
    /// The rights of its calls: the profiles and the directory of the session that began it.
    pub rights: Json,
    /// The workflow execution that runs it as a state.
    pub parent: Option<String>,
    /// The number of executions above it.
    pub depth: i64,
    /// The id of the workflow.
    pub manifest: String,
    /// The name of the workflow.
    pub name: String,
    /// The revision of the workflow.
    pub revision: i64,
    /// The version of the workflow.
    pub version: String,
    /// The task in words.
    pub intent: Option<String>,
    /// The input.
    pub input: Json,
    /// The status.
    pub status: FlowStatus,
    /// Whether it is paused and enters no new state.
    pub is_paused: bool,
    /// The current state, or the last one.
    pub state: String,
    /// How often each state was entered.
    pub visits: BTreeMap<String, u64>,
    /// The number of transitions so far.
    pub transitions: i64,
    /// The values that its states share.
    pub blackboard: Object,
    /// The last output of each state.
    pub outputs: Object,
    /// The feedback that the last transition gave to the state.
    pub feedback: Option<String>,
    /// The last answer of a person.
    pub human: Option<String>,
    /// The progress within the state. Only the driver interprets it.
    pub step: Json,
    /// The pending question for a person.
    pub question: Option<String>,
    /// The code of the failure.
    pub error_code: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// The process that drives it.
    pub gateway: String,
    /// When it began.
    pub started_at: Timestamp,
    /// When it entered its state.
    pub entered_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

impl Flow {
    /// Returns the status for display: `paused` and `waiting` (for a person) take precedence over `running`.
    pub fn shown(&self) -> &'static str {
        match (self.status, self.is_paused, &self.question) {
            (FlowStatus::Running, true, _) => "paused",
            (FlowStatus::Running, false, Some(_)) => "waiting",
            (status, ..) => status.as_str(),
        }
    }
}

/// The maximum number of open executions of one owner. Many of them wait for a person.
const MAX_FLOWS: i64 = 1_000;

/// An execution to begin.
#[derive(Clone, Copy, Debug)]
pub struct NewFlow<'a> {
    /// The owner.
    pub owner: &'a str,
    /// The caller, in the form of records.
    pub caller: &'a str,
    /// The rights of its calls.
    pub rights: &'a Json,
    /// The workflow execution that runs it as a state.
    pub parent: Option<&'a Parent>,
    /// The workflow.
    pub manifest: &'a DeployedManifest,
    /// The revision of the workflow.
    pub revision: &'a Revision,
    /// The task in words.
    pub intent: Option<&'a str>,
    /// The input.
    pub input: &'a Json,
    /// The values that its states share.
    pub blackboard: &'a Object,
    /// Its first state.
    pub state: &'a str,
    /// The process that drives it.
    pub gateway: &'a str,
}

/// The result of a write by the driver of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The write is stored.
    Written,
    /// The execution is paused, so nothing was written.
    Paused,
    /// The execution has ended or belongs to another process, so nothing was written.
    Lost,
}

/// The outcome of a state, and the transition after it.
#[derive(Clone, Copy, Debug)]
pub struct Transit<'a> {
    /// The outcome of the state.
    pub outcome: &'a Json,
    /// The members that it writes to the blackboard.
    pub writes: &'a Object,
    /// The answer of a person.
    pub human: Option<&'a str>,
    /// The transition.
    pub next: NextState<'a>,
}

/// What follows a state.
#[derive(Clone, Copy, Debug)]
pub enum NextState<'a> {
    /// Another state.
    State {
        /// Its name.
        name: &'a str,
        /// How often each state was entered, including this time.
        visits: &'a BTreeMap<String, u64>,
        /// The number of transitions, including this one.
        transitions: u64,
        /// The feedback for the state.
        feedback: Option<&'a str>,
    },
    /// The end. Contains the code and message of the failure, if it failed.
    End(Option<(&'a str, &'a str)>),
}

const COLUMNS: &str = "id, owner, caller, rights, parent, depth, manifest, name, revision, version, intent, input, \
                       status, is_paused, state, visits, transitions, blackboard, outputs, feedback, human, step, \
                       question, error_code, error, gateway, started_at, entered_at, ended_at";

fn read(row: &Row<'_>) -> rusqlite::Result<Flow> {
    let object = |column: &'static str| match json(row, column)? {
        Json::Object(members) => Ok(members),
        _ => Err(damaged(column)),
    };
    let status: String = row.get("status")?;
    Ok(Flow {
        id: row.get("id")?,
        owner: row.get("owner")?,
        caller: row.get("caller")?,
        rights: json(row, "rights")?,
        parent: row.get("parent")?,
        depth: row.get("depth")?,
        manifest: row.get("manifest")?,
        name: row.get("name")?,
        revision: row.get("revision")?,
        version: row.get("version")?,
        intent: row.get("intent")?,
        input: json(row, "input")?,
        status: FlowStatus::from_word(&status).unwrap_or(FlowStatus::Failed),
        is_paused: row.get("is_paused")?,
        state: row.get("state")?,
        visits: from_json(&json(row, "visits")?).map_err(|_| damaged("visits"))?,
        transitions: row.get("transitions")?,
        blackboard: object("blackboard")?,
        outputs: object("outputs")?,
        feedback: row.get("feedback")?,
        human: row.get("human")?,
        step: json(row, "step")?,
        question: row.get("question")?,
        error_code: row.get("error_code")?,
        error: row.get("error")?,
        gateway: row.get("gateway")?,
        started_at: time(row, "started_at")?,
        entered_at: time(row, "entered_at")?,
        ended_at: row.get::<_, Option<i64>>("ended_at")?.map(Timestamp::from_unix_micros),
    })
}

/// Finds an execution. `owner` is `None` for a person, who sees every execution.
fn by_id(transaction: &Transaction<'_>, owner: Option<&str>, id: &str) -> Result<Flow, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM flow WHERE id = ?1 AND (?2 IS NULL OR owner = ?2)");
    find(transaction, "execution", &sql, params![id, owner], read)
}

fn note(
    transaction: &Transaction<'_>,
    flow: &Flow,
    event: &Event<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (event_type, payload) = event.parts();
    let visit = flow.visits.get(&flow.state).copied();
    let visited = StateVisit { state: Some(flow.state.clone()), visit };
    let mut whole = to_json(&visited).expect("a visit is JSON");
    if let (Json::Object(members), Json::Object(more)) = (&mut whole, payload) {
        members.extend(more);
    }
    let about = EventSubject { manifest: Some(&flow.manifest), execution: Some(&flow.id) };
    add_parts(transaction, &about, &event_type, &whole, now)
}

/// Returns an execution if this process may still write to it.
fn held(transaction: &Transaction<'_>, id: &str, gateway: &str) -> Result<Option<Flow>, StoreError> {
    let flow = by_id(transaction, None, id)?;
    Ok(Some(flow).filter(|flow| !flow.status.is_over() && flow.gateway == gateway))
}

fn ended(flow: &Flow) -> StoreError {
    StoreError::refused(ErrorCode::AlreadyEnded, format!("the execution is already {}", flow.status))
}

/// Merges members into the blackboard.
fn merged(flow: &Flow, writes: &Object) -> Result<String, StoreError> {
    let mut blackboard = flow.blackboard.clone();
    blackboard.extend(writes.iter().map(|(name, value)| (name.clone(), value.clone())));
    let text = Json::Object(blackboard).to_compact();
    if MAX_BLACKBOARD < text.len() {
        let message = format!("a blackboard has at most {} KiB", MAX_BLACKBOARD >> 10);
        return Err(StoreError::refused(ErrorCode::TooLarge, message));
    }
    Ok(text)
}

/// Records the end of an execution and withdraws its question.
fn end(
    transaction: &Transaction<'_>,
    flow: &Flow,
    status: FlowStatus,
    error: Option<(&str, &str)>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (code, message) = error.unzip();
    if let Some(question) = &flow.question {
        questions::withdraw(transaction, question)?;
    }
    transaction.execute(
        "UPDATE flow SET status = ?2, error_code = ?3, error = ?4, ended_at = ?5, question = NULL, is_paused = 0 \
         WHERE id = ?1",
        params![flow.id, status.as_str(), code, message, now.unix_micros()],
    )?;
    note(transaction, flow, &Event::WorkflowEnded { status: status.as_str(), code, message }, now)
}

impl Store {
    /// Records a new execution in its first state.
    ///
    /// # Errors
    /// Returns `too_large`, `too_deep` or `busy`. Also fails on a disk error.
    pub fn begin_flow(&self, new: &NewFlow<'_>, now: Timestamp) -> Result<Flow, StoreError> {
        self.change(|transaction| {
            let depth = Parent::depth_below(transaction, new.parent)?;
            let sql = "SELECT count(*) FROM flow WHERE owner = ?1 AND status = 'running'";
            check_open(transaction.query_row(sql, [new.owner], |row| row.get(0))?, MAX_FLOWS)?;
            let id = new_id(transaction, "flow")?;
            let visits = Json::object([(new.state, Json::from(1))]);
            let blackboard = Json::Object(new.blackboard.clone()).to_compact();
            if MAX_BLACKBOARD < blackboard.len() {
                let message = format!("a blackboard has at most {} KiB", MAX_BLACKBOARD >> 10);
                return Err(StoreError::refused(ErrorCode::TooLarge, message));
            }
            transaction.execute(
                "INSERT INTO flow (id, owner, caller, rights, parent, depth, manifest, name, revision, version, intent, \
                 input, status, is_paused, state, visits, transitions, blackboard, outputs, step, gateway, started_at, \
                 entered_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 'running', 0, ?13, ?14, 0, ?15, \
                 '{}', 'null', ?16, ?17, ?17)",
                params![
                    id,
                    new.owner,
                    new.caller,
                    new.rights.to_compact(),
                    new.parent.map(|parent| parent.id.as_str()),
                    depth,
                    new.manifest.id,
                    new.manifest.name,
                    new.revision.revision,
                    new.revision.version,
                    new.intent,
                    new.input.to_compact(),
                    new.state,
                    visits.to_compact(),
                    blackboard,
                    new.gateway,
                    now.unix_micros()
                ],
            )?;
            let flow = by_id(transaction, None, &id)?;
            let event = Event::WorkflowStarted { by: new.owner, version: &flow.version };
            note(transaction, &flow, &event, now)?;
            note(transaction, &flow, &Event::StateEntered, now)?;
            self.sign_flow(transaction, &flow.id)?;
            Ok(flow)
        })
    }

    /// Returns an execution. `None` as owner finds those of all owners.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn flow(&self, owner: Option<&str>, id: &str) -> Result<Flow, StoreError> {
        self.look(|transaction| by_id(transaction, owner, id))
    }

    /// Lists executions, newest first: a page and the total number. `None` as owner lists those of all owners.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn flows(
        &self,
        owner: Option<&str>,
        manifest: Option<&str>,
        limit: usize,
        offset: usize,
    ) -> Result<(Vec<Flow>, usize), StoreError> {
        const FILTER: &str = "(?1 IS NULL OR owner = ?1) AND (?2 IS NULL OR manifest = ?2 OR name = ?2)";
        self.look(|transaction| {
            let count = format!("SELECT count(*) FROM flow WHERE {FILTER}");
            let total: i64 = transaction.query_row(&count, params![owner, manifest], |row| row.get(0))?;
            let sql = format!(
                "SELECT {COLUMNS} FROM flow WHERE {FILTER} ORDER BY started_at DESC, rowid DESC LIMIT ?3 OFFSET ?4"
            );
            let page = params![owner, manifest, store::limit(limit), store::limit(offset)];
            Ok((list(transaction, &sql, page, read)?, usize::try_from(total).unwrap_or_default()))
        })
    }

    /// Lists executions that have not ended: all, or those that `parent` began.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn open_flows(&self, parent: Option<&str>) -> Result<Vec<Flow>, StoreError> {
        self.look(|transaction| {
            let sql = format!(
                "SELECT {COLUMNS} FROM flow WHERE status = 'running' AND (?1 IS NULL OR parent = ?1)"
            );
            list(transaction, &sql, [parent], read)
        })
    }

    /// Records the progress within a state.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn write_step(
        &self,
        id: &str,
        gateway: &str,
        step: &Json,
        event: Option<&Event<'_>>,
        now: Timestamp,
    ) -> Result<WriteOutcome, StoreError> {
        self.change_flow(id, |transaction| {
            let Some(flow) = held(transaction, id, gateway)? else { return Ok(WriteOutcome::Lost) };
            transaction.execute("UPDATE flow SET step = ?2 WHERE id = ?1", params![id, step.to_compact()])?;
            if let Some(event) = event {
                note(transaction, &flow, event, now)?;
            }
            Ok(WriteOutcome::Written)
        })
    }

    /// Asks a person a question for a state.
    ///
    /// # Errors
    /// Returns what [`QuestionForm::check`] returns. Also fails on a disk error.
    pub fn ask_in_flow(
        &self,
        id: &str,
        gateway: &str,
        form: &QuestionForm,
        redactor: &Redactor,
        now: Timestamp,
    ) -> Result<WriteOutcome, StoreError> {
        form.check()?;
        let form = form.masked(redactor);
        self.change_flow(id, |transaction| {
            let Some(flow) = held(transaction, id, gateway)? else { return Ok(WriteOutcome::Lost) };
            let question = questions::insert(transaction, &flow.owner, &flow.id, &form, now)?;
            transaction.execute("UPDATE flow SET question = ?2 WHERE id = ?1", params![id, question])?;
            note(transaction, &flow, &Event::PersonAsked { question: &question }, now)?;
            Ok(WriteOutcome::Written)
        })
    }

    /// Takes the answer of a person and sets the next step of the state.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn resume_step(
        &self,
        id: &str,
        gateway: &str,
        step: &Json,
        event: &Event<'_>,
        now: Timestamp,
    ) -> Result<WriteOutcome, StoreError> {
        self.change_flow(id, |transaction| {
            let Some(flow) = held(transaction, id, gateway)? else { return Ok(WriteOutcome::Lost) };
            if let Some(question) = &flow.question {
                questions::withdraw(transaction, question)?;
            }
            transaction.execute(
                "UPDATE flow SET step = ?2, question = NULL WHERE id = ?1",
                params![id, step.to_compact()],
            )?;
            note(transaction, &flow, event, now)?;
            Ok(WriteOutcome::Written)
        })
    }

    /// Records the outcome of a state and the transition in one transaction.
    ///
    /// # Errors
    /// Returns `not_found` or `too_large`. Also fails on a disk error.
    pub fn transit(
        &self,
        id: &str,
        gateway: &str,
        transit: &Transit<'_>,
        now: Timestamp,
    ) -> Result<WriteOutcome, StoreError> {
        self.change_flow(id, |transaction| {
            let Some(mut flow) = held(transaction, id, gateway)? else { return Ok(WriteOutcome::Lost) };
            if flow.is_paused {
                return Ok(WriteOutcome::Paused);
            }
            let blackboard = merged(&flow, transit.writes)?;
            let mut outputs = std::mem::take(&mut flow.outputs);
            outputs.insert(flow.state.clone(), transit.outcome.clone());
            transaction.execute(
                "UPDATE flow SET blackboard = ?2, outputs = ?3, human = coalesce(?4, human) WHERE id = ?1",
                params![id, blackboard, Json::Object(outputs).to_compact(), transit.human],
            )?;
            // The execution already stores the output, so the event leaves it out.
            let mut ended = transit.outcome.as_object().cloned().unwrap_or_default();
            ended.remove("output");
            note(transaction, &flow, &Event::StateEnded(ended), now)?;
            match transit.next {
                NextState::State { name, visits, transitions, feedback } => {
                    if let Some(question) = &flow.question {
                        questions::withdraw(transaction, question)?;
                    }
                    transaction.execute(
                        "UPDATE flow SET state = ?2, visits = ?3, transitions = ?4, feedback = ?5, step = 'null', \
                         question = NULL, entered_at = ?6 WHERE id = ?1",
                        params![
                            id,
                            name,
                            compact_text(visits).expect("counts are JSON"),
                            i64::try_from(transitions).unwrap_or(i64::MAX),
                            feedback,
                            now.unix_micros()
                        ],
                    )?;
                    (flow.state, flow.visits) = (name.to_owned(), visits.clone());
                    note(transaction, &flow, &Event::StateEntered, now)?;
                }
                NextState::End(error) => {
                    let status = if error.is_some() { FlowStatus::Failed } else { FlowStatus::Completed };
                    end(transaction, &flow, status, error, now)?;
                }
            }
            Ok(WriteOutcome::Written)
        })
    }

    /// Ends an execution. Returns false if it had already ended; the first end is kept.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn end_flow(
        &self,
        id: &str,
        status: FlowStatus,
        error: Option<(&str, &str)>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.change(|transaction| {
            let flow = by_id(transaction, None, id)?;
            if flow.status.is_over() {
                return Ok(false);
            }
            end(transaction, &flow, status, error, now)?;
            Ok(true)
        })
    }

    /// Answers the pending question of an execution. Only the first answer counts.
    ///
    /// # Errors
    /// Returns `not_found`, or `not_waiting` if no question is pending. Also fails on a disk error.
    pub fn answer_flow(
        &self,
        owner: Option<&str>,
        id: &str,
        make: &dyn Fn(&QuestionForm) -> Result<Answer, StoreError>,
        by: &str,
        redactor: &Redactor,
        now: Timestamp,
    ) -> Result<Flow, StoreError> {
        self.change(|transaction| {
            let flow = by_id(transaction, owner, id)?;
            let question = flow.question.clone().filter(|_| !flow.status.is_over());
            let waiting =
                question.map(|id| questions::waiting(transaction, &self.key, &id)).transpose()?.flatten();
            let none =
                || StoreError::refused(ErrorCode::NotWaiting, "the execution is not waiting for an answer");
            let question = waiting.ok_or_else(none)?;
            let answer = make(&question.asked)?;
            questions::answer(transaction, &self.key, &question, &answer, by, redactor, now)?;
            note(transaction, &flow, &Event::PersonAnswered { by }, now)?;
            Ok(flow)
        })
    }

    /// Pauses or resumes an execution.
    ///
    /// # Errors
    /// Returns `not_found` or `already_ended`. Also fails on a disk error.
    pub fn pause_flow(
        &self,
        owner: Option<&str>,
        id: &str,
        is_paused: bool,
        now: Timestamp,
    ) -> Result<Flow, StoreError> {
        self.change_flow(id, |transaction| {
            let flow = by_id(transaction, owner, id)?;
            if flow.status.is_over() {
                return Err(ended(&flow));
            }
            if flow.is_paused != is_paused {
                transaction
                    .execute("UPDATE flow SET is_paused = ?2 WHERE id = ?1", params![id, is_paused])?;
                let event = if is_paused { Event::WorkflowPaused } else { Event::WorkflowResumed };
                note(transaction, &flow, &event, now)?;
            }
            by_id(transaction, None, id)
        })
    }

    /// Writes members of the blackboard.
    ///
    /// # Errors
    /// Returns `not_found`, `already_ended` or `too_large`. Also fails on a disk error.
    pub fn put_in_flow(
        &self,
        owner: Option<&str>,
        id: &str,
        members: &Object,
        now: Timestamp,
    ) -> Result<Flow, StoreError> {
        self.change_flow(id, |transaction| {
            let flow = by_id(transaction, owner, id)?;
            if flow.status.is_over() {
                return Err(ended(&flow));
            }
            let blackboard = merged(&flow, members)?;
            transaction.execute("UPDATE flow SET blackboard = ?2 WHERE id = ?1", params![id, blackboard])?;
            let members = members.keys().map(String::as_str).collect();
            note(transaction, &flow, &Event::BlackboardWritten { members }, now)?;
            by_id(transaction, None, id)
        })
    }

    /// Takes over an execution whose process is gone. Returns false if another process was faster.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn take_flow_over(&self, flow: &Flow, gateway: &str, now: Timestamp) -> Result<bool, StoreError> {
        self.change_flow(&flow.id, |transaction| {
            let Some(flow) = held(transaction, &flow.id, &flow.gateway)? else { return Ok(false) };
            transaction.execute("UPDATE flow SET gateway = ?2 WHERE id = ?1", params![flow.id, gateway])?;
            note(transaction, &flow, &Event::WorkflowTakenOver, now)?;
            Ok(true)
        })
    }

    /// Removes an ended execution with its events. Keeps the events of its workflow.
    ///
    /// # Errors
    /// Returns `not_found` or `not_ended`. Also fails on a disk error.
    pub fn remove_flow(&self, owner: Option<&str>, id: &str) -> Result<Flow, StoreError> {
        self.change(|transaction| {
            let flow = by_id(transaction, owner, id)?;
            if !flow.status.is_over() {
                return Err(StoreError::refused(
                    ErrorCode::NotEnded,
                    "the execution has not ended; cancel it first",
                ));
            }
            transaction.execute("UPDATE event SET execution = NULL WHERE execution = ?1", [id])?;
            transaction.execute("DELETE FROM flow WHERE id = ?1", [id])?;
            Ok(flow)
        })
    }

    /// Lists the events of an execution: a page, oldest first, and the total number.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn flow_events(
        &self,
        owner: Option<&str>,
        id: &str,
        limit: usize,
        offset: usize,
    ) -> Result<(Flow, Vec<StoredEvent>, usize), StoreError> {
        self.look(|transaction| {
            let flow = by_id(transaction, owner, id)?;
            let (events, total) = page(transaction, "execution", id, limit, offset)?;
            Ok((flow, events, total))
        })
    }
}

#[cfg(test)]
mod tests;
