//! Variables that `env` sets for the program behind it.

use brigade_policy::{LabelProblem, check_label};

use super::{Code, Finder, NotBound};

/// Variables that say nothing about code, although they change how programs behave.
const HARMLESS: &[&str] = &[
    "HOME",
    "HOSTALIASES",
    "IFS",
    "LOCPATH",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONFAULTHANDLER",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONNOUSERSITE",
    "PYTHONOPTIMIZE",
    "PYTHONSAFEPATH",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
    "RES_OPTIONS",
    "SSLKEYLOGFILE",
    "TERMINFO",
    "TERMINFO_DIRS",
    "TMPDIR",
];

/// Options of Node that say nothing about code.
const HARMLESS_OF_NODE: &[&str] = &[
    "--enable-source-maps",
    "--max-",
    "--no-deprecation",
    "--no-warnings",
    "--openssl-legacy-provider",
    "--stack-",
    "--trace-",
    "--unhandled-rejections",
];

/// Programs that are often named to switch something off.
const HARMLESS_PROGRAMS: &[&str] = &["", ":", "cat", "false", "less", "more", "true"];

impl Finder<'_> {
    /// Reads the words of `env` up to its program: variables that say where code is found, and another folder to start in.
    pub(super) fn environment(&mut self, args: &[String], code: &mut Code) {
        let mut at = 0;
        while let Some(word) = args.get(at) {
            at += 1;
            let (option, attached) = match word.split_once('=') {
                Some((option, value)) => (option, Some(value)),
                None => (word.as_str(), None),
            };
            match option {
                "-u" | "--unset" if attached.is_none() => at += 1,
                "-C" | "--chdir" => {
                    let folder = attached.or_else(|| {
                        at += 1;
                        args.get(at - 1).map(String::as_str)
                    });
                    self.directory.push(folder.unwrap_or_default());
                }
                "-S" | "--split-string" => {
                    let text = attached.or_else(|| args.get(at).map(String::as_str)).unwrap_or_default();
                    variables(text.split_whitespace(), code);
                    at += usize::from(attached.is_none());
                }
                _ if word.starts_with("-C") => self.directory.push(&word[2..]),
                _ if word.starts_with("-S") => variables(word[2..].split_whitespace(), code),
                _ if word.starts_with('-') => {}
                _ if attached.is_some() => variables([word.as_str()], code),
                _ => break,
            }
        }
    }
}

/// Notes variables that say where code is found.
fn variables<'a>(words: impl IntoIterator<Item = &'a str>, code: &mut Code) {
    for (name, value) in words.into_iter().filter_map(|word| word.split_once('=')) {
        if check_label(name) == Err(LabelProblem::Dangerous) && !is_harmless(name, value) {
            code.unbound.push(NotBound::Variable(name.to_owned()));
        }
    }
}

fn is_harmless(name: &str, value: &str) -> bool {
    match name {
        "NODE_OPTIONS" => value
            .split_whitespace()
            .all(|option| HARMLESS_OF_NODE.iter().any(|beginning| option.starts_with(beginning))),
        "PYTHONWARNINGS" => value.chars().all(|c| c.is_ascii_alphabetic()),
        "EDITOR" | "GIT_EDITOR" | "GIT_PAGER" | "MANPAGER" | "PAGER" | "VISUAL" => {
            HARMLESS_PROGRAMS.contains(&value)
        }
        name => HARMLESS.contains(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_name_code_are_noted() {
        for (word, expect) in [
            ("PYTHONPATH=lib", true),
            ("PERL5OPT=-MFoo", true),
            ("LD_PRELOAD=./x.so", true),
            ("PATH=bin:/usr/bin", true),
            ("NODE_OPTIONS=--require ./x.js", true),
            ("GIT_PAGER=./x", true),
            ("NODE_OPTIONS=--max-old-space-size=4096", false),
            ("PYTHONUNBUFFERED=1", false),
            ("PYTHONWARNINGS=ignore", false),
            ("PAGER=cat", false),
            ("X=1", false),
        ] {
            let mut code = Code::default();
            variables([word], &mut code);
            assert_eq!(!code.unbound.is_empty(), expect, "{word}");
        }
    }
}
