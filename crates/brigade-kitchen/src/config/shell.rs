//! Reads `brigade.config`, which other programs source in a shell, as data.
//!
//! It understands assignments of literals, with or without `export`, and comments. Values may be in single quotes,
//! double quotes or escaped by backslashes, with several assignments on a line. Anything else is an issue with its
//! line. Nothing is executed or expanded.

use brigade_catalog::source::Locator;
use brigade_core::{ConfigIssue, Place, Severity};
use thiserror::Error;

/// An assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The name of the variable.
    pub name: String,
    /// Where the assignment is.
    pub place: Place,
    /// The value, or why it is not a literal.
    pub value: Result<String, NonLiteral>,
}

/// Why the value of an assignment is not a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NonLiteral {
    /// `$X`, `$(…)`, backticks or `~`.
    #[error("the value has an expansion")]
    Expansion,
    /// `NAME=(…)`.
    #[error("the value is an array")]
    Array,
    /// `NAME+=…`
    #[error("the value is appended to another")]
    Append,
    /// It contains an operator.
    #[error("the value has an operator of the shell")]
    Operator,
    /// It is inside a function, a loop or a condition.
    #[error("the assignment is in a condition, a loop, a function or a subshell")]
    Conditional,
    /// It applies only to the command that follows it.
    #[error("the assignment belongs to a command")]
    ForCommand,
    /// A quote is never closed.
    #[error("the quote is never closed")]
    OpenQuote,
    /// A builtin of the shell sets or unsets the variable.
    #[error("a shell command sets or unsets the variable")]
    Builtin,
    /// It is on the line where a here-document begins.
    #[error("the assignment is on the line where a here-document begins")]
    HereDocument,
    /// It comes after a command that may end the file.
    #[error("the assignment is after `return` or `exit`")]
    AfterEnd,
    /// A blank precedes the `=`, so the shell takes the name for a command.
    #[error("there is a blank before `=`")]
    Blank,
}

/// Builtins of the shell that set or unset variables named by their arguments.
const SETTERS: [&str; 6] = ["unset", "read", "mapfile", "readarray", "getopts", "printf"];

/// Reads the assignments in order, and reports everything else.
pub(super) fn read(file: &str, text: &str) -> (Vec<Assignment>, Vec<ConfigIssue>) {
    let mut reader = Reader {
        file,
        text,
        at: 0,
        locator: Locator::new(text, 1),
        blocks: Vec::new(),
        names_function: false,
        documents: Vec::new(),
        is_ended: false,
        found: Vec::new(),
        issues: Vec::new(),
    };
    while reader.at < text.len() {
        reader.statement();
    }
    (reader.found, reader.issues)
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    at: usize,
    locator: Locator<'a>,
    /// The open blocks.
    blocks: Vec<Block>,
    /// Whether the last word starts the definition of a function.
    names_function: bool,
    /// Here-documents that begin on the next line: the word that ends each, and whether leading tabs are removed.
    documents: Vec<(String, bool)>,
    /// Whether the shell may have ended the file here.
    is_ended: bool,
    found: Vec<Assignment>,
    issues: Vec<ConfigIssue>,
}

/// A block that can contain an assignment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    /// A condition, a loop or a group.
    Other,
    /// A function. Its body is not executed here.
    Function,
    /// A subshell.
    Subshell,
}

/// A word, with its value if it is a literal.
struct Word {
    start: usize,
    raw_end: usize,
    value: Result<String, NonLiteral>,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn place(&self, at: usize) -> Place {
        let (line, column) = self.locator.locate(at);
        Place::at(self.file, line, column)
    }

    fn skip_blanks(&mut self) {
        while self.rest().starts_with([' ', '\t', '\r']) || self.rest().starts_with("\\\n") {
            self.at += if self.rest().starts_with('\\') { 2 } else { 1 };
        }
    }

    /// Skips a comment, up to the end of its line.
    fn skip_comment(&mut self) {
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    /// Skips the end of a line, and the here-documents after it.
    fn skip_line_end(&mut self) {
        self.bump();
        for (end, is_indented) in std::mem::take(&mut self.documents) {
            while !self.rest().is_empty() {
                let rest = self.rest();
                let length = rest.find('\n').unwrap_or(rest.len());
                let line =
                    if is_indented { rest[..length].trim_start_matches('\t') } else { &rest[..length] };
                let is_end = line.trim_end_matches('\r') == end;
                self.at += (length + 1).min(rest.len());
                if is_end {
                    break;
                }
            }
        }
    }

    /// Reads the start of a here-document, if it is next: `<<WORD` or `<<-WORD`.
    fn document(&mut self) {
        let Some(rest) = self.rest().strip_prefix("<<").filter(|rest| !rest.starts_with('<')) else { return };
        let is_indented = rest.starts_with('-');
        self.at += if is_indented { 3 } else { 2 };
        while self.rest().starts_with([' ', '\t']) {
            self.bump();
        }
        let word = self.word();
        let raw = &self.text[word.start..word.raw_end];
        // An end word with an expansion is compared as written.
        self.documents.push((word.value.unwrap_or_else(|_| raw.to_owned()), is_indented));
    }

    fn top(&self) -> Option<Block> {
        self.blocks.last().copied()
    }

    /// Reads one statement, up to the end of the line or a `;`.
    fn statement(&mut self) {
        self.skip_blanks();
        match self.peek() {
            None => return,
            Some('\n') => return self.skip_line_end(),
            Some(';') => {
                self.bump();
                return;
            }
            Some('#') => return self.skip_comment(),
            Some(_) => {}
        }
        let start = self.at;
        let mut is_exported = false;
        let mut assigned = Vec::new();
        let mut is_command = false;
        let mut takes_names = false;
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some('\n') => break,
                Some('#') => {
                    self.skip_comment();
                    break;
                }
                Some(';') => {
                    self.bump();
                    break;
                }
                Some('(') => {
                    self.bump();
                    is_command = true;
                    self.names_function = self.rest().trim_start_matches([' ', '\t']).starts_with(')');
                    self.blocks.push(Block::Subshell);
                    continue;
                }
                Some(')') if self.top() == Some(Block::Subshell) => {
                    self.bump();
                    is_command = true;
                    self.blocks.pop();
                    continue;
                }
                Some(_) => {}
            }
            let at = self.at;
            if let Some((name, append)) = self.assigned_name() {
                let value = self.value();
                let value = match value {
                    _ if append => Err(NonLiteral::Append),
                    Ok(_) if !self.blocks.is_empty() => Err(NonLiteral::Conditional),
                    value => value,
                };
                assigned.push((name, at, value));
                continue;
            }
            let word = self.word();
            let raw = &self.text[word.start..word.raw_end];
            if is_name(raw) && (at == start || is_exported) && self.comes_equals() {
                assigned.push((raw.to_owned(), at, Err(NonLiteral::Blank)));
                is_command = true;
            } else if raw == "export" && at == start {
                is_exported = true;
            } else if is_exported && word.value.is_ok() && is_name(raw) {
                // `export NAME` does not change the value.
            } else if let Some(name) = word.value.ok().filter(|word| takes_names && is_name(word)) {
                assigned.push((name, at, Err(NonLiteral::Builtin)));
            } else {
                // `unset -f` removes a function, not a variable.
                takes_names = (takes_names && raw != "-f") || SETTERS.contains(&raw);
                is_command = true;
                self.block(raw);
                if word.raw_end == word.start {
                    self.bump();
                }
            }
        }
        let is_said = !assigned.is_empty();
        for (name, at, value) in assigned {
            let value = match value {
                Ok(_) if is_command => Err(NonLiteral::ForCommand),
                Ok(_) if self.is_ended => Err(NonLiteral::AfterEnd),
                Ok(_) if !self.documents.is_empty() => Err(NonLiteral::HereDocument),
                value => value,
            };
            self.found.push(Assignment { name, place: self.place(at), value });
        }
        // An assignment for one command already has its own issue.
        if is_command && !is_said {
            let place = self.place(start);
            let message = "not an assignment; commands in this file are not executed".to_owned();
            // Reports at most one issue per line.
            if self.issues.last().is_none_or(|last: &ConfigIssue| last.place.line != place.line) {
                let severity = Severity::Warning;
                self.issues.push(ConfigIssue {
                    severity,
                    place,
                    entry: None,
                    field: None,
                    message,
                    hint: None,
                });
            }
        }
    }

    /// Returns whether a `=` follows after a blank.
    fn comes_equals(&self) -> bool {
        self.rest().starts_with([' ', '\t']) && self.rest().trim_start_matches([' ', '\t']).starts_with('=')
    }

    /// Tracks the words that begin and end conditions, loops and functions, and words that end the file.
    fn block(&mut self, word: &str) {
        match word {
            "{" if self.names_function => self.blocks.push(Block::Function),
            "if" | "for" | "while" | "until" | "case" | "{" | "select" => self.blocks.push(Block::Other),
            "fi" | "done" | "esac" | "}" if self.top().is_some_and(|top| top != Block::Subshell) => {
                self.blocks.pop();
            }
            "return" | "exit" => {
                self.is_ended |=
                    !self.blocks.iter().any(|block| matches!(block, Block::Function | Block::Subshell));
            }
            _ => {}
        }
        // The name of a function may follow its keyword, with its `{` on the next line.
        self.names_function = word == "function"
            || word.ends_with("()")
            || (self.names_function && is_name(word) && word != "{");
    }

    /// Reads `NAME=` or `NAME+=`.
    fn assigned_name(&mut self) -> Option<(String, bool)> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        let name = &rest[..end];
        if !is_name(name) {
            return None;
        }
        let append = rest[end..].starts_with("+=");
        if !append && !rest[end..].starts_with('=') {
            return None;
        }
        self.at += end + if append { 2 } else { 1 };
        Some((name.to_owned(), append))
    }

    fn value(&mut self) -> Result<String, NonLiteral> {
        if self.rest().starts_with('(') {
            self.skip_group();
            return Err(NonLiteral::Array);
        }
        if self.rest().starts_with('~') {
            let _ = self.word();
            return Err(NonLiteral::Expansion);
        }
        self.word().value
    }

    /// Skips from a parenthesis or brace to its closing one. Without a closing one, skips to the end of the line.
    fn skip_group(&mut self) {
        let start = self.at;
        let mut depth = 0usize;
        while let Some(c) = self.peek() {
            match c {
                '(' | '{' => depth += 1,
                ')' | '}' => depth -= 1,
                '\'' | '"' => {
                    let _ = self.word();
                    continue;
                }
                _ => {}
            }
            self.bump();
            if depth == 0 {
                return;
            }
        }
        // Only this line is skipped; later lines are still read.
        self.at = start + self.text[start..].find('\n').unwrap_or(self.text.len() - start);
    }

    /// Skips an expansion that begins with `$` or a backtick.
    fn skip_expansion(&mut self) {
        let sign = self.bump();
        if sign == Some('`') {
            let line = self.rest().find('\n').unwrap_or(self.rest().len());
            self.at += self.rest().find('`').map_or(line, |end| end + 1);
        } else if self.rest().starts_with(['(', '{']) {
            self.skip_group();
        }
    }

    /// Reads a word up to an unquoted blank, line end or `;`.
    fn word(&mut self) -> Word {
        let start = self.at;
        let mut text = String::new();
        let mut fault = None;
        let mut blame = |reason: NonLiteral| {
            fault.get_or_insert(reason);
        };
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\r' | '\n' | ';' => break,
                '\'' => {
                    self.bump();
                    let Some(end) = self.rest().find('\'') else {
                        blame(NonLiteral::OpenQuote);
                        self.at = self.text.len();
                        break;
                    };
                    text.push_str(&self.rest()[..end]);
                    self.at += end + 1;
                    continue;
                }
                '"' => {
                    self.bump();
                    loop {
                        match self.bump() {
                            None => {
                                blame(NonLiteral::OpenQuote);
                                break;
                            }
                            Some('"') => break,
                            Some('$' | '`') => blame(NonLiteral::Expansion),
                            Some('\\') => match self.bump() {
                                Some('\n') | None => {}
                                Some(c @ ('"' | '\\' | '$' | '`')) => text.push(c),
                                Some(c) => text.extend(['\\', c]),
                            },
                            Some(c) => text.push(c),
                        }
                    }
                    continue;
                }
                '\\' => {
                    self.bump();
                    match self.bump() {
                        Some('\n') | None => {}
                        Some(c) => text.push(c),
                    }
                    continue;
                }
                '$' | '`' => {
                    blame(NonLiteral::Expansion);
                    self.skip_expansion();
                    continue;
                }
                ')' if self.top() == Some(Block::Subshell) => break,
                '(' => {
                    blame(NonLiteral::Operator);
                    self.skip_group();
                    continue;
                }
                '<' if self.rest().starts_with("<<") && !self.rest().starts_with("<<<") => {
                    blame(NonLiteral::Operator);
                    self.document();
                    continue;
                }
                '<' => {
                    // A here-string does not begin a here-document.
                    blame(NonLiteral::Operator);
                    self.at += self.rest().len() - self.rest().trim_start_matches('<').len();
                    continue;
                }
                '|' | '&' | '>' | ')' => blame(NonLiteral::Operator),
                c => text.push(c),
            }
            self.bump();
        }
        Word { start, raw_end: self.at, value: fault.map_or(Ok(text), Err) }
    }
}

fn is_name(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit()) && text.bytes().all(legal)
}
