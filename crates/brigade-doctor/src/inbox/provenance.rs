//! The provenance of a row, in the envelope that other parts of Brigade read.

use brigade_core::{Extra, Fingerprint};
use brigade_macros::record;

use super::{INBOX_SOURCE, PRODUCER};

/// The origin of a row's text, in the envelope that other parts of Brigade read.
#[record(Default, PartialEq)]
#[non_exhaustive]
pub struct Provenance {
    /// The form of the envelope.
    pub schema: String,
    /// Its version.
    pub schema_version: u64,
    /// How the origin is known: always `observed`.
    pub attribution: String,
    /// When the text was written.
    pub captured_at: String,
    /// The collection that the text belongs to.
    pub collection_id: String,
    /// The hashes of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hashes: Option<ProvenanceHashes>,
    /// When the row was added.
    pub ingested_at: String,
    /// The key of the issue.
    pub item_id: String,
    /// Where the text can be found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locator: Option<ProvenanceLocator>,
    /// The kind of text.
    pub modality: String,
    /// The author of the content.
    pub origin: String,
    /// The masked parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redaction: Option<ProvenanceRedaction>,
    /// The repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<ProvenanceRepository>,
    /// The session of an agent that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<ProvenanceSession>,
    /// The program that wrote the row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<ProvenanceSource>,
    /// How much the text is trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<ProvenanceTrust>,
}

/// The hashes of a text.
#[record(Default, PartialEq)]
#[non_exhaustive]
pub struct ProvenanceHashes {
    /// The hash of the text.
    pub content: Option<Fingerprint>,
    /// Its algorithm.
    pub content_algorithm: Option<String>,
    /// What is hashed.
    pub content_scope: Option<String>,
    /// The hash of the source of the text, if known.
    pub raw: Option<Fingerprint>,
    /// Its algorithm.
    pub raw_algorithm: Option<String>,
    /// What is hashed.
    pub raw_scope: Option<String>,
}

/// Where a text can be found.
#[record(Default, PartialEq)]
#[non_exhaustive]
pub struct ProvenanceLocator {
    /// `uri`.
    pub kind: String,
    /// The URI.
    pub value: String,
}

/// The masked parts of a text.
#[record(Default, PartialEq)]
#[non_exhaustive]
pub struct ProvenanceRedaction {
    /// The form.
    pub schema: String,
    /// Its version.
    pub schema_version: u64,
    /// How many secrets were masked.
    pub count: u64,
    /// What found them.
    pub detectors: Vec<String>,
    /// The author of the masked parts.
    pub origin: String,
    /// The rules.
    pub policy_version: String,
    /// `clean` if nothing was masked.
    pub status: String,
}

/// The repository of a text.
#[record(Default, PartialEq)]
#[non_exhaustive]
pub struct ProvenanceRepository {
    /// Its id; `unknown` if it has none.
    pub id: String,
    /// The revision.
    pub revision: Option<String>,
}

/// The session that a text comes from.
#[record(Default, PartialEq)]
#[non_exhaustive]
pub struct ProvenanceSession {
    /// The agent program.
    pub harness: Option<String>,
    /// Its id.
    pub id: Option<String>,
}

/// The program that wrote a row.
#[record(Default, PartialEq)]
#[non_exhaustive]
pub struct ProvenanceSource {
    /// The kind of its rows.
    pub kind: String,
    /// The command.
    pub producer: String,
    /// The part of Brigade that keeps the row.
    pub system: String,
}

/// How much a text is trusted.
#[record(Default, PartialEq)]
#[non_exhaustive]
pub struct ProvenanceTrust {
    /// When that was decided.
    pub assigned_at: String,
    /// What assigned it.
    pub assigned_by: String,
    /// Whether it contains instructions to agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub injection: Option<ProvenanceInjection>,
    /// `untrusted` if anyone may have written the text.
    pub label: String,
    /// The rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust_policy: Option<ProvenanceForm>,
}

/// Instructions to agents that were found in a text.
#[record(Default, PartialEq)]
#[non_exhaustive]
pub struct ProvenanceInjection {
    /// The number of instructions.
    pub count: u64,
    /// The rules that found them.
    pub rules: Vec<String>,
    /// `pending` if no person has reviewed them.
    pub status: String,
}

/// The name and version of a form.
#[record(Default, PartialEq)]
#[non_exhaustive]
pub struct ProvenanceForm {
    /// The name.
    pub schema: String,
    /// The version.
    pub schema_version: u64,
}

impl Provenance {
    /// Describes a text about files of the workspace, which anyone may have written. The text was not checked for
    /// instructions to agents.
    pub(super) fn new(text: &str, key: &str, id: &str, at: &str) -> Provenance {
        const REDACTION: &str = "brigade.evidence-redaction.v1";
        let at = at.to_owned();
        let extra = Extra::default;
        Provenance {
            schema: "brigade.provenance-envelope.v1".to_owned(),
            schema_version: 1,
            attribution: "observed".to_owned(),
            captured_at: at.clone(),
            collection_id: format!("work-inbox:{INBOX_SOURCE}"),
            hashes: Some(ProvenanceHashes {
                content: Some(Fingerprint::of_bytes(text.as_bytes())),
                content_algorithm: Some("sha256".to_owned()),
                content_scope: Some("item.text.utf8.v1".to_owned()),
                ..ProvenanceHashes::default()
            }),
            ingested_at: at.clone(),
            item_id: key.to_owned(),
            locator: Some(ProvenanceLocator {
                kind: "uri".to_owned(),
                value: format!("work-import:{id}"),
                extra: extra(),
            }),
            modality: "tool-output".to_owned(),
            origin: "workspace".to_owned(),
            redaction: Some(ProvenanceRedaction {
                schema: REDACTION.to_owned(),
                schema_version: 1,
                origin: "workspace".to_owned(),
                policy_version: REDACTION.to_owned(),
                // The texts of issues never contain secrets.
                status: "clean".to_owned(),
                ..ProvenanceRedaction::default()
            }),
            repository: Some(ProvenanceRepository {
                id: "unknown".to_owned(),
                ..ProvenanceRepository::default()
            }),
            session: Some(ProvenanceSession::default()),
            source: Some(ProvenanceSource {
                kind: INBOX_SOURCE.to_owned(),
                producer: PRODUCER.to_owned(),
                system: "work-inbox".to_owned(),
                extra: extra(),
            }),
            trust: Some(ProvenanceTrust {
                assigned_at: at,
                assigned_by: format!("ingest:{PRODUCER}"),
                injection: Some(ProvenanceInjection {
                    status: "pending".to_owned(),
                    ..ProvenanceInjection::default()
                }),
                label: "untrusted".to_owned(),
                trust_policy: Some(ProvenanceForm {
                    schema: "brigade.trust-policy.v1".to_owned(),
                    schema_version: 1,
                    extra: extra(),
                }),
                extra: extra(),
            }),
            extra: extra(),
        }
    }
}
