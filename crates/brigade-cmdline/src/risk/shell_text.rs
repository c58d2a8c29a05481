//! Parses the text for a shell roughly, but well enough to find the programs that it runs.
//!
//! It parses quotes, escapes, comments, separators, substitutions and here-strings, but not variables, aliases and
//! functions. These can hide the name of a program, so a text for a shell is always a risk.

/// The commands of a text.
#[derive(Debug, Default)]
pub(super) struct ShellText {
    /// The simple commands, in order.
    pub(super) commands: Vec<Command>,
    /// The texts of `$(…)`, backquotes, `<(…)` and `>(…)`, in order.
    pub(super) substitutions: Vec<String>,
}

/// One simple command.
#[derive(Debug, Default)]
pub(super) struct Command {
    /// Its unquoted words.
    pub(super) words: Vec<String>,
    /// Whether it reads the output of the command before it.
    pub(super) piped: bool,
}

/// Returns whether a word is a separator of commands.
pub(crate) fn is_separator(word: &str) -> bool {
    matches!(word, "|" | "|&" | "||" | "&&" | ";" | "&")
}

/// Returns whether a word is a redirection, with its target attached or not.
pub(super) fn is_redirection(word: &str) -> bool {
    let mark = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&');
    mark.starts_with(['<', '>']) && !mark.starts_with("<(") && !mark.starts_with(">(")
}

fn is_number(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_digit())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    None,
    Single,
    Double,
}

struct Reader<'a> {
    chars: std::iter::Peekable<std::str::Chars<'a>>,
    parsed: ShellText,
    command: Command,
    word: Option<String>,
}

/// Parses a text. Malformed text is parsed as far as possible.
pub(super) fn parse(text: &str) -> ShellText {
    let mut reader = Reader {
        chars: text.chars().peekable(),
        parsed: ShellText::default(),
        command: Command::default(),
        word: None,
    };
    reader.read();
    reader.end_command(false);
    reader.parsed
}

impl Reader<'_> {
    fn read(&mut self) {
        let mut quote = Quote::None;
        while let Some(c) = self.chars.next() {
            match (quote, c) {
                (Quote::None, '\'') => {
                    quote = Quote::Single;
                    self.word.get_or_insert_default();
                }
                (Quote::Single, '\'') | (Quote::Double, '"') => quote = Quote::None,
                (Quote::Single, c) => self.put(c),
                (Quote::None, '"') => {
                    quote = Quote::Double;
                    self.word.get_or_insert_default();
                }
                (_, '\\') => match self.chars.next() {
                    Some('\n') | None => {}
                    Some(c) => self.put(c),
                },
                (_, '`') => {
                    let inner = self.until_backquote();
                    self.substitution(inner);
                }
                (_, '$') if self.chars.peek() == Some(&'(') => {
                    self.chars.next();
                    let inner = self.until_parenthesis();
                    self.substitution(inner);
                }
                (Quote::None, '<' | '>') if self.chars.peek() == Some(&'(') => {
                    self.chars.next();
                    let inner = self.until_parenthesis();
                    self.substitution(inner);
                }
                (Quote::Double, c) => self.put(c),
                (Quote::None, ' ' | '\t' | '\r') => {
                    self.end_word();
                    // To a shell, this is part of a word.
                    if c == '\r' && self.chars.peek() == Some(&'#') {
                        self.word.get_or_insert_default();
                    }
                }
                (Quote::None, '#') if self.word.is_none() => {
                    while self.chars.next_if(|c| *c != '\n').is_some() {}
                }
                // `>|file` is not a pipe.
                (Quote::None, '|') if self.ends_with(&['>']) => self.put('|'),
                (Quote::None, '|') => {
                    let alternative = self.chars.next_if_eq(&'|').is_some();
                    self.chars.next_if_eq(&'&');
                    self.end_command(!alternative);
                }
                // `2>&1` and `&>file` do not end a command.
                (Quote::None, '&') if self.ends_with(&['>', '<']) || self.chars.peek() == Some(&'>') => {
                    if self.chars.peek() == Some(&'>') {
                        self.end_word();
                    }
                    self.put('&');
                }
                (Quote::None, ';' | '&' | '\n' | '(' | ')') => self.end_command(false),
                (Quote::None, '<' | '>') => {
                    // `run.sh>log` are two words, and `2>log` is one.
                    let goes_on = |word: &str| word.ends_with(['<', '>', '&']) || is_number(word);
                    if self.word.as_deref().is_some_and(|word| !goes_on(word)) {
                        self.end_word();
                    }
                    self.put(c);
                }
                (Quote::None, c) => self.put(c),
            }
        }
    }

    fn put(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn ends_with(&self, signs: &[char]) -> bool {
        self.word.as_deref().is_some_and(|word| word.ends_with(signs))
    }

    fn end_word(&mut self) {
        self.command.words.extend(self.word.take());
    }

    fn end_command(&mut self, piped: bool) {
        self.end_word();
        let command = std::mem::replace(&mut self.command, Command { piped, ..Command::default() });
        if !command.words.is_empty() {
            self.parsed.commands.push(command);
        }
    }

    /// Adds a word for a substitution, so the words around it keep their positions. It is `$`, because the value is
    /// unknown.
    fn substitution(&mut self, inner: String) {
        self.put('$');
        self.parsed.substitutions.push(inner);
    }

    fn until_backquote(&mut self) -> String {
        let mut inner = String::new();
        while let Some(c) = self.chars.next() {
            match c {
                '`' => break,
                '\\' => inner.extend(self.chars.next()),
                c => inner.push(c),
            }
        }
        inner
    }

    fn until_parenthesis(&mut self) -> String {
        let mut inner = String::new();
        let mut depth = 1usize;
        let mut quote = None;
        while let Some(c) = self.chars.next() {
            match (quote, c) {
                (_, '\\') if quote != Some('\'') => {
                    inner.push(c);
                    inner.extend(self.chars.next());
                    continue;
                }
                (None, '\'' | '"') => quote = Some(c),
                (Some(open), c) if open == c => quote = None,
                (None, '(') => depth += 1,
                (None, ')') => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                _ => {}
            }
            inner.push(c);
        }
        inner
    }
}
