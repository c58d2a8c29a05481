//! Makes requests one after the other. Each is checked first.

use std::io::Read as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use brigade_access::CallLimits;
use brigade_core::ErrorCode;
use brigade_policy::approval::AutoApprove;
use brigade_policy::{Host, Reach, WebProblem, WebUrl};
use brigade_remote::{AddressProblem, PinnedResolver, configuration};
use ureq::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, LOCATION};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Error};

use crate::context::Failure;

/// The maximum number of redirects.
const REDIRECTS: usize = 5;

/// The maximum number of bytes read from a page.
const MAX_PAGE_BYTES: u64 = 4 << 20;

/// A page to fetch.
pub(super) struct FetchRequest {
    pub(super) url: WebUrl,
    /// The hosts that the policy names.
    pub(super) domains: Vec<String>,
    /// The limits of the caller's profiles.
    pub(super) limits: CallLimits,
    /// The rule that approved the call, if one did.
    pub(super) rule: Option<AutoApprove>,
    /// Whether to follow redirects.
    pub(super) follows: bool,
    pub(super) until: Instant,
}

/// The response of a host.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) url: WebUrl,
    pub(super) status: u16,
    pub(super) content_type: String,
    pub(super) length: Option<u64>,
    pub(super) body: Vec<u8>,
    /// Whether the body is complete.
    pub(super) is_whole: bool,
}

pub(super) fn refused(problem: WebProblem, hop: usize) -> Failure {
    let message = match hop {
        0 => problem.to_string(),
        _ => format!("the page redirects to a URL that is refused: {problem}"),
    };
    Failure::new(problem.code(), message)
}

pub(super) fn timed_out() -> Failure {
    Failure::new(ErrorCode::TimedOut, "the page did not arrive in time")
}

/// Fetches a page and follows its redirects.
pub(super) fn fetch(request: FetchRequest) -> Result<Page, Failure> {
    let mut url = request.url;
    for hop in 0..=REDIRECTS {
        let reach = url.check(&request.domains).map_err(|problem| refused(problem, hop))?;
        request.limits.check_url(&url.to_string())?;
        // The written URL was compared when the call was approved.
        if 0 < hop && request.rule.as_ref().is_some_and(|rule| !rule.covers_text("url", &url.to_string())) {
            let message = "the page redirects to a URL that the rule which approved the call does not cover";
            return Err(Failure::new(ErrorCode::RedirectNotCovered, message));
        }
        let addresses = addresses(&url, reach, hop)?;
        let left = request.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(timed_out());
        }
        let (page, leads_to) = get(&url, addresses, left)?;
        let Some(leads_to) = leads_to.filter(|_| request.follows) else { return Ok(page) };
        let next = url.join(&leads_to).map_err(|problem| refused(problem, hop + 1))?;
        if url.is_secure() && !next.is_secure() {
            let message = "the page redirects from https to http, which is not secure";
            return Err(Failure::new(ErrorCode::InsecureRedirect, message));
        }
        url = next;
    }
    Err(Failure::new(ErrorCode::TooManyRedirects, format!("more than {REDIRECTS} redirects")))
}

/// Returns the addresses of a host. All of them must be allowed.
fn addresses(url: &WebUrl, reach: Reach, hop: usize) -> Result<Vec<SocketAddr>, Failure> {
    let is_named = |_| matches!((url.host(), reach), (Host::Address(_), Reach::Named));
    brigade_remote::addresses(url.host(), url.port(), is_named).map_err(|problem| match problem {
        AddressProblem::None => Failure::new(ErrorCode::HostNotFound, "the host has no address"),
        AddressProblem::Private => refused(WebProblem::Private, hop),
    })
}

/// Makes one request. Also returns the target of a redirect.
fn get(url: &WebUrl, addresses: Vec<SocketAddr>, left: Duration) -> Result<(Page, Option<String>), Failure> {
    let config = configuration()
        .max_idle_connections(0)
        .timeout_global(Some(left))
        .accept("text/markdown, text/html;q=0.9, text/*;q=0.8, application/json;q=0.8, */*;q=0.1")
        .build();
    let agent = Agent::with_parts(config, DefaultConnector::default(), PinnedResolver(addresses));
    let response = agent.get(url.to_string()).call().map_err(|error| failed(&error))?;
    let header = |headers: &HeaderMap, name: HeaderName| -> Option<String> {
        Some(String::from_utf8_lossy(headers.get(name)?.as_bytes()).trim().to_owned())
    };
    let status = response.status().as_u16();
    let headers = response.headers();
    let content_type = header(headers, CONTENT_TYPE).unwrap_or_default().chars().take(200).collect();
    let length = header(headers, CONTENT_LENGTH).and_then(|length| length.parse().ok());
    let leads_to = header(headers, LOCATION).filter(|_| matches!(status, 301 | 302 | 303 | 307 | 308));
    let encoding = header(headers, CONTENT_ENCODING).filter(|name| !name.eq_ignore_ascii_case("identity"));
    if leads_to.is_none() && encoding.is_some_and(|name| !name.is_empty()) {
        return Err(Failure::new(
            ErrorCode::NotText,
            "the page is compressed, although this was not requested",
        ));
    }
    let mut body = Vec::new();
    if leads_to.is_none() {
        let reader = response.into_body().into_reader();
        reader
            .take(MAX_PAGE_BYTES + 1)
            .read_to_end(&mut body)
            .map_err(|error| failed(&Error::from(error)))?;
    }
    let is_whole = body.len() as u64 <= MAX_PAGE_BYTES;
    body.truncate(usize::try_from(MAX_PAGE_BYTES).unwrap_or(usize::MAX));
    Ok((Page { url: url.clone(), status, content_type, length, body, is_whole }, leads_to))
}

fn failed(error: &Error) -> Failure {
    match error {
        Error::Timeout(_) => timed_out(),
        Error::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => timed_out(),
        error => Failure::new(ErrorCode::FetchFailed, format!("the page could not be fetched: {error}")),
    }
}
