//! Caches the reviewed schemas of tools, so that each file is read once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use brigade_access::builtin::Definition;
use brigade_call::{FileFact, SchemaFact};
use brigade_core::Json;

use crate::files::{EntryFile, ToolReader, compile_schema, parse_json};

/// A reviewed schema: the bytes of a file, or a built-in schema.
#[derive(Clone, Debug)]
pub enum SchemaText {
    /// The bytes of a file.
    File(Arc<[u8]>),
    /// A built-in schema.
    Own(&'static Json),
}

impl SchemaText {
    /// Returns it as JSON. Invalid JSON becomes the schema of any object.
    pub fn json(&self) -> Json {
        match self {
            SchemaText::File(bytes) => {
                parse_json(bytes).unwrap_or_else(|_| Json::object([("type", Json::from("object"))]))
            }
            SchemaText::Own(json) => (*json).clone(),
        }
    }

    /// Returns its address in memory. It is equal for clones, and for tools that name the same file.
    pub fn address(&self) -> usize {
        match self {
            SchemaText::File(bytes) => bytes.as_ptr().addr(),
            SchemaText::Own(json) => std::ptr::from_ref(*json).addr(),
        }
    }
}

/// The result of reading the schema of a tool.
pub(crate) enum SchemaFound {
    /// A schema.
    Text(SchemaText),
    /// No schema, and why.
    None(FileFact),
}

impl SchemaFound {
    /// Returns the schema.
    pub(crate) fn text(&self) -> Option<SchemaText> {
        match self {
            SchemaFound::Text(text) => Some(text.clone()),
            SchemaFound::None(_) => None,
        }
    }
}

/// A schema file, and its compiled form.
type CompiledSchema = Arc<(SchemaFound, SchemaFact)>;

/// The schemas that were read together.
#[derive(Default)]
pub(crate) struct Schemas {
    /// By base directory (`None` for the workspace) and path.
    files: Mutex<HashMap<(Option<PathBuf>, String), CompiledSchema>>,
}

impl Schemas {
    /// Returns the schema of a tool's arguments, and its compiled form for a plan.
    pub(crate) fn input(&self, reader: &ToolReader<'_>) -> CompiledSchema {
        if let Some(row) = reader.row() {
            return own(row.input_schema());
        }
        match (reader.tool.reads, reader.tool.input_schema_path.as_deref()) {
            (None, Some(path)) if !path.is_empty() => self.file(reader, path),
            _ => compiled(reader.input_schema()),
        }
    }

    /// Returns the schema of a tool's result, and its compiled form.
    pub(crate) fn output(&self, reader: &ToolReader<'_>) -> CompiledSchema {
        if let Some(row) = reader.row() {
            return own(Definition::output_schema(row));
        }
        match reader.tool.output_schema_path.as_deref() {
            Some(path) if !path.is_empty() => self.file(reader, path),
            _ => compiled(reader.output_schema()),
        }
    }

    fn file(&self, reader: &ToolReader<'_>, path: &str) -> CompiledSchema {
        let key = (reader.tool.directory_of_documents().map(PathBuf::from), path.to_owned());
        let files = || self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = files().get(&key) {
            return known.clone();
        }
        let read = compiled(reader.document(Some(path)));
        files().entry(key).or_insert(read).clone()
    }
}

/// Built-in schemas always compile; a test checks all.
fn own(schema: &'static Json) -> CompiledSchema {
    let fact = SchemaFact::File(FileFact::Present(brigade_core::Fingerprint::of_bytes(b"")));
    Arc::new((SchemaFound::Text(SchemaText::Own(schema)), fact))
}

fn compiled(read: EntryFile) -> CompiledSchema {
    let fact = match &read {
        EntryFile::Bytes(bytes) => compile_schema(bytes),
        found => SchemaFact::File(found.fact()),
    };
    Arc::new((found(read), fact))
}

fn found(read: EntryFile) -> SchemaFound {
    match read {
        EntryFile::Bytes(bytes) => SchemaFound::Text(SchemaText::File(Arc::from(bytes))),
        none => SchemaFound::None(none.fact()),
    }
}

#[cfg(test)]
mod tests {
    use brigade_catalog::{Family, Tool};
    use brigade_schema::Schema;

    use super::*;
    use crate::testing::Bench;

    #[test]
    fn every_schema_of_the_program_compiles() {
        for row in brigade_access::builtin::definitions() {
            for schema in [row.input_schema(), row.output_schema()] {
                assert!(Schema::compile_root(&schema.to_serde()).is_ok(), "{}", row.id);
            }
        }
    }

    #[test]
    fn tools_that_name_the_same_file_share_its_schema() {
        let bench = Bench::new(&[("a.json", "{\"type\": \"object\"}"), ("bad.json", "{")]);
        let tool = |path: &str| Tool {
            input_schema_path: Some(path.to_owned()),
            ..Tool::new("go", Family::Script).unwrap()
        };
        let schemas = Schemas::default();
        let address = |tool: &Tool| {
            let reader = ToolReader { host: bench.host(), tool, outside: &[] };
            schemas.input(&reader).0.text().map(|text| text.address())
        };
        assert_eq!(address(&tool("a.json")), address(&tool("a.json")));
        assert_ne!(address(&tool("a.json")), address(&tool("bad.json")));
        assert_eq!((address(&tool("gone.json")), address(&tool(""))), (None, None));
    }

    #[test]
    fn a_schema_that_is_not_json_is_listed_as_any_object() {
        let any = crate::testing::json("{\"type\": \"object\"}");
        assert_eq!(SchemaText::File(Arc::from(&b"{"[..])).json(), any);
        assert_eq!(SchemaText::File(Arc::from(&b"{\"title\": \"x\"}"[..])).json().get("type"), None);
    }

    #[test]
    fn a_schema_of_a_built_in_tool_is_not_a_file() {
        let bench = Bench::new(&[]);
        let tool = brigade_access::builtin::entry("fs.read").unwrap();
        let reader = ToolReader { host: bench.host(), tool, outside: &[] };
        let schemas = Schemas::default();
        for compiled in [schemas.input(&reader), schemas.output(&reader)] {
            assert!(matches!(compiled.0.text(), Some(SchemaText::Own(_))));
        }
    }
}
