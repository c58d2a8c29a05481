//! What is wrong with a schema.

use thiserror::Error;

use crate::limits::MAX_DEPTH;
use crate::path::{Path, is_identifier, quote};

/// One reason why a schema cannot be used, and where it lies.
///
/// Displayed as `$.a: unsupported schema keywords: oneOf`. The path names a schema: `$` is the root, `$.a` the
/// schema of property `a`, `$.a[]` that of its items, and `$.a.required` a keyword in it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{path}: {kind}")]
pub struct SchemaProblem {
    /// The schema or the keyword.
    pub path: String,
    /// What is wrong with it.
    pub kind: ProblemKind,
}

impl SchemaProblem {
    pub(crate) fn new(path: &Path<'_>, kind: ProblemKind) -> SchemaProblem {
        SchemaProblem { path: path.to_string(), kind }
    }
}

/// What can be wrong with a schema.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProblemKind {
    /// A schema is neither an object nor a boolean.
    #[error("schema must be an object or a boolean")]
    NotASchema,
    /// The root of a contract is no schema of objects.
    #[error("root schema must have type object")]
    RootNotObject,
    /// Keywords outside the subset. They are never ignored, since they might refuse an instance.
    #[error("unsupported schema keywords: {}", list(.keywords))]
    UnsupportedKeywords {
        /// Their names, sorted.
        keywords: Vec<String>,
    },
    /// `$schema` names a version of JSON Schema that judges values differently, or another one than the root.
    #[error("unsupported dialect: only JSON Schema 2020-12 and draft-07 are supported")]
    UnsupportedDialect,
    /// Keywords beside `$ref` in draft-07, which ignores them; 2020-12 does not.
    #[error("unsupported beside `$ref`, where draft-07 ignores it: {}", list(.keywords))]
    IgnoredBesideReference {
        /// Their names, sorted.
        keywords: Vec<String>,
    },
    /// A type that JSON Schema does not have.
    #[error("unsupported type {}", quote(.name, 40))]
    UnknownType {
        /// The name as written.
        name: String,
    },
    /// The value of a keyword has the wrong shape.
    #[error("must be {expected}")]
    Shape {
        /// What it must be, such as `a list of strings`.
        expected: &'static str,
    },
    /// A regular expression that cannot be used.
    #[error("{0}")]
    Pattern(PatternFault),
    /// A reference that cannot be followed.
    #[error("{0}")]
    Reference(ReferenceFault),
    /// The schema is nested too deep to be read safely.
    #[error("nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
}

impl ProblemKind {
    /// A stable word for machines, such as `unsupported-keywords`.
    pub fn code(&self) -> &'static str {
        match self {
            ProblemKind::NotASchema => "not-a-schema",
            ProblemKind::RootNotObject => "root-not-object",
            ProblemKind::UnsupportedKeywords { .. } => "unsupported-keywords",
            ProblemKind::UnsupportedDialect => "unsupported-dialect",
            ProblemKind::IgnoredBesideReference { .. } => "ignored-beside-reference",
            ProblemKind::UnknownType { .. } => "unknown-type",
            ProblemKind::Shape { .. } => "shape",
            ProblemKind::Pattern(_) => "pattern",
            ProblemKind::Reference(_) => "reference",
            ProblemKind::TooDeep => "too-deep",
        }
    }
}

/// Why a `pattern` cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PatternFault {
    /// `(?=`, `(?!`, `(?<=` or `(?<!`.
    #[error("unsupported regular expression: look-around")]
    LookAround,
    /// `\1` or `\k<name>`.
    #[error("unsupported regular expression: backreference")]
    Backreference,
    /// A group such as `(?i)` or `(?P<name>`, which JSON Schema's dialect does not have.
    #[error("unsupported regular expression: group that is neither plain, `(?:` nor `(?<name>`")]
    Group,
    /// An escape such as `\A`, which JSON Schema's dialect does not have.
    #[error("unsupported regular expression: unknown escape")]
    Escape,
    /// It is no regular expression at all.
    #[error("is not a regular expression")]
    Syntax,
    /// Compiled, it would take more memory than is given to it.
    #[error("regular expression is too large")]
    TooLarge,
    /// The schema holds too many of them.
    #[error("too many different regular expressions in one schema")]
    TooMany,
}

/// Why a `$ref` cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReferenceFault {
    /// It leads to another document, or to an anchor.
    #[error("unsupported reference: only `#` and `#/…` are followed")]
    NotLocal,
    /// Its escapes are broken.
    #[error("is not a JSON pointer")]
    Malformed,
    /// There is no schema at its target.
    #[error("points at no schema")]
    Dangling,
    /// It leads back to itself without going deeper into the instance.
    #[error("refers back to itself")]
    Loop,
    /// It begins a chain of too many references and alternatives.
    #[error("begins a chain of too many references")]
    TooLong,
}

/// Names separated by commas; what is no identifier is quoted.
fn list(names: &[String]) -> String {
    let shown: Vec<String> =
        names.iter().map(|name| if is_identifier(name) { name.clone() } else { quote(name, 40) }).collect();
    shown.join(", ")
}
