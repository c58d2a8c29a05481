//! Copies JSON with new indentation, without building a value.
//!
//! Reports that list all stored records copy them from files. Parsing and rebuilding each one would take ten times as
//! long.

use super::Dialect;
use super::parse::{JsonError, JsonErrorKind, locate, text};
use super::token::{Text, Token, Tokens};

/// How a member of the outermost object is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberFormat {
    /// The value as it is written.
    AsWritten,
    /// The value as it is written, with this directory prepended to relative paths: strings under keys that end in
    /// `_path`.
    Beneath(String),
    /// This JSON text instead of the value.
    Text(String),
    /// The member is omitted.
    No,
}

/// Appends an object at the given nesting depth, formatted as [`super::Json::to_pretty`] does, without a final newline.
/// Keys keep their order.
///
/// `show` is called for each member with its key and, if the value is a string without escapes, that string. Non-finite
/// numbers become `null`.
///
/// # Errors
/// Fails if the bytes are not an object in [`Dialect::Lenient`]. Part of it may have been appended.
pub fn reprint(
    bytes: &[u8],
    depth: usize,
    out: &mut Vec<u8>,
    show: impl FnMut(&str, Option<&str>) -> MemberFormat,
) -> Result<(), JsonError> {
    let text = text(bytes)?;
    let mut printer = Printer { tokens: Tokens::new(text, Dialect::Lenient), depth, out };
    printer.object(show).map_err(|kind| locate(bytes, printer.tokens.at(), kind))
}

struct Printer<'a, 'o> {
    tokens: Tokens<'a>,
    depth: usize,
    out: &'o mut Vec<u8>,
}

impl Printer<'_, '_> {
    fn object(
        &mut self,
        mut show: impl FnMut(&str, Option<&str>) -> MemberFormat,
    ) -> Result<(), JsonErrorKind> {
        if self.tokens.next()? != Token::BeginObject {
            return Err(JsonErrorKind::ExpectedObject);
        }
        self.out.push(b'{');
        self.depth += 1;
        let mut is_empty = true;
        while let Token::Key(key) = self.tokens.next()? {
            let first = self.tokens.next()?;
            let plain = if let Token::Text(text) = first { text.plain() } else { None };
            let shown = show(key.plain().unwrap_or_default(), plain);
            if shown == MemberFormat::No {
                self.tokens.skip(first)?;
                continue;
            }
            if !is_empty {
                self.out.push(b',');
            }
            is_empty = false;
            self.line_break();
            self.key(key);
            match shown {
                MemberFormat::Text(text) => {
                    let mut quoted = String::new();
                    super::write::write_string(&text, &mut quoted);
                    self.out.extend_from_slice(quoted.as_bytes());
                    self.tokens.skip(first)?;
                }
                MemberFormat::Beneath(folder) => {
                    // The directory in escaped form, without quotes, ready to be prepended to a string.
                    let mut prefix = String::new();
                    super::write::write_string(&format!("{folder}/"), &mut prefix);
                    self.value(first, Some(&prefix.as_bytes()[1..prefix.len() - 1]))?;
                }
                MemberFormat::AsWritten | MemberFormat::No => self.value(first, None)?,
            }
        }
        self.depth -= 1;
        if !is_empty {
            self.line_break();
        }
        self.out.push(b'}');
        self.tokens.next().map(|_| ())
    }

    fn line_break(&mut self) {
        self.out.push(b'\n');
        self.out.resize(self.out.len() + 2 * self.depth, b' ');
    }

    fn key(&mut self, key: Text<'_>) {
        self.out.push(b'"');
        self.out.extend_from_slice(key.raw().as_bytes());
        self.out.extend_from_slice(b"\": ");
    }

    /// Writes the value that starts with the given token. `prefix` is prepended to relative paths.
    fn value(&mut self, first: Token<'_>, prefix: Option<&[u8]>) -> Result<(), JsonErrorKind> {
        let outside = self.depth;
        let mut token = first;
        let mut is_path = false;
        // Whether the innermost array or object is still empty.
        let mut is_fresh = false;
        let mut is_behind_key = true;
        loop {
            let is_end = matches!(token, Token::EndArray | Token::EndObject);
            if is_end {
                self.depth -= 1;
            }
            if !(is_behind_key || is_end && is_fresh) {
                if !is_end && !is_fresh {
                    self.out.push(b',');
                }
                self.line_break();
            }
            is_behind_key = false;
            is_fresh = false;
            let was_path = std::mem::take(&mut is_path);
            match token {
                Token::Null | Token::End => self.out.extend_from_slice(b"null"),
                Token::Bool(true) => self.out.extend_from_slice(b"true"),
                Token::Bool(false) => self.out.extend_from_slice(b"false"),
                Token::Number(number) => {
                    let is_finite = !number.contains(['N', 'I']);
                    self.out.extend_from_slice(if is_finite { number.as_bytes() } else { b"null" });
                }
                Token::Text(text) => {
                    self.out.push(b'"');
                    if let (true, Some(prefix)) = (was_path && !text.raw().starts_with('/'), prefix) {
                        self.out.extend_from_slice(prefix);
                    }
                    self.out.extend_from_slice(text.raw().as_bytes());
                    self.out.push(b'"');
                }
                Token::Key(key) => {
                    self.key(key);
                    is_path = key.raw().ends_with("_path");
                    is_behind_key = true;
                }
                Token::BeginArray | Token::BeginObject => {
                    self.out.push(if token == Token::BeginArray { b'[' } else { b'{' });
                    self.depth += 1;
                    is_fresh = true;
                }
                Token::EndArray => self.out.push(b']'),
                Token::EndObject => self.out.push(b'}'),
            }
            if self.depth == outside && !is_behind_key {
                return Ok(());
            }
            token = self.tokens.next()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Json;
    use super::*;

    fn written(line: &str, depth: usize) -> String {
        let mut out = Vec::new();
        reprint(line.as_bytes(), depth, &mut out, |_, _| MemberFormat::AsWritten).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_record_reads_like_a_written_value() {
        let line = r#"{"a":[],"b":{ },"c":[1,{"d":"x\"}{"}],"e":NaN,"f":[-Infinity, 1.50 ],"g":"é"}"#;
        let json = Json::parse_bytes(line.as_bytes(), Dialect::Lenient).unwrap();
        let finite = json.to_pretty().replace("NaN", "null").replace("-Infinity", "null");
        assert_eq!(written(line, 0) + "\n", finite);
        assert_eq!(written("{}", 3), "{}");
    }

    #[test]
    fn paths_are_shown_beneath_a_directory() {
        let mut out = Vec::new();
        let line = br#"{"a_path":"x","p":{"q_path":"a/b","r_path":"/c","n_path":null,"z":"y_path","y":"v","l":[{"s_path":"d"}]}}"#;
        reprint(line, 0, &mut out, |key, _| match key {
            "p" => MemberFormat::Beneath("/w \"q".to_owned()),
            _ => MemberFormat::AsWritten,
        })
        .unwrap();
        let shown = Json::parse(std::str::from_utf8(&out).unwrap()).unwrap();
        let expect = r#"{"a_path":"x","p":{"l":[{"s_path":"/w \"q/d"}],"n_path":null,"q_path":"/w \"q/a/b","r_path":"/c","y":"v","z":"y_path"}}"#;
        assert_eq!(shown.to_compact(), expect);
    }

    #[test]
    fn members_are_shown_as_asked() {
        let mut out = Vec::new();
        let record = br#"{"path":"a/b","sequence":1,"x":"y\n"}"#;
        reprint(record, 1, &mut out, |key, text| match (key, text) {
            ("path", Some(text)) => MemberFormat::Text(format!("/w/{text}")),
            ("sequence", None) => MemberFormat::No,
            (_, text) => {
                assert_eq!(text, None, "escapes are not undone");
                MemberFormat::AsWritten
            }
        })
        .unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "{\n    \"path\": \"/w/a/b\",\n    \"x\": \"y\\n\"\n  }");
    }

    proptest! {
        #[test]
        fn any_object_is_written_as_its_value_would_be(
            members in prop::collection::btree_map("[a-z\"\\\\é]{0,3}", prop_oneof![
                any::<i64>().prop_map(Json::from),
                "[a-z\"\\\\{}\\[\\],:é\n]{0,8}".prop_map(Json::from),
                prop::collection::vec(any::<bool>().prop_map(Json::from), 0..3).prop_map(Json::Array),
            ], 0..6)
        ) {
            let json = Json::object([("deep", Json::Object(members.clone())), ("list", Json::Array(vec![Json::Object(members)]))]);
            prop_assert_eq!(written(&json.to_compact(), 0) + "\n", json.to_pretty());
        }
    }
}
