//! Quoting for a shell.

/// Quotes a word for a POSIX shell, if needed.
pub(crate) fn quote(word: &str) -> String {
    let harmless = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=,@%+".contains(&byte);
    // Some shells read `=name` as the path of a program.
    if !word.is_empty() && !word.starts_with('=') && word.bytes().all(harmless) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_a_shell_needs_them() {
        assert_eq!(quote("--path=a/b.md"), "--path=a/b.md");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote("$(x)"), "'$(x)'");
    }
}
