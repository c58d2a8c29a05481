//! Which addresses a connection may use. A name is looked up once, and only the checked addresses are connected to.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;

use brigade_core::web_url::{Host, is_public};
use thiserror::Error;
use ureq::Agent;
use ureq::config::{Config, ConfigBuilder};
use ureq::http::Uri;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::typestate::AgentScope;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// The maximum number of addresses that are tried for a host.
const MAX_ADDRESSES: usize = 8;

/// The maximum size of a response header, in bytes.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// Why a host is not connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AddressProblem {
    /// It has no address.
    #[error("the host has no address")]
    None,
    /// One of its addresses is not public.
    #[error("the host has an address of this machine or of a private network")]
    Private,
}

/// Returns the addresses of a host. All of them must be public, or allowed by `is_named`.
///
/// # Errors
/// Fails without an address, or if one is internal: the public ones could be a disguise.
pub fn addresses(
    host: &Host,
    port: u16,
    is_named: impl Fn(IpAddr) -> bool,
) -> Result<Vec<SocketAddr>, AddressProblem> {
    let mut found: Vec<SocketAddr> = match host {
        Host::Address(address) => vec![SocketAddr::new(*address, port)],
        Host::Name(name) => {
            (name.as_str(), port).to_socket_addrs().map(Iterator::collect).unwrap_or_default()
        }
    };
    if found.is_empty() {
        return Err(AddressProblem::None);
    }
    if !found.iter().all(|address| is_public(address.ip()) || is_named(address.ip())) {
        return Err(AddressProblem::Private);
    }
    found.truncate(MAX_ADDRESSES);
    Ok(found)
}

/// Returns settings for requests: TLS by the roots of the system, no proxy of the environment, no cookies, and no
/// redirect that was not checked.
pub fn configuration() -> ConfigBuilder<AgentScope> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(provider)
        .build();
    Agent::config_builder()
        .proxy(None)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .max_response_header_size(MAX_HEAD_BYTES)
        .user_agent(concat!("brigade/", env!("CARGO_PKG_VERSION")))
        .accept_encoding("identity")
        .tls_config(tls)
}

/// Resolves every name to addresses that were checked before.
#[derive(Debug)]
pub struct PinnedResolver(pub Vec<SocketAddr>);

impl Resolver for PinnedResolver {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let mut addresses = self.empty();
        for address in &self.0 {
            addresses.push(*address);
        }
        Ok(addresses)
    }
}
