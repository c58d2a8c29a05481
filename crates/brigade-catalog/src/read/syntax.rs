//! Says in our own words what is wrong with the TOML of a piece.

/// Returns a message without any text of the file.
///
/// The parser's messages may quote what they met, so they are only compared with known beginnings and never passed on.
pub(super) fn describe(message: &str) -> &'static str {
    const KNOWN: &[(&str, &str)] = &[
        ("duplicate key", "the key is given twice"),
        ("cannot extend value", "the key is given twice, as a value and as a table"),
        ("cannot recurse", "lists and tables are nested too deep"),
        ("string values must be quoted", "text must be in quotes"),
        ("invalid unquoted key", "this key must be in quotes"),
        ("unquoted keys cannot be empty", "a key is missing"),
        ("missing key", "a key is missing"),
        ("key with no value", "a value is missing"),
        ("missing value", "a value is missing"),
        ("missing assignment", "`=` is missing"),
        ("missing comma", "a comma is missing"),
        ("extra comma", "there is a comma too many"),
        ("extra `=`", "there is a `=` too many"),
        ("extra assignment", "there is a `=` too many"),
        ("unclosed array table", "`]]` is missing"),
        ("unclosed array", "`]` is missing"),
        ("unclosed table", "`]` is missing"),
        ("unclosed inline table", "`}` is missing"),
        ("invalid inline table element", "this does not belong in a table"),
        ("invalid basic string", "the text has no closing quote or a character that must be escaped"),
        (
            "invalid multi-line basic string",
            "the text has no closing quotes or a character that must be escaped",
        ),
        ("invalid literal string", "the text has no closing quote or a character that is not allowed"),
        (
            "invalid multi-line literal string",
            "the text has no closing quotes or a character that is not allowed",
        ),
        ("missing escaped value", "a backslash must be followed by an escape such as `n` or `\\`"),
        ("carriage return", "a carriage return must be followed by a line feed"),
        ("invalid comment character", "a comment has a control character"),
        ("unexpected leading zero", "a number may not start with 0"),
        ("unexpected", "something is here that does not belong"),
    ];
    let known = KNOWN.iter().find(|(start, _)| message.starts_with(start));
    known.map_or("not valid TOML", |(_, words)| words)
}
