//! Where programs take passwords on their command lines.

/// A place where a program takes a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Password {
    /// Where it is.
    pub place: Place,
    /// The subcommand after which it applies; `None` if it always applies.
    pub after: Option<&'static str>,
}

/// Where a password is on a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Next to one of these short options, or attached to it: `-p PASSWORD`, `-pPASSWORD`.
    Short(&'static str),
    /// Attached to one of these short options: `-pPASSWORD`. The next word is something else.
    Attached(&'static str),
    /// After the user and this sign, next to one of these short options or attached to it: `-u user:PASSWORD`.
    User(&'static str, char),
}

impl Password {
    /// Returns the short options that take it.
    pub fn letters(self) -> &'static str {
        match self.place {
            Place::User(letters, _) | Place::Short(letters) | Place::Attached(letters) => letters,
        }
    }
}

pub(super) const fn short(letters: &'static str) -> Password {
    Password { place: Place::Short(letters), after: None }
}

pub(super) const fn attached(letters: &'static str) -> Password {
    Password { place: Place::Attached(letters), after: None }
}

pub(super) const fn user(letters: &'static str, sign: char) -> Password {
    Password { place: Place::User(letters, sign), after: None }
}

pub(super) const AFTER_LOGIN: Password = Password { place: Place::Short("p"), after: Some("login") };
