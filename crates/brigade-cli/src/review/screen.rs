//! The terminal while the screen is shown. It is as before afterwards, however the screen ends.

use std::io::{self, BufWriter, Write};

use crossterm::cursor::{Hide, Show};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::draw::draw;
use super::model::Model;

/// Marks pasted text, and reports clicks and the wheel.
const REPORTS_ON: &[u8] = b"\x1b[?2004h\x1b[?1000h\x1b[?1006h";
const REPORTS_OFF: &[u8] = b"\x1b[?1006l\x1b[?1000l\x1b[?2004l";

/// A terminal in raw mode, with another screen.
pub(super) struct Screen<'o> {
    terminal: Terminal<CrosstermBackend<BufWriter<&'o mut dyn Write>>>,
    is_entered: bool,
    size: (u16, u16),
}

impl<'o> Screen<'o> {
    /// Takes over the terminal.
    pub(super) fn enter(output: &'o mut dyn Write, size: (u16, u16)) -> io::Result<Screen<'o>> {
        let backend = CrosstermBackend::new(BufWriter::with_capacity(1 << 16, output));
        let area = Rect::new(0, 0, size.0, size.1);
        let options = TerminalOptions { viewport: Viewport::Fixed(area) };
        let terminal = Terminal::with_options(backend, options)?;
        let mut screen = Screen { terminal, is_entered: false, size };
        screen.resume()?;
        Ok(screen)
    }

    /// Takes the terminal over again.
    pub(super) fn resume(&mut self) -> io::Result<()> {
        // From here on, the drop gives it back.
        self.is_entered = true;
        enable_raw_mode()?;
        let backend = self.terminal.backend_mut();
        crossterm::queue!(backend, EnterAlternateScreen, Hide)?;
        backend.write_all(REPORTS_ON)?;
        self.resize(self.size)
    }

    /// Draws everything anew in a window of this size. `Terminal::clear` would ask the terminal where its cursor is,
    /// and not every terminal answers.
    fn resize(&mut self, size: (u16, u16)) -> io::Result<()> {
        self.size = size;
        self.terminal.resize(Rect::new(0, 0, size.0, size.1))
    }

    /// Gives the terminal back.
    pub(super) fn leave(&mut self) {
        if !std::mem::take(&mut self.is_entered) {
            return;
        }
        let backend = self.terminal.backend_mut();
        // The terminal may be gone.
        let _ = backend.write_all(REPORTS_OFF);
        let _ = crossterm::queue!(backend, LeaveAlternateScreen, Show);
        let _ = Write::flush(backend);
        let _ = disable_raw_mode();
    }

    /// Draws what changed.
    pub(super) fn draw(&mut self, model: &Model) -> io::Result<()> {
        if self.size != model.size {
            self.resize(model.size)?;
        }
        self.terminal.draw(|frame| draw(model, frame)).map(|_| ())
    }
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}
