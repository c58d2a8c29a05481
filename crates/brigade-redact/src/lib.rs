//! Keeps secrets out of everything that is stored or shown.
//!
//! Owns the rules for what a secret looks like, the masking of text, JSON and command lines, and the [lines](Excerpt)
//! of files that are safe to show. Does not know where files are, tools or calls.
//!
//! A [`Redactor`] replaces secrets in text by `[redacted]`, keeps what names them readable (`token=[redacted]`), and
//! leaves every other byte as it is. It works on a stream: however the input is cut into pieces, the output is the
//! same. Redacting a text twice changes nothing more.
//!
//! Masked are
//!
//! * values of fields with a secret name ([`is_secret_name`]) in any quoting: `password = "x"`, `"token":"x"`,
//!   `\"token\":\"x\"`, `--token x`, `export API_KEY=x`, `<password>x</password>`;
//! * values beside a secret name: `name: DB_PASSWORD`, `value: x`; passwords of `.netrc`;
//! * cookies, signatures of URLs and webhooks, bearer and basic authorizations, names and passwords inside URLs,
//!   passwords after `curl --user`, tokens with a well-known prefix, JSON web tokens, and PEM private keys, the line
//!   `BEGIN` included;
//! * bound values ([`SecretValue`]) as they are, and base64-, hex- or URL-encoded; hex also with `:` or a blank between
//!   the bytes, base64 also in lines of 64 or 76 characters; and escaped with backslashes, as JSON and shells do, in
//!   any mixture, up to twice.
//!
//! A bound value of one or two bytes is masked only where it stands as a word, and values of up to three bytes are
//! not looked for in encoded form, because masking them would destroy harmless output without hiding anything. Not
//! found are bound values that are reversed, compressed or encoded twice, and the later lines
//! of a value whose quotes span lines (other than `"""`).
//!
//! A redactor holds back at most [`Redactor::holds_back`] bytes, however long the lines of the input are.
//!
//! ```
//! use brigade_redact::{Redactor, SecretValue};
//!
//! let redactor = Redactor::new(&[SecretValue::from("hunter2EXAMPLE")]);
//! assert_eq!(redactor.redact_str("api_key: 'a b' (hunter2EXAMPLE)"), "api_key: '[redacted]' ([redacted])");
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod anchors;
mod argv;
mod bound;
mod command;
mod excerpt;
mod json;
mod name;
mod redactor;
mod rules;
mod shape;
mod spelled;
mod stream;
mod swallow;
mod window;
mod words;

pub use argv::secret_words;
pub use command::{is_secret_command, shown_command};
pub use excerpt::{Excerpt, Source};
pub use json::secret_fields;
pub use name::{is_secret_field, is_secret_name};
pub use redactor::{MARK, Redacted, Redactor, SecretValue};
pub use shape::{SecretKind, looks_secret_value};

#[cfg(test)]
mod tests;
