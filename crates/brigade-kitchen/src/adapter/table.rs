//! The built-in adapters.
//!
//! `checked` is the version whose documentation or output the row was written from. The tests do not run these
//! programs. They use recorded outputs in `fixtures/kitchen/answers`.

use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use super::Adapter;

/// The built-in adapters. The last one is `plain`, for all unknown programs.
pub static TABLE: LazyLock<Vec<Adapter>> = LazyLock::new(rows);

/// The adapter for unknown programs.
pub(super) fn plain() -> &'static Adapter {
    TABLE.last().expect("`plain` is the last row")
}

/// The messages of providers about a reached limit.
const LIMITS: &str = include_str!("limits.toml");

/// The known limits of providers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KnownLimits {
    limit: Vec<KnownLimit>,
}

/// A message about a reached limit. Only the tests read its examples.
#[derive(Deserialize)]
#[cfg_attr(test, serde(deny_unknown_fields))]
pub(super) struct KnownLimit {
    pattern: String,
    /// Texts, each with the end of the limit; empty if it is not known.
    #[cfg(test)]
    pub(super) examples: Vec<(String, String)>,
}

impl KnownLimits {
    /// Reads the data file.
    pub(super) fn read() -> Vec<KnownLimit> {
        toml::from_str::<KnownLimits>(LIMITS).expect("the data file is valid").limit
    }
}

/// Compiled on first use, because most commands search no output.
static COMPILED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let compile = |limit: KnownLimit| pattern(&limit.pattern).expect("a pattern of ours compiles");
    KnownLimits::read().into_iter().map(compile).collect()
});

/// Patterns that say "limit reached", perhaps with a group `reset`.
#[derive(Clone, Debug, Default)]
pub enum LimitPatterns {
    /// The built-in patterns.
    #[default]
    Ours,
    /// The patterns of a user's adapter.
    Of(Vec<Regex>),
}

impl LimitPatterns {
    /// Returns the patterns.
    pub fn patterns(&self) -> &[Regex] {
        match self {
            LimitPatterns::Ours => &COMPILED,
            LimitPatterns::Of(patterns) => patterns,
        }
    }

    /// Returns the patterns of a user's adapter as text, which an approval covers.
    pub fn texts(&self) -> Vec<String> {
        match self {
            LimitPatterns::Ours => Vec::new(),
            LimitPatterns::Of(patterns) => {
                patterns.iter().map(|pattern| pattern.as_str().to_owned()).collect()
            }
        }
    }
}

pub(super) fn pattern(text: &str) -> Option<Regex> {
    RegexBuilder::new(text).case_insensitive(true).size_limit(1 << 20).build().ok()
}

/// The built-in adapters, as the data file has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BuiltIn {
    adapter: Vec<Adapter>,
}

fn rows() -> Vec<Adapter> {
    let BuiltIn { mut adapter } =
        toml::from_str(include_str!("adapters.toml")).expect("the data file is valid");
    let last = adapter.len() - 1;
    adapter[..last].iter_mut().for_each(|row| row.program.clone_from(&row.id));
    adapter
}
