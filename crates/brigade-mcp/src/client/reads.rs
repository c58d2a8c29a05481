//! Lists and reads resources and prompts.

use std::collections::HashSet;
use std::sync::Arc;

use brigade_catalog::Reads;
use brigade_core::Json;
use brigade_redact::Redactor;

use super::conversation::{ConnectedServer, Failure, MAX_TOOLS, PAGES, completed, spoken_json};
use super::flight::Flight;
use super::link::Link;
use super::lists::lists_of;
use super::server::{RequestProgress, Server};
use super::session::clean;
use crate::exchange::{McpErrorKind, McpFault};
use crate::offered::OfferSet;
use crate::server::RequestTerms;

/// The code of the error for a method that a server does not have.
const NO_METHOD: i64 = -32601;

/// The resources and prompts that a kept server lists.
pub struct LiveOffers {
    /// The lists.
    pub offered: OfferSet,
    link: Arc<Link>,
    /// How many list changes the server had announced by then.
    changes: u64,
}

impl LiveOffers {
    /// Returns whether the server has announced a list change since then. False for a server that has ended.
    pub fn has_changed(&self) -> bool {
        self.changes < self.link.state().offer_changes
    }
}

impl Server {
    /// Lists resources and templates, or prompts.
    ///
    /// Blocks.
    ///
    /// # Errors
    /// Fails if the server does not list them within the limits.
    pub fn offered(
        &self,
        reads: Reads,
        terms: &RequestTerms,
        redactor: &Redactor,
    ) -> Result<LiveOffers, McpFault> {
        let masks = redactor.clone();
        let listed = self.within(&RequestProgress::new(self, terms, redactor), move |session| async move {
            let greeted = session.greeted().await?;
            let changes = session.link.state().offer_changes;
            let offered = offered(&greeted, reads, &masks).await?;
            Ok(LiveOffers { offered, link: session.link.clone(), changes })
        });
        listed.map_err(|failure| {
            let message = match failure.fault.message.as_str() {
                "" => "the server did not send its lists in time",
                message => message,
            };
            McpFault { message: clean(message, redactor), ..failure.fault }
        })
    }
}

/// Creates the request to read what the arguments of a call name.
pub(super) fn request(reads: Reads, arguments: &Json) -> Flight {
    let given = [reads.argument(), "arguments"].into_iter();
    let params = given.filter_map(|name| Some((name, arguments.get(name)?.clone())));
    Flight::new(reads.method(), Json::object(params))
}

/// Reads the response to such a request.
pub(super) fn read(reads: Reads, response: &Json) -> Result<Json, Failure> {
    let result = completed(response)?;
    match result.get(reads.result()).and_then(Json::as_array) {
        Some(rows) if rows.iter().all(|row| row.as_object().is_some()) => Ok(result),
        _ => Err(Failure::new(McpErrorKind::MalformedMessage, "the result does not answer the request")),
    }
}

/// Reads every page of the lists of resources and templates, or of prompts. Returns an empty list if the server does
/// not support it.
pub(super) async fn offered(
    greeted: &ConnectedServer,
    reads: Reads,
    redactor: &Redactor,
) -> Result<OfferSet, Failure> {
    let mut offered = OfferSet::default();
    for list in lists_of(reads) {
        let fail = |message: String| Failure::new(McpErrorKind::ListFailed, message);
        let mut cursors = HashSet::new();
        let mut cursor: Option<String> = None;
        let mut rows = 0;
        loop {
            let params = cursor.clone().map(|cursor| Json::object([("cursor", Json::from(cursor))]));
            let request = Arc::new(Flight::new(list.method, params.unwrap_or_default()));
            let response = greeted.ask(&request).await?;
            if let Some(error) = response.get("error") {
                if error.get("code").and_then(Json::as_i64) == Some(NO_METHOD) {
                    break;
                }
                return Err(fail(format!("{} was answered with {}", list.method, spoken_json(error))));
            }
            let result = response.get("result");
            let page = result.and_then(|result| result.get(list.member)).and_then(Json::as_array);
            let Some(page) = page else {
                return Err(fail(format!("the answer to {} has no list", list.method)));
            };
            rows += page.len();
            page.iter().for_each(|row| (list.take)(&mut offered, row, redactor));
            let next = result.and_then(|result| result.get("nextCursor")).and_then(Json::as_str);
            match next.filter(|next| !next.is_empty()) {
                None => break,
                Some(next)
                    if MAX_TOOLS < rows || PAGES < cursors.len() || !cursors.insert(next.to_owned()) =>
                {
                    return Err(fail(format!("the pages of {} do not end", list.method)));
                }
                Some(next) => cursor = Some(next.to_owned()),
            }
        }
    }
    Ok(offered)
}
