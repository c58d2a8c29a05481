//! `prd-X.state.json`: the state file that other programs also read and write.

use brigade_core::{Json, Object, Timestamp};

use crate::life::{Life, MAX_HISTORY, ReviewResult, Stage, StateFile};

/// Makes a row without the members that have no value.
fn row<const N: usize>(members: [(&str, Json); N]) -> Object {
    let members = members.into_iter().filter(|(_, value)| !value.is_null());
    members.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn time(at: Timestamp) -> Json {
    Json::from(at.to_string())
}

/// Joins adopted rows with Brigade's own, and keeps the newest.
fn merge_entries(mut adopted: Vec<Object>, ours: impl Iterator<Item = Object>) -> Vec<Object> {
    adopted.extend(ours);
    let surplus = adopted.len().saturating_sub(MAX_HISTORY);
    adopted.drain(..surplus);
    adopted
}

impl StateFile {
    /// Makes the state file for a life.
    pub fn from_life(life: &Life) -> StateFile {
        let history = &life.history;
        let adopted = history.adopted.as_ref().map(|theirs| theirs.file().clone()).unwrap_or_default();
        let tasks = history.tasks.iter().map(|event| {
            row([
                ("taskId", Json::from(event.task.as_str())),
                ("worker", Json::from(event.tier.as_str())),
                ("status", Json::from(event.status.as_str())),
                ("timestamp", time(event.at)),
                ("duration", Json::from(event.seconds.map(|seconds| seconds.max(0.0) as u64))),
                ("errorCategory", Json::from(event.category.clone())),
                ("errorSummary", Json::from(event.summary.clone())),
                ("approach", Json::from(event.approach.clone())),
            ])
        });
        let escalations = history.escalations.iter().map(|(at, task, from, to, reason)| {
            row([
                ("taskId", Json::from(task.as_str())),
                ("from", Json::from(from.as_str())),
                ("to", Json::from(to.as_str())),
                ("reason", Json::from(reason.as_str())),
                ("timestamp", time(*at)),
            ])
        });
        // The format has two results, so unclear reviews are left out.
        let reviews = history.reviews.iter().filter(|(_, _, result, _)| *result != ReviewResult::Unclear);
        let reviews = reviews.map(|(at, task, result, reason)| {
            row([
                ("taskId", Json::from(task.as_str())),
                ("result", Json::from(result.as_str())),
                ("reason", Json::from(reason.as_str())),
                ("timestamp", time(*at)),
            ])
        });
        let absorptions = history.absorptions.iter().map(|(at, task, by)| {
            row([
                ("taskId", Json::from(task.as_str())),
                ("absorbedBy", Json::from(by.as_str())),
                ("timestamp", time(*at)),
            ])
        });
        let phases = history.phase_reviews.iter().map(|event| {
            row([
                ("completedTasks", Json::from(event.completed)),
                ("totalTasks", Json::from(event.total)),
                ("status", Json::from(event.status.as_str())),
                ("content", Json::from(event.content.as_str())),
                ("timestamp", time(event.at)),
            ])
        });
        let scopes = history.scope_decisions.iter().map(|event| {
            row([
                ("taskId", Json::from(event.task.as_str())),
                ("question", Json::from(event.question.as_str())),
                ("decision", Json::from(event.decision.as_str())),
                ("rationale", Json::from(event.rationale.as_str())),
                ("timestamp", time(event.at)),
                ("reviewedByHuman", Json::from(event.by_person)),
            ])
        });
        let walkaway = history.walkaway_decisions.iter().map(|event| {
            row([
                ("taskId", Json::from(event.task.as_str())),
                ("decision", Json::from(event.decision.as_str())),
                ("reason", Json::from(event.reason.as_str())),
                ("failureReason", Json::from(event.failure.as_str())),
                ("timestamp", time(event.at)),
            ])
        });
        let service = life.service.as_ref();
        StateFile {
            session_id: service.map(|service| service.id.clone()).or(adopted.session_id),
            started_at: adopted.started_at.or(history.started_at.map(|at| at.to_string())),
            last_start_time: service
                .map(|service| service.started_at.to_string())
                .or(adopted.last_start_time),
            current_task: current_task(life),
            task_history: merge_entries(adopted.task_history, tasks),
            escalations: merge_entries(adopted.escalations, escalations),
            reviews: merge_entries(adopted.reviews, reviews),
            absorptions: merge_entries(adopted.absorptions, absorptions),
            phase_reviews: merge_entries(adopted.phase_reviews, phases),
            scope_decisions: merge_entries(adopted.scope_decisions, scopes),
            walkaway_decisions: merge_entries(adopted.walkaway_decisions, walkaway),
            others: adopted.others,
        }
    }

    /// Formats the file, indented and in the order of the members.
    pub fn to_text(&self) -> String {
        let mut text = Vec::new();
        // Writing to memory cannot fail.
        let _ = brigade_core::json::write_document(&mut text, self);
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// Returns the running task, else the waiting one; the oldest if there are several.
fn current_task(life: &Life) -> Option<String> {
    let running = life.tasks.iter().filter_map(|(id, own)| match &own.stage {
        Stage::Attempting { since, .. } => Some((0, *since, id)),
        Stage::Checking(_) | Stage::Waiting(_) => Some((1, own.started_at?, id)),
        Stage::Open | Stage::Ended(_) => None,
    });
    running.min().map(|(_, _, id)| id.to_string())
}
