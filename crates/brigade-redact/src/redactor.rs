//! The redactor, secret values, and text that is safe to show.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::bound::{Bound, SHORTEST_TELLING};
use crate::stream::{Scope, Stream};
use crate::{anchors, rules};

/// The replacement for a secret.
pub const MARK: &str = "[redacted]";

/// A value that must not be shown, such as the value of a bound environment variable.
///
/// It cannot be printed or serialized. Values that are empty or only whitespace are never masked.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue(Vec<u8>);

impl SecretValue {
    /// Wraps the bytes of a value, which need not be UTF-8.
    pub fn new(value: impl Into<Vec<u8>>) -> SecretValue {
        SecretValue(value.into())
    }

    /// Returns whether the value is long enough to tell that a text holds it. Shorter ones also occur in harmless text:
    /// they are masked where it is shown, and nothing is refused because of them.
    pub fn is_telling(&self) -> bool {
        SHORTEST_TELLING <= self.0.trim_ascii().len()
    }

    /// Returns the value. The caller must not store or show it.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for SecretValue {
    fn from(value: &str) -> SecretValue {
        SecretValue::new(value)
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MARK)
    }
}

/// Text without secrets: it was redacted, or is part of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Redacted(Cow<'static, str>);

impl Redacted {
    /// Wraps text that is part of the program.
    pub const fn from_static(text: &'static str) -> Redacted {
        Redacted(Cow::Borrowed(text))
    }

    /// Wraps text that this crate has masked.
    pub(crate) fn known(text: String) -> Redacted {
        Redacted(Cow::Owned(text))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Unwraps the text.
    pub fn into_string(self) -> String {
        self.0.into_owned()
    }

    /// Shortens the text as [`short`](brigade_core::text::short) does.
    pub fn short(&self, limit: usize) -> Redacted {
        Redacted(Cow::Owned(brigade_core::text::short(&self.0, limit)))
    }
}

impl fmt::Display for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for Redacted {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

/// Replaces secrets in text, either in one string or in a stream.
///
/// A clone shares the prepared values and starts its own stream. Prepare one redactor per run and clone it for each
/// stream.
pub struct Redactor {
    bound: Option<Arc<Bound>>,
    scope: Scope,
    pub(crate) stream: Stream,
}

impl Redactor {
    /// Creates a redactor for text that is stored or shown: all rules, and these bound values.
    pub fn new(bound_values: &[SecretValue]) -> Redactor {
        Redactor::with_scope(bound_values, Scope::AllRules)
    }

    /// Creates a redactor for raw logs: these bound values in all their forms, and nothing else.
    pub fn bound_only(bound_values: &[SecretValue]) -> Redactor {
        Redactor::with_scope(bound_values, Scope::BoundOnly)
    }

    /// Returns the same values without the other rules.
    pub(crate) fn bound_alone(&self) -> Redactor {
        Redactor { bound: self.bound.clone(), scope: Scope::BoundOnly, stream: Stream::new(Scope::BoundOnly) }
    }

    fn with_scope(bound_values: &[SecretValue], scope: Scope) -> Redactor {
        let bound = Bound::new(bound_values).map(Arc::new);
        Redactor { bound, scope, stream: Stream::new(scope) }
    }

    /// Takes the next bytes of a stream, and appends the decided part to `output`.
    pub fn push(&mut self, input: &[u8], output: &mut Vec<u8>) {
        self.stream.push(self.bound.as_deref(), input, output);
    }

    /// Ends a stream, and appends the remaining bytes to `output`. The redactor is then ready for another stream.
    pub fn finish(&mut self, output: &mut Vec<u8>) {
        self.stream.finish(self.bound.as_deref(), output);
        self.stream = Stream::new(self.scope);
    }

    /// Returns what [`finish`](Redactor::finish) would append, without ending the stream.
    pub fn pending(&self) -> Vec<u8> {
        let mut output = Vec::new();
        self.stream.clone().finish(self.bound.as_deref(), &mut output);
        output
    }

    /// Returns the maximum number of input bytes held back between two calls of [`push`](Redactor::push), and how many
    /// bytes behind a position decide about it. Where this is more than 256 KiB, up to twice as many are held back.
    ///
    /// This is the larger of about 2 KiB for the rules and the longest form of a bound value.
    pub fn holds_back(&self) -> usize {
        let bound = self.bound.as_ref().map_or(0, |bound| bound.holds_back());
        match self.scope {
            Scope::AllRules => bound.max(rules::LOOKAHEAD + rules::BEFORE_ANCHOR),
            Scope::BoundOnly => bound,
        }
    }

    /// Redacts a string, independently of any stream in progress.
    pub fn redact_str(&self, text: &str) -> String {
        // Most short texts contain no anchor.
        if self.bound.is_none() && !anchors::Anchors::new().stand_in(text.as_bytes()) {
            return text.to_owned();
        }
        let mut output = Vec::with_capacity(text.len());
        let mut stream = Stream::new(self.scope);
        stream.push(self.bound.as_deref(), text.as_bytes(), &mut output);
        stream.finish(self.bound.as_deref(), &mut output);
        // Only a bound value that is not UTF-8 can split a character.
        String::from_utf8(output)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// Redacts a string and returns it as [`Redacted`].
    pub fn redact(&self, text: &str) -> Redacted {
        Redacted(Cow::Owned(self.redact_str(text)))
    }
}

impl Clone for Redactor {
    /// Shares the prepared values; the clone starts its own stream.
    fn clone(&self) -> Redactor {
        Redactor { bound: self.bound.clone(), scope: self.scope, stream: Stream::new(self.scope) }
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("scope", &self.scope).finish_non_exhaustive()
    }
}

/// Returns whether the rules alone would mask part of a text.
pub(crate) fn is_changed_by_rules(text: &str) -> bool {
    let redactor = Redactor { bound: None, scope: Scope::AllRules, stream: Stream::new(Scope::AllRules) };
    redactor.redact_str(text) != text
}
