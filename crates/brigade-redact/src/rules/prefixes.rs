//! Tokens with a well-known prefix.

use crate::rules::Found;
use crate::shape::SecretKind;
use crate::swallow::Swallow;
use crate::window::{More, Window};

/// A kind of token.
pub(crate) struct Prefix {
    text: &'static [u8],
    issuer: &'static str,
    class: fn(u8) -> bool,
    length: Length,
    needs: Needs,
}

/// How many bytes follow the prefix.
#[derive(Clone, Copy)]
enum Length {
    Exactly(usize),
    AtLeast(usize),
}

/// What the first bytes after a prefix must contain if the prefix is also a common word.
#[derive(Clone, Copy)]
enum Needs {
    Nothing,
    Digit,
    /// A digit or an uppercase letter.
    NotOnlyLowerCase,
}

use Length::{AtLeast, Exactly};
use Needs::{Digit, NotOnlyLowerCase, Nothing};

const fn token(
    text: &'static [u8],
    issuer: &'static str,
    class: fn(u8) -> bool,
    length: Length,
    needs: Needs,
) -> Prefix {
    Prefix { text, issuer, class, length, needs }
}

fn alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn dashed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn dotted(byte: u8) -> bool {
    dashed(byte) || byte == b'.'
}

/// The known prefixes. The lengths are slightly below the current ones, so that a changed format is still found.
pub(crate) const PREFIXES: &[Prefix] = &[
    token(b"AKIA", "AWS", upper, Exactly(16), Nothing),
    token(b"ASIA", "AWS", upper, Exactly(16), Nothing),
    token(b"ABIA", "AWS", upper, Exactly(16), Nothing),
    token(b"ACCA", "AWS", upper, Exactly(16), Nothing),
    token(b"ATATT3", "Atlassian", |b| dashed(b) || b == b'=', AtLeast(30), Nothing),
    token(b"AIza", "Google", dashed, AtLeast(30), Nothing),
    token(b"AGE-SECRET-KEY-1", "age", upper, AtLeast(30), Nothing),
    token(b"EAACEdEose0cBA", "Facebook", alphanumeric, AtLeast(10), Nothing),
    token(b"GOCSPX-", "Google", dashed, AtLeast(20), Nothing),
    token(b"SG.", "SendGrid", dotted, AtLeast(32), NotOnlyLowerCase),
    token(b"brigade_", "Brigade", hex, Exactly(64), Nothing),
    token(b"dckr_pat_", "Docker", dashed, AtLeast(20), Nothing),
    token(b"dop_v1_", "DigitalOcean", alphanumeric, AtLeast(40), Nothing),
    token(b"doo_v1_", "DigitalOcean", alphanumeric, AtLeast(40), Nothing),
    token(b"dor_v1_", "DigitalOcean", alphanumeric, AtLeast(40), Nothing),
    token(b"figd_", "Figma", dashed, AtLeast(30), Nothing),
    token(b"gho_", "GitHub", word, AtLeast(20), Nothing),
    token(b"ghp_", "GitHub", word, AtLeast(20), Nothing),
    token(b"ghr_", "GitHub", word, AtLeast(20), Nothing),
    token(b"ghs_", "GitHub", dotted, AtLeast(20), Nothing),
    token(b"ghu_", "GitHub", word, AtLeast(20), Nothing),
    token(b"github_pat_", "GitHub", word, AtLeast(22), Nothing),
    token(b"gldt-", "GitLab", dotted, AtLeast(18), Nothing),
    token(b"glpat-", "GitLab", dotted, AtLeast(18), Nothing),
    token(b"glptt-", "GitLab", dotted, AtLeast(18), Nothing),
    token(b"glrt-", "GitLab", dotted, AtLeast(18), Nothing),
    token(b"glsa_", "Grafana", word, AtLeast(30), Nothing),
    token(b"gsk_", "Groq", alphanumeric, AtLeast(40), Nothing),
    token(b"hf_", "Hugging Face", alphanumeric, AtLeast(30), Nothing),
    token(b"hvb.", "Vault", dashed, AtLeast(24), Nothing),
    token(b"hvs.", "Vault", dashed, AtLeast(24), Nothing),
    token(b"lin_api_", "Linear", alphanumeric, AtLeast(32), Nothing),
    token(b"npm_", "npm", alphanumeric, AtLeast(30), Nothing),
    token(b"pypi-", "PyPI", dashed, AtLeast(40), NotOnlyLowerCase),
    token(b"rk_live_", "Stripe", alphanumeric, AtLeast(16), Nothing),
    token(b"rk_test_", "Stripe", alphanumeric, AtLeast(16), Nothing),
    token(b"rubygems_", "RubyGems", alphanumeric, AtLeast(40), Nothing),
    token(b"shpat_", "Shopify", alphanumeric, AtLeast(30), Nothing),
    token(b"shpss_", "Shopify", alphanumeric, AtLeast(30), Nothing),
    token(b"sk-", "an API with sk- keys", dashed, AtLeast(20), NotOnlyLowerCase),
    token(b"sk_live_", "Stripe", alphanumeric, AtLeast(16), Nothing),
    token(b"sk_test_", "Stripe", alphanumeric, AtLeast(16), Nothing),
    token(b"sq0atp-", "Square", dashed, AtLeast(18), Nothing),
    token(b"sq0csp-", "Square", dashed, AtLeast(18), Nothing),
    token(b"tskey-", "Tailscale", dashed, AtLeast(20), Digit),
    token(b"whsec_", "Stripe", |b| alphanumeric(b) || b"+/=".contains(&b), AtLeast(24), Nothing),
    token(b"xapp-", "Slack", dashed, AtLeast(10), Digit),
    token(b"xoxa-", "Slack", dashed, AtLeast(10), Digit),
    token(b"xoxb-", "Slack", dashed, AtLeast(10), Digit),
    token(b"xoxe-", "Slack", dashed, AtLeast(10), Digit),
    token(b"xoxe.", "Slack", dotted, AtLeast(10), Digit),
    token(b"xoxp-", "Slack", dashed, AtLeast(10), Digit),
    token(b"xoxr-", "Slack", dashed, AtLeast(10), Digit),
    token(b"xoxs-", "Slack", dashed, AtLeast(10), Digit),
    token(b"ya29.", "Google", dotted, AtLeast(20), Nothing),
];

impl Prefix {
    /// Returns the anchor of the prefix. The anchor of a short prefix starts one byte earlier.
    pub(crate) const fn anchor(&self) -> [u8; 4] {
        match self.text {
            [a, b, c, d, ..] => [*a, *b, *c, *d],
            [a, b, c] => [b'?', *a, *b, *c],
            _ => panic!("a prefix has at least three bytes"),
        }
    }

    /// Finds a token whose anchor is at a position.
    pub(super) fn find(&self, window: Window<'_>, anchor: usize) -> Result<Option<Found>, More> {
        /// How many bytes are searched for the required characters.
        const SEARCHED: usize = 64;
        let start = anchor + usize::from(self.text.len() < 4);
        if !window.begins_word(start) || !window.has(start, self.text)? {
            return Ok(None);
        }
        let body = start + self.text.len();
        let end = window.skip(body, SEARCHED, self.class)?;
        let text = &window.bytes[body..end];
        let long_enough = match self.length {
            Exactly(length) => text.len() == length && !window.at(end)?.is_some_and(alphanumeric),
            AtLeast(length) => length <= text.len(),
        };
        let has_needed = match self.needs {
            Nothing => true,
            Digit => text.iter().any(u8::is_ascii_digit),
            NotOnlyLowerCase => text.iter().any(|b| b.is_ascii_digit() || b.is_ascii_uppercase()),
        };
        let found = Found {
            start,
            swallow: Swallow::Class(self.text.len(), self.class),
            kind: SecretKind::TokenPrefix { issuer: self.issuer },
        };
        Ok((long_enough && has_needed).then_some(found))
    }
}
