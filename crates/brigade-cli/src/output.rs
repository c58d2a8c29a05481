//! Writes the report of a command as text or JSON, and returns the exit code.

use std::cell::OnceCell;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use brigade::core::json::write_document;
use brigade::core::{Clock, NextStep, Timestamp};
use brigade::gateway::SourceFiles;
use brigade::{Env, Error, Exit, Progress as _, Report, Workspace};
use serde::Serialize;

use crate::arguments::{ColorWhen, Globals};
use crate::live::{Live, LiveDetail, PromptMode};
use crate::render::attention::Attention;
use crate::render::failure::{ErrorReport, diagnosis, show_error};
use crate::render::page::{Page, Sheet, TextFormat};
use crate::render::text::{Colour, Text, Tone};
use crate::render::when::Now;
use crate::render::{CommandWords, View, refusals};
use crate::session::Session;
use crate::surroundings::{ShowInPager, Streams, Surroundings, Terminal};

/// The maximum length of a typed line.
const MAX_LINE_BYTES: usize = 64 << 10;

/// The output options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Print one JSON document instead of text.
    pub json: bool,
    /// When to use colour.
    pub color: ColorWhen,
    /// Leave out notes and next steps.
    pub quiet: bool,
    /// Do not use a pager.
    pub no_pager: bool,
}

impl From<&Globals> for Shape {
    fn from(globals: &Globals) -> Shape {
        Shape { json: globals.json, color: globals.color, quiet: globals.quiet, no_pager: globals.no_pager }
    }
}

/// The output of a command.
pub(crate) struct Output<'a, 's> {
    shape: Shape,
    data: TextFormat,
    notes: TextFormat,
    /// How far local time is ahead of UTC, if standard output is a terminal.
    offset_minutes: Option<i32>,
    is_full: bool,
    clock: Arc<dyn Clock>,
    streams: &'a mut Streams<'s>,
    session: Option<&'a Session<'a>>,
    sources: OnceCell<Option<SourceFiles>>,
    words: OnceCell<CommandWords>,
    /// Shows long text in a pager.
    pager: Option<Pager>,
    /// The exit code of the first failed write to standard output. Later writes are skipped.
    broken: Option<Exit>,
}

/// The pager of a terminal.
struct Pager {
    show: ShowInPager,
    terminal: Terminal,
    directory: PathBuf,
}

impl Pager {
    /// Shows a text that is longer than the screen. Returns whether it did.
    fn show_if_long(&self, text: &str, session: Option<&Session<'_>>) -> bool {
        let rows = (self.terminal.measure)().map_or(usize::MAX, |(_, rows)| rows);
        let find = |name: &str| {
            let workspace = match session {
                Some(session) => session.workspace(),
                None => Workspace::discover(&self.directory, Env::of_process()),
            };
            workspace.ok()?.own_program(name)
        };
        0 < rows && rows <= text.lines().count() && (self.show)(text, &find)
    }
}

impl<'a, 's> Output<'a, 's> {
    pub(crate) fn new(
        shape: Shape,
        surroundings: &Surroundings,
        streams: &'a mut Streams<'s>,
    ) -> Output<'a, 's> {
        let look = |terminal: Option<Terminal>| TextFormat {
            colour: match shape.color {
                ColorWhen::Always => Colour::On,
                ColorWhen::Never => Colour::Off,
                ColorWhen::Auto if surroundings.no_color || surroundings.dumb => Colour::Off,
                ColorWhen::Auto if terminal.is_some() => Colour::On,
                ColorWhen::Auto => Colour::Off,
            },
            width: terminal.and_then(|terminal| terminal.width),
        };
        Output {
            shape,
            data: look(surroundings.output),
            notes: look(surroundings.error),
            offset_minutes: surroundings.output.map(|_| surroundings.local_offset_minutes),
            is_full: false,
            clock: surroundings.clock.clone(),
            streams,
            session: None,
            sources: OnceCell::new(),
            words: OnceCell::new(),
            pager: surroundings
                .pager
                .filter(|_| !shape.no_pager && !shape.json && !surroundings.dumb)
                .and_then(|show| {
                    let directory = surroundings.current_directory.clone().ok()?;
                    Some(Pager { show, terminal: surroundings.output?, directory })
                }),
            broken: None,
        }
    }

    /// Sets the session. Errors quote lines of files in its workspace.
    pub(crate) fn of_session(self, session: &'a Session<'a>) -> Output<'a, 's> {
        Output { session: Some(session), ..self }
    }

    /// Shows that the command works, until it writes or asks something.
    pub(crate) fn show_progress(&self, on_what: &str) {
        if let Some(progress) = self.session.and_then(Session::progress) {
            progress.started();
            progress.printed(on_what.as_bytes());
        }
    }

    /// Removes the progress line, because something is written to the terminal.
    pub(crate) fn end_progress(&self) {
        if let Some(progress) = self.session.and_then(Session::progress) {
            progress.ended();
        }
    }

    /// Sets whether pages show details that are usually folded.
    pub(crate) fn set_full(&mut self, is_full: bool) {
        self.is_full = is_full;
    }

    /// Returns whether standard output is coloured.
    pub(crate) fn is_coloured(&self) -> bool {
        self.data.colour == Colour::On
    }

    /// Returns the colour mode of standard error.
    #[cfg(feature = "serve")]
    pub(crate) fn notes_colour(&self) -> Colour {
        self.notes.colour
    }

    /// Returns the colour mode of standard output.
    pub(crate) fn colour(&self) -> Colour {
        self.data.colour
    }

    /// Returns whether output is JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.shape.json
    }

    /// Returns the current time.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Reports that there is no workspace. All commands that are proposed then create one.
    pub(crate) fn without_workspace(&mut self, note: &str) {
        if !self.shape.quiet && !self.shape.json {
            let mut page = self.new_page();
            page.note(note);
            page.next_step(&NextStep::Setup);
            page.next_step(&NextStep::Init);
            self.print_to_stderr(&page.notes);
        }
        self.words = OnceCell::from(self.words().clone().before_workspace());
    }

    /// Returns how to format commands for the workspace.
    pub(crate) fn words(&self) -> &CommandWords {
        self.words.get_or_init(|| self.session.map(Session::words).unwrap_or_default())
    }

    /// Creates an empty page.
    pub(crate) fn new_page(&self) -> Page {
        let mut page = Page::new(self.shown_now(), self.words().clone());
        page.is_full = self.is_full;
        page
    }

    /// Returns the current time as pages show it.
    pub(crate) fn shown_now(&self) -> Now {
        Now { at: self.now(), offset_minutes: self.offset_minutes }
    }

    /// Returns whether a write to standard output failed.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// Returns standard output, for a program that draws on the terminal itself.
    #[cfg(feature = "tui")]
    pub(crate) fn screen(&mut self) -> &mut dyn Write {
        self.end_progress();
        self.streams.output
    }

    /// Returns standard input.
    pub(crate) fn input(&mut self) -> &mut dyn io::Read {
        self.end_progress();
        self.streams.input
    }

    /// Prints the result of an operation and returns the exit code.
    pub(crate) fn finish<R: Report + View>(&mut self, report: R) -> Exit {
        if self.shape.json {
            let exit = self.write(report.exit(), |out| report.write_json(out));
            // The process is about to exit, and dropping thousands of rows takes longer.
            std::mem::forget(report);
            return exit;
        }
        let mut page = self.new_page();
        report.show(&mut page);
        self.page(&page, report.exit())
    }

    /// Prints an error and returns its exit code.
    pub(crate) fn fail(&mut self, error: &Error) -> Exit {
        if self.shape.json {
            let diagnosis =
                diagnosis(error, self.sources(error.failure().places().next().is_some()), self.words());
            return match refusals::document(error, diagnosis.clone(), self.words()) {
                Some(refused) => self.document(&refused, error.exit()),
                None => self.document(&ErrorReport::from_error(error, diagnosis, self.words()), error.exit()),
            };
        }
        let mut page = self.new_page();
        show_error(error, &mut page);
        self.page(&page, error.exit())
    }

    /// Writes one JSON document.
    pub(crate) fn document(&mut self, document: &impl Serialize, exit: Exit) -> Exit {
        self.write(exit, |out| write_document(out, document))
    }

    /// Writes a page: data, then errors, then notes.
    pub(crate) fn page(&mut self, page: &Page, exit: Exit) -> Exit {
        let text = self.written(&page.data, self.data);
        let exit = if self.text(&text) == Exit::Done { exit } else { self.broken.unwrap_or(exit) };
        self.print_to_stderr(&page.trouble);
        if !self.shape.quiet {
            self.print_to_stderr(&page.notes);
        }
        exit
    }

    /// Writes a note, unless notes are off.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.shape.quiet && !self.shape.json {
            let mut page = self.new_page();
            page.note(text);
            self.print_to_stderr(&page.notes);
        }
    }

    /// Writes a line for the person before the command is done, in every mode.
    pub(crate) fn announce(&mut self, text: &str, subject: &str) {
        let mut sheet = Sheet::default();
        sheet.line(text);
        sheet.line(subject);
        self.print_to_stderr(&sheet);
        let _ = self.streams.error.flush();
    }

    /// Writes text unchanged: help, the version, completions.
    pub(crate) fn text(&mut self, text: &str) -> Exit {
        self.end_progress();
        if self.pager.as_ref().is_some_and(|pager| pager.show_if_long(text, self.session)) {
            return Exit::Done;
        }
        self.write(Exit::Done, |out| out.write_all(text.as_bytes()))
    }

    /// Prints a usage error of clap.
    pub(crate) fn misuse(&mut self, text: &str) -> Exit {
        let mut sheet = Sheet::default();
        // Tips directly follow the error.
        for line in text.trim_end().replace("\n\n  tip:", "\n  tip:").lines() {
            let marks = [
                ("error:", "error[usage]:", Tone::Bad),
                ("  tip:", "help:", Tone::Good),
                ("Usage:", "Usage:", Tone::Strong),
            ];
            let marked =
                marks.iter().find_map(|(mark, word, tone)| Some((word, *tone, line.strip_prefix(mark)?)));
            sheet.line(match marked {
                Some((word, tone, rest)) => Text::new(tone, word).then(Tone::Plain, rest),
                None => Text::from(line),
            });
        }
        self.print_to_stderr(&sheet);
        Exit::Usage
    }

    /// Writes data and returns the exit code of the command.
    ///
    /// A closed pipe is not a failure. Any other write error is [`Exit::Environment`].
    pub(crate) fn write(&mut self, exit: Exit, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Exit {
        match self.exchange(|_, out| write(out)) {
            Exit::Done => exit,
            broken => broken,
        }
    }

    /// Passes data on as it arrives. `give` gets a function that writes one part, and returns the result of the last
    /// write.
    ///
    /// # Errors
    /// Returns the error of `give`. A failed write is reported as in [`Output::write`].
    pub(crate) fn pass<E>(
        &mut self,
        give: impl FnOnce(&mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<ControlFlow<io::Error>, E>,
    ) -> Result<Exit, E> {
        let mut exit = Exit::Done;
        let passed = give(&mut |bytes| {
            let mut written = Ok(());
            exit = self.write(Exit::Done, |out| {
                written = out.write_all(bytes).and_then(|()| out.flush());
                // The failure is reported here. The caller only has to stop.
                match &written {
                    Ok(()) => Ok(()),
                    Err(error) => Err(error.kind().into()),
                }
            });
            written
        })?;
        Ok(match passed {
            ControlFlow::Break(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Done,
            _ => exit,
        })
    }

    /// Writes data while reading standard input.
    pub(crate) fn exchange(
        &mut self,
        exchange: impl FnOnce(&mut dyn BufRead, &mut dyn Write) -> io::Result<()>,
    ) -> Exit {
        self.end_progress();
        if let Some(exit) = self.broken {
            return exit;
        }
        let mut input = BufReader::new(&mut *self.streams.input);
        let mut output = BufWriter::with_capacity(1 << 16, &mut *self.streams.output);
        let result = exchange(&mut input, &mut output).and_then(|()| output.flush());
        // Dropping the buffer would try a failed write again.
        let _ = output.into_parts();
        let exit = match result {
            Ok(()) => return Exit::Done,
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Done,
            Err(error) => {
                let mut page = self.new_page();
                page.error(
                    brigade::ErrorCode::Environment,
                    &format!("cannot write to standard output: {error}"),
                );
                self.print_to_stderr(&page.trouble);
                Exit::Environment
            }
        };
        self.broken = Some(exit);
        exit
    }

    /// Returns whether a person at the terminal can be asked.
    pub(crate) fn may_ask(&self, surroundings: &Surroundings) -> bool {
        surroundings.typed && surroundings.error.is_some() && !self.shape.json
    }

    /// Shows a report, and asks the person at the terminal a question about it. Everything but yes means no.
    pub(crate) fn confirm<R: View>(&mut self, report: &R, question: &str) -> bool {
        let mut page = self.new_page();
        report.show(&mut page);
        self.show_above(&page) == Exit::Done && self.agree(question)
    }

    /// Asks the person at the terminal a question. Everything but yes means no.
    pub(crate) fn agree(&mut self, question: &str) -> bool {
        let answer = self.answer(&format!("{question} Type yes:"));
        answer.is_some_and(|answer| matches!(answer.to_lowercase().as_str(), "y" | "yes"))
    }

    /// Asks the person at the terminal a question, and returns the answer, or the usual one for an empty line.
    ///
    /// # Errors
    /// Fails if the input ends.
    pub(crate) fn ask(&mut self, question: &str, usual: &str) -> Result<String, Error> {
        let answer = self.answer(&format!("{question} [{usual}]:"));
        let answer = answer.ok_or_else(|| {
            Error::new(brigade::ErrorKind::Refused, "the question was not answered, so nothing was written")
        })?;
        Ok(if answer.is_empty() { usual.to_owned() } else { answer })
    }

    /// Writes a question, and reads a line; `None` at the end of the input. Nothing that is typed after the line is
    /// taken away from the next question.
    fn answer(&mut self, question: &str) -> Option<String> {
        self.ask_inline(&Text::from(question))
    }

    /// Asks the person at the terminal, who types after the question. `None` at the end of the input.
    pub(crate) fn ask_inline(&mut self, question: &Text) -> Option<String> {
        self.end_progress();
        let mut sheet = Sheet::default();
        sheet.line(question.clone());
        let text = self.written(&sheet, self.notes);
        let _ = self.streams.error.write_all(text.trim_end_matches('\n').as_bytes());
        let _ = self.streams.error.write_all(b" ");
        let _ = self.streams.error.flush();
        self.read_line()
    }

    /// Reads a line without its blanks, and no byte after it.
    fn read_line(&mut self) -> Option<String> {
        let (mut line, mut byte) = (Vec::new(), [0]);
        loop {
            match self.streams.input.read(&mut byte) {
                Ok(0) if line.is_empty() => return None,
                Ok(_) if byte[0] == b'\n' => break,
                Ok(0) => break,
                Ok(_) if line.len() < MAX_LINE_BYTES => line.push(byte[0]),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        Some(String::from_utf8_lossy(&line).trim().to_owned())
    }

    /// Writes a page.
    pub(crate) fn show(&mut self, show: impl FnOnce(&mut Page)) {
        let mut page = self.new_page();
        show(&mut page);
        self.show_above(&page);
    }

    /// Writes a page that stays above the next question, so not with the pager.
    fn show_above(&mut self, page: &Page) -> Exit {
        let pager = self.pager.take();
        let shown = self.page(page, Exit::Done);
        self.pager = pager;
        shown
    }

    /// Asks about a proposal unless `yes` is given. Fails without a person at a terminal.
    pub(crate) fn confirm_or<R: View>(
        &mut self,
        surroundings: &Surroundings,
        yes: bool,
        report: &R,
        question: &str,
    ) -> Result<bool, Error> {
        if yes {
            return Ok(true);
        }
        if self.may_ask(surroundings) {
            return Ok(self.confirm(report, question));
        }
        Err(Output::no_person_error())
    }

    /// Returns the error for a question without a person at a terminal.
    pub(crate) fn no_person_error() -> Error {
        let message = "a person must agree to this, and there is no terminal to ask on";
        let error = Error::new(brigade::ErrorKind::Usage, message);
        error.hint("pass `--yes` to agree, or `--dry-run` to only see what it would do")
    }

    /// Shows a running service on standard error. Asks the person at the terminal, if there is one.
    pub(crate) fn live(&mut self, surroundings: &Surroundings) -> Live<'_> {
        self.end_progress();
        let is_there = self.may_ask(surroundings);
        let terminal = surroundings.error.filter(|_| !surroundings.dumb && !self.shape.quiet);
        let shown = if self.shape.quiet { LiveDetail::Questions } else { LiveDetail::All };
        let prompts = if is_there { PromptMode::APerson } else { PromptMode::Nobody };
        let live = Live::new(&mut *self.streams.error, self.notes.colour, terminal, shown, prompts);
        live.with_bell(Attention::for_terminal(surroundings).filter(|_| !self.shape.quiet))
    }

    /// Writes to standard error. A failure cannot be reported anywhere.
    pub(crate) fn print_to_stderr(&mut self, sheet: &Sheet) {
        self.end_progress();
        let text = self.written(sheet, self.notes);
        let _ = self.streams.error.write_all(text.as_bytes());
    }

    /// Formats a sheet as text.
    fn written(&self, sheet: &Sheet, look: TextFormat) -> String {
        sheet.write(look, self.sources(sheet.names_places()))
    }

    /// Opens the workspace to read lines of its files, if any are shown.
    fn sources(&self, are_shown: bool) -> Option<&SourceFiles> {
        let open = || Some(self.session?.workspace().ok()?.sources());
        are_shown.then(|| self.sources.get_or_init(open).as_ref()).flatten()
    }
}
