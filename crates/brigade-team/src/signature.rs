//! Signed approvals.
//!
//! | input | why |
//! | --- | --- |
//! | id of the team, workspace | an approval counts for no other queue |
//! | id and revision of the call | it counts for no other call, and for nothing that came before or after |
//! | shared part, host parts | it counts for what the reviewer was shown |
//! | member, decision, time | who decided what, and when |

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use brigade_call::Binding;
use brigade_core::Fingerprint;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use crate::error::TeamError;

/// Returns the key of this account, if it has one.
pub type Signer = Arc<dyn Fn() -> Result<Option<SigningKey>, TeamError> + Send + Sync>;

/// The approval of one member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The member.
    pub member: String,
    /// The public key, as 64 hex digits.
    pub public_key: String,
    /// The [shared part](Binding::shared_part), as hex digits.
    pub shared: String,
    /// The [host parts](Binding::host_part) that the reviewer was shown.
    pub hosts: Vec<String>,
    /// When, as text.
    pub signed_at: String,
    /// The signature.
    pub signature: Vec<u8>,
}

/// The call that an approval is of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) team: &'a str,
    pub(crate) workspace: &'a str,
    pub(crate) call: &'a str,
    pub(crate) revision: i64,
}

impl Approval {
    /// Signs the approval of a binding, and of what other hosts would run.
    pub(crate) fn sign(
        subject: Subject<'_>,
        member: &str,
        binding: &Binding,
        hosts: &[Fingerprint],
        signed_at: String,
        key: &SigningKey,
    ) -> Approval {
        let parts =
            std::iter::once(binding.host_part()).chain(hosts.iter().copied()).map(|part| part.to_hex());
        let parts: BTreeSet<String> = parts.collect();
        let mut approval = Approval {
            member: member.to_owned(),
            public_key: hex(key.verifying_key().as_bytes()),
            shared: binding.shared_part().to_hex(),
            hosts: parts.into_iter().collect(),
            signed_at,
            signature: Vec::new(),
        };
        approval.signature = key.sign(&approval.statement(subject)).to_bytes().to_vec();
        approval
    }

    /// Returns whether the signature is valid for this call, and covers this binding.
    pub(crate) fn covers(&self, subject: Subject<'_>, binding: &Binding) -> bool {
        self.names(binding) && self.is_signed(subject)
    }

    /// Returns whether it is about this binding.
    pub(crate) fn names(&self, binding: &Binding) -> bool {
        self.shared == binding.shared_part().to_hex() && self.hosts.contains(&binding.host_part().to_hex())
    }

    /// Returns whether the signature is valid for this call.
    pub(crate) fn is_signed(&self, subject: Subject<'_>) -> bool {
        parse_key(&self.public_key).is_some_and(|key| {
            Signature::from_slice(&self.signature)
                .is_ok_and(|signature| key.verify_strict(&self.statement(subject), &signature).is_ok())
        })
    }

    /// Returns the signed bytes.
    fn statement(&self, subject: Subject<'_>) -> Vec<u8> {
        Fingerprint::builder("brigade.team-approval.v1")
            .text("team", subject.team)
            .text("workspace", subject.workspace)
            .text("call", subject.call)
            .text("revision", subject.revision.to_string().as_str())
            .text("shared", self.shared.as_str())
            .list("hosts", &self.hosts)
            .text("member", self.member.as_str())
            .text("decision", "approve")
            .text("signed_at", self.signed_at.as_str())
            .finish()
            .to_hex()
            .into_bytes()
    }
}

/// Writes bytes as hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Reads a key from hex digits.
fn parse_key(text: &str) -> Option<VerifyingKey> {
    let digits = text.as_bytes().chunks(2);
    let bytes: Option<Vec<u8>> =
        digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect();
    VerifyingKey::from_bytes(&bytes?.try_into().ok()?).ok()
}

/// Returns the fingerprint of a key, as `keys init` and receipts name it.
pub fn fingerprint_of_key(public_key: &str) -> Option<String> {
    Some(Fingerprint::of_bytes(parse_key(public_key)?.as_bytes()).to_hex())
}

#[cfg(test)]
mod tests {
    use brigade_call::Caller;

    use super::*;

    #[test]
    fn a_signature_counts_for_nothing_else() {
        let mark = Fingerprint::of_bytes(b"x");
        let binding = Binding::new(mark, mark, mark, mark, Caller::CommandLine);
        let subject = Subject { team: "t", workspace: "w", call: "call-1", revision: 1 };
        let key = SigningKey::from_bytes(&[7; 32]);
        let approval = Approval::sign(subject, "rev-1", &binding, &[], "now".to_owned(), &key);
        assert!(approval.covers(subject, &binding));
        let others = [
            Subject { team: "u", ..subject },
            Subject { workspace: "v", ..subject },
            Subject { call: "call-2", ..subject },
            Subject { revision: 2, ..subject },
        ];
        assert!(others.iter().all(|other| !approval.covers(*other, &binding)));
        let (mut changed, mut elsewhere) = (binding.clone(), binding.clone());
        changed.source.push_str("other");
        elsewhere.policy = Fingerprint::of_bytes(b"y");
        assert!(!approval.covers(subject, &changed), "another shared part");
        assert!(!approval.covers(subject, &elsewhere), "another host part");
        let hosts = [elsewhere.host_part()];
        let both = Approval::sign(subject, "rev-1", &binding, &hosts, "now".to_owned(), &key);
        assert!(
            both.covers(subject, &binding) && both.covers(subject, &elsewhere),
            "an offer that was shown"
        );
        assert!(!both.covers(subject, &changed), "another shared part");
        for forged in [
            Approval { member: "rev-2".to_owned(), ..approval.clone() },
            Approval { signed_at: "later".to_owned(), ..approval.clone() },
            Approval { hosts: [&approval.hosts[..], &["00".to_owned()]].concat(), ..approval.clone() },
            Approval {
                public_key: hex(SigningKey::from_bytes(&[8; 32]).verifying_key().as_bytes()),
                ..approval
            },
        ] {
            assert!(!forged.covers(subject, &binding), "{forged:?}");
        }
    }
}
