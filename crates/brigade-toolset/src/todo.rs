//! The todo list of a session: `todo.*`.

use brigade_access::LiveSession;
use brigade_core::{ErrorCode, Json};
use brigade_db::todos::{Todo, TodoStatus};
use serde::{Deserialize, Serialize};

use crate::context::{Context, Failure, Output};
use crate::run::{Function, arguments};

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[("todo.read", read), ("todo.write", write)];

#[derive(Deserialize)]
struct WriteArgs {
    todos: Vec<TodoInput>,
}

/// An entry as clients write it. Clients use different words for the text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TodoInput {
    id: Option<String>,
    content: Option<String>,
    description: Option<String>,
    active_form: Option<String>,
    text: Option<String>,
    status: String,
}

fn session<'a>(context: &Context<'a>) -> Result<&'a str, Failure> {
    context
        .session
        .map(LiveSession::id)
        .ok_or_else(|| Failure::new(ErrorCode::NoSession, "only the session of an agent has a list"))
}

#[derive(Serialize)]
struct TodoRow {
    id: String,
    content: String,
    status: &'static str,
}

/// The result of `todo.read`.
#[derive(Serialize)]
struct TodoList {
    count: usize,
    todos: Vec<TodoRow>,
}

/// The result of `todo.write`.
#[derive(Serialize)]
struct TodoWriteResult {
    updated: bool,
    #[serde(flatten)]
    list: TodoList,
}

impl From<Vec<Todo>> for TodoList {
    fn from(todos: Vec<Todo>) -> TodoList {
        let row = |todo: Todo| TodoRow { id: todo.id, content: todo.content, status: todo.status.as_str() };
        TodoList { count: todos.len(), todos: todos.into_iter().map(row).collect() }
    }
}

fn write(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let session = session(context)?;
    let WriteArgs { todos } = arguments(input)?;
    let invalid = |message: String| Failure::new(ErrorCode::InvalidArguments, message);
    let mut list = Vec::with_capacity(todos.len());
    for (index, given) in todos.into_iter().enumerate() {
        let number = index + 1;
        let texts = [given.content, given.description, given.active_form, given.text];
        let content = texts.into_iter().flatten().find(|text| !text.trim().is_empty());
        let content = content.ok_or_else(|| invalid(format!("entry {number} has no `content`")))?;
        let status = TodoStatus::from_word(&given.status).ok_or_else(|| {
            invalid(format!("entry {number} has an unknown status; use one of {}", TodoStatus::EXPECTED))
        })?;
        let id = given.id.filter(|id| !id.is_empty()).unwrap_or_else(|| number.to_string());
        let masked = |text: &str| context.redactor.redact_str(text);
        list.push(Todo { id: masked(&id), content: masked(&content), status });
    }
    context.store()?.write_todos(session, &list, context.clock.now())?;
    Ok(Output::from_result(&TodoWriteResult { updated: true, list: list.into() }))
}

fn read(_input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let session = session(context)?;
    let list = match context.stored()? {
        Some(store) => store.read_todos(session)?,
        None => Vec::new(),
    };
    Ok(Output::from_result(&TodoList::from(list)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::testing::{Bench, text};

    #[test]
    fn the_list_of_a_session_is_replaced() {
        let bench = Bench::new();
        assert_eq!(bench.call("todo.read", "{}").get("count"), Some(&Json::from(0)));
        let list = r#"{"todos": [{"content": "Cook", "status": "in_progress"},
            {"id": "b", "activeForm": "Serving; ghp_0123456789abcdefghijABCDEFGHIJ012345", "status": "pending"}]}"#;
        let written = bench.call("todo.write", list);
        assert_eq!(written.get("count"), Some(&Json::from(2)));
        let read = bench.call("todo.read", "{}");
        assert_eq!(read.get("todos"), written.get("todos"));
        let todos = read.get("todos").unwrap().as_array().unwrap();
        assert_eq!((text(&todos[0], "id"), text(&todos[1], "id")), ("1", "b"));
        assert!(!text(&todos[1], "content").contains("ghp_0123456789"));
        for (args, code) in [
            (r#"{"todos": [{"content": "x", "status": "later"}]}"#, ErrorCode::InvalidArguments),
            (r#"{"todos": [{"status": "pending"}]}"#, ErrorCode::InvalidArguments),
            (
                r#"{"todos": [{"id": "a", "text": "x", "status": "pending"}, {"id": "a", "text": "y", "status": "pending"}]}"#,
                ErrorCode::DuplicateId,
            ),
        ] {
            assert_eq!(bench.code("agent:ada", "todo.write", args), code, "{args}");
        }
        // A refused write changes nothing.
        assert_eq!(bench.call("todo.read", "{}").get("count"), Some(&Json::from(2)));
        bench.call("todo.write", r#"{"todos": []}"#);
        assert_eq!(bench.call("todo.read", "{}").get("count"), Some(&Json::from(0)));
    }
}
