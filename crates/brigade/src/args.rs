//! Where the arguments of a call come from.

use std::path::{Path, PathBuf};

use brigade_call::ArgsProblem;
use brigade_core::text::escape_terminal;
use brigade_core::{Json, Object};

use crate::room::Room;
use brigade_facts::{DOCUMENT_LIMIT, parse_json};

/// Where the arguments of a call come from.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgsSource {
    /// There are none.
    None,
    /// A JSON text.
    Inline(String),
    /// A file that holds JSON.
    File(PathBuf),
    /// Both were given, which is refused like any other mistake in the arguments.
    Both,
    /// A value.
    Value(Json),
}

impl From<Json> for ArgsSource {
    fn from(value: Json) -> ArgsSource {
        ArgsSource::Value(value)
    }
}

impl Room {
    pub(crate) fn args(&self, source: &ArgsSource) -> Result<Json, ArgsProblem> {
        match source {
            ArgsSource::None => Ok(Json::Object(Object::new())),
            ArgsSource::Value(value) => Ok(value.clone()),
            ArgsSource::Both => Err(ArgsProblem::GivenTwice),
            ArgsSource::Inline(text) => {
                Json::parse(text).map_err(|error| ArgsProblem::NotJson { file: None, error })
            }
            ArgsSource::File(path) => self.args_file(path),
        }
    }

    fn args_file(&self, path: &Path) -> Result<Json, ArgsProblem> {
        let path = self.typed_path(path);
        let bytes = self.fs.read_outside(&path, DOCUMENT_LIMIT).map_err(|error| {
            let shown = path.display().to_string();
            ArgsProblem::Unreadable(format!("`{}`: {}", escape_terminal(&shown), error.kind))
        })?;
        parse_json(&bytes)
            .map_err(|error| ArgsProblem::NotJson { file: Some(path.display().to_string()), error })
    }
}
