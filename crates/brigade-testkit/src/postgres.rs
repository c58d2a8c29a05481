//! A PostgreSQL server of a test program, in a temporary directory.

use std::env;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// The number of the account without rights, for a machine without an account of PostgreSQL.
const UNPRIVILEGED: &str = "65534";

/// Starts the server, prints its directory, and ends it once the standard input ends: with the test program.
const SCRIPT: &str = r#"
set -e
dir=$(mktemp -d /tmp/brigade-pg-XXXXXX)
"$1/initdb" -D "$dir/data" -U owner -A trust --no-sync -E UTF8 --locale=C >"$dir/log" 2>&1
"$1/postgres" -D "$dir/data" -k "$dir" -c listen_addresses= -c fsync=off -c max_connections=200 \
    >>"$dir/log" 2>&1 </dev/null &
server=$!
until "$1/pg_isready" -q -h "$dir"; do kill -0 $server; sleep 0.05; done
echo "$dir"
read -r _ || true
kill -QUIT $server
wait $server || true
rm -rf "$dir"
"#;

/// A running server. Its superuser is `owner`, and every login is trusted.
#[derive(Debug)]
pub struct Postgres {
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// A server of this program, which is alive as long as the standard input of the shell.
    Own { directory: String, _keeper: Child },
    /// One that the environment names by its address, with the name of an empty database in it.
    Named { url: String, database: String },
}

impl Postgres {
    /// Returns the server of this test program, which is started on first use. Without PostgreSQL it says so and
    /// returns `None`, and with `BRIGADE_REQUIRE=postgres` it panics.
    ///
    /// # Panics
    /// Panics if the server cannot be started.
    pub fn get(test: &str) -> Option<&'static Postgres> {
        static SERVER: OnceLock<Option<Postgres>> = OnceLock::new();
        let server = SERVER.get_or_init(|| Some(Postgres { place: find()? }));
        if server.is_none() {
            skip(test);
        }
        server.as_ref()
    }

    /// Returns the directory of the programs of PostgreSQL. Without them it says so and returns `None`, and with
    /// `BRIGADE_REQUIRE=postgres` it panics.
    ///
    /// # Panics
    /// Panics if they are missing and required.
    pub fn programs(test: &str) -> Option<PathBuf> {
        let programs = programs();
        if programs.is_none() {
            skip(test);
        }
        programs
    }

    /// Prepares a program of PostgreSQL, which refuses to run as root, as an unprivileged account.
    pub fn unprivileged(program: &Path) -> Command {
        if !rustix::process::geteuid().is_root() {
            return Command::new(program);
        }
        let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let user =
            if users.lines().any(|line| line.starts_with("postgres:")) { "postgres" } else { UNPRIVILEGED };
        let mut command = Command::new("setpriv");
        command.args(["--reuid", user, "--clear-groups"]).arg(program);
        command
    }

    /// Returns the address of a database for a login.
    pub fn url(&self, database: &str, user: &str) -> String {
        match &self.place {
            Place::Own { directory, .. } => format!("postgresql:///{database}?host={directory}&user={user}"),
            Place::Named { url, database } => at(url, Some(user), database),
        }
    }
}

/// Says that PostgreSQL is missing.
fn skip(test: &str) {
    let is_required =
        env::var("BRIGADE_REQUIRE").is_ok_and(|names| names.split(',').any(|name| name == "postgres"));
    assert!(!is_required, "{test} needs postgresql");
    // Not by a macro, whose output the harness keeps for itself.
    let _ = writeln!(std::io::stdout(), "SKIPPED: {test} needs postgresql");
}

/// Returns the address of a server with another user and database.
fn at(url: &str, user: Option<&str>, database: &str) -> String {
    let (scheme, rest) = url.split_once("://").expect("it is an address");
    let (place, parameters) = rest
        .split_once('?')
        .map_or((rest, String::new()), |(place, parameters)| (place, format!("?{parameters}")));
    let host = place.split_once('/').map_or(place, |(host, _)| host);
    let (own, host) = host.rsplit_once('@').map_or((None, host), |(user, host)| (Some(user), host));
    let user = user.or(own).map(|user| format!("{user}@")).unwrap_or_default();
    format!("{scheme}://{user}{host}/{database}{parameters}")
}

/// Starts a server, or prepares the one that `BRIGADE_TEST_POSTGRES` names, such as `postgresql://owner@localhost`. Its
/// user is a superuser, and every login is trusted there.
fn find() -> Option<Place> {
    let named = env::var("BRIGADE_TEST_POSTGRES").ok().filter(|named| named.contains("://"));
    let Some(url) = named else { return Some(start(&programs()?)) };
    let database = format!("brigade_test_{}", std::process::id());
    let create = format!("CREATE DATABASE {database}");
    let made = Command::new("psql").args(["-q", "-d", &at(&url, None, "postgres"), "-c", &create]).status();
    assert!(made.is_ok_and(|status| status.success()), "psql cannot make a database there");
    Some(Place::Named { url, database })
}

/// Returns the directory of the programs of PostgreSQL.
fn programs() -> Option<PathBuf> {
    let has_server = |path: &PathBuf| path.join("postgres").is_file() && path.join("initdb").is_file();
    if let Some(named) = env::var_os("BRIGADE_TEST_POSTGRES").map(PathBuf::from) {
        return Some(named).filter(has_server);
    }
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).filter(has_server).collect();
    found.sort();
    let path = env::var_os("PATH").unwrap_or_default();
    found.pop().or_else(|| env::split_paths(&path).find(has_server))
}

fn start(programs: &PathBuf) -> Place {
    let mut command = Postgres::unprivileged(Path::new("sh"));
    command.args(["-c", SCRIPT, "sh"]).arg(programs).current_dir("/");
    let mut keeper =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell can be started");
    let mut directory = String::new();
    let output = keeper.stdout.take().expect("it was asked for");
    BufReader::new(output).read_line(&mut directory).expect("the shell prints a line");
    let directory = directory.trim().to_owned();
    assert!(!directory.is_empty(), "the server did not start");
    Place::Own { directory, _keeper: keeper }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_get_another_user() {
        for (url, expect) in [
            ("postgresql://owner@localhost", "postgresql://a@localhost/x"),
            (
                "postgresql://localhost:5433/postgres?sslmode=disable",
                "postgresql://a@localhost:5433/x?sslmode=disable",
            ),
            ("postgresql:///?host=/tmp/s", "postgresql://a@/x?host=/tmp/s"),
        ] {
            assert_eq!(at(url, Some("a"), "x"), expect);
        }
    }
}
