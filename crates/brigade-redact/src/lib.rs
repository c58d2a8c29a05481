//! Keeps secrets out of everything that is stored or shown.
//!
//! Owns the rules for what a secret looks like, the masking of text, JSON and command lines, and the [lines](Excerpt)
//! of files that are safe to show. Knows nothing about tools or calls, or where files are.
//!
//! A [`Redactor`] replaces secrets in text with `[redacted]`, keeps the names before them readable
//! (`token=[redacted]`), and leaves every other byte unchanged. It works on streams: the output does not depend on how
//! the input is split. Redacting a text again leaves masked what is masked.
//!
//! It masks
//!
//! * values of fields with a secret name ([`is_secret_name`]) in any quoting: `password = "x"`, `"token":"x"`,
//!   `\"token\":\"x\"`, `--token x`, `export API_KEY=x`, `<password>x</password>`;
//! * values beside a secret name: `name: DB_PASSWORD`, `value: x`; passwords in `.netrc`;
//! * cookies, signatures of URLs and webhooks, bearer and basic authorizations, names and passwords inside URLs,
//!   passwords after `curl --user` and behind `IDENTIFIED BY` in statements for databases, tokens with a well-known
//!   prefix, JSON web tokens, and PEM private keys, including the line `BEGIN`;
//! * bound values ([`SecretValue`]), plain or encoded in base64, hexadecimal or URL encoding. Hexadecimal may have `:`
//!   or a space between bytes, base64 may be broken into lines of 64 or 76 characters. Characters may be escaped with
//!   backslashes, as in JSON and shells, in any mixture and up to twice.
//!
//! A bound value of one or two bytes is masked only as a whole word. Values of up to three bytes are not searched in
//! encoded form, because masking those would destroy harmless output. Bound values that are reversed, compressed or
//! encoded twice are not found, nor are the later lines of a value whose quotes span lines (other than `"""`).
//!
//! A redactor holds back at most [`Redactor::holds_back`] bytes (of very long values twice as many), however long the
//! lines of the input are.
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
mod beside;
mod bound;
mod command;
mod container;
mod curl;
mod cut;
mod excerpt;
mod json;
mod line;
mod name;
mod option;
mod redactor;
mod rules;
mod shape;
mod spelled;
mod stream;
mod swallow;
mod taker;
mod tokens;
mod window;
mod words;

pub use argv::secret_words;
pub use beside::{
    Pair, VARIABLE_OPTIONS, is_header_option, is_variable, is_variable_option, name_of_pair, named_value,
    object_with_values, pair_at, secret_of_query,
};
pub use command::{is_secret_command, shown_command, shows};
pub use container::{container_options, is_of_bundle, is_program, options_of_container};
pub use curl::header_of_curl;
pub use excerpt::{Excerpt, Source};
pub use json::secret_fields;
pub use line::{key_in, secret_of_inner};
pub use name::{is_secret_field, is_secret_name};
pub use option::{is_secret_by_option, reads_like_words};
pub use redactor::{MARK, Redacted, Redactor, SecretValue};
pub use rules::is_token_of_user;
pub use shape::{SecretKind, looks_like_token, looks_secret_value, shown_name};
pub use tokens::{ShellToken, shell_tokens};

#[cfg(test)]
mod tests;
