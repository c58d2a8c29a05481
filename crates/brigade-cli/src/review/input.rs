//! Keys and the mouse, from the bytes of a terminal.
//!
//! The screen waits for the terminal, for signals and for changes of files at once, so it reads the bytes itself.
//! Pasted text and sequences without a meaning here are left out.

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    Control(char),
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Tab,
    Enter,
    Escape,
    Backspace,
}

/// What a person did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Key(Key),
    /// A click at a column and row, from 0.
    Click(u16, u16),
    /// The wheel at a column and row; `true` for downwards.
    Wheel(u16, u16, bool),
}

/// The start and the end of pasted text, if the terminal marks it.
const PASTE: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// The longest sequence that is waited for.
const MAX_SEQUENCE: usize = 32;

/// Reads keys from parts of bytes.
#[derive(Default)]
pub(crate) struct InputReader {
    waiting: Vec<u8>,
    is_pasting: bool,
}

/// What the first bytes are.
enum Step {
    /// This many bytes, and what they mean.
    Took(usize, Option<Input>),
    /// More bytes are needed.
    Incomplete,
}

impl InputReader {
    /// Adds bytes, and returns what is complete.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Vec<Input> {
        self.waiting.extend_from_slice(bytes);
        let mut found = Vec::new();
        while !self.waiting.is_empty() {
            if self.is_pasting {
                let Some(end) = find(&self.waiting, PASTE_END) else {
                    // The end mark may be split between two parts.
                    let kept = self.waiting.len().min(PASTE_END.len() - 1);
                    self.waiting.drain(..self.waiting.len() - kept);
                    break;
                };
                self.waiting.drain(..end + PASTE_END.len());
                self.is_pasting = false;
                continue;
            }
            if self.waiting.starts_with(PASTE) {
                self.waiting.drain(..PASTE.len());
                self.is_pasting = true;
                continue;
            }
            match first(&self.waiting) {
                Step::Took(count, input) => {
                    self.waiting.drain(..count);
                    found.extend(input);
                }
                Step::Incomplete => break,
            }
        }
        found
    }

    /// Returns what waits for more bytes when none come: the escape key.
    pub(crate) fn give_up(&mut self) -> Option<Input> {
        if self.is_pasting {
            return None;
        }
        let waiting = std::mem::take(&mut self.waiting);
        (waiting == b"\x1b").then_some(Input::Key(Key::Escape))
    }

    /// Returns whether bytes wait for more.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty() && !self.is_pasting
    }

    /// Forgets bytes that wait for more. Pasted text still continues to its end.
    pub(crate) fn forget(&mut self) {
        if !self.is_pasting {
            self.waiting.clear();
        }
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

fn first(bytes: &[u8]) -> Step {
    let key = |key| Some(Input::Key(key));
    match bytes[0] {
        0x1b => sequence(bytes),
        b'\r' | b'\n' => Step::Took(1, key(Key::Enter)),
        b'\t' => Step::Took(1, key(Key::Tab)),
        0x7f | 0x08 => Step::Took(1, key(Key::Backspace)),
        control @ 1..=26 => Step::Took(1, key(Key::Control(char::from(control + b'a' - 1)))),
        0 | 0x1c..=0x1f => Step::Took(1, None),
        ascii if ascii.is_ascii() => Step::Took(1, key(Key::Char(char::from(ascii)))),
        _ => character(bytes),
    }
}

fn character(bytes: &[u8]) -> Step {
    let part = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(part) {
        Ok(text) => text,
        Err(error) if 0 < error.valid_up_to() => {
            std::str::from_utf8(&part[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(error) => match error.error_len() {
            None => return Step::Incomplete,
            Some(length) => return Step::Took(length, None),
        },
    };
    match valid.chars().next() {
        Some(c) => Step::Took(c.len_utf8(), Some(Input::Key(Key::Char(c)))),
        None => Step::Took(1, None),
    }
}

/// Reads what follows an escape.
fn sequence(bytes: &[u8]) -> Step {
    match bytes.get(1) {
        None => Step::Incomplete,
        Some(b'[') => {
            let end = bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte));
            match end {
                Some(end) => {
                    let (parameters, last) = (&bytes[2..2 + end], bytes[2 + end]);
                    Step::Took(end + 3, control_sequence(parameters, last))
                }
                None if MAX_SEQUENCE < bytes.len() => Step::Took(bytes.len(), None),
                None => Step::Incomplete,
            }
        }
        Some(b'O') => match bytes.get(2) {
            Some(last) => Step::Took(3, control_sequence(b"", *last)),
            None => Step::Incomplete,
        },
        // Keys with Alt are not used, so another key follows.
        Some(_) => Step::Took(1, Some(Input::Key(Key::Escape))),
    }
}

fn control_sequence(parameters: &[u8], last: u8) -> Option<Input> {
    if let Some(mouse) = parameters.strip_prefix(b"<") {
        return mouse_event(mouse, last);
    }
    let key = match (last, parameters) {
        (b'A', b"") => Key::Up,
        (b'B', b"") => Key::Down,
        (b'H', b"") | (b'~', b"1" | b"7") => Key::Home,
        (b'F', b"") | (b'~', b"4" | b"8") => Key::End,
        (b'~', b"5") => Key::PageUp,
        (b'~', b"6") => Key::PageDown,
        _ => return None,
    };
    Some(Input::Key(key))
}

/// Reads `button;column;row` of the mouse.
fn mouse_event(parameters: &[u8], last: u8) -> Option<Input> {
    let text = std::str::from_utf8(parameters).ok()?;
    let mut numbers = text.split(';').map(|number| number.parse::<u16>().ok());
    let (button, column, row) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let (column, row) = (column.checked_sub(1)?, row.checked_sub(1)?);
    match (button, last) {
        (0, b'M') => Some(Input::Click(column, row)),
        (64, b'M') => Some(Input::Wheel(column, row, false)),
        (65, b'M') => Some(Input::Wheel(column, row, true)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expect: &[Input]) {
        assert_eq!(InputReader::default().take(bytes), expect, "{:?}", String::from_utf8_lossy(bytes));
        // The same in single bytes.
        let mut reader = InputReader::default();
        let found: Vec<Input> = bytes.iter().flat_map(|byte| reader.take(&[*byte])).collect();
        assert_eq!(found, expect, "in single bytes: {:?}", String::from_utf8_lossy(bytes));
    }

    #[test]
    fn bytes_are_keys() {
        let key = Input::Key;
        check(b"a\x1b[Aj", &[key(Key::Char('a')), key(Key::Up), key(Key::Char('j'))]);
        check(b"\x1bOB\x1b[6~\x1b[H", &[key(Key::Down), key(Key::PageDown), key(Key::Home)]);
        check("é日\r".as_bytes(), &[key(Key::Char('é')), key(Key::Char('日')), key(Key::Enter)]);
        check(
            b"\x03\x1a\x7f\t",
            &[key(Key::Control('c')), key(Key::Control('z')), key(Key::Backspace), key(Key::Tab)],
        );
        check(b"\xff\x00y\x1b[1;5A", &[key(Key::Char('y'))]);
        check(b"\x1b[<0;3;5M\x1b[<0;3;5m\x1b[<65;1;1M", &[Input::Click(2, 4), Input::Wheel(0, 0, true)]);
    }

    #[test]
    fn pasted_text_is_ignored() {
        check(b"\x1b[200~ay\r\x1b[A\x1b[201~q", &[Input::Key(Key::Char('q'))]);
    }

    #[test]
    fn pasted_text_continues_after_keys_are_discarded() {
        let mut reader = InputReader::default();
        assert_eq!(reader.take(b"a\x1b[200~y"), [Input::Key(Key::Char('a'))]);
        reader.take(b"y\x1b[201");
        reader.forget();
        assert_eq!(reader.take(b"~q"), [Input::Key(Key::Char('q'))]);
    }

    #[test]
    fn a_lone_escape_is_a_key_when_nothing_follows() {
        let mut reader = InputReader::default();
        assert_eq!(reader.take(b"\x1b"), []);
        assert!(reader.is_waiting());
        assert_eq!(reader.give_up(), Some(Input::Key(Key::Escape)));
        assert_eq!(reader.take(b"\x1b["), []);
        assert_eq!(reader.give_up(), None);
    }
}
