//! The registry of `--json` documents, with the types of each.
//!
//! A refused command writes another form of its document. The schemas in `docs/schemas` are generated from these types,
//! and tests parse the program's output with them.

use brigade::core::Json;
use brigade::core::json::{Mismatch, from_json, write_document};
use brigade::kitchen::*;
use brigade::report::*;

use crate::commands::completions::CompletionsReport;
use crate::commands::daily::explain::CodeReport;
use crate::commands::demo::stage::DemoReport;
use crate::render::batch::BatchDocument;
use crate::render::export::ExportReport;
use crate::render::failure::ErrorReport;
use crate::render::refusals::forms::*;
use crate::render::reviews::ReviewsReport;
use crate::usage::VersionReport;

/// A document of `--json`.
pub struct Document {
    id: SchemaId,
    forms: Vec<Form>,
}

/// One form of a document, defined by a type.
struct Form {
    rewritten: fn(&Json) -> Result<String, Mismatch>,
    #[cfg(feature = "schemas")]
    schema: fn() -> schemars::Schema,
}

impl Document {
    /// Returns the schema id.
    pub fn id(&self) -> SchemaId {
        self.id
    }

    /// Checks that a text is exactly what one form of this document would write.
    fn check(&self, text: &str, json: &Json) -> Result<(), String> {
        let mut problems = Vec::new();
        for form in &self.forms {
            match (form.rewritten)(json) {
                Ok(rewritten) if rewritten == text => return Ok(()),
                Ok(rewritten) => problems.push(first_difference(&rewritten, text)),
                Err(mismatch) => problems.push(mismatch.to_string()),
            }
        }
        Err(format!("{} does not match its type:\n{}", self.id, problems.join("\n")))
    }
}

/// Checks that a text is one of our documents: all members of its type, no others, in the same order.
///
/// # Errors
/// Fails with the differences.
pub fn check(text: &str) -> Result<(), String> {
    let json = Json::parse(text).map_err(|error| error.to_string())?;
    let id = json.get("schema").and_then(Json::as_str).ok_or("the document has no `schema`")?;
    let document = all().into_iter().find(|document| document.id == id);
    document.ok_or_else(|| format!("no document has the id {id}"))?.check(text, &json)
}

fn first_difference(rewritten: &str, text: &str) -> String {
    let mut lines = rewritten.lines().zip(text.lines()).enumerate();
    match lines.find(|(_, (rewritten, text))| rewritten != text) {
        Some((index, (rewritten, text))) => {
            format!("line {}: `{}` instead of `{}`", index + 1, text.trim(), rewritten.trim())
        }
        None => "one ends before the other".to_owned(),
    }
}

fn round_trip<T: serde::Serialize + serde::de::DeserializeOwned>(json: &Json) -> Result<String, Mismatch> {
    let mut text = Vec::new();
    let document: T = from_json(json)?;
    write_document(&mut text, &document).map_err(<Mismatch as serde::de::Error>::custom)?;
    Ok(String::from_utf8(text).expect("documents are UTF-8"))
}

macro_rules! documents {
    ($($(#[$only:meta])? $report:ident $(or $form:ident)*,)*) => {
        /// Returns every document.
        pub fn all() -> Vec<Document> {
            Vec::from([
                $($(#[$only])? Document { id: $report::SCHEMA, forms: vec![form!($report), $(form!($form)),*] },)*
            ])
        }
    };
}

macro_rules! form {
    ($form:ident) => {
        Form {
            rewritten: round_trip::<$form>,
            #[cfg(feature = "schemas")]
            schema: || schema::generator().into_root_schema_for::<$form>(),
        }
    };
}

documents! {
    AgentListReport,
    AgentReport,
    AdoptReport,
    AgentToolsReport,
    AnswerReport,
    ApplyReport,
    ApprovalReport,
    BatchDocument,
    BriefReport,
    CallListReport,
    CallReport or CallRefused,
    CatalogReport,
    CheckpointListReport,
    CheckpointReport or CheckpointRefused,
    CheckpointReviewReport or CheckpointReviewRefused,
    CloseoutReport,
    CodeReport,
    CompactReport,
    CompletionsReport,
    ConnectReport,
    ContractsReport,
    CostReport,
    DecisionsReport,
    DefaultsReport,
    DemoReport,
    DescribeReport or ContractRefused,
    DiscoveryReport,
    EnableReport,
    Envelope,
    EnvelopeReport,
    ErrorReport,
    ExplainReport,
    ExportReport,
    FindReport,
    FixReport,
    HarnessListReport,
    HarnessReport,
    HistoryReport,
    ImportMcpReport,
    ImportReport,
    InboxItemReport or InboxItemRefused,
    InboxReport,
    InitReport,
    InstallReport,
    KeyReport,
    KitchenCleanReport,
    KitchenCostReport,
    KitchenInitReport,
    KitchenLogReport,
    KitchenReceiptsReport,
    KitchenVerifyReport,
    KitchenMapReport,
    KitchenPlanReport,
    LedgerReport,
    LifeReport,
    LoginReport,
    LogoutReport,
    #[cfg(feature = "builtin")]
    MemoryListReport,
    #[cfg(feature = "builtin")]
    MemoryReport,
    ObserveReport,
    PackArchiveReport,
    PackBuildReport,
    PackImportReport,
    PackListReport,
    PackShowReport,
    ParityReport,
    PendingReport,
    PinListReport,
    PinReport or PinRefused,
    PlanReport or PlanRefused,
    PolicyHealthReport,
    PolicyReport,
    PolicyTestReport,
    ProfileExplainReport,
    #[cfg(feature = "builtin")]
    PullRequestListReport,
    #[cfg(feature = "builtin")]
    PullRequestReport,
    ProfileListReport,
    ProfileReport,
    ProjectionPlanReport,
    QueueReport or QueueRefused,
    RegistriesReport,
    RegistryInfoReport,
    RegistrySearchReport,
    RegistrySyncReport,
    RegisterReport,
    ReplayReport or ReplayRefused,
    ResumeReport or ResumeRefused,
    ReviewCall,
    ReviewQuestion,
    ReviewReport or ReviewRefused or ReviewsReport,
    RunInputsReport,
    RunListReport,
    RunLogReport,
    RunReport or RunRefused,
    RunShowReport or RunShowRefused,
    RuntimeHealthReport,
    RuntimeListReport,
    RuntimeLogsReport,
    RuntimeReport or RuntimeRefused,
    RuntimeRestartReport or RuntimeRestartRefused,
    RuntimeStartReport or RuntimeStartRefused,
    RuntimeStatusReport,
    RuntimeStopReport or RuntimeStopRefused,
    SearchReport,
    SeriesReport,
    SetupReport,
    ServeReport,
    ServiceReport,
    ShowReport or ToolRefused,
    StateReport,
    CheckReport,
    StatsReport,
    StatusReport,
    SummaryReport,
    SyncPlanReport,
    #[cfg(feature = "team")]
    TeamAcceptFailoverReport,
    #[cfg(feature = "team")]
    TeamDoctorReport,
    #[cfg(feature = "team")]
    TeamExportReport,
    #[cfg(feature = "team")]
    TeamImportReport,
    #[cfg(feature = "team")]
    TeamInitReport,
    #[cfg(feature = "team")]
    TeamJoinReport,
    #[cfg(feature = "team")]
    TeamLeaveReport,
    #[cfg(feature = "team")]
    TeamMemberReport,
    #[cfg(feature = "team")]
    TeamMigrateReport,
    #[cfg(feature = "team")]
    TeamPruneReport,
    #[cfg(feature = "team")]
    TeamRosterReport,
    #[cfg(feature = "team")]
    TeamRuleReport,
    #[cfg(feature = "team")]
    TeamRunnerReport,
    #[cfg(feature = "team")]
    TeamStatusReport,
    #[cfg(feature = "team")]
    TeamVerifyReport,
    ToolLinesReport,
    TrustReport,
    UpdateReport,
    UpstreamStart,
    ValidationReport,
    WaitingReport,
    VersionReport,
    WorkersReport,
    WorkAnswerReport,
    #[cfg(feature = "builtin")]
    WorkTurnReport,
}

#[cfg(feature = "schemas")]
pub use schema::formats;

/// The JSON Schemas of the documents.
#[cfg(feature = "schemas")]
mod schema {
    use schemars::SchemaGenerator;
    use schemars::generate::SchemaSettings;
    use serde_json::{Map, Value, json};

    use super::Document;

    /// Returns the schemas of files that people and workers write, with their ids.
    pub fn formats() -> Vec<(&'static str, Value)> {
        let format = |id: &'static str, schema: schemars::Schema| {
            let mut schema = schema.to_value();
            schema["title"] = json!(id);
            list_words(&mut schema);
            (id, schema)
        };
        let generator = || SchemaSettings::draft2020_12().into_generator();
        let prd = generator().into_root_schema_for::<brigade::kitchen::PrdFormat>();
        let result = generator().into_root_schema_for::<brigade::kitchen::ResultFormat>();
        vec![format("brigade.prd.v1", prd), format("brigade.worker-result.v1", result)]
    }

    pub(super) fn generator() -> SchemaGenerator {
        SchemaSettings::draft2020_12().for_serialize().into_generator()
    }

    impl Document {
        /// Returns one schema for all forms, because a reader does not know which form to expect.
        pub fn schema(&self) -> Value {
            let mut forms = self.forms.iter().map(|form| (form.schema)().to_value());
            let mut schema = forms.next().expect("a document has a form");
            for form in forms {
                merge(&mut schema, form);
            }
            schema["title"] = json!(self.id);
            schema["properties"]["schema"] = json!({"description": "The schema id.", "const": self.id});
            let required = schema["required"].as_array_mut().expect("members are required");
            if !required.iter().any(|name| name == "schema") {
                required.insert(0, json!("schema"));
            }
            list_words(&mut schema);
            schema
        }
    }

    /// Merges separately documented keywords into one list, because our subset of JSON Schema lacks `oneOf`.
    fn list_words(schema: &mut Value) {
        match schema {
            Value::Object(members) => {
                let words = members.get("oneOf").and_then(Value::as_array).and_then(|each| {
                    let words = each.iter().map(|one| match (one.get("const"), one["enum"].as_array()) {
                        (Some(word), None) => Some(vec![word.clone()]),
                        (None, Some(words)) => Some(words.clone()),
                        _ => None,
                    });
                    words.collect::<Option<Vec<_>>>()
                });
                if let Some(words) = words {
                    members.remove("oneOf");
                    members.insert("type".to_owned(), json!("string"));
                    members.insert("enum".to_owned(), words.concat().into());
                }
                members.values_mut().for_each(list_words);
            }
            Value::Array(items) => items.iter_mut().for_each(list_words),
            _ => {}
        }
    }

    /// Adds another form to the schema of a document.
    fn merge(schema: &mut Value, mut form: Value) {
        let required = form["required"].take();
        let is_required = |name: &Value| required.as_array().is_some_and(|names| names.contains(name));
        schema["required"].as_array_mut().expect("members are required").retain(is_required);
        for (name, of_form) in members(&mut form, "properties") {
            match schema["properties"].get_mut(&name) {
                Some(known) => widen(known, of_form),
                None => schema["properties"][name] = of_form,
            }
        }
        let definitions = members(&mut form, "$defs");
        if !definitions.is_empty() && schema.get("$defs").is_none() {
            schema["$defs"] = json!({});
        }
        for (name, definition) in definitions {
            let known = schema["$defs"].get(&name);
            assert!(known.is_none_or(|known| *known == definition), "two types are named {name}");
            schema["$defs"][name] = definition;
        }
    }

    fn members(schema: &mut Value, key: &str) -> Map<String, Value> {
        schema.get_mut(key).and_then(Value::as_object_mut).map(std::mem::take).unwrap_or_default()
    }

    /// Widens the schema of a member to allow its values in another form.
    fn widen(known: &mut Value, mut other: Value) {
        let description = known.get("description").cloned();
        for schema in [&mut *known, &mut other] {
            schema.as_object_mut().expect("a schema is an object").remove("description");
        }
        if *known != other && !permits(known, &other) {
            if let (Some(known), Some(others)) =
                (known.get_mut("anyOf").and_then(Value::as_array_mut), other["anyOf"].as_array())
            {
                let new: Vec<Value> = others.iter().filter(|other| !known.contains(other)).cloned().collect();
                known.splice(0..0, new);
            } else {
                assert!(permits(&other, known), "{known} and {other} have nothing in common");
                *known = other;
            }
        }
        if let Some(description) = description {
            known["description"] = description;
        }
    }

    /// Returns whether a schema equals another one, or allows `null` in addition.
    fn permits(schema: &Value, other: &Value) -> bool {
        let is_any = schema.as_object().is_some_and(Map::is_empty);
        let is_one = schema["anyOf"].as_array().is_some_and(|some| some.contains(other));
        let types = schema["type"].as_array();
        is_any || is_one || types.is_some_and(|types| types.contains(&other["type"]))
    }
}
