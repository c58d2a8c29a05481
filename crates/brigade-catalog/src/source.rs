//! Reads TOML text: values with their positions, errors that do not quote the file, and lines and columns of positions.

mod locate;
mod syntax;

use toml::Spanned;
use toml::de::DeTable;

pub use locate::Locator;

/// The maximum number of syntax errors reported per text, because later ones usually follow from the first.
const MAX_SYNTAX_ERRORS: usize = 8;

/// A TOML syntax error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The line and column.
    pub at: (usize, usize),
    /// The message, without any text of the file.
    pub message: &'static str,
}

/// Parses a text as far as possible. Returns the errors, at most one per line.
pub fn parse<'t>(text: &'t str, locator: &Locator<'_>) -> (Spanned<DeTable<'t>>, Vec<SyntaxError>) {
    let (root, errors) = DeTable::parse_recoverable(text);
    let mut found: Vec<SyntaxError> = errors
        .iter()
        .map(|error| {
            let at = error.span().map_or(0, |span| span.start);
            SyntaxError { at: locator.locate(at), message: syntax::describe_at(error.message(), text, at) }
        })
        .collect();
    let first = errors.iter().filter_map(|error| Some((error.span()?.start, error.message())));
    let first = first.min_by_key(|(at, _)| *at);
    if let Some((at, message)) = first {
        if let Some(start) = syntax::unclosed_text(text, at) {
            found = vec![SyntaxError { at: locator.locate(start), message: syntax::NO_CLOSING_QUOTES }];
        } else if let Some(unclosed) = syntax::unclosed(text, at, message) {
            // The text after it is read as part of the list or table.
            found = vec![SyntaxError { at: locator.locate(unclosed.at), message: unclosed.message }];
        } else if syntax::has_no_end(text, at) {
            let slip = locator.locate(at);
            found.retain(|error| error.at <= slip);
        }
    }
    found.sort_by_key(|error| error.at);
    found.dedup_by_key(|error| error.at.0);
    found.truncate(MAX_SYNTAX_ERRORS);
    (root, found)
}
