//! Adds the headers of every answer to those that hyper writes itself.
//!
//! hyper answers a head that it cannot read without asking the page, with a head that has no body. Nothing else that is
//! written looks like such a head: bodies of the page contain no line that ends with a carriage return.

use std::io::{self, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::http::HeaderMap;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::answer::add_headers;

/// A connection whose answers all have the headers.
pub(crate) struct WithHeaders<S> {
    stream: S,
    /// The rest of a head that was completed.
    rest: Vec<u8>,
}

impl<S> WithHeaders<S> {
    pub(crate) fn new(stream: S) -> WithHeaders<S> {
        WithHeaders { stream, rest: Vec::new() }
    }
}

/// Completes a head without a body that has none of the headers.
fn completed(written: &[u8]) -> Option<Vec<u8>> {
    let head = written.strip_suffix(b"\r\n\r\n").filter(|head| head.starts_with(b"HTTP/1.1 4"))?;
    let marker = b"content-security-policy: ";
    if head.windows(marker.len()).any(|window| window.eq_ignore_ascii_case(marker)) {
        return None;
    }
    let mut headers = HeaderMap::new();
    add_headers(&mut headers);
    let mut whole = head.to_vec();
    for (name, value) in &headers {
        let _ = write!(whole, "\r\n{name}: ");
        whole.extend_from_slice(value.as_bytes());
    }
    whole.extend_from_slice(b"\r\n\r\n");
    Some(whole)
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WithHeaders<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.rest.is_empty() {
            match completed(bytes) {
                Some(whole) => self.rest = whole,
                None => return Pin::new(&mut self.stream).poll_write(context, bytes),
            }
        }
        let Self { stream, rest } = &mut *self;
        while !rest.is_empty() {
            let count = ready!(Pin::new(&mut *stream).poll_write(context, rest))?;
            rest.drain(..count);
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WithHeaders<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}
