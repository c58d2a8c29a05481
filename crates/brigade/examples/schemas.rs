//! Writes the JSON Schema of every document of `--json`, as one JSON object from schema id to schema.
//!
//! `cargo run -p brigade --features schemas --example schemas`; `cargo xtask schemas` keeps them under `docs/schemas/`.

#![allow(clippy::print_stdout, reason = "printing is all that this program does")]

use std::collections::BTreeMap;

use brigade::core::Json;
use brigade::*;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

fn main() {
    let schemas: BTreeMap<&str, Value> = all().into_iter().collect();
    println!("{}", Value::from_iter(schemas.into_iter().map(|(id, schema)| (id.to_owned(), schema))));
}

/// Every document, by its id.
fn all() -> Vec<(&'static str, Value)> {
    macro_rules! reports {
        ($($report:ty),* $(,)?) => { vec![$((<$report>::SCHEMA, schema_of::<$report>(<$report>::SCHEMA))),*] };
    }
    let mut schemas = reports![
        ApplyReport,
        BriefReport,
        CallReport,
        CatalogReport,
        CheckpointListReport,
        CheckpointReport,
        CheckpointReviewReport,
        CloseoutReport,
        CompactReport,
        ContractsReport,
        DefaultsReport,
        DescribeReport,
        EnvelopeReport,
        ExplainReport,
        FixReport,
        HarnessListReport,
        HarnessReport,
        ImportMcpReport,
        ImportReport,
        InboxItemReport,
        InboxReport,
        InitReport,
        KeyReport,
        LedgerReport,
        ParityReport,
        PinListReport,
        PinReport,
        PlanReport,
        PolicyHealthReport,
        PolicyReport,
        ProjectionPlanReport,
        QueueReport,
        ReplayReport,
        ResumeReport,
        ReviewReport,
        RunListReport,
        RunLogReport,
        RunReport,
        RunShowReport,
        RuntimeHealthReport,
        RuntimeListReport,
        RuntimeLogsReport,
        RuntimeReport,
        RuntimeRestartReport,
        RuntimeStartReport,
        RuntimeStatusReport,
        RuntimeStopReport,
        SearchReport,
        ShowReport,
        StateReport,
        SyncPlanReport,
        ToolLinesReport,
    ];
    schemas.extend(OF_THE_FACE.iter().map(|(id, about, keys)| (*id, schema_of_keys(id, about, keys))));
    schemas
}

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_serialize().into_generator()
}

fn schema_key(id: &str) -> Value {
    json!({"description": "The schema id.", "const": id})
}

/// Makes the schema of one document; its `schema` is the one constant.
fn schema_of<T: JsonSchema>(id: &str) -> Value {
    let mut schema: Schema = generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), json!(id));
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    let properties = properties.expect("every document is an object with keys");
    properties.insert("schema".to_owned(), schema_key(id));
    // What can be refused says then what a failure says.
    let can_be_refused = properties.contains_key("error") && id != EnvelopeReport::SCHEMA;
    if can_be_refused || id == QueueReport::SCHEMA {
        let mut of_failures = generator().into_root_schema_for::<Diagnosis>();
        let of_failures = of_failures.get_mut("properties").and_then(Value::as_object_mut);
        properties.extend(of_failures.map(std::mem::take).into_iter().flatten());
    }
    schema.to_value()
}

/// A key of a document: its name, what it is, and its schema. A name that ends in `?` may be absent.
type Key = (&'static str, &'static str, fn(&mut SchemaGenerator) -> Schema);

fn is<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The documents that the command line writes piece by piece or by itself.
const OF_THE_FACE: &[(&str, &str, &[Key])] = &[
    (
        "brigade.call-list.v1",
        "`call list`: the calls, written while they are read.",
        &[
            ("target", "The workspace.", is::<String>),
            ("calls_path", "The queue's file.", is::<String>),
            (
                "counts",
                "How many calls of each status the queue has, listed or not.",
                is::<BTreeMap<String, u64>>,
            ),
            ("calls", "The calls, oldest first.", is::<Vec<Json>>),
            ("notes?", "Why nothing may be listed, such as a tool that is not there.", is::<Vec<String>>),
            ("error?", "Why reading stopped early.", is::<String>),
        ],
    ),
    (
        "brigade.run-export.v1",
        "`run export --json`: the receipt of a run as a DSSE envelope. Without `--json` the envelope has no `schema`.",
        &[
            ("payloadType", "What the payload is.", is::<String>),
            ("payload", "The statement, as base64.", is::<String>),
            ("signatures", "Signatures with `keyid` and `sig`; empty without a key.", is::<Vec<Json>>),
        ],
    ),
    (
        BatchReport::SCHEMA,
        "`call queue --stdin`: what became of each line, written while the lines are read.",
        &[
            ("target", "The workspace.", is::<String>),
            ("calls_path", "The queue's file.", is::<String>),
            ("rows", "The lines that are not empty, in order.", is::<Vec<BatchRow>>),
            ("created?", "Calls that were stored.", is::<usize>),
            ("skipped?", "Calls that were there, or were rejected before.", is::<usize>),
            ("refused?", "Lines that are no call, or whose call is blocked.", is::<usize>),
            ("error?", "Why it stopped early.", is::<String>),
        ],
    ),
    (
        "brigade.state-export.v1",
        "`state export`: everything that the state holds, written while it is read.",
        &[
            ("target", "The workspace.", is::<String>),
            ("records", "The records.", is::<Vec<Json>>),
            ("error?", "Why reading stopped early.", is::<String>),
        ],
    ),
    (
        "brigade.completions.v1",
        "`completions`: the script that a shell reads.",
        &[("shell", "The shell.", is::<String>), ("script", "Its text.", is::<String>)],
    ),
    (
        "brigade.demo.v1",
        "`demo`: the commands that were run, and what they said.",
        &[
            ("target", "The folder of the demo.", is::<String>),
            ("steps", "For each command `command`, `exit_code`, `stdout` and `stderr`.", is::<Vec<Json>>),
        ],
    ),
    (
        "brigade.error.v1",
        "Any command that could not do its job, and a command line that is not understood.",
        &[
            ("error", "What went wrong, in one sentence.", is::<String>),
            (
                "kind",
                "`not-found`, `ambiguous`, `refused`, `invalid-config`, `usage`, `environment` or `bug`.",
                is::<String>,
            ),
            ("exit_code", "The exit code.", is::<u8>),
            ("blockers", "Every reason, as sentences.", is::<Vec<String>>),
            (
                "blocker_details",
                "The same reasons with code, place and the way to change them.",
                is::<Vec<Json>>,
            ),
            ("candidates", "What could be meant, when more than one thing could.", is::<Vec<String>>),
            ("hints", "What to do next.", is::<Vec<String>>),
            ("code", "What went wrong: a code of docs/errors.md or docs/issues.md.", is::<String>),
            ("labels", "The places that it is about.", is::<Vec<Label>>),
            ("help", "What to do next, one step a line.", is::<Option<String>>),
        ],
    ),
    (
        "brigade.version.v1",
        "`--version`.",
        &[("name", "The program.", is::<String>), ("version", "Its version.", is::<String>)],
    ),
];

/// Makes the schema of a document from its keys.
fn schema_of_keys(id: &str, description: &str, keys: &[Key]) -> Value {
    let mut generator = generator();
    let mut properties = Map::from_iter([("schema".to_owned(), schema_key(id))]);
    let mut required = vec!["schema"];
    for (name, description, is) in keys {
        let mut schema = is(&mut generator);
        schema.insert("description".to_owned(), json!(description));
        properties.insert(name.trim_end_matches('?').to_owned(), schema.to_value());
        required.extend((!name.ends_with('?')).then_some(*name));
    }
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": id,
        "description": description,
        "type": "object",
        "properties": properties,
        "required": required,
    });
    let definitions = generator.take_definitions(true);
    if !definitions.is_empty() {
        schema["$defs"] = Value::Object(definitions);
    }
    schema
}
