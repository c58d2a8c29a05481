//! Addresses of sockets as text.

/// Writes an address as text, and returns its length and the port. Returns `None` for no address and for the address of
/// the kernel.
pub(super) fn address_text(bytes: &[u8], text: &mut [u8]) -> Option<(usize, u16)> {
    use std::io::Write;
    use std::net::{Ipv4Addr, Ipv6Addr};

    let family = i32::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
    let port = || Some(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?));
    let room = text.len();
    let mut rest = &mut *text;
    let port = match family {
        libc::AF_INET => {
            let address: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            write!(rest, "{}", Ipv4Addr::from(address)).ok()?;
            port()?
        }
        libc::AF_INET6 => {
            let address: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            write!(rest, "{}", Ipv6Addr::from(address)).ok()?;
            port()?
        }
        libc::AF_UNIX => {
            let path = bytes.get(2..).filter(|path| !path.is_empty())?;
            let (sign, name) = match path.split_first()? {
                // An abstract socket; the rest is its name.
                (0, name) => (&b"@"[..], name),
                (_, _) => (&b""[..], path.split(|byte| *byte == 0).next()?),
            };
            rest.write_all(sign).ok()?;
            rest.write_all(name).ok()?;
            0
        }
        _ => return None,
    };
    let left = rest.len();
    Some((room - left, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expect: Option<(&str, u16)>) {
        let mut text = [0u8; 128];
        let found = address_text(bytes, &mut text);
        let found = found.map(|(length, port)| (std::str::from_utf8(&text[..length]).unwrap(), port));
        assert_eq!(found, expect, "{bytes:?}");
    }

    #[test]
    fn addresses_become_text() {
        let family = |family: i32| (family as u16).to_ne_bytes();
        let four = [&family(libc::AF_INET)[..], &[0x1f, 0x90, 127, 0, 0, 1, 0, 0]].concat();
        check(&four, Some(("127.0.0.1", 8080)));
        check(&four[..6], None);
        let mut six = [&family(libc::AF_INET6)[..], &[0, 53, 0, 0, 0, 0], &[0; 16], &[0; 4]].concat();
        six[23] = 1;
        check(&six, Some(("::1", 53)));
        let local = |path: &[u8]| [&family(libc::AF_UNIX)[..], path].concat();
        check(&local(b"/run/x\0rest"), Some(("/run/x", 0)));
        check(&local(b"\0bus"), Some(("@bus", 0)));
        check(&local(b""), None);
        check(&family(libc::AF_UNSPEC), None);
        check(&family(libc::AF_NETLINK), None);
        check(&[], None);
    }
}
