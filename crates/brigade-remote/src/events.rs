//! Reads a stream of server-sent events.

use std::io::BufRead;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its name; empty for a message.
    pub(crate) name: String,
    /// Its data.
    pub(crate) data: String,
    /// The id by which the stream can be continued.
    pub(crate) id: Option<String>,
}

/// Why a stream could not be read on.
#[derive(Debug)]
pub(crate) enum StreamProblem {
    /// An event is longer than the limit.
    TooLong,
    /// The connection broke.
    Broken,
}

/// Reads the next event; `None` at the end. An event has at most `limit` bytes.
pub(crate) fn next_event(stream: &mut impl BufRead, limit: usize) -> Result<Option<Event>, StreamProblem> {
    let mut event = Event::default();
    let mut has_data = false;
    let mut size = 0;
    while let Some(line) = next_line(stream, limit)? {
        size += line.len();
        if limit < size {
            return Err(StreamProblem::TooLong);
        }
        if line.is_empty() {
            if has_data {
                return Ok(Some(event));
            }
            // An event without data is only an id.
            event.name.clear();
            if event.id.is_some() {
                return Ok(Some(event));
            }
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => event.name = value.to_owned(),
            "data" => {
                if has_data {
                    event.data.push('\n');
                }
                has_data = true;
                event.data.push_str(value);
            }
            "id" if !value.contains('\0') => event.id = Some(value.to_owned()),
            _ => {}
        }
    }
    Ok(None)
}

/// Reads a line that ends in CR, LF or both, without its end.
fn next_line(stream: &mut impl BufRead, limit: usize) -> Result<Option<String>, StreamProblem> {
    let mut line = Vec::new();
    loop {
        let part = stream.fill_buf().map_err(|_| StreamProblem::Broken)?;
        if part.is_empty() {
            return Ok(None);
        }
        let end = part.iter().position(|byte| *byte == b'\n');
        line.extend_from_slice(&part[..end.unwrap_or(part.len())]);
        let used = end.map_or(part.len(), |end| end + 1);
        stream.consume(used);
        if limit < line.len() {
            return Err(StreamProblem::TooLong);
        }
        if end.is_some() {
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            let line = String::from_utf8_lossy(line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line));
            return Ok(Some(line.into_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, String, Option<String>)> {
        let mut stream = text.as_bytes();
        let mut found = Vec::new();
        while let Some(event) = next_event(&mut stream, 64).unwrap() {
            found.push((event.name, event.data, event.id));
        }
        found
    }

    #[test]
    fn events_have_names_data_and_ids() {
        let event = |name: &str, data: &str, id: Option<&str>| {
            (name.to_owned(), data.to_owned(), id.map(str::to_owned))
        };
        assert_eq!(read("data: {}\n\n"), [event("", "{}", None)]);
        assert_eq!(read(": ping\n\nevent: endpoint\r\ndata: /m\r\n\r\n"), [event("endpoint", "/m", None)]);
        assert_eq!(read("id: 7\ndata: a\ndata:b\nretry: 1\n\n"), [event("", "a\nb", Some("7"))]);
        assert_eq!(read("id: 8\n\n"), [event("", "", Some("8"))]);
        // An incomplete event is dropped.
        assert_eq!(read("data: a"), []);
    }

    #[test]
    fn a_long_event_is_an_error() {
        for text in [format!("data: {}\n\n", "x".repeat(99)), "x".repeat(99), "data: 0123456789\n".repeat(9)]
        {
            let problem = next_event(&mut text.as_bytes(), 64);
            assert!(matches!(problem, Err(StreamProblem::TooLong)), "{text}");
        }
    }
}
