//! Runs the commands of entries that check the presence and version of a tool, and stores the results.

use std::collections::HashMap;
use std::time::Duration;

use brigade_call::plan_start;
use brigade_catalog::{ObservedPresence, Tool, Version};
use brigade_core::Timestamp;
use brigade_exec::{CheckResult, Conversation};
use brigade_redact::SecretValue;
use brigade_workspace::{Config, FactReader, KeptCheck, KeptChecks, StartInput, WorkspaceContext, gather};

use brigade_policy::Failure;

/// The maximum time of one command. The policy can lower it.
const OBSERVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Observes tools, each command once.
pub(crate) struct ToolObserver<'a> {
    context: &'a WorkspaceContext,
    facts: FactReader<'a, 'a>,
    secrets: Vec<SecretValue>,
    catalog: &'a brigade_catalog::Catalog,
    checks: KeptChecks,
    answers: HashMap<String, Answer>,
}

/// The result of a command.
#[derive(Clone)]
struct Answer {
    at: Timestamp,
    /// Whether it succeeded; `None` without a result.
    succeeded: Option<bool>,
    version: Option<Version>,
    problem: Option<String>,
}

impl<'a> ToolObserver<'a> {
    /// Creates an observer that has started nothing.
    pub(crate) fn new(context: &'a WorkspaceContext, config: &'a Config) -> ToolObserver<'a> {
        ToolObserver {
            context,
            facts: FactReader::new(context.host(), config),
            secrets: gather::bound_secrets(context, &config.policy),
            catalog: &config.catalog,
            checks: KeptChecks::read(&*context.fs),
            answers: HashMap::new(),
        }
    }

    /// Returns the problem of the stored results, if any.
    pub(crate) fn problem(&self) -> Option<String> {
        self.checks.problem(!self.answers.is_empty())
    }

    /// Runs the version command of a tool, and its check if nothing else answers it.
    ///
    /// # Errors
    /// Fails on a disk error. A failed command, or one that may not start, is a result and not an error.
    pub(crate) fn observe(&mut self, tool: &Tool) -> Result<ObservedPresence, Failure> {
        let mut observed = ObservedPresence::default();
        if let Some(command) = tool.check_to_run() {
            let answer = self.ask(tool, command)?;
            observed.check = answer.succeeded;
            observed.check_problem = answer.problem;
        }
        if let Some(command) = tool.version_to_run() {
            let answer = self.ask(tool, command)?;
            observed.version_problem = match (&answer.version, answer.problem) {
                (Some(_), _) => None,
                (None, Some(problem)) => Some(problem),
                (None, None) => Some("its version command printed none".to_owned()),
            };
            observed.version_at = Some(answer.at);
            observed.version = answer.version;
        }
        Ok(observed)
    }

    fn ask(&mut self, tool: &Tool, command: &str) -> Result<Answer, Failure> {
        // Found before the command starts, like its files.
        let program = self.facts.program_of(tool);
        let answer = match self.answers.get(command) {
            Some(answer) => answer.clone(),
            None => {
                let answer = self.start(tool, command)?;
                self.answers.insert(command.to_owned(), answer.clone());
                answer
            }
        };
        if let Some(program) = program {
            self.checks.asked_about(command, program);
        }
        Ok(answer)
    }

    fn start(&mut self, tool: &Tool, command: &str) -> Result<Answer, Failure> {
        let at = self.context.now();
        let nothing = |problem: String| Answer { at, succeeded: None, version: None, problem: Some(problem) };
        let look = tool.look_with(command);
        let StartInput { facts, program } = self.facts.check(tool, &look)?;
        let start = match plan_start(facts) {
            Ok(start) => start,
            Err(objections) => {
                let reasons: Vec<String> = objections.iter().map(ToString::to_string).collect();
                return Ok(nothing(format!("not started: {}", reasons.join("; "))));
            }
        };
        let program = program.expect("a verified start has its program open");
        // Read before it starts, so that a change during the run is noticed.
        let files = KeptCheck::before(&*self.context.fs, &start, at);
        let CheckResult { exit, problem, stdout, stderr } = brigade_exec::check(&Conversation {
            start: &start,
            program: &program,
            workspace: self.context.fs.root(),
            environment: &self.context.environment,
            secrets: &self.secrets,
            timeout: OBSERVE_TIMEOUT,
            cancel: self.context.cancel.clone(),
        });
        let Some(exit) = exit else { return Ok(nothing(problem.unwrap_or_default())) };
        let succeeded = exit.success();
        let version = Version::find_in(&stdout).or_else(|| Version::find_in(&stderr)).filter(|_| succeeded);
        if let Some(kept) = files {
            self.checks.keep(command, kept.with_result(succeeded, version.as_ref()));
        }
        let problem = (!succeeded).then(|| format!("it ended with {exit}"));
        Ok(Answer { at, succeeded: Some(succeeded), version, problem })
    }

    /// Stores the results for commands that start nothing.
    ///
    /// # Errors
    /// Fails on a disk error. The earlier results then remain.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        if self.answers.is_empty() {
            return Ok(());
        }
        Ok(self.checks.write(&*self.context.fs, self.catalog)?)
    }
}
