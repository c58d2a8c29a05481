//! Runs the commands of the demo and prints each with a comment and its output.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use brigade::report::SchemaId;
use brigade::{CancelToken, Exit, Report, Workspace};
use serde::{Deserialize, Serialize};

use crate::output::Output;
use crate::render::page::Sheet;
use crate::render::shell::quote;
use crate::render::text::{Text, Tone};
use crate::surroundings::{Streams, Surroundings, Variables};

/// The expected result of a command of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    Done,
    Refused,
    Paused,
}

impl Expect {
    fn exit(self) -> Exit {
        match self {
            Expect::Done => Exit::Done,
            Expect::Refused => Exit::Refused,
            Expect::Paused => Exit::Paused,
        }
    }
}

/// A command that was run, and its output.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct Answer {
    /// The command.
    command: String,
    /// Its exit code.
    exit_code: u8,
    /// What it wrote to standard output.
    stdout: String,
    /// What it wrote to standard error.
    stderr: String,
}

impl Answer {
    /// Returns the first word of the output with this prefix.
    pub(crate) fn id(&self, prefix: &str) -> Option<String> {
        self.word(|word| word.starts_with(prefix))
    }

    /// Returns the first word of the output that satisfies the predicate.
    pub(crate) fn word(&self, is_it: impl Fn(&str) -> bool) -> Option<String> {
        self.stdout.split_whitespace().find(|word| is_it(word)).map(str::to_owned)
    }

    /// Returns whether the command ended as expected.
    pub(crate) fn ended(&self, expect: Expect) -> bool {
        self.exit_code == expect.exit().code()
    }
}

/// `demo`: the commands that were run, and their output.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct DemoReport {
    #[serde(deserialize_with = "DemoReport::read_schema")]
    schema: SchemaId,
    /// The folder of the demo.
    target: String,
    /// The commands.
    steps: Vec<Answer>,
}

impl Report for DemoReport {
    const SCHEMA: SchemaId = "brigade.demo.v1";
}

/// Runs and prints the steps of the demo.
pub(crate) struct Stage<'w, 'o, 's> {
    folder: String,
    surroundings: Surroundings,
    output: &'w mut Output<'o, 's>,
    answers: Vec<Answer>,
    unexpected: bool,
    /// Whether a person interrupted a command.
    interrupted: bool,
    /// Cancelled when a person interrupts the demo, even between commands.
    cancel: Option<CancelToken>,
    /// Whether the last output was that of a command.
    after_answer: bool,
}

impl<'w, 'o, 's> Stage<'w, 'o, 's> {
    pub(crate) fn new(
        workspace: &Workspace,
        surroundings: &Surroundings,
        output: &'w mut Output<'o, 's>,
    ) -> Stage<'w, 'o, 's> {
        let surroundings = Surroundings {
            current_directory: Ok(workspace.root().to_owned()),
            // The user's environment variables for tools must not change the demo.
            variables: Variables::Usual,
            pager: None,
            ..surroundings.clone()
        };
        let folder = workspace.root().display().to_string();
        let mut stage = Stage {
            folder,
            surroundings,
            output,
            answers: Vec::new(),
            unexpected: false,
            interrupted: false,
            cancel: None,
            after_answer: false,
        };
        let folder = stage.folder.clone();
        stage.show(|sheet| {
            sheet.line(Text::new(Tone::Faint, "# Demo workspace:  ").then(Tone::Accent, &folder));
        });
        stage
    }

    /// Runs the commands with this home directory.
    pub(crate) fn at_home(&mut self, home: PathBuf) {
        self.surroundings.variables = Variables::Home(home);
    }

    /// Prints what an agent asked for, and what it got.
    pub(crate) fn agent(&mut self, line: &str, answer: &str) {
        if self.is_interrupted() {
            return;
        }
        self.prompt(line);
        let stdout = format!("{answer}\n");
        if !self.output.is_json() {
            self.output.text(&stdout);
        }
        self.after_answer = true;
        self.answers.push(Answer { command: line.to_owned(), stdout, ..Answer::default() });
    }

    /// Stops running commands once the token is cancelled.
    pub(crate) fn until(&mut self, cancel: CancelToken) {
        self.cancel = Some(cancel);
    }

    /// Prints a comment before the next command.
    pub(crate) fn say(&mut self, sentence: &str) {
        if self.is_interrupted() {
            return;
        }
        self.after_answer = false;
        self.show(|sheet| {
            sheet.line("");
            sheet.line(Text::new(Tone::Faint, &format!("# {sentence}")));
        });
    }

    /// Prints a shell command without running it.
    pub(crate) fn shell(&mut self, line: &str) {
        self.prompt(line);
    }

    /// Runs a command in the workspace and prints it with its output.
    pub(crate) fn command(&mut self, words: &[&str], expect: Expect) -> Answer {
        if self.is_interrupted() {
            return Answer::default();
        }
        let line =
            std::iter::once("brigade").chain(words.iter().copied()).map(quote).collect::<Vec<_>>().join(" ");
        self.prompt(&line);
        let color = if self.output.is_coloured() { "--color=always" } else { "--color=never" };
        let all = std::iter::once("brigade").chain(words.iter().copied()).chain([color]);
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let streams = Streams { input: &mut io::empty(), output: &mut stdout, error: &mut stderr };
        let exit = crate::run(all.map(OsString::from).collect(), &self.surroundings, streams);
        let answer = Answer {
            command: line,
            exit_code: exit.code(),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        };
        if !self.output.is_json() {
            self.output.text(&answer.stdout);
            self.output.text(&answer.stderr);
        }
        let expected = expect.exit();
        self.interrupted |= exit == Exit::Interrupted;
        if exit != expected && !self.is_interrupted() {
            self.unexpected = true;
            let text = format!("# Expected exit code {}, got {}.", expected.code(), exit.code());
            self.show(|sheet| sheet.line(Text::new(Tone::Bad, &text)));
        }
        self.after_answer = true;
        self.answers.push(answer.clone());
        answer
    }

    /// Returns whether the demo was interrupted.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted || self.cancel.as_ref().is_some_and(CancelToken::is_cancelled)
    }

    /// Ends an interrupted demo.
    pub(crate) fn leave(self, note: &str) -> Exit {
        if self.output.is_json() {
            let report = DemoReport { schema: DemoReport::SCHEMA, target: self.folder, steps: self.answers };
            return self.output.document(&report, Exit::Interrupted);
        }
        self.output.note(note);
        Exit::Interrupted
    }

    /// Ends the demo and lists commands to try next, each with its reason.
    pub(crate) fn end(self, next: &[(String, &str)]) -> Exit {
        let exit = if self.unexpected { Exit::Refused } else { Exit::Done };
        if self.output.is_json() {
            let report = DemoReport { schema: DemoReport::SCHEMA, target: self.folder, steps: self.answers };
            return self.output.document(&report, exit);
        }
        let mut page = self.output.new_page();
        page.notes.line("");
        for (command, why) in next {
            let step = Text::new(Tone::Good, "help: ").then(Tone::Accent, command);
            page.notes.line(step.then(Tone::Faint, &format!("   # {why}")));
        }
        self.output.page(&page, exit)
    }

    fn prompt(&mut self, line: &str) {
        let after_answer = self.after_answer;
        self.show(|sheet| {
            if after_answer {
                sheet.line("");
            }
            sheet.line(Text::new(Tone::Faint, "$ ").then(Tone::Strong, line));
        });
    }

    fn show(&mut self, write: impl FnOnce(&mut Sheet)) {
        if !self.output.is_json() {
            let mut page = self.output.new_page();
            write(&mut page.data);
            self.output.page(&page, Exit::Done);
        }
    }
}
