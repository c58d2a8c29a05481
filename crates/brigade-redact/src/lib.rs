//! Keeps secrets out of everything that is stored or shown.
//!
//! It owns the rules for what a secret looks like, the masking of text, JSON and command lines, and the
//! [lines](Excerpt) of files that are safe to show. It does not know tools or calls, or where files are.
//!
//! A [`Redactor`] replaces secrets in text with `[redacted]`, and leaves every other byte unchanged. It works on
//! streams: the output does not depend on how the input is split. There are three layers:
//!
//! 1. **Bound values** ([`SecretValue`]): exactly these, in each of the forms that are computed once per value: raw,
//!    quoted for JSON and for a shell, URL-encoded, in base64 at each of three alignments, and in hexadecimal.
//! 2. **Token shapes**: the rules in `rules.toml`, JSON web tokens, private keys in PEM, names and passwords in URLs,
//!    and `Authorization` headers.
//! 3. **Names**: values after a secret name ([`is_secret_name`]).
//!
//! | text | layers |
//! |---|---|
//! | raw logs: [`Redactor::bound_only`] | 1 |
//! | text that agents and people read: [`Redactor::new`] | 1, 2 |
//! | stored output of programs: [`Redactor::for_output`] | 1, 2, and 3 if the value looks like a secret |
//! | settings and definitions: [`Redactor::for_settings`], [`Redactor::redact_fields`] | 1, 2, 3 |
//! | command lines: [`Redactor::redact_command`], [`shown_command`] | 1, 2, 3, and the passwords of programs |
//!
//! A bound value of one or two bytes is masked only as a whole word. Values of up to three bytes are searched only in
//! their raw form.
//!
//! A redactor holds back at most [`Redactor::holds_back`] bytes (twice as many for very long values), however long the
//! lines of the input are.
//!
//! ```
//! use brigade_redact::{Redactor, SecretValue};
//!
//! let redactor = Redactor::new(&[SecretValue::from("hunter2EXAMPLE")]);
//! assert_eq!(redactor.redact_str("api_key: 'x1' (hunter2EXAMPLE)"), "api_key: 'x1' ([redacted])");
//! assert_eq!(redactor.for_output().redact_str("api_key: 'a1-b2c3'"), "api_key: '[redacted]'");
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod argv;
mod bound;
mod command;
mod cut;
mod excerpt;
mod find;
mod first;
mod json;
mod judge;
mod kind;
mod lines;
mod name;
mod named;
mod redactor;
mod scan;
mod shapes;
mod stream;
mod text;
mod tokens;
mod window;
mod words;

pub use argv::{is_secret_value, secret_at, secret_of_query, secret_words};
pub use command::{is_secret_command, shown_command, shows};
pub use excerpt::{Excerpt, Source};
pub use first::FirstSecret;
pub use json::secret_fields;
pub use judge::{looks_like_shape, looks_like_token, looks_secret_value, shown_name};
pub use kind::SecretKind;
pub use name::{is_secret_field, is_secret_name};
pub use redactor::{MARK, Redacted, Redactor, SecretValue};
pub use text::is_token_of_user;
pub use tokens::{ShellToken, shell_tokens};

#[cfg(test)]
mod tests;
