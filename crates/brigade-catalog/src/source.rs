//! The one reader of TOML text: its values with their positions, what is wrong with it in our own words, and the lines
//! and columns of positions.

mod locate;
mod syntax;

use toml::Spanned;
use toml::de::DeTable;

pub use locate::Locator;

/// How many syntax errors of one text are reported; what follows the first ones is mostly their echo.
const MOST_SYNTAX_ERRORS: usize = 8;

/// What is wrong with the TOML of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The line and column where it shows.
    pub at: (usize, usize),
    /// What it is, without any text of the file.
    pub message: &'static str,
}

/// Parses a text as far as that is possible; lists what is wrong with it, at most one error a line.
pub fn parse<'t>(text: &'t str, locator: &Locator<'_>) -> (Spanned<DeTable<'t>>, Vec<SyntaxError>) {
    let (root, errors) = DeTable::parse_recoverable(text);
    let mut found: Vec<SyntaxError> = errors
        .iter()
        .map(|error| SyntaxError {
            at: locator.locate(error.span().map_or(0, |span| span.start)),
            message: syntax::describe(error.message()),
        })
        .collect();
    found.sort_by_key(|error| error.at);
    found.dedup_by_key(|error| error.at.0);
    found.truncate(MOST_SYNTAX_ERRORS);
    (root, found)
}
