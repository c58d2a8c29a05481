//! Schemas of manifests: `schema.get` and `schema.validate`.

use brigade_core::{ErrorCode, Json};
use brigade_toolset::{Context, Failure, Output, arguments};
use serde::{Deserialize, Serialize};

use crate::manifest::{Agent, Fault, Kind, Manifest, Workflow, read, schema_of};
use crate::runner::TaskRunner;
use crate::tools::Function;

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[("schema.get", get), ("schema.validate", validate)];

#[derive(Deserialize)]
struct GetArgs {
    key: String,
}

#[derive(Deserialize)]
struct ValidateArgs {
    kind: String,
    manifest_yaml: String,
}

/// A fault or warning in a manifest.
#[derive(Serialize)]
pub(crate) struct FaultRow {
    line: usize,
    column: usize,
    path: String,
    message: String,
}

impl FaultRow {
    /// Creates a row about a path, without a place in the text.
    pub(crate) fn of_whole(path: &str, message: &str) -> FaultRow {
        FaultRow { line: 1, column: 1, path: path.to_owned(), message: message.to_owned() }
    }
}

/// The faults of a manifest, as data of the failure to deploy it.
#[derive(Serialize)]
pub(crate) struct ManifestFaults {
    pub(crate) errors: Vec<FaultRow>,
    pub(crate) warnings: Vec<FaultRow>,
}

/// The result of `schema.validate` and `workflow.validate`.
#[derive(Serialize)]
struct ValidateResult {
    valid: bool,
    /// Each fault as a text; `None` without faults.
    errors: Option<Vec<String>>,
    /// The same with places.
    faults: Vec<FaultRow>,
    warnings: Vec<FaultRow>,
}

/// `schema.get`
fn get(input: &Json, _: &mut Context<'_>, _: &TaskRunner<'_>) -> Result<Output, Failure> {
    let GetArgs { key } = arguments(input)?;
    let Some(kind) = Kind::ALL.iter().find(|kind| kind.schema_key() == key) else {
        let known: Vec<String> = Kind::ALL.iter().map(|kind| format!("`{}`", kind.schema_key())).collect();
        return Err(Failure::new(ErrorCode::UnknownKey, format!("the keys are {}", known.join(" and "))));
    };
    Ok(Output { structured: schema_of(*kind), text: None })
}

/// `schema.validate`
fn validate(input: &Json, _: &mut Context<'_>, _: &TaskRunner<'_>) -> Result<Output, Failure> {
    let ValidateArgs { kind, manifest_yaml } = arguments(input)?;
    // Accept the word of Brigade and the one in manifests.
    let named = Kind::ALL.iter().copied().find(|known| known.word() == kind);
    match Kind::from_word(&kind).or(named) {
        Some(Kind::Agent) => Ok(validated::<Agent>(&manifest_yaml)),
        Some(Kind::Workflow) => Ok(validated::<Workflow>(&manifest_yaml)),
        None => Err(Failure::new(ErrorCode::UnknownKind, format!("the kinds are {}", Kind::EXPECTED))),
    }
}

/// Validates a manifest.
pub(crate) fn validated<M: Manifest>(text: &str) -> Output {
    let read = read::<M>(text);
    let valid = read.manifest.is_some();
    let lines: Vec<String> = read
        .faults
        .iter()
        .map(|fault| format!("{fault}\n"))
        .chain(read.warnings.iter().map(|warning| format!("warning: {warning}\n")))
        .collect();
    let errors: Vec<String> = read.faults.iter().map(ToString::to_string).collect();
    let errors = Some(errors).filter(|errors| !errors.is_empty());
    let (faults, warnings) = (faults(&read.faults), faults(&read.warnings));
    Output::from_result(&ValidateResult { valid, errors, faults, warnings })
        .text(format!("{}\n{}", if valid { "valid" } else { "not valid" }, lines.concat()).trim_end())
}

/// Converts faults.
pub(crate) fn faults(faults: &[Fault]) -> Vec<FaultRow> {
    let row = |fault: &Fault| FaultRow {
        line: fault.at.line,
        column: fault.at.column,
        path: fault.path.clone(),
        message: fault.message.clone(),
    };
    faults.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, text};

    #[test]
    fn schemas_and_faults_come_from_the_same_types() {
        let bench = Bench::new();
        let schema = bench.call("schema.get", r#"{"key": "agent/manifest/v1"}"#);
        assert_eq!(text(&schema, "title"), "Agent");
        assert_eq!(bench.code("agent:ada", "schema.get", r#"{"key": "x"}"#), ErrorCode::UnknownKey);
        let check = |manifest: &str| {
            let args = Json::object([("kind", Json::from("agent")), ("manifest_yaml", Json::from(manifest))]);
            bench.call("schema.validate", &args.to_compact())
        };
        let named = r#"{"kind": "Workflow", "manifest_yaml": "kind: Workflow"}"#;
        assert_eq!(bench.call("schema.validate", named).get("valid"), Some(&Json::from(false)));
        assert_eq!(
            bench.code("agent:ada", "schema.validate", r#"{"kind": "AGENT", "manifest_yaml": ""}"#),
            ErrorCode::UnknownKind
        );
        let manifest =
            "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {name: a}\nspec: {runtime: {image: a/b}}\n";
        let valid = check(manifest);
        assert_eq!((valid.get("valid"), valid.get("errors")), (Some(&Json::from(true)), Some(&Json::Null)));
        let found = check(&manifest.replace("name: a", "nam: a"));
        let error = found.get("errors").unwrap().as_array().unwrap()[0].as_str().unwrap();
        assert!(error.starts_with("line 3, column "), "{error}");
        let fault = &found.get("faults").unwrap().as_array().unwrap()[0];
        assert_eq!((fault.get("line"), text(fault, "path")), (Some(&Json::from(3)), "metadata.name"));
        let kind = r#"{"kind": "task", "manifest_yaml": ""}"#;
        assert_eq!(bench.code("agent:ada", "schema.validate", kind), ErrorCode::UnknownKind);
    }
}
