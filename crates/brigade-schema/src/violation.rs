//! Violations in an instance.

use std::fmt::{self, Display, Formatter};

use serde_json::{Number, Value};
use thiserror::Error;

use crate::limits::MAX_DEPTH;
use crate::path::{Path, cut, quote};
use crate::types::TypeSet;

/// The maximum number of `enum` values listed.
const MOST_VALUES: usize = 20;

/// The maximum length of a listed `enum` value, in characters.
const LONGEST_VALUE: usize = 80;

/// A violation of a schema, and its place.
///
/// Displayed as `$.mode: expected one of "a", "b"`. Shows property names of the instance and values of the schema,
/// never values of the instance, which may be secrets.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{path}: {kind}")]
pub struct Violation {
    /// The path of the wrong, missing or additional value: `$`, `$.a`, `$.a[0]`, `$["a b"]`.
    pub path: String,
    /// The violation.
    pub kind: ViolationKind,
}

impl Violation {
    pub(crate) fn new(path: &Path<'_>, kind: ViolationKind) -> Violation {
        Violation { path: path.to_string(), kind }
    }
}

/// The kinds of violation.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ViolationKind {
    /// A required property is missing.
    #[error("required")]
    Required,
    /// An unknown property in an object that allows no others.
    #[error("additional property not allowed")]
    AdditionalProperty,
    /// A value for which the schema is `false`.
    #[error("not allowed")]
    NotAllowed,
    /// A value of the wrong type.
    #[error("expected {expected}")]
    Type {
        /// The allowed types.
        expected: TypeSet,
    },
    /// A value that is not one of the allowed values.
    #[error("expected {allowed}")]
    Value {
        /// The allowed values.
        allowed: AllowedValues,
    },
    /// A number that is too small.
    #[error("must be at least {limit}")]
    Minimum {
        /// The smallest number allowed.
        limit: Number,
    },
    /// A number that is too large.
    #[error("must be at most {limit}")]
    Maximum {
        /// The largest number allowed.
        limit: Number,
    },
    /// A number that is not greater than its limit.
    #[error("must be more than {limit}")]
    ExclusiveMinimum {
        /// The exclusive limit.
        limit: Number,
    },
    /// A number that is not less than its limit.
    #[error("must be less than {limit}")]
    ExclusiveMaximum {
        /// The exclusive limit.
        limit: Number,
    },
    /// A number that is not a multiple of the divisor.
    #[error("must be a multiple of {divisor}")]
    MultipleOf {
        /// The required divisor.
        divisor: Number,
    },
    /// A string that is too short.
    #[error("must have at least {}", count(*.limit, "character", "characters"))]
    MinLength {
        /// The minimum length, in characters.
        limit: u64,
    },
    /// A string that is too long.
    #[error("must have at most {}", count(*.limit, "character", "characters"))]
    MaxLength {
        /// The maximum length, in characters.
        limit: u64,
    },
    /// A string that does not match the pattern.
    #[error("must match the pattern {}", quote(.pattern, 120))]
    Pattern {
        /// The regular expression as written.
        pattern: String,
    },
    /// A list that is too short.
    #[error("must have at least {}", count(*.limit, "item", "items"))]
    MinItems {
        /// The minimum number of items.
        limit: u64,
    },
    /// A list that is too long.
    #[error("must have at most {}", count(*.limit, "item", "items"))]
    MaxItems {
        /// The maximum number of items.
        limit: u64,
    },
    /// Two equal items in a list of unique items.
    #[error("items must be unique: item {later} repeats item {earlier}")]
    Repeated {
        /// The index of the first item.
        earlier: usize,
        /// The index of the second item.
        later: usize,
    },
    /// An object with too few properties.
    #[error("must have at least {}", count(*.limit, "property", "properties"))]
    MinProperties {
        /// The minimum number of properties.
        limit: u64,
    },
    /// An object with too many properties.
    #[error("must have at most {}", count(*.limit, "property", "properties"))]
    MaxProperties {
        /// The maximum number of properties.
        limit: u64,
    },
    /// A property that another one requires is missing.
    #[error("required beside {}", quote(.name, 40))]
    RequiredBeside {
        /// The property that requires it.
        name: String,
    },
    /// The name of a property is not allowed.
    #[error("name of the property: {kind}")]
    PropertyName {
        /// The problem of the name.
        kind: Box<ViolationKind>,
    },
    /// A list with too few items of a kind.
    #[error("must contain at least {}: {items}", count(*.limit, "item", "items"))]
    MinContains {
        /// The minimum number of such items.
        limit: u64,
        /// A short description of them.
        items: String,
    },
    /// A list with too many items of a kind.
    #[error("must contain at most {}: {items}", count(*.limit, "item", "items"))]
    MaxContains {
        /// The maximum number of such items.
        limit: u64,
        /// A short description of them.
        items: String,
    },
    /// The value matches what `not` excludes.
    #[error("matches what `not` excludes: {excluded}")]
    Excluded {
        /// A short description of the excluded values.
        excluded: String,
    },
    /// More than one alternative of a `oneOf` matches.
    #[error("matches more than one of the alternatives: {}", .alternatives.join("; "))]
    Ambiguous {
        /// Short descriptions of the first two that match.
        alternatives: Vec<String>,
    },
    /// No alternative of an `anyOf` or `oneOf` matches, and none is clearly the intended one.
    #[error("matches none of the alternatives: {}", .alternatives.join("; "))]
    NoAlternative {
        /// Short descriptions of the alternatives that allow the type of the value.
        alternatives: Vec<String>,
    },
    /// The value is nested too deeply to be checked safely.
    #[error("nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// The check was aborted, because schema and value are both too large.
    #[error("takes too many steps to check")]
    TooCostly,
}

impl ViolationKind {
    /// Returns a stable identifier for programs, usually the name of the violated keyword.
    pub fn code(&self) -> &'static str {
        match self {
            ViolationKind::Required => "required",
            ViolationKind::AdditionalProperty => "additionalProperties",
            ViolationKind::NotAllowed => "not-allowed",
            ViolationKind::Type { .. } => "type",
            ViolationKind::Value { .. } => "enum",
            ViolationKind::Minimum { .. } => "minimum",
            ViolationKind::Maximum { .. } => "maximum",
            ViolationKind::ExclusiveMinimum { .. } => "exclusiveMinimum",
            ViolationKind::ExclusiveMaximum { .. } => "exclusiveMaximum",
            ViolationKind::MultipleOf { .. } => "multipleOf",
            ViolationKind::MinLength { .. } => "minLength",
            ViolationKind::MaxLength { .. } => "maxLength",
            ViolationKind::Pattern { .. } => "pattern",
            ViolationKind::MinItems { .. } => "minItems",
            ViolationKind::MaxItems { .. } => "maxItems",
            ViolationKind::Repeated { .. } => "uniqueItems",
            ViolationKind::MinProperties { .. } => "minProperties",
            ViolationKind::MaxProperties { .. } => "maxProperties",
            ViolationKind::RequiredBeside { .. } => "dependentRequired",
            ViolationKind::PropertyName { .. } => "propertyNames",
            ViolationKind::MinContains { .. } => "minContains",
            ViolationKind::MaxContains { .. } => "maxContains",
            ViolationKind::Excluded { .. } => "not",
            ViolationKind::Ambiguous { .. } => "oneOf",
            ViolationKind::NoAlternative { .. } => "anyOf",
            ViolationKind::TooDeep => "too-deep",
            ViolationKind::TooCostly => "too-costly",
        }
    }
}

/// The allowed values for display: `"a"`, or `one of "a", "b"`. Long values and long lists are truncated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedValues {
    /// The first values, as compact JSON.
    pub first: Vec<String>,
    /// The number of values that are not shown.
    pub more: usize,
}

impl AllowedValues {
    pub(crate) fn new<'v>(values: impl Iterator<Item = &'v Value>) -> AllowedValues {
        let mut allowed = AllowedValues { first: Vec::new(), more: 0 };
        for value in values {
            if allowed.first.len() < MOST_VALUES {
                allowed.first.push(cut(&value.to_string(), LONGEST_VALUE));
            } else {
                allowed.more += 1;
            }
        }
        allowed
    }
}

impl Display for AllowedValues {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.first.as_slice(), self.more) {
            ([], _) => f.write_str("nothing: no value is allowed"),
            ([only], 0) => f.write_str(only),
            (all, 0) => write!(f, "one of {}", all.join(", ")),
            (some, more) => write!(f, "one of {} and {more} more", some.join(", ")),
        }
    }
}

fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
