//! Passwords among the words behind a program that takes them.

use brigade_command::{Operands, Password, Place, Program};

use crate::argv::Hidden;

/// A program that takes passwords, and how far its words were read.
pub(super) struct Taker<'w> {
    program: Program,
    /// The word before.
    before: Option<&'w str>,
    /// Which of its passwords may stand here, a bit each.
    open: u8,
    /// For which of them the option was given without which there is none.
    given: u8,
    /// The first operand, behind which a subcommand may stand.
    group: Option<&'w str>,
    /// Whether no subcommand follows.
    is_past: bool,
    /// The number of operands behind the program, or behind its subcommand.
    operands: usize,
    /// Whether operands with `=` are no passwords: `vault login -method userpass username=bob`.
    takes_pairs: bool,
}

impl<'w> Taker<'w> {
    /// Prepares to read the words behind a program. Returns `None` if it takes no password.
    pub(super) fn of(program: Program) -> Option<Taker<'w>> {
        let passwords = program.passwords();
        let everywhere =
            |(index, password): (usize, &Password)| u8::from(password.behind.is_empty()) << index;
        (!passwords.is_empty()).then(|| Taker {
            program,
            before: None,
            open: passwords.iter().enumerate().map(everywhere).fold(0, |all, bit| all | bit),
            given: 0,
            group: None,
            is_past: false,
            operands: 0,
            takes_pairs: false,
        })
    }

    /// Returns whether a password may follow.
    pub(super) fn may_take(&self) -> bool {
        let may_open = !self.is_past;
        self.passwords()
            .any(|(bit, password)| password.place != Place::Nowhere && (may_open || self.open & bit != 0))
    }

    /// Returns what is hidden in the next word, which stands behind an option.
    pub(super) fn hidden(&self, flag: Option<&str>, word: &str, has_bearer: bool) -> Hidden {
        let is_value = !word.starts_with('-') && !word.is_empty();
        let attached = |letters| {
            let from = self.secret_value(letters, word).filter(|from| *from < word.len())?;
            Some((from, &word[from..]))
        };
        let is_next = |letters| flag.is_some_and(|flag| self.takes_next(letters, flag));
        let in_place = |bit: u8, place: Place| match place {
            // A line of its own, which the reader of inner command lines reads.
            Place::Nowhere | Place::Commands(_) => None,
            Place::User(letters, sign) => {
                let is_behind = || flag.is_some_and(|flag| USER_OPTIONS.contains(&flag)) || is_next(letters);
                let of_long = || {
                    let (option, pair) = word.split_once('=')?;
                    USER_OPTIONS.contains(&option).then(|| word.len() - pair.len())
                };
                let from = if is_behind() {
                    Some(0)
                } else {
                    attached(letters).map(|(from, _)| from).or_else(of_long)
                };
                password_of(word, from?, sign, has_bearer)
            }
            Place::Short(letters) if is_value && is_next(letters) => Some(0),
            Place::Short(letters) | Place::ShortAttached(letters) => {
                attached(letters).filter(|(_, value)| !is_port(value)).map(|(from, _)| from)
            }
            Place::Words(names) => names.iter().find_map(|name| match name.ends_with([':', '=']) {
                true => word.strip_prefix(name).filter(|rest| !rest.is_empty()).map(|_| name.len()),
                false => {
                    let is_behind = self.before.is_some_and(|before| before.eq_ignore_ascii_case(name));
                    (is_value && is_behind).then_some(0)
                }
            }),
            Place::Operands(operands) => {
                let is_pair = self.takes_pairs && word.contains('=');
                let is_operand = is_value && !is_pair && !self.is_value(flag, operands.valued);
                let is_one = is_operand && self.is_one_of(bit, operands);
                is_one.then_some(0)
            }
            Place::Pair(sign) => {
                let is_operand = is_value && !self.is_value(flag, &[]);
                password_in_operand(word, sign).filter(|_| is_operand)
            }
        };
        let mut open = self.passwords().filter(|(bit, _)| self.open & bit != 0);
        let in_password = |(bit, password): (u8, &Password)| {
            in_place(bit, password.place).filter(|from| !password.is_except(&word[*from..]))
        };
        match open.find_map(in_password) {
            None => Hidden::Nothing,
            Some(0) => Hidden::Whole,
            Some(from) => Hidden::From(from),
        }
    }

    /// Moves behind a word.
    pub(super) fn pass(&mut self, flag: Option<&str>, word: &'w str) {
        self.before = Some(word);
        let method = match word.split_once('=') {
            Some(("-method" | "--method", method)) => Some(method),
            _ => matches!(flag, Some("-method" | "--method")).then_some(word),
        };
        self.takes_pairs = method.map_or(self.takes_pairs, |method| method != "token");
        if word.starts_with('-') {
            self.is_past |= word == "--";
            self.note_option(word);
            let opened = self.opened_by(word);
            if opened != 0 {
                self.open |= opened;
                self.operands = 0;
            }
        } else if !self.is_past && self.opens(flag, word) {
            self.operands = 0;
        } else if !self.is_value(flag, &[]) {
            self.operands += 1;
        }
    }

    /// Notes an option without which some operands are no passwords.
    fn note_option(&mut self, word: &str) {
        let bundle = word.strip_prefix('-').filter(|bundle| !bundle.starts_with('-')).unwrap_or_default();
        let given = self.passwords().filter(|(_, password)| match password.place {
            Place::Operands(operands) => operands.with.is_some_and(|letter| bundle.contains(letter)),
            _ => false,
        });
        self.given |= given.map(|(bit, _)| bit).fold(0, |all, bit| all | bit);
    }

    /// Returns whether a word is a subcommand behind which passwords may stand, and notes these.
    fn opens(&mut self, flag: Option<&str>, word: &'w str) -> bool {
        // `cargo +nightly login`
        if word.starts_with('+') {
            return false;
        }
        let opened = self.opened_by(word);
        self.open |= opened;
        if opened != 0 {
            self.is_past = true;
        } else if flag.is_none() {
            self.is_past = self.group.is_some() || NO_GROUPS.contains(&word);
            self.group = Some(word);
        }
        opened != 0
    }

    /// Returns which passwords may stand behind a word, a bit each.
    fn opened_by(&self, word: &str) -> u8 {
        let behind = self.passwords().filter(|(_, password)| password.is_behind(self.group, word));
        behind.map(|(bit, _)| bit).fold(0, |all, bit| all | bit)
    }

    fn passwords(&self) -> impl Iterator<Item = (u8, &'static Password)> + use<> {
        self.program.passwords().iter().enumerate().map(|(index, password)| (1 << index, password))
    }

    /// Returns whether an operand that stands here is a password.
    fn is_one_of(&self, bit: u8, operands: Operands) -> bool {
        let is_in = operands.skipped <= self.operands && self.operands - operands.skipped < operands.most;
        is_in && (operands.with.is_none() || self.given & bit != 0)
    }

    /// Returns whether a word behind an option is its value, as far as the table says. These options are named without
    /// dashes.
    fn is_value(&self, flag: Option<&str>, valued: &[&str]) -> bool {
        flag.is_some_and(|flag| {
            valued.contains(&flag.trim_start_matches('-')) || self.program.takes_next_word(flag)
        })
    }

    /// Returns whether the next word is the value of the last short option in a word, which takes a password.
    fn takes_next(&self, letters: &str, word: &str) -> bool {
        self.secret_value(letters, word).is_some_and(|from| from == word.len())
    }

    /// Returns where the value begins of a short option in a word, which takes a password: `-xwPASSWORD`.
    fn secret_value(&self, letters: &str, word: &str) -> Option<usize> {
        let (letter, from) = self.program.short_value(word)?;
        letters.contains(letter).then_some(from)
    }
}

/// Returns where the password begins behind a name and a sign, or the token that stands there.
fn password_of(word: &str, from: usize, sign: char, has_bearer: bool) -> Option<usize> {
    match word[from..].find(sign) {
        Some(at) => Some(from + at + sign.len_utf8()).filter(|from| *from < word.len()),
        None => (has_bearer && from < word.len()).then_some(from),
    }
}

/// Returns where the password begins in an operand with a name: `name/password@host`, `userid=name/password`.
fn password_in_operand(word: &str, sign: char) -> Option<usize> {
    let (user, password) = word.split_once(sign)?;
    let user = user.strip_prefix("userid=").unwrap_or(user);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_$#.[]\"".contains(&byte);
    let is_user = !user.is_empty() && !user.starts_with('.') && user.bytes().all(is_name);
    (is_user && !password.is_empty() && !password.starts_with('@')).then(|| word.len() - password.len())
}

/// Returns whether a value is ports of a container.
fn is_port(value: &str) -> bool {
    value.contains(':') && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b':')
}

/// Long options that take a name and a password.
const USER_OPTIONS: &[&str] = &["--cert", "--proxy-cert", "--proxy-user", "--user"];

/// Subcommands behind which another is a name: `cf push login`.
#[rustfmt::skip]
const NO_GROUPS: &[&str] = &[
    "build", "compose", "create", "delete", "exec", "logs", "pull", "push", "rm", "run", "start", "stop", "tag",
];
