//! Runs one program from start to end and streams its output.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use brigade_sandbox::system::pipe;
use brigade_sandbox::{Observer, PlaceholderCleanup, PreparedSandbox};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::idle::IdleWatch;
use crate::keeper::{Keeper, METHOD, longest_end};
use crate::launch::{Image, OnParentDeath, Streams, write_quietly};
use crate::outcome::{CapturedBytes, EndedBy, Outcome, RunError, SpawnError, Step};
use crate::progress::Progress;
use crate::{CancelToken, Input, ProcessIdentity, Spec};

/// The size of one read.
const READ_SIZE: usize = 64 * 1024;

/// How much is read from each stream after everything ended. Pipes hold less.
const DRAIN_LIMIT: usize = 1 << 20;

/// One of the two output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Receives the output of a run.
///
/// An error ends the whole tree and is returned by [`run`]. Closures `FnMut(Stream, &[u8]) -> io::Result<()>` are
/// sinks.
pub trait Sink {
    /// Receives raw bytes of the program: cut anywhere, in any encoding, never empty.
    fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()>;

    /// Checks once more, right before the program is executed. An error prevents the execution.
    fn about_to_start(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Receives the identity of the main process, before any output.
    fn started(&mut self, _identity: &ProcessIdentity) -> io::Result<()> {
        Ok(())
    }
}

impl<F: FnMut(Stream, &[u8]) -> io::Result<()>> Sink for F {
    fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        self(stream, bytes)
    }
}

/// Discards all output.
#[derive(Clone, Copy, Debug)]
pub struct Discard;

impl Sink for Discard {
    fn write(&mut self, _stream: Stream, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

/// How to end a process tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// How long descendants may continue after the main process ended on its own, before they are terminated.
    pub linger: Duration,
    /// The grace period after `SIGTERM`, before the tree is killed.
    pub grace: Duration,
    /// How long killing is repeated before remaining processes count as survivors.
    pub kill_limit: Duration,
}

impl Default for Ending {
    /// 50 ms of linger time, 2 s of grace, 10 s of killing.
    fn default() -> Ending {
        Ending {
            linger: Duration::from_millis(50),
            grace: Duration::from_secs(2),
            kill_limit: Duration::from_secs(10),
        }
    }
}

/// How to control a run.
#[derive(Clone, Debug)]
pub struct Control {
    /// The timeout of the main process; `None` for no limit.
    pub timeout: Option<Duration>,
    /// How long all processes may sleep without using the processor; `None` for no limit. For programs that only wait
    /// for their files. Only on Linux.
    pub idle: Option<Duration>,
    /// Cancels the run.
    pub cancel: Option<CancelToken>,
    /// How long the run may continue after the first request.
    pub cancel_after: Duration,
    /// How to end the tree.
    pub ending: Ending,
    /// The maximum number of bytes of each stream for the sink. The rest is read, counted and dropped.
    pub output_cap: u64,
}

impl Default for Control {
    /// No timeout, no cancel token, 16 MiB of each stream.
    fn default() -> Control {
        Control {
            timeout: None,
            idle: None,
            cancel: None,
            cancel_after: Duration::ZERO,
            ending: Ending::default(),
            output_cap: 16 << 20,
        }
    }
}

/// Starts a program, streams its output to the sink, and returns after its whole tree has ended.
///
/// A timeout, a cancel request, a sink error, and the end of the main process all end the tree: terminated, then killed
/// after the grace period. Blocks the calling thread. Other threads may run any number of programs.
pub fn run(spec: &Spec, sink: &mut dyn Sink, control: &Control) -> Result<Outcome, RunError> {
    let started = Instant::now();
    let spawning = crate::spec::spawn_span(spec);
    let (program_ends, caller_ends) = open_streams(&spec.stdin)?;
    let mut image = Image::new(spec, program_ends, OnParentDeath::Kill)?;
    image.sandbox = spec.prepare_sandbox(PlaceholderCleanup::Keeper).map_err(SpawnError::from)?;
    let enforcement = image.sandbox.as_ref().map(PreparedSandbox::enforcement);
    let observer = spec.prepare_observer();
    image.observer = observer.clone();
    let progress = Progress::new(spec);
    let (keeper, check_gap) = Keeper::start_checked(image, control.ending, &mut || sink.about_to_start())?;
    let mut running = RunningProgram {
        control,
        deadline: control.timeout.and_then(|timeout| started.checked_add(timeout)),
        idle: control.idle.map(IdleWatch::new),
        cancel_at: None,
        give_up: None,
        progress,
        ended_by: EndedBy::Itself,
        ending: EndUrgency::No,
        sink_error: None,
        stdout: Tap::new(caller_ends.stdout, control.output_cap),
        stderr: Tap::new(caller_ends.stderr, control.output_cap),
        feed: caller_ends.stdin.map(|pipe| Feed { pipe, sent: 0 }),
    };
    crate::spec::trace_start(spec, keeper.identity());
    drop(spawning);
    if let Err(error) = sink.started(keeper.identity()) {
        running.refuse(error, &keeper);
    }
    if let Err(error) = running.until_finished(spec, sink, &keeper) {
        keeper.abandon(control.ending.grace);
        return Err(RunError::Supervise(error));
    }
    let identity = keeper.identity().clone();
    keeper.close();
    let progress = running.progress;
    let outcome = Outcome {
        identity,
        exit: progress.exit,
        ended_by: running.ended_by,
        duration: started.elapsed(),
        usage: progress.usage,
        stdout: running.stdout.captured,
        stderr: running.stderr.captured,
        outlived: progress.outlived,
        survivors: progress.survivors,
        method: METHOD,
        enforcement,
        observation: observer.as_ref().map(Observer::observation),
        check_gap,
    };
    outcome.trace();
    match running.sink_error {
        Some(source) => Err(RunError::Sink { source, outcome: Box::new(outcome) }),
        None => Ok(outcome),
    }
}

/// The urgency of the requested end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EndUrgency {
    No,
    Politely,
    AtOnce,
}

struct RunningProgram<'a> {
    control: &'a Control,
    deadline: Option<Instant>,
    idle: Option<IdleWatch>,
    /// When the first request takes effect.
    cancel_at: Option<Instant>,
    /// When to give up on the keeper and end the tree without it.
    give_up: Option<Instant>,
    progress: Progress,
    ended_by: EndedBy,
    ending: EndUrgency,
    sink_error: Option<io::Error>,
    stdout: Tap,
    stderr: Tap,
    feed: Option<Feed>,
}

impl RunningProgram<'_> {
    fn until_finished(&mut self, spec: &Spec, sink: &mut dyn Sink, keeper: &Keeper) -> io::Result<()> {
        let mut buffer = vec![0u8; READ_SIZE];
        loop {
            self.progress.listen(keeper)?;
            if self.progress.finished {
                break;
            }
            self.end_if_due(keeper);
            let ready = self.wait(keeper)?;
            if ready.stdout {
                self.pass(Stream::Stdout, sink, keeper, &mut buffer)?;
            }
            if ready.stderr {
                self.pass(Stream::Stderr, sink, keeper, &mut buffer)?;
            }
            if ready.feed {
                self.feed(&spec.stdin);
            }
        }
        // All writers of the run have ended, so the rest fits in the pipes. Other processes may hold them open.
        for stream in [Stream::Stdout, Stream::Stderr] {
            let mut left = DRAIN_LIMIT;
            while let Some(read) = self.pass(stream, sink, keeper, &mut buffer)? {
                left = left.saturating_sub(read);
                if left == 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Asks the keeper to end the tree on a timeout or a request.
    fn end_if_due(&mut self, keeper: &Keeper) {
        let requests = self.control.cancel.as_ref().map_or(0, CancelToken::requests);
        if requests != 0 {
            self.cancel_at.get_or_insert_with(|| Instant::now() + self.control.cancel_after);
        }
        let wished = match requests {
            0 => EndUrgency::No,
            1 if self.cancel_at.is_some_and(|at| Instant::now() < at) => EndUrgency::No,
            1 => EndUrgency::Politely,
            _ => EndUrgency::AtOnce,
        };
        if self.ending < wished {
            self.end(EndedBy::Cancel, wished, keeper);
        }
        let late = self.deadline.is_some_and(|deadline| deadline <= Instant::now());
        if late && self.ending == EndUrgency::No && !self.progress.exited {
            self.end(EndedBy::Timeout, EndUrgency::Politely, keeper);
        }
        if self.ending == EndUrgency::No
            && !self.progress.exited
            && self.idle.as_mut().is_some_and(|idle| idle.is_over(keeper.identity().pid()))
        {
            self.end(EndedBy::Idle, EndUrgency::Politely, keeper);
        }
        if self.give_up.is_some_and(|until| until <= Instant::now()) {
            keeper.kill();
        }
    }

    fn end(&mut self, cause: EndedBy, urgency: EndUrgency, keeper: &Keeper) {
        if self.ending == EndUrgency::No && !self.progress.exited {
            self.ended_by = cause;
        }
        self.ending = urgency;
        let grace = if urgency == EndUrgency::AtOnce { Duration::ZERO } else { self.control.ending.grace };
        keeper.end(grace);
        self.give_up = Instant::now().checked_add(longest_end(grace, self.control.ending));
    }

    fn refuse(&mut self, error: io::Error, keeper: &Keeper) {
        if self.sink_error.is_none() {
            self.sink_error = Some(error);
        }
        if self.ending == EndUrgency::No {
            self.end(EndedBy::Sink, EndUrgency::Politely, keeper);
        }
    }

    fn wait(&self, keeper: &Keeper) -> io::Result<ReadyStreams> {
        let is_new = self.ending == EndUrgency::No && self.cancel_at.is_none();
        let fresh = self.control.cancel.as_ref().filter(|_| is_new);
        let entries = [
            (self.stdout.pipe.as_ref().map(AsFd::as_fd), PollFlags::IN),
            (self.stderr.pipe.as_ref().map(AsFd::as_fd), PollFlags::IN),
            (self.feed.as_ref().map(|feed| feed.pipe.as_fd()), PollFlags::OUT),
            (fresh.map(CancelToken::as_fd), PollFlags::IN),
        ];
        // A closed stream is replaced by the keeper's descriptor, so every position keeps its meaning.
        let line = keeper.as_fd();
        let [stdout, stderr, feed, cancel] = entries.map(|(descriptor, flags)| match descriptor {
            Some(descriptor) => PollFd::from_borrowed_fd(descriptor, flags),
            None => PollFd::from_borrowed_fd(line, PollFlags::IN),
        });
        let line = PollFd::from_borrowed_fd(line, PollFlags::IN);
        let mut watched = [line, stdout, stderr, feed, cancel];
        let timeout = self.patience();
        let mut polled = poll(&mut watched, timeout.as_ref());
        if polled == Err(rustix::io::Errno::INVAL) {
            // `poll` fails if the limit of open descriptors was lowered below the number of watched ones.
            self.progress.limits.restore();
            polled = poll(&mut watched, timeout.as_ref());
        }
        match polled {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let ready = |index: usize| entries[index].0.is_some() && !watched[index + 1].revents().is_empty();
        Ok(ReadyStreams { stdout: ready(0), stderr: ready(1), feed: ready(2) })
    }

    /// Returns how long to wait for the next event.
    fn patience(&self) -> Option<Timespec> {
        let until = |moment: Instant| moment.saturating_duration_since(Instant::now());
        let left = match self.ending {
            EndUrgency::No if self.progress.exited => None,
            EndUrgency::No => {
                let look = self.idle.as_ref().map(IdleWatch::next_look);
                self.deadline.into_iter().chain(look).chain(self.cancel_at).min().map(until)
            }
            // A second request does not change the descriptor.
            EndUrgency::Politely if self.control.cancel.is_some() => Some(Duration::from_millis(20)),
            EndUrgency::Politely | EndUrgency::AtOnce => self.give_up.map(until),
        };
        left.map(|left| Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos() as _ })
    }

    /// Passes one part to the sink; `None` if there is no data now.
    fn pass(
        &mut self,
        stream: Stream,
        sink: &mut dyn Sink,
        keeper: &Keeper,
        buffer: &mut [u8],
    ) -> io::Result<Option<usize>> {
        let tap = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let Some(read) = tap.read(buffer)? else {
            return Ok(None);
        };
        let accepted = tap.captured.count(read, tap.cap);
        let mut refused = None;
        if 0 < accepted && self.sink_error.is_none() {
            refused = sink.write(stream, &buffer[..accepted]).err();
        }
        if let Some(error) = refused {
            self.refuse(error, keeper);
        }
        Ok(Some(read))
    }

    fn feed(&mut self, input: &Input) {
        let (Some(feed), Input::Bytes(bytes)) = (self.feed.as_mut(), input) else {
            self.feed = None;
            return;
        };
        match write_quietly(&feed.pipe, &bytes[feed.sent..]) {
            Ok(written) => feed.sent += written,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return,
            // A program that does not read its input is not an error.
            Err(_) => feed.sent = bytes.len(),
        }
        if feed.sent == bytes.len() {
            self.feed = None;
        }
    }
}

struct ReadyStreams {
    stdout: bool,
    stderr: bool,
    feed: bool,
}

/// Input to write.
struct Feed {
    pipe: OwnedFd,
    sent: usize,
}

/// The read end of one output stream.
struct Tap {
    pipe: Option<OwnedFd>,
    cap: u64,
    captured: CapturedBytes,
}

impl Tap {
    fn new(pipe: OwnedFd, cap: u64) -> Tap {
        Tap { pipe: Some(pipe), cap, captured: CapturedBytes::default() }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(pipe) = &self.pipe else {
            return Ok(None);
        };
        match rustix::io::read(pipe, buffer) {
            Ok(0) => {
                self.pipe = None;
                Ok(None)
            }
            Ok(read) => Ok(Some(read)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// The caller's non-blocking ends of the program's pipes.
struct PipeEnds {
    stdin: Option<OwnedFd>,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

fn open_streams(input: &Input) -> Result<(Streams, PipeEnds), SpawnError> {
    let open = || -> io::Result<(Streams, PipeEnds)> {
        let (stdin, feed) = match input {
            Input::Null => (null()?, None),
            Input::Bytes(_) => {
                let (program_end, caller_end) = pipe()?;
                rustix::io::ioctl_fionbio(&caller_end, true)?;
                (program_end, Some(caller_end))
            }
        };
        let (stdout, stdout_end) = pipe()?;
        let (stderr, stderr_end) = pipe()?;
        rustix::io::ioctl_fionbio(&stdout, true)?;
        rustix::io::ioctl_fionbio(&stderr, true)?;
        Ok((
            Streams { stdin, stdout: stdout_end, stderr: stderr_end },
            PipeEnds { stdin: feed, stdout, stderr },
        ))
    };
    open().map_err(|source| SpawnError::at(Step::Pipes, source))
}

/// `/dev/null`, open for reading and writing.
pub(crate) fn null() -> io::Result<OwnedFd> {
    Ok(File::options().read(true).write(true).open("/dev/null")?.into())
}
