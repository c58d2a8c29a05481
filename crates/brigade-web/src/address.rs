//! Where the page may be served.

use std::net::SocketAddr;

use brigade::core::web_url::WebUrl;
use brigade::{Error, ErrorKind};

/// Checks that only this machine reaches an address.
///
/// # Errors
/// Returns [`ErrorKind::Usage`] for other addresses.
pub fn check_address(address: SocketAddr) -> Result<(), Error> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    let message = format!("the page is served on loopback addresses only, and {address} is not one");
    Err(Error::new(ErrorKind::Usage, message))
}

/// The address of a reverse proxy in front of the page, such as `https://brigade.example`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicOrigin(String);

impl PublicOrigin {
    /// Reads an `https` address without a path.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`] for anything else.
    pub fn parse(text: &str) -> Result<PublicOrigin, Error> {
        let url = WebUrl::parse(text).ok().filter(|url| url.is_secure() && url.target() == "/");
        url.map(|url| PublicOrigin(url.origin())).ok_or_else(|| {
            let message = "the public origin is not an https address without a path";
            Error::new(ErrorKind::Usage, message)
        })
    }

    /// Returns scheme, host and port.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns host and port, as in a `Host` header.
    pub fn authority(&self) -> &str {
        self.0.trim_start_matches("https://")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_are_served() {
        for address in ["127.0.0.1:7717", "[::1]:0", "127.9.9.9:1"] {
            assert!(check_address(address.parse().unwrap()).is_ok(), "{address}");
        }
        for address in ["0.0.0.0:7717", "[::]:7717", "192.168.1.2:80"] {
            let error = check_address(address.parse().unwrap()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{address}");
        }
    }

    #[test]
    fn a_public_origin_is_https_without_a_path() {
        #[track_caller]
        fn check(text: &str, expect: Option<&str>) {
            let origin = PublicOrigin::parse(text).ok();
            assert_eq!(origin.as_ref().map(PublicOrigin::authority), expect, "{text}");
        }
        check("https://brigade.example", Some("brigade.example"));
        check("https://brigade.example/", Some("brigade.example"));
        check("https://Brigade.Example:8443", Some("brigade.example:8443"));
        for wrong in ["http://brigade.example", "https://brigade.example/path", "brigade.example", "", "null"]
        {
            check(wrong, None);
        }
    }
}
