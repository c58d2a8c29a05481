//! Secrets in the words of a command line that somebody wrote into a file: the one rule for entries, runtimes and the
//! files of agent programs.

use super::argv::{ArgvReader, Hidden};
use super::beside::{is_variable_option, name_of_pair, object_with_values, pair_at, secret_of_query};
use super::container::{container_options, is_of_bundle, is_program};
use super::curl;
use super::option::{
    is_odd, is_password_behind_user, is_random, is_secret_beside, is_token_of_scheme, is_value_of_scheme,
    password_before_host, password_of_user, reads_like_words, secret_of_option, secret_property,
};
use super::rules::is_placeholder;
use super::tokens::{ShellToken, shell_tokens};
use super::words::{BEHIND_VALUES, DETERMINERS, PROSE, SETTING, WITHOUT_LOGIN};
use super::{MARK, Redacted, Redactor, looks_secret_value};
use brigade_command::{Place, Program, Role, Starts};
use code::is_expression;
use refers::{References, is_code};

mod code;
mod refers;
mod texts;

impl Redactor {
    /// Redacts the words of a command line. What only refers to a secret stays: a variable, a placeholder, a file, a
    /// source, or a text about secrets such as `token: %s`.
    ///
    /// ```
    /// use brigade_redact::Redactor;
    ///
    /// let words = ["x", "--pat", "q1", "--token", "$TOKEN", "--private-key", "~/.ssh/id"].map(str::to_owned);
    /// let shown: Vec<String> =
    ///     Redactor::new(&[]).redact_command(&words).iter().map(ToString::to_string).collect();
    /// assert_eq!(shown.join(" "), "x --pat [redacted] --token $TOKEN --private-key ~/.ssh/id");
    /// ```
    pub fn redact_command(&self, words: &[String]) -> Vec<Redacted> {
        let parts = secret_parts(words);
        words
            .iter()
            .zip(parts)
            .map(|(word, part)| match part {
                Part::Plain(Hidden::Nothing) => self.redact(word),
                Part::Plain(Hidden::Whole) => Redacted::from_static(MARK),
                Part::Plain(Hidden::From(at)) => Redacted::known(self.redact_str(&word[..at]) + MARK),
                Part::Reference => Redacted::known(self.bound_alone().redact_str(word)),
            })
            .collect()
    }
}

/// What is secret in a word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Plain(Hidden),
    /// It refers to a secret, or is an option with such a reference.
    Reference,
}

/// Returns whether a word of a command line is secret, on its own or because of the words before it.
pub(crate) fn has_secret(words: &[String]) -> bool {
    let is_secret = |(word, part): (&String, Part)| match part {
        Part::Plain(Hidden::Nothing) => looks_secret_value(word).is_some(),
        Part::Plain(Hidden::Whole | Hidden::From(_)) => true,
        Part::Reference => false,
    };
    words.iter().zip(secret_parts(words)).any(is_secret)
}

/// Returns for each word what is secret in it because of the words before it.
pub(crate) fn secret_parts(words: &[String]) -> Vec<Part> {
    let texts: Vec<&str> = words.iter().map(String::as_str).collect();
    let in_container = container_options(&texts);
    let mut reader = ArgvReader::of(texts.iter().copied());
    let refers = References::of(&texts);
    let part = |at: usize| {
        let word = texts[at];
        let hidden = reader.next(word);
        if let Some(from) = secret_of_inner(&texts, at) {
            return Part::Plain(Hidden::From(from));
        }
        if refers.is_one(&texts, at) {
            return Part::Reference;
        }
        let from = match hidden {
            Hidden::Nothing => None,
            Hidden::Whole => Some(0),
            Hidden::From(from) => Some(from),
        };
        if from.is_some_and(|from| &word[from..] == MARK) {
            return Part::Plain(Hidden::Nothing);
        }
        let is_told = |from: &usize| {
            let hidden = &word[*from..];
            !hidden.is_empty() && !is_placeholder(hidden)
        };
        let of_line = || {
            key_in(&texts, at, &in_container)
                .or_else(|| variable_in(&texts, at, &in_container))
                .or_else(|| value_beside(&texts, at, &in_container))
                .filter(|from| !is_code(&texts, at) || !is_expression(word, *from))
        };
        Part::Plain(match from.filter(is_told).or_else(of_line) {
            None => Hidden::Nothing,
            Some(0) => Hidden::Whole,
            Some(from) => Hidden::From(from),
        })
    };
    (0..texts.len()).map(part).collect()
}

/// Returns where a key begins in a word of a command line, by the words before it, the option in it, or its form.
/// `in_container` tells for each word whether an option there is one of [what runs a container](container_options).
pub fn key_in(words: &[&str], at: usize, in_container: &[bool]) -> Option<usize> {
    let word = words[at];
    let back = |by: usize| at.checked_sub(by).map_or("", |before| words[before]);
    let is_token = || is_token_of_scheme(back(1), word) && !is_value_of_scheme(back(2), word);
    let is_whole = || is_token() || is_password_behind_user(back(2), back(1), word);
    secret_of_option(back(1), word)
        .or_else(|| password(words, at, in_container))
        .or_else(|| setting(words, at).then_some(0))
        .or_else(|| literal_of_secret(words, at))
        .or_else(|| is_whole().then_some(0))
        .or_else(|| secret_property(word))
        .or_else(|| curl::cookie(words, at))
        .or_else(|| password_before_host(word))
}

/// Returns whether a word is the value of a setting whose name is that of a secret: `aws configure set NAME VALUE`,
/// `git config NAME VALUE`.
fn setting(words: &[&str], at: usize) -> bool {
    let Some((name, before)) = words[..at].split_last() else { return false };
    let subcommand = before.iter().rfind(|word| !word.starts_with('-'));
    let is_config = || before.iter().skip(1).any(|word| matches!(*word, "config" | "configure"));
    subcommand.is_some_and(|word| SETTING.contains(word))
        && !words[at].starts_with('-')
        && !name.starts_with('-')
        && is_config()
        && is_secret_beside(name, words[at])
}

/// Returns where the value begins of a secret that is stored under a name: `create secret generic x
/// --from-literal=NAME=VALUE`.
fn literal_of_secret(words: &[&str], at: usize) -> Option<usize> {
    let word = words[at];
    let pair = match word.strip_prefix("--from-literal=") {
        Some(pair) => pair,
        None if at.checked_sub(1).is_some_and(|before| words[before] == "--from-literal") => word,
        None => return None,
    };
    let (_, value) = pair.split_once('=')?;
    let is_secret = words[..at].iter().any(|word| matches!(*word, "secret" | "secrets"));
    (is_secret && is_secret_beside("secret", value)).then(|| word.len() - value.len())
}

/// Returns where the password begins of `USER:PASSWORD` behind an option or in its word. What runs a container takes a
/// user and a group there.
fn password(words: &[&str], at: usize, in_container: &[bool]) -> Option<usize> {
    let before = at.checked_sub(1).map_or("", |before| words[before]);
    let from = password_of_user(before, words[at])?;
    let option_at = if words[at].starts_with('-') { at } else { at - 1 };
    let is_host = runs_before(words, at, WITHOUT_LOGIN) && says_little(&words[at][from..]);
    (!in_container[option_at] && !is_host).then_some(from)
}

/// Returns whether a word before one is one of some programs.
fn runs_before(words: &[&str], at: usize, programs: &[&str]) -> bool {
    words[..at].iter().any(|word| is_program(word, programs))
}

/// Returns whether a part of an address or of a name is a port or words: `53`, `80/udp`, `dev`.
fn says_little(part: &str) -> bool {
    let is_port = |text: &str| text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    part.split([':', ',', '/']).all(|part| is_port(part) || reads_like_words(part))
}

/// Returns where the value begins of a variable that a container is given, if it says nothing to people, as secrets
/// do, whatever the name of the variable: `-e FOO=hunter2xyz`.
fn variable_in(words: &[&str], at: usize, in_container: &[bool]) -> Option<usize> {
    let word = words[at];
    fn short(option: &str) -> Option<&str> {
        option.strip_prefix('-').map(|rest| rest.trim_start_matches(is_of_bundle))
    }
    let before = at.checked_sub(1).filter(|before| in_container[*before]);
    let is_behind =
        before.is_some_and(|before| words[before] == "--env" || short(words[before]) == Some("e"));
    let pair = if is_behind {
        word
    } else if !in_container[at] {
        return None;
    } else if let Some(pair) = word.strip_prefix("--env=") {
        pair
    } else {
        short(word)?.strip_prefix('e')?
    };
    let (_, value) = pair.split_once('=')?;
    is_random(value).then(|| word.len() - value.len())
}

/// Returns where the first secret begins in a command line that is one word of another, behind its program: as in
/// `ssh -o 'ProxyCommand=sshpass -p q1 ssh x' h`.
pub fn secret_of_inner(words: &[&str], at: usize) -> Option<usize> {
    let word = words[at];
    if at == 0 || !word.contains(char::is_whitespace) {
        return None;
    }
    let of_program = program_of_commands(words, at);
    let start = of_program.map_or_else(|| behind_name(word), |(_, start)| start);
    let tokens = shell_tokens(&word[start..])?;
    // What runs commands gets one, and in any word is one whose program takes a password. Others are texts.
    let starts = |program: Program| program.starts() != Starts::Nothing;
    let is_command =
        is_of_shell(words, at) || words[..at].iter().any(|word| Program::of(word).is_some_and(starts));
    // The options of a command are no options of the one before. Behind a redirection, the same one goes on.
    let goes_on = |token: &ShellToken, next: &ShellToken| {
        !next.starts || word[start + token.range.end..start + next.range.start].contains(['<', '>'])
    };
    let hidden = tokens.chunk_by(goes_on).find_map(|command| {
        let program = of_program.map(|(program, _)| program.name.to_owned());
        let added = usize::from(program.is_some());
        let inner: Vec<String> =
            program.into_iter().chain(command.iter().map(|token| token.text.clone())).collect();
        if added == 0 && !is_command && (!takes_password(&inner) || reads_as_prose(&inner)) {
            return None;
        }
        secret_parts(&inner).into_iter().skip(added).zip(command).find_map(|(part, token)| match part {
            Part::Plain(Hidden::Whole) => Some(token.range.start),
            // Quotes may stand before it.
            Part::Plain(Hidden::From(from)) => Some(token.range.start + from),
            Part::Plain(Hidden::Nothing) | Part::Reference => None,
        })
    });
    let mut at = start + hidden?;
    while !word.is_char_boundary(at) {
        at -= 1;
    }
    (&word[at..] != MARK).then_some(at)
}

/// Returns where the value of a word begins that may have a name before it: `ProxyCommand=ssh x`.
fn behind_name(word: &str) -> usize {
    let name = word.find('=').filter(|end| word[..*end].bytes().all(|byte| byte.is_ascii_alphanumeric()));
    name.map_or(0, |end| end + 1)
}

/// Returns the program whose own commands a word holds, and where these begin: `lftp -e 'open -u bob,q1 h'`.
fn program_of_commands(words: &[&str], at: usize) -> Option<(Program, usize)> {
    let takes = |program: Program, letter: char| {
        let is_one = |place: Place| matches!(place, Place::Commands(letters) if letters.contains(letter));
        program.passwords().iter().any(|password| is_one(password.place))
    };
    words[..at].iter().filter_map(|word| Program::that_takes_passwords(word)).find_map(|program| {
        let value = |word: &str| program.short_value(word).filter(|(letter, _)| takes(program, *letter));
        let is_next = || value(words[at - 1]).is_some_and(|(_, from)| from == words[at - 1].len());
        match value(words[at]) {
            Some((_, from)) => Some((program, from)),
            None => is_next().then_some((program, 0)),
        }
    })
}

/// Returns whether a text says something about a program: `bw login is easy`. A command has no such words, and a
/// password is one word that people do not say.
fn reads_as_prose(words: &[String]) -> bool {
    let is_plain = |word: &String| !word.starts_with('-') && texts::has_words(word);
    let joins = |word: &String| {
        let word = word.to_ascii_lowercase();
        [PROSE, DETERMINERS, BEHIND_VALUES].iter().any(|known| known.contains(&word.as_str()))
    };
    let behind = words.get(1..).unwrap_or_default();
    behind.iter().all(is_plain) && behind.iter().any(joins)
}

/// Returns whether a command runs a program that takes a password.
fn takes_password(words: &[String]) -> bool {
    let mut reader = ArgvReader::of(words.iter().map(String::as_str));
    for word in words {
        reader.next(word);
    }
    reader.has_program()
}

/// Returns whether a word is the text that a shell runs: `sh -c TEXT`.
fn is_of_shell(words: &[&str], at: usize) -> bool {
    let option = words[at - 1];
    let is_shell = |word: &&str| Program::of(word).is_some_and(|program| program.role() == Role::Shell);
    option.starts_with('-')
        && !option.starts_with("--")
        && option.ends_with('c')
        && words[..at - 1].iter().any(is_shell)
}

/// Returns where a secret begins whose name stands beside it: in the word before, in an object, or in a query.
fn value_beside(words: &[&str], at: usize, in_container: &[bool]) -> Option<usize> {
    let word = words[at];
    if pair_at(words, at, in_container).is_some() && is_secret_beside(name_of_pair(words, at), word) {
        return Some(0);
    }
    let is_below = at.checked_sub(1).is_some_and(|before| is_variable_option(words[before]));
    object_with_values(word, is_below, is_odd).or_else(|| {
        let is_url = word.contains('/') && (word.contains("://") || word.contains("/?"));
        let is_value = |name: &str, value: &str| {
            if name == "key" { is_odd(value) } else { is_secret_beside(name, value) }
        };
        is_url.then(|| secret_of_query(word, is_value))?
    })
}

#[cfg(test)]
mod tests;
