//! The redactor, secret values, and text that is safe to show.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::bound::{Bound, SHORTEST_TELLING};
use crate::find::{BEFORE_ANCHOR, LOOKAHEAD};
use crate::lines::Lines;
use crate::named::Context;
use crate::scan;
use crate::stream::Stream;

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

    /// Returns whether the value is long enough to prove that a text contains it. Shorter values also occur in harmless
    /// text. They are masked in output, but nothing is refused because of them.
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

/// What a redactor masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layers {
    /// Bound values.
    Bound,
    /// Bound values and token shapes.
    Text,
    /// Bound values, token shapes, and values with a secret name.
    Names(Context),
}

/// Replaces secrets in text, either in one string or in a stream.
///
/// A clone shares the prepared values and starts its own stream. Prepare one redactor per run and clone it for each
/// stream.
pub struct Redactor {
    bound: Option<Arc<Bound>>,
    layers: Layers,
    pub(crate) stream: Stream,
    lines: Lines,
}

impl Redactor {
    /// Creates a redactor for text that agents and people read unchanged: it masks these bound values, and token
    /// shapes.
    pub fn new(bound_values: &[SecretValue]) -> Redactor {
        Redactor::with(Bound::new(bound_values).map(Arc::new), Layers::Text)
    }

    /// Creates a redactor for raw logs: it masks only these bound values, in all their forms.
    pub fn bound_only(bound_values: &[SecretValue]) -> Redactor {
        Redactor::with(Bound::new(bound_values).map(Arc::new), Layers::Bound)
    }

    /// Returns a redactor for stored output of programs: it also masks values after a secret name that look like
    /// secrets.
    #[must_use]
    pub fn for_output(&self) -> Redactor {
        Redactor::with(self.bound.clone(), Layers::Names(Context::Output))
    }

    /// Returns a redactor for settings and definitions: it also masks literal values after a secret name.
    #[must_use]
    pub fn for_settings(&self) -> Redactor {
        Redactor::with(self.bound.clone(), Layers::Names(Context::Settings))
    }

    /// Returns a redactor for text that is refused because of a secret: it leaves out values that are too short to
    /// prove that a text has them.
    #[must_use]
    pub fn for_refusals(&self) -> Redactor {
        let telling = self.bound.as_ref().and_then(|bound| bound.telling());
        Redactor::with(telling.map(Arc::new), Layers::Text)
    }

    fn with(bound: Option<Arc<Bound>>, layers: Layers) -> Redactor {
        let context = match layers {
            Layers::Names(context) => context,
            Layers::Bound | Layers::Text => Context::Output,
        };
        Redactor { bound, layers, stream: Stream::new(layers), lines: Lines::new(context) }
    }

    /// Takes the next bytes of a stream, and appends the decided part to `output`.
    pub fn push(&mut self, input: &[u8], output: &mut Vec<u8>) {
        match self.layers {
            Layers::Bound | Layers::Text => self.stream.push(self.bound.as_deref(), input, output),
            Layers::Names(_) => {
                let mut text = Vec::with_capacity(input.len());
                self.stream.push(self.bound.as_deref(), input, &mut text);
                self.lines.push(&text, output);
            }
        }
    }

    /// Ends a stream, and appends the remaining bytes to `output`. The redactor is then ready for another stream.
    pub fn finish(&mut self, output: &mut Vec<u8>) {
        match self.layers {
            Layers::Bound | Layers::Text => self.stream.finish(self.bound.as_deref(), output),
            Layers::Names(_) => {
                let mut text = Vec::new();
                self.stream.finish(self.bound.as_deref(), &mut text);
                self.lines.push(&text, output);
                self.lines.finish(output);
            }
        }
        self.stream = Stream::new(self.layers);
    }

    /// Returns what [`finish`](Redactor::finish) would append, without ending the stream.
    pub fn pending(&self) -> Vec<u8> {
        let mut output = Vec::new();
        let mut copy = Redactor {
            stream: self.stream.clone(),
            lines: self.lines.clone(),
            ..Redactor::with(self.bound.clone(), self.layers)
        };
        copy.finish(&mut output);
        output
    }

    /// Returns the maximum number of input bytes held back between two calls of [`push`](Redactor::push), which is also
    /// how many bytes after a position can affect it. If this is more than 256 KiB, up to twice as many are held back.
    pub fn holds_back(&self) -> usize {
        let bound = self.bound.as_ref().map_or(0, |bound| bound.holds_back());
        let shapes = bound.max(LOOKAHEAD + BEFORE_ANCHOR);
        match self.layers {
            Layers::Bound => bound,
            Layers::Text => shapes,
            Layers::Names(_) => shapes + Lines::LONGEST,
        }
    }

    /// Redacts a string, independently of any stream in progress.
    pub fn redact_str(&self, text: &str) -> String {
        // Most short texts contain no anchor.
        let has_names = || matches!(self.layers, Layers::Names(_)) && text.contains(['=', ':']);
        if self.bound.is_none() && !has_names() && scan::next(text.as_bytes(), 0).is_none() {
            return text.to_owned();
        }
        let mut output = Vec::with_capacity(text.len());
        let mut own = self.clone();
        own.push(text.as_bytes(), &mut output);
        own.finish(&mut output);
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
        Redactor::with(self.bound.clone(), self.layers)
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("layers", &self.layers).finish_non_exhaustive()
    }
}
