//! Where programs take a password on their command lines.

/// Where a program takes a password on its command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Password {
    /// Subcommands behind which it takes one, each with the words before it: `secret set`. `*` stands for any rest of a
    /// word. With no subcommand, it takes one everywhere. A name with a dash is an option, which may stand anywhere.
    pub behind: &'static [&'static str],
    /// Words that may stand in its place and are none, as `public` is in `snmpget -c public`. `*` stands for any rest
    /// or beginning of a word.
    pub except: &'static [&'static str],
    /// Where it stands there.
    pub place: Place,
}

/// Where a password stands among the words behind a program, or behind its subcommand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Behind one of these letters, in the same word or the next: `-p password`.
    Short(&'static str),
    /// Behind one of these letters, in the same word: `-ppassword`.
    ShortAttached(&'static str),
    /// Behind a name and this sign, in the value of one of these letters, or of a long option such as `--user`:
    /// `-u name:password`.
    User(&'static str, char),
    /// Behind one of these words, options or not, or in a word that begins with one that ends in `:` or `=`:
    /// `-k password`, `requirepass password`, `/p:password`.
    Words(&'static [&'static str]),
    /// The operands.
    Operands(Operands),
    /// Behind a name and this sign, in an operand: `name/password@host`.
    Pair(char),
    /// In the value of one of these letters, which is commands of the program itself: `-e 'open -u name,password'`.
    Commands(&'static str),
    /// Nowhere, also not where the program before takes one: `sshpass … ssh -p 22`.
    Nowhere,
}

/// Which operands are passwords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operands {
    /// How many operands before are none.
    pub skipped: usize,
    /// How many follow these at most. Others are none.
    pub most: usize,
    /// The short option without which none is.
    pub with: Option<char>,
    /// Options that take the next word, without dashes, besides those that the row has.
    pub valued: &'static [&'static str],
}

impl Password {
    /// Returns the letters of the short options that take the password.
    pub fn letters(self) -> &'static str {
        match self.place {
            Place::User(letters, _)
            | Place::Short(letters)
            | Place::ShortAttached(letters)
            | Place::Commands(letters) => letters,
            Place::Words(_) | Place::Operands(_) | Place::Pair(_) | Place::Nowhere => "",
        }
    }

    /// Returns whether there is none in a command without an option.
    pub fn needs_option(self) -> bool {
        match self.place {
            Place::User(..) | Place::Short(_) | Place::ShortAttached(_) => true,
            Place::Commands(_) | Place::Nowhere => true,
            Place::Operands(operands) => operands.with.is_some(),
            Place::Words(_) | Place::Pair(_) => false,
        }
    }

    /// Returns whether a word that follows some operands is a subcommand behind which the password stands.
    ///
    /// ```
    /// use brigade_command::Program;
    ///
    /// let password = Program::of("gh").unwrap().passwords()[0];
    /// assert!(password.is_behind(Some("secret"), "set") && !password.is_behind(None, "secret"));
    /// ```
    pub fn is_behind(self, group: Option<&str>, word: &str) -> bool {
        self.behind.iter().any(|names| match names.split_once(' ') {
            None => (group.is_none() || names.starts_with('-')) && is_like(names, word),
            Some((before, name)) => group.is_some_and(|group| is_like(before, group)) && is_like(name, word),
        })
    }

    /// Returns whether a word in its place is none.
    pub fn is_except(self, word: &str) -> bool {
        self.except.iter().any(|name| is_like(name, word))
    }

    /// Words that are none.
    pub(super) const fn but(self, except: &'static [&'static str]) -> Password {
        Password { except, ..self }
    }

    pub(super) const fn behind(self, behind: &'static [&'static str]) -> Password {
        Password { behind, ..self }
    }
}

fn is_like(name: &str, word: &str) -> bool {
    match (name.strip_suffix('*'), name.strip_prefix('*')) {
        (Some(start), _) => word.starts_with(start),
        (None, Some(end)) => word.ends_with(end),
        (None, None) => name.eq_ignore_ascii_case(word),
    }
}

const fn at(place: Place) -> Password {
    Password { behind: &[], except: &[], place }
}

pub(super) const fn short(letters: &'static str) -> Password {
    at(Place::Short(letters))
}

pub(super) const fn attached(letters: &'static str) -> Password {
    at(Place::ShortAttached(letters))
}

pub(super) const fn user(letters: &'static str, sign: char) -> Password {
    at(Place::User(letters, sign))
}

pub(super) const fn words(words: &'static [&'static str]) -> Password {
    at(Place::Words(words))
}

const ALL: Operands = Operands { skipped: 0, most: usize::MAX, with: None, valued: &[] };

/// All operands but the first.
pub(super) const fn operands(skipped: usize) -> Password {
    at(Place::Operands(Operands { skipped, ..ALL }))
}

/// The first operands.
pub(super) const fn first_operands(most: usize) -> Password {
    at(Place::Operands(Operands { most, ..ALL }))
}

/// All operands but the first, if this option stands before them.
pub(super) const fn operands_with(letter: char, skipped: usize) -> Password {
    at(Place::Operands(Operands { skipped, with: Some(letter), ..ALL }))
}

/// All operands. These options take the next word.
pub(super) const fn operands_beside(valued: &'static [&'static str]) -> Password {
    at(Place::Operands(Operands { valued, ..ALL }))
}

/// What the commands hold that are the value of one of these options.
pub(super) const fn commands(letters: &'static str) -> Password {
    at(Place::Commands(letters))
}

pub(super) const fn pair(sign: char) -> Password {
    at(Place::Pair(sign))
}

pub(super) const NOWHERE: Password = at(Place::Nowhere);

/// `-p password` behind `login`.
pub(super) const AFTER_LOGIN: Password = short("p").behind(&["login", "* login"]);
