//! The words of a command line.
//!
//! A configured `command` is split once, by the quoting rules of POSIX, into an [`Argv`]. After that it is a list. A
//! rendered value becomes exactly one element. Nothing is split again, expanded or passed to a shell.

use std::fmt;

use thiserror::Error;

/// A program and its arguments.
///
/// It has at least one word, the program is not empty, and no word has a NUL, so the operating system accepts it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Argv(Vec<String>);

/// Why words or text are not a command line. The error has the place and never quotes the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidCommand {
    /// There is no program: no word, or an empty first word.
    #[error("the command names no program")]
    NoProgram,
    /// A quote is never closed. The column counts characters from 1.
    #[error("the quote opened at column {column} of the command is never closed")]
    OpenQuote {
        /// The column of the opening quote.
        column: usize,
    },
    /// The text ends with a backslash that escapes nothing.
    #[error("the backslash at column {column} of the command escapes nothing")]
    LoneBackslash {
        /// The column of the backslash.
        column: usize,
    },
    /// The text of a command has a NUL.
    #[error("the command contains a NUL character at column {column}")]
    Nul {
        /// The column of the NUL.
        column: usize,
    },
    /// A word has a NUL.
    #[error("word {} of the command line contains a NUL character", word + 1)]
    NulInWord {
        /// The position of the word, from 0, which is the program.
        word: usize,
    },
}

impl Argv {
    /// Creates a command line from words.
    ///
    /// # Errors
    ///
    /// Fails if there is no word, the first word is empty, or a word has a NUL.
    pub fn new(words: Vec<String>) -> Result<Argv, InvalidCommand> {
        if words.first().is_none_or(String::is_empty) {
            return Err(InvalidCommand::NoProgram);
        }
        if let Some(word) = words.iter().position(|word| word.contains('\0')) {
            return Err(InvalidCommand::NulInWord { word });
        }
        Ok(Argv(words))
    }

    /// Splits a command by the quoting rules of POSIX.
    ///
    /// Blanks separate words; `'…'` is literal; in `"…"` a backslash escapes `"`, `\`, `$`, `` ` `` and a line end;
    /// elsewhere a backslash escapes any character. Nothing is expanded, and `#`, `|`, `;` and their like are
    /// ordinary characters.
    ///
    /// # Errors
    ///
    /// Fails on an open quote, a backslash at the end, a NUL, or a missing program.
    ///
    /// ```
    /// use brigade_cmdline::argv::Argv;
    ///
    /// let argv = Argv::parse("bin/tool --name 'two words' #1")?;
    /// assert_eq!(argv.words(), ["bin/tool", "--name", "two words", "#1"]);
    /// # Ok::<(), brigade_cmdline::argv::InvalidCommand>(())
    /// ```
    pub fn parse(command: &str) -> Result<Argv, InvalidCommand> {
        if let Some(at) = command.find('\0') {
            return Err(InvalidCommand::Nul { column: column(command, at) });
        }
        Argv::new(split(command)?)
    }

    /// Adds one argument without splitting it.
    ///
    /// # Errors
    ///
    /// Fails, and adds nothing, if the value has a NUL.
    pub fn push(&mut self, value: impl Into<String>) -> Result<(), InvalidCommand> {
        let value = value.into();
        if value.contains('\0') {
            return Err(InvalidCommand::NulInWord { word: self.0.len() });
        }
        self.0.push(value);
        Ok(())
    }

    /// Returns the first word.
    pub fn program(&self) -> &str {
        &self.0[0]
    }

    /// Returns the words after the program.
    pub fn args(&self) -> &[String] {
        &self.0[1..]
    }

    /// Returns all words, the program first.
    pub fn words(&self) -> &[String] {
        &self.0
    }

    /// Converts into the words.
    pub fn into_words(self) -> Vec<String> {
        self.0
    }
}

/// Quotes the words so that a POSIX shell and [`Argv::parse`] read the same words back.
impl fmt::Display for Argv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, word) in self.0.iter().enumerate() {
            if index != 0 {
                f.write_str(" ")?;
            }
            // Quoting fails only on a NUL, and no word has one.
            f.write_str(&shlex::try_quote(word).map_err(|_| fmt::Error)?)?;
        }
        Ok(())
    }
}

// The `shlex` crate drops everything after a word that starts with `#`. A command in tools.toml is not a shell script,
// so an argument such as `#channel` must be kept.
fn split(command: &str) -> Result<Vec<String>, InvalidCommand> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            ' ' | '\t' | '\n' | '\r' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some((_, '\'')) => break,
                        Some((_, c)) => word.push(c),
                        None => return Err(InvalidCommand::OpenQuote { column: column(command, at) }),
                    }
                }
            }
            '"' => double_quoted(&mut chars, word.get_or_insert_default())
                .ok_or_else(|| InvalidCommand::OpenQuote { column: column(command, at) })?,
            '\\' => match chars.next() {
                Some((_, '\n')) => {}
                Some((_, c)) => word.get_or_insert_default().push(c),
                None => return Err(InvalidCommand::LoneBackslash { column: column(command, at) }),
            },
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// Reads up to the closing `"`; `None` if it is missing.
fn double_quoted(chars: &mut std::str::CharIndices<'_>, word: &mut String) -> Option<()> {
    loop {
        match chars.next()?.1 {
            '"' => return Some(()),
            '\\' => match chars.next()?.1 {
                '\n' => {}
                c @ ('"' | '\\' | '$' | '`') => word.push(c),
                c => word.extend(['\\', c]),
            },
            c => word.push(c),
        }
    }
}

fn column(command: &str, at: usize) -> usize {
    command[..at].chars().count() + 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(command: &str, expect: Result<&[&str], InvalidCommand>) {
        let got = Argv::parse(command).map(Argv::into_words);
        assert_eq!(got, expect.map(|words| words.iter().map(|w| (*w).to_owned()).collect()));
    }

    #[test]
    fn commands_are_split_by_posix_rules() {
        check("a b\tc\nd", Ok(&["a", "b", "c", "d"]));
        check(r#"a 'b c' "d \" \$ \x" e\ f"#, Ok(&["a", "b c", "d \" $ \\x", "e f"]));
        check("a '' \"\"", Ok(&["a", "", ""]));
        check("a#b #c | ; $HOME *", Ok(&["a#b", "#c", "|", ";", "$HOME", "*"]));
        check("a\\\nb", Ok(&["ab"]));
    }

    #[test]
    fn invalid_commands_are_refused_with_their_place() {
        check("", Err(InvalidCommand::NoProgram));
        check("  \n", Err(InvalidCommand::NoProgram));
        check("'' a", Err(InvalidCommand::NoProgram));
        check("é 'b", Err(InvalidCommand::OpenQuote { column: 3 }));
        check("a \"b\\", Err(InvalidCommand::OpenQuote { column: 3 }));
        check("a b\\", Err(InvalidCommand::LoneBackslash { column: 4 }));
        check("a \0", Err(InvalidCommand::Nul { column: 3 }));
    }

    #[test]
    fn an_error_never_quotes_the_text() {
        let error = Argv::parse("tool 'hunter2EXAMPLE").unwrap_err();
        assert_eq!(error.to_string(), "the quote opened at column 6 of the command is never closed");
    }

    #[test]
    fn any_pushed_value_is_one_word() {
        let mut argv = Argv::parse("tool").unwrap();
        for value in ["a b --rm", "", "it's", "$(x)\n"] {
            argv.push(value).unwrap();
        }
        assert_eq!(argv.args(), ["a b --rm", "", "it's", "$(x)\n"]);
        assert_eq!(argv.push("a\0b"), Err(InvalidCommand::NulInWord { word: 5 }));
        assert_eq!(argv.words().len(), 5);
    }

    proptest! {
        #[test]
        fn shown_words_read_back_the_same(words in prop::collection::vec("[^\0]{0,12}", 1..6)) {
            prop_assume!(!words[0].is_empty());
            let argv = Argv::new(words).unwrap();
            prop_assert_eq!(Argv::parse(&argv.to_string()).unwrap(), argv);
        }

        #[test]
        fn splitting_agrees_with_shlex_without_comments(text in "[ab'\"\\\\ \t\n$`|;]{0,24}") {
            // For an empty continued line, the crate returns an empty word, unlike a shell.
            prop_assume!(!text.contains("\\\n"));
            let ours = split(&text).ok();
            prop_assert_eq!(ours, shlex::split(&text));
        }
    }
}
