//! The commands of a runtime: split, judged, and their program found.

use std::path::{Path, PathBuf};

use brigade_catalog::Runtime;
use brigade_command::argv::Argv;
use brigade_command::risk::judge;
use brigade_process::{Program, Spec};
use brigade_redact::is_secret_command;
use rustix::fs::{Access, FileType};

use crate::host::Host;
use crate::issue::{IssueType, RuntimeIssue};
use crate::paths::Directory;

/// A command that may be started.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) argv: Argv,
    program: PathBuf,
    directory: PathBuf,
}

impl Command {
    /// Splits and judges a command, and finds its program; gives every reason why it may not be started.
    pub(crate) fn check(
        host: &Host,
        runtime: &Runtime,
        field: &'static str,
        text: &str,
        directory: Option<&Directory>,
    ) -> Result<Command, Vec<RuntimeIssue>> {
        let issue = |issue_type, detail: String| RuntimeIssue::of_field(runtime, issue_type, field, detail);
        let argv = Argv::parse(text)
            .map_err(|error| vec![issue(IssueType::BadCommand, format!("`{field}`: {error}"))])?;
        let risks = judge(&argv);
        if !risks.is_empty() {
            let issue = |risk: &_| issue(IssueType::HighRiskCommand, format!("`{field}`: {risk}"));
            return Err(risks.iter().map(issue).collect());
        }
        // It would stand in the metadata, in receipts and in lists.
        if is_secret_command(text) {
            let detail = format!("`{field}` holds what looks like a secret; it is not shown");
            let fix = "take it out, and let the program read it from a file that only you can read";
            return Err(vec![issue(IssueType::SecretInCommand, detail).with_fix(fix)]);
        }
        // The missing folder is an issue of its own.
        let Some(directory) = directory else { return Err(Vec::new()) };
        match find_program(argv.program(), &directory.path, host) {
            Some(program) => Ok(Command { argv, program, directory: directory.path.clone() }),
            None => {
                let wherever = if argv.program().contains('/') { "is not there" } else { "is not on PATH" };
                let detail = format!("the program of `{field}` {wherever}, or cannot be executed");
                Err(vec![issue(IssueType::BadCommand, detail)])
            }
        }
    }

    /// Returns what starts it, with the environment of runtimes.
    pub(crate) fn spec(&self, host: &Host) -> Spec {
        let mut spec = Spec::new(Program::at(&self.program), &self.directory);
        spec.argv = self.argv.words().iter().map(Into::into).collect();
        spec.environment = host.child_environment();
        spec
    }
}

fn find_program(word: &str, directory: &Path, host: &Host) -> Option<PathBuf> {
    if word.contains('/') {
        return Some(directory.join(word)).filter(|path| is_program(path));
    }
    host.program_folders().into_iter().map(|folder| folder.join(word)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    let is_file = |stat: rustix::fs::Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    rustix::fs::stat(path).is_ok_and(is_file) && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let runtime = Runtime::new("r", text).unwrap();
        let directory = Directory { path: "/bin".into(), shown: ".".into() };
        let found = Command::check(&Host::default(), &runtime, "command", text, Some(&directory));
        let details: Vec<String> = found
            .err()
            .into_iter()
            .flatten()
            .map(|issue| format!("{}: {}", issue.issue_type.as_str(), issue.detail))
            .collect();
        assert_eq!(details, expect);
    }

    #[test]
    fn a_command_is_split_judged_and_found() {
        check("sh serve.sh 'a b'", &[]);
        check("./true", &[]);
        check(
            "sh 'x",
            &["runtime_bad_command: `command`: the quote opened at column 4 of the command is never closed"],
        );
        check("", &["runtime_bad_command: `command`: the command names no program"]);
        check(
            "no-such-program-x",
            &["runtime_bad_command: the program of `command` is not on PATH, or cannot be executed"],
        );
        check(
            "./none",
            &["runtime_bad_command: the program of `command` is not there, or cannot be executed"],
        );
        check(
            "sh serve.sh --token hunter2",
            &["runtime_secret_in_command: `command` holds what looks like a secret; it is not shown"],
        );
        check("sh serve.sh --token-file x", &[]);
        check(
            "sh -c 'serve secret-value'",
            &["runtime_high_risk_command: `command`: word 1 gives `sh` its commands as text"],
        );
    }
}
