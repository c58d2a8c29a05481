//! The script that the command of an interpreter runs: its first operand, wherever that lies.

use std::path::Path;

use brigade_command::Argv;
use brigade_fs::FsErrorKind;

use super::{base_name, plain_name};
use crate::files::ToolReader;

/// Programs that start the program behind them, in the same folder.
const PASSING_ON: &[&str] = &["env", "ionice", "nice", "nohup", "setsid", "stdbuf", "time", "timeout"];

/// An operand that an interpreter takes for a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Script<'a> {
    /// As the command has it.
    pub(crate) word: &'a str,
    /// Whether there is no other way in which the interpreter finds it.
    is_exact: bool,
}

/// How an interpreter reads the options before its script.
struct Interpreter {
    names: &'static [&'static str],
    /// Letters of options without a value.
    flags: &'static str,
    /// Options whose value is the next word.
    valued: &'static [&'static str],
}

const INTERPRETERS: &[Interpreter] = &[
    Interpreter { names: &["python", "pypy"], flags: "bBdEiIOPqRsSuvVx", valued: &["-W", "-X"] },
    Interpreter {
        names: &["ash", "bash", "dash", "ksh", "sh", "zsh"],
        flags: "abefhklmnpruvxBCEHPT",
        valued: &["-o", "+o", "-O", "+O"],
    },
    Interpreter {
        names: &["node", "nodejs", "bun", "tsx", "ts-node"],
        flags: "",
        valued: &["-r", "--require", "--import", "--loader", "-C", "--conditions"],
    },
    Interpreter { names: &["ruby", "perl"], flags: "wWT", valued: &[] },
    Interpreter { names: &["php", "lua", "Rscript"], flags: "f", valued: &[] },
];

/// Ends of names that Node takes as they are.
const JAVASCRIPT: &[&str] = &[".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"];

/// Finds the script in a command line; none when the program is no interpreter, or is told to do something else.
pub(crate) fn script_of(argv: &Argv) -> Option<Script<'_>> {
    let words = argv.words();
    let is_passed = |word: &String| {
        PASSING_ON.contains(&base_name(word))
            || word.starts_with('-')
            || word.contains('=')
            || word.starts_with(|c: char| c.is_ascii_digit())
    };
    let at = words.iter().position(|word| !is_passed(word))?;
    // Another folder, or words that are split once more.
    if words[..at]
        .iter()
        .any(|word| ["-C", "-S", "--ch", "--sp"].iter().any(|option| word.starts_with(option)))
    {
        return None;
    }
    let name = plain_name(&words[at]);
    let interpreter = INTERPRETERS.iter().find(|interpreter| interpreter.names.contains(&name))?;
    let mut rest = words[at + 1..].iter();
    while let Some(word) = rest.next() {
        if interpreter.valued.contains(&word.as_str()) {
            rest.next();
        } else if word == "--" {
            return rest.next().and_then(|word| interpreter.script(word));
        } else if !word.starts_with(['-', '+']) {
            return interpreter.script(word);
        } else if !interpreter.is_flag(word) {
            return None;
        }
    }
    None
}

impl Interpreter {
    /// Tells whether an option takes no value and leaves the script what it is.
    fn is_flag(&self, word: &str) -> bool {
        match word.strip_prefix("--") {
            Some(long) => {
                let is_node = self.names.contains(&"node");
                let is_other_task = ["eval", "print", "test", "run", "check", "watch"].contains(&long);
                (is_node && !is_other_task) || ["norc", "noprofile", "posix", "login"].contains(&long)
            }
            None => 1 < word.len() && word[1..].chars().all(|letter| self.flags.contains(letter)),
        }
    }

    fn script<'a>(&self, word: &'a str) -> Option<Script<'a>> {
        let is_shell = self.names.contains(&"sh");
        let is_node = self.names.contains(&"node");
        let is_exact = match (is_shell, is_node) {
            // A bare name is looked for on PATH, too.
            (true, _) => word.contains('/'),
            (_, true) => JAVASCRIPT.iter().any(|end| word.ends_with(end)),
            (false, false) => true,
        };
        let may_be_file = !word.is_empty() && !word.contains("://");
        may_be_file.then_some(Script { word, is_exact })
    }
}

/// Tells the script that a command runs and that is not there.
pub(crate) fn missing_script(reader: &ToolReader<'_>, argv: &Argv, directory: &Path) -> Option<String> {
    let script = script_of(argv).filter(|script| script.is_exact)?;
    let found = reader.workspace.fs.metadata_outside(&directory.join(script.word));
    let is_missing =
        found.is_err_and(|error| matches!(error.kind, FsErrorKind::NotFound | FsErrorKind::NotADirectory));
    is_missing.then(|| script.word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expect: Option<(&str, bool)>) {
        let argv = Argv::parse(command).unwrap();
        let found = script_of(&argv).map(|script| (script.word, script.is_exact));
        assert_eq!(found, expect, "{command}");
    }

    #[test]
    fn the_first_operand_of_an_interpreter_is_its_script() {
        check("python3 bin/x.py --flag", Some(("bin/x.py", true)));
        check("/usr/bin/python3.11 -u -W ignore x.py", Some(("x.py", true)));
        check("sh /opt/x/x.sh", Some(("/opt/x/x.sh", true)));
        check("bash -eu -o pipefail ./x.sh", Some(("./x.sh", true)));
        check("bash x.sh", Some(("x.sh", false)));
        check("node --no-warnings bin/x.js", Some(("bin/x.js", true)));
        check("node bin/x", Some(("bin/x", false)));
        check("perl -w x.pl", Some(("x.pl", true)));
        check("env A=b python3 x.py", Some(("x.py", true)));
        check("timeout 5 nice -n 5 sh ./x.sh", Some(("./x.sh", true)));
    }

    #[test]
    fn what_is_no_script_is_not_taken_for_one() {
        for command in [
            "python3",
            "python3 -m pkg.tool",
            "python3 -c pass",
            "python3 -",
            "bash -c ls",
            "sh -s x",
            "node -e 1 x.js",
            "node --test tests/a.js",
            "grep python bin/x.py",
            "cat bin/x.py",
            "env -C other python3 x.py",
            "env -S 'python3 x.py'",
            "deno run https://example.org/x.ts",
            "perl -ne print x.txt",
        ] {
            check(command, None);
        }
    }
}
