//! Decides which pages may be fetched, by the text of a URL and by the addresses of its host.

use std::fmt::{self, Display, Formatter};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use crate::ErrorCode;

/// The maximum length of a URL, in bytes.
const MAX_URL_BYTES: usize = 4000;

/// Why a URL of a page is refused. The messages do not quote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WebProblem {
    /// Programs would read it as something else than a URL of a page.
    #[error("this is not a plain http or https URL")]
    NotPlain,
    /// It holds a user or a password.
    #[error("the URL holds credentials")]
    Credentials,
    /// The policy does not name its host.
    #[error("`domains` in [web] of .brigade/tools/policy.toml does not name the host, or not with this port")]
    NotAllowed,
    /// Its host has an address that is not public.
    #[error("the host has an address of this machine or of a private network")]
    Private,
}

impl WebProblem {
    /// Returns the code of the refusal.
    pub fn code(self) -> ErrorCode {
        match self {
            WebProblem::NotPlain => ErrorCode::UrlNotPlain,
            WebProblem::Credentials => ErrorCode::CredentialsInUrl,
            WebProblem::NotAllowed => ErrorCode::DomainNotAllowed,
            WebProblem::Private => ErrorCode::AddressPrivate,
        }
    }
}

/// The URL of a page in a normal form, without user and fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebUrl {
    is_secure: bool,
    host: Host,
    port: u16,
    /// Path and query. Begins with `/`.
    target: String,
}

/// The host to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A name, in lower case and without a dot at its end.
    Name(String),
    /// An address.
    Address(IpAddr),
}

impl Display for Host {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

impl Host {
    /// Parses the host of a URL. `None` if programs read it differently.
    fn read(text: &str) -> Option<Host> {
        if let Some(address) = text.strip_prefix('[') {
            let address: Ipv6Addr = address.strip_suffix(']')?.parse().ok()?;
            return Some(Host::Address(IpAddr::V6(address)));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let is_label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        if 253 < name.len() || !name.split('.').all(is_label) {
            return None;
        }
        let last = name.rsplit('.').next().unwrap_or_default();
        // Some programs read `2130706433`, `0x7f.1` and `127.1` as addresses, others as names.
        let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
            || last.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match is_number {
            true => Some(Host::Address(IpAddr::V4(name.parse().ok()?))),
            false => Some(Host::Name(name)),
        }
    }
}

/// Reads a host with a port, if there is one.
fn authority(text: &str) -> Option<(Host, Option<u16>)> {
    let end = text.rfind(']').unwrap_or_default();
    let (host, port) = match text[end..].find(':') {
        Some(colon) => (&text[..end + colon], Some(&text[end + colon + 1..])),
        None => (text, None),
    };
    let port = match port {
        None => None,
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(port.parse().ok().filter(|port| *port != 0)?)
        }
        Some(_) => return None,
    };
    Some((Host::read(host)?, port))
}

impl WebUrl {
    /// Reads a URL.
    ///
    /// # Errors
    /// Fails if it is not `http` or `https`, if programs may read it differently, or if it holds credentials.
    pub fn parse(text: &str) -> Result<WebUrl, WebProblem> {
        let is_odd = |c: char| !c.is_ascii_graphic() || "\\\"<>^`{|}".contains(c);
        if MAX_URL_BYTES < text.len() || text.contains(is_odd) {
            return Err(WebProblem::NotPlain);
        }
        let (scheme, rest) = text.split_once("://").ok_or(WebProblem::NotPlain)?;
        let is_secure = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(WebProblem::NotPlain),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (place, target) = rest.split_at(end);
        if place.contains('@') {
            return Err(WebProblem::Credentials);
        }
        let (host, port) = authority(place).ok_or(WebProblem::NotPlain)?;
        let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
        Ok(WebUrl { is_secure, host, port: port.unwrap_or(if is_secure { 443 } else { 80 }), target })
    }

    /// Resolves a reference in this page.
    ///
    /// # Errors
    /// As [`WebUrl::parse`].
    pub fn join(&self, reference: &str) -> Result<WebUrl, WebProblem> {
        let reference = reference.split('#').next().unwrap_or_default();
        let scheme = if self.is_secure { "https" } else { "http" };
        let begins_with_scheme = reference.split(['/', '?']).next().is_some_and(|first| first.contains(':'));
        if begins_with_scheme {
            return WebUrl::parse(reference);
        }
        if reference.starts_with("//") {
            return WebUrl::parse(&format!("{scheme}:{reference}"));
        }
        let (path, _) = self.target.split_once('?').unwrap_or((&self.target, ""));
        let target = match reference.chars().next() {
            None => self.target.clone(),
            Some('/') => reference.to_owned(),
            Some('?') => format!("{path}{reference}"),
            Some(_) => {
                let folder = &path[..=path.rfind('/').unwrap_or_default()];
                format!("{folder}{reference}")
            }
        };
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, format!("?{query}")),
            None => (&*target, String::new()),
        };
        let origin = format!("{scheme}://{}:{}", self.host, self.port);
        WebUrl::parse(&format!("{origin}{}{query}", without_dots(path)))
    }

    /// Returns the host.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns whether the connection is encrypted.
    pub fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// Returns scheme, host and port, such as `https://mcp.example:8443`, without the port if it is the usual one.
    pub fn origin(&self) -> String {
        let whole = self.to_string();
        whole[..whole.len() - self.target.len()].to_owned()
    }

    /// Returns path and query.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Returns whether the host is this machine.
    pub fn is_loopback(&self) -> bool {
        match &self.host {
            Host::Name(name) => name == "localhost" || name.ends_with(".localhost"),
            Host::Address(address) => address.is_loopback(),
        }
    }

    /// Checks the host against the domains of the policy.
    ///
    /// # Errors
    /// Returns [`WebProblem::NotAllowed`].
    pub fn check(&self, domains: &[String]) -> Result<Reach, WebProblem> {
        let found = domains.iter().filter_map(|domain| WebDomain::read(domain));
        let reaches = found.filter_map(|domain| domain.reach(self));
        // An address that the policy names is allowed, even in a private network.
        reaches.max().ok_or(WebProblem::NotAllowed)
    }
}

impl Display for WebUrl {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (scheme, usual) = if self.is_secure { ("https", 443) } else { ("http", 80) };
        write!(f, "{scheme}://{}", self.host)?;
        if self.port != usual {
            write!(f, ":{}", self.port)?;
        }
        f.write_str(&self.target)
    }
}

/// Removes `.` and `..` from a path.
fn without_dots(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let mut is_folder = false;
    for part in path.split('/').skip(1) {
        is_folder = matches!(part, "" | "." | "..");
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            "" => parts.push(""),
            part => parts.push(part),
        }
    }
    if is_folder && parts.last().is_some_and(|last| !last.is_empty()) {
        parts.push("");
    }
    format!("/{}", parts.join("/"))
}

/// Which addresses a page of an allowed host may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Only public addresses, because the policy names its host or every host.
    Open,
    /// Any address, because the policy names its address and port.
    Named,
}

/// An entry of `domains` in the policy: `*`, `host` or `*.host`, optionally with a port, or an address with a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebDomain {
    /// `None` for every host with public addresses.
    host: Option<Host>,
    /// Whether it matches only hosts below the name.
    is_beneath: bool,
    port: Option<u16>,
}

impl WebDomain {
    /// Reads an entry of the policy. `None` if it is not valid.
    pub fn read(text: &str) -> Option<WebDomain> {
        let (is_beneath, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let is_any = rest == "*" || rest.starts_with("*:");
        if is_any && !is_beneath {
            // Any name serves to read the port.
            let (_, port) = authority(&rest.replacen('*', "any", 1))?;
            return Some(WebDomain { host: None, is_beneath, port });
        }
        let (host, port) = authority(rest)?;
        if matches!(host, Host::Address(_)) && (is_beneath || port.is_none()) {
            return None;
        }
        Some(WebDomain { host: Some(host), is_beneath, port })
    }

    fn reach(&self, url: &WebUrl) -> Option<Reach> {
        let usual = if url.is_secure { 443 } else { 80 };
        if self.port.unwrap_or(usual) != url.port {
            return None;
        }
        let Some(host) = &self.host else { return Some(Reach::Open) };
        match (host, &url.host) {
            (Host::Address(named), Host::Address(address)) => (named == address).then_some(Reach::Named),
            (Host::Name(named), Host::Name(name)) if self.is_beneath => {
                let above = name.strip_suffix(named.as_str())?.strip_suffix('.')?;
                (!above.is_empty()).then_some(Reach::Open)
            }
            (Host::Name(named), Host::Name(name)) => (named == name).then_some(Reach::Open),
            (Host::Address(_), Host::Name(_)) | (Host::Name(_), Host::Address(_)) => None,
        }
    }
}

/// Returns whether an address is public: not loopback, private, link-local, multicast or reserved.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        // This network, private ones, those of carriers, this machine, the link (and metadata of clouds).
        (0 | 10 | 127, ..) | (100, 64..=127, _) | (169, 254, _) | (172, 16..=31, _) | (192, 168, _) => false,
        // Protocols, examples, relays of 6to4, benches, groups, what is kept for later, everybody.
        (192, 0, 0 | 2) | (192, 88, 99) | (198, 18..=19, _) | (198, 51, 100) | (203, 0, 113) => false,
        (224.., ..) => false,
        _ => true,
    }
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        // An IPv4 address that a translator makes of it.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => v4(high, low),
        // Teredo, ORCHID, examples, and other protocols and documents.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // Of the rest, only these are handed out: neither mapped ones, nor unique-local, link-local and groups.
        [0x2000..=0x3fff, ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> WebUrl {
        WebUrl::parse(text).unwrap_or_else(|problem| panic!("{text}: {problem}"))
    }

    #[track_caller]
    fn refused(text: &str, problem: WebProblem) {
        assert_eq!(WebUrl::parse(text), Err(problem), "{text}");
    }

    #[test]
    fn a_url_is_read_in_one_way_or_not_at_all() {
        for (text, shown) in [
            ("HTTPS://Docs.Example.:443/a?b#c", "https://docs.example/a?b"),
            ("http://a.example", "http://a.example/"),
            ("http://a.example:8080?x=/y@z", "http://a.example:8080/?x=/y@z"),
            ("http://127.0.0.1:80/", "http://127.0.0.1/"),
            ("http://[::1]:81/x", "http://[::1]:81/x"),
        ] {
            assert_eq!(url(text).to_string(), shown, "{text}");
        }
        for text in [
            "",
            "a.example",
            "ftp://a.example/",
            "file:///etc/passwd",
            "//a.example",
            "http:/a",
            "http:///a",
            "http://a.example:/x/:y\\",
            "http://a b/",
            "http://a.example/\n",
            "http://\u{0430}.example/",
            "http://a..example/",
            "http://-a.example/",
            "http://a.example:0/",
            "http://a.example:99999/",
            "http://a.example:8a/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0x7f.1/",
            "http://127.1/",
            "http://0177.0.0.1/",
            "http://1.2.3.4.5/",
            "http://[::1/",
            "http://[1.2.3.4]/",
            "http://[fe80::1%25eth0]/",
            "http://a%2eexample/",
            "http://a.example\\@b.example/",
            "javascript:alert(1)",
            "http://a.example,b/",
        ] {
            refused(text, WebProblem::NotPlain);
        }
        refused(&format!("http://a.example/{}", "x".repeat(MAX_URL_BYTES)), WebProblem::NotPlain);
        for text in ["https://user@a.example/", "https://u:p@a.example/", "http://a.example@127.0.0.1/"] {
            refused(text, WebProblem::Credentials);
        }
    }

    #[test]
    fn references_lead_from_where_they_stand() {
        let page = url("https://a.example:8443/docs/one?q");
        for (reference, expect) in [
            ("two", "https://a.example:8443/docs/two"),
            ("../x/./y/", "https://a.example:8443/x/y/"),
            ("../../../..", "https://a.example:8443/"),
            ("/r?s#t", "https://a.example:8443/r?s"),
            ("?z", "https://a.example:8443/docs/one?z"),
            ("#top", "https://a.example:8443/docs/one?q"),
            ("//b.example/c", "https://b.example/c"),
            ("http://c.example", "http://c.example/"),
        ] {
            assert_eq!(page.join(reference).unwrap().to_string(), expect, "{reference}");
        }
        assert_eq!(page.join("javascript:x"), Err(WebProblem::NotPlain));
        assert_eq!(page.join("mailto:a@b"), Err(WebProblem::NotPlain));
        assert_eq!(page.join("//u@b.example/"), Err(WebProblem::Credentials));
    }

    #[track_caller]
    fn check(domain: &str, text: &str, expect: Option<Reach>) {
        assert_eq!(url(text).check(&[domain.to_owned()]).ok(), expect, "{domain}: {text}");
    }

    #[test]
    fn hosts_are_compared_by_whole_labels() {
        let open = Some(Reach::Open);
        check("docs.example", "https://docs.example/a", open);
        check("Docs.Example", "http://DOCS.example./a", open);
        check("docs.example", "https://a.docs.example/", None);
        check("docs.example", "https://evildocs.example/", None);
        check("docs.example", "https://docs.example.evil.test/", None);
        check("docs.example", "https://docs.example:8443/", None);
        check("docs.example:8443", "https://docs.example:8443/", open);
        check("docs.example:8443", "https://docs.example/", None);
        check("*.example", "https://a.b.example/", open);
        check("*.example", "https://example/", None);
        check("*.docs.example", "https://evildocs.example/", None);
        check("127.0.0.1:8080", "http://127.0.0.1:8080/", Some(Reach::Named));
        check("127.0.0.1:8080", "http://127.0.0.1:8081/", None);
        check("[::1]:80", "http://[0:0::1]/", Some(Reach::Named));
        check("docs.example", "https://93.184.216.34/", None);
        // Every host, but only at its public addresses.
        check("*", "https://a.b.example/", open);
        check("*", "http://127.0.0.1/", open);
        check("*", "https://a.example:8443/", None);
        check("*:8443", "https://a.example:8443/", open);
        for text in [
            "",
            "**",
            "*.*",
            "*:x",
            "*.",
            "127.0.0.1",
            "[::1]",
            "*.127.0.0.1:80",
            "a/b",
            "https://a",
            "a b",
            "u@a",
            "a:b",
        ] {
            assert_eq!(WebDomain::read(text), None, "{text}");
        }
        assert_eq!(url("https://a.example/").check(&[]), Err(WebProblem::NotAllowed));
    }

    #[test]
    fn only_addresses_of_the_open_internet_are_public() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::127.0.0.1",
            "::8.8.8.8",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:a00:1::",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "4000::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.0.1",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }
}
