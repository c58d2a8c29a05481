//! Cancels runs from another thread or a signal handler.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// Signals that can trigger a [`CancelToken`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelSignal {
    /// `SIGINT`: Ctrl-C.
    Interrupt,
    /// `SIGTERM`.
    Terminate,
    /// `SIGHUP`: the terminal was closed.
    Hangup,
}

impl CancelSignal {
    fn number(self) -> libc::c_int {
        match self {
            CancelSignal::Interrupt => libc::SIGINT,
            CancelSignal::Terminate => libc::SIGTERM,
            CancelSignal::Hangup => libc::SIGHUP,
        }
    }
}

#[derive(Debug)]
struct CancelState {
    requests: AtomicU32,
    /// Who cancelled first, if the caller named one.
    by: OnceLock<String>,
    read: OwnedFd,
    write: OwnedFd,
}

/// Cancels every run that has a clone of the token.
///
/// A request cannot be undone. The first request terminates runs; a second one skips the grace period.
#[derive(Clone, Debug)]
pub struct CancelToken(Arc<CancelState>);

/// The descriptor the signal handler writes to, or -1.
static HANDLER_PIPE: AtomicI32 = AtomicI32::new(-1);
static HANDLER_REQUESTS: AtomicU32 = AtomicU32::new(0);
static HANDLER_SIGNAL: AtomicI32 = AtomicI32::new(0);
static HANDLER_TOKEN: Mutex<Option<CancelToken>> = Mutex::new(None);

extern "C" fn on_signal(number: libc::c_int) {
    HANDLER_SIGNAL.store(number, Ordering::SeqCst);
    HANDLER_REQUESTS.fetch_add(1, Ordering::SeqCst);
    let descriptor = HANDLER_PIPE.load(Ordering::SeqCst);
    if 0 <= descriptor {
        // SAFETY: `write` is allowed in a signal handler, the buffer is one byte, and the descriptor stays open for
        // the life of the process. `errno` is put back because the handler may interrupt code that is about to read it.
        unsafe {
            let errno = errno_place();
            let before = *errno;
            libc::write(descriptor, [1u8].as_ptr().cast(), 1);
            *errno = before;
        }
    }
}

#[cfg(target_os = "linux")]
unsafe fn errno_place() -> *mut libc::c_int {
    // SAFETY: always valid for the calling thread.
    unsafe { libc::__errno_location() }
}

#[cfg(not(target_os = "linux"))]
unsafe fn errno_place() -> *mut libc::c_int {
    // SAFETY: always valid for the calling thread.
    unsafe { libc::__error() }
}

impl CancelToken {
    /// Creates a token that is not triggered.
    pub fn new() -> io::Result<CancelToken> {
        let (read, write) = new_pipe()?;
        Ok(CancelToken(Arc::new(CancelState {
            requests: AtomicU32::new(0),
            by: OnceLock::new(),
            read,
            write,
        })))
    }

    /// Installs handlers for these signals until the process ends. They trigger the returned token.
    ///
    /// The signals no longer end the process, so the caller must check the token between runs. A signal that the
    /// process was started to ignore (`nohup`) stays ignored. A process has one such token. Another call adds signals
    /// to it and returns a clone.
    pub fn on_signals(signals: &[CancelSignal]) -> io::Result<CancelToken> {
        let mut place = HANDLER_TOKEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let token = match place.as_ref() {
            Some(token) => token.clone(),
            None => place.insert(CancelToken::new()?).clone(),
        };
        HANDLER_PIPE.store(token.0.write.as_raw_fd(), Ordering::SeqCst);
        for signal in signals {
            install(signal.number())?;
        }
        Ok(token)
    }

    /// Returns the token of [`CancelToken::on_signals`], if this process has one.
    pub fn of_signals() -> Option<CancelToken> {
        HANDLER_TOKEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Triggers the token and records who cancelled it. Only the first name is kept.
    pub fn cancel_by(&self, requester: impl Into<String>) {
        let _ = self.0.by.set(requester.into());
        self.cancel();
    }

    /// Returns who triggered the token first, if the caller named one.
    pub fn cancelled_by(&self) -> Option<&str> {
        self.0.by.get().map(String::as_str)
    }

    /// Returns a sentence saying that the run was interrupted, and by whom.
    pub fn interruption(&self) -> String {
        match self.cancelled_by() {
            Some(requester) => format!("the run was interrupted by {requester}"),
            None => "the run was interrupted".to_owned(),
        }
    }

    /// Triggers the token.
    pub fn cancel(&self) {
        self.0.requests.fetch_add(1, Ordering::SeqCst);
        // A full pipe is also readable, which is enough.
        let _ = rustix::io::write(&self.0.write, &[1]);
    }

    /// Returns the number of requests.
    pub fn requests(&self) -> u32 {
        let handled = if self.is_the_handlers() { HANDLER_REQUESTS.load(Ordering::SeqCst) } else { 0 };
        self.0.requests.load(Ordering::SeqCst).saturating_add(handled)
    }

    /// Returns whether the token was triggered.
    pub fn is_cancelled(&self) -> bool {
        0 < self.requests()
    }

    /// Returns the number of the last signal that triggered the token, if any.
    pub fn signal(&self) -> Option<i32> {
        let number = if self.is_the_handlers() { HANDLER_SIGNAL.load(Ordering::SeqCst) } else { 0 };
        (number != 0).then_some(number)
    }

    /// Waits up to `timeout` for the token, and returns whether it was triggered.
    pub fn wait(&self, timeout: Duration) -> bool {
        let timeout = rustix::time::Timespec::try_from(timeout).ok();
        let mut descriptors = [rustix::event::PollFd::new(&self.0.read, rustix::event::PollFlags::IN)];
        // A signal may end the wait early, which is harmless.
        let _ = rustix::event::poll(&mut descriptors, timeout.as_ref());
        self.is_cancelled()
    }

    fn is_the_handlers(&self) -> bool {
        self.0.write.as_raw_fd() == HANDLER_PIPE.load(Ordering::SeqCst)
    }
}

/// The descriptor is readable after the first request.
impl AsFd for CancelToken {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.read.as_fd()
    }
}

/// The write end never blocks: a signal handler writes to it.
fn new_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = brigade_sandbox::system::pipe()?;
    rustix::io::ioctl_fionbio(&write, true)?;
    Ok((read, write))
}

fn install(number: libc::c_int) -> io::Result<()> {
    // SAFETY: `sigaction` is plain data, for which all zeroes is a value; both pointers are to locals; the handler only
    // touches atomics and calls `write`.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(number, std::ptr::null(), &mut old) != 0 {
            return Err(io::Error::last_os_error());
        }
        if old.sa_sigaction == libc::SIG_IGN {
            return Ok(());
        }
        let mut new: libc::sigaction = std::mem::zeroed();
        new.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
        new.sa_flags = libc::SA_RESTART;
        libc::sigemptyset(&mut new.sa_mask);
        if libc::sigaction(number, &new, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
