//! Secrets in the words of a command line that somebody wrote into a file: the one rule for entries, runtimes and the
//! files of agent programs.

use super::argv::{ArgvReader, Hidden};
use super::container::{container_options, is_of_bundle};
use super::option::{
    is_password_behind_user, is_random, is_token_of_scheme, password_before_host, password_of_user,
    secret_of_option, secret_property,
};
use super::rules::{is_placeholder, is_reference};
use super::{MARK, Redacted, Redactor, is_secret_name, looks_secret_value};
use brigade_command::Program;

impl Redactor {
    /// Redacts the words of a configured command line. What only refers to a secret stays: a variable, a placeholder, a
    /// file or a source.
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
    let mut reader = ArgvReader::default();
    let refers = References::of(words);
    let part = |(at, word): (usize, &String)| {
        let hidden = reader.next(word);
        if refers.is_one(&texts, at) {
            return Part::Reference;
        }
        let from = match hidden {
            Hidden::Nothing => None,
            Hidden::Whole => Some(0),
            Hidden::From(from) => Some(from),
        };
        let is_told = |from: &usize| {
            let hidden = &word[*from..];
            !hidden.is_empty() && hidden != MARK && !is_placeholder(hidden)
        };
        let of_line = || key_in(&texts, at, &in_container).or_else(|| variable_in(&texts, at, &in_container));
        Part::Plain(match from.filter(is_told).or_else(of_line) {
            None => Hidden::Nothing,
            Some(0) => Hidden::Whole,
            Some(from) => Hidden::From(from),
        })
    };
    words.iter().enumerate().map(part).collect()
}

/// What of a command line only refers to secrets.
struct References {
    /// `--secret NAME` refers to a secret that is stored elsewhere.
    stores_secrets: bool,
}

impl References {
    fn of(words: &[String]) -> References {
        let program = words.first().and_then(|word| Program::of(word));
        References { stores_secrets: program.is_some_and(Program::stores_secrets) }
    }

    fn is_one(&self, words: &[&str], at: usize) -> bool {
        let word = words[at];
        let before = at.checked_sub(1).map(|before| words[before]);
        let before = before.filter(|word| word.starts_with('-') && !word.contains('='));
        let of_name = word.split_once('=').is_some_and(|(name, value)| self.refers(name, value));
        of_name || before.is_some_and(|flag| self.refers(flag, word))
    }

    fn refers(&self, flag: &str, value: &str) -> bool {
        is_secret_name(flag.trim_start_matches('-'))
            && (is_reference(value) || (self.stores_secrets && flag == "--secret"))
            && looks_secret_value(value).is_none()
    }
}

/// Returns where a key begins in a word of a command line, by the words before it, the option in it, or its form.
/// `in_container` tells for each word whether an option there is one of [what runs a container](container_options).
pub fn key_in(words: &[&str], at: usize, in_container: &[bool]) -> Option<usize> {
    let word = words[at];
    let back = |by: usize| at.checked_sub(by).map_or("", |before| words[before]);
    let is_whole = || is_token_of_scheme(back(1), word) || is_password_behind_user(back(2), back(1), word);
    secret_of_option(back(1), word)
        .or_else(|| password(words, at, in_container))
        .or_else(|| is_whole().then_some(0))
        .or_else(|| secret_property(word))
        .or_else(|| password_before_host(word))
}

/// Returns where the password begins of `USER:PASSWORD` behind an option or in its word. What runs a container takes a
/// user and a group there.
fn password(words: &[&str], at: usize, in_container: &[bool]) -> Option<usize> {
    let before = at.checked_sub(1).map_or("", |before| words[before]);
    let from = password_of_user(before, words[at])?;
    let option_at = if words[at].starts_with('-') { at } else { at - 1 };
    (!in_container[option_at]).then_some(from)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, shown: &str) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let found: Vec<String> =
            Redactor::new(&[]).redact_command(&words).iter().map(|word| word.as_str().to_owned()).collect();
        assert_eq!(found.join(" "), shown);
        assert_eq!(has_secret(&words), line != shown, "{line}");
        assert!(!has_secret(&found), "{line}");
    }

    #[test]
    fn secrets_behind_every_name_are_masked() {
        for (line, shown) in [
            ("x --pw hunter2xyz", "x --pw [redacted]"),
            ("x --pat abcdefgh99 y", "x --pat [redacted] y"),
            ("x -basic u:hunter2xyz", "x -basic u:[redacted]"),
            ("x --jwt V9 --otp 123456", "x --jwt [redacted] --otp [redacted]"),
            ("x --cookie sid=V9", "x --cookie [redacted]"),
            ("x -u bob:V9", "x -u bob:[redacted]"),
            ("x --hmac Vabc12345", "x --hmac [redacted]"),
            ("docker run -e FOO=hunter2xyz i", "docker run -e FOO=[redacted] i"),
            ("docker run -ieFOO=hunter2xyz i", "docker run -ieFOO=[redacted] i"),
            ("docker run --env=FOO=hunter2xyz i", "docker run --env=FOO=[redacted] i"),
            ("x --private-key /ghp_abcdefghijklmnopqrstuvwxyz0123456789", "x --private-key [redacted]"),
        ] {
            check(line, shown);
        }
    }

    #[test]
    fn what_refers_to_a_secret_or_is_about_one_stays() {
        for line in [
            "x --private-key ~/.ssh/id",
            "x --private-key=keys/deploy_key",
            "x --api-key YOUR_API_KEY",
            "x --token $TOKEN --token=${TOKEN} --token ${TOKEN}",
            "docker build --secret id=npm,src=.npmrc .",
            "x --bearer-token-env-var FOO --apikey-header X-Key --authorization enabled",
            "x --bearer-token-env-var=FOO --api-key-header=X-Api-Key --authorization=enabled",
            "docker run -e PORT=8080 -e NODE_ENV=production -e TZ=Europe/Berlin -e V=v1.20.3 i",
            "docker run -e URL=https://a1b2c3d4.example/x -e DIR=/srv/a1b2c3d4e5 -u 1000:staff i",
            "x -u localhost:8080 -u db.example:5432 --user node:node --session main --key primary",
            "date -u +%Y-%m-%dT%H:%M:%SZ",
            "ffmpeg -i a.mp4 -pass 1 b.mp4",
            "sort -u --key=2,3n a.txt",
            "openssl enc -pass stdin -in a",
            "chroot --user root:wheel /x",
            "sort -u C:\\x",
            "node --inspect server.js --path /x --pattern foo --sasl plain --otp-length 6",
        ] {
            check(line, line);
        }
    }
}
