//! A reason why a call may not run.

use std::borrow::Cow;
use std::fmt;

use brigade_core::{Code, Hint, Place, StepFormatter};
use miette::Diagnostic;

/// A reason why a call may not run, with the line that decided and how to change it.
///
/// Used by every crate that can refuse a call: policy, arguments, schema, projections, runtimes. Never contains the
/// value of an argument or of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// The kind of reason, in `snake_case`. Its meaning never changes.
    pub code: Cow<'static, str>,
    /// One sentence without a final stop, understandable without the other fields.
    pub message: String,
    /// The place of the rule that decided.
    pub place: Option<Place>,
    /// The key at that place: a key of the policy, a field of the tool, or a path in the arguments.
    pub field: Option<String>,
    /// What to change, and where.
    pub hint: Option<Hint>,
}

impl Blocker {
    /// Creates a reason without place, field and hint.
    pub fn new(code: impl Code, message: impl Into<String>) -> Blocker {
        Blocker { code: code.as_code().into(), message: message.into(), place: None, field: None, hint: None }
    }

    /// Returns whether it has this code.
    pub fn is(&self, code: impl Code) -> bool {
        self.code == code.as_code()
    }

    /// Sets the place of the rule that decided.
    #[must_use]
    pub fn at(mut self, place: impl Into<Option<Place>>) -> Blocker {
        self.place = place.into();
        self
    }

    /// Sets the key at that place.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Blocker {
        self.field = Some(field.into());
        self
    }

    /// Sets what to change.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Hint>) -> Blocker {
        self.hint = Some(hint.into());
        self
    }

    /// Spells the next steps of the hint, as they are stored and shown.
    pub fn spell(&mut self, speller: &dyn StepFormatter) {
        self.hint = self.hint.take().map(|hint| hint.spelled(speller, None));
    }
}

impl fmt::Display for Blocker {
    /// Writes only the message, as in the `blockers` of a report.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Blocker {}

impl Diagnostic for Blocker {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.code))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.hint.as_ref().map(|hint| Box::new(hint) as Box<dyn fmt::Display>)
    }
}
