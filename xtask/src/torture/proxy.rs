//! A proxy between clients and the server that delays, cuts, halves and holds back what they send.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::random::Random;
use crate::repository::Failure;

/// One of this many pieces is disturbed.
const DISTURBED: u64 = 25;

/// What a proxy does with the pieces that it passes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    /// Nothing.
    Clear,
    /// Each comes up to 40 ms later.
    Delay,
    /// Some end the connection instead.
    Cut,
    /// Of some only the first half comes before the connection ends.
    Halve,
    /// Some answers are lost with the connection, after the server did what it was asked.
    LoseAnswers,
    /// Nothing is passed on until it is over.
    Hold,
}

/// A running proxy.
#[derive(Clone)]
pub struct Proxy {
    pub port: u16,
    state: Arc<State>,
}

struct State {
    /// And until when it lasts.
    weather: Mutex<(Weather, Instant)>,
    /// The directory of the server's socket.
    server: Arc<Mutex<PathBuf>>,
}

/// Locks a value, whatever happened to the thread that held it.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Proxy {
    pub fn start(server: Arc<Mutex<PathBuf>>, mut random: Random) -> Result<Proxy, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| Failure::new(error.to_string()))?;
        let port = listener.local_addr().map_err(|error| Failure::new(error.to_string()))?.port();
        let state = Arc::new(State { weather: Mutex::new((Weather::Clear, Instant::now())), server });
        let accepting = state.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                accepting.serve(client, random.next());
            }
        });
        Ok(Proxy { port, state })
    }

    /// Changes the weather for a time. After it, it is clear.
    pub fn set(&self, weather: Weather, time: Duration) {
        *locked(&self.state.weather) = (weather, Instant::now() + time);
    }
}

/// One end of a connection.
trait End: Send + 'static {
    fn receive(&mut self, buffer: &mut [u8]) -> usize;
    fn send(&mut self, bytes: &[u8]) -> bool;
    fn close(&self);
}

macro_rules! end {
    ($stream:ty) => {
        impl End for $stream {
            fn receive(&mut self, buffer: &mut [u8]) -> usize {
                self.read(buffer).unwrap_or(0)
            }

            fn send(&mut self, bytes: &[u8]) -> bool {
                self.write_all(bytes).is_ok()
            }

            fn close(&self) {
                let _ = self.shutdown(Shutdown::Both);
            }
        }
    };
}

end!(TcpStream);
end!(UnixStream);

impl State {
    /// Passes on what a client and the server say, each in a thread. Without a server, the connection ends.
    fn serve(self: &Arc<State>, client: TcpStream, seed: u64) {
        let socket = locked(&self.server).join(".s.PGSQL.5432");
        let Ok(server) = UnixStream::connect(socket) else { return };
        let _ = client.set_nodelay(true);
        let (Ok(client_again), Ok(server_again)) = (client.try_clone(), server.try_clone()) else { return };
        let (state, random) = (self.clone(), Random::new(seed));
        thread::spawn(move || state.pass(client, server, random, false));
        let (state, random) = (self.clone(), Random::new(!seed));
        thread::spawn(move || state.pass(server_again, client_again, random, true));
    }

    fn pass(&self, mut from: impl End, mut to: impl End, mut random: Random, is_answer: bool) {
        let mut buffer = [0; 8 << 10];
        loop {
            let length = from.receive(&mut buffer);
            let piece = &buffer[..length];
            let now = || Some(*locked(&self.weather)).filter(|(_, until)| Instant::now() < *until);
            while length != 0
                && let Some((Weather::Hold, until)) = now()
            {
                thread::sleep(until.saturating_duration_since(Instant::now()));
            }
            let weather = now().map_or(Weather::Clear, |(weather, _)| weather);
            let is_disturbed = random.below(DISTURBED) == 0;
            let sent = match weather {
                _ if length == 0 => false,
                Weather::Delay => {
                    thread::sleep(Duration::from_millis(random.below(40)));
                    to.send(piece)
                }
                Weather::Cut if is_disturbed => false,
                Weather::LoseAnswers if is_disturbed && is_answer => false,
                Weather::Halve if is_disturbed => {
                    to.send(&piece[..length / 2]);
                    false
                }
                _ => to.send(piece),
            };
            if !sent {
                to.close();
                from.close();
                return;
            }
        }
    }
}
