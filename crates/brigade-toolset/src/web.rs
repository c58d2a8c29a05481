//! Web pages: `web.fetch`, and `web.search` in local documents.
//!
//! Every request is checked separately: its URL against the policy, and the addresses of its host. The request then
//! connects to exactly these addresses.

mod answer;
mod hop;
mod markdown;
mod search;
#[cfg(test)]
mod tests;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use brigade_core::{ErrorCode, Json};
use brigade_policy::WebUrl;
use encoding_rs::Encoding;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Failure, Output};
use crate::run::{Function, arguments};
use hop::{FetchRequest, Page};

pub(crate) use answer::search_answer;

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[("web.fetch", fetch), ("web.search", search::search)];

/// How often a waiting call checks whether it was cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How many bytes of a page may declare its encoding.
const PRESCAN: usize = 1024;

#[derive(Deserialize)]
struct FetchArgs {
    url: String,
    to_markdown: bool,
    follow_redirects: bool,
    timeout_seconds: u64,
}

/// The result of `web.fetch`.
#[derive(Serialize)]
struct FetchResult<'a> {
    url: String,
    http_status: u16,
    content_type: String,
    content_length: Option<u64>,
    content: &'a str,
    truncated: bool,
}

fn fetch(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let args: FetchArgs = arguments(input)?;
    let url = WebUrl::parse(&args.url).map_err(|problem| hop::refused(problem, 0))?;
    let until = Instant::now() + Duration::from_secs(args.timeout_seconds);
    let (domains, limits) = (context.web_domains.clone(), context.limits()?.clone());
    let (rule, follows) = (context.rule.cloned(), args.follow_redirects);
    let request = FetchRequest { url, domains, limits, rule, follows, until };
    let (send, receive) = channel();
    // A name lookup cannot be cancelled. If the call ends first, the thread finishes in the background.
    thread::spawn(move || drop(send.send(hop::fetch(request))));
    let page = loop {
        context.check_cancelled()?;
        if until <= Instant::now() {
            return Err(hop::timed_out());
        }
        match receive.recv_timeout(POLL_INTERVAL) {
            Ok(page) => break page?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::new(ErrorCode::FetchFailed, "the page could not be fetched"));
            }
        }
    };
    let kind = page.content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_html = matches!(kind.as_str(), "text/html" | "application/xhtml+xml");
    if !is_text(&kind, &page) {
        let message = "the page is not text";
        return Err(
            Failure::new(ErrorCode::NotText, message).data([("content_type", Json::from(page.content_type))])
        );
    }
    let text = text_of(&page, is_html);
    let most = usize::try_from(context.max_bytes).unwrap_or(usize::MAX);
    let (mut content, is_all) = match is_html && args.to_markdown {
        true => {
            let resolve = |link: &str| page.url.join(link).ok().map(|url| url.to_string());
            // Convert further, to find a secret that extends beyond the end.
            markdown::to_markdown(&text, most.saturating_add(context.redactor.holds_back()), &resolve)
        }
        false => (text, true),
    };
    let is_cut = context.redactor.cut(&mut content, most);
    let fetched = FetchResult {
        url: page.url.to_string(),
        http_status: page.status,
        content_type: page.content_type,
        content_length: page.length,
        content: &content,
        truncated: is_cut || !is_all || !page.is_whole,
    };
    Ok(Output::from_result(&fetched).text(content))
}

/// Returns whether a body is text, by its type and its first bytes.
fn is_text(kind: &str, page: &Page) -> bool {
    let ends = |end: &str| kind.ends_with(end);
    if is_binary(page) {
        return false;
    }
    match kind {
        "" => !page.body.contains(&0),
        "application/json"
        | "application/xml"
        | "application/javascript"
        | "application/yaml"
        | "application/toml"
        | "application/x-ndjson" => true,
        _ => kind.starts_with("text/") || ends("+json") || ends("+xml") || ends("+yaml"),
    }
}

/// Returns whether a body begins like binary data: compressed without a header that says so, or with control
/// characters.
fn is_binary(page: &Page) -> bool {
    let is_wide = charset(&page.content_type).is_some_and(|name| name.starts_with("utf-16"));
    if is_wide || Encoding::for_bom(&page.body).is_some() {
        return false;
    }
    // Text may contain escapes and shift characters of encodings.
    let is_odd = |byte: &u8| matches!(byte, 0..=0x08 | 0x10..=0x1a | 0x1c..=0x1f);
    page.body.starts_with(b"\x1f\x8b") || page.body.iter().take(PRESCAN).any(is_odd)
}

/// Decodes a body. The encoding comes from its first bytes, its header, or the page itself.
fn text_of(page: &Page, is_html: bool) -> String {
    let label = charset(&page.content_type);
    let early = String::from_utf8_lossy(&page.body[..page.body.len().min(PRESCAN)]);
    let declared = Encoding::for_bom(&page.body)
        .map(|(encoding, _)| encoding)
        .or_else(|| Encoding::for_label(label?.as_bytes()))
        .or_else(|| Encoding::for_label(charset(&early).filter(|_| is_html)?.as_bytes()));
    let encoding = declared.unwrap_or_else(|| match std::str::from_utf8(&page.body) {
        Ok(_) => encoding_rs::UTF_8,
        // The body was cut within a character.
        Err(error) if !page.is_whole && error.error_len().is_none() => encoding_rs::UTF_8,
        Err(_) => encoding_rs::WINDOWS_1252,
    });
    encoding.decode(&page.body).0.into_owned()
}

/// Returns the value after `charset=`.
fn charset(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let (_, rest) = lower.split_once("charset")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c))).unwrap_or(rest.len());
    Some(rest[..end].to_owned())
}
