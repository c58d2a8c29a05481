//! Requests to the server of a connection and to its authorization server, with checked addresses and redirects.

use std::io::Read as _;
use std::net::IpAddr;
use std::time::Duration;

use brigade_core::web_url::{Host, WebUrl};
use brigade_core::{Dialect, Json};
use ureq::config::Config;
use ureq::http::header::{CONTENT_TYPE, LOCATION};
use ureq::http::{Method, Request, Response, Uri};
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Body, Error};

use crate::error::RemoteError;
use crate::guard::{AddressProblem, addresses, configuration};

/// The maximum number of redirects.
const MAX_REDIRECTS: usize = 3;

/// The maximum time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// The maximum time from a request to the head of its answer.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// The maximum time that a stream stays open.
const STREAM_TIMEOUT: Duration = Duration::from_secs(12 * 60 * 60);

/// Makes requests to checked addresses, and keeps connections.
#[derive(Debug)]
pub struct Client {
    agent: Agent,
    origins: Vec<String>,
}

/// Checks the addresses of every name that is connected to.
#[derive(Debug)]
struct CheckedResolver(NamedHosts);

/// The hosts that the policy names by their address.
#[derive(Clone, Debug, Default)]
struct NamedHosts {
    addresses: Vec<IpAddr>,
    has_this_machine: bool,
}

impl NamedHosts {
    fn new(origins: &[String]) -> NamedHosts {
        let mut named = NamedHosts::default();
        for url in origins.iter().filter_map(|origin| WebUrl::parse(origin).ok()) {
            named.has_this_machine |= url.is_loopback();
            if let Host::Address(address) = url.host() {
                named.addresses.push(*address);
            }
        }
        named
    }

    fn has(&self, address: IpAddr) -> bool {
        self.addresses.contains(&address) || (self.has_this_machine && address.is_loopback())
    }
}

impl Resolver for CheckedResolver {
    fn resolve(&self, uri: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let url = WebUrl::parse(&uri.to_string()).map_err(|_| Error::HostNotFound)?;
        let checked = addresses(url.host(), url.port(), |address| self.0.has(address));
        let mut found = self.empty();
        for address in checked.map_err(|problem| Error::Other(Box::new(problem)))? {
            found.push(address);
        }
        Ok(found)
    }
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) method: Method,
    pub(crate) url: &'a WebUrl,
    pub(crate) headers: Vec<(String, String)>,
    /// Headers that only the origin of the URL gets.
    pub(crate) own_headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// The head of an answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) url: WebUrl,
    pub(crate) status: u16,
    /// The media type, in lower case and without parameters.
    pub(crate) media_type: String,
    response: Response<Body>,
}

impl Answer {
    /// Returns a header.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let value = self.response.headers().get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()).trim().to_owned())
    }

    /// Returns the body as a stream.
    pub(crate) fn stream(self) -> impl std::io::Read {
        self.response.into_body().into_reader()
    }

    /// Reads the whole body.
    pub(crate) fn read(self, limit: usize) -> Result<Vec<u8>, RemoteError> {
        let origin = self.url.origin();
        let mut body = Vec::new();
        let mut reader = self.response.into_body().into_reader().take(limit as u64 + 1);
        reader.read_to_end(&mut body).map_err(|error| failed(&Error::from(error), &origin))?;
        if limit < body.len() { Err(RemoteError::TooLong(origin)) } else { Ok(body) }
    }
}

impl Client {
    /// Creates a client that may connect to public addresses, and to others that these origins name.
    ///
    /// `timeout` limits each request with its answer; without it, answers may be long streams.
    pub fn new(origins: &[String], timeout: Option<Duration>) -> Client {
        let config = configuration()
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_recv_response(Some(HEAD_TIMEOUT))
            .timeout_recv_body(Some(STREAM_TIMEOUT))
            .timeout_global(timeout)
            .build();
        let resolver = CheckedResolver(NamedHosts::new(origins));
        let agent = Agent::with_parts(config, DefaultConnector::default(), resolver);
        Client { agent, origins: origins.to_vec() }
    }

    /// Reads a JSON document; `None` if the server has none there, or its answer is not JSON.
    ///
    /// # Errors
    /// Fails if the URL cannot be used or the server not be reached, and if the answer is longer than `limit`.
    pub fn document(&self, url: &str, limit: usize) -> Result<Option<Json>, RemoteError> {
        let url = WebUrl::parse(url).map_err(|problem| RemoteError::Url(problem.to_string()))?;
        let answer = self.ask(&Ask {
            method: Method::GET,
            url: &url,
            headers: vec![("Accept".to_owned(), "application/json".to_owned())],
            own_headers: Vec::new(),
            body: Vec::new(),
        })?;
        match answer.status {
            200 => Ok(Json::parse_bytes(&answer.read(limit)?, Dialect::Strict).ok()),
            400..=499 => Ok(None),
            status => Err(RemoteError::Status { origin: url.origin(), status }),
        }
    }

    /// Makes a request, and follows redirects in its origin and to origins that the policy names.
    pub(crate) fn ask(&self, ask: &Ask<'_>) -> Result<Answer, RemoteError> {
        let mut url = ask.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = Request::builder().method(ask.method.clone()).uri(url.to_string());
            for (name, value) in &ask.headers {
                request = request.header(name, value);
            }
            // Credentials stay in their origin.
            for (name, value) in ask.own_headers.iter().filter(|_| url.origin() == ask.url.origin()) {
                request = request.header(name, value);
            }
            let failure = |error: &Error| failed(error, &url.origin());
            let response = if ask.method == Method::POST {
                let request = request.body(&ask.body[..]).map_err(|error| failure(&error.into()))?;
                self.agent.run(request)
            } else {
                let request = request.body(()).map_err(|error| failure(&error.into()))?;
                self.agent.run(request)
            };
            let response = response.map_err(|error| failure(&error))?;
            let status = response.status().as_u16();
            let text = |name| {
                let value = response.headers().get(name)?;
                Some(String::from_utf8_lossy(value.as_bytes()).trim().to_owned())
            };
            let leads_to = text(LOCATION).filter(|_| matches!(status, 301 | 302 | 303 | 307 | 308));
            let Some(leads_to) = leads_to else {
                let kind = text(CONTENT_TYPE).unwrap_or_default();
                let media_type = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
                return Ok(Answer { url, status, media_type, response });
            };
            let next = url.join(&leads_to).map_err(|problem| RemoteError::Redirect(problem.to_string()))?;
            if next.origin() != url.origin() && !self.origins.contains(&next.origin()) {
                return Err(RemoteError::Redirect(next.origin()));
            }
            url = next;
        }
        Err(RemoteError::Redirects)
    }
}

fn failed(error: &Error, origin: &str) -> RemoteError {
    let host = || origin.split_once("://").map_or(origin, |(_, host)| host).to_owned();
    match error {
        Error::Timeout(_) => RemoteError::TimedOut(origin.to_owned()),
        Error::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => {
            RemoteError::TimedOut(origin.to_owned())
        }
        Error::HostNotFound => RemoteError::NoHost(host()),
        Error::Other(problem) => match problem.downcast_ref::<AddressProblem>() {
            Some(AddressProblem::None) => RemoteError::NoHost(host()),
            Some(AddressProblem::Private) => RemoteError::Private(host()),
            None => RemoteError::Unreachable { origin: origin.to_owned(), why: error.to_string() },
        },
        error => RemoteError::Unreachable { origin: origin.to_owned(), why: error.to_string() },
    }
}
