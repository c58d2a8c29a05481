//! Listens, and serves connections until the server ends.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Request, StatusCode};
use axum::response::Response;
use brigade::process::{PeerAddress, listener_of, random_bytes};
use brigade::profile::Token;
use brigade::report::ServedPage;
use brigade::{CancelToken, Error, ErrorCode, ErrorKind, Workspace};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{OnceCell, Semaphore};
use tower_service::Service as _;

use crate::address::{PublicOrigin, check_address};
use crate::answer::{add_headers, refused, refused_as};
use crate::events::Events;
use crate::heads::WithHeaders;
use crate::page::{DescribeError, Limits, Page, Reviews};
use crate::page_hosts::PageHosts;
use crate::{api, changes, guard};

/// The maximum length of the head of a request.
const MAX_HEAD_BYTES: usize = 32 << 10;

/// How long requests may continue after the server ends.
const END: Duration = Duration::from_millis(300);

/// The options of a page.
#[derive(Clone, Debug)]
pub struct WebOptions {
    /// The address to listen on. Only loopback addresses are.
    pub address: SocketAddr,
    /// The reverse proxy in front of the page.
    pub public_origin: Option<PublicOrigin>,
    /// Whether the page takes decisions.
    pub reviews: Reviews,
}

/// A page that listens.
pub struct WebServer {
    listener: TcpListener,
    page: Arc<Page>,
}

impl WebServer {
    /// Listens on an address, and makes the first login token.
    ///
    /// # Errors
    /// Fails inside a run, if the address is not one of this machine or is taken, and on file errors.
    pub fn bind(
        workspace: Workspace,
        options: WebOptions,
        describe: DescribeError,
    ) -> Result<WebServer, Error> {
        WebServer::bind_with(workspace, options, describe, Limits::USUAL)
    }

    pub(crate) fn bind_with(
        workspace: Workspace,
        options: WebOptions,
        describe: DescribeError,
        limits: Limits,
    ) -> Result<WebServer, Error> {
        workspace.require_outside_run()?;
        check_address(options.address)?;
        let listening = TcpListener::bind(options.address).and_then(|listener| {
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        });
        let (listener, address) = listening.map_err(|error| cannot_listen(options.address, &error))?;
        let url = match &options.public_origin {
            Some(public) => public.as_str().to_owned(),
            None => format!("http://{address}"),
        };
        let token = workspace.web_logins().begin(&url)?;
        let page = Page {
            served: ServedPage::new(url, token.expose().to_owned()),
            hosts: PageHosts { port: address.port(), public_origin: options.public_origin },
            reviews: options.reviews,
            sessions: Default::default(),
            login_turn: Default::default(),
            logins: Arc::new(Semaphore::new(limits.logins)),
            streams: Arc::new(Semaphore::new(limits.streams)),
            events: Arc::new(Events::new(new_secret()?.sha256().short())),
            limits,
            describe,
            cookie: format!("brigade_{}", address.port()),
            workspace,
        };
        Ok(WebServer { listener, page: Arc::new(page) })
    }

    /// Returns where the page is, with the login token.
    pub fn served(&self) -> &ServedPage {
        &self.page.served
    }

    /// Serves until `stop` is cancelled. Open streams end with it.
    ///
    /// # Errors
    /// Fails if the system has no means to serve.
    pub fn run(self, stop: CancelToken) -> Result<(), Error> {
        let WebServer { listener, page } = self;
        let cannot_start = |error: std::io::Error| {
            Error::new(ErrorKind::Environment, format!("the page cannot be served: {}", error.kind()))
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(cannot_start)?;
        let router = api::router(page.clone());
        let (watched, until) = (page.clone(), stop.clone());
        let watcher = thread::Builder::new().name("page changes".to_owned());
        let watcher = watcher.spawn(move || changes::follow(&watched.workspace, &watched.events, &until));
        let watcher = watcher.map_err(cannot_start)?;
        let served = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let ended = tokio::task::spawn_blocking(move || while !stop.wait(Duration::from_secs(3_600)) {});
            tokio::select! {
                _ = ended => {}
                () = accept(&listener, page, router) => {}
            }
            Ok(())
        });
        runtime.shutdown_timeout(END);
        if watcher.join().is_err() {
            tracing::warn!("the page did not tell of changes, because of an error");
        }
        served.map_err(cannot_start)
    }
}

/// Returns a new secret.
pub(crate) fn new_secret() -> Result<Token, Error> {
    let random = random_bytes().map_err(|error| {
        Error::new(ErrorKind::Environment, format!("no random numbers: {}", error.kind()))
    })?;
    Ok(Token::of_random(random))
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Error {
    if error.kind() != std::io::ErrorKind::AddrInUse {
        let message = format!("{address} cannot be listened on: {}", error.kind());
        return Error::new(ErrorKind::Environment, message);
    }
    let holder = listener_of(&address.to_string()).unwrap_or_else(|| "another process".to_owned());
    let message = format!("{address} is taken by {holder}");
    Error::new(ErrorKind::Environment, message).coded(ErrorCode::AddressTaken)
}

async fn accept(listener: &tokio::net::TcpListener, page: Arc<Page>, router: Router) {
    let connections = Arc::new(Semaphore::new(page.limits.connections));
    loop {
        let Ok(permit) = connections.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, peer)) => {
                let (page, router) = (page.clone(), router.clone());
                tokio::spawn(async move {
                    serve(page, router, stream, peer).await;
                    drop(permit);
                });
            }
            // Too many open files, for example: the next one may work.
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Serves one connection until it ends.
async fn serve(page: Arc<Page>, router: Router, stream: TcpStream, peer: SocketAddr) {
    drop(stream.set_nodelay(true));
    let Ok(own) = stream.local_addr() else { return };
    let peer = PeerAddress::Tcp { own, peer };
    let of_a_run = Arc::new(OnceCell::new());
    let request_time = page.limits.request;
    let answers = service_fn(move |request: Request<Incoming>| {
        let (page, mut router) = (page.clone(), router.clone());
        let (of_a_run, peer) = (of_a_run.clone(), peer.clone());
        async move {
            let is_of_a_run = of_a_run.get_or_init(|| is_of_a_run(page.clone(), peer));
            let mut answer = match *is_of_a_run.await {
                true => refused_as(&page, StatusCode::FORBIDDEN, &inside_a_run()),
                false => answer(&page, &mut router, request).await,
            };
            add_headers(answer.headers_mut());
            Ok::<_, Infallible>(answer)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(request_time)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(WithHeaders::new(stream)), answers);
    if let Err(error) = pin!(connection).await {
        tracing::debug!(%error, "a connection ended early");
    }
}

async fn is_of_a_run(page: Arc<Page>, peer: PeerAddress) -> bool {
    let look = move || peer.is_known_of_a_run(page.workspace.root());
    tokio::task::spawn_blocking(look).await.unwrap_or(true)
}

fn inside_a_run() -> Error {
    let message = "a program of a run made this connection, and only a person outside of runs decides";
    Error::new(ErrorKind::Refused, message).coded(ErrorCode::InsideARun)
}

async fn answer(page: &Page, router: &mut Router, request: Request<Incoming>) -> Response {
    let request: Request<Body> = match guard::check(page, request).await {
        Ok(request) => request,
        Err(refused) => return *refused,
    };
    let answer = match router.call(request).await {
        Ok(answer) => answer,
        Err(never) => match never {},
    };
    // The router itself answers these without a document.
    let is_text = |kind: &HeaderValue| kind.as_bytes().starts_with(b"text/plain");
    let has_document = answer.headers().get(CONTENT_TYPE).is_some_and(|kind| !is_text(kind));
    if has_document || !(answer.status().is_client_error() || answer.status().is_server_error()) {
        return answer;
    }
    let (status, why) = match answer.status() {
        StatusCode::METHOD_NOT_ALLOWED => {
            (StatusCode::METHOD_NOT_ALLOWED, "this path does not take this method")
        }
        // Such as a path that is not UTF-8.
        _ => (StatusCode::NOT_FOUND, "there is nothing at this path"),
    };
    let mut document = refused(page, status, why);
    document.headers_mut().extend(answer.headers().clone());
    document.headers_mut().insert(CONTENT_TYPE, "application/json".parse().expect("a value"));
    document.headers_mut().remove(axum::http::header::CONTENT_LENGTH);
    document
}

#[cfg(test)]
mod tests;
