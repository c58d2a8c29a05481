//! A PostgreSQL server that can be killed, restarted and replaced, in a temporary directory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use brigade_testkit::Postgres;
use postgres::{Client, NoTls};
use rustix::process::{Pid, Signal, kill_process};

use crate::repository::Failure;

/// How long a server may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A running server. Its superuser is `owner`, every login is trusted, and it listens only on a socket.
pub struct Server {
    programs: PathBuf,
    /// Contains the data, the socket and the log.
    directory: PathBuf,
    child: Child,
}

impl Server {
    /// Makes a server and starts it.
    pub fn start(programs: &Path) -> Result<Server, Failure> {
        let directory = make_directory()?;
        let mut init = Postgres::unprivileged(&programs.join("initdb"));
        init.args(["-U", "owner", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C", "-D"]);
        run(init.arg(directory.join("data")))?;
        Server::in_directory(programs, directory)
    }

    fn in_directory(programs: &Path, directory: PathBuf) -> Result<Server, Failure> {
        let child = spawn(programs, &directory)?;
        let mut server = Server { programs: programs.to_owned(), directory, child };
        server.await_start()?;
        Ok(server)
    }

    /// The directory of the socket.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Kills the server in the middle of whatever it does.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts the server again after it was killed.
    pub fn restart(&mut self) -> Result<(), Failure> {
        self.child = spawn(&self.programs, &self.directory)?;
        self.await_start()
    }

    /// Makes a standby that has everything that this server has now, and follows it no further.
    pub fn copy(&self) -> Result<StoppedStandby, Failure> {
        let directory = make_directory()?;
        let mut backup = Postgres::unprivileged(&self.programs.join("pg_basebackup"));
        backup.args(["-U", "owner", "-R", "-X", "stream", "-c", "fast", "--no-sync", "-h"]);
        run(backup.arg(&self.directory).arg("-D").arg(directory.join("data")))?;
        Ok(StoppedStandby { directory })
    }

    /// Kills this server and promotes a standby instead of it.
    pub fn fail_over(&mut self, standby: StoppedStandby) -> Result<(), Failure> {
        self.kill();
        let promoted = Server::in_directory(&self.programs, standby.directory)?;
        let mut client = connect(&promoted.directory, "owner").map_err(broken)?;
        client.query_one("SELECT pg_promote(true)", &[]).map_err(broken)?;
        *self = promoted;
        Ok(())
    }

    fn await_start(&mut self) -> Result<(), Failure> {
        let until = Instant::now() + START_TIMEOUT;
        while connect(&self.directory, "owner").is_err() {
            if until < Instant::now() {
                let log = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
                return Err(Failure::new(format!("the server did not start:\n{log}")));
            }
            if !matches!(self.child.try_wait(), Ok(None)) {
                // The processes of one that was killed hold its memory until they notice.
                self.child = spawn(&self.programs, &self.directory)?;
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::QUIT);
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// A copy of a server that is not running.
pub struct StoppedStandby {
    directory: PathBuf,
}

/// Connects to a server by its directory.
pub fn connect(directory: &Path, user: &str) -> Result<Client, postgres::Error> {
    Client::connect(&format!("host={} user={user} dbname=postgres", directory.display()), NoTls)
}

/// Returns the failure of a statement.
pub fn broken(error: postgres::Error) -> Failure {
    let message = error.as_db_error().map_or_else(|| error.to_string(), |error| error.message().to_owned());
    Failure::new(format!("PostgreSQL: {message}"))
}

/// Makes a directory of the account that the server runs as.
fn make_directory() -> Result<PathBuf, Failure> {
    let mut command = Postgres::unprivileged(Path::new("mktemp"));
    let output =
        command.args(["-d", "/tmp/brigade-pg-XXXXXX"]).output().map_err(Failure::at(Path::new("/tmp")))?;
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if path.is_empty() { Err(Failure::new("mktemp made no directory")) } else { Ok(path.into()) }
}

fn spawn(programs: &Path, directory: &Path) -> Result<Child, Failure> {
    let log = directory.join("log");
    let open = || File::options().create(true).append(true).open(&log).map_err(Failure::at(&log));
    let mut command = Postgres::unprivileged(&programs.join("postgres"));
    command.arg("-D").arg(directory.join("data")).arg("-k").arg(directory);
    for setting in ["listen_addresses=", "fsync=off", "max_connections=300", "allow_system_table_mods=on"] {
        command.args(["-c", setting]);
    }
    command.current_dir("/").stdin(Stdio::null()).stdout(open()?).stderr(open()?);
    command.spawn().map_err(Failure::at(programs))
}

fn run(command: &mut Command) -> Result<(), Failure> {
    let program = PathBuf::from(command.get_program());
    let output = command.current_dir("/").stdin(Stdio::null()).output().map_err(Failure::at(&program))?;
    if output.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(Failure::new(format!("{command:?}: {told}")))
}
