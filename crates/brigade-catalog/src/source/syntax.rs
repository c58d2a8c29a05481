//! Describes TOML syntax errors in our own words.

/// Returns a message that contains no text of the file.
///
/// The parser's messages may quote the file. They are only compared with known prefixes and never passed on.
pub(super) fn describe(message: &str) -> &'static str {
    const KNOWN: &[(&str, &str)] = &[
        ("duplicate key", "duplicate key"),
        ("cannot extend value", "duplicate key, given as a value and as a table"),
        ("cannot recurse", "lists and tables are nested too deeply"),
        ("recursion limit", "keys have too many parts"),
        ("string values must be quoted", "a value is missing, or a string is not quoted"),
        ("invalid unquoted key", "this key must be quoted"),
        ("unquoted keys cannot be empty", "a key is missing"),
        ("missing key", "a key is missing"),
        ("key with no value", "a value is missing"),
        ("missing value", "a value is missing"),
        ("missing assignment", "`=` is missing"),
        ("missing comma", "a comma is missing"),
        ("extra comma", "extra comma"),
        ("extra `=`", "extra `=`"),
        ("extra assignment", "extra `=`"),
        ("unclosed array table", "`]]` is missing"),
        ("unclosed array", "`]` is missing"),
        ("unclosed table", "`]` is missing"),
        ("unclosed inline table", "`}` is missing"),
        ("invalid inline table element", "not allowed in an inline table"),
        ("invalid basic string", "the string has no closing quote, or a character must be escaped"),
        (
            "invalid multi-line basic string",
            "the string has no closing quotes, or a character must be escaped",
        ),
        ("invalid literal string", "the string has no closing quote, or a character is not allowed"),
        (
            "invalid multi-line literal string",
            "the string has no closing quotes, or a character is not allowed",
        ),
        ("missing escaped value", "a backslash must be followed by an escape such as `n` or `\\`"),
        ("carriage return", "a carriage return must be followed by a line feed"),
        ("invalid comment character", "a comment contains a control character"),
        ("unexpected leading zero", "a number may not start with 0"),
        ("unexpected", "unexpected text"),
    ];
    let known = KNOWN.iter().find(|(start, _)| message.starts_with(start));
    known.map_or("not valid TOML", |(_, words)| words)
}

#[cfg(test)]
mod tests {
    use toml::de::DeTable;

    use super::describe;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let error = DeTable::parse(text).expect_err("broken TOML");
        assert_eq!(describe(error.message()), expect, "{text}: {}", error.message());
    }

    #[test]
    fn common_mistakes_are_named() {
        check("a = 1\na = 2", "duplicate key");
        check("a = 1\n[a.b]", "duplicate key, given as a value and as a table");
        check("a = b", "a value is missing, or a string is not quoted");
        check("a =", "a value is missing, or a string is not quoted");
        check("a", "a value is missing");
        check("= 1", "a key is missing");
        check("a = [1", "`]` is missing");
        check("a = ['x' 'y']", "a comma is missing");
        check("a = { b = 1", "`}` is missing");
        check("[[tool]", "`]]` is missing");
        check("a = \"x", "the string has no closing quote, or a character must be escaped");
        check("a = 'x", "the string has no closing quote, or a character is not allowed");
        check("a = '''x", "the string has no closing quotes, or a character is not allowed");
        check("a = \"\\q\"", "a backslash must be followed by an escape such as `n` or `\\`");
        check("a = 01", "a number may not start with 0");
        check(&format!("{}b = 1", "a.".repeat(1000)), "keys have too many parts");
    }
}
