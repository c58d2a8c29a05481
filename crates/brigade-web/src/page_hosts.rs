//! Which `Host` and `Origin` headers are ours.

use brigade::core::LoopbackHost;

use crate::address::PublicOrigin;

/// The port of http, which a `Host` may leave out.
const HTTP_PORT: u16 = 80;

/// The names of the page.
#[derive(Clone, Debug)]
pub(crate) struct PageHosts {
    pub(crate) port: u16,
    pub(crate) public_origin: Option<PublicOrigin>,
}

impl PageHosts {
    /// Returns whether a `Host` names this page.
    pub(crate) fn is_host(&self, host: &str) -> bool {
        self.is_public_host(host)
            || LoopbackHost::parse(host).is_some_and(|host| host.port.unwrap_or(HTTP_PORT) == self.port)
    }

    /// Returns whether a `Host` is that of the reverse proxy.
    pub(crate) fn is_public_host(&self, host: &str) -> bool {
        let public = self.public_origin.as_ref();
        public.is_some_and(|public| public.authority().eq_ignore_ascii_case(host))
    }

    /// Returns whether a page of this origin is ours.
    pub(crate) fn is_origin(&self, origin: &str) -> bool {
        let public = self.public_origin.as_ref();
        public.is_some_and(|public| public.as_str() == origin)
            || origin.strip_prefix("http://").is_some_and(|host| {
                let host = LoopbackHost::parse(host);
                host.is_some_and(|host| host.port.unwrap_or(HTTP_PORT) == self.port)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> PageHosts {
        PageHosts { port: 7717, public_origin: Some(PublicOrigin::parse("https://brigade.example").unwrap()) }
    }

    #[test]
    fn only_our_hosts_are_served() {
        let hosts = hosts();
        for host in ["127.0.0.1:7717", "localhost:7717", "[::1]:7717", "brigade.example", "BRIGADE.example"] {
            assert!(hosts.is_host(host), "{host}");
        }
        for host in [
            "",
            "127.0.0.1",
            "127.0.0.1:7718",
            "localhost",
            "evil.example:7717",
            "127.0.0.1.nip.io:7717",
            "brigade.example:7717",
            "user@127.0.0.1:7717",
        ] {
            assert!(!hosts.is_host(host), "{host}");
        }
    }

    #[test]
    fn only_our_origins_may_change_anything() {
        let hosts = hosts();
        for origin in ["http://127.0.0.1:7717", "http://localhost:7717", "https://brigade.example"] {
            assert!(hosts.is_origin(origin), "{origin}");
        }
        for origin in [
            "null",
            "",
            "http://127.0.0.1:7718",
            "https://127.0.0.1:7717",
            "http://brigade.example",
            "https://brigade.example:444",
            "https://evil.example",
            "http://127.0.0.1:7717/",
        ] {
            assert!(!hosts.is_origin(origin), "{origin}");
        }
    }
}
