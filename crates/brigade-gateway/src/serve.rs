//! Starts and ends the server.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use brigade::core::ErrorCode;
use brigade::gateway::Upstreams;
use brigade::process::{OwnSocket, PeerAddress, ProcessIdentity, random_bytes};
use brigade::profile::{Listing, NameStyle, SessionProfiles};
use brigade::report::ServeReport;
use brigade::{CancelToken, Env, Error, ErrorKind, Workspace};
use rmcp::model::RequestStateCodec;
use rmcp::serve_server;
use tokio::net::unix::pipe;
use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::event::ServeEvent;
use crate::file_watch;
use crate::gateway::{Gateway, ReadAgents, Terms};
use crate::http::{Http, Proof};
use crate::session::Session;
use crate::stdio::{Lines, Stream, as_pipe};
use crate::tasks::Sessions;

/// How long calls may continue after the input has ended.
pub(crate) const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// How long everything may take to end.
const END: Duration = Duration::from_millis(2500);

/// How long cancelled calls have before upstream servers are ended.
const CANCEL_TIMEOUT: Duration = Duration::from_millis(200);

/// How often ended sessions are removed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(30);

/// How clients reach the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// One client over standard input and output.
    Stdio,
    /// Clients over HTTP, on a port, a Unix socket, or both.
    Http {
        /// The address to listen on.
        address: Option<SocketAddr>,
        /// The socket to listen on.
        socket: Option<PathBuf>,
    },
}

/// The options of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Serve {
    /// How clients reach the server.
    pub transport: Transport,
    /// The agent of connections that do not authenticate themselves.
    pub agent: Option<String>,
    /// Profiles that narrow every agent.
    pub profiles: Vec<String>,
    /// How tools are listed. `None` uses gateway.toml.
    pub list: Option<Listing>,
    /// How their names are written.
    pub names: NameStyle,
    /// Whether HTTP requests need no token. They then belong to `agent`.
    pub no_token: bool,
    /// The lane that all sessions work in. Paths of files and commands are relative to it.
    pub lane: Option<String>,
}

impl Serve {
    /// The name of the agent if none is given.
    pub const AGENT: &str = "local";

    /// Serves the agent `local`.
    pub fn new(transport: Transport) -> Serve {
        Serve {
            transport,
            agent: None,
            profiles: Vec::new(),
            list: None,
            names: NameStyle::Dotted,
            no_token: false,
            lane: None,
        }
    }
}

/// Serves until `stop` is cancelled or, over standard input and output, the input ends.
///
/// Calls `ready` once the server listens, and `say` with what happens, for the person who runs it.
///
/// # Errors
/// Fails inside of a run, if the configuration is broken, the agent or the lane is unknown, or nothing can be listened
/// on.
pub fn serve(
    workspace: &Workspace,
    options: Serve,
    stop: CancelToken,
    ready: &mut dyn FnMut(&ServeReport),
    say: &(dyn Fn(&ServeEvent) + Sync),
) -> Result<(), Error> {
    workspace.require_outside_run()?;
    let stamp = file_watch::stamp(workspace);
    let agents = Arc::new(workspace.agents().read()?);
    let agent = options.agent.clone().unwrap_or_else(|| Serve::AGENT.to_owned());
    let is_named = matches!(options.transport, Transport::Stdio)
        || options.no_token
        || matches!(&options.transport, Transport::Http { socket: Some(_), .. })
        || options.agent.is_some();
    let first = match is_named {
        true => Some(agent.clone()),
        false => agents.gateway.agents.first().map(|first| first.name.to_string()),
    };
    let root = options.lane.map(|lane| workspace.lane_root(&lane)).transpose()?;
    let shown = first.map(|name| -> Result<_, Error> {
        let (session, overlays) = (SessionProfiles::default(), &options.profiles);
        let all = workspace.agents();
        let shown = all.tools_with(agents.clone(), &name, &session, overlays, options.names)?;
        Ok((Arc::<str>::from(name), shown))
    });
    let shown = shown.transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| environment("the server cannot be started", &error))?;
    let (key, mark) = (random::<32>()?, random::<8>()?);
    let process =
        ProcessIdentity::current().map_err(|error| environment("the process is not known", &error))?;
    let mark = format!("{:016x}@{process}", u64::from_le_bytes(mark));
    let states = RequestStateCodec::try_new(key.to_vec()).expect("32 bytes are long enough for a key");
    let terms = Terms { overlays: options.profiles, list: options.list, names: options.names, root };
    let ended = CancellationToken::new();
    let upstreams = Upstreams::new();
    let kept = upstreams.clone();
    let of_tasks = Arc::new(Sessions::new(runtime.handle().clone()));
    let opens = of_tasks.clone();
    let workspace = workspace.with_env(|env: Env| env.upstreams(kept).task_sessions(opens));
    let agents = ReadAgents::after(file_watch::of_agents(&stamp), agents);
    let gateway =
        Arc::new(Gateway::new(workspace, agents, terms, states, upstreams.clone(), mark, ended.clone()));
    of_tasks.are_of(&gateway);
    if let Some((agent, shown)) = shown {
        // The check already read the view of the first client.
        gateway.know(agent, stamp, shown);
    }
    let agent: Arc<str> = agent.into();
    let result = runtime.block_on(async {
        let taking = gateway.workspace.clone();
        drop(tokio::task::spawn_blocking(move || {
            if let Err(error) = taking.take_over() {
                tracing::warn!(%error, "workflows of gateways that are gone do not continue");
            }
        }));
        // Runs are cancelled before connections close, so that their records name the right cause.
        let signal = async {
            signalled(stop.clone()).await;
            ended.cancel();
        };
        let warnings = follow(gateway.clone(), say);
        let served = async {
            match options.transport {
                Transport::Stdio => stdio(&gateway, agent).await,
                Transport::Http { address, socket } => {
                    let proof =
                        if options.no_token { Proof::Connection(agent.clone()) } else { Proof::Token };
                    listen(&gateway, address, socket, proof, agent, ready).await
                }
            }
        };
        let result = tokio::select! {
            () = signal => Ok(()),
            result = served => result,
            () = warnings => Ok(()),
        };
        ended.cancel();
        // Wait until the process trees of runs have ended and their receipts are written.
        let until = Instant::now() + END;
        let running = &gateway;
        let idle = |until: Instant| async move {
            while 0 < running.busy() && Instant::now() < until {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        // Cancelled calls need time to report it. Ending their servers first would hide the cause.
        idle(Instant::now() + CANCEL_TIMEOUT).await;
        let tasks = gateway.workspace.clone();
        let servers = tokio::task::spawn_blocking(move || {
            tasks.end_tasks(END);
            upstreams.end(END);
        });
        idle(until).await;
        drop(servers.await);
        result.and(gateway.workspace.sync())
    });
    runtime.shutdown_timeout(Duration::from_millis(200));
    result
}

fn environment(what: &str, error: &io::Error) -> Error {
    Error::new(ErrorKind::Environment, format!("{what}: {error}"))
}

/// Fills a buffer with random bytes of the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Error> {
    random_bytes().map_err(|error| environment("the system gives no random bytes", &error))
}

/// Waits until the server is asked to end.
async fn signalled(stop: CancelToken) {
    match stop.as_fd().try_clone_to_owned().and_then(pipe::Receiver::from_owned_fd) {
        Ok(pipe) => drop(pipe.readable().await),
        Err(_) => {
            while !stop.is_cancelled() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

/// Watches the files, and passes events to the person who runs the server.
async fn follow(gateway: Arc<Gateway>, say: &(dyn Fn(&ServeEvent) + Sync)) {
    let followed = file_watch::follow(gateway.clone());
    tokio::pin!(followed);
    loop {
        tokio::select! {
            () = &mut followed => return,
            event = gateway.next_event() => say(&event),
        }
    }
}

/// Returns standard input and output as files. The caller may hold the locks of the library's handles.
pub(crate) fn streams() -> io::Result<(File, File)> {
    let (input, output) =
        (io::stdin().as_fd().try_clone_to_owned()?, io::stdout().as_fd().try_clone_to_owned()?);
    Ok((File::from(input), File::from(output)))
}

/// Serves one client over standard input and output.
async fn stdio(gateway: &Arc<Gateway>, agent: Arc<str>) -> Result<(), Error> {
    let limit = Gateway::limit_of(&Arc::downgrade(gateway));
    let started = streams().and_then(|(input, output)| {
        let pipe = as_pipe(&output);
        Lines::start(Stream::new(input), output, pipe, limit)
    });
    let (lines, input_ended, conversation) =
        started.map_err(|error: io::Error| environment("the input cannot be read", &error))?;
    let session = Session::new(gateway.clone(), Some(agent));
    let ending = gateway.clone();
    let guard = tokio::spawn(async move {
        input_ended.cancelled().await;
        // Requests just before the end of the input may still finish.
        let until = Instant::now() + DRAIN_TIMEOUT;
        while (0 < ending.busy() || conversation.is_open()) && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        ending.stop.cancel();
    });
    if let Ok(running) = serve_server(session, lines).await {
        drop(running.waiting().await);
    }
    guard.abort();
    Ok(())
}

/// Serves clients over HTTP.
async fn listen(
    gateway: &Arc<Gateway>,
    address: Option<SocketAddr>,
    socket: Option<PathBuf>,
    proof: Proof,
    agent: Arc<str>,
    ready: &mut dyn FnMut(&ServeReport),
) -> Result<(), Error> {
    let is_outer = address.is_some_and(|address| !address.ip().is_loopback());
    if is_outer && matches!(proof, Proof::Connection(_)) {
        let message = "without a token, the server listens on loopback addresses only";
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let http = Arc::new(Http::new(gateway.clone(), gateway.stop.clone(), is_outer));
    let port = match address {
        None => None,
        Some(address) => {
            let listener = TcpListener::bind(address)
                .await
                .map_err(|error| address_in_use(&address.to_string(), &error))?;
            Some(listener)
        }
    };
    let socket = socket.map(|path| Socket::bind(&path)).transpose()?;
    let shown = port.as_ref().and_then(|port| port.local_addr().ok());
    let tools = {
        let view = match &proof {
            Proof::Connection(agent) => gateway.view(&gateway.speaker(agent)).await,
            Proof::Token => {
                let first = gateway.config().agents.first().map(|agent| Arc::from(agent.name.as_str()));
                gateway.view(&gateway.speaker(&first.unwrap_or_else(|| agent.clone()))).await
            }
        };
        view.tools.len()
    };
    let address = shown.map(|address| format!("http://{address}/mcp"));
    let local = socket.as_ref().map(|socket| socket.own.path.display().to_string());
    ready(&ServeReport::new(address, local, tools));
    let (proof, own) = (Arc::new(proof), Arc::new(Proof::Connection(agent)));
    let connections = TaskTracker::new();
    let mut sweep = tokio::time::interval(SWEEP_INTERVAL);
    loop {
        tokio::select! {
            () = gateway.stop.cancelled() => break,
            _ = sweep.tick() => http.sweep(),
            () = gateway.reloaded.notified() => http.end_streams(),
            accepted = accept(port.as_ref()) => match accepted {
                Ok((stream, peer)) => {
                    drop(stream.set_nodelay(true));
                    if let Ok(own) = stream.local_addr() {
                        let peer = PeerAddress::Tcp { own, peer };
                        connections.spawn(http.clone().connection(stream, proof.clone(), peer));
                    }
                }
                // Too many open files, for example: the next one may work.
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            accepted = accept_local(socket.as_ref()) => match accepted {
                Ok((stream, _)) => {
                    let me = rustix::process::geteuid().as_raw();
                    if let Ok(peer) = stream.peer_cred()
                        && peer.uid() == me
                    {
                        let peer = PeerAddress::of_unix_socket(stream.as_fd());
                        connections.spawn(http.clone().connection(stream, own.clone(), peer));
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
        }
    }
    Ok(())
}

async fn accept(listener: Option<&TcpListener>) -> io::Result<(tokio::net::TcpStream, SocketAddr)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

async fn accept_local(
    socket: Option<&Socket>,
) -> io::Result<(tokio::net::UnixStream, tokio::net::unix::SocketAddr)> {
    match socket {
        Some(socket) => socket.listener.accept().await,
        None => std::future::pending().await,
    }
}

/// A socket of this user, with its listener.
struct Socket {
    listener: UnixListener,
    own: OwnSocket,
}

impl Socket {
    fn bind(path: &Path) -> Result<Socket, Error> {
        let shown = path.display().to_string();
        let bound = OwnSocket::bind(path).and_then(|own| {
            let listener = UnixListener::from_std(own.listener.try_clone()?)?;
            Ok(Socket { listener, own })
        });
        bound.map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => {
                let message =
                    format!("the folder of {shown} is not the user's own, or others may write in it");
                Error::new(ErrorKind::Environment, message)
            }
            io::ErrorKind::AlreadyExists => {
                Error::new(ErrorKind::Environment, format!("{shown} already exists and is not a socket"))
            }
            _ => address_in_use(&shown, &error),
        })
    }
}

/// Returns the error for an address in use, with the process that uses it.
fn address_in_use(address: &str, error: &io::Error) -> Error {
    if error.kind() != io::ErrorKind::AddrInUse {
        return environment(&format!("{address} cannot be listened on"), error);
    }
    let holder = brigade::process::listener_of(address).unwrap_or_else(|| "another process".to_owned());
    let message = format!("{address} is taken by {holder}");
    Error::new(ErrorKind::Environment, message).coded(ErrorCode::AddressTaken)
}
