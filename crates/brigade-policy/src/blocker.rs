//! A reason why a call may not run.

use std::borrow::Cow;
use std::fmt;

use brigade_core::{Hint, Place, Spell};
use miette::Diagnostic;

/// One reason why a call may not run, with the line that decided and the way to change it.
///
/// Shared by every crate that can refuse a call: policy, arguments, schema, projections, runtimes. Never holds the
/// value of an argument or of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// The kind of reason, in `snake_case`; it never changes its meaning.
    pub code: Cow<'static, str>,
    /// One sentence without a final stop, complete without the other fields.
    pub message: String,
    /// Where the rule stands that decided.
    pub place: Option<Place>,
    /// The name of what stands there: a key of the policy, a field of the tool, a path in the arguments.
    pub field: Option<String>,
    /// What to change, and where.
    pub hint: Option<Hint>,
}

impl Blocker {
    /// Makes a reason that names no place, field or hint yet.
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Blocker {
        Blocker { code: code.into(), message: message.into(), place: None, field: None, hint: None }
    }

    /// Adds where the rule stands that decided.
    #[must_use]
    pub fn at(mut self, place: impl Into<Option<Place>>) -> Blocker {
        self.place = place.into();
        self
    }

    /// Adds the name of what stands there.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Blocker {
        self.field = Some(field.into());
        self
    }

    /// Adds what to change.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Hint>) -> Blocker {
        self.hint = Some(hint.into());
        self
    }

    /// Puts the next steps of the hint into the words of a face, as they are stored and shown.
    pub fn spell(&mut self, speller: &dyn Spell) {
        self.hint = self.hint.take().map(|hint| hint.spelled(speller, None));
    }
}

impl fmt::Display for Blocker {
    /// Writes the message alone, as the `blockers` of a report have it.
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
