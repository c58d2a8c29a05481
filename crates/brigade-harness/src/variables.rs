//! Finds references that a harness would expand, and leaves them as they are.
//!
//! Nothing is expanded. Only plain names are shown, because the text around them may be a secret.

use std::borrow::Cow;

use brigade_redact::{MARK, is_secret_name, looks_secret_value};

/// Words before a colon that are kinds of references instead of names of variables.
const KINDS: &[&str] = &["env", "file", "input", "config", "command", "secrets"];

/// The references of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct References<'t> {
    /// The references as written, without default values.
    pub(crate) found: Vec<String>,
    /// The text without the references. Default values are kept.
    pub(crate) rest: Cow<'t, str>,
    /// The text with masked default values.
    pub(crate) shown: Cow<'t, str>,
    /// The text without default values.
    pub(crate) bare: Cow<'t, str>,
    /// Whether a reference has a default value.
    pub(crate) has_default: bool,
    /// Whether a default value is a secret, by the name of the variable or by its form.
    pub(crate) has_secret_default: bool,
    /// Texts such as `$name` that may be a reference or a value, as written. All texts keep them.
    pub(crate) mentioned: Vec<String>,
}

impl References<'_> {
    /// Returns whether the text has more than references, separators and the name of a scheme.
    pub(crate) fn is_literal(&self) -> bool {
        if self.found.is_empty() {
            return !self.rest.trim().is_empty();
        }
        let words = self.rest.split(|c: char| !c.is_alphanumeric());
        let scheme = |word: &&str| {
            !["bearer", "basic", "token", "apikey"].contains(&word.to_ascii_lowercase().as_str())
        };
        4 <= words.filter(scheme).map(|word| word.chars().count()).sum::<usize>()
    }
}

/// Finds the references of a text.
pub(crate) fn references(text: &str) -> References<'_> {
    if !text.contains(['$', '{']) {
        let plain = Cow::Borrowed(text);
        return References {
            rest: plain.clone(),
            shown: plain.clone(),
            bare: plain,
            ..References::default()
        };
    }
    let mut result = ReferenceScan::default();
    let ends = LastEnds { brace: text.rfind('}'), braces: text.rfind("}}") };
    let mut at = 0;
    while let Some(next) = text[at..].find(['$', '{']).map(|found| at + found) {
        let before = &text[at..next];
        result.rest.push_str(before);
        result.shown.push_str(before);
        result.bare.push_str(before);
        let rest = &text[next..];
        let length = match reference(rest, text[..next].chars().next_back(), ends.behind(next)) {
            // A token where a name is expected.
            Some((reference, length)) if looks_secret_value(&reference.shown).is_some() => {
                result.rest.push_str(&rest[..length]);
                result.shown.push_str(MARK);
                result.bare.push_str(MARK);
                result.has_default = true;
                result.has_secret_default = true;
                result.found.push("${…}".to_owned());
                length
            }
            Some((reference, length)) => {
                let whole = &rest[..length];
                match reference.default.filter(|default| !default.is_empty()) {
                    Some(default) => {
                        result.has_secret_default |=
                            is_secret_name(&reference.shown) || looks_secret_value(default).is_some();
                        // The default value ends before the closing brace.
                        result.shown.push_str(&whole[..whole.len() - 1 - default.len()]);
                        result.shown.push_str(MARK);
                        result.shown.push('}');
                        result.bare.push_str(&reference.shown);
                    }
                    None => {
                        result.shown.push_str(whole);
                        result.bare.push_str(whole);
                    }
                }
                result.rest.push_str(reference.default.unwrap_or_default());
                result.has_default |= reference.default.is_some_and(|default| !default.is_empty());
                result.found.push(reference.shown);
                length
            }
            None => {
                result.mentioned.extend(mention(rest, text[..next].chars().next_back()).map(str::to_owned));
                result.rest.push_str(&rest[..1]);
                result.shown.push_str(&rest[..1]);
                result.bare.push_str(&rest[..1]);
                1
            }
        };
        at = next + length;
    }
    result.rest.push_str(&text[at..]);
    result.shown.push_str(&text[at..]);
    result.bare.push_str(&text[at..]);
    let ReferenceScan { found, rest, shown, bare, has_default, has_secret_default, mentioned } = result;
    let (rest, shown, bare) = (Cow::Owned(rest), Cow::Owned(shown), Cow::Owned(bare));
    References { found, rest, shown, bare, has_default, has_secret_default, mentioned }
}

/// [`References`] while the text is scanned.
#[derive(Default)]
struct ReferenceScan {
    found: Vec<String>,
    rest: String,
    shown: String,
    bare: String,
    has_default: bool,
    has_secret_default: bool,
    mentioned: Vec<String>,
}

/// The last closing delimiters of references. They avoid a scan to the end for each unclosed reference.
#[derive(Clone, Copy)]
struct LastEnds {
    brace: Option<usize>,
    braces: Option<usize>,
}

impl LastEnds {
    fn behind(self, at: usize) -> LastEnds {
        LastEnds { brace: self.brace.filter(|end| at < *end), braces: self.braces.filter(|end| at < *end) }
    }
}

struct Reference<'t> {
    shown: String,
    default: Option<&'t str>,
}

/// Reads the reference at the start of a text, and its length.
fn reference(text: &str, before: Option<char>, ends: LastEnds) -> Option<(Reference<'_>, usize)> {
    let plain = |shown: String| Reference { shown, default: None };
    if let Some(inner) = text.strip_prefix("${{") {
        ends.braces?;
        let end = inner.find("}}")?;
        let name = inner[..end].trim();
        let shown = if is_path_like(name) { format!("${{{{ {name} }}}}") } else { "${{ … }}".to_owned() };
        return Some((plain(shown), 3 + end + 2));
    }
    if let Some(inner) = text.strip_prefix("${") {
        ends.brace?;
        let end = inner.find('}')?;
        return Some((braced(&inner[..end]), 2 + end + 1));
    }
    if let Some(inner) = text.strip_prefix("$(") {
        return Some((plain("$(…)".to_owned()), 2 + closing(inner)));
    }
    if let Some(inner) = text.strip_prefix('{') {
        // A kind, a colon and a path are short.
        let end = inner.bytes().take(2 * MAX_NAME_BYTES).position(|byte| byte == b'}')?;
        let (kind, name) = inner[..end].split_once(':')?;
        let is_known = ["env", "file"].contains(&kind) && is_path_like(name);
        return is_known.then(|| (plain(format!("{{{kind}:{name}}}")), end + 2));
    }
    let name = mention(text, before).filter(|name| !name.bytes().any(|byte| byte.is_ascii_lowercase()))?;
    Some((plain(name.to_owned()), name.len()))
}

/// Returns the `$NAME` at the start of a text, ignoring case. In lower case, it may also be a value.
fn mention(text: &str, before: Option<char>) -> Option<&str> {
    let inner = text.strip_prefix('$')?;
    let length = inner.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inner.len());
    let starts_word = before.is_none_or(|c| c.is_whitespace() || "=:/\"',".contains(c));
    let ends_word =
        inner[length..].chars().next().is_none_or(|c| c.is_whitespace() || "/:\"',.@".contains(c));
    let is_name = inner.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    // PowerShell: `$env:NAME = …`.
    let is_scope = inner[..length].eq_ignore_ascii_case("env") && inner[length..].starts_with(':');
    (is_name && starts_word && ends_word && !is_scope).then(|| &text[..=length])
}

/// Reads the text between `${` and `}`.
fn braced(inner: &str) -> Reference<'_> {
    let length = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
    let (word, rest) = inner.split_at(length);
    let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    // Settings of an extension (`${user_config.key}`), and the separator of paths (`${/}`).
    let is_setting = is_name && rest.starts_with('.') && is_path_like(rest);
    if is_setting || inner == "/" {
        return Reference { shown: format!("${{{inner}}}"), default: None };
    }
    if !is_name {
        return Reference { shown: "${…}".to_owned(), default: Some(inner) };
    }
    if KINDS.contains(&word)
        && let Some(name) = rest.strip_prefix(':')
        && !name.starts_with('-')
    {
        let (name, default) = name.split_once(":-").map_or((name, None), |(name, text)| (name, Some(text)));
        let shown =
            if is_path_like(name) { format!("${{{word}:{name}}}") } else { format!("${{{word}:…}}") };
        return Reference { shown, default };
    }
    let default = rest.trim_start_matches([':', '-', '=', '?', '+']);
    let default = (!rest.is_empty()).then_some(default);
    Reference { shown: format!("${{{word}}}"), default }
}

/// The maximum length of a name or path, in bytes.
const MAX_NAME_BYTES: usize = 100;

/// Returns whether a text can be a name or a path instead of a sentence or a value.
fn is_path_like(text: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-/~ ".contains(&byte))
}

/// Returns the bytes up to and including the closing parenthesis.
fn closing(inner: &str) -> usize {
    let mut open = 1_usize;
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            b'(' => open += 1,
            b')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return at + 1;
        }
    }
    inner.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, found: &[&str], rest: &str) {
        let references = references(text);
        assert_eq!(
            (
                references.found.iter().map(String::as_str).collect::<Vec<_>>().as_slice(),
                references.rest.as_ref()
            ),
            (found, rest)
        );
    }

    #[test]
    fn unclosed_references_are_scanned_once() {
        // A quadratic reader needs many seconds for these.
        for part in ["${", "{env:", "${{", "${a:-", "${input:", "$("] {
            let text = part.repeat(20_000);
            assert_eq!(references(&text).found.len(), usize::from(part == "$("), "{part}");
            references(&format!("{text}}}"));
        }
    }

    #[test]
    fn references_are_named_and_not_expanded() {
        check("plain $5 {x} pa$Word {\"a\": 1}", &[], "plain $5 {x} pa$Word {\"a\": 1}");
        check("Bearer ${TOKEN}", &["${TOKEN}"], "Bearer ");
        check("${env:A}/${input:api-key}", &["${env:A}", "${input:api-key}"], "/");
        check("{env:A} {file:~/x}", &["{env:A}", "{file:~/x}"], " ");
        check("$HOME/x $lower a$B", &["$HOME"], "/x $lower a$B");
        check("${{ secrets.KEY }}", &["${{ secrets.KEY }}"], "");
        check("$(pass show (a) b)c", &["$(…)"], "c");
        check("${X:-some default}", &["${X}"], "some default");
        check("${env:X:-d}", &["${env:X}"], "d");
        check("${workspaceFolder}/a", &["${workspaceFolder}"], "/a");
        check("${user_config.api_key}${/}x", &["${user_config.api_key}", "${/}"], "x");
        check("${a", &[], "${a");
        check("${{a}", &[], "${{a}");
        check("}} ${{ a }} ${{", &["${{ a }}"], "}}  ${{");
    }

    /// A password may also begin with `$`, so the text is kept as a value.
    #[test]
    fn lower_case_names_are_mentioned_and_kept_as_values() {
        for (text, expect) in [
            ("$foo", vec!["$foo"]),
            ("--x=$fooBar/$Foo", vec!["$fooBar", "$Foo"]),
            ("$foo_bar $FOObar", vec!["$foo_bar", "$FOObar"]),
            ("$FOO ${foo} pa$word $5 $foo) foo$ $env:A = 'v'", vec![]),
        ] {
            let found = references(text);
            assert_eq!(found.mentioned, expect, "{text}");
            assert_eq!((found.is_literal(), found.shown.as_ref()), (true, text), "{text}");
        }
    }

    #[test]
    fn values_are_not_shown_as_names() {
        check("${!x y}", &["${…}"], "!x y");
        check("${env:a=b}", &["${env:…}"], "");
        check("${{ a; b }}", &["${{ … }}"], "");
        assert_eq!(references("--k=${API_KEY:-hunter2}").shown, "--k=${API_KEY:-[redacted]}");
        assert_eq!(references("a ${A:-A} ${B}").shown, "a ${A:-[redacted]} ${B}");
        assert_eq!(references("a ${A:-A} ${env:B:-x}/${C:-}").bare, "a ${A} ${env:B}/${C:-}");
    }

    #[test]
    fn a_token_is_not_a_name() {
        let token = "ghp_abcdefCNRY0123456789abcdefABCDEF0123";
        let forms = ["${X}", "$X", "${env:X}", "${{ secrets.X }}", "{env:X}", "${X:-d}"];
        for text in forms.map(|form| form.replace('X', token)) {
            let found = references(&text);
            let said = format!("{:?} {} {}", found.found, found.shown, found.bare);
            assert!(!said.contains("CNRY") || text.starts_with("$g"), "{said}");
            assert!(found.is_literal(), "{text}");
        }
        assert!(references(&format!("${{{token}}}")).has_secret_default);
    }

    #[test]
    fn a_text_of_only_references_is_not_a_literal() {
        let is_literal = |text: &str| references(text).is_literal();
        assert!(
            !is_literal("Bearer ${T}") && !is_literal("${A}:${B}") && !is_literal("") && !is_literal("$T")
        );
        assert!(is_literal("hunter2") && is_literal("${USER}:hunter2") && is_literal("${T:-hunter2}"));
    }
}
