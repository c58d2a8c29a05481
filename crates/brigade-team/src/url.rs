//! The address of a team's database.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use brigade_core::words;
use postgres::config::Host;
use postgres::{Config, config};

use crate::error::TeamError;

words! {
    /// How a connection is encrypted.
    SslMode {
        /// Not at all.
        Disable = "disable",
        /// Encrypted, to whatever server answers.
        Require = "require",
        /// Encrypted, to the named server, whose certificate is verified.
        VerifyFull = "verify-full",
    }
}

/// Parameters that are passed on as they are. Others could change what a session is, such as its role.
const PASSED_ON: [&str; 7] =
    ["host", "hostaddr", "port", "dbname", "user", "connect_timeout", "target_session_attrs"];

/// The port of PostgreSQL.
const DEFAULT_PORT: u16 = 5432;

/// The address of a team's database. It has no password.
#[derive(Clone)]
pub struct TeamUrl {
    text: String,
    config: Config,
    mode: SslMode,
    pub(crate) root_certificates: Option<PathBuf>,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
}

impl PartialEq for TeamUrl {
    fn eq(&self, other: &TeamUrl) -> bool {
        self.text == other.text
    }
}

impl Eq for TeamUrl {}

impl fmt::Debug for TeamUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TeamUrl").field(&self.without_user()).finish()
    }
}

impl FromStr for TeamUrl {
    type Err = TeamError;

    fn from_str(text: &str) -> Result<TeamUrl, TeamError> {
        let rest = ["postgresql://", "postgres://"].iter().find_map(|scheme| text.strip_prefix(scheme));
        let rest = rest.ok_or(TeamError::Url("does not begin with `postgresql://`"))?;
        let has_password = TeamError::Url(
            "has a password; keep it in ~/.pgpass, in the file that PGPASSFILE names, or in PGPASSWORD",
        );
        let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
        let authority = before.split('/').next().unwrap_or_default();
        if authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':')) {
            return Err(has_password);
        }
        let (mut mode, mut files, mut passed_on) = (None, [None, None, None], Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) =
                pair.split_once('=').ok_or(TeamError::Url("has a parameter without a value"))?;
            let file = ["sslrootcert", "sslcert", "sslkey"].iter().position(|known| *known == key);
            match (key, file) {
                ("sslmode", _) => {
                    mode = Some(SslMode::from_word(value).ok_or(TeamError::Url(
                        "has an `sslmode` other than `disable`, `require` and `verify-full`",
                    ))?);
                }
                (_, Some(place)) => {
                    let path = decoded(value).map(PathBuf::from).filter(|path| path.is_absolute());
                    files[place] =
                        Some(path.ok_or(TeamError::Url("names a certificate without an absolute path"))?);
                }
                ("password", _) => return Err(has_password),
                (key, _) if PASSED_ON.contains(&key) => passed_on.push(pair),
                _ => return Err(TeamError::Url("has a parameter that Brigade does not use")),
            }
        }
        let query = if passed_on.is_empty() { String::new() } else { format!("?{}", passed_on.join("&")) };
        let config = format!("postgresql://{before}{query}");
        let config: Config = config.parse().map_err(|_| TeamError::Url("cannot be read"))?;
        if config.get_password().is_some() {
            return Err(has_password);
        }
        if config.get_hosts().is_empty() {
            return Err(TeamError::Url("names no host"));
        }
        // Who names a certificate wants encryption.
        let is_plain = is_local(&config) && files.iter().all(Option::is_none);
        let mode = mode.unwrap_or(if is_plain { SslMode::Disable } else { SslMode::VerifyFull });
        let [root_certificates, certificate, key] = files;
        if certificate.is_some() != key.is_some() {
            return Err(TeamError::Url("has only one of `sslcert` and `sslkey`"));
        }
        Ok(TeamUrl { text: text.to_owned(), config, mode, root_certificates, certificate, key })
    }
}

/// Decodes `%` and two hex digits.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, tail) = tail.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = tail;
    }
    String::from_utf8(bytes).ok()
}

/// Returns whether every host is this machine.
fn is_local(config: &Config) -> bool {
    config.get_hosts().iter().all(|host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    }) && config.get_hostaddrs().iter().all(std::net::IpAddr::is_loopback)
}

impl TeamUrl {
    /// Returns the text that was parsed.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns how the connection is encrypted.
    pub fn ssl_mode(&self) -> SslMode {
        self.mode
    }

    /// Returns whether every host is this machine.
    pub(crate) fn is_local(&self) -> bool {
        is_local(&self.config)
    }

    /// Returns the member that the address names.
    pub fn user(&self) -> Option<&str> {
        self.config.get_user()
    }

    /// Returns the settings of the connection, without a password.
    pub(crate) fn config(&self) -> Config {
        let mut config = self.config.clone();
        config.ssl_mode(match self.mode {
            SslMode::Disable => config::SslMode::Disable,
            SslMode::Require | SslMode::VerifyFull => config::SslMode::Require,
        });
        config.application_name("brigade");
        config
    }

    /// Lists host, port, database and user, as files of passwords name them.
    pub(crate) fn parts(&self) -> (String, u16, String, String) {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            Some(Host::Unix(_)) | None => "localhost".to_owned(),
        };
        let user = self.user().unwrap_or_default().to_owned();
        let database = self.config.get_dbname().map_or_else(|| user.clone(), str::to_owned);
        (host, self.config.get_ports().first().copied().unwrap_or(DEFAULT_PORT), database, user)
    }

    /// Returns the address for reports, without the user and the parameters.
    pub fn without_user(&self) -> String {
        let hosts = self.config.get_hosts().iter().enumerate().map(|(place, host)| {
            let name = match host {
                Host::Tcp(name) if name.contains(':') => format!("[{name}]"),
                Host::Tcp(name) => name.clone(),
                Host::Unix(path) => path.display().to_string(),
            };
            let ports = self.config.get_ports();
            match ports.get(place).or(ports.first()).filter(|port| **port != DEFAULT_PORT) {
                Some(port) => format!("{name}:{port}"),
                None => name,
            }
        });
        let hosts = hosts.collect::<Vec<_>>().join(",");
        format!("postgresql://{hosts}/{}", self.config.get_dbname().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, expect: Result<(&str, SslMode), &str>) {
        let parsed = url.parse::<TeamUrl>();
        let shown = parsed.as_ref().map(|url| (url.without_user(), url.ssl_mode()));
        match (shown, expect) {
            (Ok((shown, mode)), Ok(expect)) => assert_eq!((shown.as_str(), mode), expect, "{url}"),
            (Err(error), Err(word)) => {
                assert!(error.to_string().contains(word), "{url}: {error}");
                assert!(!error.to_string().contains("hunter2"), "the value is not quoted");
            }
            (found, expect) => panic!("{url}: {found:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn addresses_have_no_password_and_verify_by_default() {
        let (full, none) = (SslMode::VerifyFull, SslMode::Disable);
        check("postgresql://a@db.example/x", Ok(("postgresql://db.example/x", full)));
        check("postgres://a@db.example:5433/x", Ok(("postgresql://db.example:5433/x", full)));
        check("postgresql://a@localhost/x", Ok(("postgresql://localhost/x", none)));
        check("postgresql://a@127.0.0.1/x", Ok(("postgresql://127.0.0.1/x", none)));
        check("postgresql:///x?host=/tmp/s&user=a", Ok(("postgresql:///tmp/s/x", none)));
        check(
            "postgresql://a@db.example/x?sslmode=require",
            Ok(("postgresql://db.example/x", SslMode::Require)),
        );
        for mode in ["prefer", "allow", "verify-ca", ""] {
            check(&format!("postgresql://a@db.example/x?sslmode={mode}"), Err("sslmode"));
        }
        for url in [
            "postgresql://a:hunter2@db.example/x",
            "postgresql://a:@db.example/x",
            "postgresql://db.example/x?user=a&password=hunter2",
        ] {
            check(url, Err("password"));
        }
        check("postgresql://db.example/x?options=-c%20role%3Dhunter2", Err("parameter"));
        check("postgresql://db.example/x?pass%77ord=hunter2", Err("parameter"));
        check("host=db.example password=hunter2", Err("postgresql://"));
        check("postgresql:///x", Err("host"));
        check("postgresql://a@db.example/x?sslcert=/a.pem", Err("sslkey"));
    }
}
