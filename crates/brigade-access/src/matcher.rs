//! The language in which profiles name tools.
//!
//! | text | matches tools |
//! | --- | --- |
//! | `*` | all |
//! | `id:GLOB` | whose whole id matches |
//! | `group:NAME` | whose id begins with `NAME.` |
//! | `access:user`, `access:<=system` | of this access level, or up to it |
//! | `role:workflow` | of this tier, among others: `universal`, `workflow`, `control`, `coordinator`, `platform` |
//! | `mode:chat` | that this mode selects |
//! | `effect:local-write` | with this effect |
//! | `effect:<=local-read,session` | without any other effect |
//! | `risk:high`, `risk:>=high` | of this risk, or at least it |
//! | `source:GLOB` | from `catalog` or `builtin`, or of this family, layer or MCP server |
//! | `judge:run` | that a judge is asked about first |
//!
//! `a b` matches what both match, `!a` what `a` does not, and a list what any of its elements matches.

use std::fmt;

use brigade_core::{Glob, closest};
use brigade_policy::{LocatedValue, RiskLevel};

use crate::traits::{AccessLevel, Mode, Tier, ToolTraits};

/// An element of a list: terms that must all hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matcher {
    text: String,
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    negated: bool,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    All,
    Id(Glob),
    Group(String),
    Access(Compare, AccessLevel),
    Tier(Tier),
    Mode(Mode),
    Effect(String),
    EffectsWithin(Vec<String>),
    Risk(Compare, RiskLevel),
    Source(Glob),
    Judged,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compare {
    Equal,
    AtMost,
    AtLeast,
    Below,
    Above,
}

impl Compare {
    /// Splits a text into its operator and the rest.
    fn cut(text: &str) -> (Compare, &str) {
        let operators = [
            ("<=", Compare::AtMost),
            (">=", Compare::AtLeast),
            ("<", Compare::Below),
            (">", Compare::Above),
            ("=", Compare::Equal),
        ];
        let found = operators.iter().find_map(|(sign, compare)| Some((*compare, text.strip_prefix(sign)?)));
        found.unwrap_or((Compare::Equal, text))
    }

    fn holds<T: Ord>(self, left: T, right: T) -> bool {
        match self {
            Compare::Equal => left == right,
            Compare::AtMost => left <= right,
            Compare::AtLeast => left >= right,
            Compare::Below => left < right,
            Compare::Above => left > right,
        }
    }
}

/// Why a text is not a matcher. Does not quote the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidMatcher {
    /// What was expected.
    pub message: String,
    /// The nearest known word.
    pub near: Option<String>,
}

impl InvalidMatcher {
    fn new(message: impl Into<String>) -> InvalidMatcher {
        InvalidMatcher { message: message.into(), near: None }
    }

    fn word(what: &str, typed: &str, known: &[&'static str]) -> InvalidMatcher {
        let near = closest(typed, known.iter().copied()).map(str::to_owned);
        InvalidMatcher { message: format!("expected {what}: one of {}", known.join(", ")), near }
    }
}

const KEYS: &[&str] = &["id", "group", "access", "role", "mode", "effect", "risk", "source", "judge"];

impl Matcher {
    /// Reads one element.
    ///
    /// # Errors
    /// Returns what was expected instead.
    pub fn parse(text: &str) -> Result<Matcher, InvalidMatcher> {
        let terms = text.split_whitespace().map(Term::parse).collect::<Result<Vec<Term>, _>>()?;
        if terms.is_empty() {
            return Err(InvalidMatcher::new("expected `*`, or a term such as `id:GLOB`"));
        }
        Ok(Matcher { text: text.to_owned(), terms })
    }

    /// Returns the text as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether a tool matches.
    pub fn matches(&self, tool: &ToolTraits<'_>) -> bool {
        self.terms.iter().all(|term| term.kind.holds(tool) != term.negated)
    }

    /// Returns whether it has only negated terms.
    fn is_exclusion(&self) -> bool {
        self.terms.iter().all(|term| term.negated)
    }
}

impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Term {
    fn parse(text: &str) -> Result<Term, InvalidMatcher> {
        let (negated, text) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if text == "*" {
            return Ok(Term { negated, kind: Kind::All });
        }
        let Some((key, value)) = text.split_once(':') else {
            let mut error = InvalidMatcher::word("`*` or KEY:VALUE", text, KEYS);
            error.message = format!("expected `*`, or a term KEY:VALUE with one of {}", KEYS.join(", "));
            return Err(error);
        };
        if value.is_empty() {
            return Err(InvalidMatcher::new(format!("expected a value after `{}:`", shown(key))));
        }
        let kind = match key {
            "id" => Kind::Id(Glob::of_ids(value)),
            "group" => Kind::Group(value.to_owned()),
            "access" => {
                let (compare, word) = Compare::cut(value);
                Kind::Access(compare, known("an access level", word, AccessLevel::ALL, AccessLevel::as_str)?)
            }
            "role" => Kind::Tier(known("a tier of roles", value, Tier::ALL, Tier::as_str)?),
            "mode" => Kind::Mode(known("a mode", value, Mode::ALL, Mode::as_str)?),
            "effect" => match value.strip_prefix("<=") {
                Some(list) => Kind::EffectsWithin(list.split(',').map(str::to_owned).collect()),
                None => Kind::Effect(value.to_owned()),
            },
            "risk" => {
                let (compare, word) = Compare::cut(value);
                Kind::Risk(compare, known("a risk", word, RiskLevel::ALL, RiskLevel::as_str)?)
            }
            "source" => Kind::Source(Glob::new(value)),
            "judge" if value == "run" => Kind::Judged,
            "judge" => return Err(InvalidMatcher::word("whether a judge is asked", value, &["run"])),
            key => return Err(InvalidMatcher::word("a term", key, KEYS)),
        };
        Ok(Term { negated, kind })
    }
}

fn known<T: Copy>(
    what: &str,
    word: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, InvalidMatcher> {
    let names: Vec<&'static str> = all.iter().map(|value| name(*value)).collect();
    let found = all.iter().copied().find(|value| name(*value) == word);
    found.ok_or_else(|| InvalidMatcher::word(what, word, &names))
}

/// Returns a known key for a message. Other words may be misplaced values, so they are not shown.
fn shown(key: &str) -> &str {
    KEYS.iter().find(|known| **known == key).copied().unwrap_or("KEY")
}

impl Kind {
    fn holds(&self, tool: &ToolTraits<'_>) -> bool {
        match self {
            Kind::All => true,
            Kind::Id(glob) => glob.matches(tool.id),
            Kind::Group(group) => tool.group() == Some(group),
            Kind::Access(compare, level) => compare.holds(tool.access, *level),
            Kind::Tier(tier) => tool.tiers.contains(tier),
            Kind::Mode(mode) => tool.modes.contains(mode),
            Kind::Effect(effect) => tool.effects.contains(effect),
            Kind::EffectsWithin(list) => tool.effects.iter().all(|effect| list.contains(effect)),
            Kind::Risk(compare, risk) => compare.holds(tool.risk, *risk),
            Kind::Source(glob) => tool.sources().any(|source| glob.matches(source)),
            Kind::Judged => tool.is_judged,
        }
    }
}

/// Returns the position of the first element of a list that matches.
pub(crate) fn first_match(list: &[LocatedValue<Matcher>], tool: &ToolTraits<'_>) -> Option<usize> {
    list.iter().position(|matcher| matcher.value.matches(tool))
}

/// Returns whether a `show` list includes a tool.
///
/// Elements with only negated terms remove tools from the other elements. An empty list shows nothing.
pub(crate) fn shows(list: &[LocatedValue<Matcher>], tool: &ToolTraits<'_>) -> bool {
    let (exclusions, inclusions): (Vec<_>, Vec<_>) =
        list.iter().map(|matcher| &matcher.value).partition(|matcher| matcher.is_exclusion());
    let is_left = |matcher: &&Matcher| matcher.matches(tool);
    !list.is_empty()
        && exclusions.iter().all(is_left)
        && (inclusions.is_empty() || inclusions.iter().any(is_left))
}

#[cfg(test)]
mod tests;
