//! Finds the end of a secret while its bytes arrive.
//!
//! Once a rule has found the start of a secret, its bytes are masked as they arrive, however many there are. Each kind
//! of value has its own end. Recognizing it takes at most [`END_LOOKAHEAD`] bytes of what follows.

use super::MARK;
use super::window::{Extent, More, Window};

/// How many bytes of input may be needed to decide on the end of a value.
const END_LOOKAHEAD: usize = 64;

/// The maximum length of a value that spans lines, so that an unclosed one does not hide a whole log.
const MULTI_LINE_LIMIT: usize = 64 * 1024;

/// A value whose end is not found yet.
#[derive(Clone, Debug)]
pub(super) enum Swallow {
    /// A fixed number of bytes.
    Fixed(usize),
    /// A prefix of this length, then bytes of this class.
    Class(usize, fn(u8) -> bool),
    /// An unquoted value.
    Bare,
    /// Everything to the end of the line, or to the quote before the name.
    Line(Option<u8>),
    /// A quoted value.
    Quoted {
        /// The quote.
        quote: u8,
        /// The number of backslashes before each quote: 0, or 1 in text that is itself quoted, and so on.
        slashes: usize,
    },
    /// A value in triple quotes.
    Triple {
        /// The quote.
        quote: u8,
        /// The number of bytes seen.
        seen: usize,
    },
    /// A list of quoted values in brackets.
    List {
        /// The quote that is open.
        open: Option<u8>,
        /// The number of bytes seen.
        seen: usize,
    },
    /// A PEM block.
    Pem {
        /// The position in it.
        pem: Pem,
        /// The value that the block is a part of.
        within: Option<Box<Swallow>>,
    },
}

/// The position in a PEM block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pem {
    seen: usize,
    /// The current and the longest run of base64 on this line, and the length of the line.
    run: usize,
    longest: usize,
    line: usize,
    /// The number of consecutive lines that do not look like part of a key.
    foreign: usize,
}

/// The result of one step.
enum Step {
    /// This many bytes belong to the value.
    Take(usize),
    /// This many bytes belong to the value, which ends there.
    Last(usize),
    /// The value continues as another kind.
    Become(Swallow),
    /// This many bytes belong to the value, which then continues as another kind.
    TakeAndBecome(usize, Swallow),
}

/// The result of one step in a PEM block.
enum PemStep {
    /// This many bytes belong to the block.
    Take(usize),
    /// This many bytes belong to the block, which ends there.
    End(usize),
    /// Other text follows after this many bytes, without an end of the block.
    CutOff(usize),
}

impl Swallow {
    /// Creates a PEM block that is a secret of its own.
    pub(super) fn pem() -> Swallow {
        Swallow::Pem { pem: Pem::default(), within: None }
    }

    /// Consumes bytes that certainly belong to the value. Returns the position after them, and whether the value ends
    /// there.
    pub(super) fn advance(&mut self, window: Window<'_>, from: usize) -> (usize, bool) {
        let mut position = from;
        loop {
            match self.step(window, position) {
                Ok(Step::Take(count)) => position += count,
                Ok(Step::Last(count)) => return (position + count, true),
                Ok(Step::Become(other)) => *self = other,
                Ok(Step::TakeAndBecome(count, other)) => {
                    position += count;
                    *self = other;
                }
                Err(More) => return (position, false),
            }
        }
    }

    fn step(&mut self, window: Window<'_>, at: usize) -> Result<Step, More> {
        let Some(byte) = window.at(at)? else { return Ok(Step::Last(0)) };
        if !matches!(self, Swallow::Fixed(_) | Swallow::Class(..) | Swallow::Pem { .. }) {
            // A secret that is already masked is one piece.
            if byte == b'[' && window.has_mark(at)? {
                return Ok(Step::Take(MARK.len()));
            }
        }
        let may_become_key = !matches!(self, Swallow::Fixed(_) | Swallow::Pem { .. });
        if may_become_key && byte == b'-' && is_private_key_header(window, at)? {
            // Bytes of a class have an end of their own.
            let within = (!matches!(self, Swallow::Class(..))).then(|| Box::new(self.clone()));
            return Ok(Step::Become(Swallow::Pem { pem: Pem::default(), within }));
        }
        match self {
            Swallow::Fixed(0) => Ok(Step::Last(0)),
            Swallow::Fixed(count) => {
                *count -= 1;
                Ok(Step::Take(1))
            }
            Swallow::Class(prefix, _) if *prefix != 0 => {
                *prefix -= 1;
                Ok(Step::Take(1))
            }
            Swallow::Class(_, class) => Ok(if class(byte) { Step::Take(1) } else { Step::Last(0) }),
            Swallow::Bare => bare(window, at, byte),
            Swallow::Line(quote) => line(window, at, byte, *quote),
            Swallow::Quoted { quote, slashes } => quoted(window, at, byte, *quote, *slashes),
            Swallow::Triple { quote, seen } => {
                if window.has(at, &[*quote; 3])? || MULTI_LINE_LIMIT <= *seen {
                    return Ok(Step::Last(0));
                }
                *seen += 1;
                Ok(Step::Take(1))
            }
            Swallow::List { open, seen } => list(window, at, byte, open, seen),
            Swallow::Pem { pem, within } => Ok(match (pem.step(window, at, byte)?, within) {
                // What follows the block directly is the rest of the value.
                (PemStep::End(count), Some(within)) => Step::TakeAndBecome(count, (**within).clone()),
                (PemStep::End(count), None) | (PemStep::CutOff(count), _) => Step::Last(count),
                (PemStep::Take(count), _) => Step::Take(count),
            }),
        }
    }
}

/// Bytes that end a value when they follow a quote, bracket or separator.
fn delimits(byte: Option<u8>) -> bool {
    byte.is_none_or(|byte| byte.is_ascii_whitespace() || byte < b' ' || b",;:)]}>\"'`\\&|<#.".contains(&byte))
}

fn bare(window: Window<'_>, at: usize, byte: u8) -> Result<Step, More> {
    let ends = match byte {
        0..=b' ' => true,
        b'"' | b'\'' | b'`' => delimits(window.at(at + 1)?),
        b'\\' => {
            let after = window.skip(at, 16, |b| b == b'\\')?;
            match window.at(after)? {
                Some(b'"' | b'\'' | b'`') => delimits(window.at(after + 1)?),
                // An escaped space belongs to the word.
                Some(b' ') if (after - at) % 2 == 1 => return Ok(Step::Take(after + 1 - at)),
                _ => return Ok(Step::Take(after - at)),
            }
        }
        b',' | b';' | b'&' | b'|' => separates(window, at + 1)?,
        b')' | b']' | b'}' | b'>' => delimits(window.at(at + 1)?),
        b'<' => matches!(window.at(at + 1)?, Some(b'/')),
        _ => false,
    };
    Ok(if ends { Step::Last(0) } else { Step::Take(1) })
}

/// Returns whether a `,`, `;`, `&` or `|` is followed by another field rather than by the rest of the value.
fn separates(window: Window<'_>, from: usize) -> Result<bool, More> {
    let next = window.at(from)?;
    if delimits(next) {
        return Ok(true);
    }
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
    let end = window.skip(from, END_LOOKAHEAD - 4, is_name)?;
    Ok(from < end && matches!(window.at(end)?, Some(b'=' | b':')))
}

fn line(window: Window<'_>, at: usize, byte: u8, quote: Option<u8>) -> Result<Step, More> {
    Ok(match byte {
        b'\n' | b'\r' | 0x1b => Step::Last(0),
        b'\\' if window.at(at + 1)?.is_some_and(|b| b' ' <= b) => Step::Take(2),
        byte if Some(byte) == quote => Step::Last(0),
        _ => Step::Take(1),
    })
}

fn quoted(window: Window<'_>, at: usize, byte: u8, quote: u8, slashes: usize) -> Result<Step, More> {
    const LONGEST_RUN: usize = 1024;
    if byte == b'\n' {
        return Ok(Step::Last(0));
    }
    let after = window.skip(at, LONGEST_RUN, |b| b == b'\\')?;
    let run = after - at;
    if run == LONGEST_RUN || (run != 0 && window.at(after)? != Some(quote)) {
        return Ok(Step::Take(run));
    }
    if run == 0 && byte != quote {
        return Ok(Step::Take(1));
    }
    if slashes < run && run % (2 * (slashes + 1)) != slashes {
        return Ok(Step::Take(run + 1));
    }
    // A doubled quote is a literal quote in SQL, CSV and YAML, and joins two words in a shell.
    if slashes == 0 && run == 0 && window.at(at + 1)? == Some(quote) && !delimits(window.at(at + 2)?) {
        return Ok(Step::Take(2));
    }
    Ok(Step::Last(run.saturating_sub(slashes)))
}

fn list(
    window: Window<'_>,
    at: usize,
    byte: u8,
    open: &mut Option<u8>,
    seen: &mut usize,
) -> Result<Step, More> {
    if MULTI_LINE_LIMIT <= *seen {
        return Ok(Step::Last(0));
    }
    let mut taken = 1;
    match (*open, byte) {
        (None, b']') => {
            // Text directly after the list belongs to it.
            return Ok(if delimits(window.at(at + 1)?) {
                Step::Last(1)
            } else {
                Step::Become(Swallow::Bare)
            });
        }
        (None, b'"' | b'\'') => *open = Some(byte),
        (Some(quote), byte) if quote == byte => *open = None,
        (Some(quote), b'\\') if window.at(at + 1)? == Some(quote) => {
            // In text that is itself quoted every quote has a backslash. Elsewhere only quotes inside a value have one.
            let next = window.at(at + 2)?;
            if next.is_some_and(|next| b",] \n".contains(&next)) {
                *open = None;
            }
            taken = 2;
        }
        _ => {}
    }
    *seen += taken;
    Ok(Step::Take(taken))
}

/// Returns whether the first line of a PEM private key starts at a position.
pub(super) fn is_private_key_header(window: Window<'_>, at: usize) -> Result<bool, More> {
    const BEGIN: &[u8] = b"-----BEGIN ";
    const BEGIN_SSH2: &[u8] = b"---- BEGIN SSH2 ";
    let (label, rule): (_, &[u8]) = if window.has(at, BEGIN)? {
        (at + BEGIN.len(), b"-----")
    } else if window.has(at, BEGIN_SSH2)? {
        (at + BEGIN_SSH2.len(), b"----")
    } else {
        return Ok(false);
    };
    let end = window.skip(label, 48, |b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b' ')?;
    let private = memchr::memmem::find(&window.bytes[label..end], b"PRIVATE KEY").is_some();
    Ok(private && window.has(end, rule)?)
}

impl Pem {
    fn step(&mut self, window: Window<'_>, at: usize, byte: u8) -> Result<PemStep, More> {
        /// After more lines than this without key data, the block was cut off and other text follows.
        const FOREIGN_LINES: usize = 4;
        if byte == b'-' && self.seen != 0 && window.has(at, b"---- END SSH2 ")? {
            let end = window.skip(at + 14, 48, |b| b.is_ascii_uppercase() || b == b' ')?;
            if window.has(end, b"----")? {
                return Ok(PemStep::End(end + 4 - at));
            }
        }
        if byte == b'-' && self.seen != 0 && window.has(at, b"-----END ")? {
            let end =
                window.skip(at + 9, 48, |b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b' ')?;
            if window.has(end, b"-----")? {
                return Ok(PemStep::End(end + 5 - at));
            }
        }
        self.seen += 1;
        self.line += 1;
        let is_base64 = byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
        self.run = if is_base64 { self.run + 1 } else { 0 };
        self.longest = self.longest.max(self.run);
        if byte == b'\n' {
            let foreign = 16 < self.line && self.longest < 16;
            self.foreign = if foreign { self.foreign + 1 } else { 0 };
            (self.run, self.longest, self.line) = (0, 0, 0);
        }
        let cut_off = self.foreign == FOREIGN_LINES || MULTI_LINE_LIMIT <= self.seen;
        Ok(if cut_off { PemStep::CutOff(1) } else { PemStep::Take(1) })
    }
}

/// Returns the first bytes of a value, at most `limit`, to classify it.
pub(super) fn beginning<'a>(
    window: Window<'a>,
    from: usize,
    limit: usize,
    mut kind: Swallow,
) -> Result<&'a [u8], More> {
    let whole = from + limit <= window.bytes.len();
    let bytes = if whole { &window.bytes[..from + limit] } else { window.bytes };
    let extent = if whole { Extent::Ended } else { window.extent };
    match kind.advance(Window { bytes, extent }, from) {
        (end, true) => Ok(&window.bytes[from..end]),
        (_, false) => Err(More),
    }
}
