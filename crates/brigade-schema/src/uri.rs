//! URI references (RFC 3986) and JSON pointers (RFC 6901), as far as `$id` and `$ref` need them.

/// Splits a reference at its fragment.
pub(crate) fn split(reference: &str) -> (&str, &str) {
    reference.split_once('#').unwrap_or((reference, ""))
}

/// Resolves a reference without a fragment against a base.
pub(crate) fn join(base: &str, reference: &str) -> String {
    let is_scheme = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    };
    let scheme_of = |text: &str| {
        text.split_once(':').map(|(scheme, _)| scheme.len()).filter(|end| is_scheme(&text[..*end]))
    };
    if scheme_of(reference).is_some() {
        return reference.to_owned();
    }
    let after_scheme = scheme_of(base).map_or(0, |end| end + 1);
    if reference.starts_with("//") {
        return format!("{}{reference}", &base[..after_scheme]);
    }
    let start = match base[after_scheme..].strip_prefix("//") {
        Some(rest) => base.len() - rest.len() + rest.find(['/', '?']).unwrap_or(rest.len()),
        None => after_scheme,
    };
    let path = base[start..].split('?').next().unwrap_or_default();
    if reference.starts_with('?') {
        return format!("{}{path}{reference}", &base[..start]);
    }
    let directory = match path.rfind('/') {
        _ if reference.starts_with('/') => "",
        Some(end) => &path[..=end],
        None if after_scheme < start => "/",
        None => "",
    };
    let (reference, query) = match reference.find('?') {
        Some(at) => reference.split_at(at),
        None => (reference, ""),
    };
    format!("{}{}{query}", &base[..start], without_dots(&format!("{directory}{reference}")))
}

/// Removes the segments `.` and `..`.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." => {}
            ".." if 1 < kept.len() || kept.first().is_some_and(|first| !first.is_empty()) => {
                kept.pop();
            }
            ".." => {}
            segment => {
                kept.push(segment);
                continue;
            }
        }
        if is_last {
            kept.push("");
        }
    }
    kept.join("/")
}

pub(crate) fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || bytes.next().and_then(|b| char::from(b).to_digit(16));
        let (high, low) = (digit()?, digit()?);
        decoded.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(decoded).ok()
}

/// Decodes the `~0` and `~1` of a JSON pointer.
pub(crate) fn unescape(token: &str) -> Option<String> {
    let mut plain = String::with_capacity(token.len());
    let mut chars = token.chars();
    while let Some(c) = chars.next() {
        plain.push(match c {
            '~' => match chars.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            },
            other => other,
        });
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_as_in_rfc_3986() {
        for (base, reference, expect) in [
            ("", "a.json", "a.json"),
            ("http://a/b/c/d?q", "http://x/y", "http://x/y"),
            ("http://a/b/c/d?q", "g", "http://a/b/c/g"),
            ("http://a/b/c/d?q", "./g", "http://a/b/c/g"),
            ("http://a/b/c/d?q", "/g", "http://a/g"),
            ("http://a/b/c/d?q", "//g", "http://g"),
            ("http://a/b/c/d?q", "?y", "http://a/b/c/d?y"),
            ("http://a/b/c/d?q", "g?y", "http://a/b/c/g?y"),
            ("http://a/b/c/d?q", "..", "http://a/b/"),
            ("http://a/b/c/d?q", "../../../g", "http://a/g"),
            ("http://a", "g", "http://a/g"),
            ("http://a?q", "g", "http://a/g"),
            ("urn:uuid:1", "urn:uuid:2", "urn:uuid:2"),
            ("a/b.json", "c.json", "a/c.json"),
        ] {
            assert_eq!(join(base, reference), expect, "{base} {reference}");
        }
    }
}
