//! One problem in a form for display: code, sentence, place and help.

use std::borrow::Cow;
use std::fmt;

use brigade_core::{ConfigIssue, ErrorCode, Hint, Place, Severity};
use brigade_macros::part;
use brigade_redact::Excerpt;
use miette::{
    Diagnostic, LabeledSpan, MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Blocker;
use crate::decision::is_invalid_policy;
use crate::testing::error_code;

/// One problem for display.
///
/// Implements [`Diagnostic`], so that `miette` can show it, with the source line if it was looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The severity.
    pub severity: Severity,
    /// The stable code, in `snake_case`.
    pub code: Cow<'static, str>,
    /// One sentence without a final period, complete without the other fields.
    pub message: String,
    /// The place in a file.
    pub place: Option<Place>,
    /// The field at that place, if the message does not name it.
    pub field: Option<String>,
    /// What to do.
    pub help: Option<Hint>,
    /// The source line.
    pub line: Option<SourceLine>,
    /// Of which files the source line may be shown.
    pub quote: Quote,
}

/// The fields whose files a person named.
const NAMED_FILES: [&str; 3] = ["args", "input_schema_path", "output_schema_path"];

/// Of which files a fault may show the line at its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quote {
    /// Only of files in Brigade's own folder. Files of other programs may contain secrets that are not recognized.
    #[default]
    Own,
    /// Also of this file, which the user named and which should not contain secrets.
    Named,
}

/// The source line of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The place in the file.
    pub place: Place,
    /// The part of the line that can be shown.
    pub excerpt: Excerpt,
}

impl Fault {
    /// Creates a fault without place and help.
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Fault {
        Fault {
            severity: Severity::Error,
            code: code.into(),
            message: message.into(),
            place: None,
            field: None,
            help: None,
            line: None,
            quote: Quote::Own,
        }
    }

    /// Allows showing the source line although the file is not in Brigade's own folder: see [`Quote::Named`].
    #[must_use]
    pub fn of_named_file(self) -> Fault {
        Fault { quote: Quote::Named, ..self }
    }

    /// Sets the severity.
    #[must_use]
    pub fn severity(self, severity: Severity) -> Fault {
        Fault { severity, ..self }
    }

    /// Sets the place.
    #[must_use]
    pub fn at(self, place: impl Into<Option<Place>>) -> Fault {
        Fault { place: place.into(), ..self }
    }

    /// Sets the help.
    #[must_use]
    pub fn help(self, help: impl Into<Option<Hint>>) -> Fault {
        Fault { help: help.into(), ..self }
    }

    /// Sets the field at the place. Lines of a schema and of a file of arguments may be shown, because a person named
    /// the file.
    #[must_use]
    pub fn field(self, field: impl Into<Option<String>>) -> Fault {
        let field = field.into();
        let is_named = field.as_deref().is_some_and(|field| NAMED_FILES.contains(&field));
        Fault { quote: if is_named { Quote::Named } else { self.quote }, field, ..self }
    }

    /// Returns the place for documents.
    pub fn label(self) -> Option<Label> {
        let length = self.line.map(|line| line.excerpt.length());
        Some(Label { length, text: self.field, ..Label::at(self.place?) })
    }

    /// Sorts faults by file and line. Errors of an invalid policy come first, because nothing else is certain then.
    /// Faults without a place follow in their original order.
    pub fn sort(faults: &mut [Fault]) {
        let other = |fault: &Fault| !is_invalid_policy(&fault.code);
        faults.sort_by(|a, b| other(a).cmp(&other(b)).then_with(|| a.place.cmp(&b.place)));
    }
}

impl From<&Blocker> for Fault {
    fn from(blocker: &Blocker) -> Fault {
        Fault::new(blocker.code.clone(), &blocker.message)
            .at(blocker.place.clone())
            .field(blocker.field.clone())
            .help(blocker.hint.clone())
    }
}

impl From<&ConfigIssue> for Fault {
    fn from(issue: &ConfigIssue) -> Fault {
        let names = [issue.entry.as_deref(), issue.field.as_deref()];
        let names = names.into_iter().flatten().map(|name| format!("{name}: ")).collect::<String>();
        let code = match error_code(issue) {
            code @ (ErrorCode::PolicyTestFailed | ErrorCode::TrackedState) => code.as_str(),
            _ if issue.message.starts_with("not valid TOML") => "toml_syntax",
            _ => "config_invalid",
        };
        Fault::new(code, format!("{names}{}", issue.message))
            .severity(issue.severity)
            .at(issue.place.clone())
            .help(issue.hint.clone())
    }
}

/// The members that every failure document has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// A code of an error or an issue.
    pub code: String,
    /// The places of the failure.
    pub labels: Vec<Label>,
    /// What to do next, one step per line.
    pub help: Option<String>,
}

/// A place of a failure.
#[part(PartialEq, Eq)]
#[cfg_attr(feature = "schemas", schemars(inline))]
pub struct Label {
    /// The file; relative if it is in the workspace.
    pub file: String,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The column in characters, from 1.
    pub column: Option<usize>,
    /// The length in characters; `null` if the line was not found.
    pub length: Option<usize>,
    /// The name of the key, field or argument at the place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Label {
    /// Labels a place whose line was not looked up.
    pub fn at(place: Place) -> Label {
        Label { file: place.file, line: place.line, column: place.column, length: None, text: None }
    }
}

/// An error in a report: one text in documents, and its fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorLine {
    text: String,
    fault: Fault,
}

impl ErrorLine {
    /// Creates an error from one sentence.
    pub fn new(code: impl Into<String>, text: impl Into<String>) -> ErrorLine {
        let text = text.into();
        ErrorLine { fault: Fault::new(code.into(), &text), text }
    }

    /// Creates an error from its text and its fault.
    pub fn with(text: String, fault: Fault) -> ErrorLine {
        ErrorLine { text, fault }
    }

    /// Returns the text: place, message and advice. Next steps are only in the fault.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the fault, with its parts.
    pub fn fault(&self) -> &Fault {
        &self.fault
    }
}

impl From<&ErrorLine> for Blocker {
    fn from(error: &ErrorLine) -> Blocker {
        let Fault { code, message, place, field, help, .. } = error.fault.clone();
        Blocker { code, message, place, field, hint: help }
    }
}

impl From<&ConfigIssue> for ErrorLine {
    fn from(issue: &ConfigIssue) -> ErrorLine {
        ErrorLine { text: issue.to_string(), fault: Fault::from(issue) }
    }
}

impl Serialize for ErrorLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for ErrorLine {
    /// Reads the text. The parts of the fault are lost.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ErrorLine, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(ErrorLine::new("config_invalid", text))
    }
}

#[cfg(feature = "schemas")]
impl schemars::JsonSchema for ErrorLine {
    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }

    fn inline_schema() -> bool {
        true
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl Diagnostic for Fault {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
            Severity::Info => miette::Severity::Advice,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.line.as_ref().map(|line| line as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let line = self.line.as_ref()?;
        Some(Box::new(std::iter::once(LabeledSpan::underline(line.excerpt.marked()))))
    }
}

impl SourceCode for SourceLine {
    /// Returns the source line, with its number in the file.
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        _: usize,
        _: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let text = self.excerpt.text();
        if text.len() < span.offset() + span.len() {
            return Err(MietteError::OutOfBounds);
        }
        let before = |number: Option<usize>| number.map_or(0, |number| number.saturating_sub(1));
        Ok(Box::new(MietteSpanContents::new_named(
            self.place.file.clone(),
            text.as_bytes(),
            SourceSpan::from(0..text.len()),
            before(self.place.line),
            before(self.place.column),
            1,
        )))
    }
}
