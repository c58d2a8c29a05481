//! The gate for programs of the kitchen.

use std::collections::BTreeMap;
use std::path::PathBuf;

use brigade_cmdline::Argv;
use brigade_core::Fingerprint;
use brigade_policy::Decision;
use brigade_redact::secret_words;

use super::{
    Objection, StartProgram, StartPurpose, VerifiedStart, directory, missing_program, risks, risks_of_text,
    too_long,
};
use crate::facts::DirectoryFact;

/// The facts of a start of the kitchen, read once by the caller of [`plan_crew_start`].
#[derive(Clone, Debug)]
pub struct CrewStart {
    /// The purpose of the start.
    pub purpose: StartPurpose,
    /// Whether a person approved everything that the PRD executes, in its current form.
    pub is_approved: bool,
    /// The words.
    pub argv: Argv,
    /// The directory that the program starts in.
    pub directory: PathBuf,
    /// The state of that directory.
    pub directory_fact: DirectoryFact,
    /// The program that the first word names.
    pub program: StartProgram,
    /// The home directory of the person, for messages about a path that begins with `~`.
    pub home: Option<PathBuf>,
    /// The path of the approved program, if it is bound.
    pub approved_program: Option<PathBuf>,
    /// The bytes of the approved program, if they are bound.
    pub approved_bytes: Option<Fingerprint>,
    /// The policy's decision.
    pub decision: Decision,
}

/// Decides whether a program of the kitchen may be started. Starts nothing.
///
/// # Errors
/// Returns every reason against it, in the order of the table of the parent module.
pub fn plan_crew_start(facts: CrewStart) -> Result<VerifiedStart, Vec<Objection>> {
    let mut objections = Vec::new();
    if !facts.is_approved {
        objections.push(Objection::NotApproved);
    }
    objections.extend(too_long(&facts.argv));
    let words = facts.argv.words();
    match facts.purpose {
        // The text was approved, including shell syntax and inline code.
        StartPurpose::Verification
        | StartPurpose::Test
        | StartPurpose::Setup
        | StartPurpose::Notification => {
            objections.extend(risks_of_text(&facts.argv));
        }
        _ => objections.extend(risks(&facts.argv, words.len())),
    }
    if !secret_words(words).is_empty() {
        objections.push(Objection::Secret);
    }
    objections.extend(directory(facts.directory_fact));
    if facts.directory_fact == DirectoryFact::Present {
        objections.extend(missing_program(&facts.argv, &facts.program, facts.home.as_deref()));
    }
    if let StartProgram::Found { path, sha256 } = &facts.program {
        let other_path = facts.approved_program.as_ref().is_some_and(|approved| approved != path);
        let other_bytes = facts.approved_bytes.is_some_and(|approved| *sha256 != Some(approved));
        objections.extend((other_path || other_bytes).then_some(Objection::ProgramChanged));
    }
    objections.extend(facts.decision.blockers.iter().cloned().map(Objection::Policy));
    match facts.program {
        StartProgram::Found { path, sha256 } if objections.is_empty() => Ok(VerifiedStart {
            purpose: facts.purpose,
            argv: facts.argv,
            program: path,
            sha256,
            directory: facts.directory,
            decision: Some(facts.decision),
            files: BTreeMap::new(),
            data: Vec::new(),
            bindings: BTreeMap::new(),
        }),
        _ => Err(objections),
    }
}

#[cfg(test)]
mod tests {
    use brigade_policy::{CrewFacts, CrewWork, PolicyState, decide_crew};

    use super::*;

    fn facts(purpose: StartPurpose, words: &[&str]) -> CrewStart {
        let state = PolicyState::parse("policy.toml", None);
        let work = CrewWork::Command { needs_shell: false, effects: None };
        let facts = CrewFacts { work, timeout: None, in_workspace: false };
        CrewStart {
            purpose,
            is_approved: true,
            argv: Argv::new(words.iter().map(|word| (*word).to_owned()).collect()).unwrap(),
            directory: PathBuf::from("/work"),
            home: None,
            directory_fact: DirectoryFact::Present,
            program: StartProgram::Found { path: PathBuf::from("/bin/x"), sha256: None },
            approved_program: None,
            approved_bytes: None,
            decision: decide_crew(&state, &facts, &|_: &str| true),
        }
    }

    #[track_caller]
    fn check(facts: CrewStart, expect: &[&str]) {
        let found = plan_crew_start(facts).err().unwrap_or_default();
        let place = |_: &str| brigade_core::Place::file("x");
        let codes: Vec<String> =
            found.iter().map(|objection| objection.blocker(place).code.to_string()).collect();
        assert_eq!(codes, expect);
    }

    #[test]
    fn an_approved_text_may_use_a_shell_but_no_new_rights() {
        check(facts(StartPurpose::Verification, &["/bin/sh", "-c", "a | b"]), &[]);
        check(facts(StartPurpose::Worker, &["/bin/sh", "-c", "a | b"]), &["high_risk_command"]);
        check(facts(StartPurpose::Test, &["/bin/sh", "-c", "sudo x"]), &["high_risk_command"]);
        check(facts(StartPurpose::Worker, &["agent", "--model", "x"]), &[]);
    }

    #[test]
    fn all_objections_to_a_start_are_reported() {
        let mut start = facts(StartPurpose::Worker, &["agent", "--token", "hunter2-EXAMPLE"]);
        start.is_approved = false;
        start.approved_program = Some(PathBuf::from("/bin/y"));
        check(start.clone(), &["kitchen_not_approved", "secret_in_catalog", "kitchen_program_changed"]);
        start.program = StartProgram::NotFound;
        check(start, &["kitchen_not_approved", "secret_in_catalog", "program_not_found"]);
        let mut start = facts(StartPurpose::Worker, &["agent"]);
        start.approved_bytes = Some(Fingerprint::of_bytes(b"x"));
        check(start, &["kitchen_program_changed"]);
    }
}
