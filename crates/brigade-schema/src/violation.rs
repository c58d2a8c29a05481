//! What is wrong with an instance.

use std::fmt::{self, Display, Formatter};

use serde_json::{Number, Value};
use thiserror::Error;

use crate::limits::MAX_DEPTH;
use crate::path::{Path, cut, quote};
use crate::types::TypeSet;

/// At most this many values of an `enum` are listed.
const MOST_VALUES: usize = 20;

/// Longest value of an `enum` that is shown whole, in characters.
const LONGEST_VALUE: usize = 80;

/// One way in which an instance breaks its schema, and where.
///
/// Displayed as `$.mode: expected one of "a", "b"`. Names of the instance and values of the schema are shown,
/// values of the instance never: they may be secrets.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{path}: {kind}")]
pub struct Violation {
    /// The value that is wrong, missing or too many: `$`, `$.a`, `$.a[0]`, `$["a b"]`.
    pub path: String,
    /// What is wrong with it.
    pub kind: ViolationKind,
}

impl Violation {
    pub(crate) fn new(path: &Path<'_>, kind: ViolationKind) -> Violation {
        Violation { path: path.to_string(), kind }
    }
}

/// The ways in which a value can break a schema.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ViolationKind {
    /// A required property is missing.
    #[error("required")]
    Required,
    /// A property that the schema does not know, where it allows no others.
    #[error("additional property not allowed")]
    AdditionalProperty,
    /// A value where the schema is `false`.
    #[error("not allowed")]
    NotAllowed,
    /// A value of the wrong type.
    #[error("expected {expected}")]
    Type {
        /// The types that are allowed here.
        expected: TypeSet,
    },
    /// None of the allowed values.
    #[error("expected {allowed}")]
    Value {
        /// The allowed values.
        allowed: AllowedValues,
    },
    /// Too small a number.
    #[error("must be at least {limit}")]
    Minimum {
        /// The smallest number allowed.
        limit: Number,
    },
    /// Too large a number.
    #[error("must be at most {limit}")]
    Maximum {
        /// The largest number allowed.
        limit: Number,
    },
    /// A number that is not above its bound.
    #[error("must be more than {limit}")]
    ExclusiveMinimum {
        /// The bound, itself not allowed.
        limit: Number,
    },
    /// A number that is not below its bound.
    #[error("must be less than {limit}")]
    ExclusiveMaximum {
        /// The bound, itself not allowed.
        limit: Number,
    },
    /// A number between two multiples.
    #[error("must be a multiple of {divisor}")]
    MultipleOf {
        /// What must divide the number.
        divisor: Number,
    },
    /// Too short a string.
    #[error("must have at least {}", count(*.limit, "character", "characters"))]
    MinLength {
        /// The smallest length, in characters.
        limit: u64,
    },
    /// Too long a string.
    #[error("must have at most {}", count(*.limit, "character", "characters"))]
    MaxLength {
        /// The largest length, in characters.
        limit: u64,
    },
    /// A string that does not match.
    #[error("must match the pattern {}", quote(.pattern, 120))]
    Pattern {
        /// The regular expression as the schema writes it.
        pattern: String,
    },
    /// Too short a list.
    #[error("must have at least {}", count(*.limit, "item", "items"))]
    MinItems {
        /// The smallest number of items.
        limit: u64,
    },
    /// Too long a list.
    #[error("must have at most {}", count(*.limit, "item", "items"))]
    MaxItems {
        /// The largest number of items.
        limit: u64,
    },
    /// Two equal items where all must differ.
    #[error("items must be unique: item {later} repeats item {earlier}")]
    Repeated {
        /// Index of the first of the two.
        earlier: usize,
        /// Index of the second of the two.
        later: usize,
    },
    /// Too few properties.
    #[error("must have at least {}", count(*.limit, "property", "properties"))]
    MinProperties {
        /// The smallest number of properties.
        limit: u64,
    },
    /// Too many properties.
    #[error("must have at most {}", count(*.limit, "property", "properties"))]
    MaxProperties {
        /// The largest number of properties.
        limit: u64,
    },
    /// No alternative of an `anyOf` fits, and none is clearly the one that was meant.
    #[error("matches none of the alternatives: {}", .alternatives.join("; "))]
    NoAlternative {
        /// Short descriptions of those that allow the type of the value.
        alternatives: Vec<String>,
    },
    /// The value is nested too deep to be checked safely.
    #[error("nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
}

impl ViolationKind {
    /// A stable word for machines: the name of the keyword that refused, where there is one.
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
            ViolationKind::NoAlternative { .. } => "anyOf",
            ViolationKind::TooDeep => "too-deep",
        }
    }
}

/// What a value may be, for showing: `"a"`, or `one of "a", "b"`. Long values and long lists are cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedValues {
    /// The first of them, as compact JSON.
    pub first: Vec<String>,
    /// How many more there are.
    pub more: usize,
}

impl AllowedValues {
    pub(crate) fn of<'v>(values: impl Iterator<Item = &'v Value>) -> AllowedValues {
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
