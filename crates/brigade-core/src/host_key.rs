//! The secret key of a host, and the MACs that it makes: HMAC-SHA256 over a domain and content.

use std::fmt::{self, Write as _};

use sha2::{Digest as _, Sha256};

/// The length of a key in bytes.
const KEY_BYTES: usize = 32;

/// The block size of SHA-256.
const BLOCK_BYTES: usize = 64;

/// A secret key. Records that approve something carry a MAC made with it, so that those of other hosts do not count.
///
/// The hash states after the padded key are kept, so that a MAC costs little more than hashing its content.
#[derive(Clone)]
pub struct HostKey {
    inner: Sha256,
    outer: Sha256,
}

impl HostKey {
    /// Creates a key from secret bytes.
    pub fn from_bytes(bytes: &[u8; KEY_BYTES]) -> HostKey {
        let padded = |pad: u8| {
            let mut block = [pad; BLOCK_BYTES];
            block.iter_mut().zip(bytes).for_each(|(byte, secret)| *byte ^= secret);
            Sha256::new_with_prefix(block)
        };
        HostKey { inner: padded(0x36), outer: padded(0x5c) }
    }

    /// Returns the key that is derived from this one for a purpose, such as one workspace.
    #[must_use]
    pub fn derive(&self, domain: &str, content: &[u8]) -> HostKey {
        HostKey::from_bytes(&self.digest(domain, content))
    }

    /// Returns the MAC of content in a domain, such as `brigade.call.v1`, as 64 hex digits.
    pub fn mac(&self, domain: &str, content: &[u8]) -> String {
        self.digest(domain, content).iter().fold(String::with_capacity(2 * KEY_BYTES), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    /// Returns whether this is the MAC of the content. The time that it takes says nothing about the MAC.
    pub fn verify(&self, domain: &str, content: &[u8], mac: &str) -> bool {
        let expected = self.mac(domain, content);
        let difference = expected.bytes().zip(mac.bytes()).fold(0, |all, (left, right)| all | (left ^ right));
        // Keeps the compiler from leaving the loop early.
        expected.len() == mac.len() && std::hint::black_box(difference) == 0
    }

    fn digest(&self, domain: &str, content: &[u8]) -> [u8; KEY_BYTES] {
        let mut inner = self.inner.clone();
        // The length separates the domain from the content.
        inner.update((domain.len() as u64).to_be_bytes());
        inner.update(domain);
        inner.update(content);
        let mut outer = self.outer.clone();
        outer.update(inner.finalize());
        outer.finalize().into()
    }
}

impl fmt::Debug for HostKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_key_domain_and_content_verify() {
        let key = HostKey::from_bytes(&[1; 32]);
        let mac = key.mac("a", b"bc");
        assert!(key.verify("a", b"bc", &mac));
        assert!(!HostKey::from_bytes(&[2; 32]).verify("a", b"bc", &mac));
        assert!(!key.derive("workspace", b"/w").verify("a", b"bc", &mac));
        for (domain, content) in [("ab", &b"c"[..]), ("a", b"bd"), ("b", b"bc"), ("", b"abc")] {
            assert!(!key.verify(domain, content, &mac), "{domain} {content:?}");
        }
        for wrong in ["", &mac[1..], &mac.to_uppercase(), &format!("{mac}0")] {
            assert!(!key.verify("a", b"bc", wrong), "{wrong}");
        }
        assert_eq!(format!("{key:?}"), "HostKey");
    }

    /// Computed with `openssl dgst -sha256 -mac HMAC`.
    #[test]
    fn a_mac_is_an_hmac_sha256() {
        let mac = HostKey::from_bytes(&[0x0b; 32]).mac("d", b"Hi There");
        assert_eq!(mac, "fd226d147f459ef776ae55ba7ca9a29d12c9cbd33047c39a78b194231ec441e0");
    }
}
