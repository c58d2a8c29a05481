//! Stops of this process by the terminal or another process, so that a full screen can give the terminal back first.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// The signals that came and were not taken yet.
static STOP: AtomicBool = AtomicBool::new(false);
static CONTINUED: AtomicBool = AtomicBool::new(false);

/// What happened to the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopEvent {
    /// It should stop (`SIGTSTP`). [`StopSignals::stop`] does.
    Stop,
    /// It was stopped without notice, and was continued (`SIGCONT`).
    Continued,
}

/// Receives `SIGTSTP` and `SIGCONT`, until it is dropped. A process has one.
#[derive(Debug)]
pub struct StopSignals(());

impl StopSignals {
    /// Installs the handlers. The first signal ends a wait for keys.
    ///
    /// # Errors
    /// Fails if the system refuses.
    pub fn receive() -> io::Result<StopSignals> {
        set(libc::SIGTSTP, note as extern "C" fn(libc::c_int) as libc::sighandler_t)?;
        set(libc::SIGCONT, note as extern "C" fn(libc::c_int) as libc::sighandler_t)?;
        Ok(StopSignals(()))
    }

    /// Returns what happened since the last call.
    pub fn take(&self) -> Option<StopEvent> {
        let (stop, continued) = (STOP.swap(false, Ordering::SeqCst), CONTINUED.swap(false, Ordering::SeqCst));
        match (stop, continued) {
            (true, _) => Some(StopEvent::Stop),
            (false, true) => Some(StopEvent::Continued),
            (false, false) => None,
        }
    }

    /// Stops the process group of this process, as Ctrl-Z does, until it is continued.
    pub fn stop(&self) {
        let _ = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
        // The group's signal was only noted here, so this process still has to stop.
        if set(libc::SIGTSTP, libc::SIG_DFL).is_ok() {
            // SAFETY: sends a signal to this thread; takes no pointers.
            unsafe { libc::raise(libc::SIGTSTP) };
        }
        let _ = set(libc::SIGTSTP, note as extern "C" fn(libc::c_int) as libc::sighandler_t);
        let _ = self.take();
    }
}

impl Drop for StopSignals {
    fn drop(&mut self) {
        let _ = set(libc::SIGTSTP, libc::SIG_DFL);
        let _ = set(libc::SIGCONT, libc::SIG_DFL);
    }
}

extern "C" fn note(number: libc::c_int) {
    let flag = if number == libc::SIGCONT { &CONTINUED } else { &STOP };
    flag.store(true, Ordering::SeqCst);
}

fn set(number: libc::c_int, handler: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: `sigaction` is plain data, for which all zeroes is a value; the pointer is to a local; the handler only
    // touches an atomic.
    let done = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_RESTART;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(number, &action, std::ptr::null_mut())
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_taken_once() {
        let signals = StopSignals::receive().unwrap();
        for (number, event) in [(libc::SIGTSTP, StopEvent::Stop), (libc::SIGCONT, StopEvent::Continued)] {
            // SAFETY: sends a signal to this thread; takes no pointers.
            assert_eq!(unsafe { libc::raise(number) }, 0);
            assert_eq!((signals.take(), signals.take()), (Some(event), None));
        }
    }
}
