//! The provenance of a row, in the envelope that other parts of Brigade read.

use brigade_core::json::to_json;
use brigade_core::{Fingerprint, Json, Object};
use serde::Serialize;

use super::{INBOX_SOURCE, PRODUCER};

/// Where a text comes from.
#[derive(Serialize)]
struct Envelope<'a> {
    #[serde(flatten)]
    form: Versioned,
    attribution: &'static str,
    captured_at: &'a str,
    collection_id: String,
    hashes: Hashes,
    ingested_at: &'a str,
    item_id: &'a str,
    locator: Locator,
    modality: &'static str,
    origin: &'static str,
    redaction: Redaction,
    repository: Repository,
    session: Session,
    source: Source,
    trust: Trust<'a>,
}

/// The name and version of a form.
#[derive(Serialize)]
struct Versioned {
    schema: &'static str,
    schema_version: u64,
}

#[derive(Serialize)]
struct Hashes {
    content: Fingerprint,
    content_algorithm: &'static str,
    content_scope: &'static str,
    raw: Option<Fingerprint>,
    raw_algorithm: Option<&'static str>,
    raw_scope: Option<&'static str>,
}

#[derive(Serialize)]
struct Locator {
    kind: &'static str,
    value: String,
}

#[derive(Serialize)]
struct Redaction {
    #[serde(flatten)]
    form: Versioned,
    count: u64,
    detectors: [&'static str; 0],
    origin: &'static str,
    policy_version: &'static str,
    status: &'static str,
}

#[derive(Serialize)]
struct Repository {
    id: &'static str,
    revision: Option<&'static str>,
}

#[derive(Serialize)]
struct Session {
    harness: Option<&'static str>,
    id: Option<&'static str>,
}

#[derive(Serialize)]
struct Source {
    kind: &'static str,
    producer: &'static str,
    system: &'static str,
}

#[derive(Serialize)]
struct Trust<'a> {
    assigned_at: &'a str,
    assigned_by: String,
    injection: Injection,
    label: &'static str,
    trust_policy: Versioned,
}

#[derive(Serialize)]
struct Injection {
    count: u64,
    rules: [&'static str; 0],
    status: &'static str,
}

/// Returns the provenance of the text: files of the workspace, which anyone may have written. The text has not been
/// checked for instructions to agents.
pub(super) fn provenance(text: &str, key: &str, id: &str, at: &str) -> Object {
    const REDACTION: &str = "brigade.evidence-redaction.v1";
    let versioned = |schema| Versioned { schema, schema_version: 1 };
    let envelope = Envelope {
        form: versioned("brigade.provenance-envelope.v1"),
        attribution: "observed",
        captured_at: at,
        collection_id: format!("work-inbox:{INBOX_SOURCE}"),
        hashes: Hashes {
            content: Fingerprint::of_bytes(text.as_bytes()),
            content_algorithm: "sha256",
            content_scope: "item.text.utf8.v1",
            raw: None,
            raw_algorithm: None,
            raw_scope: None,
        },
        ingested_at: at,
        item_id: key,
        locator: Locator { kind: "uri", value: format!("work-import:{id}") },
        modality: "tool-output",
        origin: "workspace",
        redaction: Redaction {
            form: versioned(REDACTION),
            count: 0,
            detectors: [],
            origin: "workspace",
            policy_version: REDACTION,
            // The texts of issues never hold secrets.
            status: "clean",
        },
        repository: Repository { id: "unknown", revision: None },
        session: Session { harness: None, id: None },
        source: Source { kind: INBOX_SOURCE, producer: PRODUCER, system: "work-inbox" },
        trust: Trust {
            assigned_at: at,
            assigned_by: format!("ingest:{PRODUCER}"),
            injection: Injection { count: 0, rules: [], status: "pending" },
            label: "untrusted",
            trust_policy: versioned("brigade.trust-policy.v1"),
        },
    };
    match to_json(&envelope) {
        Ok(Json::Object(members)) => members,
        _ => unreachable!("an envelope is an object"),
    }
}
