//! The source of a call's arguments.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use brigade_call::ArgsProblem;
use brigade_core::text::escape_terminal;
use brigade_core::{Json, Object};
use brigade_policy::Failure;
use brigade_workspace::gather::{self, PlannedCall};
use brigade_workspace::{Config, DOCUMENT_LIMIT, WorkspaceContext, near_path, parse_json};

/// The source of a call's arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgsSource {
    /// No arguments.
    None,
    /// A JSON text.
    Inline(String),
    /// A JSON text that was read from standard input.
    StandardInput(String),
    /// A JSON file.
    File(PathBuf),
    /// Both were given, which is reported like any other invalid arguments.
    Both,
    /// A value.
    Value(Json),
}

impl From<Json> for ArgsSource {
    fn from(value: Json) -> ArgsSource {
        ArgsSource::Value(value)
    }
}

fn args(context: &WorkspaceContext, source: &ArgsSource) -> Result<Json, ArgsProblem> {
    match source {
        ArgsSource::None => Ok(Json::Object(Object::new())),
        ArgsSource::Value(value) => Ok(value.clone()),
        ArgsSource::Both => Err(ArgsProblem::GivenTwice),
        ArgsSource::Inline(text) => Json::parse(text).map_err(|error| ArgsProblem::NotJson {
            file: None,
            error,
            text: Some(text.clone()),
        }),
        ArgsSource::StandardInput(text) => {
            Json::parse(text).map_err(|error| ArgsProblem::NotJson { file: None, error, text: None })
        }
        ArgsSource::File(path) => args_file(context, path),
    }
}

/// Plans a call of a tool that a person named. See [`gather::plan_request`]. Typed arguments that violate the schema
/// are shown.
pub(crate) fn plan_request(
    context: &WorkspaceContext,
    config: &Arc<Config>,
    tool: &str,
    source: &ArgsSource,
) -> Result<(PlannedCall, Option<Failure>), Failure> {
    let (mut planned, missing) = gather::plan_request(context, config, tool, args(context, source))?;
    if let ArgsSource::Inline(text) = source
        && !planned.plan.blockers().is_empty()
    {
        planned.plan.mark_arguments(text, &gather::telling_values(context));
    }
    Ok((planned, missing))
}

fn args_file(context: &WorkspaceContext, path: &Path) -> Result<Json, ArgsProblem> {
    let typed = path;
    let path = context.typed_path(path);
    let bytes = context.fs.read_given(&path, DOCUMENT_LIMIT).map_err(|error| {
        let shown = path.display().to_string();
        ArgsProblem::Unreadable {
            why: format!("`{}`: {}", escape_terminal(&shown), error.kind),
            meant: error.is_not_found().then(|| near_path(typed, &path)).flatten(),
        }
    })?;
    parse_json(&bytes).map_err(|error| ArgsProblem::NotJson {
        file: Some(path.display().to_string()),
        error,
        text: None,
    })
}
