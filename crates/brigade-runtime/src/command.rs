//! Finds the programs of a runtime's commands and passes them through the gate.

use std::collections::BTreeMap;
use std::path::Path;

use brigade_call::{
    DirectoryFact, Objection, StartFacts, StartProgram, StartPurpose, VerifiedStart, no_home, plan_start,
};
use brigade_catalog::Runtime;
use brigade_cmdline::{Argv, find_program};
use brigade_core::text::escape_terminal;
use brigade_doctor::{IssueType, RuntimeIssue};
use brigade_process::{Program, Spec};
use rustix::fs::{Access, FileType};

use crate::host::Host;
use crate::paths::Directory;

/// Verifies a command of a runtime at the gate.
///
/// # Errors
/// Returns every reason why it may not be started.
pub(crate) fn verify(
    host: &Host,
    runtime: &Runtime,
    purpose: StartPurpose,
    text: &str,
    directory: Option<&Directory>,
) -> Result<VerifiedStart, Vec<Objection>> {
    let found = directory.zip(Argv::parse(text).ok());
    let found = found.and_then(|(directory, argv)| {
        if purpose == StartPurpose::Health && !argv.program().contains('/') {
            return host.own_programs().find(argv.program()).found();
        }
        let found = find_program(argv.program(), &directory.path, Some(host.path_variable()), is_program);
        // The connection to a remote server is this program, which need not be on PATH.
        found.or_else(|| runtime.url.as_ref().and_then(|_| brigade_process::current_program().ok()))
    });
    plan_start(StartFacts {
        purpose,
        is_broken: runtime.is_broken,
        command: Some(text),
        directory: directory.map(|directory| directory.path.clone()).unwrap_or_default(),
        directory_fact: if directory.is_some() { DirectoryFact::Present } else { DirectoryFact::Missing },
        program: found.map_or(StartProgram::NotFound, |path| StartProgram::Found { path, sha256: None }),
        home: host.home().map(Path::to_owned),
        decision: None,
        refuses_inline_code: host.refuses_inline_code.clone(),
        unbound: Vec::new(),
        files: BTreeMap::new(),
        data: Vec::new(),
        bindings: host.bindings_of(runtime),
    })
}

/// Returns the spec of a verified command, with the environment of runtimes.
pub(crate) fn spec(start: &VerifiedStart, host: &Host) -> Spec {
    let mut spec = Spec::new(Program::at(start.program()), start.directory());
    spec.argv = start.argv().words().iter().map(Into::into).collect();
    spec.environment = host.child_environment(start.bindings());
    if start.purpose() == StartPurpose::Health {
        let path = spec.environment.iter_mut().filter(|(name, _)| name == "PATH");
        path.for_each(|(_, value)| *value = host.own_programs().path_variable().to_owned());
    }
    spec
}

/// Lists the labels of a runtime that have no value.
pub(crate) fn unbound(runtime: &Runtime, host: &Host) -> Vec<RuntimeIssue> {
    let issue =
        |detail: String| RuntimeIssue::of_field(runtime, IssueType::RuntimeEnvMissing, "env_labels", detail);
    let mut found = Vec::new();
    for label in &runtime.env_labels {
        let shown = host.masks.shown(label);
        let shown = escape_terminal(&shown);
        match host.bindings.get(label) {
            None => {
                let file = ".brigade/tools/policy.toml";
                let fix = format!("add {shown} = \"<NAME_OF_A_VARIABLE>\" to env_bindings in {file}");
                let detail = format!("`{shown}` has no binding in env_bindings of the policy");
                found.push(issue(detail).with_fix(fix));
            }
            Some(variable) if host.variable(variable).is_none() => {
                let variable = escape_terminal(variable);
                found.push(issue(format!(
                    "`{shown}` is bound to the variable `{variable}`, which is not set"
                )));
            }
            Some(_) => {}
        }
    }
    found
}

/// Returns the issue of the command of a field. Errors in the entry and a missing directory are separate issues.
pub(crate) fn issue(runtime: &Runtime, field: &'static str, objection: &Objection) -> Option<RuntimeIssue> {
    let issue = |issue_type, detail: String| RuntimeIssue::of_field(runtime, issue_type, field, detail);
    let bad = |detail: String| issue(IssueType::RuntimeBadCommand, detail);
    Some(match objection {
        Objection::BrokenEntry | Objection::DirectoryMissing | Objection::DirectoryOutside => return None,
        Objection::NoCommand => bad(format!("`{field}`: the command names no program")),
        Objection::NotWords(error) => bad(format!("`{field}`: {error}")),
        Objection::Policy(blocker) => {
            let hint = blocker.hint.as_ref().map(ToString::to_string).unwrap_or_default();
            issue(IssueType::RuntimeHighRiskCommand, format!("`{field}`: {}", blocker.message)).with_fix(hint)
        }
        Objection::Risk(risk) => issue(IssueType::RuntimeHighRiskCommand, format!("`{field}`: {risk}")),
        // The command is stored in the metadata and shown in receipts and lists.
        Objection::Secret => {
            let detail = format!("`{field}` holds what looks like a secret; it is not shown");
            let fix = "remove it, and let the program read it from a file that only you can read";
            issue(IssueType::RuntimeSecretInCommand, detail).with_fix(fix)
        }
        Objection::ProgramNotFound { word, home } => {
            let wherever = if word.contains('/') { "does not exist" } else { "is not on PATH" };
            let issue = bad(format!("the program of `{field}` {wherever}, or cannot be executed"));
            match no_home(word, home.as_deref()) {
                Some(fix) => issue.with_fix(fix),
                None => issue,
            }
        }
        other => bad(format!("`{field}`: {other}")),
    })
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
        check_on(&Host::default(), text, expect);
    }

    #[track_caller]
    fn check_on(host: &Host, text: &str, expect: &[&str]) {
        let runtime = Runtime::new("r", text).unwrap();
        let directory = Directory { path: "/bin".into(), shown: ".".into() };
        let found = verify(host, &runtime, StartPurpose::Serve, text, Some(&directory));
        let details: Vec<String> = found
            .err()
            .into_iter()
            .flatten()
            .filter_map(|objection| issue(&runtime, "command", &objection))
            .map(|issue| format!("{}: {}", issue.issue_type.code(), issue.detail))
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
            &["runtime_bad_command: the program of `command` does not exist, or cannot be executed"],
        );
        check(
            "sh serve.sh --token hunter2",
            &["runtime_secret_in_command: `command` holds what looks like a secret; it is not shown"],
        );
        check("sh serve.sh --token-file x", &[]);
        check(
            "sh -c 'serve secret-value'",
            &["runtime_high_risk_command: `command`: word 2 gives `sh` its commands as text"],
        );
    }

    #[test]
    fn the_fix_for_an_unbound_label_is_not_masked() {
        let mut runtime = Runtime::new("r", "x").unwrap();
        runtime.env_labels = vec!["DB_TOKEN".to_owned()];
        let fix = unbound(&runtime, &Host::default())[0].fix.as_ref().unwrap().to_string();
        assert!(fix.contains("DB_TOKEN = "), "{fix}");
        assert_eq!(brigade_redact::Redactor::new(&[]).redact_str(&fix), fix);
    }

    #[test]
    fn a_path_for_a_shell_is_explained() {
        let runtime = Runtime::new("r", "~/bin/x").unwrap();
        let directory = Directory { path: "/bin".into(), shown: ".".into() };
        let check = |host: &Host, command: &str, meant: &str| {
            let found = verify(host, &runtime, StartPurpose::Serve, command, Some(&directory)).unwrap_err();
            let fix = issue(&runtime, "command", &found[0]).unwrap().fix.unwrap().to_string();
            assert_eq!(fix, format!("no shell expands `~`; write {meant}"));
        };
        let host = Host { environment: vec![("HOME".into(), "/home/ann".into())], ..Host::default() };
        check(&host, "~/bin/x", "`/home/ann/bin/x`");
        check(&host, "~ann/bin/x", "the whole path, which `echo ~ann/bin/x` prints");
        check(&Host::default(), "~/bin/x", "the whole path, which `echo ~/bin/x` prints");
    }

    #[test]
    fn code_in_a_command_is_left_to_the_policy() {
        check("perl -e 1", &[]);
        let rule = Some(brigade_core::Place::at("policy.toml", 3, 1));
        let host = Host { refuses_inline_code: rule, ..Host::default() };
        let refused = "runtime_high_risk_command: `command`: word 2 gives `perl` its program as text";
        check_on(&host, "perl -e 1", &[refused]);
    }
}
