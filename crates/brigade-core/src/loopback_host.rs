//! Names of this machine in the `Host` header.

use std::net::{Ipv4Addr, Ipv6Addr};

/// A `Host` that names this machine.
///
/// A page of another site whose name resolves to this machine sends its own name, so it is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopbackHost {
    /// The port; `None` for the usual one.
    pub port: Option<u16>,
}

impl LoopbackHost {
    /// Reads the value of a header. `None` if it names another machine or is not valid.
    pub fn parse(host: &str) -> Option<LoopbackHost> {
        let (is_name, port) = match host.strip_prefix('[') {
            Some(rest) => {
                let (address, port) = rest.split_once(']')?;
                (address.parse().is_ok_and(|address: Ipv6Addr| address.is_loopback()), port)
            }
            None => {
                let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
                let is_address = name.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback());
                (name.eq_ignore_ascii_case("localhost") || is_address, port)
            }
        };
        let port = match port {
            "" | ":" => None,
            port => Some(port.strip_prefix(':').filter(|port| !port.starts_with('+'))?.parse().ok()?),
        };
        is_name.then_some(LoopbackHost { port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_loopback() {
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:8766", "[::1]:1", "127.8.8.8"] {
            assert!(LoopbackHost::parse(host).is_some(), "{host}");
        }
        for host in ["", "example.com", "localhost.example.com", "127.0.0.1.nip.io", "0.0.0.0", "10.0.0.1"] {
            assert!(LoopbackHost::parse(host).is_none(), "{host}");
        }
        // Issue 14: these were mistaken for this machine.
        for host in
            ["evil.com:80@localhost", "user@localhost", "localhost:abc", "localhost:+1", "localhost:99999"]
        {
            assert!(LoopbackHost::parse(host).is_none(), "{host}");
        }
        for host in ["[::1", "[::1]x", "[::1]:x", "[localhost]", "::1", "[127.0.0.1]", "localhost:80:80"] {
            assert!(LoopbackHost::parse(host).is_none(), "{host}");
        }
    }

    #[test]
    fn the_port_of_a_host_is_read() {
        let port = |host: &str| LoopbackHost::parse(host).unwrap().port;
        assert_eq!(
            (port("localhost"), port("[::1]:7717"), port("127.0.0.1:80")),
            (None, Some(7717), Some(80))
        );
    }
}
