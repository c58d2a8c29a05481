//! The local address that the browser returns to with a code.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::{PendingLogin, login, plain_word, unpercent};
use crate::error::RemoteError;

/// The path of the address.
const PATH: &str = "/callback";

/// How often a waiting login checks whether it was cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The maximum time for a browser to send its request.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum size of a request.
const MAX_REQUEST_BYTES: usize = 16 << 10;

/// The local address, which is listened on.
#[derive(Debug)]
pub struct Callback {
    listener: TcpListener,
    url: String,
}

impl Callback {
    /// Listens on a free port of this machine.
    ///
    /// # Errors
    /// Fails if the system has no port.
    pub fn listen() -> io::Result<Callback> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let url = format!("http://127.0.0.1:{}{PATH}", listener.local_addr()?.port());
        Ok(Callback { listener, url })
    }

    /// Returns the URL that the browser returns to.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits for the browser, and returns the code that it brings. Other requests are answered and ignored.
    ///
    /// # Errors
    /// Fails if the person or the authorization server refused, time is over, or the wait was cancelled.
    pub fn wait(
        self,
        pending: &PendingLogin,
        at_most: Duration,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<String, RemoteError> {
        let (send, receive) = channel();
        // The thread ends with the process. Nothing cancels a wait for connections.
        thread::spawn(move || {
            for stream in self.listener.incoming().flatten() {
                if let Some(request) = request(&stream)
                    && send.send((request, stream)).is_err()
                {
                    return;
                }
            }
        });
        let until = Instant::now() + at_most;
        loop {
            match receive.recv_timeout(POLL_INTERVAL) {
                Ok((target, stream)) => match code(&target, pending) {
                    Some(result) => {
                        let text = match result {
                            Ok(_) => "Brigade is logged in. You can close this page.",
                            Err(_) => "The login failed. Brigade says why in the terminal.",
                        };
                        answer(stream, "200 OK", text);
                        return result;
                    }
                    None => answer(stream, "404 Not Found", "Nothing is here."),
                },
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) if is_cancelled() => {
                    return Err(login("it was cancelled"));
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
                Err(_) => return Err(login("nothing came back from the browser in time")),
            }
        }
    }
}

/// Reads the target of a request.
fn request(mut stream: &TcpStream) -> Option<String> {
    stream.set_read_timeout(Some(READ_TIMEOUT)).ok()?;
    let mut bytes = Vec::new();
    let mut part = [0; 2048];
    while !bytes.windows(4).any(|window| window == b"\r\n\r\n") && bytes.len() < MAX_REQUEST_BYTES {
        match stream.read(&mut part) {
            Ok(read) if 0 < read => bytes.extend_from_slice(&part[..read]),
            _ => break,
        }
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let mut words = text.lines().next()?.split(' ');
    (words.next() == Some("GET")).then(|| words.next().unwrap_or_default().to_owned())
}

fn answer(mut stream: TcpStream, status: &str, text: &str) {
    let head = "Content-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\nConnection: close";
    let _ = write!(stream, "HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {}\r\n\r\n{text}", text.len());
}

/// Returns the code of a request, or why it has no code. `None` for a request that is not of this login.
fn code(target: &str, pending: &PendingLogin) -> Option<Result<String, RemoteError>> {
    let (path, query) = target.split_once('?')?;
    let value = |name: &str| {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(key, _)| *key == name).map(|(_, value)| unpercent(value)).next()
    };
    // Another page may send requests, too. Only the authorization server knows the state.
    if path != PATH || value("state").as_deref() != Some(&pending.state) {
        return None;
    }
    if value("iss").is_some_and(|issuer| issuer != pending.issuer) {
        return Some(Err(login("wrong issuer: another authorization server answered")));
    }
    if let Some(error) = value("error") {
        return Some(Err(login(format!("the authorization server answers `{}`", plain_word(&error)))));
    }
    let missing = || login("the browser brought no code");
    Some(value("code").filter(|code| !code.is_empty()).ok_or_else(missing))
}
