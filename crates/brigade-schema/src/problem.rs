//! Problems in a schema.

use thiserror::Error;

use crate::limits::MAX_DEPTH;
use crate::path::{Path, cut, is_identifier, quote};
use crate::types::JsonType;

/// The maximum number of characters shown of a JSON pointer.
const LONGEST_POINTER: usize = 200;

/// A remark about a schema for its author, and its place. [`ProblemKind::effect`] returns the consequence.
///
/// Displayed as `$.a: unsupported type "strin"`. The path names a schema: `$` is the root, `$.a` the schema of property
/// `a`, `$.a[]` the schema of its items, and `$.a.required` a keyword in it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{path}: {kind}")]
pub struct SchemaProblem {
    /// The path of the schema or keyword.
    pub path: String,
    /// The problem.
    pub kind: ProblemKind,
    /// The line and column in the text of the schema, if [`SchemaProblem::locate`] found it.
    pub at: Option<(usize, usize)>,
    /// The same place as a JSON pointer.
    pub(crate) pointer: String,
}

impl SchemaProblem {
    pub(crate) fn new(path: &Path<'_>, kind: ProblemKind) -> SchemaProblem {
        SchemaProblem { path: path.to_string(), kind, at: None, pointer: path.pointer() }
    }

    /// Names what is not supported and its place: `remote $ref at #/properties/a`.
    pub fn unsupported(&self) -> String {
        let (what, keyword) = match self.kind {
            ProblemKind::Reference(ReferenceFault::NotLocal) => ("remote $ref", "/$ref"),
            ProblemKind::DynamicReference => ("$dynamicRef", "/$dynamicRef"),
            ProblemKind::UnsupportedDialect => ("unsupported $schema", "/$schema"),
            ProblemKind::Pattern(PatternFault::LookAround) => ("pattern with look-around", "/pattern"),
            ProblemKind::Pattern(PatternFault::Backreference) => ("pattern with a backreference", "/pattern"),
            ProblemKind::Pattern(_) => ("unsupported pattern", "/pattern"),
            _ => ("unsupported schema", ""),
        };
        let pointer = self.pointer.strip_suffix(keyword).unwrap_or(&self.pointer);
        format!("{what} at #{}", cut(pointer, LONGEST_POINTER))
    }

    /// Returns the unknown words, and the known words in their place.
    pub fn unknown_words(&self) -> (Vec<&str>, Vec<&str>) {
        match &self.kind {
            ProblemKind::UnknownKeywords { keywords } => {
                (keywords.iter().map(String::as_str).collect(), crate::dialect::KEYWORDS.to_vec())
            }
            ProblemKind::UnknownType { name } => {
                (vec![name], JsonType::ALL.iter().map(|kind| kind.name()).collect())
            }
            ProblemKind::RequiredAndRefused { name, described } => {
                (vec![name], described.iter().map(String::as_str).collect())
            }
            _ => (Vec::new(), Vec::new()),
        }
    }

    /// Finds the place of the problem in the text that the schema was read from.
    pub fn locate(&mut self, text: &str) {
        let keyword = match &self.kind {
            ProblemKind::UnknownKeywords { keywords } | ProblemKind::IgnoredBesideReference { keywords } => {
                keywords.first().map(String::as_str)
            }
            ProblemKind::RootNotObject => Some("type"),
            _ => None,
        };
        self.at = crate::place::locate(text, &self.pointer, keyword);
    }
}

/// The consequence of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The schema is wrong and cannot be used.
    Refused,
    /// The schema may be right, but it cannot be judged here, so nothing is checked against it.
    Unchecked,
    /// The part has no effect, as the standard requires.
    Ignored,
}

/// The kinds of problem in a schema.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProblemKind {
    /// A schema is neither an object nor a boolean.
    #[error("schema must be an object or a boolean")]
    NotASchema,
    /// The root of a contract allows values other than objects.
    #[error("root schema must have type object")]
    RootNotObject,
    /// Keywords that the dialect does not have.
    #[error("unknown schema keywords: {}", list(.keywords))]
    UnknownKeywords {
        /// The keywords, sorted.
        keywords: Vec<String>,
    },
    /// `$schema` names an unsupported version of JSON Schema, or a vocabulary of its author.
    #[error("unsupported dialect: only JSON Schema 2020-12 and draft-07 are supported")]
    UnsupportedDialect,
    /// `$dynamicRef`, whose target depends on how a schema was reached.
    #[error("unsupported `$dynamicRef`")]
    DynamicReference,
    /// Keywords next to `$ref` in draft-07, which ignores them. In 2020-12 they apply.
    #[error("draft-07 ignores beside `$ref`: {}", list(.keywords))]
    IgnoredBesideReference {
        /// The keywords, sorted.
        keywords: Vec<String>,
    },
    /// An unknown type.
    #[error("unsupported type {}", quote(.name, 40))]
    UnknownType {
        /// The name as written.
        name: String,
    },
    /// The value of a keyword has the wrong type.
    #[error("must be {expected}")]
    Shape {
        /// The expected value, such as `a list of strings`.
        expected: &'static str,
    },
    /// A regular expression that cannot be used.
    #[error("{0}")]
    Pattern(PatternFault),
    /// A reference that cannot be followed.
    #[error("{0}")]
    Reference(ReferenceFault),
    /// No object is valid, because a property is required and refused at once. Such a schema can be compiled.
    #[error("{} is required, but not described, and additional properties are refused", quote(.name, 40))]
    RequiredAndRefused {
        /// The property.
        name: String,
        /// The properties that the schema describes.
        described: Vec<String>,
    },
    /// The schema is nested too deeply to be read safely.
    #[error("nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
}

impl ProblemKind {
    /// Returns the consequence of the problem.
    pub fn effect(&self) -> Effect {
        match self {
            ProblemKind::UnknownKeywords { .. } | ProblemKind::IgnoredBesideReference { .. } => {
                Effect::Ignored
            }
            ProblemKind::UnsupportedDialect
            | ProblemKind::DynamicReference
            | ProblemKind::Reference(ReferenceFault::NotLocal) => Effect::Unchecked,
            ProblemKind::Pattern(fault) if *fault != PatternFault::Syntax => Effect::Unchecked,
            ProblemKind::NotASchema
            | ProblemKind::RootNotObject
            | ProblemKind::UnknownType { .. }
            | ProblemKind::Shape { .. }
            | ProblemKind::Pattern(_)
            | ProblemKind::Reference(_)
            | ProblemKind::RequiredAndRefused { .. }
            | ProblemKind::TooDeep => Effect::Refused,
        }
    }

    /// Returns a stable identifier for programs, such as `unknown-keywords`.
    pub fn code(&self) -> &'static str {
        match self {
            ProblemKind::NotASchema => "not-a-schema",
            ProblemKind::RootNotObject => "root-not-object",
            ProblemKind::UnknownKeywords { .. } => "unknown-keywords",
            ProblemKind::UnsupportedDialect => "unsupported-dialect",
            ProblemKind::DynamicReference => "dynamic-reference",
            ProblemKind::IgnoredBesideReference { .. } => "ignored-beside-reference",
            ProblemKind::UnknownType { .. } => "unknown-type",
            ProblemKind::Shape { .. } => "shape",
            ProblemKind::Pattern(_) => "pattern",
            ProblemKind::Reference(_) => "reference",
            ProblemKind::RequiredAndRefused { .. } => "required-and-refused",
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
    /// A group such as `(?i)` or `(?P<name>` that ECMA-262 lacks.
    #[error("unsupported regular expression: group that is neither plain, `(?:` nor `(?<name>`")]
    Group,
    /// An escape such as `\A` that ECMA-262 lacks.
    #[error("unsupported regular expression: unknown escape")]
    Escape,
    /// The text is not a regular expression.
    #[error("is not a regular expression")]
    Syntax,
    /// The compiled expression would exceed the memory limit.
    #[error("regular expression is too large")]
    TooLarge,
    /// The schema contains too many regular expressions.
    #[error("too many different regular expressions in one schema")]
    TooMany,
}

/// Why a `$ref` cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReferenceFault {
    /// The target is another document.
    #[error("unsupported reference: other documents are not read")]
    NotLocal,
    /// The text is not a valid JSON pointer.
    #[error("is not a JSON pointer")]
    Malformed,
    /// The target is not a schema.
    #[error("does not point to a schema")]
    Dangling,
    /// The reference leads back to itself without descending into the instance.
    #[error("refers back to itself")]
    Loop,
    /// The reference starts a chain of too many steps.
    #[error("starts a chain of too many references")]
    TooLong,
}

/// Formats names separated by commas. A name that is not an identifier is quoted.
fn list(names: &[String]) -> String {
    let shown: Vec<String> =
        names.iter().map(|name| if is_identifier(name) { name.clone() } else { quote(name, 40) }).collect();
    shown.join(", ")
}
