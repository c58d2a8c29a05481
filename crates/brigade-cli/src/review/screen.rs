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

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use brigade::core::{Clock as _, Timestamp};
    use brigade_tests::until;
    use portable_pty::{CommandBuilder, PtySize, native_pty_system};

    use super::*;
    use crate::render::text::Colour;

    /// Says to the same test in another process that it is the screen.
    const INSIDE: &str = "BRIGADE_TEST_OF_A_PANIC";

    /// A clock that always shows the same time.
    struct FixedClock;

    impl brigade::core::Clock for FixedClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_unix_micros(1_800_000_000_000_000)
        }
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the test runs itself in a pseudo-terminal")]
    fn a_panic_gives_the_terminal_back() {
        if std::env::var_os(INSIDE).is_some() {
            let mut output = io::stdout();
            let mut screen = Screen::enter(&mut output, (80, 24)).unwrap();
            screen.draw(&Model::new((80, 24), FixedClock.now().into(), Colour::On, "/work")).unwrap();
            panic!("a bug");
        }
        let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
        command.args(["review::screen::tests::a_panic_gives_the_terminal_back", "--exact", "--nocapture"]);
        command.env(INSIDE, "1");
        let mut child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut output = pair.master.try_clone_reader().unwrap();
        let reader = std::thread::spawn(move || {
            let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
            while let Ok(count @ 1..) = output.read(&mut part) {
                bytes.extend_from_slice(&part[..count]);
            }
            bytes
        });
        assert!(!child.wait().unwrap().success());
        until("the terminal in its usual mode", || {
            let modes = pair.master.get_termios()?.local_flags;
            format!("{modes:?}").contains("ICANON").then_some(())
        });
        drop(pair.master);
        let written = reader.join().unwrap();
        let mut parser = vt100::Parser::new(24, 80, 0);
        parser.process(&written);
        let screen = parser.screen();
        assert!(String::from_utf8_lossy(&written).contains("\u{1b}[?1049h"), "the screen was entered");
        assert!(!screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste());
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
    }
}
