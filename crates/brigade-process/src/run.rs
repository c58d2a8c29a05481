//! One run from start to end, with its output streamed away.

use std::io;
use std::time::Duration;

use crate::{CancelToken, Outcome, ProcessIdentity, RunError, Spec};

/// One of the two output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Takes the output of a run as it comes.
///
/// An error ends the whole tree and is returned by [`run`]. Closures `FnMut(Stream, &[u8]) -> io::Result<()>` are sinks.
pub trait Sink {
    /// Takes bytes as the program wrote them: cut anywhere, in no particular encoding, never empty.
    fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()>;

    /// Learns who the main process is, before any output.
    fn started(&mut self, _identity: &ProcessIdentity) -> io::Result<()> {
        Ok(())
    }
}

impl<F: FnMut(Stream, &[u8]) -> io::Result<()>> Sink for F {
    fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        self(stream, bytes)
    }
}

/// Forgets all output.
#[derive(Clone, Copy, Debug)]
pub struct Discard;

impl Sink for Discard {
    fn write(&mut self, _stream: Stream, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

/// How a tree is brought to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// How long descendants may finish what they do after the main process has ended by itself, before they are asked.
    pub linger: Duration,
    /// How long a tree has to end after it was asked (`SIGTERM`), before it is killed.
    pub grace: Duration,
    /// How long killing is repeated before what is left counts as survivors.
    pub kill_limit: Duration,
}

impl Default for Ending {
    /// 50 ms to linger, 2 s of grace, 10 s of killing.
    fn default() -> Ending {
        Ending {
            linger: Duration::from_millis(50),
            grace: Duration::from_secs(2),
            kill_limit: Duration::from_secs(10),
        }
    }
}

/// How a run is controlled from outside.
#[derive(Clone, Debug)]
pub struct Control {
    /// How long the main process may run; `None` for ever.
    pub timeout: Option<Duration>,
    /// Ends the run when triggered.
    pub cancel: Option<CancelToken>,
    /// How it is ended.
    pub ending: Ending,
    /// Bytes of each stream that reach the sink; the rest is read, counted and dropped.
    pub output_cap: u64,
}

impl Default for Control {
    /// No timeout, nothing to cancel it, 16 MiB of each stream.
    fn default() -> Control {
        Control { timeout: None, cancel: None, ending: Ending::default(), output_cap: 16 << 20 }
    }
}

/// Starts a program, streams its output into the sink, and returns when its whole tree has ended.
///
/// A timeout, a cancel request, a sink error, and a main process that ends while descendants live on all end the tree:
/// asked, given the grace, killed. Blocks the calling thread; any number of runs may go on in other threads.
pub fn run(spec: &Spec, sink: &mut dyn Sink, control: &Control) -> Result<Outcome, RunError> {
    let _ = (spec, sink, control);
    unimplemented!()
}
