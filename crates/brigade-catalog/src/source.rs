//! Reads TOML text: values with their positions, errors that do not quote the file, and lines and columns of positions.

mod locate;

use brigade_core::toml_errors::{TomlError, explain};
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
    let start_of = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
    let errors: Vec<(usize, &str)> = errors.iter().map(|error| (start_of(error), error.message())).collect();
    let mut found: Vec<SyntaxError> = explain(text, &errors)
        .into_iter()
        .map(|TomlError { at, message }| SyntaxError { at: locator.locate(at), message })
        .collect();
    found.sort_by_key(|error| error.at);
    found.dedup_by_key(|error| error.at.0);
    found.truncate(MAX_SYNTAX_ERRORS);
    (root, found)
}

#[cfg(test)]
mod tests {
    use toml::de::DeTable;

    use brigade_core::toml_errors::describe;

    const ESCAPE: &str =
        "a backslash must be followed by an escape such as `n` or `\\`; in '…' a backslash is itself";

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let error = DeTable::parse(text).expect_err("broken TOML");
        assert_eq!(describe(error.message()), Some(expect), "{text}: {}", error.message());
    }

    #[test]
    fn an_unclosed_list_is_one_error_at_its_end() {
        let check = |text: &str, expect: &[(usize, usize, &str)]| {
            let (_, errors) = super::parse(text, &super::Locator::new(text, 1));
            let found: Vec<_> = errors.iter().map(|error| (error.at.0, error.at.1, error.message)).collect();
            assert_eq!(found, expect, "{text}");
        };
        let list = "`]` is missing: expected `,` or `]`";
        check("effects = [\"local-read\"\ntimeout = 10\nname = \"x\"\n", &[(1, 24, list)]);
        check("[[tool]]\nids = [\n  \"a]\",\n  'b'\nname = 1\n", &[(4, 6, list)]);
        check("a = [1", &[(1, 7, list)]);
        check("a = [\n  'b'  # not yet\n  # the end\n\n[c]\nd = 1\n", &[(2, 6, list)]);
        check("# é\na = ['é'\nü = 1", &[(2, 9, list)]);
        let open = "the string has no closing quotes";
        check("a = \"\"\"x\nb = 1\n", &[(1, 5, open)]);
        check("b = [1, '''x\"\"\"]\n", &[(1, 9, open)]);
        check("a: \"x\"\n", &[(1, 2, "expected `=` between key and value, found `:`")]);
        check("a \"x\"\n", &[(1, 3, "`=` is missing between key and value")]);
        check("a 10\n", &[(1, 3, "`=` is missing between key and value")]);
        check("a = True\n", &[(1, 5, "`true` and `false` are written in lower case")]);
        for number in ["10..", "1_", "1.2.3"] {
            let (_, errors) =
                super::parse(&format!("a = {number}\n"), &super::Locator::new(&format!("a = {number}\n"), 1));
            assert!(errors[0].message.starts_with("not a number"), "{number}: {errors:?}");
        }
        check("a = None\n", &[(1, 5, "TOML has no empty value; leave the key out")]);
        let open = "the string has no closing quote, or a character must be escaped";
        check("a = [\"x]\nb = 1\nc = [1, 2]\n[d]\ne = 2\n", &[(1, 9, open)]);
        check("[[t]]\na = { b = \"x }\nc = 'y'\n", &[(2, 15, open)]);
        let string = "a value is missing, or a string is not quoted";
        check("a = b\nc = [1, 2]\nd = e\n", &[(1, 5, string), (3, 5, string)]);
        check("a = [b]\nd = e\n", &[(1, 6, string), (2, 5, string)]);
        check("a = [ b = 'x', c = '{y}' }\nd = 1\ne = ['z']\n[f]\ng = h\n", &[(1, 7, string)]);
        check("a = { b = 1]\nd = 1\n", &[(1, 12, "not allowed in an inline table")]);
        for word in ["ten", "fast", "tool"] {
            check(&format!("a = {word}\nb = 1\n"), &[(1, 5, string)]);
        }
        check("= 1\n", &[(1, 1, "a key is missing")]);
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
        check("a = \"\\q\"", ESCAPE);
        check("a = \"C:\\Users\\x\"", ESCAPE);
        check("a = 1.2.3", "not a number; a string must be quoted");
        check("a = [b\"]", "a string has no opening quote");
        check("a = \"x\";", "unexpected text after the value");
        check("a = 01", "a number may not start with 0");
        check(&format!("{}b = 1", "a.".repeat(1000)), "keys have too many parts");
    }
}
