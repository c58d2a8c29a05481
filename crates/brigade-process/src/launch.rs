//! The child between fork and exec. Everything is prepared before the fork, so only plain system calls are left.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use brigade_sandbox::system::{checked, fork_into, last_errno, pipe, read_full, reap, write_all};
use brigade_sandbox::{ListenerSocket, Observer, PreparedSandbox, Watcher};
use rustix::io::Errno;

use crate::gate::Gate;
use crate::{SpawnError, Spec, Step};

/// How often to retry a program that is open for writing, every 2 ms.
const BUSY_RETRIES: u32 = 100;

/// Why the child could not become the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    pub(crate) step: Step,
    pub(crate) errno: i32,
}

impl Failure {
    /// Turns an error of the system into a failure of this step.
    fn at(step: Step) -> impl Fn(Errno) -> Failure {
        move |errno| Failure { step, errno: errno.raw_os_error() }
    }
}

/// What happens to the program if the process that started it dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnParentDeath {
    Kill,
    LiveOn,
}

/// The program's three standard descriptors.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// A program ready for exec, with every string, pointer, limit and rule in the form of the system calls.
pub(crate) struct Image {
    path: CString,
    source: ProgramSource,
    argv: Strings,
    environment: Strings,
    directory: CString,
    limits: Vec<(Resource, libc::rlimit)>,
    core: libc::rlimit,
    streams: Streams,
    pub(crate) sandbox: Option<PreparedSandbox>,
    /// How the run is observed. This needs a keeper.
    pub(crate) observer: Option<Observer>,
    pub(crate) private: Option<crate::Disposal>,
    /// The file that stays open in the keeper until the run has ended.
    pub(crate) held: Option<Arc<File>>,
    /// Where the child waits for the caller's last look.
    pub(crate) gate: Option<Gate>,
    on_parent_death: OnParentDeath,
}

enum ProgramSource {
    /// By path.
    Path,
    /// By path, if it still is this file.
    PathOf { device: u64, inode: u64 },
    /// By descriptor.
    #[cfg(target_os = "linux")]
    Descriptor(File),
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) type Resource = libc::__rlimit_resource_t;
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) type Resource = libc::c_int;

/// C strings and the array of pointers to them, with a null pointer at the end.
struct Strings {
    // The pointers lead into these.
    _owned: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
}

// SAFETY: the pointers lead into the owned strings, whose places do not change when `Strings` moves, and nothing writes
// through them.
unsafe impl Send for Strings {}

impl Strings {
    fn new(owned: Vec<CString>) -> Strings {
        let mut pointers: Vec<_> = owned.iter().map(|text| text.as_ptr()).collect();
        pointers.push(std::ptr::null());
        Strings { _owned: owned, pointers }
    }
}

fn c_string(text: &OsStr, what: &'static str) -> Result<CString, SpawnError> {
    CString::new(text.as_bytes()).map_err(|_| SpawnError::Nul(what))
}

impl Image {
    /// Prepares everything except the sandbox. The sandbox comes last, because it may leave something to clean up.
    pub(crate) fn new(
        spec: &Spec,
        streams: Streams,
        on_parent_death: OnParentDeath,
    ) -> Result<Image, SpawnError> {
        let path = c_string(spec.program.path().as_os_str(), "the program's path")?;
        let argv = if spec.argv.is_empty() {
            vec![path.clone()]
        } else {
            spec.argv.iter().map(|word| c_string(word, "an argument")).collect::<Result<_, _>>()?
        };
        let mut environment = Vec::with_capacity(spec.environment.len());
        for (name, value) in &spec.environment {
            if name.is_empty() || name.as_bytes().contains(&b'=') {
                return Err(SpawnError::VariableName);
            }
            let pair = [name.as_bytes(), b"=", value.as_bytes()].concat();
            environment.push(CString::new(pair).map_err(|_| SpawnError::Nul("an environment variable"))?);
        }
        let source = match spec.program.file() {
            Some(file) => how_to_execute(file).map_err(|source| SpawnError::at(Step::Program, source))?,
            None => ProgramSource::Path,
        };
        Ok(Image {
            path,
            source,
            argv: Strings::new(argv),
            environment: Strings::new(environment),
            directory: c_string(spec.directory.as_os_str(), "the directory")?,
            limits: limits(spec),
            core: crate::host::core_limit(),
            streams: above_standard(streams).map_err(|source| SpawnError::at(Step::Pipes, source))?,
            sandbox: None,
            observer: None,
            gate: None,
            private: spec.private.clone(),
            held: spec.held.clone(),
            on_parent_death,
        })
    }

    /// Turns the calling process, right after fork, into the program. Returns only on failure.
    ///
    /// Makes only plain system calls, without allocation or locks.
    pub(crate) fn become_program(
        &self,
        parent: libc::pid_t,
        listener: Option<&ListenerSocket<'_>>,
    ) -> Failure {
        match self.try_become(parent, listener) {
            Ok(never) => match never {},
            Err(failure) => failure,
        }
    }

    /// Opens the socket by which the program's process passes the listener to its keeper, if the run is observed.
    fn open_listener(&self) -> io::Result<Option<ListenerSocket<'_>>> {
        match (&self.observer, &self.sandbox) {
            (Some(observer), Some(sandbox)) => observer.open_socket(sandbox),
            _ => Ok(None),
        }
    }

    /// Opens the program the way this process would execute it, so that it can be checked. Makes one plain system call.
    #[cfg(target_os = "linux")]
    fn open_program(&self) -> Option<OwnedFd> {
        use rustix::fs::{Mode, OFlags};

        match &self.source {
            ProgramSource::Path | ProgramSource::PathOf { .. } => {
                rustix::fs::open(self.path.as_c_str(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()
            }
            ProgramSource::Descriptor(file) => rustix::io::fcntl_dupfd_cloexec(file, 3).ok(),
        }
    }

    /// Returns the largest core file that the program may ask for.
    #[cfg(target_os = "linux")]
    pub(crate) fn core_max(&self) -> libc::rlim_t {
        self.core.rlim_max
    }

    fn try_become(
        &self,
        parent: libc::pid_t,
        listener: Option<&ListenerSocket<'_>>,
    ) -> Result<std::convert::Infallible, Failure> {
        reset_signals();
        // SAFETY: no memory is involved.
        check(Step::Session, unsafe { libc::setsid() })?;
        let three = [&self.streams.stdin, &self.streams.stdout, &self.streams.stderr];
        for (target, source) in three.into_iter().enumerate() {
            // SAFETY: both are descriptors of this process; the sources are above 2, so none is overwritten early.
            check(Step::Pipes, unsafe { libc::dup2(source.as_raw_fd(), target as libc::c_int) })?;
        }
        close_on_exec_above_standard();
        // SAFETY: the limit outlives the call. Only the executed program may leave a core file.
        unsafe { libc::setrlimit(libc::RLIMIT_CORE, &self.core) };
        for (resource, limit) in &self.limits {
            // SAFETY: the limit outlives the call.
            check(Step::Limits, unsafe { libc::setrlimit(*resource, limit) })?;
        }
        #[cfg(target_os = "linux")]
        if !self.limits.is_empty() {
            // A privileged program could raise the limits again with this capability. The call fails harmlessly without
            // it.
            const SYS_RESOURCE: libc::c_ulong = 24;
            // SAFETY: no memory is involved.
            unsafe { libc::prctl(libc::PR_CAPBSET_DROP, SYS_RESOURCE, 0, 0, 0) };
        }
        #[cfg(target_os = "linux")]
        if let Some(sandbox) = &self.sandbox {
            sandbox.enter_namespace().map_err(Failure::at(Step::Namespace))?;
        }
        // SAFETY: the path ends with NUL.
        check(Step::Directory, unsafe { libc::chdir(self.directory.as_ptr()) })?;
        // After the namespace, because a change of credentials would reset it.
        #[cfg(target_os = "linux")]
        if self.on_parent_death == OnParentDeath::Kill {
            // SAFETY: no memory is involved.
            check(Step::Session, unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })?;
            // SAFETY: no memory is involved.
            if unsafe { libc::getppid() } != parent {
                // The parent died before the signal was set, so nothing would end this process.
                return Err(Failure { step: Step::Session, errno: libc::ESRCH });
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (parent, listener, self.on_parent_death);
        if let ProgramSource::PathOf { device, inode } = self.source {
            // The sandbox may hide the path, so it must be checked now.
            let found = rustix::fs::stat(self.path.as_c_str()).map_err(Failure::at(Step::Program))?;
            if (found.st_dev as u64, found.st_ino as u64) != (device, inode) {
                return Err(Failure { step: Step::Program, errno: libc::ESTALE });
            }
        }
        #[cfg(target_os = "linux")]
        if let Some(sandbox) = &self.sandbox {
            sandbox.restrict().map_err(Failure::at(Step::Sandbox))?;
        }
        #[cfg(target_os = "linux")]
        if let Some(listener) = listener {
            listener.send(self.open_program()).map_err(Failure::at(Step::Sandbox))?;
        }
        if let Some(gate) = &self.gate {
            gate.pass()?;
        }
        // Another thread of the caller may have forked while the program was being written. Until that fork executes
        // its own program, this one counts as open for writing.
        let mut errno = self.execute();
        for _ in 0..BUSY_RETRIES {
            if errno != libc::ETXTBSY {
                break;
            }
            let moment = libc::timespec { tv_sec: 0, tv_nsec: 2_000_000 };
            // SAFETY: the time outlives the call, and nothing is written.
            unsafe { libc::nanosleep(&moment, std::ptr::null_mut()) };
            errno = self.execute();
        }
        Err(Failure { step: Step::Execute, errno })
    }

    fn execute(&self) -> i32 {
        let (argv, environment) = (self.argv.pointers.as_ptr(), self.environment.pointers.as_ptr());
        match &self.source {
            // SAFETY: the path ends with NUL, both arrays end with a null pointer and point to strings that end with
            // NUL.
            ProgramSource::Path | ProgramSource::PathOf { .. } => unsafe {
                libc::execve(self.path.as_ptr(), argv, environment);
            },
            // SAFETY: as above, and the descriptor is open.
            #[cfg(target_os = "linux")]
            ProgramSource::Descriptor(file) => unsafe {
                libc::syscall(
                    libc::SYS_execveat,
                    file.as_raw_fd(),
                    c"".as_ptr(),
                    argv,
                    environment,
                    libc::AT_EMPTY_PATH,
                );
            },
        }
        last_errno()
    }
}

/// Sets the error number, at the end of a signal handler.
pub(crate) fn set_errno(errno: i32) {
    // SAFETY: the place is that of this thread.
    #[cfg(target_os = "linux")]
    unsafe {
        *libc::__errno_location() = errno;
    }
    // SAFETY: as above.
    #[cfg(not(target_os = "linux"))]
    unsafe {
        *libc::__error() = errno;
    }
}

fn check(step: Step, result: libc::c_int) -> Result<(), Failure> {
    checked(result).map(drop).map_err(Failure::at(step))
}

/// Returns how to execute the file: ELF files by descriptor, scripts by path because their interpreter opens the path
/// again.
fn how_to_execute(file: &File) -> io::Result<ProgramSource> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::FileExt;

        let mut start = [0u8; 4];
        if file.read_at(&mut start, 0)? == 4 && &start == b"\x7fELF" {
            return Ok(ProgramSource::Descriptor(file.try_clone()?));
        }
    }
    let metadata = file.metadata()?;
    Ok(ProgramSource::PathOf { device: metadata.dev(), inode: metadata.ino() })
}

/// Moves descriptors 0 to 2 up, so that placing one stream never overwrites another.
fn above_standard(streams: Streams) -> io::Result<Streams> {
    let up = |descriptor: OwnedFd| -> io::Result<OwnedFd> {
        if 3 <= descriptor.as_raw_fd() {
            return Ok(descriptor);
        }
        Ok(rustix::io::fcntl_dupfd_cloexec(descriptor.as_fd(), 3)?)
    };
    Ok(Streams { stdin: up(streams.stdin)?, stdout: up(streams.stdout)?, stderr: up(streams.stderr)? })
}

fn limits(spec: &Spec) -> Vec<(Resource, libc::rlimit)> {
    let limits = [
        (libc::RLIMIT_NPROC, spec.limits.processes),
        (libc::RLIMIT_AS, spec.limits.memory),
        (libc::RLIMIT_FSIZE, spec.limits.file_size),
        (libc::RLIMIT_NOFILE, spec.limits.open_files),
        // A core file would contain the bound secrets.
        (libc::RLIMIT_CORE, Some(0)),
    ];
    limits
        .into_iter()
        .filter_map(|(resource, value)| {
            let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            // SAFETY: `now` is valid for writing.
            let is_known = unsafe { libc::getrlimit(resource, &mut now) } == 0;
            // Raising a hard limit needs privileges, so the caller's limit stays the upper bound.
            let value = if is_known { value?.min(now.rlim_max) } else { value? };
            Some((resource, libc::rlimit { rlim_cur: value, rlim_max: value }))
        })
        .collect()
}

/// Resets all signals to their defaults and unblocks them. The program must not inherit what this process ignores or
/// blocks.
fn reset_signals() {
    // SAFETY: the structures are plain data on the stack. Numbers that cannot be changed fail, which is fine.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = libc::SIG_DFL;
        for number in 1..=64 {
            libc::sigaction(number, &action, std::ptr::null_mut());
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

#[cfg(target_os = "linux")]
fn close_on_exec_above_standard() {
    const CLOSE_RANGE_CLOEXEC: libc::c_uint = 4;
    // SAFETY: no memory is involved.
    let done =
        unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, CLOSE_RANGE_CLOEXEC) } == 0;
    if !done {
        each_possible_descriptor(3, |descriptor| {
            // SAFETY: no memory is involved; a number that is not open fails.
            unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
        });
    }
}

#[cfg(not(target_os = "linux"))]
fn close_on_exec_above_standard() {
    each_possible_descriptor(3, |descriptor| {
        // SAFETY: no memory is involved; a number that is not open fails.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    });
}

/// Closes all descriptors except those in two lists. For a forked process that drops nothing before it ends.
pub(crate) fn close_all_but_both(kept: &[RawFd], others: &[RawFd]) {
    let highest = kept.iter().chain(others).copied().fold(2, RawFd::max);
    for descriptor in (0..=highest).filter(|number| !kept.contains(number) && !others.contains(number)) {
        // SAFETY: nothing in this process uses it any more, and nothing is dropped before the process ends.
        unsafe { libc::close(descriptor) };
    }
    close_from(highest + 1);
}

#[cfg(target_os = "linux")]
fn close_from(first: RawFd) {
    // SAFETY: as above.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) } == 0;
    if !done {
        // SAFETY: as above.
        each_possible_descriptor(first, |descriptor| unsafe {
            libc::close(descriptor);
        });
    }
}

#[cfg(not(target_os = "linux"))]
fn close_from(first: RawFd) {
    // SAFETY: as above.
    each_possible_descriptor(first, |descriptor| unsafe {
        libc::close(descriptor);
    });
}

/// Calls a function for every possible open descriptor from `first` on.
pub(crate) fn each_possible_descriptor(first: RawFd, mut each: impl FnMut(RawFd)) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for writing.
    let is_known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == 0;
    let end = if is_known { limit.rlim_cur.min(65_536) as RawFd } else { 65_536 };
    (first..end).for_each(&mut each);
}

/// A program that was executed.
pub(crate) struct ExecutedProgram<'a> {
    pub(crate) pid: libc::pid_t,
    pub(crate) start_time: u64,
    /// The process that observes the program. The program waits until its calls are answered.
    pub(crate) watcher: Option<Watcher<'a>>,
}

/// Forks the program, and returns after it was executed.
///
/// On Linux it makes only plain system calls, because the keeper calls it between fork and exec.
pub(crate) fn start_program(image: &Image) -> Result<ExecutedProgram<'_>, Failure> {
    let failed = |step, error: io::Error| Failure { step, errno: error.raw_os_error().unwrap_or(0) };
    let (errors, errors_end) = pipe().map_err(|error| failed(Step::Pipes, error))?;
    let listener = image.open_listener().map_err(|error| failed(Step::Pipes, error))?;
    // SAFETY: no memory is involved.
    let me = unsafe { libc::getpid() };
    let pid = fork_into(|| {
        let failure = image.become_program(me, listener.as_ref());
        let mut bytes = [0u8; 8];
        bytes[..4].copy_from_slice(&failure.step.number().to_ne_bytes());
        bytes[4..].copy_from_slice(&failure.errno.to_ne_bytes());
        write_all(&errors_end, &bytes);
        // SAFETY: ends the process, runs nothing.
        unsafe { libc::_exit(127) }
    })
    .map_err(|error| failed(Step::Fork, error))?;
    drop(errors_end);
    // Read before the process could be collected, so the number is certainly this process.
    #[cfg(target_os = "linux")]
    let start_time = crate::tree::stat(pid).map_or(0, |stat| stat.start_time);
    #[cfg(not(target_os = "linux"))]
    let start_time = crate::ProcessIdentity::from_pid(pid as u32).map_or(0, |identity| identity.start_time());
    let mut bytes = [0u8; 8];
    let mut watcher = listener.and_then(ListenerSocket::receive);
    let read = match &mut watcher {
        Some(watcher) => watcher.read_while_watching(&errors, &mut bytes),
        None => read_full(&errors, &mut bytes),
    };
    // The pipe closes without data when the program was executed.
    if read == bytes.len() {
        let number = |part: &[u8]| part.try_into().map_or(0, u32::from_ne_bytes);
        reap(pid);
        let step = Step::from_number(number(&bytes[..4])).unwrap_or(Step::Execute);
        return Err(Failure { step, errno: number(&bytes[4..]) as i32 });
    }
    Ok(ExecutedProgram { pid, start_time, watcher })
}

/// Writes as much as fits. Blocks `SIGPIPE`, because its default action would end the embedding program.
pub(crate) fn write_quietly(descriptor: impl AsFd, bytes: &[u8]) -> rustix::io::Result<usize> {
    // SAFETY: the sets are plain data on the stack. The signal is blocked in this thread, taken if the write caused it,
    // and then as it was before.
    unsafe {
        let mut pipe_signal: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        let mut pending: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut pipe_signal);
        libc::sigaddset(&mut pipe_signal, libc::SIGPIPE);
        libc::sigpending(&mut pending);
        let was_pending = libc::sigismember(&pending, libc::SIGPIPE) == 1;
        libc::pthread_sigmask(libc::SIG_BLOCK, &pipe_signal, &mut before);
        let result = rustix::io::write(descriptor, bytes);
        if result == Err(Errno::PIPE) && !was_pending {
            libc::sigpending(&mut pending);
            if libc::sigismember(&pending, libc::SIGPIPE) == 1 {
                let mut number = 0;
                libc::sigwait(&pipe_signal, &mut number);
            }
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        result
    }
}
