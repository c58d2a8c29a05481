//! Command lines that run a container: finds which words are options of the container engine.

use std::ops::Range;

use brigade_cmdline::{ContainerOptions, Program};

/// Returns the options of a container engine, if a word is its program.
fn options_of(word: &str) -> Option<ContainerOptions> {
    Program::from_word(word)?.container_options()
}

/// Returns whether a letter is a container option without a value.
pub(crate) fn is_of_bundle(letter: char) -> bool {
    ContainerOptions::DOCKER.flags.contains(letter)
}

/// The position within a command line that runs a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    /// Not in a container command.
    No,
    /// After the program, before `run`, `create` or `exec`.
    Program,
    /// Among the options. A name without a value is allowed here, and the image may follow.
    Options(Skips),
}

/// Whether the next word is the value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Skips {
    Nothing,
    Next,
    /// The next word may be the value of an unknown option.
    NextUnlessOption,
}

/// Returns for each word, and for the end, whether an option at that position belongs to the container engine.
pub(crate) fn container_options(words: &[&str]) -> Vec<bool> {
    Container::places(words)
}

impl Container {
    fn places(words: &[&str]) -> Vec<bool> {
        let mut place = Container::No;
        let mut found = Vec::with_capacity(words.len() + 1);
        for word in words {
            found.push(matches!(place, Container::Options(_)));
            place = place.behind(word);
        }
        found.push(matches!(place, Container::Options(_)));
        found
    }

    fn behind(self, word: &str) -> Container {
        let is_option = word.starts_with('-');
        match self {
            Container::Options(Skips::Next) => return Container::Options(Skips::Nothing),
            Container::Options(Skips::NextUnlessOption) if !is_option => {
                return Container::Options(Skips::Nothing);
            }
            Container::Options(_) => match taken_by(&ContainerOptions::DOCKER, word) {
                Some(EntryRemoval::Nothing) => return Container::Options(Skips::Nothing),
                Some(EntryRemoval::Next) => return Container::Options(Skips::Next),
                Some(EntryRemoval::Unknown) => return Container::Options(Skips::NextUnlessOption),
                None => {}
            },
            Container::Program if ["run", "create", "exec"].contains(&word) => {
                return Container::Options(Skips::Nothing);
            }
            Container::Program | Container::No => {}
        }
        let is_program = options_of(word).is_some() || ending(without_exe(word), "-compose").is_some();
        match self {
            _ if is_program => Container::Program,
            Container::Program => Container::Program,
            Container::No | Container::Options(_) => Container::No,
        }
    }
}

/// Returns the range of words with options of the container engine, before the image. In this range, a variable without
/// a value is taken from the environment of the client.
pub(crate) fn options_of_container(words: &[String]) -> Range<usize> {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let Some(options) = options_of(word(0)) else { return 0..0 };
    let subcommand = if word(1) == "container" { 2 } else { 1 };
    if !["run", "create", "exec"].contains(&word(subcommand)) {
        return 0..0;
    }
    let start = subcommand + 1;
    let mut at = start;
    while let Some(option) = words.get(at).filter(|word| word.len() > 1 && word.starts_with('-')) {
        let taken = match taken_by(&options, option) {
            Some(EntryRemoval::Nothing) => 0,
            Some(EntryRemoval::Next) => 1,
            Some(EntryRemoval::Unknown) | None => break,
        };
        at += 1 + taken;
    }
    start..at.min(words.len())
}

/// What an option of `docker run`, `create` or `exec` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryRemoval {
    Nothing,
    /// The next word.
    Next,
    /// The option is unknown.
    Unknown,
}

/// Returns what an option takes; `None` if the word is not an option.
fn taken_by(options: &ContainerOptions, option: &str) -> Option<EntryRemoval> {
    if option.len() < 2 || !option.starts_with('-') {
        return None;
    }
    if option.starts_with("--") {
        let (name, has_value) = option.split_once('=').map_or((option, false), |(name, _)| (name, true));
        let is_valued = options.long_valued.contains(&name);
        return Some(match (is_valued || options.long_flags.contains(&name), is_valued && !has_value) {
            (false, _) => EntryRemoval::Unknown,
            (true, true) => EntryRemoval::Next,
            (true, false) => EntryRemoval::Nothing,
        });
    }
    let rest = option[1..].trim_start_matches(|c: char| options.flags.contains(c));
    Some(match rest.chars().next() {
        None => EntryRemoval::Nothing,
        Some(letter) if options.valued.contains(letter) && rest.len() == 1 => EntryRemoval::Next,
        Some(letter) if options.valued.contains(letter) => EntryRemoval::Nothing,
        Some(_) => EntryRemoval::Unknown,
    })
}

fn without_exe(word: &str) -> &str {
    ending(word, ".exe").map_or(word, |at| &word[..at])
}

/// Returns where a suffix begins, ignoring case.
fn ending(name: &str, end: &str) -> Option<usize> {
    let at = name.len().checked_sub(end.len())?;
    name.get(at..)?.eq_ignore_ascii_case(end).then_some(at)
}

/// Returns whether a word is one of some programs, ignoring case, directory and `.exe`.
pub(crate) fn is_program(word: &str, programs: &[&str]) -> bool {
    // Compare suffixes first: this rules out most words.
    let plain = without_exe(word);
    let is_one = |program: &&str| {
        ending(plain, program).is_some_and(|at| at == 0 || plain[..at].ends_with(['/', '\\']))
    };
    programs.iter().any(is_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_containers_end_before_the_image() {
        let end = |line: &[&str]| {
            options_of_container(&line.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).end
        };
        assert_eq!(end(&["docker", "run", "-ie", "A=b", "--rm", "-v", "a:b", "i", "-e", "A=b"]), 7);
        assert_eq!(end(&["docker", "container", "exec", "-e", "A=b", "c"]), 5);
        assert_eq!(end(&["docker", "run", "--strange", "i", "-e", "A=b"]), 2);
        assert_eq!(end(&["docker", "build", "-e", "A=b"]), 0);
        assert_eq!(end(&["docker", "run", "-e"]), 3);
        assert_eq!(end(&["npx", "run", "-e", "A=b"]), 0);
    }
}
