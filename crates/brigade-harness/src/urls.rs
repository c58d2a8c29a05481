//! URLs of servers and in words of commands: their hosts, and whether they contain secrets.

use std::borrow::Cow;

use brigade_redact::{MARK, is_token_of_user, secret_of_query};

use crate::variables::references;

/// A URL in a text, without its scheme and `://`.
struct Url<'u> {
    user: &'u str,
    host: &'u str,
    /// The path, query and fragment, including their first separator.
    rest: &'u str,
}

/// Splits the text after `://`. Returns `None` if part of the credentials could be mistaken for the host, for example
/// if a password contains an unescaped `/`, `?` or `#`.
fn split(text: &str) -> Option<Url<'_>> {
    let end = text.find(['/', '?', '#', '\\']).unwrap_or(text.len());
    let (authority, rest) = text.split_at(end);
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let has_more =
        rest.contains('@') && (!user.is_empty() || !is_surely_host(host) || rest.starts_with(['#', '\\']));
    (has_port(host) && !has_more).then_some(Url { user, host, rest })
}

/// Returns whether the text after the last colon of a host is a port or a reference.
fn has_port(host: &str) -> bool {
    let port = host.rsplit(']').next().unwrap_or_default().rsplit_once(':').map_or("", |(_, port)| port);
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    is_number(port)
        || host.contains(['$', '{', '<']) && !references(host).rest.bytes().any(|byte| byte == b'@')
}

/// Returns whether a text without `@` is almost certainly a host: a name with a domain, or this machine.
fn is_surely_host(host: &str) -> bool {
    let is_local = ["localhost", "127.0.0.1", "[::1]"].iter().any(|local| host.starts_with(local));
    let labels = || host.split('.');
    let is_label =
        |label: &str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let is_domain = |label: &str| 2 <= label.len() && label.bytes().all(|b| b.is_ascii_alphabetic());
    is_local || 2 <= labels().count() && labels().all(is_label) && labels().next_back().is_some_and(is_domain)
}

/// Returns whether the credentials and the host of a URL cannot be separated reliably.
pub(crate) fn is_unclear(url: &str) -> bool {
    url.split_once("://").is_some_and(|(_, rest)| rest.contains('@') && split(rest).is_none())
}

/// Returns where a text with spaces has URL credentials that a space, a quote or a missing scheme hides. Everything
/// from there on may belong to them.
pub(crate) fn hidden_credentials(word: &str) -> Option<usize> {
    let last = word.rfind('@').filter(|_| word.contains("//"))?;
    // Search for the next `@` and `:` once instead of for each `//`.
    let (mut next_at, mut next_colon) = (CharSearch::new('@'), CharSearch::new(':'));
    let without_scheme = word.match_indices("//").find(|(at, _)| {
        let before = word[..*at].chars().next_back();
        let start = at + 2;
        let end = next_at.from(word, start);
        let colon = next_colon.from(word, start);
        before.is_none_or(|before| "=\"', ".contains(before))
            && end < word.len()
            && colon < end
            && !word[start..].starts_with(char::is_whitespace)
    });
    let split_up = word.match_indices("://").take_while(|(at, _)| at + 3 <= last).find(|(at, _)| {
        let rest = &word[at + 3..];
        let end =
            rest.find(|c: char| "/?#\\;&|()<>\"'`".contains(c) || c.is_whitespace()).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let is_cut = rest.starts_with(char::is_whitespace) && !is_surely_host(authority);
        !authority.contains('@') && at + 3 + end <= last && (is_cut || !has_port(authority))
    });
    without_scheme.map(|(at, _)| at + 2).into_iter().chain(split_up.map(|(at, _)| at + 3)).min()
}

/// The next offset of a character in a text that is scanned forwards.
struct CharSearch {
    wanted: char,
    found: Option<usize>,
}

impl CharSearch {
    fn new(wanted: char) -> CharSearch {
        CharSearch { wanted, found: None }
    }

    /// Returns the first offset at or after `start`, or the length of the text. `start` never decreases.
    fn from(&mut self, text: &str, start: usize) -> usize {
        match self.found {
            Some(found) if start <= found => found,
            _ => {
                *self.found.insert(text[start..].find(self.wanted).map_or(text.len(), |found| start + found))
            }
        }
    }
}

/// Returns the host of a URL in lower case, with the port if given; `None` if it is not a plain host.
pub(crate) fn host_of(url: &str) -> Option<String> {
    let (_, rest) = url.trim().split_once("://")?;
    let host = split(rest)?.host;
    let is_plain = !host.is_empty()
        && host.len() <= 260
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte));
    is_plain.then(|| host.to_ascii_lowercase())
}

/// Returns whether a text can be the address of a server: `http` or `https`, with a host. Only the part before the
/// first reference is checked.
pub(crate) fn is_address(url: &str) -> bool {
    let url = url.trim();
    let is_whole = references(url).found.is_empty();
    let plain = if is_whole { url } else { url.split(['$', '{']).next().unwrap_or_default() };
    let Some((scheme, rest)) = plain.split_once("://") else {
        return !is_whole && plain.bytes().all(|byte| byte.is_ascii_alphanumeric());
    };
    let is_web = ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web));
    let is_reachable = match rest.find(['/', '?', '#', '\\']) {
        // The end of the host is ambiguous.
        _ if is_unclear(url) => true,
        Some(at) => is_host(&rest[..at]),
        None => !is_whole || is_host(rest),
    };
    is_web && is_reachable
}

/// Returns whether a text is a host, with or without user and port.
fn is_host(text: &str) -> bool {
    let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
    let (is_name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, port)) => (name.parse::<std::net::Ipv6Addr>().is_ok(), port),
        None => {
            let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
            (!name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || ".-_".contains(c)), port)
        }
    };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    is_name && (matches!(port, "" | ":") || port.strip_prefix(':').is_some_and(is_port))
}

/// Returns whether a URL has a password or a token before its host. A user name does not count.
pub(crate) fn has_literal_user(url: &str) -> bool {
    let user = url.split_once("://").and_then(|(_, rest)| split(rest)).map_or("", |url| url.user);
    let found = references(user);
    found.is_literal() && (user.contains(':') || is_token_of_user(&found.rest))
}

/// Returns whether a query parameter of a URL is a secret by its name.
pub(crate) fn has_secret_query(url: &str) -> bool {
    secret_of_query(url).is_some()
}

/// Removes user, path and query from a URL in a word. URLs of packages (`git+https://…`) and files keep their path.
pub(crate) fn without_path(word: &str) -> Cow<'_, str> {
    // Searching for a colon first is faster, because most words are not URLs.
    let Some(at) = word.find(':').and_then(|_| word.find("://")) else { return word.into() };
    let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
    let start = word[..at].trim_end_matches(is_of_scheme).len();
    let scheme = &word[start..at];
    let before = &word[..at + 3];
    let Some(Url { host, rest: path, .. }) = split(&word[at + 3..]) else {
        return format!("{before}{MARK}").into();
    };
    if keeps_path(scheme) {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        return format!("{before}{host}{path}").into();
    }
    let has_more = !matches!(path, "" | "/");
    format!("{before}{host}{}", if has_more { format!("/{MARK}") } else { path.to_owned() }).into()
}

/// Returns whether URLs of a scheme name packages or files.
fn keeps_path(scheme: &str) -> bool {
    scheme == "file" || scheme.starts_with("git+") || scheme == "git"
}

/// Returns what [`without_path`] removes: user, path and query of a URL in a word.
pub(crate) fn rest_of_url(word: &str) -> String {
    let Some((_, after)) = word.split_once("://") else { return String::new() };
    let Some(Url { user, rest, .. }) = split(after) else { return after.to_owned() };
    let cut = if word.contains("git+") || word.contains("git://") || word.contains("file://") {
        rest.find(['?', '#']).map_or("", |at| &rest[at..])
    } else {
        rest
    };
    format!("{user}{cut}")
}

/// Returns whether a URL in a word may contain a secret: in its user, its query, or a random-looking path segment.
pub(crate) fn may_hold_secret(word: &str) -> bool {
    let Some((_, rest)) = word.find(':').and_then(|_| word.split_once("://")) else { return false };
    if is_unclear(word) {
        return references(rest).is_literal();
    }
    let Some(Url { rest: path, .. }) = split(rest) else { return false };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let is_random = |step: &str| {
        24 <= step.len()
            && step.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
            && 4 <= step.bytes().filter(u8::is_ascii_digit).count()
            && step.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    has_literal_user(word) || has_secret_query(word) || path.split('/').any(is_random)
}

#[cfg(test)]
mod tests {
    use brigade_redact::is_secret_command;

    use super::*;

    #[test]
    fn a_part_of_a_password_is_never_the_host() {
        for (url, host) in [
            ("https://me:Zq12#x@h.example/mcp", None),
            ("https://me:Zq12/x@h.example/mcp", None),
            ("https://me:Zq12?x@h.example/mcp", None),
            ("https://me:Zq12\\x@h.example/mcp", None),
            ("https://me:12/x@h.example/mcp", None),
            ("https://zq12/x@h.example/mcp", None),
            ("https://a@zq12/x@h.example/mcp", None),
            ("https://me:zq12", None),
            ("https://me:p@h.example:80/mcp", Some("h.example:80")),
            ("https://h.example/@scope/server/mcp", Some("h.example")),
            ("http://localhost:3000/@scope/x", Some("localhost:3000")),
            ("http://[::1]:80/x", Some("[::1]:80")),
        ] {
            assert_eq!(host_of(url).as_deref(), host, "{url}");
            let is_shown = without_path(url).contains("12");
            assert!(!is_shown, "{url}: {}", without_path(url));
        }
        assert_eq!(without_path("http://${HOST}:${PORT}/x"), "http://${HOST}:${PORT}/[redacted]");
        assert_eq!(without_path("git+https://a:b#c@h/x"), "git+https://[redacted]");
    }

    #[test]
    fn only_a_web_address_with_a_host_is_one() {
        for url in [
            "https://h.example/mcp",
            "HTTPS://H.example",
            " http://localhost:3000/ ",
            "http://[::1]:80/x",
            "http://bücher.example/",
            "http://my_host:8080?x=1",
            "https://me:p@h.example/x",
            "https://me:a/b@h.example/x",
            "${URL}",
            "{env:URL}/mcp",
            "http://${HOST}:${PORT}/mcp",
            "https://${HOST:-h.example}/mcp",
            "{file:~/url.txt}",
            "https://{file:~/host}/mcp",
            "$SCHEME://h/",
            "https://h.example/${PATH}",
        ] {
            assert!(is_address(url), "{url}");
        }
        for url in [
            "not a url",
            "h.example/mcp",
            "ftp://h.example/",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "https://",
            "https:///mcp",
            "https://:80/mcp",
            "https://h:port/",
            "https://h:99999/",
            "https://h:+80/",
            "https://a b/",
            "http://[::1/",
            "http://[zz]/",
            "http://[::1]x/",
            "ftp://${HOST}/",
            "not a url/${X}",
            "ftp://h/${X}",
        ] {
            assert!(!is_address(url), "{url}");
        }
    }

    #[test]
    fn credentials_that_are_cut_apart_are_found() {
        for (word, at) in [
            ("postgres://u:pa ssX@h/x", Some(11)),
            ("--db=postgres://u:12 34X@h/x", Some(16)),
            ("//u:X@h/", Some(2)),
            ("--db=//u:X@h/", Some(7)),
            ("curl http://localhost:3000/x; npx @scope/pkg", None),
            ("curl http://host:80/x && npx -y @scope/pkg@1", None),
            ("npx https://h.example a@b.c", None),
            ("node // @x", None),
        ] {
            assert_eq!(hidden_credentials(word), at, "{word}");
        }
    }

    /// The rule is in `brigade-redact`, so that all files are checked in the same way.
    #[test]
    fn a_token_is_distinguished_from_a_user_name() {
        for (url, is_secret) in [
            ("https://S3cr3tV4lue99@github.com/a/b", true),
            ("git+https://S3cr3tV4lue99@github.com/a/b", true),
            ("https://me:S3cr3tV4lue99@h/x", true),
            ("https://CNRYT0K3Nq7@h/x", true),
            ("https://${USER}@h/x", false),
            ("https://user@host/x", false),
            ("https://jane.doe1985@host/x", false),
            ("https://deploy-bot-2024@host/x", false),
            ("ssh://git@host/x", false),
            ("https://host/S3cr3tV4lue99", false),
        ] {
            assert_eq!(has_literal_user(url), is_secret, "{url}");
            assert_eq!(may_hold_secret(url), is_secret, "{url}");
            let command = format!("git clone {url}");
            assert_eq!(is_secret_command(&command), is_secret, "{url}");
        }
    }

    #[test]
    fn urls_that_may_hold_secrets_are_recognized() {
        for word in [
            "https://me:pass@h/x",
            "--url=https://h/x?api_key=abc",
            "https://h/x?sv=2026&sig=q1w2e3r4",
            "https://h/x?jwt=q1",
            "https://h/api/s/ZWJj12345678abcdefghijkl/mcp",
            "https://h/0123456789abcdef0123456789abcdef",
        ] {
            assert!(may_hold_secret(word), "{word}");
        }
        for word in [
            "https://mcp.linear.app/sse",
            "https://${USER}@h/x",
            "https://h/x?api_key=${KEY}&readonly=true",
            "https://h/x?session=main&sig=${SIG}",
            "git+https://github.com/some-organization-2026/a-quite-long-name-of-a-repository",
            "no-url/0123456789abcdef0123456789abcdef",
        ] {
            assert!(!may_hold_secret(word), "{word}");
        }
    }
}
