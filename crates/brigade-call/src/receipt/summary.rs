//! The members of a receipt that lists show.

use std::ops::Deref;

use brigade_core::{Json, Object};
use brigade_policy::CallKind;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Receipt;

/// A receipt as lists show it: `kind` and exactly the members in [`RunSummary::MEMBERS`].
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary(Receipt);

impl RunSummary {
    /// The members of the document.
    pub const MEMBERS: &[&str] = &[
        "id",
        "status",
        "call_id",
        "tool_id",
        "family",
        "started_at",
        "completed_at",
        "duration_seconds",
        "exit_code",
        "timed_out",
        "timeout",
        "policy",
        "runtime",
        "mcp_server_id",
        "mcp_tool_name",
        "mcp_request_id",
        "mcp_response_summary",
        "mcp_response_text",
        "stdout_summary",
        "stderr_summary",
        "stdout_log_path",
        "stderr_log_path",
        "output_compaction",
        "receipt_path",
    ];

    /// Returns the kind: `run`, `install` or `attempt`.
    pub fn kind_word(&self) -> &str {
        self.0.kind.as_deref().unwrap_or(CallKind::Run.as_str())
    }

    /// Creates the summary of a receipt.
    pub fn from_receipt(receipt: Receipt) -> RunSummary {
        // Large members that no summary has.
        let (args, argv, arguments) = Default::default();
        let (observed, binding, checkpoint, projection_summary) = Default::default();
        RunSummary(Receipt {
            args,
            argv,
            arguments,
            observed,
            binding,
            checkpoint,
            projection_summary,
            ..receipt
        })
    }
}

impl Deref for RunSummary {
    type Target = Receipt;

    fn deref(&self) -> &Receipt {
        &self.0
    }
}

impl Serialize for RunSummary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut written = self.0.to_members();
        let member = |name: &&str| ((*name).to_owned(), written.remove(*name).unwrap_or(Json::Null));
        let mut members: Object = RunSummary::MEMBERS.iter().map(member).collect();
        // Receipts of runs have no `kind`.
        members.insert("kind".to_owned(), Json::from(self.kind_word()));
        members.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RunSummary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RunSummary, D::Error> {
        <Receipt as Deserialize>::deserialize(deserializer).map(RunSummary)
    }
}

#[cfg(feature = "schemas")]
impl schemars::JsonSchema for RunSummary {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RunSummary".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        // Uses a separate generator, because most types of a receipt do not occur in these members.
        let mut schema = Receipt::json_schema(&mut generator.settings().clone().into_generator());
        generator.subschema_for::<super::PolicyDecision>();
        generator.subschema_for::<super::RuntimeStatus>();
        generator.subschema_for::<super::McpRequestId>();
        generator.subschema_for::<super::McpResponse>();
        generator.subschema_for::<super::OutputCompaction>();
        let is_shown = |name: &str| name == "kind" || RunSummary::MEMBERS.contains(&name);
        if let Some(properties) = schema.get_mut("properties").and_then(|members| members.as_object_mut()) {
            properties.retain(|name, _| is_shown(name));
        }
        let required: Vec<&str> = RunSummary::MEMBERS.iter().copied().chain(["kind"]).collect();
        schema.insert("required".to_owned(), required.into());
        schema.insert("description".to_owned(), "A receipt as lists show it.".into());
        schema
    }
}
