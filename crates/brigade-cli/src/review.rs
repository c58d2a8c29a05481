//! The screen of `brigade review`: what waits, one thing in full, and decisions with one key.
//!
//! [`model`] is the state and how keys change it, [`draw`] draws it, and [`backend`] reads and changes the workspace.
//! Only this module and [`screen`] touch the terminal. The screen has no rules: decisions are operations of the façade,
//! and count only for the fingerprint of what was shown.

mod backend;
mod draw;
mod input;
mod layout;
mod lines;
mod model;
mod question;
mod screen;
#[cfg(test)]
mod tests;

use std::io;
use std::time::Duration;

use brigade::process::{StopEvent, StopSignals, TypedKeys, discard_typed, read_typed_keys};
use brigade::{CancelToken, Error, ErrorKind, Exit};

use crate::output::Output;
use crate::session::Session;
use crate::surroundings::Terminal;
use backend::Backend;
use input::InputReader;
use model::{Action, Event, Model, update};
use screen::Screen;

/// How often files are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// How long an escape may be the start of a sequence.
const ESCAPE_TIMEOUT: Duration = Duration::from_millis(30);

/// After how many looks the screen is drawn again, because ages change.
const LOOKS_PER_DRAWING: u32 = 300;

/// The size of a terminal of unknown size.
const USUAL_SIZE: (u16, u16) = (80, 24);

/// Shows the screen until the person leaves it.
pub(crate) fn run(session: &Session<'_>, terminal: Terminal, output: &mut Output<'_, '_>) -> Exit {
    match show(session, terminal, output) {
        Ok(()) => Exit::Done,
        Err(error) => output.fail(&error),
    }
}

fn show(session: &Session<'_>, terminal: Terminal, output: &mut Output<'_, '_>) -> Result<(), Error> {
    let cancel = session.cancel()?;
    let workspace = session.workspace()?;
    workspace.require_outside_run()?;
    let target = workspace.root().display().to_string();
    let workspace = workspace.with_env(|env| env.cancel(cancel.clone()));
    let surroundings = session.surroundings;
    let offset = Some(surroundings.local_offset_minutes);
    let mut backend = Backend::new(workspace, output.words().clone(), surroundings.clock.clone(), offset);
    let mut model = Model::new(size_of(terminal), backend.now(), output.colour(), &target);
    let first = backend.waiting();
    let stops = StopSignals::receive().map_err(|error| broken(&error))?;
    let screen = Screen::enter(output.screen(), model.size).map_err(|error| broken(&error))?;
    let reader = InputReader::default();
    let mut review =
        Review { backend: &mut backend, model: &mut model, reader, screen, stops, terminal, cancel };
    let ended = review.run(first);
    drop(review);
    backend.finish_run();
    ended.map_err(|error| broken(&error))
}

fn broken(error: &io::Error) -> Error {
    Error::new(ErrorKind::Environment, format!("the terminal cannot be used: {}", error.kind()))
}

fn size_of(terminal: Terminal) -> (u16, u16) {
    let (columns, rows) = (terminal.measure)().unwrap_or_default();
    let clamp = |size: usize, usual: u16| match u16::try_from(size) {
        Ok(0) | Err(_) => usual,
        Ok(size) => size,
    };
    (clamp(columns, USUAL_SIZE.0), clamp(rows, USUAL_SIZE.1))
}

/// Whether the screen continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Continue,
    End,
}

struct Review<'r, 'o> {
    backend: &'r mut Backend,
    model: &'r mut Model,
    reader: InputReader,
    screen: Screen<'o>,
    stops: StopSignals,
    terminal: Terminal,
    cancel: CancelToken,
}

impl Review<'_, '_> {
    fn run(&mut self, first: Event) -> io::Result<()> {
        let detail = update(self.model, first);
        // The list is on the screen before anything else is read.
        self.draw()?;
        self.act(detail);
        self.draw()?;
        let mut looks = 0;
        loop {
            let timeout = if self.reader.is_waiting() { ESCAPE_TIMEOUT } else { LOOK_INTERVAL };
            let inputs = match read_typed_keys(&self.cancel, timeout)? {
                TypedKeys::Bytes(bytes) => self.reader.take(&bytes),
                TypedKeys::Nothing => self.reader.give_up().into_iter().collect(),
                TypedKeys::End | TypedKeys::Withdrawn => return Ok(()),
            };
            looks += 1;
            let mut must_draw = !inputs.is_empty();
            for input in inputs {
                let action = update(self.model, Event::Input(input));
                if self.act(action) == Flow::End {
                    return Ok(());
                }
            }
            must_draw |= self.follow_stops() | self.look();
            if must_draw || looks % LOOKS_PER_DRAWING == 0 {
                self.draw()?;
            }
        }
    }

    /// Looks at the window, the files and the run. Returns whether something changed.
    fn look(&mut self) -> bool {
        let size = size_of(self.terminal);
        let mut is_changed = size != self.model.size;
        if is_changed {
            update(self.model, Event::Resize(size.0, size.1));
        }
        self.backend.set_width(size.0);
        for event in self.backend.follow_run() {
            is_changed = true;
            let action = update(self.model, event);
            self.act(action);
        }
        if self.backend.is_stale() {
            is_changed = true;
            let waiting = self.backend.waiting();
            let action = update(self.model, waiting);
            self.act(action);
        }
        is_changed
    }

    /// Does what the screen asks for, and what follows from it.
    fn act(&mut self, action: Option<Action>) -> Flow {
        let mut actions: Vec<Action> = action.into_iter().collect();
        while let Some(action) = actions.pop() {
            match action {
                Action::Quit => return Flow::End,
                Action::Stop => self.stop(),
                action => {
                    for event in self.backend.perform(action) {
                        actions.extend(update(self.model, event));
                    }
                }
            }
        }
        Flow::Continue
    }

    /// Gives the terminal back until this process is continued.
    fn stop(&mut self) {
        self.screen.leave();
        self.stops.stop();
        self.take_over();
    }

    /// Takes the terminal over again, however it was left.
    fn take_over(&mut self) {
        self.screen.leave();
        // A terminal that is gone is noticed when it is read.
        let _ = self.screen.resume();
        self.reader = InputReader::default();
        discard_typed();
    }

    /// Follows a stop by another process. Returns whether there was one.
    fn follow_stops(&mut self) -> bool {
        match self.stops.take() {
            Some(StopEvent::Stop) => self.stop(),
            Some(StopEvent::Continued) => self.take_over(),
            None => return false,
        }
        true
    }

    /// Draws the screen. A key that was typed before a question was drawn does not answer it: such keys are discarded.
    fn draw(&mut self) -> io::Result<()> {
        self.model.now = self.backend.now();
        if self.model.awaits_drawing() {
            self.discard_typed()?;
        }
        self.screen.draw(self.model)?;
        update(self.model, Event::Drawn);
        Ok(())
    }

    /// Reads what was typed, and leaves it out. The reader sees it, because it may have the end of pasted text.
    fn discard_typed(&mut self) -> io::Result<()> {
        while let TypedKeys::Bytes(bytes) = read_typed_keys(&self.cancel, Duration::ZERO)? {
            self.reader.take(&bytes);
        }
        self.reader.forget();
        Ok(())
    }
}
