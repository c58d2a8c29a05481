//! Saved scripts: `script.*`. A saved script does not run until a person makes a tool of it.

use brigade_core::{Json, Timestamp};
use brigade_db::scripts::{Script, ScriptText};
use serde::{Deserialize, Serialize};

use crate::context::{Context, Failure, Output};
use crate::run::{Function, arguments};

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[
    ("script.delete", delete),
    ("script.get", get),
    ("script.list", list),
    ("script.save", save),
    ("script.update", update),
];

#[derive(Deserialize)]
struct SaveArgs {
    name: String,
    code: String,
    description: Option<String>,
    tags: Option<Vec<String>>,
    language: Option<String>,
}

impl SaveArgs {
    fn text(self) -> ScriptText {
        let SaveArgs { name, code, description, tags, language } = self;
        ScriptText { name, code, description, tags, language }
    }
}

#[derive(Deserialize)]
struct UpdateArgs {
    id: String,
    #[serde(flatten)]
    text: SaveArgs,
}

#[derive(Deserialize)]
struct IdArgs {
    id: String,
}

#[derive(Deserialize)]
struct ListArgs {
    tag: Option<String>,
    q: Option<String>,
}

/// A script: the result of `script.save` and `script.update`, and a row of `script.list`.
#[derive(Serialize)]
struct ScriptRow {
    id: String,
    name: String,
    version: i64,
    language: String,
    description: String,
    tags: Vec<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// The result of `script.get`.
#[derive(Serialize)]
struct ScriptResult {
    #[serde(flatten)]
    script: ScriptRow,
    versions: Vec<VersionRow>,
}

#[derive(Serialize)]
struct VersionRow {
    version: i64,
    code: String,
    created_at: Timestamp,
}

#[derive(Serialize)]
struct ScriptList {
    total: usize,
    scripts: Vec<ScriptRow>,
}

#[derive(Serialize)]
struct ScriptDeleted {
    id: String,
    deleted: bool,
}

impl From<Script> for ScriptRow {
    fn from(script: Script) -> ScriptRow {
        ScriptRow {
            id: script.id,
            name: script.name,
            version: script.version,
            language: script.language,
            description: script.description,
            tags: script.tags,
            created_at: script.created_at,
            updated_at: script.updated_at,
        }
    }
}

fn save(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let text = arguments::<SaveArgs>(input)?.text();
    let script = context.store()?.save_script(&context.owner(), &text, context.clock.now())?;
    Ok(Output::from_result(&ScriptRow::from(script)))
}

fn update(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let UpdateArgs { id, text } = arguments(input)?;
    let script = context.store()?.update_script(context.agent(), &id, &text.text(), context.clock.now())?;
    Ok(Output::from_result(&ScriptRow::from(script)))
}

fn list(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let ListArgs { tag, q } = arguments(input)?;
    let scripts = match context.stored()? {
        Some(store) => store.scripts(context.agent(), tag.as_deref(), q.as_deref())?,
        None => Vec::new(),
    };
    let scripts: Vec<ScriptRow> = scripts.into_iter().map(ScriptRow::from).collect();
    Ok(Output::from_result(&ScriptList { total: scripts.len(), scripts }))
}

fn get(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let IdArgs { id } = arguments(input)?;
    let (script, versions) = context.stored_or_missing("script")?.script(context.agent(), &id)?;
    let versions = versions.into_iter().map(|version| VersionRow {
        version: version.version,
        code: version.code,
        created_at: version.created_at,
    });
    Ok(Output::from_result(&ScriptResult { script: script.into(), versions: versions.collect() }))
}

fn delete(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let IdArgs { id } = arguments(input)?;
    let script = context.store()?.delete_script(context.agent(), &id, context.clock.now())?;
    Ok(Output::from_result(&ScriptDeleted { id: script.id, deleted: true }))
}

#[cfg(test)]
mod tests {
    use brigade_core::ErrorCode;

    use super::*;
    use crate::stored::testing::{Bench, text};

    #[test]
    fn a_script_is_saved_updated_and_deleted() {
        let bench = Bench::new();
        assert_eq!(bench.call("script.list", "{}").get("total"), Some(&Json::from(0)));
        assert_eq!(bench.code("agent:ada", "script.get", r#"{"id": "script-0"}"#), ErrorCode::NotFound);
        let save = r#"{"name": "hello", "code": "print(1)", "language": "python", "tags": ["x"]}"#;
        let saved = bench.call("script.save", save);
        let id = text(&saved, "id").to_owned();
        assert_eq!((saved.get("version"), text(&saved, "language")), (Some(&Json::from(1)), "python"));
        assert_eq!(bench.code("agent:ada", "script.save", save), ErrorCode::NameTaken);
        let update = format!(r#"{{"id": "{id}", "name": "hello", "code": "print(2)"}}"#);
        assert_eq!(bench.call("script.update", &update).get("version"), Some(&Json::from(2)));
        let got = bench.call("script.get", &format!(r#"{{"id": "{id}"}}"#));
        assert_eq!(got.get("versions").unwrap().as_array().unwrap().len(), 2);
        assert_eq!(text(&got, "language"), "python");
        for tool in ["script.get", "script.delete"] {
            assert_eq!(bench.code("agent:bob", tool, &format!(r#"{{"id": "{id}"}}"#)), ErrorCode::NotFound);
        }
        assert_eq!(bench.code("agent:bob", "script.update", &update), ErrorCode::NotFound);
        assert_eq!(
            bench.code("agent:ada", "script.save", r#"{"name": "a/b", "code": "x"}"#),
            ErrorCode::InvalidName
        );
        // A person sees the scripts of all agents.
        let all = bench.call_as("command-line", "script.list", r#"{"q": "HEL"}"#).unwrap().structured;
        assert_eq!(all.get("total"), Some(&Json::from(1)));
        bench.call("script.delete", &format!(r#"{{"id": "{id}"}}"#));
        assert_eq!(text(&bench.call("script.save", save), "name"), "hello");
    }
}
