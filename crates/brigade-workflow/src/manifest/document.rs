//! Reading a whole manifest.

use brigade_core::yaml::{Position, Value, parse};
use brigade_core::{Json, words};

use crate::manifest::agent::Agent;
use crate::manifest::fault::Fault;
use crate::manifest::member::{Member, Reader, find, is_null, needed, object, with};
use crate::manifest::metadata::{API_VERSION, Metadata};
use crate::manifest::workflow::Workflow;

words! {
    /// What a manifest describes.
    Kind {
        /// An agent.
        Agent = "agent",
        /// A workflow.
        Workflow = "workflow",
    }
}

impl Kind {
    /// Returns the value of `kind:` in a manifest.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Agent => "Agent",
            Kind::Workflow => "Workflow",
        }
    }

    /// Returns the key of the schema for this kind.
    pub const fn schema_key(self) -> &'static str {
        match self {
            Kind::Agent => "agent/manifest/v1",
            Kind::Workflow => "workflow/manifest/v1",
        }
    }
}

/// Returns the JSON Schema for manifests of a kind.
pub fn schema_of(kind: Kind) -> Json {
    match kind {
        Kind::Agent => schema::<Agent>(),
        Kind::Workflow => schema::<Workflow>(),
    }
}

/// A type of manifest.
pub trait Manifest: Sized {
    /// The kind that the manifest declares.
    const KIND: Kind;

    /// The type of `spec`.
    type Spec: Member;

    /// Builds the manifest from its parts.
    fn from_parts(metadata: Metadata, spec: Self::Spec) -> Self;

    /// Returns the name, version and labels.
    fn metadata(&self) -> &Metadata;

    /// Reports faults that involve more than one member.
    fn check(&self, root: &Root<'_>, reader: &mut Reader);
}

/// The parsed text of a manifest, for looking up positions.
#[derive(Debug)]
pub struct Root<'n>(pub(crate) &'n brigade_core::yaml::Node);

impl Root<'_> {
    /// Returns the position of a member that has a value.
    pub(crate) fn find(&self, path: &[&str]) -> Option<Position> {
        let node = path.iter().try_fold(self.0, |node, key| node.get(key))?;
        (!is_null(node)).then_some(node.at)
    }

    /// Returns the position of a member, or of its nearest parent that exists. Elements of lists count from 1.
    pub(crate) fn at(&self, path: &[&str]) -> Position {
        let mut node = self.0;
        for key in path {
            let inner = match &node.value {
                Value::List(items) => key.parse::<usize>().ok().and_then(|at| items.get(at.checked_sub(1)?)),
                Value::Scalar(_) | Value::Map(_) => node.get(key),
            };
            match inner {
                Some(inner) => node = inner,
                None => break,
            }
        }
        node.at
    }
}

/// The result of reading a manifest.
#[derive(Clone, Debug)]
pub struct ManifestReading<M> {
    /// The manifest; `None` if the text has a fault.
    pub manifest: Option<M>,
    /// Faults, in the order of the text.
    pub faults: Vec<Fault>,
    /// Fields without effect, in the order of the text.
    pub warnings: Vec<Fault>,
}

/// The maximum length of a manifest, in bytes.
const MAX_MANIFEST_BYTES: usize = 256 << 10;

/// Reads a manifest from YAML.
pub fn read<M: Manifest>(text: &str) -> ManifestReading<M> {
    let mut reader = Reader::default();
    let manifest = root(text, &mut reader);
    let Reader { mut faults, mut warnings } = reader;
    let by_place = |fault: &Fault| (fault.at.line, fault.at.column);
    faults.sort_by_key(by_place);
    warnings.sort_by_key(by_place);
    ManifestReading { manifest: manifest.filter(|_| faults.is_empty()), faults, warnings }
}

fn root<M: Manifest>(text: &str, reader: &mut Reader) -> Option<M> {
    let start = Position { line: 1, column: 1 };
    if MAX_MANIFEST_BYTES < text.len() {
        reader.fault(start, "", format!("a manifest has at most {} KiB", MAX_MANIFEST_BYTES >> 10));
        return None;
    }
    let node = match parse(text) {
        Ok(Some(node)) => node,
        Ok(None) => {
            reader.fault(start, "", "the manifest is empty");
            return None;
        }
        Err(error) => {
            reader.fault(error.at(), "", error.to_string());
            return None;
        }
    };
    let members = reader.map(&node, "")?;
    reader.unknown(members, "", &["apiVersion", "kind", "metadata", "spec"]);
    for (key, word) in [("apiVersion", API_VERSION), ("kind", M::KIND.word())] {
        match find(members, key) {
            None => reader.fault(node.at, key, "is missing"),
            Some(value) => match reader.text(value, key) {
                Some(text) if text != word => reader.fault(value.at, key, format!("expected `{word}`")),
                Some(_) | None => {}
            },
        }
    }
    let metadata = needed(node.at, members, "", "metadata", reader);
    let spec = needed(node.at, members, "", "spec", reader);
    let manifest = M::from_parts(metadata?, spec?);
    manifest.check(&Root(&node), reader);
    Some(manifest)
}

fn schema<M: Manifest>() -> Json {
    let word = |word: &str| Json::object([("const", Json::from(word))]);
    let schema = object(
        match M::KIND {
            Kind::Agent => "An agent: its instructions, and what it may use.",
            Kind::Workflow => "A workflow: states, and how one leads to the next.",
        },
        vec![
            ("apiVersion", "The version of the manifest format.", true, word(API_VERSION)),
            ("kind", "What the manifest describes.", true, word(M::KIND.word())),
            ("metadata", "Name, version and labels.", true, Metadata::schema()),
            ("spec", "The definition itself.", true, M::Spec::schema()),
        ],
    );
    let schema = with(schema, "$schema", Json::from("https://json-schema.org/draft/2020-12/schema"));
    with(schema, "title", Json::from(M::KIND.word()))
}
