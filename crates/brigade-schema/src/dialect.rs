//! The two dialects, and their keywords.

use serde_json::Value;

/// The JSON Schema version of a schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Dialect {
    #[default]
    Draft202012,
    Draft07,
}

impl Dialect {
    /// Reads the value of `$schema`. An empty fragment is ignored.
    pub(crate) fn named(uri: &str) -> Option<Dialect> {
        match uri.strip_suffix('#').unwrap_or(uri) {
            "https://json-schema.org/draft/2020-12/schema" => Some(Dialect::Draft202012),
            "http://json-schema.org/draft-07/schema" => Some(Dialect::Draft07),
            _ => None,
        }
    }

    /// Returns the dialect that a schema names.
    pub(crate) fn from_value(schema: &Value) -> Option<Dialect> {
        schema.get("$schema").and_then(Value::as_str).and_then(Dialect::named)
    }

    /// Returns the dialect of a document: 2020-12 if it names none or an unsupported one.
    pub(crate) fn of_root(schema: &Value) -> Dialect {
        Dialect::from_value(schema).unwrap_or_default()
    }
}

/// Keywords that describe or name a schema and reject no instance.
pub(crate) const ANNOTATIONS: &[&str] = &[
    "title",
    "default",
    "examples",
    "format",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "$comment",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$vocabulary",
];

/// The keywords of both dialects, without annotations.
pub(crate) const KEYWORDS: &[&str] = &[
    "description",
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "minContains",
    "maxContains",
    "unevaluatedItems",
    "minItems",
    "maxItems",
    "uniqueItems",
    "properties",
    "patternProperties",
    "required",
    "dependentRequired",
    "additionalProperties",
    "propertyNames",
    "unevaluatedProperties",
    "minProperties",
    "maxProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
    "$ref",
    "$dynamicRef",
    "$defs",
    "definitions",
    "$schema",
];

/// Returns whether draft-07 does not know the keyword.
pub(crate) fn is_of_2020_12(keyword: &str) -> bool {
    matches!(
        keyword,
        "prefixItems"
            | "minContains"
            | "maxContains"
            | "unevaluatedItems"
            | "unevaluatedProperties"
            | "dependentRequired"
            | "dependentSchemas"
            | "$dynamicRef"
    )
}
